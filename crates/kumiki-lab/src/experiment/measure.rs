//! What is measured, and what bound it.

use std::collections::BTreeMap;

use kumiki_graph::{Address, Duration, Instant, Reason};
use kumiki_inet::tcp::{Limit, Tcp};
use kumiki_sim::{HostId, World};

use super::path::Crossed;
use super::programs::{Kind, Load};
use crate::rows::Counters;
use crate::stats;
use crate::workload::ping::Echoes;
use crate::workload::sink::Received;
use crate::workload::{FileKeeper, FileUser, Ping, Sink, Source, UdpSink, UdpSource};

/// What bound a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// The line was full.
    Link,
    /// What held TCP back for the most time.
    Held(Limit),
    /// The window was full and nothing else, of what is no TCP.
    Window,
    /// A CPU had no time left.
    Host,
    /// Writers waited for pages.
    Pages,
}

impl Bound {
    /// The word in result rows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Held(limit) => limit.name(),
            Self::Window => "window",
            Self::Host => "host",
            Self::Pages => "pages",
        }
    }
}

/// One session's part.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SessionResult {
    /// Octets read while measuring.
    pub octets: u64,
    /// The longest time without progress, the end of the measurement included.
    pub longest_gap: Duration,
    /// Why it ended, if it did not last.
    pub aborted: Option<Reason>,
}

/// The figures of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    /// Application octets delivered per time, in 10^6 bit/s, all sessions together.
    pub goodput_mbps: f64,
    /// How long was measured.
    pub time: Duration,
    /// The sessions, in the order of being accepted.
    pub sessions: Vec<SessionResult>,
    /// Jain's fairness index over the sessions that were to write, with nothing for those that did not.
    pub jain: Option<f64>,
    /// How busy each CPU was while measuring, by `host.cpu`, from 0 to 1.
    pub cpu: BTreeMap<String, f64>,
    /// How busy the busiest line on the way was while measuring, from 0 to 1.
    pub line: f64,
    /// How much of the time the writing programs waited between messages, as their profile has it, from 0 to 1; the mean of those that
    /// write.
    pub waited: f64,
    /// The host that writes.
    pub writer: String,
    /// How often a writer had to wait for a page while measuring.
    pub page_waits: u64,
    /// How many sessions at some time made no progress for a second (`STOPPED`).
    pub stopped: u64,
    /// What held the writing connections back, as shares of the measured time that add up to 1, the largest first; empty where they are none of TCP.
    pub held: Vec<(Limit, f64)>,
    /// Counters of all layers, by `host.layer`.
    pub counters: Counters,
    /// Position of the first octet that arrived wrong, where one did; of datagrams, the number of the first wrong one.
    pub wrong: Option<u64>,
    /// Why a file did not arrive, in words.
    pub failure: Option<String>,
    /// Why there was no connection at all, in words, where there was to be one.
    pub unconnected: Option<String>,
    /// How long each task ran, by `host.task`.
    pub tasks: BTreeMap<String, Duration>,
    /// What became of datagrams since the start, where the load is made of them.
    pub units: Option<Units>,
    /// What became of echoes since the start, where the load is made of them.
    pub echoes: Option<Echoes>,
    /// The same of each load beside this one, by name.
    pub beside: BTreeMap<String, Self>,
}

/// What became of datagrams, all sessions together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Units {
    /// Sent.
    pub sent: u64,
    /// Received, duplicates not counted.
    pub received: u64,
    /// Overtaken by later ones and not received.
    pub lost: u64,
    /// Received once more.
    pub duplicated: u64,
    /// Received after later ones.
    pub reordered: u64,
}

impl core::fmt::Display for Units {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { sent, received, lost, duplicated, reordered } = self;
        write!(f, "{sent} datagrams sent, {received} received, {lost} lost")?;
        if duplicated + reordered > 0 {
            write!(f, ", {duplicated} duplicated, {reordered} reordered")?;
        }
        Ok(())
    }
}

