//! What can be set, and what is wrong with settings that cannot be.

use core::net::IpAddr;

use thiserror::Error;

/// What can be set for VNET.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Config {
    /// One for each layer below, by its name; at least one.
    pub interfaces: Vec<Interface>,
    /// Beside those to the networks of the interfaces.
    pub routes: Vec<Route>,
}

/// An interface: a layer below and what is known of the network behind it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// The name of the layer below.
    pub below: String,
    /// Our addresses there, at least one, each with how many of its leading bits name the network.
    pub addresses: Vec<(IpAddr, u8)>,
    /// The largest unit that is handed to it, in octets; what the layer below reports where that is less, or where this is
    /// not given.
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

/// A network that is reached by an interface: its hosts are neighbours there, for VNET has no header in which a router could
/// find them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Route {
    /// The network; an unspecified address with a prefix of 0 stands for all of its version.
    pub network: IpAddr,
    /// How many leading bits name it.
    pub prefix: u8,
    /// The name of the layer below the interface.
    pub below: String,
}

/// What is wrong with a [`Config`].
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ConfigError {
    /// VNET without an interface.
    #[error("VNET has no interface; it needs one for each layer below, by its name")]
    NoInterface,
    /// Two interfaces on one layer.
    #[error("two interfaces stand on `{0}`; names of the layers below must differ")]
    Twice(String),
    /// An interface without an address.
    #[error("the interface on `{0}` has no address; it needs one, so that peers can answer")]
    NoAddress(String),
    /// An address that no host has, or that is not ours alone.
    #[error("the interface on `{below}` has the address {found}, expected that of one host")]
    Address {
        /// The layer below.
        below: String,
        /// The address.
        found: IpAddr,
    },
    /// A prefix that no address of that version has.
    #[error("{address} has a prefix of {found} bits, expected 0 to {most}")]
    Prefix {
        /// The address, of an interface or a route.
        address: IpAddr,
        /// The prefix.
        found: u8,
        /// The bits of such an address.
        most: u8,
    },
    /// A route to a layer that no interface stands on.
    #[error("the route to {network} leads to `{below}`, and there is no interface of that name")]
    NoSuchInterface {
        /// The network of the route.
        network: IpAddr,
        /// The name in the route.
        below: String,
    },
}

impl Config {
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
