//! Two hosts, each an application on TCP, and a wire between them that does what the test says. They speak the version of IP
//! that the module above says: this file is compiled once for each.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::collections::VecDeque;

use kumiki_graph::*;
use kumiki_octets::Message;
use kumiki_wire::ipv4::Ecn as Codepoint;
use kumiki_wire::tcp::{Flags, Header, Seq};

use super::IPV6;
use crate::tcp::{Config, Counters, Tcp, defaults};

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

/// An application that does as it is told, and writes down what it hears.
#[derive(Default)]
pub(super) struct App {
    /// Requests to make when poked.
    pub(super) todo: Vec<Request>,
    pub(super) heard: Vec<String>,
    pub(super) received: Vec<u8>,
    pub(super) pushes: usize,
    /// The provider's handle of the connection, and of the passive open.
    pub(super) session: Option<Handle>,
    pub(super) listener: Option<Handle>,
    pub(super) offers: Vec<Handle>,
    pub(super) credit: u64,
    pub(super) outbox: VecDeque<Message>,
    /// Wait with each write until there is credit for all of it.
    pub(super) whole_writes: bool,
    pub(super) release_when_sent: bool,
    pub(super) release_when_released: bool,
    /// Do not take received data, and do not take offers.
    pub(super) idle: bool,
    pub(super) refuse_offers: bool,
    pub(super) over: bool,
}

impl App {
    fn pump(&mut self, cx: &mut Context<'_>) {
        let Some(session) = self.session else {
            return;
        };
        while self.credit > 0 {
            let Some(mut data) = self.outbox.pop_front() else {
                break;
            };
            let len = data.len() as u64;
            if len > self.credit {
                if self.whole_writes {
                    self.outbox.push_front(data);
                    break;
                }
                let front = data.split_to(self.credit as usize).unwrap();
                self.outbox.push_front(core::mem::replace(&mut data, front));
            }
            self.credit -= data.len() as u64;
            let end = true;
            cx.down(Below(0), Request::Data { session, data, end });
        }
        if self.release_when_sent && self.outbox.is_empty() {
            self.release_when_sent = false;
            cx.down(
                Below(0),
                Request::Release {
                    session,
                    data: None,
                },
            );
        }
    }
}

impl Protocol for App {
    fn shape(&self) -> Shape {
        Shape {
            offers: None,
            needs: &[Service::Stream, Service::Frame],
            below: (2, 2),
            keys: Vec::new(),
        }
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
        if from == Below(1) {
            for request in core::mem::take(&mut self.todo) {
                cx.down(Below(0), request);
            }
            self.pump(cx);
            return;
        }
        match indication {
            Indication::Opened(opened) => {
                if opened.remote == Address::None {
                    self.listener = Some(opened.provider);
                } else {
                    self.heard.push("opened".into());
                    self.session = Some(opened.provider);
                }
            }
            Indication::Offered(offered) => {
                self.heard.push("offered".into());
                self.offers.push(offered.provider);
                let session = offered.provider;
                if self.refuse_offers {
                    let reason = Reason::User;
                    cx.down(
                        Below(0),
                        Request::Abort {
                            session,
                            reason,
                            data: None,
                        },
                    );
                } else if !self.idle {
                    self.session = Some(session);
                    cx.down(Below(0), accept(session));
                }
            }
            Indication::Data { data, end, .. } => {
                let credit = Credit::octets(data.len() as u64);
                self.received.extend(data.to_vec());
                self.pushes += usize::from(end);
                if !self.idle {
                    let session = self.session.unwrap();
                    cx.down(Below(0), Request::Credit { session, credit });
                }
            }
            Indication::Credit { credit, .. } => {
                self.credit += credit.octets;
                self.pump(cx);
            }
            Indication::Released { .. } => {
                self.heard.push("released".into());
                if self.release_when_released {
                    self.outbox.clear();
                    let session = self.session.unwrap();
                    cx.down(
                        Below(0),
                        Request::Release {
                            session,
                            data: None,
                        },
                    );
                }
            }
            Indication::Closed { .. } => {
                self.over = true;
                self.heard.push("closed".into());
            }
            Indication::Aborted { reason, .. } => {
                self.over = true;
                self.heard.push(format!("aborted: {reason:?}"));
            }
            Indication::Urgent { ahead, .. } => {
                let at = self.received.len();
                self.heard.push(format!("urgent: {ahead} after {at}"));
            }
            Indication::Notice { notice, .. } => self.heard.push(format!("notice: {notice:?}")),
            Indication::Unit(_)
            | Indication::Expedited { .. }
            | Indication::Reset { .. }
            | Indication::Report(_) => panic!("unexpected {indication:?}"),
        }
    }
}

