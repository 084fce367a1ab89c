//! The Internet Protocol, version 4, and the errors of ICMP.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 791, RFC 1122 section 3 (hosts), RFC 1812 sections 4.2, 4.3, 5.2, 5.3 (forwarding); RFC 6864 (identification), RFC 815 (reassembly), RFC 1191 (next-hop MTU), RFC 6633 (source quench) |
//! | Above | users by protocol number: TCP, UDP, ICMP's queries, XTP |
//! | Below | one layer for each interface: LLC/SNAP, VC multiplexing, ATMARP, PPP, Ethernet, a device |
//! | Left out | options are passed on and handed out, but not acted on: a datagram with a source route that has not ended is refused; redirects, sent or taken; a cache of path MTUs (each transport session keeps its own); multicast forwarding and IGMP; credit |
//!
//! | read | for |
//! |---|---|
//! | `internet/` | the program that both versions of IP share: [`Ip`] is its node |
//! | `family.rs` | what it asks of this version: headers, addresses, ways, fragments |
//! | `errors.rs` | when the errors of ICMP are sent, and what they mean |
//! | `source_route.rs` | by which gateways |
//! | `config.rs` | interfaces, routes, bounds |
//!
//! # Where ICMP lives
//!
//! ICMP has two halves. Its *errors* are about datagrams: they are made from datagrams that IP refuses, and are for the
//! users of datagrams that IP sent, so IP makes and takes them itself, and users hear of them as
//! [`Report::Unreachable`]. Its *queries* (echo) are a protocol above IP like any other: [`crate::icmp`]. Errors work
//! without that node.
//!
//! # For users
//!
//! Addresses are [`Ipv4Addr`]. A unit without a source gets the address of the interface that it leaves by;
//! [`Manage::Route`] tells which that will be. [`Manage::Limits`] is answered for the interface with the smallest MTU,
//! and again whenever the answer changes. A unit that the user cannot use may be sent back with [`Manage::Refuse`].
//!
//! A super-segment ([`kumiki_octets::Meta`]) passes in one piece, its segments measured against the MTU; it is for
//! those who know from the reported burst that the device cuts.
//!
//! # Deviations
//!
//! Identifications count up for all peers together rather than for each (RFC 6864 section 4.3 wants no repetition for a
//! pair of addresses within two minutes): beyond 546 fragmentable datagrams a second they repeat sooner, as they do
//! elsewhere. Transports that are fast do not let their datagrams be fragmented.
//!
//! [`Report::Unreachable`]: kumiki_graph::Report::Unreachable
//! [`Manage::Route`]: kumiki_graph::Manage::Route
//! [`Manage::Limits`]: kumiki_graph::Manage::Limits
//! [`Manage::Refuse`]: kumiki_graph::Manage::Refuse

use core::net::Ipv4Addr;

use kumiki_graph::Address;

mod config;
mod errors;
mod family;
mod source_route;
#[cfg(test)]
mod tests;

use crate::internet;
pub use crate::internet::{Counters, Rate, Reassembly};
pub use config::{Config, ConfigError, Interface, Neighbours, Route, RouteError, RouteTarget};
use family::State;
pub(crate) use family::V4;

/// The protocol.
///
/// A router between two lines, and a datagram from the one that it forwards on the other:
///
/// ```
/// use core::net::Ipv4Addr;
/// use kumiki_graph::{Graph, Indication, Instant, Request, Service, Unit};
/// use kumiki_inet::ip::{Config, Interface, Ip};
/// use kumiki_octets::Message;
///
/// let mut config = Config::host(Interface::new("a", Ipv4Addr::new(10, 0, 0, 1), 24));
/// config.interfaces.push(Interface::new("b", Ipv4Addr::new(10, 1, 0, 1), 24));
/// config.forwarding = true;
///
/// let mut graph = Graph::new(1, 0);
/// let a = graph.add_device("a", Service::FRAME)?;
/// let b = graph.add_device("b", Service::FRAME)?;
/// let task = graph.add_task("cpu");
/// graph.add_node("ip", task, Box::new(Ip::new(config)?))?;
/// graph.connect("ip", "a")?;
/// graph.connect("ip", "b")?;
/// graph.start(Instant::ZERO)?;
///
/// // From 10.0.0.2 to 10.1.0.2: a header of 20 octets, protocol 253 and no data.
/// let datagram = [0x45, 0, 0, 20, 0, 0, 0x40, 0, 64, 253, 0x25, 0xe9, 10, 0, 0, 2, 10, 1, 0, 2];
/// let datagram = Unit::of(Message::from_octets(&datagram));
/// graph.input(Instant::ZERO, a, Indication::Unit(Box::new(datagram)));
/// graph.run(task, Instant::ZERO, 16);
///
/// // Devices get other requests as well; the datagram is a unit.
/// let mut sent = core::iter::from_fn(|| graph.output());
/// let sent = sent.find(|output| matches!(output.request, Request::Unit(_))).expect("it is forwarded");
/// assert_eq!(sent.device, b);
/// let ip: &Ip = graph.find("ip").expect("it was added");
/// assert_eq!(ip.counters().forw_datagrams, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Ip = internet::Ip<V4>;

