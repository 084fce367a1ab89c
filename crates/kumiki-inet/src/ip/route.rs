//! The routes of a configuration.

use core::net::Ipv4Addr;

use super::config::{Config, ConfigError};
use crate::internet::Routes;

/// The bits of an address that a prefix of `prefix` bits covers; all of them beyond 32.
pub(super) const fn mask(prefix: u8) -> u32 {
    match u32::MAX.checked_shl(32_u32.saturating_sub(prefix as u32)) {
        Some(mask) => mask,
        None => 0,
    }
}

/// The table of a configuration that has been checked: among prefixes of one length, networks of interfaces and then the
/// order of the configuration.
pub(super) fn routes(config: &Config) -> Result<Routes<Ipv4Addr>, ConfigError> {
    let mut routes = Routes::default();
    for (interface, it) in config.interfaces.iter().enumerate() {
        // None has been agreed on yet.
        if !it.address.is_unspecified() {
            routes.add(it.address, it.prefix, interface, None);
        }
        if let Some(peer) = it.peer {
            routes.add(peer, 32, interface, None);
        }
    }
    routes.add_static(&config.routes, &config.below())?;
    Ok(routes)
}
