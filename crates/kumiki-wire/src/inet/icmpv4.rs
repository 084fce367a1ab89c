//! ICMP messages for IPv4.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 792; next-hop MTU after RFC 1191; codes of RFC 1122 section 3.2.2.1 and RFC 1812 section 5.2.7.1 |
//! | Checksum | over the whole message, without a pseudo-header: by whoever holds the data |
//! | Left out | information request and address mask, both obsolete, and router discovery: read as [`Message::Other`]; the length octet of RFC 4884 |
//!
//! An error message quotes the datagram it is about: after the header comes an IPv4 header
//! ([`parse_quoted`](crate::inet::ipv4::Header::parse_quoted)) and at least the first 8 octets after that.

use core::fmt;
use std::net::Ipv4Addr;

use crate::Malformed;
use crate::layout::layout;

/// Octets of most headers.
pub const MIN_LEN: usize = 8;
/// Octets of the longest header, that of the timestamp messages.
pub const MAX_LEN: usize = MIN_LEN + TIMES_LEN;
const TIMES_LEN: usize = 12;
/// Where the checksum lies in the header.
pub const CHECKSUM_OFFSET: usize = 2;
/// Octets of data after the IPv4 header that every error message quotes (RFC 792).
pub const QUOTED_DATA: usize = 8;

/// Codes of [`Message::DestinationUnreachable`].
pub mod unreachable {
    /// Net unreachable.
    pub const NET: u8 = 0;
    /// Host unreachable.
    pub const HOST: u8 = 1;
    /// Protocol unreachable.
    pub const PROTOCOL: u8 = 2;
    /// Port unreachable.
    pub const PORT: u8 = 3;
    /// Fragmentation needed and DF set: carries the next-hop MTU.
    pub const FRAGMENTATION_NEEDED: u8 = 4;
    /// Source route failed.
    pub const SOURCE_ROUTE_FAILED: u8 = 5;
    /// Destination network unknown.
    pub const NET_UNKNOWN: u8 = 6;
    /// Destination host unknown.
    pub const HOST_UNKNOWN: u8 = 7;
    /// Source host isolated.
    pub const SOURCE_ISOLATED: u8 = 8;
    /// Communication with the network administratively prohibited.
    pub const NET_PROHIBITED: u8 = 9;
    /// Communication with the host administratively prohibited.
    pub const HOST_PROHIBITED: u8 = 10;
    /// Network unreachable for the type of service.
    pub const NET_FOR_TOS: u8 = 11;
    /// Host unreachable for the type of service.
    pub const HOST_FOR_TOS: u8 = 12;
    /// Communication administratively prohibited by filtering (RFC 1812).
    pub const FILTERED: u8 = 13;
    /// Host precedence violation (RFC 1812).
    pub const PRECEDENCE_VIOLATION: u8 = 14;
    /// Precedence cutoff in effect (RFC 1812).
    pub const PRECEDENCE_CUTOFF: u8 = 15;
}

/// Codes of [`Message::TimeExceeded`].
pub mod time_exceeded {
    /// Time to live exceeded in transit.
    pub const TTL: u8 = 0;
    /// Fragment reassembly time exceeded.
    pub const REASSEMBLY: u8 = 1;
}

/// Codes of [`Message::Redirect`].
pub mod redirect {
    /// For the network.
    pub const NET: u8 = 0;
    /// For the host.
    pub const HOST: u8 = 1;
    /// For the type of service and network.
    pub const NET_FOR_TOS: u8 = 2;
    /// For the type of service and host.
    pub const HOST_FOR_TOS: u8 = 3;
}

mod kind {
    pub(super) const ECHO_REPLY: u8 = 0;
    pub(super) const UNREACHABLE: u8 = 3;
    pub(super) const QUENCH: u8 = 4;
    pub(super) const REDIRECT: u8 = 5;
    pub(super) const ECHO: u8 = 8;
    pub(super) const TIME_EXCEEDED: u8 = 11;
    pub(super) const PARAMETER: u8 = 12;
    pub(super) const TIMESTAMP: u8 = 13;
    pub(super) const TIMESTAMP_REPLY: u8 = 14;
}

