//! Several results side by side: the value of each at every point that they share, the difference, and how sure that is.
//!
//! | | |
//! |---|---|
//! | Specification | Points are the same where paper, figure, scope, load, flow and all that is varied are. Of several runs of a point (seeds, repetitions) the means are compared, with Welch's interval of their difference ([`stats::difference_half_width`]). Where single runs have intervals of their own, by `batches` or in columns of a file, that of the difference is the root of the sum of their squares; else the difference is all there is |
//! | Left out | tests of all points together, ratios, paired runs |

use std::collections::{BTreeMap, BTreeSet};

use crate::rows::{HALF_WIDTH, Parameter, Scope};
use crate::scenario::Fault;
use crate::sources::{Condition, Found, Interval, Record, Source, empty, is_same, labelled, number, told, without};
use crate::stats::{self, Level, Summary};

mod place;
pub(crate) mod provenance;
mod show;
#[cfg(test)]
mod tests;

use place::{FLOW, Groups, LOAD, RUNS};

/// What is compared.
#[derive(Clone, Debug)]
pub struct Options {
    /// The value, by its name in the rows.
    pub value: String,
    /// Of all loads together, of each load, or of each flow.
    pub scope: Scope,
    /// Of the intervals.
    pub level: Level,
    /// The name of what the others are compared with; the first unless given.
    pub baseline: Option<String>,
    /// Varied names that do not tell points apart: their values count as runs of one point.
    pub over: Vec<String>,
    /// What has to hold for a record to be looked at.
    pub conditions: Vec<Condition>,
    /// The horizontal axis of the figure.
    pub x: Option<String>,
    /// Only points at which something differs.
    pub changed: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            value: "goodput_mbps".to_owned(),
            scope: Scope::Total,
            level: Level::P99,
            baseline: None,
            over: Vec::new(),
            conditions: Vec::new(),
            x: None,
            changed: false,
        }
    }
}

/// Results side by side.
#[derive(Clone, Debug)]
pub struct Comparison {
    options: Options,
    /// The name of the value, as it was found.
    value: String,
    /// What is compared; the first is what the others are compared with.
    sides: Vec<String>,
    points: Vec<Compared>,
    /// How many points the baseline and another one have, and how many differences of these are none at all, to the last digit.
    shared: usize,
    equal: usize,
    /// How many points they have both that lack the value in one of the two.
    lacking: usize,
    /// The points that are not compared: which sides alone have them, and how they are called.
    alone: Vec<(String, Vec<String>)>,
    /// What differs in where they come from.
    notes: Vec<String>,
    /// A varied name without which there would be more in common.
    hint: Option<String>,
}

/// A point, and what each side has of it.
#[derive(Clone, Debug)]
struct Compared {
    key: Key,
    varied: Vec<(String, Parameter)>,
    sides: Vec<Option<Summary>>,
}

/// What makes two records of the same point.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    paper: Option<u8>,
    figure: String,
    varied: BTreeMap<String, String>,
    load: Option<String>,
    flow: Option<u32>,
    /// Which of several rows of one run that say nothing else.
    number: usize,
}

impl Key {
    fn without(&self, name: &str) -> Self {
        let mut key = self.clone();
        key.varied.remove(name);
        key
    }
}

/// How a value differs from that of the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The other's mean less the baseline's.
    pub value: f64,
    /// In per cent of the baseline's; nothing where that is zero, or next to it.
    pub percent: Option<f64>,
    /// Half the width of the interval of the difference; nothing where nothing says how far it may be chance.
    pub half_width: Option<f64>,
}

impl Difference {
    fn of(baseline: &Summary, other: &Summary, level: Level) -> Self {
        let value = other.mean - baseline.mean;
        Self {
            value,
            percent: Some(100.0 * value / baseline.mean.abs()).filter(|percent| percent.is_finite()),
            half_width: stats::difference_half_width(baseline, other, level)
                // Of single runs that have intervals of their own: errors that know nothing of each other add up by their squares.
                .or_else(|| Some(baseline.half_width?.hypot(other.half_width?))),
        }
    }

