//! What the answers tell of the path: its round trip, its queue, what it delivers.

use kumiki_graph::{Duration, Instant};

use super::{Status, rate_of, scaled};

/// Statuses remembered for the delivery rate.
const REMEMBERED: usize = 32;
/// A longer time between two statuses, and longer than a round trip, is a pause and not their spacing.
const PAUSE: Duration = Duration::from_millis(200);

/// What was known at a status: totals.
#[derive(Clone, Copy, Debug, Default)]
struct StatusTotals {
    at: Instant,
    delivered: u64,
    lost: u64,
}

/// The path as far as it is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    /// The round trip: half the last sample, a quarter the one before, and so on.
    rtt: Option<Duration>,
    /// The shortest round trip as the caller has it.
    min: Option<Duration>,
    /// The shortest one since the last reaction, and the one between that and the reaction before. Where reactions are
    /// far apart, the caller has long forgotten when the queue was shortest.
    lows: [Option<Duration>; 2],
    /// From one status to the next, smoothed.
    spacing: Duration,
    /// Newest last.
    known: [Option<StatusTotals>; REMEMBERED],
}

impl Path {
    /// Takes a status. Where the horizon becomes another because of how statuses are spaced: what it was and what it
    /// is.
    pub(super) fn on_status(&mut self, status: &Status) -> Option<(Duration, Duration)> {
        let was = self.horizon();
        if !status.limited && !self.is_unknown() {
            let longest = PAUSE.max(self.rtt.unwrap_or_default());
            let spacing = self.since_last(status.now).min(longest);
            self.spacing = (self.spacing * 3 + spacing) / 4;
        }
        let changed = was.zip(self.horizon()).filter(|(was, is)| was != is);
        if let Some(rtt) = status.rtt {
            self.rtt = Some(self.rtt.map_or(rtt, |it| (it + rtt) / 2));
            let [low, _] = &mut self.lows;
            *low = Some(low.map_or(rtt, |it| it.min(rtt)));
        }
        self.min = status.min_rtt.or(self.min);
        let last = self.last().unwrap_or_default();
        self.known.rotate_left(1);
        let [.., newest] = &mut self.known;
        *newest = Some(StatusTotals {
            at: status.now,
            delivered: last.delivered.saturating_add(status.delivered),
            lost: last.lost.saturating_add(status.lost),
        });
        changed
    }

    fn last(&self) -> Option<StatusTotals> {
        self.known.last().copied().flatten()
    }

    /// Whether nothing is known to have been delivered yet.
    pub(super) fn is_unknown(&self) -> bool {
        self.last().is_none_or(|last| last.delivered == 0)
    }

    /// The time since the last status; none before the first.
    pub(super) fn since_last(&self, now: Instant) -> Duration {
        let last = self.last().map_or(now, |it| it.at);
        now.saturating_since(last)
    }

    /// The round trip.
    pub(super) const fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// The round trip without a queue.
    fn base(&self) -> Duration {
        let [low, before] = self.lows;
        let known = [self.min, low, before].into_iter().flatten();
        known.min().unwrap_or_default()
    }

    /// How much of the round trip is a queue.
    fn queueing(&self) -> Duration {
        self.rtt.unwrap_or_default().saturating_sub(self.base())
    }

    /// Without a queue, after how long one hears of what leaves now: a round trip, or from one status to the next if
    /// that is longer.
    pub(super) fn empty_horizon(&self) -> Duration {
        self.base().max(self.spacing).max(Duration::from_nanos(1))
    }

    /// The same with the queue, once a round trip is known.
    pub(super) fn horizon(&self) -> Option<Duration> {
        self.rtt?;
        Some(self.empty_horizon() + self.queueing())
    }

    /// From one status to the next.
    pub(super) const fn spacing(&self) -> Duration {
        self.spacing
    }

    /// Whether statuses are further apart than round trips are long.
    pub(super) fn is_seldom_told(&self) -> bool {
        self.spacing > self.base()
    }

    /// The time for which, when the next status comes, nothing has been heard of what left, beyond the horizon; and the
    /// horizon. What is out then left in a round trip and the time between two statuses, of which the horizon has the
    /// longer and the queue.
    pub(super) fn unheard(&self) -> Option<(Duration, Duration)> {
        Some((self.base().min(self.spacing), self.horizon()?))
    }

    /// The last status, and the last one before it by a horizon, or the oldest that is remembered.
    fn span(&self) -> Option<(StatusTotals, StatusTotals)> {
        let last = self.last()?;
        let horizon = self.horizon()?;
        let mut known = self.known.iter().flatten().copied();
        let oldest = known.next()?;
        let is_before = |it: &StatusTotals| last.at.saturating_since(it.at) >= horizon;
        Some((known.rfind(is_before).unwrap_or(oldest), last))
    }

    /// Octets delivered and lost over the last horizon.
    pub(super) fn of_late(&self) -> (u64, u64) {
        let span = self.span();
        span.map_or((0, 0), |(first, last)| {
            let delivered = last.delivered.saturating_sub(first.delivered);
            (delivered, last.lost.saturating_sub(first.lost))
        })
    }

    /// Octets per second delivered over the last horizon.
    pub(super) fn delivery_rate(&self) -> Option<u64> {
        let (first, last) = self.span()?;
        let time = last.at.saturating_since(first.at);
        (!time.is_zero()).then(|| rate_of(last.delivered.saturating_sub(first.delivered), time))
    }

    /// Whether `rtt` is longer than without a queue, by a part of that and by what `octets` take.
    fn is_longer(&self, rtt: Duration, part: u64, octets: u64) -> bool {
        let rate = self.delivery_rate().unwrap_or(0);
        let time = Duration::from_nanos(scaled(octets, 1_000_000_000, rate));
        let base = self.base();
        rtt.saturating_sub(base) > (base / part).max(time)
    }

    /// Whether a round trip of `rtt` has a queue in it: more than a packet and a half, and more than 1/32.
    pub(super) fn is_queue(&self, rtt: Duration, packet: u64) -> bool {
        self.is_longer(rtt, 32, packet.saturating_mul(3) / 2)
    }

    /// Whether it has more than that: two packets, and 1/16.
    pub(super) fn is_long_queue(&self, rtt: Duration, packet: u64) -> bool {
        self.is_longer(rtt, 16, packet.saturating_mul(2))
    }

    /// Whether there is a queue now.
    pub(super) fn queue_stands(&self, packet: u64) -> bool {
        self.rtt.is_some_and(|rtt| self.is_queue(rtt, packet))
    }

    /// The window was made smaller, and with it the queue.
    pub(super) const fn on_reaction(&mut self) {
        let [low, before] = &mut self.lows;
        *before = low.take();
    }

    /// Nothing was told for long: what was delivered before says nothing of now.
    pub(super) const fn on_timeout(&mut self) {
        self.known = [None; REMEMBERED];
    }
}
