//! What happens at given times.
//!
//! An event of a line is a step of that line's schedule, which other lines and hosts may have at the same time; one of
//! a ring is a step of what reaches its stations; one of a load is its `start` or its `stop`.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::Duration;
use kumiki_inet::tcp::Tcp;
use kumiki_settings::Keys;
use serde::{Deserialize, Deserializer};

use super::{Host, Nodes, Scenario, Workload, groups};
use kumiki_config::error::{ConfigError, quantity};
use kumiki_config::quantity::{Quantity as _, Rate, Share, parse_list};
use kumiki_media::{self as medium, FASTEST, Line, Step};

/// What happens at a time, or at several.
#[derive(Clone, PartialEq, Debug, Deserialize, Keys)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// When, from the beginning of the run. Of two at the same time that say otherwise of one thing, the later in the
    /// file counts.
    #[key(is = "a time, or a list or range of them", example = "[\"5 s\", \"10 s .. 50 s step 10 s\"]")]
    #[serde(deserialize_with = "times")]
    pub at: String,
    /// To which lines; `in*` is every line `in` and a number.
    #[key(is = "a name, or a list", default = "none", example = "[\"in*\", \"mid\"]")]
    pub link: Option<Nodes>,
    /// To which rings, in the same way.
    #[key(is = "a name, or a list", default = "none", example = "\"backbone\"")]
    pub ring: Option<Nodes>,
    /// To which hosts, in the same way.
    #[key(is = "a name, or a list", default = "none", example = "\"router\"")]
    pub host: Option<Nodes>,
    /// To which loads.
    #[key(is = "a name, or a list", default = "none", example = "\"cross\"")]
    pub load: Option<Nodes>,
    /// To which nodes, each `host.node`.
    #[key(is = "a name, or a list", default = "none", example = "[\"a.tcp\", \"b.tcp\"]")]
    pub node: Option<Nodes>,
    /// Of a node, settings that it has from then on. Nodes of kind `tcp` can be changed: in `ack`, `delayed_ack`,
    /// `delayed_ack_heartbeat`, `window_update`, `slow_start_after_idle`, `limited_transmit` and `rate_reduction`, for
    /// connections that are there, too. All else is looked at when a connection begins.
    #[key(is = "a table of [settings](settings.md)", default = "as before", example = "{ ack = { every = 1 } }")]
    pub set: Option<toml::Table>,
    /// Of a line or a ring, whether it is there: frames or cells that would arrive while it is not are lost. Of a host,
    /// whether it has power: with `false` all that it remembers and all that waits in it is gone, and what comes for it
    /// is lost; with `true` it starts over, which hosts with a load's program cannot. Of a load, whether it goes on:
    /// `true` is its `start`, `false` its `stop`.
    #[key(is = "true or false", default = "as before", example = "false")]
    pub up: Option<bool>,
    /// Of a line of the medium `point-to-point`, its rate, or those of what the first of its `ends` sends and of what
    /// the second does; with 0 b/s nothing is sent, and what comes waits.
    #[key(is = "a rate, or a list of two", default = "as before", example = "[\"5 Mb/s\", \"500 kb/s\"]")]
    pub rate: Option<Rates>,
    /// Of a line with frames, its propagation, one way.
    #[key(is = "a time", default = "as before", example = "\"50 ms\"")]
    pub propagation: Option<String>,
    /// Of a line or a ring, the chance of loss, of frames or cells that arrive from then on.
    #[key(is = "a share", default = "as before", example = "\"1 %\"")]
    pub loss: Option<Share>,
    /// Of a line, `loss` and `up` are of what travels towards this end alone: `host.device`, `switch.port`, or the host
    /// or switch. Of a ring, of what this station takes from it.
    #[key(is = "an end of the line, or a station", default = "both ways", example = "\"b\"")]
    pub toward: Option<String>,
}

/// Times and ranges, between commas or as a list of the file.
fn times<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a time, or a list or range of them")]
    enum Times {
        One(String),
        Several(Vec<String>),
    }
    Ok(match Times::deserialize(deserializer)? {
        Times::One(text) => text,
        Times::Several(all) => all.join(", "),
    })
}

