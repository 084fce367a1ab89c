//! What is compared: the runs of each side, by point.

use std::collections::{BTreeMap, BTreeSet};

use super::place::{FLOW, Groups, LOAD};
use super::{Compared, Key, Options, label};
use crate::rows::{HALF_WIDTH, Parameter};
use crate::scenario::ConfigError;
use crate::sources::{Condition, FoundColumn, Interval, Record, Source, empty, number, told, without};
use crate::stats::{Level, Summary};

/// One side: its runs by point, in the order in which the points are there.
#[derive(Default)]
pub(super) struct Side {
    order: Vec<Key>,
    runs: BTreeMap<Key, PointRuns>,
}

/// What one side has of a point.
struct PointRuns {
    varied: Vec<(String, Parameter)>,
    /// Of each run that has one.
    values: Vec<f64>,
    /// Half the interval that the last run has of its own, and its level where that is known.
    own: Option<(f64, Option<Level>)>,
}

impl PointRuns {
    fn summary(&self, level: Level) -> Option<Summary> {
        let mut summary = Summary::of(&self.values, level)?;
        if let (Some((half, known)), [_]) = (self.own, self.values.as_slice()) {
            summary.half_width = Some(half);
            summary.level = known.unwrap_or(level);
        }
        Some(summary)
    }
}

/// What says of a record of a source which point it is of.
struct PointColumns<'a> {
    source: &'a Source,
    /// The names that tell points apart, as far as the source has them.
    columns: Vec<(String, FoundColumn)>,
    groups: &'a Groups,
    options: &'a Options,
}

impl<'a> PointColumns<'a> {
    fn of(source: &'a Source, names: &[String], groups: &'a Groups, options: &'a Options) -> Result<Self, ConfigError> {
        let mut columns: Vec<(String, FoundColumn)> = Vec::new();
        for name in names {
            match source.find(name) {
                Some(found) => columns.push((name.clone(), found)),
                None if source.is_measured() => return Err(source.lacks(name)),
                None => {}
            }
        }
        Ok(Self { source, columns, groups, options })
    }

    /// What is varied, as `record` has it.
    fn varied(&self, record: Record<'_>) -> Vec<(String, Parameter)> {
        self.columns.iter().filter_map(|(name, found)| Some((name.clone(), record.get(found)?))).collect()
    }

    /// The point of `record`, which has what is `varied`.
    fn key(&self, record: Record<'_>, varied: &[(String, Parameter)]) -> Result<Key, ConfigError> {
        let varied = varied.iter().map(|(name, value)| (name.clone(), told(value))).collect();
        let mut key = match record.row() {
            Some(row) => Key {
                varied,
                paper: row.paper,
                figure: row.figure.clone(),
                load: row.load.clone(),
                flow: row.flow,
                number: 0,
            },
            None => Key { varied, ..self.groups.place(record, self.source, self.options)? },
        };
        // Where they count as runs nothing tells them apart.
        let is_over = |name: &str| self.options.over.iter().any(|over| over == name);
        key.load = key.load.filter(|_| !is_over(LOAD));
        key.flow = key.flow.filter(|_| !is_over(FLOW));
        Ok(key)
    }
}

