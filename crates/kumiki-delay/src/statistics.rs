//! What has crossed, and how long it took.
//!
//! | | |
//! |---|---|
//! | Times | least, mean and greatest exactly; quantiles from a histogram whose boxes are a thousandth wide |
//! | Measured | from when a unit came to when the device at the other end had taken it |
//! | Intended | from when it came to when the settings let it leave |
//! | Late | the difference of the two, unit by unit |
//! | A super-segment | counts as the packets that it is, which came and left together |

use core::fmt::Write as _;

use kumiki_graph::{Duration, Instant};
use kumiki_link::{Backlog, offload};
use kumiki_octets::Message;
use kumiki_octets::text::counted;
use serde_json::{Value, json};

use super::path::Ticket;
use kumiki_config::quantity::Octets;

/// Boxes for each power of two: values up to this are exact, and greater ones to a part in so many.
const BOXES: usize = 1024;

/// Times as they come, and a few figures of all of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Times {
    /// Grows with the greatest.
    boxes: Vec<u64>,
    count: u64,
    sum: u128,
    least: u64,
    most: u64,
}

impl Times {
    /// So many more, which took the same time.
    pub fn add(&mut self, time: Duration, how_many: u64) {
        if how_many == 0 {
            return;
        }
        let ns = time.as_nanos();
        let number = number_of(ns);
        if self.boxes.len() <= number {
            self.boxes.resize(number + 1, 0);
        }
        if let Some(count) = self.boxes.get_mut(number) {
            *count += how_many;
        }
        self.least = if self.count == 0 { ns } else { self.least.min(ns) };
        self.most = self.most.max(ns);
        self.count += how_many;
        self.sum += u128::from(ns) * u128::from(how_many);
    }

    /// How many there were.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Of all; nothing where there were none.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let mean = self.sum / u128::from(self.count.max(1));
        Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX))
    }

    /// The least.
    #[must_use]
    pub const fn least(&self) -> Duration {
        Duration::from_nanos(self.least)
    }

    /// The greatest.
    #[must_use]
    pub const fn most(&self) -> Duration {
        Duration::from_nanos(self.most)
    }

    /// The least time that `per_mille` of a thousand do not exceed, a thousandth of itself too great at most.
    #[must_use]
    pub fn quantile(&self, per_mille: u64) -> Duration {
        let wanted = u128::from(self.count) * u128::from(per_mille.min(1000));
        let mut seen = 0_u128;
        for (number, count) in self.boxes.iter().enumerate() {
            seen += u128::from(*count);
            if *count > 0 && seen * 1000 >= wanted {
                return Duration::from_nanos(last_of(number).clamp(self.least, self.most));
            }
        }
        self.most()
    }

    /// Least, mean, 99 % and greatest, in milliseconds.
    #[must_use]
    pub fn text(&self) -> String {
        let [min, mean, p99, max] = self.four().map(milliseconds);
        format!("min {min}  mean {mean}  p99 {p99}  max {max} ms")
    }

    fn json(&self) -> Value {
        let [min, mean, p99, max] = self.four().map(|time| time.as_secs_f64() * 1e3);
        json!({ "min_ms": min, "mean_ms": mean, "p99_ms": p99, "max_ms": max })
    }

    fn four(&self) -> [Duration; 4] {
        [self.least(), self.mean(), self.quantile(990), self.most()]
    }
}

/// As `20.013`, to the microsecond.
fn milliseconds(time: Duration) -> String {
    let us = time.as_nanos() / 1000;
    format!("{}.{:03}", us / 1000, us % 1000)
}

/// The box of a value: the first `BOXES` hold one each; from there on each power of two is divided into `BOXES`.
fn number_of(ns: u64) -> usize {
    let power = ns.checked_ilog2().unwrap_or(0).saturating_sub(BOXES.ilog2());
    let within = usize::try_from(ns >> power).unwrap_or(usize::MAX);
    let before = usize::try_from(power).unwrap_or(0) * BOXES;
    before.saturating_add(within)
}

/// The greatest value of the box `number`.
fn last_of(number: usize) -> u64 {
    let power = (number / BOXES).saturating_sub(1);
    let within = u64::try_from(number - power * BOXES).unwrap_or(u64::MAX);
    let power = u32::try_from(power).unwrap_or(0);
    ((u128::from(within) + 1) << power).saturating_sub(1).try_into().unwrap_or(u64::MAX)
}

/// What the elements of a direction have counted.
#[derive(Clone, Copy, Debug, Default)]
struct Elements {
    dropped: u64,
    marked: u64,
    lost: u64,
    duplicated: u64,
    corrupted: u64,
    held: u64,
}