type Hop = internet::Hop<Ipv4Addr>;
type Port = internet::Port<V4>;

/// What an address of ours is. Where it is both, the address of an interface comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    /// That of an interface.
    Own,
    /// All hosts of an interface's network (RFC 1122 section 3.2.1.3 (d)).
    Broadcast,
}

/// The broadcast address of the network of an address of ours; none where there are just two hosts (RFC 3021).
fn broadcast((own, prefix): (Ipv4Addr, u8)) -> Option<Ipv4Addr> {
    let mask = <Ipv4Addr as internet::Bits>::mask(prefix);
    (prefix < 31).then(|| Ipv4Addr::from_bits(own.to_bits() | !mask))
}

fn known(own: impl Iterator<Item = (Ipv4Addr, u8)> + Clone) -> Vec<(u32, Kind)> {
    let networks = own.clone().filter_map(broadcast);
    let own = own.map(|(own, _)| (own, Kind::Own));
    let all = own.chain(networks.map(|address| (address, Kind::Broadcast)));
    let mut known: Vec<_> = all.map(|(address, kind)| (address.to_bits(), kind)).collect();
    known.retain(|(address, _)| *address != 0);
    known.sort_unstable();
    known
}

/// The addresses that an interface begins with: none where its own comes later.
fn own(interface: &Interface) -> Vec<(Ipv4Addr, u8)> {
    let first = (interface.address, interface.prefix);
    let first = Some(first).filter(|(own, _)| !own.is_unspecified());
    first.into_iter().chain(interface.further.iter().copied()).collect()
}

impl Ip {
    /// IP as `config` says.
    ///
    /// # Errors
    /// [`ConfigError`] names what cannot be, and what could.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let routes = config.check()?;
        let port = |it: &Interface| Port::new(&it.below, it.mtu, own(it), it.neighbours.clone());
        let ports: Vec<Port> = config.interfaces.iter().map(port).collect();
        let known = known(ports.iter().flat_map(|port| port.own.iter().copied()));
        let mut ip = Self::of(ports, routes, (config.reassembly, config.errors), State { config, known });
        ip.forwarding = ip.state.config.forwarding;
        ip.any_destination = ip.state.config.any_destination;
        if let Some(below) = ip.state.config.host.clone() {
            ip.stand_for(&below, Vec::new(), Neighbours::One);
        }
        ip.configured.clone_from(&ip.state.config.groups);
        Ok(ip)
    }

    /// What `address` is, if it is one of ours.
    fn kind(&self, address: Ipv4Addr) -> Option<Kind> {
        let bits = address.to_bits();
        let known = &self.state.known;
        let (known, kind) = known.get(known.partition_point(|(known, _)| *known < bits))?;
        (*known == bits).then_some(*kind)
    }

    /// The layer below an interface has agreed on addresses with its peer.
    fn adopt(&mut self, interface: usize, local: Address, remote: Address) {
        let config = &mut self.state.config;
        let found = config.interfaces.get_mut(interface).zip(self.ports.get_mut(interface));
        let (Some((it, port)), Some(local)) = (found.filter(|(it, _)| it.negotiated), local.get()) else {
            return;
        };
        port.own.retain(|(own, _)| *own != it.address && *own != local);
        port.own.insert(0, (local, it.prefix));
        it.address = local;
        it.peer = remote.get().filter(|remote: &Ipv4Addr| !remote.is_unspecified());
        // They were right before, and addresses of hosts change nothing about that.
        if let Ok(routes) = config.table() {
            self.routes = routes;
            self.add_given();
        }
        self.learn_own();
    }

    /// Adds what has come while it ran to routes that are as the configuration has them.
    fn add_given(&mut self) {
        for (interface, port) in self.ports.iter().enumerate() {
            let configured = self.state.config.interfaces.get(interface).map(own).unwrap_or_default();
            for (own, prefix) in port.own.iter().filter(|it| !configured.contains(it)) {
                self.routes.add_late(*own, *prefix, interface, None);
            }
        }
        for (network, prefix, interface, router) in self.given.iter().map(|(given, _)| *given) {
            self.routes.add_late(network, prefix, interface, router);
        }
    }

    /// The addresses of interfaces have changed.
    fn learn_own(&mut self) {
        self.state.known = known(self.ports.iter().flat_map(|port| port.own.iter().copied()));
    }
}
