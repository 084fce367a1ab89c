//! DHCP for IPv4.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::inet::dhcp`] |
//! | Found | UDP ports 67 and 68 (RFC 2131 section 4.1) |
//! | Left out | names of servers and boot files, where options do not fill their fields; options that the codec reads past are shown as data. Options have no order, so a message is not written again |

use core::net::Ipv4Addr;

use kumiki_wire::inet::dhcp::{FIXED, Header, code, port};
use kumiki_wire::inet::ethernet::MacAddr;

use crate::key::Key;
use crate::packet::{Value, in_words};
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector = Dissector {
    name: "dhcp",
    title: "DHCP",
    claims: &[Key::UdpPort(port::SERVER), Key::UdpPort(port::CLIENT)],
    dissect,
};

/// Where options may stand for a name, by the bit of the option that says so (RFC 2132 section 9.3): in this order they
/// are read.
const FIELDS: [(u8, usize, usize); 2] = [(1, 108, 128), (2, 44, 64)];

fn dissect(reading: &mut Reading<'_>) {
    if reading.octets().len() < FIXED {
        if let Err(why) = Header::parse(reading.octets()) {
            reading.malformed(&why);
        }
        return;
    }
    reading.header_len(reading.total());
    match Header::parse(reading.octets()) {
        Ok((header, _)) => reading.summary(&header),
        Err(why) => {
            reading.summary("DHCP message");
            if reading.octets().len() < reading.total() || reading.around.quoted {
                reading.note(in_words(&why));
            } else {
                reading.bad(in_words(&why));
            }
        }
    }
    fixed(reading);
    let overload = options(reading, FIXED, reading.total().saturating_sub(FIXED));
    for (bit, at, len) in FIELDS {
        if overload & bit != 0 {
            options(reading, at, len);
        }
    }
}

/// What stands before the options.
fn fixed(reading: &mut Reading<'_>) {
    let octet = |reading: &Reading<'_>, at| reading.part(at, 1).first().copied().unwrap_or_default();
    let op = octet(reading, 0);
    reading.named("op", 0, 1, op, ["", "request", "reply"].get(usize::from(op)).copied().unwrap_or_default());
    reading.field("htype", 1, 1, octet(reading, 1));
    reading.field("hlen", 2, 1, octet(reading, 2));
    reading.field("hops", 3, 1, octet(reading, 3));
    reading.field("xid", 4, 4, Value::Hex(number(reading.part(4, 4)).into(), 8));
    reading.field("secs", 8, 2, number(reading.part(8, 2)));
    reading.field("broadcast", 10, 1, octet(reading, 10) & 0x80 != 0);
    for (name, at) in [("ciaddr", 12), ("yiaddr", 16), ("siaddr", 20), ("giaddr", 24)] {
        reading.field(name, at, 4, address(reading.part(at, 4)));
    }
    let station = reading.part(28, 6).first_chunk().copied().unwrap_or_default();
    reading.field("chaddr", 28, 6, Value::text(MacAddr(station)));
    reading.field("cookie", 236, 4, Value::Hex(number(reading.part(236, 4)).into(), 8));
}

/// At most four octets, the first one the highest.
fn number(octets: &[u8]) -> u32 {
    octets.iter().fold(0, |sum, octet| sum << 8 | u32::from(*octet))
}

fn address(octets: &[u8]) -> Value {
    Value::text(Ipv4Addr::from(octets.first_chunk::<4>().copied().unwrap_or_default()))
}

/// The options of a field, until the last one; what they say of other fields.
fn options(reading: &mut Reading<'_>, from: usize, len: usize) -> u8 {
    let field = reading.part(from, len);
    let (mut at, mut overload) = (0, 0);
    loop {
        match field.get(at..).unwrap_or_default() {
            [] | [code::END, ..] => return overload,
            [0, ..] => at += 1,
            [code, len, rest @ ..] if usize::from(*len) <= rest.len() => {
                let value = rest.get(..usize::from(*len)).unwrap_or_default();
                option(reading, from + at, *code, value);
                if *code == code::OVERLOAD {
                    overload = value.first().copied().unwrap_or_default();
                }
                at += 2 + value.len();
            }
            // What the codec has said is wrong.
            rest => {
                reading.rest(from + at, rest.len(), "an option that is not whole");
                return overload;
            }
        }
    }
}

fn option(reading: &mut Reading<'_>, at: usize, code: u8, value: &[u8]) {
    let (from, len) = (at + 2, value.len());
    match (code, len) {
        (code::KIND, 1) => {
            let kind = value.first().copied().unwrap_or_default();
            reading.named("message type", from, len, kind, kind_name(kind));
        }
        (code::REQUESTED, 4) => reading.field("requested address", from, len, address(value)),
        (code::SERVER, 4) => reading.field("server identifier", from, len, address(value)),
        (code::MASK, 4) => reading.field("subnet mask", from, len, address(value)),
        (code::LEASE, 4) => seconds(reading, "lease time", from, value),
        (code::T1, 4) => seconds(reading, "renewal time", from, value),
        (code::T2, 4) => seconds(reading, "rebinding time", from, value),
        (code::MTU, 2) => reading.field("interface mtu", from, len, number(value)),
        (code::LONGEST, 2) => reading.field("maximum message size", from, len, number(value)),
        (code::OVERLOAD, 1) => reading.field("option overload", from, len, number(value)),
        (code::CLIENT, _) => reading.field("client identifier", from, len, value),
        (code::PARAMETERS, _) => reading.field("parameter request list", from, len, value),
        (code::ROUTES, _) => reading.field("classless routes", from, len, value),
        (code::MESSAGE, _) => {
            reading.field("message", from, len, Value::Text(String::from_utf8_lossy(value).into_owned()));
        }
        (code::ROUTERS, 4..) if len.is_multiple_of(4) => addresses(reading, "router", from, value),
        (code::RESOLVERS, 4..) if len.is_multiple_of(4) => addresses(reading, "name server", from, value),
        _ => reading.named("option", at, 2 + len, value, format!("code {code}")),
    }
}

fn seconds(reading: &mut Reading<'_>, name: &'static str, at: usize, value: &[u8]) {
    let seconds = number(value);
    // RFC 2131 section 3.3.
    reading.named(name, at, 4, seconds, if seconds == u32::MAX { "for ever" } else { "" });
}

fn addresses(reading: &mut Reading<'_>, name: &'static str, from: usize, value: &[u8]) {
    for (octets, at) in value.chunks(4).zip((from..).step_by(4)) {
        reading.field(name, at, 4, address(octets));
    }
}

const fn kind_name(kind: u8) -> &'static str {
    match kind {
        1 => "discover",
        2 => "offer",
        3 => "request",
        4 => "decline",
        5 => "ack",
        6 => "nak",
        7 => "release",
        8 => "inform",
        _ => "",
    }
}
