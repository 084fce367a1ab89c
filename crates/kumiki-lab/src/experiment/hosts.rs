//! From a host in a scenario and its profile to a host in the world.

pub(super) mod in_world;

use std::collections::BTreeMap;

use kumiki_graph::ledger::{HandOut, Ledger, Pages, WakeUp};
use kumiki_graph::{DeviceId, Duration, Graph, Pool, Prices, Service, TaskId, Work};
use kumiki_sim::{AdapterConfig, Commands, CpuConfig, Host, Notice, TaskConfig};

use super::fault::{ConfigError, fault, quantity, unknown};
use super::media::Random;
use super::programs::Programs;
use super::protocols::{self, NodePlace};
use crate::profile::{Memory, Profile, Sourced};
use crate::scenario;
use crate::workload::{Idle, idle};
use kumiki_config::quantity::Octets;

/// A host as it goes into the world, and where its parts are.
pub(super) struct Built {
    /// The host.
    pub host: Host,
    /// Its devices by name.
    pub devices: BTreeMap<String, DeviceId>,
}

/// The graph of a host: for each node the layers below it, uppermost nodes first where a chain says so.
#[must_use]
pub(super) fn layers(graph: &scenario::Graph) -> Vec<(String, Vec<String>)> {
    match graph {
        scenario::Graph::Chain(chain) => {
            let pairs = chain.iter().zip(chain.iter().skip(1));
            pairs.map(|(upper, lower)| (upper.clone(), vec![lower.clone()])).collect()
        }
        scenario::Graph::Below(below) => below.iter().map(|(node, below)| (node.clone(), below.clone())).collect(),
    }
}

/// What the hosts of an experiment share.
pub(super) struct Plan<'a> {
    /// The programs that the load puts on top, by host and node; taken as they are placed.
    pub programs: &'a mut Programs,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Keep traces of connections.
    pub trace: bool,
    /// How often the host has begun before: another draws other numbers.
    pub life: u64,
    /// How many packets that have come the host holds at most, where its profile has no memory for them; without, as
    /// many as come.
    pub most_held: Option<u32>,
}

/// Builds the host `name`.
///
/// # Errors
/// A [`ConfigError`] whose path begins at the host's keys.
pub(super) fn build(
    name: &str,
    spec: &scenario::Host,
    profile: &Profile,
    plan: &mut Plan<'_>,
) -> Result<Built, ConfigError> {
    let missing = || fault(&[], "it has no graph, nor is it like a host that has one");
    let layers = layers(spec.graph.as_ref().ok_or_else(missing)?);
    let mut graph = Graph::new(plan.seed, super::media::seed_of(plan.life, name, Random::Host));
    if let Some(octets) = &spec.free_below {
        let octets = quantity::<Octets>(&["free_below"], octets)?.count();
        graph.set_free_below(u32::try_from(octets).unwrap_or(u32::MAX));
    }
    graph.set_paths(spec.paths.unwrap_or(true));
    let tasks = Tasks::add(&mut graph, profile);
    let mut nodes = BTreeMap::new();
    for (node, below) in &layers {
        let protocol = protocol(name, node, below, spec, plan)?;
        let task = tasks.of(node, spec.kind_of(node));
        nodes.insert(node.clone(), graph.add_node(node, task, protocol).map_err(graph_error)?);
    }
    let devices = add_devices(&layers, &mut graph)?;
    for (upper, below) in &layers {
        for lower in below {
            graph.connect(upper, lower).map_err(graph_error)?;
        }
    }
    let mut known = nodes.keys().chain(devices.keys()).map(String::as_str);
    let stray = spec.settings.keys().find(|key| !nodes.contains_key(*key) && !devices.contains_key(*key));
    if let Some(key) = stray {
        let mut names: Vec<&str> = vec!["profile", "prices", "free_below", "paths", "like", "graph", "kind"];
        names.extend(&mut known);
        return Err(unknown(&[key], "key or node", key, &names));
    }
    for (node, id) in &nodes {
        let prices = &profile.price;
        if let Some(prices) = prices.get(node).or_else(|| prices.get(spec.kind_of(node))) {
            graph.set_prices(*id, price_list(prices)?);
        }
    }
    for (key, memory) in &profile.memory {
        let pool = match key.as_str() {
            "send" => Pool::Send,
            "receive" => Pool::Receive,
            other => {
                return Err(unknown(&["profile", "memory"], "memory", other, &["send", "receive"]));
            }
        };
        graph.set_ledger(pool, ledger(memory)?);
    }
    if let Some(clusters) = plan.most_held.filter(|_| !profile.memory.contains_key("receive")) {
        let (hand_out, wake_up) = (HandOut::Free, WakeUp::One);
        let pages = Pages { page: 1 << 16, cluster: 1, clusters, hand_out, wake_up, share_percent: None };
        graph.set_ledger(Pool::Receive, Ledger::new(pages));
    }
    let mut host = Host::new(name, graph);
    tasks.set(&mut host)?;
    for device in devices.values() {
        host.set_adapter(*device, adapter(&profile.adapter)?);
    }
    Ok(Built { host, devices })
}

