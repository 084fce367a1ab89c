//! Rows as columns of a type each: what Arrow and Parquet are made of.
//!
//! Which columns there are follows from what is varied, and from nothing that was measured: so two results of one
//! scenario fit together, also where points have failed. What a row has a map of by names that are known beforehand is
//! columns (`round_trip_ms.p95`, `held.loss`). Queues and counters have names that depend on the hosts, up to thousands
//! of them, and only the rows of all loads together have any: they are tables of their own with a row for each queue
//! and each counter.

use super::value::{QUANTILES, QUEUE_PARTS};
use super::{Parameter, Row};
use crate::experiment;

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name, as in CSV.
    pub name: String,
    /// A value for each row, where the row has one.
    pub values: Values,
}

/// The values of a column, all of one type.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// On or off.
    Switches(Vec<Option<bool>>),
    /// Whole numbers.
    Integers(Vec<Option<i64>>),
    /// Other numbers.
    Floats(Vec<Option<f64>>),
    /// Words.
    Texts(Vec<Option<String>>),
}

/// What makes columns of rows, each with the number of its point. The last are what the rows of each point have in
/// common, of all points, be they without rows: what is varied is known from them.
pub type ColumnMaker = fn(&[(usize, &Row)], &[Row]) -> Result<Vec<Column>, ColumnError>;

/// The tables of all runs: what each is called, and what makes it.
pub const TABLES: [(&str, ColumnMaker); 3] = [("rows", columns), ("queues", queues), ("counters", counters)];

/// The column with the number of the point, which no row has.
pub(super) const POINT: &str = "point";

/// Why rows are no columns.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ColumnError {
    /// One of the values is a word, say, and another a number.
    #[error("column {column:?} has {one} and {other}; a column has values of one type: write them alike in [vary]")]
    Types {
        /// The name of the column.
        column: String,
        /// A value of it.
        one: String,
        /// Another.
        other: String,
    },
    /// A whole number that 64 bits with a sign cannot hold, or a float beside which it stands cannot hold exactly.
    #[error("column {column:?}: {value} is too large for a column of {of}")]
    Large {
        /// The name of the column.
        column: String,
        /// The value.
        value: u64,
        /// What the column is of.
        of: &'static str,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Switch,
    Integer,
    Float,
    Text,
}

impl Kind {
    const fn of(value: &Parameter) -> Self {
        match value {
            Parameter::Switch(_) => Self::Switch,
            Parameter::Count(_) => Self::Integer,
            Parameter::Number(_) => Self::Float,
            Parameter::Text(_) => Self::Text,
        }
    }

    const fn is_number(self) -> bool {
        matches!(self, Self::Integer | Self::Float)
    }
}

/// A row that has every field, so that each says of what type it is.
fn sample() -> Row {
    let (number, text) = (Some(0.0), Some(String::new()));
    Row {
        load: text.clone(),
        flow: Some(0),
        from: text,
        completion_s: number,
        completions: Some(0),
        longest_gap_s: number,
        lost_percent: number,
        limit_mbps: number,
        jain: number,
        segments_sent: Some(0),
        retransmissions: Some(0),
        timeouts: Some(0),
        paper_mbps: number,
        ..Row::default()
    }
}

