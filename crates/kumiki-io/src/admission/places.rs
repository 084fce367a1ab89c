//! Places: how many callers there may be, of whom, and who makes room.
//!
//! A stranger comes, says its first octets, and asks to be let in: it presents its password, or its call. Each of these
//! [`Step`]s counts once, when it is taken, so that octets that trickle, or a word and then nothing, keep no place for
//! longer than silence does. What a network is worth depends on what became of its callers: one that went, or was let
//! go, before it was known stays counted for a while, and so does each that is here. Who comes for the first time has a
//! place before those that come again and again, from however many networks they do, and among equals the one makes
//! room that has got nowhere for longest.
//!
//! **Left out**: who has more networks than the minute has places, each of them used once. There nobody can be told
//! from anybody, and all wait alike.

use core::cmp::Reverse;
use core::fmt;
use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::{Duration, Instant, Rng};

use super::Prefix;
use super::ledger::Ledger;

/// A caller that has got nowhere for so long makes room for another of its own host or network: before that it may just
/// not have been heard yet.
const SILENT: Duration = Duration::from_secs(1);

/// Where the house is full, for one of another network that has as many: its next word may be on the way.
const MOMENT: Duration = Duration::from_millis(200);

/// In this time half of what was counted of a network is forgotten.
const HALF: Duration = Duration::from_secs(60);

/// The most networks of which something is remembered.
const MOST: usize = 16_384;

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
    /// So many more may be in progress that have lost their place, and take a moment to go.
    pub going: usize,
    /// A stranger that has asked to be let in may take so long to become known, when another wants its place.
    pub min_begin: Duration,
}

impl Limits {
    /// So many known ones and so many of one host; the others from these, and of the time within which a caller is to
    /// become known.
    #[must_use]
    pub fn new(known: usize, of_one_host: usize, begin: Duration) -> Self {
        Self {
            known,
            of_one_host,
            of_one_network: of_one_host.saturating_mul(2),
            start: 16,
            percent: 30,
            full: 64,
            going: known.saturating_add(64),
            min_begin: Duration::from_nanos(begin.as_nanos() / 6),
        }
    }

    /// How many may be in progress in all, before others wait until one has gone.
    #[must_use]
    pub const fn in_progress(&self) -> usize {
        self.known.saturating_add(self.full).saturating_add(self.going)
    }
}

/// Of what there are too many.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CallerLimit {
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
pub struct LimitReached {
    /// Of what there are too many.
    pub of: CallerLimit,
    /// How many there may be; where they were dropped at random, how many there are.
    pub most: usize,
}

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.most;
        match self.of {
            CallerLimit::Host => write!(f, "{most} callers of this host have not logged in yet"),
            CallerLimit::Network => write!(f, "{most} callers of this network have not logged in yet"),
            CallerLimit::House => write!(f, "{most} callers have not logged in yet"),
            CallerLimit::Known => write!(f, "there are {most} already"),
            CallerLimit::KnownOfHost => write!(f, "there are {most} of this host already"),
        }
    }
}

/// Whether a caller is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// It is; if it says so, this other one is to be let go, and its place is given away already.
    Taken(Option<u64>),
    /// It is not.
    Refused(LimitReached),
}

/// How far a stranger has got.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Step {
    /// It has come.
    Came,
    /// It has said something.
    Spoke,
    /// It has said all that it takes to be let in, which is being looked at.
    Asked,
    /// It was told no, and may still be reading that.
    Over,
}

/// Who makes room first among strangers of networks that weigh the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum EvictionRank {
    /// Nothing more comes of it.
    Lost,
    /// It has said nothing.
    Silent,
    /// It has still to ask.
    Speaking,
    /// Whether it is let in is not its own doing.
    Asking,
}

/// In which order those of one network make room: the one first that took its last step first.
type EvictionOrder = (EvictionRank, Instant, u64);

/// A caller that has a place.
#[derive(Clone, Copy, Debug)]
struct Caller {
    host: Prefix,
    network: Prefix,
    step: Step,
    /// When it took that step.
    since: Instant,
    is_known: bool,
}

impl Caller {
    const fn turn(&self, number: u64) -> EvictionOrder {
        let standing = match self.step {
            Step::Over => EvictionRank::Lost,
            Step::Came => EvictionRank::Silent,
            Step::Spoke => EvictionRank::Speaking,
            Step::Asked => EvictionRank::Asking,
        };
        (standing, self.since, number)
    }
}

/// Strangers of a network, and what it weighs: they, and those who came to nothing before.
#[derive(Debug, Default)]
struct Network {
    all: BTreeSet<EvictionOrder>,
    weight: u32,
}

/// In which order strangers make room: first those of the network that weighs most.
type Rank = (Reverse<u32>, EvictionOrder);

