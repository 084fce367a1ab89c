//! What can be set, and what is wrong with settings that cannot be.

use core::net::Ipv4Addr;

use crate::settable::Settings;
use kumiki_graph::Address;
#[cfg(feature = "settings")]
use kumiki_settings::{BuildError, HasSettings, Key, Reader};

#[cfg(feature = "settings")]
use crate::internet::settings;
use crate::internet::{Rate, Reassembly, Routes, check_interfaces};

#[cfg(feature = "settings")]
const NETWORK: &str =
    "an IPv4 address and the length of its prefix, 0 to 32, such as \"10.0.0.1/24\", or \"negotiated\"";
#[cfg(feature = "settings")]
const ROUTE: &str =
    "a router's IPv4 address, or the name of a layer below, under \"default\" or a network such as \"10.1.0.0/16\"";

/// What can be set for IP.
#[derive(Clone, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// One for each layer below, by its name.
    #[setting(skip)]
    pub interfaces: Vec<Interface>,
    /// Beside those to the networks of the interfaces.
    #[setting(skip)]
    pub routes: Vec<Route>,
    /// Whether datagrams for others are forwarded.
    pub forwarding: bool,
    /// Whether datagrams to all addresses but groups are taken, and sent from any, as a gateway does that ends
    /// connections.
    ///
    /// Of Linux a local route to all (AnyIP) and `IP_TRANSPARENT` together.
    pub any_destination: bool,
    /// The layer below behind which the host itself is, another kernel with our addresses, where this IP only stands
    /// for it.
    ///
    /// What is for us goes there as it came, and what comes from there leaves as ours.
    #[setting(text, expected = "the name of a layer below", unset = "the host is here")]
    pub host: Option<String>,
    /// Multicast groups whose datagrams are taken, beside 224.0.0.1.
    #[setting(list = group, expected = "an IPv4 multicast address")]
    pub groups: Vec<Ipv4Addr>,
    /// Time to live of datagrams whose user sets none.
    #[setting(1..=255)]
    pub ttl: u8,
    /// Whether TCP's datagrams are never fragmented where TCP wants it so (RFC 1191).
    ///
    /// Other protocols say so for each unit, and are heeded.
    pub path_mtu_discovery: bool,
    /// Whether datagrams that cannot be fragmented get numbers too, as header compression (RFC 1144) expects.
    ///
    /// Nobody may look at them otherwise (RFC 6864 section 4.1); without, they are 0.
    pub number_atomic: bool,
    /// Bounds of reassembly.
    #[setting(table)]
    pub reassembly: Reassembly,
    /// How many ICMP errors are sent.
    #[setting(with = settings::errors)]
    pub errors: Rate,
}

