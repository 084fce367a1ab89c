//! What can be set, and what is wrong with settings that cannot be.

use core::net::Ipv6Addr;

use crate::settable::Settings;
use kumiki_graph::{Address, Duration};
#[cfg(feature = "settings")]
use kumiki_settings::{BuildError, HasSettings, Key, Reader};

#[cfg(feature = "settings")]
use crate::internet::settings;
use crate::internet::{Rate, Reassembly, Routes, check_interfaces};

#[cfg(feature = "settings")]
const NETWORK: &str = "an IPv6 address and the length of its prefix, 0 to 128, such as \"fd00::1/64\"";
#[cfg(feature = "settings")]
const ROUTE: &str =
    "a router's IPv6 address, or the name of a layer below, under \"default\" or a network such as \"fd00:1::/32\"";

/// What can be set for IPv6.
#[derive(Clone, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// One for each layer below, by its name.
    #[setting(skip)]
    pub interfaces: Vec<Interface>,
    /// Beside those to the networks of the interfaces and those that routers tell of.
    #[setting(skip)]
    pub routes: Vec<Route>,
    /// Whether packets for others are forwarded.
    pub forwarding: bool,
    /// Whether packets to all addresses but groups are taken, and sent from any, as a gateway does that ends
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
    /// Multicast groups whose packets are taken, beside those that every node is in.
    #[setting(list = group, expected = "an IPv6 multicast address")]
    pub groups: Vec<Ipv6Addr>,
    /// Hop limit of packets whose user sets none, where no router says otherwise.
    #[setting(1..=255)]
    pub hop_limit: u8,
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
            hop_limit: 64,
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
        config.routes = settings::routes(reader, below, ROUTE, Ipv6Addr::UNSPECIFIED)?;
        let own = ["address", "addresses", "link_local", "mtu", "neighbours", "discovery"];
        config.interfaces = settings::interfaces(reader, below, &own, |below, reader| {
            let mut interface = Interface::new(below, Ipv6Addr::UNSPECIFIED, 0);
            interface.read(reader)?;
            Ok(interface)
        })?;
        Ok(config)
    }
}

/// An interface: a layer below and what is known of the network behind it.
#[derive(Clone, PartialEq, Eq, Debug, Settings)]
pub struct Interface {
    /// The name of the layer below.
    #[setting(skip)]
    pub below: String,
    /// Our addresses there, each with how many leading bits name the network: 0 to 128. The link-local one is not among
    /// them.
    #[setting(with = addresses)]
    pub addresses: Vec<(Ipv6Addr, u8)>,
    /// Our address on this link alone.
    #[setting(
        text,
        expected = "an address in fe80::/10",
        unset = "of the MAC address, or of the lower half of the first address"
    )]
    pub link_local: Option<Ipv6Addr>,
    /// The largest packet that is sent in one piece; where the layer below reports less, less.
    #[setting(1280..=65535, octets)]
    pub mtu: u32,
    /// Who knows the link addresses of next hops.
    #[setting(with = neighbours)]
    pub neighbours: Neighbours,
}

impl Interface {
    /// An interface on the layer `below` with an MTU of 1500 octets and nobody to tell apart behind it.
    #[must_use]
    pub fn new(below: &str, address: Ipv6Addr, prefix: u8) -> Self {
        Self {
            below: below.to_owned(),
            addresses: vec![(address, prefix)],
            link_local: None,
            mtu: 1500,
            neighbours: Neighbours::One,
        }
    }
}

#[cfg(feature = "settings")]
fn group(text: &str) -> Option<Ipv6Addr> {
    text.parse().ok().filter(Ipv6Addr::is_multicast)
}

#[cfg(feature = "settings")]
fn addresses(place: &mut Vec<(Ipv6Addr, u8)>, reader: &Reader<'_>) -> Result<(), BuildError> {
    const OWN: &str = "Our address there, and how many of its bits name the network; without one only that of the link and those that routers give.";
    let (mut own, mut more) = (None, Vec::new());
    reader.maybe_text(&Key::new("address", OWN), NETWORK, settings::network, &mut own)?;
    reader.list(&Key::new("addresses", "Further addresses of ours there."), NETWORK, settings::network, &mut more)?;
    *place = own.into_iter().chain(more).collect();
    Ok(())
}

