//! Running scenarios: all points on several threads, their repetitions, and what is made of the results.
//!
//! Everything is read and checked before anything runs ([`Plan::new`]), so that a mistake costs no time and leaves no
//! files. Results stand in the order of the scenarios and their points, however many threads ran them; with the same
//! seeds they are the same octets. What has ended is in a [`Journal`] at once, so that a run can go on after anything
//! has ended it, and its points can be run in shards on several machines ([`Merged`]).
//!
//! What a point *does* is behind the trait [`Runner`]: this module knows no protocol.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::capture::Contents;
use crate::figure::Figure;
use crate::progress::{Cost, Progress};
use crate::rows::{Output, OutputError, Row};
use crate::scenario::{Choice, ConfigError, Document, Point};

mod bounds;
mod captures;
mod claims;
mod cost;
mod courses;
mod done;
mod figures;
mod flows;
mod foresee;
mod glance;
mod held;
mod journal;
mod key;
mod legend;
mod merge;
mod older;
mod papers;
mod pieces;
mod provenance;
mod report;
mod room;
mod run;
mod shard;
mod tables;
mod tasks;
#[cfg(test)]
mod tests;
mod trends;
mod verdicts;
mod words;

use done::{Failed, PointResult};
pub use flows::CapturedConnections;
pub use foresee::{Foreseen, HEADERS_ALONE, size_of_captures};
pub use journal::{Header, Journal};
pub use merge::Merged;
pub use pieces::Pieces;
pub use provenance::Provenance;
pub use run::{Interruption, Options};
pub use shard::Shard;
pub use verdicts::{Judgement, Verdict, origins, summary, to_jsonl};

/// The commit that the program was built of, where whoever built it has said so. No build script asks for it: a build
/// is to follow from its sources alone.
pub const COMMIT: Option<&str> = option_env!("KUMIKI_COMMIT");

/// In the place of a result: the point was not begun, or not finished.
const NOT_RUN: &str = "it was not run";

/// Figures and captures are called by the scenario, with more before and behind, also while they are half-written; 255
/// octets are what file systems take.
const LONGEST_NAME: usize = 200;

/// What one run gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Its rows, the first of which is the point's result; from [`Point::row`]. What identifies them (paper, figure,
    /// series, what is varied, seed, repetition, the paper's value, version) is put in again afterwards.
    pub rows: Vec<Row>,
    /// Captures: the name of the file, such as `a.atm0.pcapng`, and what is in it.
    pub captures: Vec<(String, Contents)>,
    /// What a reader of the table should know.
    pub notes: Vec<String>,
    /// Lines in the figure that nothing can exceed: what, and at how many Mb/s. Drawn where `[report]` has a `limit`.
    pub limits: Vec<(String, f64)>,
    /// Why it failed, where it did and the rows say how far it came: they are among the rows, and the point among those
    /// that failed.
    pub failed: Option<String>,
}

/// Why a run failed although its scenario can be read.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What runs a point. Called from several threads at once.
pub trait Runner: Sync {
    /// Whether the point can run: layers that fit, settings that exist, windows that are possible. Called for all
    /// points before the first runs; must not take long.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] with the path of the wrong value; file and line are added.
    fn check(&self, _point: &Point) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Runs `point` with the seed in it, which is that of the repetition.
    ///
    /// # Errors
    ///
    /// [`Failure`] where it ran and failed; the other points run all the same, unless it is an [`OutputError`]: what
    /// cannot be written ends all runs.
    fn run(&self, point: &Point) -> Result<Outcome, Failure>;

    /// The same on up to so many cores, where that is faster.
    ///
    /// # Errors
    ///
    /// As [`Runner::run`].
    fn run_on(&self, point: &Point, cores: usize) -> Result<Outcome, Failure> {
        let _ = cores;
        self.run(point)
    }
}

/// Scenarios whose points are all known to be runnable.
#[derive(Clone, Debug)]
pub struct Plan {
    parts: Arc<[Part]>,
    choice: Choice,
    /// What each point is expected to cost.
    costs: Arc<[Cost]>,
}

/// A scenario that is run.
#[derive(Clone, Debug)]
pub struct Described {
    /// Its name.
    pub name: String,
    /// How many points it has.
    pub points: usize,
    /// The seed of the first run of its first point; other runs of a point have those that follow.
    pub seed: u64,
    /// The text of its first point, with what hosts are like, `--set` and all names put in.
    pub text: String,
    /// SHA-256 of that, in hexadecimal.
    pub sha256: String,
    /// SHA-256 of what each of its profiles says, in hexadecimal, by its name.
    pub profiles: BTreeMap<String, String>,
}

