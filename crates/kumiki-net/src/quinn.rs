//! quinn over these sockets: QUIC in virtual time, or on a device of this machine.
//!
//! ```
//! use kumiki_net::UdpSocket;
//!
//! async fn client() -> std::io::Result<quinn::Endpoint> {
//!     let socket = UdpSocket::bind("[::]:0").await?;
//!     kumiki_net::quinn::endpoint(quinn::EndpointConfig::default(), None, socket)
//! }
//! ```
//!
//! The endpoint's tasks are tokio's, and so are its timers: whole milliseconds, as with quinn over the system's
//! sockets. Congestion marks (ECN), the address that a datagram was for, and probes of the path's MTU go both ways.
//! Datagrams go one at a time: there is no system to be called less often.
//!
//! quinn and rustls draw connection numbers and keys from the operating system. Their lengths are the same in each run;
//! with `EndpointConfig::rng_seed` set, so is what else quinn draws (which packet numbers it leaves out, for one), and
//! then packets have the same lengths at the same times. Their octets differ, and with them `Net::digest`.

use core::net::SocketAddr;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io::{self, IoSliceMut};
use std::sync::Arc;

use quinn::udp::{EcnCodepoint, RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Endpoint, EndpointConfig, ServerConfig, TokioRuntime, UdpPoller};

use crate::{DatagramMeta, UdpSocket, quic};

/// An endpoint on `socket`: as `quinn::Endpoint::new`, which takes a socket of the system.
///
/// # Errors
/// Those of [`UdpSocket::local_addr`].
///
/// # Panics
/// Outside of a runtime of tokio.
pub fn endpoint(config: EndpointConfig, server: Option<ServerConfig>, socket: UdpSocket) -> io::Result<Endpoint> {
    let socket = Arc::new(Socket::new(socket)?);
    Endpoint::new_with_abstract_socket(config, server, socket, Arc::new(TokioRuntime))
}

/// A socket as quinn takes it, for `Endpoint::new_with_abstract_socket` and `Endpoint::rebind_abstract`.
#[derive(Debug)]
pub struct Socket(UdpSocket);

impl Socket {
    /// Its datagrams are not fragmented from now on (RFC 9000 section 14).
    ///
    /// # Errors
    /// Those of [`UdpSocket::local_addr`].
    pub fn new(socket: UdpSocket) -> io::Result<Self> {
        quic::whole(socket).map(Self)
    }
}

/// Waits for room in a socket.
#[derive(Debug)]
struct Poller(Arc<Socket>);

impl UdpPoller for Poller {
    fn poll_writable(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.0.poll_send_ready(cx)
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
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Poller(self))
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let ecn = transmit.ecn.map_or(0, |it| it as u8);
        quic::send(&self.0, transmit.contents, transmit.destination, transmit.src_ip, ecn)
    }

    fn poll_recv(
        &self,
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
