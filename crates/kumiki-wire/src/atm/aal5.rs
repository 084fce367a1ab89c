//! AAL5's CPCS-PDU: its trailer, the arithmetic of its padding, and the whole of it around an SDU.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T I.363.5, common part |
//! | Layout | SDU, PAD of 0 to 47 octets, then UU 1, CPI 1, Length 2, CRC-32 4: together a multiple of 48 octets |
//! | CRC | polynomial 04C11DB7, most significant bit first, preset and inverted, over SDU to Length (catalogue name CRC-32/BZIP2) |
//! | Left out | segmentation and reassembly, which are state; corrupted-data delivery |

use core::fmt;

use kumiki_octets::crc::Aal5Crc;
use kumiki_octets::{Message, Meta, Pattern, Slice};

use crate::Malformed;
use crate::atm::cell::PAYLOAD_LEN;
use crate::layout::layout;

/// Octets of the trailer.
pub const LEN: usize = 8;
/// Octets of the trailer that the CRC covers.
pub const CRC_OFFSET: usize = 4;
/// Octets of the longest SDU.
pub const MAX_SDU: usize = 65535;

/// Octets of padding after an SDU: 0 to 47.
#[must_use]
pub const fn pad_len(sdu_len: usize) -> usize {
    let used = (sdu_len % PAYLOAD_LEN + LEN) % PAYLOAD_LEN;
    (PAYLOAD_LEN - used) % PAYLOAD_LEN
}

/// Cells that carry an SDU of up to [`MAX_SDU`] octets.
#[must_use]
pub const fn cells(sdu_len: usize) -> usize {
    sdu_len.saturating_add(LEN).div_ceil(PAYLOAD_LEN)
}

/// Octets of the CPCS-PDU of an SDU: payload of all its cells.
#[must_use]
pub const fn pdu_len(sdu_len: usize) -> usize {
    cells(sdu_len).saturating_mul(PAYLOAD_LEN)
}

/// Why a CPCS-PDU is thrown away; each is counted on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aal5Error {
    /// The octets do not give the CRC of the trailer: damage, or a lost cell.
    Crc {
        /// The value in the trailer.
        found: u32,
        /// The value that the octets give.
        expected: u32,
    },
    /// The common part indicator is not zero.
    Cpi {
        /// The value in the trailer.
        found: u8,
    },
    /// The sender gave up: Length is zero.
    Abort,
    /// Length does not leave a padding of 0 to 47 octets: cells were lost, or two PDUs became one.
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

impl fmt::Display for Aal5Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Crc { found, expected } => {
                write!(f, "AAL5: CRC-32 is {found:#010x}, the octets give {expected:#010x}")
            }
            Self::Cpi { found } => write!(f, "AAL5: CPI is {found:#04x}, expected 0x00"),
            Self::Abort => f.write_str("AAL5: Length is 0, the sender aborted the PDU"),
            Self::Length { found, pdu_len, least, most } => {
                write!(f, "AAL5: Length is {found}, a PDU of {pdu_len} octets carries {least} to {most}")
            }
        }
    }
}

impl core::error::Error for Aal5Error {}

layout! {
    "AAL5", LEN;
    /// The last 8 octets of a CPCS-PDU.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Trailer {
        /// CPCS-UU: from user to user, transparently.
        pub uu: u8 = "cpcs-uu", hex;
        /// Common part indicator: 0.
        pub cpi: u8 = "cpi", hex;
        /// Octets of the SDU; 0 aborts the PDU.
        pub length: u16 = "length";
        /// As on the wire; see [`Trailer::check`].
        pub crc: u32 = "crc-32", hex;
    }
}

impl Trailer {
    /// Reads the trailer from the end of what lies together at the end of a PDU. Nothing about it is checked:
    /// [`Trailer::check`] does that.
    ///
    /// # Errors
    /// Fewer than 8 octets.
    pub fn parse(back: &[u8]) -> Result<Self, Malformed> {
        Self::read(back.get(back.len().saturating_sub(LEN)..).unwrap_or_default())
    }

