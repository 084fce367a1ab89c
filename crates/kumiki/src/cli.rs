//! The command line.

use core::net::{IpAddr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgGroup, Args, FromArgMatches as _, Parser, Subcommand};
use kumiki_lab::capture::Layers;
use kumiki_lab::reproduce::Shard;
use kumiki_live::Network;

mod groups;

/// The command line as it was written.
///
/// # Errors
/// What is wrong with it, or the help that was asked for.
pub(crate) fn read() -> Result<Cli, clap::Error> {
    let mut command = groups::command();
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Cli::from_arg_matches(&matches).map_err(|why| why.format(&mut command))
}

/// Compose a protocol stack as a graph, run it in virtual time or on a real device, and see where every octet and
/// microsecond goes.
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
    /// Merge the results of runs with `--shard` into those of one run
    Merge(Merge),
    /// Compare results: the values at each point that they share, the difference, and how certain it is
    Compare(Box<crate::commands::compare::CompareArgs>),
    /// Plot several results, and CSV files of your measurements, in one figure
    Plot(Box<crate::commands::plot::PlotArgs>),
    /// Fit the prices of a profile, so that a scenario gives what was measured
    Fit(Box<crate::commands::fit::FitArgs>),
    /// List the scenarios that `run`, `limit` and `graph` know by name, or what results are in directories
    #[command(visible_alias = "list")]
    Scenarios(Scenarios),
    /// Show what is left of the line rate below each layer's overhead
    Limit(OneScenario),
    /// Show the protocol graph
    Graph(Graph),
    /// Show what is in a capture, in octets or in hexadecimal text, and what is wrong with it
    Decode(Decode),
    /// As ttcp: send a number of buffers from memory to memory over TCP or XTP, or receive them, and print the rate
    Ttcp(Ttcp),
    /// Send generated octets by TCP or XTP over a TUN device or an Ethernet in datagrams; print their hash, the rate
    /// and the CPU time
    Source(Source),
    /// Receive what connections over a TUN device or an Ethernet in datagrams send; print size and hash of each
    Sink(Sink),
    /// Send everything that is received over a TUN device or an Ethernet in datagrams back
    Echo(Sink),
    /// Send ICMP echo requests over a TUN device or an Ethernet in datagrams
    Ping(Ping),
    /// Bring up a PPP link on a line with any PPP at the other end, and carry IP over it
    Ppp(Box<crate::ppp::PppArgs>),
    /// Fetch, send, list and manage files of a responder of FTAM, over RFC 1006 or XOT
    #[cfg(target_os = "linux")]
    Ftam(Box<crate::ftam::FtamArgs>),
    /// Serve the files below a directory to callers of FTAM, over RFC 1006 and XOT
    #[cfg(target_os = "linux")]
    Ftamd(Box<crate::ftamd::FtamdArgs>),
    /// Fetch, send, list and manage files of a device that speaks MMS, as those of IEC 61850 do, over RFC 1006
    #[cfg(target_os = "linux")]
    Mms(Box<crate::mms::MmsArgs>),
    /// Serve the files below a directory to callers of MMS, over RFC 1006
    #[cfg(target_os = "linux")]
    Mmsd(Box<crate::mmsd::MmsdArgs>),
    /// X.25: a switch of calls between XOT, LAPB and the kernel, a PAD for terminals, and a host that takes their calls
    #[cfg(target_os = "linux")]
    X25(Box<crate::x25::X25Args>),
    /// Delay, lose, reorder or hold packets between two TUN, TAP or UDP ends, in real time; settings can change while
    /// it runs
    Delay(Box<crate::delay::DelayArgs>),
    /// Run a program behind an emulated path, without root: its connections are slow, lossy or narrow as the path is,
    /// and end at hosts of the real network
    #[cfg(target_os = "linux")]
    Link(Box<crate::link::LinkArgs>),
    /// Run a scenario in real time, with real programs at its hosts, without root: an emulated network between them
    #[cfg(target_os = "linux")]
    Live(Box<crate::live_scenario::LiveArgs>),
    /// Run a TCP/IP in a process of its own, to which programs attach by rings in shared memory
    #[cfg(target_os = "linux")]
    Stack(crate::stack::StackArgs),
    /// Run seeded transfers between two hosts over lines that lose, duplicate, reorder, delay and corrupt packets, and
    /// judge them
    Adversity(Adversity),
    /// Test a TCP with scripts that read like traces: ours in virtual time, or Linux's
    Script(Script),
    /// Print completions for a shell
    #[command(after_help = "For bash: kumiki completions bash > ~/.local/share/bash-completion/completions/kumiki")]
    Completions(Completions),
    /// Write the manual pages, one for each command
    #[command(hide = true)]
    Man(Man),
}

