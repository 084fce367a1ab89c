//! Two hosts, each an application on XTP, and a wire between them that does what the test says.

use crate::WithTags;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use kumiki_wire::inet::ethernet::MacAddr;

use kumiki_graph::*;
use kumiki_octets::{Message, Sum};
use kumiki_wire::xtp::{CHECK_OFFSET, Control, Diagnosis, Errors, First, Format, Header, Key, LEN, Options, covered};

use crate::{Config, Counters, Recovery, Xtp, congestion};

pub(super) mod app;

pub(super) use app::App;

pub(super) const A: usize = 0;
pub(super) const B: usize = 1;
pub(super) const PORT: u16 = 5001;
/// Octets of data in a packet over the wire.
pub(super) const DATA: usize = 1000;
/// What IP carries.
pub(super) const UNIT: u32 = (LEN + DATA) as u32;

pub(super) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// When copies of a packet arrive: none, one or several delays.
pub(super) type Fate = Vec<Duration>;
type Rule = Box<dyn FnMut(&Packet) -> Fate>;

/// A packet on the wire.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) at: Instant,
    pub(super) from: usize,
    /// Which of several hosts it is on its way to; of the log nobody in particular.
    pub(super) to: usize,
    pub(super) header: Header,
    pub(super) payload: Vec<u8>,
}

impl Packet {
    pub(super) fn has(&self, options: Options) -> bool {
        self.header.options.contains(options)
    }

    pub(super) fn is(&self, format: Format) -> bool {
        self.header.format == format
    }

    /// Octets of user data.
    pub(super) fn data(&self) -> &[u8] {
        let front = match self.header.format {
            Format::Data if self.has(Options::BTAG) => 8,
            Format::Data => 0,
            Format::First => First::parse(&self.payload).unwrap().1,
            _ => self.payload.len(),
        };
        &self.payload[front..]
    }

    pub(super) fn control(&self) -> Control {
        assert!(self.header.format.is_control());
        Control::parse(&self.payload).unwrap().0
    }

    pub(super) fn errors(&self) -> Errors {
        Errors::parse(&self.payload).unwrap()
    }

    pub(super) fn diagnosis(&self) -> Diagnosis {
        Diagnosis::parse(&self.payload).unwrap().0
    }
}

/// For example `0.010 a DATA SREQ 0+1000` and `0.020 b CNTL rseq 1000 alloc 65536 echo 1`.
impl core::fmt::Display for Packet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let ns = self.at.as_nanos();
        let who = char::from(b'a' + self.from as u8);
        let Header { format, options, seq, .. } = self.header;
        let options = options.without(Options::EDGE);
        let (s, ms) = (ns / 1_000_000_000, ns / 1_000_000 % 1000);
        write!(f, "{s}.{ms:03} {who} {format} {options} {seq}")?;
        match format {
            Format::Data | Format::First => write!(f, "+{}", self.data().len()),
            Format::Cntl | Format::Tcntl | Format::Jcntl => write!(f, " {}", self.control()),
            Format::Ecntl => write!(f, " {}", self.errors()),
            Format::Diag => write!(f, " {}", self.diagnosis()),
        }
    }
}

pub(super) struct Host {
    pub(super) graph: Graph,
    task: TaskId,
    wire: DeviceId,
    control: DeviceId,
}

pub(super) struct Pair {
    pub(super) now: Instant,
    pub(super) hosts: Vec<Host>,
    in_flight: Vec<(Instant, usize, usize, Unit)>,
    pub(super) log: Vec<Packet>,
    rule: Rule,
    order: usize,
    shown: usize,
    unit: u32,
    batch: usize,
    /// Who is in which group.
    pub(super) members: Vec<(usize, Address)>,
    /// The layer below knows no IP addresses of those who send.
    pub(super) nameless: bool,
    /// Packets to nobody.
    pub(super) astray: usize,
}

