//! What can be told to be wrong without knowing a protocol: references, units, values that nothing has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kumiki_graph::Duration;
use kumiki_link::Impairment;
use kumiki_octets::text::counted;
use kumiki_settings::HasKeys as _;

use super::fault::{Fault, OF_NO_USE, nearest, quantity};
use super::load::Profiles;
use super::tree::{Node, Source, Value};
use super::vary::{Axis, fault_at, same};
use super::{Graph, Host, Nodes, Report, Runs, Scenario, Workload, ends, groups, names, network, real};
use crate::figure::Ink;
use crate::quantity::{Distribution, Octets, Quantity, Rate, Share};
use crate::rows::ValueName;
use crate::{medium, profile};

/// The keys of a host that are not settings of its nodes.
const HOST_KEYS: [&str; 9] = ["count", "like", "profile", "prices", "free_below", "paths", "graph", "kind", "real"];

/// The most sessions of a load: the dynamic ports of a host, 49152 to 65535 (RFC 6335 section 6).
const MOST_SESSIONS: u32 = 16_384;

/// The longest times of a load. What is longer is a slip, and the run would seem to hang.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The most intervals of a run: more than a picture or an eye can tell apart.
const MOST_INTERVALS: u64 = 100_000;

/// The most ports of a switch: each takes memory, used or not.
const MOST_PORTS: usize = 8192;

/// The most sessions of a load, all writers together: each is a row.
const MOST_FLOWS: u64 = 262_144;

/// The most decimals of a table: beyond them is only what a binary fraction looks like.
const MOST_DECIMALS: u8 = 9;

/// What `x_scale` may be.
const SCALES: [&str; 3] = ["linear", "log2", "octets"];

/// The keys at the top that are lists of tables.
const LISTS: [&str; 5] = ["event", "skip", "compare", "trend", "claim"];

/// The keys at the top below which each table has a name of its own.
pub(super) const NAMED: [&str; 5] = ["host", "switch", "link", "ring", "load"];

/// Every key at the top is one that there is, since what stands under another one is looked for in vain elsewhere; and each is in the brackets that it needs.
pub(super) fn sections(source: &Source<'_>) -> Result<(), Fault> {
    let known: Vec<&str> = Scenario::KEYS.iter().map(|key| key.name).collect();
    names::check(source)?;
    for entry in source.root.entries() {
        let key = entry.key.as_str();
        let fault = |problem: String| fault_at(source, &[key], entry.at, problem);
        if !known.contains(&key) {
            let fault = fault(format!("unknown key {key:?}")).one_of(&known);
            return Err(source.locate(match nearest(key, &known) {
                Some(meant) => fault.suggest(meant),
                None => fault,
            }));
        }
        let (is_list, is_table) =
            (matches!(entry.node.value, Value::List(_)), matches!(entry.node.value, Value::Table(_)));
        if LISTS.contains(&key) && is_table {
            let problem = format!("this is one table, and there may be several {key}s");
            return Err(source.locate(fault(problem).expected(format!("two brackets, [[{key}]], above each"))));
        }
        let bare = entry.node.entries().iter().find(|it| !matches!(it.node.value, Value::Table(_)));
        if let Some(bare) =
            bare.filter(|it| NAMED.contains(&key) && it.node.plain().is_none_or(|text| !text.contains("${")))
        {
            let problem = format!("{:?} stands in [{key}] itself, and each {key} has a name", bare.key);
            return Err(source.locate(
                fault_at(source, &[key, bare.key.as_str()], bare.at, problem)
                    .expected(format!("[{key}.NAME] above it")),
            ));
        }
        if NAMED.contains(&key) && is_list {
            let problem = format!("this is a list, and each {key} has a name");
            return Err(source.locate(fault(problem).expected(format!("[{key}.NAME] above each"))));
        }
    }
    let lines = source.root.entries().iter().filter(|entry| WITH_LOSS.contains(&entry.key.as_str()));
    lines.into_iter().try_for_each(|entry| losses(source, &mut vec![&entry.key], &entry.node))
}

/// The keys at the top below which a loss is one of lines.
const WITH_LOSS: [&str; 3] = ["link", "ring", "event"];

