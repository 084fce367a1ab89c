//! The simulator against ns-3: the same worlds, seconds of CPU side by side.
//!
//! | world | hosts and lines | TCP |
//! |---|---|---|
//! | `pair` | two hosts, 135 Mb/s, 1 ms round trip, MTU 8232 | 60 connections, buffers of 16384 octets, 12 s |
//! | `dumbbell` | a thousand pairs behind edge and core routers, 10 Gb/s between, 20 ms, MTU 1500 | buffers of 65536 octets |
//!
//! NewReno, an acknowledgment for every second segment, window scaling, SACK, timestamps, writes of 8192 octets without
//! Nagle. Each run is a process of its own, so that its memory and its CPU seconds, construction included, are its own.
//! Runs of the two alternate, and of each the median counts. ns-3 is the one of Debian's packages; its half is
//! `rivals/ns3.cc`, built when the benchmark starts.
//!
//! The two do not send the same segments. ns-3 sends what is left of a write as it is, and Kumiki, as BSD does, fills a
//! segment from the next write where there is one. So CPU seconds for each packet on a line stand beside the totals.

mod rival;
mod topology;

use std::process::Command;

use comfy_table::{CellAlignment, Table, presets};
use kumiki_graph::{Duration, Instant};
use kumiki_lab::workload::Sink;
use kumiki_link::Rate;
use serde::{Deserialize, Serialize};

use crate::load::cpu_s;

/// Which world.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Shape {
    /// Two hosts on a line.
    Pair,
    /// A pair of hosts for each connection, behind routers.
    Dumbbell,
}

/// What is left of a write that does not fill a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Writes {
    /// Goes at once.
    Eager,
    /// Waits to be filled (Nagle).
    Full,
}

/// One run.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Parameters {
    /// Which world
    #[arg(long, default_value = "pair")]
    shape: Shape,
    /// Bottleneck, in Mb/s
    #[arg(long, default_value_t = 135)]
    rate_mbps: u64,
    /// Round-trip propagation, in microseconds
    #[arg(long, default_value_t = 1000)]
    rtt_us: u64,
    /// MTU, in octets
    #[arg(long, default_value_t = 8232)]
    mtu: u32,
    /// Socket buffers, in octets
    #[arg(long, default_value_t = 16_384)]
    window: u32,
    /// Connections
    #[arg(long, default_value_t = 60)]
    flows: u32,
    /// Not measured at the start, in milliseconds
    #[arg(long, default_value_t = 2000)]
    warm_ms: u64,
    /// Measured, in milliseconds
    #[arg(long, default_value_t = 10_000)]
    measured_ms: u64,
    /// What is left of a write that does not fill a segment (Kumiki only)
    #[arg(long, default_value = "eager")]
    writes: Writes,
    /// Of the random numbers (Kumiki only)
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Let each connection keep a record of what it does and what holds it back, as the lab has it (Kumiki only)
    #[arg(long)]
    record: bool,
    /// How many cores run it, at most (Kumiki only)
    #[arg(long, default_value_t = 1)]
    cores: usize,
}

impl Parameters {
    /// testbed (b'): 60 connections between two hosts.
    const fn pair() -> Self {
        Self {
            shape: Shape::Pair,
            rate_mbps: 135,
            rtt_us: 1000,
            mtu: 8232,
            window: 16_384,
            flows: 60,
            warm_ms: 2000,
            measured_ms: 10_000,
            writes: Writes::Eager,
            seed: 1,
            record: false,
            cores: 1,
        }
    }

    /// testbed (c), shortened, with `flows` of its thousand connections.
    const fn dumbbell(flows: u32, warm_ms: u64, measured_ms: u64) -> Self {
        Self {
            shape: Shape::Dumbbell,
            rate_mbps: 10_000,
            rtt_us: 20_000,
            mtu: 1500,
            window: 65_536,
            flows,
            warm_ms,
            measured_ms,
            ..Self::pair()
        }
    }

    fn rate(&self) -> Rate {
        Rate::bits_per_second(self.rate_mbps * 1_000_000)
    }

    fn rtt(&self) -> Duration {
        Duration::from_micros(self.rtt_us)
    }

    /// Waiting room of every line, in packets.
    fn queue(&self) -> u64 {
        let wanted = 2 * u64::from(self.flows) * u64::from(self.window) / u64::from(self.mtu) + 64;
        wanted.clamp(100, 200_000)
    }

