//! What the answers tell of the path: its round trip, its queue, what it delivers.

use kumiki_graph::{Duration, Instant};

use super::{Status, scaled};

/// Statuses remembered for the delivery rate.
const REMEMBERED: usize = 32;
/// The longest spacing of statuses that is taken for how they are spaced, and not for a pause.
const LONGEST: Duration = Duration::from_millis(200);

/// What was known at a status.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    at: Instant,
    delivered: u64,
    lost: u64,
}

/// The path as far as it is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    /// The round trip, smoothed over two samples.
    rtt: Option<Duration>,
    /// The shortest round trip as the caller has it.
    min: Option<Duration>,
    /// The shortest ones since the last reaction and between the two before.
    lows: [Option<Duration>; 2],
    /// From one status to the next, smoothed.
    spacing: Duration,
    /// Newest last.
    known: [Option<Known>; REMEMBERED],
}

impl Path {
    /// Takes a status. Where the horizon becomes another because of how statuses are spaced: what it was and what it is.
    pub(super) fn on_status(&mut self, status: &Status) -> Option<(Duration, Duration)> {
        let was = self.horizon();
        if let Some(last) = self.last().filter(|_| !status.limited) {
            let longest = LONGEST.max(self.rtt.unwrap_or_default());
            let spacing = status.now.saturating_since(last.at).min(longest);
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
        *newest = Some(Known {
            at: status.now,
            delivered: last.delivered.saturating_add(status.delivered),
            lost: last.lost.saturating_add(status.lost),
        });
        changed
    }

    fn last(&self) -> Option<Known> {
        self.known.last().copied().flatten()
    }

    /// The rate at which `delivered` octets came since the last status.
    pub(super) fn spacing_rate(&self, now: Instant, delivered: u64) -> Option<u64> {
        let spacing = now.saturating_since(self.last()?.at);
        let some = delivered > 0 && !spacing.is_zero();
        some.then(|| scaled(delivered, 1_000_000_000, spacing.as_nanos()))
    }

    /// The round trip.
    pub(super) const fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// The time in which what goes out is told of: a round trip, or from one status to the next if that is longer.
    pub(super) fn horizon(&self) -> Option<Duration> {
        Some(self.rtt?.max(self.spacing).max(Duration::from_nanos(1)))
    }

    /// The round trip without a queue.
    fn base(&self) -> Option<Duration> {
        let [low, before] = self.lows;
        [self.min, low, before].into_iter().flatten().min()
    }

    /// How much of the round trip is a queue.
    pub(super) fn queueing(&self) -> Duration {
        let base = self.base().unwrap_or_default();
        self.rtt.unwrap_or_default().saturating_sub(base)
    }

    /// From the last status at least a horizon ago to now, or as far as is remembered.
    fn span(&self) -> Option<(Known, Known)> {
        let last = self.last()?;
        let horizon = self.horizon()?;
        let old = |it: &&Known| last.at.saturating_since(it.at) >= horizon;
        let known = self.known.iter().flatten();
        let first = known.clone().rev().find(old).or_else(|| known.clone().next())?;
        Some((*first, last))
    }

    /// Octets per second delivered over the last horizon.
    pub(super) fn delivery_rate(&self) -> Option<u64> {
        let (first, last) = self.span()?;
        let time = last.at.saturating_since(first.at);
        let octets = last.delivered - first.delivered;
        (!time.is_zero()).then(|| scaled(octets, 1_000_000_000, time.as_nanos()))
    }

    /// Octets delivered and lost over the last horizon.
    pub(super) fn of_late(&self) -> (u64, u64) {
        let Some((first, last)) = self.span() else {
            return (0, 0);
        };
        (last.delivered - first.delivered, last.lost - first.lost)
    }

    /// How long `packets` halves of a packet take.
    fn halves(&self, halves: u64, packet: u64) -> Duration {
        let rate = self.delivery_rate().unwrap_or(0).max(1);
        Duration::from_nanos(scaled(halves * packet, 500_000_000, rate))
    }

    /// Whether a round trip of `rtt` has a queue in it: more than a packet and a half, and more than 1/32.
    pub(super) fn is_queue(&self, rtt: Duration, packet: u64) -> bool {
        let base = self.base().unwrap_or_default();
        rtt.saturating_sub(base) > (base / 32).max(self.halves(3, packet))
    }

    /// Whether it has more of one: of two packets, and 1/16.
    pub(super) fn is_long_queue(&self, rtt: Duration, packet: u64) -> bool {
        let base = self.base().unwrap_or_default();
        rtt.saturating_sub(base) > (base / 16).max(self.halves(4, packet))
    }

    /// Whether there is a queue now.
    pub(super) fn queue_stands(&self, packet: u64) -> bool {
        self.rtt.is_some_and(|rtt| self.is_queue(rtt, packet))
    }

    /// The window was made smaller: what was the shortest round trip long ago is forgotten.
    pub(super) fn on_reaction(&mut self) {
        let [low, before] = &mut self.lows;
        *before = low.take();
    }

    /// Nothing was told for long: what was delivered before says nothing of now.
    pub(super) const fn on_timeout(&mut self) {
        self.known = [None; REMEMBERED];
    }
}
