//! The figure of a scenario, where it has a horizontal axis.

use kumiki_octets::text::counted;

use super::{Failed, PointResult, Results};
use crate::figure::palette::COLOURS;
use crate::figure::{Axis, Figure, Limit, Point as Mark, Scale, Series, Shape};
use crate::rows::bounds;
use crate::scenario::label::{Notation, amount, follows, ratio, shown};
use crate::scenario::{Amount, Point, Report};
use crate::stats::Summary;

impl Results {
    /// One curve for each combination of what is not the horizontal axis. `None` where `[report]` names no axis.
    #[must_use]
    pub fn figure(&self) -> Option<Figure> {
        let (first, _) = self.points.first()?;
        let report = &first.scenario.report;
        let x_name = report.x.as_ref()?;
        let others = self.distinct(first, x_name);
        let x_values: Vec<&toml::Value> = self.points.iter().filter_map(|(p, _)| p.value(x_name)).collect();
        let axis = Horizontal::of(first.notation(x_name), &x_values);
        let drawn = DrawnPoints::of(self, report, (&others, x_name), &axis);
        let mut series = drawn.curves.0;
        if series.len() > COLOURS.len() {
            // The loads alone can be told apart the better. A value of a paper stays.
            series.retain(|curve| !drawn.totals.contains(&curve.label) || !curve.paper.is_empty());
        }
        let mut limits = extremes(drawn.limits);
        // Of candidates one has the value that is looked for, wherever it is: it is a line, and no point of theirs.
        let wanted = series.iter().flat_map(|curve| &curve.paper).map(|(_, y)| *y).reduce(f64::max);
        if let Some(y) = wanted.filter(|_| report.candidates) {
            series.iter_mut().for_each(|curve| curve.paper.clear());
            let label = if first.scenario.paper.is_some() { "the paper's value" } else { "expected" };
            limits.push(Limit { label: label.to_owned(), y });
        }
        series.extend(self.window_curves(&axis, x_name));
        for curve in &mut series {
            curve.points.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
        let scale = axis.scale(report.x_scale.as_deref(), &series);
        let caption = self.caption(first, &series);
        Some(Figure {
            title: self.title(),
            x: Axis {
                label: report.x_label.clone().unwrap_or_else(|| x_name.clone()),
                unit: if scale == Scale::Octets { "" } else { axis.unit }.to_owned(),
                scale,
                range: None,
            },
            y: Axis {
                label: self.shown().label(),
                unit: self.shown().unit().to_owned(),
                scale: Scale::Linear,
                range: report.y_range.map(|[low, high]| (low, high)),
            },
            series,
            limits,
            caption,
            whose: first.scenario.whose_values(),
            ..Figure::default()
        })
    }

    /// What the windows allow, one curve for each window, as far as the line allows it too.
    fn window_curves(&self, axis: &Horizontal, x_name: &str) -> Vec<Series> {
        let mut curves: Vec<Series> = Vec::new();
        for (point, result) in &self.points {
            let (Some(window), Ok(done)) = (&point.scenario.report.window, result) else {
                continue;
            };
            let x = point.value(x_name).and_then(|value| axis.place(value));
            let most = done.rows.first().and_then(|row| row.limit_mbps);
            let limit = window.limit_mbps().ok().flatten();
            let limit = limit.filter(|limit| most.is_none_or(|most| *limit < most));
            let (Some(x), Some(limit)) = (x, limit) else {
                continue;
            };
            let label = format!("{} in each round trip", window.octets);
            let mark = Mark::new(x, limit);
            match curves.iter_mut().find(|curve| curve.label == label) {
                Some(curve) if curve.points.contains(&mark) => {}
                Some(curve) => curve.points.push(mark),
                None => curves.push(Series { label, shape: Shape::Curve, points: vec![mark], ..Series::default() }),
            }
        }
        curves
    }

    /// The names that tell one curve from another: those of `[report] series` that differ, and of the others each that
    /// differs where those before it are the same.
    fn distinct<'a>(&self, first: &'a Point, x_name: &str) -> Vec<&'a String> {
        let series = &first.scenario.report.series;
        let names = first.varied.iter().map(|(name, _)| name);
        let (mut kept, others): (Vec<&String>, Vec<&String>) = names.partition(|name| series.contains(name));
        if kept.iter().any(|name| !self.follows(name, &[])) {
            kept.retain(|name| !self.follows(name, &[]));
        }
        for name in others {
            let known: Vec<&str> = kept.iter().map(|it| it.as_str()).chain([x_name]).collect();
            if !self.follows(name, &known) {
                kept.push(name);
            }
        }
        kept
    }

    /// Whether the value of `name` is known once those of `others` are: varied in lockstep with them, or not varied at
    /// all.
    pub(super) fn follows(&self, name: &str, others: &[&str]) -> bool {
        follows(self.points.iter().map(|(point, _)| point), name, others)
    }

    /// What stands below a figure of `series`.
    pub(super) fn caption(&self, first: &Point, series: &[Series]) -> String {
        let has_bars = series.iter().flat_map(|curve| &curve.points).any(|point| point.spread.is_some());
        let is_repeated = first.scenario.run.repeat.as_ref().is_some_and(|repeat| repeat.runs > 1);
        let runs = match (has_bars, is_repeated) {
            (true, _) => match bounds(self.shown().name()) {
                None => "Bars: confidence intervals.".to_owned(),
                Some((low, high)) => format!("Bars: confidence intervals, between {low} and {high}."),
            },
            (false, true) => self.of_how_many().unwrap_or_default(),
            (false, false) if self.are_single() => "One seed for each point.".to_owned(),
            (false, false) => String::new(),
        };
        self.captioned(first, &runs)
    }

    /// Of how many runs each value is that is shown; nothing where there is none.
    fn of_how_many(&self) -> Option<String> {
        let shown = self.shown();
        let of_point = |(point, result): &(Point, Result<PointResult, Failed>)| {
            let done = result.as_ref().ok()?;
            let loads = done.loads.iter().map(|(load, _)| Some(load)).chain([point.scenario.report.load.as_ref()]);
            Some(loads.map(|load| done.with_value(load, &shown)).filter(|(with, _)| *with > 0).collect::<Vec<_>>())
        };
        let counts: Vec<(usize, usize)> = self.points.iter().filter_map(of_point).flatten().collect();
        let fewest = counts.iter().map(|(with, _)| *with).min()?;
        let most = counts.iter().map(|(with, _)| *with).max()?;
        let all = counts.iter().map(|(_, all)| *all).max()?;
        let with = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
        Some(if fewest == all {
            format!("Each value is of {}.", counted(all as u64, "run"))
        } else {
            format!("Each value is of the runs that have one, {with} of {all}.")
        })
    }

    /// Whether each point was run once.
    fn are_single(&self) -> bool {
        self.points.iter().filter_map(|(_, result)| result.as_ref().ok()).all(|done| done.runs <= 1)
    }

    /// The caption with what it says of the runs.
    pub(super) fn captioned(&self, first: &Point, runs: &str) -> String {
        let mut profiles: Vec<&str> = Vec::new();
        for row in self.rows() {
            if !profiles.contains(&row.profile.as_str()) {
                profiles.push(&row.profile);
            }
        }
        let profiles = match profiles.as_slice() {
            [] => None,
            [only] if *only == crate::profile::ZERO => Some("What hosts do costs no time (profile zero).".to_owned()),
            [only] => Some(format!("Profile {only}.")),
            several => Some(format!("Profiles {}.", several.join(", "))),
        };
        let quick = self.is_shortened().then(|| "--quick: fewer points.".to_owned());
        let hollow =
            self.points.iter().any(|(point, _)| point.compare().is_some()).then(|| match first.scenario.paper {
                Some(_) => "Hollow: the paper's values.".to_owned(),
                None => "Hollow: the expected values.".to_owned(),
            });
        let parts: Vec<String> = first
            .scenario
            .report
            .caption
            .clone()
            .into_iter()
            .chain(profiles)
            .chain(Some(runs.to_owned()).filter(|runs| !runs.is_empty()))
            .chain(hollow)
            .chain(quick)
            .chain([format!("Kumiki {}.", env!("CARGO_PKG_VERSION"))])
            .collect();
        parts.join(" ")
    }
}

