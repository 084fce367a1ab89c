//! Ethernet headers: what a station gives to and gets from the medium, without preamble and frame check sequence.
//!
//! | | |
//! |---|---|
//! | Specification | Ethernet II and IEEE 802.3 section 3.2; RFC 894 (IP by type), RFC 1042 (IP by length, LLC and SNAP) |
//! | Left out | VLAN tags (a frame with one has [`ethertype::VLAN`]); the FCS, which belongs to the link |

use core::fmt;
use core::str::FromStr;
use std::net::{Ipv4Addr, Ipv6Addr};

use kumiki_octets::address::{self, Address, AddressKind, AddressType};

use crate::Malformed;

/// Octets of the header.
pub const LEN: usize = 14;
/// Most octets of data in a frame of the standard; also the largest value that means a length. Many links carry more.
pub const MAX_DATA: usize = 1500;
/// Data is padded to this many octets on the medium.
pub const MIN_DATA: usize = 46;
/// Smallest value that means a type.
pub const MIN_TYPE: u16 = 0x0600;

/// Types, from the registry of assigned numbers. LLC/SNAP with the zero organisation uses the same.
pub mod ethertype {
    /// IPv4 (RFC 894).
    pub const IPV4: u16 = 0x0800;
    /// Address resolution (RFC 826).
    pub const ARP: u16 = 0x0806;
    /// Xpress Transport Protocol.
    pub const XTP: u16 = 0x817d;
    /// VLAN tag (IEEE 802.1Q).
    pub const VLAN: u16 = 0x8100;
    /// IPv6 (RFC 2464).
    pub const IPV6: u16 = 0x86dd;
}

/// A MAC address, in the order of the wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MacAddr(pub [u8; 6]);

/// MAC addresses.
pub static MAC: AddressKind = AddressKind { name: "MAC address", write: address::write_as::<MacAddr> };

impl AddressType for MacAddr {
    const KIND: &'static AddressKind = &MAC;

    fn to_address(self) -> Address {
        self.address()
    }

    fn of_octets(octets: &[u8]) -> Option<Self> {
        octets.first_chunk().copied().map(Self)
    }
}

impl MacAddr {
    /// All stations.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// This, as an address of any kind.
    #[must_use]
    pub const fn address(self) -> Address {
        Address::new(&MAC, self.0)
    }

    /// Whether this names a group of stations, the broadcast address included.
    #[must_use]
    pub const fn is_group(self) -> bool {
        let [first, ..] = self.0;
        first & 1 != 0
    }

    /// The group of stations that listen to the IPv4 multicast address `group` (RFC 1112 section 6.4).
    #[must_use]
    pub const fn of_ipv4_group(group: Ipv4Addr) -> Self {
        let [_, b, c, d] = group.octets();
        Self([1, 0, 0x5e, b & 0x7f, c, d])
    }

    /// The group of stations that listen to the IPv6 multicast address `group` (RFC 2464 section 7).
    #[must_use]
    pub const fn of_ipv6_group(group: Ipv6Addr) -> Self {
        let [.., a, b, c, d] = group.octets();
        Self([0x33, 0x33, a, b, c, d])
    }

    /// The modified EUI-64 interface identifier (RFC 4291 appendix A).
    #[must_use]
    pub const fn eui64(self) -> [u8; 8] {
        let [a, b, c, d, e, f] = self.0;
        [a ^ 2, b, c, 0xff, 0xfe, d, e, f]
    }
}

impl fmt::Display for MacAddr {
    /// For example `02:00:00:00:00:01`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Text that is not a MAC address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotMacAddr {
    /// The text.
    pub found: String,
}

impl fmt::Display for NotMacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { found } = self;
        write!(
            f,
            "{found:?} is not a MAC address: six pairs of hexadecimal digits with colons, as in 02:00:00:00:00:01"
        )
    }
}

impl core::error::Error for NotMacAddr {}

impl FromStr for MacAddr {
    type Err = NotMacAddr;

    fn from_str(text: &str) -> Result<Self, NotMacAddr> {
        let refuse = || NotMacAddr { found: text.to_owned() };
        let mut octets = [0; 6];
        let mut parts = text.split(':');
        for octet in &mut octets {
            let part = parts.next().ok_or_else(refuse)?;
            if part.len() != 2 || !part.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(refuse());
            }
            *octet = u8::from_str_radix(part, 16).map_err(|_| refuse())?;
        }
        if parts.next().is_some() { Err(refuse()) } else { Ok(Self(octets)) }
    }
}

/// The last two octets of the header: one field, two meanings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeOrLength {
    /// Ethernet II: what the data is, see [`ethertype`]; at least [`MIN_TYPE`].
    Type(u16),
    /// IEEE 802.3: octets of data, an LLC header first; at most [`MAX_DATA`]. The rest of the frame is padding.
    Length(u16),
}

/// An Ethernet header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Station or group that the frame is for.
    pub destination: MacAddr,
    /// Station that sent it.
    pub source: MacAddr,
    /// What the data is, or how long.
    pub type_or_length: TypeOrLength,
}

