//! noq over these sockets: QUIC with several paths, in virtual time or on a device of this machine. All as in the
//! module for quinn, from which noq descends.
//!
//! ```
//! use kumiki_net::UdpSocket;
//!
//! async fn client() -> std::io::Result<noq::Endpoint> {
//!     let socket = UdpSocket::bind("[::]:0").await?;
//!     kumiki_net::noq::endpoint(noq::EndpointConfig::default(), None, socket)
//! }
//! ```

use core::net::SocketAddr;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io::{self, IoSliceMut};
use std::sync::Arc;

use noq::udp::{EcnCodepoint, RecvMeta, Transmit};
use noq::{AsyncUdpSocket, Endpoint, EndpointConfig, ServerConfig, TokioRuntime, UdpSender};

use crate::{DatagramMeta, UdpSocket, quic};

/// An endpoint on `socket`: as `noq::Endpoint::new`, which takes a socket of the system.
///
/// # Errors
/// Those of [`UdpSocket::local_addr`].
///
/// # Panics
/// Outside of a runtime of tokio.
pub fn endpoint(config: EndpointConfig, server: Option<ServerConfig>, socket: UdpSocket) -> io::Result<Endpoint> {
    let socket = Box::new(Socket::new(socket)?);
    Endpoint::new_with_abstract_socket(config, server, socket, Arc::new(TokioRuntime))
}

/// A socket as noq takes it, for `Endpoint::new_with_abstract_socket` and `Endpoint::rebind_abstract`.
#[derive(Debug)]
pub struct Socket(Arc<UdpSocket>);

impl Socket {
    /// Its datagrams are not fragmented from now on (RFC 9000 section 14).
    ///
    /// # Errors
    /// Those of [`UdpSocket::local_addr`].
    pub fn new(socket: UdpSocket) -> io::Result<Self> {
        quic::whole(socket).map(|it| Self(Arc::new(it)))
    }
}

/// Sends by a socket, and waits for room in it.
#[derive(Debug)]
struct Sender(Arc<UdpSocket>);

impl UdpSender for Sender {
    fn poll_send(self: Pin<&mut Self>, transmit: &Transmit<'_>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ecn = transmit.ecn.map_or(0, |it| it as u8);
        loop {
            match quic::send(&self.0, transmit.contents, transmit.destination, transmit.src_ip, ecn) {
                Err(_) => ready!(self.0.poll_send_ready(cx))?,
                Ok(()) => return Poll::Ready(Ok(())),
            }
        }
    }
}

fn meta(known: DatagramMeta) -> RecvMeta {
    let DatagramMeta { from, to, ecn, len } = known;
    let mut meta = RecvMeta::default();
    (meta.addr, meta.len, meta.stride) = (from, len, len);
    (meta.ecn, meta.dst_ip) = (EcnCodepoint::from_bits(ecn), Some(to));
    meta
}

impl AsyncUdpSocket for Socket {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        Box::pin(Sender(Arc::clone(&self.0)))
    }

    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        quic::receive(&self.0, cx, buffers, metas, meta)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    fn may_fragment(&self) -> bool {
        false
    }
}
