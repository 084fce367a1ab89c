//! ICMP messages for IPv6, those of neighbour discovery among them.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 4443; neighbour discovery RFC 4861 section 4; codes 5 and 6 of destination unreachable, 3 of parameter problem after the registry |
//! | Checksum | over the whole message behind [`pseudo_header`](crate::inet::ipv6::pseudo_header): by whoever holds the data |
//! | Left out | group membership (RFC 2710, RFC 3810) and all other types: read as [`Message::Other`] |
//!
//! An error quotes as much of the packet that it is about as fits into 1280 octets. Behind the messages of neighbour
//! discovery stand [`option`]s.

use core::fmt;
use std::net::Ipv6Addr;

use crate::Malformed;

pub mod option;
#[cfg(test)]
mod tests;

/// Octets of most headers.
pub const MIN_LEN: usize = 8;
/// Octets of the longest header, that of a redirect.
pub const MAX_LEN: usize = 40;
/// Where the checksum lies in the header.
pub const CHECKSUM_OFFSET: usize = 2;

/// Codes of [`Message::DestinationUnreachable`].
pub mod unreachable {
    /// No route to destination.
    pub const NO_ROUTE: u8 = 0;
    /// Communication with the destination administratively prohibited.
    pub const PROHIBITED: u8 = 1;
    /// Beyond the scope of the source address.
    pub const BEYOND_SCOPE: u8 = 2;
    /// Address unreachable.
    pub const ADDRESS: u8 = 3;
    /// Port unreachable.
    pub const PORT: u8 = 4;
    /// Source address failed ingress or egress policy.
    pub const POLICY: u8 = 5;
    /// Reject route to destination.
    pub const REJECT: u8 = 6;
}

/// Codes of [`Message::TimeExceeded`].
pub mod time_exceeded {
    /// Hop limit exceeded in transit.
    pub const HOP_LIMIT: u8 = 0;
    /// Fragment reassembly time exceeded.
    pub const REASSEMBLY: u8 = 1;
}

/// Codes of [`Message::ParameterProblem`].
pub mod parameter {
    /// Erroneous header field.
    pub const FIELD: u8 = 0;
    /// Unrecognized next header type.
    pub const NEXT_HEADER: u8 = 1;
    /// Unrecognized IPv6 option.
    pub const OPTION: u8 = 2;
    /// The first fragment has not all headers (RFC 7112).
    pub const INCOMPLETE: u8 = 3;
}

/// Type numbers.
pub mod kind {
    /// Destination unreachable.
    pub const UNREACHABLE: u8 = 1;
    /// Packet too big.
    pub const TOO_BIG: u8 = 2;
    /// Time exceeded.
    pub const TIME_EXCEEDED: u8 = 3;
    /// Parameter problem.
    pub const PARAMETER: u8 = 4;
    /// Echo request.
    pub const ECHO: u8 = 128;
    /// Echo reply.
    pub const ECHO_REPLY: u8 = 129;
    /// Router solicitation.
    pub const ROUTER_SOLICITATION: u8 = 133;
    /// Router advertisement.
    pub const ROUTER_ADVERTISEMENT: u8 = 134;
    /// Neighbour solicitation.
    pub const NEIGHBOUR_SOLICITATION: u8 = 135;
    /// Neighbour advertisement.
    pub const NEIGHBOUR_ADVERTISEMENT: u8 = 136;
    /// Redirect.
    pub const REDIRECT: u8 = 137;
}

/// What a router says of itself and of the link (RFC 4861 section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Router {
    /// Cur Hop Limit; 0: not said.
    pub hop_limit: u8,
    /// M: addresses are to be had by DHCPv6.
    pub managed: bool,
    /// O: other things are to be had by DHCPv6.
    pub other: bool,
    /// Router Lifetime, in seconds; 0: not a default router.
    pub lifetime_s: u16,
    /// Reachable Time, in milliseconds; 0: not said.
    pub reachable_ms: u32,
    /// Retrans Timer, in milliseconds; 0: not said.
    pub retrans_ms: u32,
}

