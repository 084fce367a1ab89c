//! Single rules, with statuses as one likes.

use kumiki_graph::Duration;
use proptest::prelude::*;

use super::*;
use crate::congestion::{Controller as _, Matched, Status, controller};

const PACKET: u64 = 1000;

/// A path that takes and delivers all that the controller lets go, with a status each 100 ms.
struct Even {
    matched: Matched,
    now: Instant,
    sync: u32,
    /// Octets that left whatever the pace, and all that were delivered.
    leapt: u64,
    delivered: u64,
}

impl Even {
    fn new() -> Self {
        Self { matched: Matched::new(1000), now: Instant::ZERO, sync: 0, leapt: 0, delivered: 0 }
    }

    /// What leaves in so many milliseconds.
    fn sent(&self, time: u64) -> u64 {
        self.matched.rate().unwrap_or(100_000) * time / 1000
    }

    /// The next status, with a round trip of `rtt` ms.
    fn tell(&mut self, rtt: u64, change: impl FnOnce(&mut Status)) {
        self.now += ms(100);
        self.sync += 1;
        let before = self.leapt;
        while self.matched.leaps(PACKET) {
            self.leapt += PACKET;
        }
        let mut status = Status {
            now: self.now,
            delivered: self.sent(100) + self.leapt - before,
            lost: 0,
            in_flight: self.sent(rtt) + self.leapt,
            rtt: Some(ms(rtt)),
            min_rtt: Some(ms(100)),
            sync: self.sync,
            sent_sync: self.sync + 1,
            limited: false,
        };
        change(&mut status);
        self.delivered += status.delivered;
        self.matched.on_status(&status);
    }

    fn tell_often(&mut self, times: u64, rtt: u64) {
        for _ in 0..times {
            self.tell(rtt, |_| {});
        }
    }

    /// Past the start, at about 100 packets in a round trip of 100 ms.
    fn at_100_packets() -> Self {
        let mut even = Self::new();
        while even.sent(100) < 100 * PACKET {
            even.tell(100, |_| {});
        }
        even.tell(120, |status| status.lost = 10 * PACKET);
        even.tell_often(8, 100);
        even
    }
}

/// With `lost` of 100 packets and a round trip of `rtt`: what of W is kept.
fn kept(rtt: u64, lost: u64) -> f64 {
    let mut even = Even::at_100_packets();
    even.tell_often(6, rtt);
    let before = even.sent(rtt);
    even.tell(rtt, |status| {
        status.lost = status.delivered * lost / 100;
        status.delivered -= status.lost;
    });
    even.sent(rtt) as f64 / before as f64
}

#[test]
fn a_loss_keeps_what_the_path_holds_without_a_queue() {
    for (rtt, lost, keeps) in [
        // No queue and little loss: no congestion.
        (100, 1, 1.0),
        (100, 3, 1.0),
        // No queue and much loss: what was delivered.
        (100, 20, 0.95),
        // A queue: its part of the round trip goes.
        (110, 1, 0.9),
        (125, 1, 0.8),
        (160, 1, 0.62),
        // But never more than half.
        (200, 1, 0.5),
        (400, 1, 0.5),
    ] {
        let found = kept(rtt, lost);
        assert!((found - keeps).abs() < 0.06, "{rtt} ms, {lost} %: {found}");
    }
}

#[test]
fn losses_of_one_epoch_are_reacted_to_once() {
    let mut even = Even::at_100_packets();
    even.tell_often(6, 150);
    let mut windows = vec![even.sent(150)];
    for _ in 0..4 {
        even.tell(150, |status| status.lost = 5 * PACKET);
        windows.push(even.sent(150));
    }
    // When the first came one more question was in flight. What left between that one and the reaction is told of by
    // the next, and only the one after that tells of nothing else.
    assert!(windows[1] < windows[0] * 3 / 4, "{windows:?}");
    assert!(windows[2] > windows[1] * 99 / 100, "{windows:?}");
    assert!(windows[3] > windows[2] * 99 / 100, "{windows:?}");
    assert!(windows[4] < windows[3] * 3 / 4, "{windows:?}");
}

#[test]
fn growth_is_as_fair_as_what_is_kept_asks_for() {
    for rtt in [200, 125] {
        let mut even = Even::at_100_packets();
        even.tell_often(6, rtt);
        let before = even.matched.w();
        even.tell(rtt, |status| status.lost = PACKET);
        let b = even.matched.w() as f64 / before as f64;
        // A packet for one half, a third for 4/5.
        let packets = 3.0 * (1.0 - b) / (1.0 + b);
        even.tell_often(6, rtt);
        let (before, delivered) = (even.matched.w(), even.delivered);
        even.tell_often(10, rtt);
        // A window is delivered in a round trip; less than that where it keeps its balance.
        let round_trips = (even.delivered - delivered) as f64 / before as f64;
        let grown = (even.matched.w() - before) as f64 / PACKET as f64 / round_trips;
        assert!((grown - packets).abs() < 0.1 * packets, "{rtt}: {grown}");
    }
}

