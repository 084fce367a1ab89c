//! The graph of one host of a scenario, as it reads after `like` has been followed.

use std::collections::BTreeSet;

use crate::scenario::{Graph, Host, Scenario};
use kumiki_config::quantity::{self, Octets};

/// The nodes of a host: see the module.
pub(super) struct Stack<'a> {
    /// The host and those that it is like, nearest first.
    hosts: Vec<&'a Host>,
    /// Each node with the layers below it; devices have none.
    layers: Vec<(&'a str, Vec<&'a str>)>,
    devices: Vec<&'a str>,
}

impl<'a> Stack<'a> {
    /// The stack of the host called `name`; without nodes where it has no graph, `None` where there is no such host.
    pub(super) fn of(scenario: &'a Scenario, name: &str) -> Option<Self> {
        let mut hosts = vec![scenario.host.get(name)?];
        while let Some(like) = hosts.last().and_then(|host| host.like.as_ref()) {
            // A host like itself, by whatever detour, has no more to give.
            match scenario.host.get(like) {
                Some(host) if hosts.len() <= scenario.host.len() => hosts.push(host),
                Some(_) | None => break,
            }
        }
        let graph = hosts.iter().find_map(|host| host.graph.as_ref());
        Some(Self {
            hosts,
            layers: graph.map(layers).unwrap_or_default(),
            devices: graph.map(Graph::devices).unwrap_or_default(),
        })
    }

    /// All nodes and devices, none before what stands on it. Those that stand on each other in a circle come last.
    pub(super) fn nodes(&self) -> Vec<&'a str> {
        let mut left: Vec<&str> = self.layers.iter().map(|(node, _)| *node).collect();
        let mut sorted = Vec::new();
        while !left.is_empty() {
            let covered: BTreeSet<&str> = left.iter().flat_map(|node| self.below(node)).copied().collect();
            let (free, bound): (Vec<&str>, Vec<&str>) = left.iter().partition(|node| !covered.contains(*node));
            sorted.extend(if free.is_empty() { &bound } else { &free });
            left = if free.is_empty() { Vec::new() } else { bound };
        }
        sorted
    }

    /// The layers below `node`.
    pub(super) fn below(&self, node: &str) -> &[&'a str] {
        self.layers.iter().find(|(name, _)| *name == node).map_or(&[], |(_, below)| below)
    }

    /// Whether there is a node or device called `node`.
    pub(super) fn has(&self, node: &str) -> bool {
        self.layers.iter().any(|(name, _)| *name == node)
    }

    /// Whether `node` is a device.
    pub(super) fn is_device(&self, node: &str) -> bool {
        self.devices.contains(&node)
    }

    /// The kind of node that `node` is.
    pub(super) fn kind<'n>(&self, node: &'n str) -> &'n str
    where
        'a: 'n,
    {
        let given = self.hosts.iter().find_map(|host| host.kind.get(node));
        given.map_or(node, String::as_str)
    }

    /// The setting `key` of `node`, where it is given.
    pub(super) fn setting(&self, node: &str, key: &str) -> Option<&'a toml::Value> {
        self.hosts.iter().find_map(|host| host.settings.get(node)?.get(key))
    }

    /// The octets that the setting `key` of `node` is of, where it is given.
    ///
    /// # Errors
    /// As [`parse_octets`].
    pub(super) fn octets(&self, node: &str, key: &str) -> Result<Option<u32>, String> {
        let value = self.setting(node, key).and_then(toml::Value::as_str);
        value.map(|text| parse_octets(&format!("{node}.{key}"), text)).transpose()
    }

    /// Finds a way from `node` down to `device`, the first one where there are several.
    pub(super) fn way_down(&self, node: &str, device: &str, path: &mut Vec<&'a str>) -> bool {
        let Some(node) = self.nodes().into_iter().find(|name| *name == node) else {
            return false;
        };
        // A graph in which layers stand on each other in a circle is refused elsewhere; here it must only end.
        if path.contains(&node) {
            return false;
        }
        path.push(node);
        if self.is_device(node) && node == device {
            return true;
        }
        if self.below(node).iter().any(|below| self.way_down(below, device, path)) {
            return true;
        }
        path.pop();
        false
    }
}

fn layers(graph: &Graph) -> Vec<(&str, Vec<&str>)> {
    let mut layers: Vec<(&str, Vec<&str>)> = match graph {
        Graph::Chain(chain) => {
            let below = chain.iter().skip(1).map(|lower| vec![lower.as_str()]);
            let below = below.chain([Vec::new()]);
            chain.iter().map(String::as_str).zip(below).collect()
        }
        Graph::Below(below) => {
            below.iter().map(|(node, below)| (node.as_str(), below.iter().map(String::as_str).collect())).collect()
        }
    };
    let named: BTreeSet<&str> = layers.iter().map(|(node, _)| *node).collect();
    let lower: BTreeSet<&str> = layers.iter().flat_map(|(_, below)| below).copied().collect();
    layers.extend(lower.difference(&named).map(|device| (*device, Vec::new())));
    layers
}

/// What `text`, which stands at `place`, is in octets.
///
/// # Errors
/// In words, where it is no number of octets, or of more than a packet has.
pub(super) fn parse_octets(place: &str, text: &str) -> Result<u32, String> {
    let octets: Octets = quantity::parse(text).map_err(|error| format!("{place} = \"{text}\": {error}"))?;
    u32::try_from(octets.count()).map_err(|_| format!("{place} = \"{text}\": 4 GiB or more in a packet"))
}
