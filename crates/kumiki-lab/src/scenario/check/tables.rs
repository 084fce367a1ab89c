//! Tables have the keys that there are, in the brackets that they need, before anything of them is read.

use kumiki_settings::HasKeys as _;

use super::super::vary::{Axis, fault_at, same};
use super::super::{Scenario, names};
use kumiki_config::error::{ConfigError, nearest};
use kumiki_config::tree::{Node, Source, Value};

/// The keys of a host that are not settings of its nodes.
const HOST_KEYS: [&str; 9] = ["count", "like", "profile", "prices", "free_below", "paths", "graph", "kind", "real"];

/// The keys at the top that are lists of tables.
const LISTS: [&str; 5] = ["event", "skip", "compare", "trend", "claim"];

/// The keys at the top below which each table has a name of its own.
pub(in crate::scenario) const NAMED: [&str; 5] = ["host", "switch", "link", "ring", "load"];

/// Every key at the top is one that there is, since what stands under another one is looked for in vain elsewhere; and
/// each is in the brackets that it needs.
pub(in crate::scenario) fn sections(source: &Source<'_>) -> Result<(), ConfigError> {
    let known: Vec<&str> = Scenario::KEYS.iter().map(|key| key.name).collect();
    names::check(source)?;
    for entry in source.root.entries() {
        let key = entry.key.as_str();
        let fault = |problem: String| fault_at(source, &[key], entry.at, problem);
        if !known.contains(&key) {
            let fault = fault(format!("unknown key {key:?}")).one_of(&known);
            return Err(source.locate(match nearest(key, &known) {
                Some(meant) => fault.suggest(meant),
                None => fault,
            }));
        }
        let (is_list, is_table) =
            (matches!(entry.node.value, Value::List(_)), matches!(entry.node.value, Value::Table(_)));
        if LISTS.contains(&key) && is_table {
            let problem = format!("this is one table, and there may be several {key}s");
            return Err(source.locate(fault(problem).expected(format!("two brackets, [[{key}]], above each"))));
        }
        let bare = entry.node.entries().iter().find(|it| !matches!(it.node.value, Value::Table(_)));
        if let Some(bare) =
            bare.filter(|it| NAMED.contains(&key) && it.node.plain().is_none_or(|text| !text.contains("${")))
        {
            let problem = format!("{:?} stands in [{key}] itself, and each {key} has a name", bare.key);
            return Err(source.locate(
                fault_at(source, &[key, bare.key.as_str()], bare.at, problem)
                    .expected(format!("[{key}.NAME] above it")),
            ));
        }
        if NAMED.contains(&key) && is_list {
            let problem = format!("this is a list, and each {key} has a name");
            return Err(source.locate(fault(problem).expected(format!("[{key}.NAME] above each"))));
        }
    }
    let lines = source.root.entries().iter().filter(|entry| WITH_LOSS.contains(&entry.key.as_str()));
    lines.into_iter().try_for_each(|entry| losses(source, &mut vec![&entry.key], &entry.node))
}

/// The keys at the top below which a loss is one of lines.
const WITH_LOSS: [&str; 3] = ["link", "ring", "event"];

/// A loss of 1 is everything, where one per cent is meant more often.
fn losses<'a>(source: &Source<'_>, path: &mut Vec<&'a str>, node: &'a Node) -> Result<(), ConfigError> {
    let is_whole =
        |value: &Value| matches!(value, Value::Integer(1)) || matches!(value, Value::Float(share) if *share == 1.0);
    if let Value::List(items) = &node.value {
        return items.iter().try_for_each(|item| losses(source, path, item));
    }
    for entry in node.entries() {
        path.push(&entry.key);
        if entry.key == "loss" && is_whole(&entry.node.value) {
            let fault = fault_at(source, path, entry.at, "this is 100 %, and nothing would arrive").found("1");
            return Err(fault.expected("\"1 %\", or \"100 %\" where that is meant"));
        }
        losses(source, path, &entry.node)?;
        path.pop();
    }
    Ok(())
}

