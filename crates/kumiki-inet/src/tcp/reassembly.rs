//! What arrived ahead of its turn: the receive side's out-of-order queue.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 9293 section 3.10.7.4, RFC 2018 sections 3 and 4 (blocks), RFC 2883 (D-SACK) |
//! | The caller's part | acceptability, RCV.NXT, delivery, and when to acknowledge |
//! | Left out | taking back what was queued (RFC 2018 section 8 allows it): what a block reported stays |
//!
//! Segments that touch form an *island*; islands neither touch nor overlap. Of overlapping octets the first to arrive
//! stay, so that nobody can replace octets that a block has already reported.
//!
//! # Memory
//!
//! What a window has offered can be stored, whatever of it is lost on the way: a sender whose slow start has overrun a
//! queue leaves a hole behind every other segment of a window, and what is dropped here as well it has to send a second
//! time. A segment of one octet takes as much memory as one of a thousand, though: a page. So a peer that sends such
//! segments, each with a hole in front of it, is not stopped by the window. There are no more pieces than the window
//! would have of `SPARSE` octets each, so that all of them take three times the window at most; what else comes is
//! dropped, and the peer has to send it again. Segments of half as many octets and more always find room, since each
//! lone one has a hole of its own size beside it, and from `MANY` pieces on small neighbours are copied together.
//!
//! Islands are found in a tree, and those to report in another, so that a segment costs the logarithm of how many there
//! are.

use std::collections::{BTreeMap, VecDeque};

use kumiki_octets::{Blank, Message};
use kumiki_wire::inet::tcp::{SackBlock, SackBlocks, Seq};

/// What a piece takes beside its octets, about: what is left of its page, and the message.
pub(crate) const OVERHEAD: usize = 2560;
/// Octets of the window for each piece that may be queued.
const SPARSE: usize = 1024;
/// So many pieces may be queued whatever the window is.
const FEW: usize = 128;
/// From so many on neighbours are copied together.
const MANY: usize = 64;

/// How much a queue may hold at most, whatever the window is. What touches RCV.NXT is taken in any case, since refusing
/// that could stop a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Octets.
    pub octets: usize,
    /// Segments, or pieces of segments.
    pub pieces: usize,
}

impl Limits {
    /// As much as the largest window (RFC 7323 section 2.3), so that the window alone decides.
    const WINDOW: Self = Self { octets: 1 << 30, pieces: (1 << 30) / SPARSE };
}

impl Default for Limits {
    /// As much as the largest window, so that the window alone decides.
    fn default() -> Self {
        Self::WINDOW
    }
}

/// What became of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inserted {
    /// So many octets of it are new and queued; a FIN that came with it may be the only news (0).
    Queued(usize),
    /// All of it in the window was there before or delivered before.
    Duplicate,
    /// Nothing of it lies in the window.
    Outside,
    /// It would have passed the [`Limits`] and was dropped, but for a FIN behind it, which takes no room.
    Full,
}

/// A place in the stream that does not wrap around: the sequence number is its low half.
type ExtendedSeq = u64;

/// Octets without a hole, from where the tree has it on.
#[derive(Debug)]
struct Island {
    end: ExtendedSeq,
    /// In order, none empty.
    parts: VecDeque<Message>,
    /// Larger is more recent.
    changed: u64,
}

/// The peer's FIN, which takes one sequence number as an octet does.
#[derive(Debug)]
struct KnownFin {
    at: ExtendedSeq,
    /// As of an island that it is alone.
    changed: u64,
}

/// The queue of one connection.
#[derive(Debug)]
pub struct Reassembly {
    limits: Limits,
    /// By where they begin.
    islands: BTreeMap<ExtendedSeq, Island>,
    /// Where they begin, by when they were changed; the FIN is among them while no island ends at it.
    latest: BTreeMap<u64, ExtendedSeq>,
    /// RCV.NXT as it was last told.
    at: ExtendedSeq,
    fin: Option<KnownFin>,
    octets: usize,
    pieces: usize,
    changes: u64,
    dsack: Option<SackBlock>,
}

impl Default for Reassembly {
    fn default() -> Self {
        Self::new(Limits::WINDOW)
    }
}

impl Blank for Reassembly {
    const BLANK: &'static Self = &Self::new(Limits::WINDOW);
}

/// The sequence number of a place.
const fn seq(at: ExtendedSeq) -> Seq {
    let [.., a, b, c, d] = at.to_be_bytes();
    Seq(u32::from_be_bytes([a, b, c, d]))
}

