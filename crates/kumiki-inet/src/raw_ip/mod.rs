//! Both versions of IP on one line that has no header to tell them apart: the version is in the datagrams themselves.
//!
//! | | |
//! |---|---|
//! | Specification | the version field of RFC 791 section 3.1 and RFC 8200 section 3; it is what a TUN device carries, and link type 101 (RAW) of captures |
//! | Above | IPv4 and IPv6, by their EtherTypes |
//! | Below | a device or a line that carries datagrams as they are |
//! | Left out | anything but these two |

use kumiki_graph::encapsulation::{Counters, Dropped, Encapsulation, Limits, Parsed, State};
use kumiki_graph::users::Users;
use kumiki_graph::{Above, Context, Key, Unit};
use kumiki_wire::inet::ethernet::ethertype;

use crate::EtherType;

#[cfg(test)]
mod tests;

/// The layer.
#[derive(Debug, Default)]
pub struct RawIp {
    users: Users<EtherType>,
    state: State,
}

impl RawIp {
    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.state.counters
    }
}

impl Encapsulation for RawIp {
    fn state(&mut self) -> &mut State {
        &mut self.state
    }

    fn admit(&mut self, user: Above, keys: &[Key]) -> Result<(), String> {
        self.users.bind("a line of IP datagrams", user, keys)
    }

    #[inline]
    fn emit(&mut self, _: Above, unit: Box<Unit>, _: &mut Context<'_>) -> Result<Box<Unit>, &'static str> {
        Ok(unit)
    }

    #[inline]
    fn parse(&mut self, mut unit: Box<Unit>, _: &mut Context<'_>) -> Parsed {
        let first = unit.data.front_at_least(1).first().ok_or(Dropped::Malformed("an empty datagram"))?;
        let number = match first >> 4 {
            4 => ethertype::IPV4,
            6 => ethertype::IPV6,
            _ => return Err(Dropped::Malformed("neither IPv4 nor IPv6")),
        };
        let user = self.users.find(EtherType(number));
        Ok((user.ok_or(Dropped::UnknownType("the other version of IP"))?, unit))
    }

    fn limits(&self, _: Above, below: Limits) -> Limits {
        below
    }
}
