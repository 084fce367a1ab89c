//! A socket before it connects or listens.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kumiki_graph::{Coalesce, KeepAlive, Quality};
use kumiki_wire::inet::IpQuality;

use super::{TcpListener, TcpStream};
use crate::Stack;
use crate::io_shape::Owned;

/// As Linux: two hours, then nine questions 75 s apart.
const KEEP_ALIVE: KeepAlive = KeepAlive {
    idle: kumiki_graph::Duration::from_secs(2 * 3600),
    interval: kumiki_graph::Duration::from_secs(75),
    count: 9,
};

/// What was asked of it so far.
#[derive(Debug, Default)]
struct Asked {
    quality: Quality,
    reuse_address: bool,
    reuse_port: bool,
    linger: Option<Duration>,
    bound: Option<SocketAddr>,
}

/// A TCP socket that neither connects nor listens yet, as `tokio::net::TcpSocket`.
#[derive(Debug)]
pub struct TcpSocket {
    stack: Stack,
    is_v6: bool,
    asked: Mutex<Asked>,
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

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Whether an address may be taken that was in use lately; it always may.
    ///
    /// # Errors
    /// None.
    pub fn reuseaddr(&self) -> io::Result<bool> {
        Ok(self.asked().reuse_address)
    }

    /// Remembers it: nothing here keeps an address after its socket.
    ///
    /// # Errors
    /// None.
    pub fn set_reuseaddr(&self, reuseaddr: bool) -> io::Result<()> {
        self.asked().reuse_address = reuseaddr;
        Ok(())
    }

    /// Whether several sockets may take one address.
    ///
    /// # Errors
    /// None.
    pub fn reuseport(&self) -> io::Result<bool> {
        Ok(self.asked().reuse_port)
    }

    /// Sets it.
    ///
    /// # Errors
    /// `Unsupported` where it is wanted: of several listeners at one address only the first would get callers.
    pub fn set_reuseport(&self, reuseport: bool) -> io::Result<()> {
        if reuseport {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "one address has one listener"));
        }
        self.asked().reuse_port = reuseport;
        Ok(())
    }

    /// What may be written before it is acknowledged, in octets; 0 where it was not asked for: it grows then.
    ///
    /// # Errors
    /// None.
    pub fn send_buffer_size(&self) -> io::Result<u32> {
        Ok(self.asked().quality.send_buffer.unwrap_or_default())
    }

    /// Asks for so much.
    ///
    /// # Errors
    /// None.
    pub fn set_send_buffer_size(&self, size: u32) -> io::Result<()> {
        self.asked().quality.send_buffer = Some(size.max(1));
        Ok(())
    }

    /// What may come before it is read, in octets; 0 where it was not asked for: it grows then.
    ///
    /// # Errors
    /// None.
    pub fn recv_buffer_size(&self) -> io::Result<u32> {
        Ok(self.asked().quality.receive_buffer.unwrap_or_default())
    }

    /// Asks for so much.
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
        Ok(self.asked().quality.coalesce == Some(Coalesce::Never))
    }

    /// Sets it, also for connections accepted later.
    ///
    /// # Errors
    /// None.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.asked().quality.coalesce = Some(if nodelay { Coalesce::Never } else { Coalesce::Nagle });
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
        let wrong =
            |_| io::Error::new(io::ErrorKind::InvalidInput, format!("a type of service is 0 to 255, not {tos}"));
        let tos = u8::try_from(tos).map_err(wrong)?;
        let mut asked = self.asked();
        asked.quality.special = IpQuality { tos: Some(tos), ..asked.quality.special.into() }.into();
        Ok(())
    }

    /// The traffic class of what is sent over IPv6.
    ///
    /// # Errors
    /// None.
    pub fn tclass_v6(&self) -> io::Result<u32> {
        self.tos_v4()
    }

    /// Sets it.
    ///
    /// # Errors
    /// As [`TcpSocket::set_tos_v4`].
    pub fn set_tclass_v6(&self, tclass: u32) -> io::Result<()> {
        self.set_tos_v4(tclass)
    }

    /// The address it was bound to; the unspecified one before that.
    ///
    /// # Errors
    /// None.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let any = if self.is_v6 { IpAddr::V6(Ipv6Addr::UNSPECIFIED) } else { IpAddr::V4(Ipv4Addr::UNSPECIFIED) };
        Ok(self.asked().bound.unwrap_or_else(|| SocketAddr::new(any, 0)))
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
        let (own, other) = if self.is_v6 { (6, 4) } else { (4, 6) };
        let text = format!("{address} is an address of IPv{other}, and the socket is of IPv{own}");
        Err(io::Error::new(io::ErrorKind::InvalidInput, text))
    }

    /// Takes a local address; with port 0 a port is chosen.
    ///
    /// # Errors
    /// `AddrInUse`, `AddrNotAvailable`; `InvalidInput` where it is bound already or the address is of the other version of IP.
    pub fn bind(&self, addr: SocketAddr) -> io::Result<()> {
        self.check_version(addr)?;
        let mut asked = self.asked();
        if let Some(bound) = asked.bound {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is bound to {bound} already")));
        }
        asked.bound = Some(self.stack.0.with(|table| table.bind_tcp(addr, false))?);
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
        let (quality, bound) = {
            let mut asked = self.asked();
            (asked.quality, asked.bound.take())
        };
        let local = match bound {
            Some(bound) => bound,
            None => self.local_addr()?,
        };
        let handle = self.stack.0.with(|table| {
            let local = if bound.is_some() { local } else { table.bind_tcp(local, false)? };
            table.listen(local, quality, backlog).inspect_err(|_| table.unbind_tcp(local))
        })?;
        Ok(TcpListener(Owned { stack: self.stack.clone(), handle }))
    }
}
