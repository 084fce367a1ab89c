//! A connection.

use core::fmt;
use core::future::poll_fn;
use core::net::SocketAddr;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io::{self, IoSlice, IoSliceMut};
#[cfg(all(feature = "host", target_os = "linux"))]
use std::net::Shutdown;

use bytes::BufMut;
use kumiki_graph::{Handle, Quality};
use kumiki_wire::inet::IpQuality;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};

use super::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use crate::addr::Attempts;
use crate::io_shape::{OwnedSocket, of_interest, room, some};
use crate::sockets::{Bound, Effects, Phase, Stream, error};
use crate::{Stack, ToSocketAddrs};

/// A TCP connection, as `tokio::net::TcpStream`.
///
/// Dropping it closes it in order: what was written still goes. It is reset instead where octets have come that nobody
/// has read, as in Linux, and where a linger of zero was asked for.
pub struct TcpStream(pub(crate) OwnedSocket);

pub(super) fn ttl_of(quality: &Quality) -> u32 {
    IpQuality::from(quality.special).ttl.unwrap_or(crate::io_shape::TTL).into()
}

impl TcpStream {
    pub(crate) const fn of(owned: OwnedSocket) -> Self {
        Self(owned)
    }

    /// Connects to the first of the addresses that answers.
    ///
    /// Dropping the future gives the call up.
    ///
    /// # Errors
    /// `ConnectionRefused`, `TimedOut`, `HostUnreachable`, `NetworkUnreachable`; `AddrNotAvailable` where all local
    /// ports are in use towards the peer; those of [`crate::lookup_host`]. Of several addresses, that of the first
    /// whose version of IP the host has.
    pub async fn connect<A: ToSocketAddrs>(addr: A) -> io::Result<Self> {
        let stack = Stack::current()?;
        let addresses = addr.written().resolve(&stack)?;
        let mut failed = Attempts::default();
        for remote in addresses {
            match Self::connect_to(&stack, None, remote, Quality::default()).await {
                Ok(stream) => return Ok(stream),
                Err(error) => failed.add(error),
            }
        }
        Err(failed.error())
    }

    /// Connects from `local`, which was taken and is given back with the connection.
    pub(super) async fn connect_to(
        stack: &Stack,
        local: Option<Bound>,
        remote: SocketAddr,
        quality: Quality,
    ) -> io::Result<Self> {
        // Of several stacks each has its own ports to call from, and none may be left where another has some.
        for _ in stack.others() {
            match Self::call(stack, local, remote, quality).await {
                Err(error) if local.is_none() && error.kind() == io::ErrorKind::AddrNotAvailable => {}
                called => return called,
            }
        }
        Self::call(stack, local, remote, quality).await
    }

    async fn call(stack: &Stack, local: Option<Bound>, remote: SocketAddr, quality: Quality) -> io::Result<Self> {
        let stack = stack.for_call(local.map(|it| it.local), remote);
        let called = stack.0.with(|table| table.connect(local, remote, quality));
        let handle = called.inspect_err(|_| {
            if let Some(local) = local {
                stack.0.with(|table| table.unbind_tcp(local));
            }
        })?;
        let stream = Self(OwnedSocket { stack: stack.clone(), handle });
        poll_fn(|cx| stream.poll_connected(cx)).await?;
        Ok(stream)
    }

    fn poll_connected(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let handle = self.0.handle;
        self.0.poll(
            cx,
            |table| {
                let (stream, _) = table.stream(handle)?;
                match stream.phase {
                    Phase::Calling => Err(io::ErrorKind::WouldBlock.into()),
                    Phase::Open => Ok(()),
                    Phase::Ended => Err(stream.take_error().unwrap_or_else(|| error::is_gone(None))),
                }
            },
            |table, waker| {
                let (stream, effects) = table.stream(handle)?;
                stream.wait_to_write(waker, effects);
                Ok(())
            },
        )
    }

    const fn handle(&self) -> Handle {
        self.0.handle
    }

