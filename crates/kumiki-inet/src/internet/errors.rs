//! The errors of ICMP: sent about datagrams that we refuse, taken about datagrams that we sent.

use kumiki_graph::{Above, Context, Indication, NoPath, Problem, Reason, Report, Unit, Work};
use kumiki_octets::{Message, Sum};
use kumiki_wire::inet::IpParameters;

use super::checksum::is_intact;
use super::family::{Family, HeaderFields};
use super::node::Ip;
use super::route::Bits;
use super::send::Outgoing;
use crate::IpProtocol;

/// Codes of time exceeded, the same in RFC 792 and RFC 4443: on its way.
pub(super) const HOPS: u8 = 0;
/// While its fragments were put together.
pub(super) const REASSEMBLY: u8 = 1;

/// What an error says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IcmpError {
    /// The destination cannot be reached, by this code.
    Unreachable(u8),
    /// The next hop carries no more than so many octets.
    TooBig(u32),
    /// It was too long on its way, or in pieces, by this code.
    TimeExceeded(u8),
    /// Something in a header is wrong: a code, and where.
    Parameter(u8, u32),
}

impl IcmpError {
    /// What it means to a transport.
    pub(super) fn problem<F: Family>(self) -> Problem {
        let (kind, code) = match self {
            Self::TooBig(mtu) => return Problem::TooBig { mtu },
            Self::Unreachable(code) => (F::NAMES.unreachable, code),
            Self::TimeExceeded(code) => (F::NAMES.time_exceeded, code),
            Self::Parameter(code, _) => (F::NAMES.parameter, code),
        };
        let is_fatal = kind == F::NAMES.unreachable && F::NAMES.fatal.contains(&code);
        if is_fatal { Problem::Hard { kind, code } } else { Problem::Soft { kind, code } }
    }

    /// Why a conversation ends that ends by this; what was too big ends none.
    fn reason<F: Family>(self) -> Option<Reason> {
        let path = match self {
            Self::TooBig(_) => return None,
            Self::Unreachable(code) if code == F::NAMES.port => return Some(Reason::Refused),
            Self::Unreachable(code) => (F::NAMES.path)(code),
            Self::TimeExceeded(_) => NoPath::Host,
            Self::Parameter(..) => NoPath::Malformed,
        };
        Some(Reason::Unreachable(path))
    }

    /// What says `problem`.
    fn of<F: Family>(problem: Problem) -> Option<Self> {
        Some(match problem {
            Problem::TooBig { mtu } => Self::TooBig(mtu),
            Problem::NoNeighbour => Self::Unreachable(F::NAMES.no_neighbour),
            Problem::NoRoute => Self::Unreachable(F::NAMES.no_route),
            Problem::Hard { kind, code } | Problem::Soft { kind, code } => match kind {
                _ if kind == F::NAMES.unreachable => Self::Unreachable(code),
                _ if kind == F::NAMES.time_exceeded => Self::TimeExceeded(code),
                _ if kind == F::NAMES.parameter => Self::Parameter(code, 0),
                _ => return None,
            },
        })
    }
}

/// [`reason_of`](crate::reason_of) of one version.
pub(crate) fn reason_of<F: Family>(problem: Problem) -> Option<Reason> {
    IcmpError::of::<F>(problem)?.reason::<F>()
}

/// A datagram that an error may be about.
#[derive(Clone, Copy, Debug)]
pub struct OriginalDatagram<F: Family> {
    pub(crate) header: F::Header,
    /// It went to several hosts, by its address or by that of the link.
    pub(crate) group: bool,
    /// The interface that it came by; `None`: it is from ourselves.
    pub(crate) interface: Option<usize>,
    /// It has been put together from fragments.
    pub(crate) reassembled: bool,
}

impl<F: Family> OriginalDatagram<F> {
    /// A datagram of which only the header is known.
    const fn of(header: F::Header, group: bool) -> Self {
        Self { header, group, interface: None, reassembled: false }
    }
}

/// Puts `header` in front of `data`.
pub(super) fn push_header<F: Family>(header: &F::Header, data: &mut Message) {
    F::emit(header, data.push_header(F::facts(header).len));
}

impl<F: Family> Ip<F> {
    /// Sends an error about `datagram`, which begins with its header, where one may be sent.
    pub(crate) fn error(
        &mut self,
        about: &OriginalDatagram<F>,
        trouble: IcmpError,
        datagram: &Message,
        cx: &mut Context<'_>,
    ) {
        if !F::is_answerable(self, about, trouble, datagram) {
            return;
        }
        if !self.bucket.take(cx.now()) {
            self.counters.icmp_out_limited += 1;
            return;
        }
        if !F::has_answer(self, about) {
            return;
        }
        let Ok(mut error) = datagram.share(0, datagram.len().min(F::QUOTED)) else {
            return;
        };
        cx.charge(Work::Sum, error.unsummed() as u64);
        let sum = Sum::of(&F::emit_icmp(trouble, 0)).plus(error.sum());
        let octets = F::emit_icmp(trouble, sum.checksum());
        error.push(octets.len()).copy_from_slice(&octets);
        self.counters.icmp_out_errors += 1;
        let HeaderFields { source, destination, how, .. } = F::facts(&about.header);
        let outgoing = Outgoing {
            protocol: F::NAMES.icmp,
            // The address that was spoken to, or that of the interface it leaves by.
            source: Some(destination).filter(|&address| self.speaks_for(address)),
            destination: source,
            how: IpParameters { tos: F::error_tos(how.tos), ..IpParameters::NONE },
            options: Default::default(),
        };
        // An error that cannot be sent is lost.
        let _ = self.originate(outgoing, Box::new(Unit::of(error)), cx);
    }

