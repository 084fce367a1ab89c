//! The packet layer of X.25 on LAPB, on frames alone or on XOT, its users, and any frames and packets from the line.
//!
//! The line answers as a peer would, or as none would: any octets, frames with the numbers that are expected around any
//! packets, packets of every type on channels in use. Nothing panics, few frames go out for each that comes, no user is
//! handed more than it has granted, memory is bounded, and with the line everything ends. The other half of the target
//! is a switch: see [`crate::exchange`].

use kumiki_graph::{
    DeviceId, Duration, Graph, Indication, Instant, NodeId, Report, Request, Service, TaskId, Token, Unit,
};
use kumiki_octets::Message;
use kumiki_osi_service::x25::Modulo;
use kumiki_wire::x25::lapb::{Control, Header, Supervisory, function};
use kumiki_wire::x25::x25::{Body, Packet};
use kumiki_x25::lapb::{self, Lapb};
use kumiki_x25::x25::{Config, PacketCarrier, Ranges, Role, X25};
use kumiki_x25::xot::{self, Permanent, Xot};

use crate::passing::Passing;
use crate::subscriber::Subscriber;
use crate::wires::{WireAction, Wires};
use crate::{Draw, Target, within_mb};

pub(crate) const TARGET: Target = Target {
    name: "circuits",
    title: "X.25 on LAPB, frames or XOT, and any frames and packets from the line; or a switch with three ports",
    run: |octets| within_mb(96.0, || run(octets)),
};

/// After so long without a line everybody has given up.
const LONG: Duration = Duration::from_secs(2 * 3600);
/// Frames that go out for one that comes: all of a window once more, and what timers add.
const MOST_ANSWERS: usize = 600;

/// What is below the packet layer.
enum Line {
    Lapb(DeviceId, lapb::Role, Modulo),
    Frames(DeviceId),
    Xot(NodeId),
}

/// What a peer answers a packet with.
pub(crate) fn answer(packet: &Packet) -> Option<Packet> {
    let body = match &packet.body {
        Body::Restart { .. } => Body::RestartConfirmation,
        Body::Call(_) => Body::Accepted(None),
        Body::Clear { .. } => Body::ClearConfirmation(None),
        Body::Reset { .. } => Body::ResetConfirmation,
        Body::Interrupt => Body::InterruptConfirmation,
        Body::Data { ps, .. } => Body::Rr(packet.modulo.next(*ps)),
        Body::Accepted(_)
        | Body::ClearConfirmation(_)
        | Body::InterruptConfirmation
        | Body::Rr(_)
        | Body::Rnr(_)
        | Body::Rej(_)
        | Body::ResetConfirmation
        | Body::RestartConfirmation
        | Body::Diagnostic { .. }
        | Body::Registration(..) => return None,
    };
    Some(Packet { qualified: false, body, ..packet.clone() })
}

struct World {
    graph: Graph,
    task: TaskId,
    now: Instant,
    user: NodeId,
    line: Line,
    modulo: Modulo,
    /// Our numbers as LAPB's peer: V(S) and V(R).
    vs: u8,
    vr: u8,
    /// What is to be answered as a peer would, frames or packets.
    heard: Vec<Vec<u8>>,
    /// Octets of XOT that are no whole packet yet.
    part: Vec<u8>,
}

impl Passing for World {
    fn parts(&mut self) -> (&mut Graph, &mut Instant) {
        (&mut self.graph, &mut self.now)
    }

    fn settle(&mut self) {
        self.run();
    }
}

