//! What a point is called in tables, figures and rows.

use std::collections::BTreeMap;

use kumiki_graph::Duration;

use super::Point;
use super::amount::{Amount, is_word};
use crate::rows::{Parameter, Row};
use kumiki_config::quantity::{Octets, Quantity, Rate, Share};

/// What a name has where it means nothing at a point.
pub(crate) const NOTHING: &str = "-";

impl Point {
    /// The values of these names as a person reads them: words as they are, others with their name, "sessions 5".
    pub(crate) fn label_of<S: AsRef<str>>(&self, names: &[S]) -> String {
        self.labelled(names, |name| name.to_owned())
    }

    /// The same for who does not know the file: `delayed_ack` is two words.
    pub(crate) fn words_of<S: AsRef<str>>(&self, names: &[S]) -> String {
        self.labelled(names, |name| name.replace('_', " "))
    }

    fn labelled<S: AsRef<str>>(&self, names: &[S], worded: impl Fn(&str) -> String) -> String {
        let parts: Vec<String> = self
            .varied
            .iter()
            .filter(|(name, value)| value.as_str() != Some(NOTHING) && names.iter().any(|n| n.as_ref() == name))
            .map(|(name, value)| match value {
                toml::Value::String(text) if is_word(text) => text.clone(),
                toml::Value::Boolean(on) => format!("{} {}", worded(name), if *on { "on" } else { "off" }),
                toml::Value::String(_)
                | toml::Value::Integer(_)
                | toml::Value::Float(_)
                | toml::Value::Datetime(_)
                | toml::Value::Array(_)
                | toml::Value::Table(_) => format!("{} {}", worded(name), shown(value)),
            })
            .collect();
        parts.join(", ")
    }

    /// All that is varied: "48 KiB, sessions 5". Empty where nothing is.
    #[must_use]
    pub fn label(&self) -> String {
        let names: Vec<&String> = self.varied.iter().map(|(name, _)| name).collect();
        self.label_of(&names)
    }

    /// The curve or column that the point belongs to.
    #[must_use]
    pub fn series(&self) -> String {
        self.label_of(&self.scenario.report.series)
    }

    /// The value of a varied name.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&toml::Value> {
        self.varied.iter().find(|(n, _)| n == name).map(|(_, value)| value)
    }

    /// What is varied as result rows carry it: under the names that `[report.rows]` gives, otherwise under its own with
    /// its unit added (`window_bytes`, `rtt_ms`), as numbers in that unit.
    #[must_use]
    pub fn parameters(&self) -> Vec<(String, Parameter)> {
        self.varied
            .iter()
            .map(|(name, value)| {
                let named = self.scenario.report.rows.get(name);
                let notation = self.notation(name).filter(|_| named.is_none() && value.as_str() != Some(NOTHING));
                if let Some(notation) = notation {
                    return notation.parameter(name, value);
                }
                let column = match named {
                    Some(column) => column.clone(),
                    None => format!("{name}{}", unit_suffix(name, value)),
                };
                let value = parameter(&column, value);
                (column, value)
            })
            .filter(|(column, _)| column != "series")
            .collect()
    }

    /// How many prices the scenario has in the place of those of profiles; nothing for none.
    fn own_prices(&self) -> String {
        match self.scenario.host.values().flat_map(|host| host.prices.values()).map(BTreeMap::len).sum() {
            0 => String::new(),
            1 => ", with a price of the scenario".to_owned(),
            count => format!(", with {count} prices of the scenario"),
        }
    }

    /// A row with everything that is known before the run: what it is of, where the paper stands, what the profiles
    /// were fitted to. `goodput_mbps`, `limit_mbps`, `bound_by` and `counters` are for the run to fill in.
    #[must_use]
    pub fn row(&self) -> Row {
        let compare = self.compare();
        let mut names: Vec<&str> = Vec::new();
        for host in self.scenario.host.values() {
            let name = host.profile_name();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let fit_points: usize = self.profiles().values().map(|profile| profile.fit_points.len()).sum();
        let fit_parameters: usize = self.profiles().values().map(|profile| profile.fit_parameters.len()).sum();
        let of_paper = self.scenario.paper.is_some() && self.scenario.report.shown().is_goodput();
        Row {
            paper: self.scenario.paper,
            figure: self.scenario.figure.clone(),
            series: self.series(),
            varied: self.parameters(),
            seed: self.scenario.run.seed,
            paper_mbps: compare.filter(|_| of_paper).map(|compare| compare.value),
            profile: names.join(", ") + &self.own_prices(),
            fitted: compare.is_some_and(|compare| compare.fitted),
            fit_points: u32::try_from(fit_points).unwrap_or(u32::MAX),
            fit_parameters: u32::try_from(fit_parameters).unwrap_or(u32::MAX),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Row::default()
        }
    }
}

