//! The sessions of a load at both their ends: who writes them, what has come, and which of the one belongs to which of
//! the other.

use core::net::SocketAddr;
use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::{Address, Instant, Reason};
use kumiki_sim::{HostId, World};

use super::super::given_up;
use super::super::load::{Kind, Load};
use super::super::measure::{file_user, program};
use super::pair_of;
use crate::capture::trace::Connection;
use crate::workload::gaps::Gaps;
use crate::workload::rpc::Exchanged;
use crate::workload::sink::Received;
use crate::workload::{FileKeeper, FileUser, RpcClient, Sink, Source, UdpSink, UdpSource};

/// What a session has brought so far.
#[derive(Clone, Default)]
pub(in crate::experiment) struct Progress {
    /// Who called, where that is known.
    pub(super) caller: Address,
    pub(in crate::experiment) octets: u64,
    pub(super) first: Option<Instant>,
    pub(in crate::experiment) last: Option<Instant>,
    /// Since when something more is to come, where that is later than the last; of exchanges, which may pause. None
    /// where nothing is.
    pub(in crate::experiment) awaited_since: Option<Instant>,
    /// The longest times between two arrivals.
    pub(in crate::experiment) gaps: Gaps,
    pub(in crate::experiment) ended: Option<Instant>,
    pub(in crate::experiment) aborted: Option<Reason>,
    /// When the end that answers gave up, of which the one that asks need not hear.
    pub(super) given_up: Option<Instant>,
    pub(in crate::experiment) wrong: Option<u64>,
}

/// The sessions of each reading program.
pub(in crate::experiment) fn progress(
    world: &World,
    hosts: &BTreeMap<String, HostId>,
    load: &Load,
) -> Vec<Vec<Progress>> {
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

/// A session of a writer, as far as it is known.
pub(in crate::experiment) struct Writer {
    pub(in crate::experiment) local: Address,
    pub(in crate::experiment) remote: Address,
    /// When it began to call.
    pub(in crate::experiment) called: Option<Instant>,
    pub(super) opened: Option<Instant>,
    /// When the last datagram left, where no more are to follow.
    pub(super) ended: Option<Instant>,
    pub(super) aborted: Option<Reason>,
    /// When the one that called was told so, where it was.
    pub(super) aborted_at: Option<Instant>,
    pub(super) writes: bool,
    /// When all had been written, where that is its end.
    pub(super) written: Option<Instant>,
}

impl Writer {
    /// Whether it has ever been open.
    pub(in crate::experiment) const fn is_opened(&self) -> bool {
        self.opened.is_some()
    }

    /// Whether it was to come to an end and has not, or was never open, for no other reason than silence: what `came`
    /// has no end.
    pub(in crate::experiment) fn is_cut_off(&self, has_end: bool, came: Option<&Progress>) -> bool {
        let is_over = self.written.is_some() || came.is_some_and(|came| came.ended.is_some());
        let is_told = self.aborted.as_ref().is_some_and(|why| *why != Reason::TimedOut);
        self.writes && self.called.is_some() && !is_over && !is_told && (has_end || self.opened.is_none())
    }

    /// When it was given up, be it by the other end alone.
    pub(in crate::experiment) fn given_up(&self, came: Option<&Progress>) -> Option<Instant> {
        self.aborted_at.or_else(|| came?.given_up)
    }

    /// When it was over, of which so much `came`: by the clock that its load goes by.
    pub(in crate::experiment) fn end(&self, came: Option<&Progress>) -> Option<Instant> {
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

/// A session of a writer, and that of a reader which is its other end.
pub(in crate::experiment) struct Matched<'a> {
    /// The host that writes.
    pub(in crate::experiment) from: &'a str,
    pub(in crate::experiment) writer: Writer,
    /// The number of the reader among those of the load, and that of the session there; `None` before it got as far.
    pub(in crate::experiment) place: Option<(usize, usize)>,
    /// Writer and reader, by their numbers in the load and among the readers of the writer.
    pub(in crate::experiment) way: (usize, usize),
}

/// The sessions of `load`, writer by writer and in the order of opening, each with that of its reader among `sinks`.
pub(in crate::experiment) fn matched<'a>(
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
pub(in crate::experiment) fn writing_first(
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
