//! What was sent and is not acknowledged: the send side's record of transmissions.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 6675 (IsLost, SetPipe, NextSeg), RFC 2018 section 5, RFC 2883, RFC 6582, RFC 8985 section 5 (records) |
//! | The caller's part | the octets themselves, recovery's beginning and end (RecoveryPoint, recover), the timers, the window |
//! | Left out | RACK's decision itself: it reads [`Transmission`] and calls [`Scoreboard::mark_lost_if`] |
//!
//! # What one ACK costs
//!
//! RFC 6675 describes its functions by walks over the sequence space. Here they are kept up: records leave at the front,
//! the counts behind [`Scoreboard::pipe`] change with the records, and IsLost is one number. SACKed octets above S only
//! grow as S falls, so there is an edge below which everything unSACKed is lost; it lies at the start of a SACKed range
//! that the three highest ranges decide, and it only moves forward. A block of which all is known costs a binary search.
//!
//! # Recovery without SACK
//!
//! A duplicate ACK says that some segment has left the network: [`Scoreboard::on_duplicate_ack`] takes it off the pipe
//! where RFC 5681 would inflate cwnd, and [`Scoreboard::on_partial_ack`] does RFC 6582's partial deflation. `window -
//! pipe` then says in every mode what may be sent; called for the first two duplicates as well, that is limited transmit
//! (RFC 3042).

use std::collections::VecDeque;

use kumiki_graph::{Duration, Instant};
use kumiki_wire::tcp::{SackBlock, SackBlocks, Seq};
use smallvec::SmallVec;

/// Sequence numbers `start..end`; SYN and FIN count as one each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The first.
    pub start: Seq,
    /// The one after the last.
    pub end: Seq,
}

impl Span {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.end - self.start
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }
}

/// One transmission that is not cumulatively acknowledged. Parts of one sending may become records of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmission {
    /// What was sent.
    pub span: Span,
    /// When it was first sent.
    pub first_sent: Instant,
    /// When it was last sent: RFC 8985's `Segment.xmit_ts`.
    pub last_sent: Instant,
    /// How often it was sent; above 1 is RFC 8985's `Segment.retransmitted`.
    pub times_sent: u32,
    /// The receiver reported to hold it.
    pub sacked: bool,
    /// It is taken for lost, and `resent` tells whether that has been made good.
    pub lost: bool,
    /// A retransmission of it is taken to be in the network.
    pub resent: bool,
    /// Octets delivered on the connection when it was last sent.
    pub delivered: u64,
    /// When the last of those was delivered, or the first sending after an idle time.
    pub delivered_at: Instant,
    /// The sender had run out of data when it was first sent, so a delivery rate taken from it is only a lower bound.
    pub app_limited: bool,
    /// It is in the count of what was delivered: as `sacked`, but stays when SACKs are forgotten.
    pub counted: bool,
}

impl Transmission {
    /// Lost, and nothing was done about it.
    #[must_use]
    pub const fn is_pending(&self) -> bool {
        self.lost && !self.resent && !self.sacked
    }
}

/// What an acknowledgment changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AckOutcome {
    /// Octets by which the cumulative acknowledgment advanced.
    pub acked: u32,
    /// Octets now known to have arrived that were not before, by cumulative acknowledgment or SACK.
    pub delivered: u32,
    /// The round trip of the earliest sent of those, delayed acknowledgment included: the sample for RTO.
    ///
    /// `None` where Karn's rule leaves no sample. A SACK tells of each segment by itself, so one that was sent once gives
    /// a sample. A cumulative acknowledgment gives none if any segment was sent twice: what followed that one may have
    /// waited for it at the receiver.
    pub rtt: Option<Duration>,
    /// The round trip of the latest sent of those, on the same conditions: the sample for the shortest round trip.
    pub rtt_newest: Option<Duration>,
    /// The record of the latest sent of those, for delivery rate samples.
    pub newest: Option<Transmission>,
    /// One that was sent once only arrived after one with a higher sequence number (RFC 8985 section 6.2 step 3).
    pub reordered: bool,
    /// The D-SACK block (RFC 2883): octets that arrived more than once.
    pub dsack: Option<SackBlock>,
}

