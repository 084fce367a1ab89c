//! IPv6: the header; what follows it are layers of their own, extension headers too.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::inet::ipv6`] |
//! | Found | EtherType 86dd, PPP protocol 0057, link type 229, IP protocol 41 |
//! | Left out | jumbograms (RFC 2675): their data is read as far as the packet goes, without its length |

use std::net::IpAddr;

use kumiki_wire::Malformed;
use kumiki_wire::inet::ipv6::{
    DESTINATION_OFFSET, Header, LEN, NEXT_HEADER_OFFSET, PAYLOAD_LENGTH_OFFSET, next_header,
};

use crate::key::{Ends, Key};
use crate::packet::{Value, in_words};
use crate::protocol::header;
use crate::protocol::inet::ip;
use crate::protocol::inet::ipv4::protocol_name;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector = Dissector {
    name: "ipv6",
    title: "IPv6",
    claims: &[
        Key::EtherType(0x86dd),
        Key::PppProtocol(0x0057),
        Key::LinkType(229),
        // IPv6 in IP (RFC 2473, RFC 4213).
        Key::IpProtocol(41),
    ],
    dissect,
};

fn dissect(reading: &mut Reading<'_>) {
    // A payload length that the codec refuses is remarked on here.
    let (header, _) = header!(reading, Header::parse_quoted(reading.octets()));
    fields(reading, &header);
    reading.ends(Ends { source: IpAddr::V6(header.source), destination: IpAddr::V6(header.destination) });
    let payload = usize::from(header.payload_length);
    let behind = reading.total().saturating_sub(LEN);
    let is_jumbo = payload == 0 && header.next_header == next_header::HOP_BY_HOP;
    let mut data_len = payload;
    if reading.around.quoted {
        data_len = behind;
    } else if is_jumbo && behind > 0 {
        reading.note("a payload length of 0 before hop-by-hop options: a jumbogram, of which the length is not read");
        data_len = behind;
    } else if payload > behind {
        reading.bad(in_words(&Malformed::Length {
            protocol: "IPv6",
            field: "payload length",
            found: payload,
            least: 0,
            most: behind,
        }));
        data_len = behind;
    } else {
        reading.padding(LEN + payload);
    }
    reading.follow(&[Key::IpProtocol(header.next_header)], LEN, data_len);
}

fn fields(reading: &mut Reading<'_>, header: &Header) {
    reading.field("version", 0, 1, 6_u8);
    reading.field("dscp", 0, 2, header.traffic_class >> 2);
    ip::ecn(reading, header.ecn());
    let label = Value::Hex(header.flow_label.into(), 5);
    reading.field("flow label", 1, 3, label);
    reading.field("payload length", PAYLOAD_LENGTH_OFFSET, 2, header.payload_length);
    let (next, at) = (header.next_header, NEXT_HEADER_OFFSET);
    reading.named("next header", at, 1, next, next_name(next));
    reading.field("hop limit", 7, 1, header.hop_limit);
    reading.field("source", 8, 16, Value::text(header.source));
    let destination = Value::text(header.destination);
    reading.field("destination", DESTINATION_OFFSET, 16, destination);
}

/// Names what follows a header: an extension header, or a protocol.
pub(in crate::protocol) fn next_name(number: u8) -> &'static str {
    match number {
        next_header::HOP_BY_HOP => "hop-by-hop options",
        next_header::ROUTING => "routing",
        next_header::FRAGMENT => "fragment",
        50 => "ESP",
        51 => "AH",
        next_header::NONE => "nothing",
        next_header::DESTINATION => "destination options",
        other => protocol_name(other),
    }
}
