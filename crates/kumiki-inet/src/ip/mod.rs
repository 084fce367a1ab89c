//! The Internet Protocol, version 4, and the errors of ICMP.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 791, RFC 1122 section 3 (hosts), RFC 1812 sections 4.2, 4.3, 5.2, 5.3 (forwarding); RFC 6864 (identification), RFC 815 (reassembly), RFC 1191 (next-hop MTU), RFC 6633 (source quench) |
//! | Above | users by protocol number: TCP, UDP, ICMP's queries, XTP |
//! | Below | one layer for each interface: LLC/SNAP, VC multiplexing, ATMARP, PPP, Ethernet, a device |
//! | Left out | options are passed on and handed out, but not acted on: a datagram with a source route that has not ended is refused; redirects, sent or taken; a cache of path MTUs (each transport session keeps its own); multicast forwarding and IGMP; several addresses of one interface; credit |
//!
//! | read | for |
//! |---|---|
//! | `config.rs` | interfaces, routes, bounds |
//! | `send.rs` | a user's unit becomes a datagram |
//! | `receive.rs` | a datagram is checked, and is ours, a fragment, or somebody else's |
//! | `route.rs`, `forward.rs` | which way, and on behalf of others |
//! | `fragment.rs`, `reassembly.rs` | datagrams in pieces |
//! | `errors.rs` | the errors of ICMP, both ways |
//!
//! # Where ICMP lives
//!
//! ICMP has two halves. Its *errors* are about datagrams: they are made from datagrams that IP refuses, and are for the
//! users of datagrams that IP sent, so IP makes and takes them itself, and users hear of them as
//! [`Report::Unreachable`]. Its *queries* (echo) are a protocol above IP like any other: [`crate::icmp`]. Errors work
//! without that node.
//!
//! # For users
//!
//! Addresses are [`Ipv4Addr`]. A unit without a source gets the address of the interface that it leaves by;
//! [`Manage::Route`] tells which that will be. [`Manage::Limits`] is answered for the interface with the smallest MTU,
//! and again whenever the answer changes. A unit that the user cannot use may be sent back with [`Manage::Refuse`].
//!
//! A super-segment ([`kumiki_octets::Meta`]) passes in one piece, its segments measured against the MTU; it is for those
//! who know from the reported burst that the device cuts.
//!
//! # Deviations
//!
//! Identifications count up for all peers together rather than for each (RFC 6864 section 4.3 wants no repetition for a
//! pair of addresses within two minutes): beyond 546 fragmentable datagrams a second they repeat sooner, as they do
//! elsewhere. Transports that are fast do not let their datagrams be fragmented.

use crate::IpProtocol;
use crate::LinkAddresses;
use core::net::Ipv4Addr;
use kumiki_wire::numbering::ETHER_TYPE;
use kumiki_wire::numbering::MAPOS_PROTOCOL;
use kumiki_wire::numbering::PPP_PROTOCOL;

use kumiki_graph::{
    Above, Address, Below, Context, Indication, Key, Manage, Problem, Protocol, Report, Request, Service, Shape,
    TimerSlot, Token, UnitIndication, UnitRequest,
};

mod config;
mod errors;
mod forward;
mod fragment;
mod reassembly;
mod receive;
mod route;
mod send;
#[cfg(test)]
mod tests;
use crate::groups::Groups;
use crate::internet::{Bucket, Overlap, Routes, Table, names};
pub use crate::internet::{Rate, Reassembly};
pub use config::{Config, ConfigError, Interface, Neighbours, Route, RouteError, Via};
use kumiki_graph::users::{Users, tell_all};

type Hop = crate::internet::Hop<Ipv4Addr>;

/// What happened, under the names of RFC 4293.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Datagrams received, those in error too.
    pub in_receives: u64,
    /// Dropped: header or length wrong.
    pub in_hdr_errors: u64,
    /// Dropped: an address that must not be, or that is not ours.
    pub in_addr_errors: u64,
    /// Dropped: no user for the protocol.
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
    /// Datagrams put together.
    pub reasm_oks: u64,
    /// Datagrams given up: too late, too many, or not fitting together.
    pub reasm_fails: u64,
    /// Datagrams fragmented.
    pub frag_oks: u64,
    /// Datagrams that needed it and must not be.
    pub frag_fails: u64,
    /// Fragments made.
    pub frag_creates: u64,
    /// ICMP errors sent.
    pub icmp_out_errors: u64,
    /// ICMP errors not sent to keep the rate.
    pub icmp_out_limited: u64,
    /// ICMP errors received and understood.
    pub icmp_in_errors: u64,
}

/// An interface at work.
#[derive(Clone, Debug)]
struct Port {
    below: Option<Below>,
    /// The largest datagram.
    mtu: u32,
    burst: u32,
    up: bool,
    link: Link,
}

/// How the link address of a next hop is found; see [`Neighbours`].
#[derive(Clone, Copy, Debug)]
enum Link {
    One,
    Below,
    /// In the configuration.
    Table,
}

