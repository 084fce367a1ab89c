//! The routes of a configuration.

use core::net::Ipv6Addr;

use super::config::{Config, ConfigError, Via};
use crate::inet::Routes;

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
    // Gateways are looked for on the networks of interfaces alone.
    let connected = routes.clone();
    for route in &config.routes {
        let (interface, gateway) = match &route.via {
            Via::Gateway(gateway) => {
                let hop = connected.lookup(*gateway, |_| true);
                let hop = hop.ok_or(ConfigError::Gateway { gateway: *gateway })?;
                (hop.interface, Some(*gateway))
            }
            Via::Interface(name) => {
                let found = config.interfaces.iter().position(|it| it.below == *name);
                let found = found.ok_or_else(|| ConfigError::NoSuchInterface {
                    found: name.clone(),
                    known: config.known(),
                })?;
                (found, None)
            }
        };
        routes.add(route.network, route.prefix, interface, gateway);
    }
    Ok(routes)
}
