//! One direction of an impaired path.

use kumiki_graph::{Address, Duration, Instant, Rng};
use kumiki_octets::Message;
use kumiki_wire::atm::cell::{CELL_LEN, HEADER_LEN, Header, Interface, Pti, correct, syndrome};

use super::fate::{Draw, Fate, Tally};
use super::waiting::{DelayedUnits, DepartureKey};
use super::{Hold, Impairment};
use crate::mark::mark;
use crate::{CellRun, Outlet, Unit};

/// A frame that others overtake.
struct OvertakenFrame {
    followers: u32,
    due: DepartureKey,
}

/// What all following fates depend on.
#[derive(Clone)]
struct State {
    draw: Draw,
    /// The last unit's time: no later one leaves before it.
    in_order: Instant,
    /// A cell header was wrong, and the receiver corrects none until one is good.
    detecting: bool,
}

/// Cells of a run that leave as a run.
struct PartialRun {
    from: u32,
    count: u32,
    id: u64,
    due: DepartureKey,
}

/// The last run that came, as long as it may be cut.
struct Current {
    first: Instant,
    /// Without its payload.
    run: CellRun,
    /// Before its first cell.
    before: State,
    pieces: Vec<PartialRun>,
}

pub(super) struct Direction {
    impairment: Impairment,
    /// Cells only wait, all equally long.
    plain: bool,
    /// Cells are lost or only wait.
    only_lost: bool,
    port: usize,
    state: State,
    waiting: DelayedUnits,
    held: Vec<OvertakenFrame>,
    sequence: u64,
    next_id: u64,
    current: Option<Current>,
    /// Number and cells of the last run that only waits.
    passed: (u64, u32),
}

impl Direction {
    /// `port` is the one units leave by.
    pub(super) fn new(impairment: Impairment, rng: Rng, port: usize) -> Self {
        Self {
            plain: impairment.is_plain(),
            only_lost: impairment.only_loses(),
            impairment,
            port,
            state: State { draw: Draw::new(rng), in_order: Instant::ZERO, detecting: false },
            waiting: DelayedUnits::default(),
            held: Vec::new(),
            sequence: 0,
            next_id: 0,
            current: None,
            passed: (0, 0),
        }
    }

    /// What comes from here on is impaired in this way.
    pub(super) fn set(&mut self, impairment: Impairment) {
        self.plain = impairment.is_plain();
        self.only_lost = impairment.only_loses();
        self.impairment = impairment;
    }

    pub(super) const fn impairment(&self) -> &Impairment {
        &self.impairment
    }

