//! Address resolution for IPv4 on links with MAC addresses.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 826; RFC 1122 section 2.3.2 (timeout, one request a second, a queue) |
//! | Above | IP, whose interface is configured with [`crate::ip::Neighbours::Below`] |
//! | Below | Ethernet, as the user of both IP's and ARP's EtherType |
//! | Left out | announcements and defence of our own address (RFC 5227), proxies, reverse ARP; telling IP that nobody answers |
//!
//! It stands between IP and the link, as [`crate::atm_arp`] does: IP hands down a datagram and the next hop, and this layer
//! puts the station's address in its place. Groups need not be asked for (RFC 1112 section 6.4).
//!
//! # What it does
//!
//! A next hop that is not known is asked for by a broadcast, once a second and [`Config::tries`] times; what is for it
//! waits. What was learned is good for [`Config::timeout`]. From four fifths of that time on its station is asked again,
//! alone, whenever something is sent to it: a station that is there is never lost (RFC 1122 section 2.3.2.1 (2)).
//!
//! # Bounds
//!
//! At most [`Config::entries`] next hops are known or asked for; for each at most [`Config::queue`] datagrams wait. What is
//! over the first bound costs the entry that was used longest ago, over the second the oldest datagram.

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::{
    Above, Address, Below, Context, Duration, Indication, Instant, Key, Manage, Protocol, Report,
    Request, Shape, TimerSlot, Token, Unit, UnitIndication, UnitRequest,
};
use kumiki_octets::Message;
use kumiki_wire::arp::{Header, LEN, Operation, hardware};
use kumiki_wire::ethernet::MacAddr;
use thiserror::Error;

use crate::resolution::{self, ABOVE, BELOW, is_own};

#[cfg(test)]
mod tests;

/// RFC 1122 section 2.3.2.1: not more often than this is one next hop asked for.
const INTERVAL: Duration = Duration::from_secs(1);

/// What can be set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Our addresses on the link, at least one: those asked for that are answered, the first one in what we ask.
    pub addresses: Vec<Ipv4Addr>,
    /// How long what was learned is good.
    pub timeout: Duration,
    /// How often a next hop is asked for before what waits for it is given up.
    pub tries: u8,
    /// How many next hops are known or asked for at a time.
    pub entries: usize,
    /// How many datagrams may wait for one next hop.
    pub queue: usize,
}

impl Config {
    /// Our one address.
    #[must_use]
    pub fn new(address: Ipv4Addr) -> Self {
        Self {
            addresses: vec![address],
            timeout: Duration::from_secs(60),
            tries: 3,
            entries: 512,
            queue: 64,
        }
    }
}

/// What is wrong with a [`Config`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ConfigError {
    /// Nobody could be told who we are.
    #[error("ARP has no address of its own; it needs one to ask and to answer with")]
    NoAddress,
    /// Something of which there must be some.
    #[error("ARP's {0} is 0, expected more")]
    Nothing(&'static str),
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Requests sent.
    pub requests_sent: u64,
    /// Replies sent.
    pub replies_sent: u64,
    /// Requests received.
    pub requests_received: u64,
    /// Replies received.
    pub replies_received: u64,
    /// Packets dropped: malformed, or of an operation that is not for us.
    pub ignored: u64,
    /// Packets that claim an address of ours.
    pub conflicts: u64,
    /// Datagrams that had to wait.
    pub queued: u64,
    /// Datagrams dropped: nobody answered, or there was no room to wait.
    pub unresolved: u64,
}

/// What is known of a next hop.
#[derive(Debug)]
struct Entry {
    /// Its station and until when that is good; `None` while it is asked for.
    station: Option<(MacAddr, Instant)>,
    waiting: VecDeque<Unit>,
    /// Requests without an answer.
    asked: u8,
    /// When it may be asked for again.
    next: Instant,
    used: Instant,
}

/// The protocol.
#[derive(Debug)]
pub struct Arp {
    config: Config,
    /// Our own station, once Ethernet has told it.
    mac: Option<MacAddr>,
    entries: BTreeMap<Ipv4Addr, Entry>,
    timer: TimerSlot,
    counters: Counters,
}

