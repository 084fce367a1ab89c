//! From SDUs to cells.
//!
//! A slot goes to whoever is ready when it begins, so it is decided no earlier than that. Only while a single channel
//! has something to send are all cells of its PDU given slots at once, and taken back when another channel comes.

use std::collections::VecDeque;

use kumiki_graph::{Address, Instant};
use kumiki_octets::Message;

use super::pdus::{Pdu, Pdus};
use super::{LINE, SarConfig};
use crate::Outlet;
use crate::atm::line::Line;

/// PDUs that follow each other: those of one channel and MID, or all where nothing interleaves.
struct Queue {
    vc: (u16, u16),
    mid: u16,
    pdus: VecDeque<Pdu>,
}

/// Slots given ahead of time to the PDU in front.
#[derive(Clone, Copy)]
struct ReservedSlots {
    slot: u64,
    count: u32,
    /// When the slot of the last one begins, and when it ends.
    last: Instant,
    end: Instant,
}

pub(super) struct Transmitter {
    config: SarConfig,
    line: Line,
    /// Whose turn it is, in front.
    ring: VecDeque<Queue>,
    ahead: Option<ReservedSlots>,
    /// No slot before this one: nothing was there to send.
    earliest: u64,
    pdus: Pdus,
    cells: u64,
}

impl Transmitter {
    pub(super) fn new(config: SarConfig) -> Self {
        Self {
            config,
            line: Line::new(config.slots, LINE, config.max_run),
            ring: VecDeque::new(),
            ahead: None,
            earliest: 0,
            pdus: Pdus::new(config),
            cells: 0,
        }
    }

    pub(super) const fn backlog(&self) -> usize {
        self.pdus.waiting()
    }

    pub(super) fn offer(&mut self, now: Instant, data: Message, address: Address, out: &mut Outlet) {
        self.poll(now, out);
        let Some(pdu) = self.pdus.offer(data, address, out) else {
            return;
        };
        self.enqueue(now, pdu, out);
        self.decide(now);
    }

    fn enqueue(&mut self, now: Instant, pdu: Pdu, out: &mut Outlet) {
        if self.ring.is_empty() {
            self.earliest = self.config.slots.first_at_or_after(now);
        }
        let key = (pdu.vc, pdu.mid);
        let own = |queue: &&mut Queue| !self.config.interleave || (queue.vc, queue.mid) == key;
        if let Some(queue) = self.ring.iter_mut().find(own) {
            queue.pdus.push_back(pdu);
            return;
        }
        self.take_back(now, out);
        self.ring.push_back(Queue { vc: pdu.vc, mid: pdu.mid, pdus: [pdu].into() });
    }

    /// Takes back the slots given ahead of time that have not begun before `now`.
    fn take_back(&mut self, now: Instant, out: &mut Outlet) {
        let (Some(ahead), Some(queue)) = (self.ahead.take(), self.ring.front_mut()) else {
            return;
        };
        let Some(pdu) = queue.pdus.front_mut() else {
            return;
        };
        let first = self.config.slots.first_at_or_after(now).max(ahead.slot);
        let keep = u32::try_from(first - ahead.slot).unwrap_or(u32::MAX);
        let back = ahead.count.saturating_sub(keep);
        if back > 0 {
            self.line.withdraw(first, first, out);
            self.pdus.take_back();
            pdu.placed -= back;
            self.cells -= u64::from(back);
        }
    }

    /// The slot that the next cell takes.
    fn next_slot(&self) -> u64 {
        self.line.next_free().max(self.earliest)
    }

    /// Decides all slots that begin before `now`, and later ones where nobody else can want them.
    fn decide(&mut self, now: Instant) {
        while !self.ring.is_empty() {
            if let Some(ahead) = self.ahead {
                if ahead.last >= now {
                    return;
                }
                self.ahead = None;
                self.turn();
                continue;
            }
            let slot = self.next_slot();
            let alone = self.ring.len() == 1;
            if !alone && self.config.slots.at(slot) >= now {
                return;
            }
            let Some(pdu) = self.ring.front_mut().and_then(|queue| queue.pdus.front_mut()) else {
                return;
            };
            let count = if alone { pdu.cells - pdu.placed } else { 1 };
            let run = pdu.cells(count, self.config.interleave, &self.line);
            if pdu.is_placed() {
                self.pdus.will_leave(pdu, self.config.slots.at(slot + u64::from(count)));
            }
            self.cells += u64::from(count);
            self.line.place(slot, run);
            if alone {
                let end = slot + u64::from(count);
                self.ahead = Some(ReservedSlots {
                    slot,
                    count,
                    last: self.config.slots.at(end - 1),
                    end: self.config.slots.at(end),
                });
            } else {
                self.turn();
            }
        }
    }

    /// The channel in front has had its turn.
    fn turn(&mut self) {
        let Some(mut queue) = self.ring.pop_front() else {
            return;
        };
        if queue.pdus.front().is_some_and(Pdu::is_placed) {
            queue.pdus.pop_front();
        }
        if !queue.pdus.is_empty() {
            self.ring.push_back(queue);
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let slots = &self.config.slots;
        let decision = match (self.ahead, self.ring.front()) {
            (Some(ahead), Some(queue)) => (queue.pdus.len() > 1).then_some(ahead.end),
            (None, Some(_)) => Some(slots.at(self.next_slot() + 1)),
            (_, None) => None,
        };
        [decision, self.pdus.next_end(), self.line.next_deadline()].into_iter().flatten().min()
    }

    pub(super) fn poll(&mut self, now: Instant, out: &mut Outlet) {
        self.decide(now);
        self.pdus.leave(now, out);
        self.line.send(now, out);
    }

    pub(super) fn counters(&self) -> Vec<(&'static str, u64)> {
        self.pdus.counters(self.cells)
    }
}
