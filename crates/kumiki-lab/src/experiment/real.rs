//! What stands in a world for a host that is real: its layers from IP down, and a way out of the world above them.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::Duration;

use super::fault::{ConfigError, fault, quantity};
use super::hosts::layers;
use crate::scenario::{self, Graph, Real};
use kumiki_config::quantity::Octets;

/// The node and the device by which the host itself is reached.
const KERNEL: &str = "kernel";
pub(super) const DEVICE: &str = "kernel_device";

/// The largest datagram of an interface of IP that says nothing else.
const MTU: u16 = 1500;

/// A host that is real.
#[derive(Clone, PartialEq, Debug)]
pub struct RealHost {
    /// Its name.
    pub name: String,
    /// Who it is.
    pub real: Real,
    /// Its addresses, each with the length of its prefix, in the order of its interfaces.
    pub addresses: Vec<(IpAddr, u8)>,
    /// The largest datagram that one of its interfaces carries.
    pub mtu: u16,
    /// The networks beyond its own, each with the length of its prefix and the router by which the host reaches it.
    pub behind: Vec<(IpAddr, u8, IpAddr)>,
    /// When it loses its power, and gets it back where it says true.
    pub power: Vec<(Duration, bool)>,
}

/// The host that stands for `spec`, whose name is `name`, and what is known of the real one.
///
/// # Errors
/// A [`ConfigError`] whose path begins at the host's keys.
pub(super) fn stand_in(
    name: &str,
    spec: &scenario::Host,
    real: &Real,
) -> Result<(scenario::Host, RealHost), ConfigError> {
    let below: BTreeMap<String, Vec<String>> =
        spec.graph.as_ref().map(layers).unwrap_or_default().into_iter().collect();
    let is_ip = |node: &&String| ["ip", "ipv6"].contains(&spec.kind_of(node));
    let tops: Vec<&String> = below.keys().filter(is_ip).collect();
    let of_kind = |kind: &str| tops.iter().filter(|node| spec.kind_of(node) == kind).count();
    if tops.is_empty() {
        return Err(fault(&["graph"], "a real host speaks IP").expected("an `ip` or `ipv6` in it"));
    }
    if of_kind("ip") > 1 || of_kind("ipv6") > 1 {
        return Err(
            fault(&["graph"], "a real host has one IP of each version").expected("one `ip`, one `ipv6`, or both")
        );
    }
    if let Some(taken) = [KERNEL, DEVICE].into_iter().find(|name| below.contains_key(*name)) {
        return Err(fault(&["graph"], format!("`{taken}` is what leads to a real host")).expected("another name"));
    }
    let above = above(&below, &tops);
    let mut graph = below.clone();
    graph.retain(|node, _| !above.contains(node));
    let mut host = scenario::Host { real: None, ..spec.clone() };
    host.settings.retain(|node, _| !above.contains(node));
    host.kind.insert(KERNEL.to_owned(), "raw_ip".to_owned());
    let (mut addresses, mut mtu) = (Vec::new(), None);
    for top in tops {
        let own = host.settings.entry(top.clone()).or_default();
        for (path, interface) in interfaces(own) {
            let under = |fault: ConfigError| fault.under(&path).under(&[top]);
            addresses.extend(addresses_of(interface).map_err(under)?);
            mtu = mtu.max(Some(mtu_of(interface).map_err(under)?));
        }
        own.insert("host".to_owned(), KERNEL.into());
        if real.gateway {
            own.insert("any_destination".to_owned(), true.into());
        }
        if let Some(lower) = graph.get_mut(top) {
            lower.push(KERNEL.to_owned());
        }
    }
    graph.insert(KERNEL.to_owned(), vec![DEVICE.to_owned()]);
    host.graph = Some(Graph::Below(graph));
    Ok((host, RealHost::new(name, real, addresses, mtu)))
}

/// What is known of the host called `name`, which is real from the frames of Ethernet up, and its device.
///
/// # Errors
/// A [`ConfigError`] whose path begins at the host's keys.
pub(super) fn on_ethernet<'a>(
    name: &str,
    spec: &'a scenario::Host,
    real: &Real,
) -> Result<(&'a str, RealHost), ConfigError> {
    let devices = spec.graph.as_ref().map(Graph::devices).unwrap_or_default();
    let [device] = devices.as_slice() else {
        let problem = format!("{} devices, and one is this machine's or a socket", devices.len());
        return Err(fault(&["graph"], problem).expected("one, as in [\"ip\", \"arp\", \"eth\", \"nic\"]"));
    };
    let stands = |graph: &Graph| {
        graph.nodes().into_iter().any(|node| spec.kind_of(node) == "eth" && graph.below(node).contains(device))
    };
    if !spec.graph.as_ref().is_some_and(stands) {
        let problem = format!("on {device} stands no layer `eth`, and frames of Ethernet cross there");
        return Err(fault(&["graph"], problem).expected(format!("such as [\"ip\", \"arp\", \"eth\", {device:?}]")));
    }
    let (mut addresses, mut mtu) = (Vec::new(), None);
    for (node, own) in &spec.settings {
        if !["ip", "ipv6"].contains(&spec.kind_of(node)) {
            continue;
        }
        for (path, interface) in interfaces(own) {
            let under = |fault: ConfigError| fault.under(&path).under(&[node]);
            addresses.extend(addresses_of(interface).map_err(under)?);
            mtu = mtu.max(Some(mtu_of(interface).map_err(under)?));
        }
    }
    Ok((device, RealHost::new(name, real, addresses, mtu)))
}

impl RealHost {
    fn new(name: &str, real: &Real, addresses: Vec<(IpAddr, u8)>, mtu: Option<u16>) -> Self {
        let (name, real) = (name.to_owned(), real.clone());
        Self { name, real, addresses, mtu: mtu.unwrap_or(MTU), behind: Vec::new(), power: Vec::new() }
    }
}

