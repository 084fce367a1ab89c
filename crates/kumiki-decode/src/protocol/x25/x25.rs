//! X.25 packets.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::x25::x25`] |
//! | Found | by name: in I frames of LAPB, and in XOT |
//! | Left out | packet sequences where nothing says which way a packet goes, or where circuits of several calls have one number; the packets are data then |
//!
//! Packets with M are put together by call and direction. The direction is that of the connection of TCP, of the
//! address of LAPB, or what the capture says. What a call carries is known by its call user data, where the capture has
//! it: ISO transport (03 01 01 00), a PAD (01 00 00 00).

use kumiki_octets::text::counted;
use kumiki_osi_service::x25::{CauseField, Facility, diagnostic_text};
use kumiki_wire::osi::cotp;
use kumiki_wire::x25::x25::{Block, Body, Packet};

use crate::key::{Key, Stream};
use crate::packet::Value;
use crate::reading::{PacketContext, Reading};
use crate::reassembly::calls::{CallKey, MOST_SEQUENCE};
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector =
    Dissector { name: "x25", title: "X.25 packets", claims: &[], dissect };

fn dissect(reading: &mut Reading<'_>) {
    let total = reading.total();
    let (packet, len) = match Packet::parse(reading.octets(), total) {
        Ok(found) => found,
        Err(why) => {
            reading.bad(format!("diagnostic {}: {}", why.diagnostic, diagnostic_text(why.diagnostic)));
            return reading.malformed(&why.why);
        }
    };
    reading.header_len(len);
    reading.summary(&packet);
    reading.stays();
    if packet.len() == len {
        reading.emitted(|out| packet.emit(out), len);
    }
    let gfi = reading.part(0, 1).first().copied().unwrap_or_default() >> 4;
    let modulo = format!("modulo {}", packet.modulo.count());
    reading.named("gfi", 0, 1, Value::Hex(gfi.into(), 1), modulo);
    reading.field("channel", 0, 2, packet.channel);
    let kind = reading.part(2, 1).first().copied().unwrap_or_default();
    reading.named("type", 2, 1, Value::Hex(kind.into(), 2), &packet.body);
    let around = &mut reading.around;
    if let (None, Some(from)) = (around.stream, around.from) {
        around.stream = Some(Stream::on_channel(around.interface, packet.channel, from));
    }
    conversation(reading, &packet);
    match &packet.body {
        Body::Data { ps, pr, more } => {
            reading.field("q", 0, 1, packet.qualified);
            reading.field("d", 0, 1, packet.delivery);
            reading.field("p(s)", 2, len.saturating_sub(2), *ps);
            reading.field("p(r)", 2, len.saturating_sub(2), *pr);
            reading.field("m", 2, len.saturating_sub(2), *more);
            reading.around.qualified = packet.qualified;
            let numbers = (*ps, packet.modulo.count());
            user_data(reading, packet.channel, len, numbers, *more);
        }
        Body::Rr(pr) | Body::Rnr(pr) | Body::Rej(pr) => {
            reading.field("p(r)", 2, len.saturating_sub(2), *pr);
        }
        Body::Call(it) => {
            block(reading, it);
        }
        Body::Accepted(it) | Body::ClearConfirmation(it) => {
            it.iter().for_each(|it| block(reading, it));
        }
        Body::Clear { cause, diagnostic, block: it } => {
            reason(reading, CauseField::Clear, *cause, *diagnostic);
            it.iter().for_each(|it| block(reading, it));
        }
        Body::Reset { cause, diagnostic } => reason(reading, CauseField::Reset, *cause, *diagnostic),
        Body::Restart { cause, diagnostic } => {
            reason(reading, CauseField::Restart, *cause, *diagnostic);
            if packet.channel != 0 {
                reading.bad("a restart on a channel other than 0");
            }
        }
        Body::Diagnostic { code, .. } => {
            let meaning = diagnostic_text(*code);
            reading.named("diagnostic", 3, 1, *code, meaning);
            reading.summary(format!("{packet}: {meaning}"));
        }
        Body::Interrupt => reading.follow(&[], len, total.saturating_sub(len)),
        Body::Registration(..) => reading.note("registration, whose parameters are not decoded"),
        Body::InterruptConfirmation | Body::ResetConfirmation | Body::RestartConfirmation => {}
    }
}

/// Where the call is to which a packet on `channel` belongs.
fn place(reading: &Reading<'_>, channel: u16) -> CallKey {
    CallKey::new(reading.around.interface, reading.around.stream, channel)
}

/// Calls begin, and with one, with a reset or a restart, what was in progress is over.
fn conversation(reading: &mut Reading<'_>, packet: &Packet) {
    let PacketContext { packet: number, interface, stream, out_of_turn, quoted, .. } = reading.around;
    if out_of_turn || quoted {
        return;
    }
    let place = place(reading, packet.channel);
    let state = &mut reading.state;
    let lost = match &packet.body {
        Body::Call(it) => {
            state.calls.begin(place, number, protocol(&it.data));
            0
        }
        Body::Clear { .. } => state.calls.clear(place),
        Body::Reset { .. } => state.calls.reset(place),
        Body::Restart { .. } => {
            state.streams.restart(interface);
            state.calls.restart(interface)
        }
        Body::Data { .. }
        | Body::Rr(_)
        | Body::Rnr(_)
        | Body::Rej(_)
        | Body::Accepted(_)
        | Body::ClearConfirmation(_)
        | Body::Diagnostic { .. }
        | Body::Interrupt
        | Body::InterruptConfirmation
        | Body::ResetConfirmation
        | Body::RestartConfirmation
        | Body::Registration(..) => return,
    };
    // Without a direction nothing was put together further in.
    if let Some(stream) = stream {
        state.streams.renew(stream);
    }
    if lost > 0 {
        reading.note(format!("packet sequences in progress are given up, {octets}", octets = counted(lost, "octet")));
    }
}

