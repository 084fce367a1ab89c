//! What was sent and is not acknowledged: the send side's record of transmissions.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 6675 (IsLost, SetPipe, NextSeg), RFC 2018 section 5, RFC 2883, RFC 6582, RFC 8985 section 5 (records) |
//! | The caller's part | the octets themselves, recovery's beginning and end (RecoveryPoint, recover), the timers, the window |
//! | Left out | RACK's variables and decisions: they are in `recovery`, which calls [`Scoreboard::mark_overdue`] |
//!
//! # What one ACK costs
//!
//! RFC 6675 describes its functions by walks over the sequence space. Here they are kept up: records leave at the
//! front, the counts behind [`Scoreboard::pipe`] change with the records, and IsLost is one number. SACKed octets above
//! S only grow as S falls, so there is an edge below which everything unSACKed is lost; it lies at the start of a
//! SACKed range that the three highest ranges decide, and it only moves forward. A block of which all is known costs a
//! binary search.
//!
//! # Recovery without SACK
//!
//! A duplicate ACK says that some segment has left the network: [`Scoreboard::on_duplicate_ack`] takes it off the pipe
//! where RFC 5681 would inflate cwnd, and [`Scoreboard::on_partial_ack`] does RFC 6582's partial deflation.
//! `window - pipe` then says in every mode what may be sent; called for the first two duplicates as well, that is
//! limited transmit (RFC 3042).

use std::collections::VecDeque;

use kumiki_graph::Instant;
use kumiki_octets::{Blank, OnDemand, ShortQueue};
use kumiki_wire::inet::tcp::Seq;

mod arrival;
#[cfg(test)]
mod conversation;
mod record;
mod recovery;
#[cfg(test)]
mod tests;
mod timeline;

pub use record::{AckOutcome, Span, Transmission};
pub use recovery::{DUP_THRESH, NextSeg};
pub use timeline::{Sent, TimedLoss};

use record::Tally;
use timeline::Timeline;

/// What there is while something is outstanding.
#[derive(Debug, Default)]
struct UnderWay {
    /// In order, from `una` to `nxt` without a gap, none empty.
    records: ShortQueue<Transmission>,
    timeline: Timeline,
    /// What `sacked` records cover, in order; none touch.
    ranges: VecDeque<Span>,
    tally: Tally,
    marks: Marks,
    /// Octets that left the network as duplicate ACKs tell, less those since acknowledged (RFC 6582).
    left: i64,
    /// When the last octets were delivered, or the first sending after an idle time.
    delivered_at: Instant,
}

/// Marks in what is outstanding, which all begin where that does.
#[derive(Debug, Default)]
struct Marks {
    /// Everything unSACKed below is lost by IsLost; between `una` and `nxt`.
    loss_edge: Seq,
    /// No pending record begins below; between `una` and `nxt`.
    pending_from: Seq,
    /// HighRxt + 1: the end of the highest retransmission of this recovery.
    high_rxt: Seq,
    /// RecoveryPoint + 1.
    recovery_point: Seq,
    /// RescueRxt + 1.
    rescue_rxt: Seq,
    /// The end of the highest record delivered: RFC 8985's RACK.fack.
    fack: Seq,
}

impl Marks {
    const fn at(seq: Seq) -> Self {
        Self { loss_edge: seq, pending_from: seq, high_rxt: seq, recovery_point: seq, rescue_rxt: seq, fack: seq }
    }
}

impl Blank for UnderWay {
    const BLANK: &'static Self = &Self {
        records: ShortQueue::new(),
        timeline: Timeline::new(),
        ranges: VecDeque::new(),
        tally: Tally::NONE,
        marks: Marks::at(Seq(0)),
        left: 0,
        delivered_at: Instant::ZERO,
    };
}

impl UnderWay {
    /// Changes a record and all that is counted of it. It, as it is then.
    fn change(&mut self, index: usize, change: impl FnOnce(&mut Transmission)) -> Option<&Transmission> {
        let record = self.records.get_mut(index)?;
        self.tally.subtract(Tally::of(record));
        change(record);
        self.tally.add(Tally::of(record));
        Some(record)
    }
}

