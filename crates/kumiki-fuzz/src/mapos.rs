//! A MAPOS switch with four lines, and a node with IP whose line is free or is one of the switch's; the octets say
//! which frames come when, and what becomes of the lines.
//!
//! Nothing panics; no frame goes back where it came from or to more ports than there are; what is sent without having
//! come is right in the eyes of the analyser and bounded; so is what is held, and of what was learned nothing is left
//! in the end.

use core::net::Ipv4Addr;
use kumiki_link::sonet::Defect;
use kumiki_link::sonet::DefectReport;

use kumiki_decode::Decoder;
use kumiki_graph::{DeviceId, Duration, Graph, Indication, Instant, NodeId, Report, Request, Service, TaskId, Unit};
use kumiki_inet::icmp::{self, IcmpEcho};
use kumiki_inet::ip::{self, Interface, Ip, Neighbours};
use kumiki_octets::Message;
use kumiki_ppp::mapos::{self as resolver, Mapos};
use kumiki_ppp::mapos_switch::{self, MaposSwitch};
use kumiki_ppp::ppp::{self, Ppp};
use kumiki_ppp::sdh::{self, Sdh};
use kumiki_wire::ppp::mapos::arp::{self, Operation};
use kumiki_wire::ppp::mapos::ssp::{self, Entry, Metric};
use kumiki_wire::ppp::mapos::{Address, Header, Subnet, Width, nsp, protocol};

use crate::packet::{self, behind};
use crate::{Draw, Target, within_mb};

pub(crate) const TARGET: Target = Target {
    name: "mapos",
    title: "a MAPOS switch and a node, and any frames at any time",
    run: |octets| within_mb(64.0, || run(octets)),
};

const PORTS: usize = 4;
const ROUTES: usize = 8;
const OURS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// Frames that may go out because of one thing: a table to each neighbour, and what waited for a next hop.
const MOST_AT_ONCE: usize = 100;

struct Network {
    graph: Graph,
    task: TaskId,
    now: Instant,
    width: Width,
    subnet: Subnet,
    /// Those of the switch, then the node's.
    devices: Vec<DeviceId>,
    /// Whether the node is at the switch's last port.
    joined: bool,
    switch: NodeId,
    resolver: NodeId,
    judge: Decoder,
    /// What was sent last.
    last: Vec<Vec<u8>>,
}

fn run(octets: &[u8]) {
    let mut draw = Draw::new(octets);
    let mut network = network(draw.octet());
    for _ in 0..200 {
        if draw.is_empty() {
            break;
        }
        network.step(&mut draw);
    }
    network.end();
}

fn network(how: u8) -> Network {
    let width = if how & 1 == 0 { Width::Eight } else { Width::Sixteen };
    let subnet = Subnet::new(width, 3).unwrap();
    let mut graph = Graph::new(1, 0);
    let task = graph.add_task("all");
    let names = ["p0", "p1", "p2", "p3", "line"];
    let devices = names.map(|name| graph.add_device(name, Service::FRAME).unwrap());
    let mut config = mapos_switch::Config::new(subnet, 3);
    config.routes = ROUTES;
    let switch = MaposSwitch::new(config).unwrap();
    let switch = graph.add_node("switch", task, Box::new(switch)).unwrap();
    let driver = sdh::Config { width, ..sdh::Config::default() };
    let driver = Sdh::new(driver).unwrap();
    graph.add_node("sdh", task, Box::new(driver)).unwrap();
    let mut config = resolver::Config::new(OURS);
    (config.max_entries, config.queue) = (8, 4);
    let mapos = Mapos::new(config).unwrap();
    let resolver = graph.add_node("mapos", task, Box::new(mapos)).unwrap();
    let mut config =
        ip::Config::host(Interface { neighbours: Neighbours::Below, mtu: 1500, ..Interface::new("mapos", OURS, 24) });
    // With PPP on the same line.
    let with_ppp = how & 4 != 0;
    if with_ppp {
        let own = Ipv4Addr::new(10, 1, 0, 1);
        config.interfaces.push(Interface::new("ppp", own, 24));
        let driver = Ppp::new(ppp::Config::default());
        graph.add_node("ppp", task, Box::new(driver)).unwrap();
    }
    let ip = Ip::new(config).unwrap();
    graph.add_node("ip", task, Box::new(ip)).unwrap();
    let echo = IcmpEcho::new(icmp::Config::default());
    graph.add_node("icmp", task, Box::new(echo)).unwrap();
    let mut joints = vec![
        ("switch", "p0"),
        ("switch", "p1"),
        ("switch", "p2"),
        ("switch", "p3"),
        ("sdh", "line"),
        ("mapos", "sdh"),
        ("ip", "mapos"),
    ];
    if with_ppp {
        joints.extend([("ppp", "sdh"), ("ip", "ppp")]);
    }
    joints.push(("icmp", "ip"));
    for (upper, lower) in joints {
        graph.connect(upper, lower).unwrap();
    }
    graph.start(Instant::ZERO).unwrap();
    let mut network = Network {
        graph,
        task,
        now: Instant::ZERO,
        width,
        subnet,
        devices: devices.to_vec(),
        joined: how & 2 != 0,
        switch,
        resolver,
        judge: Decoder::new(),
        last: Vec::new(),
    };
    network.settle(None);
    network
}

