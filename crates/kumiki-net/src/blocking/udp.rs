//! UDP that blocks.

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use std::io;
use std::sync::Arc;

use super::wait::{Limits, stack, wait};
use crate::ToSocketAddrs;

/// A UDP socket, as `std::net::UdpSocket`; see [`crate::UdpSocket`].
pub struct UdpSocket(Arc<Shared>);

/// A socket, which several may have.
struct Shared {
    socket: crate::UdpSocket,
    limits: Limits,
}

impl fmt::Debug for UdpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.socket.fmt(f)
    }
}

impl From<crate::UdpSocket> for UdpSocket {
    fn from(socket: crate::UdpSocket) -> Self {
        let limits = Limits::of(&socket.0.stack);
        Self(Arc::new(Shared { socket, limits }))
    }
}

impl UdpSocket {
    /// Takes the first of the addresses that can be had.
    ///
    /// # Errors
    /// As [`crate::UdpSocket::bind`]; `Unsupported` in a simulation.
    pub fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<Self> {
        let stack = stack()?;
        wait(None, stack.scope(crate::UdpSocket::bind(addr))).map(Self::from)
    }

    /// Another one for the same socket, with the same limits of time.
    ///
    /// # Errors
    /// None.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(Arc::clone(&self.0)))
    }

    /// As [`crate::UdpSocket::connect`].
    ///
    /// # Errors
    /// As there.
    pub fn connect<A: ToSocketAddrs>(&self, addr: A) -> io::Result<()> {
        wait(None, self.0.socket.connect(addr))
    }

    /// As [`crate::UdpSocket::send`].
    ///
    /// # Errors
    /// As there; `WouldBlock` where it has waited for too long, and so of all others.
    pub fn send(&self, buf: &[u8]) -> io::Result<usize> {
        self.0.limits.to_write(self.0.socket.send(buf))
    }

    /// As [`crate::UdpSocket::send_to`].
    ///
    /// # Errors
    /// As there.
    pub fn send_to<A: ToSocketAddrs>(&self, buf: &[u8], addr: A) -> io::Result<usize> {
        self.0.limits.to_write(self.0.socket.send_to(buf, addr))
    }

    /// As [`crate::UdpSocket::recv`].
    ///
    /// # Errors
    /// As there.
    pub fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.limits.to_read(self.0.socket.recv(buf))
    }

    /// As [`crate::UdpSocket::recv_from`].
    ///
    /// # Errors
    /// As there.
    pub fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.limits.to_read(self.0.socket.recv_from(buf))
    }

    /// As [`crate::UdpSocket::peek`].
    ///
    /// # Errors
    /// As there.
    pub fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.limits.to_read(self.0.socket.peek(buf))
    }

    /// As [`crate::UdpSocket::peek_from`].
    ///
    /// # Errors
    /// As there.
    pub fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.limits.to_read(self.0.socket.peek_from(buf))
    }

    /// As [`crate::UdpSocket::local_addr`].
    ///
    /// # Errors
    /// As there.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.socket.local_addr()
    }

    /// As [`crate::UdpSocket::peer_addr`].
    ///
    /// # Errors
    /// As there.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.socket.peer_addr()
    }

    /// As [`crate::UdpSocket::take_error`].
    ///
    /// # Errors
    /// As there.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.0.socket.take_error()
    }

    /// As [`crate::UdpSocket::broadcast`].
    ///
    /// # Errors
    /// As there.
    pub fn broadcast(&self) -> io::Result<bool> {
        self.0.socket.broadcast()
    }

    /// As [`crate::UdpSocket::set_broadcast`].
    ///
    /// # Errors
    /// As there.
    pub fn set_broadcast(&self, broadcast: bool) -> io::Result<()> {
        self.0.socket.set_broadcast(broadcast)
    }

    /// As [`crate::UdpSocket::ttl`].
    ///
    /// # Errors
    /// As there.
    pub fn ttl(&self) -> io::Result<u32> {
        self.0.socket.ttl()
    }

    /// As [`crate::UdpSocket::set_ttl`].
    ///
    /// # Errors
    /// As there.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.0.socket.set_ttl(ttl)
    }

    /// As [`crate::UdpSocket::join_multicast_v4`].
    ///
    /// # Errors
    /// As there.
    pub fn join_multicast_v4(&self, multiaddr: &Ipv4Addr, interface: &Ipv4Addr) -> io::Result<()> {
        self.0.socket.join_multicast_v4(*multiaddr, *interface)
    }

    /// As [`crate::UdpSocket::join_multicast_v6`].
    ///
    /// # Errors
    /// As there.
    pub fn join_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.0.socket.join_multicast_v6(multiaddr, interface)
    }

    /// As [`crate::UdpSocket::leave_multicast_v4`].
    ///
    /// # Errors
    /// As there.
    pub fn leave_multicast_v4(&self, multiaddr: &Ipv4Addr, interface: &Ipv4Addr) -> io::Result<()> {
        self.0.socket.leave_multicast_v4(*multiaddr, *interface)
    }

    /// As [`crate::UdpSocket::leave_multicast_v6`].
    ///
    /// # Errors
    /// As there.
    pub fn leave_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.0.socket.leave_multicast_v6(multiaddr, interface)
    }

    super::wait::limits!();
}
