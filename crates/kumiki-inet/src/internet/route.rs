//! Which way: longest prefix match, by binary search among the prefixes of each length.

use core::fmt::{Debug, Display};
use core::net::{Ipv4Addr, Ipv6Addr};
use core::ops::BitAnd;

/// An address of a version of IP, whose prefixes are looked up.
pub trait Bits: Copy + Ord + Debug + Display + Send + 'static {
    /// All its bits as a number.
    type Word: Copy + Ord + BitAnd<Output = Self::Word> + Debug + Send;

    /// What its version is called.
    const VERSION: &'static str;
    /// How many bits it has.
    const LEN: u8;
    /// Nobody's.
    const UNSPECIFIED: Self;
    /// What every link of its version carries, in octets, and by which standard.
    const LEAST_MTU: u32;
    /// See [`Bits::LEAST_MTU`].
    const LEAST_MTU_BY: &'static str;

    /// Whether it never leaves a host.
    fn is_loopback(self) -> bool;

    /// Its bits.
    fn word(self) -> Self::Word;

    /// The address with these bits.
    fn of_word(word: Self::Word) -> Self;

    /// Those of them that a prefix of `prefix` bits covers; all where there are not that many.
    fn mask(prefix: u8) -> Self::Word;
}

impl Bits for Ipv4Addr {
    type Word = u32;
    const VERSION: &'static str = "IP";
    const LEN: u8 = 32;
    const UNSPECIFIED: Self = Self::UNSPECIFIED;
    const LEAST_MTU: u32 = 68;
    const LEAST_MTU_BY: &'static str = "RFC 791";

    fn is_loopback(self) -> bool {
        Self::is_loopback(&self)
    }

    fn of_word(word: u32) -> Self {
        Self::from_bits(word)
    }

    fn word(self) -> u32 {
        self.to_bits()
    }

    fn mask(prefix: u8) -> u32 {
        let by = 32_u32.saturating_sub(prefix.into());
        u32::MAX.checked_shl(by).unwrap_or(0)
    }
}

impl Bits for Ipv6Addr {
    type Word = u128;
    const VERSION: &'static str = "IPv6";
    const LEN: u8 = 128;
    const UNSPECIFIED: Self = Self::UNSPECIFIED;
    const LEAST_MTU: u32 = 1280;
    const LEAST_MTU_BY: &'static str = "RFC 8200 section 5";

    fn is_loopback(self) -> bool {
        Self::is_loopback(&self)
    }

    fn of_word(word: u128) -> Self {
        Self::from_bits(word)
    }

    fn word(self) -> u128 {
        self.to_bits()
    }

    fn mask(prefix: u8) -> u128 {
        mask(prefix)
    }
}

/// The bits of an IPv6 address that a prefix of `prefix` bits covers; all of them from 128 on.
pub(crate) const fn mask(prefix: u8) -> u128 {
    match u128::MAX.checked_shl(128_u32.saturating_sub(prefix as u32)) {
        Some(mask) => mask,
        None => 0,
    }
}

/// Where a datagram leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop<A> {
    /// Which of the interfaces.
    pub(crate) interface: usize,
    /// To whom on that network: the destination itself, or a router.
    pub(crate) next: A,
}

/// An interface, as what goes with a datagram says it; no host has more of them.
pub(crate) fn place_of(interface: usize) -> Option<u16> {
    u16::try_from(interface).ok()
}

/// What a route says.
#[derive(Clone, Copy, PartialEq, Debug)]
struct RouteEntry<A> {
    interface: usize,
    gateway: Option<A>,
    /// Whether it came while the host ran.
    is_late: bool,
}

/// The routes of one prefix length.
#[derive(Clone, Debug)]
struct Length<A: Bits> {
    mask: A::Word,
    /// In order; among equals, in the order of being added, or of their interfaces. Apart from the ways: a search reads
    /// several of them and one way.
    networks: Vec<A::Word>,
    /// To each network.
    ways: Vec<RouteEntry<A>>,
}

/// A routing table.
#[derive(Clone, Debug)]
pub(crate) struct Routes<A: Bits> {
    /// Those of one prefix length together, longest first.
    lengths: Vec<Length<A>>,
}

impl<A: Bits> Default for Routes<A> {
    fn default() -> Self {
        Self { lengths: Vec::new() }
    }
}

