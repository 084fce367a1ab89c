//! How long an end may wait: what its retransmission timer can have come to, and when the acknowledgment clock must go
//! on.

use kumiki_graph::{Duration, Instant};
use kumiki_wire::inet::EcnUse;
use kumiki_wire::inet::IpQuality;
use kumiki_wire::inet::tcp::Seq;

use super::space::Sending;
use super::{AFTER_SYN_LOSS, PERSIST};
use crate::case::End;
use kumiki_inet::tcp::config::LossDetection;

/// How often a caller among many is answered again at the least.
const AMONG_MANY: u32 = 2;

/// What the end was configured for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) mtu: usize,
    initial: Duration,
    minimum: Duration,
    maximum: Duration,
    granularity: Duration,
    tick: Duration,
    pub(super) overrides: Duration,
    /// The peer may have told of congestion marks.
    pub(super) ecn: bool,
    pub(super) syn_retries: u32,
    /// Nothing is kept of a call until it is answered.
    pub(super) cookies: bool,
    /// How late a timer may be, and how early.
    pub(super) beats: Duration,
    /// Where SACK is on, each retransmission starts the timer again.
    rack: bool,
    tail_loss_probe: bool,
}

impl Bounds {
    pub(super) fn of(end: &End) -> Self {
        let tcp = &end.tcp;
        let beat = tcp.slow_beat.map_or(Duration::ZERO, |beat| beat.period);
        Self {
            mtu: usize::try_from(end.mtu).unwrap_or(usize::MAX),
            initial: tcp.rto.initial,
            minimum: tcp.rto.minimum,
            maximum: tcp.rto.maximum + tcp.rto.tick,
            granularity: tcp.rto.granularity,
            tick: tcp.rto.tick,
            overrides: tcp.override_timeout,
            ecn: IpQuality::from(end.quality.special).ecn.unwrap_or(tcp.ecn) != EcnUse::Off,
            // A cookie is not retransmitted.
            // RFC 4987 section 3.4: among many callers each is given up sooner.
            syn_retries: match (end.may_send_cookies(), end.strangers) {
                (true, _) => 0,
                (false, Some(_)) => tcp.syn_retries.min(AMONG_MANY),
                (false, None) => tcp.syn_retries,
            },
            cookies: end.may_send_cookies(),
            beats: beat * 2 + Duration::from_millis(1),
            rack: tcp.loss_detection == LossDetection::Rack,
            tail_loss_probe: tcp.tail_loss_probe,
        }
    }

    /// RTO at the most, backed off `times` times.
    fn rto(&self, trips: &RttSamples, times: u32) -> Duration {
        let measured = trips.estimate.map_or(Duration::ZERO, |it| it.most + (it.variation * 4).max(self.granularity));
        let rto = if trips.sure { measured } else { measured.max(self.initial).max(AFTER_SYN_LOSS) };
        let factor = 1_u64.checked_shl(times).unwrap_or(u64::MAX);
        let rto = rto.max(self.minimum).saturating_mul(factor);
        (rto + self.tick).min(self.maximum)
    }

    fn timer(&self, sending: &Sending) -> Duration {
        self.rto(&sending.trips, sending.backed_off) + self.beats
    }

    /// When the retransmission timer expires at the latest, unless a probe has started it again; `sack`: SACK is on.
    pub(super) fn expiry(&self, sending: &Sending, sack: bool) -> Instant {
        let since = if self.rack && sack { sending.resent_at.max(sending.head_at) } else { sending.head_at };
        since + self.timer(sending)
    }

    /// When what begins at SND.UNA is retransmitted at the latest.
    pub(super) fn again(&self, sending: &Sending, sack: bool) -> Instant {
        let unmarked = self.unmarked(sending, sack);
        sending.marked_at.map_or(unmarked, |at| unmarked.max(at + self.timer(sending)))
    }

