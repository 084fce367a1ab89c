//! When the lines of flows stood idle and what held the flows then, for that is what their goodput lacks; and when a
//! line was full.
//!
//! | | |
//! |---|---|
//! | Specification | none |
//! | Idle | the time in which no line on the way of a flow was busy; each moment in equal parts for the flows that were there, whatever held them. So a few that wait while all others are through count as much as many did before |
//! | Full | the time in which a line on the way was busy for a round trip or longer without a break: then it is what a sender waits for, whatever window it has, where one that is busy for less leaves each window to be waited for. Moments count as above |
//! | Left out | what of several lines on a way happens within a thousandth of the time |

use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::{Duration, Instant};
use kumiki_inet::tcp::Limit;

use super::held::HeldSpan;
use super::occupied::{AllOccupied, Occupied, ratio};
use super::path::CrossedLine;
use kumiki_media::Span;

/// What flows were held by while their lines stood idle, and when these were full.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct HeldWhileIdle {
    /// For how long one was there, in seconds, and a line on its way is known.
    pub(super) there: f64,
    /// For how long of that a line was full, in seconds.
    pub(super) full: f64,
    /// What held those that were there while no line on their ways was busy, in seconds; each moment counts once,
    /// whoever was there.
    pub(super) held: BTreeMap<Limit, f64>,
}

impl HeldWhileIdle {
    /// For how long no line was busy while a flow was there, in seconds.
    pub(super) fn idle(&self) -> f64 {
        self.held.values().sum()
    }
}

/// A flow, as far as it is needed here.
#[derive(Clone, Copy)]
pub(super) struct HeldFlow<'a> {
    /// The lines on its way.
    pub(super) way: &'a [CrossedLine],
    /// What held it, in order.
    pub(super) spans: &'a [HeldSpan],
    /// How long its short round trips take.
    pub(super) round_trip: Duration,
}

/// The lines of a load, and when each was busy.
pub(super) struct Idle(BTreeMap<CrossedLine, Occupied>);

impl Idle {
    /// That of what `crosses` these lines, as far as anything is known of them.
    pub(super) fn of<'a>(crosses: impl Iterator<Item = &'a CrossedLine>, all: &AllOccupied) -> Self {
        let crossed: BTreeSet<&CrossedLine> = crosses.collect();
        Self(crossed.into_iter().filter_map(|crossed| Some((crossed.clone(), all.line(crossed)?))).collect())
    }

    /// For what part of that time the busiest line on this way was busy; `None` where nobody knows.
    pub(super) fn busiest(&self, way: &[CrossedLine], (from, until): Span) -> Option<f64> {
        let lines = way.iter().filter_map(|crossed| self.0.get(crossed));
        let busy = lines.map(|line| line.by(until).saturating_sub(line.by(from)));
        Some(ratio(busy.max()?, until.saturating_since(from)))
    }

    /// What held `flows` from one time to another while no line on their ways was busy, and for how long one was full.
    pub(super) fn stood<'a>(&'a self, span: Span, flows: impl Iterator<Item = HeldFlow<'a>>) -> HeldWhileIdle {
        let mut all: Vec<Interval> = (0..INTERVALS).map(|_| Interval::default()).collect();
        // Flows go the same way as a rule.
        let mut last: Option<PathOccupancy<'a>> = None;
        for HeldFlow { way, spans, round_trip } in flows {
            let known = last.take().filter(|last| last.crossed == way);
            let known = last.insert(known.unwrap_or_else(|| self.way(way, span)));
            known.full_for(round_trip);
            let mut rest = spans.iter().peekable();
            let mut began = span.0;
            for ((ended, idle, full), interval) in known.each().zip(&mut all) {
                let mut there = Duration::ZERO;
                while let Some((since, until, limit)) = rest.peek().filter(|(since, ..)| *since < ended) {
                    let own = (*until).min(ended).saturating_since((*since).max(began));
                    there += own;
                    *interval.held.entry(*limit).or_insert(0.0) += own.as_secs_f64() * idle;
                    if *until > ended {
                        break;
                    }
                    rest.next();
                }
                interval.all += there;
                interval.full += there.as_secs_f64() * full;
                interval.longest = interval.longest.max(there);
                interval.known = interval.known.max(if known.lines.is_empty() { Duration::ZERO } else { there });
                began = ended;
            }
        }
        let mut stood = HeldWhileIdle::default();
        for Interval { held: own, all, full, longest, known } in all {
            let part = ratio(longest, all);
            stood.there += known.as_secs_f64();
            stood.full += full * part;
            own.into_iter().for_each(|(limit, seconds)| *stood.held.entry(limit).or_insert(0.0) += seconds * part);
        }
        stood
    }

    /// What is known of the lines on a way in that time.
    fn way<'a>(&'a self, crossed: &'a [CrossedLine], span: Span) -> PathOccupancy<'a> {
        let ways: BTreeSet<&CrossedLine> = crossed.iter().collect();
        let lines: Vec<&Occupied> = ways.into_iter().filter_map(|crossed| self.0.get(crossed)).collect();
        let (from, until) = span;
        let whole = until.saturating_since(from).as_nanos();
        let mut so_far: Vec<Duration> = lines.iter().map(|line| line.by(from)).collect();
        let mut began = from;
        let intervals = (1..=INTERVALS).map(|place| {
            let part = u128::from(whole) * u128::from(place) / u128::from(INTERVALS);
            let ended = from + Duration::from_nanos(u64::try_from(part).unwrap_or(whole));
            let length = ended.saturating_since(core::mem::replace(&mut began, ended));
            let busiest = lines.iter().zip(&mut so_far).map(|(line, so_far)| {
                let by = line.by(ended);
                by.saturating_sub(core::mem::replace(so_far, by))
            });
            // Of a line of which nobody knows nothing can be said.
            (ended, busiest.max().map_or(0.0, |busy| ratio(length.saturating_sub(busy), length)))
        });
        let intervals = intervals.collect();
        PathOccupancy { crossed, lines, span, intervals, full: Vec::new(), round_trip: None }
    }
}

