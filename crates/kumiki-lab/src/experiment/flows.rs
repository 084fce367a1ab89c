//! The sessions of a load: what each brought, what its sender did, and what held it.

mod connections;

use core::net::SocketAddr;
use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::{Address, Duration, Instant, Reason};
use kumiki_inet::tcp::{Limit, Record};
use kumiki_sim::{HostId, World};

pub(super) use connections::{association, pair_of, records, retransmissions, senders, tcps, writing};

use super::away::Away;
use super::ends::{AtEnds, Ends};
use super::given_up;
use super::held::{self, Held};
use super::idle::Stood;
use super::load::{Kind, Load};
use super::measure::{Snapshot, file_user, lossy, program};
use super::path::Crossed;
use crate::capture::trace::Connection;
use crate::medium::Waits;
use crate::stats;
use crate::workload::gaps::Gaps;
use crate::workload::rpc::Exchanged;
use crate::workload::sink::Received;
use crate::workload::{FileKeeper, FileUser, RpcClient, Sink, Source, Times, UdpSink, UdpSource};

/// More than this part of the time is most of it.
pub(super) const MOST: f64 = 0.5;

/// One session's part.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Flow {
    /// The host that writes.
    pub from: String,
    /// Octets read while measuring.
    pub octets: u64,
    /// And with what was read before.
    pub(super) octets_in_all: u64,
    /// The longest time without progress of that in which it is measured, its beginning (from its call on) and its end included; nothing where it never brought
    /// anything.
    pub longest_gap: Duration,
    /// From its call (the first SYN of TCP) until its reader had all, where it had an end.
    pub completion: Option<Duration>,
    /// Why it ended, if it did not last.
    pub aborted: Option<Reason>,
    /// Whether it was to write: some stay idle.
    pub writes: bool,
    /// Whether its writer has called at all: some begin later.
    pub called: bool,
    /// When it has.
    pub(super) called_at: Option<Instant>,
    /// Whether it was opened at all.
    pub opened: bool,
    /// What its sender did, where it is a connection of TCP; of exchanges both ends, which both send.
    pub sender: Option<Sender>,
    /// How long its datagrams were under way, where it is made of them.
    pub delays: Option<Times>,
    /// How long its exchanges took, where it is made of them.
    pub exchanges: Option<Times>,
    /// Octets of the requests of these.
    pub(super) requested: u64,
    /// The same, of the first from when it called, so with the opening of its connection.
    pub with_opening: Option<Times>,
    /// How long of the measured time nothing had come since its call, where nothing ever did and more was to come.
    waited: Duration,
    /// When it was over, where that is known.
    pub(super) over: Option<Instant>,
    /// Whether it had ended before it was measured.
    pub(super) was_over: bool,
    /// Whether it has not begun and was not to begin in what is measured: what is measured over a time of its own has none, or next to none, and what is to stop had
    /// stopped.
    pub(super) is_to_come: bool,
    /// Its writer and reader, by their numbers in the load and among the readers of the writer.
    pub(super) way: (usize, usize),
    /// For which part of the measured time its writer or its reader had no power.
    pub(super) without_power: f64,
    /// Since when one of them has had none, where that is so at the end.
    pub(super) powerless_since: Option<Instant>,
    /// For which part of the measured time in which it was there, and the load wrote, the busiest line on its way was busy.
    pub(super) line: f64,
    /// When its measurement began: that of a transfer when it was opened.
    pub began: Instant,
    /// How long that had taken a transfer, from its call.
    pub(super) opening: Duration,
    /// How long it was measured: a transfer until it ended, all others as long as their load.
    pub time: Duration,
    /// That line, and others on its way that were next to as busy.
    pub(super) busiest: Vec<Crossed>,
    /// Its rate as a part of the mean of all that want more over that line while it is there, of calls that wait for their answers of these and all calls; where others do.
    pub(super) part: Option<f64>,
    /// Whether that line carries nothing but calls.
    pub(super) is_among_calls: bool,
    /// What held it, in seconds of the measured time, where it is a connection of TCP.
    pub(super) held: BTreeMap<Limit, f64>,
    /// The same as [`held::causes`] has it, from when until when, in order, until they are looked at.
    pub(super) causes: Vec<Held>,
    /// For how long that was, in seconds.
    pub(super) caused: BTreeMap<Limit, f64>,
    /// For how long small segments of its exchanges [waited](held::coalesced), in seconds.
    pub(super) coalesced: f64,
    /// What held it while no line on its way was busy.
    pub(super) stood: Stood,
    /// How long its lines take from one end to the other, when nothing else is on them.
    pub(super) propagation: Duration,
}

