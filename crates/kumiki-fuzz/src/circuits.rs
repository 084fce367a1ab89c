//! The packet layer of X.25 on LAPB, on frames alone or on XOT, its users, and any frames and packets from the line.
//!
//! The line answers as a peer would, or as none would: any octets, frames with the numbers that are expected around any packets, packets of every type
//! on channels in use. Nothing panics, few frames go out for each that comes, no user is handed more than it has granted, memory is bounded, and
//! with the line everything ends. The other half of the target is a switch: see [`crate::exchange`].

use std::collections::BTreeMap;

use kumiki_graph::{
    Above, Accept, Address, Below, Context, Credit, DeviceId, Duration, Graph, Handle, Indication,
    Instant, Mode, NodeId, Open, Particular, Protocol, Reason, Report, Request, Service, Shape,
    TaskId, Token, Unit,
};
use kumiki_octets::Message;
use kumiki_osi::x25::{Call, Modulo, Number, Primitive};
use kumiki_proto::lapb::{self, Lapb};
use kumiki_proto::x25::{Config, Over, Ranges, Role, X25};
use kumiki_proto::xot::{self, Permanent, Xot};
use kumiki_wire::lapb::{Control, Header, Supervisory, function};
use kumiki_wire::x25::{Body, Packet};

use crate::wires::{Act, Wires};
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

/// One session of the user.
#[derive(Default)]
struct Session {
    provider: Option<Handle>,
    /// Messages that it may send, and that it may be handed.
    credit: u32,
    room: u32,
    /// Resets that it has not answered.
    resets: u32,
    listens: bool,
}

/// A user of calls who does what it is told, and answers resets at once or later.
#[derive(Default)]
struct User {
    sessions: BTreeMap<u32, Session>,
    next: u32,
    /// What it is to do when woken.
    wishes: Vec<(u8, Vec<u8>)>,
    late: bool,
    greedy: bool,
}

const fn own(index: u32) -> Handle {
    Handle {
        index,
        generation: 1,
    }
}

/// What a user has room for before it says more.
const ROOM: u32 = 3;

impl User {
    fn open(&mut self, mode: Mode, remote: Address, channel: Option<u16>, cx: &mut Context<'_>) {
        self.next += 1;
        let mut open = Open {
            user: own(self.next),
            mode,
            remote,
            call: channel.map(|_| {
                Box::new(Call {
                    channel,
                    delivery: true,
                    ..Call::default()
                })
            }),
            ..Open::default()
        };
        open.quality.receive_buffer = Some(ROOM);
        let session = Session {
            room: ROOM,
            listens: mode != Mode::Active,
            ..Session::default()
        };
        self.sessions.insert(self.next, session);
        cx.down(Below(0), Request::Open(Box::new(open)));
    }

    fn wish(&mut self, what: u8, octets: Vec<u8>, cx: &mut Context<'_>) {
        let number = || Address::X121("123".parse::<Number>().unwrap());
        match what % 16 {
            0 => return self.open(Mode::Active, number(), None, cx),
            1 => return self.open(Mode::Active, Address::None, Some(1), cx),
            2 => return self.open(Mode::Passive { backlog: 2 }, Address::None, None, cx),
            3 => {
                self.late = !self.late;
                return;
            }
            4 => {
                self.greedy = !self.greedy;
                return;
            }
            _ => {}
        }
        // Of the sessions that stand, one.
        let standing = self
            .sessions
            .iter_mut()
            .filter(|(_, it)| it.provider.is_some());
        let mut standing: Vec<_> = standing.collect();
        if standing.is_empty() {
            return;
        }
        let place = usize::from(what >> 4) % standing.len();
        let (index, it) = standing.swap_remove(place);
        let index = *index;
        let session = it.provider.unwrap();
        let data = Message::from_octets(&octets);
        match what % 16 {
            5..=8 if it.credit > 0 && it.resets == 0 => {
                it.credit -= 1;
                let end = what.is_multiple_of(2);
                cx.down(Below(0), Request::Data { session, data, end });
            }
            9 if it.credit > 0 && it.resets == 0 => {
                it.credit -= 1;
                let what = Box::new(Particular::Packet(Primitive::Data {
                    data,
                    end: true,
                    qualified: true,
                    delivery: true,
                }));
                cx.down(Below(0), Request::Particular { session, what });
            }
            10 => cx.down(Below(0), Request::Expedited { session, data }),
            11 => {
                let reason = Reason::User;
                it.resets += 1;
                (it.credit, it.room) = (0, ROOM);
                cx.down(Below(0), Request::Reset { session, reason });
            }
            12 => {
                let what = Box::new(Particular::Packet(Primitive::Confirm { packets: 1 }));
                cx.down(Below(0), Request::Particular { session, what });
            }
            13 => {
                it.room += 2;
                let credit = Credit::messages(2);
                cx.down(Below(0), Request::Credit { session, credit });
            }
            14 => {
                let (reason, data) = (Reason::User, Some(data));
                cx.down(
                    Below(0),
                    Request::Abort {
                        session,
                        reason,
                        data,
                    },
                );
                self.sessions.remove(&index);
            }
            _ => self.answer(index, cx),
        }
    }

