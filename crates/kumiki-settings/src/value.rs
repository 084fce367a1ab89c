//! Settings as data, and their values.

use std::collections::BTreeMap;

use kumiki_graph::Duration;

use crate::form::{Bits, Part};

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
    /// A rate in bits per second.
    Rate(u64),
    /// A part of a whole, in units of 10^-12.
    Share(u64),
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
            Self::Rate(_) => "a rate",
            Self::Share(_) => "a share",
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
            Self::Rate(bits) => Bits(*bits).fmt(f),
            Self::Share(parts) => Part(*parts).fmt(f),
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
