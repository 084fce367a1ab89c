//! What differs in where results come from: a line each.

use std::collections::{BTreeMap, BTreeSet};

use kumiki_octets::text::counted;
use serde_json::Value;

use crate::sources::Source;

/// So many lines of one scenario are told.
pub(crate) const MOST: usize = 8;

/// What `run.json` of each of `sources` says otherwise than that of the first.
pub(super) fn differences(sources: &[Source]) -> Vec<String> {
    let mut notes = Vec::new();
    let results: Vec<&Source> = sources.iter().filter(|source| !source.is_measured()).collect();
    for source in results.iter().filter(|source| source.run().is_none()) {
        notes.push(format!("{} has no run.json: where it comes from is not known", source.name()));
    }
    let mut known = results.into_iter().filter_map(|source| Some((source.name(), source.run()?)));
    let Some((name, first)) = known.next() else {
        return notes;
    };
    let mut compared = 0;
    let before = notes.len();
    for (other, run) in known {
        compared += 1;
        notes.extend(between((name, first), (other, run)));
    }
    if compared > 0 && notes.len() == before {
        notes.push("run.json says the same of all: scenarios, options, version, profiles".to_owned());
    }
    notes
}

/// What differs: what it is, ours, theirs.
pub(crate) type Differing = (String, Option<String>, Option<String>);

fn between((a_name, a): (&str, &Value), (b_name, b): (&str, &Value)) -> Vec<String> {
    let tell = |(what, ours, theirs): Differing| {
        let [ours, theirs] = [ours, theirs].map(|it| it.unwrap_or_else(|| "not there".to_owned()));
        format!("{what}: {ours} in {a_name}, {theirs} in {b_name}")
    };
    let mut all: Vec<Differing> = Vec::new();
    let plain = |run: &Value, path: &str| run.pointer(path).filter(|it| !it.is_null()).map(value);
    for (what, path) in [
        ("version", "/version"),
        ("commit", "/commit"),
        ("--set", "/options/set"),
        ("--quick", "/options/quick"),
        ("--runs", "/options/runs"),
    ] {
        all.push((what.to_owned(), plain(a, path), plain(b, path)));
    }
    let (a_profiles, b_profiles) = (named(a, "/profiles"), named(b, "/profiles"));
    for name in a_profiles.keys().chain(b_profiles.keys()).collect::<BTreeSet<_>>() {
        let hash = |all: &BTreeMap<String, &Value>| all.get(name).map(|it| short(&value(it)));
        all.push((format!("profile {name}"), hash(&a_profiles), hash(&b_profiles)));
    }
    let mut notes: Vec<String> = all.into_iter().filter(|(_, ours, theirs)| ours != theirs).map(tell).collect();
    let (a_all, b_all) = (scenarios(a), scenarios(b));
    let mut differing = |name: &str, ours: &str, theirs: &str| {
        let lines = texts(ours, theirs);
        let more = lines.len().saturating_sub(MOST);
        let named = |(key, ours, theirs): Differing| (format!("scenario {name}, {key}"), ours, theirs);
        notes.extend(lines.into_iter().take(MOST).map(named).map(tell));
        if more > 0 {
            notes.push(format!("scenario {name}: and {}", counted(more as u64, "more value")));
        }
    };
    for (name, ours) in &a_all {
        if let Some(theirs) = b_all.get(name) {
            differing(name, ours, theirs);
        }
    }
    let without = |all: &BTreeMap<String, &str>, other: &BTreeMap<String, &str>| -> Vec<String> {
        all.keys().filter(|name| !other.contains_key(*name)).cloned().collect()
    };
    let (ours, theirs) = (without(&a_all, &b_all), without(&b_all, &a_all));
    // Where each has one that the other has not, it is that of another file, and what they say is compared.
    if let ([our_name], [their_name]) = (ours.as_slice(), theirs.as_slice())
        && let (Some(our_text), Some(their_text)) = (a_all.get(our_name), b_all.get(their_name))
    {
        differing(&format!("{our_name} and {their_name}"), our_text, their_text);
        return notes;
    }
    for (names, has) in [(ours, a_name), (theirs, b_name)] {
        notes.extend(names.into_iter().map(|name| format!("scenario {name}: only in {has}")));
    }
    notes
}

fn value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(self::value).collect::<Vec<_>>().join(", "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

/// Enough of a hash to tell it from another one.
fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}

fn named<'a>(run: &'a Value, path: &str) -> BTreeMap<String, &'a Value> {
    let all = run.pointer(path).and_then(Value::as_object);
    all.into_iter().flatten().map(|(name, value)| (name.clone(), value)).collect()
}

/// The text of the first point of each scenario.
fn scenarios(run: &Value) -> BTreeMap<String, &str> {
    let all = run.pointer("/scenarios").and_then(Value::as_array);
    let named = all
        .into_iter()
        .flatten()
        .filter_map(|it| Some((it.get("name")?.as_str()?.to_owned(), it.get("first_point")?.as_str()?)));
    named.collect()
}

/// The values in which two texts differ: key, ours, theirs.
pub(crate) fn texts(ours: &str, theirs: &str) -> Vec<Differing> {
    if ours == theirs {
        return Vec::new();
    }
    let flat = |text: &str| {
        let mut values = BTreeMap::new();
        // What is no TOML any more is one value.
        match text.parse::<toml::Table>() {
            Ok(table) => flatten("", &toml::Value::Table(table), &mut values),
            Err(_) => drop(values.insert("text".to_owned(), text.to_owned())),
        }
        values
    };
    let (ours, theirs) = (flat(ours), flat(theirs));
    let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let both = keys.into_iter().map(|key| (key.clone(), ours.get(key).cloned(), theirs.get(key).cloned()));
    both.filter(|(_, ours, theirs)| ours != theirs).collect()
}

fn flatten(path: &str, value: &toml::Value, into: &mut BTreeMap<String, String>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                flatten(&path, value, into);
            }
        }
        toml::Value::String(_)
        | toml::Value::Integer(_)
        | toml::Value::Float(_)
        | toml::Value::Boolean(_)
        | toml::Value::Datetime(_)
        | toml::Value::Array(_) => drop(into.insert(path.to_owned(), value.to_string())),
    }
}
