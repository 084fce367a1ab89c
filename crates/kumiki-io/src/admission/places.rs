//! Places: how many callers there may be, of whom, and who makes room.

use core::cmp::Reverse;
use core::fmt;
use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::{Duration, Instant, Rng};

use super::Prefix;

/// A caller that has said nothing for so long makes room for another of its own host or network: before that it may just not have been heard yet.
const SILENT: Duration = Duration::from_secs(1);

/// How many there may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Of those who are known.
    pub known: usize,
    /// Of those who are known of one host, and of strangers of one.
    pub of_one_host: usize,
    /// Of strangers of one network.
    pub of_one_network: usize,
    /// From so many strangers on some are dropped at random.
    pub start: usize,
    /// How many of a hundred are dropped then; it rises to all of them at `full`.
    pub percent: u8,
    /// So many strangers there are at most.
    pub full: usize,
    /// A stranger that has begun to speak may take so long to become known, when another wants its place.
    pub patience: Duration,
}

impl Limits {
    /// So many known ones and so many of one host; the others from these, and of the time within which a caller is to become known.
    #[must_use]
    pub fn new(known: usize, of_one_host: usize, begin: Duration) -> Self {
        Self {
            known,
            of_one_host,
            of_one_network: of_one_host.saturating_mul(2),
            start: 16,
            percent: 30,
            full: 64,
            patience: Duration::from_nanos(begin.as_nanos() / 6),
        }
    }
}

/// Of what there are too many.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Of {
    /// Strangers of one host.
    Host,
    /// Strangers of one network.
    Network,
    /// Strangers.
    House,
    /// Those who are known.
    Known,
    /// Those who are known, of one host.
    KnownOfHost,
}

/// Why there is no place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full {
    /// Of what there are too many.
    pub of: Of,
    /// How many there may be; where they were dropped at random, how many there are.
    pub most: usize,
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.most;
        match self.of {
            Of::Host => write!(f, "{most} callers of this host have not logged in yet"),
            Of::Network => write!(f, "{most} callers of this network have not logged in yet"),
            Of::House => write!(f, "{most} callers have not logged in yet"),
            Of::Known => write!(f, "there are {most} already"),
            Of::KnownOfHost => write!(f, "there are {most} of this host already"),
        }
    }
}

/// Whether a caller is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entrance {
    /// It is; if it says so, this other one is to be let go, and its place is given away already.
    Taken(Option<u64>),
    /// It is not.
    Refused(Full),
}

/// A caller that has a place.
#[derive(Clone, Copy, Debug)]
struct Caller {
    host: Prefix,
    network: Prefix,
    since: Instant,
    has_spoken: bool,
    is_known: bool,
}

/// In which order strangers make room: first those of the network that has most, of these first who is silent, of these first who came first.
type Rank = (Reverse<usize>, bool, u64);

/// The places of one server. Callers have numbers that rise.
#[derive(Debug)]
pub struct Places {
    limits: Limits,
    rng: Rng,
    callers: BTreeMap<u64, Caller>,
    /// Strangers by host and by network, with whether they have spoken.
    of_host: BTreeMap<Prefix, BTreeSet<(bool, u64)>>,
    of_network: BTreeMap<Prefix, BTreeSet<(bool, u64)>>,
    ranks: BTreeSet<Rank>,
    known: BTreeMap<Prefix, usize>,
    knowns: usize,
}

impl Places {
    /// All free. What is drawn at random is drawn from `rng`.
    #[must_use]
    pub fn new(limits: Limits, rng: Rng) -> Self {
        Self {
            limits: Limits { full: limits.full.max(1), ..limits },
            rng,
            callers: BTreeMap::new(),
            of_host: BTreeMap::new(),
            of_network: BTreeMap::new(),
            ranks: BTreeSet::new(),
            known: BTreeMap::new(),
            knowns: 0,
        }
    }

    /// How many strangers there are.
    #[must_use]
    pub fn strangers(&self) -> usize {
        self.ranks.len()
    }

    /// How many known ones there are.
    #[must_use]
    pub const fn known(&self) -> usize {
        self.knowns
    }

