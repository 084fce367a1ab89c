//! MAPOS, multiple access over SONET/SDH: the header of a frame, between the opening flag and the information.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 2171 section 3.1 (version 1); RFC 2175 section 2 (MAPOS 16); numbers of RFC 2172 |
//! | Inside | [`nsp`] (RFC 2173), [`ssp`] (RFC 2174), [`arp`] and IPv4 (RFC 2176) |
//! | Addresses | [`Address`], and [`Subnet`] for the switch and the port in it |
//! | Left out | flags, stuffing and FCS, which are those of PPP (RFC 1662) and belong to the framing around |
//!
//! The address is that of the destination. No frame names its source, and none counts how often it was forwarded.
//!
//! # What tells a frame from PPP's
//!
//! No octet does. Flags, stuffing and FCS are the same (RFC 2171 section 3.1 takes them from RFC 1662), and
//! `FF 03 00 21` begins a datagram of IPv4 in PPP as well as one that MAPOS sends to all nodes. Nothing around the
//! frame does either: RFC 2171 gives the path signal label C2 no value of its own, and the values of PPP, CF (RFC 1619)
//! and 16 (RFC 2615), say no more than that such frames are in the payload, and whether it is scrambled. Some frames
//! can only be one of the two. Where PPP does not leave its address out, which RFC 1619 advises against, an address
//! other than FF is not PPP's (RFC 1662 section 3.1), and LCP's protocol C021 is not MAPOS's (RFC 2172 reserves all
//! numbers but four). But a receiver that waits for such a frame has had to decide on others before.
//!
//! So it is known beforehand or not at all: what a line carries is a matter of how its driver was opened. In paper 1
//! the driver of the SDH interface speaks MAPOS by itself and has an access point of its own for the PPP driver; PPP's
//! frames all pass there, in both directions. The formats here are therefore read by who has been told that the octets
//! are MAPOS.

use core::fmt;

use crate::{Malformed, put};

mod address;
pub mod arp;
pub mod nsp;
pub mod ssp;
#[cfg(test)]
mod tests;

pub use address::{ADDRESS_FIELD, Address, AddressField, Meaning, NotAddress, Subnet, Width};

/// Octets of a header, of either width: what MAPOS 16 adds to the address it saves on the control field.
pub const LEN: usize = 4;
/// The control field: unnumbered information, P/F bit zero (RFC 2171 section 3.1).
pub const CONTROL: u8 = 0x03;
/// Octets of information at most, which is also the MTU for IPv4 (RFC 2171 section 3.1, RFC 2176 section 2).
pub const MAX_INFORMATION: usize = 65_280;

/// Protocol numbers, RFC 2172 section 2.
pub mod protocol {
    /// IPv4 (RFC 2176).
    pub const IPV4: u16 = crate::inet::ipv4::MAPOS_PROTOCOL;
    /// Address resolution and UNARP (RFC 2176), [`arp`](super::arp).
    pub const ARP: u16 = 0xfe01;
    /// Node Switch Protocol (RFC 2173), [`nsp`](super::nsp).
    pub const NSP: u16 = 0xfe03;
    /// Switch Switch Protocol (RFC 2174), [`ssp`](super::ssp).
    pub const SSP: u16 = 0xfe05;

    /// Whether the number follows the extension mechanism of ISO 3309 as RFC 2172 section 2 wants it: the first octet
    /// even, the second odd.
    #[must_use]
    pub const fn is_well_formed(number: u16) -> bool {
        number & 0x0101 == 1
    }
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// For whom the frame is.
    pub destination: Address,
    /// What the information is, see [`protocol`].
    pub protocol: u16,
}

impl Header {
    /// Reads a header of this width; also gives its length.
    ///
    /// # Errors
    /// The header is not all there, the address cannot be one, or (version 1) the control field is not [`CONTROL`].
    /// Such frames are to be discarded silently (RFC 2171 section 3.1).
    pub fn parse(width: Width, front: &[u8]) -> Result<(Self, usize), Malformed> {
        let Some(&[a, b, p0, p1]) = front.first_chunk::<LEN>() else {
            return Err(Malformed::Short { protocol: "MAPOS", need: LEN, have: front.len() });
        };
        let refuse = |field, found: u32, expected| Malformed::Field {
            protocol: "MAPOS",
            field,
            found: u64::from(found),
            expected,
        };
        let value = match width {
            Width::Eight => u32::from(a),
            Width::Sixteen => u32::from(u16::from_be_bytes([a, b])),
        };
        let destination = Address::new(width, value).ok_or_else(|| refuse("address", value, width.expectation()))?;
        if width == Width::Eight && b != CONTROL {
            return Err(refuse("control", u32::from(b), "0x3 (UI)"));
        }
        let header = Self { destination, protocol: u16::from_be_bytes([p0, p1]) };
        Ok((header, LEN))
    }

    /// Octets that [`Header::emit`] writes: always 4.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        LEN
    }

    /// Writes 4 octets, in the width of the address.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), LEN);
        let out = &mut out;
        let [high, low] = self.destination.bits().to_be_bytes();
        put(
            out,
            match self.destination.width() {
                Width::Eight => [low, CONTROL],
                Width::Sixteen => [high, low],
            },
        );
        put(out, self.protocol.to_be_bytes());
    }
}

impl fmt::Display for Header {
    /// For example `MAPOS > 0x23 protocol 0x0021` or `MAPOS 16 > 0xfeff protocol 0xfe01`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { destination, protocol } = self;
        let width = destination.width();
        write!(f, "{width} > {destination} protocol {protocol:#06x}")
    }
}
