//! A socket before it connects or listens.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kumiki_graph::{KeepAlive, Quality};
use kumiki_wire::inet::IpQuality;

use super::{TcpListener, TcpStream};
use crate::Stack;
use crate::sockets::error::Errno;
use crate::sockets::{Bound, Terms};

/// As Linux: two hours, then nine questions 75 s apart.
const KEEP_ALIVE: KeepAlive = KeepAlive {
    idle: kumiki_graph::Duration::from_secs(2 * 3600),
    interval: kumiki_graph::Duration::from_secs(75),
    count: 9,
};

/// What Linux has where nobody asks (`net.ipv4.tcp_wmem` and `tcp_rmem`, the second number), and the least that it
/// gives.
const SEND_BUFFER: (u32, u32) = (16_384, 4_608);
const RECEIVE_BUFFER: (u32, u32) = (131_072, 2_304);

fn shown_buffer(asked: Option<u32>, (default, least): (u32, u32)) -> u32 {
    asked.map_or(default, |it| it.saturating_mul(2).max(least))
}

/// The bits of a type of service that are not TCP's own (RFC 3168 section 5).
const DSCP: u8 = 0xfc;

/// What was asked of it so far.
#[derive(Debug, Default)]
struct SocketOptions {
    quality: Quality,
    terms: Terms,
    linger: Option<Duration>,
    bound: Option<Bound>,
}

/// A TCP socket that neither connects nor listens yet, as `tokio::net::TcpSocket`.
#[derive(Debug)]
pub struct TcpSocket {
    stack: Stack,
    is_v6: bool,
    asked: Mutex<SocketOptions>,
}

impl Drop for TcpSocket {
    fn drop(&mut self) {
        if let Some(bound) = self.asked().bound.take() {
            self.stack.0.with(|table| table.unbind_tcp(bound));
        }
    }
}

impl TcpSocket {
    fn new(is_v6: bool) -> io::Result<Self> {
        Ok(Self { stack: Stack::current()?, is_v6, asked: Mutex::default() })
    }

    /// A socket of IPv4.
    ///
    /// # Errors
    /// `Unsupported` where there is no [stack](Stack::current).
    pub fn new_v4() -> io::Result<Self> {
        Self::new(false)
    }

    /// A socket of IPv6, which takes callers of both versions where it listens at `[::]`.
    ///
    /// # Errors
    /// As [`TcpSocket::new_v4`].
    pub fn new_v6() -> io::Result<Self> {
        Self::new(true)
    }

    fn asked(&self) -> MutexGuard<'_, SocketOptions> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is asked of TCP, also what tokio has no method for.
    pub fn change(&self, change: impl FnOnce(&mut Quality)) {
        change(&mut self.asked().quality);
    }

    /// Whether an idle peer is asked if it is still there.
    ///
    /// # Errors
    /// None.
    pub fn keepalive(&self) -> io::Result<bool> {
        Ok(self.asked().quality.keep_alive.is_some_and(|it| it != KeepAlive::OFF))
    }

    /// Sets it: after two hours, then every 75 s, given up after nine questions.
    ///
    /// # Errors
    /// None.
    pub fn set_keepalive(&self, keepalive: bool) -> io::Result<()> {
        self.asked().quality.keep_alive = Some(if keepalive { KEEP_ALIVE } else { KeepAlive::OFF });
        Ok(())
    }

    /// Whether others may take the same address who say so too, until one of them listens.
    ///
    /// # Errors
    /// None.
    pub fn reuseaddr(&self) -> io::Result<bool> {
        Ok(self.asked().terms.reuse_address)
    }

    /// Sets it. Nothing here keeps an address after its socket, so none is needed to take one that was in use lately.
    ///
    /// # Errors
    /// None.
    pub fn set_reuseaddr(&self, reuseaddr: bool) -> io::Result<()> {
        self.asked().terms.reuse_address = reuseaddr;
        Ok(())
    }

