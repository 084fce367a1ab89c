//! SimEther: Ethernet frames in UDP datagrams, the x-kernel's Ethernet driver where it is a process among others.
//!
//! | | |
//! |---|---|
//! | Specification | none: the x-kernel's driver of this name (facts of its version 3.2), as paper 3 uses it. A datagram carries one frame from its destination address on, without FCS and without a header of ours |
//! | Above | one user, Ethernet |
//! | Below | UDP, or a device that carries datagrams |
//! | Left out | asking ARP for all hosts in order to broadcast: who gets frames for groups is [`Config::stations`] |
//!
//! # The address is in the MAC address
//!
//! A station's MAC address is its IPv4 address and UDP port, so nobody keeps a table of who is where ([`mac_of`],
//! [`socket_of`]). One bit cannot be as it is: the lowest of the first octet says "group" (IEEE 802), which would make
//! a group of 127.0.0.1. It changes places with the lowest bit of the port, which must be 0: ports of SimEther are
//! even. For addresses that begin with an even octet nothing moves.
//!
//! # A process above a socket
//!
//! With a [`Config::socket_buffer`] the port below has so much room, and a datagram leaves it when this node handles
//! it, as a process does that calls `recvfrom`. What a datagram costs the process is charged as one call and
//! [`Config::copies`] copies of its octets, each way; without prices it costs nothing.

use core::fmt;
use core::net::SocketAddr;
use core::net::{Ipv4Addr, SocketAddrV4};

use crate::settable::Settings;
use kumiki_graph::{
    Above, Address, Below, Context, Credit, Handle, Indication, Key, Manage, Mode, Open, Protocol, Quality, Report,
    Request, Service, Shape, Unit, Work,
};
use kumiki_wire::inet::ethernet::{Header, LEN, MacAddr};

#[cfg(test)]
mod tests;

/// The smallest frame that can be set: a header.
pub const LEAST_FRAME: u32 = 14;
/// The largest frame that can be set: what a datagram holds.
pub const MOST_FRAME: u32 = crate::udp::MAX_DATA;

const USER: Above = Above(0);
const BELOW: Below = Below(0);

/// What can be set.
#[derive(Clone, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// Our own address and port.
    #[setting(text = station, expected = "an IPv4 address and an even port such as \"10.0.0.1:7000\"", required)]
    pub address: SocketAddrV4,
    /// Who gets frames for groups, a copy each.
    #[setting(list = station, expected = "an IPv4 address and an even port such as \"10.0.0.1:7000\"")]
    pub stations: Vec<SocketAddrV4>,
    /// A box between the stations that gets all frames, such as a delay generator.
    #[setting(text, expected = "an IPv4 address and a port such as \"10.0.0.9:4001\"", unset = "none")]
    pub via: Option<SocketAddrV4>,
    /// The largest frame, its header counted.
    #[setting(LEAST_FRAME.into()..=MOST_FRAME.into(), octets)]
    pub frame: u32,
    /// What may wait in the socket; more is dropped.
    #[setting(1..=u32::MAX.into(), octets, unset = "no limit")]
    pub socket_buffer: Option<u32>,
    /// How often an octet is copied on its way between a message and the socket, each way.
    #[setting(0..=16)]
    pub copies: u64,
}

impl Config {
    /// The station at `address` and no other, with frames of up to 9014 octets and one copy each way.
    #[must_use]
    pub const fn new(address: SocketAddrV4) -> Self {
        Self { address, stations: Vec::new(), via: None, frame: 9014, socket_buffer: None, copies: 1 }
    }
}

/// The address and port of a station.
#[cfg(feature = "settings")]
fn station(text: &str) -> Option<SocketAddrV4> {
    text.parse().ok().filter(|&socket| mac_of(socket).is_some())
}

/// What is wrong with a [`Config`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigError {
    /// An address that is in no MAC address.
    Station(SocketAddrV4),
    /// A frame that no datagram holds, or that holds nothing.
    Frame(u32),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Station(found) => {
                write!(f, "SimEther has a station at {found}, expected a host's address and an even port other than 0")
            }
            Self::Frame(found) => {
                write!(f, "SimEther has frames of {found} octets, expected {LEAST_FRAME} to {MOST_FRAME}")
            }
        }
    }
}

impl core::error::Error for ConfigError {}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Frames sent, a copy for each station counted.
    pub sent: u64,
    /// Frames handed to the user.
    pub received: u64,
    /// Frames not sent: no header, too long, or for a MAC address that is no station's.
    pub refused: u64,
    /// Datagrams dropped: no frame.
    pub malformed: u64,
}

/// The driver.
#[derive(Debug)]
pub struct SimEther {
    config: Config,
    /// The port below, where there are ports.
    port: Option<Handle>,
    counters: Counters,
}

/// The MAC address of the station at `address`; `None` where that is no host's or the port is odd or 0.
#[must_use]
pub const fn mac_of(address: SocketAddrV4) -> Option<MacAddr> {
    let [a, b, c, d] = address.ip().octets();
    let [e, f] = address.port().to_be_bytes();
    if address.port() == 0 || f & 1 != 0 || a == 0 || a >= 224 {
        return None;
    }
    Some(MacAddr([a & !1, b, c, d, e, f | a & 1]))
}

