//! One run of one scenario: builds the world, lets it run, and measures.

mod away;
mod begin;
mod changing;
pub(crate) mod clocks;
mod counters;
mod cpus;
mod ends;
mod failed;
mod fair;
mod fault;
mod flows;
mod full;
mod given_up;
mod held;
mod hosts;
mod idle;
mod lacking;
mod lines;
mod live;
mod load;
mod marks;
mod measure;
mod media;
mod occupied;
mod outages;
mod pace;
mod path;
mod power;
mod presence;
mod programs;
mod protocols;
mod real;
mod rings;
mod series;
mod steps;
mod taps;
mod units;
mod window;

use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use kumiki_graph::{DeviceId, Duration, Graph, Instant, Protocol};
use kumiki_sim::{HostId, Standstill, World};

use crate::capture::trace::{self, Connection};
use crate::capture::{Captured, Layers, Spool};
use crate::profile::Profile;
use crate::rows::Counters;
use crate::scenario::{Host, Runs, Scenario};
use crate::topology::Topology;
use crate::workload::UdpSink;
pub use changing::{LineState, LineUpdate, LiveLine};
pub(crate) use counters::OF_NODE;
pub use counters::{COUNTERS, CounterGroup, CounterMeaning, unit_of_counter};
use fault::ConfigError;
pub use flows::{Flow, Sender};
use hosts::in_world::{HostsInWorld, HostsPlan, profiles_by_host};
pub use kumiki_inet::tcp::Limit;
use kumiki_media::Waits;
use lines::Lines;
pub use live::{LeftPacket, LiveWorld};
use load::Load;
pub use measure::{Bound, LoadResult, Measured, Unconnected};
use occupied::AllOccupied;
use outages::Outages;
use pace::Pace;
use power::Power;
use presence::Presence;
pub use real::RealHost;
pub use series::{Sample, SampleOf, Samples};
pub use steps::GoodputSteps;
use taps::Taps;
pub use units::Units;
pub use window::{ControlShare, WindowUse};

/// What else a run should bring.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Put on record what crosses these access points.
    pub captures: Layers,
    /// Keep traces of connections.
    pub traces: bool,
    /// Keep the goodput of so many equal parts of the measured time.
    pub parts: Option<u32>,
    /// It is run in real time ([`Experiment::live`]), so hosts may be real.
    pub live: bool,
}

impl Options {
    /// How much may wait where nothing is said; without, as much as comes.
    fn most_waiting(&self) -> Option<u32> {
        self.live.then_some(live::MOST_WAITING)
    }
}

/// The graph of one host as a scenario would describe it, with these `nodes` beside those that are made by
/// their kinds, and the host's devices by name: for runs in real time. Nothing has a price.
///
/// # Errors
/// A [`ConfigError`] whose path begins at the host's keys.
pub fn graph_of_host(
    spec: &Host,
    nodes: Vec<(&str, Box<dyn Protocol>)>,
    seed: u64,
) -> Result<(Graph, BTreeMap<String, DeviceId>), ConfigError> {
    const NAME: &str = "host";
    let mut programs = programs::Programs::default();
    for (node, program) in nodes {
        programs.put(NAME, node, program);
    }
    let mut plan = hosts::Plan { programs: &mut programs, seed, trace: false, life: 0, most_held: None };
    let built = hosts::build(NAME, spec, &Profile::default(), &mut plan)?;
    Ok((built.host.graph, built.devices))
}

/// An experiment that has been built and not yet run.
pub struct Experiment {
    world: World,
    hosts: BTreeMap<String, HostId>,
    loads: BTreeMap<String, Load>,
    /// The names of the loads in the order of the file.
    order: Vec<String>,
    times: RunTimes,
    /// In how many parts of the measured time the goodput is kept.
    parts: Option<u32>,
    power: Power,
    lines: Lines,
    outages: Outages,
    occupied: AllOccupied,
    /// Who takes note of when packets of exchanges wait, where there are such.
    waits: Option<Arc<Waits>>,
    captured: Vec<Captured>,
    /// The hosts that are real, in the order of the ways out of the world.
    real: Vec<RealHost>,
    /// The first address of each host that speaks IP.
    known: Vec<(String, IpAddr)>,
    /// The loads that write or read at real hosts.
    left_out: Vec<String>,
    /// Of a world in real time.
    live_lines: BTreeMap<String, LiveLine>,
}

/// When a run is measured.
struct RunTimes {
    /// What happens before this is not measured.
    warm_up: Duration,
    /// How long is measured, or the longest that loads with an end may take.
    duration: Duration,
    /// How often values over time are taken.
    interval: Option<Duration>,
}

