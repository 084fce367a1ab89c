//! IPv4 headers.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 791 section 3.1; the traffic class octet after RFC 2474 and RFC 3168 |
//! | Checksum | [`checksum`] over the header; [`Header::parse`] verifies it |
//! | Left out | the reserved flag (ignored, sent as zero); the meaning of options, which stay octets |

use core::fmt;
use std::net::Ipv4Addr;

use crate::Malformed;

pub mod options;
mod plain;
#[cfg(test)]
mod tests;

pub use options::Options;
pub use plain::PlainHeader;

/// What PPP's protocol field says of IPv4 (RFC 1332 section 2).
pub const PPP_PROTOCOL: u16 = 0x0021;
/// What MAPOS' says (RFC 2172 section 2): the same.
pub const MAPOS_PROTOCOL: u16 = PPP_PROTOCOL;
/// Octets of a header without options.
pub const MIN_LEN: usize = 20;
/// Octets of the longest header.
pub const MAX_LEN: usize = MIN_LEN + options::MAX_LEN;
/// Where the checksum lies in the header.
pub const CHECKSUM_OFFSET: usize = 10;
/// Every link must carry a datagram of this many octets without fragmenting it (RFC 791 section 3.2).
pub const MIN_MTU: usize = 68;
/// Every host must accept a datagram of this many octets, whole or in fragments (RFC 791 section 3.1).
pub const MIN_REASSEMBLY: usize = 576;

/// Protocol numbers, from the registry of assigned numbers.
pub mod protocol {
    /// Internet control messages (RFC 792).
    pub const ICMP: u8 = 1;
    /// Group membership (RFC 1112).
    pub const IGMP: u8 = 2;
    /// Transmission control (RFC 9293).
    pub const TCP: u8 = 6;
    /// User datagrams (RFC 768).
    pub const UDP: u8 = 17;
    /// Xpress Transport Protocol.
    pub const XTP: u8 = 36;
}

/// The two ECN bits of the header, RFC 3168 section 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Ecn {
    /// 00: the transport does not react to marks.
    #[default]
    NotEct,
    /// 01: ECN-capable, code point 1.
    Ect1,
    /// 10: ECN-capable, code point 0.
    Ect0,
    /// 11: congestion experienced.
    Ce,
}

impl Ecn {
    /// From the two low bits of `bits`.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// The two bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0,
            Self::Ect1 => 1,
            Self::Ect0 => 2,
            Self::Ce => 3,
        }
    }
}

/// An IPv4 header. Version and header length are not fields: they follow from the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The whole octet: DSCP in the upper six bits, ECN in the lower two.
    pub type_of_service: u8,
    /// Octets of header and data.
    pub total_length: u16,
    /// Tells the fragments of one datagram from those of another.
    pub identification: u16,
    /// DF.
    pub dont_fragment: bool,
    /// MF.
    pub more_fragments: bool,
    /// Place of this fragment's data in the datagram, in units of 8 octets: 0 to 8191. Higher bits are not sent.
    pub fragment_offset: u16,
    /// Hops left.
    pub time_to_live: u8,
    /// What follows the header, see [`protocol`].
    pub protocol: u8,
    /// As on the wire; see [`Header::checksum`] for the value that belongs there.
    pub header_checksum: u16,
    /// Address of the sender.
    pub source: Ipv4Addr,
    /// Address of the receiver.
    pub destination: Ipv4Addr,
    /// The options.
    pub options: Options,
}

impl Default for Header {
    /// All zero, addresses unspecified, time to live 64 (the default that RFC 1700 recommends).
    fn default() -> Self {
        Self {
            type_of_service: 0,
            total_length: 0,
            identification: 0,
            dont_fragment: false,
            more_fragments: false,
            fragment_offset: 0,
            time_to_live: 64,
            protocol: 0,
            header_checksum: 0,
            source: Ipv4Addr::UNSPECIFIED,
            destination: Ipv4Addr::UNSPECIFIED,
            options: Options::NONE,
        }
    }
}

const DF: u16 = 0x4000;
const MF: u16 = 0x2000;
const OFFSET: u16 = 0x1fff;

