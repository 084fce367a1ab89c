//! A comparison as a table, as a figure, and as JSON Lines.

use kumiki_octets::text::counted;
use serde_json::{Map, Value, json};

use super::{Compared, Comparison, Difference, label};
use crate::figure::{Axis, Figure, Point as Mark, Scale, Series, Shape};
use crate::rows::{Parameter, Scope, beyond, bounds};
use crate::sources::{number, unit, words};
use crate::stats::{Summary, written};
use crate::table::{Cell, Table};

/// So many points that only one has are named.
const NAMED: usize = 6;
/// More names do not fit below a figure.
const MOST_NAMES: usize = 24;

impl Comparison {
    /// The values of all, and the differences from the first.
    #[must_use]
    pub fn table(&self) -> Table {
        let largest = self.points.iter().flat_map(|it| it.sides.iter().flatten()).map(|it| it.mean.abs());
        let decimals = match largest.fold(0.0, f64::max) {
            it if it < 2.0 => 4,
            it if it < 20.0 => 3,
            it if it < 10_000.0 => 2,
            _ => 0,
        };
        let mut columns = Vec::new();
        for (place, name) in self.sides.iter().enumerate() {
            columns.push(name.clone());
            if place > 0 {
                columns.push(if self.sides.len() > 2 {
                    format!("{name}: difference")
                } else {
                    "difference".to_owned()
                });
            }
        }
        let row = |point: &Compared| {
            let cell =
                |side: &Option<Summary>| side.as_ref().map_or_else(Cell::empty, |it| Cell::summary(it, decimals));
            let mut cells: Vec<Cell> = point.sides.first().map(cell).into_iter().collect();
            let mut differences = self.differences(point);
            for side in point.sides.iter().skip(1) {
                cells.push(cell(side));
                let difference = if side.is_some() { differences.next() } else { None };
                cells.push(difference.map_or_else(Cell::empty, |(_, it)| Cell::text(shown(&it, decimals))));
            }
            (label(&point.key, &point.varied, None), cells)
        };
        let unit = match unit(&self.value) {
            "" => String::new(),
            unit => format!(" ({unit})"),
        };
        Table {
            title: format!("{}{unit}: {}", words(&self.value), self.sides.join(", ")),
            corner: "point".to_owned(),
            columns,
            rows: self.points.iter().map(row).collect(),
            legend: self.legend(),
        }
    }

    fn legend(&self) -> Vec<String> {
        let baseline = self.sides.first().map_or("", String::as_str);
        let mut legend = vec![format!("difference: from {baseline}, also in per cent of it")];
        let all = || self.points.iter().flat_map(|point| self.differences(point));
        let without = all().filter(|(_, it)| it.half_width.is_none()).count();
        legend.extend(self.of_intervals(without < all().count()));
        let runs = |wanted: &dyn Fn(&Summary) -> bool| {
            self.points.iter().any(|point| point.sides.iter().flatten().any(wanted))
        };
        if without > 0 {
            let why = match (runs(&|it| it.n == 1), runs(&|it| it.n > 1)) {
                (true, _) => "of a single run nothing says how far a difference is chance",
                (false, _) => "all runs of a point were equal",
            };
            legend.push(format!(
                "{without} of {} without an interval: {why}",
                counted(all().count() as u64, "difference")
            ));
        }
        if self.equal > 0 {
            let counted =
                if self.equal == 1 { "1 difference is".to_owned() } else { format!("{} differences are", self.equal) };
            let left = if self.options.changed { "; points at which all are so are left out" } else { "" };
            legend.push(format!("{counted} none at all, to the last digit{left}"));
        }
        if let Some(name) = &self.hint {
            legend.push(format!(
                "no point is in {baseline} and another one; without {name}, which differs, some would be: --over {name}"
            ));
        }
        for (name, labels) in &self.alone {
            let points = if labels.len() == 1 { "1 point".to_owned() } else { format!("{} points", labels.len()) };
            let more = labels.len().saturating_sub(NAMED);
            let named = labels.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; ");
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            legend.push(format!("{points} only in {name}: {named}{more}"));
        }
        legend.extend(self.notes.iter().cloned());
        legend
    }

