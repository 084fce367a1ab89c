//! Which lines on the way of a load were not there at an instant, in words: either way, for what is lost on the way back ends a transfer as well.

use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::Instant;

use super::fault::Fault;
use super::load::Load;
use crate::medium;
use crate::quantity::in_seconds;
use crate::scenario::Scenario;
use crate::topology::{HopKind, place};

/// What keeps anything from arriving.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum What {
    Down,
    /// Its rate is 0 b/s.
    Still,
    Lossy,
}

impl What {
    const fn words(self) -> &'static str {
        match self {
            Self::Down => "was down",
            Self::Still => "had a rate of 0 b/s",
            Self::Lossy => "lost everything",
        }
    }
}

/// What happens to a direction of a line, or to a ring.
#[derive(Debug)]
struct Change {
    at: Instant,
    line: String,
    /// The host or switch at the end to which nothing comes; none of a ring.
    toward: Option<String>,
    what: What,
    begins: bool,
}

/// What happens to the lines that loads cross, in order of time.
#[derive(Default, Debug)]
pub(super) struct Outages(Vec<Change>);

impl Outages {
    /// Those of `loads`.
    ///
    /// # Errors
    /// A [`Fault`] whose path begins at the top of the scenario.
    pub(super) fn of(scenario: &Scenario, loads: &BTreeMap<String, Load>) -> Result<Self, Fault> {
        let crossed = loads.values().flat_map(|load| load.ways.iter().flatten().flatten());
        let lines: BTreeSet<&String> = crossed.map(|crossed| &crossed.line).collect();
        let mut all = Vec::new();
        for name in lines {
            let mut put = |step: &medium::Step, toward: Option<&str>| {
                let down = step.up.map(|up| (What::Down, !up));
                let still = step.rate.map(|rate| (What::Still, rate == 0));
                let lossy = step.loss.map(|loss| (What::Lossy, loss >= 1.0));
                for (what, begins) in [down, still, lossy].into_iter().flatten() {
                    let toward = toward.map(str::to_owned);
                    all.push(Change { at: Instant::ZERO + step.at, line: name.clone(), toward, what, begins });
                }
            };
            let Some(link) = scenario.link.get(name) else {
                // What comes to one station alone keeps nobody else from anything.
                scenario.ring_changes(name)?.iter().filter(|it| it.toward.is_none()).for_each(|step| put(step, None));
                continue;
            };
            let line = link.line().map_err(|fault| fault.under(&["link", name]))?;
            let steps = scenario.changes(name, &line)?;
            if let Some((toward, _)) = line.impairment().filter(|(_, impairment)| impairment.loss.stationary() >= 1.0) {
                let lossy = medium::Step { loss: Some(1.0), ..medium::Step::default() };
                let ends = link.ends.iter().filter(|end| toward.is_none_or(|toward| medium::is_named(toward, end)));
                ends.for_each(|end| put(&lossy, Some(place(end))));
            }
            for end in &link.ends {
                for step in &steps {
                    if step.toward.as_ref().is_none_or(|toward| medium::is_named(toward, end)) {
                        put(step, Some(place(end)));
                    }
                }
            }
        }
        all.sort_by_key(|change| change.at);
        Ok(Self(all))
    }

    /// What of the lines between these `pairs` of writers and readers of `load` was not there at the instant `at`, each with since when.
    pub(super) fn at(&self, load: &Load, pairs: &BTreeSet<(usize, usize)>, at: Instant) -> Vec<String> {
        let ways = || pairs.iter().flat_map(|pair| load.way(*pair));
        let crossed: BTreeSet<&String> = ways().map(|crossed| &crossed.line).collect();
        let rings: BTreeSet<&String> =
            ways().filter(|it| it.way == HopKind::Ring).map(|crossed| &crossed.line).collect();
        let mut gone: BTreeMap<(&String, What), BTreeMap<&Option<String>, Instant>> = BTreeMap::new();
        for change in self.0.iter().filter(|it| it.at <= at && crossed.contains(&it.line)) {
            let towards = gone.entry((&change.line, change.what)).or_default();
            match change.begins {
                true => drop(towards.entry(&change.toward).or_insert(change.at)),
                false => drop(towards.remove(&change.toward)),
            }
        }
        let mut told = Vec::new();
        for ((line, what), towards) in gone {
            let (section, ends) = if rings.contains(line) { ("ring", 1) } else { ("link", 2) };
            let from = |since: Instant| in_seconds(since.saturating_since(Instant::ZERO));
            let first = towards.values().next().filter(|first| towards.values().all(|since| since == *first));
            match first {
                Some(since) if towards.len() == ends => {
                    told.push(format!("{section}.{line} {} from {} on", what.words(), from(*since)));
                }
                _ => told.extend(towards.iter().map(|(toward, since)| {
                    let toward = toward.as_deref().unwrap_or_default();
                    format!("{section}.{line} {} toward {toward} from {} on", what.words(), from(*since))
                })),
            }
        }
        told
    }
}
