//! A user's unit becomes a datagram.

use crate::IpProtocol;
use core::net::Ipv4Addr;
use kumiki_wire::inet::IpParameters;
use kumiki_wire::inet::SourceRoute;

use kumiki_graph::{Above, Address, Context, Indication, Problem, Report, Request, Unit, UnitOptions};
use kumiki_octets::{Checksum, Message};
use kumiki_wire::inet::icmpv4::{QUOTED_DATA, unreachable};
use kumiki_wire::inet::ipv4::options::kind;
use kumiki_wire::inet::ipv4::{self, Header, protocol};

use super::config::Neighbours;
use super::{Hop, Ip, Link, errors};
use crate::internet::readdress;

/// Octets of the headers that we make.
pub(super) const HEADER_LEN: u32 = 20;

/// Why a datagram did not leave.
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
    source: Option<Ipv4Addr>,
    unit: Box<Unit>,
}

impl Ip {
    pub(super) fn send(&mut self, from: Above, unit: Box<Unit>, cx: &mut Context<'_>) {
        self.counters.out_requests += 1;
        let Some(destination) = unit.destination.get::<Ipv4Addr>() else {
            self.discard("destination is not an IPv4 address", cx);
            return;
        };
        let Some(IpProtocol(protocol)) = self.users.number(from, unit.options.under) else {
            self.discard("no protocol number", cx);
            return;
        };
        let source: Option<Ipv4Addr> = unit.source.get();
        let is_open = unit.source.is_none() || source.is_some_and(|it| it.is_unspecified());
        let source = source.filter(|_| !is_open);
        if !is_open && !source.is_some_and(|it| self.is_local(it)) {
            self.discard("source is not ours", cx);
            return;
        }
        let Some((towards, by)) = routed(destination, unit.parameters.get()) else {
            self.discard("source route too long", cx);
            return;
        };
        let how = (unit.options.special.into(), by);
        let sent = self.originate(protocol, source, towards, how, unit, cx);
        if let Err(unsent) = sent
            && let Some(problem) = unsent.refused.problem()
        {
            let Unit { destination, data: mut start, .. } = *unsent.unit;
            start.truncate(QUOTED_DATA);
            let report = Report::Unreachable {
                source: unsent.source.map_or(Address::NONE, Address::from),
                destination,
                problem,
                start,
            };
            cx.up(from, Indication::Report(Box::new(report)));
        }
    }

    /// Sends the data of `unit` in a datagram of our own, and gives the unit back as it was where it did not leave.
    pub(super) fn originate(
        &mut self,
        protocol: u8,
        source: Option<Ipv4Addr>,
        destination: Ipv4Addr,
        (options, by): (IpParameters, ipv4::Options),
        mut unit: Box<Unit>,
        cx: &mut Context<'_>,
    ) -> Result<(), Unsent> {
        let local = self.is_local(destination);
        let hop = self.hop(destination, source);
        let chosen = match (source, local, hop) {
            (Some(source), ..) => Some(source),
            (None, true, _) => Some(destination),
            (None, false, hop) => hop.and_then(|hop| self.address(hop.interface)),
        };
        let total = unit.data.len().saturating_add(ipv4::MIN_LEN + by.len());
        let (Some(source), Ok(total_length)) = (chosen, u16::try_from(total)) else {
            let refused =
                if chosen.is_none() { Refused::NoRoute } else { Refused::Impossible("longer than a datagram can be") };
            self.count(refused, cx);
            return Err(Unsent { refused, source: chosen, unit });
        };
        let may_stay_whole = protocol != protocol::TCP || self.config.path_mtu_discovery;
        let dont_fragment = options.dont_fragment && may_stay_whole;
        let header = Header {
            type_of_service: options.tos,
            total_length,
            identification: self.identify(dont_fragment),
            dont_fragment,
            time_to_live: match options.ttl {
                0 => self.config.ttl,
                ttl => ttl,
            },
            protocol,
            source,
            destination,
            options: by,
            ..Header::default()
        };
        header.emit_summed(unit.data.push_header(header.len()));
        if local {
            self.loop_back(unit, cx);
            return Ok(());
        }
        let sent = match hop {
            Some(hop) => {
                let group = self.is_group(destination);
                self.transmit(&header, group, hop, unit, cx)
            }
            None => Err((Refused::NoRoute, unit)),
        };
        sent.map_err(|(refused, mut unit)| {
            self.count(refused, cx);
            let _ = unit.data.pop_header(header.len());
            Unsent { refused, source: Some(source), unit }
        })
    }

