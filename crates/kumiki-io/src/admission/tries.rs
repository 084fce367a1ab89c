//! Tries at passwords: how many wrong ones are answered, and how many are looked at.
//!
//! Each network and each name of a user, whether there is such a user or not, has a budget of answers to wrong
//! passwords. A try is counted when it begins, so that many at once are no way around it, and given back when its
//! password was right. Where the budget of either is used up, passwords are looked at all the same, for who has the
//! right one is to get in whatever others do; but a wrong one is not answered, and there is a second budget of those:
//! who hears nothing, where the right password is let in, has been told as well.
//!
//! | budget | of | a minute |
//! |---|---|---|
//! | answers | a network; a name | N: the half at once, the rest spread over the minute |
//! | looks without an answer | a network | 6 N |
//! | the same | a name from a network | N |
//! | the same | a name from a host from where it was let in before | N more of its own |
//!
//! So who guesses at a name from a network learns of 2 N passwords a minute, and of N more by each host there from
//! where its user was let in; of all names together 7 N. Who finds no look left waits, and asks again. A right password
//! gives back what it was charged itself, and nothing else: what others have tried at its name from the same network,
//! or the same host, stays charged, so that a user who comes in buys nobody a guess.
//!
//! A budget is kept as the time at which all of it will be there again (the generic cell rate algorithm of ITU-T
//! I.371), so a penalty decays without anybody looking at it.

use core::hash::{Hash as _, Hasher as _};
use core::net::IpAddr;
use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant, Rng};
use siphasher::sip::SipHasher13;

use super::Prefix;
use super::ledger::Ledger;

/// The most budgets that are remembered, and the most friends.
const MOST: usize = 16_384;

const MINUTE: Duration = Duration::from_secs(60);

/// Of what there is a budget; names are hashed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Key {
    /// Answers to a network.
    Network(Prefix),
    /// Answers about a name.
    Name(u64),
    /// Looks for a network.
    Looks(Prefix),
    /// Looks at a name for a network.
    LooksAt(Prefix, u64),
    /// Looks at a name for a host from where it was let in.
    Friend(Prefix, u64),
}

/// How fast a budget comes back, and how much of it can be used at once.
#[derive(Clone, Copy, Debug)]
struct Pace {
    each: Duration,
    burst: u64,
}

impl Pace {
    /// So many in any minute.
    fn a_minute(number: u32) -> Self {
        let number = u64::from(number.max(1));
        let burst = number.div_ceil(2);
        let rest = (number - burst).max(1);
        Self { each: Duration::from_nanos(MINUTE.as_nanos().div_ceil(rest)), burst }
    }

    /// How far ahead the time may be at which all is there again, for one more to be had.
    const fn slack(self) -> Duration {
        self.each.saturating_mul(self.burst - 1)
    }
}

/// What a try is charged to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Charged {
    /// There is no limit.
    Nothing,
    Answer,
    Look,
    Friend,
}

/// A try that has begun.
#[derive(Debug)]
#[must_use]
pub struct Ticket {
    host: Prefix,
    network: Prefix,
    name: u64,
    charged: Charged,
    since: Instant,
}

/// What a try with a wrong password hears.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoginReply {
    /// That it was wrong.
    Answered,
    /// Nothing.
    Unanswered,
}

impl Ticket {
    /// The password was wrong.
    #[must_use]
    pub const fn wrong(self) -> LoginReply {
        match self.charged {
            Charged::Nothing | Charged::Answer => LoginReply::Answered,
            Charged::Look | Charged::Friend => LoginReply::Unanswered,
        }
    }
}

/// The tries of all.
#[derive(Debug)]
pub struct Tries {
    a_minute: u32,
    secret: (u64, u64),
    /// When all of a budget is there again.
    until: Ledger<Key, Instant>,
    /// Names that were let in from a host, with when that was last.
    friends: BTreeMap<(Prefix, u64), u64>,
    by_age: BTreeMap<u64, (Prefix, u64)>,
    let_in: u64,
}

