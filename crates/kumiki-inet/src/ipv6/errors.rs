//! The errors of ICMPv6: sent about packets that we refuse, taken about packets that we sent.

use crate::IpProtocol;
use kumiki_graph::{Above, Address, Context, Indication, Problem, Report, Unit, Work};
use kumiki_octets::{Message, Sum};
use kumiki_wire::inet::IpParameters;
use kumiki_wire::inet::icmpv6::{self, Header as IcmpHeader, Message as Icmp, kind, parameter, unreachable};
use kumiki_wire::inet::ipv6::extension::Chain;
use kumiki_wire::inet::ipv6::{self, Header, MIN_MTU, next_header};

use super::send::HEADER_LEN;
use super::{Ip, MAX_HEADERS};
use crate::internet::is_intact;

/// How much of the packet in question an error has room for (RFC 4443 section 2.4 (c)).
const QUOTED: usize = MIN_MTU - ipv6::LEN - icmpv6::MIN_LEN;

/// A packet that an error may be about.
#[derive(Clone, Copy, Debug)]
pub(super) struct About {
    pub(super) header: Header,
    /// It went to several hosts, by its address or by that of the link.
    pub(super) group: bool,
    /// The interface that it came by; `None`: it is from ourselves.
    pub(super) interface: Option<usize>,
    /// It has been put together from fragments.
    pub(super) reassembled: bool,
}

/// Destination unreachable, as a message.
pub(super) const fn unreachable_by(code: u8) -> Icmp {
    Icmp::DestinationUnreachable { code }
}

/// Destination unreachable, as users are told of it.
pub(super) const fn soft(code: u8) -> Problem {
    Problem::Soft { kind: kind::UNREACHABLE, code }
}

