//! From what was measured to rows.

use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant};
use kumiki_link::Occupancy;

use crate::experiment::{Flow, GoodputSteps, Limit, LoadResult, Measured, Sender};
use crate::limit;
use crate::reproduce::Failure;
use crate::rows::{Parameter, QUANTILES, RAW, Row, Scope};
use crate::scenario::{Point, Tasks, Workload};
use crate::stats;
use crate::workload::Times;

/// What the octets of all layers leave a load, in 10^6 bit/s.
#[derive(Clone, Copy)]
struct Limits {
    /// Over the measured time.
    all: f64,
    /// Over the part of it in which the load writes.
    writing: f64,
    /// Whether more came: what waits in queues when a line before them changes, or behind what is lost of a stream, is
    /// not known.
    is_unknown: bool,
}

/// So much more than what lines carry in the measured time may have been on the way when that began.
const MORE: f64 = 1.05;

fn allowed(point: &Point, load: &Workload, measured: &LoadResult) -> Option<Limits> {
    let between = |(from, time): (Instant, Duration)| {
        let from = from.saturating_since(Instant::ZERO);
        limit::of_all_between(&point.scenario, load, (from, from + time)).ok()
    };
    // What has no time of its own, since it never opened, called until the end.
    let until_end = measured.until.saturating_since(measured.began);
    let time = if measured.time.is_zero() { until_end } else { measured.time };
    let all = between((measured.began, time))?;
    let is_unknown = measured.goodput_mbps > all * MORE;
    Some(Limits { all, writing: measured.part.and_then(between).unwrap_or(all), is_unknown })
}

/// Of which loads it is not known what lines leave them, since more came than these carried.
pub(super) fn came_from_queues(point: &Point, measured: &Measured) -> Vec<String> {
    let loads = point.scenario.loads().into_iter();
    let unknown = loads.filter(|(name, load)| {
        let measured = measured.loads.get(*name);
        measured.and_then(|measured| allowed(point, load, measured)).is_some_and(|limits| limits.is_unknown)
    });
    let why = match limit::is_changing(&point.scenario) {
        true => "it waited in queues when one of them changed",
        false => "it waited in queues, or behind a segment that was lost, when that began",
    };
    let told = unknown.map(|(name, _)| {
        format!(
            "{name}: more came than its lines carried over the time measured, for {why}, so there is no limit to compare with"
        )
    });
    told.collect()
}

/// A row for all loads together, and for each with its flows.
pub(super) fn rows(point: &Point, measured: &Measured) -> Result<Vec<Row>, Failure> {
    let known = point.row();
    let allowed = |(name, load)| allowed(point, load, measured.loads.get(name)?).filter(|limits| !limits.is_unknown);
    let limits: BTreeMap<&String, Option<Limits>> = point.scenario.load.iter().map(|it| (it.0, allowed(it))).collect();
    // Of several loads, each may go another way.
    let only = limits.values().next().copied().flatten().filter(|_| limits.len() == 1);
    let mut total = of_load(&known, measured, &measured.total, only);
    if limits.len() > 1 {
        let writing = |name: &str| limits.iter().find(|(it, _)| **it == name)?.1.map(|limits| limits.writing);
        total.bound_by = measured.bound_of_all(writing).name().to_owned();
        total.limit_mbps = limit_of_total(point, measured).filter(|limit| total.goodput_mbps <= limit * MORE);
    }
    // What a ping beside them has lost is no part of what streams brought.
    if measured.loads.values().any(|load| lost(load).is_none()) {
        total.lost_percent = None;
    }
    total.counters.clone_from(&measured.counters);
    total.queues = measured.queues.iter().map(|(name, queue)| (name.clone(), lengths(queue))).collect();
    let mut rows = vec![total];
    let loads = point.scenario.loads().into_iter();
    for (name, load) in loads.filter_map(|(name, _)| measured.loads.get_key_value(name)) {
        let limit = limits.get(name).copied().flatten();
        let mut row = of_load(&known, measured, load, limit);
        (row.scope, row.load) = (Scope::Load, Some(name.clone()));
        rows.push(row.clone());
        for (number, flow) in (0..).zip(&load.flows) {
            rows.push(Row {
                scope: Scope::Flow,
                flow: Some(number),
                from: Some(flow.from.clone()),
                delay_ms: flow.delays.as_ref().map_or_else(BTreeMap::new, quantiles_ms),
                completions: flow.exchanges.as_ref().map(Times::len),
                completion_ms: flow.exchanges.as_ref().map_or_else(BTreeMap::new, quantiles_ms),
                with_opening_ms: flow.with_opening.as_ref().map_or_else(BTreeMap::new, quantiles_ms),
                octets: flow.octets,
                measured_s: flow.time.as_secs_f64(),
                goodput_mbps: flow.goodput_mbps(),
                completion_s: flow.completion.map(|time| time.as_secs_f64()),
                longest_gap_s: gap(flow),
                lost_percent: None,
                limit_mbps: limit_of_flow(point, (name, load), flow, limit.map(|limit| limit.all)),
                bound_by: measured.bound(load, Some(flow), limit.map(|limit| limit.writing)).name().to_owned(),
                jain: None,
                held: named(&flow.held()),
                ..with_sender(flow.sender.as_ref(), &row)
            });
        }
    }
    show_times(point, &mut rows);
    Ok(rows)
}

