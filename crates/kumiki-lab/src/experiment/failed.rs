//! Why a load had no connection at all, or its file did not come to its end: in words, with what would be right.

use std::collections::{BTreeMap, BTreeSet};

use kumiki_files::file_user::{Failure, Layer};
use kumiki_graph::{Address, Instant, Reason};
use kumiki_sim::{HostId, World};

use super::given_up;
use super::load::Load;
use super::measure::{Unconnected, program};
use super::outages::Outages;
use super::power::Power;
use crate::quantity::in_seconds;
use crate::workload::rpc::Exchanged;
use crate::workload::source::Sent;
use crate::workload::{FileUser, RpcClient, Source};

/// What a load needs and did not have at an instant.
#[derive(Debug)]
pub(super) struct Gone {
    /// Hosts without power, in words, each with since when.
    hosts: Vec<String>,
    /// Lines that were not there.
    lines: Vec<String>,
}

impl Gone {
    /// What `load` lacked when its `user` failed, or by `now` where that did not; nothing where it had all.
    ///
    /// A user that was told why it failed knows better than who looks at hosts and lines.
    pub(super) fn of(
        (hosts, outages, power): (&BTreeMap<String, HostId>, &Outages, &Power),
        world: &World,
        load: &Load,
        user: &FileUser,
    ) -> Option<Self> {
        if user.failure().is_some_and(|it| it.layer != Layer::Network || !it.transient || it.is_abort) {
            return None;
        }
        let given_up = || given_up::of_file(world, hosts, load).map(|(at, _)| at);
        let at = user.over().or_else(given_up).unwrap_or_else(|| world.now());
        let on_the_way: BTreeSet<&str> = load.hosts_on_the_way().collect();
        let down = on_the_way.into_iter().filter_map(|host| {
            let since = power.down_since(world, *hosts.get(host)?, at)?;
            Some(format!("host.{host} had no power from {} on", since_the_beginning(since)))
        });
        let gone = Self { hosts: down.collect(), lines: outages.at(load, at) };
        (!gone.hosts.is_empty() || !gone.lines.is_empty()).then_some(gone)
    }

    /// What was missing.
    fn what(&self) -> String {
        let mut all: Vec<&str> = self.hosts.iter().chain(&self.lines).map(String::as_str).take(TOLD).collect();
        let more = (self.hosts.len() + self.lines.len()).saturating_sub(TOLD);
        let rest = format!("and {more} more");
        if more > 0 {
            all.push(&rest);
        }
        all.join(", ")
    }

    /// What would be right, `in_time`.
    fn expected(&self, in_time: &str) -> String {
        let power = "an event later than that, or power again for a host between the two";
        let hosts = (!self.hosts.is_empty()).then(|| power.to_owned());
        // A ring has no rate that could be given back.
        let rate = if self.lines.iter().all(|line| line.starts_with("ring.")) { "" } else { ", with a rate," };
        let lines = (!self.lines.is_empty()).then(|| {
            let (lines, are) = match (self.hosts.len(), self.lines.len()) {
                (0, 1) => ("it", "is"),
                (_, 1) => ("the line", "is"),
                _ => ("the lines", "are"),
            };
            let loss = if self.lines.iter().any(|line| line.contains("lost")) { "without such a loss, " } else { "" };
            format!("that {lines} {are} up again{rate} {loss}{in_time}")
        });
        hosts.into_iter().chain(lines).collect::<Vec<_>>().join(", and ")
    }
}

/// So many things that were missing are told.
const TOLD: usize = 5;

fn since_the_beginning(at: Instant) -> String {
    in_seconds(at.saturating_since(Instant::ZERO))
}