type Counters = [(&'static str, u64)];

impl Elements {
    fn of(port: usize, line: &Counters, impaired: &Counters) -> Self {
        let of = |counters: &Counters, name: [&str; 2]| {
            let [a, b] = name;
            let name = if port == 0 { a } else { b };
            let found = counters.iter().find(|(counter, _)| *counter == name);
            found.map_or(0, |(_, count)| *count)
        };
        Self {
            dropped: of(line, ["a_drops", "b_drops"]),
            marked: of(line, ["a_marks", "b_marks"]),
            lost: of(impaired, ["a_lost", "b_lost"]),
            duplicated: of(impaired, ["a_duplicated", "b_duplicated"]),
            corrupted: of(impaired, ["a_corrupted", "b_corrupted"]),
            held: of(impaired, ["a_held", "b_held"]),
        }
    }

    const fn since(self, before: Self) -> Self {
        Self {
            dropped: self.dropped.saturating_sub(before.dropped),
            marked: self.marked.saturating_sub(before.marked),
            lost: self.lost.saturating_sub(before.lost),
            duplicated: self.duplicated.saturating_sub(before.duplicated),
            corrupted: self.corrupted.saturating_sub(before.corrupted),
            held: self.held.saturating_sub(before.held),
        }
    }
}

/// What one direction counts beside its elements.
#[derive(Debug, Default)]
pub struct Direction {
    before: Elements,
    came: (u64, u64),
    went: (u64, u64),
    longest_queue: (u64, u64),
    /// Units dropped because too many were in flight.
    pub(super) no_room: u64,
    /// Units that the device at the other end would not have.
    pub refused: u64,
    /// Units dropped because too many waited for that device.
    pub overflowed: u64,
    reordered: u64,
    /// One more than the number of the last unit that left in order.
    next: u64,
    measured: Times,
    intended: Times,
    late: Times,
}

impl Direction {
    pub(super) fn came(&mut self, unit: &Message) {
        self.came.0 += offload::packets(unit) as u64;
        self.came.1 += offload::octets(unit) as u64;
    }

    pub(super) fn waits(&mut self, backlog: Backlog) {
        let (frames, octets) = &mut self.longest_queue;
        *frames = (*frames).max(backlog.frames);
        *octets = (*octets).max(backlog.octets);
    }

    /// The device at the other end has taken a unit, and that was at `at`.
    pub fn went(&mut self, unit: &Ticket, at: Instant) {
        let Ticket { came, due, number, packets, octets } = *unit;
        self.went.0 += packets;
        self.went.1 += octets;
        let end = number + packets;
        if end < self.next {
            self.reordered += packets;
        }
        self.next = self.next.max(end);
        self.measured.add(at.saturating_since(came), packets);
        self.intended.add(due.saturating_since(came), packets);
        self.late.add(at.saturating_since(due), packets);
    }

    /// Counts from nothing again.
    pub(super) fn reset(&mut self, port: usize, line: &Counters, impaired: &Counters) {
        *self = Self { before: Elements::of(port, line, impaired), next: self.next, ..Self::default() };
    }

    pub(super) fn statistics(
        &self,
        port: usize,
        line: &Counters,
        impaired: &Counters,
        queue: Backlog,
        in_flight: usize,
    ) -> Statistics {
        let elements = Elements::of(port, line, impaired).since(self.before);
        Statistics {
            packets_in: self.came.0,
            octets_in: self.came.1,
            packets_out: self.went.0,
            octets_out: self.went.1,
            dropped: elements.dropped,
            marked: elements.marked,
            lost: elements.lost,
            duplicated: elements.duplicated,
            corrupted: elements.corrupted,
            held: elements.held,
            reordered: self.reordered,
            no_room: self.no_room,
            refused: self.refused,
            overflowed: self.overflowed,
            queue: (queue.frames, queue.octets),
            longest_queue: self.longest_queue,
            in_flight: u64::try_from(in_flight).unwrap_or(u64::MAX),
            measured: self.measured.clone(),
            intended: self.intended.clone(),
            late: self.late.clone(),
        }
    }
}

/// What has crossed in one direction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Units that came.
    pub packets_in: u64,
    /// Their octets.
    pub octets_in: u64,
    /// Units that the other end has taken, copies too.
    pub packets_out: u64,
    /// Their octets.
    pub octets_out: u64,
    /// Units dropped by the queue of the line.
    pub dropped: u64,
    /// Units that it has marked for congestion instead.
    pub marked: u64,
    /// Units lost as the settings have it.
    pub lost: u64,
    /// Units that came twice as the settings have it.
    pub duplicated: u64,
    /// Units that got wrong bits.
    pub corrupted: u64,
    /// Units held back.
    pub held: u64,
    /// Units that left behind one that had come later.
    pub reordered: u64,
    /// Units dropped because too many were in flight.
    pub no_room: u64,
    /// Units that the device at the other end would not have: it was down, they were too long, or nobody is there yet.
    pub refused: u64,
    /// Units dropped because too many waited for that device.
    pub overflowed: u64,
    /// What waits for the line: units and octets.
    pub queue: (u64, u64),
    /// The most of each that has waited.
    pub longest_queue: (u64, u64),
    /// Units that have come and not left, those in the queue with them.
    pub in_flight: u64,
    /// From coming to having been taken.
    pub measured: Times,
    /// From coming to the time at which a unit was to leave.
    pub intended: Times,
    /// The difference of the two.
    pub late: Times,
}

impl Statistics {
    /// A few lines for people, the first beginning with `name`.
    #[must_use]
    pub fn text(&self, name: &str) -> String {
        let mut text = format!(
            "{name}  in {}, {}; out {}, {}; {} in flight\n",
            counted(self.packets_in, "packet"),
            Octets::new(self.octets_in),
            counted(self.packets_out, "packet"),
            Octets::new(self.octets_out),
            self.in_flight
        );
        let counts = [
            ("lost", self.lost),
            ("dropped by the queue", self.dropped),
            ("duplicated", self.duplicated),
            ("reordered", self.reordered),
            ("corrupted", self.corrupted),
        ];
        let counts = counts.map(|(what, count)| format!("{what} {count}"));
        let _ = writeln!(text, "     {}", counts.join(", "));
        let ours = [
            ("marked for congestion", self.marked),
            ("no room for", self.no_room),
            ("refused by the far end", self.refused),
            ("dropped for want of room there", self.overflowed),
        ];
        let ours: Vec<String> =
            ours.iter().filter(|(_, count)| *count > 0).map(|(what, count)| format!("{what} {count}")).collect();
        if !ours.is_empty() {
            let _ = writeln!(text, "     {}", ours.join(", "));
        }
        let (now, most) = (self.queue, self.longest_queue);
        let _ = writeln!(
            text,
            "     queue {}, {}; at most {}, {}",
            counted(now.0, "packet"),
            Octets::new(now.1),
            counted(most.0, "packet"),
            Octets::new(most.1)
        );
        if self.measured.count() > 0 {
            let _ = writeln!(text, "     delay measured  {}", self.measured.text());
            let _ = writeln!(text, "           intended  {}", self.intended.text());
            let _ = writeln!(text, "           late      {}", self.late.text());
        }
        text
    }

    /// The same for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let times = |times: &Times| {
            if times.count() > 0 { times.json() } else { Value::Null }
        };
        json!({
            "packets_in": self.packets_in,
            "octets_in": self.octets_in,
            "packets_out": self.packets_out,
            "octets_out": self.octets_out,
            "lost": self.lost,
            "dropped": self.dropped,
            "marked": self.marked,
            "duplicated": self.duplicated,
            "held": self.held,
            "reordered": self.reordered,
            "corrupted": self.corrupted,
            "no_room": self.no_room,
            "refused": self.refused,
            "overflowed": self.overflowed,
            "in_flight": self.in_flight,
            "queue_packets": self.queue.0,
            "queue_octets": self.queue.1,
            "queue_packets_max": self.longest_queue.0,
            "queue_octets_max": self.longest_queue.1,
            "delay_measured": times(&self.measured),
            "delay_intended": times(&self.intended),
            "late": times(&self.late),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_lies_in_its_box_and_boxes_follow_each_other() {
        let mut last = None;
        for power in 0..64 {
            for near in [-1_i64, 0, 1, 77] {
                let ns = (1_u64 << power).saturating_add_signed(near);
                let number = number_of(ns);
                let greatest = last_of(number);
                assert!(ns <= greatest, "{ns} {greatest}");
                assert!(greatest - ns <= ns / 1000, "{ns} {greatest}");
                assert!(number == 0 || last_of(number - 1) < ns, "{ns}");
                if near == 0 {
                    assert!(last.is_none_or(|last| last < number));
                    last = Some(number);
                }
            }
        }
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_times() {
        let mut times = Times::default();
        assert_eq!(times.quantile(990), Duration::ZERO);
        let mut all: Vec<u64> = (0..1000_u64).map(|n| n * n * 977 % 1_000_003).collect();
        for ns in &all {
            times.add(Duration::from_nanos(*ns), 1);
        }
        all.sort_unstable();
        for per_mille in [1, 10, 500, 990, 999, 1000] {
            let exact = all[per_mille - 1];
            let got = times.quantile(per_mille as u64).as_nanos();
            assert!(exact <= got && got - exact <= exact / 1000, "{exact} {got}");
        }
        assert_eq!(times.least().as_nanos(), all[0]);
        assert_eq!(times.most().as_nanos(), all[999]);
        let mean = all.iter().sum::<u64>() / 1000;
        assert_eq!(times.mean().as_nanos(), mean);
    }
}
