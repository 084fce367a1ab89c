//! Which way routes lead from the host of a load to its reader and back, and whether those that are given do.
//!
//! Only what is certain is said: of hosts with one IP and known addresses, where a router on the way has no route,
//! nobody is the router of one, or routes lead in a circle; and where a host itself has none, if all that its program
//! sends goes through that IP.

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};

use super::super::{Host, Scenario};
use super::addresses::{Interface, network};
use crate::topology::{Routed, Topology, place};
use kumiki_config::error::ConfigError;

/// How far a datagram comes.
enum ReachedEnd<'a> {
    /// To its destination, over these: where each is sent, and where it comes in.
    There(Vec<[&'a Interface; 2]>),
    /// Nobody knows.
    Unknown,
    /// Nowhere: the host itself has no route.
    None(&'a Interface),
    /// To a router that knows of no further one.
    Ends(&'a Interface),
    /// Through these, and to the first of them again.
    Circle(Vec<&'a Interface>),
    /// To the network on which its next router should be, and nobody is it.
    Dead(DeadRoute<'a>),
}

/// A route by way of a router that nobody is, where its MAC address must be found.
struct DeadRoute<'a> {
    /// Who has the route.
    on: &'a Interface,
    router: Ipv4Addr,
    /// Where the route leads.
    network: (u32, u8),
}

impl ReachedEnd<'_> {
    /// Whether a host that is among `given` has a part in that it leads nowhere.
    fn is_of(&self, given: &BTreeSet<String>) -> bool {
        match self {
            Self::There(_) | Self::Unknown => false,
            // Whether a line leads there at all is not known here: see [`own`].
            Self::None(_) => false,
            Self::Ends(router) => given.contains(&router.host),
            Self::Circle(all) => all.iter().any(|it| given.contains(&it.host)),
            Self::Dead(DeadRoute { on, .. }) => given.contains(&on.host),
        }
    }
}

/// The interfaces.
struct RoutedInterfaces<'a> {
    of_host: BTreeMap<&'a str, Vec<&'a Interface>>,
    /// By what is connected without a router, and the address there.
    of_address: BTreeMap<(usize, Ipv4Addr), &'a Interface>,
    by_plug: BTreeMap<&'a str, &'a Interface>,
    /// Those of each host with one IP, nothing where one of them cannot be read.
    routes: BTreeMap<&'a str, Option<Vec<Route<'a>>>>,
}

/// Network, prefix, and who is next.
type Route<'a> = (u32, u8, NextHop<'a>);

/// To whom a route leads.
#[derive(Clone, Copy)]
enum NextHop<'a> {
    Router(Ipv4Addr),
    /// Whoever has the destination, or is alone, behind the layer of this name.
    Layer(&'a str),
}

impl<'a> RoutedInterfaces<'a> {
    fn of(scenario: &'a Scenario, interfaces: &'a [Interface]) -> Self {
        let (mut of_host, mut of_address): (BTreeMap<_, Vec<_>>, BTreeMap<_, _>) = Default::default();
        for interface in interfaces {
            of_host.entry(interface.host.as_str()).or_default().push(interface);
            if let Some(address) = interface.address {
                of_address.insert((interface.network, address), interface);
            }
        }
        let by_plug = interfaces.iter().map(|it| (it.plug.as_str(), it)).collect();
        let plain = of_host.iter().filter(|(_, own)| is_plain(own));
        let routes = plain.filter_map(|(host, own)| Some((*host, routes(scenario, own.first()?)))).collect();
        Self { of_host, of_address, by_plug, routes }
    }

    /// Who takes what `on` sends straight to `address`: who has it there, or else the only other one.
    fn beyond(&self, on: &Interface, address: Ipv4Addr) -> Option<&'a Interface> {
        let named = self.of_address.get(&(on.network, address)).copied().filter(|it| it.host != on.host);
        named.or_else(|| {
            let beside = (on.network, Ipv4Addr::UNSPECIFIED)..=(on.network, Ipv4Addr::BROADCAST);
            let mut others = self.of_address.range(beside).map(|(_, it)| *it).filter(|it| it.host != on.host);
            others.next().filter(|_| others.next().is_none())
        })
    }
}

/// What goes from a host to an address of another.
struct Delivery<'a> {
    from: &'a str,
    to: &'a str,
    address: Ipv4Addr,
    way: ReachedEnd<'a>,
}