    /// As both programs take them.
    fn arguments(&self) -> Vec<String> {
        let shape = match self.shape {
            Shape::Pair => "pair",
            Shape::Dumbbell => "dumbbell",
        };
        [
            ("shape", shape.to_owned()),
            ("rtt-us", self.rtt_us.to_string()),
            ("mtu", self.mtu.to_string()),
            ("window", self.window.to_string()),
            ("flows", self.flows.to_string()),
            ("warm-ms", self.warm_ms.to_string()),
            ("measured-ms", self.measured_ms.to_string()),
        ]
        .map(|(name, value)| format!("--{name}={value}"))
        .to_vec()
    }
}

/// What a run printed.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SimOutcome {
    goodput_mbps: f64,
    jain: f64,
    events: u64,
    link_packets: u64,
    cpu_build_s: f64,
    cpu_run_s: f64,
    /// By the clock; ns-3 does not say.
    #[serde(default)]
    run_s: f64,
    #[serde(default)]
    parts: usize,
    peak_mb: f64,
}

impl SimOutcome {
    const fn cpu(&self) -> f64 {
        self.cpu_build_s + self.cpu_run_s
    }

    fn ns_per_packet(&self) -> f64 {
        self.cpu_run_s * 1e9 / self.link_packets.max(1) as f64
    }
}

/// One run of ours, in this process; prints its outcome.
pub(crate) fn one(parameters: &Parameters) -> Result<(), String> {
    let outcome = run(parameters)?;
    let line = serde_json::to_string(&outcome).map_err(|why| why.to_string())?;
    println!("{line}");
    Ok(())
}

fn run(parameters: &Parameters) -> Result<SimOutcome, String> {
    let topology::BuiltWorld { mut world, sinks } =
        topology::build(parameters).map_err(|graph_error| graph_error.to_string())?;
    world.start().map_err(|(host, graph_error)| format!("{host}: {graph_error}"))?;
    world.set_cores(parameters.cores);
    let cpu_build_s = cpu_s();
    #[expect(clippy::disallowed_methods, reason = "how long a run takes by the clock on the wall is measured")]
    let begun = std::time::Instant::now();
    let warm = Instant::ZERO + Duration::from_millis(parameters.warm_ms);
    world.run_until(warm);
    let before = received(&mut world, &sinks);
    world.run_until(warm + Duration::from_millis(parameters.measured_ms));
    let cpu_run_s = cpu_s() - cpu_build_s;
    let run_s = begun.elapsed().as_secs_f64();
    let after = received(&mut world, &sinks);
    let flows: Vec<f64> =
        after.iter().enumerate().map(|(i, octets)| (octets - before.get(i).unwrap_or(&0)) as f64).collect();
    let sum: f64 = flows.iter().sum();
    let squares: f64 = flows.iter().map(|octets| octets * octets).sum();
    let link_packets = world
        .media()
        .flat_map(|(_, counters)| counters)
        .filter(|(name, _)| name.ends_with("_frames"))
        .map(|(_, count)| count)
        .sum();
    Ok(SimOutcome {
        goodput_mbps: sum * 8.0 / (parameters.measured_ms as f64 * 1e3),
        jain: if squares > 0.0 { sum * sum / (flows.len() as f64 * squares) } else { 0.0 },
        events: world.events(),
        link_packets,
        cpu_build_s,
        cpu_run_s,
        run_s,
        parts: world.parts(),
        peak_mb: peak_megabytes(),
    })
}

/// Octets that each connection has brought.
fn received(world: &mut kumiki_sim::World, sinks: &[kumiki_sim::HostId]) -> Vec<u64> {
    let mut all = Vec::new();
    for &host in sinks {
        let sink = world.host(host).and_then(|host| {
            let node = host.graph.node("program")?;
            host.graph.protocol::<Sink>(node)
        });
        all.extend(sink.into_iter().flat_map(Sink::received).map(|r| r.octets));
    }
    all
}

/// The most memory that this process has had, in megabytes of 2^20 octets; 0 where the system does not say.
fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().split(' ').next()?.parse().ok());
    kilobytes.map_or(0.0, |kilobytes: f64| kilobytes / 1024.0)
}

