//! ATM cells: the five octets of the header and their error control.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T I.361 (header, preassigned values), I.432.1 (HEC); OAM cells in [`oam`], RM cells in [`rm`] |
//! | HEC | CRC-8 x^8+x^2+x+1 over four octets, with 55 added: written and verified here, corrected by [`correct`] |
//! | Left out | delineation and scrambling, which are state |

use core::fmt;

use crate::Malformed;

pub use kumiki_octets::Vc;

pub mod oam;
pub mod rm;
#[cfg(test)]
mod tests;

/// Octets of a cell.
pub const CELL_LEN: usize = 53;
/// Octets of a cell's header, HEC included.
pub const HEADER_LEN: usize = 5;
/// Octets of a cell's payload.
pub const PAYLOAD_LEN: usize = 48;
/// Every octet of the payload of an idle cell.
pub const IDLE_PAYLOAD: u8 = 0x6a;

/// Virtual channels that are spoken for on every virtual path.
pub mod vci {
    /// Meta-signalling.
    pub const META_SIGNALLING: u16 = 1;
    /// General broadcast signalling.
    pub const BROADCAST_SIGNALLING: u16 = 2;
    /// OAM of the virtual path, one segment.
    pub const F4_SEGMENT: u16 = 3;
    /// OAM of the virtual path, end to end.
    pub const F4_END_TO_END: u16 = 4;
    /// Signalling.
    pub const SIGNALLING: u16 = 5;
    /// Resource management of the virtual path.
    pub const VP_RM: u16 = 6;
    /// Integrated local management.
    pub const ILMI: u16 = 16;
    /// LAN emulation configuration server.
    pub const LANE_CONFIGURATION: u16 = 17;
    /// Routing between nodes.
    pub const PNNI: u16 = 18;
    /// The first that is free for users.
    pub const FIRST_FREE: u16 = 32;
}

/// The payload type, three bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Pti(u8);

impl Pti {
    /// 000: user data.
    pub const USER: Self = Self(0);
    /// 001: user data; ends an AAL5 PDU.
    pub const USER_END: Self = Self(1);
    /// 100: OAM of the virtual channel, one segment.
    pub const F5_SEGMENT: Self = Self(4);
    /// 101: OAM of the virtual channel, end to end.
    pub const F5_END_TO_END: Self = Self(5);
    /// 110: resource management.
    pub const RM: Self = Self(6);

    /// The three low bits of `bits`.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 7)
    }

    /// The three bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether the cell carries user data.
    #[must_use]
    pub const fn is_user(self) -> bool {
        self.0 & 4 == 0
    }

    /// Whether the cell carries user data and is the last of an AAL5 PDU.
    #[must_use]
    pub const fn ends_pdu(self) -> bool {
        self.0 & 5 == 1
    }

    /// Whether the cell carries user data and has met congestion (EFCI).
    #[must_use]
    pub const fn is_congested(self) -> bool {
        self.0 & 6 == 2
    }

    /// With the congestion mark, if the cell carries user data; otherwise as it is.
    #[must_use]
    pub const fn with_congestion(self) -> Self {
        if self.is_user() { Self(self.0 | 2) } else { self }
    }
}

impl fmt::Display for Pti {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Pti {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:03b}", self.0)
    }
}

/// Which of the two header layouts a link uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Interface {
    /// User and network: GFC of 4 bits, VPI of 8.
    #[default]
    Uni,
    /// Between nodes: VPI of 12 bits, no GFC.
    Nni,
}

/// A cell header. The HEC is not a field: it follows from the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Header {
    /// Generic flow control, four bits; 0 and not sent at the NNI.
    pub gfc: u8,
    /// Virtual path: 8 bits at the UNI, 12 at the NNI. Higher bits are not sent.
    pub vpi: u16,
    /// Virtual channel on that path.
    pub vci: u16,
    /// Payload type.
    pub pti: Pti,
    /// Cell loss priority: `true` may be dropped first.
    pub clp: bool,
}

impl Header {
    /// The header of the cells that fill a physical layer.
    pub const IDLE: Self = Self { gfc: 0, vpi: 0, vci: 0, pti: Pti::USER, clp: true };
    /// The header of a cell that is given to nobody.
    pub const UNASSIGNED: Self = Self { clp: false, ..Self::IDLE };