/// A loss of 1 is everything, where one per cent is meant more often.
fn losses<'a>(source: &Source<'_>, path: &mut Vec<&'a str>, node: &'a Node) -> Result<(), Fault> {
    let is_whole =
        |value: &Value| matches!(value, Value::Integer(1)) || matches!(value, Value::Float(share) if *share == 1.0);
    if let Value::List(items) = &node.value {
        return items.iter().try_for_each(|item| losses(source, path, item));
    }
    for entry in node.entries() {
        path.push(&entry.key);
        if entry.key == "loss" && is_whole(&entry.node.value) {
            let fault = fault_at(source, path, entry.at, "this is 100 %, and nothing would arrive").found("1");
            return Err(fault.expected("\"1 %\", or \"100 %\" where that is meant"));
        }
        losses(source, path, &entry.node)?;
        path.pop();
    }
    Ok(())
}

/// A host's own keys are the only ones whose values are no tables, and what a link, a ring or a switch must have may be misspelt among the
/// settings of its medium; serde cannot say so well.
pub(super) fn keys(source: &Source<'_>) -> Result<(), Fault> {
    const MEDIUM_KEYS: [&str; 3] = ["ends", "medium", "a setting of the medium"];
    const SWITCH_KEYS: [&str; 3] = ["ports", "kind", "a setting of the switch"];
    let sections: [(&str, &[&str], _); 3] = [
        ("link", &["ends", "medium"], &MEDIUM_KEYS),
        ("ring", &["ends", "medium"], &MEDIUM_KEYS),
        ("switch", &["ports"], &SWITCH_KEYS),
    ];
    for (section, must, all) in sections {
        for line in source.root.child(section).map(Node::entries).unwrap_or_default() {
            for wanted in must.iter().filter(|wanted| line.node.child(wanted).is_none()) {
                let mut keys = line.node.entries().iter();
                if let Some(entry) = keys.find(|entry| nearest(&entry.key, &[wanted]).is_some()) {
                    let path = [section, line.key.as_str(), entry.key.as_str()];
                    let fault = fault_at(source, &path, entry.at, format!("unknown key {:?}", entry.key));
                    return Err(source.locate(fault.one_of(all).suggest(*wanted)));
                }
            }
        }
    }
    let hosts = source.root.child("host").map(Node::entries).unwrap_or_default();
    for host in hosts {
        for entry in host.node.entries() {
            let is_table = matches!(entry.node.value, Value::Table(_));
            if is_table || HOST_KEYS.contains(&entry.key.as_str()) {
                continue;
            }
            let path = ["host", host.key.as_str(), entry.key.as_str()];
            let fault = fault_at(source, &path, entry.at, format!("unknown key {:?}", entry.key));
            let fault =
                fault.one_of(&["count", "like", "profile", "graph", "kind", "a table of settings for each node"]);
            return Err(source.locate(match nearest(&entry.key, &HOST_KEYS) {
                Some(near) => fault.suggest(near),
                None => fault,
            }));
        }
    }
    Ok(())
}

/// `table` gives varied names values that they have: in `[[skip]]` and `compare.at`.
pub(super) fn values_of(source: &Source<'_>, path: &[&str], table: &Node, axes: &[Axis]) -> Result<(), Fault> {
    for entry in table.entries() {
        let mut path = path.to_vec();
        path.push(&entry.key);
        let place = |fault: Fault| {
            let fault = match source.place(entry.at) {
                Some(place) => fault.in_place(place),
                None => fault,
            };
            source.locate(fault)
        };
        let column = |axis: &Axis| axis.names.iter().position(|name| *name == entry.key);
        let Some((axis, column)) = axes.iter().find_map(|axis| Some((axis, column(axis)?))) else {
            let known: Vec<&str> = axes.iter().flat_map(|a| a.names.iter().map(String::as_str)).collect();
            return Err(place(Fault::unknown(path, "varied name", &entry.key, &known)));
        };
        let values: Vec<&Node> = axis.rows.iter().filter_map(|row| row.get(column)).collect();
        let one = std::slice::from_ref(&entry.node);
        let asked = match &entry.node.value {
            Value::List(items) => items.as_slice(),
            Value::Text(_) | Value::Integer(_) | Value::Float(_) | Value::Switch(_) | Value::Table(_) => one,
        };
        for value in asked {
            let toml = value.to_toml();
            if !values.iter().any(|known| same(&known.to_toml(), &toml)) {
                let known: Vec<String> = values.iter().filter_map(|v| v.plain()).collect();
                let typed = value.plain().unwrap_or_default();
                return Err(place(Fault::unknown(path, &format!("value of {}", entry.key), &typed, &known)));
            }
        }
    }
    Ok(())
}

