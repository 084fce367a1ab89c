//! What runs a point in virtual time, and makes rows and notes of what was measured.

mod names;
mod notes;
mod queues;
mod ran;
mod rows;

use core::fmt::{self, Write as _};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use kumiki_graph::Duration;
use kumiki_pcapng::CaptureError;

use self::ran::RanPoint;
use crate::capture::trace::Connection;
use crate::capture::{Contents, Layers, Spool};
use crate::experiment::{Experiment, LiveWorld, Options, Run};
use crate::figure::Figure;
use crate::limit;
use crate::profile::Profile;
use crate::reproduce::{Failure, Outcome, Runner};
use crate::rows::{Output, OutputError};
use crate::scenario::check::WARM_UP_FOUND;
use crate::scenario::{ConfigError, Point, Workload};
use crate::stats;
use crate::table::{Layout, Lines};

/// Runs points in virtual time.
#[derive(Clone, Debug, Default)]
pub struct Laboratory {
    /// What to capture.
    pub pcap: Layers,
    /// So many octets of each PDU are captured; 0 for all.
    pub snaplen: u32,
    /// Keep traces of connections.
    pub trace: bool,
    /// On the file system of this directory captures wait until a run is over; in memory where there is none.
    pub directory: Option<PathBuf>,
}

impl Laboratory {
    /// `given` are profiles in the place of those of their names.
    fn build(point: &Point, given: &BTreeMap<String, Profile>, options: &Options) -> Result<Experiment, ConfigError> {
        let mut profiles = given.clone();
        for (name, profile) in point.profiles() {
            profiles.entry(name.clone()).or_insert_with(|| Profile::clone(profile));
        }
        let seed = point.scenario.run.seed;
        Experiment::build(&point.scenario, &profiles, seed, options)
    }

    /// The world of `point`, to be run in real time with the hosts of it that are real.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] whose path begins at the top of the scenario.
    pub fn live(point: &Point) -> Result<LiveWorld, ConfigError> {
        let options = Options { live: true, ..Options::default() };
        Self::build(point, &BTreeMap::new(), &options).map(Experiment::live)
    }

    /// Whether `point` can be run: in real time where a host of it is real, or nothing is to be done by itself.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] whose path begins at the top of the scenario.
    pub fn check_drawn(&self, point: &Point) -> Result<(), ConfigError> {
        let scenario = &point.scenario;
        if scenario.real_hosts().next().is_some() || scenario.load.is_empty() {
            return Self::live(point).map(drop);
        }
        self.check(point)
    }

    /// As [`Runner::run`], with the profiles in `given` in the place of those of their names.
    ///
    /// # Errors
    ///
    /// As [`Runner::run`].
    pub fn run_with(&self, point: &Point, given: &BTreeMap<String, Profile>) -> Result<Outcome, Failure> {
        self.run_as(point, given, 1)
    }

    /// The same on up to so many cores.
    fn run_as(&self, point: &Point, given: &BTreeMap<String, Profile>, cores: usize) -> Result<Outcome, Failure> {
        if let Some((_, load)) = counts_octets(point) {
            return Self::step(point, load);
        }
        let found = (point.scenario.run.warm_up.as_deref() == Some(WARM_UP_FOUND))
            .then(|| warm_up(point, given))
            .transpose()?;
        let point = &warmed_up(point, found);
        let built = Self::build(point, given, &self.options(point))?;
        let ran = built.run_spooled(cores, (self.snaplen, self.directory.as_deref()));
        let (mut run, spools) = ran.map_err(|source| self.unkept(source))?;
        let traces = core::mem::take(&mut run.traces);
        let ran = RanPoint { point, run: &run, warm_up: found };
        ran.check()?;
        let failed = ran.failed();
        let mut notes = ran.notes(failed.as_deref());
        let traced = traces.len();
        let captures = self.files(&run, (spools, traces), point)?;
        if traced > DRAWN {
            notes.push(format!(
                "pictures of the first {DRAWN} of {traced} ends of connections, those that write before the others; trace.csv has all of them"
            ));
        }
        notes.extend(ran.notes_asked_for());
        let mut rows = rows::rows(point, &run.measured)?;
        notes.extend(ran.notes_of_bounds(&rows));
        notes.extend(ran.complete(&mut rows));
        let own = rows.iter().find(|row| row.load == point.scenario.report.load);
        let limit = own.and_then(|row| row.limit_mbps).map(|limit| ("limit of the line".to_owned(), limit));
        let rows = match &point.scenario.report.tasks {
            Some(tasks) => rows::task_rows(rows, tasks, &run.measured)?,
            None => rows,
        };
        Ok(Outcome { rows, captures, notes, limits: limit.into_iter().collect(), failed })
    }

