//! Hosts that are like others.

use std::collections::BTreeMap;

use super::expand::Expander;
use kumiki_config::error::ConfigError;
use kumiki_config::tree::{Entry, Node, Source, Value};

/// More hosts in a row that are like each other are a slip of the pen: each is filled in from all behind it.
const LONGEST_ROW: usize = 32;

/// Gives every host what it takes from the one it is like. Tables are filled in key by key, except `graph`, which is
/// one value: part of another host's graph is nothing. How many there are (`count`), and who is there in its place
/// (`real`), is no part of what a host is.
pub(super) fn fill_in(source: &Source<'_>, hosts: &mut Node) -> Result<(), ConfigError> {
    let given: BTreeMap<String, Node> =
        hosts.entries().iter().map(|entry| (entry.key.clone(), entry.node.clone())).collect();
    let Value::Table(entries) = &mut hosts.value else {
        return Ok(());
    };
    for entry in entries {
        let mut round = vec![entry.key.clone()];
        let mut next = model(&entry.node);
        while let Some(name) = next {
            let last = round.last().cloned().unwrap_or_default();
            let path = ["host", last.as_str(), "like"];
            let Some(other) = given.get(&name) else {
                let known: Vec<&str> = given.keys().map(String::as_str).collect();
                return Err(source.locate(ConfigError::unknown(path, "host", &name, &known)));
            };
            if round.contains(&name) {
                round.push(name);
                let round = round.join(" like ");
                return Err(source.locate(ConfigError::at(path, format!("a host that is like itself: {round}"))));
            }
            if round.len() > LONGEST_ROW {
                return Err(source.locate(ConfigError::at(
                    path,
                    format!("more than {LONGEST_ROW} hosts in a row that are like each other"),
                )));
            }
            complete(&mut entry.node, other, true);
            round.push(name);
            next = model(other);
        }
    }
    Ok(())
}

/// Replaces the names in what says whom each host is like.
pub(super) fn choose(expander: &mut Expander<'_>, hosts: &mut Node) -> Result<(), ConfigError> {
    let Value::Table(entries) = &mut hosts.value else {
        return Ok(());
    };
    for entry in entries {
        if let Some(like) = entry.node.child_mut("like") {
            *like = expander.at(&["host", &entry.key, "like"], like)?;
        }
    }
    Ok(())
}

pub(crate) fn model(host: &Node) -> Option<String> {
    match host.child("like")?.value {
        Value::Text(ref name) => Some(name.clone()),
        // Reading the host will refuse it.
        Value::Integer(_) | Value::Float(_) | Value::Switch(_) | Value::List(_) | Value::Table(_) => None,
    }
}

/// Adds to `node` what only `other` has.
pub(crate) fn complete(node: &mut Node, other: &Node, is_host: bool) {
    let Value::Table(entries) = &mut node.value else {
        return;
    };
    for theirs in other
        .entries()
        .iter()
        .filter(|theirs| !(is_host && [super::groups::COUNT, "real"].contains(&theirs.key.as_str())))
    {
        match entries.iter_mut().find(|entry| entry.key == theirs.key) {
            Some(own) if is_host && own.key == "graph" => {}
            Some(own) => complete(&mut own.node, &theirs.node, false),
            None => entries.push(Entry::clone(theirs)),
        }
    }
}
