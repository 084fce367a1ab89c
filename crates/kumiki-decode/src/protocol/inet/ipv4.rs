//! IPv4: the header, its options, fragments.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::inet::ipv4`] |
//! | Found | EtherType 0800, PPP protocol 0021, link type 228 |
//! | Fragments | named, and put together again ([`fragments`](crate::reassembly::fragments)) |
//! | Left out | the contents of options |

use std::net::IpAddr;

use kumiki_octets::text::counted;
use kumiki_wire::Malformed;
use kumiki_wire::inet::ipv4::{CHECKSUM_OFFSET, Header, MIN_LEN, checksum, options, protocol};

use crate::key::{Ends, Key};
use crate::packet::{Value, in_words};
use crate::protocol::header;
use crate::protocol::inet::ip;
use crate::reading::Reading;
use crate::reassembly::fragments::{Fragment, Name};
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector = Dissector {
    name: "ipv4",
    title: "IPv4",
    claims: &[
        Key::EtherType(0x0800),
        Key::PppProtocol(0x0021),
        Key::MaposProtocol(0x0021),
        Key::LinkType(228),
        // IPv4 in IPv4 (RFC 2003).
        Key::IpProtocol(4),
    ],
    dissect,
};

fn dissect(reading: &mut Reading<'_>) {
    // What a codec refuses for its checksum or length can still be read, and is remarked on here.
    let (header, len) = header!(reading, Header::parse_quoted(reading.octets()));
    let octets = reading.part(0, len);
    if octets.get(6).is_some_and(|flags| flags & 0x80 != 0) {
        reading.note("the reserved flag is set");
    }
    fields(reading, &header, len);
    let right = checksum(octets);
    if right != header.header_checksum && !reading.around.quoted {
        reading.bad(format!("header checksum is {:#06x}, the octets give {right:#06x}", header.header_checksum));
    }
    reading.ends(Ends { source: IpAddr::V4(header.source), destination: IpAddr::V4(header.destination) });
    // A transport's pseudo header names who gets the datagram in the end.
    let last = header.last_destination();
    reading.around.ends =
        last.as_ref().ok().map(|&last| Ends { source: IpAddr::V4(header.source), destination: IpAddr::V4(last) });
    if let Err(why) = last {
        reading.bad(in_words(&why));
    }
    let total_length = usize::from(header.total_length);
    let mut data_len = total_length.saturating_sub(len);
    if reading.around.quoted {
        data_len = reading.total().saturating_sub(len);
    } else if total_length < len || total_length > reading.total() {
        reading.bad(in_words(&Malformed::Length {
            protocol: "IPv4",
            field: "total length",
            found: total_length,
            least: len,
            most: reading.total(),
        }));
        data_len = reading.total().saturating_sub(len);
    } else {
        reading.padding(total_length);
    }
    if header.is_fragment() {
        fragment(reading, &header, len, data_len);
    } else {
        reading.follow(&[Key::IpProtocol(header.protocol)], len, data_len);
    }
}

fn fields(reading: &mut Reading<'_>, header: &Header, len: usize) {
    reading.field("version", 0, 1, 4_u8);
    reading.named("ihl", 0, 1, u32::try_from(len / 4).unwrap_or_default(), counted(len, "octet").to_string());
    reading.field("dscp", 1, 1, header.dscp());
    ip::ecn(reading, header.ecn());
    reading.field("total length", 2, 2, header.total_length);
    reading.field("identification", 4, 2, header.identification);
    reading.field("don't fragment", 6, 1, header.dont_fragment);
    reading.field("more fragments", 6, 1, header.more_fragments);
    let start = format!("octet {}", header.fragment_start());
    reading.named("fragment offset", 6, 2, header.fragment_offset, start);
    reading.field("time to live", 8, 1, header.time_to_live);
    reading.named("protocol", 9, 1, header.protocol, protocol_name(header.protocol));
    let sum = Value::Hex(header.header_checksum.into(), 4);
    reading.field("header checksum", CHECKSUM_OFFSET, 2, sum);
    reading.field("source", 12, 4, Value::text(header.source));
    reading.field("destination", 16, 4, Value::text(header.destination));
    let mut at = MIN_LEN;
    for item in header.options.items() {
        match item {
            Ok(item) => {
                let name = option_name(item.kind);
                reading.named("option", at, item.octets.len(), item.octets, name);
                at += item.octets.len();
            }
            Err(why) => reading.bad(format!("option at octet {at}: {}", in_words(&why))),
        }
    }
}

/// Names the protocols that people meet, known here or not.
pub(in crate::protocol) fn protocol_name(number: u8) -> &'static str {
    match number {
        protocol::ICMP => "ICMP",
        protocol::IGMP => "IGMP",
        4 => "IPv4",
        protocol::TCP => "TCP",
        protocol::UDP => "UDP",
        protocol::XTP => "XTP",
        41 => "IPv6",
        47 => "GRE",
        58 => "ICMPv6",
        80 => "ISO-IP",
        89 => "OSPF",
        132 => "SCTP",
        _ => "",
    }
}

fn option_name(kind: u8) -> &'static str {
    match kind {
        options::kind::NOP => "no operation",
        options::kind::RECORD_ROUTE => "record route",
        options::kind::TIMESTAMP => "timestamp",
        options::kind::SECURITY => "security",
        options::kind::LOOSE_SOURCE_ROUTE => "loose source route",
        options::kind::STREAM_ID => "stream identifier",
        options::kind::STRICT_SOURCE_ROUTE => "strict source route",
        options::kind::ROUTER_ALERT => "router alert",
        _ => "",
    }
}

fn fragment(reading: &mut Reading<'_>, header: &Header, len: usize, data_len: usize) {
    let start = header.fragment_start();
    let data = reading.part(len, data_len);
    let what =
        format!("fragment: octets {start} to {} of datagram {}", start.saturating_add(data_len), header.identification);
    reading.rest(len, data_len, what);
    if reading.around.quoted {
        return;
    }
    let name = Name {
        source: IpAddr::V4(header.source),
        destination: IpAddr::V4(header.destination),
        protocol: Some(header.protocol),
        identification: header.identification.into(),
        interface: reading.around.interface,
    };
    let fragment =
        Fragment { start, more: header.more_fragments, follows: header.protocol, data, packet: reading.around.packet };
    ip::fragment(reading, name, &fragment, data_len);
}