/// What to send next in recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextSeg {
    /// Send this again, then call [`Scoreboard::on_retransmit`]: rules 1 and 3.
    Again(Span),
    /// Send unsent data, then call [`Scoreboard::on_send`]: rule 2.
    New,
    /// Send this again, then call [`Scoreboard::on_rescue`]: rule 4, once per recovery.
    Rescue(Span),
}

/// DupThresh.
const DUP_THRESH: u32 = 3;

/// Octets in records of each kind.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Tally {
    sacked: u32,
    /// Not SACKed, and lost.
    lost: u32,
    /// Not SACKed, and sent again.
    resent: u32,
    /// [`Transmission::is_pending`].
    pending: u32,
}

impl Tally {
    fn of(record: &Transmission) -> Self {
        let len = record.span.len();
        let count = |is: bool| if is { len } else { 0 };
        Self {
            sacked: count(record.sacked),
            lost: count(record.lost && !record.sacked),
            resent: count(record.resent && !record.sacked),
            pending: count(record.is_pending()),
        }
    }

    const fn add(&mut self, other: Self) {
        self.sacked += other.sacked;
        self.lost += other.lost;
        self.resent += other.resent;
        self.pending += other.pending;
    }

    const fn subtract(&mut self, other: Self) {
        self.sacked -= other.sacked;
        self.lost -= other.lost;
        self.resent -= other.resent;
        self.pending -= other.pending;
    }
}

/// The record of one connection.
#[derive(Debug)]
pub struct Scoreboard {
    smss: u32,
    una: Seq,
    nxt: Seq,
    /// In order, from `una` to `nxt` without a gap, none empty.
    records: VecDeque<Transmission>,
    tally: Tally,
    /// What `sacked` records cover, in order; none touch.
    ranges: VecDeque<Span>,
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
    /// Octets that left the network as duplicate ACKs tell, less those since acknowledged (RFC 6582).
    left: i64,
    delivered: u64,
    delivered_at: Instant,
}

impl Scoreboard {
    /// Nothing sent; the first sequence number will be `iss`. DupThresh is 3.
    #[must_use]
    pub fn new(iss: Seq, smss: u32) -> Self {
        Self {
            smss: smss.max(1),
            una: iss,
            nxt: iss,
            records: VecDeque::new(),
            tally: Tally::default(),
            ranges: VecDeque::new(),
            loss_edge: iss,
            pending_from: iss,
            high_rxt: iss,
            recovery_point: iss,
            rescue_rxt: iss,
            fack: iss,
            left: 0,
            delivered: 0,
            delivered_at: Instant::ZERO,
        }
    }

    /// SMSS is now `smss` octets.
    pub fn set_smss(&mut self, smss: u32) {
        self.smss = smss.max(1);
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
            i64::from(self.flight()) - i64::from(self.tally.sacked) - i64::from(self.tally.lost)
                + i64::from(self.tally.resent)
                - self.left;
        u32::try_from(pipe.max(0)).unwrap_or(u32::MAX)
    }

    /// Octets SACKed above SND.UNA.
    #[must_use]
    pub const fn sacked(&self) -> u32 {
        self.tally.sacked
    }

    /// Octets lost of which nothing was sent again: what recovery still has to do.
    #[must_use]
    pub const fn pending(&self) -> u32 {
        self.tally.pending
    }