/// How far the file of `user` had come, of which its reader has so many octets, and why no further; `given_up` by the one who was asked for it, at that time and for that reason.
pub(super) fn unfinished(
    user: &FileUser,
    moved: u64,
    given_up: Option<(Instant, &Reason)>,
    gone: Option<&Gone>,
) -> String {
    let file = user.file();
    let far = if user.opened().is_none() {
        "there was no association".to_owned()
    } else if moved == file {
        format!("all {file} octets were moved, but it was not closed")
    } else {
        format!("{moved} of {file} octets were moved")
    };
    let failed = user.failure().map(|failure| match gone {
        Some(_) => Failure { remedy: String::new(), ..failure }.to_string(),
        None => failure.to_string(),
    });
    let own = user.aborted().and_then(|_| user.over()).map(|at| format!("given up at {}", since_the_beginning(at)));
    let others = given_up.filter(|_| user.over().is_none());
    let others =
        others.map(|(at, why)| format!("given up by the one who was asked at {}: {why}", since_the_beginning(at)));
    let (why, in_time) = match (failed, own, others) {
        (Some(failure), Some(at), _) => (Some(format!("{at}: {failure}")), "before that"),
        (Some(failure), None, _) => (Some(failure), "while there is time"),
        (None, _, Some(others)) => (Some(others), "before that"),
        (None, _, None) => (None, "while there is time"),
    };
    match (why, gone) {
        (None, None) => format!("{far} when the time was over; `duration` gives it more"),
        (Some(why), None) => format!("{far}: {why}"),
        (None, Some(gone)) => format!("{far}: {}; expected {}", gone.what(), gone.expected(in_time)),
        (Some(why), Some(gone)) => {
            format!("{far}: {why}, and {}; expected {}", gone.what(), gone.expected(in_time))
        }
    }
}

/// What a session of a program that calls has done to be open.
struct Call {
    called: Option<Instant>,
    opened: Option<Instant>,
    aborted: Option<Reason>,
}

/// Why `load` has never had a connection, where it is of connections and has had none: what kept the first of its writers.
pub(super) fn unconnected(world: &World, hosts: &BTreeMap<String, HostId>, load: &Load) -> Option<Unconnected> {
    let mut all = load.from.iter().filter_map(|from| {
        let (peer, calls) = calls(world, hosts, from)?;
        let failed = hosts.get(&from.0).and_then(|id| world.down_since(*id));
        Some(never_connected(&from.0, peer, &calls, (failed, world.now())))
    });
    let first = all.next()??;
    all.all(|other| other.is_some()).then_some(first)
}

/// Whom the program at `from` calls first, and its sessions, where it is one that calls.
fn calls(world: &World, hosts: &BTreeMap<String, HostId>, from: &(String, String)) -> Option<(Address, Vec<Call>)> {
    if let Some(client) = program::<RpcClient>(world, hosts, from) {
        let of = |it: &Exchanged| Call { called: it.called, opened: it.opened, aborted: it.aborted.clone() };
        return Some((*client.peer()?, client.exchanged().map(of).collect()));
    }
    let source = program::<Source>(world, hosts, from)?;
    let of = |it: Sent| Call { called: it.called, opened: it.opened, aborted: it.aborted };
    Some((*source.peer()?, source.sent().map(of).collect()))
}

/// Why the program on `host` that made these `calls` has never had a connection to `peer` by the `end`, where it has had none; the power of the host `failed` at some time if it did.
fn never_connected(
    host: &str,
    peer: Address,
    calls: &[Call],
    (failed, end): (Option<Instant>, Instant),
) -> Option<Unconnected> {
    if calls.is_empty() || calls.iter().any(|call| call.opened.is_some()) {
        return None;
    }
    let peer = peer.socket().map_or_else(|| peer.to_string(), |at| at.ip().to_string());
    let reason = calls.iter().find_map(|call| call.aborted.clone());
    // That TCP has given up calling is a matter of how long the run is.
    let silent = matches!(reason, None | Some(Reason::TimedOut));
    let why = match reason {
        Some(Reason::Unreachable(_)) => format!("{host} has no route to {peer}"),
        Some(why) => format!("{host} called {peer}: {why}"),
        None if failed.is_some() => format!("{host} lost its power before {peer} answered"),
        None if calls.iter().all(|call| call.called.is_none_or(|called| called >= end)) => {
            format!("{host} was not to call {peer} before the end")
        }
        None => format!("{host} called {peer}, and nobody answered until the end"),
    };
    Some(Unconnected { why, silent })
}
