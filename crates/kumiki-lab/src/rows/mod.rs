//! Result rows: one for each run, as JSON Lines and as CSV.
//!
//! | | |
//! |---|---|
//! | Specification | JSON Lines: one RFC 8259 object to a line, UTF-8; CSV as in RFC 4180 with a header line, lines end with LF |
//! | Left out | Parquet, merging of shards |
//!
//! A row is flat: the varied parameters stand between the fixed fields by their own names, which end in a unit
//! (`window_bytes`, `rtt_ms`). Counters are a map for each layer in JSON, and columns like `tcp.segments_sent` in CSV.
//! Files appear whole or not at all, and never in the place of an older result unless that is asked for: see
//! [`Output`].

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, MapAccess, Visitor};
use serde::ser::{Error as _, SerializeMap};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

mod csv_form;
mod output;
#[cfg(test)]
mod tests;

pub use csv_form::to_csv;
pub use output::{Output, OutputError, read_rows};

/// The value of a varied parameter. Its unit is in the parameter's name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Parameter {
    /// On or off, as for Nagle's algorithm.
    Switch(bool),
    /// A whole number: octets, sessions, nanoseconds.
    Count(u64),
    /// Any other number. Must be finite.
    Number(f64),
    /// A name.
    Text(String),
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(on) => on.fmt(f),
            Self::Count(n) => n.fmt(f),
            Self::Number(x) => x.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// Counters: layer (or `host.layer`) to name to value.
pub type Counters = BTreeMap<String, BTreeMap<String, u64>>;

/// One run: one point, one seed, one repetition.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Row {
    /// The paper, 1 to 5, where the scenario belongs to one.
    pub paper: Option<u8>,
    /// The table or figure: "table1", "fig7".
    pub figure: String,
    /// The curve or column within it.
    pub series: String,
    /// The varied parameters, in the scenario's order. No name may be that of another field of the row.
    pub varied: Vec<(String, Parameter)>,
    /// The seed of this run.
    pub seed: u64,
    /// Which repetition of the point, from 0.
    pub repetition: u32,
    /// Application octets delivered per time, in 10^6 bit/s.
    pub goodput_mbps: f64,
    /// What the bound named by `bound_by` allows, in 10^6 bit/s.
    pub limit_mbps: Option<f64>,
    /// What bound the result: link, host, pages, what held TCP back for the most time, or another protocol's window.
    pub bound_by: String,
    /// Jain's fairness index over the sessions that were to write, where anything was written.
    pub jain: Option<f64>,
    /// What held the writing connections of TCP back, as shares of the measured time that add up to 1.
    pub held: BTreeMap<String, f64>,
    /// The paper's value, where it prints one.
    pub paper_mbps: Option<f64>,
    /// The price list of the hosts.
    pub profile: String,
    /// Whether the profile was fitted to this very point.
    pub fitted: bool,
    /// To how many points the profile was fitted.
    pub fit_points: u32,
    /// How many parameters that determined; as many as points is interpolation.
    pub fit_parameters: u32,
    /// What each layer counted.
    pub counters: Counters,
    /// The version of the program.
    pub version: String,
}

/// The fields of a row in their order, varied parameters aside: names that no varied parameter may have.
pub(crate) const FIXED: [&str; 17] = [
    "paper",
    "figure",
    "series",
    "seed",
    "repetition",
    "goodput_mbps",
    "limit_mbps",
    "bound_by",
    "jain",
    "paper_mbps",
    "profile",
    "fitted",
    "fit_points",
    "fit_parameters",
    "held",
    "counters",
    "version",
];

/// Why a row cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// A varied parameter has the name of a fixed field, or none.
    #[error("a varied parameter may not be called {name:?}, as every row has a field of that name")]
    Reserved {
        /// The parameter's name.
        name: String,
    },
    /// A varied parameter is there twice.
    #[error("the varied parameter {name:?} is in the row twice")]
    Twice {
        /// The parameter's name.
        name: String,
    },
    /// Neither JSON nor a reader of figures has use for infinity or NaN.
    #[error("{field} is {value}; a result must be a finite number")]
    NotFinite {
        /// The field or parameter.
        field: String,
        /// What it is instead.
        value: String,
    },
    /// The crate that lays out the text refused; no row that passes [`Row::check`] is known to cause this.
    #[error("the row has no form as text: {0}")]
    Form(String),
}