/// What `[report] held` may be.
const HELD: [&str; 4] = ["flow", "load", "total", "none"];

/// `[report]` speaks of varied names.
pub(super) fn report(source: &Source<'_>, report: &Report, axes: &[Axis]) -> Result<(), Fault> {
    let known: Vec<&str> = axes.iter().flat_map(|a| a.names.iter().map(String::as_str)).collect();
    let check = |path: &[&str], name: &str| {
        if known.contains(&name) {
            Ok(())
        } else {
            Err(source.locate(Fault::unknown(path, "varied name", name, &known)))
        }
    };
    if let Some(x) = &report.x {
        check(&["report", "x"], x)?;
    }
    if let Some(value) = &report.value {
        let path = ["report", "value"];
        let name = ValueName::new(value)
            .ok_or_else(|| source.locate(Fault::unknown(path, "value of a row", value, &ValueName::known())))?;
        if source.root.child("trend").is_some() && !name.is_goodput() {
            return Err(source.locate(Fault::at(path, "[[trend]] is about goodput").expected("one of the two")));
        }
    }
    if let Some(held) = report.held.as_deref().filter(|held| !HELD.contains(held)) {
        return Err(source.locate(Fault::unknown(["report", "held"], "kind of row", held, &HELD)));
    }
    for (number, name) in report.series.iter().enumerate() {
        check(&["report", "series", &number.to_string()], name)?;
        if report.x.as_ref() == Some(name) {
            let path = ["report", "series"];
            return Err(source.locate(Fault::at(path, format!("{name:?} is the horizontal axis already"))));
        }
    }
    let words: Vec<String> =
        axes.iter().flat_map(|axis| axis.rows.iter().flatten()).filter_map(|node| node.plain()).collect();
    if let Some(word) = report.meaning.keys().find(|word| !words.contains(word)) {
        let path = ["report", "meaning", word.as_str()];
        return Err(source.locate(Fault::unknown(path, "value of what is varied", word, &words)));
    }
    let mut columns = BTreeSet::new();
    for (name, column) in &report.rows {
        let path = ["report", "rows", name.as_str()];
        check(&path, name)?;
        if crate::rows::is_field(column) && column != "series" {
            return Err(source.locate(
                Fault::at(path, "every row has a field, or tables a column, of that name already")
                    .expected(format!("a name with its unit, such as \"{name}_bytes\"")),
            ));
        }
        if !columns.insert(column) {
            return Err(source.locate(Fault::at(path, "two varied names have this column")));
        }
    }
    for name in &known {
        let column = report.rows.get(*name).map_or(*name, String::as_str);
        if crate::rows::is_field(column) && column != "series" {
            let fault =
                Fault::at(["vary", name], "every result row has a field, or tables a column, of that name already");
            return Err(source.locate(
                fault.expected(format!("another name, or one for the rows: [report.rows] {name} = \"{name}_...\"")),
            ));
        }
    }
    for (number, growth) in report.tasks.iter().flat_map(|it| it.growth.iter().enumerate()) {
        let known: Vec<&str> = report.tasks.iter().flat_map(|it| it.names.iter().map(String::as_str)).collect();
        for name in growth.of.iter().chain(&growth.against) {
            if !known.contains(&name.as_str()) {
                let path = ["report", "tasks", "growth", &number.to_string()];
                return Err(source.locate(Fault::unknown(path, "task", name, &known)));
            }
        }
    }
    if let Some(scale) = &report.x_scale
        && !SCALES.contains(&scale.as_str())
    {
        return Err(source.locate(Fault::unknown(["report", "x_scale"], "scale", scale, &SCALES)));
    }
    let inks = Ink::ALL.map(Ink::name);
    if let Some(ink) = report.ink.as_deref().filter(|ink| !inks.contains(ink)) {
        return Err(source.locate(Fault::unknown(["report", "ink"], "colour of words", ink, &inks)));
    }
    if let Some([low, high]) = report.y_range
        && low >= high
    {
        let fault = Fault::at(["report", "y_range"], "the lower end is not below the upper one");
        return Err(source.locate(fault.suggest(format!("[{high}, {low}]"))));
    }
    Ok(())
}

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