/// What is measured at `x`.
fn mark(x: f64, summary: &Summary, bound: String) -> Mark {
    Mark { bound, ..Mark::with_half_width(x, summary.mean, summary.half_width) }
}

/// What bound a load, or all together.
fn bound(result: &Result<PointResult, Failed>, load: Option<&String>) -> String {
    result.as_ref().map_or_else(|_| String::new(), |done| done.bound(load))
}

/// Of more limits than there is room to name, the lowest and the highest.
pub(super) fn extremes(mut limits: Vec<Limit>) -> Vec<Limit> {
    const MOST: usize = 3;
    if limits.len() <= MOST {
        return limits;
    }
    limits.sort_by(|a, b| a.y.total_cmp(&b.y));
    let ends = [limits.first(), limits.last()].into_iter().flatten().zip(["the lowest", "the highest"]);
    ends.map(|(limit, which)| Limit { label: format!("{}, {which}", limit.label), y: limit.y }).collect()
}

/// Curves in the order in which they were first named.
#[derive(Default)]
struct Curves(Vec<Series>);

impl Curves {
    /// Has `add` change the curve called `label`, which is made where there is none.
    fn with(&mut self, label: &str, shape: Shape, add: impl FnOnce(&mut Series)) {
        if let Some(curve) = self.0.iter_mut().find(|it| it.label == label) {
            return add(curve);
        }
        let mut curve = Series { label: label.to_owned(), shape, ..Series::default() };
        add(&mut curve);
        self.0.push(curve);
    }
}

