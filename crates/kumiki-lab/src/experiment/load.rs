//! A load, as those who measure it see it: its programs, the lines on its way, and when it begins and ends.

use core::net::SocketAddr;
use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::{Duration, Instant};

use super::path::CrossedLine;
use crate::topology::Hop;
use crate::workload::Bell;

/// The lines from a writer to a reader, and behind these the lines back.
#[derive(Clone, Debug)]
pub(super) struct Route {
    lines: Vec<CrossedLine>,
    /// How many lead there.
    there: usize,
}

impl Route {
    /// That of these hops there, and back.
    pub(super) fn of(there: &[Hop<'_>], back: &[Hop<'_>]) -> Self {
        Self { lines: there.iter().chain(back).map(CrossedLine::of).collect(), there: there.len() }
    }
}

impl<'a> IntoIterator for &'a Route {
    type Item = &'a CrossedLine;
    type IntoIter = core::slice::Iter<'a, CrossedLine>;

    fn into_iter(self) -> Self::IntoIter {
        self.lines.iter()
    }
}

/// What to run and for how long.
#[derive(Clone, Debug)]
pub(super) struct Load {
    /// What the programs do.
    pub(super) kind: Kind,
    /// Hosts and nodes of the writing programs.
    pub(super) from: Vec<(String, String)>,
    /// Hosts and nodes of the reading programs.
    pub(super) to: Vec<(String, String)>,
    /// The lines from each writer to each reader that it has, and those back where what counts comes back.
    pub(super) ways: Vec<Vec<Route>>,
    /// How long each of these takes from its one end to the other, where it takes any time, as it is at first.
    pub(super) propagation: BTreeMap<CrossedLine, Duration>,
    /// The hosts at the ends of it and on the way there and, unless it [is one-way](Self::is_one_way), back; `None`
    /// where the way is not known.
    pub(super) hosts: Option<BTreeSet<String>>,
    /// Whether this load is over when the writing program is done.
    pub(super) until_done: bool,
    /// When the first of its sessions begins.
    pub(super) start: Instant,
    /// When it is to stop.
    pub(super) stop: Option<Instant>,
    /// Whether it writes all the time, from its beginning to the end of the run.
    pub(super) is_steady: bool,
    /// Whether a transfer is over for its clock when the last message has been written, and not when the last octet is
    /// read.
    pub(super) sender_clock: bool,
    /// Where exchanges are asked for, or files.
    pub(super) servers: BTreeSet<SocketAddr>,
    /// Whether the time of a file begins when the association is asked for, and not when it stands.
    pub(super) from_request: bool,
    /// What the programs of transfers with an end ring when one opens and when it is over: one for all loads.
    pub(super) bell: Option<Bell>,
}

impl Load {
    /// Whether both ends of a connection write in turn: one asks, and the other answers.
    pub(super) const fn is_of_exchanges(&self) -> bool {
        matches!(self.kind, Kind::Rpc | Kind::File)
    }

    /// Whether nothing answers what it sends, so that a way back is of no matter to it.
    pub(super) const fn is_one_way(&self) -> bool {
        matches!(self.kind, Kind::Units)
    }

    /// Whether it is measured from its beginning to its end, whatever the others wait for.
    pub(super) const fn is_measured_whole(&self) -> bool {
        self.until_done && matches!(self.kind, Kind::Stream | Kind::File)
    }

    /// The hosts of a writer and one of its readers.
    pub(super) fn ends(&self, (writer, reader): (usize, usize)) -> impl Iterator<Item = &str> {
        let reader = self.to.get(self.readers(writer).start + reader);
        self.from.get(writer).into_iter().chain(reader).map(|(host, _)| host.as_str())
    }

    /// The hosts between its ends, where the way is known.
    pub(super) fn hosts_between(&self) -> impl Iterator<Item = &str> {
        let ends: BTreeSet<&str> = self.from.iter().chain(&self.to).map(|(host, _)| host.as_str()).collect();
        self.hosts.iter().flatten().map(String::as_str).filter(move |host| !ends.contains(host))
    }

    /// Whether `cpu`, of that `host.cpu`, has to do with it.
    pub(super) fn is_on_the_way(&self, cpu: &str) -> bool {
        let host = cpu.split_once('.').map_or(cpu, |(host, _)| host);
        self.hosts.as_ref().is_none_or(|hosts| hosts.contains(host))
    }

    /// The lines from a writer to one of its readers.
    pub(super) fn way(&self, (writer, reader): (usize, usize)) -> &[CrossedLine] {
        self.ways.get(writer).and_then(|ways| ways.get(reader)).map_or(&[], |way| way.lines.as_slice())
    }

    /// The same, each with whether it leads back.
    pub(super) fn way_and_back(&self, way: (usize, usize)) -> impl Iterator<Item = (&CrossedLine, bool)> {
        let there = self.ways.get(way.0).and_then(|ways| ways.get(way.1)).map_or(0, |way| way.there);
        self.way(way).iter().enumerate().map(move |(number, line)| (line, number >= there))
    }

    /// Each writer with each of its readers, by their numbers in the load and among the readers of the writer.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.from.len()).flat_map(|writer| self.pairs_of(writer))
    }

    /// One writer with each of its readers, the same.
    pub(super) fn pairs_of(&self, writer: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        (0..self.readers(writer).len()).map(move |reader| (writer, reader))
    }

    /// Which of `to` the sessions of writer `number` go to, in turn: all where it is the only one, the only one, or its
    /// own.
    pub(super) fn readers(&self, number: usize) -> core::ops::Range<usize> {
        match (self.from.len(), self.to.len()) {
            (1, all) => 0..all,
            (_, 1) => 0..1,
            _ => number..number + 1,
        }
    }
}

/// What the programs do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Streams, or messages on a connection: `ttcp` and `netperf`.
    Stream,
    /// A file.
    File,
    /// Datagrams at a constant rate.
    Units,
    /// Echoes.
    Ping,
    /// Requests and responses.
    Rpc,
}
