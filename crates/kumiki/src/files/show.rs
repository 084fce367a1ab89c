//! Attributes of files, for people and for programs.

use core::fmt::Display;

use kumiki_filetransfer::attributes::{exact_name, is_directory, name, octets, size};
use kumiki_filetransfer::osi::{Attribute, ContentsType, GeneralizedTime, PermittedActions, Protocols, ReadAttributes};
use kumiki_octets::text::counted;
use serde_json::{Map, Value};

/// `2026-01-31 12:00:00`, or as it was written where that is no date.
fn date(time: &GeneralizedTime) -> String {
    time.moment().map_or_else(
        |_| time.as_str().to_owned(),
        |it| format!("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", it.year, it.month, it.day, it.hour, it.minute, it.second),
    )
}

/// All attributes that were said: name, text, and as a value.
fn all(it: &ReadAttributes) -> Vec<(&'static str, String, Value)> {
    fn text<T: Display>(value: &T) -> (String, Value) {
        let text = value.to_string();
        (text.clone(), Value::String(text))
    }
    fn attribute<T>(value: &Attribute<T>, show: impl Fn(&T) -> (String, Value)) -> (String, Value) {
        value.actual().map_or_else(|| ("no value available".to_owned(), Value::Null), show)
    }
    let number = |it: &u64| (it.to_string(), Value::from(*it));
    let time = |it: &GeneralizedTime| {
        let iso = it.moment().ok().map(|moment| moment.to_string());
        (date(it), iso.map_or(Value::Null, Value::String))
    };
    let kind = |it: &ContentsType| text(it);
    let mut out = Vec::new();
    let mut add = |name, shown: Option<(String, Value)>| {
        if let Some((text, value)) = shown {
            out.push((name, text, value));
        }
    };
    // JSON escapes by itself.
    add("name", name(it).map(|shown| (shown.clone(), Value::String(exact_name(it).unwrap_or(shown)))));
    add("object_type", it.object_type.as_ref().map(text));
    add("contents_type", it.contents_type.as_ref().map(kind));
    add("size", it.size.as_ref().map(|it| attribute(it, number)));
    add("future_size", it.future_size.as_ref().map(|it| attribute(it, number)));
    add("created", it.created.as_ref().map(|it| attribute(it, time)));
    add("modified", it.modified.as_ref().map(|it| attribute(it, time)));
    add("read", it.read.as_ref().map(|it| attribute(it, time)));
    add("attributes_modified", it.attributes_modified.as_ref().map(|it| attribute(it, time)));
    add("creator", it.creator.as_ref().map(|it| attribute(it, text)));
    add("modifier", it.modifier.as_ref().map(|it| attribute(it, text)));
    add("reader", it.reader.as_ref().map(|it| attribute(it, text)));
    add("attribute_modifier", it.attribute_modifier.as_ref().map(|it| attribute(it, text)));
    let list = |it: &PermittedActions| {
        let text = it.to_string();
        let parts = text.split(", ").filter(|it| *it != "none");
        let list = parts.map(Value::from).collect();
        (text, Value::Array(list))
    };
    add("permitted_actions", it.permitted_actions.as_ref().map(list));
    add("availability", it.availability.as_ref().map(|it| attribute(it, text)));
    add("storage_account", it.storage_account.as_ref().map(|it| attribute(it, text)));
    add(
        "access_control",
        it.access_control.as_ref().map(|it| {
            attribute(it, |elements| {
                let count = elements.len();
                (counted(count, "element").to_string(), Value::from(count))
            })
        }),
    );
    add("legal_qualification", it.legal_qualification.as_ref().map(|it| attribute(it, text)));
    out
}

/// Dates as they were sent, which may be none.
fn dates(it: &ReadAttributes) -> [(&'static str, Option<&Attribute<GeneralizedTime>>); 4] {
    [
        ("created", it.created.as_ref()),
        ("modified", it.modified.as_ref()),
        ("read", it.read.as_ref()),
        ("attributes_modified", it.attributes_modified.as_ref()),
    ]
}

fn object(it: &ReadAttributes, of: Protocols) -> String {
    let all = all(it);
    let mut map: Map<String, Value> = all.into_iter().map(|(name, _, value)| (name.to_owned(), value)).collect();
    for (name, date) in dates(it) {
        if let Some(date) = date.and_then(Attribute::actual) {
            map.insert(format!("{name}_as_sent"), date.as_str().into());
        }
    }
    if exact_name(it).is_none()
        && let Some(pathname) = &it.pathname
    {
        let octets: String = octets(pathname).iter().map(|octet| format!("{octet:02x}")).collect();
        map.insert("name_octets".to_owned(), octets.into());
    }
    // Only FTAM knows types of contents.
    if of == Protocols::Mms && map.remove("contents_type").is_some() {
        map.insert("directory".to_owned(), is_directory(it).into());
    }
    format!("{}\n", Value::Object(map))
}

/// The attributes of one file, a line each.
pub(crate) fn attributes(it: &ReadAttributes, of: Protocols, json: bool) -> String {
    if json {
        return object(it, of);
    }
    let lines = all(it);
    let lines = lines.iter().map(|(name, text, _)| format!("{:<20} {text}\n", name.replace('_', " ")));
    lines.collect()
}

/// What is in a directory by name, a line each: size, date, name.
pub(crate) fn entries(entries: &[ReadAttributes], of: Protocols, json: bool) -> String {
    let mut entries: Vec<&ReadAttributes> = entries.iter().collect();
    entries.sort_by_cached_key(|it| name(it));
    if json {
        return entries.into_iter().map(|it| object(it, of)).collect();
    }
    let mut out = String::new();
    for it in entries {
        let size = if is_directory(it) {
            "-".to_owned()
        } else {
            size(it).map_or_else(|| "?".to_owned(), |size| size.to_string())
        };
        let time = it.modified.as_ref().and_then(|it| it.actual());
        let time = time.map_or_else(|| "?".to_owned(), date);
        let mut name = name(it).unwrap_or_default();
        if is_directory(it) {
            name.push('/');
        }
        out.push_str(&format!("{size:>12}  {time:<19}  {name}\n"));
    }
    out
}
