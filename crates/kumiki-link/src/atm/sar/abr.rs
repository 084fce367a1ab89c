//! From SDUs to cells where every channel is of the available bit rate: [`crate::atm::abr`].
//!
//! A slot goes to the channel that has waited longest for its time, and is decided when it begins. Between a channel's
//! cells lies 1/ACR, or as near to it as slots are: what a cell is late by through them is made up for, by a slot at
//! most.

use std::collections::VecDeque;

use kumiki_graph::{Address, Instant};
use kumiki_octets::Message;
use kumiki_wire::atm::cell::Vc;
use kumiki_wire::atm::cell::rm::{CellRate, Rm};

use super::pdus::{Pdu, Pdus};
use super::{LINE, SarConfig};
use crate::atm::abr::{AbrConfig, Next, Source};
use crate::atm::line::Line;
use crate::{CellRun, Outlet};

/// A time in 2^-32 ns, so that intervals between cells add up to what they should.
type FractionalTime = u128;

const fn fine(at: Instant) -> FractionalTime {
    (at.as_nanos() as u128) << 32
}

fn coarse(at: FractionalTime) -> Instant {
    Instant::from_nanos(u64::try_from(at >> 32).unwrap_or(u64::MAX))
}

/// The time from one cell to the next; `None` where there is no next one.
fn interval(rate: CellRate) -> Option<FractionalTime> {
    ((u128::from(CellRate::PARTS) * 1_000_000_000) << 32).checked_div(rate.parts().into())
}

struct Channel {
    vc: (u16, u16),
    source: Source,
    /// 1/ACR.
    interval: Option<FractionalTime>,
    /// When the last in-rate cell should have gone, none having gone before; and the last out of rate.
    last: Option<FractionalTime>,
    out_of_rate: Option<Instant>,
    /// No slot before this: since then there is something to send at the present rate.
    ready: Instant,
    pdus: VecDeque<Pdu>,
    /// The destination's: an RM cell turned round that waits, and whether the last cell of data had met congestion.
    turned: Option<Rm>,
    congested: bool,
}

/// A cell that may go.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CellOpportunity {
    slot: u64,
    due: Instant,
    channel: usize,
    in_rate: bool,
}

impl Channel {
    fn new(vc: (u16, u16), config: AbrConfig) -> Self {
        let source = Source::new(config);
        Self {
            vc,
            interval: interval(source.acr()),
            source,
            last: None,
            out_of_rate: None,
            ready: Instant::ZERO,
            pdus: VecDeque::new(),
            turned: None,
            congested: false,
        }
    }

    fn has_something(&self) -> bool {
        self.turned.is_some() || !self.pdus.is_empty()
    }

    /// From when on the next cell may go in rate; none does where ACR is nothing.
    fn due(&self) -> Option<Instant> {
        let paced = match self.last {
            Some(last) => coarse(last + self.interval?),
            None => self.interval.map(|_| Instant::ZERO)?,
        };
        Some(paced.max(self.ready))
    }

    /// The same out of rate, which is for sources with data that have next to no rate.
    fn due_out_of_rate(&self, tcr: CellRate) -> Option<Instant> {
        if self.pdus.is_empty() || self.source.acr() >= tcr {
            return None;
        }
        let next = self.out_of_rate.map_or(Some(0), |last| Some(fine(last) + interval(tcr)?))?;
        Some(coarse(next).max(self.ready))
    }
}

pub(super) struct Transmitter {
    config: SarConfig,
    abr: AbrConfig,
    line: Line,
    pdus: Pdus,
    /// In the order of their first use.
    channels: Vec<Channel>,
    cells: u64,
    forward: u64,
    backward: u64,
    out_of_rate: u64,
    heard: u64,
    congested: u64,
    overwritten: u64,
    wrong: u64,
}

impl Transmitter {
    pub(super) fn new(config: SarConfig, abr: AbrConfig) -> Self {
        Self {
            config,
            abr,
            line: Line::new(config.slots, LINE, config.max_run),
            pdus: Pdus::new(config),
            channels: Vec::new(),
            cells: 0,
            forward: 0,
            backward: 0,
            out_of_rate: 0,
            heard: 0,
            congested: 0,
            overwritten: 0,
            wrong: 0,
        }
    }

    pub(super) const fn backlog(&self) -> usize {
        self.pdus.waiting()
    }

    /// ACR of each channel.
    pub(super) fn rates(&self) -> Vec<(Address, CellRate)> {
        let of = |it: &Channel| (Vc { vpi: it.vc.0, vci: it.vc.1 }.address(), it.source.acr());
        self.channels.iter().map(of).collect()
    }

    fn channel(&mut self, vc: (u16, u16)) -> Option<&mut Channel> {
        let at = self.channels.iter().position(|it| it.vc == vc).unwrap_or_else(|| {
            self.channels.push(Channel::new(vc, self.abr));
            self.channels.len() - 1
        });
        self.channels.get_mut(at)
    }

    pub(super) fn offer(&mut self, now: Instant, data: Message, address: Address, out: &mut Outlet) {
        self.poll(now, out);
        let Some(pdu) = self.pdus.offer(data, address, out) else {
            return;
        };
        if let Some(channel) = self.channel(pdu.vc) {
            if !channel.has_something() {
                channel.ready = now;
            }
            channel.pdus.push_back(pdu);
        }
    }