/// What `packet` carries, where it begins, and whether that is not there because this is a later fragment.
fn upper(header: &Header, packet: &mut Message) -> Option<(u8, usize)> {
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

impl Ip {
    /// The sum of the pseudo-header of an ICMPv6 message.
    pub(super) fn pseudo(header: &Header, len: usize) -> Sum {
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        let (source, destination) = (header.source, header.destination);
        let octets = ipv6::pseudo_header(source, destination, next_header::ICMPV6, len);
        Sum::of(&octets)
    }

    /// Sends an error about `packet`, which begins with its header, where one may be sent (RFC 4443 section 2.4 (e)).
    pub(super) fn error(&mut self, about: &About, message: Icmp, packet: &Message, cx: &mut Context<'_>) {
        let Header { source, destination, .. } = about.header;
        // (e.3) to (e.5): of groups only these may be told, so that paths to them can be found.
        let also_of_groups = match message {
            Icmp::PacketTooBig { .. } => true,
            Icmp::ParameterProblem { code, .. } => code == parameter::OPTION,
            Icmp::DestinationUnreachable { .. }
            | Icmp::TimeExceeded { .. }
            | Icmp::Echo { .. }
            | Icmp::EchoReply { .. }
            | Icmp::RouterSolicitation
            | Icmp::RouterAdvertisement(_)
            | Icmp::NeighbourSolicitation { .. }
            | Icmp::NeighbourAdvertisement { .. }
            | Icmp::Redirect { .. }
            | Icmp::Other { .. } => false,
        };
        let answerable = (also_of_groups || !about.group)
            && !source.is_unspecified()
            && !source.is_multicast()
            && !Self::is_error(&about.header, &mut packet.clone());
        if !answerable {
            return;
        }
        if !self.bucket.take(cx.now()) {
            self.counters.icmp_out_limited += 1;
            return;
        }
        // From the address that was spoken to, or that of the interface it leaves by (RFC 4443 section 2.2).
        let spoken_to = Some(destination).filter(|&address| self.is_ours(address));
        let hop = self.hop(source, spoken_to);
        let Some(from) = spoken_to.or_else(|| self.select(hop?.interface, source)) else {
            return;
        };
        let Ok(mut error) = packet.share(0, packet.len().min(QUOTED)) else {
            return;
        };
        let mut header = IcmpHeader { message, checksum: 0 };
        let mut octets = [0; icmpv6::MIN_LEN];
        header.emit(&mut octets);
        cx.charge(Work::Sum, error.unsummed() as u64);
        // The addresses are added with the rest of the packet.
        header.checksum = Sum::of(&octets).plus(error.sum()).checksum();
        header.emit(error.push(icmpv6::MIN_LEN));
        self.counters.icmp_out_errors += 1;
        let options = IpParameters::NONE;
        // An error that cannot be sent is lost.
        let _ = self.originate(next_header::ICMPV6, Some(from), source, options, Box::new(Unit::of(error)), cx);
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
            Problem::TooBig { mtu } => Icmp::PacketTooBig { mtu },
            Problem::NoNeighbour => unreachable_by(unreachable::ADDRESS),
        };
        let (Some(IpProtocol(protocol)), Ok(payload_length)) =
            (self.users.number(from, options.under), u16::try_from(data.len()))
        else {
            return;
        };
        let how = IpParameters::from(options.special);
        // As it came, but for flow label and extension headers, which no sender needs to know its own packet by.
        let header = Header {
            traffic_class: how.tos,
            flow_label: 0,
            payload_length,
            next_header: protocol,
            hop_limit: how.ttl,
            source,
            destination,
        };
        header.emit(data.push_header(ipv6::LEN));
        let about = About { header, group: options.group, interface: None, reassembled: false };
        self.error(&about, message, &data, cx);
    }

    /// Tells the user whose packet an error is about. `error` begins with the ICMP header and came behind `header`.
    pub(super) fn hear_error(&mut self, header: &Header, mut error: Message, cx: &mut Context<'_>) {
        let pseudo = Self::pseudo(header, error.len());
        if !is_intact(&mut error, pseudo, cx) {
            cx.drop("ICMP checksum wrong");
            return;
        }
        let front = error.front_at_least(icmpv6::MIN_LEN);
        let Ok((IcmpHeader { message, .. }, len)) = IcmpHeader::parse(front) else {
            cx.drop("ICMP error cut short");
            return;
        };
        let _ = error.pop(len);
        let quoted = Header::parse_quoted(error.front_at_least(ipv6::LEN));
        let Ok((quoted, _)) = quoted else {
            cx.drop("ICMP error quotes no packet");
            return;
        };
        let Some(problem) = problem(message) else {
            cx.drop("ICMP error of no consequence");
            return;
        };
        // What we did not send, nobody here can have trouble with.
        if !self.is_local(quoted.source) {
            cx.drop("ICMP error about a packet of others");
            return;
        }
        // RFC 8201 section 4: what is no longer than that cannot have met such a link. Whether the packet was sent at all its
        // user may know, and says so by `Manage::Narrow`.
        if let Problem::TooBig { mtu } = problem
            && u32::from(quoted.payload_length) + HEADER_LEN <= mtu
        {
            cx.drop("ICMP error about a packet that is not too big");
            return;
        }
        let found = upper(&quoted, &mut error);
        let user = found.and_then(|(protocol, at)| Some((self.users.find(IpProtocol(protocol))?, at)));
        let Some((user, at)) = user else {
            cx.drop("ICMP error for nobody");
            return;
        };
        let _ = error.pop(at);
        self.counters.icmp_in_errors += 1;
        let report = Report::Unreachable {
            source: Address::from(quoted.source),
            destination: Address::from(quoted.destination),
            problem,
            start: error,
        };
        cx.up(user, Indication::Report(Box::new(report)));
    }

    /// A packet of ours, or of somebody for whom we forward, has no next hop: nobody answers for it.
    pub(super) fn unresolved(&mut self, mut packet: Message, cx: &mut Context<'_>) {
        let parsed = Header::parse_quoted(packet.front_at_least(ipv6::LEN));
        let Ok((header, _)) = parsed else {
            return;
        };
        let code = unreachable::ADDRESS;
        if !self.is_ours(header.source) {
            let about = About { header, group: false, interface: None, reassembled: false };
            self.error(&about, unreachable_by(code), &packet, cx);
            return;
        }
        let found = upper(&header, &mut packet);
        if let Some((protocol, at)) = found
            && let Some(user) = self.users.find(IpProtocol(protocol))
        {
            let _ = packet.pop(at);
            let report = Report::Unreachable {
                source: Address::from(header.source),
                destination: Address::from(header.destination),
                problem: Problem::NoNeighbour,
                start: packet,
            };
            cx.up(user, Indication::Report(Box::new(report)));
        }
    }
}

/// What an error means to a transport (RFC 9293 section 3.9.2.2); `None` where it is to be ignored.
fn problem(message: Icmp) -> Option<Problem> {
    match message {
        Icmp::DestinationUnreachable { code } => Some(match code {
            unreachable::PORT => Problem::Hard { kind: kind::UNREACHABLE, code },
            code => soft(code),
        }),
        // RFC 8201 section 4: what no link may be is not believed.
        Icmp::PacketTooBig { mtu } => (mtu as usize >= MIN_MTU).then_some(Problem::TooBig { mtu }),
        Icmp::TimeExceeded { code } => Some(Problem::Soft { kind: kind::TIME_EXCEEDED, code }),
        Icmp::ParameterProblem { code, .. } => Some(Problem::Soft { kind: kind::PARAMETER, code }),
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
