//! What runs a point: the one place where the commands and the experiments meet.

use std::collections::BTreeMap;

use kumiki_lab::capture::{self, Layers};
use kumiki_lab::experiment::{Experiment, Options};
use kumiki_lab::profile::{self, Profile};
use kumiki_lab::reproduce::{Failure, Outcome, Runner};
use kumiki_lab::scenario::{Fault, Point};

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
        self.build(point)?;
        Err("the overhead ladder of this stack is not known".into())
    }
}

impl Runner for Laboratory {
    fn check(&self, point: &Point) -> Result<(), Fault> {
        self.build(point).map(drop)
    }

    fn run(&self, point: &Point) -> Result<Outcome, Failure> {
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
        measured
            .bound(row.limit_mbps)
            .name()
            .clone_into(&mut row.bound_by);
        row.counters = measured.counters;
        // One file for each host: a reader takes what two hosts saw of one packet for two packets.
        let mut captures = Vec::new();
        for host in run.captured.iter().filter(|host| !host.taps.is_empty()) {
            let octets = capture::pcapng(core::slice::from_ref(host), Vec::new())?;
            captures.push((format!("{}.pcapng", host.host), octets));
        }
        Ok(Outcome {
            rows: vec![row],
            notes,
            captures,
            ..Outcome::default()
        })
    }
}