impl Units {
    fn of(world: &World, hosts: &BTreeMap<String, HostId>, load: &Load) -> Self {
        let source = program::<UdpSource>(world, hosts, &load.from);
        let mut all =
            Self { sent: source.map_or(0, |source| source.sent().map(|sent| sent.units).sum()), ..Self::default() };
        let sinks = load.to.iter();
        let sinks = sinks.filter_map(|to| program::<UdpSink>(world, hosts, to));
        for received in sinks.flat_map(UdpSink::received) {
            all.received += received.units;
            all.lost = all.lost.saturating_add(received.lost);
            all.duplicated += received.duplicated;
            all.reordered += received.reordered;
        }
        all
    }
}

/// What a session has brought so far.
#[derive(Clone, Default)]
struct Progress {
    octets: u64,
    last: Option<Instant>,
    longest_gap: Duration,
    ended: Option<Instant>,
    aborted: Option<Reason>,
    wrong: Option<u64>,
}

/// The sessions of each reading program.
fn progress(world: &World, hosts: &BTreeMap<String, HostId>, load: &Load) -> Vec<Vec<Progress>> {
    let stream = |received: Received| Progress {
        octets: received.octets,
        last: received.last,
        longest_gap: received.longest_gap,
        ended: received.ended,
        aborted: received.aborted,
        wrong: received.wrong_at,
    };
    let streams = |sink: &Sink| sink.received().map(stream).collect();
    let put = |keeper: &FileKeeper| keeper.received().map(|it| vec![stream(it)]);
    let got = |user: &FileUser| user.received().map(|it| vec![stream(it)]);
    let units = |sink: &UdpSink| {
        let each = sink.received().map(|received| Progress {
            octets: received.octets,
            last: received.last,
            longest_gap: received.longest_gap,
            wrong: received.wrong,
            ..Progress::default()
        });
        each.collect()
    };
    let of = |to| {
        let stream = program::<Sink>(world, hosts, to).map(streams);
        let stream = stream.or_else(|| program::<FileKeeper>(world, hosts, to).and_then(put));
        let stream = stream.or_else(|| program::<FileUser>(world, hosts, to).and_then(got));
        stream.or_else(|| program::<UdpSink>(world, hosts, to).map(units))
    };
    load.to.iter().map(|to| of(to).unwrap_or_default()).collect()
}

/// Who asks for a file to be moved: the writer, or the reader.
fn file_user<'a>(world: &'a World, hosts: &BTreeMap<String, HostId>, load: &Load) -> Option<&'a FileUser> {
    let mut ends = core::iter::once(&load.from).chain(&load.to);
    ends.find_map(|end| program::<FileUser>(world, hosts, end))
}

/// A session without progress for so long has stopped.
pub(super) const STOPPED: Duration = Duration::from_secs(1);

/// Sessions that brought something and then stood still, and those that should have brought something and did not.
fn stopped(sinks: &[Vec<Progress>], sessions: &[SessionResult], busy: u64) -> u64 {
    let mut began = 0;
    let mut stood_still = 0;
    for (progress, session) in sinks.iter().flatten().zip(sessions) {
        if progress.octets > 0 {
            began += 1;
            stood_still += u64::from(session.longest_gap >= STOPPED);
        }
    }
    stood_still + busy.saturating_sub(began)
}

/// The state of the world at one moment, as far as measuring needs it.
pub(super) struct Snapshot {
    at: Instant,
    /// When data last arrived. Rates are taken from arrival to arrival, so that they do not depend on where in a PDU the
    /// clock stood.
    last: Option<Instant>,
    /// By reading program and session.
    octets: Vec<Vec<u64>>,
    busy: BTreeMap<String, Duration>,
    page_waits: u64,
    waited: Duration,
    /// How long each line on the way was busy, in nanoseconds.
    lines: BTreeMap<Crossed, u64>,
}

