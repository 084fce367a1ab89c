//! Finding, reading and checking a profile.

use std::fmt;
use std::path::Path;

use kumiki_graph::{Duration, Work};

use super::{Adapter, Memory, Profile, Sourced};
use crate::scenario::ConfigError;
use crate::scenario::ScenarioKeys;
use crate::scenario::like::{complete, model};
use kumiki_config::quantity::{Octets, Quantity, Unit, parse as parse_quantity};
use kumiki_config::tree::{Node, Source};

/// The profile without CPU cost.
pub const ZERO: &str = "zero";

/// A price: a time in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Picoseconds(u64);

impl Picoseconds {
    pub(super) const fn count(self) -> u64 {
        self.0
    }
}

impl Quantity for Picoseconds {
    const EXPECTED: &'static str = "a price such as \"46.1 ns\" (ps, ns, us, ms, s)";
    const BASE: &'static str = "picoseconds";
    const UNITS: &'static [Unit] = &[
        unit("ps", 1),
        unit("ns", 1_000),
        unit("us", 1_000_000),
        unit("ms", 1_000_000_000),
        unit("s", 1_000_000_000_000),
    ];

    fn from_base(base: u64) -> Self {
        Self(base)
    }

    fn base(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Picoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ps", self.0)
    }
}

const fn unit(name: &'static str, worth: u64) -> Unit {
    Unit { name, worth, named: name }
}

/// The names of all profiles: those of the repository, and `zero`.
#[must_use]
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = super::builtin::PROFILES.iter().map(|(name, _)| *name).chain([ZERO]).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The profile called `name`; a file where that has a slash or ends in `.toml`.
///
/// # Errors
///
/// [`ConfigError`] where there is none, or where something is wrong in it; only then it names a file.
pub fn load(name: &str) -> Result<Profile, ConfigError> {
    if name.contains('/') || name.ends_with(".toml") {
        // Whoever asks knows where it is named, and nothing is known of a line of it.
        let text =
            kumiki_config::error::read_file(Path::new(name)).map_err(|fault| ConfigError::new(fault.to_string()))?;
        return parse(name, &text);
    }
    match super::builtin::PROFILES.iter().find(|(known, _)| *known == name) {
        Some((name, text)) => parse(&format!("profiles/{name}.toml"), text),
        None if name == ZERO => Ok(Profile {
            title: "no CPU cost".to_owned(),
            about: "Only the protocols and the media take time.".to_owned(),
            ..Profile::default()
        }),
        None => Err(ConfigError::unknown(std::iter::empty::<&str>(), "profile", name, &names())),
    }
}

/// The profile that `text` is, called `file` in messages.
///
/// # Errors
///
/// [`ConfigError`]: the first thing that is wrong.
pub fn parse(file: &str, text: &str) -> Result<Profile, ConfigError> {
    let mut root = Node::parse(text).map_err(|fault| fault.in_file(file))?;
    fill_in(file, &mut root)?;
    let source = Source { keys: &ScenarioKeys, ..Source::new(file, &root) };
    let profile: Profile = root.read().map_err(|problem| problem.fault(&source, &[]))?;
    check(&profile).map_err(|fault| source.locate(fault))?;
    Ok(profile)
}

/// How many profiles may be like each other in a row; more are taken for a circle.
const LONGEST_ROW: usize = 8;

/// Gives `root` what it takes from the profile it is like, and that from the one it is like.
fn fill_in(file: &str, root: &mut Node) -> Result<(), ConfigError> {
    let mut next = model(root);
    for _ in 0..LONGEST_ROW {
        let Some(name) = next else { return Ok(()) };
        let text = super::builtin::PROFILES.iter().find(|(known, _)| *known == name);
        let (_, text) = text.ok_or_else(|| ConfigError::unknown(["like"], "profile", &name, &names()).in_file(file))?;
        let other = Node::parse(text).map_err(|fault| fault.in_file(&name))?;
        complete(root, &other, false);
        next = model(&other);
    }
    Err(ConfigError::at(["like"], "a profile that is, in the end, like itself").in_file(file))
}

