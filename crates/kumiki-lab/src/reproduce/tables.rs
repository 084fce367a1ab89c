//! The table of a scenario: our values beside the paper's.

use super::figures::TOTAL;
use super::legend::Legend;
use super::{Failed, PointResult, Results};
use crate::rows::ValueName;
use crate::scenario::label::shown;
use crate::scenario::{Point, is_word};
use crate::stats::Summary;
use crate::table::{Cell, Table};

/// How many decimals throughput is shown with.
const DECIMALS: usize = 2;

/// No screen has room for more columns.
const MOST_COLUMNS: usize = 16;

impl Results {
    /// Rows are the values of the horizontal axis, and of what is neither axis nor series; columns are the series.
    #[must_use]
    pub fn table(&self) -> Table {
        let Some((first, _)) = self.points.first() else {
            return Table::default();
        };
        let table = self.table_of(first, false);
        // A paper's table has its own shape.
        if table.columns.len() <= MOST_COLUMNS
            || first.scenario.paper.is_some()
            || first.scenario.report.series.is_empty()
        {
            return table;
        }
        self.table_of(first, true)
    }

    /// The table; `is_long`: what makes series stands in rows of its own, and not in columns.
    fn table_of(&self, first: &Point, is_long: bool) -> Table {
        let report = &first.scenario.report;
        let in_columns = |name: &String| !is_long && report.series.contains(name);
        let mut names: Vec<&String> = self.heads().into_iter().filter(|name| !in_columns(name)).collect();
        // The axis first.
        names.sort_by_key(|name| Some(*name) != report.x.as_ref());
        let mut columns: Vec<String> = Vec::new();
        let mut rows: Vec<(String, Vec<Cell>)> = Vec::new();
        for (point, result) in &self.points {
            let head = head(point, &names);
            let row = rows.iter().position(|(h, _)| *h == head).unwrap_or_else(|| {
                rows.push((head, Vec::new()));
                rows.len() - 1
            });
            let series = if is_long { String::new() } else { point.series() };
            for (column, cell) in columns_of(point, &series, result) {
                let column = position(&columns, &column).unwrap_or_else(|| {
                    columns.push(column);
                    columns.len() - 1
                });
                if let Some((_, cells)) = rows.get_mut(row) {
                    if cells.len() <= column {
                        cells.resize(column + 1, Cell::empty());
                    }
                    if let Some(place) = cells.get_mut(column) {
                        *place = cell;
                    }
                }
            }
        }
        if let [only] = columns.as_mut_slice()
            && only.is_empty()
        {
            *only = self.shown().label();
        }
        let corner: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        Table { title: self.headed(), corner: corner.join(", "), columns, rows, legend: Legend::of(self) }
    }

    /// What stands above the table. Where the title is of tasks, this is not.
    fn headed(&self) -> String {
        let of_tasks = self.points.first().is_some_and(|(point, _)| point.scenario.report.tasks.is_some());
        let shown = self.shown();
        let load = self.points.first().and_then(|(point, _)| {
            let report = &point.scenario.report;
            report.load.as_ref().filter(|_| point.scenario.load.len() > 1 && !of_tasks)
        });
        let what = match load {
            Some(load) => format!(": {} of {load}", shown.label()),
            None if of_tasks || !shown.is_goodput() => format!(": {}", shown.label()),
            None => String::new(),
        };
        let unit = if shown.unit().is_empty() { String::new() } else { format!(" ({})", shown.unit()) };
        format!("{}{what}{unit}", self.title())
    }

    /// What the table and the figure show.
    pub(super) fn shown(&self) -> ValueName {
        self.points.first().map(|(point, _)| point.scenario.report.shown()).unwrap_or_default()
    }

    /// The names of what is varied that say which point is meant. What is varied in lockstep with a word, or with the
    /// series where one of their names is a word, goes without saying: the word stands for it.
    pub(super) fn heads(&self) -> Vec<&String> {
        let Some((first, _)) = self.points.first() else {
            return Vec::new();
        };
        let report = &first.scenario.report;
        let series: Vec<&str> = report.series.iter().map(String::as_str).collect();
        let x = report.x.as_deref();
        let of_x = x.filter(|x| has_word(first, x));
        let of_series = series.iter().any(|it| has_word(first, it));
        let says = |name: &String| {
            let stands_for = of_x.is_some_and(|x| self.follows(name, &[x])) || of_series && self.follows(name, &series);
            x == Some(name) || series.contains(&name.as_str()) || !stands_for
        };
        let names = first.varied.iter().map(|(name, _)| name);
        names.filter(|name| says(name)).collect()
    }
}

impl Results {
    /// Whether `--quick` was given and has left something out.
    #[must_use]
    pub fn is_shortened(&self) -> bool {
        let first = self.points.first();
        self.choice.quick && first.is_some_and(|(point, _)| !point.scenario.quick.is_empty())
    }
}

/// Whether `name` has a word for a value and not a quantity.
fn has_word(point: &Point, name: &str) -> bool {
    point.value(name).and_then(toml::Value::as_str).is_some_and(is_word)
}

fn position(columns: &[String], series: &str) -> Option<usize> {
    columns.iter().position(|column| column == series)
}

fn head(point: &Point, names: &[&String]) -> String {
    let values: Vec<String> = names.iter().filter_map(|name| point.value(name).map(shown)).collect();
    values.join(", ")
}

/// The cells of a point with the heads of their columns: one for each load where there are several, and what the point
/// is about.
fn columns_of(point: &Point, series: &str, result: &Result<PointResult, Failed>) -> Vec<(String, Cell)> {
    let Ok(done) = result else {
        return vec![(series.to_owned(), Cell::text("failed"))];
    };
    let named = |name: &str| match series {
        "" => name.to_owned(),
        series => format!("{series}, {name}"),
    };
    let of_load = |(name, summary): &(String, Summary)| {
        let word = bound(point, done, Some(name));
        (named(name), number(point, summary).word(word))
    };
    let mut cells: Vec<(String, Cell)> = done.loads.iter().map(of_load).collect();
    let head = if cells.is_empty() { series.to_owned() } else { named(TOTAL) };
    cells.push((head, cell(point, done)));
    cells
}

fn number(point: &Point, summary: &Summary) -> Cell {
    let decimals = point.scenario.report.decimals.map_or(DECIMALS, usize::from);
    if summary.half_width.is_none() && summary.n == 1 {
        Cell::number(summary.mean, decimals)
    } else {
        Cell::summary(summary, decimals)
    }
}

/// Whether what bound it stands behind each value.
pub(super) fn shows_bound(point: &Point) -> bool {
    let report = &point.scenario.report;
    report.bound.unwrap_or_else(|| point.scenario.paper.is_none() && report.shown().is_goodput())
}

/// What bound a load, or all together; nothing where that is not asked for.
fn bound(point: &Point, done: &PointResult, load: Option<&String>) -> String {
    if shows_bound(point) { done.bound(load) } else { String::new() }
}

fn cell(point: &Point, done: &PointResult) -> Cell {
    let compare = point.compare();
    let word = bound(point, done, point.scenario.report.load.as_ref());
    // A number that words were read as is nobody's print.
    let whose = match compare.and_then(|compare| compare.reading.as_ref()) {
        Some(_) => "our reading",
        None => point.scenario.whose_values(),
    };
    let own = done.summary.map(|summary| number(point, &summary).word(word));
    own.unwrap_or_default().expected(whose, compare.map(|c| c.value)).fitted(compare.is_some_and(|c| c.fitted))
}
