//! The options of a packet: bits 31 to 8 of the command word.

use core::fmt;
use core::ops::{BitOr, BitOrAssign};

/// Options, in the 24-bit form in which they stand in front of version and packet format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Options(u32);

impl Options {
    /// No option.
    pub const NONE: Self = Self(0);
    /// The checksum covers the header alone.
    pub const NOCHECK: Self = Self(0x40_0000);
    /// Its changing asks for the receiver's state.
    pub const EDGE: Self = Self(0x20_0000);
    /// What is lost is not sent again.
    pub const NOERR: Self = Self(0x10_0000);
    /// The packet belongs to a multicast.
    pub const MULTI: Self = Self(0x08_0000);
    /// `alloc` counts only what the receiving user has granted.
    pub const RES: Self = Self(0x04_0000);
    /// The `sort` field is significant.
    pub const SORT: Self = Self(0x02_0000);
    /// `alloc` is ignored.
    pub const NOFLOW: Self = Self(0x01_0000);
    /// A gap is reported as soon as it is seen.
    pub const FASTNAK: Self = Self(0x00_8000);
    /// The receiver's state is asked for, at once.
    pub const SREQ: Self = Self(0x00_4000);
    /// The receiver's state is asked for, when the user has taken what was received.
    pub const DREQ: Self = Self(0x00_2000);
    /// The reader has all that was written, and expects no more.
    pub const RCLOSE: Self = Self(0x00_1000);
    /// The writer has written all; `seq` and the data of the packet say where the stream ends.
    pub const WCLOSE: Self = Self(0x00_0800);
    /// A message ends with the last octet of the packet.
    pub const EOM: Self = Self(0x00_0400);
    /// The sender's context is gone after this packet.
    pub const END: Self = Self(0x00_0200);
    /// A tag stands in front of the data.
    pub const BTAG: Self = Self(0x00_0100);

    const ALL: u32 = 0x7f_ff00;
    const NAMES: [(Self, &'static str); 15] = [
        (Self::NOCHECK, "NOCHECK"),
        (Self::EDGE, "EDGE"),
        (Self::NOERR, "NOERR"),
        (Self::MULTI, "MULTI"),
        (Self::RES, "RES"),
        (Self::SORT, "SORT"),
        (Self::NOFLOW, "NOFLOW"),
        (Self::FASTNAK, "FASTNAK"),
        (Self::SREQ, "SREQ"),
        (Self::DREQ, "DREQ"),
        (Self::RCLOSE, "RCLOSE"),
        (Self::WCLOSE, "WCLOSE"),
        (Self::EOM, "EOM"),
        (Self::END, "END"),
        (Self::BTAG, "BTAG"),
    ];

    /// Those of `bits` that are assigned; others are left out.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits & Self::ALL)
    }

    /// The 24 bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether all bits of `other` are set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any bit of `other` is set.
    #[must_use]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// These bits and those of `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These bits without those of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// These bits, and those of `other` where `also`.
    #[must_use]
    pub const fn with_if(self, also: bool, other: Self) -> Self {
        if also { self.with(other) } else { self }
    }
}

impl BitOr for Options {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.with(other)
    }
}

impl BitOrAssign for Options {
    fn bitor_assign(&mut self, other: Self) {
        *self = self.with(other);
    }
}

impl fmt::Display for Options {
    /// For example `EDGE,SREQ`; `-` for none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("-");
        }
        let mut separator = "";
        for (option, name) in Self::NAMES {
            if self.contains(option) {
                write!(f, "{separator}{name}")?;
                separator = ",";
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