impl<A: Bits> Length<A> {
    /// The ways to `network` and their numbers.
    fn ways_to(&self, network: A::Word) -> impl Iterator<Item = (usize, &RouteEntry<A>)> {
        let first = self.networks.partition_point(|other| *other < network);
        let networks = self.networks.iter().zip(&self.ways).enumerate().skip(first);
        networks.take_while(move |(_, (other, _))| **other == network).map(|(number, (_, way))| (number, way))
    }
}

impl<A: Bits> Routes<A> {
    /// To the network with the first `prefix` bits of `network`, by way of `gateway` or straight.
    pub(crate) fn add(&mut self, network: A, prefix: u8, interface: usize, gateway: Option<A>) {
        self.add_before(network, prefix, RouteEntry { interface, gateway, is_late: false }, |_| false);
    }

    /// As [`Routes::add`], of one that comes while the host runs: before others of that kind by later interfaces, for
    /// which of several servers and routers has answered first decides nothing.
    pub(crate) fn add_late(&mut self, network: A, prefix: u8, interface: usize, gateway: Option<A>) {
        let is_later = |way: &RouteEntry<A>| way.is_late && way.interface > interface;
        self.add_before(network, prefix, RouteEntry { interface, gateway, is_late: true }, is_later);
    }

    /// Behind the ways that are there already, but for the last ones that are `later`.
    fn add_before(&mut self, network: A, prefix: u8, way: RouteEntry<A>, later: impl Fn(&RouteEntry<A>) -> bool) {
        let mask = A::mask(prefix);
        let network = network.word() & mask;
        let place = self.lengths.partition_point(|length| length.mask > mask);
        if self.lengths.get(place).is_none_or(|length| length.mask != mask) {
            let (networks, ways) = (Vec::new(), Vec::new());
            let length = Length { mask, networks, ways };
            self.lengths.insert(place, length);
        }
        if let Some(length) = self.lengths.get_mut(place) {
            let end = length.networks.partition_point(|other| *other <= network);
            let ways = length.networks.iter().zip(&length.ways).take(end).rev();
            let at = end - ways.take_while(|(other, way)| **other == network && later(way)).count();
            length.networks.insert(at, network);
            length.ways.insert(at, way);
        }
    }

    /// Takes back one [`Routes::add`].
    pub(crate) fn remove(&mut self, network: A, prefix: u8, interface: usize, gateway: Option<A>) {
        let mask = A::mask(prefix);
        let network = network.word() & mask;
        let mut lengths = self.lengths.iter_mut();
        if let Some(length) = lengths.find(|length| length.mask == mask) {
            let found = length.ways_to(network).find(|(_, way)| way.interface == interface && way.gateway == gateway);
            if let Some((at, _)) = found {
                length.networks.remove(at);
                length.ways.remove(at);
            }
        }
    }

    /// The way to `to` by an interface that is `usable`.
    pub(crate) fn lookup(&self, to: A, usable: impl Fn(usize) -> bool) -> Option<Hop<A>> {
        let way = self.lengths.iter().find_map(|length| {
            let mut ways = length.ways_to(to.word() & length.mask);
            ways.find(|(_, way)| usable(way.interface))
        });
        way.map(|(_, way)| Hop { interface: way.interface, next: way.gateway.unwrap_or(to) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_late_goes_by_the_first_interface_but_behind_what_was_there() {
        let (all, router) = (Ipv4Addr::UNSPECIFIED, |last| Some(Ipv4Addr::new(10, 0, 0, last)));
        let mut routes = Routes::default();
        routes.add(all, 0, 2, router(1));
        routes.add_late(all, 0, 1, router(2));
        routes.add_late(all, 0, 0, router(3));
        let by = |routes: &Routes<Ipv4Addr>, down: &[usize]| {
            routes.lookup(Ipv4Addr::new(192, 0, 2, 1), |interface| !down.contains(&interface)).map(|hop| hop.interface)
        };
        assert_eq!([&[][..], &[2], &[2, 0]].map(|down| by(&routes, down)), [Some(2), Some(0), Some(1)]);
        routes.remove(all, 0, 2, router(1));
        routes.remove(all, 0, 0, router(3));
        assert_eq!(by(&routes, &[]), Some(1));
    }
}
