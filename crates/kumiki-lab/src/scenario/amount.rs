//! A quantity of whatever kind: what is varied may be any.

use std::fmt;

use kumiki_graph::Duration;

use crate::quantity::{Invalid, Octets, Quantity, Rate, Share, parse, parse_list};

/// A quantity of any kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// A number without unit.
    Count(u64),
    /// A length of time.
    Time(Duration),
    /// A size.
    Size(Octets),
    /// A rate.
    Rate(Rate),
    /// A part of a whole.
    Share(Share),
}

impl Amount {
    /// Reads one quantity of any kind.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        // A bare zero is a quantity of every kind; a number comes first.
        parse(text)
            .map(Self::Count)
            .or_else(|_| parse(text).map(Self::Time))
            .or_else(|_| parse(text).map(Self::Size))
            .or_else(|_| parse(text).map(Self::Rate))
            .or_else(|_| parse(text).map(Self::Share))
            .ok()
    }

    /// Reads values and ranges between commas, all of one kind.
    ///
    /// # Errors
    ///
    /// [`Invalid`] from the kind whose units the text has.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, Invalid> {
        fn list<Q: Quantity>(text: &str, of: fn(Q) -> Amount) -> Result<Vec<Amount>, Invalid> {
            Ok(parse_list(text)?.into_iter().map(of).collect())
        }
        fn has_unit<Q: Quantity>(text: &str) -> bool {
            text.split(|c: char| c.is_ascii_digit() || c.is_whitespace() || ".,_".contains(c))
                .filter(|word| !word.is_empty())
                .any(|word| {
                    Q::UNITS.iter().any(|unit| unit.name == word) || Q::REFUSED.iter().any(|(name, ..)| *name == word)
                })
        }
        if has_unit::<Duration>(text) {
            list(text, Self::Time)
        } else if has_unit::<Octets>(text) {
            list(text, Self::Size)
        } else if has_unit::<Rate>(text) {
            list(text, Self::Rate)
        } else if has_unit::<Share>(text) {
            list(text, Self::Share)
        } else {
            list(text, Self::Count)
        }
    }

    /// In base units: one, nanoseconds, octets, bits per second, 10^-12.
    #[must_use]
    pub fn base(self) -> u64 {
        match self {
            Self::Count(n) => n,
            Self::Time(time) => time.base(),
            Self::Size(size) => size.base(),
            Self::Rate(rate) => rate.base(),
            Self::Share(share) => share.base(),
        }
    }

    /// Whether both are of the same kind.
    #[must_use]
    pub fn is_like(self, other: Self) -> bool {
        core::mem::discriminant(&self) == core::mem::discriminant(&other)
    }

    /// So many base units of the same kind.
    #[must_use]
    pub fn with_base(self, base: u64) -> Self {
        match self {
            Self::Count(_) => Self::Count(base),
            Self::Time(_) => Self::Time(Duration::from_base(base)),
            Self::Size(_) => Self::Size(Octets::from_base(base)),
            Self::Rate(_) => Self::Rate(Rate::from_base(base)),
            Self::Share(_) => Self::Share(Share::from_base(base)),
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(n) => n.fmt(f),
            Self::Time(time) => time.fmt(f),
            Self::Size(size) => size.fmt(f),
            Self::Rate(rate) => rate.fmt(f),
            Self::Share(share) => share.fmt(f),
        }
    }
}
