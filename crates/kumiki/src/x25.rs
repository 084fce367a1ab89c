//! `kumiki x25`: what stands on X.25.

use clap::{Args, Subcommand};

use crate::commands::Stop;

mod pad;
mod switch;

/// `kumiki x25`.
#[derive(Args, Debug)]
pub(crate) struct X25Args {
    #[command(subcommand)]
    what: X25Command,
}

#[derive(Subcommand, Debug)]
enum X25Command {
    /// Switch calls between XOT, links of LAPB and the kernel's packet layer, by X.121 address
    Switch(Box<switch::SwitchArgs>),
    /// A PAD (X.3, X.28, X.29): a terminal that calls hosts over XOT, a door for terminals, or a host that takes their
    /// calls
    Pad(Box<pad::PadArgs>),
}

/// Runs the command.
pub(crate) fn run(args: &X25Args) -> Result<(), Stop> {
    match &args.what {
        X25Command::Switch(args) => switch::run(args),
        X25Command::Pad(args) => pad::run(args),
    }
}