    /// The identification of the next datagram (RFC 6864 section 4).
    const fn identify(&mut self, atomic: bool) -> u16 {
        if atomic && !self.config.number_atomic {
            return 0;
        }
        self.identification = self.identification.wrapping_add(1);
        self.identification
    }

    /// For ourselves: never on a wire (RFC 1122 section 3.2.1.3 (g)).
    fn loop_back(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        if matches!(unit.data.meta().checksum, Checksum::Partial { .. }) {
            unit.data.meta_mut().checksum = Checksum::Verified;
        }
        self.counters.in_receives += 1;
        self.take(None, false, unit, cx);
    }

    /// Sends the datagram in `unit`, which begins with `header`, to several hosts where it goes to a `group`, to the next hop,
    /// in pieces if need be; gives it back where it cannot.
    pub(super) fn transmit(
        &mut self,
        header: &Header,
        group: bool,
        hop: Hop,
        mut unit: Box<Unit>,
        cx: &mut Context<'_>,
    ) -> Result<(), (Refused, Box<Unit>)> {
        let port = self.ports.get(hop.interface);
        let Some((below, mtu)) = port.and_then(|port| Some((port.below?, port.mtu))) else {
            return Err((Refused::NoRoute, unit));
        };
        let Some(link) = self.link_address(hop) else {
            return Err((Refused::NoNeighbour, unit));
        };
        let how = IpParameters { tos: header.type_of_service, ..IpParameters::NONE };
        let options = UnitOptions { group, ..UnitOptions::of(how) };
        if wire_len(&unit.data) <= mtu as usize {
            readdress(&mut unit, Address::NONE, link, options);
            cx.down(below, Request::Unit(unit));
            return Ok(());
        }
        if header.dont_fragment {
            self.counters.frag_fails += 1;
            return Err((Refused::TooBig(mtu), unit));
        }
        let pieces = match self.fragment(header, &mut unit.data, mtu as usize, cx) {
            Ok(pieces) => pieces,
            Err(refused) => return Err((refused, unit)),
        };
        for data in pieces {
            let piece = Unit { destination: link, options, ..Unit::of(data) };
            cx.down(below, Request::Unit(Box::new(piece)));
        }
        Ok(())
    }

    fn link_address(&self, hop: Hop) -> Option<Address> {
        match self.ports.get(hop.interface)?.link {
            Link::One => Some(Address::NONE),
            Link::Below => Some(Address::from(hop.next)),
            Link::Table => {
                let interface = self.config.interfaces.get(hop.interface)?;
                let Neighbours::Table(table) = &interface.neighbours else {
                    return None;
                };
                let found = table.iter().find(|(neighbour, _)| *neighbour == hop.next);
                found.map(|&(_, address)| address)
            }
        }
    }

    /// Counts a datagram that did not leave.
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
            Self::NoRoute => Some(errors::soft(unreachable::NET)),
            Self::NoNeighbour => Some(errors::soft(unreachable::HOST)),
            Self::TooBig(mtu) => Some(Problem::TooBig { mtu }),
            Self::Impossible(_) => None,
        }
    }
}

/// Where a datagram to `destination` goes first, and the option that says where it goes then (RFC 791 section 3.1); `None`
/// where that does not fit.
fn routed(destination: Ipv4Addr, route: Option<&SourceRoute>) -> Option<(Ipv4Addr, ipv4::Options)> {
    let Some((first, rest)) = route.and_then(|route| route.gateways.split_first()) else {
        return Some((destination, ipv4::Options::NONE));
    };
    let kind =
        if route.is_some_and(|route| route.strict) { kind::STRICT_SOURCE_ROUTE } else { kind::LOOSE_SOURCE_ROUTE };
    let hops = rest.iter().chain([&destination]);
    let data: Vec<u8> = hops.flat_map(|hop| hop.octets()).collect();
    let length = u8::try_from(data.len() + 3).ok()?;
    let mut octets = vec![kind, length, 4];
    octets.extend(data);
    Some((*first, ipv4::Options::new(&octets)?))
}

/// How long the longest datagram is that will be on the wire.
fn wire_len(datagram: &Message) -> usize {
    let meta = datagram.meta();
    if meta.segment_size == 0 {
        return datagram.len();
    }
    let segment = usize::from(meta.header_len) + usize::from(meta.segment_size);
    segment.min(datagram.len())
}
