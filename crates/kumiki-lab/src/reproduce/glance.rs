//! How it went, in a few lines: for a page on which no paper says what should have come out.

use std::collections::BTreeMap;

use super::Results;
use super::bounds::{has_flows, mostly, share_alike};
use crate::rows::Row;
use crate::stats;

/// So many of what held something back are told; the rest is in the rows.
const HELD: usize = 3;

/// Less than that of the time is not worth a word.
pub(super) const LEAST: f64 = 0.005;

impl Results {
    /// How fast it was and what bound it, then what else there was, and between which values it was at all points; of
    /// several runs of one it is their mean.
    pub(super) fn glance(&self) -> Vec<(String, String)> {
        let done = self.points.iter().filter_map(|(point, result)| Some((point.label(), result.as_ref().ok()?)));
        let done: Vec<(String, _)> = done.collect();
        let first = self.points.first().map(|(point, _)| &point.scenario);
        let load = first.and_then(|scenario| scenario.report.load.as_ref());
        let of = |load| done.iter().map(move |(label, done)| (label.as_str(), done.runs(load)));
        // Queues and counters are those of all loads together.
        let (runs, all_loads): (Vec<Runs<'_>>, Vec<Runs<'_>>) = (of(load).collect(), of(None).collect());
        let values = |of: &dyn Fn(&Row) -> Option<f64>| means(&runs, of);
        let shown = self.shown();
        let mut all: Vec<(String, String)> = Vec::new();
        let mut add = |what: &str, said: Option<String>| {
            all.extend(said.map(|said| (what.to_owned(), said)));
        };
        let are_several = first.is_some_and(|scenario| scenario.load.len() > 1);
        add("Load", load.filter(|_| are_several).map(|load| format!("{load}; losses and queues are of all loads")));
        if !shown.is_goodput() {
            let own = done.iter().filter_map(|(label, done)| Some((label.as_str(), done.summary?.mean)));
            let own: Vec<(&str, f64)> = own.collect();
            let counts = || done.iter().map(|(_, done)| done.with_value(load, &shown));
            let (with, all) = (counts().map(|it| it.0).sum::<usize>(), counts().map(|it| it.1).sum::<usize>());
            let some = if with < all { format!("; {with} of {all} runs have it") } else { String::new() };
            add(&capital(&shown.label()), between(&own, 2, shown.unit()).map(|said| said + &some));
        }
        add("Goodput", between(&values(&|row| Some(row.goodput_mbps)), 2, "Mb/s"));
        let of_limit = |row: &Row| Some(100.0 * row.goodput_mbps / row.limit_mbps.filter(|limit| *limit > 0.0)?);
        add("Bound by", bound(runs.iter().map(|(_, rows)| mostly(rows))));
        let mut sums: BTreeMap<String, f64> = BTreeMap::new();
        for (_, own) in &runs {
            for (what, share) in own.iter().flat_map(|row| &row.held) {
                *sums.entry(what.clone()).or_default() += share / (own.len() * runs.len()) as f64;
            }
        }
        add("TCP held back by", Some(held(&sums)).filter(|said| !said.is_empty()));
        add("Of what the lines allow", between(&values(&of_limit), 1, "%"));
        let round_trip = |row: &Row| row.round_trip_ms.get("mean").copied();
        add("Round trip, on average", between(&values(&round_trip), 1, "ms"));
        add("Sent again", between(&values(&|row| row.retransmissions.map(lossy)), 0, "segments"));
        let part = |row: &Row| {
            let sent = row.segments_sent.filter(|sent| *sent > 0)?;
            Some(100.0 * lossy(row.retransmissions?) / lossy(sent))
        };
        add("Of all segments", between(&values(&part), 2, "%"));
        let timeouts = values(&|row| row.timeouts.map(lossy));
        add("Time-outs", between(&timeouts, 0, "").filter(|_| timeouts.iter().any(|(_, count)| *count > 0.0)));
        add("Lost on the way", between(&means(&all_loads, &|row| lost(row).map(lossy)), 0, "frames or cells"));
        let longest = all_loads.iter().filter_map(|(label, rows)| Some((*label, longest_queue(rows)?)));
        let longest: Vec<_> = longest.collect();
        let longest = longest.into_iter().rev().max_by(|(_, (_, one)), (_, (_, other))| one.total_cmp(other));
        add(
            "Longest queue",
            longest.map(|(label, (name, most))| format!("{name}, {most:.0} or less in 95 % of the time{}", at(label))),
        );
        let share = self.points.iter().any(|(point, _)| has_flows(point) && share_alike(point));
        add("Jain's index", between(&values(&|row| row.jain.filter(|_| share)), 3, ""));
        add("Points", Some(self.counted()));
        all
    }

    /// "6, of which 1 failed".
    fn counted(&self) -> String {
        let (failed, left) = (self.failures().len(), self.left().0);
        let parts = [(failed, "failed"), (left, "were not run")];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        let parts: Vec<String> = parts.collect();
        let of = if parts.is_empty() { String::new() } else { format!(", of which {}", parts.join(" and ")) };
        format!("{}{of}", self.points.len())
    }
}

