//! The programs that loads put on top of the hosts' graphs.

use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::{Address, Duration, Instant, Protocol, Quality};
use kumiki_octets::Pattern;
use kumiki_octets::text::counted;

use super::fault::{Fault, fault, quantity, unknown};
use super::load::{Kind, Load, Route};
use super::path::Crossed;
use super::protocols::{self, COALESCE};
use crate::profile::{self, Profile};
use crate::quantity::{self, Distribution, Octets};
use crate::scenario::fault::OF_NO_USE;
use crate::scenario::{Host, Scenario, Workload};
use crate::topology::Topology;
use crate::workload::rpc::HEADER_LEN as HEADER;
use crate::workload::rtp::{self, Media};
use crate::workload::udp_source::{Bursts, HEADER_LEN, time as sending};
use crate::workload::{
    Bell, FileConfig, FileKeeper, FileKeeperConfig, FileUser, FileUserConfig, Idle, Opening, Ping, PingConfig,
    RpcClient, RpcClientConfig, RpcServer, RpcServerConfig, Sink, SinkConfig, Source, SourceConfig, Transfer, UdpSink,
    UdpSinkConfig, UdpSource, UdpSourceConfig, Wait, Way,
};

/// The kind of load whose datagrams are packets of RTP.
const RTP: &str = "rtp";

/// The port of ISO transport on TCP (RFC 1006).
const TSAP_PORT: u16 = 102;

/// The payload type of MPEG-2 transport streams (RFC 3551).
const MP2T: u8 = 33;