    /// The same, unless marks were told of.
    pub(super) fn unmarked(&self, sending: &Sending, sack: bool) -> Instant {
        let expiry = self.expiry(sending, sack);
        let probes = self.rack && sack && self.tail_loss_probe;
        let probe = sending.news_at.filter(|_| probes);
        probe.map_or(expiry, |at| expiry.max(at + self.timer(sending)))
    }

    /// How long what may be sent waits at the most where nothing is in flight, but for marks.
    pub(super) fn waits(&self) -> Duration {
        self.overrides + self.beats
    }

    /// Until when marks that an acknowledgment tells of `now` can hold new data back.
    pub(super) fn held_until(&self, now: Instant, sending: &Sending) -> Instant {
        if self.ecn { now + self.timer(sending) } else { now }
    }

    /// How long a closed window may go without a probe.
    pub(super) fn persist(&self, sending: &Sending) -> Duration {
        let times = sending.backed_off.saturating_add(sending.probes);
        let rto = self.rto(&sending.trips, times);
        // Once the maximum of RTO is reached, doubling goes on to the longest interval.
        let most = PERSIST.max(self.maximum);
        let factor = 1_u64.checked_shl(times).unwrap_or(u64::MAX);
        let doubled = self.rto(&sending.trips, 0).saturating_mul(factor);
        rto.max(doubled).min(most) + self.beats
    }

    /// Whether the retransmission timer can have expired after `silence`.
    pub(super) fn may_expire(&self, silence: Duration) -> bool {
        silence + self.beats >= self.minimum
    }
}

/// Bounds of what RFC 6298's estimator holds.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    /// SRTT.
    least: Duration,
    most: Duration,
    /// RTTVAR at the most.
    variation: Duration,
}

impl Estimate {
    fn first((low, high): (Duration, Duration)) -> Self {
        Self { least: low, most: high, variation: high / 2 }
    }

    fn with(self, (low, high): (Duration, Duration)) -> Self {
        let error = self.most.saturating_sub(low).max(high.saturating_sub(self.least));
        Self {
            least: (self.least * 7 + low) / 8,
            most: (self.most * 7 + high) / 8,
            variation: (self.variation * 3 + error) / 4,
        }
    }

    /// Either of both.
    fn or(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
            variation: self.variation.max(other.variation),
        }
    }
}

/// The round trips that an end can have measured.
///
/// Which octet of an acknowledgment is the sample is left to the end: all that could be are.
#[derive(Clone, Debug, Default)]
pub(super) struct RttSamples {
    estimate: Option<Estimate>,
    /// There has been a sample that nobody may leave out.
    sure: bool,
    /// The longest that could have been a sample.
    longest: Duration,
}

impl RttSamples {
    /// An acknowledgment that tells of a round trip between `low` and `high`; `sure`: the standard wants it to be a
    /// sample.
    pub(super) fn take(&mut self, low: Duration, high: Duration, sure: bool, bounds: &Bounds) {
        let trip = (bounds.in_ticks(low), bounds.in_ticks(high));
        self.longest = self.longest.max(high);
        let first = Estimate::first(trip);
        let taken = match self.estimate {
            None => first,
            Some(before) if self.sure => before.with(trip),
            Some(before) => before.with(trip).or(first),
        };
        self.estimate = Some(match self.estimate {
            Some(before) if !sure => taken.or(before),
            _ => taken,
        });
        self.sure |= sure;
    }

    /// Something that was retransmitted came back after `trip`: no sample, but RACK looks at it.
    pub(super) fn see(&mut self, trip: Duration) {
        self.longest = self.longest.max(trip);
    }

    /// Either of both.
    pub(super) fn or(&mut self, other: &Self) {
        self.estimate = match (self.estimate, other.estimate) {
            (Some(one), Some(two)) => Some(one.or(two)),
            (one, two) => one.or(two),
        };
        self.sure &= other.sure;
        self.longest = self.longest.max(other.longest);
    }

