//! `kumiki x25 pad`: from the command line to [`kumiki_pad`].

use core::net::SocketAddr;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};
use std::net::{TcpListener, ToSocketAddrs as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use kumiki_live::OutputFormat;
use kumiki_live::descriptors::{AffordableLimits, DescriptorCost};
use kumiki_live::logbook::{Logbook, Standard};
use kumiki_live::memory::{Budget, Memory};
use kumiki_live::private::CaptureBudget;
use kumiki_pad::{
    CallOutcome, Doors, HostConfig, Journal, List, Network, PadConfig, Parameters, X121, host, remedy, terminal,
};

use crate::callers::{Callers, idle, memory, pcap_most};
use crate::cli::Snap;
use crate::commands::{Stop, capture_place, shown};
use crate::live::{or_forever, some_time};

/// XOT's port (RFC 1613), and Telnet's.
const XOT: u16 = 1998;
const TELNET: u16 = 23;

/// Terminals or calls at a time.
const MOST: u16 = 16;

/// `kumiki x25 pad`.
#[derive(Args, Debug)]
#[command(
    after_help = "With CALL, the call is made at once, and the PAD ends with it; where standard input is no terminal the profile is then the transparent one. \
Without it, selections and commands are typed: HELP shows them, Ctrl-P leads from a call to commands, EXIT ends.\n\n\
Exit status: 0 it ended as asked, 1 the call failed or was lost, 2 the command line is wrong."
)]
pub(crate) struct PadArgs {
    /// Whom to call: an X.121 address; before it facilities as in R,G12-, behind it D and up to 12 characters of user
    /// data
    #[arg(value_name = "CALL", conflicts_with_all = ["listen", "answer"])]
    call: Option<String>,
    /// With --answer: the program that each call gets, on a pseudo terminal of its own
    #[arg(last = true, value_name = "COMMAND", requires = "answer", conflicts_with_all = ["call", "listen"])]
    command: Vec<OsString>,
    #[command(flatten)]
    reach: NetworkArguments,
    #[command(flatten)]
    behave: TerminalArguments,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    sandbox: crate::sandbox::SandboxOptions,
}

/// The network.
#[derive(Args, Debug)]
#[command(next_help_heading = "Network")]
struct NetworkArguments {
    /// The XOT peer to which calls go, at 1998 unless another port is given
    #[arg(long, value_name = "HOST[:PORT]")]
    xot: Option<String>,
    /// Our X.121 address
    #[arg(long, value_name = "DIGITS")]
    address: Option<String>,
    /// Take calls that come by XOT here, at 1998 unless another port is given: one at the terminal, or each to COMMAND
    #[arg(long, value_name = "ADDRESS[:PORT]", conflicts_with = "listen")]
    answer: Option<String>,
    /// Terminals come here by Telnet, at 23 unless another port is given, instead of the standard streams
    #[arg(long, value_name = "ADDRESS[:PORT]")]
    listen: Option<String>,
    /// The most calls at a time with COMMAND (others are cleared), 16, or terminals with --listen (others wait)
    #[arg(long = "max-calls", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    most: Option<u16>,
    /// With COMMAND or --listen: the most memory that callers may take together, 128MiB; less where `ulimit -v` or the
    /// cgroup leaves less
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    memory: Option<String>,
    /// Octets of a packet that are asked for
    #[arg(long, value_name = "OCTETS", default_value_t = 128)]
    packet: u16,
    /// Packets of a window that are asked for
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=7))]
    window: u8,
    /// How long an answer to a call is waited for
    #[arg(long, value_name = "TIME", default_value = "200 s")]
    timeout: String,
    /// Write the packets to this file, as pcapng; of the second terminal or call to FILE.2, and so on
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    #[command(flatten)]
    snap: Snap,
    /// The most octets of all these files together; then captures end
    #[arg(long = "max-pcap", value_name = "SIZE", default_value = "1GB")]
    pcap_most: String,
}

/// How much.
#[derive(Args, Debug)]
#[command(next_help_heading = "Limits, with COMMAND or --listen")]
struct Limits {
    #[command(flatten)]
    callers: Callers,
    /// With COMMAND: a call by which nothing has come for so long is ended; with --listen: a terminal by which nothing
    /// has crossed; forever: it stays; 1h unless given
    #[arg(long, value_name = "TIME")]
    idle: Option<String>,
}