    /// Reads a header; also gives its length.
    ///
    /// # Errors
    /// The header is not all there, or the HEC is wrong: [`correct`] comes before this where single errors are
    /// corrected.
    pub fn parse(interface: Interface, front: &[u8]) -> Result<(Self, usize), Malformed> {
        let Some(&[o1, o2, o3, o4, found]) = front.first_chunk::<HEADER_LEN>() else {
            return Err(Malformed::Short { protocol: "ATM", need: HEADER_LEN, have: front.len() });
        };
        let expected = hec([o1, o2, o3, o4]);
        if found != expected {
            return Err(Malformed::Checksum {
                protocol: "ATM",
                field: "HEC",
                found: u32::from(found),
                expected: u32::from(expected),
            });
        }
        // One word of 32 bits: GFC and VPI 12, VCI 16, PTI 3, CLP 1.
        let (gfc, vpi_high) = match interface {
            Interface::Uni => (o1 >> 4, o1 & 0xf),
            Interface::Nni => (0, o1),
        };
        let header = Self {
            gfc,
            vpi: u16::from(vpi_high) << 4 | u16::from(o2 >> 4),
            vci: u16::from(o2 & 0xf) << 12 | u16::from(o3) << 4 | u16::from(o4 >> 4),
            pti: Pti::from_bits(o4 >> 1),
            clp: o4 & 1 != 0,
        };
        Ok((header, HEADER_LEN))
    }

    /// Whether this is a cell that only fills the physical layer; the layer above never sees it.
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        self.vpi == 0 && self.vci == 0 && self.clp
    }

    /// Whether this cell is given to nobody.
    #[must_use]
    pub const fn is_unassigned(&self) -> bool {
        self.vpi == 0 && self.vci == 0 && !self.clp
    }

    /// Octets that [`Header::emit`] writes: always 5.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        HEADER_LEN
    }

    /// The five octets, with the HEC that belongs to them.
    #[must_use]
    pub fn octets(&self, interface: Interface) -> [u8; HEADER_LEN] {
        let vpi = match interface {
            Interface::Uni => u32::from(self.gfc & 0xf) << 8 | u32::from(self.vpi & 0xff),
            Interface::Nni => u32::from(self.vpi & 0xfff),
        };
        let word = vpi << 20 | u32::from(self.vci) << 4 | u32::from(self.pti.bits()) << 1 | u32::from(self.clp);
        let octets = word.to_be_bytes();
        let [o1, o2, o3, o4] = octets;
        [o1, o2, o3, o4, hec(octets)]
    }

    /// Writes [`Header::octets`].
    pub fn emit(&self, interface: Interface, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), HEADER_LEN);
        crate::put(&mut out, self.octets(interface));
    }
}

impl fmt::Display for Header {
    /// For example `ATM 0/100 PTI 1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { gfc, vpi, vci, pti, clp } = *self;
        write!(f, "ATM {vpi}/{vci} PTI {pti}")?;
        if clp {
            f.write_str(" CLP")?;
        }
        if gfc != 0 {
            write!(f, " GFC {gfc}")?;
        }
        Ok(())
    }
}

/// What is added to the CRC so that a run of zeros is no valid header.
const COSET: u8 = 0x55;

/// Remainders of every octet, for CRC-8 x^8+x^2+x+1.
const TABLE: [u8; 256] = {
    let mut table = [0; 256];
    let mut octet: u8 = 255;
    loop {
        let mut remainder = octet;
        let mut bit = 0;
        while bit < 8 {
            remainder = (remainder << 1) ^ if remainder & 0x80 == 0 { 0 } else { 0x07 };
            bit += 1;
        }
        #[expect(clippy::indexing_slicing, reason = "the table has a place for every octet")]
        {
            table[octet as usize] = remainder;
        }
        if octet == 0 {
            break table;
        }
        octet -= 1;
    }
};

/// The HEC that belongs to the first four octets of a header.
#[must_use]
pub fn hec(octets: [u8; 4]) -> u8 {
    let step = |crc: u8, octet: u8| TABLE.get(usize::from(crc ^ octet)).copied().unwrap_or_default();
    octets.into_iter().fold(0, step) ^ COSET
}

/// 0 for a good header; for one wrong bit a value of its own; for more, anything.
#[must_use]
pub fn syndrome(header: [u8; HEADER_LEN]) -> u8 {
    let [o1, o2, o3, o4, found] = header;
    hec([o1, o2, o3, o4]) ^ found
}

/// The header with its one wrong bit put right, or as it is when good; `None` if more than one bit must be wrong.
/// Three and more wrong bits may pass for one: that is why a receiver corrects once and then only detects (I.432.1).
#[must_use]
pub fn correct(header: [u8; HEADER_LEN]) -> Option<[u8; HEADER_LEN]> {
    let wrong = syndrome(header);
    if wrong == 0 {
        return Some(header);
    }
    // The code is linear, so a single wrong bit has the syndrome that it has over a good header.
    for at in 0..HEADER_LEN {
        for bit in 0..8 {
            let mut candidate = header;
            if let Some(octet) = candidate.get_mut(at) {
                *octet ^= 0x80 >> bit;
            }
            if syndrome(candidate) == 0 {
                return Some(candidate);
            }
        }
    }
    None
}
