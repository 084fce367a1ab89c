//! Which HDLC address an IPv4 address has, and what waits until that is known (RFC 2176 sections 3.1 to 3.4).

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::{Duration, Instant, Unit};
use kumiki_wire::mapos::Address;

/// How often one next hop is asked for, as ARP on an Ethernet does (RFC 1122 section 2.3.2.1).
const INTERVAL: Duration = Duration::from_secs(1);

/// What bounds a cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) timeout: Duration,
    pub(super) tries: u8,
    pub(super) entries: usize,
    pub(super) queue: usize,
}

#[derive(Debug)]
enum State {
    /// It was learned, and is good until then.
    Known { address: Address, until: Instant },
    /// It has been asked for so often, and may be again from then on.
    Asked { times: u8, next: Instant },
}

#[derive(Debug)]
struct Entry {
    state: State,
    waiting: VecDeque<Unit>,
    used: Instant,
}

/// What is to be done with a datagram.
#[derive(Debug)]
pub(super) enum Found {
    /// Send it.
    At(Address, Unit),
    /// It waits, and the next hop is to be asked for if this says so. So many others had to go.
    Waits { ask: bool, gone: usize },
}

/// The cache.
#[derive(Debug)]
pub(super) struct Cache {
    bounds: Bounds,
    entries: BTreeMap<Ipv4Addr, Entry>,
}

impl Cache {
    pub(super) const fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            entries: BTreeMap::new(),
        }
    }

    /// What is known at `now`.
    pub(super) fn known(&self, next_hop: Ipv4Addr, now: Instant) -> Option<Address> {
        match self.entries.get(&next_hop)?.state {
            State::Known { address, until } if now < until => Some(address),
            State::Known { .. } | State::Asked { .. } => None,
        }
    }

    /// How many next hops are known or asked for, and how many datagrams wait.
    pub(super) fn held(&self) -> (usize, usize) {
        let waiting = self.entries.values().map(|it| it.waiting.len()).sum();
        (self.entries.len(), waiting)
    }

    /// Where `unit` goes; `may_ask` says whether we can ask.
    pub(super) fn find(
        &mut self,
        next_hop: Ipv4Addr,
        unit: Unit,
        may_ask: bool,
        now: Instant,
    ) -> Found {
        if let Some(address) = self.known(next_hop, now) {
            if let Some(entry) = self.entries.get_mut(&next_hop) {
                entry.used = now;
            }
            return Found::At(address, unit);
        }
        let mut gone = 0;
        if !self.entries.contains_key(&next_hop) && self.entries.len() >= self.bounds.entries {
            let oldest = self.entries.iter().min_by_key(|(_, it)| it.used);
            let oldest = oldest.map(|(address, _)| *address);
            gone += oldest.map_or(0, |it| self.forget(it));
        }
        let asked = State::Asked {
            times: 0,
            next: now,
        };
        let entry = self.entries.entry(next_hop).or_insert_with(|| Entry {
            state: asked,
            waiting: VecDeque::new(),
            used: now,
        });
        entry.used = now;
        if matches!(entry.state, State::Known { .. }) {
            // What was known is no longer good: begin anew.
            entry.state = State::Asked {
                times: 0,
                next: now,
            };
        }
        entry.waiting.push_back(unit);
        if entry.waiting.len() > self.bounds.queue {
            entry.waiting.pop_front();
            gone += 1;
        }
        let mut ask = false;
        if let State::Asked { times, next } = &mut entry.state
            && *times == 0
            && may_ask
        {
            (*times, *next) = (1, now + INTERVAL);
            ask = true;
        }
        Found::Waits { ask, gone }
    }

    /// `next_hop` has said that it is at `address`; gives what waited for it. Nobody new is kept unless he is to be `kept` and
    /// there is room.
    pub(super) fn learn(
        &mut self,
        next_hop: Ipv4Addr,
        address: Address,
        kept: bool,
        now: Instant,
    ) -> VecDeque<Unit> {
        let until = now + self.bounds.timeout;
        let state = State::Known { address, until };
        if let Some(entry) = self.entries.get_mut(&next_hop) {
            entry.state = state;
            return core::mem::take(&mut entry.waiting);
        }
        if kept && self.entries.len() < self.bounds.entries {
            let entry = Entry {
                state,
                waiting: VecDeque::new(),
                used: now,
            };
            self.entries.insert(next_hop, entry);
        }
        VecDeque::new()
    }

    /// UNARP (section 3.3): what is known of `next_hop` goes unless it is this address.
    pub(super) fn clear_unless(&mut self, next_hop: Ipv4Addr, address: Option<Address>) -> bool {
        let found = self.entries.get(&next_hop).map(|it| &it.state);
        let other =
            matches!(found, Some(State::Known { address: known, .. }) if Some(*known) != address);
        if other {
            self.entries.remove(&next_hop);
        }
        other
    }

    /// Forgets `next_hop`; how many datagrams waited for it.
    pub(super) fn forget(&mut self, next_hop: Ipv4Addr) -> usize {
        let gone = self.entries.remove(&next_hop);
        gone.map_or(0, |it| it.waiting.len())
    }

    /// The link is lost: all that was known goes (section 3.4), and what waited with it; how many datagrams.
    pub(super) fn clear(&mut self) -> usize {
        let (_, waiting) = self.held();
        self.entries.clear();
        waiting
    }

    /// Who is to be asked for at `now`, and how many datagrams waited for those who did not answer.
    pub(super) fn due(&mut self, now: Instant) -> (Vec<Ipv4Addr>, usize) {
        let (mut again, mut silent) = (Vec::new(), Vec::new());
        for (&next_hop, entry) in &mut self.entries {
            match &mut entry.state {
                State::Asked { times, next } if *next <= now => {
                    if *times < self.bounds.tries {
                        (*times, *next) = (*times + 1, now + INTERVAL);
                        again.push(next_hop);
                    } else {
                        silent.push(next_hop);
                    }
                }
                State::Asked { .. } | State::Known { .. } => {}
            }
        }
        let gone = silent.into_iter().map(|it| self.forget(it)).sum();
        (again, gone)
    }

    /// When [`Cache::due`] has something next.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let asked = self.entries.values().filter_map(|it| match it.state {
            State::Asked { next, .. } => Some(next),
            State::Known { .. } => None,
        });
        asked.min()
    }
}