/// How long after the first packet of RTP has come it is played, unless given.
const PLAYOUT: Duration = Duration::from_millis(100);

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
/// A [`Fault`] whose path begins at the top of the scenario.
pub(super) fn of_scenario(
    scenario: &Scenario,
    topology: &Topology<'_>,
    profiles: &BTreeMap<String, Profile>,
) -> Result<(BTreeMap<String, Load>, Programs), Fault> {
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

/// Reads one of them. A [`Fault`] has a path that begins at its keys.
fn of_workload(
    workload: &Workload,
    (scenario, topology): (&Scenario, &Topology<'_>),
    profiles: &BTreeMap<String, Profile>,
    bell: Bell,
) -> Result<(Load, Programs), Fault> {
    let hosts = &scenario.host;
    let (kind, until_done) = kind(workload)?;
    let mut load = Load {
        kind,
        from: workload.from.0.iter().map(|from| place(from, "from", hosts)).collect::<Result<_, _>>()?,
        to: workload.to.0.iter().map(|to| place(to, "to", hosts)).collect::<Result<_, _>>()?,
        until_done,
        start: Instant::ZERO,
        stop: None,
        is_steady: matches!(kind, Kind::Stream | Kind::Units) && workload.stop.is_none() && workload.on.is_none(),
        sender_clock: match workload.clock.as_deref() {
            None | Some("receiver") => false,
            Some("sender") if kind == Kind::Stream && until_done => true,
            Some("sender") => {
                return Err(wrong("clock", "only the load `ttcp` has an end to its writing"));
            }
            Some("request") if kind == Kind::File => false,
            Some("request") => {
                return Err(wrong("clock", "only the load `ftam` begins with a request to the file service"));
            }
            Some(other) => {
                let path = ["clock"];
                let known = ["sender", "receiver", "request"];
                return Err(unknown(&path, "clock", other, &known));
            }
        },
        ways: Vec::new(),
        propagation: BTreeMap::new(),
        hosts: None,
        servers: BTreeSet::new(),
        from_request: workload.clock.as_deref() == Some("request"),
        bell: None,
    };
    load.bell = Some(bell).filter(|_| load.is_measured_whole());
    if let Some(number) = load.to.iter().position(|to| load.from.contains(to)).filter(|_| kind != Kind::Ping) {
        let node = workload.to.0.get(number).map_or("", String::as_str);
        return Err(wrong("to", format!("{node:?} writes, and cannot read as well")));
    }
    let mut readers = BTreeSet::new();
    if kind != Kind::Ping && load.to.iter().any(|(host, _)| !readers.insert(host)) {
        return Err(wrong("to", "two readers on one host would listen on the same port"));
    }
    if workload.times == Some(0) {
        return Err(wrong("times", "what is shown is nothing").expected("at least 1"));
    }
    let message = octets("message", &workload.message)?;
    if message == 0 {
        return Err(wrong("message", "a message has at least one octet"));
    }
    let (mut locals, mut peers, mut all_ways) = (Vec::new(), Vec::new(), Vec::new());
    let mut on_the_way = Some(load.from.iter().chain(&load.to).map(|(host, _)| host.clone()).collect::<BTreeSet<_>>());
    for (number, (from, writer)) in load.from.iter().enumerate() {
        let (mut local, mut own, mut ways) = (None, Vec::new(), Vec::new());
        for (to, reader) in load.to.get(load.readers(number)).unwrap_or_default() {
            let ends = [(from, writer), (to, reader)].map(|(host, node)| format!("{host}.{node}"));
            let [writing, reading] = &ends;
            let way = topology.way(writing, reading);
            let back = if load.is_one_way() { Some(Vec::new()) } else { topology.way_of_answers(reading, writing) };
            on_the_way = match (on_the_way, &way, &back) {
                (Some(mut hosts), Some(way), Some(back)) => {
                    let ends = way.iter().chain(back).flat_map(|hop| [hop.out, hop.into]);
                    hosts.extend(ends.filter_map(|end| Some(end.split_once('.')?.0.to_owned())));
                    Some(hosts)
                }
                _ => None,
            };
            // A host with several addresses is called by that of the shortest way there, where the load says no other.
            let called = topology.called_at(writing, reading);
            let way = way.unwrap_or_default();
            // What counts of exchanges and of echoes comes back.
            let back = back.filter(|_| matches!(kind, Kind::Rpc | Kind::Ping)).unwrap_or_default();
            ways.push(Route::of(&way, &back));
            local = local.or_else(|| way.first().map(|hop| hop.out));
            own.push(address(to, reader, called, hosts)?);
        }
        locals.push(address(from, writer, local, hosts)?);
        peers.push(own);
        all_ways.push(ways);
    }
    (load.ways, load.hosts) = (all_ways, on_the_way);
    let propagation = |crossed: &Crossed| {
        let line = scenario.link.get(&crossed.line)?.line_at_first().ok()?;
        Some((crossed.clone(), line.propagation()))
    };
    let crossed: BTreeSet<&Crossed> = load.ways.iter().flatten().flatten().collect();
    load.propagation = crossed.into_iter().filter_map(propagation).collect();
    let opening = Opening {
        start: time("start", workload.start.as_ref())?,
        stagger: drawn("stagger", workload.stagger.as_ref())?.unwrap_or(Distribution::Constant(Duration::ZERO)),
        jitter: time("jitter", workload.jitter.as_ref())?,
        is_one_of_several: false,
        stop: workload.stop.as_ref().map(|text| quantity(&["stop"], text)).transpose()?,
    };
    (load.start, load.stop) = (Instant::ZERO + opening.start, opening.end());
    let port = workload.port.unwrap_or(0);
    let servers: Vec<Address> = match kind {
        Kind::Rpc => peers.iter().flatten().map(|peer| at_port(*peer, port)).collect(),
        // What is got is asked for where it comes from.
        Kind::File if workload.way.as_deref() == Some("get") => {
            locals.iter().map(|local| at_port(*local, TSAP_PORT)).collect()
        }
        Kind::File => peers.iter().flatten().map(|peer| at_port(*peer, TSAP_PORT)).collect(),
        Kind::Stream | Kind::Units | Kind::Ping => Vec::new(),
    };
    load.servers = servers.iter().filter_map(Address::socket).collect();
    let setup = Setup {
        workload,
        load: &load,
        profiles,
        message,
        pattern: pattern(workload, scenario.run.seed, message)?,
        opening,
        locals,
        port,
        peers,
    };
    let mut programs = Programs::default();
    match kind {
        Kind::Stream => setup.stream(&mut programs)?,
        Kind::File => setup.file(&mut programs)?,
        Kind::Units => setup.units(&mut programs)?,
        Kind::Ping => setup.ping(&mut programs)?,
        Kind::Rpc => setup.rpc(&mut programs)?,
    }
    Ok((load, programs))
}

/// What the workload is, and whether it has an end of its own.
fn kind(workload: &Workload) -> Result<(Kind, bool), Fault> {
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

fn wrong(key: &str, problem: impl Into<String>) -> Fault {
    fault(&[key], problem)
}

fn time(key: &str, text: Option<&String>) -> Result<Duration, Fault> {
    match text {
        Some(text) => quantity::<Duration>(&[key], text),
        None => Ok(Duration::ZERO),
    }
}

fn drawn<Q: quantity::Quantity>(key: &str, text: Option<&String>) -> Result<Option<Distribution<Q>>, Fault> {
    let read = |text: &String| Distribution::parse(text).map_err(|invalid| Fault::quantity([key], &invalid));
    text.map(read).transpose()
}

/// All that programs are made from.
struct Setup<'a> {
    workload: &'a Workload,
    load: &'a Load,
    profiles: &'a BTreeMap<String, Profile>,
    message: u32,
    pattern: Pattern,
    opening: Opening,
    /// Of the hosts that write: of IP, of X.25, or none where the stack has none. Without ports.
    locals: Vec<Address>,
    /// The readers of each writer.
    peers: Vec<Vec<Address>>,
    /// Where they listen, if they have ports.
    port: u16,
}

/// A writing program.
struct Writer<'a> {
    place: &'a (String, String),
    local: Address,
    peers: &'a [Address],
    opening: Opening,
}

/// An address of IP.
fn ip(key: &str, address: &Address) -> Result<IpAddr, Fault> {
    address.ip().ok_or_else(|| wrong(key, "this load goes over IP, and here is none"))
}

impl Setup<'_> {
    fn transfer(&self, host: &str) -> Transfer {
        self.profiles.get(host).map(|profile| transfer(&profile.transfer)).unwrap_or_default()
    }

    /// The writers: their number, place and address, whom they call, and when their first session begins.
    fn writers(&self) -> impl Iterator<Item = Writer<'_>> {
        let places = self.load.from.iter().zip(&self.locals).enumerate();
        places.map(|(number, (place, local))| {
            let earlier = u64::try_from(number).unwrap_or(u64::MAX).saturating_mul(self.workload.sessions.into());
            let (start, is_one_of_several) = match self.opening.stagger {
                // One row of sessions over all writers.
                Distribution::Constant(stagger) => {
                    let before = Duration::from_nanos(stagger.as_nanos().saturating_mul(earlier));
                    (self.opening.start + before, false)
                }
                Distribution::Exponential(_) | Distribution::Uniform(..) | Distribution::Pareto(..) => {
                    (self.opening.start, self.load.from.len() > 1)
                }
            };
            Writer {
                place,
                local: *local,
                peers: self.peers.get(number).map(Vec::as_slice).unwrap_or_default(),
                opening: Opening { start, is_one_of_several, ..self.opening },
            }
        })
    }

    const fn any(&self) -> SocketAddr {
        SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), self.port)
    }

    /// What the reading program listens on: all that there is.
    fn listening(&self) -> Address {
        match self.locals.first().and_then(Address::ip) {
            Some(_) => self.any().into(),
            None => Address::NONE,
        }
    }

    /// How many may call a reader at once.
    fn backlog(&self) -> u32 {
        let writers = u32::try_from(self.load.from.len()).unwrap_or(u32::MAX);
        self.workload.sessions.saturating_mul(writers).max(1)
    }

    fn stream(&self, programs: &mut Programs) -> Result<(), Fault> {
        let (workload, load) = (self.workload, self.load);
        let quality = quality(workload)?;
        let size = drawn::<Octets>("size", workload.size.as_ref())?;
        for writer in self.writers() {
            let source = Source::new(SourceConfig {
                local: match writer.local.ip() {
                    Some(ip) => Address::from(SocketAddr::new(ip, 0)),
                    None => Address::NONE,
                },
                peers: writer.peers.iter().map(|peer| at_port(*peer, self.port)).collect(),
                sessions: workload.sessions,
                busy: workload.busy.unwrap_or(workload.sessions),
                message: self.message,
                count: workload.count.filter(|_| load.until_done),
                size,
                pattern: self.pattern,
                opening: writer.opening,
                quality,
                transfer: self.transfer(&writer.place.0),
            });
            let bell = load.bell.as_ref().map(|bell| bell.at(&writer.place.0));
            let source = source.ringing(bell, load.sender_clock);
            programs.0.insert(writer.place.clone(), Box::new(source));
        }
        let read = workload.read.as_ref().map(|read| octets("read", read)).transpose()?;
        for to in &load.to {
            let sink = Sink::new(SinkConfig {
                local: self.listening(),
                backlog: self.backlog(),
                read: read.unwrap_or(self.message),
                expect: Some(self.pattern),
                quality,
                transfer: self.transfer(&to.0),
            });
            let sink = sink.ringing(load.bell.clone().filter(|_| !load.sender_clock));
            programs.0.insert(to.clone(), Box::new(sink));
        }
        Ok(())
    }

    fn file(&self, programs: &mut Programs) -> Result<(), Fault> {
        let (workload, load) = (self.workload, self.load);
        let ([from], [local]) = (load.from.as_slice(), self.locals.as_slice()) else {
            return Err(wrong("from", "a file comes from one host"));
        };
        let (Some([peer]), [to]) = (self.peers.first().map(Vec::as_slice), load.to.as_slice()) else {
            return Err(wrong("to", "a file goes to one host"));
        };
        if workload.sessions != 1 {
            return Err(wrong("sessions", "a file goes over one association"));
        }
        let missing = || wrong("kind", "ftam moves a file; give its size as `file`");
        let len = workload.file.as_ref().ok_or_else(missing)?;
        let len: Octets = quantity(&["file"], len)?;
        let way = match workload.way.as_deref() {
            None | Some("put") => Way::Put,
            Some("get") => Way::Get,
            Some(other) => {
                let path = ["way"];
                return Err(unknown(&path, "way", other, &["put", "get"]));
            }
        };
        let file = FileConfig { way, len: len.count(), element: self.message, pattern: self.pattern };
        // The data goes from `from` to `to`; who asks for that is the writer of a put and the reader of a get.
        let (asking, keeping, remote) = match way {
            Way::Put => (from, to, *peer),
            Way::Get => (to, from, *local),
        };
        let user = FileUser::new(FileUserConfig {
            remote: at_port(remote, TSAP_PORT),
            file,
            opening: self.opening,
            transfer: self.transfer(&asking.0),
        });
        let user = user.ringing(load.bell.clone());
        programs.0.insert(asking.clone(), Box::new(user));
        let keeper = FileKeeper::new(FileKeeperConfig { file, transfer: self.transfer(&keeping.0) });
        programs.0.insert(keeping.clone(), Box::new(keeper));
        Ok(())
    }

    fn units(&self, programs: &mut Programs) -> Result<(), Fault> {
        let (workload, load) = (self.workload, self.load);
        let media = self.media()?;
        let number = u32::try_from(HEADER_LEN).unwrap_or(u32::MAX) + media.map_or(0, |_| rtp::LEN);
        let most = kumiki_inet::udp::MAX_DATA;
        if !(number..=most).contains(&self.message) {
            let problem =
                format!("{}, the number and the time of each datagram included", counted(self.message, "octet"));
            return Err(wrong("message", problem).expected(format!("{number} B to {most} B")));
        }
        if let Some(frame) = media.and_then(|media| media.frame)
            && (1..number).contains(&(frame % self.message))
        {
            let problem =
                format!("of {octets} the last packet has {}", frame % self.message, octets = counted(frame, "octet"));
            return Err(wrong("frame", problem).expected(format!("none, or at least {number}, beyond whole messages")));
        }
        let rate = workload.rate.as_deref();
        let rate = rate.ok_or_else(|| {
            wrong(
                "kind",
                format!("{} sends at a constant rate; give `rate`, such as rate = \"10 Mb/s\"", workload.kind),
            )
        })?;
        let rate: quantity::Rate = quantity(&["rate"], rate)?;
        if rate.bits_per_second() == 0 {
            return Err(wrong("rate", "nothing would ever be sent"));
        }
        let poisson = match workload.arrivals.as_deref().unwrap_or("periodic") {
            "periodic" => false,
            "poisson" => true,
            other => return Err(unknown(&["arrivals"], "kind of arrivals", other, &["periodic", "poisson"])),
        };
        let bursts = self.bursts(rate, media)?;
        for writer in self.writers() {
            let peers = writer.peers.iter().map(|peer| Ok(SocketAddr::new(ip("to", peer)?, self.port)));
            let source = UdpSource::new(UdpSourceConfig {
                local: SocketAddr::new(ip("from", &writer.local)?, 0),
                peers: peers.collect::<Result<_, _>>()?,
                sessions: workload.sessions,
                message: self.message,
                count: workload.count,
                bits_per_second: rate.bits_per_second(),
                poisson,
                bursts,
                media,
                pattern: self.pattern,
                opening: writer.opening,
                transfer: self.transfer(&writer.place.0),
            });
            programs.0.insert(writer.place.clone(), Box::new(source));
        }
        for to in &load.to {
            let sink = UdpSink::new(UdpSinkConfig {
                local: self.any(),
                expect: Some(self.pattern),
                media,
                transfer: self.transfer(&to.0),
            });
            programs.0.insert(to.clone(), Box::new(sink));
        }
        Ok(())
    }

    /// Times of sending and of silence, where this load of datagrams has such.
    fn bursts(&self, rate: quantity::Rate, media: Option<Media>) -> Result<Option<Bursts>, Fault> {
        /// So many bursts may begin and end from one datagram to the next: each is drawn, though nothing leaves in most of them.
        const MOST: u64 = 1000;
        let drawn = |key: &'static str, text: Option<&String>| drawn::<Duration>(key, text);
        let Workload { on, off, .. } = self.workload;
        let bursts = match (drawn("on", on.as_ref())?, drawn("off", off.as_ref())?) {
            (Some(on), Some(off)) => Bursts { on, off },
            (None, None) => return Ok(None),
            (Some(_), None) => return Err(wrong("on", "bursts without a time between them; give `off`")),
            (None, Some(_)) => return Err(wrong("off", "times of silence without those of sending; give `on`")),
        };
        let octets = media.and_then(|media| media.frame).map_or(self.message, |frame| frame.max(self.message));
        let gap = sending(octets.into(), rate.bits_per_second());
        let least = Duration::from_nanos(gap.as_nanos().div_ceil(MOST).max(1));
        if bursts.on.mean() < least {
            let what = if octets == self.message { "datagram" } else { "frame" };
            let problem = format!(
                "bursts of {} on average, where {gap} of sending are from one {what} to the next",
                bursts.on.mean()
            );
            return Err(wrong("on", problem).expected(format!("at least {least} on average")));
        }
        Ok(Some(bursts))
    }

    /// What packets of RTP are of, where this load sends such.
    fn media(&self) -> Result<Option<Media>, Fault> {
        let workload = self.workload;
        if workload.kind != RTP {
            return Ok(None);
        }
        let payload_type = workload.payload_type.unwrap_or(MP2T);
        if payload_type > 127 || (72..=76).contains(&payload_type) {
            let problem = format!("{payload_type} is no payload type of RTP");
            return Err(wrong("payload_type", problem).expected("0 to 127, but for 72 to 76, which RTCP uses"));
        }
        let frame = workload.frame.as_ref().map(|text| octets("frame", text)).transpose()?;
        if frame == Some(0) {
            return Err(wrong("frame", "a frame has at least one octet"));
        }
        let playout = workload.playout.as_ref().map(|text| quantity(&["playout"], text)).transpose()?;
        Ok(Some(Media { payload_type, frame, playout: playout.unwrap_or(PLAYOUT) }))
    }

    fn rpc(&self, programs: &mut Programs) -> Result<(), Fault> {
        let workload = self.workload;
        if self.message < HEADER {
            let problem = format!("{}, the length of the response included", counted(self.message, "octet"));
            return Err(wrong("message", problem).expected(format!("at least {HEADER} B")));
        }
        let quality = quality(workload)?;
        let request = Octets::new(self.message.into());
        let response = drawn("response", workload.response.as_ref())?.unwrap_or(Distribution::Constant(request));
        let none = Distribution::Constant(Duration::ZERO);
        for writer in self.writers() {
            let client = RpcClient::new(RpcClientConfig {
                local: SocketAddr::new(ip("from", &writer.local)?, 0).into(),
                peers: writer.peers.iter().map(|peer| at_port(*peer, self.port)).collect(),
                sessions: workload.sessions,
                request: self.message,
                response,
                think: drawn("think", workload.think.as_ref())?.unwrap_or(none),
                count: workload.count,
                pattern: self.pattern,
                opening: writer.opening,
                quality,
                transfer: self.transfer(&writer.place.0),
            });
            programs.0.insert(writer.place.clone(), Box::new(client));
        }
        for to in &self.load.to {
            let server = RpcServer::new(RpcServerConfig {
                local: self.listening(),
                backlog: self.backlog(),
                request: self.message,
                pattern: self.pattern,
                quality,
                transfer: self.transfer(&to.0),
            });
            programs.0.insert(to.clone(), Box::new(server));
        }
        Ok(())
    }

    fn ping(&self, programs: &mut Programs) -> Result<(), Fault> {
        let workload = self.workload;
        if workload.sessions != 1 {
            return Err(wrong("sessions", "one ping asks one host"));
        }
        const MOST: u32 = 65535 - 20 - 8;
        if self.message > MOST {
            return Err(
                wrong("message", "an echo with so much data fits no datagram").expected(format!("at most {MOST} B"))
            );
        }
        let interval = time("interval", workload.interval.as_ref())?;
        if workload.interval.is_some() && interval.is_zero() {
            return Err(wrong("interval", "no time from one echo to the next"));
        }
        for writer in self.writers() {
            let [peer] = writer.peers else {
                return Err(wrong("to", "one ping asks one host"));
            };
            let ping = Ping::new(PingConfig {
                peer: ip("to", peer)?,
                data: self.message,
                count: workload.count,
                interval: if interval.is_zero() { Duration::from_secs(1) } else { interval },
                pattern: self.pattern,
                opening: writer.opening,
                transfer: self.transfer(&writer.place.0),
            });
            programs.0.insert(writer.place.clone(), Box::new(ping));
        }
        Ok(())
    }
}