/// In a line: "10 s: mid, up = false".
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [&self.link, &self.ring, &self.host, &self.load, &self.node]
            .into_iter()
            .flatten()
            .flat_map(|names| &names.0);
        let names: Vec<&str> = names.map(String::as_str).collect();
        write!(f, "{}: {}", self.at, names.join(", "))?;
        let said = [
            ("up", self.up.map(|up| up.to_string())),
            ("rate", self.rate.as_ref().map(Rates::to_string)),
            ("propagation", self.propagation.clone()),
            ("loss", self.loss.map(|loss| loss.to_string())),
            ("toward", self.toward.clone()),
            ("set", self.set.as_ref().map(words)),
        ];
        said.into_iter()
            .filter_map(|(key, value)| Some((key, value?)))
            .try_for_each(|(key, value)| write!(f, ", {key} = {value}"))
    }
}

/// A rate of both directions of a line, or that of each.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a rate, or a list of that from the first end and that from the second")]
pub enum Rates {
    /// The same both ways.
    Both(String),
    /// Of what the first end sends, and of what the second does.
    Each([String; 2]),
}

/// What a rate of a line can be set to while it runs.
const RATES: &str = "0 b/s, with which nothing is sent, or 1 b/s to 1000 Tb/s";

impl Rates {
    fn read(&self) -> Result<[u64; 2], ConfigError> {
        let read = |path: &[&str], text: &str| {
            let bits = quantity::<Rate>(path, text)?.base();
            let too_fast = || ConfigError::at(path, "no line is so fast").found(format!("{text:?}"));
            if bits > FASTEST { Err(too_fast().expected(RATES)) } else { Ok(bits) }
        };
        match self {
            Self::Both(text) => read(&["rate"], text).map(|both| [both; 2]),
            Self::Each([one, other]) => Ok([read(&["rate", "0"], one)?, read(&["rate", "1"], other)?]),
        }
    }
}

/// In a line: "5 Mb/s and 500 kb/s".
impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Both(text) => f.write_str(text),
            Self::Each([one, other]) => write!(f, "{one} and {other}"),
        }
    }
}

/// The kind of nodes of which something can be set while they run.
const TCP: &str = "tcp";

/// A node is set otherwise.
pub(crate) struct NodeSettings<'a> {
    pub(crate) at: Duration,
    /// The number of the event in the file.
    pub(crate) event: usize,
    pub(crate) host: &'a str,
    pub(crate) node: &'a str,
    /// All settings that it has from then on.
    pub(crate) settings: toml::Table,
}

/// "ack.every = 1, delayed_ack = \"40 ms\"".
pub(super) fn words(set: &toml::Table) -> String {
    let mut all = Vec::new();
    add_words(&mut all, "", set);
    all.join(", ")
}

fn add_words(all: &mut Vec<String>, above: &str, set: &toml::Table) {
    for (key, value) in set {
        match value.as_table() {
            Some(inner) => add_words(all, &format!("{above}{key}."), inner),
            None => all.push(format!("{above}{key} = {value}")),
        }
    }
}

/// Puts `more` in the place of what `settings` say, table by table.
fn put_in(settings: &mut toml::Table, more: &toml::Table) {
    for (key, value) in more {
        match (settings.get_mut(key), value) {
            (Some(toml::Value::Table(own)), toml::Value::Table(more)) => put_in(own, more),
            _ => drop(settings.insert(key.clone(), value.clone())),
        }
    }
}

/// What has power or not, from which times on.
pub(crate) type Power = Vec<(Duration, bool)>;

impl Event {
    fn times(&self) -> Result<Vec<Duration>, ConfigError> {
        parse_list(&self.at).map_err(|invalid| ConfigError::quantity(["at"], &invalid))
    }

    /// What it is for a line at `at`.
    fn step(&self, at: Duration) -> Result<Step, ConfigError> {
        Ok(Step {
            at,
            rate: self.rate.as_ref().map(Rates::read).transpose()?,
            propagation: self.propagation.as_ref().map(|text| quantity(&["propagation"], text)).transpose()?,
            loss: self.loss.map(Share::as_f64),
            up: self.up,
            toward: self.toward.clone(),
        })
    }

