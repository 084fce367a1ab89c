//! `kumiki ppp`: from the command line to [`kumiki_pppd`].

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::str::FromStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use kumiki_config::quantity::Octets;
use kumiki_lab::workload::talker::{Act, Begin};
use kumiki_lab::workload::{Opening as Call, Ping, PingConfig, Talker, TalkerConfig, Transfer};
use kumiki_live::logbook::Logbook;
use kumiki_live::{OutputFormat, Pattern, Quality, private};
use kumiki_pppd::{
    self, Config, Ipv4, Ipv6, LinkOutcome, Methods, Opening, Options, Quality as Watch, Script, Secret, User,
};

use crate::cli::Snap;
use crate::commands::{Stop, unreadable};
use crate::live::{BACKLOG, option};
use crate::report::Printer;

/// `kumiki ppp`.
#[derive(Args, Debug)]
#[command(
    after_help = "Exit status: 0 the link came up and ended as asked, by us or by the peer, 1 it ran and failed, 2 the command \
                  line or an input file is wrong, 3 it never came up: no answer or no agreement, 4 one end did not let the \
                  other in, 5 it was up and the line or the peer was lost, 6 the line leads back to us."
)]
pub(crate) struct PppArgs {
    /// The line: tty:PATH or tty:PATH,SPEED (a serial device or pseudo terminal), unix:PATH (a stream socket to connect
    /// to), listen:PATH (one to wait on), fd:N (a descriptor that is open already), pty (a new pseudo terminal, whose
    /// name is printed), stdio, exec:COMMAND (a program's standard streams; where the command has {fd}, that descriptor
    /// of its)
    #[arg(value_name = "LINE")]
    line: Opening,
    /// Our address and the peer's; one that is left out is for the peer to say
    #[arg(value_name = "LOCAL:REMOTE", default_value = ":")]
    addresses: Ends,

    #[command(flatten)]
    above: Above,
    #[command(flatten)]
    who: AuthArgs,
    #[command(flatten)]
    terms: Terms,
    #[command(flatten)]
    timing: Timing,

    /// Set anything of a layer, as docs/settings.md lists it: tcp.sack=false, hdlc.opening_flag=false; may be given
    /// several times
    #[arg(long, value_name = "LAYER.KEY=VALUE", help_heading = "Layers and files")]
    set: Vec<String>,
    /// Write every frame to this file, as pcapng
    #[arg(long, value_name = "FILE", help_heading = "Layers and files")]
    pcap: Option<PathBuf>,
    #[command(flatten)]
    snap: Snap,
    /// Keep the octets of the line: PREFIX.sent and PREFIX.received, for `kumiki decode`, and PREFIX.pppdump with
    /// times, for pppdump and Wireshark
    #[arg(long, value_name = "PREFIX", help_heading = "Layers and files")]
    record: Option<PathBuf>,
    /// Misbehave as this file says (docs/ppp.md)
    #[arg(long, value_name = "FILE", help_heading = "Layers and files")]
    script: Option<PathBuf>,
    /// Tell the packets of the negotiation too
    #[arg(long, short, help_heading = "Layers and files")]
    verbose: bool,
    /// Print JSON Lines
    #[arg(long, help_heading = "Layers and files")]
    json: bool,
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    sandbox: crate::sandbox::SandboxOptions,
}

/// What uses the link.
#[derive(Args, Debug)]
#[command(next_help_heading = "Above the link")]
struct Above {
    /// Linux uses it, as this TUN device, which gets the addresses that are agreed on
    #[arg(long, value_name = "NAME", conflicts_with = "run", value_parser = kumiki_live::interface)]
    tun: Option<String>,
    /// One of our programs uses it: the link ends with it
    #[arg(long, value_name = "PROGRAM")]
    run: Option<Program>,
    /// The program calls this port of the peer, or this address and port
    #[arg(long, value_name = "[ADDRESS:]PORT", requires = "run", conflicts_with_all = ["listen", "tun"])]
    to: Option<Target>,
    /// The program waits for callers at this port
    #[arg(long, value_name = "PORT", requires = "run", conflicts_with = "tun", value_parser = clap::value_parser!(u16).range(1..))]
    listen: Option<u16>,
    /// How many connections; without it one is called, and callers are waited for until Ctrl-C
    #[arg(long, value_name = "N", requires = "run", conflicts_with = "tun", value_parser = clap::value_parser!(u32).range(1..))]
    connections: Option<u32>,
    /// How much source sends on each connection
    #[arg(long, value_name = "SIZE", requires = "run", conflicts_with = "tun", default_value = "64MiB")]
    bytes: String,
    /// How many echoes ping asks for; without it until Ctrl-C
    #[arg(long, value_name = "N", requires = "run", conflicts_with = "tun", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Fixes the content that source sends
    #[arg(long, requires = "run", conflicts_with = "tun", default_value_t = 1)]
    seed: u64,
}

