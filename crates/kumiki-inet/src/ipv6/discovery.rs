//! The messages of neighbour discovery, both ways, and what neighbours say in them. What routers say is in
//! `routers.rs`.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 4861 sections 6.1 and 7.1 (which messages are taken), 7 (neighbours); RFC 4862 section 5.4 |

use core::net::Ipv6Addr;

use kumiki_graph::{Address, Context, Duration, Instant, Token, Unit, UnitOptions};
use kumiki_octets::{Message, Sum};
use kumiki_wire::inet::ethernet::MacAddr;
use kumiki_wire::inet::icmpv6::option::{Opt, Opts};
use kumiki_wire::inet::icmpv6::{Header as IcmpHeader, MAX_LEN, Message as Icmp};
use kumiki_wire::inet::ipv6::{ALL_NODES, Header, link_local, next_header, solicited_node};

use super::addresses::{AddressState, LocalAddress, select};
use super::config::{Discovery, Neighbours};
use super::errors::pseudo;
use super::family::{OriginalDatagram, V6, with_header};
use super::neighbours::{Advertised, Cache, NeighbourAction, Packet, State};
use super::routers::{Routers, default_by};
use super::{Hop, Ip};
use crate::internet::{Family, is_intact};
use crate::{Assignment, Authority, Change};

/// Hop limit of all messages: nothing from beyond the link arrives with it (RFC 4861 section 3.1).
const HOP_LIMIT: u8 = 255;
/// MAX_RTR_SOLICITATION_DELAY (RFC 4861 section 10).
const FIRST_DELAY: Duration = Duration::from_secs(1);
/// The longest message of discovery that is looked at.
const LONGEST: usize = 1500;

/// The kind of its timer.
const TIMER: u32 = 1;

/// How the neighbours behind an interface are known.
#[derive(Debug)]
pub enum Link {
    /// There is one.
    One,
    /// By a table.
    Table(Vec<(Ipv6Addr, Address)>),
    /// By asking.
    Discover(Box<Discover>),
}

/// What is discovered on an interface.
#[derive(Debug)]
pub struct Discover {
    pub(super) config: Discovery,
    /// Our own address, once the layer below has told it.
    pub(super) mac: Option<MacAddr>,
    pub(super) cache: Cache,
    /// Of routers: CurHopLimit.
    pub(super) hop_limit: Option<u8>,
    /// Of routers: LinkMTU.
    pub(super) mtu: Option<u32>,
    pub(super) routers: Routers,
}

impl Link {
    pub(super) fn new(neighbours: &Neighbours) -> Self {
        match neighbours {
            Neighbours::One => Self::One,
            Neighbours::Table(table) => Self::Table(table.clone()),
            Neighbours::Discover(config) => Self::Discover(Box::new(Discover {
                config: *config,
                mac: None,
                cache: Cache::new(*config),
                hop_limit: None,
                mtu: None,
                routers: Routers::default(),
            })),
        }
    }
}

impl Discover {
    fn next_due(&self) -> Option<Instant> {
        let due = self.routers.next_due().into_iter();
        due.chain(self.cache.next_due()).min()
    }
}

/// What an address is that is asked for so often, first at `next`.
const fn standing(transmits: u8, next: Instant) -> AddressState {
    match transmits {
        0 => AddressState::Ours,
        left => AddressState::Tentative { left, next },
    }
}

/// Half to one and a half of `average` (RFC 4861 section 6.3.2).
pub(super) fn around(average: Duration, cx: &mut Context<'_>) -> Duration {
    let half = average / 2;
    half + Duration::from_nanos(cx.rng().below(average.as_nanos().max(1)))
}

impl Ip {
    pub(super) fn discover_at(&mut self, interface: usize) -> Option<&mut Discover> {
        match self.ports.get_mut(interface).map(|port| &mut port.link) {
            Some(Link::Discover(it)) => Some(it),
            Some(Link::One | Link::Table(_)) | None => None,
        }
    }

