//! IPv4 over MAPOS: address resolution, broadcast and multicast.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 2176; RFC 2175 sections 4 and 5 for addresses of 16 bits |
//! | Above | IP, whose interface is configured with [`kumiki_inet::ip::Neighbours::Below`] |
//! | Below | the SDH driver, [`crate::sdh`], as the user of IPv4's and ARP's number |
//! | Left out | IPv6, for which MAPOS version 1 has no number; which groups are listened to (all are, IP picks) |
//!
//! IP hands down a datagram and the next hop, and this layer puts the HDLC address in its place. A broadcast goes to
//! all nodes, and a multicast datagram to the group that the lowest bits of its destination name. The driver tells our
//! own address; while it has none, datagrams wait and nobody is asked.
//!
//! # What it does
//!
//! A next hop that is not known is asked for by a broadcast, once a second and [`Config::tries`] times; what is for it
//! waits. What was learned is good for [`Config::timeout`], in use or not (RFC 2176 section 3.4), and is lost with the
//! link. What a node says of itself in a request is learned too if it asks for us, as RFC 826 has it. Two nodes on a
//! line without a switch have one address, 03; nothing here minds.
//!
//! When the port has come up, and again when it has become another one, three UNARPs tell all others to forget under
//! which address they knew ours (section 3.3).
//!
//! Addresses that were set by hand ([`Config::known`], [`Mapos::remember`]) are none of this cache: they stay until
//! [`Mapos::forget`].
//!
//! # Bounds
//!
//! At most [`Config::max_entries`] next hops are known or asked for, [`Config::unknown`] of them asked for; for each at
//! most [`Config::queue`] datagrams wait. What is over a bound costs what it does of ARP ([`kumiki_inet::arp`]).

use core::net::Ipv4Addr;
use kumiki_settings::Settings;
use kumiki_wire::numbering::MAPOS_PROTOCOL;
use kumiki_wire::ppp::mapos::ADDRESS_FIELD;
use kumiki_wire::ppp::mapos::AddressField;
use std::collections::BTreeMap;

use kumiki_graph::{
    Above, Address, Below, Context, Duration, Indication, Key, Manage, Protocol, Report, Request, Service, Shape,
    TimerSlot, Token, Unit, UnitIndication, UnitRequest,
};
use kumiki_octets::Message;
use kumiki_wire::ppp::mapos::arp::{Header, LEN, Operation};
use kumiki_wire::ppp::mapos::{self, Width, protocol};

#[cfg(test)]
mod tests;

use kumiki_inet::resolution::{self, Bounds, Cache, Resolution};

/// What can be set.
#[derive(Clone, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// Our own IP addresses on the link: those asked for that are answered, the first one in what we ask.
    #[setting(list, expected = "an IPv4 address", required = "a list of our own IPv4 addresses")]
    pub addresses: Vec<Ipv4Addr>,
    /// Next hops that are known without asking.
    #[setting(pairs = known, any = "<address>", expected = "an HDLC address such as \"0x23\", of MAPOS 16 such as \"0x5007\"")]
    pub known: Vec<(Ipv4Addr, mapos::Address)>,
    /// How long what was learned is good; the standard says a minute or less.
    #[setting(positive)]
    pub timeout: Duration,
    /// Requests, one a second, after which what waits for a next hop is given up.
    #[setting(1..=255)]
    pub tries: u8,
    /// Next hops that are known or asked for at a time.
    #[setting(1..=65535)]
    pub max_entries: usize,
    /// Next hops among them that are asked for.
    #[setting(1..=65535)]
    pub unknown: usize,
    /// Datagrams that may wait for one next hop.
    #[setting(0..=65535)]
    pub queue: usize,
    /// UNARPs sent when the port has come up (RFC 2176 section 3.3).
    #[setting(0..=255, name = "count", within = "unarp")]
    pub unarps: u8,
    /// From one of them to the next.
    #[setting(positive, name = "interval", within = "unarp")]
    pub unarp_interval: Duration,
}

impl Config {
    /// Our one address.
    #[must_use]
    pub fn new(address: Ipv4Addr) -> Self {
        Self {
            addresses: vec![address],
            known: Vec::new(),
            timeout: Duration::from_secs(60),
            tries: 3,
            max_entries: 512,
            unknown: 64,
            queue: 64,
            unarps: 3,
            unarp_interval: Duration::from_secs(30),
        }
    }
}

/// The words for [`Width`].
pub(crate) const WIDTHS: [(&str, Width); 2] = [("mapos", Width::Eight), ("mapos16", Width::Sixteen)];

