//! The sendings in the order of time, for losses that time tells (RFC 8985 section 6.2).
//!
//! The RFC walks all segments for each ACK, or a list in the order of `xmit_ts`. Here that list is a queue of
//! *sendings*. A record knows its last sending, so a sending of which every octet has since been acknowledged, SACKed,
//! marked lost or retransmitted is stale, and is dropped once it comes to the front. Each enters once and leaves once,
//! and an ACK looks only at the front: what it costs does not depend on the flight.

use kumiki_graph::{Duration, Instant};
use kumiki_octets::ShortQueue;
use kumiki_wire::inet::tcp::Seq;

use super::{Scoreboard, Span};

/// A sending, as far as it is compared with others: RFC 8985's `xmit_ts` and `end_seq` of a segment.
///
/// Where the RFC breaks ties of time by sequence number, because clocks are coarse, `order` is exact. Only parts of one
/// sending are compared by `end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// Sendings on the connection before this one.
    pub order: u64,
    /// The one after its last sequence number.
    pub end: Seq,
    /// When it was sent.
    pub at: Instant,
}

impl Sent {
    /// RACK_sent_after: whether this was sent after `other`.
    #[must_use]
    pub const fn is_after(&self, other: &Self) -> bool {
        self.order > other.order || (self.order == other.order && self.end.gt(other.end))
    }
}

#[derive(Clone, Copy, Debug)]
struct Sending {
    order: u64,
    at: Instant,
    span: Span,
}

/// What time says was lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TimedLoss {
    /// Octets marked lost.
    pub octets: u32,
    /// The highest order of a retransmission among them.
    pub retransmission: Option<u64>,
    /// When the next one will be overdue, unless it is acknowledged before.
    pub next: Option<Instant>,
}

#[derive(Debug, Default)]
pub(super) struct Timeline {
    sendings: ShortQueue<Sending>,
}

impl Timeline {
    pub(super) const fn new() -> Self {
        Self { sendings: ShortQueue::new() }
    }

    /// `span` was sent; orders come in order.
    pub(super) fn push(&mut self, order: u64, at: Instant, span: Span) {
        self.sendings.push_back(Sending { order, at, span });
    }

    /// All is acknowledged.
    pub(super) fn clear(&mut self) {
        self.sendings.clear();
    }

    /// Drops what is acknowledged and at the front.
    pub(super) fn trim(&mut self, una: Seq) {
        while let Some(sending) = self.sendings.front()
            && sending.span.end.leq(una)
        {
            self.sendings.pop_front();
        }
    }
}

impl Scoreboard {
    /// From now on time tells what is lost ([`Scoreboard::mark_overdue`]), and not IsLost. To be called while nothing
    /// is outstanding.
    pub fn detect_by_time(&mut self) {
        self.by_time = true;
    }

    /// Marks lost what was sent before `latest` (`None`: all) and at least `loss_timeout` before `now`, and is neither
    /// SACKed nor marked already: RACK_detect_loss with `loss_timeout` = RACK.rtt + RACK.reo_wnd.
    pub fn mark_overdue(&mut self, latest: Option<&Sent>, loss_timeout: Duration, now: Instant) -> TimedLoss {
        let mut overdue = TimedLoss::default();
        while let Some(sending) = self.in_flight.timeline.sendings.front().copied() {
            let decided = latest.is_none_or(|latest| sending.order < latest.order);
            let undecided = latest.is_some_and(|latest| sending.order > latest.order);
            if undecided || !self.mark_sending(sending, latest, loss_timeout, now, &mut overdue) {
                break;
            }
            if !decided {
                break;
            }
            self.in_flight.timeline.sendings.pop_front();
        }
        overdue
    }

    /// Marks what is left of `sending`; false where it is too early.
    fn mark_sending(
        &mut self,
        sending: Sending,
        latest: Option<&Sent>,
        loss_timeout: Duration,
        now: Instant,
        overdue: &mut TimedLoss,
    ) -> bool {
        if sending.span.end.leq(self.una) {
            return true;
        }
        let mut index = self.index_of(sending.span.start.max(self.una));
        while let Some(record) = self.in_flight.records.get(index).copied()
            && record.span.start.lt(sending.span.end)
        {
            let waits = record.order == sending.order && !record.sacked && !record.is_pending();
            let eligible = latest.is_none_or(|latest| latest.is_after(&record.sent()));
            if waits && eligible {
                if sending.at + loss_timeout > now {
                    overdue.next = Some(sending.at + loss_timeout);
                    return false;
                }
                overdue.octets += record.span.len();
                if record.times_sent > 1 {
                    overdue.retransmission = Some(sending.order);
                }
                self.change(index, |record| {
                    record.lost = true;
                    record.resent = false;
                });
            }
            index += 1;
        }
        true
    }

    /// Takes back that segments are lost, where nothing has been retransmitted for it: the loss turned out to be none.
    /// They take their places in the order of time again.
    pub fn unmark_pending(&mut self) {
        for index in 0..self.in_flight.records.len() {
            if self.in_flight.records.get(index).is_some_and(|record| record.is_pending()) {
                self.change(index, |record| record.lost = false);
            }
        }
        let una = self.una;
        if let Some(in_flight) = self.in_flight.own() {
            in_flight.marks.loss_edge = una;
        }
        if !self.by_time {
            return;
        }
        let mut sendings: Vec<Sending> = self
            .in_flight
            .records
            .iter()
            .filter(|record| !record.sacked)
            .map(|record| Sending { order: record.order, at: record.last_sent, span: record.span })
            .collect();
        sendings.sort_by_key(|sending| sending.order);
        self.in_flight.timeline.sendings = sendings.into_iter().collect();
    }

    /// Segments SACKed (RACK.segs_sacked). Where one sending was a train of segments, its octets count.
    #[must_use]
    pub fn segments_sacked(&self) -> u32 {
        self.in_flight.tally.reports.max(self.in_flight.tally.sacked / self.smss)
    }

    /// The highest segment sent so far, of at most `limit` octets: what a tail loss probe sends again.
    #[must_use]
    pub fn last_segment(&self, limit: u32) -> Option<Span> {
        let span = self.in_flight.records.back()?.span;
        let start = span.end - span.len().min(limit);
        (start != span.end).then_some(Span { start, end: span.end })
    }
}

#[cfg(test)]
mod tests;
