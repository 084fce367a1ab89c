//! FDDI headers: what a station gives to and gets from its adapter, from frame control to the information field.
//!
//! | | |
//! |---|---|
//! | Specification | ISO 9314-2 (ANSI X3.139), as RFC 1390 quotes it; the values of frame control and the frame check sequence recalled, and checked against Wireshark as far as it shows them |
//! | Left out | addresses of 16 bits (RFC 1390 forbids them to IP): such a frame is refused; fields of MAC and SMT frames |
//!
//! ```text
//!   preamble SD | FC | DA         | SA         | information ... | FCS    | ED FS
//!      8     1  | 1  | 6          | 6          | 0 to 4478       | 4      |   2     octets on the line; a symbol is half of one
//!               |<------ this codec ----->|
//! ```
//!
//! # The order of bits
//!
//! FDDI sends the highest bit of an octet first, Ethernet the lowest. A MAC address is a string of bits whose first
//! says whether it names a group, on any medium. So in the octets of an FDDI frame an address has each octet turned
//! around, and what is `01:00:5e:..` in Ethernet's (canonical) form begins with `80 00 7a` there (RFC 1390).
//! [`MacAddr`] is always canonical here; `parse` and `emit` turn it around. Captures of link type 10 hold the octets as
//! they are on the line, addresses turned around: that is how tshark reads them. Protocols behind the header, ARP among
//! them, carry canonical addresses.

use core::fmt;

use kumiki_octets::crc::Aal5Crc;

use crate::inet::ethernet::MacAddr;
use crate::{Malformed, put};

/// Octets of the header: frame control and two addresses.
pub const LEN: usize = 13;
/// Octets of the frame check sequence.
pub const FCS_LEN: usize = 4;
/// The most octets of a frame with all its fields, two octets of preamble among them (RFC 1390).
pub const MAX_FRAME: usize = 4500;
/// Octets of a frame on the line beside its information: preamble of 16 symbols, starting delimiter of 2, header, check
/// sequence, ending delimiter of 1 and frame status of 3.
pub const LINE_OVERHEAD: usize = 8 + 1 + LEN + FCS_LEN + 2;
/// Octets of a token on the line: preamble of 16 symbols, starting delimiter, frame control and ending delimiter of 2
/// each.
pub const TOKEN_LEN: usize = 8 + 1 + 1 + 1;
/// The most octets of information: what is left of [`MAX_FRAME`] with two octets of preamble.
pub const MAX_INFORMATION: usize = MAX_FRAME - (LINE_OVERHEAD - 6);
/// The most octets of a datagram behind LLC and SNAP (RFC 1390).
pub const IP_MTU: usize = 4352;

/// What frame control says of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Control {
    /// A frame for LLC.
    Llc {
        /// Sent within a synchronous allocation.
        synchronous: bool,
        /// Of an asynchronous frame: 0 to 7.
        priority: u8,
    },
    /// Station management: 41 SMT, 4F for the next station.
    Smt(u8),
    /// The ring itself: C2 beacon, C3 claim.
    Mac(u8),
    /// Anything else: tokens (80, C0), void frames (40), what implementers do.
    Other(u8),
}

impl Control {
    /// A datagram of lowest priority, as IP sends (RFC 1390).
    pub const ASYNCHRONOUS: Self = Self::Llc { synchronous: false, priority: 0 };

    /// By the octet `CLFF ZZZZ`: class, length of the addresses, format, and the rest.
    const fn of(octet: u8) -> Self {
        match octet {
            0x50..=0x57 => Self::Llc { synchronous: false, priority: octet & 7 },
            0xd0 => Self::Llc { synchronous: true, priority: 0 },
            0x41..=0x4f => Self::Smt(octet),
            0xc1..=0xcf => Self::Mac(octet),
            octet => Self::Other(octet),
        }
    }

    /// The octet.
    #[must_use]
    pub const fn octet(self) -> u8 {
        match self {
            Self::Llc { synchronous: false, priority } => 0x50 | priority & 7,
            Self::Llc { synchronous: true, .. } => 0xd0,
            Self::Smt(octet) | Self::Mac(octet) | Self::Other(octet) => octet,
        }
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Llc { synchronous: true, .. } => f.write_str("LLC synchronous"),
            Self::Llc { priority, .. } => write!(f, "LLC priority {priority}"),
            Self::Smt(octet) => write!(f, "SMT {octet:#04x}"),
            Self::Mac(0xc2) => f.write_str("MAC beacon"),
            Self::Mac(0xc3) => f.write_str("MAC claim"),
            Self::Mac(octet) => write!(f, "MAC {octet:#04x}"),
            Self::Other(octet) => write!(f, "frame control {octet:#04x}"),
        }
    }
}

/// An FDDI header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Frame control.
    pub control: Control,
    /// Station or group that the frame is for, in canonical form.
    pub destination: MacAddr,
    /// Station that sent it, in canonical form.
    pub source: MacAddr,
}