/// Programs that can be put on a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Program {
    /// Sends generated octets by TCP
    Source,
    /// Reads what comes by TCP
    Sink,
    /// Sends back what comes by TCP
    Echo,
    /// Asks for echoes by ICMP
    Ping,
}

/// Who the ends are. No secret is among these: other users of the machine see command lines.
#[derive(Args, Debug)]
#[command(next_help_heading = "Who the ends are")]
struct AuthArgs {
    /// The peer must say who it is, by one of these methods
    #[arg(long, value_name = "METHOD")]
    auth: Option<Method>,
    /// Who may come in, a name and a secret on each line of this file, which nobody else may read; our own name's is
    /// ours, unless the environment variable KUMIKI_PPP_SECRET has one
    #[arg(long, value_name = "FILE")]
    secrets: Option<PathBuf>,
    /// Our own name
    #[arg(long, value_name = "NAME", default_value = "kumiki")]
    name: String,
    /// By which methods we say who we are
    #[arg(long, value_name = "METHOD", default_value = "either")]
    prove: Method,
    /// Challenge the peer again so often
    #[arg(long, value_name = "TIME")]
    rechallenge: Option<String>,
}

/// Methods of authentication.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Method {
    /// A password in clear
    Pap,
    /// CHAP with MD5
    Chap,
    /// CHAP, or PAP where the peer will not have it
    Either,
}

impl Method {
    const fn methods(self) -> Methods {
        match self {
            Self::Pap => Methods::Pap,
            Self::Chap => Methods::Chap,
            Self::Either => Methods::Either,
        }
    }
}

/// What is negotiated.
#[derive(Args, Debug)]
#[command(next_help_heading = "What is negotiated")]
struct Terms {
    /// The most octets of a frame's information that we take
    #[arg(long, value_name = "OCTETS", default_value_t = 1500, value_parser = clap::value_parser!(u16).range(128..))]
    mru: u16,
    /// The largest datagram that we send; where the peer takes less, less
    #[arg(long, value_name = "OCTETS", default_value_t = 1500, value_parser = clap::value_parser!(u16).range(68..))]
    mtu: u16,
    /// The control characters that the peer is to escape, as 8 hexadecimal digits, bit n for octet n
    #[arg(long, value_name = "MAP", default_value = "0", value_parser = map)]
    accm: u32,
    /// The line is octet-synchronous: no control characters are escaped, and nothing is agreed on about them
    #[arg(long, conflicts_with = "accm")]
    sync: bool,
    /// Bits of the check sequence that the line uses by itself: 16 or 32
    #[arg(long, value_name = "BITS", default_value_t = 16)]
    fcs: u8,
    /// Bits of the check sequence that the peer is asked to use: 16 or 32
    #[arg(long, value_name = "BITS")]
    ask_fcs: Option<u8>,
    /// No magic number: loops are not found
    #[arg(long)]
    no_magic: bool,
    /// No short protocol numbers
    #[arg(long)]
    no_pfc: bool,
    /// Address and control in every frame
    #[arg(long)]
    no_acfc: bool,
    /// No IPv4
    #[arg(long)]
    no_ipv4: bool,
    /// No IPv6
    #[arg(long)]
    no_ipv6: bool,
    /// The peer may give us another address than LOCAL
    #[arg(long)]
    accept_local: bool,
    /// The peer may have another address than REMOTE
    #[arg(long)]
    accept_remote: bool,
    /// Ask the peer for its name servers
    #[arg(long)]
    ask_dns: bool,
    /// Name servers that the peer is told, one or two
    #[arg(long, value_name = "ADDRESS", num_args = 1..=2)]
    dns: Vec<Ipv4Addr>,
    /// Say this to the peer when the link stands (RFC 1570)
    #[arg(long, value_name = "TEXT")]
    identification: Option<String>,
    /// Interval of link quality reports (RFC 1989)
    #[arg(long, value_name = "TIME")]
    lqr: Option<String>,
    /// Close the link where fewer than K of the last N periods of reports were good
    #[arg(long, value_name = "K/N", requires = "lqr")]
    lqr_policy: Option<Periods>,
}

