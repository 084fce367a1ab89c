//! How fast packets leave: RTIMER's credit, and the pace of congestion control.
//!
//! | | |
//! |---|---|
//! | Specification | `docs/xtp.md`, P29 |
//! | The caller's part | to ask before each packet; the timer |
//! | Left out | control packets, which leave at once and cost no credit |

use kumiki_graph::{Duration, Instant, RateLimit};

const SECOND: u128 = 1_000_000_000;

/// How long `octets` take at `rate`, rounded up and never nothing: a timer that expires when it is set would do so for
/// ever.
fn time_for(octets: u64, rate: u64) -> Duration {
    let nanos = (u128::from(octets) * SECOND).div_ceil(u128::from(rate.max(1)));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX).max(1))
}

/// RTIMER: each period of burst/rate gives a credit of burst octets, and what is left of the one before is lost.
#[derive(Debug, Default)]
pub(crate) struct Credit {
    limit: Option<RateLimit>,
    left: u64,
    /// When the period is over; `None`: none has begun.
    until: Option<Instant>,
}

impl Credit {
    /// Sends by `limit` from now on.
    pub(crate) fn limit(&mut self, limit: Option<RateLimit>) {
        let limit = limit.filter(|it| it.octets_per_second > 0 && it.burst > 0);
        if self.limit != limit {
            self.limit = limit;
            self.left = self.left.min(limit.map_or(0, |it| it.burst.into()));
        }
    }

    /// The most octets that a packet can have.
    pub(crate) fn most(&self) -> u32 {
        self.limit.map_or(u32::MAX, |it| it.burst)
    }

    /// When `octets` may leave, if not now.
    pub(crate) fn wait(&mut self, octets: u64, now: Instant) -> Option<Instant> {
        let limit = self.limit?;
        let period = time_for(limit.burst.into(), limit.octets_per_second.into());
        let until = match self.until {
            Some(until) if now < until => until,
            before => {
                self.left = limit.burst.into();
                // Periods follow one another as long as somebody waits; after a pause a new row begins.
                let on_time = before.filter(|it| now < *it + period);
                let until = on_time.unwrap_or(now) + period;
                self.until = Some(until);
                until
            }
        };
        (self.left < octets.min(limit.burst.into())).then_some(until)
    }

    /// `octets` have left.
    pub(crate) fn on_sent(&mut self, octets: u64) {
        self.left = self.left.saturating_sub(octets);
    }
}

/// Octets that may go at once, as time at the pace.
const QUANTUM: Duration = Duration::from_millis(1);

/// The pace of congestion control: packets leave one by one, at distances that give the rate.
#[derive(Debug)]
pub(crate) struct Pacer {
    next: Instant,
}

impl Pacer {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { next: now }
    }

    /// When a packet may leave, if not now.
    pub(crate) fn wait(&self, now: Instant) -> Option<Instant> {
        (now < self.next).then_some(self.next)
    }

    /// `octets` have left at `rate` octets a second. Who is late by no more than a millisecond makes up for it.
    pub(crate) fn on_sent(&mut self, octets: u64, rate: u64, now: Instant) {
        let late = now.saturating_since(self.next);
        let from = if late > QUANTUM { now } else { self.next };
        self.next = from + time_for(octets, rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn schedule(credit: &mut Credit, octets: u64, from: Instant, time: Duration) -> Vec<(u64, u32)> {
        let (mut now, mut sent) = (from, Vec::new());
        while now < from + time {
            let mut packets = 0;
            let next = loop {
                if let Some(next) = credit.wait(octets, now) {
                    break next;
                }
                credit.on_sent(octets);
                packets += 1;
            };
            sent.push((now.as_nanos() / 1_000_000, packets));
            now = next;
        }
        sent
    }

    #[test]
    fn each_period_has_its_burst() {
        let mut credit = Credit::default();
        credit.limit(Some(RateLimit { octets_per_second: 100_000, burst: 2500 }));
        let expected = [(0, 2), (25, 2), (50, 2), (75, 2)];
        assert_eq!(schedule(&mut credit, 1000, Instant::ZERO, ms(100)), expected);
        // A pause saves nothing, and what does not divide the burst is lost.
        let later = Instant::ZERO + ms(1001);
        let expected = [(1001, 2), (1026, 2)];
        assert_eq!(schedule(&mut credit, 1000, later, ms(50)), expected);
        // A packet of more than a burst goes when the whole burst is there.
        assert_eq!(credit.most(), 2500);
    }

    #[test]
    fn without_a_limit_nothing_waits() {
        let mut credit = Credit::default();
        assert_eq!(credit.wait(u64::MAX, Instant::ZERO), None);
        credit.limit(Some(RateLimit { octets_per_second: 0, burst: 9 }));
        assert_eq!(credit.wait(u64::MAX, Instant::ZERO), None);
    }

    #[test]
    fn a_pace_is_kept_and_small_delays_are_made_up_for() {
        let mut pacer = Pacer::new(Instant::ZERO);
        let mut now = Instant::ZERO;
        for _ in 0..1000 {
            assert_eq!(pacer.wait(now), None);
            pacer.on_sent(1000, 10_000_000, now);
            // A little late each time.
            now = pacer.wait(now).unwrap_or(now) + Duration::from_micros(3);
        }
        let took = now.saturating_since(Instant::ZERO).as_nanos() / 1000;
        assert!((100_000..100_010).contains(&took), "{took}");
    }
}
