//! Scenarios: an experiment as data.
//!
//! One TOML file names the hosts with their graphs, the media between them, the load, what to vary, what to report and the
//! paper's values to compare with. A new experiment is a new file.
//!
//! Quantities are written with their units ("20 ms", "149.76 Mb/s", "48 KiB").
//!
//! `docs/settings.md` lists what can be set of each kind of node and of each medium.
//!
//! # Names for values
//!
//! A value may name a defined or varied one as `${name}`; it is put in as text before anything is read, so it can stand
//! for any part of a value. Where it is the whole of a string, it keeps its type: `sessions = "${sessions}"` is a number,
//! and `graph = "${stack}"` a list where `stack` is defined as one. `${rtt / 2}` and `${rtt * 2}` work on numbers
//! and quantities, and a name may be made of others: `${stack_${series}}`. No names are replaced in the tables that make
//! points out of a scenario (`define` apart, whose values are looked at where they are used): `vary`, `quick`, `skip`,
//! `compare`, `trend`, `claim`.
//!
//! # What varies
//!
//! ```toml
//! [vary]
//! series = ["xtp", "tcp"]                    # a list
//! rtt = "0 ms .. 200 ms step 20 ms"          # quantities and ranges, see crate::quantity
//! "length, count" = [["512 B", 8192], ["1 KiB", 4096]]   # several names in lockstep, row by row
//!
//! [quick]                                    # for --quick: fewer values for a key of [vary], or another one for a definition
//! rtt = "0 ms, 100 ms"
//!
//! [[skip]]                                   # combinations that are left out; a list means any of its values
//! series = "tcp"
//! rtt = ["180 ms", "200 ms"]
//! ```
//!
//! The points are all combinations; the last key of `[vary]` varies fastest. A varied name that nothing uses is refused.
//!
//! # Hosts like others
//!
//! `like = "a"` takes from host `a` everything that is not given, key by key also within the settings of a node; only
//! `graph` is taken or given as a whole. That is settled before `--set`: what is set on `a` is set on `a` alone.

use std::collections::BTreeMap;
use std::fmt;

use kumiki_graph::Duration;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::medium;
use crate::quantity::{Octets, Share};

mod amount;
mod arithmetic;
mod builtin;
pub(crate) mod check;
mod claim;
mod drawing;
mod ends;
mod expand;
pub(crate) mod fault;
mod groups;
pub(crate) mod label;
pub(crate) mod like;
mod load;
mod network;
mod read;
pub(crate) mod settings;
#[cfg(test)]
mod tests;
pub mod tree;
mod vary;

pub use amount::Amount;
pub use claim::Claim;
pub use fault::{Fault, Place, nearest, quantity};
pub use load::{Choice, Document, Point};

/// One experiment.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// One line that says what is measured.
    pub title: String,
    /// What a reader should know, in a few sentences.
    #[serde(default)]
    pub about: String,
    /// The paper it repeats, 1 to 5.
    pub paper: Option<u8>,
    /// The paper's figure or table, as result rows name it.
    #[serde(default)]
    pub figure: String,
    /// Names for values, used as `${name}`; `--set name=value` replaces them.
    #[serde(default)]
    pub define: BTreeMap<String, toml::Value>,
    /// The hosts.
    pub host: BTreeMap<String, Host>,
    /// The switches.
    #[serde(default)]
    pub switch: BTreeMap<String, Switch>,
    /// The lines.
    #[serde(default)]
    pub link: BTreeMap<String, Link>,
    /// The rings.
    #[serde(default)]
    pub ring: BTreeMap<String, Ring>,
    /// The loads, by name: at least one.
    #[serde(default)]
    pub load: BTreeMap<String, Workload>,
    /// When is measured, and how often.
    pub run: Runs,
    /// What to vary: the runs are all combinations, in the order of the names here.
    #[serde(default)]
    pub vary: toml::Table,
    /// How `--quick` shortens what is varied: fewer values for a name.
    #[serde(default)]
    pub quick: toml::Table,
    /// Only combinations for which none of these holds are run; each is a set of values that exclude each other.
    #[serde(default)]
    pub skip: Vec<toml::Table>,
    /// How results are shown.
    #[serde(default)]
    pub report: Report,
    /// The paper's values.
    #[serde(default)]
    pub compare: Vec<Compare>,
    /// What the paper says of whole curves.
    #[serde(default)]
    pub trend: Vec<Trend>,
    /// What the paper says in words.
    #[serde(default)]
    pub claim: Vec<Claim>,
}