/// What points give a figure, as they are gone through.
struct DrawnPoints<'a> {
    /// What the first of them says of how they are shown.
    report: &'a Report,
    curves: Curves,
    limits: Vec<Limit>,
    /// The curves that are of all loads together, where each load has one of its own.
    totals: Vec<String>,
}

impl<'a> DrawnPoints<'a> {
    /// Those of `results` on `axis`, which is that of the name `x_name`, with a curve for each combination of `others`.
    fn of(results: &Results, report: &'a Report, (others, x_name): (&[&String], &str), axis: &Horizontal) -> Self {
        let are_several =
            results.points.iter().any(|(_, result)| result.as_ref().is_ok_and(|done| !done.loads.is_empty()));
        let mut drawn = Self { report, curves: Curves::default(), limits: Vec::new(), totals: Vec::new() };
        for (point, result) in &results.points {
            if let Some(x) = point.value(x_name).and_then(|value| axis.place(value)) {
                drawn.add((point, result), (x, axis.shape()), &point.words_of(others), are_several);
            }
        }
        drawn
    }

    /// A point at `x`, whose curves are called after `label`.
    fn add(
        &mut self,
        (point, result): (&Point, &Result<PointResult, Failed>),
        (x, shape): (f64, Shape),
        label: &str,
        are_several: bool,
    ) {
        let report = self.report;
        let ends = bounds(report.shown().name());
        let named = |name: &str| if label.is_empty() { name.to_owned() } else { format!("{label}, {name}") };
        // Each load has a curve, where there are several and none of them is the one, and their total has.
        for (name, summary) in result.as_ref().map_or(&[][..], |done| &done.loads) {
            let mark = mark(x, summary, bound(result, Some(name))).within(ends);
            self.curves.with(&named(name), shape, |curve| curve.points.push(mark));
        }
        let label = if are_several { named(TOTAL) } else { label.to_owned() };
        if are_several && !self.totals.contains(&label) {
            self.totals.push(label.clone());
        }
        if let Some(compare) = point.compare() {
            self.curves.with(&label, shape, |curve| curve.paper.push((x, compare.value)));
        }
        let found = result.as_ref().ok().and_then(|done| Some((done, done.summary?)));
        let Some((done, summary)) = found else {
            self.curves.with(&label, shape, |_| {});
            return;
        };
        let mark = mark(x, &summary, bound(result, report.load.as_ref())).within(ends);
        self.curves.with(&label, shape, |curve| curve.points.push(mark));
        if report.limit.as_deref().is_some_and(|limit| limit != "none") && report.shown().is_goodput() {
            for (label, y) in &done.limits {
                let limit = Limit { label: label.clone(), y: *y };
                if !self.limits.contains(&limit) {
                    self.limits.push(limit);
                }
            }
        }
    }
}

