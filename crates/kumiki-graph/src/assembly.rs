//! What the graph is made of: everything but the protocols themselves, so that one of them can be lent the rest.

use core::num::NonZeroU64;
use std::collections::VecDeque;

use kumiki_octets::Message;
use smallvec::SmallVec;

use crate::context::{Pool, holder};
use crate::graph::{DeviceId, NodeId, Output, Tapped, TaskId};
use crate::ledger::{Ledger, WakeUp};
use crate::timers::{TimerId, Timers};
use crate::under_way::{Hop, UnderWay};
use crate::{AccessPoint, Account, Address, Indication, Instant, Key, Prices, Request, Rng, Service, Token};

/// One end of an access point.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    Node { node: NodeId, port: u16 },
    Device(u32),
}

pub(crate) struct Edge {
    pub(crate) upper: End,
    pub(crate) lower: End,
    pub(crate) tapped: bool,
    /// Under which the upper end is found at the lower.
    pub(crate) keys: Vec<Key>,
}

/// What a node stands on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Layer {
    Node(NodeId),
    Device(DeviceId),
}

/// An access point as the layer at one end of it knows it: which one, who is at the other end, and whether that is a
/// node of the same task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgeEnd {
    pub(crate) edge: u32,
    pub(crate) within: bool,
    pub(crate) to: End,
}

/// In this order: a simulation visits thousands of nodes in turn, and what every visit reads lies together.
#[repr(C)]
pub(crate) struct Node {
    pub(crate) task: TaskId,
    pub(crate) busy_ps: u64,
    pub(crate) touched: bool,
    /// Some work has a price.
    pub(crate) priced: bool,
    /// Units may go through it on a path.
    pub(crate) on_paths: bool,
    pub(crate) above: SmallVec<[EdgeEnd; 1]>,
    pub(crate) below: SmallVec<[EdgeEnd; 1]>,
    pub(crate) account: Account,
    pub(crate) prices: Prices,
    pub(crate) name: String,
    /// Each layer once, however many access points there are to it.
    pub(crate) stands_on: Vec<Layer>,
    pub(crate) rng: Rng,
}

#[derive(Debug)]
pub(crate) enum Input {
    Start,
    Push(Request),
    Pop(Indication),
    Expire(TimerId, Token),
    Wake(Token),
    Ready(Pool, Token),
}

impl Input {
    /// The message that it carries.
    pub(crate) fn message(&self) -> Option<&Message> {
        match self {
            Self::Push(request) => request.message(),
            Self::Pop(indication) => indication.message(),
            Self::Start | Self::Expire(..) | Self::Wake(_) | Self::Ready(..) => None,
        }
    }
}

/// What a tap put on record, numbered from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Record(NonZeroU64);

/// What a node is to handle, in the inbox of its task.
#[derive(Debug)]
pub(crate) struct PendingInput {
    pub(crate) input: Input,
    /// When it becomes visible.
    pub(crate) at: Instant,
    /// The record of a tap that this follows from: see [`Core::follow`].
    pub(crate) record: Option<Record>,
    pub(crate) hop: Hop,
}

#[repr(C)]
pub(crate) struct Task {
    pub(crate) inbox: VecDeque<PendingInput>,
    /// What was spent beyond the whole nanoseconds that its runs have taken.
    pub(crate) rest_ps: u64,
    pub(crate) name: String,
}

#[repr(C)]
pub(crate) struct Device {
    pub(crate) above: SmallVec<[EdgeEnd; 1]>,
    pub(crate) service: Service,
    pub(crate) name: String,
}

pub(crate) struct Memory {
    pub(crate) ledger: Ledger,
    pub(crate) waiting: VecDeque<(NodeId, Token)>,
    /// Told that pages are free, but has not come to take them yet.
    pub(crate) woken: usize,
}

impl Memory {
    /// Takes those out of the waiting who should be told now.
    fn take_woken(&mut self) -> Vec<(NodeId, Token)> {
        let released = self.ledger.released();
        let woken: Vec<_> = match self.ledger.pages().wake_up {
            WakeUp::All if released && self.ledger.has_room() => self.waiting.drain(..).collect(),
            WakeUp::All => Vec::new(),
            WakeUp::One => self.take_one_by_one(),
        };
        self.woken += woken.len();
        woken
    }

