//! Scenarios: an experiment as data.
//!
//! One TOML file names the hosts with their graphs, the media between them, the load, what to vary, what to report and
//! the paper's values to compare with. A new experiment is a new file.
//!
//! Quantities are written with their units ("20 ms", "149.76 Mb/s", "48 KiB").
//!
//! `docs/settings.md` lists what can be set of each kind of node and of each medium.
//!
//! # Names for values
//!
//! A value may name a defined or varied one as `${name}`; it is put in as text before anything is read, so it can stand
//! for any part of a value. Where it is the whole of a string, it keeps its type: `sessions = "${sessions}"` is a
//! number, and `graph = "${stack}"` a list where `stack` is defined as one. `${rtt / 2}` and `${rtt * 2}` work on
//! numbers and quantities, and a name may be made of others: `${stack_${series}}`. No names are replaced in the tables
//! that make points out of a scenario (`define` apart, whose values are looked at where they are used): `vary`,
//! `quick`, `skip`, `compare`, `trend`, `claim`.
//!
//! # What varies
//!
//! ```toml
//! [vary]
//! series = ["xtp", "tcp"]                    # a list
//! rtt = "0 ms .. 200 ms step 20 ms"          # quantities and ranges, see kumiki_config::quantity
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
//! The points are all combinations; the last key of `[vary]` varies fastest. A varied name that nothing uses is
//! refused.
//!
//! # Hosts like others
//!
//! `like = "a"` takes from host `a` everything that is not given, key by key also within the settings of a node; only
//! `graph` is taken or given as a whole. That is settled before `--set`: what is set on `a` is set on `a` alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use kumiki_settings::Keys;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use kumiki_media as medium;

mod amount;
mod arithmetic;
mod builtin;
pub(crate) mod check;
mod claim;
mod count;
pub(crate) mod directions;
mod drawing;
mod elsewhere;
mod ends;
mod event;
mod expand;
mod filled;
mod first;
mod groups;
mod happenings;
mod keys;
pub(crate) mod label;
pub(crate) mod like;
mod load;
mod names;
mod network;
mod real;
mod report;
mod runs;
mod set;
mod several;
mod stacks;
mod tables;
#[cfg(test)]
mod tests;
mod vary;
mod workload;

pub use amount::Amount;
pub(crate) use amount::is_word;
pub use claim::Claim;
pub use event::Event;
pub use first::First;
pub use happenings::Happening;
pub use keys::ScenarioKeys;
pub use kumiki_config::error::{ConfigError, ErrorPlace, nearest, quantity};
pub use load::{Choice, Document, Point};
pub use real::{HostProgram, Real};
pub use report::{Compare, Growth, Report, Tasks, Tolerance, Trend, Window};
pub use runs::{Confidence, Repeat, Runs};
pub use tables::Tables;
pub use workload::{Nodes, Workload};

