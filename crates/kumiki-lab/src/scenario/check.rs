//! What can be told to be wrong without knowing a protocol: references, units, values that nothing has.

mod hosts;
mod lines;
mod loads;
mod report;
mod runs;
mod tables;

use std::sync::Arc;

use self::hosts::graph;
use self::lines::PluggedEnds;
use self::loads::{begun, loads};
use self::runs::runs;
use super::load::Profiles;
use super::{Scenario, names, real};
use crate::profile;
use kumiki_config::error::ConfigError;

pub(super) use self::hosts::addresses;
pub(super) use self::report::report;
pub(crate) use self::runs::WARM_UP_FOUND;
pub(super) use self::tables::{NAMED, keys, sections, values_of};

/// The most ports of a switch: each takes memory, used or not.
const MOST_PORTS: usize = 8192;

/// The most decimals of a table: beyond them is only what a binary fraction looks like.
const MOST_DECIMALS: u8 = 9;

/// References and units. Profiles that are not `known` yet are read.
pub(super) fn scenario(scenario: &Scenario, known: &mut Profiles) -> Result<(), ConfigError> {
    if let Some(paper) = scenario.paper.filter(|paper| !(1..=5).contains(paper)) {
        return Err(ConfigError::at(["paper"], format!("there is no paper {paper}")).expected("1 to 5"));
    }
    if scenario.report.decimals.is_some_and(|count| count > MOST_DECIMALS) {
        let fault = ConfigError::at(["report", "decimals"], "more decimals than mean anything");
        return Err(fault.expected(format!("0 to {MOST_DECIMALS}")));
    }
    names::distinct(scenario)?;
    switches(scenario)?;
    hosts(scenario, known)?;
    let mut plugged = PluggedEnds::default();
    plugged.add_lines(scenario)?;
    plugged.add_rings(scenario)?;
    plugged.check_devices(scenario)?;
    real::check(scenario)?;
    loads(scenario)?;
    super::event::check(scenario)?;
    begun(scenario)?;
    if let Some(load) = scenario.report.load.as_ref().filter(|load| !scenario.load.contains_key(*load)) {
        let known: Vec<&String> = scenario.load.keys().collect();
        return Err(ConfigError::unknown(["report", "load"], "load", load, &known));
    }
    runs(&scenario.run).map_err(|fault| fault.under(&["run"]))
}

/// Switches have as many ports as there can be, and settings that can be read.
fn switches(scenario: &Scenario) -> Result<(), ConfigError> {
    for (name, switch) in &scenario.switch {
        if !(1..=MOST_PORTS).contains(&switch.ports) {
            let fault = ConfigError::at(["switch", name, "ports"], "not a number of ports");
            return Err(fault.expected(format!("1 to {MOST_PORTS} ports")));
        }
        switch.switch().map_err(|fault| fault.under(&["switch", name]))?;
    }
    Ok(())
}

/// Hosts have a graph, and a profile that can be read.
fn hosts(scenario: &Scenario, known: &mut Profiles) -> Result<(), ConfigError> {
    for (name, host) in &scenario.host {
        graph(scenario, name, host)?;
        let wanted = host.profile_name();
        if !known.contains_key(wanted) {
            // A mistake within the profile names its own file.
            let read = profile::load(wanted).map_err(|fault| fault.or_at(&["host", name, "profile"]))?;
            known.insert(wanted.to_owned(), Arc::new(read));
        }
    }
    Ok(())
}