layout! {
    "ICMP", TIMES_LEN;
    /// The three times of a timestamp message, in milliseconds since midnight UT; the top bit marks another clock.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Timestamps {
        /// When the sender last touched the request.
        pub originate: u32 = "originate timestamp";
        /// When the echoer first touched it.
        pub receive: u32 = "receive timestamp";
        /// When the echoer last touched the reply.
        pub transmit: u32 = "transmit timestamp";
    }
}

/// Type, code and what depends on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// Type 0. The data of the echo follows.
    EchoReply {
        /// As in the echo.
        identifier: u16,
        /// As in the echo.
        sequence: u16,
    },
    /// Type 3. The quoted datagram follows.
    DestinationUnreachable {
        /// Why, see [`mod@unreachable`].
        code: u8,
        /// MTU of the next hop with [`unreachable::FRAGMENTATION_NEEDED`] (RFC 1191); 0 from routers that do not tell
        /// and with other codes.
        next_hop_mtu: u16,
    },
    /// Type 4. The quoted datagram follows. Not to be sent nor acted on (RFC 6633).
    SourceQuench,
    /// Type 5. The quoted datagram follows.
    Redirect {
        /// For what, see [`redirect`].
        code: u8,
        /// Where to send instead.
        gateway: Ipv4Addr,
    },
    /// Type 8. Data follows.
    Echo {
        /// Tells one sender's echoes from another's.
        identifier: u16,
        /// Tells one echo from the next.
        sequence: u16,
    },
    /// Type 11. The quoted datagram follows.
    TimeExceeded {
        /// Which time, see [`time_exceeded`].
        code: u8,
    },
    /// Type 12. The quoted datagram follows.
    ParameterProblem {
        /// 0: the pointer says where. 1: a required option is missing (RFC 1122).
        code: u8,
        /// The octet of the quoted datagram where the error was found.
        pointer: u8,
    },
    /// Type 13.
    Timestamp {
        /// Tells one sender's messages from another's.
        identifier: u16,
        /// Tells one message from the next.
        sequence: u16,
        /// The times.
        times: Timestamps,
    },
    /// Type 14.
    TimestampReply {
        /// As in the request.
        identifier: u16,
        /// As in the request.
        sequence: u16,
        /// The times.
        times: Timestamps,
    },
    /// Any other type, to be discarded silently (RFC 1122 section 3.2.2).
    Other {
        /// Type.
        kind: u8,
        /// Code.
        code: u8,
        /// The four octets after the checksum.
        rest: [u8; 4],
    },
}

/// An ICMP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// What the message says.
    pub message: Message,
    /// As on the wire; neither computed nor verified here.
    pub checksum: u16,
}

impl Header {
    /// Reads a header; also gives its length. The octets after it are quoted or echoed data. Fields that the standard
    /// leaves unused are ignored, and so are codes of messages that have only code 0.
    ///
    /// # Errors
    /// The header is not all there.
    pub fn parse(front: &[u8]) -> Result<(Self, usize), Malformed> {
        let Some((fixed, more)) = front.split_first_chunk::<MIN_LEN>() else {
            return Err(short(MIN_LEN, front.len()));
        };
        let [kind, code, c0, c1, r0, r1, r2, r3] = *fixed;
        let identifier = u16::from_be_bytes([r0, r1]);
        let sequence = u16::from_be_bytes([r2, r3]);
        let mut len = MIN_LEN;
        let message = match kind {
            kind::ECHO_REPLY => Message::EchoReply { identifier, sequence },
            kind::UNREACHABLE => Message::DestinationUnreachable { code, next_hop_mtu: sequence },
            kind::QUENCH => Message::SourceQuench,
            kind::REDIRECT => Message::Redirect { code, gateway: Ipv4Addr::new(r0, r1, r2, r3) },
            kind::ECHO => Message::Echo { identifier, sequence },
            kind::TIME_EXCEEDED => Message::TimeExceeded { code },
            kind::PARAMETER => Message::ParameterProblem { code, pointer: r0 },
            kind::TIMESTAMP | kind::TIMESTAMP_REPLY => {
                let times = Timestamps::read(more).map_err(|_| short(MAX_LEN, front.len()))?;
                len = MAX_LEN;
                if kind == kind::TIMESTAMP {
                    Message::Timestamp { identifier, sequence, times }
                } else {
                    Message::TimestampReply { identifier, sequence, times }
                }
            }
            kind => Message::Other { kind, code, rest: [r0, r1, r2, r3] },
        };
        Ok((Self { message, checksum: u16::from_be_bytes([c0, c1]) }, len))
    }

