//! A model of a hundred thousand hosts in virtual time: what they are told, and who comes in meanwhile.

use core::net::{IpAddr, Ipv6Addr};
use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::{Duration, Instant, Rng};

use super::{Admission, Limits, LoginReply, Places, Prefix, Step, Tries};

const HOSTS: u32 = 100_000;

/// Somebody of a /64, of a /48, or of 200 addresses of IPv4, each of a network of its own.
fn somebody(rng: &mut Rng) -> IpAddr {
    let own = u16::try_from(rng.below(1 << 16)).unwrap();
    match rng.below(3) {
        0 => Ipv6Addr::new(0x2001, 0xdb8, 1, 1, 0, 0, 0, own).into(),
        1 => Ipv6Addr::new(0x2001, 0xdb8, 2, own, 0, 0, 0, 1).into(),
        _ => IpAddr::V4((0x0a00_0001 + (u32::from(own % 200) << 8)).into()),
    }
}

#[test]
fn who_comes_from_elsewhere_has_a_place_among_a_hundred_thousand_silent_ones() {
    let limits = Limits::new(32, 8, Duration::from_secs(30));
    let mut places = Places::new(limits, Rng::new(1, 0));
    let mut rng = Rng::new(2, 0);
    let mut now = Instant::ZERO;
    let (mut served, mut number) = (0, 0);
    for caller in 0..HOSTS {
        // Ten thousand a second come, and none leaves by itself.
        now += Duration::from_micros(100);
        number += 1;
        places.enter(number, somebody(&mut rng), now);
        assert!(places.strangers() <= 64);
        if caller % 100 != 99 {
            continue;
        }
        // An honest user speaks a millisecond after he came, and has his association 50 ms later.
        number += 1;
        let honest = number;
        let from = IpAddr::V4((0xc000_0201 + ((caller / 100) << 8)).into());
        if !matches!(places.enter(honest, from, now), Admission::Taken(_)) {
            continue;
        }
        for microseconds in (0..50_000).step_by(100) {
            number += 1;
            places.enter(number, somebody(&mut rng), now);
            if microseconds == 1000 {
                places.advance(honest, Step::Spoke, now);
            }
        }
        served += u32::from(places.know(honest).is_ok());
        places.leave(honest);
    }
    // All thousand of them, at the first call.
    assert_eq!(served, HOSTS / 100);
}

/// What those say who want to keep others out; each then waits until it is sent away, and comes again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AttackerBehaviour {
    Nothing,
    /// One PDU, or an octet now and then.
    AWord,
    /// All that it takes, with a wrong password.
    AWrongPassword,
}

/// Networks of one host each that want to keep others out, and somebody from elsewhere, in virtual time.
struct AttackModel {
    places: Places,
    says: AttackerBehaviour,
    begin: Duration,
    now: Instant,
    number: u64,
    /// Who is here, with when that one came.
    here: BTreeMap<u64, (u32, Instant)>,
    /// When who comes again.
    away: BTreeSet<(Instant, u32)>,
    honest: Option<u64>,
}

impl AttackModel {
    /// How long it takes the others to see that they were sent away, and to come again.
    const AGAIN: Duration = Duration::from_millis(100);
    const TICK: Duration = Duration::from_millis(5);

    fn new(networks: u32, says: AttackerBehaviour) -> Self {
        let begin = Duration::from_secs(30);
        Self {
            places: Places::new(Limits::new(32, 8, begin), Rng::new(1, 0)),
            says,
            begin,
            now: Instant::ZERO,
            number: 0,
            here: BTreeMap::new(),
            away: (0..networks).map(|it| (Instant::ZERO, it)).collect(),
            honest: None,
        }
    }

    fn enter(&mut self, from: u32) -> Option<u64> {
        self.number += 1;
        let address = IpAddr::V4((0x0a00_0001 + (from << 8)).into());
        let Admission::Taken(instead) = self.places.enter(self.number, address, self.now) else {
            return None;
        };
        if let Some(instead) = instead {
            self.gone(instead);
        }
        Some(self.number)
    }

    fn gone(&mut self, number: u64) {
        if let Some((from, _)) = self.here.remove(&number) {
            self.away.insert((self.now + Self::AGAIN, from));
        } else {
            self.honest.take_if(|it| *it == number);
        }
    }

