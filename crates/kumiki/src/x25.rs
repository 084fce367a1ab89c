//! `kumiki x25`: from the command line to [`kumiki_lab::live::x25`].

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use kumiki_lab::live::x25;

use crate::commands::{Stop, print};

/// `kumiki x25`.
#[derive(Args, Debug)]
pub(crate) struct Wanted {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// Switch calls between XOT, links of LAPB and the kernel's packet layer, by X.121 address
    Switch(Switch),
}

#[derive(Args, Debug)]
#[command(
    after_help = "Exit status: 0 it ended as asked, 1 it ran and failed, 2 the command line or an input file is wrong."
)]
struct Switch {
    /// What there is to switch: ports and routes, as docs/x25.md has them
    #[arg(value_name = "CONFIG.toml")]
    config: PathBuf,
    /// Read the configuration, say what is wrong with it, and end
    #[arg(long)]
    check: bool,
    /// Write the packets of all ports to this file, as pcapng
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
}

pub(crate) fn run(wanted: &Wanted) -> Result<(), Stop> {
    match &wanted.what {
        What::Switch(wanted) => switch(wanted),
    }
}

fn read(path: &Path) -> Result<x25::Config, Stop> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|why| Stop::Input(format!("{}: {why}", path.display())))?;
    Ok(x25::parse(&path.display().to_string(), &text)?)
}

fn switch(wanted: &Switch) -> Result<(), Stop> {
    let config = read(&wanted.config)?;
    if wanted.check {
        return print("the configuration makes sense\n");
    }
    let pcap = wanted.pcap.clone();
    // That nobody reads it to the end is no reason to stop what is under way.
    let say = |line: &str| {
        let _ = print(&format!("{line}\n"));
    };
    let wanted = x25::Wanted {
        pcap,
        ..x25::Wanted::default()
    };
    x25::run(&config, &wanted, say)?;
    Ok(())
}