#[expect(clippy::needless_pass_by_value, reason = "a function for map_err")]
fn graph_error(graph_error: kumiki_graph::GraphError) -> ConfigError {
    fault(&["graph"], graph_error.to_string())
}

fn protocol(
    host: &str,
    node: &str,
    below: &[String],
    spec: &scenario::Host,
    plan: &mut Plan<'_>,
) -> Result<Box<dyn kumiki_graph::Protocol>, ConfigError> {
    if let Some(program) = plan.programs.take(host, node) {
        return Ok(program);
    }
    let kind = spec.kind_of(node);
    if idle::NAMES.contains(&kind) {
        return Ok(Box::new(Idle));
    }
    let empty = toml::Table::new();
    let settings = spec.settings.get(node).unwrap_or(&empty);
    let place = NodePlace { host: spec, below, trace: plan.trace };
    let built = protocols::build(kind, settings, place).map_err(|fault| fault.under(&[node]))?;
    built.ok_or_else(|| {
        let known: Vec<&str> = kumiki_stack::kinds().collect();
        let what = "kind of node (programs are named by the `from` and `to` of loads, and what a layer with a name of its own is by `kind`)";
        unknown(&["graph"], what, kind, &known)
    })
}

/// What no node stands for is a device.
fn add_devices(layers: &[(String, Vec<String>)], graph: &mut Graph) -> Result<BTreeMap<String, DeviceId>, ConfigError> {
    let mut devices = BTreeMap::new();
    for lower in layers.iter().flat_map(|(_, below)| below) {
        let is_node = layers.iter().any(|(node, _)| node == lower);
        if !is_node && !devices.contains_key(lower) {
            devices.insert(lower.clone(), graph.add_device(lower, Service::UNIT_DATA).map_err(graph_error)?);
        }
    }
    Ok(devices)
}

/// The task for the nodes that no task of the profile names.
const REST: &str = "host";

/// The tasks of a host, as its profile has them.
struct Tasks<'a> {
    profile: &'a Profile,
    ids: BTreeMap<&'a str, TaskId>,
}

impl<'a> Tasks<'a> {
    fn add(graph: &mut Graph, profile: &'a Profile) -> Self {
        let names = profile.task.keys().map(String::as_str).chain([REST]);
        let ids = names.map(|name| (name, graph.add_task(name))).collect();
        Self { profile, ids }
    }

    /// The task of the node `name`: the one that has it by its name, or else by its kind.
    fn of(&self, name: &str, kind: &str) -> TaskId {
        let named = |wanted: &str| {
            let mut tasks = self.profile.task.iter();
            tasks.find(|(_, task)| task.nodes.iter().any(|node| node == wanted))
        };
        let named = named(name).or_else(|| named(kind));
        let name = named.map_or(REST, |(name, _)| name.as_str());
        self.ids.get(name).copied().unwrap_or(TaskId(0))
    }

