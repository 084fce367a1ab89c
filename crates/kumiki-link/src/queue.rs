//! Queue disciplines: which frames wait, and which do not.

use kumiki_graph::{Duration, Instant};

/// What waits in a queue. The frame on the line is not in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// Whether a frame is on the line.
    pub busy: bool,
    /// Frames.
    pub frames: u64,
    /// Octets, framing overhead not counted.
    pub octets: u64,
}

/// Decides about frames on their way into a queue and out of it.
pub trait Discipline: Send {
    /// Whether a frame of `octets` may join the queue, which holds `backlog` without it.
    ///
    /// A frame that finds the line free is asked about too: it will not wait.
    fn admit(&mut self, now: Instant, backlog: Backlog, octets: u64) -> bool;

    /// Whether a frame that joins the queue is marked for congestion, if its sender says that it may be.
    fn marks(&mut self, now: Instant, backlog: Backlog) -> bool {
        let _ = (now, backlog);
        false
    }

    /// Whether the frame at the head, which has waited for `waited`, goes on the line; otherwise it is thrown away.
    /// `backlog` does not count it.
    fn release(&mut self, now: Instant, waited: Duration, backlog: Backlog) -> bool {
        let _ = (now, waited, backlog);
        true
    }
}

/// As [`DropTail`], and where so many frames wait those that come are marked, if they may be (RFC 3168 section 5). Those that
/// may not be marked wait until there is no room.
///
/// A step at the queue's present length, which is the simplest rule there is: no average (RED), no time (CoDel), and one
/// threshold for ECT(0) and ECT(1), so that it is no queue for L4S.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MarkFrom {
    /// How much room there is.
    pub room: DropTail,
    /// From so many frames on that wait before it, a frame is marked.
    pub frames: u64,
}

impl Discipline for MarkFrom {
    fn admit(&mut self, now: Instant, backlog: Backlog, octets: u64) -> bool {
        self.room.admit(now, backlog, octets)
    }

    fn marks(&mut self, _now: Instant, backlog: Backlog) -> bool {
        backlog.busy && backlog.frames >= self.frames
    }
}

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
}

impl Discipline for DropTail {
    fn admit(&mut self, _now: Instant, backlog: Backlog, octets: u64) -> bool {
        !backlog.busy || backlog.frames < self.frames && backlog.octets.saturating_add(octets) <= self.octets
    }
}
