//! The Internet Protocol, version 6, the errors of ICMPv6, and neighbour discovery.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 8200; RFC 4443 (errors), RFC 4861 (neighbours, hosts), RFC 4862 (autoconfiguration), RFC 8201 (path MTU), RFC 4291 (addresses), RFC 2464 (Ethernet); RFC 5095 (routing type 0), RFC 5722 and 6946 (fragments) |
//! | Above | users by protocol number: TCP, UDP, ICMP's queries |
//! | Below | one layer for each interface: LLC/SNAP, PPP, Ethernet, a device |
//! | Left out | sending router advertisements and redirects, and following redirects; multicast listener reports (RFC 3810) and multicast forwarding; zones: a link-local destination leaves by the interface of its source, or the first one; hints of reachability from above; optimistic and privacy addresses, DHCPv6; flow labels (sent as 0); jumbograms, authentication, encryption; credit |
//!
//! | read | for |
//! |---|---|
//! | `config.rs` | interfaces, routes, bounds |
//! | `send.rs` | a user's unit becomes a packet; path MTUs |
//! | `receive.rs` | a packet is checked, its headers walked along, and it is ours, a fragment, or somebody else's |
//! | `route.rs`, `forward.rs` | which way, and on behalf of others |
//! | `fragment.rs`, `reassembly.rs` | packets in pieces |
//! | `errors.rs` | the errors of ICMPv6, both ways |
//! | `neighbours.rs` | the neighbour cache and its states |
//! | `addresses.rs` | our own addresses |
//! | `discovery.rs` | the messages of neighbour discovery, both ways |
//! | `routers.rs` | what routers say in them: default routers, prefixes, addresses |
//!
//! What this shares with IPv4 is in `inet`. ICMPv6 is divided as ICMP is there (see [`crate::ip`]): errors and neighbour
//! discovery are here, echoes in [`crate::icmp`].
//!
//! # For users
//!
//! Addresses are [`Ipv6Addr`]. As with IPv4, a unit without a source gets the address of the interface that it leaves by;
//! [`Manage::Route`] tells which, and [`Manage::Limits`] is answered for the smallest MTU. Only the source fragments: a
//! unit with `dont_fragment` that is too big for what is known of its path comes back as [`Report::Unreachable`].
//!
//! The checksum of an ICMPv6 message comes without the addresses, which are added here, where the source is known (as
//! RFC 3542 section 3.1 has it).
//!
//! # Neighbours
//!
//! On a layer with MAC addresses next hops are asked for ([`Neighbours::Discover`]); the layer is asked for its own address
//! by [`Manage::Route`]. Our addresses may be used once nobody has objected for a second or two, which is a long time at
//! the start of a simulation: with [`Discovery::duplicate_transmits`] 0 they may at once.
//!
//! # Deviations
//!
//! Identifications of fragments count up from a random start for all peers together; RFC 7739 would have them not be
//! guessed. Of a packet that came in fragments an error quotes the whole without the headers that each fragment had.

use crate::IpProtocol;
use crate::LinkAddresses;
use core::net::Ipv6Addr;
use kumiki_wire::inet::ethernet::MacAddr;
use kumiki_wire::numbering::ETHER_TYPE;
use kumiki_wire::numbering::PPP_PROTOCOL;
use std::collections::BTreeMap;

use kumiki_graph::{
    Above, Address, Below, Context, Indication, Instant, Key, Manage, Protocol, Report, Request, Service, Shape,
    TimerSlot, Token, UnitIndication, UnitRequest,
};
use kumiki_wire::inet::ipv6::{self, ALL_NODES, ALL_ROUTERS, link_local, solicited_node};

mod addresses;
mod config;
mod discovery;
mod errors;
mod forward;
mod fragment;
mod neighbours;
mod reassembly;
mod receive;
mod route;
mod routers;
mod send;
#[cfg(test)]
mod tests;

use crate::groups::Groups;
use crate::internet::{Bucket, Overlap, Routes, Table, names};
pub use crate::internet::{Rate, Reassembly};
use addresses::{Own, Standing};
pub use config::{Config, ConfigError, Discovery, Interface, Neighbours, Route, RouteError, Via};
use discovery::Link;
use kumiki_graph::users::{Users, tell_all};

type Hop = crate::internet::Hop<Ipv6Addr>;

