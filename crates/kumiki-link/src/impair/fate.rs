//! What befalls each unit, drawn in order.

use kumiki_graph::{Instant, Rng};

use super::{Hold, Impairment, Loss};

/// What happened so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Tally {
    pub(super) units: u64,
    pub(super) lost: u64,
    pub(super) duplicated: u64,
    pub(super) marked: u64,
    pub(super) corrupted: u64,
    pub(super) held: u64,
    pub(super) hec_corrected: u64,
    pub(super) hec_dropped: u64,
    pub(super) misled: u64,
}

/// What befalls one copy of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Fate {
    /// It is marked for congestion, if it can be.
    pub(super) mark: bool,
    /// Wrong bits.
    pub(super) flips: [Option<u64>; 2],
    /// In ns; below zero where it is earlier than the fixed delay has it.
    pub(super) jitter: i64,
    pub(super) hold: Option<Hold>,
}

impl Fate {
    pub(super) const NOTHING: Self = Self { mark: false, flips: [None; 2], jitter: 0, hold: None };

    pub(super) fn has_flips(&self) -> bool {
        self.flips != [None; 2]
    }
}

/// Where the drawing stands. A copy of it can be gone back to.
#[derive(Clone, Debug)]
pub(super) struct Draw {
    rng: Rng,
    bad: bool,
    pub(super) tally: Tally,
}

impl Draw {
    pub(super) fn new(rng: Rng) -> Self {
        Self { rng, bad: false, tally: Tally::default() }
    }

    /// The next unit's copies, none where it is lost; it has `bits` bits and arrives at `at`.
    pub(super) fn next(&mut self, impairment: &Impairment, bits: u64, at: Instant) -> [Option<Fate>; 2] {
        let number = self.tally.units;
        if self.loses_next(impairment, at) {
            return [None; 2];
        }
        let twice = self.rng.chance(impairment.duplicate);
        self.tally.duplicated += u64::from(twice);
        let listed = impairment.flips.get(&number).copied().map(u64::from);
        let first = self.copy(impairment, bits, listed);
        let second = twice.then(|| self.copy(impairment, bits, None));
        [Some(first), second]
    }

    /// Whether the next unit, which arrives at `at`, is lost; that is then all that befalls it.
    pub(super) fn loses_next(&mut self, impairment: &Impairment, at: Instant) -> bool {
        let number = self.tally.units;
        self.tally.units += 1;
        // Drawn even where the unit is lost by its number, so that such losses change nobody else's fate.
        let lost = self.is_lost(impairment.loss) || impairment.lost.contains(&number) || impairment.is_down(at);
        self.tally.lost += u64::from(lost);
        lost
    }

    fn is_lost(&mut self, loss: Loss) -> bool {
        match loss {
            Loss::None => false,
            Loss::Independent(p) => self.rng.chance(p),
            Loss::Gilbert { to_bad, to_good, good, bad } => {
                let change = if self.bad { to_good } else { to_bad };
                self.bad ^= self.rng.chance(change);
                self.rng.chance(if self.bad { bad } else { good })
            }
        }
    }

    fn copy(&mut self, impairment: &Impairment, bits: u64, listed: Option<u64>) -> Fate {
        // Where nothing is marked, nothing is drawn for it.
        let mark = self.rng.chance(impairment.mark);
        let mut flips = [listed.filter(|bit| *bit < bits), None];
        if bits > 0 && self.rng.chance(impairment.corrupt) {
            let one = self.rng.below(bits);
            let again = self.rng.chance(impairment.corrupt_again);
            let other = again.then(|| self.rng.below(bits)).filter(|b| *b != one);
            flips = [Some(one), other];
        }
        self.tally.corrupted += u64::from(flips != [None; 2]);
        let jitter = impairment.spread.draw(impairment.jitter, &mut self.rng);
        let hold = impairment.hold.filter(|(p, _)| self.rng.chance(*p));
        Fate { mark, flips, jitter, hold: hold.map(|(_, hold)| hold) }
    }
}
