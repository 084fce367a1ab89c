//! Beyond the path: every connection and flow of the program becomes one of this host.
//!
//! | read | for |
//! |---|---|
//! | this file | the thread, and who serves what comes |
//! | `places.rs` | where an address of the program's network leads |
//! | `tcp.rs`, `udp.rs` | one connection, one flow |
//! | `buffer.rs` | octets between the two sockets of each |
//!
//! | | |
//! |---|---|
//! | TCP | a SYN is answered when the host's own connection stands, and refused as that was; either side may end its direction first; resets go through |
//! | UDP | a socket of the host for each pair of addresses, until nothing has come for two minutes (RFC 4787 section 4.3) |
//! | Names | queries to port 53 of the gateway go to the host's resolver, by UDP and TCP |
//! | Left out | protocols other than these; UDP from addresses to which the program has not sent; multicast; echo requests, which the gateway answers itself for every address |

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use kumiki_net::Stack;
use kumiki_net::host::{Flow, Gateway, GatewayConfig, HostConfig, HostStack, RealDevice, Refusal};
use rustix::io::Errno;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::LocalSet;

mod buffer;
mod places;
pub(crate) mod tcp;
#[cfg(test)]
mod tests;
mod udp;

pub(crate) use places::Places;

/// Calls that may wait for this host's own: whoever does not answer keeps one for minutes, and must not keep others
/// from being heard. Each takes a descriptor, so that the bound is where there are no more.
const MOST_CALLS: usize = 1 << 20;

/// What all connections and flows share.
struct Shared {
    places: Places,
    /// How many connections have been answered and not ended.
    connections: AtomicUsize,
    /// How many datagrams have gone on to the host, or were lost there.
    datagrams: AtomicU64,
    /// Says what goes wrong.
    say: Box<dyn Fn(&str) + Send + Sync>,
    has_said: AtomicBool,
}

impl Shared {
    fn one_more(self: &Arc<Self>) -> Counted {
        self.connections.fetch_add(1, Ordering::AcqRel);
        Counted(Arc::clone(self))
    }

    /// What the program is told of a connection or flow that this host could not make.
    fn refusal(&self, why: &io::Error) -> Refusal {
        let is_ours = [Errno::MFILE, Errno::NFILE].iter().any(|it| why.raw_os_error() == Some(it.raw_os_error()));
        if !is_ours {
            return Refusal::from(why);
        }
        // Nobody there has refused it: as in a host that has no room the caller tries again.
        if !self.has_said.swap(true, Ordering::AcqRel) {
            (self.say)(&format!("{why}: what the program connects to now gets no answer; `ulimit -Hn` is the bound"));
        }
        Refusal::Silent
    }
}

/// A connection, as long as there is one.
struct Counted(Arc<Shared>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The gateway, in a thread of its own until it is told to end.
pub(crate) struct GatewayThread {
    ends: oneshot::Sender<()>,
    thread: JoinHandle<HostStack>,
    stack: Stack,
    shared: Arc<Shared>,
}

impl GatewayThread {
    /// Starts it at `device`, the far end of the path, for packets of `mtu` octets at most. Its connections and
    /// datagrams may hold `memory` octets: where that is spent, who calls is refused. What goes wrong later it says
    /// with `say`.
    ///
    /// # Errors
    /// Those of the operating system.
    pub(crate) fn start(
        device: Box<dyn RealDevice>,
        (mtu, memory): (u16, u64),
        places: Places,
        say: impl Fn(&str) + Clone + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let notices = say.clone();
        let config = HostConfig::gateway().mtu(mtu).memory(memory);
        let config = config.notices(move |text| notices(&format!("the gateway's {text} (--gateway-memory)")));
        let stack = HostStack::start(device, &config)?;
        let mut bounds = GatewayConfig::default();
        bounds.offers = MOST_CALLS;
        let gateway = stack.stack().gateway_with(bounds)?;
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let (ends, ended) = oneshot::channel();
        let shared = Arc::new(Shared {
            places,
            connections: AtomicUsize::new(0),
            datagrams: AtomicU64::new(0),
            say: Box::new(say.clone()),
            has_said: AtomicBool::new(false),
        });
        let (its, sockets) = (Arc::clone(&shared), stack.stack().clone());
        let thread = thread::Builder::new().name("gateway".to_owned()).spawn(move || {
            let local = LocalSet::new();
            let served = local.block_on(&runtime, async {
                tokio::select! {
                    served = serve(gateway, &its) => served,
                    _ = ended => Ok(()),
                }
            });
            if let Err(why) = served {
                say(&format!("the gateway has ended: {why}"));
            }
            stack
        })?;
        Ok(Self { ends, thread, stack: sockets, shared })
    }

    /// How many connections have been answered and not ended.
    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Acquire)
    }

    /// How many datagrams have gone on, where nothing waits to be served.
    pub(crate) fn served(&self) -> Option<u64> {
        let is_idle = self.shared.connections.load(Ordering::Acquire) == 0 && self.stack.counts().queued == 0;
        is_idle.then(|| self.shared.datagrams.load(Ordering::Acquire))
    }

    /// Ends what is served. Returns the stack, which is the far end of the path until it is dropped.
    pub(crate) fn end(self) -> Option<HostStack> {
        // Where the thread has ended, nobody listens.
        let _ = self.ends.send(());
        self.thread.join().ok()
    }
}

/// Takes what comes until the stack fails.
async fn serve(mut gateway: Gateway, shared: &Arc<Shared>) -> io::Result<()> {
    loop {
        let (next, shared) = (gateway.accept_any().await?, Arc::clone(shared));
        match next {
            Flow::Tcp(offer) => tokio::task::spawn_local(tcp::relay(offer, shared)),
            Flow::Udp(flow) => tokio::task::spawn_local(async move { udp::relay(flow, &shared).await }),
        };
    }
}