/// A host.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
pub struct Host {
    /// Took everything not given here from this other host, when it was loaded.
    pub like: Option<String>,
    /// The price list: a file in `profiles/`, or `zero` (the default), which has no CPU cost.
    pub profile: Option<String>,
    /// Prices in the place of those of the profile, by node and kind of work ([`kumiki_graph::Work::name`]).
    #[serde(default)]
    pub prices: BTreeMap<String, BTreeMap<String, String>>,
    /// Work on messages shorter than this costs nothing, whatever the profile says: to see what control packets cost.
    /// Interrupts for starting a transmission are priced all the same, whatever is transmitted.
    pub free_below: Option<String>,
    /// The graph: for each node the layers below it. A list alone is a chain, uppermost first.
    pub graph: Option<Graph>,
    /// The kinds of nodes whose kind is not their name.
    #[serde(default)]
    pub kind: BTreeMap<String, String>,
    /// Settings of nodes, by node.
    #[serde(flatten)]
    pub settings: BTreeMap<String, toml::Table>,
}

impl Host {
    /// The kind of node that `node` is.
    #[must_use]
    pub fn kind_of<'a>(&'a self, node: &'a str) -> &'a str {
        self.kind.get(node).map_or(node, String::as_str)
    }
}

/// A protocol graph.
#[derive(Clone, PartialEq, Debug)]
pub enum Graph {
    /// Each stands on the next; the last is a device.
    Chain(Vec<String>),
    /// For each node the layers below it; a name without a list is a device.
    Below(BTreeMap<String, Vec<String>>),
}

impl Graph {
    /// Every node, each once: in the order of a chain, otherwise by name.
    #[must_use]
    pub fn nodes(&self) -> Vec<&str> {
        let mut nodes: Vec<&str> = match self {
            Self::Chain(names) => names.iter().map(String::as_str).collect(),
            Self::Below(below) => below
                .iter()
                .flat_map(|(name, layers)| std::iter::once(name).chain(layers))
                .map(String::as_str)
                .collect(),
        };
        if let Self::Below(_) = self {
            nodes.sort_unstable();
            nodes.dedup();
        }
        nodes
    }

    /// The layers below `node`; none below a device.
    #[must_use]
    pub fn below(&self, node: &str) -> Vec<&str> {
        match self {
            Self::Chain(names) => {
                names.iter().skip_while(|name| *name != node).skip(1).take(1).map(String::as_str).collect()
            }
            Self::Below(below) => {
                below.get(node).map(|layers| layers.iter().map(String::as_str).collect()).unwrap_or_default()
            }
        }
    }

    /// The devices: what stands on nothing and is not said to, as a node that turns data around is by an empty list.
    #[must_use]
    pub fn devices(&self) -> Vec<&str> {
        let mut nodes = self.nodes();
        nodes.retain(|node| match self {
            Self::Chain(_) => self.below(node).is_empty(),
            Self::Below(below) => !below.contains_key(*node),
        });
        nodes
    }
}

impl<'de> Deserialize<'de> for Graph {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(GraphVisitor)
    }
}

struct GraphVisitor;

