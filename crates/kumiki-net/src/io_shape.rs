//! What both kinds of sockets do in the same way: waiting, trying, and the budget of a task.

use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll, Waker};
use std::io;

use bytes::BufMut;
use tokio::io::{Interest, Ready};

use crate::Stack;
use crate::sockets::Table;
use kumiki_graph::Handle;

/// A socket of a stack; dropping it closes it.
#[derive(Debug)]
pub(crate) struct OwnedSocket {
    pub(crate) stack: Stack,
    pub(crate) handle: Handle,
}

impl Drop for OwnedSocket {
    fn drop(&mut self) {
        self.stack.0.with(|table| table.close(self.handle));
    }
}

impl OwnedSocket {
    /// Works on the table.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Table) -> T) -> T {
        self.stack.0.with(act)
    }

    /// Tries `act`; where it would have to wait, `wait` leaves `cx`'s waker in the same breath, so that nothing gets
    /// lost between the two.
    pub(crate) fn poll<T>(
        &self,
        cx: &mut Context<'_>,
        act: impl FnOnce(&mut Table) -> io::Result<T>,
        wait: impl FnOnce(&mut Table, &Waker) -> io::Result<()>,
    ) -> Poll<io::Result<T>> {
        // Who always finds something would never let others run.
        let coop = core::task::ready!(tokio::task::coop::poll_proceed(cx));
        let tried = self.with(|table| match act(table) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => match wait(table, cx.waker()) {
                Ok(()) => Poll::Pending,
                Err(error) => Poll::Ready(Err(error)),
            },
            tried => Poll::Ready(tried),
        });
        if tried.is_ready() {
            coop.made_progress();
        }
        tried
    }
}

/// A socket that has a part in each stack of its host. When it is dropped the first goes last, which has the address.
#[derive(Debug)]
pub(crate) struct Parts {
    others: Box<[OwnedSocket]>,
    first: OwnedSocket,
    /// Which is looked at first the next time.
    turn: AtomicUsize,
}

impl Parts {
    /// One whose parts `open` makes, that of the first stack before the others.
    pub(crate) fn open(stack: &Stack, mut open: impl FnMut(&Stack) -> io::Result<Handle>) -> io::Result<Self> {
        let mut part = |stack: &Stack| Ok(OwnedSocket { stack: stack.clone(), handle: open(stack)? });
        let first = part(stack)?;
        let others = stack.others().iter().map(part).collect::<io::Result<_>>()?;
        Ok(Self { others, first, turn: AtomicUsize::new(0) })
    }

    /// The part that stands for all in what they have in common.
    pub(crate) const fn first(&self) -> &OwnedSocket {
        &self.first
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &OwnedSocket> {
        core::iter::once(&self.first).chain(&self.others)
    }

    /// As [`OwnedSocket::poll`], with whichever part has something; they have turns.
    pub(crate) fn poll<T>(
        &self,
        cx: &mut Context<'_>,
        act: impl Fn(&mut Table, Handle) -> io::Result<T>,
        wait: impl Fn(&mut Table, Handle, &Waker) -> io::Result<()>,
    ) -> Poll<io::Result<(&OwnedSocket, T)>> {
        let count = self.others.len() + 1;
        let turn = if count > 1 { self.turn.load(Ordering::Relaxed) } else { 0 };
        for number in (0..count).map(|it| (turn + it) % count) {
            let part = number.checked_sub(1).and_then(|it| self.others.get(it)).unwrap_or(&self.first);
            let handle = part.handle;
            let tried = part.poll(cx, |table| act(table, handle), |table, waker| wait(table, handle, waker));
            if let Poll::Ready(found) = tried {
                self.turn.store(number + 1, Ordering::Relaxed);
                return Poll::Ready(found.map(|it| (part, it)));
            }
        }
        Poll::Pending
    }
}

/// `WouldBlock` where there is nothing.
pub(crate) fn some(ready: Ready) -> io::Result<Ready> {
    if ready.is_empty() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(ready) }
}

/// What of `interest` there is.
pub(crate) fn of_interest(interest: Interest, ready: Ready) -> Ready {
    let mut wanted = Ready::EMPTY;
    if interest.is_readable() {
        wanted |= Ready::READABLE | Ready::READ_CLOSED;
    }
    if interest.is_writable() {
        wanted |= Ready::WRITABLE | Ready::WRITE_CLOSED;
    }
    if interest.is_error() {
        wanted |= Ready::ERROR;
    }
    ready & wanted
}

/// The methods by which a socket that has `poll_ready` and `is_ready` is waited for, with the names that it has for the
/// two directions.
macro_rules! waiting {
    ($poll_read:ident, $poll_write:ident) => {
        /// Waits until some of `interest` is there, and says which.
        ///
        /// # Errors
        /// None while the host is there.
        pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
            poll_fn(|cx| self.poll_ready(cx, interest)).await
        }

        /// Waits until there is something to read, or an error to be told.
        ///
        /// # Errors
        /// None while the host is there.
        pub async fn readable(&self) -> io::Result<()> {
            self.ready(Interest::READABLE).await.map(drop)
        }

        /// As [`Self::readable`].
        ///
        /// # Errors
        /// As there.
        pub fn $poll_read(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.poll_ready(cx, Interest::READABLE).map_ok(drop)
        }

        /// Waits until there is room for what is written.
        ///
        /// # Errors
        /// None while the host is there.
        pub async fn writable(&self) -> io::Result<()> {
            self.ready(Interest::WRITABLE).await.map(drop)
        }

        /// As [`Self::writable`].
        ///
        /// # Errors
        /// As there.
        pub fn $poll_write(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.poll_ready(cx, Interest::WRITABLE).map_ok(drop)
        }

        /// Does `f` where the socket is ready for `interest`.
        ///
        /// # Errors
        /// `WouldBlock` where it is not; what `f` says.
        pub fn try_io<R>(&self, interest: Interest, f: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
            self.is_ready(interest).and_then(|_| f())
        }

        /// Does `f` each time that the socket is ready for `interest`, until it does not answer `WouldBlock`.
        ///
        /// # Errors
        /// What `f` says.
        pub async fn async_io<R>(&self, interest: Interest, mut f: impl FnMut() -> io::Result<R>) -> io::Result<R> {
            loop {
                self.ready(interest).await?;
                match f() {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    done => return done,
                }
            }
        }
    };
}

pub(crate) use waiting;

/// An option that is an octet, `least` or more; `what` it is, for whoever gave another number.
pub(crate) fn octet(number: u32, least: u8, what: &str) -> io::Result<u8> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, format!("{what} is {least} to 255, not {number}"));
    u8::try_from(number).ok().filter(|it| *it >= least).ok_or_else(wrong)
}

/// The time to live where nobody asks for another: IP's default.
pub(crate) const TTL: u8 = 64;

/// A time to live; `u32::MAX`, which is -1 to Linux, is the default again.
pub(crate) fn ttl(number: u32) -> io::Result<u8> {
    if number == u32::MAX { Ok(TTL) } else { octet(number, 1, "a time to live") }
}

/// How much `buf` takes without growing first: as much as tokio reads into one.
pub(crate) fn room(buf: &mut impl BufMut) -> usize {
    buf.chunk_mut().len()
}

/// Binds a socket to no device, which is all there is.
pub(crate) fn bind_device(interface: Option<&[u8]>) -> io::Result<()> {
    interface.map_or(Ok(()), |name| {
        let text = format!("a host here has one line, and no device called `{}`", name.escape_ascii());
        Err(io::Error::new(io::ErrorKind::Unsupported, text))
    })
}
