//! Protocols by name, from settings that are data.
//!
//! A scenario names the kind of each node and gives it settings; [`build`] makes the node, or says which setting is wrong
//! and what would be right. The kinds and their settings are in `kinds.rs`, one function each.

use std::collections::BTreeMap;

use kumiki_graph::{Duration, Protocol};
use thiserror::Error;

mod kinds;
mod reader;
#[cfg(test)]
mod tests;

use reader::Reader;

/// The value of a setting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// Text; also addresses, and times and sizes with their unit ("20 ms", "64 KiB").
    Text(String),
    /// A number without a unit.
    Integer(i64),
    /// Yes or no.
    Boolean(bool),
    /// A time.
    Duration(Duration),
    /// A size in octets.
    Octets(u64),
    /// Several values.
    List(Vec<Self>),
    /// Settings inside settings.
    Table(Settings),
}

impl Value {
    const fn what(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Integer(_) => "a number",
            Self::Boolean(_) => "true or false",
            Self::Duration(_) => "a time",
            Self::Octets(_) => "a size",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

impl core::fmt::Display for Value {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Integer(number) => number.fmt(f),
            Self::Boolean(yes) => yes.fmt(f),
            Self::Duration(time) => time.fmt(f),
            Self::Octets(octets) => write!(f, "{octets} B"),
            Self::List(_) | Self::Table(_) => f.write_str(self.what()),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<bool> for Value {
    fn from(yes: bool) -> Self {
        Self::Boolean(yes)
    }
}

impl From<Duration> for Value {
    fn from(time: Duration) -> Self {
        Self::Duration(time)
    }
}

/// Settings by name, in the order of their names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Settings(BTreeMap<String, Value>);

impl Settings {
    /// No settings.
    #[must_use]
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Sets `key`, in place of what it was set to.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    /// As [`Settings::set`], for building settings in one expression.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.set(key, value);
        self
    }

    /// The value of `key`, if it is set.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// All settings.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }
}

impl FromIterator<(String, Value)> for Settings {
    fn from_iter<T: IntoIterator<Item = (String, Value)>>(settings: T) -> Self {
        Self(settings.into_iter().collect())
    }
}

/// Why a node cannot be built.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BuildError {
    /// No protocol has this name.
    #[error("there is no protocol `{found}`{}; there are {known}", meant(.nearest))]
    UnknownKind {
        /// The name.
        found: String,
        /// A name much like it.
        nearest: Option<String>,
        /// All names.
        known: String,
    },
    /// The protocol has no such setting.
    #[error("`{place}` has no setting `{found}`{}; it has {known}", meant(.nearest))]
    UnknownKey {
        /// The protocol, and the table in its settings.
        place: String,
        /// The name.
        found: String,
        /// A name much like it.
        nearest: Option<String>,
        /// All names.
        known: String,
    },
    /// A setting that must be there is not.
    #[error("`{key}` is not set; it must be {expected}")]
    Missing {
        /// The setting, with its place.
        key: String,
        /// What it must be.
        expected: &'static str,
    },
    /// A value of the wrong type, or one that cannot be.
    #[error("`{key}` is {found}; it must be {expected}")]
    Value {
        /// The setting, with its place.
        key: String,
        /// Its value.
        found: String,
        /// What it must be.
        expected: String,
    },
    /// Each setting is in order, and together they cannot be.
    #[error("`{kind}`: {why}")]
    Refused {
        /// The protocol.
        kind: String,
        /// In the protocol's words.
        why: String,
    },
}

fn meant(nearest: &Option<String>) -> String {
    let meant = |name: &String| format!(" (is `{name}` meant?)");
    nearest.as_ref().map(meant).unwrap_or_default()
}

/// The name among `known` that is most like `found`, if one is much like it.
fn nearest(found: &str, known: &[&str]) -> Option<String> {
    known
        .iter()
        .map(|name| (strsim::osa_distance(found, name), *name))
        .min()
        .filter(|&(distance, name)| distance <= 1 + name.len() / 4)
        .map(|(_, name)| name.to_owned())
}

fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    if quoted.is_empty() {
        "none".to_owned()
    } else {
        quoted.join(", ")
    }
}

/// The kinds of protocols that [`build`] knows.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    kinds::KINDS.iter().map(|&(kind, _)| kind)
}

/// Makes a node of `kind`.
///
/// # Errors
/// [`BuildError`] names the kind or setting that is wrong, and what would be right.
pub fn build(kind: &str, settings: &Settings) -> Result<Box<dyn Protocol>, BuildError> {
    let found = kinds::KINDS.iter().find(|(name, _)| *name == kind);
    let Some((_, make)) = found else {
        let names: Vec<&str> = kinds().collect();
        return Err(BuildError::UnknownKind {
            found: kind.to_owned(),
            nearest: nearest(kind, &names),
            known: list(&names),
        });
    };
    let reader = Reader::new(kind, settings);
    let node = make(&reader)?;
    reader.finish()?;
    Ok(node)
}
