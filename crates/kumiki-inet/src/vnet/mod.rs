//! VNET: one layer in place of several networks, without a header.
//!
//! | | |
//! |---|---|
//! | Specification | none; the virtual protocol of that name in the x-kernel (Hutchinson and Peterson, "The x-Kernel", 1991) |
//! | Above | any users: XTP, TCP and UDP where IP is below, IP; each is found below by its own keys |
//! | Below | one layer for each interface, of unit data with IP addresses: ARP over a LAN, IP of either version |
//! | Left out | routers (there is no header that they could read, so a route names an interface); asking the layers below for a route each: what they report of their limits must do |
//!
//! VNET picks the interface that leads to an address and hands the unit on as it is. Whoever sends more than one unit
//! to an address asks by [`Manage::Route`], and sends past VNET from then on: the answer names the access point below
//! ([`Context::down_past`]). Upward everything comes through here, as the layers below know no other way.
//!
//! The graph gives VNET an access point on each layer below for each of its users, under the user's keys
//! ([`Protocol::passes_users_through`]). So users need not be told apart here, and a bypass is one user's alone.
//!
//! # Addresses
//!
//! Our own come back to the user that sent to them. What is for all hosts ([`Ipv4Addr::BROADCAST`]) or for a multicast
//! group without a route goes over every interface that takes broadcasts; to the broadcast address of an interface's
//! network over that one. So does what its user says is for a group, as IP does of the broadcast address of a network
//! that is larger than ours. Such units are marked as for a group, and there is no bypass for them.
//!
//! # IP over VNET
//!
//! The x-kernel has TCP over IP over VNET. IP has interfaces and routes of its own, so it needs VNET only where several
//! networks are to look like one: it then has one interface on VNET, whose neighbours are known below, with one of
//! VNET's addresses and a prefix that covers all networks. IP does not ask for routes to its next hops, so VNET stays
//! in the path of its datagrams. TCP over VNET over several IPs asks, and sends past VNET what belongs to a connection
//! that it opened: such a connection keeps its interface.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kumiki_graph::{
    Above, Address, Below, Context, Indication, Key, Manage, Problem, Protocol, Report, Request, Service, Shape, Unit,
    UnitIndication, UnitRequest,
};
use kumiki_wire::inet::icmpv4::QUOTED_DATA;

mod config;
#[cfg(test)]
mod tests;

use crate::internet::Routes;
use config::is_limited_broadcast;
pub use config::{Config, ConfigError, Interface, Route};
use kumiki_graph::users::tell_all;

/// What an interface carries until the layer below has said so.
const DEFAULT_MTU: u32 = 1500;

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Units handed down, each once for each interface.
    pub sent: u64,
    /// Units handed up.
    pub received: u64,
    /// Units that came back to their user, for they were for ourselves.
    pub looped: u64,
    /// Units not sent: no IP address, or no interface that leads to it and is up.
    pub no_route: u64,
    /// Routes told.
    pub routes: u64,
}

/// An interface at work.
#[derive(Clone, Debug)]
struct Port {
    /// Our access point below for each user, in their order.
    users: Vec<Below>,
    /// What the layer below has said of itself.
    reported: Option<(u32, u32)>,
    up: bool,
}

/// Whose an access point below is.
#[derive(Clone, Copy, Debug)]
struct AccessPointOwner {
    interface: usize,
    user: Above,
}

/// Where a unit goes.
#[derive(Clone, PartialEq, Eq, Debug)]
enum UnitDestination {
    /// It is for ourselves.
    Us,
    /// One host, by this interface.
    One(usize),
    /// Several, by these.
    Many(Vec<usize>),
    /// Nowhere.
    Nowhere,
}

/// The layer.
#[derive(Debug)]
pub struct Vnet {
    config: Config,
    ports: Vec<Port>,
    /// By access point below.
    places: Vec<AccessPointOwner>,
    routes_4: Routes<Ipv4Addr>,
    routes_6: Routes<Ipv6Addr>,
    counters: Counters,
    /// Where the last unit for one host on a path went: to whom, whose, and by which layer. Nothing is known of it any
    /// more once a layer below has told something.
    last: Option<(IpAddr, Above, Below)>,
}

