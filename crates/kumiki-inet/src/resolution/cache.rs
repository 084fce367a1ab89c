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
    /// How many of them may be asked for: so who makes us ask for addresses that nobody has puts out those alone that
    /// are asked for.
    pub unknown: usize,
    /// The most datagrams that wait for one next hop.
    pub queue: usize,
    /// Whether who is in use is asked again before the time of what is known is over (RFC 1122 section 2.3.2.1 (2)).
    pub refresh: bool,
}

/// So large a part of those who are known goes at once where there is no room: who speaks from address upon address has
/// us look through all of them for each otherwise.
const PART: usize = 16;

/// A next hop that is known.
#[derive(Debug)]
struct ResolvedEntry<A> {
    address: A,
    /// It is good until then.
    until: Instant,
    /// It may not be asked for before.
    next: Instant,
    /// Since when it is here, or when something was sent to it last.
    used: Instant,
    /// Something was sent to it.
    in_use: bool,
}

/// One that is asked for.
#[derive(Debug)]
struct PendingEntry<W> {
    /// So often it has been asked for.
    times: u8,
    next: Instant,
    waiting: VecDeque<W>,
    used: Instant,
}

/// What is to be done with a datagram.
#[derive(Debug)]
pub enum Resolution<A, W> {
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
///
/// Those that are asked for stand apart: they are few, and time passes for them alone.
#[derive(Debug)]
pub struct Cache<A, W> {
    bounds: Bounds,
    known: BTreeMap<Ipv4Addr, ResolvedEntry<A>>,
    asked: BTreeMap<Ipv4Addr, PendingEntry<W>>,
}

impl<A: Copy + PartialEq, W> Cache<A, W> {
    /// An empty one.
    pub const fn new(bounds: Bounds) -> Self {
        Self { bounds, known: BTreeMap::new(), asked: BTreeMap::new() }
    }

    /// What is known at `now`.
    pub fn known(&self, next_hop: Ipv4Addr, now: Instant) -> Option<A> {
        self.known.get(&next_hop).filter(|it| now < it.until).map(|it| it.address)
    }

    fn len(&self) -> usize {
        self.known.len() + self.asked.len()
    }

    /// How many next hops are known or asked for, and how many datagrams wait.
    pub fn held(&self) -> (usize, usize) {
        let waiting = self.asked.values().map(|it| it.waiting.len()).sum();
        (self.len(), waiting)
    }

    /// Where `datagram` goes; `may_ask` says whether we can ask.
    pub fn find(&mut self, next_hop: Ipv4Addr, datagram: W, may_ask: bool, now: Instant) -> Resolution<A, W> {
        if let Some(it) = self.known.get_mut(&next_hop).filter(|it| now < it.until) {
            (it.used, it.in_use) = (now, true);
            let old = self.bounds.refresh && now + self.bounds.timeout / 5 >= it.until && it.next <= now;
            if old {
                it.next = now + INTERVAL;
            }
            return Resolution::At { address: it.address, datagram, old };
        }
        let mut gone = 0;
        // What was known is no longer good: start over.
        let next = self.known.remove(&next_hop).map_or(now, |it| it.next);
        if !self.asked.contains_key(&next_hop) {
            gone += self.make_room_to_ask();
        }
        let new = || PendingEntry { times: 0, next, waiting: VecDeque::new(), used: now };
        let it = self.asked.entry(next_hop).or_insert_with(new);
        it.used = now;
        it.waiting.push_back(datagram);
        if it.waiting.len() > self.bounds.queue {
            it.waiting.pop_front();
            gone += 1;
        }
        let ask = it.times == 0 && it.next <= now && may_ask;
        if ask {
            (it.times, it.next) = (1, now + INTERVAL);
        }
        Resolution::Waits { ask, gone }
    }

    /// Lets somebody go where another next hop is to be asked for; how many datagrams waited.
    fn make_room_to_ask(&mut self) -> usize {
        let is_full = self.len() >= self.bounds.entries;
        if self.asked.len() >= self.bounds.unknown.min(self.bounds.entries) || is_full && self.known.is_empty() {
            let first = self.asked.iter().min_by_key(|(_, it)| it.used).map(|(address, _)| *address);
            return first.map_or(0, |it| self.forget(it));
        }
        if is_full {
            self.put_out();
        }
        0
    }

