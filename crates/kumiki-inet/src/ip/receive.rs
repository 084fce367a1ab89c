//! A datagram is checked; then it is ours, a fragment of ours, or somebody else's.

use crate::IpProtocol;
use core::net::Ipv4Addr;
use kumiki_wire::inet::IpParameters;
use kumiki_wire::inet::SourceRoute;
use kumiki_wire::numbering::IP_PROTOCOL;

use kumiki_graph::{Below, Context, Indication, Key, Parameters, Unit, UnitOptions};
use kumiki_octets::Message;
use kumiki_wire::inet::icmpv4::unreachable;
use kumiki_wire::inet::ipv4::options::kind;
use kumiki_wire::inet::ipv4::{self, Header, protocol};

use super::errors::{About, unreachable_by};
use super::{Ip, Kind, is_group};
use crate::internet::readdress;

/// All hosts on this network (RFC 1112 section 4).
const ALL_HOSTS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);

/// Reads the header at the front of `datagram`, its octets gathered there.
fn parse(datagram: &mut Message) -> Option<(Header, usize)> {
    let total = datagram.len();
    let front = datagram.front_at_least(ipv4::MIN_LEN);
    let len = 4 * usize::from(front.first()? & 0xf);
    let front = if front.len() < len { datagram.front_at_least(len) } else { front };
    Header::parse(front, total).ok()
}

/// Whether a source route in the options has not come to its end: its pointer is not past its length (RFC 791 section
/// 3.1). All other options are let be (RFC 9293 MUST-50).
fn has_live_source_route(header: &Header) -> bool {
    header.options.items().map_while(Result::ok).any(|option| match (option.kind, option.octets) {
        (kind::LOOSE_SOURCE_ROUTE | kind::STRICT_SOURCE_ROUTE, &[_, length, pointer, ..]) => pointer <= length,
        _ => false,
    })
}

/// The way back of a datagram whose source route has come to its end: what it recorded, turned around (RFC 1122 section
/// 3.2.1.8 (c)).
fn return_route(header: &Header) -> Option<SourceRoute> {
    if header.options.is_empty() {
        return None;
    }
    let routes = |kind| matches!(kind, kind::LOOSE_SOURCE_ROUTE | kind::STRICT_SOURCE_ROUTE);
    let mut options = header.options.items().map_while(Result::ok);
    let option = options.find(|option| routes(option.kind))?;
    let (hops, []) = option.octets.get(3..)?.as_chunks::<4>() else {
        return None;
    };
    let gateways: Vec<Ipv4Addr> = hops.iter().rev().map(|&hop| hop.into()).collect();
    let strict = option.kind == kind::STRICT_SOURCE_ROUTE;
    (!gateways.is_empty()).then_some(SourceRoute { gateways, strict })
}

/// Whether no datagram may come from `source` (RFC 1122 section 3.2.1.3, RFC 1812 section 5.3.7); [`Ip`] knows more.
const fn is_martian(source: Ipv4Addr) -> bool {
    source.is_loopback() || source.is_multicast() || source.to_bits() >> 28 == 0xf
}

impl Ip {
    pub(super) fn receive(&mut self, from: Below, unit: Box<Unit>, cx: &mut Context<'_>) {
        self.counters.in_receives += 1;
        let interface = self.by_below.get(usize::from(from.0)).copied();
        self.take(interface, unit.options.group, unit, cx);
    }

    /// Takes the datagram in `unit`, which came in by `interface`, or from ourselves.
    pub(super) fn take(
        &mut self,
        interface: Option<usize>,
        link_group: bool,
        mut unit: Box<Unit>,
        cx: &mut Context<'_>,
    ) {
        let datagram = &mut unit.data;
        let Some((header, len)) = parse(datagram) else {
            self.counters.in_hdr_errors += 1;
            // Who has one link for both versions of IP sends us those of the other, too.
            let is_other = datagram.front_at_least(1).first().is_some_and(|octet| octet >> 4 == 6);
            cx.drop(if is_other { "of IPv6" } else { "header or length wrong" });
            return;
        };
        // Links pad short frames.
        datagram.truncate(usize::from(header.total_length));
        let outside = interface.is_some();
        let Header { source, destination, .. } = header;
        let to_us = self.kind(destination);
        let about = About { header, group: link_group || is_group(destination, to_us) };
        if outside && (is_martian(source) || self.kind(source) == Some(Kind::Broadcast)) {
            self.refuse_address("source that nobody can have", cx);
        } else if outside && (destination.is_loopback() || destination.octets().starts_with(&[0])) {
            self.refuse_address("destination that nobody can have", cx);
        } else if has_live_source_route(&header) {
            let code = unreachable::SOURCE_ROUTE_FAILED;
            self.refuse_address("source route", cx);
            self.error(&about, unreachable_by(code), datagram, cx);
        } else if !outside || self.listens_to(destination, to_us) {
            self.take_ours(&about, len, unit, cx);
        } else if self.config.forwarding && !about.group {
            self.forward(&about, unit, cx);
        } else {
            // Hosts must be silent about datagrams that are not theirs (RFC 1122 section 3.2.1.3).
            self.refuse_address("not ours", cx);
        }
    }

    fn refuse_address(&mut self, why: &'static str, cx: &mut Context<'_>) {
        self.counters.in_addr_errors += 1;
        cx.drop(why);
    }

    /// Whether `address`, which is `to_us`, means us, or us too.
    fn listens_to(&self, address: Ipv4Addr, to_us: Option<Kind>) -> bool {
        if address.is_multicast() {
            return address == ALL_HOSTS || self.config.groups.contains(&address) || self.groups.contains(address);
        }
        to_us.is_some() || address.is_broadcast()
    }

    fn take_ours(&mut self, about: &About, len: usize, unit: Box<Unit>, cx: &mut Context<'_>) {
        if about.header.is_fragment() {
            self.reassemble(about, len, unit, cx);
        } else {
            self.deliver(about, len, unit, cx);
        }
    }

    /// Hands the whole datagram in `unit`, whose header has `len` octets, to its user.
    pub(super) fn deliver(&mut self, about: &About, len: usize, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let About { header, group } = about;
        if header.protocol == protocol::ICMP && self.is_error(len, &mut unit.data) {
            // The header was read, so it is there.
            let _ = unit.data.pop_header(len);
            self.hear_error(unit.data, cx);
            return;
        }
        let Some(user) = self.users.find(IpProtocol(header.protocol)) else {
            self.counters.in_unknown_protos += 1;
            cx.drop("no user for the protocol");
            if header.protocol != protocol::ICMP {
                let code = unreachable::PROTOCOL;
                self.error(about, unreachable_by(code), &unit.data, cx);
            }
            return;
        };
        let _ = unit.data.pop_header(len);
        self.counters.in_delivers += 1;
        let how = IpParameters {
            ttl: header.time_to_live,
            tos: header.type_of_service,
            dont_fragment: header.dont_fragment,
            identification: header.identification,
        };
        let under = Some(Key::of(IP_PROTOCOL, header.protocol.into()));
        let options = UnitOptions { group: *group, under, ..UnitOptions::of(how) };
        readdress(&mut unit, header.source.into(), header.destination.into(), options);
        if let Some(route) = return_route(header) {
            unit.parameters = Parameters::of(route);
        }
        cx.up(user, Indication::Unit(unit));
    }
}