/// The loads, at least one, can be read.
fn loads(scenario: &Scenario) -> Result<(), Fault> {
    if scenario.load.is_empty() && scenario.real_hosts().next().is_none() {
        return Err(Fault::new("nothing to do")
            .expected("a load, such as [load.bulk], or for `kumiki live` a host that is real"));
    }
    for (name, load) in &scenario.load {
        workload(scenario, load).map_err(|fault| fault.under(&["load", name]))?;
    }
    Ok(())
}

/// Some load begins before the run is over, as far as it is known when that is.
fn begun(scenario: &Scenario) -> Result<(), Fault> {
    // A mistake in any of these is told of elsewhere.
    let Some(end) = scenario.run.whole() else {
        return Ok(());
    };
    let late = |load: &Workload| load.begins().is_some_and(|start| start >= end);
    match scenario.load.iter().next() {
        Some((name, _)) if scenario.load.values().all(late) => {
            let fault =
                Fault::at(["load", name, "start"], format!("the run is over after {end}, before any load begins"));
            Err(fault.expected("an earlier time, or a longer `duration` in [run]"))
        }
        _ => Ok(()),
    }
}

/// What `warm_up` is where it is to be found.
pub(crate) const WARM_UP_FOUND: &str = "auto";

/// When is measured, and how often.
fn runs(runs: &Runs) -> Result<(), Fault> {
    let duration: Duration = quantity(&["duration"], &runs.duration)?;
    if duration.is_zero() {
        return Err(Fault::at(["duration"], "no time at all"));
    }
    if duration > LONGEST {
        return Err(too_long("duration"));
    }
    let given = runs.warm_up.as_ref().filter(|text| *text != WARM_UP_FOUND);
    optional_time("warm_up", given).map_err(|fault| {
        match given.map(|text| text.contains(|c: char| c.is_ascii_digit())) {
            Some(false) => fault.expected("a duration such as \"20 ms\", or \"auto\""),
            _ => fault,
        }
    })?;
    if let Some(batches) = runs.batches {
        if !(5..=1000).contains(&batches) {
            return Err(Fault::at(["batches"], "out of range").expected("5 to 1000 parts of the measured time"));
        }
        if runs.confidence.is_some() || runs.repeat.is_some() {
            let problem = "an interval of the parts of one run, or of several runs";
            return Err(Fault::at(["batches"], problem).expected("no `confidence` nor `repeat` beside it"));
        }
    }
    if let Some(interval) = &runs.interval {
        let interval: Duration = quantity(&["interval"], interval)?;
        let warm_up: Duration = given.map_or(Ok(Duration::ZERO), |time| quantity(&["warm_up"], time))?;
        let whole = duration.as_nanos().saturating_add(warm_up.as_nanos());
        let least = || format!("at least {}", Duration::from_nanos(whole.div_ceil(MOST_INTERVALS)));
        if interval.is_zero() {
            return Err(Fault::at(["interval"], "no time at all").expected(least()));
        }
        if whole / MOST_INTERVALS > interval.as_nanos() {
            return Err(Fault::at(["interval"], format!("more than {MOST_INTERVALS} in a run")).expected(least()));
        }
        if interval.as_nanos() > whole {
            return Err(Fault::at(["interval"], "longer than the run").expected("several of them in it"));
        }
    }
    let most = runs.repeat.as_ref().map(|it| it.runs).max(runs.confidence.as_ref().map(|it| it.most)).unwrap_or(1);
    let last = i64::MAX.unsigned_abs().saturating_sub(most.saturating_sub(1).into());
    if runs.seed > last {
        let problem = format!("the seeds of {} would be more than a file can give", counted(most, "run"));
        return Err(Fault::at(["seed"], problem).expected(format!("at most {last}")));
    }
    if let Some(repeat) = &runs.repeat {
        let path = ["repeat", "runs"];
        if !(1..=1000).contains(&repeat.runs) {
            return Err(Fault::at(path, "out of range").expected("1 to 1000 runs"));
        }
        // One or two runs are made where a quick look is wanted, and nothing is left out of these.
        if repeat.runs > 2 && repeat.trim.saturating_mul(2) >= repeat.runs {
            let most = repeat.runs.saturating_sub(1) / 2;
            let problem = format!("of {} runs nothing would be left", repeat.runs);
            return Err(Fault::at(["repeat", "trim"], problem)
                .found(repeat.trim.to_string())
                .expected(format!("at most {most}")));
        }
        let known = ["mean", "min", "max"];
        if let Some(show) = repeat.show.as_deref().filter(|show| !known.contains(show)) {
            let path = ["repeat", "show"];
            return Err(Fault::unknown(path, "number to show", show, &known));
        }
        if runs.confidence.is_some() {
            let problem = "as many as are given here, or as many as `confidence` wants";
            return Err(Fault::at(path, problem).expected("one of the two"));
        }
    }
    if let Some(confidence) = &runs.confidence {
        let path = |key| ["confidence", key];
        if confidence.level().is_none() {
            return Err(Fault::at(path("level"), "no such level").expected("\"95 %\" or \"99 %\""));
        }
        if confidence.width == Share::default() {
            return Err(Fault::at(path("width"), "no width").expected("a share above 0 %"));
        }
        if !(3..=30).contains(&confidence.fewest) {
            return Err(Fault::at(path("fewest"), "out of range").expected("3 to 30 runs"));
        }
        if !(confidence.fewest..=30).contains(&confidence.most) {
            return Err(Fault::at(path("most"), "out of range").expected(format!("{} to 30 runs", confidence.fewest)));
        }
    }
    Ok(())
}