    /// As many as there are clusters that nobody has been told of; among them only those that would get one.
    fn take_one_by_one(&mut self) -> Vec<(NodeId, Token)> {
        let mut free = self.ledger.free().saturating_sub(self.woken);
        let (mut woken, mut waiting) = (Vec::new(), VecDeque::new());
        if free == 0 {
            return woken;
        }
        for (node, token) in self.waiting.drain(..) {
            if free > 0 && self.ledger.would_lease(holder(node, token)) {
                free -= 1;
                woken.push((node, token));
            } else {
                waiting.push_back((node, token));
            }
        }
        self.waiting = waiting;
        woken
    }
}

/// All of the graph but the protocols. In this order: what every run of a task reads and writes lies together.
#[repr(C)]
pub(crate) struct Core {
    pub(crate) clock: Instant,
    pub(crate) spent_ps: u64,
    /// Work on messages of fewer octets is free.
    pub(crate) free_below: u32,
    /// What is handled now is such a message.
    pub(crate) exempt: bool,
    /// There may be paths.
    pub(crate) paths: bool,
    /// The record of a tap that the present input follows from.
    pub(crate) following: Option<Record>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) under_way: UnderWay,
    pub(crate) touched: SmallVec<[NodeId; 8]>,
    /// For sending and receiving; `None` where neither is modelled, as on most hosts.
    pub(crate) memories: Option<Box<[Option<Memory>; 2]>>,
    pub(crate) tasks: SmallVec<[Task; 1]>,
    pub(crate) outputs: VecDeque<Output>,
    /// Some access point is tapped.
    pub(crate) tapping: bool,
    pub(crate) devices: Vec<Device>,
    pub(crate) timers: Timers<(NodeId, Token)>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) tapped: Vec<Tapped>,
    /// How many records of taps have been taken out.
    pub(crate) taken: u64,
    /// What its callers have of the memory of the process, where that is bounded.
    pub(crate) budget: Option<kumiki_octets::Account>,
}

impl Core {
    /// Takes note that `node` is to handle something that follows from `record`.
    #[inline]
    pub(crate) fn enter(&mut self, node: NodeId, record: Option<Record>) -> Option<&mut Node> {
        self.following = record;
        let info = self.nodes.get_mut(node.index())?;
        if !core::mem::replace(&mut info.touched, true) {
            self.touched.push(node);
        }
        Some(info)
    }

    /// Whether work on `message` is free.
    pub(crate) fn is_free(&self, message: Option<&Message>) -> bool {
        let below = u64::from(self.free_below);
        below > 0 && message.is_some_and(|message| (message.len() as u64) < below)
    }

    pub(crate) const fn now(&self) -> Instant {
        Instant::from_nanos(self.clock.as_nanos().saturating_add(self.spent_ps / 1_000))
    }

    pub(crate) fn memory(&mut self, pool: Pool) -> Option<&mut Memory> {
        let [send, receive] = self.memories.as_deref_mut()?;
        match pool {
            Pool::Send => send.as_mut(),
            Pool::Receive => receive.as_mut(),
        }
    }

    /// Whether what `node` hands to `end` goes to a node of its own task.
    pub(crate) fn is_within(&self, node: NodeId, end: End) -> bool {
        let task = |node: NodeId| self.nodes.get(node.index()).map(|node| node.task);
        matches!(end, End::Node { node: other, .. } if task(other) == task(node))
    }

    /// `request` goes by `hop`: where that is `within` the running task at once, otherwise to the inbox of the other.
    #[inline]
    pub(crate) fn hand_down(&mut self, (hop, within): (Hop, bool), record: Option<Record>, request: Request) {
        if within {
            self.under_way.put_request(hop, record, request);
        } else {
            self.post_later(hop, record, Input::Push(request));
        }
    }

    /// As [`Core::hand_down`].
    #[inline]
    pub(crate) fn hand_up(&mut self, (hop, within): (Hop, bool), record: Option<Record>, indication: Indication) {
        if within {
            self.under_way.put_indication(hop, record, indication);
        } else {
            self.post_later(hop, record, Input::Pop(indication));
        }
    }

    /// `request` leaves the graph by a device.
    #[inline]
    pub(crate) fn hand_out(&mut self, device: u32, request: Request) {
        let at = self.now();
        self.outputs.push_back(Output { device: DeviceId(device as usize), at, request });
    }

    #[cold]
    fn post_later(&mut self, hop: Hop, record: Option<Record>, input: Input) {
        self.post(PendingInput { input, at: self.now(), record, hop });
    }