    /// Our own address.
    ///
    /// # Errors
    /// None while the host is there.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.with(|table| {
            let (stream, _) = table.stream(self.handle())?;
            Ok(stream.shown(stream.local))
        })
    }

    /// The peer's address.
    ///
    /// # Errors
    /// `NotConnected` where the connection has ended.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.with(|table| {
            let (stream, _) = table.stream(self.handle())?;
            if stream.phase == Phase::Ended {
                return Err(error::not_connected());
            }
            Ok(stream.shown(stream.remote))
        })
    }

    /// What has ended the connection, if nobody was told yet; who asks is told, and nobody else after that.
    ///
    /// # Errors
    /// As [`TcpStream::local_addr`].
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.0.with(|table| Ok(table.stream(self.handle())?.0.take_error()))
    }

    // Reading.

    fn try_fill(&self, is_peek: bool, fill: impl FnMut(&[u8]) -> usize) -> io::Result<usize> {
        self.0.with(|table| {
            let (stream, effects) = table.stream(self.handle())?;
            stream.read(is_peek, fill, effects)
        })
    }

    fn poll_fill(
        &self,
        cx: &mut Context<'_>,
        is_peek: bool,
        fill: impl FnMut(&[u8]) -> usize,
    ) -> Poll<io::Result<usize>> {
        let handle = self.handle();
        self.0.poll(
            cx,
            |table| {
                let (stream, effects) = table.stream(handle)?;
                stream.read(is_peek, fill, effects)
            },
            |table, waker| {
                let (stream, effects) = table.stream(handle)?;
                stream.wait_to_read(waker, effects);
                Ok(())
            },
        )
    }

    pub(crate) fn poll_read_into(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        self.poll_fill(cx, false, |octets| put(buf, octets)).map_ok(drop)
    }

    /// Looks at what has come without taking it; waits until there is something.
    ///
    /// # Errors
    /// As reading.
    pub fn poll_peek(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<usize>> {
        self.poll_fill(cx, true, |octets| put(buf, octets))
    }

    /// As [`TcpStream::poll_peek`].
    ///
    /// # Errors
    /// As reading.
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        let mut buf = ReadBuf::new(buf);
        poll_fn(|cx| self.poll_peek(cx, &mut buf)).await
    }

    /// Reads what there is.
    ///
    /// # Errors
    /// `WouldBlock` where there is nothing; as reading.
    pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        let mut buf = ReadBuf::new(buf);
        self.try_fill(false, |octets| put(&mut buf, octets))
    }

    /// As [`TcpStream::try_read`], into several buffers.
    ///
    /// # Errors
    /// As there.
    pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let mut free: Vec<&mut [u8]> = bufs.iter_mut().map(|it| &mut **it).collect();
        self.try_fill(false, |mut octets| {
            let mut total = 0;
            for buf in &mut free {
                let n = buf.len().min(octets.len());
                let (filled, rest) = core::mem::take(buf).split_at_mut(n);
                let (now, later) = octets.split_at(n);
                filled.copy_from_slice(now);
                (*buf, octets) = (rest, later);
                total += n;
            }
            total
        })
    }

    /// As [`TcpStream::try_read`], behind what is in `buf`.
    ///
    /// # Errors
    /// As there.
    pub fn try_read_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        let mut room = room(buf);
        self.try_fill(false, |octets| {
            let n = room.min(octets.len());
            buf.put_slice(octets.get(..n).unwrap_or_default());
            room -= n;
            n
        })
    }

    /// How many octets have come that nobody has read (`FIONREAD`).
    ///
    /// # Errors
    /// As [`TcpStream::local_addr`].
    pub fn unread(&self) -> io::Result<usize> {
        self.0.with(|table| Ok(table.stream(self.handle())?.0.unread()))
    }

    // Writing.

    pub(crate) fn poll_write_from<'a>(
        &self,
        cx: &mut Context<'_>,
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> Poll<io::Result<usize>> {
        let handle = self.handle();
        self.0.poll(
            cx,
            |table| {
                let (stream, effects) = table.stream(handle)?;
                stream.write(pieces, effects)
            },
            |table, waker| {
                let (stream, effects) = table.stream(handle)?;
                stream.wait_to_write(waker, effects);
                Ok(())
            },
        )
    }

    /// Writes as much as there is room for.
    ///
    /// # Errors
    /// `WouldBlock` where there is none; as writing.
    pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        self.0.with(|table| {
            let (stream, effects) = table.stream(self.handle())?;
            stream.write([buf], effects)
        })
    }

    /// As [`TcpStream::try_write`], from several buffers.
    ///
    /// # Errors
    /// As there.
    pub fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.with(|table| {
            let (stream, effects) = table.stream(self.handle())?;
            stream.write(bufs.iter().map(|it| &**it), effects)
        })
    }

    /// Ends one direction, or both, as `std::net::TcpStream::shutdown`. Whoever reads is told of the end, of what came
    /// before too. Where both have been ended, what comes then is answered by a reset.
    ///
    /// # Errors
    /// `NotConnected` where the connection has ended already, by a reset or in both directions.
    #[cfg(all(feature = "host", target_os = "linux"))]
    pub fn end(&self, how: Shutdown) -> io::Result<()> {
        // Says so too.
        self.peer_addr()?;
        if matches!(how, Shutdown::Read | Shutdown::Both) {
            self.shut_read()?;
        }
        if matches!(how, Shutdown::Write | Shutdown::Both) {
            self.shut_write()?;
        }
        Ok(())
    }

    #[cfg(all(feature = "host", target_os = "linux"))]
    fn shut_read(&self) -> io::Result<()> {
        self.0.with(|table| {
            let (stream, effects) = table.stream(self.handle())?;
            stream.shut_read(effects);
            Ok(())
        })
    }

    pub(crate) fn shut_write(&self) -> io::Result<()> {
        self.0.with(|table| {
            let (stream, effects) = table.stream(self.handle())?;
            stream.shut_write(effects);
            Ok(())
        })
    }

    // Waiting.

    /// What of `interest` there is; `WouldBlock` where there is nothing of it.
    fn is_ready(&self, interest: Interest) -> io::Result<Ready> {
        self.0.with(|table| {
            let (stream, effects) = table.stream(self.handle())?;
            some(of_interest(interest, ready_of(stream, effects)))
        })
    }

    fn poll_ready(&self, cx: &mut Context<'_>, interest: Interest) -> Poll<io::Result<Ready>> {
        let handle = self.handle();
        self.0.poll(
            cx,
            |table| {
                let (stream, effects) = table.stream(handle)?;
                some(of_interest(interest, ready_of(stream, effects)))
            },
            |table, waker| {
                let (stream, effects) = table.stream(handle)?;
                if interest.is_readable() || interest.is_error() {
                    stream.wait_to_read(waker, effects);
                }
                if interest.is_writable() {
                    stream.wait_to_write(waker, effects);
                }
                Ok(())
            },
        )
    }

    crate::io_shape::waiting!(poll_read_ready, poll_write_ready);

    // Options.

    /// Changes what is asked of TCP for this connection, also what tokio has no method for. TCP takes what can be
    /// changed while it is open.
    ///
    /// # Errors
    /// As [`TcpStream::local_addr`].
    pub fn change(&self, change: impl FnOnce(&mut Quality)) -> io::Result<()> {
        self.0.with(|table| {
            let (stream, effects) = table.stream(self.handle())?;
            stream.set(change, effects);
            Ok(())
        })
    }

    /// Whether small segments go at once (`TCP_NODELAY`).
    ///
    /// # Errors
    /// As [`TcpStream::local_addr`].
    pub fn nodelay(&self) -> io::Result<bool> {
        self.0.with(|table| {
            let asked = table.stream(self.handle())?.0.quality.coalesce;
            Ok(table.is_nodelay(asked))
        })
    }

    /// Sets it.
    ///
    /// # Errors
    /// As [`TcpStream::local_addr`].
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.0.with(|table| {
            let coalesce = table.coalesce(nodelay);
            let (stream, effects) = table.stream(self.handle())?;
            stream.set(|it| it.coalesce = Some(coalesce), effects);
            Ok(())
        })
    }

    /// Whether each segment is to be acknowledged at once (`TCP_QUICKACK`); this TCP decides by itself, and only
    /// remembers what was asked.
    ///
    /// # Errors
    /// As [`TcpStream::local_addr`].
    pub fn quickack(&self) -> io::Result<bool> {
        self.0.with(|table| Ok(table.stream(self.handle())?.0.quick_ack))
    }

    /// Sets it.
    ///
    /// # Errors
    /// As [`TcpStream::local_addr`].
    pub fn set_quickack(&self, quickack: bool) -> io::Result<()> {
        self.0.with(|table| {
            table.stream(self.handle())?.0.quick_ack = quickack;
            Ok(())
        })
    }

    /// What was asked for by [`TcpStream::set_linger`].
    ///
    /// # Errors
    /// As [`TcpStream::local_addr`].
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        self.0.with(|table| Ok(table.stream(self.handle())?.0.linger))
    }

    /// Zero: closing resets the connection. Any other time is remembered; closing waits for nothing, for what was
    /// written goes by itself.
    ///
    /// # Errors
    /// As [`TcpStream::local_addr`].
    pub fn set_linger(&self, dur: Option<Duration>) -> io::Result<()> {
        self.0.with(|table| {
            table.stream(self.handle())?.0.linger = dur;
            Ok(())
        })
    }

    /// Closing resets the connection.
    ///
    /// # Errors
    /// As [`TcpStream::local_addr`].
    pub fn set_zero_linger(&self) -> io::Result<()> {
        self.set_linger(Some(Duration::ZERO))
    }

    /// The time to live of what is sent.
    ///
    /// # Errors
    /// As [`TcpStream::local_addr`].
    pub fn ttl(&self) -> io::Result<u32> {
        self.0.with(|table| Ok(ttl_of(&table.stream(self.handle())?.0.quality)))
    }

    /// Sets it.
    ///
    /// # Errors
    /// `InvalidInput` where it is not 1 to 255.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        let ttl = crate::io_shape::ttl(ttl)?;
        self.0.with(|table| {
            let (stream, effects) = table.stream(self.handle())?;
            let special = |quality: &Quality| IpQuality { ttl: Some(ttl), ..quality.special.into() };
            stream.set(|it| it.special = special(it).into(), effects);
            Ok(())
        })
    }

    // Halves.

    /// Two halves that borrow it, for reading and writing in one task.
    pub fn split(&mut self) -> (ReadHalf<'_>, WriteHalf<'_>) {
        (ReadHalf(self), WriteHalf(self))
    }

    /// Two halves of their own, for reading and writing in two tasks. Dropping the one that writes ends what is sent.
    #[must_use]
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        super::split_owned::split(self)
    }
}

