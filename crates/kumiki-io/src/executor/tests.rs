//! One graph, two clocks: what arrives is the same, whenever it does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kumiki_graph::{
    Above, Address, Below, Context, Credit, Handle, Key, Manage, Protocol, Report, Request, Service, Shape, TimerSlot,
    Token,
};
use kumiki_link::Wire;
use kumiki_octets::Message;

use super::*;
use crate::clock::{ManualClock, RealClock};
use crate::device::{Arrival, Descriptors, Sent};
use crate::memory_link::MemoryLink;

mod real;
mod supers;

const SESSIONS: u8 = 5;
const MESSAGES: u8 = 40;
const TIMEOUT: Duration = Duration::from_millis(2);

/// Repeats each message until it is acknowledged, one at a time in each session: frames of kind, session, number,
/// octets.
#[derive(Default)]
struct Repeater {
    sessions: BTreeMap<u32, Session>,
    repeated: u64,
}

#[derive(Default)]
struct Session {
    next_out: u8,
    next_in: u8,
    unacknowledged: Option<Vec<u8>>,
    timer: TimerSlot,
}

const DATA: u8 = 0;
const ACK: u8 = 1;

const fn handle(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

fn send(frame: &[u8], cx: &mut Context<'_>) {
    let unit = UnitData { data: Message::from_octets(frame), ..UnitData::default() };
    cx.down(Below(0), Request::Unit(Box::new(unit)));
}

impl Session {
    fn transmit(&mut self, index: u32, cx: &mut Context<'_>) {
        let Some(message) = &self.unacknowledged else {
            return;
        };
        let head = [DATA, u8::try_from(index).unwrap(), self.next_out];
        send(&[&head[..], message.as_slice()].concat(), cx);
        let token = Token { session: handle(index), kind: 0 };
        cx.set_timer(&mut self.timer, token, cx.now() + TIMEOUT);
    }
}

fn grant(index: u32, cx: &mut Context<'_>) {
    let (session, credit) = (handle(index), Credit::messages(1));
    cx.up(Above(0), Indication::Credit { session, credit });
}

impl Protocol for Repeater {
    fn shape(&self) -> Shape {
        Shape { offers: Some(Service::CONNECTION), needs: &[Service::FRAME], below: (1, 1), keys: vec![Key::Only] }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        for index in 0..u32::from(SESSIONS) {
            self.sessions.insert(index, Session::default());
            grant(index, cx);
        }
    }

    fn push(&mut self, _: Above, request: Request, cx: &mut Context<'_>) {
        if let Request::Data { session, data, .. } = request {
            let one = self.sessions.get_mut(&session.index).unwrap();
            assert!(one.unacknowledged.is_none(), "beyond credit");
            one.unacknowledged = Some(data.to_vec());
            one.transmit(session.index, cx);
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        let Indication::Unit(unit) = indication else {
            return;
        };
        let frame = unit.data.to_vec();
        let [kind, index, number, message @ ..] = frame.as_slice() else {
            panic!("short frame");
        };
        let one = self.sessions.get_mut(&u32::from(*index)).unwrap();
        if *kind == ACK {
            if *number == one.next_out && one.unacknowledged.take().is_some() {
                cx.clear_timer(&mut one.timer);
                one.next_out = one.next_out.wrapping_add(1);
                grant(u32::from(*index), cx);
            }
            return;
        }
        if *number == one.next_in {
            one.next_in = one.next_in.wrapping_add(1);
            let indication =
                Indication::Data { session: handle(u32::from(*index)), data: Message::from_octets(message), end: true };
            cx.up(Above(0), indication);
        }
        send(&[ACK, *index, *number], cx);
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        let index = token.session.index;
        let one = self.sessions.get_mut(&index).unwrap();
        assert!(one.unacknowledged.is_some(), "the timer was cleared");
        self.repeated += 1;
        one.transmit(index, cx);
    }
}

/// Says its messages as it gets credit, or says back what it hears.
struct Program {
    says: u8,
    credit: BTreeMap<u32, u32>,
    to_say: BTreeMap<u32, VecDeque<Vec<u8>>>,
    /// All that was heard, by session.
    heard: BTreeMap<u32, Vec<u8>>,
}

impl Program {
    fn new(says: u8) -> Self {
        let lines = |session: u8| (0..says).map(|n| format!("{session}.{n};").into_bytes()).collect();
        Self {
            says,
            credit: BTreeMap::new(),
            to_say: (0..SESSIONS).map(|n| (u32::from(n), lines(n))).collect(),
            heard: BTreeMap::new(),
        }
    }

    fn say(&mut self, index: u32, cx: &mut Context<'_>) {
        let credit = self.credit.entry(index).or_default();
        while *credit > 0
            && let Some(line) = self.to_say.get_mut(&index).and_then(VecDeque::pop_front)
        {
            *credit -= 1;
            let data = Message::from_octets(&line);
            let session = handle(index);
            cx.down(Below(0), Request::Data { session, data, end: true });
        }
    }
}

impl Protocol for Program {
    fn shape(&self) -> Shape {
        Shape { needs: &[Service::CONNECTION], below: (1, 1), ..Shape::default() }
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    #[expect(clippy::wildcard_enum_match_arm, reason = "the service under test has these two")]
    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Credit { session, credit } => {
                *self.credit.entry(session.index).or_default() += credit.messages;
                self.say(session.index, cx);
            }
            Indication::Data { session, data, .. } => {
                let line = data.to_vec();
                self.heard.entry(session.index).or_default().extend(&line);
                if self.says == 0 {
                    let queue = self.to_say.entry(session.index).or_default();
                    queue.push_back(line.to_ascii_uppercase());
                    self.say(session.index, cx);
                }
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A wire that loses some of what is put on it.
struct Lossy {
    wire: Wire,
    rng: Rng,
    lost: u64,
}

impl Lossy {
    fn boxed(seed: u64) -> Box<Self> {
        Box::new(Self { wire: Wire::new(Duration::from_micros(300)), rng: Rng::new(seed, 9), lost: 0 })
    }
}

impl Element for Lossy {
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        if self.rng.chance(0.1) {
            self.lost += 1;
        } else {
            self.wire.offer(now, port, unit, out);
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.wire.next_deadline()
    }

    fn poll(&mut self, now: Instant, out: &mut Outlet) {
        self.wire.poll(now, out);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("lost", self.lost)]
    }
}

const DEVICE: DeviceId = DeviceId(0);

/// A program that says so much, on a repeater, on a device; each in a task of its own.
fn graph(says: u8) -> Graph {
    let mut graph = Graph::new(1, 1);
    let (lower, upper) = (graph.add_task("lower"), graph.add_task("upper"));
    graph.add_device("dev", Service::FRAME).unwrap();
    graph.add_node("repeater", lower, Box::new(Repeater::default())).unwrap();
    graph.add_node("program", upper, Box::new(Program::new(says))).unwrap();
    graph.connect("repeater", "dev").unwrap();
    graph.connect("program", "repeater").unwrap();
    graph
}

type HeardBySession = BTreeMap<u32, Vec<u8>>;

fn heard(graph: &Graph) -> &HeardBySession {
    let program = graph.node("program").unwrap();
    &graph.protocol::<Program>(program).unwrap().heard
}

fn repeated(graph: &Graph) -> u64 {
    let repeater = graph.node("repeater").unwrap();
    graph.protocol::<Repeater>(repeater).unwrap().repeated
}

fn octets(heard: &HeardBySession) -> usize {
    heard.values().map(Vec::len).sum()
}

/// What both sides must hear in the end.
fn expected() -> (HeardBySession, HeardBySession) {
    let line = |session: u8, n: u8| format!("{session}.{n};").into_bytes();
    let all: HeardBySession = (0..SESSIONS)
        .map(|session| {
            let lines = (0..MESSAGES).flat_map(|n| line(session, n)).collect();
            (u32::from(session), lines)
        })
        .collect();
    (all.clone(), all)
}

/// The plainest loop in virtual time: one event after the other.
fn in_virtual_time(seed: u64) -> (HeardBySession, HeardBySession) {
    let mut graphs = [graph(MESSAGES), graph(0)];
    let mut path = Lossy::boxed(seed);
    let mut out = Outlet::default();
    let mut now = Instant::ZERO;
    for graph in &mut graphs {
        graph.start(now).unwrap();
    }
    loop {
        path.poll(now, &mut out);
        for (port, unit) in out.drain() {
            let Unit::Frame { data, .. } = unit else {
                panic!("not a frame");
            };
            let unit = UnitData { data, ..UnitData::default() };
            graphs[port].input(now, DEVICE, Indication::Unit(Box::new(unit)));
        }
        for (port, graph) in graphs.iter_mut().enumerate() {
            graph.fire(now);
            while let Some(task) = (0..2).map(TaskId).find(|&task| graph.waiting(task).is_some()) {
                graph.run(task, now, usize::MAX);
            }
            while let Some(output) = graph.output() {
                let Request::Unit(unit) = output.request else {
                    panic!("not a unit");
                };
                let frame = Unit::Frame { data: unit.data, address: Address::NONE };
                path.offer(now, port, frame, &mut out);
            }
        }
        let timers = graphs.iter_mut().filter_map(Graph::next_timer);
        let Some(next) = timers.chain(path.next_deadline()).min() else {
            assert!(repeated(&graphs[0]) > 0, "nothing was lost on this path");
            return (heard(&graphs[0]).clone(), heard(&graphs[1]).clone());
        };
        now = now.max(next);
    }
}

fn joined<C: Clock>(clock: C, pace: Pace, seed: u64) -> (Executor<C>, GraphId, GraphId) {
    let mut executor = Executor::new(clock, pace);
    let a = executor.add_graph("a", graph(MESSAGES));
    let b = executor.add_graph("b", graph(0));
    let path = executor.add_element(Lossy::boxed(seed));
    executor.plug(Plug::Device(a, DEVICE), Plug::Port(path, 0));
    executor.plug(Plug::Port(path, 1), Plug::Device(b, DEVICE));
    executor.start().unwrap();
    (executor, a, b)
}

const fn uneven(seed: u64) -> Pace {
    Pace { batch: 7, uneven: Some(Uneven { seed, late: Duration::from_millis(3) }), queue: 0 }
}

#[test]
fn the_same_is_heard_in_virtual_time_and_by_late_and_uneven_polling() {
    let (in_virtual_time, expected) = (in_virtual_time(4), expected());
    let upper = expected.0.iter().map(|(n, line)| (*n, line.to_ascii_uppercase()));
    assert_eq!(in_virtual_time, (upper.collect(), expected.1));
    for seed in 0..8 {
        let (mut executor, a, b) = joined(ManualClock::default(), uneven(seed), 4);
        let ended = executor.run(Duration::from_secs(3600), |_| false);
        assert_eq!(ended, ExecutorEnd::Idle);
        let (a, b) = (executor.graph(a).unwrap(), executor.graph(b).unwrap());
        assert!(repeated(a) > 0);
        assert_eq!((heard(a), heard(b)), (&in_virtual_time.0, &in_virtual_time.1));
    }
}

#[test]
fn the_same_is_heard_in_real_time_in_two_threads() {
    kumiki_watchdog::minute();
    let in_virtual_time = in_virtual_time(4);
    let (all_a, all_b) = (octets(&in_virtual_time.0), octets(&in_virtual_time.1));
    let at_most = Duration::from_secs(60);
    let clock = RealClock::start();
    let (end_a, end_b) = MemoryLink { delay: Duration::from_micros(100), capacity: 64 }.ends();
    let over = Arc::new(AtomicBool::new(false));

    let mut far = Executor::new(clock, uneven(2));
    let b = far.add_graph("b", graph(0));
    let link = far.add_link(end_b);
    far.plug(Plug::Device(b, DEVICE), Plug::Link(link));
    far.start().unwrap();
    let (bell, is_over) = (far.bell(), Arc::clone(&over));
    let thread = std::thread::spawn(move || {
        let ended = far.run(at_most, |_| is_over.load(Ordering::Acquire));
        (ended, heard(far.graph(b).unwrap()).clone())
    });

    let mut near = Executor::new(clock, uneven(1));
    let a = near.add_graph("a", graph(MESSAGES));
    let path = near.add_element(Lossy::boxed(4));
    let link = near.add_link(end_a);
    near.plug(Plug::Device(a, DEVICE), Plug::Port(path, 0));
    near.plug(Plug::Port(path, 1), Plug::Link(link));
    near.start().unwrap();
    let ended = near.run(at_most, |near| octets(heard(near.graph(a).unwrap())) == all_a);
    over.store(true, Ordering::Release);
    bell.ring();
    let (far_ended, far_heard) = thread.join().unwrap();
    assert_eq!((ended, far_ended), (ExecutorEnd::Done, ExecutorEnd::Done));
    assert_eq!(heard(near.graph(a).unwrap()), &in_virtual_time.0);
    assert_eq!((octets(&far_heard), far_heard), (all_b, in_virtual_time.1));
    assert_eq!(near.counters().unplugged, 0);
}

#[test]
fn one_seed_is_uneven_in_one_way() {
    let run = |seed| {
        let clock = ManualClock::default();
        let (mut executor, a, _) = joined(clock.clone(), uneven(seed), 4);
        executor.run(Duration::from_secs(3600), |_| false);
        (*executor.counters(), repeated(executor.graph(a).unwrap()), clock.now())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn it_waits_for_deadlines_and_does_not_turn_meanwhile() {
    let (mut executor, a, _) = joined(ManualClock::default(), Pace::default(), 4);
    assert_eq!(executor.run(Duration::from_secs(3600), |_| false), ExecutorEnd::Idle);
    let Counters { passes, waits, batches, .. } = *executor.counters();
    // Before each wait there is one pass that finds nothing, and no other such pass.
    assert!(passes <= waits + batches + waits + 1, "{passes} passes, {waits} waits");
    assert!(repeated(executor.graph(a).unwrap()) > 0);
}

#[test]
fn a_run_ends_when_its_condition_holds_or_its_time_is_up() {
    let (mut executor, a, _) = joined(ManualClock::default(), Pace::default(), 4);
    let ended = executor.run(Duration::from_secs(3600), |executor| octets(heard(executor.graph(a).unwrap())) >= 20);
    assert_eq!(ended, ExecutorEnd::Done);
    let so_far = octets(heard(executor.graph(a).unwrap()));
    assert!((20..200).contains(&so_far), "{so_far}");
    assert_eq!(executor.run(Duration::from_millis(1), |_| false), ExecutorEnd::TimedOut);
    assert_eq!(executor.run(Duration::from_secs(3600), |_| false), ExecutorEnd::Idle);
    assert_eq!(heard(executor.graph(a).unwrap()), &in_virtual_time(4).0);
}

/// Puts down when each frame reached it, and says nothing.
struct Ear(Vec<u64>);

impl Protocol for Ear {
    fn shape(&self) -> Shape {
        Shape { needs: &[Service::FRAME], below: (1, 1), ..Shape::default() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        cx.down(Below(0), Request::Manage(Box::new(Manage::Limits)));
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        if let Indication::Report(report) = &indication
            && let Report::Limits { unit, burst } = **report
        {
            self.0.extend([u64::from(unit), u64::from(burst)]);
        }
        if let Indication::Unit(_) = indication {
            self.0.push(cx.now().as_nanos());
        }
    }
}

fn ear() -> Graph {
    let mut graph = Graph::new(1, 1);
    let task = graph.add_task("cpu");
    graph.add_device("dev", Service::FRAME).unwrap();
    graph.add_node("ear", task, Box::new(Ear(Vec::new()))).unwrap();
    graph.connect("ear", "dev").unwrap();
    graph
}

fn ear_of<C: Clock>(executor: &Executor<C>, id: GraphId) -> &[u64] {
    let graph = executor.graph(id).unwrap();
    &graph.protocol::<Ear>(graph.node("ear").unwrap()).unwrap().0
}

#[test]
fn a_device_tells_its_limits() {
    let mut executor = Executor::new(ManualClock::default(), Pace::default());
    let id = executor.add_graph("a", ear());
    let config = DeviceConfig { mtu: 4470, burst: 16 };
    executor.set_device(id, DEVICE, config);
    executor.start().unwrap();
    assert_eq!(executor.run(Duration::from_secs(1), |_| false), ExecutorEnd::Idle);
    assert_eq!(ear_of(&executor, id), [4470, 16]);
}

#[test]
fn delays_do_not_grow_from_one_late_element_to_the_next() {
    let clock = ManualClock::default();
    let pace = Pace { batch: 1, uneven: Some(Uneven { seed: 3, late: Duration::from_micros(10) }), ..Pace::default() };
    let mut executor = Executor::new(clock, pace);
    let id = executor.add_graph("a", ear());
    let (near, far) = MemoryLink::default().ends();
    let link = executor.add_link(far);
    let mut from = Plug::Link(link);
    for _ in 0..20 {
        let wire = executor.add_element(Box::new(Wire::new(Duration::from_micros(1))));
        executor.plug(from, Plug::Port(wire, 0));
        from = Plug::Port(wire, 1);
    }
    executor.plug(from, Plug::Device(id, DEVICE));
    executor.start().unwrap();
    let frame = Unit::Frame { data: Message::from_octets(&[1]), address: Address::NONE };
    near.send(Instant::ZERO, frame);
    executor.run(Duration::from_millis(1), |_| false);
    // Twenty wires of 1 us, and the lateness of the last wait alone.
    let at = *ear_of(&executor, id).last().unwrap();
    assert!((20_000..=30_000).contains(&at), "{at} ns");
}

#[test]
fn what_leads_nowhere_is_counted() {
    let mut executor = Executor::new(ManualClock::default(), Pace::default());
    executor.add_graph("a", graph(1));
    executor.start().unwrap();
    assert_eq!(executor.run(Duration::from_millis(1), |_| false), ExecutorEnd::TimedOut);
    assert_eq!(executor.counters().unplugged, u64::from(SESSIONS));
}

#[test]
fn a_graph_that_is_not_complete_is_named() {
    let mut graph = Graph::new(1, 1);
    let task = graph.add_task("cpu");
    graph.add_node("ear", task, Box::new(Ear(Vec::new()))).unwrap();
    let mut executor = Executor::new(ManualClock::default(), Pace::default());
    executor.add_graph("host b", graph);
    let error = executor.start().unwrap_err().to_string();
    assert_eq!(error, "graph `host b`: `ear` stands on 0 layer(s); it needs 1 to 1");
}

#[test]
fn plugs_that_cannot_be_joined_are_named_when_it_starts() {
    let mut executor = Executor::new(ManualClock::default(), Pace::default());
    let a = executor.add_graph("a", graph(0));
    let path = executor.add_element(Lossy::boxed(1));
    executor.plug(Plug::Device(a, DEVICE), Plug::Port(path, 0));
    executor.plug(Plug::Port(path, 1), Plug::Device(a, DEVICE));
    let why = executor.start().unwrap_err().graph_error.to_string();
    let name = executor.graph(a).unwrap().device_names().next().unwrap();
    let device = format!("device `{name}` of graph `a`");
    let expected = format!(
        "port 1 of medium number 0 cannot be joined to {device}: {device} is joined to port 0 of medium number 0 already"
    );
    assert_eq!(why, expected);
}

/// Sends everything that comes back at once, up and down.
struct Mirror(bool);

impl Protocol for Mirror {
    fn shape(&self) -> Shape {
        Shape { offers: Some(Service::UNIT_DATA), needs: &[Service::UNIT_DATA], below: (0, 1), keys: vec![Key::Only] }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        if self.0 {
            cx.down(Below(0), Request::Unit(Box::default()));
        }
    }

    fn push(&mut self, from: Above, _: Request, cx: &mut Context<'_>) {
        cx.up(from, Indication::Unit(Box::default()));
    }

    fn pop(&mut self, from: Below, _: Indication, cx: &mut Context<'_>) {
        cx.down(from, Request::Unit(Box::default()));
    }
}

#[test]
fn layers_that_answer_each_other_for_ever_end_the_run_and_are_named() {
    let mut graph = Graph::new(1, 0);
    let task = graph.add_task("cpu");
    for (name, begins) in [("lower", false), ("upper", true)] {
        let mirror = Box::new(Mirror(begins));
        graph.add_node(name, task, mirror).unwrap();
    }
    graph.connect("upper", "lower").unwrap();
    graph.set_steps(1_000);
    let mut executor = Executor::new(ManualClock::default(), Pace::default());
    executor.add_graph("stack", graph);
    executor.start().unwrap();
    let ended = executor.run(Duration::from_secs(3600), |_| false);
    assert_eq!(ended, ExecutorEnd::Failed);
    let why = executor.failure().unwrap().to_string();
    for name in ["graph `stack`", "`upper`", "`lower`"] {
        assert!(why.contains(name), "{why}");
    }
}
