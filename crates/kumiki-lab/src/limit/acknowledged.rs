//! What goes over lines beside the data of ladders, and is not in these.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::Stack;
use super::layers::TCP;
use super::loads::{Carried, of_counted, on_way};
use super::path::{Direction, of_pair};
use crate::scenario::{Scenario, Workload};
use crate::topology::{HopKind, Topology};

/// Of a line on which nobody else's data goes, what takes less than this part is nothing to think of.
const NOTABLE: f64 = 0.05;

/// For so many full segments there is an acknowledgment at least (RFC 9293, section 3.8.6.3), where nobody says
/// otherwise.
const SEGMENTS: u32 = 2;

/// So many loads are told of.
const TOLD: usize = 4;

/// What is left out of the ladders of `scenario`, in words; nothing where nothing is. Of acknowledgments it is said how
/// much of a line they take at most, where other loads send data there, or the line is so slow that they take a
/// considerable part of it.
#[must_use]
pub fn left_out(scenario: &Scenario) -> Option<String> {
    let topology = Topology::of(scenario);
    let loads = scenario.loads();
    let over_tcp = loads.iter().filter_map(|(name, load)| {
        let ladder = of_counted(scenario, load).ok()?;
        let is_over_tcp = ladder.steps.iter().any(|step| step.name == TCP);
        is_over_tcp.then_some((name.as_str(), *load))
    });
    let over_tcp: Vec<(&str, &Workload)> = over_tcp.collect();
    if over_tcp.is_empty() {
        return None;
    }
    let is_on_ring = |(from, to): (&str, &str)| {
        let way = topology.way(from, to).unwrap_or_default();
        way.iter().any(|hop| hop.kind == HopKind::Ring)
    };
    let mut text = "acknowledgments, which go the other way".to_owned();
    if over_tcp.iter().filter_map(|(_, load)| load.pairs().next()).any(is_on_ring) {
        text += ", on a ring beside the data";
    }
    let mut data: BTreeMap<Direction<'_>, BTreeSet<&str>> = BTreeMap::new();
    for (name, load) in &loads {
        let lines = load.pairs().filter_map(|pair| on_way(scenario, load, &topology, pair).ok()).flatten();
        lines.for_each(|(direction, _)| _ = data.entry(direction).or_default().insert(name.as_str()));
    }
    let is_shared = |direction: Direction<'_>, name: &str| {
        data.get(&direction).is_some_and(|loads| loads.iter().any(|other| *other != name))
    };
    let mut told = Vec::new();
    for (name, load) in over_tcp {
        let segments = load.pairs().next().map_or(SEGMENTS, |(_, to)| segments_each(scenario, to));
        told.extend(taken(scenario, &topology, load).into_iter().filter_map(|(direction, part, octets)| {
            let (line, is_b) = direction;
            let [one, other] = &scenario.link.get(line)?.ends;
            let (end, percent) = (if is_b { other } else { one }, part * 100.0);
            (part >= NOTABLE || is_shared(direction, name)).then(|| {
                if part > 1.0 {
                    return format!(
                        "those of {name} more than {end} can send over {line} ({octets} octets each), where one fits for every {:.1} segments: \
                         unless most of them are lost, they hold it to less than the ladder",
                        part * f64::from(segments)
                    );
                }
                let each = if segments == SEGMENTS { String::new() } else { format!(", one for every {segments} segments") };
                format!("those of {name} {percent:.1} % of what {end} sends over {line} ({octets} octets each{each})")
            })
        }));
    }
    let more = told.len().saturating_sub(TOLD);
    told.truncate(TOLD);
    told.extend((more > 0).then(|| format!("and {more} more")));
    if !told.is_empty() {
        text += &format!("; with one for every two full segments they take at most: {}", told.join(", "));
    }
    Some(text)
}

/// For how many full segments that come to `to`, a host or a layer of one, its TCP acknowledges at once, as its
/// `ack.every` has it.
pub(crate) fn segments_each(scenario: &Scenario, to: &str) -> u32 {
    let stack = Stack::of(scenario, to.split('.').next().unwrap_or(to));
    let every = stack.and_then(|stack| {
        let tcp = stack.nodes().into_iter().find(|node| stack.kind(node) == "tcp")?;
        u32::try_from(stack.setting(tcp, "ack")?.get("every")?.as_integer()?).ok()
    });
    // Where there is no such number those of the timer, and of windows, are as many as anybody knows.
    every.filter(|every| *every > 0).unwrap_or(SEGMENTS)
}

/// What part of each line on the way back the acknowledgments of the first pair of `load` take, where its data comes as
/// fast as its ladder allows, and of how many octets each is. Nothing of calls, whose data goes both ways, nor of
/// rings, where all goes one way.
fn taken<'a>(scenario: &'a Scenario, topology: &Topology<'a>, load: &Workload) -> Vec<(Direction<'a>, f64, String)> {
    let pair = load.pairs().next().filter(|_| load.kind != "rpc");
    let found = pair.and_then(|(from, to)| {
        let back = of_pair(scenario, load, topology, ((to, from), Carried::Answers), Some(0)).ok()?;
        Some((of_counted(scenario, load).ok()?, back))
    });
    let Some((data, back)) = found else {
        return Vec::new();
    };
    let segments = data.goodput_mbps().as_f64() * 1e6 / 8.0 / f64::from(data.payload_octets);
    let each = f64::from(pair.map_or(SEGMENTS, |(_, to)| segments_each(scenario, to)));
    let back = back.into_iter().filter(|((line, _), _)| scenario.link.contains_key(*line));
    let part = |(direction, ladder): (Direction<'a>, super::Ladder)| {
        let acknowledgments = ladder.packets_per_second();
        let octets = super::short(ladder.packet_octets);
        (acknowledgments > 0.0).then(|| (direction, segments / each / acknowledgments, octets))
    };
    back.filter_map(part).collect()
}