/// The record of one connection.
#[derive(Debug)]
pub struct Scoreboard {
    smss: u32,
    dup_thresh: u32,
    una: Seq,
    nxt: Seq,
    in_flight: OnDemand<UnderWay>,
    /// Time tells of losses.
    by_time: bool,
    delivered: u64,
    /// Sendings so far.
    order: u64,
    /// A segment retransmitted later than this cannot be what an acknowledgment now is for.
    credible: Instant,
}

impl Scoreboard {
    /// Nothing sent; the first sequence number will be `iss`. DupThresh is 3.
    #[must_use]
    pub fn new(iss: Seq, smss: u32) -> Self {
        Self {
            smss: smss.max(1),
            dup_thresh: DUP_THRESH,
            una: iss,
            nxt: iss,
            in_flight: OnDemand::new(),
            by_time: false,
            delivered: 0,
            order: 0,
            credible: Instant::FAR_FUTURE,
        }
    }

    /// Gives back the memory of what is not outstanding any more, where nothing is.
    pub fn fit(&mut self) {
        if self.is_empty() {
            self.in_flight.clear();
        }
    }

    /// SMSS is now `smss` octets.
    pub fn set_smss(&mut self, smss: u32) {
        self.smss = smss.max(1);
    }

    /// DupThresh is now `segments`, at least 1.
    pub fn set_dup_thresh(&mut self, segments: u32) {
        self.dup_thresh = segments.max(1);
    }

    /// SND.UNA: the first that is not cumulatively acknowledged.
    #[must_use]
    pub const fn una(&self) -> Seq {
        self.una
    }

    /// SND.NXT: the one after the last that was sent (RFC 6675's HighData + 1).
    #[must_use]
    pub const fn nxt(&self) -> Seq {
        self.nxt
    }

    /// FlightSize: octets sent and not cumulatively acknowledged.
    #[must_use]
    pub fn flight(&self) -> u32 {
        self.nxt - self.una
    }

    /// Octets taken to be in the network: RFC 6675's pipe, less what duplicate ACKs tell.
    #[must_use]
    pub fn pipe(&self) -> u32 {
        let pipe =
            i64::from(self.flight()) - i64::from(self.in_flight.tally.sacked) - i64::from(self.in_flight.tally.lost)
                + i64::from(self.in_flight.tally.resent)
                - self.in_flight.left;
        u32::try_from(pipe.max(0)).unwrap_or(u32::MAX)
    }

    /// Octets SACKed above SND.UNA.
    #[must_use]
    pub fn sacked(&self) -> u32 {
        self.in_flight.tally.sacked
    }

    /// Octets taken for lost.
    #[must_use]
    pub fn lost(&self) -> u32 {
        self.in_flight.tally.lost
    }

    /// Octets that were retransmitted and have not been told of.
    #[must_use]
    pub fn resent(&self) -> u32 {
        self.in_flight.tally.resent
    }

    /// Octets lost of which nothing was retransmitted: what recovery still has to do.
    #[must_use]
    pub fn pending(&self) -> u32 {
        self.in_flight.tally.pending
    }

    /// Octets that arrived at the receiver since the start.
    #[must_use]
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Sendings on the connection so far.
    #[must_use]
    pub const fn order(&self) -> u64 {
        self.order
    }

