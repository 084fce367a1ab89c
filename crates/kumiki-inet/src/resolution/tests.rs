use core::net::Ipv4Addr;

use kumiki_graph::{Duration, Instant};

use super::{Bounds, Cache, Resolution};

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

fn cache(entries: usize, queue: usize) -> Cache<u8, &'static str> {
    Cache::new(Bounds { timeout: Duration::from_secs(60), tries: 3, entries, unknown: 2, queue, refresh: true })
}

fn second(n: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(n)
}

#[test]
fn what_waits_goes_when_its_next_hop_is_known() {
    let mut cache = cache(4, 2);
    let found = cache.find(A, "first", true, second(0));
    assert!(matches!(found, Resolution::Waits { ask: true, gone: 0 }));
    for (datagram, lost) in [("second", 0), ("third", 1)] {
        let found = cache.find(A, datagram, true, second(0));
        assert!(matches!(found, Resolution::Waits { ask: false, gone } if gone == lost));
    }
    assert_eq!(cache.learn(A, 7, true, second(1)), ["second", "third"]);
    let found = cache.find(A, "fourth", true, second(2));
    assert!(matches!(found, Resolution::At { address: 7, datagram: "fourth", old: false }));
    // Nearly too old: it is sent, and asked for again once in a second.
    let found = cache.find(A, "fifth", true, second(50));
    assert!(matches!(found, Resolution::At { old: true, .. }));
    let found = cache.find(A, "sixth", true, second(50));
    assert!(matches!(found, Resolution::At { old: false, .. }));
    assert_eq!(cache.known(A, second(61)), None);
}

#[test]
fn who_does_not_answer_is_given_up_with_what_waits() {
    let mut cache = cache(4, 2);
    let _ = cache.find(A, "first", true, second(0));
    for n in 1..3 {
        assert_eq!(cache.next_due(), Some(second(n)));
        assert_eq!(cache.due(second(n)), (vec![A], vec![]));
    }
    assert_eq!(cache.due(second(3)), (vec![], vec![(A, "first")]));
    assert_eq!(cache.held(), (0, 0));
}

#[test]
fn the_entry_least_used_makes_room() {
    let mut cache = cache(1, 2);
    let _ = cache.find(A, "first", true, second(0));
    let found = cache.find(B, "second", true, second(1));
    assert!(matches!(found, Resolution::Waits { ask: true, gone: 1 }));
    assert_eq!(cache.held(), (1, 1));
    // Nobody else is kept while it is full.
    assert!(cache.learn(A, 7, true, second(1)).is_empty());
    assert_eq!(cache.known(A, second(1)), None);
}

#[test]
fn who_makes_us_ask_for_nobody_puts_out_nobody_who_is_known() {
    let mut cache = cache(4, 2);
    cache.learn(A, 7, true, second(0));
    for n in 1..100 {
        let _ = cache.find(Ipv4Addr::new(10, 0, 9, n), "for nobody", true, second(1));
        assert!(cache.held().0 <= 3);
    }
    assert_eq!(cache.known(A, second(1)), Some(7));
    // The last to be asked for is still waited for.
    assert_eq!(cache.learn(Ipv4Addr::new(10, 0, 9, 99), 8, true, second(1)), ["for nobody"]);
}

#[test]
fn who_speaks_to_us_is_kept_in_the_place_of_one_that_nothing_is_sent_to() {
    let mut cache = cache(4, 2);
    cache.learn(A, 7, true, second(0));
    assert!(matches!(cache.find(A, "one", true, second(0)), Resolution::At { .. }));
    for n in 1..100 {
        cache.learn(Ipv4Addr::new(10, 0, 9, n), 9, true, second(1));
    }
    cache.learn(B, 8, true, second(2));
    assert_eq!((cache.known(A, second(2)), cache.known(B, second(2)), cache.held().0), (Some(7), Some(8), 4));
}

#[test]
fn a_full_cache_makes_room_for_several_and_keeps_those_in_use() {
    let mut cache = cache(64, 2);
    let address = |n| Ipv4Addr::new(10, 0, 9, n);
    for n in 0..64 {
        cache.learn(address(n), n, true, second(u64::from(n) % 2));
    }
    for n in 0..2 {
        assert!(matches!(cache.find(address(n), "one", true, second(1)), Resolution::At { .. }));
    }
    cache.learn(A, 99, true, second(2));
    let gone: Vec<u8> = (0..64).filter(|n| cache.known(address(*n), second(2)).is_none()).collect();
    assert_eq!((gone, cache.held().0), (vec![2, 4, 6, 8], 61));
    // There is room for as many.
    for n in 100..103 {
        cache.learn(address(n), n, true, second(2));
    }
    assert_eq!(cache.held().0, 64);
}