    /// What `+-` is; of differences, where some have one.
    fn of_intervals(&self, of_differences: bool) -> Vec<String> {
        let level = self.options.level.percent();
        let sides = || self.points.iter().flat_map(|point| point.sides.iter().flatten());
        let has_means = sides().any(|it| it.n > 1 && it.half_width.is_some());
        let has_own = sides().any(|it| it.n == 1 && it.half_width.is_some());
        // Welch's is of two means; where one is a single run, its own interval is all that is known of it.
        let has_welch = self.points.iter().any(|point| {
            let mut sides = point.sides.iter().flatten().map(|it| it.n > 1);
            point.sides.first().is_some_and(Option::is_some) && sides.next() == Some(true) && sides.any(|it| it)
        });
        let outside = if of_differences { "; * zero is outside of that" } else { "" };
        let mut said = Vec::new();
        if has_means {
            let welch = if of_differences && has_welch { ", and of the difference of means (Welch)" } else { "" };
            let end = if has_own { "" } else { outside };
            said.push(format!("+-: half the {level} % interval of the mean{welch}{end}"));
        }
        if has_own {
            let squares = if of_differences {
                ", and of a difference in which there is one the root of the sum of the squares"
            } else {
                ""
            };
            said.push(format!(
                "+- of a single run: its own interval, 95 % of its batches, or as measured{squares}{outside}"
            ));
        }
        said.extend(beyond(&self.value, sides()));
        said
    }

    /// Of each paper's figure two panels: the values, and the differences in per cent. Empty where no point is in two
    /// results.
    #[must_use]
    pub fn figures(&self) -> Vec<Figure> {
        let mut groups: Vec<(String, Vec<&Compared>)> = Vec::new();
        for point in &self.points {
            let parts = [point.key.paper.map(|paper| format!("Paper {paper}")), Some(point.key.figure.clone())];
            let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
            let title = parts.join(", ");
            match groups.iter_mut().find(|(known, _)| *known == title) {
                Some((_, points)) => points.push(point),
                None => groups.push((title, vec![point])),
            }
        }
        groups.into_iter().flat_map(|(title, points)| self.panels(&title, &points)).collect()
    }

    fn panels(&self, title: &str, points: &[&Compared]) -> Vec<Figure> {
        let Some(axis) = self.axis(points) else {
            return Vec::new();
        };
        let (mut values, mut differences): (Vec<Series>, Vec<Series>) = (Vec::new(), Vec::new());
        for point in points {
            let Some(x) = axis.place(point) else {
                continue;
            };
            let own = if axis.name.is_some() {
                label(&point.key, &point.varied, axis.name.as_deref())
            } else {
                String::new()
            };
            let named = |name: &str| if own.is_empty() { name.to_owned() } else { format!("{name}, {own}") };
            for (place, (name, side)) in self.sides.iter().zip(&point.sides).enumerate() {
                let Some(side) = side else {
                    continue;
                };
                let label = named(name);
                if !values.iter().any(|it| it.label == label) {
                    // In both panels a result has the same pen, and the first has nothing to show in the second.
                    let label = if place == 0 { String::new() } else { label.clone() };
                    differences.push(Series { label, shape: axis.shape(), ..Series::default() });
                }
                let mark = Mark::with_half_width(x, side.mean, side.half_width).within(bounds(&self.value));
                add(&mut values, &label, axis.shape(), mark);
            }
            let baseline = point.sides.first().and_then(|it| it.as_ref()).map_or(0.0, |it| it.mean.abs());
            for (name, difference) in self.differences(point) {
                if let Some(percent) = difference.percent {
                    let half = difference.half_width.map(|half| 100.0 * half / baseline);
                    add(&mut differences, &named(name), axis.shape(), Mark::with_half_width(x, percent, half));
                }
            }
        }
        let title = if title.is_empty() { words(&self.value) } else { format!("{title}: {}", words(&self.value)) };
        let baseline = self.sides.first().map_or("", String::as_str);
        let figure = |title: String, y: Axis, mut series: Vec<Series>, caption: String| {
            for series in &mut series {
                series.points.sort_by(|a, b| a.x.total_cmp(&b.x));
            }
            let has_bars = series.iter().flat_map(|curve| &curve.points).any(|point| point.spread.is_some());
            let caption = if has_bars { caption } else { String::new() };
            Figure { title, x: axis.drawn.clone(), y, series, caption, ..Figure::default() }
        };
        let level = self.options.level.percent();
        let y = Axis { label: words(&self.value), unit: unit(&self.value).to_owned(), ..Axis::default() };
        let percent = Axis { label: format!("difference from {baseline}"), unit: "%".to_owned(), ..Axis::default() };
        let bars = format!("Bars: {level} % intervals, where there are several runs.");
        let own = match bounds(&self.value) {
            None => bars.clone(),
            Some((low, high)) => {
                format!("Bars: {level} % intervals between {low} and {high}, where there are several runs.")
            }
        };
        vec![figure(title, y, values, own), figure(format!("Difference from {baseline}"), percent, differences, bars)]
    }

