//! Users of files and their server on all seven layers, and any octets between them.
//!
//! By FTAM (`files`) or by MMS (`mms`). A client does a plan, and what it and the server send each other is lost,
//! doubled, changed, put into other pieces or made up, at any layer from the stream to the protocol of files; or the
//! target is the caller itself. Nothing panics, nobody talks without end, memory is bounded, and when the connection is
//! over nothing is left of the association. Then another client does all that it is to do, as though nothing had been.

use std::sync::{Arc, Mutex};

use kumiki_files::file_user::{Config, Failure, FileClient, Operation, PutMode, Settings, Sink};
use kumiki_files::filestore::{Config as ServerConfig, FileServer, Guard, Memory, ResponderConfig};
use kumiki_files::ftam::{self, Ftam};
use kumiki_files::mms::{self, Mms};
use kumiki_files::mms_files;
use kumiki_graph::{
    Above, Below, Context, Duration, Graph, Indication, Instant, NodeId, Protocol, Request, Service, Shape, TaskId,
    Token,
};
use kumiki_octets::Message;
use kumiki_osi::acse::{self, Acse};
use kumiki_osi::presentation::{self, Presentation};
use kumiki_osi::session::{self, Session};
use kumiki_osi::tp0::{self, Tp0};
use kumiki_osi::tpkt::{self, Tpkt};
use kumiki_osi_service::ftam::FunctionalUnits;
use kumiki_osi_service::ftam::contents::{ContentsType, StringClass};
use kumiki_wire::osi::cotp::Tpdu;

use crate::packet::SHOWN;
use crate::passing::Passing;
use crate::wires::{WireAction, Wires, packets};
use crate::{Draw, Target, within_mb};

pub(crate) const TARGET: Target = Target {
    name: "files",
    title: "users of files and their server, and any octets between them at any layer",
    run: |octets| within_mb(96.0, || run(Kind::Ftam, octets)),
};

pub(crate) const MMS: Target = Target {
    name: "mms",
    title: "the same by the file services of MMS",
    run: |octets| within_mb(96.0, || run(Kind::Mms, octets)),
};

/// By which protocol.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ftam,
    Mms,
}

impl Kind {
    /// The highest layer below the users.
    fn layer(self) -> (&'static str, Box<dyn Protocol>) {
        match self {
            Self::Ftam => ("ftam", Box::new(Ftam::new(ftam::Config::default()))),
            Self::Mms => ("mms", Box::new(Mms::new(mms::Config::default()))),
        }
    }

    fn server(self) -> Box<dyn Protocol> {
        let guard = Guard::new(Box::new(Memory::new()));
        match self {
            Self::Ftam => {
                let responder = ResponderConfig { local_newlines: true, ..ResponderConfig::default() };
                let config = ServerConfig { responder, ..ServerConfig::default() };
                Box::new(FileServer::new(config, guard))
            }
            Self::Mms => Box::new(mms_files::FileServer::new(mms_files::Config::default(), guard)),
        }
    }

    /// A client, which waits without end if `is_patient`.
    fn client(self, plan: Vec<Operation>, settings: Settings, is_patient: bool) -> Box<dyn Protocol> {
        match self {
            Self::Ftam => {
                let mut config = Config { settings, ..Config::default() };
                if is_patient {
                    config.idle = Duration::ZERO;
                }
                Box::new(FileClient::new(config, plan))
            }
            Self::Mms => {
                let mut config = mms_files::ClientConfig {
                    settings: mms_files::Settings {
                        element: settings.element,
                        window: settings.checkpoint_window,
                        ..mms_files::Settings::default()
                    },
                    ..mms_files::ClientConfig::default()
                };
                if is_patient {
                    config.idle = Duration::ZERO;
                }
                Box::new(mms_files::FileClient::new(config, plan))
            }
        }
    }

    /// The presentation context of association control in the clients' proposals.
    const fn acse_context(self) -> u8 {
        match self {
            Self::Ftam => 3,
            Self::Mms => 1,
        }
    }
}

/// After so long without a word everybody has given up.
const LONG: Duration = Duration::from_secs(4 * 3600);
/// The most TPKTs of one association here: many times what a plan takes.
const MOST_PACKETS: usize = 5_000;

