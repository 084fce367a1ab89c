//! FDDI: frames from station to station around a ring.
//!
//! | | |
//! |---|---|
//! | Specification | ISO 9314-2 as RFC 1390 quotes it: asynchronous frames for LLC, addresses of 48 bits |
//! | Above | one user, LLC ([`crate::llc`], `kumiki_atm::llc_snap`), by [`Key::Only`] |
//! | Below | a ring, or a device, that carries frames and takes care of the token, of all that is around a frame on the line, and of the frame check sequence |
//! | Left out | station management (its frames are dropped and counted), synchronous sending, restricted tokens, promiscuous reception; sessions and credit |
//!
//! Where a unit goes is a [`MacAddr`] in canonical form, and so is where one came from; on the line the bits of each octet
//! of an address are the other way round ([`kumiki_wire::inet::fddi`]). A frame for another station is dropped. Of groups all are taken:
//! those above know which they are in.
//!
//! A user that asks by [`Manage::Route`] how units would travel learns our own address as their source.

use kumiki_graph::{
    Above, Address, Below, Context, Indication, Key, Manage, Protocol, Report, Request, Service, Shape, Unit,
    UnitIndication, UnitRequest,
};
use kumiki_settings::Settings;
use kumiki_wire::inet::ethernet::MacAddr;
use kumiki_wire::inet::fddi::{Control, Header, LEN, MAX_INFORMATION};
use thiserror::Error;

use kumiki_graph::users::tell_all;

#[cfg(test)]
mod tests;

/// The smallest MTU that can be set: what IPv4 asks of every link, behind LLC and SNAP.
pub const LEAST_MTU: u32 = 76;
/// The largest: all that a frame can hold ([`MAX_INFORMATION`]).
pub const MOST_MTU: u32 = 4478;
/// What leaves IP its 4352 octets behind LLC and SNAP (RFC 1390).
const USUAL_MTU: u32 = 4360;

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// Our own MAC address, in canonical form.
    #[setting(text, expected = "a MAC address such as \"02:00:00:00:00:01\"", required)]
    pub address: MacAddr,
    /// The most octets in a frame that is sent, its header not among them, LLC's among them.
    ///
    /// 4360 leaves IP its 4352 (RFC 1390). Where the layer below carries less, less. Received are all that a frame can
    /// hold.
    #[setting(LEAST_MTU.into()..=MOST_MTU.into(), octets)]
    pub mtu: u32,
    /// Priority of the frames that are sent: a matter of local convention (RFC 1390).
    #[setting(0..=7)]
    pub priority: u8,
}

impl Config {
    /// The station `address`, with the MTU of RFC 1390.
    #[must_use]
    pub const fn new(address: MacAddr) -> Self {
        Self { address, mtu: USUAL_MTU, priority: 0 }
    }
}

/// What is wrong with a [`Config`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ConfigError {
    /// An address that no station has.
    #[error("FDDI has the address {0}, expected that of one station: the first octet is even")]
    Address(MacAddr),
    /// An MTU that is not carried.
    #[error("FDDI has an MTU of {0} octets, expected {LEAST_MTU} to {MOST_MTU}")]
    Mtu(u32),
    /// A priority that there is not.
    #[error("FDDI has the priority {0}, expected 0 to 7")]
    Priority(u8),
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Frames sent.
    pub sent: u64,
    /// Frames handed to the user.
    pub received: u64,
    /// Units not sent: without a MAC address, or longer than the MTU.
    pub refused: u64,
    /// Frames dropped: cut short, too long, or with addresses of 16 bits.
    pub malformed: u64,
    /// Frames dropped: for another station.
    pub other_station: u64,
    /// Frames dropped: not for LLC.
    pub other_kind: u64,
}

/// The layer.
#[derive(Debug)]
pub struct Fddi {
    config: Config,
    /// What is carried at present.
    mtu: u32,
    counters: Counters,
}

const BELOW: Below = Below(0);
const ABOVE: Above = Above(0);

