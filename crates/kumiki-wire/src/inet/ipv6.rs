//! IPv6 headers.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 8200 sections 3 and 8.1; the traffic class octet after RFC 2474 and RFC 3168; groups and interface identifiers after RFC 4291 |
//! | Extension headers | [`extension`] |
//! | Checksum | none of its own; [`pseudo_header`] for those above |
//! | Left out | jumbograms (RFC 2675): a payload length of 0 means no payload |

use core::fmt;
use std::net::Ipv6Addr;

use crate::Malformed;
use crate::inet::ipv4::Ecn;

pub mod extension;
#[cfg(test)]
mod tests;

/// What PPP's protocol field says of IPv6 (RFC 5072 section 2).
pub const PPP_PROTOCOL: u16 = 0x0057;
/// Octets of the header.
pub const LEN: usize = 40;
/// Where the payload length stands in the header.
pub const PAYLOAD_LENGTH_OFFSET: usize = 4;
/// Where the next header field stands in the header.
pub const NEXT_HEADER_OFFSET: usize = 6;
/// Where the destination address stands in the header.
pub const DESTINATION_OFFSET: usize = 24;
/// Every link must carry a packet of this many octets without fragmenting it (RFC 8200 section 5).
pub const MIN_MTU: usize = 1280;
/// Every node must accept a packet of this many octets in fragments (RFC 8200 section 5).
pub const MIN_REASSEMBLY: usize = 1500;

/// Next header numbers: those of [`ipv4::protocol`](crate::inet::ipv4::protocol) and these.
pub mod next_header {
    /// Hop-by-hop options (RFC 8200 section 4.3).
    pub const HOP_BY_HOP: u8 = 0;
    /// Routing (RFC 8200 section 4.4).
    pub const ROUTING: u8 = 43;
    /// Fragment (RFC 8200 section 4.5).
    pub const FRAGMENT: u8 = 44;
    /// Internet control messages for IPv6 (RFC 4443).
    pub const ICMPV6: u8 = 58;
    /// Nothing follows (RFC 8200 section 4.7).
    pub const NONE: u8 = 59;
    /// Destination options (RFC 8200 section 4.6).
    pub const DESTINATION: u8 = 60;
}

/// All nodes of a link (RFC 4291 section 2.7.1).
pub const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
/// All routers of a link (RFC 4291 section 2.7.1).
pub const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);

/// The group in which whoever has `address` is asked for its link-layer address (RFC 4291 section 2.7.1).
#[must_use]
pub const fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = address.octets();
    Ipv6Addr::from_octets([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, a, b, c])
}

/// The address with the interface identifier `identifier` on this link alone (RFC 4291 section 2.5.6).
#[must_use]
pub const fn link_local(identifier: [u8; 8]) -> Ipv6Addr {
    Ipv6Addr::from_bits(0xfe80 << 112 | u64::from_be_bytes(identifier) as u128)
}

/// An IPv6 header. The version is no field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The whole octet: DSCP in the upper six bits, ECN in the lower two.
    pub traffic_class: u8,
    /// 20 bits (RFC 6437); higher ones are not sent.
    pub flow_label: u32,
    /// Octets after this header, those of extension headers included.
    pub payload_length: u16,
    /// What follows, see [`next_header`].
    pub next_header: u8,
    /// Hops left.
    pub hop_limit: u8,
    /// Address of the sender.
    pub source: Ipv6Addr,
    /// Address of the receiver.
    pub destination: Ipv6Addr,
}

impl Default for Header {
    /// All zero, addresses unspecified, nothing behind it, hop limit 64.
    fn default() -> Self {
        Self {
            traffic_class: 0,
            flow_label: 0,
            payload_length: 0,
            next_header: next_header::NONE,
            hop_limit: 64,
            source: Ipv6Addr::UNSPECIFIED,
            destination: Ipv6Addr::UNSPECIFIED,
        }
    }
}

