//! A switch of X.25 with a port of packets, one of an interface of Linux's and one over XOT, and any octets from all
//! three: half of the target "circuits".
//!
//! Who is at the other end of a port confirms as a peer would, or not at all; it calls, sets permanent circuits up,
//! sends packets of every type and any octets. Few packets go out for each that comes, calls are bounded, and when all
//! links are gone only the permanent circuits are left.

use kumiki_graph::{
    DeviceId, Duration, Graph, Indication, Instant, NodeId, Report, Request, Service, TaskId, Token, Unit,
};
use kumiki_octets::Message;
use kumiki_osi_service::x25::Number;
use kumiki_wire::x25::x25::Packet;
use kumiki_x25::x25::{Config, PacketCarrier, Ranges, Role, X25};
use kumiki_x25::x25_iface::X25Iface;
use kumiki_x25::x25_switch::{self, CLOSE, CircuitEnd, Route, Switch};
use kumiki_x25::xot::{self, Permanent, Xot};

use crate::Draw;
use crate::circuits::answer;
use crate::passing::Passing;
use crate::wires::{WireAction, Wires};

/// After so long without any link everybody has given up.
const LONG: Duration = Duration::from_secs(2 * 3600);
/// Packets that go out for one that comes, or in the time that passes at once: all that waits for a window, a reset of
/// each circuit, and what timers add.
const MOST_ANSWERS: usize = 2000;
/// The most calls.
const MOST: u32 = 6;
/// Permanent circuits: from the packets to XOT, and from the interface to XOT.
const CIRCUITS: usize = 2;
/// Their halves on all ports.
const HALVES: u32 = 4;

struct Exchange {
    graph: Graph,
    task: TaskId,
    now: Instant,
    /// Of the packets, and of the interface.
    devices: [DeviceId; 2],
    wires: NodeId,
    switch: NodeId,
    /// What is to be answered, by port: a packet, and on XOT its connection.
    heard: Vec<(usize, usize, Vec<u8>)>,
    /// Octets of each connection that are no whole packet yet.
    parts: Vec<Vec<u8>>,
}

fn place(port: &str, channel: u16) -> CircuitEnd {
    CircuitEnd { port: port.to_owned(), channel }
}

fn route(prefix: &str, to: &[&str], back: bool) -> Route {
    Route {
        prefix: Number::or_none(prefix).unwrap(),
        to: to.iter().map(|it| (*it).to_owned()).collect(),
        back,
        ..Route::default()
    }
}

fn circuit(channel: u16, calls: bool) -> Permanent {
    Permanent {
        channel,
        interface: "S0".to_owned(),
        peer_interface: "S1".to_owned(),
        peer_channel: channel,
        peer: calls.then(|| "10.0.0.1:1998".parse().unwrap()),
        window: 2,
        packet: 7,
    }
}

impl Passing for Exchange {
    fn parts(&mut self) -> (&mut Graph, &mut Instant) {
        (&mut self.graph, &mut self.now)
    }

    fn settle(&mut self) {
        self.run();
    }
}

impl Exchange {
    fn new(how: u8) -> Self {
        let mut graph = Graph::new(u64::from(how), 0);
        let task = graph.add_task("cpu");
        let devices = ["packets", "interface"].map(|name| graph.add_device(name, Service::UNIT_DATA).unwrap());
        let wires = graph.add_node("wires", task, Box::new(Wires::default()));
        let wires = wires.unwrap();
        graph.add_node("iface", task, Box::new(X25Iface::default())).unwrap();
        let it = Xot::new(xot::Config {
            routes: vec![(Number::NONE, "10.0.0.1:1998".parse().unwrap())],
            permanent: vec![circuit(1, how & 2 != 0), circuit(2, how & 4 != 0)],
            ..xot::Config::default()
        });
        graph.add_node("xot", task, Box::new(it)).unwrap();
        for (name, over) in [("p", PacketCarrier::Frames), ("i", PacketCarrier::Frames), ("x", PacketCarrier::Circuits)]
        {
            let dte = name == "i" && how & 8 != 0;
            let config = Config {
                over,
                role: Some(if dte { Role::Dte } else { Role::Dce }),
                ranges: Ranges { permanent: 1, two_way: (2, 6), incoming: (0, 0), outgoing: (0, 0) },
                ..Config::default()
            };
            let x25 = Box::new(X25::new(config).unwrap());
            graph.add_node(name, task, x25).unwrap();
        }
        let config = x25_switch::Config {
            routes: vec![
                route("1", &["p", "x"], false),
                route("2", &["i", "x"], false),
                route("3", &["x"], true),
                route("", &["x", "i", "p"], false),
            ],
            circuits: vec![[place("p", 1), place("x", 1)], [place("x", 2), place("i", 1)]],
            always_up: vec!["x".to_owned()],
            max_calls: MOST,
            ..x25_switch::Config::default()
        };
        let switch = Box::new(Switch::new(config));
        let switch = graph.add_node("switch", task, switch).unwrap();
        for (upper, lower) in [
            ("iface", "interface"),
            ("xot", "wires"),
            ("p", "packets"),
            ("i", "iface"),
            ("x", "xot"),
            ("switch", "p"),
            ("switch", "i"),
            ("switch", "x"),
        ] {
            graph.connect(upper, lower).unwrap();
        }
        graph.start(Instant::ZERO).unwrap();
        let mut exchange =
            Self { graph, task, now: Instant::ZERO, devices, wires, switch, heard: Vec::new(), parts: Vec::new() };
        exchange.run();
        exchange
    }