    /// The layer below has told our address there.
    pub(super) fn begin_discovery(&mut self, interface: usize, mac: MacAddr, cx: &mut Context<'_>) {
        let now = cx.now();
        let first = now + Duration::from_nanos(cx.rng().below(FIRST_DELAY.as_nanos()));
        let solicit = now + Duration::from_nanos(cx.rng().below(FIRST_DELAY.as_nanos()));
        let average = self.discover_at(interface).map(|it| it.config.reachable);
        let reachable = around(average.unwrap_or_default(), cx);
        let configured = self.state.config.interfaces.get(interface).cloned();
        let Some((Some(it), configured)) = Some(self.discover_at(interface)).zip(configured) else {
            return;
        };
        if it.mac.replace(mac).is_some() {
            return;
        }
        it.cache.reachable = reachable;
        let standing = standing(it.config.duplicate_transmits, first);
        let asks = self.takes_advertisements(interface);
        if asks && let Some(it) = self.discover_at(interface) {
            it.routers.ask_from(solicit);
        }
        let local = configured.link_local.unwrap_or_else(|| link_local(mac.eui64()));
        let rest = configured.addresses.into_iter().map(|(address, prefix)| (address, Some(prefix)));
        if let Some(port) = self.ports.get_mut(interface) {
            let all = rest.chain([(local, None)]);
            let all = all.map(|(address, prefix)| LocalAddress { prefix, ..LocalAddress::new(address, standing) });
            // Some may have come before.
            let early = core::mem::take(&mut port.own).into_iter().map(|it| LocalAddress { standing, ..it });
            port.own = all.chain(early).collect();
        }
        self.tick(cx);
    }

    /// What an address is that `interface` gets now.
    pub(super) fn standing_of_new(&mut self, interface: usize, now: Instant) -> AddressState {
        standing(self.discover_at(interface).map_or(0, |it| it.config.duplicate_transmits), now)
    }

    // Time.

    /// Does what is due on all interfaces.
    pub(super) fn tick(&mut self, cx: &mut Context<'_>) {
        for interface in 0..self.ports.len() {
            self.tick_addresses(interface, cx);
            self.tick_routers(interface, cx);
            let mut acts = Vec::new();
            if let Some(it) = self.discover_at(interface) {
                it.cache.tick(cx.now(), &mut acts);
            }
            self.act(interface, acts, cx);
        }
        self.set_discovery_timer(cx);
    }

    fn set_discovery_timer(&mut self, cx: &mut Context<'_>) {
        let due = self.ports.iter().filter_map(|port| match &port.link {
            Link::Discover(it) => {
                let own = port.own.iter().filter_map(LocalAddress::next_due);
                own.chain(it.next_due()).min()
            }
            Link::One | Link::Table(_) => None,
        });
        let token = Token { kind: TIMER, ..Token::default() };
        match due.min() {
            None => cx.clear_timer(&mut self.state.discovery_timer),
            Some(due) if self.state.discovery_timer.deadline() == Some(due) => {}
            Some(due) => cx.set_timer(&mut self.state.discovery_timer, token, due),
        }
    }

    fn tick_addresses(&mut self, interface: usize, cx: &mut Context<'_>) {
        let now = cx.now();
        let retransmit = self.discover_at(interface).map(|it| it.cache.retransmit);
        let (Some(retransmit), Some(port)) = (retransmit, self.ports.get_mut(interface)) else {
            return;
        };
        let (mut ask, mut told) = (Vec::new(), Vec::new());
        port.own.retain_mut(|own| {
            if let AddressState::Tentative { left, next } = &mut own.standing
                && *next <= now
            {
                if let Some(fewer) = left.checked_sub(1) {
                    (*left, *next) = (fewer, now + retransmit);
                    ask.push(own.address);
                } else {
                    own.standing = AddressState::Ours;
                    told.extend(own.told(interface));
                }
            }
            own.deprecated |= own.preferred.is_some_and(|until| until <= now);
            let is_valid = own.valid.is_none_or(|until| until > now);
            told.extend(own.told(interface).filter(|_| !is_valid).map(|it| it.undone()));
            is_valid
        });
        for what in told {
            self.tell(what, cx);
        }
        for target in ask {
            // RFC 4862 section 5.4.2: from nobody, to all who might have it.
            let message = Icmp::NeighbourSolicitation { target };
            let (source, group) = (Ipv6Addr::UNSPECIFIED, solicited_node(target));
            self.state.counters.solicitations_sent += 1;
            self.say(interface, (source, group), message, &[], cx);
        }
    }