impl<'de> Visitor<'de> for GraphVisitor {
    type Value = Graph;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of layers, or a table that gives the list of layers below each node")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Graph, A::Error> {
        let mut names = Vec::new();
        while let Some(name) = list.next_element()? {
            names.push(name);
        }
        Ok(Graph::Chain(names))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Graph, A::Error> {
        let mut below = BTreeMap::new();
        while let Some((name, layers)) = map.next_entry()? {
            below.insert(name, layers);
        }
        Ok(Graph::Below(below))
    }
}

/// A switch.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Switch {
    /// How many ports, numbered from 0; as many as lines end on it unless given.
    #[serde(default)]
    pub ports: usize,
    /// What it is: a name of [`medium::SWITCHES`].
    #[serde(default = "atm")]
    pub kind: String,
    /// Settings of the switch.
    #[serde(flatten)]
    pub settings: toml::Table,
}

fn atm() -> String {
    "atm".to_owned()
}

impl Switch {
    /// What it is, with its settings.
    ///
    /// # Errors
    /// A [`Fault`] whose path begins at the keys of the switch.
    pub fn switch(&self) -> Result<medium::Switch, Fault> {
        medium::read_switch(&self.kind, &self.settings)
    }

    /// What waits for each port, in a few words.
    #[must_use]
    pub fn words(&self) -> String {
        let queue = |key, what| Some(format!("{} {what} in a queue", self.settings.get(key)?));
        let queue = queue("queue_cells", "cells").or_else(|| queue("queue_frames", "frames"));
        queue.unwrap_or_else(|| self.kind.clone())
    }

    /// The permanent channels through it; what is none is refused when it is built.
    pub fn channels(&self) -> impl Iterator<Item = medium::Channel> {
        let channels = self.settings.get("channels").and_then(toml::Value::as_array);
        channels.into_iter().flatten().filter_map(|it| it.as_str()?.parse().ok())
    }

    /// Adds a permanent channel.
    pub(crate) fn add_channel(&mut self, channel: medium::Channel) {
        let channels = self.settings.entry("channels").or_insert_with(|| toml::Value::Array(Vec::new()));
        // What is no list is refused when the switch is built.
        if let Some(channels) = channels.as_array_mut() {
            channels.push(toml::Value::String(channel.to_string()));
        }
    }
}

/// A line between two plugs.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Link {
    /// The two ends, each `host.device` or `switch.port`; a host alone is its one device, and a switch its next free port.
    pub ends: [String; 2],
    /// What it is: a name of [`medium::LINES`].
    pub medium: String,
    /// Settings of the medium.
    #[serde(flatten)]
    pub settings: toml::Table,
}

impl Link {
    /// What it is, with its settings.
    ///
    /// # Errors
    /// A [`Fault`] whose path begins at the keys of the link.
    pub fn line(&self) -> Result<medium::Line, Fault> {
        medium::read(&medium::LINES, &self.medium, &self.settings)
    }

