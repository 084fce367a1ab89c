//! Connections that one of their ends gave up, of which the other need not hear, and calls that nobody has answered.

use std::collections::BTreeMap;

use kumiki_graph::{Address, Instant, Reason};
use kumiki_inet::tcp::{Limit, Record};
use kumiki_sim::{HostId, World};

use super::flows::{Matched, Pair, records};
use super::load::Load;
use super::measure::program;
use crate::workload::rpc::Exchanged;
use crate::workload::{FileKeeper, FileUser, RpcClient, RpcServer};

/// The sessions that the end that answers has given up, or that were reset there, by the address of who asks: when, and
/// why.
pub(super) fn by_servers<'a>(
    world: &'a World,
    hosts: &BTreeMap<String, HostId>,
    load: &Load,
) -> BTreeMap<Address, (Instant, &'a Reason)> {
    let servers = load.to.iter().filter_map(|to| program::<RpcServer>(world, hosts, to));
    servers.flat_map(RpcServer::aborted).map(|(caller, at, why)| (caller, (at, why))).collect()
}

/// Whether each session of a load that asks has ended, be it that only the other end knows.
pub(super) fn all_answered(world: &World, hosts: &BTreeMap<String, HostId>, load: &Load) -> bool {
    let given_up = by_servers(world, hosts, load);
    let is_over = |done: &Exchanged| given_up.contains_key(&done.local);
    load.from
        .iter()
        .all(|from| program::<RpcClient>(world, hosts, from).is_some_and(|client| client.is_done(world.now(), is_over)))
}

/// Why the association of the file of `user` ended before it was moved, where it did: as its own host knows, or the one
/// that it has asked.
pub(super) fn why_of_file(
    world: &World,
    hosts: &BTreeMap<String, HostId>,
    load: &Load,
    user: &FileUser,
) -> Option<Reason> {
    let keeper = || of_file(world, hosts, load).map(|(_, why)| why);
    user.aborted().or_else(|| keeper().filter(|_| user.over().is_none())).cloned()
}

/// When the one who was asked for a file gave its association up, and why.
pub(super) fn of_file<'a>(
    world: &'a World,
    hosts: &BTreeMap<String, HostId>,
    load: &Load,
) -> Option<(Instant, &'a Reason)> {
    keeper(world, hosts, load)?.aborted().map(|(at, why)| (*at, why))
}

/// From when on nothing holds a file, since the one who was asked for it has given it up, or ended its association for
/// nothing came.
pub(super) fn end_of_file(world: &World, hosts: &BTreeMap<String, HostId>, load: &Load) -> Option<Instant> {
    let fell_silent = keeper(world, hosts, load).and_then(FileKeeper::fell_silent);
    of_file(world, hosts, load).map(|(at, _)| at).into_iter().chain(fell_silent).min()
}

/// Who is asked for the file of `load`.
fn keeper<'a>(world: &'a World, hosts: &BTreeMap<String, HostId>, load: &Load) -> Option<&'a FileKeeper> {
    load.from.iter().chain(&load.to).find_map(|end| program::<FileKeeper>(world, hosts, end))
}

/// The connections of TCP of those sessions that have called and that nobody has answered, by their numbers: in the
/// order of calling, those in which their hosts have begun to call the same peer.
pub(super) fn unanswered(
    world: &World,
    hosts: &BTreeMap<String, HostId>,
    matched: &[Matched<'_>],
) -> BTreeMap<usize, Pair> {
    let mut calls: BTreeMap<(&str, Address), Vec<(Instant, usize)>> = BTreeMap::new();
    for (number, Matched { from, writer, .. }) in matched.iter().enumerate() {
        if let Some(called) = writer.called.filter(|_| !writer.is_opened() && writer.remote.socket().is_some()) {
            calls.entry((from, writer.remote)).or_default().push((called, number));
        }
    }
    let mut found = BTreeMap::new();
    for ((host, remote), mut sessions) in calls {
        sessions.sort_unstable();
        let called = records(world, hosts, host).filter(|((_, to), _)| *to == remote);
        let mut begun: Vec<(Instant, Pair)> =
            called.filter_map(|(pair, record)| Some((only_called(record)?, pair))).collect();
        begun.sort_by_key(|(at, _)| *at);
        found.extend(sessions.into_iter().zip(begun).map(|((_, number), (_, pair))| (number, pair)));
    }
    found
}

/// When a connection began that has done nothing but call.
fn only_called(record: &Record) -> Option<Instant> {
    let mut spans = record.limits.spans(Instant::ZERO, Instant::FAR_FUTURE);
    let (began, _, first) = spans.next()?;
    (first == Limit::Opening && spans.next().is_none()).then_some(began)
}
