//! When the lines of a load stood idle, and what held its transfers or calls then: that is what its goodput lacks.
//!
//! | | |
//! |---|---|
//! | Specification | none |
//! | Of which loads | those with an end of their own: of several flows the last may go on for long after the others, and of one a line carries nothing at the beginning and the end |
//! | Counts | the time in which no line on the way of a flow was busy; each moment in equal parts for the flows that were there, whatever held them. So a few that wait while all others are through count as much as many did before |
//! | Left out | when within an interval a line was busy: an interval is 1 ms at first, and never more than a five-hundredth of the time so far |

use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::{Duration, Instant};
use kumiki_inet::tcp::Limit;
use kumiki_sim::World;

use super::held::Held;
use super::lines::{Lines, Use};
use super::load::{Kind, Load};
use super::path::Crossed;

/// An interval at first.
const FIRST: Duration = Duration::from_millis(1);

/// With so many intervals, two become one.
const MOST: usize = 1024;

/// What is counted whole when it begins, as frames are, in the intervals in which it goes on.
#[derive(Clone, Copy, Default)]
pub(super) struct Carry(Duration);

impl Carry {
    /// How much of what has been `counted` since the last interval is in this one; the rest is in the next.
    pub(super) fn within(&mut self, counted: Duration, interval: Duration) -> Duration {
        let all = self.0 + counted;
        self.0 = all.saturating_sub(interval);
        all.min(interval)
    }
}

/// What flows with an end were held by while their lines stood idle.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Stood {
    /// For how long one was there, in seconds, and a line on its way is known.
    pub(super) there: f64,
    /// In how many intervals that was.
    pub(super) intervals: usize,
    /// What held those that were there while no line on their ways was busy, in seconds; each moment counts once, whoever was there.
    pub(super) held: BTreeMap<Limit, f64>,
}

impl Stood {
    /// For how long no line was busy, in seconds.
    pub(super) fn idle(&self) -> f64 {
        self.held.values().sum()
    }
}

/// A line as it was looked at.
#[derive(Default)]
struct Line {
    used: Use,
    carry: Carry,
    /// For how much of each interval it was not busy.
    idle: Vec<Duration>,
}

/// The lines of a load by now, and what was looked at of them so far.
pub(super) struct Idle {
    every: Duration,
    next: Option<Instant>,
    /// The end of each interval.
    ends: Vec<Instant>,
    loads: BTreeMap<String, BTreeMap<Crossed, Line>>,
}

impl Idle {
    /// Of those of `loads` that have an end.
    pub(super) fn new(loads: &BTreeMap<String, Load>) -> Self {
        let has_end = |load: &Load| load.until_done && matches!(load.kind, Kind::Stream | Kind::Rpc | Kind::File);
        let loads: BTreeMap<_, _> =
            loads.iter().filter(|(_, load)| has_end(load)).map(|(name, _)| (name.clone(), BTreeMap::new())).collect();
        let next = (!loads.is_empty()).then_some(Instant::ZERO + FIRST);
        Self { every: FIRST, next, ends: Vec::new(), loads }
    }

    /// When to look.
    pub(super) const fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Whether the lines of the load called `name` are looked at.
    pub(super) fn is_of(&self, name: &str) -> bool {
        self.loads.contains_key(name)
    }

    /// Looks, where it is time to.
    pub(super) fn look(&mut self, (world, lines): (&World, &Lines), loads: &BTreeMap<String, Load>) {
        let now = world.now();
        if self.next.is_none_or(|next| now < next) {
            return;
        }
        let interval = now.saturating_since(self.ends.last().copied().unwrap_or(Instant::ZERO));
        for (name, own) in &mut self.loads {
            let Some(load) = loads.get(name) else {
                continue;
            };
            for (crossed, used) in lines.used(world, load) {
                let line = own.entry(crossed).or_default();
                let busy = line.carry.within(used.busy_since(line.used), interval);
                line.used = used;
                line.idle.push(interval.saturating_sub(busy));
            }
        }
        self.ends.push(now);
        if self.ends.len() >= MOST {
            self.halve();
        }
        self.next = Some(now + self.every);
    }

    /// Makes one interval of two.
    fn halve(&mut self) {
        self.every += self.every;
        let every_second = self.ends.chunks(2).filter_map(|pair| pair.last().copied());
        self.ends = every_second.collect();
        for line in self.loads.values_mut().flat_map(BTreeMap::values_mut) {
            let sum = |pair: &[Duration]| pair.iter().fold(Duration::ZERO, |all, idle| all + *idle);
            line.idle = line.idle.chunks(2).map(sum).collect();
        }
    }

