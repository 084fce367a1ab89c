//! What runs a point: the one place where the commands and the experiments meet.

use core::fmt::Write as _;
use std::collections::BTreeMap;

use kumiki_lab::capture::{self, Layers, trace};
use kumiki_lab::experiment::{ControlShare, Experiment, Measured, Options, Run, WindowUse};
use kumiki_lab::limit;
use kumiki_lab::profile::{self, Profile};
use kumiki_lab::reproduce::{Failure, Outcome, Runner};
use kumiki_lab::rows::{Parameter, Row};
use kumiki_lab::scenario::{Fault, Point, Tasks};
use kumiki_lab::stats;
use kumiki_lab::table::{Layout, Lines};

/// Runs points in virtual time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Laboratory {
    /// What to capture.
    pub(crate) pcap: Layers,
    /// Keep traces of connections.
    pub(crate) trace: bool,
}

impl Laboratory {
    fn build(&self, point: &Point) -> Result<Experiment, Fault> {
        let mut profiles: BTreeMap<String, Profile> = BTreeMap::new();
        for host in point.scenario.host.values() {
            let name = host.profile.as_deref().unwrap_or(profile::ZERO);
            if !profiles.contains_key(name) {
                profiles.insert(name.to_owned(), profile::load(name)?);
            }
        }
        let options = Options { captures: self.pcap.clone(), traces: self.trace };
        let seed = point.scenario.workload.seed;
        Experiment::build(&point.scenario, &profiles, seed, &options)
    }

    /// The overhead ladder of a point, as text.
    pub(crate) fn limit(point: &Point) -> Result<String, Failure> {
        let ladder = limit::of_scenario(&point.scenario)?;
        let printed: &[f64] = if point.scenario.paper == Some(2) { &limit::PAPER_2 } else { &[] };
        Ok(limit::table(&ladder, printed).draw(Layout { lines: Lines::Unicode, width: None }))
    }

