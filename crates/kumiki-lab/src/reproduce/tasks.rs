//! The time of tasks: a table and a figure of their own, and how much the time of some grows beside that of others.

use super::Results;
use super::trends::named;
use super::verdicts::Verdict;
use crate::figure::{Axis, Figure, Point as Mark, Scale, Series, Shape};
use crate::rows::{Parameter, Row};
use crate::scenario::{Growth, Point, Tasks};
use crate::table::{Cell, Table};

/// The time of one task at one point, in milliseconds.
struct Time<'a> {
    point: &'a Point,
    side: String,
    task: String,
    ms: f64,
}

impl<'a> Time<'a> {
    fn of(point: &'a Point, row: &Row) -> Option<Self> {
        let text = |name| match row.parameter(name)? {
            Parameter::Text(text) => Some(text.clone()),
            Parameter::Switch(_) | Parameter::Count(_) | Parameter::Number(_) => None,
        };
        let Parameter::Number(ms) = row.parameter("cpu_ms")? else {
            return None;
        };
        let (side, task, ms) = (text("side")?, text("task")?, *ms);
        Some(Self { point, side, task, ms })
    }
}

impl Results {
    fn wanted(&self) -> Option<&Tasks> {
        self.points.first()?.0.scenario.report.tasks.as_ref()
    }

    /// Those of all points, of the first repetition of each.
    fn times(&self) -> Vec<Time<'_>> {
        let done = self.points.iter().filter_map(|(point, result)| Some((point, result.as_ref().ok()?)));
        let rows = done.flat_map(|(point, done)| done.rows.iter().map(move |row| (point, row)));
        rows.filter(|(_, row)| row.repetition == 0).filter_map(|(point, row)| Time::of(point, row)).collect()
    }

    /// The host and the point that a time is of, in words.
    fn column(&self, time: &Time<'_>) -> String {
        let names: Vec<&String> = time.point.varied.iter().map(|(name, _)| name).collect();
        match time.point.label_of(&names) {
            label if label.is_empty() => time.side.clone(),
            label => format!("{}, {label}", time.side),
        }
    }

    /// Rows are the tasks, columns the hosts at each point. `None` where `[report]` names no tasks.
    #[must_use]
    pub fn task_table(&self) -> Option<Table> {
        let wanted = self.wanted()?;
        let times = self.times();
        let mut columns: Vec<String> = Vec::new();
        let heads = wanted.names.iter().cloned();
        let mut rows: Vec<(String, Vec<Cell>)> = heads.map(|name| (name, Vec::new())).collect();
        for time in &times {
            let name = self.column(time);
            let column = columns.iter().position(|known| *known == name);
            let column = column.unwrap_or_else(|| {
                columns.push(name);
                columns.len() - 1
            });
            let cells = rows.iter_mut().find(|(task, _)| *task == time.task);
            if let Some((_, cells)) = cells {
                if cells.len() <= column {
                    cells.resize(column + 1, Cell::empty());
                }
                if let Some(cell) = cells.get_mut(column) {
                    *cell = Cell::number(time.ms, 0);
                }
            }
        }
        let growth = self.growths().into_iter().map(|(_, line)| line);
        Some(Table {
            title: format!("{}: time of tasks (ms)", self.title()),
            corner: "task".to_owned(),
            columns,
            rows,
            legend: growth.collect(),
        })
    }

    /// Bars for each task, one series for each host at each point.
    #[must_use]
    pub fn task_figure(&self) -> Option<Figure> {
        let wanted = self.wanted()?;
        let mut series: Vec<Series> = Vec::new();
        for time in self.times() {
            let label = self.column(&time);
            let place = wanted.names.iter().position(|name| *name == time.task);
            let Some(x) = place.and_then(|place| u32::try_from(place).ok()) else {
                continue;
            };
            let mark = Mark::new(f64::from(x), time.ms);
            match series.iter_mut().find(|series| series.label == label) {
                Some(series) => series.points.push(mark),
                None => series.push(Series { label, shape: Shape::Bars, points: vec![mark], ..Series::default() }),
            }
        }
        let (first, _) = self.points.first()?;
        Some(Figure {
            title: self.title(),
            x: Axis { label: "task".to_owned(), scale: Scale::Names(wanted.names.clone()), ..Axis::default() },
            y: Axis { label: "CPU time".to_owned(), unit: "ms".to_owned(), ..Axis::default() },
            caption: self.caption(first, &series),
            series,
            ..Figure::default()
        })
    }

    /// What became of how tasks grow, and the lines that say it.
    pub(super) fn growths(&self) -> Vec<(Verdict, String)> {
        let times = self.times();
        let growth = self.wanted().into_iter().flat_map(|wanted| &wanted.growth);
        growth.flat_map(|growth| self.growth(growth, &times)).collect()
    }

    /// What became of `growth` on each host, for each pair of points that differ in nothing else.
    fn growth(&self, growth: &Growth, times: &[Time<'_>]) -> Vec<(Verdict, String)> {
        let mut lines = Vec::new();
        for (before, _) in self.points.iter().filter(|(p, _)| p.is_at(&growth.at)) {
            let others = |point: &Point| -> Vec<(String, toml::Value)> {
                let varied = point.varied.iter();
                let others = varied.filter(|(name, _)| !growth.at.contains_key(name));
                others.cloned().collect()
            };
            let pair = self.points.iter().map(|(point, _)| point);
            let after = pair.filter(|point| point.is_at(&growth.to)).find(|point| others(point) == others(before));
            let Some(after) = after else {
                continue;
            };
            let mut sides: Vec<&str> = times.iter().map(|time| time.side.as_str()).collect();
            sides.sort_unstable();
            sides.dedup();
            for side in sides {
                let one = |point: &Point, task: &String| {
                    let mut of = times
                        .iter()
                        .filter(|time| core::ptr::eq(time.point, point) && time.side == side && time.task == *task);
                    of.next().map(|time| time.ms)
                };
                // Nothing is said where a point has failed.
                let sum = |point: &Point, tasks: &[String]| -> Option<f64> {
                    tasks.iter().map(|task| one(point, task)).sum()
                };
                let grown = |tasks: &[String]| Some(sum(after, tasks)? - sum(before, tasks)?);
                if let (Some(of), Some(against)) = (grown(&growth.of), grown(&growth.against)) {
                    let place = place(side, &others(before));
                    let verdict = Verdict {
                        most: Some(growth.below),
                        fitted: growth.fitted,
                        ours_reading: growth.reading.is_some(),
                        ..self.verdict(&statement(growth), &growth.from, "")
                    };
                    // Where the others do not grow there is no part of it.
                    let ratio = (against > 0.0).then(|| of / against);
                    let line = line(growth, &place, (of, against), ratio);
                    let numbers: Vec<_> = ratio.map(|ratio| (place, ratio)).into_iter().collect();
                    lines.push((verdict.judged(&numbers, true), line));
                }
            }
        }
        lines
    }
}

