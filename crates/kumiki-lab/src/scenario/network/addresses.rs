//! Addresses.

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};

use super::super::{Graph, Host, Scenario};
use super::natural;
use kumiki_config::error::ConfigError;

/// Layers whose frames have MAC addresses.
const FRAMED: [&str; 2] = ["eth", "fddi"];

/// Layers that IP leaves it to where a next hop is.
const RESOLVERS: [&str; 3] = ["arp", "atm_arp", "mapos"];

/// An interface of an `ip` that a line ends below.
pub(in crate::scenario) struct Interface {
    pub(super) host: String,
    /// The node of IP.
    pub(super) ip: String,
    /// The layers from right below it to right above the device.
    layers: Vec<String>,
    /// The layer right below it, the device where nothing is between.
    pub(super) below: String,
    /// `host.device`.
    pub(super) plug: String,
    /// The number of what is connected without a router.
    pub(super) network: usize,
    /// Its address, once it is known.
    pub(super) address: Option<Ipv4Addr>,
    /// How many bits of it name the network.
    pub(super) prefix: u8,
}

impl Interface {
    /// The settings of the interface in those of its host: of its own where IP has several, else those of IP.
    pub(super) fn settings<'a>(&self, host: &'a mut Host) -> Option<&'a mut toml::Table> {
        let graph = host.graph.as_ref();
        let is_one = graph.is_some_and(|graph| graph.below(&self.ip).len() == 1);
        let own = host.settings.entry(self.ip.clone()).or_default();
        if is_one && !own.contains_key("interface") {
            return Some(own);
        }
        own_table(own_table(own, "interface")?, &self.below)
    }

    /// The same as far as they are there.
    pub(super) fn own_settings<'a>(&self, host: &'a Host) -> Option<&'a toml::Table> {
        let own = host.settings.get(&self.ip)?;
        let of_interface = own.get("interface").and_then(|it| it.get(&self.below)?.as_table());
        Some(of_interface.unwrap_or(own))
    }

    /// The layer below it that knows where next hops are, if there is one.
    pub(super) fn resolver(&self, host: &Host) -> Option<&str> {
        self.layers.iter().map(String::as_str).find(|layer| RESOLVERS.contains(&host.kind_of(layer)))
    }

    /// The kind of the layer right below it.
    pub(super) fn neighbour_kind<'a>(&'a self, host: &'a Host) -> &'a str {
        host.kind_of(&self.below)
    }
}

/// The table at `key`, made where there is none; `None` where something else is there, which is judged when the node is
/// built.
pub(super) fn own_table<'a>(table: &'a mut toml::Table, key: &str) -> Option<&'a mut toml::Table> {
    let value = table.entry(key.to_owned()).or_insert_with(|| toml::Value::Table(toml::Table::new()));
    value.as_table_mut()
}

/// Finds all interfaces, and gives each an address that has none.
pub(super) fn settle(scenario: &mut Scenario) -> Result<Vec<Interface>, ConfigError> {
    let mut all = interfaces(scenario);
    let networks = Networks::of(scenario, &mut all);
    let mut given = Vec::new();
    for interface in &mut all {
        let Some(host) = scenario.host.get(&interface.host) else {
            continue;
        };
        if let Some(text) = written(host, interface) {
            // "negotiated" has none, and what is no address is judged elsewhere.
            let Some((address, prefix)) = text.split_once('/') else {
                continue;
            };
            if let (Ok(address), Ok(prefix)) = (address.parse(), prefix.parse::<u8>()) {
                (interface.address, interface.prefix) = (Some(address), prefix.min(32));
                given.push((interface.network, network(address, interface.prefix), interface.prefix));
            }
        }
    }
    networks.give(scenario, &mut all, &given)?;
    let given = scenario.host.values().flat_map(|host| host.settings.values());
    let given = given.filter_map(|table| Some(table.get("address")?.as_str()?.to_ascii_lowercase()));
    let taken: BTreeSet<String> = given.collect();
    // Locally administered (IEEE 802).
    let all_macs = (1_u32..).map(|number| {
        let [a, b, c, d] = number.to_be_bytes();
        format!("02:00:{a:02x}:{b:02x}:{c:02x}:{d:02x}")
    });
    let mut free = all_macs.filter(|mac| !taken.contains(mac));
    for interface in &all {
        if let Some(host) = scenario.host.get_mut(&interface.host) {
            lower_layers(host, interface, &mut free);
        }
    }
    alone(scenario, &all)?;
    Ok(all)
}

