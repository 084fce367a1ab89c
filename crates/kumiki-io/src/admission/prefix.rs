//! Prefixes of addresses: who stands for one caller.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The first bits of an address, the rest zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

impl Prefix {
    /// The host of an address: itself if it is one of IPv4, and else the /64, which is one link and can be all of one
    /// machine (RFC 4291, section 2.5.1).
    #[must_use]
    pub fn host(address: IpAddr) -> Self {
        Self::of(address, 32, 64)
    }

    /// The network of an address: its /24, or its /48, as sites are given them (RFC 6177).
    #[must_use]
    pub fn network(address: IpAddr) -> Self {
        Self::of(address, 24, 48)
    }

    fn of(address: IpAddr, four: u8, six: u8) -> Self {
        // A listener for both versions has callers of IPv4 as ::ffff:a.b.c.d.
        match address.to_canonical() {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(four)).unwrap_or(0);
                Self { address: Ipv4Addr::from_bits(address.to_bits() & mask).into(), length: four }
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(six)).unwrap_or(0);
                Self { address: Ipv6Addr::from_bits(address.to_bits() & mask).into(), length: six }
            }
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, length } = self;
        if address.is_ipv4() && *length == 32 {
            return write!(f, "{address}");
        }
        write!(f, "{address}/{length}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_network_by_its_version() {
        for (address, host, network) in [
            ("10.1.2.3", "10.1.2.3", "10.1.2.0/24"),
            ("::ffff:10.1.2.3", "10.1.2.3", "10.1.2.0/24"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1::/48"),
            ("::1", "::/64", "::/48"),
        ] {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(Prefix::host(address).to_string(), host);
            assert_eq!(Prefix::network(address).to_string(), network);
        }
    }
}
