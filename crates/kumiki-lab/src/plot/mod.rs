//! One figure of several results and of one's own measurements.
//!
//! | | |
//! |---|---|
//! | Specification | A curve for each source and each combination of what `series` names; what else is varied and differs makes curves of its own. Several records at one place are runs: their mean is drawn with its interval. Of measurements an interval may be given in columns of its own (`goodput_min_mbps` and `goodput_max_mbps`, or `goodput_mbps_ci`) |
//! | Left out | two vertical axes, fits through points |

use std::collections::{BTreeMap, BTreeSet};

use crate::figure::{Axis, Figure, Point as Mark, Scale, Series, Shape};
use crate::rows::{Parameter, Scope, bounds};
use crate::scenario::ConfigError;
use crate::sources::{Condition, FoundColumn, Interval, Source, empty, is_same, labelled, told, unit, without, words};
use crate::stats::{Level, Summary};

#[cfg(test)]
mod tests;

/// What is drawn.
#[derive(Clone, Debug)]
pub struct Options {
    /// The horizontal axis: the name of a varied value, of a value of the rows, or of a column. Without it the first
    /// that is varied and has several numbers.
    pub x: Option<String>,
    /// The vertical axis.
    pub y: String,
    /// What makes a curve each, together.
    pub series: Vec<String>,
    /// Varied names that make no curves of their own: their values count as runs.
    pub over: Vec<String>,
    /// Of all loads together, of each load, or of each flow.
    pub scope: Scope,
    /// What has to hold for a record to be drawn.
    pub conditions: Vec<Condition>,
    /// Whether equal steps along the horizontal axis are equal factors.
    pub log_x: bool,
    /// The same of the vertical axis.
    pub log_y: bool,
    /// Of the intervals.
    pub level: Level,
    /// Above the figure.
    pub title: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            x: None,
            y: "goodput_mbps".to_owned(),
            series: Vec::new(),
            over: Vec::new(),
            scope: Scope::Total,
            conditions: Vec::new(),
            log_x: false,
            log_y: false,
            level: Level::P99,
            title: None,
        }
    }
}

/// A record that is drawn.
struct DrawnRecord {
    curve: String,
    x: Parameter,
    y: f64,
    /// Of a measurement that has one.
    spread: Option<(f64, f64)>,
}

/// The figure of `sources`, and what is said of what is not in it: its caption has that, too.
///
/// # Errors
///
/// [`ConfigError`] where a source has no value of a name, a value is no number, or nothing is left to draw.
pub fn figure(sources: &[Source], options: &Options) -> Result<(Figure, Vec<String>), ConfigError> {
    Source::check_over(sources, &options.over)?;
    let mut left_out = Condition::lacking(&options.conditions, sources)?;
    left_out.extend(sources.iter().filter_map(Source::failed));
    let x = x_name(sources, options)?;
    let x = resolved(sources, &x)?;
    let y = resolved(sources, &options.y)?;
    let (mut drawn, mut unmet) = (Vec::new(), Vec::new());
    for source in sources {
        unmet.extend(Condition::unmet(&options.conditions, source));
        drawn.extend(of_source(source, &x, &y, sources, options, &mut left_out)?);
    }
    if drawn.is_empty() {
        let other = options
            .conditions
            .iter()
            .find(|it| it.name() == crate::sources::SCOPE && it.wanted_text() != options.scope.name());
        let fault = || {
            let fault = ConfigError::new(format!("nothing to draw: no record has both {x} and {y}"));
            fault.expected(match other {
                Some(it) => format!("--scope {} in the place of {it}", it.wanted_text()),
                None => "other names, another --scope, or fewer conditions".to_owned(),
            })
        };
        return Err(unmet.into_iter().next().unwrap_or_else(fault));
    }
    let mut figure = draw(drawn, &x, &y, options);
    left_out.extend(unmet.iter().map(ConfigError::to_string));
    for note in &left_out {
        figure.caption = format!("{} {note}.", figure.caption).trim_start().to_owned();
    }
    Ok((figure, left_out))
}

/// The name as the sources call it that have such a value.
fn resolved(sources: &[Source], name: &str) -> Result<String, ConfigError> {
    Source::find_in(sources, name).map_or_else(
        || Err(sources.first().map_or_else(|| ConfigError::new("nothing to draw"), |it| it.lacks(name))),
        Ok,
    )
}