#[derive(Args, Debug)]
pub(crate) struct Scenarios {
    /// Instead: what is in these directories of results, or in those that are in them
    #[arg(value_name = "DIR")]
    pub(crate) directories: Vec<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub(crate) struct Man {
    /// The directory for kumiki.1, kumiki-run.1 and so on, which is made where there is none; files of these names are
    /// replaced
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct Reproduce {
    /// Which papers, 1 to 5; all unless given
    #[arg(value_parser = paper)]
    pub(crate) papers: Vec<u8>,
    #[command(flatten)]
    pub(crate) results: Results,
}

fn paper(text: &str) -> Result<u8, String> {
    let number = text.parse().ok().filter(|number| (1..=5).contains(number));
    number.ok_or_else(|| "expected the number of a paper, from 1 to 5".to_owned())
}

/// Options that `run`, `reproduce` and `merge` do not have, and what does what they would.
const ELSEWHERE: [(&str, &str); 7] = [
    ("--repeat", "the scenario says how often: --set run.repeat.runs=5, or run.confidence for as many as are needed"),
    (
        "--repetitions",
        "the scenario says how often: --set run.repeat.runs=5, or run.confidence for as many as are needed",
    ),
    ("--seeds", "the scenario says how many: --set run.repeat.runs=5, or run.confidence for as many as are needed"),
    ("--seed", "the scenario has it: --set run.seed=3"),
    ("--duration", "the scenario has it: --set run.duration=\"10 s\""),
    ("-o", "the directory for results is --out DIR"),
    ("--output", "the directory for results is --out DIR"),
];

/// The same mistake of a command line, with what was meant where that is known.
pub(crate) fn advised(mut why: clap::Error) -> clap::Error {
    let text = |kind| why.get(kind).map(ToString::to_string).unwrap_or_default();
    let (option, usage) = (text(ContextKind::InvalidArg), text(ContextKind::Usage));
    let is_here = ["run", "reproduce", "merge"].iter().any(|name| usage.contains(&format!("kumiki {name} ")));
    let known = ELSEWHERE.iter().find(|(name, _)| is_here && *name == option);
    if let Some((_, meant)) = known {
        why.remove(ContextKind::SuggestedArg);
        why.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![(*meant).into()]));
    }
    if std::error::Error::source(&why).is_some_and(|it| it.is::<core::num::ParseIntError>()) {
        why.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec!["write a whole number, such as 3".into()]));
    }
    if why.kind() == ErrorKind::MissingRequiredArgument && option == "<SCENARIO>" {
        let meant = "`kumiki scenarios` lists those that are built in; one of yours is a file, such as ./my.toml";
        why.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![meant.into()]));
    }
    why
}

#[derive(Args, Debug)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) scenario: Scenario,
    /// Also write what TCP did: captures/NAME/000-trace.csv with every event of all connections, and pictures of the
    /// first four ends of connections: those that write, in the order of the flows, before the others
    #[arg(long)]
    pub(crate) trace: bool,
    #[command(flatten)]
    pub(crate) results: Results,
}

