//! What points are expected to cost, before any has been run: for the estimate of the time that is left, and for nothing else.

use std::collections::BTreeSet;
use std::sync::Arc;

use kumiki_graph::Duration;

use super::Part;
use crate::capture::Layers;
use crate::limit;
use crate::progress::Cost;
use crate::quantity::{Distribution, Octets, Quantity as _, Rate, parse};
use crate::scenario::check::WARM_UP_FOUND;
use crate::scenario::{Choice, Point, Runs, Workload};
use crate::topology::{Topology, place};

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
        let Traffic { packets, cost, .. } = traffic(point, load, 1.0);
        packets * cost
    };
    (LEAST + point.scenario.load.values().map(of).sum::<f64>()) * f64::from(runs(point, most))
}

/// About how many octets captures of all runs have, at the most that the lines allow all loads together. A packet is captured wherever it crosses a device: at both of its
/// ends, and twice at each host that sends it on.
pub(super) fn captured(point: &Point, most: Option<u32>, (layers, snaplen): (&Layers, u32)) -> f64 {
    let topology = Topology::of(&point.scenario);
    let devices = |load: &Workload| {
        let way = load.pairs().next().and_then(|(from, to)| topology.way(place(from), place(to)));
        let is_host = |end: &&str| point.scenario.host.contains_key(place(end));
        let devices = way.iter().flatten().flat_map(|hop| [hop.out, hop.into]).filter(is_host).count();
        number(u64::try_from(devices).unwrap_or(u64::MAX)).max(2.0)
    };
    let of = |(load, part): (&Workload, f64)| {
        let places = match layers {
            Layers::None => 0.0,
            Layers::Device | Layers::Ip => devices(load),
            Layers::All => devices(load) * LAYERS,
            Layers::Named(names) => number(u64::try_from(names.len()).unwrap_or(u64::MAX)),
        };
        let kept = |octets: f64| if snaplen == 0 { octets } else { octets.min(f64::from(snaplen)) };
        let Traffic { packets, payload, .. } = traffic(point, load, part);
        let acknowledged = if UNACKNOWLEDGED.contains(&load.kind.as_str()) { 0.0 } else { 0.5 };
        packets * places * (BLOCK + kept(payload + HEADERS) + acknowledged * (BLOCK + kept(HEADERS)))
    };
    shared(point).into_iter().map(of).sum::<f64>() * f64::from(runs(point, most))
}

