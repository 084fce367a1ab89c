//! Which lines on the way of a load were not there at an instant, in words: either way, for what is lost on the way
//! back ends a transfer as well. Of datagrams, which nothing answers, the way there alone counts.

use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::Instant;

use super::fault::ConfigError;
use super::load::Load;
use crate::scenario::Scenario;
use crate::topology::{HopKind, place};
use kumiki_config::quantity::in_seconds;
use kumiki_media::{self as medium, Span, joined};

/// What keeps anything from arriving.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum OutageKind {
    Down,
    /// Its rate is 0 b/s.
    Still,
    Lossy,
}

impl OutageKind {
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
struct OutageChange {
    at: Instant,
    line: String,
    way: HopKind,
    /// The host or switch at the end to which nothing comes; none of a ring.
    toward: Option<String>,
    what: OutageKind,
    begins: bool,
}

/// For how long something was so of a direction of a line, or of a ring.
struct OutageSpan<'a> {
    line: &'a str,
    what: OutageKind,
    toward: &'a Option<String>,
    /// Whether what counts of the load goes that way.
    counts: bool,
    since: Instant,
    /// `None` where that lasts.
    until: Option<Instant>,
}

/// What happens to the lines that loads cross, in order of time.
#[derive(Default, Debug)]
pub(super) struct Outages(Vec<OutageChange>);

impl Outages {
    /// Those of `loads`.
    ///
    /// # Errors
    /// A [`ConfigError`] whose path begins at the top of the scenario.
    pub(super) fn of(scenario: &Scenario, loads: &BTreeMap<String, Load>) -> Result<Self, ConfigError> {
        let crossed = loads.values().flat_map(|load| load.ways.iter().flatten().flatten());
        let lines: BTreeSet<&String> = crossed.map(|crossed| &crossed.line).collect();
        let mut all = Vec::new();
        for name in lines {
            let mut put = |step: &medium::Step, toward: Option<(bool, &str)>| {
                let down = step.up.map(|up| (OutageKind::Down, !up));
                // What goes towards the first end is sent by the second.
                let rate =
                    step.rate.map(|[one, other]| if toward.is_some_and(|(first, _)| first) { other } else { one });
                let still = rate.map(|rate| (OutageKind::Still, rate == 0));
                let lossy = step.loss.map(|loss| (OutageKind::Lossy, loss >= 1.0));
                let way = match toward {
                    Some((true, _)) => HopKind::FromB,
                    Some((false, _)) => HopKind::FromA,
                    None => HopKind::Ring,
                };
                for (what, begins) in [down, still, lossy].into_iter().flatten() {
                    let toward = toward.map(|(_, end)| place(end).to_owned());
                    all.push(OutageChange {
                        at: Instant::ZERO + step.at,
                        line: name.clone(),
                        way,
                        toward,
                        what,
                        begins,
                    });
                }
            };
            let Some(link) = scenario.link.get(name) else {
                // What comes to one station alone keeps nobody else from anything.
                scenario.ring_changes(name)?.iter().filter(|it| it.toward.is_none()).for_each(|step| put(step, None));
                continue;
            };
            let line = link.line().map_err(|fault| fault.under(&["link", name]))?;
            let steps = scenario.changes(name, &line)?;
            let ends = || [true, false].into_iter().zip(&link.ends).map(|(first, end)| (first, end.as_str()));
            if let Some((toward, _)) = line.impairment().filter(|(_, impairment)| impairment.loss.stationary() >= 1.0) {
                let lossy = medium::Step { loss: Some(1.0), ..medium::Step::default() };
                let ends = ends().filter(|(_, end)| toward.is_none_or(|toward| medium::is_named(toward, end)));
                ends.for_each(|end| put(&lossy, Some(end)));
            }
            for end in ends() {
                for step in &steps {
                    if step.toward.as_ref().is_none_or(|toward| medium::is_named(toward, end.1)) {
                        put(step, Some(end));
                    }
                }
            }
        }
        all.sort_by_key(|change| change.at);
        Ok(Self(all))
    }

