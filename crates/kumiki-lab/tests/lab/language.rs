//! The tables of keys in `docs/language.md` are what the program reads, and their examples and defaults are true.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test: what fails stops it")]

use std::collections::BTreeMap;
use std::fmt::{Debug, Write as _};
use std::path::Path;

use kumiki_lab::profile::{Adapter, Cpu, Memory, Profile, Sourced, Task, Transfer, Variation};
use kumiki_lab::scenario::{
    Claim, Compare, Confidence, Event, Growth, Host, Link, Real, Repeat, Report, Ring, Runs, Scenario, Switch, Tasks,
    Trend, Window, Workload,
};
use kumiki_settings::{Described, HasKeys};
use serde::de::DeserializeOwned;

const BEGIN: &str = "<!-- keys: ";
const END: &str = "<!-- end of keys, made from the program: do not edit -->\n";

/// A table of a file: how it stands there, its keys, and what tries them.
type Table = (&'static str, &'static [Described], fn(&str));

const TABLES: [Table; 26] = [
    ("scenario", Scenario::KEYS, tried::<Scenario>),
    ("[host.NAME]", Host::KEYS, tried::<Host>),
    ("[host.NAME.real]", Real::KEYS, tried::<Real>),
    ("[switch.NAME]", Switch::KEYS, tried::<Switch>),
    ("[link.NAME]", Link::KEYS, tried::<Link>),
    ("[ring.NAME]", Ring::KEYS, tried::<Ring>),
    ("[load.NAME]", Workload::KEYS, tried::<Workload>),
    ("[[event]]", Event::KEYS, tried::<Event>),
    ("[run]", Runs::KEYS, tried::<Runs>),
    ("[run.repeat]", Repeat::KEYS, tried::<Repeat>),
    ("[run.confidence]", Confidence::KEYS, tried::<Confidence>),
    ("[report]", Report::KEYS, tried::<Report>),
    ("[report.window]", Window::KEYS, tried::<Window>),
    ("[report.tasks]", Tasks::KEYS, tried::<Tasks>),
    ("[[report.tasks.growth]]", Growth::KEYS, tried::<Growth>),
    ("[[compare]]", Compare::KEYS, tried::<Compare>),
    ("[[trend]]", Trend::KEYS, tried::<Trend>),
    ("[[claim]]", Claim::KEYS, tried::<Claim>),
    ("profile", Profile::KEYS, tried::<Profile>),
    ("sourced", Sourced::KEYS, tried::<Sourced>),
    ("[cpu.NAME]", Cpu::KEYS, tried::<Cpu>),
    ("[task.NAME]", Task::KEYS, tried::<Task>),
    ("[adapter]", Adapter::KEYS, tried::<Adapter>),
    ("[memory.send], [memory.receive]", Memory::KEYS, tried::<Memory>),
    ("[transfer]", Transfer::KEYS, tried::<Transfer>),
    ("[variation.NAME]", Variation::KEYS, tried::<Variation>),
];

/// The table as it stands in the book.
fn table(keys: &[Described]) -> String {
    let mut text = "| key | value | meaning | default | example |\n|---|---|---|---|---|\n".to_owned();
    for Described { name, is, meaning, default, example, must_be_given, .. } in keys {
        let default = match must_be_given {
            true => "**must be given**".to_owned(),
            false if default.parse::<toml::Value>().is_ok() => format!("`{default}`"),
            false => (*default).to_owned(),
        };
        let _ = writeln!(text, "| `{name}` | {is} | {meaning} | {default} | `{name} = {example}` |");
    }
    text
}

/// The page with its tables made again, and the names of those that it has.
fn renewed(page: &str) -> (String, Vec<String>) {
    let mut parts = page.split(BEGIN);
    let mut text = parts.next().unwrap_or_default().to_owned();
    let mut names = Vec::new();
    for part in parts {
        let (name, rest) = part.split_once(" -->\n").unwrap();
        let (_, behind) = rest.split_once(END).unwrap_or_else(|| panic!("{name}: no {END:?} behind it"));
        let found = TABLES.iter().find(|(known, ..)| *known == name);
        let (_, keys, _) = found.unwrap_or_else(|| panic!("there is no table {name}"));
        let _ = write!(text, "{BEGIN}{name} -->\n{}{END}{behind}", table(keys));
        names.push(name.to_owned());
    }
    (text, names)
}

