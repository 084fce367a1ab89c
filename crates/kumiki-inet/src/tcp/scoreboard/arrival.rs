//! What acknowledgments do to the record: RFC 6675's Update.

use kumiki_graph::Instant;
use kumiki_wire::inet::tcp::{SackBlock, SackBlocks, Seq};
use smallvec::SmallVec;

use super::record::Tally;
use super::{AckOutcome, Scoreboard, Sent, Span, Transmission, UnderWay};

impl Scoreboard {
    /// The peer acknowledges all before `una`; duplicate ACKs counted so far are forgotten. Ignored unless
    /// SND.UNA < `una` <= SND.NXT.
    pub fn on_cumulative_ack(&mut self, una: Seq, now: Instant) -> AckOutcome {
        let outcome = self.advance(una, now);
        if outcome.acked > 0 {
            self.clear_duplicates();
        }
        outcome
    }

    /// As [`Scoreboard::on_cumulative_ack`], for a partial ACK in fast recovery without SACK (RFC 6582 section 3.2 step
    /// 3): of the duplicate ACKs counted, the octets acknowledged are taken back and, where they are a full segment,
    /// one SMSS is added.
    pub fn on_partial_ack(&mut self, una: Seq, now: Instant) -> AckOutcome {
        let outcome = self.advance(una, now);
        let smss = self.smss;
        if let Some(UnderWay { left, .. }) = self.in_flight.own() {
            *left -= i64::from(outcome.acked);
            if outcome.acked >= smss {
                *left += i64::from(smss);
            }
        }
        outcome
    }

    /// Whether all that is outstanding was sent once, and no acknowledgment has told anything of it: nothing was
    /// SACKed, lost or counted.
    #[must_use]
    pub fn was_sent_once(&self) -> bool {
        if self.is_empty() {
            return true;
        }
        let UnderWay { records, ranges, tally, marks, .. } = &*self.in_flight;
        let calm = *tally == Tally::NONE && ranges.is_empty() && marks.fack.leq(self.una);
        let once = |record: &Transmission| record.times_sent == 1 && !record.counted;
        calm && records.only().map_or_else(|| records.iter().all(once), once)
    }

    /// As [`Scoreboard::on_cumulative_ack`] for all that is outstanding, where that [was sent
    /// once](Scoreboard::was_sent_once). Gives when the first was sent, and the last sending; `None` where nothing is
    /// outstanding.
    pub fn on_whole_ack(&mut self, now: Instant) -> Option<(Instant, Sent)> {
        let nxt = self.nxt;
        let UnderWay { records, timeline, marks, left, delivered_at, .. } = self.in_flight.own()?;
        let (first, last) = (records.front()?.last_sent, records.back()?.sent());
        records.clear();
        timeline.clear();
        (marks.loss_edge, marks.pending_from, marks.fack) = (nxt, nxt, nxt);
        marks.high_rxt = marks.high_rxt.max(nxt);
        (*left, *delivered_at) = (0, now);
        self.delivered += u64::from(self.flight());
        self.una = nxt;
        Some((first, last))
    }

    fn advance(&mut self, una: Seq, now: Instant) -> AckOutcome {
        let acked = self.offset(una);
        if acked == 0 || acked > self.flight() {
            return AckOutcome::default();
        }
        let mut news = AckDelivery::new(now, self.credible);
        let mut ambiguous = false;
        let UnderWay { records, timeline, ranges, tally, marks, .. } = &mut *self.in_flight;
        while let Some(front) = records.front_mut() {
            let mut record = *front;
            if una.leq(record.span.start) {
                break;
            }
            tally.subtract(Tally::of(front));
            if record.span.end.leq(una) {
                records.pop_front();
            } else {
                front.span.start = una;
                tally.add(Tally::of(front));
                record.span.end = una;
            }
            if !record.counted {
                ambiguous |= record.times_sent > 1;
                news.take(&record, &mut marks.fack);
            }
        }
        while let Some(range) = ranges.front_mut()
            && range.start.lt(una)
        {
            range.start = range.end.min(una);
            if range.is_empty() {
                ranges.pop_front();
            }
        }
        timeline.trim(una);
        self.una = una;
        for mark in [&mut marks.loss_edge, &mut marks.pending_from, &mut marks.high_rxt, &mut marks.fack] {
            *mark = mark.max(una);
        }
        if ambiguous {
            news.forget_round_trips();
        }
        self.deliver(news, acked)
    }

    /// A duplicate ACK without SACK came: `octets` (SMSS) have left the network.
    ///
    /// No more leave than are outstanding, however many ACKs a peer makes up (RFC 5681 section 3.2, the note in step
    /// 4).
    pub fn on_duplicate_ack(&mut self, octets: u32) {
        let flight = i64::from(self.flight());
        if let Some(UnderWay { left, .. }) = self.in_flight.own() {
            *left = (*left + i64::from(octets)).min(flight);
        }
    }

    /// The acknowledgment that comes now cannot be for what was retransmitted later than `credible`: then it is for an
    /// earlier copy, and [`AckOutcome::latest`] must not tell of the later one (RFC 8985 section 6.2 step 2).
    pub const fn believe_until(&mut self, credible: Instant) {
        self.credible = credible;
    }