impl RunTimes {
    /// Those of `[run]`.
    ///
    /// # Errors
    /// A [`ConfigError`] whose path begins at the top of the scenario.
    fn of(runs: &Runs) -> Result<Self, ConfigError> {
        let time = |key, text: &String| fault::quantity(&["run", key], text);
        Ok(Self {
            warm_up: runs.warm_up.as_ref().map(|text| time("warm_up", text)).transpose()?.unwrap_or_default(),
            duration: time("duration", &runs.duration)?,
            interval: runs.interval.as_ref().map(|text| time("interval", text)).transpose()?,
        })
    }
}

/// What a run brought.
pub struct Run {
    /// The figures.
    pub measured: Measured,
    /// When it was over.
    pub ended: Instant,
    /// In how many parts the world was run, each on a core of its own.
    pub parts: usize,
    /// What crossed the access points on record, by host; of each host, even if nothing did.
    pub captured: Vec<Captured>,
    /// The traces of connections: first those of the ends that write, load by load and in the order of the flows, then
    /// the others, by host.
    pub traces: Vec<Connection>,
    /// Values over time, where they were asked for.
    pub samples: Option<Samples>,
    /// The goodput of the parts of the measured time, where it was asked for.
    pub course: Option<GoodputSteps>,
    /// Set where the world stopped at one instant because something went round without time passing; the figures then
    /// mean nothing.
    pub standstill: Option<Standstill>,
}

impl Experiment {
    /// Builds what `scenario` describes. All of its input is checked here; a built experiment runs.
    ///
    /// # Errors
    /// A [`ConfigError`] whose path begins at the top of the scenario.
    pub fn build(
        scenario: &Scenario,
        profiles: &BTreeMap<String, Profile>,
        seed: u64,
        options: &Options,
    ) -> Result<Self, ConfigError> {
        let (own, left_out) = options.live.then(|| scenario.without_loads_of_real_hosts()).unzip();
        let left_out = left_out.unwrap_or_default();
        if !options.live && scenario.load.is_empty() && scenario.real_hosts().next().is_none() {
            return Err(ConfigError::new("nothing to do")
                .expected("a load, such as [load.bulk], or for `kumiki live` a host that is real"));
        }
        let scenario = &*clocks::drawn(own.as_ref().unwrap_or(scenario), seed);
        let by_host = profiles_by_host(scenario, profiles, seed, options.most_waiting())?;
        let (loads, mut programs) = programs::of_scenario(scenario, &Topology::of(scenario), &by_host)?;
        programs.idle_at_ends_of(&left_out, scenario);
        let mut world = World::new();
        world.set_rounds(rounds(scenario.host.len()));
        let mut plan = HostsPlan { scenario, profiles, by_host: &by_host, programs, seed, options };
        let hosts = HostsInWorld::add(&mut plan, &mut world)?;
        let servers: BTreeSet<SocketAddr> = loads.values().flat_map(|load| &load.servers).copied().collect();
        let waits = (!servers.is_empty()).then(|| Waits::of(servers));
        let mut occupied = AllOccupied::of(&loads);
        let mut ends = media::LineEnds {
            hosts: &hosts.devices,
            outside: &hosts.outside,
            switches: &media::add_switches(scenario, &mut world)?,
            profiles: &by_host,
            seed,
            most_waiting: options.most_waiting(),
            live: options.live,
            waits: waits.as_ref(),
            occupied: &mut occupied,
        };
        let live_lines = media::add_links(scenario, &mut ends, &mut world)?;
        rings::add_rings(scenario, &mut ends, &mut world)?;
        world
            .start()
            .map_err(|(host, graph_error)| fault::fault(&["host", &host, "graph"], graph_error.to_string()))?;
        let (lines, outages) = (Lines::of(scenario, &loads)?, Outages::of(scenario, &loads)?);
        Ok(Self {
            world,
            hosts: hosts.ids,
            loads,
            order: scenario.loads().into_iter().map(|(name, _)| name.clone()).collect(),
            times: RunTimes::of(&scenario.run)?,
            parts: options.parts,
            power: hosts.power,
            lines,
            outages,
            occupied,
            waits,
            captured: hosts.captured,
            real: hosts.real,
            known: known(&scenario.host),
            left_out: left_out.into_iter().map(|(name, _)| name).collect(),
            live_lines,
        })
    }

    /// The world of it, and the hosts that are real, to be run in real time. Nothing is measured.
    #[must_use]
    pub fn live(self) -> LiveWorld {
        let Self { world, power, real, known, left_out, live_lines: lines, .. } = self;
        LiveWorld { world, power, real, known, left_out, lines }
    }

    /// The names of the queues whose length is followed, as rows have them.
    #[must_use]
    pub fn queues(&self) -> Vec<String> {
        self.world.queues().map(|(line, queue, _)| format!("{line}.{queue}")).collect()
    }