/// Something finds the addresses of neighbours wherever frames have some.
pub(super) fn resolved(scenario: &Scenario, all: &[Interface]) -> Result<(), ConfigError> {
    for interface in all {
        let Some(host) = scenario.host.get(&interface.host) else {
            continue;
        };
        let Some(framed) = interface.layers.iter().find(|layer| FRAMED.contains(&host.kind_of(layer))) else {
            continue;
        };
        let Interface { host: name, ip, below, .. } = interface;
        let Some(resolver) = interface.resolver(host) else {
            let on = if framed == below { String::new() } else { format!(" on {framed}") };
            let problem = format!("{ip} stands on {below}{on}, and nothing finds the MAC addresses of others");
            let fault = ConfigError::at(["host", name, "graph"], problem).of_topology();
            // ARP is a user of LLC there, as IP is.
            let snap = (framed == below && host.kind_of(framed) == "fddi").then_some("llc_snap");
            let device = interface.plug.rsplit('.').next();
            let right = [ip.as_str(), "arp"].into_iter().chain(snap);
            let right = right.chain(interface.layers.iter().map(String::as_str)).chain(device);
            let right: Vec<String> = right.map(|layer| format!("{layer:?}")).collect();
            return Err(fault.expected(format!("`arp` between them: {}", right.join(", "))));
        };
        let neighbours = interface.own_settings(host).and_then(|own| own.get("neighbours"));
        if let Some(said) = neighbours.filter(|said| said.as_str() != Some("below")) {
            let problem = format!("{resolver} finds the MAC addresses of others, and is not asked");
            let fault = ConfigError::at(["host", name, ip, "neighbours"], problem).found(said.to_string());
            return Err(fault.expected("\"below\", or nothing, which is the same here"));
        }
    }
    Ok(())
}

/// What IPv6 stands on that has MAC addresses is asked for them.
pub(super) fn discovered(scenario: &Scenario) -> Result<(), ConfigError> {
    for (name, host) in &scenario.host {
        let Some(graph) = &host.graph else {
            continue;
        };
        for ip in graph.nodes().into_iter().filter(|node| host.kind_of(node) == "ipv6") {
            let own = host.settings.get(ip);
            for below in graph.below(ip).into_iter().filter(|below| FRAMED.contains(&host.kind_of(below))) {
                let of_interface = own.and_then(|own| own.get("interface")?.get(below)?.get("neighbours"));
                let said = of_interface.or_else(|| own?.get("neighbours"));
                if said.is_some_and(|said| said.as_str() == Some("discover")) {
                    continue;
                }
                let problem = format!("{ip} stands on {below}, and does not ask for the MAC addresses of others");
                let path =
                    if said.is_some() { vec!["host", name, ip, "neighbours"] } else { vec!["host", name, "graph"] };
                let expected = format!("{ip}.neighbours = \"discover\" (RFC 4861)");
                return Err(ConfigError::at(path, problem).of_topology().expected(expected));
            }
        }
    }
    Ok(())
}

/// No two stations of one network have the same MAC address: each would take what is for the other.
fn alone(scenario: &Scenario, all: &[Interface]) -> Result<(), ConfigError> {
    let mut seen: BTreeMap<(usize, String), &str> = BTreeMap::new();
    for interface in all {
        let Some(host) = scenario.host.get(&interface.host) else {
            continue;
        };
        for layer in interface.layers.iter().filter(|layer| FRAMED.contains(&host.kind_of(layer))) {
            let address = host.settings.get(layer).and_then(|table| table.get("address")).and_then(toml::Value::as_str);
            let Some(address) = address.map(str::to_ascii_lowercase) else {
                continue;
            };
            if let Some(first) = seen.insert((interface.network, address.clone()), &interface.host) {
                let problem = format!("host {first} has the address {address} already, on the same network");
                let path = ["host", interface.host.as_str(), layer, "address"];
                let fault = ConfigError::at(path, problem).of_topology();
                return Err(fault.expected("an address of its own, or none, for one is given out"));
            }
        }
    }
    Ok(())
}

/// The address that is written for `interface`.
fn written<'a>(host: &'a Host, interface: &Interface) -> Option<&'a str> {
    let own = host.settings.get(&interface.ip)?;
    let of_interface = own.get("interface").and_then(|it| it.get(&interface.below)?.get("address"));
    of_interface.or_else(|| own.get("address")).and_then(toml::Value::as_str)
}

