//! Pacing: segments leave at a rate, not in bursts.
//!
//! | | |
//! |---|---|
//! | Specification | none of its own; RFC 7661 section 4.4.2 and RFC 9406 ask for it; rate and factors as Linux |
//! | The caller's part | to ask before each segment; the timer |
//! | Left out | a rate chosen by the user; scheduling among connections |
//!
//! A bucket of octets that fills at the rate, `factor * cwnd / SRTT`, and may be overdrawn by one segment. It never
//! holds more than a burst, so that a timer that is late does not cost rate, and an idle connection starts with the
//! initial burst.

use kumiki_graph::{Duration, Instant};

/// The rate is so many tenths of cwnd / SRTT.
const IN_SLOW_START: u64 = 20;
const AFTERWARDS: u64 = 12;
/// Segments that may go at once after an idle time: the initial window of RFC 6928.
const INITIAL_BURST: i64 = 10;
/// Segments that may go at once later, or as many as go in [`BURST_TIME`].
const BURST: i64 = 2;
const BURST_TIME: Duration = Duration::from_millis(1);

/// What the rate comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// In octets.
    pub(crate) cwnd: u64,
    pub(crate) srtt: Duration,
    pub(crate) slow_start: bool,
    /// In octets.
    pub(crate) smss: u32,
}

impl Pace {
    const fn tenths(&self) -> u64 {
        if self.slow_start { IN_SLOW_START } else { AFTERWARDS }
    }

    /// Octets in `time`.
    fn octets_in(&self, time: Duration) -> i64 {
        let rate = u128::from(self.cwnd) * u128::from(self.tenths());
        let octets = rate * u128::from(time.as_nanos()) / (10 * u128::from(self.srtt.as_nanos()).max(1));
        i64::try_from(octets).unwrap_or(i64::MAX)
    }

    /// How long `octets` take, rounded up.
    fn time_for(&self, octets: u64) -> Duration {
        let rate = (u128::from(self.cwnd) * u128::from(self.tenths())).max(1);
        let nanos = (u128::from(octets) * 10 * u128::from(self.srtt.as_nanos())).div_ceil(rate);
        // Never now: a timer that expires in the instant in which it is set would do so for ever.
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX).max(1))
    }

    fn burst(&self) -> i64 {
        (BURST * i64::from(self.smss)).max(self.octets_in(BURST_TIME))
    }
}

/// The bucket of one connection.
#[derive(Debug)]
pub(crate) struct Pacer {
    /// Octets that may go now; below zero, what went ahead of its time.
    credit: i64,
    filled: Instant,
}

impl Pacer {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { credit: 0, filled: now }
    }

    /// When a segment may go, if not now; `idle`: nothing is outstanding.
    pub(crate) fn wait(&mut self, pace: &Pace, idle: bool, now: Instant) -> Option<Instant> {
        let octets = pace.octets_in(now.saturating_since(self.filled));
        if octets > 0 {
            self.filled = now;
        }
        let filled = self.credit.saturating_add(octets);
        self.credit = filled.min(pace.burst().max(self.credit));
        if idle {
            self.credit = self.credit.max(INITIAL_BURST * i64::from(pace.smss));
        }
        // Overdrawn by one segment at most.
        (self.credit <= 0).then(|| now + pace.time_for(self.credit.unsigned_abs() + 1))
    }

    /// `octets` were sent, whether they had to ask or not.
    ///
    /// What did not ask, since there was no rate yet or recovery forced it, costs no more than a segment that was ahead
    /// of its time: or else a rate that is known later, and low, would have to make up for all of it.
    pub(crate) fn on_sent(&mut self, octets: u32) {
        let octets = i64::from(octets);
        let least = self.credit.min(-octets);
        self.credit = self.credit.saturating_sub(octets).max(least);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// Segments sent at each instant in `time`, where there is always data and the window never full.
    fn schedule(slow_start: bool, time: Duration) -> Vec<(u64, u32)> {
        let pace = Pace { cwnd: 100_000, srtt: ms(100), slow_start, smss: 1000 };
        let mut now = Instant::ZERO;
        let mut pacer = Pacer::new(now);
        let mut sent = Vec::new();
        let mut idle = true;
        while now < Instant::ZERO + time {
            let mut burst = 0;
            let next = loop {
                if let Some(next) = pacer.wait(&pace, idle, now) {
                    break next;
                }
                idle = false;
                pacer.on_sent(1000);
                burst += 1;
            };
            sent.push((now.as_nanos(), burst));
            now = next;
        }
        sent
    }

    #[test]
    fn the_rate_is_a_little_more_than_a_window_per_round_trip() {
        for (slow_start, expected) in [(false, 1200), (true, 2000)] {
            let sent = schedule(slow_start, ms(1000));
            let segments: u32 = sent.iter().map(|(_, segments)| segments).sum();
            assert_eq!(sent[0], (0, 10), "the initial burst");
            // The initial burst, and the one segment that is ahead.
            assert!((expected..=expected + 11).contains(&segments), "{segments}");
            assert!(sent[1..].iter().all(|(_, segments)| *segments <= 2));
        }
    }

    #[test]
    fn time_goes_on_whatever_the_rate() {
        let (cwnd, smss) = (u64::MAX, 1000);
        for srtt in [Duration::ZERO, ms(1)] {
            let pace = Pace { cwnd, srtt, slow_start: true, smss };
            let next = Pacer::new(Instant::ZERO).wait(&pace, false, Instant::ZERO);
            assert!(next.is_some_and(|next| next > Instant::ZERO));
        }
    }

    #[test]
    fn what_went_without_a_rate_is_not_made_up_for() {
        let mut pacer = Pacer::new(Instant::ZERO);
        for _ in 0..100 {
            pacer.on_sent(1000);
        }
        let pace = Pace { cwnd: 2000, srtt: ms(100), slow_start: true, smss: 1000 };
        let next = pacer.wait(&pace, false, Instant::ZERO);
        assert!(next.is_some_and(|next| next <= Instant::ZERO + ms(26)), "{next:?}");
    }

    #[test]
    fn a_late_timer_is_made_up_for_by_a_burst_and_no_more() {
        let pace = Pace { cwnd: 100_000, srtt: ms(100), slow_start: false, smss: 1000 };
        let mut pacer = Pacer::new(Instant::ZERO);
        let late = Instant::ZERO + ms(50);
        let mut burst = 0;
        while pacer.wait(&pace, false, late).is_none() {
            pacer.on_sent(1000);
            burst += 1;
        }
        assert_eq!(burst, 2);
    }
}
