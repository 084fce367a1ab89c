//! Which local ports are in use.

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use kumiki_graph::Rng;

/// The ports that are ours to choose from (RFC 6335 section 6).
const DYNAMIC: core::ops::RangeInclusive<u16> = 49152..=65535;

/// What else somebody who wants an address says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Terms {
    /// `::` without what comes by IPv4.
    pub(crate) only_v6: bool,
    /// Others may take the same who say so too, as long as nobody listens there (`SO_REUSEADDR`).
    pub(crate) reuse_address: bool,
    /// Others may take the same who say so too (`SO_REUSEPORT`).
    pub(crate) reuse_port: bool,
    /// Only those share a port whose this is, where they must stand in for each other; 0 is the host itself.
    pub(crate) owner: u64,
}

/// The number of what was taken for another stack of the host; those of what was taken begin with 1.
const PART: u64 = 0;

/// An address that was taken, to be given back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bound {
    pub(crate) local: SocketAddr,
    number: u64,
}

impl Bound {
    /// The same address for another stack of the same host, which listens there as well; whoever has taken it gives it
    /// back.
    pub(crate) const fn part(&self) -> Self {
        Self { local: self.local, number: PART }
    }

    /// Whether it is that.
    pub(crate) const fn is_part(&self) -> bool {
        self.number == PART
    }
}

#[cfg(all(feature = "host", target_os = "linux"))]
impl Bound {
    /// One that was taken elsewhere.
    pub(crate) const fn elsewhere(local: SocketAddr, number: u64) -> Self {
        Self { local, number }
    }

    /// By which whoever has it knows it.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }
}

/// Whoever knows what is in use, where that is not told here: the layers are another process's.
pub(crate) trait Registry: Send + Sync + core::fmt::Debug {
    /// As [`Ports::take`].
    fn take(&self, local: SocketAddr, terms: Terms) -> io::Result<Bound>;

    /// As [`Ports::listen`].
    fn listen(&self, bound: Bound) -> io::Result<()>;

    /// As [`Ports::give`].
    fn give(&self, bound: Bound);
}

/// A local address that somebody has taken.
#[derive(Clone, Copy, Debug)]
struct BoundAddress {
    ip: IpAddr,
    terms: Terms,
    is_listening: bool,
    number: u64,
}

/// The ports of one transport.
#[derive(Debug, Default)]
pub(crate) struct Ports {
    taken: BTreeMap<u16, Vec<BoundAddress>>,
    number: u64,
    registry: Option<Arc<dyn Registry>>,
}

impl Ports {
    /// Those that somebody else knows.
    #[cfg(all(feature = "host", target_os = "linux"))]
    pub(crate) fn of(registry: Arc<dyn Registry>) -> Self {
        Self { registry: Some(registry), ..Self::default() }
    }

    /// Takes `local`, or a port of our choice where it has none.
    ///
    /// # Errors
    /// `AddrInUse` where it is taken, or all are.
    pub(crate) fn take(&mut self, local: SocketAddr, terms: Terms, rng: &mut Rng) -> io::Result<Bound> {
        if let Some(registry) = &self.registry {
            return registry.take(local, terms);
        }
        self.number += 1;
        // An address of IPv4 written as one of IPv6 is that of IPv4.
        let taken = BoundAddress { ip: local.ip().to_canonical(), terms, is_listening: false, number: self.number };
        let port = match local.port() {
            0 => self.free(taken, rng),
            port => Some(port).filter(|port| self.is_free(*port, taken)),
        };
        let port = port.ok_or_else(|| {
            let text = match local.port() {
                0 => format!("all ports from {} to {} are in use", DYNAMIC.start(), DYNAMIC.end()),
                _ => format!("{local} is in use"),
            };
            io::Error::new(io::ErrorKind::AddrInUse, text)
        })?;
        self.taken.entry(port).or_default().push(taken);
        Ok(Bound { local: SocketAddr::new(local.ip(), port), number: self.number })
    }

    /// Whoever has taken it listens there from now on.
    ///
    /// # Errors
    /// `AddrInUse` where somebody else listens there who does not share the port.
    pub(crate) fn listen(&mut self, bound: Bound) -> io::Result<()> {
        if bound.number == PART {
            return Ok(());
        }
        if let Some(registry) = &self.registry {
            return registry.listen(bound);
        }
        let all = self.taken.get_mut(&bound.local.port()).map(Vec::as_mut_slice).unwrap_or_default();
        let Some(own) = all.iter().find(|it| it.number == bound.number).copied() else {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        };
        let shares = |it: &BoundAddress| share_port(*it, own);
        if all.iter().any(|it| it.number != own.number && it.is_listening && meet(*it, own) && !shares(it)) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        all.iter_mut().filter(|it| it.number == own.number).for_each(|it| it.is_listening = true);
        Ok(())
    }

    /// Gives back what was taken.
    pub(crate) fn give(&mut self, bound: Bound) {
        if let Some(registry) = &self.registry {
            return registry.give(bound);
        }
        let port = bound.local.port();
        if let Some(all) = self.taken.get_mut(&port) {
            all.retain(|it| it.number != bound.number);
            if all.is_empty() {
                self.taken.remove(&port);
            }
        }
    }

    /// Whether somebody has taken the port, on whatever address.
    #[cfg(all(feature = "host", target_os = "linux"))]
    pub(crate) fn has(&self, port: u16) -> bool {
        self.taken.contains_key(&port)
    }

