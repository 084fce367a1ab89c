//! One output of a switch: where cells of several inputs meet.
//!
//! Times here are those at which cells join the queue: their arrival at the switch and its latency. Inputs are looked
//! at once in each slot of the output, in turn, as a scanner does: of the cells that have joined since the slot before,
//! that of the port behind the one last served is first. So where inputs send at one rate for ever, none of them is
//! always in front of the others, whatever the phases of their lines.
//!
//! What joined before the present slot is settled, since everything that is still to arrive joins later. Cells of a run
//! that has an output for itself are given slots *ahead* of that, and taken back when another input comes.

use kumiki_graph::{Duration, Instant};

use super::feedback::Measure;
use super::{CellCount, Feedback, OutputConfig, PortVc, rm_of};
use crate::atm::line::Line;
use crate::{CellRun, Occupancy, Outlet};
use kumiki_wire::atm::cell::rm::Rm;

/// A run on its way into the queue.
#[derive(Debug)]
pub(super) struct Source {
    port: usize,
    branch: usize,
    id: u64,
    /// When the first cell joins.
    first: Instant,
    run: CellRun,
    /// Cells that have been given a slot or dropped.
    next: u32,
}

impl Source {
    pub(super) const fn new(port: usize, branch: usize, first: Instant, run: CellRun) -> Self {
        Self { port, branch, id: run.id, first, run, next: 0 }
    }

    /// When cell `k` joins.
    fn joins(&self, k: u32) -> Instant {
        self.run.arrival(self.first, k)
    }

    const fn is_done(&self) -> bool {
        self.next >= self.run.count
    }
}

/// Where a channel is in its present PDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Frame {
    /// The next cell begins one.
    #[default]
    Between,
    /// Its cells pass.
    Passing,
    /// It has lost a cell, and only its last passes.
    Tail,
    /// None of it passes; whether because the queue was long at its beginning.
    Refused { early: bool },
}

/// A channel that leaves here.
#[derive(Debug)]
struct Branch {
    to: PortVc,
    frame: Frame,
    count: CellCount,
}

impl Branch {
    /// Whether the next cell gets a slot where `backlog` cells wait; `last` ends its PDU.
    fn admit(&mut self, backlog: u64, last: bool, config: &OutputConfig) -> bool {
        let full = backlog >= config.queue;
        let mut passes = false;
        let next = match self.frame {
            Frame::Between if config.epd.is_some_and(|limit| backlog >= limit) => {
                self.count.epd += 1;
                Frame::Refused { early: true }
            }
            Frame::Between | Frame::Passing if !full => {
                passes = true;
                Frame::Passing
            }
            Frame::Between if config.ppd => {
                self.count.overflow += 1;
                Frame::Refused { early: false }
            }
            Frame::Between | Frame::Passing => {
                self.count.overflow += 1;
                if config.ppd { Frame::Tail } else { Frame::Passing }
            }
            Frame::Tail => {
                if last && !full {
                    passes = true;
                } else if last {
                    self.count.overflow += 1;
                } else {
                    self.count.ppd += 1;
                }
                Frame::Tail
            }
            Frame::Refused { early } => {
                if early {
                    self.count.epd += 1;
                } else {
                    self.count.ppd += 1;
                }
                self.frame
            }
        };
        self.count.passed += u64::from(passes);
        self.frame = if last { Frame::Between } else { next };
        passes
    }
}

impl Branch {
    /// As [`Branch::admit`], for a cell that belongs to no PDU.
    const fn admit_alone(&mut self, backlog: u64, config: &OutputConfig) -> bool {
        let passes = backlog < config.queue;
        if passes {
            self.count.passed += 1;
        } else {
            self.count.overflow += 1;
        }
        passes
    }
}

/// How long a queue was.
#[derive(Clone, Debug, Default)]
struct MeasuredQueue {
    occupancy: Occupancy,
    /// Cells that wait: those in the slots before [`Line::next_free`].
    waiting: u64,
}

impl MeasuredQueue {
    /// Lets those go whose slot begins before `now`; `free` is the slot after the last of them.
    fn advance(&mut self, now: Instant, free: u64, line: &Line) {
        while self.waiting > 0 {
            let begins = line.slots().at(free - self.waiting);
            if begins >= now {
                return;
            }
            self.occupancy.change(begins, self.waiting);
            self.waiting -= 1;
        }
    }
}

/// Slots given to cells of the only source ahead of their joining.
#[derive(Clone, Copy, Debug)]
struct ReservedSlots {
    slot: u64,
    from: u32,
    count: u32,
    /// When the last of them joins.
    until: Instant,
    marked: bool,
    /// The line's first free slot, the channel's place in its PDU and the port last served before them.
    free: u64,
    frame: Frame,
    served: usize,
}