impl Header {
    /// Reads a header from the octets at the front of a packet of `total` octets; also gives the header's length. The
    /// payload may end before the packet: the octets after it are padding of the link.
    ///
    /// # Errors
    /// The header is not all there, the version is not 6, or the payload goes beyond `total`.
    pub fn parse(front: &[u8], total: usize) -> Result<(Self, usize), Malformed> {
        let (header, len) = Self::parse_quoted(front)?;
        let payload = usize::from(header.payload_length);
        let most = total.saturating_sub(LEN);
        if payload > most {
            return Err(Malformed::Length {
                protocol: "IPv6",
                field: "payload length",
                found: payload,
                least: 0,
                most,
            });
        }
        Ok((header, len))
    }

    /// Reads the header that an ICMP message quotes: only its beginning was sent along, so the length is not looked at.
    ///
    /// # Errors
    /// The header is not all there, or the version is not 6.
    pub fn parse_quoted(front: &[u8]) -> Result<(Self, usize), Malformed> {
        let Some(fixed) = front.first_chunk::<LEN>() else {
            return Err(Malformed::Short { protocol: "IPv6", need: LEN, have: front.len() });
        };
        let &[v0, v1, v2, v3, l0, l1, next_header, hop_limit, ref addresses @ ..] = fixed;
        if v0 >> 4 != 6 {
            return Err(Malformed::Field {
                protocol: "IPv6",
                field: "version",
                found: u64::from(v0 >> 4),
                expected: "6",
            });
        }
        let address = |octets: Option<&[u8; 16]>| Ipv6Addr::from(*octets.unwrap_or(&[0; 16]));
        let header = Self {
            traffic_class: v0 << 4 | v1 >> 4,
            flow_label: u32::from_be_bytes([0, v1 & 0xf, v2, v3]),
            payload_length: u16::from_be_bytes([l0, l1]),
            next_header,
            hop_limit,
            source: address(addresses.first_chunk()),
            destination: address(addresses.last_chunk()),
        };
        Ok((header, LEN))
    }

    /// The ECN bits.
    #[must_use]
    pub const fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.traffic_class)
    }

    /// Sets the ECN bits and leaves the DSCP.
    pub const fn set_ecn(&mut self, ecn: Ecn) {
        self.traffic_class = (self.traffic_class & 0xfc) | ecn.bits();
    }

    /// Octets that [`Header::emit`] writes: always 40.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        LEN
    }

    /// Writes 40 octets.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), LEN);
        let out = &mut out;
        let class = u32::from(self.traffic_class) << 20;
        let word = 6 << 28 | class | (self.flow_label & 0xf_ffff);
        crate::put(out, word.to_be_bytes());
        crate::put(out, self.payload_length.to_be_bytes());
        crate::put(out, [self.next_header, self.hop_limit]);
        crate::put(out, self.source.octets());
        crate::put(out, self.destination.octets());
    }
}

/// What ICMP, TCP and UDP sum in front of their own octets (RFC 8200 section 8.1). `length`: octets of the upper-layer
/// header and data.
#[must_use]
pub fn pseudo_header(source: Ipv6Addr, destination: Ipv6Addr, next_header: u8, length: u32) -> [u8; 40] {
    let mut octets = [0; 40];
    let mut out = &mut octets[..];
    crate::put(&mut out, source.octets());
    crate::put(&mut out, destination.octets());
    crate::put(&mut out, length.to_be_bytes());
    crate::put(&mut out, [0, 0, 0, next_header]);
    octets
}

impl fmt::Display for Header {
    /// For example `IPv6 fd00::1 > fd00::2 next header 6 length 20 hop limit 64`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, destination, next_header, payload_length, hop_limit, .. } = self;
        write!(f, "IPv6 {source} > {destination} next header {next_header} ")?;
        write!(f, "length {payload_length} hop limit {hop_limit}")?;
        if self.traffic_class != 0 {
            write!(f, " class {:#04x}", self.traffic_class)?;
        }
        if self.flow_label != 0 {
            write!(f, " flow {:#07x}", self.flow_label)?;
        }
        Ok(())
    }
}
