//! What runs a point: the one place where the commands and the experiments meet.

use std::collections::BTreeMap;

use kumiki_lab::capture::{self, Layers, trace};
use kumiki_lab::experiment::{Experiment, Options};
use kumiki_lab::limit;
use kumiki_lab::profile::{self, Profile};
use kumiki_lab::reproduce::{Failure, Outcome, Runner};
use kumiki_lab::scenario::{Fault, Point};
use kumiki_lab::table::{Layout, Lines};

/// Runs points in virtual time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Laboratory {
    /// Keep captures.
    pub(crate) pcap: bool,
    /// Keep an event log.
    pub(crate) trace: bool,
}

impl Laboratory {
    fn build(self, point: &Point) -> Result<Experiment, Fault> {
        let mut profiles: BTreeMap<String, Profile> = BTreeMap::new();
        for host in point.scenario.host.values() {
            let name = host.profile.as_deref().unwrap_or(profile::ZERO);
            if !profiles.contains_key(name) {
                profiles.insert(name.to_owned(), profile::load(name)?);
            }
        }
        let options = Options {
            captures: if self.pcap {
                Layers::Device
            } else {
                Layers::None
            },
            traces: self.trace,
        };
        let seed = point.scenario.workload.seed;
        Experiment::build(&point.scenario, &profiles, seed, &options)
    }

    /// The overhead ladder of a point, as text.
    pub(crate) fn limit(self, point: &Point) -> Result<String, Failure> {
        let ladder = limit::of_scenario(&point.scenario)?;
        let printed: &[f64] = if point.scenario.paper == Some(2) {
            &limit::PAPER_2
        } else {
            &[]
        };
        Ok(limit::table(&ladder, printed).draw(Layout {
            lines: Lines::Unicode,
            width: None,
        }))
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
        Ok(Outcome {
            rows: vec![row],
            ..Outcome::default()
        })
    }
}

/// What the load of a scenario that only counts octets is called.
const LIMIT: &str = "limit";

/// Below this the fairness of sessions is worth a note.
const UNFAIR: f64 = 0.95;

impl Runner for Laboratory {
    fn check(&self, point: &Point) -> Result<(), Fault> {
        if point.scenario.workload.kind == LIMIT {
            return Self::step(point)
                .map(drop)
                .map_err(|why| Fault::at(["workload", "step"], why.to_string()));
        }
        self.build(point).map(drop)
    }

    fn run(&self, point: &Point) -> Result<Outcome, Failure> {
        if point.scenario.workload.kind == LIMIT {
            return Self::step(point);
        }
        let run = self.build(point)?.run();
        let measured = run.measured;
        if let Some(position) = measured.wrong {
            return Err(format!("octet {position} arrived wrong").into());
        }
        let mut notes = Vec::new();
        let aborted = measured
            .sessions
            .iter()
            .filter(|session| session.aborted.is_some())
            .count();
        if aborted > 0 {
            notes.push(format!(
                "{aborted} of {} sessions were aborted",
                measured.sessions.len()
            ));
        }
        let mut row = point.row()?;
        row.goodput_mbps = measured.goodput_mbps;
        let limit = limit::of_scenario(&point.scenario).ok();
        row.limit_mbps = limit.map(|ladder| ladder.goodput_mbps().as_f64());
        measured
            .bound(row.limit_mbps)
            .name()
            .clone_into(&mut row.bound_by);
        let limits = row
            .limit_mbps
            .map(|limit| ("limit of the line".to_owned(), limit));
        row.counters = measured.counters;
        if row.goodput_mbps == 0.0 && point.scenario.workload.kind != "ping" {
            notes.push("nothing arrived while it was measured".to_owned());
        }
        if measured.stopped > 0 {
            notes.push(format!(
                "{} of {} sessions stood still for a second or more",
                measured.stopped,
                measured.sessions.len()
            ));
        }
        if let Some(jain) = measured.jain
            && measured.sessions.len() > 1
            && jain < UNFAIR
        {
            notes.push(format!("Jain's index {jain:.3}"));
        }
        // One file for each host: a reader takes what two hosts saw of one packet for two packets.
        let mut captures = Vec::new();
        for host in run.captured.iter().filter(|host| !host.taps.is_empty()) {
            let octets = capture::pcapng(core::slice::from_ref(host), Vec::new())?;
            captures.push((format!("{}.pcapng", host.host), octets));
        }
        for end in run.traces.chunk_by(|a, b| a.host == b.host) {
            if let Some(first) = end.first() {
                let lines = trace::to_jsonl(end)?;
                captures.push((format!("{}-tcp.jsonl", first.host), lines.into_bytes()));
            }
        }
        Ok(Outcome {
            rows: vec![row],
            limits: limits.into_iter().collect(),
            notes,
            captures,
            ..Outcome::default()
        })
    }
}