    /// Octets that arrived at the receiver since the start.
    #[must_use]
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Nothing is outstanding.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The records, in order of sequence numbers.
    pub fn records(&self) -> impl Iterator<Item = &Transmission> {
        self.records.iter()
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
        if self.records.is_empty() {
            self.delivered_at = now;
        }
        let span = Span {
            start: self.nxt,
            end: self.nxt + len,
        };
        self.nxt = span.end;
        self.records.push_back(Transmission {
            span,
            first_sent: now,
            last_sent: now,
            times_sent: 1,
            sacked: false,
            lost: false,
            resent: false,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            app_limited,
            counted: false,
        });
    }

    /// `span` was sent again.
    pub fn on_retransmit(&mut self, span: Span, now: Instant) {
        self.resend(span, now, true);
        self.high_rxt = self.high_rxt.max(span.end);
    }

    /// `span` was sent again by rule 4 of NextSeg: HighRxt and pipe stay, and there is no other in this recovery.
    pub fn on_rescue(&mut self, span: Span, now: Instant) {
        self.resend(span, now, false);
        self.rescue_rxt = self.recovery_point;
    }

    fn resend(&mut self, span: Span, now: Instant, in_network: bool) {
        let (from, to) = (self.offset(span.start), self.offset(span.end));
        if from >= to || to > self.flight() {
            return;
        }
        self.cut_at(span.start);
        self.cut_at(span.end);
        let (delivered, delivered_at) = (self.delivered, self.delivered_at);
        let mut index = self.index_of(span.start);
        while let Some(record) = self.records.get(index)
            && record.span.start.lt(span.end)
        {
            self.change(index, |record| {
                record.times_sent = record.times_sent.saturating_add(1);
                record.last_sent = now;
                record.resent |= in_network;
                record.delivered = delivered;
                record.delivered_at = delivered_at;
            });
            index += 1;
        }
    }

    /// The peer acknowledges all before `una`; duplicate ACKs counted so far are forgotten. Ignored unless
    /// SND.UNA < `una` <= SND.NXT.
    pub fn on_cumulative_ack(&mut self, una: Seq, now: Instant) -> AckOutcome {
        let outcome = self.advance(una, now);
        if outcome.acked > 0 {
            self.left = 0;
        }
        outcome
    }

    /// As [`Scoreboard::on_cumulative_ack`], for a partial ACK in fast recovery without SACK (RFC 6582 section 3.2 step
    /// 3): of the duplicate ACKs counted, the octets acknowledged are taken back and, where they are a full segment, one
    /// SMSS is added.
    pub fn on_partial_ack(&mut self, una: Seq, now: Instant) -> AckOutcome {
        let outcome = self.advance(una, now);
        self.left -= i64::from(outcome.acked);
        if outcome.acked >= self.smss {
            self.left += i64::from(self.smss);
        }
        outcome
    }

    fn advance(&mut self, una: Seq, now: Instant) -> AckOutcome {
        let acked = self.offset(una);
        if acked == 0 || acked > self.flight() {
            return AckOutcome::default();
        }
        let mut news = News::new(now);
        let mut ambiguous = false;
        while let Some(front) = self.records.front_mut() {
            let mut record = *front;
            if una.leq(record.span.start) {
                break;
            }
            self.tally.subtract(Tally::of(front));
            if record.span.end.leq(una) {
                self.records.pop_front();
            } else {
                front.span.start = una;
                self.tally.add(Tally::of(front));
                record.span.end = una;
            }
            if !record.counted {
                ambiguous |= record.times_sent > 1;
                news.take(&record, &mut self.fack);
            }
        }
        while let Some(range) = self.ranges.front_mut()
            && range.start.lt(una)
        {
            range.start = range.end.min(una);
            if range.is_empty() {
                self.ranges.pop_front();
            }
        }
        self.una = una;
        for mark in [
            &mut self.loss_edge,
            &mut self.pending_from,
            &mut self.high_rxt,
            &mut self.fack,
        ] {
            *mark = mark.max(una);
        }
        if ambiguous {
            news.forget_round_trips();
        }
        self.deliver(news, acked)
    }

