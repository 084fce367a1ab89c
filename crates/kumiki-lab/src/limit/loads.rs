//! From a scenario to what its loads can have of the lines on their way.

use std::collections::BTreeMap;

use super::Ladder;
use super::path::{Direction, of_pair};
use super::together::{together, weighed};
use crate::scenario::{Scenario, Workload};
use crate::topology::{Topology, place};
use kumiki_config::quantity::{self, Distribution, Octets};
use kumiki_media::{self as medium, Framed};

/// The ladder of a load of `scenario`: down from the node that writes to its device, and on the slowest of the lines
/// that lead on from there through switches and routers. Of several writers it is that of the first.
///
/// Over TCP a packet is a full segment; its size is the `mss` of the TCP node, or else what the `mtu` of the IP nodes
/// on the way leaves (1500 unless given), less what options take. Over UDP it is the message of the load, and so it is
/// where layers between cut messages: OSI and X.25. Where these stand on TCP its segments are full, one message behind
/// the other.
///
/// # Errors
/// In words, where the load is a ping, the stack has a layer whose overhead is not known, the writing node has no way
/// to the one that reads, or a quantity cannot be read.
pub fn of_load(scenario: &Scenario, load: &Workload) -> Result<Ladder, String> {
    let topology = Topology::of(scenario);
    let (from, to) = load.pairs().next().ok_or("no load writes")?;
    slowest(of_pair(scenario, load, &topology, ((from, to), Carried::Data), None)?, from)
}

/// The same of what counts of a load, and in the direction in which that goes: of calls (`rpc`) the answers, from who
/// is asked, in the packets in which each of them goes by itself where all have one length.
///
/// # Errors
/// As [`of_load`].
pub fn of_counted(scenario: &Scenario, load: &Workload) -> Result<Ladder, String> {
    let Some(calls) = Calls::of(load) else {
        return of_load(scenario, load);
    };
    let topology = Topology::of(scenario);
    let (from, to) = load.pairs().next().ok_or("no load asks")?;
    slowest(of_pair(scenario, load, &topology, ((to, from), Carried::Answers), calls.answer)?, to)
}

fn slowest(ladders: Vec<(Direction<'_>, Ladder)>, from: &str) -> Result<Ladder, String> {
    let slowest = ladders.into_iter().map(|(_, ladder)| ladder).reduce(slower);
    slowest.ok_or_else(|| format!("no line ends on a device of `{from}`"))
}

/// What is in flight on a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carried {
    /// What writers write.
    Data,
    /// Of calls what comes back, which counts.
    Answers,
    /// Of calls what asks for that.
    Requests,
    /// Both, which go around one ring.
    Calls,
}

/// A line on the way of a load.
#[derive(Clone, PartialEq, Debug)]
pub struct PathLine {
    /// Its name.
    pub line: String,
    /// The host or switch that sends on it, where what it carries depends on the direction.
    pub from: Option<String>,
    /// What it carries.
    pub carried: Carried,
    /// How much of that it carries where it is the only line, in Mb/s.
    pub mbps: f64,
    /// What it then leaves to what counts of the load, in Mb/s: with each answer goes a request.
    pub leaves_mbps: f64,
    /// How many octets count for each of the load that is on it: of the lines of requests and of rings that is not
    /// each.
    pub brings: f64,
}

/// The lines between the first writer of a load and its reader, in the order of the way of what counts; of calls behind
/// these the lines of the requests.
///
/// # Errors
/// As [`of_load`].
pub fn lines(scenario: &Scenario, load: &Workload) -> Result<Vec<PathLine>, String> {
    let topology = Topology::of(scenario);
    let pair = load.pairs().next().ok_or("no load writes")?;
    let lines = on_way(scenario, load, &topology, pair)?;
    let told = |(direction, line): (Direction<'_>, PathLine)| PathLine {
        from: sender(scenario, direction).map(str::to_owned),
        ..line
    };
    Ok(lines.into_iter().map(told).collect())
}

