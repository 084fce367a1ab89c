//! The users of a layer whose header names them by a number.
//!
//! A user may have several numbers. It says in [`UnitOptions::under`](crate::UnitOptions::under) which one a unit
//! goes under; where it does not, its first is meant.

use crate::{Above, Context, Indication, Key, Report};

/// What a header names a user by.
pub trait UserNumber: Copy + PartialEq {
    /// What it is called.
    const KIND: &'static str;

    /// This key, if it is such a number.
    fn of_key(key: Key) -> Option<Self>;

    /// The key that it is.
    fn key(self) -> Key;
}

/// Who is found under which number.
#[derive(Clone, Debug)]
pub struct Users<N>(Vec<(N, Above)>);

impl<N> Default for Users<N> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<N: UserNumber> Users<N> {
    /// Puts the user `above` of `layer` under the numbers among `keys`, of which there must be some.
    pub fn bind(&mut self, layer: &str, above: Above, keys: &[Key]) -> Result<(), String> {
        let numbers = || keys.iter().filter_map(|key| N::of_key(*key));
        if numbers().next().is_none() {
            let kind = N::KIND;
            return Err(format!("{layer} tells users apart by {kind}, and this one has none"));
        }
        for number in numbers() {
            if self.find(number).is_some() {
                return Err(format!("{} has a user already", number.key()));
            }
            self.0.push((number, above));
        }
        Ok(())
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The numbers that have a user.
    pub fn numbers(&self) -> impl Iterator<Item = N> {
        self.0.iter().map(|&(number, _)| number)
    }

    /// Who is found under `number`.
    pub fn find(&self, number: N) -> Option<Above> {
        let found = self.0.iter().find(|(other, _)| *other == number);
        found.map(|&(_, user)| user)
    }

    /// The number of a unit of `user`'s that goes `under` this key.
    pub fn number(&self, user: Above, under: Option<Key>) -> Option<N> {
        let said = under.and_then(N::of_key);
        said.or_else(|| {
            let first = self.0.iter().find(|(_, other)| *other == user);
            first.map(|&(number, _)| number)
        })
    }
}

/// Hands `report` to every user once, though it may have several numbers.
pub fn tell_all(report: &Report, cx: &mut Context<'_>) {
    for user in 0..cx.users() {
        cx.up(Above(user), Indication::Report(Box::new(report.clone())));
    }
}
