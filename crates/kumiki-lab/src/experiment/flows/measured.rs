//! The flows of a load, measured: what came of each since a moment, what its sender did, and what held it.

use std::collections::BTreeMap;

use kumiki_graph::Instant;
use kumiki_inet::tcp::Record;
use kumiki_sim::{HostId, World};

use super::super::away::Away;
use super::super::ends::Ends;
use super::super::given_up;
use super::super::held;
use super::super::load::{Kind, Load};
use super::super::measure::{Snapshot, program};
use super::{Flow, Matched, Pair, Progress, Sender, matched, pair_of, records};
use crate::medium::Waits;
use crate::workload::rpc::Exchanged;
use crate::workload::{RpcClient, Times, UdpSink};

/// The sessions of `load`, writer by writer and in the order of opening: what came of each, that since `before`, and what held it from one time to another,
/// or, of a transfer, in its own.
pub(in crate::experiment) fn flows(
    world: &World,
    hosts: &BTreeMap<String, HostId>,
    load: &Load,
    sinks: &[Vec<Progress>],
    (before, held_between): (&Snapshot, (Instant, Instant)),
    (waits, away): (Option<&Waits>, &Away),
    ends: &Ends,
) -> Vec<(Progress, Flow)> {
    let mut all = Vec::new();
    let mut records_of: BTreeMap<&str, BTreeMap<Pair, &Record>> = BTreeMap::new();
    let matched = matched(world, hosts, load, sinks);
    let unanswered = given_up::unanswered(world, hosts, &matched);
    for (number, matched) in matched.into_iter().enumerate() {
        let Matched { from, writer, place, way } = matched;
        let reader = load.to.get(load.readers(way.0).start + way.1);
        for host in [Some(from), reader.map(|(host, _)| host.as_str())].into_iter().flatten() {
            records_of.entry(host).or_insert_with(|| records(world, hosts, host).collect());
        }
        let progress = place.and_then(|(sink, number)| sinks.get(sink)?.get(number)).cloned().unwrap_or_default();
        let earlier = place.and_then(|(sink, number)| before.octets.get(sink)?.get(number)).copied().unwrap_or(0);
        let pair = unanswered.get(&number).copied().unwrap_or_else(|| pair_of(world, hosts, load, &writer));
        let back = (pair.1, pair.0);
        let record = records_of.get(from).and_then(|records| records.get(&pair)).copied();
        let peer = reader.and_then(|(host, _)| records_of.get(host.as_str())?.get(&back));
        let writes_until = has_power_until(world, hosts, load.from.get(way.0), before.at);
        // What stands still for want of power is held by nothing.
        let mut flow = Flow::of(&writer, &progress, earlier, (before.at, world.now()));
        let is_transfer = load.is_measured_whole() && load.kind == Kind::Stream;
        let (held_from, held_until) = if is_transfer { (flow.began, flow.began + flow.time) } else { held_between };
        // Nor is what has an end and comes to none, beyond what is measured of it.
        let over = flow.over.filter(|_| load.until_done && load.kind == Kind::Rpc && flow.aborted.is_some());
        let of_file = if load.kind == Kind::File { given_up::end_of_file(world, hosts, load) } else { None };
        let times = [Some(held_until), over, progress.given_up, of_file];
        let held_until = times.into_iter().flatten().fold(writes_until, Instant::min);
        if let Some(called) = flow.called_at.filter(|_| is_transfer && flow.opened) {
            flow.opening = flow.began.saturating_since(called);
        }
        let exchanged = place.and_then(|(client, number)| exchanged(world, hosts, load, client).nth(number));
        let writes_too = peer.copied().filter(|_| load.is_of_exchanges());
        let spans = match (record, writes_too) {
            (Some(own), Some(other)) => {
                // Who writes a file may be the one that is asked for it.
                let is_asked = pair.0.socket().is_some_and(|local| load.servers.contains(&local));
                let (ends, sockets) = if is_asked { ([other, own], back) } else { ([own, other], pair) };
                let waits = waits.zip(sockets.0.socket().zip(sockets.1.socket()));
                let waits = waits.map_or_else(Vec::new, |(waits, (asks, answers))| waits.between(asks, answers));
                let pauses = exchanged.map_or(&[][..], |done| &done.pauses);
                held::of_exchanges(ends, (pauses, &waits, away.stands(way)), held_from, held_until)
            }
            (Some(record), None) => record.spans(peer.copied(), held_from, held_until),
            (None, _) => Vec::new(),
        };
        // What streams is waited for by a full buffer as well.
        let senders: Vec<&Record> = writes_too.into_iter().chain(record.filter(|_| writes_too.is_some())).collect();
        let causes = held::causes(&spans, &senders);
        let without_power = without_power(world, hosts, load, way, before.at);
        let powerless_since = Some(power_until(world, hosts, load, way, before.at)).filter(|at| *at < world.now());
        let at_ends = |pair: &Pair| ends.of(pair).filter(|_| load.is_measured_whole());
        let since = |pair: &Pair, record: &Record| match (at_ends(pair), before.senders.get(pair)) {
            (Some(at_ends), _) => Sender::between(record, at_ends),
            (None, Some(earlier)) => Sender::of(record).since(earlier),
            (None, None) => Sender::of(record),
        };
        let mut sender = record.map(|record| since(&pair, record));
        if let (Some(sender), Some(other)) = (&mut sender, writes_too) {
            sender.add(&since(&back, other));
        }
        let delays = place.and_then(|(sink, number)| delays(world, hosts, load, sink).nth(number));
        let delays = delays.map(Times::measured);
        let exchanges = exchanged.map(|done| done.times.measured());
        let asked = exchanges.as_ref().zip(exchanged);
        let requested = asked.map_or(0, |(times, done)| times.len().saturating_mul(done.request.into()));
        let with_opening = exchanged.map(|done| done.with_opening.measured());
        let from = from.to_owned();
        let flow = Flow {
            sender,
            from,
            delays,
            exchanges,
            requested,
            with_opening,
            way,
            held: held::times(&spans),
            caused: held::times(&causes),
            coalesced: held::coalesced(&spans, &senders),
            causes,
            without_power,
            powerless_since,
            ..flow
        };
        all.push((progress, flow));
    }
    all
}

