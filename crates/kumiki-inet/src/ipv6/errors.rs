//! When the errors of ICMPv6 are sent (RFC 4443 section 2.4 (e)), what they mean, and what its checksum covers.

use core::net::Ipv6Addr;

use kumiki_graph::NoPath;
use kumiki_octets::{Message, Sum};
use kumiki_wire::inet::icmpv6::{CHECKSUM_OFFSET, MIN_LEN, Message as Icmp, kind, parameter, unreachable};
use kumiki_wire::inet::ipv6::extension::Chain;
use kumiki_wire::inet::ipv6::{self, Header, MIN_MTU, next_header};

use super::MAX_HEADERS;
use super::family::OriginalDatagram;
use crate::internet::IcmpError;

/// How much of the packet in question an error has room for (RFC 4443 section 2.4 (c)).
pub(super) const QUOTED: usize = MIN_MTU - ipv6::LEN - MIN_LEN;

/// Where the path ends by a code of destination unreachable. Codes beyond those of RFC 4443 are for Linux something
/// that is wrong.
pub(super) const fn path(code: u8) -> NoPath {
    match code {
        unreachable::NO_ROUTE => NoPath::Network,
        unreachable::PROHIBITED | unreachable::POLICY | unreachable::REJECT => NoPath::Prohibited,
        unreachable::BEYOND_SCOPE | unreachable::ADDRESS | unreachable::PORT => NoPath::Host,
        _ => NoPath::Malformed,
    }
}

/// The sum of the pseudo-header of an ICMPv6 message.
pub(super) fn pseudo(header: &Header, len: usize) -> Sum {
    let len = u32::try_from(len).unwrap_or(u32::MAX);
    let (source, destination) = (header.source, header.destination);
    let octets = ipv6::pseudo_header(source, destination, next_header::ICMPV6, len);
    Sum::of(&octets)
}

/// Adds the pseudo-header to the checksum of an ICMPv6 message, now that its source is known.
pub(super) fn add_addresses(message: &mut Message, source: Ipv6Addr, destination: Ipv6Addr) {
    let header = Header { source, destination, ..Header::default() };
    let pseudo = pseudo(&header, message.len());
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

/// What `packet` carries, where it begins, and whether that is not there because this is a later fragment.
pub(super) fn upper(header: &Header, packet: &mut Message) -> Option<(u8, usize)> {
    let front = packet.front_at_least(MAX_HEADERS);
    let mut chain = Chain::new(header, front);
    for extension in chain.by_ref() {
        let fragment = extension.ok()?.fragment();
        if fragment.is_some_and(|it| it.offset != 0) {
            return None;
        }
    }
    let (protocol, at, _) = chain.upper();
    Some((protocol, at))
}

/// Whether an error that says `trouble` about `packet` may be sent.
pub(super) fn is_answerable(about: &OriginalDatagram, trouble: IcmpError, packet: &Message) -> bool {
    let source = about.header.source;
    // (e.3) to (e.5): of groups only these may be told, so that paths to them can be found.
    let also_of_groups = matches!(trouble, IcmpError::TooBig(_) | IcmpError::Parameter(parameter::OPTION, _));
    (also_of_groups || !about.group)
        && !source.is_unspecified()
        && !source.is_multicast()
        && !is_error(&about.header, &mut packet.clone())
}

/// Whether the packet is an ICMP error or a redirect, or may be one: a later fragment of an ICMP message.
fn is_error(header: &Header, packet: &mut Message) -> bool {
    let front = packet.front_at_least(MAX_HEADERS);
    let mut chain = Chain::new(header, front);
    // Headers that cannot be passed may be what the error is about.
    for extension in chain.by_ref().map_while(Result::ok) {
        if let Some(fragment) = extension.fragment()
            && fragment.offset != 0
        {
            return fragment.next_header == next_header::ICMPV6;
        }
    }
    let (protocol, at, _) = chain.upper();
    let kind = front.get(at).copied().unwrap_or(0);
    protocol == next_header::ICMPV6 && (kind < 128 || kind == kind::REDIRECT)
}

/// An error as a message.
pub(super) const fn message(trouble: IcmpError) -> Icmp {
    match trouble {
        IcmpError::Unreachable(code) => Icmp::DestinationUnreachable { code },
        IcmpError::TooBig(mtu) => Icmp::PacketTooBig { mtu },
        IcmpError::TimeExceeded(code) => Icmp::TimeExceeded { code },
        IcmpError::Parameter(code, pointer) => Icmp::ParameterProblem { code, pointer },
    }
}

/// What a message says, if it is an error.
pub(super) const fn trouble(message: Icmp) -> Option<IcmpError> {
    match message {
        Icmp::DestinationUnreachable { code } => Some(IcmpError::Unreachable(code)),
        Icmp::PacketTooBig { mtu } => Some(IcmpError::TooBig(mtu)),
        Icmp::TimeExceeded { code } => Some(IcmpError::TimeExceeded(code)),
        Icmp::ParameterProblem { code, pointer } => Some(IcmpError::Parameter(code, pointer)),
        Icmp::Echo { .. }
        | Icmp::EchoReply { .. }
        | Icmp::RouterSolicitation
        | Icmp::RouterAdvertisement(_)
        | Icmp::NeighbourSolicitation { .. }
        | Icmp::NeighbourAdvertisement { .. }
        | Icmp::Redirect { .. }
        | Icmp::Other { .. } => None,
    }
}
