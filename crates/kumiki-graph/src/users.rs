//! The users of a layer whose header names them by a number: EtherTypes, and the protocol numbers of IP, PPP and MAPOS.
//!
//! A user may have several numbers. It says in [`UnitOptions::under`](crate::UnitOptions::under) which one a unit
//! goes under; where it does not, its first is meant.

use crate::{Above, Context, Indication, Key, Report, ether_types, ip_protocols, mapos_protocols, ppp_protocols};

/// What a header names a user by.
pub trait Number: Copy + PartialEq {
    /// What it is called.
    const KIND: &'static str;

    /// Those among `keys`.
    fn among(keys: &[Key]) -> impl Iterator<Item = Self>;

    /// This one, in words.
    fn named(self) -> String;
}

impl Number for u16 {
    const KIND: &'static str = "EtherType";

    fn among(keys: &[Key]) -> impl Iterator<Item = Self> {
        ether_types(keys)
    }

    fn named(self) -> String {
        format!("EtherType {self:#06x}")
    }
}

impl Number for u8 {
    const KIND: &'static str = "protocol number";

    fn among(keys: &[Key]) -> impl Iterator<Item = Self> {
        ip_protocols(keys)
    }

    fn named(self) -> String {
        format!("IP protocol {self}")
    }
}

/// A number of PPP's protocol field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PppProtocol(pub u16);

impl Number for PppProtocol {
    const KIND: &'static str = "PPP protocol";

    fn among(keys: &[Key]) -> impl Iterator<Item = Self> {
        ppp_protocols(keys).map(Self)
    }

    fn named(self) -> String {
        format!("PPP protocol {:#06x}", self.0)
    }
}

/// A number of MAPOS's protocol field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MaposProtocol(pub u16);

impl Number for MaposProtocol {
    const KIND: &'static str = "MAPOS protocol";

    fn among(keys: &[Key]) -> impl Iterator<Item = Self> {
        mapos_protocols(keys).map(Self)
    }

    fn named(self) -> String {
        format!("MAPOS protocol {:#06x}", self.0)
    }
}

/// Who is found under which number.
#[derive(Clone, Debug)]
pub struct Users<N>(Vec<(N, Above)>);

impl<N> Default for Users<N> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<N: Number> Users<N> {
    /// Puts the user `above` of `layer` under the numbers among `keys`, of which there must be some.
    pub fn bind(&mut self, layer: &str, above: Above, keys: &[Key]) -> Result<(), String> {
        if N::among(keys).next().is_none() {
            let kind = N::KIND;
            return Err(format!("{layer} tells users apart by {kind}, and this one has none"));
        }
        for number in N::among(keys) {
            if self.find(number).is_some() {
                return Err(format!("{} has a user already", number.named()));
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
        let said = N::among(under.as_slice()).next();
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
