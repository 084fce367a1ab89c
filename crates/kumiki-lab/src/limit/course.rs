//! What lines leave that change, or that are not there for a while.

use std::collections::BTreeMap;

use kumiki_graph::Duration;

use super::stack::{Direction, pairs, together};
use crate::medium::{self, Framed, Frames, Line, Step};
use crate::scenario::{Link, Scenario, Workload};

/// What a direction of a line carries, beside what it would if it were always as it is written.
#[derive(Clone, Copy)]
struct Carries {
    is_up: bool,
    rate: f64,
}

impl Carries {
    fn part(self) -> f64 {
        if self.is_up { self.rate } else { 0.0 }
    }
}

/// What all pairs of a load can have together from one time of the run to another, on average, in Mb/s, where lines are as their schedules and events have
/// them then: of a line that is not there, nothing. Hosts without power change nothing of it.
///
/// # Errors
/// As [`super::of_load`].
pub fn of_all_between(scenario: &Scenario, load: &Workload, (from, to): (Duration, Duration)) -> Result<f64, String> {
    let pairs = pairs(scenario, load)?;
    let mut carries: BTreeMap<Direction<'_>, Carries> = BTreeMap::new();
    let (mut since, mut sum) = (from, 0.0);
    for (name, changed, step) in changes(scenario).into_iter().filter(|(.., step)| step.at < to) {
        if step.at > since {
            sum += rate(&pairs, &carries) * (step.at - since).as_secs_f64();
            since = step.at;
        }
        let Changed::Link(link) = changed else {
            // One way round is all of a ring.
            let carries = carries.entry((name, false)).or_insert(Carries { is_up: true, rate: 1.0 });
            carries.is_up = step.up.unwrap_or(carries.is_up);
            continue;
        };
        // What goes towards the first end is sent by the second.
        for (end, is_b) in link.ends.iter().zip([true, false]) {
            if step.toward.as_ref().is_none_or(|toward| medium::is_named(toward, end)) {
                let carries = carries.entry((name, is_b)).or_insert(Carries { is_up: true, rate: 1.0 });
                carries.is_up = step.up.unwrap_or(carries.is_up);
                carries.rate = step.rate.and_then(|rate| part(link, rate)).unwrap_or(carries.rate);
            }
        }
    }
    let now = rate(&pairs, &carries);
    if since == from || from >= to {
        return Ok(now);
    }
    Ok((sum + now * (to - since).as_secs_f64()) / (to - from).as_secs_f64())
}

/// Whether any line is other than it is written at some time of the run.
#[must_use]
pub fn is_changing(scenario: &Scenario) -> bool {
    !changes(scenario).is_empty()
}

fn rate(pairs: &[Vec<(Direction<'_>, f64)>], carries: &BTreeMap<Direction<'_>, Carries>) -> f64 {
    together(pairs, |direction| carries.get(&direction).map_or(1.0, |carries| carries.part()))
}

/// What changes.
#[derive(Clone, Copy)]
enum Changed<'a> {
    Link(&'a Link),
    Ring,
}

/// All that changes how much lines and rings carry, in order of time. What cannot be read is told by who checks the scenario.
fn changes(scenario: &Scenario) -> Vec<(&str, Changed<'_>, Step)> {
    let mut all = Vec::new();
    for (name, link) in &scenario.link {
        let steps = link.line().and_then(|line| scenario.changes(name, &line)).unwrap_or_default();
        let steps = steps.into_iter().filter(|step| step.up.is_some() || step.rate.is_some());
        all.extend(steps.map(|step| (name.as_str(), Changed::Link(link), step)));
    }
    for name in scenario.ring.keys() {
        let steps = scenario.ring_changes(name).unwrap_or_default().into_iter();
        let steps = steps.filter(|step| step.up.is_some() && step.toward.is_none());
        all.extend(steps.map(|step| (name.as_str(), Changed::Ring, step)));
    }
    all.sort_by_key(|(.., step)| step.at);
    all
}

/// `rate` as a part of what is written.
#[expect(clippy::cast_precision_loss, reason = "a limit for a row")]
fn part(link: &Link, rate: u64) -> Option<f64> {
    let line = link.line().ok()?;
    let Line::Frames(Frames { framed: Framed::Line(written), .. }) = line else {
        return None;
    };
    (written > 0).then(|| rate as f64 / written as f64)
}
