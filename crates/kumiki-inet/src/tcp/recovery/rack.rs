//! RACK: losses told by time.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 8985 sections 5 and 6, whose names these are |
//! | The caller's part | the timer; what becomes of a loss |
//! | Left out | nothing of section 6 |
//!
//! # Where this differs from the RFC
//!
//! - Ties of `xmit_ts` are broken by the order of sending, not by sequence number: see
//!   [`Sent`](crate::tcp::scoreboard::Sent).
//! - The reordering timer is set for the first segment within the reordering window, not for the last: each is marked
//!   when its own time has come, and no later than the RFC would have it.
//! - A fast recovery that was undone counts as reordering seen.

use kumiki_graph::{Duration, Instant, OptionalTime};
use kumiki_octets::{Blank, OnDemand};
use kumiki_wire::inet::tcp::Seq;

use crate::tcp::scoreboard::{AckOutcome, Sent};

/// Recoveries for which an inflated reordering window persists.
const REO_WND_PERSIST: u32 = 16;
/// RACK.min_RTT is the least of the last one or two such periods. Section 6.2 step 1 leaves the length open; Linux has
/// 300 s.
const MIN_RTT_PERIOD: Duration = Duration::from_secs(150);

/// The shortest round trip of the recent past.
#[derive(Clone, Copy, Debug)]
struct MinRtt {
    since: Instant,
    /// None before there is a sample.
    this: OptionalTime<Duration>,
    before: OptionalTime<Duration>,
}

/// What reo_wnd depends on beside RACK's own variables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditions {
    /// In fast recovery or after a time-out.
    pub(crate) recovering: bool,
    /// RACK.segs_sacked.
    pub(crate) segs_sacked: u32,
    /// DupThresh; 0: never.
    pub(crate) dup_thresh: u32,
    pub(crate) srtt: Option<Duration>,
}

/// What is compared with what is in flight, and what was learned of reordering.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Order {
    /// RACK.xmit_ts and RACK.end_seq.
    segment: Option<Sent>,
    reordering_seen: bool,
    dsack_round: Option<Seq>,
    reo_wnd_mult: u32,
    reo_wnd_persist: u32,
    /// When the reordering timer expires.
    reordering_at: OptionalTime<Instant>,
}

impl Order {
    const NONE: Self = Self {
        segment: None,
        reordering_seen: false,
        dsack_round: None,
        reo_wnd_mult: 1,
        reo_wnd_persist: REO_WND_PERSIST,
        reordering_at: OptionalTime::NONE,
    };
}

impl Default for Order {
    fn default() -> Self {
        Self::NONE
    }
}

impl Blank for Order {
    const BLANK: &'static Self = &Self::NONE;
}

/// RACK's variables of one connection.
#[derive(Debug)]
pub(crate) struct Rack {
    /// RACK.rtt.
    rtt: OptionalTime<Duration>,
    /// RACK.min_RTT.
    min_rtt: MinRtt,
    order: OnDemand<Order>,
}

impl Rack {
    pub(crate) const fn new() -> Self {
        Self {
            rtt: OptionalTime::NONE,
            min_rtt: MinRtt { since: Instant::ZERO, this: OptionalTime::NONE, before: OptionalTime::NONE },
            order: OnDemand::new(),
        }
    }

    /// Nothing is in flight: the last that was delivered is earlier than all that will be sent, and told of no more
    /// than none would. Where nothing else is known the memory is given back.
    pub(crate) fn fit(&mut self) {
        if (Order { segment: None, ..*self.order }) == Order::NONE {
            self.order.clear();
        }
    }

    pub(crate) fn segment(&self) -> Option<&Sent> {
        self.order.segment.as_ref()
    }

    /// When the reordering timer expires.
    pub(crate) fn reordering_at(&self) -> Option<Instant> {
        self.order.reordering_at.known()
    }

    /// The reordering timer is to expire then, or not at all.
    pub(crate) fn set_reordering_at(&mut self, at: Option<Instant>) {
        if at.is_some() || self.order.exists() {
            self.order.reordering_at = at.into();
        }
    }

    pub(crate) fn min_rtt(&self) -> Option<Duration> {
        let MinRtt { this, before, .. } = self.min_rtt;
        let this = this.known()?;
        Some(before.known().map_or(this, |before| before.min(this)))
    }

    /// Step 1. The sample of the handshake also is the first RACK.rtt.
    pub(crate) fn on_rtt(&mut self, sample: Duration, now: Instant) {
        self.rtt.get_or_insert(sample);
        let min = &mut self.min_rtt;
        let shorter = match min.this.known() {
            Some(this) if now.saturating_since(min.since) < MIN_RTT_PERIOD => this.min(sample),
            before => {
                (min.since, min.before) = (now, before.into());
                sample
            }
        };
        min.this = Some(shorter).into();
    }

    /// Steps 2 and 3; which segments count is the scoreboard's part.
    pub(crate) fn on_delivered(&mut self, outcome: &AckOutcome, now: Instant) {
        if let Some(sent) = outcome.latest {
            self.on_sent_delivered(sent, now);
        }
        if outcome.reordered {
            self.order.reordering_seen = true;
        }
    }

    /// Step 2 for what an acknowledgment is certain to tell of.
    pub(crate) fn on_sent_delivered(&mut self, sent: Sent, now: Instant) {
        self.rtt = Some(now.saturating_since(sent.at)).into();
        let order = &mut *self.order;
        if order.segment.is_none_or(|segment| sent.is_after(&segment)) {
            order.segment = Some(sent);
        }
    }

