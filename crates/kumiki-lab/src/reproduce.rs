//! Running scenarios: all points on several threads, their repetitions, and what is made of the results.
//!
//! Everything is read and checked before anything runs ([`Plan::new`]), so that a mistake costs no time and leaves no files.
//! Results stand in the order of the scenarios and their points, however many threads ran them; with the same seeds they
//! are the same octets.
//!
//! What a point *does* is behind the trait [`Runner`]: this module knows no protocol.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use crate::progress::Progress;
use crate::rows::{Output, OutputError, Row, Scope};
use crate::scenario::{Choice, Document, Fault, Point, Repeat};
use crate::stats::{self, Level, Stopping, Summary, Verdict};

mod figures;
mod tables;
mod tasks;
#[cfg(test)]
mod tests;
mod trends;

/// What one run gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Its rows, the first of which is the point's result; from [`Point::row`]. What identifies them (paper, figure, series,
    /// what is varied, seed, repetition, the paper's value, version) is put in again afterwards.
    pub rows: Vec<Row>,
    /// Captures: the name of the file, such as `a.atm0.pcapng`, and its octets.
    pub captures: Vec<(String, Vec<u8>)>,
    /// What a reader of the table should know.
    pub notes: Vec<String>,
    /// Lines in the figure that nothing can exceed: what, and at how many Mb/s. Drawn where `[report]` has a `limit`.
    pub limits: Vec<(String, f64)>,
}

/// Why a run failed although its scenario can be read.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What runs a point. Called from several threads at once.
pub trait Runner: Sync {
    /// Whether the point can run: layers that fit, settings that exist, windows that are possible. Called for all points
    /// before the first runs; must not take long.
    ///
    /// # Errors
    ///
    /// A [`Fault`] with the path of the wrong value; file and line are added.
    fn check(&self, _point: &Point) -> Result<(), Fault> {
        Ok(())
    }

    /// Runs `point` with the seed in it, which is that of the repetition.
    ///
    /// # Errors
    ///
    /// [`Failure`] where it ran and failed; the other points run all the same.
    fn run(&self, point: &Point) -> Result<Outcome, Failure>;
}

/// Scenarios whose points are all known to be runnable.
#[derive(Clone, Debug)]
pub struct Plan {
    parts: Vec<Part>,
    choice: Choice,
}

#[derive(Clone, Debug)]
struct Part {
    name: String,
    points: Vec<Point>,
}

/// The results of one scenario.
#[derive(Clone, Debug)]
pub struct Results {
    name: String,
    choice: Choice,
    points: Vec<(Point, Result<Done, String>)>,
}

/// What all repetitions of a point gave.
#[derive(Clone, Debug)]
struct Done {
    rows: Vec<Row>,
    /// What the point is about: the load of `[report]`, or all together.
    summary: Summary,
    /// Of each load, where there are several and none of them is the one.
    loads: Vec<(String, Summary)>,
    notes: Vec<String>,
    limits: Vec<(String, f64)>,
}

impl Plan {
    /// The points of `documents`, each checked.
    ///
    /// # Errors
    ///
    /// [`Fault`]: the first thing that is wrong.
    pub fn new(documents: &[Document], choice: &Choice, runner: &impl Runner) -> Result<Self, Fault> {
        let mut parts = Vec::with_capacity(documents.len());
        for document in documents {
            let points = document.points(choice)?;
            for point in &points {
                runner.check(point).map_err(|fault| point.locate(fault))?;
                let row = point.row()?;
                row.check().map_err(|why| point.locate(Fault::at(["report", "rows"], why.to_string())))?;
            }
            parts.push(Part { name: document.name().to_owned(), points });
        }
        Ok(Self { parts, choice: choice.clone() })
    }

