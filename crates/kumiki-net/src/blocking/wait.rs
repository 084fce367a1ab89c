//! Waiting in a thread.

use core::pin::pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Wake;
use std::thread::{self, Thread};
use std::time::Instant;

use tokio::task::coop::unconstrained;

use crate::Stack;

/// Wakes a thread.
struct Unpark {
    thread: Thread,
    is_woken: AtomicBool,
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Waits for `future`; `WouldBlock` where `at_most` is over before.
#[expect(clippy::disallowed_methods, reason = "a limit in real time, for threads that wait in real time")]
pub(super) fn wait<T>(at_most: Option<Duration>, future: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    // One that is too far away is none.
    let end = at_most.and_then(|at_most| Instant::now().checked_add(at_most));
    let unpark = Arc::new(Unpark { thread: thread::current(), is_woken: AtomicBool::new(false) });
    let waker = Waker::from(Arc::clone(&unpark));
    // Who gives way in a task of tokio is polled again by nobody while its thread waits here.
    let mut future = pin!(unconstrained(future));
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return done;
        }
        while !unpark.is_woken.swap(false, Ordering::AcqRel) {
            match end.map(|end| end.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return Err(io::ErrorKind::WouldBlock.into()),
                Some(left) => thread::park_timeout(left),
                None => thread::park(),
            }
        }
    }
}

/// The stack of this thread, where one may wait for it.
pub(super) fn stack() -> io::Result<Stack> {
    let stack = Stack::current()?;
    if stack.may_block() {
        return Ok(stack);
    }
    Err(of_simulation())
}

fn of_simulation() -> io::Error {
    let why = "a simulation does not run while a thread waits: in one, use `kumiki_net::TcpStream` and the others";
    io::Error::new(io::ErrorKind::Unsupported, why)
}

/// How long reading and writing may wait, and whether at all: of a socket, whoever has it.
#[derive(Debug)]
pub(super) struct Limits {
    /// A thread may wait for its stack.
    may_wait: bool,
    limit: Mutex<Limit>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Limit {
    read: Option<Duration>,
    write: Option<Duration>,
    never: bool,
}

impl Limits {
    /// None, of a socket of `stack`.
    pub(super) fn of(stack: &Stack) -> Self {
        Self { may_wait: stack.may_block(), limit: Mutex::default() }
    }

    fn get<T>(&self, get: impl FnOnce(&mut Limit) -> T) -> T {
        get(&mut self.limit.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn read(&self) -> Option<Duration> {
        self.get(|it| it.read)
    }

    pub(super) fn write(&self) -> Option<Duration> {
        self.get(|it| it.write)
    }

    pub(super) fn set_read(&self, limit: Option<Duration>) -> io::Result<()> {
        check(limit)?;
        self.get(|it| it.read = limit);
        Ok(())
    }

    pub(super) fn set_write(&self, limit: Option<Duration>) -> io::Result<()> {
        check(limit)?;
        self.get(|it| it.write = limit);
        Ok(())
    }

    pub(super) fn set_never(&self, never: bool) {
        self.get(|it| it.never = never);
    }

    /// Waits to read.
    pub(super) fn to_read<T>(&self, future: impl Future<Output = io::Result<T>>) -> io::Result<T> {
        self.within(|it| it.read, future)
    }

    /// Waits to write.
    pub(super) fn to_write<T>(&self, future: impl Future<Output = io::Result<T>>) -> io::Result<T> {
        self.within(|it| it.write, future)
    }

    fn within<T>(
        &self,
        limit: impl FnOnce(&Limit) -> Option<Duration>,
        future: impl Future<Output = io::Result<T>>,
    ) -> io::Result<T> {
        let (limit, never) = self.get(|it| (limit(it), it.never));
        if never || self.may_wait {
            return wait(if never { Some(Duration::ZERO) } else { limit }, future);
        }
        // It may have been made of one of tokio's shape, in a simulation.
        wait(Some(Duration::ZERO), future)
            .map_err(|error| if error.kind() == io::ErrorKind::WouldBlock { of_simulation() } else { error })
    }
}

/// As std has it.
fn check(limit: Option<Duration>) -> io::Result<()> {
    if limit == Some(Duration::ZERO) {
        let why = "a limit of no time; `set_nonblocking` is for that";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    Ok(())
}

/// The methods for limits of time.
macro_rules! limits {
    () => {
        /// How long reading waits; for ever where it says nothing.
        ///
        /// # Errors
        /// None.
        pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
            Ok(self.0.limits.read())
        }

        /// Sets it; reading for longer is `WouldBlock`.
        ///
        /// # Errors
        /// `InvalidInput` where there is no time.
        pub fn set_read_timeout(&self, dur: Option<Duration>) -> io::Result<()> {
            self.0.limits.set_read(dur)
        }

        /// How long writing waits; for ever where it says nothing.
        ///
        /// # Errors
        /// None.
        pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
            Ok(self.0.limits.write())
        }

        /// Sets it; writing for longer is `WouldBlock`.
        ///
        /// # Errors
        /// `InvalidInput` where there is no time.
        pub fn set_write_timeout(&self, dur: Option<Duration>) -> io::Result<()> {
            self.0.limits.set_write(dur)
        }

        /// Whether nothing waits: what would is `WouldBlock`.
        ///
        /// # Errors
        /// None.
        pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
            self.0.limits.set_never(nonblocking);
            Ok(())
        }
    };
}

pub(super) use limits;
