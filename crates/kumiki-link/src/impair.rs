//! Impairments: what a path does to the units that cross it.
//!
//! | | |
//! |---|---|
//! | Model | loss (independent, or Gilbert's two states), times when the path is down, duplication, congestion marks, wrong bits, fixed delay, jitter, holding back; each direction on its own |
//! | Order | a unit may be lost; otherwise it may be duplicated; each copy may be marked and get wrong bits, then waits. Units stay in order unless they are held back |
//! | Cells | every cell of a run meets its own fate, and the run is split where one differs. Wrong bits in a header meet the HEC (I.432.1): one is corrected, more are mostly found, and after an error the receiver only detects until a header is good |
//! | Changes | [`Impaired::set`] while units are in flight: those that have come keep their fate and their time |
//! | Left out | holding back of cells: an ATM connection keeps their order; congestion marks in cells |
//!
//! Numbers come from a seed, one stream per direction, in the order of units: the same units meet the same fates, in
//! runs or one by one.

mod direction;
mod fate;
mod spread;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::{Duration, Instant, Rng};

use crate::{Element, Outlet, Unit};
use direction::Direction;
pub use spread::Spread;

/// How units get lost.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Loss {
    /// Not at all.
    #[default]
    None,
    /// Each with this probability.
    Independent(f64),
    /// In bursts: a good and a bad state, which may change before each unit (Gilbert 1960, Elliott 1963).
    Gilbert {
        /// Probability of going from good to bad.
        to_bad: f64,
        /// Probability of going from bad to good.
        to_good: f64,
        /// Probability of loss in the good state.
        good: f64,
        /// Probability of loss in the bad state.
        bad: f64,
    },
}

impl Loss {
    /// The share of units that is lost in the long run. It begins in the good state, so that of few units fewer are.
    #[must_use]
    pub fn stationary(self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Independent(p) => p,
            // What never leaves the good state is never in the other.
            Self::Gilbert { to_bad, good, .. } if to_bad <= 0.0 => good,
            Self::Gilbert { to_bad, to_good, good, bad } => (to_bad * bad + to_good * good) / (to_bad + to_good),
        }
    }
}

/// For how long a unit is held back, so that others overtake it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    /// For that long.
    Time(Duration),
    /// Until so many others have passed, or for that long where fewer come.
    Followers(u32, Duration),
}

/// What happens to the units of one direction. Probabilities are 0 to 1; the default is nothing.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Impairment {
    /// Of units.
    pub loss: Loss,
    /// Units lost by their number, counted from 0 in each direction.
    pub lost: BTreeSet<u64>,
    /// Times at which the path is down, each from its first instant to before its last: what arrives then is lost.
    pub down: Vec<(Instant, Instant)>,
    /// Probability that a unit comes twice.
    pub duplicate: f64,
    /// Probability that a frame is marked for congestion (CE), if it carries IP that may be.
    pub mark: f64,
    /// Probability that a bit of a unit is wrong: of a frame's octets, or of the 424 bits of a cell.
    pub corrupt: f64,
    /// Probability that a second one is, too, where one is.
    pub corrupt_again: f64,
    /// Wrong bits by the unit's number: 0 is the first bit sent. In a cell, 40 is the first of the payload.
    pub flips: BTreeMap<u64, u32>,
    /// Whether a frame with wrong bits does not come, because the receiver of the line checks frames: every sequence in
    /// use finds one or two wrong bits.
    pub checked: bool,
    /// Added to every unit's time.
    pub delay: Duration,
    /// So much more, as [`Impairment::spread`] has it.
    pub jitter: Duration,
    /// How the times of units spread.
    pub spread: Spread,
    /// Whether a unit may overtake others for its jitter; otherwise none leaves before one that came earlier, unless
    /// that is held back.
    pub overtake: bool,
    /// Probability that a frame is held back, and for how long.
    pub hold: Option<(f64, Hold)>,
}

impl Impairment {
    /// Only a delay.
    #[must_use]
    pub fn delay(delay: Duration) -> Self {
        Self { delay, ..Self::default() }
    }

    /// Only losses.
    #[must_use]
    pub fn loss(loss: Loss) -> Self {
        Self { loss, ..Self::default() }
    }

    /// Only these units lost, counted from 0.
    #[must_use]
    pub fn drops(numbers: &[u64]) -> Self {
        Self { lost: numbers.iter().copied().collect(), ..Self::default() }
    }

    /// Only losses, of all that arrives in one of these times.
    #[must_use]
    pub fn down(times: &[(Instant, Instant)]) -> Self {
        Self { down: times.to_vec(), ..Self::default() }
    }

