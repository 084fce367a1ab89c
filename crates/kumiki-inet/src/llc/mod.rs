//! LLC: the users of an IEEE 802 network, by service access point or, behind SNAP, by EtherType.
//!
//! | | |
//! |---|---|
//! | Specification | IEEE 802.2 class I (type 1: UI, XID, TEST), as RFC 1042 and RFC 1390 ask for it; RFC 1042 for SNAP |
//! | Above | users by service access point; by EtherType behind a SNAP header of organisation 0: ARP, IP, XTP |
//! | Below | FDDI; Ethernet, whose frames then have a length in place of a type; both as their one user without a number ([`Key::Only`]) |
//! | Left out | types 2 and 3 (connections, acknowledged datagrams): such frames are dropped and counted; sending XID and TEST commands; SNAP of other organisations |
//!
//! Where a unit goes and where it came from is as the layer below has it. A user by SAP speaks to the same SAP of its peer; what
//! comes to the global SAP is for all of them.
//!
//! `kumiki_atm::llc_snap` has the same eight octets in front of datagrams and is what ATM uses (RFC 2684): there nobody answers
//! XID and TEST, and circuits are addresses. Both read and write them by [`kumiki_wire::inet::llc_snap`].
//!
//! # Answers
//!
//! XID and TEST commands are answered as RFC 1390 says, for the null, global and SNAP SAPs and for those that have users: with
//! the poll bit as final, XID with `81 01 00` for class I, TEST with what it brought. A command from a group is not answered.

use kumiki_graph::{
    Above, Address, Below, Context, Indication, Key, Manage, Protocol, Report, Request, Service, Shape, Unit,
    UnitIndication, UnitRequest,
};
use kumiki_octets::Message;
use kumiki_settings::Settings;
use kumiki_wire::inet::ethernet::MacAddr;
use kumiki_wire::inet::llc::{self, Control, Header, XID_CLASS_1, function, sap};
use kumiki_wire::inet::llc_snap;
use kumiki_wire::numbering::ETHER_TYPE;
use kumiki_wire::numbering::LSAP;

use kumiki_graph::users::{UserNumber, Users};

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

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Units sent.
    pub sent: u64,
    /// Units handed to users, each once for each of them.
    pub received: u64,
    /// XID commands answered.
    pub xid_answered: u64,
    /// TEST commands answered.
    pub test_answered: u64,
    /// Responses to XID and TEST, which nobody here has sent.
    pub responses: u64,
    /// Units dropped: no header, or none of type 1 that the standard lets pass.
    pub malformed: u64,
    /// Units dropped: no user for the SAP or EtherType, or an organisation other than 0.
    pub unknown_sap: u64,
}

/// The layer.
#[derive(Debug, Default)]
pub struct Llc {
    config: Config,
    users: Users<Selector>,
    counters: Counters,
}

const BELOW: Below = Below(0);

