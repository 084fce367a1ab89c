//! Two hosts, each an application on TCP, and a wire between them that does what the test says. They speak the version
//! of IP that the module above says: these files are compiled once for each.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use kumiki_wire::inet::SourceRoute;

use kumiki_graph::*;
use kumiki_octets::Message;
use kumiki_wire::inet::tcp::{Flags, Header, Seq};

use super::IPV6;
use crate::tcp::{Config, Counters, Tcp, defaults};

// The paths are said because `over_ipv6` takes this file from elsewhere.
#[path = "pair/app.rs"]
mod app;
#[path = "pair/wire.rs"]
mod wire;

pub(super) use app::App;
pub(super) use wire::{Fate, Narrow, Packet};
use wire::{Path, Rule};

pub(super) const A: usize = 0;
pub(super) const B: usize = 1;
pub(super) const PORT: u16 = 7;

/// Octets of the IP header.
pub(super) const IP: u32 = if IPV6 { 40 } else { 20 };
/// The MSS of links that carry 9180 octets.
pub(super) const MSS: u16 = if IPV6 { 9120 } else { 9140 };

pub(super) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(super) struct Host {
    pub(super) graph: Graph,
    task: TaskId,
    wire: DeviceId,
    control: DeviceId,
    /// Until then its CPU is at work.
    busy: Instant,
}

pub(super) struct Pair {
    pub(super) now: Instant,
    pub(super) hosts: [Host; 2],
    in_flight: Vec<(Instant, usize, usize, Unit)>,
    pub(super) log: Vec<Packet>,
    pub(super) first: [Option<Seq>; 2],
    rule: Rule,
    path: Option<Path>,
    order: usize,
    shown: usize,
    mtu: Option<u32>,
    batch: usize,
    /// What the layer below was advised of: by whom, and whether there was an answer.
    pub(super) advice: Vec<(usize, bool)>,
    /// What TCP told the layer below of paths: who, and what they carry.
    pub(super) narrowed: Vec<(usize, u32)>,
    /// Who sent each unit, and with which time to live and type of service.
    pub(super) travelled: Vec<(usize, u8, u8)>,
    /// The way back that units of this sender bring.
    pub(super) return_route: Option<(usize, SourceRoute)>,
    /// By which gateways each unit went.
    pub(super) ways: Vec<Option<Box<SourceRoute>>>,
    /// Segments to addresses that nobody has.
    pub(super) strays: usize,
    pub(super) narrow: Option<Narrow>,
    /// What goes out now nobody hears, and it leaves no trace.
    pub(super) unheard: bool,
    /// What the layers below will say, when and to whom.
    reports: Vec<(Instant, usize, Report)>,
}

fn host(config: Config, number: u64, seed: u64) -> Host {
    let mut graph = Graph::new(seed, number);
    let task = graph.add_task("host");
    let mut config = config;
    config.address = of_host(number as usize);
    graph.add_node("app", task, Box::new(App::default())).unwrap();
    graph.add_node("tcp", task, Box::new(Tcp::new(config))).unwrap();
    let wire = graph.add_device("wire", Service::UNIT_DATA).unwrap();
    let control = graph.add_device("control", Service::FRAME).unwrap();
    graph.connect("app", "tcp").unwrap();
    graph.connect("app", "control").unwrap();
    graph.connect("tcp", "wire").unwrap();
    graph.start(Instant::ZERO).unwrap();
    Host { graph, task, wire, control, busy: Instant::ZERO }
}

pub(super) fn address(host: usize, port: u16) -> Address {
    Address::from(SocketAddr::new(of_host(host), port))
}

fn of_host(host: usize) -> IpAddr {
    let low = 1 + host as u8;
    if IPV6 { Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, low.into()).into() } else { Ipv4Addr::new(10, 0, 0, low).into() }
}

/// Simple: exact buffers, no options, as little as possible that a test does not ask for.
pub(super) fn plain() -> Config {
    Config {
        mss: Some(1000),
        send_buffer: 64_000,
        receive_buffer: 64_000,
        max_send_buffer: 0,
        max_receive_buffer: 0,
        timestamps: false,
        window_scaling: false,
        sack: false,
        congestion: crate::tcp::congestion::Algorithm::NewReno,
        ..defaults::modern()
    }
}

