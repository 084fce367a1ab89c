//! TCP that blocks.

use core::fmt;
use core::future::poll_fn;
use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;

use tokio::io::ReadBuf;

use super::wait::{Limits, stack, wait};
use crate::ToSocketAddrs;

/// A TCP connection, as `std::net::TcpStream`; see [`crate::TcpStream`].
pub struct TcpStream(Arc<Shared<crate::TcpStream>>);

/// A TCP socket that listens, as `std::net::TcpListener`; see [`crate::TcpListener`].
pub struct TcpListener(Arc<Shared<crate::TcpListener>>);

/// A socket, which several may have.
struct Shared<T> {
    socket: T,
    limits: Limits,
}

impl<T> Shared<T> {
    fn new(socket: T, limits: Limits) -> Arc<Self> {
        Arc::new(Self { socket, limits })
    }
}

impl fmt::Debug for TcpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.socket.fmt(f)
    }
}

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.socket.fmt(f)
    }
}

impl TcpStream {
    /// Connects to the first of the addresses that answers.
    ///
    /// # Errors
    /// As [`crate::TcpStream::connect`]; `Unsupported` in a simulation.
    pub fn connect<A: ToSocketAddrs>(addr: A) -> io::Result<Self> {
        let stack = stack()?;
        wait(None, stack.scope(crate::TcpStream::connect(addr))).map(Self::from)
    }

    /// Connects to `addr` within `timeout`.
    ///
    /// # Errors
    /// As [`TcpStream::connect`]; `TimedOut`; `InvalidInput` where there is no time.
    pub fn connect_timeout(addr: &SocketAddr, timeout: Duration) -> io::Result<Self> {
        if timeout.is_zero() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no time to connect in"));
        }
        let stack = stack()?;
        let called = wait(Some(timeout), stack.scope(crate::TcpStream::connect(*addr)));
        called.map(Self::from).map_err(|error| {
            if error.kind() == io::ErrorKind::WouldBlock { io::ErrorKind::TimedOut.into() } else { error }
        })
    }

    /// Another one for the same connection, with the same limits of time.
    ///
    /// # Errors
    /// None.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(Arc::clone(&self.0)))
    }

    /// The connection in the shape of tokio's, where nobody else has it; its limits of time are forgotten.
    ///
    /// # Errors
    /// Itself, where somebody else has it.
    pub fn into_async(self) -> Result<crate::TcpStream, Self> {
        Arc::try_unwrap(self.0).map(|it| it.socket).map_err(Self)
    }

    /// Ends one direction, or both. Whoever reads is told of the end, of what came before too. Where both have been
    /// ended, what comes then is answered by a reset.
    ///
    /// # Errors
    /// `NotConnected` where the connection has ended already, by a reset or in both directions.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.0.socket.end(how)
    }

    /// Looks at what has come without taking it.
    ///
    /// # Errors
    /// As reading.
    pub fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.limits.to_read(self.0.socket.peek(buf))
    }

    /// As [`crate::TcpStream::peer_addr`].
    ///
    /// # Errors
    /// As there.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.socket.peer_addr()
    }

    /// As [`crate::TcpStream::local_addr`].
    ///
    /// # Errors
    /// As there.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.socket.local_addr()
    }

    /// As [`crate::TcpStream::nodelay`].
    ///
    /// # Errors
    /// As there.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.0.socket.nodelay()
    }

    /// As [`crate::TcpStream::set_nodelay`].
    ///
    /// # Errors
    /// As there.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.0.socket.set_nodelay(nodelay)
    }

    /// As [`crate::TcpStream::ttl`].
    ///
    /// # Errors
    /// As there.
    pub fn ttl(&self) -> io::Result<u32> {
        self.0.socket.ttl()
    }

    /// As [`crate::TcpStream::set_ttl`].
    ///
    /// # Errors
    /// As there.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.0.socket.set_ttl(ttl)
    }

    /// As [`crate::TcpStream::take_error`].
    ///
    /// # Errors
    /// As there.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.0.socket.take_error()
    }

    super::wait::limits!();

    fn read_into(&self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        let mut buf = ReadBuf::new(buf);
        self.0.limits.to_read(poll_fn(|cx| self.0.socket.poll_read_into(cx, &mut buf)))?;
        Ok(buf.filled().len())
    }

    fn write_from(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.limits.to_write(poll_fn(|cx| self.0.socket.poll_write_from(cx, bufs.iter().map(|it| &**it))))
    }
}

/// Reading and writing, by the socket or a reference to it, as of std's.
macro_rules! stream {
    ($($of:ty),*) => {$(
        impl Read for $of {
            fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                self.read_into(buf)
            }

            fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                let first = bufs.iter_mut().find(|it| !it.is_empty());
                first.map_or(Ok(0), |it| self.read_into(it))
            }
        }

        impl Write for $of {
            fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
                self.write_from(&[IoSlice::new(buf)])
            }

            fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
                self.write_from(bufs)
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
    )*};
}

stream!(TcpStream, &TcpStream);

impl From<crate::TcpStream> for TcpStream {
    fn from(stream: crate::TcpStream) -> Self {
        let limits = Limits::of(&stream.0.stack);
        Self(Shared::new(stream, limits))
    }
}

impl TcpListener {
    /// Listens at the first of the addresses that can be had.
    ///
    /// # Errors
    /// As [`crate::TcpListener::bind`]; `Unsupported` in a simulation.
    pub fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<Self> {
        let stack = stack()?;
        let listener = wait(None, stack.scope(crate::TcpListener::bind(addr)))?;
        Ok(Self(Shared::new(listener, Limits::of(&stack))))
    }

    /// Where it listens.
    ///
    /// # Errors
    /// As [`crate::TcpListener::local_addr`].
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.socket.local_addr()
    }

    /// Another one for the same socket.
    ///
    /// # Errors
    /// None.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(Arc::clone(&self.0)))
    }

    /// The next connection and its peer.
    ///
    /// # Errors
    /// As [`crate::TcpListener::accept`].
    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let (stream, peer) = self.0.limits.to_read(self.0.socket.accept())?;
        Ok((stream.into(), peer))
    }

    /// Connections as they come; there is always a next one.
    #[must_use]
    pub const fn incoming(&self) -> Incoming<'_> {
        Incoming(self)
    }

    /// As [`crate::TcpListener::ttl`].
    ///
    /// # Errors
    /// As there.
    pub fn ttl(&self) -> io::Result<u32> {
        self.0.socket.ttl()
    }

    /// As [`crate::TcpListener::set_ttl`].
    ///
    /// # Errors
    /// As there.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.0.socket.set_ttl(ttl)
    }

    /// Whether nothing waits: what would is `WouldBlock`.
    ///
    /// # Errors
    /// None.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.0.limits.set_never(nonblocking);
        Ok(())
    }
}

/// The connections of a listener.
#[derive(Debug)]
pub struct Incoming<'a>(&'a TcpListener);

impl Iterator for Incoming<'_> {
    type Item = io::Result<TcpStream>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.accept().map(|(stream, _)| stream))
    }
}

impl<'a> IntoIterator for &'a TcpListener {
    type Item = io::Result<TcpStream>;
    type IntoIter = Incoming<'a>;

    fn into_iter(self) -> Incoming<'a> {
        self.incoming()
    }
}
