//! Why a load had no connection at all, or its file did not come to its end: in words, with what would be right.

use std::collections::{BTreeMap, BTreeSet};

use kumiki_files::file_user::{Failure, Layer};
use kumiki_graph::{Address, Instant, NoPath, Reason};
use kumiki_sim::{HostId, World};

use super::flows::{Matched, matched, progress};
use super::given_up;
use super::load::{Kind, Load};
use super::measure::{Unconnected, file_user, program};
use super::outages::Outages;
use super::power::Power;
use crate::workload::rpc::Exchanged;
use crate::workload::source::Sent;
use crate::workload::{FileUser, RpcClient, Source};
use kumiki_config::quantity::in_seconds;

/// What a load needs and did not have at an instant.
#[derive(Debug)]
pub(super) struct MissingParts {
    /// Whether it had been given up by then.
    is_given_up: bool,
    /// Hosts without power, in words, each with since when.
    hosts: Vec<String>,
    /// Whether one of them has a program of the load.
    is_end: bool,
    /// Lines that were not there.
    lines: Vec<String>,
}

impl MissingParts {
    /// What `load` lacked when it failed, or by now where that did not; nothing where it had all, came to its end, or
    /// was told why it does not: whoever is told that knows better than who looks at hosts and lines.
    pub(super) fn of(
        (hosts, outages, power): (&BTreeMap<String, HostId>, &Outages, &Power),
        world: &World,
        load: &Load,
    ) -> Option<Self> {
        let CutOff { at, is_given_up, ways } = cut_off(world, hosts, load)?;
        let ends: BTreeSet<&str> = ways.iter().flat_map(|way| load.ends(*way)).collect();
        let needed: BTreeSet<&str> = ends.iter().copied().chain(load.hosts_between()).collect();
        let since = |host: &str| power.down_since(world, *hosts.get(host)?, at);
        let down: Vec<(&str, Instant)> = needed.into_iter().filter_map(|host| Some((host, since(host)?))).collect();
        let told = |(host, since): &(&str, Instant)| {
            format!("host.{host} had no power from {} on", since_the_beginning(*since))
        };
        let gone = Self {
            is_given_up,
            hosts: down.iter().map(told).collect(),
            is_end: down.iter().any(|(host, _)| ends.contains(host)),
            lines: outages.at(load, &ways, at),
        };
        (!gone.hosts.is_empty() || !gone.lines.is_empty()).then_some(gone)
    }

