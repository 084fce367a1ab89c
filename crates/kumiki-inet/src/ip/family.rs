//! What the program of [`internet`](crate::internet) leaves to version 4.

use core::net::Ipv4Addr;

use kumiki_graph::{Address, Context, Key, Parameters, Unit};
use kumiki_octets::{Checksum, Message};
use kumiki_wire::inet::icmpv4::{self, unreachable};
use kumiki_wire::inet::ipv4::{self, Ecn, Header, MAX_LEN, MIN_LEN, Options, PlainHeader, protocol};
use kumiki_wire::inet::{IpParameters, ethernet::ethertype};
use kumiki_wire::numbering::{ETHER_TYPE, MAPOS_PROTOCOL, PPP_PROTOCOL};

use super::{Config, Hop, Ip, Kind, Neighbours, Port, errors, source_route};
use crate::Authority;
use crate::internet::{
    self, Family, Fragment, FragmentKey, HeaderFields, IcmpError, LinkDestination, Names, Outgoing, Overlap, UNIT,
};

/// All hosts on this network (RFC 1112 section 4).
const ALL_HOSTS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);

/// Version 4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct V4;

/// What only this version keeps.
#[derive(Debug)]
pub struct State {
    pub(super) config: Config,
    /// Addresses that mean us, or us too, in order: every datagram's are looked for here.
    pub(super) known: Vec<(u32, Kind)>,
}

type BareHeader = internet::BareHeader<Ipv4Addr>;

/// A datagram that an error may be about.
pub(super) type OriginalDatagram = internet::OriginalDatagram<V4>;

/// The most octets that can stand behind a header with `options`.
fn max_data(options: Options) -> usize {
    usize::from(u16::MAX) - MIN_LEN - options.len()
}

/// `data` behind `header`, whose length becomes right.
fn with_header(header: &mut Header, mut data: Message) -> Message {
    let total = header.len() + data.len();
    header.total_length = u16::try_from(total).unwrap_or(u16::MAX);
    header.emit_summed(data.push_header(header.len()));
    data
}

/// Whether no datagram may come from `source` (RFC 1122 section 3.2.1.3, RFC 1812 section 5.3.7); [`Ip`] knows more.
const fn is_martian(source: Ipv4Addr) -> bool {
    source.is_loopback() || source.is_multicast() || source.to_bits() >> 28 == 0xf
}

impl Family for V4 {
    type Address = Ipv4Addr;
    type Header = Header;
    type Options = Options;
    /// Each with how many bits its network has; the first one where none fits better.
    type LocalAddresses = Vec<(Ipv4Addr, u8)>;
    type Link = Neighbours;
    type State = State;

    const NAMES: Names = Names {
        other: (6, "of IPv6"),
        not_an_address: "destination is not an IPv4 address",
        hops_exceeded: "time to live exceeded",
        quotes_nothing: "ICMP error quotes no datagram",
        about_others: "ICMP error about a datagram of others",
        not_too_big: "ICMP error about a datagram that is not too big",
        icmp: protocol::ICMP,
        unreachable: 3,
        time_exceeded: 11,
        parameter: 12,
        no_route: unreachable::NET,
        no_neighbour: unreachable::HOST,
        fatal: &[unreachable::PROTOCOL, unreachable::PORT],
        port: unreachable::PORT,
        path: errors::path,
    };
    const HEADER_LEN: u32 = 20;
    const MOST_DATA: u32 = 65535 - 20;
    const ROUTERS_CUT: bool = true;
    const KEEPS_WAYS: bool = true;
    const OVERLAP: Overlap = Overlap::First;
    const QUOTED: usize = errors::QUOTED;
    const SHOWN: usize = icmpv4::QUOTED_DATA;

    fn keys() -> Vec<Key> {
        vec![
            Key::of(ETHER_TYPE, ethertype::IPV4),
            Key::of(PPP_PROTOCOL, ipv4::PPP_PROTOCOL),
            Key::of(MAPOS_PROTOCOL, ipv4::MAPOS_PROTOCOL),
        ]
    }

    fn adopt(ip: &mut Ip, interface: usize, local: Address, remote: Address) {
        ip.adopt(interface, local, remote);
    }

    fn is_ours(ip: &Ip, address: Ipv4Addr) -> bool {
        ip.kind(address) == Some(Kind::Own)
    }

    fn is_group(ip: &Ip, address: Ipv4Addr) -> bool {
        address.is_multicast() || address.is_broadcast() || ip.kind(address) == Some(Kind::Broadcast)
    }