    /// Lets time pass.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now += Self::TICK;
            let begin = self.places.begin(self.begin);
            for (number, (_, since)) in self.here.clone() {
                let (spoke, asked, over) = (since + Self::TICK, since + Self::TICK * 2, since + Self::AGAIN);
                if self.now >= since + begin {
                    self.places.leave(number);
                    self.gone(number);
                } else if self.says != AttackerBehaviour::Nothing && self.now == spoke {
                    self.places.advance(number, Step::Spoke, self.now);
                } else if self.says == AttackerBehaviour::AWrongPassword && self.now == asked {
                    self.places.advance(number, Step::Asked, self.now);
                } else if self.says == AttackerBehaviour::AWrongPassword && self.now == over {
                    self.places.advance(number, Step::Over, self.now);
                }
            }
            let later = self.away.split_off(&(self.now + Duration::from_nanos(1), 0));
            for (_, from) in core::mem::replace(&mut self.away, later) {
                if let Some(number) = self.enter(from) {
                    self.here.insert(number, (from, self.now));
                } else {
                    self.away.insert((self.now + Self::AGAIN, from));
                }
            }
            assert!(self.places.strangers() <= 64);
        }
    }

    /// Somebody speaks at once, and asks when he was answered; whether he is let in when his password was looked at.
    fn is_served(&mut self, from: u32, round_trip: Duration) -> bool {
        self.honest = self.enter(from);
        let Some(number) = self.honest else {
            return false;
        };
        self.pass(Self::TICK);
        self.places.advance(number, Step::Spoke, self.now);
        self.pass(round_trip);
        self.places.advance(number, Step::Asked, self.now);
        self.pass(Duration::from_millis(100));
        let is_served = self.honest == Some(number) && self.places.know(number).is_ok();
        self.places.leave(number);
        is_served
    }
}

#[test]
fn who_comes_from_elsewhere_is_let_in_among_those_who_say_a_word_and_no_more() {
    for says in [AttackerBehaviour::Nothing, AttackerBehaviour::AWord, AttackerBehaviour::AWrongPassword] {
        for networks in [64, 200, 1000] {
            for round_trip in [5, 600].map(Duration::from_millis) {
                let mut siege = AttackModel::new(networks, says);
                // A moment after all of them came at once, and for longer than a minute.
                siege.pass(Duration::from_millis(250));
                let mut served = 0;
                for _ in 0..60 {
                    served += u32::from(siege.is_served(1 << 15, round_trip));
                    siege.pass(Duration::from_millis(900));
                }
                assert_eq!(served, 60, "{says:?}, {networks} networks, a round trip of {round_trip:?}");
            }
        }
    }
}

#[test]
fn a_hundred_thousand_guessers_are_answered_within_their_budgets() {
    let mut tries = Tries::new(10, Rng::new(1, 0));
    let mut rng = Rng::new(2, 0);
    let mut answered: BTreeMap<Prefix, Vec<u64>> = BTreeMap::new();
    let mut looks: BTreeMap<Prefix, Vec<u64>> = BTreeMap::new();
    let mut at_victim = Vec::new();
    for guess in 0..u64::from(HOSTS) {
        // For a quarter of an hour.
        let ms = guess * 9;
        let now = Instant::ZERO + Duration::from_millis(ms);
        let from = somebody(&mut rng);
        let name = if rng.chance(0.5) { "victim".to_owned() } else { format!("user{}", rng.below(1000)) };
        if let Ok(ticket) = tries.begin(from, name.as_bytes(), now) {
            let network = Prefix::network(from);
            looks.entry(network).or_default().push(ms);
            if ticket.wrong() == LoginReply::Answered {
                answered.entry(network).or_default().push(ms);
                if name == "victim" {
                    at_victim.push(ms);
                }
            }
        }
        if guess % 1000 == 0 {
            // The victim comes from elsewhere, and somebody else from among the guessers.
            let from = IpAddr::V4((0xc000_0201 + (u32::try_from(guess).unwrap() << 8)).into());
            let ticket = tries.begin(from, b"victim", now);
            tries.right(ticket.unwrap(), now);
        }
    }
    let most = |times: &[u64]| {
        // They rise.
        let until = |from: u64| times.partition_point(|it| *it < from + 60_000);
        let inside = (0..).zip(times).map(|(first, from)| until(*from) - first);
        inside.max()
    };
    assert!(most(&at_victim) <= Some(10));
    for times in answered.values() {
        assert!(most(times) <= Some(10));
    }
    for times in looks.values() {
        assert!(most(times) <= Some(70));
    }
}