/// One experiment.
#[derive(Clone, PartialEq, Debug, Deserialize, Keys)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// One line that says what is measured.
    #[key(is = "a text", example = "\"One line\"")]
    pub title: String,
    /// What a reader should know, in a few sentences; paragraphs are apart by an empty line.
    #[serde(default)]
    #[key(is = "a text", default = "empty", example = "\"What is asked, and how it is answered.\"")]
    pub about: String,
    /// The paper that it repeats; rows say so.
    #[key(is = "a number from 1 to 5", default = "none", example = "2")]
    pub paper: Option<u8>,
    /// The paper's figure or table, as rows name it.
    #[serde(default)]
    #[key(is = "a text", default = "empty", example = "\"fig6\"")]
    pub figure: String,
    /// Names for values, used as `${name}`; `--set name=value` replaces them.
    #[serde(default)]
    #[key(is = "a table of values", default = "none", example = "{ rtt = \"20 ms\" }")]
    pub define: BTreeMap<String, toml::Value>,
    /// The hosts, `[host.NAME]`, below.
    #[key(is = "a table of hosts", example = "{ a = { graph = [\"tcp\", \"ip\", \"l0\"] } }")]
    pub host: Tables<Host>,
    /// The switches, `[switch.NAME]`, below.
    #[serde(default)]
    #[key(is = "a table of switches", default = "none", example = "{ one = { queue_cells = 1000 } }")]
    pub switch: BTreeMap<String, Switch>,
    /// The lines, `[link.NAME]`, below.
    #[serde(default)]
    #[key(
        is = "a table of lines",
        default = "none",
        example = "{ line = { ends = [\"a\", \"b\"], medium = \"oc3c-atm\" } }"
    )]
    pub link: Tables<Link>,
    /// The rings, `[ring.NAME]`, below.
    #[serde(default)]
    #[key(
        is = "a table of rings",
        default = "none",
        example = "{ fddi = { ends = [\"a.f0\", \"b.f0\"], medium = \"fddi\" } }"
    )]
    pub ring: BTreeMap<String, Ring>,
    /// What is done, `[load.NAME]`, below: one load at least, unless a host is real.
    #[serde(default)]
    #[key(
        is = "a table of loads",
        default = "none",
        example = "{ bulk = { kind = \"netperf\", from = \"a\", to = \"b\", message = \"8 KiB\" } }"
    )]
    pub load: Tables<Workload>,
    /// The names of the loads in the order of the file.
    #[serde(skip)]
    #[key(skip)]
    pub load_order: Vec<String>,
    /// Of each line whose queue is said in products of bandwidth and delay, what that comes to, in words.
    #[serde(skip)]
    #[key(skip)]
    pub queues_of_paths: BTreeMap<String, String>,
    /// The ways that its routes lead.
    #[serde(skip)]
    #[key(skip)]
    pub(crate) routed: crate::topology::Routed,
    /// What happens at given times, `[[event]]`, below.
    #[serde(default)]
    #[key(is = "a list of tables", default = "nothing", example = "[{ at = \"10 s\", link = \"line\", up = false }]")]
    pub event: Vec<Event>,
    /// When is measured and how often, `[run]`, below.
    #[serde(default)]
    #[key(is = "a table", default = "must be given unless a host is real", example = "{ duration = \"5 s\" }")]
    pub run: Runs,
    /// What varies: the runs are all combinations, the last name varying fastest.
    #[serde(default)]
    #[key(
        is = "a table of lists and ranges, [below](#what-varies)",
        default = "one run",
        example = "{ window = [\"16 KiB\", \"64 KiB\"] }"
    )]
    // Empty in a point, which has one value of each.
    pub vary: toml::Table,
    /// How `--quick` shortens what is varied: fewer values for a name, or another one for a definition.
    #[serde(default)]
    #[key(is = "a table like `vary`", default = "nothing is shorter", example = "{ window = [\"16 KiB\"] }")]
    pub quick: toml::Table,
    /// Combinations that are left out, each a set of values; a list means any of its values.
    #[serde(default)]
    #[key(
        is = "a list of tables",
        default = "none",
        example = "[{ congestion = \"cubic\", rtt = [\"180 ms\", \"200 ms\"] }]"
    )]
    pub skip: Vec<toml::Table>,
    /// How results are shown, `[report]`, below.
    #[serde(default)]
    #[key(is = "a table", default = "as its keys say", example = "{ x = \"window\" }")]
    pub report: Report,
    /// Values of a paper or of theory, `[[compare]]`, below.
    #[serde(default)]
    #[key(is = "a list of tables", default = "none", example = "[{ at = {}, value = 94.1, from = \"table 2\" }]")]
    pub compare: Vec<Compare>,
    /// What a paper says of whole curves, `[[trend]]`, below.
    #[serde(default)]
    #[key(
        is = "a list of tables",
        default = "none",
        example = "[{ of = {}, peak_mbps = 135.0, from = \"figure 6\" }]"
    )]
    pub trend: Vec<Trend>,
    /// What a paper says in words, `[[claim]]`, below.
    #[serde(default)]
    #[key(
        is = "a list of tables",
        default = "none",
        example = "[{ words = \"it is faster\", from = \"section 4\", along = \"window\", least = 1.0 }]"
    )]
    pub claim: Vec<Claim>,
}