    /// A user sends a unit back.
    pub(super) fn refuse(&mut self, from: Above, unit: Box<Unit>, problem: Problem, cx: &mut Context<'_>) {
        let Unit { source, destination, options, mut data, .. } = *unit;
        let (Some(source), Some(destination), Some(trouble), Some(IpProtocol(protocol))) =
            (source.get(), destination.get(), IcmpError::of::<F>(problem), self.users.number(from, options.under))
        else {
            return;
        };
        // As it came, but for what no sender needs to know its own datagram by: options, flow label, extension headers.
        let how = options.special.into();
        let outgoing = Outgoing { protocol, source: Some(source), destination, how, options: Default::default() };
        if let Some(header) = F::header(&outgoing, source, data.len()) {
            push_header::<F>(&header, &mut data);
            self.error(&OriginalDatagram::of(header, options.group), trouble, &data, cx);
        }
    }

    /// Tells the user whose datagram an error is about. `error` begins with the ICMP header and came behind `header`.
    pub(crate) fn hear_error(&mut self, header: &F::Header, mut error: Message, cx: &mut Context<'_>) {
        let pseudo = F::icmp_pseudo(header, error.len());
        if !is_intact(&mut error, pseudo, cx) {
            cx.drop("ICMP checksum wrong");
            return;
        }
        let Some(trouble) = F::pop_icmp(&mut error) else {
            cx.drop("ICMP error cut short");
            return;
        };
        let Some(quoted) = F::parse_quoted(&mut error) else {
            cx.drop(F::NAMES.quotes_nothing);
            return;
        };
        let HeaderFields { source, total, .. } = F::facts(&quoted);
        let problem = match trouble {
            Some(IcmpError::TooBig(mtu)) => F::believed(mtu, total).map(|mtu| Problem::TooBig { mtu }),
            trouble => trouble.map(IcmpError::problem::<F>),
        };
        let Some(problem) = problem else {
            cx.drop("ICMP error of no consequence");
            return;
        };
        // What we did not send, nobody here can have trouble with.
        if !self.speaks_for(source) {
            cx.drop(F::NAMES.about_others);
            return;
        }
        // What is no longer than that cannot have met such a link, nor anything as short as this any link (RFC 791
        // section 3.2, RFC 8201 section 4). Whether it was sent at all its user may know, and says so by
        // `Manage::Narrow`.
        if let Problem::TooBig { mtu } = problem
            && total <= mtu.max(F::Address::LEAST_MTU)
        {
            cx.drop(F::NAMES.not_too_big);
            return;
        }
        if self.tell_of(&quoted, problem, error, cx) {
            self.counters.icmp_in_errors += 1;
        } else {
            cx.drop("ICMP error that matches no session");
        }
    }

    /// A datagram of ours, or of somebody for whom we forward, has no next hop: nobody answers for it (RFC 1812 section
    /// 3.3.2). It begins with its header.
    pub(crate) fn unresolved(&mut self, mut datagram: Message, cx: &mut Context<'_>) {
        let Some(header) = F::parse_quoted(&mut datagram) else {
            return;
        };
        if self.is_local(F::facts(&header).source) {
            self.tell_of(&header, Problem::NoNeighbour, datagram, cx);
        } else {
            let trouble = IcmpError::Unreachable(F::NAMES.no_neighbour);
            self.error(&OriginalDatagram::of(header, false), trouble, &datagram, cx);
        }
    }

    /// Tells the user of `datagram`, one of ours, what happened to it; whether there is such a user. Only the first
    /// fragment begins with what says whose it was, ports or a key.
    fn tell_of(&self, header: &F::Header, problem: Problem, mut datagram: Message, cx: &mut Context<'_>) -> bool {
        let Some((protocol, at)) = F::carried(header, &mut datagram) else {
            return false;
        };
        let user = self.users.find(IpProtocol(protocol));
        if let Some((user, at)) = user.zip(at) {
            let _ = datagram.pop(at);
            let (source, destination) = (F::facts(header).source.into(), F::peer(header).into());
            let report = Report::Unreachable { source, destination, problem, start: datagram };
            cx.up(user, Indication::Report(Box::new(report)));
        }
        user.is_some()
    }
}
