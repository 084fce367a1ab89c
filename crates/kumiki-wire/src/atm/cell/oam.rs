//! OAM cells: the loopback, and the check that all OAM payloads share.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T I.610, fault management; CRC-10 x^10+x^9+x^5+x^4+x+1 |
//! | Left out | AIS, RDI, continuity check, performance management, activation: [`kind`] names them |

use core::fmt;

use super::{IDLE_PAYLOAD, PAYLOAD_LEN};
use crate::Malformed;

/// The first octet of an OAM payload: OAM type and function type.
pub mod kind {
    /// Alarm indication signal.
    pub const AIS: u8 = 0x10;
    /// Remote defect indication.
    pub const RDI: u8 = 0x11;
    /// Continuity check.
    pub const CONTINUITY: u8 = 0x14;
    /// Loopback.
    pub const LOOPBACK: u8 = 0x18;
}

/// A location that means: the end point of the connection.
pub const END_POINT: [u8; 16] = [0xff; 16];

/// The remainder of the octets, as one polynomial, by x^10+x^9+x^5+x^4+x+1. It is the CRC of the bits before the last
/// ten where those ten are zero, and zero where they are the CRC: 374 bits need no other kernel than 384.
fn remainder(octets: &[u8]) -> u16 {
    octets.iter().fold(0, |register, octet| {
        (0..8).rev().fold(register, |register, bit| {
            let shifted = (register << 1) | u16::from(octet >> bit & 1);
            if shifted & 0x400 == 0 { shifted } else { shifted ^ 0x633 }
        })
    })
}

/// Whether the last ten bits of an OAM, RM or AAL3/4 payload are the CRC-10 of the bits before.
#[must_use]
pub fn is_crc10_right(payload: &[u8; PAYLOAD_LEN]) -> bool {
    remainder(payload) == 0
}

/// Puts the CRC-10 of the first 374 bits into the last ten.
pub fn set_crc10(payload: &mut [u8; PAYLOAD_LEN]) {
    let [.., high, low] = payload;
    *high &= 0xfc;
    *low = 0;
    let [crc_high, crc_low] = remainder(payload).to_be_bytes();
    let [.., high, low] = payload;
    *high |= crc_high;
    *low = crc_low;
}

/// What is wrong with a payload of `protocol` whose CRC-10 is not right.
pub(super) fn crc10_fault(protocol: &'static str, payload: &[u8; PAYLOAD_LEN]) -> Malformed {
    let mut right = *payload;
    set_crc10(&mut right);
    let [found, expected] = [*payload, right].map(|payload| u32::from(crc10_of(&payload)));
    Malformed::Checksum { protocol, field: "CRC-10", found, expected }
}

/// The last ten bits of `payload`.
#[must_use]
pub const fn crc10_of(payload: &[u8; PAYLOAD_LEN]) -> u16 {
    let [.., high, low] = *payload;
    u16::from_be_bytes([high & 3, low])
}

/// The payload of a loopback cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Loopback {
    /// `true` until the cell is looped back: whoever loops it clears this.
    pub indication: bool,
    /// Tells one loopback from the next; comes back unchanged.
    pub correlation_tag: u32,
    /// Where to loop back; [`END_POINT`] for the end of the connection or segment.
    pub location: [u8; 16],
    /// Where the cell was inserted; all ones if not told.
    pub source: [u8; 16],
}

impl Loopback {
    /// Reads the payload of an OAM cell.
    ///
    /// # Errors
    /// The CRC-10 is wrong, or this is another OAM cell.
    pub fn parse(payload: &[u8; PAYLOAD_LEN]) -> Result<Self, Malformed> {
        if !is_crc10_right(payload) {
            return Err(crc10_fault("ATM OAM", payload));
        }
        let [kind, indication, rest @ ..] = payload;
        if *kind != kind::LOOPBACK {
            return Err(Malformed::Field {
                protocol: "ATM OAM",
                field: "OAM and function type",
                found: u64::from(*kind),
                expected: "0x18 (loopback)",
            });
        }
        let (tag, rest) = rest.split_first_chunk().unwrap_or((&[0; 4], &[]));
        let (location, rest) = rest.split_first_chunk().unwrap_or((&END_POINT, &[]));
        let source = rest.first_chunk().unwrap_or(&END_POINT);
        Ok(Self {
            indication: indication & 1 != 0,
            correlation_tag: u32::from_be_bytes(*tag),
            location: *location,
            source: *source,
        })
    }

    /// The payload, with the CRC-10 that belongs to it.
    #[must_use]
    pub fn octets(&self) -> [u8; PAYLOAD_LEN] {
        let mut payload = [IDLE_PAYLOAD; PAYLOAD_LEN];
        let mut out = payload.as_mut_slice();
        let out = &mut out;
        crate::put(out, [kind::LOOPBACK, u8::from(self.indication)]);
        crate::put(out, self.correlation_tag.to_be_bytes());
        crate::put(out, self.location);
        crate::put(out, self.source);
        let [.., high, _] = &mut payload;
        *high = 0; // the six bits before the CRC are reserved
        set_crc10(&mut payload);
        payload
    }
}

impl fmt::Display for Loopback {
    /// For example `OAM loopback request tag 1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = if self.indication { "request" } else { "returned" };
        write!(f, "OAM loopback {way} tag {}", self.correlation_tag)
    }
}
