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

use kumiki_graph::{
    Above, Address, Below, Context, Indication, Key, Manage, Protocol, Report, Request, Service, Shape, Unit,
    UnitIndication, UnitRequest,
};
use kumiki_inet::EtherType;
use kumiki_octets::Vc;
use kumiki_settings::Settings;
use kumiki_wire::inet::llc_snap::{Header, LEN};
use kumiki_wire::numbering::ETHER_TYPE;

use kumiki_graph::users::{Users, tell_all};

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

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Units sent.
    pub sent: u64,
    /// Units handed to a user.
    pub received: u64,
    /// Units dropped: no LLC/SNAP header of a routed PDU.
    pub malformed: u64,
    /// Units dropped: an EtherType without a user.
    pub unknown_type: u64,
    /// Units dropped: from another channel than the configured one.
    pub other_vc: u64,
}

/// The layer.
#[derive(Debug, Default)]
pub struct LlcSnap {
    config: Config,
    /// By EtherType.
    users: Users<EtherType>,
    counters: Counters,
}

const BELOW: Below = Below(0);

impl LlcSnap {
    /// A layer as `config` says.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, ..Self::default() }
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    fn send(&mut self, from: Above, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let Some(EtherType(ethertype)) = self.users.number(from, unit.options.under) else {
            cx.drop("no EtherType");
            return;
        };
        Header::EtherType(ethertype).emit(unit.data.push_header(LEN));
        if unit.destination == Address::NONE {
            unit.destination = self.config.vc;
        }
        self.counters.sent += 1;
        cx.down(BELOW, Request::Unit(unit));
    }

    fn receive(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        if self.config.vc != Address::NONE && unit.source != Address::NONE && unit.source != self.config.vc {
            self.counters.other_vc += 1;
            cx.drop("other VC");
            return;
        }
        let header = unit.data.front(LEN).ok().map(Header::parse);
        let Some(Ok((Header::EtherType(ethertype), len))) = header else {
            self.counters.malformed += 1;
            cx.drop("no LLC/SNAP header of a routed PDU");
            return;
        };
        let Some(user) = self.users.find(EtherType(ethertype)) else {
            self.counters.unknown_type += 1;
            cx.drop("unknown EtherType");
            return;
        };
        // The header was read, so it is there.
        let _ = unit.data.pop_header(len);
        unit.options.under = Some(Key::of(ETHER_TYPE, ethertype));
        self.counters.received += 1;
        cx.up(user, Indication::Unit(unit));
    }
}

impl Protocol for LlcSnap {
    fn shape(&self) -> Shape {
        Shape {
            offers: Some(Service::UNIT_DATA),
            needs: &[Service::UNIT_DATA, Service::FRAME],
            below: (1, 1),
            keys: vec![Key::Only],
        }
    }

    fn bind(&mut self, above: Above, keys: &[Key]) -> Result<(), String> {
        self.users.bind("LLC/SNAP", above, keys)
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request.of_unit_data() {
            Some(UnitRequest::Unit(unit)) => self.send(from, unit, cx),
            Some(UnitRequest::Manage(manage)) if matches!(*manage, Manage::Limits | Manage::Route { .. }) => {
                cx.down(BELOW, Request::Manage(manage));
            }
            Some(UnitRequest::Manage(_)) | None => cx.drop("not a unit"),
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication.of_unit_data() {
            Some(UnitIndication::Unit(unit)) => self.receive(unit, cx),
            Some(UnitIndication::Report(report)) => match *report {
                Report::Limits { unit, burst } => {
                    let header = u32::try_from(LEN).unwrap_or(0);
                    let unit = unit.saturating_sub(header);
                    tell_all(&Report::Limits { unit, burst }, cx);
                }
                // How we are addressed on a LAN; who asked is not known.
                Report::Up | Report::Down | Report::Route { .. } => tell_all(&report, cx),
                Report::Unreachable { .. } | Report::Special(_) => {}
            },
            Some(UnitIndication::Credit(_)) => {}
            None => cx.drop("not a unit"),
        }
    }
}
