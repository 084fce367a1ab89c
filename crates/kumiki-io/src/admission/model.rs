//! A model of a hundred thousand hosts in virtual time: what they are told, and who comes in meanwhile.

use core::net::{IpAddr, Ipv6Addr};
use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant, Rng};

use super::{Entrance, Judged, Limits, Places, Prefix, Tries};

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
        if !matches!(places.enter(honest, from, now), Entrance::Taken(_)) {
            continue;
        }
        for microseconds in (0..50_000).step_by(100) {
            number += 1;
            places.enter(number, somebody(&mut rng), now);
            if microseconds == 1000 {
                places.spoke(honest);
            }
        }
        served += u32::from(places.know(honest).is_ok());
        places.leave(honest);
    }
    // All thousand of them, at the first call.
    assert_eq!(served, HOSTS / 100);
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
            if ticket.wrong() == Judged::Answered {
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
