//! Result rows, as JSON Lines and as CSV: of each run one for all loads together, one for each load and one for each of
//! its flows.
//!
//! | | |
//! |---|---|
//! | Specification | JSON Lines: one RFC 8259 object to a line, UTF-8; CSV as in RFC 4180 with a header line, lines end with LF |
//! | Left out | columns of a type each are [`TABLES`]: what others make Arrow and Parquet of |
//!
//! A row is flat: the varied parameters stand between the fixed fields by their own names, which end in a unit
//! (`window_bytes`, `rtt_ms`). Counters are a map for each layer in JSON, and columns like `counters.tcp.segments_sent`
//! in CSV. Files appear whole or not at all, and never in the place of an older result unless that is asked for: see
//! [`Output`].

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, MapAccess, Visitor};
use serde::ser::{Error as _, SerializeMap};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use kumiki_config::refusal;

mod columns;
mod csv_form;
mod output;
#[cfg(test)]
mod tests;
mod value;

pub use columns::{Column, ColumnError, ColumnMaker, TABLES, Values};
pub use csv_form::to_csv;
pub use output::{Output, OutputError, read_rows};
pub(crate) use output::{Part, probe};
pub use value::ValueName;
pub(crate) use value::{DROPPED, LOST, QUANTILES, QUEUE_PARTS, beyond, bounds, may_come};

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

/// The name under which a row has half the width of the 95 % interval of its goodput, from batches.
pub const HALF_WIDTH: &str = "half_width_mbps";

/// The name under which a row has the warm-up that was found for it, in seconds.
pub const WARM_UP: &str = "warm_up_s";

/// What was measured of a load that is shown so many `times`.
pub const RAW: &str = "raw_mbps";

/// The name under which a row has the clocks that were drawn for it.
const CLOCKS: &str = "clocks_ppm";

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// All loads of a run together.
    #[default]
    Total,
    /// A load.
    Load,
    /// A session of a load.
    Flow,
}

impl Scope {
    /// The word in rows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Load => "load",
            Self::Flow => "flow",
        }
    }
}

/// One run: one point, one seed, one repetition; or a part of its traffic.
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
    /// What the row is about.
    pub scope: Scope,
    /// The load, where it is about one, or about a flow of one.
    pub load: Option<String>,
    /// The number of the flow among those of its load, from 0, in the order of opening.
    pub flow: Option<u32>,
    /// The host that writes a flow.
    pub from: Option<String>,
    /// Application octets delivered while measured.
    pub octets: u64,
    /// How long was measured, in seconds.
    pub measured_s: f64,
    /// Application octets delivered per time, in 10^6 bit/s.
    pub goodput_mbps: f64,
    /// From the opening of a flow until its reader had all, in seconds, where it has an end.
    pub completion_s: Option<f64>,
    /// The longest time in which nothing came, in seconds.
    pub longest_gap_s: Option<f64>,
    /// Of datagrams and echoes that were sent while measured, those that were lost, in per cent; of echoes that are
    /// in flight at the end nothing is known.
    pub lost_percent: Option<f64>,
    /// What the bound named by `bound_by` allows, in 10^6 bit/s.
    pub limit_mbps: Option<f64>,
    /// What bound the result: link, host, pages, what held TCP back for the most time, or another protocol's window.
    pub bound_by: String,
    /// Whether its point has failed: then it says how far that came, and is no result.
    pub failed: bool,
    /// Jain's fairness index over the sessions that were to write, where anything was written.
    pub jain: Option<f64>,
    /// What held the writing connections of TCP back, as shares of the measured time that add up to 1.
    pub held: BTreeMap<String, f64>,
    /// Segments of TCP that were sent, those retransmitted among them.
    pub segments_sent: Option<u64>,
    /// Segments of TCP that were retransmitted.
    pub retransmissions: Option<u64>,
    /// Times that a retransmission timer of TCP ran out.
    pub timeouts: Option<u64>,
    /// Round trips that TCP measured, in milliseconds: `min`, `mean` and `max`, which are exact, and `p50`, `p95`,
    /// `p99`, to 1 %.
    pub round_trip_ms: BTreeMap<String, f64>,
    /// How long datagrams were in flight from program to program, in milliseconds, the same.
    pub delay_ms: BTreeMap<String, f64>,
    /// How many flows came to their end, or how many exchanges, where the load is made of them.
    pub completions: Option<u64>,
    /// How long these took, in milliseconds, the same.
    pub completion_ms: BTreeMap<String, f64>,
    /// How long exchanges took, where one was the first of a connection with the opening of that, in milliseconds, the
    /// same.
    pub with_opening_ms: BTreeMap<String, f64>,
    /// The clocks that this run has drawn between limits, by line, in parts per million; in rows of all loads together
    /// alone.
    pub clocks_ppm: BTreeMap<String, i64>,
    /// How long the queues of lines with frames were, in frames: `mean`, `p50`, `p95`, `p99`, `max` by queue; in rows
    /// of all loads together alone.
    pub queues: BTreeMap<String, BTreeMap<String, f64>>,
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
    /// What each layer counted while measured; in rows of all loads together alone.
    pub counters: Counters,
    /// The version of the program.
    pub version: String,
}