    /// Nothing is outstanding.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.una == self.nxt
    }

    /// The records, in order of sequence numbers.
    pub fn records(&self) -> impl Iterator<Item = &Transmission> {
        self.in_flight.records.iter()
    }

    /// The record that the sequence number `seq` is in, where that is outstanding.
    #[must_use]
    pub fn record_at(&self, seq: Seq) -> Option<&Transmission> {
        let outside = seq.lt(self.una) || seq.geq(self.nxt);
        self.in_flight.records.get(self.index_of(seq)).filter(|_| !outside)
    }

    /// `len` new octets (SYN and FIN count) were sent from SND.NXT on; `app_limited`: and there are no more to send.
    ///
    /// One call may stand for a train of segments. At most 2^30 octets can be outstanding (RFC 7323 section 2.3); what
    /// would exceed that is not recorded, and is the caller's mistake.
    pub fn on_send(&mut self, len: u32, now: Instant, app_limited: bool) {
        let len = len.min((1 << 30) - self.flight().min(1 << 30));
        if len == 0 {
            return;
        }
        let is_first = self.is_empty();
        let span = Span { start: self.nxt, end: self.nxt + len };
        self.nxt = span.end;
        let order = self.order;
        self.order += 1;
        let in_flight = &mut *self.in_flight;
        if is_first {
            (in_flight.marks, in_flight.left, in_flight.delivered_at) = (Marks::at(span.start), 0, now);
        }
        if self.by_time {
            in_flight.timeline.push(order, now, span);
        }
        in_flight.records.push_back(Transmission {
            span,
            first_sent: now,
            last_sent: now,
            times_sent: 1,
            order,
            sacked: false,
            lost: false,
            resent: false,
            delivered: self.delivered,
            delivered_at: in_flight.delivered_at,
            app_limited,
            counted: false,
        });
    }

    /// `span` was retransmitted.
    pub fn on_retransmit(&mut self, span: Span, now: Instant) {
        self.resend(span, now, true);
        if let Some(UnderWay { marks, .. }) = self.in_flight.own() {
            marks.high_rxt = marks.high_rxt.max(span.end);
        }
    }

    /// `span` was retransmitted by rule 4 of NextSeg: HighRxt and pipe stay, and there is no other in this recovery.
    pub fn on_rescue(&mut self, span: Span, now: Instant) {
        self.resend(span, now, false);
        if let Some(UnderWay { marks, .. }) = self.in_flight.own() {
            marks.rescue_rxt = marks.recovery_point;
        }
    }

    /// `span`, which was just recorded, was sent at `last` and before as probes of the closed window: without a
    /// timestamp it is of no use as a measure of time.
    pub fn on_probed(&mut self, span: Span, last: Instant) {
        self.resend(span, last, false);
    }

    fn resend(&mut self, span: Span, now: Instant, in_network: bool) {
        let (from, to) = (self.offset(span.start), self.offset(span.end));
        if from >= to || to > self.flight() {
            return;
        }
        self.cut_at(span.start);
        self.cut_at(span.end);
        let (delivered, delivered_at) = (self.delivered, self.in_flight.delivered_at);
        let order = self.order;
        self.order += 1;
        if self.by_time {
            self.in_flight.timeline.push(order, now, span);
        }
        let mut index = self.index_of(span.start);
        while let Some(record) = self.in_flight.records.get(index)
            && record.span.start.lt(span.end)
        {
            self.change(index, |record| {
                record.times_sent = record.times_sent.saturating_add(1);
                record.last_sent = now;
                record.order = order;
                record.resent |= in_network;
                record.delivered = delivered;
                record.delivered_at = delivered_at;
            });
            index += 1;
        }
    }

    /// From SND.UNA to `seq`; more than the flight for what lies outside.
    fn offset(&self, seq: Seq) -> u32 {
        seq - self.una
    }

    /// The record that holds the octet at `seq`; the number of records for `nxt`.
    fn index_of(&self, seq: Seq) -> usize {
        let offset = self.offset(seq);
        self.in_flight.records.partition_point(|record| self.offset(record.span.end) <= offset)
    }

    /// Makes a record begin at `at`, which lies between `una` and `nxt`.
    fn cut_at(&mut self, at: Seq) {
        let index = self.index_of(at);
        let UnderWay { records, tally, .. } = &mut *self.in_flight;
        let Some(record) = records.get_mut(index) else {
            return;
        };
        if record.span.start == at {
            return;
        }
        let mut tail = *record;
        record.span.end = at;
        tail.span.start = at;
        tally.reports += u32::from(tail.sacked);
        records.insert(index + 1, tail);
    }

    /// Changes a record and all that is counted of it.
    fn change(&mut self, index: usize, change: impl FnOnce(&mut Transmission)) {
        let in_flight = &mut *self.in_flight;
        if let Some(record) = in_flight.change(index, change)
            && record.is_pending()
        {
            let start = record.span.start;
            in_flight.marks.pending_from = in_flight.marks.pending_from.min(start);
        }
    }
}
