//! Association control: APDUs, and the values of the user in them.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::osi::acse`], [`kumiki_wire::osi::ber`] |
//! | Found | in [`crate::protocol::osi::presentation`], under its abstract syntax |
//! | Left out | directory names, which are octets here; whether somebody is who he says |

use kumiki_octets::Message;
use kumiki_octets::text::counted;
use kumiki_osi_service::acse::{ABSTRACT_SYNTAX, Diagnostic};
use kumiki_wire::Malformed;
use kumiki_wire::osi::acse::{Apdu, reason};
use kumiki_wire::osi::ber::{Element, Reader, Tag};

use crate::key::Key;
use crate::packet::Value;
use crate::protocol::osi::presentation::{element, integer, place};
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector = Dissector {
    name: "acse",
    title: "association control (ISO 8650-1, X.227)",
    claims: &[Key::AbstractSyntax(ABSTRACT_SYNTAX)],
    dissect,
};

fn dissect(reading: &mut Reading<'_>) {
    let (octets, total) = (reading.octets(), reading.total());
    let apdu = match Apdu::parse(Message::from_octets(octets)) {
        Ok(apdu) => apdu,
        Err(why) => return reading.malformed(&why),
    };
    reading.summary(&apdu);
    let name = apdu.name();
    let mut first = None;
    if let Err(why) = fields(reading, name, &mut first) {
        return reading.malformed(&why);
    }
    let header = first.unwrap_or(total);
    reading.header_len(header);
    if octets.len() < total {
        return;
    }
    let written = apdu.emit().to_vec();
    let len = (header + written.len()).saturating_sub(total);
    let front = written.get(..len).unwrap_or_default();
    reading.emitted(|out| out.copy_from_slice(front), len);
}

/// The fields, with where the first value of the user information begins.
fn fields(reading: &mut Reading<'_>, apdu: &str, first: &mut Option<usize>) -> Result<(), Malformed> {
    let outer = Reader::new("APDU", reading.octets()).any("APDU", "an APDU")?;
    let mut r = outer.elements()?;
    while let Some(field) = r.next("a field")? {
        if field.tag() != Tag::context(field.tag().number) {
            element(reading, "field", &field, field.content(), field.tag());
            continue;
        }
        match (apdu, field.tag().number) {
            (_, 30) => information(reading, &field, first)?,
            ("AARQ" | "AARE", 0) => {
                let bits = field.bits()?;
                element(reading, "protocol-version", &field, Value::text(bits), "");
            }
            ("AARQ" | "AARE", 1) => inner(reading, "application-context-name", &field)?,
            ("AARQ", 2) => inner(reading, "called-ap-title", &field)?,
            ("AARQ", 3) => inner(reading, "called-ae-qualifier", &field)?,
            ("AARQ", 4) => inner(reading, "called-ap-invocation-identifier", &field)?,
            ("AARQ", 5) => inner(reading, "called-ae-invocation-identifier", &field)?,
            ("AARQ", 6) => inner(reading, "calling-ap-title", &field)?,
            ("AARQ", 7) => inner(reading, "calling-ae-qualifier", &field)?,
            ("AARQ", 8) => inner(reading, "calling-ap-invocation-identifier", &field)?,
            ("AARQ", 9) => inner(reading, "calling-ae-invocation-identifier", &field)?,
            ("AARE", 2) => {
                let result = field.only()?.integer()?;
                let meaning = match result {
                    0 => "accepted",
                    1 => "rejected-permanent",
                    _ => "rejected-transient",
                };
                element(reading, "result", &field, integer(result), meaning);
            }
            ("AARE", 3) => {
                let source = field.only()?;
                let number = source.only()?.integer()?;
                let code = u8::try_from(number).unwrap_or(u8::MAX);
                let (name, diagnostic) = if source.tag() == Tag::context(1) {
                    ("acse-service-user diagnostic", Diagnostic::User(code))
                } else {
                    ("acse-service-provider diagnostic", Diagnostic::Provider(code))
                };
                element(reading, name, &field, integer(number), diagnostic);
            }
            ("AARE", 4) => inner(reading, "responding-ap-title", &field)?,
            ("AARE", 5) => inner(reading, "responding-ae-qualifier", &field)?,
            ("AARE", 6) => inner(reading, "responding-ap-invocation-identifier", &field)?,
            ("AARE", 7) => inner(reading, "responding-ae-invocation-identifier", &field)?,
            ("AARQ", 10) | ("AARE", 8) => {
                let bits = field.bits()?;
                element(reading, "acse-requirements", &field, Value::text(bits), "");
            }
            ("AARQ", 11) | ("AARE", 9) => {
                let oid = field.oid()?;
                element(reading, "mechanism-name", &field, Value::text(oid), "");
            }
            ("AARQ", 12) | ("AARE", 10) => {
                // A password does not belong on a screen.
                let shown = format!("{}, not shown", counted(field.content().len(), "octet"));
                element(reading, "authentication-value", &field, Value::Text(shown), "");
            }
            ("AARQ" | "AARE", 29) => {
                let text = field.text()?;
                element(reading, "implementation-information", &field, Value::Text(text), "");
            }
            ("RLRQ" | "RLRE", 0) => {
                let number = field.integer()?;
                let meaning = match (apdu, number) {
                    (_, reason::NORMAL) => "normal",
                    ("RLRQ", reason::URGENT) => "urgent",
                    (_, reason::NOT_FINISHED) => "not finished",
                    (_, reason::USER_DEFINED) => "user defined",
                    _ => "",
                };
                element(reading, "reason", &field, integer(number), meaning);
            }
            ("ABRT", 0) => {
                let number = field.integer()?;
                let meaning = match number {
                    0 => "acse-service-user",
                    1 => "acse-service-provider",
                    _ => "",
                };
                element(reading, "abort-source", &field, integer(number), meaning);
            }
            ("ABRT", 1) => {
                let number = field.integer()?;
                element(reading, "abort-diagnostic", &field, integer(number), "");
            }
            _ => element(reading, "field", &field, field.content(), field.tag()),
        }
    }
    Ok(())
}

