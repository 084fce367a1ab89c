//! The `kumiki` program.
//!
//! Results go to standard output and below `--out`; progress and errors go to standard error. Exit status: 0 all went
//! well, 1 it ran and failed, 2 the command line or an input file is wrong, and then nothing was written; `kumiki ppp` and
//! `kumiki ftam` have more.

mod cli;
mod commands;
mod delay;
#[cfg(target_os = "linux")]
mod ftam;
#[cfg(target_os = "linux")]
mod ftamd;
mod laboratory;
mod live;
mod ppp;
#[cfg(target_os = "linux")]
mod x25;

use std::process::ExitCode;

use clap::Parser as _;

use commands::Stop;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match commands::run(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stop::Input(why)) => {
            eprintln!("kumiki: {why}");
            ExitCode::from(2)
        }
        Err(Stop::Failed(why)) => {
            eprintln!("kumiki: {why}");
            ExitCode::from(1)
        }
        Err(Stop::Ended { status, why }) => {
            eprintln!("kumiki: {why}");
            ExitCode::from(status)
        }
    }
}
