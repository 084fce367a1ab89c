//! When is measured, and how often.

use kumiki_graph::Duration;
use kumiki_settings::Keys;
use serde::Deserialize;

use crate::stats::Level;
use kumiki_config::quantity::{Share, parse};

/// When is measured, and how often, of all loads alike.
#[derive(Clone, PartialEq, Debug, Deserialize, Keys)]
#[serde(deny_unknown_fields)]
pub struct Runs {
    /// What is not measured before that; `auto`: until goodput has settled, which is looked for in a run of the same
    /// length that is not shown, by MSER-5: where the rest varies least. Rows have it as `warm_up_s`.
    #[key(is = "a time, or `auto`", default = "0 s", example = "\"2 s\"")]
    pub warm_up: Option<String>,
    /// How long is measured; the longest, where all loads end by themselves.
    #[serde(default)]
    #[key(is = "a time", default = "must be given unless a host is real", example = "\"5 s\"")]
    pub duration: String,
    /// A number of runs with other seeds, of which the table shows one number without an interval, for which there is
    /// `confidence`; the rows have all.
    #[key(is = "a table, [below](#repeat)", default = "one run", example = "{ runs = 6 }")]
    pub repeat: Option<Repeat>,
    /// Runs with other seeds until the interval is narrow enough, of the value that is shown: of the load that
    /// `[report] load` names, or of all together; a note names other loads of which it is wider.
    #[key(
        is = "a table, [below](#confidence)",
        default = "one run",
        example = "{ level = \"95 %\", width = \"5 %\" }"
    )]
    pub confidence: Option<Confidence>,
    /// An interval of one run: the measured time is cut into so many parts, and the table shows half the 95 % interval
    /// of the mean of their goodput, rows as `half_width_mbps`. A note says where the parts are too short to be
    /// independent.
    #[key(is = "a number from 5 to 1000", default = "none", example = "20")]
    pub batches: Option<u32>,
    /// The seed of the first run; further runs of a point have those that follow.
    #[serde(default = "first_seed")]
    #[key(is = "a number", default = "1", example = "7")]
    pub seed: u64,
    /// How often loads, flows and queues are looked at, from the beginning on.
    #[key(
        is = "a time, for [values over time](scenarios.md#values-over-time)",
        default = "not at all",
        example = "\"100 ms\""
    )]
    pub interval: Option<String>,
}

/// netperf's `-I` and `-i`: see `crate::stats`.
#[derive(Clone, PartialEq, Debug, Deserialize, Keys)]
#[serde(deny_unknown_fields)]
pub struct Confidence {
    /// Of the interval.
    #[key(is = "95 % or 99 %", example = "\"95 %\"")]
    pub level: Share,
    /// The whole width of the interval, as a share of the mean: 10 % is within 5 % on both sides.
    #[key(is = "a share", example = "\"5 %\"")]
    pub width: Share,
    /// The fewest runs.
    #[serde(default = "fewest_runs")]
    #[key(is = "a number of at least 3", default = "3", example = "5")]
    pub fewest: u32,
    /// The most runs.
    #[serde(default = "most_runs")]
    #[key(is = "a number up to 30", default = "10", example = "30")]
    pub most: u32,
}

/// A fixed number of runs, as paper 1 made them.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Keys)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    /// How many.
    #[key(is = "a number", example = "6")]
    pub runs: u32,
    /// What is shown of them: the `mean`, the `min` or the `max`.
    #[key(is = "a word", default = "`mean`", example = "\"max\"")]
    pub show: Option<String>,
    /// So many of the best and as many of the worst are left out of the mean, where more than these were made, as paper
    /// 1 has it.
    #[serde(default)]
    #[key(is = "a number", default = "0", example = "1")]
    pub trim: u32,
    /// Whether `reproduce` makes as many too, which makes one otherwise: what is shown means nothing of fewer.
    #[serde(default)]
    #[key(is = "true or false", default = "false", example = "true")]
    pub always: bool,
}

impl Runs {
    /// How long a run is, with what is not measured; nothing where that is to be found.
    pub(crate) fn whole(&self) -> Option<Duration> {
        let warm_up = self.warm_up.as_ref().map_or(Some(Duration::ZERO), |text| parse(text).ok())?;
        Some(warm_up + parse(&self.duration).ok()?)
    }
}

impl Confidence {
    /// Of the interval; `None` where there is no such level.
    #[must_use]
    pub fn level(&self) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.share() == self.level)
    }
}

impl Repeat {
    /// How many are made where at most `most` are to be.
    #[must_use]
    pub fn made(&self, most: Option<u32>) -> u32 {
        most.filter(|_| !self.always).map_or(self.runs, |most| self.runs.min(most))
    }
}

impl Default for Runs {
    fn default() -> Self {
        Self {
            warm_up: None,
            duration: String::new(),
            repeat: None,
            confidence: None,
            batches: None,
            seed: first_seed(),
            interval: None,
        }
    }
}

const fn first_seed() -> u64 {
    1
}

const fn fewest_runs() -> u32 {
    3
}

const fn most_runs() -> u32 {
    10
}
