//! The sending end of a slotted line: cells that have been given a slot, until they are whole on the line.

use std::collections::VecDeque;

use kumiki_graph::Instant;

use super::Slots;
use crate::{CellRun, Outlet, Unit};

/// A run that has been put on the line and may still be cut.
#[derive(Clone, Copy, Debug)]
struct AnnouncedRun {
    id: u64,
    slot: u64,
    count: u32,
}

/// Cells with a slot each, in runs, and the promise made of the last run.
#[derive(Debug)]
pub(super) struct Line {
    slots: Slots,
    port: usize,
    max_run: u32,
    /// The slot after the last one given.
    next_free: u64,
    next_id: u64,
    /// With the time when the first cell is whole on the line.
    pending: VecDeque<(Instant, CellRun)>,
    announced: Option<AnnouncedRun>,
}

impl Line {
    /// A line that leaves its element by `port`, whose runs have at most `max_run` cells (at least 1).
    pub(super) fn new(slots: Slots, port: usize, max_run: u32) -> Self {
        Self {
            slots,
            port,
            max_run: max_run.max(1),
            next_free: 0,
            next_id: 0,
            pending: VecDeque::new(),
            announced: None,
        }
    }

    pub(super) const fn slots(&self) -> &Slots {
        &self.slots
    }

    /// The first slot that nobody has.
    pub(super) const fn next_free(&self) -> u64 {
        self.next_free
    }

    /// Gives the cells of `run` the slots from `slot` on, which must be free.
    pub(super) fn place(&mut self, slot: u64, mut run: CellRun) {
        debug_assert!(slot >= self.next_free, "the slot is taken");
        self.next_free = slot + u64::from(run.count);
        run.slot = slot;
        run.line = self.slots;
        while run.count > self.max_run {
            let first = run.part(0, self.max_run);
            run = run.part(self.max_run, run.count);
            self.push(first);
        }
        if run.count > 0 {
            self.push(run);
        }
    }

    fn push(&mut self, mut run: CellRun) {
        if let Some((_, back)) = self.pending.back_mut()
            && (back.vpi, back.vci, back.clp, back.efci) == (run.vpi, run.vci, run.clp, run.efci)
            && !back.ends_pdu
            && !(back.rm || run.rm)
            && back.slot + u64::from(back.count) == run.slot
            && back.count.saturating_add(run.count) <= self.max_run
        {
            back.payload.append(run.payload);
            back.count += run.count;
            back.ends_pdu = run.ends_pdu;
            return;
        }
        run.id = self.next_id;
        self.next_id += 1;
        self.pending.push_back((self.slots.at(run.slot + 1), run));
    }

    /// Takes back the cells in the slots from `slot` on, none of which has begun. `next_free` is then the first slot
    /// that nobody has: not always `slot`, since slots before it may have been left out.
    pub(super) fn withdraw(&mut self, slot: u64, next_free: u64, out: &mut Outlet) {
        self.next_free = next_free;
        while let Some((_, back)) = self.pending.back_mut() {
            let keep = u32::try_from(slot.saturating_sub(back.slot)).unwrap_or(u32::MAX);
            if keep >= back.count {
                return;
            }
            if keep > 0 {
                back.truncate(keep);
                return;
            }
            self.pending.pop_back();
        }
        if let Some(announced) = &mut self.announced {
            let keep = u32::try_from(slot.saturating_sub(announced.slot)).unwrap_or(u32::MAX);
            if keep < announced.count {
                announced.count = keep;
                let id = announced.id;
                out.put(self.port, Unit::Cut { id, keep });
            }
        }
    }

    /// When the first cell of the next run is whole on the line.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.pending.front().map(|(at, _)| *at)
    }

    /// Lets the runs go whose first cell is whole on the line by `now`.
    pub(super) fn send(&mut self, now: Instant, out: &mut Outlet) {
        while let Some((_, run)) = self.pending.pop_front_if(|(at, _)| *at <= now) {
            self.announced = Some(AnnouncedRun { id: run.id, slot: run.slot, count: run.count });
            out.put(self.port, Unit::Cells(run));
        }
    }
}