fn optional_time(key: &str, time: Option<&String>) -> Result<(), Fault> {
    if let Some(time) = time
        && quantity::<Duration>(&[key], time)? > LONGEST
    {
        return Err(too_long(key));
    }
    Ok(())
}

/// What is wrong with what would be an address of IPv4, being numbers between points.
fn dotted(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split('.').collect();
    if parts.len() < 2 || !parts.iter().all(|part| part.bytes().all(|digit| digit.is_ascii_digit())) {
        return None;
    }
    if let Some(part) = parts.iter().find(|part| part.parse::<u8>().is_err()) {
        return Some(format!("no address of IPv4: {part:?} is no number from 0 to 255"));
    }
    (parts.len() != 4).then(|| format!("no address of IPv4: {} numbers", parts.len()))
}

/// No two interfaces have one address: easily so where a host is `like` another, and then nothing arrives.
pub(super) fn addresses(scenario: &Scenario) -> Result<(), Fault> {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for (host, spec) in &scenario.host {
        // What else has an address, by mistake, is told by whoever reads its settings.
        let is_ip = |node: &str| ["ip", "ipv6"].contains(&spec.kind.get(node).map_or(node, String::as_str));
        for (node, settings) in spec.settings.iter().filter(|(node, _)| is_ip(node)) {
            let own = settings.get("address").map(|address| (vec!["host", host, node, "address"], address));
            let interfaces = settings.get("interface").and_then(toml::Value::as_table).into_iter().flatten();
            let others = interfaces.filter_map(|(name, interface)| {
                let path = vec!["host", host, node, "interface", name, "address"];
                Some((path, interface.get("address")?))
            });
            for (path, address) in own.into_iter().chain(others) {
                let Some((address, _)) = address.as_str().and_then(|text| text.split_once('/')) else {
                    continue;
                };
                if let Some(fault) = dotted(address) {
                    return Err(Fault::at(path, fault).expected("four numbers from 0 to 255, such as \"10.0.0.1/24\""));
                }
                if let Some(first) = seen.insert(address, host) {
                    let problem = format!("hosts {first} and {host} have the same address, {address}");
                    return Err(Fault::at(path, problem).of_topology().expected("an address of its own for each"));
                }
            }
        }
    }
    Ok(())
}

