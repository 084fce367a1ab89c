//! Tail loss probes: one segment more, before the retransmission timer would say that all is lost.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 8985 section 7, whose names these are |
//! | The caller's part | the timer; to send the probe; the response of congestion control |

use kumiki_graph::Duration;
use kumiki_wire::inet::tcp::{SackBlock, Seq};

/// PTO without SRTT.
const PTO_UNKNOWN: Duration = Duration::from_secs(1);

/// An acknowledgment, as far as probes are concerned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) ack: Seq,
    pub(crate) dsack: Option<SackBlock>,
    /// It is a duplicate (RFC 5681 section 2) and carries no SACK option.
    pub(crate) bare_duplicate: bool,
}

/// The variables of one connection.
#[derive(Debug, Default)]
pub(crate) struct Tlp {
    end_seq: Option<Seq>,
    is_retrans: bool,
    /// Samples of the round trip that there were when the last probe was sent.
    samples: u32,
}

impl Tlp {
    /// TLP_init.
    pub(crate) const fn reset(&mut self) {
        self.end_seq = None;
        self.is_retrans = false;
    }

    /// Whether no probe waits for what becomes of it.
    pub(crate) const fn is_idle(&self) -> bool {
        self.end_seq.is_none()
    }

    /// TLP_calc_PTO, without the bound by RTO; `single`: FlightSize is one segment, whose acknowledgment the receiver
    /// may hold back for `max_ack_delay`.
    pub(crate) fn pto(srtt: Option<Duration>, single: bool, max_ack_delay: Duration) -> Duration {
        let delay = if single { max_ack_delay } else { Duration::ZERO };
        srtt.map_or(PTO_UNKNOWN, |srtt| srtt * 2 + delay)
    }

    /// Whether a probe may be sent; `samples`: how often the round trip has been measured.
    pub(crate) const fn may_probe(&self, samples: u32) -> bool {
        self.end_seq.is_none() && samples != self.samples
    }

    /// A probe was sent, and SND.NXT is now `end_seq`.
    pub(crate) const fn on_probe(&mut self, end_seq: Seq, is_retrans: bool, samples: u32) {
        self.end_seq = Some(end_seq);
        self.is_retrans = is_retrans;
        self.samples = samples;
    }

    /// TLP_process_ack: whether the probe has repaired a loss, to which congestion control must respond.
    pub(crate) fn on_ack(&mut self, answer: &Answer) -> bool {
        let Some(end_seq) = self.end_seq else {
            return false;
        };
        if answer.ack.lt(end_seq) {
            return false;
        }
        let reported = answer.dsack.is_some_and(|block| block.right == end_seq);
        let repaired = self.is_retrans && !reported && answer.ack.gt(end_seq);
        if !self.is_retrans || reported || repaired || answer.bare_duplicate {
            self.end_seq = None;
        }
        repaired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ack(ack: u32) -> Answer {
        Answer { ack: Seq(ack), dsack: None, bare_duplicate: false }
    }

    fn probed(is_retrans: bool) -> Tlp {
        let mut tlp = Tlp::default();
        assert!(!tlp.may_probe(0) && tlp.may_probe(1));
        tlp.on_probe(Seq(100), is_retrans, 1);
        assert!(!tlp.may_probe(2), "one at a time");
        tlp
    }

    #[test]
    fn a_probe_of_new_data_says_nothing_of_losses() {
        let mut tlp = probed(false);
        assert!(!tlp.on_ack(&ack(99)) && !tlp.may_probe(2));
        assert!(!tlp.on_ack(&ack(100)));
        assert!(tlp.may_probe(2) && !tlp.may_probe(1), "a sample in between");
    }

    #[test]
    fn only_what_nobody_reports_twice_was_a_loss() {
        // Repaired: more than the probe is acknowledged, and nothing said that both copies came.
        let mut tlp = probed(true);
        assert!(!tlp.on_ack(&ack(100)));
        assert!(tlp.on_ack(&ack(110)));
        assert!(!tlp.on_ack(&ack(120)), "once");
        // Case 1.
        let mut tlp = probed(true);
        let dsack = Some(SackBlock { left: Seq(90), right: Seq(100) });
        assert!(!tlp.on_ack(&Answer { dsack, ..ack(100) }));
        assert!(!tlp.on_ack(&ack(110)));
        // Case 2.
        let mut tlp = probed(true);
        let bare_duplicate = true;
        assert!(!tlp.on_ack(&Answer { bare_duplicate, ..ack(100) }));
        assert!(!tlp.on_ack(&ack(110)));
    }

    #[test]
    fn the_probe_waits_two_round_trips() {
        let ms = Duration::from_millis;
        assert_eq!(Tlp::pto(None, true, ms(200)), ms(1000));
        assert_eq!(Tlp::pto(Some(ms(30)), false, ms(200)), ms(60));
        assert_eq!(Tlp::pto(Some(ms(30)), true, ms(200)), ms(260));
    }
}