    /// Octets that [`Header::emit`] writes: 8, or 20 for the timestamp messages.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        match self.times() {
            Some(_) => MAX_LEN,
            None => MIN_LEN,
        }
    }

    const fn times(&self) -> Option<Timestamps> {
        match self.message {
            Message::Timestamp { times, .. } | Message::TimestampReply { times, .. } => Some(times),
            Message::EchoReply { .. }
            | Message::DestinationUnreachable { .. }
            | Message::SourceQuench
            | Message::Redirect { .. }
            | Message::Echo { .. }
            | Message::TimeExceeded { .. }
            | Message::ParameterProblem { .. }
            | Message::Other { .. } => None,
        }
    }

    /// Whether this reports an error about a datagram: no error may be sent about such a message (RFC 1122 section
    /// 3.2.2).
    #[must_use]
    pub const fn is_error(&self) -> bool {
        match self.message {
            Message::DestinationUnreachable { .. }
            | Message::SourceQuench
            | Message::Redirect { .. }
            | Message::TimeExceeded { .. }
            | Message::ParameterProblem { .. } => true,
            Message::EchoReply { .. }
            | Message::Echo { .. }
            | Message::Timestamp { .. }
            | Message::TimestampReply { .. }
            | Message::Other { .. } => false,
        }
    }

    /// Writes [`Header::len`] octets, the checksum as it stands in the field.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        let out = &mut out;
        let pair = |a: u16, b: u16| {
            let ([a0, a1], [b0, b1]) = (a.to_be_bytes(), b.to_be_bytes());
            [a0, a1, b0, b1]
        };
        let (kind, code, rest) = match self.message {
            Message::EchoReply { identifier, sequence } => (kind::ECHO_REPLY, 0, pair(identifier, sequence)),
            Message::DestinationUnreachable { code, next_hop_mtu } => (kind::UNREACHABLE, code, pair(0, next_hop_mtu)),
            Message::SourceQuench => (kind::QUENCH, 0, [0; 4]),
            Message::Redirect { code, gateway } => (kind::REDIRECT, code, gateway.octets()),
            Message::Echo { identifier, sequence } => (kind::ECHO, 0, pair(identifier, sequence)),
            Message::TimeExceeded { code } => (kind::TIME_EXCEEDED, code, [0; 4]),
            Message::ParameterProblem { code, pointer } => (kind::PARAMETER, code, [pointer, 0, 0, 0]),
            Message::Timestamp { identifier, sequence, .. } => (kind::TIMESTAMP, 0, pair(identifier, sequence)),
            Message::TimestampReply { identifier, sequence, .. } => {
                (kind::TIMESTAMP_REPLY, 0, pair(identifier, sequence))
            }
            Message::Other { kind, code, rest } => (kind, code, rest),
        };
        crate::put(out, [kind, code]);
        crate::put(out, self.checksum.to_be_bytes());
        crate::put(out, rest);
        if let Some(times) = self.times() {
            times.put(out);
        }
    }
}

const fn short(need: usize, have: usize) -> Malformed {
    Malformed::Short { protocol: "ICMP", need, have }
}