#[derive(Args, Debug)]
pub(crate) struct Merge {
    /// The directories of all shards, in any order
    #[arg(value_name = "DIR", required = true)]
    pub(crate) directories: Vec<PathBuf>,
    /// The directory for the result
    #[arg(long, value_name = "DIR", default_value = "kumiki-out")]
    pub(crate) out: PathBuf,
    /// Replace an older result
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the rows as JSON Lines instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct OneScenario {
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

#[derive(Args, Debug)]
pub(crate) struct Decode {
    /// pcap, pcapng, ERF, hexadecimal text (plain, or as of xxd, hexdump -C, tshark -x) or raw octets; - for standard
    /// input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The format, where it is not to be guessed: pcap, pcapng, erf, hex, hdlc or raw
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// The first layer, such as ethernet, ip, llc-snap, cells, aal5 or tcp; a wrong name lists all. For a capture
    /// it replaces the link type
    #[arg(long = "as", value_name = "LAYER")]
    pub(crate) layer: Option<String>,
    /// Who reads what TCP carries to and from a port, whoever claims it: 10102=tpkt; may be given several times
    #[arg(long, value_name = "PORT=LAYER")]
    pub(crate) port: Vec<String>,
    /// Who reads the user cells of a virtual channel, where that is not AAL5; may be given several times
    #[arg(long, value_name = "VPI/VCI=LAYER")]
    pub(crate) channel: Vec<String>,
    /// Only packets in which this layer was found; may be given several times, and then any of them will do
    #[arg(long, value_name = "LAYER")]
    pub(crate) only: Vec<String>,
    /// Only packets with something wrong
    #[arg(long)]
    pub(crate) bad: bool,
    /// Stop after so many packets shown
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<u64>,
    /// All fields of all layers, with their places, and the octets that were not understood
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) verbose: bool,
    /// Also show network user identifications of X.25, which are there to be checked and not to be read
    #[arg(long)]
    pub(crate) secrets: bool,
    /// One JSON object for each packet, on one line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Adversity {
    /// Whose transfers they are
    #[arg(long, value_name = "tcp|xtp", default_value = "tcp")]
    pub(crate) protocol: Transport,
    /// Only the case of this seed
    #[arg(long, value_name = "S", conflicts_with_all = ["from", "count"])]
    pub(crate) seed: Option<u64>,
    /// The first seed
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) from: u64,
    /// How many seeds
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: u64,
    /// How many are run at once; as many as there are cores unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
    /// Tell the whole case in words
    #[arg(long, short, requires = "seed")]
    pub(crate) verbose: bool,
    /// Look for a smaller case that breaks the same rule: less data, fewer impairments, fewer options
    #[arg(long, requires = "seed")]
    pub(crate) shrink: bool,
    /// Also write what both hosts' IP sent and got, as pcapng, to the directory of --out
    #[arg(long, requires = "seed")]
    pub(crate) pcap: bool,
    #[command(flatten)]
    pub(crate) snap: Snap,
    /// Also write what each TCP noted, as CSV, to the directory of --out
    #[arg(long, requires = "seed")]
    pub(crate) trace: bool,
    /// The directory for captures and traces; files of an older run of the same seed are replaced
    #[arg(long, value_name = "DIR", default_value = "kumiki-out")]
    pub(crate) out: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct Script {
    /// Scripts, and folders with scripts in them (*.script)
    #[arg(value_name = "FILE|DIR", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// What to test instead of our stack in virtual time
    #[arg(long, value_name = "linux")]
    pub(crate) against: Option<OtherStack>,
    /// The network namespace that this runs in was made for it: make no other (one script, with --against linux)
    #[arg(long, requires = "against")]
    pub(crate) here: bool,
    /// Print what the stack does, in the notation, with the calls and segments of the script; nothing is compared
    #[arg(long)]
    pub(crate) record: bool,
    /// Write what crossed the line to this file, as pcapng (one script)
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) snap: Snap,
    /// Say nothing of scripts that are met
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Whose transfers are tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Transport {
    /// TCP
    Tcp,
    /// XTP
    Xtp,
}

/// A stack other than ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum OtherStack {
    /// The kernel's, in a network namespace of its own for each script
    Linux,
}

/// Which scenario, and what of it to change.
#[derive(Args, Debug)]
pub(crate) struct Scenario {
    /// A name such as paper2-fig6, as `kumiki scenarios` lists them, or a file: a path with a slash or ending in .toml
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
    /// The most runs of a point of which the paper made a fixed number. Without it `reproduce` makes one (of those
    /// whose scenario says `always`, all), and `run` makes as many as the paper
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: Option<u32>,
    /// The directory for results
    #[arg(long, value_name = "DIR", default_value = "kumiki-out")]
    pub(crate) out: PathBuf,
    /// Replace an older result
    #[arg(long)]
    pub(crate) force: bool,
    /// Go on with what an interrupted run has left in the directory: points that have ended are not run again. Begins
    /// where there is nothing
    #[arg(long, conflicts_with = "force")]
    pub(crate) resume: bool,
    /// Tell the points, what each varies, about how long it takes, and what --resume and --shard leave out; nothing is
    /// run or written
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Run every N-th point only, the K-th of them first, and leave them for `kumiki merge`: one of N machines
    #[arg(long, value_name = "K/N")]
    pub(crate) shard: Option<Shard>,
    /// Also write captures, as pcapng, with every octet (134 Mb/s are 17 MB a second at each host): at the device, at
    /// ip, at all layers, or at access points such as sender.ip/llc_snap
    #[arg(long, value_name = "LAYERS", num_args = 0..=1, default_missing_value = "device", require_equals = true)]
    pub(crate) pcap: Option<Layers>,
    #[command(flatten)]
    pub(crate) snap: Snap,
    /// Print the rows as JSON Lines instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write rows, queues and counters as Parquet
    #[cfg(feature = "parquet")]
    #[arg(long, conflicts_with = "shard")]
    pub(crate) parquet: bool,
    /// How many points are run at once; as many as there are cores unless given. Where there are fewer points, each may
    /// run on several
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
}

