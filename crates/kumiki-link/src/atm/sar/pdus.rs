//! The PDUs of a sender of cells, from their offer to the end of their last cell.

use kumiki_wire::atm::cell::Vc;
use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::{Address, Instant};
use kumiki_octets::Message;
use kumiki_wire::atm::aal5;
use kumiki_wire::atm::cell::PAYLOAD_LEN;

use super::{Adaptation, HOST, SarConfig, channel};
use crate::atm::line::Line;
use crate::{CellRun, Outlet, Unit};

/// Makes PDUs of SDUs.
struct Adapter {
    config: SarConfig,
    /// How many PDUs of each channel there have been; with AAL3/4 only.
    turns: BTreeMap<(u16, u16), u64>,
}

impl Adapter {
    const fn new(config: SarConfig) -> Self {
        Self { config, turns: BTreeMap::new() }
    }

    /// The cells' payload for an SDU and its MID, where it can be sent.
    fn adapt(&mut self, vc: (u16, u16), data: Message) -> Option<(Message, u16)> {
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
    fn pdu(&self, number: u64, (vc, mid): ((u16, u16), u16), mut octets: Message) -> Pdu {
        octets.set_lease(None);
        let cells = u32::try_from(octets.len() / PAYLOAD_LEN).unwrap_or(u32::MAX);
        let marks_end = self.config.adaptation == Adaptation::Aal5;
        Pdu { number, vc, mid, marks_end, octets: Some(octets), cells, placed: 0 }
    }
}

/// A PDU that has not left whole.
pub(super) struct Pdu {
    number: u64,
    pub(super) vc: (u16, u16),
    /// With AAL3/4; otherwise 0.
    pub(super) mid: u16,
    /// Whether its last cell is marked as such.
    marks_end: bool,
    /// None where all of it is on the line.
    octets: Option<Message>,
    pub(super) cells: u32,
    /// Cells that have a slot.
    pub(super) placed: u32,
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

/// The end of a PDU's last cell.
struct PduDeparture {
    end: Instant,
    number: u64,
    vc: (u16, u16),
}

/// What was offered, and how much of it waits, was refused or has left. Which cell goes when is for its owner to
/// decide.
pub(super) struct Pdus {
    adapter: Adapter,
    /// Those all of whose cells have a slot, in the order of their ends.
    leaving: VecDeque<PduDeparture>,
    waiting: usize,
    offered: u64,
    left: u64,
    refused: u64,
}

impl Pdus {
    pub(super) const fn new(config: SarConfig) -> Self {
        let leaving = VecDeque::new();
        Self { adapter: Adapter::new(config), leaving, waiting: 0, offered: 0, left: 0, refused: 0 }
    }

    /// How many have not left.
    pub(super) const fn waiting(&self) -> usize {
        self.waiting
    }

    /// The PDU of an SDU that is offered; `None` where it is refused, which the host is told if it wants to know.
    pub(super) fn offer(&mut self, data: Message, address: Address, out: &mut Outlet) -> Option<Pdu> {
        let number = self.offered;
        self.offered += 1;
        let vc = channel(address).filter(|_| self.waiting < self.adapter.config.queue);
        let adapted = vc.and_then(|vc| Some((vc, self.adapter.adapt(vc, data)?)));
        let Some((vc, (octets, mid))) = adapted else {
            self.refused += 1;
            self.say(number, address, false, out);
            return None;
        };
        self.waiting += 1;
        Some(self.adapter.pdu(number, (vc, mid), octets))
    }

    /// The last cell of `pdu` has a slot, which ends at `end`.
    pub(super) fn will_leave(&mut self, pdu: &Pdu, end: Instant) {
        self.leaving.push_back(PduDeparture { end, number: pdu.number, vc: pdu.vc });
    }

    /// The last cell of the PDU that was to leave last has lost its slot.
    pub(super) fn take_back(&mut self) {
        self.leaving.pop_back();
    }

    /// When the next one leaves.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.leaving.front().map(|pdu| pdu.end)
    }

    /// Those that end no later than `now` have left.
    pub(super) fn leave(&mut self, now: Instant, out: &mut Outlet) {
        while let Some(pdu) = self.leaving.pop_front_if(|pdu| pdu.end <= now) {
            let (vpi, vci) = pdu.vc;
            self.waiting -= 1;
            self.left += 1;
            self.say(pdu.number, Vc { vpi, vci }.address(), true, out);
        }
    }

    fn say(&self, number: u64, address: Address, whole: bool, out: &mut Outlet) {
        if self.adapter.config.say_sent {
            out.put(HOST, Unit::Sent { number, address, whole });
        }
    }

    /// What was counted, with so many `cells` sent.
    pub(super) fn counters(&self, cells: u64) -> Vec<(&'static str, u64)> {
        vec![("pdus_out", self.left), (super::CELLS_OUT, cells), ("refused", self.refused)]
    }
}
