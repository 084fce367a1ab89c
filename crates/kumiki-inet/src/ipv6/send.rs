//! A user's unit becomes a packet.

use crate::IpProtocol;
use core::net::Ipv6Addr;
use kumiki_wire::inet::IpParameters;

use kumiki_graph::{
    Above, Address, Context, Duration, Indication, Instant, Problem, Report, Request, Unit, UnitOptions,
};
use kumiki_octets::{Checksum, Message, Sum};
use kumiki_wire::inet::ethernet::MacAddr;
use kumiki_wire::inet::icmpv6::{CHECKSUM_OFFSET, MIN_LEN, unreachable};
use kumiki_wire::inet::ipv6::{self, Header, next_header};

use super::discovery::Link;
use super::{Hop, Ip, MAX_PAYLOAD, errors};
use crate::internet::readdress;

/// Octets of the header that we make.
pub(super) const HEADER_LEN: u32 = 40;
/// How long a path is held for narrow (RFC 8201 section 4).
const PATH_LIFETIME: Duration = Duration::from_secs(600);
/// How many narrow paths are remembered.
const PATHS: usize = 256;
/// How much of a unit that did not leave is shown to its user.
const SHOWN: usize = 64;

/// Why a packet did not leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refused {
    /// No route, or none that is up.
    NoRoute,
    /// The next hop's link address is not known.
    NoNeighbour,
    /// It must not be fragmented, and is longer than this.
    TooBig(u32),
    /// It cannot be sent in any way.
    Impossible(&'static str),
}

/// A user's unit that did not leave.
#[derive(Debug)]
pub(super) struct Unsent {
    refused: Refused,
    /// The source that it was to have, if one was found.
    source: Option<Ipv6Addr>,
    unit: Box<Unit>,
}

impl Ip {
    pub(super) fn send(&mut self, from: Above, unit: Box<Unit>, cx: &mut Context<'_>) {
        self.counters.out_requests += 1;
        let Some(destination) = unit.destination.get::<Ipv6Addr>() else {
            self.discard("destination is not an IPv6 address", cx);
            return;
        };
        let Some(IpProtocol(protocol)) = self.users.number(from, unit.options.under) else {
            self.discard("no protocol number", cx);
            return;
        };
        let source: Option<Ipv6Addr> = unit.source.get();
        let is_open = unit.source.is_none() || source.is_some_and(|it| it.is_unspecified());
        let source = source.filter(|_| !is_open);
        if !is_open && !source.is_some_and(|it| self.is_local(it)) {
            self.discard("source is not ours", cx);
            return;
        }
        let sent = self.originate(protocol, source, destination, unit.options.special.into(), unit, cx);
        if let Err(unsent) = sent
            && let Some(problem) = unsent.refused.problem()
        {
            let Unit { destination, data: mut start, .. } = *unsent.unit;
            start.truncate(SHOWN);
            let report = Report::Unreachable {
                source: unsent.source.map_or(Address::NONE, Address::from),
                destination,
                problem,
                start,
            };
            cx.up(from, Indication::Report(Box::new(report)));
        }
    }

    /// Sends the data of `unit` in a packet of our own, and gives the unit back as it was where it did not leave.
    pub(super) fn originate(
        &mut self,
        protocol: u8,
        source: Option<Ipv6Addr>,
        destination: Ipv6Addr,
        options: IpParameters,
        mut unit: Box<Unit>,
        cx: &mut Context<'_>,
    ) -> Result<(), Unsent> {
        let local = self.is_local(destination);
        let hop = self.hop(destination, source);
        let chosen = match (source, local, hop) {
            (Some(source), ..) => Some(source),
            (None, true, _) => Some(destination),
            (None, false, hop) => hop.and_then(|hop| self.select(hop.interface, destination)),
        };
        let data = &mut unit.data;
        // A super-segment may be longer; its segments are not.
        let fits = data.len() <= MAX_PAYLOAD || data.meta().segment_size != 0;
        let Some(source) = chosen.filter(|_| fits && !destination.is_unspecified()) else {
            let refused = if chosen.is_none() {
                Refused::NoRoute
            } else {
                Refused::Impossible("longer than a packet can be, or to nobody")
            };
            self.count(refused, cx);
            return Err(Unsent { refused, source: chosen, unit });
        };
        if protocol == next_header::ICMPV6 {
            add_addresses(data, source, destination);
        }
        let header = Header {
            traffic_class: options.tos,
            payload_length: u16::try_from(data.len()).unwrap_or(u16::MAX),
            next_header: protocol,
            hop_limit: match options.ttl {
                0 => self.hop_limit(hop),
                limit => limit,
            },
            source,
            destination,
            ..Header::default()
        };
        header.emit(data.push_header(ipv6::LEN));
        if local {
            self.loop_back(unit, cx);
            return Ok(());
        }
        let sent = match hop {
            Some(hop) => {
                let path = self.path_mtu(destination, cx.now());
                let whole = options.dont_fragment;
                self.transmit(&header, hop, (path, whole), unit, cx)
            }
            None => Err((Refused::NoRoute, unit)),
        };
        sent.map_err(|(refused, mut unit)| {
            self.count(refused, cx);
            let _ = unit.data.pop_header(ipv6::LEN);
            Unsent { refused, source: Some(source), unit }
        })
    }