impl Tries {
    /// So many wrong passwords are answered in a minute; any number of them where that is 0. Names are hashed with a
    /// secret of `rng`, so that nobody can choose one that is taken for another.
    #[must_use]
    pub fn new(a_minute: u32, mut rng: Rng) -> Self {
        Self {
            a_minute,
            secret: (rng.next_u64(), rng.next_u64()),
            until: Ledger::new(MOST),
            friends: BTreeMap::new(),
            by_age: BTreeMap::new(),
            let_in: 0,
        }
    }

    /// A password for a name has come from an address; it may be looked at if there is a ticket.
    ///
    /// # Errors
    /// There is no look left: when to ask again. Whoever asks first then is served.
    pub fn begin(&mut self, address: IpAddr, name: &[u8], now: Instant) -> Result<Ticket, Instant> {
        let mut hasher = SipHasher13::new_with_keys(self.secret.0, self.secret.1);
        name.hash(&mut hasher);
        let name = hasher.finish();
        let (host, network) = (Prefix::host(address), Prefix::network(address));
        let charged = self.charge(host, network, name, now)?;
        Ok(Ticket { host, network, name, charged, since: now })
    }

    fn charge(&mut self, host: Prefix, network: Prefix, name: u64, now: Instant) -> Result<Charged, Instant> {
        if self.a_minute == 0 {
            return Ok(Charged::Nothing);
        }
        let each = Pace::a_minute(self.a_minute);
        let many = Pace::a_minute(self.a_minute.saturating_mul(6));
        let answers = [Key::Network(network), Key::Name(name)];
        if answers.iter().all(|key| self.has(*key, each, now).is_ok()) {
            for key in answers {
                self.spend(key, each, now);
            }
            return Ok(Charged::Answer);
        }
        let (all, at) = (Key::Looks(network), Key::LooksAt(network, name));
        let (one, other) = (self.has(all, many, now), self.has(at, each, now));
        let when = match (one, other) {
            (Ok(()), Ok(())) => {
                self.spend(all, many, now);
                self.spend(at, each, now);
                return Ok(Charged::Look);
            }
            (Err(one), Err(other)) => one.max(other),
            (Err(when), Ok(())) | (Ok(()), Err(when)) => when,
        };
        if self.friends.contains_key(&(host, name)) {
            let friend = Key::Friend(host, name);
            return match self.has(friend, each, now) {
                Ok(()) => {
                    self.spend(friend, each, now);
                    Ok(Charged::Friend)
                }
                Err(other) => Err(when.min(other)),
            };
        }
        Err(when)
    }

    /// The password of a ticket was right: what it was charged comes back.
    pub fn right(&mut self, ticket: Ticket, now: Instant) {
        let Ticket { host, network, name, charged, since } = ticket;
        let each = Pace::a_minute(self.a_minute);
        let many = Pace::a_minute(self.a_minute.saturating_mul(6));
        let mut give_back = |key, pace: Pace| {
            // A charge that time has given back already would be given back twice.
            if now < since + pace.each {
                self.give_back(key, pace.each);
            }
        };
        match charged {
            Charged::Nothing => return,
            Charged::Answer => {
                give_back(Key::Network(network), each);
                give_back(Key::Name(name), each);
            }
            Charged::Look => {
                give_back(Key::Looks(network), many);
                give_back(Key::LooksAt(network, name), each);
            }
            Charged::Friend => give_back(Key::Friend(host, name), each),
        }
        self.befriend((host, name));
    }

    /// Whether there is some left of a budget, or else when.
    fn has(&self, key: Key, pace: Pace, now: Instant) -> Result<(), Instant> {
        let until = self.until.find(key).unwrap_or(now);
        let ahead = until.saturating_since(now);
        let beyond = ahead.saturating_sub(pace.slack());
        if beyond.is_zero() { Ok(()) } else { Err(now + beyond) }
    }

