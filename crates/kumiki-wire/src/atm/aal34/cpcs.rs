//! The convergence sublayer's common part: what stands around an SDU.
//!
//! The header says before anything else comes how much memory the PDU will need; the trailer says how long the SDU was.
//! Both carry the same tag, so that the front of one PDU and the back of another are known not to belong together.

use core::fmt;

use kumiki_octets::{Message, Meta};

use super::{pad_len, pdu_len};
use crate::Malformed;
use crate::layout::layout;

/// Octets of the header.
pub const HEADER_LEN: usize = 4;
/// Octets of the trailer.
pub const TRAILER_LEN: usize = 4;

/// Why a CPCS-PDU is thrown away; each is counted on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpcsError {
    /// The common part indicator is not zero: other units, or none of this protocol.
    Cpi {
        /// The value in the header.
        found: u8,
    },
    /// The octet that fills the trailer is not zero.
    Alignment {
        /// The value in the trailer.
        found: u8,
    },
    /// The header is of one PDU and the trailer of another: the cells between were lost.
    Tag {
        /// BTag, in the header.
        begin: u8,
        /// Etag, in the trailer.
        end: u8,
    },
    /// The SDU is longer than the header had promised.
    BufferSize {
        /// BASize, in the header.
        ba_size: u16,
        /// Length, in the trailer.
        length: u16,
    },
    /// Length does not leave a padding of 0 to 3 octets: cells were lost; or there is no SDU.
    Length {
        /// The value in the trailer.
        found: u16,
        /// Octets of the PDU.
        pdu_len: usize,
        /// Smallest SDU that such a PDU carries.
        least: usize,
        /// Largest SDU that such a PDU carries.
        most: usize,
    },
}

impl fmt::Display for CpcsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpi { found } => write!(f, "AAL3/4: CPI is {found:#04x}, expected 0x00"),
            Self::Alignment { found } => write!(f, "AAL3/4: AL is {found:#04x}, expected 0x00"),
            Self::Tag { begin, end } => write!(f, "AAL3/4: BTag is {begin:#04x}, Etag is {end:#04x}"),
            Self::BufferSize { ba_size, length } => write!(f, "AAL3/4: Length is {length}, BASize only {ba_size}"),
            Self::Length { found, pdu_len, least, most } => {
                write!(f, "AAL3/4: Length is {found}, a PDU of {pdu_len} octets carries {least} to {most}")
            }
        }
    }
}

impl core::error::Error for CpcsError {}

layout! {
    "AAL3/4", HEADER_LEN;
    /// The first 4 octets of a CPCS-PDU.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Header {
        /// Common part indicator: 0, lengths count octets.
        pub cpi: u8 = "cpi", hex;
        /// Beginning tag: that of the trailer, and another one in the PDU before.
        pub b_tag: u8 = "btag", hex;
        /// Buffer allocation size, in octets: the SDU's length where that is known when the PDU begins (message mode),
        /// at least that otherwise (streaming mode).
        pub ba_size: u16 = "basize";
    }
}

impl Header {
    /// Reads the header from the front of a CPCS-PDU. Nothing about it is checked: [`Trailer::check`] does that.
    ///
    /// # Errors
    /// Fewer than 4 octets.
    pub fn parse(front: &[u8]) -> Result<(Self, usize), Malformed> {
        Ok((Self::read(front)?, HEADER_LEN))
    }
}

impl fmt::Display for Header {
    /// For example `AAL3/4 CPI 0x00 BTag 0x05 BASize 5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cpi, b_tag, ba_size } = self;
        write!(f, "AAL3/4 CPI {cpi:#04x} BTag {b_tag:#04x} BASize {ba_size}")
    }
}

layout! {
    "AAL3/4", TRAILER_LEN;
    /// The last 4 octets of a CPCS-PDU.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Trailer {
        /// Alignment: 0.
        pub al: u8 = "al", hex;
        /// End tag.
        pub e_tag: u8 = "etag", hex;
        /// Octets of the SDU.
        pub length: u16 = "length";
    }
}

impl Trailer {
    /// Reads the trailer from the end of what lies together at the end of a PDU. Nothing about it is checked.
    ///
    /// # Errors
    /// Fewer than 4 octets.
    pub fn parse(back: &[u8]) -> Result<Self, Malformed> {
        Self::read(back.get(back.len().saturating_sub(TRAILER_LEN)..).unwrap_or_default())
    }

