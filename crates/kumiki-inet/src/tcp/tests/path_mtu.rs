//! Paths that carry less than the links at their ends: told by ICMP, or found out.

use kumiki_graph::{Duration, Problem};

use super::IPV6;
use super::pair::*;
use crate::tcp::config::PathMtu;
use crate::tcp::{Config, Event, defaults};

/// What no router is told to go below.
const LEAST: u32 = if IPV6 { 1280 } else { 552 };

fn modern(path_mtu: PathMtu) -> Config {
    Config { path_mtu, trace: true, slow_start_after_idle: false, ..defaults::modern() }
}

/// A connection over links of 9180 octets, 20 ms there and back, with something narrower on the way.
fn over(config: &Config, mtu: u32, tells: Option<Duration>) -> Pair {
    let mut pair = Pair::new(config.clone(), config.clone(), ms(10)).connected();
    pair.narrow = Some(Narrow { mtu, tells });
    pair
}

/// The sizes of the packets with text that A has sent since number `from`.
fn sizes(pair: &Pair, from: usize) -> Vec<u32> {
    let sent = pair.log[from..].iter().filter(|it| it.from == A);
    sent.filter(|it| it.len() > 0).map(|it| it.size).collect()
}

fn largest(pair: &Pair, from: usize) -> u32 {
    sizes(pair, from).into_iter().max().unwrap()
}

/// The largest of the last of them.
fn lately(pair: &Pair) -> u32 {
    sizes(pair, 0).into_iter().rev().take(20).max().unwrap()
}

/// What A's congestion window was after each event that `is_it` picks.
fn cwnds(pair: &Pair, is_it: impl Fn(Event) -> bool) -> Vec<u64> {
    let (_, _, trace) = pair.tcp(A).traces().next().unwrap();
    let entries = trace.0.iter().filter(|entry| is_it(entry.event));
    entries.map(|entry| entry.cwnd).collect()
}

fn send(pair: &mut Pair, octets: usize, time: Duration) {
    let was = pair.app(B).received.len();
    pair.write(A, &numbered(octets));
    pair.run_for(time);
    assert_eq!(pair.app(B).received[was..], numbered(octets));
}

// RFC 9293: MUST-16, MUST-54
#[test]
fn what_a_router_finds_too_big_goes_again_at_once_and_is_no_congestion() {
    for path_mtu in [PathMtu::Icmp, PathMtu::ProbeOnBlackHole] {
        let mut pair = over(&modern(path_mtu), 9180, None);
        // Before the first acknowledgment a smaller MSS means a smaller initial window (RFC 5681 section 3.1).
        send(&mut pair, 60_000, ms(1000));
        pair.narrow = Some(Narrow { mtu: 1400, tells: Some(ms(5)) });
        let begin = (pair.now, pair.log.len());
        send(&mut pair, 60_000, ms(1000));
        let again = pair.log[begin.1..].iter().filter(|it| it.len() > 0).find(|it| it.size <= 1400);
        assert_eq!(again.unwrap().at, begin.0 + ms(5));
        let first = pair.log[begin.1].size;
        assert_eq!(first, 9180);
        let counters = pair.counters(A);
        assert_eq!((counters.timeouts, counters.fast_retransmits), (0, 0));
        assert_eq!((counters.loss_probes, counters.black_holes), (0, 0));
        let windows = cwnds(&pair, |_| true);
        assert!(windows.is_sorted(), "{windows:?}");
        // From then on everything fits.
        let later = pair.log.iter().position(|it| it.at >= begin.0 + ms(5));
        assert_eq!(largest(&pair, later.unwrap()), 1400);
    }
}

#[test]
fn a_path_that_narrows_twice_is_followed_twice() {
    let mut pair = over(&modern(PathMtu::Icmp), 4352, Some(ms(5)));
    send(&mut pair, 100_000, ms(1000));
    pair.narrow = Some(Narrow { mtu: 1500, tells: Some(ms(5)) });
    let then = pair.log.len();
    send(&mut pair, 100_000, ms(1000));
    assert_eq!(largest(&pair, then), 4352);
    let then = pair.log.len();
    send(&mut pair, 100_000, ms(1000));
    assert_eq!(largest(&pair, then), 1500);
    assert_eq!(pair.counters(A).timeouts, 0);
}

