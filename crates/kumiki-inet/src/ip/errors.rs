//! The errors of ICMP: sent about datagrams that we refuse, taken about datagrams that we sent.

use crate::IpProtocol;
use core::net::Ipv4Addr;
use kumiki_wire::inet::IpParameters;

use kumiki_graph::{Above, Address, Context, Indication, Problem, Report, Unit, Work};
use kumiki_octets::{Message, Sum};
use kumiki_wire::inet::icmpv4::{self, Header as IcmpHeader, Message as Icmp, unreachable};
use kumiki_wire::inet::ipv4::{self, Header, protocol};

use super::Ip;
use crate::internet::is_intact;

/// The longest error that we send, its IP header included (RFC 1812 section 4.3.2.3).
const LONGEST: usize = 576;
/// How much of the datagram in question that leaves room for.
const QUOTED: usize = LONGEST - ipv4::MIN_LEN - icmpv4::MIN_LEN;
/// Internetwork control: the precedence of errors (RFC 1812 section 4.3.2.5).
const PRECEDENCE: u8 = 0xc0;
/// What remains of RFC 1349's type of service beside precedence and the two bits that are ECN.
const TOS: u8 = 0x1c;

/// ICMP type numbers, as [`Problem`] says them.
mod kind {
    pub(super) const UNREACHABLE: u8 = 3;
    pub(super) const TIME_EXCEEDED: u8 = 11;
    pub(super) const PARAMETER: u8 = 12;
}

/// What every link carries (RFC 791 section 3.2).
const LEAST_MTU: u32 = 68;
/// RFC 1191 section 7: the sizes that links are likely to have, for routers that do not tell.
const PLATEAUS: [u32; 11] = [65535, 32000, 17914, 8166, 4352, 2002, 1492, 1006, 508, 296, 68];

/// A datagram that an error may be about.
#[derive(Clone, Copy, Debug)]
pub(super) struct About {
    pub(super) header: Header,
    /// It went to several hosts, by its address or by that of the link.
    pub(super) group: bool,
}

/// Destination unreachable, as a message.
pub(super) const fn unreachable_by(code: u8) -> Icmp {
    Icmp::DestinationUnreachable { code, next_hop_mtu: 0 }
}

/// Destination unreachable, as users are told of it.
pub(super) const fn soft(code: u8) -> Problem {
    Problem::Soft { kind: kind::UNREACHABLE, code }
}

impl Ip {
    /// Sends an error about `datagram`, which begins with its header, where one may be sent (RFC 1122 section 3.2.2, RFC
    /// 1812 section 4.3.2.7).
    pub(super) fn error(&mut self, about: &About, message: Icmp, datagram: &Message, cx: &mut Context<'_>) {
        let Header { source, destination, type_of_service, .. } = about.header;
        let answerable = !about.group
            && about.header.fragment_offset == 0
            && !source.octets().starts_with(&[0])
            && !self.is_group(source)
            && !self.is_error(about.header.len(), &mut datagram.clone());
        if !answerable {
            return;
        }
        if !self.bucket.take(cx.now()) {
            self.counters.icmp_out_limited += 1;
            return;
        }
        let Ok(mut error) = datagram.share(0, datagram.len().min(QUOTED)) else {
            return;
        };
        let mut header = IcmpHeader { message, checksum: 0 };
        let mut octets = [0; icmpv4::MIN_LEN];
        header.emit(&mut octets);
        let quoted = error.unsummed();
        cx.charge(Work::Sum, quoted as u64);
        let sum = Sum::of(&octets).plus(error.sum());
        header.checksum = sum.checksum();
        header.emit(error.push(icmpv4::MIN_LEN));
        // From the address that was spoken to, or that of the interface it leaves by.
        let from = Some(destination).filter(|&address| self.is_ours(address));
        let options = IpParameters { tos: PRECEDENCE | type_of_service & TOS, ..IpParameters::NONE };
        self.counters.icmp_out_errors += 1;
        // An error that cannot be sent is lost.
        let _ =
            self.originate(protocol::ICMP, from, source, (options, ipv4::Options::NONE), Box::new(Unit::of(error)), cx);
    }

    /// Whether the datagram is an ICMP error, or cannot be told from one; its header has `len` octets.
    pub(super) fn is_error(&self, len: usize, datagram: &mut Message) -> bool {
        let front = datagram.front_at_least(len.saturating_add(icmpv4::MAX_LEN));
        let is_icmp = front.get(ipv4::CHECKSUM_OFFSET - 1) == Some(&protocol::ICMP);
        let header = front.get(len..).map(IcmpHeader::parse);
        is_icmp
            && match header {
                Some(Ok((header, _))) => header.is_error(),
                _ => true,
            }
    }

    /// A user sends a unit back.
    pub(super) fn refuse(&mut self, from: Above, unit: Box<Unit>, problem: Problem, cx: &mut Context<'_>) {
        let (Some(source), Some(destination)) = (unit.source.get(), unit.destination.get()) else {
            return;
        };
        let Unit { options, mut data, .. } = *unit;
        let message = match problem {
            Problem::Hard { kind, code } | Problem::Soft { kind, code } => match kind {
                kind::UNREACHABLE => unreachable_by(code),
                kind::TIME_EXCEEDED => Icmp::TimeExceeded { code },
                kind::PARAMETER => Icmp::ParameterProblem { code, pointer: 0 },
                _ => return,
            },
            Problem::TooBig { mtu } => too_big(mtu),
            Problem::NoNeighbour => unreachable_by(unreachable::HOST),
        };
        let (Some(IpProtocol(protocol)), Ok(total_length)) =
            (self.users.number(from, options.under), u16::try_from(data.len().saturating_add(ipv4::MIN_LEN)))
        else {
            return;
        };
        // As it came, but for options, which no sender needs to know its own datagram by.
        let how = IpParameters::from(options.special);
        let header = Header {
            type_of_service: how.tos,
            total_length,
            identification: how.identification,
            dont_fragment: how.dont_fragment,
            time_to_live: how.ttl,
            protocol,
            source,
            destination,
            ..Header::default()
        };
        header.emit_summed(data.push_header(ipv4::MIN_LEN));
        let about = About { header, group: options.group };
        self.error(&about, message, &data, cx);
    }

