//! A part of a plan, for one of several machines.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Every so-many-th point of all scenarios together. Written `K/N`, K from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    count: usize,
}

impl Shard {
    /// All points.
    pub const WHOLE: Self = Self { number: 1, count: 1 };
    /// The most shards: as many as a plan has points at most.
    const MOST: usize = 10_000;

    /// Whether it has the point at this place in the plan, from 0.
    #[must_use]
    pub fn has(self, place: usize) -> bool {
        place.checked_rem(self.count) == self.number.checked_sub(1)
    }

    /// That of as many shards which has the point at this place.
    pub(super) fn sibling(self, place: usize) -> Self {
        Self { number: place.checked_rem(self.count).map_or(1, |number| number + 1), ..self }
    }

    /// Which of how many, the first from 1.
    #[must_use]
    pub const fn of(self) -> (usize, usize) {
        (self.number, self.count)
    }

    /// Whether it has all points.
    #[must_use]
    pub const fn is_whole(self) -> bool {
        self.count == 1
    }
}

impl Default for Shard {
    fn default() -> Self {
        Self::WHOLE
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text
            .split_once('/')
            .and_then(|(k, n)| Some((k.trim().parse::<usize>().ok()?, n.trim().parse::<usize>().ok()?)));
        match parts {
            Some((number, count)) if (1..=count).contains(&number) && count <= Self::MOST => Ok(Self { number, count }),
            Some(_) | None => Err(format!("expected K/N, such as 1/8 to 8/8, and N at most {}", Self::MOST)),
        }
    }
}

impl Serialize for Shard {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Shard {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
