//! The flows of a load, measured: what came of each since a moment, what its sender did, and what held it.

use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::{Duration, Instant};
use kumiki_inet::tcp::Record;
use kumiki_sim::{HostId, World};

use super::super::away::PathOutages;
use super::super::ends::TransferEnds;
use super::super::given_up;
use super::super::held::{self, HeldSpan};
use super::super::load::{Kind, Load};
use super::super::measure::{Snapshot, program};
use super::{Flow, Matched, Pair, Progress, Sender, matched, pair_of, records};
use crate::workload::rpc::Exchanged;
use crate::workload::{RpcClient, Times, UdpSink};
use kumiki_media::Waits;

/// What the flows of a load are measured from.
pub(in crate::experiment) struct FlowMeasurement<'a> {
    pub(in crate::experiment) world: &'a World,
    pub(in crate::experiment) hosts: &'a BTreeMap<String, HostId>,
    pub(in crate::experiment) load: &'a Load,
    /// What has come, by reading program and session.
    pub(in crate::experiment) sinks: &'a [Vec<Progress>],
    /// What had come when the measurement began.
    pub(in crate::experiment) before: &'a Snapshot,
    /// From when until when it is asked what held them, unless they are transfers.
    pub(in crate::experiment) held_between: (Instant, Instant),
    /// When packets of exchanges waited in queues, where that is on record.
    pub(in crate::experiment) waits: Option<&'a Waits>,
    /// When ways of the load were not there.
    pub(in crate::experiment) away: &'a PathOutages,
    /// What senders had done when their transfers opened and ended.
    pub(in crate::experiment) ends: &'a TransferEnds,
}

/// The connection of TCP of a flow, as both its ends have it on record.
struct RecordedConnection<'a> {
    /// As the end has it that writes.
    pair: Pair,
    /// Of that end.
    own: Option<&'a Record>,
    /// Of the other.
    peer: Option<&'a Record>,
    /// Whether both write: one asks, and the other answers.
    is_of_exchanges: bool,
}

impl<'a> RecordedConnection<'a> {
    /// As the other end has it.
    const fn back(&self) -> Pair {
        (self.pair.1, self.pair.0)
    }

    /// The record of the other end, where that writes as well.
    fn writing_peer(&self) -> Option<&'a Record> {
        self.peer.filter(|_| self.is_of_exchanges)
    }

    /// Both records, where both ends write.
    fn both(&self) -> Vec<&'a Record> {
        self.writing_peer().into_iter().flat_map(|peer| [Some(peer), self.own]).flatten().collect()
    }
}

