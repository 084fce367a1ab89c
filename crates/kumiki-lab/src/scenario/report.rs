//! How results are shown, and what they are compared with.

use std::collections::BTreeMap;

use kumiki_graph::Duration;
use kumiki_settings::Keys;
use serde::{Deserialize, Deserializer};

use kumiki_config::error::{ConfigError, quantity};
use kumiki_config::quantity::{Octets, Share};

/// How results are shown.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Keys)]
#[serde(deny_unknown_fields, default)]
pub struct Report {
    /// The varied name along the horizontal axis and down the table.
    #[key(is = "a varied name", default = "none: one column of all combinations", example = "\"window\"")]
    pub x: Option<String>,
    /// The axis' words.
    #[key(is = "a text", default = "the name", example = "\"socket buffer\"")]
    pub x_label: Option<String>,
    /// The axis' scale: `linear`, `log2` or `octets`.
    #[key(
        is = "a word",
        default = "`octets` for sizes of which the greatest is 8 times the least or more, else `linear`",
        example = "\"octets\""
    )]
    pub x_scale: Option<String>,
    /// The ends of the other axis.
    #[key(is = "a list of two numbers", default = "all values", example = "[0.0, 150.0]")]
    pub y_range: Option<[f64; 2]>,
    /// The varied names that make curves of the figure and columns of the table.
    #[key(
        is = "a list of varied names",
        default = "of the figure all but `x`; the table has one column, and a row for each combination",
        example = "[\"congestion\"]"
    )]
    pub series: Vec<String>,
    /// What words mean that are values of varied names: it is told below figure and table.
    #[key(is = "a table of texts", default = "none", example = "{ tcp-64k = \"TCP without window scaling\" }")]
    pub meaning: BTreeMap<String, String>,
    /// Other names, with units, for varied names in rows.
    #[key(is = "a table of names", default = "the same names", example = "{ window = \"window_bytes\" }")]
    pub rows: BTreeMap<String, String>,
    /// What is shown: a field of the rows that is a number (`jain`, `retransmissions`), one of its values
    /// (`delay_ms.p99`, `completion_ms.mean`, `with_opening_ms.p99`), or of a queue or counter (`queues.mid.a.p95`,
    /// `counters.mid.a_drops`; in the place of `a` or `b` the host or switch that sends may stand). A name that no row
    /// of these loads can have is refused before anything runs; where a run lacks the value, its cell is empty, and a
    /// note says why.
    #[key(
        is = "a name of [rows](scenarios.md#rows)",
        default = "`goodput_mbps`; of pings alone `lost_percent`",
        example = "\"delay_ms.p99\""
    )]
    pub value: Option<String>,
    /// Which load table, figure and `[[compare]]` are about.
    #[key(is = "a name of a load", default = "all, and their total", example = "\"bulk\"")]
    pub load: Option<String>,
    /// Of the table.
    #[key(is = "a number", default = "2", example = "3")]
    pub decimals: Option<u8>,
    /// Whether what bound it stands behind each value.
    #[key(is = "true or false", default = "yes for goodput, unless a paper is repeated", example = "false")]
    pub bound: Option<bool>,
    /// Of what a figure shows, as stacked bars, what held connections of TCP back: `flow`, `load`, `total`, `none`.
    #[key(
        is = "a word",
        default = "each flow; together, where these are more than 12; none, where a paper is repeated, or where it was one thing nearly all the time",
        example = "\"load\""
    )]
    pub held: Option<String>,
    /// Whether how busy the CPUs are is told below the table, for each point.
    #[key(is = "true or false", default = "false", example = "true")]
    pub cpu: bool,
    /// The window that bounds a TCP here: what it allows is drawn as a limit, and what was used of it told below the
    /// table.
    #[key(
        is = "a table, [below](#report)",
        default = "none",
        example = "{ octets = \"53000 B\", round_trip = \"20 ms\" }"
    )]
    pub window: Option<Window>,
    /// The points are candidates of which the one is looked for that has the paper's value: the others are not wrong.
    #[key(is = "true or false", default = "false", example = "true")]
    pub candidates: bool,
    /// The time of tasks, in a table and a figure of their own, and in a row for each task of each host.
    #[key(is = "a table, [below](#report)", default = "none", example = "{ names = [\"upper\", \"lower\"] }")]
    pub tasks: Option<Tasks>,
    /// A limit drawn in the figure: `aal5`, computed from the stack, or `none`.
    #[key(is = "a word", default = "`none`", example = "\"aal5\"")]
    pub limit: Option<String>,
    /// The colour of words and axes in the files of figures: `grey`, which can be read on light and dark ground,
    /// `black` or `white`.
    #[key(is = "a word", default = "`grey`", example = "\"black\"")]
    pub ink: Option<String>,
    /// Below the figure.
    #[key(is = "a text", default = "where the values come from", example = "\"One connection.\"")]
    pub caption: Option<String>,
    /// Below the table: what the numbers do not say by themselves.
    #[key(is = "a list of texts", default = "none", example = "[\"Without the time for the connection.\"]")]
    pub notes: Vec<String>,
}

