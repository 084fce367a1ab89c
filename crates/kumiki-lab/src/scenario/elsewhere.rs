//! Where a key belongs that stands where there is none of its name: `window` of a host is a buffer of its TCP,
//! `duration` of a load is one of the run.

use kumiki_config::hints;
use kumiki_config::tree::{NameSearch, Node, Value};
use kumiki_settings::{HasKeys as _, Setting, Settings};

use super::{Report, Runs, Workload};
use kumiki_media as medium;

/// So many places are named.
const MOST: usize = 2;

/// Where the last part of `path` is a key of the document `root`, by these names: the nearest places first, as they are
/// written where `path` is. Nothing where it is none.
pub(super) fn places(root: &Node, path: &[String], names: &[NameSearch]) -> Option<String> {
    let (key, above) = path.split_last()?;
    let mut wanted: Vec<&str> = Vec::new();
    for of in names {
        match of {
            NameSearch::Own => wanted.push(key),
            NameSearch::Others => hints::meant_by(key).for_each(|name| wanted.push(name)),
        }
    }
    let above: Vec<&str> = above.iter().map(String::as_str).collect();
    if above.first() == Some(&"link") && is_of_a_line(key) {
        // It is meant for the line, of which another medium has it: the rate of an OC-48 is no rate of a load.
        return None;
    }
    let mut found: Vec<(usize, String)> = Vec::new();
    for place in tables(root, &above) {
        found.extend(wanted.iter().find_map(|name| place.key(name)));
    }
    // What is a table further in is more often something else.
    let least = found.iter().map(|(depth, _)| *depth).min()?;
    if names == [NameSearch::Own] && least > 1 {
        // Of a key that is right, but for its place, it is another one of the same name.
        return None;
    }
    let nearest = found.into_iter().filter(|(depth, _)| *depth == least).take(MOST);
    Some(nearest.map(|(_, place)| place).collect::<Vec<_>>().join(", or "))
}

/// Whether lines that carry frames at a rate of one's own have such a key.
fn is_of_a_line(key: &str) -> bool {
    let settings = medium::settings_of(&medium::LINES, "point-to-point");
    settings.iter().any(|setting| setting.path.first().is_some_and(|first| first == key))
}

/// A table, and what may stand in it.
struct Table {
    /// What stands before its keys.
    prefix: String,
    keys: Vec<Vec<String>>,
}

impl Table {
    fn of_settings(prefix: String, settings: Vec<Setting>) -> Self {
        Self { prefix, keys: settings.into_iter().map(|setting| setting.path).collect() }
    }

    fn of_keys(prefix: String, keys: &[kumiki_settings::Described]) -> Self {
        Self { prefix, keys: keys.iter().map(|key| vec![key.name.to_owned()]).collect() }
    }

    /// `name` with what stands before it, where it is a key, and in which depth: of several the outermost.
    fn key(&self, name: &str) -> Option<(usize, String)> {
        // What stands in angle brackets is any name: `routes` is one table of them.
        let own = |path: &Vec<String>| -> Vec<String> {
            path.iter().take_while(|part| !part.starts_with('<')).cloned().collect()
        };
        let named = self.keys.iter().map(own).filter(|path| path.last().is_some_and(|last| last == name));
        let outermost = named.min_by_key(Vec::len)?;
        Some((outermost.len(), format!("{}.{}", self.prefix, outermost.join("."))))
    }
}

/// The tables other than that at `above`, those of the same host first.
fn tables(root: &Node, above: &[&str]) -> Vec<Table> {
    let mut tables = Vec::new();
    let named = |section: &str| root.child(section).map(Node::entries).unwrap_or_default();
    let own = match above {
        ["host", own, ..] => Some(*own),
        _ => None,
    };
    let layers = |host: &Node, prefix: &str, tables: &mut Vec<Table>| {
        for layer in layers_of(root, host) {
            if own.is_some() && above.get(2) == Some(&layer.as_str()) {
                continue;
            }
            let kind = host.child("kind").and_then(|kinds| kinds.child(&layer)?.plain());
            let settings = kumiki_stack::settings(kind.as_ref().unwrap_or(&layer), &Settings::new());
            tables.push(Table::of_settings(format!("{prefix}{layer}"), settings));
        }
    };
    if let Some(host) = own.and_then(|own| root.child("host")?.child(own)) {
        layers(host, "", &mut tables);
    }
    let is_apart = |section: &str| above.first() != Some(&section);
    if is_apart("load") {
        let name = named("load").first().map_or("NAME", |load| &load.key);
        tables.push(Table::of_keys(format!("load.{name}"), Workload::KEYS));
    }
    if is_apart("run") {
        tables.push(Table::of_keys("run".to_owned(), Runs::KEYS));
    }
    for line in named("link").iter().take(1).filter(|_| is_apart("link")) {
        let medium = line.node.child("medium").and_then(Node::plain).unwrap_or_default();
        tables.push(Table::of_settings(format!("link.{}", line.key), medium::settings_of(&medium::LINES, &medium)));
    }
    if is_apart("report") {
        tables.push(Table::of_keys("report".to_owned(), Report::KEYS));
    }
    for host in named("host").iter().take(1).filter(|_| own.is_none()) {
        layers(&host.node, &format!("host.{}.", host.key), &mut tables);
    }
    tables
}

/// The layers of a host, or of that which it is like.
fn layers_of(root: &Node, host: &Node) -> Vec<String> {
    let like = || host.child("like").and_then(|like| root.child("host")?.child(&like.plain()?)?.child("graph"));
    let Some(graph) = host.child("graph").or_else(like) else {
        return Vec::new();
    };
    match &graph.value {
        Value::List(items) => items.iter().filter_map(Node::plain).collect(),
        Value::Table(entries) => entries.iter().map(|entry| entry.key.clone()).collect(),
        Value::Text(_) | Value::Integer(_) | Value::Float(_) | Value::Switch(_) => Vec::new(),
    }
}
