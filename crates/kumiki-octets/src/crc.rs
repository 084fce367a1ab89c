//! Cyclic redundancy checks over octets that come in pieces.
//!
//! | | |
//! |---|---|
//! | Specification | HEC: ITU-T I.432.1; AAL3/4 and OAM CRC-10: I.363.3, I.610; AAL5 CRC-32: I.363.5; FCS-16 and FCS-32: RFC 1662 appendix C, X.25, ISO/IEC 13239 |
//! | Method | eight octets per step through tables for short pieces, with the feature `long-crc` carry-less multiplication (`crc-fast`) for long ones; for FCS-32 between these two `crc32fast`, which costs less to set up |
//! | Left out | serial (bit by bit) input; combination of CRCs of parts |
//!
//! Each CRC is a small `Copy` value that holds the register only, so that one per virtual channel costs four octets.
//! `update` takes pieces of any length, `finish` may be called at any time and does not consume.
//!
//! Measured on one core of an EPYC virtual machine, in ns per piece for the CRC-32 of AAL5 (FCS-16 is within 10 %):
//!
//! | octets | 8 | 48 | 64 | 128 | 192 | 512 | 1500 | 9188 |
//! |---|---|---|---|---|---|---|---|---|
//! | tables | 4 | 16 | 25 | 59 | 92 | | | |
//! | `crc-fast`, set up for each piece | 26 | 36 | 43 | 29 | 61 | 38 | 105 | 208 |
//! | `crc-fast`, digest kept | 22 | 32 | 38 | 24 | 56 | 33 | 96 | 199 |
//!
//! FCS-32 of a piece of 64 octets takes 10 ns with `crc32fast` (27 with tables), of 1500 octets 45 ns (94 with
//! `crc-fast`); of 9188 `crc-fast` is the faster one.
//!
//! Cell by cell, a PDU of 9188 octets takes fifteen times as long as in one piece: whoever has it in one piece should
//! hand it over so.

#[cfg(feature = "long-crc")]
mod long;

/// Without the feature every piece goes through the tables.
#[cfg(not(feature = "long-crc"))]
mod long {
    pub(super) const fn aal5(_: u32, _: &[u8]) -> Option<u32> {
        None
    }
    pub(super) use {aal5 as fcs16, aal5 as fcs32};
}

/// Tables for eight octets at a time: row k holds the register after one octet and k octets of zeros.
type Tables = [[u32; 256]; 8];

/// Tables for a CRC taken most significant bit first, its polynomial left-aligned in 32 bits.
#[expect(clippy::indexing_slicing, reason = "slices' methods are not const, and an index out of range stops the build")]
const fn msb_first(polynomial: u32) -> Tables {
    let mut tables = [[0; 256]; 8];
    let mut octet = 0_u32;
    while octet < 256 {
        let mut register = octet << 24;
        let mut bit = 0;
        while bit < 8 {
            register = if register >> 31 == 1 { (register << 1) ^ polynomial } else { register << 1 };
            bit += 1;
        }
        tables[0][octet as usize] = register;
        octet += 1;
    }
    let mut row = 1;
    while row < 8 {
        let mut octet = 0;
        while octet < 256 {
            let before = tables[row - 1][octet];
            tables[row][octet] = (before << 8) ^ tables[0][(before >> 24) as usize];
            octet += 1;
        }
        row += 1;
    }
    tables
}

/// Tables for a CRC taken least significant bit first, its polynomial bit-reversed and right-aligned.
#[expect(clippy::indexing_slicing, reason = "slices' methods are not const, and an index out of range stops the build")]
const fn lsb_first(polynomial: u32) -> Tables {
    let mut tables = [[0; 256]; 8];
    let mut octet = 0_u32;
    while octet < 256 {
        let mut register = octet;
        let mut bit = 0;
        while bit < 8 {
            register = if register & 1 == 1 { (register >> 1) ^ polynomial } else { register >> 1 };
            bit += 1;
        }
        tables[0][octet as usize] = register;
        octet += 1;
    }
    let mut row = 1;
    while row < 8 {
        let mut octet = 0;
        while octet < 256 {
            let before = tables[row - 1][octet];
            tables[row][octet] = (before >> 8) ^ tables[0][(before & 0xFF) as usize];
            octet += 1;
        }
        row += 1;
    }
    tables
}