    /// What it is, in a few words: medium, rate, propagation, what decides about its queues, and whether it is switched, changes or is impaired.
    #[must_use]
    pub fn words(&self) -> String {
        let text = |key| self.settings.get(key).and_then(toml::Value::as_str);
        let is_there = |key, words| self.settings.contains_key(key).then_some(words);
        let parts = [
            Some(self.medium.as_str()),
            text("rate"),
            text("propagation"),
            text("queue"),
            is_there("switched", "switched"),
            is_there("schedule", "changing"),
            is_there("impair", "impaired"),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// A ring of hosts.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Ring {
    /// The stations, each `host.device`, in the order in which the token goes; two at least.
    pub ends: Vec<String>,
    /// What it is: a name of [`medium::RINGS`].
    pub medium: String,
    /// Settings of the medium.
    #[serde(flatten)]
    pub settings: toml::Table,
}

impl Ring {
    /// Each station and the next, the last and the first among them where there are more than two.
    pub fn hops(&self) -> impl Iterator<Item = [&str; 2]> {
        let names = self.ends.iter().map(String::as_str);
        let next = names.clone().cycle().skip(1);
        let count = match self.ends.len() {
            2 => 1,
            count => count,
        };
        names.zip(next).map(|(one, other)| [one, other]).take(count)
    }

    /// What it is, with its settings.
    ///
    /// # Errors
    /// A [`Fault`] whose path begins at the keys of the ring.
    pub fn ring(&self) -> Result<medium::Ring, Fault> {
        medium::read(&medium::RINGS, &self.medium, &self.settings)
    }

    /// What it is, in a few words: medium, target, propagation, and whether something goes wrong on it.
    #[must_use]
    pub fn words(&self) -> String {
        let text = |key| self.settings.get(key).and_then(toml::Value::as_str);
        let ttrt = text("ttrt").map(|time| format!("TTRT {time}"));
        let impaired = self.settings.contains_key("impair").then_some("impaired");
        let parts = [Some(self.medium.as_str()), ttrt.as_deref(), text("propagation"), impaired];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// When is measured, and how often, of all loads alike.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runs {
    /// Not measured: what happens before this, of loads that have no end of their own; `auto`: it is looked for in a run that is not shown.
    pub warm_up: Option<String>,
    /// How long is measured after that; the longest that loads with an end of their own may take.
    pub duration: String,
    /// Runs with other seeds, a fixed number of them, of which one number is shown.
    pub repeat: Option<Repeat>,
    /// Runs with other seeds until the interval is as narrow as wanted.
    pub confidence: Option<Confidence>,
    /// The measured time is cut into so many parts, whose means give an interval of one run.
    pub batches: Option<u32>,
    /// Seed of the first run.
    #[serde(default = "first_seed")]
    pub seed: u64,
    /// How often loads, flows and queues are looked at, from the beginning on: for values over time.
    pub interval: Option<String>,
}

/// A load: a program that writes, and one or several that read.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// `ttcp` (a number of messages, then the end), `netperf` (for a time), `ftam` (a file, put by the file service), `udp` (datagrams at a
    /// constant rate), `rtp` (packets of a stream of sound or pictures), `ping` (echoes of ICMP), `rpc` (requests and responses), or `limit` (nothing runs; octets are counted).
    pub kind: String,
    /// The node that writes, as `host.node`, or several, each with so many `sessions`. A layer's node (`a.tcp`) or a host alone gets a program
    /// on it; `s*.app` is every host `s` and a number.
    pub from: Nodes,
    /// The node that reads, or several: the sessions of one writer go to each in turn, and several writers have one reader or one each. For
    /// `ping` the node that answers.
    pub to: Nodes,
    /// The port where readers listen; given out from 5001 on unless given.
    pub port: Option<u16>,
    /// Octets that one call writes; for `ping` the data of an echo, for `ftam` that of an F-DATA request.
    pub message: String,
    /// Octets of a response, for `rpc`, drawn for each; those of `message`, which is the request, unless given.
    pub response: Option<String>,
    /// From a response to the next request, for `rpc`, drawn for each.
    pub think: Option<String>,
    /// Octets of a session, for `ttcp` in the place of `count`: drawn for each (see [`crate::quantity::Distribution`]).
    pub size: Option<String>,
    /// Octets of the file, for `ftam`; `netperf`, which writes for a time, does not look at it.
    pub file: Option<String>,
    /// Who asks for the file, for `ftam`: `put`, the node that writes, or `get`, the one that reads; `put` unless given.
    pub way: Option<String>,
    /// Messages per session, for all but `netperf` and `ftam`; without end for `udp` and `ping` unless given.
    pub count: Option<u64>,
    /// Octets of a frame, for `rtp`, which leaves in packets of `message` octets and the rest, one after the other; each packet is a frame unless given.
    pub frame: Option<String>,
    /// What a stream of `rtp` is of, by the numbers of RFC 3551; 33 (MP2T) unless given.
    pub payload_type: Option<u8>,
    /// How long after it has come the first packet of `rtp` is played: what comes later than its own time is late. 100 ms unless given.
    pub playout: Option<String>,
    /// The rate of messages in each session, for `udp` and `rtp`: their octets per time.
    pub rate: Option<String>,
    /// Whether messages of `udp` come evenly (`periodic`, the default) or at random, with `rate` as the mean (`poisson`).
    pub arrivals: Option<String>,
    /// How long `udp` sends before it is silent, drawn for each burst.
    pub on: Option<String>,
    /// How long it is silent after that, drawn each time.
    pub off: Option<String>,
    /// From one echo to the next, for `ping`; 1 s unless given.
    pub interval: Option<String>,
    /// Octets asked for by one read; the message size unless given.
    pub read: Option<String>,
    /// For `limit`: which step of the overhead ladder.
    pub step: Option<String>,
    /// How many sessions each writer opens.
    #[serde(default = "one")]
    pub sessions: u32,
    /// How many of those of each writer write; all unless given.
    pub busy: Option<u32>,
    /// How long after the beginning the first of them opens.
    pub start: Option<String>,
    /// How long after the beginning nothing more is opened or written.
    pub stop: Option<String>,
    /// How long after the one before it each session opens, drawn for each: `exponential 10 ms` makes it a Poisson process.
    pub stagger: Option<String>,
    /// Each opening is put off by a random time below this.
    pub jitter: Option<String>,
    /// The content: `ttcp`, `zeros`, `random`, `counter`, `flags`: the octet 7E alone, the worst case of octet stuffing.
    pub pattern: Option<String>,
    /// Whose clock `ttcp` is timed by: `receiver` (the default), until the last octet is read, or `sender`, until the last message
    /// is written; the end of the stream is then not in the time, nor what is still in the send buffer. For `ftam`: `request` begins with the request for the association, and not when that stands.
    pub clock: Option<String>,
    /// What is shown is so many times what was measured, which rows then carry as `raw_mbps`: 2 where data that is turned around passes
    /// each layer twice, and one way is wanted.
    pub times: Option<u32>,
    /// Socket buffers on both sides, for both directions.
    pub socket_buffer: Option<String>,
    /// What to do with small segments: `nagle`, `minshall`, `never`.
    pub coalesce: Option<String>,
}

impl Workload {
    /// What `kind` may be.
    pub(crate) const KINDS: [&str; 8] = ["netperf", "ttcp", "udp", "rtp", "ping", "rpc", "ftam", "limit"];

    /// Each writer with each reader that it has: all where it is the only writer, the only one, or its own.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let (writers, readers) = (self.from.0.len(), self.to.0.len());
        self.from.0.iter().enumerate().flat_map(move |(number, from)| {
            let sessions = usize::try_from(self.sessions).unwrap_or(usize::MAX);
            let own = match (writers, readers) {
                // Those behind the last session get none.
                (1, all) => 0..all.min(sessions),
                (_, 1) => 0..1,
                _ => number..number.saturating_add(1),
            };
            let readers = self.to.0.get(own).unwrap_or_default();
            readers.iter().map(|to| (from.as_str(), to.as_str()))
        })
    }
}

/// One node or several, each as `host.node`. In a file a text alone is one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Nodes(pub Vec<String>);

impl<'de> Deserialize<'de> for Nodes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodesVisitor)
    }
}

