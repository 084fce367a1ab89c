//! Which way: longest prefix match, by binary search among the prefixes of each length.

use core::net::Ipv4Addr;

use super::config::{Config, ConfigError, Via};

/// The bits of an address that a prefix of `prefix` bits covers; all of them beyond 32.
pub(super) const fn mask(prefix: u8) -> u32 {
    match u32::MAX.checked_shl(32_u32.saturating_sub(prefix as u32)) {
        Some(mask) => mask,
        None => 0,
    }
}

/// Where a datagram leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hop {
    /// Which of the interfaces.
    pub(super) interface: usize,
    /// To whom on that network: the destination itself, or a router.
    pub(super) next: Ipv4Addr,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    network: u32,
    interface: usize,
    gateway: Option<Ipv4Addr>,
}

/// The routing table.
#[derive(Clone, Debug, Default)]
pub(super) struct Routes {
    /// Those of one prefix length together, longest first.
    lengths: Vec<Length>,
}

/// The routes of one prefix length.
#[derive(Clone, Debug)]
struct Length {
    mask: u32,
    /// In order of networks; among equals, networks of interfaces and then the order of the configuration.
    entries: Vec<Entry>,
}

impl Routes {
    /// The table of a configuration that has been checked.
    pub(super) fn new(config: &Config) -> Result<Self, ConfigError> {
        let mut routes = Self::default();
        for (interface, it) in config.interfaces.iter().enumerate() {
            routes.add(it.address, it.prefix, interface, None);
            if let Some(peer) = it.peer {
                routes.add(peer, 32, interface, None);
            }
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

    fn add(&mut self, network: Ipv4Addr, prefix: u8, interface: usize, gateway: Option<Ipv4Addr>) {
        let mask = mask(prefix);
        let entry = Entry {
            network: network.to_bits() & mask,
            interface,
            gateway,
        };
        let place = self.lengths.partition_point(|length| length.mask > mask);
        if self
            .lengths
            .get(place)
            .is_none_or(|length| length.mask != mask)
        {
            let entries = Vec::new();
            self.lengths.insert(place, Length { mask, entries });
        }
        if let Some(length) = self.lengths.get_mut(place) {
            let at = length
                .entries
                .partition_point(|other| other.network <= entry.network);
            length.entries.insert(at, entry);
        }
    }

    /// The way to `to` by an interface that is `usable`.
    pub(super) fn lookup(&self, to: Ipv4Addr, usable: impl Fn(usize) -> bool) -> Option<Hop> {
        let entry = self.lengths.iter().find_map(|length| {
            let network = to.to_bits() & length.mask;
            let first = length
                .entries
                .partition_point(|entry| entry.network < network);
            length
                .entries
                .get(first..)?
                .iter()
                .take_while(|entry| entry.network == network)
                .find(|entry| usable(entry.interface))
        })?;
        Some(Hop {
            interface: entry.interface,
            next: entry.gateway.unwrap_or(to),
        })
    }
}
