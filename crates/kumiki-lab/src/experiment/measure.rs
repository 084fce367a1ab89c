//! What is measured, and what bound it.

use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant};
use kumiki_inet::tcp::Limit;
use kumiki_link::Occupancy;
use kumiki_sim::{HostId, World};

use super::away::Away;
use super::bound::Bound;
use super::cpus::{self, Cpus};
use super::ends::Ends;
use super::failed::{self, Gone, unconnected, unfinished};
use super::fair;
use super::flows::{self, Flow, Pair, Progress, Sender, jain, progress};
use super::given_up;
use super::held::{self, Held};
use super::idle::{Idle, Seen, Stood};
use super::lines::{Lines, Use};
use super::load::{Kind, Load};
use super::marks::Marks;
use super::occupied::AllOccupied;
use super::outages::Outages;
use super::pace::Pace;
use super::path::Crossed;
use super::power::{self, Power};
use super::presence::Presence;
use super::units::Units;
use crate::medium::Waits;
use crate::rows::Counters;
use crate::stats;
use crate::workload::ping::Echoes;
use crate::workload::{FileUser, Ping, Source, Times, UdpSource};

/// A line that is busy for so much of the time in which it is there is full: losses in its queue cost the rest.
pub(super) const FULL_LINE: f64 = 0.98;

/// From so much of what is there on it is full: the rest is lost at the ends of the measurement.
pub(super) const FULL: f64 = 0.99;

/// The same of exchanges alone, which leave it empty between an answer and the next request.
pub(super) const FULL_OF_EXCHANGES: f64 = 0.8;

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
    /// Jain's fairness index of the goodput of the sessions that were to write, with nothing for those that did not; none where they are of unlike kinds.
    pub jain: Option<f64>,
    /// How busy the busiest line on the way was while measuring, while it was there and while the load wrote, from 0 to 1.
    pub line: f64,
    /// Whether its flows have an end.
    pub(super) has_end: bool,
    /// What held its flows while no line on their ways was busy.
    pub(super) stood: Stood,
    /// For which part of the measured time the asking host or the one that answers had no power, of echoes, which are no flows; of what has an end, for which part nothing else was waited for.
    pub(super) without_power: f64,
    /// How busy each CPU on the way was in the part of the measured time in which the load wrote, by `host.cpu`, from 0 to 1; of several loads each CPU, in all of it.
    pub cpu: BTreeMap<String, f64>,
    /// How much of that part the busiest of these was busy or, at a writer, left alone while its program waits.
    taken: f64,
    /// How much of that part the writing programs waited between messages, as their profile has it, from 0 to 1, by host; the mean of the sessions that
    /// write.
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
    /// Which hosts or lines were missing when it had not come to its end, and what would be right, in words; of a file see `failure`.
    pub cut_off: Option<String>,
    /// Why there was no connection at all, where there was to be one.
    pub unconnected: Option<Unconnected>,
    /// What became of datagrams while measuring, where the load is made of them.
    pub units: Option<Units>,
    /// Whether most of its datagrams or echoes that were lost left while their way was not there.
    lost_by_outages: bool,
    /// Which lines on its way were not there for some of the time for which it was measured, in words.
    pub away: Vec<String>,
    /// Whether it is of echoes of which none was ever answered.
    pub unanswered: bool,
    /// So many datagrams may be under way at the end and have been sent while measuring, where none was before.
    under_way: u64,
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
    /// How long the queues of lines with frames were while measuring, by `line.a` (what its first end sends) and `line.b`; of rings by `ring.host`.
    pub queues: BTreeMap<String, Occupancy>,
    /// How long each task ran, by `host.task`.
    pub tasks: BTreeMap<String, Duration>,
    /// For how long of the measured time each host had no power, where it ever had none.
    pub without_power: BTreeMap<String, Duration>,
}

/// Who asks for a file to be moved: the writer, or the reader.
pub(super) fn file_user<'a>(world: &'a World, hosts: &BTreeMap<String, HostId>, load: &Load) -> Option<&'a FileUser> {
    let mut ends = load.from.iter().chain(&load.to).filter(|_| load.kind == Kind::File);
    ends.find_map(|end| program::<FileUser>(world, hosts, end))
}

