//! What points are expected to send and to cost, before any has been run: for the estimates of the time that is left
//! and of captures, and for nothing else.

use std::sync::Arc;

use kumiki_graph::Duration;

use super::Part;
use crate::limit;
use crate::progress::Cost;
use crate::scenario::check::WARM_UP_FOUND;
use crate::scenario::{Choice, Point, Runs, Workload};
use crate::topology::Topology;
use kumiki_config::quantity::{Distribution, Octets, Quantity as _, Rate, parse};

/// Of each point in order. Those of one scenario are a group: one point of it says more of the others than any guess.
pub(super) fn of(parts: &[Part], choice: &Choice) -> Arc<[Cost]> {
    let groups = parts.iter().enumerate();
    let costs = groups.flat_map(|(group, part)| {
        part.points.iter().map(move |point| Cost { group, weight: weight(point, choice.runs) })
    });
    costs.collect()
}

/// About how many packets and cells all runs have, at the most that the line allows: they are what a run spends its
/// time on. A packet without cells takes about as long as [`PACKET`] cells.
fn weight(point: &Point, most: Option<u32>) -> f64 {
    let of = |load| {
        let Traffic { packets, cost, .. } = traffic(point, load);
        packets * cost
    };
    (LEAST + point.scenario.load.values().map(of).sum::<f64>()) * f64::from(runs(point, most))
}

/// How many runs of a point are made, at least.
pub(super) fn runs(point: &Point, most: Option<u32>) -> u32 {
    let run = &point.scenario.run;
    match (&run.repeat, &run.confidence) {
        (Some(repeat), _) => repeat.made(most),
        (None, Some(confidence)) => confidence.fewest,
        (None, None) => 1,
    }
}

/// What a load sends.
pub(super) struct Traffic {
    /// At the most that the lines allow it alone.
    pub(super) packets: f64,
    /// What its program gives away, whatever the lines allow: more than `packets` where nothing holds it back.
    pub(super) offered: f64,
    /// The octets that a packet carries.
    pub(super) payload: f64,
    /// What each costs.
    cost: f64,
}

/// What a load sends, at the most that the lines allow.
fn traffic(point: &Point, load: &Workload) -> Traffic {
    let topology = Topology::of(&point.scenario);
    let ladder = limit::of_load(&point.scenario, load).ok();
    let alone = ladder.as_ref().map_or(RATE_MBPS, |it| it.goodput_mbps().as_f64());
    let all = limit::of_all(&point.scenario, load).map_or(alone, |all| all.max(alone));
    let pair = load.pairs().next().unwrap_or_default();
    let share = Share { ladder: ladder.as_ref(), rate_mbps: all, pair, sessions: sessions(load) };
    share.traffic(point, load, &topology)
}

/// How many sessions of a load, of all its writers, send something.
pub(super) fn sessions(load: &Workload) -> f64 {
    let writers = number(u64::try_from(load.from.0.len()).unwrap_or(u64::MAX));
    f64::from(load.busy.unwrap_or(load.sessions).min(load.sessions)) * writers
}

/// What is asked for of a load, or of one of its pairs.
pub(super) struct Share<'a> {
    pub(super) ladder: Option<&'a limit::Ladder>,
    /// What the lines allow.
    pub(super) rate_mbps: f64,
    /// Between whom, as far as a way matters.
    pub(super) pair: (&'a str, &'a str),
    pub(super) sessions: f64,
}

impl Share<'_> {
    pub(super) fn traffic(&self, point: &Point, load: &Workload, topology: &Topology<'_>) -> Traffic {
        let Self { ladder, rate_mbps, pair, sessions } = *self;
        let cells = ladder.and_then(|it| u64::try_from(it.cells?).ok()).map_or(0.0, number);
        // Of a message that layers below cut, a packet has a part.
        let of = |it: &limit::Ladder| f64::from(it.payload_octets) / it.pieces.as_f64().max(f64::MIN_POSITIVE);
        let payload = ladder.map_or(PAYLOAD, of);
        let one_way = one_way(point, topology, pair);
        let time = writes_for(&point.scenario.run, load);
        let in_time = (rate_mbps * 1e6 / 8.0).min(sessions * window_rate(load, one_way)) * time;
        let message = octets(&load.message).max(1.0);
        let counted = load.count.map(|count| number(count) * sessions);
        let packets_of = |octets: f64| octets.min(in_time) / payload;
        let mut offered = None;
        let packets = match load.kind.as_str() {
            "limit" => 0.0,
            "rpc" => {
                let calls = calls(point, load, (rate_mbps, one_way)) * sessions;
                let calls = calls.min(counted.unwrap_or(f64::INFINITY));
                let answer = answer(load);
                let calls = calls.min(in_time / answer.max(message));
                calls * ((message / payload).ceil() + (answer / payload).ceil())
            }
            "ftam" => packets_of(load.file.as_deref().map_or(in_time, octets)),
            "netperf" => packets_of(in_time),
            // There and back.
            "ping" => {
                2.0 * counted.unwrap_or(f64::INFINITY).min(seconds(&point.scenario.run) / interval(load) * sessions)
            }
            "udp" | "rtp" => {
                let rate = load.rate.as_deref().and_then(|text| parse::<Rate>(text).ok()).map(|it| number(it.base()));
                let sent = rate.map_or(in_time, |rate| rate / 8.0 * time * on(load) * sessions);
                let of = |octets: f64| {
                    (octets / message).min(counted.unwrap_or(f64::INFINITY)) * (message / payload).max(1.0)
                };
                offered = Some(of(sent));
                of(sent.min(in_time))
            }
            _ => {
                let drawn = load.size.as_deref().map(|size| drawn(size) * sessions);
                packets_of(counted.map(|messages| message * messages).or(drawn).unwrap_or(in_time))
            }
        };
        // A datagram has no more than its message.
        let payload = match load.kind.as_str() {
            kind if UNACKNOWLEDGED.contains(&kind) => payload.min(message),
            "rpc" => {
                let answer = answer(load);
                (message + answer) / ((message / payload).ceil() + (answer / payload).ceil())
            }
            _ => payload,
        };
        Traffic { packets, offered: offered.unwrap_or(packets), payload, cost: PACKET + cells }
    }
}