// RFC 9293: MUST-54
#[test]
fn forged_reports_do_nothing_or_little() {
    let mut pair = over(&modern(PathMtu::Icmp), 9180, None);
    // About what has arrived.
    send(&mut pair, 20_000, ms(1000));
    pair.icmp(A, Problem::TooBig { mtu: 1400 });
    // About something in flight that was smaller than that.
    pair.write(A, b"small");
    pair.icmp(A, Problem::TooBig { mtu: 1400 });
    pair.run_for(ms(1000));
    assert_eq!(pair.counters(A).too_bigs, 0);
    assert!(pair.narrowed.is_empty());
    let then = pair.log.len();
    send(&mut pair, 20_000, ms(1000));
    assert_eq!(largest(&pair, then), 9180);
    // And a good guess goes no further down than the least, where routers may cut.
    for mtu in [0, 68, 500] {
        let mut pair = over(&modern(PathMtu::Icmp), 9180, None);
        pair.write(A, &numbered(50_000));
        pair.icmp(A, Problem::TooBig { mtu });
        assert_eq!(pair.narrowed, [(A, mtu)]);
        let then = pair.log.len();
        pair.run_for(ms(1000));
        send(&mut pair, 20_000, ms(1000));
        assert_eq!(largest(&pair, then), LEAST);
        let last = pair.log.iter().rev().find(|packet| packet.from == A);
        assert_eq!(last.unwrap().whole, IPV6);
        assert_eq!(pair.counters(A).timeouts, 0);
    }
}

#[test]
fn after_ten_minutes_more_is_tried() {
    for (path_mtu, sack) in [(PathMtu::Icmp, true), (PathMtu::ProbeOnBlackHole, true), (PathMtu::Probe, false)] {
        let config = Config { sack, ..modern(path_mtu) };
        let mut pair = over(&config, 1400, Some(ms(5)));
        send(&mut pair, 100_000, ms(1000));
        pair.narrow = None;
        pair.run_for(ms(590_000));
        let then = pair.log.len();
        send(&mut pair, 200_000, ms(5000));
        assert_eq!(largest(&pair, then), 1400);
        pair.run_for(ms(10_000));
        let then = pair.log.len();
        send(&mut pair, 400_000, ms(1000));
        assert_eq!(largest(&pair, then), 9180);
        let probed = path_mtu == PathMtu::ProbeOnBlackHole;
        assert_eq!(pair.counters(A).path_probes, u64::from(probed));
        assert_eq!(pair.counters(A).timeouts, 0);
    }
}

#[test]
fn a_path_that_carries_all_is_found_out_with_one_probe() {
    let mut pair = over(&modern(PathMtu::Probe), 9180, None);
    let then = pair.log.len();
    send(&mut pair, 400_000, ms(1000));
    let sent = sizes(&pair, then);
    let base = if IPV6 { 1280 } else { 1200 };
    assert_eq!(sent[0], base);
    let counters = pair.counters(A);
    assert_eq!((counters.path_probes, counters.path_probes_lost), (1, 0));
    let at = sent.iter().position(|&size| size == 9180).unwrap();
    // After the probe small segments, until it is answered.
    assert_eq!(sent[at + 1], base);
    assert!(sent.iter().skip(at + 1).filter(|&&size| size == 9180).count() > 10);
    assert_eq!(counters.retransmissions, 0);
}

#[test]
fn probes_find_what_a_silent_path_carries_and_their_loss_is_no_congestion() {
    for loss_detection in [crate::tcp::config::LossDetection::Rack, crate::tcp::config::LossDetection::Sack] {
        for (mtu, found) in [(9180, 9180), (9000, 9000), (1500, 1500), (1480, 1480), (3333, 3326)] {
            let config = Config {
                loss_detection,
                hystart: false,
                // Probes that fail wait for as many round trips as the window has segments.
                receive_buffer: 100_000,
                ..modern(PathMtu::Probe)
            };
            let mut pair = over(&config, mtu, None);
            for _ in 0..60 {
                send(&mut pair, 1_000_000, ms(2000));
            }
            let size = lately(&pair);
            assert!((found..=mtu).contains(&size), "{size} of {mtu}");
            let counters = pair.counters(A);
            assert_eq!((counters.timeouts, counters.fast_retransmits), (0, 0));
            assert_eq!(counters.path_probes_lost > 0, mtu < 9180);
            assert_eq!(counters.retransmissions > 0, mtu < 9180);
            let windows = cwnds(&pair, |event| event == Event::Acknowledged);
            let most = windows.iter().max();
            assert!(*most.unwrap() >= 100_000, "{most:?}");
        }
    }
}

#[test]
fn a_probe_that_a_router_tells_of_need_not_be_guessed() {
    let mut pair = over(&modern(PathMtu::Probe), 4352, Some(ms(5)));
    for _ in 0..10 {
        send(&mut pair, 500_000, ms(1000));
    }
    let counters = pair.counters(A);
    assert_eq!((counters.path_probes, counters.path_probes_lost), (2, 1));
    assert_eq!((counters.timeouts, counters.fast_retransmits), (0, 0));
    assert_eq!(lately(&pair), 4352);
}