impl<'a> Delivery<'a> {
    /// What a load's node `from` sends to `to`, and what that answers. A host with several addresses is called by that
    /// of the shortest way, where the load says no other, and has its answers at that of the line by which it calls.
    fn there_and_back(
        scenario: &Scenario,
        (map, topology): (&RoutedInterfaces<'a>, &Topology<'_>),
        (from, to): (&'a str, &'a str),
    ) -> [Option<Self>; 2] {
        let called = |from, to| map.by_plug.get(topology.called_at(from, to)?)?.address;
        let trip = |from, to, address: Option<Ipv4Addr>| {
            let address = address?;
            let (from, to) = (place(from), place(to));
            Some(Self { from, to, address, way: follow(scenario, map, (from, to), address) })
        };
        let there = trip(from, to, called(from, to));
        let own = match there.as_ref().map(|it| &it.way) {
            Some(ReachedEnd::There(legs)) => legs.first().and_then(|[out, _]| out.address),
            _ => called(to, from),
        };
        [there, trip(to, from, own)]
    }
}

/// Follows the routes of each load there and back; of hosts that are `given` routes, for those that are found lead as
/// far as addresses let them.
pub(super) fn check(
    scenario: &Scenario,
    interfaces: &[Interface],
    given: &BTreeSet<String>,
) -> Result<(), ConfigError> {
    let (map, topology) = (RoutedInterfaces::of(scenario, interfaces), Topology::of(scenario));
    for (from, to) in scenario.pairs() {
        let trips = Delivery::there_and_back(scenario, (&map, &topology), (from, to));
        if let Some(trip) = trips.into_iter().flatten().find(|trip| trip.way.is_of(given)) {
            return Err(trip.said(&map));
        }
    }
    Ok(())
}

/// Whether each host that has to send something to another, and through IP alone, has a route there.
pub(super) fn own(scenario: &Scenario, interfaces: &[Interface]) -> Result<(), ConfigError> {
    let (map, topology) = (RoutedInterfaces::of(scenario, interfaces), Topology::of(scenario));
    for load in scenario.load.values() {
        // Nothing answers datagrams.
        let is_answered = !["udp", "rtp"].contains(&load.kind.as_str());
        for (from, to) in load.pairs() {
            let trips = Delivery::there_and_back(scenario, (&map, &topology), (from, to));
            let needed = [(from, true), (to, is_answered)].into_iter().zip(trips).filter(|((_, needed), _)| *needed);
            for ((program, _), trip) in needed {
                let astray =
                    trip.filter(|trip| matches!(trip.way, ReachedEnd::None(_)) && is_through_ip(scenario, program));
                if let Some(trip) = astray {
                    return Err(trip.said(&map));
                }
            }
        }
    }
    Ok(())
}

impl Delivery<'_> {
    fn said(self, map: &RoutedInterfaces<'_>) -> ConfigError {
        let Self { from, to, address, way } = self;
        let (at, problem) = match &way {
            ReachedEnd::Ends(router) => {
                (Some(*router), format!("{}, on the way from {from} to {to}, has no route to {address}", router.host))
            }
            ReachedEnd::Circle(all) => {
                let names: Vec<&str> = all.iter().chain(all.first()).map(|it| it.host.as_str()).collect();
                (
                    all.first().copied(),
                    format!("what {from} sends to {to} ({address}) goes in a circle: {}", names.join(", ")),
                )
            }
            ReachedEnd::None(own) => {
                let fault =
                    ConfigError::at(["host", &own.host, &own.ip], format!("{from} has no route to {address} of {to}"));
                return fault.of_topology().expected(format!(
                "addresses of one network, such as {address}/{prefix} and another of that, or a router between and a route to it",
                prefix = own.prefix
            ));
            }
            ReachedEnd::Dead(dead) => return dead.said(map),
            ReachedEnd::There(_) | ReachedEnd::Unknown => (None, String::new()),
        };
        let path: Vec<&str> = at.map(|it| vec!["host", &it.host, &it.ip, "routes"]).unwrap_or_default();
        let network = at.map_or_else(|| address.to_string(), |_| format!("{address}/32"));
        ConfigError::at(path, problem).of_topology().expected(format!(
            "a route such as \"{network}\" to a router that leads to {to}, or no `routes` at all: then they are found"
        ))
    }
}

