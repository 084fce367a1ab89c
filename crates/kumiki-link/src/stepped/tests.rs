use kumiki_graph::{Address, Duration};
use kumiki_octets::Message;

use super::*;
use crate::testing::Bench;
use crate::{Carrier, DropTail, Loss, Rate};

const fn ms(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000_000)
}

/// 1500 octets: 1 ms at 12 Mb/s.
fn frame(tag: u8) -> Unit {
    Unit::Frame { data: Message::from_octets(&[tag; 1500]), address: Address::NONE }
}

fn line(mbps: u64, propagation: u64) -> SerialConfig {
    let carrier = Carrier::Plain { rate: Rate::bits_per_second(mbps * 1_000_000), overhead: 0 };
    SerialConfig { carrier, propagation: Duration::from_millis(propagation), say_sent: false }
}

const fn change(config: SerialConfig) -> LineChange {
    LineChange { config: [config; 2], still_until: [None; 2] }
}

/// When frames arrive that were offered at these times, in ms: (us, which).
fn arrivals(element: impl Element + 'static, offered: &[u64]) -> Vec<(u64, u8)> {
    let mut bench = Bench::default();
    bench.add(Box::new(element));
    for (tag, at) in (0..).zip(offered) {
        bench.offer(ms(*at), (0, 0), frame(tag));
    }
    bench.run();
    let seen = bench.take().into_iter().map(|(at, _, unit)| {
        let Unit::Frame { data, .. } = unit else { panic!("no frame") };
        (at.as_nanos() / 1000, data.to_vec()[0])
    });
    seen.collect()
}

#[test]
fn frames_that_begin_after_a_change_go_at_the_new_rate() {
    let steps = [(ms(2), change(line(24, 0))), (ms(3), change(line(6, 0)))];
    let serial = Stepped::new(Serial::new(line(12, 0), DropTail::UNLIMITED), steps);
    // Two at 12 Mb/s, two at 24, and the last at 6: each begins at the very instant of the change.
    assert_eq!(arrivals(serial, &[0, 0, 0, 0, 0]), [(1000, 0), (2000, 1), (2500, 2), (3000, 3), (5000, 4)]);
    // The one that is on the line when it changes keeps its time.
    let serial = Stepped::new(Serial::new(line(12, 0), DropTail::UNLIMITED), [(ms(2), change(line(120, 0)))]);
    let mut bench = Bench::default();
    bench.add(Box::new(serial));
    bench.offer(Instant::from_nanos(1_500_000), (0, 0), frame(0));
    bench.offer(Instant::from_nanos(1_500_000), (0, 0), frame(1));
    bench.run();
    let times: Vec<u64> = bench.take().iter().map(|(at, ..)| at.as_nanos() / 1000).collect();
    assert_eq!(times, [2500, 2600]);
}

#[test]
fn nothing_overtakes_where_the_propagation_drops() {
    let steps = [(ms(1), change(line(12, 0)))];
    let serial = Stepped::new(Serial::new(line(12, 10), DropTail::UNLIMITED), steps);
    // The first arrives at 11 ms; what follows it by a shorter way waits for it, and what comes later does not.
    assert_eq!(arrivals(serial, &[0, 0, 0, 20]), [(11_000, 0), (11_000, 1), (11_000, 2), (21_000, 3)]);
    let serial = Stepped::new(Serial::new(line(12, 0), DropTail::UNLIMITED), [(ms(1), change(line(12, 10)))]);
    assert_eq!(arrivals(serial, &[0, 0]), [(1000, 0), (12_000, 1)]);
}

#[test]
fn a_line_that_stands_still_keeps_what_comes() {
    let still = LineChange { config: [line(12, 0); 2], still_until: [Some(ms(10)); 2] };
    let steps = || [(ms(1), still), (ms(10), change(line(24, 0)))];
    let serial = Stepped::new(Serial::new(line(12, 0), DropTail::UNLIMITED), steps());
    assert_eq!(arrivals(serial, &[0, 0, 5, 10]), [(1000, 0), (10_500, 1), (11_000, 2), (11_500, 3)]);
    // As much as there is room for.
    let serial = Stepped::new(Serial::new(line(12, 0), DropTail::frames(1)), steps());
    assert_eq!(arrivals(serial, &[2, 3, 4]), [(10_500, 0)]);
    // For ever.
    let still = LineChange { config: [line(12, 0); 2], still_until: [Some(Instant::from_nanos(u64::MAX)); 2] };
    let serial = Stepped::new(Serial::new(line(12, 0), DropTail::UNLIMITED), [(ms(1), still)]);
    assert_eq!(arrivals(serial, &[0, 0, 5]), [(1000, 0)]);
}

#[test]
fn losses_come_and_go() {
    let all = Impairment::loss(Loss::Independent(1.0));
    let path = Impaired::new(Impairment::default(), Impairment::default(), 1);
    let path = Stepped::new(path, [(ms(3), all), (ms(5), Impairment::default())]);
    assert_eq!(arrivals(path, &[1, 2, 3, 4, 5, 6]).iter().map(|it| it.1).collect::<Vec<_>>(), [0, 1, 4, 5]);
}

#[test]
fn a_line_without_steps_is_the_line() {
    let offered = [0, 0, 1, 7, 7];
    let plain = arrivals(Serial::new(line(12, 3), DropTail::UNLIMITED), &offered);
    assert_eq!(arrivals(Stepped::new(Serial::new(line(12, 3), DropTail::UNLIMITED), []), &offered), plain);
    // Nor does one to the same change anything, in the middle of a frame or between two.
    let steps = [(ms(1), change(line(12, 3))), (Instant::from_nanos(7_400_000), change(line(12, 3)))];
    assert_eq!(arrivals(Stepped::new(Serial::new(line(12, 3), DropTail::UNLIMITED), steps), &offered), plain);
}