/// Where the station with this MAC address is; `None` where it is a group's.
#[must_use]
pub const fn socket_of(mac: MacAddr) -> Option<SocketAddrV4> {
    if mac.is_group() {
        return None;
    }
    let [a, b, c, d, e, f] = mac.0;
    let address = Ipv4Addr::new(a | f & 1, b, c, d);
    let port = u16::from_be_bytes([e, f & !1]);
    Some(SocketAddrV4::new(address, port))
}

fn socket(address: SocketAddrV4) -> Address {
    SocketAddr::V4(address).into()
}

impl SimEther {
    /// A station as `config` says.
    ///
    /// # Errors
    /// [`ConfigError`] names what cannot be.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let mut all = [config.address].into_iter().chain(config.stations.clone());
        if let Some(wrong) = all.find(|it| mac_of(*it).is_none()) {
            return Err(ConfigError::Station(wrong));
        }
        if !(LEAST_FRAME..=MOST_FRAME).contains(&config.frame) {
            return Err(ConfigError::Frame(config.frame));
        }
        Ok(Self { config, port: None, counters: Counters::default() })
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    fn refuse(&mut self, why: &'static str, cx: &mut Context<'_>) {
        self.counters.refused += 1;
        cx.drop(why);
    }

    fn send(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let total = unit.data.len();
        let header = Header::parse(unit.data.front_at_least(LEN), total);
        let Ok((header, _)) = header else {
            self.refuse("no frame", cx);
            return;
        };
        if total > self.config.frame as usize {
            self.refuse("longer than a frame can be", cx);
            return;
        }
        let destination = header.destination;
        if let Some(via) = self.config.via {
            self.transmit(via, unit, cx);
        } else if let Some(station) = socket_of(destination) {
            if station.port() == 0 {
                self.refuse("MAC address of no station", cx);
                return;
            }
            self.transmit(station, unit, cx);
        } else {
            for number in 0..self.config.stations.len() {
                if let Some(station) = self.config.stations.get(number).copied() {
                    self.transmit(station, unit.clone(), cx);
                }
            }
        }
    }

    fn transmit(&mut self, station: SocketAddrV4, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        self.counters.sent += 1;
        cx.charge(Work::Call, 1);
        cx.charge(Work::Copy, self.config.copies * unit.data.len() as u64);
        unit.source = socket(self.config.address);
        unit.destination = socket(station);
        unit.options.under = None;
        cx.down(BELOW, Request::Unit(unit));
    }

    fn receive(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let total = unit.data.len();
        cx.charge(Work::Call, 1);
        cx.charge(Work::Copy, self.config.copies * total as u64);
        if let Some(session) = self.port.filter(|_| self.config.socket_buffer.is_some()) {
            let credit = Credit::octets(total as u64);
            cx.down(BELOW, Request::Credit { session, credit });
        }
        if total < LEN || total > self.config.frame as usize {
            self.counters.malformed += 1;
            cx.drop("no frame");
            return;
        }
        self.counters.received += 1;
        // Whose datagram it was nobody needs to know: the frame says from which station it is.
        unit.source = Address::NONE;
        unit.destination = Address::NONE;
        cx.up(USER, Indication::Unit(unit));
    }

    fn tell_limits(&self, cx: &mut Context<'_>) {
        let limits = Report::Limits { unit: self.config.frame, burst: 1 };
        cx.up(USER, Indication::Report(Box::new(limits)));
    }
}

impl Protocol for SimEther {
    fn shape(&self) -> Shape {
        Shape { offers: Some(Service::FRAME), needs: &[Service::UNIT_DATA], below: (1, 1), keys: vec![Key::Only] }
    }

    fn bind(&mut self, above: Above, _: &[Key]) -> Result<(), String> {
        if above == USER { Ok(()) } else { Err("SimEther is the driver of one Ethernet and has it already".to_owned()) }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let quality = Quality { receive_buffer: self.config.socket_buffer, ..Quality::default() };
        let open =
            Open { mode: Mode::Passive { backlog: 0 }, local: socket(self.config.address), quality, ..Open::default() };
        cx.down(BELOW, Request::Open(Box::new(open)));
    }

    fn push(&mut self, _: Above, request: Request, cx: &mut Context<'_>) {
        match request {
            Request::Unit(unit) => self.send(unit, cx),
            Request::Manage(manage) if matches!(*manage, Manage::Limits) => self.tell_limits(cx),
            Request::Manage(_) => {}
            Request::Open(_)
            | Request::Accept(_)
            | Request::Cancel { .. }
            | Request::Data { .. }
            | Request::Special { .. }
            | Request::Expedited { .. }
            | Request::Credit { .. }
            | Request::Release { .. }
            | Request::Abort { .. }
            | Request::Reset { .. } => cx.drop("not a frame"),
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Unit(unit) => self.receive(unit, cx),
            Indication::Opened(opened) => self.port = Some(opened.provider),
            Indication::Report(report) => match *report {
                Report::Up | Report::Down => cx.up(USER, Indication::Report(report)),
                // Which station could not be reached is for those above to find out, as on any Ethernet.
                Report::Limits { .. } | Report::Route { .. } | Report::Unreachable { .. } | Report::Special(_) => {}
            },
            Indication::Aborted { .. } => cx.drop("the port is taken"),
            Indication::Offered(_)
            | Indication::Data { .. }
            | Indication::Special { .. }
            | Indication::Expedited { .. }
            | Indication::Credit { .. }
            | Indication::Released { .. }
            | Indication::Closed { .. }
            | Indication::Reset { .. }
            | Indication::Notice { .. } => cx.drop("not a datagram"),
        }
    }
}
