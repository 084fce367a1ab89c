//! FDDI, with and without frame check sequence.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::inet::fddi`] |
//! | Found | link type 10, whose addresses have the bits of each octet turned around, as they are on the line |
//! | Left out | what MAC and SMT frames carry; captures of systems that turn the addresses before they write them |
//!
//! Addresses are shown in canonical form.

use kumiki_octets::text::counted;
use kumiki_wire::inet::fddi::{Control, FCS_LEN, Header, LEN, MAX_INFORMATION, fcs};

use crate::key::Key;
use crate::packet::Value;
use crate::protocol::header;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector =
    Dissector { name: "fddi", title: "FDDI frames", claims: &[Key::LinkType(10)], dissect };

fn dissect(reading: &mut Reading<'_>) {
    let (header, _) = header!(reading, Header::parse(reading.octets()));
    let control = Value::Hex(header.control.octet().into(), 2);
    reading.named("frame control", 0, 1, control, header.control);
    reading.field("destination", 1, 6, Value::text(header.destination));
    reading.field("source", 7, 6, Value::text(header.source));
    if header.source.is_group() {
        reading.note("the source is a group: routing information follows, or it is wrong");
    }
    // Only FDDI's own frame has the check sequence that the capture speaks of.
    let fcs_len = core::mem::take(&mut reading.around.fcs_len);
    let end = reading.total().saturating_sub(fcs_len).max(LEN);
    if end - LEN > MAX_INFORMATION {
        reading
            .bad(format!("{} of information, and a frame has at most {MAX_INFORMATION}", counted(end - LEN, "octet")));
    }
    match header.control {
        Control::Llc { .. } => reading.follow(&[Key::Named("llc-snap")], LEN, end - LEN),
        Control::Smt(_) => reading.rest(LEN, end - LEN, "no decoder for station management"),
        Control::Mac(_) => reading.rest(LEN, end - LEN, "no decoder for frames of the MAC"),
        Control::Other(_) => reading.rest(LEN, end - LEN, "no decoder for this frame control"),
    }
    if fcs_len == FCS_LEN && reading.octets().len() == reading.total() {
        check_sequence(reading, end);
    }
}

fn check_sequence(reading: &mut Reading<'_>, at: usize) {
    let Some(&found) = reading.part(at, FCS_LEN).first_chunk::<FCS_LEN>() else {
        return;
    };
    let (found, right) = (u32::from_be_bytes(found), fcs(reading.part(0, at)));
    let value = Value::Hex(found.into(), 8);
    reading.field("frame check sequence", at, FCS_LEN, value);
    if found != right {
        reading.bad(format!("frame check sequence is {found:#010x}, the octets give {right:#010x}"));
    }
}
