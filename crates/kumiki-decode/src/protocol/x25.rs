//! X.25 packets.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::x25`] |
//! | Found | by name: in I frames of LAPB, and in XOT |
//! | Left out | packet sequences are not put together, and what the call user data names is not decoded: user data is shown as it is |

use kumiki_osi::x25::{Facility, What, diagnostic_text};
use kumiki_wire::x25::{Block, Body, Packet};

use crate::packet::Value;
use crate::reading::Reading;
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
            reading.follow(&[], len, total.saturating_sub(len));
        }
        Body::Rr(pr) | Body::Rnr(pr) | Body::Rej(pr) => {
            reading.field("p(r)", 2, len.saturating_sub(2), *pr);
        }
        Body::Call(it) => block(reading, it),
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
