//! Which way leads from one host of a scenario to another: over lines and rings, switches, and hosts that forward.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::scenario::{Graph, Host, Scenario};

/// From one place to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hop<'a> {
    /// The name of the line or ring.
    pub(crate) line: &'a str,
    /// What is crossed.
    pub(crate) kind: HopKind,
    /// Where it is left, `host.device` or `switch.port`.
    pub(crate) out: &'a str,
    /// Where it leads in.
    pub(crate) into: &'a str,
}

/// What a hop crosses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HopKind {
    /// A line, from the first of its ends.
    FromA,
    /// A line, from the second.
    FromB,
    /// A ring.
    Ring,
}

/// The host or switch of an end.
pub(crate) fn place(end: &str) -> &str {
    end.split_once('.').map_or(end, |(place, _)| place)
}

/// The lines and rings of a scenario, by the places where they end.
pub(crate) struct Topology<'a> {
    hops: BTreeMap<&'a str, Vec<Hop<'a>>>,
    /// The hosts that send nothing on.
    ends: BTreeSet<&'a str>,
}

impl<'a> Topology<'a> {
    pub(crate) fn of(scenario: &'a Scenario) -> Self {
        let mut hops: BTreeMap<&str, Vec<Hop<'_>>> = BTreeMap::new();
        let mut add =
            |line, kind, out: &'a str, into| hops.entry(place(out)).or_default().push(Hop { line, kind, out, into });
        for (line, link) in &scenario.link {
            let [a, b] = link.ends.each_ref().map(String::as_str);
            add(line, HopKind::FromA, a, b);
            add(line, HopKind::FromB, b, a);
        }
        for (line, ring) in &scenario.ring {
            for out in &ring.ends {
                for into in ring.ends.iter().filter(|into| *into != out) {
                    add(line, HopKind::Ring, out, into);
                }
            }
        }
        // What has no IP may switch at a layer below.
        let has_ip = |host: &Host| {
            let nodes = host.graph.as_ref().map(Graph::nodes).unwrap_or_default();
            nodes.iter().any(|node| ["ip", "ipv6"].contains(&host.kind.get(*node).map_or(*node, String::as_str)))
        };
        let forwards = |table: &toml::Table| table.get("forwarding").and_then(toml::Value::as_bool) == Some(true);
        let ends = scenario.host.iter().filter(|(_, host)| has_ip(host) && !host.settings.values().any(forwards));
        Self { hops, ends: ends.map(|(name, _)| name.as_str()).collect() }
    }

    /// The way with the fewest hops, of several as short the first by the names of lines; routes that say otherwise are not looked at.
    pub(crate) fn way(&self, from: &str, to: &str) -> Option<Vec<Hop<'a>>> {
        self.search(from, to, |place| self.ends.contains(place))
    }

    /// The first host that would have to forward for `to` to be reached, and does not.
    pub(crate) fn obstacle(&self, from: &str, to: &str) -> Option<&'a str> {
        let way = self.search(from, to, |_| false)?;
        way.iter().map(|hop| place(hop.into)).find(|place| *place != to && self.ends.contains(place))
    }

    fn search(&self, from: &str, to: &str, ends: impl Fn(&str) -> bool) -> Option<Vec<Hop<'a>>> {
        let mut came: BTreeMap<&str, Hop<'a>> = BTreeMap::new();
        let mut next = VecDeque::from([from]);
        while let Some(here) = next.pop_front() {
            if here == to {
                break;
            }
            if here != from && ends(here) {
                continue;
            }
            for hop in self.hops.get(here).into_iter().flatten() {
                let far = place(hop.into);
                if far != from && !came.contains_key(far) {
                    came.insert(far, *hop);
                    next.push_back(far);
                }
            }
        }
        let mut way = Vec::new();
        let mut at = to;
        while at != from {
            let hop = came.get(at)?;
            way.push(*hop);
            at = place(hop.out);
        }
        way.reverse();
        Some(way)
    }
}
