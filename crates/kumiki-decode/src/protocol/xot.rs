//! XOT: X.25 packets on TCP.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::xot`] |
//! | Found | TCP port 1998 |
//! | Left out | packets that begin in one segment and end in another: what is not whole is shown as data |

use kumiki_wire::xot::{Header, LEN, PVC_SETUP, PvcSetup, status_text};

use super::emitted;
use crate::key::Key;
use crate::packet::Value;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(super) const DISSECTOR: Dissector = Dissector {
    name: "xot",
    title: "XOT: X.25 on TCP",
    claims: &[Key::TcpPort(kumiki_wire::xot::PORT)],
    dissect,
};

pub(super) const PVC: Dissector = Dissector {
    name: "xot-pvc",
    title: "XOT's set-up of a permanent virtual circuit",
    claims: &[],
    dissect: pvc,
};

fn dissect(reading: &mut Reading<'_>) {
    let (header, len) = match Header::parse(reading.octets()) {
        Ok(found) => found,
        Err(_) if reading.octets().len() < LEN => {
            reading.summary("XOT, cut");
            return reading.rest(0, reading.total(), "the rest is in the next segment");
        }
        Err(why) => return reading.malformed(&why),
    };
    reading.header_len(len);
    reading.summary(header);
    emitted!(reading, header);
    reading.field("version", 0, 2, 0_u16);
    reading.field("length", 2, 2, header.length);
    let inside = usize::from(header.length);
    let behind = reading.total().saturating_sub(len);
    if behind < inside {
        return reading.rest(len, behind, "the rest is in the next segment");
    }
    let name = if reading.part(len + 2, 1) == [PVC_SETUP] {
        PVC.name
    } else {
        "x25"
    };
    reading.follow(&[Key::Named(name)], len, inside);
    reading.follow(
        &[Key::Named(DISSECTOR.name)],
        len + inside,
        behind.saturating_sub(inside),
    );
}

fn pvc(reading: &mut Reading<'_>) {
    let setup = match PvcSetup::parse(reading.octets()) {
        Ok(setup) => setup,
        Err(why) => return reading.malformed(&why),
    };
    reading.header_len(setup.len());
    reading.summary(&setup);
    emitted!(reading, setup);
    let status = Value::Hex(setup.status.into(), 2);
    reading.named("status", 4, 1, status, status_text(setup.status));
    reading.field("initiator channel", 6, 2, setup.initiator.channel);
    reading.field("responder channel", 9, 2, setup.responder.channel);
    reading.field("window in", 11, 1, setup.window_in);
    reading.field("window out", 12, 1, setup.window_out);
    reading.field("packet size in", 13, 1, setup.packet_in);
    reading.field("packet size out", 14, 1, setup.packet_out);
}