/// Who reads what a call with this call user data carries.
fn protocol(call_user_data: &[u8]) -> Option<&'static str> {
    if kumiki_wire::x25::x29::user_data(call_user_data).is_some() {
        Some("x29")
    } else if call_user_data.starts_with(&[3, 1, 1, 0]) {
        Some("cotp")
    } else {
        None
    }
}

/// The user data of a DATA packet: a sequence is read when it is whole. `numbers`: P(S), and how many of them there
/// are.
fn user_data(reading: &mut Reading<'_>, channel: u16, at: usize, (ps, count): (u8, u8), more: bool) {
    let (total, stream) = (reading.total(), reading.around.stream);
    let len = total.saturating_sub(at);
    let octets = reading.part(at, len);
    if reading.around.out_of_turn {
        return reading.follow(&[], at, len);
    }
    let place = place(reading, channel);
    let PacketContext { packet, qualified, quoted, .. } = reading.around;
    let Some(call) = reading.state.calls.call(place, packet) else {
        return reading.follow(&[], at, len);
    };
    let keys: &[Key] = &match call.protocol {
        // Q is for what a PAD and its host say to each other; ISO transport has no use for it.
        Some("cotp") if qualified => Vec::new(),
        Some(name) => vec![Key::Named(name)],
        None => return reading.follow(&[], at, len),
    };
    if call.shared {
        reading.note("several calls have this number at a time, and nothing tells their packets apart");
        return reading.follow(&[], at, len);
    }
    call.mixed |= more && stream.is_none();
    let mixed = call.mixed;
    let Some(way) = call.way(stream).filter(|_| !quoted) else {
        if mixed {
            reading.note("which way it goes is not known: packet sequences are not put together");
        }
        let keys = if mixed || more { &[] } else { keys };
        announced(reading, place, octets, len);
        return reading.follow(keys, at, len);
    };
    let missing = !way.is_next(ps, count);
    let begun = way.parts.is_begun();
    let other = begun && way.qualified != qualified;
    let why = if missing {
        "packets before it are not in the capture"
    } else if other {
        "its packets differ in Q"
    } else if octets.len() < len && (begun || more) {
        "not all octets of this packet are in the capture"
    } else if begun && way.parts.octets.len().saturating_add(len) > MOST_SEQUENCE {
        "it is longer than 64 KiB"
    } else {
        return sequence(reading, keys, place, at, more);
    };
    let _ = way.parts.end("");
    way.broken = true;
    if let Some(stream) = stream {
        reading.state.streams.give_up(stream);
    }
    let text = format!("this packet sequence is not put together: {why}");
    if other {
        reading.bad(text);
    } else {
        reading.note(text);
    }
    sequence(reading, keys, place, at, more);
}

/// What the user data of a call says of it, its users may do or not: ISO transport it is from the first TPDU on.
/// `octets` of `total` come next.
fn announced(reading: &mut Reading<'_>, place: CallKey, octets: &[u8], total: usize) {
    let packet = reading.around.packet;
    let Some(call) = reading.state.calls.call(place, packet) else {
        return;
    };
    call.transport |= cotp::is_begun(octets, total);
    reading.around.announced = !call.transport;
}

/// Adds a packet to the sequence in its direction.
fn sequence(reading: &mut Reading<'_>, keys: &[Key], place: CallKey, at: usize, more: bool) {
    let len = reading.total().saturating_sub(at);
    let (octets, around) = (reading.part(at, len), reading.around);
    let call = reading.state.calls.call(place, around.packet);
    let Some(way) = call.and_then(|call| call.way(around.stream)) else {
        return;
    };
    if way.broken {
        way.broken = more;
        return reading.follow(&[], at, len);
    }
    if !more && !way.parts.is_begun() {
        announced(reading, place, octets, len);
        return reading.follow(keys, at, len);
    }
    way.qualified = around.qualified;
    way.parts.add(around.packet, octets);
    if more {
        return reading.note("a part of a packet sequence, which is read with its last packet");
    }
    let whole = way.parts.end("packet sequence");
    let len = whole.octets.len();
    announced(reading, place, &whole.octets, len);
    reading.follow_reassembled(keys, whole, 0, len);
}

fn reason(reading: &mut Reading<'_>, what: CauseField, found: u8, diagnostic: Option<u8>) {
    let told = kumiki_osi_service::x25::PacketCause { what, cause: found, diagnostic: diagnostic.unwrap_or(0) };
    let text = told.cause_text();
    let mut meaning = format!("{}: {text}", reading.layer.summary);
    reading.named("cause", 3, 1, Value::Hex(found.into(), 2), text);
    if let Some(code) = diagnostic {
        let text = diagnostic_text(code);
        meaning = format!("{meaning}, {text}");
        reading.named("diagnostic", 4, 1, code, text);
    }
    reading.summary(meaning);
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
                for (name, log) in [("packet size code, called", *called), ("packet size code, calling", *calling)] {
                    let size = 1_u32.checked_shl(log.into()).unwrap_or(0);
                    reading.named(name, 3, rest, log, counted(size, "octet").to_string());
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
                    format!("{}, not shown", counted(nui.octets().len(), "octet"))
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
