//! How those are refused whom a gateway will not have.

use kumiki_graph::Problem;
use kumiki_wire::inet::{icmpv4, icmpv6};

/// Destination unreachable of ICMP (RFC 792).
const UNREACHABLE: u8 = 3;

/// Communication administratively prohibited: RFC 1812 section 5.2.7.1, and RFC 4443 section 3.1.
const PROHIBITED: u8 = 13;
const PROHIBITED_V6: u8 = 1;

/// How somebody is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Reset,
    Silence,
    Unreachable(Unreachable),
}

/// What ICMP says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unreachable {
    Network,
    Host,
    Port,
    Prohibited,
}

impl Unreachable {
    /// In the numbers of that version of IP.
    pub(crate) const fn problem(self, is_v4: bool) -> Problem {
        let kind = if is_v4 { UNREACHABLE } else { icmpv6::kind::UNREACHABLE };
        let code = match (self, is_v4) {
            (Self::Network, true) => icmpv4::unreachable::NET,
            (Self::Network, false) => icmpv6::unreachable::NO_ROUTE,
            (Self::Host, true) => icmpv4::unreachable::HOST,
            (Self::Host, false) => icmpv6::unreachable::ADDRESS,
            (Self::Port, true) => icmpv4::unreachable::PORT,
            (Self::Port, false) => icmpv6::unreachable::PORT,
            (Self::Prohibited, true) => PROHIBITED,
            (Self::Prohibited, false) => PROHIBITED_V6,
        };
        Problem::Hard { kind, code }
    }
}