impl Network {
    fn step(&mut self, draw: &mut Draw<'_>) {
        let what = draw.octet();
        let at = usize::from(what >> 4) % self.devices.len();
        let local = Address::local_control(self.width);
        let all = Address::broadcast(self.width);
        match what % 12 {
            0 => {
                let len = draw.octet();
                let octets = draw.take(len.into()).to_vec();
                self.receive(at, &octets);
            }
            1 => {
                let to = self.any_address(draw);
                let number = [0x0021, 0xc021, 0xfe01, draw.word()][draw.below(4)];
                let len = draw.octet();
                let octets = draw.take(len.into()).to_vec();
                self.frame(at, to, number, &octets);
            }
            2 => {
                let address = draw.long() & 0xff7f;
                let command = [nsp::Command::Request, nsp::Command::Assignment, nsp::Command::Reject][draw.below(3)];
                let packet = emitted(nsp::LEN, |out| nsp::Header { command, address }.emit(out));
                let to = match draw.below(3) {
                    0 => local,
                    1 => Address::new(self.width, address).unwrap_or(local),
                    _ => self.any_address(draw),
                };
                self.frame(at, to, protocol::NSP, &packet);
            }
            3..=5 => {
                let entries = (0..=draw.below(12)).map(|_| self.entry(draw));
                let entries: Vec<Entry> = entries.collect();
                let packet = table(ssp::Command::Response, &entries);
                self.frame(at, local, protocol::SSP, &packet);
            }
            6 => {
                let packet = table(ssp::Command::Request, &[Entry::WHOLE_TABLE]);
                self.frame(at, local, protocol::SSP, &packet);
            }
            7 => {
                let [operation, sender, target, last] = draw.array();
                let header = arp::Header {
                    operation: match operation % 4 {
                        0 => Operation::Request,
                        1 => Operation::Response,
                        2 => Operation::Unarp,
                        _ => Operation::from(u16::from(operation)),
                    },
                    sender: sender.into(),
                    sender_ip: Ipv4Addr::new(10, 0, 0, last),
                    target: target.into(),
                    target_ip: OURS,
                };
                let packet = emitted(arp::LEN, |out| header.emit(out));
                self.frame(at, all, protocol::ARP, &packet);
            }
            // An echo to answer, from anybody.
            8 => {
                let mut front = vec![0x45, 0, 0, 20, 0, 1, 0, 0, 64, 1, 0, 0];
                front.extend(Ipv4Addr::new(10, 0, 0, draw.octet()).octets());
                front.extend(OURS.octets());
                let octets = behind(&front, 1, &[8, 0, 0, 0, 0, 1, 0, 1]);
                let to = self.any_address(draw);
                let to = if draw.below(2) == 0 { all } else { to };
                self.frame(at, to, protocol::IPV4, &octets);
            }
            9 => {
                let present = what & 0x10 != 0;
                let defects = [Defect::Los, Defect::PathAis, Defect::MsRdi, Defect::PathRdi];
                let report = match draw.below(6) {
                    0 => Report::Up,
                    1 => Report::Down,
                    which => Report::special(DefectReport { defect: defects[which - 2], present }),
                };
                let report = Indication::Report(Box::new(report));
                self.graph.input(self.now, self.devices[at], report);
                self.settle(None);
            }
            10 => {
                let from = draw.below(self.last.len());
                if let Some(mut octets) = self.last.get(from).cloned() {
                    let flipped = draw.below(octets.len());
                    octets[flipped] ^= draw.octet();
                    self.receive(at, &octets);
                }
            }
            _ => self.pass(Duration::from_millis(draw.word().into())),
        }
    }

    /// Any address; mostly of switches that there may be.
    fn any_address(&self, draw: &mut Draw<'_>) -> Address {
        let port = 2 * u16::from(draw.octet() % 8) + 1;
        let some = self.subnet.address(u16::from(draw.octet() % 8), port);
        let any = Address::new(self.width, draw.word().into());
        let group = Address::of_ipv4_group(self.width, PEER);
        match draw.below(4) {
            0 => Address::broadcast(self.width),
            1 => group,
            2 => some.or(any).unwrap_or(group),
            _ => any.unwrap_or(group),
        }
    }

