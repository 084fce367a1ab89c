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
//! A length says where the data ends and the padding begins. It is 1500 at most, for what is larger is a type: so much
//! LLC may send, however large the MTU.
//!
//! A user that asks by [`Manage::Route`](kumiki_graph::Manage::Route) how units would travel learns our own address as
//! their source.

use core::fmt;

use crate::EtherType;
use crate::settable::Settings;
use kumiki_graph::encapsulation::{Counters, Dropped, Encapsulation, Limits, Parsed, State};
use kumiki_graph::users::Users;
use kumiki_graph::{Above, Address, Context, Key, Unit};
use kumiki_wire::inet::ethernet::{Header, LEN, MAX_DATA, MIN_DATA, MacAddr, TypeOrLength};
use kumiki_wire::numbering::ETHER_TYPE;

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
#[cfg(feature = "settings")]
fn station(text: &str) -> Option<MacAddr> {
    let on_sim_ether = || text.parse().ok().and_then(crate::sim_ether::mac_of);
    text.parse().ok().or_else(on_sim_ether)
}

/// What is wrong with a [`Config`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigError {
    /// An address that no station has.
    Address(MacAddr),
    /// An MTU that is not carried.
    Mtu(u32),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(found) => {
                write!(f, "Ethernet has the address {found}, expected that of one station: the first octet is even")
            }
            Self::Mtu(found) => write!(f, "Ethernet has an MTU of {found} octets, expected {LEAST_MTU} to {MOST_MTU}"),
        }
    }
}

impl core::error::Error for ConfigError {}

/// The layer.
#[derive(Debug)]
pub struct Eth {
    config: Config,
    /// By EtherType.
    users: Users<EtherType>,
    /// The user whose frames have a length.
    llc: Option<Above>,
    state: State,
}

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
        Ok(Self { config, users: Users::default(), llc: None, state: State::default() })
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.state.counters
    }
}

impl Encapsulation for Eth {
    fn state(&mut self) -> &mut State {
        &mut self.state
    }

    fn own_address(&self) -> Option<Address> {
        Some(Address::from(self.config.address))
    }

    fn admit(&mut self, user: Above, keys: &[Key]) -> Result<(), String> {
        if !keys.contains(&Key::Only) {
            return self.users.bind("Ethernet", user, keys);
        }
        if self.llc.is_some() {
            return Err("frames with a length have a user already".to_owned());
        }
        self.llc = Some(user);
        Ok(())
    }

    fn limits(&self, user: Above, below: Limits) -> Limits {
        let Limits { unit, burst } = below.behind(LEN);
        let unit = unit.min(self.config.mtu);
        if self.llc == Some(user) {
            // What cuts super-segments knows types.
            Limits { unit: unit.min(u32::try_from(MAX_DATA).unwrap_or(0)), burst: 1 }
        } else {
            Limits { unit, burst }
        }
    }

    fn emit(&mut self, from: Above, mut unit: Box<Unit>, cx: &mut Context<'_>) -> Result<Box<Unit>, &'static str> {
        let destination = unit.destination.get().ok_or("destination is not a MAC address")?;
        let is_llc = self.llc == Some(from);
        let super_segment = unit.data.meta().segment_size != 0 && !is_llc;
        if unit.data.len() > self.limits(from, self.state.below).unit as usize && !super_segment {
            return Err("longer than the MTU");
        }
        let type_or_length = if is_llc {
            TypeOrLength::Length(u16::try_from(unit.data.len()).unwrap_or(0))
        } else {
            let EtherType(ethertype) = self.users.number(from, unit.options.under).ok_or("no EtherType")?;
            TypeOrLength::Type(ethertype)
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
        Ok(unit)
    }

    fn parse(&mut self, mut unit: Box<Unit>, _: &mut Context<'_>) -> Parsed {
        let total = unit.data.len();
        let most = self.config.mtu as usize + LEN;
        let header = Header::parse(unit.data.front_at_least(LEN), total);
        let super_segment = unit.data.meta().segment_size != 0;
        let header = header.ok().filter(|_| total <= most || super_segment);
        let (header, len) = header.ok_or(Dropped::Malformed("no frame of this Ethernet"))?;
        let group = header.destination.is_group();
        if !group && header.destination != self.config.address {
            return Err(Dropped::OtherStation("for another station"));
        }
        let (user, under) = match header.type_or_length {
            TypeOrLength::Type(ethertype) => {
                let key = Key::of(ETHER_TYPE, ethertype);
                (self.users.find(EtherType(ethertype)), Some(key))
            }
            TypeOrLength::Length(_) => (self.llc, None),
        };
        let user = user.ok_or(Dropped::UnknownType("unknown EtherType"))?;
        // The header was read, so it is there.
        let _ = unit.data.pop_header(len);
        if let TypeOrLength::Length(length) = header.type_or_length {
            unit.data.truncate(length.into());
        }
        unit.source = Address::from(header.source);
        unit.destination = Address::from(header.destination);
        unit.options.group = group;
        unit.options.under = under;
        Ok((user, unit))
    }
}