    /// What was missing, and what would be right.
    fn told(&self) -> String {
        let in_time = if self.is_given_up { "before that" } else { "while there is time" };
        format!("{}; expected {}", self.what(), self.expected(in_time))
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
        let hosts = (!self.hosts.is_empty()).then(|| match self.is_end {
            true => {
                "an event later than that, for a host with a program of a load does not get its power back".to_owned()
            }
            false => format!("an event later than that, or power again {in_time}"),
        });
        // A ring has no rate that could be given back.
        let rate = if self.lines.iter().all(|line| line.starts_with("ring.")) { "" } else { ", with a rate," };
        let lines = (!self.lines.is_empty()).then(|| {
            let (lines, are) = match (self.hosts.len(), self.lines.len()) {
                (0, 1) => ("it", "is"),
                (_, 1) => ("the line", "is"),
                _ => ("the lines", "are"),
            };
            let is_lossy = |line: &String| line.contains(" lost everything");
            let lose = if are == "is" { "loses" } else { "lose" };
            if self.lines.iter().all(is_lossy) {
                return format!("that {lines} {lose} less {in_time}");
            }
            let loss = if self.lines.iter().any(is_lossy) { "without such a loss, " } else { "" };
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

/// How far the file of `user` had come, of which its reader has so many octets, and why no further; `given_up` by the
/// one who was asked for it, at that time and for that reason.
pub(super) fn unfinished(
    user: &FileUser,
    moved: u64,
    given_up: Option<(Instant, &Reason)>,
    gone: Option<&MissingParts>,
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

/// A load that did not come to its end.
struct CutOff {
    /// When that was last so of any of its sessions.
    at: Instant,
    /// Whether that one was given up then.
    is_given_up: bool,
    /// The pairs of ends between which it was.
    ways: BTreeSet<(usize, usize)>,
}

/// How `load` was cut off from its end; nothing where it was not, or an end was told why.
fn cut_off(world: &World, hosts: &BTreeMap<String, HostId>, load: &Load) -> Option<CutOff> {
    if let Some(user) = file_user(world, hosts, load) {
        let is_told = |it: Failure| it.layer != Layer::Network || !it.transient || it.is_abort;
        let given_up = user.over().or_else(|| given_up::of_file(world, hosts, load).map(|(at, _)| at));
        let (at, is_given_up) = (given_up.unwrap_or_else(|| world.now()), given_up.is_some());
        return (!user.failure().is_some_and(is_told)).then(|| CutOff { at, is_given_up, ways: [(0, 0)].into() });
    }
    if !matches!(load.kind, Kind::Stream | Kind::Rpc) {
        return None;
    }
    let sinks = progress(world, hosts, load);
    let mut last: Option<(Instant, bool)> = None;
    let mut ways = BTreeSet::new();
    for Matched { writer, place, way, .. } in matched(world, hosts, load, &sinks) {
        let came = place.and_then(|(sink, number)| sinks.get(sink)?.get(number));
        if writer.is_cut_off(load.until_done, came) {
            let given_up = writer.given_up(came);
            last = last.max(Some((given_up.unwrap_or_else(|| world.now()), given_up.is_some())));
            ways.insert(way);
        }
    }
    last.map(|(at, is_given_up)| CutOff { at, is_given_up, ways })
}

/// What [`MissingParts`] says of a load that is no file, and did not come to its end.
pub(super) fn why_cut_off(load: &Load, gone: Option<&MissingParts>) -> Option<String> {
    gone.filter(|_| matches!(load.kind, Kind::Stream | Kind::Rpc)).map(MissingParts::told)
}

/// What a session of a program that calls has done to be open.
struct CallProgress {
    called: Option<Instant>,
    opened: Option<Instant>,
    aborted: Option<Reason>,
}

/// Why `load` has never had a connection, where it is of connections and has had none: what kept the first of its
/// writers, and what was `gone`.
pub(super) fn unconnected(
    world: &World,
    hosts: &BTreeMap<String, HostId>,
    load: &Load,
    gone: Option<&MissingParts>,
) -> Option<Unconnected> {
    let mut all = load.from.iter().filter_map(|from| {
        let (peer, calls) = calls(world, hosts, from)?;
        let failed = hosts.get(&from.0).and_then(|id| world.down_since(*id));
        let gone = why_cut_off(load, gone).map_or_else(String::new, |gone| format!(": {gone}"));
        Some(never_connected(&from.0, (peer, &calls), (failed, world.now()), &gone))
    });
    let first = all.next()??;
    all.all(|other| other.is_some()).then_some(first)
}

/// Whom the program at `from` calls first, and its sessions, where it is one that calls.
fn calls(
    world: &World,
    hosts: &BTreeMap<String, HostId>,
    from: &(String, String),
) -> Option<(Address, Vec<CallProgress>)> {
    if let Some(client) = program::<RpcClient>(world, hosts, from) {
        let of = |it: &Exchanged| CallProgress { called: it.called, opened: it.opened, aborted: it.aborted.clone() };
        return Some((*client.peer()?, client.exchanged().map(of).collect()));
    }
    let source = program::<Source>(world, hosts, from)?;
    let of = |it: Sent| CallProgress { called: it.called, opened: it.opened, aborted: it.aborted };
    Some((*source.peer()?, source.sent().map(of).collect()))
}

/// Why the program on `host` that made these `calls` has never had a connection to `peer` by the `end`, where it has
/// had none; the power of the host `failed` at some time if it did, and something else may be `gone`, which is told
/// behind that nobody answered.
fn never_connected(
    host: &str,
    (peer, calls): (Address, &[CallProgress]),
    (failed, end): (Option<Instant>, Instant),
    gone: &str,
) -> Option<Unconnected> {
    if calls.is_empty() || calls.iter().any(|call| call.opened.is_some()) {
        return None;
    }
    let peer = peer.socket().map_or_else(|| peer.to_string(), |at| at.ip().to_string());
    let reason = calls.iter().find_map(|call| call.aborted.clone());
    // That TCP has given up calling is a matter of how long the run is.
    let silent = matches!(reason, None | Some(Reason::TimedOut));
    let why = match reason {
        Some(Reason::Unreachable(NoPath::Host)) => {
            format!(
                "{host} called {peer}, and no host answers for that address, or for a router on the way to it{gone}"
            )
        }
        Some(Reason::Unreachable(_)) => format!("{host} has no route to {peer}"),
        Some(why) if silent => format!("{host} called {peer}: {why}{gone}"),
        Some(why) => format!("{host} called {peer}: {why}"),
        None if failed.is_some() => format!("{host} lost its power before {peer} answered"),
        None if calls.iter().all(|call| call.called.is_none_or(|called| called >= end)) => {
            format!("{host} was not to call {peer} before the end")
        }
        None => format!("{host} called {peer}, and there was no answer until the end{gone}"),
    };
    Some(Unconnected { why, silent })
}