/// Whether the value of `name` at `points` is known once those of `others` are: varied in lockstep with them, or not
/// varied at all.
pub(crate) fn follows<'a>(points: impl IntoIterator<Item = &'a Point>, name: &str, others: &[&str]) -> bool {
    let mut values = BTreeMap::new();
    points.into_iter().all(|point| {
        let others: Option<Vec<_>> = others.iter().map(|other| point.value(other)).collect();
        let (Some(others), Some(value)) = (others, point.value(name)) else {
            return true;
        };
        let others: Vec<String> = others.iter().map(ToString::to_string).collect();
        *values.entry(others).or_insert(value) == value
    })
}

/// A value as it is read in a table.
pub(crate) fn shown(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Integer(_)
        | toml::Value::Float(_)
        | toml::Value::Boolean(_)
        | toml::Value::Datetime(_)
        | toml::Value::Array(_)
        | toml::Value::Table(_) => value.to_string(),
    }
}

/// The value as a quantity, where it is one.
pub(crate) fn amount(value: &toml::Value) -> Option<Amount> {
    match value {
        toml::Value::String(text) => Amount::parse(text),
        toml::Value::Integer(n) => u64::try_from(*n).ok().map(Amount::Count),
        toml::Value::Float(_)
        | toml::Value::Boolean(_)
        | toml::Value::Datetime(_)
        | toml::Value::Array(_)
        | toml::Value::Table(_) => None,
    }
}

pub(crate) type Suffix = (&'static str, u64, fn(u64) -> Amount);

/// What a column's name ends in, and how many base units of which quantity that is.
pub(crate) const SUFFIXES: [Suffix; 13] = [
    ("_bytes", 1, |n| Amount::Size(Octets::new(n))),
    ("_octets", 1, |n| Amount::Size(Octets::new(n))),
    ("_kib", 1 << 10, |n| Amount::Size(Octets::new(n))),
    ("_mib", 1 << 20, |n| Amount::Size(Octets::new(n))),
    ("_ns", 1, |n| Amount::Time(Duration::from_nanos(n))),
    ("_us", 1_000, |n| Amount::Time(Duration::from_nanos(n))),
    ("_ms", 1_000_000, |n| Amount::Time(Duration::from_nanos(n))),
    ("_s", 1_000_000_000, |n| Amount::Time(Duration::from_nanos(n))),
    ("_bps", 1, |n| Amount::Rate(Rate::from_bits_per_second(n))),
    ("_kbps", 1_000, |n| Amount::Rate(Rate::from_bits_per_second(n))),
    ("_mbps", 1_000_000, |n| Amount::Rate(Rate::from_bits_per_second(n))),
    ("_gbps", 1_000_000_000, |n| Amount::Rate(Rate::from_bits_per_second(n))),
    ("_percent", 10_000_000_000, |n| Amount::Share(Share::from_base(n))),
];

/// How rows have the values of a name of which some are quantities and others are not: all in one column, so that each
/// can be found there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notation {
    /// As numbers in the unit with which the column's name ends: the others are bare shares, or nothing.
    Unit(&'static str),
    /// As they are written: some are words, or quantities of another kind.
    Words,
}

impl Notation {
    /// That of `values`, which the name `name` has; `None` where each says for itself what it is.
    pub(super) fn of<'a>(name: &str, values: impl Iterator<Item = &'a toml::Value>) -> Option<Self> {
        let values: Vec<&toml::Value> = values.filter(|value| value.as_str() != Some(NOTHING)).collect();
        let suffix = values.iter().map(|value| unit_suffix(name, value)).find(|suffix| !suffix.is_empty())?;
        let mut others = values.iter().filter(|value| unit_suffix(name, value) != suffix).peekable();
        others.peek()?;
        let is_nothing = |value: &toml::Value| amount(value).is_some_and(|amount| amount.base() == 0);
        let fits = |value: &&&toml::Value| is_nothing(value) || (suffix == PERCENT && bare_share(value).is_some());
        Some(if others.all(|value| fits(&value)) { Self::Unit(suffix) } else { Self::Words })
    }

    /// What a bare `value` is in the unit of the others, where it is another number there.
    pub(crate) fn number(self, value: &toml::Value) -> Option<f64> {
        bare_share(value).filter(|_| self == Self::Unit(PERCENT))
    }

    /// The column of `name`, and `value` in it.
    fn parameter(self, name: &str, value: &toml::Value) -> (String, Parameter) {
        match self {
            Self::Unit(suffix) => {
                let column = format!("{name}{suffix}");
                let value = self.number(value).map_or_else(|| parameter(&column, value), Parameter::Number);
                (column, value)
            }
            Self::Words => (name.to_owned(), Parameter::Text(shown(value))),
        }
    }
}

