//! The segmentation and reassembly sublayer: what stands around the 44 octets of each cell.

use core::fmt;

use kumiki_octets::crc::Crc10;

use super::short;
use crate::Malformed;
use crate::atm::cell;

/// Octets of the header.
pub const HEADER_LEN: usize = 2;
/// Octets of the trailer.
pub const TRAILER_LEN: usize = 2;
/// Octets of a CPCS-PDU that a cell carries.
pub const PAYLOAD_LEN: usize = cell::PAYLOAD_LEN - HEADER_LEN - TRAILER_LEN;
/// The largest multiplexing identification.
pub const MAX_MID: u16 = 1023;
/// The length indication by which the sender gives a PDU up, in a segment of type EOM.
pub const ABORT: u8 = 63;

/// The place of a segment in its CPCS-PDU, two bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum SegmentType {
    /// 00: continuation of message.
    #[default]
    Com,
    /// 01: end of message.
    Eom,
    /// 10: beginning of message.
    Bom,
    /// 11: single segment message.
    Ssm,
}

impl SegmentType {
    /// Of the two low bits of `bits`.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::Com,
            1 => Self::Eom,
            2 => Self::Bom,
            _ => Self::Ssm,
        }
    }

    /// The two bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::Com => 0,
            Self::Eom => 1,
            Self::Bom => 2,
            Self::Ssm => 3,
        }
    }

    /// Of a segment of a PDU, by whether it is the first and whether it is the last.
    #[must_use]
    pub const fn at(first: bool, last: bool) -> Self {
        match (first, last) {
            (false, false) => Self::Com,
            (false, true) => Self::Eom,
            (true, false) => Self::Bom,
            (true, true) => Self::Ssm,
        }
    }

    /// Whether a CPCS-PDU begins here.
    #[must_use]
    pub const fn begins(self) -> bool {
        matches!(self, Self::Bom | Self::Ssm)
    }

    /// Whether a CPCS-PDU ends here.
    #[must_use]
    pub const fn ends(self) -> bool {
        matches!(self, Self::Eom | Self::Ssm)
    }
}

impl fmt::Display for SegmentType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Com => "COM",
            Self::Eom => "EOM",
            Self::Bom => "BOM",
            Self::Ssm => "SSM",
        })
    }
}

/// Why a segment is thrown away; each is counted on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SarError {
    /// The octets do not give the CRC of the trailer. Not even the MID can be trusted.
    Crc {
        /// The value in the trailer.
        found: u16,
        /// The value that the octets give.
        expected: u16,
    },
    /// The sender gave up the PDU: an EOM whose length indication is 63.
    Abort,
    /// A length that a segment of this type cannot have.
    Length {
        /// The segment's type.
        segment_type: SegmentType,
        /// The value in the trailer.
        found: u8,
        /// Smallest value that would have been accepted.
        least: u8,
    },
}

impl fmt::Display for SarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Crc { found, expected } => {
                write!(f, "AAL3/4: CRC-10 is {found:#05x}, the octets give {expected:#05x}")
            }
            Self::Abort => f.write_str("AAL3/4: LI is 63, the sender aborted the PDU"),
            Self::Length { segment_type, found, least } => {
                write!(f, "AAL3/4: LI of {segment_type} is {found}, expected {least} to 44")
            }
        }
    }
}

impl core::error::Error for SarError {}

/// The first 2 octets of a SAR-PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Header {
    /// ST: where in its CPCS-PDU this segment is.
    pub segment_type: SegmentType,
    /// SN: one more, modulo 16, than in the segment before of the same CPCS-PDU; any at its beginning.
    pub sn: u8,
    /// MID: which of up to 1024 CPCS-PDUs in progress on the channel it belongs to; 0 where there is one at a time.
    pub mid: u16,
}

impl Header {
    /// Reads the header from the front of a SAR-PDU; every value is allowed.
    ///
    /// # Errors
    /// Fewer than 2 octets.
    pub fn parse(front: &[u8]) -> Result<(Self, usize), Malformed> {
        let Some(&[a, b]) = front.first_chunk::<HEADER_LEN>() else {
            return Err(short(HEADER_LEN, front.len()));
        };
        let header = Self {
            segment_type: SegmentType::from_bits(a >> 6),
            sn: (a >> 2) & 0xf,
            mid: u16::from_be_bytes([a & 3, b]),
        };
        Ok((header, HEADER_LEN))
    }

