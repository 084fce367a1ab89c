//! What was sent and what has become of it: received, lost, or still in flight.
//!
//! | | |
//! |---|---|
//! | Specification | `docs/xtp.md`, P1 (spans), P23 and P24 (losses) |
//! | The caller's part | which answer speaks of which question, what to send when, the octets themselves |
//! | Left out | taking a packet for lost by time alone: without an answer nothing is held lost |
//!
//! Each packet that leaves gets an *order*, a number that grows with each transmission. An answer to a question says
//! what had come when the question came; so what left before the question and is not in the answer is lost, but for
//! packets that others have overtaken ([`Board::judge`]).

use std::collections::{BTreeSet, VecDeque};

use kumiki_wire::xtp::Span;

use super::spans::Spans;

/// What is known of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Out,
    /// Out no more, and no report has had room to say whether it has come: it is neither retransmitted nor in the way
    /// of what is.
    Untold,
    Received,
    Lost,
}

/// A packet of data that has been sent.
#[derive(Clone, Copy, Debug)]
struct Record {
    start: u64,
    len: u32,
    /// Of its last transmission.
    order: u64,
    /// It was sent more than once.
    again: bool,
    fate: Fate,
}

impl Record {
    const fn end(&self) -> u64 {
        self.start + self.len as u64
    }
}

/// Why a control packet cannot be true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ControlError {
    /// It claims what was never sent.
    NeverSent,
    /// Its spans are out of order, overlap, are empty, or begin at rseq or below.
    Spans,
}

/// All packets that have been sent from the first one that is not acknowledged on.
#[derive(Debug, Default)]
pub(crate) struct Board {
    /// Without holes, from `una` to `nxt`.
    records: VecDeque<Record>,
    una: u64,
    nxt: u64,
    /// The starts of those that are lost.
    lost: BTreeSet<u64>,
    /// Reported above `una`.
    received: Spans,
    /// Transmissions in their order, and what they were of. Those that have been judged are gone.
    flight: VecDeque<(u64, u64)>,
    /// Octets of those that are out, and how many they are.
    in_flight: u64,
    out: u64,
    /// How many have ever been found to have come.
    came: u64,
    /// The last order given.
    order: u64,
    /// The highest order known to have arrived.
    arrived: u64,
}

impl Board {
    /// The first octet that is not known to be received with all before it.
    pub(crate) const fn una(&self) -> u64 {
        self.una
    }

    /// The first octet that was never sent.
    pub(crate) const fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Octets that are out: neither known to be received nor held lost.
    pub(crate) const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// How many packets those octets are in. What left for good is not counted.
    pub(crate) const fn out(&self) -> u64 {
        self.out
    }

    /// How many packets have ever been found to have come.
    pub(crate) const fn came(&self) -> u64 {
        self.came
    }

    /// The last order given, and the highest one known to have arrived.
    pub(crate) const fn orders(&self) -> (u64, u64) {
        (self.order, self.arrived)
    }

    /// The next order; a question that is not data takes one too.
    pub(crate) const fn take_order(&mut self) -> u64 {
        self.order += 1;
        self.order
    }

    /// `len` octets from `nxt` on leave for the first time.
    pub(crate) fn sent(&mut self, len: u32) -> u64 {
        let (order, start) = (self.take_order(), self.nxt);
        self.records.push_back(Record { start, len, order, again: false, fate: Fate::Out });
        self.nxt += u64::from(len);
        self.in_flight += u64::from(len);
        self.out += 1;
        self.flight.push_back((order, start));
        order
    }

    /// `len` octets leave that nobody will ask for again.
    pub(crate) fn sent_for_good(&mut self, len: u32) -> u64 {
        self.nxt += u64::from(len);
        self.in_flight += u64::from(len);
        self.take_order()
    }

    fn place(&self, start: u64) -> usize {
        self.records.partition_point(|it| it.start < start)
    }

    /// The first lost packet: where it starts, and its octets.
    pub(crate) fn next_lost(&self) -> Option<(u64, u32)> {
        let start = *self.lost.first()?;
        let record = self.records.get(self.place(start))?;
        Some((record.start, record.len))
    }

    /// Whether nothing that is lost is left once `octets` of the first lost packet have left again.
    pub(crate) fn is_last_lost(&self, octets: u32) -> bool {
        self.lost.len() <= 1 && self.next_lost().is_none_or(|(_, len)| len <= octets)
    }

    /// Lost packets that follow the first one become part of it, as long as it has room for them in `room` octets.
    /// Otherwise what was once sent in little pieces would be so for ever, and pieces only ever get smaller.
    pub(crate) fn join_lost(&mut self, room: u32) {
        let Some(&start) = self.lost.first() else {
            return;
        };
        let at = self.place(start);
        while let Some((first, next)) = self.records.get(at).zip(self.records.get(at + 1))
            && next.fate == Fate::Lost
            && let Some(len) = first.len.checked_add(next.len).filter(|len| *len <= room)
        {
            self.lost.remove(&next.start);
            self.records.remove(at + 1);
            if let Some(first) = self.records.get_mut(at) {
                first.len = len;
            }
        }
    }

