//! What part of an equal share flows have of the lines on which they meet.

use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant};

use super::flows::Flow;
use super::measure::LoadResult;
use super::path::Crossed;
use super::programs::Load;

/// Sets [`Flow::part`] of all flows that want more than they get and meet others that do, and are measured over the same time.
pub(super) fn set_parts(loads: &BTreeMap<String, Load>, results: &mut BTreeMap<String, LoadResult>) {
    // Of each line and time: what they have of it together, and how many they are.
    let mut met: BTreeMap<(&Crossed, Instant, Duration), (f64, f64)> = BTreeMap::new();
    for (name, result) in results.iter() {
        for flow in result.flows.iter().filter(|flow| flow.wants_more()) {
            for line in loads.get(name).into_iter().flat_map(|load| load.way(flow.way)) {
                let (sum, count) = met.entry((line, flow.began, flow.time)).or_default();
                *sum += flow.goodput_mbps();
                *count += 1.0;
            }
        }
    }
    for result in results.values_mut() {
        let part = |flow: &Flow| {
            let met = met.get(&(flow.busiest.as_ref()?, flow.began, flow.time));
            let (sum, count) = met.filter(|(sum, count)| *count > 1.0 && *sum > 0.0)?;
            flow.wants_more().then(|| flow.goodput_mbps() / (sum / count))
        };
        let parts: Vec<Option<f64>> = result.flows.iter().map(part).collect();
        for (flow, part) in result.flows.iter_mut().zip(parts) {
            flow.part = part;
        }
    }
}
