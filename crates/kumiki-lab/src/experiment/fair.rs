//! What part of an equal share flows have of the lines on which they meet.

use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant};

use super::flows::{Flow, rate_mbps};
use super::load::Load;
use super::measure::{LoadResult, lossy};
use super::pace::Pace;
use super::path::CrossedLine;

/// Sets [`Flow::part`] of all flows that want more than they get and meet others that do. Each is compared over its own
/// time, in which others may begin and end: with the mean of all that were there, each for as long as it was. How fast
/// these were meanwhile `pace` knows. Calls that wait for their answers could have more as well, if that went faster,
/// but take nothing from who has less than them: they are compared with each other too, and others are not with them.
/// What calls have on a line is their requests or their answers, on a ring both.
pub(super) fn set_parts(loads: &BTreeMap<String, Load>, results: &mut BTreeMap<String, LoadResult>, pace: &Pace) {
    let met = met(loads, results, pace);
    for (name, result) in results.iter_mut() {
        let Some(load) = loads.get(name) else {
            continue;
        };
        let part = |flow: &Flow| {
            let time = time_of(result, flow);
            let rate = rate_mbps(flow.octets, time.1);
            let own = carried(load, flow);
            let part_of = |line: &CrossedLine| {
                let met = met.get(line)?;
                let all = if flow.wants_more() { &met.wanting } else { &met.wanting_or_asking };
                let mean = all.mean(time).filter(|mean| *mean > 0.0)?;
                Some(rate * own.get(line)? / mean)
            };
            // Of several full lines that binds which leaves least to each.
            let parts = flow.busiest.iter().filter_map(part_of);
            parts.reduce(f64::max).filter(|_| flow.wants_more() || flow.awaits_answers())
        };
        let parts: Vec<Option<f64>> = result.flows.iter().map(part).collect();
        for (flow, part) in result.flows.iter_mut().zip(parts) {
            flow.part = part;
            flow.is_among_calls = flow.busiest.iter().all(|line| met.get(line).is_some_and(|met| !met.carries_others));
        }
    }
}

/// Who met on a line.
#[derive(Default)]
struct OnLine<T> {
    /// Those that want more.
    wanting: T,
    /// These, and calls that wait for their answers.
    wanting_or_asking: T,
    /// Whether anything is there but calls.
    carries_others: bool,
}

/// Who met on each line.
fn met<'a>(
    loads: &'a BTreeMap<String, Load>,
    results: &BTreeMap<String, LoadResult>,
    pace: &Pace,
) -> BTreeMap<&'a CrossedLine, OnLine<RateSums>> {
    let mut all: BTreeMap<&CrossedLine, OnLine<RateChanges>> = BTreeMap::new();
    for (name, result) in results {
        let Some(load) = loads.get(name) else {
            continue;
        };
        for (number, flow) in result.flows.iter().enumerate() {
            let octets = (flow.octets_in_all.saturating_sub(flow.octets), flow.octets_in_all);
            let is_met = flow.wants_more() || flow.awaits_answers();
            let course = is_met.then(|| course(time_of(result, flow), octets, pace.of(name, number)));
            for (line, carried) in carried(load, flow) {
                let on = all.entry(line).or_default();
                on.carries_others |= flow.exchanges.is_none() && flow.octets_in_all > 0;
                let Some(course) = &course else {
                    continue;
                };
                on.wanting_or_asking.add(course, carried);
                if flow.wants_more() {
                    on.wanting.add(course, carried);
                }
            }
        }
    }
    let sums = |on: OnLine<RateChanges>| OnLine {
        wanting: on.wanting.sums(),
        wanting_or_asking: on.wanting_or_asking.sums(),
        carries_others: on.carries_others,
    };
    all.into_iter().map(|(line, on)| (line, sums(on))).collect()
}

/// How many octets `flow` has on each line of its way for each that it brings.
fn carried<'a>(load: &'a Load, flow: &Flow) -> BTreeMap<&'a CrossedLine, f64> {
    let mut all = BTreeMap::new();
    for (line, is_back) in load.way_and_back(flow.way) {
        *all.entry(line).or_insert(0.0) += flow.carried(is_back);
    }
    all
}

/// From when on `flow` was there, and for how long: where its load wrote for a part of what was measured, that part,
/// and no longer than until it was over.
fn time_of(of: &LoadResult, flow: &Flow) -> (Instant, Duration) {
    let (began, time) = of.part.unwrap_or((flow.began, flow.time));
    (began, flow.over.map_or(time, |over| over.saturating_since(began).min(time)))
}

/// The rates in that time of a flow that had brought so many octets before it, and in the end: in 10^6 bit/s, each from
/// one of the `looks` to the next.
fn course(
    (began, time): (Instant, Duration),
    (before, in_all): (u64, u64),
    looks: &[(Instant, u64)],
) -> Vec<(Instant, Duration, f64)> {
    let end = began + time;
    let within = looks.iter().copied().filter(|(at, _)| *at > began && *at < end);
    let ends = within.chain([(end, in_all)]);
    let mut course = Vec::new();
    let mut last = (began, before);
    for (at, octets) in ends {
        let time = at.saturating_since(last.0);
        // What came before it was measured is not in it.
        let octets = octets.max(last.1);
        if !time.is_zero() {
            course.push((last.0, time, rate_mbps(octets - last.1, time)));
        }
        last = (at, octets);
    }
    course
}