/// The horizontal axis: the one asked for, or the first that is varied.
fn x_name(sources: &[Source], options: &Options) -> Result<String, ConfigError> {
    if let Some(x) = &options.x {
        return Ok(x.clone());
    }
    let results = sources.iter().filter(|source| !source.is_measured());
    for source in results {
        for name in source.keys() {
            let Some(found) = source.find(name).filter(|_| !options.series.iter().any(|it| is_same(it, name))) else {
                continue;
            };
            let mut values = source.records().filter_map(|record| record.number(&found));
            let first = values.next();
            if first.is_some() && values.any(|value| Some(value) != first) {
                return Ok(name.to_owned());
            }
        }
    }
    // What is varied and is no number is an axis of names.
    let mut names: Vec<&str> = Vec::new();
    for source in sources {
        let varies = |name: &&str| {
            let values = source.find(name).map(|found| source.records().filter_map(move |record| record.get(&found)));
            let mut values = values.into_iter().flatten();
            let first = values.next();
            first.is_some() && values.any(|value| Some(value) != first)
        };
        let others = source.keys().into_iter().filter(|name| !options.series.iter().any(|it| is_same(it, name)));
        names.extend(others.filter(varies).filter(|name| !is_same(name, &options.y)));
    }
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    let fault =
        ConfigError::new("nothing that is varied has several numbers, so it is not known what the horizontal axis is");
    Err(match names.as_slice() {
        [] => fault.expected("--x with the name of a value of the rows, or of a column"),
        [only] => fault.expected(format!("--x {only}, or another value of the rows")),
        several => fault.expected(format!("--x with one of {}, or another value of the rows", several.join(", "))),
    })
}

/// What tells curves of one source apart: what was asked for, and what else is varied, or is a word, and differs.
/// A column of remarks beside results, words in some lines alone, tells nothing apart, and `left_out` gets that.
fn curve_names(
    source: &Source,
    x: &str,
    sources: &[Source],
    options: &Options,
    left_out: &mut Vec<String>,
) -> Result<Vec<(String, FoundColumn)>, ConfigError> {
    // What one has in per cent and another as a bare number has one name in all curves.
    let of_all = |name: &str, found: FoundColumn| {
        let shared = Source::find_in(sources, name).and_then(|name| source.find(&name).map(|found| (name, found)));
        shared.unwrap_or_else(|| (name.to_owned(), found))
    };
    let mut names: Vec<(String, FoundColumn)> = Vec::new();
    for name in &options.series {
        match source.find(name) {
            Some(found) => names.push(of_all(name, found)),
            // What a measurement does not say, it is one of.
            None if source.is_measured() || sources.iter().any(|it| it.find(name).is_some()) => {}
            None => return Err(source.lacks(name)),
        }
    }
    let asked = names.len();
    let records = Condition::select(&options.conditions, source);
    let results: Vec<&str> = sources.iter().filter(|it| !it.is_measured()).flat_map(Source::keys).collect();
    let is_varied = |name: &str| results.iter().any(|key| is_same(key, name));
    let mut remarks: Vec<&str> = Vec::new();
    let mut known: BTreeSet<String> = names.iter().map(|(_, found)| found.name().to_owned()).collect();
    for name in source.keys() {
        // Of what measurements have all that is drawn is of one scope, or has a name of its own.
        let is_other = is_same(x, name)
            || source.says_scope(name)
            || options.over.iter().any(|over| is_same(over, name))
            || known.contains(name)
            || name == options.y;
        let Some(found) = source.find(name).filter(|_| !is_other) else {
            continue;
        };
        let values: Vec<Parameter> = records.iter().filter_map(|record| record.get(&found)).collect();
        let is_word = values.iter().any(|value| matches!(value, Parameter::Text(_) | Parameter::Switch(_)));
        let differs = values.iter().any(|value| Some(value) != values.first());
        let has_gaps = || records.iter().any(|it| it.is_of(options.scope) && it.get(&found).is_none());
        let is_of_rows = is_varied(name) || ["load", "flow"].contains(&name);
        if is_word && source.is_measured() && !results.is_empty() && !is_of_rows && has_gaps() {
            remarks.push(name);
        } else if differs && (is_varied(name) || is_word) {
            known.insert(name.to_owned());
            names.push(of_all(name, found));
        }
    }
    left_out.extend(not_used(source, &remarks));
    if let Some((_, others)) = names.split_at_mut_checked(asked) {
        others.sort_by_key(|(name, _)| rank(name, &results));
    }
    Ok(names)
}

/// That columns of remarks make no curves, where there are such.
fn not_used(source: &Source, remarks: &[&str]) -> Option<String> {
    let heads: Vec<&str> = remarks.iter().map(|name| source.head(name)).collect();
    let (heads, names) = (heads.join(", "), remarks.join(","));
    let note = || format!("not used of {}: {heads}; --series {names} makes curves of it", source.name());
    (!remarks.is_empty()).then(note)
}