/// What a sender did while it was measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Sender {
    /// Segments sent, those sent again among them.
    pub segments_sent: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Times that the retransmission timer ran out.
    pub timeouts: u64,
    /// The round trips that it measured.
    pub round_trips: Times,
}

impl Sender {
    /// All that it did.
    fn of(record: &Record) -> Self {
        Self {
            segments_sent: record.counts.segments_sent,
            retransmissions: record.counts.retransmissions,
            timeouts: record.counts.timeouts,
            round_trips: record.round_trips.clone(),
        }
    }

    /// What it did from the opening of its transfer to the end of that, as far as it has come to one; the round trips are those of the whole connection.
    fn between(record: &Record, at_ends: AtEnds) -> Self {
        let AtEnds { opened, over } = at_ends;
        let until = over.unwrap_or(record.counts);
        Self {
            segments_sent: until.segments_sent.saturating_sub(opened.segments_sent),
            retransmissions: at_ends.sent_again(record.counts),
            timeouts: until.timeouts.saturating_sub(opened.timeouts),
            round_trips: record.round_trips.clone(),
        }
    }

    /// What came after `earlier`, when the measurement began.
    fn since(mut self, earlier: &Self) -> Self {
        self.segments_sent -= earlier.segments_sent;
        self.retransmissions -= earlier.retransmissions;
        self.timeouts -= earlier.timeouts;
        self.round_trips = self.round_trips.measured();
        self
    }

    /// With what another did.
    pub(super) fn add(&mut self, other: &Self) {
        self.segments_sent += other.segments_sent;
        self.retransmissions += other.retransmissions;
        self.timeouts += other.timeouts;
        self.round_trips.add(&other.round_trips);
    }
}

impl Flow {
    /// That of `writer`, which had brought `earlier` octets when it began to be measured.
    fn of(writer: &Writer, came: &Progress, earlier: u64, (from, to): (Instant, Instant)) -> Self {
        let octets = came.octets - earlier;
        let ended = came.ended.or(writer.ended);
        let silent = writer.called.filter(|_| came.last.is_none() && ended.is_none());
        // What ended before is not in what is measured.
        let completed = came.ended.filter(|ended| *ended >= from);
        Self {
            octets,
            octets_in_all: came.octets,
            completion: completed.zip(writer.called).map(|(ended, called)| ended.saturating_since(called)),
            waited: silent.map_or(Duration::ZERO, |since| to.saturating_since(since.max(from))),
            over: writer.end(Some(came)).or(ended),
            was_over: octets == 0 && ended.is_some_and(|ended| ended < from),
            called: writer.called.is_some(),
            called_at: writer.called,
            aborted: writer.aborted.clone().or_else(|| came.aborted.clone()),
            writes: writer.writes,
            opened: writer.opened.is_some(),
            began: writer.opened.unwrap_or(to),
            time: writer
                .opened
                .map_or(Duration::ZERO, |opened| writer.end(Some(came)).unwrap_or(to).saturating_since(opened)),
            ..Self::default()
        }
    }

    /// Its writer and reader, by their numbers in the load and among the readers of the writer.
    #[must_use]
    pub const fn way(&self) -> (usize, usize) {
        self.way
    }

    /// Whether it was to write and its reader does not have all, where it has an end.
    pub(super) const fn is_unfinished(&self) -> bool {
        self.writes && self.called && self.completion.is_none()
    }

    /// Whether nothing of it is to come: it came to its end, or was given up, be it that it never opened.
    pub(super) const fn is_over(&self) -> bool {
        self.over.is_some() || (self.aborted.is_some() && !self.opened)
    }

    /// Whether it was to write and would have begun after the end.
    pub(super) const fn is_unbegun(&self) -> bool {
        self.writes && !self.called
    }

    /// Whether it began so shortly before the end of the time that is measured that nothing could be expected of it.
    pub(super) fn has_just_begun(&self, measured: Duration) -> bool {
        const PART: u64 = 10;
        let enough = STOPPED.min(Duration::from_nanos(measured.as_nanos() / PART));
        self.writes && self.called && self.octets_in_all == 0 && self.over.is_none() && self.waited < enough
    }

    /// Whether it had brought all that it was to bring before it was measured: then its rate says nothing.
    const fn had_all(&self) -> bool {
        self.octets_in_all > 0 && (self.was_over || (self.octets == 0 && self.completion.is_some()))
    }

