//! The octets of overhead of a SONET/SDH frame: where they are, and what they say.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T G.707, ANSI T1.105 (layout and codes; recalled, not read again); C2 of PPP and H4: RFC 1619 section 2, RFC 2615 section 2 |
//! | Used by | the section of `kumiki-link`, `kumiki decode` |
//! | Left out | signals that are not one concatenated envelope; the meaning of the data channels D1 to D12, E1, E2 and F1; trace messages of 16 or 64 octets |
//!
//! A frame of an STS-N (N is 3, 12, 48 or 192) has nine rows of `90 N` octets. The first `3 N` of each are section and
//! line overhead, in three groups of `N`; the rest is the envelope. Rows, groups and places are counted from 0 here.

use core::fmt;

/// Rows of a frame, and of an envelope.
pub const ROWS: usize = 9;
/// First alignment octet.
pub const A1: u8 = 0xf6;
/// Second alignment octet.
pub const A2: u8 = 0x28;
/// Pointers are below this, in units of N octets.
pub const POINTERS: u16 = 783;
/// H1 and H2 of all but the first pair: the envelope goes on here. SS bits 00.
pub const CONCATENATION: [u8; 2] = [0x93, 0xff];
/// The SS bits of H1 for SDH (AU-4); those of SONET are 0.
pub const SS_SDH: u8 = 0x08;

/// The N of an STS-N whose frames are this long; nothing where there is none.
#[must_use]
pub const fn n_of_frame(octets: usize) -> Option<usize> {
    match octets {
        2_430 => Some(3),
        9_720 => Some(12),
        38_880 => Some(48),
        155_520 => Some(192),
        _ => None,
    }
}

/// Where an octet of section or line overhead is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OverheadPosition {
    /// Row.
    pub row: usize,
    /// Which group of N columns.
    pub group: usize,
    /// Which column of the group.
    pub column: usize,
}

impl OverheadPosition {
    const fn new(row: usize, group: usize) -> Self {
        let column = 0;
        Self { row, group, column }
    }

    /// How many octets of a frame of an STS-N are before it.
    #[must_use]
    pub const fn in_frame(self, n: usize) -> usize {
        self.row * 90 * n + self.group * n + self.column
    }

    /// How many octets of overhead of a frame are before it.
    #[must_use]
    pub const fn in_overhead(self, n: usize) -> usize {
        self.row * 3 * n + self.group * n + self.column
    }
}

/// Where the octets of section and line overhead are; of A1, A2, B2, H1, H2 and H3 the first of N.
pub mod place {
    use super::OverheadPosition;

    /// First alignment octets.
    pub const A1: OverheadPosition = OverheadPosition::new(0, 0);
    /// Second alignment octets.
    pub const A2: OverheadPosition = OverheadPosition::new(0, 1);
    /// Section trace.
    pub const J0: OverheadPosition = OverheadPosition::new(0, 2);
    /// Parity of the section.
    pub const B1: OverheadPosition = OverheadPosition::new(1, 0);
    /// Order wire.
    pub const E1: OverheadPosition = OverheadPosition::new(1, 1);
    /// User's channel.
    pub const F1: OverheadPosition = OverheadPosition::new(1, 2);
    /// The first octets of each row of the section's data channel: D1, D2, D3.
    pub const D1: OverheadPosition = OverheadPosition::new(2, 0);
    /// Pointer, first octets.
    pub const H1: OverheadPosition = OverheadPosition::new(3, 0);
    /// Pointer, second octets.
    pub const H2: OverheadPosition = OverheadPosition::new(3, 1);
    /// Room for a negative justification.
    pub const H3: OverheadPosition = OverheadPosition::new(3, 2);
    /// Parities of the line.
    pub const B2: OverheadPosition = OverheadPosition::new(4, 0);
    /// Protection switching.
    pub const K1: OverheadPosition = OverheadPosition::new(4, 1);
    /// Protection switching, alarm indication and remote defect.
    pub const K2: OverheadPosition = OverheadPosition::new(4, 2);
    /// The first octets of each row of the line's data channel: D4 to D12 in rows 5 to 7.
    pub const D4: OverheadPosition = OverheadPosition::new(5, 0);
    /// Synchronisation status.
    pub const S1: OverheadPosition = OverheadPosition::new(8, 0);
    /// How many errors the far end found with B2.
    pub const M1: OverheadPosition = OverheadPosition { row: 8, group: 1, column: 2 };
    /// Order wire.
    pub const E2: OverheadPosition = OverheadPosition::new(8, 2);
}