impl FlowMeasurement<'_> {
    /// The sessions of the load, writer by writer and in the order of opening: what came of each, that since the
    /// measurement began, and what held it from one time to another, or, of a transfer, in its own.
    pub(in crate::experiment) fn flows(&self) -> Vec<(Progress, Flow)> {
        let Self { world, hosts, load, .. } = *self;
        let matched = matched(world, hosts, load, self.sinks);
        let unanswered = given_up::unanswered(world, hosts, &matched);
        let ends: BTreeSet<&str> = matched.iter().flat_map(|it| load.ends(it.way)).collect();
        let on_record: BTreeMap<&str, BTreeMap<Pair, &Record>> =
            ends.into_iter().map(|host| (host, records(world, hosts, host).collect())).collect();
        let record = |host: &str, pair: Pair| on_record.get(host)?.get(&pair).copied();
        let flow = |(number, matched): (usize, Matched<'_>)| {
            let called = unanswered.get(&number).copied();
            let pair = called.unwrap_or_else(|| pair_of(world, hosts, load, &matched.writer));
            let mut ends = load.ends(matched.way);
            let connection = RecordedConnection {
                pair,
                own: ends.next().and_then(|host| record(host, pair)),
                peer: ends.next().and_then(|host| record(host, (pair.1, pair.0))),
                is_of_exchanges: load.is_of_exchanges(),
            };
            self.flow(matched, &connection)
        };
        matched.into_iter().enumerate().map(flow).collect()
    }

    /// A session on `connection`: what it brought, what its sender did, and what held it.
    fn flow(&self, session: Matched<'_>, connection: &RecordedConnection<'_>) -> (Progress, Flow) {
        let Self { world, hosts, load, before, .. } = *self;
        let Matched { from, writer, place, way } = session;
        let progress = place.and_then(|(sink, number)| self.sinks.get(sink)?.get(number)).cloned().unwrap_or_default();
        let earlier = place.and_then(|(sink, number)| before.octets.get(sink)?.get(number)).copied().unwrap_or(0);
        let flow = Flow::of(&writer, &progress, earlier, (before.at, world.now()));
        let called = flow.called_at.filter(|_| self.is_of_transfers() && flow.opened);
        let exchanged = place.and_then(|(client, number)| exchanged(world, hosts, load, client).nth(number));
        let exchanges = exchanged.map(|done| done.times.measured());
        let asked = exchanges.as_ref().zip(exchanged);
        let delays = place.and_then(|(sink, number)| delays(world, hosts, load, sink).nth(number));
        let spans = self.spans(connection, exchanged, way, self.held_between((&flow, way.0), &progress));
        // What streams is waited for by a full buffer as well.
        let both = connection.both();
        let causes = held::causes(&spans, &both);
        let flow = Flow {
            sender: self.sender(connection),
            from: from.to_owned(),
            opening: called.map_or(Duration::ZERO, |called| flow.began.saturating_since(called)),
            delays: delays.map(Times::measured),
            requested: asked.map_or(0, |(times, done)| times.len().saturating_mul(done.request.into())),
            with_opening: exchanged.map(|done| done.with_opening.measured()),
            exchanges,
            way,
            held: held::times(&spans),
            caused: held::times(&causes),
            coalesced: held::coalesced(&spans, &both),
            causes,
            without_power: without_power(world, hosts, load, way, before.at),
            powerless_since: Some(power_until(world, hosts, load, way, before.at)).filter(|at| *at < world.now()),
            ..flow
        };
        (progress, flow)
    }

    /// Whether each flow is measured in a time of its own.
    fn is_of_transfers(&self) -> bool {
        self.load.is_measured_whole() && self.load.kind == Kind::Stream
    }

    /// From when until when it is asked what held `flow`, which that writer writes and of which so much has come.
    fn held_between(&self, (flow, writer): (&Flow, usize), came: &Progress) -> (Instant, Instant) {
        let Self { world, hosts, load, before, .. } = *self;
        let own = (flow.began, flow.began + flow.time);
        let (from, until) = if self.is_of_transfers() { own } else { self.held_between };
        // What has an end and comes to none is held by nothing beyond what is measured of it.
        let over = flow.over.filter(|_| load.until_done && load.kind == Kind::Rpc && flow.aborted.is_some());
        let of_file = if load.kind == Kind::File { given_up::end_of_file(world, hosts, load) } else { None };
        // Nor is what stands still for want of power.
        let writes_until = has_power_until(world, hosts, load.from.get(writer), before.at);
        let times = [Some(until), over, came.given_up, of_file];
        (from, times.into_iter().flatten().fold(writes_until, Instant::min))
    }

    /// What held the flow on `connection` from one time to another, in order: of exchanges, those that were
    /// `exchanged`.
    fn spans(
        &self,
        connection: &RecordedConnection<'_>,
        exchanged: Option<&Exchanged>,
        way: (usize, usize),
        (from, until): (Instant, Instant),
    ) -> Vec<HeldSpan> {
        match (connection.own, connection.writing_peer()) {
            (Some(own), Some(other)) => {
                // Who writes a file may be the one that is asked for it.
                let is_asked = connection.pair.0.socket().is_some_and(|local| self.load.servers.contains(&local));
                let (ends, (asks, answers)) =
                    if is_asked { ([other, own], connection.back()) } else { ([own, other], connection.pair) };
                let waits = self.waits.zip(asks.socket().zip(answers.socket()));
                let waits = waits.map_or_else(Vec::new, |(waits, (asks, answers))| waits.between(asks, answers));
                let pauses = exchanged.map_or(&[][..], |done| &done.pauses);
                held::of_exchanges(ends, (pauses, &waits, self.away.stands(way)), from, until)
            }
            (Some(own), None) => own.spans(connection.peer, from, until),
            (None, _) => Vec::new(),
        }
    }

    /// What the sender on `connection` has done since the measurement began; of exchanges both ends, which both send.
    fn sender(&self, connection: &RecordedConnection<'_>) -> Option<Sender> {
        let mut sender = self.since(connection.pair, connection.own?);
        if let Some(other) = connection.writing_peer() {
            sender.add(&self.since(connection.back(), other));
        }
        Some(sender)
    }

    /// What is on `record` since the measurement began, or, of a transfer, between its opening and its end.
    fn since(&self, pair: Pair, record: &Record) -> Sender {
        let at_ends = self.ends.of(&pair).filter(|_| self.load.is_measured_whole());
        match (at_ends, self.before.senders.get(&pair)) {
            (Some(at_ends), _) => Sender::between(record, at_ends),
            (None, Some(earlier)) => Sender::of(record).since(earlier),
            (None, None) => Sender::of(record),
        }
    }
}

/// Until when since `from` the host of `end` has had power: until now, where it has not failed. A host with a program
/// of a load does not get it back.
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

/// How long datagrams were in flight to the reader number `place`, by session.
fn delays<'a>(
    world: &'a World,
    hosts: &BTreeMap<String, HostId>,
    load: &Load,
    place: usize,
) -> impl Iterator<Item = &'a Times> {
    let sink = load.to.get(place).and_then(|to| program::<UdpSink>(world, hosts, to));
    sink.into_iter().flat_map(UdpSink::delays)
}
