//! Values and types of MMS, and the names of what has them.

use kumiki_octets::text::counted;
use kumiki_osi_service::ftam::CalendarTime;
use kumiki_wire::Malformed;
use kumiki_wire::osi::ber::{Class, Element, Tag};

use crate::packet::{Value, hex};
use crate::protocol::osi::presentation::element;
use crate::reading::Reading;

/// 1984-01-01, from which binary time counts its days, in seconds since 1970.
const YEAR_1984: i64 = 441_763_200;
/// Seconds of a day.
const DAY: i64 = 86_400;
/// Members of a structure or an array that a line tells of.
const MOST_MEMBERS: usize = 16;

/// DataAccessError, by number.
const ERRORS: [&str; 12] = [
    "object-invalidated",
    "hardware-fault",
    "temporarily-unavailable",
    "object-access-denied",
    "object-undefined",
    "invalid-address",
    "type-unsupported",
    "type-inconsistent",
    "object-attribute-inconsistent",
    "object-access-unsupported",
    "object-non-existent",
    "object-value-invalid",
];

/// Why a variable was not read or written.
pub(super) fn failure(reading: &mut Reading<'_>, found: &Element<'_>) -> Result<String, Malformed> {
    let code = found.integer()?;
    let name = usize::try_from(code)
        .ok()
        .and_then(|code| ERRORS.get(code))
        .copied()
        .unwrap_or("an error that ISO 9506 does not define");
    element(reading, "failure", found, super::integer(code), name);
    Ok(format!("failure {code}: {name}"))
}

/// AccessResult: a value, or why there is none.
pub(super) fn result(reading: &mut Reading<'_>, found: &Element<'_>) -> Result<String, Malformed> {
    if found.tag() == Tag::context(0) { failure(reading, found) } else { data(reading, "data", found) }
}

/// Data: a field for each value, named `name`, or `member` in structures and arrays. What the line says of it.
pub(super) fn data(reading: &mut Reading<'_>, name: &'static str, found: &Element<'_>) -> Result<String, Malformed> {
    let kind = kind(found)?;
    if !matches!(found.tag().number, 1 | 2) {
        let value = simple(found)?;
        element(reading, name, found, Value::text(&value), kind);
        return Ok(value);
    }
    // The field of the whole comes before those of its members.
    let at = reading.layer.fields.len();
    element(reading, name, found, Value::text(""), kind);
    let mut r = found.elements()?;
    let mut members = 0_usize;
    let mut said = String::new();
    while let Some(member) = r.next("a member")? {
        let one = data(reading, "member", &member)?;
        if members < MOST_MEMBERS {
            said = if members == 0 { one } else { format!("{said}, {one}") };
        }
        members = members.saturating_add(1);
    }
    if let Some(field) = reading.layer.fields.get_mut(at) {
        field.value = Value::text(format!("{members} members"));
    }
    if let more @ 1.. = members.saturating_sub(MOST_MEMBERS) {
        said = format!("{said} and {more} more");
    }
    let [open, close] = if found.tag().number == 1 { ['[', ']'] } else { ['{', '}'] };
    Ok(format!("{open}{said}{close}"))
}