    /// Within which time a stranger is to become known, of `begin` when nobody else comes: less as the places fill, down to what a caller that speaks at once needs.
    #[must_use]
    pub fn begin(&self, begin: Duration) -> Duration {
        let Limits { start, full, patience, .. } = self.limits;
        let beyond = self.strangers().saturating_sub(start).min(full) as u64;
        let span = full.saturating_sub(start).max(1) as u64;
        let least = patience.min(begin);
        let rest = begin.saturating_sub(least).as_nanos();
        let part = u128::from(rest) * u128::from(beyond.min(span)) / u128::from(span);
        begin.saturating_sub(Duration::from_nanos(u64::try_from(part).unwrap_or(rest)))
    }

    /// A caller with the next number comes.
    pub fn enter(&mut self, number: u64, address: IpAddr, now: Instant) -> Entrance {
        let caller = Caller {
            host: Prefix::host(address),
            network: Prefix::network(address),
            since: now,
            has_spoken: false,
            is_known: false,
        };
        let instead = match self.room(&caller, now) {
            Ok(instead) => instead,
            Err(full) => return Entrance::Refused(full),
        };
        if let Some(instead) = instead {
            self.leave(instead);
        }
        self.callers.insert(number, caller);
        self.add(number, &caller);
        Entrance::Taken(instead)
    }

    /// Whether there is room for `caller`, and whom it costs the place.
    fn room(&mut self, caller: &Caller, now: Instant) -> Result<Option<u64>, Full> {
        let limits = self.limits;
        let of_host = self.of_host.get(&caller.host);
        if of_host.is_some_and(|all| all.len() >= limits.of_one_host) {
            let (of, most) = (Of::Host, limits.of_one_host);
            let stale = self.stale(of_host, now);
            return stale.map(Some).ok_or(Full { of, most });
        }
        let of_network = self.of_network.get(&caller.network);
        if of_network.is_some_and(|all| all.len() >= limits.of_one_network) {
            let (of, most) = (Of::Network, limits.of_one_network);
            let stale = self.stale(of_network, now);
            return stale.map(Some).ok_or(Full { of, most });
        }
        let strangers = self.strangers();
        let is_full = strangers >= limits.full;
        if !is_full && !self.drops_early(strangers) {
            return Ok(None);
        }
        let weight = self.of_network.get(&caller.network).map_or(0, BTreeSet::len) + 1;
        if let Some(other) = self.less_worthy(caller, weight, now) {
            return Ok(Some(other));
        }
        // The first of its network does not pay for the others as long as there is a place.
        if !is_full && weight == 1 {
            return Ok(None);
        }
        let (of, most) = (Of::House, strangers);
        Err(Full { of, most })
    }

    /// Who of these has had its time.
    fn stale(&self, of: Option<&BTreeSet<(bool, u64)>>, now: Instant) -> Option<u64> {
        let of = of?;
        let oldest = |spoken: bool| of.range((spoken, 0)..).next().copied();
        let is_stale = |&(spoken, number): &(bool, u64)| {
            let patience = if spoken { self.limits.patience } else { SILENT };
            let caller = self.callers.get(&number);
            caller.is_some_and(|it| now >= it.since + patience)
        };
        let found = oldest(false).filter(is_stale);
        let found = found.or_else(|| oldest(true).filter(is_stale));
        found.map(|(_, number)| number)
    }

    fn drops_early(&mut self, strangers: usize) -> bool {
        let Limits { start, percent, full, .. } = self.limits;
        let Some(beyond) = strangers.checked_sub(start) else {
            return false;
        };
        let percent = u64::from(percent.min(100));
        let span = full.saturating_sub(start).max(1) as u64;
        let rise = (100 - percent) * (beyond as u64).min(span) / span;
        self.rng.below(100) < percent + rise
    }

    /// Who is to make room for `caller`, who would be the one with this number in its network.
    fn less_worthy(&self, caller: &Caller, weight: usize, now: Instant) -> Option<u64> {
        let &(Reverse(most), spoken, number) = self.ranks.first()?;
        if most > weight || most == weight && !spoken {
            return Some(number);
        }
        if most == weight {
            // All of these have spoken: the first of them has been here for longest.
            let since = self.callers.get(&number)?.since;
            if now >= since + self.limits.patience {
                return Some(number);
            }
        }
        self.stale(self.of_network.get(&caller.network), now)
    }