/// The network of an address.
pub(super) fn network(address: Ipv4Addr, prefix: u8) -> u32 {
    let mask = u32::MAX.checked_shl(32_u32.saturating_sub(prefix.into())).unwrap_or(0);
    address.to_bits() & mask
}

/// The interfaces of all hosts, in the order of their names.
fn interfaces(scenario: &Scenario) -> Vec<Interface> {
    let plugs: BTreeSet<&String> = scenario.link.values().flat_map(|link| &link.ends).collect();
    let plugs: BTreeSet<&String> =
        plugs.into_iter().chain(scenario.ring.values().flat_map(|ring| &ring.ends)).collect();
    let mut hosts: Vec<(&String, &Host)> = scenario.host.iter().collect();
    hosts.sort_by(|(one, _), (other, _)| natural(one).cmp(&natural(other)));
    let mut all = Vec::new();
    for (name, host) in hosts {
        let Some(graph) = &host.graph else {
            continue;
        };
        for ip in graph.nodes().into_iter().filter(|node| host.kind_of(node) == "ip") {
            for below in graph.below(ip) {
                let mut layers = Vec::new();
                let is_plugged = |device: &str| plugs.contains(&format!("{name}.{device}"));
                let Some(device) = way_down(host, graph, below, &is_plugged, &mut layers) else {
                    continue;
                };
                all.push(Interface {
                    host: name.clone(),
                    ip: ip.to_owned(),
                    layers: layers.iter().map(|layer| (*layer).to_owned()).collect(),
                    below: below.to_owned(),
                    plug: format!("{name}.{device}"),
                    network: 0,
                    address: None,
                    prefix: 0,
                });
            }
        }
    }
    all
}

/// The first device below `node` on which a line ends, and the layers down to it. What goes through another IP ends on
/// no line of its own.
fn way_down<'a>(
    host: &Host,
    graph: &'a Graph,
    node: &'a str,
    is_plugged: &impl Fn(&str) -> bool,
    layers: &mut Vec<&'a str>,
) -> Option<&'a str> {
    let below = graph.below(node);
    if below.is_empty() && is_plugged(node) {
        return Some(node);
    }
    // A circle is refused elsewhere; here it must only end.
    if layers.contains(&node) || ["ip", "ipv6", "sim_ether"].contains(&host.kind_of(node)) {
        return None;
    }
    layers.push(node);
    for lower in below {
        if let Some(device) = way_down(host, graph, lower, is_plugged, layers) {
            return Some(device);
        }
    }
    layers.pop();
    None
}

/// What is connected without a router.
struct Networks {
    /// How many interfaces each has.
    sizes: BTreeMap<usize, usize>,
}

impl Networks {
    /// Finds them, and says of each interface to which it belongs.
    fn of(scenario: &Scenario, interfaces: &mut [Interface]) -> Self {
        let mut groups = Groups::default();
        for link in scenario.link.values() {
            let [a, b] = &link.ends;
            groups.join(&plug_of(scenario, a), &plug_of(scenario, b));
        }
        for ring in scenario.ring.values() {
            for end in ring.ends.iter().skip(1) {
                groups.join(ring.ends.first().map_or("", String::as_str), end);
            }
        }
        let (mut numbers, mut sizes) = (BTreeMap::new(), BTreeMap::new());
        for interface in interfaces {
            let next = numbers.len();
            interface.network = *numbers.entry(groups.root(&interface.plug)).or_insert(next);
            *sizes.entry(interface.network).or_insert(0) += 1;
        }
        Self { sizes }
    }

