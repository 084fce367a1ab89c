//! FDDI: frames from station to station around a ring.
//!
//! | | |
//! |---|---|
//! | Specification | ISO 9314-2 as RFC 1390 quotes it: asynchronous frames for LLC, addresses of 48 bits |
//! | Above | one user, LLC ([`crate::llc`], `kumiki_atm::llc_snap`), by [`Key::Only`] |
//! | Below | a ring, or a device, that carries frames and takes care of the token, of all that is around a frame on the line, and of the frame check sequence |
//! | Left out | station management (its frames are dropped and counted), synchronous sending, restricted tokens, promiscuous reception; sessions and credit |
//!
//! Where a unit goes is a [`MacAddr`] in canonical form, and so is where one came from; on the line the bits of each
//! octet of an address are the other way round ([`kumiki_wire::inet::fddi`]). A frame for another station is dropped.
//! Of groups all are taken: those above know which they are in.
//!
//! A user that asks by [`Manage::Route`](kumiki_graph::Manage::Route) how units would travel learns our own address as
//! their source.

use core::fmt;

use crate::settable::Settings;
use kumiki_graph::encapsulation::{Counters, Dropped, Encapsulation, Limits, Parsed, State};
use kumiki_graph::{Above, Address, Context, Key, Unit};
use kumiki_wire::inet::ethernet::MacAddr;
use kumiki_wire::inet::fddi::{Control, Header, LEN, MAX_INFORMATION};

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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigError {
    /// An address that no station has.
    Address(MacAddr),
    /// An MTU that is not carried.
    Mtu(u32),
    /// A priority that there is not.
    Priority(u8),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(found) => {
                write!(f, "FDDI has the address {found}, expected that of one station: the first octet is even")
            }
            Self::Mtu(found) => write!(f, "FDDI has an MTU of {found} octets, expected {LEAST_MTU} to {MOST_MTU}"),
            Self::Priority(found) => write!(f, "FDDI has the priority {found}, expected 0 to 7"),
        }
    }
}

impl core::error::Error for ConfigError {}

/// The layer.
#[derive(Debug)]
pub struct Fddi {
    config: Config,
    state: State,
}

const USER: Above = Above(0);

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
        Ok(Self { config, state: State::default() })
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.state.counters
    }
}

impl Encapsulation for Fddi {
    fn state(&mut self) -> &mut State {
        &mut self.state
    }

    fn own_address(&self) -> Option<Address> {
        Some(Address::from(self.config.address))
    }

    fn admit(&mut self, user: Above, keys: &[Key]) -> Result<(), String> {
        if user != USER {
            return Err("FDDI has its one user already".to_owned());
        }
        if !keys.contains(&Key::Only) {
            return Err(
                "the user of FDDI is LLC, and this is not; put a node of kind `llc` or `llc_snap` between".to_owned()
            );
        }
        Ok(())
    }

    /// Frames are not cut by a device: nobody has one that cuts those of FDDI.
    fn limits(&self, _: Above, below: Limits) -> Limits {
        Limits { unit: below.behind(LEN).unit.min(self.config.mtu), burst: 1 }
    }

    #[inline]
    fn emit(&mut self, from: Above, mut unit: Box<Unit>, _: &mut Context<'_>) -> Result<Box<Unit>, &'static str> {
        let destination = unit.destination.get().ok_or("destination is not a MAC address")?;
        if unit.data.len() > self.limits(from, self.state.below).unit as usize {
            return Err("longer than the MTU");
        }
        let control = Control::Llc { synchronous: false, priority: self.config.priority };
        let header = Header { control, destination, source: self.config.address };
        header.emit(unit.data.push_header(LEN));
        unit.source = Address::from(self.config.address);
        Ok(unit)
    }

    #[inline]
    fn parse(&mut self, mut unit: Box<Unit>, _: &mut Context<'_>) -> Parsed {
        let total = unit.data.len();
        let header = Header::parse(unit.data.front_at_least(LEN)).ok();
        let header = header.filter(|_| total <= MAX_INFORMATION + LEN);
        let (header, len) = header.ok_or(Dropped::Malformed("no frame of FDDI"))?;
        let Control::Llc { .. } = header.control else {
            return Err(Dropped::UnknownType("not for LLC"));
        };
        let group = header.destination.is_group();
        if !group && header.destination != self.config.address {
            return Err(Dropped::OtherStation("for another station"));
        }
        // The header was read, so it is there.
        let _ = unit.data.pop_header(len);
        unit.source = Address::from(header.source);
        unit.destination = Address::from(header.destination);
        unit.options.group = group;
        unit.options.under = None;
        Ok((USER, unit))
    }
}