impl Header {
    /// Where the datagram goes in the end: the last address of a source route that has not come to its end (RFC 791
    /// section 3.1), or else `destination`. This is who a transport's conversation is with, and whom its pseudo header
    /// names.
    ///
    /// # Errors
    ///
    /// The source route's pointer does not show an address of it.
    pub fn last_destination(&self) -> Result<Ipv4Addr, Malformed> {
        use options::kind::{LOOSE_SOURCE_ROUTE, STRICT_SOURCE_ROUTE};
        let mut options = self.options.items().map_while(Result::ok);
        let route = options.find_map(|option| match (option.kind, option.octets) {
            (LOOSE_SOURCE_ROUTE | STRICT_SOURCE_ROUTE, &[_, length, pointer, ref route @ ..]) if pointer <= length => {
                Some((pointer, route))
            }
            _ => None,
        });
        let Some((pointer, route)) = route else {
            return Ok(self.destination);
        };
        match route.as_chunks::<4>() {
            ([.., last], []) if pointer >= 4 && pointer.is_multiple_of(4) => Ok((*last).into()),
            _ => Err(Malformed::Field {
                protocol: "IPv4",
                field: "pointer of a source route",
                found: pointer.into(),
                expected: "the beginning of an address in it",
            }),
        }
    }

    /// Reads a header from the octets at the front of a datagram of `total` octets; also gives the header's length.
    /// `total_length` may be below `total`: the octets after it are padding of the link.
    ///
    /// # Errors
    /// The header is not all there, the version is not 4, the IHL is below 5, the checksum is wrong, or the total
    /// length is below the header's or beyond `total`.
    pub fn parse(front: &[u8], total: usize) -> Result<(Self, usize), Malformed> {
        let (header, octets) = Self::read(front)?;
        let len = octets.len();
        // Both forms of zero verify (RFC 1624 section 5), so the sum of everything decides.
        if sum(octets) != 0xffff {
            return Err(Malformed::Checksum {
                protocol: "IPv4",
                field: "header checksum",
                found: u32::from(header.header_checksum),
                expected: u32::from(checksum(octets)),
            });
        }
        let octets = usize::from(header.total_length);
        if octets < len || octets > total {
            return Err(Malformed::Length {
                protocol: "IPv4",
                field: "total length",
                found: octets,
                least: len,
                most: total,
            });
        }
        Ok((header, len))
    }

    /// Reads the header that an ICMP message quotes: only its beginning was sent along, and gateways on the way may
    /// have changed fields without a right checksum, so neither length nor checksum is looked at.
    ///
    /// # Errors
    /// The header is not all there, the version is not 4, or the IHL is below 5.
    pub fn parse_quoted(front: &[u8]) -> Result<(Self, usize), Malformed> {
        Self::read(front).map(|(header, octets)| (header, octets.len()))
    }

    /// The header and its own octets.
    fn read(front: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let Some(fixed) = front.first_chunk::<MIN_LEN>() else {
            return Err(short(MIN_LEN, front.len()));
        };
        #[rustfmt::skip] // one line is one 32-bit word of the standard's drawing
        let [
            version_ihl, type_of_service, l0, l1,
            i0, i1, f0, f1,
            time_to_live, protocol, c0, c1,
            s0, s1, s2, s3,
            d0, d1, d2, d3,
        ] = *fixed;
        if version_ihl >> 4 != 4 {
            return Err(Malformed::Field {
                protocol: "IPv4",
                field: "version",
                found: u64::from(version_ihl >> 4),
                expected: "4",
            });
        }
        let len = 4 * usize::from(version_ihl & 0xf);
        if len < MIN_LEN {
            return Err(Malformed::Field {
                protocol: "IPv4",
                field: "IHL",
                found: u64::from(version_ihl & 0xf),
                expected: "5 to 15 words",
            });
        }
        let Some(octets) = front.get(..len) else {
            return Err(short(len, front.len()));
        };
        let flags = u16::from_be_bytes([f0, f1]);
        let header = Self {
            type_of_service,
            total_length: u16::from_be_bytes([l0, l1]),
            identification: u16::from_be_bytes([i0, i1]),
            dont_fragment: flags & DF != 0,
            more_fragments: flags & MF != 0,
            fragment_offset: flags & OFFSET,
            time_to_live,
            protocol,
            header_checksum: u16::from_be_bytes([c0, c1]),
            source: Ipv4Addr::new(s0, s1, s2, s3),
            destination: Ipv4Addr::new(d0, d1, d2, d3),
            options: Options::new(octets.get(MIN_LEN..).unwrap_or_default()).unwrap_or_default(),
        };
        Ok((header, octets))
    }

