//! A graph on a bench: users that say what they are told to, devices whose other end is the test.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench that is set up wrongly fails the test")]

use std::collections::VecDeque;

use kumiki_graph::{
    Above, Below, Context, Credit, DeviceId, Duration, Graph, Handle, Indication, Instant, Key, NodeId, Protocol,
    Reason, Report, Request, Service, Shape, TaskId, Unit,
};
use kumiki_octets::Message;

/// Stands on one layer, says what is in `queue` when told to, and keeps all that it hears.
pub struct User {
    keys: Vec<Key>,
    queue: Vec<Request>,
    heard: Vec<Indication>,
}

impl User {
    /// One that layers below find under `keys`.
    pub fn with_keys(keys: &[Key]) -> Self {
        Self { keys: keys.to_vec(), queue: Vec::new(), heard: Vec::new() }
    }
}

impl Protocol for User {
    fn shape(&self) -> Shape {
        Shape {
            offers: None,
            needs: &[Service::UNIT_DATA, Service::STREAM, Service::CONNECTION, Service::FRAME],
            below: (2, 2),
            keys: self.keys.clone(),
        }
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
        if from == Below(0) {
            self.heard.push(indication);
            return;
        }
        for request in self.queue.drain(..) {
            cx.down(Below(0), request);
        }
    }
}

/// A graph with one task, its time in the hands of the test.
pub struct Bench {
    /// The graph.
    pub graph: Graph,
    /// The time.
    pub now: Instant,
    task: TaskId,
    triggers: Vec<(NodeId, DeviceId)>,
    /// What two joined devices have sent each other, in order, and how many of the last wait.
    in_flight: VecDeque<(DeviceId, Message)>,
    waiting: usize,
    /// What devices may read.
    granted: Vec<(DeviceId, u64)>,
}

impl Bench {
    /// An empty one, whose random numbers are of seed 1.
    #[expect(clippy::new_without_default, reason = "a default of a bench would say nothing")]
    pub fn new() -> Self {
        Self::seeded(1)
    }

    /// As [`Bench::new`], of another seed.
    pub fn seeded(seed: u64) -> Self {
        let mut graph = Graph::new(seed, 0);
        let task = graph.add_task("cpu");
        Self {
            graph,
            now: Instant::ZERO,
            task,
            triggers: Vec::new(),
            in_flight: VecDeque::new(),
            waiting: 0,
            granted: Vec::new(),
        }
    }

    /// A device of unit data.
    pub fn device(&mut self, name: &str) -> DeviceId {
        self.graph.add_device(name, Service::UNIT_DATA).unwrap()
    }

    /// A node on the layers `below`.
    pub fn node(&mut self, name: &str, below: &[&str], protocol: impl Protocol) -> NodeId {
        self.boxed(name, below, Box::new(protocol))
    }

    /// As [`Bench::node`].
    pub fn boxed(&mut self, name: &str, below: &[&str], protocol: Box<dyn Protocol>) -> NodeId {
        let node = self.graph.add_node(name, self.task, protocol).unwrap();
        for below in below {
            self.graph.connect(name, below).unwrap();
        }
        node
    }

    /// A user called `name` on the layer `below`.
    pub fn user(&mut self, name: &str, below: &str, keys: &[Key]) -> NodeId {
        let trigger = format!("tell {name}");
        let device = self.device(&trigger);
        let node = self.node(name, &[below, &trigger], User::with_keys(keys));
        self.triggers.push((node, device));
        node
    }

    /// Starts the graph, when all is connected.
    pub fn start(&mut self) {
        self.graph.start(self.now).unwrap();
        self.run();
    }

    fn run(&mut self) {
        while self.graph.waiting(self.task).is_some() {
            self.graph.run(self.task, self.now, 1);
        }
    }

    /// Lets `user` hand down `request`.
    pub fn say(&mut self, user: NodeId, request: Request) {
        let &(_, device) = self.triggers.iter().find(|(node, _)| *node == user).unwrap();
        self.graph.protocol_mut::<User>(user).unwrap().queue.push(request);
        self.graph.input(self.now, device, Indication::Report(Box::new(Report::Up)));
        self.run();
    }

    /// As [`Bench::say`], for a unit.
    pub fn send(&mut self, user: NodeId, unit: impl Into<Box<Unit>>) {
        self.say(user, Request::Unit(unit.into()));
    }

    /// What `user` has heard since this was last asked.
    pub fn heard(&mut self, user: NodeId) -> Vec<Indication> {
        core::mem::take(&mut self.graph.protocol_mut::<User>(user).unwrap().heard)
    }

    /// The units among what `user` has heard; the rest is let go.
    pub fn units(&mut self, user: NodeId) -> Vec<Unit> {
        let unit = |heard| {
            let Indication::Unit(unit) = heard else {
                return None;
            };
            Some(*unit)
        };
        self.heard(user).into_iter().filter_map(unit).collect()
    }

    /// The reports among what `user` has heard; the rest is let go.
    pub fn reports(&mut self, user: NodeId) -> Vec<Report> {
        let report = |heard| {
            let Indication::Report(report) = heard else {
                return None;
            };
            Some(*report)
        };
        self.heard(user).into_iter().filter_map(report).collect()
    }

    /// Lets `unit` come in from `device`.
    pub fn receive(&mut self, device: DeviceId, unit: impl Into<Box<Unit>>) {
        self.indicate(device, Indication::Unit(unit.into()));
    }