    /// Whether it is of exchanges and had none to make while it was measured: it paused.
    fn paused_throughout(&self) -> bool {
        let pauses = || !self.held.is_empty() && self.held.keys().all(|limit| *limit == Limit::Application);
        self.octets == 0 && self.exchanges.is_some() && pauses()
    }

    /// Whether its rate is one of those that are compared: it was to write while it was measured.
    fn takes_part(&self) -> bool {
        self.writes && !self.is_to_come && !self.had_all() && !self.paused_throughout()
    }

    /// What it is measured over where it has so many exchanges and its load is measured from one time to another: from its call, the opening that each connection
    /// costs included, to its end.
    pub(super) fn own_time(&self, (from, until): (Instant, Instant)) -> (Instant, Duration) {
        let began = self.called_at.map_or(until, |called| called.clamp(from, until));
        (began, self.over.map_or(until, |over| over.min(until)).saturating_since(began))
    }

    /// The longest of the silences of what `came` that are in the time in which it is measured.
    pub(super) fn longest_silence(&self, came: &Progress) -> Duration {
        let (Some(first), Some(last)) = (came.first, came.last) else {
            return Duration::ZERO;
        };
        let (from, until) = (self.began, self.began + self.time);
        // What was given up is silent for as long as it is measured; what has stopped needs nothing more, and neither does what pauses.
        let until = self.over.filter(|_| self.aborted.is_none()).map_or(until, |over| over.min(until));
        let awaited = self.called_at.map_or(from, |called| called.max(from));
        let before = first.min(until).saturating_since(awaited);
        let behind = came.awaited_since.map(|since| until.saturating_since(last.max(since).max(from)));
        came.gaps.measured.max(before).max(behind.unwrap_or_default()).min(self.time)
    }

    /// Its short round trips: a tenth of them are shorter. The shortest of all is that of the handshake, of which no segment takes any time of the line.
    pub(super) fn short_round_trip(&self) -> Duration {
        const TENTH: f64 = 0.1;
        self.sender.as_ref().and_then(|sender| sender.round_trips.quantile(TENTH)).unwrap_or_default()
    }

    /// Whether its writer or its reader had no power for most of the time.
    pub(super) fn is_without_power(&self) -> bool {
        self.without_power > MOST
    }

    /// Whether it waited for retransmission timers for most of the time: others may fill the line, but that is not what it waits for.
    pub(super) fn is_locked_out(&self) -> bool {
        self.held().iter().any(|(limit, share)| *limit == Limit::Timeout && *share > MOST)
    }

    /// How long it took to be opened, from its call, where it is a transfer.
    #[must_use]
    pub const fn opening(&self) -> Duration {
        self.opening
    }

    /// Until when it was waited for: until it was over, or an end of it had no power any more; nothing where neither is so.
    pub(super) fn waited_until(&self) -> Option<Instant> {
        match (self.over, self.powerless_since) {
            (Some(over), Some(powerless)) => Some(over.min(powerless)),
            (over, powerless) => over.or(powerless),
        }
    }

    /// What it brought over the time in which it was measured, in 10^6 bit/s.
    #[must_use]
    pub fn goodput_mbps(&self) -> f64 {
        rate_mbps(self.octets, self.time)
    }

    /// Whether its program would have written more, or sooner, if that had gone: it is not what is waited for for nearly all of the time.
    pub(super) fn wants_more(&self) -> bool {
        self.sender.is_some() && self.writes && !held::waits_for_program(&self.held())
    }

    /// Whether it is of calls, and waits for their answers for nearly all of the time in which it does not pause.
    pub(super) fn awaits_answers(&self) -> bool {
        self.exchanges.is_some() && self.sender.is_some() && self.writes && !self.wants_more()
    }

    /// How many octets it has on the lines there, or `back`, for each that it brings.
    pub(super) fn carried(&self, back: bool) -> f64 {
        match &self.exchanges {
            Some(_) if !back => lossy(self.requested) / lossy(self.octets.max(1)),
            Some(_) | None => 1.0,
        }
    }

    /// What held it back, as shares of the measured time that add up to 1, the largest first; empty where it is none of TCP.
    #[must_use]
    pub fn held(&self) -> Vec<(Limit, f64)> {
        held::shares(core::slice::from_ref(self), |flow| &flow.held)
    }

    /// The same by what would have to go: a wait of a small segment is one, be it that the peer kept back its acknowledgment.
    #[must_use]
    pub fn causes(&self) -> Vec<(Limit, f64)> {
        held::shares(core::slice::from_ref(self), |flow| &flow.caused)
    }
}