fn check(profile: &Profile) -> Result<(), ConfigError> {
    for (name, cpu) in &profile.cpu {
        sourced::<Duration>(&["cpu", name, "switch"], &cpu.switch)?;
    }
    let cpus: Vec<&String> = profile.cpu.keys().collect();
    for (name, task) in &profile.task {
        if let Some(cpu) = &task.cpu
            && !profile.cpu.contains_key(cpu)
        {
            return Err(ConfigError::unknown(["task", name, "cpu"], "CPU", cpu, &cpus));
        }
        if task.batch == 0 {
            return Err(ConfigError::at(["task", name, "batch"], "a task that takes no inputs").expected("at least 1"));
        }
        let elsewhere = profile.task.iter().take_while(|(other, _)| *other != name);
        for (other, earlier) in elsewhere {
            if let Some(node) = task.nodes.iter().find(|node| earlier.nodes.contains(node)) {
                let path = ["task", name.as_str(), "nodes"];
                return Err(ConfigError::at(path, format!("{node:?} is in task {other:?} already")));
            }
        }
    }
    let works = Work::ALL.map(Work::name);
    for (node, prices) in &profile.price {
        for (work, price) in prices {
            if !works.contains(&work.as_str()) {
                return Err(ConfigError::unknown(["price", node, work], "kind of work", work, &works));
            }
            sourced::<Picoseconds>(&["price", node, work], price)?;
        }
    }
    if let Some(wait) = &profile.transfer.wait {
        sourced::<Duration>(&["transfer", "wait"], wait)?;
    }
    if let Some(wait) = &profile.transfer.wait_octet {
        sourced::<Picoseconds>(&["transfer", "wait_octet"], wait)?;
    }
    super::variation::check(profile)?;
    adapter(&profile.adapter)?;
    for (name, memory) in &profile.memory {
        check_memory(name, memory)?;
    }
    Ok(())
}

fn adapter(adapter: &Adapter) -> Result<(), ConfigError> {
    for (key, value) in [("fetch", &adapter.fetch), ("start", &adapter.start), ("interrupt", &adapter.interrupt)] {
        if let Some(value) = value {
            sourced::<Duration>(&["adapter", key], value)?;
        }
    }
    for (key, value, known) in
        [("commands", &adapter.commands, ["chained", "single"]), ("notice", &adapter.notice, ["deferred", "interrupt"])]
    {
        if let Some(value) = value
            && !known.contains(&value.as_str())
        {
            return Err(ConfigError::unknown(["adapter", key], "way", value, &known));
        }
    }
    if adapter.commands.as_deref() == Some("single") && adapter.start.is_none() {
        let problem = "DMA is started by the CPU for each PDU, at no stated cost";
        return Err(ConfigError::at(["adapter", "commands"], problem).expected("a `start` beside it"));
    }
    if adapter.notice.as_deref() == Some("interrupt") && adapter.interrupt.is_none() {
        let problem = "each received PDU interrupts, at no stated cost";
        return Err(ConfigError::at(["adapter", "notice"], problem).expected("an `interrupt` beside it"));
    }
    if adapter.queue == Some(0) {
        return Err(ConfigError::at(["adapter", "queue"], "an adapter that takes no PDU").expected("at least 1"));
    }
    Ok(())
}

fn check_memory(name: &str, memory: &Memory) -> Result<(), ConfigError> {
    if !matches!(name, "send" | "receive") {
        return Err(ConfigError::unknown(["memory", name], "memory", name, &["send", "receive"]));
    }
    let page = sourced::<Octets>(&["memory", name, "page"], &memory.page)?;
    let size = sourced::<Octets>(&["memory", name, "size"], &memory.size)?;
    if page.count() == 0 || memory.cluster == 0 {
        let key = if memory.cluster == 0 { "cluster" } else { "page" };
        return Err(ConfigError::at(["memory", name, key], "nothing fits into that").expected("more than 0"));
    }
    if page.count().saturating_mul(memory.cluster.into()) > size.count() {
        return Err(ConfigError::at(["memory", name, "size"], "smaller than one cluster of pages")
            .found(format!("{:?}", memory.size.value)));
    }
    for (key, value, known) in
        [("hand_out", &memory.hand_out, ["free", "cyclic"]), ("wake_up", &memory.wake_up, ["one", "all"])]
    {
        if !known.contains(&value.as_str()) {
            return Err(ConfigError::unknown(["memory", name, key], "choice", value, &known));
        }
    }
    if memory.share.is_some() && memory.percent().is_none() {
        let fault = ConfigError::at(["memory", name, "share"], "not a whole number of per cent from 1 to 100");
        return Err(fault.expected("a share such as \"25 %\""));
    }
    Ok(())
}

/// A value with its unit and a source.
fn sourced<Q: Quantity>(path: &[&str], sourced: &Sourced) -> Result<Q, ConfigError> {
    let inside = |key| path.iter().copied().chain([key]);
    if sourced.from.trim().is_empty() {
        return Err(ConfigError::at(inside("from"), "a value must say where it comes from")
            .expected("a source, \"fitted: ...\" or \"assumed: ...\""));
    }
    parse_quantity(&sourced.value).map_err(|invalid| ConfigError::quantity(inside("value"), &invalid))
}