/// What to compare.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Comparison {
    /// Runs of each; the median counts
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Smaller worlds
    #[arg(long)]
    quick: bool,
    /// Only Kumiki, where ns-3 is not wanted
    #[arg(long)]
    alone: bool,
    /// One JSON object for each world instead of tables
    #[arg(long)]
    json: bool,
}

struct World {
    name: String,
    parameters: Parameters,
    /// Only to see how cost grows with the number of connections.
    alone: bool,
}

impl Comparison {
    fn worlds(&self) -> Vec<World> {
        let world = |name: &str, parameters, alone| World { name: name.to_owned(), parameters, alone };
        let mut pair = Parameters::pair();
        let (warm, measured) = if self.quick { (300, 100) } else { (1100, 400) };
        if self.quick {
            pair.measured_ms = 3000;
        }
        let flows = if self.quick { 100 } else { 1000 };
        let mut worlds = vec![
            world("(b') pair", pair, self.alone),
            world("(c) dumbbell", Parameters::dumbbell(flows, warm, measured), self.alone),
        ];
        // How cost grows with connections: fewer of them run longer, for about as many packets.
        for flows in [1, 10, 100] {
            let measured = if self.quick { 1000 } else { 40_000 / u64::from(flows) };
            let parameters = Parameters::dumbbell(flows, 1100, measured);
            worlds.push(world(&format!("dumbbell of {flows}"), parameters, true));
        }
        worlds
    }
}

/// Runs the comparison and prints it.
pub(crate) fn compare(comparison: &Comparison) -> Result<(), String> {
    let worlds = comparison.worlds();
    let rival = if comparison.alone { None } else { Some(rival::RivalProgram::new()?) };
    let own = std::env::current_exe().map_err(|why| why.to_string())?;
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(["world", "engine", "CPU s", "ratio", "packets", "ns/packet", "goodput Mb/s", "Jain", "MB"]);
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for world in &worlds {
        let mut ours = Vec::new();
        let mut theirs = Vec::new();
        for _ in 0..comparison.runs.max(1) {
            let mut command = Command::new(&own);
            command.arg("sim-one").args(world.parameters.arguments());
            command.arg(format!("--rate-mbps={}", world.parameters.rate_mbps));
            ours.push(outcome(&mut command)?);
            if let Some(rival) = rival.as_ref().filter(|_| !world.alone) {
                let mut command = rival.command();
                command.args(world.parameters.arguments());
                command.arg(format!("--rate={}Mbps", world.parameters.rate_mbps));
                theirs.push(outcome(&mut command)?);
            }
        }
        let ours = median(ours).ok_or("no run")?;
        let theirs = median(theirs);
        if comparison.json {
            let line = serde_json::json!({
                "world": world.name,
                "kumiki": ours,
                "ns3": theirs,
            });
            println!("{line}");
            continue;
        }
        let ratio = theirs.as_ref().map(|theirs| format!("1/{:.1}", theirs.cpu() / ours.cpu()));
        add(&mut table, &world.name, "kumiki", &ours, ratio);
        if let Some(theirs) = &theirs {
            add(&mut table, "", "ns-3", theirs, None);
        }
    }
    if !comparison.json {
        println!("{table}");
    }
    Ok(())
}

fn add(table: &mut Table, world: &str, engine: &str, outcome: &SimOutcome, ratio: Option<String>) {
    table.add_row([
        world.to_owned(),
        engine.to_owned(),
        format!("{:.3}", outcome.cpu()),
        ratio.unwrap_or_default(),
        outcome.link_packets.to_string(),
        format!("{:.0}", outcome.ns_per_packet()),
        format!("{:.2}", outcome.goodput_mbps),
        format!("{:.4}", outcome.jain),
        format!("{:.0}", outcome.peak_mb),
    ]);
}

fn outcome(command: &mut Command) -> Result<SimOutcome, String> {
    let program = command.get_program().display().to_string();
    let output = command.output().map_err(|why| format!("{program}: {why}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{program} failed: {}", said.trim()));
    }
    let line = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(line.trim()).map_err(|why| format!("{program} printed {line:?}: {why}"))
}

/// The outcome with the middle CPU time.
fn median(mut outcomes: Vec<SimOutcome>) -> Option<SimOutcome> {
    outcomes.sort_by(|a, b| a.cpu().total_cmp(&b.cpu()));
    let middle = outcomes.len() / 2;
    (!outcomes.is_empty()).then(|| outcomes.swap_remove(middle))
}