/// Of which host, and at what else, a growth is.
fn place(side: &str, others: &[(String, toml::Value)]) -> String {
    let others: toml::Table = others.iter().cloned().collect();
    let place = [side.to_owned(), named(&others)];
    place.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// What is said of it.
fn statement(growth: &Growth) -> String {
    let (of, against) = (growth.of.join(" + "), growth.against.join(" + "));
    format!("growth of {of} as a part of that of {against}")
}

/// One host's growth, in words.
fn line(growth: &Growth, place: &str, (of, against): (f64, f64), ratio: Option<f64>) -> String {
    let fitted = if growth.fitted { "by a fitted price" } else { "predicted" };
    let (ratio, verdict) = match ratio {
        Some(ratio) if ratio < growth.below => (format!("a ratio of {ratio:.3}"), ""),
        Some(ratio) => (format!("a ratio of {ratio:.3}"), "; missed"),
        None => ("which is no growth to compare with".to_owned(), "; not known"),
    };
    format!(
        "{place}: from {} to {} {} grows by {of:.0} ms and {} by {against:.0} ms, {ratio}; paper: below {:.3} ({}, {fitted}){verdict}",
        named(&growth.at),
        named(&growth.to),
        growth.of.join(" + "),
        growth.against.join(" + "),
        growth.below,
        growth.from,
    )
}