    /// What held `flows` of the load called `name` while no line on their ways was busy. Each has its lines, and what held it, in order.
    pub(super) fn stood<'a>(&self, name: &str, flows: impl Iterator<Item = (&'a [Crossed], &'a [Held])>) -> Stood {
        let Some(lines) = self.loads.get(name) else {
            return Stood::default();
        };
        let mut all: Vec<Interval> = self.ends.iter().map(|_| Interval::default()).collect();
        for (way, spans) in flows {
            let ways: BTreeSet<&Crossed> = way.iter().collect();
            let known: Vec<&Line> = ways.into_iter().filter_map(|crossed| lines.get(crossed)).collect();
            let mut rest = spans.iter().peekable();
            let mut began = Instant::ZERO;
            for (place, (ended, interval)) in self.ends.iter().zip(&mut all).enumerate() {
                // Of a line of which nobody knows nothing can be said.
                let idle = known.iter().filter_map(|line| line.idle.get(place)).min();
                let part = idle.map_or(0.0, |idle| ratio(*idle, ended.saturating_since(began)));
                let mut there = Duration::ZERO;
                while let Some((since, until, limit)) = rest.peek().filter(|(since, ..)| since < ended) {
                    let own = (*until).min(*ended).saturating_since((*since).max(began));
                    there += own;
                    *interval.held.entry(*limit).or_insert(0.0) += own.as_secs_f64() * part;
                    if until > ended {
                        break;
                    }
                    rest.next();
                }
                interval.all += there;
                interval.longest = interval.longest.max(there);
                interval.known = interval.known.max(if idle.is_some() { there } else { Duration::ZERO });
                began = *ended;
            }
        }
        let mut stood = Stood::default();
        for Interval { held: own, all, longest, known } in all {
            let part = ratio(longest, all);
            stood.there += known.as_secs_f64();
            stood.intervals += usize::from(!known.is_zero());
            own.into_iter().for_each(|(limit, seconds)| *stood.held.entry(limit).or_insert(0.0) += seconds * part);
        }
        stood
    }
}

/// What flows were there in an interval.
#[derive(Default)]
struct Interval {
    /// For how long all together.
    all: Duration,
    /// For how long the one that was there for the longest.
    longest: Duration,
    /// The same of those of whose lines anything is known.
    known: Duration,
    /// What held them, in seconds, as far as their lines were idle.
    held: BTreeMap<Limit, f64>,
}

/// 0 of no time.
fn ratio(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() { 0.0 } else { part.as_secs_f64() / whole.as_secs_f64() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Hop, HopKind};

    const fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn crossed() -> Crossed {
        Crossed::of(&Hop { line: "l", kind: HopKind::FromA, out: "a.l0", into: "b.l0" })
    }

    #[test]
    fn a_frame_that_goes_on_is_busy_in_each_interval() {
        let ms = Duration::from_millis;
        let mut carry = Carry::default();
        let within: Vec<Duration> = [25, 0, 0, 0].map(|counted| carry.within(ms(counted), ms(10))).into();
        assert_eq!(within, [ms(10), ms(10), ms(5), ms(0)]);
    }

    /// A line without a name is on the way of all, and full for the first 10 of 20 ms.
    fn idle(busy_ms: &[u64]) -> Idle {
        let idle = busy_ms.iter().map(|busy| Duration::from_millis(1 - busy)).collect();
        let line = Line { idle, ..Line::default() };
        let ends = (1..=busy_ms.len() as u64).map(at).collect();
        let loads = [("x".to_owned(), BTreeMap::from([(crossed(), line)]))].into();
        Idle { every: FIRST, next: None, ends, loads }
    }

    fn busy_for_the_first_half() -> Idle {
        idle(&[[1; 10], [0; 10]].concat())
    }

    #[test]
    fn the_last_counts_for_all_of_the_time_in_which_it_is_alone() {
        let way = [crossed()];
        let through = [(at(0), at(12), Limit::Loss)];
        let last = [(at(0), at(10), Limit::Loss), (at(10), at(20), Limit::Timeout)];
        let flows = [&through[..], &through[..], &through[..], &last[..]];
        let stood = busy_for_the_first_half().stood("x", flows.into_iter().map(|spans| (&way[..], spans)));
        assert!((stood.there - 0.02).abs() < 1e-9 && stood.intervals == 20, "{stood:?}");
        let held = stood.held;
        // 2 ms are shared by four, of which three are held by losses; 8 are the last one's alone.
        let of = |limit| held.get(&limit).copied().unwrap_or(0.0) * 1e3;
        assert!((of(Limit::Loss) - 1.5).abs() < 1e-9 && (of(Limit::Timeout) - 8.5).abs() < 1e-9, "{held:?}");
    }

    #[test]
    fn what_two_intervals_had_one_of_twice_the_length_has() {
        let way = [crossed()];
        let spans = [(at(4), at(20), Limit::Timeout)];
        let mut halved = busy_for_the_first_half();
        halved.halve();
        assert_eq!((halved.ends.len(), halved.every), (10, FIRST + FIRST));
        let held = |of: &Idle| of.stood("x", [(&way[..], &spans[..])].into_iter()).held;
        // 10 ms of the 16 in which it waits.
        for idle in [&halved, &busy_for_the_first_half()] {
            let held = held(idle);
            assert!(held.len() == 1 && (held[&Limit::Timeout] - 0.01).abs() < 1e-9, "{held:?}");
        }
    }

    #[test]
    fn of_lines_of_which_nobody_knows_nothing_is_said() {
        let spans = [(at(0), at(20), Limit::Timeout)];
        let stood = busy_for_the_first_half().stood("x", [(&[][..], &spans[..])].into_iter());
        assert!(stood.held.values().all(|seconds| *seconds == 0.0) && stood.there == 0.0, "{stood:?}");
    }
}