struct NodesVisitor;

impl<'de> Visitor<'de> for NodesVisitor {
    type Value = Nodes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"host.node\", or a list of such")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Nodes, E> {
        Ok(Nodes(vec![name.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Nodes, A::Error> {
        let mut names = Vec::new();
        while let Some(name) = list.next_element()? {
            names.push(name);
        }
        Ok(Nodes(names))
    }
}

/// netperf's `-I` and `-i`: see `crate::stats`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confidence {
    /// 95 or 99.
    pub level: u8,
    /// The whole width of the interval, in per cent of the mean: 10 is within +-5 %.
    pub width_percent: f64,
    /// The fewest runs, at least 3.
    #[serde(default = "fewest_runs")]
    pub fewest: u32,
    /// The most runs, at most 30.
    #[serde(default = "most_runs")]
    pub most: u32,
}

/// A fixed number of runs, as paper 1 made them.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    /// How many.
    pub runs: u32,
    /// What is shown of them: `mean` (the default: without the best and the worst), `min`, `max`.
    pub show: Option<String>,
    /// Whether as many are made where fewer would do for a look, as `reproduce` has it: what is shown means nothing of fewer.
    #[serde(default)]
    pub always: bool,
}

impl Repeat {
    /// How many are made where at most `most` are to be.
    #[must_use]
    pub fn made(&self, most: Option<u32>) -> u32 {
        most.filter(|_| !self.always).map_or(self.runs, |most| self.runs.min(most))
    }
}

/// How results are shown.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Report {
    /// The varied name along the figure's horizontal axis and the table's rows.
    pub x: Option<String>,
    /// The axis' label.
    pub x_label: Option<String>,
    /// `linear`, `log2`, `octets`.
    pub x_scale: Option<String>,
    /// The vertical axis' range, in Mb/s.
    pub y_range: Option<[f64; 2]>,
    /// The varied names that make one curve each, together.
    pub series: Vec<String>,
    /// The names under which result rows carry what is varied, with their units: `window = "window_bytes"`.
    pub rows: BTreeMap<String, String>,
    /// Which value of the rows the table and the figure show: `goodput_mbps` unless given (see [`crate::rows::ValueName`]).
    pub value: Option<String>,
    /// The load that the table and the figure are about, and the paper's values; without it all of them together, and each beside that.
    pub load: Option<String>,
    /// Decimals in the table; 2 unless given.
    pub decimals: Option<u8>,
    /// Whether what bound each point stands behind its value in the table; unless given it does where the scenario repeats no paper.
    pub bound: Option<bool>,
    /// Of what a figure shows what held connections back: `flow`, `load`, `total` or `none`; unless given of each flow, or of more together where these are many, and of none where
    /// the scenario repeats a paper.
    pub held: Option<String>,
    /// Whether the use of the CPUs is told below the table, for each point.
    pub cpu: bool,
    /// The window that bounds a TCP here: what it allows is drawn as a limit, and what was used of it told below the table.
    pub window: Option<Window>,
    /// The points are candidates of which the one is looked for that has the paper's value: the others are not wrong.
    pub candidates: bool,
    /// The time of tasks, in a table and a figure of their own, and in a row for each task of each host.
    pub tasks: Option<Tasks>,
    /// A limit drawn in the figure: `aal5` (computed from the stack), `none`.
    pub limit: Option<String>,
    /// Below the figure.
    pub caption: Option<String>,
    /// Below the table: what the numbers do not say by themselves.
    pub notes: Vec<String>,
}

