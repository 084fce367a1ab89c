//! LLC/SNAP: several protocols over one virtual channel, told apart by EtherType.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 2684 section 5 (replaces RFC 1483), routed PDUs with a SNAP header; RFC 1042 has the same eight octets |
//! | Above | users by EtherType: IP, ATMARP |
//! | Below | AAL5, or a device that does AAL5 itself; FDDI and Ethernet with a length, where XID and TEST need no answer ([`kumiki_inet::llc`] gives it) |
//! | Left out | bridged PDUs, ISO protocols by NLPID, sessions and credit: units beyond what the device's queue takes are lost there |
//!
//! Virtual channels pass through: where a unit goes is the user's destination, where it came from its source. A layer
//! configured with a channel of its own sends units without destination there and takes units from nowhere else.
//!
//! A user under several EtherTypes says in [`kumiki_graph::UnitOptions::under`] which one a unit belongs to.

use kumiki_graph::encapsulation::{Counters, Dropped, Encapsulation, Limits, Parsed, State};
use kumiki_graph::users::Users;
use kumiki_graph::{Above, Address, Context, Key, Unit};
use kumiki_inet::EtherType;
use kumiki_octets::Vc;
use kumiki_settings::Settings;
use kumiki_wire::inet::llc_snap::{self, Header, LEN};
use kumiki_wire::numbering::ETHER_TYPE;

#[cfg(test)]
mod tests;

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Settings)]
pub struct Config {
    /// The one circuit that all is sent on, where the layer above names none.
    ///
    /// [`Address::NONE`] where users name channels themselves.
    #[setting(text = Vc::circuit, expected = "a circuit \"vpi/vci\" such as \"0/100\"", unset = "none")]
    pub vc: Address,
}

/// The layer.
#[derive(Debug, Default)]
pub struct LlcSnap {
    config: Config,
    /// By EtherType.
    users: Users<EtherType>,
    state: State,
}

impl LlcSnap {
    /// A layer as `config` says.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, ..Self::default() }
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.state.counters
    }

    /// Whether it came by another circuit than the one that all is sent on.
    fn is_of_other_circuit(&self, unit: &Unit) -> bool {
        !self.config.vc.is_none() && !unit.source.is_none() && unit.source != self.config.vc
    }
}

impl Encapsulation for LlcSnap {
    const ON_PATHS: bool = true;

    fn state(&mut self) -> &mut State {
        &mut self.state
    }

    fn admit(&mut self, user: Above, keys: &[Key]) -> Result<(), String> {
        self.users.bind("LLC/SNAP", user, keys)
    }

    fn limits(&self, _: Above, below: Limits) -> Limits {
        below.behind(LEN)
    }

    #[inline]
    fn emit(&mut self, from: Above, mut unit: Box<Unit>, _: &mut Context<'_>) -> Result<Box<Unit>, &'static str> {
        if self.emit_through(from, &mut unit) { Ok(unit) } else { Err("no EtherType") }
    }

    #[inline]
    fn emit_through(&mut self, from: Above, unit: &mut Unit) -> bool {
        let Some(EtherType(ethertype)) = self.users.number(from, unit.options.under) else {
            return false;
        };
        unit.data.push_header_octets(&llc_snap::routed(ethertype));
        if unit.destination.is_none() {
            unit.destination = self.config.vc;
        }
        true
    }

    #[inline]
    fn parse(&mut self, mut unit: Box<Unit>, _: &mut Context<'_>) -> Parsed {
        if self.is_of_other_circuit(&unit) {
            return Err(Dropped::OtherStation("other VC"));
        }
        let header = unit.data.front(LEN).ok().map(Header::parse);
        let Some(Ok((Header::EtherType(ethertype), len))) = header else {
            return Err(Dropped::Malformed("no LLC/SNAP header of a routed PDU"));
        };
        let user = self.users.find(EtherType(ethertype)).ok_or(Dropped::UnknownType("unknown EtherType"))?;
        // The header was read, so it is there.
        let _ = unit.data.pop_header(len);
        unit.options.under = Some(Key::of(ETHER_TYPE, ethertype));
        Ok((user, unit))
    }

    #[inline]
    fn parse_through(&mut self, pdu: &mut Unit) -> Option<Above> {
        if self.is_of_other_circuit(pdu) {
            return None;
        }
        let ethertype = llc_snap::ethertype_of(pdu.data.front_at_least(LEN))?;
        let user = self.users.find(EtherType(ethertype))?;
        // The header was read, so it is there.
        let _ = pdu.data.pop_header(LEN);
        pdu.options.under = Some(Key::of(ETHER_TYPE, ethertype));
        Some(user)
    }
}