/// What the lines leave all loads together, in the parts that they had of it; nothing where they are not measured over
/// one time, or a line changes.
fn limit_of_total(point: &Point, measured: &Measured) -> Option<f64> {
    let scenario = &point.scenario;
    let bring = || scenario.load.iter().filter(|(_, load)| load.kind != "ping");
    let mut times = bring().filter_map(|(name, _)| measured.loads.get(name)).map(|load| (load.began, load.time));
    let first = times.next()?;
    if times.any(|time| time != first) || limit::is_changing(scenario) || bring().any(|(_, load)| load.times.is_some())
    {
        return None;
    }
    let of_load = |(name, load): (&String, &'_ Workload)| {
        let mut mbps = vec![0.0; load.pairs().count()];
        // Of one writer each reader is a pair, and else each writer.
        let of_readers = load.from.0.len() == 1;
        for flow in measured.loads.get(name).into_iter().flat_map(|load| &load.flows) {
            let (writer, reader) = flow.way();
            if let Some(own) = mbps.get_mut(if of_readers { reader } else { writer }) {
                *own += flow.goodput_mbps();
            }
        }
        mbps
    };
    limit::of_mix(scenario, bring().map(|(name, load)| (load, of_load((name, load)))))
}

/// What the lines leave the whole load in the time of `flow`, where that is not the load's, of which it is `limit`;
/// nothing where that is not known of the load.
fn limit_of_flow(point: &Point, (name, load): (&str, &LoadResult), flow: &Flow, limit: Option<f64>) -> Option<f64> {
    let is_same = flow.time.is_zero() || (flow.began, flow.time) == (load.began, load.time);
    let own = || {
        let began = flow.began.saturating_since(Instant::ZERO);
        limit::of_all_between(&point.scenario, point.scenario.load.get(name)?, (began, began + flow.time)).ok()
    };
    let limit = limit?;
    let limit = if is_same || !limit::is_changing(&point.scenario) { limit } else { own()? };
    // What waited when its time began is not known of it either.
    (flow.goodput_mbps() <= limit * MORE).then_some(limit)
}

/// Lets each row say what `of` knows of it.
pub(super) fn say(rows: &mut [Row], name: &str, of: impl Fn(&Row) -> Option<f64>) {
    for row in rows {
        if let Some(number) = of(row) {
            row.varied.push((name.to_owned(), Parameter::Number(number)));
        }
    }
}