#[expect(clippy::indexing_slicing, reason = "an octet is a valid index of 256 entries")]
const fn entry(row: &[u32; 256], octet: u8) -> u32 {
    row[octet as usize]
}

/// The exclusive or of eight octets' entries, the first octet being the farthest from the end.
fn eight(tables: &Tables, octets: [u8; 8]) -> u32 {
    tables.iter().rev().zip(octets).fold(0, |register, (row, octet)| register ^ entry(row, octet))
}

fn update_msb_first(tables: &Tables, register: u32, octets: &[u8]) -> u32 {
    let (eights, rest) = octets.as_chunks::<8>();
    let register = eights.iter().fold(register, |register, &[a, b, c, d, e, f, g, h]| {
        let [r, s, t, u] = register.to_be_bytes();
        eight(tables, [a ^ r, b ^ s, c ^ t, d ^ u, e, f, g, h])
    });
    let [row, ..] = tables;
    rest.iter().fold(register, |register, octet| {
        let [top, ..] = register.to_be_bytes();
        (register << 8) ^ entry(row, top ^ octet)
    })
}

fn update_lsb_first(tables: &Tables, register: u32, octets: &[u8]) -> u32 {
    let (eights, rest) = octets.as_chunks::<8>();
    let register = eights.iter().fold(register, |register, &[a, b, c, d, e, f, g, h]| {
        let [r, s, t, u] = register.to_le_bytes();
        eight(tables, [a ^ r, b ^ s, c ^ t, d ^ u, e, f, g, h])
    });
    let [row, ..] = tables;
    rest.iter().fold(register, |register, octet| {
        let [low, ..] = register.to_le_bytes();
        (register >> 8) ^ entry(row, low ^ octet)
    })
}

/// The CRC-32 of the AAL5 trailer (I.363.5): polynomial 0x04C11DB7, most significant bit first, preset to ones,
/// complemented, sent most significant octet first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Aal5Crc(u32);

static AAL5: Tables = msb_first(0x04C1_1DB7);

impl Aal5Crc {
    /// The register after an intact CPCS-PDU, its CRC included (I.363.5).
    pub const RESIDUE: u32 = 0xC704_DD7B;

    /// The CRC of no octets.
    #[must_use]
    pub const fn new() -> Self {
        Self(u32::MAX)
    }

    /// Takes in the next octets.
    pub fn update(&mut self, octets: &[u8]) {
        self.0 = long::aal5(self.0, octets).unwrap_or_else(|| update_msb_first(&AAL5, self.0, octets));
    }

    /// The CRC field for the octets so far.
    #[must_use]
    pub const fn finish(self) -> u32 {
        !self.0
    }

    /// Whether the octets so far are a CPCS-PDU that ends with its right CRC field.
    #[must_use]
    pub const fn is_valid(self) -> bool {
        self.0 == Self::RESIDUE
    }
}

impl Default for Aal5Crc {
    fn default() -> Self {
        Self::new()
    }
}

/// The 32-bit frame check sequence of PPP and HDLC (RFC 1662 appendix C.3): polynomial 0x04C11DB7, least significant
/// bit first, preset to ones, complemented, sent least significant octet first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fcs32(u32);

static FCS32: Tables = lsb_first(0xEDB8_8320);

impl Fcs32 {
    /// The register after an intact frame, its FCS included (RFC 1662 appendix C.3, `PPPGOODFCS32`).
    pub const RESIDUE: u32 = 0xDEBB_20E3;