impl Arp {
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
            ("entries", config.entries == 0),
        ];
        if let Some((what, _)) = nothing.into_iter().find(|(_, nothing)| *nothing) {
            return Err(ConfigError::Nothing(what));
        }
        Ok(Self {
            config,
            mac: None,
            entries: BTreeMap::new(),
            timer: TimerSlot::default(),
            counters: Counters::default(),
        })
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The station of `next_hop`, where it is known at `now`.
    #[must_use]
    pub fn station(&self, next_hop: Ipv4Addr, now: Instant) -> Option<MacAddr> {
        let (station, until) = self.entries.get(&next_hop)?.station?;
        (now < until).then_some(station)
    }

    /// How many next hops are known or asked for, and how many datagrams wait.
    #[must_use]
    pub fn held(&self) -> (usize, usize) {
        let waiting = self.entries.values().map(|it| it.waiting.len()).sum();
        (self.entries.len(), waiting)
    }

    fn send(&mut self, unit: Unit, cx: &mut Context<'_>) {
        let Address::Ip4(next_hop) = unit.destination else {
            cx.drop("next hop is not an IPv4 address");
            return;
        };
        if next_hop.is_multicast() {
            transmit(MacAddr::of_ipv4_group(next_hop), unit, cx);
            return;
        }
        if unit.options.group {
            transmit(MacAddr::BROADCAST, unit, cx);
            return;
        }
        let now = cx.now();
        if let Some(station) = self.station(next_hop, now) {
            let ahead = self.config.timeout / 5;
            let mut poll = false;
            if let Some(entry) = self.entries.get_mut(&next_hop) {
                entry.used = now;
                let old = entry.station.is_some_and(|(_, until)| now + ahead >= until);
                poll = old && entry.next <= now;
                if poll {
                    entry.next = now + INTERVAL;
                }
            }
            transmit(station, unit, cx);
            if poll {
                self.ask(next_hop, Some(station), cx);
            }
            return;
        }
        self.wait(next_hop, unit, cx);
    }

    /// Keeps a datagram until its next hop is known.
    fn wait(&mut self, next_hop: Ipv4Addr, unit: Unit, cx: &mut Context<'_>) {
        let now = cx.now();
        if !self.entries.contains_key(&next_hop) && self.entries.len() >= self.config.entries {
            let oldest = self.entries.iter().min_by_key(|(_, it)| it.used);
            let oldest = oldest.map(|(address, _)| *address);
            if let Some(gone) = oldest.and_then(|it| self.entries.remove(&it)) {
                self.unresolved(gone.waiting.len(), cx);
            }
        }
        let queue = self.config.queue;
        let entry = self.entries.entry(next_hop).or_insert_with(|| Entry {
            station: None,
            waiting: VecDeque::new(),
            asked: 0,
            next: now,
            used: now,
        });
        entry.used = now;
        if entry.station.take().is_some() {
            // What was known is no longer good: begin anew.
            entry.asked = 0;
        }
        entry.waiting.push_back(unit);
        self.counters.queued += 1;
        let over = entry.waiting.len() > queue;
        if over {
            entry.waiting.pop_front();
        }
        let ask = entry.asked == 0 && entry.next <= now;
        if ask {
            (entry.asked, entry.next) = (1, now + INTERVAL);
        }
        if over {
            self.unresolved(1, cx);
        }
        if ask {
            self.ask(next_hop, None, cx);
        }
        self.set_timer(cx);
    }

    fn unresolved(&mut self, datagrams: usize, cx: &mut Context<'_>) {
        for _ in 0..datagrams {
            self.counters.unresolved += 1;
            cx.drop("nobody knows the next hop");
        }
    }

    /// Asks for `target`: its station alone, or everybody.
    fn ask(&mut self, target: Ipv4Addr, station: Option<MacAddr>, cx: &mut Context<'_>) {
        let (Some(mac), Some(&own)) = (self.mac, self.config.addresses.first()) else {
            return;
        };
        let header = Header {
            hrd: hardware::ETHERNET,
            op: Operation::Request,
            sha: mac,
            spa: own,
            tha: MacAddr::default(),
            tpa: target,
        };
        self.counters.requests_sent += 1;
        packet(&header, station.unwrap_or(MacAddr::BROADCAST), cx);
    }

    /// Time has passed: asks again, or gives up.
    fn tick(&mut self, cx: &mut Context<'_>) {
        let now = cx.now();
        let tries = self.config.tries;
        let (mut again, mut gone) = (Vec::new(), Vec::new());
        for (&address, entry) in &mut self.entries {
            if entry.station.is_some() || entry.next > now {
                continue;
            }
            if entry.asked < tries {
                entry.asked += 1;
                entry.next = now + INTERVAL;
                again.push(address);
            } else {
                gone.push(address);
            }
        }
        for address in gone {
            let waited = self.entries.remove(&address).map(|it| it.waiting.len());
            self.unresolved(waited.unwrap_or(0), cx);
        }
        for address in again {
            self.ask(address, None, cx);
        }
        self.set_timer(cx);
    }

    fn set_timer(&mut self, cx: &mut Context<'_>) {
        let asked = self.entries.values().filter(|it| it.station.is_none());
        match asked.map(|it| it.next).min() {
            None => cx.clear_timer(&mut self.timer),
            Some(next) if self.timer.deadline() == Some(next) => {}
            Some(next) => cx.set_timer(&mut self.timer, Token::default(), next),
        }
    }

    /// `address` is at `station`; a next hop that nobody asked for is kept only if it spoke to us (RFC 826).
    fn learn(&mut self, address: Ipv4Addr, station: MacAddr, to_us: bool, cx: &mut Context<'_>) {
        let now = cx.now();
        let until = now + self.config.timeout;
        if !self.entries.contains_key(&address) {
            if !to_us || self.entries.len() >= self.config.entries {
                return;
            }
            let entry = Entry {
                station: None,
                waiting: VecDeque::new(),
                asked: 0,
                next: now,
                used: now,
            };
            self.entries.insert(address, entry);
        }
        let Some(entry) = self.entries.get_mut(&address) else {
            return;
        };
        entry.station = Some((station, until));
        entry.asked = 0;
        for unit in core::mem::take(&mut entry.waiting) {
            transmit(station, unit, cx);
        }
        self.set_timer(cx);
    }

    /// A packet of our own protocol, in the order of RFC 826's packet reception.
    fn receive(&mut self, mut unit: Unit, cx: &mut Context<'_>) {
        let Ok((header, _)) = Header::parse(unit.data.front_at_least(LEN)) else {
            self.counters.ignored += 1;
            cx.drop("ARP packet malformed");
            return;
        };
        let Header { sha, spa, tpa, .. } = header;
        if self.config.addresses.contains(&spa) {
            self.counters.conflicts += 1;
            cx.drop("our own address is claimed");
            return;
        }
        let nobody = spa.is_unspecified() || spa.is_multicast() || spa.is_broadcast();
        let to_us = self.config.addresses.contains(&tpa);
        if !nobody && !sha.is_group() {
            self.learn(spa, sha, to_us, cx);
        }
        match header.op {
            Operation::Request => {
                self.counters.requests_received += 1;
                let Some(mac) = self.mac.filter(|_| to_us && !sha.is_group()) else {
                    return;
                };
                let reply = Header {
                    op: Operation::Reply,
                    sha: mac,
                    spa: tpa,
                    tha: sha,
                    tpa: spa,
                    ..header
                };
                self.counters.replies_sent += 1;
                packet(&reply, sha, cx);
            }
            Operation::Reply => self.counters.replies_received += 1,
            Operation::InverseRequest
            | Operation::InverseReply
            | Operation::Nak
            | Operation::Other(_) => {
                self.counters.ignored += 1;
                cx.drop("ARP operation that is not for us");
            }
        }
    }

    fn report(&mut self, report: Report, cx: &mut Context<'_>) {
        match report {
            Report::Route {
                source: Address::Mac(mac),
                ..
            } => {
                self.mac = Some(MacAddr(mac));
                // Who was waited for before we had an address is asked for now.
                for entry in self.entries.values_mut() {
                    (entry.asked, entry.next) = (0, cx.now());
                }
                self.tick(cx);
                return;
            }
            // The link may be another one when it comes back.
            Report::Down => self.entries.retain(|_, it| !it.waiting.is_empty()),
            Report::Up | Report::Limits { .. } => {}
            Report::Route { .. } | Report::Unreachable { .. } | Report::Link(_) => return,
        }
        cx.up(ABOVE, Indication::Report(Box::new(report)));
    }
}

