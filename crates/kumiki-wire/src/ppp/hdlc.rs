//! HDLC-like framing: frames become octets of a line, and octets become frames.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1662 sections 3, 4, 5 and appendix C; RFC 2615 section 4 (SONET/SDH), RFC 2171 (MAPOS) |
//! | Used by | lines of SONET/SDH, serial lines and pseudo terminals |
//! | Left out | what is in a frame: address, control and protocol are the users' |
//!
//! A frame here is what stands between the flags without the frame check sequence: `FF 03 00 21 ...` of PPP.
//! [`Framing`] says how a line carries it, and how many octets that takes. [`Framing::emit`] makes the octets, a
//! [`Deframer`] finds the frames in them again, whatever pieces they come in. [`BitFraming`] does the former for
//! bit-synchronous lines, whose transparency is a zero bit behind five ones.

mod deframer;

pub use deframer::{Deframed, Deframer, FramingCounters};

use kumiki_octets::Message;
use kumiki_octets::bit_stuffing::{BitCounter, BitWriter};
use kumiki_octets::crc::{Fcs16, Fcs32};
use kumiki_octets::hdlc::{Accm, FLAG, stuff, stuffed_len};

/// The frame check sequence of a line; it is configured, and the same at both ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum FcsKind {
    /// 16 bits: PPP's default (RFC 1662 section 3.1).
    #[default]
    Fcs16,
    /// 32 bits: what RFC 2615 section 4 wants on SONET/SDH.
    Fcs32,
}

impl FcsKind {
    /// Octets on the line, before stuffing.
    #[expect(clippy::len_without_is_empty, reason = "a sequence is never empty")]
    #[must_use]
    pub const fn len(self) -> usize {
        match self {
            Self::Fcs16 => 2,
            Self::Fcs32 => 4,
        }
    }

    /// Whether `octets`, a frame and the sequence behind it, end with the right one.
    #[must_use]
    pub fn is_right_in(self, octets: &[u8]) -> bool {
        let mut fcs = Fcs::new(self);
        fcs.update(octets);
        fcs.is_valid()
    }
}

/// Either sequence, as it is taken of a frame in pieces.
#[derive(Clone, Copy, Debug)]
enum Fcs {
    Short(Fcs16),
    Long(Fcs32),
}

impl Fcs {
    const fn new(kind: FcsKind) -> Self {
        match kind {
            FcsKind::Fcs16 => Self::Short(Fcs16::new()),
            FcsKind::Fcs32 => Self::Long(Fcs32::new()),
        }
    }

    fn update(&mut self, octets: &[u8]) {
        match self {
            Self::Short(fcs) => fcs.update(octets),
            Self::Long(fcs) => fcs.update(octets),
        }
    }

    /// Whether the octets so far end with the right sequence.
    const fn is_valid(&self) -> bool {
        match self {
            Self::Short(fcs) => fcs.is_valid(),
            Self::Long(fcs) => fcs.is_valid(),
        }
    }

    /// Shows the sequence to `see` as it is sent, low octet first (RFC 1662 appendix C).
    fn show<T>(&self, see: impl FnOnce(&[u8]) -> T) -> T {
        match self {
            Self::Short(fcs) => see(&fcs.finish().to_le_bytes()),
            Self::Long(fcs) => see(&fcs.finish().to_le_bytes()),
        }
    }
}

/// How a line carries frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Framing {
    /// The frame check sequence.
    pub fcs: FcsKind,
    /// What is escaped beside flags and escapes; [`Accm::NONE`] on octet-synchronous lines.
    pub accm: Accm,
    /// Whether a frame has a flag of its own at its beginning, and not only the last one's end.
    pub opening_flag: bool,
}

impl Framing {
    /// How many octets of a line `frame` takes: its own and its frame check sequence, stuffed, with the closing flag
    /// and the opening one where there is one.
    #[must_use]
    pub fn octets_of(&self, frame: &Message) -> u64 {
        let mut fcs = Fcs::new(self.fcs);
        let mut octets = 1 + usize::from(self.opening_flag);
        frame.for_each(|piece| {
            fcs.update(piece);
            octets += stuffed_len(piece, self.accm);
        });
        octets += fcs.show(|fcs| stuffed_len(fcs, self.accm));
        octets as u64
    }

    /// Appends the octets of a line that carry `frame` to `out`.
    pub fn emit(&self, frame: &Message, out: &mut Vec<u8>) {
        if self.opening_flag {
            out.push(FLAG);
        }
        let mut fcs = Fcs::new(self.fcs);
        frame.for_each(|piece| {
            fcs.update(piece);
            stuff(piece, self.accm, out);
        });
        fcs.show(|fcs| stuff(fcs, self.accm, out));
        out.push(FLAG);
    }
}

/// How a bit-synchronous line carries frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BitFraming {
    /// The frame check sequence.
    pub fcs: FcsKind,
    /// As [`Framing::opening_flag`].
    pub opening_flag: bool,
}

impl BitFraming {
    /// How many bits of a line `frame` takes: its own and its frame check sequence, stuffed, with the closing flag and
    /// the opening one where there is one.
    #[must_use]
    pub fn bits_of(&self, frame: &Message) -> u64 {
        let (mut fcs, mut bits) = (Fcs::new(self.fcs), BitCounter::new());
        frame.for_each(|piece| {
            fcs.update(piece);
            bits.update(piece);
        });
        fcs.show(|fcs| bits.update(fcs));
        bits.bits() + 8 + 8 * u64::from(self.opening_flag)
    }

    /// Writes the bits of a line that carry `frame`.
    pub fn emit(&self, frame: &Message, out: &mut BitWriter) {
        if self.opening_flag {
            out.flag();
        }
        let mut fcs = Fcs::new(self.fcs);
        let mut octets = Vec::new();
        frame.for_each(|piece| {
            fcs.update(piece);
            octets.extend_from_slice(piece);
        });
        fcs.show(|fcs| octets.extend_from_slice(fcs));
        out.frame(&octets);
        out.flag();
    }
}

#[cfg(test)]
mod tests;
