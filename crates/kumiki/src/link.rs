//! `kumiki link`: from the command line to [`kumiki_emulate`].

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use kumiki_config::quantity::Octets;
use kumiki_delay::command::near;
use kumiki_delay::{Change, Command, Directions, Opportunities};
use kumiki_emulate::{Config, FAILED, INSIDE, PRESETS, Preset, WAYS};
use kumiki_live::Duration;

use crate::cli::Snap;
use crate::commands::{Stop, unreadable};
use crate::delay::LinesOptions;
use crate::live::option;

/// What stands below the options.
fn examples() -> String {
    let presets = PRESETS.iter().map(|preset| {
        let Preset { name, down, up, round_trip, .. } = preset;
        format!("  {name:<14} {down:>6} {up:>6} {round_trip:>5}   {} {} B", preset.queue(*down), preset.queue(*up))
    });
    let presets: Vec<String> = presets.collect();
    format!(
        "Examples:

  kumiki link --preset 3g -- curl -s https://example.org -o /dev/null
  kumiki link --rate 50Mb/s --delay 40ms --loss 1% --queue fq-codel -- ./client
  kumiki link --down 'rate 20Mb/s queue codel' --up 'rate 1Mb/s loss 2%' -- git clone URL
  kumiki link --delay 100ms -- sh -c 'curl http://$KUMIKI_GATEWAY:8000'     a server on this host's loopback interface
  kumiki link --down-trace lte.down --up-trace lte.up --delay 20ms -- ./client
  kumiki link --delay 40ms --proxy 1080                                     where namespaces are forbidden: curl -x socks5h://127.0.0.1:1080 ...
  kumiki link --delay 20ms --at 10s 'both state down' --at 15s 'both state up' -- ./client

What PROGRAM finds at localhost is its own; this host's servers are at $KUMIKI_GATEWAY, on their ports.
Delays are one way: --delay 40ms makes round trips of 80 ms. Settings have the words of `kumiki delay --help`: --jitter '5ms normal', --loss 'gilbert 1% 30%'.
Of settings that contradict each other the last is in force: the preset, then the options for both directions, then --up and --down.
A line of --at, --schedule and --control is up, down or both with settings behind it, or one of stats, settings, reset, quit and help.

Presets (kb/s down and up, round trip in ms, queues down and up):

{}

Exit status: that of PROGRAM, 128 and the number of the signal that has ended it, 127 where it is not there, 126 where it cannot be executed, 125 where kumiki has failed, 2 where the command line is wrong.",
        presets.join("\n")
    )
}

/// Options of what opens this machine's sockets for programs.
#[derive(Args, Debug)]
pub(crate) struct GatewayOptions {
    /// Do not let programs reach this machine's loopback interface by the gateway's address
    #[arg(long)]
    no_loopback: bool,
    /// The most memory that connections and datagrams may hold at the gateway, whose other ends are slow; beyond, a new
    /// connection is refused (its program sees ECONNREFUSED), a datagram dropped, and that is said
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    gateway_memory: String,
}

impl GatewayOptions {
    /// Whether this machine's loopback interface is reached.
    pub(crate) const fn loopback(&self) -> bool {
        !self.no_loopback
    }

    /// How much it may hold, in octets.
    pub(crate) fn memory(&self) -> Result<u64, Stop> {
        const LEAST: u64 = 64 << 10;
        let octets = option::<Octets>("--gateway-memory", &self.gateway_memory)?.count();
        if octets < LEAST {
            let why = "--gateway-memory: too little for one connection; 64KiB is the least";
            return Err(Stop::Input(why.to_owned()));
        }
        Ok(octets)
    }
}

