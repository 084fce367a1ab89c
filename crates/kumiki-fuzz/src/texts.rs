//! What people type: quantities, scenarios, profiles, settings, scripts, configurations of switches, files of
//! passwords. Right or refused, with a message.

use std::collections::BTreeMap;

use kumiki_config::quantity::{self, Octets, Quantity, Rate, Share};
use kumiki_filetransfer::files::Passwords;
use kumiki_graph::Duration;
use kumiki_lab::experiment::{Experiment, Options};
use kumiki_lab::profile;
use kumiki_lab::scenario::{Amount, Choice, Document};
use kumiki_stack::{LowerLayers, Settings, Value};

use crate::{Draw, Target, within_mb};

pub(crate) const TARGET: Target =
    Target { name: "texts", title: "quantities, scenarios, profiles, settings, scripts, switches, passwords", run };

fn run(octets: &[u8]) {
    let mut draw = Draw::new(octets);
    // The numbers of the older ones are those of the kept octets.
    let which = match draw.octet() {
        own @ 254.. => own,
        other => other % 6,
    };
    within_mb(256.0, || match which {
        254 => {
            let text = String::from_utf8_lossy(draw.rest());
            if let Err(why) = kumiki_switch::parse("any.toml", &text) {
                assert!(!why.to_string().is_empty());
            }
        }
        255 => {
            let text = String::from_utf8_lossy(draw.rest());
            if let Err(why) = Passwords::parse(&text) {
                assert!(why.line <= 1 + text.lines().count());
            }
        }
        0 => quantities(&String::from_utf8_lossy(draw.rest())),
        1 => {
            let text = String::from_utf8_lossy(draw.rest());
            if let Err(why) = profile::parse_text("profiles/any.toml", &text) {
                assert!(!why.to_string().is_empty());
            }
        }
        2 => {
            let set = draw.octet();
            let set = String::from_utf8_lossy(draw.take(set.into())).into_owned();
            scenario(&String::from_utf8_lossy(draw.rest()), set);
        }
        3 => settings(&mut draw),
        5 => {
            let text = String::from_utf8_lossy(draw.rest());
            if let Err(why) = kumiki_script::parse("scripts/any.script", &text) {
                assert!(!why.to_string().is_empty());
            }
        }
        _ => {
            let text = String::from_utf8_lossy(draw.rest());
            if let Some(amount) = Amount::parse(&text) {
                assert_eq!(amount.with_base(amount.base()), amount);
            }
            let _ = Amount::parse_list(&text);
        }
    });
}

fn quantities(text: &str) {
    one::<Duration>(text);
    one::<Rate>(text);
    one::<Octets>(text);
    one::<Share>(text);
    one::<u64>(text);
}

/// What is read, printed and read again is the same.
fn one<Q: Quantity + PartialEq + core::fmt::Debug>(text: &str) {
    match quantity::parse::<Q>(text) {
        Ok(found) => {
            let again = quantity::parse::<Q>(&found.to_string());
            assert_eq!(again.as_ref(), Ok(&found), "{found}");
        }
        Err(why) => assert!(!why.to_string().is_empty()),
    }
    if let Ok(list) = quantity::parse_list::<Q>(text) {
        assert!(!list.is_empty() && list.len() <= quantity::LONGEST_LIST);
    }
}

fn scenario(text: &str, set: String) {
    let document = match Document::parse("any", "scenarios/any.toml", text) {
        Ok(document) => document,
        Err(why) => {
            assert!(!why.to_string().is_empty());
            return;
        }
    };
    let set = if set.is_empty() { Vec::new() } else { vec![set] };
    let choice = Choice { set, quick: true, runs: None };
    let points = match document.points(&choice) {
        Ok(points) => points,
        Err(why) => {
            assert!(!why.to_string().is_empty());
            return;
        }
    };
    let profiles: BTreeMap<_, _> =
        ["zero"].into_iter().filter_map(|name| Some((name.to_owned(), profile::load(name).ok()?))).collect();
    for point in points.iter().take(2) {
        let _ = (point.label(), point.series(), point.parameters());
        let _ = point.scenario.graph_text();
        for load in point.scenario.load.values() {
            let _ = kumiki_lab::limit::of_load(&point.scenario, load);
        }
        let _ = Experiment::build(&point.scenario, &profiles, 1, &Options::default());
    }
}

fn settings(draw: &mut Draw<'_>) {
    let kinds: Vec<&str> = kumiki_stack::kinds().collect();
    let kind = kinds[draw.below(kinds.len())];
    let below = ["ip", "line"];
    let place = LowerLayers { below: &below[..draw.below(3)], mtu: (draw.octet() & 1 != 0).then(|| draw.long()) };
    let mut chosen = Settings::new();
    let known = kumiki_stack::settings(kind, &chosen);
    for _ in 0..12 {
        if draw.is_empty() || known.is_empty() {
            break;
        }
        let path = &known[draw.below(known.len())].path;
        chosen = with(chosen, path, value(draw, 2));
    }
    let _ = kumiki_stack::settings(kind, &chosen);
    if let Err(why) = kumiki_stack::build(kind, &chosen, place) {
        assert!(!why.to_string().is_empty());
    }
}

/// `settings` with the value at `path`, where a part in angle brackets stands for any name.
fn with(mut settings: Settings, path: &[String], value: Value) -> Settings {
    let Some((first, rest)) = path.split_first() else {
        return settings;
    };
    let name = if first.starts_with('<') { "line" } else { first };
    let value = if rest.is_empty() {
        value
    } else {
        let inner = match settings.value(name) {
            Some(Value::Table(inner)) => inner.clone(),
            _ => Settings::new(),
        };
        Value::Table(with(inner, rest, value))
    };
    settings.set(name, value);
    settings
}

fn value(draw: &mut Draw<'_>, depth: usize) -> Value {
    const WORDS: [&str; 12] = [
        "10.0.0.1/24",
        "fd00::1/64",
        "line",
        "ip",
        "0/100",
        "cubic",
        "modern",
        "nagle",
        "never",
        "02:00:00:00:00:01",
        "10.0.0.0/8",
        "fd00::2",
    ];
    match draw.octet() % 9 {
        0 => Value::Boolean(draw.octet() & 1 != 0),
        1 => Value::Integer(draw.word().into()),
        2 => Value::Integer(i64::from_be_bytes(draw.array())),
        3 => Value::Duration(Duration::from_nanos(u64::from_be_bytes(draw.array()))),
        4 => Value::Octets(u64::from_be_bytes(draw.array())),
        5 => Value::Octets(draw.word().into()),
        6 => Value::Text(WORDS[draw.below(WORDS.len())].to_owned()),
        7 => {
            let len = draw.below(24);
            Value::Text(String::from_utf8_lossy(draw.take(len)).into_owned())
        }
        _ if depth > 0 => {
            let len = draw.below(4);
            Value::List((0..len).map(|_| value(draw, depth - 1)).collect())
        }
        _ => Value::Duration(Duration::from_millis(draw.octet().into())),
    }
}