    /// The hop limit of packets that leave by `hop`, where the user has not said one.
    fn hop_limit(&self, hop: Option<Hop>) -> u8 {
        let port = hop.and_then(|hop| self.ports.get(hop.interface));
        let told = port.and_then(|port| match &port.link {
            Link::Discover(it) => it.hop_limit,
            Link::One | Link::Table(_) => None,
        });
        told.unwrap_or(self.config.hop_limit)
    }

    /// For ourselves: never on a wire.
    fn loop_back(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        if matches!(unit.data.meta().checksum, Checksum::Partial { .. }) {
            unit.data.meta_mut().checksum = Checksum::Verified;
        }
        self.counters.in_receives += 1;
        self.take(None, false, unit, cx);
    }

    /// Sends the packet in `unit`, which begins with `header`, to the next hop; gives it back where it cannot. Where it is
    /// longer than the interface or `path` carries it goes in pieces, unless it is to stay `whole`.
    pub(super) fn transmit(
        &mut self,
        header: &Header,
        hop: Hop,
        (path, whole): (u32, bool),
        mut unit: Box<Unit>,
        cx: &mut Context<'_>,
    ) -> Result<(), (Refused, Box<Unit>)> {
        let port = self.ports.get(hop.interface).filter(|port| port.below.is_some());
        let Some(mtu) = port.map(|port| port.mtu().min(path)) else {
            return Err((Refused::NoRoute, unit));
        };
        if !self.knows(hop) {
            return Err((Refused::NoNeighbour, unit));
        }
        let group = hop.next.is_multicast();
        let options =
            UnitOptions { group, ..UnitOptions::of(IpParameters { tos: header.traffic_class, ..IpParameters::NONE }) };
        if wire_len(&unit.data) <= mtu as usize {
            readdress(&mut unit, Address::NONE, Address::NONE, options);
            self.hand_down(hop, unit, cx);
            return Ok(());
        }
        if whole {
            self.counters.frag_fails += 1;
            return Err((Refused::TooBig(mtu), unit));
        }
        let pieces = match self.fragment(header, &mut unit.data, mtu as usize, cx) {
            Ok(pieces) => pieces,
            Err(refused) => return Err((refused, unit)),
        };
        for data in pieces {
            self.hand_down(hop, Box::new(Unit { options, ..Unit::of(data) }), cx);
        }
        Ok(())
    }

    /// Whether the link address of `hop` is known, or can be found.
    fn knows(&self, hop: Hop) -> bool {
        match self.ports.get(hop.interface).map(|port| &port.link) {
            Some(Link::Table(table)) => table.iter().any(|(next, _)| *next == hop.next),
            Some(Link::Discover(it)) => it.mac.is_some(),
            Some(Link::One) => true,
            None => false,
        }
    }

