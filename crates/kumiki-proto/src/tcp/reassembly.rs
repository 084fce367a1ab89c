//! What arrived ahead of its turn: the receive side's out-of-order queue.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 9293 section 3.10.7.4 (SHLD-31), RFC 2018 sections 3 and 4 (blocks), RFC 2883 (D-SACK) |
//! | The caller's part | acceptability, RCV.NXT, delivery, and when to acknowledge |
//! | Left out | taking back what was queued (RFC 2018 section 8 allows it): what a block reported stays |
//!
//! Segments that touch form an *island*; islands neither touch nor overlap. Of overlapping octets the first to arrive
//! stay, so that nobody can replace octets that a block has already reported.

use std::collections::VecDeque;

use kumiki_octets::Message;
use kumiki_wire::tcp::{SackBlock, SackBlocks, Seq};

/// How much a queue may hold. What touches RCV.NXT is taken in any case, since refusing that could stop a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Octets.
    pub octets: usize,
    /// Segments, or pieces of segments.
    pub pieces: usize,
}

impl Default for Limits {
    /// 16 MiB in 16,384 pieces.
    fn default() -> Self {
        Self {
            octets: 16 << 20,
            pieces: 16_384,
        }
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
    /// It would have passed the [`Limits`] and was dropped.
    Full,
}

/// Octets `start..end` without a hole.
#[derive(Debug)]
struct Island {
    start: Seq,
    end: Seq,
    /// In order, none empty.
    parts: VecDeque<Message>,
    /// Larger is more recent.
    changed: u64,
}

/// The queue of one connection.
#[derive(Debug)]
pub struct Reassembly {
    limits: Limits,
    /// In order of sequence numbers.
    islands: Vec<Island>,
    /// Sequence number of the peer's FIN.
    fin: Option<Seq>,
    octets: usize,
    pieces: usize,
    changes: u64,
    dsack: Option<SackBlock>,
}

#[expect(clippy::todo, unused_variables, reason = "interface first")]
impl Reassembly {
    /// An empty queue.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        todo!()
    }
    /// A segment's text, trimmed here to the window of `window` octets from `rcv_nxt` on; `fin`: a FIN follows it.
    pub fn insert(
        &mut self,
        rcv_nxt: Seq,
        window: u32,
        seq: Seq,
        text: Message,
        fin: bool,
    ) -> Inserted {
        todo!()
    }
    /// The octets from `rcv_nxt` on, as they came in one segment; call again with `rcv_nxt` advanced by its length.
    pub fn pop_in_order(&mut self, rcv_nxt: Seq) -> Option<Message> {
        todo!()
    }
    /// The peer's FIN is what comes at `rcv_nxt`.
    #[must_use]
    pub fn fin_is_next(&self, rcv_nxt: Seq) -> bool {
        todo!()
    }
    /// Blocks to report, most recently changed first, at most `limit` (4, or 3 with timestamps). Where `dsack`, the
    /// duplicate not yet reported comes first (RFC 2883), and is then forgotten.
    #[must_use]
    pub fn sack_blocks(&mut self, limit: usize, dsack: bool) -> SackBlocks {
        todo!()
    }
    /// For a caller that finds a duplicate itself, as of a segment wholly below RCV.NXT.
    pub fn note_duplicate(&mut self, block: SackBlock) {
        todo!()
    }
    /// Nothing is queued.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        todo!()
    }
    /// Octets queued.
    #[must_use]
    pub fn octets(&self) -> usize {
        todo!()
    }
}