impl Report {
    /// Which value of the rows the table and the figure show.
    #[must_use]
    pub fn shown(&self) -> crate::rows::ValueName {
        let name = self.value.as_deref().and_then(crate::rows::ValueName::new);
        name.unwrap_or_default()
    }
}

/// The time of tasks.
#[derive(Clone, PartialEq, Debug, Deserialize, Keys)]
#[serde(deny_unknown_fields)]
pub struct Tasks {
    /// The tasks, as the profile calls them, in this order.
    #[key(is = "a list of names", example = "[\"upper\", \"lower\"]")]
    pub names: Vec<String>,
    /// What the paper says of how they grow.
    #[serde(default)]
    #[key(
        is = "a list of tables",
        default = "none",
        example = "[{ at = {}, to = {}, of = [\"lower\"], against = [\"upper\"], below = 0.5, from = \"section 5\" }]"
    )]
    pub growth: Vec<Growth>,
}

/// That the time of some tasks grows less than that of others, from one point to another.
#[derive(Clone, PartialEq, Debug, Deserialize, Keys)]
#[serde(deny_unknown_fields)]
pub struct Growth {
    /// The first point: values of what is varied.
    #[key(is = "a table of values", example = "{ file = \"1 MB\" }")]
    pub at: toml::Table,
    /// The second one.
    #[key(is = "a table of values", example = "{ file = \"10 MB\" }")]
    pub to: toml::Table,
    /// The tasks that hardly grow.
    #[key(is = "a list of names", example = "[\"lower\"]")]
    pub of: Vec<String>,
    /// The other tasks.
    #[key(is = "a list of names", example = "[\"upper\"]")]
    pub against: Vec<String>,
    /// The growth of those is below this part of that of these.
    #[key(is = "a number", example = "0.5")]
    pub below: f64,
    /// Where the paper says so.
    #[key(is = "a text", example = "\"section 5\"")]
    pub from: String,
    /// `ours` where the number is our reading of words.
    #[key(is = "the word `ours`", default = "the paper prints the number", example = "\"ours\"")]
    pub reading: Option<String>,
    /// Whether the ratio owes something to a price that was fitted.
    #[serde(default)]
    #[key(default = "false", example = "true")]
    pub fitted: bool,
}

/// A window and the round trip that it goes round in: their quotient is a limit.
#[derive(Clone, PartialEq, Debug, Deserialize, Keys)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// The window.
    #[key(is = "a size", example = "\"53000 B\"")]
    pub octets: String,
    /// The time of a round trip without what the ends and the line take.
    #[key(is = "a time", example = "\"20 ms\"")]
    pub round_trip: String,
}

impl Window {
    /// What the window allows, in Mb/s; none without a round trip.
    ///
    /// # Errors
    /// A [`ConfigError`] that names the key which is no quantity.
    pub fn limit_mbps(&self) -> Result<Option<f64>, ConfigError> {
        let path = |key| ["report", "window", key];
        let octets: Octets = quantity(&path("octets"), &self.octets)?;
        let round_trip: Duration = quantity(&path("round_trip"), &self.round_trip)?;
        #[expect(clippy::cast_precision_loss, reason = "a limit for a figure")]
        let quotient = |nanos: u64| octets.count() as f64 * 8e3 / nanos as f64;
        Ok((!round_trip.is_zero()).then(|| quotient(round_trip.as_nanos())))
    }
}

