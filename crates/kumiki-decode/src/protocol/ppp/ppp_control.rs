//! LCP and the network control protocols of PPP: their packets and options.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::ppp::ppp::control`] and the options of [`lcp`], [`ipcp`] and [`ipv6cp`] |
//! | Found | PPP protocols c021, 8021 and 8057; 8023, 8031 and 80fd, whose options are shown as octets |
//! | Left out | whether an answer fits its request: each packet is judged for itself |

use kumiki_wire::ppp::ppp::control::{self, Header, Item, LEN, Packet, code};
use kumiki_wire::ppp::ppp::{ipcp, ipv6cp, lcp, protocol};

use crate::key::Key;
use crate::packet::{Value, in_words};
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const LCP: Dissector = Dissector {
    name: "lcp",
    title: "control of a PPP link",
    claims: &[Key::PppProtocol(protocol::LCP)],
    dissect: |reading| packet(reading, protocol::LCP),
};

pub(in crate::protocol) const IPCP: Dissector = Dissector {
    name: "ipcp",
    title: "control of IPv4 over PPP",
    claims: &[Key::PppProtocol(protocol::IPCP)],
    dissect: |reading| packet(reading, protocol::IPCP),
};

pub(in crate::protocol) const IPV6CP: Dissector = Dissector {
    name: "ipv6cp",
    title: "control of IPv6 over PPP",
    claims: &[Key::PppProtocol(protocol::IPV6CP)],
    dissect: |reading| packet(reading, protocol::IPV6CP),
};

pub(in crate::protocol) const OSINLCP: Dissector = Dissector {
    name: "osinlcp",
    title: "control of the OSI network layer over PPP",
    claims: &[Key::PppProtocol(protocol::OSINLCP)],
    dissect: |reading| packet(reading, protocol::OSINLCP),
};

pub(in crate::protocol) const BCP: Dissector = Dissector {
    name: "bcp",
    title: "control of bridging over PPP",
    claims: &[Key::PppProtocol(protocol::BCP)],
    dissect: |reading| packet(reading, protocol::BCP),
};

pub(in crate::protocol) const CCP: Dissector = Dissector {
    name: "ccp",
    title: "control of compression over PPP",
    claims: &[Key::PppProtocol(protocol::CCP)],
    dissect: |reading| packet(reading, protocol::CCP),
};

/// Reads the first four octets, shows them and what is padding; gives the header and the octets of data that were
/// recorded. PAP and CHAP begin in the same way.
pub(in crate::protocol) fn header<'a>(
    reading: &mut Reading<'a>,
    name: impl Fn(u8) -> Option<&'static str>,
) -> Option<(Header, &'a [u8])> {
    let (header, len) = match Header::parse(reading.octets(), reading.total()) {
        Ok(found) => found,
        Err(why) => {
            reading.malformed(&why);
            return None;
        }
    };
    let length = usize::from(header.length);
    reading.header_len(length);
    let meant = name(header.code).unwrap_or("unknown");
    reading.fields(0, header.fields());
    reading.meaning("code", meant);
    reading.padding(length);
    Some((header, reading.part(len, header.data_len())))
}

fn packet(reading: &mut Reading<'_>, number: u16) {
    let Some((header, data)) = header(reading, code::name) else {
        return;
    };
    let Header { code, identifier, .. } = header;
    if data.len() == header.data_len() {
        let packet = Packet { code, identifier, data };
        reading.summary(packet.of(number));
    } else {
        reading.summary(format!("{} {header}", protocol::Name(number)));
    }
    reading.emitted_at(0, |out| header.emit(out), LEN);
    if code::has_options(code) {
        return options(reading, number, code, data);
    }
    match code {
        code::TERMINATE_REQUEST | code::TERMINATE_ACK if !data.is_empty() => {
            reading.field("data", LEN, data.len(), Value::text(data.escape_ascii()));
        }
        code::TERMINATE_REQUEST | code::TERMINATE_ACK => {}
        code::CODE_REJECT => {
            reading.header_len(LEN);
            reading.around.quoted = true;
            reading.follow(&[Key::PppProtocol(number)], LEN, header.data_len());
        }
        _ if number == protocol::LCP => lcp_body(reading, &header, data),
        _ => {
            let known = matches!(number, protocol::IPCP | protocol::IPV6CP | protocol::OSINLCP);
            let text = format!("code {code} is answered with a Code-Reject");
            if known {
                reading.bad(format!("{text}: codes 1 to 7 are all that it has"));
            } else {
                reading.note(text);
            }
            octets(reading, data);
        }
    }
}