    /// Does what the neighbour cache asks for.
    pub(super) fn act(&mut self, interface: usize, acts: Vec<NeighbourAction>, cx: &mut Context<'_>) {
        let any = !acts.is_empty();
        for act in acts {
            match act {
                NeighbourAction::Send { to, packet } => {
                    self.down(interface, Address::from(to), packet, cx);
                }
                NeighbourAction::Solicit { target, to } => self.solicit(interface, target, to, cx),
                NeighbourAction::Failed(packet) => {
                    self.state.counters.unresolved += 1;
                    cx.drop("no answer from the next hop");
                    self.unresolved(packet.data, cx);
                }
                NeighbourAction::Lost => {
                    self.state.counters.unresolved += 1;
                    cx.drop("too many packets wait for next hops");
                }
            }
        }
        if any {
            self.set_discovery_timer(cx);
        }
    }

    fn solicit(&mut self, interface: usize, target: Ipv6Addr, to: Option<MacAddr>, cx: &mut Context<'_>) {
        let own = self.discover_at(interface).and_then(|it| it.mac);
        let here = self.ports.get(interface).map(|port| port.own.as_slice());
        let source = select(here.unwrap_or_default(), target);
        let (Some(source), Some(own)) = (source, own) else {
            return;
        };
        let message = Icmp::NeighbourSolicitation { target };
        self.state.counters.solicitations_sent += 1;
        let options = [Opt::Source(own)];
        match to {
            None => {
                let group = solicited_node(target);
                self.say(interface, (source, group), message, &options, cx);
            }
            Some(to) => {
                let packet = discovery_packet(source, target, message, &options);
                self.down(interface, Address::from(to), packet, cx);
            }
        }
    }

