//! How layers find each other.

use core::fmt;

use kumiki_octets::Numbering;

/// How a lower layer tells its users apart; each layer picks those that it understands from what a user offers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A number in the lower layer's header.
    Number {
        /// The number. First, for it is what differs.
        number: u16,
        /// Whose numbers these are.
        of: &'static Numbering,
    },
    /// The one user of a layer that does not tell users apart, or that it has beside those with numbers.
    Only,
    /// Takes what is for no other user, and hands down what it likes: whole frames, unprocessed.
    Raw,
}

impl Key {
    /// `number`, of this numbering.
    #[must_use]
    pub const fn of(of: &'static Numbering, number: u16) -> Self {
        Self::Number { number, of }
    }

    /// Its number, if it is one of this numbering.
    #[must_use]
    pub fn number(self, numbering: &Numbering) -> Option<u16> {
        match self {
            Self::Number { number, of } if of == numbering => Some(number),
            Self::Number { .. } | Self::Only | Self::Raw => None,
        }
    }

    /// The numbers among `keys` that are of this numbering.
    pub fn numbers(keys: &[Self], numbering: &'static Numbering) -> impl Iterator<Item = u16> {
        keys.iter().filter_map(|key| key.number(numbering))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { number, of } => of.write(*number, f),
            Self::Only => f.write_str("the only user"),
            Self::Raw => f.write_str("whole frames"),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
