//! What can be set, and what is wrong with settings that cannot be.

use core::net::Ipv4Addr;

use kumiki_graph::Address;
use kumiki_wire::inet::ipv4::MIN_MTU;
use thiserror::Error;

use crate::internet::{Rate, Reassembly, Routes};

/// What can be set for IP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// One for each layer below, by its name.
    pub interfaces: Vec<Interface>,
    /// Beside those to the networks of the interfaces.
    pub routes: Vec<Route>,
    /// Whether datagrams for others are forwarded.
    pub forwarding: bool,
    /// Multicast groups whose datagrams are taken, beside 224.0.0.1.
    pub groups: Vec<Ipv4Addr>,
    /// Time to live of datagrams whose user sets none.
    pub ttl: u8,
    /// Whether TCP's datagrams are never fragmented where TCP wants it so (RFC 1191). Other protocols say so for each unit,
    /// and are heeded.
    pub path_mtu_discovery: bool,
    /// Whether datagrams that cannot be fragmented get numbers too, or 0. Nobody may look at them (RFC 6864 section 4.1),
    /// but header compression (RFC 1144) expects them to count up.
    pub number_atomic: bool,
    /// Bounds of reassembly.
    pub reassembly: Reassembly,
    /// How many ICMP errors are sent.
    pub errors: Rate,
}

impl Default for Config {
    /// A host without interfaces.
    fn default() -> Self {
        Self {
            interfaces: Vec::new(),
            routes: Vec::new(),
            forwarding: false,
            groups: Vec::new(),
            ttl: 64,
            path_mtu_discovery: true,
            number_atomic: false,
            reassembly: Reassembly::default(),
            errors: Rate::default(),
        }
    }
}

impl Config {
    /// A host with one interface.
    #[must_use]
    pub fn host(interface: Interface) -> Self {
        Self { interfaces: vec![interface], ..Self::default() }
    }
}

/// An interface: a layer below and what is known of the network behind it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// The name of the layer below.
    pub below: String,
    /// Our address there. Unspecified where it is `negotiated`, and then there is none at first.
    pub address: Ipv4Addr,
    /// How many leading bits of the address name the network: 0 to 32.
    pub prefix: u8,
    /// The address of the one host at the other end, where the network is a line.
    pub peer: Option<Ipv4Addr>,
    /// Whether our address and the peer's are those that the layer below agrees on with the peer, as PPP does
    /// ([`LinkAddresses`](crate::LinkAddresses)). Our own has no network around it then.
    pub negotiated: bool,
    /// The largest datagram that the layer below carries, 68 to 65535 octets. Where that layer reports less, less.
    pub mtu: u32,
    /// Who knows the link addresses of next hops.
    pub neighbours: Neighbours,
}

impl Interface {
    /// An interface on the layer `below` with an MTU of 1500 octets and nobody to tell apart behind it.
    #[must_use]
    pub fn new(below: &str, address: Ipv4Addr, prefix: u8) -> Self {
        Self {
            below: below.to_owned(),
            address,
            prefix,
            peer: None,
            negotiated: false,
            mtu: 1500,
            neighbours: Neighbours::One,
        }
    }

    /// An interface on the layer `below` that has the addresses which that layer agrees on with its peer.
    #[must_use]
    pub fn negotiated(below: &str) -> Self {
        Self { negotiated: true, ..Self::new(below, Ipv4Addr::UNSPECIFIED, 32) }
    }
}

/// Who knows the link address of a next hop.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Neighbours {
    /// Nobody needs to: the layer below has one peer. Units go down with [`Address::NONE`].
    #[default]
    One,
    /// This table. Other next hops are unreachable.
    Table(Vec<(Ipv4Addr, Address)>),
    /// The layer below (ATMARP, ARP): units go down with the next hop as [`Ipv4Addr`](core::net::Ipv4Addr).
    Below,
}

/// A route.
pub type Route = crate::internet::Route<Ipv4Addr>;

/// Where the datagrams of a route go.
pub type Via = crate::internet::Via<Ipv4Addr>;

/// What is wrong with a [`Route`].
pub type RouteError = crate::internet::RouteError<Ipv4Addr>;

/// What is wrong with a [`Config`].
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ConfigError {
    /// IP without an interface.
    #[error("IP has no interface; it needs one for each layer below, by its name")]
    NoInterface,
    /// Two interfaces on one layer.
    #[error("two interfaces stand on `{0}`; names of the layers below must differ")]
    Twice(String),
    /// A prefix that no address has.
    #[error("the interface on `{below}` has a prefix of {found} bits, expected 0 to 32")]
    Prefix {
        /// The layer below.
        below: String,
        /// The prefix.
        found: u8,
    },
    /// An address that no interface can have.
    #[error("the interface on `{below}` has the address {found}, expected a unicast address")]
    Address {
        /// The layer below.
        below: String,
        /// The address.
        found: Ipv4Addr,
    },
    /// An MTU that no link may have.
    #[error("the interface on `{below}` has an MTU of {found} octets, expected {MIN_MTU} to 65535 (RFC 791)")]
    Mtu {
        /// The layer below.
        below: String,
        /// The MTU.
        found: u32,
    },
    /// A route that cannot be.
    #[error(transparent)]
    Route(#[from] RouteError),
}

impl Config {
    /// Looks for what cannot be, gateways aside.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.interfaces.is_empty() {
            return Err(ConfigError::NoInterface);
        }
        for (number, interface) in self.interfaces.iter().enumerate() {
            self.check_interface(number, interface)?;
        }
        Ok(Routes::check(&self.routes)?)
    }

    fn check_interface(&self, number: usize, interface: &Interface) -> Result<(), ConfigError> {
        let below = interface.below.clone();
        let before = self.interfaces.iter().take(number);
        if before.into_iter().any(|other| other.below == below) {
            return Err(ConfigError::Twice(below));
        }
        if interface.prefix > 32 {
            return Err(ConfigError::Prefix { below, found: interface.prefix });
        }
        let found = interface.address;
        let is_open = found.is_unspecified() && !interface.negotiated;
        if is_open || found.is_multicast() || found.is_broadcast() {
            return Err(ConfigError::Address { below, found });
        }
        let fewest = u32::try_from(MIN_MTU).unwrap_or(0);
        if !(fewest..=65535).contains(&interface.mtu) {
            return Err(ConfigError::Mtu { below, found: interface.mtu });
        }
        Ok(())
    }

    /// The names of the layers below, one for each interface.
    pub(super) fn below(&self) -> Vec<&str> {
        let names = self.interfaces.iter().map(|it| it.below.as_str());
        names.collect()
    }
}
