//! The way to the path without namespaces: a proxy on this host, and behind it a host of our own at the near end.
//!
//! ```text
//! PROGRAM -- kernel -- lo -- proxy -- our TCP == path == gateway -- sockets of this host -- the world
//! ```
//!
//! | read | for |
//! |---|---|
//! | this file | the thread, and who serves a caller |
//! | `socks.rs` | SOCKS, version 5: connections and datagrams |
//! | `http.rs` | `CONNECT`, and requests for `http` URIs |
//! | `target.rs` | whom a caller means, and what becomes of the wish |
//!
//! | | |
//! |---|---|
//! | TCP | of the near end it is ours, and no program's own kernel: what a program sets on its sockets stays on this host |
//! | Names | are looked up by this host, without the path |
//! | Left out | binding (`BIND` of SOCKS), authentication, SOCKS 4, more than one request for an `http` URI on a connection |

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use kumiki_net::Stack;
use kumiki_net::host::{HostConfig, HostStack, RealDevice};
use tokio::io::Interest;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::LocalSet;

use crate::gateway::tcp::join;
use crate::namespace::{OWN_4, OWN_6};

mod http;
mod socks;
mod target;

/// How long a caller may take to say whom it wants.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// How long nobody is accepted where that fails, as without descriptors.
const PAUSE: Duration = Duration::from_millis(20);

/// What all callers share.
struct Shared {
    stack: Stack,
    /// Whether this host's loopback interface is behind the path.
    loopback: bool,
    /// Callers that are being served.
    callers: AtomicUsize,
}

/// A caller, as long as it is served.
struct Served(Arc<Shared>);

impl Served {
    fn of(shared: &Arc<Shared>) -> Self {
        shared.callers.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(shared))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.0.callers.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The proxy, in a thread of its own until it is told to end.
pub(crate) struct Proxy {
    address: SocketAddr,
    ends: oneshot::Sender<()>,
    thread: JoinHandle<HostStack>,
    shared: Arc<Shared>,
}

impl Proxy {
    /// Starts it at `address`, before `device`, the near end of the path. What goes wrong later it says with `say`.
    ///
    /// # Errors
    /// Those of the operating system, as where somebody has the address.
    pub(crate) fn start(
        address: SocketAddr,
        device: Box<dyn RealDevice>,
        mtu: u16,
        loopback: bool,
        say: impl Fn(&str) + Send + 'static,
    ) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let stack = HostStack::start(device, &HostConfig::new([OWN_4.into(), OWN_6.into()]).mtu(mtu))?;
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let (ends, ended) = oneshot::channel();
        let shared = Arc::new(Shared { stack: stack.stack().clone(), loopback, callers: AtomicUsize::new(0) });
        let its = Arc::clone(&shared);
        let thread = thread::Builder::new().name("proxy".to_owned()).spawn(move || {
            let local = LocalSet::new();
            let served = local.block_on(&runtime, async {
                tokio::select! {
                    served = serve(listener, &its) => served,
                    _ = ended => Ok(()),
                }
            });
            if let Err(why) = served {
                say(&format!("the proxy has ended: {why}"));
            }
            stack
        })?;
        Ok(Self { address, ends, thread, shared })
    }

    /// Where it listens.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether nobody is served.
    pub(crate) fn is_idle(&self) -> bool {
        self.shared.callers.load(Ordering::Acquire) == 0
    }

    /// Ends it. Returns the stack, which is the near end of the path until it is dropped.
    pub(crate) fn end(self) -> Option<HostStack> {
        // Where the thread has ended, nobody listens.
        let _ = self.ends.send(());
        self.thread.join().ok()
    }
}