/// In how many parts a time is looked at.
const INTERVALS: u64 = 1000;

/// The lines on the way of flows, in a time.
struct PathOccupancy<'a> {
    crossed: &'a [CrossedLine],
    lines: Vec<&'a Occupied>,
    span: Span,
    /// Until when each part of it goes, and for what part of that the busiest line was not busy.
    intervals: Vec<(Instant, f64)>,
    /// For what part of each a line was full, for flows of this round trip.
    full: Vec<f64>,
    round_trip: Option<Duration>,
}

impl PathOccupancy<'_> {
    /// Finds out when a line was full for flows of this round trip.
    fn full_for(&mut self, round_trip: Duration) {
        if self.round_trip.replace(round_trip) == Some(round_trip) {
            return;
        }
        let full: Vec<Vec<Span>> = self.lines.iter().map(|line| line.full(self.span, round_trip)).collect();
        let mut began = self.span.0;
        let parts = self.intervals.iter().map(|(ended, _)| {
            let part = (core::mem::replace(&mut began, *ended), *ended);
            let most = full.iter().map(|spans| within(spans, part)).max();
            most.map_or(0.0, |most| ratio(most, part.1.saturating_since(part.0)))
        });
        self.full = parts.collect();
    }

    /// Until when each part goes, and for what part of it no line was busy, and one was full.
    fn each(&self) -> impl Iterator<Item = (Instant, f64, f64)> {
        self.intervals.iter().zip(&self.full).map(|((ended, idle), full)| (*ended, *idle, *full))
    }
}

/// For how long of that time one of `spans` was.
fn within(spans: &[Span], (began, ended): Span) -> Duration {
    let first = spans.partition_point(|(_, until)| *until <= began);
    let within = spans.iter().skip(first).take_while(|(since, _)| *since < ended);
    within.fold(Duration::ZERO, |sum, (since, until)| sum + (*until).min(ended).saturating_since((*since).max(began)))
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
    /// For how long, all together, a line on the way of each was full, in seconds.
    full: f64,
    /// What held them, in seconds, as far as their lines were idle.
    held: BTreeMap<Limit, f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Hop, HopKind};

    const fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn crossed() -> CrossedLine {
        CrossedLine::of(&Hop { line: "l", kind: HopKind::FromA, out: "a.l0", into: "b.l0" })
    }

    /// A line that is busy at these times.
    fn busy(spans: &[(u64, u64)]) -> Idle {
        let mut line = Occupied::default();
        spans.iter().for_each(|(from, until)| line.busy(at(*from), at(*until)));
        Idle([(crossed(), line)].into())
    }

    /// Flows over it that are held so from 0 to 20 ms, with a round trip of that many ms.
    fn stood(of: &Idle, way: &[CrossedLine], flows: &[&[HeldSpan]], round_trip: u64) -> HeldWhileIdle {
        let round_trip = Duration::from_millis(round_trip);
        of.stood((at(0), at(20)), flows.iter().map(|spans| HeldFlow { way, spans, round_trip }))
    }

    fn is(found: f64, expected_ms: f64) -> bool {
        (found * 1e3 - expected_ms).abs() < 1e-9
    }

    #[test]
    fn the_last_counts_for_all_of_the_time_in_which_it_is_alone() {
        let through = [(at(0), at(12), Limit::Loss)];
        let last = [(at(0), at(10), Limit::Loss), (at(10), at(20), Limit::Timeout)];
        let flows = [&through[..], &through[..], &through[..], &last[..]];
        let stood = stood(&busy(&[(0, 10)]), &[crossed()], &flows, 5);
        assert!(is(stood.there, 20.0) && is(stood.full, 10.0), "{stood:?}");
        let held = stood.held;
        // 2 ms are shared by four, of which three are held by losses; 8 are the last one's alone.
        let of = |limit| held.get(&limit).copied().unwrap_or(0.0);
        assert!(is(of(Limit::Loss), 1.5) && is(of(Limit::Timeout), 8.5), "{held:?}");
    }

    /// A window that goes round each 4 ms and takes 3 of them leaves the line to be waited for as little as one that
    /// takes 1.
    #[test]
    fn a_line_that_is_busy_for_less_than_a_round_trip_is_not_full() {
        let windows: Vec<(u64, u64)> = (0..3).map(|round| (round * 4, round * 4 + 3)).chain([(12, 18)]).collect();
        let flow: [HeldSpan; 1] = [(at(0), at(20), Limit::SlowStart)];
        let stood = stood(&busy(&windows), &[crossed()], &[&flow[..]], 4);
        assert!(is(stood.full, 6.0) && is(stood.idle(), 5.0), "{stood:?}");
    }

    #[test]
    fn of_lines_of_which_nobody_knows_nothing_is_said() {
        let spans = [(at(0), at(20), Limit::Timeout)];
        let stood = stood(&busy(&[(0, 10)]), &[], &[&spans[..]], 1);
        assert!(stood.held.values().all(|seconds| *seconds == 0.0) && stood.there == 0.0, "{stood:?}");
    }

    #[test]
    fn the_busiest_line_of_a_way_counts() {
        let idle = busy(&[(0, 5), (15, 40)]);
        assert_eq!(idle.busiest(&[crossed()], (at(0), at(20))), Some(0.5));
        assert_eq!(idle.busiest(&[], (at(0), at(20))), None);
    }
}
