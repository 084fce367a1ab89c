//! HyStart++: leaves slow start when round trips grow longer, before the queue overflows.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 9406 section 4; its text was not at hand: constants and steps as others quote them |
//! | The caller's part | cwnd and ssthresh; to ask only in the first slow start, before any loss (section 4.3) |
//! | Left out | its use after an idle time, which the RFC permits |

use kumiki_graph::{Duration, OptionalTime};
use kumiki_wire::inet::tcp::Seq;

use super::Acked;

/// MIN_RTT_THRESH and MAX_RTT_THRESH: how much longer a round's shortest round trip must be.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
/// MIN_RTT_DIVISOR: in between, this part of it.
const MIN_RTT_DIVISOR: u64 = 8;
/// N_RTT_SAMPLE: samples before a round is judged.
const N_RTT_SAMPLE: u32 = 8;
/// CSS_GROWTH_DIVISOR: conservative slow start is so much slower.
const CSS_GROWTH_DIVISOR: u64 = 4;
/// CSS_ROUNDS: rounds of it before congestion avoidance.
const CSS_ROUNDS: u32 = 5;
/// L, in segments, where sending is not paced.
const L: u64 = 8;

/// What an acknowledgment in slow start leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Growth {
    /// Octets to add to cwnd.
    pub(super) octets: u64,
    /// Slow start is over: ssthresh becomes cwnd.
    pub(super) leave: bool,
}

/// The variables of one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct HyStart {
    window_end: Option<Seq>,
    last_round_min_rtt: OptionalTime<Duration>,
    current_round_min_rtt: OptionalTime<Duration>,
    rtt_sample_count: u32,
    /// In conservative slow start: what a shorter round trip would refute.
    css_baseline_min_rtt: OptionalTime<Duration>,
    css_rounds: u32,
}

impl HyStart {
    /// Takes an acknowledgment in slow start.
    pub(super) fn on_ack(&mut self, ack: &Acked, smss: u64, paced: bool) -> Growth {
        let limit = if paced { u64::MAX } else { L * smss };
        let mut octets = ack.octets.min(limit);
        if !self.css_baseline_min_rtt.is_none() {
            octets /= CSS_GROWTH_DIVISOR;
        }
        if let Some(rtt) = ack.rtt {
            let current = self.current_round_min_rtt.known();
            self.current_round_min_rtt = Some(current.map_or(rtt, |min| min.min(rtt))).into();
            self.rtt_sample_count = self.rtt_sample_count.saturating_add(1);
        }
        self.judge();
        let leave = self.end_round(ack);
        Growth { octets, leave }
    }

    fn judge(&mut self) {
        let Some(current) = self.current_round_min_rtt.known() else {
            return;
        };
        if self.rtt_sample_count < N_RTT_SAMPLE {
            return;
        }
        if let Some(baseline) = self.css_baseline_min_rtt.known() {
            if current < baseline {
                self.css_baseline_min_rtt = OptionalTime::NONE;
            }
        } else if let Some(last) = self.last_round_min_rtt.known() {
            let thresh = (last / MIN_RTT_DIVISOR).min(MAX_RTT_THRESH).max(MIN_RTT_THRESH);
            if current >= last + thresh {
                self.css_baseline_min_rtt = Some(current).into();
                self.css_rounds = 0;
            }
        }
    }

    /// Whether with this round conservative slow start ends; the round in which it began counts.
    fn end_round(&mut self, ack: &Acked) -> bool {
        let Some(window_end) = self.window_end else {
            self.window_end = Some(ack.nxt);
            return false;
        };
        if ack.una.lt(window_end) {
            return false;
        }
        self.window_end = Some(ack.nxt);
        self.last_round_min_rtt = core::mem::take(&mut self.current_round_min_rtt);
        self.rtt_sample_count = 0;
        if self.css_baseline_min_rtt.is_none() {
            return false;
        }
        self.css_rounds += 1;
        self.css_rounds >= CSS_ROUNDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kumiki_graph::Instant;

    const SMSS: u64 = 1000;

    struct Rounds {
        hystart: HyStart,
        una: Seq,
    }

    impl Rounds {
        fn new() -> Self {
            let mut rounds = Self { hystart: HyStart::default(), una: Seq(u32::MAX - 20_000) };
            // Where the first round ends is known with the first acknowledgment.
            rounds.ack(50, 10);
            rounds
        }

        /// An acknowledgment of a segment, of which `left` more are outstanding.
        fn ack(&mut self, rtt_ms: u64, left: u32) -> Growth {
            self.una += 1000;
            let ack = Acked {
                now: Instant::ZERO,
                octets: SMSS,
                flight: SMSS,
                srtt: None,
                rtt: Some(Duration::from_millis(rtt_ms)),
                una: self.una,
                nxt: self.una + left * 1000,
                window_limited: true,
            };
            self.hystart.on_ack(&ack, SMSS, false)
        }

        /// A round of ten acknowledgments: octets grown, and whether slow start ended.
        fn round(&mut self, rtt_ms: u64) -> (u64, bool) {
            let growths: Vec<Growth> = (0..10).map(|_| self.ack(rtt_ms, 10)).collect();
            let octets = growths.iter().map(|growth| growth.octets).sum();
            (octets, growths.iter().any(|growth| growth.leave))
        }
    }

    #[test]
    fn a_steady_round_trip_changes_nothing() {
        let mut rounds = Rounds::new();
        for _ in 0..50 {
            assert_eq!(rounds.round(50), (10_000, false));
        }
        // An eighth of 50 ms is 6.25 ms.
        assert_eq!(rounds.round(56), (10_000, false));
    }

    #[test]
    fn a_longer_one_slows_growth_down_and_ends_it_after_five_rounds() {
        let mut rounds = Rounds::new();
        rounds.round(50);
        // Eight samples are needed; what follows them in this round grows by a quarter.
        assert_eq!(rounds.round(57), (8 * 1000 + 2 * 250, false));
        for _ in 0..3 {
            assert_eq!(rounds.round(60), (2500, false));
        }
        assert_eq!(rounds.round(60), (2500, true));
    }

    #[test]
    fn a_shorter_one_resumes_slow_start() {
        let mut rounds = Rounds::new();
        rounds.round(50);
        rounds.round(70);
        assert_eq!(rounds.round(60), (8 * 250 + 2 * 1000, false));
        assert_eq!(rounds.round(60), (10_000, false));
    }

    #[test]
    fn the_threshold_is_between_four_and_sixteen_milliseconds() {
        for (last, thresh) in [(1, 4), (20, 4), (80, 10), (1000, 16)] {
            for (more, slower) in [(thresh - 1, false), (thresh, true)] {
                let mut rounds = Rounds::new();
                rounds.hystart = HyStart::default();
                rounds.ack(last, 10);
                rounds.round(last);
                let (octets, _) = rounds.round(last + more);
                assert_eq!(octets < 10_000, slower, "{last} ms and {more} ms");
            }
        }
    }

    #[test]
    fn an_acknowledgment_of_much_counts_for_eight_segments_unless_paced() {
        let ack = Acked {
            now: Instant::ZERO,
            octets: 50_000,
            flight: 50_000,
            srtt: None,
            rtt: None,
            una: Seq(0),
            nxt: Seq(0),
            window_limited: true,
        };
        for (paced, octets) in [(false, 8000), (true, 50_000)] {
            assert_eq!(HyStart::default().on_ack(&ack, SMSS, paced).octets, octets);
        }
    }
}
