//! Which lines a load crosses, on its way from the hosts that write to those that read.
//!
//! A line with frames says how long it was busy. Of one with cells the adapter or the switch that sends does, and of a
//! ring all that its stations send is together: one at a time does.

use std::collections::BTreeMap;

use kumiki_sim::World;

use super::media::sar_name;
use crate::topology::{Hop, HopKind};

/// A direction of a line, or a ring.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct CrossedLine {
    /// The name of the line or the ring.
    pub(super) line: String,
    pub(super) way: HopKind,
    /// Who sends: `host.device`, or `switch.port`. On a ring nobody alone.
    out: String,
}

impl CrossedLine {
    /// That of a hop.
    pub(super) fn of(hop: &Hop<'_>) -> Self {
        let out = if hop.kind == HopKind::Ring { "" } else { hop.out };
        Self { line: hop.line.to_owned(), way: hop.kind, out: out.to_owned() }
    }
}

/// How long what loads cross has been busy so far.
pub(super) struct BusyTimes<'a> {
    media: BTreeMap<&'a str, Vec<(&'static str, u64)>>,
    ports: BTreeMap<String, Vec<(&'static str, u64)>>,
}

impl<'a> BusyTimes<'a> {
    pub(super) fn of(world: &'a World) -> Self {
        let ports = world.ports().map(|(switch, port, counters)| (format!("{switch}.{port}"), counters));
        Self { media: world.media().collect(), ports: ports.collect() }
    }

    /// In nanoseconds; `None` where nobody knows.
    pub(super) fn time(&self, crossed: &CrossedLine) -> Option<u64> {
        let line = self.media.get(crossed.line.as_str())?;
        let of_line = match crossed.way {
            HopKind::FromA => counter(line, "a_busy_ns"),
            HopKind::FromB => counter(line, "b_busy_ns"),
            HopKind::Ring => counter(line, BUSY),
        };
        let adapter = || counter(self.media.get(sar_name(&crossed.out).as_str())?, BUSY);
        let port = || counter(self.ports.get(&crossed.out)?, BUSY);
        of_line.or_else(adapter).or_else(port)
    }

    /// How many frames its queue gave up so far, and how many came to it; nothing of one with cells.
    pub(super) fn queue(&self, crossed: &CrossedLine) -> (u64, u64) {
        let (dropped, sent) = match crossed.way {
            HopKind::FromA => ("a_drops", "a_frames"),
            HopKind::FromB => ("b_drops", "b_frames"),
            HopKind::Ring => ("drops", "frames"),
        };
        let count = |name| self.media.get(crossed.line.as_str()).and_then(|line| counter(line, name)).unwrap_or(0);
        (count(dropped), count(dropped) + count(sent))
    }
}

/// How adapters, ports and rings call it.
const BUSY: &str = "busy_ns";

fn counter(counters: &[(&'static str, u64)], wanted: &str) -> Option<u64> {
    counters.iter().find(|(name, _)| *name == wanted).map(|(_, count)| *count)
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
            Some(way.iter().map(CrossedLine::of).map(|it| format!("{} {:?} of {}", it.line, it.way, it.out)).collect())
        };
        assert_eq!(way("a", "b").unwrap(), ["first FromB of a.l0", "second FromA of r.l1"]);
        assert_eq!(way("b", "a").unwrap(), ["second FromB of b.l0", "first FromA of r.l0"]);
        assert_eq!(way("a", "nobody"), None);
        assert_eq!(way("a", "a"), Some(Vec::new()));
        let scenario = std::sync::Arc::make_mut(&mut point.scenario);
        let ip = scenario.host.get_mut("r").and_then(|host| host.settings.get_mut("ip")).unwrap();
        ip.remove("forwarding");
        let topology = Topology::of(&point.scenario);
        assert_eq!((topology.way("a", "b"), topology.obstacle("a", "b")), (None, Some("r")));
    }
}