/// The network of `address`, of which the prefix has this length.
fn network(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(it) => {
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(prefix.into())).unwrap_or(0);
            core::net::Ipv4Addr::from_bits(it.to_bits() & mask).into()
        }
        IpAddr::V6(it) => {
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(prefix.into())).unwrap_or(0);
            core::net::Ipv6Addr::from_bits(it.to_bits() & mask).into()
        }
    }
}

/// The addresses of a host that it knows from the beginning.
pub(super) fn all_addresses(spec: &scenario::Host) -> impl Iterator<Item = (IpAddr, u8)> {
    let nodes = spec.settings.iter().filter(|(node, _)| ["ip", "ipv6"].contains(&spec.kind_of(node)));
    nodes.flat_map(|(_, own)| interfaces(own)).filter_map(|(_, interface)| addresses_of(interface).ok()).flatten()
}

/// The networks of `specs` to which the routes of `host` lead, but for its own, and by which router.
pub(super) fn behind(specs: &BTreeMap<String, scenario::Host>, host: &scenario::Host) -> Vec<(IpAddr, u8, IpAddr)> {
    let networks = |spec| all_addresses(spec).map(|(address, prefix)| (network(address, prefix), prefix));
    let own: BTreeSet<(IpAddr, u8)> = networks(host).collect();
    let all: BTreeSet<(IpAddr, u8)> = specs.values().flat_map(networks).filter(|it| !own.contains(it)).collect();
    let routes = host.settings.values().filter_map(|own| own.get("routes")?.as_table());
    let routes: Vec<(&String, IpAddr)> =
        routes.flatten().filter_map(|(to, router)| Some((to, router.as_str()?.parse().ok()?))).collect();
    let by = |to: &str, version: IpAddr| {
        routes.iter().find(|(key, router)| *key == to && router.is_ipv4() == version.is_ipv4()).map(|it| it.1)
    };
    let found = all.into_iter().filter_map(|(network, prefix)| {
        let router = by(&format!("{network}/{prefix}"), network).or_else(|| by("default", network))?;
        Some((network, prefix, router))
    });
    found.collect()
}

/// `spec` with what answers echoes at each IP that has nothing for it: who tries a network begins with a ping.
pub(super) fn answering(spec: &scenario::Host) -> scenario::Host {
    let below: BTreeMap<String, Vec<String>> =
        spec.graph.as_ref().map(layers).unwrap_or_default().into_iter().collect();
    let mut host = spec.clone();
    let mut graph = below.clone();
    for ip in below.keys().filter(|node| ["ip", "ipv6"].contains(&spec.kind_of(node))) {
        let answers = |(node, lower): (&String, &Vec<String>)| spec.kind_of(node) == "icmp" && lower.contains(ip);
        let name = format!("{ip}_echo");
        if below.iter().any(answers) || below.contains_key(&name) {
            continue;
        }
        host.kind.insert(name.clone(), "icmp".to_owned());
        graph.insert(name, vec![ip.clone()]);
        host.graph = Some(Graph::Below(graph.clone()));
    }
    host
}

/// What stands on one of `tops`, straight or by way of others.
fn above(below: &BTreeMap<String, Vec<String>>, tops: &[&String]) -> BTreeSet<String> {
    let mut above: BTreeSet<String> = BTreeSet::new();
    loop {
        let stands = |lower: &String| tops.contains(&lower) || above.contains(lower);
        let more = below.iter().filter(|(node, lower)| !above.contains(*node) && lower.iter().any(stands));
        let more: Vec<String> = more.map(|(node, _)| node.clone()).collect();
        if more.is_empty() {
            return above;
        }
        above.extend(more);
    }
}

/// The tables of the interfaces of an IP: those under `interface`, and its own where that says an address.
pub(super) fn interfaces(own: &toml::Table) -> Vec<(Vec<&str>, &toml::Table)> {
    let tables = own.get("interface").and_then(toml::Value::as_table).into_iter().flatten();
    let tables = tables.filter_map(|(name, table)| Some((vec!["interface", name.as_str()], table.as_table()?)));
    let mut all: Vec<_> = tables.collect();
    if all.is_empty() || own.contains_key("address") || own.contains_key("addresses") {
        all.insert(0, (Vec::new(), own));
    }
    all
}

pub(super) fn addresses_of(interface: &toml::Table) -> Result<Vec<(IpAddr, u8)>, ConfigError> {
    let key = if interface.contains_key("addresses") { "addresses" } else { "address" };
    let texts: Vec<&str> = match interface.get(key) {
        Some(toml::Value::Array(all)) => all.iter().filter_map(toml::Value::as_str).collect(),
        other => other.and_then(toml::Value::as_str).into_iter().collect(),
    };
    let parsed = texts.iter().map(|text| {
        let (address, prefix) = text.split_once('/')?;
        Some((address.parse().ok()?, prefix.parse().ok()?))
    });
    parsed.collect::<Option<Vec<_>>>().filter(|all| !all.is_empty()).ok_or_else(|| {
        fault(&[key], "a real host knows its addresses from the beginning")
            .expected("an address such as \"10.0.0.1/24\"")
    })
}

fn mtu_of(interface: &toml::Table) -> Result<u16, ConfigError> {
    let Some(text) = interface.get("mtu").and_then(toml::Value::as_str) else {
        return Ok(MTU);
    };
    let octets = quantity::<Octets>(&["mtu"], text)?.count();
    u16::try_from(octets).map_err(|_| fault(&["mtu"], "longer than a datagram can be").expected("at most 65535 B"))
}