impl Vnet {
    /// VNET as `config` says.
    ///
    /// # Errors
    /// [`ConfigError`] names what cannot be.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        let (mut routes_4, mut routes_6) = (Routes::default(), Routes::default());
        let mut add = |network, prefix, interface| match network {
            IpAddr::V4(network) => routes_4.add(network, prefix, interface, None),
            IpAddr::V6(network) => routes_6.add(network, prefix, interface, None),
        };
        for (number, interface) in config.interfaces.iter().enumerate() {
            for &(address, prefix) in &interface.addresses {
                add(address, prefix, number);
            }
        }
        for route in &config.routes {
            if let Some(interface) = config.interface(&route.below) {
                add(route.network, route.prefix, interface);
            }
        }
        let port = Port { users: Vec::new(), reported: None, up: true };
        Ok(Self {
            ports: vec![port; config.interfaces.len()],
            places: Vec::new(),
            routes_4,
            routes_6,
            counters: Counters::default(),
            last: None,
            config,
        })
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    fn is_up(&self, interface: usize) -> bool {
        self.ports.get(interface).is_some_and(|port| port.up)
    }

    /// Our addresses on `interface`.
    fn addresses(&self, interface: usize) -> &[(IpAddr, u8)] {
        let interface = self.config.interfaces.get(interface);
        interface.map_or(&[], |interface| &interface.addresses)
    }

    fn is_ours(&self, address: IpAddr) -> bool {
        let mut all = self.config.interfaces.iter().flat_map(|it| &it.addresses);
        address.is_loopback() || all.any(|(own, _)| *own == address)
    }

    /// The interface whose address `source` is.
    fn of_source(&self, source: Address) -> Option<usize> {
        let source = source.ip()?;
        let mut interfaces = self.config.interfaces.iter();
        interfaces.position(|it| it.addresses.iter().any(|(own, _)| *own == source))
    }

    /// The interface whose network has `address` for all its hosts.
    fn of_broadcast(&self, address: IpAddr) -> Option<usize> {
        let IpAddr::V4(address) = address else {
            return None;
        };
        let mut interfaces = self.config.interfaces.iter();
        interfaces.position(|it| {
            it.addresses.iter().any(|&(own, prefix)| match own {
                // Where there are just two hosts there is none (RFC 3021).
                IpAddr::V4(own) if prefix < 31 => {
                    let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
                    address.to_bits() == own.to_bits() | !mask
                }
                IpAddr::V4(_) | IpAddr::V6(_) => false,
            })
        })
    }

    fn lookup(&self, to: IpAddr) -> Option<usize> {
        let up = |interface: usize| self.is_up(interface);
        match to {
            IpAddr::V4(to) => self.routes_4.lookup(to, up).map(|hop| hop.interface),
            IpAddr::V6(to) => self.routes_6.lookup(to, up).map(|hop| hop.interface),
        }
    }

    /// Where a unit from `source` to `to` goes, that is for a `group` in its user's eyes.
    fn towards(&self, to: IpAddr, source: Address, group: bool) -> UnitDestination {
        if self.is_ours(to) {
            return UnitDestination::Us;
        }
        if let Some(interface) = self.of_broadcast(to) {
            return if self.is_up(interface) {
                UnitDestination::Many(vec![interface])
            } else {
                UnitDestination::Nowhere
            };
        }
        let all = is_limited_broadcast(to) || group && !to.is_multicast();
        if !all && !to.is_multicast() {
            return self.lookup(to).map_or(UnitDestination::Nowhere, UnitDestination::One);
        }
        let one = self.of_source(source).or_else(|| {
            // A network of neighbours is none of groups, but a route may be for one.
            self.lookup(to).filter(|_| !all)
        });
        let interfaces: Vec<usize> = match one {
            Some(interface) => vec![interface],
            None => (0..self.ports.len())
                .filter(|&number| {
                    let interface = self.config.interfaces.get(number);
                    interface.is_some_and(|it| it.broadcast)
                })
                .collect(),
        };
        let up: Vec<usize> = interfaces.into_iter().filter(|&it| self.is_up(it)).collect();
        if up.is_empty() { UnitDestination::Nowhere } else { UnitDestination::Many(up) }
    }

    /// The access point of `user` on `interface`.
    fn below(&self, interface: usize, user: Above) -> Option<Below> {
        let users = &self.ports.get(interface)?.users;
        users.get(usize::from(user.0)).copied()
    }

    fn send(&mut self, from: Above, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let Some(to) = unit.destination.ip() else {
            self.counters.no_route += 1;
            cx.drop("destination is not an IP address");
            return;
        };
        match self.towards(to, unit.source, unit.options.group) {
            UnitDestination::Us => {
                self.counters.looped += 1;
                if unit.source == Address::NONE {
                    unit.source = unit.destination;
                }
                cx.up(from, Indication::Unit(unit));
            }
            UnitDestination::One(interface) => self.send_by(interface, from, unit, cx),
            UnitDestination::Many(interfaces) => {
                unit.options.group = true;
                for interface in interfaces {
                    self.send_by(interface, from, unit.clone(), cx);
                }
            }
            UnitDestination::Nowhere => {
                self.counters.no_route += 1;
                cx.drop("no route");
                let mut start = unit.data;
                start.truncate(QUOTED_DATA);
                let report = Report::Unreachable {
                    source: unit.source,
                    destination: unit.destination,
                    problem: Problem::NoRoute,
                    start,
                };
                cx.up(from, Indication::Report(Box::new(report)));
            }
        }
    }

