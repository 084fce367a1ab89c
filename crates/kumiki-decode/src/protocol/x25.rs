//! X.25 packets.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::x25`] |
//! | Found | by name: in I frames of LAPB, and in XOT |
//! | Left out | on LAPB, where a packet does not say which way it goes, packet sequences are not put together; there the first part of one is shown as it is |
//!
//! What a call carries is known by its call user data, where the capture has it: ISO transport (03 01 01 00), a PAD (01 00 00 00).

use kumiki_osi::x25::{Facility, What, diagnostic_text};
use kumiki_wire::x25::{Block, Body, Packet};

use crate::key::Key;
use crate::packet::Value;
use crate::reading::Reading;
use crate::reassembly::calls::{MOST_SEQUENCE, Place};
use crate::registry::Dissector;

pub(super) const DISSECTOR: Dissector = Dissector {
    name: "x25",
    title: "X.25 packets",
    claims: &[],
    dissect,
};

fn dissect(reading: &mut Reading<'_>) {
    let total = reading.total();
    let (packet, len) = match Packet::parse(reading.octets(), total) {
        Ok(found) => found,
        Err(why) => {
            reading.bad(format!(
                "diagnostic {}: {}",
                why.diagnostic,
                diagnostic_text(why.diagnostic)
            ));
            return reading.malformed(&why.why);
        }
    };
    reading.header_len(len);
    reading.summary(&packet);
    if packet.len() == len {
        reading.emitted(|out| packet.emit(out), len);
    }
    let gfi = reading.part(0, 1).first().copied().unwrap_or_default() >> 4;
    let modulo = format!("modulo {}", packet.modulo.count());
    reading.named("gfi", 0, 1, Value::Hex(gfi.into(), 1), modulo);
    reading.field("channel", 0, 2, packet.channel);
    let kind = reading.part(2, 1).first().copied().unwrap_or_default();
    reading.named("type", 2, 1, Value::Hex(kind.into(), 2), &packet.body);
    match &packet.body {
        Body::Data { ps, pr, more } => {
            reading.field("q", 0, 1, packet.qualified);
            reading.field("d", 0, 1, packet.delivery);
            reading.field("p(s)", 2, len.saturating_sub(2), *ps);
            reading.field("p(r)", 2, len.saturating_sub(2), *pr);
            reading.field("m", 2, len.saturating_sub(2), *more);
            reading.around.qualified = packet.qualified;
            user_data(reading, packet.channel, len, *more);
        }
        Body::Rr(pr) | Body::Rnr(pr) | Body::Rej(pr) => {
            reading.field("p(r)", 2, len.saturating_sub(2), *pr);
        }
        Body::Call(it) => {
            let (place, number) = (place(reading, packet.channel), reading.around.packet);
            reading.state.calls.begin(place, number, protocol(&it.data));
            block(reading, it);
        }
        Body::Accepted(it) | Body::ClearConfirmation(it) => {
            it.iter().for_each(|it| block(reading, it));
        }
        Body::Clear {
            cause,
            diagnostic,
            block: it,
        } => {
            reason(reading, What::Clear, *cause, *diagnostic);
            it.iter().for_each(|it| block(reading, it));
        }
        Body::Reset { cause, diagnostic } => reason(reading, What::Reset, *cause, *diagnostic),
        Body::Restart { cause, diagnostic } => {
            reason(reading, What::Restart, *cause, *diagnostic);
            if packet.channel != 0 {
                reading.bad("a restart on a channel other than 0");
            }
        }
        Body::Diagnostic { code, .. } => {
            reading.named("diagnostic", 3, 1, *code, diagnostic_text(*code));
        }
        Body::Interrupt => reading.follow(&[], len, total.saturating_sub(len)),
        Body::Registration(..) => reading.note("registration, whose parameters are not decoded"),
        Body::InterruptConfirmation | Body::ResetConfirmation | Body::RestartConfirmation => {}
    }
}

/// Where the call is to which a packet on `channel` belongs. XOT's numbers mean nothing.
fn place(reading: &Reading<'_>, channel: u16) -> Place {
    let (interface, stream) = (reading.around.interface, reading.around.stream);
    let channel = if stream.is_some() { 0 } else { channel };
    Place::new(interface, stream, channel)
}