/// What happened, under the names of RFC 4293.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Packets received, those in error too.
    pub in_receives: u64,
    /// Dropped: a header or a length wrong, or an option that asked for it.
    pub in_hdr_errors: u64,
    /// Dropped: an address that must not be, or that is not ours.
    pub in_addr_errors: u64,
    /// Dropped: no user for the next header.
    pub in_unknown_protos: u64,
    /// Handed to users, after reassembly.
    pub in_delivers: u64,
    /// Forwarded.
    pub forw_datagrams: u64,
    /// Units that users gave us.
    pub out_requests: u64,
    /// Dropped on the way out, though nothing was wrong: a source not ours, no link address, too long.
    pub out_discards: u64,
    /// Dropped: no route.
    pub out_no_routes: u64,
    /// Fragments received.
    pub reasm_reqds: u64,
    /// Packets put together.
    pub reasm_oks: u64,
    /// Packets given up: too late, too many, overlapping or not fitting together.
    pub reasm_fails: u64,
    /// Packets fragmented.
    pub frag_oks: u64,
    /// Packets that needed it and must not be.
    pub frag_fails: u64,
    /// Fragments made.
    pub frag_creates: u64,
    /// ICMP errors sent.
    pub icmp_out_errors: u64,
    /// ICMP errors not sent to keep the rate.
    pub icmp_out_limited: u64,
    /// ICMP errors received and understood.
    pub icmp_in_errors: u64,
    /// Solicitations sent, those of routers and of our own addresses too.
    pub solicitations_sent: u64,
    /// Neighbour advertisements sent.
    pub advertisements_sent: u64,
    /// Messages of neighbour discovery dropped: from beyond the link, malformed, or not to be.
    pub discovery_ignored: u64,
    /// Packets whose next hop nobody answered for, or that found no room to wait.
    pub unresolved: u64,
    /// Addresses of ours that somebody else has.
    pub duplicates: u64,
}

/// An interface at work.
#[derive(Debug)]
struct Port {
    below: Option<Below>,
    /// The largest packet, as configured and as the layer below says.
    mtu: u32,
    burst: u32,
    up: bool,
    own: Vec<Own>,
    link: Link,
}

impl Port {
    fn new(interface: &Interface) -> Self {
        let mut port = Self {
            below: None,
            mtu: interface.mtu,
            burst: 1,
            up: true,
            own: Vec::new(),
            link: Link::new(&interface.neighbours),
        };
        if !matches!(port.link, Link::Discover(_)) {
            let configured = interface.addresses.iter().map(|(address, _)| *address);
            let [first] = [configured.clone().next()];
            let low = first.map(|it| link_local(it.octets().last_chunk().copied().unwrap_or([0; 8])));
            let all = configured.chain(interface.link_local.or(low));
            port.own = all.map(|it| Own::new(it, Standing::Ours)).collect();
            port.own.dedup();
        }
        port
    }

    /// The largest packet that may be sent, what routers say considered (RFC 4861 section 6.3.4).
    fn mtu(&self) -> u32 {
        match &self.link {
            Link::Discover(it) => it.mtu.unwrap_or(self.mtu).min(self.mtu),
            Link::One | Link::Table(_) => self.mtu,
        }
    }

    /// PPP below has agreed on the identifier that our address on this link has (RFC 5072).
    fn adopt(&mut self, local: Ipv6Addr) {
        if local.is_unicast_link_local() && !matches!(self.link, Link::Discover(_)) {
            self.own.retain(|it| !it.address.is_unicast_link_local());
            self.own.push(Own::new(local, Standing::Ours));
        }
    }

    fn has(&self, address: Ipv6Addr) -> bool {
        let mut own = self.own.iter();
        own.any(|it| it.address == address && it.is_ours())
    }
}

/// The protocol.
#[derive(Debug)]
pub struct Ip {
    config: Config,
    /// One for each interface of the configuration.
    ports: Vec<Port>,
    /// Which interface each layer below is.
    by_below: Vec<usize>,
    routes: Routes<Ipv6Addr>,
    /// Who is found under which protocol number.
    users: Users<IpProtocol>,
    /// Who asked for limits, and is told when they change.
    curious: Vec<Above>,
    /// Groups that users are in, beside those of the configuration.
    groups: Groups<Ipv6Addr>,
    reassembly: reassembly::Incomplete,
    reassembly_timer: TimerSlot,
    discovery_timer: TimerSlot,
    bucket: Bucket,
    /// What is known of paths narrower than their first link, and until when (RFC 8201): what users of ours have confirmed.
    paths: BTreeMap<Ipv6Addr, (u32, Instant)>,
    identification: u32,
    counters: Counters,
}

/// What timers are for.
mod timer {
    pub(super) const REASSEMBLY: u32 = 0;
    pub(super) const DISCOVERY: u32 = 1;
}