impl Snapshot {
    /// Takes it.
    pub(super) fn take(world: &World, hosts: &BTreeMap<String, HostId>, load: &Load) -> Self {
        let sinks = progress(world, hosts, load);
        let source = program::<Source>(world, hosts, &load.from);
        let mut busy = BTreeMap::new();
        for host in world.hosts() {
            for (cpu, counters) in host.cpus() {
                busy.insert(format!("{}.{cpu}", host.name), counters.busy);
            }
        }
        let lines = load.path.iter().filter_map(|crossed| {
            let mut media = world.media();
            let (_, counters) = media.find(|(name, _)| *name == crossed.line)?;
            let (_, busy) = counters.into_iter().find(|(name, _)| *name == crossed.busy())?;
            Some((crossed.clone(), busy))
        });
        Self {
            at: world.now(),
            lines: lines.collect(),
            last: sinks.iter().flatten().filter_map(|it| it.last).max(),
            octets: sinks.iter().map(|sessions| sessions.iter().map(|it| it.octets).collect()).collect(),
            busy,
            page_waits: source.map_or(0, |source| source.sent().map(|sent| sent.page_waits).sum()),
            waited: source.into_iter().flat_map(Source::sent).fold(Duration::ZERO, |all, sent| all + sent.waited),
        }
    }
}

fn program<'a, T: kumiki_graph::Protocol>(
    world: &'a World,
    hosts: &BTreeMap<String, HostId>,
    (host, node): &(String, String),
) -> Option<&'a T> {
    let host = world.host(*hosts.get(host)?)?;
    host.graph.protocol(host.graph.node(node)?)
}

/// Whether the writing program has done all it was to do, and of streams the end has arrived.
pub(super) fn is_done(world: &World, hosts: &BTreeMap<String, HostId>, load: &Load) -> bool {
    match load.kind {
        Kind::Stream => {
            let received = progress(world, hosts, load);
            program::<Source>(world, hosts, &load.from).is_some_and(Source::is_done)
                && received.iter().flatten().all(|it| it.ended.is_some() || it.aborted.is_some())
        }
        Kind::File => file_user(world, hosts, load).is_some_and(FileUser::is_over),
        Kind::Units => program::<UdpSource>(world, hosts, &load.from).is_some_and(UdpSource::is_done),
        Kind::Ping => program::<Ping>(world, hosts, &load.from).is_some_and(Ping::is_done),
    }
}

impl Measured {
    /// How much of the time `cpu` is `busy` or, at the writer, left alone while its program waits.
    fn taken(&self, cpu: &str, busy: f64) -> f64 {
        let host = cpu.split_once('.').map_or(cpu, |(host, _)| host);
        if host == self.writer { busy + self.waited } else { busy }
    }

    /// What bound the result, where the stack and the line allow `limit_mbps`: writers that waited for pages, a CPU
    /// without time left, or a full line, in this order, since each of the first two keeps the next from being the reason.
    /// What is left is what held TCP for the most time, or the window of another protocol.
    ///
    /// What the writing program waits between messages, as its profile has it, is time that its host takes. A CPU and a line count
    /// as full from 99 % on: the rest is lost at the ends of the measurement. A line that others share, or that is one of several, is full where it was busy for 98 % of the time:
    /// losses in its queue cost the rest.
    #[must_use]
    pub fn bound(&self, limit_mbps: Option<f64>) -> Bound {
        const FULL: f64 = 0.99;
        const FULL_LINE: f64 = 0.98;
        if self.page_waits > 0 {
            Bound::Pages
        } else if self.cpu.iter().any(|(cpu, busy)| self.taken(cpu, *busy) >= FULL) {
            Bound::Host
        } else if limit_mbps.is_some_and(|limit| self.goodput_mbps >= limit * FULL) || self.line >= FULL_LINE {
            Bound::Link
        } else {
            self.held.first().map_or(Bound::Window, |(limit, _)| Bound::Held(*limit))
        }
    }
}

