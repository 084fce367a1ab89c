//! What is wrong with configurations of either version.

use core::fmt;

use super::route::Bits;
use super::static_routes::RouteError;

/// What is wrong with a configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConfigError<A: Bits> {
    /// IP without an interface.
    NoInterface,
    /// Two interfaces on one layer.
    Twice(String),
    /// A prefix that no address has.
    Prefix {
        /// The layer below.
        below: String,
        /// The prefix.
        found: u8,
    },
    /// An address that no interface can have.
    Address {
        /// The layer below.
        below: String,
        /// The address.
        found: A,
        /// What it may be.
        expected: &'static str,
    },
    /// An MTU that no link may have.
    Mtu {
        /// The layer below.
        below: String,
        /// The MTU.
        found: u32,
    },
    /// A route that cannot be.
    Route(RouteError<A>),
    /// Neighbour discovery that could not discover anybody, or never pause.
    Nothing {
        /// The layer below.
        below: String,
        /// Which setting.
        what: &'static str,
    },
}

impl<A: Bits> fmt::Display for ConfigError<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoInterface => {
                write!(f, "{} has no interface; it needs one for each layer below, by its name", A::VERSION)
            }
            Self::Twice(name) => write!(f, "two interfaces stand on `{name}`; names of the layers below must differ"),
            Self::Prefix { below, found } => {
                write!(f, "the interface on `{below}` has a prefix of {found} bits, expected 0 to {}", A::LEN)
            }
            Self::Address { below, found, expected } => {
                write!(f, "the interface on `{below}` has the address {found}, expected {expected}")
            }
            Self::Mtu { below, found } => write!(
                f,
                "the interface on `{below}` has an MTU of {found} octets, expected {} to 65535 ({})",
                A::LEAST_MTU,
                A::LEAST_MTU_BY
            ),
            Self::Route(why) => why.fmt(f),
            Self::Nothing { below, what } => write!(f, "neighbour discovery on `{below}` has {what} 0, expected more"),
        }
    }
}

impl<A: Bits> core::error::Error for ConfigError<A> {}

impl<A: Bits> From<RouteError<A>> for ConfigError<A> {
    fn from(why: RouteError<A>) -> Self {
        Self::Route(why)
    }
}

/// Looks for what every interface of a configuration has: the name of a layer below of its own, and an MTU that a link
/// may have.
pub(crate) fn check_interfaces<'a, A: Bits>(
    interfaces: impl Iterator<Item = (&'a str, u32)> + Clone,
) -> Result<(), ConfigError<A>> {
    if interfaces.clone().next().is_none() {
        return Err(ConfigError::NoInterface);
    }
    for (number, (below, found)) in interfaces.clone().enumerate() {
        if interfaces.clone().take(number).any(|(other, _)| other == below) {
            return Err(ConfigError::Twice(below.to_owned()));
        }
        if !(A::LEAST_MTU..=65535).contains(&found) {
            return Err(ConfigError::Mtu { below: below.to_owned(), found });
        }
    }
    Ok(())
}