impl Ip {
    /// IPv6 as `config` says.
    ///
    /// # Errors
    /// [`ConfigError`] names what cannot be, and what could.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            ports: config.interfaces.iter().map(Port::new).collect(),
            by_below: Vec::new(),
            routes: route::routes(&config)?,
            users: Users::default(),
            curious: Vec::new(),
            groups: Groups::default(),
            reassembly: Table::new(config.reassembly, Overlap::Refuse),
            reassembly_timer: TimerSlot::default(),
            discovery_timer: TimerSlot::default(),
            bucket: Bucket::new(config.errors),
            paths: BTreeMap::new(),
            identification: 0,
            counters: Counters::default(),
            config,
        })
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Octets held in incomplete packets, with what keeping each fragment costs beside: at most [`Reassembly::octets`].
    #[must_use]
    pub const fn reassembling(&self) -> usize {
        self.reassembly.octets()
    }

    /// The addresses that may be used at present, those of each interface together.
    pub fn addresses(&self) -> impl Iterator<Item = Ipv6Addr> {
        let own = self.ports.iter().flat_map(|port| &port.own);
        own.filter(|it| it.is_ours()).map(|it| it.address)
    }

    fn is_ours(&self, address: Ipv6Addr) -> bool {
        self.ports.iter().any(|port| port.has(address))
    }

    /// Whether what goes to `address` stays here.
    fn is_local(&self, address: Ipv6Addr) -> bool {
        address.is_loopback() || self.is_ours(address)
    }

    /// Whether we are in `group` (RFC 4291 section 2.8).
    fn listens_to(&self, group: Ipv6Addr) -> bool {
        let mut own = self.ports.iter().flat_map(|port| &port.own);
        group == ALL_NODES
            || group == ALL_ROUTERS && self.config.forwarding
            || self.config.groups.contains(&group)
            || self.groups.contains(group)
            || own.any(|it| solicited_node(it.address) == group)
    }

    fn port_is_up(&self, interface: usize) -> bool {
        self.ports.get(interface).is_some_and(|port| port.up)
    }

    /// The way to `to` for a packet that has, or will get, `source`.
    fn hop(&mut self, to: Ipv6Addr, source: Option<Ipv6Addr>) -> Option<Hop> {
        let up = |interface: usize| self.port_is_up(interface);
        let own = source.and_then(|source| self.ports.iter().position(|port| port.has(source)));
        let own = own.filter(|&interface| up(interface));
        let on = |interface| Hop { interface, next: to };
        if addresses::scope(to) <= 2 {
            // Of one link: the source says which.
            let first = || (0..self.ports.len()).find(|&interface| up(interface));
            return own.or_else(first).map(on);
        }
        let routed = self.routes.lookup(to, up);
        if to.is_multicast() {
            let first = || (0..self.ports.len()).find(|&interface| up(interface));
            let routed = routed.map(|hop| hop.interface);
            return own.or(routed).or_else(first).map(on);
        }
        routed.or_else(|| self.default_router())
    }

    /// The address of ours that goes with a packet to `to` by `interface`: one of that interface, or else of another.
    fn select(&self, interface: usize, to: Ipv6Addr) -> Option<Ipv6Addr> {
        let here = self.ports.get(interface);
        let found = here.and_then(|port| addresses::select(&port.own, to));
        let elsewhere = || {
            let mut ports = self.ports.iter();
            let global = addresses::scope(to) > 2;
            ports.find_map(|port| addresses::select(&port.own, to).filter(|_| global))
        };
        found.or_else(elsewhere)
    }

    fn limits(&self) -> Report {
        let mtu = self.ports.iter().map(Port::mtu).min();
        let burst = self.ports.iter().map(|port| port.burst).min();
        Report::Limits { unit: mtu.unwrap_or_default().saturating_sub(send::HEADER_LEN), burst: burst.unwrap_or(1) }
    }

    fn route(&mut self, to: Address, now: Instant) -> Report {
        let nowhere = Report::Route { to, source: Address::NONE, unit: 0, burst: 1, bypass: None };
        let Some(address) = to.get::<Ipv6Addr>() else {
            return nowhere;
        };
        if self.is_local(address) {
            return Report::Route { to, source: to, unit: u32::from(u16::MAX), burst: u32::MAX, bypass: None };
        }
        let found = self.hop(address, None).and_then(|hop| {
            let source = self.select(hop.interface, address)?;
            let port = self.ports.get(hop.interface)?;
            Some((source, port.mtu(), port.burst))
        });
        found.map_or(nowhere, |(source, mtu, burst)| Report::Route {
            to,
            source: Address::from(source),
            unit: mtu.min(self.path_mtu(address, now)).saturating_sub(send::HEADER_LEN),
            burst,
            bypass: None,
        })
    }

    fn manage(&mut self, from: Above, manage: Manage, cx: &mut Context<'_>) {
        let answer = match manage {
            Manage::Limits => {
                if !self.curious.contains(&from) {
                    self.curious.push(from);
                }
                self.limits()
            }
            Manage::Route { to } => self.route(to, cx.now()),
            Manage::Refuse { unit, problem } => {
                self.refuse(from, unit, problem, cx);
                return;
            }
            Manage::Narrow { to, mtu } => {
                if let Some(to) = to.get::<Ipv6Addr>() {
                    self.narrow(to, mtu, cx.now());
                }
                return;
            }
            Manage::Group { group, member } => {
                if let Some(group) = group.get::<Ipv6Addr>() {
                    self.groups.set(from, group, member);
                }
                return;
            }
            // Routes are not chosen by whether somebody answers.
            Manage::Session { .. } | Manage::Advise { .. } | Manage::Special(_) => return,
        };
        cx.up(from, Indication::Report(Box::new(answer)));
    }

    /// The limits may have changed.
    fn tell_curious(&self, cx: &mut Context<'_>) {
        for &user in &self.curious {
            cx.up(user, Indication::Report(Box::new(self.limits())));
        }
    }

    fn report(&mut self, from: Below, report: &Report, cx: &mut Context<'_>) {
        let Some(interface) = self.by_below.get(usize::from(from.0)).copied() else {
            return;
        };
        let most = self.config.interfaces.get(interface).map(|it| it.mtu);
        let anybody_up = self.ports.iter().any(|port| port.up);
        let Some(port) = self.ports.get_mut(interface) else {
            return;
        };
        match *report {
            Report::Limits { unit, burst } => {
                let mtu = most.unwrap_or_default().min(unit);
                let changed = (port.mtu, port.burst) != (mtu, burst);
                (port.mtu, port.burst) = (mtu, burst);
                if changed {
                    self.tell_curious(cx);
                }
                return;
            }
            Report::Route { source, .. } => {
                if let Some(mac) = source.get() {
                    self.begin_discovery(interface, mac, cx);
                }
                return;
            }
            Report::Up => port.up = true,
            Report::Down => port.up = false,
            Report::Special(ref what) => {
                if let Some(local) = what.get().and_then(|it: &LinkAddresses| it.local.get()) {
                    port.adopt(local);
                }
                return;
            }
            Report::Unreachable { .. } => return,
        }
        if anybody_up != self.ports.iter().any(|port| port.up) {
            let report = if anybody_up { Report::Down } else { Report::Up };
            tell_all(&report, cx);
        }
    }
}

