//! What can be told to be wrong without knowing a protocol: references, units, values that nothing has.

mod hosts;
mod loads;
mod report;
mod runs;
mod tables;

use std::collections::BTreeSet;
use std::sync::Arc;

use kumiki_link::Impairment;

use self::hosts::graph;
use self::loads::{begun, loads};
use self::runs::runs;
use super::fault::Fault;
use super::load::Profiles;
use super::{Graph, Scenario, names, network, real};
use crate::{medium, profile};

pub(super) use self::hosts::addresses;
pub(super) use self::report::report;
pub(crate) use self::runs::WARM_UP_FOUND;
pub(super) use self::tables::{NAMED, keys, sections, values_of};

/// The most ports of a switch: each takes memory, used or not.
const MOST_PORTS: usize = 8192;

/// The most decimals of a table: beyond them is only what a binary fraction looks like.
const MOST_DECIMALS: u8 = 9;

/// References and units. Profiles that are not `known` yet are read.
pub(super) fn scenario(scenario: &Scenario, known: &mut Profiles) -> Result<(), Fault> {
    if let Some(paper) = scenario.paper.filter(|paper| !(1..=5).contains(paper)) {
        return Err(Fault::at(["paper"], format!("there is no paper {paper}")).expected("1 to 5"));
    }
    if scenario.report.decimals.is_some_and(|count| count > MOST_DECIMALS) {
        let fault = Fault::at(["report", "decimals"], "more decimals than mean anything");
        return Err(fault.expected(format!("0 to {MOST_DECIMALS}")));
    }
    names::distinct(scenario)?;
    for (name, switch) in &scenario.switch {
        if !(1..=MOST_PORTS).contains(&switch.ports) {
            let fault = Fault::at(["switch", name, "ports"], "not a number of ports");
            return Err(fault.expected(format!("1 to {MOST_PORTS} ports")));
        }
        switch.switch().map_err(|fault| fault.under(&["switch", name]))?;
    }
    for (name, host) in &scenario.host {
        graph(scenario, name, host)?;
        let wanted = host.profile_name();
        if !known.contains_key(wanted) {
            // A mistake within the profile names its own file.
            let read = profile::load(wanted).map_err(|fault| fault.or_at(&["host", name, "profile"]))?;
            known.insert(wanted.to_owned(), Arc::new(read));
        }
    }
    let mut plugged: BTreeSet<&String> = BTreeSet::new();
    for (name, line) in &scenario.link {
        for (number, end) in line.ends.iter().enumerate() {
            let number = number.to_string();
            let path = ["link", name.as_str(), "ends", number.as_str()];
            network::plug(scenario, &path, end)?;
            if !plugged.insert(end) {
                return Err(occupied(&path, end));
            }
        }
        let read = line.line().and_then(|it| {
            it.judge_files()?;
            for (number, step) in it.schedule().iter().enumerate() {
                let end = medium::is_end(step.toward.as_deref(), &line.ends);
                end.map_err(|fault| fault.under(&["schedule", &number.to_string()]))?;
            }
            toward(it.impairment(), &line.ends)
        });
        read.map_err(|fault| fault.under(&["link", name]))?;
    }
    for (name, round) in &scenario.ring {
        for (number, end) in round.ends.iter().enumerate() {
            let number = number.to_string();
            let path = ["ring", name.as_str(), "ends", number.as_str()];
            network::plug(scenario, &path, end)?;
            if !plugged.insert(end) {
                return Err(occupied(&path, end));
            }
        }
        if round.ends.len() < 2 {
            let fault = Fault::at(["ring", name, "ends"], "nobody to speak to");
            return Err(fault.expected("at least two stations"));
        }
        let read = round.ring().and_then(|it| toward(it.impairment(), &round.ends));
        read.map_err(|fault| fault.under(&["ring", name]))?;
    }
    for (name, host) in &scenario.host {
        let devices = host.graph.as_ref().map(Graph::devices);
        for device in devices.unwrap_or_default() {
            let end = format!("{name}.{device}");
            if !plugged.contains(&&end) {
                let fault =
                    Fault::at(["host", name, "graph"], format!("no line ends on the device {device:?} of host {name}"));
                return Err(fault.of_topology().expected(format!("{end:?} among the `ends` of a [link] or a [ring]")));
            }
        }
    }
    real::check(scenario)?;
    loads(scenario)?;
    super::event::check(scenario)?;
    begun(scenario)?;
    if let Some(load) = scenario.report.load.as_ref().filter(|load| !scenario.load.contains_key(*load)) {
        let known: Vec<&String> = scenario.load.keys().collect();
        return Err(Fault::unknown(["report", "load"], "load", load, &known));
    }
    runs(&scenario.run).map_err(|fault| fault.under(&["run"]))
}

/// That a line ends where another one does.
fn occupied(path: &[&str], end: &str) -> Fault {
    let host = end.split('.').next().unwrap_or(end);
    let fault = Fault::at(path, "another line ends here already").of_topology();
    fault.expected(format!("a device of its own for each line: another name at the end of the graph of {host}"))
}

/// That `toward` of what goes wrong is one of `ends`.
fn toward(impairment: Option<(Option<&str>, Impairment)>, ends: &[String]) -> Result<(), Fault> {
    let (toward, _) = impairment.unwrap_or_default();
    medium::is_end(toward, ends).map_err(|fault| fault.under(&["impair"]))
}
