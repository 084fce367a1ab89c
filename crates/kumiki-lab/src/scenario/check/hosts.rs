//! The layers of hosts stand on each other, and have addresses of their own.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Graph, Host, Scenario, ends};
use kumiki_config::error::ConfigError;

pub(super) fn graph(scenario: &Scenario, name: &str, host: &Host) -> Result<(), ConfigError> {
    let Some(graph) = &host.graph else {
        return Err(ConfigError::at(["host", name], "the key \"graph\" is missing")
            .expected("the layers, uppermost first, such as [\"ttcp\", \"tcp\", \"ip\", \"atm0\"]"));
    };
    let path = ["host", name, "graph"];
    let nodes = graph.nodes();
    match graph {
        Graph::Chain(names) => {
            if names.is_empty() {
                let expected = "the layers, uppermost first, such as [\"ttcp\", \"tcp\", \"ip\", \"atm0\"]";
                return Err(ConfigError::at(path, "a graph without layers").expected(expected));
            }
            if names.iter().any(|name| name.trim().is_empty()) {
                let problem = "a layer with an empty name";
                return Err(ConfigError::at(path, problem).expected("the name of a layer, or of a device at the end"));
            }
            let unique: BTreeSet<&String> = names.iter().collect();
            if unique.len() < names.len() {
                let twice =
                    names.iter().enumerate().find(|(i, name)| names.iter().take(*i).any(|earlier| earlier == *name));
                let twice = twice.map_or("", |(_, name)| name.as_str());
                return Err(ConfigError::at(path, format!("the layer {twice:?} is there twice"))
                    .expected(format!("a name of its own for each, and [host.{name}.kind] for what they are")));
            }
        }
        Graph::Below(_) => {
            if let Some(round) = round(graph) {
                return Err(ConfigError::at(path, format!("layers that stand on themselves: {}", round.join(" on "))));
            }
        }
    }
    for (section, keys) in [("kind", host.kind.keys().collect::<Vec<_>>()), ("", host.settings.keys().collect())] {
        for key in keys {
            if !nodes.contains(&key.as_str()) {
                let path = ["host", name, section, key.as_str()];
                let path = path.into_iter().filter(|part| !part.is_empty());
                let unknown = || ConfigError::unknown(path, "layer", key, &nodes);
                return Err(ends::not_needed(scenario, name, key).unwrap_or_else(unknown));
            }
        }
    }
    Ok(())
}

/// A way through the graph that comes back to where it was, if there is one.
fn round(graph: &Graph) -> Option<Vec<&str>> {
    // Nodes are taken away from below; what cannot be taken away stands on itself.
    let mut left = graph.nodes();
    loop {
        let before = left.len();
        let still = left.clone();
        left.retain(|node| graph.below(node).iter().any(|below| still.contains(below)));
        if left.len() == before {
            break;
        }
    }
    let mut way = vec![*left.first()?];
    loop {
        let last = way.last()?;
        let next = *graph.below(last).iter().find(|below| left.contains(below))?;
        if let Some(start) = way.iter().position(|node| *node == next) {
            way.push(next);
            return Some(way.split_off(start));
        }
        way.push(next);
    }
}

/// What is wrong with what would be an address of IPv4, being numbers between points.
fn dotted(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split('.').collect();
    if parts.len() < 2 || !parts.iter().all(|part| part.bytes().all(|digit| digit.is_ascii_digit())) {
        return None;
    }
    if let Some(part) = parts.iter().find(|part| part.parse::<u8>().is_err()) {
        return Some(format!("no address of IPv4: {part:?} is no number from 0 to 255"));
    }
    (parts.len() != 4).then(|| format!("no address of IPv4: {} numbers", parts.len()))
}

/// No two interfaces have one address: easily so where a host is `like` another, and then nothing arrives.
pub(in crate::scenario) fn addresses(scenario: &Scenario) -> Result<(), ConfigError> {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for (host, spec) in &scenario.host {
        // What else has an address, by mistake, is told by whoever reads its settings.
        let is_ip = |node: &str| ["ip", "ipv6"].contains(&spec.kind.get(node).map_or(node, String::as_str));
        for (node, settings) in spec.settings.iter().filter(|(node, _)| is_ip(node)) {
            let own = settings.get("address").map(|address| (vec!["host", host, node, "address"], address));
            let interfaces = settings.get("interface").and_then(toml::Value::as_table).into_iter().flatten();
            let others = interfaces.filter_map(|(name, interface)| {
                let path = vec!["host", host, node, "interface", name, "address"];
                Some((path, interface.get("address")?))
            });
            for (path, address) in own.into_iter().chain(others) {
                let Some((address, _)) = address.as_str().and_then(|text| text.split_once('/')) else {
                    continue;
                };
                if let Some(fault) = dotted(address) {
                    return Err(
                        ConfigError::at(path, fault).expected("four numbers from 0 to 255, such as \"10.0.0.1/24\"")
                    );
                }
                if let Some(first) = seen.insert(address, host) {
                    let problem = format!("hosts {first} and {host} have the same address, {address}");
                    return Err(ConfigError::at(path, problem)
                        .of_topology()
                        .expected("an address of its own for each"));
                }
            }
        }
    }
    Ok(())
}
