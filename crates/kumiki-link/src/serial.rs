//! A point-to-point line: rate, queue and propagation, in both directions.
//!
//! | | |
//! |---|---|
//! | Model | a frame waits, is put on the line octet by octet, or bit by bit, with what frames it ([`Carrier`]), and has arrived when its last bit has |
//! | Left out | shared media, line errors ([`crate::Impaired`]); of SONET/SDH, all but the time of each octet of payload ([`crate::sonet::Section`]) |

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use kumiki_graph::{Address, Duration, Instant};
use kumiki_octets::Message;

mod carrier;
mod recorded;
pub(crate) mod sending;

pub use carrier::Carrier;
pub use recorded::{Opportunities, OpportunityError};

use crate::{Backlog, Discipline, DropTail, Element, Occupancy, Outlet, Unit};
use sending::{Sending, Started};

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

/// A frame that is on the line or past it.
struct Flying {
    arrives: Instant,
    data: Message,
    address: Address,
}

struct Direction {
    sending: Sending,
    flight: VecDeque<Flying>,
}

impl Direction {
    fn new(config: SerialConfig, discipline: Box<dyn Discipline>) -> Self {
        Self { sending: Sending::new(config, discipline), flight: VecDeque::new() }
    }

    fn offer(&mut self, now: Instant, data: Message, address: Address, back: (usize, &mut Outlet)) {
        let Self { sending, flight } = self;
        let propagation = sending.config.propagation;
        sending.offer(now, data, address, back, &mut |started| {
            flight.push_back(Flying::of(started, propagation));
        });
    }

    fn next_deadline(&self) -> Option<Instant> {
        let arrival = self.flight.front().map(|frame| frame.arrives);
        let leaving = self.sending.next_leaving();
        match (arrival, leaving) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// `from` is the port frames come in by.
    fn poll(&mut self, now: Instant, from: usize, out: &mut Outlet) {
        let Self { sending, flight } = self;
        let propagation = sending.config.propagation;
        sending.advance(now, (from, out), &mut |started| {
            flight.push_back(Flying::of(started, propagation));
        });
        sending.leave(now, (from, out));
        while let Some(frame) = self.flight.pop_front_if(|frame| frame.arrives <= now) {
            let Flying { data, address, .. } = frame;
            out.put(1 - from, Unit::Frame { data, address });
        }
    }
}

impl Flying {
    fn of(started: Started, propagation: Duration) -> Self {
        Self { arrives: started.ends + propagation, data: started.data, address: started.address }
    }
}

/// A point-to-point line between port 0 and port 1, both directions at once.
///
/// Frames are serialised first, then propagate, and stay in order. Cells are refused: their lines have slots.
///
/// Counters, `a_` for frames from port 0 and `b_` for frames from port 1: `frames` and `octets` put on the line (octets
/// with overhead), `drops`, `marks` of congestion, `busy_ns` in which the line carries what has been put on it so far, what the discipline
/// counts beside these, and `strangers`, units that are no frames; and `group_drops` where [`Serial::count_groups`] asks for it.
pub struct Serial {
    directions: [Direction; 2],
    strangers: u64,
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
        Self { directions: [Direction::new(config, from_0), Direction::new(config, from_1)], strangers: 0 }
    }

    /// A line that delivers at the times of a recording instead of at a rate: for frames from port 0 and for frames from port 1. Of the
    /// carrier of `config` only what it adds to each frame counts; a plain one is meant.
    #[must_use]
    pub fn recorded(config: SerialConfig, times: [Arc<Opportunities>; 2], queues: [Box<dyn Discipline>; 2]) -> Self {
        let [from_0, from_1] = queues;
        let mut line = Self::with_disciplines(config, from_0, from_1);
        for (direction, times) in line.directions.iter_mut().zip(times) {
            direction.sending.follow(times);
        }
        line
    }

    /// Says that frames from `port` (0, or else 1) are Ethernet's: of those that are given up, the ones to groups of stations are counted apart (`group_drops`).
    pub const fn count_groups(&mut self, port: usize) {
        let [from_0, from_1] = &mut self.directions;
        let direction = if port == 0 { from_0 } else { from_1 };
        direction.sending.count_groups();
    }