/// The goodput of each batch, of what the row is about: a load, or all together.
pub(super) fn batches_of(course: &GoodputSteps, row: &Row) -> Option<Vec<f64>> {
    match (row.scope, &row.load) {
        (Scope::Total, _) => Some(course.total()),
        (Scope::Load, Some(load)) => course.loads.get(load).cloned(),
        (Scope::Load | Scope::Flow, _) => None,
    }
}

/// Multiplies what is shown of loads that say so; the total is then the sum of what is shown.
fn show_times(point: &Point, rows: &mut [Row]) {
    let times = |name: &str| point.scenario.load.get(name).and_then(|load| load.times);
    if point.scenario.load.values().all(|load| load.times.is_none()) {
        return;
    }
    let mut sum = 0.0;
    for row in rows.iter_mut() {
        row.varied.push((RAW.to_owned(), Parameter::Number(row.goodput_mbps)));
        row.goodput_mbps *= row.load.as_deref().and_then(times).map_or(1.0, f64::from);
        if row.scope == Scope::Load {
            sum += row.goodput_mbps;
        }
    }
    if let Some(total) = rows.first_mut() {
        total.goodput_mbps = sum;
    }
}

/// The row with what its senders did.
fn with_sender(sender: Option<&Sender>, row: &Row) -> Row {
    Row {
        segments_sent: sender.map(|it| it.segments_sent),
        retransmissions: sender.map(|it| it.retransmissions),
        timeouts: sender.map(|it| it.timeouts),
        round_trip_ms: sender.map_or_else(BTreeMap::new, |it| quantiles_ms(&it.round_trips)),
        ..row.clone()
    }
}

#[expect(clippy::cast_precision_loss, reason = "lengths of queues are small")]
fn lengths(queue: &Occupancy) -> BTreeMap<String, f64> {
    let at = |part| queue.quantile(part) as f64;
    let all = [("mean", queue.mean()), ("p50", at(0.5)), ("p95", at(0.95)), ("p99", at(0.99)), ("max", at(1.0))];
    all.map(|(name, value)| (name.to_owned(), value)).into()
}

/// The least, the greatest, the mean and some quantiles of times; nothing where there are none.
fn quantiles_ms(times: &Times) -> BTreeMap<String, f64> {
    let ms = |time: Option<Duration>| time.map(|time| time.as_secs_f64() * 1e3);
    let at = |part| ms(times.quantile(part));
    by_name([times.mean_ns().map(|ns| ns / 1e6), ms(times.least()), at(0.5), at(0.95), at(0.99), ms(times.most())])
}

/// Values of times, in the order of their names.
fn by_name(values: [Option<f64>; 6]) -> BTreeMap<String, f64> {
    let named = QUANTILES.into_iter().zip(values);
    named.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// The row of a load, or of all together.
fn of_load(known: &Row, measured: &Measured, load: &LoadResult, limits: Option<Limits>) -> Row {
    let mut known = with_sender(load.sender().as_ref(), known);
    if let Some(round_trips) = &load.round_trips {
        known.round_trip_ms = quantiles_ms(round_trips);
    }
    let delays = all(load.flows.iter().filter_map(|flow| flow.delays.as_ref()));
    let exchanges = all(load.flows.iter().filter_map(|flow| flow.exchanges.as_ref()));
    if !load.is_mixed {
        known.completions = exchanges.as_ref().map(Times::len).or_else(|| completions(load));
        known.completion_ms = exchanges.as_ref().map_or_else(|| completions_ms(&load.flows), quantiles_ms);
        let with_opening = all(load.flows.iter().filter_map(|flow| flow.with_opening.as_ref()));
        known.with_opening_ms = with_opening.as_ref().map_or_else(BTreeMap::new, quantiles_ms);
    }
    Row {
        delay_ms: delays.as_ref().map_or_else(BTreeMap::new, quantiles_ms),
        octets: load.flows.iter().map(|flow| flow.octets).sum(),
        measured_s: load.time.as_secs_f64(),
        goodput_mbps: load.goodput_mbps,
        longest_gap_s: load.flows.iter().filter_map(gap).reduce(f64::max).or_else(|| silence(load)),
        lost_percent: lost(load).map(|share| share * 100.0),
        limit_mbps: limits.map(|limits| limits.all),
        bound_by: measured.bound(load, None, limits.map(|limits| limits.writing)).name().to_owned(),
        jain: load.jain,
        held: named(&load.held()),
        ..known
    }
}

/// The times of all together.
fn all<'a>(mut each: impl Iterator<Item = &'a Times>) -> Option<Times> {
    let mut all = each.next()?.clone();
    each.for_each(|times| all.add(times));
    Some(all)
}