    /// What is counted, with what was counted so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        counters::of(&self.world)
    }

    /// Whether `place`, a `host.node`, reads datagrams, of whose streams there are more counters once they have come.
    #[must_use]
    pub fn hears_streams(&self, place: &str) -> bool {
        let of = |(host, node): (&str, &str)| {
            let host = self.world.host(*self.hosts.get(host)?)?;
            host.graph.protocol::<UdpSink>(host.graph.node(node)?)
        };
        place.split_once('.').and_then(of).is_some()
    }

    /// Runs it and measures.
    #[must_use]
    pub fn run(self) -> Run {
        self.run_on(1)
    }

    /// The same on up to so many cores, with what crosses the access points on record kept in files on the file system
    /// of `directory`, or in memory, of each PDU no more than the first `snaplen` octets, or all where that is 0; gives
    /// that as well, by host, of those with access points on record. In the run itself nothing of it is then.
    ///
    /// # Errors
    ///
    /// Those of the file system, which end the run.
    pub fn run_spooled(
        mut self,
        cores: usize,
        (snaplen, directory): (u32, Option<&Path>),
    ) -> io::Result<(Run, Vec<(String, Spool)>)> {
        let spool = |host: &Captured| (!host.taps.is_empty()).then(|| Spool::new(host, snaplen, directory)).transpose();
        let mut taps = Taps::new(self.captured.iter().map(spool).collect::<io::Result<_>>()?);
        let run = self.run_with(cores, &mut taps);
        let spools = taps.finish(&mut self.world)?;
        let spools = run.captured.iter().zip(spools).filter_map(|(host, spool)| Some((host.host.clone(), spool?)));
        let spools = spools.collect();
        Ok((run, spools))
    }

    /// The same on up to so many cores, where that is faster. What is looked at when a transfer begins and ends is
    /// looked at between two events, and so where one core runs all; a world that can not be
    /// [divided](World::set_cores) has one as well.
    #[must_use]
    pub fn run_on(mut self, cores: usize) -> Run {
        let mut run = self.run_with(cores, &mut Taps::default());
        for (HostId(number), seen) in self.world.take_tapped() {
            if let Some(host) = run.captured.get_mut(number) {
                host.seen.extend(seen);
            }
        }
        run
    }

    fn run_with(&mut self, cores: usize, taps: &mut Taps) -> Run {
        if self.loads.values().all(|load| load.bell.is_none()) {
            self.world.set_cores(cores);
        }
        let began = Instant::ZERO + self.times.warm_up;
        let end = began + self.times.duration;
        let mut watch = Watch::of(self, (began, end));
        let mut before = measure::Moment::default();
        if !self.times.warm_up.is_zero() {
            self.run_to(began, (&mut watch, taps), |world, end, go| !go(world, end));
            begin::begin(&mut self.world, &self.hosts, &self.loads);
            let parts = (&self.lines, &self.outages, &self.power);
            before = measure::Moment::begin(&self.world, &self.hosts, &self.loads, parts);
        }
        // What writes for a time is measured over all of it.
        if self.loads.values().all(|load| load.until_done) {
            self.run_until_done((began, end), (&mut watch, taps));
        } else {
            self.run_to(end, (&mut watch, taps), |world, end, go| !go(world, end));
        }
        let measured = self.measured((&before, began), &watch);
        let mut traces = trace::collect(&mut self.world);
        let loads: Vec<&Load> = self.order.iter().filter_map(|name| self.loads.get(name)).collect();
        flows::writing_first(&self.world, &self.hosts, &loads, &mut traces);
        let captured = core::mem::take(&mut self.captured);
        let standstill = self.world.standstill().cloned();
        let samples = watch.sampler.map(series::Sampler::finish);
        let course = watch.steps.map(steps::Steps::finish);
        let (ended, parts) = (self.world.now(), self.world.parts());
        Run { measured, ended, parts, captured, traces, samples, course, standstill }
    }

    /// Runs until all loads are done, and no longer than to `end`. Whether they are is looked at each so often from
    /// `began` on.
    fn run_until_done(&mut self, (began, end): (Instant, Instant), (watch, taps): (&mut Watch, &mut Taps)) {
        const EVERY: Duration = Duration::from_millis(10);
        let (hosts, loads) = (self.hosts.clone(), self.loads.clone());
        // The same moments whenever else somebody looks.
        let mut next = began;
        self.run_to(end, (watch, taps), |world, end, go| {
            loop {
                if world.now() >= next {
                    if loads.values().all(|load| measure::is_done(world, &hosts, load)) {
                        return true;
                    }
                    next += EVERY;
                }
                if world.now() >= end || world.standstill().is_some() {
                    return false;
                }
                if !go(world, next.min(end)) {
                    return true;
                }
            }
        });
    }

    /// What came since it `began` to be measured, when all was as `before`.
    fn measured(&self, (before, began): (&measure::Moment, Instant), watch: &Watch) -> Measured {
        let (world, hosts, loads) = (&self.world, &self.hosts, &self.loads);
        let after = measure::Moment::take(world, hosts, loads, (&self.lines, &self.outages, &self.power));
        let looked = (&watch.marks, &watch.presence, &watch.pace, &self.occupied, &watch.ends);
        Measured {
            without_power: self.power.without(world, hosts, began),
            ..Measured::between(world, hosts, loads, (before, &after), looked, self.waits.as_deref())
        }
    }

    /// Lets `run` go on to `end`, with a stop wherever something is to be looked at, until it says that all is done.
    /// What it has the world run by says whether to go on.
    fn run_to(
        &mut self,
        end: Instant,
        (watch, taps): (&mut Watch, &mut Taps),
        mut run: impl FnMut(&mut World, Instant, &mut dyn FnMut(&mut World, Instant) -> bool) -> bool,
    ) {
        loop {
            let next = watch
                .next()
                .into_iter()
                .chain(self.power.next())
                .chain(self.lines.next())
                .chain(self.occupied.next())
                .min()
                .map_or(end, |next| next.min(end));
            let (ends, of) = (&mut watch.ends, (&self.hosts, &self.loads));
            let is_done = run(&mut self.world, next, &mut |world, until| {
                taps.run(world, until, |world, until| ends.run(world, of, until))
            });
            watch.look(&self.world, &self.hosts, &self.loads);
            self.occupied.look(&self.world, &self.lines);
            let mut is_news = watch.marks.look(&self.world, &self.hosts, &self.loads);
            self.power.change(&mut self.world);
            self.lines.change(&self.world);
            is_news |= watch.presence.look(&self.world, &self.lines, &self.loads);
            if is_news {
                watch.pace.look(&self.world, &self.hosts, &self.loads);
            }
            if is_done || next >= end || self.world.standstill().is_some() {
                return;
            }
        }
    }
}

