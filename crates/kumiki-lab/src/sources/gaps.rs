//! Records that have nothing where a value is looked for.

use super::{Found, Record, Source, echoes};

/// So many lines are named.
pub(super) const NAMED: usize = 8;

/// How many of `records`, and in which lines, have nothing in the column `found` of the measurements `source`, and what becomes of them: nothing where all have something, and of
/// results, in which what is not there does not belong to a row, echoes alone.
pub(crate) fn empty(source: &Source, records: &[Record<'_>], found: &Found, fate: &str) -> Option<String> {
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
