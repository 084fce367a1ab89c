//! One connection: of the program to the gateway, and of this host to where it leads.

use core::cell::Cell;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use kumiki_net::host::{Refusal, TcpOffer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::buffer::Buffer;
use super::places::other;
use super::{Counted, Shared};

/// A connection on both sides of the gateway.
struct RelayedConnection {
    program: kumiki_net::TcpStream,
    host: TcpStream,
    _counted: Counted,
}

/// Serves `offer` until both directions have ended.
///
/// There may be ten thousands of these, of which most wait for octets nearly all the time. So what it takes of memory
/// to connect is in a box, and is given back before.
pub(super) fn relay(offer: TcpOffer, shared: Arc<Shared>) -> impl Future<Output = ()> {
    let opening = Box::pin(open(offer, shared));
    async move {
        let Some(mut joined) = opening.await else {
            return;
        };
        if join(&mut joined.program, &mut joined.host).await {
            // One of them was reset, and so is the other.
            let _ = joined.program.set_zero_linger();
        } else {
            let _ = rustix::net::sockopt::set_socket_linger(&joined.host, None);
        }
    }
}

/// Connects to where `offer` leads, and answers it as that was answered. Nothing where there is no connection.
async fn open(offer: TcpOffer, shared: Arc<Shared>) -> Option<RelayedConnection> {
    let Some(place) = shared.places.of(offer.destination()) else {
        offer.refuse(Refusal::Reset);
        return None;
    };
    let connected = tokio::select! {
        connected = connect(place) => connected,
        () = offer.withdrawn() => return None,
    };
    let host = match connected {
        Ok(host) => host,
        Err(why) => {
            offer.refuse(shared.refusal(&why));
            return None;
        }
    };
    // The program decides about small segments: its own come as it has sent them.
    let _ = host.set_nodelay(true);
    // Where this ends before the connection has, by a signal or because `--linger` is over, the host must not take that
    // for an end in order.
    let _ = host.set_zero_linger();
    let counted = shared.one_more();
    // Where this fails, it has given up meanwhile.
    let program = offer.accept().ok()?;
    let _ = program.set_nodelay(true);
    Some(RelayedConnection { program, host, _counted: counted })
}

/// Carries what comes from either to the other, until both directions have ended, or one side was reset, which ends
/// both. Returns whether one was.
pub(crate) fn join(ours: &mut kumiki_net::TcpStream, hosts: &mut TcpStream) -> impl Future<Output = bool> {
    let (from_ours, to_ours) = ours.split();
    let (from_hosts, to_hosts) = hosts.split();
    both(Carrying::new(from_ours, to_hosts), Carrying::new(from_hosts, to_ours))
}

/// The same of the two directions.
fn both<F, T, G, U>(mut up: Carrying<F, T>, mut down: Carrying<G, U>) -> impl Future<Output = bool>
where
    F: AsyncRead + Unpin,
    T: AsyncWrite + Unpin,
    G: AsyncRead + Unpin,
    U: AsyncWrite + Unpin,
{
    let is_broken = Cell::new(false);
    let mut is_up_first = false;
    poll_fn(move |cx| {
        // In turn: a direction that never waits takes all that tokio lets a task do at one time, and the other one
        // would get nothing of it.
        is_up_first = !is_up_first;
        let (up_ended, down_ended) = if is_up_first {
            let ended = up.poll(cx, &is_broken);
            (ended, down.poll(cx, &is_broken))
        } else {
            let ended = down.poll(cx, &is_broken);
            (up.poll(cx, &is_broken), ended)
        };
        // Who takes no more may have said why, and that is still read.
        match [up_ended, down_ended] {
            [Some(DirectionEnd::NoSource), _] | [_, Some(DirectionEnd::NoSource)] => Poll::Ready(true),
            [Some(up), Some(down)] => Poll::Ready([up, down] != [DirectionEnd::End; 2]),
            [None, _] | [_, None] => Poll::Pending,
        }
    })
}

/// A server of this host that listens on one loopback address alone is reached by way of both.
async fn connect(place: SocketAddr) -> io::Result<TcpStream> {
    match (TcpStream::connect(place).await, other(place)) {
        (Err(why), Some(other)) if why.kind() == io::ErrorKind::ConnectionRefused => {
            TcpStream::connect(other).await.map_err(|_| why)
        }
        (connected, _) => connected,
    }
}

/// How one direction has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DirectionEnd {
    /// In order, and the other side knows.
    End,
    /// Who sent was reset.
    NoSource,
    /// Who was sent to takes no more. What it has still sent may be on its way.
    NoSink,
}

