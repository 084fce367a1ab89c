//! Ctrl-C and hang-ups: a wish to end, heard by an executor between two passes, or to read files again; whether the
//! terminal is ours; and files that may grow no more.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::{flag, low_level};

use crate::clock::Bell;

/// Whether somebody wants this process to end.
#[derive(Clone, Debug, Default)]
pub struct ShutdownRequest {
    made: Arc<AtomicBool>,
    /// The status that says by which signal.
    status: Arc<AtomicUsize>,
}

/// The status of a process that a signal has ended, as shells have it.
const fn status(signal: i32) -> u8 {
    128 | signal.to_le_bytes()[0] & 0x7f
}

/// From here on who writes beyond the limit of a file's size (`ulimit -f`) is told by an error, and `SIGXFSZ` does not
/// end the process. Programs that it starts have the signal as it was.
///
/// # Errors
/// Where the process may have no more handlers.
pub fn hear_of_long_files() -> io::Result<()> {
    // A handler, for what is ignored stays so in the programs that are started. That it was called says nothing beside
    // the error.
    flag::register(SIGXFSZ, Arc::default()).map(drop)
}

/// Whether this process was started so that hang-ups are nothing to it, as `nohup` does.
fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|it| it.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|it| u64::from_str_radix(it.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 << (SIGHUP - 1) != 0)
}

impl ShutdownRequest {
    /// From here on the first `SIGINT`, `SIGTERM` or `SIGHUP` is taken as a wish to end and rings `bell`; the second
    /// ends the process at once. A `SIGHUP` that this process was started to ignore stays ignored.
    ///
    /// # Errors
    /// Where the process may have no more descriptors or handlers.
    pub fn listen(bell: &Bell) -> io::Result<Self> {
        if ignores_hangups() {
            return Self::of(bell, &[SIGINT, SIGTERM]);
        }
        Self::of(bell, &[SIGINT, SIGTERM, SIGHUP])
    }

    /// The same without `SIGHUP`, which is somebody else's: [`Hangup`].
    ///
    /// # Errors
    /// As [`ShutdownRequest::listen`].
    pub fn listen_but_for_hangup(bell: &Bell) -> io::Result<Self> {
        Self::of(bell, &[SIGINT, SIGTERM])
    }

    fn of(bell: &Bell, signals: &[i32]) -> io::Result<Self> {
        let wish = Self::default();
        bell.open()?;
        for &signal in signals {
            // In this order: the first signal finds the wish not yet made.
            let status = status(signal);
            flag::register_conditional_shutdown(signal, status.into(), Arc::clone(&wish.made))?;
            flag::register_usize(signal, Arc::clone(&wish.status), status.into())?;
            flag::register(signal, Arc::clone(&wish.made))?;
            if let Some(rope) = bell.rope()? {
                low_level::pipe::register(signal, rope)?;
            }
        }
        Ok(wish)
    }

    /// Makes it, as `SIGINT` would.
    pub fn make(&self) {
        self.status.store(status(SIGINT).into(), Ordering::SeqCst);
        self.made.store(true, Ordering::SeqCst);
    }

    /// Whether it has been made.
    #[must_use]
    pub fn is_made(&self) -> bool {
        self.made.load(Ordering::SeqCst)
    }

    /// The status of a process that ends because of it: 130 for `SIGINT`, 143 for `SIGTERM`; 0 where it has not been
    /// made.
    #[must_use]
    pub fn status(&self) -> u8 {
        u8::try_from(self.status.load(Ordering::SeqCst)).unwrap_or(u8::MAX)
    }
}

/// Whether a `SIGHUP` has come, by which daemons are told to read their files again.
#[derive(Clone, Debug, Default)]
pub struct Hangup(Arc<AtomicBool>);

impl Hangup {
    /// From here on a `SIGHUP` rings `bell`, and does nothing else.
    ///
    /// # Errors
    /// Where the process may have no more descriptors or handlers.
    pub fn listen(bell: &Bell) -> io::Result<Self> {
        let hangup = Self::default();
        bell.open()?;
        flag::register(SIGHUP, Arc::clone(&hangup.0))?;
        if let Some(rope) = bell.rope()? {
            low_level::pipe::register(SIGHUP, rope)?;
        }
        Ok(hangup)
    }

    /// Whether one has come since this was asked last.
    #[must_use]
    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::SeqCst)
    }
}

/// Whether this process may read from the terminal on its standard input: a process in the background is stopped for
/// that.
#[must_use]
pub fn is_in_foreground() -> bool {
    let foreground = rustix::termios::tcgetpgrp(io::stdin());
    foreground.is_ok_and(|group| group == rustix::process::getpgrp())
}
