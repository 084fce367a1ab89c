//! What points are expected to cost, before any has been run: for the estimate of the time that is left, and for nothing else.

use std::sync::Arc;

use kumiki_graph::Duration;

use super::Part;
use crate::limit;
use crate::progress::Cost;
use crate::quantity::{Octets, parse};
use crate::scenario::check::WARM_UP_FOUND;
use crate::scenario::{Choice, Point, Runs, Workload};

/// Of each point in order. Those of one scenario are a group: one point of it says more of the others than any guess.
pub(super) fn of(parts: &[Part], choice: &Choice) -> Arc<[Cost]> {
    let groups = parts.iter().enumerate();
    let costs = groups.flat_map(|(group, part)| {
        part.points.iter().map(move |point| Cost { group, weight: weight(point, choice.runs) })
    });
    costs.collect()
}

/// About how many packets and cells all runs have, at the most that the line allows: they are what a run spends its time on. A packet without cells takes about as
/// long as [`PACKET`] cells (11 us where a cell of paper 2 takes 0.4 and one of paper 3 some more).
fn weight(point: &Point, most: Option<u32>) -> f64 {
    let run = &point.scenario.run;
    let runs = match (&run.repeat, &run.confidence) {
        (Some(repeat), _) => repeat.made(most),
        (None, Some(confidence)) => confidence.fewest,
        (None, None) => 1,
    };
    let loads = point.scenario.load.values();
    (LEAST + loads.map(|load| packets(point, load)).sum::<f64>()) * f64::from(runs)
}

/// What a load costs.
fn packets(point: &Point, load: &Workload) -> f64 {
    let ladder = limit::of_load(&point.scenario, load).ok();
    let of = |it: limit::Ladder| {
        let cells = it.cells.and_then(|cells| u64::try_from(cells).ok()).map_or(0.0, number);
        (it.goodput_mbps().as_f64(), f64::from(it.payload_octets), PACKET + cells)
    };
    let (rate_mbps, payload, cost) = ladder.map_or((RATE_MBPS, PAYLOAD, PACKET), of);
    let in_time = rate_mbps * 1e6 / 8.0 * seconds(&point.scenario.run);
    let octets = match load.kind.as_str() {
        "limit" => 0.0,
        "ftam" => load.file.as_deref().map_or(in_time, octets),
        "netperf" => in_time,
        _ => load.count.map_or(in_time, |count| octets(&load.message) * number(count) * f64::from(load.sessions)),
    };
    octets.min(in_time) / payload * cost
}

fn seconds(run: &Runs) -> f64 {
    let seconds = |text: &String| parse::<Duration>(text).map_or(0.0, |time| time.as_secs_f64());
    let duration = seconds(&run.duration);
    match &run.warm_up {
        // It is looked for in a run as long, and left out of the next; how long it is is not known.
        Some(text) if text == WARM_UP_FOUND => duration * 2.25,
        Some(text) => duration + seconds(text),
        None => duration,
    }
}

fn octets(text: &str) -> f64 {
    parse::<Octets>(text).map_or(0.0, |it| number(it.count()))
}

#[expect(clippy::cast_precision_loss, reason = "a guess needs no more")]
const fn number(n: u64) -> f64 {
    n as f64
}

/// Where the way is not one line.
const RATE_MBPS: f64 = 100.0;
/// The same.
const PAYLOAD: f64 = 1448.0;
/// A point takes so much time in any case.
const LEAST: f64 = 1000.0;
/// What a packet costs beside a cell.
const PACKET: f64 = 10.0;
