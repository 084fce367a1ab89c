//! Which local ports are in use.

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;
use std::io;

use kumiki_graph::Rng;

/// The ports that are ours to choose from (RFC 6335 section 6).
const DYNAMIC: core::ops::RangeInclusive<u16> = 49152..=65535;

/// A local address that somebody has taken.
#[derive(Clone, Copy, Debug)]
struct Taken {
    ip: IpAddr,
    /// `::` without what comes by IPv4.
    only_v6: bool,
    /// Others may take the same.
    shared: bool,
}

/// The ports of one transport.
#[derive(Debug, Default)]
pub(crate) struct Ports(BTreeMap<u16, Vec<Taken>>);

impl Ports {
    /// Takes `local`, or a port of our choice where it has none.
    ///
    /// # Errors
    /// `AddrInUse` where it is taken, or all are.
    pub(crate) fn take(
        &mut self,
        local: SocketAddr,
        (only_v6, shared): (bool, bool),
        rng: &mut Rng,
    ) -> io::Result<SocketAddr> {
        let taken = Taken { ip: local.ip(), only_v6, shared };
        let port = match local.port() {
            0 => self.free(taken, rng),
            port => Some(port).filter(|port| self.is_free(*port, taken)),
        };
        let port = port.ok_or(io::ErrorKind::AddrInUse)?;
        self.0.entry(port).or_default().push(taken);
        Ok(SocketAddr::new(local.ip(), port))
    }

    /// Gives back what was taken.
    pub(crate) fn give(&mut self, local: SocketAddr) {
        if let Some(all) = self.0.get_mut(&local.port()) {
            if let Some(place) = all.iter().position(|it| it.ip == local.ip()) {
                all.swap_remove(place);
            }
            if all.is_empty() {
                self.0.remove(&local.port());
            }
        }
    }

    fn is_free(&self, port: u16, wanted: Taken) -> bool {
        let all = self.0.get(&port).map(Vec::as_slice).unwrap_or_default();
        all.iter().all(|it| !meet(*it, wanted) || (it.shared && wanted.shared))
    }

    /// One that nobody has on any address: what is chosen for somebody is his alone.
    fn free(&self, wanted: Taken, rng: &mut Rng) -> Option<u16> {
        let (first, last) = (*DYNAMIC.start(), *DYNAMIC.end());
        let count = u64::from(last - first) + 1;
        let begin = rng.below(count);
        let mut ports = (0..count).filter_map(|n| u16::try_from(u64::from(first) + (begin + n) % count).ok());
        ports.find(|port| self.is_free(*port, Taken { shared: false, ..wanted }))
    }
}

/// Whether something can come that is for both.
fn meet(one: Taken, other: Taken) -> bool {
    let all_of = |a: Taken, b: Taken| {
        a.ip.is_unspecified() && (a.ip.is_ipv4() == b.ip.is_ipv4() || (a.ip.is_ipv6() && !a.only_v6))
    };
    one.ip == other.ip || all_of(one, other) || all_of(other, one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(ports: &mut Ports, local: &str, only_v6: bool, shared: bool) -> Option<u16> {
        let taken = ports.take(local.parse().unwrap(), (only_v6, shared), &mut Rng::new(1, 0));
        taken.ok().map(|it| it.port())
    }

    #[test]
    fn an_address_is_taken_by_one_and_all_addresses_meet_each() {
        let mut ports = Ports::default();
        assert_eq!(take(&mut ports, "10.0.0.1:80", false, false), Some(80));
        assert_eq!(take(&mut ports, "10.0.0.1:80", false, false), None);
        assert_eq!(take(&mut ports, "10.0.0.2:80", false, false), Some(80));
        assert_eq!(take(&mut ports, "0.0.0.0:80", false, false), None);
        assert_eq!(take(&mut ports, "[::]:80", false, false), None, ":: is of both versions");
        assert_eq!(take(&mut ports, "[::]:80", true, false), Some(80));
        ports.give("10.0.0.1:80".parse().unwrap());
        assert_eq!(take(&mut ports, "0.0.0.0:80", false, false), None);
        ports.give("10.0.0.2:80".parse().unwrap());
        assert_eq!(take(&mut ports, "0.0.0.0:80", false, false), Some(80));
    }

    #[test]
    fn those_who_share_take_the_same_and_a_chosen_port_is_nobody_elses() {
        let mut ports = Ports::default();
        assert_eq!(take(&mut ports, "0.0.0.0:5353", false, true), Some(5353));
        assert_eq!(take(&mut ports, "0.0.0.0:5353", false, true), Some(5353));
        assert_eq!(take(&mut ports, "0.0.0.0:5353", false, false), None);
        let first = take(&mut ports, "0.0.0.0:0", false, true).unwrap();
        let second = take(&mut ports, "0.0.0.0:0", false, true).unwrap();
        assert!(DYNAMIC.contains(&first) && first != second);
    }

    #[test]
    fn when_all_are_taken_there_is_none() {
        let mut ports = Ports::default();
        for port in DYNAMIC.skip(2) {
            assert!(take(&mut ports, &format!("0.0.0.0:{port}"), false, false).is_some());
        }
        let last = [(); 2].map(|()| take(&mut ports, "0.0.0.0:0", false, false).unwrap());
        assert!(last == [49152, 49153] || last == [49153, 49152], "{last:?}");
        assert_eq!(take(&mut ports, "0.0.0.0:0", false, false), None);
    }
}