    /// Forgets the duplicate ACKs counted: fast recovery without SACK is over.
    pub fn clear_duplicates(&mut self) {
        if let Some(in_flight) = self.in_flight.own() {
            in_flight.left = 0;
        }
    }

    /// The SACK blocks of a segment with acknowledgment number `ack`, after [`Scoreboard::on_cumulative_ack`].
    ///
    /// Blocks that are empty, reach beyond SND.NXT or begin below SND.UNA are ignored. A block is taken to cover the
    /// records wholly inside it; one that it covers partly is split, but only as far as segments of SMSS octets would
    /// make as many records, so that a peer cannot multiply them.
    pub fn on_sack(&mut self, ack: Seq, blocks: &[SackBlock], now: Instant) -> AckOutcome {
        let dsack = Self::dsack(ack, blocks);
        let mut news = AckDelivery::new(now, self.credible);
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
        let lost = self.move_loss_edge();
        AckOutcome { dsack, lost, ..self.deliver(news, 0) }
    }

    /// The first block, where it tells of a duplicate (RFC 2883 section 5): below the acknowledgment number of the same
    /// segment, or inside the second block.
    fn dsack(ack: Seq, blocks: &[SackBlock]) -> Option<SackBlock> {
        let (first, rest) = blocks.split_first()?;
        let inside = rest.first().is_some_and(|second| second.left.leq(first.left) && first.right.leq(second.right));
        (first.left.lt(first.right) && (first.right.leq(ack) || inside)).then_some(*first)
    }

    /// Marks what is news in a block between `una` and `nxt`.
    fn take_block(&mut self, block: SackBlock, news: &mut AckDelivery) {
        let mut cursor = block.left;
        while cursor.lt(block.right) {
            let at = self.in_flight.ranges.partition_point(|range| range.end.leq(cursor));
            let (gap_end, next) = match self.in_flight.ranges.get(at) {
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
    fn sack_gap(&mut self, left: Seq, right: Seq, news: &mut AckDelivery) {
        if self.may_split() {
            self.cut_at(left);
            self.cut_at(right);
        }
        let mut index = self.index_of(left);
        let mut marked: Option<Span> = None;
        while let Some(record) = self.in_flight.records.get(index).copied()
            && record.span.end.leq(right)
        {
            if left.leq(record.span.start) {
                if !record.counted {
                    news.take(&record, &mut self.in_flight.marks.fack);
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
        self.in_flight.records.len() < segments.saturating_mul(2).saturating_add(64)
    }

    /// Adds what touches no known range, or only their edges.
    fn add_range(&mut self, mut span: Span) {
        let ranges = &mut self.in_flight.ranges;
        let at = ranges.partition_point(|range| range.end.lt(span.start));
        if let Some(range) = ranges.get(at)
            && range.end == span.start
        {
            span.start = range.start;
            ranges.remove(at);
        }
        match ranges.get_mut(at) {
            Some(range) if range.start == span.end => range.start = span.start,
            _ => ranges.insert(at, span),
        }
    }

    /// Closes what an acknowledgment told.
    fn deliver(&mut self, news: AckDelivery, acked: u32) -> AckOutcome {
        if news.delivered > 0 {
            self.delivered += u64::from(news.delivered);
            self.in_flight.delivered_at = news.now;
        }
        AckOutcome {
            acked,
            delivered: news.delivered,
            rtt: news.earliest.map(|sent| news.now.saturating_since(sent)),
            rtt_newest: news.latest.map(|sent| news.now.saturating_since(sent)),
            again: news.again,
            latest: news.believed,
            reordered: news.reordered,
            extent: news.extent,
            lost: 0,
            dsack: None,
        }
    }
}

/// What one acknowledgment delivers, while it is read.
struct AckDelivery {
    now: Instant,
    credible: Instant,
    delivered: u32,
    /// Sending times of those sent once.
    earliest: Option<Instant>,
    latest: Option<Instant>,
    /// The earliest last sending of those sent more than once.
    again: Option<Instant>,
    believed: Option<Sent>,
    reordered: bool,
    extent: u32,
}

impl AckDelivery {
    const fn new(now: Instant, credible: Instant) -> Self {
        Self {
            now,
            credible,
            delivered: 0,
            earliest: None,
            latest: None,
            again: None,
            believed: None,
            reordered: false,
            extent: 0,
        }
    }

    /// A record delivered; `fack` is the end of the highest so far.
    fn take(&mut self, record: &Transmission, fack: &mut Seq) {
        self.delivered += record.span.len();
        if record.times_sent == 1 {
            let sent = record.last_sent;
            self.earliest = Some(self.earliest.map_or(sent, |earliest| earliest.min(sent)));
            self.latest = Some(self.latest.map_or(sent, |latest| latest.max(sent)));
            if record.span.end.lt(*fack) {
                self.reordered = true;
                self.extent = self.extent.max(*fack - record.span.start);
            }
        } else {
            let sent = record.last_sent;
            self.again = Some(self.again.map_or(sent, |again| again.min(sent)));
        }
        *fack = fack.max(record.span.end);
        let sent = record.sent();
        let possible = record.times_sent == 1 || record.last_sent <= self.credible;
        if possible && self.believed.is_none_or(|latest| sent.is_after(&latest)) {
            self.believed = Some(sent);
        }
    }

    const fn forget_round_trips(&mut self) {
        self.earliest = None;
        self.latest = None;
    }
}