/// What an address of ours is. Where it is both, the address of an interface comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    /// That of an interface.
    Own,
    /// All hosts of an interface's network (RFC 1122 section 3.2.1.3 (d)).
    Broadcast,
}

/// The protocol.
#[derive(Debug)]
pub struct Ip {
    config: Config,
    /// One for each interface of the configuration.
    ports: Vec<Port>,
    /// Which interface each layer below is.
    by_below: Vec<usize>,
    routes: Routes<Ipv4Addr>,
    /// Addresses that mean us, or us too, in order: every datagram's are looked for here.
    known: Vec<(u32, Kind)>,
    /// Who is found under which protocol number.
    users: Users<IpProtocol>,
    /// Who asked for limits, and is told when they change.
    curious: Vec<Above>,
    /// Groups that users are in, beside those of the configuration.
    groups: Groups<Ipv4Addr>,
    reassembly: reassembly::Incomplete,
    reassembly_timer: TimerSlot,
    bucket: Bucket,
    identification: u16,
    counters: Counters,
}

/// The broadcast address of the network behind an interface; none where there are just two hosts (RFC 3021).
fn broadcast(interface: &Interface) -> Option<Ipv4Addr> {
    let mask = route::mask(interface.prefix);
    (interface.prefix < 31).then(|| Ipv4Addr::from_bits(interface.address.to_bits() | !mask))
}

fn known(interfaces: &[Interface]) -> Vec<(u32, Kind)> {
    let own = interfaces.iter().map(|it| (it.address, Kind::Own));
    let networks = interfaces.iter().filter_map(broadcast);
    let all = own.chain(networks.map(|address| (address, Kind::Broadcast)));
    let mut known: Vec<_> = all.map(|(address, kind)| (address.to_bits(), kind)).collect();
    known.retain(|(address, _)| *address != 0);
    known.sort_unstable();
    known
}

/// Whether `address`, which is `kind` to us, is one that several hosts listen to.
fn is_group(address: Ipv4Addr, kind: Option<Kind>) -> bool {
    address.is_multicast() || address.is_broadcast() || kind == Some(Kind::Broadcast)
}

