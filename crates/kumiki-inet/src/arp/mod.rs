//! Address resolution for IPv4 on links with MAC addresses.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 826; RFC 1122 section 2.3.2 (timeout, one request a second, a queue) |
//! | Above | users by EtherType: IP, whose interface is configured with [`crate::ip::Neighbours::Below`], XTP, by way of VNET too |
//! | Below | Ethernet, or LLC/SNAP over FDDI or Ethernet (RFC 1390, RFC 1042), under the EtherTypes of the users and that of ARP |
//! | Left out | defence of our own address, and of RFC 5227 all but what is said below; proxies, reverse ARP |
//!
//! It stands between its users and the link, as `kumiki_atm::atm_arp` does: IP hands down a datagram and the next hop,
//! and this layer puts the station's address in its place. Groups need not be asked for (RFC 1112 section 6.4). Several
//! users share what is known of next hops, and each stands on the link under its own EtherType. In what ARP itself says
//! the protocol is always IPv4, for its addresses are those of IP, whoever sends to them.
//!
//! # What it does
//!
//! A next hop that is not known is asked for by a broadcast, once a second and [`Config::tries`] times; what is for it
//! waits, and whose it was is told where nobody answers ([`Problem::NoNeighbour`](kumiki_graph::Problem::NoNeighbour)).
//! What was learned is good for [`Config::timeout`]. From four fifths of that time on its station is asked again,
//! alone, whenever something is sent to it: a station that is there is never lost (RFC 1122 section 2.3.2.1 (2)).
//!
//! # Addresses of ours that come later
//!
//! IP tells them by [`Assignment`]. One that is to be probed is asked for as [`Config::probing`] says, with no sender's
//! address (RFC 5227 section 2.1.1). Where somebody else claims it meanwhile, or probes it too, IP hears that it is a
//! duplicate; else that it may be had, and all on the link that we have it (section 2.3, one announcement of two).
//!
//! # Bounds
//!
//! At most [`Config::max_entries`] next hops are known or asked for, [`Config::unknown`] of them asked for; for each at
//! most [`Config::queue`] datagrams wait. What is over the first bound costs the entry that was used longest ago, over
//! the second the one that has been asked for longest, over the third the oldest datagram. So a station that sends to
//! us from addresses that nobody has puts out none of those that are known. Who has spoken to us, and was sent nothing,
//! is the first to go. (One that answers for many addresses, and is sent to, can still put others out.)

use core::fmt;
use core::net::{IpAddr, Ipv4Addr};
use kumiki_wire::inet::ethernet::MAC;

use crate::settable::Settings;
use kumiki_graph::{
    Above, Address, Below, Context, Duration, Indication, Instant, Key, Manage, Protocol, Report, Request, Shape,
    TimerSlot, Token, Unit, UnitIndication, UnitRequest,
};
use kumiki_octets::Message;
use kumiki_wire::inet::arp::{Header, LEN, Operation, hardware};
use kumiki_wire::inet::ethernet::MacAddr;

use crate::resolution::{self, Bounds, Cache, OWN, Resolution, below, user};
use crate::{Assignment, Change};

#[cfg(test)]
mod tests;

/// What can be set.
#[derive(Clone, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// Our own addresses on the link: those asked for that are answered, the first one in what we ask.
    #[setting(list, expected = "an IPv4 address", required = "a list of our own IPv4 addresses")]
    pub addresses: Vec<Ipv4Addr>,
    /// How long what was learned is good.
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
    /// How an address of ours that comes while IP runs is asked for before it is used, where whoever assigns it wants
    /// that.
    #[setting(skip)]
    pub probing: Probing,
    /// Whether IP tells our addresses while it runs, so that there need be none at first.
    #[setting(skip)]
    pub told_later: bool,
    /// Whether we stand for every address, as a gateway does to which all of the world is behind itself
    /// ([`any_destination`](crate::ip::Config::any_destination)): whoever is asked for is here, but who is known to be
    /// at another station, or is asked for by who is about to take the address (RFC 5227). And whoever sends us a
    /// datagram is at the station that it came from.
    #[setting(skip)]
    pub any_address: bool,
}

