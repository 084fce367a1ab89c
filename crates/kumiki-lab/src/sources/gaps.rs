//! Records that have nothing where a value is looked for.

use std::collections::{BTreeMap, BTreeSet};

use super::{FoundColumn, Record, Source, echoes, point};
use crate::rows::Row;

/// So many lines are named.
pub(super) const NAMED: usize = 8;

/// How many of `records`, and in which lines, have nothing in the column `found` of the measurements `source`, and what
/// becomes of them: nothing where all have something, and of results, in which what is not there does not belong to a
/// row, echoes alone.
pub(crate) fn empty(source: &Source, records: &[Record<'_>], found: &FoundColumn, fate: &str) -> Option<String> {
    if !source.is_measured() {
        return echoes::left_out(source, records, found, fate);
    }
    let lines: Vec<String> =
        records.iter().filter(|record| record.get(found).is_none()).map(|record| record.line().to_string()).collect();
    let (own, verb) = if lines.len() == 1 { ("line", "has") } else { ("lines", "have") };
    let (first, more) = lines.split_at_checked(NAMED).unwrap_or((&lines, &[]));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    let is = if lines.len() == 1 { "is" } else { "are" };
    (!lines.is_empty()).then(|| {
        format!(
            "{}: {} of {} lines {verb} no {} and {is} {fate} ({own} {}{more})",
            source.path(),
            lines.len(),
            records.len(),
            found.name(),
            first.join(", ")
        )
    })
}

/// How many rows among `records` of a result have no value `found` where others of the same load have one, or where
/// none at all has, at which points, and what becomes of them. What a load never has does not belong to it, and of
/// echoes [`empty`] tells.
pub(crate) fn without(source: &Source, records: &[Record<'_>], found: &FoundColumn, fate: &str) -> Option<String> {
    let is_echo = |row: &Row| source.echoes().is_some_and(|echoes| echoes.lacks(row, found.name()));
    let rows = records.iter().filter_map(|record| Some((record.row()?, record.get(found).is_some())));
    let rows: Vec<(&Row, bool)> = rows.filter(|(row, _)| !is_echo(row)).collect();
    let of = |row: &Row| (row.paper, row.figure.clone(), row.load.clone());
    let with: BTreeSet<_> = rows.iter().filter(|(_, has)| *has).map(|(row, _)| of(row)).collect();
    let mut all = 0;
    let mut points: Vec<(String, usize, usize)> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (row, has) in rows.iter().filter(|(row, _)| with.is_empty() || with.contains(&of(row))) {
        all += 1;
        let label = [point(row), row.load.clone().unwrap_or_default()];
        let label = label.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
        let place = *places.entry(label).or_insert_with_key(|label| {
            points.push((label.clone(), 0, 0));
            points.len() - 1
        });
        if let Some((_, lacking, runs)) = points.get_mut(place) {
            *lacking += usize::from(!*has);
            *runs += 1;
        }
    }
    points.retain(|(_, lacking, _)| *lacking > 0);
    let count: usize = points.iter().map(|(_, lacking, _)| lacking).sum();
    let (have, are) = if count == 1 { ("has", "is") } else { ("have", "are") };
    let told = points.iter().take(NAMED).filter(|(label, ..)| !label.is_empty());
    let told = told.map(|(label, lacking, runs)| match lacking == runs {
        true => label.clone(),
        false => format!("{label} ({lacking} of {runs})"),
    });
    let more = points.len().saturating_sub(NAMED);
    let told: Vec<String> = told.chain((more > 0).then(|| format!("and {more} more"))).collect();
    let colon = if told.is_empty() { "" } else { ": " };
    (count > 0).then(|| {
        format!(
            "{}: {count} of {all} rows {have} no {} and {are} {fate}{colon}{}",
            source.name(),
            found.name(),
            told.join("; ")
        )
    })
}
