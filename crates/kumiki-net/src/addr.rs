//! Addresses as users write them, and what they stand for.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::io;

use crate::Stack;
use crate::sockets::error::says_no_version;

/// What can be turned into socket addresses: the same types as tokio's `ToSocketAddrs`.
///
/// A name is looked up in the network of the [stack](Stack::current) that asks: in a simulation these are the names of
/// its hosts, and `localhost`.
pub trait ToSocketAddrs: sealed::ToSocketAddrs {}

impl<T: sealed::ToSocketAddrs + ?Sized> ToSocketAddrs for T {}

/// What somebody wrote, before names are looked up.
#[derive(Debug)]
pub enum UnresolvedAddr {
    /// Addresses.
    Addresses(Vec<SocketAddr>),
    /// A name and a port.
    Name(String, u16),
    /// Neither.
    Wrong(&'static str),
}

impl UnresolvedAddr {
    /// The addresses; at least one.
    pub(crate) fn resolve(self, stack: &Stack) -> io::Result<Vec<SocketAddr>> {
        let found = match self {
            Self::Addresses(addresses) => addresses,
            Self::Name(name, port) => {
                let addresses = if name.eq_ignore_ascii_case("localhost") {
                    vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]
                } else {
                    stack.lookup(&name)?
                };
                addresses.into_iter().map(|ip| SocketAddr::new(ip, port)).collect()
            }
            Self::Wrong(why) => return Err(io::Error::new(io::ErrorKind::InvalidInput, why)),
        };
        if found.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "could not resolve to any address"));
        }
        Ok(found)
    }

    fn of_host(host: &str, port: u16) -> Self {
        match host.parse() {
            Ok(ip) => Self::Addresses(vec![SocketAddr::new(ip, port)]),
            Err(_) => Self::Name(host.to_owned(), port),
        }
    }
}

/// What the attempts at several addresses have said, none of which has worked.
#[derive(Debug, Default)]
pub(crate) struct Attempts(Option<io::Error>);

impl Attempts {
    /// Another has failed. What is told in the end is the first error of an address whose version of IP there is: tokio
    /// tells the last, which of a name with addresses of both versions is often only that one of them is not there.
    pub(crate) fn add(&mut self, error: io::Error) {
        if self.0.as_ref().is_none_or(says_no_version) {
            self.0 = Some(error);
        }
    }

    pub(crate) fn error(self) -> io::Error {
        self.0.unwrap_or_else(|| io::ErrorKind::InvalidInput.into())
    }
}

/// The addresses of `host`, written as any of the types of [`ToSocketAddrs`].
///
/// # Errors
/// `InvalidInput` where it is no address, `NotFound` where nobody has the name, `Unsupported` where there is no
/// [stack](Stack::current).
pub async fn lookup_host<T: ToSocketAddrs>(host: T) -> io::Result<impl Iterator<Item = SocketAddr>> {
    Ok(host.written().resolve(&Stack::current()?)?.into_iter())
}

pub(crate) mod sealed {
    use super::UnresolvedAddr;

    pub trait ToSocketAddrs {
        fn written(&self) -> UnresolvedAddr;
    }
}

impl sealed::ToSocketAddrs for SocketAddr {
    fn written(&self) -> UnresolvedAddr {
        UnresolvedAddr::Addresses(vec![*self])
    }
}

impl sealed::ToSocketAddrs for SocketAddrV4 {
    fn written(&self) -> UnresolvedAddr {
        UnresolvedAddr::Addresses(vec![SocketAddr::V4(*self)])
    }
}

impl sealed::ToSocketAddrs for SocketAddrV6 {
    fn written(&self) -> UnresolvedAddr {
        UnresolvedAddr::Addresses(vec![SocketAddr::V6(*self)])
    }
}

impl sealed::ToSocketAddrs for (IpAddr, u16) {
    fn written(&self) -> UnresolvedAddr {
        UnresolvedAddr::Addresses(vec![SocketAddr::from(*self)])
    }
}

impl sealed::ToSocketAddrs for (Ipv4Addr, u16) {
    fn written(&self) -> UnresolvedAddr {
        UnresolvedAddr::Addresses(vec![SocketAddr::from(*self)])
    }
}

impl sealed::ToSocketAddrs for (Ipv6Addr, u16) {
    fn written(&self) -> UnresolvedAddr {
        UnresolvedAddr::Addresses(vec![SocketAddr::from(*self)])
    }
}

impl sealed::ToSocketAddrs for [SocketAddr] {
    fn written(&self) -> UnresolvedAddr {
        UnresolvedAddr::Addresses(self.to_vec())
    }
}

impl sealed::ToSocketAddrs for str {
    fn written(&self) -> UnresolvedAddr {
        if let Ok(address) = self.parse() {
            return UnresolvedAddr::Addresses(vec![address]);
        }
        let Some((host, port)) = self.rsplit_once(':') else {
            return UnresolvedAddr::Wrong("invalid socket address");
        };
        match port.parse() {
            Ok(port) => UnresolvedAddr::of_host(host, port),
            Err(_) => UnresolvedAddr::Wrong("invalid port value"),
        }
    }
}

impl sealed::ToSocketAddrs for String {
    fn written(&self) -> UnresolvedAddr {
        self.as_str().written()
    }
}

impl sealed::ToSocketAddrs for (&str, u16) {
    fn written(&self) -> UnresolvedAddr {
        UnresolvedAddr::of_host(self.0, self.1)
    }
}

impl sealed::ToSocketAddrs for (String, u16) {
    fn written(&self) -> UnresolvedAddr {
        UnresolvedAddr::of_host(&self.0, self.1)
    }
}

impl<T: sealed::ToSocketAddrs + ?Sized> sealed::ToSocketAddrs for &T {
    fn written(&self) -> UnresolvedAddr {
        (**self).written()
    }
}