    /// The overhead ladders of a point's loads, as text, drawn with these `lines`; of those that have none, why.
    ///
    /// # Errors
    /// In words, where all have a layer whose overhead is not known, or a way of lines of which that cannot be told.
    pub fn limit(point: &Point, lines: Lines) -> Result<String, Failure> {
        let printed: &[f64] = if point.scenario.paper == Some(2) { &limit::PAPER_2 } else { &[] };
        let (mut text, mut unknown) = (String::new(), Vec::new());
        for (name, load) in point.scenario.loads() {
            match Self::limit_of(point, (name, load), printed, lines) {
                Ok(more) => text += &more,
                Err(why) => unknown.push(format!("load.{name}: {why}")),
            }
        }
        if text.is_empty() && !unknown.is_empty() {
            return Err(unknown.remove(0).into());
        }
        if let Some(all) = limit::of_loads(&point.scenario) {
            let is_of_calls = point.scenario.load.values().any(|load| load.kind == "rpc");
            let answers = if is_of_calls { ", of rpc the answers" } else { "" };
            let _ =
                writeln!(text, "All loads together, where those on one line share it alike: {all:.3} Mb/s{answers}");
        }
        if let Some(what) = limit::left_out(&point.scenario) {
            let _ = writeln!(text, "Left out: {what}");
        }
        for why in unknown {
            let _ = writeln!(text, "No limit of {why}");
        }
        Ok(text)
    }

    /// That of one load.
    fn limit_of(
        point: &Point,
        (name, load): (&str, &Workload),
        printed: &[f64],
        drawn: Lines,
    ) -> Result<String, String> {
        let mut text = String::new();
        let ladder = limit::of_counted(&point.scenario, load)?;
        let [from, to] = [&load.from, &load.to].map(|ends| ends.0.join(", "));
        if load.kind == "rpc" {
            let _ = writeln!(text, "{name}: {to} -> {from}, the way back: of rpc the answers count");
        } else if point.scenario.load.len() > 1 {
            let _ = writeln!(text, "{name}: {from} -> {to}");
        }
        text += &limit::table(&ladder, printed).draw(Layout { lines: drawn, width: None });
        text += &limit::on_way(&limit::lines(&point.scenario, load)?);
        let pairs = load.pairs().count();
        if pairs > 1 {
            let all = limit::of_all(&point.scenario, load)?;
            let _ = writeln!(text, "All {pairs} pairs together: {all:.3} Mb/s");
        }
        Ok(text)
    }

    /// One step of the ladder, for scenarios that vary it instead of running.
    fn step(point: &Point, load: &Workload) -> Result<Outcome, Failure> {
        let ladder = limit::of_load(&point.scenario, load)?;
        let wanted = load.step.as_deref().unwrap_or_default();
        let steps = ladder.condensed();
        let found = steps.iter().find(|step| step.name == wanted);
        let step = found.ok_or_else(|| {
            let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
            format!("no step {wanted:?}; one of {}", names.join(", "))
        })?;
        let mut row = point.row();
        row.goodput_mbps = step.rate_mbps.as_f64();
        row.limit_mbps = Some(row.goodput_mbps);
        "link".clone_into(&mut row.bound_by);
        Ok(Outcome { rows: vec![row], ..Outcome::default() })
    }
}

/// The load of a scenario that only counts octets, with its name.
fn counts_octets(point: &Point) -> Option<(&String, &Workload)> {
    point.scenario.load.iter().find(|(_, load)| load.kind == LIMIT)
}

/// What the load of a scenario that only counts octets is called.
const LIMIT: &str = "limit";

/// What the file with values over time is called, behind the number of the point.
pub(crate) const SERIES: &str = "series.csv";

/// So many ends of connections have their traces drawn.
const DRAWN: usize = 4;

/// The end of a warm-up that was looked for.
#[derive(Clone, Copy, Debug)]
struct WarmUp {
    /// How long it is.
    time: Duration,
    /// Whether it is known: else half of the run that was looked at.
    is_settled: bool,
}

impl fmt::Display for WarmUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time, is_settled } = self;
        match is_settled {
            true => write!(f, "warm-up: {time}, found where the rest varies least (MSER-5)"),
            false => write!(
                f,
                "warm-up: {time}, half of what was looked at, for goodput had not settled by then: a longer `duration` shows whether it does"
            ),
        }
    }
}