fn host(mut config: Config, number: usize, seed: u64) -> Host {
    let mut graph = Graph::new(seed, number as u64);
    let task = graph.add_task("host");
    config.address = of_host(number);
    graph.add_node("app", task, Box::new(App::default())).unwrap();
    graph.add_node("xtp", task, Box::new(Xtp::new(config))).unwrap();
    let wire = graph.add_device("wire", Service::UNIT_DATA).unwrap();
    let control = graph.add_device("control", Service::FRAME).unwrap();
    graph.connect("app", "xtp").unwrap();
    graph.connect("app", "control").unwrap();
    graph.connect("xtp", "wire").unwrap();
    graph.start(Instant::ZERO).unwrap();
    Host { graph, task, wire, control }
}

pub(super) fn of_host(host: usize) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, 1 + host as u8).into()
}

pub(super) fn address(host: usize, port: u16) -> Address {
    Address::from(SocketAddr::new(of_host(host), port))
}

pub(super) fn ip(host: usize) -> Address {
    of_host(host).into()
}

/// Small buffers, no congestion control, what a test does not ask for left out.
pub(super) fn plain() -> Config {
    let mut config = Config {
        send_buffer: 64_000,
        receive_buffer: 64_000,
        first_alloc: 64_000,
        congestion: congestion::Kind::Off,
        recovery: Recovery::Selective,
        reordering: 0,
        ..Config::default()
    };
    config.rtt.initial = ms(1000);
    config
}

impl Pair {
    /// Two hosts, `delay` apart.
    pub(super) fn new(a: Config, b: Config, delay: Duration) -> Self {
        Self::with_rule(a, b, move |_| vec![delay])
    }

    pub(super) fn with_rule(a: Config, b: Config, rule: impl FnMut(&Packet) -> Fate + 'static) -> Self {
        Self::of_many(vec![a, b], 1, Box::new(rule))
    }

