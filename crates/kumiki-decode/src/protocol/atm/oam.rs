//! Payloads of OAM cells.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::atm::cell::oam`] |
//! | Found | cells with PTI 4 and 5, and with VCI 3 and 4 |
//! | Left out | what is in other cells than loopbacks: named and checked only |

use kumiki_wire::Malformed;
use kumiki_wire::atm::cell::PAYLOAD_LEN;
use kumiki_wire::atm::cell::oam::{END_POINT, Loopback, crc10_of, is_crc10_right, kind, set_crc10};

use crate::packet::Value;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector =
    Dissector { name: "oam", title: "payloads of ATM OAM cells", claims: &[], dissect };

fn dissect(reading: &mut Reading<'_>) {
    let Some(payload) = reading.octets().first_chunk::<PAYLOAD_LEN>() else {
        return reading.malformed(&Malformed::Short {
            protocol: "ATM OAM",
            need: PAYLOAD_LEN,
            have: reading.octets().len(),
        });
    };
    reading.header_len(PAYLOAD_LEN);
    let [kind, ..] = *payload;
    let meaning = match kind {
        kind::AIS => "AIS",
        kind::RDI => "RDI",
        kind::CONTINUITY => "continuity check",
        kind::LOOPBACK => "loopback",
        _ => "",
    };
    reading.named("oam type and function", 0, 1, Value::Hex(kind.into(), 2), meaning);
    let mut right = *payload;
    set_crc10(&mut right);
    // A cell with a wrong sum is read all the same.
    match Loopback::parse(&right) {
        Ok(loopback) => {
            reading.summary(loopback);
            if is_crc10_right(payload) {
                reading.emitted(|out| out.copy_from_slice(&loopback.octets()), PAYLOAD_LEN);
            }
            let location = |octets: [u8; 16]| {
                if octets == END_POINT { "end point" } else { "" }
            };
            reading.field("loopback indication", 1, 1, loopback.indication);
            reading.field("correlation tag", 2, 4, loopback.correlation_tag);
            reading.named("loopback location", 6, 16, &loopback.location[..], location(loopback.location));
            reading.field("source", 22, 16, &loopback.source[..]);
        }
        Err(_) => {
            let name = if meaning.is_empty() { "cell" } else { meaning };
            reading.summary(format!("OAM {name} type {kind:#04x}"));
            reading.field("function", 1, 45, reading.part(1, 45));
        }
    }
    let (found, right) = (crc10_of(payload), crc10_of(&right));
    reading.field("crc-10", 46, 2, Value::Hex(found.into(), 3));
    if found != right {
        reading.bad(format!("CRC-10 is {found:#05x}, the octets give {right:#05x}"));
    }
}