pub(super) struct Host {
    pub(super) graph: Graph,
    task: TaskId,
    wire: DeviceId,
    control: DeviceId,
}

/// A segment on the wire.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) at: Instant,
    /// Counted from 0 over both directions.
    pub(super) number: usize,
    pub(super) from: usize,
    pub(super) header: Header,
    /// The ECN field of its IP header.
    pub(super) ecn: Codepoint,
    /// Where a device is to cut it: octets of each piece, and whether its ECN flags are a counter.
    pub(super) cut: (u16, bool),
    /// Relative to the sender's and the receiver's first sequence number.
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) text: Vec<u8>,
    /// Octets of the IP packet, and whether it must not be fragmented.
    pub(super) size: u32,
    pub(super) whole: bool,
}

impl Packet {
    pub(super) fn has(&self, flags: Flags) -> bool {
        self.header.flags.contains(flags)
    }
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }
}

/// For example `0.010 a S 0:0(0) win 65535 <mss 1460>`.
impl core::fmt::Display for Packet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let ns = self.at.as_nanos();
        let who = if self.from == A { 'a' } else { 'b' };
        let flags: String = [
            (Flags::SYN, 'S'),
            (Flags::FIN, 'F'),
            (Flags::RST, 'R'),
            (Flags::PSH, 'P'),
            (Flags::URG, 'U'),
            (Flags::ACK, '.'),
        ]
        .iter()
        .filter(|(flag, _)| self.has(*flag))
        .map(|(_, letter)| *letter)
        .collect();
        let (seq, len) = (self.seq, self.len());
        let end = seq.wrapping_add(len as u32);
        write!(
            f,
            "{}.{:03} {who} {flags} {seq}:{end}({len})",
            ns / 1_000_000_000,
            ns / 1_000_000 % 1000
        )?;
        if self.has(Flags::ACK) {
            write!(f, " ack {}", self.ack)?;
        }
        write!(f, " win {}", self.header.window)
    }
}

/// When copies of a packet arrive: none, one or several delays.
pub(super) type Fate = Vec<Duration>;
type Rule = Box<dyn FnMut(&Packet) -> Fate>;
/// What the path changes in the ECN field and in TCP's header.
type Path = Box<dyn FnMut(&mut Packet)>;

/// A link on the way that carries no more than `mtu` octets.
#[derive(Clone, Copy)]
pub(super) struct Narrow {
    pub(super) mtu: u32,
    /// After so long the sender is told by ICMP.
    pub(super) tells: Option<Duration>,
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
    /// What the layers below will say, when and to whom.
    reports: Vec<(Instant, usize, Report)>,
}

fn host(config: Config, number: u64, seed: u64) -> Host {
    let mut graph = Graph::new(seed, number);
    let task = graph.add_task("host");
    let mut config = config;
    config.address = of_host(number as usize);
    graph
        .add_node("app", task, Box::new(App::default()))
        .unwrap();
    graph
        .add_node("tcp", task, Box::new(Tcp::new(config)))
        .unwrap();
    let wire = graph.add_device("wire", Service::UnitData).unwrap();
    let control = graph.add_device("control", Service::Frame).unwrap();
    graph.connect("app", "tcp").unwrap();
    graph.connect("app", "control").unwrap();
    graph.connect("tcp", "wire").unwrap();
    graph.start(Instant::ZERO).unwrap();
    Host {
        graph,
        task,
        wire,
        control,
    }
}