impl DeadRoute<'_> {
    /// Whether it is asked for by ARP, and nobody can be it: all hosts are emulated, addresses beside it are known, and
    /// nothing that is set has this one.
    fn is_certain(&self, scenario: &Scenario, map: &RoutedInterfaces<'_>) -> bool {
        let of_network = |it: &&&Interface| it.network == self.on.network;
        let is_asked_for = scenario.host.get(&self.on.host).is_some_and(|host| self.on.resolver(host) == Some("arp"));
        let is_known = map.of_host.values().flatten().filter(of_network).all(|it| it.address.is_some());
        let router = self.router.to_string();
        let is_it = |host: &Host| {
            let own = host.settings.values().flatten().filter(|(key, _)| *key != "routes");
            host.real.is_some() || host.graph.is_none() || own.into_iter().any(|(_, value)| mentions(value, &router))
        };
        is_asked_for && is_known && !scenario.host.values().any(is_it)
    }

    fn said(&self, map: &RoutedInterfaces<'_>) -> ConfigError {
        let Self { on, router, network: (base, prefix) } = self;
        let route = match prefix {
            0 => "default route".to_owned(),
            _ => format!("route to {}/{prefix}", Ipv4Addr::from_bits(*base)),
        };
        let problem = format!("no host answers for {router}, the router of {}'s {route}", on.host);
        let beside = map.of_address.iter().filter(|((network, _), it)| *network == on.network && it.host != on.host);
        let beside: Vec<String> =
            beside.map(|((_, address), it)| format!("{address} of {}", it.host)).take(3).collect();
        let such = if beside.is_empty() { String::new() } else { format!(", such as {}", beside.join(", ")) };
        ConfigError::at(["host", &on.host, &on.ip, "routes"], problem).of_topology().expected(format!(
            "the address of a router on the same network{such}, or no `routes` at all: then they are found"
        ))
    }
}

/// Whether `address` stands somewhere in `value`, alone or with its prefix.
fn mentions(value: &toml::Value, address: &str) -> bool {
    match value {
        toml::Value::String(text) => text.split(|c: char| !c.is_ascii_digit() && c != '.').any(|part| part == address),
        toml::Value::Array(all) => all.iter().any(|it| mentions(it, address)),
        toml::Value::Table(all) => all.values().any(|it| mentions(it, address)),
        toml::Value::Integer(_) | toml::Value::Float(_) | toml::Value::Boolean(_) | toml::Value::Datetime(_) => false,
    }
}

/// Where what `from` sends to `address` of `to` comes.
fn follow<'a>(
    scenario: &Scenario,
    map: &RoutedInterfaces<'a>,
    (from, to): (&str, &str),
    address: Ipv4Addr,
) -> ReachedEnd<'a> {
    let mut seen: Vec<&Interface> = Vec::new();
    let mut legs = Vec::new();
    let mut host = from;
    while host != to {
        let own = map.of_host.get(host).map(Vec::as_slice).unwrap_or_default();
        let (Some(first), Some(Some(routes))) = (own.first(), map.routes.get(host)) else {
            return ReachedEnd::Unknown;
        };
        if let Some(at) = seen.iter().position(|it| it.host == first.host) {
            return ReachedEnd::Circle(seen.split_off(at));
        }
        seen.push(first);
        let near = own.iter().filter(|it| is_in(address, it)).map(|it| (it.prefix, None));
        let far = routes.iter().filter(|(base, prefix, _)| network(address, *prefix) == *base);
        let far = far.map(|(base, prefix, by)| (*prefix, Some((*base, *by))));
        let (by, route) = match near.chain(far).max_by_key(|(prefix, by)| (*prefix, by.is_none())) {
            Some((prefix, Some((base, by)))) => (by, Some((base, prefix))),
            Some((_, None)) => (NextHop::Router(address), None),
            None if host != from => return ReachedEnd::Ends(first),
            None if has_peers(scenario, first) || !own.iter().all(|it| is_right(scenario, it)) => {
                return ReachedEnd::Unknown;
            }
            None => return ReachedEnd::None(first),
        };
        let (on, next) = match by {
            NextHop::Router(router) => {
                let on = own.iter().filter(|it| is_in(router, it)).max_by_key(|it| it.prefix).copied();
                let next = on.and_then(|on| map.of_address.get(&(on.network, router)).copied());
                let dead = || Some(DeadRoute { on: on?, router, network: route? });
                if next.is_none() {
                    let dead = dead().filter(|dead| dead.is_certain(scenario, map));
                    return dead.map_or(ReachedEnd::Unknown, ReachedEnd::Dead);
                }
                (on, next)
            }
            NextHop::Layer(layer) => {
                let on = own.iter().find(|it| it.below == layer).copied();
                (on, on.and_then(|on| map.beyond(on, address)))
            }
        };
        let (Some(on), Some(next)) = (on, next) else {
            return ReachedEnd::Unknown;
        };
        legs.push([on, next]);
        host = &next.host;
    }
    ReachedEnd::There(legs)
}

