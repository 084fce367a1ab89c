#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers in tests")]

use kumiki_wire::inet::ipv4::Ecn;

use super::*;
use crate::queue::testing::{Rig, at};

fn rig() -> Rig<Codel> {
    Rig::new(Codel::new(CodelConfig::default()))
}

/// Two packets come in each ms and one goes, from `from` to before `to`, in ms; when something was given up or marked,
/// in ms.
fn overload(rig: &mut Rig<Codel>, ecn: Ecn, from: u64, to: u64) -> Vec<u64> {
    let mut times = Vec::new();
    for ms in from..to {
        rig.offer(at(ms), 1, 1000, ecn);
        rig.offer(at(ms), 1, 1000, ecn);
        let before = rig.drops + rig.marks;
        rig.next(at(ms));
        times.extend((before < rig.drops + rig.marks).then_some(ms));
    }
    times
}

/// In the tenth ms of an overload the packet that goes has waited for 5 ms, and 100 ms later so have all.
const FIRST: u64 = 9 + 100;

/// As many times as `found` has: spacings of `interval / sqrt(count)` from the first on (RFC 8289 section 5.6), each at
/// the next ms, in which a packet goes.
fn by_the_law(first: u64, counts: impl Iterator<Item = u32>, found: &[u64]) -> Vec<u64> {
    let spacings = counts.scan(first as f64, |time, count| {
        *time += 100.0 / f64::from(count).sqrt();
        Some(*time)
    });
    let times = core::iter::once(first).chain(spacings.map(|time| time.ceil() as u64));
    times.take(found.len()).collect()
}

#[test]
fn drops_follow_the_control_law() {
    let mut rig = rig();
    let times = overload(&mut rig, Ecn::NotEct, 0, 2000);
    assert_eq!(times, by_the_law(FIRST, 1.., &times));
    // The sum of 1/sqrt(k) up to n is about 2 sqrt(n) - 1.46, here 18.9.
    assert!((100..=107).contains(&times.len()), "{}", times.len());
    assert_eq!((rig.drops, rig.marks, rig.counter("overlimit")), (times.len() as u64, 0, 0));
}

#[test]
fn marks_stand_in_for_drops_and_come_when_they_would() {
    let mut rig = rig();
    let times = overload(&mut rig, Ecn::Ect0, 0, 2000);
    assert_eq!(times, by_the_law(FIRST, 1.., &times));
    assert_eq!((rig.drops, rig.marks), (0, times.len() as u64));
}

#[test]
fn a_packet_that_was_marked_before_is_neither_marked_nor_dropped() {
    let mut rig = rig();
    let times = overload(&mut rig, Ecn::Ce, 0, 2000);
    assert_eq!((times.len(), rig.drops, rig.marks), (0, 0, 0));
}

#[test]
fn without_ecn_what_may_be_marked_is_dropped() {
    let mut rig = Rig::new(Codel::new(CodelConfig { ecn: false, ..CodelConfig::default() }));
    let times = overload(&mut rig, Ecn::Ect0, 0, 500);
    assert_eq!((rig.drops, rig.marks), (times.len() as u64, 0));
    assert!(!times.is_empty());
}

/// Overload, then all that waits goes, then overload again after so many ms more: the counts with which the law begins.
fn again_after(pause: u64) -> (u64, Vec<u64>) {
    let mut rig = rig();
    overload(&mut rig, Ecn::NotEct, 0, 600);
    let empty = (600..).find(|ms| rig.next(at(*ms)).is_none()).unwrap();
    let first = empty + pause;
    let drops = rig.drops;
    let times = overload(&mut rig, Ecn::NotEct, first, first + 800);
    (drops, times.into_iter().map(|time| time - first).collect())
}

#[test]
fn an_overload_soon_after_another_begins_at_its_rate() {
    let (drops, times) = again_after(0);
    assert!(drops > 10, "{drops}");
    // What the last one added to its first.
    assert_eq!(times, by_the_law(FIRST, drops as u32 - 1.., &times));
}

#[test]
fn an_overload_long_after_another_begins_again() {
    let (_, times) = again_after(1600);
    assert_eq!(times, by_the_law(FIRST, 1.., &times));
}

#[test]
fn a_line_so_slow_that_two_packets_wait_too_long_loses_none() {
    let mut rig = rig();
    for number in 0..100 {
        // Two wait, each for 40 ms.
        if number >= 2 {
            assert_eq!(rig.next(at(20 * number)).unwrap().0, number - 2);
        }
        rig.offer(at(20 * number), 1, 1000, Ecn::NotEct);
    }
    assert_eq!(rig.drops, 0);
    // Three do.
    rig.offer(at(1990), 1, 1000, Ecn::NotEct);
    for number in 100..200 {
        rig.next(at(20 * number));
        rig.offer(at(20 * number), 1, 1000, Ecn::NotEct);
    }
    assert!(rig.drops > 0);
}

#[test]
fn what_finds_no_room_is_dropped_and_no_business_of_the_law() {
    let limit = DropTail::frames(3);
    let mut rig = Rig::new(Codel::new(CodelConfig { limit, ..CodelConfig::default() }));
    for _ in 0..5 {
        rig.offer(at(0), 1, 1000, Ecn::Ect0);
    }
    assert_eq!((rig.lost(), rig.drops, rig.counter("overlimit")), (vec![3, 4], 2, 2));
    assert_eq!((rig.queue.frames(), rig.queue.octets()), (3, 3000));
}