/// Who reads what a call with this call user data carries.
fn protocol(call_user_data: &[u8]) -> Option<&'static str> {
    if kumiki_wire::x29::user_data(call_user_data).is_some() {
        Some("x29")
    } else if call_user_data.starts_with(&[3, 1, 1, 0]) {
        Some("cotp")
    } else {
        None
    }
}

/// The user data of a DATA packet: a sequence is read when it is whole.
fn user_data(reading: &mut Reading<'_>, channel: u16, at: usize, more: bool) {
    let (total, packet) = (reading.total(), reading.around.packet);
    let len = total.saturating_sub(at);
    let place = place(reading, channel);
    let octets = reading.part(at, len);
    let Some(call) = reading.state.calls.call(place, packet) else {
        return reading.follow(&[], at, len);
    };
    let Some(name) = call.protocol else {
        return reading.follow(&[], at, len);
    };
    let keys = [Key::Named(name)];
    let stream = reading.around.stream;
    let begun = call.sequence(stream).is_some_and(|it| it.is_begun());
    if !more && !begun {
        return reading.follow(&keys, at, len);
    }
    let room = octets.len() == len && !reading.around.quoted;
    let Some(sequence) = call.sequence(stream).filter(|_| room) else {
        return reading.follow(&[], at, len);
    };
    if sequence.octets.len().saturating_add(len) > MOST_SEQUENCE {
        let _ = sequence.end("");
        reading.note(format!(
            "a packet sequence of more than {MOST_SEQUENCE} octets is not put together"
        ));
        return reading.follow(&[], at, len);
    }
    sequence.add(packet, octets);
    if more {
        reading.note("a part of a packet sequence, which is read with its last packet");
        return;
    }
    let whole = sequence.end("packet sequence");
    let len = whole.octets.len();
    reading.follow_reassembled(&keys, whole, 0, len);
}

fn reason(reading: &mut Reading<'_>, what: What, found: u8, diagnostic: Option<u8>) {
    let told = kumiki_osi::x25::Told {
        what,
        cause: found,
        diagnostic: diagnostic.unwrap_or(0),
    };
    let text = told.cause_text();
    reading.named("cause", 3, 1, Value::Hex(found.into(), 2), text);
    if let Some(code) = diagnostic {
        reading.named("diagnostic", 4, 1, code, diagnostic_text(code));
    }
}

/// Addresses, facilities and user data; their places are those of the whole packet.
fn block(reading: &mut Reading<'_>, block: &Block) {
    let rest = reading.total().saturating_sub(3);
    if !block.called.is_empty() {
        reading.field("called", 3, rest, Value::Text(block.called.to_string()));
    }
    if !block.calling.is_empty() {
        reading.field("calling", 3, rest, Value::Text(block.calling.to_string()));
    }
    for facility in &block.facilities.0 {
        match facility {
            Facility::PacketSize { called, calling } => {
                for (name, log) in [
                    ("packet size code, called", *called),
                    ("packet size code, calling", *calling),
                ] {
                    let size = 1_u32.checked_shl(log.into()).unwrap_or(0);
                    reading.named(name, 3, rest, log, format!("{size} octets"));
                }
            }
            Facility::Window { called, calling } => {
                reading.field("window, called", 3, rest, *called);
                reading.field("window, calling", 3, rest, *calling);
            }
            Facility::User(nui) => {
                let text = if reading.around.secrets {
                    nui.octets().escape_ascii().to_string()
                } else {
                    format!("{} octets, not shown", nui.octets().len())
                };
                reading.field("nui", 3, rest, Value::Text(text));
            }
            Facility::Marker(_)
            | Facility::Charging(_)
            | Facility::Throughput { .. }
            | Facility::ClosedGroup(_)
            | Facility::TransitDelay(_)
            | Facility::CalledExtension(_)
            | Facility::CallingExtension(_)
            | Facility::EndToEndDelay(_)
            | Facility::Priority(_)
            | Facility::Other { .. } => {
                reading.field("facility", 3, rest, Value::Text(format!("{facility:?}")));
            }
        }
    }
    if !block.data.is_empty() {
        let at = reading.total().saturating_sub(block.data.len());
        reading.field("user data", at, block.data.len(), block.data.as_slice());
    }
}