    /// What was measured may not have been taken for a sample.
    pub(super) const fn doubt(&mut self) {
        self.sure = false;
    }
}

impl Bounds {
    /// As an end measures that counts ticks.
    fn in_ticks(&self, time: Duration) -> Duration {
        if self.tick.is_zero() {
            return time;
        }
        self.tick * ((time + self.tick / 2).as_nanos() / self.tick.as_nanos())
    }
}

/// From a time-out on: what of it can still be on the way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// What was sent before the time-out ends here ("recover").
    recover: i64,
    /// What was retransmitted since then ends here; from here on all was lost, or is on its way for longer than
    /// anything was.
    resent: i64,
    /// Segments of new data since then, and those of them that have come, as far as duplicates or SACK tell.
    news: u32,
    news_end: i64,
    told: u32,
    /// TSval of what was retransmitted first.
    ts: Option<u32>,
    /// Nothing has been on the way since.
    pub(super) idle_since: Option<Instant>,
}

/// An acknowledgment, as far as the clock is concerned.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckTiming {
    /// It acknowledges everything before.
    pub(super) ack: i64,
    /// SND.UNA before it.
    pub(super) una: i64,
    /// It is a duplicate (RFC 5681 section 2).
    pub(super) duplicate: bool,
    /// TSecr.
    pub(super) echo: Option<u32>,
    /// Its SACK blocks: the lowest start, the lowest end and the highest end.
    pub(super) sack: Option<(i64, i64, i64)>,
}

impl Clock {
    /// The head was retransmitted, up to `end`, by a time-out; all before `recover` had been sent.
    pub(super) const fn new(recover: i64, end: i64, ts: Option<u32>) -> Self {
        Self { recover, resent: end, news: 0, news_end: 0, told: 0, ts, idle_since: None }
    }

    /// Something more was sent, which occupies `start` to `end`.
    pub(super) fn on_sent(&mut self, start: i64, end: i64) {
        self.idle_since = None;
        if start >= self.recover {
            self.news += 1;
            self.news_end = self.news_end.max(end);
        } else {
            self.resent = self.resent.max(end);
        }
    }

    /// What an acknowledgment makes of it; none where the time-out may have been for nothing, or is made good.
    pub(super) fn on_ack(mut self, now: Instant, tick: &AckTiming) -> Option<Self> {
        let advances = tick.ack > tick.una;
        if tick.ack >= self.recover || (advances && self.news > 0) {
            return None;
        }
        let old = |left: i64| left < tick.ack;
        if tick.sack.is_some_and(|(left, right, _)| old(left) || right <= self.recover) {
            // D-SACK, or what arrived though it was taken for lost.
            return None;
        }
        if advances {
            // What had arrived before the time-out comes with what fills the gap.
            self.resent = self.resent.max(tick.ack);
            let earlier = |echo, ts| Seq(echo).lt(Seq(ts));
            if let (Some(echo), Some(ts)) = (tick.echo, self.ts)
                && earlier(echo, ts)
            {
                return None;
            }
        } else if let Some((_, _, right)) = tick.sack {
            if right >= self.news_end {
                self.told = self.news;
            }
        } else if tick.duplicate {
            self.told += 1;
        }
        if tick.ack == self.resent && self.told >= self.news && self.idle_since.is_none() {
            self.idle_since = Some(now);
        }
        Some(self)
    }

    /// How long an end may be silent then: pacing, and RACK's reordering window, are each at most a round trip.
    pub(super) fn max_silence(trips: &RttSamples, bounds: &Bounds) -> Duration {
        trips.longest * 2 + bounds.tick + bounds.beats
    }

    /// Whether after `silence` nothing sent before can be on the way, as the end must see it.
    pub(super) fn is_time_out(silence: Duration, trips: &RttSamples, bounds: &Bounds) -> bool {
        trips.sure && silence > bounds.minimum.max(trips.longest * 2)
    }
}