impl World {
    fn new(how: u8, more: u8) -> Self {
        let mut graph = Graph::new(u64::from(more), 0);
        let task = graph.add_task("cpu");
        let modulo = if how & 4 == 0 { Modulo::Eight } else { Modulo::Extended };
        let mut config = Config {
            role: [Some(Role::Dte), Some(Role::Dce), None][usize::from(more % 3)],
            modulo,
            ranges: Ranges { permanent: 1, two_way: (2, 6), incoming: (0, 0), outgoing: (0, 0) },
            reject: how & 8 != 0,
            ..Config::default()
        };
        let below;
        let line = match how & 3 {
            0 => {
                let line = graph.add_device("line", Service::UNIT_DATA).unwrap();
                config.over = PacketCarrier::Frames;
                below = "line";
                Line::Frames(line)
            }
            1 => {
                config.over = PacketCarrier::Circuits;
                let wires = Box::new(Wires::default());
                let wires = graph.add_node("wires", task, wires).unwrap();
                let permanent = Permanent {
                    channel: 1,
                    interface: "S0".to_owned(),
                    peer_interface: "S1".to_owned(),
                    peer_channel: 1,
                    peer: (how & 32 != 0).then(|| "10.0.0.1:1998".parse().unwrap()),
                    window: 2,
                    packet: 7,
                };
                let it = Xot::new(xot::Config {
                    routes: vec![("1".parse().unwrap(), "10.0.0.1:1998".parse().unwrap())],
                    permanent: vec![permanent],
                    ..xot::Config::default()
                });
                graph.add_node("xot", task, Box::new(it)).unwrap();
                graph.connect("xot", "wires").unwrap();
                below = "xot";
                Line::Xot(wires)
            }
            _ => {
                let line = graph.add_device("line", Service::UNIT_DATA).unwrap();
                let role = if how & 64 == 0 { lapb::Role::Dte } else { lapb::Role::Dce };
                let modulo = if how & 16 == 0 { Modulo::Eight } else { Modulo::Extended };
                let it = lapb::Config { role, modulo, ..lapb::Config::default() };
                let it = Box::new(Lapb::new(it).unwrap());
                graph.add_node("lapb", task, it).unwrap();
                graph.connect("lapb", "line").unwrap();
                below = "lapb";
                Line::Lapb(line, role, modulo)
            }
        };
        let x25 = Box::new(X25::new(config).unwrap());
        graph.add_node("x25", task, x25).unwrap();
        graph.connect("x25", below).unwrap();
        let user = Box::new(Subscriber::reading(None));
        let user = graph.add_node("user", task, user).unwrap();
        graph.connect("user", "x25").unwrap();
        graph.start(Instant::ZERO).unwrap();
        let mut world = Self {
            graph,
            task,
            now: Instant::ZERO,
            user,
            line,
            modulo,
            vs: 0,
            vr: 0,
            heard: Vec::new(),
            part: Vec::new(),
        };
        world.run();
        world
    }

    fn run(&mut self) {
        let mut steps = 0;
        while self.graph.waiting(self.task).is_some() {
            self.graph.run(self.task, self.now, 1);
            steps += 1;
            assert!(steps < 100_000, "they talk without end");
        }
        self.collect();
    }

    fn user(&mut self) -> &mut Subscriber {
        self.graph.protocol_mut(self.user).unwrap()
    }

    fn wake(&mut self, node: NodeId) {
        self.graph.wake(self.now, node, Token::default());
        self.graph.fire(self.now);
        self.run();
    }

    /// What has gone out is kept, to be answered.
    fn collect(&mut self) {
        let mut count = 0;
        while let Some(output) = self.graph.output() {
            if let Request::Unit(unit) = output.request {
                count += 1;
                self.heard.push(unit.data.to_vec());
            }
        }
        if let Line::Xot(wires) = self.line {
            let wires: &mut Wires = self.graph.protocol_mut(wires).unwrap();
            for sides in &mut wires.connections {
                for side in sides {
                    self.part.append(&mut side.out);
                }
            }
            while let Some([0, 0, l0, l1]) = self.part.first_chunk::<4>().copied() {
                let len = 4 + usize::from(u16::from_be_bytes([l0, l1]));
                assert!(self.part.len() >= len, "what is sent is whole");
                let rest = self.part.split_off(len);
                let packet = core::mem::replace(&mut self.part, rest);
                self.heard.push(packet[4..].to_vec());
                count += 1;
            }
        }
        assert!(count <= MOST_ANSWERS, "{count} for one");
        let keep = self.heard.len().saturating_sub(40);
        self.heard.drain(..keep);
    }

    fn unit(&mut self, octets: &[u8]) {
        match self.line {
            Line::Lapb(line, ..) | Line::Frames(line) => {
                let unit = Unit::of(Message::from_octets(octets));
                self.graph.input(self.now, line, Indication::Unit(Box::new(unit)));
                self.run();
            }
            Line::Xot(wires) => {
                let last = {
                    let it: &mut Wires = self.graph.protocol_mut(wires).unwrap();
                    it.connections.len()
                };
                let Some(last) = last.checked_sub(1) else {
                    return self.act(WireAction::Call);
                };
                // Whichever side is a node of ours.
                for side in 0..2 {
                    self.act(WireAction::Octets(last, side, octets.to_vec()));
                }
            }
        }
    }