/// An address with the bits of each octet turned around: from the order of FDDI to that of Ethernet, or back.
#[must_use]
pub fn turned(address: [u8; 6]) -> [u8; 6] {
    address.map(u8::reverse_bits)
}

/// The frame check sequence of `octets`, from frame control to the end of the information, as they are on the line:
/// sent with its highest octet first.
#[must_use]
pub fn fcs(octets: &[u8]) -> u32 {
    // The polynomial and the order of bits are those of AAL5.
    let mut crc = Aal5Crc::new();
    crc.update(octets);
    crc.finish()
}

impl Header {
    /// Reads a header; also gives its length.
    ///
    /// # Errors
    /// The header is not all there, or its addresses have 16 bits.
    pub fn parse(front: &[u8]) -> Result<(Self, usize), Malformed> {
        let Some(&[fc, d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5]) = front.first_chunk::<LEN>() else {
            return Err(Malformed::Short { protocol: "FDDI", need: LEN, have: front.len() });
        };
        if fc & 0x40 == 0 {
            return Err(Malformed::Field {
                protocol: "FDDI",
                field: "frame control",
                found: fc.into(),
                expected: "bit 0x40 set, which means addresses of 48 bits",
            });
        }
        let header = Self {
            control: Control::of(fc),
            destination: MacAddr(turned([d0, d1, d2, d3, d4, d5])),
            source: MacAddr(turned([s0, s1, s2, s3, s4, s5])),
        };
        Ok((header, LEN))
    }

    /// Octets that [`Header::emit`] writes: always 13.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        LEN
    }

    /// Writes 13 octets.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), LEN);
        put(&mut out, [self.control.octet()]);
        put(&mut out, turned(self.destination.0));
        put(&mut out, turned(self.source.0));
    }
}

impl fmt::Display for Header {
    /// For example `FDDI 02:00:00:00:00:01 > ff:ff:ff:ff:ff:ff LLC priority 0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { control, destination, source } = self;
        write!(f, "FDDI {source} > {destination} {control}")
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;

    use super::*;

    /// The example of RFC 1390 under "Multicast Support".
    #[test]
    fn a_group_address_has_its_first_bit_first_on_the_line() {
        let group = MacAddr::of_ipv4_group(Ipv4Addr::new(224, 255, 0, 2));
        assert_eq!(group.to_string(), "01:00:5e:7f:00:02");
        let header = Header { control: Control::ASYNCHRONOUS, destination: group, source: MacAddr([2, 0, 0, 0, 0, 1]) };
        let mut out = [0; LEN];
        header.emit(&mut out);
        assert_eq!(out, [0x50, 0x80, 0x00, 0x7a, 0xfe, 0x00, 0x40, 0x40, 0, 0, 0, 0, 0x80]);
        assert_eq!(Header::parse(&out), Ok((header, LEN)));
        assert_eq!(header.to_string(), "FDDI 02:00:00:00:00:01 > 01:00:5e:7f:00:02 LLC priority 0");
    }

    /// RFC 1390, "Packet Size": 4500 octets with two of preamble leave roughly 4470 behind LLC and SNAP.
    #[test]
    fn the_longest_frame_leaves_4470_octets_behind_llc_and_snap() {
        assert_eq!(MAX_INFORMATION - 8, 4470);
        assert_eq!(2 + 1 + LEN + MAX_INFORMATION + FCS_LEN + 2, MAX_FRAME);
    }

    #[test]
    fn the_check_sequence_is_that_of_ieee_802_over_bits_in_the_order_of_the_line() {
        // The check value of this polynomial with the highest bit first, as AAL5 has it too.
        assert_eq!(fcs(b"123456789"), 0xfc89_1918);
        // Turned around octet by octet it is what Ethernet computes, lowest bit first, of the octets turned around.
        let turned: Vec<u8> = b"123456789".iter().map(|it| it.reverse_bits()).collect();
        let mut ethernet = kumiki_octets::crc::Fcs32::new();
        ethernet.update(&turned);
        assert_eq!(ethernet.finish().reverse_bits(), fcs(b"123456789"));
    }

    #[test]
    fn short_addresses_and_cut_headers_are_refused() {
        assert!(Header::parse(&[0x10; 20]).is_err());
        assert!(Header::parse(&[0x50; 12]).is_err());
    }

    proptest! {
        #[test]
        fn what_was_parsed_is_emitted(mut octets: [u8; LEN]) {
            octets[0] |= 0x40;
            let (header, len) = Header::parse(&octets).unwrap();
            let mut out = [0; LEN];
            header.emit(&mut out);
            prop_assert_eq!((out, len), (octets, LEN));
        }

        #[test]
        fn no_octets_make_it_panic(octets: Vec<u8>) {
            let _ = Header::parse(&octets);
        }
    }
}
