//! What messages know of the keys of scenarios: what each means, with an example, and where else one may stand.

use kumiki_config::tree::{KnownKeys, NameSearch, Node};
use kumiki_settings::{Described, HasKeys as _};

use super::elsewhere;
use super::{Event, Host, Link, Report, Ring, Runs, Scenario, Workload};
use kumiki_media as medium;

/// The keys of a scenario, and of what is written as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScenarioKeys;

impl KnownKeys for ScenarioKeys {
    fn described(&self, path: &[String]) -> Option<&'static Described> {
        described(path)
    }

    fn strange(&self, root: &Node, path: &[String]) -> Vec<String> {
        strange(root, path)
    }

    fn elsewhere(&self, root: &Node, path: &[String], names: &[NameSearch]) -> Option<String> {
        elsewhere::places(root, path, names)
    }
}

/// How the value at `path` may be written, where it is a key of a table whose keys the book has.
pub(super) fn example(path: &[String]) -> Option<&'static str> {
    described(path).map(|key| key.example)
}

/// What the book says of the key at `path`.
fn described(path: &[String]) -> Option<&'static Described> {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    let (keys, name) = match parts.as_slice() {
        [name] => (Scenario::KEYS, name),
        ["run", name] => (Runs::KEYS, name),
        ["report", name] => (Report::KEYS, name),
        ["host", _, name] => (Host::KEYS, name),
        ["link", _, name] => (Link::KEYS, name),
        ["ring", _, name] => (Ring::KEYS, name),
        ["load", _, name] => (Workload::KEYS, name),
        ["event", _, name] => (Event::KEYS, name),
        _ => return None,
    };
    keys.iter().find(|key| key.name == *name)
}

/// The keys of the line at `path` that no line has. Of other tables those are told before anything is missing.
fn strange(root: &Node, path: &[String]) -> Vec<String> {
    let [section, _] = path else {
        return Vec::new();
    };
    let Some(table) = root.reach(path).1 else {
        return Vec::new();
    };
    if section != "link" {
        return Vec::new();
    }
    let medium = table.child("medium").and_then(Node::plain);
    let settings = medium::settings_of(&medium::LINES, medium.as_deref().unwrap_or("point-to-point"));
    let is_known = |key: &str| {
        let path = [section.clone(), String::new(), key.to_owned()];
        described(&path).is_some() || settings.iter().any(|it| it.path.first().is_some_and(|first| first == key))
    };
    let keys = table.entries().iter().map(|entry| entry.key.clone());
    keys.filter(|key| !is_known(key)).collect()
}