    /// To the inbox of its task.
    pub(crate) fn post(&mut self, waiting: PendingInput) {
        let task = self.nodes.get(waiting.hop.node().index()).map(|node| node.task);
        let Some(task) = task.and_then(|task| self.tasks.get_mut(task.0)) else {
            return;
        };
        // Several CPUs may feed one inbox; it is kept in order of time, and of arrival where times are equal.
        let inbox = &mut task.inbox;
        if inbox.back().is_none_or(|last| last.at <= waiting.at) {
            inbox.push_back(waiting);
        } else {
            let later = inbox.iter().rev().take_while(|other| other.at > waiting.at).count();
            inbox.insert(inbox.len() - later, waiting);
        }
    }

    /// The record of what goes the same way as an input in flight, `down` or up, and follows from it: so that what
    /// becomes of a message can be noted where it was last seen.
    pub(crate) fn follow(&self, down: bool) -> Option<Record> {
        let record = self.following?;
        let at = self.place(record)?;
        (self.tapped.get(at)?.down == down).then_some(record)
    }

    /// Where `record` stands, if it has not been taken out.
    fn place(&self, record: Record) -> Option<usize> {
        let gone = self.taken.checked_add(1)?;
        usize::try_from(record.0.get().checked_sub(gone)?).ok()
    }

    /// How many of the first records nothing refers to that waits.
    pub(crate) fn settled(&self) -> usize {
        let waiting = self.tasks.iter().flat_map(|task| &task.inbox).filter_map(|waiting| self.place(waiting.record?));
        waiting.min().unwrap_or(usize::MAX).min(self.tapped.len())
    }

    /// Takes the first `count` records out.
    pub(crate) fn take_tapped(&mut self, count: usize) -> Vec<Tapped> {
        let left = self.tapped.split_off(count.min(self.tapped.len()));
        let taken = core::mem::replace(&mut self.tapped, left);
        self.taken += taken.len() as u64;
        taken
    }

    /// Notes that what the present input brought was thrown away.
    pub(crate) fn note_drop(&mut self, reason: &'static str) {
        let at = self.following.and_then(|record| self.place(record));
        if let Some(seen) = at.and_then(|at| self.tapped.get_mut(at)) {
            seen.dropped.get_or_insert(reason);
        }
    }

    /// Puts `request` on record where `edge` is tapped, and tells which record follows.
    #[inline]
    pub(crate) fn tap_down(&mut self, edge: u32, request: &Request) -> Option<Record> {
        if self.tapping { self.tap_request(edge, request) } else { None }
    }

    #[cold]
    fn tap_request(&mut self, edge: u32, request: &Request) -> Option<Record> {
        if self.is_tapped(edge)
            && let Some(data) = request.message()
        {
            let (source, destination) =
                if let Request::Unit(unit) = request { (unit.source, unit.destination) } else { Default::default() };
            return self.tap(edge, true, source, destination, data.clone());
        }
        self.follow(true)
    }

    /// As [`Core::tap_down`].
    #[inline]
    pub(crate) fn tap_up(&mut self, edge: u32, indication: &Indication) -> Option<Record> {
        if self.tapping { self.tap_indication(edge, indication) } else { None }
    }

    #[cold]
    fn tap_indication(&mut self, edge: u32, indication: &Indication) -> Option<Record> {
        if self.is_tapped(edge)
            && let Some(data) = indication.message()
        {
            let (source, destination) = if let Indication::Unit(unit) = indication {
                (unit.source, unit.destination)
            } else {
                Default::default()
            };
            return self.tap(edge, false, source, destination, data.clone());
        }
        self.follow(false)
    }

    fn is_tapped(&self, edge: u32) -> bool {
        self.edges.get(edge as usize).is_some_and(|edge| edge.tapped)
    }

    fn tap(
        &mut self,
        edge: u32,
        down: bool,
        source: Address,
        destination: Address,
        mut data: Message,
    ) -> Option<Record> {
        data.set_lease(None);
        let access_point = AccessPoint(edge);
        self.tapped.push(Tapped { at: self.now(), access_point, down, source, destination, data, dropped: None });
        NonZeroU64::new(self.taken + self.tapped.len() as u64).map(Record)
    }

    /// Tells those who wait for pages that there are some.
    #[inline]
    pub(crate) fn wake_waiting(&mut self) {
        if self.memories.is_some() {
            self.wake_waiting_for_pages();
        }
    }

    fn wake_waiting_for_pages(&mut self) {
        for pool in [Pool::Send, Pool::Receive] {
            let at = self.now();
            let Some(memory) = self.memory(pool) else {
                continue;
            };
            if memory.waiting.is_empty() {
                let _ = memory.ledger.released();
                continue;
            }
            let woken = memory.take_woken();
            for (node, token) in woken {
                let input = Input::Ready(pool, token);
                self.post(PendingInput { input, at, record: None, hop: Hop::to(node) });
            }
        }
    }
}
