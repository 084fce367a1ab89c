//! Which lines a load crosses, on its way from the host that writes to those that read.
//!
//! A line with frames says how long it was busy; one with cells does not, and a ring is none of these lines.

use std::collections::{BTreeMap, VecDeque};

use crate::scenario::Scenario;

/// A direction of a line: its name, and the end that sends there: a is the first that the scenario names.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Crossed {
    pub(super) line: String,
    pub(super) is_a: bool,
}

impl Crossed {
    /// The counter of the line that says how long it was busy.
    pub(super) const fn busy(&self) -> &'static str {
        if self.is_a { "a_busy_ns" } else { "b_busy_ns" }
    }
}

/// The host or switch of an end, `host.device` or `switch.port`.
fn place(end: &str) -> &str {
    end.split_once('.').map_or(end, |(place, _)| place)
}

/// The lines between hosts `from` and `to` by the fewest of them; none where only a ring or nothing leads there. Where several ways are as short routes decide,
/// which are not looked at here: then the first line by name counts.
pub(super) fn between(scenario: &Scenario, from: &str, to: &str) -> Vec<Crossed> {
    let mut came: BTreeMap<&str, Option<(&str, Crossed)>> = BTreeMap::from([(from, None)]);
    let mut next = VecDeque::from([from]);
    while let Some(here) = next.pop_front() {
        // Others than routers and switches send nothing on.
        let sends_on = |name: &str| {
            let host = scenario.host.get(name);
            host.is_none_or(|it| {
                it.settings.values().any(|table| table.get("forwarding").and_then(toml::Value::as_bool) == Some(true))
            })
        };
        if here != from && !sends_on(here) {
            continue;
        }
        for (line, link) in &scenario.link {
            let [a, b] = link.ends.each_ref().map(|end| place(end));
            for (near, far, is_a) in [(a, b, true), (b, a, false)] {
                if near == here && !came.contains_key(far) {
                    came.insert(far, Some((here, Crossed { line: line.clone(), is_a })));
                    next.push_back(far);
                }
            }
        }
    }
    let mut path = Vec::new();
    let mut at = to;
    while let Some(Some((before, crossed))) = came.get(at) {
        path.push(crossed.clone());
        at = before;
    }
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Choice, Document};

    #[test]
    fn a_way_leads_over_routers_and_switches_in_either_direction() {
        let text = r#"
title = "A chain"
host.a = { graph = ["netperf", "tcp", "ip", "l0"], ip = { address = "10.0.0.1/24" } }
host.b = { like = "a", ip = { address = "10.0.1.1/24" } }
host.r = { graph = { ip = ["l0", "l1"] }, ip = { forwarding = true, interface.l0 = { address = "10.0.0.2/24" }, interface.l1 = { address = "10.0.1.2/24" } } }
link.first = { ends = ["r.l0", "a.l0"], medium = "point-to-point", rate = "1 Gb/s" }
link.second = { ends = ["r.l1", "b.l0"], medium = "point-to-point", rate = "1 Gb/s" }
run = { duration = "1 s" }
load.bulk = { kind = "netperf", from = "a.netperf", to = "b.netperf", message = "8 KiB" }
"#;
        let document = Document::parse("test", "test.toml", text).unwrap();
        let point = document.points(&Choice { set: Vec::new(), quick: false, runs: None }).unwrap().remove(0);
        let way = |from, to| -> Vec<String> {
            let path = between(&point.scenario, from, to);
            path.iter().map(|it| format!("{}.{}", it.line, it.busy())).collect()
        };
        assert_eq!(way("a", "b"), ["first.b_busy_ns", "second.a_busy_ns"]);
        assert_eq!(way("b", "a"), ["second.b_busy_ns", "first.a_busy_ns"]);
        assert!(way("a", "nobody").is_empty() && way("a", "a").is_empty());
    }
}