    /// Octets of the SDU in a PDU of `pdu_len` octets, header, padding and trailer included, that began with `header`.
    /// The tags come first: when they differ, this is no trailer of that header.
    ///
    /// # Errors
    /// The first [`CpcsError`]: tags, CPI, AL, Length against the PDU, Length against BASize.
    pub fn check(&self, header: &Header, pdu_len: usize) -> Result<usize, CpcsError> {
        let Self { al, e_tag, length } = *self;
        if header.b_tag != e_tag {
            return Err(CpcsError::Tag { begin: header.b_tag, end: e_tag });
        }
        if header.cpi != 0 {
            return Err(CpcsError::Cpi { found: header.cpi });
        }
        if al != 0 {
            return Err(CpcsError::Alignment { found: al });
        }
        let sdu_len = usize::from(length);
        if sdu_len == 0 || super::pdu_len(sdu_len) != pdu_len {
            let most = pdu_len.saturating_sub(HEADER_LEN + TRAILER_LEN);
            return Err(CpcsError::Length { found: length, pdu_len, least: most.saturating_sub(3).max(1), most });
        }
        if length > header.ba_size {
            return Err(CpcsError::BufferSize { ba_size: header.ba_size, length });
        }
        Ok(sdu_len)
    }
}

impl fmt::Display for Trailer {
    /// For example `AAL3/4 AL 0x00 Etag 0x05 Length 5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { al, e_tag, length } = self;
        write!(f, "AAL3/4 AL {al:#04x} Etag {e_tag:#04x} Length {length}")
    }
}

/// What stands before and after an SDU of `length` octets, in message mode: the header, and padding and trailer
/// together, of which the last `usize` octets count.
#[must_use]
pub fn around(length: u16, tag: u8) -> ([u8; HEADER_LEN], [u8; 3 + TRAILER_LEN], usize) {
    let mut front = [0; HEADER_LEN];
    let mut back = [0; 3 + TRAILER_LEN];
    Header { cpi: 0, b_tag: tag, ba_size: length }.emit(&mut front);
    let trailer = Trailer { al: 0, e_tag: tag, length };
    if let Some((_, octets)) = back.split_at_mut_checked(3) {
        trailer.emit(octets);
    }
    (front, back, pad_len(length.into()) + TRAILER_LEN)
}

/// Octets that a receiver must have room for when it reads `ba_size`: the longest CPCS-PDU that keeps the promise.
#[must_use]
pub fn room(ba_size: u16) -> usize {
    pdu_len(ba_size.into())
}

/// The CPCS-PDU of `sdu`, its tags `tag`; `None` for more than 65535 octets or none at all. A transport checksum that
/// was left to the device is completed.
#[must_use]
pub fn pdu(mut sdu: Message, tag: u8) -> Option<Message> {
    let length = u16::try_from(sdu.len()).ok().filter(|length| *length > 0)?;
    sdu.complete_checksum();
    let (front, back, count) = around(length, tag);
    let (_, back) = back.split_at_checked(back.len().checked_sub(count)?)?;
    if let Some(room) = sdu.push_header(HEADER_LEN).first_chunk_mut() {
        *room = front;
    }
    sdu.append_octets(back);
    *sdu.meta_mut() = Meta::default();
    Some(sdu)
}

/// The SDU of a CPCS-PDU. A sum that the PDU carries is made the SDU's: header, padding and trailer are taken out of
/// it.
///
/// # Errors
/// What is wrong with it, where it is shorter than header and trailer as well.
pub fn sdu(mut pdu: Message) -> Result<Message, CpcsError> {
    let total = pdu.len();
    let (mut front, mut back) = ([0; HEADER_LEN], [0; TRAILER_LEN]);
    let _ = pdu.copy_to(0, &mut front);
    let _ = pdu.copy_to(total.saturating_sub(TRAILER_LEN), &mut back);
    let (header, _) = Header::parse(&front).unwrap_or_default();
    let trailer = Trailer::parse(&back).unwrap_or_default();
    let length = trailer.check(&header, total)?;
    let _ = pdu.pop_header(HEADER_LEN);
    pdu.truncate(length);
    Ok(pdu)
}
