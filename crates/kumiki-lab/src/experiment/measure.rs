//! What is measured, and what bound it.

use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant, Pool, Reason};
use kumiki_proto::tcp::Tcp;
use kumiki_sim::{Host, HostId, World};

use super::programs::Load;
use crate::rows::Counters;
use crate::stats;
use crate::workload::{Sink, Source};

/// What bound a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// The line was full.
    Link,
    /// The window was full and nothing else.
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
            Self::Window => "window",
            Self::Host => "host",
            Self::Pages => "pages",
        }
    }
}

/// One session's part.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
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
    /// Jain's fairness index over the sessions that wrote.
    pub jain: Option<f64>,
    /// How busy each CPU was while measuring, by `host.cpu`, from 0 to 1.
    pub cpu: BTreeMap<String, f64>,
    /// How often a writer had to wait for a page while measuring.
    pub page_waits: u64,
    /// How many sessions at some time made no progress for [`STOPPED`].
    pub stopped: u64,
    /// Counters of all layers, by `host.layer`.
    pub counters: Counters,
    /// Position of the first octet that arrived wrong, where one did.
    pub wrong: Option<u64>,
}

/// A session without progress for so long has stopped.
pub const STOPPED: Duration = Duration::from_secs(1);

fn stopped(sessions: &[SessionResult]) -> u64 {
    let stopped = sessions
        .iter()
        .filter(|session| session.longest_gap >= STOPPED);
    stopped.count() as u64
}

/// The state of the world at one moment, as far as measuring needs it.
pub struct Snapshot {
    at: Instant,
    /// When data last arrived. Rates are taken from arrival to arrival, so that they do not depend on where in a PDU the
    /// clock stood.
    last: Option<Instant>,
    octets: Vec<u64>,
    busy: BTreeMap<String, Duration>,
    page_waits: u64,
}

