//! Several results side by side: the value of each at every point that they share, the difference, and how sure that
//! is.
//!
//! | | |
//! |---|---|
//! | Specification | Points are the same where paper, figure, scope, load, flow and all that is varied are. Of several runs of a point (seeds, repetitions) the means are compared, with Welch's interval of their difference ([`stats::difference_half_width`]). Where single runs have intervals of their own, by `batches` or in columns of a file, that of the difference is the root of the sum of their squares; else the difference is all there is |
//! | Left out | tests of all points together, ratios, paired runs |

use std::collections::BTreeMap;

use crate::rows::{Parameter, Scope};
use crate::scenario::ConfigError;
use crate::sources::{Condition, Interval, Source, is_same, labelled};
use crate::stats::{self, Level, Summary};

mod place;
pub(crate) mod provenance;
mod show;
mod side;
#[cfg(test)]
mod tests;

use place::{Groups, RUNS};
use side::{Side, Sides};

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
    /// How many points the baseline and another one have, and how many differences of these are none at all, to the
    /// last digit.
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
                // Of single runs that have intervals of their own: errors that know nothing of each other add up by
                // their squares.
                .or_else(|| Some(baseline.half_width?.hypot(other.half_width?))),
        }
    }

    /// Whether zero is outside the interval; where there is none, whether there is a difference at all.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.value.abs() > self.half_width.unwrap_or(0.0)
    }
}

/// How large a difference may be. Written `3%`, `-3%` where only less than the baseline is too much, `+3%` where only
/// more is.
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

impl Comparison {
    /// Compares `sources` with the first of them, or with the one that [`Options::baseline`] names.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] where there are fewer than two, where none is called like the baseline, where a source lacks
    /// the value, or a file of measurements lacks a column that says which point is meant.
    pub fn new(mut sources: Vec<Source>, options: &Options) -> Result<Self, ConfigError> {
        if sources.len() < 2 {
            return Err(ConfigError::new("only one result").expected("two or more to compare"));
        }
        Source::check_over(&sources, &options.over)?;
        put_baseline_first(&mut sources, options)?;
        let mut left_out = Condition::lacking(&options.conditions, &sources)?;
        let unmet = unmet(&sources, options)?;
        let value = Source::find_in(&sources, &options.value).unwrap_or_else(|| options.value.clone());
        Source::check_units(&sources)?;
        let names = names(&sources, &value, options);
        let groups = Groups::of(&sources, options);
        let read = |source| Side::of(source, (&value, &names), &groups, options, &mut left_out);
        let sides = Sides(sources.iter().map(read).collect::<Result<_, _>>()?);
        let (compared, lacking): (Vec<&Key>, Vec<&Key>) =
            sides.points().into_iter().filter(|key| sides.share(key)).partition(|key| sides.share_value(key));
        let notes = provenance::differences(&sources);
        let unused = place::unused(&sources, &value, &names, options);
        let mut comparison = Self {
            options: options.clone(),
            value,
            sides: sources.iter().map(|source| source.name().to_owned()).collect(),
            shared: compared.len(),
            lacking: lacking.len(),
            equal: 0,
            points: compared.iter().map(|key| sides.compared(key, options.level)).collect(),
            alone: sides.alone(&sources),
            notes: notes
                .into_iter()
                .chain(sources.iter().filter_map(Source::failed))
                .chain(unused)
                .chain(unmet)
                .chain(left_out)
                .collect(),
            hint: sides.hint(),
        };
        let all = comparison.points.iter().flat_map(|point| comparison.differences(point));
        comparison.equal = all.filter(|(_, difference)| difference.value == 0.0).count();
        if options.changed {
            let changes = |point: &&Compared| comparison.differences(point).any(|(_, it)| it.value != 0.0);
            comparison.points = comparison.points.iter().filter(changes).cloned().collect();
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

/// Puts what the others are compared with before them, where [`Options::baseline`] names it.
fn put_baseline_first(sources: &mut Vec<Source>, options: &Options) -> Result<(), ConfigError> {
    if let Some(baseline) = &options.baseline {
        let names: Vec<&str> = sources.iter().map(Source::name).collect();
        let place = names.iter().position(|name| name == baseline);
        let place = place.ok_or_else(|| ConfigError::unknown(["--baseline"], "result", baseline, &names))?;
        let first = sources.remove(place);
        sources.insert(0, first);
    }
    Ok(())
}

/// Of which of `sources` the conditions leave nothing, in words.
///
/// # Errors
///
/// [`ConfigError`] where it is the baseline, or all others: then nothing is compared.
fn unmet(sources: &[Source], options: &Options) -> Result<Vec<String>, ConfigError> {
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
