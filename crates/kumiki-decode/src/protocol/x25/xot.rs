//! XOT: X.25 packets on TCP.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::x25::xot`] |
//! | Found | TCP port 1998 |
//! | Left out | segments in another order than they were sent in: see [`streams`](crate::reassembly::streams) |
//!
//! Packets are put together from segments as [`crate::protocol::framing`] has it.

use kumiki_wire::x25::xot::{Header, LEN, PVC_SETUP, PvcSetup, status_text};

use crate::key::Key;
use crate::packet::Value;
use crate::protocol::emitted;
use crate::protocol::framing::Framing;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector =
    Dissector { name: "xot", title: "XOT: X.25 on TCP", claims: &[Key::TcpPort(kumiki_wire::x25::xot::PORT)], dissect };

pub(in crate::protocol) const PVC: Dissector =
    Dissector { name: "xot-pvc", title: "XOT's set-up of a permanent virtual circuit", claims: &[], dissect: pvc };

const FRAMING: Framing = Framing {
    title: "XOT",
    again: &[Key::Named("xot")],
    header: LEN,
    length: |octets| Header::parse(octets).map(|(header, len)| len + usize::from(header.length)),
    show,
    inside: |octets| match octets.get(LEN + 2) {
        Some(&PVC_SETUP) => &[Key::Named("xot-pvc")],
        Some(_) | None => &[Key::Named("x25")],
    },
    body: "packet",
};

fn dissect(reading: &mut Reading<'_>) {
    FRAMING.dissect(reading);
}

fn show(reading: &mut Reading<'_>) {
    let Ok((header, len)) = Header::parse(reading.octets()) else {
        return;
    };
    reading.header_len(len);
    reading.summary(header);
    emitted!(reading, header);
    reading.field("version", 0, 2, 0_u16);
    reading.field("length", 2, 2, header.length);
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
