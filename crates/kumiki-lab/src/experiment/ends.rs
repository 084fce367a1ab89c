//! What the senders of transfers had done when these were opened, and when they were over: what is reported of them is
//! what lies between.
//!
//! | | |
//! |---|---|
//! | Specification | none |
//! | Of which loads | those that are measured from the opening of each transfer to its end |
//! | Opened | all that was sent before that instant does not count, nor what a timer had it send |
//! | Over | when the reader has all, or the writer has written all, as its load has it; or when the connection is aborted, since what it did in vain until then says why |

use std::collections::BTreeMap;
use std::sync::Arc;

use kumiki_graph::{Address, Instant};
use kumiki_inet::tcp::{Counts, Record};
use kumiki_sim::{HostId, World};

use super::flows::{self, Pair};
use super::load::{Kind, Load};
use crate::workload::{Ringer, TransferEvent};

/// What a sender had done at the two ends of its transfer.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct TransferCounts {
    /// When its transfer was opened.
    pub(super) opened: Counts,
    /// When that was over, where it is.
    pub(super) over: Option<Counts>,
}

impl TransferCounts {
    /// What it has retransmitted between the two, where it has done so much by now.
    pub(super) fn sent_again(self, by_now: Counts) -> u64 {
        self.over.unwrap_or(by_now).retransmissions.saturating_sub(self.opened.retransmissions)
    }
}

/// What all senders had done.
#[derive(Default)]
pub(super) struct TransferEnds {
    done: BTreeMap<Pair, TransferCounts>,
    /// Of each load the connections of its transfers, by the address of who called, and the host of that; that of an
    /// association by none, and at whichever host.
    callers: BTreeMap<(String, Address), (Arc<str>, Vec<Pair>)>,
}

impl TransferEnds {
    /// Lets `world` run until then, and looks at each opening and end.
    pub(super) fn run(
        &mut self,
        world: &mut World,
        (hosts, loads): (&BTreeMap<String, HostId>, &BTreeMap<String, Load>),
        until: Instant,
    ) {
        // All loads have the same, if any.
        let Some(bell) = loads.values().find_map(|load| load.bell.as_ref()) else {
            world.run_until(until);
            return;
        };
        while world.run_until_or(until, || bell.is_rung()) {
            for (ringer, happened) in bell.take() {
                let Some(load) = loads.get(&*ringer.load) else {
                    continue;
                };
                match happened {
                    TransferEvent::Opened { at, local, remote } => {
                        self.opened(world, hosts, (&ringer, load), (at, local, remote));
                    }
                    TransferEvent::Over { caller } => self.over(world, hosts, (&ringer.load, load), caller),
                }
            }
        }
    }

    /// A transfer was opened.
    fn opened(
        &mut self,
        world: &World,
        hosts: &BTreeMap<String, HostId>,
        (ringer, load): (&Ringer, &Load),
        (at, local, remote): (Instant, Address, Address),
    ) {
        // Both ends of an association write.
        let (host, pairs) = match load.kind {
            Kind::File => {
                let pair = flows::association(world, hosts, load);
                (Arc::default(), pair.map_or_else(Vec::new, |(a, b)| vec![(a, b), (b, a)]))
            }
            Kind::Stream | Kind::Units | Kind::Ping | Kind::Rpc => (Arc::clone(&ringer.host), vec![(local, remote)]),
        };
        // Some are measured from when they are asked for.
        for pair in pairs.iter().filter(|_| !load.from_request) {
            let opened = |record: &Record| record.counts_before(at);
            let opened = record(world, hosts, load, (&host, *pair)).map_or_else(Counts::default, opened);
            self.done.insert(*pair, TransferCounts { opened, over: None });
        }
        self.callers.insert((ringer.load.to_string(), local), (host, pairs));
    }

    /// The one of that caller is over.
    fn over(&mut self, world: &World, hosts: &BTreeMap<String, HostId>, (name, load): (&str, &Load), caller: Address) {
        let Some((host, pairs)) = self.callers.get(&(name.to_owned(), caller)) else {
            return;
        };
        for pair in pairs {
            if let Some(record) = record(world, hosts, load, (host, *pair)) {
                self.done.entry(*pair).or_default().over.get_or_insert(record.counts);
            }
        }
    }

    /// Those of the sender of a connection, where its transfer was opened.
    pub(super) fn of(&self, pair: &Pair) -> Option<TransferCounts> {
        self.done.get(pair).copied()
    }
}

/// What the connection of TCP with that sender did, of `load`. An address may come again, where one is over: then the
/// last counts. Where the host of the sender is known nobody else is asked: of many hosts with a transfer each all
/// would be, for each of them.
fn record<'a>(
    world: &'a World,
    hosts: &'a BTreeMap<String, HostId>,
    load: &'a Load,
    (host, pair): (&str, Pair),
) -> Option<&'a Record> {
    let is_own = |(it, _): &(Pair, &Record)| *it == pair;
    let last = if host.is_empty() {
        flows::writing(world, hosts, load).filter(is_own).last()
    } else {
        flows::records(world, hosts, host).filter(is_own).last()
    };
    last.map(|(_, record)| record)
}