/// Each load, and what part it has of a line that it would fill: as much as each other that would.
fn shared(point: &Point) -> Vec<(&Workload, f64)> {
    let fills = |load: &Workload| match load.kind.as_str() {
        "netperf" | "ttcp" | "ftam" => true,
        "rpc" => load.think.is_none(),
        _ => false,
    };
    let loads = point.scenario.load.values();
    let ways: Vec<(&Workload, BTreeSet<(&str, bool)>)> =
        loads.map(|load| (load, limit::directions(&point.scenario, load).into_iter().collect())).collect();
    let part = |(load, way): &(&Workload, BTreeSet<(&str, bool)>)| {
        let others = ways.iter().filter(|(other, _)| fills(load) && fills(other));
        let meeting = others.filter(|(_, other)| !other.is_disjoint(way)).count().max(1);
        1.0 / number(u64::try_from(meeting).unwrap_or(u64::MAX))
    };
    ways.iter().map(|it| (it.0, part(it))).collect()
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

/// What a load sends, at the most that such a `part` of the line allows.
fn traffic(point: &Point, load: &Workload, part: f64) -> Traffic {
    let ladder = limit::of_load(&point.scenario, load).ok();
    let of = |it: limit::Ladder| {
        let cells = it.cells.and_then(|cells| u64::try_from(cells).ok()).map_or(0.0, number);
        (it.goodput_mbps().as_f64(), f64::from(it.payload_octets), PACKET + cells)
    };
    let (rate_mbps, payload, cost) = ladder.map_or((RATE_MBPS, PAYLOAD, PACKET), of);
    let rate_mbps = limit::of_all(&point.scenario, load).map_or(rate_mbps, |all| all.max(rate_mbps));
    let in_time = part * rate_mbps * 1e6 / 8.0 * writes_for(&point.scenario.run, load);
    let message = octets(&load.message).max(1.0);
    let sessions = f64::from(load.sessions) * number(u64::try_from(load.from.0.len()).unwrap_or(u64::MAX));
    let counted = load.count.map(|count| number(count) * sessions);
    let packets_of = |octets: f64| octets.min(in_time) / payload;
    let packets = match load.kind.as_str() {
        "limit" => 0.0,
        "rpc" => {
            let calls = calls(point, load, rate_mbps) * sessions;
            let calls = calls.min(counted.unwrap_or(f64::INFINITY));
            let answer = answer(load);
            let calls = calls.min(in_time / answer.max(message));
            calls * ((message / payload).ceil() + (answer / payload).ceil())
        }
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
    let payload = match load.kind.as_str() {
        _ if is_unit => payload.min(message),
        "rpc" => {
            let answer = answer(load);
            (message + answer) / ((message / payload).ceil() + (answer / payload).ceil())
        }
        _ => payload,
    };
    Traffic { packets, payload, cost }
}

/// How many calls a session makes one behind the other: each takes a round trip, the time of its octets on the line and the pause behind it.
fn calls(point: &Point, load: &Workload, rate_mbps: f64) -> f64 {
    let topology = Topology::of(&point.scenario);
    let way = load.pairs().next().and_then(|(from, to)| topology.way(place(from), place(to))).unwrap_or_default();
    let lines = way.iter().filter_map(|hop| point.scenario.link.get(hop.line)?.line_at_first().ok());
    let one_way: f64 = lines.map(|line| line.propagation().as_secs_f64()).sum();
    let think = load.think.as_deref().and_then(|text| Distribution::<Duration>::parse(text).ok());
    let think = think.map_or(0.0, |think| think.mean().as_secs_f64());
    let on_line = (octets(&load.message) + answer(load)) * 8.0 / (rate_mbps * 1e6);
    writes_for(&point.scenario.run, load) / (2.0 * one_way + think + on_line).max(1e-9)
}

/// The octets of an answer to a call, on average.
fn answer(load: &Workload) -> f64 {
    load.response.as_deref().map_or_else(|| octets(&load.message), drawn).max(1.0)
}

/// The mean of a number of octets, which may be drawn.
fn drawn(text: &str) -> f64 {
    Distribution::<Octets>::parse(text).map_or(0.0, |it| number(it.mean().count()))
}

/// For how long of a run a load may write, in seconds.
fn writes_for(run: &Runs, load: &Workload) -> f64 {
    let at = |text: &Option<String>| text.as_deref().and_then(|text| parse::<Duration>(text).ok());
    let all = seconds(run);
    let stop = at(&load.stop).map_or(all, |stop| stop.as_secs_f64().min(all));
    (stop - at(&load.start).map_or(0.0, |start| start.as_secs_f64())).max(0.0)
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
    fn captures_of_loads_on_one_line_are_no_more_than_it_carries() {
        let of = |more: &str| captured(&point(more), None, (&Layers::Device, 0));
        let alone = of("");
        let beside = |load: &str| {
            of(&format!("load.more = {{ from = \"a\", to = \"b\", message = \"8 KiB\", {load} }}")) / alone
        };
        assert!((beside(r#"kind = "netperf""#) - 1.0).abs() < 1e-9);
        // Twenty seconds of which it writes for ten.
        assert!((beside(r#"kind = "netperf", start = "10 s""#) - 0.75).abs() < 1e-9);
        let back = of("load.more = { kind = \"netperf\", from = \"b\", to = \"a\", message = \"8 KiB\" }");
        assert!((back / alone - 2.0).abs() < 1e-9, "{}", back / alone);
        // A call each 222 ms, of three packets of half the size; the transfer sends 833 a second.
        let calls = of(
            "load.calls = { kind = \"rpc\", from = \"a\", to = \"b\", message = \"200 B\", response = \"2 kB\", think = \"exponential 200 ms\" }",
        );
        assert!((1.005..1.015).contains(&(calls / alone)), "{}", calls / alone);
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