/// What a session has brought so far.
#[derive(Clone, Default)]
pub(super) struct Progress {
    /// Who called, where that is known.
    caller: Address,
    pub(super) octets: u64,
    first: Option<Instant>,
    pub(super) last: Option<Instant>,
    /// Since when something more is to come, where that is later than the last; of exchanges, which may pause. None where nothing is.
    pub(super) awaited_since: Option<Instant>,
    /// The longest times between two arrivals.
    pub(super) gaps: Gaps,
    pub(super) ended: Option<Instant>,
    pub(super) aborted: Option<Reason>,
    /// When the end that answers gave up, of which the one that asks need not hear.
    given_up: Option<Instant>,
    pub(super) wrong: Option<u64>,
}

/// The sessions of each reading program.
pub(super) fn progress(world: &World, hosts: &BTreeMap<String, HostId>, load: &Load) -> Vec<Vec<Progress>> {
    let stream = |received: Received| Progress {
        caller: received.caller,
        octets: received.octets,
        first: received.first,
        last: received.last,
        awaited_since: received.last,
        gaps: received.gaps,
        ended: received.ended,
        aborted: received.aborted,
        given_up: None,
        wrong: received.wrong_at,
    };
    let streams = |sink: &Sink| sink.received().map(stream).collect();
    let put = |keeper: &FileKeeper| keeper.received().map(|it| vec![stream(it)]);
    let got = |user: &FileUser| user.received().map(|it| vec![stream(it)]);
    let units = |sink: &UdpSink| {
        let each = sink.received().map(|received| Progress {
            caller: received.caller,
            octets: received.octets,
            first: received.first,
            last: received.last,
            awaited_since: received.last,
            gaps: received.gaps,
            wrong: received.wrong,
            ..Progress::default()
        });
        each.collect()
    };
    if load.kind == Kind::Rpc {
        // What counts is what comes back: to the programs that ask.
        let of = |from| program::<RpcClient>(world, hosts, from).into_iter().flat_map(RpcClient::exchanged);
        let given_up = given_up::by_servers(world, hosts, load);
        let asked = |done: &Exchanged| Progress {
            caller: done.local,
            octets: done.octets,
            first: done.first,
            last: done.last,
            awaited_since: done.awaited_since,
            gaps: done.gaps,
            ended: done.closed,
            aborted: done.aborted.clone().or_else(|| given_up.get(&done.local).map(|(_, why)| (*why).clone())),
            given_up: given_up.get(&done.local).map(|(at, _)| *at),
            wrong: done.wrong_at,
        };
        return load.from.iter().map(|from| of(from).map(asked).collect()).collect();
    }
    let of = |to| {
        let stream = program::<Sink>(world, hosts, to).map(streams);
        let stream = stream.or_else(|| program::<FileKeeper>(world, hosts, to).and_then(put));
        let stream = stream.or_else(|| program::<FileUser>(world, hosts, to).and_then(got));
        stream.or_else(|| program::<UdpSink>(world, hosts, to).map(units))
    };
    load.to.iter().map(|to| of(to).unwrap_or_default()).collect()
}

/// A session without progress for so long has stopped.
pub(super) const STOPPED: Duration = Duration::from_secs(1);

/// Flows that brought something and then stood still, and those that should have brought something and did not.
pub(super) fn stopped(flows: &[Flow]) -> u64 {
    let still = |flow: &&Flow| {
        if flow.octets_in_all > 0 { flow.longest_gap >= STOPPED } else { flow.writes && flow.waited >= STOPPED }
    };
    flows.iter().filter(still).count() as u64
}

/// A connection: the address of its sender, and of the peer.
pub(super) type Pair = (Address, Address);

/// Jain's index of the goodput of those that were to write: who got nothing, or never opened, was treated least fairly of all. But who had all before, had nothing to
/// ask for, or would have begun later with what has a time of its own, does not count.
pub(super) fn jain(flows: &[Flow]) -> Option<f64> {
    let rates: Vec<f64> = flows.iter().filter(|flow| flow.takes_part()).map(Flow::goodput_mbps).collect();
    stats::jain(&rates)
}

/// So many `octets` in that `time`, in 10^6 bit/s.
pub(super) fn rate_mbps(octets: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { lossy(octets) * 8.0 / time.as_secs_f64() / 1e6 }
}

