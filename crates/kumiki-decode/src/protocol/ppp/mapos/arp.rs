//! Address resolution on MAPOS.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::ppp::mapos::arp`] |
//! | Found | MAPOS protocol FE01 |

use std::net::Ipv4Addr;

use kumiki_wire::ppp::mapos::arp::{Header, Operation};
use kumiki_wire::ppp::mapos::{Address, protocol};

use super::{header, hex, meaning, sent_elsewhere, width};
use crate::key::Key;
use crate::packet::Value;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(crate) const DISSECTOR: Dissector = Dissector {
    name: "mapos-arp",
    title: "ARP and UNARP for MAPOS and IPv4",
    claims: &[Key::MaposProtocol(protocol::ARP)],
    dissect,
};

fn dissect(reading: &mut Reading<'_>) {
    let (header, len) = header!(reading, Header::parse(reading.octets()));
    let Header { operation, sender, sender_ip, target, target_ip } = header;
    let width = width(reading, sender);
    reading.field("hardware address space", 0, 2, 25_u16);
    reading.field("protocol address space", 2, 2, Value::Hex(0x0800, 4));
    reading.field("hardware address length", 4, 1, 4_u8);
    reading.field("protocol address length", 5, 1, 4_u8);
    reading.named("operation code", 6, 2, u16::from(operation), operation);
    let who = meaning(width, sender);
    reading.named("sender hdlc address", 8, 4, hex(sender, 8), who);
    reading.field("sender ip address", 12, 4, Value::text(sender_ip));
    let who = match operation {
        Operation::Response => meaning(width, target),
        Operation::Request | Operation::Unarp | Operation::Other(_) => String::new(),
    };
    reading.named("target hdlc address", 16, 4, hex(target, 8), who);
    reading.field("target ip address", 20, 4, Value::text(target_ip));
    if header.sender(width).is_none() {
        reading.bad(format!("sender HDLC address is {sender:#04x}, which no station can have"));
    }
    let elsewhere = sent_elsewhere(reading, Address::broadcast);
    match operation {
        Operation::Request => {
            if target != 0 {
                reading.note("the target HDLC address of a request should be 0 (RFC 2176 section 3.2.2)");
            }
            if let Some(elsewhere) = elsewhere {
                reading.note(format!("a request to {elsewhere:#04x} and not to all"));
            }
        }
        Operation::Unarp => {
            if (target, target_ip) != (u32::MAX, Ipv4Addr::BROADCAST) {
                reading.bad(format!(
                    "UNARP has the targets {target:#x} and {target_ip}; RFC 2176 section 3.3 wants all ones in both"
                ));
            }
            if let Some(elsewhere) = elsewhere {
                reading.bad(format!("UNARP is to be sent to all, not to {elsewhere:#04x}"));
            }
        }
        Operation::Response | Operation::Other(_) => {}
    }
    reading.padding(len);
}
