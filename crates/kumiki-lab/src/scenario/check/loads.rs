//! Loads have ends that are there, and sizes and times that can be.

use std::collections::BTreeSet;

use kumiki_graph::Duration;
use kumiki_octets::text::counted;

use super::super::{Nodes, Scenario, Workload, groups};
use super::runs::{LONGEST, optional_time, too_long};
use kumiki_config::error::{ConfigError, OF_NO_USE, quantity};
use kumiki_config::quantity::{Distribution, Octets, Quantity, Rate};

/// The most sessions of a load: the dynamic ports of a host, 49152 to 65535 (RFC 6335 section 6).
const MOST_SESSIONS: u32 = 16_384;

/// The most sessions of a load, all writers together: each is a row.
const MOST_FLOWS: u64 = 262_144;

/// The loads can be read.
pub(super) fn loads(scenario: &Scenario) -> Result<(), ConfigError> {
    for (name, load) in &scenario.load {
        workload(scenario, load).map_err(|fault| fault.under(&["load", name]))?;
    }
    Ok(())
}

/// Some load begins before the run is over, as far as it is known when that is.
pub(super) fn begun(scenario: &Scenario) -> Result<(), ConfigError> {
    // A mistake in any of these is told of elsewhere.
    let Some(end) = scenario.run.whole() else {
        return Ok(());
    };
    let late = |load: &Workload| load.begins().is_some_and(|start| start >= end);
    match scenario.load.iter().next() {
        Some((name, _)) if scenario.load.values().all(late) => {
            let fault = ConfigError::at(
                ["load", name, "start"],
                format!("the run is over after {end}, before any load begins"),
            );
            Err(fault.expected("an earlier time, or a longer `duration` in [run]"))
        }
        _ => Ok(()),
    }
}

/// `name` is a node of a host.
fn node(scenario: &Scenario, path: &[&str], name: &str) -> Result<(), ConfigError> {
    let (host, node) = name.split_once('.').map_or((name, None), |(host, node)| (host, Some(node)));
    let Some(found) = scenario.host.get(host) else {
        if let Some((count, _)) = groups::meant(scenario.host.keys(), host) {
            let rest = node.map_or_else(String::new, |node| format!(".{node}"));
            return Err(ConfigError::at(path, format!("{host:?} is a group of {count}"))
                .expected(format!("\"{host}*{rest}\" for all of them, or \"{host}0{rest}\" for one")));
        }
        let known: Vec<&String> = scenario.host.keys().collect();
        return Err(ConfigError::unknown(path, "host", host, &known));
    };
    let Some(node) = node else {
        return Err(ConfigError::at(path, "no \".\"").expected("\"host.node\""));
    };
    if let Some(graph) = &found.graph
        && !graph.nodes().contains(&node)
    {
        return Err(ConfigError::unknown(path, &format!("layer of host {host}"), node, &graph.nodes()));
    }
    Ok(())
}

/// The nodes `key` are there, each once.
fn ends(scenario: &Scenario, key: &str, nodes: &Nodes) -> Result<(), ConfigError> {
    match nodes.0.as_slice() {
        [] => Err(ConfigError::at([key], "no node").expected("\"host.node\"")),
        [only] => node(scenario, &[key], only),
        several => {
            let mut seen = BTreeSet::new();
            for (number, name) in several.iter().enumerate() {
                let path = [key, &number.to_string()];
                node(scenario, &path, name)?;
                if !seen.insert(name) {
                    return Err(ConfigError::at(path, format!("{name:?} is there twice")));
                }
            }
            Ok(())
        }
    }
}

/// One of them: what nobody else looks at.
fn workload(scenario: &Scenario, workload: &Workload) -> Result<(), ConfigError> {
    if !Workload::KINDS.contains(&workload.kind.as_str()) {
        return Err(ConfigError::unknown(["kind"], "load", &workload.kind, &Workload::KINDS));
    }
    ends(scenario, "from", &workload.from)?;
    ends(scenario, "to", &workload.to)?;
    let (writers, readers) = (workload.from.0.len(), workload.to.0.len());
    if writers > 1 && readers > 1 && writers != readers {
        return Err(
            ConfigError::at(["to"], format!("{readers} readers for {writers} writers")).expected("one, or as many")
        );
    }
    count(workload)?;
    quantities(workload)?;
    sessions(workload)?;
    if workload.port == Some(0) {
        return Err(ConfigError::at(["port"], "no port").expected("1 to 65535"));
    }
    let times = |key, text: &Option<String>| match text {
        Some(text) => quantity::<Duration>(&[key], text).map(Some),
        None => Ok(None),
    };
    let start = times("start", &workload.start)?.unwrap_or_default();
    if times("stop", &workload.stop)?.is_some_and(|stop| stop <= start) {
        return Err(ConfigError::at(["stop"], "it stops before it starts").expected("a time behind `start`"));
    }
    if let Some(busy) = workload.busy.filter(|&busy| busy == 0 || busy > workload.sessions) {
        return Err(ConfigError::at(["busy"], format!("{busy} of {} sessions", workload.sessions))
            .expected(format!("1 to {}", workload.sessions)));
    }
    Ok(())
}