/// Holds what a client says back until it is woken.
#[derive(Default)]
struct Gate {
    open: bool,
    held: Vec<Request>,
}

impl Protocol for Gate {
    fn shape(&self) -> Shape {
        Shape { offers: Some(Service::CONNECTION), needs: &[Service::CONNECTION], below: (1, 1), keys: Vec::new() }
    }

    fn push(&mut self, _: Above, request: Request, cx: &mut Context<'_>) {
        if self.open {
            cx.down(Below(0), request);
        } else {
            self.held.push(request);
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        cx.up(Above(0), indication);
    }

    fn expire(&mut self, _: Token, cx: &mut Context<'_>) {
        self.open = true;
        for request in core::mem::take(&mut self.held) {
            cx.down(Below(0), request);
        }
    }
}

/// What was fetched.
#[derive(Clone, Default)]
struct MemorySink(Arc<Mutex<Vec<u8>>>);

impl Sink for MemorySink {
    fn write(&mut self, offset: u64, data: Message) -> Result<(), String> {
        let mut kept = self.0.lock().unwrap();
        kept.resize(usize::try_from(offset).unwrap(), 0);
        kept.extend(data.to_vec());
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        Ok(())
    }
}

fn put(name: &str, content: &[u8]) -> Operation {
    Operation::Put {
        name: name.to_owned(),
        contents_type: ContentsType::binary(),
        mode: PutMode::Replace,
        source: Box::new(Message::from_octets(content)),
    }
}

fn get(name: &str, shelf: &MemorySink) -> Operation {
    Operation::Get { name: name.to_owned(), contents_type: None, restart_at: 0, sink: Box::new(shelf.clone()) }
}

/// A text, whose lines end otherwise at the server.
fn put_text(name: &str) -> Operation {
    Operation::Put {
        name: name.to_owned(),
        contents_type: ContentsType::text(StringClass::General),
        mode: PutMode::Replace,
        source: Box::new(Message::from_octets(&b"a line\r\n\r\r\n\n".repeat(1000))),
    }
}

/// What the first client does.
fn plan(which: u8, shelf: &MemorySink) -> Vec<Operation> {
    let name = || "a file".to_owned();
    let all = [
        if which >> 7 == 1 { put_text("a file") } else { put("a file", &[7; 5000]) },
        get("a file", shelf),
        Operation::List { name: String::new() },
        Operation::Stat { name: name() },
        Operation::Rename { name: name(), to: "another".to_owned() },
        Operation::MakeDirectory { name: "folder".to_owned() },
        get("there is none", shelf),
        Operation::Remove { name: "another".to_owned() },
    ];
    let wanted = |place: &usize| which == 0 || which >> place & 1 == 1;
    let chosen = all.into_iter().enumerate();
    chosen.filter_map(|(place, it)| wanted(&place).then_some(it)).collect()
}

struct World {
    kind: Kind,
    graph: Graph,
    task: TaskId,
    now: Instant,
    wires: NodeId,
    server: NodeId,
    clients: [NodeId; 2],
    gates: [NodeId; 2],
    /// Octets of each side of the connection that are no whole TPKT yet.
    parts: [Vec<u8>; 2],
    /// TPKTs in progress to each side.
    in_flight: [Vec<Vec<u8>>; 2],
    /// Those that were sent, to be retransmitted.
    last: Vec<Vec<u8>>,
    carried: usize,
    /// The TSDU that each side is sending.
    tsdus: [Vec<u8>; 2],
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
    fn new(kind: Kind, plans: [Vec<Operation>; 2], settings: Settings) -> Self {
        let mut graph = Graph::new(1, 0);
        let task = graph.add_task("cpu");
        let wires = Box::new(Wires::default());
        let wires = graph.add_node("wires", task, wires).unwrap();
        let mut stack = |whose: &str| {
            let nodes: [(&str, Box<dyn Protocol>); 6] = [
                ("tpkt", Box::new(Tpkt::new(tpkt::Config::default()))),
                ("tp0", Box::new(Tp0::new(tp0::Config::default()))),
                ("session", Box::new(Session::new(session::Config::default()))),
                ("presentation", Box::new(Presentation::new(presentation::Config::default()))),
                ("acse", Box::new(Acse::new(acse::Config::default()))),
                kind.layer(),
            ];
            let mut below = "wires".to_owned();
            for (layer, protocol) in nodes {
                let name = format!("{layer} {whose}");
                graph.add_node(&name, task, protocol).unwrap();
                graph.connect(&name, &below).unwrap();
                below = name;
            }
            below
        };
        let tops = ["server", "first", "second"].map(&mut stack);
        let server = graph.add_node("server", task, kind.server()).unwrap();
        graph.connect("server", &tops[0]).unwrap();
        let mut plans = plans.into_iter();
        let mut ends = [1, 2].map(|number: usize| {
            let (gate, client) = (format!("gate {number}"), format!("client {number}"));
            let it = Box::new(Gate::default());
            let gate_node = graph.add_node(&gate, task, it).unwrap();
            graph.connect(&gate, &tops[number]).unwrap();
            let settings = if number == 1 { settings.clone() } else { Settings::default() };
            // The second one hears nothing for hours, behind its gate.
            let it = kind.client(plans.next().unwrap(), settings, number == 2);
            let node = graph.add_node(&client, task, it).unwrap();
            graph.connect(&client, &gate).unwrap();
            Some((node, gate_node))
        });
        let [first, second] = [0, 1].map(|number: usize| ends[number].take().unwrap());
        graph.start(Instant::ZERO).unwrap();
        let mut world = Self {
            kind,
            graph,
            task,
            now: Instant::ZERO,
            wires,
            server,
            clients: [first.0, second.0],
            gates: [first.1, second.1],
            parts: [Vec::new(), Vec::new()],
            in_flight: [Vec::new(), Vec::new()],
            last: Vec::new(),
            carried: 0,
            tsdus: [Vec::new(), Vec::new()],
        };
        world.run();
        world
    }