#[derive(Debug)]
pub(super) struct Output {
    config: OutputConfig,
    line: Line,
    /// In the order of arrival.
    sources: Vec<Source>,
    /// Only where there is exactly one source.
    ahead: Option<ReservedSlots>,
    branches: Vec<Branch>,
    /// The port whose cell was the last to get a slot.
    served: usize,
    efci_marked: u64,
    /// Of ERICA.
    measure: Option<Measure>,
    followed: Option<MeasuredQueue>,
    deadline: Option<Instant>,
}

impl Output {
    pub(super) fn new(port: usize, config: OutputConfig) -> Self {
        let measure = match config.feedback {
            Some(Feedback::Erica(erica)) => Some(Measure::new(erica, config.slots.rate())),
            Some(Feedback::Relative { .. }) | None => None,
        };
        Self {
            config,
            measure,
            followed: config.follow.then(MeasuredQueue::default),
            line: Line::new(config.slots, port, config.max_run),
            sources: Vec::new(),
            ahead: None,
            branches: Vec::new(),
            served: usize::MAX,
            efci_marked: 0,
            deadline: None,
        }
    }

    pub(super) fn add_branch(&mut self, to: PortVc) -> usize {
        self.branches.push(Branch { to, frame: Frame::Between, count: CellCount::default() });
        self.branches.len() - 1
    }

    pub(super) fn branches(&self) -> impl Iterator<Item = (PortVc, CellCount)> {
        self.branches.iter().map(|branch| (branch.to, branch.count))
    }

    pub(super) const fn efci_marked(&self) -> u64 {
        self.efci_marked
    }

    /// Whether it has anything to tell sources.
    pub(super) const fn tells(&self) -> bool {
        self.config.feedback.is_some()
    }

    /// What has become of all cells, and how long it has been sending; `None` where no channel leads to it.
    pub(super) fn counters(&self) -> Option<Vec<(&'static str, u64)>> {
        let mut all = CellCount::default();
        for (_, count) in self.branches() {
            all += count;
        }
        let slots = self.config.slots;
        let busy = slots.at(all.passed).saturating_since(slots.at(0));
        (!self.branches.is_empty()).then(|| {
            vec![
                ("cells_out", all.passed),
                ("drops", all.overflow.saturating_add(all.epd).saturating_add(all.ppd)),
                ("overflow", all.overflow),
                ("epd", all.epd),
                ("ppd", all.ppd),
                ("efci", self.efci_marked),
                ("busy_ns", busy.as_nanos()),
            ]
        })
    }

    /// How long the queue was until `now`, where that is followed.
    pub(super) fn occupancy(&self, now: Instant) -> Option<Occupancy> {
        let mut followed = self.followed.clone()?;
        followed.advance(now, self.line.next_free(), &self.line);
        Some(followed.occupancy.until(now, followed.waiting))
    }

    /// Writes what the source of `vc` is to know into an RM cell that goes back to it and joins its own output's queue
    /// at `joins`.
    pub(super) fn tell(&mut self, joins: Instant, vc: PortVc, rm: &mut Rm) {
        let (Some(feedback), Some(branch)) =
            (self.config.feedback, self.branches.iter().position(|branch| branch.to == vc))
        else {
            return;
        };
        self.settle(self.slot_of(joins));
        match feedback {
            Feedback::Relative { ci, ni } => {
                let (backlog, _) = self.backlog(joins);
                rm.congestion |= ci.is_some_and(|limit| backlog >= limit);
                rm.no_increase |= ni.is_some_and(|limit| backlog >= limit);
            }
            Feedback::Erica(_) => {
                if let Some(measure) = &mut self.measure {
                    rm.explicit = rm.explicit.min(measure.explicit(joins, branch));
                }
            }
        }
        self.arm();
    }

    /// Whether every cell is looked at for itself.
    const fn singly(&self) -> bool {
        self.config.feedback.is_some() || self.config.follow
    }

    pub(super) const fn next_deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// What joins before this is looked at in a slot before that of what joins at `joins`.
    fn slot_of(&self, joins: Instant) -> Instant {
        let slots = self.line.slots();
        match slots.first_at_or_after(joins).checked_sub(1) {
            Some(before) => slots.at(before) + Duration::from_nanos(1),
            None => Instant::ZERO,
        }
    }