impl Pair {
    /// Two hosts, `delay` apart, with links that carry 9180 octets.
    pub(super) fn new(a: Config, b: Config, delay: Duration) -> Self {
        Self::seeded(a, b, 1, 9180, Box::new(move |_| vec![delay]))
    }

    pub(super) fn with_rule(a: Config, b: Config, rule: impl FnMut(&Packet) -> Fate + 'static) -> Self {
        Self::seeded(a, b, 1, 9180, Box::new(rule))
    }

    pub(super) fn seeded(a: Config, b: Config, seed: u64, mtu: u32, rule: Rule) -> Self {
        let mut pair = Self::unlimited(a, b, seed, rule);
        pair.mtu = Some(mtu);
        pair.run_until(Instant::ZERO);
        pair
    }

    /// The layer below does not say what it carries.
    pub(super) fn silent(a: Config, b: Config) -> Self {
        Self::unlimited(a, b, 1, Box::new(|_| vec![ms(10)]))
    }

    fn unlimited(a: Config, b: Config, seed: u64, rule: Rule) -> Self {
        Self {
            now: Instant::ZERO,
            hosts: [host(a, 0, seed), host(b, 1, seed)],
            in_flight: Vec::new(),
            log: Vec::new(),
            first: [None; 2],
            rule,
            path: None,
            order: 0,
            shown: 0,
            mtu: None,
            batch: 1,
            advice: Vec::new(),
            narrowed: Vec::new(),
            travelled: Vec::new(),
            ways: Vec::new(),
            return_route: None,
            strays: 0,
            narrow: None,
            unheard: false,
            reports: Vec::new(),
        }
    }

    /// The work of the layer `node` of `host` costs `prices` from now on, and one CPU does it.
    pub(super) fn price(&mut self, host: usize, node: &str, prices: Prices) {
        let graph = &mut self.hosts[host].graph;
        graph.set_prices(graph.node(node).unwrap(), prices);
    }

    /// From now on the wire does as `rule` says.
    pub(super) fn rule(&mut self, rule: impl FnMut(&Packet) -> Fate + 'static) {
        self.rule = Box::new(rule);
    }

    /// Inputs taken together before a host settles.
    pub(super) fn batch(mut self, batch: usize) -> Self {
        self.batch = batch;
        self
    }

    /// The path changes what it carries.
    pub(super) fn by(mut self, path: impl FnMut(&mut Packet) + 'static) -> Self {
        self.path = Some(Box::new(path));
        self
    }

    pub(super) fn app(&mut self, host: usize) -> &mut App {
        let graph = &mut self.hosts[host].graph;
        let node = graph.node("app").unwrap();
        graph.protocol_mut(node).unwrap()
    }

    pub(super) fn tcp(&self, host: usize) -> &Tcp {
        let graph = &self.hosts[host].graph;
        graph.protocol(graph.node("tcp").unwrap()).unwrap()
    }

    pub(super) fn tcp_mut(&mut self, host: usize) -> &mut Tcp {
        let graph = &mut self.hosts[host].graph;
        let node = graph.node("tcp").unwrap();
        graph.protocol_mut(node).unwrap()
    }

    pub(super) fn counters(&self, host: usize) -> Counters {
        *self.tcp(host).counters()
    }

    /// Lets the application make `requests` and send what is in its outbox.
    pub(super) fn ask(&mut self, host: usize, requests: Vec<Request>) {
        self.app(host).todo.extend(requests);
        let Host { graph, control, .. } = &mut self.hosts[host];
        graph.input(self.now, *control, Indication::Unit(Box::default()));
        self.run_until(self.now);
    }

    pub(super) fn listen(&mut self, host: usize, backlog: u32) {
        let open = open(Mode::Passive { backlog }, Address::NONE, PORT);
        self.ask(host, vec![open]);
    }

    pub(super) fn call(&mut self, host: usize) {
        let open = open(Mode::Active, address(1 - host, PORT), 0);
        self.ask(host, vec![open]);
    }

