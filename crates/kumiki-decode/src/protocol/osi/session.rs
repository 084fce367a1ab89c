//! The session protocol: the SPDUs of one TSDU.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::osi::session`] |
//! | Found | in [`crate::protocol::osi::cotp`] |
//! | Left out | segmented SSDUs are not put together; whether an SPDU comes at its time |

use kumiki_octets::Message;
use kumiki_osi_service::session::{FunctionalUnits, refusal};
use kumiki_wire::Malformed;
use kumiki_wire::osi::session::unit::{code, name};
use kumiki_wire::osi::session::{self, Code, Spdus, Unit};

use crate::key::Key;
use crate::packet::{Value, in_words};
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector =
    Dissector { name: "session", title: "ISO session (ISO 8327-1, X.225)", claims: &[], dissect };

/// User data, and of which SPDU.
struct UserDataPart {
    code: Code,
    at: usize,
    len: usize,
    /// All of an SSDU, and not a segment.
    whole: bool,
}

fn dissect(reading: &mut Reading<'_>) {
    let (octets, total) = (reading.octets(), reading.total());
    let read = session::parse(Message::from_octets(octets));
    let mut inside = Vec::new();
    if let Err(why) = spdus(reading, &mut inside) {
        return reading.malformed(&why);
    }
    let header = inside.last().map_or(total, |inside| inside.at);
    reading.header_len(header);
    match read {
        Ok(spdus) => {
            let texts: Vec<String> = spdus.iter().map(ToString::to_string).collect();
            reading.summary(texts.join(", "));
            if octets.len() == total {
                written(reading, spdus, header);
            }
        }
        Err(why) => {
            let why = in_words(&why);
            reading.summary(format!("session: {why}"));
            reading.bad(why);
        }
    }
    for UserDataPart { code, at, len, whole } in inside {
        reading.around.spdu = Some(code);
        if whole {
            reading.follow(&[Key::Named("presentation")], at, len);
        } else {
            reading.rest(at, len, "segment of an SSDU");
        }
    }
}

/// What our codec would write, compared up to the last user data.
fn written(reading: &mut Reading<'_>, spdus: Spdus, header: usize) {
    let mut out = Vec::new();
    for (n, spdu) in spdus.into_iter().enumerate() {
        let octets = if n == 0 { spdu.into_tsdu() } else { spdu.emit() };
        match octets {
            Ok(octets) => out.extend(octets.to_vec()),
            Err(_) => return,
        }
    }
    let len = (out.len() + header).saturating_sub(reading.total());
    out.truncate(len);
    reading.emitted(|to| to.copy_from_slice(&out), len);
}

/// The fields of all SPDUs, and where their user data is.
fn spdus(reading: &mut Reading<'_>, inside: &mut Vec<UserDataPart>) -> Result<(), Malformed> {
    let octets = reading.octets();
    let mut at = 0;
    while at < octets.len() {
        let rest = octets.get(at..).unwrap_or_default();
        let (unit, len) = Unit::parse("SPDU", rest)?;
        let known = Code::of(unit.code, at == 0);
        let title = known.map_or("unknown", Code::title);
        reading.named("si", at, 1, unit.code, title);
        reading.field("li", at + 1, len - 1, number(unit.length));
        let end = at + len + unit.length;
        let Some(code) = known else {
            return Ok(());
        };
        let mut list = List { of: code, whole: true, data: None };
        list.read(reading, at + len, end.min(octets.len()), true)?;
        if code.has_information() {
            let total = reading.total();
            list.data = Some((end, total.saturating_sub(end)));
            at = total;
        } else {
            at = end;
        }
        if let Some((at, len)) = list.data {
            inside.push(UserDataPart { code, at, len, whole: list.whole });
        }
    }
    Ok(())
}

fn number(value: usize) -> Value {
    Value::Number(u64::try_from(value).unwrap_or(u64::MAX))
}

/// The parameters of one SPDU.
struct List {
    of: Code,
    whole: bool,
    data: Option<(usize, usize)>,
}

impl List {
    fn read(&mut self, reading: &mut Reading<'_>, mut at: usize, end: usize, top: bool) -> Result<(), Malformed> {
        let octets = reading.octets();
        while at < end {
            let rest = octets.get(at..end).unwrap_or_default();
            let (unit, len) = Unit::parse(self.of.name(), rest)?;
            let (from, next) = (at + len, (at + len + unit.length).min(end));
            let value = octets.get(from..next).unwrap_or_default();
            match unit.code {
                code::CONNECTION_IDENTIFIER | code::CONNECT_ACCEPT | code::LINKING if top => {
                    reading.field(name(unit.code), at, len, number(unit.length));
                    self.read(reading, from, next, false)?;
                }
                code::USER_DATA | code::EXTENDED_USER_DATA => {
                    reading.field(name(unit.code), at, len, number(unit.length));
                    self.data = Some((from, next - from));
                }
                code::MIA_DATA if self.of == Code::Mia => {
                    reading.field(name(unit.code), at, len, number(unit.length));
                    self.data = Some((from, next - from));
                }
                code::REASON if self.of == Code::Rf => {
                    let reason = value.first().copied().unwrap_or_default();
                    let meaning = refusal::meaning(reason);
                    reading.named(name(unit.code), at, len + 1, reason, meaning);
                    if next > from + 1 {
                        self.data = Some((from + 1, next - from - 1));
                    }
                }
                other => {
                    if other == code::ENCLOSURE {
                        self.whole = value.first().is_none_or(|bits| bits & 3 == 3);
                    }
                    let (shown, meaning) = parameter(other, value);
                    let length = next - at;
                    reading.named(name(other), at, length, shown, meaning);
                    if name(other) == "unknown parameter" {
                        reading.note(format!("parameter {other} is none that X.225 defines"));
                    }
                }
            }
            at = next;
        }
        Ok(())
    }
}

/// The value of a parameter, and what it means.
fn parameter(code: u8, value: &[u8]) -> (Value, String) {
    let none = String::new();
    match (code, value) {
        (code::REQUIREMENTS, &[high, low]) => {
            let bits = u16::from_be_bytes([high, low]);
            (Value::Hex(bits.into(), 4), FunctionalUnits(bits).to_string())
        }
        (code::TSDU_MAXIMUM, &[h0, l0, h1, l1]) => {
            let to = u16::from_be_bytes([h0, l0]);
            let from = u16::from_be_bytes([h1, l1]);
            let text = format!("{to} to the responder, {from} back");
            (Value::Text(text), none)
        }
        (code::INITIAL_SERIAL | code::SECOND_INITIAL_SERIAL | code::SERIAL, digits) => {
            (Value::text(digits.escape_ascii()), none)
        }
        (code::ENCLOSURE, &[bits]) => {
            let meaning = match bits & 3 {
                1 => "beginning",
                2 => "end",
                3 => "all of it",
                _ => "neither beginning nor end",
            };
            (Value::Hex(bits.into(), 2), meaning.to_owned())
        }
        (code::TRANSPORT_DISCONNECT, &[bits]) => {
            let meaning =
                if bits & 1 == 0 { "the transport connection is kept" } else { "the transport connection goes" };
            (Value::Hex(bits.into(), 2), meaning.to_owned())
        }
        (_, &[bits]) => (Value::Hex(bits.into(), 2), none),
        (_, octets) => (Value::from(octets), none),
    }
}