/// The terminal.
#[derive(Args, Debug)]
#[command(next_help_heading = "Terminal")]
struct TerminalArguments {
    /// The parameters to begin with: simple (90) or transparent (91)
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// Parameters that are different: 2:0,3:2; with COMMAND, those that the callers' PADs are set to
    #[arg(long, value_name = "N:VALUE,...")]
    set: Option<String>,
    /// How long a call goes on in which the host is silent after the end of standard input; forever: until the host
    /// clears it; 2 s unless given
    #[arg(long, value_name = "TIME")]
    linger: Option<String>,
    /// Let a host have the PAD call another (reselection)
    #[arg(long)]
    reselect: bool,
    /// End with the first call
    #[arg(long)]
    once: bool,
}

/// Lines for whoever runs it.
struct Lines(Standard);

impl Lines {
    fn new() -> Self {
        Self(Logbook::standard(OutputFormat::Text))
    }
}

impl Journal for Lines {
    fn told(&self, line: &str) {
        self.0.tell(&shown(line));
    }
}

/// The same where standard output is the terminal's.
struct StderrJournal;

impl Journal for StderrJournal {
    fn told(&self, line: &str) {
        // That nobody can read it is no reason to stop.
        let _ = writeln!(io::stderr(), "{}", shown(line));
    }
}

impl PadArgs {
    /// Refuses what would be of no use: what is about many callers where there is one terminal, and what is about a
    /// terminal where there is none.
    fn check(&self) -> Result<(), Stop> {
        let (reach, behave, limits) = (&self.reach, &self.behave, &self.limits);
        let has_program = !self.command.is_empty();
        let of_many = [
            ("--max-calls", reach.most.is_some()),
            ("--memory", reach.memory.is_some()),
            ("--idle", limits.idle.is_some()),
        ];
        let of_many = of_many.into_iter().chain(limits.callers.given());
        let of_many = of_many.chain(self.sandbox.asked().map(|name| (name, true)));
        let of_terminals = [
            ("--xot", reach.xot.is_some()),
            ("--profile", behave.profile.is_some()),
            ("--linger", behave.linger.is_some()),
            ("--reselect", behave.reselect),
        ];
        let given = |mut all: Vec<(&'static str, bool)>| {
            all.retain(|(_, is_given)| *is_given);
            all.first().map(|(name, _)| *name)
        };
        if !has_program
            && reach.listen.is_none()
            && let Some(name) = given(of_many.collect())
        {
            return Err(Stop::Input(format!(
                "{name} is about many callers, and there is one terminal; expected -- COMMAND behind --answer, or --listen"
            )));
        }
        if has_program && let Some(name) = given(of_terminals.to_vec()) {
            return Err(Stop::Input(format!(
                "{name} is about the terminal of a PAD, and with -- COMMAND there is none; expected it without"
            )));
        }
        Ok(())
    }
}

/// Runs the command.
pub(crate) fn run(args: &PadArgs) -> Result<(), Stop> {
    args.check()?;
    let reach = &args.reach;
    let gateway = match &reach.xot {
        Some(text) => Some(resolved("--xot", text, XOT)?),
        None => None,
    };
    if gateway.is_none() && reach.answer.is_none() {
        return Err(Stop::Input(
            "--xot HOST is missing: there is no peer to call; expected it, or --answer ADDRESS to be called".to_owned(),
        ));
    }
    if !reach.packet.is_power_of_two() || !(16..=4096).contains(&reach.packet) {
        return Err(Stop::Input("--packet: a power of two from 16 to 4096 is expected".to_owned()));
    }
    let mut network = Network {
        gateway,
        listen: None,
        address: number("--address", reach.address.as_deref())?,
        packet: reach.packet,
        window: reach.window,
        timeout: some_time("--timeout", &reach.timeout)?,
        pcap: capture_place(reach.pcap.as_deref())?,
        pcap_budget: CaptureBudget::new(pcap_most(&reach.pcap_most)?, reach.snap.length()),
        sandbox: args.sandbox.sandbox()?,
        ..Network::default()
    };
    let answer = match &reach.answer {
        Some(text) => Some(resolved("--answer", text, XOT)?),
        None => None,
    };
    let list = match &args.behave.set {
        Some(text) => text.parse().map_err(|why| Stop::Input(format!("--set: {why}")))?,
        None => List::default(),
    };
    if let (Some(at), false) = (answer, args.command.is_empty()) {
        return serve(&network, at, &list, args);
    }
    network.listen = answer;
    let config = config(args, &list, answer.is_some())?;
    if let Some(text) = &reach.listen {
        let lines = Lines::new();
        network.budget = Some(budget(args, &lines)?);
        let doors = doors(args, terminal::EACH, &lines)?;
        let listener = bound("--listen", resolved("--listen", text, TELNET)?, &lines)?;
        return Ok(terminal::listen(&network, &config, &listener, &doors, &lines)?);
    }
    let outcome = terminal::run(&network, config, &StderrJournal)?;
    match &args.call {
        Some(call) => judged(call, &outcome),
        None => Ok(()),
    }
}

