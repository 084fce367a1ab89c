//! What runs a point in virtual time, and makes rows and notes of what was measured.

mod notes;
mod rows;

use core::fmt::Write as _;
use std::collections::BTreeMap;

use crate::capture::{self, Layers, trace};
use crate::experiment::{ControlShare, Experiment, Options, Run, WindowUse};
use crate::figure::Figure;
use crate::limit;
use crate::profile::{self, Profile};
use crate::reproduce::{Failure, Outcome, Runner};
use crate::scenario::{Fault, Point, Workload};
use crate::table::{Layout, Lines};

/// Runs points in virtual time.
#[derive(Clone, Debug, Default)]
pub struct Laboratory {
    /// What to capture.
    pub pcap: Layers,
    /// Keep traces of connections.
    pub trace: bool,
}

impl Laboratory {
    /// `given` are profiles in the place of those of their names.
    fn build(&self, point: &Point, given: &BTreeMap<String, Profile>) -> Result<Experiment, Fault> {
        let mut profiles = given.clone();
        for host in point.scenario.host.values() {
            let name = host.profile.as_deref().unwrap_or(profile::ZERO);
            if !profiles.contains_key(name) {
                profiles.insert(name.to_owned(), profile::load(name)?);
            }
        }
        let options = Options { captures: self.pcap.clone(), traces: self.trace };
        let seed = point.scenario.run.seed;
        Experiment::build(&point.scenario, &profiles, seed, &options)
    }

    /// As [`Runner::run`], with the profiles in `given` in the place of those of their names.
    ///
    /// # Errors
    ///
    /// As [`Runner::run`].
    pub fn run_with(&self, point: &Point, given: &BTreeMap<String, Profile>) -> Result<Outcome, Failure> {
        if let Some((_, load)) = counts_octets(point) {
            return Self::step(point, load);
        }
        let run = self.build(point, given)?.run();
        if let Some(standstill) = &run.standstill {
            return Err(standstill.to_string().into());
        }
        let measured = &run.measured;
        if let Some(position) = measured.total.wrong {
            return Err(format!("octet {position} arrived wrong").into());
        }
        if let Some(why) = &measured.total.failure {
            return Err(format!("the file did not arrive: {why}").into());
        }
        // One of several that is only unlucky is a result, too.
        let all = measured.loads.values().all(|load| load.unconnected.is_some());
        for (name, load) in &measured.loads {
            if let Some(none) = load.unconnected.as_ref().filter(|it| all || !it.silent) {
                let of = if measured.loads.len() > 1 { format!(" for load.{name}") } else { String::new() };
                return Err(format!("no connection was established{of}: {}", none.why).into());
            }
        }
        let mut notes = notes::notes(measured, point.scenario.report.load.as_ref());
        if measured.total.goodput_mbps == 0.0 && measured.total.echoes.is_none() {
            notes.push("nothing arrived while it was measured".to_owned());
        }
        let captures = files(&run, &point.label())?;
        let traced = run.traces.len();
        if traced > DRAWN {
            notes.push(format!("pictures of the first {DRAWN} of {traced} connections; trace.csv has all of them"));
        }
        if point.scenario.report.cpu {
            notes.push(notes::cpu_use(measured));
        }
        if point.scenario.report.window.is_some() {
            notes.extend(WindowUse::of(measured).map(|used| used.to_string()));
            notes.extend(ControlShare::of(measured).map(|share| share.to_string()));
        }
        let rows = rows::rows(point, measured)?;
        let own = rows.iter().find(|row| row.load == point.scenario.report.load);
        let limit = own.and_then(|row| row.limit_mbps).map(|limit| ("limit of the line".to_owned(), limit));
        let rows = match &point.scenario.report.tasks {
            Some(tasks) => rows::task_rows(rows, tasks, measured)?,
            None => rows,
        };
        Ok(Outcome { rows, captures, notes, limits: limit.into_iter().collect() })
    }

    /// The overhead ladders of a point's loads, as text.
    ///
    /// # Errors
    /// In words, where one has a layer whose overhead is not known, or more than one hop.
    pub fn limit(point: &Point) -> Result<String, Failure> {
        let printed: &[f64] = if point.scenario.paper == Some(2) { &limit::PAPER_2 } else { &[] };
        let mut text = String::new();
        for (name, load) in &point.scenario.load {
            let ladder = limit::of_load(&point.scenario, load).map_err(|why| format!("load.{name}: {why}"))?;
            if point.scenario.load.len() > 1 {
                let _ = writeln!(text, "{name}: {} -> {}", load.from.0.join(", "), load.to.0.join(", "));
            }
            text += &limit::table(&ladder, printed).draw(Layout { lines: Lines::Unicode, width: None });
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
        let mut row = point.row()?;
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

/// So many connections have their traces drawn.
const DRAWN: usize = 4;

impl Runner for Laboratory {
    fn check(&self, point: &Point) -> Result<(), Fault> {
        if let Some((name, load)) = counts_octets(point) {
            if point.scenario.load.len() > 1 {
                return Err(Fault::at(["load", name, "kind"], "nothing runs, so no other load can"));
            }
            return Self::step(point, load).map(drop).map_err(|why| Fault::at(["load", name, "step"], why.to_string()));
        }
        if let Some(window) = &point.scenario.report.window {
            window.limit_mbps()?;
        }
        self.build(point, &BTreeMap::new()).map(drop)
    }

    fn run(&self, point: &Point) -> Result<Outcome, Failure> {
        self.run_with(point, &BTreeMap::new())
    }
}

/// The captures and traces of a run, as files; `label` says of which.
fn files(run: &Run, label: &str) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut files = Vec::new();
    // One file for each host: a reader takes what two hosts saw of one packet for two packets.
    for host in run.captured.iter().filter(|host| !host.taps.is_empty()) {
        let octets = capture::pcapng(core::slice::from_ref(host), Vec::new())?;
        files.push((format!("{}.pcapng", host.host), octets));
    }
    if let Some(samples) = &run.samples {
        files.push(("series.csv".to_owned(), samples.to_csv()?.into_bytes()));
        files.push(("series.svg".to_owned(), Figure::stacked(&samples.figures(label)).into_bytes()));
    }
    if run.traces.is_empty() {
        return Ok(files);
    }
    files.push(("trace.csv".to_owned(), trace::to_csv(&run.traces)?.into_bytes()));
    // Of many sessions the first few show what there is to see.
    for (number, connection) in run.traces.iter().take(DRAWN).enumerate() {
        for (what, figure) in [("window", connection.window_figure()), ("sequence", connection.sequence_figure())] {
            files.push((format!("trace-{number}-{what}.svg"), figure.to_svg().into_bytes()));
        }
    }
    Ok(files)
}