pub(super) fn address(host: usize, port: u16) -> Address {
    Address::from(SocketAddr::new(of_host(host), port))
}

fn of_host(host: usize) -> IpAddr {
    let low = 1 + host as u8;
    if IPV6 {
        Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, low.into()).into()
    } else {
        Ipv4Addr::new(10, 0, 0, low).into()
    }
}

/// Simple: exact buffers, no options, as little as possible that a test does not ask for.
pub(super) fn plain() -> Config {
    Config {
        mss: Some(1000),
        send_buffer: 64_000,
        receive_buffer: 64_000,
        send_buffer_most: 0,
        receive_buffer_most: 0,
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

    pub(super) fn with_rule(
        a: Config,
        b: Config,
        rule: impl FnMut(&Packet) -> Fate + 'static,
    ) -> Self {
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
            reports: Vec::new(),
        }
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

    pub(super) fn counters(&self, host: usize) -> Counters {
        *self.tcp(host).counters()
    }

    /// Lets the application make `requests` and send what is in its outbox.
    pub(super) fn ask(&mut self, host: usize, requests: Vec<Request>) {
        self.app(host).todo.extend(requests);
        let Host { graph, control, .. } = &mut self.hosts[host];
        graph.input(self.now, *control, Indication::Unit(Unit::default()));
        self.run_until(self.now);
    }

    pub(super) fn listen(&mut self, host: usize, backlog: u32) {
        let open = open(Mode::Passive { backlog }, Address::None, PORT);
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
        self.app(host)
            .outbox
            .push_back(Message::from_octets(octets));
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
        self.ask(
            host,
            vec![Request::Release {
                session,
                data: None,
            }],
        );
    }

    pub(super) fn abort(&mut self, host: usize) {
        let session = self.app(host).session.unwrap();
        let reason = Reason::User;
        self.ask(
            host,
            vec![Request::Abort {
                session,
                reason,
                data: None,
            }],
        );
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
        let unit = Unit {
            source,
            destination: ip(host),
            data,
            ..Unit::default()
        };
        self.deliver_unit(host, unit);
    }

    pub(super) fn deliver_unit(&mut self, host: usize, unit: Unit) {
        let Host { graph, wire, .. } = &mut self.hosts[host];
        graph.input(self.now, *wire, Indication::Unit(unit));
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
        let options = kumiki_wire::tcp::Options::NONE;
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

    pub(super) fn run_for(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    pub(super) fn run_until(&mut self, end: Instant) {
        for step in 0.. {
            assert!(step < 1_000_000, "timers expire for ever");
            self.settle();
            let reports = self.reports.iter().map(|report| report.0);
            let arrival = self.in_flight.iter().map(|packet| packet.0);
            let arrival = arrival.chain(reports).min();
            let timers = self
                .hosts
                .iter_mut()
                .filter_map(|host| host.graph.next_timer());
            let Some(next) = timers.chain(arrival).min().filter(|&next| next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            for host in &mut self.hosts {
                host.graph.fire(self.now);
            }
            self.in_flight.sort_by_key(|packet| (packet.0, packet.1));
            while self
                .in_flight
                .first()
                .is_some_and(|packet| packet.0 <= self.now)
            {
                let (at, _, to, unit) = self.in_flight.remove(0);
                let Host { graph, wire, .. } = &mut self.hosts[to];
                graph.input(at, *wire, Indication::Unit(unit));
            }
            let now = self.now;
            for (at, to, report) in self.reports.extract_if(.., |report| report.0 <= now) {
                let Host { graph, wire, .. } = &mut self.hosts[to];
                graph.input(at, *wire, Indication::Report(Box::new(report)));
            }
        }
        self.now = self.now.max(end);
    }

    fn settle(&mut self) {
        for from in [A, B] {
            let host = &mut self.hosts[from];
            while host
                .graph
                .waiting(host.task)
                .is_some_and(|at| at <= self.now)
            {
                host.graph.run(host.task, self.now, self.batch);
            }
            while let Some(output) = self.hosts[from].graph.output() {
                if let Request::Unit(unit) = output.request {
                    self.send(from, unit);
                } else if let Request::Manage(manage) = output.request {
                    self.answer(from, *manage);
                }
            }
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
            Manage::Route { to } => Report::Route {
                to,
                source: ip(from),
                unit,
                burst,
            },
            Manage::Refuse { .. }
            | Manage::Session { .. }
            | Manage::Advise { .. }
            | Manage::Narrow { .. } => return,
        };
        let Host {
            graph, wire, task, ..
        } = &mut self.hosts[from];
        graph.input(self.now, *wire, Indication::Report(Box::new(report)));
        graph.run(*task, self.now, 1);
    }

    fn send(&mut self, from: usize, mut unit: Unit) {
        let host = |host| unit.destination == ip(host);
        if !host(A) && !host(B) {
            self.strays += 1;
            return;
        }
        let to = if host(A) { A } else { B };
        // MUST-45.
        assert_eq!(unit.source, ip(from));
        let octets = unit.data.to_vec();
        let (header, len) = Header::parse(&octets, octets.len()).unwrap();
        if header.flags.contains(Flags::SYN) {
            self.first[from] = Some(header.seq);
        }
        let base = |at: usize| self.first[at].unwrap_or_default();
        let packet = Packet {
            at: self.now,
            number: self.log.len(),
            from,
            header,
            ecn: Codepoint::from_bits(unit.options.tos),
            cut: (unit.data.meta().segment_size, unit.data.meta().ace),
            seq: header.seq - base(from),
            ack: header.ack - base(1 - from),
            text: octets[len..].to_vec(),
            size: octets.len() as u32 + IP,
            whole: unit.options.dont_fragment,
        };
        let options = unit.options;
        self.travelled.push((from, options.ttl, options.tos));
        self.ways.push(unit.route.take());
        unit.route = match &self.return_route {
            Some((sender, route)) if *sender == from => Some(Box::new(route.clone())),
            _ => None,
        };
        let mut rewritten = false;
        if let Some(path) = &mut self.path {
            let mut changed = packet.clone();
            path(&mut changed);
            unit.options.tos = unit.options.tos & !3 | changed.ecn.bits();
            if changed.header != packet.header {
                let mut octets = vec![0; changed.header.len()];
                changed.header.emit(&mut octets);
                octets.extend(&changed.text);
                unit.data = Message::from_octets(&octets);
                rewritten = true;
            }
        }
        let narrow = self
            .narrow
            .filter(|link| packet.whole && packet.size > link.mtu);
        if let Some(Narrow { mtu, tells }) = narrow {
            let report = Report::Unreachable {
                source: ip(from),
                destination: ip(to),
                problem: Problem::TooBig { mtu },
                start: Message::from_octets(&octets[..8]),
            };
            self.reports
                .extend(tells.map(|after| (self.now + after, from, report)));
            self.log.push(packet);
            return;
        }
        for delay in (self.rule)(&packet) {
            self.order += 1;
            let mut unit = unit.clone();
            unit.data.forget_sums();
            if rewritten {
                unit.data.meta_mut().checksum = kumiki_octets::Checksum::Verified;
            }
            self.in_flight
                .push((self.now + delay, self.order, to, unit));
        }
        self.log.push(packet);
        if self.log.len() > 100_000 {
            let tail: Vec<String> = self.log[99_960..].iter().map(Packet::to_string).collect();
            panic!("endless\n{}", tail.join("\n"));
        }
    }

    /// The segments since the last time, as text.
    pub(super) fn taken_log(&mut self) -> Vec<String> {
        let from = core::mem::replace(&mut self.shown, self.log.len());
        self.log[from..].iter().map(Packet::to_string).collect()
    }
}

pub(super) fn ip(host: usize) -> Address {
    of_host(host).into()
}

fn anywhere() -> IpAddr {
    if IPV6 {
        Ipv6Addr::UNSPECIFIED.into()
    } else {
        Ipv4Addr::UNSPECIFIED.into()
    }
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
    }))
}

/// Octets that tell their places.
pub(super) fn numbered(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n % 251) as u8).collect()
}
