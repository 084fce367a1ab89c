//! Lines and rings end on devices and ports that are there, one on each.

use std::collections::BTreeSet;

use kumiki_link::Impairment;

use super::super::{Graph, Scenario, network};
use kumiki_config::error::ConfigError;
use kumiki_media as medium;

/// The ends of the lines and rings that have been looked at.
#[derive(Default)]
pub(super) struct PluggedEnds<'a>(BTreeSet<&'a String>);

impl<'a> PluggedEnds<'a> {
    /// Those of the lines of `scenario`, which can be read.
    pub(super) fn add_lines(&mut self, scenario: &'a Scenario) -> Result<(), ConfigError> {
        for (name, line) in &scenario.link {
            self.add(scenario, ["link", name], &line.ends)?;
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
        Ok(())
    }

    /// Those of its rings.
    pub(super) fn add_rings(&mut self, scenario: &'a Scenario) -> Result<(), ConfigError> {
        for (name, ring) in &scenario.ring {
            self.add(scenario, ["ring", name], &ring.ends)?;
            if ring.ends.len() < 2 {
                let fault = ConfigError::at(["ring", name, "ends"], "only one end");
                return Err(fault.expected("at least two stations"));
            }
            let read = ring.ring().and_then(|it| toward(it.impairment(), &ring.ends));
            read.map_err(|fault| fault.under(&["ring", name]))?;
        }
        Ok(())
    }

    /// The ends of one of them, on which no other ends.
    fn add(&mut self, scenario: &Scenario, [section, name]: [&str; 2], ends: &'a [String]) -> Result<(), ConfigError> {
        for (number, end) in ends.iter().enumerate() {
            let number = number.to_string();
            let path = [section, name, "ends", number.as_str()];
            network::plug(scenario, &path, end)?;
            if !self.0.insert(end) {
                return Err(occupied(&path, end));
            }
        }
        Ok(())
    }

    /// On each device of a host ends one of them.
    pub(super) fn check_devices(&self, scenario: &Scenario) -> Result<(), ConfigError> {
        for (name, host) in &scenario.host {
            let devices = host.graph.as_ref().map(Graph::devices);
            for device in devices.unwrap_or_default() {
                let end = format!("{name}.{device}");
                if !self.0.contains(&end) {
                    let problem = format!("no line ends on the device {device:?} of host {name}");
                    let fault = ConfigError::at(["host", name, "graph"], problem).of_topology();
                    return Err(fault.expected(format!("{end:?} among the `ends` of a [link] or a [ring]")));
                }
            }
        }
        Ok(())
    }
}

/// That a line ends where another one does.
fn occupied(path: &[&str], end: &str) -> ConfigError {
    let host = end.split('.').next().unwrap_or(end);
    let fault = ConfigError::at(path, "another line ends here already").of_topology();
    fault.expected(format!("a device of its own for each line: another name at the end of the graph of {host}"))
}

/// That `toward` of what goes wrong is one of `ends`.
fn toward(impairment: Option<(Option<&str>, Impairment)>, ends: &[String]) -> Result<(), ConfigError> {
    let (toward, _) = impairment.unwrap_or_default();
    medium::is_end(toward, ends).map_err(|fault| fault.under(&["impair"]))
}
