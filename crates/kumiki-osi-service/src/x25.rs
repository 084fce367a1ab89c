//! The packet layer: ITU-T X.25, ISO 8208.
//!
//! | | |
//! |---|---|
//! | Specification | X.25 sections 5 to 7 and annexes E and G, ISO 8208; numbers as X.121 and, with a type and a plan, X.301 have them. Recalled, and checked against what tshark 4.0 makes of the octets |
//! | Read and written by | `kumiki_wire::x25::x25` |
//! | Left out | the insides of facilities that only networks deal in (charging, recognised private operating agencies, redirection): their octets are kept |

mod call;
mod causes;
mod facility;
pub mod pad;
mod primitive;
mod remedy;

pub use call::{Call, Flow};
pub use causes::{Cause, CauseField, PacketCause, cause, circuit_status, diagnostic, diagnostic_text};
pub use facility::{Charging, Extension, Facilities, Facility, FastSelect, Marker, Nui, code};
pub use kumiki_octets::number::{BadNumber, MOST_DIGITS, MOST_TYPED_DIGITS, Number};
pub use primitive::Primitive;
pub use remedy::{CallOptions, remedy};

/// The modulus of sequence numbers, of a link or of logical channels.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Modulo {
    /// 8: numbers of three bits.
    #[default]
    Eight,
    /// 128, called extended: numbers of seven bits.
    Extended,
}

impl Modulo {
    /// How many numbers there are.
    #[must_use]
    pub const fn count(self) -> u8 {
        match self {
            Self::Eight => 8,
            Self::Extended => 128,
        }
    }

    /// The largest number, which is also the largest window.
    #[must_use]
    pub const fn most(self) -> u8 {
        self.count() - 1
    }

    /// `number` as it stands in a field, its upper bits left out.
    #[must_use]
    pub const fn of(self, number: u8) -> u8 {
        number & self.most()
    }

    /// The number after `number`.
    #[must_use]
    pub const fn next(self, number: u8) -> u8 {
        self.of(number.wrapping_add(1))
    }

    /// How many steps it is from `from` on to `to`.
    #[must_use]
    pub const fn distance(self, from: u8, to: u8) -> u8 {
        self.of(to.wrapping_sub(from))
    }
}

#[cfg(test)]
mod tests;