    /// Whether zero is outside the interval; where there is none, whether there is a difference at all.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.value.abs() > self.half_width.unwrap_or(0.0)
    }
}

/// How large a difference may be. Written `3%`, `-3%` where only less than the baseline is too much, `+3%` where only more is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allowance {
    percent: f64,
    less: bool,
    more: bool,
}

impl core::str::FromStr for Allowance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (less, more) = (!text.starts_with('+'), !text.starts_with('-'));
        let number = text.strip_prefix(['+', '-']).unwrap_or(text);
        let number = number.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let percent = number.filter(|percent| percent.is_finite() && percent.is_sign_positive());
        let percent = percent
            .ok_or("expected per cent, such as 3%, or -3% for what is less alone, +3% for what is more alone")?;
        Ok(Self { percent, less, more })
    }
}

impl Allowance {
    /// Whether a difference is more than is allowed, and not chance.
    #[must_use]
    pub fn is_exceeded(&self, difference: &Difference) -> bool {
        let is_large = difference.percent.is_none_or(|percent| percent.abs() > self.percent);
        let counts = if difference.value < 0.0 { self.less } else { self.more };
        counts && is_large && difference.is_certain()
    }
}

/// Of one side: its runs by point, in the order in which the points are there.
type Runs = (Vec<Key>, BTreeMap<Key, Seen>);

/// What one side has of a point.
struct Seen {
    varied: Vec<(String, Parameter)>,
    /// Of each run that has one.
    values: Vec<f64>,
    /// Half the interval that the last run has of its own, and its level where that is known.
    own: Option<(f64, Option<Level>)>,
}

impl Seen {
    fn summary(&self, level: Level) -> Option<Summary> {
        let mut summary = Summary::of(&self.values, level)?;
        if let (Some((half, known)), [_]) = (self.own, self.values.as_slice()) {
            summary.half_width = Some(half);
            summary.level = known.unwrap_or(level);
        }
        Some(summary)
    }
}