/// The state of the world at one moment, as far as measuring needs it: of a load.
#[derive(Default)]
pub(super) struct Snapshot {
    pub(super) at: Instant,
    /// When data last arrived. Rates are taken from arrival to arrival, so that they do not depend on where in a PDU the
    /// clock stood.
    last: Option<Instant>,
    /// The longest time between two arrivals of a session so far.
    longest_gap: Duration,
    /// By reading program and session.
    pub(super) octets: Vec<Vec<u64>>,
    page_waits: u64,
    /// What each writing program waited between messages, all sessions together.
    waited: Vec<Duration>,
    /// How long each line on the way was there, and busy.
    lines: BTreeMap<Crossed, Use>,
    /// What it lacked.
    gone: Option<Gone>,
    /// When its ways were not there.
    pub(super) away: Away,
    units: Units,
    /// What each sender had done, where others are to be compared with it.
    pub(super) senders: BTreeMap<Pair, Sender>,
}

impl Snapshot {
    fn take(
        world: &World,
        hosts: &BTreeMap<String, HostId>,
        load: &Load,
        (lines, outages, power): (&Lines, &Outages, &Power),
    ) -> Self {
        let sinks = progress(world, hosts, load);
        let sent = || sources(world, hosts, load).flat_map(|(_, source)| source.sent());
        Self {
            at: world.now(),
            lines: lines.used(world, load),
            gone: Gone::of((hosts, outages, power), world, load),
            away: Away::of((hosts, outages, power), world, load),
            last: sinks.iter().flatten().filter_map(|it| it.last).max(),
            longest_gap: sinks.iter().flatten().map(|it| it.gaps.longest).max().unwrap_or_default(),
            octets: sinks.iter().map(|sessions| sessions.iter().map(|it| it.octets).collect()).collect(),
            page_waits: sent().map(|sent| sent.page_waits).sum(),
            units: Units::of(world, hosts, load),
            waited: waited(world, hosts, load),
            senders: BTreeMap::new(),
        }
    }

    /// Whether data had ceased to arrive: the time since the last is more than a clock between two PDUs explains.
    fn is_silent(&self) -> bool {
        let since = self.last.map_or(Duration::ZERO, |last| self.at.saturating_since(last));
        since > self.longest_gap || since >= flows::STOPPED
    }
}

pub(super) fn program<'a, T: kumiki_graph::Protocol>(
    world: &'a World,
    hosts: &BTreeMap<String, HostId>,
    (host, node): &(String, String),
) -> Option<&'a T> {
    let host = world.host(*hosts.get(host)?)?;
    host.graph.protocol(host.graph.node(node)?)
}

/// The writing programs of a load of streams, each with the number of its place.
pub(super) fn sources<'a>(
    world: &'a World,
    hosts: &BTreeMap<String, HostId>,
    load: &Load,
) -> impl Iterator<Item = (usize, &'a Source)> {
    let places = load.from.iter().enumerate();
    places.filter_map(|(number, from)| Some((number, program::<Source>(world, hosts, from)?)))
}

fn waited(world: &World, hosts: &BTreeMap<String, HostId>, load: &Load) -> Vec<Duration> {
    let of = |from| program::<Source>(world, hosts, from).into_iter().flat_map(Source::sent);
    let sum = |from| of(from).fold(Duration::ZERO, |all, sent| all + sent.waited);
    load.from.iter().map(sum).collect()
}

/// Whether all of the writing programs of kind `T` are `done`.
fn all_done<T: kumiki_graph::Protocol>(
    world: &World,
    hosts: &BTreeMap<String, HostId>,
    load: &Load,
    done: impl Fn(&T) -> bool,
) -> bool {
    load.from.iter().all(|from| program::<T>(world, hosts, from).is_some_and(&done))
}

/// Whether the writing program has done all it was to do, and of streams the end has arrived.
pub(super) fn is_done(world: &World, hosts: &BTreeMap<String, HostId>, load: &Load) -> bool {
    match load.kind {
        Kind::Stream => {
            let received = progress(world, hosts, load);
            all_done(world, hosts, load, |it: &Source| it.is_done(world.now()))
                && received.iter().flatten().all(|it| it.ended.is_some() || it.aborted.is_some())
        }
        Kind::File => {
            file_user(world, hosts, load).is_some_and(FileUser::is_over)
                || given_up::of_file(world, hosts, load).is_some()
        }
        Kind::Units => all_done(world, hosts, load, |it: &UdpSource| it.is_done(world.now())),
        Kind::Ping => all_done(world, hosts, load, |it: &Ping| it.is_done() || it.has_stopped(world.now())),
        Kind::Rpc => given_up::all_answered(world, hosts, load),
    }
}

