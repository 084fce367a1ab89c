//! What the program of [`internet`](crate::internet) leaves to version 6.

use core::net::Ipv6Addr;

use kumiki_graph::{Address, Context, Instant, Key, Manage, TimerSlot, Unit};
use kumiki_octets::{Message, Sum};
use kumiki_wire::inet::IpParameters;
use kumiki_wire::inet::ethernet::{MacAddr, ethertype};
use kumiki_wire::inet::icmpv6::{self, kind, parameter, unreachable};
use kumiki_wire::inet::ipv4::Ecn;
use kumiki_wire::inet::ipv6::extension::{FRAGMENT_LEN, Fragment as FragmentHeader};
use kumiki_wire::inet::ipv6::{self, Header, LEN, MIN_MTU, PAYLOAD_LENGTH_OFFSET, next_header, solicited_node};
use kumiki_wire::numbering::{ETHER_TYPE, PPP_PROTOCOL};

use super::addresses::{self, AddressState, LocalAddress, scope};
use super::discovery::Link;
use super::paths::Paths;
use super::{Config, DiscoveryCounters, Hop, Ip, MAX_PAYLOAD, Port, errors};
use crate::Authority;
use crate::internet::{
    self, Family, Fragment, FragmentKey, HeaderFields, IcmpError, LinkDestination, Names, Outgoing, Overlap, UNIT,
};

/// Version 6.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct V6;

/// What only this version keeps.
#[derive(Debug)]
pub struct State {
    pub(super) config: Config,
    pub(super) discovery_timer: TimerSlot,
    pub(super) paths: Paths,
    pub(super) counters: DiscoveryCounters,
}

/// A packet that an error may be about.
pub(super) type OriginalDatagram = internet::OriginalDatagram<V6>;

/// `data` behind a header as `header`, but for what follows it and how long that is.
pub(super) fn with_header(header: &Header, next_header: u8, mut data: Message) -> Message {
    let header = Header { payload_length: u16::try_from(data.len()).unwrap_or(u16::MAX), next_header, ..*header };
    header.emit(data.push_header(LEN));
    data
}

/// The hop limit of packets that leave by `hop`, where the user has not said one.
fn hop_limit(ip: &Ip, hop: Option<Hop>) -> u8 {
    let port = hop.and_then(|hop| ip.ports.get(hop.interface));
    let told = port.and_then(|port| match &port.link {
        Link::Discover(it) => it.hop_limit,
        Link::One | Link::Table(_) => None,
    });
    told.unwrap_or(ip.state.config.hop_limit)
}

impl Family for V6 {
    type Address = Ipv6Addr;
    type Header = Header;
    type Options = ();
    type LocalAddresses = Vec<LocalAddress>;
    type Link = Link;
    type State = State;

    const NAMES: Names = Names {
        other: (4, "of IPv4"),
        not_an_address: "destination is not an IPv6 address",
        hops_exceeded: "hop limit exceeded",
        quotes_nothing: "ICMP error quotes no packet",
        about_others: "ICMP error about a packet of others",
        not_too_big: "ICMP error about a packet that is not too big",
        icmp: next_header::ICMPV6,
        unreachable: kind::UNREACHABLE,
        time_exceeded: kind::TIME_EXCEEDED,
        parameter: kind::PARAMETER,
        no_route: unreachable::NO_ROUTE,
        no_neighbour: unreachable::ADDRESS,
        fatal: &[unreachable::PORT],
        port: unreachable::PORT,
        path: errors::path,
    };
    const HEADER_LEN: u32 = 40;
    const MOST_DATA: u32 = 65535;
    const ROUTERS_CUT: bool = false;
    const KEEPS_WAYS: bool = false;
    const OVERLAP: Overlap = Overlap::Refuse;
    const QUOTED: usize = errors::QUOTED;
    const SHOWN: usize = 64;

