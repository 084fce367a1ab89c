//! PPP without its HDLC framing: address, control and protocol, each as it may be left out or shortened.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1661 section 2, RFC 1662 section 3.1; protocol numbers of the PPP registry |
//! | Found | link types 9 and 50, ERF's HDLC records |
//! | Left out | everything that PPP carries but datagrams: no codec reads LCP, IPCP and the like yet |

use kumiki_wire::Malformed;

use crate::key::Key;
use crate::packet::Value;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(super) const DISSECTOR: Dissector = Dissector {
    name: "ppp",
    title: "PPP frames without FCS",
    claims: &[Key::LinkType(9), Key::LinkType(50), Key::Nlpid(0xcf)],
    dissect,
};

fn dissect(reading: &mut Reading<'_>) {
    let octets = reading.octets();
    let at = if octets.starts_with(&[0xff, 0x03]) {
        2
    } else {
        0
    };
    let behind = reading.part(at, 2);
    let (number, len) = match *behind {
        // The last octet of a number is odd, so one odd octet is a whole number.
        [first, ..] if first & 1 == 1 => (u16::from(first), 1),
        [first, second] => (u16::from_be_bytes([first, second]), 2),
        _ => {
            return reading.malformed(&Malformed::Short {
                protocol: "PPP",
                need: at + 2,
                have: octets.len(),
            });
        }
    };
    reading.header_len(at + len);
    reading.summary(format!("PPP protocol {number:#06x}"));
    if at > 0 {
        reading.field("address", 0, 1, Value::Hex(0xff, 2));
        reading.field("control", 1, 1, Value::Hex(0x03, 2));
    }
    let name = match number {
        0x0021 => "IPv4",
        0x0057 => "IPv6",
        0x8021 => "IPCP",
        0x8057 => "IPV6CP",
        0xc021 => "LCP",
        0xc223 => "CHAP",
        _ => "",
    };
    reading.named("protocol", at, len, Value::Hex(number.into(), 4), name);
    if number & 1 == 0 {
        reading.bad("the protocol number is even; RFC 1661 section 2 wants it odd");
    }
    let inside = reading.total().saturating_sub(at + len);
    reading.follow(&[Key::PppProtocol(number)], at + len, inside);
}