    /// The differentiated services code point, six bits (RFC 2474).
    #[must_use]
    pub const fn dscp(&self) -> u8 {
        self.type_of_service >> 2
    }

    /// The ECN bits.
    #[must_use]
    pub const fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.type_of_service)
    }

    /// Sets the ECN bits and leaves the DSCP.
    pub const fn set_ecn(&mut self, ecn: Ecn) {
        self.type_of_service = (self.type_of_service & 0xfc) | ecn.bits();
    }

    /// Whether this is a part of a datagram: more follow, or it is not the first.
    #[must_use]
    pub const fn is_fragment(&self) -> bool {
        self.more_fragments || self.fragment_offset != 0
    }

    /// Place of the first data octet in the whole datagram, in octets.
    #[must_use]
    pub fn fragment_start(&self) -> usize {
        8 * usize::from(self.fragment_offset & OFFSET)
    }

    /// Octets of data after the header, as the total length says; 0 where that contradicts the header.
    #[must_use]
    pub fn data_len(&self) -> usize {
        usize::from(self.total_length).saturating_sub(self.len())
    }

    /// The header checksum that belongs to the other fields.
    #[must_use]
    pub fn checksum(&self) -> u16 {
        let mut octets = [0; MAX_LEN];
        let Some(octets) = octets.get_mut(..self.len()) else {
            return 0;
        };
        self.emit(octets);
        checksum(octets)
    }

    /// Octets that [`Header::emit`] writes: 20 to 60, a multiple of 4.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        MIN_LEN + self.options.len()
    }

    /// Writes [`Header::len`] octets, the checksum as it stands in the field.
    pub fn emit(&self, out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        let Some((fixed, options)) = out.split_first_chunk_mut::<MIN_LEN>() else {
            return;
        };
        // 5 to 15 words, so the IHL fits its four bits.
        let version_ihl = 0x40 | u8::try_from(self.len() / 4).unwrap_or_default();
        let [l0, l1] = self.total_length.to_be_bytes();
        let [i0, i1] = self.identification.to_be_bytes();
        let df = if self.dont_fragment { DF } else { 0 };
        let mf = if self.more_fragments { MF } else { 0 };
        let [f0, f1] = (df | mf | (self.fragment_offset & OFFSET)).to_be_bytes();
        let [c0, c1] = self.header_checksum.to_be_bytes();
        let [s0, s1, s2, s3] = self.source.octets();
        let [d0, d1, d2, d3] = self.destination.octets();
        #[rustfmt::skip] // one line is one 32-bit word of the standard's drawing
        let octets = [
            version_ihl, self.type_of_service, l0, l1,
            i0, i1, f0, f1,
            self.time_to_live, self.protocol, c0, c1,
            s0, s1, s2, s3,
            d0, d1, d2, d3,
        ];
        *fixed = octets;
        crate::put_slice(&mut { options }, self.options.as_octets());
    }

    /// Writes the header with the checksum that belongs to it; the field's own value is not used.
    pub fn emit_summed(&self, out: &mut [u8]) {
        self.emit(out);
        let right = checksum(out);
        if let Some(field) = out.get_mut(CHECKSUM_OFFSET..CHECKSUM_OFFSET + 2) {
            field.copy_from_slice(&right.to_be_bytes());
        }
    }

    /// This header as a router passes it on: one hop less to live, the checksum adjusted to that (RFC 1812 section
    /// 5.3.1, RFC 1624).
    #[must_use]
    pub fn one_hop_on(&self) -> Self {
        let word = |time_to_live| u16::from_be_bytes([time_to_live, self.protocol]);
        let time_to_live = self.time_to_live.saturating_sub(1);
        let (old, new) = (word(self.time_to_live), word(time_to_live));
        Self { time_to_live, header_checksum: updated_checksum(self.header_checksum, old, new), ..*self }
    }

    /// Writes the two fields that [`Header::one_hop_on`] changes into the header that stands in `out`; nothing where
    /// that is shorter than a header.
    pub fn emit_hop(&self, out: &mut [u8]) {
        if let Some(fixed) = out.first_chunk_mut::<MIN_LEN>() {
            let [c0, c1] = self.header_checksum.to_be_bytes();
            (fixed[8], fixed[10], fixed[11]) = (self.time_to_live, c0, c1);
        }
    }
}

