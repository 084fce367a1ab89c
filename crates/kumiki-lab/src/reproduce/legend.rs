//! What stands below the table of a scenario.

use super::tables::shows_bound;
use super::verdicts::Verdict;
use super::{Failed, PointResult, Results};
use crate::rows::{Scope, beyond};
use crate::scenario::Point;
use crate::stats::Summary;

/// What is said where several runs of somebody's own have a mean and no interval.
const ANOTHER_KEY: &str = "`repeat` gives no interval; `confidence = { level = \"95 %\", width = \"5 %\" }` in its place does, of as many runs as that takes (`fewest` and `most` say how many)";

/// What is said where several runs of every point have brought the same.
const EQUAL_RUNS: &str = "all runs of a point were equal: nothing that is drawn here makes a difference, so more runs tell no more, and there is no interval";

/// The lines below a table, each once, as they are put together.
pub(super) struct Legend<'a> {
    results: &'a Results,
    /// The points that have results.
    done: Vec<(&'a Point, &'a PointResult)>,
    lines: Vec<String>,
}

impl<'a> Legend<'a> {
    /// The lines below the table of `results`.
    pub(super) fn of(results: &'a Results) -> Vec<String> {
        let done = results.points.iter().filter_map(|(point, result)| Some((point, result.as_ref().ok()?)));
        let mut legend = Self { results, done: done.collect(), lines: Vec::new() };
        legend.add_profiles();
        legend.add_intervals();
        legend.add_single_runs();
        legend.extend(results.meaning().into_iter().map(|(word, meaning)| format!("{word}: {meaning}")));
        legend.add_comparisons();
        legend.add_statements();
        legend.add_choice();
        legend.add_notes();
        legend.add_failures();
        legend.lines
    }

    fn add(&mut self, line: String) {
        if !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }

    fn extend(&mut self, lines: impl IntoIterator<Item = String>) {
        lines.into_iter().for_each(|line| self.add(line));
    }

    /// What the profiles rest on.
    fn add_profiles(&mut self) {
        let rows: Vec<_> = self.done.iter().flat_map(|(_, result)| &result.rows).collect();
        self.extend(rows.into_iter().map(|row| match (row.fit_points, row.fit_parameters) {
            (0, 0) if row.profile == crate::profile::ZERO => "profile zero: no CPU cost".to_owned(),
            (0, 0) => format!("profile {}: nothing fitted", row.profile),
            (points, parameters) => {
                // One's own profile rests on what one has measured oneself.
                let value = if row.paper.is_some() { "value of the paper" } else { "value" };
                let parameters = counted(parameters, "parameter");
                format!("profile {}: {parameters} fitted to {}", row.profile, counted(points, value))
            }
        }));
    }

    /// What the intervals are of, by seeds and by batches, and which go beyond what a value can be.
    fn add_intervals(&mut self) {
        let runs = self.done.iter().filter(|(_, it)| it.summary.is_some_and(|it| it.n > 1)).map(|(_, it)| it.runs);
        if let (Some(fewest), Some(most)) = (runs.clone().min(), runs.max()) {
            let mut summaries = self.done.iter().filter_map(|(_, result)| result.summary);
            let level = summaries.next().map_or(99, |summary| summary.level.percent());
            let runs = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
            self.add(format!("+- is half the {level} % interval over {runs} seeds; without it all runs were equal"));
        }
        let shown: Vec<Summary> =
            self.done.iter().flat_map(|(_, it)| it.loads.iter().map(|(_, load)| *load).chain(it.summary)).collect();
        self.extend(beyond(self.results.shown().name(), shown.iter()));
        let is_of_batches =
            |it: &&(&Point, &PointResult)| it.1.runs == 1 && it.1.summary.is_some_and(|it| it.half_width.is_some());
        let batches = self.done.iter().filter(is_of_batches);
        let batches = batches.filter_map(|(point, _)| point.scenario.run.batches);
        if let (Some(fewest), Some(most)) = (batches.clone().min(), batches.max()) {
            let parts = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
            self.add(format!("+- is half the 95 % interval over {parts} batches of one run"));
        }
    }

