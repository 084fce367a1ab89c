//! What the paper says of whole curves, beside ours.

use super::Results;
use super::verdicts::{AGREEMENT, Verdict};
use crate::scenario::label::shown;
use crate::scenario::{Point, Trend};
use kumiki_config::quantity::Share;

/// "path line, tpdu 512 B".
pub(super) fn named(table: &toml::Table) -> String {
    let parts: Vec<String> = table.iter().map(|(name, value)| part(name, value)).collect();
    parts.join(", ")
}

/// "rtt algorithm paper", "nagle off".
pub(super) fn part(name: &str, value: &toml::Value) -> String {
    let value = match value {
        toml::Value::Boolean(on) => if *on { "on" } else { "off" }.to_owned(),
        toml::Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(" or "),
        toml::Value::String(_)
        | toml::Value::Integer(_)
        | toml::Value::Float(_)
        | toml::Value::Datetime(_)
        | toml::Value::Table(_) => shown(value),
    };
    format!("{} {value}", name.replace('_', " "))
}

impl Results {
    /// Whether the curve is where the paper has it. Nothing where none of the points was asked for.
    fn between(&self, trend: &Trend, values: &[(&Point, f64)], low: f64, high: f64) -> Option<(Verdict, String)> {
        let wanted = self.points.iter().map(|(point, _)| point);
        let wanted = wanted.filter(|point| point.is_at(&trend.of) && point.is_at(&trend.at));
        let left_out = self.left_out.iter().filter(|point| point.is_at(&trend.of) && point.is_at(&trend.at));
        let wanted = wanted.count() + left_out.count();
        let there = values.iter().filter(|(point, _)| point.is_at(&trend.at));
        let numbers: Vec<(String, f64)> = there.map(|(point, mean)| (self.at(point), *mean)).collect();
        let means: Vec<f64> = numbers.iter().map(|(_, mean)| *mean).collect();
        let least = means.iter().copied().reduce(f64::min)?;
        let most = means.iter().copied().reduce(f64::max)?;
        let within = trend.within.unwrap_or(0.0);
        let fitted = if trend.fitted { "fitted" } else { "predicted" };
        let verdict = if least < low - within || most > high + within {
            "; missed".to_owned()
        } else if means.len() < wanted {
            format!("; only {} of {wanted} points are there", means.len())
        } else {
            String::new()
        };
        let line = format!(
            "{}: {least:.2} to {most:.2}; paper {low} to {high} ({}, {fitted}){verdict}",
            named(&trend.of),
            trend.from
        );
        let (least, most) = (Some(low - within), Some(high + within));
        let verdict = Verdict { least, most, ..self.of_trend(trend, "goodput", "Mb/s") };
        Some((verdict.judged(&numbers, means.len() == wanted), line))
    }

    /// A verdict of a trend with nothing judged yet.
    fn of_trend(&self, trend: &Trend, statement: &str, unit: &'static str) -> Verdict {
        let verdict = self.verdict(statement, &trend.from, unit);
        Verdict { fitted: trend.fitted, ours_reading: trend.reading.is_some(), ..verdict }
    }

    /// A line for each trend of the scenario for which there are points.
    pub(super) fn trends(&self) -> Vec<String> {
        let Some((first, _)) = self.points.first() else {
            return Vec::new();
        };
        let trends = &first.scenario.trend;
        trends.iter().filter_map(|trend| Some(self.trend(trend)?.1)).collect()
    }

    /// What became of a trend, and the line that says it.
    pub(super) fn trend(&self, trend: &Trend) -> Option<(Verdict, String)> {
        let curve = self.points.iter().filter(|(point, _)| point.is_at(&trend.of));
        let values: Vec<_> =
            curve.filter_map(|(point, done)| Some((point, done.as_ref().ok()?.summary?.mean))).collect();
        if let Some([low, high]) = trend.between_mbps {
            return self.between(trend, &values, low, high);
        }
        let peak = values.iter().map(|(_, mean)| *mean).reduce(f64::max)?;
        if trend.below_peak.is_some() && peak <= 0.0 {
            let verdict = self.of_trend(trend, "below the peak", "%").judged(&[], false);
            return Some((verdict, format!("{}: nothing arrived, so there is no peak", named(&trend.of))));
        }
        let (ours, paper, what) = if let Some(paper) = trend.below_peak.map(Share::as_percent) {
            let (_, mean) = values.iter().find(|(point, _)| point.is_at(&trend.at))?;
            let fall = (peak - mean) / peak * 100.0;
            (fall, paper, format!("{fall:.2} % below its peak of {peak:.2} at {}", named(&trend.at)))
        } else {
            (peak, trend.peak_mbps?, format!("peak {peak:.2}"))
        };
        let left_out = self.left_out(&trend.of);
        let unit = if trend.below_peak.is_some() { " %" } else { "" };
        let fitted = if trend.fitted { ", fitted" } else { ", predicted" };
        let verdict = match trend.within {
            Some(within) if (ours - paper).abs() > within => {
                format!("; missed: {within}{unit} would be agreement")
            }
            Some(_) | None if left_out > 0 => {
                format!("; only {} of {} points are there", values.len(), values.len() + left_out)
            }
            Some(_) | None => String::new(),
        };
        let line = format!(
            "{}: {what}; paper {paper}{unit} ({}{fitted}), difference {:+.2}{verdict}",
            named(&trend.of),
            trend.from,
            ours - paper,
        );
        let (statement, unit) = if unit.is_empty() { ("peak", "Mb/s") } else { ("below the peak", "%") };
        let within = trend.within.unwrap_or(AGREEMENT * paper);
        let number = match unit {
            "%" => "how far goodput is below the highest of its curve",
            _ => "the highest goodput of the curve",
        };
        let verdict = Verdict {
            number: number.to_owned(),
            value: Some(paper),
            least: Some(paper - within),
            most: Some(paper + within),
            ..self.of_trend(trend, statement, unit)
        };
        let place = trend.of.clone().into_iter().chain(trend.at.clone()).collect();
        Some((verdict.judged(&[(named(&place), ours)], left_out == 0), line))
    }
}