    fn answer(&mut self, index: u32, cx: &mut Context<'_>) {
        let Some(it) = self.sessions.get_mut(&index).filter(|it| it.resets > 0) else {
            return;
        };
        it.resets -= 1;
        if let Some(session) = it.provider {
            let reason = Reason::User;
            cx.down(Below(0), Request::Reset { session, reason });
        }
    }

    fn took(&mut self, session: Handle, cx: &mut Context<'_>) {
        let greedy = self.greedy;
        let Some(it) = self.sessions.get_mut(&session.index) else {
            return;
        };
        assert!(it.room > 0, "more than was granted");
        it.room -= 1;
        if let Some(session) = it.provider.filter(|_| greedy) {
            it.room += 1;
            let credit = Credit::messages(1);
            cx.down(Below(0), Request::Credit { session, credit });
        }
    }
}

impl Protocol for User {
    fn shape(&self) -> Shape {
        Shape {
            offers: None,
            needs: &[Service::Connection],
            below: (1, 1),
            keys: Vec::new(),
        }
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Opened(opened) => {
                let it = self.sessions.get_mut(&opened.user.index);
                it.expect("it was asked for").provider = Some(opened.provider);
            }
            Indication::Offered(offered) => {
                self.next += 1;
                let session = Session {
                    provider: Some(offered.provider),
                    room: ROOM,
                    ..Session::default()
                };
                self.sessions.insert(self.next, session);
                let mut accept = Accept {
                    session: offered.provider,
                    user: own(self.next),
                    call: offered.call,
                    ..Accept::default()
                };
                accept.quality.receive_buffer = Some(ROOM);
                cx.down(Below(0), Request::Accept(Box::new(accept)));
            }
            Indication::Credit { session, credit } => {
                if let Some(it) = self.sessions.get_mut(&session.index) {
                    it.credit += credit.messages;
                    assert!(it.credit <= 127, "more than any window");
                }
            }
            Indication::Data { session, .. } => self.took(session, cx),
            Indication::Particular { session, what } => {
                if let Particular::Packet(Primitive::Data { .. }) = *what {
                    self.took(session, cx);
                }
            }
            Indication::Reset { session, .. } => {
                if let Some(it) = self.sessions.get_mut(&session.index) {
                    (it.credit, it.room) = (0, ROOM);
                    if it.resets > 0 {
                        // Ours and this one answer each other.
                        it.resets -= 1;
                        return;
                    }
                    it.resets += 1;
                    if !self.late {
                        self.answer(session.index, cx);
                    }
                }
            }
            Indication::Aborted { session, .. } => {
                self.sessions.remove(&session.index);
            }
            Indication::Unit(_)
            | Indication::Tagged { .. }
            | Indication::Values { .. }
            | Indication::Expedited { .. }
            | Indication::Released { .. }
            | Indication::Closed { .. }
            | Indication::Urgent { .. }
            | Indication::Notice { .. }
            | Indication::Report(_) => {}
        }
    }

    fn expire(&mut self, _: Token, cx: &mut Context<'_>) {
        for (what, octets) in core::mem::take(&mut self.wishes) {
            self.wish(what, octets, cx);
        }
    }
}