/// Octets of path overhead: the first of each row of the envelope.
pub const PATH: [&str; ROWS] = ["J1", "B3", "C2", "G1", "F2", "H4", "F3", "K3", "N1"];

/// Values of C2, the path's label.
pub mod label {
    /// Nobody has put anything into the path.
    pub const UNEQUIPPED: u8 = 0x00;
    /// Something that is not named; taken for whatever is expected.
    pub const NON_SPECIFIC: u8 = 0x01;
    /// ATM.
    pub const ATM: u8 = 0x13;
    /// PPP with x^43 + 1 scrambling (RFC 2615).
    pub const PPP_SCRAMBLED: u8 = 0x16;
    /// PPP without it (RFC 1619, and RFC 2615 for STS-3c).
    pub const PPP: u8 = 0xcf;
    /// Path alarm indication.
    pub const AIS: u8 = 0xff;

    /// What it means; empty where this code does not know.
    #[must_use]
    pub const fn name(label: u8) -> &'static str {
        match label {
            UNEQUIPPED => "unequipped",
            NON_SPECIFIC => "equipped, non-specific",
            0x04 => "DS-3",
            ATM => "ATM",
            0x15 => "FDDI",
            PPP_SCRAMBLED => "PPP with x^43+1 scrambling",
            PPP => "PPP without scrambling",
            AIS => "alarm indication",
            _ => "",
        }
    }
}

/// What the lowest three bits of K2 say.
pub mod k2 {
    /// The three bits.
    pub const MASK: u8 = 0x07;
    /// Alarm indication of the line (AIS-L, MS-AIS).
    pub const AIS: u8 = 0x07;
    /// Remote defect of the line (RDI-L, MS-RDI).
    pub const RDI: u8 = 0x06;
}

/// Bit 5 of G1: remote defect of the path.
pub const G1_RDI: u8 = 0x08;

/// The errors that the far end found with B3, as G1 has them: 0 to 8, and other values count as 0.
#[must_use]
pub const fn g1_rei(g1: u8) -> u8 {
    match g1 >> 4 {
        errors @ 0..=8 => errors,
        _ => 0,
    }
}

/// Which way the envelope moves by N octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Justification {
    /// The envelope is slower than the line: N octets behind H3 are stuffed, and the pointer grows by one.
    Positive,
    /// The envelope is faster: the octets of H3 carry it too, and the pointer shrinks by one.
    Negative,
}

/// Bits of H1 and H2 that a positive justification inverts, from the first of the ten.
const INCREMENT: u16 = 0x2aa;
/// Those that a negative one inverts.
const DECREMENT: u16 = 0x155;

/// The pointer as H1 and H2 have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pointer {
    /// The new data flag: 0110 says no, 1001 yes, and three of four bits are enough. `None`: neither.
    pub new_data: Option<bool>,
    /// The SS bits as they stand in H1: [`SS_SDH`] or 0.
    pub ss: u8,
    /// Ten bits: where the envelope begins, in units of N octets behind the last H3; below [`POINTERS`] if right.
    pub value: u16,
}

impl Pointer {
    /// All ones is no pointer, but path alarm indication.
    pub const AIS: [u8; 2] = [0xff, 0xff];

    /// The pointer in H1 and H2.
    #[must_use]
    pub const fn parse(octets: [u8; 2]) -> Self {
        let word = u16::from_be_bytes(octets);
        let [h1, _] = octets;
        let flag = h1 >> 4;
        let new_data = if (flag ^ 0b1001).count_ones() <= 1 {
            Some(true)
        } else if (flag ^ 0b0110).count_ones() <= 1 {
            Some(false)
        } else {
            None
        };
        Self { new_data, ss: h1 & 0x0c, value: word & 0x3ff }
    }

