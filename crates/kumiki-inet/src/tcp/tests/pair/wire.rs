//! What goes over the wire, and the time that passes meanwhile.

use kumiki_graph::*;
use kumiki_octets::Message;
use kumiki_wire::inet::IpParameters;
use kumiki_wire::inet::ipv4::Ecn as Codepoint;
use kumiki_wire::inet::tcp::{Flags, Header};

use super::{A, B, Host, IP, Pair, ip};

/// A segment on the wire.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Packet {
    pub(crate) at: Instant,
    /// Counted from 0 over both directions.
    pub(crate) number: usize,
    pub(crate) from: usize,
    pub(crate) header: Header,
    /// The ECN field of its IP header.
    pub(crate) ecn: Codepoint,
    /// Where a device is to cut it: octets of each piece, and whether its ECN flags are a counter.
    pub(crate) cut: (u16, bool),
    /// Relative to the sender's and the receiver's first sequence number.
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) text: Vec<u8>,
    /// Octets of the IP packet, and whether it must not be fragmented.
    pub(crate) size: u32,
    pub(crate) whole: bool,
}

impl Packet {
    pub(crate) fn has(&self, flags: Flags) -> bool {
        self.header.flags.contains(flags)
    }
    pub(crate) fn len(&self) -> usize {
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
        write!(f, "{}.{:03} {who} {flags} {seq}:{end}({len})", ns / 1_000_000_000, ns / 1_000_000 % 1000)?;
        if self.has(Flags::ACK) {
            write!(f, " ack {}", self.ack)?;
        }
        write!(f, " win {}", self.header.window)
    }
}

/// When copies of a packet arrive: none, one or several delays.
pub(crate) type Fate = Vec<Duration>;
pub(super) type Rule = Box<dyn FnMut(&Packet) -> Fate>;
/// What the path changes in the ECN field and in TCP's header.
pub(super) type Path = Box<dyn FnMut(&mut Packet)>;

/// A link on the way that carries no more than `mtu` octets.
#[derive(Clone, Copy)]
pub(crate) struct Narrow {
    pub(crate) mtu: u32,
    /// After so long the sender is told by ICMP.
    pub(crate) tells: Option<Duration>,
}

impl Host {
    /// When its CPU takes the next input that waits.
    fn goes_on(&self) -> Option<Instant> {
        self.graph.waiting(self.task).map(|at| at.max(self.busy))
    }
}

impl Pair {
    pub(crate) fn run_for(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    pub(crate) fn run_until(&mut self, end: Instant) {
        for step in 0.. {
            assert!(step < 1_000_000, "timers expire for ever");
            self.settle();
            let reports = self.reports.iter().map(|report| report.0);
            let arrival = self.in_flight.iter().map(|packet| packet.0);
            let arrival = arrival.chain(reports).min();
            let due = self
                .hosts
                .iter_mut()
                .filter_map(|host| host.graph.next_timer().into_iter().chain(host.goes_on()).min());
            let Some(next) = due.chain(arrival).min().filter(|&next| next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            for host in &mut self.hosts {
                host.graph.fire(self.now);
            }
            self.in_flight.sort_by_key(|packet| (packet.0, packet.1));
            while self.in_flight.first().is_some_and(|packet| packet.0 <= self.now) {
                let (at, _, to, unit) = self.in_flight.remove(0);
                let Host { graph, wire, .. } = &mut self.hosts[to];
                graph.input(at, *wire, Indication::Unit(Box::new(unit)));
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
            while host.goes_on().is_some_and(|at| at <= self.now) {
                host.busy = self.now + host.graph.run(host.task, self.now, self.batch).took;
            }
            while let Some(output) = self.hosts[from].graph.output() {
                if let Request::Unit(unit) = output.request {
                    self.send(from, *unit);
                } else if let Request::Manage(manage) = output.request {
                    self.answer(from, *manage);
                }
            }
        }
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
        if self.unheard {
            return;
        }
        let octets = unit.data.to_vec();
        let (header, len) = Header::parse(&octets, octets.len()).unwrap();
        if header.flags.contains(Flags::SYN) {
            self.first[from] = Some(header.seq);
        }
        let base = |at: usize| self.first[at].unwrap_or_default();
        let options = IpParameters::from(unit.options.special);
        let packet = Packet {
            at: self.now,
            number: self.log.len(),
            from,
            header,
            ecn: Codepoint::from_bits(options.tos),
            cut: (unit.data.meta().segment_size, unit.data.meta().ace),
            seq: header.seq - base(from),
            ack: header.ack - base(1 - from),
            text: octets[len..].to_vec(),
            size: octets.len() as u32 + IP,
            whole: options.dont_fragment,
        };
        self.travelled.push((from, options.ttl, options.tos));
        self.ways.push(unit.parameters.take());
        unit.parameters = match &self.return_route {
            Some((sender, route)) if *sender == from => Parameters::of(route.clone()),
            _ => Parameters::NONE,
        };
        let mut rewritten = false;
        if let Some(path) = &mut self.path {
            let mut changed = packet.clone();
            path(&mut changed);
            unit.options.special = IpParameters { tos: options.tos & !3 | changed.ecn.bits(), ..options }.into();
            if changed.header != packet.header {
                let mut octets = vec![0; changed.header.len()];
                changed.header.emit(&mut octets);
                octets.extend(&changed.text);
                unit.data = Message::from_octets(&octets);
                rewritten = true;
            }
        }
        let narrow = self.narrow.filter(|link| packet.whole && packet.size > link.mtu);
        if let Some(Narrow { mtu, tells }) = narrow {
            let report = Report::Unreachable {
                source: ip(from),
                destination: ip(to),
                problem: Problem::TooBig { mtu },
                start: Message::from_octets(&octets[..8]),
            };
            self.reports.extend(tells.map(|after| (self.now + after, from, report)));
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
            self.in_flight.push((self.now + delay, self.order, to, unit));
        }
        self.log.push(packet);
        if self.log.len() > 100_000 {
            let tail: Vec<String> = self.log[99_960..].iter().map(Packet::to_string).collect();
            panic!("endless\n{}", tail.join("\n"));
        }
    }

    /// The segments since the last time, as text.
    pub(crate) fn taken_log(&mut self) -> Vec<String> {
        let from = core::mem::replace(&mut self.shown, self.log.len());
        self.log[from..].iter().map(Packet::to_string).collect()
    }
}
