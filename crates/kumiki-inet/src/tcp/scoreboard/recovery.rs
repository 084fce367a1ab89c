//! What is lost and what to send next: RFC 6675's IsLost and NextSeg, and what else marks losses.

use kumiki_wire::inet::tcp::Seq;

use super::{Scoreboard, Span, Transmission, UnderWay};

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

/// DupThresh, unless reordering asks for more.
pub const DUP_THRESH: u32 = 3;

impl Scoreboard {
    /// The edge below which IsLost holds: the start of the highest range that with those above it makes DupThresh
    /// ranges, or more than (DupThresh - 1) * SMSS octets.
    fn compute_loss_edge(&self) -> Option<Seq> {
        let mut octets = 0u32;
        let mut ranges = 0;
        self.in_flight.ranges.iter().rev().find_map(|range| {
            octets = octets.saturating_add(range.len());
            ranges += 1;
            let most = self.smss.saturating_mul(self.dup_thresh - 1);
            let enough = ranges >= self.dup_thresh || octets > most;
            enough.then_some(range.start)
        })
    }

    /// Marks what IsLost has come to hold for; how many octets that are new.
    pub(super) fn move_loss_edge(&mut self) -> u32 {
        if self.by_time {
            return 0;
        }
        let Some(edge) = self.compute_loss_edge() else {
            return 0;
        };
        let known = self.in_flight.marks.loss_edge;
        if edge.leq(known) {
            return 0;
        }
        let mut lost = 0;
        let mut index = self.index_of(known);
        while let Some(record) = self.in_flight.records.get(index).copied()
            && record.span.start.lt(edge)
        {
            if !record.sacked && !record.lost {
                lost += record.span.len();
                self.change(index, |record| record.lost = true);
            }
            index += 1;
        }
        self.in_flight.marks.loss_edge = edge;
        lost
    }

    /// IsLost for the octet at `seq`, which is not SACKed; with `una()`, whether to enter recovery before the third
    /// duplicate ACK.
    #[must_use]
    pub fn is_lost(&self, seq: Seq) -> bool {
        !self.is_empty() && seq.lt(self.in_flight.marks.loss_edge)
    }

    /// Recovery begins: HighRxt starts again, and one rescue retransmission is allowed once more than the first segment
    /// is acknowledged (RFC 6675 section 5 step 4).
    pub fn on_recovery(&mut self) {
        let (una, nxt, first) = (self.una, self.nxt, self.smss.min(self.flight()));
        if let Some(UnderWay { marks, .. }) = self.in_flight.own() {
            marks.recovery_point = nxt;
            marks.high_rxt = una;
            marks.rescue_rxt = una + first;
        }
    }

    /// What to send next in recovery, of at most `limit` octets; `new_data`: there is unsent data and the peer's window
    /// allows it.
    ///
    /// Lost is what IsLost, [`Scoreboard::mark_lost_if`] or [`Scoreboard::mark_all_lost`] has marked, and criteria
    /// (1.a) and (3) ask record by record whether it was retransmitted, which is the same as HighRxt where only IsLost
    /// marks.
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

    /// The first lost segment that was not retransmitted, of at most `limit` octets: rule 1 of NextSeg, and what to
    /// send after a time-out, where rules 2 to 4 do not apply (RFC 6675 section 5.1).
    #[must_use]
    pub fn next_lost(&mut self, limit: u32) -> Option<Span> {
        let nxt = self.nxt;
        let in_flight = self.in_flight.own()?;
        if in_flight.tally.pending == 0 {
            in_flight.marks.pending_from = nxt;
            return None;
        }
        let mut index = self.index_of(self.in_flight.marks.pending_from);
        while let Some(record) = self.in_flight.records.get(index) {
            if record.is_pending() {
                let start = record.span.start;
                self.in_flight.marks.pending_from = start;
                return self.segment_at(index, limit, Transmission::is_pending);
            }
            index += 1;
        }
        None
    }

    /// Not SACKed, not retransmitted, not lost, below the highest SACK.
    fn rule_3(&self, limit: u32) -> Option<Span> {
        let top = self.in_flight.ranges.back()?.start;
        let mut index = self.index_of(self.in_flight.marks.high_rxt.max(self.in_flight.marks.loss_edge));
        loop {
            let record = self.in_flight.records.get(index)?;
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
    pub(super) fn rule_4(&self, limit: u32) -> Option<Span> {
        if !self.una.gt(self.in_flight.marks.rescue_rxt) {
            return None;
        }
        let mut ranges = self.in_flight.ranges.iter().rev();
        let (below, end) = match ranges.next() {
            Some(top) if top.end == self.nxt => (ranges.next().map_or(self.una, |range| range.end), top.start),
            top => (top.map_or(self.una, |range| range.end), self.nxt),
        };
        let start = end - limit.min(end - below);
        (start != end).then_some(Span { start, end })
    }

    /// From the record at `index` on, at most `limit` octets of records that all fit.
    fn segment_at(&self, index: usize, limit: u32, fits: impl Fn(&Transmission) -> bool) -> Option<Span> {
        let first = self.in_flight.records.get(index)?.span;
        let mut span = first;
        for record in self.in_flight.records.iter_from(index + 1) {
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
        (end != self.una).then_some(Span { start: self.una, end })
    }

    /// Takes the first unacknowledged segment of at most `limit` octets for lost: fast retransmit by duplicate ACKs.
    /// Without SACK call this before [`Scoreboard::on_retransmit`], or the segment counts twice in the pipe.
    pub fn mark_first_lost(&mut self, limit: u32) {
        let Some(span) = self.first_unacked(limit) else {
            return;
        };
        self.cut_at(span.end);
        let mut index = 0;
        while let Some(record) = self.in_flight.records.get(index)
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
    /// RFC 2018 section 8 wants [`Scoreboard::forget_sacks`] called first; RFC 6675 section 5.1 tells why some do so
    /// only where [`Scoreboard::has_reneged`].
    pub fn mark_all_lost(&mut self) {
        let una = self.una;
        if let Some(UnderWay { marks, left, .. }) = self.in_flight.own() {
            *left = 0;
            marks.high_rxt = una;
        }
        self.mark_lost_if(|_| true);
    }

    /// Takes for lost each record not SACKed, and not already so, for which `lost` says so. A retransmission is lost
    /// with it and will be retransmitted. Returns the octets marked. It looks at all records: for rare events.
    pub fn mark_lost_if(&mut self, mut lost: impl FnMut(&Transmission) -> bool) -> u32 {
        let before = self.in_flight.tally.pending;
        for index in 0..self.in_flight.records.len() {
            if let Some(record) = self.in_flight.records.get(index)
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
        self.in_flight.tally.pending - before
    }

    /// The receiver dropped what it had reported: SACKed octets begin at SND.UNA (RFC 2018 section 8).
    #[must_use]
    pub fn has_reneged(&self) -> bool {
        self.in_flight.records.front().is_some_and(|record| record.sacked)
    }

    /// Forgets what was SACKed: after reneging, or at each time-out as RFC 2018 section 8 has it.
    pub fn forget_sacks(&mut self) {
        for index in 0..self.in_flight.records.len() {
            if self.in_flight.records.get(index).is_some_and(|record| record.sacked) {
                self.change(index, |record| record.sacked = false);
            }
        }
        let una = self.una;
        if let Some(UnderWay { ranges, marks, .. }) = self.in_flight.own() {
            ranges.clear();
            marks.loss_edge = una;
        }
    }
}