/// What stands for all loads together.
pub(super) const TOTAL: &str = "total";

/// The unit of sizes.
const OCTETS: &str = "B";

/// From the least to the greatest it is this factor or more: sizes are then chosen by factors, not by steps.
const WIDE: f64 = 8.0;

fn is_wide<'a>(points: impl Iterator<Item = &'a Mark>) -> bool {
    let (least, most) = points.fold((f64::INFINITY, 0.0_f64), |(least, most), it| (least.min(it.x), most.max(it.x)));
    least > 0.0 && most >= WIDE * least
}

/// How the values of the horizontal axis become numbers.
struct Horizontal {
    /// Their names, where they are words or switches rather than numbers.
    names: Option<Vec<String>>,
    unit: &'static str,
    worth: u64,
    /// How rows have them, where that is not for each to say.
    notation: Option<Notation>,
}

impl Horizontal {
    fn of(notation: Option<Notation>, values: &[&toml::Value]) -> Self {
        let is_number = |value: &&&toml::Value| amount(value).is_some() || value.is_float();
        if notation == Some(Notation::Words) || !values.iter().all(|value| is_number(&value)) {
            let mut names: Vec<String> = Vec::new();
            for value in values {
                let name = shown(value);
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            return Self { names: Some(names), unit: "", worth: 1, notation };
        }
        // A bare zero says nothing about the unit.
        let kinds = values.iter().filter_map(|value| amount(value));
        let kind = kinds.rev().find(|amount| !matches!(amount, Amount::Count(_)));
        let (unit, worth) = match kind {
            Some(Amount::Size(_)) => (OCTETS, 1),
            Some(Amount::Time(_)) => ("ms", 1_000_000),
            Some(Amount::Rate(_)) => ("Mb/s", 1_000_000),
            Some(Amount::Share(_)) => ("%", 10_000_000_000),
            Some(Amount::Count(_)) | None => ("", 1),
        };
        Self { names: None, unit, worth, notation }
    }

    /// How points on it are drawn.
    const fn shape(&self) -> Shape {
        if self.names.is_some() { Shape::Bars } else { Shape::Line }
    }

    /// The scale of it, where `asked` is, for what `series` have on it.
    fn scale(&self, asked: Option<&str>, series: &[Series]) -> Scale {
        match (&self.names, asked) {
            (Some(names), _) => Scale::Names(names.clone()),
            (None, Some("log2")) => Scale::Log2,
            (None, Some("octets")) => Scale::Octets,
            (None, None) if self.unit == OCTETS && is_wide(series.iter().flat_map(|it| &it.points)) => Scale::Octets,
            (None, _) => Scale::Linear,
        }
    }

    fn place(&self, value: &toml::Value) -> Option<f64> {
        match &self.names {
            Some(names) => {
                let name = shown(value);
                let place = names.iter().position(|known| *known == name)?;
                u32::try_from(place).ok().map(f64::from)
            }
            None => self
                .notation
                .and_then(|notation| notation.number(value))
                .or_else(|| value.as_float())
                .or_else(|| amount(value).map(|amount| ratio(amount.base(), self.worth))),
        }
    }
}