    /// Why there is no interval, and what would give one.
    fn add_single_runs(&mut self) {
        let is_single =
            |it: &PointResult| it.runs <= 1 && it.summary.is_none_or(|summary| summary.half_width.is_none());
        let single = |it: &(&Point, &PointResult)| is_single(it.1) && it.0.scenario.run.repeat.is_none();
        if self.done.iter().any(|(_, it)| it.summary.is_some()) && self.done.iter().all(single) {
            self.add("one seed for each point, so there is no interval".to_owned());
        }
        let mut repeated = self.done.iter().filter(|it| is_repeated(it.0, it.1)).map(|(_, result)| result).peekable();
        if repeated.peek().is_some() && repeated.all(|result| has_equal_runs(result)) {
            self.add(EQUAL_RUNS.to_owned());
        } else if self.done.iter().any(|it| is_one_of_several(it.0, it.1)) {
            self.add(ANOTHER_KEY.to_owned());
        }
    }

    /// Where the values beside ours come from.
    fn add_comparisons(&mut self) {
        let points = &self.results.points;
        let printed = points.iter().filter(|(point, _)| point.compare().is_some()).count();
        let repeats = points.iter().any(|(point, _)| point.scenario.paper.is_some());
        if repeats && printed == 0 {
            self.add("the paper prints no numbers for these points".to_owned());
        } else if repeats && printed < points.len() {
            self.add("where no value of the paper stands beside ours, it prints none".to_owned());
        }
        self.extend(points.iter().filter_map(|(point, _)| {
            let whose = if point.scenario.paper.is_some() { "paper's" } else { "expected" };
            Some(format!("{whose} values: {}", point.compare()?.from))
        }));
    }

    /// What is said of whole curves and of several points, whether that holds, and what is missed.
    fn add_statements(&mut self) {
        let results = self.results;
        self.extend(results.trends());
        // What a paper says of points that are not here is no line of this table; that those here have no such value
        // is.
        let is_here = |it: &&Verdict| it.paper.is_none() || it.ours.is_some() || !it.lacking.is_empty();
        let claims = results.claims(std::slice::from_ref(results));
        self.extend(claims.iter().filter(is_here).map(Verdict::told));
        let first = results.points.first();
        self.extend(first.iter().flat_map(|(point, _)| &point.scenario.report.notes).cloned());
        let missed = |(point, result): &(&Point, &PointResult)| miss(point, &result.summary?);
        let missed: Vec<String> = self.done.iter().filter_map(missed).collect();
        self.extend(missed);
    }

    /// What was asked for beside the scenario, and what the words behind values are.
    fn add_choice(&mut self) {
        if self.results.is_shortened() {
            self.add("--quick: fewer points than the scenario has".to_owned());
        }
        self.extend(self.results.choice.set.iter().map(|set| format!("changed: --set {set}")));
        if self.done.iter().any(|(point, _)| shows_bound(point)) {
            self.add(
                "behind each value: what bound it (link, host, pages, or what held TCP back the longest)".to_owned(),
            );
        }
    }

    /// What a reader should know of the points. What holds for all need not name them.
    fn add_notes(&mut self) {
        let results = self.results;
        let heads = results.heads();
        let notes: Vec<(&Point, &[String])> =
            results.points.iter().map(|(point, result)| (point, notes(result))).collect();
        let is_of_all = |note: &&String| notes.iter().all(|(_, other)| other.contains(note));
        let of_all = notes.first().into_iter().flat_map(|(_, own)| own.iter().filter(is_of_all));
        self.extend(of_all.cloned());
        for (point, own) in &notes {
            let label = point.label_of(&heads);
            for note in own.iter().filter(|note| !is_of_all(note)) {
                self.add(if label.is_empty() { note.clone() } else { format!("{label}: {note}") });
            }
        }
    }

    fn add_failures(&mut self) {
        self.extend(self.results.failures().into_iter().map(|(label, why)| {
            // A point alone needs no name.
            let parts = [String::from("failed"), label, why];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
        }));
    }
}

/// What a reader of the table should know of a point.
fn notes(result: &Result<PointResult, Failed>) -> &[String] {
    let (Ok(PointResult { notes, .. }) | Err(Failed { notes, .. })) = result;
    notes
}

/// Whether there are several runs, as a scenario of no paper repeats them by `repeat`.
fn is_repeated(point: &Point, done: &PointResult) -> bool {
    let run = &point.scenario.run;
    run.repeat.is_some() && point.scenario.paper.is_none() && done.rows.iter().any(|row| row.repetition > 0)
}

/// Whether these are told by their mean alone.
fn is_one_of_several(point: &Point, done: &PointResult) -> bool {
    let show = point.scenario.run.repeat.as_ref().and_then(|repeat| repeat.show.as_deref());
    is_repeated(point, done) && show.is_none_or(|show| show == "mean")
}

/// Whether every run has brought what the first has, to the last octet and nanosecond.
fn has_equal_runs(done: &PointResult) -> bool {
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