    /// The number of points.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.points.len()).sum()
    }

    /// Whether there is nothing to run.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As [`Plan::run_until`], to the end.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn run(
        &self,
        runner: &impl Runner,
        jobs: usize,
        output: Option<&Output>,
        progress: &mut Progress,
    ) -> Result<Vec<Results>, OutputError> {
        self.run_until(Interruption::default(), runner, jobs, output, progress)
    }

    /// Runs all points on `jobs` threads. Once somebody wants an end, no other point is begun, and those that run are finished: a point is
    /// among the results whole or not at all ([`Results::left`]). Captures go to `output` as they come, so that they need not all be kept.
    ///
    /// # Errors
    ///
    /// [`OutputError`] where a capture cannot be written. A point that fails is among the results.
    pub fn run_until(
        &self,
        interruption: Interruption<'_>,
        runner: &impl Runner,
        jobs: usize,
        output: Option<&Output>,
        progress: &mut Progress,
    ) -> Result<Vec<Results>, OutputError> {
        let work: Vec<(&str, &Point)> =
            self.parts.iter().flat_map(|part| part.points.iter().map(|point| (part.name.as_str(), point))).collect();
        let mut done: Vec<Option<Result<Done, String>>> = work.iter().map(|_| None).collect();
        let next = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Captures are large: who runs points waits until those before are written.
            let (sender, results) = mpsc::sync_channel(1);
            for _ in 0..jobs.clamp(1, work.len().max(1)) {
                let (sender, work, next, stop) = (sender.clone(), &work, &next, &stop);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) && !interruption.is_made() {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some((_, point)) = work.get(index) else {
                            return;
                        };
                        // Nobody listens any more where a capture could not be written.
                        if sender.send((index, repeat(runner, point, self.choice.runs, interruption))).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            let mut is_told = false;
            loop {
                if interruption.is_made() && !core::mem::replace(&mut is_told, true) {
                    progress.note(
                        "interrupted: what runs is finished and written; the same again ends at once, without that",
                    );
                }
                let (index, result) = match results.recv_timeout(LOOK) {
                    Ok(result) => result,
                    Err(RecvTimeoutError::Timeout) => continue,
                    Err(RecvTimeoutError::Disconnected) => break,
                };
                let Some((name, point)) = work.get(index) else {
                    continue;
                };
                progress.doing(&[*name, &point.label()].join(", "));
                let result = match result {
                    Ok((result, captures)) => {
                        if let Some(output) = output
                            && let Err(why) = write_captures(output, name, point.index, &captures)
                        {
                            stop.store(true, Ordering::Relaxed);
                            return Err(why);
                        }
                        Ok(result)
                    }
                    Err(why) if why == NOT_RUN => continue,
                    Err(why) => {
                        progress.note(&format!("{name}, {}: {why}", point.label()));
                        Err(why)
                    }
                };
                if let Some(slot) = done.get_mut(index) {
                    *slot = Some(result);
                }
                progress.advance(1);
            }
            Ok(())
        })?;
        let mut done = done.into_iter().map(|result| result.unwrap_or_else(|| Err(NOT_RUN.to_owned())));
        let results = self.parts.iter().map(|part| Results {
            name: part.name.clone(),
            choice: self.choice.clone(),
            points: part.points.iter().cloned().zip(done.by_ref()).collect(),
        });
        Ok(results.collect())
    }
}

type Captures = Vec<(u32, String, Vec<u8>)>;

/// In the place of a result: the point was not begun, or not finished.
const NOT_RUN: &str = "it was not run";

/// How often it is looked whether somebody wants an end.
const LOOK: Duration = Duration::from_millis(100);

/// Says whether somebody wants the runs to end; by default nobody does. What runs is finished then, and nothing else is begun.
#[derive(Clone, Copy, Default)]
pub struct Interruption<'a>(Option<&'a (dyn Fn() -> bool + Sync)>);

impl<'a> Interruption<'a> {
    /// An end is wanted once `is_made` says so.
    #[must_use]
    pub const fn by(is_made: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self(Some(is_made))
    }

    fn is_made(self) -> bool {
        self.0.is_some_and(|is_made| is_made())
    }
}

