//! The four octets that some captures of ATM put before an SDU: direction and kind of traffic, VPI, VCI.
//!
//! | | |
//! |---|---|
//! | Specification | link type 123 of the tcpdump.org registry |
//! | Left out | LAN emulation, ILMI and signalling, which the kind of traffic can name |

use kumiki_wire::Malformed;

use crate::key::{Circuit, Key};
use crate::packet::Value;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector =
    Dissector { name: "sunatm", title: "AAL5 SDUs behind VPI and VCI", claims: &[Key::LinkType(123)], dissect };

const LEN: usize = 4;

fn dissect(reading: &mut Reading<'_>) {
    let Some(&[flags, vpi, v0, v1]) = reading.octets().first_chunk::<LEN>() else {
        return reading.malformed(&Malformed::Short { protocol: "SunATM", need: LEN, have: reading.octets().len() });
    };
    let vci = u16::from_be_bytes([v0, v1]);
    let way = if flags & 0x80 == 0 { "received" } else { "sent" };
    let traffic = match flags & 0x0f {
        1 => "LAN emulation",
        2 => "LLC",
        5 => "ILMI",
        6 => "signalling",
        _ => "",
    };
    reading.header_len(LEN);
    reading.summary(format!("ATM {vpi}/{vci} {way}"));
    reading.named("direction", 0, 1, Value::Flag(flags & 0x80 != 0), way);
    reading.named("traffic type", 0, 1, flags & 0x0f, traffic);
    reading.field("vpi", 1, 1, vpi);
    reading.field("vci", 2, 2, vci);
    reading.around.circuit = Some(Circuit { interface: reading.around.interface, vpi: vpi.into(), vci });
    let inside = reading.total().saturating_sub(LEN);
    match flags & 0x0f {
        2 => reading.follow(&[Key::Named("llc-snap")], LEN, inside),
        1 | 5 | 6 => reading.rest(LEN, inside, format!("no decoder for {traffic}")),
        _ => reading.follow(&[Key::Named("aal5-sdu")], LEN, inside),
    }
}