impl Scenario {
    /// Whose the values of `[[compare]]` are, in a word.
    #[must_use]
    pub const fn whose_values(&self) -> &'static str {
        if self.paper.is_some() { "paper" } else { "expected" }
    }
}

impl Report {
    /// Which value of the rows the table and the figure show.
    #[must_use]
    pub fn shown(&self) -> crate::rows::ValueName {
        let name = self.value.as_deref().and_then(crate::rows::ValueName::new);
        name.unwrap_or_default()
    }
}

/// The time of tasks.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tasks {
    /// The tasks, as the profile calls them, in this order.
    pub names: Vec<String>,
    /// What the paper says of how they grow.
    #[serde(default)]
    pub growth: Vec<Growth>,
}

/// That the time of some tasks grows less than that of others, from one point to another.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Growth {
    /// The first point: values of what is varied.
    pub at: toml::Table,
    /// The second one.
    pub to: toml::Table,
    /// Those that hardly grow.
    pub of: Vec<String>,
    /// The others.
    pub against: Vec<String>,
    /// Their growth is below this part of that of the others.
    pub below: f64,
    /// Where the paper says so.
    pub from: String,
    /// `ours` where the number is our reading of words.
    pub reading: Option<String>,
    /// Whether the ratio owes something to a price that was fitted.
    #[serde(default)]
    pub fitted: bool,
}