/// All repetitions of one point.
fn repeat(
    runner: &impl Runner,
    point: &Point,
    most: Option<u32>,
    interruption: Interruption<'_>,
) -> Result<(Done, Captures), String> {
    let known = point.row().map_err(|fault| fault.to_string())?;
    let stopping = point.scenario.run.confidence.as_ref().map(|wanted| {
        let level = if wanted.level == 95 { Level::P95 } else { Level::P99 };
        let count = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        Stopping::new(level, wanted.width_percent).runs(count(wanted.most), count(wanted.fewest))
    });
    let fixed = point.scenario.run.repeat.clone();
    let runs = fixed.as_ref().map(|it| it.runs.min(most.unwrap_or(u32::MAX)).max(1));
    let mut values = Vec::new();
    let mut rows = Vec::new();
    let mut captures = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    let mut told: Vec<(String, Vec<u64>)> = Vec::new();
    let mut limits: Vec<(String, f64)> = Vec::new();
    let mut point = point.clone();
    for repetition in 0_u32.. {
        if repetition > 0 && interruption.is_made() {
            // Fewer runs than were asked for would be another result.
            return Err(NOT_RUN.to_owned());
        }
        let seed = known.seed.wrapping_add(repetition.into());
        point.scenario.run.seed = seed;
        let outcome = runner.run(&point).map_err(|why| why.to_string())?;
        let own = outcome.rows.iter().find(|row| is_own(row, &point));
        values.push(own.ok_or("the run gave no result")?.goodput_mbps);
        for row in outcome.rows {
            // The paper's value is of the point, and not of a part of it.
            let paper_mbps = known.paper_mbps.filter(|_| is_own(&row, &point));
            let mut varied = known.varied.clone();
            // What the run has to say of itself: the part of a host that the row is of, what was measured.
            let said = row.varied.into_iter();
            varied.extend(said.filter(|(name, _)| known.parameter(name).is_none()));
            let row = Row {
                varied,
                seed,
                repetition,
                paper: known.paper,
                figure: known.figure.clone(),
                series: known.series.clone(),
                paper_mbps,
                profile: known.profile.clone(),
                fitted: known.fitted,
                fit_points: known.fit_points,
                fit_parameters: known.fit_parameters,
                version: known.version.clone(),
                ..row
            };
            row.check().map_err(|why| why.to_string())?;
            rows.push(row);
        }
        captures.extend(outcome.captures.into_iter().map(|(name, octets)| (repetition, name, octets)));
        for note in outcome.notes {
            match told.iter_mut().find(|(known, _)| *known == note) {
                Some((_, seeds)) => seeds.push(seed),
                None => told.push((note, vec![seed])),
            }
        }
        for limit in outcome.limits {
            if !limits.contains(&limit) {
                limits.push(limit);
            }
        }
        if runs.is_some_and(|runs| repetition + 1 < runs) {
            continue;
        }
        match stopping.map(|stopping| stopping.after(&values)) {
            None | Some(Verdict::Enough { .. }) => break,
            Some(Verdict::More) => {}
            Some(Verdict::TooWide { width_percent }) => {
                notes.push(format!(
                    "after {} runs the interval is still {width_percent:.1} % of the mean wide",
                    values.len()
                ));
                break;
            }
        }
    }
    let level = stopping.map_or(Level::P99, |stopping| stopping.level());
    notes.extend(told.into_iter().map(|(note, seeds)| of_runs(note, &seeds, values.len())));
    if let Some(fixed) = &fixed {
        one_of(fixed, &mut values, &mut notes);
    }
    let summary = Summary::of(&values, level).ok_or("the point did not run at all")?;
    let loads = of_loads(&point, &rows, fixed.as_ref(), level);
    let done = Done { rows, summary, loads, notes, limits };
    Ok((done, captures))
}

/// Whether the row is what the point is about: the load of `[report]`, or all together.
fn is_own(row: &Row, point: &Point) -> bool {
    row.scope != Scope::Flow && row.load == point.scenario.report.load
}

/// What the runs with `seeds` have said, of so many.
fn of_runs(note: String, seeds: &[u64], runs: usize) -> String {
    if seeds.len() == runs {
        return note;
    }
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    format!("seed {}: {note}", seeds.join(", "))
}

