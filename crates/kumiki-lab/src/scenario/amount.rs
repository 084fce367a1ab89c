//! A quantity of whatever kind: what is varied may be any.

use std::fmt;

use kumiki_graph::Duration;

use kumiki_config::quantity::{Distribution, Invalid, Octets, Quantity, Rate, Share, parse, parse_list};

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

/// Whether `text` says what it is without a name beside it: it is no quantity, no range of such and no draw.
pub(crate) fn is_word(text: &str) -> bool {
    fn is_drawn<Q: Quantity>(text: &str) -> bool {
        Distribution::<Q>::parse(text).is_ok()
    }
    // Before a range that reaches below zero stands a sign.
    let is_end = |end: &str| Amount::parse(end.trim().trim_start_matches('-')).is_some();
    let is_range = text.split_once("..").is_some_and(|(first, last)| is_end(first) && is_end(last));
    let drawn = [is_drawn::<u64>, is_drawn::<Duration>, is_drawn::<Octets>, is_drawn::<Rate>, is_drawn::<Share>];
    Amount::parse(text).is_none() && !is_range && !drawn.iter().any(|is_drawn| is_drawn(text))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_ranges_and_draws_are_no_words() {
        for text in ["tail", "drop-tail", "oc3c-pos", "none", "a .. b", "exponential", "uniform growth", ""] {
            assert!(is_word(text), "{text}");
        }
        for text in
            ["48 KiB", "7", "-20 .. 20", "1 ms .. 9 ms", "exponential 60 kB", "uniform 1 ms .. 9 ms", "pareto 1.2 1 kB"]
        {
            assert!(!is_word(text), "{text}");
        }
    }
}