impl Island {
    /// Adds `part` at the end; how many pieces more there are. `dense`: small ones are copied together.
    fn push(&mut self, mut part: Message, dense: bool) -> usize {
        if dense && let Some(last) = self.parts.back_mut() {
            part = match last.absorb(part) {
                Ok(()) => return 0,
                Err(part) => part,
            };
        }
        self.parts.push_back(part);
        1
    }

    /// Adds `next`, which begins where this one ends. The shorter list moves, so that filling holes from either side
    /// costs no more than n log n in all.
    fn join(&mut self, mut next: Self) {
        self.end = next.end;
        if self.parts.len() >= next.parts.len() {
            self.parts.append(&mut next.parts);
        } else {
            for part in self.parts.drain(..).rev() {
                next.parts.push_front(part);
            }
            self.parts = next.parts;
        }
    }
}

impl Reassembly {
    /// An empty queue.
    #[must_use]
    pub const fn new(limits: Limits) -> Self {
        Self {
            limits,
            islands: BTreeMap::new(),
            latest: BTreeMap::new(),
            // High enough for what lies before it.
            at: 1 << 40,
            fin: None,
            octets: 0,
            pieces: 0,
            changes: 0,
            dsack: None,
        }
    }

    /// Where `seq`, which is less than half the numbers away from RCV.NXT, lies in the stream.
    fn place_of(&self, seq: Seq) -> ExtendedSeq {
        let ahead = seq.distance_from(self::seq(self.at));
        self.at.wrapping_add_signed(ahead.into())
    }

    /// The caller's RCV.NXT. Where nothing is queued it may be anywhere.
    fn move_to(&mut self, rcv_nxt: Seq) {
        let nothing = self.islands.is_empty() && self.fin.is_none();
        self.at = if nothing { (1 << 40) | u64::from(rcv_nxt.0) } else { self.place_of(rcv_nxt) };
    }

    /// A segment's text, trimmed here to the window of `window` octets from `rcv_nxt` on, and kept until its turn (RFC
    /// 9293 SHLD-31); `fin`: a FIN follows it.
    ///
    /// A window is at most 2^30 octets (RFC 7323 section 2.3). A FIN that contradicts what was received is ignored, as
    /// is text after a FIN.
    pub fn insert(&mut self, rcv_nxt: Seq, window: u32, seq: Seq, text: Message, fin: bool) -> Inserted {
        let mut duplicate = None;
        let Some((start, text, fin)) = self.trim(rcv_nxt, window, seq, text, fin, &mut duplicate) else {
            let seen = duplicate.is_some();
            self.dsack = duplicate.or(self.dsack);
            return if seen { Inserted::Duplicate } else { Inserted::Outside };
        };
        self.move_to(rcv_nxt);
        let start = self.place_of(start);
        let alone = text.is_empty();
        let end = start + text.len() as u64;
        let outcome = self.place(window, start, text, &mut duplicate);
        let fin_is_news = fin && self.take_fin(end);
        if fin && !fin_is_news && self.fin_place() == Some(end) {
            // A second copy of the FIN, behind a second copy of text or alone.
            match &mut duplicate {
                Some(block) if block.right == self::seq(end) => block.right += 1,
                Some(_) => {}
                None if alone => note(&mut duplicate, end, end + 1),
                None => {}
            }
        }
        self.dsack = duplicate.or(self.dsack);
        if fin_is_news && outcome == Inserted::Duplicate {
            return Inserted::Queued(0);
        }
        outcome
    }

    /// The part inside the window; `None` where there is none.
    fn trim(
        &self,
        rcv_nxt: Seq,
        window: u32,
        seq: Seq,
        mut text: Message,
        mut fin: bool,
        duplicate: &mut Option<SackBlock>,
    ) -> Option<(Seq, Message, bool)> {
        let mut start = seq;
        let old = usize::try_from(rcv_nxt.distance_from(seq)).unwrap_or(0);
        if old > 0 {
            let cut = old.min(text.len());
            if cut > 0 {
                let right = seq.advance(cut);
                duplicate.get_or_insert(SackBlock { left: seq, right });
            }
            // A FIN right before RCV.NXT was taken already.
            fin &= old <= text.len();
            text.pop(cut).ok()?;
            start = rcv_nxt;
            if text.is_empty() && !fin {
                return None;
            }
        }
        if !start.is_within(rcv_nxt, window) {
            return None;
        }
        let right = self.fin_place().map_or(window, |end| window.min(self::seq(end) - rcv_nxt));
        let room = right.saturating_sub(start - rcv_nxt);
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        if text.len() > room {
            text.truncate(room);
            fin = false;
        }
        // The FIN itself needs no room: where all text before it fits, it may be right behind the window. Peers send it
        // there, and would have to wait for their timer to send it once more.
        fin &= start.advance(text.len()) - rcv_nxt <= window;
        Some((start, text, fin))
    }

