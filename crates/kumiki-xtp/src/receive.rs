//! The receive side: what is expected, what has come ahead of its turn, and how much room there is.
//!
//! | | |
//! |---|---|
//! | Specification | `docs/xtp.md`, P1 (spans), P6 (alloc), P25 (NOERR), P27 (messages and tags), P31 (WCLOSE) |
//! | The caller's part | delivery, when to tell |
//! | Left out | taking back what was reported; a report of more than one ECNTL packet can hold |
//!
//! Of overlapping octets the first to arrive stay, with what was said of them.
//!
//! # Memory
//!
//! What is kept here, because it has come ahead of its turn or nobody has accepted the context yet, takes at most twice
//! its octets and what a piece takes besides ([`Message::fit`]): a little that came in a large page is copied out of
//! it. A packet of one octet takes a piece as well as one of a thousand, though. So there are no more pieces than the
//! window would have of [`SPARSE`] octets each, and no more than [`ISLANDS`] runs; what else comes is dropped, and the
//! peer has to send it again. What is in order and has a user is handed over in any case.

use std::collections::{BTreeMap, VecDeque};

use kumiki_octets::Message;
use kumiki_wire::xtp::Span;

use super::send::Tag;
use super::spans::Spans;

/// Octets of the window for each piece that may be queued.
const SPARSE: u64 = 1024;
/// So many pieces may be queued whatever the window is.
const FEW: u64 = 128;
/// The most runs: what must be looked through for a report grows with them.
const ISLANDS: usize = 1024;

/// What a piece that is kept takes beside its octets, about: the message, and a page where it fills half of one.
const BESIDE: u64 = 640;

/// Data of one packet, or a part of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ReceivedData {
    pub(crate) text: Message,
    pub(crate) tag: Option<Tag>,
    /// A message ends with it.
    pub(crate) end: bool,
}

/// What became of a packet's data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Inserted {
    /// Something of it is new.
    Queued,
    /// There is a hole in front of it that was not known.
    Gap,
    /// All of it was there before.
    Duplicate,
    /// Nothing of it may be sent.
    Outside,
    /// There are too many pieces.
    Full,
}

/// The numbers of the receive side, and what waits there.
#[derive(Debug, Default)]
pub(crate) struct Receive {
    /// The next octet expected in order.
    pub(crate) rseq: u64,
    /// As told; it never moves back.
    pub(crate) alloc: u64,
    /// How many more octets the user takes.
    pub(crate) room: u64,
    /// Indicated, and no credit given back for it.
    pub(crate) user: u64,
    /// What is missing is passed over.
    pub(crate) noerr: bool,
    /// Where the peer's stream ends, once WCLOSE has said so.
    pub(crate) end: Option<u64>,
    /// In-order data that waits for somebody to accept the context, and its octets.
    waiting: VecDeque<ReceivedData>,
    waiting_octets: u64,
    pieces: BTreeMap<u64, ReceivedData>,
    islands: Spans,
    /// The highest octet that the peer is known to have sent, and one.
    sent: u64,
}

impl Receive {
    pub(crate) fn new(room: u64, noerr: bool) -> Self {
        Self { room, alloc: room, noerr, ..Self::default() }
    }

    /// `alloc` as it may be told now.
    pub(crate) fn allow(&mut self) -> u64 {
        self.alloc = self.alloc.max(self.rseq.saturating_add(self.room));
        self.alloc
    }

    /// The first octet for which there is no room.
    fn edge(&self) -> u64 {
        self.alloc.max(self.rseq.saturating_add(self.room))
    }

    /// The peer says that all before `seq` has been sent.
    pub(crate) fn know_sent(&mut self, seq: u64) {
        self.sent = self.sent.max(seq);
    }

    /// Where a control packet with `seq` says that the stream ends, should it say so. Who writes 0 there says nothing
    /// (P3), unless nothing has come.
    pub(crate) fn end_told(&self, seq: u64) -> Option<u64> {
        let is_empty = self.rseq == 0 && self.islands.is_empty() && self.end.unwrap_or(0) == 0;
        (seq > 0 || is_empty).then_some(seq)
    }

    /// Whether the peer's stream can end at `end`; `begin`: where it begins for us, as the same packet says.
    pub(crate) fn may_close_at(&self, end: u64, begin: Option<u64>) -> bool {
        if let Some(begin) = begin.filter(|begin| *begin > self.rseq) {
            return end >= begin && self.end.is_none_or(|known| known < begin || known == end);
        }
        let beyond = self.islands.last().map_or(self.rseq, |(_, right)| right);
        self.end.is_none_or(|known| known == end) && end >= beyond
    }

