//! What several runs of one point say together.
//!
//! | | |
//! |---|---|
//! | Specification | Student's t for means of few runs; netperf's `-I` and `-i` as its `netlib.c` applies them; Jain, Chiu and Hawe, "A quantitative measure of fairness", DEC-TR-301 (1984); MSER-5 (White, 1997): the warm-up ends where the marginal standard error of the rest is least |
//! | Left out | medians and other quantiles, tests of significance, regression |
//!
//! In virtual time the same seed gives the same result, so runs that were not varied have no spread, and a spread of
//! zero says nothing about confidence. [`Summary::text`] therefore never prints a half width of zero.

use kumiki_config::quantity::Share;
use statrs::distribution::{ContinuousCDF, StudentsT};

#[cfg(test)]
mod tests;
mod welch;

pub use welch::difference_half_width;

/// The probability with which an interval is meant to hold the true mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// 95 %.
    P95,
    /// 99 %, netperf's default and paper 5's choice.
    P99,
}

impl Level {
    /// All there are.
    pub const ALL: [Self; 2] = [Self::P95, Self::P99];

    /// As a share.
    #[must_use]
    pub const fn share(self) -> Share {
        Share::from_parts_per_trillion(self.percent() as u64 * 10_000_000_000)
    }

    /// In per cent.
    #[must_use]
    pub const fn percent(self) -> u8 {
        match self {
            Self::P95 => 95,
            Self::P99 => 99,
        }
    }
}

/// The mean, or `None` of nothing. Of finite values it is finite, however large they are.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    let count = float(values.len());
    let mean = if sum.is_finite() { sum / count } else { values.iter().map(|value| value / count).sum() };
    (!values.is_empty()).then_some(mean)
}

/// The mean without the `cut` best and the `cut` worst values, as paper 1 averages its runs with `cut` 1. `None` where
/// nothing would be left.
#[must_use]
pub fn trimmed_mean(values: &[f64], cut: usize) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let end = sorted.len().checked_sub(cut)?;
    mean(sorted.get(cut..end)?)
}

/// The sample standard deviation (divided by n - 1), or `None` of fewer than two values, and where their squares are
/// beyond all numbers.
#[must_use]
pub fn sample_deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let degrees = values.len().checked_sub(1).filter(|&n| n > 0)?;
    // Equal values must give exactly 0, which the rounded mean may not.
    if values.iter().all(|v| Some(v) == values.first()) {
        return Some(0.0);
    }
    let deviation = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / float(degrees)).sqrt();
    deviation.is_finite().then_some(deviation)
}

/// After how many of `values`, which came one after another, what they are of had settled (MSER-5): the number that
/// leaves the least variance over the square of how many are left, counted in means of five. Only the first half is
/// looked at; `None` where the least is at its end, so that it cannot be told.
#[must_use]
pub fn truncation_point(values: &[f64]) -> Option<usize> {
    const BATCH: usize = 5;
    let means: Vec<f64> = values.chunks_exact(BATCH).filter_map(mean).collect();
    let error = |from: usize| {
        let rest = means.get(from..)?;
        let middle = mean(rest)?;
        let squares: f64 = rest.iter().map(|value| (value - middle).powi(2)).sum();
        Some(squares / float(rest.len()).powi(2))
    };
    let half = means.len() / 2;
    let errors = (0..=half).filter_map(|from| Some((from, error(from)?)));
    let (from, _) = errors.min_by(|(_, one), (_, other)| one.total_cmp(other))?;
    (from < half).then_some(from * BATCH)
}

/// How much neighbours in `values` are alike: their correlation at a distance of one, from -1 to 1; `None` where
/// nothing varies.
#[must_use]
pub fn autocorrelation(values: &[f64]) -> Option<f64> {
    let middle = mean(values)?;
    let variance: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    let pairs = values.iter().zip(values.get(1..)?);
    let common: f64 = pairs.map(|(one, next)| (one - middle) * (next - middle)).sum();
    (variance > 0.0).then(|| common / variance)
}

/// Jain's fairness index, (sum x)^2 / (n sum x^2): 1 where all have the same, 1/n where one has everything. `None` of
/// nothing, and where all are zero.
#[must_use]
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (float(shares.len()) * squares))
}

/// The two-sided Student value t(level, `degrees`), or `None` for no degrees of freedom.
#[must_use]
pub fn student_t(level: Level, degrees: usize) -> Option<f64> {
    let distribution = StudentsT::new(0.0, 1.0, float(degrees)).ok()?;
    Some(distribution.inverse_cdf(0.5 + f64::from(level.percent()) / 200.0))
}

/// Half the width of the confidence interval of the mean, t s / sqrt(n), in the unit of the values. `None` of fewer
/// than two values; 0 where nothing varied, which is no interval (see [`Summary::text`]).
#[must_use]
pub fn half_width(values: &[f64], level: Level) -> Option<f64> {
    let deviation = sample_deviation(values)?;
    Some(student_t(level, values.len().checked_sub(1)?)? * deviation / float(values.len()).sqrt())
}

/// The runs of one point in a few numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many runs there were, at least 1.
    pub n: usize,
    /// Their mean.
    pub mean: f64,
    /// Their sample deviation; `None` of one run.
    pub deviation: Option<f64>,
    /// Half the width of the interval of `level`; `None` of one run and where nothing varied.
    pub half_width: Option<f64>,
    /// The level of `half_width`.
    pub level: Level,
    /// The least value.
    pub min: f64,
    /// The greatest value.
    pub max: f64,
}