    /// Octets of the SDU in a PDU of `pdu_len` octets whose octets up to the CRC give `crc`. The CRC comes first: when
    /// it is wrong, no field can be trusted.
    ///
    /// # Errors
    /// The first of the [`Aal5Error`]s, in their order.
    pub fn check(&self, pdu_len: usize, crc: u32) -> Result<usize, Aal5Error> {
        if self.crc != crc {
            return Err(Aal5Error::Crc { found: self.crc, expected: crc });
        }
        if self.cpi != 0 {
            return Err(Aal5Error::Cpi { found: self.cpi });
        }
        if self.length == 0 {
            return Err(Aal5Error::Abort);
        }
        let sdu_len = usize::from(self.length);
        if self::pdu_len(sdu_len) == pdu_len {
            return Ok(sdu_len);
        }
        let most = pdu_len.saturating_sub(LEN);
        let least = most.saturating_sub(PAYLOAD_LEN - 1).max(1);
        Err(Aal5Error::Length { found: self.length, pdu_len, least, most })
    }
}

impl fmt::Display for Trailer {
    /// For example `AAL5 length 5 UU 0x00 CPI 0x00 CRC 0x7f4cd5de`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { uu, cpi, length, crc } = self;
        write!(f, "AAL5 length {length} UU {uu:#04x} CPI {cpi:#04x} CRC {crc:#010x}")
    }
}

/// The CPCS-PDU of `sdu` (at most [`MAX_SDU`] octets; longer ones are given a Length that their receiver will refuse):
/// with padding and trailer, and the right CRC or, without `crc`, zero for it. A transport checksum that was left to
/// the device is completed.
#[must_use]
pub fn pdu(mut sdu: Message, crc: bool) -> Message {
    sdu.complete_checksum();
    let length = u16::try_from(sdu.len()).unwrap_or(0);
    let mut trailer = Trailer { length, ..Trailer::default() };
    let mut octets = [0; LEN];
    sdu.append_slice(Slice::of_pattern(Pattern::Zeros, 0, pad_len(sdu.len())));
    if crc {
        trailer.emit(&mut octets);
        let mut register = Aal5Crc::new();
        sdu.for_each(|piece| register.update(piece));
        let (covered, _) = octets.split_at_checked(CRC_OFFSET).unwrap_or_default();
        register.update(covered);
        trailer.crc = register.finish();
    }
    trailer.emit(&mut octets);
    sdu.append_octets(&octets);
    *sdu.meta_mut() = Meta::default();
    sdu
}

