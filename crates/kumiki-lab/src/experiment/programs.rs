//! The programs that loads put on top of the hosts' graphs.

mod addresses;
mod setup;

use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::{Address, Duration, Instant, Protocol};
use kumiki_octets::Pattern;

use self::addresses::{address, at_port, place};
use self::setup::Setup;
use super::fault::{ConfigError, fault, quantity, unknown};
use super::load::{Kind, Load, Route};
use super::path::CrossedLine;
use crate::profile::Profile;
use crate::scenario::{Host, Scenario, Workload};
use crate::topology::{Hop, Topology};
use crate::workload::{Bell, Idle, Opening};
use kumiki_config::error::OF_NO_USE;
use kumiki_config::quantity::{self, Distribution, Octets};

/// The kind of load whose datagrams are packets of RTP.
const RTP: &str = "rtp";

/// The port of ISO transport on TCP (RFC 1006).
const TSAP_PORT: u16 = 102;

/// Programs by host and node.
#[derive(Default)]
pub(super) struct Programs(BTreeMap<(String, String), Box<dyn Protocol>>);

impl Programs {
    /// Has `program` stand for `node` on `host`.
    pub(super) fn put(&mut self, host: &str, node: &str, program: Box<dyn Protocol>) {
        self.0.insert((host.to_owned(), node.to_owned()), program);
    }

    /// Takes the program for `node` on `host`, if it is for one.
    pub(super) fn take(&mut self, host: &str, node: &str) -> Option<Box<dyn Protocol>> {
        self.0.remove(&(host.to_owned(), node.to_owned()))
    }

    /// Has something that does nothing stand at the ends of loads of `scenario` that are not run.
    pub(super) fn idle_at_ends_of(&mut self, left_out: &[(String, Workload)], scenario: &Scenario) {
        for end in left_out.iter().flat_map(|(_, load)| load.from.0.iter().chain(&load.to.0)) {
            let found = end.split_once('.').and_then(|(host, node)| Some((host, node, scenario.host.get(host)?)));
            // What answers by itself, as IP does, is no program.
            if let Some((host, node, spec)) = found
                && !kumiki_stack::kinds().any(|kind| kind == spec.kind_of(node))
            {
                self.put(host, node, Box::new(Idle));
            }
        }
    }
}

/// Reads the loads and makes their programs.
///
/// # Errors
/// A [`ConfigError`] whose path begins at the top of the scenario.
pub(super) fn of_scenario(
    scenario: &Scenario,
    topology: &Topology<'_>,
    profiles: &BTreeMap<String, Profile>,
) -> Result<(BTreeMap<String, Load>, Programs), ConfigError> {
    let (mut loads, mut programs) = (BTreeMap::new(), Programs::default());
    let bell = Bell::default();
    for (name, workload) in &scenario.load {
        let made = of_workload(workload, (scenario, topology), profiles, bell.of(name));
        let (load, more) = made.map_err(|fault| match fault.path() {
            [first, ..] if first == "host" => fault,
            _ => fault.under(&["load", name]),
        })?;
        programs.0.extend(more.0);
        loads.insert(name.clone(), load);
    }
    let warm_up = scenario.run.warm_up.as_ref();
    if warm_up.is_some_and(|text| quantity::<Duration>(&[], text).is_ok_and(|it| !it.is_zero()))
        && !loads.is_empty()
        && loads.values().all(Load::is_measured_whole)
    {
        let problem = "these loads are measured from their first opening to their last end, with no part left out";
        return Err(fault(&["run", "warm_up"], problem));
    }
    if scenario.run.batches.is_some() && loads.values().any(|load| load.until_done) {
        let problem = "batches are parts of a time that is given, and a load that ends when it is done has its own";
        return Err(fault(&["run", "batches"], problem));
    }
    let multiplied = scenario.load.iter().find(|(_, load)| load.times.is_some());
    if let Some((name, _)) = multiplied.filter(|_| scenario.run.batches.is_some()) {
        return Err(fault(
            &["load", name, "times"],
            "batches are of what was measured, and this shows so many times that",
        ));
    }
    Ok((loads, programs))
}