    fn send_by(&mut self, interface: usize, from: Above, unit: Box<Unit>, cx: &mut Context<'_>) {
        if let Some(below) = self.below(interface, from) {
            self.counters.sent += 1;
            cx.down(below, Request::Unit(unit));
        }
    }

    /// The largest unit and the burst of `interface`.
    fn carried(&self, interface: usize) -> (u32, u32) {
        let set = self.config.interfaces.get(interface).and_then(|it| it.mtu);
        let reported = self.ports.get(interface).and_then(|port| port.reported);
        let (unit, burst) = reported.unwrap_or_else(|| (set.unwrap_or(DEFAULT_MTU), 1));
        (set.map_or(unit, |set| set.min(unit)), burst)
    }

    /// What all of `interfaces` can carry.
    fn least(&self, interfaces: impl Iterator<Item = usize>) -> (u32, u32) {
        let all = interfaces.map(|interface| self.carried(interface));
        let least = all.reduce(|one, other| (one.0.min(other.0), one.1.min(other.1)));
        least.unwrap_or((DEFAULT_MTU, 1))
    }

    fn limits(&self) -> Report {
        let (unit, burst) = self.least(0..self.ports.len());
        Report::Limits { unit, burst }
    }

    /// Our address on `interface` for units to `to`: on the same network, where we have one there.
    fn source(&self, interface: usize, to: IpAddr) -> Address {
        let own = self.addresses(interface).iter();
        let mut own = own.filter(|(own, _)| own.is_ipv4() == to.is_ipv4());
        let first = own.clone().next();
        let near = own.find(|(own, prefix)| is_within(to, *own, *prefix));
        near.or(first).map_or(Address::NONE, |(own, _)| Address::from(*own))
    }

    fn route(&mut self, from: Above, to: Address, cx: &mut Context<'_>) -> Report {
        self.counters.routes += 1;
        let towards = to.ip().map(|ip| (ip, self.towards(ip, Address::NONE, false)));
        let (source, (unit, burst), bypass) = match towards {
            Some((_, UnitDestination::Us)) => (to, (u32::from(u16::MAX), u32::MAX), None),
            Some((ip, UnitDestination::One(interface))) => {
                let below = self.below(interface, from);
                let bypass = below.and_then(|below| cx.access_point(below));
                (self.source(interface, ip), self.carried(interface), bypass)
            }
            Some((ip, UnitDestination::Many(interfaces))) => {
                let first = interfaces.first().copied().unwrap_or_default();
                let source = self.source(first, ip);
                (source, self.least(interfaces.into_iter()), None)
            }
            Some((_, UnitDestination::Nowhere)) | None => (Address::NONE, (0, 1), None),
        };
        // An interface that has no address of that version can send nothing that is answered.
        let unit = if source == Address::NONE { 0 } else { unit };
        Report::Route { to, source, unit, burst, bypass }
    }

    fn manage(&mut self, from: Above, manage: Manage, cx: &mut Context<'_>) {
        let of = |address: Address| address.ip().map(|ip| self.towards(ip, Address::NONE, false));
        let towards = match &manage {
            Manage::Limits => {
                cx.up(from, Indication::Report(Box::new(self.limits())));
                return;
            }
            Manage::Route { to } => {
                let route = self.route(from, *to, cx);
                cx.up(from, Indication::Report(Box::new(route)));
                return;
            }
            Manage::Refuse { unit, .. } => of(unit.source),
            Manage::Advise { to, .. } | Manage::Narrow { to, .. } => of(*to),
            Manage::Group { group, .. } => of(*group),
            // About sessions, of which there are none, and links between two, where nobody needs VNET.
            Manage::Session { .. } | Manage::Special(_) => None,
        };
        let interfaces = match towards {
            Some(UnitDestination::One(interface)) => vec![interface],
            Some(UnitDestination::Many(interfaces)) => interfaces,
            Some(UnitDestination::Us | UnitDestination::Nowhere) | None => Vec::new(),
        };
        for interface in interfaces {
            if let Some(below) = self.below(interface, from) {
                cx.down(below, Request::Manage(Box::new(manage.clone())));
            }
        }
    }

