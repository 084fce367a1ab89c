//! Source routes (RFC 791 section 3.1): those that users ask for, those that are not ours to follow, and the way back.

use core::net::Ipv4Addr;

use kumiki_wire::inet::SourceRoute;
use kumiki_wire::inet::ipv4::options::kind;
use kumiki_wire::inet::ipv4::{Header, Options};

/// Where a datagram to `destination` goes first, and the option that says where it goes then; `None` where that does
/// not fit.
#[inline]
pub(super) fn routed(destination: Ipv4Addr, route: Option<&SourceRoute>) -> Option<(Ipv4Addr, Options)> {
    match route {
        None => Some((destination, Options::NONE)),
        Some(route) => routed_by(destination, route),
    }
}

fn routed_by(destination: Ipv4Addr, route: &SourceRoute) -> Option<(Ipv4Addr, Options)> {
    let Some((first, rest)) = route.gateways.split_first() else {
        return Some((destination, Options::NONE));
    };
    let kind = if route.strict { kind::STRICT_SOURCE_ROUTE } else { kind::LOOSE_SOURCE_ROUTE };
    let hops = rest.iter().chain([&destination]);
    let data: Vec<u8> = hops.flat_map(|hop| hop.octets()).collect();
    let length = u8::try_from(data.len() + 3).ok()?;
    let mut octets = vec![kind, length, 4];
    octets.extend(data);
    Some((*first, Options::new(&octets)?))
}

/// Whether a source route in the options has not come to its end: its pointer is not past its length. All other options
/// are let be (RFC 9293 MUST-50).
pub(super) fn is_live(header: &Header) -> bool {
    header.options.items().map_while(Result::ok).any(|option| match (option.kind, option.octets) {
        (kind::LOOSE_SOURCE_ROUTE | kind::STRICT_SOURCE_ROUTE, &[_, length, pointer, ..]) => pointer <= length,
        _ => false,
    })
}

/// The way back of a datagram whose source route has come to its end: what it recorded, turned around (RFC 1122 section
/// 3.2.1.8 (c)).
pub(super) fn back(header: &Header) -> Option<SourceRoute> {
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