/// Type, code and what depends on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// Type 1. The quoted packet follows.
    DestinationUnreachable {
        /// Why, see [`mod@unreachable`].
        code: u8,
    },
    /// Type 2. The quoted packet follows.
    PacketTooBig {
        /// MTU of the next hop.
        mtu: u32,
    },
    /// Type 3. The quoted packet follows.
    TimeExceeded {
        /// Which time, see [`time_exceeded`].
        code: u8,
    },
    /// Type 4. The quoted packet follows.
    ParameterProblem {
        /// Which problem, see [`parameter`].
        code: u8,
        /// The octet of the packet where the error was found.
        pointer: u32,
    },
    /// Type 128. Data follows.
    Echo {
        /// Tells one sender's echoes from another's.
        identifier: u16,
        /// Tells one echo from the next.
        sequence: u16,
    },
    /// Type 129. The data of the echo follows.
    EchoReply {
        /// As in the echo.
        identifier: u16,
        /// As in the echo.
        sequence: u16,
    },
    /// Type 133. Options follow.
    RouterSolicitation,
    /// Type 134. Options follow.
    RouterAdvertisement(Router),
    /// Type 135. Options follow.
    NeighbourSolicitation {
        /// Whose link-layer address is asked for.
        target: Ipv6Addr,
    },
    /// Type 136. Options follow.
    NeighbourAdvertisement {
        /// R: the sender is a router.
        router: bool,
        /// S: this answers a solicitation.
        solicited: bool,
        /// O: what is known of the link-layer address should be replaced.
        overrides: bool,
        /// Whose link-layer address is told.
        target: Ipv6Addr,
    },
    /// Type 137. Options follow.
    Redirect {
        /// The better next hop.
        target: Ipv6Addr,
        /// For this destination.
        destination: Ipv6Addr,
    },
    /// Any other type.
    Other {
        /// Type.
        kind: u8,
        /// Code.
        code: u8,
        /// The four octets after the checksum.
        rest: [u8; 4],
    },
}

/// An ICMPv6 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// What the message says.
    pub message: Message,
    /// As on the wire; neither computed nor verified here.
    pub checksum: u16,
}

const R: u8 = 0x80;
const S: u8 = 0x40;
const O: u8 = 0x20;

impl Header {
    /// Reads a header; also gives its length. The octets after it are quoted or echoed data, or options. Fields that
    /// the standard leaves unused are ignored, and so are codes of messages that have only code 0.
    ///
    /// # Errors
    /// The header is not all there.
    pub fn parse(front: &[u8]) -> Result<(Self, usize), Malformed> {
        let Some((fixed, more)) = front.split_first_chunk::<MIN_LEN>() else {
            return Err(short(MIN_LEN, front.len()));
        };
        let [kind, code, c0, c1, r0, r1, r2, r3] = *fixed;
        let word = u32::from_be_bytes([r0, r1, r2, r3]);
        let identifier = u16::from_be_bytes([r0, r1]);
        let sequence = u16::from_be_bytes([r2, r3]);
        let address = |at: usize| {
            let octets = more.get(at..).and_then(<[u8]>::first_chunk::<16>);
            let need = MIN_LEN + at + 16;
            octets.map(|octets| Ipv6Addr::from(*octets)).ok_or_else(|| short(need, front.len()))
        };
        let message = match kind {
            kind::UNREACHABLE => Message::DestinationUnreachable { code },
            kind::TOO_BIG => Message::PacketTooBig { mtu: word },
            kind::TIME_EXCEEDED => Message::TimeExceeded { code },
            kind::PARAMETER => Message::ParameterProblem { code, pointer: word },
            kind::ECHO => Message::Echo { identifier, sequence },
            kind::ECHO_REPLY => Message::EchoReply { identifier, sequence },
            kind::ROUTER_SOLICITATION => Message::RouterSolicitation,
            kind::ROUTER_ADVERTISEMENT => {
                let Some(&[a0, a1, a2, a3, t0, t1, t2, t3]) = more.first_chunk() else {
                    return Err(short(16, front.len()));
                };
                Message::RouterAdvertisement(Router {
                    hop_limit: r0,
                    managed: r1 & 0x80 != 0,
                    other: r1 & 0x40 != 0,
                    lifetime_s: sequence,
                    reachable_ms: u32::from_be_bytes([a0, a1, a2, a3]),
                    retrans_ms: u32::from_be_bytes([t0, t1, t2, t3]),
                })
            }
            kind::NEIGHBOUR_SOLICITATION => Message::NeighbourSolicitation { target: address(0)? },
            kind::NEIGHBOUR_ADVERTISEMENT => Message::NeighbourAdvertisement {
                router: r0 & R != 0,
                solicited: r0 & S != 0,
                overrides: r0 & O != 0,
                target: address(0)?,
            },
            kind::REDIRECT => Message::Redirect { target: address(0)?, destination: address(16)? },
            kind => Message::Other { kind, code, rest: [r0, r1, r2, r3] },
        };
        let header = Self { message, checksum: u16::from_be_bytes([c0, c1]) };
        Ok((header, header.len()))
    }