    fn keys() -> Vec<Key> {
        vec![Key::of(ETHER_TYPE, ethertype::IPV6), Key::of(PPP_PROTOCOL, ipv6::PPP_PROTOCOL)]
    }

    fn asks(port: &Port) -> Option<Manage> {
        let discovers = matches!(port.link, Link::Discover(_));
        discovers.then(|| Manage::Route { to: Address::from(MacAddr::BROADCAST) })
    }

    fn is_called(ip: &mut Ip, interface: usize, own: Address, cx: &mut Context<'_>) {
        if let Some(mac) = own.get() {
            ip.begin_discovery(interface, mac, cx);
        }
    }

    /// PPP below has agreed on the identifier that our address on this link has (RFC 5072).
    fn adopt(ip: &mut Ip, interface: usize, local: Address, _: Address) {
        if let Some((port, local)) = ip.ports.get_mut(interface).zip(local.get::<Ipv6Addr>())
            && local.is_unicast_link_local()
            && !matches!(port.link, Link::Discover(_))
        {
            port.own.retain(|it| !it.address.is_unicast_link_local());
            port.own.push(LocalAddress::new(local, AddressState::Ours));
        }
    }

    fn expire(ip: &mut Ip, cx: &mut Context<'_>) {
        cx.clear_timer(&mut ip.state.discovery_timer);
        ip.tick(cx);
    }

    fn is_ours(ip: &Ip, address: Ipv6Addr) -> bool {
        ip.ports.iter().any(|port| addresses::has(&port.own, address))
    }

    fn is_group(_: &Ip, address: Ipv6Addr) -> bool {
        address.is_multicast()
    }

    /// Groups: RFC 4291 section 2.8.
    fn listens_to(ip: &Ip, address: Ipv6Addr) -> bool {
        if !address.is_multicast() {
            return Self::is_ours(ip, address);
        }
        let mut own = ip.ports.iter().flat_map(|port| &port.own);
        address == ipv6::ALL_NODES
            || address == ipv6::ALL_ROUTERS && ip.forwarding
            || ip.has_joined(address)
            || own.any(|it| solicited_node(it.address) == address)
            // Whoever is asked for is here.
            || ip.any_destination && solicited_node(address) == address
    }

    fn hop(ip: &mut Ip, to: Ipv6Addr, source: Option<Ipv6Addr>, by: Option<usize>) -> Option<Hop> {
        let own = by.or_else(|| source.and_then(|source| ip.ports.iter().position(|port| Self::has(port, source))));
        let own = own.filter(|&interface| ip.is_up(interface));
        let first_up = || ip.first_up().filter(|_| by.is_none());
        let on = |interface| Hop { interface, next: to };
        if scope(to) <= 2 {
            // Of one link: the source says which.
            return own.or_else(first_up).map(on);
        }
        let routed = ip.routes.lookup(to, |interface| ip.is_up(interface) && by.is_none_or(|by| by == interface));
        if to.is_multicast() {
            let routed = routed.map(|hop| hop.interface);
            return own.or(routed).or_else(first_up).map(on);
        }
        routed.or_else(|| ip.default_router(by))
    }

    fn has(port: &Port, address: Ipv6Addr) -> bool {
        addresses::has(&port.own, address)
    }

    /// One of that interface, or else of another.
    fn select(ip: &Ip, hop: Hop, to: Ipv6Addr) -> Option<Ipv6Addr> {
        let here = ip.ports.get(hop.interface);
        let found = here.and_then(|port| addresses::select(&port.own, to));
        let elsewhere = || {
            let mut ports = ip.ports.iter();
            let global = scope(to) > 2;
            ports.find_map(|port| addresses::select(&port.own, to).filter(|_| global))
        };
        found.or_else(elsewhere)
    }

