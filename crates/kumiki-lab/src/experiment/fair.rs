//! What part of an equal share flows have of the lines on which they meet.

use std::collections::BTreeMap;

use super::flows::Flow;
use super::measure::LoadResult;
use super::path::Crossed;
use super::programs::Load;

/// Sets [`Flow::part`] of all flows that want more than they get and meet others that do.
pub(super) fn set_parts(loads: &BTreeMap<String, Load>, results: &mut BTreeMap<String, LoadResult>) {
    // Of each line: what they have of it together, and how many they are.
    let mut met: BTreeMap<&Crossed, (f64, f64)> = BTreeMap::new();
    for (name, result) in results.iter() {
        for flow in result.flows.iter().filter(|flow| flow.wants_more()) {
            for line in loads.get(name).into_iter().flat_map(|load| load.way(flow.way)) {
                let (sum, count) = met.entry(line).or_default();
                *sum += result.rate_mbps(flow.octets);
                *count += 1.0;
            }
        }
    }
    for result in results.values_mut() {
        let part = |flow: &Flow| {
            let (sum, count) = met.get(flow.busiest.as_ref()?).filter(|(sum, count)| *count > 1.0 && *sum > 0.0)?;
            flow.wants_more().then(|| result.rate_mbps(flow.octets) / (sum / count))
        };
        let parts: Vec<Option<f64>> = result.flows.iter().map(part).collect();
        for (flow, part) in result.flows.iter_mut().zip(parts) {
            flow.part = part;
        }
    }
}