/// How others on the link are asked whether they have an address that is to become ours (RFC 5227 section 2.1.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probing {
    /// The first question goes at a random time within this.
    pub wait: Duration,
    /// How many there are, 1 at least.
    pub count: u8,
    /// The next one goes at a random time between these after the last, the second not below the first.
    pub apart: (Duration, Duration),
    /// For so long nobody has answered the last one where the address may be used.
    pub quiet: Duration,
}

impl Probing {
    /// As the standard has it (section 1.1): four to seven seconds in all.
    pub const RFC_5227: Self = Self {
        wait: Duration::from_secs(1),
        count: 3,
        apart: (Duration::from_secs(1), Duration::from_secs(2)),
        quiet: Duration::from_secs(2),
    };
    /// One question, and a second for the answer: for a network whose stations answer at once, as those of a machine
    /// do. Not as the standard has it.
    pub const QUICK: Self =
        Self { wait: Duration::ZERO, count: 1, apart: Self::RFC_5227.apart, quiet: Duration::from_secs(1) };
}

impl Config {
    /// Our one address.
    #[must_use]
    pub fn new(address: Ipv4Addr) -> Self {
        Self {
            addresses: vec![address],
            timeout: Duration::from_secs(60),
            tries: 3,
            max_entries: 512,
            unknown: 64,
            queue: 64,
            probing: Probing::RFC_5227,
            told_later: false,
            any_address: false,
        }
    }
}

/// What is wrong with a [`Config`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigError {
    /// Nobody could be told who we are.
    NoAddress,
    /// Something of which there must be some.
    Nothing(&'static str),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAddress => f.write_str("ARP has no address of its own; it needs one to ask and to answer with"),
            Self::Nothing(what) => write!(f, "ARP's {what} is 0, expected more"),
        }
    }
}

impl core::error::Error for ConfigError {}

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

/// The protocol.
#[derive(Debug)]
pub struct Arp {
    config: Config,
    /// Our own station, once Ethernet has told it.
    mac: Option<MacAddr>,
    /// What waits is a user's.
    cache: Cache<MacAddr, (Above, Box<Unit>)>,
    timer: TimerSlot,
    /// Addresses that may become ours.
    probed: Vec<Probe>,
    counters: Counters,
}

/// An address that may become ours: others are asked if they have it.
#[derive(Clone, Copy, Debug)]
struct Probe {
    address: Ipv4Addr,
    /// The user who is to have it, and what it has asked for.
    user: Above,
    what: Assignment,
    /// Questions that are left, and when the next one goes, or the last one's time is over.
    left: u8,
    next: Instant,
}

