//! Signals to this process: the program's affair while it runs, and an end to waiting afterwards.
//!
//! A terminal sends the signals of its keys to all processes in the foreground, so that the program has them already:
//! those are not passed on. Who has sent a signal is not looked at: SIGINT and SIGQUIT that somebody sends to this
//! process alone while it is in the foreground count as keys.

use std::fs::File;
use std::io;
use std::sync::mpsc::Sender;
use std::thread;

use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use crate::namespace::SignalForwarder;

const PASSED_ON: [i32; 7] = [SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM];

/// Signals that are heard from here on, and wait until they are passed on.
pub(crate) struct PendingSignals(Signals);

/// From here on signals are heard, and end this process no longer.
///
/// # Errors
/// Where the process may have no more descriptors.
pub(crate) fn hear() -> io::Result<PendingSignals> {
    Signals::new(PASSED_ON).map(PendingSignals)
}

impl PendingSignals {
    /// Those that have come and those that will go to the program, if there is one, and each is told to `seen`.
    ///
    /// # Errors
    /// Where the process may have no more threads.
    pub(crate) fn pass_on(mut self, passing: Option<SignalForwarder>, seen: Sender<i32>) -> io::Result<()> {
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in self.0.forever() {
                if let Some(passing) = &passing
                    && !(is_of_terminal(signal) && passing.is_in_our_group())
                {
                    passing.pass(signal);
                }
                // The process may be at its end.
                let _ = seen.send(signal);
            }
        })?;
        Ok(())
    }
}

/// Whether a key of the terminal may have made it.
pub(crate) fn is_of_terminal(signal: i32) -> bool {
    let in_foreground = || {
        let terminal = File::open("/dev/tty").ok()?;
        let group = rustix::termios::tcgetpgrp(terminal).ok()?;
        Some(group == rustix::process::getpgrp())
    };
    [SIGINT, SIGQUIT].contains(&signal) && in_foreground().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use rustix::process::{Signal, getpid, kill_process};

    use super::*;

    #[test]
    fn a_signal_that_comes_before_the_program_waits_for_it() {
        kumiki_watchdog::minute();
        let heard = hear().unwrap();
        kill_process(getpid(), Signal::USR1).unwrap();
        let (seen, signals) = std::sync::mpsc::channel();
        heard.pass_on(None, seen).unwrap();
        assert_eq!(signals.recv(), Ok(SIGUSR1));
    }
}