/// A next hop and its HDLC address.
fn known(next_hop: &str, at: &str) -> Option<(Ipv4Addr, mapos::Address)> {
    next_hop.parse().ok().zip(at.parse().ok())
}

/// What is wrong with a [`Config`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// Nobody could be told who we are.
    #[error("IP over MAPOS has no address of its own; it needs one to ask and to answer with")]
    NoAddress,
    /// Something of which there must be some.
    #[error("IP over MAPOS has 0 as {0}, expected more")]
    Nothing(&'static str),
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Requests sent.
    pub requests_sent: u64,
    /// Responses sent.
    pub responses_sent: u64,
    /// Requests received.
    pub requests_received: u64,
    /// Responses received.
    pub responses_received: u64,
    /// UNARPs sent.
    pub unarps_sent: u64,
    /// UNARPs received.
    pub unarps_received: u64,
    /// What was known and went because of an UNARP.
    pub cleared: u64,
    /// Packets dropped: malformed, or of an operation that is not for us.
    pub ignored: u64,
    /// Packets that claim an address of ours; on a looped line they are our own.
    pub conflicts: u64,
    /// Datagrams that had to wait.
    pub queued: u64,
    /// Datagrams dropped: nobody answered, there was no room to wait, or the link was lost.
    pub unresolved: u64,
}

/// The protocol.
#[derive(Debug)]
pub struct Mapos {
    config: Config,
    known: BTreeMap<Ipv4Addr, mapos::Address>,
    cache: Cache<mapos::Address, Box<Unit>>,
    /// How wide addresses are, once the driver has told it.
    width: Option<Width>,
    /// Our own address, once the driver has one.
    own: Option<mapos::Address>,
    timer: TimerSlot,
    /// UNARPs that are still to be sent.
    unarps: u8,
    unarp: TimerSlot,
    counters: Counters,
}

/// IP.
const ABOVE: Above = Above(0);
/// The driver.
const BELOW: Below = Below(0);

/// A next hop is to be asked for again.
const ASK: u32 = 0;
/// The next UNARP is due.
const UNARP: u32 = 1;

const fn token(kind: u32) -> Token {
    Token { session: kumiki_graph::Handle { index: 0, generation: 0 }, kind }
}

/// Hands `data` to the driver, for `address` and under the number `protocol`.
fn transmit(address: mapos::Address, protocol: u16, mut unit: Box<Unit>, cx: &mut Context<'_>) {
    unit.destination = Address::from(AddressField(address.bits()));
    unit.options.under = Some(Key::of(MAPOS_PROTOCOL, protocol));
    cx.down(BELOW, Request::Unit(unit));
}

fn packet(to: mapos::Address, header: &Header, cx: &mut Context<'_>) {
    let mut data = Message::new();
    header.emit(data.push(header.len()));
    transmit(to, protocol::ARP, Box::new(Unit::of(data)), cx);
}

