//! Headers of the form that nearly every datagram has, read and written as five words.

use std::net::Ipv4Addr;

use super::{DF, MIN_LEN};

/// A header without options, of a datagram that is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainHeader {
    /// DSCP and ECN.
    pub type_of_service: u8,
    /// Octets of header and data.
    pub total_length: u16,
    /// Which datagram it is.
    pub identification: u16,
    /// Routers must not cut it.
    pub dont_fragment: bool,
    /// Hops left.
    pub time_to_live: u8,
    /// What it carries.
    pub protocol: u8,
    /// Who sent it.
    pub source: Ipv4Addr,
    /// For whom it is.
    pub destination: Ipv4Addr,
}

/// The version and five words of header, where they stand in the first word.
const VERSION_IHL: u32 = 0x45 << 24;

/// The one's complement sum of `words`.
#[inline]
fn sum(words: [u32; MIN_LEN / 4]) -> u16 {
    let sum: u64 = words.into_iter().map(u64::from).sum();
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    let [a, b, ..] = ((sum & 0xffff) + (sum >> 16)).to_le_bytes();
    u16::from_le_bytes([a, b])
}

impl PlainHeader {
    /// Reads a header of this form between these two, that stands in front of a datagram of `total` octets and has the
    /// right checksum; `None` where it has another form, or is wrong, or ends elsewhere.
    #[inline]
    #[must_use]
    pub fn between(source: Ipv4Addr, destination: Ipv4Addr, octets: &[u8; MIN_LEN], total: usize) -> Option<Self> {
        let (words, _) = octets.as_chunks::<4>();
        let &[w0, w1, w2, w3, w4] = words else {
            return None;
        };
        if w3 != source.octets() || w4 != destination.octets() {
            return None;
        }
        let words = [w0, w1, w2, w3, w4].map(u32::from_be_bytes);
        let [first, second, ..] = words;
        let [_, type_of_service, l0, l1] = w0;
        let [i0, i1, ..] = w1;
        let [time_to_live, protocol, ..] = w2;
        let total_length = u16::from_be_bytes([l0, l1]);
        let is_plain = first & 0xff00_0000 == VERSION_IHL && second & u32::from(!DF) == 0;
        if !is_plain || usize::from(total_length) != total || sum(words) != 0xffff {
            return None;
        }
        Some(Self {
            type_of_service,
            total_length,
            identification: u16::from_be_bytes([i0, i1]),
            dont_fragment: second & u32::from(DF) != 0,
            time_to_live,
            protocol,
            source,
            destination,
        })
    }

    /// Its octets, with the checksum that belongs to it.
    #[inline]
    #[must_use]
    pub fn octets(&self) -> [u8; MIN_LEN] {
        let flags = if self.dont_fragment { DF } else { 0 };
        let first = VERSION_IHL | u32::from(self.type_of_service) << 16 | u32::from(self.total_length);
        let second = u32::from(self.identification) << 16 | u32::from(flags);
        let third = u32::from(self.time_to_live) << 24 | u32::from(self.protocol) << 16;
        let (source, destination) = (self.source.to_bits(), self.destination.to_bits());
        let checksum = !sum([first, second, third, source, destination]);
        let third = third | u32::from(checksum);
        let pair = |high: u32, low: u32| (u64::from(high) << 32 | u64::from(low)).to_be_bytes();
        let mut octets = [0; MIN_LEN];
        let (eights, last) = octets.as_chunks_mut::<8>();
        if let ([front, behind], [d0, d1, d2, d3]) = (eights, last) {
            (*front, *behind) = (pair(first, second), pair(third, source));
            [*d0, *d1, *d2, *d3] = destination.to_be_bytes();
        }
        octets
    }
}