/// A session of a writer, as far as it is known.
pub(super) struct Writer {
    pub(super) local: Address,
    pub(super) remote: Address,
    /// When it began to call.
    pub(super) called: Option<Instant>,
    opened: Option<Instant>,
    /// When the last datagram left, where no more are to follow.
    ended: Option<Instant>,
    aborted: Option<Reason>,
    /// When the one that called was told so, where it was.
    aborted_at: Option<Instant>,
    writes: bool,
    /// When all had been written, where that is its end.
    written: Option<Instant>,
}

impl Writer {
    /// Whether it has ever been open.
    pub(super) const fn is_opened(&self) -> bool {
        self.opened.is_some()
    }

    /// Whether it was to come to an end and has not, or was never open, for no other reason than silence: what `came` has no end.
    pub(super) fn is_cut_off(&self, has_end: bool, came: Option<&Progress>) -> bool {
        let is_over = self.written.is_some() || came.is_some_and(|came| came.ended.is_some());
        let is_told = self.aborted.as_ref().is_some_and(|why| *why != Reason::TimedOut);
        self.writes && self.called.is_some() && !is_over && !is_told && (has_end || self.opened.is_none())
    }

    /// When it was given up, be it by the other end alone.
    pub(super) fn given_up(&self, came: Option<&Progress>) -> Option<Instant> {
        self.aborted_at.or_else(|| came?.given_up)
    }

    /// When it was over, of which so much `came`: by the clock that its load goes by.
    pub(super) fn end(&self, came: Option<&Progress>) -> Option<Instant> {
        let ended = self.written.or_else(|| came?.ended);
        let is_aborted = self.aborted.is_some() || came.is_some_and(|came| came.aborted.is_some());
        ended.or_else(|| if is_aborted { came.and_then(|came| came.last).or(self.opened) } else { None })
    }
}

/// The sessions of the writing program at `from`, in the order of opening.
fn writers(world: &World, hosts: &BTreeMap<String, HostId>, load: &Load, from: &(String, String)) -> Vec<Writer> {
    let streams = program::<Source>(world, hosts, from).into_iter().flat_map(|source| {
        let each = (0..).zip(source.sent());
        each.map(|(number, it)| Writer {
            local: it.local,
            remote: it.remote,
            called: it.called,
            opened: it.opened,
            ended: None,
            aborted: it.aborted,
            aborted_at: it.aborted_at,
            writes: number < source.busy(),
            written: it.written.filter(|_| load.sender_clock),
        })
    });
    let units = program::<UdpSource>(world, hosts, from).into_iter().flat_map(|source| {
        source.sent().map(|it| Writer {
            local: it.local,
            remote: Address::NONE,
            called: it.first,
            opened: it.first,
            ended: source.ended(&it, world.now()),
            aborted: None,
            aborted_at: None,
            writes: true,
            written: None,
        })
    });
    let file = file_user(world, hosts, load).map(|user| Writer {
        local: Address::NONE,
        remote: Address::NONE,
        called: user.begun(),
        opened: user.opened(),
        ended: None,
        aborted: given_up::why_of_file(world, hosts, load, user),
        aborted_at: None,
        writes: true,
        written: None,
    });
    let rpc = program::<RpcClient>(world, hosts, from).into_iter().flat_map(|client| {
        client.exchanged().map(|it| Writer {
            local: it.local,
            remote: it.remote,
            called: it.called,
            opened: it.opened,
            ended: None,
            aborted: it.aborted.clone(),
            aborted_at: it.aborted_at,
            writes: true,
            written: None,
        })
    });
    streams.chain(units).chain(file).chain(rpc).collect()
}

/// The sessions of one reader that no writer has been found for yet.
struct Unmatched {
    by_caller: BTreeMap<SocketAddr, usize>,
    /// Those of callers without a socket, in the order of being accepted.
    nameless: VecDeque<usize>,
}

impl Unmatched {
    fn of(sessions: &[Progress]) -> Self {
        let (mut by_caller, mut nameless) = (BTreeMap::new(), VecDeque::new());
        for (number, session) in sessions.iter().enumerate() {
            match session.caller.socket() {
                Some(caller) => drop(by_caller.insert(caller, number)),
                None => nameless.push_back(number),
            }
        }
        Self { by_caller, nameless }
    }

    /// The number of the session that `writer` has there, if it got as far.
    fn take(&mut self, writer: &Writer) -> Option<usize> {
        match writer.local.socket() {
            Some(local) => self.by_caller.remove(&local),
            None => writer.opened.and_then(|_| self.nameless.pop_front()),
        }
    }
}