/// The ways that routes lead to readers and back.
pub(super) fn ways(scenario: &Scenario, interfaces: &[Interface]) -> Routed {
    let (map, topology) = (RoutedInterfaces::of(scenario, interfaces), Topology::of(scenario));
    let called = scenario.routed.called.clone();
    let named = |legs: &[[&Interface; 2]]| legs.iter().map(|leg| leg.map(|it| it.plug.clone())).collect::<Vec<_>>();
    let mut routed = Routed { called, ..Routed::default() };
    for load in scenario.load.values() {
        // Of several readers the first says which address is a writer's own.
        let mut own: BTreeMap<&str, Ipv4Addr> = BTreeMap::new();
        for (from, to) in load.pairs().filter(|(from, _)| is_through_ip(scenario, from)) {
            let [there, _] = Delivery::there_and_back(scenario, (&map, &topology), (from, to));
            let Some(Delivery { way: ReachedEnd::There(there), .. }) = there else {
                continue;
            };
            let first = there.first().and_then(|[out, _]| out.address);
            let own = own.get(from).copied().or(first).map(|address| *own.entry(from).or_insert(address));
            let back = own.map(|own| follow(scenario, &map, (place(to), place(from)), own));
            if let Some(ReachedEnd::There(back)) = back {
                routed.back.insert((to.to_owned(), from.to_owned()), named(&back));
            }
            routed.there.insert((from.to_owned(), to.to_owned()), named(&there));
        }
    }
    routed
}

/// Whether all that the program at `end` sends goes through the IP of its host, which is emulated.
fn is_through_ip(scenario: &Scenario, end: &str) -> bool {
    let host = scenario.host.get(place(end)).filter(|host| host.real.is_none());
    let Some((host, graph)) = host.and_then(|host| Some((host, host.graph.as_ref()?))) else {
        return false;
    };
    let mut nodes: Vec<&str> = end.split_once('.').map_or_else(|| graph.nodes(), |(_, node)| vec![node]);
    let mut seen: BTreeSet<&str> = nodes.iter().copied().collect();
    let is_above_all = nodes.len() == 1;
    while let Some(node) = nodes.pop() {
        let below = graph.below(node);
        if host.kind_of(node) == "ip" {
            continue;
        }
        if below.is_empty() {
            return false;
        }
        nodes.extend(below.into_iter().filter(|it| seen.insert(it)));
    }
    is_above_all
}

/// Whether an IP is told of a host beside it that need not be of its network.
fn has_peers(scenario: &Scenario, interface: &Interface) -> bool {
    let own = scenario.host.get(&interface.host).and_then(|host| host.settings.get(&interface.ip));
    let Some(own) = own else {
        return false;
    };
    let interfaces = own.get("interface").and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::values);
    let tables = interfaces.filter_map(toml::Value::as_table).chain([own]);
    tables.into_iter().any(|table| table.contains_key("peer"))
}

/// Whether the length of the prefix of an address can be right; one that cannot is told of by who builds the host.
fn is_right(scenario: &Scenario, interface: &Interface) -> bool {
    let own = scenario.host.get(&interface.host).and_then(|host| interface.own_settings(host));
    let prefix = own.and_then(|own| own.get("address")?.as_str()?.split_once('/')).map(|(_, prefix)| prefix);
    prefix.and_then(|prefix| prefix.parse::<u8>().ok()).is_some_and(|prefix| prefix <= 32)
}

/// Whether a host has one IP, and all of its addresses are known.
fn is_plain(own: &[&Interface]) -> bool {
    own.windows(2).all(|pair| matches!(pair, [one, other] if one.ip == other.ip))
        && own.iter().all(|it| it.address.is_some())
}

fn is_in(address: Ipv4Addr, interface: &Interface) -> bool {
    interface.address.is_some_and(|own| network(own, interface.prefix) == network(address, interface.prefix))
}

/// The routes of the IP of an interface. Nothing where one of them cannot be read.
fn routes<'a>(scenario: &'a Scenario, interface: &Interface) -> Option<Vec<Route<'a>>> {
    let host = scenario.host.get(&interface.host)?;
    let Some(table) = host.settings.get(&interface.ip).and_then(|own| own.get("routes")) else {
        return Some(Vec::new());
    };
    let layers = host.graph.as_ref().map(|graph| graph.below(&interface.ip)).unwrap_or_default();
    let next = |by: &'a str| match by.parse() {
        Ok(router) => Some(NextHop::Router(router)),
        Err(_) => layers.contains(&by).then_some(NextHop::Layer(by)),
    };
    let route = |(to, by): (&'a String, &'a toml::Value)| {
        let by = next(by.as_str()?)?;
        if to == "default" {
            return Some((0, 0, by));
        }
        let (base, prefix) = to.split_once('/')?;
        let (base, prefix): (Ipv4Addr, u8) =
            (base.parse().ok()?, prefix.parse::<u8>().ok().filter(|prefix| *prefix <= 32)?);
        Some((network(base, prefix), prefix, by))
    };
    table.as_table()?.iter().map(route).collect()
}
