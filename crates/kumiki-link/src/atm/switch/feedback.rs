//! What an output tells the sources of ABR whose cells it sends, in the RM cells that go back to them.
//!
//! | | |
//! |---|---|
//! | Relative rates | ATM Forum af-tm-0056: a congested switch sets CI or NI in backward RM cells. When it is congested is its own affair: here by the length of the queue |
//! | Explicit rates | ERICA: Jain, Kalyanaraman, Goyal, Fahmy, Viswanathan, "ERICA Switch Algorithm: A Complete Description" (ATM Forum/96-1172, August 1996), in the steps that section 2 of ATM Forum/98-0408 repeats |
//! | Left out | ERICA's averages over several intervals, its control of the queue (ERICA+), MCR and weights; EPRCA and other algorithms; notifications (BN) |
//!
//! ERICA measures at an output, for an interval at a time, how fast cells come and from how many channels. With the
//! target rate *T*, a part of the line's, the load factor is z = input / T, a fair share T / active channels, and a
//! channel's own share CCR / z. A channel is active whose cells come, or to whose source an RM cell goes back; and by a
//! part, if it was before: bursts of TCP leave intervals out, and the shares of silent sources would else be given to
//! others. (ATM Forum/96-0517 names the "correct counting of bursty sources" among the changes that let the queue not
//! depend on their number. Its abstract was read, and not how it counts.) In overload (z > 1 + δ) a channel is told the
//! greater of both; otherwise also no less than the most that any was told in the interval before, so that rates come
//! to be alike. Who was below the fair share is told no more than that, and nobody more than T. In one interval a
//! channel is told one rate: the load that was measured answers one CCR, and not those that follow from it.

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
    /// How much of a channel that was counted in an interval still counts in the next, where it is silent: in
    /// millionths.
    pub memory: u32,
    /// δ: a load up to so much above the target is no overload, in millionths.
    pub overload: u32,
}

/// A whole, in millionths.
const WHOLE: u128 = 1_000_000;

/// What a channel counts that is active.
const WHOLE_COUNT: u64 = 1_000_000;

/// So many intervals are looked at one by one where nothing comes.
const SILENT: u32 = 256;

/// A channel.
#[derive(Clone, Copy, Debug, Default)]
struct Channel {
    /// What its source said last that it may send.
    ccr: CellRate,
    active: bool,
    /// How far it counts, in millionths.
    counts: u64,
    /// What it has been told in this interval.
    told: Option<u64>,
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
        let Some(of) = self.channels.get_mut(channel) else {
            return CellRate::from_parts(self.target);
        };
        of.active = true;
        if let Some(told) = of.told {
            return CellRate::from_parts(told);
        }
        let ccr = of.ccr.parts();
        let own = if self.input == 0 { self.target } else { scaled(ccr, self.target.into(), self.input.into()) };
        let own = own.min(self.target);
        let overload =
            u128::from(self.input) * WHOLE > u128::from(self.target) * (WHOLE + u128::from(self.erica.overload));
        let share = own.max(self.fair);
        let told = if overload { share } else { share.max(self.most_before) };
        self.most = self.most.max(told);
        let told = if told > self.fair && ccr < self.fair { self.fair } else { told };
        let told = told.min(self.target);
        if let Some(of) = self.channels.get_mut(channel) {
            of.told = Some(told);
        }
        CellRate::from_parts(told)
    }

    /// Ends the intervals that are over at `at`.
    fn advance(&mut self, at: Instant) {
        // After so many intervals without a cell nothing changes any more.
        for _ in 0..SILENT {
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
        let memory = u128::from(self.erica.memory);
        for channel in &mut self.channels {
            channel.told = None;
            let active = std::mem::take(&mut channel.active);
            channel.counts = if active { WHOLE_COUNT } else { scaled(channel.counts, memory, WHOLE) };
        }
        let active: u64 = self.channels.iter().map(|it| it.counts).sum();
        self.fair = scaled(self.target, WHOLE, active.max(WHOLE_COUNT).into());
        (self.most_before, self.most) = (self.most, self.fair);
        self.cells = 0;
        self.ends += interval;
    }
}

/// `value * by / of`, rounded down; the greatest number where it would be beyond that, or `of` is nothing.
fn scaled(value: u64, by: u128, of: u128) -> u64 {
    let whole = u128::from(value).saturating_mul(by).checked_div(of);
    whole.map_or(u64::MAX, |it| u64::try_from(it).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at_us(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    /// In the millisecond `ms` come so many cells of two channels, whose sources say that they may send so many
    /// thousand per second.
    fn load(measure: &mut Measure, ms: u64, cells: u64, thousands: [u64; 2]) {
        for number in 0..cells {
            let channel = usize::from(number % 2 == 1);
            let rm = Rm { current: CellRate::per_second(thousands[channel] * 1000), ..Rm::default() };
            measure.cell(at_us(ms * 1000 + number), channel, Some(&rm));
        }
    }

    fn told(measure: &mut Measure, ms: u64, channel: usize) -> u64 {
        measure.explicit(at_us(ms * 1000), channel).parts() / CellRate::PARTS / 1000
    }

    #[test]
    fn rates_are_those_of_the_published_steps() {
        let erica = Erica { interval: Duration::from_millis(1), target: 1_000_000, memory: 500_000, overload: 100_000 };
        // T is 100 cells in an interval.
        let mut measure = Measure::new(erica, CellRate::per_second(100_000));
        load(&mut measure, 0, 200, [160, 40]);
        // z = 2: own shares are 80 and 20, the fair one 50.
        assert_eq!([told(&mut measure, 1, 0), told(&mut measure, 1, 1)], [80, 50]);
        load(&mut measure, 1, 100, [80, 50]);
        // z = 1: the most that was told goes for both. Who is below the fair share is told that first, and no other
        // rate until the interval ends.
        assert_eq!([told(&mut measure, 2, 0), told(&mut measure, 2, 1)], [80, 80]);
        load(&mut measure, 2, 100, [80, 20]);
        assert_eq!(told(&mut measure, 3, 1), 50);
        load(&mut measure, 3, 10, [80, 90]);
        assert_eq!(told(&mut measure, 3, 1), 50);
        // One is silent for two intervals and counts by a quarter.
        let rm = Rm { current: CellRate::per_second(10_000), ..Rm::default() };
        for number in 0..100 {
            measure.cell(at_us(5000 + number), 0, Some(&rm));
        }
        let _ = told(&mut measure, 6, 0);
        assert_eq!(measure.fair / CellRate::PARTS / 1000, 80);
        // After silence all of the target is to be had, and no time is lost with it.
        assert_eq!(told(&mut measure, 60_000_000, 0), 100);
    }
}