#[derive(Clone, Debug)]
struct Part {
    name: String,
    points: Vec<Point>,
    left_out: Arc<[Point]>,
}

/// The results of one scenario.
#[derive(Clone, Debug)]
pub struct Results {
    name: String,
    choice: Choice,
    points: Vec<(Point, Result<PointResult, Failed>)>,
    /// Points of the scenario that `--quick` leaves out.
    left_out: Arc<[Point]>,
}

/// What `--quick` leaves out of `document`, of which it has `points`.
fn left_out(document: &Document, choice: &Choice, points: &[Point]) -> Result<Arc<[Point]>, ConfigError> {
    if !choice.quick {
        return Ok(Arc::default());
    }
    let mut all = document.points(&Choice { quick: false, ..choice.clone() })?;
    all.retain(|one| points.iter().all(|point| point.varied != one.varied));
    Ok(all.into())
}

/// Whether `point` can be run, and can have rows.
fn check(point: &Point, runner: &impl Runner) -> Result<(), ConfigError> {
    runner.check(point)?;
    point.row().check().map_err(|why| ConfigError::at(["report", "rows"], why.to_string()))
}

impl Plan {
    /// What its scenarios are called, as files of their results are.
    fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|part| part.name.as_str())
    }

    /// The points of `documents`, each checked.
    ///
    /// # Errors
    ///
    /// [`ConfigError`]: the first thing that is wrong in a document, and [what else is](ConfigError::others), as far as that can be told.
    pub fn new(documents: &[Document], choice: &Choice, runner: &impl Runner) -> Result<Self, ConfigError> {
        let mut parts = Vec::with_capacity(documents.len());
        for document in documents {
            if document.name().len() > LONGEST_NAME {
                let problem =
                    format!("a name of {} octets, and files of its results are called by it", document.name().len());
                let fault = ConfigError::new(problem).in_file(document.file());
                return Err(fault.expected(format!("no more than {LONGEST_NAME}, without .toml")));
            }
            let points = document.checked(choice, |point| check(point, runner))?;
            let left_out = left_out(document, choice, &points)?;
            parts.push(Part { name: document.name().to_owned(), points, left_out });
        }
        Ok(Self { costs: cost::of(&parts, choice), parts: parts.into(), choice: choice.clone() })
    }

    /// What is run, by scenario.
    pub fn described(&self) -> impl Iterator<Item = Described> {
        self.parts.iter().filter_map(|part| {
            let first = part.points.first()?;
            let text = first.resolved().to_string();
            Some(Described {
                name: part.name.clone(),
                points: part.points.len(),
                seed: first.scenario.run.seed,
                sha256: key::sha256(text.as_bytes()),
                profiles: part.points.iter().flat_map(key::profiles).collect(),
                text,
            })
        })
    }

    /// What of the scenarios was chosen.
    #[must_use]
    pub const fn choice(&self) -> &Choice {
        &self.choice
    }

    /// The key of each point, in order.
    fn keys(&self) -> Result<Vec<String>, ConfigError> {
        let points = self.parts.iter().flat_map(|part| part.points.iter().map(|point| (&part.name, point)));
        points.map(|(name, point)| key::of(name, point, &self.choice)).collect()
    }

    /// All points in order: the scenario that each is of, and what it is expected to cost beside others.
    pub fn points(&self) -> impl Iterator<Item = (&str, &Point, f64)> {
        let points = self.parts.iter().flat_map(|part| part.points.iter().map(|point| (part.name.as_str(), point)));
        points.zip(&*self.costs).map(|((name, point), cost)| (name, point, cost.weight))
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
}

