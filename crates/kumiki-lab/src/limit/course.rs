//! What lines leave that change, or that are not there for a while.

use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::Duration;

use super::loads::{of_counted, pairs};
use super::path::Direction;
use super::together::together;
use crate::scenario::{Link, Scenario, Workload};
use kumiki_media::{self as medium, Framed, Frames, Line, Step};

/// What a direction of a line carries, beside what it would if it were always as it is written.
#[derive(Clone, Copy)]
struct CarriedPart {
    is_up: bool,
    rate: f64,
}

impl CarriedPart {
    fn part(self) -> f64 {
        if self.is_up { self.rate } else { 0.0 }
    }
}

/// How what arrives from a direction of a line changes.
#[derive(Clone, Copy)]
enum CapacityChange {
    Up(bool),
    /// The frame that is on the line keeps its time, and this part of it comes on top of what the line carries from
    /// then on.
    Kept(f64),
    /// From then on so much more comes, or less, as a part of what is written.
    More(f64),
}

/// What all pairs of a load can have together from one time of the run to another, on average, in Mb/s, where lines are
/// as their schedules and events have them then: of a line that is not there, nothing. What a change leaves on the way
/// when it comes counts as it arrives: where a line takes longer from then on nothing arrives for a while, and where it
/// takes less, more than it carries. Hosts without power change nothing of it.
///
/// # Errors
/// As [`super::of_load`].
pub fn of_all_between(scenario: &Scenario, load: &Workload, (from, to): (Duration, Duration)) -> Result<f64, String> {
    let pairs = pairs(scenario, load)?;
    let mut carries: BTreeMap<Direction<'_>, CarriedPart> = BTreeMap::new();
    let frame = frame(scenario, load);
    let (mut since, mut sum) = (from, 0.0);
    for (at, direction, change) in at_reader(scenario, &pairs).into_iter().filter(|(at, ..)| *at < to) {
        if at > since {
            sum += rate(&pairs, &carries) * (at - since).as_secs_f64();
            since = at;
        }
        let carries = carries.entry(direction).or_insert(CarriedPart { is_up: true, rate: 1.0 });
        match change {
            CapacityChange::Up(up) => carries.is_up = up,
            CapacityChange::Kept(part) if at > from => sum += part * frame,
            CapacityChange::Kept(_) => {}
            CapacityChange::More(part) => carries.rate += part,
        }
    }
    let now = rate(&pairs, &carries);
    if (since == from && sum == 0.0) || from >= to {
        return Ok(now);
    }
    Ok((sum + now * (to - since).as_secs_f64()) / (to - from).as_secs_f64())
}

/// The user data of a packet of `load`, in 10^6 bit.
fn frame(scenario: &Scenario, load: &Workload) -> f64 {
    let octets = of_counted(scenario, load).map_or(0, |ladder| ladder.payload_octets);
    f64::from(octets) * 8.0 / 1e6
}

/// What part of what is written each direction of a line of `ways` carries on average until `to`, where that changes.
pub(crate) fn parts<'a>(
    scenario: &'a Scenario,
    ways: &[Vec<(Direction<'a>, f64)>],
    to: Duration,
) -> BTreeMap<Direction<'a>, f64> {
    let whole = CarriedPart { is_up: true, rate: 1.0 };
    let mut all: BTreeMap<Direction<'a>, (CarriedPart, Duration, f64)> = BTreeMap::new();
    for (at, direction, change) in at_reader(scenario, ways).into_iter().filter(|(at, ..)| *at < to) {
        let (carries, since, sum) = all.entry(direction).or_insert((whole, Duration::ZERO, 0.0));
        *sum += carries.part() * at.saturating_sub(*since).as_secs_f64();
        *since = at.max(*since);
        match change {
            CapacityChange::Up(up) => carries.is_up = up,
            // One frame is nothing beside an average.
            CapacityChange::Kept(_) => {}
            CapacityChange::More(part) => carries.rate += part,
        }
    }
    let mean = |(carries, since, sum): (CarriedPart, Duration, f64)| {
        (sum + carries.part() * to.saturating_sub(since).as_secs_f64()) / to.as_secs_f64()
    };
    all.into_iter().map(|(direction, it)| (direction, mean(it))).collect()
}

