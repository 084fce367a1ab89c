//! HDLC frames of Cisco's form: address, control, EtherType.
//!
//! | | |
//! |---|---|
//! | Found | link type 104, ERF's HDLC records |
//! | Left out | its keep-alive protocol (EtherType 8035): shown as data |

use kumiki_wire::Malformed;

use crate::key::Key;
use crate::packet::Value;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector = Dissector {
    name: "cisco-hdlc",
    title: "HDLC frames with an EtherType; with an FCS where the capture says so",
    claims: &[Key::LinkType(104)],
    dissect,
};

const LEN: usize = 4;

fn dissect(reading: &mut Reading<'_>) {
    let Some(&[address, control, t0, t1]) = reading.octets().first_chunk::<LEN>() else {
        return reading.malformed(&Malformed::Short {
            protocol: "Cisco HDLC",
            need: LEN,
            have: reading.octets().len(),
        });
    };
    let number = u16::from_be_bytes([t0, t1]);
    let to = match address {
        0x0f => "unicast",
        0x8f => "broadcast",
        _ => "",
    };
    reading.header_len(LEN);
    reading.summary(format!("Cisco HDLC {to} type {number:#06x}"));
    reading.named("address", 0, 1, Value::Hex(address.into(), 2), to);
    reading.field("control", 1, 1, Value::Hex(control.into(), 2));
    reading.field("type", 2, 2, Value::Hex(number.into(), 4));
    let inside = crate::protocol::fcs::check(reading).saturating_sub(LEN);
    reading.follow(&[Key::EtherType(number)], LEN, inside);
}