    fn listens_to(ip: &Ip, address: Ipv4Addr) -> bool {
        if address.is_multicast() {
            return address == ALL_HOSTS || ip.has_joined(address);
        }
        ip.kind(address).is_some() || address.is_broadcast()
    }

    fn hop(ip: &mut Ip, to: Ipv4Addr, source: Option<Ipv4Addr>, by: Option<usize>) -> Option<Hop> {
        let routed = || ip.routes.lookup(to, |interface| ip.is_up(interface) && by.is_none_or(|by| by == interface));
        if !(to.is_multicast() || to.is_broadcast()) {
            return routed();
        }
        // Not a matter of networks: the interface that is said, the source's, a route for the group, or the first
        // interface there is.
        let own = source.and_then(|source| ip.ports.iter().position(|port| Self::has(port, source)));
        let on = |interface| Hop { interface, next: to };
        by.or(own).map(on).or_else(|| routed().filter(|_| to.is_multicast())).or_else(|| ip.first_up().map(on))
    }

    fn may_come_from_nobody(to: Ipv4Addr) -> bool {
        to.is_broadcast()
    }

    /// The one on the network of the next hop, or else the first. To all hosts it may be none: who asks for an address
    /// has none (RFC 1122 section 3.2.1.3 (a)).
    fn select(ip: &Ip, hop: Hop, to: Ipv4Addr) -> Option<Ipv4Addr> {
        let own = &ip.ports.get(hop.interface)?.own;
        let is_near = |(own, prefix): &&(Ipv4Addr, u8)| {
            let mask = <Ipv4Addr as internet::Bits>::mask(*prefix);
            own.to_bits() & mask == hop.next.to_bits() & mask
        };
        let found = own.iter().find(is_near).or_else(|| own.first()).map(|(own, _)| *own);
        found.or_else(|| to.is_broadcast().then_some(Ipv4Addr::UNSPECIFIED))
    }

    fn has(port: &Port, address: Ipv4Addr) -> bool {
        port.own.iter().any(|(own, _)| *own == address)
    }

    fn is_resolved_below(port: &Port) -> bool {
        port.link == Neighbours::Below
    }

    fn add(ip: &mut Ip, interface: usize, own: (Ipv4Addr, u8), _: Authority, _: &mut Context<'_>) -> Option<bool> {
        ip.ports.get_mut(interface)?.own.push(own);
        ip.learn_own();
        Some(true)
    }

    fn remove(ip: &mut Ip, interface: usize, address: Ipv4Addr) -> Option<u8> {
        let own = &mut ip.ports.get_mut(interface)?.own;
        let place = own.iter().position(|(own, _)| *own == address)?;
        let (_, prefix) = own.remove(place);
        if let Some(it) = ip.state.config.interfaces.get_mut(interface)
            && it.address == address
        {
            it.address = Ipv4Addr::UNSPECIFIED;
        }
        ip.learn_own();
        Some(prefix)
    }

    fn reach(port: &Port, next: Ipv4Addr) -> Option<LinkDestination> {
        let link = match &port.link {
            Neighbours::One => Address::NONE,
            Neighbours::Below => Address::from(next),
            Neighbours::Table(table) => table.iter().find(|(neighbour, _)| *neighbour == next)?.1,
        };
        Some(LinkDestination::At(link))
    }

    fn facts(header: &Header) -> HeaderFields<Ipv4Addr> {
        let how = IpParameters {
            ttl: header.time_to_live,
            tos: header.type_of_service,
            dont_fragment: header.dont_fragment,
            identification: header.identification,
            ..IpParameters::NONE
        };
        let Header { source, destination, total_length, .. } = *header;
        HeaderFields { source, destination, how, len: header.len(), total: total_length.into() }
    }

    fn is_plain(header: &Header) -> bool {
        header.options.is_empty()
    }

    fn parse(datagram: &mut Message) -> Option<Header> {
        let total = datagram.len();
        let front = datagram.front_at_least(MIN_LEN);
        let len = 4 * usize::from(front.first()? & 0xf);
        let front = if front.len() < len { datagram.front_at_least(len) } else { front };
        let (header, _) = Header::parse(front, total).ok()?;
        // Links pad short frames.
        datagram.truncate(usize::from(header.total_length));
        Some(header)
    }