/// The rows as columns, each with the number of its point: `point`, then those of CSV but for queues and counters.
fn columns(rows: &[(usize, &Row)], points_of: &[Row]) -> Result<Vec<Column>, ColumnError> {
    let mut columns = vec![points(rows.iter().map(|(point, _)| *point))?];
    let of = |name: &str, kind, value: &dyn Fn(&Row) -> Option<Parameter>| {
        column(name, kind, rows.iter().map(|(_, row)| value(row)).collect())
    };
    columns.push(of("paper", Kind::Integer, &|row| row.paper.map(|paper| Parameter::Count(paper.into())))?);
    columns.push(of("figure", Kind::Text, &|row| Some(Parameter::Text(row.figure.clone())))?);
    columns.push(of("series", Kind::Text, &|row| Some(Parameter::Text(row.series.clone())))?);
    let mut varied: Vec<&str> = Vec::new();
    let all = || points_of.iter().chain(rows.iter().map(|(_, row)| *row));
    for (name, _) in all().flat_map(|row| &row.varied) {
        if !varied.contains(&name.as_str()) {
            varied.push(name);
        }
    }
    for name in varied {
        let kind = kind(name, all().filter_map(|row| row.parameter(name)))?;
        columns.push(of(name, kind, &|row| row.parameter(name).cloned())?);
    }
    // By field and not by row: each row makes all of its fields at once.
    let fields: Vec<_> = rows.iter().map(|(_, row)| row.fields()).collect();
    for (place, (name, value)) in sample().fields().into_iter().enumerate() {
        let kind = value.as_ref().map_or(Kind::Text, Kind::of);
        let values = fields.iter().map(|fields| fields.get(place).and_then(|(_, value)| value.clone()));
        columns.push(column(name, kind, values.collect())?);
    }
    let held: Vec<&str> = experiment::Limit::ALL.iter().map(|limit| limit.name()).collect();
    for (place, (map, _)) in Row::default().maps().into_iter().enumerate() {
        for name in if map == "held" { held.as_slice() } else { &QUANTILES } {
            let value = |row: &Row| row.maps().get(place).and_then(|(_, values)| values.get(*name)).copied();
            let values = rows.iter().map(|(_, row)| value(row));
            columns.push(Column { name: format!("{map}.{name}"), values: Values::Floats(values.collect()) });
        }
    }
    columns.push(of("version", Kind::Text, &|row| Some(Parameter::Text(row.version.clone())))?);
    Ok(columns)
}

/// The queues of all runs: a row for each, with the point, the seed and the repetition.
fn queues(rows: &[(usize, &Row)], _: &[Row]) -> Result<Vec<Column>, ColumnError> {
    let all: Vec<_> =
        rows.iter().flat_map(|(point, row)| row.queues.iter().map(move |it| (*point, *row, it))).collect();
    let mut columns = of_runs(all.iter().map(|(point, row, _)| (*point, *row)))?;
    columns.push(texts("queue", all.iter().map(|(_, _, (name, _))| name.as_str())));
    let floats = QUEUE_PARTS.map(|name| {
        let values = all.iter().map(|(_, _, (_, values))| values.get(name).copied());
        Column { name: name.to_owned(), values: Values::Floats(values.collect()) }
    });
    columns.extend(floats);
    Ok(columns)
}

/// The counters of all runs: a row for each, with the point, the seed and the repetition.
fn counters(rows: &[(usize, &Row)], _: &[Row]) -> Result<Vec<Column>, ColumnError> {
    let mut all: Vec<(usize, &Row, &str, &str, u64)> = Vec::new();
    for (point, row) in rows {
        for (layer, values) in &row.counters {
            all.extend(values.iter().map(|(name, value)| (*point, *row, layer.as_str(), name.as_str(), *value)));
        }
    }
    let mut columns = of_runs(all.iter().map(|(point, row, ..)| (*point, *row)))?;
    columns.push(texts("layer", all.iter().map(|(_, _, layer, ..)| *layer)));
    columns.push(texts("counter", all.iter().map(|(_, _, _, name, _)| *name)));
    let values = all.iter().map(|(.., value)| Some(Parameter::Count(*value)));
    columns.push(column("value", Kind::Integer, values.collect())?);
    Ok(columns)
}

fn points(points: impl Iterator<Item = usize>) -> Result<Column, ColumnError> {
    let count = |point| Some(Parameter::Count(u64::try_from(point).unwrap_or(u64::MAX)));
    column(POINT, Kind::Integer, points.map(count).collect())
}