/// The state of the world at one moment, by default its beginning: what all loads have brought, and what all parts have counted.
#[derive(Default)]
pub(super) struct Moment {
    at: Instant,
    loads: BTreeMap<String, Snapshot>,
    cpus: Cpus,
    counters: Counters,
    queues: BTreeMap<String, Occupancy>,
}

impl Moment {
    /// Takes it.
    pub(super) fn take(
        world: &World,
        hosts: &BTreeMap<String, HostId>,
        loads: &BTreeMap<String, Load>,
        parts: (&Lines, &Outages, &Power),
    ) -> Self {
        let of_load = |(name, load): (&String, &Load)| (name.clone(), Snapshot::take(world, hosts, load, parts));
        Self {
            at: world.now(),
            loads: loads.iter().map(of_load).collect(),
            cpus: cpus::busy(world),
            counters: super::counters::of(world),
            queues: world.queues().map(|(line, queue, it)| (format!("{line}.{queue}"), it)).collect(),
        }
    }

    /// As [`Moment::take`], for one with which a later one is compared.
    pub(super) fn begin(
        world: &World,
        hosts: &BTreeMap<String, HostId>,
        loads: &BTreeMap<String, Load>,
        parts: (&Lines, &Outages, &Power),
    ) -> Self {
        let mut moment = Self::take(world, hosts, loads, parts);
        for (name, load) in loads {
            if let Some(snapshot) = moment.loads.get_mut(name) {
                snapshot.senders = flows::senders(world, hosts, load);
            }
        }
        moment
    }
}

impl Measured {
    /// Whether the host of `part`, which is `host` or `host.part`, writes.
    #[must_use]
    pub fn writes(&self, part: &str) -> bool {
        let host = part.split_once('.').map_or(part, |(host, _)| host);
        self.total.waited.contains_key(host)
    }

    /// What bound `of`, a load, or a `flow` of it (of several loads together see [`Measured::bound_of_all`]), where the stack and the line allow `limit_mbps` in the time in which it wrote: writers that waited for pages beside a line that was not full, a CPU
    /// without time left, or a full line, in this order, since each of the first two keeps the next from being the reason.
    /// Then comes the opening of transfers, which is before the time in which they are measured, where it took longer than that.
    /// What is left is what held TCP for the most time (of limits that held equally long the first of [`Limit::ALL`]), or the window of another protocol.
    ///
    /// What the writing program waits between messages, as its profile has it, is time that its host takes. A CPU and a line count
    /// as full from 99 % on: the rest is lost at the ends of the measurement. A line that others share, or that is one of several, is full where it was busy for 98 % of the time
    /// in which it was there: losses in its queue cost the rest.
    ///
    /// Over a full line not everything waits for it: see `LoadResult::waits_for_line`.
    #[must_use]
    pub fn bound(&self, of: &LoadResult, flow: Option<&Flow>, limit_mbps: Option<f64>) -> Bound {
        let flows = flow.map_or(of.flows.as_slice(), core::slice::from_ref);
        if of.is_without_power(flows) {
            Bound::Power
        } else if !flows.is_empty() && flows.iter().all(|flow| flow.aborted.is_some()) {
            Bound::Aborted
        } else if !flows.is_empty() && flows.iter().all(|flow| !flow.opened) {
            Bound::Held(Limit::Opening)
        } else if !flows.is_empty() && flows.iter().all(|flow| flow.was_over || !flow.opened) {
            Bound::Held(Limit::Application)
        } else if of.page_waits > 0 && !of.reaches(limit_mbps, flows) {
            // In front of a full line any memory fills.
            Bound::Pages
        } else if !of.cpu.is_empty() && of.waits_for_cpu(flow, of.taken) {
            Bound::Host
        } else if of.is_all_there() && limit_mbps.is_none_or(|limit| of.rate_while_writing() <= limit) {
            // What came at last, and was more than the line took while it was written, has waited for that.
            Bound::Held(Limit::Application)
        } else if flow.is_none() && of.is_paced(limit_mbps) {
            Bound::Held(Limit::Application)
        } else if of.lost_by_outages && of.is_of_units() && !of.reaches(limit_mbps, flows) {
            // What was not there would have lost them with a faster line as well.
            Bound::Lost
        } else if of.waits_for_line(flow, limit_mbps) {
            if of.works_more(flow, limit_mbps, of.taken) { Bound::Host } else { Bound::Link }
        } else if held::waited_to_open(flows) {
            Bound::Held(Limit::Opening)
        } else {
            let causes = flow.map_or_else(|| of.held_while_idle().unwrap_or_else(|| of.causes()), Flow::causes);
            let other = if of.is_of_units() { Bound::Lost } else { Bound::Window };
            held::foremost(&causes).map_or(other, Bound::Held)
        }
    }

