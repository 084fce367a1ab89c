//! How fast the clock of a line is.

use core::fmt;
use core::hash::Hasher as _;

use kumiki_graph::Rng;
use siphasher::sip::SipHasher13;

use crate::scenario::Scenario;

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

    /// What it is, and where it is between limits, the middle of them: what every run draws is right on the average then.
    #[must_use]
    pub const fn ppm(self) -> i32 {
        (self.least + self.most) / 2
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let one = |text: &str| text.trim().parse().ok().filter(|ppm| (-MOST..=MOST).contains(ppm));
        let (least, most) =
            text.split_once("..").map_or((one(text), one(text)), |(least, most)| (one(least), one(most)));
        let (least, most) = (least?, most?);
        (least <= most).then_some(Self { least, most })
    }

    /// As it is at the line called `line` in the run with `seed`: each whole number between its limits is as likely.
    fn drawn(self, seed: u64, line: &str) -> i32 {
        const DOMAIN: u64 = u64::from_be_bytes(*b"a clock.");
        let mut hasher = SipHasher13::new_with_keys(seed, DOMAIN);
        hasher.write(line.as_bytes());
        let mut rng = Rng::new(hasher.finish(), 0);
        let steps = f64::from(self.most - self.least + 1);
        #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2002")]
        let step = libm::floor(rng.unit() * steps) as i32;
        self.least + step
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.least == self.most { write!(f, "{}", self.least) } else { write!(f, "{} .. {}", self.least, self.most) }
    }
}

impl Scenario {
    /// As it is in the run with `seed`, where clocks are drawn by it.
    pub(crate) fn with_clocks(&self, seed: u64) -> Option<Self> {
        const KEY: &str = "clock_ppm";
        let between = |text: &str| Clock::parse(text).filter(|it| it.least < it.most);
        let drawn = self.link.iter().filter_map(|(name, link)| {
            let clock = between(link.settings.get(KEY)?.as_str()?)?;
            Some((name.clone(), clock.drawn(seed, name)))
        });
        let drawn: Vec<(String, i32)> = drawn.collect();
        (!drawn.is_empty()).then(|| {
            let mut own = self.clone();
            for (name, ppm) in drawn {
                if let Some(link) = own.link.get_mut(&name) {
                    link.settings.insert(KEY.to_owned(), i64::from(ppm).into());
                }
            }
            own
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_drawn_by_seed_and_line_from_all_that_they_may_be() {
        let clock = Clock::parse("-2..2").unwrap();
        let drawn = |line| (0..400).map(|seed| clock.drawn(seed, line)).collect::<Vec<_>>();
        let (one, other) = (drawn("one"), drawn("other"));
        assert_eq!(one, drawn("one"));
        // Each of five is as likely: 80 of 400, with a deviation of 8.
        for ppm in -2..=2 {
            let count = one.iter().filter(|it| **it == ppm).count();
            assert!((48..=112).contains(&count), "{ppm}: {count}");
        }
        // Two lines agree in a fifth of the runs, as those that know nothing of each other do.
        let alike = one.iter().zip(&other).filter(|(one, other)| one == other).count();
        assert!((48..=112).contains(&alike), "{alike}");
    }

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