impl Results {
    /// The name of the scenario.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The rows of all points, in order. Of points that were kept in a journal here is what tables, figures and
    /// verdicts look at; [`Results::whole_rows`] has everything.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows_of_points().flat_map(|(_, rows)| rows)
    }

    /// The points that failed: what they are, and why. Those that were [left](Self::left) did not.
    #[must_use]
    pub fn failures(&self) -> Vec<(String, String)> {
        self.points
            .iter()
            .filter_map(|(point, result)| Some((point.label(), result.as_ref().err()?.why.clone())))
            .filter(|(_, why)| why != NOT_RUN)
            .collect()
    }

    /// The rows of each point that ended, or failed and has rows all the same, in order and whole, with the number of
    /// the point in its scenario. What was kept in a journal is read there, point by point, so that memory is for one
    /// of them. An error is that the journal cannot be read any more.
    pub fn whole_rows(&self) -> impl Iterator<Item = Result<(usize, Vec<Row>), OutputError>> {
        self.points.iter().filter_map(|(point, result)| match result {
            Ok(done) => Some(done.whole().map(|rows| (point.index, rows))),
            Err(failed) => (!failed.rows.is_empty()).then(|| Ok((point.index, failed.rows.clone()))),
        })
    }

    /// The rows of each point that ended, or failed and has rows all the same, in order, with the number of the point
    /// in its scenario; of what was kept in a journal as [`Results::rows`] has them.
    pub fn rows_of_points(&self) -> impl Iterator<Item = (usize, &[Row])> {
        let all = self.points.iter().map(|(point, result)| {
            let (Ok(PointResult { rows, .. }) | Err(Failed { rows, .. })) = result;
            (point.index, rows.as_slice())
        });
        all.filter(|(_, rows)| !rows.is_empty())
    }

    /// What the rows of each point have in common, of all points, be they without rows: what is varied, above all.
    pub fn rows_to_be(&self) -> impl Iterator<Item = Row> {
        self.points.iter().map(|(point, _)| point.row())
    }

    /// The points that have captures: what they are, and the names of these below the directory of results.
    pub fn captures(&self) -> impl Iterator<Item = (String, &[String])> {
        let all = self.points.iter().map(|(point, result)| {
            let (Ok(PointResult { captures, .. }) | Err(Failed { captures, .. })) = result;
            (point, captures)
        });
        all.filter(|(_, captures)| !captures.is_empty()).map(|(point, captures)| (point.label(), captures.as_slice()))
    }

    /// The figures, each with the name of its file without `.svg`.
    #[must_use]
    pub fn figures(&self) -> Vec<(String, Figure)> {
        let figure = self.figure().map(|figure| (self.name.clone(), figure));
        let tasks = self.task_figure().map(|figure| (format!("{}-tasks", self.name), figure));
        let held = self.held_worth_showing().map(|figure| (format!("{}-held", self.name), figure));
        let ink = self.points.first().and_then(|(point, _)| point.scenario.report.ink.as_ref()?.parse().ok());
        let all = figure.into_iter().chain(tasks).chain(held);
        all.map(|(name, figure)| (name, Figure { ink: ink.unwrap_or_default(), ..figure })).collect()
    }

    /// How many points were not run since somebody wanted an end, and how many there are.
    #[must_use]
    pub fn left(&self) -> (usize, usize) {
        let left = self.points.iter();
        let left = left.filter(|(_, result)| result.as_ref().is_err_and(|failed| failed.why == NOT_RUN));
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

/// All rows of all results, in order and whole, as [`Results::whole_rows`] has them.
pub fn whole_rows(results: &[Results]) -> impl Iterator<Item = Result<Row, OutputError>> {
    let points = results.iter().flat_map(Results::whole_rows);
    points.flat_map(|point| {
        let (rows, error) = match point {
            Ok((_, rows)) => (rows, None),
            Err(error) => (Vec::new(), Some(Err(error))),
        };
        rows.into_iter().map(Ok).chain(error)
    })
}

/// Writes rows, verdicts, figures and the page of all results, and says where.
///
/// # Errors
///
/// [`OutputError`] where that is not possible.
pub fn write(output: &Output, results: &[Results]) -> Result<Vec<std::path::PathBuf>, OutputError> {
    let mut files = write_rows_and_figures(output, results)?;
    let connections = CapturedConnections::of(output, results, &mut Progress::hidden());
    files.push(write_page(output, results, &connections)?);
    Ok(files)
}

/// As [`write`](fn@write), without the page.
///
/// # Errors
///
/// [`OutputError`] where that is not possible.
pub fn write_rows_and_figures(output: &Output, results: &[Results]) -> Result<Vec<std::path::PathBuf>, OutputError> {
    let mut files = output.write_rows_of(|| whole_rows(results))?.to_vec();
    let verdicts: Vec<Verdict> = results.iter().flat_map(|result| result.verdicts(results)).collect();
    if !verdicts.is_empty() {
        files.push(output.write(Output::VERDICTS, to_jsonl(&verdicts).as_bytes())?);
    }
    for result in results {
        for (name, figure) in result.figures() {
            files.push(output.write(&format!("{}/{name}.svg", Output::FIGURES), figure.to_svg().as_bytes())?);
        }
    }
    Ok(files)
}

/// Writes the page of all results, with what captures show of `connections` and what [`Output::RUN`] says of where it
/// comes from; says where.
///
/// # Errors
///
/// [`OutputError`] where that is not possible.
pub fn write_page(
    output: &Output,
    results: &[Results],
    connections: &CapturedConnections,
) -> Result<std::path::PathBuf, OutputError> {
    output.write(Output::REPORT, report::page(output, results, connections).to_html().as_bytes())
}
