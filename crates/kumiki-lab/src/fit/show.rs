//! What a fit says: tables, and the profile.

use kumiki_octets::text::counted;

use super::certainty::ALIKE;
use super::least::PriceRange;
use super::prices::Name;
use super::{Fitted, Values, root_mean};
use crate::profile;
use crate::rows::ValueName;
use crate::scenario::ConfigError;
use crate::table::{Cell, Table};

/// What is said of a price that does too little to be fitted.
const UNSEEN: &str = "cannot be seen above the steps of runs, wherever in its range";

impl Fitted {
    /// How far off everything is, by the root of the mean square of relative errors: what was fitted to, and what was
    /// held out, if anything was.
    pub(super) fn off(&self, values: &Values) -> (f64, Option<f64>) {
        let of = |held_out: bool| {
            let errors: Vec<f64> = self.task.errors(values, held_out).flatten().collect();
            (!errors.is_empty()).then(|| 100.0 * root_mean(super::least::sum(&errors), errors.len()))
        };
        (of(false).unwrap_or(0.0), of(true))
    }

    /// The prices: where they began, what they are, and between which ends that is.
    #[must_use]
    pub fn prices(&self) -> Table {
        let level = self.task.options.level.percent();
        let rows = self.all().map(|(place, name, range, ps)| {
            let cells = [
                Cell::text(name.text(range.start)),
                Cell::text(name.text(ps)),
                Cell::text(self.interval(place, name, ps).unwrap_or_else(|| self.unknown(place))),
                Cell::text(format!("{} .. {}", name.text(range.low), name.text(range.high))),
            ];
            (name.short(), cells.to_vec())
        });
        Table {
            title: format!("Prices of {}, fitted to {}", self.task.base, self.task.source),
            corner: "price".to_owned(),
            columns: ["before", "fitted", &format!("{level} % interval"), "range"].map(str::to_owned).to_vec(),
            rows: rows.collect(),
            legend: self.legend(),
        }
    }

    fn all(&self) -> impl Iterator<Item = (usize, &Name, &PriceRange, f64)> {
        let all = self.names.iter().zip(&self.ranges).zip(&self.prices).enumerate();
        all.map(|(place, ((name, range), ps))| (place, name, range, *ps))
    }

    /// "450 us .. 470 us"; nothing where it is wider than the range that a price may have, or than slopes at one place
    /// can say of prices of which the one makes up for the other.
    fn interval(&self, place: usize, name: &Name, ps: f64) -> Option<String> {
        let factor = self.certainty.factors.get(place).copied().flatten()?;
        let range = self.ranges.get(place)?;
        let is_known = is_narrower(factor, range) && self.certainty.not_told_from(place).is_none();
        is_known.then(|| format!("{} .. {}", name.text(ps / factor), name.text(ps * factor)))
    }

    /// Why a price has no interval.
    fn unknown(&self, place: usize) -> String {
        if let Some(other) = self.certainty.not_told_from(place) {
            return format!("none: it is known only together with {}", self.name(other));
        }
        let is_wide = self.certainty.factors.get(place).is_some_and(Option::is_some);
        if is_wide { "wider than its range" } else { "not known" }.to_owned()
    }

    fn name(&self, place: usize) -> String {
        self.names.get(place).map(Name::short).unwrap_or_default()
    }

    fn legend(&self) -> Vec<String> {
        let (before, held_before) = self.off(&self.before);
        let (after, held_after) = self.off(&self.after);
        let mut legend = vec![format!("off, root of the mean square: {before:.2} % before, {after:.2} % now")];
        if let (Some(before), Some(after)) = (held_before, held_after) {
            legend.push(format!("held out, and so predicted: {before:.2} % before, {after:.2} % now"));
        }
        for (a, b, r) in &self.certainty.alike {
            let what = if *r < 0.0 { "one more and the other less" } else { "both more, or both less" };
            legend.push(format!(
                "{} and {} are not told apart by these measurements: {what} does the same (correlation {r:.3})",
                self.name(*a),
                self.name(*b)
            ));
        }
        if !self.certainty.alike.is_empty() {
            legend.push(format!(
                "so only what they make together is known; hold one of them fast, or measure where they differ (|r| above {ALIKE} is named)"
            ));
        }
        for place in &self.certainty.idle {
            legend.push(format!("{} {UNSEEN}: what stands here is not measured", self.name(*place)));
        }
        for (_, name, range, ps) in self.all() {
            let at_end = |end: f64| (ps / end - 1.0).abs() < 1e-6;
            if at_end(range.low) || at_end(range.high) {
                legend.push(format!("{} is at the end of its range", name.short()));
            }
        }
        legend.extend(self.notes.iter().cloned());
        legend.push(format!(
            "condition {:.1}; {}, {} of {}",
            self.certainty.condition,
            counted(self.steps, "step"),
            counted(self.runs, "run"),
            counted(self.task.points.len(), "point")
        ));
        legend
    }