    /// The first cell of a run joins at `joins`.
    pub(super) fn offer(&mut self, joins: Instant, mut source: Source, out: &mut Outlet) {
        let joins = self.slot_of(joins);
        self.settle(joins);
        self.take_back(joins, out);
        if let Some(branch) = self.branches.get(source.branch) {
            source.run.vpi = branch.to.vpi;
            source.run.vci = branch.to.vci;
            self.sources.push(source);
        }
        self.settle(joins);
        self.arm();
    }

    /// Cells of a run will not come. Nothing has joined at `joins` or later.
    pub(super) fn cut(&mut self, joins: Instant, (port, branch, id): (usize, usize, u64), keep: u32, out: &mut Outlet) {
        let joins = self.slot_of(joins);
        self.settle(joins);
        let named = |source: &Source| (source.port, source.branch, source.id) == (port, branch, id);
        let Some(at) = self.sources.iter().position(named) else {
            return;
        };
        if self.ahead.is_some_and(|ahead| ahead.from + ahead.count > keep) {
            self.shorten(keep, out);
        }
        if let Some(source) = self.sources.get_mut(at) {
            source.run.truncate(keep);
            if source.is_done() && self.ahead.is_none() {
                self.sources.remove(at);
            }
        }
        self.settle(joins);
        self.arm();
    }

    pub(super) fn poll(&mut self, now: Instant, joins: Instant, out: &mut Outlet) {
        self.settle(self.slot_of(joins));
        self.line.send(now, out);
        self.arm();
    }

    /// Takes back what was given ahead to cells that join at `joins` or later.
    fn take_back(&mut self, joins: Instant, out: &mut Outlet) {
        if let Some(source) = self.sources.first()
            && self.ahead.is_some()
        {
            let joined = source.run.arrived_before(source.first, joins);
            self.shorten(joined, out);
            self.ahead = None;
        }
    }

    /// Takes back what was given ahead to cells from number `keep` of the source on.
    fn shorten(&mut self, keep: u32, out: &mut Outlet) {
        let (Some(ahead), Some(source)) = (&mut self.ahead, self.sources.first_mut()) else {
            return;
        };
        let Some(branch) = self.branches.get_mut(source.branch) else {
            return;
        };
        let keep = keep.max(ahead.from);
        let back = (ahead.from + ahead.count).saturating_sub(keep);
        if back == 0 {
            return;
        }
        ahead.count -= back;
        source.next = keep;
        branch.count.passed -= u64::from(back);
        if ahead.marked {
            self.efci_marked -= u64::from(back);
        }
        branch.frame = if ahead.count == 0 { ahead.frame } else { Frame::Passing };
        if ahead.count == 0 {
            self.served = ahead.served;
        }
        ahead.until = source.joins(keep.saturating_sub(1));
        let slot = ahead.slot + u64::from(ahead.count);
        let next_free = if ahead.count == 0 { ahead.free } else { slot };
        self.line.withdraw(slot, next_free, out);
        if ahead.count == 0 {
            self.ahead = None;
        }
    }

    /// Gives slots to all cells that join before `joins`, and to later ones where nobody else is there.
    fn settle(&mut self, joins: Instant) {
        loop {
            if let (Some(ahead), Some(source)) = (self.ahead, self.sources.first()) {
                if ahead.until >= joins {
                    return;
                }
                self.ahead = None;
                if source.is_done() {
                    self.sources.clear();
                }
            }
            let only = match self.sources.as_slice() {
                [] => return,
                [_] => true,
                _ => false,
            };
            if only && !self.singly() && self.give_ahead() {
                continue;
            }
            let Some(at) = self.next_source(joins) else {
                return;
            };
            self.give_one(at);
        }
    }

    /// The source whose cell is next of those that join before `joins`: by slot, in turn by port, and of one port by
    /// time.
    fn next_source(&self, joins: Instant) -> Option<usize> {
        let slots = self.line.slots();
        let joined = self.sources.iter().enumerate().filter_map(|(at, source)| {
            let when = source.joins(source.next);
            let turn = source.port.wrapping_sub(self.served.wrapping_add(1));
            (when < joins).then(|| (slots.first_at_or_after(when), turn, when, at))
        });
        joined.min().map(|(.., at)| at)
    }

    /// How many cells wait when one joins at `joins`, and the slot that one takes.
    fn backlog(&self, joins: Instant) -> (u64, u64) {
        let begin = self.line.slots().first_at_or_after(joins);
        let slot = self.line.next_free().max(begin);
        (slot - begin, slot)
    }

