//! What the graph is made of: everything but the protocols themselves, so that one of them can be lent the rest.

use std::collections::VecDeque;

use kumiki_octets::Message;

use crate::context::{Pool, holder};
use crate::graph::{DeviceId, Output, Tapped, TaskId};
use crate::ledger::{Ledger, WakeUp};
use crate::timers::{TimerId, Timers};
use crate::{
    Above, AccessPoint, Account, Address, Below, Indication, Instant, Prices, Request, Rng,
    Service, Token,
};

#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    Node { node: usize, port: u16 },
    Device(DeviceId),
}

pub(crate) struct Edge {
    pub(crate) upper: End,
    pub(crate) lower: End,
    pub(crate) tapped: bool,
}

pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) task: TaskId,
    pub(crate) above: Vec<usize>,
    pub(crate) below: Vec<usize>,
    pub(crate) rng: Rng,
    pub(crate) account: Account,
    pub(crate) prices: Prices,
    pub(crate) busy_ps: u64,
    pub(crate) touched: bool,
}

#[derive(Debug)]
pub(crate) enum Input {
    Start,
    Push(Above, Request),
    Pop(Below, Indication),
    Expire(TimerId, Token),
    Ready(Pool, Token),
}

#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) node: usize,
    pub(crate) at: Instant,
    pub(crate) input: Input,
    /// The record of a tap that this follows from: see [`Core::follow`].
    pub(crate) record: Option<u64>,
}

pub(crate) struct Task {
    pub(crate) name: String,
    pub(crate) inbox: VecDeque<Item>,
    /// What was spent beyond the whole nanoseconds that its runs have taken.
    pub(crate) rest_ps: u64,
}

pub(crate) struct Device {
    pub(crate) name: String,
    pub(crate) service: Service,
    pub(crate) edges: Vec<usize>,
}

pub(crate) struct Memory {
    pub(crate) ledger: Ledger,
    pub(crate) waiting: VecDeque<(usize, Token)>,
    /// Told that pages are free, but has not come to take them yet.
    pub(crate) woken: usize,
}

impl Memory {
    /// Takes those out of the waiting who should be told now.
    fn take_woken(&mut self) -> Vec<(usize, Token)> {
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
    fn take_one_by_one(&mut self) -> Vec<(usize, Token)> {
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

/// All of the graph but the protocols.
pub(crate) struct Core {
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) outputs: VecDeque<Output>,
    pub(crate) timers: Timers<(usize, Token)>,
    pub(crate) tapped: Vec<Tapped>,
    /// How many records of taps have been taken out.
    pub(crate) taken: u64,
    /// The record of a tap that the present input follows from.
    pub(crate) following: Option<u64>,
    pub(crate) spent_ps: u64,
    pub(crate) tasks: Vec<Task>,
    pub(crate) devices: Vec<Device>,
    pub(crate) local: VecDeque<Item>,
    pub(crate) touched: Vec<usize>,
    pub(crate) memories: [Option<Memory>; 2],
    pub(crate) clock: Instant,
    pub(crate) running: Option<TaskId>,
}

impl Core {
    pub(crate) const fn now(&self) -> Instant {
        Instant::from_nanos(self.clock.as_nanos().saturating_add(self.spent_ps / 1_000))
    }

    pub(crate) fn memory(&mut self, pool: Pool) -> Option<&mut Memory> {
        let [send, receive] = &mut self.memories;
        match pool {
            Pool::Send => send.as_mut(),
            Pool::Receive => receive.as_mut(),
        }
    }

    /// To the running task at once, to another one's inbox.
    pub(crate) fn deliver(&mut self, item: Item) {
        let Some(task) = self.nodes.get(item.node).map(|node| node.task) else {
            return;
        };
        if self.running == Some(task) {
            self.local.push_back(item);
            return;
        }
        let Some(task) = self.tasks.get_mut(task.0) else {
            return;
        };
        // Several CPUs may feed one inbox; it is kept in order of time, and of arrival where times are equal.
        let later = task
            .inbox
            .iter()
            .rev()
            .take_while(|waiting| waiting.at > item.at)
            .count();
        task.inbox.insert(task.inbox.len() - later, item);
    }

    /// The record of what goes the same way as an input under way, `down` or up, and follows from it: so that what becomes of
    /// a message can be noted where it was last seen.
    pub(crate) fn follow(&self, down: bool) -> Option<u64> {
        let record = self.following?;
        let at = usize::try_from(record.checked_sub(self.taken)?).ok()?;
        (self.tapped.get(at)?.down == down).then_some(record)
    }

    /// Notes that what the present input brought was thrown away.
    pub(crate) fn note_drop(&mut self, reason: &'static str) {
        let at = self
            .following
            .and_then(|record| record.checked_sub(self.taken));
        let seen = at
            .and_then(|at| usize::try_from(at).ok())
            .and_then(|at| self.tapped.get_mut(at));
        if let Some(seen) = seen {
            seen.dropped.get_or_insert(reason);
        }
    }

    /// Puts `request` on record where `edge` is tapped, and tells which record follows.
    pub(crate) fn tap_down(&mut self, edge: usize, request: &Request) -> Option<u64> {
        if self.edges.get(edge).is_some_and(|edge| edge.tapped)
            && let Some(data) = request.message()
        {
            let (source, destination) = if let Request::Unit(unit) = request {
                (unit.source, unit.destination)
            } else {
                Default::default()
            };
            return Some(self.tap(edge, true, source, destination, data.clone()));
        }
        self.follow(true)
    }

    /// As [`Core::tap_down`].
    pub(crate) fn tap_up(&mut self, edge: usize, indication: &Indication) -> Option<u64> {
        if self.edges.get(edge).is_some_and(|edge| edge.tapped)
            && let Some(data) = indication.message()
        {
            let (source, destination) = if let Indication::Unit(unit) = indication {
                (unit.source, unit.destination)
            } else {
                Default::default()
            };
            return Some(self.tap(edge, false, source, destination, data.clone()));
        }
        self.follow(false)
    }

    fn tap(
        &mut self,
        edge: usize,
        down: bool,
        source: Address,
        destination: Address,
        mut data: Message,
    ) -> u64 {
        data.set_lease(None);
        let access_point = AccessPoint(u32::try_from(edge).unwrap_or(u32::MAX));
        self.tapped.push(Tapped {
            at: self.now(),
            access_point,
            down,
            source,
            destination,
            data,
            dropped: None,
        });
        self.taken + self.tapped.len() as u64 - 1
    }

    /// Tells those who wait for pages that there are some.
    pub(crate) fn wake_waiting(&mut self) {
        if matches!(self.memories, [None, None]) {
            return;
        }
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
                let running = self.running.take();
                self.deliver(Item {
                    node,
                    at,
                    input: Input::Ready(pool, token),
                    record: None,
                });
                self.running = running;
            }
        }
    }
}
