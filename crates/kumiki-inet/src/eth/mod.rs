//! Ethernet: frames with a type or a length, from station to station.
//!
//! | | |
//! |---|---|
//! | Specification | Ethernet II; IEEE 802.3 section 3.2 (padding), RFC 894, RFC 2464 |
//! | Above | users by EtherType: ARP, IPv6; one without a number ([`Key::Only`]), LLC, whose frames have a length in place of a type (IEEE 802.3, RFC 1042) |
//! | Below | a device, or a line, that carries frames and takes care of preamble and frame check sequence |
//! | Left out | VLAN tags, pause frames, promiscuous reception; sessions and credit |
//!
//! Where a unit goes is a [`MacAddr`], and so is where one came from. A frame for another station is dropped. Of
//! groups all are taken: those above know which they are in.
//!
//! A length says where the data ends and the padding begins. It is 1500 at most, for what is larger is a type: so much LLC may
//! send, however large the MTU.
//!
//! A user that asks by [`Manage::Route`] how units would travel learns our own address as their source.

use crate::EtherType;
use kumiki_graph::{
    Above, Address, Below, Context, Indication, Key, Manage, Protocol, Report, Request, Service, Shape, Unit,
    UnitIndication, UnitRequest,
};
use kumiki_settings::Settings;
use kumiki_wire::inet::ethernet::{Header, LEN, MAX_DATA, MIN_DATA, MacAddr, TypeOrLength};
use kumiki_wire::numbering::ETHER_TYPE;
use thiserror::Error;

use kumiki_graph::users::{Users, tell_all};

#[cfg(test)]
mod tests;

/// The smallest MTU that can be set: what IPv4 asks of every link.
pub const LEAST_MTU: u32 = 68;
/// The largest MTU that can be set.
pub const MOST_MTU: u32 = 9000;

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// Our own MAC address.
    #[setting(text = station, expected = "a MAC address such as \"02:00:00:00:00:01\", or on SimEther its socket such as \"10.0.0.1:7000\"", required)]
    pub address: MacAddr,
    /// The most octets in a frame, its header not among them; where the layer below carries less, less.
    #[setting(LEAST_MTU.into()..=MOST_MTU.into(), octets)]
    pub mtu: u32,
    /// Whether frames are filled up to 46 octets (IEEE 802.3).
    pub pad: bool,
}

impl Config {
    /// The station `address` on a link with an MTU of 1500.
    #[must_use]
    pub const fn new(address: MacAddr) -> Self {
        Self { address, mtu: 1500, pad: true }
    }
}

/// A MAC address, or what stands for one on SimEther.
fn station(text: &str) -> Option<MacAddr> {
    let on_sim_ether = || text.parse().ok().and_then(crate::sim_ether::mac_of);
    text.parse().ok().or_else(on_sim_ether)
}

/// What is wrong with a [`Config`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ConfigError {
    /// An address that no station has.
    #[error("Ethernet has the address {0}, expected that of one station: the first octet is even")]
    Address(MacAddr),
    /// An MTU that is not carried.
    #[error("Ethernet has an MTU of {0} octets, expected {LEAST_MTU} to {MOST_MTU}")]
    Mtu(u32),
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Frames sent.
    pub sent: u64,
    /// Frames handed to a user.
    pub received: u64,
    /// Units not sent: without a MAC address, without a type, or longer than the MTU or what a length can say.
    pub refused: u64,
    /// Frames dropped: cut short, longer than the MTU, or with neither a type nor a length.
    pub malformed: u64,
    /// Frames dropped: for another station.
    pub other_station: u64,
    /// Frames dropped: a type without a user, or a length where LLC is no user.
    pub unknown_type: u64,
}

/// The layer.
#[derive(Debug)]
pub struct Eth {
    config: Config,
    /// What is carried at present.
    mtu: u32,
    burst: u32,
    /// By EtherType.
    users: Users<EtherType>,
    /// The user whose frames have a length.
    llc: Option<Above>,
    counters: Counters,
}

const BELOW: Below = Below(0);

impl Eth {
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
        Ok(Self {
            config,
            mtu: config.mtu,
            burst: 1,
            users: Users::default(),
            llc: None,
            counters: Counters::default(),
        })
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    fn send(&mut self, from: Above, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let Some(destination) = unit.destination.get() else {
            self.counters.refused += 1;
            cx.drop("destination is not a MAC address");
            return;
        };
        let super_segment = unit.data.meta().segment_size != 0 && self.llc != Some(from);
        if unit.data.len() > self.most(from) as usize && !super_segment {
            self.counters.refused += 1;
            cx.drop("longer than the MTU");
            return;
        }
        let type_or_length = if self.llc == Some(from) {
            TypeOrLength::Length(u16::try_from(unit.data.len()).unwrap_or(0))
        } else if let Some(EtherType(ethertype)) = self.users.number(from, unit.options.under) {
            TypeOrLength::Type(ethertype)
        } else {
            self.counters.refused += 1;
            cx.drop("no EtherType");
            return;
        };
        let missing = MIN_DATA.saturating_sub(unit.data.len());
        if self.config.pad && missing > 0 && !super_segment {
            // What a device would sum must end where the data does.
            crate::internet::complete_checksum(&mut unit.data, cx);
            let zeros = [0; MIN_DATA];
            let padding = zeros.get(..missing).unwrap_or_default();
            unit.data.append_octets(padding);
        }
        let header = Header { destination, source: self.config.address, type_or_length };
        header.emit(unit.data.push_header(LEN));
        unit.source = Address::from(self.config.address);
        self.counters.sent += 1;
        cx.down(BELOW, Request::Unit(unit));
    }

