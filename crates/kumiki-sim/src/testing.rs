//! Small protocols and media for this crate's tests, and a record of what happened when.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use kumiki_graph::{
    Above, Address, Below, Context, DeviceId, Duration, Graph, Indication, Instant, Key, NodeId, Protocol, Request,
    Service, Shape, TaskId, Token, Unit as UnitData,
};
use kumiki_link::{Element, Outlet, Unit};
use kumiki_octets::Message;

use crate::{ElementId, Host, HostId, Plug, World};

/// `n` microseconds.
pub(crate) const fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

/// `n` microseconds after the start.
pub(crate) fn at(n: u64) -> Instant {
    Instant::ZERO + us(n)
}

/// What happened when, in microseconds.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<(u64, String)>>>);

impl Log {
    pub(crate) fn say(&self, now: Instant, what: &str) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.push((now.as_nanos() / 1_000, what.to_owned()));
    }

    /// As `"0 a, 10 b"`, and starts over.
    pub(crate) fn take(&self) -> String {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<String> = log.drain(..).map(|(at, what)| format!("{at} {what}")).collect();
        lines.join(", ")
    }
}

/// What an [`Actor`] is told.
pub(crate) enum Event {
    Start,
    Push(Request),
    Pop(Indication),
    Expire,
    Ready(u32),
    Settle,
}

type ActorFn = dyn FnMut(Event, &mut Context<'_>) + Send;

/// A node that does what a closure says.
pub(crate) struct Actor(Box<ActorFn>);

impl Protocol for Actor {
    fn shape(&self) -> Shape {
        Shape { offers: Some(Service::UNIT_DATA), needs: &[Service::UNIT_DATA], below: (0, 4), keys: vec![Key::Only] }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        (self.0)(Event::Start, cx);
    }

    fn push(&mut self, _: Above, request: Request, cx: &mut Context<'_>) {
        (self.0)(Event::Push(request), cx);
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        (self.0)(Event::Pop(indication), cx);
    }

    fn expire(&mut self, _: Token, cx: &mut Context<'_>) {
        (self.0)(Event::Expire, cx);
    }

    fn ready(&mut self, token: Token, cx: &mut Context<'_>) {
        (self.0)(Event::Ready(token.kind), cx);
    }

    fn settle(&mut self, cx: &mut Context<'_>) {
        (self.0)(Event::Settle, cx);
    }
}

/// A graph under construction, each node in a task of its own name.
pub(crate) struct Builder(pub(crate) Graph);

impl Builder {
    pub(crate) fn new() -> Self {
        Self(Graph::new(1, 0))
    }

    pub(crate) fn device(&mut self, name: &str) -> DeviceId {
        self.0.add_device(name, Service::UNIT_DATA).unwrap()
    }

    pub(crate) fn actor(
        &mut self,
        name: &str,
        below: &[&str],
        act: impl FnMut(Event, &mut Context<'_>) + Send + 'static,
    ) -> TaskId {
        self.node(name, below, act).0
    }

    pub(crate) fn node(
        &mut self,
        name: &str,
        below: &[&str],
        act: impl FnMut(Event, &mut Context<'_>) + Send + 'static,
    ) -> (TaskId, NodeId) {
        let task = self.0.add_task(name);
        (task, self.node_in(task, name, below, act))
    }

    /// As [`Builder::node`], in the task of another.
    pub(crate) fn node_in(
        &mut self,
        task: TaskId,
        name: &str,
        below: &[&str],
        act: impl FnMut(Event, &mut Context<'_>) + Send + 'static,
    ) -> NodeId {
        let node = self.0.add_node(name, task, Box::new(Actor(Box::new(act)))).unwrap();
        for below in below {
            self.0.connect(name, below).unwrap();
        }
        node
    }

    pub(crate) fn host(self, name: &str) -> Host {
        Host::new(name, self.0)
    }
}

/// A token for timer or wait `kind`.
pub(crate) fn token(kind: u32) -> Token {
    Token { kind, ..Token::default() }
}

/// Hands down a unit with these octets.
pub(crate) fn send(cx: &mut Context<'_>, octets: &[u8]) {
    let data = Message::from_octets(octets);
    cx.down(Below(0), Request::Unit(Box::new(UnitData::of(data))));
}

/// The text that a unit carries.
pub(crate) fn text(data: &Message) -> String {
    String::from_utf8_lossy(&data.to_vec()).into_owned()
}

/// What a medium says back to a host whose frame has left.
fn sent(address: Address) -> Unit {
    Unit::Sent { number: 0, address, whole: true }
}

/// A line with two ends on which each frame takes its time; it puts on record what it is offered.
pub(crate) struct Line {
    frame: Duration,
    log: Log,
    free_at: [Instant; 2],
    /// When something leaves by which port.
    leaving: VecDeque<(Instant, usize, Unit)>,
}

impl Line {
    pub(crate) fn new(frame: Duration, log: &Log) -> Self {
        Self { frame, log: log.clone(), free_at: [Instant::ZERO; 2], leaving: VecDeque::new() }
    }

    /// A line by whose port 1 each of these frames leaves, one by one, without having been offered.
    pub(crate) fn generating(frames: &[(u64, &str)], log: &Log) -> Self {
        let mut line = Self::new(Duration::ZERO, log);
        for (when, octets) in frames {
            let data = Message::from_octets(octets.as_bytes());
            let address = Address::NONE;
            line.leave(at(*when), 1, Unit::Frame { data, address });
        }
        line
    }

    fn leave(&mut self, at: Instant, port: usize, unit: Unit) {
        let place = self.leaving.partition_point(|(other, ..)| *other <= at);
        self.leaving.insert(place, (at, port, unit));
    }
}

impl Element for Line {
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, _: &mut Outlet) {
        let Unit::Frame { data, address } = unit else {
            return;
        };
        self.log.say(now, &format!("offered {}", text(&data)));
        let done = now.max(self.free_at[port]) + self.frame;
        self.free_at[port] = done;
        self.leave(done, port, sent(address));
        self.leave(done, 1 - port, Unit::Frame { data, address });
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.leaving.front().map(|(at, ..)| *at)
    }

    fn poll(&mut self, now: Instant, out: &mut Outlet) {
        while let Some((_, port, unit)) = self.leaving.pop_front_if(|(at, ..)| *at <= now) {
            out.put(port, unit);
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// A world with one host, its first device on port 1 of `line` whose other end is loose.
pub(crate) fn alone(host: Host, line: Line) -> (World, HostId) {
    let mut world = World::new();
    let host = world.add_host(host);
    let line: ElementId = world.add_element("line", Box::new(line));
    world.plug(Plug::Device(host, DeviceId(0)), Plug::Port(line, 1));
    world.start().unwrap();
    (world, host)
}

/// A world with one host that has nothing plugged in.
pub(crate) fn unplugged(host: Host) -> (World, HostId) {
    let mut world = World::new();
    let host = world.add_host(host);
    world.start().unwrap();
    (world, host)
}
