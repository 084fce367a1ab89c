//! Payloads of RM cells.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::atm::cell::rm`] |
//! | Found | cells with PTI 6 |
//! | Left out | what is in RM cells of another protocol than available bit rate: named and checked only |

use kumiki_wire::Malformed;
use kumiki_wire::atm::cell::PAYLOAD_LEN;
use kumiki_wire::atm::cell::oam::{crc10_of, is_crc10_right, set_crc10};
use kumiki_wire::atm::cell::rm::{PROTOCOL, Rm};

use crate::packet::Value;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector =
    Dissector { name: "rm", title: "payloads of ATM RM cells", claims: &[], dissect };

fn dissect(reading: &mut Reading<'_>) {
    let Some(payload) = reading.octets().first_chunk::<PAYLOAD_LEN>() else {
        return reading.malformed(&Malformed::Short {
            protocol: "ATM RM",
            need: PAYLOAD_LEN,
            have: reading.octets().len(),
        });
    };
    reading.header_len(PAYLOAD_LEN);
    let [protocol, ..] = *payload;
    let meaning = if protocol == PROTOCOL { "available bit rate" } else { "" };
    reading.named("protocol", 0, 1, protocol, meaning);
    let mut right = *payload;
    set_crc10(&mut right);
    // A cell with a wrong sum is read all the same.
    match Rm::parse(&right) {
        Ok(rm) => {
            reading.summary(rm);
            if is_crc10_right(payload) {
                reading.emitted(|out| out.copy_from_slice(&rm.octets()), PAYLOAD_LEN);
            }
            for (name, bit) in [
                ("backward", rm.backward),
                ("notification", rm.notification),
                ("congestion", rm.congestion),
                ("no increase", rm.no_increase),
                ("request", rm.request),
            ] {
                reading.field(name, 1, 1, bit);
            }
            for (name, at, rate) in
                [("explicit rate", 2, rm.explicit), ("current rate", 4, rm.current), ("minimum rate", 6, rm.minimum)]
            {
                reading.named(name, at, 2, Value::Hex(rate.encode().into(), 4), rate.to_string());
            }
            reading.field("queue length", 8, 4, rm.queue_length);
            reading.field("sequence number", 12, 4, rm.sequence_number);
        }
        Err(_) => {
            reading.summary(format!("RM protocol {protocol}"));
            reading.field("content", 1, 45, reading.part(1, 45));
        }
    }
    let (found, right) = (crc10_of(payload), crc10_of(&right));
    reading.field("crc-10", 46, 2, Value::Hex(found.into(), 3));
    if found != right {
        reading.bad(format!("CRC-10 is {found:#05x}, the octets give {right:#05x}"));
    }
}
