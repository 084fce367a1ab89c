//! Ctrl-C: a wish to end, heard by an executor between two passes; and whether the terminal is ours.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

use crate::clock::Bell;

/// Whether somebody wants this process to end.
#[derive(Clone, Debug, Default)]
pub struct Wish(Arc<AtomicBool>);

/// The status of a process that ends at the second signal, as shells have it for `SIGINT`.
const INTERRUPTED: i32 = 130;

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
            flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&wish.0))?;
            flag::register(signal, Arc::clone(&wish.0))?;
            if let Some(rope) = bell.rope()? {
                low_level::pipe::register(signal, rope)?;
            }
        }
        Ok(wish)
    }

    /// Whether it has been made.
    #[must_use]
    pub fn is_made(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Whether this process may read from the terminal on its standard input: a process in the background is stopped for that.
#[must_use]
pub fn is_in_foreground() -> bool {
    let foreground = rustix::termios::tcgetpgrp(io::stdin());
    foreground.is_ok_and(|group| group == rustix::process::getpgrp())
}