/// What is below the packet layer.
enum Line {
    Lapb(DeviceId, lapb::Role, Modulo),
    Frames(DeviceId),
    Xot(NodeId),
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

impl World {
    fn new(how: u8, more: u8) -> Self {
        let mut graph = Graph::new(u64::from(more), 0);
        let task = graph.add_task("cpu");
        let modulo = if how & 4 == 0 {
            Modulo::Eight
        } else {
            Modulo::Extended
        };
        let mut config = Config {
            role: [Some(Role::Dte), Some(Role::Dce), None][usize::from(more % 3)],
            modulo,
            ranges: Ranges {
                permanent: 1,
                two_way: (2, 6),
                incoming: (0, 0),
                outgoing: (0, 0),
            },
            reject: how & 8 != 0,
            ..Config::default()
        };
        let below;
        let line = match how & 3 {
            0 => {
                let line = graph.add_device("line", Service::UnitData).unwrap();
                config.over = Over::Frames;
                below = "line";
                Line::Frames(line)
            }
            1 => {
                config.over = Over::Circuits;
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
                let line = graph.add_device("line", Service::UnitData).unwrap();
                let role = if how & 64 == 0 {
                    lapb::Role::Dte
                } else {
                    lapb::Role::Dce
                };
                let modulo = if how & 16 == 0 {
                    Modulo::Eight
                } else {
                    Modulo::Extended
                };
                let it = lapb::Config {
                    role,
                    modulo,
                    ..lapb::Config::default()
                };
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
        let user = Box::new(User {
            greedy: true,
            ..User::default()
        });
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

    fn user(&mut self) -> &mut User {
        self.graph.protocol_mut(self.user).unwrap()
    }

    fn wake(&mut self, node: NodeId) {
        self.graph.wake(self.now, node, Token::default());
        self.graph.fire(self.now);
        self.run();
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        let mut events = 0;
        while let Some(due) = self.graph.next_timer().filter(|due| *due <= until) {
            events += 1;
            assert!(events < 100_000, "timers without end");
            self.now = self.now.max(due);
            self.graph.fire(due);
            self.run();
        }
        self.now = until;
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
                self.graph.input(self.now, line, Indication::Unit(unit));
                self.run();
            }
            Line::Xot(wires) => {
                let last = {
                    let it: &mut Wires = self.graph.protocol_mut(wires).unwrap();
                    it.connections.len()
                };
                let Some(last) = last.checked_sub(1) else {
                    return self.act(Act::Call);
                };
                // Whichever side is a node of ours.
                for side in 0..2 {
                    self.act(Act::Octets(last, side, octets.to_vec()));
                }
            }
        }
    }

    fn act(&mut self, act: Act) {
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
        let header = Header {
            address: if is_command { role.own() } else { role.peer() },
            control,
            modulo,
        };
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
        if packet.get(2) == Some(&kumiki_wire::xot::PVC_SETUP) {
            return self.packet(packet);
        }
        let (packet, _) = Packet::parse(packet, packet.len()).expect("what is sent can be read");
        assert_eq!(packet.modulo, self.modulo);
        let body = match &packet.body {
            Body::Restart { .. } => Body::RestartConfirmation,
            Body::Call(_) => Body::Accepted(None),
            Body::Clear { .. } => Body::ClearConfirmation(None),
            Body::Reset { .. } => Body::ResetConfirmation,
            Body::Interrupt => Body::InterruptConfirmation,
            Body::Data { ps, .. } => Body::Rr(self.modulo.next(*ps)),
            Body::Accepted(_)
            | Body::ClearConfirmation(_)
            | Body::InterruptConfirmation
            | Body::Rr(_)
            | Body::Rnr(_)
            | Body::Rej(_)
            | Body::ResetConfirmation
            | Body::RestartConfirmation
            | Body::Diagnostic { .. }
            | Body::Registration(..) => return,
        };
        let qualified = false;
        let answer = Packet {
            qualified,
            body,
            ..packet
        };
        self.packet(&answer.to_vec());
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
                let kinds = [
                    0x0b, 0x0f, 0x13, 0x17, 0x23, 0x27, 1, 5, 9, 0x1b, 0x1f, 0xfb, 0xff, 0xf1,
                    0xf3, 0xf5,
                ];
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
            252 => self.act(Act::Call),
            253 => {
                let last = self.calls();
                if last < self.wires() {
                    self.act(Act::Connect(last));
                }
            }
            _ => {
                let last = self.calls();
                if last < self.wires() {
                    self.act(Act::Released(last, usize::from(what & 1)));
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
        world.act(Act::Break(connection));
    }
    world.pass(LONG);
    // Of the permanent circuit the user keeps its session, or waits for the peer to set it up.
    let left = world.user().sessions.values();
    let left = left.filter(|it| !it.listens).count();
    let permanent = !matches!(world.line, Line::Xot(_)) || how & 32 == 0;
    assert!(left <= usize::from(permanent), "{left} sessions are left");
}