    /// What bound several loads together, where the stack and the line allow each what `limit_mbps` says: what bound those of them that brought the most, and where
    /// none brought anything, most of them. That one of several waits for something else takes nothing from a line that the others fill.
    #[must_use]
    pub fn bound_of_all(&self, limit_mbps: impl Fn(&str) -> Option<f64>) -> Bound {
        let mut all: Vec<(Bound, (u64, usize))> = Vec::new();
        for (name, load) in &self.loads {
            let bound = self.bound(load, None, limit_mbps(name));
            let octets = load.flows.iter().map(|flow| flow.octets).sum();
            match all.iter_mut().find(|(other, _)| *other == bound) {
                Some((_, (brought, loads))) => (*brought, *loads) = (*brought + octets, *loads + 1),
                None => all.push((bound, (octets, 1))),
            }
        }
        // Of what is equal, the first by the names of loads.
        let most = all.iter().rev().max_by_key(|(_, weight)| *weight);
        most.map_or_else(|| self.bound(&self.total, None, None), |(bound, _)| *bound)
    }

    /// Compares two moments.
    pub(super) fn between(
        world: &World,
        hosts: &BTreeMap<String, HostId>,
        loads: &BTreeMap<String, Load>,
        (before, after): (&Moment, &Moment),
        (marks, presence, pace, occupied, ends): (&Marks, &Presence, &Pace, &AllOccupied, &Ends),
        waits: Option<&Waits>,
    ) -> Self {
        let busy = ((before.at, &before.cpus), (after.at, &after.cpus));
        let cpu = cpus::shares(busy.0, busy.1);
        let result = |(name, load): (&String, &Load)| {
            let beginning = Snapshot::default();
            let (before, after) = (before.loads.get(name).unwrap_or(&beginning), after.loads.get(name)?);
            let who = (name.as_str(), load, loads.len() == 1);
            let result = measure(world, hosts, (before, after), who, (presence, occupied, ends), waits);
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
        let taken = |(cpu, busy): (&String, &f64)| {
            let host = cpu.split_once('.').map_or(cpu.as_str(), |(host, _)| host);
            busy + self.waited.get(host).copied().unwrap_or(0.0)
        };
        self.taken = cpu.iter().map(taken).fold(0.0, f64::max);
        self.cpu = cpu;
        self
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

    /// Whether at an end of each of its `flows`, or of echoes, there was no power for most of the time.
    fn is_without_power(&self, flows: &[Flow]) -> bool {
        match flows {
            [] => self.without_power > flows::MOST,
            [_] => flows.iter().all(Flow::is_without_power),
            _ => self.without_power > flows::MOST || flows.iter().all(Flow::is_without_power),
        }
    }

    /// Whether it is of datagrams or echoes alone.
    fn is_of_units(&self) -> bool {
        (self.units.is_some() || self.echoes.is_some()) && self.flows.iter().all(|flow| flow.sender.is_none())
    }

    /// Whether it is of datagrams or echoes alone, and almost all arrived but for what is under way: then there were no more of them.
    fn is_all_there(&self) -> bool {
        let are_all = |sent: u64, came: u64| came.saturating_mul(100) >= sent.saturating_mul(99);
        let datagrams = self.units.is_none_or(|units| {
            let under_way = if units.received > 0 { self.under_way } else { 0 };
            // What is lost is known; the rest waits somewhere.
            are_all(units.sent, units.sent.saturating_sub(units.lost))
                && are_all(units.sent, units.received + units.lost + under_way)
        });
        let echoes = self.echoes.is_none_or(|echoes| {
            let under_way = if echoes.answered > 0 { echoes.under_way } else { 0 };
            are_all(echoes.sent, echoes.answered + under_way)
        });
        (self.units.is_some() || self.echoes.is_some())
            && datagrams
            && echoes
            && self.flows.iter().all(|flow| flow.sender.is_none())
    }

    /// Whether a CPU on its way that is `busy` for such a part of the time is what it, or a `flow` of it, waits for.
    fn waits_for_cpu(&self, flow: Option<&Flow>, busy: f64) -> bool {
        let flows = flow.map_or(self.flows.as_slice(), core::slice::from_ref);
        let are_exchanges = !flows.is_empty() && flows.iter().all(|flow| flow.exchanges.is_some());
        // Between an answer and the next request there is nothing to work on; but where it is round trips that take the time, the way is longer than the work.
        let has_work = || !held::waits_for_program(&flow.map_or_else(|| self.held(), Flow::held));
        busy >= FULL || (are_exchanges && busy >= FULL_OF_EXCHANGES && has_work())
    }

    /// Whether a full line is what it, or a `flow` of it, waits for, where the line allows `limit_mbps`: not where its program is waited for for nearly all of the
    /// time, nor where it has less than its share of the line, and so waits for its window.
    fn waits_for_line(&self, flow: Option<&Flow>, limit_mbps: Option<f64>) -> bool {
        const LESS: f64 = 0.9;
        let flows = flow.map_or(self.flows.as_slice(), core::slice::from_ref);
        if matches!(flows, [one] if one.is_locked_out()) {
            return false;
        }
        if self.reaches(limit_mbps, flows) {
            return true;
        }
        if held::waits_for_program(&flow.map_or_else(|| self.held(), Flow::held)) {
            return false;
        }
        let parts: Vec<f64> = flows.iter().filter_map(|flow| flow.part).collect();
        let has_less = stats::mean(&parts).is_some_and(|part| part < LESS);
        !has_less && (flow.map_or(self.line, |flow| flow.line) >= FULL_LINE || self.fills_line(flow))
    }

    /// Of all `loads` together.
    fn total(loads: &BTreeMap<String, Self>) -> Self {
        let mut all = Self::default();
        for load in loads.values() {
            all.goodput_mbps += load.goodput_mbps;
            all.time = all.time.max(load.time);
            all.part = load.part.filter(|_| loads.len() == 1);
            if loads.len() == 1 {
                all.stood.clone_from(&load.stood);
                (all.began, all.has_end) = (load.began, load.has_end);
            }
            all.cpu.clone_from(&load.cpu);
            all.flows.extend(load.flows.iter().cloned());
            for (host, waited) in &load.waited {
                *all.waited.entry(host.clone()).or_default() += waited;
            }
            all.page_waits += load.page_waits;
            all.stopped += load.stopped;
            all.unfinished += load.unfinished;
            all.unbegun += load.unbegun;
            all.wrong = all.wrong.or(load.wrong);
            all.failure = all.failure.or_else(|| load.failure.clone());
            all.unconnected = all.unconnected.or_else(|| load.unconnected.clone());
            if let Some(units) = load.units {
                *all.units.get_or_insert_default() += units;
            }
            all.under_way += load.under_way;
            all.lost_by_outages |= load.lost_by_outages;
            if let Some(echoes) = load.echoes {
                *all.echoes.get_or_insert_default() += echoes;
            }
            if let Some(round_trips) = &load.round_trips {
                match &mut all.round_trips {
                    Some(others) => others.add(round_trips),
                    None => all.round_trips = Some(round_trips.clone()),
                }
            }
        }
        let least = |of: fn(&Self) -> f64| loads.values().map(of).reduce(f64::min).unwrap_or(0.0);
        (all.line, all.without_power) = (least(|load| load.line), least(|load| load.without_power));
        all.jain = jain(&all.flows);
        if all.flows.iter().any(|flow| flow.sender.is_some()) {
            all.round_trips = None;
        }
        all
    }
}

/// Whether what `loads` bring is not alike: a call and a transfer share nothing, nor do two of which only one has an end. Echoes bring nothing.
fn is_mixed(loads: &BTreeMap<String, Load>) -> bool {
    let mut kinds = loads.values().filter(|load| load.kind != Kind::Ping).map(|load| (load.kind, load.until_done));
    let first = kinds.next();
    kinds.any(|kind| Some(kind) != first)
}

/// Compares two moments of the load `name`; `is_alone`: there is no other.
fn measure(
    world: &World,
    hosts: &BTreeMap<String, HostId>,
    (before, after): (&Snapshot, &Snapshot),
    (name, load, is_alone): (&str, &Load, bool),
    (presence, occupied, ends): (&Presence, &AllOccupied, &Ends),
    waits: Option<&Waits>,
) -> LoadResult {
    let sinks = progress(world, hosts, load);
    let sources: Vec<(usize, &Source)> = sources(world, hosts, load).collect();
    // What has an end of its own is measured from its beginning, whatever the others wait for.
    let beginning = Snapshot::default();
    let whole_load = load.is_measured_whole();
    let before = if whole_load { &beginning } else { before };
    let user = file_user(world, hosts, load);
    let flows_of = |held| flows::flows(world, hosts, load, &sinks, (before, held), (waits, &after.away), ends);
    // Several loads are compared, so the time is the same for all. A silence at an end belongs to what is measured.
    let arrivals = before.last.zip(after.last).filter(|(first, last)| {
        last > first && is_alone && load.is_steady && !before.is_silent() && !after.is_silent()
    });
    let time = match arrivals {
        _ if load.kind == Kind::File => {
            let began = user.and_then(if load.from_request { FileUser::begun } else { FileUser::opened });
            let given_up = || given_up::of_file(world, hosts, load).map(|(at, _)| at);
            let ended = user.and_then(FileUser::over).or_else(given_up).unwrap_or(after.at);
            began.map_or(Duration::ZERO, |began| ended.saturating_since(began))
        }
        _ if load.until_done && load.kind == Kind::Stream => {
            let written = if load.sender_clock { written(&sources) } else { None };
            let cut_off = written.or_else(|| {
                // A sender that never learns that all has come is no reason to wait.
                let is_over = || flows_of((before.at, after.at)).iter().all(|(_, flow)| flow.is_over());
                let done = is_done(world, hosts, load) || (!sources.is_empty() && is_over());
                (!done).then_some(after.at)
            });
            transfer_time(&sources, &sinks, cut_off)
        }
        Some((first, last)) => last.saturating_since(first),
        None => after.at.saturating_since(before.at),
    };
    // So has a number of exchanges, but what came before it was measured does not count.
    let has_exchanges = load.until_done && load.kind == Kind::Rpc;
    let began = match load.kind {
        Kind::File => user.and_then(if load.from_request { FileUser::begun } else { FileUser::opened }),
        Kind::Stream if whole_load => opened(&sources),
        Kind::Stream | Kind::Units | Kind::Ping | Kind::Rpc => None,
    };
    let first_arrival = || arrivals.filter(|_| !whole_load).map(|(first, _)| first);
    let since = began.or_else(first_arrival).unwrap_or(before.at);
    // What has an end is held from its opening on, and by nothing once it is over.
    let held = began.filter(|_| whole_load && !time.is_zero()).map(|began| (began, began + time));
    // What never opened has no time in which anything could.
    let never = (before.at, if load.kind == Kind::File { before.at } else { after.at });
    let flows = flows_of(held.unwrap_or(never));
    let exchanged = has_exchanges.then(|| exchange_time(&flows, (before.at, after.at)));
    let (since, time) = exchanged.unwrap_or((since, time));
    let octets: u64 = flows.iter().map(|(_, flow)| flow.octets).sum();
    let part = if whole_load || has_exchanges { None } else { presence.part(name, (before.at, after.at)) };
    let writes_for = part.map_or(time, |(_, part)| part).as_secs_f64();
    let mut waited = BTreeMap::new();
    let busy_of: BTreeMap<usize, u64> = sources.iter().map(|(place, source)| (*place, source.busy())).collect();
    for (number, (host, _)) in load.from.iter().enumerate() {
        let of = |snapshot: &Snapshot| snapshot.waited.get(number).copied().unwrap_or_default();
        let busy = busy_of.get(&number).map_or(1.0, |busy| lossy((*busy).max(1)));
        let share = (of(after) - of(before)).as_secs_f64() / busy;
        *waited.entry(host.clone()).or_default() += if writes_for > 0.0 { share / writes_for } else { 0.0 };
    }
    // Datagrams that were all sent are over, and have not stopped.
    // Nor have those that are silent for a time.
    let over = load.kind == Kind::Units && (!load.is_steady || is_done(world, hosts, load));
    // What has not begun when it is time to stop never was to.
    let was_to_begin = load.stop.is_none_or(|stop| after.at < stop);
    let shares = presence.shares(name, &before.lines, &after.lines);
    let idle = Idle::of(load.ways.iter().flatten().flatten(), occupied);
    let has_end = load.until_done;
    let of_flow = |(came, mut flow): (Progress, Flow)| {
        let lines = || load.way(flow.way).iter().filter_map(|line| Some((line, *shares.get(line)?)));
        let most = lines().map(|(_, share)| share).reduce(f64::max).unwrap_or(0.0);
        let busiest = lines().filter(|(_, share)| *share >= most * NEXT_TO).map(|(line, _)| line.clone()).collect();
        flow.busiest = busiest;
        if has_exchanges {
            (flow.began, flow.time) = flow.own_time((before.at, after.at));
        } else if !whole_load || load.kind != Kind::Stream {
            (flow.began, flow.time) = (since, time);
        }
        flow.longest_gap = flow.longest_silence(&came);
        // What has an end is there for its own time alone; beside that nothing is said of the time in which a line was not there.
        let own = idle.busiest(load.way(flow.way), (flow.began, flow.began + flow.time));
        flow.line = if has_end { own.unwrap_or(most) } else { own.unwrap_or_default().max(most) };
        let is_to_begin = flow.is_unbegun() && (load.until_done || !was_to_begin);
        flow.is_to_come = is_to_begin || (load.until_done && flow.has_just_begun(after.at.saturating_since(before.at)));
        flow
    };
    let mut flows: Vec<Flow> = flows.into_iter().map(of_flow).collect();
    let causes: Vec<Vec<Held>> = flows.iter_mut().map(|flow| core::mem::take(&mut flow.causes)).collect();
    for (flow, spans) in flows.iter_mut().zip(&causes) {
        let way = load.way(flow.way);
        let own = core::iter::once(seen(load, flow, spans));
        flow.stood = idle.stood((flow.began, flow.began + flow.time), own);
        flow.propagation =
            way.iter().filter_map(|line| load.propagation.get(line)).fold(Duration::ZERO, |sum, it| sum + *it);
    }
    let each = flows.iter().zip(&causes).map(|(flow, spans)| seen(load, flow, spans));
    let stood = idle.stood((since, since + time), each);
    // Echoes are no flows, but go there and back.
    let asked = || load.pairs().filter(|_| load.kind == Kind::Ping);
    let busiest = |way| load.way(way).iter().filter_map(|line| shares.get(line).copied()).reduce(f64::max);
    let of_echoes = asked().map(|way| busiest(way).unwrap_or(0.0));
    let line = flows.iter().map(|flow| flow.line).chain(of_echoes).reduce(f64::min).unwrap_or(0.0);
    let without_power = asked().map(|way| flows::without_power(world, hosts, load, way, before.at)).reduce(f64::min);
    let unbegun = if was_to_begin { count(&flows, Flow::is_unbegun) } else { 0 };
    let units = (load.kind == Kind::Units).then(|| after.units.since(before.units));
    let result = LoadResult {
        under_way: units.filter(|_| before.units.sent == 0).map_or(0, |units| under_way(units.sent, &flows, time)),
        began: since,
        time,
        until: after.at,
        part,
        jain: jain(&flows),
        line,
        without_power: without_power.unwrap_or_else(|| {
            let waits = if has_end { power::waits_for_power(&flows, (since, since + time)) } else { Duration::ZERO };
            if time.is_zero() { 0.0 } else { waits.as_secs_f64() / time.as_secs_f64() }
        }),
        has_end,
        stood,
        waited,
        page_waits: after.page_waits - before.page_waits,
        stopped: if over { 0 } else { flows::stopped(&flows) },
        unfinished: if whole_load { unbegun + count(&flows, Flow::is_unfinished) } else { 0 },
        unbegun,
        wrong: sinks.iter().flatten().find_map(|it| it.wrong),
        failure: user.and_then(|user| {
            let is_done = user.over().is_some() && user.failure().is_none();
            (!is_done).then(|| unfinished(user, octets, given_up::of_file(world, hosts, load), after.gone.as_ref()))
        }),
        unconnected: unconnected(world, hosts, load, after.gone.as_ref()),
        cut_off: failed::why_cut_off(load, after.gone.as_ref()),
        units,
        round_trips: round_trips(world, hosts, load),
        echoes: after.away.echoes,
        lost_by_outages: after.away.took_most(units.as_ref(), part.unwrap_or((since, time))),
        away: after.away.told(before.at),
        unanswered: load.kind == Kind::Ping
            && all_done(world, hosts, load, |ping: &Ping| ping.echoes().sent > 0 && ping.echoes().answered == 0),
        flows,
        ..LoadResult::default()
    };
    LoadResult { goodput_mbps: result.rate_mbps(octets), ..result }
}

/// What is to be known of a `flow` of `load` that was held so.
fn seen<'a>(load: &'a Load, flow: &Flow, spans: &'a [Held]) -> Seen<'a> {
    Seen { way: load.way(flow.way), spans, round_trip: flow.short_round_trip() }
}

fn count(flows: &[Flow], is: impl Fn(&Flow) -> bool) -> u64 {
    flows.iter().filter(|flow| is(flow)).count() as u64
}

/// How many of so many datagrams that were `sent` in `time` are under way at its end, where their way takes as long as it does mostly. Of a queue that grows all the time
/// this is half of what is in it.
fn under_way(sent: u64, flows: &[Flow], time: Duration) -> u64 {
    let mut all = Times::default();
    flows.iter().filter_map(|flow| flow.delays.as_ref()).for_each(|delays| all.add(delays));
    let Some(mostly) = all.quantile(0.5).map(Duration::as_nanos).filter(|_| !time.is_zero()) else {
        return 0;
    };
    let count = u128::from(sent) * u128::from(mostly) / u128::from(time.as_nanos());
    u64::try_from(count).unwrap_or(u64::MAX).saturating_add(1)
}

/// The round trips of the echoes of `load`, where it is made of them.
fn round_trips(world: &World, hosts: &BTreeMap<String, HostId>, load: &Load) -> Option<Times> {
    let mut pings = load.from.iter().filter_map(|from| program::<Ping>(world, hosts, from));
    let mut all = pings.next()?.round_trips().clone();
    pings.for_each(|ping| all.add(ping.round_trips()));
    Some(all)
}

/// What is at least that part as busy as the busiest line on a way is next to as busy.
const NEXT_TO: f64 = 0.99;

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

/// When the last session had written all it was to write.
fn written(sources: &[(usize, &Source)]) -> Option<Instant> {
    let sent = sources.iter().flat_map(|(_, source)| source.sent());
    let all: Option<Vec<Instant>> = sent.map(|sent| sent.written).collect();
    all?.into_iter().max()
}

/// When the first session was opened.
fn opened(sources: &[(usize, &Source)]) -> Option<Instant> {
    sources.iter().flat_map(|(_, source)| source.sent()).filter_map(|sent| sent.opened).min()
}

/// From the first call of `flows` to the end of the last, as far as both are between two times, where that is when they are measured.
fn exchange_time(flows: &[(Progress, Flow)], measured: (Instant, Instant)) -> (Instant, Duration) {
    let times = || flows.iter().map(|(_, flow)| flow.own_time(measured));
    let began = times().map(|(began, _)| began).min().unwrap_or(measured.0);
    let ended = times().map(|(began, time)| began + time).max().unwrap_or(began);
    (began, ended.saturating_since(began))
}

/// From the opening of the first session to the end of the last, or to `cut_off`, where the run was over before that.
fn transfer_time(sources: &[(usize, &Source)], sinks: &[Vec<Progress>], cut_off: Option<Instant>) -> Duration {
    let progress = sinks.iter().flatten();
    let ended = cut_off.or_else(|| progress.filter_map(|it| it.ended.or(it.last)).max());
    match (opened(sources), ended) {
        (Some(opened), Some(ended)) => ended.saturating_since(opened),
        _ => Duration::ZERO,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a printed figure needs no more than 53 bits")]
pub(super) const fn lossy(count: u64) -> f64 {
    count as f64
}
