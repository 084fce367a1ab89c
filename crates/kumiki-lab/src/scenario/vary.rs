//! What is varied: from `[vary]`, `[quick]` and `--set` to combinations.

use std::collections::BTreeMap;

use kumiki_octets::text::counted;

use super::amount::Amount;
use kumiki_config::error::ConfigError;
use kumiki_config::quantity::SIGN;
use kumiki_config::tree::{Entry, Node, Origin, Source, Value};

/// More combinations are a slip of the pen; each is kept in full.
pub(super) const MOST_POINTS: usize = 10_000;

/// Names that vary in lockstep, one alone mostly, with their values row by row.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) names: Vec<String>,
    pub(super) rows: Vec<Vec<Node>>,
}

/// The names of a key of `[vary]`: `"length, count"` are two.
pub(super) fn names(key: &str) -> Vec<String> {
    key.split(',').map(|name| name.trim().to_owned()).collect()
}

pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// A fault of the value at `path`, placed where `node` is written.
pub(super) fn fault_at(source: &Source<'_>, path: &[&str], at: Origin, problem: impl Into<String>) -> ConfigError {
    let fault = ConfigError::at(path, problem);
    match source.place(at) {
        Some(place) => fault.in_place(place),
        None => fault,
    }
    .in_file(source.file)
}

/// The axes of a table: `[vary]`, or the entries of `[quick]` that are of its form.
pub(super) fn axis(source: &Source<'_>, section: &str, entry: &Entry) -> Result<Axis, ConfigError> {
    let names = names(&entry.key);
    let path = [section, entry.key.as_str()];
    if let Some(bad) = names.iter().find(|name| !is_name(name)) {
        return Err(fault_at(source, &path, entry.at, format!("{bad:?} is not a name"))
            .expected("letters, digits, _ and -, or several such names between commas"));
    }
    // They are counted before they are copied.
    if let Value::List(items) = &entry.node.value
        && items.len() > MOST_POINTS
    {
        let problem = format!("{} make more than {MOST_POINTS} combinations", counted(items.len(), "value"));
        return Err(fault_at(source, &path, entry.at, problem));
    }
    let rows = if names.len() > 1 {
        lockstep(source, &path, names.len(), &entry.node)?
    } else {
        values(source, &path, &entry.node)?.into_iter().map(|value| vec![value]).collect()
    };
    if rows.is_empty() {
        return Err(fault_at(source, &path, entry.at, "a list without values"));
    }
    distinct(source, &path, &rows)?;
    Ok(Axis { names, rows })
}

/// Refuses values, or rows of them, that are there twice, be it in other units: their points would be one.
pub(super) fn distinct(source: &Source<'_>, path: &[&str], rows: &[Vec<Node>]) -> Result<(), ConfigError> {
    let meant = |node: &Node| {
        let text = node.plain().unwrap_or_default();
        // Nothing is the same in every unit.
        let told = |amount: Amount| if amount.base() == 0 { 0.to_string() } else { amount.to_string() };
        Amount::parse(&text).map_or(text, told)
    };
    let mut seen: BTreeMap<Vec<String>, &[Node]> = BTreeMap::new();
    for row in rows {
        let Some(earlier) = seen.insert(row.iter().map(meant).collect(), row) else {
            continue;
        };
        let shown = |row: &[Node]| row.iter().filter_map(Node::shown).collect::<Vec<_>>().join(", ");
        let (own, earlier) = (shown(row), shown(earlier));
        let problem = match own == earlier {
            true => format!("{own} is there twice"),
            false => format!("{own} is the same as {earlier}"),
        };
        let at = row.first().map_or(Origin::Line(0, 0), |node| node.at);
        return Err(
            fault_at(source, path, at, problem).expected("each value once; [run] repeat makes several runs of it")
        );
    }
    Ok(())
}