/// Of which run each row is.
fn of_runs<'a>(rows: impl Iterator<Item = (usize, &'a Row)> + Clone) -> Result<Vec<Column>, ColumnError> {
    let count = |name, count: fn(&Row) -> u64| {
        column(name, Kind::Integer, rows.clone().map(|(_, row)| Some(Parameter::Count(count(row)))).collect())
    };
    Ok(vec![
        points(rows.clone().map(|(point, _)| point))?,
        count("seed", |row| row.seed)?,
        count("repetition", |row| row.repetition.into())?,
    ])
}

fn texts<'a>(name: &str, values: impl Iterator<Item = &'a str>) -> Column {
    Column { name: name.to_owned(), values: Values::Texts(values.map(|it| Some(it.to_owned())).collect()) }
}

/// Of what type a column with these values is: whole numbers beside others are others.
fn kind<'a>(name: &str, values: impl Iterator<Item = &'a Parameter>) -> Result<Kind, ColumnError> {
    let mut found: Option<(Kind, &Parameter)> = None;
    for value in values {
        let kind = Kind::of(value);
        found = match found {
            None => Some((kind, value)),
            Some((before, first)) if before == kind => Some((before, first)),
            Some((before, first)) if before.is_number() && kind.is_number() => Some((Kind::Float, first)),
            Some((_, first)) => {
                let (one, other) = (described(first), described(value));
                return Err(ColumnError::Types { column: name.to_owned(), one, other });
            }
        };
    }
    Ok(found.map_or(Kind::Text, |(kind, _)| kind))
}

fn described(value: &Parameter) -> String {
    match value {
        Parameter::Switch(on) => format!("the switch {on}"),
        Parameter::Count(_) | Parameter::Number(_) => format!("the number {value}"),
        Parameter::Text(text) => format!("the word {text:?}"),
    }
}

fn column(name: &str, kind: Kind, values: Vec<Option<Parameter>>) -> Result<Column, ColumnError> {
    let large = |value, of| ColumnError::Large { column: name.to_owned(), value, of };
    let integer = |value: Parameter| match value {
        Parameter::Count(count) => i64::try_from(count).map(Some).map_err(|_| large(count, "whole numbers")),
        Parameter::Switch(_) | Parameter::Number(_) | Parameter::Text(_) => Ok(None),
    };
    let float = |value: Parameter| match value {
        Parameter::Number(number) => Ok(Some(number)),
        Parameter::Count(count) => exact(count).map(Some).ok_or_else(|| large(count, "floats")),
        Parameter::Switch(_) | Parameter::Text(_) => Ok(None),
    };
    let values = values.into_iter();
    let values = match kind {
        Kind::Switch => Values::Switches(
            values
                .map(|value| match value {
                    Some(Parameter::Switch(on)) => Some(on),
                    Some(Parameter::Count(_) | Parameter::Number(_) | Parameter::Text(_)) | None => None,
                })
                .collect(),
        ),
        Kind::Integer => Values::Integers(values.map(|it| it.map_or(Ok(None), integer)).collect::<Result<_, _>>()?),
        Kind::Float => Values::Floats(values.map(|it| it.map_or(Ok(None), float)).collect::<Result<_, _>>()?),
        Kind::Text => Values::Texts(
            values
                .map(|value| match value {
                    Some(Parameter::Text(text)) => Some(text),
                    Some(Parameter::Switch(_) | Parameter::Count(_) | Parameter::Number(_)) | None => None,
                })
                .collect(),
        ),
    };
    Ok(Column { name: name.to_owned(), values })
}