    fn act(&mut self, act: WireAction) {
        if let Line::Xot(wires) = self.line {
            let it: &mut Wires = self.graph.protocol_mut(wires).unwrap();
            it.act(act);
            self.wake(wires);
        }
    }

    fn frame(&mut self, is_command: bool, control: Control, packet: &[u8]) {
        let Line::Lapb(_, role, modulo) = self.line else {
            return;
        };
        let header = Header { address: if is_command { role.own() } else { role.peer() }, control, modulo };
        let mut octets = vec![0; header.len()];
        header.emit(&mut octets);
        octets.extend_from_slice(packet);
        self.unit(&octets);
    }

    /// A packet comes, as it should below it.
    fn packet(&mut self, packet: &[u8]) {
        match self.line {
            Line::Lapb(_, _, modulo) => {
                let (ns, nr) = (self.vs, self.vr);
                self.vs = modulo.next(ns);
                let poll = false;
                self.frame(true, Control::Information { ns, nr, poll }, packet);
            }
            Line::Frames(_) => self.unit(packet),
            Line::Xot(_) => {
                let len = u16::try_from(packet.len()).unwrap().to_be_bytes();
                let octets = [&[0, 0, len[0], len[1]], packet].concat();
                self.unit(&octets);
            }
        }
    }

    /// Answers one frame as a peer does.
    fn polite(&mut self) {
        if self.heard.is_empty() {
            return self.pass(Duration::from_millis(250));
        }
        let heard = self.heard.remove(0);
        let Line::Lapb(_, role, modulo) = self.line else {
            return self.answer(&heard);
        };
        let Ok((header, len)) = Header::parse(&heard, modulo) else {
            panic!("what is sent can be read: {heard:02x?}");
        };
        assert!([role.own(), role.peer()].contains(&header.address));
        let is_command = header.address == role.peer();
        match header.control {
            Control::Unnumbered { function, poll } if is_command => {
                let answer = match function {
                    function::SABM | function::SABME | function::DISC => function::UA,
                    _ => return,
                };
                (self.vs, self.vr) = (0, 0);
                let function = answer;
                self.frame(false, Control::Unnumbered { function, poll }, &[]);
            }
            Control::Information { ns, poll, .. } => {
                if ns == self.vr {
                    self.vr = modulo.next(ns);
                    let ready = Control::supervisory(Supervisory::ReceiveReady, self.vr, poll);
                    self.frame(false, ready, &[]);
                    self.answer(&heard[len..]);
                }
            }
            Control::Supervisory { poll, .. } if poll && is_command => {
                let ready = Control::supervisory(Supervisory::ReceiveReady, self.vr, true);
                self.frame(false, ready, &[]);
            }
            Control::Supervisory { .. } | Control::Unnumbered { .. } => {}
        }
    }

    /// Answers a packet as a peer does.
    fn answer(&mut self, packet: &[u8]) {
        if packet.get(2) == Some(&kumiki_wire::x25::xot::PVC_SETUP) {
            return self.packet(packet);
        }
        let (packet, _) = Packet::parse(packet, packet.len()).expect("what is sent can be read");
        assert_eq!(packet.modulo, self.modulo);
        if let Some(answer) = answer(&packet) {
            self.packet(&answer.to_vec());
        }
    }

