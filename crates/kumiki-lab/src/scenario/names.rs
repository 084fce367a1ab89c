//! What hosts, switches, lines, rings and loads may be called.

use super::Fault;
use super::check::NAMED;
use super::tree::{Entry, Source};
use super::vary::fault_at;

/// What is below the keys at the top that are of named tables: all that is wrong.
pub(super) fn check(source: &Source<'_>) -> Result<(), Fault> {
    let sections = source.root.entries().iter().filter(|section| NAMED.contains(&section.key.as_str()));
    let of_section = |section: &Entry| -> Vec<Fault> {
        section.node.entries().iter().filter_map(|named| name(source, &section.key, named).err()).collect()
    };
    Fault::all_of(sections.flat_map(of_section).collect()).map_or(Ok(()), Err)
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
