//! The presentation protocol: PPDUs, and in which context each value in them stands.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::osi::presentation`], [`kumiki_wire::osi::ber`] |
//! | Found | in [`crate::protocol::osi::session`], whose SPDU says which PPDU it is |
//! | Left out | transfer syntaxes other than BER; whether a context stands, only what it was proposed for is remembered |
//!
//! What follows an octet-aligned PDV-list may be several values, one behind the other.

use kumiki_octets::Message;
use kumiki_octets::text::counted;
use kumiki_osi_service::presentation::{BASIC_ENCODING_RULES, abort, context_refusal, refusal};
use kumiki_wire::Malformed;
use kumiki_wire::osi::ber::{Element, Reader, Tag};
use kumiki_wire::osi::presentation::{Abort, Accept, Connect, Refuse, Resync, Typed, UserData};
use kumiki_wire::osi::session::Code;

use crate::key::Key;
use crate::packet::{Reassembled, Value};
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector =
    Dissector { name: "presentation", title: "ISO presentation (ISO 8823-1, X.226)", claims: &[], dissect };

/// Where `part`, which is a part of `whole`, lies in it.
pub(in crate::protocol) fn place(whole: &[u8], part: &[u8]) -> (usize, usize) {
    let at = part.as_ptr().addr().saturating_sub(whole.as_ptr().addr());
    (at, part.len())
}

/// Adds an element as a field.
pub(in crate::protocol) fn element(
    reading: &mut Reading<'_>,
    name: &'static str,
    element: &Element<'_>,
    value: impl Into<Value>,
    meaning: impl std::fmt::Display,
) {
    let (at, len) = place(reading.octets(), element.octets());
    reading.named(name, at, len, value, meaning);
}

/// An INTEGER as a field's value.
pub(in crate::protocol) fn integer(number: i64) -> Value {
    u64::try_from(number).map_or_else(|_| Value::text(number), Value::Number)
}

fn dissect(reading: &mut Reading<'_>) {
    let (octets, total) = (reading.octets(), reading.total());
    let message = Message::from_octets(octets);
    let spdu = reading.around.spdu;
    let read: Result<(String, Message), Malformed> = match spdu {
        Some(Code::Cn) => Connect::parse(message).map(|p| (p.to_string(), p.emit())),
        Some(Code::Ac) => Accept::parse(message).map(|p| (p.to_string(), p.emit())),
        Some(Code::Rf) => Refuse::parse(message).map(|p| (p.to_string(), p.emit())),
        Some(Code::Ab) => Abort::parse(message).map(|p| (p.to_string(), p.emit())),
        Some(Code::Td) => Typed::parse(message).map(|p| (p.to_string(), p.emit())),
        Some(Code::Rs | Code::Ra) => Resync::parse(message).map(|p| (p.to_string(), p.emit())),
        _ => UserData::parse(message).map(|p| (p.to_string(), p.emit())),
    };
    let (summary, written) = match read {
        Ok(found) => found,
        Err(why) => return reading.malformed(&why),
    };
    reading.summary(summary);
    // What the codec has read can be walked through.
    let mut walk = Walk { first: None };
    if let Err(why) = walk.ppdu(reading, spdu) {
        return reading.malformed(&why);
    }
    let header = walk.first.unwrap_or(total);
    reading.header_len(header);
    if octets.len() < total {
        return;
    }
    let written = written.to_vec();
    let same = written == octets;
    reading.layer.verbatim = Some(same);
    if !same {
        let len = written.len();
        reading.note(format!(
            "written again, in definite lengths and strings of one piece, it would have {octets} and not {total}",
            octets = counted(len, "octet")
        ));
    }
}

struct Walk {
    /// Where the first value begins.
    first: Option<usize>,
}

impl Walk {
    fn ppdu(&mut self, reading: &mut Reading<'_>, spdu: Option<Code>) -> Result<(), Malformed> {
        let mut r = Reader::new("PPDU", reading.octets());
        while let Some(outer) = r.next("PPDU")? {
            if outer.tag() == Tag::SET {
                for part in outer.elements()?.each("CP or CPA", 16, |part| Ok(*part))? {
                    if part.tag() == Tag::context(0) {
                        let mode = part.only()?.integer()?;
                        element(reading, "mode-selector", &part, integer(mode), "normal mode");
                    } else if part.tag() == Tag::context(2) {
                        self.parameters(reading, &part, spdu)?;
                    }
                }
            } else if outer.tag() == Tag::application(0) || outer.tag() == Tag::application(1) {
                self.user_data(reading, &outer)?;
            } else {
                self.parameters(reading, &outer, spdu)?;
            }
        }
        Ok(())
    }