const PERCENT: &str = "_percent";

/// A share that is written as a part of one, in per cent.
fn bare_share(value: &toml::Value) -> Option<f64> {
    let part = match value {
        toml::Value::Float(part) => *part,
        toml::Value::Integer(part) => f64::from(i32::try_from(*part).ok()?),
        toml::Value::String(_)
        | toml::Value::Boolean(_)
        | toml::Value::Datetime(_)
        | toml::Value::Array(_)
        | toml::Value::Table(_) => return None,
    };
    (0.0..=1.0).contains(&part).then_some(part * 100.0)
}

fn unit_suffix(name: &str, value: &toml::Value) -> &'static str {
    if SUFFIXES.iter().any(|(suffix, ..)| name.ends_with(suffix)) {
        return "";
    }
    match amount(value) {
        Some(Amount::Size(_)) => "_bytes",
        Some(Amount::Time(_)) => "_ms",
        Some(Amount::Rate(_)) => "_mbps",
        Some(Amount::Share(_)) => PERCENT,
        Some(Amount::Count(_)) | None => "",
    }
}

fn parameter(column: &str, value: &toml::Value) -> Parameter {
    if let Some(amount) = amount(value) {
        if let Some((_, worth, kind)) = SUFFIXES.iter().find(|(suffix, ..)| column.ends_with(suffix))
            && (kind(amount.base()) == amount || amount.base() == 0)
        {
            return in_units(amount.base(), *worth);
        }
        if let Amount::Count(n) = amount {
            return Parameter::Count(n);
        }
    }
    match value {
        toml::Value::Boolean(on) => Parameter::Switch(*on),
        toml::Value::Float(x) => Parameter::Number(*x),
        toml::Value::Integer(_)
        | toml::Value::String(_)
        | toml::Value::Datetime(_)
        | toml::Value::Array(_)
        | toml::Value::Table(_) => Parameter::Text(shown(value)),
    }
}

fn in_units(base: u64, worth: u64) -> Parameter {
    if base.checked_rem(worth) == Some(0) {
        Parameter::Count(base.checked_div(worth).unwrap_or(base))
    } else {
        Parameter::Number(ratio(base, worth))
    }
}

/// `base / worth` for a figure.
#[expect(clippy::cast_precision_loss, reason = "a printed figure needs no more than 53 bits")]
pub(crate) const fn ratio(base: u64, worth: u64) -> f64 {
    base as f64 / worth as f64
}
