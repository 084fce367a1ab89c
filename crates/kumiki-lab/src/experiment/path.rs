//! Which lines a load crosses, on its way from the hosts that write to those that read.
//!
//! A line with frames says how long it was busy; one with cells does not, and a ring is none of these lines.

use crate::topology::{Hop, HopKind};

/// A direction of a line: its name, and the end that sends there: a is the first that the scenario names.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Crossed {
    pub(super) line: String,
    pub(super) is_a: bool,
}

impl Crossed {
    /// That of a hop over a line.
    pub(super) fn of(hop: &Hop<'_>) -> Option<Self> {
        let is_a = match hop.kind {
            HopKind::FromA => true,
            HopKind::FromB => false,
            HopKind::Ring => return None,
        };
        Some(Self { line: hop.line.to_owned(), is_a })
    }

    /// The counter of the line that says how long it was busy.
    pub(super) const fn busy(&self) -> &'static str {
        if self.is_a { "a_busy_ns" } else { "b_busy_ns" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Choice, Document};
    use crate::topology::Topology;

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
        let mut point = document.points(&Choice { set: Vec::new(), quick: false, runs: None }).unwrap().remove(0);
        let way = |from, to| -> Option<Vec<String>> {
            let way = Topology::of(&point.scenario).way(from, to)?;
            Some(way.iter().filter_map(Crossed::of).map(|it| format!("{}.{}", it.line, it.busy())).collect())
        };
        assert_eq!(way("a", "b").unwrap(), ["first.b_busy_ns", "second.a_busy_ns"]);
        assert_eq!(way("b", "a").unwrap(), ["second.b_busy_ns", "first.a_busy_ns"]);
        assert_eq!(way("a", "nobody"), None);
        assert_eq!(way("a", "a"), Some(Vec::new()));
        let ip = point.scenario.host.get_mut("r").and_then(|host| host.settings.get_mut("ip")).unwrap();
        ip.remove("forwarding");
        let topology = Topology::of(&point.scenario);
        assert_eq!((topology.way("a", "b"), topology.obstacle("a", "b")), (None, Some("r")));
    }
}
