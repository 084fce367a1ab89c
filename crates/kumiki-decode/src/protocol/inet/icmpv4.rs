//! ICMP for IPv4, and the datagrams that its errors quote.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::inet::icmpv4`] |
//! | Found | IP protocol 1 |
//! | Left out | extensions after the quoted datagram (RFC 4884) |

use kumiki_wire::inet::icmpv4::{CHECKSUM_OFFSET, Header, MIN_LEN, Message};

use crate::key::Key;
use crate::packet::Value;
use crate::protocol::header;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector =
    Dissector { name: "icmp", title: "ICMP for IPv4", claims: &[Key::IpProtocol(1)], dissect };

fn dissect(reading: &mut Reading<'_>) {
    let (header, len) = header!(reading, Header::parse(reading.octets()));
    let octet = |reading: &Reading<'_>, at| reading.part(at, 1).first().copied().unwrap_or_default();
    let (kind, code) = (octet(reading, 0), octet(reading, 1));
    reading.field("type", 0, 1, kind);
    reading.field("code", 1, 1, code);
    reading.checksum("checksum", CHECKSUM_OFFSET, reading.total(), None);
    message(reading, header.message);
    let inside = reading.total().saturating_sub(len);
    if header.is_error() {
        reading.around.quoted = true;
        reading.follow(&[Key::EtherType(0x0800)], len, inside);
    } else {
        reading.rest(len, inside, "data");
    }
}

fn message(reading: &mut Reading<'_>, message: Message) {
    match message {
        Message::EchoReply { identifier, sequence } | Message::Echo { identifier, sequence } => {
            pair(reading, identifier, sequence);
        }
        Message::Timestamp { identifier, sequence, times }
        | Message::TimestampReply { identifier, sequence, times } => {
            pair(reading, identifier, sequence);
            reading.fields(MIN_LEN, times.fields());
        }
        Message::DestinationUnreachable { next_hop_mtu, .. } => {
            reading.field("next-hop mtu", 6, 2, next_hop_mtu);
        }
        Message::Redirect { gateway, .. } => {
            reading.field("gateway", 4, 4, Value::text(gateway));
        }
        Message::ParameterProblem { pointer, .. } => reading.field("pointer", 4, 1, pointer),
        Message::SourceQuench | Message::TimeExceeded { .. } => {}
        Message::Other { rest, .. } => reading.field("rest of header", 4, 4, &rest[..]),
    }
}

fn pair(reading: &mut Reading<'_>, identifier: u16, sequence: u16) {
    reading.field("identifier", 4, 2, identifier);
    reading.field("sequence number", 6, 2, sequence);
}