    /// The peer's stream ends at `end`, which can be.
    pub(crate) const fn close_at(&mut self, end: u64) {
        self.end = Some(end);
    }

    /// All that the peer has written is here.
    pub(crate) fn is_complete(&self) -> bool {
        self.end == Some(self.rseq)
    }

    /// Why there is no room for data from `seq` to before `end`, if there is none. Under NOERR (`noerr`) what is
    /// missing before it is passed over first; the packet that says so for the first time needs room without that.
    fn refuses(&self, seq: u64, end: u64, noerr: bool) -> Option<Inserted> {
        if end <= self.rseq {
            return None;
        }
        let (mut rseq, mut room) = (self.rseq, self.room);
        if noerr && seq > rseq {
            let passed = self.islands.iter().take_while(|it| it.left < seq);
            for run in passed {
                room = room.saturating_sub(run.right - run.left);
                rseq = run.right;
            }
            rseq = rseq.max(seq);
            if end <= rseq {
                return None;
            }
        }
        let right = self.alloc.max(rseq.saturating_add(room));
        if seq >= right.min(self.end.unwrap_or(u64::MAX)) {
            return Some(Inserted::Outside);
        }
        let window = (right - rseq).saturating_add(self.waiting_octets);
        let most = usize::try_from((window / SPARSE).max(FEW)).unwrap_or(usize::MAX);
        let full = self.pieces() >= most || self.islands.len() >= ISLANDS;
        // What is in order goes to the user, but where there is none yet.
        let is_kept = seq > rseq || !self.waiting.is_empty();
        (full && is_kept).then_some(Inserted::Full)
    }

    /// Pieces that are kept here.
    fn pieces(&self) -> usize {
        self.waiting.len() + self.pieces.len()
    }

    /// Keeps `piece`, which is in order, for whoever accepts the context.
    pub(crate) fn keep(&mut self, mut piece: ReceivedData) {
        piece.text.fit();
        self.waiting_octets += piece.text.len() as u64;
        self.waiting.push_back(piece);
    }

    /// The first of what was kept, if it is as `wanted`.
    pub(crate) fn take_first(&mut self, wanted: impl FnOnce(&ReceivedData) -> bool) -> Option<ReceivedData> {
        let first = self.waiting.pop_front_if(|it| wanted(it))?;
        self.waiting_octets -= first.text.len() as u64;
        Some(first)
    }

    /// What was kept.
    pub(crate) fn take_waiting(&mut self) -> VecDeque<ReceivedData> {
        self.waiting_octets = 0;
        core::mem::take(&mut self.waiting)
    }

    /// Octets of what is kept for whoever accepts the context.
    pub(crate) const fn waiting_octets(&self) -> u64 {
        self.waiting_octets
    }

    /// Data from `seq` on, sent under NOERR where `noerr`. What is in order is handed to `deliver`. What finds no room
    /// changes nothing.
    pub(crate) fn insert(
        &mut self,
        seq: u64,
        piece: ReceivedData,
        noerr: bool,
        mut deliver: impl FnMut(ReceivedData),
    ) -> Inserted {
        let Some(end) = seq.checked_add(piece.text.len() as u64) else {
            return Inserted::Outside;
        };
        if let Some(refused) = self.refuses(seq, end, noerr && self.noerr) {
            return refused;
        }
        self.know_sent(end);
        if noerr && seq > self.rseq {
            self.pass_over(seq, &mut deliver);
        }
        if end <= self.rseq {
            return Inserted::Duplicate;
        }
        let right = self.edge().min(self.end.unwrap_or(u64::MAX));
        if seq == self.rseq && end <= right && self.islands.is_empty() {
            // What nearly always happens.
            self.advance(end - seq);
            deliver(piece);
            return Inserted::Queued;
        }
        self.insert_aside(seq, end, right, piece, &mut deliver)
    }