    #[inline]
    fn plain(datagram: &mut Message, source: Ipv4Addr, destination: Ipv4Addr) -> Option<BareHeader> {
        let total = datagram.len();
        let front = datagram.front_at_least(MIN_LEN).first_chunk()?;
        let header = PlainHeader::between(source, destination, front, total)?;
        let how = IpParameters {
            ttl: header.time_to_live,
            tos: header.type_of_service,
            dont_fragment: header.dont_fragment,
            identification: header.identification,
            ..IpParameters::NONE
        };
        Some(BareHeader { protocol: header.protocol, source, destination, how })
    }

    #[inline]
    fn put_plain(plain: &BareHeader, data: &mut Message) {
        let BareHeader { protocol, source, destination, how } = *plain;
        let header = PlainHeader {
            type_of_service: how.tos,
            total_length: u16::try_from(data.len() + MIN_LEN).unwrap_or(u16::MAX),
            identification: how.identification,
            dont_fragment: how.dont_fragment,
            time_to_live: how.ttl,
            protocol,
            source,
            destination,
        };
        data.push_header_octets(&header.octets());
    }

    fn parse_quoted(datagram: &mut Message) -> Option<Header> {
        Header::parse_quoted(datagram.front_at_least(MAX_LEN)).ok().map(|(header, _)| header)
    }

    fn header(outgoing: &Outgoing<Self>, source: Ipv4Addr, len: usize) -> Option<Header> {
        let Outgoing { protocol, destination, how, options, .. } = *outgoing;
        Some(Header {
            type_of_service: how.tos,
            total_length: u16::try_from(len.saturating_add(MIN_LEN + options.len())).ok()?,
            identification: how.identification,
            dont_fragment: how.dont_fragment,
            time_to_live: how.ttl,
            protocol,
            source,
            destination,
            options,
            ..Header::default()
        })
    }

    fn emit(header: &Header, out: &mut [u8]) {
        header.emit_summed(out);
    }

    fn onward(header: &Header) -> Header {
        header.one_hop_on()
    }

    fn emit_hop(header: &Header, out: &mut [u8]) {
        header.emit_hop(out);
    }