/// Serves callers for ever.
async fn serve(listener: std::net::TcpListener, shared: &Arc<Shared>) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        match listener.accept().await {
            Ok((caller, _)) => {
                let served = Served::of(shared);
                tokio::task::spawn_local(async move {
                    // Whoever breaks off, or says what is no wish, has been told what there was to say.
                    let _ = serve_caller(caller, &served.0).await;
                });
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// The first octet of SOCKS, version 5; no request of HTTP begins with it.
const SOCKS_5: u8 = 5;

async fn serve_caller(mut caller: TcpStream, shared: &Shared) -> io::Result<()> {
    let _ = caller.set_nodelay(true);
    let wish = tokio::time::timeout(REQUEST_TIMEOUT, async {
        let mut first = [0];
        if caller.peek(&mut first).await? == 0 {
            return Ok(None);
        }
        if first == [SOCKS_5] { socks::wish(&mut caller).await } else { http::wish(&mut caller).await }
    });
    match wish.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?? {
        Some(CallerRequest::Connect { target, how }) => connect(caller, target, how, shared).await,
        Some(CallerRequest::Datagrams) => socks::datagrams(caller, shared).await,
        None => Ok(()),
    }
}

/// What a caller wants.
enum CallerRequest {
    /// A connection.
    Connect { target: target::Target, how: ReplyStyle },
    /// To send datagrams, as long as the connection lasts.
    Datagrams,
}

/// How a caller is told what became of its wish, and what goes ahead of all that it sends from then on.
enum ReplyStyle {
    Socks,
    Http {
        /// Told where it stands: of `CONNECT` alone, as a request is answered by the server.
        established: &'static [u8],
        ahead: Vec<u8>,
    },
}

/// Until nobody waits for an answer any more. Who wants a tunnel and ends its direction before there is one has gone; a
/// request may be all that comes.
async fn gone(caller: &TcpStream, is_tunnel: bool) {
    // What is sent ahead stays for the tunnel; its end behind that cannot be seen.
    let is_there = !is_tunnel || caller.peek(&mut [0]).await.is_ok_and(|octets| octets > 0);
    if is_there {
        let _ = caller.ready(Interest::ERROR).await;
    }
}

async fn connect(mut caller: TcpStream, target: target::Target, how: ReplyStyle, shared: &Shared) -> io::Result<()> {
    let is_tunnel = !matches!(how, ReplyStyle::Http { established: b"", .. });
    let connected = tokio::select! {
        connected = target.connect(shared) => connected,
        () = gone(&caller, is_tunnel) => return Ok(()),
    };
    let mut near = match (connected, &how) {
        (Ok(near), ReplyStyle::Socks) => {
            socks::reply(&mut caller, Ok(near.local_addr()?)).await?;
            near
        }
        (Ok(mut near), ReplyStyle::Http { established, ahead }) => {
            tokio::io::AsyncWriteExt::write_all(&mut caller, established).await?;
            tokio::io::AsyncWriteExt::write_all(&mut near, ahead).await?;
            near
        }
        (Err(why), ReplyStyle::Socks) => return socks::reply(&mut caller, Err(&why)).await,
        (Err(why), ReplyStyle::Http { .. }) => return http::refuse(&mut caller, &target, &why).await,
    };
    let _ = near.set_nodelay(true);
    // Where this ends before the connection has, neither side must take that for an end in order.
    let _ = caller.set_zero_linger();
    if join(&mut near, &mut caller).await {
        let _ = near.set_zero_linger();
    } else {
        let _ = rustix::net::sockopt::set_socket_linger(&caller, None);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpStream, UdpSocket};

    use kumiki_io::RealClock;

    use super::*;
    use crate::gateway::{GatewayThread, Places};
    use crate::hop;
    use crate::namespace::{GATEWAY_4, GATEWAY_6};

    /// A caller's association for datagrams, and where these go.
    fn associate(proxy: &Proxy) -> (TcpStream, (Ipv4Addr, u16)) {
        let mut control = TcpStream::connect(proxy.address()).unwrap();
        control.write_all(&[SOCKS_5, 1, 0, SOCKS_5, 3, 0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
        let mut answer = [0; 12];
        control.read_exact(&mut answer).unwrap();
        (control, (Ipv4Addr::LOCALHOST, u16::from_be_bytes([answer[10], answer[11]])))
    }

    #[test]
    fn answers_come_from_where_was_sent_to() {
        kumiki_watchdog::minute();
        let [near, far] = hop::pair(1500, RealClock::start()).unwrap();
        let gateway = GatewayThread::start(Box::new(far), (1500, 1 << 30), Places::of_link(true), |_| {}).unwrap();
        let proxy = Proxy::start((Ipv4Addr::LOCALHOST, 0).into(), Box::new(near), 1500, true, |_| {}).unwrap();
        let [four, six] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
            .map(|ip: IpAddr| UdpSocket::bind((ip, 0)).unwrap());
        let caller = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (control, relay) = associate(&proxy);
        let v6 = |ip: Ipv6Addr| [&[4][..], &ip.octets()].concat();
        let v4 = |ip: Ipv4Addr| [&[1][..], &ip.octets()].concat();
        for (server, to, from) in [
            (&four, v4(Ipv4Addr::LOCALHOST), v4(Ipv4Addr::LOCALHOST)),
            (&four, b"\x03\x09127.0.0.1".to_vec(), v4(Ipv4Addr::LOCALHOST)),
            (&four, v4(GATEWAY_4), v4(GATEWAY_4)),
            (&six, v6(Ipv6Addr::LOCALHOST), v6(Ipv6Addr::LOCALHOST)),
            (&six, v6(GATEWAY_6), v6(GATEWAY_6)),
        ] {
            let port = server.local_addr().unwrap().port().to_be_bytes();
            let datagram = |at: &[u8]| [&[0; 3][..], at, &port, b"hello"].concat();
            caller.send_to(&datagram(&to), relay).unwrap();
            let mut octets = [0; 100];
            let (len, client) = server.recv_from(&mut octets).unwrap();
            server.send_to(&octets[..len], client).unwrap();
            let len = caller.recv(&mut octets).unwrap();
            assert_eq!(octets[..len], datagram(&from), "{to:?}");
        }
        drop(control);
        proxy.end();
        gateway.end();
    }

    #[test]
    fn an_association_ends_with_the_path() {
        kumiki_watchdog::minute();
        let [near, far] = hop::pair(1500, RealClock::start()).unwrap();
        let at = (Ipv4Addr::LOCALHOST, 0).into();
        let proxy = Proxy::start(at, Box::new(near), 1500, true, |_| {}).unwrap();
        let (mut control, _) = associate(&proxy);
        drop(far);
        assert_eq!(control.read(&mut [0]).unwrap(), 0);
        while !proxy.is_idle() {
            thread::yield_now();
        }
        proxy.end();
    }

    /// A server beyond the path hears of nobody but the caller, whatever others on this host send to the caller's
    /// relay.
    #[test]
    fn datagrams_of_others_do_not_pass_for_the_callers() {
        kumiki_watchdog::minute();
        let [near, far] = hop::pair(1500, RealClock::start()).unwrap();
        let gateway = GatewayThread::start(Box::new(far), (1500, 1 << 30), Places::of_link(true), |_| {}).unwrap();
        let proxy = Proxy::start((Ipv4Addr::LOCALHOST, 0).into(), Box::new(near), 1500, true, |_| {}).unwrap();
        let socket = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (server, caller, other) = (socket(), socket(), socket());
        let (control, relay) = associate(&proxy);
        let port = server.local_addr().unwrap().port().to_be_bytes();
        for (from, data) in [(&caller, 1), (&other, 2), (&caller, 3)] {
            from.send_to(&[0, 0, 0, 1, 127, 0, 0, 1, port[0], port[1], data], relay).unwrap();
        }
        for expected in [1, 3] {
            let mut octets = [0; 100];
            let (len, from) = server.recv_from(&mut octets).unwrap();
            assert_eq!(&octets[..len], [expected]);
            server.send_to(&octets[..len], from).unwrap();
            let len = caller.recv(&mut octets).unwrap();
            assert_eq!(octets[..len].last(), Some(&expected));
        }
        drop(control);
        proxy.end();
        gateway.end();
    }

    /// Nothing answers beyond the path, where nobody is.
    #[test]
    fn a_caller_that_goes_away_while_it_is_connected_is_forgotten() {
        kumiki_watchdog::minute();
        let [near, _far] = hop::pair(1500, RealClock::start()).unwrap();
        let at = (Ipv4Addr::LOCALHOST, 0).into();
        let proxy = Proxy::start(at, Box::new(near), 1500, true, |_| {}).unwrap();
        for request in [&b"CONNECT 192.0.2.1:80 HTTP/1.1\r\n\r\n"[..], b"\x05\x01\0\x01\xc0\0\x02\x01\0\x50"] {
            let mut caller = TcpStream::connect(proxy.address()).unwrap();
            if request[0] == SOCKS_5 {
                caller.write_all(&[SOCKS_5, 1, 0]).unwrap();
                caller.read_exact(&mut [0; 2]).unwrap();
            }
            caller.write_all(request).unwrap();
            while proxy.is_idle() {
                thread::yield_now();
            }
            drop(caller);
            while !proxy.is_idle() {
                thread::yield_now();
            }
        }
        proxy.end();
    }
}