impl Default for Config {
    /// A host without interfaces.
    fn default() -> Self {
        Self {
            interfaces: Vec::new(),
            routes: Vec::new(),
            forwarding: false,
            any_destination: false,
            host: None,
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

    /// What settings say, on layers `below` of these names.
    ///
    /// # Errors
    /// [`BuildError`] names the setting that is wrong, and what would be right.
    #[cfg(feature = "settings")]
    pub fn of_settings(reader: &Reader<'_>, below: &[&str]) -> Result<Self, BuildError> {
        let mut config = Self::default();
        config.read(reader)?;
        config.routes = settings::routes(reader, below, ROUTE, Ipv4Addr::UNSPECIFIED)?;
        let own = ["address", "peer", "mtu", "neighbours"];
        config.interfaces = settings::interfaces(reader, below, &own, Interface::of_settings)?;
        Ok(config)
    }
}

/// An interface: a layer below and what is known of the network behind it.
#[derive(Clone, PartialEq, Eq, Debug, Settings)]
pub struct Interface {
    /// The name of the layer below.
    #[setting(skip)]
    pub below: String,
    /// Our address there. Unspecified where it is `negotiated`, and then there is none at first.
    #[setting(skip)]
    pub address: Ipv4Addr,
    /// How many leading bits of the address name the network: 0 to 32.
    #[setting(skip)]
    pub prefix: u8,
    /// More addresses of ours there, each with the length of its prefix.
    #[setting(skip)]
    pub further: Vec<(Ipv4Addr, u8)>,
    /// The address of the one host at the other end, where the network is a line.
    #[setting(text, expected = "an IPv4 address", unset = "none")]
    pub peer: Option<Ipv4Addr>,
    /// Whether our address and the peer's are those that the layer below agrees on with the peer, as PPP does
    /// ([`LinkAddresses`](crate::LinkAddresses)). Our own has no network around it then. Or ours comes otherwise while
    /// IP runs ([`Assignment`](crate::Assignment)).
    #[setting(skip)]
    pub negotiated: bool,
    /// The largest datagram that is sent in one piece; where the layer below reports less, less.
    #[setting(68..=65535, octets)]
    pub mtu: u32,
    /// Who knows the link addresses of next hops.
    #[setting(with = neighbours)]
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
            further: Vec::new(),
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

    #[cfg(feature = "settings")]
    fn of_settings(below: &str, reader: &Reader<'_>) -> Result<Self, BuildError> {
        const ADDRESS: Key = Key::new(
            "address",
            "Our address there, and how many of its bits name the network; \"negotiated\": what PPP below agrees on.",
        );
        let mut own = None;
        let parse = |text: &str| if text == "negotiated" { Some(None) } else { settings::network(text).map(Some) };
        reader.maybe_text(&ADDRESS.unset(""), NETWORK, parse, &mut own)?;
        let mut interface = Self::negotiated(below);
        interface.read(reader)?;
        if let Some((address, prefix)) = own.ok_or_else(|| reader.missing("address", NETWORK))? {
            (interface.address, interface.prefix, interface.negotiated) = (address, prefix, false);
        }
        Ok(interface)
    }
}

#[cfg(feature = "settings")]
fn group(text: &str) -> Option<Ipv4Addr> {
    text.parse().ok().filter(Ipv4Addr::is_multicast)
}

#[cfg(feature = "settings")]
fn neighbours(place: &mut Neighbours, reader: &Reader<'_>) -> Result<(), BuildError> {
    let texts = (
        "Who knows the link addresses of next hops: \"one\", as there is only one, or \"below\", the layer below.",
        "\"one\", \"below\", or a table of addresses and circuits",
        "a circuit \"vpi/vci\" such as \"0/100\", under the IPv4 address of its peer",
    );
    let word = |text: &str| match text {
        "one" => Some(Neighbours::One),
        "below" => Some(Neighbours::Below),
        _ => None,
    };
    *place = settings::neighbours(reader, texts, word, Neighbours::Table)?;
    Ok(())
}

/// Who knows the link address of a next hop.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Neighbours {
    /// Nobody needs to: the layer below has one peer. Units go down with [`Address::NONE`].
    #[default]
    One,
    /// This table. Other next hops are unreachable.
    Table(Vec<(Ipv4Addr, Address)>),
    /// The layer below (ATMARP, ARP): units go down with the next hop as [`Ipv4Addr`].
    Below,
}

/// A route.
pub type Route = crate::internet::Route<Ipv4Addr>;

/// Where the datagrams of a route go.
pub type RouteTarget = crate::internet::RouteTarget<Ipv4Addr>;

/// What is wrong with a [`Route`].
pub type RouteError = crate::internet::RouteError<Ipv4Addr>;

/// What is wrong with a [`Config`].
pub type ConfigError = crate::internet::ConfigError<Ipv4Addr>;

impl Config {
    /// Looks for what cannot be, and makes the routes.
    pub(super) fn check(&self) -> Result<Routes<Ipv4Addr>, ConfigError> {
        check_interfaces(self.interfaces.iter().map(|it| (it.below.as_str(), it.mtu)))?;
        for it in &self.interfaces {
            let (below, found) = (it.below.clone(), it.address);
            if it.prefix > 32 {
                return Err(ConfigError::Prefix { below, found: it.prefix });
            }
            let is_open = found.is_unspecified() && !it.negotiated;
            if is_open || found.is_multicast() || found.is_broadcast() {
                return Err(ConfigError::Address { below, found, expected: "a unicast address" });
            }
            for &(found, prefix) in &it.further {
                let below = it.below.clone();
                if prefix > 32 {
                    return Err(ConfigError::Prefix { below, found: prefix });
                }
                if found.is_unspecified() || found.is_multicast() || found.is_broadcast() {
                    return Err(ConfigError::Address { below, found, expected: "a unicast address" });
                }
            }
        }
        Routes::check(&self.routes)?;
        self.table()
    }

    /// The routes: among prefixes of one length, networks of interfaces and then the order of the configuration.
    pub(super) fn table(&self) -> Result<Routes<Ipv4Addr>, ConfigError> {
        let mut routes = Routes::default();
        for (interface, it) in self.interfaces.iter().enumerate() {
            // None has been agreed on yet.
            if !it.address.is_unspecified() {
                routes.add(it.address, it.prefix, interface, None);
            }
            for &(own, prefix) in &it.further {
                routes.add(own, prefix, interface, None);
            }
            if let Some(peer) = it.peer {
                routes.add(peer, 32, interface, None);
            }
        }
        let below: Vec<&str> = self.interfaces.iter().map(|it| it.below.as_str()).collect();
        routes.add_static(&self.routes, &below)?;
        Ok(routes)
    }
}
