//! When is measured, and how often.

use serde::Deserialize;

/// When is measured, and how often, of all loads alike.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runs {
    /// Not measured: what happens before this, of loads that have no end of their own; `auto`: it is looked for in a run that is not shown.
    pub warm_up: Option<String>,
    /// How long is measured after that; the longest that loads with an end of their own may take.
    pub duration: String,
    /// Runs with other seeds, a fixed number of them, of which one number is shown.
    pub repeat: Option<Repeat>,
    /// Runs with other seeds until the interval is as narrow as wanted.
    pub confidence: Option<Confidence>,
    /// The measured time is cut into so many parts, whose means give an interval of one run.
    pub batches: Option<u32>,
    /// Seed of the first run.
    #[serde(default = "first_seed")]
    pub seed: u64,
    /// How often loads, flows and queues are looked at, from the beginning on: for values over time.
    pub interval: Option<String>,
}

/// netperf's `-I` and `-i`: see `crate::stats`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confidence {
    /// 95 or 99.
    pub level: u8,
    /// The whole width of the interval, in per cent of the mean: 10 is within +-5 %.
    pub width_percent: f64,
    /// The fewest runs, at least 3.
    #[serde(default = "fewest_runs")]
    pub fewest: u32,
    /// The most runs, at most 30.
    #[serde(default = "most_runs")]
    pub most: u32,
}

/// A fixed number of runs, as paper 1 made them.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    /// How many.
    pub runs: u32,
    /// What is shown of them: `mean` (the default: without the best and the worst), `min`, `max`.
    pub show: Option<String>,
    /// Whether as many are made where fewer would do for a look, as `reproduce` has it: what is shown means nothing of fewer.
    #[serde(default)]
    pub always: bool,
}

impl Repeat {
    /// How many are made where at most `most` are to be.
    #[must_use]
    pub fn made(&self, most: Option<u32>) -> u32 {
        most.filter(|_| !self.always).map_or(self.runs, |most| self.runs.min(most))
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