impl Mapos {
    /// Address resolution as `config` says.
    ///
    /// # Errors
    /// [`ConfigError`] names what cannot be.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        if config.addresses.is_empty() {
            return Err(ConfigError::NoAddress);
        }
        let nothing = [
            ("timeout", config.timeout.is_zero()),
            ("tries", config.tries == 0),
            ("max_entries", config.max_entries == 0),
            ("unknown", config.unknown == 0),
            ("interval of UNARPs", config.unarp_interval.is_zero()),
        ];
        if let Some((what, _)) = nothing.into_iter().find(|(_, nothing)| *nothing) {
            return Err(ConfigError::Nothing(what));
        }
        let bounds = Bounds {
            timeout: config.timeout,
            tries: config.tries,
            entries: config.max_entries,
            unknown: config.unknown,
            queue: config.queue,
            // In use or not, what is known is good for its time (RFC 2176 section 3.4).
            refresh: false,
        };
        Ok(Self {
            known: config.known.iter().copied().collect(),
            config,
            cache: Cache::new(bounds),
            width: None,
            own: None,
            timer: TimerSlot::default(),
            unarps: 0,
            unarp: TimerSlot::default(),
            counters: Counters::default(),
        })
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Sets the address of `next_hop` by hand.
    pub fn remember(&mut self, next_hop: Ipv4Addr, address: mapos::Address) {
        self.known.insert(next_hop, address);
    }

    /// Forgets the address of `next_hop`, however it became known, and what waited for it.
    pub fn forget(&mut self, next_hop: Ipv4Addr) {
        self.known.remove(&next_hop);
        let gone = u64::try_from(self.cache.forget(next_hop)).unwrap_or(u64::MAX);
        self.counters.unresolved += gone;
    }

    /// The address of `next_hop`, where it is known at `now`.
    #[must_use]
    pub fn address(&self, next_hop: Ipv4Addr, now: kumiki_graph::Instant) -> Option<mapos::Address> {
        let set = self.known.get(&next_hop).copied();
        set.or_else(|| self.cache.known(next_hop, now))
    }

    /// How many next hops are known or asked for, those set by hand apart, and how many datagrams wait.
    #[must_use]
    pub fn held(&self) -> (usize, usize) {
        self.cache.held()
    }

    fn send(&mut self, unit: Box<Unit>, cx: &mut Context<'_>) {
        let Some(next_hop) = unit.destination.get::<Ipv4Addr>() else {
            cx.drop("next hop is not an IPv4 address");
            return;
        };
        if next_hop.is_multicast() || unit.options.group {
            let Some(width) = self.width else {
                self.unresolved(1, cx);
                return;
            };
            let to = if next_hop.is_multicast() {
                mapos::Address::of_ipv4_group(width, next_hop)
            } else {
                mapos::Address::broadcast(width)
            };
            transmit(to, protocol::IPV4, unit, cx);
            return;
        }
        if let Some(&address) = self.known.get(&next_hop) {
            transmit(address, protocol::IPV4, unit, cx);
            return;
        }
        let may_ask = self.own.is_some();
        match self.cache.find(next_hop, unit, may_ask, cx.now()) {
            Resolution::At { address, datagram, .. } => transmit(address, protocol::IPV4, datagram, cx),
            Resolution::Waits { ask, gone } => {
                self.counters.queued += 1;
                self.unresolved(gone, cx);
                if ask {
                    self.ask(next_hop, cx);
                }
                self.set_timer(cx);
            }
        }
    }

    fn unresolved(&mut self, datagrams: usize, cx: &mut Context<'_>) {
        for _ in 0..datagrams {
            self.counters.unresolved += 1;
            cx.drop("no address for the next hop");
        }
    }

    fn ask(&mut self, target: Ipv4Addr, cx: &mut Context<'_>) {
        let (Some(own), Some(&ip)) = (self.own, self.config.addresses.first()) else {
            return;
        };
        self.counters.requests_sent += 1;
        let all = mapos::Address::broadcast(own.width());
        packet(all, &Header::request(own, ip, target), cx);
    }

    /// Time has passed, or we have an address: asks for those who are due, or gives them up.
    fn tick(&mut self, cx: &mut Context<'_>) {
        if self.own.is_none() {
            return;
        }
        let (again, gone) = self.cache.due(cx.now());
        self.unresolved(gone.len(), cx);
        for (next_hop, unit) in gone {
            resolution::silent(ABOVE, next_hop, unit, cx);
        }
        for next_hop in again {
            self.ask(next_hop, cx);
        }
        self.set_timer(cx);
    }

    fn set_timer(&mut self, cx: &mut Context<'_>) {
        match self.cache.next_due().filter(|_| self.own.is_some()) {
            Some(next) => cx.set_timer(&mut self.timer, token(ASK), next),
            None => cx.clear_timer(&mut self.timer),
        }
    }

    /// Sends one UNARP for each of our IP addresses, and sees to the next.
    fn send_unarp(&mut self, cx: &mut Context<'_>) {
        cx.clear_timer(&mut self.unarp);
        let Some(own) = self.own.filter(|_| self.unarps > 0) else {
            return;
        };
        self.unarps -= 1;
        let all = mapos::Address::broadcast(own.width());
        for &ip in &self.config.addresses {
            self.counters.unarps_sent += 1;
            packet(all, &Header::unarp(own, ip), cx);
        }
        if self.unarps > 0 {
            let next = cx.now() + self.config.unarp_interval;
            cx.set_timer(&mut self.unarp, token(UNARP), next);
        }
    }

    /// A packet of our own protocol.
    fn receive(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let header = Header::parse(unit.data.front_at_least(LEN));
        let (Ok((header, _)), Some(width)) = (header, self.width) else {
            self.counters.ignored += 1;
            cx.drop("ARP packet malformed");
            return;
        };
        let sender_ip = header.sender_ip;
        if self.config.addresses.contains(&sender_ip) {
            self.counters.conflicts += 1;
            cx.drop("our own address is claimed");
            return;
        }
        // 01 is another station on every line.
        let sender = header.sender(width).filter(|it| *it != mapos::Address::local_control(width));
        if header.operation == Operation::Unarp {
            self.counters.unarps_received += 1;
            let cleared = self.cache.clear_unless(sender_ip, sender);
            self.counters.cleared += u64::from(cleared);
            return;
        }
        let nobody = sender_ip.is_unspecified() || sender_ip.is_multicast() || sender_ip.is_broadcast();
        let to_us = self.config.addresses.contains(&header.target_ip);
        if let Some(sender) = sender.filter(|_| !nobody) {
            let waited = self.cache.learn(sender_ip, sender, to_us, cx.now());
            for datagram in waited {
                transmit(sender, protocol::IPV4, datagram, cx);
            }
            self.set_timer(cx);
        }
        match header.operation {
            Operation::Request => {
                self.counters.requests_received += 1;
                if let (Some(own), Some(sender), true) = (self.own, sender, to_us) {
                    self.counters.responses_sent += 1;
                    packet(sender, &header.answered_by(own), cx);
                }
            }
            Operation::Response => self.counters.responses_received += 1,
            Operation::Unarp | Operation::Other(_) => {
                self.counters.ignored += 1;
                cx.drop("ARP operation that is not for us");
            }
        }
    }

    fn report(&mut self, report: Report, cx: &mut Context<'_>) {
        match report {
            // What the driver says of frames to all nodes: that address shows how wide they are.
            Report::Route { to, source, .. } if to.is(&ADDRESS_FIELD) && source.is(&ADDRESS_FIELD) => {
                let bits = |of: Address| of.get().map_or(0, |AddressField(bits)| bits);
                let (all, own) = (bits(to), bits(source));
                let width = if u8::try_from(all).is_ok() { Width::Eight } else { Width::Sixteen };
                self.width = Some(width);
                self.own = mapos::Address::new(width, own.into());
                // Who waited for it is asked for now.
                self.tick(cx);
                return;
            }
            Report::Up => {
                self.unarps = self.config.unarps;
                self.send_unarp(cx);
            }
            Report::Down => {
                let gone = self.cache.clear();
                self.unresolved(gone, cx);
                self.unarps = 0;
                cx.clear_timer(&mut self.unarp);
                self.set_timer(cx);
            }
            Report::Limits { .. } => {}
            Report::Route { .. } | Report::Unreachable { .. } | Report::Special(_) => return,
        }
        cx.up(ABOVE, Indication::Report(Box::new(report)));
    }
}

