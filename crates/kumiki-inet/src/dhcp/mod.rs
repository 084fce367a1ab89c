//! Dynamic host configuration: an address from a server, for a time.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 2131 (the client: section 4.4, figure 5), RFC 2132 (options), RFC 3442 (classless routes), RFC 6842 (client identifiers in answers) |
//! | Above | nothing |
//! | Below | UDP over IPv4, whose port 68 on its interface it has, so that each interface may have a client; IP below hears of addresses and routes by way of it ([`Assignment`]), and ARP probes them |
//! | Differs | it takes the first offer; after a refusal that is not the first one, it waits as between retransmissions; T1 and T2 are the usual ones where T1 is said to be at once |
//! | Left out | servers and relays; DHCPINFORM; what is not for IPv4 itself; BOOTP servers; the lease on a disk ([`Config::previous`] takes the address) |
//!
//! | read | for |
//! |---|---|
//! | `client.rs` | the states, and what the client does in each |
//! | `lease.rs` | what was granted, T1 and T2 |
//! | `timers.rs` | how long it waits |
//!
//! An address is used when nobody on the link has claimed it ([`crate::arp`]); one that somebody has is declined. Times
//! count from the request that was answered. What it has ends with its time, whatever it waits for.
//!
//! # For users
//!
//! It has none: whoever stands on IP or UDP hears what has changed ([`Report::Special`]), and asks for [`GiveBack`] by
//! way of these when the host ends.

use core::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

use kumiki_graph::{
    Address, Below, Context, Duration, Handle, Indication, Manage, Mode, Open, Protocol, Quality, Report, Request,
    Service, Shape, TimerSlot, Token, Unit,
};
use kumiki_octets::{Message, Payload};
use kumiki_wire::inet::IpQuality;
use kumiki_wire::inet::dhcp::{Header, port};
use kumiki_wire::inet::ethernet::MacAddr;

use crate::{Assignment, Authority, Change, InterfaceState, Resolvers};

mod client;
mod lease;
#[cfg(test)]
mod tests;
mod timers;

pub use client::State;
use client::{Client, ClientAction};
pub use lease::Lease;

const BELOW: Below = Below(0);
/// The longest message that is looked at: what an Ethernet carries in one piece.
const LONGEST: usize = 1472;

/// What can be set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Which interface of IP is configured.
    pub interface: usize,
    /// Our station there, by which servers know us, too.
    pub station: MacAddr,
    /// The address that we had before, which is asked for first.
    pub previous: Option<Ipv4Addr>,
    /// For how long we want one, in seconds; `None`: as long as the server likes.
    pub lease_s: Option<u32>,
    /// It begins at a random time between these after the link is there, so that hosts that start at once do not all
    /// ask at once: 1 and 10 s (RFC 2131 section 4.4.1). Who is alone may have 0 and 0. The second is not below the
    /// first.
    pub startup: (Duration, Duration),
    /// The longest datagram that we take, in octets, headers of UDP and IP included, 576 at least: what the interface
    /// carries (RFC 3442, RFC 2132 section 9.10).
    pub longest: u16,
    /// Whether others on the link are asked if they have the address that was granted.
    pub probe: bool,
}

impl Config {
    /// That of a station, on the first interface.
    #[must_use]
    pub const fn new(station: MacAddr) -> Self {
        Self {
            interface: 0,
            station,
            previous: None,
            lease_s: None,
            startup: (Duration::from_secs(1), Duration::from_secs(10)),
            longest: 1500,
            probe: true,
        }
    }

    /// By which servers know us (RFC 2132 section 9.14): hardware type and address.
    fn identifier(&self) -> Vec<u8> {
        let MacAddr(mac) = self.station;
        core::iter::once(1).chain(mac).collect()
    }
}

/// Whoever has something of a server gives it back: as [`Manage::Special`] to IP or UDP, which tells all its users.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GiveBack;

