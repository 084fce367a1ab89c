//! How results are shown, and what they are compared with.

use std::collections::BTreeMap;

use kumiki_graph::Duration;
use serde::{Deserialize, Deserializer};

use super::fault::{Fault, quantity};
use crate::quantity::{Octets, Share};

/// How results are shown.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Report {
    /// The varied name along the figure's horizontal axis and the table's rows.
    pub x: Option<String>,
    /// The axis' label.
    pub x_label: Option<String>,
    /// `linear`, `log2`, `octets`.
    pub x_scale: Option<String>,
    /// The vertical axis' range, in Mb/s.
    pub y_range: Option<[f64; 2]>,
    /// The varied names that make one curve each, together.
    pub series: Vec<String>,
    /// The names under which result rows carry what is varied, with their units: `window = "window_bytes"`.
    pub rows: BTreeMap<String, String>,
    /// Which value of the rows the table and the figure show: `goodput_mbps` unless given (see [`crate::rows::ValueName`]).
    pub value: Option<String>,
    /// The load that the table and the figure are about, and the paper's values; without it all of them together, and each beside that.
    pub load: Option<String>,
    /// Decimals in the table; 2 unless given.
    pub decimals: Option<u8>,
    /// Whether what bound each point stands behind its value in the table; unless given it does where the scenario repeats no paper.
    pub bound: Option<bool>,
    /// Of what a figure shows what held connections back: `flow`, `load`, `total` or `none`; unless given of each flow, or of more together where these are many, and of none where
    /// the scenario repeats a paper.
    pub held: Option<String>,
    /// Whether the use of the CPUs is told below the table, for each point.
    pub cpu: bool,
    /// The window that bounds a TCP here: what it allows is drawn as a limit, and what was used of it told below the table.
    pub window: Option<Window>,
    /// The points are candidates of which the one is looked for that has the paper's value: the others are not wrong.
    pub candidates: bool,
    /// The time of tasks, in a table and a figure of their own, and in a row for each task of each host.
    pub tasks: Option<Tasks>,
    /// A limit drawn in the figure: `aal5` (computed from the stack), `none`.
    pub limit: Option<String>,
    /// Below the figure.
    pub caption: Option<String>,
    /// Below the table: what the numbers do not say by themselves.
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
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tasks {
    /// The tasks, as the profile calls them, in this order.
    pub names: Vec<String>,
    /// What the paper says of how they grow.
    #[serde(default)]
    pub growth: Vec<Growth>,
}

/// That the time of some tasks grows less than that of others, from one point to another.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Growth {
    /// The first point: values of what is varied.
    pub at: toml::Table,
    /// The second one.
    pub to: toml::Table,
    /// Those that hardly grow.
    pub of: Vec<String>,
    /// The others.
    pub against: Vec<String>,
    /// Their growth is below this part of that of the others.
    pub below: f64,
    /// Where the paper says so.
    pub from: String,
    /// `ours` where the number is our reading of words.
    pub reading: Option<String>,
    /// Whether the ratio owes something to a price that was fitted.
    #[serde(default)]
    pub fitted: bool,
}

/// A window and the round trip that it goes round in: their quotient is a limit.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// The window, as in "53000 B".
    pub octets: String,
    /// The time of a round trip without what the ends and the line take.
    pub round_trip: String,
}

impl Window {
    /// What the window allows, in Mb/s; none without a round trip.
    ///
    /// # Errors
    /// A [`Fault`] that names the key which is no quantity.
    pub fn limit_mbps(&self) -> Result<Option<f64>, Fault> {
        let path = |key| ["report", "window", key];
        let octets: Octets = quantity(&path("octets"), &self.octets)?;
        let round_trip: Duration = quantity(&path("round_trip"), &self.round_trip)?;
        #[expect(clippy::cast_precision_loss, reason = "a limit for a figure")]
        let quotient = |nanos: u64| octets.count() as f64 * 8e3 / nanos as f64;
        Ok((!round_trip.is_zero()).then(|| quotient(round_trip.as_nanos())))
    }
}

/// One value that the paper prints, or that theory gives, of what `[report]` shows.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// At which values of what is varied.
    pub at: toml::Table,
    /// The value, in the unit of what `[report]` shows.
    pub value: f64,
    /// How far from it is still agreement.
    pub within: Option<Within>,
    /// Where the paper says so, or by what theory.
    pub from: String,
    /// `ours` where the number is our reading of words.
    pub reading: Option<String>,
    /// Whether the profile was fitted to this very value.
    #[serde(default)]
    pub fitted: bool,
}

/// How far from a value is still agreement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Within {
    /// So much, in the value's own unit.
    Amount(f64),
    /// Such a part of the value.
    Part(f64),
}

impl Within {
    /// So far from `value`, in its unit.
    #[must_use]
    pub fn of(self, value: f64) -> f64 {
        match self {
            Self::Amount(amount) => amount,
            Self::Part(part) => part * value.abs(),
        }
    }
}

impl<'de> Deserialize<'de> for Within {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let found = toml::Value::deserialize(deserializer)?;
        let whole = found.as_integer().and_then(|whole| i32::try_from(whole).ok()).map(f64::from);
        let number = whole.or_else(|| found.as_float());
        let part = || crate::quantity::parse::<Share>(found.as_str()?).ok().map(Share::as_f64);
        let of_number = number.filter(|number| number.is_finite() && *number >= 0.0).map(Self::Amount);
        of_number.or_else(|| part().map(Self::Part)).ok_or_else(|| {
            D::Error::custom("expected a number in the unit of the value, or a share of it such as \"2 %\"")
        })
    }
}

/// What the paper says of a whole curve: its peak, how far it falls, or between which values it is.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trend {
    /// The values that make the curve.
    pub of: toml::Table,
    /// Where on the curve, for a fall or a range; a list means any of its values.
    #[serde(default)]
    pub at: toml::Table,
    /// The paper's highest value on the curve, wherever that is.
    pub peak_mbps: Option<f64>,
    /// How far the curve is below its own peak at `at`, in per cent of the peak.
    pub below_peak_percent: Option<f64>,
    /// Between which values the curve is, at all points that `at` names.
    pub between_mbps: Option<[f64; 2]>,
    /// How far from the paper's number is still agreement, in its own unit.
    pub within: Option<f64>,
    /// Where the paper says so.
    pub from: String,
    /// `ours` where the number is our reading of words.
    pub reading: Option<String>,
    /// Whether the profile was fitted to this.
    #[serde(default)]
    pub fitted: bool,
}