/// One direction. It holds what was read only where the other side does not take it at once: most connections wait for
/// something to read most of the time.
struct Carrying<F, T> {
    from: F,
    to: T,
    held: Option<Box<ReadAhead>>,
    ended: Option<DirectionEnd>,
}

/// What has come, and how much of it was handed on; without octets it is the end.
struct ReadAhead {
    buffer: Buffer,
    octets: usize,
    done: usize,
}

impl<F: AsyncRead + Unpin, T: AsyncWrite + Unpin> Carrying<F, T> {
    const fn new(from: F, to: T) -> Self {
        Self { from, to, held: None, ended: None }
    }

    /// Hands on what comes, and its end; how it has ended, if it has. `is_broken` is that of both directions: one of
    /// them has found that nobody takes anything any more.
    ///
    /// A socket says only once that it was reset. Where whoever writes has heard it, whoever reads finds an end, which
    /// need not be one in order: handed on as such, what was cut off would pass for the whole.
    fn poll(&mut self, cx: &mut Context<'_>, is_broken: &Cell<bool>) -> Option<DirectionEnd> {
        while self.ended.is_none() {
            let mut held = match self.held.take() {
                Some(held) => *held,
                None => match self.read(cx, is_broken) {
                    Poll::Ready(Some(held)) => held,
                    Poll::Ready(None) => {
                        self.ended = Some(DirectionEnd::NoSource);
                        break;
                    }
                    Poll::Pending => break,
                },
            };
            match held.poll_into(&mut self.to, cx) {
                Poll::Ready(Ok(())) if held.octets > 0 => {}
                Poll::Ready(Ok(())) => self.ended = Some(DirectionEnd::End),
                Poll::Ready(Err(_)) => {
                    is_broken.set(true);
                    self.ended = Some(DirectionEnd::NoSink);
                }
                Poll::Pending => {
                    self.held = Some(Box::new(held));
                    break;
                }
            }
        }
        self.ended
    }

    /// What has come, in a buffer that nobody has before; nothing where nothing comes any more that could be handed on
    /// as it was sent.
    fn read(&mut self, cx: &mut Context<'_>, is_broken: &Cell<bool>) -> Poll<Option<ReadAhead>> {
        let mut buffer = Buffer::take();
        let mut room = ReadBuf::new(&mut buffer);
        let polled = ready!(Pin::new(&mut self.from).poll_read(cx, &mut room));
        let octets = room.filled().len();
        let is_whole = polled.is_ok() && !(octets == 0 && is_broken.get());
        Poll::Ready(is_whole.then_some(ReadAhead { buffer, octets, done: 0 }))
    }
}

impl ReadAhead {
    /// Hands on all of it.
    fn poll_into(&mut self, to: &mut (impl AsyncWrite + Unpin), cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.octets == 0 {
            return Pin::new(to).poll_shutdown(cx);
        }
        while self.done < self.octets {
            let rest = self.buffer.get(self.done..self.octets).unwrap_or_default();
            match ready!(Pin::new(&mut *to).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                octets => self.done += octets,
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[test]
    fn a_direction_that_never_waits_leaves_the_other_its_turn() {
        kumiki_watchdog::minute();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for is_up in [true, false] {
            runtime.block_on(async {
                let (mut server, from) = tokio::io::duplex(64);
                let (to, mut program) = tokio::io::duplex(64);
                let endless = Carrying::new(tokio::io::repeat(7), tokio::io::sink());
                let other = Carrying::new(from, to);
                let joined: Pin<Box<dyn Future<Output = bool>>> =
                    if is_up { Box::pin(both(endless, other)) } else { Box::pin(both(other, endless)) };
                let talk = async {
                    server.write_all(b"hello").await.unwrap();
                    let mut octets = [0; 5];
                    program.read_exact(&mut octets).await.unwrap();
                    octets
                };
                tokio::select! {
                    _ = joined => panic!("it has no end"),
                    octets = talk => assert_eq!(&octets, b"hello"),
                }
            });
        }
    }
}
