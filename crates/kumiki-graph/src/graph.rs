//! The protocol graph: nodes, the access points between them, and the tasks they run in.
//!
//! A graph does nothing by itself. An executor (a modelled host, or a real-time loop) puts in what its devices received
//! ([`Graph::input`]), moves due timers ([`Graph::fire`]), picks the task to run next ([`Graph::run`]) and takes out
//! what should go to the devices ([`Graph::output`]). The graph never reads a clock.
//!
//! Each input runs through all nodes of its task before the next one starts; primitives to a node of another task wait
//! in that task's inbox. After the last input of a batch every node that was touched settles.
//!
//! Two nodes that answer each other at once never come to an end by themselves. So what may follow from one input is
//! bounded ([`Graph::set_steps`]); a graph that comes to the bound stands still for good, and says where
//! ([`Graph::standstill`]).

use std::collections::VecDeque;

use kumiki_octets::Message;

use smallvec::SmallVec;

use crate::assembly::{Core, EdgeEnd, End, Input, Memory, PendingInput, Record};
use crate::context::Pool;
use crate::ledger::Ledger;
use crate::timers::Timers;
use crate::under_way::{Hop, UnderWay};
use crate::{
    Above, AccessPoint, Account, Address, Below, Context, Duration, Indication, Instant, Prices, Protocol, Request,
    Token, Work,
};

mod build;
mod path;
mod standstill;

pub use standstill::Standstill;

/// A medium's driver at the bottom of the graph, numbered in the order of being added.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DeviceId(pub usize);

/// A task: what is scheduled as one, numbered in the order of being added.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TaskId(pub usize);

/// A node, numbered in the order of being added.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    /// Where it stands among all.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Something for a device.
#[derive(Debug)]
pub struct Output {
    /// The device.
    pub device: DeviceId,
    /// When it left the node.
    pub at: Instant,
    /// What it is.
    pub request: Request,
}

/// Something seen at a tapped access point.
#[derive(Clone, Debug)]
pub struct Tapped {
    /// When it crossed.
    pub at: Instant,
    /// Where.
    pub access_point: AccessPoint,
    /// Whether it went down.
    pub down: bool,
    /// Where it came from, if the primitive says so.
    pub source: Address,
    /// Where it went, if the primitive says so.
    pub destination: Address,
    /// The octets.
    pub data: Message,
    /// Why it was thrown away further on in the graph, if it was, and had not crossed another tap before that.
    pub dropped: Option<&'static str>,
}

/// What a run of a task did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TaskRun {
    /// Inputs taken.
    pub inputs: usize,
    /// How long it took by the price lists, in whole nanoseconds; the rest is counted in the task's next run.
    pub took: Duration,
}

#[derive(Clone, Copy, Default)]
struct Ports {
    above: u16,
    below: u16,
}

/// A protocol graph: see the module.
///
/// ```
/// use kumiki_graph::{Above, Below, Context, Graph, Indication, Instant, Protocol, Request, Service, Shape, Unit};
/// use kumiki_octets::Message;
///
/// /// Sends back what comes.
/// struct Echo;
///
/// impl Protocol for Echo {
///     fn shape(&self) -> Shape {
///         Shape { needs: &[Service::FRAME], below: (1, 1), ..Shape::default() }
///     }
///
///     fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
///         if let Indication::Unit(unit) = indication {
///             cx.down(from, Request::Unit(unit));
///         }
///     }
///
///     // Nobody stands above.
///     fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}
/// }
///
/// let mut graph = Graph::new(1, 0);               // the seed, and which of its random streams
/// let line = graph.add_device("line", Service::FRAME)?;
/// let task = graph.add_task("cpu");
/// graph.add_node("echo", task, Box::new(Echo))?;
/// graph.connect("echo", "line")?;
/// graph.start(Instant::ZERO)?;
///
/// // What an executor does: `kumiki-sim` in virtual time, `kumiki-io` in real time.
/// let hello = Unit::of(Message::from_octets(b"hello"));
/// graph.input(Instant::ZERO, line, Indication::Unit(Box::new(hello)));
/// graph.run(task, Instant::ZERO, 16);
/// let output = graph.output().expect("it was sent back");
/// assert!(matches!(output.request, Request::Unit(unit) if unit.data.to_vec() == b"hello"));
/// # Ok::<(), kumiki_graph::GraphError>(())
/// ```
pub struct Graph {
    protocols: Vec<Box<dyn Protocol>>,
    core: Core,
    bound: standstill::Bound,
    seed: u64,
    stream: u64,
}

