//! The plugs of lines.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Graph, Host, Scenario, groups};
use super::natural;
use kumiki_config::error::ConfigError;

/// Names the device or port of each end that names a host or switch alone, and counts the ports of switches that do not
/// say how many they have.
pub(super) fn settle(scenario: &mut Scenario) -> Result<(), ConfigError> {
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
fn device(host: &Host, name: &str) -> Result<String, ConfigError> {
    let devices = host.graph.as_ref().map(Graph::devices).unwrap_or_default();
    match devices.as_slice() {
        [device] => Ok(format!("{name}.{device}")),
        [] => Err(ConfigError::new(format!("host {name} has no device"))),
        several => {
            let ends: Vec<String> = several.iter().map(|device| format!("{name}.{device}")).collect();
            Err(ConfigError::new(format!("host {name} has several devices")).one_of(&ends))
        }
    }
}

/// `end` is a device of a host or a port of a switch.
pub(in crate::scenario) fn plug(scenario: &Scenario, path: &[&str], end: &str) -> Result<(), ConfigError> {
    let is_ring = path.first() == Some(&"ring");
    // Only what is wrong looks at all of them.
    let known = || scenario.host.keys().chain(scenario.switch.keys().filter(|_| !is_ring));
    let is_known = |name: &str| scenario.host.contains_key(name) || (!is_ring && scenario.switch.contains_key(name));
    let unknown = |name: &str| {
        let what = if is_ring { "host" } else { "host or switch" };
        ConfigError::unknown(path, what, name, &known().collect::<Vec<_>>())
    };
    let (owner, rest) = end.split_once('.').map_or((end, None), |(owner, rest)| (owner, Some(rest)));
    let meant = if is_known(owner) { None } else { groups::meant(known(), owner) };
    if let Some((count, group)) = meant {
        let rest = rest.map_or_else(String::new, |rest| format!(".{rest}"));
        return Err(if is_ring {
            let expected = format!("a name for each: \"{group}0{rest}\", \"{group}1{rest}\" and so on");
            ConfigError::at(path, format!("{owner:?} is {count} of them")).expected(expected)
        } else {
            let lines = format!("as many lines: count = {count} beside `ends`, and \"{group}${{i}}{rest}\" in it");
            ConfigError::at(path, format!("{owner:?} is {count} of them, and a line has two ends")).expected(lines)
        });
    }
    if is_ring && scenario.switch.contains_key(owner) {
        return Err(
            ConfigError::at(path, format!("{owner} is a switch, and none is a station of a ring")).expected("a host")
        );
    }
    let Some((owner, plug)) = end.split_once('.') else {
        let fault = ConfigError::at(path, "no \".\"");
        return Err(match (is_known(end), is_ring) {
            (true, true) => fault.expected("\"host.device\""),
            (true, false) => fault.expected("\"host.device\" or \"switch.port\""),
            (false, _) => unknown(end),
        });
    };
    if let Some(host) = scenario.host.get(owner) {
        let Some(graph) = &host.graph else {
            return Ok(());
        };
        let devices = graph.devices();
        if devices.contains(&plug) {
            return Ok(());
        }
        let fault = ConfigError::unknown(path, &format!("device of host {owner}"), plug, &devices);
        return Err(if graph.nodes().contains(&plug) {
            ConfigError::at(path, format!("the layer {plug:?} of host {owner} is no device, as it stands on another"))
                .one_of(&devices)
        } else {
            fault
        });
    }
    if let Some(switch) = scenario.switch.get(owner) {
        return match plug.parse::<usize>() {
            Ok(port) if port < switch.ports => Ok(()),
            _ => Err(ConfigError::at(path, format!("switch {owner} has no port {plug:?}"))
                .expected(format!("0 to {}", switch.ports.saturating_sub(1)))),
        };
    }
    Err(unknown(owner))
}