    /// The keys that are for lines alone, of those that are set.
    fn of_lines(&self) -> impl Iterator<Item = &'static str> {
        let set = [
            ("rate", self.rate.is_some()),
            ("propagation", self.propagation.is_some()),
            ("loss", self.loss.is_some()),
            ("toward", self.toward.is_some()),
        ];
        set.into_iter().filter(|(_, is_set)| *is_set).map(|(key, _)| key)
    }

    /// That what it sets of nodes can be set while they run.
    fn check_nodes(&self, scenario: &Scenario) -> Result<(), ConfigError> {
        let (names, set) = match (&self.node, &self.set) {
            (Some(names), Some(set)) if !set.is_empty() => (names, set),
            (Some(_), _) => return Err(ConfigError::new("nothing changes").expected("set = { ... }")),
            (None, Some(_)) => return Err(ConfigError::at(["set"], "nothing is set").expected("a `node` beside it")),
            (None, None) => return Ok(()),
        };
        for name in &names.0 {
            let found = name.split_once('.').and_then(|(host, node)| Some((scenario.host.get(host)?, node)));
            let has = |host: &Host, node: &str| host.graph.as_ref().is_some_and(|graph| graph.nodes().contains(&node));
            let Some((host, node)) = found.filter(|(host, node)| has(host, node)) else {
                return Err(ConfigError::at(["node"], format!("there is no node {name:?}")).expected("`host.node`"));
            };
            let kind = host.kind_of(node);
            if kind != TCP {
                let problem = format!("{name} is of kind {kind}, which stays as it is while it runs");
                return Err(ConfigError::at(["node"], problem).expected("a node of kind tcp"));
            }
        }
        match set.keys().find(|key| !Tcp::CHANGEABLE.contains(&key.as_str())) {
            Some(key) => {
                let problem = format!("{key} of tcp is looked at when a connection begins, or there is none");
                Err(ConfigError::at(["set", key], problem).one_of(&Tcp::CHANGEABLE))
            }
            None => Ok(()),
        }
    }

    /// That it can happen to all that it names.
    fn check(&self, scenario: &Scenario) -> Result<(), ConfigError> {
        if [&self.link, &self.ring, &self.host, &self.load, &self.node].into_iter().all(Option::is_none) {
            return Err(ConfigError::new("it happens to nothing")
                .expected("a `link`, a `ring`, a `host`, a `load` or a `node`"));
        }
        self.times()?;
        if self.loss.is_some_and(|loss| loss > Share::ONE) {
            return Err(ConfigError::at(["loss"], "more than everything").expected("a share from 0 % to 100 %"));
        }
        for name in self.link.iter().flat_map(|names| &names.0) {
            let Some(link) = scenario.link.get(name) else {
                continue;
            };
            let step = self.step(Duration::ZERO)?;
            if step.is_empty() {
                return Err(ConfigError::new("nothing changes").expected("one of up, rate, propagation, loss"));
            }
            medium::is_end(step.toward.as_deref(), &link.ends)?;
            // What is wrong with the line is said at its own place.
            if let Ok(line) = link.line() {
                line.judge(&link.medium, &step)?;
            }
        }
        for name in self.ring.iter().flat_map(|names| &names.0) {
            let Some(ring) = scenario.ring.get(name) else {
                continue;
            };
            let step = self.step(Duration::ZERO)?;
            if let Some(key) = [("rate", step.rate.is_some()), ("propagation", step.propagation.is_some())]
                .into_iter()
                .find_map(|(key, is_set)| is_set.then_some(key))
            {
                let problem = format!("the {key} of {} stays as it is", ring.medium);
                return Err(ConfigError::at([key], problem).expected("up or loss"));
            }
            if step.is_empty() {
                return Err(ConfigError::new("nothing changes").expected("up or loss"));
            }
            medium::is_end(step.toward.as_deref(), &ring.ends)?;
        }
        self.check_nodes(scenario)?;
        if self.host.is_some() || self.load.is_some() {
            if self.up.is_none() {
                return Err(ConfigError::new("nothing changes").expected("up = true or false"));
            }
            if let Some(key) = self.of_lines().next() {
                return Err(ConfigError::at([key], "only lines and rings have it")
                    .expected("an event of its own for what is neither"));
            }
        }
        Ok(())
    }
}

