//! What libraries of QUIC ask of a socket, in the types of none of them.

use core::net::{IpAddr, SocketAddr};
use core::task::{Context, Poll};
use std::io::{self, IoSliceMut};

use tokio::io::ReadBuf;

use crate::{DatagramMeta, UdpSocket};

/// A socket whose datagrams are never cut to fragments (RFC 9000 section 14).
pub(crate) fn whole(socket: UdpSocket) -> io::Result<UdpSocket> {
    socket.set_dont_fragment(true)?;
    Ok(socket)
}

/// Sends a datagram. Those that cannot be sent are lost to QUIC as any other, which a probe of the path's MTU relies
/// on; who waits to receive hears of a host that is gone.
///
/// # Errors
/// `WouldBlock` where there is no room.
pub(crate) fn send(
    socket: &UdpSocket,
    datagram: &[u8],
    to: SocketAddr,
    source: Option<IpAddr>,
    ecn: u8,
) -> io::Result<()> {
    match socket.try_send_meta(datagram, to, source, Some(ecn)) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Takes as many datagrams as there are, one into each of `buffers`, and says of each in `metas` what is known of it.
pub(crate) fn receive<M>(
    socket: &UdpSocket,
    cx: &mut Context<'_>,
    buffers: &mut [IoSliceMut<'_>],
    metas: &mut [M],
    meta_of: impl Fn(DatagramMeta) -> M,
) -> Poll<io::Result<usize>> {
    let mut received = 0;
    for (buffer, meta) in buffers.iter_mut().zip(metas) {
        match socket.poll_recv_meta(cx, &mut ReadBuf::new(buffer)) {
            Poll::Ready(Ok(known)) => *meta = meta_of(DatagramMeta { len: known.len.min(buffer.len()), ..known }),
            Poll::Ready(Err(error)) if received == 0 => return Poll::Ready(Err(error)),
            Poll::Pending if received == 0 => return Poll::Pending,
            Poll::Ready(Err(_)) | Poll::Pending => break,
        }
        received += 1;
    }
    Poll::Ready(Ok(received))
}
