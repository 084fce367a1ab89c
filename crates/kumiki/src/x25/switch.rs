//! `kumiki x25 switch`: from the command line to [`kumiki_switch`].

use std::path::{Path, PathBuf};

use clap::Args;
use kumiki_live::OutputFormat;
use kumiki_live::logbook::Logbook;

use crate::callers::{Callers, idle, memory, pcap_most};
use crate::cli::Snap;
use crate::commands::{Stop, print, shown, unreadable};

/// `kumiki x25 switch`.
#[derive(Args, Debug)]
#[command(
    after_help = "Exit status: 0 it ended as asked, 1 it ran and failed, 2 the command line or an input file is wrong."
)]
pub(super) struct SwitchArgs {
    /// What there is to switch: ports and routes, as docs/x25.md has them
    #[arg(value_name = "CONFIG.toml")]
    config: PathBuf,
    /// Read the configuration, say what is wrong with it, and end
    #[arg(long)]
    check: bool,
    /// Write the packets of all ports to this file, as pcapng
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    #[command(flatten)]
    snap: Snap,
    /// The most octets of that; then it ends
    #[arg(long = "max-pcap", value_name = "SIZE", default_value = "1GB")]
    pcap_most: String,
    #[command(flatten)]
    sandbox: crate::sandbox::SandboxOptions,
    /// The most memory that calls may take together; less where `ulimit -v` or the cgroup leaves less. Over half of it,
    /// new calls are cleared with network congestion
    #[arg(long, value_name = "SIZE", default_value = "128MiB", help_heading = "Limits")]
    memory: String,
    #[command(flatten)]
    callers: Callers,
    /// A call by which nothing has crossed for so long is cleared; forever: it stays
    #[arg(long, value_name = "TIME", default_value = "1h", help_heading = "Limits")]
    idle: String,
}

fn read(path: &Path) -> Result<kumiki_switch::Config, Stop> {
    let text = std::fs::read_to_string(path).map_err(|why| unreadable("", path, &why))?;
    Ok(kumiki_switch::parse(&path.display().to_string(), &text)?)
}

/// Runs the command.
pub(super) fn run(args: &SwitchArgs) -> Result<(), Stop> {
    let config = read(&args.config)?;
    if args.check {
        return print("configuration is valid\n");
    }
    let log = Logbook::standard(OutputFormat::Text);
    let say = |line: &str| log.tell(&shown(line));
    let run = kumiki_switch::SwitchOptions {
        pcap: args.pcap.clone(),
        pcap_most: pcap_most(&args.pcap_most)?,
        snaplen: args.snap.length(),
        sandbox: args.sandbox.sandbox()?,
        memory: Some(memory(&args.memory)?),
        limits: args.callers.limits(usize::try_from(config.most()).unwrap_or(usize::MAX))?,
        begin: args.callers.begin()?,
        idle: idle(&args.idle)?,
        end: None,
    };
    kumiki_switch::run(&config, &run, say)?;
    Ok(())
}