/// Puts all names in the place of stars, and has loads begin and end.
pub(super) fn settle(scenario: &mut Scenario) -> Result<(), ConfigError> {
    let mut events = core::mem::take(&mut scenario.event);
    for (number, event) in events.iter_mut().enumerate() {
        let number = number.to_string();
        settle_one(event, scenario).map_err(|fault| fault.under(&["event", &number]))?;
    }
    scenario.event = events;
    Ok(())
}

fn settle_one(event: &mut Event, scenario: &mut Scenario) -> Result<(), ConfigError> {
    all_of(("link", "line"), &mut event.link, &scenario.link)?;
    all_of(("ring", "ring"), &mut event.ring, &scenario.ring)?;
    all_of(("host", "host"), &mut event.host, &scenario.host)?;
    all_of(("load", "load"), &mut event.load, &scenario.load)?;
    let (Some(names), Some(up)) = (&event.load, event.up) else {
        return Ok(());
    };
    if event.times()?.len() > 1 {
        return Err(ConfigError::at(["at"], "a load begins and ends once").expected("one time"));
    }
    for name in &names.0 {
        if let Some(load) = scenario.load.get_mut(name) {
            begin_or_end(load, up, &event.at)?;
        }
    }
    Ok(())
}

fn begin_or_end(load: &mut Workload, up: bool, at: &str) -> Result<(), ConfigError> {
    let (key, place) = if up { ("start", &mut load.start) } else { ("stop", &mut load.stop) };
    if place.is_some() {
        let problem = format!("the load has a `{key}` already: it begins and ends once");
        return Err(ConfigError::at(["load"], problem).expected("another load for what comes later"));
    }
    *place = Some(at.to_owned());
    let time =
        |text: &Option<String>| text.as_deref().and_then(|text| kumiki_config::quantity::parse::<Duration>(text).ok());
    match (time(&load.start), time(&load.stop)) {
        (Some(start), Some(stop)) if stop <= start => {
            let problem = format!("the load would end at {stop}, before it begins at {start}");
            Err(ConfigError::at(["at"], problem).expected("`up = true` first, or none: a load begins with the run"))
        }
        _ => Ok(()),
    }
}

/// Puts the members of groups in the place of stars; every name is one of `known`.
fn all_of<T>(
    (key, what): (&str, &str),
    names: &mut Option<Nodes>,
    known: &BTreeMap<String, T>,
) -> Result<(), ConfigError> {
    let Some(names) = names else {
        return Ok(());
    };
    let mut all = BTreeSet::new();
    for name in &names.0 {
        let members: Vec<&String> = match name.strip_suffix('*') {
            Some(group) => known.keys().filter(|known| groups::is_member(known, group)).collect(),
            None => known.get_key_value(name).map(|(name, _)| name).into_iter().collect(),
        };
        if members.is_empty() {
            let all: Vec<&String> = known.keys().collect();
            return Err(ConfigError::unknown([key], what, name, &all));
        }
        all.extend(members.into_iter().cloned());
    }
    names.0 = all.into_iter().collect();
    Ok(())
}

/// That all of it can happen.
pub(super) fn check(scenario: &Scenario) -> Result<(), ConfigError> {
    for (number, event) in scenario.event.iter().enumerate() {
        event.check(scenario).map_err(|fault| fault.under(&["event", &number.to_string()]))?;
    }
    let busy: BTreeSet<&str> = scenario.load.values().flat_map(hosts_with_a_program).collect();
    let mut last: BTreeMap<&str, bool> = BTreeMap::new();
    for (at, number, host, up) in powers(scenario)? {
        let number = number.to_string();
        let path = ["event", number.as_str(), "up"];
        let was_up = last.insert(host, up).unwrap_or(true);
        if was_up == up {
            let problem = if up { "it has power already" } else { "it has no power already" };
            return Err(ConfigError::at(path, format!("at {at} host {host} is to change, and {problem}")));
        }
        if up && busy.contains(host) {
            let problem = format!("a load runs a program on host {host}, and what that has measured is lost with it");
            return Err(ConfigError::at(path, problem).expected("false alone, or another host"));
        }
    }
    Ok(())
}

/// The hosts on which a load has a program that measures; who answers a ping has none.
fn hosts_with_a_program(load: &Workload) -> impl Iterator<Item = &str> {
    let readers = load.to.0.iter().filter(|_| load.kind != super::ends::PING);
    load.from.0.iter().chain(readers).map(|end| crate::topology::place(end))
}