/// Data without a meaning of their own.
fn octets(reading: &mut Reading<'_>, data: &[u8]) {
    if !data.is_empty() {
        reading.field("data", LEN, data.len(), data);
    }
}

/// What only LCP has.
fn lcp_body(reading: &mut Reading<'_>, header: &Header, data: &[u8]) {
    use lcp::Body;
    let body = match Body::read(header.code, data) {
        Ok(body) => body,
        Err(why) => {
            reading.header_len(LEN);
            return reading.malformed_at(LEN, &why);
        }
    };
    reading.emitted_at(LEN, |out| body.emit(out), body.len());
    let text = |reading: &mut Reading<'_>, at: usize, message: &[u8]| {
        if !message.is_empty() {
            reading.field("message", at, message.len(), Value::text(message.escape_ascii()));
        }
    };
    match body {
        Body::ProtocolReject { protocol, .. } => {
            reading.header_len(LEN + 2);
            reading.named(
                "rejected-protocol",
                LEN,
                2,
                Value::Hex(protocol.into(), 4),
                protocol::name(protocol).unwrap_or_default(),
            );
            reading.around.quoted = true;
            let keys = [Key::PppProtocol(protocol)];
            reading.follow(&keys, LEN + 2, header.data_len().saturating_sub(2));
        }
        Body::Echo { magic, data } => {
            reading.field("magic-number", LEN, 4, Value::Hex(magic.into(), 8));
            if !data.is_empty() {
                reading.field("data", LEN + 4, data.len(), data);
            }
        }
        Body::Identification { magic, message } => {
            reading.field("magic-number", LEN, 4, Value::Hex(magic.into(), 8));
            text(reading, LEN + 4, message);
        }
        Body::TimeRemaining { magic, seconds, message } => {
            reading.field("magic-number", LEN, 4, Value::Hex(magic.into(), 8));
            let meant = if seconds == u32::MAX { "for ever" } else { "" };
            reading.named("seconds-remaining", LEN + 4, 4, seconds, meant);
            text(reading, LEN + 8, message);
        }
        Body::Options(_) | Body::CodeReject(_) => {}
        Body::Data(data) => {
            let code = header.code;
            reading.note(format!("code {code} is answered with a Code-Reject"));
            octets(reading, data);
        }
    }
}

fn options(reading: &mut Reading<'_>, number: u16, code: u8, data: &[u8]) {
    let mut at = LEN;
    let mut seen = Vec::new();
    for item in control::options(data) {
        let item = match item {
            Ok(item) => item,
            Err(why) => {
                let text = format!("option at octet {at}: {}", in_words(&why));
                if reading.octets().len() < reading.total() || reading.around.quoted {
                    reading.note(text);
                } else {
                    reading.bad(format!("{text}; the packet is to be dropped"));
                }
                return reading.rest(at, LEN + data.len() - at, "options");
            }
        };
        match number {
            protocol::LCP => lcp_option(reading, at, item, code),
            protocol::IPCP => ipcp_option(reading, at, item),
            protocol::IPV6CP => ipv6cp_option(reading, at, item),
            _ => other(reading, number, at, item),
        }
        let known = control::known(number, item.kind);
        if code == code::CONFIGURE_REQUEST
            && number == protocol::LCP
            && let Some(known) = known
            && seen.contains(&item.kind)
        {
            reading.bad(format!("{} comes more than once", known.name));
        }
        seen.push(item.kind);
        at += item.len();
    }
    if number == protocol::IPV6CP && code == code::CONFIGURE_REQUEST {
        let identifier = |kind: &&u8| **kind == ipv6cp::kind::INTERFACE_IDENTIFIER;
        let count = seen.iter().filter(identifier).count();
        if count != 1 && reading.octets().len() == reading.total() {
            reading.bad(format!("{count} interface identifiers, exactly 1 is right (RFC 5072 section 4.1)"));
        }
    }
}