    /// Whether others may take the same address who say so too, and listen there: each gets the callers of a part of
    /// all addresses.
    ///
    /// # Errors
    /// None.
    pub fn reuseport(&self) -> io::Result<bool> {
        Ok(self.asked().terms.reuse_port)
    }

    /// Sets it.
    ///
    /// # Errors
    /// None.
    pub fn set_reuseport(&self, reuseport: bool) -> io::Result<()> {
        self.asked().terms.reuse_port = reuseport;
        Ok(())
    }

    /// The size of the send buffer, as Linux says it: twice what was asked for, as half of it is for what goes with the
    /// octets. Where nothing was asked for it grows by itself.
    ///
    /// # Errors
    /// None.
    pub fn send_buffer_size(&self) -> io::Result<u32> {
        Ok(shown_buffer(self.asked().quality.send_buffer, SEND_BUFFER))
    }

    /// Asks for room for so many octets that were written and not acknowledged.
    ///
    /// # Errors
    /// None.
    pub fn set_send_buffer_size(&self, size: u32) -> io::Result<()> {
        self.asked().quality.send_buffer = Some(size.max(1));
        Ok(())
    }

    /// The size of the receive buffer, as [`TcpSocket::send_buffer_size`] has that of the other.
    ///
    /// # Errors
    /// None.
    pub fn recv_buffer_size(&self) -> io::Result<u32> {
        Ok(shown_buffer(self.asked().quality.receive_buffer, RECEIVE_BUFFER))
    }

    /// Asks for room for so many octets that have come and were not read.
    ///
    /// # Errors
    /// None.
    pub fn set_recv_buffer_size(&self, size: u32) -> io::Result<()> {
        self.asked().quality.receive_buffer = Some(size.max(1));
        Ok(())
    }

