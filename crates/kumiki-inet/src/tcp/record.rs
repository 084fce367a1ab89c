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

/// What a connection did and what held it back, from its beginning on.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// What held it.
    pub limits: Limits,
    /// Segments sent, those sent again among them.
    pub segments_sent: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Times that the retransmission timer ran out.
    pub timeouts: u64,
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
            segments_sent: 0,
            retransmissions: 0,
            timeouts: 0,
            #[cfg(feature = "statistics")]
            round_trips: Times::default(),
            acknowledgments: Acknowledgments::default(),
        }
    }

    /// What held it between two times, as [`Limits::spans`] says; but where the `peer` is known, what it kept back is a span of its own
    /// ([`Limit::DelayedAcknowledgment`]): the part of a wait in which the acknowledgment that ended it was there and did not go.
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