/// The events of hosts in order of time, each with its number in the file.
fn powers(scenario: &Scenario) -> Result<Vec<(Duration, usize, &str, bool)>, ConfigError> {
    let mut all = Vec::new();
    for (number, event) in scenario.event.iter().enumerate() {
        let (Some(hosts), Some(up)) = (&event.host, event.up) else {
            continue;
        };
        let times = event.times().map_err(|fault| fault.under(&["event", &number.to_string()]))?;
        let each = times.into_iter().flat_map(|at| hosts.0.iter().map(move |host| (at, number, host.as_str(), up)));
        all.extend(each);
    }
    all.sort_by_key(|(at, number, ..)| (*at, *number));
    Ok(all)
}

impl Scenario {
    /// How `line`, the one called `name`, changes: by its own schedule and by events, in order of time.
    ///
    /// # Errors
    /// A [`ConfigError`] whose path begins at the top of the scenario.
    pub(crate) fn changes(&self, name: &str, line: &Line) -> Result<Vec<Step>, ConfigError> {
        self.steps(line.schedule().to_vec(), |event| names_it(event.link.as_ref(), name))
    }

    /// How the ring called `name` changes by events, in order of time.
    ///
    /// # Errors
    /// A [`ConfigError`] whose path begins at the top of the scenario.
    pub(crate) fn ring_changes(&self, name: &str) -> Result<Vec<Step>, ConfigError> {
        self.steps(Vec::new(), |event| names_it(event.ring.as_ref(), name))
    }

    /// These, and those of the events that are of it.
    fn steps(&self, mut steps: Vec<Step>, is_of_it: impl Fn(&Event) -> bool) -> Result<Vec<Step>, ConfigError> {
        for (number, event) in self.event.iter().enumerate() {
            if is_of_it(event) {
                let more = event.times().and_then(|times| times.into_iter().map(|at| event.step(at)).collect());
                let more: Vec<Step> =
                    more.map_err(|fault: ConfigError| fault.under(&["event", &number.to_string()]))?;
                steps.extend(more);
            }
        }
        steps.sort_by_key(|step| step.at);
        Ok(steps)
    }

    /// What is set of nodes, in order of time: when, the number of the event in the file, host and node, and all
    /// settings that it has from then on.
    ///
    /// # Errors
    /// A [`ConfigError`] whose path begins at the top of the scenario.
    pub(crate) fn settings_of_nodes(&self) -> Result<Vec<NodeSettings<'_>>, ConfigError> {
        let mut all = Vec::new();
        for (number, event) in self.event.iter().enumerate() {
            let (Some(names), Some(set)) = (&event.node, &event.set) else {
                continue;
            };
            let times = event.times().map_err(|fault| fault.under(&["event", &number.to_string()]))?;
            let names = || names.0.iter().filter_map(|name| name.split_once('.'));
            let each = times.into_iter().flat_map(|at| names().map(move |(host, node)| (at, number, host, node, set)));
            all.extend(each);
        }
        all.sort_by_key(|(at, number, ..)| (*at, *number));
        let mut known: BTreeMap<(&str, &str), toml::Table> = BTreeMap::new();
        let settled = all.into_iter().map(|(at, event, host, node, set)| {
            let of_node = || self.host.get(host).and_then(|host| host.settings.get(node)).cloned().unwrap_or_default();
            let settings = known.entry((host, node)).or_insert_with(of_node);
            put_in(settings, set);
            NodeSettings { at, event, host, node, settings: settings.clone() }
        });
        Ok(settled.collect())
    }

    /// When hosts lose their power and get it back, by host, in order of time.
    ///
    /// # Errors
    /// A [`ConfigError`] whose path begins at the top of the scenario.
    pub(crate) fn power(&self) -> Result<BTreeMap<&str, Power>, ConfigError> {
        let mut all: BTreeMap<&str, Power> = BTreeMap::new();
        for (at, _, host, up) in powers(self)? {
            all.entry(host).or_default().push((at, up));
        }
        Ok(all)
    }
}

/// Whether `name` is one of `names`.
fn names_it(names: Option<&Nodes>, name: &str) -> bool {
    names.is_some_and(|names| names.0.iter().any(|it| it == name))
}