    pub(super) fn of_many(configs: Vec<Config>, seed: u64, rule: Rule) -> Self {
        let hosts = configs.into_iter().enumerate();
        let mut pair = Self {
            now: Instant::ZERO,
            hosts: hosts.map(|(n, config)| host(config, n, seed)).collect(),
            in_flight: Vec::new(),
            log: Vec::new(),
            rule,
            order: 0,
            shown: 0,
            unit: UNIT,
            batch: 1,
            members: Vec::new(),
            nameless: false,
            astray: 0,
        };
        pair.run_until(Instant::ZERO);
        pair
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

    pub(super) fn app(&mut self, host: usize) -> &mut App {
        let graph = &mut self.hosts[host].graph;
        let node = graph.node("app").unwrap();
        graph.protocol_mut(node).unwrap()
    }

    pub(super) fn xtp(&self, host: usize) -> &Xtp {
        let graph = &self.hosts[host].graph;
        graph.protocol(graph.node("xtp").unwrap()).unwrap()
    }

    pub(super) fn counters(&self, host: usize) -> Counters {
        *self.xtp(host).counters()
    }

    /// Octets that a host has read to know their sums.
    pub(super) fn summed(&self, host: usize) -> u64 {
        let mut accounts = self.hosts[host].graph.accounts();
        accounts.find(|(name, _)| *name == "xtp").unwrap().1.summed
    }

    pub(super) fn heard(&mut self, host: usize) -> Vec<String> {
        core::mem::take(&mut self.app(host).heard)
    }

    /// Lets the application make `requests` and send what is in its outbox.
    pub(super) fn ask(&mut self, host: usize, requests: Vec<Request>) {
        self.app(host).todo.extend(requests);
        let Host { graph, control, .. } = &mut self.hosts[host];
        graph.input(self.now, *control, Indication::Unit(Box::default()));
        self.run_until(self.now);
    }

    pub(super) fn listen(&mut self, host: usize, backlog: u32) {
        let any = Address::from(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), PORT));
        self.ask(host, vec![open(Mode::Passive { backlog }, any, Address::NONE)]);
    }

    pub(super) fn call(&mut self, host: usize) {
        let Request::Open(mut call) = open(Mode::Active, Address::NONE, address(1 - host, PORT)) else {
            return;
        };
        call.quality = self.app(host).quality;
        self.ask(host, vec![Request::Open(call)]);
    }

    /// A context from A to B.
    pub(super) fn connected(mut self) -> Self {
        self.listen(B, 5);
        self.call(A);
        self.run_for(ms(500));
        assert!(self.app(A).session.is_some() && self.app(B).session.is_some());
        self
    }

    /// A write of `octets`: a message.
    pub(super) fn write(&mut self, host: usize, octets: &[u8]) {
        let data = Message::from_octets(octets);
        self.app(host).outbox.push_back((data, None, true));
        self.ask(host, Vec::new());
    }

    pub(super) fn take(&mut self, host: usize, octets: u64) {
        let session = self.app(host).session.unwrap();
        let credit = Credit::octets(octets);
        self.ask(host, vec![Request::Credit { session, credit }]);
    }

    pub(super) fn release(&mut self, host: usize) {
        let session = self.app(host).session.unwrap();
        let data = None;
        self.ask(host, vec![Request::Release { session, data }]);
    }

    pub(super) fn abort(&mut self, host: usize) {
        let session = self.app(host).session.unwrap();
        let (reason, data) = (Reason::User, None);
        let abort = Request::Abort { session, reason, data };
        self.ask(host, vec![abort]);
    }

    pub(super) fn change(&mut self, host: usize, quality: Quality) {
        let session = self.app(host).session.unwrap();
        let change = Manage::Session { session, quality };
        self.ask(host, vec![Request::Manage(Box::new(change))]);
    }

    /// Lets a packet arrive at `host` from the other one, with its checksum and length put right.
    pub(super) fn inject(&mut self, host: usize, header: Header, payload: &[u8]) {
        let octets = octets_of(header, payload);
        self.deliver(ip(1 - host), host, &octets);
    }

    pub(super) fn deliver(&mut self, source: Address, host: usize, octets: &[u8]) {
        self.deliver_as(source, ip(host), host, octets);
    }

    pub(super) fn deliver_as(&mut self, source: Address, destination: Address, host: usize, octets: &[u8]) {
        let options = UnitOptions { group: destination.ip().is_some_and(|it| it.is_multicast()), ..UnitOptions::NONE };
        let unit = Unit { source, destination, options, data: Message::from_octets(octets), ..Unit::default() };
        let Host { graph, wire, .. } = &mut self.hosts[host];
        graph.input(self.now, *wire, Indication::Unit(Box::new(unit)));
        self.run_until(self.now);
    }

    pub(super) fn report(&mut self, host: usize, report: Report) {
        let Host { graph, wire, .. } = &mut self.hosts[host];
        graph.input(self.now, *wire, Indication::Report(Box::new(report)));
        self.run_until(self.now);
    }

    pub(super) fn credit(&mut self, host: usize, messages: u32) {
        let (session, credit) = (Handle::default(), Credit::messages(messages));
        let Host { graph, wire, .. } = &mut self.hosts[host];
        graph.input(self.now, *wire, Indication::Credit { session, credit });
        self.run_until(self.now);
    }

    /// The key that packets to `host` carry once it is known to the other.
    pub(super) fn key(&self, host: usize) -> Key {
        let of =
            |packet: &&Packet| packet.from == 1 - host && packet.header.key.is_returned() && !packet.is(Format::Diag);
        self.log.iter().rev().find(of).unwrap().header.key
    }

    /// The packets since the last time.
    pub(super) fn news(&mut self) -> Vec<Packet> {
        let from = core::mem::replace(&mut self.shown, self.log.len());
        self.log[from..].to_vec()
    }

    /// As [`Pair::news`], as text.
    pub(super) fn told(&mut self) -> Vec<String> {
        self.news().iter().map(Packet::to_string).collect()
    }

    /// All that was sent, as text, for a test that fails.
    pub(super) fn tail(&self) -> String {
        let from = self.log.len().saturating_sub(40);
        let lines: Vec<_> = self.log[from..].iter().map(Packet::to_string).collect();
        lines.join("\n")
    }

    pub(super) fn run_for(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    pub(super) fn run_until(&mut self, end: Instant) {
        for step in 0.. {
            assert!(step < 1_000_000, "timers expire for ever\n{}", self.tail());
            self.settle();
            let arrival = self.in_flight.iter().map(|packet| packet.0).min();
            let timers = self.hosts.iter_mut().filter_map(|host| host.graph.next_timer());
            let Some(next) = timers.chain(arrival).min().filter(|&next| next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            for host in &mut self.hosts {
                host.graph.fire(self.now);
            }
            self.in_flight.sort_by_key(|packet| (packet.0, packet.1));
            while let Some(packet) = self.in_flight.first()
                && packet.0 <= self.now
            {
                let (at, _, to, unit) = self.in_flight.remove(0);
                let Host { graph, wire, .. } = &mut self.hosts[to];
                graph.input(at, *wire, Indication::Unit(Box::new(unit)));
            }
        }
        self.now = self.now.max(end);
    }

    fn settle(&mut self) {
        for from in 0..self.hosts.len() {
            let host = &mut self.hosts[from];
            while host.graph.waiting(host.task).is_some_and(|at| at <= self.now) {
                host.graph.run(host.task, self.now, self.batch);
            }
            while let Some(output) = self.hosts[from].graph.output() {
                match output.request {
                    Request::Unit(unit) => self.send(from, unit),
                    Request::Manage(manage) => self.answer(from, *manage),
                    other => panic!("unexpected {other:?}"),
                }
            }
        }
    }

    fn send(&mut self, from: usize, mut unit: Box<Unit>) {
        let octets = unit.data.to_vec();
        assert!(octets.len() <= self.unit as usize, "too long");
        let sum = covered(&octets, octets.len()).unwrap();
        assert!(Sum::of(&octets[..sum]).is_valid(), "bad checksum");
        let (header, len) = Header::parse(&octets, octets.len()).unwrap();
        assert_eq!(octets.len(), len + header.dlen as usize);
        let mut packet = Packet { at: self.now, from, to: from, header, payload: octets[len..].to_vec() };
        if unit.source == Address::NONE {
            unit.source = ip(from);
        }
        assert_eq!(unit.source, ip(from));
        if self.nameless {
            unit.source = Address::from(MacAddr([2, 0, 0, 0, 0, from as u8]));
        }
        let group = unit.destination.ip().is_some_and(|it| it.is_multicast());
        let to: Vec<usize> = if group {
            let members = self.members.iter();
            let of = members.filter(|it| it.1 == unit.destination && it.0 != from);
            of.map(|it| it.0).collect()
        } else {
            (0..self.hosts.len()).filter(|&host| ip(host) == unit.destination).collect()
        };
        self.astray += usize::from(to.is_empty());
        unit.options.group = group;
        for to in to {
            packet.to = to;
            for delay in (self.rule)(&packet) {
                self.order += 1;
                let mut unit = unit.clone();
                unit.data.forget_sums();
                self.in_flight.push((self.now + delay, self.order, to, *unit));
            }
        }
        self.log.push(packet);
        assert!(self.log.len() < 200_000, "endless\n{}", self.tail());
    }

    /// What the layer below has to say.
    fn answer(&mut self, from: usize, manage: Manage) {
        let (unit, burst) = (self.unit, 1);
        let report = if let Manage::Limits = manage {
            Report::Limits { unit, burst }
        } else if let Manage::Route { to } = manage {
            Report::Route { to, source: ip(from), unit, burst, bypass: None }
        } else if let Manage::Group { group, member } = manage {
            self.members.retain(|it| *it != (from, group));
            if member {
                self.members.push((from, group));
            }
            return;
        } else {
            return;
        };
        let Host { graph, wire, task, .. } = &mut self.hosts[from];
        graph.input(self.now, *wire, Indication::Report(Box::new(report)));
        graph.run(*task, self.now, 1);
    }
}

/// The octets of a packet, with length and checksum put in.
pub(super) fn octets_of(header: Header, payload: &[u8]) -> Vec<u8> {
    let header = Header { dlen: payload.len() as u32, check: 0, ..header };
    let mut octets = vec![0; LEN];
    header.emit(&mut octets);
    octets.extend(payload);
    let covered = covered(&octets, octets.len()).unwrap();
    let check = Sum::of(&octets[..covered]).checksum();
    octets[CHECK_OFFSET..CHECK_OFFSET + 2].copy_from_slice(&check.to_be_bytes());
    octets
}

pub(super) fn open(mode: Mode, local: Address, remote: Address) -> Request {
    Request::Open(Box::new(Open { mode, local, remote, parameters: Parameters::of(WithTags), ..Open::default() }))
}

/// Octets that tell their places.
pub(super) fn numbered(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n % 251) as u8).collect()
}