    /// One step of the ladder, for scenarios that vary it instead of running.
    fn step(point: &Point) -> Result<Outcome, Failure> {
        let ladder = limit::of_scenario(&point.scenario)?;
        let wanted = point.scenario.workload.step.as_deref().unwrap_or_default();
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

/// What the load of a scenario that only counts octets is called.
const LIMIT: &str = "limit";

/// So many connections have their traces drawn.
const DRAWN: usize = 4;

/// Below this the fairness of sessions is worth a note.
const UNFAIR: f64 = 0.95;

impl Runner for Laboratory {
    fn check(&self, point: &Point) -> Result<(), Fault> {
        if point.scenario.workload.kind == LIMIT {
            return Self::step(point).map(drop).map_err(|why| Fault::at(["workload", "step"], why.to_string()));
        }
        if let Some(window) = &point.scenario.report.window {
            window.limit_mbps()?;
        }
        self.build(point).map(drop)
    }

    fn run(&self, point: &Point) -> Result<Outcome, Failure> {
        if point.scenario.workload.kind == LIMIT {
            return Self::step(point);
        }
        let run = self.build(point)?.run();
        if let Some(standstill) = &run.standstill {
            return Err(standstill.to_string().into());
        }
        if let Some(position) = run.measured.wrong {
            return Err(format!("octet {position} arrived wrong").into());
        }
        if let Some(why) = &run.measured.failure {
            return Err(format!("the file did not arrive: {why}").into());
        }
        let beside = run.measured.beside.iter();
        let loads = beside.map(|(name, other)| (Some(name), other));
        for (name, measured) in core::iter::once((None, &run.measured)).chain(loads) {
            if let Some(why) = &measured.unconnected {
                let of = name.map_or_else(String::new, |name| format!(" for beside.{name}"));
                return Err(format!("no connection was established{of}: {why}").into());
            }
        }
        let mut notes = notes(&run.measured);
        if run.measured.goodput_mbps == 0.0 && run.measured.echoes.is_none() {
            notes.push("nothing arrived while it was measured".to_owned());
        }
        let captures = files(&run)?;
        let traced = run.traces.len();
        if traced > DRAWN {
            notes.push(format!("pictures of the first {DRAWN} of {traced} connections; trace.csv has all of them"));
        }
        let mut row = point.row()?;
        row.goodput_mbps = run.measured.goodput_mbps;
        if let Some(times) = point.scenario.workload.times {
            let raw = Parameter::Number(row.goodput_mbps);
            row.varied.push(("raw_mbps".to_owned(), raw));
            row.goodput_mbps *= f64::from(times);
        }
        let ladder = limit::of_scenario(&point.scenario).ok();
        row.limit_mbps = ladder.map(|ladder| ladder.goodput_mbps().as_f64());
        let bound = run.measured.bound(row.limit_mbps);
        bound.name().clone_into(&mut row.bound_by);
        row.jain = run.measured.jain;
        row.held = run.measured.held.iter().map(|(limit, share)| (limit.name().to_owned(), *share)).collect();
        if point.scenario.report.cpu {
            notes.push(cpu_use(&run.measured));
        }
        if point.scenario.report.window.is_some() {
            notes.extend(WindowUse::of(&run.measured).map(|used| used.to_string()));
            notes.extend(ControlShare::of(&run.measured).map(|share| share.to_string()));
        }
        let limit = row.limit_mbps.map(|limit| ("limit of the line".to_owned(), limit));
        row.counters.clone_from(&run.measured.counters);
        for (name, other) in &run.measured.beside {
            let octets = other.sessions.iter().map(|it| it.octets).sum();
            let counted = [("octets".to_owned(), octets)];
            row.counters.insert(format!("beside.{name}"), counted.into());
        }
        let rows = match &point.scenario.report.tasks {
            Some(tasks) => task_rows(&row, tasks, &run.measured)?,
            None => vec![row],
        };
        Ok(Outcome { rows, captures, notes, limits: limit.into_iter().collect() })
    }
}

/// A row for each task of each host.
fn task_rows(row: &Row, tasks: &Tasks, measured: &Measured) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for (place, time) in &measured.tasks {
        let Some((host, task)) = place.split_once('.') else {
            continue;
        };
        let Some(rank) = tasks.names.iter().position(|name| name == task) else {
            continue;
        };
        let mut row = row.clone();
        let cpu_ms = Parameter::Number(time.as_secs_f64() * 1e3);
        for (name, value) in
            [("side", Parameter::Text(host.to_owned())), ("task", Parameter::Text(task.to_owned())), ("cpu_ms", cpu_ms)]
        {
            row.varied.push((name.to_owned(), value));
        }
        rows.push((host, rank, row));
    }
    if rows.is_empty() {
        let names: Vec<&str> = measured.tasks.keys().map(String::as_str).collect();
        return Err(format!("no host has a task of report.tasks.names; there are {}", names.join(", ")).into());
    }
    rows.sort_by_key(|(host, rank, _)| (*host != measured.writer, *host, *rank));
    Ok(rows.into_iter().map(|(_, _, row)| row).collect())
}

/// What a reader of the table should know beside the rates.
fn notes(measured: &Measured) -> Vec<String> {
    let sessions = measured.sessions.len();
    let aborted = measured.sessions.iter().filter(|session| session.aborted.is_some());
    let aborted = aborted.count();
    let mut notes = Vec::new();
    if aborted > 0 {
        notes.push(format!("{aborted} of {sessions} sessions were aborted"));
    }
    if measured.stopped > 0 {
        let stopped = measured.stopped;
        notes.push(format!("{stopped} of {sessions} connections transferred nothing for a second or more"));
    }
    if let Some(jain) = measured.jain
        && jain < UNFAIR
    {
        notes.push(format!("Jain's index {jain:.3}"));
    }
    notes.extend(measured.units.map(|units| units.to_string()));
    notes.extend(measured.echoes.map(|echoes| echoes.to_string()));
    for (name, other) in &measured.beside {
        notes.push(format!("beside, {name}: {:.2} Mb/s", other.goodput_mbps));
        let told = self::notes(other).into_iter();
        notes.extend(told.map(|note| format!("beside, {name}: {note}")));
    }
    notes
}

/// How busy the CPUs of each host were on average, and how long the writing program waited beside that.
fn cpu_use(measured: &Measured) -> String {
    let mut hosts: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (cpu, busy) in &measured.cpu {
        let host = cpu.split_once('.').map_or(cpu.as_str(), |(host, _)| host);
        hosts.entry(host).or_default().push(*busy);
    }
    let mut text = "CPU use".to_owned();
    for (host, busy) in hosts {
        let mean = stats::mean(&busy).unwrap_or(0.0) * 100.0;
        let _ = write!(text, ", {host} {mean:.0} % of {}", busy.len());
    }
    if measured.waited > 0.0 {
        let waited = measured.waited * 100.0;
        let _ = write!(text, "; the writing program waits {waited:.0} % of the time");
    }
    text
}

/// The captures and traces of a run, as files.
fn files(run: &Run) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut files = Vec::new();
    // One file for each host: a reader takes what two hosts saw of one packet for two packets.
    for host in run.captured.iter().filter(|host| !host.taps.is_empty()) {
        let octets = capture::pcapng(core::slice::from_ref(host), Vec::new())?;
        files.push((format!("{}.pcapng", host.host), octets));
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
