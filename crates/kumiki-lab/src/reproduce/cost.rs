//! What points are expected to cost, before any has been run: for the estimate of the time that is left, and for nothing else.

use std::sync::Arc;

use kumiki_graph::Duration;

use super::Part;
use crate::capture::Layers;
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
    let of = |load| {
        let Traffic { packets, cost, .. } = traffic(point, load);
        packets * cost
    };
    (LEAST + point.scenario.load.values().map(of).sum::<f64>()) * f64::from(runs(point, most))
}

/// About how many octets captures of all runs have, at the most that the line allows. A packet is captured at both of its ends; what routers see comes to that.
pub(super) fn captured(point: &Point, most: Option<u32>, (layers, snaplen): (&Layers, u32)) -> f64 {
    let of = |load: &Workload| {
        let places = match layers {
            Layers::None => 0.0,
            Layers::Device | Layers::Ip => 2.0,
            Layers::All => 2.0 * LAYERS,
            Layers::Named(names) => number(u64::try_from(names.len()).unwrap_or(u64::MAX)),
        };
        let kept = |octets: f64| if snaplen == 0 { octets } else { octets.min(f64::from(snaplen)) };
        let Traffic { packets, payload, .. } = traffic(point, load);
        let acknowledged = if UNACKNOWLEDGED.contains(&load.kind.as_str()) { 0.0 } else { 0.5 };
        packets * places * (BLOCK + kept(payload + HEADERS) + acknowledged * (BLOCK + kept(HEADERS)))
    };
    point.scenario.load.values().map(of).sum::<f64>() * f64::from(runs(point, most))
}

/// How many runs of a point are made, at least.
fn runs(point: &Point, most: Option<u32>) -> u32 {
    let run = &point.scenario.run;
    match (&run.repeat, &run.confidence) {
        (Some(repeat), _) => repeat.made(most),
        (None, Some(confidence)) => confidence.fewest,
        (None, None) => 1,
    }
}

/// What a load sends.
struct Traffic {
    packets: f64,
    /// The octets that a packet carries.
    payload: f64,
    /// What each costs.
    cost: f64,
}

/// What a load sends, at the most that the line allows.
fn traffic(point: &Point, load: &Workload) -> Traffic {
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
    // A datagram has no more than its message.
    let is_unit = UNACKNOWLEDGED.contains(&load.kind.as_str());
    Traffic { packets, payload: if is_unit { payload.min(message) } else { payload }, cost }
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
/// What stands around a packet in a capture: a block with its length, time and options.
const BLOCK: f64 = 46.0;
/// The headers of IP and TCP, with timestamps, and a link's.
const HEADERS: f64 = 60.0;
/// How many access points a host has, all layers together.
const LAYERS: f64 = 3.0;
/// Loads whose packets nobody acknowledges.
const UNACKNOWLEDGED: [&str; 3] = ["udp", "rtp", "ping"];
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
    fn point(more: &str) -> Point {
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
        Document::parse("line", "line.toml", &text).unwrap().points(&Choice::default()).unwrap().remove(0)
    }

    fn cost(more: &str) -> f64 {
        weight(&point(more), None)
    }

    #[test]
    fn captures_are_foreseen_by_what_the_line_carries() {
        let of = |layers: &str, snaplen| captured(&point(""), None, (&layers.parse().unwrap(), snaplen));
        // 9.65 Mb/s of 1448 octets each for 20 s, at both hosts, and half as many acknowledgments.
        let packets = 2.0 * 9.65e6 / 8.0 / 1448.0 * 20.0;
        let all = packets * (46.0 + 1448.0 + 60.0 + 0.5 * 106.0);
        assert!((of("device", 0) / all - 1.0).abs() < 0.01, "{} {all}", of("device", 0));
        assert!((of("device", 128) / (packets * (46.0 + 128.0 + 53.0)) - 1.0).abs() < 0.01);
        assert_eq!(of("a.ip/l0", 0) * 2.0, of("ip", 0));
        assert_eq!(captured(&point(""), None, (&Layers::None, 0)), 0.0);
        let three = point("run.repeat.runs = 3");
        assert_eq!(captured(&three, None, (&Layers::Ip, 0)), 3.0 * of("ip", 0));
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
