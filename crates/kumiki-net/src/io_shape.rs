//! What both kinds of sockets do in the same way: waiting, trying, and the budget of a task.

use core::task::{Context, Poll};
use std::io;

use bytes::BufMut;
use tokio::io::{Interest, Ready};

use crate::Stack;
use crate::sockets::Table;
use kumiki_graph::Handle;

/// A socket of a stack; dropping it closes it.
#[derive(Debug)]
pub(crate) struct Owned {
    pub(crate) stack: Stack,
    pub(crate) handle: Handle,
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.stack.0.with(|table| table.close(self.handle));
    }
}

impl Owned {
    /// Works on the table.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Table) -> T) -> T {
        self.stack.0.with(act)
    }

    /// Tries `act`; where it would have to wait, `wait` leaves `cx`'s waker in the same breath, so that nothing gets lost between the two.
    pub(crate) fn poll<T>(
        &self,
        cx: &mut Context<'_>,
        act: impl FnOnce(&mut Table) -> io::Result<T>,
        wait: impl FnOnce(&mut Table, &core::task::Waker) -> io::Result<()>,
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
