//! First in, first out.

use std::collections::VecDeque;

use kumiki_graph::Instant;

use super::lane::QueueTotals;
use super::{Discipline, Ledger, QueuedFrame};

/// First in, first out, and no more than so much waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DropTail {
    /// The most frames that wait.
    pub frames: u64,
    /// The most octets that wait, framing overhead not counted.
    pub octets: u64,
}

impl DropTail {
    /// Waiting room for everything.
    pub const UNLIMITED: Self = Self { frames: u64::MAX, octets: u64::MAX };

    /// Waiting room for `n` frames of any size.
    #[must_use]
    pub const fn frames(n: u64) -> Self {
        Self { frames: n, octets: u64::MAX }
    }

    /// Waiting room for `n` octets.
    #[must_use]
    pub const fn octets(n: u64) -> Self {
        Self { frames: u64::MAX, octets: n }
    }

    /// An empty queue with this room.
    #[must_use]
    pub fn queue(self) -> Box<dyn Discipline> {
        Box::new(Fifo::new(self, None))
    }

    /// Whether there is room for `octets` more in one more frame.
    pub(super) const fn has_room(&self, held: QueueTotals, octets: u64) -> bool {
        held.frames < self.frames && held.octets.saturating_add(octets) <= self.octets
    }
}

/// As [`DropTail`], and where so many frames wait those that come are marked, if they may be (RFC 3168 section 5).
/// Those that may not be marked wait until there is no room.
///
/// A step at the queue's present length, which is the simplest rule there is: no average (RED), no time
/// ([`super::Codel`]), and one threshold for ECT(0) and ECT(1), so that it is no queue for L4S.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MarkFrom {
    /// How much room there is.
    pub room: DropTail,
    /// From so many frames on that wait before it, a frame is marked.
    pub frames: u64,
}

impl MarkFrom {
    /// An empty queue with this room.
    #[must_use]
    pub fn queue(self) -> Box<dyn Discipline> {
        Box::new(Fifo::new(self.room, Some(self.frames)))
    }
}

/// A queue of [`DropTail`] or [`MarkFrom`].
#[derive(Debug)]
pub struct Fifo {
    room: DropTail,
    mark_from: Option<u64>,
    frames: VecDeque<QueuedFrame>,
    held: QueueTotals,
}

impl Fifo {
    fn new(room: DropTail, mark_from: Option<u64>) -> Self {
        Self { room, mark_from, frames: VecDeque::new(), held: QueueTotals::default() }
    }

    fn push(&mut self, frame: QueuedFrame) {
        self.held.add(frame.octets());
        self.frames.push_back(frame);
    }
}

impl Discipline for Fifo {
    fn enqueue(&mut self, _now: Instant, mut frame: QueuedFrame, busy: bool, ledger: &mut Ledger<'_>) {
        if busy && !self.room.has_room(self.held, frame.octets()) {
            ledger.drop(frame);
            return;
        }
        if busy && self.mark_from.is_some_and(|from| self.held.frames >= from) {
            ledger.mark(&mut frame);
        }
        self.push(frame);
    }

    fn dequeue(&mut self, _now: Instant, _ledger: &mut Ledger<'_>) -> Option<QueuedFrame> {
        let frame = self.frames.pop_front()?;
        self.held.remove(frame.octets());
        Some(frame)
    }

    fn pass(&mut self, _now: Instant, frame: QueuedFrame, _ledger: &mut Ledger<'_>) -> Option<QueuedFrame> {
        Some(frame)
    }

    fn frames(&self) -> u64 {
        self.held.frames
    }

    fn octets(&self) -> u64 {
        self.held.octets
    }

    fn take_all(&mut self) -> Vec<QueuedFrame> {
        self.held = QueueTotals::default();
        self.frames.drain(..).collect()
    }

    fn hold(&mut self, frames: Vec<QueuedFrame>) {
        for frame in frames {
            self.push(frame);
        }
    }
}