/// Half the interval that a `value` has of its own, and its level where that is known: in columns of its file
/// (`interval`), or, of goodput (`is_goodput`), by batches.
fn own_interval(
    (record, value): (Record<'_>, f64),
    interval: Option<&Interval>,
    is_goodput: bool,
) -> Option<(f64, Option<Level>)> {
    let half = match interval {
        Some(interval) => interval.around(value, record).map(|(low, high)| ((high - low) / 2.0, None)),
        None if is_goodput => record.row()?.parameter(HALF_WIDTH).and_then(number).map(|half| (half, Some(Level::P95))),
        None => None,
    };
    half.filter(|(half, _)| half.is_finite() && *half > 0.0)
}

impl Side {
    /// The runs of `source`, of which `names` tell points apart. `left_out` gets what is said of measurements without a
    /// value.
    pub(super) fn of(
        source: &Source,
        (value, names): (&str, &[String]),
        groups: &Groups,
        options: &Options,
        left_out: &mut Vec<String>,
    ) -> Result<Self, ConfigError> {
        let found = source.find(value).ok_or_else(|| source.lacks(value))?;
        source.check_numbers(&found)?;
        let points = PointColumns::of(source, names, groups, options)?;
        let interval = Interval::of(source, value)?;
        let mut records = Condition::select(&options.conditions, source);
        records.retain(|record| record.is_of(options.scope));
        left_out.extend(empty(source, &records, &found, "not compared"));
        left_out.extend(without(source, &records, &found, "not compared"));
        left_out.extend(interval.as_ref().and_then(|it| it.open(source, &records)));
        for (_, column) in &points.columns {
            left_out.extend(empty(source, &records, column, "of no point that has one"));
        }
        let mut side = Self::default();
        let mut seen: BTreeMap<(Key, u64, u32), usize> = BTreeMap::new();
        for record in records {
            let value = record.number(&found);
            if value.is_none() && source.is_measured() {
                continue;
            }
            let varied = points.varied(record);
            let mut key = points.key(record, &varied)?;
            // Only where runs are told apart by their seeds can two rows of one run be told from two runs.
            if let Some(row) = record.row().filter(|_| options.over.is_empty() && value.is_some()) {
                let count = seen.entry((key.clone(), row.seed, row.repetition)).or_default();
                key.number = *count;
                *count += 1;
            }
            let point = side.point(key, varied);
            if let Some(value) = value {
                point.values.push(value);
                point.own = own_interval((record, value), interval.as_ref(), found.name() == "goodput_mbps");
            }
        }
        Ok(side)
    }

    /// The runs of the point `key`.
    fn point(&mut self, key: Key, varied: Vec<(String, Parameter)>) -> &mut PointRuns {
        self.runs.entry(key.clone()).or_insert_with(|| {
            self.order.push(key);
            PointRuns { varied, values: Vec::new(), own: None }
        })
    }

    fn has(&self, key: &Key) -> bool {
        self.runs.contains_key(key)
    }

    fn has_value(&self, key: &Key) -> bool {
        self.runs.get(key).is_some_and(|point| !point.values.is_empty())
    }
}

/// The sides of a comparison; the first is the baseline.
pub(super) struct Sides(pub(super) Vec<Side>);

impl Sides {
    /// All points, in the order in which they are there.
    pub(super) fn points(&self) -> Vec<&Key> {
        let mut seen = BTreeSet::new();
        self.0.iter().flat_map(|side| &side.order).filter(|key| seen.insert(*key)).collect()
    }

    /// Whether the baseline and another one have the point.
    pub(super) fn share(&self, key: &Key) -> bool {
        self.0.first().is_some_and(|side| side.has(key)) && self.0.iter().filter(|side| side.has(key)).count() > 1
    }

    /// Whether both have a value of it.
    pub(super) fn share_value(&self, key: &Key) -> bool {
        self.0.first().is_some_and(|side| side.has_value(key)) && self.with_value(key) > 1
    }

    /// How many have a value of it.
    fn with_value(&self, key: &Key) -> usize {
        self.0.iter().filter(|side| side.has_value(key)).count()
    }

    /// What each has of the point.
    pub(super) fn compared(&self, key: &Key, level: Level) -> Compared {
        let mut varied = None;
        let of_side = |side: &Side| {
            let point = side.runs.get(key)?;
            varied.get_or_insert_with(|| point.varied.clone());
            point.summary(level)
        };
        let summaries = self.0.iter().map(of_side).collect();
        Compared { key: key.clone(), sides: summaries, varied: varied.unwrap_or_default() }
    }

    /// The points with a value that are not shared, by the sides that have them, which are of these `sources`: how they
    /// are called.
    pub(super) fn alone(&self, sources: &[Source]) -> Vec<(String, Vec<String>)> {
        let mut all: BTreeMap<Vec<usize>, Vec<String>> = BTreeMap::new();
        for key in self.points().into_iter().filter(|key| self.with_value(key) > 0 && !self.share(key)) {
            let own = self.0.iter().enumerate().filter_map(|(number, side)| Some((number, side.runs.get(key)?)));
            let (own, runs): (Vec<usize>, Vec<_>) = own.unzip();
            let varied = runs.first().map_or(&[][..], |point| &point.varied);
            all.entry(own).or_default().push(label(key, varied, None));
        }
        let names = |own: Vec<usize>| {
            let names: Vec<&str> = own.iter().filter_map(|side| sources.get(*side).map(Source::name)).collect();
            names.join(" and ")
        };
        all.into_iter().map(|(own, labels)| (names(own), labels)).collect()
    }

    /// The varied name without which the sides would have a point in common, where they have none.
    pub(super) fn hint(&self) -> Option<String> {
        let (first, others) = self.0.split_first()?;
        if first.order.iter().any(|key| others.iter().any(|side| side.has(key))) {
            return None;
        }
        let names: BTreeSet<&String> =
            self.0.iter().flat_map(|side| side.order.iter().flat_map(|it| it.varied.keys())).collect();
        let joins = |name: &&&String| {
            let own: BTreeSet<Key> = first.order.iter().map(|key| key.without(name)).collect();
            others.iter().flat_map(|side| &side.order).any(|key| own.contains(&key.without(name)))
        };
        names.iter().find(joins).map(|name| (*name).clone())
    }
}
