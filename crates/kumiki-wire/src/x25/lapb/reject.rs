//! The information field of FRMR.

use core::fmt;

use super::{Control, Modulo};
use crate::{Malformed, put};

/// What a frame reject says: which frame was refused, where the rejecting end stood, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Reject {
    /// The control field of the frame refused as it came; modulo 8, and of unnumbered frames, the second octet is 0.
    pub control: [u8; 2],
    /// V(R) of who rejects.
    pub vr: u8,
    /// V(S) of who rejects.
    pub vs: u8,
    /// Whether the frame was a response.
    pub response: bool,
    /// W: its control field is invalid or not implemented.
    pub w: bool,
    /// X: it had information that it may not have, or was a frame of the wrong length; W is set too.
    pub x: bool,
    /// Y: its information was longer than N1.
    pub y: bool,
    /// Z: its N(R) was invalid.
    pub z: bool,
}

impl Reject {
    /// Octets that it takes.
    #[must_use]
    pub const fn len(modulo: Modulo) -> usize {
        match modulo {
            Modulo::Eight => 3,
            Modulo::Extended => 5,
        }
    }

    /// Reads the information field; octets behind it are let be.
    ///
    /// # Errors
    /// It is not all there.
    pub fn parse(octets: &[u8], modulo: Modulo) -> Result<Self, Malformed> {
        let have = octets.len();
        let short = Malformed::Short { protocol: "FRMR", need: Self::len(modulo), have };
        let (control, vr, vs, response, bits) = match modulo {
            Modulo::Eight => {
                let &[control, at, bits] = octets.first_chunk().ok_or(short)?;
                let response = at & 0x10 != 0;
                ([control, 0], at >> 5, at >> 1 & 7, response, bits)
            }
            Modulo::Extended => {
                let &[c0, c1, vs, vr, bits] = octets.first_chunk().ok_or(short)?;
                ([c0, c1], vr >> 1, vs >> 1, vr & 1 != 0, bits)
            }
        };
        Ok(Self { control, vr, vs, response, w: bits & 1 != 0, x: bits & 2 != 0, y: bits & 4 != 0, z: bits & 8 != 0 })
    }

    /// Writes [`Reject::len`] octets.
    pub fn emit(&self, modulo: Modulo, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), Self::len(modulo));
        let out = &mut out;
        let bits = self.bits();
        let (response, [c0, c1]) = (u8::from(self.response), self.control);
        match modulo {
            Modulo::Eight => {
                let at = (self.vr & 7) << 5 | response << 4 | (self.vs & 7) << 1;
                put(out, [c0, at, bits]);
            }
            Modulo::Extended => put(out, [c0, c1, self.vs << 1, self.vr << 1 | response, bits]),
        }
    }

    /// W, X, Y and Z, from the lowest bit on.
    #[must_use]
    pub fn bits(&self) -> u8 {
        u8::from(self.w) | u8::from(self.x) << 1 | u8::from(self.y) << 2 | u8::from(self.z) << 3
    }

    /// The control field of the frame refused, where it can be read.
    #[must_use]
    pub const fn refused(&self, modulo: Modulo) -> Option<Control> {
        Control::parse(&self.control, modulo)
    }
}

impl fmt::Display for Reject {
    /// For example `WX at V(S)=0 V(R)=3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (set, name) in [(self.w, "W"), (self.x, "X"), (self.y, "Y"), (self.z, "Z")] {
            if set {
                f.write_str(name)?;
            }
        }
        write!(f, " at V(S)={} V(R)={}", self.vs, self.vr)
    }
}