    /// Lets octets come in from `device`.
    pub fn octets(&mut self, device: DeviceId, octets: &[u8]) {
        let data = Message::from_octets(octets);
        self.receive(device, Unit::of(data));
    }

    /// Lets `indication` come from `device`.
    pub fn indicate(&mut self, device: DeviceId, indication: Indication) {
        self.graph.input(self.now, device, indication);
        self.run();
    }

    /// All that has gone out to devices since this was last asked.
    pub fn requests(&mut self) -> Vec<(DeviceId, Request)> {
        core::iter::from_fn(|| self.graph.output()).map(|output| (output.device, output.request)).collect()
    }

    /// The units among what has gone out; the rest is let go.
    pub fn sent(&mut self) -> Vec<(DeviceId, Unit)> {
        let unit = |(device, request)| {
            let Request::Unit(unit) = request else {
                return None;
            };
            Some((device, *unit))
        };
        self.requests().into_iter().filter_map(unit).collect()
    }

    /// As [`Bench::sent`], the octets alone.
    pub fn sent_octets(&mut self) -> Vec<Vec<u8>> {
        let octets = |(_, unit): (DeviceId, Unit)| unit.data.to_vec();
        self.sent().into_iter().map(octets).collect()
    }

    /// Lets `time` pass, timers included, after what waits now (a node that was woken).
    pub fn pass(&mut self, time: Duration) {
        self.run();
        let until = self.now + time;
        while let Some(due) = self.graph.next_timer().filter(|&due| due <= until) {
            self.now = due;
            self.graph.fire(due);
            self.run();
        }
        self.now = until;
    }

    /// Carries what goes out by one of two devices in by the other, as far as that was granted, until nothing moves. As
    /// a connection of the operating system, each gives room back for what has arrived. Gives what went out in this
    /// time.
    pub fn exchange(&mut self, a: DeviceId, b: DeviceId) -> Vec<(DeviceId, Vec<u8>)> {
        let mut seen = Vec::new();
        loop {
            let mut moved = false;
            while let Some(output) = self.graph.output() {
                moved = true;
                let from = output.device;
                if let Request::Credit { credit, .. } = output.request {
                    self.granted.push((from, credit.octets));
                } else if let Request::Unit(unit) = output.request
                    && (from == a || from == b)
                {
                    seen.push((from, unit.data.to_vec()));
                    self.in_flight.push_back((from, unit.data));
                }
            }
            for _ in 0..self.in_flight.len() {
                let Some((from, mut data)) = self.in_flight.pop_front() else {
                    break;
                };
                let to = if from == a { b } else { a };
                // What is behind something that waits waits as well.
                let behind = self.in_flight.iter().rev();
                let waits = behind.take(self.waiting).any(|(other, _)| *other == from);
                let allowed = if waits { 0 } else { self.take_grant(to, data.len()) };
                let rest = data.split_to(allowed).map(|first| {
                    if allowed > 0 {
                        moved = true;
                        let credit = Credit::octets(allowed as u64);
                        let session = Handle::default();
                        self.indicate(from, Indication::Credit { session, credit });
                        self.receive(to, Unit::of(first));
                    }
                    data
                });
                let rest = rest.unwrap();
                if !rest.is_empty() {
                    self.waiting += 1;
                    self.in_flight.push_back((from, rest));
                }
            }
            self.waiting = 0;
            if !moved {
                return seen;
            }
        }
    }

    /// As much of `want` as `device` may still read.
    fn take_grant(&mut self, device: DeviceId, want: usize) -> usize {
        let mut left = want as u64;
        for (of, octets) in &mut self.granted {
            if *of == device {
                let take = left.min(*octets);
                *octets -= take;
                left -= take;
            }
        }
        self.granted.retain(|(_, octets)| *octets > 0);
        want - usize::try_from(left).unwrap()
    }

    /// Both devices have a peer, and room.
    pub fn join(&mut self, a: DeviceId, b: DeviceId) {
        for device in [a, b] {
            self.indicate(device, Indication::Report(Box::new(Report::Up)));
            let (session, credit) = (Handle::default(), Credit::octets(1 << 20));
            self.indicate(device, Indication::Credit { session, credit });
        }
    }

    /// How often `node` has dropped something for `reason`.
    pub fn drops(&self, node: &str, reason: &str) -> u64 {
        self.graph
            .accounts()
            .find(|(name, _)| *name == node)
            .and_then(|(_, account)| account.drops.get(reason).copied())
            .unwrap_or(0)
    }
}

/// So many cases of a property in the ordinary suite; as many as `PROPTEST_CASES` says where it is set.
pub fn cases(few: u32) -> proptest::test_runner::Config {
    let told = std::env::var("PROPTEST_CASES");
    let told = told.ok().and_then(|told| told.parse().ok());
    proptest::test_runner::Config::with_cases(told.unwrap_or(few))
}

/// Panics unless a user reads of `reason` that `layer` here found its peer to break the protocol, how, and by which
/// octets: `told` is all that stands behind that in the text, as "version is 5, expected 3 (octets 05 00 ...)".
#[track_caller]
pub fn assert_violation(reason: Option<&Reason>, layer: &str, told: &str) {
    let expected = format!("{layer}: the peer broke the protocol: {told}");
    let Some(reason @ Reason::Violation(_)) = reason else { panic!("{reason:?}; expected {expected}") };
    assert_eq!(reason.to_string(), expected);
}

/// The octets that hexadecimal text says; blanks do not count.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().filter_map(|c| c.to_digit(16)).map(|digit| u8::try_from(digit).unwrap()).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}
