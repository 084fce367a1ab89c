//! What can be set, and what is wrong with settings that cannot be.

use core::fmt;
use core::net::IpAddr;
#[cfg(feature = "settings")]
use core::net::{Ipv4Addr, Ipv6Addr};

use crate::settable::Settings;
#[cfg(feature = "settings")]
use kumiki_settings::{BuildError, HasSettings, Key, Reader};

#[cfg(feature = "settings")]
use crate::internet::settings;

/// What can be set for VNET.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Config {
    /// One for each layer below, by its name; at least one.
    pub interfaces: Vec<Interface>,
    /// Beside those to the networks of the interfaces.
    pub routes: Vec<Route>,
}

/// An interface: a layer below and what is known of the network behind it.
#[derive(Clone, PartialEq, Eq, Debug, Settings)]
pub struct Interface {
    /// The name of the layer below.
    #[setting(skip)]
    pub below: String,
    /// Our addresses there, each with how many of its leading bits name the network.
    #[setting(list = network, expected = "an IP address and the length of its prefix, such as \"10.0.0.1/24\" or \"fd00::1/64\"", required = "a list of our addresses there")]
    pub addresses: Vec<(IpAddr, u8)>,
    /// The largest unit that is handed to the layer below.
    #[setting(1..=65535, octets, unset = "what the layer below says")]
    pub mtu: Option<u32>,
    /// Whether what is for all hosts goes there too.
    pub broadcast: bool,
}

impl Interface {
    /// An interface on the layer `below` that takes broadcasts and units as large as that layer says.
    #[must_use]
    pub fn new(below: &str, address: IpAddr, prefix: u8) -> Self {
        Self { below: below.to_owned(), addresses: vec![(address, prefix)], mtu: None, broadcast: true }
    }
}

/// A network that is reached by an interface: its hosts are neighbours there, for VNET has no header in which a router
/// could find them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Route {
    /// The network; an unspecified address with a prefix of 0 stands for all of its version.
    pub network: IpAddr,
    /// How many leading bits name it.
    pub prefix: u8,
    /// The name of the layer below the interface.
    pub below: String,
}

/// An address of either version, and its network.
#[cfg(feature = "settings")]
fn network(text: &str) -> Option<(IpAddr, u8)> {
    fn either((address, prefix): (impl Into<IpAddr>, u8)) -> (IpAddr, u8) {
        (address.into(), prefix)
    }
    let of_version_6 = || settings::network::<Ipv6Addr>(text).map(either);
    settings::network::<Ipv4Addr>(text).map(either).or_else(of_version_6)
}

#[cfg(feature = "settings")]
fn routes(reader: &Reader<'_>, below: &[&str]) -> Result<Vec<Route>, BuildError> {
    const ROUTES: Key = Key::new("routes", "By which layer below the hosts of a network are reached straight.");
    const EXPECTED: &str =
        "the name of a layer below, under \"default\" or a network such as \"10.1.0.0/16\" or \"fd01::/16\"";
    let mut routes = Vec::new();
    let parse = |to: &str, by: &str| {
        let networks = match to {
            "default" => vec![(Ipv4Addr::UNSPECIFIED.into(), 0), (Ipv6Addr::UNSPECIFIED.into(), 0)],
            to => vec![network(to)?],
        };
        let route = |(network, prefix)| Route { network, prefix, below: by.to_owned() };
        below.contains(&by).then(|| networks.into_iter().map(route).collect::<Vec<_>>())
    };
    reader.pairs(&ROUTES, "<network>", EXPECTED, parse, &mut routes)?;
    Ok(routes.into_iter().flatten().collect())
}

/// What is wrong with a [`Config`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConfigError {
    /// VNET without an interface.
    NoInterface,
    /// Two interfaces on one layer.
    Twice(String),
    /// An interface without an address.
    NoAddress(String),
    /// An address that no host has, or that is not ours alone.
    Address {
        /// The layer below.
        below: String,
        /// The address.
        found: IpAddr,
    },
    /// A prefix that no address of that version has.
    Prefix {
        /// The address, of an interface or a route.
        address: IpAddr,
        /// The prefix.
        found: u8,
        /// The bits of such an address.
        most: u8,
    },
    /// A route to a layer that no interface stands on.
    NoSuchInterface {
        /// The network of the route.
        network: IpAddr,
        /// The name in the route.
        below: String,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoInterface => f.write_str("VNET has no interface; it needs one for each layer below, by its name"),
            Self::Twice(name) => write!(f, "two interfaces stand on `{name}`; names of the layers below must differ"),
            Self::NoAddress(below) => {
                write!(f, "the interface on `{below}` has no address; it needs one, so that peers can answer")
            }
            Self::Address { below, found } => {
                write!(f, "the interface on `{below}` has the address {found}, expected that of one host")
            }
            Self::Prefix { address, found, most } => {
                write!(f, "{address} has a prefix of {found} bits, expected 0 to {most}")
            }
            Self::NoSuchInterface { network, below } => {
                write!(f, "the route to {network} leads to `{below}`, and there is no interface of that name")
            }
        }
    }
}

impl core::error::Error for ConfigError {}

impl Config {
    /// What settings say, on layers `below` of these names.
    ///
    /// # Errors
    /// [`BuildError`] names the setting that is wrong, and what would be right.
    #[cfg(feature = "settings")]
    pub fn of_settings(reader: &Reader<'_>, below: &[&str]) -> Result<Self, BuildError> {
        let routes = routes(reader, below)?;
        let own = ["addresses", "mtu", "broadcast"];
        let interfaces = settings::interfaces(reader, below, &own, |below, reader| {
            let mut interface =
                Interface { below: below.to_owned(), addresses: Vec::new(), mtu: None, broadcast: true };
            interface.read(reader)?;
            Ok(interface)
        })?;
        Ok(Self { interfaces, routes })
    }

    /// Looks for what cannot be.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.interfaces.is_empty() {
            return Err(ConfigError::NoInterface);
        }
        for (number, interface) in self.interfaces.iter().enumerate() {
            let below = || interface.below.clone();
            let before = self.interfaces.iter().take(number);
            if before.into_iter().any(|it| it.below == interface.below) {
                return Err(ConfigError::Twice(below()));
            }
            if interface.addresses.is_empty() {
                return Err(ConfigError::NoAddress(below()));
            }
            for &(found, prefix) in &interface.addresses {
                check_prefix(found, prefix)?;
                if found.is_unspecified() || found.is_multicast() || is_limited_broadcast(found) {
                    let below = below();
                    return Err(ConfigError::Address { below, found });
                }
            }
        }
        for route in &self.routes {
            check_prefix(route.network, route.prefix)?;
            self.interface(&route.below)
                .ok_or_else(|| ConfigError::NoSuchInterface { network: route.network, below: route.below.clone() })?;
        }
        Ok(())
    }

    /// The interface on the layer called `below`.
    pub(super) fn interface(&self, below: &str) -> Option<usize> {
        self.interfaces.iter().position(|it| it.below == below)
    }
}

fn check_prefix(address: IpAddr, found: u8) -> Result<(), ConfigError> {
    let most = if address.is_ipv4() { 32 } else { 128 };
    if found > most {
        return Err(ConfigError::Prefix { address, found, most });
    }
    Ok(())
}

/// Whether `address` means all hosts on the network of whoever sends to it.
pub(super) const fn is_limited_broadcast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_broadcast(),
        IpAddr::V6(_) => false,
    }
}