/// Timers, and how often is tried.
#[derive(Args, Debug)]
#[command(next_help_heading = "Timers and retries")]
struct Timing {
    /// Wait for a peer that does not answer
    #[arg(long)]
    passive: bool,
    /// When the peer or the line is lost, wait for the next
    #[arg(long)]
    persist: bool,
    /// Wait this long before trying again
    #[arg(long, value_name = "TIME", default_value = "10s")]
    retry: String,
    /// Interval of echo requests
    #[arg(long, value_name = "TIME")]
    echo: Option<String>,
    /// Close the link after this many echo requests in a row without a reply; 0: never
    #[arg(long, value_name = "N", default_value_t = 4)]
    echo_failure: u32,
    /// How long to wait for an answer; shorter at first
    #[arg(long, value_name = "TIME", default_value = "3s")]
    restart: String,
    /// Give up after this many Configure-Requests without an answer
    #[arg(long, value_name = "N", default_value_t = 10)]
    max_configure: u32,
    /// Reject what is not agreed to after this many Configure-Naks
    #[arg(long, value_name = "N", default_value_t = 5)]
    max_failure: u32,
    /// Give up after this many Terminate-Requests without an answer
    #[arg(long, value_name = "N", default_value_t = 2)]
    max_terminate: u32,
    /// Close the link after this time
    #[arg(long, value_name = "TIME")]
    session: Option<String>,
}

/// `LOCAL:REMOTE`, either of which may be left out.
#[derive(Clone, Copy, Debug)]
struct Ends {
    local: Ipv4Addr,
    remote: Ipv4Addr,
}

impl FromStr for Ends {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = |text: &str| match text {
            "" => Some(Ipv4Addr::UNSPECIFIED),
            text => text.parse().ok(),
        };
        let (local, remote) = text.split_once(':').unwrap_or((text, ""));
        match (read(local), read(remote)) {
            (Some(local), Some(remote)) => Ok(Self { local, remote }),
            _ => Err("write both addresses with a colon between, such as 10.7.0.1:10.7.0.2; leave out what the peer is to say, as in 10.7.0.1: or :10.7.0.2".to_owned()),
        }
    }
}

/// Where a program calls.
#[derive(Clone, Copy, Debug)]
enum Target {
    Peer(u16),
    Host(SocketAddr),
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let port = text.parse().ok().filter(|port| *port > 0).map(Self::Peer);
        let socket = || text.parse().ok().filter(|it: &SocketAddr| it.is_ipv4() && it.port() > 0);
        port.or_else(|| socket().map(Self::Host)).ok_or_else(|| {
            "write a port of the peer, such as 9, or an IPv4 address and a port, such as 10.7.0.1:9".to_owned()
        })
    }
}

/// `K/N`.
#[derive(Clone, Copy, Debug)]
struct Periods(u32, u32);

impl FromStr for Periods {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        let read = parts.and_then(|(good, of)| Some(Self(good.parse().ok()?, of.parse().ok()?)));
        read.ok_or_else(|| "write how many of how many must be good, such as 3/5".to_owned())
    }
}

fn map(text: &str) -> Result<u32, String> {
    let digits = text.trim_start_matches("0x");
    u32::from_str_radix(digits, 16)
        .map_err(|_| "write up to 8 hexadecimal digits, such as a0000 for XON and XOFF".to_owned())
}

fn secrets(path: &Path) -> Result<Vec<Secret>, Stop> {
    let text = private::read(path).map_err(|why| unreadable("--secrets", path, &why))?;
    kumiki_pppd::secrets(&text).map_err(|why| Stop::Input(format!("--secrets {}, {why}", path.display())))
}