    fn entry(&self, draw: &mut Draw<'_>) -> Entry {
        let [odd, number, metric] = draw.array();
        if odd == 0xff {
            return Entry {
                afi: draw.word() % 4,
                address: draw.long(),
                mask: draw.long(),
                metric: Metric(draw.long()),
            };
        }
        let bits = if odd & 0xe0 == 0 { odd % 6 } else { 3 };
        let subnet = Subnet::new(self.width, bits).unwrap();
        Entry::from(ssp::Route { subnet, switch: number.into(), metric: Metric(u32::from(metric % 40)) })
    }

    fn frame(&mut self, at: usize, to: Address, number: u16, information: &[u8]) {
        let header = Header { destination: to, protocol: number };
        let mut octets = emitted(header.len(), |out| header.emit(out));
        octets.extend(information);
        self.receive(at, &octets);
    }

    /// Lets a frame come in at a device; it may not leave there.
    fn receive(&mut self, at: usize, octets: &[u8]) {
        if self.joined && at >= PORTS - 1 {
            return;
        }
        let data = Message::from_octets(octets);
        let unit = Indication::Unit(Box::new(Unit::of(data)));
        self.graph.input(self.now, self.devices[at], unit);
        self.settle(Some((at, octets)));
    }

    /// Lets everything happen that follows, and looks at it; `came` is what came in.
    fn settle(&mut self, came: Option<(usize, &[u8])>) {
        let mut sent = 0;
        loop {
            while self.graph.waiting(self.task).is_some() {
                self.graph.run(self.task, self.now, 1);
            }
            let Some(output) = self.graph.output() else {
                break;
            };
            let Request::Unit(unit) = output.request else {
                continue;
            };
            sent += 1;
            assert!(sent <= MOST_AT_ONCE, "{sent} frames at once");
            let octets = unit.data.to_vec();
            let mut devices = self.devices.iter();
            let at = devices.position(|it| *it == output.device).unwrap();
            self.look(at, &octets, came);
            let peer = match at {
                _ if !self.joined => None,
                3 => Some(4),
                4 => Some(3),
                _ => None,
            };
            if let Some(peer) = peer {
                let unit = Indication::Unit(Box::new(Unit::of(Message::from_octets(&octets))));
                self.graph.input(self.now, self.devices[peer], unit);
            }
        }
        let switch: &MaposSwitch = self.graph.protocol(self.switch).unwrap();
        assert!(switch.routes().count() <= ROUTES);
        for (route, port) in switch.routes() {
            assert!(route.metric <= Metric::UNREACHABLE);
            assert_eq!(port.is_none(), route.metric == Metric::LOCAL);
        }
        let resolver: &Mapos = self.graph.protocol(self.resolver).unwrap();
        let (entries, waiting) = resolver.held();
        assert!(entries <= 8 && waiting <= 8 * 4);
    }

    fn look(&mut self, at: usize, octets: &[u8], came: Option<(usize, &[u8])>) {
        let layer = match self.width {
            Width::Eight => "mapos",
            Width::Sixteen => "mapos-16",
        };
        // What is for a control processor is never sent on; the same words may be said back, as that a switch cannot be
        // reached.
        let local = Address::local_control(self.width);
        let header = Header::parse(self.width, octets).ok();
        let said = at == PORTS || header.is_some_and(|(header, _)| header.destination == local);
        let as_it_came = came.filter(|(_, came)| !said && *came == octets);
        match as_it_came {
            Some((from, _)) => assert!(from != at, "{octets:02x?} goes back"),
            None if self.is_ppp(octets) => {}
            None => packet::check(&mut self.judge, layer, octets, "sent"),
        }
        if self.last.len() == 8 {
            self.last.remove(0);
        }
        self.last.push(octets.to_vec());
    }

    fn is_ppp(&self, octets: &[u8]) -> bool {
        self.width == Width::Sixteen && octets.starts_with(&[0xff, 3])
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        for step in 0.. {
            assert!(step < 10_000, "timers expire for ever");
            let Some(due) = self.graph.next_timer().filter(|due| *due <= until) else {
                break;
            };
            self.now = self.now.max(due);
            self.graph.fire(self.now);
            self.settle(None);
        }
        self.now = until;
    }

    /// Nobody says anything any more.
    fn end(&mut self) {
        self.pass(Duration::from_secs(600));
        let switch: &MaposSwitch = self.graph.protocol(self.switch).unwrap();
        assert_eq!(switch.routes().count(), 1);
        let nodes = usize::from(self.joined);
        assert!(switch.spreads_to().count() <= nodes);
    }
}

fn emitted(len: usize, emit: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut octets = vec![0; len];
    emit(&mut octets);
    octets
}

fn table(command: ssp::Command, entries: &[Entry]) -> Vec<u8> {
    let mut octets = emitted(ssp::LEN, |out| ssp::Header { command }.emit(out));
    for entry in entries {
        octets.extend(emitted(ssp::ENTRY_LEN, |out| entry.emit(out)));
    }
    octets
}