/// A host.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Keys)]
pub struct Host {
    /// A host or a group (by its own name) from which everything is taken that is not given here, key by key; not
    /// `count` nor `real`, and `graph` only as a whole.
    #[key(is = "a name of a host", default = "none", example = "\"a\"")]
    pub like: Option<String>,
    /// The price list for its work.
    #[key(
        is = "a name of [profiles/](../profiles) or a path",
        default = "`zero`: work is free",
        example = "\"atm-board\""
    )]
    pub profile: Option<String>,
    /// Prices in the place of the profile's, by node and kind of work.
    #[serde(default)]
    #[key(
        is = "a table of tables of times",
        default = "as the profile has them",
        example = "{ tcp = { push = \"100 us\", copy = \"0 ns\" } }"
    )]
    pub prices: BTreeMap<String, BTreeMap<String, String>>,
    /// Work on messages shorter than this costs nothing, whatever the profile says: to see what control packets cost.
    /// Interrupts for starting a transmission are priced all the same.
    #[key(is = "a size", default = "none", example = "\"100 B\"")]
    pub free_below: Option<String>,
    /// Whether units go without a stop through layers that only put a header in front of them or take it off, where
    /// work there has no price and nobody looks on. What is sent and counted is the same.
    #[key(is = "true or false", default = "true", example = "false")]
    pub paths: Option<bool>,
    /// The layers: a list from the top down to the device, or a table that gives the layers below each.
    #[key(
        is = "a list, or a table of lists",
        default = "as `like` has it; one of both must be given",
        example = "[\"netperf\", \"tcp\", \"ip\", \"l0\"]"
    )]
    pub graph: Option<Graph>,
    /// The kinds of layers whose kind is not their name.
    #[serde(default)]
    #[key(is = "a table of kinds", default = "the name", example = "{ upper = \"tcp\" }")]
    pub kind: BTreeMap<String, String>,
    /// Who the host is, where it is real: what is above IP in its graph is left out, and `kumiki live` runs the
    /// scenario. No host that is like it has it.
    #[key(
        is = "a table, [below](#hostnamereal)",
        default = "the host is emulated",
        example = "{ run = \"curl -s http://server\" }"
    )]
    pub real: Option<Real>,
    /// Settings of nodes, by node.
    #[serde(flatten)]
    #[key(skip)]
    pub settings: BTreeMap<String, toml::Table>,
}