    fn run(&mut self) {
        let mut steps = 0;
        while self.graph.waiting(self.task).is_some() {
            self.graph.run(self.task, self.now, 1);
            steps += 1;
            assert!(steps < 200_000, "they talk without end");
        }
        self.collect();
        let (calls, _) = self.calls();
        assert!(calls <= MOST as usize, "{calls} calls");
    }

    fn wires(&mut self) -> &mut Wires {
        self.graph.protocol_mut(self.wires).unwrap()
    }

    /// How many calls there are beside the permanent circuits, and how many halves on all ports.
    fn calls(&mut self) -> (usize, u32) {
        let switch: &mut Switch = self.graph.protocol_mut(self.switch).unwrap();
        // Nobody keeps a log.
        switch.take_events().for_each(drop);
        let halves = switch.ports().iter().map(|port| port.calls).sum();
        (switch.calls().saturating_sub(CIRCUITS), halves)
    }

    fn collect(&mut self) {
        let mut count = 0;
        while let Some(output) = self.graph.output() {
            let Request::Unit(unit) = output.request else {
                continue;
            };
            count += 1;
            let mut octets = unit.data.to_vec();
            let port = usize::from(output.device == self.devices[1]);
            if port == 1 && octets.remove(0) != 0 {
                continue;
            }
            self.heard.push((port, 0, octets));
        }
        let mut parts = core::mem::take(&mut self.parts);
        let connections = &mut self.wires().connections;
        parts.resize(connections.len(), Vec::new());
        let mut heard = Vec::new();
        for (number, (sides, part)) in connections.iter_mut().zip(&mut parts).enumerate() {
            for side in sides {
                part.append(&mut side.out);
            }
            while let Some([0, 0, l0, l1]) = part.first_chunk::<4>().copied() {
                let len = 4 + usize::from(u16::from_be_bytes([l0, l1]));
                if part.len() < len {
                    break;
                }
                let rest = part.split_off(len);
                let packet = core::mem::replace(part, rest);
                heard.push((2, number, packet[4..].to_vec()));
            }
        }
        self.parts = parts;
        count += heard.len();
        self.heard.append(&mut heard);
        assert!(count <= MOST_ANSWERS, "{count} for one");
        let keep = self.heard.len().saturating_sub(60);
        self.heard.drain(..keep);
    }

    fn act(&mut self, act: WireAction) {
        let wires = self.wires;
        self.wires().act(act);
        self.wake(wires, Token::default());
    }

    fn wake(&mut self, node: NodeId, token: Token) {
        self.graph.wake(self.now, node, token);
        self.graph.fire(self.now);
        self.run();
    }

    fn unit(&mut self, port: usize, octets: &[u8]) {
        let unit = Unit::of(Message::from_octets(octets));
        self.graph.input(self.now, self.devices[port], Indication::Unit(Box::new(unit)));
        self.run();
    }

    fn report(&mut self, port: usize, report: Report) {
        let report = Indication::Report(Box::new(report));
        self.graph.input(self.now, self.devices[port], report);
        self.run();
    }

    /// Octets come by a connection, to whichever side is a node of ours.
    fn octets(&mut self, connection: usize, octets: &[u8]) {
        if connection < self.wires().connections.len() {
            for side in 0..2 {
                self.act(WireAction::Octets(connection, side, octets.to_vec()));
            }
        }
    }

    fn packet(&mut self, port: usize, connection: usize, packet: &[u8]) {
        match port {
            0 => self.unit(0, packet),
            1 => self.unit(1, &[&[0], packet].concat()),
            _ => {
                let len = u16::try_from(packet.len()).unwrap().to_be_bytes();
                self.octets(connection, &[&[0, 0, len[0], len[1]], packet].concat());
            }
        }
    }

    /// Answers one packet as a peer does.
    fn polite(&mut self) {
        if self.heard.is_empty() {
            return self.pass(Duration::from_millis(250));
        }
        let (port, connection, packet) = self.heard.remove(0);
        if packet.get(2) == Some(&kumiki_wire::x25::xot::PVC_SETUP) {
            return self.packet(port, connection, &packet);
        }
        let (packet, _) = Packet::parse(&packet, packet.len()).expect("what is sent can be read");
        if let Some(answer) = answer(&packet) {
            self.packet(port, connection, &answer.to_vec());
        }
    }