#[test]
fn a_black_hole_is_found_and_measured() {
    for (path_mtu, tells) in [
        (PathMtu::ProbeOnBlackHole, None),
        // Heard of, but not believed: it is not about this connection.
        (PathMtu::Icmp, None),
    ] {
        let mut pair = over(&modern(path_mtu), 1500, tells);
        pair.write(A, &numbered(60_000));
        pair.run_for(ms(5000));
        let arrived = pair.app(B).received.len();
        let counters = pair.counters(A);
        if path_mtu == PathMtu::Icmp {
            assert_eq!((arrived, counters.black_holes), (0, 0));
            continue;
        }
        assert_eq!((arrived, counters.black_holes), (60_000, 1));
        assert!(counters.timeouts <= 4);
        for _ in 0..20 {
            send(&mut pair, 500_000, ms(2000));
        }
        assert_eq!(lately(&pair), 1500);
        assert!(pair.counters(A).timeouts <= 4);
    }
}

#[test]
fn a_hole_deeper_than_the_base_is_found_too() {
    let config = Config { path_mtu_base: 4000, ..modern(PathMtu::ProbeOnBlackHole) };
    let mut pair = over(&config, 1300, None);
    pair.write(A, &numbered(60_000));
    pair.run_for(ms(60_000));
    assert_eq!(pair.app(B).received.len(), 60_000);
    // 9180, 4000, and half of it, and half of that or the least.
    assert_eq!(pair.counters(A).black_holes, 3);
}

#[test]
fn after_an_outage_segments_are_soon_long_again() {
    let mut pair = over(&modern(PathMtu::ProbeOnBlackHole), 9180, None);
    send(&mut pair, 100_000, ms(1000));
    // Nothing at all arrives.
    pair.narrow = Some(Narrow { mtu: 0, tells: None });
    pair.write(A, &numbered(100_000));
    pair.run_for(ms(8000));
    assert!(pair.counters(A).black_holes > 0);
    pair.narrow = None;
    pair.run_for(ms(10_000));
    assert_eq!(pair.app(B).received.len(), 200_000);
    for _ in 0..10 {
        send(&mut pair, 500_000, ms(1000));
    }
    assert_eq!(lately(&pair), 9180);
}

/// RFC 4821 section 7.7 asks for several time-outs; a line so slow that they expire meanwhile is no black hole.
#[test]
fn what_arrives_after_all_shows_that_the_path_was_no_black_hole() {
    // Without SACK nothing is probed, and more would be tried in ten minutes only.
    let config = Config { sack: false, ..modern(PathMtu::ProbeOnBlackHole) };
    let mut seen = 0;
    let mut pair = Pair::with_rule(config.clone(), config, move |packet| {
        seen += usize::from(packet.len() > 0);
        // Three segments, two copies of the first, and a shorter one.
        vec![ms(if packet.len() > 0 && seen <= 6 { 2000 } else { 10 })]
    })
    .connected();
    send(&mut pair, 20_000, ms(10_000));
    assert_eq!(pair.counters(A).black_holes, 1);
    send(&mut pair, 500_000, ms(5000));
    assert_eq!(lately(&pair), 9180);
    assert_eq!(pair.counters(A).black_holes, 1);
}

#[test]
fn a_probe_lost_among_others_is_congestion_and_tried_again() {
    let config = modern(PathMtu::Probe);
    let mut lost = 0;
    let mut pair = Pair::with_rule(config.clone(), config, move |packet| {
        // The first probe, and the segment behind it.
        if packet.size == 9180 && lost == 0 || lost == 1 {
            lost += 1;
            return Vec::new();
        }
        vec![ms(10)]
    })
    .connected();
    send(&mut pair, 400_000, ms(2000));
    let counters = pair.counters(A);
    assert_eq!((counters.path_probes, counters.path_probes_lost), (2, 0));
    assert_eq!((counters.fast_retransmits, counters.timeouts), (1, 0));
    assert_eq!(lately(&pair), 9180);
}

#[test]
fn a_loss_beside_what_was_too_big_is_congestion() {
    let mut pair = over(&modern(PathMtu::Icmp), 4352, Some(ms(5)));
    let before = *cwnds(&pair, |_| true).last().unwrap();
    // The third of those retransmitted is lost.
    let mut seen = 0;
    pair.rule(move |packet| {
        seen += usize::from(packet.from == A && packet.size == 4352);
        if packet.from == A && packet.size == 4352 && seen == 3 {
            return Vec::new();
        }
        vec![ms(10)]
    });
    send(&mut pair, 100_000, ms(2000));
    let counters = pair.counters(A);
    assert_eq!((counters.fast_retransmits, counters.timeouts), (1, 0));
    let after = cwnds(&pair, |event| event == Event::Recovery);
    assert_eq!(after.len(), 1);
    assert!(before > 0);
}

#[test]
fn who_does_not_ask_is_not_told() {
    let mut pair = over(&modern(PathMtu::Off), 1400, Some(ms(5)));
    send(&mut pair, 100_000, ms(1000));
    assert!(pair.log.iter().all(|packet| !packet.whole));
    pair.write(A, &numbered(50_000));
    pair.icmp(A, Problem::TooBig { mtu: 1400 });
    pair.run_for(ms(1000));
    let counters = pair.counters(A);
    assert_eq!((counters.too_bigs, counters.retransmissions), (0, 0));
    assert_eq!(largest(&pair, 0), 9180);
}
