//! Queue disciplines: which frames wait, in which order they leave, and which do not.
//!
//! | read | for |
//! |---|---|
//! | `fifo.rs` | first in, first out: [`DropTail`], [`MarkFrom`] |
//! | `codel.rs` | [`Codel`] (RFC 8289): by how long frames have waited |
//! | `fq_codel.rs` | [`FqCodel`] (RFC 8290): a queue for each flow, and `CoDel` in each |
//! | `pie.rs` | [`Pie`] (RFC 8033): by chance, which a controller sets |
//! | `lane.rs` | frames that wait one behind the other, and what all of them hold |
//!
//! A discipline holds what waits. The end of a line tells it what comes and asks it for what goes; what the discipline
//! gives up on the way, or marks, it enters into a [`Ledger`].

use kumiki_graph::{Address, Instant};
use kumiki_octets::Message;

mod codel;
mod fifo;
mod fq_codel;
mod lane;
mod pie;
#[cfg(test)]
pub(crate) mod testing;

use crate::mark::{Mark, mark_or_find};
use crate::{Outlet, Unit};
pub use codel::{Codel, CodelConfig};
pub use fifo::{DropTail, Fifo, MarkFrom};
pub use fq_codel::{FqCodel, FqCodelConfig};
pub use pie::{Pie, PieConfig};

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

/// A frame that waits.
#[derive(Debug)]
pub struct QueuedFrame {
    /// Since when.
    pub since: Instant,
    /// Its number among those offered, from 0.
    pub number: u64,
    /// The frame.
    pub data: Message,
    /// What was offered with it.
    pub address: Address,
}

impl QueuedFrame {
    /// Octets of the frame, framing overhead not counted.
    #[must_use]
    pub fn octets(&self) -> u64 {
        self.data.len() as u64
    }
}

/// Where a discipline enters the frames that it gives up and those that it marks.
#[derive(Debug)]
pub struct Ledger<'a> {
    drops: &'a mut u64,
    marks: &'a mut u64,
    told: Option<(usize, &'a mut Outlet)>,
    groups: Option<&'a mut u64>,
}

impl<'a> Ledger<'a> {
    /// A ledger that counts in `drops` and `marks`, and says by the port of `told` which frames are not sent
    /// ([`Unit::Sent`]).
    pub const fn new(drops: &'a mut u64, marks: &'a mut u64, told: Option<(usize, &'a mut Outlet)>) -> Self {
        Self { drops, marks, told, groups: None }
    }

    /// The same, of frames of Ethernet, of which those to groups of stations that are given up are counted in `groups`,
    /// too.
    #[must_use]
    pub fn with_groups(self, groups: Option<&'a mut u64>) -> Self {
        Self { groups, ..self }
    }

    /// `frame` is given up.
    pub fn drop(&mut self, frame: QueuedFrame) {
        *self.drops += 1;
        if let Some(groups) = &mut self.groups {
            // IEEE 802.3 section 3.2.3: the first bit of the destination, which is the lowest of its octet.
            let mut first = [0];
            **groups += u64::from(frame.data.copy_to(0, &mut first) && first[0] & 1 == 1);
        }
        if let Some((port, out)) = &mut self.told {
            let QueuedFrame { number, address, .. } = frame;
            out.put(*port, Unit::Sent { number, address, whole: false });
        }
    }

    /// Marks `frame` for congestion (RFC 3168 section 5). True where it carries a mark now: its sender allows it, or it
    /// had come with one.
    pub fn mark(&mut self, frame: &mut QueuedFrame) -> bool {
        let mark = mark_or_find(&mut frame.data);
        *self.marks += u64::from(mark == Mark::Made);
        mark != Mark::Refused
    }
}

/// One thing that a discipline counts beside drops and marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    /// Its name by itself, and of a line's ends, with `a_` and `b_` in front.
    pub names: [&'static str; 3],
    /// So many.
    pub value: u64,
}

/// A counter by its name.
macro_rules! counter {
    ($name:literal, $value:expr) => {
        $crate::Counter { names: [$name, concat!("a_", $name), concat!("b_", $name)], value: $value }
    };
}
use counter;

/// Holds the frames that wait at the end of a line, and decides about them.
pub trait Discipline: Send {
    /// `frame` comes at `now`. Where the line is not `busy` there is room for it whatever the limits are, for it goes
    /// at once (on a ring, with the next token).
    fn enqueue(&mut self, now: Instant, frame: QueuedFrame, busy: bool, ledger: &mut Ledger<'_>);

    /// The line is free at `now`: the frame that goes on it, unless nothing waits or all that does is given up.
    fn dequeue(&mut self, now: Instant, ledger: &mut Ledger<'_>) -> Option<QueuedFrame>;

    /// `frame` comes where nothing waits and the line is free: the frame, unless it is given up. Nothing waits
    /// afterwards.
    fn pass(&mut self, now: Instant, frame: QueuedFrame, ledger: &mut Ledger<'_>) -> Option<QueuedFrame> {
        // The line had fallen free, and nothing waited then.
        let none = self.dequeue(now, ledger);
        debug_assert!(none.is_none(), "something waited while the line was free");
        self.enqueue(now, frame, false, ledger);
        self.dequeue(now, ledger)
    }

    /// How many frames wait.
    fn frames(&self) -> u64;

    /// Octets of all frames that wait, framing overhead not counted.
    fn octets(&self) -> u64;

    /// Gives all that waits away, for another discipline to hold; in the order in which it came.
    fn take_all(&mut self) -> Vec<QueuedFrame>;

    /// Holds `frames` of another discipline, whatever the limits are.
    fn hold(&mut self, frames: Vec<QueuedFrame>);

    /// What it counts beside drops and marks.
    fn counters(&self) -> Vec<Counter> {
        Vec::new()
    }
}