    /// Gives `host` the CPUs, and its tasks their places on them.
    fn set(&self, host: &mut Host) -> Result<(), ConfigError> {
        let mut cpus = Vec::new();
        for (name, cpu) in &self.profile.cpu {
            let switch = duration(&["profile", "cpu", name, "switch"], &cpu.switch)?;
            cpus.push(CpuConfig { name: name.clone(), switch });
        }
        if cpus.is_empty() {
            cpus.push(CpuConfig { name: "cpu".to_owned(), switch: Duration::ZERO });
        }
        let names: Vec<String> = cpus.iter().map(|cpu| cpu.name.clone()).collect();
        host.set_cpus(cpus);
        for (name, task) in &self.profile.task {
            let cpu = match &task.cpu {
                None => 0,
                Some(wanted) => names.iter().position(|cpu| cpu == wanted).ok_or_else(|| {
                    let known: Vec<&str> = names.iter().map(String::as_str).collect();
                    unknown(&["profile", "task", name, "cpu"], "CPU", wanted, &known)
                })?,
            };
            let config = TaskConfig { cpu, priority: task.priority, batch: task.batch };
            if let Some(id) = self.ids.get(name.as_str()) {
                host.set_task(*id, config);
            }
        }
        Ok(())
    }
}

fn duration(path: &[&str], sourced: &Sourced) -> Result<Duration, ConfigError> {
    quantity(path, &sourced.value)
}

fn price_list(prices: &BTreeMap<String, Sourced>) -> Result<Prices, ConfigError> {
    let mut list = Prices::default();
    for (name, price) in prices {
        let path = ["profile", "price", name.as_str()];
        let known = Work::ALL.into_iter().find(|work| work.name() == name);
        let work = known.ok_or_else(|| {
            let names: Vec<&str> = Work::ALL.into_iter().map(Work::name).collect();
            unknown(&path, "kind of work", name, &names)
        })?;
        list.set(work, price.picoseconds().map_err(|invalid| ConfigError::quantity(path, &invalid))?);
    }
    Ok(list)
}

fn ledger(memory: &Memory) -> Result<Ledger, ConfigError> {
    let path = |key| ["profile", "memory", key];
    let octets = |key, sourced: &Sourced| quantity::<Octets>(&path(key), &sourced.value).map(Octets::count);
    let (page, size) = (octets("page", &memory.page)?, octets("size", &memory.size)?);
    let per_cluster = page.saturating_mul(u64::from(memory.cluster));
    let clusters = size.checked_div(per_cluster).and_then(|clusters| u32::try_from(clusters).ok());
    let (Ok(page), Some(clusters)) = (u32::try_from(page), clusters) else {
        return Err(fault(&path("page"), "a cluster must hold at least one octet, and a page at most 4 GiB"));
    };
    let hand_out = match memory.hand_out.as_str() {
        "free" => HandOut::Free,
        "cyclic" => HandOut::Cyclic,
        other => {
            return Err(unknown(&path("hand_out"), "order", other, &["free", "cyclic"]));
        }
    };
    let wake_up = match memory.wake_up.as_str() {
        "one" => WakeUp::One,
        "all" => WakeUp::All,
        other => return Err(unknown(&path("wake_up"), "rule", other, &["one", "all"])),
    };
    Ok(Ledger::new(Pages {
        page,
        cluster: memory.cluster,
        clusters,
        hand_out,
        wake_up,
        share_percent: memory.percent(),
    }))
}

fn adapter(adapter: &crate::profile::Adapter) -> Result<AdapterConfig, ConfigError> {
    let path = |key| ["profile", "adapter", key];
    let mut config = AdapterConfig::default();
    let time = |key, sourced: &Option<Sourced>| match sourced {
        Some(sourced) => duration(&path(key), sourced),
        None => Ok(Duration::ZERO),
    };
    config.commands = if adapter.commands.as_deref() == Some("single") {
        Commands::Single { start: time("start", &adapter.start)? }
    } else {
        Commands::Chained { fetch: time("fetch", &adapter.fetch)? }
    };
    if adapter.notice.as_deref() == Some("interrupt") {
        config.notice = Notice::Interrupt { cost: time("interrupt", &adapter.interrupt)? };
    }
    if let Some(queue) = adapter.queue {
        config.queue = usize::try_from(queue).unwrap_or(usize::MAX);
    }
    Ok(config)
}
