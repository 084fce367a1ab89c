//! The connections of TCP below the sessions of a load, and what they have done.

use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::Address;
use kumiki_inet::tcp::{Record, Tcp};
use kumiki_sim::{HostId, World};

use super::super::ends::TransferEnds;
use super::super::load::{Kind, Load};
use super::super::measure::program;
use super::{Pair, Sender, Writer};
use crate::workload::FileUser;

/// What the senders of `load`'s hosts have done so far.
pub(in crate::experiment) fn senders(
    world: &World,
    hosts: &BTreeMap<String, HostId>,
    load: &Load,
) -> BTreeMap<Pair, Sender> {
    writing(world, hosts, load).map(|(pair, record)| (pair, Sender::of(record))).collect()
}

/// What the connections on hosts of `load` did that write; of exchanges both ends do.
pub(in crate::experiment) fn writing<'a>(
    world: &'a World,
    hosts: &'a BTreeMap<String, HostId>,
    load: &'a Load,
) -> impl Iterator<Item = (Pair, &'a Record)> {
    let answering = load.to.iter().filter(|_| load.is_of_exchanges());
    let writing: BTreeSet<&String> = load.from.iter().chain(answering).map(|(host, _)| host).collect();
    writing.into_iter().flat_map(|host| records(world, hosts, host))
}

/// The connection of TCP that `writer` has, as its host sees it: that below the association of a file.
pub(in crate::experiment) fn pair_of(
    world: &World,
    hosts: &BTreeMap<String, HostId>,
    load: &Load,
    writer: &Writer,
) -> Pair {
    let own = (writer.local, writer.remote);
    if load.kind == Kind::File { association(world, hosts, load).unwrap_or(own) } else { own }
}

/// The connection of TCP below the association of a file, as the host sees it that has the file.
pub(in crate::experiment) fn association(world: &World, hosts: &BTreeMap<String, HostId>, load: &Load) -> Option<Pair> {
    let mut ends = load.from.iter().chain(&load.to);
    let (asking, user) = ends.find_map(|end| Some((&end.0, program::<FileUser>(world, hosts, end)?)))?;
    let (pair, _) = records(world, hosts, asking).filter(|((_, remote), _)| *remote == user.remote()).last()?;
    let writes = load.from.iter().any(|(host, _)| host == asking);
    Some(if writes { pair } else { (pair.1, pair.0) })
}

/// How many segments each sender of `load`'s hosts has retransmitted; of a transfer since its opening, and until its
/// end, as in its row.
pub(in crate::experiment) fn retransmissions(
    world: &World,
    hosts: &BTreeMap<String, HostId>,
    load: &Load,
    ends: &TransferEnds,
) -> BTreeMap<Pair, u64> {
    let of = |(pair, record): (Pair, &Record)| {
        let sent_again = match ends.of(&pair).filter(|_| load.is_measured_whole()) {
            Some(at_ends) => at_ends.sent_again(record.counts),
            None if load.is_measured_whole() && !load.from_request => 0,
            None => record.counts.retransmissions,
        };
        (pair, sent_again)
    };
    writing(world, hosts, load).map(of).collect()
}

/// The TCPs of `host`.
pub(in crate::experiment) fn tcps<'a>(
    world: &'a World,
    hosts: &BTreeMap<String, HostId>,
    host: &str,
) -> impl Iterator<Item = &'a Tcp> {
    let host = hosts.get(host).and_then(|id| world.host(*id));
    host.into_iter().flat_map(|host| {
        let names = host.graph.accounts();
        names.filter_map(|(name, _)| host.graph.find::<Tcp>(name))
    })
}

/// What each connection of TCP on `host` did. An address may come again, where one is over: then the last counts.
pub(in crate::experiment) fn records<'a>(
    world: &'a World,
    hosts: &BTreeMap<String, HostId>,
    host: &str,
) -> impl Iterator<Item = (Pair, &'a Record)> {
    tcps(world, hosts, host)
        .flat_map(|tcp| tcp.records().map(|(local, remote, it)| ((Address::from(local), Address::from(remote)), it)))
}
