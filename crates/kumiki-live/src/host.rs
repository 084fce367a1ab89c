//! The graph of one host, from its layers by name and their settings.

use std::collections::BTreeMap;

use kumiki_config::error::quantity;
use kumiki_config::quantity::Octets;
use kumiki_config::{ConfigError, settings};
use kumiki_graph::{DeviceId, Graph, GraphError, Protocol, Service};
use kumiki_settings::{LowerLayers, NodeKinds, Settings};

/// A host: nodes are called as their kinds.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Host {
    /// Those that can be made.
    pub(crate) kinds: NodeKinds,
    /// For each node the layers below it; what no node stands for is a device.
    pub(crate) layers: BTreeMap<String, Vec<String>>,
    /// The settings of nodes, as they are written.
    pub(crate) settings: BTreeMap<String, toml::Table>,
}

impl Host {
    /// The graph with these `nodes` beside those that are made by their kinds, and its devices by name.
    ///
    /// # Errors
    /// A [`ConfigError`] whose path begins at the host's keys.
    pub(crate) fn graph(
        &self,
        nodes: Vec<(&str, Box<dyn Protocol>)>,
        seed: u64,
    ) -> Result<(Graph, BTreeMap<String, DeviceId>), ConfigError> {
        let mut given: BTreeMap<&str, Box<dyn Protocol>> = nodes.into_iter().collect();
        let mut graph = Graph::new(seed, 0);
        let task = graph.add_task("host");
        for (node, below) in &self.layers {
            let protocol = match given.remove(node.as_str()) {
                Some(protocol) => protocol,
                None => self.node(node, below)?,
            };
            graph.add_node(node, task, protocol).map_err(refused)?;
        }
        let mut devices = BTreeMap::new();
        for lower in self.layers.values().flatten() {
            if !self.layers.contains_key(lower) && !devices.contains_key(lower) {
                devices.insert(lower.clone(), graph.add_device(lower, Service::UNIT_DATA).map_err(refused)?);
            }
        }
        for (upper, below) in &self.layers {
            for lower in below {
                graph.connect(upper, lower).map_err(refused)?;
            }
        }
        let known: Vec<&String> = self.layers.keys().chain(devices.keys()).collect();
        match self.settings.keys().find(|key| !known.contains(key)) {
            Some(stray) => Err(ConfigError::unknown([stray], "node", stray, &known)),
            None => Ok((graph, devices)),
        }
    }

    /// The node of the kind `kind`.
    fn node(&self, kind: &str, below: &[String]) -> Result<Box<dyn Protocol>, ConfigError> {
        let known = self.kinds.settings(kind, &Settings::new());
        let empty = toml::Table::new();
        let given = self.settings.get(kind).unwrap_or(&empty);
        let names: Vec<&str> = below.iter().map(String::as_str).collect();
        let place = LowerLayers { below: &names, mtu: self.mtu(below) };
        settings::build(given, &known, |read| {
            let mut read = read.clone();
            // What became of connections is told when they have ended.
            if kind == "tcp" && !given.contains_key("record") {
                read.set("record", true);
            }
            self.kinds.build(kind, &read, place)
        })
        .map_err(|fault| fault.under(&[kind]))
    }

    /// The MTU of the IP (version 4) among `below`, in octets.
    fn mtu(&self, below: &[String]) -> Option<u32> {
        let ip = below.iter().find(|node| *node == "ip")?;
        let written = match self.settings.get(ip).and_then(|settings| settings.get("mtu")) {
            // Where it is wrong IP says so.
            Some(mtu) => mtu.as_str()?.to_owned(),
            None => {
                let known = self.kinds.settings(ip, &Settings::new());
                known.into_iter().find(|setting| setting.is_at(&["mtu"]))?.default
            }
        };
        quantity::<Octets>(&[], &written).ok()?.count().try_into().ok()
    }
}

#[expect(clippy::needless_pass_by_value, reason = "a function for map_err")]
fn refused(why: GraphError) -> ConfigError {
    ConfigError::at(["graph"], why.to_string())
}