    /// Lets frames from `port` (0, or else 1) be delivered at the times of a recording from here on, as [`Serial::recorded`] does.
    pub fn follow(&mut self, port: usize, times: Arc<Opportunities>) {
        let [from_0, from_1] = &mut self.directions;
        let direction = if port == 0 { from_0 } else { from_1 };
        direction.sending.follow(times);
    }

    /// Lets frames from `port` (0, or else 1) go at the carrier's rate again.
    pub fn follow_none(&mut self, port: usize) {
        let [from_0, from_1] = &mut self.directions;
        let direction = if port == 0 { from_0 } else { from_1 };
        direction.sending.follow_none();
    }

    /// Lets no frame from `port` (0, or else 1) begin before `until`. The one that is on the line goes on.
    pub fn hold(&mut self, port: usize, until: Instant) {
        let [from_0, from_1] = &mut self.directions;
        let direction = if port == 0 { from_0 } else { from_1 };
        direction.sending.hold(until);
    }

    /// Makes the direction of frames from `port` (0, or else 1) like this from here on.
    ///
    /// While frames are under way: poll first. The frame on the line and those past it keep their times; those that wait go on the
    /// line behind it as `config` has it.
    pub fn set_config(&mut self, port: usize, config: SerialConfig) {
        let [from_0, from_1] = &mut self.directions;
        let direction = if port == 0 { from_0 } else { from_1 };
        direction.sending.set_config(config);
    }

    /// What the direction of frames from `port` (0, or else 1) is like.
    #[must_use]
    pub const fn config(&self, port: usize) -> SerialConfig {
        let [from_0, from_1] = &self.directions;
        if port == 0 { from_0.sending.config } else { from_1.sending.config }
    }

    /// Gives the direction of frames from `port` (0, or else 1) another queue. What waits stays, whatever the limits of `discipline` are.
    pub fn set_discipline(&mut self, port: usize, discipline: Box<dyn Discipline>) {
        let [from_0, from_1] = &mut self.directions;
        let direction = if port == 0 { from_0 } else { from_1 };
        direction.sending.set_discipline(discipline);
    }

    /// What waits to leave from `port` (0, or else 1).
    #[must_use]
    pub fn backlog(&self, port: usize) -> Backlog {
        let [from_0, from_1] = &self.directions;
        if port == 0 { from_0.sending.backlog() } else { from_1.sending.backlog() }
    }
}

impl Element for Serial {
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        let [from_0, from_1] = &mut self.directions;
        let direction = if port == 0 { from_0 } else { from_1 };
        match unit {
            Unit::Frame { data, address } => direction.offer(now, data, address, (port, out)),
            Unit::Cells(_)
            | Unit::Cut { .. }
            | Unit::Sent { .. }
            | Unit::Arriving { .. }
            | Unit::Report(_)
            | Unit::Circuit(_) => self.strangers += 1,
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.directions.iter().filter_map(Direction::next_deadline).min()
    }

    fn poll(&mut self, now: Instant, out: &mut Outlet) {
        for (port, direction) in self.directions.iter_mut().enumerate() {
            direction.poll(now, port, out);
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let [a, b] = self.directions.each_ref().map(|one| one.sending.tally());
        let mut all = vec![
            ("a_frames", a.frames),
            ("a_octets", a.octets),
            ("a_drops", a.drops),
            ("a_marks", a.marks),
            ("a_busy_ns", a.busy.as_nanos()),
            ("b_frames", b.frames),
            ("b_octets", b.octets),
            ("b_drops", b.drops),
            ("b_marks", b.marks),
            ("b_busy_ns", b.busy.as_nanos()),
            ("strangers", self.strangers),
        ];
        let own = self.directions.iter().enumerate().flat_map(|(end, one)| one.sending.counters(end));
        all.extend(own);
        let groups = ["a_group_drops", "b_group_drops"].into_iter().zip([a, b]).zip(&self.directions);
        let groups = groups.filter(|(_, direction)| direction.sending.has_groups());
        all.extend(groups.map(|((name, tally), _)| (name, tally.group_drops)));
        all
    }

    fn queues(&self, now: Instant) -> Vec<(Cow<'static, str>, Occupancy)> {
        let [a, b] = self.directions.each_ref().map(|one| one.sending.occupancy(now));
        vec![("a".into(), a), ("b".into(), b)]
    }
}

#[cfg(test)]
mod tests;