/// The places of one server. Callers have numbers that rise.
#[derive(Debug)]
pub struct Places {
    limits: Limits,
    rng: Rng,
    callers: BTreeMap<u64, Caller>,
    /// Strangers by host and by network.
    of_host: BTreeMap<Prefix, BTreeSet<EvictionOrder>>,
    of_network: BTreeMap<Prefix, Network>,
    ranks: BTreeSet<Rank>,
    /// How many of a network came to nothing.
    past: Ledger<Prefix, u32>,
    /// When half of that is forgotten.
    halves: Instant,
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
            past: Ledger::new(MOST),
            halves: Instant::ZERO + HALF,
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

    /// Within which time a stranger is to become known, of `begin` when nobody else comes: less as the places fill,
    /// down to what a caller that speaks at once needs.
    #[must_use]
    pub fn begin(&self, begin: Duration) -> Duration {
        let Limits { start, full, min_begin, .. } = self.limits;
        let beyond = self.strangers().saturating_sub(start).min(full) as u64;
        let span = full.saturating_sub(start).max(1) as u64;
        let least = min_begin.min(begin);
        let rest = begin.saturating_sub(least).as_nanos();
        let part = u128::from(rest) * u128::from(beyond.min(span)) / u128::from(span);
        begin.saturating_sub(Duration::from_nanos(u64::try_from(part).unwrap_or(rest)))
    }

    /// A caller with the next number comes.
    pub fn enter(&mut self, number: u64, address: IpAddr, now: Instant) -> Admission {
        let caller = Caller {
            host: Prefix::host(address),
            network: Prefix::network(address),
            step: Step::Came,
            since: now,
            is_known: false,
        };
        self.age(now);
        let instead = match self.room(&caller, now) {
            Ok(instead) => instead,
            Err(full) => return Admission::Refused(full),
        };
        if let Some(instead) = instead {
            self.leave(instead);
        }
        self.callers.insert(number, caller);
        self.add(number, &caller);
        Admission::Taken(instead)
    }

    /// Whether there is room for `caller`, and whom it costs the place.
    fn room(&mut self, caller: &Caller, now: Instant) -> Result<Option<u64>, LimitReached> {
        let limits = self.limits;
        let of_host = self.of_host.get(&caller.host);
        if of_host.is_some_and(|all| all.len() >= limits.of_one_host) {
            let (of, most) = (CallerLimit::Host, limits.of_one_host);
            let stale = self.stale(of_host, now);
            return stale.map(Some).ok_or(LimitReached { of, most });
        }
        let of_network = self.of_network.get(&caller.network).map(|it| &it.all);
        if of_network.is_some_and(|all| all.len() >= limits.of_one_network) {
            let (of, most) = (CallerLimit::Network, limits.of_one_network);
            let stale = self.stale(of_network, now);
            return stale.map(Some).ok_or(LimitReached { of, most });
        }
        let is_first = of_network.is_none();
        let strangers = self.strangers();
        let is_full = strangers >= limits.full;
        if !is_full && !self.drops_early(strangers) {
            return Ok(None);
        }
        if let Some(other) = self.less_worthy(caller, is_full, now) {
            return Ok(Some(other));
        }
        // The first of its network does not pay for the others as long as there is a place.
        if !is_full && is_first {
            return Ok(None);
        }
        let (of, most) = (CallerLimit::House, strangers);
        Err(LimitReached { of, most })
    }

    /// Who of these has had its time.
    fn stale(&self, of: Option<&BTreeSet<EvictionOrder>>, now: Instant) -> Option<u64> {
        let of = of?;
        self.waited(SILENT, Duration::ZERO, now, |from| of.range(from..).next().copied())
    }

