//! A load between two moments: what it brought, for how long it is measured, and what held its flows.

use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant};
use kumiki_sim::{HostId, World};

use super::moment::Snapshot;
use super::writers::{all_done, file_user, is_done, program, sources};
use super::{LoadResult, lossy};
use crate::experiment::ends::Ends;
use crate::experiment::failed::{self, unconnected, unfinished};
use crate::experiment::flows::{self, Flow, Progress, jain, progress};
use crate::experiment::given_up;
use crate::experiment::held::Held;
use crate::experiment::idle::{Idle, Seen};
use crate::experiment::load::{Kind, Load};
use crate::experiment::occupied::AllOccupied;
use crate::experiment::power;
use crate::experiment::presence::Presence;
use crate::medium::Waits;
use crate::workload::{FileUser, Ping, Source, Times};

/// What is at least that part as busy as the busiest line on a way is next to as busy.
const NEXT_TO: f64 = 0.99;

/// Compares two moments of the load `name`; `is_alone`: there is no other.
pub(super) fn compare(
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