    /// A duplicate ACK without SACK came: `octets` (SMSS) have left the network.
    ///
    /// No more leave than are outstanding, however many ACKs a peer makes up (RFC 5681 section 3.2, the note in step 4).
    pub fn on_duplicate_ack(&mut self, octets: u32) {
        self.left = (self.left + i64::from(octets)).min(i64::from(self.flight()));
    }

    /// Forgets the duplicate ACKs counted: fast recovery without SACK is over.
    pub const fn clear_duplicates(&mut self) {
        self.left = 0;
    }

    /// The SACK blocks of a segment with acknowledgment number `ack`, after [`Scoreboard::on_cumulative_ack`].
    ///
    /// Blocks that are empty, reach beyond SND.NXT or begin below SND.UNA are ignored. A block is taken to cover the
    /// records wholly inside it; one that it covers partly is split, but only as far as segments of SMSS octets would
    /// make as many records, so that a peer cannot multiply them.
    pub fn on_sack(&mut self, ack: Seq, blocks: &[SackBlock], now: Instant) -> AckOutcome {
        let dsack = Self::dsack(ack, blocks);
        let mut news = News::new(now);
        let rest = blocks.get(usize::from(dsack.is_some())..);
        let mut rest: SmallVec<[SackBlock; SackBlocks::CAPACITY]> = rest
            .unwrap_or_default()
            .iter()
            .copied()
            .filter(|block| self.offset(block.left) < self.offset(block.right))
            .filter(|block| self.offset(block.right) <= self.flight())
            .collect();
        // Upwards, so that a block repeated because its ACK was lost does not look like reordering.
        rest.sort_unstable_by_key(|block| self.offset(block.left));
        for block in rest {
            self.take_block(block, &mut news);
        }
        self.move_loss_edge();
        AckOutcome {
            dsack,
            ..self.deliver(news, 0)
        }
    }

    /// The first block, where it tells of a duplicate (RFC 2883 section 5): below the acknowledgment number of the same
    /// segment, or inside the second block.
    fn dsack(ack: Seq, blocks: &[SackBlock]) -> Option<SackBlock> {
        let (first, rest) = blocks.split_first()?;
        let inside = rest
            .first()
            .is_some_and(|second| second.left.leq(first.left) && first.right.leq(second.right));
        (first.left.lt(first.right) && (first.right.leq(ack) || inside)).then_some(*first)
    }

    /// Marks what is news in a block between `una` and `nxt`.
    fn take_block(&mut self, block: SackBlock, news: &mut News) {
        let mut cursor = block.left;
        while cursor.lt(block.right) {
            let at = self.ranges.partition_point(|range| range.end.leq(cursor));
            let (gap_end, next) = match self.ranges.get(at) {
                Some(range) if range.start.leq(cursor) => (cursor, range.end),
                Some(range) if range.start.lt(block.right) => (range.start, range.end),
                _ => (block.right, block.right),
            };
            if cursor.lt(gap_end) {
                self.sack_gap(cursor, gap_end, news);
            }
            cursor = next;
        }
    }

    /// Marks the records from `left` to `right`, none of which is SACKed.
    fn sack_gap(&mut self, left: Seq, right: Seq, news: &mut News) {
        if self.may_split() {
            self.cut_at(left);
            self.cut_at(right);
        }
        let mut index = self.index_of(left);
        let mut marked: Option<Span> = None;
        while let Some(record) = self.records.get(index).copied()
            && record.span.end.leq(right)
        {
            if left.leq(record.span.start) {
                if !record.counted {
                    news.take(&record, &mut self.fack);
                }
                self.change(index, |record| {
                    record.sacked = true;
                    record.counted = true;
                });
                marked.get_or_insert(record.span).end = record.span.end;
            }
            index += 1;
        }
        if let Some(span) = marked {
            self.add_range(span);
        }
    }