fn graph(scenario: &Scenario, name: &str, host: &Host) -> Result<(), Fault> {
    let Some(graph) = &host.graph else {
        return Err(Fault::at(["host", name], "the key \"graph\" is missing")
            .expected("the layers, uppermost first, such as [\"ttcp\", \"tcp\", \"ip\", \"atm0\"]"));
    };
    let path = ["host", name, "graph"];
    let nodes = graph.nodes();
    match graph {
        Graph::Chain(names) => {
            if names.is_empty() {
                let expected = "the layers, uppermost first, such as [\"ttcp\", \"tcp\", \"ip\", \"atm0\"]";
                return Err(Fault::at(path, "a graph without layers").expected(expected));
            }
            if names.iter().any(|name| name.trim().is_empty()) {
                let problem = "a layer with an empty name";
                return Err(Fault::at(path, problem).expected("the name of a layer, or of a device at the end"));
            }
            let unique: BTreeSet<&String> = names.iter().collect();
            if unique.len() < names.len() {
                let twice =
                    names.iter().enumerate().find(|(i, name)| names.iter().take(*i).any(|earlier| earlier == *name));
                let twice = twice.map_or("", |(_, name)| name.as_str());
                return Err(Fault::at(path, format!("the layer {twice:?} is there twice"))
                    .expected(format!("a name of its own for each, and [host.{name}.kind] for what they are")));
            }
        }
        Graph::Below(_) => {
            if let Some(round) = round(graph) {
                return Err(Fault::at(path, format!("layers that stand on themselves: {}", round.join(" on "))));
            }
        }
    }
    for (section, keys) in [("kind", host.kind.keys().collect::<Vec<_>>()), ("", host.settings.keys().collect())] {
        for key in keys {
            if !nodes.contains(&key.as_str()) {
                let path = ["host", name, section, key.as_str()];
                let path = path.into_iter().filter(|part| !part.is_empty());
                let unknown = || Fault::unknown(path, "layer", key, &nodes);
                return Err(ends::not_needed(scenario, name, key).unwrap_or_else(unknown));
            }
        }
    }
    Ok(())
}

/// A way through the graph that comes back to where it was, if there is one.
fn round(graph: &Graph) -> Option<Vec<&str>> {
    // Nodes are taken away from below; what cannot be taken away stands on itself.
    let mut left = graph.nodes();
    loop {
        let before = left.len();
        let still = left.clone();
        left.retain(|node| graph.below(node).iter().any(|below| still.contains(below)));
        if left.len() == before {
            break;
        }
    }
    let mut way = vec![*left.first()?];
    loop {
        let last = way.last()?;
        let next = *graph.below(last).iter().find(|below| left.contains(below))?;
        if let Some(start) = way.iter().position(|node| *node == next) {
            way.push(next);
            return Some(way.split_off(start));
        }
        way.push(next);
    }
}

/// That `toward` of what goes wrong is one of `ends`.
fn toward(impairment: Option<(Option<&str>, Impairment)>, ends: &[String]) -> Result<(), Fault> {
    let (toward, _) = impairment.unwrap_or_default();
    medium::is_end(toward, ends).map_err(|fault| fault.under(&["impair"]))
}

/// `name` is a node of a host.
fn node(scenario: &Scenario, path: &[&str], name: &str) -> Result<(), Fault> {
    let (host, node) = name.split_once('.').map_or((name, None), |(host, node)| (host, Some(node)));
    let Some(found) = scenario.host.get(host) else {
        if let Some((count, _)) = groups::meant(scenario.host.keys(), host) {
            let rest = node.map_or_else(String::new, |node| format!(".{node}"));
            return Err(Fault::at(path, format!("{host:?} is a group of {count}"))
                .expected(format!("\"{host}*{rest}\" for all of them, or \"{host}0{rest}\" for one")));
        }
        let known: Vec<&String> = scenario.host.keys().collect();
        return Err(Fault::unknown(path, "host", host, &known));
    };
    let Some(node) = node else {
        return Err(Fault::at(path, "no \".\"").expected("\"host.node\""));
    };
    if let Some(graph) = &found.graph
        && !graph.nodes().contains(&node)
    {
        return Err(Fault::unknown(path, &format!("layer of host {host}"), node, &graph.nodes()));
    }
    Ok(())
}