/// What is done wrong on purpose.
fn script(path: &Path) -> Result<Script, Stop> {
    let said = |why: &dyn core::fmt::Display| Stop::Input(format!("--script {}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|why| unreadable("--script", path, &why))?;
    Script::parse(&text).map_err(|why| said(&why))
}

/// What the daemon is told.
fn config(args: &PppArgs) -> Result<Config, Stop> {
    let (who, terms, timing) = (&args.who, &args.terms, &args.timing);
    let time = |name: &str, text: &Option<String>| {
        let time = text.as_deref().map(|text| option(name, text));
        time.transpose()
    };
    let known = who.secrets.as_deref().map(secrets).transpose()?;
    let known = known.unwrap_or_default();
    let own = known.iter().find(|entry| entry.name == who.name);
    let secret = std::env::var("KUMIKI_PPP_SECRET").ok();
    let secret = secret.or_else(|| own.map(|own| own.secret.clone()));
    let ends = args.addresses;
    let mut dns = terms.dns.iter().copied();
    let ipv4 = Ipv4 {
        local: ends.local,
        accept_local: terms.accept_local,
        remote: ends.remote,
        accept_remote: terms.accept_remote,
        ask_dns: terms.ask_dns,
        dns: [dns.next(), dns.next()],
    };
    let restart = option("--restart", &timing.restart)?;
    let periods = terms.lqr_policy.unwrap_or(Periods(0, 5));
    Ok(Config {
        mru: terms.mru,
        accm: (!terms.sync).then_some(terms.accm),
        magic: !terms.no_magic,
        pfc: !terms.no_pfc,
        acfc: !terms.no_acfc,
        fcs: terms.fcs,
        ask_fcs: terms.ask_fcs,
        auth: who.auth.map_or(Methods::None, Method::methods),
        secrets: known,
        name: who.name.clone(),
        secret,
        prove: who.prove.methods(),
        rechallenge: time("--rechallenge", &who.rechallenge)?,
        ipv4: (!terms.no_ipv4).then_some(ipv4),
        ipv6: (!terms.no_ipv6).then(Ipv6::default),
        echo_interval: time("--echo", &timing.echo)?,
        echo_failure: timing.echo_failure,
        quality: Watch { period: time("--lqr", &terms.lqr)?, good: periods.0, of: periods.1, ..Watch::default() },
        identification: terms.identification.clone(),
        session: time("--session", &timing.session)?,
        restart,
        restart_first: option::<kumiki_live::Duration>("--restart", "1s")?.min(restart),
        max_configure: timing.max_configure,
        max_failure: timing.max_failure,
        max_terminate: timing.max_terminate,
        passive: timing.passive,
        persist: timing.persist,
        retry: option("--retry", &timing.retry)?,
        script: args.script.as_deref().map(script).transpose()?,
    })
}

/// Refuses options that do not go together.
fn check(args: &PppArgs, options: &Options) -> Result<(), Stop> {
    #[cfg(target_os = "linux")]
    if args.above.tun.is_some() && options.sandbox.run_as().is_some() {
        return Err(Stop::Input(
            "--run-as: the addresses of --tun are set when they have been agreed on, and another user may not do that; start it as that user, with CAP_NET_ADMIN"
                .to_owned(),
        ));
    }
    if args.set.iter().any(|set| set.starts_with("hdlc.fcs")) {
        return Err(Stop::Input("--set hdlc.fcs: both layers must know it; expected --fcs 16 or --fcs 32".to_owned()));
    }
    if args.above.tun.is_some() && args.terms.mtu < 1280 && !args.terms.no_ipv6 {
        return Err(Stop::Input(
            "--mtu is below 1280, which IPv6 needs; expected 1280 or more, or --no-ipv6".to_owned(),
        ));
    }
    if args.above.run.is_some() && options.daemon.ipv4.is_none() {
        return Err(Stop::Input("--run needs IPv4, and --no-ipv4 leaves it out; expected one of them".to_owned()));
    }
    Ok(())
}

/// `kumiki ppp`.
pub(crate) fn run(args: &PppArgs) -> Result<(), Stop> {
    let form = if args.json { OutputFormat::Json } else { OutputFormat::Text };
    let options = Options {
        line: args.line.clone(),
        persist: args.timing.persist,
        daemon: config(args)?,
        mtu: args.terms.mtu,
        set: args.set.clone(),
        pcap: args.pcap.clone(),
        snaplen: args.snap.length(),
        record: args.record.clone(),
        verbose: args.verbose,
        form,
        #[cfg(target_os = "linux")]
        sandbox: args.sandbox.sandbox()?,
    };
    check(args, &options)?;
    let log = Logbook::standard(form);
    // Standard output may be the line itself.
    let is_line = matches!(options.line, Opening::Standard | Opening::Descriptor(0..=2));
    let say = |line: &str| {
        if is_line {
            // It may be the line's terminal, and that has no room or is gone.
            let _ = writeln!(std::io::stderr(), "{line}");
        } else {
            log.tell(line);
        }
    };
    let (mut tell, mut report) = (say, say);
    let above = &args.above;
    let Some(program) = above.run else {
        let user = above.tun.as_deref().map_or_else(User::nothing, User::tun);
        return ended(&kumiki_pppd::run(&options, user, &mut tell)?);
    };
    if program == Program::Ping {
        return ping(args, &options, &mut tell, &mut Printer::new(form, None, &mut report));
    }
    let connections = match (above.to, above.connections) {
        (Some(_), None) => Some(1),
        (_, connections) => connections,
    };
    let most = connections.map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    let mut printer = Printer::new(form, most, &mut report);
    let make = talker(program, above, connections)?;
    let name = match program {
        Program::Source => "source",
        Program::Sink => "sink",
        Program::Echo | Program::Ping => "echo",
    };
    let mut user = User::program(name, make, &mut printer);
    if above.to.is_none() {
        user = user.that_listens();
    }
    let summary = kumiki_pppd::run(&options, user, &mut tell)?;
    // A link that is lost takes its connections with it.
    ended(&summary)?;
    if let Some(why) = printer.refused() {
        return Err(Stop::Failed(why.to_owned()));
    }
    printer.aborted().map_or(Ok(()), |why| Err(Stop::Failed(why)))
}

/// What makes a program of TCP when the addresses are known.
fn talker(
    program: Program,
    above: &Above,
    connections: Option<u32>,
) -> Result<impl FnMut(IpAddr, IpAddr) -> Talker + use<>, Stop> {
    let bytes: Octets = option("--bytes", &above.bytes)?;
    let pattern = Pattern::Random { seed: above.seed };
    let act = match program {
        Program::Source => Act::Send { octets: bytes.count(), pattern },
        Program::Sink => Act::Read,
        Program::Echo | Program::Ping => Act::Echo,
    };
    let (to, listen) = (above.to, above.listen);
    if to.is_none() && listen.is_none() {
        return Err(Stop::Input(
            "the program neither calls nor is called; expected --to PORT or --listen PORT".to_owned(),
        ));
    }
    Ok(move |_, peer: IpAddr| {
        let any = |port| SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port);
        let begin = match to {
            Some(to) => Begin::Call {
                local: any(0),
                remote: match to {
                    Target::Peer(port) => SocketAddr::new(peer, port),
                    Target::Host(socket) => socket,
                },
                sessions: connections.unwrap_or(1),
            },
            None => Begin::Listen { local: any(listen.unwrap_or(0)), backlog: BACKLOG },
        };
        Talker::new(TalkerConfig {
            begin,
            act,
            write: 64 * 1024,
            abort_after: None,
            quality: Quality::default(),
            hash: true,
        })
    })
}

fn ping(args: &PppArgs, options: &Options, tell: &mut dyn FnMut(&str), printer: &mut Printer<'_>) -> Result<(), Stop> {
    let above = &args.above;
    let (count, seed) = (above.count, above.seed);
    let interval = option("--interval", "1s")?;
    let whom = match above.to {
        Some(Target::Host(socket)) => Some(socket.ip()),
        Some(Target::Peer(_)) | None => None,
    };
    let make = move |_, peer| {
        Ping::new(PingConfig {
            peer: whom.unwrap_or(peer),
            data: 56,
            count,
            interval,
            pattern: Pattern::Random { seed },
            opening: Call::default(),
            transfer: Transfer::default(),
        })
    };
    let user = User::program("ping", make, printer);
    let summary = kumiki_pppd::run(options, user, tell)?;
    let no_answer = printer.echoes().is_none_or(|echoes| echoes.answered == 0 || echoes.wrong > 0);
    match ended(&summary) {
        Ok(()) if no_answer => Err(Stop::Failed("no echo was answered as it should be".to_owned())),
        ended => ended,
    }
}

fn ended(summary: &kumiki_pppd::Summary) -> Result<(), Stop> {
    let status = match summary.outcome() {
        LinkOutcome::AsAsked => return Ok(()),
        LinkOutcome::NoAgreement => 3,
        LinkOutcome::NotAuthenticated => 4,
        LinkOutcome::Lost => 5,
        LinkOutcome::LoopedBack => 6,
    };
    let why = format!("the link has ended: {}", summary.why());
    Err(Stop::Ended { status, why })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn args(text: &str) -> Result<Box<PppArgs>, String> {
        let words = ["kumiki", "ppp"].into_iter().chain(text.split_whitespace());
        match Cli::try_parse_from(words) {
            Ok(Cli { command: Command::Ppp(args) }) => Ok(args),
            Ok(_) => panic!("another command"),
            Err(why) => Err(why.to_string()),
        }
    }

    fn told(text: &str) -> Config {
        config(&args(text).unwrap()).unwrap()
    }

    #[test]
    fn what_is_left_out_is_for_the_peer_to_say() {
        let config = told("pty");
        let ipv4 = config.ipv4.unwrap();
        assert!(ipv4.local.is_unspecified() && ipv4.remote.is_unspecified());
        assert_eq!((config.accm, config.auth), (Some(0), Methods::None));
        let config = told("pty 10.0.0.1: --sync --no-ipv6 --echo 5s --lqr 2s --lqr-policy 3/5");
        assert_eq!(config.ipv4.unwrap().local, Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!((config.accm, config.ipv6), (None, None));
        assert_eq!((config.quality.good, config.quality.of), (3, 5));
    }

    #[test]
    fn our_own_secret_may_come_from_the_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets");
        let mut file = private::create(&path).unwrap();
        file.write_all(b"# who\nkumiki wonder land\nguest  x\n").unwrap();
        let path = path.display();
        let config = told(&format!("pty --secrets {path} --auth chap"));
        assert_eq!(config.secret.as_deref(), Some("wonder land"));
        let names: Vec<&str> = config.secrets.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["kumiki", "guest"]);
        let config = told(&format!("pty --secrets {path} --name gateway"));
        assert_eq!(config.secret, None);
    }

    #[test]
    fn mistakes_are_answered_with_what_would_be_right() {
        for (text, part) in [
            ("/dev/ttyS0", "tty:/dev/ttyS0"),
            ("pty 10.0.0", "such as 10.7.0.1:10.7.0.2"),
            ("pty --accm xyz", "hexadecimal"),
            ("pty --let-in guest:x", "unexpected argument '--let-in'"),
            ("pty --secret x", "unexpected argument '--secret'"),
            ("pty --lqr 1s --lqr-policy 3", "such as 3/5"),
            ("pty --to 9", "--run"),
            ("pty --run echo --to [::1]:9", "such as 9, or an IPv4 address"),
        ] {
            let said = args(text).unwrap_err();
            assert!(said.contains(part), "{text}: {said}");
        }
        for (text, part) in [
            ("pty --run echo", "--to PORT or --listen PORT"),
            ("pty --run echo --listen 7 --no-ipv4", "--run needs IPv4"),
            ("pty --secrets /nowhere/at/all", "--secrets /nowhere/at/all: there is no directory /nowhere"),
            ("pty --script /nowhere/at/all", "--script /nowhere/at/all: there is no directory /nowhere"),
        ] {
            let Err(Stop::Input(said)) = run(&args(text).unwrap()) else {
                panic!("{text} is no mistake");
            };
            assert!(said.contains(part), "{text}: {said}");
        }
    }
}
