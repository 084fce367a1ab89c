//! What is wrong with configurations of either version.

use thiserror::Error;

use super::route::Bits;
use super::static_routes::RouteError;

/// What is wrong with a configuration.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ConfigError<A: Bits> {
    /// IP without an interface.
    #[error("{} has no interface; it needs one for each layer below, by its name", A::VERSION)]
    NoInterface,
    /// Two interfaces on one layer.
    #[error("two interfaces stand on `{0}`; names of the layers below must differ")]
    Twice(String),
    /// A prefix that no address has.
    #[error("the interface on `{below}` has a prefix of {found} bits, expected 0 to {}", A::LEN)]
    Prefix {
        /// The layer below.
        below: String,
        /// The prefix.
        found: u8,
    },
    /// An address that no interface can have.
    #[error("the interface on `{below}` has the address {found}, expected {expected}")]
    Address {
        /// The layer below.
        below: String,
        /// The address.
        found: A,
        /// What it may be.
        expected: &'static str,
    },
    /// An MTU that no link may have.
    #[error(
        "the interface on `{below}` has an MTU of {found} octets, expected {} to 65535 ({})",
        A::LEAST_MTU,
        A::LEAST_MTU_BY
    )]
    Mtu {
        /// The layer below.
        below: String,
        /// The MTU.
        found: u32,
    },
    /// A route that cannot be.
    #[error(transparent)]
    Route(#[from] RouteError<A>),
    /// Neighbour discovery that could not discover anybody, or never pause.
    #[error("neighbour discovery on `{below}` has {what} 0, expected more")]
    Nothing {
        /// The layer below.
        below: String,
        /// Which setting.
        what: &'static str,
    },
}

/// Looks for what every interface of a configuration has: the name of a layer below of its own, and an MTU that a link may have.
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