    /// The FCS of no octets.
    #[must_use]
    pub const fn new() -> Self {
        Self(u32::MAX)
    }

    /// Takes in the next octets.
    pub fn update(&mut self, octets: &[u8]) {
        self.0 = long::fcs32(self.0, octets).unwrap_or_else(|| update_lsb_first(&FCS32, self.0, octets));
    }

    /// The FCS of the octets so far; its least significant octet is sent first ([`u32::to_le_bytes`]).
    #[must_use]
    pub const fn finish(self) -> u32 {
        !self.0
    }

    /// Whether the octets so far are a frame that ends with its right FCS.
    #[must_use]
    pub const fn is_valid(self) -> bool {
        self.0 == Self::RESIDUE
    }
}

impl Default for Fcs32 {
    fn default() -> Self {
        Self::new()
    }
}

/// The 16-bit frame check sequence of PPP, HDLC, LAPB and X.25 (RFC 1662 appendix C.2): polynomial 0x1021, least
/// significant bit first, preset to ones, complemented, sent least significant octet first.
///
/// ```
/// use kumiki_octets::crc::Fcs16;
///
/// let mut fcs = Fcs16::new();
/// fcs.update(b"123456789");
/// assert_eq!(fcs.finish(), 0x906e);
/// fcs.update(&fcs.finish().to_le_bytes()); // whoever receives it sums the FCS too
/// assert!(fcs.is_valid());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fcs16(u16);

static FCS16: Tables = lsb_first(0x8408);

impl Fcs16 {
    /// The register after an intact frame, its FCS included (RFC 1662 appendix C.2, `PPPGOODFCS16`).
    pub const RESIDUE: u16 = 0xF0B8;

    /// The FCS of no octets.
    #[must_use]
    pub const fn new() -> Self {
        Self(u16::MAX)
    }

    /// Takes in the next octets.
    pub fn update(&mut self, octets: &[u8]) {
        let register = u32::from(self.0);
        let register = long::fcs16(register, octets).unwrap_or_else(|| update_lsb_first(&FCS16, register, octets));
        let [low, high, ..] = register.to_le_bytes();
        self.0 = u16::from_le_bytes([low, high]);
    }

    /// The FCS of the octets so far; its least significant octet is sent first ([`u16::to_le_bytes`]).
    #[must_use]
    pub const fn finish(self) -> u16 {
        !self.0
    }

    /// Whether the octets so far are a frame that ends with its right FCS.
    #[must_use]
    pub const fn is_valid(self) -> bool {
        self.0 == Self::RESIDUE
    }
}

impl Default for Fcs16 {
    fn default() -> Self {
        Self::new()
    }
}

/// The CRC-10 of AAL3/4 SAR-PDUs (I.363.3) and OAM cells (I.610): polynomial x^10 + x^9 + x^5 + x^4 + x + 1, most
/// significant bit first, preset to zero, not complemented.
///
/// The field is the last 10 bits of 48 octets, so it does not begin at an octet: [`Crc10::of_payload`] and
/// [`Crc10::is_valid_payload`] know that, and the streaming form is for whole octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Crc10(u32);

static CRC10: Tables = msb_first(0x233 << 22);

impl Crc10 {
    /// The CRC of no octets.
    #[must_use]
    pub const fn new() -> Self {
        Self(0)
    }

    /// Takes in the next octets.
    pub fn update(&mut self, octets: &[u8]) {
        self.0 = update_msb_first(&CRC10, self.0, octets);
    }

    /// Takes in the `count` most significant bits of `octet`; a `count` above 8 stands for 8.
    pub fn update_bits(&mut self, octet: u8, count: u32) {
        let mut left = octet;
        for _ in 0..count.min(8) {
            let bit = (u32::from(left) >> 7) ^ (self.0 >> 31);
            self.0 = (self.0 << 1) ^ if bit == 1 { 0x233 << 22 } else { 0 };
            left <<= 1;
        }
    }

