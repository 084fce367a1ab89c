//! What `--set` changes: a value that varies, one that is defined, or a key of the scenario.

use super::ConfigError;
use super::amount::Amount;
use super::groups;
use super::vary::{Axis, distinct, fault_at, values};
use kumiki_config::error::nearest;
use kumiki_config::tree::{Entry, Node, Origin, Source, Value};

/// What `--set` with a path may change.
const SETTABLE: [&str; 8] = ["host", "switch", "link", "ring", "load", "run", "report", "title"];

/// Applies the `--set` of that number to what varies and what is defined; what it sets of the scenario is added to
/// `settings`, for it may be of a host that is like another.
pub(super) fn apply<'a>(
    source: &Source<'_>,
    number: usize,
    text: &'a str,
    (axes, defines): (&mut Vec<Axis>, &mut [Entry]),
    settings: &mut Vec<(Vec<&'a str>, Node)>,
) -> Result<(), ConfigError> {
    let at = Origin::Set(number);
    let Some((name, written)) = text.split_once('=') else {
        return Err(fault_at(source, &[], at, "no \"=\"").expected("NAME=VALUE"));
    };
    let (name, written) = (name.trim(), written.trim());
    let node = Node::parse_value(written, at)
        // A date is text here, and so is everything that TOML would want in quotes.
        .unwrap_or_else(|| Node { at, value: Value::Text(written.to_owned()) });
    let bare = name.strip_prefix("define.").or_else(|| name.strip_prefix("vary.")).unwrap_or(name);
    if let Some(define) = defines.iter_mut().find(|define| define.key == bare) {
        define.node = keep_kind(&define.node, node, written);
        return Ok(());
    }
    if let Some(i) = axes.iter().position(|axis| axis.names.iter().any(|n| n == bare)) {
        return vary(source, axes, (i, bare), node);
    }
    let path: Vec<&str> = name.split('.').collect();
    if path.len() < 2 && name != "title" {
        let known = axes.iter().flat_map(|axis| axis.names.iter().map(String::as_str));
        let known: Vec<&str> = known.chain(defines.iter().map(|define| define.key.as_str())).collect();
        let fault = fault_at(source, &[], at, format!("unknown name {name:?}"));
        return Err(if known.is_empty() {
            fault.expected("a path such as run.duration")
        } else {
            near(fault, name, &known)
        });
    }
    check_path(source, at, &path)?;
    let owned: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
    let node = match source.root.reach(&owned) {
        (_, Some(before)) => keep_kind(before, node, written),
        (_, None) => node,
    };
    settings.push((path, node));
    Ok(())
}

/// Gives `name`, of the axis at `place`, other values, or one alone.
fn vary(
    source: &Source<'_>,
    axes: &mut Vec<Axis>,
    (place, name): (usize, &str),
    node: Node,
) -> Result<(), ConfigError> {
    let (at, path) = (node.at, ["vary", name]);
    let is_list = match &node.value {
        Value::List(_) => true,
        Value::Text(text) => text.contains("..") || (text.contains(',') && Amount::parse_list(text).is_ok()),
        Value::Integer(_) | Value::Float(_) | Value::Switch(_) | Value::Table(_) => false,
    };
    let values = if is_list { values(source, &path, &node)? } else { vec![node] };
    if values.is_empty() {
        return Err(fault_at(source, &path, at, "a list without values"));
    }
    distinct(source, &path, &values.iter().cloned().map(|value| vec![value]).collect::<Vec<_>>())?;
    let axis = axes.remove(place);
    for (offset, axis) in axis.replace(name, values).into_iter().enumerate() {
        axes.insert(place + offset, axis);
    }
    Ok(())
}

/// Whether there is something to be set at `path`.
fn check_path(source: &Source<'_>, at: Origin, path: &[&str]) -> Result<(), ConfigError> {
    let first = path.first().copied().unwrap_or_default();
    if !SETTABLE.contains(&first) {
        return Err(near(fault_at(source, &[], at, format!("{first:?} cannot be set")), first, &SETTABLE));
    }
    // A host or a link that is not there would be made by a slip of the pen.
    if matches!(first, "host" | "switch" | "link" | "ring" | "load")
        && let Some(second) = path.get(1)
        && source.root.child(first).and_then(|table| table.child(second)).is_none()
        && !source.root.child(first).is_some_and(|table| groups::has_member(table, second))
    {
        let keys = source.root.child(first).map(Node::entries).unwrap_or_default();
        let known: Vec<&str> = keys.iter().map(|entry| entry.key.as_str()).collect();
        return Err(near(fault_at(source, &[], at, format!("there is no {first} {second:?}")), second, &known));
    }
    Ok(())
}

/// With what is known in the place of `name`, and the one that it is close to.
fn near(fault: ConfigError, name: &str, known: &[&str]) -> ConfigError {
    let fault = fault.one_of(known);
    match nearest(name, known) {
        Some(near) => fault.suggest(near),
        None => fault,
    }
}

/// Where a text was, a text is meant: `--set define.mss=0`.
fn keep_kind(before: &Node, node: Node, written: &str) -> Node {
    match (&before.value, &node.value) {
        (Value::Text(text), Value::Integer(_) | Value::Float(_) | Value::Switch(_)) if !text.starts_with("${") => {
            Node { at: node.at, value: Value::Text(written.to_owned()) }
        }
        _ => node,
    }
}