/// Who met on a line: by when how many more they are, and what rates they bring, in 10^6 bit/s.
#[derive(Default)]
struct RateChanges(BTreeMap<Instant, (i64, f64)>);

impl RateChanges {
    /// One that brought octets at these rates, each from one time on and for so long, and `carried` so many for each.
    fn add(&mut self, course: &[(Instant, Duration, f64)], carried: f64) {
        for (began, time, rate) in course {
            let rate = rate * carried;
            for (at, count, rate) in [(*began, 1, rate), (*began + *time, -1, -rate)] {
                let own = self.0.entry(at).or_default();
                *own = (own.0 + count, own.1 + rate);
            }
        }
    }

    fn sums(self) -> RateSums {
        let mut all: Vec<(Instant, RateSum)> = Vec::with_capacity(self.0.len());
        for (at, (count, rate)) in self.0 {
            let before = all.last().map(|(since, sum)| (sum.count, sum.rate, sum.after(at.saturating_since(*since))));
            let (count_before, rate_before, (flows, octets)) = before.unwrap_or_default();
            all.push((at, RateSum { count: count_before + count, rate: rate_before + rate, flows, octets }));
        }
        RateSums(all)
    }
}

/// What had come together by a time, and what goes on from then.
struct RateSum {
    count: i64,
    rate: f64,
    /// How many flows there were, times how many seconds.
    flows: f64,
    /// Their rates times these, in 10^6 bit.
    octets: f64,
}

impl RateSum {
    /// The two sums after so much more time.
    fn after(&self, time: Duration) -> (f64, f64) {
        let seconds = time.as_secs_f64();
        let count = lossy(u64::try_from(self.count).unwrap_or(0));
        (self.flows + count * seconds, self.octets + self.rate * seconds)
    }
}

/// The sums of a line, in the order of time.
struct RateSums(Vec<(Instant, RateSum)>);

impl RateSums {
    fn by(&self, at: Instant) -> (f64, f64) {
        let later = self.0.partition_point(|(since, _)| *since <= at);
        let last = later.checked_sub(1).and_then(|place| self.0.get(place));
        last.map_or((0.0, 0.0), |(since, sum)| sum.after(at.saturating_since(*since)))
    }

    /// The mean rate of those that were there from one time on, for so long; `None` where that was one at a time.
    fn mean(&self, (began, time): (Instant, Duration)) -> Option<f64> {
        const ALONE: f64 = 1.0 + 1e-6;
        let ((flows_before, octets_before), (flows, octets)) = (self.by(began), self.by(began + time));
        let (flows, octets) = (flows - flows_before, octets - octets_before);
        (flows > ALONE * time.as_secs_f64()).then(|| octets / flows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// The mean that `one` is compared with, where all of these met.
    fn mean(all: &[(u64, u64, f64)], one: usize) -> Option<f64> {
        let mut met = RateChanges::default();
        for (began, time, rate) in all {
            met.add(&[(at(*began), ms(*time), *rate)], 1.0);
        }
        let (began, time, _) = all[one];
        met.sums().mean((at(began), ms(time)))
    }

    fn is(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found - expected).abs() < 1e-9)
    }

    #[test]
    fn flows_of_one_time_are_compared_with_their_mean() {
        assert!(is(mean(&[(0, 10, 4.0), (0, 10, 2.0)], 0), 3.0));
        assert_eq!(mean(&[(0, 10, 4.0)], 0), None);
        assert_eq!(mean(&[(0, 10, 4.0), (10, 10, 2.0)], 0), None);
    }

    /// One is there for 10 ms and another for the first 5 of them: 4 * 10 + 2 * 5 by 15 flows and ms; for the
    /// other, 4 * 5 + 2 * 5 by 10.
    #[test]
    fn who_is_there_for_a_part_of_the_time_counts_for_that_part() {
        let both = [(0, 10, 4.0), (0, 5, 2.0), (20, 5, 9.0)];
        assert!(is(mean(&both, 0), 50.0 / 15.0), "{:?}", mean(&both, 0));
        assert!(is(mean(&both, 1), 3.0), "{:?}", mean(&both, 1));
        assert_eq!(mean(&both, 2), None);
    }

    #[test]
    fn rates_are_those_between_the_looks_of_what_is_measured() {
        // 1 ms and 125 octets are 1 Mb/s. 1000 octets came before.
        let looks = [(at(5), 900), (at(11), 1125), (at(12), 1125), (at(30), 2000)];
        let found = course((at(10), ms(4)), (1000, 2000), &looks);
        assert_eq!(found, [(at(10), ms(1), 1.0), (at(11), ms(1), 0.0), (at(12), ms(2), 3.5)]);
    }
}