/// `host.node`, both of which there must be.
fn place(text: &str, key: &str, hosts: &BTreeMap<String, Host>) -> Result<(String, String), Fault> {
    let path = [key];
    let Some((host, node)) = text.split_once('.') else {
        return Err(fault(&path, format!("\"{text}\" names no node; write host.node")));
    };
    let names = || hosts.keys().map(String::as_str).collect::<Vec<_>>();
    let spec = hosts.get(host).ok_or_else(|| unknown(&path, "host", host, &names()))?;
    let layers = spec.graph.as_ref().map(super::hosts::layers).unwrap_or_default();
    if !layers.iter().any(|(name, _)| name == node) {
        let names: Vec<&str> = layers.iter().map(|(name, _)| name.as_str()).collect();
        return Err(unknown(&path, "node", node, &names));
    }
    Ok((host.to_owned(), node.to_owned()))
}

/// The address under which `program` on `host` is reached at `plug`, `host.device`: that of the first node below it that has one, and of several of its interfaces
/// that on this device.
fn address(host: &str, program: &str, plug: Option<&str>, hosts: &BTreeMap<String, Host>) -> Result<Address, Fault> {
    let device = plug.and_then(|plug| plug.split_once('.')).map(|(_, device)| device.to_owned());
    let missing = || {
        let problem =
            format!("below `{program}` is no `ip`, `ipv6`, `vnet` or `x25` with an `address`, and no `loopback`");
        fault(&["host", host], problem)
    };
    let spec = hosts.get(host).ok_or_else(missing)?;
    for node in below(spec, program) {
        let settings = || spec.settings.get(&node).ok_or_else(missing);
        let found = match spec.kind_of(&node) {
            "ip" | "ipv6" | "vnet" => {
                let interfaces = spec.graph.as_ref().map(|graph| graph.below(&node)).unwrap_or_default();
                let leads = |interface: &&str| device.as_ref().is_some_and(|it| below(spec, interface).contains(it));
                let interface = interfaces.into_iter().find(leads);
                protocols::address(settings()?, interface).map(Address::from)
            }
            "x25" => protocols::number(settings()?).map(Address::from),
            "loopback" => Ok(Address::NONE),
            _ => continue,
        };
        return found.map_err(|fault| fault.under(&["host", host, &node]));
    }
    Err(missing())
}

