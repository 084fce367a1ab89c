//! What `[report]` says is there to be shown.

use std::collections::BTreeSet;

use super::super::Report;
use super::super::vary::Axis;
use crate::figure::Ink;
use crate::rows::ValueName;
use kumiki_config::error::ConfigError;
use kumiki_config::tree::Source;

/// What `x_scale` may be.
const SCALES: [&str; 3] = ["linear", "log2", "octets"];

/// What `[report] held` may be.
const HELD: [&str; 4] = ["flow", "load", "total", "none"];

/// `[report]` speaks of varied names.
pub(in crate::scenario) fn report(source: &Source<'_>, report: &Report, axes: &[Axis]) -> Result<(), ConfigError> {
    let has_trends = source.root.child("trend").is_some();
    judge(report, axes, has_trends).map_err(|fault| source.locate(fault))
}

fn judge(report: &Report, axes: &[Axis], has_trends: bool) -> Result<(), ConfigError> {
    let known: Vec<&str> = axes.iter().flat_map(|a| a.names.iter().map(String::as_str)).collect();
    if let Some(x) = &report.x {
        varied(&["report", "x"], x, &known)?;
    }
    shown(report, has_trends)?;
    series(report, &known)?;
    meaning(report, axes)?;
    columns(report, &known)?;
    tasks(report)?;
    looks(report)
}

/// `name` is one of what is varied.
fn varied(path: &[&str], name: &str, known: &[&str]) -> Result<(), ConfigError> {
    if known.contains(&name) { Ok(()) } else { Err(ConfigError::unknown(path, "varied name", name, known)) }
}

/// What is shown is a value of the rows, and what held flows is told of one kind of them.
fn shown(report: &Report, has_trends: bool) -> Result<(), ConfigError> {
    if let Some(value) = &report.value {
        let path = ["report", "value"];
        let name = ValueName::new(value)
            .ok_or_else(|| ConfigError::unknown(path, "value of a row", value, &ValueName::known()))?;
        if has_trends && !name.is_goodput() {
            return Err(ConfigError::at(path, "[[trend]] is about goodput").expected("one of the two"));
        }
    }
    if let Some(held) = report.held.as_deref().filter(|held| !HELD.contains(held)) {
        return Err(ConfigError::unknown(["report", "held"], "kind of row", held, &HELD));
    }
    Ok(())
}

/// Series are of names beside that of the axis.
fn series(report: &Report, known: &[&str]) -> Result<(), ConfigError> {
    for (number, name) in report.series.iter().enumerate() {
        varied(&["report", "series", &number.to_string()], name, known)?;
        if report.x.as_ref() == Some(name) {
            let path = ["report", "series"];
            return Err(ConfigError::at(path, format!("{name:?} is the horizontal axis already")));
        }
    }
    Ok(())
}

/// Words are explained that are values of what is varied.
fn meaning(report: &Report, axes: &[Axis]) -> Result<(), ConfigError> {
    let words: Vec<String> =
        axes.iter().flat_map(|axis| axis.rows.iter().flatten()).filter_map(|node| node.plain()).collect();
    match report.meaning.keys().find(|word| !words.contains(word)) {
        Some(word) => {
            Err(ConfigError::unknown(["report", "meaning", word.as_str()], "value of what is varied", word, &words))
        }
        None => Ok(()),
    }
}

/// Each varied name has a column of its own in the rows.
fn columns(report: &Report, known: &[&str]) -> Result<(), ConfigError> {
    let is_taken = |column: &str| crate::rows::is_field(column) && column != "series";
    let mut columns = BTreeSet::new();
    for (name, column) in &report.rows {
        let path = ["report", "rows", name.as_str()];
        varied(&path, name, known)?;
        if is_taken(column) {
            return Err(ConfigError::at(path, "every row has a field, or tables a column, of that name already")
                .expected(format!("a name with its unit, such as \"{name}_bytes\"")));
        }
        if !columns.insert(column) {
            return Err(ConfigError::at(path, "two varied names have this column"));
        }
    }
    match known.iter().find(|name| is_taken(report.rows.get(**name).map_or(**name, String::as_str))) {
        Some(name) => {
            let problem = "every result row has a field, or tables a column, of that name already";
            Err(ConfigError::at(["vary", name], problem)
                .expected(format!("another name, or one for the rows: [report.rows] {name} = \"{name}_...\"")))
        }
        None => Ok(()),
    }
}

/// What is said to grow is a task whose time is shown.
fn tasks(report: &Report) -> Result<(), ConfigError> {
    let known: Vec<&str> = report.tasks.iter().flat_map(|it| it.names.iter().map(String::as_str)).collect();
    for (number, growth) in report.tasks.iter().flat_map(|it| it.growth.iter().enumerate()) {
        if let Some(name) = growth.of.iter().chain(&growth.against).find(|name| !known.contains(&name.as_str())) {
            let path = ["report", "tasks", "growth", &number.to_string()];
            return Err(ConfigError::unknown(path, "task", name, &known));
        }
    }
    Ok(())
}

/// The figure has a scale, a colour and a range that there are.
fn looks(report: &Report) -> Result<(), ConfigError> {
    if let Some(scale) = report.x_scale.as_deref().filter(|scale| !SCALES.contains(scale)) {
        return Err(ConfigError::unknown(["report", "x_scale"], "scale", scale, &SCALES));
    }
    let inks = Ink::ALL.map(Ink::name);
    if let Some(ink) = report.ink.as_deref().filter(|ink| !inks.contains(ink)) {
        return Err(ConfigError::unknown(["report", "ink"], "colour of words", ink, &inks));
    }
    if let Some([low, high]) = report.y_range
        && low >= high
    {
        let fault = ConfigError::at(["report", "y_range"], "the lower end is not below the upper one");
        return Err(fault.suggest(format!("[{high}, {low}]")));
    }
    Ok(())
}