/// Where a name stands among those that tell curves apart. They stand in one order, whatever that of a file's columns
/// is: as `results` have them, the load and its flow last.
fn rank(name: &str, results: &[&str]) -> usize {
    match name {
        "load" => usize::MAX - 1,
        "flow" => usize::MAX,
        _ => results.iter().position(|it| is_same(it, name)).unwrap_or(usize::MAX - 2),
    }
}

/// What is drawn of `source`. `left_out` gets what is said of measurements that lack a value.
fn of_source(
    source: &Source,
    x: &str,
    y: &str,
    sources: &[Source],
    options: &Options,
    left_out: &mut Vec<String>,
) -> Result<Vec<DrawnRecord>, ConfigError> {
    let at = source.find(x).ok_or_else(|| source.lacks(x))?;
    let value = source.find(y).ok_or_else(|| source.lacks(y))?;
    source.check_numbers(&value)?;
    source.check_most_numbers(&at)?;
    source.check_scopes()?;
    let names = curve_names(source, x, sources, options, left_out)?;
    let ends = Interval::of(source, y)?;
    let mut drawn = Vec::new();
    let mut records = Condition::select(&options.conditions, source);
    // Queues and channels of a file of values over time are of no scope that rows have, and have values of their own.
    records.retain(|record| record.is_of(options.scope) || record.is_of_no_rows() && record.number(&value).is_some());
    left_out.extend([&at, &value].into_iter().filter_map(|found| empty(source, &records, found, "not drawn")));
    left_out.extend([&at, &value].into_iter().filter_map(|found| without(source, &records, found, "not drawn")));
    left_out.extend(ends.as_ref().and_then(|ends| ends.open(source, &records)));
    for record in records {
        let (Some(x), Some(y)) = (record.get(&at), record.number(&value)) else {
            continue;
        };
        let own = names.iter().filter_map(|(name, found)| Some(labelled(name, &record.get(found)?)));
        let row = record.row();
        // What is asked for is told already.
        let is_told = |name: &str| names.iter().any(|(known, _)| known == name);
        let load = row.filter(|_| !is_told("load")).and_then(|row| row.load.clone());
        let flow = row.filter(|_| !is_told("flow")).and_then(|row| row.flow).map(|flow| format!("flow {flow}"));
        let named = (sources.len() > 1).then(|| source.name().to_owned());
        let parts: Vec<String> = named.into_iter().chain(own).chain(load).chain(flow).collect();
        let spread = ends.as_ref().and_then(|ends| ends.around(y, record));
        drawn.push(DrawnRecord { curve: parts.join(", "), x, y, spread });
    }
    Ok(drawn)
}

/// Values at one place of a curve.
struct CurvePlace {
    x: Parameter,
    values: Vec<f64>,
    spread: Option<(f64, f64)>,
}

/// Values by name, in the order in which the names came.
#[derive(Default)]
struct InOrder<T> {
    values: Vec<(String, T)>,
    /// Where each name stands.
    places: BTreeMap<String, usize>,
}

impl<T: Default> InOrder<T> {
    /// The value of `name`, which is added where there is none.
    #[expect(clippy::indexing_slicing, reason = "each place is one of the values")]
    fn entry(&mut self, name: &str) -> &mut T {
        let at = match self.places.get(name) {
            Some(at) => *at,
            None => {
                self.values.push((name.to_owned(), T::default()));
                self.places.insert(name.to_owned(), self.values.len() - 1);
                self.values.len() - 1
            }
        };
        &mut self.values[at].1
    }
}

/// All that is drawn, by curve and place, both in the order in which they come, and found by name: a file of
/// measurements may have a million of them.
#[derive(Default)]
struct Places {
    curves: InOrder<BTreeMap<String, CurvePlace>>,
    names: InOrder<()>,
    /// Whether one of them is no number.
    has_words: bool,
}

impl Places {
    fn of(drawn: Vec<DrawnRecord>) -> Self {
        let mut all = Self::default();
        for it in drawn {
            let name = told(&it.x);
            all.has_words |= crate::sources::number(&it.x).is_none();
            all.names.entry(&name);
            let places = all.curves.entry(&it.curve);
            let place = places.entry(name).or_insert_with(|| CurvePlace { x: it.x, values: Vec::new(), spread: None });
            place.values.push(it.y);
            place.spread = place.spread.or(it.spread);
        }
        all
    }