/// Reads one of them. A [`ConfigError`] has a path that begins at its keys.
fn of_workload(
    workload: &Workload,
    (scenario, topology): (&Scenario, &Topology<'_>),
    profiles: &BTreeMap<String, Profile>,
    bell: Bell,
) -> Result<(Load, Programs), ConfigError> {
    let mut load = load(workload, &scenario.host)?;
    load.bell = Some(bell).filter(|_| load.is_measured_whole());
    check_ends(workload, &load)?;
    if workload.times == Some(0) {
        return Err(wrong("times", "what is shown is nothing").expected("at least 1"));
    }
    let message = octets("message", &workload.message)?;
    if message == 0 {
        return Err(wrong("message", "a message has at least one octet"));
    }
    let ways = Ways::of(&load, topology, &scenario.host)?;
    let opening = opening(workload)?;
    (load.start, load.stop) = (Instant::ZERO + opening.start, opening.end());
    load.servers = servers(load.kind, workload, &ways).iter().filter_map(Address::socket).collect();
    (load.ways, load.hosts) = (ways.routes, ways.hosts);
    load.propagation = propagation(&load, scenario);
    let setup = Setup {
        workload,
        load: &load,
        profiles,
        message,
        pattern: pattern(workload, scenario.run.seed, message)?,
        opening,
        locals: ways.locals,
        port: workload.port.unwrap_or(0),
        peers: ways.peers,
    };
    let programs = setup.programs()?;
    Ok((load, programs))
}

/// What `workload` says of itself, without the ways between its ends and the times that are read for its programs.
fn load(workload: &Workload, hosts: &BTreeMap<String, Host>) -> Result<Load, ConfigError> {
    let (kind, until_done) = kind(workload)?;
    Ok(Load {
        kind,
        from: workload.from.0.iter().map(|from| place(from, "from", hosts)).collect::<Result<_, _>>()?,
        to: workload.to.0.iter().map(|to| place(to, "to", hosts)).collect::<Result<_, _>>()?,
        until_done,
        start: Instant::ZERO,
        stop: None,
        is_steady: matches!(kind, Kind::Stream | Kind::Units) && workload.stop.is_none() && workload.on.is_none(),
        sender_clock: is_sender_clock(workload, (kind, until_done))?,
        ways: Vec::new(),
        propagation: BTreeMap::new(),
        hosts: None,
        servers: BTreeSet::new(),
        from_request: workload.clock.as_deref() == Some("request"),
        bell: None,
    })
}

/// Whether the clock is that of who sends.
fn is_sender_clock(workload: &Workload, (kind, until_done): (Kind, bool)) -> Result<bool, ConfigError> {
    match workload.clock.as_deref() {
        None | Some("receiver") => Ok(false),
        Some("sender") if kind == Kind::Stream && until_done => Ok(true),
        Some("sender") => Err(wrong("clock", "only the load `ttcp` has an end to its writing")),
        Some("request") if kind == Kind::File => Ok(false),
        Some("request") => Err(wrong("clock", "only the load `ftam` begins with a request to the file service")),
        Some(other) => Err(unknown(&["clock"], "clock", other, &["sender", "receiver", "request"])),
    }
}

/// Nobody writes and reads, or reads twice.
fn check_ends(workload: &Workload, load: &Load) -> Result<(), ConfigError> {
    // Who answers echoes is no program.
    if load.kind == Kind::Ping {
        return Ok(());
    }
    if let Some(number) = load.to.iter().position(|to| load.from.contains(to)) {
        let node = workload.to.0.get(number).map_or("", String::as_str);
        return Err(wrong("to", format!("{node:?} writes, and cannot read as well")));
    }
    let mut readers = BTreeSet::new();
    if load.to.iter().any(|(host, _)| !readers.insert(host)) {
        return Err(wrong("to", "two readers on one host would listen on the same port"));
    }
    Ok(())
}

/// The ways between the ends of a load, and under which addresses these are reached.
#[derive(Default)]
struct Ways {
    /// The addresses of the hosts that write, without ports.
    locals: Vec<Address>,
    /// Those of the readers of each writer.
    peers: Vec<Vec<Address>>,
    /// From each writer to each of its readers.
    routes: Vec<Vec<Route>>,
    /// The hosts at the ends and on the ways; `None` where one of these is not known.
    hosts: Option<BTreeSet<String>>,
}

impl Ways {
    /// Those of `load`. A [`ConfigError`] has a path that begins at the top of the scenario.
    fn of(load: &Load, topology: &Topology<'_>, hosts: &BTreeMap<String, Host>) -> Result<Self, ConfigError> {
        let ends = load.from.iter().chain(&load.to).map(|(host, _)| host.clone());
        let mut ways = Self { hosts: Some(ends.collect()), ..Self::default() };
        for (number, writer) in load.from.iter().enumerate() {
            let (mut local, mut peers, mut routes) = (None, Vec::new(), Vec::new());
            for reader in load.to.get(load.readers(number)).unwrap_or_default() {
                let [writing, reading] = [writer, reader].map(|(host, node)| format!("{host}.{node}"));
                let way = topology.way(&writing, &reading);
                let back =
                    if load.is_one_way() { Some(Vec::new()) } else { topology.way_of_answers(&reading, &writing) };
                ways.add_hosts(way.as_deref(), back.as_deref());
                // A host with several addresses is called by that of the shortest way there, where the load says no
                // other.
                let called = topology.called_at(&writing, &reading);
                let way = way.unwrap_or_default();
                // What counts of exchanges and of echoes comes back.
                let back = back.filter(|_| matches!(load.kind, Kind::Rpc | Kind::Ping)).unwrap_or_default();
                routes.push(Route::of(&way, &back));
                local = local.or_else(|| way.first().map(|hop| hop.out));
                peers.push(address(reader, called, hosts)?);
            }
            ways.locals.push(address(writer, local, hosts)?);
            ways.peers.push(peers);
            ways.routes.push(routes);
        }
        Ok(ways)
    }

    /// The hosts on a way there, and on the one back, are on the way of the load.
    fn add_hosts(&mut self, way: Option<&[Hop<'_>]>, back: Option<&[Hop<'_>]>) {
        self.hosts = match (self.hosts.take(), way, back) {
            (Some(mut hosts), Some(way), Some(back)) => {
                let ends = way.iter().chain(back).flat_map(|hop| [hop.out, hop.into]);
                hosts.extend(ends.filter_map(|end| Some(end.split_once('.')?.0.to_owned())));
                Some(hosts)
            }
            _ => None,
        };
    }
}

/// How long each line on the ways of `load` takes from its one end to the other, as it is at first.
fn propagation(load: &Load, scenario: &Scenario) -> BTreeMap<CrossedLine, Duration> {
    let propagation = |crossed: &CrossedLine| {
        let line = scenario.link.get(&crossed.line)?.line_at_first().ok()?;
        Some((crossed.clone(), line.propagation()))
    };
    let crossed: BTreeSet<&CrossedLine> = load.ways.iter().flatten().flatten().collect();
    crossed.into_iter().filter_map(propagation).collect()
}

/// When the sessions of `workload` begin, and stop.
fn opening(workload: &Workload) -> Result<Opening, ConfigError> {
    Ok(Opening {
        start: time("start", workload.start.as_ref())?,
        stagger: drawn("stagger", workload.stagger.as_ref())?.unwrap_or(Distribution::Constant(Duration::ZERO)),
        jitter: time("jitter", workload.jitter.as_ref())?,
        is_one_of_several: false,
        stop: workload.stop.as_ref().map(|text| quantity(&["stop"], text)).transpose()?,
    })
}

/// Where exchanges are asked for, or files.
fn servers(kind: Kind, workload: &Workload, ways: &Ways) -> Vec<Address> {
    let peers = ways.peers.iter().flatten();
    match kind {
        Kind::Rpc => peers.map(|peer| at_port(*peer, workload.port.unwrap_or(0))).collect(),
        // What is got is asked for where it comes from.
        Kind::File if workload.way.as_deref() == Some("get") => {
            ways.locals.iter().map(|local| at_port(*local, TSAP_PORT)).collect()
        }
        Kind::File => peers.map(|peer| at_port(*peer, TSAP_PORT)).collect(),
        Kind::Stream | Kind::Units | Kind::Ping => Vec::new(),
    }
}

/// What the workload is, and whether it has an end of its own.
fn kind(workload: &Workload) -> Result<(Kind, bool), ConfigError> {
    let counts = workload.count.is_some();
    let kind = match workload.kind.as_str() {
        "ttcp" if counts == workload.size.is_some() => {
            return Err(wrong("kind", "ttcp writes a number of messages or octets; give `count` or `size`"));
        }
        "ttcp" => (Kind::Stream, true),
        "netperf" => (Kind::Stream, false),
        "ftam" => (Kind::File, true),
        "udp" | RTP => (Kind::Units, false),
        "ping" => (Kind::Ping, counts),
        "rpc" => (Kind::Rpc, counts),
        other => {
            return Err(unknown(&["kind"], "load", other, &Workload::KINDS));
        }
    };
    // What the others would not look at is a slip of the pen.
    let rtp = workload.kind == RTP;
    let (units, stream, rpc) = (kind.0 == Kind::Units, kind.0 == Kind::Stream, kind.0 == Kind::Rpc);
    let apart = [
        ("rate", workload.rate.is_some(), units, "udp and rtp"),
        ("arrivals", workload.arrivals.is_some(), units && !rtp, "udp"),
        ("on", workload.on.is_some(), units && !rtp, "udp"),
        ("off", workload.off.is_some(), units && !rtp, "udp"),
        ("frame", workload.frame.is_some(), rtp, RTP),
        ("playout", workload.playout.is_some(), rtp, RTP),
        ("payload_type", workload.payload_type.is_some(), rtp, RTP),
        ("size", workload.size.is_some(), kind == (Kind::Stream, true), "ttcp"),
        ("interval", workload.interval.is_some(), kind.0 == Kind::Ping, "ping"),
        (
            "file",
            workload.file.is_some(),
            // A scenario may vary the kind of load: one that writes for a time has no file.
            kind.0 == Kind::File || kind == (Kind::Stream, false),
            "ftam",
        ),
        ("way", workload.way.is_some(), kind.0 == Kind::File, "ftam"),
        ("stop", workload.stop.is_some(), kind.0 != Kind::File, "netperf, ttcp, udp, rtp, ping and rpc"),
        ("count", counts, kind.0 != Kind::File, "ttcp, udp, rtp, ping and rpc"),
        ("read", workload.read.is_some(), stream, "ttcp and netperf"),
        ("busy", workload.busy.is_some(), stream, "ttcp and netperf"),
        ("socket_buffer", workload.socket_buffer.is_some(), stream || rpc, "ttcp, netperf and rpc"),
        ("coalesce", workload.coalesce.is_some(), stream || rpc, "ttcp, netperf and rpc"),
        ("response", workload.response.is_some(), rpc, "rpc"),
        ("think", workload.think.is_some(), rpc, "rpc"),
    ];
    match apart.iter().find(|(_, given, used, _)| *given && !*used) {
        Some((key, _, _, whose)) => Err(wrong(key, format!("{}{OF_NO_USE}; it is for {whose}", workload.kind))),
        None => Ok(kind),
    }
}

fn wrong(key: &str, problem: impl Into<String>) -> ConfigError {
    fault(&[key], problem)
}

fn time(key: &str, text: Option<&String>) -> Result<Duration, ConfigError> {
    match text {
        Some(text) => quantity::<Duration>(&[key], text),
        None => Ok(Duration::ZERO),
    }
}

fn drawn<Q: quantity::Quantity>(key: &str, text: Option<&String>) -> Result<Option<Distribution<Q>>, ConfigError> {
    let read = |text: &String| Distribution::parse(text).map_err(|invalid| ConfigError::quantity([key], &invalid));
    text.map(read).transpose()
}

fn octets(key: &str, text: &str) -> Result<u32, ConfigError> {
    let path = [key];
    let octets: Octets = quantity(&path, text)?;
    u32::try_from(octets.count()).map_err(|_| fault(&path, "4 GiB or more").expected("at most 4294967295 B"))
}

fn pattern(workload: &Workload, seed: u64, message: u32) -> Result<Pattern, ConfigError> {
    Ok(match workload.pattern.as_deref().unwrap_or("ttcp") {
        "ttcp" => Pattern::Ttcp { write_len: message },
        "zeros" => Pattern::Zeros,
        "random" => Pattern::Random { seed },
        "counter" => Pattern::Counter,
        "flags" => Pattern::Fill(kumiki_octets::hdlc::FLAG),
        other => {
            let known = ["ttcp", "zeros", "random", "counter", "flags"];
            return Err(unknown(&["pattern"], "pattern", other, &known));
        }
    })
}