impl fmt::Display for Header {
    /// For example `ICMP echo id 7 seq 1` or `ICMP destination unreachable code 4 next-hop MTU 1500`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ICMP ")?;
        match self.message {
            Message::EchoReply { identifier, sequence } => write!(f, "echo reply id {identifier} seq {sequence}"),
            Message::DestinationUnreachable { code, next_hop_mtu } => {
                write!(f, "destination unreachable code {code}")?;
                if code == unreachable::FRAGMENTATION_NEEDED {
                    write!(f, " next-hop MTU {next_hop_mtu}")?;
                }
                Ok(())
            }
            Message::SourceQuench => f.write_str("source quench"),
            Message::Redirect { code, gateway } => write!(f, "redirect code {code} to {gateway}"),
            Message::Echo { identifier, sequence } => write!(f, "echo id {identifier} seq {sequence}"),
            Message::TimeExceeded { code } => write!(f, "time exceeded code {code}"),
            Message::ParameterProblem { code, pointer } => {
                write!(f, "parameter problem code {code} at octet {pointer}")
            }
            Message::Timestamp { identifier, sequence, times } => {
                write!(f, "timestamp id {identifier} seq {sequence} originate {}", times.originate)
            }
            Message::TimestampReply { identifier, sequence, times: Timestamps { originate, receive, transmit } } => {
                write!(f, "timestamp reply id {identifier} seq {sequence} ")?;
                write!(f, "originate {originate} receive {receive} transmit {transmit}")
            }
            Message::Other { kind, code, .. } => write!(f, "type {kind} code {code}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn emitted(header: &Header) -> Vec<u8> {
        let mut out = vec![0xff; header.len()];
        header.emit(&mut out);
        out
    }

    #[test]
    fn messages_are_laid_out_as_in_the_standard() {
        let times = Timestamps { originate: 1, receive: 2, transmit: 3 };
        let cases: [(Message, &[u8]); 10] = [
            (Message::EchoReply { identifier: 0x102, sequence: 0x304 }, &[0, 0, 0xab, 0xcd, 1, 2, 3, 4]),
            (Message::DestinationUnreachable { code: 4, next_hop_mtu: 1500 }, &[3, 4, 0xab, 0xcd, 0, 0, 0x05, 0xdc]),
            (Message::SourceQuench, &[4, 0, 0xab, 0xcd, 0, 0, 0, 0]),
            (Message::Redirect { code: 1, gateway: Ipv4Addr::new(10, 0, 0, 9) }, &[5, 1, 0xab, 0xcd, 10, 0, 0, 9]),
            (Message::Echo { identifier: 0x102, sequence: 0x304 }, &[8, 0, 0xab, 0xcd, 1, 2, 3, 4]),
            (Message::TimeExceeded { code: 1 }, &[11, 1, 0xab, 0xcd, 0, 0, 0, 0]),
            (Message::ParameterProblem { code: 0, pointer: 20 }, &[12, 0, 0xab, 0xcd, 20, 0, 0, 0]),
            (
                Message::Timestamp { identifier: 7, sequence: 8, times },
                &[13, 0, 0xab, 0xcd, 0, 7, 0, 8, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3],
            ),
            (
                Message::TimestampReply { identifier: 7, sequence: 8, times },
                &[14, 0, 0xab, 0xcd, 0, 7, 0, 8, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3],
            ),
            (Message::Other { kind: 17, code: 0, rest: [0, 1, 0, 2] }, &[17, 0, 0xab, 0xcd, 0, 1, 0, 2]),
        ];
        for (message, octets) in cases {
            let header = Header { message, checksum: 0xabcd };
            assert_eq!(emitted(&header), octets, "{header}");
            assert_eq!(Header::parse(octets), Ok((header, octets.len())));
        }
    }

    #[test]
    fn unused_octets_are_ignored() {
        let octets = [3, 3, 0, 0, 0xff, 0xff, 0, 0];
        let (header, _) = Header::parse(&octets).unwrap();
        assert_eq!(header.message, Message::DestinationUnreachable { code: 3, next_hop_mtu: 0 });
        assert!(header.is_error());
    }

    #[test]
    fn a_cut_timestamp_is_short() {
        assert_eq!(Header::parse(&[13; 19]), Err(short(20, 19)));
        assert_eq!(Header::parse(&[8; 7]), Err(short(8, 7)));
    }

    proptest! {
        // Every header that octets can give is emitted to octets that give it again.
        #[test]
        fn what_was_emitted_is_parsed(octets in proptest::collection::vec(any::<u8>(), 20), kind in 0u8..20) {
            let mut octets = octets;
            octets[0] = kind;
            let (header, len) = Header::parse(&octets).unwrap();
            let out = emitted(&header);
            prop_assert_eq!(out.len(), len);
            prop_assert_eq!(Header::parse(&out), Ok((header, len)));
        }

        #[test]
        fn no_octets_make_it_panic(octets: Vec<u8>) {
            if let Ok((header, _)) = Header::parse(&octets) {
                let _ = header.to_string();
            }
        }
    }
}