    fn run(&mut self) {
        while self.graph.waiting(self.task).is_some() {
            self.graph.run(self.task, self.now, 1);
        }
    }

    fn wake(&mut self, node: NodeId) {
        self.graph.wake(self.now, node, Token::default());
        self.graph.fire(self.now);
        self.run();
    }

    fn wires(&mut self) -> &mut Wires {
        self.graph.protocol_mut(self.wires).unwrap()
    }

    fn act(&mut self, act: WireAction) {
        self.wires().act(act);
        self.wake(self.wires);
    }

    /// Whether this client is done, and why it failed.
    fn client(&self, number: usize) -> (bool, Option<Failure>) {
        let node = self.clients[number];
        match self.kind {
            Kind::Ftam => {
                let client: &FileClient = self.graph.protocol(node).unwrap();
                (client.is_over(), client.plan().failure().cloned())
            }
            Kind::Mms => {
                let client: &mms_files::FileClient = self.graph.protocol(node).unwrap();
                (client.is_over(), client.plan().failure().cloned())
            }
        }
    }

    /// The server's associations, and who guards its store.
    fn server(&mut self) -> (usize, &mut Guard) {
        match self.kind {
            Kind::Ftam => {
                let server: &mut FileServer = self.graph.protocol_mut(self.server).unwrap();
                (server.associations(), server.guard())
            }
            Kind::Mms => {
                let server: &mut mms_files::FileServer = self.graph.protocol_mut(self.server).unwrap();
                (server.associations(), server.guard())
            }
        }
    }

    /// What both sides of `connection` have sent is in progress.
    fn collect(&mut self, connection: usize) {
        for side in 0..2 {
            let out = match self.wires().connections.get_mut(connection) {
                Some(sides) => core::mem::take(&mut sides[side].out),
                None => return,
            };
            self.parts[side].extend(out);
            for packet in packets(&mut self.parts[side]) {
                self.carried += 1;
                show(connection, side, &packet);
                check(&packet[4..], &mut self.tsdus[side]);
                assert!(self.carried < MOST_PACKETS, "they talk without end");
                if self.last.len() >= 40 {
                    self.last.remove(0);
                }
                self.last.push(packet.clone());
                self.in_flight[1 - side].push(packet);
            }
            assert!(self.parts[side].is_empty(), "what is sent is whole TPKTs");
        }
    }

    /// The next TPKT to `side`, if it takes it.
    fn next(&mut self, connection: usize, side: usize) -> Option<Vec<u8>> {
        self.collect(connection);
        let packet = self.in_flight[side].first()?;
        let len = packet.len() as u64;
        let room = self.wires().connections.get(connection)?[side].granted;
        (room >= len).then(|| self.in_flight[side].remove(0))
    }