    /// Where the peer's FIN is, if that is known.
    fn fin_place(&self) -> Option<ExtendedSeq> {
        self.fin.as_ref().map(|fin| fin.at)
    }

    /// Notes the FIN at `at`, unless it is known elsewhere or there is text after it; whether that is news. What it is
    /// part of is the latest to report.
    fn take_fin(&mut self, at: ExtendedSeq) -> bool {
        let last = self.islands.last_key_value();
        let text_after = last.is_some_and(|(_, last)| last.end > at);
        if text_after || self.fin_place().is_some_and(|known| known != at) {
            return false;
        }
        let before = last.filter(|(_, last)| last.end == at).map(|(begins, _)| *begins);
        self.changes += 1;
        if let Some(begins) = before {
            self.renew(begins);
        } else {
            self.forget_lone_fin();
            self.latest.insert(self.changes, at);
        }
        let fin = KnownFin { at, changed: self.changes };
        self.fin.replace(fin).is_none()
    }

    /// The FIN is no block of its own (any more).
    fn forget_lone_fin(&mut self) {
        if let Some(fin) = &self.fin {
            self.latest.remove(&fin.changed);
        }
    }

    /// The island that begins at `begins` is the latest to report.
    fn renew(&mut self, begins: ExtendedSeq) {
        if let Some(island) = self.islands.get_mut(&begins) {
            self.latest.remove(&island.changed);
            island.changed = self.changes;
            self.latest.insert(self.changes, begins);
        }
    }

    /// Puts text inside the window into the islands.
    fn place(&mut self, window: u32, start: ExtendedSeq, text: Message, duplicate: &mut Option<SackBlock>) -> Inserted {
        if text.is_empty() {
            return Inserted::Duplicate;
        }
        let end = start + text.len() as u64;
        // The one that `start` lies in or touches, and all that begin up to `end`.
        let before = self.islands.range(..=start).next_back();
        let before = before.filter(|(_, island)| island.end >= start).map(|(at, _)| *at);
        self.changes += 1;
        if let Some(at) = before
            && self.islands.get(&at).is_some_and(|island| end <= island.end)
        {
            self.renew(at);
            note(duplicate, start, end);
            return Inserted::Duplicate;
        }
        let first = before.unwrap_or(start);
        let window = usize::try_from(window).unwrap_or(usize::MAX);
        let most = self.limits.pieces.min((window / SPARSE).max(FEW));
        // It may fill the hole before each of those: no more are counted than there is room for.
        let room = most.saturating_sub(self.pieces);
        let touched = self.islands.range(first..=end).take(room).count();
        let full = self.octets + text.len() > self.limits.octets || touched >= room;
        if full && start != self.at {
            return Inserted::Full;
        }
        let queued = self.octets;
        self.merge(first, start, text, duplicate);
        Inserted::Queued(self.octets - queued)
    }

    /// The first island from `first` up to `end`, which is one no more.
    fn take_island(&mut self, first: ExtendedSeq, end: ExtendedSeq) -> Option<(ExtendedSeq, Island)> {
        let at = *self.islands.range(first..=end).next()?.0;
        let island = self.islands.remove(&at)?;
        self.latest.remove(&island.changed);
        Some((at, island))
    }

    /// Makes one island of `text` and the islands that it touches, the first of which begins at `first` or later.
    fn merge(&mut self, first: ExtendedSeq, start: ExtendedSeq, mut text: Message, duplicate: &mut Option<SackBlock>) {
        let end = start + text.len() as u64;
        let dense = self.pieces >= MANY;
        let mut begins = start;
        let mut merged = Island { end: start, parts: VecDeque::with_capacity(1), changed: self.changes };
        while let Some((at, island)) = self.take_island(first, end) {
            let gap = usize::try_from(at.saturating_sub(merged.end)).unwrap_or(0);
            if gap > 0
                && let Ok(part) = text.split_to(gap.min(text.len()))
            {
                self.octets += part.len();
                merged.end = at;
                self.pieces += merged.push(part, dense);
            }
            let overlap_from = start.max(at);
            let overlap_to = end.min(island.end);
            if overlap_from < overlap_to {
                note(duplicate, overlap_from, overlap_to);
                let len = usize::try_from(overlap_to - overlap_from).unwrap_or(usize::MAX);
                let _ = text.pop(len.min(text.len()));
            }
            if merged.parts.is_empty() {
                begins = at;
                merged = Island { changed: self.changes, ..island };
            } else {
                merged.join(island);
            }
        }
        if !text.is_empty() {
            merged.end = end;
            self.octets += text.len();
            self.pieces += merged.push(text, dense);
        }
        if self.fin_place() == Some(merged.end) {
            self.forget_lone_fin();
        }
        self.latest.insert(merged.changed, begins);
        self.islands.insert(begins, merged);
    }

