//! The plugs of lines.

use std::collections::{BTreeMap, BTreeSet};

use super::super::fault::Fault;
use super::super::{Graph, Host, Scenario};
use super::natural;

/// Names the device or port of each end that names a host or switch alone, and counts the ports of switches that do not say how many they have.
pub(super) fn settle(scenario: &mut Scenario) -> Result<(), Fault> {
    let Scenario { host: hosts, switch: switches, link: links, ring: rings, .. } = scenario;
    let mut taken: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for end in links.values().flat_map(|link| &link.ends) {
        if let Some((switch, port)) = end.split_once('.')
            && let Ok(port) = port.parse()
        {
            taken.entry(switch.to_owned()).or_default().insert(port);
        }
    }
    let mut names: Vec<String> = links.keys().cloned().collect();
    names.sort_by(|one, other| natural(one).cmp(&natural(other)));
    for name in &names {
        for (number, end) in links.get_mut(name).into_iter().flat_map(|link| &mut link.ends).enumerate() {
            if end.contains('.') {
                continue;
            }
            if let Some(host) = hosts.get(end) {
                let device = device(host, end);
                *end = device.map_err(|fault| fault.under(&["link", name, "ends", &number.to_string()]))?;
            } else if switches.contains_key(end) {
                let ports = taken.entry(end.clone()).or_default();
                let free = (0..).find(|port| !ports.contains(port)).unwrap_or_default();
                ports.insert(free);
                *end = format!("{end}.{free}");
            }
        }
    }
    for (name, ring) in rings {
        for (number, end) in ring.ends.iter_mut().enumerate() {
            let host = hosts.get(end.as_str()).filter(|_| !end.contains('.'));
            if let Some(host) = host {
                let device = device(host, end);
                *end = device.map_err(|fault| fault.under(&["ring", name, "ends", &number.to_string()]))?;
            }
        }
    }
    for (name, switch) in switches.iter_mut().filter(|(_, switch)| switch.ports == 0) {
        let last = taken.get(name).and_then(BTreeSet::last);
        switch.ports = last.map_or(0, |last| last.saturating_add(1));
    }
    Ok(())
}

/// The one device of `host`, as `name.device`.
fn device(host: &Host, name: &str) -> Result<String, Fault> {
    let devices = host.graph.as_ref().map(Graph::devices).unwrap_or_default();
    match devices.as_slice() {
        [device] => Ok(format!("{name}.{device}")),
        [] => Err(Fault::new(format!("host {name} has no device"))),
        several => {
            let ends: Vec<String> = several.iter().map(|device| format!("{name}.{device}")).collect();
            Err(Fault::new(format!("host {name} has several devices")).one_of(&ends))
        }
    }
}