/// The values of one name: a list, or a text of quantities and ranges.
pub(super) fn values(source: &Source<'_>, path: &[&str], node: &Node) -> Result<Vec<Node>, ConfigError> {
    match &node.value {
        Value::List(items) => {
            for item in items {
                single(source, path, item)?;
            }
            Ok(items.clone())
        }
        Value::Text(text) => {
            let amounts = Amount::parse_list(text).map_err(|invalid| {
                let fault = if invalid.problem == SIGN && text.trim_start().starts_with('-') {
                    let fault =
                        ConfigError::at(path, "values below 0 are numbers of a list").found(format!("{text:?}"));
                    fault.expected("a list such as [-20, 0, 20]; ranges begin at 0 or above")
                } else if let Some(range) = hyphened(text) {
                    let fault = ConfigError::at(path, invalid.problem.clone()).found(format!("{text:?}"));
                    fault.suggest(format!("the range {range:?}"))
                } else if text.chars().any(|c| c.is_ascii_digit()) {
                    ConfigError::quantity(path, &invalid)
                } else {
                    ConfigError::at(path, "neither a list nor quantities").found(format!("{text:?}")).expected(format!(
                        "a list such as [{text:?}], or a range such as \"0 ms .. 200 ms step 20 ms\""
                    ))
                };
                let fault = match source.place(node.at) {
                    Some(place) => fault.in_place(place),
                    None => fault,
                };
                fault.in_file(source.file)
            })?;
            Ok(amounts.into_iter().map(|amount| of_amount(amount, node.at)).collect())
        }
        Value::Integer(_) | Value::Float(_) | Value::Switch(_) => Ok(vec![node.clone()]),
        Value::Table(_) => Err(fault_at(source, path, node.at, "this is a table")
            .expected("a list such as [1, 2], or a range such as \"0 ms .. 200 ms step 20 ms\"")),
    }
}

/// What others write as a range, `1-5` or `1 to 5`, as a range; with units it has steps. Nothing where that would be
/// none.
fn hyphened(text: &str) -> Option<String> {
    let parts = text.split_once(" to ").or_else(|| text.split_once('-'));
    let (from, to) = parts.map(|(from, to)| (from.trim(), to.trim()))?;
    let [first, last] = [from, to].map(Amount::parse);
    first.zip(last).filter(|(first, last)| first.is_like(*last))?;
    // Where it begins with nothing there are five steps.
    let fifth = last.map(|last| last.with_base(last.base() / 5).to_string()).unwrap_or_default();
    let ranges =
        [format!("{from} .. {to}"), format!("{from} .. {to} step {from}"), format!("{from} .. {to} step {fifth}")];
    ranges.into_iter().find(|range| Amount::parse_list(range).is_ok())
}

pub(super) fn of_amount(amount: Amount, at: Origin) -> Node {
    let value = match (amount, i64::try_from(amount.base())) {
        (Amount::Count(_), Ok(n)) => Value::Integer(n),
        _ => Value::Text(amount.to_string()),
    };
    Node { at, value }
}

fn single(source: &Source<'_>, path: &[&str], item: &Node) -> Result<(), ConfigError> {
    match item.value {
        Value::Text(_) | Value::Integer(_) | Value::Float(_) | Value::Switch(_) => Ok(()),
        Value::List(_) | Value::Table(_) => Err(fault_at(
            source,
            path,
            item.at,
            format!("a value that is varied is a single one, and this is {}", item.kind()),
        )
        .expected("a string, a number, true or false; longer values go into [define], as in \"${stack_${name}}\"")),
    }
}

fn lockstep(source: &Source<'_>, path: &[&str], width: usize, node: &Node) -> Result<Vec<Vec<Node>>, ConfigError> {
    let wrong = |at, problem: String| {
        Err(fault_at(source, path, at, problem)
            .expected(format!("a list of lists, each with one value for each of the {width} names")))
    };
    let Value::List(items) = &node.value else {
        return wrong(node.at, format!("this is {}", node.kind()));
    };
    let mut rows = Vec::with_capacity(items.len());
    for item in items {
        let Value::List(row) = &item.value else {
            return wrong(item.at, format!("this is {}", item.kind()));
        };
        if row.len() != width {
            return wrong(
                item.at,
                format!("{} for {names}", counted(row.len(), "value"), names = counted(width, "name")),
            );
        }
        for value in row {
            single(source, path, value)?;
        }
        rows.push(row.clone());
    }
    Ok(rows)
}

