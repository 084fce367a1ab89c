//! LLC: the users of an IEEE 802 network, by service access point or, behind SNAP, by EtherType.
//!
//! | | |
//! |---|---|
//! | Specification | IEEE 802.2 class I (type 1: UI, XID, TEST), as RFC 1042 and RFC 1390 ask for it; RFC 1042 for SNAP |
//! | Above | users by service access point; by EtherType behind a SNAP header of organisation 0: ARP, IP, XTP |
//! | Below | FDDI; Ethernet, whose frames then have a length in place of a type; both as their one user without a number ([`Key::Only`]) |
//! | Left out | types 2 and 3 (connections, acknowledged datagrams): such frames are dropped and counted; sending XID and TEST commands; SNAP of other organisations |
//!
//! Where a unit goes and where it came from is as the layer below has it. A user by SAP speaks to the same SAP of its
//! peer; what comes to the global SAP is for all of them.
//!
//! `kumiki_atm::llc_snap` has the same eight octets in front of datagrams and is what ATM uses (RFC 2684): there nobody
//! answers XID and TEST, and circuits are addresses. Both read and write them by [`kumiki_wire::inet::llc_snap`].
//!
//! # Answers
//!
//! XID and TEST commands are answered as RFC 1390 says, for the null, global and SNAP SAPs and for those that have
//! users: with the poll bit as final, XID with `81 01 00` for class I, TEST with what it brought. A command from a
//! group is not answered.

use crate::settable::Settings;
use kumiki_graph::encapsulation::{Counters, Dropped, Encapsulation, Limits, Parsed, State};
use kumiki_graph::users::{UserNumber, Users};
use kumiki_graph::{Above, Address, Below, Context, Indication, Key, Manage, Request, Unit};
use kumiki_octets::Message;
use kumiki_wire::inet::ethernet::MacAddr;
use kumiki_wire::inet::llc::{self, Control, Header, XID_CLASS_1, function, sap};
use kumiki_wire::inet::llc_snap;
use kumiki_wire::numbering::ETHER_TYPE;
use kumiki_wire::numbering::LSAP;

#[cfg(test)]
mod tests;

/// What names a user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Selector {
    Sap(u8),
    EtherType(u16),
}

impl UserNumber for Selector {
    const KIND: &'static str = "service access point or EtherType";

    fn of_key(key: Key) -> Option<Self> {
        let sap = key.number(LSAP).and_then(|number| u8::try_from(number).ok());
        sap.map(Self::Sap).or_else(|| key.number(ETHER_TYPE).map(Self::EtherType))
    }

    fn key(self) -> Key {
        match self {
            Self::Sap(sap) => Key::of(LSAP, sap.into()),
            Self::EtherType(number) => Key::of(ETHER_TYPE, number),
        }
    }
}

impl Selector {
    /// Octets of its header.
    const fn header_len(self) -> usize {
        match self {
            Self::Sap(_) => llc::LEN,
            Self::EtherType(_) => llc_snap::LEN,
        }
    }
}

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// Whether XID and TEST commands are answered, as the standard wants it.
    pub answer: bool,
}

impl Default for Config {
    /// A station of class I.
    fn default() -> Self {
        Self { answer: true }
    }
}

/// What came of XID and TEST.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Answers {
    /// XID commands answered.
    pub xid_answered: u64,
    /// TEST commands answered.
    pub test_answered: u64,
    /// Responses, to what nobody here has sent.
    pub responses: u64,
}

/// The layer.
#[derive(Debug, Default)]
pub struct Llc {
    config: Config,
    users: Users<Selector>,
    answers: Answers,
    state: State,
}