/// Compares two moments; `is_alone`: there is no load beside this one.
pub(super) fn measure(
    world: &World,
    hosts: &BTreeMap<String, HostId>,
    before: &Snapshot,
    after: &Snapshot,
    (load, is_alone): (&Load, bool),
) -> Measured {
    let sinks = progress(world, hosts, load);
    let source = program::<Source>(world, hosts, &load.from);
    let at = |snapshot: &Snapshot, sink: usize, number: usize| {
        let sessions = snapshot.octets.get(sink);
        let octets = sessions.and_then(|sessions| sessions.get(number));
        octets.copied().unwrap_or(0)
    };
    let result = |sink: usize, number: usize, it: &Progress| SessionResult {
        octets: at(after, sink, number) - at(before, sink, number),
        longest_gap: it.longest_gap.max(match it.ended {
            Some(_) => Duration::ZERO,
            None => after.at.saturating_since(it.last.unwrap_or_default()),
        }),
        aborted: it.aborted.clone(),
    };
    let sessions: Vec<SessionResult> = (0..)
        .zip(&sinks)
        .flat_map(|(sink, sessions)| {
            let numbered = (0..).zip(sessions);
            numbered.map(move |(number, it)| (sink, number, it))
        })
        .map(|(sink, number, it)| result(sink, number, it))
        .collect();
    let octets: u64 = sessions.iter().map(|session| session.octets).sum();
    let user = file_user(world, hosts, load);
    let time = match (before.last, after.last) {
        _ if load.kind == Kind::File => {
            let began = user.and_then(if load.from_request { FileUser::begun } else { FileUser::opened });
            let ended = user.and_then(FileUser::done);
            began.zip(ended).map_or(Duration::ZERO, |(began, ended)| ended.saturating_since(began))
        }
        _ if load.until_done && load.kind == Kind::Stream => {
            let done = is_done(world, hosts, load);
            let written = source.filter(|_| load.sender_clock).and_then(written);
            transfer_time(source, &sinks, written.or_else(|| (!done).then_some(after.at)))
        }
        // Several loads are compared, so the time is the same for all.
        (Some(first), Some(last)) if last > first && is_alone => last.saturating_since(first),
        _ => after.at.saturating_since(before.at),
    };
    let mut wrote: Vec<f64> = sessions.iter().filter(|session| session.octets > 0).map(|s| lossy(s.octets)).collect();
    // Who got nothing, or never opened, was treated least fairly of all.
    let asked = source.map_or(0, Source::busy).try_into().unwrap_or(usize::MAX);
    wrote.resize(wrote.len().max(asked), 0.0);
    let whole = after.at.saturating_since(before.at).as_secs_f64();
    let busy_share = |(cpu, busy): (&String, &Duration)| {
        let earlier = before.busy.get(cpu).copied().unwrap_or_default();
        (cpu.clone(), if whole > 0.0 { (*busy - earlier).as_secs_f64() / whole } else { 0.0 })
    };
    let line_share = |(line, busy): (&Crossed, &u64)| {
        let earlier = before.lines.get(line).copied().unwrap_or_default();
        if whole > 0.0 { lossy(busy.saturating_sub(earlier)) / 1e9 / whole } else { 0.0 }
    };
    Measured {
        goodput_mbps: if time.is_zero() { 0.0 } else { lossy(octets) * 8.0 / time.as_secs_f64() / 1e6 },
        time,
        jain: stats::jain(&wrote),
        cpu: after.busy.iter().map(busy_share).collect(),
        line: after.lines.iter().map(line_share).fold(0.0, f64::max),
        writer: load.from.0.clone(),
        waited: if time.is_zero() {
            0.0
        } else {
            let waited = (after.waited - before.waited).as_secs_f64();
            waited / time.as_secs_f64() / source.map_or(1.0, |source| lossy(source.busy().max(1)))
        },
        page_waits: after.page_waits - before.page_waits,
        stopped: stopped(&sinks, &sessions, source.map_or(0, Source::busy)),
        held: source.map_or_else(Vec::new, |source| held(world, hosts, (&load.from.0, source), (before.at, after.at))),
        counters: super::counters::of(world),
        wrong: sinks.iter().flatten().find_map(|it| it.wrong),
        failure: user.and_then(|user| {
            let unfinished = || {
                let (moved, file) = (user.moved(), user.file());
                format!("{moved} of {file} octets were moved when the time was over; `duration` gives it more")
            };
            let failed = user.failure();
            failed.or_else(|| user.done().is_none().then(unfinished))
        }),
        unconnected: source.and_then(|source| unconnected(&load.from.0, source)),
        tasks: tasks(world),
        units: (load.kind == Kind::Units).then(|| Units::of(world, hosts, load)),
        echoes: program::<Ping>(world, hosts, &load.from).map(Ping::echoes),
        beside: BTreeMap::new(),
        sessions,
    }
}

