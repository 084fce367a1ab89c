//! A third party that makes up control packets of XTP: like those that pass, with other numbers in them.
//!
//! | | |
//! |---|---|
//! | Specification | `docs/xtp.md`, P6 (`alloc` does not move back), P15 (keys that nobody has), P36 (what cannot be true) |
//! | Why here | our own hosts never do it |
//! | Left out | data; packets with IP options or extension headers |
//!
//! The packet that is made up comes just before the one that it is like. Its checksum is right.

use kumiki_graph::{Instant, Rng};
use kumiki_link::{Element, Outlet, Unit};
use kumiki_octets::{Message, Sum};
use kumiki_wire::inet::{ipv4, ipv6};
use kumiki_wire::xtp::{CHECK_OFFSET, Header, LEN, covered};

use super::{HOST, LINE};
use crate::case::ControlForgery;

/// Octets of rseq, alloc and echo.
const CONTROL: usize = 20;
/// Where rseq and alloc, of 8 octets each, echo, and the first span are, behind the header.
const RSEQ: usize = LEN;
const ALLOC: usize = LEN + 8;
const ECHO: usize = LEN + 16;
const SPANS: usize = LEN + 24;

/// Stands before a host.
pub(super) struct ControlForger {
    plan: ControlForgery,
    rng: Rng,
    told: u64,
}

impl ControlForger {
    pub(super) const fn new(plan: ControlForgery, rng: Rng) -> Self {
        Self { plan, rng, told: 0 }
    }

    /// A number near another, or anywhere.
    fn near(&mut self, about: u64) -> u64 {
        match self.rng.below(8) {
            0 => 0,
            1 => self.rng.below(u64::MAX),
            2..=4 => about.wrapping_add(self.rng.below(1 << 16)),
            _ => about.saturating_sub(self.rng.below(1 << 14)),
        }
    }

    /// What is made of the control packet in `datagram`, if it is one.
    fn lie(&mut self, datagram: &Message) -> Option<Message> {
        let mut octets = datagram.to_vec();
        let at = behind_ip(&octets)?;
        let packet = octets.get_mut(at..)?;
        let (header, _) = Header::parse(packet, packet.len()).ok()?;
        if !header.format.is_control() || packet.len() < LEN + CONTROL {
            return None;
        }
        if !self.plan.knows_keys {
            let key = header.key.0 ^ (1 + self.rng.below(1 << 62));
            put(packet, 0, &key.to_be_bytes());
        }
        let number = |at: usize| {
            let octets = packet.get(at..).and_then(<[u8]>::first_chunk);
            octets.map_or(0, |it| u64::from_be_bytes(*it))
        };
        let (rseq, alloc, left, right) = (number(RSEQ), number(ALLOC), number(SPANS), number(SPANS + 8));
        match self.rng.below(4) {
            0 => put(packet, RSEQ, &self.near(rseq).to_be_bytes()),
            1 => put(packet, ALLOC, &self.near(alloc).to_be_bytes()),
            2 => {
                let echo = u32::try_from(self.rng.below(1 << 32)).unwrap_or(0);
                put(packet, ECHO, &echo.to_be_bytes());
            }
            _ => {
                put(packet, SPANS, &self.near(left).to_be_bytes());
                put(packet, SPANS + 8, &self.near(right).to_be_bytes());
            }
        }
        let total = packet.len();
        let covered = covered(packet, total)?;
        put(packet, CHECK_OFFSET, &[0, 0]);
        let check = Sum::of(packet.get(..covered)?).checksum();
        put(packet, CHECK_OFFSET, &check.to_be_bytes());
        Some(Message::from_octets(&octets))
    }
}

/// Puts `what` at `at` where there is room for it.
fn put(packet: &mut [u8], at: usize, what: &[u8]) {
    let end = at.saturating_add(what.len());
    if let Some(place) = packet.get_mut(at..end) {
        place.copy_from_slice(what);
    }
}

/// How long the IP header at the front of `octets` is, where XTP follows it.
fn behind_ip(octets: &[u8]) -> Option<usize> {
    let xtp = ipv4::protocol::XTP;
    match octets.first()? >> 4 {
        4 => {
            let (ip, len) = ipv4::Header::parse(octets, octets.len()).ok()?;
            (!ip.is_fragment() && ip.protocol == xtp).then_some(len)
        }
        6 => {
            let (ip, len) = ipv6::Header::parse(octets, octets.len()).ok()?;
            (ip.next_header == xtp).then_some(len)
        }
        _ => None,
    }
}

impl Element for ControlForger {
    fn offer(&mut self, _: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        if port == LINE
            && let Unit::Frame { data, address } = &unit
            && self.rng.below(1024) < u64::from(self.plan.often)
            && let Some(data) = self.lie(data)
        {
            self.told += 1;
            let address = *address;
            out.put(HOST, Unit::Frame { data, address });
        }
        out.put(HOST + LINE - port, unit);
    }

    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    fn poll(&mut self, _: Instant, _: &mut Outlet) {}

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("told", self.told)]
    }
}
