//! Which address of the link an IPv4 address has, and what waits until that is known (RFC 1122 section 2.3.2, RFC 2176
//! sections 3.1 to 3.4).

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::{Duration, Instant};

/// RFC 1122 section 2.3.2.1: not more often than this is one next hop asked for.
const INTERVAL: Duration = Duration::from_secs(1);

/// What bounds a cache.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How long what was learned is good.
    pub timeout: Duration,
    /// How often a next hop is asked for before it is taken for silent.
    pub tries: u8,
    /// The most next hops that are known or asked for.
    pub entries: usize,
    /// How many of them may be asked for: so who makes us ask for addresses that nobody has puts out those alone that are asked for.
    pub unknown: usize,
    /// The most datagrams that wait for one next hop.
    pub queue: usize,
    /// Whether who is in use is asked again before the time of what is known is over (RFC 1122 section 2.3.2.1 (2)).
    pub refresh: bool,
}

#[derive(Debug)]
enum State<A> {
    /// It was learned, and is good until then.
    Known { address: A, until: Instant },
    /// It has been asked for so often.
    Asked { times: u8 },
}

#[derive(Debug)]
struct Entry<A, W> {
    state: State<A>,
    /// It may not be asked for before.
    next: Instant,
    waiting: VecDeque<W>,
    /// Since when it is here, or when something was sent to it last.
    used: Instant,
    /// Something was sent to it.
    in_use: bool,
}

impl<A, W> Entry<A, W> {
    const fn is_known(&self) -> bool {
        matches!(self.state, State::Known { .. })
    }
}

/// What is to be done with a datagram.
#[derive(Debug)]
pub enum Found<A, W> {
    /// Send it. What is known is nearly too old, and who is there is to be asked again, if `old` says so.
    At {
        /// Where it goes.
        address: A,
        /// The datagram.
        datagram: W,
        /// Whether the next hop is to be asked again.
        old: bool,
    },
    /// It waits, and the next hop is to be asked for if this says so. So many others had to go.
    Waits {
        /// Whether the next hop is to be asked for.
        ask: bool,
        /// How many that waited longest were let go.
        gone: usize,
    },
}

/// The cache: addresses of a link are `A`s, and what waits for them are `W`s.
#[derive(Debug)]
pub struct Cache<A, W> {
    bounds: Bounds,
    entries: BTreeMap<Ipv4Addr, Entry<A, W>>,
}

impl<A: Copy + PartialEq, W> Cache<A, W> {
    /// An empty one.
    pub const fn new(bounds: Bounds) -> Self {
        Self { bounds, entries: BTreeMap::new() }
    }

    /// What is known at `now`.
    pub fn known(&self, next_hop: Ipv4Addr, now: Instant) -> Option<A> {
        match self.entries.get(&next_hop)?.state {
            State::Known { address, until } if now < until => Some(address),
            State::Known { .. } | State::Asked { .. } => None,
        }
    }

    /// How many next hops are known or asked for, and how many datagrams wait.
    pub fn held(&self) -> (usize, usize) {
        let waiting = self.entries.values().map(|it| it.waiting.len()).sum();
        (self.entries.len(), waiting)
    }

    /// Where `datagram` goes; `may_ask` says whether we can ask.
    pub fn find(&mut self, next_hop: Ipv4Addr, datagram: W, may_ask: bool, now: Instant) -> Found<A, W> {
        if let Some(entry) = self.entries.get_mut(&next_hop)
            && let State::Known { address, until } = entry.state
            && now < until
        {
            (entry.used, entry.in_use) = (now, true);
            let old = self.bounds.refresh && now + self.bounds.timeout / 5 >= until && entry.next <= now;
            if old {
                entry.next = now + INTERVAL;
            }
            return Found::At { address, datagram, old };
        }
        let mut gone = 0;
        if self.entries.get(&next_hop).is_none_or(Entry::is_known) {
            gone += self.make_room_to_ask(next_hop);
        }
        let entry = self.entries.entry(next_hop).or_insert_with(|| Entry {
            state: State::Asked { times: 0 },
            next: now,
            waiting: VecDeque::new(),
            used: now,
            in_use: true,
        });
        (entry.used, entry.in_use) = (now, true);
        if matches!(entry.state, State::Known { .. }) {
            // What was known is no longer good: begin anew.
            entry.state = State::Asked { times: 0 };
        }
        entry.waiting.push_back(datagram);
        if entry.waiting.len() > self.bounds.queue {
            entry.waiting.pop_front();
            gone += 1;
        }
        let mut ask = false;
        if let State::Asked { times } = &mut entry.state
            && *times == 0
            && entry.next <= now
            && may_ask
        {
            (*times, entry.next) = (1, now + INTERVAL);
            ask = true;
        }
        Found::Waits { ask, gone }
    }