fn transmit(station: MacAddr, datagram: Unit, cx: &mut Context<'_>) {
    resolution::transmit(Address::Mac(station.0), datagram, cx);
}

fn packet(header: &Header, to: MacAddr, cx: &mut Context<'_>) {
    let mut data = Message::new();
    header.emit(data.push(header.len()));
    resolution::packet(Address::Mac(to.0), data, cx);
}

impl Protocol for Arp {
    fn shape(&self) -> Shape {
        resolution::shape()
    }

    fn bind(&mut self, above: Above, keys: &[Key]) -> Result<(), String> {
        resolution::bind("ARP", above, keys)
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let to = Address::Mac(MacAddr::BROADCAST.0);
        cx.down(BELOW, Request::Manage(Box::new(Manage::Route { to })));
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
            Some(UnitIndication::Unit(unit)) if is_own(&unit) => self.receive(unit, cx),
            Some(UnitIndication::Unit(unit)) => cx.up(ABOVE, Indication::Unit(unit)),
            Some(UnitIndication::Report(report)) => self.report(*report, cx),
            Some(UnitIndication::Credit(_)) => {}
            None => cx.drop("not a unit"),
        }
    }

    fn expire(&mut self, _: Token, cx: &mut Context<'_>) {
        cx.clear_timer(&mut self.timer);
        self.tick(cx);
    }
}