    /// Octets that [`Header::emit`] writes: always 2.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        HEADER_LEN
    }

    /// Writes 2 octets: of SN the low 4 bits, of MID the low 10.
    pub fn emit(&self, out: &mut [u8]) {
        debug_assert_eq!(out.len(), HEADER_LEN);
        let Some(out) = out.first_chunk_mut::<HEADER_LEN>() else {
            return;
        };
        let [high, low] = self.mid.to_be_bytes();
        *out = [self.segment_type.bits() << 6 | (self.sn & 0xf) << 2 | (high & 3), low];
    }
}

impl fmt::Display for Header {
    /// For example `AAL3/4 SSM SN 0 MID 0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { segment_type, sn, mid } = self;
        write!(f, "AAL3/4 {segment_type} SN {sn} MID {mid}")
    }
}

/// The last 2 octets of a SAR-PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Trailer {
    /// LI: how many of the 44 octets are of the CPCS-PDU.
    pub li: u8,
    /// CRC-10 as on the wire; see [`crc`].
    pub crc: u16,
}

impl Trailer {
    /// Reads the trailer from the end of a SAR-PDU. Nothing about it is checked: [`Trailer::check`] does that.
    ///
    /// # Errors
    /// Fewer than 2 octets.
    pub fn parse(back: &[u8]) -> Result<Self, Malformed> {
        let Some(&[a, b]) = back.last_chunk::<TRAILER_LEN>() else {
            return Err(short(TRAILER_LEN, back.len()));
        };
        Ok(Self { li: a >> 2, crc: u16::from_be_bytes([a & 3, b]) })
    }

    /// Octets of the CPCS-PDU in a segment of type `segment_type` whose first 374 bits give `crc`. The CRC comes first:
    /// when it is wrong, no field can be trusted.
    ///
    /// # Errors
    /// The first of the [`SarError`]s, in their order.
    pub const fn check(&self, segment_type: SegmentType, crc: u16) -> Result<usize, SarError> {
        if self.crc != crc {
            return Err(SarError::Crc { found: self.crc, expected: crc });
        }
        let least = match segment_type {
            // All but the last are full.
            SegmentType::Bom | SegmentType::Com => 44,
            SegmentType::Eom if self.li == ABORT => return Err(SarError::Abort),
            SegmentType::Eom => 4,
            // Header and trailer of the CPCS-PDU alone are 8.
            SegmentType::Ssm => 8,
        };
        if self.li < least || self.li as usize > PAYLOAD_LEN {
            return Err(SarError::Length { segment_type, found: self.li, least });
        }
        Ok(self.li as usize)
    }

    /// Octets that [`Trailer::emit`] writes: always 2.
    #[expect(clippy::len_without_is_empty, reason = "a trailer is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        TRAILER_LEN
    }

    /// Writes 2 octets: of LI the low 6 bits, of the CRC the low 10 as they stand in the field.
    pub fn emit(&self, out: &mut [u8]) {
        debug_assert_eq!(out.len(), TRAILER_LEN);
        let Some(out) = out.first_chunk_mut::<TRAILER_LEN>() else {
            return;
        };
        let [high, low] = self.crc.to_be_bytes();
        *out = [(self.li & 0x3f) << 2 | (high & 3), low];
    }
}

impl fmt::Display for Trailer {
    /// For example `AAL3/4 LI 16 CRC 0x120`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { li, crc } = self;
        write!(f, "AAL3/4 LI {li} CRC {crc:#05x}")
    }
}

/// The CRC-10 that belongs into the last 10 bits of a SAR-PDU: that of its first 374 bits.
#[must_use]
pub fn crc(pdu: &[u8; cell::PAYLOAD_LEN]) -> u16 {
    Crc10::of_payload(pdu)
}

/// The SAR-PDU of up to 44 octets of a CPCS-PDU, the rest zeros; without `with_crc` the CRC is zero. Octets beyond 44
/// are left out.
#[must_use]
pub fn pdu(header: Header, octets: &[u8], with_crc: bool) -> [u8; cell::PAYLOAD_LEN] {
    let octets = octets.get(..PAYLOAD_LEN).unwrap_or(octets);
    let mut pdu = [0; cell::PAYLOAD_LEN];
    let mut trailer = Trailer { li: u8::try_from(octets.len()).unwrap_or(0), crc: 0 };
    if let Some((front, rest)) = pdu.split_first_chunk_mut::<HEADER_LEN>() {
        header.emit(front);
        if let Some(room) = rest.get_mut(..octets.len()) {
            room.copy_from_slice(octets);
        }
    }
    if let Some(back) = pdu.last_chunk_mut::<TRAILER_LEN>() {
        trailer.emit(back);
    }
    if with_crc {
        trailer.crc = crc(&pdu);
        if let Some(back) = pdu.last_chunk_mut::<TRAILER_LEN>() {
            trailer.emit(back);
        }
    }
    pdu
}
