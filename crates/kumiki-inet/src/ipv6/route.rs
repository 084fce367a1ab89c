//! The routes of a configuration.

use core::net::Ipv6Addr;

use super::config::{Config, ConfigError};
use crate::internet::Routes;

/// Addresses of one link alone.
const LINK_LOCAL: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0);

/// The table of a configuration that has been checked: among prefixes of one length, networks of interfaces and then the
/// order of the configuration.
pub(super) fn routes(config: &Config) -> Result<Routes<Ipv6Addr>, ConfigError> {
    let mut routes = Routes::default();
    for (interface, it) in config.interfaces.iter().enumerate() {
        for &(address, prefix) in &it.addresses {
            routes.add(address, prefix, interface, None);
        }
        routes.add(LINK_LOCAL, 10, interface, None);
    }
    routes.add_static(&config.routes, &config.below())?;
    Ok(routes)
}