impl Snapshot {
    /// Takes it.
    pub fn take(world: &World, hosts: &BTreeMap<String, HostId>, load: &Load) -> Self {
        let sink = program::<Sink>(world, hosts, &load.to);
        let source = program::<Source>(world, hosts, &load.from);
        let mut busy = BTreeMap::new();
        for host in world.hosts() {
            for (cpu, counters) in host.cpus() {
                busy.insert(format!("{}.{cpu}", host.name), counters.busy);
            }
        }
        Self {
            at: world.now(),
            last: sink.and_then(|sink| sink.received().filter_map(|received| received.last).max()),
            octets: sink
                .map(|sink| sink.received().map(|received| received.octets).collect())
                .unwrap_or_default(),
            busy,
            page_waits: source.map_or(0, |source| source.sent().map(|sent| sent.page_waits).sum()),
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

/// Whether the writing program has ended all its sessions.
pub fn is_done(world: &World, hosts: &BTreeMap<String, HostId>, load: &Load) -> bool {
    program::<Source>(world, hosts, &load.from).is_some_and(Source::is_done)
        && program::<Sink>(world, hosts, &load.to).is_some_and(|sink| {
            sink.received()
                .all(|received| received.ended.is_some() || received.aborted.is_some())
        })
}

impl Measured {
    /// What bound the result, where the stack and the line allow `limit_mbps`.
    ///
    /// The line counts as full, and a CPU as busy, from 98 % on: the rest is lost between measuring and its ends.
    #[must_use]
    pub fn bound(&self, limit_mbps: Option<f64>) -> Bound {
        const FULL: f64 = 0.98;
        if limit_mbps.is_some_and(|limit| self.goodput_mbps >= limit * FULL) {
            Bound::Link
        } else if self.page_waits > 0 {
            Bound::Pages
        } else if self.cpu.values().any(|busy| *busy >= FULL) {
            Bound::Host
        } else {
            Bound::Window
        }
    }
}

/// Compares two moments.
pub fn measure(
    world: &World,
    hosts: &BTreeMap<String, HostId>,
    before: &Snapshot,
    after: &Snapshot,
    load: &Load,
) -> Measured {
    let sink = program::<Sink>(world, hosts, &load.to);
    let source = program::<Source>(world, hosts, &load.from);
    let at = |snapshot: &Snapshot, number: usize| snapshot.octets.get(number).copied().unwrap_or(0);
    let sessions: Vec<SessionResult> = sink
        .into_iter()
        .flat_map(Sink::received)
        .enumerate()
        .map(|(number, received)| SessionResult {
            octets: at(after, number) - at(before, number),
            longest_gap: received.longest_gap.max(match received.ended {
                Some(_) => Duration::ZERO,
                None => after.at.saturating_since(received.last.unwrap_or_default()),
            }),
            aborted: received.aborted,
        })
        .collect();
    let octets: u64 = sessions.iter().map(|session| session.octets).sum();
    let time = match (before.last, after.last) {
        _ if load.until_done => transfer_time(source, sink),
        (Some(first), Some(last)) if last > first => last.saturating_since(first),
        _ => after.at.saturating_since(before.at),
    };
    let wrote: Vec<f64> = sessions
        .iter()
        .filter(|session| session.octets > 0)
        .map(|s| lossy(s.octets))
        .collect();
    let whole = after.at.saturating_since(before.at).as_secs_f64();
    let busy_share = |(cpu, busy): (&String, &Duration)| {
        let earlier = before.busy.get(cpu).copied().unwrap_or_default();
        (
            cpu.clone(),
            if whole > 0.0 {
                (*busy - earlier).as_secs_f64() / whole
            } else {
                0.0
            },
        )
    };
    Measured {
        goodput_mbps: if time.is_zero() {
            0.0
        } else {
            lossy(octets) * 8.0 / time.as_secs_f64() / 1e6
        },
        time,
        jain: stats::jain(&wrote),
        cpu: after.busy.iter().map(busy_share).collect(),
        page_waits: after.page_waits - before.page_waits,
        stopped: stopped(&sessions),
        counters: counters(world),
        wrong: sink.and_then(|sink| sink.received().find_map(|received| received.wrong_at)),
        sessions,
    }
}

/// From the opening of the first session to the end of the last.
fn transfer_time(source: Option<&Source>, sink: Option<&Sink>) -> Duration {
    let opened = source
        .into_iter()
        .flat_map(Source::sent)
        .filter_map(|sent| sent.opened)
        .min();
    let ended = sink
        .into_iter()
        .flat_map(Sink::received)
        .filter_map(|received| received.ended)
        .max();
    match (opened, ended) {
        (Some(opened), Some(ended)) => ended.saturating_since(opened),
        _ => Duration::ZERO,
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a printed figure needs no more than 53 bits"
)]
const fn lossy(count: u64) -> f64 {
    count as f64
}

/// What the modelled memories of `host` counted.
fn memory_counters(host: &Host) -> impl Iterator<Item = (String, BTreeMap<String, u64>)> + '_ {
    let ledgers = [
        (Pool::Send, "send memory"),
        (Pool::Receive, "receive memory"),
    ];
    ledgers.into_iter().filter_map(|(pool, name)| {
        let ledger = host.graph.ledger_ref(pool)?;
        let own = [
            ("clusters", u64::from(ledger.pages().clusters)),
            ("high_water", ledger.high_water as u64),
            ("refusals", ledger.refusals),
        ];
        let own = own.map(|(name, count)| (name.to_owned(), count));
        Some((format!("{}.{name}", host.name), own.into()))
    })
}

/// What every part of the world counted, by `host.part`, or by the medium's name.
fn counters(world: &World) -> Counters {
    let mut all = Counters::new();
    for host in world.hosts() {
        for (node, account) in host.graph.accounts() {
            let mut own: BTreeMap<String, u64> = [
                ("messages_down", account.down.messages),
                ("octets_down", account.down.octets),
                ("messages_up", account.up.messages),
                ("octets_up", account.up.octets),
                ("copied_octets", account.copied),
                ("summed_octets", account.summed),
                ("busy_us", account.busy.as_nanos() / 1_000),
            ]
            .map(|(name, count)| (name.to_owned(), count))
            .into();
            own.extend(
                account
                    .drops
                    .iter()
                    .map(|(reason, count)| (format!("dropped, {reason}"), *count)),
            );
            own.extend(tcp_counters(host, node));
            all.insert(format!("{}.{node}", host.name), own);
        }
        all.extend(memory_counters(host));
        for (cpu, counters) in host.cpus() {
            let own = [
                ("busy_us", counters.busy.as_nanos() / 1_000),
                ("switches", counters.switches),
                ("interrupts", counters.interrupts),
            ];
            all.insert(
                format!("{}.{cpu}", host.name),
                own.map(|(name, count)| (name.to_owned(), count)).into(),
            );
        }
    }
    for (medium, counters) in world.media() {
        all.insert(
            medium.to_owned(),
            counters
                .into_iter()
                .map(|(name, count)| (name.to_owned(), count))
                .collect(),
        );
    }
    all
}

fn tcp_counters(host: &Host, node: &str) -> Vec<(String, u64)> {
    let tcp = host
        .graph
        .node(node)
        .and_then(|node| host.graph.protocol::<Tcp>(node));
    let Some(counters) = tcp.map(Tcp::counters) else {
        return Vec::new();
    };
    let list = [
        ("segments_sent", counters.segments_sent),
        ("segments_received", counters.segments_received),
        ("retransmissions", counters.retransmissions),
        ("fast_retransmits", counters.fast_retransmits),
        ("timeouts", counters.timeouts),
        ("duplicate_acks", counters.duplicate_acks),
        ("acks_by_timer", counters.acks_by_timer),
        ("acks_by_data", counters.acks_by_data),
        ("window_updates", counters.window_updates),
        ("window_probes", counters.window_probes),
        ("overrides", counters.overrides),
        ("out_of_order", counters.out_of_order),
        ("bad_checksums", counters.bad_checksums),
    ];
    list.map(|(name, count)| (name.to_owned(), count)).into()
}
