//! Protocols by name, from settings that are data.
//!
//! | | |
//! |---|---|
//! | Specification | none: `docs/settings.md` lists the names, made from the functions here |
//! | Above | front ends, that read their own notation into [`Settings`] |
//! | Below | the protocols' own configurations, which hold the defaults |
//! | Left out | notations of quantities; programs and devices, which are no protocols; checks across nodes beyond [`Place`] |
//!
//! A scenario names the kind of each node and gives it settings; [`build`] makes the node, or says which setting is wrong
//! and what would be right. [`settings`] lists what a kind can be set to, with units and defaults: front ends read their own
//! notation by it (`"20 ms"` becomes a [`Value::Duration`]) and documents are made of it.
//!
//! The kinds and their settings are in `kinds.rs`, `ip.rs`, `ipv6.rs`, `mapos.rs`, `ppp.rs`, `tcp.rs`, `vnet.rs`, `x25.rs` and `x32.rs`, one function each. A setting is one call there: name,
//! meaning, form, and the place in the protocol's own configuration that holds its default.

use std::collections::BTreeMap;

use kumiki_graph::{Duration, Protocol};

mod error;
mod form;
pub mod hif;
mod ip;
mod ipv6;
mod kinds;
pub mod lif;
mod mapos;
mod osi;
mod ppp;
mod reader;
mod tcp;
#[cfg(test)]
mod tests;
mod vnet;
mod x25;
mod x32;
mod xtp;

pub use error::{BuildError, Problem};
pub use form::{Form, Setting};
use reader::Reader;
pub use tcp::COALESCE;

/// The value of a setting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// Text; also addresses.
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

impl From<Settings> for Value {
    fn from(table: Settings) -> Self {
        Self::Table(table)
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

/// Where a node stands, as far as its settings depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Place<'a> {
    /// The names of the layers below, in order.
    pub below: &'a [&'a str],
    /// The largest datagram that IP below sends in one piece, in octets, where that is known.
    pub mtu: Option<u32>,
}

/// The kinds of protocols that [`build`] knows, in the order of their names.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    kinds::KINDS.iter().map(|&(kind, _)| kind)
}

/// Makes a node of `kind`.
///
/// # Errors
/// [`BuildError`] names the kind or setting that is wrong, and what would be right.
pub fn build(kind: &str, settings: &Settings, place: Place<'_>) -> Result<Box<dyn Protocol>, BuildError> {
    let found = kinds::KINDS.iter().find(|(name, _)| *name == kind);
    let Some((kind, make)) = found else {
        return Err(BuildError::unknown_kind(kind, kinds().collect()));
    };
    let reader = Reader::new(settings);
    let node = make(&reader, place)
        .and_then(|node| reader.finish().map(|()| node))
        // An unknown name is often the reason why another one is missing.
        .map_err(|error| match reader.finish() {
            Err(unknown) if error.is_about_the_whole() => unknown,
            _ => error,
        });
    node.map_err(|error| error.of(kind))
}

/// All that a node of `kind` can be set to; nothing where there is no such kind. The defaults are those that go with
/// `settings`, for TCP's depend on one of them.
#[must_use]
pub fn settings(kind: &str, settings: &Settings) -> Vec<Setting> {
    let Some((_, make)) = kinds::KINDS.iter().find(|(name, _)| *name == kind) else {
        return Vec::new();
    };
    let reader = Reader::listing(settings);
    // What must be set is not, but all settings have been asked for before that is noticed.
    let _ = make(&reader, Place::default());
    reader.listed()
}