    /// A caller has said something.
    pub fn spoke(&mut self, number: u64) {
        let Some(mut caller) = self.callers.get(&number).copied() else {
            return;
        };
        if caller.has_spoken || caller.is_known {
            return;
        }
        self.take(number, &caller);
        caller.has_spoken = true;
        self.add(number, &caller);
        self.callers.insert(number, caller);
    }

    /// A caller is known from here on: it has logged in, or its call stands. One that has lost its place is none.
    ///
    /// # Errors
    /// There are as many known ones as may be; it stays what it was.
    pub fn know(&mut self, number: u64) -> Result<(), Full> {
        let Some(mut caller) = self.callers.get(&number).copied() else {
            let (of, most) = (Of::House, self.strangers());
            return Err(Full { of, most });
        };
        if caller.is_known {
            return Ok(());
        }
        let limits = self.limits;
        let of_host = self.known.get(&caller.host).copied().unwrap_or(0);
        if self.knowns >= limits.known {
            let (of, most) = (Of::Known, limits.known);
            return Err(Full { of, most });
        }
        if of_host >= limits.of_one_host {
            let (of, most) = (Of::KnownOfHost, limits.of_one_host);
            return Err(Full { of, most });
        }
        self.take(number, &caller);
        caller.is_known = true;
        self.callers.insert(number, caller);
        self.known.insert(caller.host, of_host + 1);
        self.knowns += 1;
        Ok(())
    }

    /// A caller has gone, or is let go.
    pub fn leave(&mut self, number: u64) {
        let Some(caller) = self.callers.remove(&number) else {
            return;
        };
        if !caller.is_known {
            return self.take(number, &caller);
        }
        self.knowns = self.knowns.saturating_sub(1);
        if let Some(of_host) = self.known.get_mut(&caller.host) {
            *of_host = of_host.saturating_sub(1);
            if *of_host == 0 {
                self.known.remove(&caller.host);
            }
        }
    }

    /// Takes a stranger out of the order.
    fn take(&mut self, number: u64, caller: &Caller) {
        let entry = (caller.has_spoken, number);
        if let Some(of_host) = self.of_host.get_mut(&caller.host) {
            of_host.remove(&entry);
            if of_host.is_empty() {
                self.of_host.remove(&caller.host);
            }
        }
        self.change(caller.network, |all| {
            all.remove(&entry);
        });
    }

    /// Puts a stranger into the order.
    fn add(&mut self, number: u64, caller: &Caller) {
        let entry = (caller.has_spoken, number);
        self.of_host.entry(caller.host).or_default().insert(entry);
        self.change(caller.network, |all| {
            all.insert(entry);
        });
    }

