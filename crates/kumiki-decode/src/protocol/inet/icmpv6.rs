//! ICMP for IPv6: errors and the packets that they quote, echoes, neighbour discovery with its options.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::inet::icmpv6`] |
//! | Found | next header 58 |
//! | Left out | multicast listeners (RFC 2710, RFC 3810) and other types: named, their contents shown as data; extensions after the quoted packet (RFC 4884); whether the hop limit is 255, as neighbour discovery wants it |

use kumiki_octets::text::counted;
use kumiki_wire::inet::icmpv6::option::{Opt, Opts, Prefix};
use kumiki_wire::inet::icmpv6::{CHECKSUM_OFFSET, Header, Message, Router, kind};

use crate::key::Key;
use crate::packet::{Value, in_words};
use crate::protocol::header;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector =
    Dissector { name: "icmpv6", title: "ICMP for IPv6", claims: &[Key::IpProtocol(58)], dissect };

fn dissect(reading: &mut Reading<'_>) {
    let (header, len) = header!(reading, Header::parse(reading.octets()));
    let (number, _) = header.kind();
    // Of messages that have only code 0 the header keeps none.
    let code = reading.part(1, 1).first().copied().unwrap_or_default();
    reading.named("type", 0, 1, number, type_name(number));
    reading.named("code", 1, 1, code, code_name(number, code));
    let total = reading.total();
    reading.transport_checksum(CHECKSUM_OFFSET, 58);
    message(reading, header.message);
    let inside = total.saturating_sub(len);
    match header.message {
        Message::DestinationUnreachable { .. }
        | Message::PacketTooBig { .. }
        | Message::TimeExceeded { .. }
        | Message::ParameterProblem { .. } => {
            reading.around.quoted = true;
            reading.follow(&[Key::EtherType(0x86dd)], len, inside);
        }
        Message::RouterSolicitation
        | Message::RouterAdvertisement(_)
        | Message::NeighbourSolicitation { .. }
        | Message::NeighbourAdvertisement { .. }
        | Message::Redirect { .. } => options(reading, len),
        Message::Echo { .. } | Message::EchoReply { .. } | Message::Other { .. } => {
            reading.rest(len, inside, "data");
        }
    }
}

fn type_name(number: u8) -> &'static str {
    match number {
        kind::UNREACHABLE => "destination unreachable",
        kind::TOO_BIG => "packet too big",
        kind::TIME_EXCEEDED => "time exceeded",
        kind::PARAMETER => "parameter problem",
        kind::ECHO => "echo request",
        kind::ECHO_REPLY => "echo reply",
        130 => "multicast listener query",
        131 => "multicast listener report",
        132 => "multicast listener done",
        kind::ROUTER_SOLICITATION => "router solicitation",
        kind::ROUTER_ADVERTISEMENT => "router advertisement",
        kind::NEIGHBOUR_SOLICITATION => "neighbour solicitation",
        kind::NEIGHBOUR_ADVERTISEMENT => "neighbour advertisement",
        kind::REDIRECT => "redirect",
        143 => "multicast listener report, version 2",
        _ => "",
    }
}

fn code_name(number: u8, code: u8) -> &'static str {
    match (number, code) {
        (kind::UNREACHABLE, 0) => "no route to destination",
        (kind::UNREACHABLE, 1) => "administratively prohibited",
        (kind::UNREACHABLE, 2) => "beyond the scope of the source address",
        (kind::UNREACHABLE, 3) => "address unreachable",
        (kind::UNREACHABLE, 4) => "port unreachable",
        (kind::UNREACHABLE, 5) => "source address failed policy",
        (kind::UNREACHABLE, 6) => "reject route to destination",
        (kind::TIME_EXCEEDED, 0) => "hop limit exceeded in transit",
        (kind::TIME_EXCEEDED, 1) => "fragment reassembly time exceeded",
        (kind::PARAMETER, 0) => "erroneous header field",
        (kind::PARAMETER, 1) => "unrecognized next header type",
        (kind::PARAMETER, 2) => "unrecognized IPv6 option",
        (kind::PARAMETER, 3) => "first fragment without all headers",
        _ => "",
    }
}