    /// Gives addresses, where networks `given` are left as they are.
    fn give(
        &self,
        scenario: &mut Scenario,
        interfaces: &mut [Interface],
        given: &[(usize, u32, u8)],
    ) -> Result<(), ConfigError> {
        let mut next = Ipv4Addr::new(10, 0, 0, 0).to_bits();
        let mut prefixes: BTreeMap<usize, (u32, u8)> = BTreeMap::new();
        let mut taken: BTreeSet<Ipv4Addr> = interfaces.iter().filter_map(|it| it.address).collect();
        for interface in interfaces {
            let Some(host) = scenario.host.get_mut(&interface.host) else {
                continue;
            };
            if written(host, interface).is_some() {
                continue;
            }
            let fault = |problem: String| ConfigError::at(["host", &interface.host, &interface.ip, "address"], problem);
            let known = prefixes.get(&interface.network).copied();
            let (base, prefix) = match known {
                Some(known) => known,
                None => {
                    let size = self.sizes.get(&interface.network).copied().unwrap_or(1);
                    let found = of_neighbours(interface.network, given)
                        .map_err(|()| {
                            fault("its neighbours have addresses of several networks".to_owned()).expected("an address")
                        })?
                        .or_else(|| free(&mut next, size, given));
                    found.ok_or_else(|| fault("no address is left in 10.0.0.0/8".to_owned()).expected("an address"))?
                }
            };
            prefixes.insert(interface.network, (base, prefix));
            let hosts =
                1_u32.checked_shl(32_u32.saturating_sub(prefix.into())).map_or(u32::MAX, |all| all.saturating_sub(1));
            // A network of one or two addresses has no room for one of its own and a broadcast (RFC 3021).
            let mut numbers = if prefix >= 31 { 0..=hosts } else { 1..=hosts.saturating_sub(1) };
            let free = numbers.find(|number| !taken.contains(&Ipv4Addr::from_bits(base | number)));
            let number = free.ok_or_else(|| {
                fault(format!("no address is left in {}/{prefix}", Ipv4Addr::from_bits(base)))
                    .expected("a larger network")
            })?;
            let address = Ipv4Addr::from_bits(base | number);
            taken.insert(address);
            (interface.address, interface.prefix) = (Some(address), prefix);
            let text = format!("{address}/{prefix}");
            if let Some(own) = interface.settings(host) {
                own.insert("address".to_owned(), toml::Value::String(text));
            }
        }
        Ok(())
    }
}

/// The network that neighbours have, if any has one; an error where they have several.
fn of_neighbours(number: usize, given: &[(usize, u32, u8)]) -> Result<Option<(u32, u8)>, ()> {
    let mut of_network =
        given.iter().filter(|(network, ..)| *network == number).map(|(_, base, prefix)| (*base, *prefix));
    let first = of_network.next();
    if of_network.any(|other| Some(other) != first) { Err(()) } else { Ok(first) }
}

/// The next free network from `next` on with room for `size` interfaces: 256 addresses, or more.
fn free(next: &mut u32, size: usize, given: &[(usize, u32, u8)]) -> Option<(u32, u8)> {
    let wanted = u32::try_from(size).ok()?.checked_add(2)?.max(256).checked_next_power_of_two()?;
    let prefix = u8::try_from(wanted.leading_zeros()).ok()?.checked_add(1)?;
    loop {
        let base = next.checked_next_multiple_of(wanted)?;
        let end = base.checked_add(wanted)?;
        if end > Ipv4Addr::new(11, 0, 0, 0).to_bits() {
            return None;
        }
        *next = end;
        let overlaps = |(_, other, length): &(usize, u32, u8)| {
            let shorter = prefix.min(*length);
            network(Ipv4Addr::from_bits(*other), shorter) == network(Ipv4Addr::from_bits(base), shorter)
        };
        if !given.iter().any(overlaps) {
            return Some((base, prefix));
        }
    }
}

/// All ports of a switch are one.
fn plug_of(scenario: &Scenario, end: &str) -> String {
    let place = crate::topology::place(end);
    if scenario.switch.contains_key(place) { place.to_owned() } else { end.to_owned() }
}

/// Names that belong together.
#[derive(Default)]
struct Groups(BTreeMap<String, String>);

impl Groups {
    fn root(&self, name: &str) -> String {
        let mut at = name;
        while let Some(above) = self.0.get(at) {
            at = above;
        }
        at.to_owned()
    }

    fn join(&mut self, one: &str, other: &str) {
        let (one, other) = (self.root(one), self.root(other));
        if one != other {
            self.0.insert(one, other);
        }
    }
}

/// What layers below `interface` want to know of addresses; `free` has those of Ethernet that nobody has.
fn lower_layers(host: &mut Host, interface: &Interface, free: &mut impl Iterator<Item = String>) {
    let resolver = interface.resolver(host).map(str::to_owned);
    if let Some((address, resolver)) = interface.address.zip(resolver) {
        let own = host.settings.entry(resolver).or_default();
        let addresses = toml::Value::Array(vec![toml::Value::String(address.to_string())]);
        own.entry("addresses".to_owned()).or_insert(addresses);
        if let Some(own) = interface.settings(host) {
            own.entry("neighbours".to_owned()).or_insert_with(|| "below".into());
        }
    }
    for layer in &interface.layers {
        if FRAMED.contains(&host.kind_of(layer)) {
            let own = host.settings.entry(layer.clone()).or_default();
            if !own.contains_key("address")
                && let Some(mac) = free.next()
            {
                own.insert("address".to_owned(), mac.into());
            }
        }
    }
}
