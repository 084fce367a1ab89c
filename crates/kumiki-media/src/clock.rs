//! How fast the clock of a line is.

use core::fmt;

/// The most that a clock is off.
const MOST: i32 = 1000;

/// How far the clock of a line is off, in parts per million, or between which limits; below 0 it is slow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Clock {
    least: i32,
    most: i32,
}

impl Clock {
    /// One that is not off.
    pub(super) const RIGHT: Self = Self { least: 0, most: 0 };

    /// What it is, and where it is between limits, the middle of them: what every run draws is right on the average
    /// then.
    #[must_use]
    pub const fn ppm(self) -> i32 {
        (self.least + self.most) / 2
    }

    /// Reads parts per million, or two such with `..` between them, each within what a clock may be.
    pub fn parse(text: &str) -> Option<Self> {
        let one = |text: &str| text.trim().parse().ok().filter(|ppm| (-MOST..=MOST).contains(ppm));
        let (least, most) =
            text.split_once("..").map_or_else(|| (one(text), one(text)), |(least, most)| (one(least), one(most)));
        let (least, most) = (least?, most?);
        (least <= most).then_some(Self { least, most })
    }

    /// Between which limits it is, these included.
    #[must_use]
    pub const fn limits(self) -> (i32, i32) {
        (self.least, self.most)
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.least == self.most { write!(f, "{}", self.least) } else { write!(f, "{} .. {}", self.least, self.most) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_read_as_they_are_shown() {
        for text in ["0", "-1000", "20", "-20 .. 20", "5 .. 7"] {
            assert_eq!(Clock::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "1001", "2 .. 1", "1 ..", "-1001 .. 0", "1.5", "1 .. 2 .. 3"] {
            assert_eq!(Clock::parse(text), None, "{text}");
        }
        assert_eq!(["-20 .. 20", "10..20", "7"].map(|text| Clock::parse(text).unwrap().ppm()), [0, 15, 7]);
    }
}
