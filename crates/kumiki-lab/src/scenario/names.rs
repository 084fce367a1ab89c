//! What hosts, switches, lines, rings and loads may be called.

use std::collections::BTreeMap;

use super::check::NAMED;
use super::vary::fault_at;
use super::{ConfigError, Scenario};
use kumiki_config::tree::{Entry, Source};

/// What is below the keys at the top that are of named tables: all that is wrong.
pub(super) fn check(source: &Source<'_>) -> Result<(), ConfigError> {
    let sections = source.root.entries().iter().filter(|section| NAMED.contains(&section.key.as_str()));
    let of_section = |section: &Entry| -> Vec<ConfigError> {
        section.node.entries().iter().filter_map(|named| name(source, &section.key, named).err()).collect()
    };
    ConfigError::all_of(sections.flat_map(of_section).collect()).map_or(Ok(()), Err)
}

/// The longest name, in octets: with the number of its point and an ending it is that of a file, which has 255 on most
/// systems.
const LONGEST: usize = 200;

/// Results, figures, captures and other tables call everything by its name.
fn name(source: &Source<'_>, section: &str, named: &Entry) -> Result<(), ConfigError> {
    let key = named.key.as_str();
    let problem = if key.trim().is_empty() {
        format!("a {section} with an empty name")
    } else if key.contains('.') && ["host", "switch", "link", "ring"].contains(&section) {
        "a point in a name, where it stands between a host and its device, or a switch and its port".to_owned()
    } else if key.contains(['/', '\\']) || key.chars().any(char::is_control) {
        format!("{} in a name, which no file can have that is called so", strange(key))
    } else if key.len() > LONGEST {
        format!("a name of {} octets, of which files are called; at most {LONGEST} are expected", key.len())
    } else {
        return Ok(());
    };
    let is_kept = |letter: char| !letter.is_control() && !['.', '/', '\\'].contains(&letter);
    let right: String =
        key.chars().map(|letter| if is_kept(letter) { letter } else { '-' }).take(LONGEST / 8).collect();
    let right = if right.trim().is_empty() { "NAME" } else { right.as_str() };
    Err(source.locate(
        fault_at(source, &[section, key], named.at, problem).expected(format!("a name such as [{section}.{right}]")),
    ))
}

/// That lines, rings and switches have names of their own: results have what each counts by its name.
pub(super) fn distinct(scenario: &Scenario) -> Result<(), ConfigError> {
    let lines = scenario.link.keys().map(|name| ("link", name));
    let rings = scenario.ring.keys().map(|name| ("ring", name));
    let switches = scenario.switch.keys().map(|name| ("switch", name));
    let mut seen = BTreeMap::new();
    for (section, name) in lines.chain(rings).chain(switches) {
        if let Some(earlier) = seen.insert(name, section) {
            let fault = ConfigError::at([section, name], format!("there is a {earlier} {name}, too"));
            return Err(
                fault.expected("another name, for results have what lines, rings and switches count by their names")
            );
        }
    }
    Ok(())
}

/// What of a name no file can have, first.
fn strange(key: &str) -> String {
    let found = key.chars().find(|letter| letter.is_control() || ['/', '\\'].contains(letter));
    found.map(|letter| format!("\"{}\"", letter.escape_default())).unwrap_or_default()
}