/// Who looks at a run while it goes on.
struct Watch {
    sampler: Option<series::Sampler>,
    steps: Option<steps::Steps>,
    marks: marks::Marks,
    presence: Presence,
    pace: Pace,
    ends: ends::TransferEnds,
}

impl Watch {
    /// Who looks at `experiment`, measured over that `time`.
    fn of(experiment: &Experiment, time: (Instant, Instant)) -> Self {
        let Experiment { loads, times, parts, .. } = experiment;
        Self {
            sampler: times.interval.map(series::Sampler::new),
            steps: parts.map(|parts| steps::Steps::new(time.0, times.duration, parts)),
            marks: marks::Marks::new(loads),
            presence: Presence::of(loads, time),
            pace: Pace::default(),
            ends: ends::TransferEnds::default(),
        }
    }

    /// When somebody wants to look.
    fn next(&self) -> Option<Instant> {
        let sampler = self.sampler.as_ref().map(series::Sampler::next);
        let steps = self.steps.as_ref().map(steps::Steps::next);
        let others = [self.marks.next(), self.presence.next()];
        sampler.into_iter().chain(steps).chain(others.into_iter().flatten()).min()
    }

    /// Lets those look whose time has come.
    fn look(&mut self, world: &World, hosts: &BTreeMap<String, HostId>, loads: &BTreeMap<String, Load>) {
        if let Some(sampler) = self.sampler.as_mut().filter(|it| world.now() >= it.next()) {
            sampler.take(world, hosts, (loads, &self.ends));
        }
        if let Some(steps) = self.steps.as_mut().filter(|it| world.now() >= it.next()) {
            steps.take(world, hosts, loads);
        }
    }
}

/// The addresses of each host that speaks IP, by name; those that it learns are not known.
fn known(specs: &BTreeMap<String, Host>) -> Vec<(String, IpAddr)> {
    let of_host = |(name, spec): (&String, &Host)| -> Vec<(String, IpAddr)> {
        real::all_addresses(spec).map(|(address, _)| (name.clone(), address)).collect()
    };
    specs.iter().flat_map(of_host).collect()
}

/// How many rounds an instant may have with so many hosts: on a shared medium each may call out to all at once, as when
/// all ask for an address.
fn rounds(hosts: usize) -> u64 {
    const FOR_EACH: u64 = 16;
    let hosts = hosts as u64;
    kumiki_sim::ROUNDS.saturating_add(hosts.saturating_mul(hosts).saturating_mul(FOR_EACH))
}