    fn is_free(&self, port: u16, wanted: BoundAddress) -> bool {
        let all = self.taken.get(&port).map(Vec::as_slice).unwrap_or_default();
        all.iter().all(|it| !meet(*it, wanted) || agree(*it, wanted))
    }

    /// One that nobody has on any address: what is chosen for somebody is his alone.
    fn free(&self, wanted: BoundAddress, rng: &mut Rng) -> Option<u16> {
        let (first, last) = (*DYNAMIC.start(), *DYNAMIC.end());
        let count = u64::from(last - first) + 1;
        let begin = rng.below(count);
        let mut ports = (0..count).filter_map(|n| u16::try_from(u64::from(first) + (begin + n) % count).ok());
        let alone = Terms { reuse_address: false, reuse_port: false, ..wanted.terms };
        ports.find(|port| self.is_free(*port, BoundAddress { terms: alone, ..wanted }))
    }
}

/// Whether both have said that they share.
const fn agree(one: BoundAddress, other: BoundAddress) -> bool {
    let address = one.terms.reuse_address && other.terms.reuse_address && !one.is_listening && !other.is_listening;
    address || share_port(one, other)
}

const fn share_port(one: BoundAddress, other: BoundAddress) -> bool {
    one.terms.reuse_port && other.terms.reuse_port && one.terms.owner == other.terms.owner
}

/// Whether something can come that is for both.
fn meet(one: BoundAddress, other: BoundAddress) -> bool {
    let all_of = |a: BoundAddress, b: BoundAddress| {
        a.ip.is_unspecified() && (a.ip.is_ipv4() == b.ip.is_ipv4() || (a.ip.is_ipv6() && !a.terms.only_v6))
    };
    one.ip == other.ip || all_of(one, other) || all_of(other, one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(ports: &mut Ports, local: &str, terms: Terms) -> Option<Bound> {
        ports.take(local.parse().unwrap(), terms, &mut Rng::new(1, 0)).ok()
    }

    const ALONE: Terms = Terms { only_v6: false, reuse_address: false, reuse_port: false, owner: 0 };
    const ADDRESS: Terms = Terms { reuse_address: true, ..ALONE };
    const PORT: Terms = Terms { reuse_port: true, ..ALONE };

    #[test]
    fn an_address_is_taken_by_one_and_all_addresses_meet_each() {
        let mut ports = Ports::default();
        let first = take(&mut ports, "10.0.0.1:80", ALONE).unwrap();
        assert!(take(&mut ports, "10.0.0.1:80", ALONE).is_none());
        let second = take(&mut ports, "10.0.0.2:80", ALONE).unwrap();
        assert!(take(&mut ports, "0.0.0.0:80", ALONE).is_none());
        assert!(take(&mut ports, "[::]:80", ALONE).is_none(), ":: is of both versions");
        assert!(take(&mut ports, "[::]:80", Terms { only_v6: true, ..ALONE }).is_some());
        ports.give(first);
        assert!(take(&mut ports, "0.0.0.0:80", ALONE).is_none());
        ports.give(second);
        assert!(take(&mut ports, "0.0.0.0:80", ALONE).is_some());
    }

    #[test]
    fn an_address_is_the_same_written_as_one_of_ipv6() {
        let mut ports = Ports::default();
        let first = take(&mut ports, "[::ffff:10.0.0.1]:80", ALONE).unwrap();
        assert!(take(&mut ports, "10.0.0.1:80", ALONE).is_none());
        assert!(take(&mut ports, "0.0.0.0:80", ALONE).is_none());
        assert_eq!(first.local.to_string(), "[::ffff:10.0.0.1]:80");
    }

    #[test]
    fn those_who_share_take_the_same_and_a_chosen_port_is_nobody_elses() {
        for terms in [ADDRESS, PORT] {
            let mut ports = Ports::default();
            let first = take(&mut ports, "0.0.0.0:5353", terms).unwrap();
            let second = take(&mut ports, "0.0.0.0:5353", terms).unwrap();
            assert!(take(&mut ports, "0.0.0.0:5353", ALONE).is_none());
            ports.listen(first).unwrap();
            assert_eq!(ports.listen(second).is_ok(), terms.reuse_port);
            assert_eq!(take(&mut ports, "0.0.0.0:5353", terms).is_some(), terms.reuse_port);
            ports.give(first);
            ports.listen(second).unwrap();
            let (one, other) =
                (take(&mut ports, "0.0.0.0:0", terms).unwrap(), take(&mut ports, "0.0.0.0:0", terms).unwrap());
            assert!(DYNAMIC.contains(&one.local.port()) && one.local.port() != other.local.port());
        }
    }

    #[test]
    fn when_all_are_taken_there_is_none() {
        let mut ports = Ports::default();
        for port in DYNAMIC.skip(2) {
            assert!(take(&mut ports, &format!("0.0.0.0:{port}"), ALONE).is_some());
        }
        let last = [(); 2].map(|()| take(&mut ports, "0.0.0.0:0", ALONE).unwrap().local.port());
        assert!(last == [49152, 49153] || last == [49153, 49152], "{last:?}");
        let none = ports.take("0.0.0.0:0".parse().unwrap(), ALONE, &mut Rng::new(1, 0)).unwrap_err();
        assert_eq!(none.to_string(), "all ports from 49152 to 65535 are in use");
    }
}