    fn add(
        ip: &mut Ip,
        interface: usize,
        (address, prefix): (Ipv6Addr, u8),
        by: Authority,
        cx: &mut Context<'_>,
    ) -> Option<bool> {
        let standing = ip.standing_of_new(interface, cx.now());
        // One that is asked about, or that is somebody else's, starts again.
        if let Some(before) = Self::remove(ip, interface, address) {
            ip.routes.remove(address, before, interface, None);
        }
        let own = &mut ip.ports.get_mut(interface)?.own;
        own.push(LocalAddress { by: Some(by), prefix: Some(prefix), ..LocalAddress::new(address, standing) });
        ip.tick(cx);
        Some(standing == AddressState::Ours)
    }

    fn remove(ip: &mut Ip, interface: usize, address: Ipv6Addr) -> Option<u8> {
        let own = &mut ip.ports.get_mut(interface)?.own;
        let place = own.iter().position(|it| it.address == address)?;
        // Made ones have no route of their own.
        Some(own.remove(place).prefix.unwrap_or(128))
    }

    /// What routers say considered (RFC 4861 section 6.3.4).
    fn mtu(port: &Port) -> u32 {
        match &port.link {
            Link::Discover(it) => it.mtu.unwrap_or(port.mtu).min(port.mtu),
            Link::One | Link::Table(_) => port.mtu,
        }
    }

    fn path_mtu(ip: &Ip, to: Ipv6Addr, now: Instant) -> u32 {
        ip.state.paths.mtu(to, now)
    }

    fn narrow(ip: &mut Ip, to: Ipv6Addr, mtu: u32, now: Instant) {
        ip.state.paths.narrow(to, mtu, now);
    }

    fn reach(port: &Port, next: Ipv6Addr) -> Option<LinkDestination> {
        match &port.link {
            Link::One => Some(LinkDestination::At(Address::NONE)),
            Link::Table(table) => {
                table.iter().find(|(known, _)| *known == next).map(|(_, link)| LinkDestination::At(*link))
            }
            Link::Discover(it) => {
                let at = |_| {
                    if next.is_multicast() {
                        LinkDestination::At(MacAddr::of_ipv6_group(next).into())
                    } else {
                        LinkDestination::Asked
                    }
                };
                it.mac.map(at)
            }
        }
    }

    fn met(ip: &mut Ip, interface: usize, (address, link): (Ipv6Addr, Address), cx: &mut Context<'_>) {
        ip.met(interface, address, link, cx);
    }

    fn ask(ip: &mut Ip, hop: Hop, unit: Box<Unit>, cx: &mut Context<'_>) {
        ip.ask(hop, unit, cx);
    }

    fn facts(header: &Header) -> HeaderFields<Ipv6Addr> {
        let Header { source, destination, traffic_class, hop_limit, payload_length, .. } = *header;
        let how = IpParameters { ttl: hop_limit, tos: traffic_class, ..IpParameters::NONE };
        HeaderFields { source, destination, how, len: LEN, total: u32::from(payload_length) + Self::HEADER_LEN }
    }

    fn is_plain(_: &Header) -> bool {
        // What follows is not known here.
        false
    }

    fn parse(packet: &mut Message) -> Option<Header> {
        let total = packet.len();
        let (header, len) = Header::parse(packet.front_at_least(LEN), total).ok()?;
        // Links pad short frames.
        if packet.meta().segment_size == 0 {
            packet.truncate(len + usize::from(header.payload_length));
        }
        Some(header)
    }

    fn parse_quoted(packet: &mut Message) -> Option<Header> {
        Header::parse_quoted(packet.front_at_least(LEN)).ok().map(|(header, _)| header)
    }

    fn header(outgoing: &Outgoing<Self>, source: Ipv6Addr, len: usize) -> Option<Header> {
        Some(Header {
            traffic_class: outgoing.how.tos,
            flow_label: 0,
            // A super-segment may be longer; its segments are not.
            payload_length: u16::try_from(len).unwrap_or(u16::MAX),
            next_header: outgoing.protocol,
            hop_limit: outgoing.how.ttl,
            source,
            destination: outgoing.destination,
        })
    }