impl Payload for GiveBack {}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Messages sent.
    pub sent: u64,
    /// Messages taken.
    pub taken: u64,
    /// Dropped: malformed, of another exchange, or not to be in this state.
    pub ignored: u64,
    /// Addresses that somebody else had.
    pub declined: u64,
}

/// The protocol.
#[derive(Debug)]
pub struct Dhcp {
    config: Config,
    client: Client,
    /// UDP's handle of our port.
    session: Option<Handle>,
    timer: TimerSlot,
    counters: Counters,
}

impl Dhcp {
    /// A client as `config` says.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let client = Client::new(config.clone());
        Self { config, client, session: None, timer: TimerSlot::default(), counters: Counters::default() }
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Where the client is.
    #[must_use]
    pub const fn state(&self) -> State {
        self.client.state
    }

    /// What it has, or is about to have.
    #[must_use]
    pub const fn lease(&self) -> Option<&Lease> {
        self.client.lease.as_ref()
    }

    fn act(&mut self, acts: Vec<ClientAction>, cx: &mut Context<'_>) {
        for act in acts {
            match act {
                ClientAction::Send(header, to) => self.send(&header, to, cx),
                ClientAction::Check(lease) => {
                    let Lease { address, prefix, .. } = lease;
                    let address = IpAddr::V4(address);
                    self.assign(Change::Address { address, prefix, probe: self.config.probe }, cx);
                }
                ClientAction::Have(lease) => {
                    lease.routes.iter().for_each(|it| self.assign(Change::Route(*it), cx));
                    if lease.mtu.is_some() {
                        self.assign(Change::Mtu(lease.mtu.map(u32::from)), cx);
                    }
                    self.tell_resolvers(&lease.resolvers, cx);
                }
                ClientAction::Give(lease) => {
                    lease.routes.iter().for_each(|it| self.assign(Change::NoRoute(*it), cx));
                    if lease.mtu.is_some() {
                        self.assign(Change::Mtu(None), cx);
                    }
                    self.tell_resolvers(&[], cx);
                    if !lease.address.is_unspecified() {
                        self.assign(Change::NoAddress(lease.address.into()), cx);
                    }
                }
            }
        }
        match self.client.next_due() {
            None => cx.clear_timer(&mut self.timer),
            Some(due) if self.timer.deadline() == Some(due) => {}
            Some(due) => cx.set_timer(&mut self.timer, Token::default(), due),
        }
    }

    fn assign(&self, change: Change, cx: &mut Context<'_>) {
        let what = Assignment { interface: self.config.interface, by: Authority::Server, change };
        cx.down(BELOW, Request::Manage(Box::new(Manage::special(what))));
    }

    fn tell_resolvers(&self, servers: &[Ipv4Addr], cx: &mut Context<'_>) {
        let servers = servers.iter().copied().map(IpAddr::V4).collect();
        let what = Resolvers { interface: self.config.interface, by: Authority::Server, servers };
        cx.down(BELOW, Request::Manage(Box::new(Manage::special(what))));
    }

    fn send(&mut self, header: &Header, to: Option<(Ipv4Addr, Ipv4Addr)>, cx: &mut Context<'_>) {
        let Some(session) = self.session else {
            return;
        };
        let mut octets = vec![0; header.len()];
        header.emit(&mut octets);
        // Who has an address says so, and nobody else has one here, whatever else the host has (section 4.1).
        let (from, to) = to.unwrap_or((header.ciaddr, Ipv4Addr::BROADCAST));
        let at = |ip, port| Address::from(SocketAddr::V4(SocketAddrV4::new(ip, port)));
        let unit = Unit {
            source: at(from, port::CLIENT),
            destination: at(to, port::SERVER),
            session: Some(session),
            ..Unit::of(Message::from_octets(&octets))
        };
        self.counters.sent += 1;
        cx.down(BELOW, Request::Unit(Box::new(unit)));
    }