impl Comparison {
    /// Compares `sources` with the first of them, or with the one that [`Options::baseline`] names.
    ///
    /// # Errors
    ///
    /// [`Fault`] where there are fewer than two, where none is called like the baseline, where a source lacks the value, or a file of measurements lacks a column
    /// that says which point is meant.
    pub fn new(mut sources: Vec<Source>, options: &Options) -> Result<Self, Fault> {
        if sources.len() < 2 {
            return Err(Fault::new("only one result").expected("two or more to compare"));
        }
        Source::check_over(&sources, &options.over)?;
        if let Some(baseline) = &options.baseline {
            let names: Vec<&str> = sources.iter().map(Source::name).collect();
            let place = names.iter().position(|name| name == baseline);
            let place = place.ok_or_else(|| Fault::unknown(["--baseline"], "result", baseline, &names))?;
            let first = sources.remove(place);
            sources.insert(0, first);
        }
        let mut left_out = Condition::lacking(&options.conditions, &sources)?;
        let unmet = unmet(&sources, options)?;
        let value = Source::find_in(&sources, &options.value).unwrap_or_else(|| options.value.clone());
        Source::check_units(&sources)?;
        let names = names(&sources, &value, options);
        let groups = Groups::of(&sources, options);
        let mut sides = Vec::new();
        for source in &sources {
            sides.push(runs(source, &value, &names, &groups, options, &mut left_out)?);
        }
        let mut order: Vec<&Key> = Vec::new();
        let mut seen = BTreeSet::new();
        for key in sides.iter().flat_map(|(order, _)| order) {
            if seen.insert(key) {
                order.push(key);
            }
        }
        let has = |key: &Key| sides.iter().filter(|(_, runs)| runs.contains_key(key)).count();
        let in_baseline = |key: &Key| sides.first().is_some_and(|(_, runs)| runs.contains_key(key));
        let has_value = |(_, runs): &Runs, key: &Key| runs.get(key).is_some_and(|seen| !seen.values.is_empty());
        let with_value = |key: &Key| sides.iter().filter(|side| has_value(side, key)).count();
        let shared: Vec<&&Key> = order.iter().filter(|key| in_baseline(key) && has(key) > 1).collect();
        let are_compared = |key: &Key| sides.first().is_some_and(|side| has_value(side, key)) && with_value(key) > 1;
        let lacking = shared.iter().filter(|key| !are_compared(key)).count();
        let points = shared.into_iter().filter(|key| are_compared(key));
        let points: Vec<Compared> = points.map(|key| compared(key, &sides, options.level)).collect();
        let alone = alone(
            &sources,
            &sides,
            order.iter().filter(|key| with_value(key) > 0 && (!in_baseline(key) || has(key) == 1)),
        );
        let notes = provenance::differences(&sources);
        let unused = place::unused(&sources, &value, &names, options);
        let mut comparison = Self {
            options: options.clone(),
            value,
            sides: sources.iter().map(|source| source.name().to_owned()).collect(),
            shared: points.len(),
            lacking,
            equal: 0,
            points,
            alone,
            notes: notes
                .into_iter()
                .chain(sources.iter().filter_map(Source::failed))
                .chain(unused)
                .chain(unmet)
                .chain(left_out)
                .collect(),
            hint: hint(&sides),
        };
        let is_none = |difference: &Difference| difference.value == 0.0;
        let all = comparison.points.iter().flat_map(|point| comparison.differences(point));
        comparison.equal = all.filter(|(_, difference)| is_none(difference)).count();
        if options.changed {
            let kept: Vec<Compared> = comparison
                .points
                .iter()
                .filter(|point| comparison.differences(point).any(|(_, difference)| !is_none(&difference)))
                .cloned()
                .collect();
            comparison.points = kept;
        }
        Ok(comparison)
    }

    /// How many points the baseline and another one have.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared
    }

    /// Whether the baseline has no point in common with another one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shared == 0
    }

    /// Why nothing is compared, where that is so: no point is in two results, or none has the value in two.
    #[must_use]
    pub fn why_empty(&self) -> String {
        if self.lacking == 0 {
            return "no point is in two of the results".to_owned();
        }
        format!("no point has {} in two of the results", self.value)
    }

    /// A varied name without which the baseline would have a point in common with another one, where it has none.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The differences from the baseline that are more than is allowed: at which point, of which result, and how much.
    #[must_use]
    pub fn exceeding(&self, allowed: &Allowance) -> Vec<(String, String, Difference)> {
        let mut found = Vec::new();
        for point in &self.points {
            for (name, difference) in self.differences(point) {
                if allowed.is_exceeded(&difference) {
                    found.push((label(&point.key, &point.varied, None), name.to_owned(), difference));
                }
            }
        }
        found
    }

    fn differences<'a>(&'a self, point: &'a Compared) -> impl Iterator<Item = (&'a str, Difference)> {
        let mut sides = point.sides.iter().zip(&self.sides);
        let baseline = sides.next().and_then(|(side, _)| side.as_ref());
        let level = self.options.level;
        sides.filter_map(move |(side, name)| Some((name.as_str(), Difference::of(baseline?, side.as_ref()?, level))))
    }
}

/// Of which of `sources` the conditions leave nothing, in words.
///
/// # Errors
///
/// [`Fault`] where it is the baseline, or all others: then nothing is compared.
fn unmet(sources: &[Source], options: &Options) -> Result<Vec<String>, Fault> {
    let mut all = Vec::new();
    for (place, source) in sources.iter().enumerate() {
        match Condition::unmet(&options.conditions, source) {
            Some(fault) if place == 0 || all.len() + 2 == sources.len() => return Err(fault),
            Some(fault) => all.push(fault.to_string()),
            None => {}
        }
    }
    Ok(all)
}