/// `kumiki link`.
#[derive(Args, Debug)]
#[command(after_help = examples())]
pub(crate) struct LinkArgs {
    /// The program, and its arguments
    #[arg(
        value_name = "PROGRAM",
        required_unless_present = "proxy",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    program: Vec<OsString>,
    /// Begin with a path by name; see below
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// Rate of the line, as 50Mb/s, in each direction
    #[arg(long, value_name = "RATE")]
    rate: Option<String>,
    /// Queue of the line: 100 packets, 64KiB, none, or an active queue management: codel, fq-codel or pie
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
    /// One-way delay of each packet
    #[arg(long, value_name = "TIME")]
    delay: Option<String>,
    /// Random extra delay (jitter): 5ms, or '5ms normal'
    #[arg(long, value_name = "TIME")]
    jitter: Option<String>,
    /// Probability that a packet is lost: 1% or 0.01, or 'gilbert 1% 30%' for bursts
    #[arg(long, value_name = "SHARE")]
    loss: Option<String>,
    /// Probability that a packet is reordered, and by how much: '1% by 5ms', or '1% behind 3'
    #[arg(long, value_name = "SHARE")]
    reorder: Option<String>,
    /// Probability that a packet is duplicated
    #[arg(long, value_name = "SHARE")]
    duplicate: Option<String>,
    /// Probability that a packet is corrupted, in one bit
    #[arg(long, value_name = "SHARE")]
    corrupt: Option<String>,
    /// Settings of the direction from PROGRAM, as in 'rate 1Mb/s loss 2%'
    #[arg(long, value_name = "SETTINGS")]
    up: Option<String>,
    /// Settings of the direction to PROGRAM
    #[arg(long, value_name = "SETTINGS")]
    down: Option<String>,
    /// Delivery times of the direction from PROGRAM, in place of a rate: a trace as mahimahi has them
    #[arg(long, value_name = "FILE")]
    up_trace: Option<PathBuf>,
    /// The same of the direction to PROGRAM
    #[arg(long, value_name = "FILE")]
    down_trace: Option<PathBuf>,
    #[command(flatten)]
    lines: LinesOptions,
    /// Seed of all that is random: with the same one the same packets are lost, delayed and corrupted
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write what crosses both ends of the path to this file, as pcapng
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    #[command(flatten)]
    snap: Snap,
    /// Write a page about what has crossed to this file, at the end: rates, queues, delays and losses over time
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print counts of what has crossed on standard error, at the end
    #[arg(long)]
    stats: bool,
    /// The most octets of a packet
    #[arg(long, value_name = "OCTETS", default_value_t = 1500, value_parser = clap::value_parser!(u16).range(1280..))]
    mtu: u16,
    /// The most memory that packets in flight may hold, in both directions together; what comes beyond is dropped
    #[arg(long, value_name = "SIZE", default_value = "256MiB")]
    memory: String,
    /// How long what PROGRAM has sent may take to arrive once it has ended
    #[arg(long, value_name = "TIME", default_value = "10s")]
    linger: String,
    #[command(flatten)]
    gateway: GatewayOptions,
    /// Make no namespaces: listen here for SOCKS 5 and HTTP, and let what callers want cross the path. PROGRAM, if
    /// there is one, finds it in the usual variables (http_proxy, all_proxy); an address of the loopback interface and
    /// a port, or a port alone, 0 for a free one
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = proxy, conflicts_with = "keep_resolver")]
    proxy: Option<SocketAddr>,
    /// Leave /etc/resolv.conf to PROGRAM as it is: without this it names the gateway, which asks this host's resolver
    #[arg(long)]
    keep_resolver: bool,
}

/// The process that becomes the program, where this is it: what stands on its command line is not for people.
pub(crate) fn inside() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    arguments.next().filter(|first| first == INSIDE)?;
    let arguments: Vec<OsString> = arguments.collect();
    let (status, why) = kumiki_emulate::become_program(&arguments);
    if !why.is_empty() {
        tell!("kumiki: {}", crate::commands::lines_shown(&why));
    }
    Some(ExitCode::from(status))
}