impl Arp {
    /// Address resolution as `config` says.
    ///
    /// # Errors
    /// [`ConfigError`] names what cannot be.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        if config.addresses.is_empty() && !config.told_later {
            return Err(ConfigError::NoAddress);
        }
        let nothing = [
            ("timeout", config.timeout.is_zero()),
            ("tries", config.tries == 0),
            ("probing.count", config.probing.count == 0),
            ("max_entries", config.max_entries == 0),
            ("unknown", config.unknown == 0),
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
            refresh: true,
        };
        Ok(Self {
            config,
            mac: None,
            cache: Cache::new(bounds),
            timer: TimerSlot::default(),
            probed: Vec::new(),
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
        self.cache.known(next_hop, now)
    }

    /// How many next hops are known or asked for, and how many datagrams wait.
    #[must_use]
    pub fn held(&self) -> (usize, usize) {
        self.cache.held()
    }

    fn send(&mut self, from: Above, unit: Box<Unit>, cx: &mut Context<'_>) {
        let Some(next_hop) = unit.destination.get::<Ipv4Addr>() else {
            cx.drop("next hop is not an IPv4 address");
            return;
        };
        if next_hop.is_multicast() {
            transmit(MacAddr::of_ipv4_group(next_hop), (from, unit), cx);
            return;
        }
        if unit.options.group {
            transmit(MacAddr::BROADCAST, (from, unit), cx);
            return;
        }
        let may_ask = self.mac.is_some();
        let found = self.cache.find(next_hop, (from, unit), may_ask, cx.now());
        match found {
            Resolution::At { address, datagram, old } => {
                transmit(address, datagram, cx);
                if old {
                    self.ask(next_hop, Some(address), cx);
                }
            }
            Resolution::Waits { ask, gone } => {
                self.counters.queued += 1;
                self.unresolved(gone, cx);
                if ask {
                    self.ask(next_hop, None, cx);
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

    /// IP says which addresses are ours, or may be.
    fn assign(&mut self, user: Above, what: Assignment, cx: &mut Context<'_>) {
        match what.change {
            Change::Address { address: IpAddr::V4(address), probe: true, .. } => {
                self.probed.retain(|it| it.address != address);
                let Probing { wait, count, .. } = self.config.probing;
                let next = cx.now() + between((Duration::ZERO, wait), cx);
                self.probed.push(Probe { address, user, what, left: count, next });
                self.tick(cx);
            }
            Change::Address { address: IpAddr::V4(address), probe: false, .. } => {
                if !self.config.addresses.contains(&address) {
                    self.config.addresses.push(address);
                }
            }
            Change::NoAddress(IpAddr::V4(address)) => {
                self.config.addresses.retain(|it| *it != address);
                self.probed.retain(|it| it.address != address);
            }
            Change::Address { .. }
            | Change::NoAddress(_)
            | Change::Duplicate(_)
            | Change::Route(_)
            | Change::NoRoute(_)
            | Change::Mtu(_) => {}
        }
    }

    /// Probes what is to be probed now; tells who wanted what nobody else has.
    fn tick_probes(&mut self, cx: &mut Context<'_>) {
        let (Some(mac), now) = (self.mac, cx.now()) else {
            return;
        };
        let Probing { apart, quiet, .. } = self.config.probing;
        let (mut ask, mut free) = (Vec::new(), Vec::new());
        self.probed.retain_mut(|it| {
            if it.next > now {
                return true;
            }
            match it.left.checked_sub(1) {
                Some(left) => {
                    it.left = left;
                    it.next = now + if left == 0 { quiet } else { between(apart, cx) };
                    ask.push(it.address);
                }
                None => free.push(*it),
            }
            !free.iter().any(|free| free.address == it.address)
        });
        for address in ask {
            self.counters.requests_sent += 1;
            claim(mac, (Ipv4Addr::UNSPECIFIED, address), cx);
        }
        for Probe { address, user, what, .. } in free {
            self.counters.requests_sent += 1;
            claim(mac, (address, address), cx);
            tell(user, what.without_probe(), cx);
        }
    }

    /// Somebody else has an address that was to become ours, or is about to have it.
    fn lose(&mut self, address: Ipv4Addr, cx: &mut Context<'_>) {
        while let Some(place) = self.probed.iter().position(|it| it.address == address) {
            let lost = self.probed.swap_remove(place);
            self.counters.conflicts += 1;
            tell(lost.user, Assignment { change: Change::Duplicate(address.into()), ..lost.what }, cx);
        }
    }

    /// Time has passed: asks again, or gives up.
    fn tick(&mut self, cx: &mut Context<'_>) {
        self.tick_probes(cx);
        let (again, gone) = self.cache.due(cx.now());
        self.unresolved(gone.len(), cx);
        for (next_hop, (user, unit)) in gone {
            resolution::silent(user, next_hop, unit, cx);
        }
        for next_hop in again {
            self.ask(next_hop, None, cx);
        }
        self.set_timer(cx);
    }

    fn set_timer(&mut self, cx: &mut Context<'_>) {
        let probes = self.probed.iter().map(|it| it.next);
        match self.cache.next_due().into_iter().chain(probes).min().filter(|_| self.mac.is_some()) {
            None => cx.clear_timer(&mut self.timer),
            Some(next) if self.timer.deadline() == Some(next) => {}
            Some(next) => cx.set_timer(&mut self.timer, Token::default(), next),
        }
    }

    /// `address` is at `station`; a next hop that nobody asked for is kept only if it spoke to us (RFC 826).
    fn learn(&mut self, address: Ipv4Addr, station: MacAddr, to_us: bool, cx: &mut Context<'_>) {
        for datagram in self.cache.learn(address, station, to_us, cx.now()) {
            transmit(station, datagram, cx);
        }
        self.set_timer(cx);
    }

    /// A packet of our own protocol, in the order of RFC 826's packet reception.
    fn receive(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let Ok((header, _)) = Header::parse(unit.data.front_at_least(LEN)) else {
            self.counters.ignored += 1;
            cx.drop("ARP packet malformed");
            return;
        };
        let Header { sha, spa, tpa, .. } = header;
        // Who asks for it from no address, and is not ourselves, is about to take it too (RFC 5227 section 2.1.1).
        let is_probe = spa.is_unspecified() && header.op == Operation::Request && Some(sha) != self.mac;
        self.lose(if is_probe { tpa } else { spa }, cx);
        if self.config.addresses.contains(&spa) {
            self.counters.conflicts += 1;
            cx.drop("our own address is claimed");
            return;
        }
        let nobody = !is_host(spa);
        let to_us = self.config.addresses.contains(&tpa) || !nobody && self.stands_for(tpa, spa, cx.now());
        if !nobody && !sha.is_group() {
            self.learn(spa, sha, to_us, cx);
        }
        match header.op {
            Operation::Request => {
                self.counters.requests_received += 1;
                let Some(mac) = self.mac.filter(|_| to_us && !sha.is_group()) else {
                    return;
                };
                let reply = Header { op: Operation::Reply, sha: mac, spa: tpa, tha: sha, tpa: spa, ..header };
                self.counters.replies_sent += 1;
                packet(&reply, sha, cx);
            }
            Operation::Reply => self.counters.replies_received += 1,
            Operation::InverseRequest | Operation::InverseReply | Operation::Nak | Operation::Other(_) => {
                self.counters.ignored += 1;
                cx.drop("ARP operation that is not for us");
            }
        }
    }

    /// Whether we are asked, by who has `asker`, for an address that is ours as all are.
    fn stands_for(&self, wanted: Ipv4Addr, asker: Ipv4Addr, now: Instant) -> bool {
        // Who asks for its own address tells it to all.
        self.config.any_address && is_host(wanted) && wanted != asker && self.cache.known(wanted, now).is_none()
    }

    /// A user's datagram has come from `station`: that is where answers go, whether or not it would answer for their
    /// address.
    fn meet(&mut self, station: Address, datagram: &mut Message, cx: &mut Context<'_>) {
        let Some(station) = station.get::<MacAddr>().filter(|it| !it.is_group()) else {
            return;
        };
        // IP alone stands above; its addresses are at one place, whatever its options (RFC 791 section 3.1).
        let source = datagram.front_at_least(SOURCE.end).get(SOURCE).and_then(|it| <[u8; 4]>::try_from(it).ok());
        if let Some(source) = source.map(Ipv4Addr::from)
            && is_host(source)
            && !self.config.addresses.contains(&source)
        {
            self.learn(source, station, true, cx);
        }
    }

    /// What the link says to us and not to a user.
    fn report(&mut self, report: &Report, cx: &mut Context<'_>) {
        match *report {
            Report::Route { source, .. } if source.is(&MAC) => {
                self.mac = source.get();
                // Who was waited for before we had an address is asked for now.
                self.cache.begin_again(cx.now());
                self.tick(cx);
            }
            // The link may be another one when it comes back.
            Report::Down => self.cache.forget_known(),
            Report::Up
            | Report::Limits { .. }
            | Report::Route { .. }
            | Report::Unreachable { .. }
            | Report::Special(_) => {}
        }
    }
}

/// Where the source stands in a datagram.
const SOURCE: core::ops::Range<usize> = 12..16;

/// Whether it can be the address of one host on a link.
const fn is_host(address: Ipv4Addr) -> bool {
    !(address.is_unspecified() || address.is_multicast() || address.is_broadcast() || address.is_loopback())
}

fn transmit(station: MacAddr, (user, unit): (Above, Box<Unit>), cx: &mut Context<'_>) {
    resolution::transmit(user, Address::from(station), unit, cx);
}

/// A time between these.
fn between((least, most): (Duration, Duration), cx: &mut Context<'_>) -> Duration {
    least + Duration::from_nanos(cx.rng().below((most - least).as_nanos().max(1)))
}

/// Asks all on the link for an address: from none, a probe; from itself, an announcement (RFC 5227 sections 2.1.1 and
/// 2.3).
fn claim(mac: MacAddr, (spa, tpa): (Ipv4Addr, Ipv4Addr), cx: &mut Context<'_>) {
    let header =
        Header { hrd: hardware::ETHERNET, op: Operation::Request, sha: mac, spa, tha: MacAddr::default(), tpa };
    packet(&header, MacAddr::BROADCAST, cx);
}

fn tell(user: Above, what: Assignment, cx: &mut Context<'_>) {
    cx.up(user, Indication::Report(Box::new(Report::special(what))));
}

fn packet(header: &Header, to: MacAddr, cx: &mut Context<'_>) {
    let mut data = Message::new();
    header.emit(data.push(header.len()));
    resolution::packet(Address::from(to), data, cx);
}

impl Protocol for Arp {
    fn shape(&self) -> Shape {
        resolution::shape()
    }

    fn passes_users_through(&self) -> bool {
        true
    }

    fn bind(&mut self, _: Above, keys: &[Key]) -> Result<(), String> {
        resolution::bind("ARP", keys)
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let to = Address::from(MacAddr::BROADCAST);
        cx.down(OWN, Request::Manage(Box::new(Manage::Route { to })));
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request.of_unit_data() {
            Some(UnitRequest::Unit(unit)) => self.send(from, unit, cx),
            Some(UnitRequest::Manage(manage)) if matches!(*manage, Manage::Limits | Manage::Group { .. }) => {
                cx.down(below(from), Request::Manage(manage));
            }
            Some(UnitRequest::Manage(manage)) => {
                if let Manage::Special(special) = &*manage
                    && let Some(&what) = special.get::<Assignment>()
                {
                    self.assign(from, what, cx);
                } else {
                    cx.drop("not a unit");
                }
            }
            None => cx.drop("not a unit"),
        }
    }

    fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
        match (user(from), indication.of_unit_data()) {
            (None, Some(UnitIndication::Unit(unit))) => self.receive(unit, cx),
            (None, Some(UnitIndication::Report(report))) => self.report(&report, cx),
            (Some(user), Some(UnitIndication::Unit(mut unit))) => {
                if self.config.any_address {
                    self.meet(unit.source, &mut unit.data, cx);
                }
                cx.up(user, Indication::Unit(unit));
            }
            (Some(user), Some(UnitIndication::Report(report))) => {
                // How we are addressed is for us alone.
                if !matches!(*report, Report::Route { .. }) {
                    cx.up(user, Indication::Report(report));
                }
            }
            (_, Some(UnitIndication::Credit(_))) => {}
            (_, None) => cx.drop("not a unit"),
        }
    }

    fn expire(&mut self, _: Token, cx: &mut Context<'_>) {
        cx.clear_timer(&mut self.timer);
        self.tick(cx);
    }
}