/// What a run puts beside the varied parameters although it was measured: two runs of a point may differ in it.
pub(crate) const MEASURED: [&str; 4] = [RAW, "cpu_ms", WARM_UP, HALF_WIDTH];

/// Whether every row has a field of that name, or a table a column (`point`, `held.loss`): then no varied parameter may
/// have it.
pub(crate) fn is_field(name: &str) -> bool {
    const OTHERS: [&str; 5] = ["paper", "figure", "series", "version", columns::POINT];
    const OF_LAYERS: [&str; 3] = [CLOCKS, "queues", "counters"];
    let row = Row::default();
    let map = name.split_once('.').map_or(name, |(map, _)| map);
    OTHERS.contains(&name)
        || row.fields().iter().any(|(field, _)| *field == name)
        || OF_LAYERS.contains(&map)
        || row.maps().iter().any(|(field, _)| *field == map)
}

/// Why a row cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// A varied parameter has the name of a fixed field, or none.
    #[error(
        "a varied parameter may not be called {name:?}, as every row has a field, or tables a column, of that name"
    )]
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
            if name.is_empty() || is_field(name) {
                return Err(RowError::Reserved { name: name.clone() });
            }
            if self.varied.iter().take(i).any(|(earlier, _)| earlier == name) {
                return Err(RowError::Twice { name: name.clone() });
            }
        }
        let number = |(name, value): (&'static str, Option<Parameter>)| match value {
            Some(Parameter::Number(x)) => Some((name, x)),
            Some(Parameter::Switch(_) | Parameter::Count(_) | Parameter::Text(_)) | None => None,
        };
        let fixed = self.fields().into_iter().filter_map(number);
        let maps = self.maps().into_iter().flat_map(|(_, map)| map).chain(self.queues.values().flatten());
        let held = maps.map(|(name, value)| (name.as_str(), *value));
        let varied = self.varied.iter().filter_map(|(name, value)| match value {
            Parameter::Number(x) => Some((name.as_str(), *x)),
            Parameter::Switch(_) | Parameter::Count(_) | Parameter::Text(_) => None,
        });
        match fixed.chain(held).chain(varied).find(|(_, value)| !value.is_finite()) {
            Some((field, value)) => Err(RowError::NotFinite { field: field.to_owned(), value: value.to_string() }),
            None => Ok(()),
        }
    }

    /// The fields behind those that are varied, in their order, which hold one value each.
    fn fields(&self) -> [(&'static str, Option<Parameter>); 25] {
        let (count, number) = (Parameter::Count, Parameter::Number);
        let text = |text: &String| Parameter::Text(text.clone());
        [
            ("seed", Some(count(self.seed))),
            ("repetition", Some(count(self.repetition.into()))),
            ("scope", Some(Parameter::Text(self.scope.name().to_owned()))),
            ("load", self.load.as_ref().map(text)),
            ("flow", self.flow.map(|number| count(number.into()))),
            ("from", self.from.as_ref().map(text)),
            ("octets", Some(count(self.octets))),
            ("measured_s", Some(number(self.measured_s))),
            ("goodput_mbps", Some(number(self.goodput_mbps))),
            ("completion_s", self.completion_s.map(number)),
            ("completions", self.completions.map(count)),
            ("longest_gap_s", self.longest_gap_s.map(number)),
            ("lost_percent", self.lost_percent.map(number)),
            ("limit_mbps", self.limit_mbps.map(number)),
            ("bound_by", Some(text(&self.bound_by))),
            ("failed", Some(Parameter::Switch(self.failed))),
            ("jain", self.jain.map(number)),
            ("segments_sent", self.segments_sent.map(count)),
            ("retransmissions", self.retransmissions.map(count)),
            ("timeouts", self.timeouts.map(count)),
            ("paper_mbps", self.paper_mbps.map(number)),
            ("profile", Some(text(&self.profile))),
            ("fitted", Some(Parameter::Switch(self.fitted))),
            ("fit_points", Some(count(self.fit_points.into()))),
            ("fit_parameters", Some(count(self.fit_parameters.into()))),
        ]
    }

    /// The fields behind those that hold several values by name, in their order; queues and counters aside.
    const fn maps(&self) -> [(&'static str, &BTreeMap<String, f64>); 5] {
        [
            ("round_trip_ms", &self.round_trip_ms),
            ("delay_ms", &self.delay_ms),
            ("completion_ms", &self.completion_ms),
            ("with_opening_ms", &self.with_opening_ms),
            ("held", &self.held),
        ]
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
        for (name, value) in self.fields() {
            map.serialize_entry(name, &value)?;
        }
        for (name, values) in self.maps() {
            map.serialize_entry(name, values)?;
        }
        // Few runs draw any.
        if !self.clocks_ppm.is_empty() {
            map.serialize_entry(CLOCKS, &self.clocks_ppm)?;
        }
        map.serialize_entry("queues", &self.queues)?;
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

impl Row {
    /// Takes the value of the field `key`, or of what is varied, from `map`.
    fn take<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "paper" => self.paper = map.next_value()?,
            "figure" => self.figure = map.next_value()?,
            "series" => self.series = map.next_value()?,
            "seed" => self.seed = map.next_value()?,
            "repetition" => self.repetition = map.next_value()?,
            "scope" => self.scope = map.next_value()?,
            "load" => self.load = map.next_value()?,
            "flow" => self.flow = map.next_value()?,
            "from" => self.from = map.next_value()?,
            CLOCKS => self.clocks_ppm = map.next_value()?,
            "octets" => self.octets = map.next_value()?,
            "measured_s" => self.measured_s = map.next_value()?,
            "completion_s" => self.completion_s = map.next_value()?,
            "completions" => self.completions = map.next_value()?,
            "longest_gap_s" => self.longest_gap_s = map.next_value()?,
            "lost_percent" => self.lost_percent = map.next_value()?,
            "goodput_mbps" => self.goodput_mbps = map.next_value()?,
            "limit_mbps" => self.limit_mbps = map.next_value()?,
            "bound_by" => self.bound_by = map.next_value()?,
            "failed" => self.failed = map.next_value()?,
            "jain" => self.jain = map.next_value()?,
            "paper_mbps" => self.paper_mbps = map.next_value()?,
            "profile" => self.profile = map.next_value()?,
            "fitted" => self.fitted = map.next_value()?,
            "fit_points" => self.fit_points = map.next_value()?,
            "fit_parameters" => self.fit_parameters = map.next_value()?,
            "segments_sent" => self.segments_sent = map.next_value()?,
            "retransmissions" => self.retransmissions = map.next_value()?,
            "timeouts" => self.timeouts = map.next_value()?,
            "round_trip_ms" => self.round_trip_ms = map.next_value()?,
            "delay_ms" => self.delay_ms = map.next_value()?,
            "completion_ms" => self.completion_ms = map.next_value()?,
            "with_opening_ms" => self.with_opening_ms = map.next_value()?,
            "held" => self.held = map.next_value()?,
            "queues" => self.queues = map.next_value()?,
            "counters" => self.counters = map.next_value()?,
            "version" => self.version = map.next_value()?,
            _ => self.varied.push((key.to_owned(), map.next_value()?)),
        }
        Ok(())
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
        let mut has_goodput = false;
        while let Some(key) = map.next_key::<String>()? {
            has_goodput |= key == "goodput_mbps";
            row.take(&key, &mut map).map_err(|why| de::Error::custom(format!("{key}: {why}")))?;
        }
        if !has_goodput {
            return Err(de::Error::missing_field("goodput_mbps"));
        }
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
#[error("line {line}: {}", refusal::json_words(source))]
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