    /// Changes who is there of a network: all of them have another rank then. There are few ([`Limits::of_one_network`]).
    fn change(&mut self, network: Prefix, act: impl FnOnce(&mut BTreeSet<(bool, u64)>)) {
        let mut all = self.of_network.remove(&network).unwrap_or_default();
        let before = all.len();
        for &(spoken, number) in &all {
            self.ranks.remove(&(Reverse(before), spoken, number));
        }
        act(&mut all);
        let after = all.len();
        for &(spoken, number) in &all {
            self.ranks.insert((Reverse(after), spoken, number));
        }
        if !all.is_empty() {
            self.of_network.insert(network, all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn four(number: u32) -> IpAddr {
        // Each of a network of its own.
        IpAddr::V4((0x0a00_0001 + (number << 8)).into())
    }

    fn places(known: usize, of_one_host: usize) -> Places {
        let limits = Limits::new(known, of_one_host, Duration::from_secs(30));
        Places::new(limits, Rng::new(1, 0))
    }

    #[test]
    fn a_host_has_so_many_places_and_who_was_silent_there_makes_room() {
        let mut places = places(32, 2);
        let host = four(0);
        assert_eq!(places.enter(1, host, at(0)), Entrance::Taken(None));
        assert_eq!(places.enter(2, host, at(10)), Entrance::Taken(None));
        let refused = places.enter(3, host, at(999));
        let (of, most) = (Of::Host, 2);
        assert_eq!(refused, Entrance::Refused(Full { of, most }));
        assert_eq!(places.enter(4, host, at(1000)), Entrance::Taken(Some(1)));
        // Who has spoken has longer.
        places.spoke(2);
        places.spoke(4);
        let refused = places.enter(5, host, at(5009));
        assert_eq!(refused, Entrance::Refused(Full { of, most }));
        assert_eq!(places.enter(6, host, at(5010)), Entrance::Taken(Some(2)));
        assert_eq!(places.enter(7, four(1), at(5010)), Entrance::Taken(None));
    }

    #[test]
    fn addresses_of_one_link_and_of_one_site_share_their_places() {
        let mut places = places(32, 8);
        let six = |site: u16, link: u16, own: u16| -> IpAddr {
            core::net::Ipv6Addr::new(0x2001, 0xdb8, site, link, 0, 0, 0, own).into()
        };
        let mut number = 0;
        let mut taken = |address: IpAddr| {
            number += 1;
            matches!(places.enter(number, address, at(0)), Entrance::Taken(None))
        };
        assert_eq!((0..100).filter(|it| taken(six(0, 0, *it))).count(), 8);
        assert_eq!((1..1000).filter(|it| taken(six(0, *it, 1))).count(), 8);
    }

    #[test]
    fn those_who_are_known_have_places_of_their_own() {
        let mut places = places(2, 1);
        for number in 0..2 {
            places.enter(number, four(u32::try_from(number).unwrap()), at(0));
            assert_eq!(places.know(number), Ok(()));
        }
        // A flood of strangers is none of their trouble, and they none of its.
        for number in 10..5000 {
            places.enter(number, four(u32::try_from(number).unwrap()), at(1));
        }
        assert_eq!((places.known(), places.strangers()), (2, 64));
        let (of, most) = (Of::Known, 2);
        assert_eq!(places.know(4999), Err(Full { of, most }));
        places.leave(0);
        assert_eq!(places.know(4999), Ok(()));
        places.leave(1);
        places.enter(6000, four(4999), at(2));
        let (of, most) = (Of::KnownOfHost, 1);
        assert_eq!(places.know(6000), Err(Full { of, most }));
    }

    #[test]
    fn some_are_dropped_before_the_house_is_full_and_the_same_by_the_same_seed() {
        let run = |seed| {
            let mut limits = Limits::new(32, 100, Duration::from_secs(30));
            limits.of_one_network = 100;
            let mut places = Places::new(limits, Rng::new(seed, 0));
            (0..200).map(|number| places.enter(number, four(0), at(0))).collect::<Vec<_>>()
        };
        let all = run(7);
        assert_eq!(all, run(7));
        let taken = |some: &[Entrance]| {
            let is_taken = |it: &&Entrance| matches!(it, Entrance::Taken(_));
            some.iter().filter(is_taken).count()
        };
        assert_eq!(taken(&all[..16]), 16);
        // Of the next ten 30 of 100, rising: some, and not all.
        assert!((1..10).contains(&taken(&all[16..26])));
        assert!(taken(&all) <= 64);
    }

    #[test]
    fn a_stranger_has_less_time_as_the_places_fill() {
        let mut places = places(32, 8);
        let begin = Duration::from_secs(30);
        assert_eq!(places.begin(begin), begin);
        for number in 0..2000 {
            places.enter(number, four(u32::try_from(number).unwrap()), at(0));
        }
        assert_eq!(places.begin(begin), Duration::from_secs(5));
    }

    #[test]
    fn the_network_that_has_most_makes_room_and_who_has_spoken_stays() {
        let mut places = places(32, 8);
        let mut number = 0;
        let mut enter = |places: &mut Places, address| {
            number += 1;
            (number, places.enter(number, address, at(0)))
        };
        let (honest, _) = enter(&mut places, four(1000));
        places.spoke(honest);
        for host in 0..500 {
            for _ in 0..8 {
                if let (_, Entrance::Taken(Some(instead))) = enter(&mut places, four(host)) {
                    assert_ne!(instead, honest);
                }
            }
        }
        assert_eq!(places.know(honest), Ok(()));
        assert!(matches!(enter(&mut places, four(2000)).1, Entrance::Taken(Some(_))));
    }
}