    fn report(&mut self, from: Below, place: AccessPointOwner, report: Report, cx: &mut Context<'_>) {
        self.last = None;
        let limits = self.least(0..self.ports.len());
        let any_up = self.ports.iter().any(|port| port.up);
        let Some(port) = self.ports.get_mut(place.interface) else {
            return;
        };
        // What is said to all users comes by each of our access points, and is heard once.
        let first = port.users.first() == Some(&from);
        match report {
            Report::Limits { unit, burst } if first => port.reported = Some((unit, burst)),
            Report::Up if first => port.up = true,
            Report::Down if first => port.up = false,
            Report::Limits { .. } | Report::Up | Report::Down | Report::Route { .. } => return,
            Report::Unreachable { .. } | Report::Special(_) => {
                cx.up(place.user, Indication::Report(Box::new(report)));
                return;
            }
        }
        if limits != self.least(0..self.ports.len()) {
            tell_all(&self.limits(), cx);
        }
        match (any_up, self.ports.iter().any(|port| port.up)) {
            (true, false) => tell_all(&Report::Down, cx),
            (false, true) => tell_all(&Report::Up, cx),
            (true, true) | (false, false) => {}
        }
    }
}

/// Whether `address` is on the network of the first `prefix` bits of `network`.
fn is_within(address: IpAddr, network: IpAddr, prefix: u8) -> bool {
    let differ = |bits: u128, other: u128, width: u8| {
        let rest = width.saturating_sub(prefix);
        (bits ^ other).checked_shr(rest.into()).unwrap_or(0) != 0
    };
    match (address, network) {
        (IpAddr::V4(a), IpAddr::V4(b)) => !differ(a.to_bits().into(), b.to_bits().into(), 32),
        (IpAddr::V6(a), IpAddr::V6(b)) => !differ(a.to_bits(), b.to_bits(), 128),
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
    }
}

impl Protocol for Vnet {
    fn shape(&self) -> Shape {
        let interfaces = u16::try_from(self.ports.len()).unwrap_or(u16::MAX);
        Shape {
            offers: Some(Service::UNIT_DATA),
            needs: &[Service::UNIT_DATA],
            below: (interfaces, interfaces),
            keys: Vec::new(),
        }
    }

    fn passes_users_through(&self) -> bool {
        true
    }

    fn bind(&mut self, _: Above, keys: &[Key]) -> Result<(), String> {
        if keys.is_empty() {
            return Err(
                "VNET hands on its users' units, and this one has no key by which the layers below could find it"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn attach(&mut self, below: Below, name: &str) -> Result<(), String> {
        let Some(interface) = self.config.interface(name) else {
            let names = self.config.interfaces.iter().map(|it| format!("`{}`", it.below));
            let known: Vec<String> = names.collect();
            let known = known.join(", ");
            return Err(format!("VNET has no interface on `{name}`, only on {known}"));
        };
        if let Some(port) = self.ports.get_mut(interface) {
            // Users come in their order.
            let user = Above(u16::try_from(port.users.len()).unwrap_or(u16::MAX));
            port.users.push(below);
            self.places.push(AccessPointOwner { interface, user });
        }
        Ok(())
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        for port in &self.ports {
            if let Some(below) = port.users.first() {
                cx.down(*below, Request::Manage(Box::new(Manage::Limits)));
            }
        }
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request.of_unit_data() {
            Some(UnitRequest::Unit(unit)) => self.send(from, unit, cx),
            Some(UnitRequest::Manage(manage)) => self.manage(from, *manage, cx),
            None => cx.drop("not a unit"),
        }
    }

    fn is_on_paths(&self) -> bool {
        true
    }

    fn push_through(&mut self, from: Above, unit: &mut Unit) -> Option<Below> {
        let to = unit.destination.ip().filter(|_| !unit.options.group)?;
        let below = match self.last {
            Some((last, user, below)) if last == to && user == from => below,
            _ => {
                let UnitDestination::One(interface) = self.towards(to, unit.source, false) else {
                    return None;
                };
                let below = self.below(interface, from)?;
                self.last = Some((to, from, below));
                below
            }
        };
        self.counters.sent += 1;
        Some(below)
    }

    fn pop_through(&mut self, from: Below, _: &mut Unit) -> Option<Above> {
        let place = self.places.get(usize::from(from.0))?;
        self.counters.received += 1;
        Some(place.user)
    }

    fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
        let Some(place) = self.places.get(usize::from(from.0)).copied() else {
            return;
        };
        match indication.of_unit_data() {
            Some(UnitIndication::Unit(unit)) => {
                self.counters.received += 1;
                cx.up(place.user, Indication::Unit(unit));
            }
            Some(UnitIndication::Report(report)) => self.report(from, place, *report, cx),
            Some(UnitIndication::Credit(credit)) => {
                cx.up(place.user, Indication::Credit { session: kumiki_graph::Handle::default(), credit });
            }
            None => cx.drop("not a unit"),
        }
    }
}
