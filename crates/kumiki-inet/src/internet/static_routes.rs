//! The routes of a configuration.

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

use super::route::{Bits, Routes};

/// A route.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Route<A> {
    /// The network; the unspecified address with a prefix of 0 is the default route.
    pub network: A,
    /// How many leading bits name the network: 0 to 32, or 0 to 128.
    pub prefix: u8,
    /// Where its datagrams go.
    pub via: RouteTarget<A>,
}

/// Where the datagrams of a route go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RouteTarget<A> {
    /// To this router, which is on the network of one of the interfaces.
    Gateway(A),
    /// Straight to their destination, by the interface on the layer of this name.
    Interface(String),
}

impl Route<Ipv4Addr> {
    /// The default route, by way of `gateway`.
    #[must_use]
    pub const fn default_by(gateway: Ipv4Addr) -> Self {
        Self { network: Ipv4Addr::UNSPECIFIED, prefix: 0, via: RouteTarget::Gateway(gateway) }
    }
}

impl Route<Ipv6Addr> {
    /// The default route, by way of `gateway`.
    #[must_use]
    pub const fn default_by(gateway: Ipv6Addr) -> Self {
        Self { network: Ipv6Addr::UNSPECIFIED, prefix: 0, via: RouteTarget::Gateway(gateway) }
    }
}

/// What is wrong with a [`Route`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RouteError<A> {
    /// A prefix that no address has.
    Prefix {
        /// The network of the route.
        network: A,
        /// Its prefix.
        found: u8,
        /// The bits of an address.
        most: u8,
    },
    /// Bits beyond the prefix.
    HostBits {
        /// The network of the route.
        found: A,
        /// Its prefix.
        prefix: u8,
        /// The network it may have meant.
        expected: A,
    },
    /// A router that is nowhere near.
    Gateway {
        /// The router.
        gateway: A,
    },
    /// A layer that no interface stands on.
    NoSuchInterface {
        /// The name in the route.
        found: String,
        /// The names there are.
        known: String,
    },
}

impl<A: fmt::Display> fmt::Display for RouteError<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix { network, found, most } => {
                write!(f, "the route to {network} has a prefix of {found} bits, expected 0 to {most}")
            }
            Self::HostBits { found, prefix, expected } => {
                write!(f, "the route to {found}/{prefix} has bits set beyond its prefix, expected {expected}/{prefix}")
            }
            Self::Gateway { gateway } => {
                write!(f, "the route by way of {gateway} leads nowhere: no interface is on a network with {gateway}")
            }
            Self::NoSuchInterface { found, known } => {
                write!(f, "a route leads to the interface on `{found}`; there are interfaces on {known}")
            }
        }
    }
}

impl<A: fmt::Debug + fmt::Display> core::error::Error for RouteError<A> {}

impl<A: Bits> Routes<A> {
    /// Looks for what `routes` cannot be, where they lead aside.
    pub(crate) fn check(routes: &[Route<A>]) -> Result<(), RouteError<A>> {
        for route in routes {
            let (found, prefix) = (route.network, route.prefix);
            if prefix > A::LEN {
                return Err(RouteError::Prefix { network: found, found: prefix, most: A::LEN });
            }
            let expected = A::of_word(found.word() & A::mask(prefix));
            if expected != found {
                return Err(RouteError::HostBits { found, prefix, expected });
            }
        }
        Ok(())
    }

    /// Adds `routes`, which have been checked, in their order. Interfaces are called by the names of the layers `below`
    /// them; gateways are looked for on the networks that are in the table already.
    pub(crate) fn add_static(&mut self, routes: &[Route<A>], below: &[&str]) -> Result<(), RouteError<A>> {
        let connected = self.clone();
        for route in routes {
            let (interface, gateway) = match &route.via {
                RouteTarget::Gateway(gateway) => {
                    let hop = connected.lookup(*gateway, |_| true);
                    let hop = hop.ok_or(RouteError::Gateway { gateway: *gateway })?;
                    (hop.interface, Some(*gateway))
                }
                RouteTarget::Interface(name) => {
                    let found = below.iter().position(|below| below == name);
                    let found = found
                        .ok_or_else(|| RouteError::NoSuchInterface { found: name.clone(), known: names(below) })?;
                    (found, None)
                }
            };
            self.add(route.network, route.prefix, interface, gateway);
        }
        Ok(())
    }
}

/// The names of the layers below, for people.
pub(crate) fn names(below: &[&str]) -> String {
    let names: Vec<String> = below.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
