//! The commands that run in real time over a device: from the command line to [`kumiki_live`].

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use kumiki_config::quantity::{self, Octets, Quantity};
use kumiki_config::refusal::Access;
use kumiki_lab::scenario::ConfigError;
use kumiki_lab::workload::talker::{Act, Begin};
use kumiki_lab::workload::{Opening, Ping, PingConfig, Talker, TalkerConfig, Transfer};
use kumiki_live::logbook::Logbook;
use kumiki_live::{
    self, Duration, Line, LiveError, OutputFormat, Pattern, Program, Quality, SimEther, Stack, Transport, Watcher,
};
use kumiki_stack::KINDS;

use crate::cli;
use crate::commands::{Stop, unreadable, unwritable};
use crate::report::Printer;

/// The least MTU of a link of IPv6 (RFC 8200, section 5).
const IPV6_MTU: u16 = 1280;

/// Callers that may wait before they are accepted; the program accepts at once.
pub(crate) const BACKLOG: u32 = 128;

/// The most data of an echo: what 65,535 octets leave behind the headers of IPv4 and ICMP.
const LONGEST_ECHO: u64 = 65_535 - 20 - 8;
/// The same of IPv6, whose header is not among them.
const LONGEST_ECHO_6: u64 = 65_535 - 8;

/// The longest buffer of `ttcp`, which is held in memory.
const LONGEST: u64 = 1 << 30;

impl From<LiveError> for Stop {
    fn from(why: LiveError) -> Self {
        match why {
            LiveError::Input(_) | LiveError::Start(_) => Self::Input(why.to_string()),
            LiveError::Place { option, path, why, access: Access::Write } => unwritable(option, &path, &why),
            LiveError::Place { option, path, why, access: Access::Read } => unreadable(option, &path, &why),
            LiveError::System { .. } | LiveError::Line(_) => Self::Failed(why.to_string()),
            #[cfg(target_os = "linux")]
            LiveError::Sandbox(_) => Self::Failed(why.to_string()),
        }
    }
}

/// `kumiki source`.
pub(crate) fn source(args: &cli::Source) -> Result<(), Stop> {
    let octets: Octets = option("--bytes", &args.bytes)?;
    let act = Act::Send { octets: octets.count(), pattern: Pattern::Random { seed: args.live.seed } };
    talk("source", &args.live, &args.begin, act)
}

/// `kumiki sink` and `kumiki echo`.
pub(crate) fn take(args: &cli::Sink, name: &str) -> Result<(), Stop> {
    let act = if name == "echo" { Act::Echo } else { Act::Read };
    talk(name, &args.live, &args.begin, act)
}