    fn emit(header: &Header, out: &mut [u8]) {
        header.emit(out);
    }

    fn onward(header: &Header) -> Header {
        Header { hop_limit: header.hop_limit.saturating_sub(1), ..*header }
    }

    fn complete(
        ip: &mut Ip,
        outgoing: &mut Outgoing<Self>,
        (source, hop): (Ipv6Addr, Option<Hop>),
        data: &mut Message,
    ) -> Result<(), &'static str> {
        let fits = data.len() <= MAX_PAYLOAD || data.meta().segment_size != 0;
        if !fits || outgoing.destination.is_unspecified() {
            return Err("longer than a packet can be, or without a destination");
        }
        if outgoing.protocol == next_header::ICMPV6 {
            errors::add_addresses(data, source, outgoing.destination);
        }
        if outgoing.how.ttl == 0 {
            outgoing.how.ttl = hop_limit(ip, hop);
        }
        Ok(())
    }

    /// RFC 4291 sections 2.5.2, 2.5.3 and 2.7.
    fn refusal(_: &Ip, about: &OriginalDatagram) -> Option<(&'static str, Option<IcmpError>)> {
        let outside = about.interface.is_some();
        let Header { source, destination, .. } = about.header;
        if source.is_multicast() {
            Some(("invalid source address", None))
        } else if destination.is_unspecified() || outside && (scope(destination) <= 1 || source.is_loopback()) {
            Some(("invalid address", None))
        } else {
            None
        }
    }

    fn take_ours(ip: &mut Ip, about: &OriginalDatagram, unit: Box<Unit>, cx: &mut Context<'_>) {
        ip.take_ours(about, unit, cx);
    }

    /// Neighbour discovery: RFC 4861 section 4. From beyond the link none of it has this hop limit, and nobody believes
    /// it.
    fn is_of_link(about: &OriginalDatagram, packet: &Message) -> bool {
        const MESSAGES: core::ops::RangeInclusive<u8> = kind::ROUTER_SOLICITATION..=kind::REDIRECT;
        let mut first = [0];
        about.header.next_header == next_header::ICMPV6
            && about.header.hop_limit == 255
            && packet.copy_to(LEN, &mut first)
            && MESSAGES.contains(&first[0])
    }

    fn may_pass(ip: &mut Ip, about: &OriginalDatagram, packet: &Message, cx: &mut Context<'_>) -> bool {
        let Header { source, destination, next_header, .. } = about.header;
        if next_header == next_header::HOP_BY_HOP && !ip.pass_hop(about, packet, cx) {
            return false;
        }
        if scope(destination) <= 2 {
            ip.refuse_address("address that must not be forwarded", cx);
            return false;
        }
        if scope(source) <= 2 {
            ip.refuse_address("source of another link", cx);
            // RFC 4291 section 2.5.6; RFC 4443 section 3.1.
            ip.error(about, IcmpError::Unreachable(unreachable::BEYOND_SCOPE), packet, cx);
            return false;
        }
        true
    }

    fn room(_: &Header, _: bool, mtu: usize) -> usize {
        // An MTU is at least 1280, so this is never nothing.
        let room = mtu.saturating_sub(LEN + FRAGMENT_LEN) / UNIT * UNIT;
        room.max(UNIT)
    }

    fn fragment(ip: &mut Ip, header: &Header, at: usize, more: bool, mut data: Message) -> Message {
        if at == 0 {
            ip.identification = ip.identification.wrapping_add(1);
        }
        let fragment = FragmentHeader {
            next_header: header.next_header,
            // At most 65535 octets in units of 8, which is less than 13 bits hold.
            offset: u16::try_from(at / UNIT).unwrap_or(0),
            more,
            identification: ip.identification,
        };
        fragment.emit(data.push(FRAGMENT_LEN));
        with_header(header, next_header::FRAGMENT, data)
    }

    fn rejoin(header: &mut Header, next: u8, ecn: Option<Ecn>, data: Message) -> Option<Message> {
        if data.len() > MAX_PAYLOAD {
            return None;
        }
        if let Some(ecn) = ecn {
            header.set_ecn(ecn);
        }
        header.next_header = next;
        header.payload_length = u16::try_from(data.len()).unwrap_or(u16::MAX);
        Some(with_header(header, next, data))
    }

    fn emit_icmp(trouble: IcmpError, checksum: u16) -> [u8; 8] {
        let mut octets = [0; icmpv6::MIN_LEN];
        icmpv6::Header { message: errors::message(trouble), checksum }.emit(&mut octets);
        octets
    }

    fn pop_icmp(message: &mut Message) -> Option<Option<IcmpError>> {
        let (header, len) = icmpv6::Header::parse(message.front_at_least(icmpv6::MIN_LEN)).ok()?;
        let _ = message.pop(len);
        Some(errors::trouble(header.message))
    }

    fn icmp_pseudo(header: &Header, len: usize) -> Sum {
        errors::pseudo(header, len)
    }

    fn is_answerable(_: &Ip, about: &OriginalDatagram, trouble: IcmpError, packet: &Message) -> bool {
        errors::is_answerable(about, trouble, packet)
    }

    /// RFC 4443 section 2.2.
    fn has_answer(ip: &mut Ip, about: &OriginalDatagram) -> bool {
        let Header { source, destination, .. } = about.header;
        let spoken_to = Some(destination).filter(|&address| ip.speaks_for(address));
        let hop = Self::hop(ip, source, spoken_to, None);
        spoken_to.is_some() || hop.is_some_and(|hop| Self::select(ip, hop, source).is_some())
    }

    /// RFC 8201 section 4: what no link may be is not believed.
    fn believed(mtu: u32, _: u32) -> Option<u32> {
        (mtu as usize >= MIN_MTU).then_some(mtu)
    }

    fn carried(header: &Header, packet: &mut Message) -> Option<(u8, Option<usize>)> {
        errors::upper(header, packet).map(|(protocol, at)| (protocol, Some(at)))
    }

    fn peer(quoted: &Header) -> Ipv6Addr {
        quoted.destination
    }
}

