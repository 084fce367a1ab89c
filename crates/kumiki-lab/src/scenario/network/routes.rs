//! Routes.

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::super::Scenario;
use super::addresses::{Interface, network, own_table};

/// The hosts that have routes of their own.
pub(super) fn given(scenario: &Scenario) -> BTreeSet<String> {
    let has_routes = |settings: &BTreeMap<String, toml::Table>| settings.values().any(|own| own.contains_key("routes"));
    let hosts = scenario.host.iter().filter(|(_, host)| has_routes(&host.settings));
    hosts.map(|(name, _)| name.clone()).collect()
}

/// Gives each IP that has none the shortest routes to all networks.
pub(super) fn settle(scenario: &mut Scenario, interfaces: &[Interface]) {
    let map = NetworkMap::of(scenario, interfaces);
    if map.routers.is_empty() {
        return;
    }
    let nodes: BTreeSet<(&String, &String)> = interfaces.iter().map(|it| (&it.host, &it.ip)).collect();
    for (host, ip) in nodes {
        let is_given = scenario
            .host
            .get(host)
            .is_some_and(|host| host.settings.get(ip).is_some_and(|own| own.contains_key("routes")));
        if is_given {
            continue;
        }
        let hops = map.first_hops(host, ip);
        let host = scenario.host.get_mut(host).filter(|_| !hops.is_empty());
        if let Some(routes) = host.and_then(|host| own_table(host.settings.entry(ip.clone()).or_default(), "routes")) {
            for (network, router) in hops {
                routes.insert(network, toml::Value::String(router.to_string()));
            }
        }
    }
}

/// Which networks there are, and who forwards between them.
struct NetworkMap<'a> {
    interfaces: &'a [Interface],
    /// The interfaces of routers, by network.
    routers: BTreeMap<usize, Vec<&'a Interface>>,
    /// The interfaces of each IP.
    of_node: BTreeMap<(&'a str, &'a str), Vec<&'a Interface>>,
}

impl<'a> NetworkMap<'a> {
    fn of(scenario: &Scenario, interfaces: &'a [Interface]) -> Self {
        let forwards = |it: &Interface| {
            let own = scenario.host.get(&it.host).and_then(|host| host.settings.get(&it.ip));
            own.and_then(|own| own.get("forwarding")).and_then(toml::Value::as_bool) == Some(true)
        };
        let (mut routers, mut of_node): (BTreeMap<_, Vec<_>>, BTreeMap<_, Vec<_>>) = Default::default();
        for interface in interfaces {
            if forwards(interface) && interface.address.is_some() {
                routers.entry(interface.network).or_default().push(interface);
            }
            of_node.entry((interface.host.as_str(), interface.ip.as_str())).or_default().push(interface);
        }
        Self { interfaces, routers, of_node }
    }

    /// Which router leads from `ip` of `host` to each network, in as few lines as possible: the one that leads to most
    /// is the default.
    fn first_hops(&self, host: &str, ip: &str) -> BTreeMap<String, Ipv4Addr> {
        let own = self.of_node.get(&(host, ip)).map(Vec::as_slice).unwrap_or_default();
        let near: Vec<&Interface> =
            own.iter().filter_map(|it| self.routers.get(&it.network)).flatten().copied().collect();
        let near: Vec<&Interface> = near.into_iter().filter(|it| it.host != host).collect();
        if let [only] = near.as_slice() {
            return only.address.map(|address| ("default".to_owned(), address)).into_iter().collect();
        }
        let mut hops: BTreeMap<usize, Option<Ipv4Addr>> = own.iter().map(|it| (it.network, None)).collect();
        let mut next: VecDeque<usize> = own.iter().map(|it| it.network).collect();
        while let Some(here) = next.pop_front() {
            let by = hops.get(&here).copied().flatten();
            for router in self.routers.get(&here).into_iter().flatten().filter(|it| it.host != host) {
                let node = (router.host.as_str(), router.ip.as_str());
                for far in self.of_node.get(&node).into_iter().flatten() {
                    if let std::collections::btree_map::Entry::Vacant(entry) = hops.entry(far.network) {
                        entry.insert(by.or(router.address));
                        next.push_back(far.network);
                    }
                }
            }
        }
        self.shortest_table(&hops)
    }

    fn shortest_table(&self, hops: &BTreeMap<usize, Option<Ipv4Addr>>) -> BTreeMap<String, Ipv4Addr> {
        let mut counts: BTreeMap<Ipv4Addr, usize> = BTreeMap::new();
        for router in hops.values().flatten() {
            *counts.entry(*router).or_default() += 1;
        }
        let most = counts.iter().max_by_key(|(router, count)| (**count, core::cmp::Reverse(**router)));
        let Some((default, _)) = most else {
            return BTreeMap::new();
        };
        let mut table = BTreeMap::from([("default".to_owned(), *default)]);
        for interface in self.interfaces {
            if let (Some(Some(router)), Some(address)) = (hops.get(&interface.network), interface.address)
                && router != default
            {
                let prefix = interface.prefix;
                table.insert(format!("{}/{prefix}", Ipv4Addr::from_bits(network(address, prefix))), *router);
            }
        }
        table
    }
}