impl Protocol for Mapos {
    fn shape(&self) -> Shape {
        Shape {
            offers: Some(Service::UNIT_DATA),
            needs: &[Service::UNIT_DATA],
            below: (1, 1),
            keys: vec![Key::of(MAPOS_PROTOCOL, protocol::IPV4), Key::of(MAPOS_PROTOCOL, protocol::ARP)],
        }
    }

    fn bind(&mut self, above: Above, keys: &[Key]) -> Result<(), String> {
        if above != ABOVE {
            return Err("MAPOS resolves for one IP, and has it already".to_owned());
        }
        if Key::numbers(keys, MAPOS_PROTOCOL).any(|number| number == protocol::IPV4) {
            Ok(())
        } else {
            Err("MAPOS resolves IPv4 addresses, and this is not IPv4".to_owned())
        }
    }

    fn push(&mut self, _: Above, request: Request, cx: &mut Context<'_>) {
        match request.of_unit_data() {
            Some(UnitRequest::Unit(unit)) => self.send(unit, cx),
            Some(UnitRequest::Manage(manage)) if matches!(*manage, Manage::Limits) => {
                cx.down(BELOW, Request::Manage(manage));
            }
            Some(UnitRequest::Manage(_)) | None => cx.drop("not a unit"),
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication.of_unit_data() {
            Some(UnitIndication::Unit(unit)) if unit.options.under == Some(Key::of(MAPOS_PROTOCOL, protocol::ARP)) => {
                self.receive(unit, cx);
            }
            Some(UnitIndication::Unit(unit)) => cx.up(ABOVE, Indication::Unit(unit)),
            Some(UnitIndication::Report(report)) => self.report(*report, cx),
            Some(UnitIndication::Credit(_)) => {}
            None => cx.drop("not a unit"),
        }
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        if token.kind == UNARP {
            self.send_unarp(cx);
        } else {
            self.tick(cx);
        }
    }
}