/// Where a proxy listens.
fn proxy(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse().ok().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let address =
        port.or_else(|| text.parse().ok()).ok_or("not a port, nor an address and a port as 127.0.0.1:1080")?;
    if address.ip().is_loopback() {
        Ok(address)
    } else {
        Err("whoever reaches this would reach what this machine does; use an address of the loopback interface"
            .to_owned())
    }
}

pub(crate) fn run(args: &LinkArgs) -> Result<(), Stop> {
    let config = config(args)?;
    let say = |text: &str| {
        for line in text.lines() {
            tell!("kumiki: {}", crate::commands::lines_shown(line));
        }
    };
    match kumiki_emulate::run(&config, say) {
        Ok(0) => Ok(()),
        Ok(status) => Err(Stop::Ended { status, why: String::new() }),
        Err(why) if why.is_mistake() => Err(Stop::Input(why.to_string())),
        Err(why) => Err(Stop::Ended { status: FAILED, why: why.to_string() }),
    }
}

/// What other tools call an option of ours.
const ELSEWHERE: [(&str, &str); 6] = [
    ("--bandwidth", "--rate"),
    ("--bw", "--rate"),
    ("--drop", "--loss"),
    ("--latency", "--delay"),
    ("--limit", "--queue"),
    ("--plr", "--loss"),
];

/// What is said of `name`, which stands in the place of the program.
fn no_option(name: &str) -> String {
    let word = name.split('=').next().unwrap_or(name);
    let command = LinkArgs::augment_args(clap::Command::new("link"));
    let known = command.get_arguments().filter_map(|it| it.get_long()).map(|it| format!("--{it}"));
    let known: Vec<String> = known.collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let meant = ELSEWHERE.iter().find(|(other, _)| *other == word);
    let near = meant.map_or_else(|| near(word, &known), |(_, ours)| format!("; try {ours}"));
    format!("{name}: no such option{near}; a program whose name begins so is written ./{name}")
}

/// More mistakes of a recording are not told at once.
const MISTAKES: usize = 8;