/// Until when since `from` the host of `end` has had power: until now, where it has not failed. A host with a program of a load does not get it back.
fn has_power_until(
    world: &World,
    hosts: &BTreeMap<String, HostId>,
    end: Option<&(String, String)>,
    from: Instant,
) -> Instant {
    let failed = end.and_then(|(host, _)| world.down_since(*hosts.get(host)?));
    failed.map_or_else(|| world.now(), |failed| failed.max(from))
}

/// Until when since `from` both that writer of `load` and that reader of it have had power.
fn power_until(
    world: &World,
    hosts: &BTreeMap<String, HostId>,
    load: &Load,
    (writer, reader): (usize, usize),
    from: Instant,
) -> Instant {
    let ends = [load.from.get(writer), load.to.get(load.readers(writer).start + reader)];
    ends.map(|end| has_power_until(world, hosts, end, from)).into_iter().min().unwrap_or(from)
}

/// For which part of the time since `from` that writer of `load`, or that reader of it, has had no power.
pub(in crate::experiment) fn without_power(
    world: &World,
    hosts: &BTreeMap<String, HostId>,
    load: &Load,
    way: (usize, usize),
    from: Instant,
) -> f64 {
    let until = power_until(world, hosts, load, way, from);
    let [whole, without] = [from, until].map(|since| world.now().saturating_since(since).as_secs_f64());
    if whole > 0.0 { without / whole } else { 0.0 }
}

/// What each session of the asking program number `place` did, where `load` is of exchanges.
fn exchanged<'a>(
    world: &'a World,
    hosts: &BTreeMap<String, HostId>,
    load: &Load,
    place: usize,
) -> impl Iterator<Item = &'a Exchanged> {
    let client = load.from.get(place).filter(|_| load.kind == Kind::Rpc);
    let client = client.and_then(|from| program::<RpcClient>(world, hosts, from));
    client.into_iter().flat_map(RpcClient::exchanged)
}

/// How long datagrams were under way to the reader number `place`, by session.
fn delays<'a>(
    world: &'a World,
    hosts: &BTreeMap<String, HostId>,
    load: &Load,
    place: usize,
) -> impl Iterator<Item = &'a Times> {
    let sink = load.to.get(place).and_then(|to| program::<UdpSink>(world, hosts, to));
    sink.into_iter().flat_map(UdpSink::delays)
}