    /// Whether one more cut keeps the number of records near that of segments of SMSS octets.
    fn may_split(&self) -> bool {
        let segments = usize::try_from(self.flight() / self.smss).unwrap_or(usize::MAX);
        self.records.len() < segments.saturating_mul(2).saturating_add(64)
    }

    /// Adds what touches no known range, or only their edges.
    fn add_range(&mut self, mut span: Span) {
        let at = self
            .ranges
            .partition_point(|range| range.end.lt(span.start));
        if let Some(range) = self.ranges.get(at)
            && range.end == span.start
        {
            span.start = range.start;
            self.ranges.remove(at);
        }
        match self.ranges.get_mut(at) {
            Some(range) if range.start == span.end => range.start = span.start,
            _ => self.ranges.insert(at, span),
        }
    }

    /// The edge below which IsLost holds: the start of the highest range that with those above it makes DupThresh
    /// ranges, or more than (DupThresh - 1) * SMSS octets.
    fn compute_loss_edge(&self) -> Option<Seq> {
        let mut octets = 0u32;
        let mut ranges = 0;
        self.ranges.iter().rev().find_map(|range| {
            octets = octets.saturating_add(range.len());
            ranges += 1;
            let enough = ranges >= DUP_THRESH || octets > self.smss.saturating_mul(DUP_THRESH - 1);
            enough.then_some(range.start)
        })
    }

    fn move_loss_edge(&mut self) {
        let Some(edge) = self.compute_loss_edge() else {
            return;
        };
        if edge.leq(self.loss_edge) {
            return;
        }
        let mut index = self.index_of(self.loss_edge);
        while let Some(record) = self.records.get(index).copied()
            && record.span.start.lt(edge)
        {
            if !record.sacked && !record.lost {
                self.change(index, |record| record.lost = true);
            }
            index += 1;
        }
        self.loss_edge = edge;
    }

    /// IsLost for the octet at `seq`, which is not SACKed; with `una()`, whether to enter recovery before the third
    /// duplicate ACK.
    #[must_use]
    pub const fn is_lost(&self, seq: Seq) -> bool {
        seq.lt(self.loss_edge)
    }

    /// Recovery begins: HighRxt starts again, and one rescue retransmission is allowed once more than the first segment
    /// is acknowledged (RFC 6675 section 5 step 4).
    pub fn on_recovery(&mut self) {
        self.recovery_point = self.nxt;
        self.high_rxt = self.una;
        self.rescue_rxt = self.una + self.smss.min(self.flight());
    }

    /// What to send next in recovery, of at most `limit` octets; `new_data`: there is unsent data and the peer's window
    /// allows it.
    ///
    /// Lost is what IsLost, [`Scoreboard::mark_lost_if`] or [`Scoreboard::mark_all_lost`] has marked, and criteria (1.a)
    /// and (3) ask record by record whether it was sent again, which is the same as HighRxt where only IsLost marks.
    #[must_use]
    pub fn next_seg(&mut self, limit: u32, new_data: bool) -> Option<NextSeg> {
        if let Some(span) = self.next_lost(limit) {
            return Some(NextSeg::Again(span));
        }
        if new_data {
            return Some(NextSeg::New);
        }
        if let Some(span) = self.rule_3(limit) {
            return Some(NextSeg::Again(span));
        }
        self.rule_4(limit).map(NextSeg::Rescue)
    }

    /// The first lost segment that was not sent again, of at most `limit` octets: rule 1 of NextSeg, and what to send
    /// after a time-out, where rules 2 to 4 do not apply (RFC 6675 section 5.1).
    #[must_use]
    pub fn next_lost(&mut self, limit: u32) -> Option<Span> {
        if self.tally.pending == 0 {
            self.pending_from = self.nxt;
            return None;
        }
        let mut index = self.index_of(self.pending_from);
        while let Some(record) = self.records.get(index) {
            if record.is_pending() {
                self.pending_from = record.span.start;
                return self.segment_at(index, limit, Transmission::is_pending);
            }
            index += 1;
        }
        None
    }