impl Llc {
    /// A station as `config` says.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, ..Self::default() }
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.state.counters
    }

    /// What came of XID and TEST so far.
    #[must_use]
    pub const fn answers(&self) -> &Answers {
        &self.answers
    }

    /// Unnumbered information.
    #[inline]
    fn information(&mut self, header: Header, mut unit: Box<Unit>, cx: &mut Context<'_>) -> Parsed {
        if header.dsap == sap::GLOBAL {
            let _ = unit.data.pop_header(llc::LEN);
            let saps = self.users.numbers().filter(|number| matches!(number, Selector::Sap(_)));
            let found: Vec<_> = saps.filter_map(|sap| self.found(sap, unit.clone()).ok()).collect();
            for (user, unit) in found {
                self.state.counters.received += 1;
                cx.up(user, Indication::Unit(unit));
            }
            return Err(Dropped::Done);
        }
        let (selector, len) = if header.dsap == sap::SNAP {
            match llc_snap::Header::parse(unit.data.front_at_least(llc_snap::LEN)) {
                Ok((llc_snap::Header::EtherType(ethertype), len)) => (Selector::EtherType(ethertype), len),
                Ok(_) => return Err(Dropped::UnknownType("SNAP of another organisation")),
                // RFC 1390: both SAPs are that of SNAP, or this is not IP or ARP.
                Err(_) => return Err(Dropped::Malformed("no SNAP header")),
            }
        } else {
            (Selector::Sap(header.dsap), llc::LEN)
        };
        let _ = unit.data.pop_header(len);
        self.found(selector, unit)
    }

    #[inline]
    fn found(&self, selector: Selector, mut unit: Box<Unit>) -> Parsed {
        let user = self.users.find(selector).ok_or(Dropped::UnknownType("no user for the SAP or EtherType"))?;
        unit.options.under = Some(selector.key());
        Ok((user, unit))
    }

    /// Answers an XID or TEST command, `unit` being what came behind its header (RFC 1390, "Elements of Procedure").
    fn answer(&mut self, command: Header, function: u8, poll: bool, unit: Box<Unit>, cx: &mut Context<'_>) -> Parsed {
        let ssap = match command.dsap {
            sap::SNAP | sap::GLOBAL => sap::SNAP,
            sap::NULL => sap::NULL,
            other if self.users.find(Selector::Sap(other)).is_some() => other,
            _ => return Err(Dropped::UnknownType("XID or TEST for a SAP without a user")),
        };
        if is_group(unit.source) {
            return Err(Dropped::Malformed("command from a group"));
        }
        let mut data = if function == function::XID {
            self.answers.xid_answered += 1;
            Message::from_octets(&XID_CLASS_1)
        } else {
            self.answers.test_answered += 1;
            unit.data
        };
        let header =
            Header { dsap: command.ssap, ssap, response: true, control: Control::Unnumbered { function, poll } };
        header.emit(data.push_header(llc::LEN));
        let answer = Unit { destination: unit.source, ..Unit::of(data) };
        cx.down(Below(0), Request::Unit(Box::new(answer)));
        Err(Dropped::Done)
    }
}

/// Whether `address` is one of several stations.
fn is_group(address: Address) -> bool {
    address.get::<MacAddr>().is_some_and(MacAddr::is_group)
}

impl Encapsulation for Llc {
    const ON_PATHS: bool = true;

    fn state(&mut self) -> &mut State {
        &mut self.state
    }

    fn admit(&mut self, user: Above, keys: &[Key]) -> Result<(), String> {
        for number in Key::numbers(keys, LSAP) {
            let own = [sap::NULL, sap::SNAP, sap::GLOBAL].map(u16::from).contains(&number);
            if own || number & 1 != 0 || number > u8::MAX.into() {
                return Err(format!(
                    "{number:#04x} is no service access point of a user; those are even, and 00 and aa are LLC's own"
                ));
            }
        }
        self.users.bind("LLC", user, keys)
    }

    fn pass_down(manage: &Manage) -> Result<(), &'static str> {
        let passed = matches!(manage, Manage::Limits | Manage::Route { .. } | Manage::Group { .. });
        if passed { Ok(()) } else { Err("not a unit") }
    }

    fn limits(&self, user: Above, below: Limits) -> Limits {
        below.behind(self.users.number(user, None).map_or(llc::LEN, Selector::header_len))
    }

    #[inline]
    fn emit(&mut self, from: Above, mut unit: Box<Unit>, _: &mut Context<'_>) -> Result<Box<Unit>, &'static str> {
        if self.emit_through(from, &mut unit) { Ok(unit) } else { Err("no service access point") }
    }

    #[inline]
    fn emit_through(&mut self, from: Above, unit: &mut Unit) -> bool {
        match self.users.number(from, unit.options.under) {
            Some(Selector::EtherType(ethertype)) => {
                unit.data.push_header_octets(&llc_snap::routed(ethertype));
            }
            Some(Selector::Sap(sap)) => {
                let header = Header::command(sap, sap, function::UI);
                header.emit(unit.data.push_header(llc::LEN));
            }
            None => return false,
        }
        true
    }

    #[inline]
    fn parse_through(&mut self, pdu: &mut Unit) -> Option<Above> {
        let selector = Selector::EtherType(llc_snap::ethertype_of(pdu.data.front_at_least(llc_snap::LEN))?);
        let user = self.users.find(selector)?;
        // The header was read, so it is there.
        let _ = pdu.data.pop_header(llc_snap::LEN);
        pdu.options.under = Some(selector.key());
        Some(user)
    }

    #[inline]
    fn parse(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) -> Parsed {
        let Ok((header, len)) = Header::parse(unit.data.front_at_least(llc::LEN + 1)) else {
            return Err(Dropped::Malformed("no LLC header"));
        };
        let Control::Unnumbered { function, poll } = header.control else {
            return Err(Dropped::Malformed("LLC of type 2"));
        };
        match (function, header.response) {
            (function::UI, false) if !poll => self.information(header, unit, cx),
            (function::UI, _) => Err(Dropped::Malformed("UI that is a response or polls")),
            (function::XID | function::TEST, false) if !self.config.answer => {
                cx.drop("command that is not answered");
                Err(Dropped::Done)
            }
            (function::XID | function::TEST, false) => {
                // The header was read, so it is there.
                let _ = unit.data.pop_header(len);
                self.answer(header, function, poll, unit, cx)
            }
            (function::XID | function::TEST, true) => {
                self.answers.responses += 1;
                cx.drop("response without a command");
                Err(Dropped::Done)
            }
            _ => Err(Dropped::Malformed("LLC of another type")),
        }
    }
}