    fn parameters(
        &mut self,
        reading: &mut Reading<'_>,
        outer: &Element<'_>,
        spdu: Option<Code>,
    ) -> Result<(), Malformed> {
        let mut r = outer.elements()?;
        // CP, CPA and CPR number their parameters alike; the other PPDUs do not.
        let connect = matches!(spdu, Some(Code::Cn | Code::Ac | Code::Rf));
        while let Some(field) = r.next("a parameter")? {
            let is = |number| field.tag() == Tag::context(number);
            if field.tag() == Tag::application(0) || field.tag() == Tag::application(1) {
                self.user_data(reading, &field)?;
            } else if connect {
                parameter(reading, &field)?;
            } else if spdu == Some(Code::Ab) && outer.tag() == Tag::SEQUENCE {
                let number = field.integer()?;
                let code = u8::try_from(number).unwrap_or(u8::MAX);
                if is(0) {
                    let meaning = abort::meaning(code);
                    element(reading, "provider-reason", &field, integer(number), meaning);
                } else {
                    element(reading, "event-identifier", &field, integer(number), "");
                }
            } else if spdu == Some(Code::Td) && outer.tag() == Tag::context(0) && is(0) {
                contexts(reading, &field)?;
            } else {
                element(reading, "parameter", &field, field.content(), field.tag());
            }
        }
        Ok(())
    }

    fn user_data(&mut self, reading: &mut Reading<'_>, data: &Element<'_>) -> Result<(), Malformed> {
        if data.tag() == Tag::application(0) {
            let (at, len) = place(reading.octets(), data.content());
            self.first.get_or_insert(at);
            reading.follow(&[], at, len);
            return Ok(());
        }
        let mut lists = data.elements()?;
        while let Some(list) = lists.next("PDV-list")? {
            let mut inside = list.elements()?;
            if let Some(syntax) = inside.take_if(Tag::OBJECT_IDENTIFIER, "transfer-syntax-name")? {
                let oid = syntax.oid()?;
                element(reading, "transfer-syntax-name", &syntax, Value::text(oid), "");
            }
            let context = inside.take(Tag::INTEGER, "presentation-context-identifier")?;
            let id = context.integer()?;
            let syntax = reading.around.stream.and_then(|stream| reading.state.streams.syntax(stream, id));
            let meaning = syntax.map_or_else(String::new, |oid| format!("abstract syntax {oid}"));
            let name = "presentation-context-identifier";
            element(reading, name, &context, integer(id), meaning);
            let value = inside.any("presentation-data-values", "a value")?;
            let form = match value.tag() {
                tag if tag == Tag::context(0) => "single-ASN1-type",
                tag if tag == Tag::context(1) => "octet-aligned",
                _ => "arbitrary",
            };
            let (at, _) = place(reading.octets(), value.octets());
            let (begin, len) = place(reading.octets(), value.content());
            let header = begin - at;
            let octets = u64::try_from(len).unwrap_or(u64::MAX);
            reading.named("presentation-data-values", at, header, Value::Number(octets), form);
            self.value(reading, &value, &keys(syntax, &value))?;
        }
        Ok(())
    }

    /// What follows is the content, or, where that is in pieces, what they are together.
    fn value(&mut self, reading: &mut Reading<'_>, value: &Element<'_>, keys: &[Key]) -> Result<(), Malformed> {
        let content = if value.tag() == Tag::context(2) {
            // A BIT STRING has its first octet in front, and pieces of it are seldom seen.
            value.content()
        } else if value.tag() == Tag::context(0) || !value.is_constructed() {
            value.content()
        } else {
            let gathered = value.octet_string()?;
            if let std::borrow::Cow::Owned(octets) = gathered {
                let (begin, _) = place(reading.octets(), value.content());
                self.first.get_or_insert(begin);
                let len = octets.len();
                let whole = Reassembled {
                    what: "presentation data values",
                    packets: vec![reading.around.packet],
                    parts: value.elements()?.each("piece", usize::MAX, |_| Ok(()))?.len(),
                    octets,
                };
                reading.follow_reassembled(keys, whole, 0, len);
                return Ok(());
            }
            // One piece lies where it lies.
            let mut piece = *value;
            while piece.is_constructed() {
                let Some(next) = piece.elements()?.next("piece")? else {
                    break;
                };
                piece = next;
            }
            piece.content()
        };
        let (at, len) = place(reading.octets(), content);
        self.first.get_or_insert(at);
        reading.follow(keys, at, len);
        Ok(())
    }
}

