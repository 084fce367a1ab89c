//! One connection: of the program to the gateway, and of this host to where it leads.

use core::pin::pin;
use std::io;
use std::sync::Arc;

use kumiki_net::host::{Refusal, TcpOffer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::Shared;

/// Octets that may be between the two, in each direction.
const BUFFER: usize = 64 << 10;

/// Serves `offer` until both directions have ended.
pub(super) async fn relay(offer: TcpOffer, shared: &Arc<Shared>) {
    let Some(place) = shared.places.of(offer.destination()) else {
        offer.refuse(Refusal::Reset);
        return;
    };
    let connected = tokio::select! {
        connected = TcpStream::connect(place) => connected,
        () = offer.withdrawn() => return,
    };
    let mut host = match connected {
        Ok(host) => host,
        Err(why) => {
            offer.refuse(shared.refusal(&why));
            return;
        }
    };
    // The program decides about small segments: its own come as it has sent them.
    let _ = host.set_nodelay(true);
    // Where this ends before the connection has, by a signal or because `--linger` is over, the host must not take that for an end in order.
    let _ = host.set_zero_linger();
    let counted = shared.one_more();
    let Ok(mut program) = offer.accept() else {
        // It has given up meanwhile.
        return;
    };
    let _ = program.set_nodelay(true);
    let was_reset = {
        let (mut from_program, mut to_program) = program.split();
        let (mut from_host, mut to_host) = host.split();
        let up = carry(&mut from_program, &mut to_host);
        let down = carry(&mut from_host, &mut to_program);
        both(up, down).await
    };
    if was_reset {
        // One of them was reset, and so is the other.
        let _ = program.set_zero_linger();
    } else {
        let _ = rustix::net::sockopt::set_socket_linger(&host, None);
    }
    drop(counted);
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

/// Hands on what comes, and its end.
async fn carry(from: &mut (impl AsyncRead + Unpin), to: &mut (impl AsyncWrite + Unpin)) -> Ended {
    let mut buffer = vec![0; BUFFER];
    loop {
        let octets = match from.read(&mut buffer).await {
            Ok(0) => return end(to.shutdown().await),
            Ok(octets) => octets,
            Err(_) => return Ended::NoSource,
        };
        if to.write_all(buffer.get(..octets).unwrap_or_default()).await.is_err() {
            return Ended::NoSink;
        }
    }
}

fn end(shut: io::Result<()>) -> Ended {
    if shut.is_ok() { Ended::End } else { Ended::NoSink }
}

/// Both directions, to the end of each or until one side was reset, which ends both. Returns whether one was.
async fn both(up: impl Future<Output = Ended>, down: impl Future<Output = Ended>) -> bool {
    let (mut up, mut down) = (pin!(up), pin!(down));
    // Who takes no more may have said why, and that is still read.
    let (first, second) = tokio::select! {
        ended = &mut up => (ended, if ended == Ended::NoSource { ended } else { down.await }),
        ended = &mut down => (ended, if ended == Ended::NoSource { ended } else { up.await }),
    };
    first != Ended::End || second != Ended::End
}