    /// Each measurement, and what comes out there.
    #[must_use]
    pub fn residuals(&self) -> Table {
        let value = &self.task.value;
        let unit = if value.unit().is_empty() { String::new() } else { format!(" ({})", value.unit()) };
        let mut rows = Vec::new();
        for it in &self.task.measurements {
            let ours = |values: &Values| values.get(it.point).copied().flatten();
            let error = |ours: f64| Cell::text(format!("{:+.2} %", 100.0 * (ours / it.value - 1.0)));
            let cell = |ours: Option<f64>, cell: &dyn Fn(f64) -> Cell| ours.map_or_else(|| Cell::text("none"), cell);
            let cells = vec![
                Cell::number(it.value, 3),
                cell(ours(&self.after), &|ours| Cell::number(ours, 3)),
                cell(ours(&self.after), &error),
                cell(ours(&self.before), &error),
                Cell::text(if it.is_held_out { "held out" } else { "" }),
            ];
            rows.push((self.task.label(it.point), cells));
        }
        Table {
            title: format!("{}{unit}: what was measured, and what comes out", value.label()),
            corner: "point".to_owned(),
            columns: ["measured", "fitted", "off", "before", ""].map(str::to_owned).to_vec(),
            rows,
            legend: Vec::new(),
        }
    }

    /// The profile with what was fitted, as TOML: ready for `profile = "./NAME.toml"` of a host.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] where the profile that it is like is a file that cannot be read any more.
    pub fn profile(&self) -> Result<String, ConfigError> {
        let mut table = self.base_table()?;
        let fitted: Vec<_> = self.task.measurements.iter().filter(|it| !it.is_held_out).collect();
        let insert = |table: &mut toml::Table, key: &str, value: toml::Value| drop(table.insert(key.to_owned(), value));
        insert(&mut table, "title", format!("{}, fitted to {}", self.task.profile.title, self.task.source).into());
        insert(&mut table, "about", self.about(fitted.len()).into());
        let unit =
            |value: &ValueName| if value.unit().is_empty() { String::new() } else { format!(" {}", value.unit()) };
        let points = fitted.iter().map(|it| {
            format!("{}{}, {} (line {})", it.value, unit(&self.task.value), self.task.label(it.point), it.line)
        });
        // What was fitted before and is not fitted again still rests on its values.
        let is_idle = |place: &usize| self.certainty.idle.contains(place);
        let ours: Vec<String> =
            self.all().filter(|(place, ..)| !is_idle(place)).map(|(_, name, ..)| name.short()).collect();
        let before = &self.task.profile;
        let kept: Vec<String> = before.fit_parameters.iter().filter(|it| !ours.contains(it)).cloned().collect();
        let before = if kept.is_empty() { Vec::new() } else { before.fit_points.clone() };
        let list = |items: Vec<String>| toml::Value::Array(items.into_iter().map(toml::Value::String).collect());
        insert(&mut table, "fit_points", list(before.into_iter().chain(points).collect()));
        insert(&mut table, "fit_parameters", list(kept.into_iter().chain(ours).collect()));
        let level = self.task.options.level.percent();
        for (place, name, _, ps) in self.all() {
            let from = if is_idle(&place) {
                // What was the profile's before is not ours to source.
                if name.value(&self.task.profile) == Some(ps) {
                    continue;
                }
                format!("not fitted: it {UNSEEN}, in {}", self.task.source)
            } else {
                let interval = self.interval(place, name, ps).unwrap_or_else(|| self.unknown(place));
                format!("fitted: {} of {}, {level} % interval {interval}", self.task.value.label(), self.task.source)
            };
            let sourced = toml::Table::from_iter([
                ("value".to_owned(), toml::Value::from(name.text(ps))),
                ("from".to_owned(), toml::Value::from(from)),
            ]);
            put(&mut table, &name.0, sourced);
        }
        Ok(written(&table))
    }