/// The runs of a point, with its name.
type Runs<'a> = (&'a str, Vec<&'a Row>);

/// By the names of points the means of what all of their runs have.
fn means<'a>(runs: &[Runs<'a>], of: &dyn Fn(&Row) -> Option<f64>) -> Vec<(&'a str, f64)> {
    let mean = |rows: &[&Row]| stats::mean(&rows.iter().map(|row| of(row)).collect::<Option<Vec<f64>>>()?);
    runs.iter().filter_map(|(label, rows)| Some((*label, mean(rows)?))).collect()
}

/// " (cubic, queue 10)"; nothing for the only point.
fn at(label: &str) -> String {
    if label.is_empty() { String::new() } else { format!(" ({label})") }
}

fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// "0.56 (reno) to 9.30 Mb/s (cubic)", or the only value; nothing where there are none.
fn between(values: &[(&str, f64)], decimals: usize, unit: &str) -> Option<String> {
    let (least_at, least) = values.iter().min_by(|one, other| one.1.total_cmp(&other.1))?;
    // Of several alike the first is named.
    let (most_at, most) = values.iter().rev().max_by(|one, other| one.1.total_cmp(&other.1))?;
    let space = if unit.is_empty() { "" } else { " " };
    let [low, high] = [least, most].map(|value| format!("{value:.decimals$}"));
    Some(if low == high {
        format!("{high}{space}{unit}")
    } else {
        format!("{low}{} to {high}{space}{unit}{}", at(least_at), at(most_at))
    })
}

/// "link at 4 points, loss at 2", the most frequent first; of each point that of most of its runs.
fn bound<'a>(points: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for bound in points.filter(|bound| !bound.is_empty()) {
        *counts.entry(bound).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let said: Vec<String> = match counts.as_slice() {
        [(only, _)] => vec![(*only).to_owned()],
        several => several.iter().map(|(what, count)| format!("{what} at {count}")).collect(),
    };
    let end = if said.len() > 1 { " points" } else { "" };
    (!said.is_empty()).then(|| format!("{}{end}", said.join(", ")))
}

/// "loss 60 %, receive window 38 %", the largest first.
pub(super) fn held(shares: &BTreeMap<String, f64>) -> String {
    let mut shares: Vec<(&String, f64)> = shares.iter().map(|(what, share)| (what, *share)).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    let told = shares.iter().filter(|(_, share)| *share >= LEAST).take(HELD);
    let told: Vec<String> = told.map(|(what, share)| format!("{what} {:.0} %", share * 100.0)).collect();
    told.join(", ")
}

/// The queue that was the longest in 95 of 100 moments, and how long it was; on average over `runs`. Nothing where none
/// waited anywhere: no line is it then.
pub(super) fn longest_queue<'a>(runs: &[&'a Row]) -> Option<(&'a str, f64)> {
    let mean = |name: &str| {
        let all = runs.iter().map(|row| row.queues.get(name)?.get("p95").copied());
        stats::mean(&all.collect::<Option<Vec<f64>>>()?)
    };
    let names = runs.first()?.queues.keys();
    let longer = names.filter_map(|name| Some((name.as_str(), mean(name)?))).filter(|(_, length)| *length > 0.0);
    longer.rev().max_by(|one, other| one.1.total_cmp(&other.1))
}

/// Whether the counter `name` of `layer` is of what queues had no room for, or what lines lost.
pub(super) fn is_lost(layer: &str, name: &str) -> bool {
    let of_direction = name.strip_prefix("a_").or_else(|| name.strip_prefix("b_"));
    // A host's programs and protocols count what they miss by the same words.
    let of_medium = !layer.contains('.') && ["drops", "lost", "overflow", "epd", "ppd"].contains(&name);
    of_medium
        || of_direction.is_some_and(|name| ["drops", "lost"].contains(&name))
        || ["dropped, queue full", "dropped, no page"].contains(&name)
}

/// Whether the counter `name` is of what of that is no loss: copies of frames to groups, which a switch has for each
/// port.
pub(super) fn is_copy(name: &str) -> bool {
    ["a_group_drops", "b_group_drops"].contains(&name)
}

/// What queues of lines, switches and adapters had no room for, and what lines lost; nothing where nobody counts.
/// Copies of frames to groups are none of it.
pub(super) fn lost(row: &Row) -> Option<u64> {
    let counts = || {
        let layers = row.counters.iter();
        layers.flat_map(|(layer, counts)| counts.iter().map(move |(name, count)| (layer, name.as_str(), *count)))
    };
    let mut lost = counts().filter(|(layer, name, _)| is_lost(layer, name)).map(|(.., count)| count).peekable();
    lost.peek()?;
    let copies = counts().filter(|(_, name, _)| is_copy(name)).map(|(.., count)| count);
    Some(lost.fold(0, u64::saturating_add).saturating_sub(copies.fold(0, u64::saturating_add)))
}

#[expect(clippy::cast_precision_loss, reason = "what is told needs no more than 53 bits")]
pub(super) const fn lossy(count: u64) -> f64 {
    count as f64
}