/// In so many parts the run is cut in which the end of the warm-up is looked for.
const PARTS: u32 = 500;

/// Looks for the end of the warm-up in a run of its own, as long as that which is measured.
fn warm_up(point: &Point, given: &BTreeMap<String, Profile>) -> Result<WarmUp, Failure> {
    let options = Options { parts: Some(PARTS), ..Options::default() };
    let run = Laboratory::build(&warmed_up(point, None), given, &options)?.run();
    let course = run.course.unwrap_or_default();
    let settled = stats::truncation_point(&course.total());
    let parts = settled.unwrap_or(PARTS as usize / 2);
    let time = Duration::from_nanos(course.every.as_nanos().saturating_mul(parts as u64));
    Ok(WarmUp { time, is_settled: settled.is_some() })
}

/// The point with that warm-up in the place of one that is to be found.
fn warmed_up(point: &Point, found: Option<WarmUp>) -> Point {
    let mut point = point.clone();
    if point.scenario.run.warm_up.as_deref() == Some(WARM_UP_FOUND) {
        Arc::make_mut(&mut point.scenario).run.warm_up = found.map(|found| format!("{} ns", found.time.as_nanos()));
    }
    point
}

impl Laboratory {
    fn options(&self, point: &Point) -> Options {
        Options { captures: self.pcap.clone(), traces: self.trace, parts: point.scenario.run.batches, live: false }
    }
}

impl Runner for Laboratory {
    fn check(&self, point: &Point) -> Result<(), ConfigError> {
        if let Some((name, load)) = counts_octets(point) {
            if point.scenario.load.len() > 1 {
                return Err(ConfigError::at(["load", name, "kind"], "nothing runs, so no other load can"));
            }
            let counted = Self::step(point, load);
            let counted = counted.map_err(|why| ConfigError::at(["load", name, "step"], why.to_string()))?;
            return names::counted(point, &counted.rows);
        }
        if let Some(window) = &point.scenario.report.window {
            window.limit_mbps()?;
        }
        // As long as it takes to tell whether there may be one.
        let least = WarmUp { time: Duration::from_nanos(1), is_settled: false };
        let built = Self::build(&warmed_up(point, Some(least)), &BTreeMap::new(), &self.options(point))?;
        names::check(point, &built)
    }

    fn run(&self, point: &Point) -> Result<Outcome, Failure> {
        self.run_with(point, &BTreeMap::new())
    }

    fn run_on(&self, point: &Point, cores: usize) -> Result<Outcome, Failure> {
        self.run_as(point, &BTreeMap::new(), cores)
    }
}

impl Laboratory {
    /// The captures and traces of a run of `point`, as files.
    fn files(
        &self,
        run: &Run,
        (spools, traces): (Vec<(String, Spool)>, Vec<Connection>),
        point: &Point,
    ) -> Result<Vec<(String, Contents)>, Failure> {
        let mut files: Vec<(String, Contents)> = Vec::new();
        // One file for each host: a reader takes what two hosts saw of one packet for two packets.
        for (host, spool) in spools {
            let contents = spool
                .finish()
                .map_err(|why| if let CaptureError::Io(source) = why { self.unkept(source) } else { why.into() })?;
            files.push((format!("{host}.pcapng"), contents));
        }
        if let Some(samples) = &run.samples {
            files.push((SERIES.to_owned(), samples.to_csv()?.into_bytes().into()));
            let figures = samples.figures(&point.label(), &point.scenario.happenings());
            files.push(("series.svg".to_owned(), Figure::stacked(&figures).into_bytes().into()));
        }
        if traces.is_empty() {
            return Ok(files);
        }
        let traces = Arc::new(traces);
        files.push(("trace.csv".to_owned(), Contents::Traces(Arc::clone(&traces))));
        // Of many sessions the first few show what there is to see.
        for (number, connection) in traces.iter().take(DRAWN).enumerate() {
            for (what, figure) in [("window", connection.window_figure()), ("sequence", connection.sequence_figure())] {
                files.push((format!("trace-{number}-{what}.svg"), figure.to_svg().into_bytes().into()));
            }
        }
        Ok(files)
    }

    /// That captures cannot wait in the directory: no failure of a point.
    fn unkept(&self, source: io::Error) -> Failure {
        OutputError::Io { path: self.directory.clone().unwrap_or_default().join(Output::CAPTURES), source }.into()
    }
}