impl Ip {
    /// IP as `config` says.
    ///
    /// # Errors
    /// [`ConfigError`] names what cannot be, and what could.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        let port = |interface: &Interface| Port {
            below: None,
            mtu: interface.mtu,
            burst: 1,
            up: true,
            link: match interface.neighbours {
                Neighbours::One => Link::One,
                Neighbours::Below => Link::Below,
                Neighbours::Table(_) => Link::Table,
            },
        };
        Ok(Self {
            ports: config.interfaces.iter().map(port).collect(),
            by_below: Vec::new(),
            routes: route::routes(&config)?,
            known: known(&config.interfaces),
            users: Users::default(),
            curious: Vec::new(),
            groups: Groups::default(),
            reassembly: Table::new(config.reassembly, Overlap::First),
            reassembly_timer: TimerSlot::default(),
            bucket: Bucket::new(config.errors),
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

    /// Octets held in incomplete datagrams, with what keeping each fragment costs beside: at most [`Reassembly::octets`].
    #[must_use]
    pub const fn reassembling(&self) -> usize {
        self.reassembly.octets()
    }

    /// What `address` is, if it is one of ours.
    fn kind(&self, address: Ipv4Addr) -> Option<Kind> {
        let bits = address.to_bits();
        let at = self.known.partition_point(|(known, _)| *known < bits);
        let (known, kind) = self.known.get(at)?;
        (*known == bits).then_some(*kind)
    }

    fn is_ours(&self, address: Ipv4Addr) -> bool {
        self.kind(address) == Some(Kind::Own)
    }

    /// Whether what goes to `address` stays here.
    fn is_local(&self, address: Ipv4Addr) -> bool {
        self.is_ours(address) || address.is_loopback()
    }

    /// Whether `address` is one that several hosts listen to.
    fn is_group(&self, address: Ipv4Addr) -> bool {
        is_group(address, self.kind(address))
    }

    /// The way to `to` for a datagram that has, or will get, `source`.
    fn hop(&self, to: Ipv4Addr, source: Option<Ipv4Addr>) -> Option<Hop> {
        let up = |interface: usize| self.ports.get(interface).is_some_and(|port| port.up);
        let routed = || self.routes.lookup(to, up);
        if !(to.is_multicast() || to.is_broadcast()) {
            return routed();
        }
        // Not a matter of networks: the source's interface, a route for the group, or the first interface there is.
        let mut interfaces = self.config.interfaces.iter();
        let own = source.and_then(|source| interfaces.position(|it| it.address == source));
        let on = |interface| Hop { interface, next: to };
        let first = || (0..self.ports.len()).find(|&interface| up(interface));
        own.map(on).or_else(|| routed().filter(|_| to.is_multicast())).or_else(|| first().map(on))
    }

    /// The address of `interface`.
    fn address(&self, interface: usize) -> Option<Ipv4Addr> {
        let interface = self.config.interfaces.get(interface);
        interface.map(|interface| interface.address)
    }

    fn limits(&self) -> Report {
        let mtu = self.ports.iter().map(|port| port.mtu).min();
        let burst = self.ports.iter().map(|port| port.burst).min();
        Report::Limits { unit: mtu.unwrap_or_default().saturating_sub(send::HEADER_LEN), burst: burst.unwrap_or(1) }
    }

    fn route(&self, to: Address) -> Report {
        let nowhere = Report::Route { to, source: Address::NONE, unit: 0, burst: 1, bypass: None };
        let Some(address) = to.get::<Ipv4Addr>() else {
            return nowhere;
        };
        if self.is_local(address) {
            return Report::Route {
                to,
                source: to,
                unit: u32::from(u16::MAX) - send::HEADER_LEN,
                burst: u32::MAX,
                bypass: None,
            };
        }
        let found = self.hop(address, None).and_then(|hop| {
            let port = self.ports.get(hop.interface)?;
            Some((self.address(hop.interface)?, port))
        });
        found.map_or(nowhere, |(source, port)| Report::Route {
            to,
            source: Address::from(source),
            unit: port.mtu.saturating_sub(send::HEADER_LEN),
            burst: port.burst,
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
            Manage::Route { to } => self.route(to),
            Manage::Refuse { unit, problem } => {
                self.refuse(from, unit, problem, cx);
                return;
            }
            Manage::Group { group, member } => {
                if let Some(group) = group.get::<Ipv4Addr>() {
                    self.groups.set(from, group, member);
                }
                return;
            }
            // Routes are chosen by prefix alone, so advice could not lead to another. What a path carries is for those who use it.
            Manage::Session { .. } | Manage::Advise { .. } | Manage::Narrow { .. } | Manage::Special(_) => return,
        };
        cx.up(from, Indication::Report(Box::new(answer)));
    }

    /// The layer below an interface has agreed on addresses with its peer.
    fn adopt(&mut self, interface: usize, local: Address, remote: Address) {
        let found = self.config.interfaces.get_mut(interface);
        let (Some(it), Some(local)) = (found.filter(|it| it.negotiated), local.get()) else {
            return;
        };
        it.address = local;
        it.peer = remote.get().filter(|remote: &Ipv4Addr| !remote.is_unspecified());
        // They were right before, and addresses of hosts change nothing about that.
        if let Ok(routes) = route::routes(&self.config) {
            self.routes = routes;
        }
        self.known = known(&self.config.interfaces);
    }

    fn report(&mut self, from: Below, report: &Report, cx: &mut Context<'_>) {
        if let Report::Unreachable { problem: Problem::NoNeighbour, start, .. } = report {
            self.unresolved(start.clone(), cx);
            return;
        }
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
                    for &user in &self.curious {
                        cx.up(user, Indication::Report(Box::new(self.limits())));
                    }
                }
                return;
            }
            Report::Up => port.up = true,
            Report::Down => port.up = false,
            Report::Special(ref what) => {
                if let Some(&LinkAddresses { local, remote }) = what.get() {
                    self.adopt(interface, local, remote);
                }
                return;
            }
            Report::Route { .. } | Report::Unreachable { .. } => return,
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
                Key::of(ETHER_TYPE, kumiki_wire::inet::ethernet::ethertype::IPV4),
                Key::of(PPP_PROTOCOL, kumiki_wire::inet::ipv4::PPP_PROTOCOL),
                Key::of(MAPOS_PROTOCOL, kumiki_wire::inet::ipv4::MAPOS_PROTOCOL),
            ],
        }
    }

    fn bind(&mut self, above: Above, keys: &[Key]) -> Result<(), String> {
        self.users.bind("IP", above, keys)
    }

    fn attach(&mut self, below: Below, name: &str) -> Result<(), String> {
        let interface = self.config.interfaces.iter().position(|it| it.below == name);
        let Some(interface) = interface else {
            let known = names(&self.config.below());
            return Err(format!("IP has no interface on `{name}`, only on {known}"));
        };
        if let Some(port) = self.ports.get_mut(interface) {
            port.below = Some(below);
        }
        // Layers below are numbered in the order of being attached.
        self.by_below.push(interface);
        Ok(())
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let [.., high, low] = cx.rng().next_u32().to_be_bytes();
        self.identification = u16::from_be_bytes([high, low]);
        for below in self.ports.iter().filter_map(|port| port.below) {
            cx.down(below, Request::Manage(Box::new(Manage::Limits)));
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

    fn expire(&mut self, _: Token, cx: &mut Context<'_>) {
        self.give_up_reassembly(cx);
    }
}

/// The most octets that can stand behind `header`.
fn max_data(header: &kumiki_wire::inet::ipv4::Header) -> usize {
    usize::from(u16::MAX) - header.len()
}