/// A number with so many decimals; where it has more digits than are known of it, as a power of ten.
pub(crate) fn written(value: f64, decimals: usize) -> String {
    const DIGITS: f64 = 1e15;
    if value.abs() < DIGITS { format!("{value:.decimals$}") } else { format!("{value:.3e}") }
}

impl Summary {
    /// Of `values`, or `None` of nothing.
    #[must_use]
    pub fn of(values: &[f64], level: Level) -> Option<Self> {
        Some(Self {
            n: values.len(),
            mean: mean(values)?,
            deviation: sample_deviation(values),
            half_width: half_width(values, level).filter(|&w| w > 0.0),
            level,
            min: values.iter().copied().min_by(f64::total_cmp)?,
            max: values.iter().copied().max_by(f64::total_cmp)?,
        })
    }

    /// As [`Summary::text`], without level and number of runs: for tables whose legend has them. A width too small for
    /// the decimals is given as less than the last of them; no interval, where all runs were equal, as nothing at all.
    #[must_use]
    pub fn short(&self, decimals: usize) -> String {
        let mean = self.mean;
        let mean = written(mean, decimals);
        let Some(width) = self.half_width else {
            return mean;
        };
        let shown = written(width, decimals);
        if shown.contains(|digit| matches!(digit, '1'..='9')) {
            format!("{mean} +- {shown}")
        } else {
            let least = 10_f64.powi(-i32::try_from(decimals).unwrap_or(0));
            format!("{mean} +- <{least:.decimals$}")
        }
    }

    /// `133.38 +- 0.12 (99 %, n=7)`, or `133.38 (one seed, no interval)`, or `133.38 (7 equal runs, no interval)`.
    ///
    /// `decimals` are those of the mean; the half width gets more where it would else read as zero.
    #[must_use]
    pub fn text(&self, decimals: usize) -> String {
        let Self { n, mean, level, .. } = *self;
        match self.half_width {
            Some(_) => format!("{} ({} %, n={n})", self.short(decimals), level.percent()),
            None if n == 1 => format!("{} (one seed, no interval)", written(mean, decimals)),
            None => format!("{} ({n} equal runs, no interval)", written(mean, decimals)),
        }
    }
}

/// netperf's rule for how often a point is run.
///
/// After each run but the first: enough once 2 t s / (sqrt(n) mean) is at most `width_percent`. The width is the
/// *total* width: 5 means within 2.5 % to either side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stopping {
    level: Level,
    width_percent: f64,
    min: usize,
    max: usize,
}

/// What [`Stopping`] says after a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// Run again.
    More,
    /// Narrow enough.
    Enough {
        /// The total width reached, in per cent of the mean.
        width_percent: f64,
    },
    /// The most runs allowed were made and the interval is still too wide; the mean is reported all the same, with a
    /// warning.
    TooWide {
        /// The total width reached, in per cent of the mean; infinite where the mean is 0.
        width_percent: f64,
    },
}

impl Stopping {
    /// The least and the most runs that netperf lets one ask for.
    pub const CLAMP: (usize, usize) = (3, 30);
    /// The most runs where nothing is said.
    pub const DEFAULT_MAX: usize = 10;

    /// `-I level,width`: 3 to 10 runs.
    #[must_use]
    pub const fn new(level: Level, width_percent: f64) -> Self {
        Self { level, width_percent, min: Self::CLAMP.0, max: Self::DEFAULT_MAX }
    }

    /// `-i max,min`: both are clamped to 3..30, and `max` to at least `min`.
    #[must_use]
    pub fn runs(self, max: usize, min: usize) -> Self {
        let (least, most) = Self::CLAMP;
        let min = min.clamp(least, most);
        Self { min, max: max.clamp(least, most).max(min), ..self }
    }

    /// The level of the interval.
    #[must_use]
    pub const fn level(&self) -> Level {
        self.level
    }

    /// Whether `values`, one for each of the `runs` so far that has one, are enough. Runs without a value count where
    /// no more are to be made.
    #[must_use]
    pub fn after(&self, values: &[f64], runs: usize) -> Verdict {
        if values.len() < self.min && runs < self.max {
            return Verdict::More;
        }
        let width_percent = Self::width_percent(values, self.level);
        if width_percent <= self.width_percent {
            Verdict::Enough { width_percent }
        } else if runs >= self.max {
            Verdict::TooWide { width_percent }
        } else {
            Verdict::More
        }
    }

    /// The total width of the interval in per cent of the mean: 0 where nothing varied, infinite of fewer than two
    /// values.
    #[must_use]
    pub fn width_percent(values: &[f64], level: Level) -> f64 {
        match (half_width(values, level), mean(values)) {
            (Some(0.0), Some(_)) => 0.0,
            (Some(half), Some(mean)) if mean != 0.0 => 200.0 * half / mean.abs(),
            _ => f64::INFINITY,
        }
    }
}

impl Default for Stopping {
    /// 99 % and 5 %, 3 to 10 runs: `-i` alone.
    fn default() -> Self {
        Self::new(Level::P99, 5.0)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of runs or of sessions is far below 2^53")]
fn float(n: usize) -> f64 {
    n as f64
}
