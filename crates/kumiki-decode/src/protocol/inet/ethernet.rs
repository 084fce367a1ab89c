//! Ethernet, with and without frame check sequence.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::inet::ethernet`] |
//! | Found | link type 1; bridged frames |
//! | Left out | VLAN tags are shown as data |

use kumiki_octets::crc::Fcs32;
use kumiki_wire::Malformed;
use kumiki_wire::inet::ethernet::{Header, LEN, TypeOrLength};

use crate::key::Key;
use crate::packet::Value;
use crate::protocol::header;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector =
    Dissector { name: "ethernet", title: "Ethernet II and IEEE 802.3 frames", claims: &[Key::LinkType(1)], dissect };

/// Octets of the frame check sequence.
const FCS_LEN: usize = 4;

fn dissect(reading: &mut Reading<'_>) {
    // A length beyond the frame is remarked on below; what there is can still be read.
    let (header, _) = header!(reading, Header::parse(reading.octets(), usize::MAX));
    reading.field("destination", 0, 6, Value::text(header.destination));
    reading.field("source", 6, 6, Value::text(header.source));
    // Only Ethernet's own frame has the check sequence that the capture speaks of.
    let fcs_len = core::mem::take(&mut reading.around.fcs_len);
    let end = reading.total().saturating_sub(fcs_len).max(LEN);
    match header.type_or_length {
        TypeOrLength::Type(number) => {
            reading.field("type", 12, 2, Value::Hex(number.into(), 4));
            reading.follow(&[Key::EtherType(number)], LEN, end - LEN);
        }
        TypeOrLength::Length(length) => {
            reading.field("length", 12, 2, length);
            let length = usize::from(length);
            let most = end - LEN;
            if length > most {
                reading.bad(crate::packet::in_words(&Malformed::Length {
                    protocol: "Ethernet",
                    field: "length",
                    found: length,
                    least: 0,
                    most,
                }));
            } else if fcs_len == 0 {
                reading.padding(LEN + length);
            }
            reading.follow(&[Key::Named("llc-snap")], LEN, length.min(most));
        }
    }
    if fcs_len == FCS_LEN && reading.octets().len() == reading.total() {
        check_sequence(reading, end);
    }
}

fn check_sequence(reading: &mut Reading<'_>, at: usize) {
    let Some(&found) = reading.part(at, FCS_LEN).first_chunk::<FCS_LEN>() else {
        return;
    };
    let mut crc = Fcs32::new();
    crc.update(reading.part(0, at));
    // The sequence is sent with the octet of the lowest powers first (IEEE 802.3 section 3.2.9).
    let (found, right) = (u32::from_le_bytes(found), crc.finish());
    reading.field("frame check sequence", at, FCS_LEN, Value::Hex(found.into(), 8));
    if found != right {
        reading.bad(format!("frame check sequence is {found:#010x}, the octets give {right:#010x}"));
    }
}