impl Row {
    /// Whether the row can be written.
    ///
    /// # Errors
    ///
    /// [`RowError`] where a parameter's name is taken, or a number is not finite.
    pub fn check(&self) -> Result<(), RowError> {
        for (i, (name, _)) in self.varied.iter().enumerate() {
            if name.is_empty() || FIXED.contains(&name.as_str()) {
                return Err(RowError::Reserved { name: name.clone() });
            }
            if self.varied.iter().take(i).any(|(earlier, _)| earlier == name) {
                return Err(RowError::Twice { name: name.clone() });
            }
        }
        let fixed = [
            ("goodput_mbps", Some(self.goodput_mbps)),
            ("limit_mbps", self.limit_mbps),
            ("jain", self.jain),
            ("paper_mbps", self.paper_mbps),
        ];
        let held = self.held.iter().map(|(name, share)| (name.as_str(), Some(*share)));
        let varied = self.varied.iter().map(|(name, value)| match value {
            Parameter::Number(x) => (name.as_str(), Some(*x)),
            Parameter::Switch(_) | Parameter::Count(_) | Parameter::Text(_) => (name.as_str(), None),
        });
        for (field, value) in fixed.into_iter().chain(held).chain(varied) {
            if let Some(value) = value.filter(|v| !v.is_finite()) {
                return Err(RowError::NotFinite { field: field.to_owned(), value: value.to_string() });
            }
        }
        Ok(())
    }

    /// The varied parameter called `name`.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.varied.iter().find(|(n, _)| n == name).map(|(_, value)| value)
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.check().map_err(S::Error::custom)?;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("paper", &self.paper)?;
        map.serialize_entry("figure", &self.figure)?;
        map.serialize_entry("series", &self.series)?;
        for (name, value) in &self.varied {
            map.serialize_entry(name, value)?;
        }
        map.serialize_entry("seed", &self.seed)?;
        map.serialize_entry("repetition", &self.repetition)?;
        map.serialize_entry("goodput_mbps", &self.goodput_mbps)?;
        map.serialize_entry("limit_mbps", &self.limit_mbps)?;
        map.serialize_entry("bound_by", &self.bound_by)?;
        map.serialize_entry("jain", &self.jain)?;
        map.serialize_entry("paper_mbps", &self.paper_mbps)?;
        map.serialize_entry("profile", &self.profile)?;
        map.serialize_entry("fitted", &self.fitted)?;
        map.serialize_entry("fit_points", &self.fit_points)?;
        map.serialize_entry("fit_parameters", &self.fit_parameters)?;
        map.serialize_entry("held", &self.held)?;
        map.serialize_entry("counters", &self.counters)?;
        map.serialize_entry("version", &self.version)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RowVisitor)
    }
}

struct RowVisitor;

impl<'de> Visitor<'de> for RowVisitor {
    type Value = Row;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a result row")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Row, A::Error> {
        let mut row = Row::default();
        let mut goodput = None;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "paper" => row.paper = map.next_value()?,
                "figure" => row.figure = map.next_value()?,
                "series" => row.series = map.next_value()?,
                "seed" => row.seed = map.next_value()?,
                "repetition" => row.repetition = map.next_value()?,
                "goodput_mbps" => goodput = Some(map.next_value()?),
                "limit_mbps" => row.limit_mbps = map.next_value()?,
                "bound_by" => row.bound_by = map.next_value()?,
                "jain" => row.jain = map.next_value()?,
                "paper_mbps" => row.paper_mbps = map.next_value()?,
                "profile" => row.profile = map.next_value()?,
                "fitted" => row.fitted = map.next_value()?,
                "fit_points" => row.fit_points = map.next_value()?,
                "fit_parameters" => row.fit_parameters = map.next_value()?,
                "held" => row.held = map.next_value()?,
                "counters" => row.counters = map.next_value()?,
                "version" => row.version = map.next_value()?,
                _ => row.varied.push((key, map.next_value()?)),
            }
        }
        row.goodput_mbps = goodput.ok_or_else(|| de::Error::missing_field("goodput_mbps"))?;
        row.check().map_err(de::Error::custom)?;
        Ok(row)
    }
}

/// JSON Lines: one row to a line.
///
/// # Errors
///
/// [`RowError`] of the first row that cannot be written.
pub fn to_jsonl(rows: &[Row]) -> Result<String, RowError> {
    let mut text = String::new();
    for row in rows {
        row.check()?;
        let line = serde_json::to_string(row).map_err(|e| RowError::Form(e.to_string()))?;
        text.push_str(&line);
        text.push('\n');
    }
    Ok(text)
}

/// Why JSON Lines could not be read.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {source}")]
pub struct ReadError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    #[source]
    pub source: serde_json::Error,
}

/// Rows from JSON Lines; empty lines are passed over. Fields that are not a row's own are varied parameters.
///
/// # Errors
///
/// [`ReadError`] with the first line that is not a row.
pub fn from_jsonl(text: &str) -> Result<Vec<Row>, ReadError> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(i, line)| serde_json::from_str(line).map_err(|source| ReadError { line: i + 1, source }))
        .collect()
}