fn talk(name: &str, args: &cli::Live, begin: &cli::CallArguments, act: Act) -> Result<(), Stop> {
    if let Some(group) = begin.group {
        group_can_be("--group", args, group)?;
    }
    if let Some(remote) = begin.to {
        let option = if name == "ttcp" { "--transmit" } else { "--to" };
        if remote.ip().is_multicast() {
            group_can_be(option, args, remote.ip())?;
        }
        same_version(option, args, remote.ip())?;
    }
    if begin.write.is_some() && act == Act::Read {
        return Err(ConfigError::at(["--write"], "it writes nothing").expected("it without").into());
    }
    let write: Octets = option("--write", begin.write.as_deref().unwrap_or("64KiB"))?;
    if write.count() == 0 {
        return Err(ConfigError::at(["--write"], "writes of nothing never come to an end")
            .expected("1 B or more")
            .into());
    }
    let abort_after = begin.abort_after.as_deref();
    let abort_after = abort_after.map(|text| option::<Octets>("--abort-after", text));
    let any = |port| {
        let any: IpAddr = match args.addr.address {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        SocketAddr::new(any, port)
    };
    let (start, connections) = match (begin.to, begin.listen) {
        (Some(remote), _) => {
            let sessions = begin.connections.unwrap_or(1);
            let call = Begin::Call { local: any(0), remote, sessions };
            (call, Some(sessions))
        }
        (None, port) => {
            let port = port.unwrap_or(0);
            let group = begin.group.map(|group| SocketAddr::new(group, port));
            let listen = Begin::Listen { local: group.unwrap_or_else(|| any(port)), backlog: BACKLOG };
            (listen, begin.connections)
        }
    };
    let config = TalkerConfig {
        begin: start,
        act,
        write: u32::try_from(write.count()).unwrap_or(u32::MAX),
        abort_after: abort_after.transpose()?.map(Octets::count),
        quality: Quality::default(),
        hash: !begin.no_hash,
    };
    let connections = connections.map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    let log = Logbook::standard(form(args));
    let mut say = |line: &str| log.tell(line);
    let mut printer = Printer::new(form(args), connections, &mut say);
    run(name, args, Talker::new(config), &mut printer)?;
    if let Some(why) = printer.refused() {
        return Err(Stop::Failed(why.to_owned()));
    }
    printer.aborted().map_or(Ok(()), |why| Err(Stop::Failed(why)))
}

/// Whether `group`, which `option` names, is one that our host can belong to or send to: nobody would say so later.
fn group_can_be(option: &str, args: &cli::Live, group: IpAddr) -> Result<(), Stop> {
    let (why, right) = if !group.is_multicast() {
        ("no multicast address", "one such as 239.1.2.3 or ff0e::1")
    } else if args.protocol != cli::Protocol::Xtp {
        ("a group, and TCP has none", "--protocol xtp")
    } else {
        return same_version(option, args, group);
    };
    let fault = ConfigError::at([option], format!("{group} is {why}"));
    Err(fault.expected(right).into())
}

/// Whether our host can have to do with `other`, which `option` names: it has one version of IP.
fn same_version(option: &str, args: &cli::Live, other: IpAddr) -> Result<(), Stop> {
    let own = args.addr.address;
    if other.is_ipv4() == own.is_ipv4() {
        return Ok(());
    }
    let fault = ConfigError::at([option], format!("{other} is of another version of IP than --addr {own}"));
    Err(fault.expected("both of one version").into())
}

/// `kumiki ttcp`.
pub(crate) fn ttcp(args: &cli::Ttcp) -> Result<(), Stop> {
    let length: Octets = option("--length", &args.length)?;
    let why = match length.count() {
        0 => Some("a buffer of nothing"),
        1..=LONGEST => None,
        _ => Some("a buffer that is too long"),
    };
    if let Some(why) = why {
        let why = format!("{:?} is {why}", args.length);
        let fault = ConfigError::at(["--length"], why);
        return Err(fault.expected("1 B to 1 GiB, such as 8KiB").into());
    }
    let write = u32::try_from(length.count()).unwrap_or(u32::MAX);
    let octets = length.count().saturating_mul(args.count);
    let begin = cli::CallArguments {
        to: args.transmit.map(|host| SocketAddr::new(host, args.port)),
        listen: args.receive.then_some(args.port),
        group: args.group,
        connections: Some(1),
        abort_after: None,
        write: (!args.receive).then(|| args.length.clone()),
        no_hash: false,
    };
    let act = if args.receive {
        Act::Read
    } else {
        let pattern = Pattern::Ttcp { write_len: write };
        Act::Send { octets, pattern }
    };
    talk("ttcp", &args.live, &begin, act)
}

/// `kumiki ping`.
pub(crate) fn ping(args: &cli::Ping) -> Result<(), Stop> {
    let data: Octets = option("--bytes", &args.bytes)?;
    same_version("--to", &args.live, args.to)?;
    let most = if args.to.is_ipv4() { LONGEST_ECHO } else { LONGEST_ECHO_6 };
    if data.count() > most {
        let fault = ConfigError::at(["--bytes"], format!("{:?} is more than one datagram carries", args.bytes));
        return Err(fault.expected(format!("at most {most} B")).into());
    }
    let config = PingConfig {
        peer: args.to,
        data: u32::try_from(data.count()).unwrap_or(u32::MAX),
        count: args.count,
        interval: option("--interval", &args.interval)?,
        pattern: Pattern::Random { seed: args.live.seed },
        opening: Opening::default(),
        transfer: Transfer::default(),
    };
    let log = Logbook::standard(form(&args.live));
    let mut say = |line: &str| log.tell(line);
    let mut printer = Printer::new(form(&args.live), None, &mut say);
    run("ping", &args.live, Ping::new(config), &mut printer)?;
    match printer.echoes() {
        Some(echoes) if echoes.answered == 0 && echoes.errors > 0 => {
            Err(Stop::Failed(format!("no echo was answered: {} cannot be reached, or has refused it", args.to)))
        }
        Some(echoes) if echoes.answered == 0 || echoes.wrong > 0 => {
            Err(Stop::Failed("no echo was answered as it should be".to_owned()))
        }
        _ => Ok(()),
    }
}

const fn form(args: &cli::Live) -> OutputFormat {
    if args.json { OutputFormat::Json } else { OutputFormat::Text }
}

fn run<P: Program>(name: &str, args: &cli::Live, program: P, printer: &mut Printer<'_>) -> Result<(), Stop>
where
    for<'a> Printer<'a>: Watcher<P>,
{
    #[cfg(target_os = "linux")]
    let sandbox = args.sandbox.sandbox()?;
    let transport = match args.protocol {
        cli::Protocol::Tcp => Transport::Tcp,
        cli::Protocol::Xtp => Transport::Xtp,
    };
    let socket = args.sim_ether.map(|local| SimEther { local, stations: args.station.clone(), via: args.via });
    if let Some(socket) = &socket
        && !args.beyond_loopback
    {
        socket.keep_to_loopback()?;
    }
    check(args)?;
    let tun = args.tun.as_deref().unwrap_or_default();
    let mut stack = match &socket {
        Some(socket) => Stack::sim_ether(KINDS, name, transport, args.addr, args.mtu, socket)?,
        None => Stack::tun(KINDS, name, transport, &args.addr.to_string(), args.mtu, tun),
    };
    stack.set(&args.set)?;
    let impair = kumiki_live::impair(&args.impair)?;
    let device = match &socket {
        Some(socket) => socket.open()?,
        None => {
            let super_segments = !args.single_packets;
            kumiki_live::open_tun(tun, args.mtu, args.linux, super_segments)
                .map_err(|why| Stop::Failed(why.to_string()))?
        }
    };
    let line = Line {
        device,
        mtu: args.mtu,
        impair,
        seed: args.seed,
        pcap: args.pcap.clone(),
        snaplen: args.snap.length(),
        #[cfg(target_os = "linux")]
        sandbox,
    };
    let outcome = kumiki_live::run(&stack, program, line, printer)?;
    printer.end(&outcome);
    Ok(())
}

/// Refuses what the device, or Linux at its other end, would not say in words that help.
fn check(args: &cli::Live) -> Result<(), Stop> {
    let own = args.addr;
    if own.address.is_ipv6() && args.mtu < IPV6_MTU {
        let fault = ConfigError::at(["--mtu"], format!("{} is less than IPv6 needs", args.mtu));
        return Err(fault.expected(format!("{IPV6_MTU} or more")).into());
    }
    let Some(linux) = args.linux else {
        return Ok(());
    };
    same_version("--linux", args, linux.address)?;
    let why = if linux.address == own.address {
        format!("{} is --addr, too", linux.address)
    } else if !linux.contains(own.address) && !linux.is_host() {
        format!("Linux would not find --addr {} in {linux}", own.address)
    } else {
        return Ok(());
    };
    Err(ConfigError::at(["--linux"], why)
        .expected("two addresses of one network, such as 10.9.0.1/24 beside 10.9.0.2/24")
        .into())
}

/// Reads the quantity of an option.
pub(crate) fn option<Q: Quantity>(name: &str, text: &str) -> Result<Q, Stop> {
    quantity::parse(text).map_err(|invalid| Stop::Input(ConfigError::quantity([name], &invalid).to_string()))
}

/// Reads a time in which something is to happen: none would leave no time for it.
pub(crate) fn some_time(name: &str, text: &str) -> Result<Duration, Stop> {
    let time: Duration = option(name, text)?;
    if time == Duration::ZERO {
        return Err(ConfigError::at([name], "no time at all").expected("a time such as \"10 s\"").into());
    }
    Ok(time)
}

/// Reads a time that may be `forever`: none then.
pub(crate) fn or_forever(name: &str, text: &str) -> Result<Option<Duration>, Stop> {
    match text {
        "forever" => Ok(None),
        text => option(name, text).map(Some),
    }
}
