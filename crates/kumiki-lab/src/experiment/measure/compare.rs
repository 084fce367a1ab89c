//! A load between two moments: what it brought, for how long it is measured, and what held its flows.

use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant};
use kumiki_sim::{HostId, World};

use super::moment::Snapshot;
use super::writers::{all_done, file_user, is_done, program, sources};
use super::{LoadResult, lossy};
use crate::experiment::ends::TransferEnds;
use crate::experiment::failed::{self, unconnected, unfinished};
use crate::experiment::flows::{self, Flow, FlowMeasurement, Progress, jain, progress};
use crate::experiment::given_up;
use crate::experiment::held::HeldSpan;
use crate::experiment::idle::{HeldFlow, HeldWhileIdle, Idle};
use crate::experiment::load::{Kind, Load};
use crate::experiment::occupied::AllOccupied;
use crate::experiment::path::CrossedLine;
use crate::experiment::power;
use crate::experiment::presence::Presence;
use crate::experiment::units::Units;
use crate::workload::ping::Echoes;
use crate::workload::{FileUser, Ping, Source, Times};
use kumiki_media::Waits;

/// What is at least that part as busy as the busiest line on a way is next to as busy.
const NEXT_TO: f64 = 0.99;

/// Compares two moments of the load `name`; `is_alone`: there is no other.
pub(super) fn compare(
    world: &World,
    hosts: &BTreeMap<String, HostId>,
    (before, after): (&Snapshot, &Snapshot),
    (name, load, is_alone): (&str, &Load, bool),
    (presence, occupied, ends): (&Presence, &AllOccupied, &TransferEnds),
    waits: Option<&Waits>,
) -> LoadResult {
    let beginning = Snapshot::default();
    // What has an end of its own is measured from its beginning, whatever the others wait for.
    let before = if load.is_measured_whole() { &beginning } else { before };
    let between = LoadBetween {
        world,
        hosts,
        load,
        before,
        after,
        sinks: progress(world, hosts, load),
        sources: sources(world, hosts, load).collect(),
        user: file_user(world, hosts, load),
        waits,
        ends,
    };
    let lines = LinesOfLoad::of((name, load), (before, after), presence, occupied);
    let (mut flows, measured) = between.measured(is_alone);
    let (since, time) = measured;
    for (came, flow) in &mut flows {
        between.finish(came, flow, measured, &lines);
    }
    let mut flows: Vec<Flow> = flows.into_iter().map(|(_, flow)| flow).collect();
    let stood = between.stood(&mut flows, measured, &lines);
    let has_own_time = load.is_measured_whole() || between.has_exchanges();
    let part = if has_own_time { None } else { presence.part(name, between.moments()) };
    let result = LoadResult {
        began: since,
        time,
        until: after.at,
        part,
        jain: jain(&flows),
        line: between.line(&flows, &lines),
        without_power: between.without_power(&flows, measured),
        has_end: load.until_done,
        stood,
        waited: between.waited(part.map_or(time, |(_, part)| part).as_secs_f64()),
        page_waits: after.page_waits - before.page_waits,
        wrong: between.sinks.iter().flatten().find_map(|it| it.wrong),
        failure: between.failure(&flows),
        unconnected: unconnected(world, hosts, load, after.gone.as_ref()),
        cut_off: failed::why_cut_off(load, after.gone.as_ref()),
        round_trips: round_trips(world, hosts, load),
        echoes: after.away.echoes,
        away: after.away.told(before.at),
        unanswered: load.kind == Kind::Ping
            && all_done(world, hosts, load, |ping: &Ping| ping.echoes().sent > 0 && ping.echoes().answered == 0),
        ..between.counted(&flows, (part.unwrap_or(measured), time), lines.given_up)
    };
    let octets = flows.iter().map(|flow| flow.octets).sum();
    LoadResult { goodput_mbps: result.rate_mbps(octets), flows, ..result }
}

/// The lines on the ways of a load, between two moments.
struct LinesOfLoad<'a> {
    /// How busy each was while the load wrote.
    shares: BTreeMap<&'a CrossedLine, f64>,
    /// What part of what came to it the queue gave up that gave up the largest.
    given_up: f64,
    idle: Idle,
}