impl Llc {
    /// A station as `config` says.
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
        match self.users.number(from, unit.options.under) {
            Some(Selector::EtherType(ethertype)) => {
                let header = llc_snap::Header::EtherType(ethertype);
                header.emit(unit.data.push_header(llc_snap::LEN));
            }
            Some(Selector::Sap(sap)) => {
                let header = Header::command(sap, sap, function::UI);
                header.emit(unit.data.push_header(llc::LEN));
            }
            None => {
                cx.drop("no service access point");
                return;
            }
        }
        self.counters.sent += 1;
        cx.down(BELOW, Request::Unit(unit));
    }

    fn receive(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let Ok((header, len)) = Header::parse(unit.data.front_at_least(llc::LEN + 1)) else {
            self.malformed("no LLC header", cx);
            return;
        };
        let Control::Unnumbered { function, poll } = header.control else {
            self.malformed("LLC of type 2", cx);
            return;
        };
        match (function, header.response) {
            (function::UI, false) if !poll => self.information(header, unit, cx),
            (function::UI, _) => self.malformed("UI that is a response or polls", cx),
            (function::XID | function::TEST, false) if !self.config.answer => {
                cx.drop("command that is not answered");
            }
            (function::XID | function::TEST, false) => {
                // The header was read, so it is there.
                let _ = unit.data.pop_header(len);
                self.answer(header, (function, poll), unit, cx);
            }
            (function::XID | function::TEST, true) => {
                self.counters.responses += 1;
                cx.drop("response that nobody waits for");
            }
            _ => self.malformed("LLC of another type", cx),
        }
    }

    fn malformed(&mut self, why: &'static str, cx: &mut Context<'_>) {
        self.counters.malformed += 1;
        cx.drop(why);
    }

    /// Unnumbered information.
    fn information(&mut self, header: Header, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        if header.dsap == sap::GLOBAL {
            let _ = unit.data.pop_header(llc::LEN);
            let saps = self.users.numbers().filter_map(|number| match number {
                Selector::Sap(sap) => Some(sap),
                Selector::EtherType(_) => None,
            });
            let saps: Vec<u8> = saps.collect();
            for sap in saps {
                self.hand_up(Selector::Sap(sap), unit.clone(), cx);
            }
            return;
        }
        let (selector, len) = if header.dsap == sap::SNAP {
            match llc_snap::Header::parse(unit.data.front_at_least(llc_snap::LEN)) {
                Ok((llc_snap::Header::EtherType(ethertype), len)) => (Selector::EtherType(ethertype), len),
                Ok(_) => {
                    self.counters.unknown_sap += 1;
                    cx.drop("SNAP of another organisation");
                    return;
                }
                // RFC 1390: both SAPs are that of SNAP, or this is not IP or ARP.
                Err(_) => {
                    self.malformed("no SNAP header", cx);
                    return;
                }
            }
        } else {
            (Selector::Sap(header.dsap), llc::LEN)
        };
        let _ = unit.data.pop_header(len);
        self.hand_up(selector, unit, cx);
    }

    fn hand_up(&mut self, selector: Selector, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let Some(user) = self.users.find(selector) else {
            self.counters.unknown_sap += 1;
            cx.drop("no user for the SAP or EtherType");
            return;
        };
        unit.options.under = Some(selector.key());
        self.counters.received += 1;
        cx.up(user, Indication::Unit(unit));
    }

    /// Answers an XID or TEST command, `unit` being what came behind its header (RFC 1390, "Elements of Procedure").
    fn answer(&mut self, command: Header, (function, poll): (u8, bool), unit: Box<Unit>, cx: &mut Context<'_>) {
        let ssap = match command.dsap {
            sap::SNAP | sap::GLOBAL => sap::SNAP,
            sap::NULL => sap::NULL,
            other if self.users.find(Selector::Sap(other)).is_some() => other,
            _ => {
                self.counters.unknown_sap += 1;
                cx.drop("XID or TEST for a SAP without a user");
                return;
            }
        };
        if is_group(unit.source) {
            self.malformed("command from a group", cx);
            return;
        }
        let mut data = if function == function::XID {
            self.counters.xid_answered += 1;
            Message::from_octets(&XID_CLASS_1)
        } else {
            self.counters.test_answered += 1;
            unit.data
        };
        let header =
            Header { dsap: command.ssap, ssap, response: true, control: Control::Unnumbered { function, poll } };
        header.emit(data.push_header(llc::LEN));
        let answer = Unit { destination: unit.source, ..Unit::of(data) };
        cx.down(BELOW, Request::Unit(Box::new(answer)));
    }

    /// Tells each user `report` of so many octets below, less its own header.
    fn tell(&self, report: impl Fn(u32) -> Report, unit: u32, cx: &mut Context<'_>) {
        for user in (0..cx.users()).map(Above) {
            let header = self.users.number(user, None).map(Selector::header_len);
            let header = u32::try_from(header.unwrap_or(llc::LEN)).unwrap_or(0);
            let report = report(unit.saturating_sub(header));
            cx.up(user, Indication::Report(Box::new(report)));
        }
    }

    fn report(&self, report: Report, cx: &mut Context<'_>) {
        match report {
            Report::Limits { unit, burst } => {
                self.tell(|unit| Report::Limits { unit, burst }, unit, cx);
            }
            // How we are addressed, and who asked is not known.
            Report::Route { to, source, unit, burst, .. } => {
                let route = |unit| Report::Route { to, source, unit, burst, bypass: None };
                self.tell(route, unit, cx);
            }
            Report::Up | Report::Down => kumiki_graph::users::tell_all(&report, cx),
            Report::Unreachable { .. } | Report::Special(_) => {}
        }
    }
}

/// Whether `address` is one of several stations.
fn is_group(address: Address) -> bool {
    address.get::<MacAddr>().is_some_and(MacAddr::is_group)
}

impl Protocol for Llc {
    fn shape(&self) -> Shape {
        Shape {
            offers: Some(Service::UNIT_DATA),
            needs: &[Service::UNIT_DATA, Service::FRAME],
            below: (1, 1),
            keys: vec![Key::Only],
        }
    }

    fn bind(&mut self, above: Above, keys: &[Key]) -> Result<(), String> {
        for number in Key::numbers(keys, LSAP) {
            let own = [sap::NULL, sap::SNAP, sap::GLOBAL].map(u16::from).contains(&number);
            if own || number & 1 != 0 || number > u8::MAX.into() {
                return Err(format!(
                    "{number:#04x} is no service access point of a user; those are even, and 00 and aa are LLC's own"
                ));
            }
        }
        self.users.bind("LLC", above, keys)
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request.of_unit_data() {
            Some(UnitRequest::Unit(unit)) => self.send(from, unit, cx),
            Some(UnitRequest::Manage(manage)) => match *manage {
                Manage::Limits | Manage::Route { .. } | Manage::Group { .. } => {
                    cx.down(BELOW, Request::Manage(manage));
                }
                Manage::Refuse { .. }
                | Manage::Session { .. }
                | Manage::Advise { .. }
                | Manage::Narrow { .. }
                | Manage::Special(_) => cx.drop("not a unit"),
            },
            None => cx.drop("not a unit"),
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication.of_unit_data() {
            Some(UnitIndication::Unit(unit)) => self.receive(unit, cx),
            Some(UnitIndication::Report(report)) => self.report(*report, cx),
            Some(UnitIndication::Credit(_)) => {}
            None => cx.drop("not a unit"),
        }
    }
}
