//! By which of its addresses a load calls a host that has several.

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};

use super::super::{Scenario, Workload};
use super::addresses::Interface;
use crate::topology::{Topology, place};
use kumiki_config::error::ConfigError;

/// At which end each host is called that a load calls by an address of its choice; and where the writer has the answers
/// then.
pub(super) fn settle(scenario: &mut Scenario, interfaces: &[Interface]) -> Result<(), ConfigError> {
    let topology = Topology::of(scenario);
    let mut called = BTreeMap::new();
    for (name, load) in &scenario.load {
        let ends = ends(scenario, load, interfaces).map_err(|fault| fault.under(&["load", name]))?;
        for (from, to) in load.pairs() {
            let Some(end) = ends.get(place(to)) else {
                continue;
            };
            let [writer, reader] = [from, to].map(str::to_owned);
            if let Some(first) = topology.shortest(place(from), end).as_ref().and_then(|way| way.first()) {
                called.insert((reader.clone(), writer.clone()), first.out.to_owned());
            }
            called.insert((writer, reader), (*end).to_owned());
        }
    }
    scenario.routed.called = called;
    Ok(())
}

/// The end that `load` chooses of each host that reads, where it does.
fn ends<'a>(
    scenario: &'a Scenario,
    load: &Workload,
    interfaces: &'a [Interface],
) -> Result<BTreeMap<&'a str, &'a str>, ConfigError> {
    let mut ends = BTreeMap::new();
    let Some(wanted) = &load.to_address else {
        return Ok(ends);
    };
    if wanted.0.is_empty() {
        return Err(ConfigError::at(["to_address"], "a list without addresses")
            .expected("one of who reads, or no `to_address`"));
    }
    if load.way.as_deref() == Some("get") {
        let problem = "who reads asks for the file, and calls the one that writes";
        return Err(ConfigError::at(["to_address"], problem).expected("way = \"put\", or no `to_address`"));
    }
    let of_reader = |it: &&Interface| load.to.0.iter().any(|to| place(to) == it.host && is_below(scenario, to, &it.ip));
    let known: Vec<&Interface> = interfaces.iter().filter(of_reader).collect();
    for text in &wanted.0 {
        let address = text.parse::<Ipv4Addr>().ok();
        let is_meant = |it: &&&Interface| it.plug == *text || (address.is_some() && it.address == address);
        let Some(found) = known.iter().find(is_meant) else {
            let told = |it: &&Interface| match it.address {
                Some(address) => format!("{address} ({})", it.plug),
                None => it.plug.clone(),
            };
            let all: Vec<String> = known.iter().map(told).collect();
            return Err(
                ConfigError::at(["to_address"], format!("{text} is no address of IPv4 of who reads")).one_of(&all)
            );
        };
        if ends.insert(found.host.as_str(), found.plug.as_str()).is_some() {
            let problem = format!("two addresses of {}", found.host);
            return Err(ConfigError::at(["to_address"], problem).expected("one of each host, or two loads"));
        }
    }
    Ok(ends)
}

/// Whether the node `ip` of the same host is below the one at `end`, or is it.
fn is_below(scenario: &Scenario, end: &str, ip: &str) -> bool {
    let graph = scenario.host.get(place(end)).and_then(|host| host.graph.as_ref());
    let mut nodes: Vec<&str> = end.split_once('.').map(|(_, node)| node).into_iter().collect();
    let mut seen = BTreeSet::new();
    while let Some(node) = nodes.pop() {
        if node == ip {
            return true;
        }
        // Layers that stand on themselves are told of later.
        if seen.insert(node) {
            nodes.extend(graph.iter().flat_map(|graph| graph.below(node)));
        }
    }
    false
}