    /// H1 and H2.
    #[must_use]
    pub const fn emit(self) -> [u8; 2] {
        let flag: u16 = match self.new_data {
            Some(true) => 0b1001,
            Some(false) | None => 0b0110,
        };
        let ss = (self.ss & 0x0c) as u16;
        (flag << 12 | ss << 8 | self.value & 0x3ff).to_be_bytes()
    }

    /// The same with the bits inverted that ask for a justification.
    #[must_use]
    pub const fn justified(self, which: Justification) -> Self {
        let bits = match which {
            Justification::Positive => INCREMENT,
            Justification::Negative => DECREMENT,
        };
        Self { value: self.value ^ bits, ..self }
    }

    /// The justification that these ten bits ask for where the pointer has been `value`: most bits of one kind
    /// inverted, and not most of the other.
    #[must_use]
    pub const fn justification(self, value: u16) -> Option<Justification> {
        let changed = self.value ^ value;
        let increment = (changed & INCREMENT).count_ones() >= 3;
        let decrement = (changed & DECREMENT).count_ones() >= 3;
        match (increment, decrement) {
            (true, false) => Some(Justification::Positive),
            (false, true) => Some(Justification::Negative),
            _ => None,
        }
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pointer {}", self.value)?;
        if self.new_data == Some(true) {
            f.write_str(" with new data")?;
        }
        Ok(())
    }
}

/// The most errors that M1 can say for an STS-N.
#[must_use]
pub const fn most_m1(n: usize) -> u8 {
    match n {
        0..=3 => 24,
        4..=12 => 96,
        _ => 255,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pointer_of_a_frame_at_rest_is_as_the_standards_have_it() {
        let sonet = Pointer { new_data: Some(false), ss: 0, value: 522 };
        assert_eq!(sonet.emit(), [0x62, 0x0a]);
        let sdh = Pointer { ss: SS_SDH, ..sonet };
        assert_eq!(sdh.emit(), [0x6a, 0x0a]);
        assert_eq!(Pointer::parse([0x6a, 0x0a]), sdh);
        assert_eq!(Pointer::parse(CONCATENATION).new_data, Some(true));
    }

    #[test]
    fn every_pointer_comes_back_and_is_moved_by_most_of_its_bits() {
        for value in 0..POINTERS {
            let pointer = Pointer { new_data: Some(value % 2 == 0), ss: 0, value };
            assert_eq!(Pointer::parse(pointer.emit()), pointer);
            assert_eq!(pointer.justification(value), None);
            for which in [Justification::Positive, Justification::Negative] {
                let moved = pointer.justified(which);
                assert_eq!(moved.justification(value), Some(which));
                // Two wrong bits of ten change nothing.
                for (one, other) in [(0, 2), (1, 3), (0, 9), (8, 9)] {
                    let value_seen = moved.value ^ (1 << one) ^ (1 << other);
                    let seen = Pointer { value: value_seen, ..moved };
                    assert_eq!(seen.justification(value), Some(which));
                }
            }
        }
    }

    #[test]
    fn a_new_data_flag_stands_one_wrong_bit() {
        for bit in 0..4 {
            let flag = |octet: u8| Pointer::parse([octet ^ (0x10 << bit), 0]).new_data;
            assert_eq!(flag(0x90), Some(true));
            assert_eq!(flag(0x60), Some(false));
        }
        assert_eq!(Pointer::parse([0x00, 0]).new_data, None);
        assert_eq!(Pointer::parse(Pointer::AIS).new_data, None);
    }

    #[test]
    fn places_are_where_the_drawing_has_them() {
        // Rows and columns of STM-1 counted from 1: B1 (2,1), K2 (5,7), M1 (9,6), E2 (9,7).
        let at = |row: usize, column: usize| (row - 1) * 270 + column - 1;
        assert_eq!(place::B1.in_frame(3), at(2, 1));
        assert_eq!(place::K2.in_frame(3), at(5, 7));
        assert_eq!(place::M1.in_frame(3), at(9, 6));
        assert_eq!(place::E2.in_frame(3), at(9, 7));
        assert_eq!(place::M1.in_overhead(3), 8 * 9 + 5);
    }
}
