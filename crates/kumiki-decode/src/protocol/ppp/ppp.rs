//! PPP without its HDLC framing: address, control and protocol, each as it may be left out or shortened.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::ppp::ppp`] |
//! | Found | link types 9, 50 and, behind an octet of direction, 204; ERF's HDLC records; on AAL5, NLPID cf |
//! | Left out | flags and stuffing: who removes them sets `fcs_len` and gives the frame to `ppp`; link type 166; padding that counts itself and compound frames (RFC 1570), multilink (RFC 1990), the inside of compressed headers (RFC 1144) |

use kumiki_wire::Malformed;
use kumiki_wire::ppp::ppp::{Header, protocol};

use crate::key::Key;
use crate::packet::Value;
use crate::protocol::emitted;
use crate::protocol::fcs;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector = Dissector {
    name: "ppp",
    title: "PPP frames; with an FCS where the capture says so",
    claims: &[Key::LinkType(9), Key::LinkType(50)],
    dissect: framed,
};

pub(in crate::protocol) const DIRECTED: Dissector = Dissector {
    name: "ppp-direction",
    title: "PPP frames behind an octet of direction",
    claims: &[Key::LinkType(204)],
    dissect: directed,
};

pub(in crate::protocol) const BARE: Dissector = Dissector {
    name: "ppp-bare",
    title: "PPP as AAL5 carries it: neither address nor control",
    claims: &[],
    dissect: bare,
};

pub(in crate::protocol) const NLPID: Dissector = Dissector {
    name: "ppp-nlpid",
    title: "PPP behind LLC: the NLPID, then as AAL5 carries it",
    claims: &[Key::Nlpid(0xcf)],
    dissect: behind_nlpid,
};

fn directed(reading: &mut Reading<'_>) {
    let Some(&direction) = reading.octets().first() else {
        return reading.malformed(&Malformed::Short { protocol: "PPP with direction", need: 1, have: 0 });
    };
    let name = if direction == 0 { "received" } else { "sent" };
    reading.header_len(1);
    reading.summary(format!("PPP {name}"));
    reading.named("direction", 0, 1, direction, name);
    let inside = reading.total().saturating_sub(1);
    reading.follow(&[Key::Named("ppp")], 1, inside);
}

fn behind_nlpid(reading: &mut Reading<'_>) {
    // Of ISO's protocols the NLPID is the first octet; PPP has it in front (RFC 2364 section 6).
    reading.header_len(1);
    reading.summary("PPP behind LLC");
    reading.field("nlpid", 0, 1, Value::Hex(0xcf, 2));
    let inside = reading.total().saturating_sub(1);
    reading.follow(&[Key::Named("ppp-bare")], 1, inside);
}

fn framed(reading: &mut Reading<'_>) {
    // Link type 50 is Cisco's framing too, and no protocol has these numbers.
    if let [0x0f | 0x8f, 0, ..] = reading.octets() {
        return reading.reread_as(Key::Named("cisco-hdlc"));
    }
    let end = fcs::check(reading);
    let Some(header) = header(reading, end) else {
        return;
    };
    if header.compression.acfc && header.protocol == protocol::LCP {
        reading.note("LCP without address and control, which HDLC-like framing wants (RFC 1661 section 6.6)");
    }
}

fn bare(reading: &mut Reading<'_>) {
    let end = reading.total();
    header(reading, end);
}

/// Reads the header and says what follows, up to `end`.
fn header(reading: &mut Reading<'_>, end: usize) -> Option<Header> {
    let (header, len) = match Header::parse(reading.part(0, end)) {
        Ok(found) => found,
        Err(why) => {
            reading.malformed(&why);
            return None;
        }
    };
    reading.header_len(len);
    reading.summary(header);
    emitted!(reading, header);
    let mut at = 0;
    if !header.compression.acfc {
        reading.field("address", 0, 1, Value::Hex(0xff, 2));
        reading.field("control", 1, 1, Value::Hex(0x03, 2));
        at = 2;
    }
    let number = header.protocol;
    let name = protocol::name(number).unwrap_or_default();
    reading.named("protocol", at, len - at, Value::Hex(number.into(), 4), name);
    if !protocol::is_lawful(number) {
        reading.bad(format!(
            "protocol {number:#06x} cannot be: RFC 1661 section 2 wants an even first octet and an odd last one"
        ));
    }
    reading.follow(&[Key::PppProtocol(number)], len, end.saturating_sub(len));
    Some(header)
}