impl Protocol for Ip {
    fn shape(&self) -> Shape {
        let interfaces = u16::try_from(self.ports.len()).unwrap_or(u16::MAX);
        Shape {
            offers: Some(Service::UNIT_DATA),
            needs: &[Service::UNIT_DATA, Service::FRAME],
            below: (interfaces, interfaces),
            keys: vec![
                Key::of(ETHER_TYPE, kumiki_wire::inet::ethernet::ethertype::IPV6),
                Key::of(PPP_PROTOCOL, ipv6::PPP_PROTOCOL),
            ],
        }
    }

    fn bind(&mut self, above: Above, keys: &[Key]) -> Result<(), String> {
        self.users.bind("IPv6", above, keys)
    }

    fn attach(&mut self, below: Below, name: &str) -> Result<(), String> {
        let interface = self.config.interfaces.iter().position(|it| it.below == name);
        let Some(interface) = interface else {
            let known = names(&self.config.below());
            return Err(format!("IPv6 has no interface on `{name}`, only on {known}"));
        };
        if let Some(port) = self.ports.get_mut(interface) {
            port.below = Some(below);
        }
        // Layers below are numbered in the order of being attached.
        self.by_below.push(interface);
        Ok(())
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        self.identification = cx.rng().next_u32();
        for port in &self.ports {
            let Some(below) = port.below else {
                continue;
            };
            cx.down(below, Request::Manage(Box::new(Manage::Limits)));
            if matches!(port.link, Link::Discover(_)) {
                let to = Address::from(MacAddr::BROADCAST);
                cx.down(below, Request::Manage(Box::new(Manage::Route { to })));
            }
        }
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request.of_unit_data() {
            Some(UnitRequest::Unit(unit)) => self.send(from, unit, cx),
            Some(UnitRequest::Manage(manage)) => self.manage(from, *manage, cx),
            None => cx.drop("not a unit"),
        }
    }

    fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication.of_unit_data() {
            Some(UnitIndication::Unit(unit)) => self.receive(from, unit, cx),
            Some(UnitIndication::Report(report)) => self.report(from, &report, cx),
            Some(UnitIndication::Credit(_)) => {}
            None => cx.drop("not a unit"),
        }
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        if token.kind == timer::REASSEMBLY {
            self.give_up_reassembly(cx);
        } else {
            cx.clear_timer(&mut self.discovery_timer);
            self.tick(cx);
        }
    }
}

/// The most octets that can stand behind the header.
const MAX_PAYLOAD: usize = 65535;
/// The header and the longest chain of others that is gathered to be looked at.
const MAX_HEADERS: usize = ipv6::MIN_MTU;