/// The nodes `key` are there, each once.
fn ends(scenario: &Scenario, key: &str, nodes: &Nodes) -> Result<(), Fault> {
    match nodes.0.as_slice() {
        [] => Err(Fault::at([key], "nobody").expected("\"host.node\"")),
        [only] => node(scenario, &[key], only),
        several => {
            let mut seen = BTreeSet::new();
            for (number, name) in several.iter().enumerate() {
                let path = [key, &number.to_string()];
                node(scenario, &path, name)?;
                if !seen.insert(name) {
                    return Err(Fault::at(path, format!("{name:?} is there twice")));
                }
            }
            Ok(())
        }
    }
}

fn workload(scenario: &Scenario, workload: &Workload) -> Result<(), Fault> {
    if !Workload::KINDS.contains(&workload.kind.as_str()) {
        return Err(Fault::unknown(["kind"], "load", &workload.kind, &Workload::KINDS));
    }
    ends(scenario, "from", &workload.from)?;
    ends(scenario, "to", &workload.to)?;
    let (writers, readers) = (workload.from.0.len(), workload.to.0.len());
    if writers > 1 && readers > 1 && writers != readers {
        return Err(Fault::at(["to"], format!("{readers} readers for {writers} writers")).expected("one, or as many"));
    }
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
            return Err(Fault::at([key], format!("{}{OF_NO_USE}; it is for {whose}", workload.kind)));
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
        return Err(Fault::at(["count"], what).expected(expected));
    }
    let message: Octets = quantity(&["message"], &workload.message)?;
    if message.count() == 0 {
        return Err(Fault::at(["message"], "messages without octets").expected("at least 1 B"));
    }
    optional::<Rate>(&["rate"], workload.rate.as_deref())?;
    if let Some(read) = &workload.read
        && quantity::<Octets>(&["read"], read)?.count() == 0
    {
        return Err(Fault::at(["read"], "reads without octets").expected("at least 1 B"));
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
        return Err(Fault::at(["size"], "transfers without octets").expected("at least 1 B"));
    }
    if workload.sessions == 0 {
        return Err(Fault::at(["sessions"], "a load without sessions").expected("at least 1"));
    }
    // One writer's sessions are shared out, and several writers have one reader each.
    let targets = u32::try_from(if writers == 1 { readers } else { 1 }).unwrap_or(u32::MAX);
    let most = MOST_SESSIONS.saturating_mul(targets);
    if workload.sessions > most {
        return Err(Fault::at(["sessions"], "each session has a port of its own toward its peer")
            .expected(format!("1 to {most}")));
    }
    let flows = u64::from(workload.sessions).saturating_mul(writers as u64);
    if flows > MOST_FLOWS {
        let problem = format!("{sessions} of all writers together", sessions = counted(flows, "session"));
        return Err(Fault::at(["sessions"], problem).expected(format!("at most {MOST_FLOWS}")));
    }
    if workload.port == Some(0) {
        return Err(Fault::at(["port"], "no port").expected("1 to 65535"));
    }
    let times = |key, text: &Option<String>| match text {
        Some(text) => quantity::<Duration>(&[key], text).map(Some),
        None => Ok(None),
    };
    let start = times("start", &workload.start)?.unwrap_or_default();
    if times("stop", &workload.stop)?.is_some_and(|stop| stop <= start) {
        return Err(Fault::at(["stop"], "it stops before it starts").expected("a time behind `start`"));
    }
    if let Some(busy) = workload.busy.filter(|&busy| busy == 0 || busy > workload.sessions) {
        return Err(Fault::at(["busy"], format!("{busy} of {} sessions", workload.sessions))
            .expected(format!("1 to {}", workload.sessions)));
    }
    Ok(())
}

fn distribution<Q: Quantity>(key: &str, text: &str) -> Result<Distribution<Q>, Fault> {
    Distribution::parse(text).map_err(|invalid| Fault::quantity([key], &invalid))
}

fn too_long(key: &str) -> Fault {
    Fault::at([key], "longer than a day").expected("at most 24 h")
}

fn optional<Q: Quantity>(path: &[&str], text: Option<&str>) -> Result<(), Fault> {
    match text {
        Some(text) => quantity::<Q>(path, text).map(|_| ()),
        None => Ok(()),
    }
}