    /// A connection from A to B.
    pub(super) fn connected(mut self) -> Self {
        self.listen(B, 5);
        self.call(A);
        self.run_for(ms(500));
        assert!(self.app(A).session.is_some() && self.app(B).session.is_some());
        self
    }

    /// A write of `octets`.
    pub(super) fn write(&mut self, host: usize, octets: &[u8]) {
        self.app(host).outbox.push_back(Message::from_octets(octets));
        self.ask(host, Vec::new());
    }

    /// An urgent write of `octets`.
    pub(super) fn urge(&mut self, host: usize, octets: &[u8]) {
        let session = self.app(host).session.unwrap();
        let data = Message::from_octets(octets);
        self.ask(host, vec![Request::Expedited { session, data }]);
    }

    pub(super) fn take(&mut self, host: usize, octets: u64) {
        let session = self.app(host).session.unwrap();
        let credit = Credit::octets(octets);
        self.ask(host, vec![Request::Credit { session, credit }]);
    }

    pub(super) fn release(&mut self, host: usize) {
        let session = self.app(host).session.unwrap();
        self.ask(host, vec![Request::Release { session, data: None }]);
    }

    pub(super) fn abort(&mut self, host: usize) {
        let session = self.app(host).session.unwrap();
        let reason = Reason::User;
        self.ask(host, vec![Request::Abort { session, reason, data: None }]);
    }

    /// Changes what the user of the connection asks for.
    pub(super) fn change(&mut self, host: usize, quality: Quality) {
        let session = self.app(host).session.unwrap();
        let change = Manage::Session { session, quality };
        self.ask(host, vec![Request::Manage(Box::new(change))]);
    }

    /// Lets `header` and `text` arrive at `host` from the other one, with sequence numbers relative to the first ones.
    pub(super) fn inject(&mut self, host: usize, mut header: Header, text: &[u8]) {
        let base = |at: usize| self.first[at].unwrap_or_default();
        header.seq += base(1 - host).0;
        if header.flags.contains(Flags::ACK) {
            header.ack += base(host).0;
        }
        let mut octets = vec![0; header.len()];
        header.emit(&mut octets);
        octets.extend(text);
        let mut data = Message::from_octets(&octets);
        data.meta_mut().checksum = kumiki_octets::Checksum::Verified;
        self.deliver(host, data);
    }

    /// As [`Self::inject`], from an address that nobody has; sequence numbers are as they are.
    pub(super) fn forge(&mut self, host: usize, from: u32, header: Header, text: &[u8]) {
        let mut octets = vec![0; header.len()];
        header.emit(&mut octets);
        octets.extend(text);
        let mut data = Message::from_octets(&octets);
        data.meta_mut().checksum = kumiki_octets::Checksum::Verified;
        let low = 0x0b00_0000 | from & 0xff_ffff;
        let source: IpAddr = if IPV6 {
            Ipv6Addr::from_bits(0xfd01 << 112 | u128::from(low)).into()
        } else {
            Ipv4Addr::from_bits(low).into()
        };
        self.deliver_from(source.into(), host, data);
    }

    pub(super) fn deliver(&mut self, host: usize, data: Message) {
        self.deliver_from(ip(1 - host), host, data);
    }

    fn deliver_from(&mut self, source: Address, host: usize, data: Message) {
        let unit = Unit { source, destination: ip(host), data, ..Unit::default() };
        self.deliver_unit(host, unit);
    }

    pub(super) fn deliver_unit(&mut self, host: usize, unit: Unit) {
        let Host { graph, wire, .. } = &mut self.hosts[host];
        graph.input(self.now, *wire, Indication::Unit(Box::new(unit)));
        self.run_until(self.now);
    }

    /// The layer below `host` says something.
    pub(super) fn report(&mut self, host: usize, report: Report) {
        let Host { graph, wire, .. } = &mut self.hosts[host];
        graph.input(self.now, *wire, Indication::Report(Box::new(report)));
        self.run_until(self.now);
    }

