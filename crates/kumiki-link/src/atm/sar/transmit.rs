//! From SDUs to cells.
//!
//! A slot goes to whoever is ready when it begins, so it is decided no earlier than that. Only while a single channel has
//! something to send are all cells of its PDU given slots at once, and taken back when another channel comes.

use kumiki_wire::atm::cell::Vc;
use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::{Address, Instant};
use kumiki_octets::Message;
use kumiki_wire::atm::aal5;
use kumiki_wire::atm::cell::PAYLOAD_LEN;

use super::{Adaptation, HOST, LINE, SarConfig, channel};
use crate::atm::line::Line;
use crate::{CellRun, Outlet, Unit};

/// Makes PDUs of SDUs.
pub(super) struct Adapter {
    config: SarConfig,
    /// How many PDUs of each channel there have been; with AAL3/4 only.
    turns: BTreeMap<(u16, u16), u64>,
}

impl Adapter {
    pub(super) const fn new(config: SarConfig) -> Self {
        Self { config, turns: BTreeMap::new() }
    }

    /// The cells' payload for an SDU and its MID, where it can be sent.
    pub(super) fn adapt(&mut self, vc: (u16, u16), data: Message) -> Option<(Message, u16)> {
        match self.config.adaptation {
            Adaptation::Aal5 => Some((aal5::pdu(data, self.config.crc), 0)),
            Adaptation::Aal34(aal34) => {
                let turn = self.turns.entry(vc).or_default();
                let adapted = aal34.adapt(*turn, data, self.config.crc)?;
                *turn += 1;
                Some(adapted)
            }
        }
    }

    /// The PDU `number` of these cells' payload, for a channel and MID.
    pub(super) fn pdu(&self, number: u64, (vc, mid): ((u16, u16), u16), mut octets: Message) -> Pdu {
        octets.set_lease(None);
        let cells = u32::try_from(octets.len() / PAYLOAD_LEN).unwrap_or(u32::MAX);
        let marks_end = self.config.adaptation == Adaptation::Aal5;
        Pdu { number, vc, mid, marks_end, octets: Some(octets), cells, placed: 0 }
    }
}

/// A PDU that has not left whole.
pub(super) struct Pdu {
    pub(super) number: u64,
    vc: (u16, u16),
    /// With AAL3/4; otherwise 0.
    mid: u16,
    /// Whether its last cell is marked as such.
    marks_end: bool,
    /// None where all of it is on the line.
    octets: Option<Message>,
    cells: u32,
    /// Cells that have a slot.
    placed: u32,
}

impl Pdu {
    /// Whether all of its cells have a slot.
    pub(super) const fn is_placed(&self) -> bool {
        self.placed == self.cells
    }

    /// `count` cells from the first without a slot on.
    pub(super) fn cells(&mut self, count: u32, keep: bool, line: &Line) -> CellRun {
        let (vpi, vci) = self.vc;
        let whole = count == self.cells;
        let payload = if whole && !keep {
            self.octets.take()
        } else if whole {
            self.octets.clone()
        } else {
            let octets = |cells: u32| PAYLOAD_LEN * usize::try_from(cells).unwrap_or(0);
            let (from, len) = (octets(self.placed), octets(count));
            let all = self.octets.as_ref();
            all.and_then(|all| all.share(from, len).ok())
        };
        self.placed += count;
        CellRun {
            id: 0,
            vpi,
            vci,
            clp: false,
            efci: false,
            payload: payload.unwrap_or_default(),
            count,
            ends_pdu: self.marks_end && self.placed == self.cells,
            rm: false,
            line: *line.slots(),
            slot: 0,
        }
    }
}

/// PDUs that follow each other: those of one channel and MID, or all where nothing interleaves.
struct Queue {
    vc: (u16, u16),
    mid: u16,
    pdus: VecDeque<Pdu>,
}

/// Slots given ahead of time to the PDU in front.
#[derive(Clone, Copy)]
struct Ahead {
    slot: u64,
    count: u32,
    /// When the slot of the last one begins, and when it ends.
    last: Instant,
    end: Instant,
}

/// The end of a PDU's last cell.
pub(super) struct Leaving {
    pub(super) end: Instant,
    pub(super) number: u64,
    pub(super) vc: (u16, u16),
}

pub(super) struct Transmitter {
    config: SarConfig,
    line: Line,
    /// Whose turn it is, in front.
    ring: VecDeque<Queue>,
    ahead: Option<Ahead>,
    /// No slot before this one: nothing was there to send.
    earliest: u64,
    leaving: VecDeque<Leaving>,
    adapter: Adapter,
    waiting: usize,
    offered: u64,
    pdus: u64,
    cells: u64,
    refused: u64,
}

impl Transmitter {
    pub(super) fn new(config: SarConfig) -> Self {
        Self {
            config,
            line: Line::new(config.slots, LINE, config.max_run),
            ring: VecDeque::new(),
            ahead: None,
            earliest: 0,
            leaving: VecDeque::new(),
            adapter: Adapter::new(config),
            waiting: 0,
            offered: 0,
            pdus: 0,
            cells: 0,
            refused: 0,
        }
    }

    pub(super) const fn backlog(&self) -> usize {
        self.waiting
    }

    pub(super) fn offer(&mut self, now: Instant, data: Message, address: Address, out: &mut Outlet) {
        let number = self.offered;
        self.offered += 1;
        self.poll(now, out);
        let vc = channel(address).filter(|_| self.waiting < self.config.queue);
        let adapted = vc.and_then(|vc| Some((vc, self.adapter.adapt(vc, data)?)));
        let Some((vc, (octets, mid))) = adapted else {
            self.refused += 1;
            self.say(number, address, false, out);
            return;
        };
        self.waiting += 1;
        let pdu = self.adapter.pdu(number, (vc, mid), octets);
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
            self.leaving.pop_back();
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
            if pdu.placed == pdu.cells {
                self.leaving.push_back(Leaving {
                    end: self.config.slots.at(slot + u64::from(count)),
                    number: pdu.number,
                    vc: pdu.vc,
                });
            }
            self.cells += u64::from(count);
            self.line.place(slot, run);
            if alone {
                let end = slot + u64::from(count);
                self.ahead =
                    Some(Ahead { slot, count, last: self.config.slots.at(end - 1), end: self.config.slots.at(end) });
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
        if queue.pdus.front().is_some_and(|pdu| pdu.placed == pdu.cells) {
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
        let leaving = self.leaving.front().map(|pdu| pdu.end);
        [decision, leaving, self.line.next_deadline()].into_iter().flatten().min()
    }

    pub(super) fn poll(&mut self, now: Instant, out: &mut Outlet) {
        self.decide(now);
        while let Some(pdu) = self.leaving.pop_front_if(|pdu| pdu.end <= now) {
            let (vpi, vci) = pdu.vc;
            self.waiting -= 1;
            self.pdus += 1;
            self.say(pdu.number, Vc { vpi, vci }.address(), true, out);
        }
        self.line.send(now, out);
    }

    fn say(&self, number: u64, address: Address, whole: bool, out: &mut Outlet) {
        if self.config.say_sent {
            out.put(HOST, Unit::Sent { number, address, whole });
        }
    }

    pub(super) fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("pdus_out", self.pdus), (super::CELLS_OUT, self.cells), ("refused", self.refused)]
    }
}
