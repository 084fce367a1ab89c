//! Which way leads from one host of a scenario to another: over lines and rings, switches, and hosts that forward.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::OnceLock;

use crate::scenario::{Graph, Host, Link, Scenario};
use kumiki_media::{Channel, Line};

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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum HopKind {
    /// A line, from the first of its ends.
    FromA,
    /// A line, from the second.
    FromB,
    /// A ring.
    Ring,
}

/// The ways that the routes of hosts lead, as far as they are known: by the node of a load that sends and the one that
/// gets it, where each host on the way sends, and where that comes in (`host.device`).
#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct Routed {
    /// Of what goes from writers to readers.
    pub(crate) there: RoutedWays,
    /// Of what answers that.
    pub(crate) back: RoutedWays,
    /// By the same nodes, at which of its ends a host gets what is sent, where a load says so.
    pub(crate) called: BTreeMap<(String, String), String>,
}

pub(crate) type RoutedWays = BTreeMap<(String, String), Vec<[String; 2]>>;

/// The host or switch of an end.
pub(crate) fn place(end: &str) -> &str {
    end.split_once('.').map_or(end, |(place, _)| place)
}

/// The parts of the ways of all loads that lie between two hosts and carry cells.
pub(crate) fn legs_of_cells(scenario: &Scenario) -> Vec<Vec<Hop<'_>>> {
    let is_cells = |link: &Link| matches!(link.line(), Ok(Line::Cells(_)));
    let lines = scenario.link.iter().filter(|(_, link)| is_cells(link));
    let cells: BTreeSet<&str> = lines.map(|(name, _)| name.as_str()).collect();
    if cells.is_empty() {
        return Vec::new();
    }
    let topology = Topology::of(scenario);
    let ways = scenario.pairs().map(|(from, to)| topology.way(from, to).unwrap_or_default());
    let mut legs = Vec::new();
    for way in ways {
        // A host ends a leg; a switch does not.
        let all = way.split_inclusive(|hop| scenario.host.contains_key(place(hop.into)));
        legs.extend(all.filter(|leg| leg.iter().all(|hop| cells.contains(hop.line))).map(<[Hop<'_>]>::to_vec));
    }
    legs
}

/// The lines and rings of a scenario, and who leads from one to the next.
pub(crate) struct Topology<'a> {
    /// By the plug where each begins.
    hops: BTreeMap<&'a str, Vec<Hop<'a>>>,
    /// The plugs of each host and switch on which lines end.
    plugs: BTreeMap<&'a str, BTreeSet<&'a str>>,
    hosts: BTreeSet<&'a str>,
    /// Those that send nothing on.
    ends: BTreeSet<&'a str>,
    /// Of switches with channels, the plugs to which these lead from each of their plugs.
    channels: BTreeMap<&'a str, BTreeSet<String>>,
    routed: &'a Routed,
    /// The first hop from each place, or plug of a switch with channels, to each host beside it: so that no search
    /// looks at all neighbours of a switch.
    beside: BTreeMap<&'a str, BTreeMap<&'a str, Hop<'a>>>,
    /// The stations of each ring that send what counts of loads, once somebody has asked for them.
    pub(crate) senders: OnceLock<BTreeMap<&'a str, BTreeSet<&'a str>>>,
}

impl<'a> Topology<'a> {
    pub(crate) fn of(scenario: &'a Scenario) -> Self {
        let mut topology = Self {
            hops: BTreeMap::new(),
            plugs: BTreeMap::new(),
            hosts: scenario.host.keys().map(String::as_str).collect(),
            ends: scenario.host.iter().filter(|(_, host)| is_end(host)).map(|(name, _)| name.as_str()).collect(),
            channels: BTreeMap::new(),
            routed: &scenario.routed,
            beside: BTreeMap::new(),
            senders: OnceLock::new(),
        };
        for (line, link) in &scenario.link {
            let [a, b] = link.ends.each_ref().map(String::as_str);
            topology.add(Hop { line, kind: HopKind::FromA, out: a, into: b });
            topology.add(Hop { line, kind: HopKind::FromB, out: b, into: a });
        }
        for (line, ring) in &scenario.ring {
            for out in &ring.ends {
                for into in ring.ends.iter().filter(|into| *into != out) {
                    topology.add(Hop { line, kind: HopKind::Ring, out, into });
                }
            }
        }
        for (name, switch) in scenario.switch.iter().filter(|(_, switch)| switch.channels().next().is_some()) {
            let leads = leads(switch.channels());
            for plug in topology.plugs.get(name.as_str()).into_iter().flatten() {
                let port = plug.split_once('.').and_then(|(_, port)| port.parse().ok());
                let to = port.and_then(|port: usize| leads.get(&port)).into_iter().flatten();
                topology.channels.insert(plug, to.map(|to| format!("{name}.{to}")).collect());
            }
        }
        let nodes: Vec<&str> = topology.plugs.keys().chain(topology.channels.keys()).copied().collect();
        for node in nodes {
            let mut beside: BTreeMap<&str, Hop<'_>> = BTreeMap::new();
            for hop in topology.hops_from(node) {
                let far = topology.node(hop);
                if scenario.host.contains_key(far) {
                    beside.entry(far).or_insert(*hop);
                }
            }
            topology.beside.insert(node, beside);
        }
        topology
    }

    fn add(&mut self, hop: Hop<'a>) {
        self.plugs.entry(place(hop.out)).or_default().insert(hop.out);
        self.hops.entry(hop.out).or_default().push(hop);
    }

    /// The way that what goes from a node of a load to another takes: the one that routes lead, where it is known, and
    /// else the shortest between their hosts.
    pub(crate) fn way(&self, from: &str, to: &str) -> Option<Vec<Hop<'a>>> {
        self.routed(&self.routed.there, from, to).or_else(|| self.shortest(place(from), self.called(from, to)))
    }

    /// The same of what `from` answers to `to`.
    pub(crate) fn way_of_answers(&self, from: &str, to: &str) -> Option<Vec<Hop<'a>>> {
        self.routed(&self.routed.back, from, to).or_else(|| self.shortest(place(from), self.called(from, to)))
    }

    /// Whom `from` calls at the node `to`: its host, or the end that a load says.
    pub(crate) fn called<'n>(&self, from: &str, to: &'n str) -> &'n str
    where
        'a: 'n,
    {
        self.routed.called.get(&(from.to_owned(), to.to_owned())).map_or_else(|| place(to), String::as_str)
    }

    /// At which of its ends `from` calls the host of the node `to`, and so by which address: the one that a load says,
    /// or else where the shortest way leads in.
    pub(crate) fn called_at<'n>(&self, from: &str, to: &'n str) -> Option<&'n str>
    where
        'a: 'n,
    {
        let called = self.called(from, to);
        let last = self.shortest(place(from), called)?.last()?.into;
        Some(if called == place(called) { last } else { called })
    }

    fn routed(&self, ways: &RoutedWays, from: &str, to: &str) -> Option<Vec<Hop<'a>>> {
        let legs = ways.get(&(from.to_owned(), to.to_owned()))?.iter();
        let legs: Option<Vec<_>> = legs.map(|[out, into]| self.leg(out, into)).collect();
        Some(legs?.concat())
    }

    /// The way with the fewest hops to a host, or to an end of it, of several as short the first by the names of plugs,
    /// whatever routes say. Channels of a switch are looked at: a line may lead back to the switch that it comes from.
    /// To the far side of a host that forwards it leads through that, where no line leads in there.
    pub(crate) fn shortest(&self, from: &str, to: &str) -> Option<Vec<Hop<'a>>> {
        let search = |to| self.search(from, to, |place| self.ends.contains(place));
        let host = place(to);
        search(to).or_else(|| search(host).filter(|_| host != to && !self.ends.contains(host)))
    }

    /// The shortest way from one plug to another, through switches alone.
    fn leg(&self, out: &str, into: &str) -> Option<Vec<Hop<'a>>> {
        let to = place(into);
        // On a ring, without a look at all its stations.
        let beside = self.beside.get(place(out)).and_then(|beside| beside.get(to));
        if let Some(hop) = beside.filter(|hop| hop.out == out && hop.into == into) {
            return Some(vec![*hop]);
        }
        let mut came: BTreeMap<&str, (Option<&str>, Hop<'_>)> = BTreeMap::new();
        let mut next = VecDeque::new();
        let mut hops: Vec<(Option<&str>, Hop<'_>)> =
            self.hops.get(out).into_iter().flatten().map(|hop| (None, *hop)).collect();
        loop {
            for (before, hop) in hops.drain(..) {
                if hop.into == into {
                    let mut way = vec![hop];
                    let mut before = before;
                    while let Some((earlier, hop)) = before.and_then(|node| came.get(node)) {
                        way.push(*hop);
                        before = *earlier;
                    }
                    way.reverse();
                    return Some(way);
                }
                let far = self.node(&hop);
                if !self.hosts.contains(place(far)) && !came.contains_key(far) {
                    came.insert(far, (before, hop));
                    next.push_back(far);
                }
            }
            let here = next.pop_front()?;
            // Most often the host at hand has one line there.
            match self.beside.get(here).and_then(|beside| beside.get(to)).filter(|hop| hop.into == into) {
                Some(hop) => hops.push((Some(here), *hop)),
                None => hops.extend(self.hops_from(here).map(|hop| (Some(here), *hop))),
            }
        }
    }

    /// The first host that would have to forward for `to` to be reached, and does not.
    pub(crate) fn obstacle(&self, from: &str, to: &str) -> Option<&'a str> {
        let way = self.search(from, to, |_| false)?;
        way.iter().map(|hop| place(hop.into)).find(|place| *place != to && self.ends.contains(place))
    }

    /// Where one is after `hop`: at a plug of a switch with channels, else at the host or switch.
    fn node(&self, hop: &Hop<'a>) -> &'a str {
        if self.channels.contains_key(hop.into) { hop.into } else { place(hop.into) }
    }

    /// The hops that begin at `node`.
    fn hops_from(&self, node: &str) -> impl Iterator<Item = &Hop<'a>> {
        let led = self.channels.get(node).into_iter().flatten().map(String::as_str);
        let own = self.plugs.get(node).into_iter().flatten().copied();
        led.chain(own).filter_map(|plug| self.hops.get(plug)).flatten()
    }

    fn search<'s>(&'s self, from: &'s str, to: &'s str, ends: impl Fn(&str) -> bool) -> Option<Vec<Hop<'a>>> {
        let mut came: BTreeMap<&str, (&str, Hop<'a>)> = BTreeMap::new();
        let mut next = VecDeque::from([from]);
        let end = to;
        let to = place(end);
        let leads_there = |hop: &Hop<'_>| end == to || hop.into == end;
        while let Some(here) = next.pop_front() {
            if here == to {
                break;
            }
            if here != from && ends(here) {
                continue;
            }
            if let Some(hop) = self.beside.get(here).and_then(|beside| beside.get(to)).filter(|hop| leads_there(hop)) {
                came.entry(to).or_insert((here, *hop));
                break;
            }
            for hop in self.hops_from(here) {
                let far = self.node(hop);
                if far != from && !came.contains_key(far) && (far != to || leads_there(hop)) {
                    came.insert(far, (here, *hop));
                    next.push_back(far);
                }
            }
        }
        let mut way = Vec::new();
        let mut at = to;
        while at != from {
            let (before, hop) = came.get(at)?;
            way.push(*hop);
            at = before;
        }
        way.reverse();
        Some(way)
    }
}

/// Whether a host sends nothing on. What has no IP may switch at a layer below.
fn is_end(host: &Host) -> bool {
    let nodes = host.graph.as_ref().map(Graph::nodes).unwrap_or_default();
    let is_ip = |node: &&str| ["ip", "ipv6"].contains(&host.kind_of(node));
    let forwards = |table: &toml::Table| table.get("forwarding").and_then(toml::Value::as_bool) == Some(true);
    nodes.iter().any(is_ip) && !host.settings.values().any(forwards)
}

/// The ports to which channels lead from each port.
fn leads(channels: impl Iterator<Item = Channel>) -> BTreeMap<usize, BTreeSet<usize>> {
    let mut all: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for Channel { from, to, both } in channels {
        all.entry(from.port).or_default().insert(to.port);
        if both {
            all.entry(to.port).or_default().insert(from.port);
        }
    }
    all
}