/// How much of each packet is captured.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Snap {
    /// Capture no more than the first octets of each packet, at least 4, as tcpdump does; its length is kept. 128 have
    /// the headers of TCP and IP
    #[arg(long, value_name = "OCTETS", requires = "pcap", value_parser = snaplen)]
    snaplen: Option<u32>,
}

/// How much of each packet is kept, at the least: in captures of ATM a packet begins with four octets that say where it
/// belongs, and one that has fewer is refused by Wireshark as damaged.
const SHORTEST: u32 = 4;

fn snaplen(text: &str) -> Result<u32, String> {
    let octets = text.parse().ok().filter(|octets| *octets >= SHORTEST);
    octets.ok_or_else(|| {
        format!(
            "expected a whole number of octets from {SHORTEST} to {}: in captures of ATM so many stand before a packet",
            u32::MAX
        )
    })
}

impl Snap {
    /// So many octets; 0 for all.
    pub(crate) fn length(self) -> u32 {
        self.snaplen.unwrap_or(0)
    }
}

impl Results {
    /// Whether Parquet is asked for.
    pub(crate) const fn parquet(&self) -> bool {
        #[cfg(feature = "parquet")]
        let asked = self.parquet;
        #[cfg(not(feature = "parquet"))]
        let asked = false;
        asked
    }
}

/// The device, and the host that stands on it.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("device").required(true).args(["tun", "sim_ether"])))]
pub(crate) struct Live {
    /// The TUN device, which is made where there is none
    #[arg(long, value_name = "NAME", value_parser = kumiki_live::interface)]
    pub(crate) tun: Option<String>,
    /// In place of a device, an Ethernet whose frames are in UDP datagrams: our own address and an even port on this
    /// machine, such as 127.0.0.1:7000
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "linux")]
    pub(crate) sim_ether: Option<SocketAddrV4>,
    /// Another station of that Ethernet, which gets what is for all of them; may be given several times
    #[arg(long, value_name = "ADDRESS:PORT", requires = "sim_ether", conflicts_with = "tun")]
    pub(crate) station: Vec<SocketAddrV4>,
    /// A box between the stations of that Ethernet to which all frames go, such as `kumiki delay`
    #[arg(long, value_name = "ADDRESS:PORT", requires = "sim_ether", conflicts_with = "tun")]
    pub(crate) via: Option<SocketAddrV4>,
    /// Stations of that Ethernet may be on other machines, which can send to this one then
    #[arg(long, requires = "sim_ether", conflicts_with = "tun")]
    pub(crate) beyond_loopback: bool,
    /// What carries the octets; echoes are ICMP's, whatever is said here
    #[arg(long, value_enum, default_value_t = Protocol::Tcp)]
    pub(crate) protocol: Protocol,
    /// Kumiki's own address on it, such as 10.9.0.2/24 or fd00:9::2/64
    #[arg(long, value_name = "ADDRESS/PREFIX")]
    pub(crate) addr: Network,
    /// Give Linux this address at its end of the device, such as 10.9.0.1/24, and bring the device up; without it that
    /// is left to `ip addr` and `ip link`
    #[arg(long, value_name = "ADDRESS/PREFIX")]
    pub(crate) linux: Option<Network>,
    /// The largest datagram, in octets
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(68..))]
    pub(crate) mtu: u16,
    /// One packet at a time crosses the TUN device, each with its checksum: no super-segments, for which Linux does
    /// what a network card does
    #[arg(long, conflicts_with = "sim_ether")]
    pub(crate) single_packets: bool,
    /// Set anything of a layer, as docs/settings.md lists it: tcp.sack=false, tcp.rto.minimum="1 s", ip.ttl=9; may be
    /// given several times
    #[arg(long, value_name = "LAYER.KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// What goes wrong between stack and device, with the keys of a scenario's `impair`: loss=5%, reorder=2% with
    /// reorder_by="2 ms", duplicate, mark, corrupt, delay, jitter; both ways, or toward=linux or toward=kumiki
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) impair: Vec<String>,
    /// Fixes the content that is sent, and what goes wrong
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Write what crosses the device to this file, as pcapng
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) snap: Snap,
    /// Print JSON Lines
    #[arg(long)]
    pub(crate) json: bool,
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    pub(crate) sandbox: crate::sandbox::SandboxOptions,
}