/// What all pairs of a load can have together, in Mb/s, where those that share a line share it alike and what one
/// cannot use is left to the others (max-min).
///
/// # Errors
/// As [`of_load`].
pub fn of_all(scenario: &Scenario, load: &Workload) -> Result<f64, String> {
    Ok(together(&pairs(scenario, load)?, |_| 1.0))
}

/// What all loads can have together, in Mb/s, as [`of_all`] has it of the pairs of one: of calls the answers count, and
/// echoes bring nothing. What pairs share alike is what they have on a line, be it requests of the one and answers of
/// the other: each by its narrowest. Those that have no limit are left out, and there is none where fewer than two are
/// left.
#[must_use]
pub fn of_loads(scenario: &Scenario) -> Option<f64> {
    let topology = Topology::of(scenario);
    let of_load = |load: &Workload| {
        let pairs = load.pairs().map(|pair| on_way(scenario, load, &topology, pair));
        pairs.collect::<Result<Vec<_>, _>>().ok()
    };
    let all: Vec<_> = scenario.load.values().filter_map(of_load).collect();
    if all.len() < 2 {
        return None;
    }
    let (mut pairs, mut brings) = (Vec::new(), Vec::new());
    for lines in all.into_iter().flatten() {
        let narrowest =
            lines.iter().map(|(_, line)| line).min_by(|one, other| one.leaves_mbps.total_cmp(&other.leaves_mbps));
        brings.push(narrowest.map_or(1.0, |line| line.brings));
        pairs.push(lines.into_iter().map(|(direction, line)| (direction, line.leaves_mbps)).collect());
    }
    Some(weighed(&pairs, &brings, |_| 1.0))
}

/// What loads can have together, in Mb/s, of which each pair has so much (`mbps`, in the order of the pairs): all of it
/// as many times as the lines carry. None where nothing came, or one has no limit.
#[must_use]
pub fn of_mix<'a>(scenario: &Scenario, mix: impl Iterator<Item = (&'a Workload, Vec<f64>)>) -> Option<f64> {
    let (mut sum, mut used) = (0.0, BTreeMap::<Direction<'_>, f64>::new());
    for (load, mbps) in mix {
        for (lines, mbps) in of_answers(scenario, load)?.into_iter().zip(mbps) {
            sum += mbps;
            lines.into_iter().for_each(|(direction, rate)| *used.entry(direction).or_default() += mbps / rate);
        }
    }
    let fullest = used.into_values().reduce(f64::max).filter(|used| *used > 0.0)?;
    Some(sum / fullest)
}

/// What each line on the way of what counts leaves each pair alone. None of echoes, and where it is not known.
fn of_answers<'a>(scenario: &'a Scenario, load: &Workload) -> Option<Vec<Vec<(Direction<'a>, f64)>>> {
    pairs(scenario, load).ok()
}

/// What each line on the way from one node of a load to another leaves alone of what is carried there, in Mb/s; none
/// where that is not known.
pub(crate) fn of_way<'a>(
    scenario: &'a Scenario,
    load: &Workload,
    topology: &Topology<'a>,
    way: ((&str, &str), Carried),
) -> Vec<(Direction<'a>, f64)> {
    let ladders = of_pair(scenario, load, topology, way, None).unwrap_or_default();
    ladders.into_iter().map(|(direction, ladder)| (direction, ladder.goodput_mbps().as_f64())).collect()
}

/// What each line on the way of what counts leaves each pair alone, in Mb/s.
pub(super) fn pairs<'a>(scenario: &'a Scenario, load: &Workload) -> Result<Vec<Vec<(Direction<'a>, f64)>>, String> {
    let topology = Topology::of(scenario);
    load.pairs().map(|pair| of_counted_pair(scenario, load, &topology, pair)).collect()
}

/// The same of one pair, in the order of the way.
fn of_counted_pair<'a>(
    scenario: &'a Scenario,
    load: &Workload,
    topology: &Topology<'a>,
    pair: (&str, &str),
) -> Result<Vec<(Direction<'a>, f64)>, String> {
    let lines = on_way(scenario, load, topology, pair)?;
    Ok(lines.into_iter().map(|(direction, line)| (direction, line.leaves_mbps)).collect())
}

