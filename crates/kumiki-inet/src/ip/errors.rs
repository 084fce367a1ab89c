//! When the errors of ICMP are sent (RFC 1122 section 3.2.2, RFC 1812 section 4.3.2.7), and what they mean.

use core::net::Ipv4Addr;

use kumiki_graph::NoPath;
use kumiki_octets::Message;
use kumiki_wire::inet::icmpv4::{self, Header as IcmpHeader, Message as Icmp, unreachable};
use kumiki_wire::inet::ipv4::{self, Header, protocol};

use super::Ip;
use super::family::{OriginalDatagram, V4};
use crate::internet::{Bits, Family, IcmpError};

/// The longest error that we send, its IP header included (RFC 1812 section 4.3.2.3).
const LONGEST: usize = 576;
/// How much of the datagram in question that leaves room for.
pub(super) const QUOTED: usize = LONGEST - ipv4::MIN_LEN - icmpv4::MIN_LEN;
/// Internetwork control: the precedence of errors (RFC 1812 section 4.3.2.5).
const PRECEDENCE: u8 = 0xc0;
/// What remains of RFC 1349's type of service beside precedence and the two bits that are ECN.
const TOS: u8 = 0x1c;

/// RFC 1191 section 7: the sizes that links are likely to have, for routers that do not tell.
const PLATEAUS: [u32; 11] = [65535, 32000, 17914, 8166, 4352, 2002, 1492, 1006, 508, 296, 68];

/// Whether an error about `datagram` may be sent.
pub(super) fn is_answerable(ip: &Ip, about: &OriginalDatagram, datagram: &Message) -> bool {
    let Header { source, fragment_offset, .. } = about.header;
    !about.group
        && fragment_offset == 0
        && !source.octets().starts_with(&[0])
        && !V4::is_group(ip, source)
        && !is_error(about.header.len(), &mut datagram.clone())
}

/// The type of service of errors about a datagram with that of `tos`.
pub(super) const fn tos(tos: u8) -> u8 {
    PRECEDENCE | tos & TOS
}

/// Whether the datagram is an ICMP error, or cannot be told from one; its header has `len` octets.
pub(super) fn is_error(len: usize, datagram: &mut Message) -> bool {
    let front = datagram.front_at_least(len.saturating_add(icmpv4::MAX_LEN));
    let is_icmp = front.get(ipv4::CHECKSUM_OFFSET - 1) == Some(&protocol::ICMP);
    let header = front.get(len..).map(IcmpHeader::parse);
    is_icmp
        && match header {
            Some(Ok((header, _))) => header.is_error(),
            _ => true,
        }
}

/// An error as a message.
pub(super) fn message(trouble: IcmpError) -> Icmp {
    match trouble {
        IcmpError::Unreachable(code) => Icmp::DestinationUnreachable { code, next_hop_mtu: 0 },
        IcmpError::TooBig(mtu) => {
            let next_hop_mtu = u16::try_from(mtu).unwrap_or(u16::MAX);
            Icmp::DestinationUnreachable { code: unreachable::FRAGMENTATION_NEEDED, next_hop_mtu }
        }
        IcmpError::TimeExceeded(code) => Icmp::TimeExceeded { code },
        IcmpError::Parameter(code, pointer) => {
            Icmp::ParameterProblem { code, pointer: u8::try_from(pointer).unwrap_or(0) }
        }
    }
}

/// What a message says, if it is an error that is not to be ignored.
pub(super) fn trouble(message: Icmp) -> Option<IcmpError> {
    match message {
        Icmp::DestinationUnreachable { code: unreachable::FRAGMENTATION_NEEDED, next_hop_mtu } => {
            Some(IcmpError::TooBig(next_hop_mtu.into()))
        }
        Icmp::DestinationUnreachable { code, .. } => Some(IcmpError::Unreachable(code)),
        Icmp::TimeExceeded { code } => Some(IcmpError::TimeExceeded(code)),
        Icmp::ParameterProblem { code, pointer } => Some(IcmpError::Parameter(code, pointer.into())),
        // Quench: RFC 6633 (MUST-55). The rest are no errors.
        Icmp::SourceQuench
        | Icmp::Redirect { .. }
        | Icmp::EchoReply { .. }
        | Icmp::Echo { .. }
        | Icmp::Timestamp { .. }
        | Icmp::TimestampReply { .. }
        | Icmp::Other { .. } => None,
    }
}

/// Where the path ends by a code of destination unreachable.
pub(super) const fn path(code: u8) -> NoPath {
    match code {
        unreachable::NET | unreachable::NET_UNKNOWN | unreachable::NET_PROHIBITED | unreachable::NET_FOR_TOS => {
            NoPath::Network
        }
        unreachable::PROTOCOL => NoPath::Protocol,
        unreachable::SOURCE_ROUTE_FAILED => NoPath::SourceRoute,
        unreachable::HOST_UNKNOWN => NoPath::Unknown,
        unreachable::SOURCE_ISOLATED => NoPath::Isolated,
        _ => NoPath::Host,
    }
}

/// The largest size that links are likely to have and that is below `len` (RFC 1191 section 5).
pub(super) fn plateau_below(len: u32) -> u32 {
    let below = PLATEAUS.iter().find(|&&plateau| plateau < len);
    below.copied().unwrap_or(Ipv4Addr::LEAST_MTU)
}