    fn step(&mut self, draw: &mut Draw<'_>) {
        let what = draw.octet();
        let port = draw.below(3);
        let connections = self.wires().connections.len();
        let connection = draw.below(connections);
        match what {
            0..=89 => self.polite(),
            90..=104 => self.pass(Duration::from_millis(50) * u64::from(draw.octet())),
            105..=109 => self.pass(Duration::from_secs(2) * u64::from(draw.octet())),
            110..=119 => {
                let len = draw.octet() & 63;
                let octets = draw.take(len.into()).to_vec();
                match port {
                    2 => self.octets(connection, &octets),
                    _ => self.unit(port, &octets),
                }
            }
            // A call to some number, right but for its rest.
            120..=144 => {
                let (channel, number) = (2 + what % 5, draw.octet() & 3);
                let len = draw.octet() & 7;
                let user_data = draw.take(len.into());
                let call = [&[0x10, channel, 0x0b, 0x01, number << 4, 0], user_data].concat();
                if port == 2 && what & 1 == 0 {
                    self.act(WireAction::Call);
                    return self.packet(2, connections, &call);
                }
                self.packet(port, connection, &call);
            }
            // A permanent circuit's set-up, right or not.
            145..=159 => {
                let (channel, status) = (1 + (what & 1), draw.octet());
                let status = status.saturating_sub(200);
                let window = 2 + u8::from(draw.once_in(16));
                let setup = [
                    &[0x10, 0, 0xf5, 0x81, status, 2, 0, channel, 2, 0, channel][..],
                    &[window, window, 7, 7],
                    b"S1S0",
                ]
                .concat();
                if what & 2 == 0 {
                    self.act(WireAction::Call);
                    return self.packet(2, connections, &setup);
                }
                self.packet(2, connection, &setup);
            }
            // A packet of a type that there is.
            160..=224 => {
                let kinds = [0x0b, 0x0f, 0x13, 0x17, 0x23, 0x27, 1, 5, 9, 0x1b, 0x1f, 0xfb, 0xff, 0xf1, 0xf3, 0xf5];
                let kind = draw.octet();
                let kind = match kind {
                    0..=95 => kinds[usize::from(kind & 15)],
                    96..=127 => (kind & 7) << 5 | [1, 5, 9, 0][usize::from(kind >> 3 & 3)],
                    _ => kind,
                };
                let place = draw.octet();
                let gfi = match place >> 4 {
                    15 => 0,
                    14 => 0x90,
                    13 => 0x50,
                    _ => 0x10,
                };
                let len = draw.octet() & 31;
                let rest = draw.take(len.into());
                let packet = [&[gfi, place & 7, kind], rest].concat();
                self.packet(port, connection, &packet);
            }
            // What was sent comes back, or is not answered.
            225..=229 => {
                let place = draw.below(self.heard.len());
                if let Some((port, connection, packet)) = self.heard.get(place).cloned() {
                    self.packet(port, connection, &packet);
                }
            }
            230..=232 => self.heard.clear(),
            233..=236 => {
                let port = port % 2;
                self.report(port, Report::Down);
                self.report(port, Report::Up);
            }
            // What Linux says to an interface.
            237..=240 => self.unit(1, &[1 + (what & 1)]),
            241..=246 if connections > 0 => self.act(WireAction::Take(connection)),
            247..=248 if connections > 0 => self.act(WireAction::Connect(connection)),
            249..=250 if connections > 0 => {
                self.act(WireAction::Released(connection, usize::from(what & 1)));
            }
            251..=252 if connections > 0 => self.act(WireAction::Break(connection)),
            253 if draw.once_in(8) => self.wake(self.switch, CLOSE),
            _ => self.unit(1, &[1]),
        }
    }

    /// All links are gone.
    fn cut(&mut self) {
        for port in [0, 1] {
            self.report(port, Report::Down);
        }
        for connection in 0..self.wires().connections.len() {
            self.act(WireAction::Break(connection));
        }
    }
}

pub(crate) fn run(draw: &mut Draw<'_>) {
    let mut exchange = Exchange::new(draw.octet());
    for _ in 0..300 {
        if draw.is_empty() {
            break;
        }
        exchange.step(draw);
    }
    for _ in 0..20 {
        exchange.polite();
    }
    exchange.cut();
    exchange.pass(LONG);
    let (calls, halves) = exchange.calls();
    assert_eq!(calls, 0, "calls are left");
    assert!(halves <= HALVES, "{halves} halves are left");
    exchange.wake(exchange.switch, CLOSE);
    assert_eq!(exchange.calls().1, 0, "something is left on a port");
    exchange.cut();
    exchange.pass(LONG);
    let stand = exchange.wires().connections.iter().flatten();
    assert_eq!(stand.filter(|it| it.stands).count(), 0);
}