    fn spend(&mut self, key: Key, pace: Pace, now: Instant) {
        let until = self.until.find(key).unwrap_or(now).max(now);
        self.until.set(key, until + pace.each);
    }

    fn give_back(&mut self, key: Key, time: Duration) {
        if let Some(until) = self.until.find(key) {
            let less = until.saturating_since(Instant::ZERO).saturating_sub(time);
            self.until.set(key, Instant::ZERO + less);
        }
    }

    fn befriend(&mut self, friend: (Prefix, u64)) {
        self.let_in += 1;
        if let Some(before) = self.friends.insert(friend, self.let_in) {
            self.by_age.remove(&before);
        }
        self.by_age.insert(self.let_in, friend);
        if self.friends.len() > MOST
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.friends.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn tries(a_minute: u32) -> Tries {
        Tries::new(a_minute, Rng::new(1, 0))
    }

    const HERE: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 1));
    const NEAR: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 2));
    const ELSEWHERE: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(10, 9, 0, 1));

    /// Guesses wrongly; whether that was answered, or none where there was no look.
    fn guess(tries: &mut Tries, from: IpAddr, name: &str, now: Instant) -> Option<LoginReply> {
        let ticket = tries.begin(from, name.as_bytes(), now).ok()?;
        Some(ticket.wrong())
    }

    fn comes_in(tries: &mut Tries, from: IpAddr, name: &str, now: Instant) -> bool {
        let ticket = tries.begin(from, name.as_bytes(), now);
        let is_in = ticket.is_ok();
        if let Ok(ticket) = ticket {
            tries.right(ticket, now);
        }
        is_in
    }

    fn answered(tries: &mut Tries, number: u32, now: Instant) -> usize {
        let mut count = 0;
        for _ in 0..number {
            let heard = guess(tries, HERE, "victim", now);
            count += usize::from(heard == Some(LoginReply::Answered));
        }
        count
    }

    #[test]
    fn a_minute_has_so_many_answers_however_they_are_asked_for() {
        for number in 1..30 {
            let mut tries = tries(number);
            let mut times: Vec<u64> = Vec::new();
            for second in 0..600 {
                let now = answered(&mut tries, 3, at(second));
                times.extend(core::iter::repeat_n(second, now));
            }
            for window in 0..540 {
                let inside = times.iter().filter(|it| (window..window + 60).contains(*it));
                assert!(inside.count() <= number as usize, "{number} a minute");
            }
            assert!(times.len() >= 8 * (number as usize / 2).max(1));
        }
    }

    #[test]
    fn tries_that_are_under_way_count() {
        let mut tries = tries(10);
        let tickets: Vec<_> = (0..8).filter_map(|_| tries.begin(HERE, b"victim", at(0)).ok()).collect();
        let answered = tickets.into_iter().map(Ticket::wrong).filter(|it| *it == LoginReply::Answered);
        assert_eq!(answered.count(), 5);
    }

    #[test]
    fn a_valid_account_pays_for_no_guesses_at_another() {
        let mut tries = tries(10);
        let mut heard = 0;
        for _ in 0..30 {
            heard += answered(&mut tries, 9, at(0));
            assert!(comes_in(&mut tries, HERE, "ada", at(0)));
        }
        assert_eq!(heard, 5);
    }

    #[test]
    fn who_comes_in_among_the_guessers_at_his_name_buys_them_no_answer() {
        // How often the user comes, in milliseconds, and from which host of the guesser's network; the look at a
        // password takes some time.
        for (every, from) in [(6000, NEAR), (4000, NEAR), (1600, NEAR), (200, NEAR), (200, HERE)] {
            let mut tries = tries(10);
            let mut times: Vec<u64> = Vec::new();
            for ms in (0..600_000).step_by(100) {
                let now = Instant::ZERO + Duration::from_millis(ms);
                if guess(&mut tries, HERE, "victim", now) == Some(LoginReply::Answered) {
                    times.push(ms);
                }
                if ms % every > 0 {
                    continue;
                }
                let came = tries.begin(from, b"victim", now);
                // From a host of his own he has looks of his own.
                assert!(from == HERE || came.is_ok(), "every {every} ms, at {ms} ms");
                if let Ok(ticket) = came {
                    // Others guess while it is looked at.
                    let looked = guess(&mut tries, HERE, "victim", now);
                    times.extend((looked == Some(LoginReply::Answered)).then_some(ms));
                    tries.right(ticket, now + Duration::from_millis(90));
                }
            }
            let in_a_minute = |first: usize, from: u64| {
                let rest = times.get(first..).unwrap_or_default();
                rest.partition_point(|it| *it < from + 60_000)
            };
            let most = (0..).zip(&times).map(|(first, from)| in_a_minute(first, *from)).max();
            assert!(most <= Some(10), "every {every} ms from {from}: {most:?}");
        }
    }

    #[test]
    fn who_comes_in_often_is_charged_nothing() {
        for look in [Duration::ZERO, Duration::from_millis(90)] {
            let mut tries = tries(10);
            for second in 0..600 {
                let ticket = tries.begin(HERE, b"ada", at(second));
                tries.right(ticket.unwrap(), at(second) + look);
            }
            assert_eq!(answered(&mut tries, 9, at(600)), 5);
        }
    }

    #[test]
    fn who_has_the_password_gets_in_whatever_others_try() {
        let mut tries = tries(10);
        assert!(comes_in(&mut tries, HERE, "bob", at(0)));
        for second in 0..300 {
            for _ in 0..20 {
                guess(&mut tries, HERE, "victim", at(second));
                guess(&mut tries, ELSEWHERE, "bob", at(second));
            }
            // Of the same network, at another name and at his own; from elsewhere, where all guess at him.
            assert!(comes_in(&mut tries, HERE, "bob", at(second)));
            assert!(comes_in(&mut tries, NEAR, "carol", at(second)));
        }
        // From where he has been even where all guess at him, and where no look is left for others.
        for round in 0..2000 {
            guess(&mut tries, NEAR, "bob", at(400));
            guess(&mut tries, NEAR, &format!("user{round}"), at(400));
        }
        assert_eq!(guess(&mut tries, NEAR, "bob", at(400)), None);
        assert!(comes_in(&mut tries, HERE, "bob", at(400)));
    }

    #[test]
    fn guesses_at_one_name_from_everywhere_are_answered_as_rarely() {
        let mut tries = tries(10);
        let mut heard = 0;
        for number in 0..1000_u32 {
            let from = IpAddr::V4((0x0b00_0000 + (number << 8)).into());
            let now = Instant::ZERO + Duration::from_millis(u64::from(number) * 60);
            heard += usize::from(guess(&mut tries, from, "victim", now) == Some(LoginReply::Answered));
        }
        assert!(heard <= 10, "{heard}");
        assert!(comes_in(&mut tries, ELSEWHERE, "victim", at(60)));
    }

    #[test]
    fn no_number_of_tries_is_no_limit() {
        let mut tries = tries(0);
        assert_eq!(answered(&mut tries, 1000, at(0)), 1000);
    }

    #[test]
    fn memory_is_bounded_and_the_least_penalty_goes_first() {
        let mut tries = tries(10);
        answered(&mut tries, 100, at(0));
        for number in 0..100_000_u32 {
            let from = IpAddr::V4((0x0b00_0000 + (number << 8)).into());
            let name = format!("user{number}");
            guess(&mut tries, from, &name, at(0));
            comes_in(&mut tries, from, &name, at(0));
        }
        assert!(tries.until.len() <= MOST);
        assert!(tries.friends.len() <= MOST && tries.by_age.len() == tries.friends.len());
        assert_eq!(answered(&mut tries, 10, at(0)), 0);
    }
}