/// One value that the paper prints, or that theory gives, of what `[report]` shows.
#[derive(Clone, PartialEq, Debug, Deserialize, Keys)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// At which values of varied names; `{}`: everywhere.
    #[key(is = "a table of values", example = "{ window = \"64 KiB\" }")]
    pub at: toml::Table,
    /// The value, in the unit of what the table shows.
    #[key(is = "a number", example = "94.1")]
    pub value: f64,
    /// How far from it is still agreement, in that unit, or as a share of it.
    #[key(is = "a number, or a share", default = "5 %", example = "\"2 %\"")]
    pub within: Option<Tolerance>,
    /// Where the paper says so, or by what theory.
    #[key(is = "a text", example = "\"table 2\"")]
    pub from: String,
    /// `ours` where the number is our reading of words.
    #[key(is = "the word `ours`", default = "the paper prints the number", example = "\"ours\"")]
    pub reading: Option<String>,
    /// Whether the profile was fitted to this very value.
    #[serde(default)]
    #[key(default = "false", example = "true")]
    pub fitted: bool,
}

/// How far from a value is still agreement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Tolerance {
    /// So much, in the value's own unit.
    Amount(f64),
    /// Such a part of the value.
    Part(f64),
}

impl Tolerance {
    /// So far from `value`, in its unit.
    #[must_use]
    pub fn of(self, value: f64) -> f64 {
        match self {
            Self::Amount(amount) => amount,
            Self::Part(part) => part * value.abs(),
        }
    }
}

impl<'de> Deserialize<'de> for Tolerance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let found = toml::Value::deserialize(deserializer)?;
        let whole = found.as_integer().and_then(|whole| i32::try_from(whole).ok()).map(f64::from);
        let number = whole.or_else(|| found.as_float());
        let part = || kumiki_config::quantity::parse::<Share>(found.as_str()?).ok().map(Share::as_f64);
        let of_number = number.filter(|number| number.is_finite() && *number >= 0.0).map(Self::Amount);
        of_number.or_else(|| part().map(Self::Part)).ok_or_else(|| {
            D::Error::custom("expected a number in the unit of the value, or a share of it such as \"2 %\"")
        })
    }
}

/// What the paper says of a whole curve: its peak, how far it falls, or between which values it is.
#[derive(Clone, PartialEq, Debug, Deserialize, Keys)]
#[serde(deny_unknown_fields)]
pub struct Trend {
    /// The values that make the curve.
    #[key(is = "a table of values", example = "{ congestion = \"cubic\" }")]
    pub of: toml::Table,
    /// Where on the curve, for a fall or a range; a list means any of its values.
    #[serde(default)]
    #[key(is = "a table of values", default = "everywhere", example = "{ rtt = [\"180 ms\", \"200 ms\"] }")]
    pub at: toml::Table,
    /// The paper's highest value on the curve, wherever that is.
    #[key(is = "a number of Mb/s", default = "none", example = "135.0")]
    pub peak_mbps: Option<f64>,
    /// How far the curve is below its own peak at `at`, as a share of the peak.
    #[key(is = "a share", default = "none", example = "\"12 %\"")]
    pub below_peak: Option<Share>,
    /// Between which values the curve is, at all points that `at` names.
    #[key(is = "a list of two numbers of Mb/s", default = "none", example = "[120.0, 135.0]")]
    pub between_mbps: Option<[f64; 2]>,
    /// How far from the paper's number is still agreement, in its own unit.
    #[key(is = "a number", default = "5 % of it; of a range, 0", example = "2.0")]
    pub within: Option<f64>,
    /// Where the paper says so.
    #[key(is = "a text", example = "\"figure 6\"")]
    pub from: String,
    /// `ours` where the number is our reading of words.
    #[key(is = "the word `ours`", default = "the paper prints the number", example = "\"ours\"")]
    pub reading: Option<String>,
    /// Whether the profile was fitted to this.
    #[serde(default)]
    #[key(default = "false", example = "true")]
    pub fitted: bool,
}