/// An option that is not known here, or has a length that it cannot have.
fn other(reading: &mut Reading<'_>, number: u16, at: usize, item: Item<'_>) {
    let meant = match (number, item.kind) {
        (protocol::LCP, 17) => "multilink MRRU",
        (protocol::LCP, 18) => "short sequence numbers",
        (protocol::LCP, 19) => "endpoint discriminator",
        _ => "",
    };
    let (kind, len) = (item.kind, item.len());
    let name = control::known(number, kind).map_or(meant, |known| known.name);
    let meant = format!("type {kind} {name}");
    reading.named("option", at, len, item.data, meant.trim_end());
    if let Err(why) = item.check(number) {
        reading.bad(in_words(&why));
    }
    reading.emitted_at(at, |out| item.emit(out), len);
}

fn lcp_option(reading: &mut Reading<'_>, at: usize, item: Item<'_>, code: u8) {
    use lcp::Opt;
    let option = Opt::of(item);
    let len = option.len();
    let name = control::known(protocol::LCP, item.kind).map_or("option", |known| known.name);
    let who = |number| protocol::name(number).unwrap_or_default();
    match option {
        Opt::Mru(mru) => reading.field(name, at, len, mru),
        Opt::Accm(map) => reading.field(name, at, len, Value::Hex(map.into(), 8)),
        Opt::Authentication { protocol, data } => {
            let (value, meant) = (Value::Hex(protocol.into(), 4), who(protocol));
            reading.named(name, at, 4, value, meant);
            match (protocol, data) {
                (protocol::PAP, []) => {}
                (protocol::CHAP, &[algorithm]) => {
                    let meant = if algorithm == lcp::CHAP_MD5 { "MD5" } else { "" };
                    reading.named("algorithm", at + 4, 1, algorithm, meant);
                }
                (protocol::PAP, _) => {
                    reading.bad(format!("PAP with a length of {len}, 4 is right"));
                }
                (protocol::CHAP, _) => {
                    reading.bad(format!("CHAP with a length of {len}, 5 is right"));
                }
                _ => reading.field("data", at + 4, data.len(), data),
            }
        }
        Opt::Quality { protocol, data } => {
            let (value, meant) = (Value::Hex(protocol.into(), 4), who(protocol));
            reading.named(name, at, 4, value, meant);
            match (protocol, data) {
                (protocol::LQR, &[a, b, c, d]) => {
                    let period = u32::from_be_bytes([a, b, c, d]);
                    let meant = match period {
                        0 => "the peer answers each report".to_owned(),
                        _ => format!("{}.{:02} s", period / 100, period % 100),
                    };
                    reading.named("reporting-period", at + 4, 4, period, meant);
                }
                (protocol::LQR, _) => {
                    reading.bad(format!("reports with a length of {len}, 8 is right"));
                }
                _ => reading.field("data", at + 4, data.len(), data),
            }
        }
        Opt::Magic(magic) => {
            reading.field(name, at, len, Value::Hex(magic.into(), 8));
            if magic == 0 {
                reading.bad("magic-number is 0, which RFC 1661 section 6.4 forbids");
            }
        }
        Opt::Pfc | Opt::Acfc | Opt::CompoundFrames => reading.field(name, at, len, true),
        Opt::FcsAlternatives(bits) => {
            let all = [(1, "none"), (2, "FCS-16"), (4, "FCS-32")];
            let set = all.iter().filter(|(bit, _)| bits & bit != 0);
            let names: Vec<&str> = set.map(|(_, name)| *name).collect();
            let value = Value::Hex(bits.into(), 2);
            reading.named(name, at, len, value, names.join(", "));
            if !(1..=7).contains(&bits) {
                reading.bad(format!("{name} is {bits:#04x}, expected 0x01 to 0x07"));
            }
        }
        Opt::SelfDescribingPadding(maximum) => {
            reading.field(name, at, len, maximum);
            if maximum == 0 {
                reading.bad(format!("{name} is 0, expected 1 to 255"));
            }
        }
        Opt::Callback { operation, message } => {
            let meant = match operation {
                0 => "by authentication",
                1 => "dialing string",
                2 => "location identifier",
                3 => "E.164 number",
                4 => "distinguished name",
                _ => "unknown",
            };
            reading.named(name, at, 3, operation, meant);
            if !message.is_empty() {
                reading.field("message", at + 3, message.len(), message);
            }
        }
        Opt::Other(item) => return other(reading, protocol::LCP, at, item),
    }
    reading.emitted_at(at, |out| option.emit(out), len);
    if option.is_boolean() && code == code::CONFIGURE_NAK {
        reading.bad(format!(
            "{name} in a Configure-Nak; an option without a value can only be rejected (RFC 1661 section 5.3)"
        ));
    }
}

