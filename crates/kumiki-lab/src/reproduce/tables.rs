//! The table of a scenario: our values beside the paper's.

use super::figures::TOTAL;
use super::verdicts::Verdict;
use super::{Done, Failed, Results};
use crate::rows::{Scope, ValueName, beyond};
use crate::scenario::label::shown;
use crate::scenario::{Point, is_word};
use crate::stats::Summary;
use crate::table::{Cell, Table};

/// What is said where several runs of somebody's own have a mean and no interval.
const ANOTHER_KEY: &str = "`repeat` gives no interval; `confidence = { level = \"95 %\", width = \"5 %\" }` in its place does, of as many runs as that takes (`fewest` and `most` say how many)";

/// What is said where several runs of every point have brought the same.
const EQUAL_RUNS: &str = "all runs of a point were equal: nothing that is drawn here makes a difference, so more runs tell no more, and there is no interval";

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
        Table { title: self.headed(), corner: corner.join(", "), columns, rows, legend: self.legend() }
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

    /// The names of what is varied that say which point is meant. What is varied in lockstep with a word, or with the series where one of
    /// their names is a word, goes without saying: the word stands for it.
    fn heads(&self) -> Vec<&String> {
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

    fn legend(&self) -> Vec<String> {
        let mut legend = Vec::new();
        let done: Vec<(&Point, &Done)> =
            self.points.iter().filter_map(|(point, result)| Some((point, result.as_ref().ok()?))).collect();
        let mut add = |line: String| {
            if !legend.contains(&line) {
                legend.push(line);
            }
        };
        for (_, result) in &done {
            for row in &result.rows {
                add(match (row.fit_points, row.fit_parameters) {
                    (0, 0) if row.profile == crate::profile::ZERO => "profile zero: no CPU cost".to_owned(),
                    (0, 0) => format!("profile {}: nothing fitted", row.profile),
                    (points, parameters) => {
                        // One's own profile rests on what one has measured oneself.
                        let value = if row.paper.is_some() { "value of the paper" } else { "value" };
                        let parameters = counted(parameters, "parameter");
                        format!("profile {}: {parameters} fitted to {}", row.profile, counted(points, value))
                    }
                });
            }
        }
        let summaries = || done.iter().filter_map(|(_, result)| result.summary);
        let runs = done.iter().filter(|(_, it)| it.summary.is_some_and(|it| it.n > 1)).map(|(_, it)| it.runs);
        if let (Some(fewest), Some(most)) = (runs.clone().min(), runs.max()) {
            let level = summaries().next().map_or(99, |summary| summary.level.percent());
            let runs = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
            add(format!("+- is half the {level} % interval over {runs} seeds; without it all runs were equal"));
        }
        let shown: Vec<Summary> =
            done.iter().flat_map(|(_, it)| it.loads.iter().map(|(_, load)| *load).chain(it.summary)).collect();
        beyond(self.shown().name(), shown.iter()).into_iter().for_each(&mut add);
        let repeats = |(point, _): &(&Point, &Done)| point.scenario.run.repeat.is_some();
        let is_of_batches =
            |it: &&(&Point, &Done)| it.1.runs == 1 && it.1.summary.is_some_and(|it| it.half_width.is_some());
        let batches = done.iter().filter(is_of_batches);
        let batches = batches.filter_map(|(point, _)| point.scenario.run.batches);
        if let (Some(fewest), Some(most)) = (batches.clone().min(), batches.max()) {
            let parts = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
            add(format!("+- is half the 95 % interval over {parts} batches of one run"));
        }
        let is_single = |it: &Done| it.runs <= 1 && it.summary.is_none_or(|summary| summary.half_width.is_none());
        let single = |it: &(&Point, &Done)| is_single(it.1) && !repeats(it);
        if summaries().next().is_some() && done.iter().all(single) {
            add("one seed for each point, so there is no interval".to_owned());
        }
        let repeated: Vec<&&Done> =
            done.iter().filter(|it| is_repeated(it.0, it.1)).map(|(_, result)| result).collect();
        if !repeated.is_empty() && repeated.iter().all(|result| has_equal_runs(result)) {
            add(EQUAL_RUNS.to_owned());
        } else if done.iter().any(|it| is_one_of_several(it.0, it.1)) {
            add(ANOTHER_KEY.to_owned());
        }
        for (word, meaning) in self.meaning() {
            add(format!("{word}: {meaning}"));
        }
        let printed = self.points.iter().filter(|(point, _)| point.compare().is_some()).count();
        let repeats = self.points.iter().any(|(point, _)| point.scenario.paper.is_some());
        if repeats && printed == 0 {
            add("the paper prints no numbers for these points".to_owned());
        } else if repeats && printed < self.points.len() {
            add("where no value of the paper stands beside ours, it prints none".to_owned());
        }
        for (point, _) in &self.points {
            if let Some(compare) = point.compare() {
                let whose = if point.scenario.paper.is_some() { "paper's" } else { "expected" };
                add(format!("{whose} values: {}", compare.from));
            }
        }
        for line in self.trends() {
            add(line);
        }
        // What a paper says of points that are not here is no line of this table; that those here have no such value is.
        let is_here = |it: &&Verdict| it.paper.is_none() || it.ours.is_some() || !it.lacking.is_empty();
        for verdict in self.claims(std::slice::from_ref(self)).iter().filter(is_here) {
            add(verdict.told());
        }
        let first = self.points.first();
        for note in first.iter().flat_map(|(point, _)| &point.scenario.report.notes) {
            add(note.clone());
        }
        for (point, result) in &done {
            result.summary.and_then(|summary| miss(point, &summary)).into_iter().for_each(&mut add);
        }
        if self.is_shortened() {
            add("--quick: fewer points than the scenario has".to_owned());
        }
        for set in &self.choice.set {
            add(format!("changed: --set {set}"));
        }
        if done.iter().any(|(point, _)| shows_bound(point)) {
            add("behind each value: what bound it (link, host, pages, or what held TCP back the longest)".to_owned());
        }
        let heads = self.heads();
        // What holds for all points need not name them.
        let notes: Vec<(&Point, &[String])> =
            self.points.iter().map(|(point, result)| (point, notes(result))).collect();
        let is_of_all = |note: &&String| notes.iter().all(|(_, other)| other.contains(note));
        let of_all = notes.first().into_iter().flat_map(|(_, own)| own.iter().filter(is_of_all));
        of_all.cloned().for_each(&mut add);
        for (point, own) in &notes {
            let label = point.label_of(&heads);
            for note in own.iter().filter(|note| !is_of_all(note)) {
                add(if label.is_empty() { note.clone() } else { format!("{label}: {note}") });
            }
        }
        for (label, why) in self.failures() {
            // A point alone needs no name.
            let parts = [String::from("failed"), label, why];
            add(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": "));
        }
        legend
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

/// What a reader of the table should know of a point.
fn notes(result: &Result<Done, Failed>) -> &[String] {
    let (Ok(Done { notes, .. }) | Err(Failed { notes, .. })) = result;
    notes
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

/// The cells of a point with the heads of their columns: one for each load where there are several, and what the point is about.
fn columns_of(point: &Point, series: &str, result: &Result<Done, Failed>) -> Vec<(String, Cell)> {
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

/// Whether there are several runs, as a scenario of no paper repeats them by `repeat`.
fn is_repeated(point: &Point, done: &Done) -> bool {
    let run = &point.scenario.run;
    run.repeat.is_some() && point.scenario.paper.is_none() && done.rows.iter().any(|row| row.repetition > 0)
}

/// Whether these are told by their mean alone.
fn is_one_of_several(point: &Point, done: &Done) -> bool {
    let show = point.scenario.run.repeat.as_ref().and_then(|repeat| repeat.show.as_deref());
    is_repeated(point, done) && show.is_none_or(|show| show == "mean")
}

/// Whether every run has brought what the first has, to the last octet and nanosecond.
fn has_equal_runs(done: &Done) -> bool {
    let of = |repetition: u32| {
        let own = done.rows.iter().filter(move |row| row.repetition == repetition && row.scope != Scope::Flow);
        own.map(|row| {
            let times = [&row.round_trip_ms, &row.delay_ms, &row.completion_ms];
            let brought = (row.octets, row.goodput_mbps.to_bits(), &row.bound_by, row.completions);
            (brought, (row.retransmissions, row.lost_percent, row.longest_gap_s), times)
        })
    };
    let last = done.rows.iter().map(|row| row.repetition).max().unwrap_or(0);
    (1..=last).all(|repetition| of(repetition).eq(of(0)))
}

fn shows_bound(point: &Point) -> bool {
    let report = &point.scenario.report;
    report.bound.unwrap_or_else(|| point.scenario.paper.is_none() && report.shown().is_goodput())
}

/// What bound a load, or all together; nothing where that is not asked for.
fn bound(point: &Point, done: &Done, load: Option<&String>) -> String {
    if shows_bound(point) { done.bound(load) } else { String::new() }
}

fn cell(point: &Point, done: &Done) -> Cell {
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

/// A value further from the paper's than the scenario says is agreement.
fn miss(point: &Point, summary: &Summary) -> Option<String> {
    let compare = point.compare()?;
    let within = compare.within?.of(compare.value);
    let off = (summary.mean - compare.value).abs();
    let whose = if point.scenario.paper.is_some() { "the paper's" } else { "the expected" };
    (off > within).then(|| {
        let label = point.label();
        let colon = if label.is_empty() { "" } else { ": " };
        let [off, within] = [off, within].map(super::verdicts::short);
        format!("missed: {label}{colon}{off} from {whose} value, where {within} is agreement")
    })
}

fn counted(n: u32, what: &str) -> String {
    match (n, what.split_once(" of ")) {
        (1, _) => format!("1 {what}"),
        (n, Some((what, of))) => format!("{n} {what}s of {of}"),
        (n, None) => format!("{n} {what}s"),
    }
}
