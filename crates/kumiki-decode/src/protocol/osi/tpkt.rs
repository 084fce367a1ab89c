//! TPKT: what ISO transport is packed into on TCP.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::osi::tpkt`] |
//! | Found | TCP port 102; on other ports, in connections in which something begins with the header of a packet, a CR, a CC or a DT of class 0 in it |
//! | Left out | segments in another order than they were sent in: see [`streams`](crate::reassembly::streams) |
//!
//! Packets are put together from segments as [`crate::protocol::framing`] has it.

use kumiki_wire::osi::tpkt::{Header, LEN, MOST, PORT};

use crate::key::Key;
use crate::protocol::emitted;
use crate::protocol::framing::Framing;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector =
    Dissector { name: "tpkt", title: "TPKT, ISO transport on TCP (RFC 1006)", claims: &[Key::TcpPort(PORT)], dissect };

const FRAMING: Framing = Framing {
    title: "TPKT",
    again: &[Key::Named("tpkt")],
    header: LEN,
    length: |octets| Header::parse(octets, MOST).map(|(header, _)| header.length.into()),
    show,
    inside: |_| &[Key::Named("cotp")],
    body: "TPDU",
};

fn dissect(reading: &mut Reading<'_>) {
    FRAMING.dissect(reading);
}

fn show(reading: &mut Reading<'_>) {
    let Ok((header, len)) = Header::parse(reading.octets(), MOST) else {
        return;
    };
    reading.header_len(len);
    reading.summary(header);
    emitted!(reading, header);
    if let [vrsn, reserved, ..] = reading.octets() {
        reading.field("vrsn", 0, 1, *vrsn);
        reading.field("reserved", 1, 1, *reserved);
    }
    reading.field("packet length", 2, 2, header.length);
}
