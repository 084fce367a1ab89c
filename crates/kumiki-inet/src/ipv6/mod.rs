//! The Internet Protocol, version 6, the errors of ICMPv6, and neighbour discovery.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 8200; RFC 4443 (errors), RFC 4861 (neighbours, hosts), RFC 4862 (autoconfiguration), RFC 8201 (path MTU), RFC 4291 (addresses), RFC 2464 (Ethernet); RFC 5095 (routing type 0), RFC 5722 and 6946 (fragments) |
//! | Above | users by protocol number: TCP, UDP, ICMP's queries |
//! | Below | one layer for each interface: LLC/SNAP, PPP, Ethernet, a device |
//! | Left out | sending router advertisements and redirects, and following redirects; multicast listener reports (RFC 3810) and multicast forwarding; zones: a link-local destination leaves by the interface of its source, or the first one; hints of reachability from above; optimistic and privacy addresses, DHCPv6; flow labels (sent as 0); jumbograms, authentication, encryption; credit |
//!
//! | read | for |
//! |---|---|
//! | `internet/` | the program that both versions of IP share: [`Ip`] is its node |
//! | `family.rs` | what it asks of this version: the header, addresses, ways, fragments |
//! | `headers.rs` | a walk along the headers of a packet for us |
//! | `errors.rs` | when the errors of ICMPv6 are sent, and what they mean |
//! | `paths.rs` | path MTUs |
//! | `config.rs` | interfaces, routes, bounds |
//! | `neighbours.rs` | the neighbour cache and its states |
//! | `addresses.rs` | our own addresses |
//! | `discovery.rs` | the messages of neighbour discovery, both ways |
//! | `routers.rs` | what routers say in them: default routers, prefixes, addresses |
//!
//! ICMPv6 is divided as ICMP is in version 4 (see [`crate::ip`]): errors and neighbour discovery are here, echoes in
//! [`crate::icmp`].
//!
//! # For users
//!
//! Addresses are [`Ipv6Addr`]. As with IPv4, a unit without a source gets the address of the interface that it leaves
//! by; [`Manage::Route`] tells which, and [`Manage::Limits`] is answered for the smallest MTU. Only the source
//! fragments: a unit with `dont_fragment` that is too big for what is known of its path comes back as
//! [`Report::Unreachable`].
//!
//! The checksum of an ICMPv6 message comes without the addresses, which are added here, where the source is known (as
//! RFC 3542 section 3.1 has it).
//!
//! # Neighbours
//!
//! On a layer with MAC addresses next hops are asked for ([`Neighbours::Discover`]); the layer is asked for its own
//! address by [`Manage::Route`]. Our addresses may be used once nobody has objected for a second or two, which is a
//! long time at the start of a simulation: with [`Discovery::duplicate_transmits`] 0 they may at once.
//!
//! # Deviations
//!
//! Identifications of fragments count up from a random start for all peers together; RFC 7739 would have them not be
//! guessed. Of a packet that came in fragments an error quotes the whole without the headers that each fragment had.
//!
//! [`Report::Unreachable`]: kumiki_graph::Report::Unreachable
//! [`Manage::Route`]: kumiki_graph::Manage::Route
//! [`Manage::Limits`]: kumiki_graph::Manage::Limits

use core::net::Ipv6Addr;

use kumiki_wire::inet::ipv6::{self, link_local};

mod addresses;
mod config;
mod discovery;
mod errors;
mod family;
mod headers;
mod neighbours;
mod paths;
mod routers;
#[cfg(test)]
mod tests;

use crate::internet;
pub use crate::internet::{Counters, Rate, Reassembly};
use addresses::{AddressState, LocalAddress};
pub use config::{Config, ConfigError, Discovery, Interface, Neighbours, Route, RouteError, RouteTarget};
use discovery::Link;
use family::State;
pub(crate) use family::V6;

/// The protocol.
pub type Ip = internet::Ip<V6>;

type Hop = internet::Hop<Ipv6Addr>;
type Port = internet::Port<V6>;

/// The most octets that can stand behind the header.
const MAX_PAYLOAD: usize = 65535;
/// The header and the longest chain of others that is gathered to be looked at.
const MAX_HEADERS: usize = ipv6::MIN_MTU;

/// What neighbour discovery did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DiscoveryCounters {
    /// Solicitations sent, those of routers and of our own addresses too.
    pub solicitations_sent: u64,
    /// Neighbour advertisements sent.
    pub advertisements_sent: u64,
    /// Messages of neighbour discovery dropped: from beyond the link, malformed, or not to be.
    pub discovery_ignored: u64,
    /// Packets whose next hop nobody answered for, or that found no room to wait.
    pub unresolved: u64,
    /// Addresses of ours that somebody else has.
    pub duplicates: u64,
}

/// The interface of a configuration, with the addresses that it has at once.
fn port(interface: &Interface) -> Port {
    let link = Link::new(&interface.neighbours);
    let mut own = Vec::new();
    if !matches!(link, Link::Discover(_)) {
        let configured = interface.addresses.iter().map(|(address, _)| *address);
        let [first] = [configured.clone().next()];
        let low = first.map(|it| link_local(it.octets().last_chunk().copied().unwrap_or([0; 8])));
        let all = configured.chain(interface.link_local.or(low));
        own = all.map(|it| LocalAddress::new(it, AddressState::Ours)).collect();
        own.dedup();
    }
    Port::new(&interface.below, interface.mtu, own, link)
}

impl Ip {
    /// IPv6 as `config` says.
    ///
    /// # Errors
    /// [`ConfigError`] names what cannot be, and what could.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let routes = config.check()?;
        let ports = config.interfaces.iter().map(port).collect();
        let bounds = (config.reassembly, config.errors);
        let (discovery_timer, paths, counters) = Default::default();
        let mut ip = Self::of(ports, routes, bounds, State { config, discovery_timer, paths, counters });
        ip.forwarding = ip.state.config.forwarding;
        ip.any_destination = ip.state.config.any_destination;
        if let Some(below) = ip.state.config.host.clone() {
            ip.stand_for(&below, Vec::new(), Link::One);
        }
        ip.configured.clone_from(&ip.state.config.groups);
        Ok(ip)
    }

    /// What neighbour discovery did so far.
    #[must_use]
    pub const fn discovered(&self) -> &DiscoveryCounters {
        &self.state.counters
    }

    /// The addresses that may be used at present, those of each interface together.
    pub fn addresses(&self) -> impl Iterator<Item = Ipv6Addr> {
        let own = self.ports.iter().flat_map(|port| &port.own);
        own.filter(|it| it.is_ours()).map(|it| it.address)
    }
}