    /// Whether the path is down at `now`.
    fn is_down(&self, now: Instant) -> bool {
        self.down.iter().any(|(from, until)| *from <= now && now < *until)
    }

    /// Whether cells only wait, all equally long.
    fn is_plain(&self) -> bool {
        self.loss == Loss::None && self.lost.is_empty() && self.down.is_empty() && self.only_loses()
    }

    /// Whether all that happens to cells is to be lost, or to wait equally long.
    fn only_loses(&self) -> bool {
        self.duplicate <= 0.0 && self.corrupt <= 0.0 && self.flips.is_empty() && self.jitter.is_zero()
    }
}

/// A piece of path that impairs: two ports, and what enters one leaves the other, or not.
///
/// Counters, `a_` for units from port 0 and `b_` for units from port 1: `units` (frames, or single cells), `lost`,
/// `duplicated`, `marked`, `corrupted`, `held`, and of cells `hec_corrected`, `hec_dropped` and `misled`, cells whose
/// header is now another good one.
pub struct Impaired {
    directions: [Direction; 2],
}

impl Impaired {
    /// The same impairment in both directions, with numbers of their own.
    #[must_use]
    pub fn both(impairment: &Impairment, seed: u64) -> Self {
        Self::new(impairment.clone(), impairment.clone(), seed)
    }

    /// Impairs units from port 0 and units from port 1 as said, by streams 0 and 1 of `seed`.
    #[must_use]
    pub fn new(from_0: Impairment, from_1: Impairment, seed: u64) -> Self {
        Self {
            directions: [Direction::new(from_0, Rng::new(seed, 0), 1), Direction::new(from_1, Rng::new(seed, 1), 0)],
        }
    }

    /// From here on units from `port` (0, or else 1) are impaired in this way.
    ///
    /// Those that have come keep their fate and their time; unless units may overtake, those that come now leave no
    /// earlier. The numbers go on where they are. Meant for frames: of a run of cells that is in flight, a cut may not
    /// be seen.
    pub fn set(&mut self, port: usize, impairment: Impairment) {
        let [from_0, from_1] = &mut self.directions;
        let direction = if port == 0 { from_0 } else { from_1 };
        direction.set(impairment);
    }

    /// How units from `port` (0, or else 1) are impaired.
    #[must_use]
    pub const fn impairment(&self, port: usize) -> &Impairment {
        let [from_0, from_1] = &self.directions;
        let direction = if port == 0 { from_0 } else { from_1 };
        direction.impairment()
    }

    /// How many units from `port` (0, or else 1) wait for their time.
    #[must_use]
    pub fn waiting(&self, port: usize) -> usize {
        let [from_0, from_1] = &self.directions;
        let direction = if port == 0 { from_0 } else { from_1 };
        direction.waiting()
    }

    /// Whether units from `port` (0, or else 1) are held back until others have passed.
    #[must_use]
    pub const fn counts_followers(&self, port: usize) -> bool {
        let [from_0, from_1] = &self.directions;
        let direction = if port == 0 { from_0 } else { from_1 };
        direction.counts_followers()
    }

    /// How many octets the frames among them have.
    #[must_use]
    pub const fn octets(&self, port: usize) -> u64 {
        let [from_0, from_1] = &self.directions;
        let direction = if port == 0 { from_0 } else { from_1 };
        direction.octets()
    }
}

impl Element for Impaired {
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        let [from_0, from_1] = &mut self.directions;
        let direction = if port == 0 { from_0 } else { from_1 };
        direction.offer(now, unit, out);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.directions.iter().filter_map(Direction::next_deadline).min()
    }

    fn poll(&mut self, now: Instant, out: &mut Outlet) {
        for direction in &mut self.directions {
            direction.poll(now, out);
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let [a, b] = self.directions.each_ref().map(Direction::tally);
        vec![
            ("a_units", a.units),
            ("a_lost", a.lost),
            ("a_duplicated", a.duplicated),
            ("a_marked", a.marked),
            ("a_corrupted", a.corrupted),
            ("a_held", a.held),
            ("a_hec_corrected", a.hec_corrected),
            ("a_hec_dropped", a.hec_dropped),
            ("a_misled", a.misled),
            ("b_units", b.units),
            ("b_lost", b.lost),
            ("b_duplicated", b.duplicated),
            ("b_marked", b.marked),
            ("b_corrupted", b.corrupted),
            ("b_held", b.held),
            ("b_hec_corrected", b.hec_corrected),
            ("b_hec_dropped", b.hec_dropped),
            ("b_misled", b.misled),
        ]
    }
}

#[cfg(test)]
mod tests;