impl Ip {
    /// Takes a fragment of a packet for us, whose fragment header stands at `at`.
    pub(super) fn take_fragment(
        &mut self,
        about: &OriginalDatagram,
        fragment: FragmentHeader,
        at: usize,
        unit: Box<Unit>,
        cx: &mut Context<'_>,
    ) {
        self.counters.reasm_reqds += 1;
        let packet = &unit.data;
        let behind = at + FRAGMENT_LEN;
        let Ok(data) = packet.share(behind, packet.len().saturating_sub(behind)) else {
            return;
        };
        let (first, last) = (fragment.start(), !fragment.more);
        let pointer = if !last && !data.len().is_multiple_of(UNIT) {
            Some(PAYLOAD_LENGTH_OFFSET)
        } else if first + data.len() > MAX_PAYLOAD {
            Some(at + 2)
        } else {
            None
        };
        if let Some(pointer) = pointer {
            self.broken(cx);
            let pointer = u32::try_from(pointer).unwrap_or(0);
            self.error(about, IcmpError::Parameter(parameter::FIELD, pointer), packet, cx);
            return;
        }
        if data.is_empty() && !last {
            self.broken(cx);
            return;
        }
        let Header { source, destination, .. } = about.header;
        let key = FragmentKey { source, destination, protocol: 0, identification: fragment.identification };
        let head = (*about, fragment.next_header);
        let fragment = Fragment { key, first, last, head, ecn: about.header.ecn(), data: &data };
        self.reassemble(fragment, unit, cx);
    }
}
