//! What points are expected to cost, before any has been run: for the estimate of the time that is left, and for nothing else.

use std::sync::Arc;

use kumiki_graph::Duration;

use super::Part;
use crate::limit;
use crate::progress::Cost;
use crate::quantity::{Octets, Quantity as _, Rate, parse};
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
/// long as [`PACKET`] cells.
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
    let message = octets(&load.message).max(1.0);
    let sessions = f64::from(load.sessions) * number(u64::try_from(load.from.0.len()).unwrap_or(u64::MAX));
    let counted = load.count.map(|count| number(count) * sessions);
    let packets_of = |octets: f64| octets.min(in_time) / payload;
    let packets = match load.kind.as_str() {
        "limit" => 0.0,
        "ftam" => packets_of(load.file.as_deref().map_or(in_time, octets)),
        "netperf" => packets_of(in_time),
        // There and back.
        "ping" => 2.0 * counted.unwrap_or(f64::INFINITY).min(seconds(&point.scenario.run) / interval(load) * sessions),
        "udp" | "rtp" => {
            let rate = load.rate.as_deref().and_then(|text| parse::<Rate>(text).ok()).map(|it| number(it.base()));
            let sent = rate.map_or(in_time, |rate| rate / 8.0 * seconds(&point.scenario.run) * sessions);
            let messages = (sent.min(in_time) / message).min(counted.unwrap_or(f64::INFINITY));
            messages * (message / payload).max(1.0)
        }
        _ => packets_of(counted.map_or(in_time, |messages| message * messages)),
    };
    packets * cost
}

/// From one echo to the next, in seconds.
fn interval(load: &Workload) -> f64 {
    let given = load.interval.as_deref().and_then(|text| parse::<Duration>(text).ok());
    given.map_or(1.0, |time| time.as_secs_f64()).max(1e-9)
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
/// What a packet costs beside a cell, its acknowledgment with it: TCP over lines with frames took 6 to 8 us for a segment (one connection with windows of 8 to 512 KiB, two through a router, one
/// beside a ping), where a cell takes a quarter of a microsecond.
const PACKET: f64 = 25.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Document;

    /// A connection, and `more` beside it.
    fn cost(more: &str) -> f64 {
        let text = format!(
            r#"
title = "A line"
host.a.graph = ["ip", "l0"]
host.b.like = "a"
link.line = {{ ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "10 ms" }}
load.bulk = {{ kind = "netperf", from = "a", to = "b", message = "8 KiB" }}
run.duration = "20 s"
{more}
"#
        );
        let document = Document::parse("line", "line.toml", &text).unwrap();
        weight(&document.points(&Choice::default()).unwrap()[0], None)
    }

    #[test]
    fn what_sends_little_costs_little() {
        let alone = cost("");
        let more = |load: &str| cost(&format!("load.more = {{ from = \"a\", to = \"b\", {load} }}")) / alone;
        let ping = more(r#"kind = "ping", message = "56 B", interval = "50 ms""#);
        let voice = more(r#"kind = "rtp", message = "160 B", rate = "64 kb/s", payload_type = 0"#);
        assert!(ping > 1.01 && ping < 1.1, "{ping}");
        assert!(voice > 1.01 && voice < 1.1, "{voice}");
        // More than the line carries is no more than the line carries.
        let flood = more(r#"kind = "udp", message = "1448 B", rate = "1 Gb/s""#);
        assert!(flood > 1.5 && flood < 2.2, "{flood}");
        let one = more(r#"kind = "ping", message = "56 B", interval = "50 ms", count = 1"#);
        assert!((one - 1.0 - 2.0 * PACKET / alone).abs() < 1e-9, "{one}");
    }
}