    fn receive(&mut self, unit: &Unit, cx: &mut Context<'_>) {
        let octets = if unit.data.len() <= LONGEST { unit.data.to_vec() } else { Vec::new() };
        let mut acts = Vec::new();
        let now = cx.now();
        let is_taken =
            Header::parse(&octets).is_ok_and(|(header, _)| self.client.on_message(now, &header, cx.rng(), &mut acts));
        if is_taken {
            self.counters.taken += 1;
        } else {
            self.counters.ignored += 1;
            cx.drop("DHCP message malformed, of another exchange, or not to be now");
        }
        self.act(acts, cx);
    }

    fn report(&mut self, report: &Report, cx: &mut Context<'_>) {
        let (now, mut acts) = (cx.now(), Vec::new());
        match report {
            Report::Special(what) if what.is::<GiveBack>() => self.client.on_release(cx.rng(), &mut acts),
            Report::Special(what) if what.is::<InterfaceState>() => match what.get() {
                Some(&InterfaceState { interface, is_up }) if interface == self.config.interface => {
                    if !is_up {
                        self.client.on_down(&mut acts);
                    } else if self.session.is_some() {
                        self.client.on_up(now, cx.rng());
                    }
                }
                Some(_) | None => return,
            },
            Report::Special(what) => match what.get::<Assignment>() {
                Some(Assignment { interface, change, .. }) if *interface == self.config.interface => match *change {
                    Change::Address { address: IpAddr::V4(address), .. } => {
                        self.client.on_free(now, address, &mut acts);
                    }
                    Change::Duplicate(IpAddr::V4(address)) => {
                        let before = acts.len();
                        self.client.on_taken(now, address, cx.rng(), &mut acts);
                        self.counters.declined += u64::from(acts.len() > before);
                    }
                    Change::Address { .. }
                    | Change::Duplicate(_)
                    | Change::NoAddress(_)
                    | Change::Route(_)
                    | Change::NoRoute(_)
                    | Change::Mtu(_) => return,
                },
                Some(_) | None => return,
            },
            Report::Up | Report::Down | Report::Limits { .. } | Report::Route { .. } | Report::Unreachable { .. } => {
                return;
            }
        }
        self.act(acts, cx);
    }
}

impl Protocol for Dhcp {
    fn shape(&self) -> Shape {
        Shape { needs: &[Service::UNIT_DATA], below: (1, 1), ..Shape::default() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let local = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port::CLIENT);
        let interface = u16::try_from(self.config.interface).ok();
        let quality = IpQuality { interface, ..IpQuality::NONE };
        let open = Open {
            user: Handle::default(),
            mode: Mode::Passive { backlog: 0 },
            local: Address::from(SocketAddr::V4(local)),
            quality: Quality { special: quality.into(), ..Quality::default() },
            ..Open::default()
        };
        cx.down(BELOW, Request::Open(Box::new(open)));
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Opened(opened) => {
                self.session = Some(opened.provider);
                let now = cx.now();
                self.client.on_up(now, cx.rng());
                self.act(Vec::new(), cx);
            }
            Indication::Unit(unit) => self.receive(&unit, cx),
            Indication::Report(report) => self.report(&report, cx),
            Indication::Aborted { .. } => cx.drop("the port of DHCP's clients is in use"),
            Indication::Offered(_)
            | Indication::Data { .. }
            | Indication::Special { .. }
            | Indication::Expedited { .. }
            | Indication::Credit { .. }
            | Indication::Released { .. }
            | Indication::Closed { .. }
            | Indication::Reset { .. }
            | Indication::Notice { .. } => {}
        }
    }

    fn expire(&mut self, _: Token, cx: &mut Context<'_>) {
        cx.clear_timer(&mut self.timer);
        let (now, mut acts) = (cx.now(), Vec::new());
        self.client.on_timer(now, cx.rng(), &mut acts);
        self.act(acts, cx);
    }

    // Nobody stands above.
    fn push(&mut self, _: kumiki_graph::Above, _: Request, _: &mut Context<'_>) {}
}