#[cfg(feature = "settings")]
fn neighbours(place: &mut Neighbours, reader: &Reader<'_>) -> Result<(), BuildError> {
    let texts = (
        "Who knows the link addresses of next hops: \"one\", as there is only one, or \"discover\", they are asked for (RFC 4861).",
        "\"one\", \"discover\", or a table of addresses and circuits",
        "a circuit \"vpi/vci\" such as \"0/100\", under the IPv6 address of its peer",
    );
    let mut discovery = Discovery::default();
    reader.table("discovery", |table| discovery.read(table))?;
    let word = |text: &str| match text {
        "one" => Some(Neighbours::One),
        "discover" => Some(Neighbours::Discover(discovery)),
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
    Table(Vec<(Ipv6Addr, Address)>),
    /// They are asked for: neighbour discovery, on a layer that has MAC addresses.
    Discover(Discovery),
}

/// How neighbours are discovered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Discovery {
    /// How often an address of ours is asked for before it is used (DupAddrDetectTransmits, RFC 4862 section 5.1); 0:
    /// it is used at once.
    #[setting(0..=255)]
    pub duplicate_transmits: u8,
    /// Whether router advertisements are acted on.
    #[setting(unset = "unless packets are forwarded")]
    pub advertisements: Option<bool>,
    /// How long a neighbour is held for reachable after it has been heard, on average (REACHABLE_TIME).
    #[setting(positive)]
    pub reachable: Duration,
    /// From one solicitation to the next (RETRANS_TIMER).
    #[setting(positive)]
    pub retransmit: Duration,
    /// How long a neighbour that may have gone is given to show itself before it is asked (DELAY_FIRST_PROBE_TIME).
    pub delay: Duration,
    /// How many neighbours are remembered.
    #[setting(1..=65535)]
    pub neighbours: usize,
    /// How many of them may still be asked for.
    #[setting(1..=65535)]
    pub unknown: usize,
    /// How many packets may wait for one neighbour.
    #[setting(0..=65535)]
    pub queue: usize,
}

impl Default for Discovery {
    /// RFC 4861 section 10, and bounds of our own.
    fn default() -> Self {
        Self {
            duplicate_transmits: 1,
            advertisements: None,
            reachable: Duration::from_secs(30),
            retransmit: Duration::from_secs(1),
            delay: Duration::from_secs(5),
            neighbours: 512,
            unknown: 64,
            queue: 64,
        }
    }
}

/// A route.
pub type Route = crate::internet::Route<Ipv6Addr>;

/// Where the packets of a route go.
pub type RouteTarget = crate::internet::RouteTarget<Ipv6Addr>;

/// What is wrong with a [`Route`].
pub type RouteError = crate::internet::RouteError<Ipv6Addr>;

/// What is wrong with a [`Config`].
pub type ConfigError = crate::internet::ConfigError<Ipv6Addr>;

/// Addresses of one link alone.
const LINK_LOCAL: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0);

impl Interface {
    fn check(&self) -> Result<(), ConfigError> {
        let below = self.below.clone();
        for &(found, prefix) in &self.addresses {
            if prefix > 128 {
                return Err(ConfigError::Prefix { below, found: prefix });
            }
            if found.is_unspecified() || found.is_multicast() || found.is_loopback() {
                return Err(ConfigError::Address { below, found, expected: "a unicast address" });
            }
        }
        if let Some(found) = self.link_local.filter(|it| !it.is_unicast_link_local()) {
            return Err(ConfigError::Address { below, found, expected: "an address in fe80::/10" });
        }
        let Neighbours::Discover(discovery) = &self.neighbours else {
            return Ok(());
        };
        let nothing = [
            ("a retransmit time of", discovery.retransmit.is_zero()),
            ("room for neighbours:", discovery.neighbours == 0),
            ("room for unknown neighbours:", discovery.unknown == 0),
        ];
        match nothing.into_iter().find(|(_, nothing)| *nothing) {
            Some((what, _)) => Err(ConfigError::Nothing { below, what }),
            None => Ok(()),
        }
    }
}

impl Config {
    /// Looks for what cannot be, and makes the routes: among prefixes of one length, networks of interfaces and then
    /// the order of the configuration.
    pub(super) fn check(&self) -> Result<Routes<Ipv6Addr>, ConfigError> {
        check_interfaces(self.interfaces.iter().map(|it| (it.below.as_str(), it.mtu)))?;
        self.interfaces.iter().try_for_each(Interface::check)?;
        Routes::check(&self.routes)?;
        let mut routes = Routes::default();
        for (interface, it) in self.interfaces.iter().enumerate() {
            for &(address, prefix) in &it.addresses {
                routes.add(address, prefix, interface, None);
            }
            routes.add(LINK_LOCAL, 10, interface, None);
        }
        let below: Vec<&str> = self.interfaces.iter().map(|it| it.below.as_str()).collect();
        routes.add_static(&self.routes, &below)?;
        Ok(routes)
    }
}
