//! Rows of echoes, which bring no goodput: the zero in them is none that was measured.

use std::collections::BTreeSet;

use super::{FoundColumn, Record, Source};
use crate::rows::Row;

/// What rows have a goodput as, and what could be of it.
const GOODPUTS: [&str; 2] = ["goodput_mbps", "octets"];

/// The loads of echoes, each with paper and figure of its scenario; without a name all loads together, where there are
/// no others.
#[derive(Clone, Debug, Default)]
pub(super) struct Echoes(BTreeSet<(Option<u8>, String, Option<String>)>);

impl Echoes {
    /// Those of `scenarios`.
    pub(super) fn of(scenarios: &[toml::Table]) -> Self {
        Self(scenarios.iter().flat_map(of_scenario).collect())
    }

    /// Whether `row` is of them. What came of a load that is one of echoes at the first point alone is its goodput.
    fn has(&self, row: &Row) -> bool {
        row.octets == 0 && self.0.contains(&(row.paper, row.figure.clone(), row.load.clone()))
    }

    /// Whether `row` has no such value, though it has a number there.
    pub(super) fn lacks(&self, row: &Row, name: &str) -> bool {
        GOODPUTS.contains(&name) && self.has(row)
    }
}

fn of_scenario(scenario: &toml::Table) -> Vec<(Option<u8>, String, Option<String>)> {
    let paper = scenario.get("paper").and_then(toml::Value::as_integer).and_then(|it| u8::try_from(it).ok());
    let figure = scenario.get("figure").and_then(toml::Value::as_str).unwrap_or_default();
    let Some(loads) = scenario.get("load").and_then(toml::Value::as_table) else {
        return Vec::new();
    };
    let is_echo = |load: &toml::Value| load.get("kind").and_then(toml::Value::as_str) == Some("ping");
    let names = loads.iter().filter(|(_, load)| is_echo(load)).map(|(name, _)| Some(name.clone()));
    let all = loads.values().all(is_echo).then_some(None);
    names.chain(all).map(|name| (paper, figure.to_owned(), name)).collect()
}

/// Which loads among `records` of a result have no value `found`, since they are made of echoes, and what becomes of
/// them.
pub(super) fn left_out(source: &Source, records: &[Record<'_>], found: &FoundColumn, fate: &str) -> Option<String> {
    let rows = records.iter().filter(|record| record.get(found).is_none()).filter_map(|record| record.row());
    let names: BTreeSet<&str> = rows
        .filter(|row| source.echoes().is_some_and(|echoes| echoes.lacks(row, found.name())))
        .map(|row| row.load.as_deref().unwrap_or("all loads"))
        .collect();
    let is = if names.len() == 1 { "is" } else { "are" };
    let names: Vec<&str> = names.into_iter().collect();
    (!names.is_empty()).then(|| {
        format!(
            "{}: {} {is} {fate}: echoes have no {}, but round_trip_ms.p50 and lost_percent",
            source.name(),
            names.join(", "),
            found.name()
        )
    })
}