/// Who reads a value: whom its abstract syntax names. Where the beginning of the connection was not seen, what looks
/// like association control is taken for it.
fn keys(syntax: Option<kumiki_osi_service::Oid>, value: &Element<'_>) -> Vec<Key> {
    if let Some(oid) = syntax {
        return vec![Key::AbstractSyntax(oid)];
    }
    let first = value.content().first().copied().unwrap_or_default();
    let single = value.tag() == Tag::context(0);
    if single && (0x60..=0x64).contains(&first) { vec![Key::Named("acse")] } else { Vec::new() }
}

/// A list of proposed contexts.
fn contexts(reading: &mut Reading<'_>, list: &Element<'_>) -> Result<(), Malformed> {
    let mut items = list.elements()?;
    while let Some(item) = items.next("presentation-context-definition-list")? {
        let mut inside = item.elements()?;
        let id = inside.take(Tag::INTEGER, "presentation-context-identifier")?.integer()?;
        let syntax = inside.take(Tag::OBJECT_IDENTIFIER, "abstract-syntax-name")?.oid()?;
        let names = inside.take(Tag::SEQUENCE, "transfer-syntax-name-list")?;
        let transfer = names.elements()?.each("transfer syntax", 16, Element::oid)?;
        let in_ber = transfer == [BASIC_ENCODING_RULES];
        let how = if in_ber {
            "BER".to_owned()
        } else {
            let names: Vec<String> = transfer.iter().map(ToString::to_string).collect();
            names.join(" or ")
        };
        let text = format!("{id} {syntax}");
        let name = "presentation context";
        element(reading, name, &item, Value::Text(text), format!("in {how}"));
        if let Some(stream) = reading.around.stream {
            let packet = reading.around.packet;
            reading.state.streams.propose(stream, packet, id, syntax);
        }
    }
    Ok(())
}

/// One of the parameters of CP, CPA and CPR.
fn parameter(reading: &mut Reading<'_>, field: &Element<'_>) -> Result<(), Malformed> {
    let bits = |reading: &mut Reading<'_>, name| -> Result<(), Malformed> {
        let bits = field.bits()?;
        element(reading, name, field, Value::text(bits), "");
        Ok(())
    };
    let number = if field.tag() == Tag::context(field.tag().number) { field.tag().number } else { u32::MAX };
    match number {
        0 => bits(reading, "protocol-version")?,
        1 => element(reading, "calling-presentation-selector", field, field.content(), ""),
        2 => element(reading, "called-presentation-selector", field, field.content(), ""),
        3 => element(reading, "responding-presentation-selector", field, field.content(), ""),
        4 => contexts(reading, field)?,
        5 => {
            let mut items = field.elements()?;
            while let Some(item) = items.next("result list")? {
                let mut inside = item.elements()?;
                let result = inside.take(Tag::context(0), "result")?.integer()?;
                let transfer = inside.optional(Tag::context(1), "transfer syntax", Element::oid)?;
                let reason = inside.optional(Tag::context(2), "reason", Element::integer)?;
                let meaning = match (result, transfer, reason) {
                    (0, Some(oid), _) if oid == BASIC_ENCODING_RULES => "accepted, in BER".to_owned(),
                    (0, Some(oid), _) => format!("accepted, in {oid}"),
                    (0, None, _) => "accepted".to_owned(),
                    (1, ..) => "refused by the user".to_owned(),
                    (_, _, Some(reason)) => {
                        let code = u8::try_from(reason).unwrap_or(u8::MAX);
                        format!("refused: {}", context_refusal::meaning(code))
                    }
                    (..) => "refused by the provider".to_owned(),
                };
                element(reading, "result", &item, integer(result), meaning);
            }
        }
        6 => element(reading, "default-context-name", field, field.content(), ""),
        7 => element(reading, "default-context-result", field, field.content(), ""),
        8 => bits(reading, "presentation-requirements")?,
        9 => bits(reading, "user-session-requirements")?,
        10 => {
            let number = field.integer()?;
            let meaning = refusal::meaning(u8::try_from(number).unwrap_or(u8::MAX));
            element(reading, "provider-reason", field, integer(number), meaning);
        }
        _ => {
            element(reading, "parameter", field, field.content(), field.tag());
            reading.note(format!("{} is none of the parameters of X.226", field.tag()));
        }
    }
    Ok(())
}