    #[inline]
    fn options(to: Ipv4Addr, parameters: &Parameters) -> Result<(Ipv4Addr, Options), &'static str> {
        source_route::routed(to, parameters.get()).ok_or("source route too long")
    }

    fn complete(
        ip: &mut Ip,
        outgoing: &mut Outgoing<Self>,
        _: (Ipv4Addr, Option<Hop>),
        data: &mut Message,
    ) -> Result<(), &'static str> {
        if data.len() > max_data(outgoing.options) {
            return Err("longer than a datagram can be");
        }
        let State { config, .. } = &ip.state;
        let how = &mut outgoing.how;
        how.dont_fragment &= outgoing.protocol != protocol::TCP || config.path_mtu_discovery;
        if how.ttl == 0 {
            how.ttl = config.ttl;
        }
        // RFC 6864 section 4.
        how.identification = 0;
        if !how.dont_fragment || config.number_atomic {
            ip.identification = ip.identification.wrapping_add(1);
            let [.., high, low] = ip.identification.to_be_bytes();
            how.identification = u16::from_be_bytes([high, low]);
        }
        Ok(())
    }

    fn refusal(ip: &Ip, about: &OriginalDatagram) -> Option<(&'static str, Option<IcmpError>)> {
        let outside = about.interface.is_some();
        let Header { source, destination, .. } = about.header;
        if outside && (is_martian(source) || ip.kind(source) == Some(Kind::Broadcast)) {
            Some(("invalid source address", None))
        } else if outside && (destination.is_loopback() || destination.octets().starts_with(&[0])) {
            Some(("invalid destination address", None))
        } else if source_route::is_live(&about.header) {
            Some(("source route", Some(IcmpError::Unreachable(unreachable::SOURCE_ROUTE_FAILED))))
        } else {
            None
        }
    }

    fn take_ours(ip: &mut Ip, about: &OriginalDatagram, unit: Box<Unit>, cx: &mut Context<'_>) {
        if about.header.is_fragment() {
            ip.take_fragment(about, unit, cx);
        } else {
            ip.deliver(about, unit, cx);
        }
    }

    fn told(header: &Header) -> Parameters {
        source_route::back(header).map_or(Parameters::NONE, Parameters::of)
    }

    fn may_pass(ip: &mut Ip, about: &OriginalDatagram, _: &Message, cx: &mut Context<'_>) -> bool {
        let Header { source, destination, .. } = about.header;
        // 0/8 and 240/4 lead nowhere; a source in 0/8 is nobody's.
        let nowhere = destination.to_bits() >> 28 == 0xf || source.octets().starts_with(&[0]);
        if nowhere {
            ip.refuse_address("address that must not be forwarded", cx);
        }
        !nowhere
    }

    fn room(header: &Header, is_first: bool, mtu: usize) -> usize {
        let options = if is_first { header.options } else { header.options.for_later_fragments() };
        mtu.saturating_sub(MIN_LEN + options.len())
    }

    fn fragment(_: &mut Ip, header: &Header, at: usize, more: bool, data: Message) -> Message {
        let mut piece = *header;
        piece.more_fragments |= more;
        // At most 65535 octets in units of 8, which is less than 13 bits hold.
        piece.fragment_offset += u16::try_from(at / UNIT).unwrap_or(0);
        if at > 0 {
            piece.options = header.options.for_later_fragments();
        }
        with_header(&mut piece, data)
    }

    fn rejoin(header: &mut Header, _: u8, ecn: Option<Ecn>, data: Message) -> Option<Message> {
        if let Some(ecn) = ecn {
            header.more_fragments = false;
            header.set_ecn(ecn);
        }
        (data.len() <= max_data(header.options)).then(|| with_header(header, data))
    }

    fn emit_icmp(trouble: IcmpError, checksum: u16) -> [u8; 8] {
        let mut octets = [0; icmpv4::MIN_LEN];
        icmpv4::Header { message: errors::message(trouble), checksum }.emit(&mut octets);
        octets
    }

    fn pop_icmp(message: &mut Message) -> Option<Option<IcmpError>> {
        let (header, len) = icmpv4::Header::parse(message.front_at_least(icmpv4::MIN_LEN)).ok()?;
        let _ = message.pop(len);
        Some(errors::trouble(header.message))
    }

    fn is_answerable(ip: &Ip, about: &OriginalDatagram, _: IcmpError, datagram: &Message) -> bool {
        errors::is_answerable(ip, about, datagram)
    }

    fn error_tos(tos: u8) -> u8 {
        errors::tos(tos)
    }

    fn believed(mtu: u32, total: u32) -> Option<u32> {
        Some(if mtu == 0 { errors::plateau_below(total) } else { mtu })
    }

    fn carried(header: &Header, _: &mut Message) -> Option<(u8, Option<usize>)> {
        Some((header.protocol, (header.fragment_offset == 0).then_some(header.len())))
    }

    /// RFC 9293 MUST-54.
    fn peer(quoted: &Header) -> Ipv4Addr {
        quoted.last_destination().unwrap_or(quoted.destination)
    }
}

impl Ip {
    /// Takes a fragment of a datagram for us.
    fn take_fragment(&mut self, about: &OriginalDatagram, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        self.counters.reasm_reqds += 1;
        let header = &about.header;
        let mut data = core::mem::take(&mut unit.data);
        // Sums cover single fragments: of no use for the whole.
        data.meta_mut().checksum = Checksum::Unknown;
        let _ = data.pop(header.len());
        let (first, last) = (header.fragment_start(), !header.more_fragments);
        let misfit = !last && (data.is_empty() || !data.len().is_multiple_of(UNIT));
        if misfit || first + data.len() > max_data(header.options) {
            self.broken(cx);
            return;
        }
        let key = FragmentKey {
            source: header.source,
            destination: header.destination,
            protocol: header.protocol,
            identification: header.identification.into(),
        };
        let head = (*about, header.protocol);
        let fragment = Fragment { key, first, last, head, ecn: header.ecn(), data: &data };
        self.reassemble(fragment, unit, cx);
    }

    /// Hands a whole datagram to its user.
    fn deliver(&mut self, about: &OriginalDatagram, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let (protocol, len) = (about.header.protocol, about.header.len());
        if protocol == protocol::ICMP && errors::is_error(len, &mut unit.data) {
            // The header was read, so it is there.
            let _ = unit.data.pop_header(len);
            self.hear_error(&about.header, unit.data, cx);
        } else if let Err(unit) = self.hand_up(about, (protocol, len), unit, cx) {
            self.counters.in_unknown_protos += 1;
            cx.drop("no user for the protocol");
            if protocol != protocol::ICMP {
                self.error(about, IcmpError::Unreachable(unreachable::PROTOCOL), &unit.data, cx);
            }
        }
    }
}
