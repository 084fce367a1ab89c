//! What is measured: the figures of a run and of its loads. What bound them is in `bound`, and how two moments are
//! compared in `compare`.

use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant};
use kumiki_link::Occupancy;
use kumiki_sim::{HostId, World};

use super::cpus;
use super::ends::TransferEnds;
use super::fair;
use super::flows::{self, Flow, Sender};
use super::idle::HeldWhileIdle;
use super::load::Load;
use super::marks::Marks;
use super::occupied::AllOccupied;
use super::pace::Pace;
use super::presence::Presence;
use super::units::Units;
use crate::rows::Counters;
use crate::workload::Times;
use crate::workload::ping::Echoes;
use kumiki_media::Waits;

mod bound;
mod compare;
mod moment;
mod total;
mod writers;

pub use bound::Bound;
pub(super) use moment::{Moment, Snapshot};
pub(super) use total::is_mixed;
pub(super) use writers::{file_user, is_done, program};

/// The figures of a load, or of all together.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LoadResult {
    /// Application octets delivered per time, in 10^6 bit/s, all sessions together.
    pub goodput_mbps: f64,
    /// When its measurement began.
    pub began: Instant,
    /// How long was measured.
    pub time: Duration,
    /// When the run was over.
    pub until: Instant,
    /// From when on it wrote, and for how long, where that is a part of what was measured.
    pub part: Option<(Instant, Duration)>,
    /// The sessions, in the order of opening.
    pub flows: Vec<Flow>,
    /// Whether it is of several loads of unlike kinds: to compare their sessions says nothing.
    pub(crate) is_mixed: bool,
    /// Jain's fairness index of the goodput of the sessions that were to write, with nothing for those that did not;
    /// none where they are of unlike kinds.
    pub jain: Option<f64>,
    /// How busy the busiest line on the way was while measuring, while it was there and while the load wrote, from
    /// 0 to 1.
    pub line: f64,
    /// Whether its flows have an end.
    pub(super) has_end: bool,
    /// What held its flows while no line on their ways was busy.
    pub(super) stood: HeldWhileIdle,
    /// For which part of the measured time the asking host or the one that answers had no power, of echoes, which are
    /// no flows; of what has an end, for which part nothing else was waited for.
    pub(super) without_power: f64,
    /// How busy each CPU on the way was in the part of the measured time in which the load wrote, by `host.cpu`, from 0
    /// to 1; of several loads each CPU, in all of it.
    pub cpu: BTreeMap<String, f64>,
    /// How much of that part the busiest of these was busy or, at a writer, left alone while its program waits.
    taken: f64,
    /// How much of that part the writing programs waited between messages, as their profile has it, from 0 to 1, by
    /// host; the mean of the sessions that write.
    pub waited: BTreeMap<String, f64>,
    /// How often a writer had to wait for a page while measuring.
    pub page_waits: u64,
    /// How many sessions at some time made no progress for a second (`STOPPED`).
    pub stopped: u64,
    /// How many of the sessions that write had not come to their end, where they have one.
    pub unfinished: u64,
    /// How many of the sessions that were to write would have begun after the end.
    pub unbegun: u64,
    /// Position of the first octet that arrived wrong, where one did; of datagrams, the number of the first wrong one.
    pub wrong: Option<u64>,
    /// Why the transfer of a file did not end, in words.
    pub failure: Option<String>,
    /// Which hosts or lines were missing when it had not come to its end, and what would be right, in words; of a file
    /// see `failure`.
    pub cut_off: Option<String>,
    /// Why there was no connection at all, where there was to be one.
    pub unconnected: Option<Unconnected>,
    /// What became of datagrams while measuring, where the load is made of them.
    pub units: Option<Units>,
    /// Whether most of its datagrams or echoes that were lost left while their way was not there.
    lost_by_outages: bool,
    /// Whether most of those that were lost found no room in the queue of a line.
    lost_in_queues: bool,
    /// Which lines on its way were not there for some of the time for which it was measured, in words.
    pub away: Vec<String>,
    /// Whether it is of echoes of which none was ever answered.
    pub unanswered: bool,
    /// So many datagrams may be in flight at the end and have been sent while measuring, where none was before.
    in_flight: u64,
    /// What became of the echoes that left while measuring, where the load is made of them.
    pub echoes: Option<Echoes>,
    /// The round trips of these; of all loads together where none is of TCP.
    pub round_trips: Option<Times>,
}

/// Why a load had no connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unconnected {
    /// In words.
    pub why: String,
    /// Whether nobody had answered until the end, which may be for want of time or luck.
    pub silent: bool,
}

/// The figures of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    /// Of all loads together.
    pub total: LoadResult,
    /// Of each load, by name.
    pub loads: BTreeMap<String, LoadResult>,
    /// How busy each CPU was while measuring, by `host.cpu`, from 0 to 1.
    pub cpu: BTreeMap<String, f64>,
    /// Counters of all layers, by `host.layer`, while measuring.
    pub counters: Counters,
    /// How long the queues of lines with frames were while measuring, by `line.a` (what its first end sends) and
    /// `line.b`; of rings by `ring.host`.
    pub queues: BTreeMap<String, Occupancy>,
    /// How long each task ran, by `host.task`.
    pub tasks: BTreeMap<String, Duration>,
    /// For how long of the measured time each host had no power, where it ever had none.
    pub without_power: BTreeMap<String, Duration>,
}