    fn say(&mut self, connection: usize, side: usize, octets: Vec<u8>) {
        if !octets.is_empty() {
            self.act(WireAction::Octets(connection, side, octets));
        }
    }

    /// Who has released it is believed, when all it has sent has arrived.
    fn end(&mut self, connection: usize) -> bool {
        self.collect(connection);
        let mut moved = false;
        for side in 0..2 {
            let sides = self.wires().connections.get(connection);
            let released = sides.is_some_and(|sides| sides[1 - side].released && sides[side].stands);
            if released && self.in_flight[side].is_empty() {
                self.act(WireAction::Released(connection, side));
                self.collect(connection);
                moved |= self.in_flight.iter().any(|it| !it.is_empty());
            }
        }
        moved
    }

    /// All goes as it should, until nothing moves.
    fn honest(&mut self, connection: usize) {
        loop {
            let mut moved = false;
            for side in 0..2 {
                if let Some(packet) = self.next(connection, side) {
                    self.say(connection, side, packet);
                    moved = true;
                }
            }
            if !moved && !self.end(connection) {
                return;
            }
        }
    }

    fn step(&mut self, draw: &mut Draw<'_>, connection: usize, fed: u8) {
        let what = draw.octet();
        if what < 120 {
            for side in 0..2 {
                if let Some(packet) = self.next(connection, side) {
                    self.say(connection, side, packet);
                }
            }
            self.end(connection);
            return;
        }
        // Who hears what is wrong.
        let side = match fed & 3 {
            0 => 1,
            1 => 0,
            _ => usize::from(what & 1),
        };
        match what {
            120..=199 => {
                let Some(mut packet) = self.next(connection, side) else {
                    return self.pass(Duration::from_millis(100));
                };
                match what {
                    120..=149 => {
                        let at = draw.below(packet.len());
                        packet[at] ^= draw.octet();
                    }
                    // Some octets are others, more or fewer of them; the lengths of the lowest layer are right.
                    150..=175 => {
                        let at = 4 + draw.below(packet.len() - 4);
                        let (out, new) = (usize::from(draw.octet() & 15), draw.octet() & 15);
                        let out = at..(at + out).min(packet.len());
                        packet.splice(out, draw.take(new.into()).iter().copied());
                        packet = framed(&packet[4..]);
                    }
                    176..=181 => return,
                    182..=187 => self.in_flight[side].insert(0, packet.clone()),
                    // A DT becomes two: this is right.
                    _ => {
                        if let Some(body) = packet.strip_prefix(&[3, 0, packet[2], packet[3], 2, 0xf0, 0x80]) {
                            let (first, second) = body.split_at(draw.below(body.len()));
                            let first = framed(&[&[2, 0xf0, 0], first].concat());
                            let second = framed(&[&[2, 0xf0, 0x80], second].concat());
                            packet = [first, second].concat();
                        }
                    }
                }
                self.say(connection, side, packet);
            }
            200..=209 => {
                let place = draw.below(self.last.len());
                if let Some(packet) = self.last.get(place).cloned() {
                    self.say(connection, side, packet);
                }
            }
            210..=239 => {
                let packet = made(draw, what, self.kind.acse_context());
                self.say(connection, side, packet);
            }
            240..=243 => self.act(WireAction::Released(connection, side)),
            244 => self.act(WireAction::Break(connection)),
            _ => {
                let time = u64::from(draw.octet());
                self.pass(Duration::from_millis(10) * (time * time));
            }
        }
    }
}

/// What a side has sent is right, up to session.
fn check(tpdu: &[u8], tsdu: &mut Vec<u8>) {
    let (found, len) = Tpdu::parse(tpdu, tpdu.len()).expect("it is ours");
    if let Tpdu::Data(data) = found {
        tsdu.extend_from_slice(&tpdu[len..]);
        if data.eot {
            let tsdu = Message::from_octets(&core::mem::take(tsdu));
            kumiki_wire::osi::session::parse(tsdu).expect("it is ours");
        }
    }
}

/// Prints what a side has sent, where that is asked for.
fn show(connection: usize, side: usize, packet: &[u8]) {
    if *SHOWN {
        let head = &packet[4..packet.len().min(64)];
        println!("{connection} {side} {} octets: {head:02x?}", packet.len());
    }
}

/// A TPKT around `body`.
fn framed(body: &[u8]) -> Vec<u8> {
    let len = u16::try_from(body.len() + 4).unwrap().to_be_bytes();
    [&[3, 0, len[0], len[1]], body].concat()
}

/// `content` behind an identifier and a length of BER or, alike where it is short, of session.
fn within(code: u8, content: &[u8]) -> Vec<u8> {
    let len = u8::try_from(content.len()).unwrap();
    let head = if len < 128 { vec![code, len] } else { vec![code, 0x81, len] };
    [head, content.to_vec()].concat()
}

/// What nobody has sent: right up to some layer.
fn made(draw: &mut Draw<'_>, what: u8, acse: u8) -> Vec<u8> {
    let len = draw.octet() & 0x7f;
    let code = draw.octet();
    let content = draw.take(len.into());
    let data = |tsdu: &[u8]| framed(&[&[2, 0xf0, 0x80], tsdu].concat());
    // A presentation data value in a context of the client's.
    let value = |context: u8, content: &[u8]| {
        let value = within(0xa0, content);
        within(0x61, &within(0x30, &[&[2, 1, context], &value[..]].concat()))
    };
    match what % 6 {
        0 => content.to_vec(),
        1 => framed(content),
        2 => data(content),
        3 => data(&[&[code, len.min(100)], &content[..content.len().min(100)]].concat()),
        4 => {
            let context = 1 + 2 * (code >> 5);
            let content = &content[..content.len().min(90)];
            data(&[&[1, 0, 1, 0], &value(context, content)[..]].concat())
        }
        // FN, DN, AB and others, with user data in the context of association control.
        _ => {
            let code = [9, 10, 25, 12, 14, 13, 8, 26][usize::from(code & 7)];
            let user = within(0xc1, &value(acse, &content[..content.len().min(60)]));
            data(&within(code, &user))
        }
    }
}

fn run(kind: Kind, octets: &[u8]) {
    let mut draw = Draw::new(octets);
    let (how, which) = (draw.octet(), draw.octet());
    let shelf = MemorySink::default();
    let content: Vec<u8> = (0..4000_u16).flat_map(u16::to_be_bytes).collect();
    let second = vec![put("the last words", &content), get("the last words", &shelf)];
    let mut settings = Settings { element: 700, checkpoint_every: 1500, ..Settings::default() };
    if how & 4 != 0 {
        settings.units = settings.units | FunctionalUnits::RECOVERY | FunctionalUnits::RESTART_DATA_TRANSFER;
    }
    let mut world = World::new(kind, [plan(which, &MemorySink::default()), second], settings);
    // The target calls by itself, and all that is left is what it says.
    let is_alone = how & 8 != 0;
    if is_alone {
        world.act(WireAction::Call);
        let piece = 1 + draw.below(2000);
        while !draw.is_empty() {
            let octets = draw.take(piece).to_vec();
            world.say(0, 1, octets);
            world.collect(0);
            world.in_flight = [Vec::new(), Vec::new()];
        }
    } else {
        world.wake(world.gates[0]);
        world.act(WireAction::Connect(0));
        for _ in 0..300 {
            if draw.is_empty() {
                break;
            }
            world.step(&mut draw, 0, how);
        }
    }
    world.honest(0);
    world.pass(Duration::from_secs(1));
    world.honest(0);
    world.act(WireAction::Break(0));
    world.pass(LONG);
    if !is_alone {
        let (is_over, failure) = world.client(0);
        assert!(is_over, "{failure:?}");
    }
    let (associations, guard) = world.server();
    assert_eq!(associations, 0);
    guard.forget_interrupted();
    assert_eq!(guard.selections(), 0);
    // It is as though nothing had been.
    (world.parts, world.in_flight, world.tsdus) = Default::default();
    world.wake(world.gates[1]);
    let connection = world.wires().connections.len() - 1;
    world.act(WireAction::Connect(connection));
    for _ in 0..10 {
        world.honest(connection);
        world.pass(Duration::from_secs(1));
    }
    assert_eq!(world.client(1), (true, None));
    assert!(*shelf.0.lock().unwrap() == content);
}