fn message(reading: &mut Reading<'_>, message: Message) {
    match message {
        Message::PacketTooBig { mtu } => reading.field("mtu", 4, 4, mtu),
        Message::ParameterProblem { pointer, .. } => reading.field("pointer", 4, 4, pointer),
        Message::Echo { identifier, sequence } | Message::EchoReply { identifier, sequence } => {
            reading.field("identifier", 4, 2, identifier);
            reading.field("sequence number", 6, 2, sequence);
        }
        Message::RouterAdvertisement(router) => {
            let Router { hop_limit, managed, other, lifetime_s, reachable_ms, retrans_ms } = router;
            reading.field("cur hop limit", 4, 1, hop_limit);
            reading.field("managed", 5, 1, managed);
            reading.field("other", 5, 1, other);
            reading.field("router lifetime", 6, 2, lifetime_s);
            reading.field("reachable time", 8, 4, reachable_ms);
            reading.field("retrans timer", 12, 4, retrans_ms);
        }
        Message::NeighbourSolicitation { target } => {
            reading.field("target address", 8, 16, Value::text(target));
        }
        Message::NeighbourAdvertisement { router, solicited, overrides, target } => {
            reading.field("router", 4, 1, router);
            reading.field("solicited", 4, 1, solicited);
            reading.field("override", 4, 1, overrides);
            reading.field("target address", 8, 16, Value::text(target));
        }
        Message::Redirect { target, destination } => {
            reading.field("target address", 8, 16, Value::text(target));
            reading.field("destination address", 24, 16, Value::text(destination));
        }
        Message::DestinationUnreachable { .. } | Message::TimeExceeded { .. } | Message::RouterSolicitation => {}
        Message::Other { rest, .. } => reading.field("message body", 4, 4, &rest[..]),
    }
}

/// The options of neighbour discovery from `at` on. A message with one that cannot be is discarded as a whole.
fn options(reading: &mut Reading<'_>, mut at: usize) {
    let octets = reading.part(at, reading.total());
    for option in Opts::new(octets) {
        let option = match option {
            Ok(option) => option,
            Err(why) => {
                let text = format!("option at octet {at}: {}", in_words(&why));
                if reading.octets().len() < reading.total() {
                    reading.note(text);
                } else {
                    reading.bad(text);
                }
                return reading.rest(at, usize::MAX, "options");
            }
        };
        let len = option.len();
        match option {
            Opt::Source(mac) => {
                reading.field("source link-layer address", at, len, Value::text(mac));
            }
            Opt::Target(mac) => {
                reading.field("target link-layer address", at, len, Value::text(mac));
            }
            Opt::Prefix(prefix) => self::prefix(reading, at, &prefix),
            Opt::Redirected(_) => {
                let octets = "the packet that was redirected";
                reading.named("redirected header", at, 8, reading.part(at, 8), octets);
                let quoted = reading.around.quoted;
                reading.around.quoted = true;
                reading.follow(&[Key::EtherType(0x86dd)], at + 8, len - 8);
                reading.around.quoted = quoted;
            }
            Opt::Mtu(mtu) => reading.field("mtu", at, len, mtu),
            Opt::Resolvers { lifetime_s, addresses } => {
                reading.field("resolver lifetime", at + 4, 4, lifetime_s);
                for (number, address) in addresses.iter().enumerate() {
                    let address = core::net::Ipv6Addr::from(*address);
                    reading.field("resolver", at + 8 + 16 * number, 16, Value::text(address));
                }
            }
            Opt::Other { kind, data } => {
                reading.named("option", at, len, data, option_name(kind));
            }
        }
        reading.emitted_at(at, |out| option.emit(out), len);
        at += len;
    }
}

fn prefix(reading: &mut Reading<'_>, at: usize, prefix: &Prefix) {
    let Prefix { len, on_link, autonomous, valid_s, preferred_s, prefix } = *prefix;
    let flags = match (on_link, autonomous) {
        (true, true) => "on-link, autonomous",
        (true, false) => "on-link",
        (false, true) => "autonomous",
        (false, false) => "",
    };
    reading.named("prefix information", at, 32, Value::Text(format!("{prefix}/{len}")), flags);
    reading.field("valid lifetime", at + 4, 4, valid_s);
    reading.field("preferred lifetime", at + 8, 4, preferred_s);
    if len > 128 {
        reading.bad(format!("a prefix of {bits}, at most 128 is right", bits = counted(len, "bit")));
    }
}

/// Other options of the registry.
fn option_name(kind: u8) -> &'static str {
    match kind {
        1 | 2 => "link-layer address of another length",
        3..=5 => "of another length than this type has",
        14 => "nonce",
        24 => "route information",
        25 => "recursive DNS servers",
        31 => "DNS search list",
        38 => "PREF64",
        _ => "",
    }
}