    /// Lets the next cell of source `at` join.
    fn give_one(&mut self, at: usize) {
        let Some(source) = self.sources.get(at) else {
            return;
        };
        let joins = source.joins(source.next);
        let (backlog, slot) = self.backlog(joins);
        if let Some(measure) = &mut self.measure {
            let forward = source.run.rm.then(|| rm_of(&source.run)).flatten().filter(|rm| !rm.backward);
            measure.cell(joins, source.branch, forward.as_ref());
        }
        let (Some(source), config) = (self.sources.get_mut(at), &self.config) else {
            return;
        };
        let last = source.run.ends_pdu && source.next + 1 == source.run.count;
        let rm = source.run.rm;
        let admitted = self.branches.get_mut(source.branch).is_some_and(|branch| {
            if rm { branch.admit_alone(backlog, config) } else { branch.admit(backlog, last, config) }
        });
        if admitted {
            let mut cell = source.run.part(source.next, 1);
            if let Some(followed) = &mut self.followed {
                followed.advance(joins, self.line.next_free(), &self.line);
                followed.occupancy.change(joins, followed.waiting);
                followed.waiting += 1;
            }
            if !rm && config.efci.is_some_and(|limit| backlog >= limit) {
                cell.efci = true;
                self.efci_marked += 1;
            }
            self.line.place(slot, cell);
            self.served = source.port;
        }
        source.next += 1;
        if source.is_done() {
            self.sources.remove(at);
        }
    }

    /// Gives slots to as many cells of the only source as pass one after the other whatever it is that comes later;
    /// false where that is none.
    fn give_ahead(&mut self) -> bool {
        let Some(source) = self.sources.first().filter(|source| !source.run.rm) else {
            return false;
        };
        let first = source.joins(source.next);
        let (backlog, slot) = self.backlog(first);
        let Some(branch) = self.branches.get(source.branch) else {
            return false;
        };
        let begins = match branch.frame {
            Frame::Between => self.config.epd.is_none_or(|limit| backlog < limit),
            Frame::Passing => true,
            Frame::Tail | Frame::Refused { .. } => false,
        };
        if !begins || backlog >= self.config.queue {
            return false;
        }
        let marked = self.config.efci.is_some_and(|limit| backlog >= limit);
        let count = self.follow(source, first, slot, backlog, marked);
        let mut run = source.run.part(source.next, count);
        let Some((source, branch)) = self
            .sources
            .first_mut()
            .and_then(|source| Some((self.branches.get_mut(source.branch)?, source)))
            .map(|(branch, source)| (source, branch))
        else {
            return false;
        };
        self.ahead = Some(ReservedSlots {
            slot,
            from: source.next,
            count,
            until: source.joins(source.next + count - 1),
            marked,
            free: self.line.next_free(),
            frame: branch.frame,
            served: self.served,
        });
        self.served = source.port;
        branch.count.passed += u64::from(count);
        branch.frame = if run.ends_pdu { Frame::Between } else { Frame::Passing };
        if marked {
            run.efci = true;
            self.efci_marked += u64::from(count);
        }
        source.next += count;
        self.line.place(slot, run);
        true
    }

    /// How many cells of `source` take slots one after the other from `slot` on, in the same state of the queue; the
    /// first, which joins at `first` and finds `backlog` cells, does.
    fn follow(&self, source: &Source, first: Instant, slot: u64, backlog: u64, marked: bool) -> u32 {
        let slots = self.line.slots();
        let rest = source.run.count - source.next;
        // At equal rates every cell meets its slot as the first does, up to the nanosecond that rounding moves it and
        // the one cell that this changes the backlog by.
        let clear = slots.at(slot) > first;
        let near = |limit: u64| backlog + 1 < limit;
        if source.run.line.same_rate(slots)
            && clear
            && near(self.config.queue)
            && !marked
            && self.config.efci.is_none_or(near)
        {
            return rest;
        }
        let follows = |k: &u32| {
            let slot = slot + u64::from(*k);
            let joins = source.joins(source.next + k);
            if joins > slots.at(slot) {
                return false;
            }
            let backlog = slot - slots.first_at_or_after(joins);
            backlog < self.config.queue && self.config.efci.is_some_and(|limit| backlog >= limit) == marked
        };
        let more = (1..rest).take_while(follows).count();
        u32::try_from(more).unwrap_or(u32::MAX).saturating_add(1)
    }

    fn arm(&mut self) {
        // A cell that waits for its turn leaves no earlier than if it were next.
        let next = self
            .sources
            .iter()
            .filter(|source| !source.is_done())
            .map(|source| self.backlog(source.joins(source.next)).1)
            .min()
            .map(|slot| self.line.slots().at(slot + 1));
        self.deadline = match (self.line.next_deadline(), next) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}
