//! Ctrl-C: a wish to end, heard by an executor between two passes; and whether the terminal is ours.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

use crate::clock::Bell;

/// Whether somebody wants this process to end.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    made: Arc<AtomicBool>,
    /// The status that says by which signal.
    status: Arc<AtomicUsize>,
}

/// The status of a process that a signal has ended, as shells have it.
const fn status(signal: i32) -> u8 {
    128 | signal.to_le_bytes()[0] & 0x7f
}

impl Wish {
    /// From here on the first `SIGINT` or `SIGTERM` is taken as a wish to end and rings `bell`; the second ends the process at
    /// once.
    ///
    /// # Errors
    /// Where the process may have no more descriptors or handlers.
    pub fn listen(bell: &Bell) -> io::Result<Self> {
        let wish = Self::default();
        bell.open_pipe()?;
        for signal in [SIGINT, SIGTERM] {
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

    /// The status of a process that ends because of it: 130 for `SIGINT`, 143 for `SIGTERM`; 0 where it has not been made.
    #[must_use]
    pub fn status(&self) -> u8 {
        u8::try_from(self.status.load(Ordering::SeqCst)).unwrap_or(u8::MAX)
    }
}

/// Whether this process may read from the terminal on its standard input: a process in the background is stopped for that.
#[must_use]
pub fn is_in_foreground() -> bool {
    let foreground = rustix::termios::tcgetpgrp(io::stdin());
    foreground.is_ok_and(|group| group == rustix::process::getpgrp())
}