impl Measured {
    /// Whether the host of `part`, which is `host` or `host.part`, writes.
    #[must_use]
    pub fn writes(&self, part: &str) -> bool {
        let host = part.split_once('.').map_or(part, |(host, _)| host);
        self.total.waited.contains_key(host)
    }

    /// Compares two moments.
    pub(super) fn between(
        world: &World,
        hosts: &BTreeMap<String, HostId>,
        loads: &BTreeMap<String, Load>,
        (before, after): (&Moment, &Moment),
        (marks, presence, pace, occupied, ends): (&Marks, &Presence, &Pace, &AllOccupied, &TransferEnds),
        waits: Option<&Waits>,
    ) -> Self {
        let busy = ((before.at, &before.cpus), (after.at, &after.cpus));
        let cpu = cpus::shares(busy.0, busy.1);
        let result = |(name, load): (&String, &Load)| {
            let beginning = Snapshot::default();
            let (before, after) = (before.loads.get(name).unwrap_or(&beginning), after.loads.get(name)?);
            let who = (name.as_str(), load, loads.len() == 1);
            let result = compare::compare(world, hosts, (before, after), who, (presence, occupied, ends), waits);
            let mut own = match load.is_measured_whole() {
                true => marks.cpus(name, busy.1).unwrap_or_else(|| cpu.clone()),
                false => presence.cpus(name, busy),
            };
            own.retain(|cpu, _| load.is_on_the_way(cpu));
            Some((name.clone(), result.on_cpus(own)))
        };
        let queue = |(name, occupancy): (&String, &Occupancy)| {
            let earlier = before.queues.get(name).cloned().unwrap_or_default();
            (name.clone(), occupancy.clone().since(&earlier))
        };
        let mut results: BTreeMap<String, LoadResult> = loads.iter().filter_map(result).collect();
        fair::set_parts(loads, &mut results, pace);
        let mut total = LoadResult::total(&results);
        let own = if loads.len() > 1 { cpu.clone() } else { core::mem::take(&mut total.cpu) };
        total = total.on_cpus(own);
        if is_mixed(loads) {
            (total.is_mixed, total.jain) = (true, None);
        }
        Self {
            total,
            loads: results,
            cpu,
            counters: super::counters::since(&before.counters, &after.counters),
            queues: after.queues.iter().map(queue).collect(),
            tasks: tasks(world),
            without_power: BTreeMap::new(),
        }
    }
}

impl LoadResult {
    /// The same where the CPUs on its way were so busy. Each of its flows asks for the busiest.
    fn on_cpus(mut self, cpu: BTreeMap<String, f64>) -> Self {
        self.cpu = cpu;
        self.taken = self.busiest_cpu().map_or(0.0, |(_, taken)| taken);
        self
    }

    /// The CPU on its way with the least time left, as `host.cpu`, and how much of the part in which the load wrote it
    /// was busy or, at a writer, left alone while its program waits, from 0 to 1; of several that are alike the first.
    pub(crate) fn busiest_cpu(&self) -> Option<(&str, f64)> {
        let taken = |(cpu, busy): (&String, &f64)| {
            let host = cpu.split_once('.').map_or(cpu.as_str(), |(host, _)| host);
            busy + self.waited.get(host).copied().unwrap_or(0.0)
        };
        let all = self.cpu.iter().map(|it| (it.0.as_str(), taken(it)));
        all.reduce(|most, other| if other.1 > most.1 { other } else { most })
    }

    /// So many `octets` over the time that was measured, in 10^6 bit/s.
    #[must_use]
    pub fn rate_mbps(&self, octets: u64) -> f64 {
        flows::rate_mbps(octets, self.time)
    }

    /// What it delivered while it was measured, over the part of that time in which it wrote, in 10^6 bit/s.
    pub(super) fn rate_while_writing(&self) -> f64 {
        let part = self.part.map(|(_, part)| part).filter(|part| !part.is_zero());
        part.map_or(self.goodput_mbps, |part| self.goodput_mbps * self.time.as_secs_f64() / part.as_secs_f64())
    }

    /// What the senders did, where they are connections of TCP.
    #[must_use]
    pub fn sender(&self) -> Option<Sender> {
        let mut senders = self.flows.iter().filter_map(|flow| flow.sender.as_ref());
        let mut all = senders.next()?.clone();
        for sender in senders {
            all.add(sender);
        }
        Some(all)
    }
}

/// How long each task of each host has run.
fn tasks(world: &World) -> BTreeMap<String, Duration> {
    let mut times: BTreeMap<String, Duration> = BTreeMap::new();
    for host in world.replaced().chain(world.hosts()) {
        for (task, time) in host.task_times() {
            *times.entry(format!("{}.{task}", host.name)).or_default() += time;
        }
    }
    times
}

#[expect(clippy::cast_precision_loss, reason = "a printed figure needs no more than 53 bits")]
pub(super) const fn lossy(count: u64) -> f64 {
    count as f64
}
