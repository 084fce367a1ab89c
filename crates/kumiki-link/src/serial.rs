//! A point-to-point line: rate, queue and propagation, in both directions.
//!
//! | | |
//! |---|---|
//! | Model | a frame waits, is put on the line octet by octet, or bit by bit, with what frames it ([`Carrier`]), and has arrived when its last bit has |
//! | Left out | shared media, line errors ([`crate::Impaired`]); of SONET/SDH, all but the time of each octet of payload ([`crate::sonet::Section`]) |

use std::borrow::Cow;
use std::sync::Arc;

use kumiki_graph::{Duration, Instant};

mod carrier;
mod end;
mod recorded;
pub(crate) mod sending;

pub use carrier::Carrier;
pub use end::LineEnd;
pub use recorded::{Opportunities, OpportunityError};

use crate::{Backlog, BusyWatch, Discipline, DropTail, Element, Occupancy, Outlet, Unit};

/// What a [`Serial`] line is like, the same in both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SerialConfig {
    /// How many octets a frame takes, and when they are on the line.
    pub carrier: Carrier,
    /// From end to end.
    pub propagation: Duration,
    /// Whether [`Unit::Sent`] is said back by the port a frame came in by, when its last bit has left.
    pub say_sent: bool,
}

/// A point-to-point line between port 0 and port 1, both directions at once.
///
/// Frames are serialised first, then propagate, and stay in order. Cells are refused: their lines have slots.
///
/// Counters, `a_` for frames from port 0 and `b_` for frames from port 1: `frames` and `octets` put on the line (octets
/// with overhead), `drops`, `marks` of congestion, `busy_ns` in which the line carries what has been put on it so far,
/// what the discipline counts beside these, and `strangers`, units that are no frames; and `group_drops` where
/// [`Serial::count_groups`] asks for it.
pub struct Serial {
    ends: [LineEnd; 2],
}

impl Serial {
    /// A line with a drop-tail queue of its own in each direction.
    #[must_use]
    pub fn new(config: SerialConfig, queue: DropTail) -> Self {
        Self::with_disciplines(config, queue.queue(), queue.queue())
    }

    /// A line with the given queues, for frames from port 0 and for frames from port 1.
    #[must_use]
    pub fn with_disciplines(config: SerialConfig, from_0: Box<dyn Discipline>, from_1: Box<dyn Discipline>) -> Self {
        Self { ends: [LineEnd::new(0, config, from_0), LineEnd::new(1, config, from_1)] }
    }

    /// A line that delivers at the times of a recording instead of at a rate: for frames from port 0 and for frames
    /// from port 1. Of the carrier of `config` only what it adds to each frame counts; a plain one is meant.
    #[must_use]
    pub fn recorded(config: SerialConfig, times: [Arc<Opportunities>; 2], queues: [Box<dyn Discipline>; 2]) -> Self {
        let [from_0, from_1] = queues;
        let mut line = Self::with_disciplines(config, from_0, from_1);
        for (end, times) in line.ends.iter_mut().zip(times) {
            end.sending.follow(times);
        }
        line
    }

    /// Says that frames from `port` (0, or else 1) are Ethernet's: of those that are given up, the ones to groups of
    /// stations are counted apart (`group_drops`).
    pub const fn count_groups(&mut self, port: usize) {
        self.end_mut(port).sending.count_groups();
    }

    /// Lets frames from `port` (0, or else 1) be delivered at the times of a recording from here on, as
    /// [`Serial::recorded`] does.
    pub fn follow(&mut self, port: usize, times: Arc<Opportunities>) {
        self.end_mut(port).sending.follow(times);
    }

    /// Lets frames from `port` (0, or else 1) go at the carrier's rate again.
    pub fn follow_none(&mut self, port: usize) {
        self.end_mut(port).sending.follow_none();
    }

    /// Lets no frame from `port` (0, or else 1) begin before `until`. The one that is on the line goes on.
    pub fn hold(&mut self, port: usize, until: Instant) {
        self.end_mut(port).sending.hold(until);
    }

    /// Makes the direction of frames from `port` (0, or else 1) like this from here on.
    ///
    /// While frames are in flight: poll first. The frame on the line and those past it keep their times; those that
    /// wait go on the line behind it as `config` has it.
    pub fn set_config(&mut self, port: usize, config: SerialConfig) {
        self.end_mut(port).sending.set_config(config);
    }

    /// What the direction of frames from `port` (0, or else 1) is like.
    #[must_use]
    pub const fn config(&self, port: usize) -> SerialConfig {
        self.end(port).sending.config
    }

    /// Gives the direction of frames from `port` (0, or else 1) another queue. What waits stays, whatever the limits of
    /// `discipline` are.
    pub fn set_discipline(&mut self, port: usize, discipline: Box<dyn Discipline>) {
        self.end_mut(port).sending.set_discipline(discipline);
    }

    /// What waits to leave from `port` (0, or else 1).
    #[must_use]
    pub fn backlog(&self, port: usize) -> Backlog {
        self.end(port).sending.backlog()
    }

    const fn end(&self, port: usize) -> &LineEnd {
        let [end_0, end_1] = &self.ends;
        if port == 0 { end_0 } else { end_1 }
    }

    const fn end_mut(&mut self, port: usize) -> &mut LineEnd {
        let [end_0, end_1] = &mut self.ends;
        if port == 0 { end_0 } else { end_1 }
    }
}

impl Element for Serial {
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        let [end_0, end_1] = &mut self.ends;
        let (near, far) = if port == 0 { (end_0, end_1) } else { (end_1, end_0) };
        near.offer_to(now, unit, out, &mut far.arriving);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.ends.iter().filter_map(LineEnd::next_deadline).min()
    }

    fn poll(&mut self, now: Instant, out: &mut Outlet) {
        let [end_0, end_1] = &mut self.ends;
        end_0.advance_to(now, out, &mut end_1.arriving);
        end_1.advance_to(now, out, &mut end_0.arriving);
        // What an end does is in the order of `LineEnd`, which does it alone elsewhere.
        end_0.leave(now, out);
        end_1.arrive(now, out);
        end_1.leave(now, out);
        end_0.arrive(now, out);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        LineEnd::counters_of(self.ends.each_ref())
    }

    fn watch_busy(&mut self, port: usize, watch: BusyWatch) -> bool {
        self.end_mut(port).sending.watch(watch);
        true
    }

    fn queues(&self, now: Instant) -> Vec<(Cow<'static, str>, Occupancy)> {
        LineEnd::queues_of(self.ends.each_ref(), now)
    }

    fn is_line(&self) -> bool {
        true
    }

    fn has_waiting(&self) -> bool {
        self.ends.iter().any(LineEnd::has_waiting)
    }

    fn look_ahead(&self) -> Option<Duration> {
        self.ends.iter().filter_map(LineEnd::look_ahead).min()
    }

    fn take_ends(&mut self) -> Option<[LineEnd; 2]> {
        let hollow = |end: &LineEnd| LineEnd::new(end.port, end.sending.config, DropTail::UNLIMITED.queue());
        let hollow = self.ends.each_ref().map(hollow);
        Some(core::mem::replace(&mut self.ends, hollow))
    }

    fn join_ends(&mut self, ends: [LineEnd; 2]) {
        self.ends = ends;
        let [end_0, end_1] = &mut self.ends;
        end_0.carry(end_1);
        end_1.carry(end_0);
    }
}

#[cfg(test)]
mod tests;
