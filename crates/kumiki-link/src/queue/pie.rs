//! `PIE`: frames are given up, or marked, when they come, with a probability that follows how long frames wait.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 8033 section 4 and appendix A, with its names; ECN by section 5.1, and no steps of more than 2 % by section 5.5 |
//! | Delay | by time stamps, one of the two ways of section 4.3: how long the frame waited that left last; 0 while none waits |
//! | Arithmetic | whole numbers, which appendix A allows |
//! | `MEAN_PKTSIZE` | 1500 octets; the RFC names no value |
//! | Left out | estimates of the rate (section 5.2), becoming inactive (5.3), derandomization (5.4); other gains (4.2 advises them for targets far below 15 ms) |

use kumiki_graph::{Duration, Instant, Rng};

use super::lane::{Lane, QueueTotals};
use super::{Counter, Discipline, DropTail, Ledger, QueuedFrame, counter};

/// A probability of 1.
const ONE: i128 = 1 << 60;
/// How often the probability is set again.
const T_UPDATE: Duration = Duration::from_millis(15);
/// Octets of a frame, to judge whether there are hardly any.
const MEAN_PKTSIZE: u64 = 1500;
/// From which probability on nothing is marked: `mark_ecnth`.
const MARK_ECNTH: i128 = ONE / 10;
/// By which part steps are smaller while the probability is below so much.
const AUTOTUNE: [(i128, i128); 6] = [
    (ONE / 1_000_000, 2048),
    (ONE / 100_000, 512),
    (ONE / 10_000, 128),
    (ONE / 1_000, 32),
    (ONE / 100, 8),
    (ONE / 10, 2),
];

/// What [`Pie`] is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PieConfig {
    /// How long frames are to wait (`QDELAY_REF`).
    pub target: Duration,
    /// For how long a burst is let through whatever the delay (`MAX_BURST`).
    pub max_burst: Duration,
    /// Whether frames whose senders allow it are marked instead, while the probability is below 10 %.
    pub ecn: bool,
    /// How much room there is.
    pub limit: DropTail,
}

impl Default for PieConfig {
    /// 15 ms, 150 ms, marks, and room for everything.
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            max_burst: Duration::from_millis(150),
            ecn: true,
            limit: DropTail::UNLIMITED,
        }
    }
}

/// One queue with `PIE`.
///
/// Counts `overlimit`, the drops for want of room: the others are by chance.
#[derive(Debug)]
pub struct Pie {
    config: PieConfig,
    rng: Rng,
    burst_allowance: Duration,
    drop_prob: i128,
    qdelay_old: Duration,
    /// How long the frame waited that left last.
    current_qdelay: Duration,
    next_update: Instant,
    lane: Lane,
    held: QueueTotals,
    overlimit: u64,
}

impl Pie {
    /// An empty queue; `seed` fixes what chance does.
    #[must_use]
    pub fn new(config: PieConfig, seed: u64) -> Self {
        Self {
            config,
            rng: Rng::new(seed, 0),
            burst_allowance: config.max_burst,
            drop_prob: 0,
            qdelay_old: Duration::ZERO,
            current_qdelay: Duration::ZERO,
            next_update: Instant::ZERO + T_UPDATE,
            lane: Lane::default(),
            held: QueueTotals::default(),
            overlimit: 0,
        }
    }

    fn qdelay(&self) -> Duration {
        if self.held.frames == 0 { Duration::ZERO } else { self.current_qdelay }
    }

    /// Does what was due every [`T_UPDATE`] until `now`. Delays change only when a frame comes or goes, which asks for
    /// this first.
    fn update(&mut self, now: Instant) {
        while self.next_update <= now {
            self.calculate_drop_prob();
            self.next_update += T_UPDATE;
            if self.drop_prob == 0 && self.qdelay_old.is_zero() && self.qdelay().is_zero() {
                // From here on all updates are alike, and the next frame that comes finds the whole allowance.
                let periods = now.saturating_since(self.next_update).as_nanos() / T_UPDATE.as_nanos();
                self.next_update += T_UPDATE * periods;
            }
        }
    }

    fn calculate_drop_prob(&mut self) {
        let nanos = |it: Duration| i128::from(it.as_nanos());
        let qdelay = self.qdelay();
        let (current, old) = (nanos(qdelay), nanos(self.qdelay_old));
        // alpha is 1/8 for each second, beta 10/8.
        let p = (current - nanos(self.config.target) + 10 * (current - old)) * ONE / 8_000_000_000;
        let smaller = AUTOTUNE.iter().find(|(below, _)| self.drop_prob < *below);
        let mut p = smaller.map_or(p, |(_, divisor)| p / divisor);
        if self.drop_prob >= ONE / 10 {
            p = p.min(ONE / 50);
        }
        self.drop_prob += p;
        if qdelay.is_zero() && self.qdelay_old.is_zero() {
            self.drop_prob = self.drop_prob * 98 / 100;
        }
        self.drop_prob = self.drop_prob.clamp(0, ONE);
        self.qdelay_old = qdelay;
        self.burst_allowance -= T_UPDATE;
    }

    /// Whether chance is against a frame that comes.
    fn drop_early(&mut self) -> bool {
        if self.qdelay_old < self.config.target / 2 && self.drop_prob < ONE / 5 || self.held.octets <= 2 * MEAN_PKTSIZE
        {
            return false;
        }
        i128::from(self.rng.next_u64() >> 4) < self.drop_prob
    }
}

impl Discipline for Pie {
    fn enqueue(&mut self, now: Instant, mut frame: QueuedFrame, busy: bool, ledger: &mut Ledger<'_>) {
        self.update(now);
        if busy && !self.config.limit.has_room(self.held, frame.octets()) {
            self.overlimit += 1;
            ledger.drop(frame);
            return;
        }
        let low = self.config.target / 2;
        if self.drop_prob == 0 && self.qdelay() < low && self.qdelay_old < low {
            self.burst_allowance = self.config.max_burst;
        }
        if self.burst_allowance.is_zero() && self.drop_early() {
            let may = self.config.ecn && self.drop_prob < MARK_ECNTH;
            if !(may && ledger.mark(&mut frame)) {
                ledger.drop(frame);
                return;
            }
        }
        self.lane.push(frame, &mut self.held);
    }

    fn dequeue(&mut self, now: Instant, _ledger: &mut Ledger<'_>) -> Option<QueuedFrame> {
        self.update(now);
        let frame = self.lane.pop(&mut self.held)?;
        self.current_qdelay = now.saturating_since(frame.since);
        Some(frame)
    }

    fn frames(&self) -> u64 {
        self.held.frames
    }

    fn octets(&self) -> u64 {
        self.held.octets
    }

    fn take_all(&mut self) -> Vec<QueuedFrame> {
        self.lane.take_all(&mut self.held)
    }

    fn hold(&mut self, frames: Vec<QueuedFrame>) {
        for frame in frames {
            self.lane.push(frame, &mut self.held);
        }
    }

    fn counters(&self) -> Vec<Counter> {
        vec![counter!("overlimit", self.overlimit)]
    }
}

#[cfg(test)]
mod tests;
