//! LLC and SNAP in front of datagrams and bridged frames.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::inet::llc_snap`] |
//! | Found | IEEE 802.3 and FDDI frames, AAL5 SDUs, link types 11 and 100 |
//! | Other LLC | is read by [`crate::protocol::inet::llc`] |
//! | Left out | bridged media other than Ethernet and FDDI are shown as data |

use kumiki_wire::Malformed;
use kumiki_wire::inet::llc_snap::{Header, Media};

use crate::key::Key;
use crate::packet::Value;
use crate::protocol::emitted;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector = Dissector {
    name: "llc-snap",
    title: "LLC/SNAP of RFC 1042 and RFC 2684",
    // 11 is what some systems write for 100.
    claims: &[Key::LinkType(11), Key::LinkType(100)],
    dissect,
};

fn dissect(reading: &mut Reading<'_>) {
    let (header, len) = match Header::parse(reading.octets()) {
        Ok(found) => found,
        // LLC that is none of these two is not wrong.
        Err(Malformed::Field { .. }) => return reading.reread_as(Key::Named("llc")),
        Err(why) => return reading.malformed(&why),
    };
    reading.header_len(len);
    reading.summary(header);
    emitted!(reading, header);
    reading.field("dsap, ssap, control", 0, 3, reading.part(0, 3));
    let inside = reading.total().saturating_sub(len);
    if header == Header::Nlpid {
        // The identifier belongs to the PDU of the protocol that it names.
        let keys: Vec<Key> = reading.part(len, 1).iter().map(|octet| Key::Nlpid(*octet)).collect();
        return reading.follow(&keys, len, inside);
    }
    reading.field("organisation", 3, 3, reading.part(3, 3));
    let pid = reading.part(6, 2).first_chunk().map_or(0, |octets| u16::from_be_bytes(*octets));
    reading.field("pid", 6, 2, Value::Hex(pid.into(), 4));
    if len > 8 {
        reading.field("padding", 8, len - 8, reading.part(8, len - 8));
    }
    match header {
        Header::EtherType(number) => reading.follow(&[Key::EtherType(number)], len, inside),
        Header::Bridged { media: Media::Ethernet, fcs } => {
            reading.around.fcs_len = if fcs { 4 } else { 0 };
            reading.follow(&[Key::Named("ethernet")], len, inside);
        }
        Header::Bridged { media: Media::Fddi, fcs } => {
            reading.around.fcs_len = if fcs { 4 } else { 0 };
            reading.follow(&[Key::Named("fddi")], len, inside);
        }
        Header::Bridged { media, .. } => {
            reading.rest(len, inside, format!("no decoder for a bridged {media:?} frame"));
        }
        Header::BridgedFragment => reading.rest(len, inside, "fragment of a bridged frame"),
        Header::Bpdu => reading.rest(len, inside, "no decoder for a spanning tree BPDU"),
        Header::Snap { .. } => reading.rest(len, inside, format!("no decoder for {header}")),
        Header::Nlpid => {}
    }
}