/// How many flows came to their end, where any did or should have.
fn completions(load: &LoadResult) -> Option<u64> {
    let count = load.flows.iter().filter(|flow| flow.completion.is_some()).count() as u64;
    (count + load.unfinished > 0).then_some(count)
}

/// How long flows that have an end took: the least, the greatest, the mean and some quantiles; nothing where none has
/// one.
fn completions_ms(flows: &[Flow]) -> BTreeMap<String, f64> {
    let times = flows.iter().filter_map(|flow| flow.completion).map(|time| time.as_secs_f64() * 1e3);
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    let Some(mean) = stats::mean(&times) else {
        return BTreeMap::new();
    };
    // The least time that so many per cent of them do not exceed.
    let at = |percent: usize| {
        let rank = (times.len() * percent).div_ceil(100).max(1);
        times.get(rank - 1).copied()
    };
    by_name([Some(mean), at(0), at(50), at(95), at(99), at(100)])
}

/// The longest time without an answer, of echoes; nothing where none was asked for.
fn silence(load: &LoadResult) -> Option<f64> {
    load.echoes.filter(|echoes| echoes.sent > 0).map(|echoes| echoes.silence.as_secs_f64())
}

/// Which part of its datagrams or echoes a load has lost. Of both together nothing is said.
fn lost(load: &LoadResult) -> Option<f64> {
    match (&load.units, &load.echoes) {
        (Some(units), None) => units.lost_share(),
        (None, Some(echoes)) => echoes.lost_share(),
        (Some(_), Some(_)) | (None, None) => None,
    }
}

/// The longest time without anything; nothing where nothing came at all.
fn gap(flow: &Flow) -> Option<f64> {
    let came = flow.octets > 0 || !flow.longest_gap.is_zero();
    came.then(|| flow.longest_gap.as_secs_f64())
}

fn named(held: &[(Limit, f64)]) -> BTreeMap<String, f64> {
    held.iter().map(|(limit, share)| (limit.name().to_owned(), *share)).collect()
}

/// In the place of the row for all together, one for each task of each host.
pub(super) fn task_rows(mut rows: Vec<Row>, tasks: &Tasks, measured: &Measured) -> Result<Vec<Row>, Failure> {
    let mut of_tasks = Vec::new();
    for (place, time) in &measured.tasks {
        let Some((host, task)) = place.split_once('.') else {
            continue;
        };
        let Some(rank) = tasks.names.iter().position(|name| name == task) else {
            continue;
        };
        let mut row = rows.first().cloned().unwrap_or_default();
        let cpu_ms = Parameter::Number(time.as_secs_f64() * 1e3);
        for (name, value) in
            [("side", Parameter::Text(host.to_owned())), ("task", Parameter::Text(task.to_owned())), ("cpu_ms", cpu_ms)]
        {
            row.varied.push((name.to_owned(), value));
        }
        of_tasks.push((host, rank, row));
    }
    if of_tasks.is_empty() {
        let names: Vec<&str> = measured.tasks.keys().map(String::as_str).collect();
        return Err(format!("no host has a task of report.tasks.names; there are {}", names.join(", ")).into());
    }
    of_tasks.sort_by_key(|(host, rank, _)| (!measured.writes(host), *host, *rank));
    rows.splice(..1, of_tasks.into_iter().map(|(_, _, row)| row));
    Ok(rows)
}