    /// The first cell of a run of data has come: the destination remembers whether it had met congestion.
    pub(super) fn data_came(&mut self, run: &CellRun) {
        if let Some(channel) = self.channel((run.vpi, run.vci)) {
            channel.congested = run.efci;
        }
    }

    /// An RM cell has come.
    pub(super) fn rm_came(&mut self, now: Instant, run: &CellRun, out: &mut Outlet) {
        self.poll(now, out);
        let octets = run.payload.to_vec();
        let Some(mut rm) = octets.first_chunk().and_then(|payload| Rm::parse(payload).ok()) else {
            self.wrong += 1;
            return;
        };
        self.heard += 1;
        let Some(channel) = self.channel((run.vpi, run.vci)) else {
            return;
        };
        if rm.backward {
            channel.source.backward(&rm);
            channel.interval = interval(channel.source.acr());
            // A cell that is due earlier now goes from now on: slots before this one have been decided.
            channel.ready = channel.ready.max(now);
            self.congested += u64::from(rm.congestion);
            return;
        }
        rm.backward = true;
        rm.congestion |= std::mem::take(&mut channel.congested);
        if !channel.has_something() {
            channel.ready = now;
        }
        // The older one is of no more use.
        if channel.turned.replace(rm).is_some() {
            self.overwritten += 1;
        }
    }

    /// The cell that goes next.
    fn next(&self) -> Option<CellOpportunity> {
        let slots = &self.config.slots;
        let turn = |channel, due, in_rate| {
            let slot = slots.first_at_or_after(due).max(self.line.next_free());
            CellOpportunity { slot, due, channel, in_rate }
        };
        let all = self.channels.iter().enumerate().filter(|(_, it)| it.has_something());
        let all = all.flat_map(|(at, it)| {
            let in_rate = it.due().map(|due| turn(at, due, true));
            [in_rate, it.due_out_of_rate(self.abr.tcr).map(|due| turn(at, due, false))]
        });
        all.flatten().min()
    }

    /// Decides all slots that begin before `now`.
    fn decide(&mut self, now: Instant) {
        while let Some(turn) = self.next().filter(|it| self.config.slots.at(it.slot) < now) {
            let cell = if turn.in_rate { self.in_rate(turn) } else { self.out_of_rate(turn) };
            let Some(cell) = cell else {
                return;
            };
            self.cells += 1;
            self.line.place(turn.slot, cell);
        }
    }

    fn in_rate(&mut self, turn: CellOpportunity) -> Option<CellRun> {
        let begin = self.config.slots.at(turn.slot);
        let slot = fine(begin);
        let late = fine(Instant::ZERO + self.config.slots.cell_time());
        let channel = self.channels.get_mut(turn.channel)?;
        let kind = channel.source.next(begin, !channel.pdus.is_empty(), channel.turned.is_some())?;
        let ideal = channel.last.and_then(|last| Some(last + channel.interval?)).unwrap_or(slot);
        channel.last = Some(ideal.max(slot.saturating_sub(late)));
        let cell = match kind {
            Next::Forward => {
                let rm = channel.source.forward(begin);
                channel.interval = interval(channel.source.acr());
                self.forward += 1;
                rm_cell(channel.vc, &rm, false, &self.line)
            }
            Next::Backward => {
                self.backward += 1;
                rm_cell(channel.vc, &channel.turned.take()?, false, &self.line)
            }
            Next::Data => {
                let pdu = channel.pdus.front_mut()?;
                let cell = pdu.cells(1, true, &self.line);
                if pdu.is_placed() {
                    self.pdus.will_leave(pdu, self.config.slots.at(turn.slot + 1));
                    channel.pdus.pop_front();
                }
                cell
            }
        };
        channel.source.sent(begin, kind);
        Some(cell)
    }

    fn out_of_rate(&mut self, turn: CellOpportunity) -> Option<CellRun> {
        let begin = self.config.slots.at(turn.slot);
        let channel = self.channels.get_mut(turn.channel)?;
        channel.out_of_rate = Some(begin);
        self.out_of_rate += 1;
        Some(rm_cell(channel.vc, &channel.source.rm(), true, &self.line))
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let decision = self.next().map(|turn| self.config.slots.at(turn.slot + 1));
        [decision, self.pdus.next_end(), self.line.next_deadline()].into_iter().flatten().min()
    }

    pub(super) fn poll(&mut self, now: Instant, out: &mut Outlet) {
        self.decide(now);
        self.pdus.leave(now, out);
        self.line.send(now, out);
    }

    pub(super) fn counters(&self) -> Vec<(&'static str, u64)> {
        let of_cells = [
            ("rm_forward", self.forward),
            ("rm_backward", self.backward),
            ("rm_out_of_rate", self.out_of_rate),
            ("rm_in", self.heard),
            ("rm_congested", self.congested),
            ("rm_overwritten", self.overwritten),
            ("rm_wrong", self.wrong),
        ];
        [self.pdus.counters(self.cells).as_slice(), &of_cells].concat()
    }
}

fn rm_cell((vpi, vci): (u16, u16), rm: &Rm, clp: bool, line: &Line) -> CellRun {
    CellRun {
        id: 0,
        vpi,
        vci,
        clp,
        efci: false,
        payload: Message::from_octets(&rm.octets()),
        count: 1,
        ends_pdu: false,
        rm: true,
        line: *line.slots(),
        slot: 0,
    }
}