    /// Tells the user whose datagram an error is about. `error` begins with the ICMP header.
    pub(super) fn hear_error(&mut self, mut error: Message, cx: &mut Context<'_>) {
        if !is_intact(&mut error, Sum::ZERO, cx) {
            cx.drop("ICMP checksum wrong");
            return;
        }
        let front = error.front_at_least(icmpv4::MIN_LEN);
        let Ok((IcmpHeader { message, .. }, len)) = IcmpHeader::parse(front) else {
            cx.drop("ICMP error cut short");
            return;
        };
        let _ = error.pop(len);
        let front = error.front_at_least(ipv4::MAX_LEN);
        let Ok((quoted, len)) = Header::parse_quoted(front) else {
            cx.drop("ICMP error quotes no datagram");
            return;
        };
        let Some(problem) = problem(message, &quoted) else {
            cx.drop("ICMP error of no consequence");
            return;
        };
        let _ = error.pop(len);
        // What we did not send, nobody here can have trouble with.
        if !self.is_local(quoted.source) {
            cx.drop("ICMP error about a datagram of others");
            return;
        }
        // What is no longer than that cannot have met such a link, nor anything of 68 octets any link (RFC 791 section 3.2).
        if let Problem::TooBig { mtu } = problem
            && u32::from(quoted.total_length) <= mtu.max(LEAST_MTU)
        {
            cx.drop("ICMP error about a datagram that is not too big");
            return;
        }
        if self.users.find(IpProtocol(quoted.protocol)).is_none() {
            cx.drop("ICMP error for nobody");
            return;
        }
        self.counters.icmp_in_errors += 1;
        self.tell_of(&quoted, problem, error, cx);
    }

    /// A datagram of ours, or of somebody for whom we forward, has no next hop: nobody answers for it (RFC 1812 section
    /// 3.3.2). It begins with its header.
    pub(super) fn unresolved(&mut self, mut datagram: Message, cx: &mut Context<'_>) {
        let parsed = Header::parse_quoted(datagram.front_at_least(ipv4::MAX_LEN));
        let Ok((header, len)) = parsed else {
            return;
        };
        if self.is_local(header.source) {
            let _ = datagram.pop(len);
            self.tell_of(&header, Problem::NoNeighbour, datagram, cx);
        } else {
            let about = About { header, group: false };
            self.error(&about, unreachable_by(unreachable::HOST), &datagram, cx);
        }
    }

    /// Tells the user of a datagram of ours what happened to it; `start` is what followed its header.
    fn tell_of(&self, quoted: &Header, problem: Problem, start: Message, cx: &mut Context<'_>) {
        // Only the first fragment begins with what says whose it was, ports or a key.
        if quoted.fragment_offset != 0 {
            return;
        }
        let Some(user) = self.users.find(IpProtocol(quoted.protocol)) else {
            return;
        };
        let report = Report::Unreachable {
            source: Address::from(quoted.source),
            destination: Address::from(last_hop(quoted)),
            problem,
            start,
        };
        cx.up(user, Indication::Report(Box::new(report)));
    }
}

/// Fragmentation needed and DF set.
pub(super) fn too_big(mtu: u32) -> Icmp {
    Icmp::DestinationUnreachable {
        code: unreachable::FRAGMENTATION_NEEDED,
        next_hop_mtu: u16::try_from(mtu).unwrap_or(u16::MAX),
    }
}

/// Who a transport's conversation is with (RFC 9293 MUST-54).
fn last_hop(quoted: &Header) -> Ipv4Addr {
    quoted.last_destination().unwrap_or(quoted.destination)
}

/// What an error means to a transport (RFC 1122 section 4.2.3.9, RFC 9293 section 3.9.2.2); `None` where it is to be
/// ignored. Codes that came later are not said to be fatal anywhere, so they are not.
fn problem(message: Icmp, quoted: &Header) -> Option<Problem> {
    match message {
        Icmp::DestinationUnreachable { code, next_hop_mtu } => Some(match code {
            unreachable::FRAGMENTATION_NEEDED => Problem::TooBig {
                mtu: match next_hop_mtu {
                    0 => plateau_below(quoted.total_length.into()),
                    mtu => mtu.into(),
                },
            },
            unreachable::PROTOCOL | unreachable::PORT => Problem::Hard { kind: kind::UNREACHABLE, code },
            code => soft(code),
        }),
        Icmp::TimeExceeded { code } => Some(Problem::Soft { kind: kind::TIME_EXCEEDED, code }),
        Icmp::ParameterProblem { code, .. } => Some(Problem::Soft { kind: kind::PARAMETER, code }),
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

/// The largest size that links are likely to have and that is below `len` (RFC 1191 section 5).
fn plateau_below(len: u32) -> u32 {
    let below = PLATEAUS.iter().find(|&&plateau| plateau < len);
    below.copied().unwrap_or(LEAST_MTU)
}
