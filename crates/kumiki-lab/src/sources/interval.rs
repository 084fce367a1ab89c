//! The interval of a measurement, where a file has one in columns of its own.

use super::gaps::NAMED;
use super::{FoundColumn, Record, Source, column};
use crate::scenario::{ConfigError, ErrorPlace};

/// How the ends of intervals are called in files of measurements: the lower and the upper one.
const INTERVALS: [[&str; 2]; 3] = [["min", "max"], ["low", "high"], ["lower", "upper"]];
/// How half the width of an interval is called there.
const HALF_WIDTHS: [&str; 3] = ["half_width", "ci", "error"];

/// Where the interval of a measurement is.
pub(crate) enum Interval {
    /// Both of its ends.
    Ends(FoundColumn, FoundColumn),
    /// Half of its width.
    Half(FoundColumn),
}

impl Interval {
    /// That of `value` in `source`; none in results, and where no columns are called like that.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] where there are such columns, and something in them is no number, or no interval around the
    /// value beside it.
    pub(crate) fn of(source: &Source, value: &str) -> Result<Option<Self>, ConfigError> {
        if !source.is_measured() {
            return Ok(None);
        }
        let find = |end: &str| with_end(value, end).into_iter().find_map(|name| source.find(&name));
        let ends = INTERVALS.into_iter().find_map(|[low, high]| Some(Self::Ends(find(low)?, find(high)?)));
        let found = ends.or_else(|| HALF_WIDTHS.into_iter().find_map(find).map(Self::Half));
        match &found {
            Some(Self::Ends(low, high)) => {
                source.check_numbers(low)?;
                source.check_numbers(high)?;
            }
            Some(Self::Half(half)) => source.check_numbers(half)?,
            None => {}
        }
        if let (Some(interval), Some(found)) = (&found, source.find(value)) {
            interval.check(source, &found)?;
        }
        Ok(found)
    }

    /// What is said of those `records` of `source` that have one end alone, and so no interval; nothing where none has.
    pub(crate) fn open(&self, source: &Source, records: &[Record<'_>]) -> Option<String> {
        let Self::Ends(low, high) = self else {
            return None;
        };
        let is_open = |it: &&Record<'_>| it.number(low).is_some() != it.number(high).is_some();
        let lines: Vec<String> = records.iter().filter(is_open).map(|it| it.line().to_string()).collect();
        let (first, more) = lines.split_at_checked(NAMED).unwrap_or((&lines, &[]));
        let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        let (line, has) = if lines.len() == 1 { ("line", "has") } else { ("lines", "have") };
        (!lines.is_empty()).then(|| {
            let (path, all, own) = (source.path(), records.len(), first.join(", "));
            format!(
                "{path}: {} of {all} lines {has} one end of an interval alone, which is none ({line} {own}{more})",
                lines.len()
            )
        })
    }

    /// That what it is of lies within it, in each record of `source` that has both.
    fn check(&self, source: &Source, value: &FoundColumn) -> Result<(), ConfigError> {
        for record in source.records() {
            let Some(value) = record.number(value) else {
                continue;
            };
            let Some((low, high)) = self.around(value, record) else {
                continue;
            };
            // What is written in other units may differ in the last digit.
            let slack = value.abs() * 1e-9;
            let problem = match self {
                Self::Ends(..) if low > high => {
                    format!("an interval from {low} to {high}, which ends before it begins")
                }
                Self::Half(_) if low > high => {
                    format!("half of an interval is {}, which is less than nothing", value - low)
                }
                Self::Ends(..) | Self::Half(_) if value < low - slack || value > high + slack => {
                    format!("{value} is outside of its own interval from {low} to {high}")
                }
                Self::Ends(..) | Self::Half(_) => continue,
            };
            let line = ErrorPlace::Line(usize::try_from(record.line()).unwrap_or(0), 1);
            return Err(ConfigError::new(problem).in_place(line).in_file(source.path()));
        }
        Ok(())
    }

    /// The columns of `source` that it has, for `value`.
    pub(crate) fn columns(source: &Source, value: &str) -> Vec<String> {
        let found = match Self::of(source, value) {
            Ok(Some(Self::Ends(low, high))) => vec![low, high],
            Ok(Some(Self::Half(half))) => vec![half],
            Ok(None) | Err(_) => Vec::new(),
        };
        found.iter().map(|found| found.name().to_owned()).collect()
    }

    /// The names that its columns may have, for `value`.
    pub(crate) fn names(value: &str) -> Vec<String> {
        let all = INTERVALS.into_iter().flatten().chain(HALF_WIDTHS);
        all.flat_map(|end| with_end(value, end)).collect()
    }

    /// Its ends, around `value`.
    pub(crate) fn around(&self, value: f64, record: Record<'_>) -> Option<(f64, f64)> {
        match self {
            Self::Ends(low, high) => Some((record.number(low)?, record.number(high)?)),
            Self::Half(half) => record.number(half).map(|half| (value - half, value + half)),
        }
    }
}

/// The names of the end of an interval of `value`: `goodput_mbps_min`, `goodput_min_mbps`.
fn with_end(value: &str, end: &str) -> [String; 2] {
    let stem = column::split(value).0;
    let unit = value.strip_prefix(stem).unwrap_or_default();
    [format!("{value}_{end}"), format!("{stem}_{end}{unit}")]
}
