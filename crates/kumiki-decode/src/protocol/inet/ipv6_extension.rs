//! Extension headers of IPv6, each a layer of its own.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::inet::ipv6::extension`]: fragment headers are also written, the others only read |
//! | Found | next headers 0, 43, 44, 59 and 60 |
//! | Fragments | named, and put together again ([`fragments`](crate::reassembly::fragments)) |
//! | Left out | the contents of options and of routing headers; AH and ESP. Where a routing header of unknown type has segments left, sums above it are not checked: they cover the last destination |

use std::net::IpAddr;

use kumiki_octets::text::counted;
use kumiki_wire::Malformed;
use kumiki_wire::inet::ipv6::extension::{Extension, FRAGMENT_LEN, Fragment as Header, Unknown};
use kumiki_wire::inet::ipv6::next_header;

use crate::key::{Ends, Key};
use crate::packet::{Value, in_words};
use crate::protocol::emitted;
use crate::protocol::inet::ip;
use crate::protocol::inet::ipv6::next_name;
use crate::reading::Reading;
use crate::reassembly::fragments::{Fragment, Name};
use crate::registry::Dissector;

pub(in crate::protocol) const HOP_BY_HOP: Dissector = Dissector {
    name: "ipv6-hop-by-hop",
    title: "hop-by-hop options of IPv6",
    claims: &[Key::IpProtocol(next_header::HOP_BY_HOP)],
    dissect: |reading| extension(reading, next_header::HOP_BY_HOP, "hop-by-hop options"),
};

pub(in crate::protocol) const ROUTING: Dissector = Dissector {
    name: "ipv6-routing",
    title: "routing headers of IPv6",
    claims: &[Key::IpProtocol(next_header::ROUTING)],
    dissect: |reading| extension(reading, next_header::ROUTING, "routing"),
};

pub(in crate::protocol) const DESTINATION: Dissector = Dissector {
    name: "ipv6-destination",
    title: "destination options of IPv6",
    claims: &[Key::IpProtocol(next_header::DESTINATION)],
    dissect: |reading| extension(reading, next_header::DESTINATION, "destination options"),
};

pub(in crate::protocol) const FRAGMENT: Dissector = Dissector {
    name: "ipv6-fragment",
    title: "fragment headers of IPv6",
    claims: &[Key::IpProtocol(next_header::FRAGMENT)],
    dissect: fragment,
};

pub(in crate::protocol) const NONE: Dissector = Dissector {
    name: "ipv6-none",
    title: "nothing behind the headers of IPv6",
    claims: &[Key::IpProtocol(next_header::NONE)],
    dissect: |reading| {
        // RFC 8200 section 4.7: octets that are there all the same are passed on, and mean nothing.
        reading.summary("no next header");
        reading.rest(0, reading.total(), "octets behind the last header");
    },
};

fn extension(reading: &mut Reading<'_>, kind: u8, name: &str) {
    let need = match *reading.octets() {
        [_, words, ..] => 8 * (usize::from(words) + 1),
        _ => 8,
    };
    let Some(octets @ &[next, words, ..]) = reading.octets().get(..need) else {
        return reading.malformed(&Malformed::Short { protocol: "IPv6", need, have: reading.octets().len() });
    };
    reading.header_len(need);
    reading.summary(format!("IPv6 {name} of {octets}, next header {next}", octets = counted(need, "octet")));
    reading.named("next header", 0, 1, next, next_name(next));
    let length = counted(need, "octet").to_string();
    reading.named("hdr ext len", 1, 1, words, length);
    let header = Extension { kind, next_header: next, at: 0, field: 0, octets };
    if let Some((kind, left)) = header.routing() {
        reading.named("routing type", 2, 1, kind, routing_name(kind));
        reading.field("segments left", 3, 1, left);
        reading.field("type-specific data", 4, need - 4, reading.part(4, need - 4));
        if kind == 0 && left > 0 {
            // RFC 5095 section 3.
            reading.bad("a routing header of type 0 has segments left; it must not be followed");
        }
        reading.around.ends = reading.around.ends.and_then(|ends| {
            let IpAddr::V6(destination) = ends.destination else {
                return None;
            };
            let destination = IpAddr::V6(header.last_destination(destination)?);
            Some(Ends { destination, ..ends })
        });
    }
    for option in header.options() {
        match option {
            Ok(option) => {
                let asks = match option.unknown() {
                    Unknown::Skip => "else skip",
                    Unknown::Discard => "else discard",
                    Unknown::Tell => "else discard and tell",
                    Unknown::TellUnlessGroup => "else discard and tell unless to a group",
                };
                let name = option_name(option.kind);
                let space = if name.is_empty() { "" } else { ", " };
                let meaning = format!("type {:#04x}{space}{name}, {asks}", option.kind);
                reading.named("option", option.at, 2 + option.data.len(), option.data, meaning);
            }
            Err(why) => reading.bad(in_words(&why)),
        }
    }
    let inside = reading.total().saturating_sub(need);
    reading.follow(&[Key::IpProtocol(next)], need, inside);
}

/// Types of options, from the registry of IPv6 parameters.
fn option_name(kind: u8) -> &'static str {
    match kind {
        0x04 => "tunnel encapsulation limit",
        0x05 => "router alert",
        0x07 => "CALIPSO",
        0x26 => "quick-start",
        0xc2 => "jumbo payload",
        0xc9 => "home address",
        _ => "",
    }
}

/// Types of routing headers, from the same registry.
fn routing_name(kind: u8) -> &'static str {
    match kind {
        0 => "source route, deprecated",
        2 => "mobile IPv6",
        3 => "RPL source route",
        4 => "segment routing",
        _ => "",
    }
}

fn fragment(reading: &mut Reading<'_>) {
    let (header, len) = match Header::parse(reading.octets()) {
        Ok(found) => found,
        Err(why) => return reading.malformed(&why),
    };
    reading.header_len(len);
    reading.summary(format!("IPv6 {header}"));
    emitted!(reading, header);
    let Header { next_header: next, offset, more, identification } = header;
    reading.named("next header", 0, 1, next, next_name(next));
    let start = header.start();
    reading.named("fragment offset", 2, 2, offset, format!("octet {start}"));
    reading.field("more fragments", 3, 1, more);
    let number = Value::Hex(identification.into(), 8);
    reading.field("identification", 4, 4, number);
    let data_len = reading.total().saturating_sub(FRAGMENT_LEN);
    if header.is_atomic() {
        return reading.follow(&[Key::IpProtocol(next)], len, data_len);
    }
    let data = reading.part(len, data_len);
    let end = start.saturating_add(data_len);
    reading.rest(len, data_len, format!("fragment: octets {start} to {end} of packet {identification:#010x}"));
    let Some((ends, false)) = reading.around.ends.map(|it| (it, reading.around.quoted)) else {
        return;
    };
    let name = Name {
        source: ends.source,
        destination: ends.destination,
        // The fragments of one packet may name what follows differently; the first one counts.
        protocol: None,
        identification,
        interface: reading.around.interface,
    };
    let fragment = Fragment { start, more, follows: next, data, packet: reading.around.packet };
    ip::fragment(reading, name, &fragment, data_len);
}