/// What lines on the way of a pair carry, in the order of the way; without who sends on them, which only who tells of
/// them asks for.
pub(super) fn on_way<'a>(
    scenario: &'a Scenario,
    load: &Workload,
    topology: &Topology<'a>,
    (from, to): (&str, &str),
) -> Result<Vec<(Direction<'a>, PathLine)>, String> {
    let lines = |(from, to), alone, carried, part: f64| {
        let ladders = of_pair(scenario, load, topology, ((from, to), carried), alone)?;
        let line = |(direction, ladder): (Direction<'a>, Ladder)| {
            let mbps = ladder.goodput_mbps().as_f64();
            let line = direction.0.to_owned();
            (direction, PathLine { line, from: None, carried, mbps, leaves_mbps: mbps * part, brings: part })
        };
        Ok::<_, String>(ladders.into_iter().map(line).collect::<Vec<_>>())
    };
    let Some(calls) = Calls::of(load) else {
        return lines((from, to), None, Carried::Data, 1.0);
    };
    let mut all = lines((to, from), calls.answer, Carried::Answers, 1.0)?;
    // Where answers have no mean they come to any number of octets for a request.
    let Some(mean_answer) = calls.mean_answer else {
        return Ok(all);
    };
    // With each answer goes a request.
    let part = f64::from(mean_answer) / f64::from(calls.request);
    for (direction, line) in lines((from, to), Some(calls.request), Carried::Requests, part)? {
        match all.iter_mut().find(|(it, _)| *it == direction) {
            Some((_, both)) => {
                both.leaves_mbps = 1.0 / (1.0 / both.leaves_mbps + 1.0 / line.leaves_mbps);
                both.mbps = both.leaves_mbps;
                both.carried = Carried::Calls;
                both.brings = 1.0 / (1.0 / both.brings + 1.0 / line.brings);
            }
            None => all.push((direction, line)),
        }
    }
    Ok(all)
}

/// Who sends in a direction of a line whose two are not alike, at first or from some time on.
fn sender<'a>(scenario: &'a Scenario, (name, is_b): Direction<'_>) -> Option<&'a str> {
    let link = scenario.link.get(name)?;
    let Ok(medium::Line::Frames(frames)) = link.line_at_first() else {
        return None;
    };
    let differ = match frames.framed {
        Framed::Line([one, other]) => one != other,
        Framed::Recorded => matches!(frames.traces.as_slice(), [one, other] if one != other),
        Framed::Oc3c | Framed::Oc12c | Framed::Oc48c => false,
    };
    let steps = || link.line().and_then(|line| scenario.changes(name, &line)).unwrap_or_default();
    let differ = differ || steps().iter().any(|step| step.rate.is_some_and(|[one, other]| one != other));
    let [a, b] = &link.ends;
    differ.then(|| place(if is_b { b } else { a }))
}

/// The lengths of calls, in octets.
struct Calls {
    request: u32,
    /// Where all have the same.
    answer: Option<u32>,
    /// Where their lengths have a mean.
    mean_answer: Option<u32>,
}

impl Calls {
    /// Those of `load`, where it is of calls.
    fn of(load: &Workload) -> Option<Self> {
        let octets = |octets: Octets| u32::try_from(octets.count()).unwrap_or(u32::MAX).max(1);
        let request = quantity::parse(&load.message).map_or(1, octets);
        // Without one it is as long as the request.
        let response = load.response.as_deref().and_then(|text| Distribution::<Octets>::parse(text).ok());
        let mean_answer = match &response {
            Some(response) => response.has_mean().then(|| octets(response.mean())),
            None => Some(request),
        };
        let has_one_length = response.is_none_or(|response| match response {
            Distribution::Constant(_) => true,
            Distribution::Exponential(_) | Distribution::Uniform(..) | Distribution::Pareto(..) => false,
        });
        (load.kind == "rpc").then_some(Self { request, answer: mean_answer.filter(|_| has_one_length), mean_answer })
    }
}

fn slower(one: Ladder, other: Ladder) -> Ladder {
    if other.goodput_mbps().as_f64() < one.goodput_mbps().as_f64() { other } else { one }
}