    /// A fast recovery was for nothing, so segments are reordered, though step 3 cannot see it of those retransmitted.
    pub(crate) fn on_spurious(&mut self) {
        self.order.reordering_seen = true;
    }

    /// The adaptation of step 4; `exiting`: this acknowledgment ends a recovery.
    pub(crate) fn adapt(&mut self, dsack: bool, exiting: bool, una: Seq, nxt: Seq) {
        if self.order.dsack_round.is_some_and(|round| una.geq(round)) {
            self.order.dsack_round = None;
        }
        if dsack && self.order.dsack_round.is_none() {
            let order = &mut *self.order;
            order.dsack_round = Some(nxt);
            order.reo_wnd_mult = order.reo_wnd_mult.saturating_add(1);
            order.reo_wnd_persist = REO_WND_PERSIST;
        } else if exiting {
            let order = &mut *self.order;
            order.reo_wnd_persist = order.reo_wnd_persist.saturating_sub(1);
            if order.reo_wnd_persist == 0 {
                order.reo_wnd_mult = 1;
            }
        }
    }

    /// RACK.reo_wnd.
    pub(crate) fn reo_wnd(&self, conditions: &Conditions) -> Duration {
        let Conditions { recovering, segs_sacked, dup_thresh, srtt } = *conditions;
        let enough = dup_thresh > 0 && segs_sacked >= dup_thresh;
        if !self.order.reordering_seen && (recovering || enough) {
            return Duration::ZERO;
        }
        let quarter = self.min_rtt().unwrap_or(Duration::ZERO) / 4;
        let window = quarter.saturating_mul(self.order.reo_wnd_mult.into());
        srtt.map_or(window, |srtt| window.min(srtt))
    }

    /// RACK.rtt + RACK.reo_wnd: how long after its sending a segment is lost, if one sent later was delivered.
    pub(crate) fn loss_timeout(&self, conditions: &Conditions) -> Option<Duration> {
        Some(self.rtt.known()? + self.reo_wnd(conditions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn at(n: u64) -> Instant {
        Instant::ZERO + ms(n)
    }

    fn conditions(recovering: bool, segs_sacked: u32) -> Conditions {
        Conditions { recovering, segs_sacked, dup_thresh: 3, srtt: Some(ms(100)) }
    }

    fn reordered() -> AckOutcome {
        AckOutcome { reordered: true, ..AckOutcome::default() }
    }

    #[test]
    fn the_window_is_a_quarter_of_the_shortest_round_trip() {
        let mut rack = Rack::new();
        rack.on_rtt(ms(40), at(0));
        rack.on_rtt(ms(60), at(1));
        assert_eq!(rack.reo_wnd(&conditions(false, 2)), ms(10));
        // Without reordering, three segments or a recovery close it.
        assert_eq!(rack.reo_wnd(&conditions(false, 3)), ms(0));
        assert_eq!(rack.reo_wnd(&conditions(true, 0)), ms(0));
        rack.on_delivered(&reordered(), at(2));
        assert_eq!(rack.reo_wnd(&conditions(true, 30)), ms(10));
    }

    #[test]
    fn each_round_with_a_duplicate_widens_it_up_to_the_round_trip() {
        let mut rack = Rack::new();
        rack.on_rtt(ms(80), at(0));
        rack.on_delivered(&reordered(), at(0));
        for n in 1..10u32 {
            let (una, nxt) = (Seq(n * 100), Seq(n * 100 + 100));
            rack.adapt(true, false, una, nxt);
            // A second one in the same round changes nothing.
            rack.adapt(true, false, una + 50, nxt + 50);
            let expected = ms(20 * u64::from(n + 1)).min(ms(100));
            assert_eq!(rack.reo_wnd(&conditions(false, 0)), expected, "round {n}");
        }
        // Sixteen recoveries later it is as at first.
        for n in 1..=16u32 {
            assert_eq!(rack.reo_wnd(&conditions(false, 0)), ms(100), "{n}");
            rack.adapt(false, true, Seq(2000), Seq(2000));
        }
        assert_eq!(rack.reo_wnd(&conditions(false, 0)), ms(20));
    }

    #[test]
    fn a_longer_path_is_believed_after_a_while() {
        let mut rack = Rack::new();
        rack.on_rtt(ms(10), at(0));
        rack.on_rtt(ms(50), at(150_000));
        assert_eq!(rack.min_rtt(), Some(ms(10)));
        rack.on_rtt(ms(60), at(300_000));
        assert_eq!(rack.min_rtt(), Some(ms(50)));
    }

    #[test]
    fn an_older_sending_delivered_late_does_not_move_the_mark_back() {
        let sent = |order, ms| Sent { order, end: Seq(0), at: at(ms) };
        let told = |sent| AckOutcome { latest: Some(sent), ..AckOutcome::default() };
        let mut rack = Rack::new();
        rack.on_delivered(&told(sent(7, 70)), at(100));
        rack.on_delivered(&told(sent(3, 30)), at(101));
        assert_eq!(rack.segment(), Some(&sent(7, 70)));
        // RACK.rtt is that of the last delivered (section 6.2 step 5).
        assert_eq!(rack.loss_timeout(&conditions(true, 0)), Some(ms(71)));
    }
}