    /// Forgets a part of those who are known: those who have never been sent anything before those who have, and then
    /// those that were used longest ago.
    fn put_out(&mut self) {
        let mut all: Vec<_> = self.known.iter().map(|(address, it)| (it.in_use, it.used, *address)).collect();
        let part = (self.bounds.entries / PART).max(1);
        if part < all.len() {
            all.select_nth_unstable(part);
        }
        for (.., address) in all.into_iter().take(part) {
            self.known.remove(&address);
        }
    }

    /// `next_hop` has said that it is at `address`; gives what waited for it. Who is new and is to be `kept` takes the
    /// place of others that are known where there is no room.
    pub fn learn(&mut self, next_hop: Ipv4Addr, address: A, kept: bool, now: Instant) -> VecDeque<W> {
        let until = now + self.bounds.timeout;
        if let Some(it) = self.known.get_mut(&next_hop) {
            (it.address, it.until) = (address, until);
            return VecDeque::new();
        }
        if let Some(PendingEntry { next, waiting, used, .. }) = self.asked.remove(&next_hop) {
            self.known.insert(next_hop, ResolvedEntry { address, until, next, used, in_use: true });
            return waiting;
        }
        if kept && self.len() >= self.bounds.entries {
            self.put_out();
        }
        if kept && self.len() < self.bounds.entries {
            self.known.insert(next_hop, ResolvedEntry { address, until, next: now, used: now, in_use: false });
        }
        VecDeque::new()
    }

    /// UNARP (section 3.3): what is known of `next_hop` goes unless it is this address.
    pub fn clear_unless(&mut self, next_hop: Ipv4Addr, address: Option<A>) -> bool {
        let other = self.known.get(&next_hop).is_some_and(|it| Some(it.address) != address);
        if other {
            self.known.remove(&next_hop);
        }
        other
    }

    /// Forgets `next_hop`; how many datagrams waited for it.
    pub fn forget(&mut self, next_hop: Ipv4Addr) -> usize {
        self.known.remove(&next_hop);
        let gone = self.asked.remove(&next_hop);
        gone.map_or(0, |it| it.waiting.len())
    }

    /// The link is lost: all that was known goes (section 3.4), and what waited with it; how many datagrams.
    pub fn clear(&mut self) -> usize {
        let (_, waiting) = self.held();
        self.known.clear();
        self.asked.clear();
        waiting
    }

    /// What was known is forgotten; what waits goes on waiting.
    pub fn forget_known(&mut self) {
        self.known.clear();
        self.asked.retain(|_, it| !it.waiting.is_empty());
    }

    /// All who are waited for are to be asked for again: until now nobody could be.
    pub fn begin_again(&mut self, now: Instant) {
        for it in self.asked.values_mut() {
            (it.times, it.next) = (0, now);
        }
    }

    /// Who is to be asked for at `now`, and those who did not answer, with what waited for them.
    pub fn due(&mut self, now: Instant) -> (Vec<Ipv4Addr>, Vec<(Ipv4Addr, W)>) {
        let (mut again, mut silent) = (Vec::new(), Vec::new());
        for (&next_hop, it) in self.asked.iter_mut().filter(|(_, it)| it.next <= now) {
            if it.times < self.bounds.tries {
                (it.times, it.next) = (it.times + 1, now + INTERVAL);
                again.push(next_hop);
            } else {
                silent.push(next_hop);
            }
        }
        let mut gone = Vec::new();
        for next_hop in silent {
            let it = self.asked.remove(&next_hop);
            let waiting = it.into_iter().flat_map(|it| it.waiting);
            gone.extend(waiting.map(|datagram| (next_hop, datagram)));
        }
        (again, gone)
    }

    /// When [`Cache::due`] has something next.
    pub fn next_due(&self) -> Option<Instant> {
        self.asked.values().map(|it| it.next).min()
    }
}
