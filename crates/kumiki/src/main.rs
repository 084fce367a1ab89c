//! The `kumiki` program.
//!
//! Results go to standard output and below `--out`; progress and errors go to standard error. Exit status: 0 all went
//! well, 1 it ran and failed, 2 the command line or an input file is wrong, and then nothing was written, 130 or 143 a
//! signal has ended it; `kumiki ppp`, `kumiki ftam` and `kumiki mms` have more, and `kumiki link` has those of its
//! program.

#![deny(clippy::print_stderr)]

/// A line on standard error. Whoever closed it, or has no room for it, is not told; the exit status still is, where
/// `eprintln!` would end in a panic with another one.
macro_rules! tell {
    ($($it:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($it)*);
    }};
}

mod callers;
mod cli;
mod commands;
mod delay;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod ftam;
#[cfg(target_os = "linux")]
mod ftamd;
#[cfg(target_os = "linux")]
mod link;
mod live;
#[cfg(target_os = "linux")]
mod live_scenario;
#[cfg(target_os = "linux")]
mod mms;
#[cfg(target_os = "linux")]
mod mmsd;
mod ppp;
mod report;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod stack;
#[cfg(target_os = "linux")]
mod x25;

use std::process::ExitCode;

use commands::Stop;
use kumiki_config::refusal::unnumbered;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(ended) = link::inside() {
        return ended;
    }
    // Who cannot be told of a file that is too long ends without a word.
    if let Err(why) = kumiki_live::hear_of_long_files() {
        tell!("kumiki: a file that may grow no more will end this without a word: {why}");
    }
    let cli = cli::read().unwrap_or_else(|why| cli::advised(why).exit());
    let (status, why) = match commands::run(cli.command) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Stop::Input(why)) => (2, why),
        Err(Stop::Failed(why) | Stop::NoRoom(why)) => (1, why),
        Err(Stop::Ended { status, why }) => (status, why),
    };
    // Where a program has a status of its own there is nothing to say of it.
    if !why.is_empty() {
        tell!("kumiki: {}", commands::lines_shown(&unnumbered(&why)));
    }
    ExitCode::from(status)
}