/// The SDU of a CPCS-PDU, whose CRC is looked at with `crc`. A sum that the PDU carries is made the SDU's: padding and
/// trailer are taken out of it.
///
/// # Errors
/// What is wrong with it, where it is shorter than a trailer as well.
pub fn sdu(mut pdu: Message, crc: bool) -> Result<Message, Aal5Error> {
    let total = pdu.len();
    let mut octets = [0; LEN];
    let _ = pdu.copy_to(total.saturating_sub(LEN), &mut octets);
    let trailer = Trailer::parse(&octets).unwrap_or_default();
    let found = if crc {
        let mut register = Aal5Crc::new();
        let covered = total.saturating_sub(LEN - CRC_OFFSET);
        pdu.for_each_in(0, covered, |piece| register.update(piece));
        register.finish()
    } else {
        trailer.crc
    };
    let length = trailer.check(total, found)?;
    pdu.truncate(length);
    Ok(pdu)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bit by bit, as the standard defines it.
    fn crc(octets: &[u8]) -> u32 {
        let mut register = u32::MAX;
        for octet in octets {
            register ^= u32::from(*octet) << 24;
            for _ in 0..8 {
                let carry = register >> 31;
                register = (register << 1) ^ (carry * 0x04c1_1db7);
            }
        }
        !register
    }

    fn pdu(sdu: &[u8], uu: u8, cpi: u8) -> Vec<u8> {
        let mut pdu = sdu.to_vec();
        pdu.resize(pdu_len(sdu.len()), 0);
        let at = pdu.len() - LEN;
        let mut trailer = Trailer { uu, cpi, length: u16::try_from(sdu.len()).unwrap(), crc: 0 };
        trailer.emit(&mut pdu[at..]);
        trailer.crc = crc(&pdu[..at + CRC_OFFSET]);
        trailer.emit(&mut pdu[at..]);
        pdu
    }

    #[test]
    fn pdus_end_in_the_published_octets() {
        let counting: Vec<u8> = (1..=40).collect();
        let cases: [(&[u8], u8, u8, u64); 5] = [
            (&[0x00; 40], 0, 0, 0x0000_0028_864d_7f99),
            (&[0xff; 40], 0, 0, 0x0000_0028_c55e_457a),
            (&counting, 0, 0, 0x0000_0028_bf67_1ed0),
            (&counting, 0x11, 0x22, 0x1122_0028_acba_602a),
            (b"hello", 0, 0, 0x0000_0005_7f4c_d5de),
        ];
        for (sdu, uu, cpi, expected) in cases {
            let pdu = pdu(sdu, uu, cpi);
            assert_eq!(pdu.len(), 48);
            assert_eq!(pdu.last_chunk(), Some(&expected.to_be_bytes()));
            let trailer = Trailer::parse(&pdu).unwrap();
            let checked = trailer.check(48, crc(&pdu[..44]));
            let expected = if cpi == 0 { Ok(sdu.len()) } else { Err(Aal5Error::Cpi { found: cpi }) };
            assert_eq!(checked, expected);
        }
    }

    #[test]
    fn cells_of_known_datagrams() {
        // 8 octets of LLC/SNAP before each datagram.
        for (mtu, expected) in [(576, 13), (1500, 32), (4470, 94), (9180, 192), (8192 + 40, 172)] {
            assert_eq!(cells(mtu + 8), expected, "MTU {mtu}");
        }
        assert_eq!((pad_len(40), pad_len(41), pad_len(39), pad_len(5)), (0, 47, 1, 35));
        assert_eq!((cells(40), cells(41), cells(0)), (1, 2, 1));
    }

    #[test]
    fn faults_are_told_apart() {
        let good = Trailer { uu: 0, cpi: 0, length: 40, crc: 7 };
        assert_eq!(good.check(48, 7), Ok(40));
        assert_eq!(good.check(48, 8), Err(Aal5Error::Crc { found: 7, expected: 8 }));
        assert_eq!(Trailer { cpi: 1, ..good }.check(48, 7), Err(Aal5Error::Cpi { found: 1 }));
        assert_eq!(Trailer { length: 0, ..good }.check(48, 7), Err(Aal5Error::Abort));
        let fault = Aal5Error::Length { found: 40, pdu_len: 96, least: 41, most: 88 };
        assert_eq!(good.check(96, 7), Err(fault));
        assert_eq!(fault.to_string(), "AAL5: Length is 40, a PDU of 96 octets carries 41 to 88");
        assert!(good.check(0, 7).is_err() && good.check(47, 7).is_err());
    }

    proptest! {
        #[test]
        fn padding_fills_the_last_cell(sdu_len in 0..=MAX_SDU) {
            prop_assert!(pad_len(sdu_len) < PAYLOAD_LEN);
            prop_assert_eq!(sdu_len + pad_len(sdu_len) + LEN, pdu_len(sdu_len));
        }

        #[test]
        fn what_was_emitted_is_parsed(uu: u8, cpi: u8, length: u16, crc: u32) {
            let trailer = Trailer { uu, cpi, length, crc };
            let mut out = [0; LEN];
            trailer.emit(&mut out);
            prop_assert_eq!(Trailer::parse(&out), Ok(trailer));
        }

        #[test]
        fn the_bounds_of_a_length_fault_are_the_accepted_lengths(cells in 1usize..100, length: u16) {
            let trailer = Trailer { length, ..Trailer::default() };
            match trailer.check(48 * cells, 0) {
                Ok(len) => prop_assert_eq!(len, usize::from(length)),
                Err(Aal5Error::Length { least, most, .. }) => {
                    prop_assert!(!(least..=most).contains(&usize::from(length)));
                    prop_assert!(pdu_len(least) == 48 * cells && pdu_len(most) == 48 * cells);
                }
                Err(Aal5Error::Abort) => prop_assert_eq!(length, 0),
                Err(fault) => prop_assert!(false, "{fault}"),
            }
        }

        #[test]
        fn no_octets_make_it_panic(octets: Vec<u8>, pdu_len: usize, crc: u32) {
            if let Ok(trailer) = Trailer::parse(&octets) {
                let _ = trailer.check(pdu_len, crc);
            }
            let _ = (super::pdu_len(pdu_len), pad_len(pdu_len));
        }
    }
}