/// By the sides that have them, the names of `points`.
fn alone<'a>(
    sources: &[Source],
    sides: &[Runs],
    points: impl Iterator<Item = &'a &'a Key>,
) -> Vec<(String, Vec<String>)> {
    let mut all: BTreeMap<Vec<usize>, Vec<String>> = BTreeMap::new();
    for key in points {
        let own = sides.iter().enumerate().filter_map(|(side, (_, runs))| Some((side, runs.get(key)?)));
        let (own, runs): (Vec<usize>, Vec<_>) = own.unzip();
        let varied = runs.first().map_or(&[][..], |seen| &seen.varied);
        all.entry(own).or_default().push(label(key, varied, None));
    }
    let names = |own: Vec<usize>| {
        let names: Vec<&str> = own.iter().filter_map(|side| sources.get(*side).map(Source::name)).collect();
        names.join(" and ")
    };
    all.into_iter().map(|(own, labels)| (names(own), labels)).collect()
}

fn compared(key: &Key, sides: &[Runs], level: Level) -> Compared {
    let mut varied = None;
    let of_side = |(_, runs): &Runs| {
        let seen = runs.get(key)?;
        varied.get_or_insert_with(|| seen.varied.clone());
        seen.summary(level)
    };
    let summaries = sides.iter().map(of_side).collect();
    Compared { key: key.clone(), sides: summaries, varied: varied.unwrap_or_default() }
}

/// The names that tell points apart.
fn names(sources: &[Source], value: &str, options: &Options) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for source in sources.iter().filter(|source| !source.is_measured()) {
        for name in source.keys() {
            let name = Source::find_in(sources, name).unwrap_or_else(|| name.to_owned());
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    if sources.iter().all(Source::is_measured) {
        let intervals = Interval::names(value);
        let keys = sources.first().map(Source::keys).unwrap_or_default();
        let is_key = |name: &&str| {
            sources.iter().all(|source| source.find(name).is_some())
                && *name != value
                && !RUNS.contains(name)
                && !intervals.iter().any(|it| it == name)
        };
        names.extend(keys.into_iter().filter(is_key).map(str::to_owned));
    }
    let over = &options.over;
    names.retain(|name| !over.contains(name) && !over.iter().any(|it| is_same(it, name)));
    // A condition leaves one value, which is nothing that tells apart from results that do not say what they have.
    let is_chosen = |name: &str| options.conditions.iter().any(|condition| is_same(condition.name(), name));
    names.retain(|name| !is_chosen(name) || sources.iter().all(|source| source.find(name).is_some()));
    names
}

/// The runs of one source by point. `left_out` gets what is said of measurements without a value.
fn runs(
    source: &Source,
    value: &str,
    names: &[String],
    groups: &Groups,
    options: &Options,
    left_out: &mut Vec<String>,
) -> Result<Runs, Fault> {
    let found = source.find(value).ok_or_else(|| source.lacks(value))?;
    source.check_numbers(&found)?;
    let mut columns: Vec<(String, Found)> = Vec::new();
    for name in names {
        match source.find(name) {
            Some(found) => columns.push((name.clone(), found)),
            None if source.is_measured() => return Err(source.lacks(name)),
            None => {}
        }
    }
    let interval = Interval::of(source, value)?;
    let own = |record: Record<'_>, value: f64| -> Option<(f64, Option<Level>)> {
        let half = match &interval {
            Some(interval) => interval.around(value, record).map(|(low, high)| ((high - low) / 2.0, None)),
            None if found.name() == "goodput_mbps" => {
                record.row()?.parameter(HALF_WIDTH).and_then(number).map(|half| (half, Some(Level::P95)))
            }
            None => None,
        };
        half.filter(|(half, _)| half.is_finite() && *half > 0.0)
    };
    let (mut order, mut runs): Runs = (Vec::new(), BTreeMap::new());
    let mut seen: BTreeMap<(Key, u64, u32), usize> = BTreeMap::new();
    let mut records = Condition::select(&options.conditions, source);
    records.retain(|record| record.is_of(options.scope));
    left_out.extend(empty(source, &records, &found, "not compared"));
    left_out.extend(without(source, &records, &found, "not compared"));
    left_out.extend(interval.as_ref().and_then(|it| it.open(source, &records)));
    for (_, column) in &columns {
        left_out.extend(empty(source, &records, column, "of no point that has one"));
    }
    for record in records {
        let value = record.number(&found);
        if value.is_none() && source.is_measured() {
            continue;
        }
        let varied: Vec<(String, Parameter)> =
            columns.iter().filter_map(|(name, found)| Some((name.clone(), record.get(found)?))).collect();
        let mut key =
            Key { varied: varied.iter().map(|(name, value)| (name.clone(), told(value))).collect(), ..Key::default() };
        if let Some(row) = record.row() {
            (key.paper, key.figure) = (row.paper, row.figure.clone());
            (key.load, key.flow) = (row.load.clone(), row.flow);
            // Only where runs are told apart by their seeds can two rows of one run be told from two runs.
            if options.over.is_empty() && value.is_some() {
                let count = seen.entry((key.clone(), row.seed, row.repetition)).or_default();
                key.number = *count;
                *count += 1;
            }
        } else {
            key = Key { varied: key.varied, ..groups.place(record, source, options)? };
        }
        // Where they count as runs nothing tells them apart.
        let is_over = |name: &str| options.over.iter().any(|over| over == name);
        key.load = key.load.filter(|_| !is_over(LOAD));
        key.flow = key.flow.filter(|_| !is_over(FLOW));
        let entry = runs.entry(key.clone()).or_insert_with(|| {
            order.push(key);
            Seen { varied, values: Vec::new(), own: None }
        });
        if let Some(value) = value {
            entry.values.push(value);
            entry.own = own(record, value);
        }
    }
    Ok((order, runs))
}