/// It has a number of messages where it has a use for one, and then at least one.
fn count(workload: &Workload) -> Result<(), ConfigError> {
    // Whoever builds the programs refuses what else a kind has no use for; these two would be passed over.
    for (key, is_given, is_used, whose) in [
        (
            "count",
            workload.count.is_some(),
            workload.kind != "netperf",
            "ttcp, udp, rtp, ping and rpc, and netperf writes until `stop`",
        ),
        ("step", workload.step.is_some(), workload.kind == "limit", "limit"),
    ] {
        if is_given && !is_used {
            return Err(ConfigError::at([key], format!("{}{OF_NO_USE}; it is for {whose}", workload.kind)));
        }
    }
    if workload.count == Some(0) {
        let what = match workload.kind.as_str() {
            "ping" => "no echoes",
            "rpc" => "no exchanges",
            "ttcp" => "no messages",
            _ => "no datagrams",
        };
        let expected = format!("at least 1{}", if workload.kind == "ttcp" { "" } else { ", or left out: without end" });
        return Err(ConfigError::at(["count"], what).expected(expected));
    }
    Ok(())
}

/// Its sizes, rates and times can be read, and are such as can be.
fn quantities(workload: &Workload) -> Result<(), ConfigError> {
    let message: Octets = quantity(&["message"], &workload.message)?;
    if message.count() == 0 {
        return Err(ConfigError::at(["message"], "messages without octets").expected("at least 1 B"));
    }
    optional::<Rate>(&["rate"], workload.rate.as_deref())?;
    if let Some(read) = &workload.read
        && quantity::<Octets>(&["read"], read)?.count() == 0
    {
        return Err(ConfigError::at(["read"], "reads without octets").expected("at least 1 B"));
    }
    optional::<Octets>(&["socket_buffer"], workload.socket_buffer.as_deref())?;
    for (key, time) in [
        ("start", &workload.start),
        ("stop", &workload.stop),
        ("jitter", &workload.jitter),
        ("interval", &workload.interval),
    ] {
        optional_time(key, time.as_ref())?;
    }
    for (key, time) in
        [("stagger", &workload.stagger), ("on", &workload.on), ("off", &workload.off), ("think", &workload.think)]
    {
        if let Some(time) = time
            && distribution::<Duration>(key, time)?.mean() > LONGEST
        {
            return Err(too_long(key));
        }
    }
    if let Some(size) = &workload.response {
        distribution::<Octets>("response", size)?;
    }
    if let Some(size) = &workload.size
        && distribution::<Octets>("size", size)?.is_zero()
    {
        return Err(ConfigError::at(["size"], "transfers without octets").expected("at least 1 B"));
    }
    Ok(())
}

/// Its sessions, which are some, have a port each.
fn sessions(workload: &Workload) -> Result<(), ConfigError> {
    if workload.sessions == 0 {
        return Err(ConfigError::at(["sessions"], "a load without sessions").expected("at least 1"));
    }
    let (writers, readers) = (workload.from.0.len(), workload.to.0.len());
    // One writer's sessions are shared out, and several writers have one reader each.
    let targets = u32::try_from(if writers == 1 { readers } else { 1 }).unwrap_or(u32::MAX);
    let most = MOST_SESSIONS.saturating_mul(targets);
    if workload.sessions > most {
        return Err(ConfigError::at(["sessions"], "each session has a port of its own toward its peer")
            .expected(format!("1 to {most}")));
    }
    let flows = u64::from(workload.sessions).saturating_mul(writers as u64);
    if flows > MOST_FLOWS {
        let problem = format!("{sessions} of all writers together", sessions = counted(flows, "session"));
        return Err(ConfigError::at(["sessions"], problem).expected(format!("at most {MOST_FLOWS}")));
    }
    Ok(())
}

fn distribution<Q: Quantity>(key: &str, text: &str) -> Result<Distribution<Q>, ConfigError> {
    Distribution::parse(text).map_err(|invalid| ConfigError::quantity([key], &invalid))
}

fn optional<Q: Quantity>(path: &[&str], text: Option<&str>) -> Result<(), ConfigError> {
    match text {
        Some(text) => quantity::<Q>(path, text).map(|_| ()),
        None => Ok(()),
    }
}
