//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use kumiki_lab::capture::Layers;

/// Compose a protocol stack as a graph, run it in virtual time, and see where every octet and microsecond goes.
#[derive(Parser, Debug)]
#[command(name = "kumiki", version, max_term_width = 100)]
#[command(
    after_help = "Exit status: 0 all went well, 1 it ran and failed, 2 the command line or an input file is wrong."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Repeat the tables and figures of the papers: tables beside the papers' numbers, figures, rows
    Reproduce(Reproduce),
    /// Run one scenario
    Run(Run),
    /// Show what is left of the line rate below each layer's overhead
    Limit(One),
    /// Show the protocol graph
    Graph(Graph),
}

#[derive(Args, Debug)]
pub(crate) struct Reproduce {
    /// Which papers, 1 to 5; all unless given
    #[arg(value_parser = clap::value_parser!(u8).range(1..=5))]
    pub(crate) papers: Vec<u8>,
    #[command(flatten)]
    pub(crate) results: Results,
}

#[derive(Args, Debug)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) scenario: Scenario,
    /// Also write what each TCP connection did, event by event: captures/*-tcp.jsonl
    #[arg(long)]
    pub(crate) trace: bool,
    #[command(flatten)]
    pub(crate) results: Results,
}

#[derive(Args, Debug)]
pub(crate) struct One {
    #[command(flatten)]
    pub(crate) scenario: Scenario,
}

#[derive(Args, Debug)]
pub(crate) struct Graph {
    #[command(flatten)]
    pub(crate) scenario: Scenario,
    /// As SVG instead of text
    #[arg(long)]
    pub(crate) svg: bool,
}

/// Which scenario, and what of it to change.
#[derive(Args, Debug)]
pub(crate) struct Scenario {
    /// A name such as paper2-fig6, or a file: a path with a slash or ending in .toml
    #[arg(value_name = "SCENARIO")]
    pub(crate) name: String,
    /// Set a defined or varied name (window="48 KiB", rtt="0 ms .. 80 ms step 20 ms") or any value by its path
    /// (host.a.tcp.mss="1460 B"); may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
}

/// What becomes of the results.
#[derive(Args, Debug)]
pub(crate) struct Results {
    /// Fewer points: those that the scenario names for this
    #[arg(long)]
    pub(crate) quick: bool,
    /// The directory for results
    #[arg(long, value_name = "DIR", default_value = "kumiki-out")]
    pub(crate) out: PathBuf,
    /// Replace an older result
    #[arg(long)]
    pub(crate) force: bool,
    /// Also write captures, as pcapng, with every octet (134 Mb/s are 17 MB a second at each host): at the device, at ip,
    /// at all layers, or at access points such as sender.ip/llc_snap
    #[arg(long, value_name = "LAYERS", num_args = 0..=1, default_missing_value = "device", require_equals = true)]
    pub(crate) pcap: Option<Layers>,
    /// Print the rows as JSON Lines instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// How many points are run at once; as many as there are cores unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
}