    /// Every place of every curve.
    fn all(&self) -> impl Iterator<Item = &CurvePlace> {
        self.curves.values.iter().flat_map(|(_, places)| places.values())
    }

    /// The curves, of values between these `ends`.
    fn series(&self, level: Level, ends: Option<(f64, f64)>) -> Vec<Series> {
        let curve = |(label, places): &(String, BTreeMap<String, CurvePlace>)| {
            let points =
                places.values().filter_map(|place| mark(place, !self.has_words, &self.names.places, (level, ends)));
            let mut points: Vec<Mark> = points.collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            let shape = if self.has_words { Shape::Bars } else { Shape::Line };
            Series { label: label.clone(), shape, points, ..Series::default() }
        };
        self.curves.values.iter().map(curve).collect()
    }

    /// The scale of the horizontal axis, where equal steps are equal factors (`is_log`), of octets or of something
    /// else.
    fn scale(&self, is_log: bool, in_octets: bool) -> Scale {
        match (self.has_words, in_octets, is_log) {
            (true, ..) => Scale::Names(self.names.values.iter().map(|(name, ())| name.clone()).collect()),
            (false, true, _) => Scale::Octets,
            (false, false, true) => Scale::Log10,
            (false, false, false) => Scale::Linear,
        }
    }
}

fn draw(drawn: Vec<DrawnRecord>, x: &str, y: &str, options: &Options) -> Figure {
    let places = Places::of(drawn);
    let ends = bounds(y);
    let series = places.series(options.level, ends);
    let in_octets = unit(x) == "octets" && options.log_x;
    let mut caption = Vec::new();
    if places.all().any(|place| place.values.len() > 1) {
        let level = options.level.percent();
        let within = ends.map_or_else(String::new, |(low, high)| format!(", between {low} and {high}"));
        caption.push(format!("Several runs at one place: their mean, with its {level} % interval{within}."));
    }
    if places.all().any(|place| place.spread.is_some()) {
        caption.push("Bars of measurements: as measured.".to_owned());
    }
    let (log_x, log_y) = (options.log_x && !places.has_words, options.log_y && !places.has_words);
    caption.extend(open_below(&series, log_y));
    caption.extend(without_place(&series, log_x, log_y));
    Figure {
        title: options.title.clone().unwrap_or_else(|| format!("{} against {}", words(y), words(x))),
        x: Axis {
            label: words(x),
            unit: if in_octets { String::new() } else { unit(x).to_owned() },
            scale: places.scale(options.log_x, in_octets),
            range: None,
        },
        y: Axis {
            label: words(y),
            unit: unit(y).to_owned(),
            scale: if options.log_y { Scale::Log10 } else { Scale::Linear },
            range: None,
        },
        series,
        limits: Vec::new(),
        caption: caption.join(" "),
        ..Figure::default()
    }
}

/// How many intervals of what is drawn reach to where a logarithmic axis has no place, where there are such.
fn open_below(series: &[Series], log_y: bool) -> Option<String> {
    let points = series.iter().flat_map(|series| &series.points).filter(|point| point.y > 0.0);
    let open = points.filter(|point| point.spread.is_some_and(|(low, _)| low <= 0.0)).count();
    let has = if open == 1 { "interval has" } else { "intervals have" };
    (log_y && open > 0).then(|| format!("{open} {has} no lower end: it is not above zero."))
}

/// How many values a logarithmic axis has no place for, where there are such.
#[must_use]
pub fn without_place(series: &[Series], log_x: bool, log_y: bool) -> Option<String> {
    let points = || series.iter().flat_map(|series| &series.points);
    let out = points().filter(|point| log_x && point.x <= 0.0 || log_y && point.y <= 0.0).count();
    let all = points().count();
    match out {
        0 => None,
        1 => {
            Some(format!("1 of {all} values is not drawn: a logarithmic axis has no place for what is not above zero."))
        }
        _ => Some(format!(
            "{out} of {all} values are not drawn: a logarithmic axis has no place for what is not above zero."
        )),
    }
}

fn mark(
    place: &CurvePlace,
    are_numbers: bool,
    names: &BTreeMap<String, usize>,
    (level, ends): (Level, Option<(f64, f64)>),
) -> Option<Mark> {
    let x = if are_numbers {
        crate::sources::number(&place.x)?
    } else {
        let at = names.get(&told(&place.x)).and_then(|at| u32::try_from(*at).ok())?;
        f64::from(at)
    };
    let summary = Summary::of(&place.values, level)?;
    let mark = Mark::with_half_width(x, summary.mean, summary.half_width);
    Some(Mark { spread: mark.spread.or(place.spread), ..mark.within(ends) })
}
