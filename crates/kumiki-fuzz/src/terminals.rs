//! Terminals at a PAD and hosts of X.29: what is typed, what comes from the network, and what a Telnet program says.
//!
//! At one end of a line of packets is a PAD with a terminal, at the other a host with a program; or in the place of one
//! of them a subscriber who sends any data, PAD messages, interrupts and resets. The streams to terminal and program
//! have the credit that they are given and give. Nothing panics, nobody talks without end, no stream is handed more
//! than it has room for, nothing is read ahead without bound, and when the line is gone no call is left.

use kumiki_graph::pipe::{self, Pipe};
use kumiki_graph::{
    Credit, DeviceId, Duration, Graph, Handle, Indication, Instant, NodeId, Report, Request, Service, TaskId, Token,
    Unit,
};
use kumiki_octets::Message;
use kumiki_osi_service::x25::{Number, pad::Parameters};
use kumiki_x25::pad::{self, Pad, State};
use kumiki_x25::pad_host::{self, PadHost};
use kumiki_x25::telnet::Telnet;
use kumiki_x25::x25::{Config, PacketCarrier, Role, X25};

use crate::passing::Passing;
use crate::subscriber::Subscriber;
use crate::{Draw, Target, within_mb};

pub(crate) const TARGET: Target = Target {
    name: "terminals",
    title: "a PAD with its terminal or a Telnet program, a host of X.29 with its program, and any octets from all of them",
    run: |octets| within_mb(32.0, || run(octets)),
};

/// After so long without a line everybody has given up, whoever has typed as many calls ahead as there is room for too.
const LONG: Duration = Duration::from_secs(12 * 3600);
/// What the nodes read ahead of what they have handed on, in octets.
const ROOM: u32 = 500;
/// Octets that go to a terminal for one act of somebody: the answers to all commands that were typed ahead, each of
/// their octets on a line of its own with both ends padded.
const MOST_SHOWN: usize = 32 << 20;

/// Pages of a line each, in what the network may hand over ahead of the terminal.
const MOST_PAGES: usize = 3000;

/// A stream that ends in the target.
struct Stream {
    device: DeviceId,
    /// Octets that may be sent to the node, and that the node may send.
    granted: u64,
    room: u64,
    /// What was sent to us is paid for at once.
    takes: bool,
    is_up: bool,
    /// Its end is that of both directions, as with a connection of TCP.
    ends_both: bool,
}

struct World {
    graph: Graph,
    task: TaskId,
    now: Instant,
    lines: [DeviceId; 2],
    /// The next packets on the line are lost.
    lost: usize,
    subscriber: Option<NodeId>,
    pad: Option<NodeId>,
    host: Option<NodeId>,
    terminal: Option<Stream>,
    program: Option<Stream>,
}

/// Who is at the ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    PadAndSubscriber,
    PadAndHost,
    SubscriberAndHost,
}

