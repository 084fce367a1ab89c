//! Whom a caller means.

use std::io;
use std::net::{IpAddr, SocketAddr};

use kumiki_net::TcpStream;

use super::Shared;
use crate::namespace::{GATEWAY_4, GATEWAY_6};

/// A host by its name or address, and a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Target {
    pub(super) host: Host,
    pub(super) port: u16,
}

/// See [`Target`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Host {
    Address(IpAddr),
    Name(String),
}

impl Host {
    /// From a URI or a request: a name, an address, or one of IPv6 in brackets.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some(inner) = text.strip_prefix('[') {
            return Some(Self::Address(IpAddr::V6(inner.strip_suffix(']')?.parse().ok()?)));
        }
        let is_name = !text.is_empty() && !text.contains([':', '/', '@', ' ']);
        is_name.then(|| text.parse().map_or_else(|_| Self::Name(text.to_owned()), Self::Address))
    }
}

impl core::fmt::Display for Target {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match &self.host {
            Host::Address(address) => SocketAddr::new(*address, self.port).fmt(f),
            Host::Name(name) => write!(f, "{name}:{}", self.port),
        }
    }
}

impl Target {
    /// Where that is, as seen from the near end of the path, where this host's loopback interface is at the gateway;
    /// and as the caller knows it.
    pub(super) async fn addresses(&self, shared: &Shared) -> io::Result<Vec<(SocketAddr, SocketAddr)>> {
        let found: Vec<SocketAddr> = match &self.host {
            Host::Address(address) => vec![SocketAddr::new(*address, self.port)],
            Host::Name(name) => tokio::net::lookup_host((name.as_str(), self.port)).await?.collect(),
        };
        Ok(found.into_iter().filter_map(|meant| Some((behind_path(meant, shared.loopback)?, meant))).collect())
    }

    /// A connection to it across the path: to the first of its addresses that answers.
    pub(super) async fn connect(&self, shared: &Shared) -> io::Result<TcpStream> {
        let mut failed = io::Error::new(io::ErrorKind::ConnectionRefused, "the loopback interface is not for programs");
        for (address, _) in self.addresses(shared).await? {
            match shared.stack.scope(TcpStream::connect(address)).await {
                Ok(stream) => return Ok(stream),
                Err(why) => failed = why,
            }
        }
        Err(failed)
    }
}

/// Where this host's `at` is as seen from the near end of the path; nowhere, where that is not for callers. As for
/// connections of this host itself, nobody in particular is the host, and an address of IPv4 may be written as one of
/// IPv6.
fn behind_path(at: SocketAddr, loopback: bool) -> Option<SocketAddr> {
    let gateway = match at.ip().to_canonical() {
        ip if !ip.is_loopback() && !ip.is_unspecified() => return Some(at),
        IpAddr::V4(_) => GATEWAY_4.into(),
        IpAddr::V6(_) => GATEWAY_6.into(),
    };
    loopback.then(|| SocketAddr::new(gateway, at.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_is_at_the_gateway_however_it_is_written() {
        let of = |at: &str, loopback| behind_path(at.parse().unwrap(), loopback).map(|it| it.ip());
        for at in ["127.0.0.1:80", "127.1.2.3:80", "0.0.0.0:80", "[::ffff:127.0.0.1]:80", "[::ffff:0.0.0.0]:80"] {
            assert_eq!((of(at, true), of(at, false)), (Some(GATEWAY_4.into()), None), "{at}");
        }
        for at in ["[::1]:80", "[::]:80"] {
            assert_eq!((of(at, true), of(at, false)), (Some(GATEWAY_6.into()), None), "{at}");
        }
        for at in ["192.0.2.1:80", "[2001:db8::1]:80", "[::ffff:192.0.2.1]:80"] {
            let ip = at.parse::<SocketAddr>().unwrap().ip();
            assert_eq!((of(at, true), of(at, false)), (Some(ip), Some(ip)), "{at}");
        }
    }

    #[test]
    fn hosts_are_names_or_addresses() {
        let address = |text: &str| Some(Host::Address(text.parse().unwrap()));
        for (text, host) in [
            ("example.org", Some(Host::Name("example.org".to_owned()))),
            ("192.0.2.1", address("192.0.2.1")),
            ("[2001:db8::1]", address("2001:db8::1")),
            ("2001:db8::1", None),
            ("[2001:db8::1", None),
            ("[192.0.2.1]", None),
            ("user@example.org", None),
            ("", None),
        ] {
            assert_eq!(Host::parse(text), host, "{text}");
        }
    }
}