/// The number as a float, where one is it.
fn exact(count: u64) -> Option<f64> {
    const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;
    #[expect(clippy::cast_precision_loss, reason = "it is no larger than what has none")]
    (count <= EXACT).then_some(count as f64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::rows::Scope;

    fn row(value: Parameter) -> Row {
        Row { varied: vec![("x".to_owned(), value)], ..Row::default() }
    }

    fn varied(values: &[Parameter]) -> Result<Values, ColumnError> {
        let rows: Vec<Row> = values.iter().cloned().map(row).collect();
        let rows: Vec<(usize, &Row)> = rows.iter().enumerate().collect();
        Ok(columns(&rows, &[])?.into_iter().find(|it| it.name == "x").unwrap().values)
    }

    #[test]
    fn a_column_has_one_type_or_says_why_not() {
        use Parameter::{Count, Number, Switch, Text};
        assert_eq!(varied(&[Count(1), Count(2)]), Ok(Values::Integers(vec![Some(1), Some(2)])));
        assert_eq!(varied(&[Count(1), Number(0.5)]), Ok(Values::Floats(vec![Some(1.0), Some(0.5)])));
        assert_eq!(varied(&[Switch(true)]), Ok(Values::Switches(vec![Some(true)])));
        let why = varied(&[Count(1), Text("none".to_owned())]).unwrap_err().to_string();
        assert_eq!(
            why,
            "column \"x\" has the number 1 and the word \"none\"; a column has values of one type: write them alike in [vary]"
        );
        let why = varied(&[Count(u64::MAX)]).unwrap_err().to_string();
        assert_eq!(why, "column \"x\": 18446744073709551615 is too large for a column of whole numbers");
        assert!(matches!(varied(&[Number(0.5), Count(1 << 60)]), Err(ColumnError::Large { .. })));
    }

    #[test]
    fn which_columns_there_are_does_not_follow_from_what_was_measured() {
        assert!(sample().fields().iter().all(|(_, value)| value.is_some()));
        let names = |row: &Row| -> Vec<String> {
            columns(&[(0, row)], &[]).unwrap().into_iter().map(|column| column.name).collect()
        };
        let full = Row { held: BTreeMap::from([("loss".to_owned(), 1.0)]), ..sample() };
        assert_eq!(names(&Row::default()), names(&full));
        let all = names(&full);
        // No varied name can be there twice.
        assert_eq!(all.iter().find(|name| !crate::rows::is_field(name)), None);
        for name in ["point", "goodput_mbps", "round_trip_ms.p95", "held.send buffer", "version"] {
            assert!(all.iter().any(|it| it == name), "{name}");
        }
        let mut once = all.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), all.len());
    }

    /// The type of what is varied is that of all points: those without a row count as well.
    #[test]
    fn points_without_rows_have_columns_for_what_is_varied() {
        let all = [row(Parameter::Count(1)), row(Parameter::Number(0.5))];
        let find =
            |rows: &[(usize, &Row)]| columns(rows, &all).unwrap().into_iter().find(|it| it.name == "x").unwrap().values;
        assert_eq!(find(&[]), Values::Floats(Vec::new()));
        assert_eq!(find(&[(0, &all[0])]), Values::Floats(vec![Some(1.0)]));
    }

    #[test]
    fn queues_and_counters_are_long() {
        let values = |name: &str, value: f64| BTreeMap::from([(name.to_owned(), value)]);
        let row = Row {
            seed: 7,
            queues: BTreeMap::from([("line.a".to_owned(), values("mean", 2.5))]),
            counters: BTreeMap::from([("tcp".to_owned(), BTreeMap::from([("segments".to_owned(), 3)]))]),
            ..Row::default()
        };
        let flow = Row { scope: Scope::Flow, ..Row::default() };
        let rows = [(4, &row), (4, &flow)];
        let find = |columns: Vec<Column>, name: &str| columns.into_iter().find(|it| it.name == name).unwrap().values;
        assert_eq!(find(queues(&rows, &[]).unwrap(), "mean"), Values::Floats(vec![Some(2.5)]));
        assert_eq!(find(queues(&rows, &[]).unwrap(), "max"), Values::Floats(vec![None]));
        assert_eq!(find(counters(&rows, &[]).unwrap(), "value"), Values::Integers(vec![Some(3)]));
        assert_eq!(find(counters(&rows, &[]).unwrap(), "point"), Values::Integers(vec![Some(4)]));
    }
}