#[test]
fn the_tables_of_keys_are_up_to_date() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/language.md")).unwrap();
    let (text, names) = renewed(&page);
    let mut count: BTreeMap<&str, usize> = TABLES.iter().map(|(name, ..)| (*name, 0)).collect();
    for name in &names {
        *count.get_mut(name.as_str()).unwrap() += 1;
    }
    assert!(count.values().all(|count| *count == 1), "each table is there once: {count:?}");
    crate::generated::is_up_to_date("language.md", &text, "language");
}

/// Reads a table with the keys that must be given and those named in `more`.
fn read<T: HasKeys + DeserializeOwned>(more: &BTreeMap<&str, &str>) -> Result<T, String> {
    let must = T::KEYS.iter().filter(|key| key.must_be_given).map(|key| (key.name, key.example));
    let mut lines: BTreeMap<&str, &str> = must.collect();
    lines.extend(more);
    let text: String = lines.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
    toml::from_str(&text).map_err(|why| format!("{text}: {why}"))
}

/// Every example is taken, what must be given is missed, and a default that is put in is the one that is told.
fn tried<T: HasKeys + DeserializeOwned + PartialEq + Debug>(name: &str) {
    let plain: T = read(&BTreeMap::new()).unwrap_or_else(|why| panic!("{name}: {why}"));
    for key in T::KEYS {
        read::<T>(&BTreeMap::from([(key.name, key.example)])).unwrap_or_else(|why| panic!("{name}: {why}"));
        // Whatever is a share is written as any other.
        if key.is.starts_with("a share") {
            let [text, number] = ["\"50 %\"", "0.5"].map(|value| read::<T>(&BTreeMap::from([(key.name, value)])));
            assert!(number.is_ok() && text == number, "{name}.{}: {text:?}, {number:?}", key.name);
        }
        if key.must_be_given {
            let others = T::KEYS.iter().filter(|it| it.must_be_given && it.name != key.name);
            let text: String = others.map(|it| format!("{} = {}\n", it.name, it.example)).collect();
            assert!(toml::from_str::<T>(&text).is_err(), "{name}: {} need not be given", key.name);
        }
        if key.is_filled_in && key.default.parse::<toml::Value>().is_ok() {
            let told: T = read(&BTreeMap::from([(key.name, key.default)])).unwrap();
            assert_eq!(told, plain, "{name}: {} is not {} where it is not given", key.name, key.default);
        }
    }
    let unknown = read::<T>(&BTreeMap::from([("no_such_key", "1")]));
    assert!(unknown.is_err() || ["[host.NAME]", "[switch.NAME]", "[link.NAME]", "[ring.NAME]"].contains(&name));
}

#[test]
fn examples_and_defaults_are_true() {
    for (name, _, tried) in TABLES {
        tried(name);
    }
}

#[test]
fn every_key_that_the_program_knows_is_described() {
    // What serde says it knows where a key is unknown is all that there is.
    for (name, known, keys) in [
        ("load", known::<Workload>(), Workload::KEYS),
        ("report", known::<Report>(), Report::KEYS),
        ("run", known::<Runs>(), Runs::KEYS),
        ("scenario", known::<Scenario>(), Scenario::KEYS),
        ("claim", known::<Claim>(), Claim::KEYS),
        ("event", known::<Event>(), Event::KEYS),
    ] {
        for key in keys {
            assert!(known.contains(&format!("`{}`", key.name)), "{name}: {}", key.name);
        }
        assert_eq!(known.matches('`').count() / 2, keys.len() + 1, "{name}: {known}");
    }
}

/// "unknown field `no_such_key`, expected one of `kind`, `from`, ..."
fn known<T: DeserializeOwned + Debug>() -> String {
    let why = toml::from_str::<T>("no_such_key = 1").unwrap_err();
    why.message().to_owned()
}
