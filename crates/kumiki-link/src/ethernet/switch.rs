//! An Ethernet switch: a transparent bridge with many ports.
//!
//! | | |
//! |---|---|
//! | Specification | IEEE 802.1D as RFC 4188 tells of it (`dot1dTp`); where that says nothing, what Linux's bridge does |
//! | Model | a frame that has come whole leaves a fixed time later by the port of its destination, or by all but its own where nobody knows that or it goes to a group |
//! | Queues | none: what leaves goes to the line of the port, at whose end it waits; a line that has no room says so ([`Unit::Sent`]) |
//! | Left out | the spanning tree: where lines go round, a frame for a group goes round for ever, and each round may make more of it, until queues are full; VLANs and priorities, pause frames, addresses set by hand |
//!
//! It learns the source of each good frame, whatever becomes of that. A frame is no good when it has no header, is
//! longer than [`SwitchConfig::max_frame`], or comes from no station (from a group or from nobody). Destinations
//! 01-80-C2-00-00-00 to 0F are for the switch itself, and go no further.

use std::collections::VecDeque;

use kumiki_graph::{Address, Duration, Instant};
use kumiki_octets::Message;
use kumiki_wire::inet::ethernet::{LEN, MacAddr};

use super::addresses::{Addresses, LearnResult};
use crate::{Element, Outlet, Unit};

/// The longest frame, unless another is set: what an MTU of 9000 takes with its header.
pub const MOST_FRAME: usize = 9014;

/// What a [`Switch`] is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SwitchConfig {
    /// How many ports, numbered from 0.
    pub ports: usize,
    /// From when a frame has come whole until it can leave.
    pub latency: Duration,
    /// For how long a station is known that sends nothing.
    pub ageing: Duration,
    /// How many stations are known at most. Those beyond are as unknown as before: what goes to them goes everywhere.
    pub max_addresses: usize,
    /// The longest frame, in octets from the destination to the end of the data, without the frame check sequence.
    pub max_frame: usize,
}

impl SwitchConfig {
    /// A switch that takes no time, remembers for 300 s (which RFC 4188 says IEEE 802.1D recommends), and has room for
    /// 8192 stations and for frames of [`MOST_FRAME`].
    #[must_use]
    pub const fn new(ports: usize) -> Self {
        Self {
            ports,
            latency: Duration::ZERO,
            ageing: Duration::from_secs(300),
            max_addresses: 8192,
            max_frame: MOST_FRAME,
        }
    }
}

/// What happened so far.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    frames_in: u64,
    forwarded: u64,
    flooded: u64,
    filtered: u64,
    reserved: u64,
    short: u64,
    long: u64,
    no_station: u64,
    copies: u64,
    dropped: u64,
    learned: u64,
    moved: u64,
    table_full: u64,
    strangers: u64,
}

/// A frame on its way through.
struct FrameDeparture {
    at: Instant,
    port: usize,
    data: Message,
    address: Address,
}

/// A switch: any number of ports.
///
/// Counters: `frames_in`, and what became of each: `forwarded` to one port, `flooded` to all others, `filtered` (its
/// destination is at the port that it came by), `reserved` (for the switch itself), `short`, `long` or from
/// `no_station`. Of what left: `copies`, and `dropped`, for which the line of their port had no room. Of stations:
/// `learned`, `moved` to another port, `aged` (forgotten), `table_full` (frames of a station for which there was no
/// room). `strangers`: units that are no frames.
pub struct Switch {
    config: SwitchConfig,
    addresses: Addresses,
    leaving: VecDeque<FrameDeparture>,
    tally: Tally,
}

/// Where a frame goes.
enum Forwarding {
    Port(usize),
    Everywhere,
    Nowhere,
}

impl Switch {
    /// A switch like this, that knows nobody.
    #[must_use]
    pub fn new(config: SwitchConfig) -> Self {
        let addresses = Addresses::new(config.ageing, config.max_addresses);
        Self { config, addresses, leaving: VecDeque::new(), tally: Tally::default() }
    }

    /// The port at which `station` is, as far as is known.
    #[must_use]
    pub fn port_of(&self, now: Instant, station: MacAddr) -> Option<usize> {
        self.addresses.port(now, station)
    }

    /// How many stations there is a place taken for; no more than [`SwitchConfig::max_addresses`].
    #[must_use]
    pub fn stations(&self) -> usize {
        self.addresses.len()
    }