    /// Not SACKed, not sent again, not lost, below the highest SACK.
    fn rule_3(&self, limit: u32) -> Option<Span> {
        let top = self.ranges.back()?.start;
        let mut index = self.index_of(self.high_rxt.max(self.loss_edge));
        loop {
            let record = self.records.get(index)?;
            if top.leq(record.span.start) {
                return None;
            }
            let fits = |record: &Transmission| !record.sacked && !record.resent && !record.lost;
            if fits(record) {
                return self.segment_at(index, limit, fits);
            }
            index += 1;
        }
    }

    /// The last segment that is not SACKed, once per recovery.
    fn rule_4(&self, limit: u32) -> Option<Span> {
        if !self.una.gt(self.rescue_rxt) {
            return None;
        }
        let mut ranges = self.ranges.iter().rev();
        let (below, end) = match ranges.next() {
            Some(top) if top.end == self.nxt => {
                (ranges.next().map_or(self.una, |range| range.end), top.start)
            }
            top => (top.map_or(self.una, |range| range.end), self.nxt),
        };
        let start = end - limit.min(end - below);
        (start != end).then_some(Span { start, end })
    }

    /// From the record at `index` on, at most `limit` octets of records that all fit.
    fn segment_at(
        &self,
        index: usize,
        limit: u32,
        fits: impl Fn(&Transmission) -> bool,
    ) -> Option<Span> {
        let first = self.records.get(index)?.span;
        let mut span = first;
        for record in self.records.range(index..).skip(1) {
            if span.len() >= limit || !fits(record) {
                break;
            }
            span.end = record.span.end;
        }
        span.end = span.start + span.len().min(limit);
        (!span.is_empty()).then_some(span)
    }

    /// The first unacknowledged segment, of at most `limit` octets, whatever is known of it: what fast retransmit, a
    /// partial ACK and the retransmission timer send.
    #[must_use]
    pub fn first_unacked(&self, limit: u32) -> Option<Span> {
        let end = self.una + limit.min(self.flight());
        (end != self.una).then_some(Span {
            start: self.una,
            end,
        })
    }

    /// Takes the first unacknowledged segment of at most `limit` octets for lost: fast retransmit by duplicate ACKs.
    /// Without SACK call this before [`Scoreboard::on_retransmit`], or the segment counts twice in the pipe.
    pub fn mark_first_lost(&mut self, limit: u32) {
        let Some(span) = self.first_unacked(limit) else {
            return;
        };
        self.cut_at(span.end);
        let mut index = 0;
        while let Some(record) = self.records.get(index)
            && record.span.start.lt(span.end)
        {
            if !record.sacked {
                self.change(index, |record| {
                    record.lost = true;
                    record.resent = false;
                });
            }
            index += 1;
        }
    }

    /// The retransmission timer expired: all that is not SACKed is taken for lost, retransmissions included.
    ///
    /// RFC 2018 section 8 wants [`Scoreboard::forget_sacks`] called first; RFC 6675 section 5.1 tells why some do so only
    /// where [`Scoreboard::has_reneged`].
    pub fn mark_all_lost(&mut self) {
        self.left = 0;
        self.high_rxt = self.una;
        self.mark_lost_if(|_| true);
    }

    /// Takes for lost each record not SACKed, and not already so, for which `lost` says so: for RACK. A retransmission
    /// is lost with it and will be sent again. Returns the octets marked.
    pub fn mark_lost_if(&mut self, mut lost: impl FnMut(&Transmission) -> bool) -> u32 {
        let before = self.tally.pending;
        for index in 0..self.records.len() {
            if let Some(record) = self.records.get(index)
                && !record.sacked
                && !record.is_pending()
                && lost(record)
            {
                self.change(index, |record| {
                    record.lost = true;
                    record.resent = false;
                });
            }
        }
        self.tally.pending - before
    }

