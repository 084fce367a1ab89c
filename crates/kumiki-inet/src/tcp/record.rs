//! What a connection did: for the laboratory, which tells it of each flow.
//!
//! | | |
//! |---|---|
//! | Specification | none; the idea of RFC 4898's counts and times of one connection |
//! | Caller | the connection, which counts where it counts for all, and says what holds it ([`Limits`]) and what becomes of acknowledgments |
//! | Left out | what is no count, such as the state of the windows at a moment: see [`super::Snapshot`] and [`super::Trace`] |

use kumiki_graph::{Duration, Instant};

use super::kept::Acknowledgments;
use super::limits::{Limit, Limits};
#[cfg(feature = "statistics")]
use crate::times::Times;

/// What a connection has sent so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Segments sent, those retransmitted among them.
    pub segments_sent: u64,
    /// Segments retransmitted.
    pub retransmissions: u64,
    /// Times that the retransmission timer ran out.
    pub timeouts: u64,
}

/// What a connection did and what held it back, from its beginning on.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// What held it.
    pub limits: Limits,
    /// What it has sent.
    pub counts: Counts,
    /// When it last sent something, and what it had sent until then: at one instant much may happen, before and after
    /// somebody looks.
    earlier: (Instant, Counts),
    /// The round trips that were measured.
    #[cfg(feature = "statistics")]
    pub round_trips: Times,
    /// What it kept back, and what it waited for.
    pub(super) acknowledgments: Acknowledgments,
}

impl Record {
    /// Of a connection that begins.
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            limits: Limits::new(now),
            counts: Counts::default(),
            earlier: (now, Counts::default()),
            #[cfg(feature = "statistics")]
            round_trips: Times::default(),
            acknowledgments: Acknowledgments::default(),
        }
    }

    /// The connection stands: it has sent so many SYN,ACKs for that, some again, of which the retransmission timer sent
    /// `retries`.
    pub(crate) fn answered(&mut self, (answers, retries): (u32, u32)) {
        let (answers, timeouts) = (u64::from(answers), u64::from(retries));
        self.counts = Counts { segments_sent: answers, retransmissions: answers.saturating_sub(1), timeouts };
        self.earlier.1 = self.counts;
    }

    /// What it had sent before the instant `at`, where it has sent nothing later than that.
    #[must_use]
    pub fn counts_before(&self, at: Instant) -> Counts {
        let (latest, before) = self.earlier;
        if latest < at { self.counts } else { before }
    }

    /// Something is sent, or a timer has run out.
    pub(crate) fn count(&mut self, now: Instant, what: impl FnOnce(&mut Counts)) {
        if self.earlier.0 != now {
            self.earlier = (now, self.counts);
        }
        what(&mut self.counts);
    }

    /// What held it between two times, as [`Limits::spans`] says; but where the `peer` is known, what it kept back is a
    /// span of its own ([`Limit::DelayedAcknowledgment`]): the part of a wait in which the acknowledgment that ended it
    /// was there and did not go.
    #[must_use]
    pub fn spans(&self, peer: Option<&Self>, from: Instant, to: Instant) -> Vec<(Instant, Instant, Limit)> {
        let mut unanswered = self.limits.unanswered();
        let Some(peer) = peer.map(|peer| &peer.acknowledgments) else {
            return self.limits.spans(from, to).collect();
        };
        let late = self.acknowledgments.late(peer, (from, to), unanswered.map(|it| it.all));
        // No timer is waited for where all has come.
        unanswered = unanswered.filter(|it| !peer.is_coming(it.all, to, it.by.saturating_since(it.since)));
        let mut spans = Vec::new();
        let mut late = late.into_iter().peekable();
        for (mut since, until, limit) in self.limits.spans_until(from, to, unanswered) {
            while let Some(&(kept, sent)) = late.peek().filter(|(kept, _)| *kept < until) {
                if limit.is_until_acknowledged() && sent > since {
                    let (kept, sent) = (kept.max(since), sent.min(until));
                    spans.extend((since < kept).then_some((since, kept, limit)));
                    spans.push((kept, sent, Limit::DelayedAcknowledgment));
                    since = sent;
                }
                if sent > until {
                    break;
                }
                late.next();
            }
            spans.extend((since < until).then_some((since, until, limit)));
        }
        spans
    }

    /// A round trip took so long.
    #[cfg_attr(not(feature = "statistics"), expect(unused_variables, clippy::unused_self, reason = "nothing is kept"))]
    pub(crate) fn on_round_trip(&mut self, sample: Duration) {
        #[cfg(feature = "statistics")]
        self.round_trips.record(sample);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_before_an_instant_is_known_at_that_instant() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut record = Record::new(at(1));
        for (ms, all) in [(1, 1), (3, 2), (3, 3), (3, 4)] {
            record.count(at(ms), |counts| counts.segments_sent += 1);
            assert_eq!(record.counts.segments_sent, all);
        }
        let before = |ms| record.counts_before(at(ms)).segments_sent;
        assert_eq!([before(3), before(4)], [1, 4]);
        assert_eq!(Record::new(at(1)).counts_before(at(1)), Counts::default());
    }
}