/// What became of the call that the command line asked for.
fn judged(call: &str, outcome: &CallOutcome) -> Result<(), Stop> {
    if outcome.is_bad {
        return Err(Stop::Input(format!(
            "invalid call {call:?}; expected an address such as 26245890040, R,G12-26245890040 or 26245890040Duser"
        )));
    }
    let Some(why) = outcome.why.clone() else {
        return Ok(());
    };
    let remedy = remedy::remedy(&why);
    if outcome.stood && remedy.is_none() {
        return Ok(());
    }
    let what = if outcome.stood { "was lost" } else { "failed" };
    let remedy = remedy.map_or_else(String::new, |remedy| format!("; {remedy}"));
    Err(Stop::Failed(format!("call to {call} {what}: {why}{remedy}")))
}

fn config(args: &PadArgs, list: &List, answers: bool) -> Result<PadConfig, Stop> {
    let behave = &args.behave;
    let is_terminal = args.reach.listen.is_some() || io::stdin().is_terminal();
    let mut initial = match behave.profile.as_deref() {
        Some("simple" | "90") => Parameters::SIMPLE,
        Some("transparent" | "91") => Parameters::TRANSPARENT,
        Some(other) => {
            return Err(Stop::Input(format!(
                "--profile: unknown profile {other:?}; known: simple (90) and transparent (91)"
            )));
        }
        None => {
            let (profile, more) = match (is_terminal, args.call.is_some()) {
                // A person: with a prompt, and a break that interrupts.
                (true, _) => (Parameters::SIMPLE, "6:5,7:21"),
                // A program that only wants to speak to the host.
                (false, true) => (Parameters::TRANSPARENT, "4:1"),
                // One that types commands, and knows what it types; its octets stop nothing.
                (false, false) => (Parameters::SIMPLE, "2:0,5:0,12:0"),
            };
            let mut initial = profile;
            set(&mut initial, &more.parse().unwrap_or_default());
            initial
        }
    };
    set(&mut initial, list);
    let linger = or_forever("--linger", behave.linger.as_deref().unwrap_or("2 s"))?;
    Ok(PadConfig {
        initial,
        address: number("--address", args.reach.address.as_deref())?,
        answer: answers.then_some(X121::NONE),
        call: args.call.clone(),
        once: behave.once || args.call.is_some(),
        linger,
        is_stream: !is_terminal,
        reselection: behave.reselect,
        ..PadConfig::default()
    })
}

fn set(parameters: &mut Parameters, list: &List) {
    for &(number, value) in &list.0 {
        // The list was read as one that can be set.
        let _ = parameters.set(number, value);
    }
}

fn serve(network: &Network, at: SocketAddr, list: &List, args: &PadArgs) -> Result<(), Stop> {
    find_program(&args.command)?;
    let lines = Lines::new();
    let network = &Network { budget: Some(budget(args, &lines)?), ..network.clone() };
    let doors = doors(args, host::EACH, &lines)?;
    let listener = bound("--answer", at, &lines)?;
    let mut config = HostConfig::default();
    if !list.0.is_empty() {
        config.set.clone_from(&list.0);
    }
    host::listen(network, &config, &listener, &args.command, &doors, &lines)?;
    Ok(())
}