    /// The CRC of the bits so far, 0 to 0x3FF.
    #[must_use]
    pub const fn finish(self) -> u16 {
        let [_, _, high, low] = (self.0 >> 22).to_be_bytes();
        u16::from_be_bytes([high, low])
    }

    /// The CRC field of a cell payload: the CRC of its first 374 bits. The last 10 bits are not looked at.
    #[must_use]
    pub fn of_payload(payload: &[u8; 48]) -> u16 {
        let [whole @ .., split, _] = payload;
        let mut crc = Self::new();
        crc.update(whole);
        crc.update_bits(*split, 6);
        crc.finish()
    }

    /// Whether a cell payload ends with its right CRC field.
    #[must_use]
    pub fn is_valid_payload(payload: &[u8; 48]) -> bool {
        let mut crc = Self::new();
        crc.update(payload);
        crc.finish() == 0
    }
}

static HEC: Tables = msb_first(0x07 << 24);

/// Added to the header error control field for better delineation (I.432.1).
const COSET: u8 = 0x55;

/// The header error control field for the first four octets of a cell: CRC-8 of polynomial x^8 + x^2 + x + 1 with
/// 0x55 added (I.432.1).
#[must_use]
pub fn hec(header: &[u8; 4]) -> u8 {
    let [crc, ..] = update_msb_first(&HEC, 0, header).to_be_bytes();
    crc ^ COSET
}

/// What a cell header's error control field says of the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HecOutcome {
    /// No error.
    Valid,
    /// One bit was wrong and has been put right.
    Corrected {
        /// Which one: 0 is the most significant of the first octet, 39 the least significant of the field itself.
        bit: u8,
    },
    /// More than one bit is wrong; the header has been left alone.
    Uncorrectable,
}

/// The syndrome of a single wrong bit, by bit.
const fn syndromes() -> [u8; 40] {
    let mut table = [0; 40];
    // From the last bit, whose syndrome is itself, backwards: each place costs one step of the CRC's register.
    let mut syndrome = 1_u8;
    let mut rest: &mut [u8] = &mut table;
    while let [others @ .., last] = rest {
        *last = syndrome;
        syndrome = if syndrome >> 7 == 1 { (syndrome << 1) ^ 0x07 } else { syndrome << 1 };
        rest = others;
    }
    table
}

/// For each syndrome the wrong bit, or [`MANY`].
static WRONG_BIT: [u8; 256] = {
    let mut table = [MANY; 256];
    let syndromes = syndromes();
    let mut rest: &[u8] = &syndromes;
    let mut bit = 0;
    while let [syndrome, others @ ..] = rest {
        #[expect(clippy::indexing_slicing, reason = "an octet is a valid index of 256 entries")]
        {
            table[*syndrome as usize] = bit;
        }
        bit += 1;
        rest = others;
    }
    table
};

/// Stands in [`WRONG_BIT`] for syndromes of several wrong bits.
const MANY: u8 = u8::MAX;

/// Checks a cell header and puts right a single wrong bit (I.432.1, correction mode).
///
/// A receiver in detection mode, or one that does not correct, compares [`hec`] instead.
pub fn hec_correct(header: &mut [u8; 5]) -> HecOutcome {
    let [a, b, c, d, field] = *header;
    let syndrome = hec(&[a, b, c, d]) ^ field;
    if syndrome == 0 {
        return HecOutcome::Valid;
    }
    let bit = WRONG_BIT.get(usize::from(syndrome)).copied().unwrap_or(MANY);
    // Only bits 0 to 39 name an octet of the header.
    let Some(octet) = header.get_mut(usize::from(bit / 8)) else {
        return HecOutcome::Uncorrectable;
    };
    *octet ^= 0x80 >> (bit % 8);
    HecOutcome::Corrected { bit }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
