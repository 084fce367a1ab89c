//! `kumiki x25`: what stands on X.25.

use clap::{Args, Subcommand};

use crate::commands::Stop;

mod pad;
mod switch;

/// `kumiki x25`.
#[derive(Args, Debug)]
pub(crate) struct Wanted {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// Switch calls between XOT, links of LAPB and the kernel's packet layer, by X.121 address
    Switch(Box<switch::Wanted>),
    /// A PAD (X.3, X.28, X.29): a terminal that calls hosts over XOT, a door for terminals, or a host that takes their calls
    Pad(Box<pad::Wanted>),
}

/// Runs the command.
pub(crate) fn run(wanted: &Wanted) -> Result<(), Stop> {
    match &wanted.what {
        What::Switch(wanted) => switch::run(wanted),
        What::Pad(wanted) => pad::run(wanted),
    }
}
