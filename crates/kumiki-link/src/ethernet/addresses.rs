//! Where stations are: what a switch has learned from the frames that came.

use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::{Duration, Instant};
use kumiki_wire::inet::ethernet::MacAddr;

/// What is known of a station.
#[derive(Clone, Copy, Debug)]
struct FilteringEntry {
    port: usize,
    /// When it last sent something.
    at: Instant,
}

/// What a frame has taught.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LearnResult {
    /// Nothing new.
    Known,
    /// A station that was not known.
    Learned,
    /// The station was at another port before.
    Moved,
    /// A station that was not known, and there is no room for it.
    Full,
}

/// The stations that have sent something lately, and their ports.
#[derive(Debug)]
pub(super) struct Addresses {
    ageing: Duration,
    most: usize,
    stations: BTreeMap<MacAddr, FilteringEntry>,
    /// When each of them is to be looked at for having grown too old: when it has, or before.
    looks: BTreeSet<(Instant, MacAddr)>,
    /// How many have grown too old.
    aged: u64,
}

impl Addresses {
    /// Room for `most` stations, each forgotten when it has sent nothing for `ageing`.
    pub(super) const fn new(ageing: Duration, most: usize) -> Self {
        Self { ageing, most, stations: BTreeMap::new(), looks: BTreeSet::new(), aged: 0 }
    }

    /// How many have been forgotten as too old.
    pub(super) const fn aged(&self) -> u64 {
        self.aged
    }

    /// How many there is a place taken for.
    pub(super) fn len(&self) -> usize {
        self.stations.len()
    }

    /// The port of `station`, where it is known.
    pub(super) fn port(&self, now: Instant, station: MacAddr) -> Option<usize> {
        let seen = self.stations.get(&station)?;
        (now < seen.at + self.ageing).then_some(seen.port)
    }

    /// `station` has sent something that came by `port`.
    pub(super) fn learn(&mut self, now: Instant, station: MacAddr, port: usize) -> LearnResult {
        if let Some(seen) = self.stations.get_mut(&station)
            && now < seen.at + self.ageing
        {
            let moved = seen.port != port;
            *seen = FilteringEntry { port, at: now };
            return if moved { LearnResult::Moved } else { LearnResult::Known };
        }
        self.forget(now);
        if self.stations.len() >= self.most {
            return LearnResult::Full;
        }
        self.stations.insert(station, FilteringEntry { port, at: now });
        self.looks.insert((now + self.ageing, station));
        LearnResult::Learned
    }

    /// Forgets the stations that have grown too old. Each is looked at once in a time of `ageing`, however many there
    /// are.
    fn forget(&mut self, now: Instant) {
        while let Some((_, station)) = self.looks.first().copied().filter(|(at, _)| *at <= now) {
            self.looks.pop_first();
            let Some(seen) = self.stations.get(&station) else {
                continue;
            };
            let old = seen.at + self.ageing;
            if old <= now {
                self.stations.remove(&station);
                self.aged += 1;
            } else {
                self.looks.insert((old, station));
            }
        }
    }
}
