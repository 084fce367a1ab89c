//! What a PAD's call carries: PAD messages in qualified data, and characters.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::x25::x29`] |
//! | Found | in calls of X.25 whose call user data begins with 01 |
//! | Left out | whether a value is one that the parameter can have; the facilities of a reselection are not shown one by one |

use kumiki_osi_service::x25::pad::NotSet;
use kumiki_wire::x25::x29::{Message, Pair, error, parameter_name};

use crate::packet::Value;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector =
    Dissector { name: "x29", title: "X.29, PAD messages", claims: &[], dissect };

fn dissect(reading: &mut Reading<'_>) {
    let total = reading.total();
    if !reading.around.qualified {
        reading.header_len(0);
        reading.summary(format!("X.29 {total} characters"));
        return reading.follow(&[], 0, total);
    }
    let message = match Message::parse(reading.octets()) {
        Ok(message) => message,
        Err(refused) => {
            let kind = refused.error;
            reading.bad(format!("error type {kind}: {}", error::text(kind)));
            return reading.malformed(&refused.why);
        }
    };
    reading.header_len(message.len());
    reading.summary(format!("X.29 {message}"));
    reading.emitted(|out| message.emit(out), message.len());
    let code = Value::Hex(message.code().into(), 2);
    reading.named("message code", 0, 1, code, name(&message));
    match &message {
        Message::Indication(pairs)
        | Message::Set(pairs)
        | Message::Break(pairs)
        | Message::Read(pairs)
        | Message::SetAndRead(pairs) => {
            for (place, pair) in pairs.iter().enumerate() {
                show(reading, place.saturating_mul(2).saturating_add(1), pair);
            }
        }
        Message::Error { kind, code } => {
            reading.named("error type", 1, 1, *kind, error::text(*kind));
            if let Some(code) = code {
                reading.field("invalid message code", 2, 1, Value::Hex((*code).into(), 2));
            }
        }
        Message::Reselection(it) => {
            let rest = total.saturating_sub(1);
            reading.field("called", 1, rest, Value::Text(it.called.to_string()));
            if !it.data.is_empty() {
                let at = total.saturating_sub(it.data.len());
                reading.field("user data", at, it.data.len(), it.data.as_slice());
            }
        }
        Message::Invitation => {}
    }
}

const fn name(message: &Message) -> &'static str {
    match message {
        Message::Indication(_) => "parameter indication",
        Message::Invitation => "invitation to clear",
        Message::Set(_) => "set",
        Message::Break(_) => "indication of break",
        Message::Read(_) => "read",
        Message::Error { .. } => "error",
        Message::SetAndRead(_) => "set and read",
        Message::Reselection(_) => "reselection",
    }
}

fn show(reading: &mut Reading<'_>, at: usize, pair: &Pair) {
    let meaning = parameter_name(pair.reference);
    reading.named("parameter", at, 1, pair.reference, meaning);
    let at = at.saturating_add(1);
    if pair.error {
        reading.named("value", at, 1, pair.value, NotSet::of(pair.value));
    } else {
        reading.field("value", at, 1, pair.value);
    }
}
