//! Where an address of the program's network leads on this host.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::namespace::{GATEWAY_4, GATEWAY_6, OWN_4, OWN_6, RESOLVER};

/// The port of DNS.
pub(super) const DNS: u16 = 53;

/// What leads where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Places {
    /// Whether the gateway's address is this host's loopback interface.
    pub(crate) loopback: bool,
    /// Who answers queries for names.
    pub(crate) resolver: Option<SocketAddr>,
    /// The addresses of the gateway itself.
    pub(crate) own: Vec<IpAddr>,
    /// Those of the networks before it, which are nothing to this host.
    pub(crate) emulated: Vec<IpAddr>,
}

impl Places {
    /// With the resolver of this host, for a gateway with addresses of its `own` and `emulated` hosts before it.
    pub(crate) fn of_host(loopback: bool, own: Vec<IpAddr>, emulated: Vec<IpAddr>) -> Self {
        let text = std::fs::read_to_string(RESOLVER).unwrap_or_default();
        Self { loopback, resolver: resolver(&text), own, emulated }
    }

    /// The same behind a single path.
    pub(crate) fn of_link(loopback: bool) -> Self {
        let (own, emulated) = ([GATEWAY_4.into(), GATEWAY_6.into()], [OWN_4.into(), OWN_6.into()]);
        Self::of_host(loopback, own.to_vec(), emulated.to_vec())
    }

    /// Where this host connects to for `asked`; nowhere, where the program has no business there.
    pub(super) fn of(&self, asked: SocketAddr) -> Option<SocketAddr> {
        let port = asked.port();
        match asked.ip() {
            ip if self.own.contains(&ip) => {
                let resolver = self.resolver.filter(|_| port == DNS);
                let loopback = match ip {
                    IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
                    IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
                };
                resolver.or_else(|| self.loopback.then(|| SocketAddr::new(loopback, port)))
            }
            // What has a meaning on one host or one link has none across a gateway. The loopback interface is behind
            // the gateway's address alone.
            ip if self.emulated.contains(&ip) => None,
            ip if ip.is_loopback() || ip.is_unspecified() || ip.is_multicast() => None,
            IpAddr::V4(ip) if ip.is_broadcast() || ip.is_link_local() || ip.octets().starts_with(&[0]) => None,
            IpAddr::V6(ip) if ip.is_unicast_link_local() || ip.to_ipv4().is_some() => None,
            IpAddr::V4(_) | IpAddr::V6(_) => Some(asked),
        }
    }
}

/// The same port of the other loopback address, for a server that listens on that alone; for other addresses there is
/// none.
pub(super) fn other(place: SocketAddr) -> Option<SocketAddr> {
    let other = match place.ip() {
        IpAddr::V4(Ipv4Addr::LOCALHOST) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::LOCALHOST) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V4(_) | IpAddr::V6(_) => return None,
    };
    Some(SocketAddr::new(other, place.port()))
}

/// The first resolver that a `resolv.conf` names; programs take the one of their own host where it names none
/// (`resolv.conf(5)`).
fn resolver(text: &str) -> Option<SocketAddr> {
    let named = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        // Of a link-local address the zone is left out.
        words.next().filter(|word| *word == "nameserver").and_then(|_| words.next())?.parse().ok()
    });
    let mut named = named;
    Some(SocketAddr::new(named.next().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)), DNS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(places: &Places, asked: &str) -> Option<String> {
        places.of(asked.parse().unwrap()).map(|place| place.to_string())
    }

    #[test]
    fn the_gateway_is_this_host_and_its_resolver() {
        let resolver = resolver("nameserver 192.0.2.53\nnameserver 192.0.2.54");
        let mut places = Places { resolver, ..Places::of_link(true) };
        assert_eq!(of(&places, "198.18.0.1:80").as_deref(), Some("127.0.0.1:80"));
        assert_eq!(of(&places, "[fd6b:756d:696b::1]:80").as_deref(), Some("[::1]:80"));
        assert_eq!(of(&places, "198.18.0.1:53").as_deref(), Some("192.0.2.53:53"));
        assert_eq!(of(&places, "192.0.2.1:53").as_deref(), Some("192.0.2.1:53"));
        places.loopback = false;
        assert_eq!(of(&places, "198.18.0.1:80"), None);
        assert_eq!(of(&places, "198.18.0.1:53").as_deref(), Some("192.0.2.53:53"));
    }

    #[test]
    fn either_loopback_address_stands_for_the_other() {
        let of = |place: &str| other(place.parse().unwrap()).map(|place| place.to_string());
        assert_eq!(of("127.0.0.1:80").as_deref(), Some("[::1]:80"));
        assert_eq!(of("[::1]:80").as_deref(), Some("127.0.0.1:80"));
        assert_eq!(of("127.0.0.53:53"), None);
        assert_eq!(of("192.0.2.1:80"), None);
    }

    #[test]
    fn addresses_of_one_host_or_link_lead_nowhere() {
        let places = Places { resolver: None, ..Places::of_link(true) };
        for asked in [
            "127.0.0.1:80",
            "0.0.0.0:80",
            "0.1.2.3:80",
            "224.0.0.1:80",
            "255.255.255.255:80",
            "169.254.1.1:80",
            "198.18.0.2:80",
            "[::1]:80",
            "[::]:80",
            "[ff02::1]:80",
            "[fe80::1]:80",
            "[::ffff:127.0.0.1]:80",
            "[::7f00:1]:80",
        ] {
            assert_eq!(of(&places, asked), None, "{asked}");
        }
        for asked in ["10.0.0.1:80", "192.0.2.1:80", "[2001:db8::1]:80", "[fd00::1]:80"] {
            assert_eq!(of(&places, asked).as_deref(), Some(asked));
        }
    }

    #[test]
    fn the_first_resolver_counts() {
        let first = |text| resolver(text).unwrap().to_string();
        assert_eq!(
            first("# nameserver 192.0.2.1\nnameserver fe80::1%eth0\nnameserver 2001:db8::1\n"),
            "[2001:db8::1]:53"
        );
        assert_eq!(first(""), "127.0.0.1:53");
    }
}