#[test]
fn each_expiry_halves_and_it_never_stops() {
    let mut even = Even::at_100_packets();
    let before = even.sent(100);
    for half in 1..4 {
        even.matched.on_timeout(even.now);
        assert_eq!(even.sent(100), before >> half);
    }
    for _ in 0..100 {
        even.matched.on_timeout(even.now);
    }
    let least = even.sent(100);
    assert!((1900..=2000).contains(&least), "{least}");
    // Back to half of what was, faster than by single packets.
    even.tell_often(25, 100);
    assert!(even.sent(100) > before / 2, "{}", even.sent(100));
}

#[test]
fn losses_told_after_an_expiry_are_not_reacted_to_again() {
    let mut even = Even::at_100_packets();
    even.matched.on_timeout(even.now);
    let half = even.sent(100);
    even.tell(100, |status| status.lost = 50 * PACKET);
    assert!(even.sent(100) >= half);
}

#[test]
fn before_the_first_answer_the_initial_window_of_tcp_goes_at_once() {
    for (packet, window) in [(500, 5000), (1460, 14_600), (9000, 18_000)] {
        let matched = Matched::new(packet);
        assert_eq!((matched.window(), matched.rate()), (window, None));
    }
}

#[test]
fn off_lets_everything_go() {
    let mut off = controller(Kind::Off, 1000);
    off.on_timeout(Instant::ZERO);
    off.on_status(&Status {
        now: Instant::ZERO,
        delivered: 0,
        lost: 1000,
        in_flight: 0,
        rtt: None,
        min_rtt: None,
        sync: 1,
        sent_sync: 1,
        limited: false,
    });
    assert_eq!((off.window(), off.rate()), (u64::MAX, None));
    assert_eq!((Kind::Off.name(), Kind::Matched.name()), ("off", "matched-2"));
}

#[test]
fn a_gigabyte_at_a_hundred_gigabits_is_no_matter() {
    for (rate, rtt) in [
        (12_500_000_000, Duration::from_micros(10)),
        (12_500_000_000, Duration::from_millis(80)),
        (100_000_000, Duration::from_secs(10)),
    ] {
        let mut matched = Matched::new(9000);
        let mut now = Instant::ZERO;
        let path = u64::try_from(rate * rtt.as_nanos() as u128 / 1_000_000_000).unwrap();
        for sync in 0..2000 {
            now += rtt;
            let sent = matched.rate().map_or(18_000, |it| {
                u64::try_from(u128::from(it) * u128::from(rtt.as_nanos()) / 1_000_000_000).unwrap()
            });
            let delivered = sent.min(path);
            matched.on_status(&Status {
                now,
                delivered,
                lost: sent.saturating_sub(2 * path),
                in_flight: sent,
                rtt: Some(rtt),
                min_rtt: Some(rtt),
                sync,
                sent_sync: sync + 1,
                limited: false,
            });
        }
        let found = matched.rate().unwrap() as f64 / rate as f64;
        assert!(found > 0.9, "{rtt}: {found}");
    }
}

fn statuses() -> impl Strategy<Value = (Vec<Status>, u32)> {
    let number = || prop_oneof![0..100_000_u64, any::<u64>()];
    let time = || prop::option::of(number().prop_map(Duration::from_nanos));
    let status = (number(), number(), number(), number(), time(), time(), any::<(u32, u32, bool)>());
    let status = status.prop_map(|(at, delivered, lost, in_flight, rtt, min_rtt, rest)| Status {
        now: Instant::from_nanos(at),
        delivered,
        lost,
        in_flight,
        rtt,
        min_rtt,
        sync: rest.0,
        sent_sync: rest.1,
        limited: rest.2,
    });
    (prop::collection::vec(status, 0..60), any::<u32>())
}

proptest! {
    #[test]
    fn whatever_it_is_told_it_lets_something_go((statuses, packet) in statuses()) {
        let mut matched = Matched::new(packet);
        for (number, status) in statuses.iter().enumerate() {
            matched.on_status(status);
            if number % 7 == 6 {
                matched.on_timeout(status.now);
            }
            prop_assert!(matched.window() >= 2 * u64::from(packet));
            prop_assert!(matched.window() <= 1 << 41);
            prop_assert!(matched.rate() != Some(0));
        }
    }
}