impl<'a> LinesOfLoad<'a> {
    /// Those of the load `name`.
    fn of(
        (name, load): (&str, &Load),
        (before, after): (&'a Snapshot, &'a Snapshot),
        presence: &'a Presence,
        occupied: &AllOccupied,
    ) -> Self {
        Self {
            shares: presence.shares(name, &before.lines, &after.lines),
            given_up: presence.given_up(name, &before.lines, &after.lines),
            idle: Idle::of(load.ways.iter().flatten().flatten(), occupied),
        }
    }
}

/// A load between two moments.
struct LoadBetween<'a> {
    world: &'a World,
    hosts: &'a BTreeMap<String, HostId>,
    load: &'a Load,
    before: &'a Snapshot,
    after: &'a Snapshot,
    /// By reading program and session.
    sinks: Vec<Vec<Progress>>,
    sources: Vec<(usize, &'a Source)>,
    user: Option<&'a FileUser>,
    waits: Option<&'a Waits>,
    ends: &'a TransferEnds,
}

impl LoadBetween<'_> {
    /// When both moments are.
    const fn moments(&self) -> (Instant, Instant) {
        (self.before.at, self.after.at)
    }

    /// Whether it is so many exchanges: that has an end, but what came before it was measured does not count.
    fn has_exchanges(&self) -> bool {
        self.load.until_done && self.load.kind == Kind::Rpc
    }

    /// Whether what has not begun at the end was to begin: what has not begun when it is time to stop never was.
    fn was_to_begin(&self) -> bool {
        self.load.stop.is_none_or(|stop| self.after.at < stop)
    }

    /// Its flows, with what held them between two times.
    fn flows(&self, held_between: (Instant, Instant)) -> Vec<(Progress, Flow)> {
        let Self { world, hosts, load, before, after, waits, ends, .. } = *self;
        let (sinks, away) = (&self.sinks, &after.away);
        FlowMeasurement { world, hosts, load, sinks, before, held_between, waits, away, ends }.flows()
    }

    /// Its flows, and from when on and for how long it is measured.
    fn measured(&self, is_alone: bool) -> (Vec<(Progress, Flow)>, (Instant, Duration)) {
        let Self { load, before, after, .. } = *self;
        let is_whole = load.is_measured_whole();
        let arrivals = self.arrivals(is_alone);
        let (began, time) = (self.began(), self.time(arrivals));
        let first_arrival = || arrivals.filter(|_| !is_whole).map(|(first, _)| first);
        let since = began.or_else(first_arrival).unwrap_or(before.at);
        // What has an end is held from its opening on, and by nothing once it is over.
        let held = began.filter(|_| is_whole && !time.is_zero()).map(|began| (began, began + time));
        // What never opened has no time in which anything could.
        let never = (before.at, if load.kind == Kind::File { before.at } else { after.at });
        let flows = self.flows(held.unwrap_or(never));
        let exchanged = self.has_exchanges().then(|| exchange_time(&flows, self.moments()));
        let measured = exchanged.unwrap_or((since, time));
        (flows, measured)
    }

    /// The last arrivals before both moments, where what is between them is the time that is measured.
    /// Several loads are compared, so the time is the same for all. A silence at an end belongs to what is measured.
    fn arrivals(&self, is_alone: bool) -> Option<(Instant, Instant)> {
        let Self { load, before, after, .. } = *self;
        before.last.zip(after.last).filter(|(first, last)| {
            last > first && is_alone && load.is_steady && !before.is_silent() && !after.is_silent()
        })
    }

    /// When the file began to be moved, as its user wants that to be measured.
    fn file_began(&self) -> Option<Instant> {
        self.user.and_then(if self.load.from_request { FileUser::begun } else { FileUser::opened })
    }

    /// When it began, where its time begins with that.
    fn began(&self) -> Option<Instant> {
        match self.load.kind {
            Kind::File => self.file_began(),
            Kind::Stream if self.load.is_measured_whole() => opened(&self.sources),
            Kind::Stream | Kind::Units | Kind::Ping | Kind::Rpc => None,
        }
    }

    /// For how long it is measured.
    fn time(&self, arrivals: Option<(Instant, Instant)>) -> Duration {
        let Self { world, hosts, load, before, after, .. } = *self;
        match arrivals {
            _ if load.kind == Kind::File => {
                let given_up = || given_up::of_file(world, hosts, load).map(|(at, _)| at);
                let ended = self.user.and_then(FileUser::over).or_else(given_up).unwrap_or(after.at);
                self.file_began().map_or(Duration::ZERO, |began| ended.saturating_since(began))
            }
            _ if load.until_done && load.kind == Kind::Stream => {
                let written = if load.sender_clock { written(&self.sources) } else { None };
                transfer_time(&self.sources, &self.sinks, written.or_else(|| self.cut_off()))
            }
            Some((first, last)) => last.saturating_since(first),
            None => after.at.saturating_since(before.at),
        }
    }

    /// The later moment, where its transfers are not done by then.
    fn cut_off(&self) -> Option<Instant> {
        // A sender that never learns that all has come is no reason to wait.
        let is_over = || self.flows(self.moments()).iter().all(|(_, flow)| flow.is_over());
        let done = is_done(self.world, self.hosts, self.load) || (!self.sources.is_empty() && is_over());
        (!done).then_some(self.after.at)
    }

    /// For which part of the time in which it wrote the writing programs waited, by host.
    fn waited(&self, writes_for: f64) -> BTreeMap<String, f64> {
        let mut waited = BTreeMap::new();
        let busy_of: BTreeMap<usize, u64> = self.sources.iter().map(|(place, it)| (*place, it.busy())).collect();
        for (number, (host, _)) in self.load.from.iter().enumerate() {
            let of = |snapshot: &Snapshot| snapshot.waited.get(number).copied().unwrap_or_default();
            let busy = busy_of.get(&number).map_or(1.0, |busy| lossy((*busy).max(1)));
            let share = (of(self.after) - of(self.before)).as_secs_f64() / busy;
            *waited.entry(host.clone()).or_default() += if writes_for > 0.0 { share / writes_for } else { 0.0 };
        }
        waited
    }

    /// Says of a `flow` what only the lines on its way, and the time that is measured, tell.
    fn finish(&self, came: &Progress, flow: &mut Flow, (since, time): (Instant, Duration), lines: &LinesOfLoad<'_>) {
        let load = self.load;
        let shares = || load.way(flow.way).iter().filter_map(|line| Some((line, *lines.shares.get(line)?)));
        let most = shares().map(|(_, share)| share).reduce(f64::max).unwrap_or(0.0);
        let busiest = shares().filter(|(_, share)| *share >= most * NEXT_TO).map(|(line, _)| line.clone()).collect();
        flow.busiest = busiest;
        if self.has_exchanges() {
            (flow.began, flow.time) = flow.own_time(self.moments());
        } else if !load.is_measured_whole() || load.kind != Kind::Stream {
            (flow.began, flow.time) = (since, time);
        }
        flow.longest_gap = flow.longest_silence(came);
        // What has an end is there for its own time alone; beside that nothing is said of the time in which a line was
        // not there.
        let own = lines.idle.busiest(load.way(flow.way), (flow.began, flow.began + flow.time));
        flow.line = if load.until_done { own.unwrap_or(most) } else { own.unwrap_or_default().max(most) };
        let is_to_begin = flow.is_unbegun() && (load.until_done || !self.was_to_begin());
        let between = self.after.at.saturating_since(self.before.at);
        flow.is_to_come = is_to_begin || (load.until_done && flow.has_just_begun(between));
    }

    /// What held each of `flows`, and all together, while the lines on their ways were idle.
    fn stood(&self, flows: &mut [Flow], (since, time): (Instant, Duration), lines: &LinesOfLoad<'_>) -> HeldWhileIdle {
        let load = self.load;
        let causes: Vec<Vec<HeldSpan>> = flows.iter_mut().map(|flow| core::mem::take(&mut flow.causes)).collect();
        for (flow, spans) in flows.iter_mut().zip(&causes) {
            let own = core::iter::once(seen(load, flow, spans));
            flow.stood = lines.idle.stood((flow.began, flow.began + flow.time), own);
            let each = load.way(flow.way).iter().filter_map(|line| load.propagation.get(line));
            flow.propagation = each.fold(Duration::ZERO, |sum, it| sum + *it);
        }
        let each = flows.iter().zip(&causes).map(|(flow, spans)| seen(load, flow, spans));
        lines.idle.stood((since, since + time), each)
    }

    /// How busy the busiest line was on the way of whichever flow had the least busy one. Echoes are no flows, but go
    /// there and back.
    fn line(&self, flows: &[Flow], lines: &LinesOfLoad<'_>) -> f64 {
        let shares = |way| self.load.way(way).iter().filter_map(|line| lines.shares.get(line).copied());
        let of_echoes = self.asked().map(|way| shares(way).reduce(f64::max).unwrap_or(0.0));
        flows.iter().map(|flow| flow.line).chain(of_echoes).reduce(f64::min).unwrap_or(0.0)
    }

    /// See `LoadResult::without_power`.
    fn without_power(&self, flows: &[Flow], (since, time): (Instant, Duration)) -> f64 {
        let Self { world, hosts, load, before, .. } = *self;
        let of_echoes = self.asked().map(|way| flows::without_power(world, hosts, load, way, before.at));
        of_echoes.reduce(f64::min).unwrap_or_else(|| {
            let has_end = load.until_done;
            let waits = if has_end { power::waits_for_power(flows, (since, since + time)) } else { Duration::ZERO };
            if time.is_zero() { 0.0 } else { waits.as_secs_f64() / time.as_secs_f64() }
        })
    }

    /// The ways of echoes.
    fn asked(&self) -> impl Iterator<Item = (usize, usize)> {
        self.load.pairs().filter(|_| self.load.kind == Kind::Ping)
    }

    /// Why the file did not come to its end, where it did not.
    fn failure(&self, flows: &[Flow]) -> Option<String> {
        let Self { world, hosts, load, after, .. } = *self;
        let user = self.user.filter(|user| user.over().is_none() || user.failure().is_some())?;
        let octets = flows.iter().map(|flow| flow.octets).sum();
        Some(unfinished(user, octets, given_up::of_file(world, hosts, load), after.gone.as_ref()))
    }

    /// What part of its datagrams, these `units`, or of its echoes was lost.
    fn lost_share(&self, units: Option<&Units>) -> Option<f64> {
        units.map_or_else(|| self.after.away.echoes.as_ref().and_then(Echoes::lost_share), Units::lost_share)
    }

    /// What is counted of `flows` and of datagrams, which were written for a `part` of the `time`, where a queue gave
    /// up such a part of what came to it.
    fn counted(&self, flows: &[Flow], (part, time): ((Instant, Duration), Duration), given_up: f64) -> LoadResult {
        let Self { load, before, after, .. } = *self;
        // Datagrams that were all sent are over, and have not stopped.
        // Nor have those that are silent for a time.
        let over = load.kind == Kind::Units && (!load.is_steady || is_done(self.world, self.hosts, load));
        let unbegun = if self.was_to_begin() { count(flows, Flow::is_unbegun) } else { 0 };
        let is_whole = load.is_measured_whole();
        let units = (load.kind == Kind::Units).then(|| after.units.since(before.units));
        LoadResult {
            in_flight: units.filter(|_| before.units.sent == 0).map_or(0, |it| in_flight(it.sent, flows, time)),
            stopped: if over { 0 } else { flows::stopped(flows) },
            unfinished: if is_whole { unbegun + count(flows, Flow::is_unfinished) } else { 0 },
            unbegun,
            lost_by_outages: after.away.took_most(units.as_ref(), part),
            lost_in_queues: self.lost_share(units.as_ref()).is_some_and(|lost| lost > 0.0 && given_up * 2.0 > lost),
            units,
            ..LoadResult::default()
        }
    }
}

/// What is to be known of a `flow` of `load` that was held so.
fn seen<'a>(load: &'a Load, flow: &Flow, spans: &'a [HeldSpan]) -> HeldFlow<'a> {
    HeldFlow { way: load.way(flow.way), spans, round_trip: flow.short_round_trip() }
}

fn count(flows: &[Flow], is: impl Fn(&Flow) -> bool) -> u64 {
    flows.iter().filter(|flow| is(flow)).count() as u64
}

/// How many of so many datagrams that were `sent` in `time` are in flight at its end, where their way takes as long as
/// it does mostly. Of a queue that grows all the time this is half of what is in it.
fn in_flight(sent: u64, flows: &[Flow], time: Duration) -> u64 {
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

/// From the first call of `flows` to the end of the last, as far as both are between two times, where that is when they
/// are measured.
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
