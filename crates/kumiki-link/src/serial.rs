//! A point-to-point line: rate, queue and propagation, in both directions.
//!
//! | | |
//! |---|---|
//! | Model | a frame waits, is put on the line octet by octet with what frames it ([`Carrier`]), and has arrived when its last bit has |
//! | Left out | shared media, line errors ([`crate::Impaired`]); of SONET/SDH, all but the time of each octet of payload |

use std::collections::VecDeque;

use kumiki_graph::{Address, Duration, Instant};
use kumiki_octets::Message;

mod carrier;

pub use carrier::Carrier;

use crate::mark::mark;
use crate::{Backlog, Discipline, DropTail, Element, Outlet, Unit};
use carrier::Pace;

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

/// A frame that waits.
struct Waiting {
    since: Instant,
    number: u64,
    data: Message,
    address: Address,
}

/// A frame that is on the line or past it.
struct Flying {
    arrives: Instant,
    data: Message,
    address: Address,
}

/// The end of a frame on the line, for [`Unit::Sent`].
struct Leaving {
    at: Instant,
    number: u64,
    address: Address,
}

struct Direction {
    config: SerialConfig,
    discipline: Box<dyn Discipline>,
    queue: VecDeque<Waiting>,
    backlog: Backlog,
    flight: VecDeque<Flying>,
    leaving: VecDeque<Leaving>,
    pace: Pace,
    free_at: Instant,
    offered: u64,
    carried: u64,
    carried_octets: u64,
    dropped: u64,
    marked: u64,
    busy: Duration,
}

impl Direction {
    fn new(config: SerialConfig, discipline: Box<dyn Discipline>) -> Self {
        Self {
            config,
            discipline,
            queue: VecDeque::new(),
            backlog: Backlog::default(),
            flight: VecDeque::new(),
            leaving: VecDeque::new(),
            pace: Pace::default(),
            free_at: Instant::ZERO,
            offered: 0,
            carried: 0,
            carried_octets: 0,
            dropped: 0,
            marked: 0,
            busy: Duration::ZERO,
        }
    }

    fn refuse(&mut self, number: u64, address: Address, back: (usize, &mut Outlet)) {
        self.dropped += 1;
        let (port, out) = back;
        if self.config.say_sent {
            let whole = false;
            out.put(
                port,
                Unit::Sent {
                    number,
                    address,
                    whole,
                },
            );
        }
    }

    fn offer(
        &mut self,
        now: Instant,
        mut data: Message,
        address: Address,
        back: (usize, &mut Outlet),
    ) {
        let (port, out) = back;
        self.advance(now, (port, out));
        let number = self.offered;
        self.offered += 1;
        let octets = data.len() as u64;
        // At the very instant it falls free the line goes on without a gap.
        let idle = self.queue.is_empty() && now >= self.free_at;
        self.backlog.busy = !idle;
        if !self.discipline.admit(now, self.backlog, octets) {
            self.refuse(number, address, (port, out));
            return;
        }
        if self.discipline.marks(now, self.backlog) {
            self.marked += u64::from(mark(&mut data));
        }
        if idle {
            self.start(now, number, data, address);
        } else {
            self.backlog.frames += 1;
            self.backlog.octets += octets;
            self.queue.push_back(Waiting {
                since: now,
                number,
                data,
                address,
            });
        }
    }

    /// Puts a frame on the line, which is free at `at`.
    fn start(&mut self, at: Instant, number: u64, mut data: Message, address: Address) {
        let before = self.free_at.max(at);
        let octets = self.config.carrier.octets_of(&data);
        let gap = at > self.free_at;
        self.free_at = self.pace.carry(&self.config.carrier, at, gap, octets);
        self.busy += self.free_at.saturating_since(before);
        self.carried += 1;
        self.carried_octets += octets;
        data.set_lease(None);
        if self.config.say_sent {
            self.leaving.push_back(Leaving {
                at: self.free_at,
                number,
                address,
            });
        }
        self.flight.push_back(Flying {
            arrives: self.free_at + self.config.propagation,
            data,
            address,
        });
    }