    fn insert_aside(
        &mut self,
        seq: u64,
        end: u64,
        right: u64,
        piece: ReceivedData,
        deliver: &mut impl FnMut(ReceivedData),
    ) -> Inserted {
        let runs = self.islands.len();
        let (left, right) = (seq.max(self.rseq), end.min(right));
        let mut fresh = smallvec::SmallVec::<[(u64, u64); 2]>::new();
        self.islands.insert(left, right, |a, b| fresh.push((a, b)));
        if fresh.is_empty() {
            return Inserted::Duplicate;
        }
        for (from, to) in fresh {
            let at = usize::try_from(from - seq).unwrap_or(usize::MAX);
            let len = usize::try_from(to - from).unwrap_or(usize::MAX);
            let Ok(text) = piece.text.share(at, len) else {
                continue;
            };
            let mut part = ReceivedData { text, tag: piece.tag.filter(|_| from == seq), end: piece.end && to == end };
            if from > self.rseq {
                part.text.fit();
            }
            self.pieces.insert(from, part);
        }
        let grown = self.islands.len() > runs && left > self.rseq;
        self.pop(deliver);
        if grown { Inserted::Gap } else { Inserted::Queued }
    }

    /// `octets` go to the user, and take their room.
    const fn advance(&mut self, octets: u64) {
        self.rseq += octets;
        self.room = self.room.saturating_sub(octets);
    }

    /// Hands over what is in order now.
    fn pop(&mut self, deliver: &mut impl FnMut(ReceivedData)) {
        while let Some(entry) = self.pieces.first_entry()
            && *entry.key() <= self.rseq
        {
            let piece = entry.remove();
            self.advance(piece.text.len() as u64);
            deliver(piece);
        }
        self.islands.remove_below(self.rseq);
    }

    /// NOERR: what is missing before `seq` will not come. It takes no room, for the user never gets it.
    pub(crate) fn pass_over(&mut self, seq: u64, deliver: &mut impl FnMut(ReceivedData)) {
        while let Some((left, _)) = self.islands.first()
            && left < seq
        {
            self.rseq = self.rseq.max(left);
            self.pop(deliver);
        }
        self.rseq = self.rseq.max(seq);
    }

    /// As far as the peer is known to have sent.
    pub(crate) const fn sent(&self) -> u64 {
        self.sent
    }

    /// Whether the peer must send something again.
    pub(crate) fn misses(&self) -> bool {
        !self.islands.is_empty()
    }

    /// What has been received above `rseq`: at most `most` runs, the lowest ones (P1: the one place where spans are
    /// made).
    pub(crate) fn spans(&self, most: usize) -> Vec<Span> {
        self.islands.iter().take(most).collect()
    }

    /// Octets that wait here: for those before them, or for somebody to accept the context.
    pub(crate) fn held(&self) -> u64 {
        let runs: u64 = self.islands.iter().map(|it| it.right - it.left).sum();
        runs + self.waiting_octets
    }

    /// What it takes of memory, in octets: what waits for somebody to accept the context, and what is ahead of its
    /// turn.
    pub(crate) fn memory(&self) -> (u64, u64) {
        let runs: u64 = self.islands.iter().map(|it| it.right - it.left).sum();
        let waiting = self.waiting_octets + self.waiting.len() as u64 * BESIDE;
        (waiting, runs + self.pieces.len() as u64 * BESIDE)
    }

    /// The context is over.
    pub(crate) fn clear(&mut self) {
        self.pieces.clear();
        self.islands.clear();
        self.take_waiting();
    }
}

#[cfg(test)]
mod tests {
    use kumiki_octets::Pattern;
    use proptest::prelude::*;

    use super::*;

    fn piece(from: u64, to: u64) -> ReceivedData {
        let len = usize::try_from(to - from).unwrap();
        ReceivedData { text: Message::generated(Pattern::Counter, from, len), tag: None, end: false }
    }

    fn put(receive: &mut Receive, from: u64, to: u64) -> (Inserted, u64) {
        let mut got = 0;
        let outcome = receive.insert(from, piece(from, to), receive.noerr, |it| {
            got += it.text.len() as u64;
        });
        (outcome, got)
    }