    /// The horizontal axis: the one asked for, else the first varied name that has several numbers, else the points by
    /// name.
    fn axis(&self, points: &[&Compared]) -> Option<Horizontal> {
        let values = |name: &str| -> Vec<f64> {
            let mut values: Vec<f64> = points.iter().filter_map(|point| number(parameter(point, name)?)).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            values
        };
        let names: Vec<&str> = points.first()?.varied.iter().map(|(name, _)| name.as_str()).collect();
        let wanted = self.options.x.as_deref();
        let name = match wanted {
            Some(wanted) => names.iter().find(|name| crate::sources::is_same(wanted, name)),
            None => names.iter().find(|name| values(name).len() > 1),
        };
        let name = name.filter(|name| !values(name).is_empty());
        match name {
            Some(name) => {
                let is_octets = unit(name) == "octets" && values(name).iter().all(|it| *it > 0.0);
                let scale = if is_octets { Scale::Octets } else { Scale::Linear };
                let unit = if is_octets { String::new() } else { unit(name).to_owned() };
                let drawn = Axis { label: words(name), unit, scale, range: None };
                Some(Horizontal { name: Some((*name).to_owned()), names: Vec::new(), drawn })
            }
            None => {
                let labels: Vec<String> = points.iter().map(|point| label(&point.key, &point.varied, None)).collect();
                let drawn = Axis { scale: Scale::Names(labels.clone()), ..Axis::default() };
                (labels.len() <= MOST_NAMES).then_some(Horizontal { name: None, names: labels, drawn })
            }
        }
    }

    /// A line of JSON for each point and each result beside the first.
    #[must_use]
    pub fn to_jsonl(&self) -> String {
        let mut text = String::new();
        for point in &self.points {
            let Some(Some(first)) = point.sides.first() else {
                continue;
            };
            for ((name, difference), side) in self.differences(point).zip(point.sides.iter().skip(1).flatten()) {
                let varied: Map<String, Value> =
                    point.varied.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
                let scope = if point.key.flow.is_some() { Scope::Flow } else { self.options.scope };
                let line = json!({
                    "paper": point.key.paper, "figure": point.key.figure, "varied": varied,
                    "scope": scope, "load": point.key.load, "flow": point.key.flow, "value": self.value,
                    "baseline": { "name": self.sides.first(), "mean": first.mean, "runs": first.n },
                    "other": { "name": name, "mean": side.mean, "runs": side.n },
                    "difference": difference.value, "percent": difference.percent,
                    "half_width": difference.half_width, "level": self.options.level.percent(),
                    "certain": difference.half_width.map(|_| difference.is_certain()),
                });
                text.push_str(&line.to_string());
                text.push('\n');
            }
        }
        text
    }
}

/// "-0.56 +- 0.12  -0.42 % *".
fn shown(difference: &Difference, decimals: usize) -> String {
    let signed = |value: f64, decimals| {
        let sign = if value.is_sign_negative() { "" } else { "+" };
        format!("{sign}{}", written(value, decimals))
    };
    let mut text = signed(difference.value, decimals);
    if let Some(half) = difference.half_width {
        text.push_str(&format!(" +- {}", written(half, decimals)));
    }
    if let Some(percent) = difference.percent {
        text.push_str(&format!("  {} %", signed(percent, 2)));
    }
    if difference.half_width.is_some() {
        text.push_str(if difference.is_certain() { " *" } else { "  " });
    }
    text
}

fn parameter<'a>(point: &'a Compared, name: &str) -> Option<&'a Parameter> {
    point.varied.iter().find(|(own, _)| own == name).map(|(_, value)| value)
}

fn add(all: &mut Vec<Series>, label: &str, shape: Shape, mark: Mark) {
    match all.iter_mut().find(|series| series.label == label) {
        Some(series) => series.points.push(mark),
        None => all.push(Series { label: label.to_owned(), shape, points: vec![mark], ..Series::default() }),
    }
}

struct Horizontal {
    /// The varied name, where it is one.
    name: Option<String>,
    /// Those of the points, where it is none.
    names: Vec<String>,
    drawn: Axis,
}

impl Horizontal {
    fn place(&self, point: &Compared) -> Option<f64> {
        match &self.name {
            Some(name) => number(parameter(point, name)?),
            None => {
                let own = label(&point.key, &point.varied, None);
                let place = self.names.iter().position(|name| *name == own)?;
                u32::try_from(place).ok().map(f64::from)
            }
        }
    }

    const fn shape(&self) -> Shape {
        if self.name.is_some() { Shape::Line } else { Shape::Bars }
    }
}

impl Difference {
    /// "-3.21 % +- 0.4", or what is known of it.
    #[must_use]
    pub fn told(&self) -> String {
        let percent = self.percent.map_or_else(|| "from zero".to_owned(), |percent| format!("{percent:+.2} %"));
        match (self.half_width, self.percent) {
            (Some(half), Some(percent)) if self.value != 0.0 => {
                format!("{percent:+.2} % +- {:.2}", (half * percent / self.value).abs())
            }
            _ => percent,
        }
    }
}
