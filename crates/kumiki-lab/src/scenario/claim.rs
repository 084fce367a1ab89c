//! What a paper says in words, and what has to be so of our values where the words hold.

use kumiki_settings::Keys;
use serde::Deserialize;

use super::check::values_of;
use super::vary::Axis;
use crate::rows::ValueName;
use kumiki_config::error::ConfigError;
use kumiki_config::tree::{Node, Source};

/// A sentence of a paper. What it is about is a number for each point that `of` names; the words hold where all of
/// these lie between `least` and `most`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Keys)]
#[serde(deny_unknown_fields, default)]
pub struct Claim {
    /// The words, as near to the paper's as a translation is; they must be given.
    #[key(is = "a text", default = "refused", example = "\"it is faster\"")]
    pub words: String,
    /// Where the paper says so; it must be given.
    #[key(is = "a text", default = "refused", example = "\"section 4\"")]
    pub from: String,
    /// The points that it is about, by values of what is varied; a list means any of its values.
    #[key(is = "a table of values", default = "all", example = "{ mtu = \"9180 B\" }")]
    pub of: toml::Table,
    /// The number is the value as a part of that of the point that has these values, and those of the point for
    /// everything else.
    #[key(is = "a table of values", default = "none", example = "{ congestion = \"newreno\" }")]
    pub against: toml::Table,
    /// The same with the point of another scenario, which has the values of the point and those of `against`.
    #[key(is = "a name of a scenario", default = "none", example = "\"paper2-fig6\"")]
    pub other: Option<String>,
    /// The number is each value as a part of the one before it along this varied name.
    #[key(is = "a varied name", default = "none", example = "\"window\"")]
    pub along: Option<String>,
    /// The number is the value at these values as a part of the greatest of all that differ from it in nothing else.
    #[key(is = "a table of values", default = "none", example = "{ window = \"64 KiB\" }")]
    pub best: toml::Table,
    /// The number is by how much the least of the values is below the greatest, in per cent of that.
    #[key(default = "false", example = "true")]
    pub spread: bool,
    /// The value is the goodput in per cent of what the line allows (`limit_mbps`), and not the goodput in Mb/s.
    #[key(default = "false", example = "true")]
    pub of_limit: bool,
    /// The value is this one of the rows, as in `[report]`, and not what the table shows.
    #[key(is = "a name", default = "what the table shows", example = "\"delay_ms.p99\"")]
    pub value: Option<String>,
    /// The value is how busy the CPUs of this host are, in per cent.
    #[key(is = "a name of a host", default = "none", example = "\"sender\"")]
    pub cpu: Option<String>,
    /// The value is half of the confidence interval of a point's runs, in per cent of their mean.
    #[key(default = "false", example = "true")]
    pub interval: bool,
    /// The value is the time of a task, in milliseconds.
    #[key(is = "a host and a task", default = "none", example = "\"sender.upper\"")]
    pub task: Option<String>,
    /// The least number with which the words hold; this, `most`, or both.
    #[key(is = "a number", default = "no bound", example = "1.0")]
    pub least: Option<f64>,
    /// The greatest number with which the words hold.
    #[key(is = "a number", default = "no bound", example = "1.2")]
    pub most: Option<f64>,
    /// `ours` where `least` or `most` is our reading of words, and no number of the paper.
    #[key(is = "the word `ours`", default = "the paper prints the number", example = "\"ours\"")]
    pub reading: Option<String>,
    /// Whether a price was fitted to it, or chosen for it.
    #[key(default = "false", example = "true")]
    pub fitted: bool,
}

/// What `reading` may be.
const READING: &str = "ours";

/// Claims say what they are of, and speak of values that there are.
pub(super) fn check(source: &Source<'_>, nodes: &[Node], axes: &[Axis]) -> Result<(), ConfigError> {
    for (number, node) in nodes.iter().enumerate() {
        let number = number.to_string();
        let at = |key| ["claim", number.as_str(), key];
        let fault = |key, problem: &str, expected: &str| {
            Err(source.locate(ConfigError::at(at(key), problem).expected(expected)))
        };
        let claim: Claim = node.read().map_err(|problem| problem.fault(source, &["claim", &number]))?;
        if claim.words.is_empty() || claim.from.is_empty() {
            return fault("words", "a claim without words, or without where they are", "`words` and `from`");
        }
        // What is shown is the value that is meant unless another is named.
        let says = ["value", "of_limit", "interval", "cpu", "task"].iter().any(|key| node.child(key).is_some());
        if !says && source.root.child("report").is_some_and(|report| report.child("value").is_some()) {
            return fault(
                "value",
                "[report] shows another value than goodput, and the claim does not say which it means",
                "`value`",
            );
        }
        if claim.least.is_none() && claim.most.is_none() {
            return fault("least", "nothing that could be missed", "`least`, `most`, or both");
        }
        for key in ["of", "against", "best"] {
            // Of another scenario nothing is known here.
            if let Some(table) = node.child(key).filter(|_| key != "against" || claim.other.is_none()) {
                values_of(source, &at(key), table, axes)?;
            }
        }
        if let Some(along) = claim.along.as_ref().filter(|it| !axes.iter().any(|axis| axis.names.contains(it))) {
            let known: Vec<&str> = axes.iter().flat_map(|axis| axis.names.iter().map(String::as_str)).collect();
            return Err(source.locate(ConfigError::unknown(at("along"), "varied name", along, &known)));
        }
        let is_pair = !claim.against.is_empty() || claim.other.is_some();
        let kinds = [is_pair, claim.along.is_some(), !claim.best.is_empty(), claim.spread];
        if kinds.into_iter().filter(|is| *is).count() > 1 {
            return fault("of", "two numbers for a point", "one of `against`, `along`, `best` and `spread`");
        }
        let values = [claim.of_limit, claim.interval, claim.value.is_some(), claim.cpu.is_some(), claim.task.is_some()];
        if values.into_iter().filter(|is| *is).count() > 1 {
            return fault("of", "two values of a point", "one of `value`, `of_limit`, `interval`, `cpu` and `task`");
        }
        if let Some(name) = claim.value.as_ref().filter(|name| ValueName::new(name).is_none()) {
            let fault = ConfigError::unknown(at("value"), "value of rows", name, &ValueName::known());
            return Err(source.locate(fault));
        }
        reading(source, &["claim", &number], claim.reading.as_ref())?;
    }
    Ok(())
}

/// `reading` of the table at `path`.
pub(super) fn reading(source: &Source<'_>, path: &[&str], reading: Option<&String>) -> Result<(), ConfigError> {
    match reading.filter(|it| *it != READING) {
        None => Ok(()),
        Some(other) => {
            let path: Vec<&str> = path.iter().copied().chain(["reading"]).collect();
            let fault = ConfigError::at(path, format!("{other:?} is no reading"));
            Err(source.locate(fault.expected(format!("{READING:?}, or nothing where the paper prints the number"))))
        }
    }
}