    /// Gives a packet to the layer below, at once or when the next hop's link address is known: `unit` has all but that.
    pub(super) fn hand_down(&mut self, hop: Hop, unit: Box<Unit>, cx: &mut Context<'_>) {
        let mut acts = Vec::new();
        let link = match self.ports.get_mut(hop.interface).map(|port| &mut port.link) {
            None => return,
            Some(Link::One) => Address::NONE,
            Some(Link::Table(table)) => {
                let found = table.iter().find(|(next, _)| *next == hop.next);
                found.map_or(Address::NONE, |&(_, address)| address)
            }
            Some(Link::Discover(_)) if hop.next.is_multicast() => MacAddr::of_ipv6_group(hop.next).into(),
            Some(Link::Discover(it)) => {
                it.cache.send(cx.now(), hop.next, unit, &mut acts);
                self.act(hop.interface, acts, cx);
                return;
            }
        };
        self.down(hop.interface, link, unit, cx);
    }

    /// Gives the packet in `unit` to the layer below, for `link`.
    pub(super) fn down(&self, interface: usize, link: Address, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let Some(below) = self.ports.get(interface).and_then(|port| port.below) else {
            return;
        };
        unit.destination = link;
        cx.down(below, Request::Unit(unit));
    }

    /// The largest packet that the path to `to` is known to carry.
    pub(super) fn path_mtu(&self, to: Ipv6Addr, now: Instant) -> u32 {
        let known = self.paths.get(&to);
        let good = known.filter(|(_, until)| now < *until);
        good.map_or(u32::MAX, |(mtu, _)| *mtu)
    }

    /// A router says that the path to `to` carries no more than `mtu` octets, about a packet that a user knows to have sent.
    pub(super) fn narrow(&mut self, to: Ipv6Addr, mtu: u32, now: Instant) {
        if (mtu as usize) < ipv6::MIN_MTU || mtu >= self.path_mtu(to, now) {
            return;
        }
        if self.paths.len() >= PATHS && !self.paths.contains_key(&to) {
            let oldest = self.paths.iter().min_by_key(|(_, (_, until))| *until);
            if let Some(oldest) = oldest.map(|(to, _)| *to) {
                self.paths.remove(&oldest);
            }
        }
        self.paths.insert(to, (mtu, now + PATH_LIFETIME));
    }

    /// Counts a packet that did not leave.
    pub(super) fn count(&mut self, refused: Refused, cx: &mut Context<'_>) {
        match refused {
            Refused::NoRoute => {
                self.counters.out_no_routes += 1;
                cx.drop("no route");
            }
            Refused::NoNeighbour => self.discard("next hop's link address not known", cx),
            Refused::TooBig(_) => cx.drop("too big and not to be fragmented"),
            Refused::Impossible(why) => self.discard(why, cx),
        }
    }

    fn discard(&mut self, why: &'static str, cx: &mut Context<'_>) {
        self.counters.out_discards += 1;
        cx.drop(why);
    }
}

impl Refused {
    /// What a user of ours is told.
    const fn problem(self) -> Option<Problem> {
        match self {
            Self::NoRoute => Some(errors::soft(unreachable::NO_ROUTE)),
            Self::NoNeighbour => Some(errors::soft(unreachable::ADDRESS)),
            Self::TooBig(mtu) => Some(Problem::TooBig { mtu }),
            Self::Impossible(_) => None,
        }
    }
}

/// Adds the pseudo-header to the checksum of an ICMPv6 message, now that its source is known.
fn add_addresses(message: &mut Message, source: Ipv6Addr, destination: Ipv6Addr) {
    let header = Header { source, destination, ..Header::default() };
    let pseudo = Ip::pseudo(&header, message.len());
    let mut front = [0; MIN_LEN];
    if !message.copy_to(0, &mut front) || message.pop_header(MIN_LEN).is_err() {
        return;
    }
    if let Some(field) = front.get_mut(CHECKSUM_OFFSET..).and_then(<[u8]>::first_chunk_mut) {
        let sum = Sum::from_folded(!u16::from_be_bytes(*field));
        *field = pseudo.plus(sum).checksum().to_be_bytes();
    }
    message.push_header(MIN_LEN).copy_from_slice(&front);
}

/// How long the longest packet is that will be on the wire.
fn wire_len(packet: &Message) -> usize {
    let meta = packet.meta();
    if meta.segment_size == 0 {
        return packet.len();
    }
    let segment = usize::from(meta.header_len) + usize::from(meta.segment_size);
    segment.min(packet.len())
}
