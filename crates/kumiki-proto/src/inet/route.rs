//! Which way: longest prefix match, by binary search among the prefixes of each length.

use core::net::{Ipv4Addr, Ipv6Addr};
use core::ops::BitAnd;

/// An address whose prefixes are looked up.
pub(crate) trait Bits: Copy + PartialEq {
    /// All its bits as a number.
    type Word: Copy + Ord + BitAnd<Output = Self::Word> + core::fmt::Debug;

    /// Its bits.
    fn word(self) -> Self::Word;

    /// Those of them that a prefix of `prefix` bits covers; all where there are not that many.
    fn mask(prefix: u8) -> Self::Word;
}

impl Bits for Ipv4Addr {
    type Word = u32;

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
pub(crate) struct Hop<A> {
    /// Which of the interfaces.
    pub(crate) interface: usize,
    /// To whom on that network: the destination itself, or a router.
    pub(crate) next: A,
}

#[derive(Clone, Copy, Debug)]
struct Entry<A: Bits> {
    network: A::Word,
    interface: usize,
    gateway: Option<A>,
}

/// The routes of one prefix length.
#[derive(Clone, Debug)]
struct Length<A: Bits> {
    mask: A::Word,
    /// In order of networks; among equals, in the order of being added.
    entries: Vec<Entry<A>>,
}

/// A routing table.
#[derive(Clone, Debug)]
pub(crate) struct Routes<A: Bits> {
    /// Those of one prefix length together, longest first.
    lengths: Vec<Length<A>>,
}

impl<A: Bits> Default for Routes<A> {
    fn default() -> Self {
        Self {
            lengths: Vec::new(),
        }
    }
}

impl<A: Bits> Routes<A> {
    fn entry(network: A, mask: A::Word, interface: usize, gateway: Option<A>) -> Entry<A> {
        Entry {
            network: network.word() & mask,
            interface,
            gateway,
        }
    }

    /// To the network with the first `prefix` bits of `network`, by way of `gateway` or straight.
    pub(crate) fn add(&mut self, network: A, prefix: u8, interface: usize, gateway: Option<A>) {
        let mask = A::mask(prefix);
        let entry = Self::entry(network, mask, interface, gateway);
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

    /// Takes back one [`Routes::add`].
    pub(crate) fn remove(&mut self, network: A, prefix: u8, interface: usize, gateway: Option<A>) {
        let mask = A::mask(prefix);
        let entry = Self::entry(network, mask, interface, gateway);
        let mut lengths = self.lengths.iter_mut();
        if let Some(length) = lengths.find(|length| length.mask == mask)
            && let Some(at) = length.entries.iter().position(|other| {
                (other.network, other.interface) == (entry.network, entry.interface)
                    && other.gateway == entry.gateway
            })
        {
            length.entries.remove(at);
        }
    }

    /// The way to `to` by an interface that is `usable`.
    pub(crate) fn lookup(&self, to: A, usable: impl Fn(usize) -> bool) -> Option<Hop<A>> {
        let entry = self.lengths.iter().find_map(|length| {
            let network = to.word() & length.mask;
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