/// A recording of mahimahi.
fn trace(option: &str, path: Option<&Path>) -> Result<Option<Arc<Opportunities>>, Stop> {
    let Some(path) = path else {
        return Ok(None);
    };
    let wrong = |why: &dyn core::fmt::Display| Stop::Input(format!("{option} {}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|why| unreadable(option, path, &why))?;
    let (mut told, mut all): (Vec<String>, usize) = Default::default();
    let times = Opportunities::parse_all(&text, |why| {
        all += 1;
        if told.len() < MISTAKES {
            told.push(why.to_string());
        }
    });
    told.extend((all > MISTAKES).then(|| format!("and {} more, which are told when these are mended", all - MISTAKES)));
    times.map(|times| Some(Arc::new(times))).ok_or_else(|| wrong(&told.join("\n  ")))
}

/// A capture does not go where programs write.
pub(crate) fn programs_have_the_output(pcap: Option<&Path>) -> Result<(), Stop> {
    if pcap != Some(Path::new("-")) {
        return Ok(());
    }
    let why = "--pcap -: the standard output is the program's; write the name of a file, which may be ./-";
    Err(Stop::Input(why.to_owned()))
}

/// Whether both are one file, of which what is written last would be all that is left.
fn are_one_file(one: &Path, other: &Path) -> bool {
    use std::fs::{canonicalize, metadata};
    use std::os::unix::fs::MetadataExt as _;
    // A file that is not there yet has a name in a directory that is.
    let place = |path: &Path| Some(canonicalize(Path::new("./").join(path).parent()?).ok()?.join(path.file_name()?));
    match (metadata(one), metadata(other)) {
        // Devices and pipes take both.
        (Ok(one), Ok(other)) => one.is_file() && (one.dev(), one.ino()) == (other.dev(), other.ino()),
        (Err(_), Err(_)) => place(one).is_some_and(|it| Some(it) == place(other)),
        (Ok(_), Err(_)) | (Err(_), Ok(_)) => false,
    }
}

/// What is set: the preset, then the options for both directions, then those for one.
fn settings(args: &LinkArgs) -> Result<Vec<Command>, Stop> {
    let mut set = Vec::new();
    if let Some(name) = &args.preset {
        set.extend(
            Preset::find(name).and_then(|it| it.lines()).map_err(|why| Stop::Input(format!("--preset: {why}")))?,
        );
    }
    for (word, value) in [
        ("rate", &args.rate),
        ("queue", &args.queue),
        ("delay", &args.delay),
        ("jitter", &args.jitter),
        ("loss", &args.loss),
        ("reorder", &args.reorder),
        ("duplicate", &args.duplicate),
        ("corrupt", &args.corrupt),
    ] {
        if let Some(value) = value {
            let changes = Change::parse_value(word, value).map_err(|why| Stop::Input(format!("--{word}: {why}")))?;
            set.push(Command::Set(Directions::Both, changes));
        }
    }
    for (option, way, settings, trace) in [
        ("--up", Directions::AToB, &args.up, &args.up_trace),
        ("--down", Directions::BToA, &args.down, &args.down_trace),
    ] {
        let Some(settings) = settings else {
            continue;
        };
        let changes = Change::parse_all(settings).map_err(|why| Stop::Input(format!("{option}: {why}")))?;
        if trace.is_some() && changes.iter().any(|it| matches!(it, Change::Rate(_))) {
            let why = format!("{option}: a direction with a trace has no rate: leave out `rate`, or {option}-trace");
            return Err(Stop::Input(why));
        }
        set.push(Command::Set(way, changes));
    }
    Ok(set)
}

fn config(args: &LinkArgs) -> Result<Config, Stop> {
    if let Some(name) = args.program.first().and_then(|it| it.to_str()).filter(|it| it.starts_with('-')) {
        return Err(Stop::Input(no_option(name)));
    }
    programs_have_the_output(args.pcap.as_deref())?;
    if let (Some(report), Some(pcap)) = (&args.report, &args.pcap)
        && are_one_file(report, pcap)
    {
        let why = format!("--report {}: the capture goes there; choose another place", report.display());
        return Err(Stop::Input(why));
    }
    if args.rate.is_some() && (args.up_trace.is_some() || args.down_trace.is_some()) {
        let why = "--rate: a direction with a trace has no rate; give the other one its own, as in --up 'rate 1Mb/s'";
        return Err(Stop::Input(why.to_owned()));
    }
    let set = settings(args)?;
    let linger: Duration = option("--linger", &args.linger)?;
    Ok(Config {
        program: args.program.clone(),
        proxy: args.proxy,
        set,
        schedule: args.lines.schedule(|line| Command::parse_timed_as(line, WAYS))?,
        traces: [trace("--up-trace", args.up_trace.as_deref())?, trace("--down-trace", args.down_trace.as_deref())?],
        seed: args.seed,
        memory: option::<Octets>("--memory", &args.memory)?.count(),
        mtu: args.mtu,
        control: args.lines.control.clone(),
        pcap: args.pcap.clone(),
        snaplen: args.snap.length(),
        report: args.report.clone(),
        loopback: args.gateway.loopback(),
        gateway_memory: args.gateway.memory()?,
        keep_resolver: args.keep_resolver,
        linger,
        stats: args.stats,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(words: &[&str]) -> Result<LinkArgs, String> {
        use clap::Parser as _;
        let all = ["kumiki", "link"].into_iter().chain(words.iter().copied());
        match crate::cli::Cli::try_parse_from(all).map_err(crate::cli::advised) {
            Ok(crate::cli::Cli { command: crate::cli::Command::Link(args) }) => Ok(*args),
            Ok(_) => panic!("another command"),
            Err(why) => Err(why.to_string()),
        }
    }

    fn refused(words: &[&str]) -> String {
        match args(words).map(|args| config(&args)) {
            Err(why) => why,
            Ok(Err(Stop::Input(why))) => why,
            Ok(_) => panic!("{words:?} is no mistake"),
        }
    }

    #[test]
    fn what_is_said_is_what_is_done() {
        let words = [
            "--preset",
            "3g",
            "--rate",
            "50Mb/s",
            "--delay",
            "40ms",
            "--loss",
            "gilbert 1% 30%",
            "--queue",
            "fq-codel",
            "--up",
            "rate 1Mb/s",
            "--at",
            "1s",
            "down loss 5%",
            "--",
            "curl",
            "-s",
            "--",
            "x",
        ];
        let config = config(&args(&words).unwrap()).unwrap();
        assert_eq!(config.program, ["curl", "-s", "--", "x"]);
        assert_eq!((config.set.len(), config.schedule.len()), (7, 1));
        let mut path = kumiki_delay::Path::new(1);
        for command in config.set {
            let Command::Set(way, changes) = command else { panic!("{command:?}") };
            path.set(kumiki_delay::Instant::ZERO, way, &changes);
        }
        let [up, down] = [0, 1].map(|from| path.settings(from).to_string());
        assert_eq!(up, "rate 1 Mb/s queue fq-codel 10240 packets loss gilbert 1 % 30 % 100 % 0 % delay 40 ms");
        assert_eq!(down, "rate 50 Mb/s queue fq-codel 10240 packets loss gilbert 1 % 30 % 100 % 0 % delay 40 ms");
    }

    #[test]
    fn a_program_needs_no_dashes_in_front() {
        let args = args(&["--delay", "1ms", "curl", "--delay", "2ms"]).unwrap();
        assert_eq!(args.program, ["curl", "--delay", "2ms"]);
        assert_eq!(args.delay.as_deref(), Some("1ms"));
    }

    #[test]
    fn mistakes_are_answered_with_what_would_be_right() {
        for (words, part) in [
            (&["--delay", "5ms"][..], "<PROGRAM>"),
            (&["--preset", "5g", "true"], "starlink"),
            (&["--rate", "fast", "true"], "--rate: "),
            (&["--up", "dely 5ms", "true"], "try delay"),
            (&["--up", "# nothing", "true"], "--up: nothing is set; write settings, as in 'delay 50ms'"),
            (&["--rate", "fast", "true"], "--rate: \"fast\""),
            (&["--loss", "1", "true"], "--loss: \"1\": no unit; write 1% or 100%"),
            (&["--jitter", "5ms gaussian", "true"], "--jitter: `gaussian` is no setting, and no way to spread"),
            (&["--queue", "fq_codel", "true"], "try fq-codel"),
            (&["--at", "1s", "downs rate 1Mb/s", "true"], "there are up, down, both"),
            (&["--preset", "3G", "true"], "try 3g"),
            (&["--latency", "40ms", "true"], "--latency: no such option; try --delay"),
            (&["--dely=40ms", "true"], "try --delay"),
            (&["-x", "true"], "./-x"),
            (&["--pcap", "-", "true"], "./-"),
            (&["--pcap", "new.out", "--report", "./new.out", "true"], "--report ./new.out: the capture goes there"),
            (&["--pcap", "Cargo.toml", "--report", "../kumiki/Cargo.toml", "true"], "choose another place"),
            (&["--down-trace", "/nowhere", "--down", "rate 1Mb/s", "true"], "--down: a direction with a trace"),
            (&["--down-trace", "/nowhere", "true"], "--down-trace /nowhere"),
            (&["--mtu", "576", "true"], "1280"),
            (&["--seed", "x", "true"], "write a whole number, such as 3"),
            (&["--gateway-memory", "1KiB", "true"], "64KiB"),
            (&["--linger", "ever", "true"], "--linger"),
            (&["--dealy", "40ms", "true"], "--dealy: no such option"),
            (&["--rate", "1Mb/s", "--up-trace", "/nowhere", "true"], "--rate: "),
        ] {
            let said = refused(words);
            assert!(said.contains(part), "{words:?}: {said}");
        }
    }
}