    /// How many units wait for their time.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub(super) const fn counts_followers(&self) -> bool {
        !self.held.is_empty()
    }

    /// How many octets the frames among them have.
    pub(super) const fn octets(&self) -> u64 {
        self.waiting.octets()
    }

    pub(super) const fn tally(&self) -> Tally {
        self.state.draw.tally
    }

    pub(super) fn offer(&mut self, now: Instant, unit: Unit, out: &mut Outlet) {
        match unit {
            Unit::Frame { data, address } => self.frame(now, data, address),
            Unit::Cells(_) | Unit::Cut { .. } if self.plain => self.pass(now, unit),
            Unit::Cells(run) if run.count > 0 => self.cells(now, run),
            Unit::Cut { id, keep } => self.cut(id, keep, out),
            Unit::Cells(_) => {}
            Unit::Sent { .. } | Unit::Arriving { .. } | Unit::Report(_) | Unit::Circuit(_) => {
                let due = self.due(now);
                self.waiting.insert(due, unit);
            }
        }
        self.poll(now, out);
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.waiting.first()
    }

    pub(super) fn poll(&mut self, now: Instant, out: &mut Outlet) {
        while let Some(unit) = self.waiting.take_by(now) {
            out.put(self.port, unit);
        }
    }

    fn due(&mut self, at: Instant) -> DepartureKey {
        self.sequence += 1;
        (at, self.sequence)
    }

    /// When a copy leaves that is not held back.
    fn in_order(&mut self, arrived: Instant, fate: &Fate) -> DepartureKey {
        let delay = self.impairment.delay.as_nanos();
        let delay = Duration::from_nanos(delay.saturating_add_signed(fate.jitter));
        let mut at = arrived + delay;
        if !self.impairment.overtake {
            at = at.max(self.state.in_order);
        }
        self.state.in_order = self.state.in_order.max(at);
        self.due(at)
    }

    fn frame(&mut self, now: Instant, data: Message, address: Address) {
        let bits = (data.len() as u64).saturating_mul(8);
        let fates = self.state.draw.next(&self.impairment, bits, now);
        for fate in fates.into_iter().flatten() {
            if self.impairment.checked && fate.has_flips() {
                continue;
            }
            let mut data = data.clone();
            if fate.mark {
                self.state.draw.tally.marked += u64::from(mark(&mut data));
            }
            for bit in fate.flips.into_iter().flatten() {
                flip(&mut data, bit);
            }
            let unit = Unit::Frame { data, address };
            self.frame_leaves(now, unit, &fate);
        }
    }

    fn frame_leaves(&mut self, now: Instant, unit: Unit, fate: &Fate) {
        let Some(hold) = fate.hold else {
            let due = self.in_order(now, fate);
            self.waiting.insert(due, unit);
            self.followed(due.0);
            return;
        };
        self.state.draw.tally.held += 1;
        let (followers, time) = match hold {
            Hold::Time(time) => (0, time),
            Hold::Followers(n, time) => (n, time),
        };
        let due = self.due(now + self.impairment.delay + time);
        self.waiting.insert(due, unit);
        if followers > 0 {
            self.held.push(OvertakenFrame { followers, due });
        }
    }

    /// A unit leaves at `at` in order: those that wait for it may leave right after.
    fn followed(&mut self, at: Instant) {
        let mut held = core::mem::take(&mut self.held);
        held.retain_mut(|held| {
            held.followers -= 1;
            if held.followers == 0
                && held.due.0 > at
                && let Some(unit) = self.waiting.remove(&held.due)
            {
                let due = self.due(at);
                self.waiting.insert(due, unit);
            }
            held.followers > 0 && self.waiting.contains(&held.due)
        });
        self.held = held;
    }

    /// Cells that only wait, and cuts of them, as on a wire.
    fn pass(&mut self, now: Instant, unit: Unit) {
        let units = &mut self.state.draw.tally.units;
        if let Unit::Cells(run) = &unit {
            self.passed = (run.id, run.count);
            *units += u64::from(run.count);
        } else if let Unit::Cut { id, keep } = unit
            && self.passed.0 == id
        {
            *units -= u64::from(self.passed.1.saturating_sub(keep));
            self.passed.1 = self.passed.1.min(keep);
        }
        let due = self.due(now + self.impairment.delay);
        self.waiting.insert(due, unit);
    }

    fn cells(&mut self, now: Instant, mut run: CellRun) {
        let before = self.state.clone();
        let pieces = self.split(&run, now);
        run.payload = Message::new();
        self.current = Some(Current { first: now, before, pieces, run });
    }

    /// Lets every cell meet its fate; neighbours that meet none stay together.
    fn split(&mut self, run: &CellRun, first: Instant) -> Vec<PartialRun> {
        let mut pieces = Vec::new();
        let mut from = 0;
        for k in 0..run.count {
            // Finding the time of every cell is only worth while where it decides.
            let at = if self.impairment.down.is_empty() { first } else { run.arrival(first, k) };
            if self.only_lost {
                // The same as below, in a fraction of the time.
                if self.state.draw.loses_next(&self.impairment, at) {
                    self.piece(run, (from, k), first, &mut pieces);
                    from = k + 1;
                }
                continue;
            }
            let bits = 8 * CELL_LEN as u64;
            let fates = self.state.draw.next(&self.impairment, bits, at);
            let detecting = self.state.detecting;
            let [Some(fate), second] = fates else {
                self.piece(run, (from, k), first, &mut pieces);
                from = k + 1;
                continue;
            };
            self.state.detecting = false;
            // Jittered cells have distances of their own.
            if fate == Fate::NOTHING && second.is_none() && self.impairment.jitter.is_zero() {
                continue;
            }
            self.piece(run, (from, k), first, &mut pieces);
            from = k + 1;
            for fate in [Some(fate), second].into_iter().flatten() {
                if let Some(cell) = self.damage(run.part(k, 1), &fate, detecting) {
                    let due = self.in_order(run.arrival(first, k), &fate);
                    self.put(cell, k, due, &mut pieces);
                }
            }
        }
        self.piece(run, (from, run.count), first, &mut pieces);
        pieces
    }

    /// Puts cells `from` to `to` of a run in line, if there are any.
    fn piece(&mut self, run: &CellRun, (from, to): (u32, u32), first: Instant, pieces: &mut Vec<PartialRun>) {
        if from < to {
            let due = self.in_order(run.arrival(first, from), &Fate::NOTHING);
            self.put(run.part(from, to - from), from, due, pieces);
        }
    }

    fn put(&mut self, mut run: CellRun, from: u32, due: DepartureKey, pieces: &mut Vec<PartialRun>) {
        let id = self.next_id;
        self.next_id += 1;
        run.id = id;
        pieces.push(PartialRun { from, count: run.count, id, due });
        self.waiting.insert(due, Unit::Cells(run));
    }

    /// A single cell with its wrong bits, if the receiver takes it.
    fn damage(&mut self, mut cell: CellRun, fate: &Fate, detecting: bool) -> Option<CellRun> {
        if !fate.has_flips() {
            return Some(cell);
        }
        let interface = if cell.vpi > 255 { Interface::Nni } else { Interface::Uni };
        let pti = if cell.ends_pdu { Pti::USER_END } else { Pti::USER };
        let header = Header {
            gfc: 0,
            vpi: cell.vpi,
            vci: cell.vci,
            pti: if cell.efci { pti.with_congestion() } else { pti },
            clp: cell.clp,
        };
        let mut octets = header.octets(interface);
        for bit in fate.flips.into_iter().flatten() {
            let at = usize::try_from(bit / 8).unwrap_or(usize::MAX);
            match octets.get_mut(at) {
                Some(octet) => *octet ^= 0x80 >> (bit % 8),
                None => flip(&mut cell.payload, bit - 8 * HEADER_LEN as u64),
            }
        }
        if octets == header.octets(interface) {
            return Some(cell);
        }
        let wrong = syndrome(octets) != 0;
        self.state.detecting = wrong;
        let taken = if wrong { correct(octets).filter(|_| !detecting) } else { Some(octets) };
        let read = taken.and_then(|octets| Header::parse(interface, &octets).ok());
        let Some((found, _)) = read else {
            self.state.draw.tally.hec_dropped += 1;
            return None;
        };
        if found == header {
            self.state.draw.tally.hec_corrected += 1;
            return Some(cell);
        }
        self.state.draw.tally.misled += 1;
        cell.vpi = found.vpi;
        cell.vci = found.vci;
        cell.clp = found.clp;
        cell.efci = found.pti.is_congested();
        cell.ends_pdu = found.pti.ends_pdu();
        // Management cells are not for those who take user data.
        found.pti.is_user().then_some(cell)
    }

    /// Cells from number `keep` of a run on do not come: their fates have not been drawn.
    fn cut(&mut self, id: u64, keep: u32, out: &mut Outlet) {
        let named = |current: &mut Current| current.run.id == id && keep < current.run.count;
        let Some(mut current) = self.current.take_if(named) else {
            return;
        };
        current.run.truncate(keep);
        self.state = self.state_after(&current);
        current.pieces.retain_mut(|piece| {
            if piece.from >= keep {
                self.waiting.remove(&piece.due);
                return false;
            }
            let keep = keep - piece.from;
            if keep < piece.count {
                piece.count = keep;
                if let Some(Unit::Cells(run)) = self.waiting.cells_mut(&piece.due) {
                    run.truncate(keep);
                } else {
                    out.put(self.port, Unit::Cut { id: piece.id, keep });
                }
            }
            true
        });
        self.current = Some(current);
    }

    /// The state after the cells of the run that do come: their fates are drawn again, from the same numbers.
    fn state_after(&self, current: &Current) -> State {
        let mut again = Self::new(self.impairment.clone(), Rng::new(0, 0), self.port);
        again.state = current.before.clone();
        let _ = again.split(&current.run, current.first);
        again.state
    }
}

/// Turns over bit `bit` of `data`, and nobody knows its sums any more.
fn flip(data: &mut Message, bit: u64) {
    if let Ok(bit) = usize::try_from(bit) {
        data.flip_bit(bit);
    }
    data.forget_sums();
}