/// Whether any line is other than it is written at some time of the run.
#[must_use]
pub fn is_changing(scenario: &Scenario) -> bool {
    !changes(scenario).is_empty()
}

fn rate(pairs: &[Vec<(Direction<'_>, f64)>], carries: &BTreeMap<Direction<'_>, CarriedPart>) -> f64 {
    together(pairs, |direction| carries.get(&direction).map_or(1.0, |carries| carries.part()))
}

/// What changes.
#[derive(Clone, Copy)]
enum ChangingMedium<'a> {
    Link(&'a Link),
    Ring,
}

impl ChangingMedium<'_> {
    /// The directions that a step changes. One way round is all of a ring.
    fn directions(self, step: &Step) -> impl Iterator<Item = bool> {
        let is_changed = match self {
            // What goes towards the first end is sent by the second.
            Self::Link(link) => {
                link.ends.each_ref().map(|end| step.toward.as_ref().is_none_or(|toward| medium::is_named(toward, end)))
            }
            Self::Ring => [false, true],
        };
        [true, false].into_iter().zip(is_changed).filter(|(_, is_changed)| *is_changed).map(|(is_b, _)| is_b)
    }
}

/// How a line is after some of its changes.
#[derive(Clone, Copy)]
struct ChangedLine {
    /// It carries this part of what is written, from its first end and from its second.
    parts: [f64; 2],
    propagation: Duration,
}

impl ChangedLine {
    const fn part(&self, is_b: bool) -> f64 {
        let [a, b] = self.parts;
        if is_b { b } else { a }
    }
}

/// How the lines of `pairs` are at first; rings take no time that would matter.
fn states<'a>(scenario: &'a Scenario, pairs: &[Vec<(Direction<'a>, f64)>]) -> BTreeMap<&'a str, ChangedLine> {
    let names = pairs.iter().flatten().map(|((name, _), _)| *name);
    let names: BTreeSet<&str> = names.collect();
    let of = |name: &str| scenario.link.get(name)?.line_at_first().ok().map(|line| line.propagation());
    let state = |name| (name, ChangedLine { parts: [1.0; 2], propagation: of(name).unwrap_or_default() });
    names.into_iter().map(state).collect()
}

/// How long it takes from the end of a line to the readers behind it; of those that are not equally far away, to the
/// last.
fn behind(
    pairs: &[Vec<(Direction<'_>, f64)>],
    states: &BTreeMap<&str, ChangedLine>,
    direction: Direction<'_>,
) -> Option<Duration> {
    let takes = |name: &str| states.get(name).map_or(Duration::ZERO, |state| state.propagation);
    let of_pair = |lines: &Vec<(Direction<'_>, f64)>| {
        let place = place_of(lines, direction)?;
        let behind = lines.get(place + 1..).unwrap_or_default().iter();
        Some(behind.fold(Duration::ZERO, |sum, ((name, _), _)| sum + takes(name)))
    };
    pairs.iter().filter_map(of_pair).max()
}

/// Which of the lines of a pair `direction` is.
fn place_of(lines: &[(Direction<'_>, f64)], direction: Direction<'_>) -> Option<usize> {
    lines.iter().position(|(it, _)| *it == direction)
}

/// The lines of which all that comes goes on over `direction`.
fn before<'a>(pairs: &[Vec<(Direction<'a>, f64)>], direction: Direction<'_>) -> Vec<Direction<'a>> {
    let all: BTreeSet<_> = pairs.iter().flatten().map(|(it, _)| *it).collect();
    let goes_on = |it: &Direction<'_>| {
        let mut of_it = pairs.iter().filter_map(|lines| Some((place_of(lines, *it)?, place_of(lines, direction))));
        of_it.all(|(own, next)| next.is_some_and(|next| own < next))
    };
    all.into_iter().filter(goes_on).collect()
}

/// All that changes, in order of time, when the readers of `pairs` have the first of it: what is on a line keeps its
/// rate and its time and arrives, unless the line is not there by then, and has the lines that follow before it.
fn at_reader<'a>(
    scenario: &'a Scenario,
    pairs: &[Vec<(Direction<'a>, f64)>],
) -> Vec<(Duration, Direction<'a>, CapacityChange)> {
    let changes = changes(scenario);
    if changes.is_empty() {
        return Vec::new();
    }
    let mut states = states(scenario, pairs);
    let mut all = Vec::new();
    // None overtakes another.
    let mut latest: BTreeMap<Direction<'_>, Duration> = BTreeMap::new();
    for (name, changed, step) in changes {
        let Some(&was) = states.get(name) else {
            continue;
        };
        let mut is = was;
        if let ChangingMedium::Link(link) = changed {
            is.parts = step.rate.and_then(|rate| of_written(link, rate)).unwrap_or(was.parts);
            is.propagation = step.propagation.unwrap_or(was.propagation);
        }
        for is_b in changed.directions(&step) {
            let direction = (name, is_b);
            let Some(behind) = behind(pairs, &states, direction) else {
                continue;
            };
            if let Some(up) = step.up {
                let latest = latest.entry(direction).or_default();
                *latest = (*latest).max(step.at + behind);
                all.push((*latest, direction, CapacityChange::Up(up)));
            }
            let [part, earlier] = [is, was].map(|state| state.part(is_b));
            if part < earlier {
                let last = step.at + was.propagation + behind;
                all.push((last, direction, CapacityChange::Kept(1.0 - part / earlier)));
            }
            // The last that was sent as it was, and the first that was not.
            let [last, first] = [was, is].map(|state| step.at + state.propagation + behind);
            all.push((last, direction, CapacityChange::More(-earlier)));
            all.push((first, direction, CapacityChange::More(part)));
            // What comes twice as fast for a while came over these before.
            for before in before(pairs, direction).into_iter().filter(|_| first < last) {
                let part = states.get(before.0).map_or(1.0, |state| state.part(before.1));
                all.push((first, before, CapacityChange::More(part)));
                all.push((last, before, CapacityChange::More(-part)));
            }
        }
        states.insert(name, is);
    }
    all.sort_by_key(|(at, ..)| *at);
    all
}

/// All that changes how much lines and rings carry, in order of time. What cannot be read is told by who checks the
/// scenario.
fn changes(scenario: &Scenario) -> Vec<(&str, ChangingMedium<'_>, Step)> {
    let mut all = Vec::new();
    for (name, link) in &scenario.link {
        let steps = link.line().and_then(|line| scenario.changes(name, &line)).unwrap_or_default();
        let tells = |step: &Step| step.up.is_some() || step.rate.is_some() || step.propagation.is_some();
        let steps = steps.into_iter().filter(tells);
        all.extend(steps.map(|step| (name.as_str(), ChangingMedium::Link(link), step)));
    }
    for name in scenario.ring.keys() {
        let steps = scenario.ring_changes(name).unwrap_or_default().into_iter();
        let steps = steps.filter(|step| step.up.is_some() && step.toward.is_none());
        all.extend(steps.map(|step| (name.as_str(), ChangingMedium::Ring, step)));
    }
    all.sort_by_key(|(.., step)| step.at);
    all
}

/// `rate` as a part of what is written, of each direction. It is asked for at each step of a schedule, which is not
/// read again for it.
#[expect(clippy::cast_precision_loss, reason = "a limit for a row")]
fn of_written(link: &Link, [one, other]: [u64; 2]) -> Option<[f64; 2]> {
    let line = link.line_at_first().ok()?;
    let Line::Frames(Frames { framed: Framed::Line(written), .. }) = line else {
        return None;
    };
    let [from_a, from_b] = written;
    (from_a > 0 && from_b > 0).then(|| [one as f64 / from_a as f64, other as f64 / from_b as f64])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a schedule of n steps, of which each asks, all of them would take n times as long.
    #[test]
    fn a_step_does_not_read_the_whole_schedule() {
        let mut settings = toml::Table::new();
        settings.insert("rate".to_owned(), toml::Value::from("10 Mb/s"));
        settings.insert("schedule".to_owned(), toml::Value::from("read by nobody"));
        let link = Link { ends: ["a", "b"].map(str::to_owned), medium: "point-to-point".to_owned(), settings };
        assert!(link.line().is_err());
        assert_eq!(of_written(&link, [5_000_000, 2_000_000]), Some([0.5, 0.2]));
    }
}
