//! Times and numbers of runs are such as can be measured.

use kumiki_graph::Duration;
use kumiki_octets::text::counted;

use super::super::{Confidence, Repeat, Runs};
use kumiki_config::error::{ConfigError, quantity};
use kumiki_config::quantity::Share;

/// The longest times of a load. What is longer is a slip, and the run would seem to hang.
pub(super) const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The most intervals of a run: more than a picture or an eye can tell apart.
const MOST_INTERVALS: u64 = 100_000;

/// What `warm_up` is where it is to be found.
pub(crate) const WARM_UP_FOUND: &str = "auto";

/// When is measured, and how often.
pub(super) fn runs(runs: &Runs) -> Result<(), ConfigError> {
    let duration: Duration = quantity(&["duration"], &runs.duration)?;
    if duration.is_zero() {
        return Err(ConfigError::at(["duration"], "no time at all"));
    }
    if duration > LONGEST {
        return Err(too_long("duration"));
    }
    let given = runs.warm_up.as_ref().filter(|text| *text != WARM_UP_FOUND);
    optional_time("warm_up", given).map_err(|fault| {
        match given.map(|text| text.contains(|c: char| c.is_ascii_digit())) {
            Some(false) => fault.expected("a duration such as \"20 ms\", or \"auto\""),
            _ => fault,
        }
    })?;
    if let Some(batches) = runs.batches {
        if !(5..=1000).contains(&batches) {
            return Err(ConfigError::at(["batches"], "out of range").expected("5 to 1000 parts of the measured time"));
        }
        if runs.confidence.is_some() || runs.repeat.is_some() {
            let problem = "an interval of the parts of one run, or of several runs";
            return Err(ConfigError::at(["batches"], problem).expected("no `confidence` nor `repeat` beside it"));
        }
    }
    if let Some(text) = &runs.interval {
        interval(text, duration, given)?;
    }
    seed(runs)?;
    if let Some(given) = &runs.repeat {
        repeat(given, runs.confidence.as_ref())?;
    }
    runs.confidence.as_ref().map_or(Ok(()), confidence)
}

/// Values over time are taken several times in a run, and not more often than anybody could look at.
fn interval(text: &str, duration: Duration, warm_up: Option<&String>) -> Result<(), ConfigError> {
    let interval: Duration = quantity(&["interval"], text)?;
    let warm_up: Duration = warm_up.map_or(Ok(Duration::ZERO), |time| quantity(&["warm_up"], time))?;
    let whole = duration.as_nanos().saturating_add(warm_up.as_nanos());
    let least = || format!("at least {}", Duration::from_nanos(whole.div_ceil(MOST_INTERVALS)));
    if interval.is_zero() {
        return Err(ConfigError::at(["interval"], "no time at all").expected(least()));
    }
    if whole / MOST_INTERVALS > interval.as_nanos() {
        return Err(ConfigError::at(["interval"], format!("more than {MOST_INTERVALS} in a run")).expected(least()));
    }
    if interval.as_nanos() > whole {
        return Err(ConfigError::at(["interval"], "longer than the run").expected("several of them in it"));
    }
    Ok(())
}

/// The seeds of all runs are such as a file can give.
fn seed(runs: &Runs) -> Result<(), ConfigError> {
    let most = runs.repeat.as_ref().map(|it| it.runs).max(runs.confidence.as_ref().map(|it| it.most)).unwrap_or(1);
    let last = i64::MAX.unsigned_abs().saturating_sub(most.saturating_sub(1).into());
    if runs.seed > last {
        let problem = format!("the seeds of {} would be more than a file can give", counted(most, "run"));
        return Err(ConfigError::at(["seed"], problem).expected(format!("at most {last}")));
    }
    Ok(())
}

/// Runs that are repeated leave some to be shown.
fn repeat(repeat: &Repeat, confidence: Option<&Confidence>) -> Result<(), ConfigError> {
    let path = ["repeat", "runs"];
    if !(1..=1000).contains(&repeat.runs) {
        return Err(ConfigError::at(path, "out of range").expected("1 to 1000 runs"));
    }
    // One or two runs are made where a quick look is wanted, and nothing is left out of these.
    if repeat.runs > 2 && repeat.trim.saturating_mul(2) >= repeat.runs {
        let most = repeat.runs.saturating_sub(1) / 2;
        let problem = format!("of {} runs nothing would be left", repeat.runs);
        return Err(ConfigError::at(["repeat", "trim"], problem)
            .found(repeat.trim.to_string())
            .expected(format!("at most {most}")));
    }
    let known = ["mean", "min", "max"];
    if let Some(show) = repeat.show.as_deref().filter(|show| !known.contains(show)) {
        let path = ["repeat", "show"];
        return Err(ConfigError::unknown(path, "number to show", show, &known));
    }
    if confidence.is_some() {
        let problem = "as many as are given here, or as many as `confidence` wants";
        return Err(ConfigError::at(path, problem).expected("one of the two"));
    }
    Ok(())
}

/// An interval has a level and a width, and runs enough to be one.
fn confidence(confidence: &Confidence) -> Result<(), ConfigError> {
    let path = |key| ["confidence", key];
    if confidence.level().is_none() {
        return Err(ConfigError::at(path("level"), "no such level").expected("\"95 %\" or \"99 %\""));
    }
    if confidence.width == Share::default() {
        return Err(ConfigError::at(path("width"), "no width").expected("a share above 0 %"));
    }
    if !(3..=30).contains(&confidence.fewest) {
        return Err(ConfigError::at(path("fewest"), "out of range").expected("3 to 30 runs"));
    }
    if !(confidence.fewest..=30).contains(&confidence.most) {
        return Err(ConfigError::at(path("most"), "out of range").expected(format!("{} to 30 runs", confidence.fewest)));
    }
    Ok(())
}

pub(super) fn optional_time(key: &str, time: Option<&String>) -> Result<(), ConfigError> {
    if let Some(time) = time
        && quantity::<Duration>(&[key], time)? > LONGEST
    {
        return Err(too_long(key));
    }
    Ok(())
}

pub(super) fn too_long(key: &str) -> ConfigError {
    ConfigError::at([key], "longer than a day").expected("at most 24 h")
}