    fn step(&mut self, draw: &mut Draw<'_>) {
        let what = draw.octet();
        match what {
            0..=79 => self.polite(),
            80..=129 => {
                let len = draw.octet() & 63;
                let octets = draw.take(len.into()).to_vec();
                let wish = what - 80 + (len & 0xc0);
                self.user().wishes.push((wish, octets));
                self.wake(self.user);
            }
            130..=149 => self.pass(Duration::from_millis(50) * u64::from(draw.octet())),
            150..=154 => self.pass(Duration::from_secs(1) * u64::from(draw.octet())),
            // Any octets.
            155..=164 => {
                let len = draw.octet() & 63;
                let octets = draw.take(len.into()).to_vec();
                self.unit(&octets);
            }
            // A packet of a type that there is.
            165..=214 => {
                let kinds = [0x0b, 0x0f, 0x13, 0x17, 0x23, 0x27, 1, 5, 9, 0x1b, 0x1f, 0xfb, 0xff, 0xf1, 0xf3, 0xf5];
                let kind = draw.octet();
                let kind = match kind {
                    0..=95 => kinds[usize::from(kind & 15)],
                    96..=127 => (kind & 7) << 5 | [1, 5, 9, 0][usize::from(kind >> 3 & 3)],
                    _ => kind,
                };
                let place = draw.octet();
                let gfi = match (self.modulo, place >> 4) {
                    (_, 15) => 0,
                    (Modulo::Eight, 14) => 0x90,
                    (Modulo::Eight, 13) => 0x50,
                    (Modulo::Eight, _) => 0x10,
                    (Modulo::Extended, 14) => 0xe0,
                    (Modulo::Extended, _) => 0x20,
                };
                let len = draw.octet() & 31;
                let rest = draw.take(len.into());
                let packet = [&[gfi, place & 7, kind], rest].concat();
                self.packet(&packet);
            }
            // A frame with a function that there is.
            215..=224 => {
                let functions = [
                    function::DM,
                    function::SABM,
                    function::DISC,
                    function::UA,
                    function::SABME,
                    function::FRMR,
                    function::XID,
                    draw.octet(),
                ];
                let function = functions[usize::from(what & 7)];
                let how = draw.octet();
                if how & 4 == 0 {
                    (self.vs, self.vr) = (0, 0);
                }
                let poll = how & 1 != 0;
                self.frame(how & 2 != 0, Control::Unnumbered { function, poll }, &[]);
            }
            225..=239 => {
                let kinds = [
                    Supervisory::ReceiveReady,
                    Supervisory::ReceiveNotReady,
                    Supervisory::Reject,
                    Supervisory::Reserved,
                ];
                let how = draw.octet();
                let nr = if how & 16 == 0 { self.vr } else { draw.octet() };
                let control = Control::supervisory(kinds[usize::from(how & 3)], nr, how & 4 != 0);
                self.frame(how & 8 != 0, control, &[]);
            }
            // What was sent comes back, or is not answered.
            240..=244 => {
                let place = draw.below(self.heard.len());
                if let Some(heard) = self.heard.get(place).cloned() {
                    self.unit(&heard);
                }
            }
            245..=248 => self.heard.clear(),
            249..=251 => {
                self.report(Report::Down);
                self.report(Report::Up);
            }
            252 => self.act(WireAction::Call),
            253 => {
                let last = self.calls();
                if last < self.wires() {
                    self.act(WireAction::Connect(last));
                }
            }
            _ => {
                let last = self.calls();
                if last < self.wires() {
                    self.act(WireAction::Released(last, usize::from(what & 1)));
                }
            }
        }
    }

    fn wires(&mut self) -> usize {
        let Line::Xot(wires) = self.line else {
            return 0;
        };
        let it: &mut Wires = self.graph.protocol_mut(wires).unwrap();
        it.connections.len()
    }

    fn calls(&mut self) -> usize {
        self.wires().saturating_sub(1)
    }

    fn report(&mut self, report: Report) {
        if let Line::Lapb(line, ..) | Line::Frames(line) = self.line {
            let report = Indication::Report(Box::new(report));
            self.graph.input(self.now, line, report);
            self.run();
        }
    }
}

fn run(octets: &[u8]) {
    let mut draw = Draw::new(octets);
    let how = draw.octet();
    if how & 128 != 0 {
        return crate::exchange::run(&mut draw);
    }
    let mut world = World::new(how, draw.octet());
    for _ in 0..400 {
        if draw.is_empty() {
            break;
        }
        world.step(&mut draw);
    }
    for _ in 0..20 {
        world.polite();
    }
    world.report(Report::Down);
    for connection in 0..world.wires() {
        world.act(WireAction::Break(connection));
    }
    world.pass(LONG);
    // Of the permanent circuit the user keeps its session, or waits for the peer to set it up.
    let left = world.user().calls();
    let permanent = !matches!(world.line, Line::Xot(_)) || how & 32 == 0;
    assert!(left <= usize::from(permanent), "{left} sessions are left");
}