/// A host's own keys are the only ones whose values are no tables, and what a link, a ring or a switch must have may be
/// misspelt among the settings of its medium; serde cannot say so well.
pub(in crate::scenario) fn keys(source: &Source<'_>) -> Result<(), ConfigError> {
    const MEDIUM_KEYS: [&str; 3] = ["ends", "medium", "a setting of the medium"];
    const SWITCH_KEYS: [&str; 3] = ["ports", "kind", "a setting of the switch"];
    let sections: [(&str, &[&str], _); 3] = [
        ("link", &["ends", "medium"], &MEDIUM_KEYS),
        ("ring", &["ends", "medium"], &MEDIUM_KEYS),
        ("switch", &["ports"], &SWITCH_KEYS),
    ];
    for (section, must, all) in sections {
        for line in source.root.child(section).map(Node::entries).unwrap_or_default() {
            for wanted in must.iter().filter(|wanted| line.node.child(wanted).is_none()) {
                let mut keys = line.node.entries().iter();
                if let Some(entry) = keys.find(|entry| nearest(&entry.key, &[wanted]).is_some()) {
                    let path = [section, line.key.as_str(), entry.key.as_str()];
                    let fault = fault_at(source, &path, entry.at, format!("unknown key {:?}", entry.key));
                    return Err(source.locate(fault.one_of(all).suggest(*wanted)));
                }
            }
        }
    }
    let hosts = source.root.child("host").map(Node::entries).unwrap_or_default();
    for host in hosts {
        for entry in host.node.entries() {
            let is_table = matches!(entry.node.value, Value::Table(_));
            if is_table || HOST_KEYS.contains(&entry.key.as_str()) {
                continue;
            }
            let path = ["host", host.key.as_str(), entry.key.as_str()];
            let fault = fault_at(source, &path, entry.at, format!("unknown key {:?}", entry.key));
            let fault =
                fault.one_of(&["count", "like", "profile", "graph", "kind", "a table of settings for each node"]);
            return Err(source.locate(match nearest(&entry.key, &HOST_KEYS) {
                Some(near) => fault.suggest(near),
                None => fault,
            }));
        }
    }
    Ok(())
}

/// `table` gives varied names values that they have: in `[[skip]]` and `compare.at`.
pub(in crate::scenario) fn values_of(
    source: &Source<'_>,
    path: &[&str],
    table: &Node,
    axes: &[Axis],
) -> Result<(), ConfigError> {
    for entry in table.entries() {
        let mut path = path.to_vec();
        path.push(&entry.key);
        let place = |fault: ConfigError| {
            let fault = match source.place(entry.at) {
                Some(place) => fault.in_place(place),
                None => fault,
            };
            source.locate(fault)
        };
        let column = |axis: &Axis| axis.names.iter().position(|name| *name == entry.key);
        let Some((axis, column)) = axes.iter().find_map(|axis| Some((axis, column(axis)?))) else {
            let known: Vec<&str> = axes.iter().flat_map(|a| a.names.iter().map(String::as_str)).collect();
            return Err(place(ConfigError::unknown(path, "varied name", &entry.key, &known)));
        };
        let values: Vec<&Node> = axis.rows.iter().filter_map(|row| row.get(column)).collect();
        let one = std::slice::from_ref(&entry.node);
        let asked = match &entry.node.value {
            Value::List(items) => items.as_slice(),
            Value::Text(_) | Value::Integer(_) | Value::Float(_) | Value::Switch(_) | Value::Table(_) => one,
        };
        for value in asked {
            let toml = value.to_toml();
            if !values.iter().any(|known| same(&known.to_toml(), &toml)) {
                let known: Vec<String> = values.iter().filter_map(|v| v.plain()).collect();
                let typed = value.plain().unwrap_or_default();
                return Err(place(ConfigError::unknown(path, &format!("value of {}", entry.key), &typed, &known)));
            }
        }
    }
    Ok(())
}