impl Fddi {
    /// A station as `config` says.
    ///
    /// # Errors
    /// [`ConfigError`] names what cannot be.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        if config.address.is_group() || config.address == MacAddr::default() {
            return Err(ConfigError::Address(config.address));
        }
        if !(LEAST_MTU..=MOST_MTU).contains(&config.mtu) {
            return Err(ConfigError::Mtu(config.mtu));
        }
        if config.priority > 7 {
            return Err(ConfigError::Priority(config.priority));
        }
        Ok(Self { config, mtu: config.mtu, counters: Counters::default() })
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    fn send(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let Some(destination) = unit.destination.get() else {
            self.counters.refused += 1;
            cx.drop("destination is not a MAC address");
            return;
        };
        if unit.data.len() > self.mtu as usize {
            self.counters.refused += 1;
            cx.drop("longer than the MTU");
            return;
        }
        let header = Header {
            control: Control::Llc { synchronous: false, priority: self.config.priority },
            destination,
            source: self.config.address,
        };
        header.emit(unit.data.push_header(LEN));
        unit.source = Address::from(self.config.address);
        self.counters.sent += 1;
        cx.down(BELOW, Request::Unit(unit));
    }

    fn receive(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let total = unit.data.len();
        let header = Header::parse(unit.data.front_at_least(LEN)).ok();
        let fits = total <= MAX_INFORMATION + LEN;
        let Some((header, len)) = header.filter(|_| fits) else {
            self.counters.malformed += 1;
            cx.drop("no frame of FDDI");
            return;
        };
        let Control::Llc { .. } = header.control else {
            self.counters.other_kind += 1;
            cx.drop("not for LLC");
            return;
        };
        let group = header.destination.is_group();
        if !group && header.destination != self.config.address {
            self.counters.other_station += 1;
            cx.drop("for another station");
            return;
        }
        // The header was read, so it is there.
        let _ = unit.data.pop_header(len);
        unit.source = Address::from(header.source);
        unit.destination = Address::from(header.destination);
        unit.options.group = group;
        unit.options.under = None;
        self.counters.received += 1;
        cx.up(ABOVE, Indication::Unit(unit));
    }

    /// Frames are not cut by a device: nobody has one that cuts those of FDDI.
    const fn limits(&self) -> Report {
        Report::Limits { unit: self.mtu, burst: 1 }
    }

    fn manage(&self, from: Above, manage: Manage, cx: &mut Context<'_>) {
        match manage {
            Manage::Limits => {
                cx.up(from, Indication::Report(Box::new(self.limits())));
                cx.down(BELOW, Request::Manage(Box::new(Manage::Limits)));
            }
            Manage::Route { to } => {
                let report = Report::Route {
                    to,
                    source: Address::from(self.config.address),
                    unit: self.mtu,
                    burst: 1,
                    bypass: None,
                };
                cx.up(from, Indication::Report(Box::new(report)));
            }
            Manage::Refuse { .. } => cx.drop("FDDI sends nothing back"),
            Manage::Session { .. }
            | Manage::Advise { .. }
            | Manage::Group { .. }
            | Manage::Narrow { .. }
            | Manage::Special(_) => {}
        }
    }

    fn report(&mut self, report: &Report, cx: &mut Context<'_>) {
        match *report {
            Report::Limits { unit, .. } => {
                let header = u32::try_from(LEN).unwrap_or(0);
                self.mtu = self.config.mtu.min(unit.saturating_sub(header));
                tell_all(&self.limits(), cx);
            }
            Report::Up | Report::Down => tell_all(report, cx),
            Report::Route { .. } | Report::Unreachable { .. } | Report::Special(_) => {}
        }
    }
}

impl Protocol for Fddi {
    fn shape(&self) -> Shape {
        Shape {
            offers: Some(Service::UNIT_DATA),
            needs: &[Service::UNIT_DATA, Service::FRAME],
            below: (1, 1),
            keys: vec![Key::Only],
        }
    }

    fn bind(&mut self, above: Above, keys: &[Key]) -> Result<(), String> {
        if above != ABOVE {
            return Err("FDDI has its one user already".to_owned());
        }
        if !keys.contains(&Key::Only) {
            return Err(
                "the user of FDDI is LLC, and this is not; put a node of kind `llc` or `llc_snap` between".to_owned()
            );
        }
        Ok(())
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request.of_unit_data() {
            Some(UnitRequest::Unit(unit)) => self.send(unit, cx),
            Some(UnitRequest::Manage(manage)) => self.manage(from, *manage, cx),
            None => cx.drop("not a unit"),
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication.of_unit_data() {
            Some(UnitIndication::Unit(unit)) => self.receive(unit, cx),
            Some(UnitIndication::Report(report)) => self.report(&report, cx),
            Some(UnitIndication::Credit(_)) => {}
            None => cx.drop("not a unit"),
        }
    }
}