/// The type of a value.
fn kind(found: &Element<'_>) -> Result<&'static str, Malformed> {
    const EXPECTED: &str = "[1] array to [17] utc-time";
    let tag = found.tag();
    if tag.class != Class::Context {
        return Err(found.is_no(EXPECTED));
    }
    Ok(match tag.number {
        1 => "array",
        2 => "structure",
        3 => "boolean",
        4 => "bit-string",
        5 => "integer",
        6 => "unsigned",
        7 => "floating-point",
        8 => "real",
        9 => "octet-string",
        10 => "visible-string",
        11 => "generalized-time",
        12 => "binary-time",
        13 => "bcd",
        14 => "booleanArray",
        15 => "objId",
        16 => "mMSString",
        17 => "utc-time",
        _ => return Err(found.is_no(EXPECTED)),
    })
}

/// A value that has no members.
fn simple(found: &Element<'_>) -> Result<String, Malformed> {
    Ok(match found.tag().number {
        3 => found.boolean()?.to_string(),
        4 | 14 => bits(found)?,
        5 | 6 | 13 => number(found),
        7 => floating(&found.octet_string()?),
        10 | 11 | 16 => quoted(&found.octet_string()?),
        12 => binary_time(&found.octet_string()?),
        15 => found.oid()?.to_string(),
        17 => utc_time(&found.octet_string()?),
        _ => hex(&found.octet_string()?),
    })
}

/// Bits in their order, as `0111100010`.
pub(super) fn bits(found: &Element<'_>) -> Result<String, Malformed> {
    let bits = found.bits()?;
    let one = |n| if bits.bit(n) { '1' } else { '0' };
    Ok((0..bits.len()).map(one).collect())
}

/// An integer of any length; unsigned ones of eight octets have nine.
fn number(found: &Element<'_>) -> String {
    let octets = found.content();
    let negative = octets.first().is_some_and(|octet| octet & 0x80 != 0);
    if octets.is_empty() || octets.len() > 16 {
        return hex(octets);
    }
    let start = if negative { -1_i128 } else { 0 };
    let value = octets.iter().fold(start, |value, octet| value << 8 | i128::from(*octet));
    value.to_string()
}

/// An octet that says how wide the exponent is, then the number as IEEE 754 has it.
fn floating(octets: &[u8]) -> String {
    match *octets {
        [8, a, b, c, d] => f32::from_be_bytes([a, b, c, d]).to_string(),
        [11, a, b, c, d, e, f, g, h] => f64::from_be_bytes([a, b, c, d, e, f, g, h]).to_string(),
        _ => format!("{}, no single or double of IEEE 754", hex(octets)),
    }
}

/// Text in quotes, what would move a cursor escaped.
pub(super) fn quoted(octets: &[u8]) -> String {
    let text = String::from_utf8_lossy(octets);
    format!("{text:?}")
}

/// Milliseconds of the day, and days since 1984 where there are six octets.
fn binary_time(octets: &[u8]) -> String {
    let time = |ms: u32| {
        let (seconds, ms) = (ms / 1000, ms % 1000);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        format!("{hour:02}:{minute:02}:{second:02}.{ms:03}")
    };
    match *octets {
        [a, b, c, d] => time(u32::from_be_bytes([a, b, c, d])),
        [a, b, c, d, e, f] => {
            let days = i64::from(u16::from_be_bytes([e, f]));
            let date = CalendarTime::from_unix_seconds(YEAR_1984.saturating_add(days * DAY));
            let time = time(u32::from_be_bytes([a, b, c, d]));
            match date {
                Some(CalendarTime { year, month, day, .. }) => format!("{year:04}-{month:02}-{day:02} {time}"),
                None => time,
            }
        }
        _ => hex(octets),
    }
}

/// Seconds since 1970, a fraction of 24 bits, and an octet of quality.
fn utc_time(octets: &[u8]) -> String {
    let [a, b, c, d, e, f, g, quality] = *octets else {
        return hex(octets);
    };
    let seconds = i64::from(u32::from_be_bytes([a, b, c, d]));
    let fraction = u64::from(u32::from_be_bytes([0, e, f, g]));
    // A unit of 2^-24 s is 60 ns.
    let microseconds = (fraction * 1_000_000) >> 24;
    let Some(CalendarTime { year, month, day, hour, minute, second, zone: _, nanosecond: _ }) =
        CalendarTime::from_unix_seconds(seconds)
    else {
        return hex(octets);
    };
    format!(
        "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{microseconds:06} UTC, quality {quality:02x}"
    )
}

/// ObjectName, as it was sent: `item` of the device, `domain/item`, `@item` of the association.
pub(super) fn object_name(found: &Element<'_>) -> Result<String, Malformed> {
    let tag = found.tag();
    if tag == Tag::context(1) {
        let mut r = found.elements()?;
        let domain = r.any("domainId", "an Identifier")?.text()?;
        let item = r.any("itemId", "an Identifier")?.text()?;
        return Ok(format!("{domain}/{item}"));
    }
    let name = text(found)?;
    if tag == Tag::context(0) {
        Ok(name)
    } else if tag == Tag::context(2) {
        Ok(format!("@{name}"))
    } else {
        Err(found.is_no("[0] vmd-specific, [1] domain-specific or [2] aa-specific"))
    }
}

/// An Identifier.
pub(super) fn text(found: &Element<'_>) -> Result<String, Malformed> {
    let octets = found.octet_string()?;
    Ok(String::from_utf8_lossy(&octets).into_owned())
}

/// TypeSpecification in one line.
pub(super) fn type_of(found: &Element<'_>) -> Result<String, Malformed> {
    let tag = found.tag();
    if tag == Tag::context(0) {
        return Ok(format!("type {}", object_name(&found.only()?)?));
    }
    let kind = kind(found)?;
    match tag.number {
        1 => {
            let mut r = found.elements()?;
            let _ = r.take_if(Tag::context(0), "packed")?;
            let count = r.take(Tag::context(1), "numberOfElements")?.integer()?;
            let of = r.take(Tag::context(2), "elementType")?.only()?;
            Ok(format!("array of {count} {}", type_of(&of)?))
        }
        2 => {
            let mut r = found.elements()?;
            let _ = r.take_if(Tag::context(0), "packed")?;
            let mut components = r.take(Tag::context(1), "components")?.elements()?;
            let mut said = Vec::new();
            while let Some(component) = components.next("components")? {
                let mut r = component.elements()?;
                let name = r.take_if(Tag::context(0), "componentName")?;
                let of = r.take(Tag::context(1), "componentType")?.only()?;
                let of = type_of(&of)?;
                said.push(match name {
                    Some(name) => format!("{}: {of}", text(&name)?),
                    None => of,
                });
            }
            Ok(format!("structure {{{}}}", said.join(", ")))
        }
        7 if found.is_constructed() => {
            let mut r = found.elements()?;
            let width = r.any("formatwidth", "INTEGER")?.integer()?;
            let exponent = r.any("exponentwidth", "INTEGER")?.integer()?;
            Ok(format!("{kind} of {bits}, exponent of {exponent}", bits = counted(width, "bit")))
        }
        // A size, negative where it is the most; of a binary time whether it has a date.
        4..=6 | 9 | 10 | 16 if !found.content().is_empty() => Ok(format!("{kind} {}", found.integer()?)),
        12 if !found.content().is_empty() => {
            Ok(if found.boolean()? { format!("{kind} with date") } else { kind.to_owned() })
        }
        _ => Ok(kind.to_owned()),
    }
}