    /// The octets from `rcv_nxt` on, as they came in one segment; call again with `rcv_nxt` advanced by its length.
    ///
    /// What lies before `rcv_nxt`, because the caller delivered it otherwise, is dropped.
    pub fn pop_in_order(&mut self, rcv_nxt: Seq) -> Option<Message> {
        self.move_to(rcv_nxt);
        while let Some(first) = self.islands.first_entry()
            && *first.key() <= self.at
        {
            let (begins, mut island) = first.remove_entry();
            let Some(mut part) = island.parts.pop_front() else {
                self.latest.remove(&island.changed);
                continue;
            };
            let len = part.len();
            let old = usize::try_from(self.at - begins).unwrap_or(usize::MAX);
            self.octets -= len;
            self.pieces -= 1;
            if island.parts.is_empty() {
                self.latest.remove(&island.changed);
            } else {
                let begins = begins + len as u64;
                self.latest.insert(island.changed, begins);
                self.islands.insert(begins, island);
            }
            if part.pop(old.min(len)).is_ok() && !part.is_empty() {
                return Some(part);
            }
        }
        None
    }

    /// The peer's FIN is what comes at `rcv_nxt`.
    #[must_use]
    pub fn fin_is_next(&self, rcv_nxt: Seq) -> bool {
        self.fin_place().is_some_and(|at| seq(at) == rcv_nxt)
    }

    /// Blocks to report, most recently changed first, at most `limit` (4, or 3 with timestamps). Where `dsack`, the
    /// duplicate not yet reported comes first (RFC 2883), and is then forgotten.
    ///
    /// A block that reaches the FIN covers it too, and a FIN behind a hole is a block of its own: it takes a sequence
    /// number (RFC 9293 section 3.4), and a sender that hears nothing of it does not know that what lies before it is
    /// lost.
    #[must_use]
    pub fn sack_blocks(&mut self, limit: usize, dsack: bool) -> SackBlocks {
        let duplicate = self.dsack.take().filter(|_| dsack);
        self.blocks(limit, duplicate)
    }

    /// The same with `duplicate` in front, and what is to be reported is so still.
    #[must_use]
    pub fn blocks(&self, limit: usize, duplicate: Option<SackBlock>) -> SackBlocks {
        let mut blocks = SackBlocks::EMPTY;
        if let Some(block) = duplicate.filter(|_| limit > 0) {
            blocks.push(block);
        }
        let room = limit - blocks.len();
        let fin = self.fin_place().filter(|at| *at > self.at);
        let told = self.latest.values().rev().filter_map(|&begins| {
            let end = self.islands.get(&begins).map(|island| island.end).or_else(|| fin.filter(|at| *at == begins))?;
            let with_fin = u32::from(fin == Some(end));
            Some(SackBlock { left: seq(begins), right: seq(end) + with_fin })
        });
        for block in told.take(room) {
            blocks.push(block);
        }
        blocks
    }

    /// For a caller that finds a duplicate itself, as of a segment wholly below RCV.NXT.
    pub const fn note_duplicate(&mut self, block: SackBlock) {
        self.dsack = Some(block);
    }

    /// The peer's FIN has come, perhaps ahead of its turn.
    #[must_use]
    pub const fn knows_fin(&self) -> bool {
        self.fin.is_some()
    }

    /// Nothing is queued, no FIN is known, and no duplicate is to be reported.
    #[must_use]
    pub fn has_nothing_to_tell(&self) -> bool {
        self.islands.is_empty() && self.fin.is_none() && self.dsack.is_none()
    }

    /// Nothing is queued; a FIN may be known all the same.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.islands.is_empty()
    }

    /// Octets queued.
    #[must_use]
    pub const fn octets(&self) -> usize {
        self.octets
    }

    /// Pieces queued: what [`Limits::pieces`] bounds.
    #[must_use]
    pub const fn pieces(&self) -> usize {
        self.pieces
    }

    /// What all of it takes, about, in octets: small pieces take more than they bring.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.octets.max(self.pieces * OVERHEAD)
    }
}

/// Only the first duplicate of a segment is reported (RFC 2883 section 4.2).
fn note(duplicate: &mut Option<SackBlock>, left: ExtendedSeq, right: ExtendedSeq) {
    if left != right {
        duplicate.get_or_insert(SackBlock { left: seq(left), right: seq(right) });
    }
}

#[cfg(test)]
mod tests;
