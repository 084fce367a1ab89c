//! The interval of a measurement, where a file has one in columns of its own.

use super::{Found, Record, Source, column};
use crate::scenario::Fault;

/// How the ends of intervals are called in files of measurements: the lower and the upper one.
const INTERVALS: [[&str; 2]; 3] = [["min", "max"], ["low", "high"], ["lower", "upper"]];
/// How half the width of an interval is called there.
const HALF_WIDTHS: [&str; 3] = ["half_width", "ci", "error"];

/// Where the interval of a measurement is.
pub(crate) enum Interval {
    /// Both of its ends.
    Ends(Found, Found),
    /// Half of its width.
    Half(Found),
}

impl Interval {
    /// That of `value` in `source`; none in results, and where no columns are called like that.
    ///
    /// # Errors
    ///
    /// [`Fault`] where there are such columns, and something in them is no number.
    pub(crate) fn of(source: &Source, value: &str) -> Result<Option<Self>, Fault> {
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
        Ok(found)
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
