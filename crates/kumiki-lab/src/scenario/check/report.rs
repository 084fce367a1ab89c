//! What `[report]` says is there to be shown.

use std::collections::BTreeSet;

use super::super::Report;
use super::super::fault::Fault;
use super::super::tree::Source;
use super::super::vary::Axis;
use crate::figure::Ink;
use crate::rows::ValueName;

/// What `x_scale` may be.
const SCALES: [&str; 3] = ["linear", "log2", "octets"];

/// What `[report] held` may be.
const HELD: [&str; 4] = ["flow", "load", "total", "none"];

/// `[report]` speaks of varied names.
pub(in crate::scenario) fn report(source: &Source<'_>, report: &Report, axes: &[Axis]) -> Result<(), Fault> {
    let known: Vec<&str> = axes.iter().flat_map(|a| a.names.iter().map(String::as_str)).collect();
    let check = |path: &[&str], name: &str| {
        if known.contains(&name) {
            Ok(())
        } else {
            Err(source.locate(Fault::unknown(path, "varied name", name, &known)))
        }
    };
    if let Some(x) = &report.x {
        check(&["report", "x"], x)?;
    }
    if let Some(value) = &report.value {
        let path = ["report", "value"];
        let name = ValueName::new(value)
            .ok_or_else(|| source.locate(Fault::unknown(path, "value of a row", value, &ValueName::known())))?;
        if source.root.child("trend").is_some() && !name.is_goodput() {
            return Err(source.locate(Fault::at(path, "[[trend]] is about goodput").expected("one of the two")));
        }
    }
    if let Some(held) = report.held.as_deref().filter(|held| !HELD.contains(held)) {
        return Err(source.locate(Fault::unknown(["report", "held"], "kind of row", held, &HELD)));
    }
    for (number, name) in report.series.iter().enumerate() {
        check(&["report", "series", &number.to_string()], name)?;
        if report.x.as_ref() == Some(name) {
            let path = ["report", "series"];
            return Err(source.locate(Fault::at(path, format!("{name:?} is the horizontal axis already"))));
        }
    }
    let words: Vec<String> =
        axes.iter().flat_map(|axis| axis.rows.iter().flatten()).filter_map(|node| node.plain()).collect();
    if let Some(word) = report.meaning.keys().find(|word| !words.contains(word)) {
        let path = ["report", "meaning", word.as_str()];
        return Err(source.locate(Fault::unknown(path, "value of what is varied", word, &words)));
    }
    let mut columns = BTreeSet::new();
    for (name, column) in &report.rows {
        let path = ["report", "rows", name.as_str()];
        check(&path, name)?;
        if crate::rows::is_field(column) && column != "series" {
            return Err(source.locate(
                Fault::at(path, "every row has a field, or tables a column, of that name already")
                    .expected(format!("a name with its unit, such as \"{name}_bytes\"")),
            ));
        }
        if !columns.insert(column) {
            return Err(source.locate(Fault::at(path, "two varied names have this column")));
        }
    }
    for name in &known {
        let column = report.rows.get(*name).map_or(*name, String::as_str);
        if crate::rows::is_field(column) && column != "series" {
            let fault =
                Fault::at(["vary", name], "every result row has a field, or tables a column, of that name already");
            return Err(source.locate(
                fault.expected(format!("another name, or one for the rows: [report.rows] {name} = \"{name}_...\"")),
            ));
        }
    }
    for (number, growth) in report.tasks.iter().flat_map(|it| it.growth.iter().enumerate()) {
        let known: Vec<&str> = report.tasks.iter().flat_map(|it| it.names.iter().map(String::as_str)).collect();
        for name in growth.of.iter().chain(&growth.against) {
            if !known.contains(&name.as_str()) {
                let path = ["report", "tasks", "growth", &number.to_string()];
                return Err(source.locate(Fault::unknown(path, "task", name, &known)));
            }
        }
    }
    if let Some(scale) = &report.x_scale
        && !SCALES.contains(&scale.as_str())
    {
        return Err(source.locate(Fault::unknown(["report", "x_scale"], "scale", scale, &SCALES)));
    }
    let inks = Ink::ALL.map(Ink::name);
    if let Some(ink) = report.ink.as_deref().filter(|ink| !inks.contains(ink)) {
        return Err(source.locate(Fault::unknown(["report", "ink"], "colour of words", ink, &inks)));
    }
    if let Some([low, high]) = report.y_range
        && low >= high
    {
        let fault = Fault::at(["report", "y_range"], "the lower end is not below the upper one");
        return Err(source.locate(fault.suggest(format!("[{high}, {low}]"))));
    }
    Ok(())
}