const fn short(need: usize, have: usize) -> Malformed {
    Malformed::Short { protocol: "IPv4", need, have }
}

/// The one's complement sum of a header, RFC 1071. It is five to fifteen words of four octets, so a wider kernel would
/// not pay.
fn sum(header: &[u8]) -> u16 {
    // Nearly all headers are of this length, for which there is no loop.
    let sum = match header.as_array::<MIN_LEN>() {
        Some(fixed) => words(fixed),
        None => words(header),
    };
    let halves = (sum & 0xffff_ffff) + (sum >> 32);
    fold(u32::try_from((halves & 0xffff) + (halves >> 16)).unwrap_or(u32::MAX))
}

#[inline]
fn words(octets: &[u8]) -> u64 {
    let (words, _) = octets.as_chunks::<4>();
    words.iter().map(|word| u64::from(u32::from_be_bytes(*word))).sum()
}

/// The one's complement sum of the two halves.
fn fold(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    let twice = (once & 0xffff) + (once >> 16);
    u16::try_from(twice).unwrap_or(u16::MAX)
}

/// The checksum that belongs to the octets of a header (20 to 60), whatever they hold in the checksum field itself.
#[must_use]
pub fn checksum(header: &[u8]) -> u16 {
    let own = header.get(CHECKSUM_OFFSET..).and_then(<[u8]>::first_chunk).copied();
    let without = u32::from(sum(header)) + u32::from(!u16::from_be_bytes(own.unwrap_or_default()));
    !fold(without)
}

/// The checksum after one 16-bit word under it has changed from `old` to `new`: RFC 1624 equation 3, for hops left, an
/// ECN mark or a rewritten address. As right for TCP's and UDP's as for a header's own.
#[must_use]
pub fn updated_checksum(checksum: u16, old: u16, new: u16) -> u16 {
    !fold(u32::from(!checksum) + u32::from(!old) + u32::from(new))
}

/// What TCP, UDP and XTP sum in front of their own octets (RFC 9293 section 3.1). `length`: octets of the transport
/// header and data.
#[must_use]
pub const fn pseudo_header(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8, length: u16) -> [u8; 12] {
    let [s0, s1, s2, s3] = source.octets();
    let [d0, d1, d2, d3] = destination.octets();
    let [l0, l1] = length.to_be_bytes();
    [s0, s1, s2, s3, d0, d1, d2, d3, 0, protocol, l0, l1]
}

impl fmt::Display for Header {
    /// For example `IPv4 10.0.0.1 > 10.0.0.2 protocol 6 length 60 ttl 64 id 9888 DF`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, destination, protocol, total_length, time_to_live, identification, .. } = self;
        write!(f, "IPv4 {source} > {destination} protocol {protocol} length {total_length} ")?;
        write!(f, "ttl {time_to_live} id {identification}")?;
        if self.type_of_service != 0 {
            write!(f, " tos {:#04x}", self.type_of_service)?;
        }
        if self.dont_fragment {
            f.write_str(" DF")?;
        }
        if self.is_fragment() {
            let more = if self.more_fragments { "+" } else { "" };
            write!(f, " fragment {}{more}", self.fragment_start())?;
        }
        if !self.options.is_empty() {
            write!(f, " <{}>", self.options)?;
        }
        Ok(())
    }
}
