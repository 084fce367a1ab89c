//! RTP.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::inet::rtp`] |
//! | Found | UDP port 5004 (RFC 3551 section 8); elsewhere by name, for sessions agree on ports |
//! | Left out | payloads, padding's length; RTCP |

use kumiki_wire::inet::rtp::{Header, LEN, PORT, encoding};

use crate::key::Key;
use crate::packet::Value;
use crate::protocol::header;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector =
    Dissector { name: "rtp", title: "RTP, audio and video", claims: &[Key::UdpPort(PORT)], dissect };

fn dissect(reading: &mut Reading<'_>) {
    let (header, len) = header!(reading, Header::parse(reading.octets()));
    reading.field("padding", 0, 1, header.padding);
    reading.field("marker", 1, 1, header.marker);
    let name = encoding(header.payload_type).map_or("", |(name, _)| name);
    reading.named("payload type", 1, 1, header.payload_type, name);
    reading.field("sequence number", 2, 2, header.sequence);
    reading.field("timestamp", 4, 4, header.timestamp);
    reading.field("ssrc", 8, 4, Value::Hex(header.ssrc.into(), 8));
    for (at, source) in (LEN..).step_by(4).zip(&header.sources) {
        reading.field("contributing source", at, 4, Value::Hex((*source).into(), 8));
    }
    reading.rest(len, reading.total().saturating_sub(len), "payload of RTP");
}