    /// ICMP tells `host` that what it sent last met `problem`.
    pub(super) fn icmp(&mut self, host: usize, problem: Problem) {
        let sent = self.log.iter().rev().find(|packet| packet.from == host);
        let mut start = vec![0; 20];
        let options = kumiki_wire::inet::tcp::Options::NONE;
        let header = sent.unwrap().header;
        Header { options, ..header }.emit(&mut start);

        let report = Report::Unreachable {
            source: ip(host),
            destination: ip(1 - host),
            problem,
            start: Message::from_octets(&start[..8]),
        };
        self.report(host, report);
    }

    /// The ports of the connection as A's segments carry them.
    pub(super) fn header(&self, from: usize) -> Header {
        let first = self.log.iter().find(|packet| packet.from == from).unwrap();
        Header {
            source_port: first.header.source_port,
            destination_port: first.header.destination_port,
            window: first.header.window,
            ..Header::default()
        }
    }

    /// What the layer below has to say, unless it is silent.
    fn answer(&mut self, from: usize, manage: Manage) {
        if let Manage::Advise { to, answered } = manage {
            let Some(other) = address(1 - from, 0).socket() else {
                return;
            };
            assert_eq!(to.to_string(), other.ip().to_string());
            self.advice.push((from, answered));
            return;
        }
        if let Manage::Narrow { mtu, .. } = manage {
            self.narrowed.push((from, mtu));
            return;
        }
        let Some(mtu) = self.mtu else {
            return;
        };
        let (unit, burst) = (mtu - IP, 1);
        let report = match manage {
            Manage::Limits => Report::Limits { unit, burst },
            Manage::Route { to } => Report::Route { to, source: ip(from), unit, burst, bypass: None },
            Manage::Refuse { .. }
            | Manage::Session { .. }
            | Manage::Advise { .. }
            | Manage::Group { .. }
            | Manage::Narrow { .. }
            | Manage::Special(_) => return,
        };
        let Host { graph, wire, task, .. } = &mut self.hosts[from];
        graph.input(self.now, *wire, Indication::Report(Box::new(report)));
        graph.run(*task, self.now, 1);
    }
}

pub(super) fn ip(host: usize) -> Address {
    of_host(host).into()
}

/// Nobody has the port, as the peer's host says it (RFC 792; RFC 4443 section 3.1).
pub(super) const fn no_port() -> Problem {
    if IPV6 { Problem::Hard { kind: 1, code: 4 } } else { Problem::Hard { kind: 3, code: 3 } }
}

/// No route leads to the peer's network, as a router on the way says it.
pub(super) const fn no_route() -> Problem {
    if IPV6 { Problem::Soft { kind: 1, code: 0 } } else { Problem::Soft { kind: 3, code: 0 } }
}

/// The router in the peer's network does not reach it.
pub(super) const fn no_host() -> Problem {
    if IPV6 { Problem::Soft { kind: 1, code: 3 } } else { Problem::Soft { kind: 3, code: 1 } }
}

fn anywhere() -> IpAddr {
    if IPV6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() }
}

pub(super) fn open(mode: Mode, remote: Address, port: u16) -> Request {
    Request::Open(Box::new(Open {
        user: Handle::default(),
        mode,
        local: Address::from(SocketAddr::new(anywhere(), port)),
        remote,
        ..Open::default()
    }))
}

pub(super) fn accept(session: Handle) -> Request {
    Request::Accept(Box::new(Accept {
        session,
        user: Handle::default(),
        quality: Quality::default(),
        data: None,
        ..Accept::default()
    }))
}

/// A segment from port 1000 of a caller that the test plays itself.
pub(super) const fn from_caller(flags: Flags, seq: u32, ack: u32) -> Header {
    Header {
        source_port: 1000,
        destination_port: PORT,
        seq: Seq(seq),
        ack: Seq(ack),
        flags,
        window: 5000,
        checksum: 0,
        urgent_pointer: 0,
        options: kumiki_wire::inet::tcp::Options::NONE,
    }
}

/// Octets that tell their places.
pub(super) fn numbered(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n % 251) as u8).collect()
}