/// What the runs say of each load, where there are several and `[report]` names none.
fn of_loads(point: &Point, rows: &[Row], fixed: Option<&Repeat>, level: Level) -> Vec<(String, Summary)> {
    let names =
        point.scenario.load.keys().filter(|_| point.scenario.report.load.is_none() && point.scenario.load.len() > 1);
    let of_load = |name: &String| {
        let own = rows.iter().filter(|row| row.scope == Scope::Load && row.load.as_ref() == Some(name));
        let mut values: Vec<f64> = own.map(|row| row.goodput_mbps).collect();
        if let Some(fixed) = fixed {
            one_of(fixed, &mut values, &mut Vec::new());
        }
        Some((name.clone(), Summary::of(&values, level)?))
    };
    names.filter_map(of_load).collect()
}

/// Makes one value of a fixed number of runs.
fn one_of(fixed: &Repeat, values: &mut Vec<f64>, notes: &mut Vec<String>) {
    let value = match fixed.show.as_deref() {
        Some("min") => values.iter().copied().min_by(f64::total_cmp),
        Some("max") => values.iter().copied().max_by(f64::total_cmp),
        _ if values.len() > 2 => stats::trimmed_mean(values, 1),
        _ => stats::mean(values),
    };
    let (Some(value), n) = (value, values.len()) else {
        return;
    };
    let all = fixed.runs;
    let runs = match n {
        1 => "one run".to_owned(),
        _ => format!("{n} runs"),
    };
    notes.push(match u32::try_from(n) {
        Ok(n) if n < all => {
            format!("each value is of {runs}; the scenario has {all}: --runs {all}")
        }
        _ => format!("each value is of {runs}"),
    });
    if fixed.show.is_none() && n > 2 && values.iter().any(|value| Some(value) != values.first()) {
        notes.push("means are without the best and the worst run".to_owned());
    }
    *values = vec![value];
}

fn write_captures(output: &Output, scenario: &str, index: usize, captures: &Captures) -> Result<(), OutputError> {
    for (repetition, name, octets) in captures {
        let repetition = match repetition {
            0 => String::new(),
            n => format!("run{n}-"),
        };
        output.write_capture(&format!("captures/{scenario}/{index:03}-{repetition}{name}"), octets)?;
    }
    Ok(())
}

impl Results {
    /// The name of the scenario.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The rows of all points, in order.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.points.iter().filter_map(|(_, result)| result.as_ref().ok()).flat_map(|done| &done.rows)
    }

    /// The points that failed: what they are, and why. Those that were [left](Self::left) did not.
    #[must_use]
    pub fn failures(&self) -> Vec<(String, String)> {
        self.points
            .iter()
            .filter_map(|(point, result)| Some((point.label(), result.as_ref().err()?.clone())))
            .filter(|(_, why)| why != NOT_RUN)
            .collect()
    }

    /// How many points were not run since somebody wanted an end, and how many there are.
    #[must_use]
    pub fn left(&self) -> (usize, usize) {
        let left = self.points.iter();
        let left = left.filter(|(_, result)| result.as_ref().is_err_and(|why| why == NOT_RUN));
        (left.count(), self.points.len())
    }

    /// "paper 2, fig6: the title".
    fn title(&self) -> String {
        let Some((point, _)) = self.points.first() else {
            return self.name.clone();
        };
        let scenario = &point.scenario;
        let paper = scenario.paper.map(|paper| format!("Paper {paper}"));
        let figure = Some(scenario.figure.clone()).filter(|figure| !figure.is_empty());
        let place: Vec<String> = paper.into_iter().chain(figure).collect();
        if place.is_empty() { scenario.title.clone() } else { format!("{}: {}", place.join(", "), scenario.title) }
    }
}

/// Writes rows and figures of all results, and says where.
///
/// # Errors
///
/// [`OutputError`] where that is not possible.
pub fn write(output: &Output, results: &[Results]) -> Result<Vec<std::path::PathBuf>, OutputError> {
    let rows: Vec<Row> = results.iter().flat_map(Results::rows).cloned().collect();
    let mut files = output.write_rows(&rows)?.to_vec();
    for result in results {
        let tasks = result.task_figure().map(|figure| ("-tasks", figure));
        let figure = result.figure().map(|figure| ("", figure));
        for (suffix, figure) in figure.into_iter().chain(tasks) {
            let name = format!("figures/{}{suffix}.svg", result.name());
            files.push(output.write(&name, figure.to_svg().as_bytes())?);
        }
    }
    Ok(files)
}