/// The memory that callers share.
fn budget(args: &PadArgs, lines: &Lines) -> Result<Budget, Stop> {
    let memory = memory(args.reach.memory.as_deref().unwrap_or("128MiB"))?;
    let memory = Memory::budget(memory).map_err(|why| Stop::Failed(why.to_string()))?;
    if let Some(remark) = &memory.remark {
        lines.told(remark);
    }
    Ok(memory.budget)
}

/// How many callers there may be, and how long they may take.
fn doors(args: &PadArgs, each: DescriptorCost, lines: &Lines) -> Result<Doors, Stop> {
    let (reach, limits) = (&args.reach, &args.limits);
    let room = AffordableLimits::of(limits.callers.limits(reach.most.unwrap_or(MOST).into())?, each);
    let room = room.map_err(|why| Stop::Failed(why.to_string()))?;
    if let Some(remark) = &room.remark {
        lines.told(remark);
    }
    Ok(Doors {
        limits: room.limits,
        begin: limits.callers.begin()?,
        idle: idle(limits.idle.as_deref().unwrap_or("1h"))?,
        once: args.behave.once,
    })
}

/// Refuses a program that no call could get.
fn find_program(command: &[OsString]) -> Result<(), Stop> {
    let Some(name) = command.first() else {
        return Ok(());
    };
    let runs = |path: &Path| {
        let found = path.metadata();
        found.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    let found = if name.as_encoded_bytes().contains(&b'/') {
        runs(Path::new(name))
    } else {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders).any(|folder| runs(&folder.join(name)))
    };
    if found {
        return Ok(());
    }
    Err(Stop::Input(format!(
        "{}: there is no such program, or it cannot be executed; expected the path of one, or a name in PATH",
        Path::new(name).display()
    )))
}

fn bound(name: &str, at: SocketAddr, lines: &Lines) -> Result<TcpListener, Stop> {
    let (listener, at) = kumiki_pad::listen(at).map_err(|why| Stop::Failed(format!("{name}: {why}")))?;
    lines.told(&format!("listens at {at}"));
    Ok(listener)
}

/// The address of a host that may be a name, at `port` unless it says another.
fn resolved(name: &str, text: &str, port: u16) -> Result<SocketAddr, Stop> {
    let bare = text.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let is_address = text.parse::<core::net::Ipv6Addr>().is_ok();
    let found = if let Some(bare) = bare {
        (bare, port).to_socket_addrs()
    } else if text.contains(':') && !is_address {
        text.to_socket_addrs()
    } else {
        (text, port).to_socket_addrs()
    };
    let first = found.map(|mut found| found.next());
    match first {
        Ok(Some(at)) => Ok(at),
        Ok(None) => Err(Stop::Input(format!("{name}: {text} has no address"))),
        Err(why) if why.kind() == io::ErrorKind::InvalidInput => {
            Err(Stop::Input(format!("{name}: {text}: {why}; expected HOST, HOST:PORT or [ADDRESS]:PORT")))
        }
        Err(why) => Err(Stop::Failed(format!("{name}: {text}: {why}: check the name, and the name server"))),
    }
}

fn number(name: &str, text: Option<&str>) -> Result<X121, Stop> {
    text.map_or(Ok(X121::NONE), str::parse).map_err(|why| Stop::Input(format!("{name}: {why}")))
}

#[cfg(test)]
mod tests {
    use kumiki_pad::CallOutcome;

    use super::*;

    #[test]
    fn addresses_have_the_port_of_what_they_are_for() {
        let at = |text| resolved("--xot", text, XOT).unwrap().to_string();
        assert_eq!(at("127.0.0.1"), "127.0.0.1:1998");
        assert_eq!(at("127.0.0.1:99"), "127.0.0.1:99");
        assert_eq!(at("[::1]"), "[::1]:1998");
        assert_eq!(at("::1"), "[::1]:1998");
        assert_eq!(at("[::1]:7"), "[::1]:7");
    }

    #[test]
    fn a_call_that_is_none_is_told_so() {
        let outcome = CallOutcome { is_bad: true, ..CallOutcome::default() };
        let Err(Stop::Input(why)) = judged("12x", &outcome) else {
            panic!();
        };
        assert!(why.contains("expected an address such as"), "{why}");
    }
}