    /// Octets that [`Header::emit`] writes: 8 to 40.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        match self.message {
            Message::RouterAdvertisement(_) => 16,
            Message::NeighbourSolicitation { .. } | Message::NeighbourAdvertisement { .. } => 24,
            Message::Redirect { .. } => MAX_LEN,
            Message::DestinationUnreachable { .. }
            | Message::PacketTooBig { .. }
            | Message::TimeExceeded { .. }
            | Message::ParameterProblem { .. }
            | Message::Echo { .. }
            | Message::EchoReply { .. }
            | Message::RouterSolicitation
            | Message::Other { .. } => MIN_LEN,
        }
    }

    /// Whether no error may be sent about such a message: it is an error itself or a redirect (RFC 4443 section 2.4
    /// (e)).
    #[must_use]
    pub const fn is_error(&self) -> bool {
        let (kind, _) = self.kind();
        kind < 128 || kind == kind::REDIRECT
    }

    /// Type and code.
    #[must_use]
    pub const fn kind(&self) -> (u8, u8) {
        match self.message {
            Message::DestinationUnreachable { code } => (kind::UNREACHABLE, code),
            Message::PacketTooBig { .. } => (kind::TOO_BIG, 0),
            Message::TimeExceeded { code } => (kind::TIME_EXCEEDED, code),
            Message::ParameterProblem { code, .. } => (kind::PARAMETER, code),
            Message::Echo { .. } => (kind::ECHO, 0),
            Message::EchoReply { .. } => (kind::ECHO_REPLY, 0),
            Message::RouterSolicitation => (kind::ROUTER_SOLICITATION, 0),
            Message::RouterAdvertisement(_) => (kind::ROUTER_ADVERTISEMENT, 0),
            Message::NeighbourSolicitation { .. } => (kind::NEIGHBOUR_SOLICITATION, 0),
            Message::NeighbourAdvertisement { .. } => (kind::NEIGHBOUR_ADVERTISEMENT, 0),
            Message::Redirect { .. } => (kind::REDIRECT, 0),
            Message::Other { kind, code, .. } => (kind, code),
        }
    }

    /// Writes [`Header::len`] octets, the checksum as it stands in the field.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        let out = &mut out;
        let (kind, code) = self.kind();
        crate::put(out, [kind, code]);
        crate::put(out, self.checksum.to_be_bytes());
        match self.message {
            Message::DestinationUnreachable { .. } | Message::TimeExceeded { .. } | Message::RouterSolicitation => {
                crate::put(out, [0; 4]);
            }
            Message::PacketTooBig { mtu: word } | Message::ParameterProblem { pointer: word, .. } => {
                crate::put(out, word.to_be_bytes());
            }
            Message::Echo { identifier, sequence } | Message::EchoReply { identifier, sequence } => {
                crate::put(out, identifier.to_be_bytes());
                crate::put(out, sequence.to_be_bytes());
            }
            Message::RouterAdvertisement(router) => {
                let managed = if router.managed { 0x80 } else { 0 };
                let other = if router.other { 0x40 } else { 0 };
                crate::put(out, [router.hop_limit, managed | other]);
                crate::put(out, router.lifetime_s.to_be_bytes());
                crate::put(out, router.reachable_ms.to_be_bytes());
                crate::put(out, router.retrans_ms.to_be_bytes());
            }
            Message::NeighbourSolicitation { target } => {
                crate::put(out, [0; 4]);
                crate::put(out, target.octets());
            }
            Message::NeighbourAdvertisement { router, solicited, overrides, target } => {
                let flag = |set, flag| if set { flag } else { 0 };
                let flags = flag(router, R) | flag(solicited, S) | flag(overrides, O);
                crate::put(out, [flags, 0, 0, 0]);
                crate::put(out, target.octets());
            }
            Message::Redirect { target, destination } => {
                crate::put(out, [0; 4]);
                crate::put(out, target.octets());
                crate::put(out, destination.octets());
            }
            Message::Other { rest, .. } => crate::put(out, rest),
        }
    }
}

const fn short(need: usize, have: usize) -> Malformed {
    Malformed::Short { protocol: "ICMPv6", need, have }
}

impl fmt::Display for Header {
    /// For example `ICMPv6 echo id 7 seq 1` or `ICMPv6 neighbour solicitation for fd00::2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ICMPv6 ")?;
        match self.message {
            Message::DestinationUnreachable { code } => {
                write!(f, "destination unreachable code {code}")
            }
            Message::PacketTooBig { mtu } => write!(f, "packet too big MTU {mtu}"),
            Message::TimeExceeded { code } => write!(f, "time exceeded code {code}"),
            Message::ParameterProblem { code, pointer } => {
                write!(f, "parameter problem code {code} at octet {pointer}")
            }
            Message::Echo { identifier, sequence } => write!(f, "echo id {identifier} seq {sequence}"),
            Message::EchoReply { identifier, sequence } => write!(f, "echo reply id {identifier} seq {sequence}"),
            Message::RouterSolicitation => f.write_str("router solicitation"),
            Message::RouterAdvertisement(Router { lifetime_s, .. }) => {
                write!(f, "router advertisement lifetime {lifetime_s} s")
            }
            Message::NeighbourSolicitation { target } => {
                write!(f, "neighbour solicitation for {target}")
            }
            Message::NeighbourAdvertisement { target, .. } => {
                write!(f, "neighbour advertisement of {target}")
            }
            Message::Redirect { target, destination } => write!(f, "redirect of {destination} to {target}"),
            Message::Other { kind, code, .. } => write!(f, "type {kind} code {code}"),
        }
    }
}