/// The propagation of the lines from one node to another, in seconds.
fn one_way(point: &Point, topology: &Topology<'_>, (from, to): (&str, &str)) -> f64 {
    let way = topology.way(from, to).unwrap_or_default();
    let lines = way.iter().filter_map(|hop| point.scenario.link.get(hop.line)?.line_at_first().ok());
    lines.map(|line| line.propagation().as_secs_f64()).sum()
}

/// What the buffers of a load allow a session, in octets a second: once full in each round trip.
fn window_rate(load: &Workload, one_way: f64) -> f64 {
    load.socket_buffer.as_deref().map_or(f64::INFINITY, |window| octets(window) / (2.0 * one_way))
}

/// For which part of the time a load is not silent.
fn on(load: &Workload) -> f64 {
    let mean = |text: &Option<String>| {
        let time = text.as_deref().and_then(|text| Distribution::<Duration>::parse(text).ok());
        time.map(|time| time.mean().as_secs_f64())
    };
    match (mean(&load.on), mean(&load.off)) {
        (Some(on), Some(off)) if on + off > 0.0 => on / (on + off),
        _ => 1.0,
    }
}

/// How many calls a session makes one behind the other: each takes a round trip, the time of its octets on the line and
/// the pause behind it.
fn calls(point: &Point, load: &Workload, (rate_mbps, one_way): (f64, f64)) -> f64 {
    let think = load.think.as_deref().and_then(|text| Distribution::<Duration>::parse(text).ok());
    let think = think.map_or(0.0, |think| think.mean().as_secs_f64());
    let on_line = (octets(&load.message) + answer(load)) * 8.0 / (rate_mbps * 1e6);
    writes_for(&point.scenario.run, load) / (2.0 * one_way + think + on_line).max(1e-9)
}

/// The octets of an answer to a call, on average.
pub(super) fn answer(load: &Workload) -> f64 {
    load.response.as_deref().map_or_else(|| octets(&load.message), drawn).max(1.0)
}

/// The mean of a number of octets, which may be drawn.
fn drawn(text: &str) -> f64 {
    Distribution::<Octets>::parse(text).map_or(0.0, |it| number(it.mean().count()))
}

/// For how long of a run a load may write, in seconds.
fn writes_for(run: &Runs, load: &Workload) -> f64 {
    let (from, to) = span(run, load);
    to - from
}

/// From when to when of a run a load may write, in seconds.
pub(super) fn span(run: &Runs, load: &Workload) -> (f64, f64) {
    let at = |text: &Option<String>| text.as_deref().and_then(|text| parse::<Duration>(text).ok());
    let all = seconds(run);
    let stop = at(&load.stop).map_or(all, |stop| stop.as_secs_f64().min(all));
    let start = at(&load.start).map_or(0.0, |start| start.as_secs_f64());
    (start.min(stop), stop)
}

/// From one echo to the next, in seconds.
fn interval(load: &Workload) -> f64 {
    let given = load.interval.as_deref().and_then(|text| parse::<Duration>(text).ok());
    given.map_or(1.0, |time| time.as_secs_f64()).max(1e-9)
}

pub(super) fn seconds(run: &Runs) -> f64 {
    let seconds = |text: &String| parse::<Duration>(text).map_or(0.0, |time| time.as_secs_f64());
    let duration = seconds(&run.duration);
    match &run.warm_up {
        // It is looked for in a run as long, and left out of the next; how long it is is not known.
        Some(text) if text == WARM_UP_FOUND => duration * 2.25,
        Some(text) => duration + seconds(text),
        None => duration,
    }
}

pub(super) fn octets(text: &str) -> f64 {
    parse::<Octets>(text).map_or(0.0, |it| number(it.count()))
}

#[expect(clippy::cast_precision_loss, reason = "a guess needs no more")]
pub(super) const fn number(n: u64) -> f64 {
    n as f64
}

/// Where the way is not one line.
pub(super) const RATE_MBPS: f64 = 100.0;
/// The same.
const PAYLOAD: f64 = 1448.0;
/// Loads whose packets nobody acknowledges.
pub(super) const UNACKNOWLEDGED: [&str; 3] = ["udp", "rtp", "ping"];
/// A point takes so much time in any case.
const LEAST: f64 = 1000.0;
/// What a packet costs beside a cell, its acknowledgment with it: TCP over lines with frames took 6 to 8 us for a
/// segment (one connection with windows of 8 to 512 KiB, two through a router, one beside a ping), where a cell takes a
/// quarter of a microsecond.
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