    /// Destination and source of a good frame; counts the others.
    fn read(&mut self, data: &mut Message) -> Option<[MacAddr; 2]> {
        let len = data.len();
        let Some(&[d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, ..]) = data.front_at_least(LEN).first_chunk::<LEN>()
        else {
            self.tally.short += 1;
            return None;
        };
        if len > self.config.max_frame {
            self.tally.long += 1;
            return None;
        }
        let source = MacAddr([s0, s1, s2, s3, s4, s5]);
        if source.is_group() || source == MacAddr::default() {
            self.tally.no_station += 1;
            return None;
        }
        Some([MacAddr([d0, d1, d2, d3, d4, d5]), source])
    }

    fn learn(&mut self, now: Instant, station: MacAddr, port: usize) {
        match self.addresses.learn(now, station, port) {
            LearnResult::Known => {}
            LearnResult::Learned => self.tally.learned += 1,
            LearnResult::Moved => self.tally.moved += 1,
            LearnResult::Full => self.tally.table_full += 1,
        }
    }

    /// Where a frame to `destination` goes that has come by `port`.
    fn way(&mut self, now: Instant, destination: MacAddr, port: usize) -> Forwarding {
        if is_reserved(destination) {
            self.tally.reserved += 1;
            return Forwarding::Nowhere;
        }
        let known = if destination.is_group() { None } else { self.addresses.port(now, destination) };
        match known {
            Some(own) if own == port => {
                self.tally.filtered += 1;
                Forwarding::Nowhere
            }
            Some(other) => {
                self.tally.forwarded += 1;
                Forwarding::Port(other)
            }
            None => {
                self.tally.flooded += 1;
                Forwarding::Everywhere
            }
        }
    }

    fn frame(&mut self, now: Instant, port: usize, mut data: Message, address: Address, out: &mut Outlet) {
        self.tally.frames_in += 1;
        let Some([destination, source]) = self.read(&mut data) else {
            return;
        };
        self.learn(now, source, port);
        match self.way(now, destination, port) {
            Forwarding::Port(to) => self.send(now, to, data, address, out),
            Forwarding::Everywhere => {
                for to in (0..self.config.ports).filter(|to| *to != port) {
                    self.send(now, to, data.clone(), address, out);
                }
            }
            Forwarding::Nowhere => {}
        }
    }

    fn send(&mut self, now: Instant, port: usize, data: Message, address: Address, out: &mut Outlet) {
        self.tally.copies += 1;
        if self.config.latency.is_zero() {
            out.put(port, Unit::Frame { data, address });
        } else {
            self.leaving.push_back(FrameDeparture { at: now + self.config.latency, port, data, address });
        }
    }
}

/// Whether a frame to `destination` is for the switch itself, as those of the spanning tree are.
const fn is_reserved(destination: MacAddr) -> bool {
    matches!(destination, MacAddr([0x01, 0x80, 0xc2, 0, 0, 0..=0x0f]))
}

impl Element for Switch {
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        match unit {
            Unit::Frame { data, address } if port < self.config.ports => self.frame(now, port, data, address, out),
            Unit::Sent { whole, .. } => self.tally.dropped += u64::from(!whole),
            Unit::Frame { .. }
            | Unit::Cells(_)
            | Unit::Cut { .. }
            | Unit::Arriving { .. }
            | Unit::Report(_)
            | Unit::Circuit(_) => self.tally.strangers += 1,
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.leaving.front().map(|frame| frame.at)
    }

    fn poll(&mut self, now: Instant, out: &mut Outlet) {
        while let Some(FrameDeparture { port, data, address, .. }) = self.leaving.pop_front_if(|frame| frame.at <= now)
        {
            out.put(port, Unit::Frame { data, address });
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let tally = &self.tally;
        vec![
            ("frames_in", tally.frames_in),
            ("forwarded", tally.forwarded),
            ("flooded", tally.flooded),
            ("filtered", tally.filtered),
            ("reserved", tally.reserved),
            ("short", tally.short),
            ("long", tally.long),
            ("no_station", tally.no_station),
            ("copies", tally.copies),
            ("dropped", tally.dropped),
            ("learned", tally.learned),
            ("moved", tally.moved),
            ("aged", self.addresses.aged()),
            ("table_full", tally.table_full),
            ("strangers", tally.strangers),
        ]
    }
}

#[cfg(test)]
mod tests;