    /// Lets somebody go where another next hop is to be asked for, or one that was known; how many datagrams waited. Of those that are asked for the one that was first.
    fn make_room_to_ask(&mut self, next_hop: Ipv4Addr) -> usize {
        let known = self.entries.values().filter(|it| it.is_known()).count();
        let asked = self.entries.len() - known;
        if asked >= self.bounds.unknown.min(self.bounds.entries) {
            self.put_out(false)
        } else if self.entries.len() >= self.bounds.entries && !self.entries.contains_key(&next_hop) {
            self.put_out(known > 0)
        } else {
            0
        }
    }

    /// Forgets one that is `known`, or one that is asked for: who has never been sent anything before who has, and then who was used longest ago. How many datagrams
    /// waited.
    fn put_out(&mut self, known: bool) -> usize {
        let of_kind = self.entries.iter().filter(|(_, it)| it.is_known() == known);
        let oldest = of_kind.min_by_key(|(_, it)| (it.in_use, it.used)).map(|(address, _)| *address);
        oldest.map_or(0, |it| self.forget(it))
    }

    /// `next_hop` has said that it is at `address`; gives what waited for it. Who is new and is to be `kept` takes the place of another that is known where there
    /// is no room.
    pub fn learn(&mut self, next_hop: Ipv4Addr, address: A, kept: bool, now: Instant) -> VecDeque<W> {
        let until = now + self.bounds.timeout;
        let state = State::Known { address, until };
        if let Some(entry) = self.entries.get_mut(&next_hop) {
            entry.state = state;
            return core::mem::take(&mut entry.waiting);
        }
        if kept && self.entries.len() >= self.bounds.entries {
            self.put_out(true);
        }
        if kept && self.entries.len() < self.bounds.entries {
            let entry = Entry { state, next: now, waiting: VecDeque::new(), used: now, in_use: false };
            self.entries.insert(next_hop, entry);
        }
        VecDeque::new()
    }

    /// UNARP (section 3.3): what is known of `next_hop` goes unless it is this address.
    pub fn clear_unless(&mut self, next_hop: Ipv4Addr, address: Option<A>) -> bool {
        let found = self.entries.get(&next_hop).map(|it| &it.state);
        let other = matches!(found, Some(State::Known { address: known, .. }) if Some(*known) != address);
        if other {
            self.entries.remove(&next_hop);
        }
        other
    }

    /// Forgets `next_hop`; how many datagrams waited for it.
    pub fn forget(&mut self, next_hop: Ipv4Addr) -> usize {
        let gone = self.entries.remove(&next_hop);
        gone.map_or(0, |it| it.waiting.len())
    }

    /// The link is lost: all that was known goes (section 3.4), and what waited with it; how many datagrams.
    pub fn clear(&mut self) -> usize {
        let (_, waiting) = self.held();
        self.entries.clear();
        waiting
    }

    /// What was known is forgotten; what waits goes on waiting.
    pub fn forget_known(&mut self) {
        self.entries.retain(|_, it| !it.waiting.is_empty());
    }

    /// All who are waited for are to be asked for anew: until now nobody could be.
    pub fn begin_anew(&mut self, now: Instant) {
        for entry in self.entries.values_mut() {
            if let State::Asked { times } = &mut entry.state {
                (*times, entry.next) = (0, now);
            }
        }
    }

    /// Who is to be asked for at `now`, and those who did not answer, with what waited for them.
    pub fn due(&mut self, now: Instant) -> (Vec<Ipv4Addr>, Vec<(Ipv4Addr, W)>) {
        let (mut again, mut silent) = (Vec::new(), Vec::new());
        for (&next_hop, entry) in &mut self.entries {
            match &mut entry.state {
                State::Asked { times } if entry.next <= now => {
                    if *times < self.bounds.tries {
                        (*times, entry.next) = (*times + 1, now + INTERVAL);
                        again.push(next_hop);
                    } else {
                        silent.push(next_hop);
                    }
                }
                State::Asked { .. } | State::Known { .. } => {}
            }
        }
        let mut gone = Vec::new();
        for next_hop in silent {
            let entry = self.entries.remove(&next_hop);
            let waiting = entry.into_iter().flat_map(|entry| entry.waiting);
            gone.extend(waiting.map(|datagram| (next_hop, datagram)));
        }
        (again, gone)
    }

    /// When [`Cache::due`] has something next.
    pub fn next_due(&self) -> Option<Instant> {
        let asked = self.entries.values().filter(|it| matches!(it.state, State::Asked { .. }));
        asked.map(|it| it.next).min()
    }
}
