//! PDUs of any layer behind tags that name their dissector, as Wireshark exports them and as `--pcap=all` writes them.
//!
//! | | |
//! |---|---|
//! | Specification | link type 252 of the tcpdump.org registry; tags: number 2, length 2, value |
//! | Left out | tags other than names and addresses are listed with their octets |

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kumiki_wire::Malformed;

use crate::key::{Ends, Key};
use crate::packet::Value;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(super) const DISSECTOR: Dissector =
    Dissector { name: "exported", title: "exported PDUs behind tags", claims: &[Key::LinkType(252)], dissect };

const DISSECTOR_NAME: u16 = 12;
const IPV4_SOURCE: u16 = 20;
const IPV4_DESTINATION: u16 = 21;
const IPV6_SOURCE: u16 = 22;
const IPV6_DESTINATION: u16 = 23;

/// Tags that are looked at.
const MOST_TAGS: usize = 64;

fn dissect(reading: &mut Reading<'_>) {
    let mut at = 0;
    let mut name = String::new();
    let (mut source, mut destination) = (None, None);
    loop {
        let Some(&[n0, n1, l0, l1]) = reading.part(at, 4).first_chunk::<4>() else {
            return short(reading, at.saturating_add(4));
        };
        if reading.layer.fields.len() >= MOST_TAGS {
            reading.header_len(at);
            reading.bad(format!("more than {MOST_TAGS} tags"));
            return reading.rest(at, usize::MAX, "tags");
        }
        let (number, len) = (u16::from_be_bytes([n0, n1]), u16::from_be_bytes([l0, l1]));
        let len = usize::from(len);
        let value = reading.part(at.saturating_add(4), len);
        if value.len() < len {
            return short(reading, at.saturating_add(4).saturating_add(len));
        }
        let ip = |value: &[u8]| {
            let four = <[u8; 4]>::try_from(value).map(|octets| IpAddr::V4(Ipv4Addr::from(octets)));
            let six = <[u8; 16]>::try_from(value).map(|octets| IpAddr::V6(Ipv6Addr::from(octets)));
            four.or(six).ok()
        };
        match number {
            0 => break,
            DISSECTOR_NAME => {
                name = String::from_utf8_lossy(value).trim_end_matches('\0').to_owned();
                reading.field("dissector", at, len + 4, Value::Text(name.clone()));
            }
            IPV4_SOURCE | IPV6_SOURCE => {
                source = ip(value);
                reading.named("tag", at, len + 4, value, "source");
            }
            IPV4_DESTINATION | IPV6_DESTINATION => {
                destination = ip(value);
                reading.named("tag", at, len + 4, value, "destination");
            }
            _ => reading.named("tag", at, len + 4, value, format!("number {number}")),
        }
        at = at.saturating_add(4).saturating_add(len);
    }
    let header = at.saturating_add(4);
    reading.header_len(header);
    reading.summary(format!("PDU for {name}"));
    if let (Some(source), Some(destination)) = (source, destination) {
        reading.ends(Ends { source, destination });
    }
    let inside = reading.total().saturating_sub(header);
    // Wireshark's names are ours but for this one.
    let ours = if name == "x.25" { "x25" } else { &name };
    match super::ALL.iter().find(|one| one.name == ours) {
        Some(one) => reading.follow(&[Key::Named(one.name)], header, inside),
        None => reading.rest(header, inside, name),
    }
}

fn short(reading: &mut Reading<'_>, need: usize) {
    let have = reading.octets().len();
    reading.malformed(&Malformed::Short { protocol: "exported PDU", need, have });
}