    pub(crate) fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// The first lost packet leaves again, its first `len` octets: what is left of it stays lost.
    pub(crate) fn resent(&mut self, len: u32) -> u64 {
        let order = self.take_order();
        let Some(start) = self.lost.pop_first() else {
            return order;
        };
        let at = self.place(start);
        let Some(record) = self.records.get_mut(at) else {
            return order;
        };
        let rest = record.len.saturating_sub(len);
        let cut = *record;
        record.len -= rest;
        (record.order, record.again, record.fate) = (order, true, Fate::Out);
        self.in_flight += u64::from(record.len);
        self.out += 1;
        self.flight.push_back((order, start));
        if rest > 0 {
            let start = start + u64::from(len);
            let record = Record { start, len: rest, ..cut };
            self.records.insert(at + 1, record);
            self.lost.insert(start);
        }
        order
    }

    /// Looks whether a report can be true.
    pub(crate) fn check(&self, rseq: u64, spans: &[Span]) -> Result<(), ControlError> {
        let mut before = rseq;
        for span in spans {
            if span.left <= before || span.right <= span.left {
                return Err(ControlError::Spans);
            }
            before = span.right;
        }
        if before > self.nxt {
            return Err(ControlError::NeverSent);
        }
        Ok(())
    }

    /// A record is known to have arrived.
    fn arrive(&mut self, at: usize) -> u64 {
        let Some(record) = self.records.get_mut(at) else {
            return 0;
        };
        let len = u64::from(record.len);
        match record.fate {
            Fate::Received => return 0,
            Fate::Out => {
                self.in_flight -= len;
                self.out -= 1;
            }
            Fate::Untold => {}
            Fate::Lost => {
                self.lost.remove(&record.start);
            }
        }
        record.fate = Fate::Received;
        self.came += 1;
        if !record.again {
            // Of one that was sent twice nobody knows which copy came.
            self.arrived = self.arrived.max(record.order);
        }
        len
    }

    /// All before `rseq` has been received. How many octets are news.
    pub(crate) fn acknowledge(&mut self, rseq: u64) -> u64 {
        let mut news = 0;
        if self.records.is_empty() {
            // What left for good has no records.
            news = rseq.saturating_sub(self.una);
        }
        while self.records.front().is_some_and(|it| it.end() <= rseq) {
            news += self.arrive(0);
            self.records.pop_front();
        }
        // A receiver may have cut packets itself. What is left is one that begins later.
        if let Some(&first) = self.records.front()
            && first.start < rseq
        {
            let cut = rseq - first.start;
            let was_lost = self.lost.remove(&first.start);
            if let Some(record) = self.records.front_mut() {
                record.start = rseq;
                record.len = u32::try_from(first.end() - rseq).unwrap_or(0);
            }
            if was_lost {
                self.lost.insert(rseq);
            }
            match first.fate {
                Fate::Received => {}
                Fate::Out | Fate::Untold => {
                    if first.fate == Fate::Out {
                        self.in_flight -= cut;
                    }
                    let at = self.flight.partition_point(|it| it.0 < first.order);
                    if let Some((order, start)) = self.flight.get_mut(at)
                        && *order == first.order
                    {
                        *start = rseq;
                    }
                    news += cut;
                }
                Fate::Lost => news += cut,
            }
        }
        self.una = self.una.max(rseq);
        self.nxt = self.nxt.max(rseq);
        if self.records.is_empty() {
            (self.in_flight, self.out) = (self.nxt - self.una, 0);
        }
        self.received.remove_below(self.una);
        while let Some((_, start)) = self.flight.front()
            && *start < self.una
        {
            self.flight.pop_front();
        }
        news
    }

    /// A span says that `left..right` has been received (P1: the one place that knows what spans mean). How many octets
    /// are news.
    ///
    /// Only whole packets are remembered, for those that lack an octet are retransmitted whole, and each report tells
    /// all again: a peer that reports each second octet takes no more memory than what we have sent does.
    pub(crate) fn cover(&mut self, span: Span) -> u64 {
        let mut fresh = smallvec::SmallVec::<[(u64, u64); 4]>::new();
        let left = span.left.max(self.una);
        let (from, to) = (self.place(left), self.records.partition_point(|it| it.end() <= span.right));
        let first = self.records.get(from);
        let last = to.checked_sub(1).and_then(|to| self.records.get(to));
        let Some((left, right)) =
            first.zip(last).map(|(first, last)| (first.start, last.end())).filter(|(left, right)| left < right)
        else {
            return 0;
        };
        self.received.insert(left, right, |a, b| fresh.push((a, b)));
        let mut news = 0;
        for (left, right) in fresh {
            // The one that `left` lies in may be whole now.
            let mut at = self.records.partition_point(|it| it.end() <= left);
            while let Some(record) = self.records.get(at).copied()
                && record.start < right
            {
                if self.received.contains(record.start, record.end()) {
                    news += self.arrive(at);
                }
                at += 1;
            }
        }
        news
    }