    /// Lets waiting frames follow each other on the line up to `now`.
    fn advance(&mut self, now: Instant, back: (usize, &mut Outlet)) {
        let (port, out) = back;
        while self.free_at <= now {
            let Some(frame) = self.queue.pop_front() else {
                return;
            };
            self.backlog.frames -= 1;
            self.backlog.octets -= frame.data.len() as u64;
            let at = self.free_at.max(frame.since);
            let waited = at.saturating_since(frame.since);
            if self.discipline.release(at, waited, self.backlog) {
                self.start(at, frame.number, frame.data, frame.address);
            } else {
                self.refuse(frame.number, frame.address, (port, out));
            }
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let arrival = self.flight.front().map(|frame| frame.arrives);
        let leaving = self.leaving.front().map(|frame| frame.at);
        match (arrival, leaving) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// `from` is the port frames come in by.
    fn poll(&mut self, now: Instant, from: usize, out: &mut Outlet) {
        self.advance(now, (from, out));
        while let Some(frame) = self.leaving.pop_front_if(|frame| frame.at <= now) {
            let Leaving {
                number, address, ..
            } = frame;
            out.put(
                from,
                Unit::Sent {
                    number,
                    address,
                    whole: true,
                },
            );
        }
        while let Some(frame) = self.flight.pop_front_if(|frame| frame.arrives <= now) {
            let Flying { data, address, .. } = frame;
            out.put(1 - from, Unit::Frame { data, address });
        }
    }
}

/// A point-to-point line between port 0 and port 1, both directions at once.
///
/// Frames are serialised first, then propagate, and stay in order. Cells are refused: their lines have slots.
///
/// Counters, `a_` for frames from port 0 and `b_` for frames from port 1: `frames` and `octets` put on the line (octets
/// with overhead), `drops`, `marks` of congestion, `busy_ns` in which the line carries what has been put on it so far, and `strangers`, units
/// that are no frames.
pub struct Serial {
    directions: [Direction; 2],
    strangers: u64,
}

impl Serial {
    /// A line with a drop-tail queue of its own in each direction.
    #[must_use]
    pub fn new(config: SerialConfig, queue: DropTail) -> Self {
        Self::with_disciplines(config, Box::new(queue), Box::new(queue))
    }

    /// A line with the given queues, for frames from port 0 and for frames from port 1.
    #[must_use]
    pub fn with_disciplines(
        config: SerialConfig,
        from_0: Box<dyn Discipline>,
        from_1: Box<dyn Discipline>,
    ) -> Self {
        Self {
            directions: [
                Direction::new(config, from_0),
                Direction::new(config, from_1),
            ],
            strangers: 0,
        }
    }

    /// Makes the direction of frames from `port` (0, or else 1) unlike the other.
    pub fn set_config(&mut self, port: usize, config: SerialConfig) {
        let [from_0, from_1] = &mut self.directions;
        if port == 0 {
            from_0.config = config;
        } else {
            from_1.config = config;
        }
    }

    /// What waits to leave from `port` (0, or else 1).
    #[must_use]
    pub const fn backlog(&self, port: usize) -> Backlog {
        let [from_0, from_1] = &self.directions;
        if port == 0 {
            from_0.backlog
        } else {
            from_1.backlog
        }
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
            | Unit::Report(_) => self.strangers += 1,
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.directions
            .iter()
            .filter_map(Direction::next_deadline)
            .min()
    }

    fn poll(&mut self, now: Instant, out: &mut Outlet) {
        for (port, direction) in self.directions.iter_mut().enumerate() {
            direction.poll(now, port, out);
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let [a, b] = &self.directions;
        vec![
            ("a_frames", a.carried),
            ("a_octets", a.carried_octets),
            ("a_drops", a.dropped),
            ("a_marks", a.marked),
            ("a_busy_ns", a.busy.as_nanos()),
            ("b_frames", b.carried),
            ("b_octets", b.carried_octets),
            ("b_drops", b.dropped),
            ("b_marks", b.marked),
            ("b_busy_ns", b.busy.as_nanos()),
            ("strangers", self.strangers),
        ]
    }
}

#[cfg(test)]
mod tests;