    #[test]
    fn what_comes_ahead_of_its_turn_waits_and_is_reported() {
        let mut receive = Receive::new(1000, false);
        assert_eq!(put(&mut receive, 0, 100), (Inserted::Queued, 100));
        assert_eq!(put(&mut receive, 200, 300), (Inserted::Gap, 0));
        assert_eq!(put(&mut receive, 300, 400), (Inserted::Queued, 0));
        assert_eq!(put(&mut receive, 500, 600), (Inserted::Gap, 0));
        assert_eq!(put(&mut receive, 250, 350), (Inserted::Duplicate, 0));
        let span = |left, right| Span { left, right };
        assert_eq!(receive.spans(9), [span(200, 400), span(500, 600)]);
        assert_eq!(receive.spans(1), [span(200, 400)]);
        assert_eq!(put(&mut receive, 50, 520), (Inserted::Queued, 500));
        assert_eq!((receive.rseq, receive.misses()), (600, false));
        assert_eq!(put(&mut receive, 0, 600), (Inserted::Duplicate, 0));
    }

    #[test]
    fn nothing_goes_beyond_the_window_or_the_end() {
        let mut receive = Receive::new(100, false);
        assert_eq!(put(&mut receive, 100, 120), (Inserted::Outside, 0));
        assert_eq!(put(&mut receive, 50, 120), (Inserted::Gap, 0));
        receive.close_at(100);
        assert!(receive.may_close_at(100, None) && !receive.may_close_at(110, None));
        assert_eq!(put(&mut receive, 0, 50), (Inserted::Queued, 100));
        assert!(receive.is_complete());
        let mut receive = Receive::new(100, false);
        put(&mut receive, 50, 60);
        assert!(!receive.may_close_at(55, None), "there is data behind it");
        assert!(receive.may_close_at(60, None));
        assert!(receive.may_close_at(70, Some(65)) && !receive.may_close_at(64, Some(65)));
    }

    #[test]
    fn alloc_never_moves_back() {
        let mut receive = Receive::new(100, false);
        assert_eq!(receive.allow(), 100);
        receive.room = 10;
        assert_eq!(receive.allow(), 100);
        receive.rseq = 200;
        assert_eq!(receive.allow(), 210);
    }

    #[test]
    fn without_error_control_gaps_are_passed_over() {
        let mut receive = Receive::new(1000, true);
        assert_eq!(put(&mut receive, 100, 200), (Inserted::Queued, 100));
        assert_eq!(put(&mut receive, 50, 120), (Inserted::Duplicate, 0));
        assert_eq!(put(&mut receive, 150, 250), (Inserted::Queued, 50));
        assert_eq!((receive.rseq, receive.misses()), (250, false));
    }

    #[test]
    fn tags_and_ends_stay_with_the_octets_that_brought_them() {
        let mut receive = Receive::new(1000, false);
        let tagged = |from, to| ReceivedData { tag: Some([1; 8]), end: true, ..piece(from, to) };
        put(&mut receive, 50, 60);
        let mut got = Vec::new();
        let mut take = |it: ReceivedData| got.push((it.text.len(), it.tag.is_some(), it.end));
        receive.insert(100, tagged(100, 150), false, &mut take);
        receive.insert(40, tagged(40, 100), false, &mut take);
        receive.insert(0, tagged(0, 45), false, &mut take);
        let expected = [(40, true, false), (10, true, false), (10, false, false), (40, false, true), (50, true, true)];
        // The first to arrive stay: of the last packet only what was missing is taken.
        assert_eq!(got, expected);
    }

    #[test]
    fn many_small_pieces_are_refused_but_not_what_is_in_order() {
        let mut receive = Receive::new(1 << 16, false);
        let mut refused = 0;
        for n in 1..5000 {
            let outcome = put(&mut receive, 2 * n, 2 * n + 1).0;
            refused += u64::from(outcome == Inserted::Full);
        }
        assert_eq!(refused, 4999 - FEW);
        assert_eq!(put(&mut receive, 0, 3).0, Inserted::Queued);
    }

    proptest! {
        #[test]
        fn octets_come_out_once_and_in_order(parts: Vec<(u8, u8)>, noerr: bool) {
            let mut receive = Receive::new(256, noerr);
            let mut out = Vec::new();
            let all = parts.into_iter().chain([(0, 255)]);
            for (from, len) in all {
                let (from, to) = (u64::from(from), (u64::from(from) + u64::from(len)).min(255));
                if from < to {
                    receive.insert(from, piece(from, to), receive.noerr, |it| out.extend(it.text.to_vec()));
                }
                prop_assert!(receive.spans(99).iter().all(|it| it.left > receive.rseq));
            }
            let expected = Message::generated(Pattern::Counter, 0, 255).to_vec();
            if noerr {
                prop_assert!(out.len() <= 255);
            } else {
                prop_assert_eq!(out, expected);
            }
        }
    }
}