impl Header {
    /// Reads a header from the octets at the front of a frame of `total` octets (without FCS); also gives the header's
    /// length.
    ///
    /// # Errors
    /// The header is not all there, the last field is neither a length nor a type, or the length is beyond the frame.
    pub fn parse(front: &[u8], total: usize) -> Result<(Self, usize), Malformed> {
        let Some(&[d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1]) = front.first_chunk::<LEN>() else {
            return Err(Malformed::Short { protocol: "Ethernet", need: LEN, have: front.len() });
        };
        let field = u16::from_be_bytes([t0, t1]);
        let octets = usize::from(field);
        let type_or_length = if field >= MIN_TYPE {
            TypeOrLength::Type(field)
        } else if octets <= MAX_DATA {
            let most = total.saturating_sub(LEN);
            if octets > most {
                return Err(Malformed::Length { protocol: "Ethernet", field: "length", found: octets, least: 0, most });
            }
            TypeOrLength::Length(field)
        } else {
            return Err(Malformed::Field {
                protocol: "Ethernet",
                field: "length/type",
                found: u64::from(field),
                expected: "a length up to 0x5dc or a type from 0x600",
            });
        };
        let header = Self {
            destination: MacAddr([d0, d1, d2, d3, d4, d5]),
            source: MacAddr([s0, s1, s2, s3, s4, s5]),
            type_or_length,
        };
        Ok((header, LEN))
    }

    /// Octets that [`Header::emit`] writes: always 14.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        LEN
    }

    /// Writes 14 octets.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), LEN);
        let (TypeOrLength::Type(field) | TypeOrLength::Length(field)) = self.type_or_length;
        crate::put(&mut out, self.destination.0);
        crate::put(&mut out, self.source.0);
        crate::put(&mut out, field.to_be_bytes());
    }
}

impl fmt::Display for Header {
    /// For example `Ethernet 02:00:00:00:00:01 > ff:ff:ff:ff:ff:ff type 0x0806`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ethernet {} > {} ", self.source, self.destination)?;
        match self.type_or_length {
            TypeOrLength::Type(ethertype) => write!(f, "type {ethertype:#06x}"),
            TypeOrLength::Length(length) => write!(f, "length {length}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(field: u16) -> [u8; 14] {
        let [t0, t1] = field.to_be_bytes();
        [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, t0, t1]
    }

    #[test]
    fn one_field_is_a_type_or_a_length() {
        let (header, len) = Header::parse(&frame(0x0806), 60).unwrap();
        assert_eq!((header.type_or_length, len), (TypeOrLength::Type(ethertype::ARP), 14));
        assert_eq!(header.to_string(), "Ethernet 02:00:00:00:00:01 > 02:00:00:00:00:02 type 0x0806");
        let (header, _) = Header::parse(&frame(46), 60).unwrap();
        assert_eq!(header.type_or_length, TypeOrLength::Length(46));
        assert!(matches!(Header::parse(&frame(0x5dd), 1518), Err(Malformed::Field { found: 0x5dd, .. })));
        assert!(matches!(Header::parse(&frame(0x5ff), 1518), Err(Malformed::Field { .. })));
        assert!(Header::parse(&frame(0x5dc), 1514).is_ok());
    }

    #[test]
    fn a_length_beyond_the_frame_is_refused() {
        assert!(matches!(Header::parse(&frame(47), 60), Err(Malformed::Length { found: 47, most: 46, .. })));
    }

    #[test]
    fn addresses_are_read_as_they_are_printed() {
        assert_eq!("02:aB:cc:DD:ee:01".parse(), Ok(MacAddr([2, 0xab, 0xcc, 0xdd, 0xee, 1])));
        for text in
            ["", "02:00:00:00:00", "02:00:00:00:00:01:02", "2:0:0:0:0:1", "+2:00:00:00:00:01", "02-00-00-00-00-01"]
        {
            assert_eq!(text.parse::<MacAddr>(), Err(NotMacAddr { found: text.to_owned() }));
        }
        assert!(MacAddr::BROADCAST.is_group() && MacAddr([1, 0, 0x5e, 0, 0, 1]).is_group());
        assert!(!MacAddr([2, 0, 0, 0, 0, 1]).is_group());
    }

    proptest! {
        #[test]
        fn what_was_emitted_is_parsed(destination: [u8; 6], source: [u8; 6], field: u16) {
            let type_or_length = match field {
                MIN_TYPE.. => TypeOrLength::Type(field),
                _ => TypeOrLength::Length(field % 1501),
            };
            let header = Header { destination: MacAddr(destination), source: MacAddr(source), type_or_length };
            let mut out = [0; LEN];
            header.emit(&mut out);
            prop_assert_eq!(Header::parse(&out, 1514), Ok((header, LEN)));
            prop_assert_eq!(header.source.to_string().parse(), Ok(header.source));
        }

        #[test]
        fn no_octets_make_it_panic(octets: Vec<u8>, total: usize, text: String) {
            let _ = Header::parse(&octets, total);
            let _ = text.parse::<MacAddr>();
        }
    }
}