/// What carries octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Protocol {
    /// TCP over IP
    Tcp,
    /// XTP over IP, or straight over an Ethernet in datagrams
    Xtp,
}

#[derive(Args, Debug)]
#[command(group(ArgGroup::new("direction").required(true).args(["transmit", "receive"])))]
pub(crate) struct Ttcp {
    #[command(flatten)]
    pub(crate) live: Live,
    /// Transmit to this host
    #[arg(short, long, value_name = "ADDRESS")]
    pub(crate) transmit: Option<IpAddr>,
    /// Receive, one connection
    #[arg(short, long)]
    pub(crate) receive: bool,
    /// Receive what is transmitted to this group, by XTP; a transmitter names it as its host
    #[arg(long, value_name = "ADDRESS", requires = "receive", conflicts_with = "transmit")]
    pub(crate) group: Option<IpAddr>,
    /// The length of a buffer
    #[arg(short, long, value_name = "SIZE", default_value = "8KiB")]
    pub(crate) length: String,
    /// How many buffers
    #[arg(short = 'n', long, value_name = "N", default_value_t = 2048, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: u64,
    /// The port
    #[arg(short, long, default_value_t = 5001, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
}

/// An address with its port.
fn with_port(text: &str) -> Result<SocketAddr, String> {
    if let Ok(at) = text.parse::<SocketAddr>() {
        return if at.port() == 0 { Err("port 0 cannot be used; write 1 to 65535".to_owned()) } else { Ok(at) };
    }
    // Of an IPv6 address in brackets only what is in them.
    let inner = text.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    Err(match inner.unwrap_or(text).parse::<IpAddr>() {
        Ok(ip) => format!("needs a port, as {}", SocketAddr::new(ip, 5001)),
        Err(_) => "not an address and a port, as 10.9.0.1:5001 or [fd00::1]:5001".to_owned(),
    })
}

/// Who calls whom.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("begin").required(true).args(["to", "listen"])))]
pub(crate) struct CallArguments {
    /// Call this address and port, such as 10.9.0.1:5001; an IPv6 address in square brackets
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = with_port)]
    pub(crate) to: Option<SocketAddr>,
    /// Wait for callers at this port
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) listen: Option<u16>,
    /// Wait for what is sent to this group, by XTP, such as 239.1.2.3
    #[arg(long, value_name = "ADDRESS", requires = "listen", conflicts_with = "to")]
    pub(crate) group: Option<IpAddr>,
    /// How many connections: called at once, or waited for; without it one is called, and callers are waited for until
    /// Ctrl-C
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) connections: Option<u32>,
    /// Abort each connection after so many octets, such as 1MiB
    #[arg(long, value_name = "SIZE")]
    pub(crate) abort_after: Option<String>,
    /// The most octets that one write hands to the stack, 64KiB unless given; of what writes
    #[arg(long, value_name = "SIZE")]
    pub(crate) write: Option<String>,
    /// Hash nothing, so that the stack is measured and not SHA-256: the first write is sent again and again, and what
    /// comes is only counted
    #[arg(long)]
    pub(crate) no_hash: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Source {
    #[command(flatten)]
    pub(crate) live: Live,
    #[command(flatten)]
    pub(crate) begin: CallArguments,
    /// How much to send on each connection
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    pub(crate) bytes: String,
}

#[derive(Args, Debug)]
pub(crate) struct Sink {
    #[command(flatten)]
    pub(crate) live: Live,
    #[command(flatten)]
    pub(crate) begin: CallArguments,
}

#[derive(Args, Debug)]
pub(crate) struct Ping {
    #[command(flatten)]
    pub(crate) live: Live,
    /// Whom to ask
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) to: IpAddr,
    /// How many echoes; without it until Ctrl-C
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// From one to the next
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub(crate) interval: String,
    /// The data of each
    #[arg(long, value_name = "SIZE", default_value = "56B")]
    pub(crate) bytes: String,
}
