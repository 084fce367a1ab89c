//! One connection: of the program to the gateway, and of this host to where it leads.

use core::cell::Cell;
use core::future::poll_fn;
use core::pin::{Pin, pin};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use kumiki_net::host::{Refusal, TcpOffer};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;

use super::buffer::Buffer;
use super::places::other;
use super::{Counted, Shared};

/// A connection on both sides of the gateway.
struct Joined {
    program: kumiki_net::TcpStream,
    host: TcpStream,
    _counted: Counted,
}

/// Serves `offer` until both directions have ended.
///
/// There may be ten thousands of these, of which most wait for octets nearly all the time. So what it takes of memory to connect is in a box, and is
/// given back before; and no future is moved into another, which would have room for it twice.
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
async fn open(offer: TcpOffer, shared: Arc<Shared>) -> Option<Joined> {
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
    // Where this ends before the connection has, by a signal or because `--linger` is over, the host must not take that for an end in order.
    let _ = host.set_zero_linger();
    let counted = shared.one_more();
    // Where this fails, it has given up meanwhile.
    let program = offer.accept().ok()?;
    let _ = program.set_nodelay(true);
    Some(Joined { program, host, _counted: counted })
}

/// Carries what comes from either to the other, until both directions have ended. Returns whether one of them was reset.
pub(crate) async fn join(ours: &mut kumiki_net::TcpStream, hosts: &mut TcpStream) -> bool {
    let (mut from_ours, mut to_ours) = ours.split();
    let (mut from_hosts, mut to_hosts) = hosts.split();
    let is_broken = Cell::new(false);
    let up = pin!(carry(&mut from_ours, &mut to_hosts, &is_broken));
    let down = pin!(carry(&mut from_hosts, &mut to_ours, &is_broken));
    both(up, down).await
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
enum Ended {
    /// In order, and the other side knows.
    End,
    /// Who sent was reset.
    NoSource,
    /// Who was sent to takes no more. What it has still sent may be on its way.
    NoSink,
}

/// Hands on what comes, and its end. `is_broken` is that of both directions: one of them has found that nobody takes anything any more.
///
/// A socket says only once that it was reset. Where whoever writes has heard it, whoever reads finds an end, which need not be one in order:
/// handed on as such, what was cut off would pass for the whole.
async fn carry(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    is_broken: &Cell<bool>,
) -> Ended {
    loop {
        let (buffer, octets) = match read(from).await {
            Ok((_, 0)) if is_broken.get() => return Ended::NoSource,
            Ok(read) => read,
            Err(_) => return Ended::NoSource,
        };
        let handed_on = if octets == 0 {
            to.shutdown().await
        } else {
            to.write_all(buffer.get(..octets).unwrap_or_default()).await
        };
        match (handed_on, octets) {
            (Ok(()), 0) => return Ended::End,
            (Ok(()), _) => {}
            (Err(_), _) => {
                is_broken.set(true);
                return Ended::NoSink;
            }
        }
    }
}

/// What has come, in a buffer that nobody has before, and how many octets that is.
async fn read(from: &mut (impl AsyncRead + Unpin)) -> io::Result<(Buffer, usize)> {
    poll_fn(|cx| {
        let mut buffer = Buffer::take();
        let mut room = ReadBuf::new(&mut buffer);
        let polled = Pin::new(&mut *from).poll_read(cx, &mut room);
        let octets = room.filled().len();
        polled.map_ok(|()| (buffer, octets))
    })
    .await
}

/// Both directions, to the end of each or until one side was reset, which ends both. Returns whether one was.
async fn both(mut up: Pin<&mut impl Future<Output = Ended>>, mut down: Pin<&mut impl Future<Output = Ended>>) -> bool {
    // Who takes no more may have said why, and that is still read.
    let (first, second) = tokio::select! {
        ended = &mut up => (ended, if ended == Ended::NoSource { ended } else { down.await }),
        ended = &mut down => (ended, if ended == Ended::NoSource { ended } else { up.await }),
    };
    first != Ended::End || second != Ended::End
}