    fn receive(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let total = unit.data.len();
        let most = self.config.mtu as usize + LEN;
        let header = Header::parse(unit.data.front_at_least(LEN), total);
        let super_segment = unit.data.meta().segment_size != 0;
        let header = header.ok().filter(|_| total <= most || super_segment);
        let Some((header, len)) = header else {
            self.counters.malformed += 1;
            cx.drop("no frame of this Ethernet");
            return;
        };
        let group = header.destination.is_group();
        if !group && header.destination != self.config.address {
            self.counters.other_station += 1;
            cx.drop("for another station");
            return;
        }
        let (user, under) = match header.type_or_length {
            TypeOrLength::Type(ethertype) => {
                let key = Key::of(ETHER_TYPE, ethertype);
                (self.users.find(EtherType(ethertype)), Some(key))
            }
            TypeOrLength::Length(_) => (self.llc, None),
        };
        let Some(user) = user else {
            self.counters.unknown_type += 1;
            cx.drop("unknown EtherType");
            return;
        };
        // The header was read, so it is there.
        let _ = unit.data.pop_header(len);
        if let TypeOrLength::Length(length) = header.type_or_length {
            unit.data.truncate(length.into());
        }
        unit.source = Address::from(header.source);
        unit.destination = Address::from(header.destination);
        unit.options.group = group;
        unit.options.under = under;
        self.counters.received += 1;
        cx.up(user, Indication::Unit(unit));
    }

    /// The most octets of data in a frame of `user`.
    fn most(&self, user: Above) -> u32 {
        if self.llc == Some(user) { self.mtu.min(u32::try_from(MAX_DATA).unwrap_or(0)) } else { self.mtu }
    }

    fn limits(&self, user: Above) -> Report {
        Report::Limits {
            unit: self.most(user),
            // What cuts super-segments knows types.
            burst: if self.llc == Some(user) { 1 } else { self.burst },
        }
    }

    fn manage(&self, from: Above, manage: Manage, cx: &mut Context<'_>) {
        match manage {
            Manage::Limits => {
                cx.up(from, Indication::Report(Box::new(self.limits(from))));
                cx.down(BELOW, Request::Manage(Box::new(Manage::Limits)));
            }
            Manage::Route { to } => {
                let report = Report::Route {
                    to,
                    source: Address::from(self.config.address),
                    unit: self.most(from),
                    burst: self.burst,
                    bypass: None,
                };
                cx.up(from, Indication::Report(Box::new(report)));
            }
            Manage::Refuse { .. } => cx.drop("Ethernet sends nothing back"),
            Manage::Session { .. }
            | Manage::Advise { .. }
            | Manage::Group { .. }
            | Manage::Narrow { .. }
            | Manage::Special(_) => {}
        }
    }

    fn report(&mut self, report: &Report, cx: &mut Context<'_>) {
        match *report {
            Report::Limits { unit, burst } => {
                let header = u32::try_from(LEN).unwrap_or(0);
                self.mtu = self.config.mtu.min(unit.saturating_sub(header));
                self.burst = burst;
                for user in (0..cx.users()).map(Above) {
                    cx.up(user, Indication::Report(Box::new(self.limits(user))));
                }
            }
            Report::Up | Report::Down => tell_all(report, cx),
            Report::Route { .. } | Report::Unreachable { .. } | Report::Special(_) => {}
        }
    }
}

impl Protocol for Eth {
    fn shape(&self) -> Shape {
        Shape {
            offers: Some(Service::UNIT_DATA),
            needs: &[Service::UNIT_DATA, Service::FRAME],
            below: (1, 1),
            keys: vec![Key::Only],
        }
    }

    fn bind(&mut self, above: Above, keys: &[Key]) -> Result<(), String> {
        if keys.contains(&Key::Only) {
            if self.llc.is_some() {
                return Err("frames with a length have a user already".to_owned());
            }
            self.llc = Some(above);
            return Ok(());
        }
        self.users.bind("Ethernet", above, keys)
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request.of_unit_data() {
            Some(UnitRequest::Unit(unit)) => self.send(from, unit, cx),
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
