//! The users of a layer whose header names them by a number: EtherTypes, and the protocol numbers of IP.
//!
//! A user may have several numbers. It says in [`UnitOptions::under`](kumiki_graph::UnitOptions::under) which one a unit
//! goes under; where it does not, its first is meant.

use kumiki_graph::{Above, Context, Indication, Key, Report, ether_types, ip_protocols};

/// Who is found under which number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Users<N>(Vec<(N, Above)>);

impl<N: Copy + PartialEq> Users<N> {
    /// Who is found under `number`.
    pub(crate) fn find(&self, number: N) -> Option<Above> {
        let found = self.0.iter().find(|(other, _)| *other == number);
        found.map(|&(_, user)| user)
    }

    fn first(&self, user: Above) -> Option<N> {
        let first = self.0.iter().find(|(_, other)| *other == user);
        first.map(|&(number, _)| number)
    }
}

impl Users<u16> {
    /// Puts the user `above` of `layer` under the EtherTypes among `keys`, of which there must be some.
    pub(crate) fn bind(&mut self, layer: &str, above: Above, keys: &[Key]) -> Result<(), String> {
        if ether_types(keys).next().is_none() {
            return Err(format!(
                "{layer} tells users apart by EtherType, and this one has none"
            ));
        }
        for number in ether_types(keys) {
            if self.find(number).is_some() {
                return Err(format!("EtherType {number:#06x} has a user already"));
            }
            self.0.push((number, above));
        }
        Ok(())
    }

    /// The EtherType of a unit of `user`'s that goes `under` this key.
    pub(crate) fn number(&self, user: Above, under: Option<Key>) -> Option<u16> {
        let said = ether_types(under.as_slice()).next();
        said.or_else(|| self.first(user))
    }
}

impl Users<u8> {
    /// Puts the user `above` of `layer` under the protocol numbers among `keys`, of which there must be some.
    pub(crate) fn bind(&mut self, layer: &str, above: Above, keys: &[Key]) -> Result<(), String> {
        if ip_protocols(keys).next().is_none() {
            return Err(format!(
                "{layer} tells users apart by protocol number, and this one has none"
            ));
        }
        for number in ip_protocols(keys) {
            if self.find(number).is_some() {
                return Err(format!("IP protocol {number} has a user already"));
            }
            self.0.push((number, above));
        }
        Ok(())
    }

    /// The protocol number of a unit of `user`'s that goes `under` this key.
    pub(crate) fn number(&self, user: Above, under: Option<Key>) -> Option<u8> {
        let said = ip_protocols(under.as_slice()).next();
        said.or_else(|| self.first(user))
    }
}

/// Hands `report` to every user once, though it may have several numbers.
pub(crate) fn tell_all(report: &Report, cx: &mut Context<'_>) {
    for user in 0..cx.users() {
        cx.up(Above(user), Indication::Report(Box::new(report.clone())));
    }
}