    /// As [`TcpStream::linger`].
    ///
    /// # Errors
    /// None.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        Ok(self.asked().linger)
    }

    /// As [`TcpStream::set_linger`].
    ///
    /// # Errors
    /// None.
    pub fn set_linger(&self, dur: Option<Duration>) -> io::Result<()> {
        self.asked().linger = dur;
        Ok(())
    }

    /// Closing resets the connection.
    ///
    /// # Errors
    /// None.
    pub fn set_zero_linger(&self) -> io::Result<()> {
        self.set_linger(Some(Duration::ZERO))
    }

    /// As [`TcpStream::nodelay`].
    ///
    /// # Errors
    /// None.
    pub fn nodelay(&self) -> io::Result<bool> {
        let asked = self.asked().quality.coalesce;
        Ok(self.stack.0.lock().is_nodelay(asked))
    }

    /// Sets it, also for connections accepted later.
    ///
    /// # Errors
    /// None.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        let coalesce = self.stack.0.lock().coalesce(nodelay);
        self.asked().quality.coalesce = Some(coalesce);
        Ok(())
    }

    /// The type of service of what is sent (RFC 2474).
    ///
    /// # Errors
    /// None.
    pub fn tos_v4(&self) -> io::Result<u32> {
        Ok(IpQuality::from(self.asked().quality.special).tos.unwrap_or_default().into())
    }

    /// Sets it; the last two bits are TCP's own (RFC 3168).
    ///
    /// # Errors
    /// `InvalidInput` where it is more than 255.
    pub fn set_tos_v4(&self, tos: u32) -> io::Result<()> {
        let tos = crate::io_shape::octet(tos, 0, "a type of service")? & DSCP;
        let mut asked = self.asked();
        asked.quality.special = IpQuality { tos: Some(tos), ..asked.quality.special.into() }.into();
        Ok(())
    }

    /// The traffic class of what is sent over IPv6.
    ///
    /// # Errors
    /// `Unsupported` where the socket is of IPv4.
    pub fn tclass_v6(&self) -> io::Result<u32> {
        if !self.is_v6 {
            let text = "an option of IPv6, and the socket is of IPv4";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        self.tos_v4()
    }

    /// Sets it.
    ///
    /// # Errors
    /// As [`TcpSocket::set_tos_v4`]; the system's "no such option" where the socket is of IPv4.
    pub fn set_tclass_v6(&self, tclass: u32) -> io::Result<()> {
        if !self.is_v6 {
            return Err(Errno::NoOption.into());
        }
        self.set_tos_v4(tclass)
    }

    /// As [`TcpSocket::tos_v4`].
    ///
    /// # Errors
    /// None.
    #[deprecated = "`tos` is now `tos_v4`, as in tokio"]
    pub fn tos(&self) -> io::Result<u32> {
        self.tos_v4()
    }

    /// As [`TcpSocket::set_tos_v4`].
    ///
    /// # Errors
    /// As there.
    #[deprecated = "`set_tos` is now `set_tos_v4`, as in tokio"]
    pub fn set_tos(&self, tos: u32) -> io::Result<()> {
        self.set_tos_v4(tos)
    }

    /// The device it is bound to: none.
    ///
    /// # Errors
    /// None.
    pub const fn device(&self) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// Binds it to a device, or to none again.
    ///
    /// # Errors
    /// `Unsupported` where a device is named: a host here has one line.
    pub fn bind_device(&self, interface: Option<&[u8]>) -> io::Result<()> {
        crate::io_shape::bind_device(interface)
    }

    /// The address it was bound to; the unspecified one before that.
    ///
    /// # Errors
    /// None.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let any = if self.is_v6 { IpAddr::V6(Ipv6Addr::UNSPECIFIED) } else { IpAddr::V4(Ipv4Addr::UNSPECIFIED) };
        Ok(self.asked().bound.map_or_else(|| SocketAddr::new(any, 0), |bound| bound.local))
    }

    /// Nothing can have gone wrong yet.
    ///
    /// # Errors
    /// None.
    pub const fn take_error(&self) -> io::Result<Option<io::Error>> {
        Ok(None)
    }

    fn check_version(&self, address: SocketAddr) -> io::Result<()> {
        if address.is_ipv6() == self.is_v6 {
            return Ok(());
        }
        Err(Errno::AddressFamily.into())
    }

    /// Takes a local address; with port 0 a port is chosen.
    ///
    /// # Errors
    /// `AddrInUse`, `AddrNotAvailable`; `InvalidInput` where it is bound already; the system's "address family" where
    /// the address is of the other version of IP.
    pub fn bind(&self, addr: SocketAddr) -> io::Result<()> {
        self.check_version(addr)?;
        let mut asked = self.asked();
        if let Some(bound) = asked.bound {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is bound to {} already", bound.local)));
        }
        let terms = asked.terms;
        asked.bound = Some(self.stack.0.with(|table| table.bind_tcp(addr, terms))?);
        Ok(())
    }

    /// Connects to `addr`.
    ///
    /// # Errors
    /// As [`TcpStream::connect`].
    pub async fn connect(self, addr: SocketAddr) -> io::Result<TcpStream> {
        self.check_version(addr)?;
        let (quality, linger, bound) = {
            let mut asked = self.asked();
            (asked.quality, asked.linger, asked.bound.take())
        };
        let stream = TcpStream::connect_to(&self.stack, bound, addr, quality).await?;
        stream.set_linger(linger)?;
        Ok(stream)
    }

    /// Listens, with room for `backlog` callers that were not accepted.
    ///
    /// # Errors
    /// As [`TcpListener::bind`].
    pub fn listen(self, backlog: u32) -> io::Result<TcpListener> {
        let any = self.local_addr()?;
        let (quality, linger, bound) = {
            let mut asked = self.asked();
            (asked.quality, asked.linger, asked.bound.take())
        };
        let bound = match bound {
            Some(bound) => bound,
            None => self.stack.0.with(|table| table.bind_tcp(any, Terms::default()))?,
        };
        let listener = TcpListener::listen(&self.stack, bound, (quality, linger), backlog)?;
        self.stack.0.driver().settle()?;
        Ok(listener)
    }
}