impl Graph {
    /// A graph without nodes; `seed` and `stream` fix all its random numbers.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        Self {
            protocols: Vec::new(),
            core: Core {
                clock: Instant::ZERO,
                spent_ps: 0,
                free_below: 0,
                exempt: false,
                paths: true,
                following: None,
                nodes: Vec::new(),
                under_way: UnderWay::default(),
                touched: SmallVec::new(),
                memories: None,
                tasks: SmallVec::new(),
                outputs: VecDeque::new(),
                tapping: false,
                devices: Vec::new(),
                timers: Timers::new(),
                edges: Vec::new(),
                tapped: Vec::new(),
                taken: 0,
                budget: None,
            },
            bound: standstill::Bound::default(),
            seed,
            stream,
        }
    }

    /// What the device received at `at`. Counted as a drop by nobody where nothing stands on the device.
    pub fn input(&mut self, at: Instant, device: DeviceId, indication: Indication) {
        let Some(device) = self.core.devices.get(device.0) else {
            return;
        };
        match *device.above.as_slice() {
            [] => {}
            [way] => self.input_on(at, way, indication),
            [..] => {
                for way in device.above.clone() {
                    self.input_on(at, way, indication.clone());
                }
            }
        }
    }

    fn input_on(&mut self, at: Instant, way: EdgeEnd, indication: Indication) {
        self.core.clock = at;
        self.core.following = None;
        let record = self.core.tap_up(way.edge, &indication);
        if let End::Node { node, port } = way.to {
            self.core.post(PendingInput { input: Input::Pop(indication), at, record, hop: Hop::up(node, port) });
        }
    }

    /// The earliest deadline of a timer; none of a graph that [stands still](Graph::standstill).
    pub fn next_timer(&mut self) -> Option<Instant> {
        if self.standstill().is_some() {
            return None;
        }
        self.core.timers.next_deadline()
    }

    /// Moves the timers that are due at `now` into the inboxes of their tasks. One that is cleared or set again before
    /// its task comes to it does not expire.
    pub fn fire(&mut self, now: Instant) {
        if self.standstill().is_some() {
            return;
        }
        while let Some((at, timer, (node, token))) = self.core.timers.fire(now) {
            self.core.post(PendingInput { input: Input::Expire(timer, token), at, record: None, hop: Hop::to(node) });
        }
    }

    /// When the first input waiting for `task` became, or becomes, visible to it; none of a graph that
    /// [stands still](Graph::standstill).
    #[must_use]
    pub fn waiting(&self, task: TaskId) -> Option<Instant> {
        if self.standstill().is_some() {
            return None;
        }
        self.core.tasks.get(task.0).and_then(|task| task.inbox.front()).map(|item| item.at)
    }

    /// Lets `task` handle up to `limit` of the inputs visible at `now`, then lets the nodes that were touched settle.
    pub fn run(&mut self, task: TaskId, now: Instant, limit: usize) -> TaskRun {
        let mut ran = TaskRun::default();
        self.core.clock = now;
        self.core.spent_ps = self.rest_ps(task).map_or(0, |rest| *rest);
        while ran.inputs < limit && self.standstill().is_none() {
            let Some(inbox) = self.core.tasks.get_mut(task.0).map(|task| &mut task.inbox) else {
                break;
            };
            let Some(waiting) = inbox.pop_front_if(|it| it.at <= now) else {
                break;
            };
            rewind(inbox);
            ran.inputs += 1;
            self.complete(waiting);
        }
        self.settle();
        ran.took = Duration::from_nanos(self.core.spent_ps / 1_000);
        self.core.clock = now + ran.took;
        let rest_ps = core::mem::take(&mut self.core.spent_ps) % 1_000;
        if let Some(rest) = self.rest_ps(task) {
            *rest = rest_ps;
        }
        ran
    }

    /// Rounding each run by itself would make time depend on the batch size.
    fn rest_ps(&mut self, task: TaskId) -> Option<&mut u64> {
        let task = self.core.tasks.get_mut(task.0)?;
        Some(&mut task.rest_ps)
    }

    /// Runs one input and all that follows from it inside the task.
    fn complete(&mut self, waiting: PendingInput) {
        self.bound.begin();
        self.handle(waiting);
        self.follow();
        // At once and not when the batch is over: when a waiter is told must not depend on the size of the batch.
        self.core.wake_waiting();
    }

    /// Handles all that is in flight inside the task.
    #[inline]
    fn follow(&mut self) {
        if !self.core.under_way.is_empty() {
            self.follow_all();
        }
    }

    fn follow_all(&mut self) {
        while let Some((hop, record)) = self.core.under_way.next() {
            if self.bound.step() && self.is_too_much(hop) {
                return;
            }
            if hop.is_down() {
                let request = self.core.under_way.request();
                self.push(hop, record, request);
            } else {
                let indication = self.core.under_way.indication();
                self.pop(hop, record, indication);
            }
        }
    }

    fn settle(&mut self) {
        self.bound.begin();
        let mut at = 0;
        // Who is touched again by what follows settles again, behind the others.
        while let Some(node) = self.core.touched.get(at).copied() {
            at += 1;
            if let Some(info) = self.core.nodes.get_mut(node.index()) {
                info.touched = false;
            }
            self.core.following = None;
            if let Some(protocol) = self.protocols.get_mut(node.index()) {
                protocol.settle(&mut Context { core: &mut self.core, node });
            }
            self.follow();
            self.core.wake_waiting();
        }
        self.core.touched.clear();
    }

    /// From now on work on messages of fewer than `octets` costs nothing, whatever the prices: to see what such
    /// messages cost. It is counted all the same. What an executor prices beside the graph is its own affair: the
    /// simulator's interrupts for starting a transmission are of no message, and cost what they cost.
    pub const fn set_free_below(&mut self, octets: u32) {
        self.core.free_below = octets;
    }

    /// Whether work on any message costs nothing for that.
    #[must_use]
    pub const fn has_free_messages(&self) -> bool {
        self.core.free_below > 0
    }

    /// Whether work on `message` costs nothing for that.
    #[must_use]
    pub fn is_free(&self, message: Option<&Message>) -> bool {
        self.core.is_free(message)
    }

    /// Whether the first input waiting for `task` is such a message.
    #[must_use]
    pub fn is_waiting_free(&self, task: TaskId) -> bool {
        if !self.has_free_messages() {
            return false;
        }
        let first = self.core.tasks.get(task.0).and_then(|it| it.inbox.front());
        first.is_some_and(|it| self.core.is_free(it.input.message()))
    }

    fn handle(&mut self, waiting: PendingInput) {
        let PendingInput { input, record, hop, .. } = waiting;
        let node = hop.node();
        match input {
            Input::Push(request) => self.push(hop, record, request),
            Input::Pop(indication) => self.pop(hop, record, indication),
            Input::Start => self.call(node, |protocol, cx| protocol.start(cx)),
            Input::Expire(timer, token) => {
                if self.core.timers.take(timer) {
                    self.call(node, |protocol, cx| {
                        cx.info().account.timers += 1;
                        cx.charge(Work::Expire, 1);
                        protocol.expire(token, cx);
                    });
                }
            }
            Input::Wake(token) => self.call(node, |protocol, cx| protocol.expire(token, cx)),
            Input::Ready(pool, token) => self.call(node, |protocol, cx| {
                if let Some(memory) = cx.core.memory(pool) {
                    memory.woken = memory.woken.saturating_sub(1);
                }
                cx.charge(Work::Wake, 1);
                protocol.ready(token, cx);
            }),
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "each hop goes by here, in two places; a call costs as much as what it does"
    )]
    #[inline(always)]
    fn push(&mut self, hop: Hop, record: Option<Record>, request: Request) {
        if self.begins_path(hop.node()) {
            return self.push_by_path(hop, record, request);
        }
        self.push_here(hop, record, request);
    }

    /// As `push`, where there is no path.
    #[expect(clippy::inline_always, reason = "as for `push`")]
    #[inline(always)]
    fn push_here(&mut self, hop: Hop, record: Option<Record>, request: Request) {
        let node = hop.node();
        let (Some(info), Some(protocol)) = (self.core.enter(node, record), self.protocols.get_mut(node.index())) else {
            return;
        };
        info.account.down.count(request.message());
        let priced = info.priced;
        let mut cx = Context { core: &mut self.core, node };
        if priced {
            cx.charge_input(Work::Push, request.message());
        }
        protocol.push(Above(hop.port()), request, &mut cx);
        self.core.exempt = false;
    }

    #[expect(clippy::inline_always, reason = "as for `push`")]
    #[inline(always)]
    fn pop(&mut self, hop: Hop, record: Option<Record>, indication: Indication) {
        if self.begins_path(hop.node()) {
            return self.pop_by_path(hop, record, indication);
        }
        self.pop_here(hop, record, indication);
    }

    /// As `pop`, where there is no path.
    #[expect(clippy::inline_always, reason = "as for `push`")]
    #[inline(always)]
    fn pop_here(&mut self, hop: Hop, record: Option<Record>, indication: Indication) {
        let node = hop.node();
        let (Some(info), Some(protocol)) = (self.core.enter(node, record), self.protocols.get_mut(node.index())) else {
            return;
        };
        info.account.up.count(indication.message());
        let priced = info.priced;
        let mut cx = Context { core: &mut self.core, node };
        if priced {
            cx.charge_input(Work::Pop, indication.message());
        }
        protocol.pop(Below(hop.port()), indication, &mut cx);
        self.core.exempt = false;
    }

    /// Lets `node` do what follows from no primitive.
    fn call(&mut self, node: NodeId, act: impl FnOnce(&mut dyn Protocol, &mut Context<'_>)) {
        if self.core.enter(node, None).is_some()
            && let Some(protocol) = self.protocols.get_mut(node.index())
        {
            act(protocol.as_mut(), &mut Context { core: &mut self.core, node });
        }
    }

    /// Takes the next thing for a device, in the order in which they were handed down.
    pub fn output(&mut self) -> Option<Output> {
        let output = self.core.outputs.pop_front();
        rewind(&mut self.core.outputs);
        output
    }

    /// Tells those who wait for pages that there are some; for executors, after they have let go of messages.
    pub fn pages_released(&mut self, now: Instant) {
        self.core.clock = now;
        self.core.wake_waiting();
    }

    /// Models the host's memory `pool`.
    pub fn set_ledger(&mut self, pool: Pool, ledger: Ledger) {
        let memory = Memory { ledger, waiting: VecDeque::new(), woken: 0 };
        let memories = self.core.memories.get_or_insert_default();
        let [send, receive] = &mut **memories;
        match pool {
            Pool::Send => *send = Some(memory),
            Pool::Receive => *receive = Some(memory),
        }
    }

    /// The host's memory `pool`, where it is modelled.
    pub fn ledger(&mut self, pool: Pool) -> Option<&mut Ledger> {
        self.core.memory(pool).map(|memory| &mut memory.ledger)
    }

    /// As [`Graph::ledger`], to look at it.
    #[must_use]
    pub fn ledger_ref(&self, pool: Pool) -> Option<&Ledger> {
        let [send, receive] = self.core.memories.as_deref()?;
        let memory = match pool {
            Pool::Send => send,
            Pool::Receive => receive,
        };
        memory.as_ref().map(|memory| &memory.ledger)
    }

    /// What peers make layers keep is claimed from this account from here on: real memory, of which the modelled one
    /// knows nothing ([`Graph::set_ledger`]).
    pub fn set_budget(&mut self, account: kumiki_octets::Account) {
        self.core.budget = Some(account);
    }

    /// Whether any of the host's memory is modelled.
    #[must_use]
    pub const fn has_ledgers(&self) -> bool {
        self.core.memories.is_some()
    }

    /// Sets what the work of `node` costs.
    pub fn set_prices(&mut self, node: NodeId, prices: Prices) {
        if let Some(node) = self.core.nodes.get_mut(node.index()) {
            node.priced = prices != Prices::default();
            node.prices = prices;
        }
    }

    /// Puts on record all messages that cross `access_point`.
    pub fn tap(&mut self, access_point: AccessPoint) {
        if let Some(edge) = self.core.edges.get_mut(access_point.0 as usize) {
            edge.tapped = true;
            self.core.tapping = true;
        }
    }

    /// Takes what the taps have seen since this was last asked. That one of it is thrown away later on is not noted any
    /// more.
    pub fn take_tapped(&mut self) -> Vec<Tapped> {
        self.core.take_tapped(self.core.tapped.len())
    }

    /// As [`Graph::take_tapped`], but leaves the first that may still be thrown away, since what follows from it waits
    /// in the inbox of a task, and all behind it.
    pub fn take_settled(&mut self) -> Vec<Tapped> {
        let settled = self.core.settled();
        self.core.take_tapped(settled)
    }

    /// The earliest time of what the taps have seen and nobody has taken.
    #[must_use]
    pub fn first_tapped(&self) -> Option<Instant> {
        self.core.tapped.iter().map(|seen| seen.at).min()
    }

    /// The protocol of `node`, if it is a `T`.
    #[must_use]
    pub fn protocol<T: Protocol>(&self, node: NodeId) -> Option<&T> {
        let protocol: &dyn core::any::Any = self.protocols.get(node.index())?.as_ref();
        protocol.downcast_ref()
    }

    /// The protocol of the node called `name`, if there is one and it is a `T`.
    #[must_use]
    pub fn find<T: Protocol>(&self, name: &str) -> Option<&T> {
        self.protocol(self.node(name)?)
    }

    /// As [`Graph::protocol`], to change it between runs.
    pub fn protocol_mut<T: Protocol>(&mut self, node: NodeId) -> Option<&mut T> {
        let protocol: &mut dyn core::any::Any = self.protocols.get_mut(node.index())?.as_mut();
        protocol.downcast_mut()
    }

    /// Lets `node` run in its turn, from `at` on, as though a timer of its had expired with `token`: for an owner that
    /// has changed a protocol from outside ([`Graph::protocol_mut`]), or something that it shares with it.
    pub fn wake(&mut self, at: Instant, node: NodeId, token: Token) {
        self.core.post(PendingInput { input: Input::Wake(token), at, record: None, hop: Hop::to(node) });
    }

    /// What each node did, by name, in the order of being added.
    pub fn accounts(&self) -> impl Iterator<Item = (&str, Account)> {
        self.core.nodes.iter().map(|node| {
            let busy = Duration::from_nanos(node.busy_ps / 1_000);
            (node.name.as_str(), Account { busy, ..node.account.clone() })
        })
    }

    /// How many devices there are.
    #[must_use]
    pub const fn devices(&self) -> usize {
        self.core.devices.len()
    }

    /// The devices' names, in the order of being added.
    pub fn device_names(&self) -> impl Iterator<Item = &str> {
        self.core.devices.iter().map(|device| device.name.as_str())
    }

    /// The tasks' names, in the order of being added.
    pub fn tasks(&self) -> impl Iterator<Item = &str> {
        self.core.tasks.iter().map(|task| task.name.as_str())
    }

    /// The access points as (upper, lower) names, in the order of being connected.
    pub fn access_points(&self) -> impl Iterator<Item = (AccessPoint, &str, &str)> {
        let name = |end: End| match end {
            End::Node { node, .. } => {
                let node = self.core.nodes.get(node.index());
                node.map(|node| node.name.as_str())
            }
            End::Device(device) => {
                let device = self.core.devices.get(device as usize);
                device.map(|device| device.name.as_str())
            }
        };
        self.core.edges.iter().enumerate().filter_map(move |(number, edge)| {
            Some((AccessPoint(u32::try_from(number).ok()?), name(edge.upper)?, name(edge.lower)?))
        })
    }
}

/// The room of so many entries is a few lines of the cache, wherever in it a queue begins.
const FEW: usize = 8;

/// Room for so many is kept for the next burst; what a larger one has needed is given back after it.
const ROOM: usize = 4096;

/// Lets an empty queue begin at the front of its room again: so it uses the same few lines of the cache each time.
#[inline]
pub(crate) fn rewind<T>(queue: &mut VecDeque<T>) {
    if queue.is_empty() && queue.capacity() > FEW {
        queue.clear();
        if queue.capacity() > ROOM {
            give_back(queue);
        }
    }
}

#[cold]
fn give_back<T>(queue: &mut VecDeque<T>) {
    *queue = VecDeque::new();
}

impl Context<'_> {
    /// Lets the price of taking a primitive pass, and of the octets that came with it.
    #[cold]
    fn charge_input(&mut self, work: Work, message: Option<&Message>) {
        self.core.exempt = self.core.is_free(message);
        self.charge(work, 1);
        if let Some(message) = message {
            self.charge(Work::Octet, message.len() as u64);
        }
    }
}

impl core::fmt::Debug for Graph {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.access_points().map(|(_, upper, lower)| (upper, lower))).finish()
    }
}

#[cfg(test)]
mod tests;