/// What held the connections of `source` on `host` back between two times, as shares of it.
fn held(
    world: &World,
    hosts: &BTreeMap<String, HostId>,
    (host, source): (&str, &Source),
    (from, to): (Instant, Instant),
) -> Vec<(Limit, f64)> {
    let Some(host) = hosts.get(host).and_then(|id| world.host(*id)) else {
        return Vec::new();
    };
    let nodes = host.graph.accounts().filter_map(|(name, _)| host.graph.find::<Tcp>(name));
    let own = |remote| source.peers().contains(&Address::from(remote));
    let mut times = BTreeMap::new();
    for (_, _, limits) in nodes.flat_map(Tcp::limits).filter(|(_, remote, _)| own(*remote)) {
        for (since, until, limit) in limits.spans(from, to) {
            *times.entry(limit).or_insert(0.0) += until.saturating_since(since).as_secs_f64();
        }
    }
    let whole: f64 = times.values().sum();
    let mut shares: Vec<(Limit, f64)> = times.into_iter().map(|(limit, time)| (limit, time / whole)).collect();
    shares.sort_by(|(_, one), (_, two)| two.total_cmp(one));
    shares
}

/// Why `source` on `host` has never had a connection, where it has had none.
fn unconnected(host: &str, source: &Source) -> Option<String> {
    if source.sent().count() == 0 || source.sent().any(|sent| sent.opened.is_some()) {
        return None;
    }
    let peer = source.peer()?;
    let peer = peer.socket().map_or_else(|| peer.to_string(), |at| at.ip().to_string());
    let why = source.sent().find_map(|sent| sent.aborted);
    Some(match why {
        Some(Reason::Unreachable) => format!("{host} has no route to {peer}"),
        Some(why) => format!("{host} called {peer}: {why}"),
        None => format!("{host} called {peer}, and nobody answered until the end"),
    })
}

/// How long each task of each host has run.
fn tasks(world: &World) -> BTreeMap<String, Duration> {
    let times = world.hosts().flat_map(|host| {
        let named = host.task_times();
        named.map(|(task, time)| (format!("{}.{task}", host.name), time))
    });
    times.collect()
}

/// When the last session had written all it was to write.
fn written(source: &Source) -> Option<Instant> {
    let all: Option<Vec<Instant>> = source.sent().map(|sent| sent.written).collect();
    all?.into_iter().max()
}

/// From the opening of the first session to the end of the last, or to `cut_off`, where the run was over before that.
fn transfer_time(source: Option<&Source>, sinks: &[Vec<Progress>], cut_off: Option<Instant>) -> Duration {
    let opened = source.into_iter().flat_map(Source::sent).filter_map(|sent| sent.opened).min();
    let progress = sinks.iter().flatten();
    let ended = cut_off.or_else(|| progress.filter_map(|it| it.ended.or(it.last)).max());
    match (opened, ended) {
        (Some(opened), Some(ended)) => ended.saturating_since(opened),
        _ => Duration::ZERO,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a printed figure needs no more than 53 bits")]
const fn lossy(count: u64) -> f64 {
    count as f64
}