fn ipcp_option(reading: &mut Reading<'_>, at: usize, item: Item<'_>) {
    use ipcp::Opt;
    let option = Opt::of(item);
    let len = option.len();
    let name = control::known(protocol::IPCP, item.kind).map_or("option", |known| known.name);
    match option {
        Opt::Addresses { source, destination } => {
            reading.field(name, at, len, Value::text(format_args!("{source} {destination}")));
            reading.note("ip-addresses are no longer to be used (RFC 1332 section 3.1)");
        }
        Opt::VanJacobson { max_slot_id, comp_slot_id } => {
            let value = Value::Hex(protocol::VJ_COMPRESSED.into(), 4);
            reading.named(name, at, 4, value, "VJ compressed TCP/IP");
            reading.field("max-slot-id", at + 4, 1, max_slot_id);
            reading.field("comp-slot-id", at + 5, 1, comp_slot_id);
            if comp_slot_id > 1 {
                reading.bad(format!("comp-slot-id is {comp_slot_id}, expected 0 or 1"));
            }
        }
        Opt::Compression { protocol, data } => {
            let meant = protocol::name(protocol).unwrap_or_default();
            reading.named(name, at, 4, Value::Hex(protocol.into(), 4), meant);
            if !data.is_empty() {
                reading.field("data", at + 4, data.len(), data);
            }
            if protocol == protocol::VJ_COMPRESSED {
                reading.bad(format!("compression of TCP/IP with a length of {len}, 6 is right"));
            }
        }
        Opt::Address(address) | Opt::Server(_, address) => {
            let meant = if address.is_unspecified() { "to be given" } else { "" };
            reading.named(name, at, len, Value::text(address), meant);
        }
        Opt::Other(item) => return other(reading, protocol::IPCP, at, item),
    }
    reading.emitted_at(at, |out| option.emit(out), len);
}

fn ipv6cp_option(reading: &mut Reading<'_>, at: usize, item: Item<'_>) {
    use ipv6cp::Opt;
    let option = Opt::of(item);
    let len = option.len();
    let name = control::known(protocol::IPV6CP, item.kind).map_or("option", |known| known.name);
    match option {
        Opt::InterfaceIdentifier(identifier) => {
            let meant =
                if identifier.is_none() { "to be given".to_owned() } else { identifier.link_local().to_string() };
            reading.named(name, at, len, &identifier.0[..], meant);
        }
        Opt::Compression { protocol, data } => {
            let meant = protocol::name(protocol).unwrap_or_default();
            reading.named(name, at, 4, Value::Hex(protocol.into(), 4), meant);
            if !data.is_empty() {
                reading.field("data", at + 4, data.len(), data);
            }
        }
        Opt::Other(item) => return other(reading, protocol::IPV6CP, at, item),
    }
    reading.emitted_at(at, |out| option.emit(out), len);
}
