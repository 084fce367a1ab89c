//! COTP: the TPDUs of ISO transport, class 0.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::osi::cotp`] |
//! | Found | in [`crate::protocol::osi::tpkt`] |
//! | Left out | classes 1 to 4; whether references and sizes fit what was agreed |
//!
//! Where nothing but the user data of a call of X.25 said that this is ISO transport, octets that no TPDU begins with
//! are data.
//!
//! What a DT without EOT carries is kept until the TSDU is whole. It is taken for session where it begins as one TSDU
//! of session can.

use kumiki_octets::text::counted;
use kumiki_wire::osi::cotp::{Cause, Connection, Tpdu, header_len, is_begun, parameter, reason};
use kumiki_wire::osi::session::{Category, Code};

use crate::key::Key;
use crate::packet::Value;
use crate::reading::Reading;
use crate::reassembly::streams::{MOST_TSDU, MOST_TSDUS};
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector =
    Dissector { name: "cotp", title: "ISO transport (ISO 8073, X.224), class 0", claims: &[], dissect };

fn dissect(reading: &mut Reading<'_>) {
    let (octets, total) = (reading.octets(), reading.total());
    if reading.around.announced && !is_begun(octets, total) {
        return reading.decline("no TPDU of class 0, although the call announced ISO 8073");
    }
    let (tpdu, len) = match Tpdu::parse(octets, total) {
        Ok(found) => found,
        Err(refused) => return reading.malformed(&refused.why),
    };
    reading.header_len(len);
    reading.summary(&tpdu);
    let written = tpdu.emit();
    reading.emitted(|out| out.copy_from_slice(&written), written.len());
    if let [li, code, ..] = octets {
        reading.field("length indicator", 0, 1, *li);
        let name = kumiki_wire::osi::cotp::Code::of(*code).name();
        reading.named("tpdu code", 1, 1, Value::Hex(u64::from(*code), 2), name);
    }
    match &tpdu {
        Tpdu::Request(connection) | Tpdu::Confirm(connection) => {
            references(reading, connection.dst_ref, Some(connection.src_ref));
            connects(reading, connection, octets);
        }
        Tpdu::Disconnect(disconnect) => {
            references(reading, disconnect.dst_ref, Some(disconnect.src_ref));
            let meaning = reason::meaning(disconnect.reason);
            reading.named("reason", 6, 1, disconnect.reason, meaning);
            parameters(reading, 7, octets);
        }
        Tpdu::Error(error) => {
            references(reading, error.dst_ref, None);
            reading.named("reject cause", 4, 1, u8::from(error.cause), error.cause);
            if matches!(error.cause, Cause::Other(_)) {
                reading.bad("reject cause is none that X.224 defines");
            }
            parameters(reading, 5, octets);
        }
        Tpdu::Data(data) => {
            reading.field("eot", 2, 1, data.eot);
            return user_data(reading, data.eot, len);
        }
    }
    if total > len {
        reading.note("user data, which class 0 has in DT only (RFC 1006 allows it for tests)");
        reading.rest(len, total - len, "user data of a connection");
    }
}

fn references(reading: &mut Reading<'_>, dst_ref: u16, src_ref: Option<u16>) {
    reading.field("dst-ref", 2, 2, Value::Hex(dst_ref.into(), 4));
    if let Some(src_ref) = src_ref {
        reading.field("src-ref", 4, 2, Value::Hex(src_ref.into(), 4));
    }
}

fn connects(reading: &mut Reading<'_>, connection: &Connection, octets: &[u8]) {
    reading.field("class", 6, 1, connection.class);
    if connection.class != 0 {
        let class = connection.class;
        reading.note(format!("class {class}, of which only class 0 is read here"));
    }
    parameters(reading, 7, octets);
}

fn parameters(reading: &mut Reading<'_>, mut at: usize, octets: &[u8]) {
    let end = octets.first().map_or(0, |li| header_len(*li));
    while let Some([code, len, rest @ ..]) = octets.get(at..end) {
        let len = usize::from(*len);
        let Some(value) = rest.get(..len) else {
            return;
        };
        let error = octets.get(1).is_some_and(|code| code >> 4 == 7);
        let (name, shown) = match (*code, value) {
            (parameter::INVALID_TPDU, value) if error => ("invalid tpdu", Value::from(value)),
            (parameter::CALLING, value) => ("calling tsap-id", Value::from(value)),
            (parameter::CALLED, value) => ("called tsap-id", Value::from(value)),
            (parameter::SIZE, [size]) => ("tpdu size", Value::Number(1 << (*size).min(63))),
            (parameter::VERSION, [version]) => ("version number", Value::from(*version)),
            (parameter::OPTIONS, [bits]) => ("additional option selection", Value::Hex((*bits).into(), 2)),
            (parameter::ALTERNATIVES, value) => ("alternative protocol classes", Value::from(value)),
            (parameter::ADDITIONAL, value) => ("additional information", Value::from(value)),
            (parameter::PREFERRED_SIZE, value) => {
                let units = value.iter().fold(0_u64, |units, octet| units << 8 | u64::from(*octet));
                ("preferred maximum tpdu size", Value::Number(units.saturating_mul(128)))
            }
            (_, value) => ("parameter", Value::from(value)),
        };
        let meaning = if name == "parameter" { format!("code {code:#04x}") } else { String::new() };
        reading.named(name, at, len + 2, shown, meaning);
        at += len + 2;
    }
}

/// Whether a TSDU begins as one of session does: with an SPDU that can come first.
fn session(octets: &[u8]) -> &'static [Key] {
    let first = octets.first().and_then(|si| Code::of(*si, true));
    if first.is_some_and(|code| code.category() != Category::Two) { &[Key::Named("session")] } else { &[] }
}

fn user_data(reading: &mut Reading<'_>, eot: bool, len: usize) {
    let (octets, total, packet) = (reading.octets(), reading.total(), reading.around.packet);
    let data = octets.get(len..).unwrap_or_default();
    let whole = octets.len() == total && !reading.around.quoted;
    let Some(stream) = reading.around.stream.filter(|_| whole) else {
        let keys = if eot { session(data) } else { &[] };
        return reading.follow(keys, len, total - len);
    };
    let in_progress = reading.state.streams.tsdu_octets();
    let flow = reading.state.streams.flow(stream, packet);
    if eot && !flow.tsdu.is_begun() {
        return reading.follow(session(data), len, total - len);
    }
    let have = flow.tsdu.octets.len() + data.len();
    if have > MOST_TSDU || in_progress + data.len() > MOST_TSDUS {
        let _ = flow.tsdu.end("");
        reading.note(format!("a TSDU of {octets} and more is not put together", octets = counted(have, "octet")));
        return reading.rest(len, total - len, "part of a TSDU");
    }
    flow.tsdu.add(packet, data);
    if eot {
        let tsdu = flow.tsdu.end("TSDU");
        let keys = session(&tsdu.octets);
        reading.follow_reassembled(keys, tsdu, 0, have);
    } else {
        reading.note(format!("part of a TSDU, {octets} so far", octets = counted(have, "octet")));
    }
}