fn pad_config(how: u8, draw: &mut Draw<'_>) -> pad::Config {
    let mut initial = if how & 8 == 0 { Parameters::SIMPLE } else { Parameters::TRANSPARENT };
    for _ in 0..draw.octet() & 7 {
        // Some cannot be set.
        let _ = initial.set(draw.octet() % 24, draw.octet());
    }
    let is_called = how & 16 != 0;
    pad::Config {
        initial,
        answer: is_called.then_some(Number::NONE),
        call: (how & 32 != 0).then(|| "123Dhi".to_owned()),
        once: how & 64 != 0,
        linger: (how & 128 == 0).then_some(Duration::from_secs(2)),
        reselection: is_called,
        drains: how & 4 == 0,
        room: ROOM,
        ..pad::Config::default()
    }
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
    fn new(draw: &mut Draw<'_>) -> Self {
        let how = draw.octet();
        let ends = match how & 3 {
            0 => Ends::SubscriberAndHost,
            1 => Ends::PadAndHost,
            _ => Ends::PadAndSubscriber,
        };
        let mut graph = Graph::new(u64::from(how), 0);
        let task = graph.add_task("cpu");
        let device = |graph: &mut Graph, name| graph.add_device(name, Service::UNIT_DATA).unwrap();
        let lines = ["line a", "line b"].map(|name| device(&mut graph, name));
        for (name, line, role) in [("a", "line a", Role::Dte), ("b", "line b", Role::Dce)] {
            let config = Config { over: PacketCarrier::Frames, role: Some(role), ..Config::default() };
            let x25 = Box::new(X25::new(config).unwrap());
            graph.add_node(name, task, x25).unwrap();
            graph.connect(name, line).unwrap();
        }
        let stream = |graph: &mut Graph, name, of| {
            let device = device(graph, of);
            let pipe = Box::new(Pipe::new(pipe::Config::default()));
            graph.add_node(name, task, pipe).unwrap();
            graph.connect(name, of).unwrap();
            Stream { device, granted: 0, room: 0, takes: true, is_up: true, ends_both: false }
        };
        let (mut pad, mut host, mut subscriber) = (None, None, None);
        let (mut terminal, mut program) = (None, None);
        if ends != Ends::SubscriberAndHost {
            let mut stream = stream(&mut graph, "terminal", "tty");
            let mut below = "terminal";
            if how & 4 != 0 {
                stream.ends_both = true;
                let telnet = Box::new(Telnet::new());
                graph.add_node("telnet", task, telnet).unwrap();
                graph.connect("telnet", below).unwrap();
                below = "telnet";
            }
            terminal = Some(stream);
            let it = Box::new(Pad::new(pad_config(how, draw)));
            pad = Some(graph.add_node("pad", task, it).unwrap());
            graph.connect("pad", "a").unwrap();
            graph.connect("pad", below).unwrap();
        }
        if ends != Ends::PadAndSubscriber {
            program = Some(stream(&mut graph, "program", "pty"));
            let config = pad_host::Config { room: ROOM, ..pad_host::Config::default() };
            let it = Box::new(PadHost::new(config));
            host = Some(graph.add_node("host", task, it).unwrap());
            graph.connect("host", "b").unwrap();
            graph.connect("host", "program").unwrap();
        }
        if ends != Ends::PadAndHost {
            // Calls are those of a PAD, by their protocol identifier.
            let it = Box::new(Subscriber::reading(Some(vec![1, 0, 0, 0])));
            subscriber = Some(graph.add_node("subscriber", task, it).unwrap());
            let below = if pad.is_some() { "b" } else { "a" };
            graph.connect("subscriber", below).unwrap();
        }
        graph.start(Instant::ZERO).unwrap();
        let mut world =
            Self { graph, task, now: Instant::ZERO, lines, lost: 0, subscriber, pad, host, terminal, program };
        world.run();
        for device in [&world.terminal, &world.program].map(|it| it.as_ref().map(|it| it.device)).into_iter().flatten()
        {
            world.report(device, Report::Up);
        }
        // Somebody waits for calls.
        world.wish(2, Vec::new());
        world
    }

    /// The stream of a device.
    fn stream(&mut self, device: DeviceId) -> Option<&mut Stream> {
        let streams = [&mut self.terminal, &mut self.program];
        let mut streams = streams.into_iter().flatten();
        streams.find(|it| it.device == device)
    }

    fn run(&mut self) {
        let (mut steps, mut shown) = (0, 0);
        loop {
            while self.graph.waiting(self.task).is_some() {
                self.graph.run(self.task, self.now, 1);
                steps += 1;
                // A stream with room for an octet at a time takes each in a step of its own, and gives it back in
                // another.
                assert!(steps < 200_000 + 2 * shown, "they talk without end");
            }
            let Some(output) = self.graph.output() else {
                return;
            };
            let [a, b] = self.lines;
            if let Request::Unit(unit) = output.request {
                if output.device == a {
                    self.carry(b, unit);
                } else if output.device == b {
                    self.carry(a, unit);
                } else {
                    shown += unit.data.len();
                    assert!(shown <= MOST_SHOWN, "{shown} octets at once");
                    self.shown(output.device, unit.data.len() as u64);
                }
            } else if let Request::Credit { credit, .. } = output.request
                && let Some(stream) = self.stream(output.device)
            {
                stream.granted += credit.octets;
                assert!(stream.granted <= ROOM.into(), "more than there is room for");
            }
        }
    }

    /// A packet crosses the line, or does not.
    fn carry(&mut self, to: DeviceId, unit: Box<Unit>) {
        if self.lost > 0 {
            self.lost -= 1;
            return;
        }
        self.graph.input(self.now, to, Indication::Unit(unit));
    }

    fn shown(&mut self, device: DeviceId, octets: u64) {
        let now = self.now;
        let Some(stream) = self.stream(device) else {
            return;
        };
        assert!(stream.room >= octets, "more than it takes");
        if stream.takes {
            let (session, credit) = (Handle::default(), Credit::octets(octets));
            let credit = Indication::Credit { session, credit };
            self.graph.input(now, device, credit);
        } else {
            stream.room -= octets;
        }
    }

    /// A stream takes so much more.
    fn make_room(&mut self, device: DeviceId, octets: u64) {
        if let Some(stream) = self.stream(device).filter(|it| it.is_up || !it.ends_both) {
            stream.room += octets;
            let (session, credit) = (Handle::default(), Credit::octets(octets));
            self.input(device, Indication::Credit { session, credit });
        }
    }

    fn input(&mut self, device: DeviceId, indication: Indication) {
        self.graph.input(self.now, device, indication);
        self.run();
    }

    fn report(&mut self, device: DeviceId, report: Report) {
        if let Some(stream) = self.stream(device) {
            stream.is_up = matches!(report, Report::Up);
        }
        self.input(device, Indication::Report(Box::new(report)));
    }

    /// Octets come by a stream, as many as it may send.
    fn says(&mut self, device: DeviceId, octets: &[u8]) {
        let Some(stream) = self.stream(device).filter(|it| it.is_up) else {
            return;
        };
        let most = usize::try_from(stream.granted).unwrap().min(octets.len());
        if most > 0 {
            stream.granted -= most as u64;
            let unit = Unit::of(Message::from_octets(&octets[..most]));
            self.input(device, Indication::Unit(Box::new(unit)));
        }
    }

    fn wish(&mut self, what: u8, octets: Vec<u8>) {
        if let Some(subscriber) = self.subscriber {
            let it: &mut Subscriber = self.graph.protocol_mut(subscriber).unwrap();
            it.wishes.push((what, octets));
            self.wake(subscriber, Token::default());
        }
    }

    fn wake(&mut self, node: NodeId, token: Token) {
        self.graph.wake(self.now, node, token);
        self.graph.fire(self.now);
        self.run();
    }

    /// The program sets parameters of the PAD, or asks for them.
    fn parameters(&mut self, draw: &mut Draw<'_>) {
        let Some(node) = self.host else {
            return;
        };
        let (len, reads) = (draw.octet() & 7, draw.octet() & 1 != 0);
        let pairs: Vec<_> = (0..len).map(|_| (draw.octet(), draw.octet())).collect();
        let host: &mut PadHost = self.graph.protocol_mut(node).unwrap();
        if reads {
            let numbers: Vec<_> = pairs.iter().map(|(number, _)| *number).collect();
            host.read(&numbers);
        } else {
            host.set(&pairs);
        }
        self.wake(node, PadHost::WAKE);
    }

    fn step(&mut self, draw: &mut Draw<'_>) {
        /// What people type at a PAD.
        const TYPED: [&[u8]; 16] = [
            b"123\r",
            b"R,Gab12,Nname-123Dhi\r",
            b"\x10",
            b"clr\r",
            b"stat\r",
            b"par?\r",
            b"set 3:0,4:1\r",
            b"set? 2:0,5:1\r",
            b"prof 91\r",
            b"int\r",
            b"reset\r",
            b"break\r",
            b"\x11",
            b"\x13",
            // Of Telnet: a break, and an option.
            b"\xff\xf3",
            b"\xff\xfd\x00",
        ];
        let terminal = self.terminal.as_ref().map(|it| it.device);
        let program = self.program.as_ref().map(|it| it.device);
        let what = draw.octet();
        let of = if what & 1 == 0 { terminal } else { program };
        match what {
            0..=49 => {
                if let Some(terminal) = terminal {
                    self.says(terminal, TYPED[draw.below(TYPED.len())]);
                }
            }
            50..=109 => {
                let len = draw.octet();
                let octets = draw.take(len.into());
                if let Some(of) = of {
                    self.says(of, octets);
                }
            }
            // A PAD message of a type that there is.
            110..=139 => {
                let len = draw.octet() & 31;
                let rest = draw.take(len.into());
                self.wish(9, [&[what & 15], rest].concat());
            }
            140..=189 => {
                let len = draw.octet() & 63;
                let octets = draw.take(len.into()).to_vec();
                self.wish(what - 140, octets);
            }
            190..=199 => self.parameters(draw),
            200..=219 => self.pass(Duration::from_millis(20) * u64::from(draw.octet())),
            220..=224 => self.pass(Duration::from_secs(1) * u64::from(draw.octet())),
            // Who reads stops reading, goes on, or takes a little.
            225..=230 => {
                if let Some(stream) = of.and_then(|it| self.stream(it)) {
                    stream.takes = !stream.takes;
                }
            }
            231..=242 => {
                let octets = u64::from(draw.octet());
                if let Some(of) = of {
                    self.make_room(of, octets);
                }
            }
            243..=246 => self.lost = (what - 242).into(),
            247..=251 => {
                for line in self.lines {
                    self.report(line, Report::Down);
                }
                for line in self.lines {
                    self.report(line, Report::Up);
                }
            }
            252 | 253 => {
                if let Some(of) = of.filter(|_| draw.once_in(4)) {
                    self.report(of, Report::Down);
                }
            }
            _ => {}
        }
    }

    /// Everybody reads what there is, the line goes, and then the terminal.
    fn end(&mut self) {
        self.lost = 0;
        let streams = [&self.terminal, &self.program];
        let devices = streams.map(|it| it.as_ref().map(|it| it.device));
        for device in devices.into_iter().flatten() {
            if let Some(stream) = self.stream(device) {
                stream.takes = true;
            }
            self.make_room(device, MOST_SHOWN as u64);
        }
        for line in self.lines {
            self.report(line, Report::Down);
        }
        self.pass(LONG);
        if let Some(host) = self.host {
            let host: &PadHost = self.graph.protocol(host).unwrap();
            assert_eq!(host.caller(), None, "a call is left");
        }
        let ([Some(terminal), _], Some(pad)) = (devices, self.pad) else {
            return;
        };
        // Who has typed X-OFF, or has a page before him, says X-ON, where there is room for it; then all is shown, and
        // what was typed ahead is done. A Telnet program first ends whatever it was at.
        let says = self.stream(terminal).is_some_and(|it| it.granted > 4);
        if says && self.stream(terminal).is_some_and(|it| it.ends_both) {
            self.says(terminal, b"\xff\xf0\xff\xf0");
        }
        for _ in 0..MOST_PAGES {
            if self.is_free(pad) {
                break;
            }
            self.says(terminal, b"\x11");
        }
        self.pass(LONG);
        assert!(!says || self.is_free(pad), "there is no line");
        self.report(terminal, Report::Down);
        self.pass(LONG);
        let is_over = self.graph.protocol::<Pad>(pad).unwrap().is_over();
        assert!(is_over, "its terminal has gone");
        assert!(self.is_free(pad), "nobody is there");
    }

    /// Whether a PAD has no call, nor has asked for one.
    fn is_free(&self, pad: NodeId) -> bool {
        let pad: &Pad = self.graph.protocol(pad).unwrap();
        matches!(pad.state(), State::Waiting | State::Command)
    }
}

fn run(octets: &[u8]) {
    let mut draw = Draw::new(octets);
    let mut world = World::new(&mut draw);
    for _ in 0..400 {
        if draw.is_empty() {
            break;
        }
        world.step(&mut draw);
    }
    world.end();
}