/// `address` as programs call it: with a port, where it is one of IP.
fn at_port(address: Address, port: u16) -> Address {
    match address.ip() {
        Some(ip) => Address::from(SocketAddr::new(ip, port)),
        None => address,
    }
}

/// The nodes below `program`, nearest first, each once.
fn below(spec: &Host, program: &str) -> Vec<String> {
    let layers = spec.graph.as_ref().map(super::hosts::layers).unwrap_or_default();
    let mut found = vec![program.to_owned()];
    let mut next = 0;
    while let Some(node) = found.get(next) {
        let lower: Vec<String> =
            layers.iter().filter(|(upper, _)| upper == node).flat_map(|(_, lower)| lower.iter().cloned()).collect();
        for node in lower {
            if !found.contains(&node) {
                found.push(node);
            }
        }
        next += 1;
    }
    found
}

fn octets(key: &str, text: &str) -> Result<u32, Fault> {
    let path = [key];
    let octets: Octets = quantity(&path, text)?;
    u32::try_from(octets.count()).map_err(|_| fault(&path, "4 GiB or more").expected("at most 4294967295 B"))
}

fn pattern(workload: &Workload, seed: u64, message: u32) -> Result<Pattern, Fault> {
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

fn quality(workload: &Workload) -> Result<Quality, Fault> {
    let buffer = workload.socket_buffer.as_ref().map(|text| {
        let octets = quantity::<Octets>(&["socket_buffer"], text)?.count();
        u32::try_from(octets).ok().filter(|octets| (1..=1 << 30).contains(octets)).ok_or_else(|| {
            let problem = format!("{octets} for a window (RFC 7323 section 2.3)", octets = counted(octets, "octet"));
            wrong("socket_buffer", problem).expected("1 B to 1 GiB")
        })
    });
    let buffer = buffer.transpose()?;
    let coalesce = workload.coalesce.as_ref().map(|text| {
        let found = COALESCE.iter().find(|(name, _)| name == text).map(|(_, value)| *value);
        let names: Vec<&str> = COALESCE.iter().map(|(name, _)| *name).collect();
        found.ok_or_else(|| unknown(&["coalesce"], "way to treat small segments", text, &names))
    });
    Ok(Quality { send_buffer: buffer, receive_buffer: buffer, coalesce: coalesce.transpose()?, ..Quality::default() })
}

/// A price that was checked when its profile was read.
fn price(sourced: Option<&profile::Sourced>) -> Duration {
    sourced.and_then(|it| it.duration().ok()).unwrap_or_default()
}

fn transfer(transfer: &profile::Transfer) -> Transfer {
    Transfer {
        copies: transfer.copies,
        summed: transfer.summed,
        ready_page: transfer.ready_page,
        wait: Wait {
            message: price(transfer.wait.as_ref()),
            octet_ps: transfer.wait_octet.as_ref().and_then(|it| it.picoseconds().ok()).unwrap_or(0),
        },
    }
}