    /// The receiver dropped what it had reported: SACKed octets begin at SND.UNA (RFC 2018 section 8).
    #[must_use]
    pub fn has_reneged(&self) -> bool {
        self.records.front().is_some_and(|record| record.sacked)
    }

    /// Forgets what was SACKed: after reneging, or at each time-out as RFC 2018 section 8 has it.
    pub fn forget_sacks(&mut self) {
        for index in 0..self.records.len() {
            if self.records.get(index).is_some_and(|record| record.sacked) {
                self.change(index, |record| record.sacked = false);
            }
        }
        self.ranges.clear();
        self.loss_edge = self.una;
    }

    /// From SND.UNA to `seq`; more than the flight for what lies outside.
    fn offset(&self, seq: Seq) -> u32 {
        seq - self.una
    }

    /// The record that holds the octet at `seq`; the number of records for `nxt`.
    fn index_of(&self, seq: Seq) -> usize {
        let offset = self.offset(seq);
        self.records
            .partition_point(|record| self.offset(record.span.end) <= offset)
    }

    /// Makes a record begin at `at`, which lies between `una` and `nxt`.
    fn cut_at(&mut self, at: Seq) {
        let index = self.index_of(at);
        let Some(record) = self.records.get_mut(index) else {
            return;
        };
        if record.span.start == at {
            return;
        }
        let mut tail = *record;
        record.span.end = at;
        tail.span.start = at;
        self.records.insert(index + 1, tail);
    }

    /// Changes a record and all that is counted of it.
    fn change(&mut self, index: usize, change: impl FnOnce(&mut Transmission)) {
        if let Some(record) = self.records.get_mut(index) {
            self.tally.subtract(Tally::of(record));
            change(record);
            self.tally.add(Tally::of(record));
            if record.is_pending() {
                self.pending_from = self.pending_from.min(record.span.start);
            }
        }
    }

    /// Closes what an acknowledgment told.
    fn deliver(&mut self, news: News, acked: u32) -> AckOutcome {
        if news.delivered > 0 {
            self.delivered += u64::from(news.delivered);
            self.delivered_at = news.now;
        }
        AckOutcome {
            acked,
            delivered: news.delivered,
            rtt: news.earliest.map(|sent| news.now.saturating_since(sent)),
            rtt_newest: news.latest.map(|sent| news.now.saturating_since(sent)),
            newest: news.newest,
            reordered: news.reordered,
            dsack: None,
        }
    }
}

/// What one acknowledgment delivers, while it is read.
struct News {
    now: Instant,
    delivered: u32,
    /// Sending times of those sent once.
    earliest: Option<Instant>,
    latest: Option<Instant>,
    newest: Option<Transmission>,
    reordered: bool,
}

impl News {
    const fn new(now: Instant) -> Self {
        Self {
            now,
            delivered: 0,
            earliest: None,
            latest: None,
            newest: None,
            reordered: false,
        }
    }

    /// A record delivered; `fack` is the end of the highest so far.
    fn take(&mut self, record: &Transmission, fack: &mut Seq) {
        self.delivered += record.span.len();
        if record.times_sent == 1 {
            let sent = record.last_sent;
            self.earliest = Some(self.earliest.map_or(sent, |earliest| earliest.min(sent)));
            self.latest = Some(self.latest.map_or(sent, |latest| latest.max(sent)));
            self.reordered |= record.span.end.lt(*fack);
        }
        *fack = fack.max(record.span.end);
        if self
            .newest
            .is_none_or(|newest| newest.last_sent <= record.last_sent)
        {
            self.newest = Some(*record);
        }
    }

    const fn forget_round_trips(&mut self) {
        self.earliest = None;
        self.latest = None;
    }
}

#[cfg(test)]
mod conversation;
#[cfg(test)]
mod tests;