/// What a socket of this connection is ready for.
fn ready_of(stream: &Stream, effects: &Effects) -> Ready {
    let mut ready = Ready::EMPTY;
    if stream.is_readable() {
        ready |= Ready::READABLE;
    }
    if stream.is_writable(effects) {
        ready |= Ready::WRITABLE;
    }
    if stream.phase != Phase::Calling && stream.is_read_closed() {
        ready |= Ready::READ_CLOSED;
    }
    if stream.phase != Phase::Calling && stream.is_write_closed() {
        ready |= Ready::WRITE_CLOSED;
    }
    if stream.has_failed {
        ready |= Ready::ERROR;
    }
    ready
}

/// Puts as much as fits behind what is in `buf`.
fn put(buf: &mut ReadBuf<'_>, octets: &[u8]) -> usize {
    let n = buf.remaining().min(octets.len());
    buf.put_slice(octets.get(..n).unwrap_or_default());
    n
}

impl fmt::Debug for TcpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("TcpStream");
        if let Ok(addr) = self.local_addr() {
            shown.field("addr", &addr);
        }
        if let Ok(peer) = self.peer_addr() {
            shown.field("peer", &peer);
        }
        shown.finish_non_exhaustive()
    }
}

impl AsRef<Self> for TcpStream {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl AsyncRead for TcpStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.poll_read_into(cx, buf)
    }
}

impl AsyncWrite for TcpStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_from(cx, [buf])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_from(cx, bufs.iter().map(|it| &**it))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    // What was written is TCP's; when it has arrived nobody here can say.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.shut_write())
    }
}
