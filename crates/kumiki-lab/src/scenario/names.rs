//! What hosts, switches, lines, rings and loads may be called.

use super::Fault;
use super::check::NAMED;
use super::tree::{Entry, Source};
use super::vary::fault_at;

/// What is below a key at the top, where that is one of names.
pub(super) fn check(source: &Source<'_>, section: &Entry) -> Result<(), Fault> {
    let all = if NAMED.contains(&section.key.as_str()) { section.node.entries() } else { &[] };
    all.iter().try_for_each(|named| name(source, &section.key, named))
}

/// Results, figures and other tables call everything by its name.
fn name(source: &Source<'_>, section: &str, named: &Entry) -> Result<(), Fault> {
    let key = named.key.as_str();
    let problem = if key.trim().is_empty() {
        format!("a {section} with an empty name")
    } else if key.contains('.') && ["host", "switch"].contains(&section) {
        "a point in a name, where it stands between a host and its device, or a switch and its port".to_owned()
    } else {
        return Ok(());
    };
    let right = key.replace('.', "-");
    let right = if right.trim().is_empty() { "NAME" } else { right.as_str() };
    Err(source.locate(
        fault_at(source, &[section, key], named.at, problem).expected(format!("a name such as [{section}.{right}]")),
    ))
}