/// The sessions of `load`, writer by writer and in the order of opening: what came of each, that since `before`, and what held it from one time to another,
/// or, of a transfer, in its own.
pub(super) fn flows(
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
pub(super) fn without_power(
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

/// Datagrams of `load` that left while it was measured, that nothing has overtaken and that are lost all the same: their reader has heard nothing for longer than it ever did, and longer
/// than one was ever under way; or nothing at all, a second and more after the first was sent. Where nothing was heard, what waits in media may be all of it,
/// and is not lost.
pub(super) fn unheard(world: &World, hosts: &BTreeMap<String, HostId>, load: &Load) -> u64 {
    let sinks = progress(world, hosts, load);
    let sources = load.from.iter().filter_map(|from| program::<UdpSource>(world, hosts, from));
    let sent = sources.flat_map(UdpSource::sent);
    let mut has_heard = true;
    let unheard = matched(world, hosts, load, &sinks).into_iter().zip(sent).map(|(session, sent)| {
        let heard = session.place.and_then(|(reader, number)| {
            let sink = load.to.get(reader).and_then(|to| program::<UdpSink>(world, hosts, to))?;
            let received = sink.received().nth(number)?;
            let way = sink.delays().nth(number)?.most().unwrap_or_default();
            Some((received.last?, received.gaps.longest + way, received.units, received.lost))
        });
        let since = |at| world.now().saturating_since(at);
        let (is_silent, came) = match heard {
            Some((last, longest, units, lost)) => (since(last) > longest, units + lost),
            None => {
                has_heard = false;
                (sent.first.is_some_and(|first| since(first) > STOPPED), 0)
            }
        };
        if is_silent { sent.units.saturating_sub(came.max(sent.before)) } else { 0 }
    });
    let unheard: u64 = unheard.sum();
    if has_heard { unheard } else { unheard.saturating_sub(world.waiting()) }
}

/// A session of a writer, and that of a reader which is its other end.
pub(super) struct Matched<'a> {
    /// The host that writes.
    pub(super) from: &'a str,
    pub(super) writer: Writer,
    /// The number of the reader among those of the load, and that of the session there; `None` before it got as far.
    pub(super) place: Option<(usize, usize)>,
    /// Writer and reader, by their numbers in the load and among the readers of the writer.
    pub(super) way: (usize, usize),
}

/// The sessions of `load`, writer by writer and in the order of opening, each with that of its reader among `sinks`.
pub(super) fn matched<'a>(
    world: &World,
    hosts: &BTreeMap<String, HostId>,
    load: &'a Load,
    sinks: &[Vec<Progress>],
) -> Vec<Matched<'a>> {
    let mut unmatched: Vec<Unmatched> = sinks.iter().map(|sessions| Unmatched::of(sessions)).collect();
    let mut all = Vec::new();
    for (number, from) in load.from.iter().enumerate() {
        // Of those that ask the reader is the writer itself, with the same sessions.
        let is_rpc = load.kind == Kind::Rpc;
        let mut readers = load.readers(number).enumerate().cycle();
        for (session, writer) in writers(world, hosts, load, from).into_iter().enumerate() {
            let (reader, sink) = readers.next().unwrap_or((0, 0));
            let way = (number, reader);
            if is_rpc {
                all.push(Matched { from: &from.0, writer, place: Some((number, session)), way });
                continue;
            }
            let place = unmatched.get_mut(sink).and_then(|it| it.take(&writer)).map(|number| (sink, number));
            all.push(Matched { from: &from.0, writer, place, way });
        }
    }
    all
}

/// Puts the writing ends of the flows before the other ends of connections: load by load, in the order of the flows.
pub(super) fn writing_first(
    world: &World,
    hosts: &BTreeMap<String, HostId>,
    loads: &[&Load],
    traces: &mut [Connection],
) {
    let mut ranks: BTreeMap<(String, SocketAddr, SocketAddr), usize> = BTreeMap::new();
    for load in loads {
        for Matched { from, writer, .. } in matched(world, hosts, load, &progress(world, hosts, load)) {
            let (local, remote) = pair_of(world, hosts, load, &writer);
            if let (Some(local), Some(remote)) = (local.socket(), remote.socket()) {
                let rank = ranks.len();
                ranks.entry((from.to_owned(), local, remote)).or_insert(rank);
            }
        }
    }
    traces.sort_by_key(|it| ranks.get(&(it.host.clone(), it.local, it.remote)).copied().unwrap_or(usize::MAX));
}