    /// Who has got nowhere for `moment`, or has asked for as long as that may take, and for so much `more`; `next`
    /// gives the one at this turn or after it.
    fn waited(
        &self,
        moment: Duration,
        more: Duration,
        now: Instant,
        next: impl Fn(EvictionOrder) -> Option<EvictionOrder>,
    ) -> Option<u64> {
        let first = |standing: EvictionRank, moment: Duration| {
            let (found, since, number) = next((standing, Instant::ZERO, 0))?;
            (found == standing && now >= since + moment).then_some((since, number))
        };
        let coming = [EvictionRank::Silent, EvictionRank::Speaking].map(|it| first(it, moment + more));
        let coming = coming.into_iter().flatten().min();
        let lost = first(EvictionRank::Lost, Duration::ZERO);
        let found = lost.or(coming).or_else(|| first(EvictionRank::Asking, self.limits.min_begin + more));
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

    /// Who is to make room for `caller`.
    fn less_worthy(&self, caller: &Caller, is_full: bool, now: Instant) -> Option<u64> {
        let &(Reverse(most), (standing, _, number)) = self.ranks.first()?;
        let weight = self.weight(caller.network).saturating_add(1);
        // As long as there is a place nobody is sent away whose password is being looked at.
        if most > weight && (is_full || standing != EvictionRank::Asking) {
            return Some(number);
        }
        if most <= weight {
            // For a second in which one gets nowhere it counts as one more.
            let more = SILENT.saturating_mul((weight - most).into());
            let next = |from| {
                let &(Reverse(other), turn) = self.ranks.range((Reverse(most), from)..).next()?;
                (other == most).then_some(turn)
            };
            let moment = if is_full { MOMENT } else { self.limits.min_begin };
            let found = self.waited(moment, more, now, next);
            // Of many that come at once who speaks at once stays.
            let silent = next((EvictionRank::Silent, Instant::ZERO, 0));
            let silent = silent.filter(|(standing, ..)| is_full && more.is_zero() && *standing == EvictionRank::Silent);
            if let Some(other) = found.or_else(|| silent.map(|(.., number)| number)) {
                return Some(other);
            }
        }
        self.stale(self.of_network.get(&caller.network).map(|it| &it.all), now)
    }

    /// What a network weighs.
    fn weight(&self, network: Prefix) -> u32 {
        let here = self.of_network.get(&network).map_or(0, |it| it.all.len());
        let here = u32::try_from(here).unwrap_or(u32::MAX);
        here.saturating_add(self.past.find(network).unwrap_or(0))
    }

    /// Forgets what is long past.
    fn age(&mut self, now: Instant) {
        if now < self.halves {
            return;
        }
        let halves = now.saturating_since(self.halves).as_nanos() / HALF.as_nanos();
        let halves = u32::try_from(halves).unwrap_or(u32::MAX).saturating_add(1);
        self.halves = now + HALF;
        self.past.change_all(|count| count.checked_shr(halves).filter(|left| *left > 0));
        let networks: Vec<Prefix> = self.of_network.keys().copied().collect();
        for network in networks {
            self.change(network, |_| {});
        }
    }

    /// A caller has got further. What it has done already, or before it had lost its place, is no step.
    pub fn advance(&mut self, number: u64, step: Step, now: Instant) {
        let Some(mut caller) = self.callers.get(&number).copied() else {
            return;
        };
        if caller.step >= step || caller.is_known {
            return;
        }
        self.take(number, &caller);
        (caller.step, caller.since) = (step, now);
        self.add(number, &caller);
        self.callers.insert(number, caller);
    }

    /// A caller is known from here on: it has logged in, or its call stands. One that has lost its place is none.
    ///
    /// # Errors
    /// There are as many known ones as may be; it stays what it was.
    pub fn know(&mut self, number: u64) -> Result<(), LimitReached> {
        let Some(mut caller) = self.callers.get(&number).copied() else {
            let (of, most) = (CallerLimit::House, self.strangers());
            return Err(LimitReached { of, most });
        };
        if caller.is_known {
            return Ok(());
        }
        let limits = self.limits;
        let of_host = self.known.get(&caller.host).copied().unwrap_or(0);
        if self.knowns >= limits.known {
            let (of, most) = (CallerLimit::Known, limits.known);
            return Err(LimitReached { of, most });
        }
        if of_host >= limits.of_one_host {
            let (of, most) = (CallerLimit::KnownOfHost, limits.of_one_host);
            return Err(LimitReached { of, most });
        }
        self.take(number, &caller);
        caller.is_known = true;
        self.callers.insert(number, caller);
        self.known.insert(caller.host, of_host + 1);
        self.knowns += 1;
        Ok(())
    }

    /// A caller has gone, or is let go. One that was never known counts against its network.
    pub fn leave(&mut self, number: u64) {
        let stranger = self.remove(number);
        if let Some(network) = stranger {
            let past = self.past.find(network).unwrap_or(0);
            self.past.set(network, past.saturating_add(1));
            self.change(network, |_| {});
        }
    }

    /// A caller needs no place any more, and that it was not known counts against nobody.
    pub fn excuse(&mut self, number: u64) {
        self.remove(number);
    }

    /// Takes a caller away; if it was a stranger, its network.
    fn remove(&mut self, number: u64) -> Option<Prefix> {
        let caller = self.callers.remove(&number)?;
        if !caller.is_known {
            self.take(number, &caller);
            return Some(caller.network);
        }
        self.knowns = self.knowns.saturating_sub(1);
        if let Some(of_host) = self.known.get_mut(&caller.host) {
            *of_host = of_host.saturating_sub(1);
            if *of_host == 0 {
                self.known.remove(&caller.host);
            }
        }
        None
    }

    /// Takes a stranger out of the order.
    fn take(&mut self, number: u64, caller: &Caller) {
        let turn = caller.turn(number);
        if let Some(of_host) = self.of_host.get_mut(&caller.host) {
            of_host.remove(&turn);
            if of_host.is_empty() {
                self.of_host.remove(&caller.host);
            }
        }
        self.change(caller.network, |all| {
            all.remove(&turn);
        });
    }

    /// Puts a stranger into the order.
    fn add(&mut self, number: u64, caller: &Caller) {
        let turn = caller.turn(number);
        self.of_host.entry(caller.host).or_default().insert(turn);
        self.change(caller.network, |all| {
            all.insert(turn);
        });
    }

    /// Changes who is there of a network, or has what it weighs counted again: all of them have another rank then.
    /// There are few ([`Limits::of_one_network`]).
    fn change(&mut self, network: Prefix, act: impl FnOnce(&mut BTreeSet<EvictionOrder>)) {
        let mut changed = self.of_network.remove(&network).unwrap_or_default();
        for turn in &changed.all {
            self.ranks.remove(&(Reverse(changed.weight), *turn));
        }
        act(&mut changed.all);
        if changed.all.is_empty() {
            return;
        }
        let here = u32::try_from(changed.all.len()).unwrap_or(u32::MAX);
        changed.weight = here.saturating_add(self.past.find(network).unwrap_or(0));
        for turn in &changed.all {
            self.ranks.insert((Reverse(changed.weight), *turn));
        }
        self.of_network.insert(network, changed);
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
        assert_eq!(places.enter(1, host, at(0)), Admission::Taken(None));
        assert_eq!(places.enter(2, host, at(10)), Admission::Taken(None));
        let refused = places.enter(3, host, at(999));
        let (of, most) = (CallerLimit::Host, 2);
        assert_eq!(refused, Admission::Refused(LimitReached { of, most }));
        assert_eq!(places.enter(4, host, at(1000)), Admission::Taken(Some(1)));
        // Who goes on has longer, and longest who has asked; a step counts once.
        places.advance(2, Step::Spoke, at(1100));
        places.advance(4, Step::Spoke, at(1200));
        places.advance(2, Step::Spoke, at(2099));
        let refused = places.enter(5, host, at(2099));
        assert_eq!(refused, Admission::Refused(LimitReached { of, most }));
        places.advance(2, Step::Asked, at(2100));
        assert_eq!(places.enter(6, host, at(2200)), Admission::Taken(Some(4)));
        places.advance(6, Step::Asked, at(2200));
        let refused = places.enter(7, host, at(7099));
        assert_eq!(refused, Admission::Refused(LimitReached { of, most }));
        assert_eq!(places.enter(8, host, at(7100)), Admission::Taken(Some(2)));
        // Who was told no is in nobody's way.
        places.advance(8, Step::Over, at(7100));
        assert_eq!(places.enter(9, host, at(7100)), Admission::Taken(Some(8)));
        assert_eq!(places.enter(10, four(1), at(7100)), Admission::Taken(None));
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
            matches!(places.enter(number, address, at(0)), Admission::Taken(None))
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
        let (of, most) = (CallerLimit::Known, 2);
        assert_eq!(places.know(4999), Err(LimitReached { of, most }));
        places.leave(0);
        assert_eq!(places.know(4999), Ok(()));
        places.leave(1);
        places.enter(6000, four(4999), at(2));
        let (of, most) = (CallerLimit::KnownOfHost, 1);
        assert_eq!(places.know(6000), Err(LimitReached { of, most }));
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
        let taken = |some: &[Admission]| {
            let is_taken = |it: &&Admission| matches!(it, Admission::Taken(_));
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
    fn who_was_crowded_out_has_a_place_when_the_others_have_got_nowhere_for_a_while() {
        let limits = Limits { start: 1, full: 1, ..Limits::new(32, 8, Duration::from_secs(30)) };
        let mut places = Places::new(limits, Rng::new(1, 0));
        places.enter(1, four(1), at(0));
        // All of these have come to nothing once, and the last of them stays.
        for number in 2..1000 {
            let host = four(u32::try_from(number).unwrap());
            assert_eq!(places.enter(number, host, at(0)), Admission::Taken(Some(number - 1)));
        }
        let (of, most) = (CallerLimit::House, 1);
        assert_eq!(places.enter(1000, four(1), at(1199)), Admission::Refused(LimitReached { of, most }));
        assert_eq!(places.enter(1001, four(1), at(1200)), Admission::Taken(Some(999)));
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
        places.advance(honest, Step::Spoke, at(0));
        for host in 0..500 {
            for _ in 0..8 {
                if let (_, Admission::Taken(Some(instead))) = enter(&mut places, four(host)) {
                    assert_ne!(instead, honest);
                }
            }
        }
        assert_eq!(places.know(honest), Ok(()));
        assert!(matches!(enter(&mut places, four(2000)).1, Admission::Taken(Some(_))));
    }
}