    /// Sends a message of neighbour discovery.
    pub(super) fn say(
        &mut self,
        interface: usize,
        (source, destination): (Ipv6Addr, Ipv6Addr),
        message: Icmp,
        options: &[Opt<'_>],
        cx: &mut Context<'_>,
    ) {
        let packet = discovery_packet(source, destination, message, options);
        let reach = self.ports.get(interface).and_then(|port| V6::reach(port, destination));
        if let Some(reach) = reach {
            self.hand_down(Hop { interface, next: destination }, reach, packet, cx);
        }
    }

    /// Sends a packet to a neighbour whose link address is asked for, if it is not known.
    pub(super) fn ask(&mut self, hop: Hop, packet: Packet, cx: &mut Context<'_>) {
        let mut acts = Vec::new();
        if let Some(it) = self.discover_at(hop.interface) {
            it.cache.send(cx.now(), hop.next, packet, &mut acts);
        }
        self.act(hop.interface, acts, cx);
    }

    // Messages.

    /// Takes a message of neighbour discovery, which begins with its ICMP header (RFC 4861 sections 6.1 and 7.1).
    pub(super) fn discover(&mut self, about: &OriginalDatagram, mut message: Message, cx: &mut Context<'_>) {
        let header = about.header;
        let near = header.hop_limit == HOP_LIMIT && !about.reassembled;
        let Some(interface) = about.interface.filter(|_| near) else {
            self.ignore("neighbour discovery from beyond the link", cx);
            return;
        };
        if self.discover_at(interface).is_none() {
            self.ignore("neighbour discovery where there is none", cx);
            return;
        }
        let pseudo = pseudo(&header, message.len());
        if message.len() > LONGEST || !is_intact(&mut message, pseudo, cx) {
            self.ignore("neighbour discovery malformed", cx);
            return;
        }
        let octets = message.to_vec();
        let parsed = IcmpHeader::parse(octets.get(..octets.len().min(MAX_LEN)).unwrap_or_default());
        let Ok((parsed, len)) = parsed else {
            self.ignore("neighbour discovery malformed", cx);
            return;
        };
        let options: Result<Vec<Opt<'_>>, _> = Opts::new(octets.get(len..).unwrap_or_default()).collect();
        let code = octets.get(1).copied().unwrap_or_default();
        // Nobody's own link address is that of a group (as RFC 1812 section 3.3.2 has it of ARP): what is for one
        // neighbour would go to all on the link.
        let possible = |options: &[Opt<'_>]| {
            let macs = [source_mac(options), target_mac(options)];
            macs.into_iter().flatten().all(|mac| !mac.is_group())
        };
        let Some(options) = options.ok().filter(|it| code == 0 && possible(it)) else {
            self.ignore("neighbour discovery malformed", cx);
            return;
        };
        match parsed.message {
            Icmp::NeighbourSolicitation { target } => {
                self.solicited(interface, &header, target, &options, cx);
            }
            Icmp::NeighbourAdvertisement { router, solicited, overrides, target } => {
                let said = Advertised { target, mac: target_mac(&options), router, solicited, overrides };
                self.advertised(interface, &header, said, cx);
            }
            Icmp::RouterAdvertisement(told) => {
                self.router_advertised(interface, &header, told, &options, cx);
            }
            Icmp::RouterSolicitation => {
                // Routers learn who asks (section 6.2.6); advertisements are sent by others.
                if self.forwarding && !header.source.is_unspecified() {
                    let mac = source_mac(&options);
                    self.heard(interface, header.source, mac, false, cx);
                }
            }
            Icmp::Redirect { .. }
            | Icmp::DestinationUnreachable { .. }
            | Icmp::PacketTooBig { .. }
            | Icmp::TimeExceeded { .. }
            | Icmp::ParameterProblem { .. }
            | Icmp::Echo { .. }
            | Icmp::EchoReply { .. }
            | Icmp::Other { .. } => self.ignore("neighbour discovery of no consequence", cx),
        }
        self.set_discovery_timer(cx);
    }

    pub(super) fn ignore(&mut self, why: &'static str, cx: &mut Context<'_>) {
        self.state.counters.discovery_ignored += 1;
        cx.drop(why);
    }

    pub(super) fn heard(
        &mut self,
        interface: usize,
        from: Ipv6Addr,
        mac: Option<MacAddr>,
        router: bool,
        cx: &mut Context<'_>,
    ) {
        let mut acts = Vec::new();
        if let Some(it) = self.discover_at(interface) {
            it.cache.heard(cx.now(), from, mac, router, &mut acts);
        }
        self.act(interface, acts, cx);
    }

    /// Somebody asks for the link address of `target` (section 7.2.3).
    fn solicited(
        &mut self,
        interface: usize,
        header: &Header,
        target: Ipv6Addr,
        options: &[Opt<'_>],
        cx: &mut Context<'_>,
    ) {
        let source = header.source;
        let mac = source_mac(options);
        let nobody = source.is_unspecified();
        let proper = !nobody || mac.is_none() && header.destination == solicited_node(target);
        if target.is_multicast() || !proper {
            self.ignore("neighbour discovery malformed", cx);
            return;
        }
        let own = self.ports.get(interface).and_then(|port| {
            let mut own = port.own.iter();
            own.find(|it| it.address == target).map(|it| it.standing)
        });
        let mut is_proxy = false;
        match own {
            Some(AddressState::Ours) => {}
            // A gateway stands for all (section 7.2.8) but for who is known to be elsewhere on the link, or about to be
            // there.
            None if self.any_destination && !nobody && self.is_beyond(interface, target) => is_proxy = true,
            // Somebody else is about to take it too (RFC 4862 section 5.4.3).
            Some(AddressState::Tentative { .. }) if nobody => {
                self.lose(interface, target, cx);
                return;
            }
            Some(AddressState::Tentative { .. } | AddressState::Duplicate) | None => return,
        }
        if !nobody {
            self.heard(interface, source, mac, false, cx);
        }
        let Some(own) = self.discover_at(interface).and_then(|it| it.mac) else {
            return;
        };
        let router = self.forwarding || self.any_destination;
        let message = Icmp::NeighbourAdvertisement { router, solicited: !nobody, overrides: !is_proxy, target };
        let to = if nobody { ALL_NODES } else { source };
        self.state.counters.advertisements_sent += 1;
        self.say(interface, (target, to), message, &[Opt::Target(own)], cx);
    }

    /// Whether an address is one that a gateway stands for: none of the link alone, and nobody's who is known there.
    fn is_beyond(&mut self, interface: usize, address: Ipv6Addr) -> bool {
        let known = self.discover_at(interface).and_then(|it| it.cache.state(address));
        !address.is_unicast_link_local()
            && !address.is_loopback()
            && !address.is_unspecified()
            && known.is_none_or(|it| it == State::Incomplete)
    }

    /// A packet has come from `address`, by way of a link address: that is where answers go.
    pub(super) fn met(&mut self, interface: usize, address: Ipv6Addr, link: Address, cx: &mut Context<'_>) {
        let Some(mac) = link.get::<MacAddr>().filter(|it| !it.is_group()) else {
            return;
        };
        let own = self.ports.get(interface).is_some_and(|port| super::addresses::has(&port.own, address));
        if own || address.is_unspecified() || address.is_multicast() || address.is_loopback() {
            return;
        }
        let mut acts = Vec::new();
        let Some(it) = self.discover_at(interface) else {
            return;
        };
        let due = cx.now() + it.cache.reachable;
        if !it.cache.met(cx.now(), address, mac, &mut acts) {
            return;
        }
        self.act(interface, acts, cx);
        // Whoever is met is due after those who have been, so that not all need be looked at.
        if self.state.discovery_timer.deadline().is_none_or(|next| due < next) {
            self.set_discovery_timer(cx);
        }
    }

    /// Somebody else has an address that we were about to use.
    fn lose(&mut self, interface: usize, address: Ipv6Addr, cx: &mut Context<'_>) {
        self.state.counters.duplicates += 1;
        cx.drop("duplicate address: another node has one of ours");
        let own = self.ports.get_mut(interface).map(|port| &mut port.own);
        let mut own = own.into_iter().flatten();
        if let Some(own) = own.find(|it| it.address == address) {
            own.standing = AddressState::Duplicate;
            let by = own.by.unwrap_or(Authority::Owner);
            self.tell(Assignment { interface, by, change: Change::Duplicate(address.into()) }, cx);
        }
    }

    /// Somebody tells the link address of `said.target` (section 7.2.5).
    fn advertised(&mut self, interface: usize, header: &Header, said: Advertised, cx: &mut Context<'_>) {
        let target = said.target;
        if target.is_multicast() || said.solicited && header.destination.is_multicast() {
            self.ignore("neighbour discovery malformed", cx);
            return;
        }
        let own = self.ports.get(interface).and_then(|port| {
            let mut own = port.own.iter();
            own.find(|it| it.address == target).map(|it| it.standing)
        });
        match own {
            Some(AddressState::Tentative { .. }) => return self.lose(interface, target, cx),
            // An address that has been in use for a while stays in use (RFC 4862 section 5.4.4).
            Some(AddressState::Ours) => {
                self.state.counters.duplicates += 1;
                return cx.drop("duplicate address: another node has one of ours");
            }
            Some(AddressState::Duplicate) => return,
            None => {}
        }
        let mut acts = Vec::new();
        if let Some(it) = self.discover_at(interface)
            && it.cache.advertised(cx.now(), said, &mut acts)
            && it.routers.forget(target)
        {
            self.tell(default_by(interface, target).undone(), cx);
        }
        self.act(interface, acts, cx);
    }
}

pub(super) fn source_mac(options: &[Opt<'_>]) -> Option<MacAddr> {
    options.iter().find_map(|option| match option {
        Opt::Source(mac) => Some(*mac),
        Opt::Target(_)
        | Opt::Prefix(_)
        | Opt::Redirected(_)
        | Opt::Mtu(_)
        | Opt::Resolvers { .. }
        | Opt::Other { .. } => None,
    })
}

fn target_mac(options: &[Opt<'_>]) -> Option<MacAddr> {
    options.iter().find_map(|option| match option {
        Opt::Target(mac) => Some(*mac),
        Opt::Source(_)
        | Opt::Prefix(_)
        | Opt::Redirected(_)
        | Opt::Mtu(_)
        | Opt::Resolvers { .. }
        | Opt::Other { .. } => None,
    })
}

/// A message of neighbour discovery in its packet.
fn discovery_packet(source: Ipv6Addr, destination: Ipv6Addr, message: Icmp, options: &[Opt<'_>]) -> Packet {
    let mut data = Message::new();
    for option in options.iter().rev() {
        option.emit(data.push(option.len()));
    }
    let header = Header { hop_limit: HOP_LIMIT, source, destination, ..Header::default() };
    let mut icmp = IcmpHeader { message, checksum: 0 };
    icmp.emit(data.push(icmp.len()));
    let sum: Sum = pseudo(&header, data.len()).plus(data.sum());
    icmp.checksum = sum.checksum();
    let _ = data.pop(icmp.len());
    icmp.emit(data.push(icmp.len()));
    let options = UnitOptions { group: destination.is_multicast(), ..UnitOptions::NONE };
    Box::new(Unit { options, ..Unit::of(with_header(&header, next_header::ICMPV6, data)) })
}