/// A window and the round trip that it goes round in: their quotient is a limit.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// The window, as in "53000 B".
    pub octets: String,
    /// The time of a round trip without what the ends and the line take.
    pub round_trip: String,
}

impl Window {
    /// What the window allows, in Mb/s; none without a round trip.
    ///
    /// # Errors
    /// A [`Fault`] that names the key which is no quantity.
    pub fn limit_mbps(&self) -> Result<Option<f64>, Fault> {
        let path = |key| ["report", "window", key];
        let octets: Octets = quantity(&path("octets"), &self.octets)?;
        let round_trip: Duration = quantity(&path("round_trip"), &self.round_trip)?;
        #[expect(clippy::cast_precision_loss, reason = "a limit for a figure")]
        let quotient = |nanos: u64| octets.count() as f64 * 8e3 / nanos as f64;
        Ok((!round_trip.is_zero()).then(|| quotient(round_trip.as_nanos())))
    }
}

/// One value that the paper prints, or that theory gives, of what `[report]` shows.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// At which values of what is varied.
    pub at: toml::Table,
    /// The value, in the unit of what `[report]` shows.
    pub value: f64,
    /// How far from it is still agreement.
    pub within: Option<Within>,
    /// Where the paper says so, or by what theory.
    pub from: String,
    /// `ours` where the number is our reading of words.
    pub reading: Option<String>,
    /// Whether the profile was fitted to this very value.
    #[serde(default)]
    pub fitted: bool,
}

/// How far from a value is still agreement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Within {
    /// So much, in the value's own unit.
    Amount(f64),
    /// Such a part of the value.
    Part(f64),
}

impl Within {
    /// So far from `value`, in its unit.
    #[must_use]
    pub fn of(self, value: f64) -> f64 {
        match self {
            Self::Amount(amount) => amount,
            Self::Part(part) => part * value.abs(),
        }
    }
}

impl<'de> Deserialize<'de> for Within {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let found = toml::Value::deserialize(deserializer)?;
        let whole = found.as_integer().and_then(|whole| i32::try_from(whole).ok()).map(f64::from);
        let number = whole.or_else(|| found.as_float());
        let part = || crate::quantity::parse::<Share>(found.as_str()?).ok().map(Share::as_f64);
        let of_number = number.filter(|number| number.is_finite() && *number >= 0.0).map(Self::Amount);
        of_number.or_else(|| part().map(Self::Part)).ok_or_else(|| {
            D::Error::custom("expected a number in the unit of the value, or a share of it such as \"2 %\"")
        })
    }
}

/// What the paper says of a whole curve: its peak, how far it falls, or between which values it is.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trend {
    /// The values that make the curve.
    pub of: toml::Table,
    /// Where on the curve, for a fall or a range; a list means any of its values.
    #[serde(default)]
    pub at: toml::Table,
    /// The paper's highest value on the curve, wherever that is.
    pub peak_mbps: Option<f64>,
    /// How far the curve is below its own peak at `at`, in per cent of the peak.
    pub below_peak_percent: Option<f64>,
    /// Between which values the curve is, at all points that `at` names.
    pub between_mbps: Option<[f64; 2]>,
    /// How far from the paper's number is still agreement, in its own unit.
    pub within: Option<f64>,
    /// Where the paper says so.
    pub from: String,
    /// `ours` where the number is our reading of words.
    pub reading: Option<String>,
    /// Whether the profile was fitted to this.
    #[serde(default)]
    pub fitted: bool,
}

const fn one() -> u32 {
    1
}

const fn first_seed() -> u64 {
    1
}

const fn fewest_runs() -> u32 {
    3
}

const fn most_runs() -> u32 {
    10
}