    /// When what was so of the lines between these `pairs` of writers and readers of `load`, until `until`.
    fn stretches(&self, load: &Load, pairs: &BTreeSet<(usize, usize)>, until: Instant) -> Vec<OutageSpan<'_>> {
        let ways = || pairs.iter().flat_map(|pair| load.way(*pair));
        let crossed: BTreeSet<&String> = ways().map(|crossed| &crossed.line).collect();
        let there: BTreeSet<(&String, HopKind)> = ways().map(|crossed| (&crossed.line, crossed.way)).collect();
        let mut open: BTreeMap<(&str, OutageKind, &Option<String>), (bool, Instant)> = BTreeMap::new();
        let mut all = Vec::new();
        for change in self.0.iter().filter(|it| it.at < until && crossed.contains(&it.line)) {
            let key = (change.line.as_str(), change.what, &change.toward);
            if change.begins {
                let counts = !load.is_one_way() || there.contains(&(&change.line, change.way));
                open.entry(key).or_insert((counts, change.at));
            } else if let Some((counts, since)) = open.remove(&key).filter(|(_, since)| *since < change.at) {
                all.push(OutageSpan { line: key.0, what: key.1, toward: key.2, counts, since, until: Some(change.at) });
            }
        }
        let lasting =
            |((line, what, toward), (counts, since))| OutageSpan { line, what, toward, counts, since, until: None };
        all.extend(open.into_iter().map(lasting));
        all
    }

    /// When, until `until`, a line between these `pairs` was not there, in order; `lossy`: or lost everything.
    pub(super) fn spans(
        &self,
        (load, pairs): (&Load, &BTreeSet<(usize, usize)>),
        until: Instant,
        lossy: bool,
    ) -> Vec<Span> {
        let stretches = self.stretches(load, pairs, until).into_iter();
        let spans = stretches.filter(|it| it.counts && (lossy || it.what != OutageKind::Lossy));
        joined(spans.map(|it| (it.since, it.until.unwrap_or(until))).collect())
    }

    /// Since when, at the instant `at`, a line between these `pairs` has lost all that comes, and since when one has
    /// been standing still, where that is so.
    pub(super) fn lasting(
        &self,
        (load, pairs): (&Load, &BTreeSet<(usize, usize)>),
        at: Instant,
    ) -> (Option<Instant>, Option<Instant>) {
        let stretches = self.stretches(load, pairs, at);
        let first = |is: fn(OutageKind) -> bool| {
            stretches.iter().filter(|it| it.counts && it.until.is_none() && is(it.what)).map(|it| it.since).min()
        };
        (first(|what| what != OutageKind::Still), first(|what| what == OutageKind::Still))
    }

    /// What of the lines between these `pairs` was not there for some of the time until `to`, in words, each with until
    /// when, where it is there again.
    pub(super) fn told(
        &self,
        (load, pairs): (&Load, &BTreeSet<(usize, usize)>),
        to: Instant,
    ) -> Vec<(Option<Instant>, String)> {
        let seconds = |at: Instant| in_seconds(at.saturating_since(Instant::ZERO));
        let mut alike: BTreeMap<_, (bool, Vec<&str>)> = BTreeMap::new();
        for it in self.stretches(load, pairs, to) {
            let (counts, towards) = alike.entry((it.since, it.line, it.what, it.until)).or_default();
            *counts |= it.counts;
            towards.extend(it.toward.as_deref());
        }
        let alike = alike.into_iter().filter(|(_, (counts, _))| *counts).map(|(what, (_, towards))| (what, towards));
        let words =
            |((since, line, what, until), towards): ((Instant, &str, OutageKind, Option<Instant>), Vec<&str>)| {
                // None of a ring, which has no ends.
                let section = if towards.is_empty() { "ring" } else { "link" };
                let toward = if let [one] = towards[..] { format!(" toward {one}") } else { String::new() };
                let rest = until.map_or_else(|| "on".to_owned(), |until| format!("to {}", seconds(until)));
                (until, format!("{section}.{line} {}{toward} from {} {rest}", what.words(), seconds(since)))
            };
        alike.map(words).collect()
    }

    /// What of the lines between these `pairs` of writers and readers of `load` was not there at the instant `at`, each
    /// with since when.
    pub(super) fn at(&self, load: &Load, pairs: &BTreeSet<(usize, usize)>, at: Instant) -> Vec<String> {
        let ways = || pairs.iter().flat_map(|pair| load.way(*pair));
        let crossed: BTreeSet<&String> = ways().map(|crossed| &crossed.line).collect();
        let rings: BTreeSet<&String> =
            ways().filter(|it| it.way == HopKind::Ring).map(|crossed| &crossed.line).collect();
        let mut gone: BTreeMap<(&String, OutageKind), BTreeMap<&Option<String>, Instant>> = BTreeMap::new();
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
