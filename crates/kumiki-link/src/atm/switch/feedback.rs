//! What an output tells the sources of ABR whose cells it sends, in the RM cells that go back to them.
//!
//! | | |
//! |---|---|
//! | Relative rates | ATM Forum af-tm-0056: a congested switch sets CI or NI in backward RM cells. When it is congested is its own affair: here by the length of the queue |
//! | Explicit rates | ERICA: Jain, Kalyanaraman, Goyal, Fahmy, Viswanathan, "ERICA Switch Algorithm: A Complete Description" (ATM Forum/96-1172, August 1996), in the steps that section 2 of ATM Forum/98-0408 repeats |
//! | Left out | ERICA's averages over several intervals, its control of the queue (ERICA+), MCR and weights; EPRCA and other algorithms; notifications (BN) |
//!
//! ERICA measures at an output, for an interval at a time, how fast cells come and from how many channels. With the target rate *T*, a part of the line's, the
//! load factor is z = input / T, a fair share T / active channels, and a channel's own share CCR / z. In overload (z > 1 + δ) a channel is told the greater of both;
//! otherwise also no less than the most that any was told in the interval before, so that rates come to be alike. Who was below the fair share is told no
//! more than that, and nobody more than T.

use kumiki_graph::{Duration, Instant};
use kumiki_wire::atm::cell::rm::{CellRate, Rm};

/// What an output tells sources.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feedback {
    /// To send less (CI) or no more (NI) while at least so many cells wait.
    Relative {
        /// From how many waiting cells on CI is set.
        ci: Option<u64>,
        /// From how many waiting cells on NI is set.
        ni: Option<u64>,
    },
    /// How fast to send.
    Erica(Erica),
}

/// Parameters of ERICA.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Erica {
    /// For how long the load is measured.
    pub interval: Duration,
    /// The part of the line that is given away, in millionths.
    pub target: u32,
    /// δ: a load up to so much above the target is no overload, in millionths.
    pub overload: u32,
}

/// A whole, in millionths.
const WHOLE: u128 = 1_000_000;

/// A channel.
#[derive(Clone, Copy, Debug, Default)]
struct Channel {
    /// What its source said last that it may send.
    ccr: CellRate,
    active: bool,
}

/// What is measured at an output, and what follows from it.
#[derive(Debug)]
pub(super) struct Measure {
    erica: Erica,
    /// T.
    target: u64,
    /// When the interval ends.
    ends: Instant,
    cells: u64,
    channels: Vec<Channel>,
    /// Of the interval before: how fast cells came, and the fair share.
    input: u64,
    fair: u64,
    /// The most that a channel was told in the interval before, and in this one.
    most_before: u64,
    most: u64,
}

impl Measure {
    pub(super) fn new(erica: Erica, line: CellRate) -> Self {
        let target = scaled(line.parts(), erica.target.into(), WHOLE);
        Self {
            erica,
            target,
            ends: Instant::ZERO + erica.interval,
            cells: 0,
            channels: Vec::new(),
            input: 0,
            fair: target,
            most_before: target,
            most: target,
        }
    }

    /// A cell of `channel` comes at `at`; of a forward RM cell what is in it.
    pub(super) fn cell(&mut self, at: Instant, channel: usize, forward: Option<&Rm>) {
        self.advance(at);
        self.cells += 1;
        if self.channels.len() <= channel {
            self.channels.resize(channel + 1, Channel::default());
        }
        if let Some(channel) = self.channels.get_mut(channel) {
            channel.active = true;
            if let Some(rm) = forward {
                channel.ccr = rm.current;
            }
        }
    }

    /// What `channel` is told at `at`.
    pub(super) fn explicit(&mut self, at: Instant, channel: usize) -> CellRate {
        self.advance(at);
        let ccr = self.channels.get(channel).copied().unwrap_or_default().ccr.parts();
        let own = if self.input == 0 { self.target } else { scaled(ccr, self.target.into(), self.input.into()) };
        let own = own.min(self.target);
        let overload =
            u128::from(self.input) * WHOLE > u128::from(self.target) * (WHOLE + u128::from(self.erica.overload));
        let share = own.max(self.fair);
        let told = if overload { share } else { share.max(self.most_before) };
        self.most = self.most.max(told);
        let told = if told > self.fair && ccr < self.fair { self.fair } else { told };
        CellRate::from_parts(told.min(self.target))
    }

    /// Ends the intervals that are over at `at`.
    fn advance(&mut self, at: Instant) {
        // The third interval without a cell is as the second.
        for _ in 0..3 {
            if at < self.ends {
                return;
            }
            self.end();
        }
        let interval = self.erica.interval.as_nanos().max(1);
        if at >= self.ends {
            let over = at.saturating_since(self.ends).as_nanos() / interval + 1;
            self.ends += Duration::from_nanos(over.saturating_mul(interval));
        }
    }

    fn end(&mut self) {
        let interval = self.erica.interval.max(Duration::from_nanos(1));
        let second = u128::from(CellRate::PARTS) * 1_000_000_000;
        self.input = scaled(self.cells, second, interval.as_nanos().into());
        let active = self.channels.iter().filter(|it| it.active).count();
        self.fair = self.target / u64::try_from(active).unwrap_or(u64::MAX).max(1);
        (self.most_before, self.most) = (self.most, self.fair);
        self.cells = 0;
        for channel in &mut self.channels {
            channel.active = false;
        }
        self.ends += interval;
    }
}

/// `value * by / of`, rounded down; the greatest number where it would be beyond that, or `of` is nothing.
fn scaled(value: u64, by: u128, of: u128) -> u64 {
    let whole = u128::from(value).saturating_mul(by).checked_div(of);
    whole.map_or(u64::MAX, |it| u64::try_from(it).unwrap_or(u64::MAX))
}