/// The varied name without which the sides would have a point in common, where they have none.
fn hint(sides: &[Runs]) -> Option<String> {
    let (first, others) = sides.split_first()?;
    let is_common = |key: &&Key| others.iter().any(|(_, runs)| runs.contains_key(*key));
    if first.0.iter().any(|key| is_common(&key)) {
        return None;
    }
    let names: BTreeSet<&String> =
        sides.iter().flat_map(|(order, _)| order.iter().flat_map(|it| it.varied.keys())).collect();
    let joins = |name: &&&String| {
        let own: BTreeSet<Key> = first.0.iter().map(|key| key.without(name)).collect();
        others.iter().flat_map(|(order, _)| order).any(|key| own.contains(&key.without(name)))
    };
    names.iter().find(joins).map(|name| (*name).clone())
}

/// How a point is called; `but` is told elsewhere.
fn label(key: &Key, varied: &[(String, Parameter)], but: Option<&str>) -> String {
    let place = key.paper.map(|paper| format!("paper {paper}"));
    let figure = Some(key.figure.clone()).filter(|figure| !figure.is_empty());
    let values = varied.iter().filter(|(name, _)| Some(name.as_str()) != but);
    let values = values.map(|(name, value)| labelled(name, value));
    let flow = key.flow.map(|flow| format!("flow {flow}"));
    let number = (key.number > 0).then(|| format!("row {}", key.number + 1));
    let place = if but.is_none() { [place, figure] } else { [None, None] };
    let parts = place.into_iter().flatten().chain(values).chain(key.load.clone()).chain(flow).chain(number);
    let label = parts.collect::<Vec<_>>().join(", ");
    if label.is_empty() && but.is_none() { "the only point".to_owned() } else { label }
}