impl Host {
    /// The name of its profile.
    #[must_use]
    pub fn profile_name(&self) -> &str {
        self.profile.as_deref().unwrap_or(crate::profile::ZERO)
    }

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
#[derive(Clone, PartialEq, Debug, Deserialize, Keys)]
pub struct Switch {
    /// How many ports, numbered from 0.
    #[serde(default)]
    #[key(is = "a number", default = "as many as lines end there", example = "4")]
    pub ports: usize,
    /// What it is: `atm` or `ethernet`.
    #[serde(default = "atm")]
    #[key(is = "a word", default = "\"atm\"", example = "\"ethernet\"")]
    pub kind: String,
    /// Settings of the switch.
    #[serde(flatten)]
    #[key(skip)]
    pub settings: toml::Table,
}

fn atm() -> String {
    "atm".to_owned()
}

impl Switch {
    /// What it is, with its settings.
    ///
    /// # Errors
    /// A [`ConfigError`] whose path begins at the keys of the switch.
    pub fn switch(&self) -> Result<medium::Switch, ConfigError> {
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
#[derive(Clone, PartialEq, Debug, Deserialize, Keys)]
pub struct Link {
    /// The two ends, each `host.device` or `switch.port`; a host alone is its one device, a switch alone its next free
    /// port.
    #[key(is = "a list of two names", example = "[\"a.l0\", \"b.l0\"]")]
    pub ends: [String; 2],
    /// What it is made of.
    #[key(is = "a [medium](settings.md#media)", example = "\"point-to-point\"")]
    pub medium: String,
    /// Settings of the medium.
    #[serde(flatten)]
    #[key(skip)]
    pub settings: toml::Table,
}

impl Link {
    /// What it is, with its settings.
    ///
    /// # Errors
    /// A [`ConfigError`] whose path begins at the keys of the link.
    pub fn line(&self) -> Result<medium::Line, ConfigError> {
        medium::read(&medium::LINES, &self.medium, &self.settings)
    }

    /// What it is at 0 s, without the rest of its schedule, which may have very many steps to read.
    ///
    /// # Errors
    /// As [`Self::line`].
    pub(crate) fn line_at_first(&self) -> Result<medium::Line, ConfigError> {
        let own = self.settings.iter().filter(|(key, _)| *key != "schedule");
        let mut own: toml::Table = own.map(|(key, value)| (key.clone(), value.clone())).collect();
        let steps = self.settings.get("schedule").and_then(toml::Value::as_array);
        let is_first = |step: &&toml::Value| {
            let at = step.get("at").and_then(toml::Value::as_str);
            at.is_some_and(|at| {
                kumiki_config::quantity::parse::<kumiki_graph::Duration>(at).is_ok_and(|at| at.is_zero())
            })
        };
        let first: Vec<toml::Value> = steps.into_iter().flatten().take_while(is_first).cloned().collect();
        if !first.is_empty() {
            own.insert("schedule".to_owned(), toml::Value::Array(first));
        }
        Ok(medium::read(&medium::LINES, &self.medium, &own)?.at_first())
    }

    /// What it is, in a few words: medium, rate, propagation, what decides about its queues, and whether it is
    /// switched, changes or is impaired.
    #[must_use]
    pub fn words(&self) -> String {
        // Those of two directions are a list.
        let of_both = |value: &toml::Value| {
            let all = value.as_array().map_or_else(|| core::slice::from_ref(value), Vec::as_slice);
            all.iter().map(toml::Value::as_str).collect::<Option<Vec<_>>>().map(|all| all.join(" and "))
        };
        let text = |key| self.settings.get(key).and_then(of_both);
        let is_there = |key, words: &str| self.settings.contains_key(key).then(|| words.to_owned());
        let parts = [
            Some(self.medium.clone()),
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
#[derive(Clone, PartialEq, Debug, Deserialize, Keys)]
pub struct Ring {
    /// The stations, each `host.device`, in the order in which the token goes; two at least. A host alone is its one
    /// device.
    #[key(is = "a list of names", example = "[\"a.f0\", \"b.f0\", \"c.f0\"]")]
    pub ends: Vec<String>,
    /// What it is made of.
    #[key(is = "a [ring](settings.md#rings)", example = "\"fddi\"")]
    pub medium: String,
    /// Settings of the medium.
    #[serde(flatten)]
    #[key(skip)]
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

    /// What the queue and the counters of the station `end` are called: as its host, and as host and device where that
    /// is on the ring twice.
    #[must_use]
    pub fn station<'a>(&self, end: &'a str) -> &'a str {
        let host = |end: &'a str| end.split_once('.').map_or(end, |(host, _)| host);
        let own = host(end);
        let is_of_host = |other: &&String| other.strip_prefix(own).is_some_and(|rest| rest.starts_with('.'));
        if self.ends.iter().filter(is_of_host).count() > 1 { end } else { own }
    }

    /// What it is, with its settings.
    ///
    /// # Errors
    /// A [`ConfigError`] whose path begins at the keys of the ring.
    pub fn ring(&self) -> Result<medium::Ring, ConfigError> {
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

impl Scenario {
    /// The loads in the order of the file.
    #[must_use]
    pub fn loads(&self) -> Vec<(&String, &Workload)> {
        let mut loads: Vec<(&String, &Workload)> = self.load.iter().collect();
        loads.sort_by_key(|(name, _)| self.load_order.iter().position(|it| it == *name));
        loads
    }

    /// What is called by a name in it: hosts, switches, lines, rings and loads.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        let (host, link, load) = (self.host.keys(), self.link.keys(), self.load.keys());
        host.chain(self.switch.keys()).chain(link).chain(self.ring.keys()).chain(load).map(String::as_str).collect()
    }

    /// Has what is as in `earlier`, another point of the same scenario, in memory once.
    fn share(&mut self, earlier: &Self) {
        self.host.share(&earlier.host);
        self.link.share(&earlier.link);
        self.load.share(&earlier.load);
    }

    /// Whose the values of `[[compare]]` are, in a word.
    #[must_use]
    pub const fn whose_values(&self) -> &'static str {
        if self.paper.is_some() { "paper" } else { "expected" }
    }
}