    /// What the profile says of itself, which was fitted to so many measurements.
    fn about(&self, fitted: usize) -> String {
        let (off, held) = self.off(&self.after);
        let held_out = self.task.measurements.len() - fitted;
        let held = held.map_or_else(String::new, |held| format!(", {held:.2} % at {held_out} that were held out"));
        let alike: String = self
            .certainty
            .alike
            .iter()
            .map(|(a, b, _)| {
                format!(
                    " {} and {} are not told apart: only what they make together is known.",
                    self.name(*a),
                    self.name(*b)
                )
            })
            .collect();
        let version = env!("CARGO_PKG_VERSION");
        let these = if fitted == 1 { "it" } else { "these" };
        format!(
            "Fitted by Kumiki {version} to {} of {} with the scenario {}: {off:.2} % off at {these}{held}.{alike}",
            counted(fitted, "measurement"),
            self.task.source,
            self.task.scenario
        )
    }

    /// What the profile begins with: that it is like one of the repository's, or all that the file says.
    fn base_table(&self) -> Result<toml::Table, ConfigError> {
        let base = &self.task.base;
        if profile::names().contains(&base.as_str()) {
            return Ok(toml::Table::from_iter([("like".to_owned(), toml::Value::from(base.clone()))]));
        }
        let text = kumiki_config::error::read_file(std::path::Path::new(base))?;
        text.parse().map_err(|why: toml::de::Error| ConfigError::new(why.message().to_owned()).in_file(base))
    }
}

/// Whether an interval from a price by `factor` down to a price by `factor` up is narrower than `range`, both as ratios
/// of their ends.
fn is_narrower(factor: f64, range: &PriceRange) -> bool {
    factor * factor < range.high / range.low
}

/// A profile as those of the repository are written: what it is first, and a line for each price.
fn written(profile: &toml::Table) -> String {
    const FIRST: [&str; 5] = ["like", "title", "about", "fit_points", "fit_parameters"];
    let mut text = String::new();
    let is_value = |value: &toml::Value| !value.is_table();
    let rest = profile.keys().map(String::as_str).filter(|key| !FIRST.contains(key));
    for key in FIRST.into_iter().chain(rest) {
        match profile.get(key) {
            Some(toml::Value::Array(items)) if FIRST.contains(&key) => {
                let items: String = items.iter().map(|item| format!("    {item},\n")).collect();
                text.push_str(&format!("{key} = [\n{items}]\n"));
            }
            Some(value) if is_value(value) => text.push_str(&format!("{} = {value}\n", quoted(key))),
            _ => {}
        }
    }
    for (key, table) in profile.iter().filter_map(|(key, value)| Some((key, value.as_table()?))) {
        tables(&quoted(key), table, &mut text);
    }
    text
}

/// A table with its values, then those in it; a value with its source is one line.
fn tables(path: &str, table: &toml::Table, text: &mut String) {
    let is_line = |value: &toml::Value| value.as_table().is_none_or(|it| it.contains_key("value"));
    let (lines, others): (Vec<_>, Vec<_>) = table.iter().partition(|(_, value)| is_line(value));
    if !lines.is_empty() {
        text.push_str(&format!("\n[{path}]\n"));
    }
    for (key, value) in lines {
        let value = match value.as_table() {
            Some(sourced) => {
                let parts: Vec<String> =
                    sourced.iter().rev().map(|(key, value)| format!("{} = {value}", quoted(key))).collect();
                format!("{{ {} }}", parts.join(", "))
            }
            None => value.to_string(),
        };
        text.push_str(&format!("{} = {value}\n", quoted(key)));
    }
    for (key, table) in others.into_iter().filter_map(|(key, value)| Some((key, value.as_table()?))) {
        tables(&format!("{path}.{}", quoted(key)), table, text);
    }
}

/// A key as TOML has it.
fn quoted(key: &str) -> String {
    let is_bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if is_bare { key.to_owned() } else { toml::Value::from(key).to_string() }
}

/// Puts `value` at a path, with tables where there are none.
fn put(table: &mut toml::Table, path: &[String], value: toml::Table) {
    let Some((last, above)) = path.split_last() else {
        return;
    };
    let mut table = table;
    for key in above {
        let entry = table.entry(key.clone()).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        let toml::Value::Table(inner) = entry else {
            return;
        };
        table = inner;
    }
    table.insert(last.clone(), toml::Value::Table(value));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An interval that reaches by a factor of 40 to both sides is 1600 times as wide as its lower end, and wider than
    /// 12 us .. 1200 us.
    #[test]
    fn an_interval_is_as_wide_as_both_of_its_sides() {
        let range = PriceRange { start: 120e6, low: 12e6, high: 1200e6 };
        assert!(is_narrower(9.9, &range) && !is_narrower(10.1, &range) && !is_narrower(40.0, &range));
    }
}