/// A field with an explicit tag around its value.
fn inner(reading: &mut Reading<'_>, name: &'static str, field: &Element<'_>) -> Result<(), Malformed> {
    let inner = field.only()?;
    let value = match inner.tag() {
        Tag::OBJECT_IDENTIFIER => Value::text(inner.oid()?),
        Tag::INTEGER => integer(inner.integer()?),
        _ => Value::from(inner.octets()),
    };
    element(reading, name, field, value, "");
    Ok(())
}

fn information(reading: &mut Reading<'_>, field: &Element<'_>, first: &mut Option<usize>) -> Result<(), Malformed> {
    let mut all = field.elements()?;
    while let Some(external) = all.next("user-information")? {
        let mut inside = external.elements()?;
        if let Some(direct) = inside.take_if(Tag::OBJECT_IDENTIFIER, "direct-reference")? {
            let oid = direct.oid()?;
            element(reading, "direct-reference", &direct, Value::text(oid), "");
        }
        let mut syntax = None;
        if let Some(indirect) = inside.take_if(Tag::INTEGER, "indirect-reference")? {
            let id = indirect.integer()?;
            syntax = reading.around.stream.and_then(|stream| reading.state.streams.syntax(stream, id));
            let meaning = syntax.map_or_else(String::new, |oid| format!("abstract syntax {oid}"));
            element(reading, "indirect-reference", &indirect, integer(id), meaning);
        }
        inside.take_if(Tag::OBJECT_DESCRIPTOR, "data-value-descriptor")?;
        let encoding = inside.any("encoding", "a value")?;
        let (at, len) = place(reading.octets(), encoding.content());
        first.get_or_insert(at);
        let keys: Vec<Key> = syntax.map(Key::AbstractSyntax).into_iter().collect();
        reading.follow(&keys, at, len);
    }
    Ok(())
}