impl Axis {
    /// With `values` in the place of those of `name`. Of names in lockstep the rows that have these values are left;
    /// where there are none for one of them, it varies alone, and what is left of the axis, if anything, stands before
    /// it.
    pub(super) fn replace(self, name: &str, values: Vec<Node>) -> Vec<Self> {
        let place = self.names.iter().position(|own| own == name);
        let is = |row: &[Node], value: &Node| {
            place.and_then(|place| row.get(place)).is_some_and(|own| same(&own.to_toml(), &value.to_toml()))
        };
        if self.names.len() > 1 && values.iter().all(|value| self.rows.iter().any(|row| is(row, value))) {
            let rows = self.rows.into_iter().filter(|row| values.iter().any(|value| is(row, value)));
            return vec![Self { names: self.names, rows: rows.collect() }];
        }
        let own = Self { names: vec![name.to_owned()], rows: values.into_iter().map(|value| vec![value]).collect() };
        let kept: Vec<bool> = self.names.iter().map(|n| n != name).collect();
        let keep = |i: usize| kept.get(i).copied().unwrap_or(false);
        let mut rest = Self { names: filtered(&self.names, keep), rows: Vec::new() };
        if rest.names.is_empty() {
            return vec![own];
        }
        for row in &self.rows {
            let row = filtered(row, keep);
            if !rest.rows.iter().any(|earlier| same_row(earlier, &row)) {
                rest.rows.push(row);
            }
        }
        vec![rest, own]
    }
}

fn filtered<T: Clone>(items: &[T], keep: impl Fn(usize) -> bool) -> Vec<T> {
    items.iter().enumerate().filter(|(i, _)| keep(*i)).map(|(_, item)| item.clone()).collect()
}

fn same_row(a: &[Node], b: &[Node]) -> bool {
    a.iter().zip(b).all(|(a, b)| same(&a.to_toml(), &b.to_toml()))
}

/// Whether two values mean the same: equal, or the same quantity in different words.
pub(super) fn same(a: &toml::Value, b: &toml::Value) -> bool {
    let amount = |value: &toml::Value| match value {
        toml::Value::String(text) => Amount::parse(text),
        toml::Value::Integer(n) => u64::try_from(*n).ok().map(Amount::Count),
        toml::Value::Float(_)
        | toml::Value::Boolean(_)
        | toml::Value::Datetime(_)
        | toml::Value::Array(_)
        | toml::Value::Table(_) => None,
    };
    a == b
        || match (amount(a), amount(b)) {
            (Some(a), Some(b)) => a == b || (a.base() == 0 && b.base() == 0),
            _ => number(a).is_some_and(|x| Some(x) == number(b)),
        }
}

fn number(value: &toml::Value) -> Option<f64> {
    match value {
        toml::Value::Float(x) => Some(*x),
        toml::Value::Integer(n) => n.to_string().parse().ok(),
        toml::Value::String(_)
        | toml::Value::Boolean(_)
        | toml::Value::Datetime(_)
        | toml::Value::Array(_)
        | toml::Value::Table(_) => None,
    }
}

/// All combinations of the axes, the last of them varying fastest. `None` where these are more than [`MOST_POINTS`].
pub(super) fn product(axes: &[Axis]) -> Option<Vec<Vec<(String, Node)>>> {
    let count = axes.iter().try_fold(1_usize, |count, axis| count.checked_mul(axis.rows.len()))?;
    if count > MOST_POINTS {
        return None;
    }
    let mut points = vec![Vec::new()];
    for axis in axes {
        points = points
            .iter()
            .flat_map(|point: &Vec<(String, Node)>| {
                axis.rows.iter().map(|row| {
                    let mut longer = point.clone();
                    longer.extend(axis.names.iter().cloned().zip(row.iter().cloned()));
                    longer
                })
            })
            .collect();
    }
    Some(points)
}