    /// An answer came to a question of order `limit`, or 0 where it is no news: what left before that question, or
    /// before the latest packet that has arrived, and has not arrived itself, is lost, if at least `tolerance` packets
    /// have overtaken it. How many octets. Of what begins at `known` or above the answer says nothing: it is not out
    /// any more either.
    pub(crate) fn judge(&mut self, limit: u64, tolerance: u64, known: u64) -> u64 {
        let limit = limit.max(self.arrived);
        let tolerance = tolerance.max(1);
        let mut lost = 0;
        let mut untold = Vec::new();
        while let Some(&(order, start)) = self.flight.front()
            && order.saturating_add(tolerance) <= limit
        {
            self.flight.pop_front();
            let at = self.place(start);
            let Some(record) = self.records.get_mut(at) else {
                continue;
            };
            let len = u64::from(record.len);
            let waits = matches!(record.fate, Fate::Out | Fate::Untold);
            if record.start == start && record.order == order && waits {
                if record.fate == Fate::Out {
                    self.in_flight -= len;
                    self.out -= 1;
                }
                if start >= known {
                    record.fate = Fate::Untold;
                    untold.push((order, start));
                } else {
                    record.fate = Fate::Lost;
                    self.lost.insert(start);
                    lost += len;
                }
            }
        }
        for it in untold.into_iter().rev() {
            self.flight.push_front(it);
        }
        lost
    }

    /// Whether nothing is out or lost, although not all is acknowledged: what was reported once is not any more.
    pub(crate) fn contradicts_itself(&self) -> bool {
        self.una < self.nxt && self.in_flight == 0 && self.lost.is_empty()
    }

    /// One of several receivers has what is below `rseq` and in `spans`, and nothing else: what it lacks below the last
    /// of them is lost, if at least `tolerance` packets have overtaken it there. How many octets.
    pub(crate) fn judge_one(&mut self, rseq: u64, spans: &[Span], tolerance: u64) -> u64 {
        let latest = spans.last().and_then(|last| {
            let at = self.records.partition_point(|it| it.end() < last.right);
            self.records.get(at).filter(|it| !it.again)
        });
        let Some(arrived) = latest.map(|it| it.order) else {
            return 0;
        };
        let (mut left, mut lost) = (rseq, 0);
        for span in spans {
            let mut at = self.records.partition_point(|it| it.end() <= left);
            while let Some(record) = self.records.get_mut(at)
                && record.start < span.left
            {
                if matches!(record.fate, Fate::Out | Fate::Untold)
                    && record.order.saturating_add(tolerance.max(1)) <= arrived
                {
                    if record.fate == Fate::Out {
                        self.in_flight -= u64::from(record.len);
                        self.out -= 1;
                    }
                    record.fate = Fate::Lost;
                    self.lost.insert(record.start);
                    lost += u64::from(record.len);
                }
                at += 1;
            }
            left = span.right;
        }
        lost
    }

    /// Whether anything that left before `limit` is still out.
    pub(crate) fn is_out_before(&self, limit: u64) -> bool {
        self.flight.iter().take_while(|it| it.0 < limit).any(|it| {
            let record = self.records.get(self.place(it.1));
            record.is_some_and(|record| record.order == it.0 && record.fate == Fate::Out)
        })
    }

    /// Go-back-N: everything from `una` on is to be retransmitted. How many octets of it were out. Answers to questions
    /// that left before this find nothing lost: no transmission is known any more that left before them.
    pub(crate) fn go_back(&mut self) -> u64 {
        let were_out = self.in_flight;
        for record in &mut self.records {
            record.fate = Fate::Lost;
            self.lost.insert(record.start);
        }
        self.flight.clear();
        self.received.clear();
        (self.in_flight, self.out) = (0, 0);
        were_out
    }

    /// The handshake is complete: `spans` are the truth, whatever was said before them. What was said to have come and
    /// has not is lost; above the last span only where there is none, for a list may have been cut short.
    pub(crate) fn believe(&mut self, spans: &[Span]) -> u64 {
        let limit = spans.last().map_or(u64::MAX, |span| span.right);
        let mut truth = Spans::default();
        for span in spans {
            truth.insert(span.left, span.right, |_, _| {});
        }
        let mut lost = 0;
        for record in &mut self.records {
            if record.fate == Fate::Received && record.end() <= limit && !truth.contains(record.start, record.end()) {
                record.fate = Fate::Lost;
                self.lost.insert(record.start);
                lost += u64::from(record.len);
            }
        }
        if lost > 0 {
            self.received = truth;
        }
        lost
    }

    /// All that was sent has come: nothing of it matters any more.
    pub(crate) fn finish(&mut self) -> u64 {
        self.acknowledge(self.nxt)
    }
}

#[cfg(test)]
mod tests;
