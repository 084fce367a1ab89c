#![allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "small numbers in tests")]

use kumiki_graph::{Address, Rng};
use kumiki_octets::{Checksum, Message, Pattern, Sum};
use kumiki_wire::atm::cell::Vc;
use proptest::prelude::*;

use super::*;
use crate::atm::sar::{HOST, LINE};
use crate::atm::{Aal34, Adaptation, OutputConfig, PortVc, Sar, SarConfig, Slots, Switch};
use crate::testing::Bench;
use crate::{CellRun, Rate};

/// Numbers and times (in us) of frames that were sent one a microsecond, of 100 octets.
fn pass(impairment: Impairment, seed: u64, frames: u64) -> (Vec<(u64, u64)>, Bench) {
    let mut bench = Bench::default();
    bench.add(Box::new(Impaired::both(&impairment, seed)));
    for number in 0..frames {
        let mut data = Message::generated(Pattern::Zeros, 0, 92);
        data.push(8).copy_from_slice(&number.to_be_bytes());
        let address = Address::NONE;
        bench.offer(Instant::ZERO + Duration::from_micros(number), (0, 0), Unit::Frame { data, address });
    }
    bench.run();
    let mut seen = Vec::new();
    for (at, _, unit) in bench.take() {
        let Unit::Frame { mut data, .. } = unit else { panic!("no frame") };
        let number = u64::from_be_bytes(data.front(8).unwrap().try_into().unwrap());
        seen.push((number, at.as_nanos() / 1000));
    }
    (seen, bench)
}

#[test]
fn nothing_is_the_default() {
    let (seen, _) = pass(Impairment::default(), 1, 5);
    assert_eq!(seen, [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]);
}

#[test]
fn frames_are_marked_as_often_as_is_said_and_nothing_else_changes() {
    let run = |mark| {
        let impairment = Impairment { mark, ..Impairment::loss(Loss::Independent(0.1)) };
        let mut bench = Bench::default();
        bench.add(Box::new(Impaired::both(&impairment, 3)));
        for number in 0..2000_u64 {
            let header = kumiki_wire::inet::ipv4::Header {
                type_of_service: if number % 4 == 0 { 0 } else { 2 },
                total_length: 20,
                ..kumiki_wire::inet::ipv4::Header::default()
            };
            let mut octets = [0; 20];
            header.emit_summed(&mut octets);
            let (data, address) = (Message::from_octets(&octets), Address::NONE);
            let at = Instant::ZERO + Duration::from_micros(number);
            bench.offer(at, (0, 0), Unit::Frame { data, address });
        }
        bench.run();
        let class = |(_, _, unit)| {
            let Unit::Frame { data, .. } = unit else { panic!("no frame") };
            data.to_vec()[1]
        };
        let classes: Vec<u8> = bench.take().into_iter().map(class).collect();
        let of = |class| classes.iter().filter(|it| **it == class).count();
        ((of(0), of(2), of(3)), bench.counter(0, "a_marked"))
    };
    let ((plain, capable, marked), counted) = run(0.25);
    assert_eq!(marked as u64, counted);
    assert!((400..500).contains(&plain) && (250..425).contains(&marked), "{plain} {marked}");
    assert!(marked * 2 < capable);
    let (all, none) = run(0.0);
    assert_eq!((all.2, none), (0, 0));
    assert_eq!(run(1.0).0.1, 0);
}

#[test]
fn the_third_frame_is_dropped_where_a_list_says_so() {
    let (seen, bench) = pass(Impairment::drops(&[2]), 1, 5);
    assert_eq!(seen, [(0, 0), (1, 1), (3, 3), (4, 4)]);
    assert_eq!(bench.counter(0, "a_lost"), 1);
}

#[test]
fn what_arrives_while_the_path_is_down_is_lost() {
    let us = |n| Instant::ZERO + Duration::from_micros(n);
    let down = Impairment::down(&[(us(1), us(3)), (us(4), us(5))]);
    let (seen, bench) = pass(down.clone(), 1, 7);
    assert_eq!(seen, [(0, 0), (3, 3), (5, 5), (6, 6)]);
    assert_eq!(bench.counter(0, "a_lost"), 3);
    // Cells of one run, each at its own time: 2.83, 5.66, 8.49 us and so on.
    let (seen, _) = cells(Impairment::down(&[(us(5), us(9))]), 4);
    assert_eq!(seen, [(0, 5, 0), (3, 5, 0)]);
    // No other unit's fate changes.
    let flaky = Impairment::loss(Loss::Independent(0.3));
    let both = Impairment { loss: flaky.loss, ..down };
    let (without, with) = (pass(flaky, 1, 100).0, pass(both, 1, 100).0);
    let later = |seen: &[(u64, u64)]| -> Vec<(u64, u64)> { seen.iter().copied().filter(|(n, _)| *n > 4).collect() };
    assert_eq!(later(&without), later(&with));
}

#[test]
fn a_frame_held_back_is_overtaken() {
    let held = |hold| Impairment { hold: Some((0.3, hold)), ..Impairment::delay(Duration::from_micros(10)) };
    let (seen, bench) = pass(held(Hold::Followers(2, Duration::from_secs(1))), 4, 200);
    let count = bench.counter(0, "a_held");
    assert!((30..100).contains(&count));
    assert_eq!(seen.len(), 200);
    assert!(!seen.is_sorted());
    // None but the last few waits for longer than its followers take.
    let late = seen.iter().filter(|(number, at)| *at > number + 10 + 20).count();
    assert!(late <= 2, "{late} of {count}");
    let (seen, _) = pass(held(Hold::Time(Duration::from_micros(3))), 4, 200);
    assert!(seen.iter().all(|(number, at)| *at == number + 10 || *at == number + 13));
}

#[test]
fn jitter_keeps_the_order() {
    let jitter = Impairment { jitter: Duration::from_micros(50), ..Impairment::default() };
    let (seen, _) = pass(jitter, 9, 300);
    assert!(seen.is_sorted());
    assert!(seen.iter().any(|(number, at)| *at > number + 10));
    assert!(seen.iter().all(|(number, at)| *at <= number + 50));
}

#[test]
fn losses_come_as_often_as_said_and_gilberts_in_bursts() {
    let runs_of = |loss| {
        let (seen, bench) = pass(Impairment::loss(loss), 7, 20_000);
        let gaps = seen.windows(2).filter(|pair| pair[1].0 > pair[0].0 + 1).count();
        (bench.counter(0, "a_lost"), gaps as u64)
    };
    let (lost, bursts) = runs_of(Loss::Independent(0.05));
    assert!((900..1100).contains(&lost));
    assert!(lost < bursts * 11 / 10);
    // One burst in 200, of 10 on average: the same share.
    let (lost, bursts) = runs_of(Loss::Gilbert { to_bad: 1.0 / 190.0, to_good: 0.1, good: 0.0, bad: 1.0 });
    assert!((700..1300).contains(&lost), "{lost}");
    assert!(lost > bursts * 7, "{lost} in {bursts}");
}

/// Gilbert and Elliott's chain against its theory. The state is bad for p/(p + r) of the time, and whether two units so
/// many apart are lost goes together by (1 - p - r) to that power, which widens the error of the sample.
#[test]
fn losses_in_bursts_are_those_of_the_stationary_chain() {
    const UNITS: u32 = 400_000;
    for (number, (p, r, h, k)) in
        [(0.01, 0.1, 0.0, 1.0), (0.002, 0.3, 0.5, 1.0), (0.05, 0.2, 0.3, 0.99), (0.6, 0.7, 0.1, 0.9)]
            .into_iter()
            .enumerate()
    {
        let loss = Loss::Gilbert { to_bad: p, to_good: r, good: 1.0 - k, bad: 1.0 - h };
        let impairment = Impairment::loss(loss);
        let mut draw = fate::Draw::new(Rng::new(number as u64, 0));
        let lost: Vec<bool> = (0..UNITS).map(|_| draw.loses_next(&impairment, Instant::ZERO)).collect();
        let share = lost.iter().filter(|lost| **lost).count() as f64 / f64::from(UNITS);
        let bad = p / (p + r);
        let expected = loss.stationary();
        assert!((expected - (bad * (1.0 - h) + (1.0 - bad) * (1.0 - k))).abs() < 1e-12);
        let together = 1.0 - p - r;
        let variance =
            expected * (1.0 - expected) + 2.0 * (k - h) * (k - h) * bad * (1.0 - bad) * together / (1.0 - together);
        let deviation = (variance / f64::from(UNITS)).sqrt();
        assert!((share - expected).abs() < 4.0 * deviation, "{p} {r} {h} {k}: {share}, not {expected} +- {deviation}");
        if h <= 0.0 && k >= 1.0 {
            // All is lost in the bad state, so bursts are as long as that is: 1/r.
            let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
            let mean = share * f64::from(UNITS) / bursts;
            assert!((mean - 1.0 / r).abs() < 4.0 * (1.0 - r).sqrt() / r / bursts.sqrt(), "{mean}");
        }
    }
    assert_eq!([Loss::None, Loss::Independent(0.25)].map(Loss::stationary), [0.0, 0.25]);
    let stuck = Loss::Gilbert { to_bad: 0.0, to_good: 0.0, good: 0.1, bad: 1.0 };
    assert!((stuck.stationary() - 0.1).abs() < 1e-12);
}

#[test]
fn a_wrong_bit_is_one_bit_and_forgets_sums() {
    let flips = Impairment { flips: [(0, 801), (1, 12)].into(), ..Impairment::default() };
    let mut bench = Bench::default();
    bench.add(Box::new(Impaired::both(&flips, 1)));
    for _ in 0..2 {
        let mut data = Message::from_octets(&[0; 100]);
        let _ = data.sum();
        let address = Address::NONE;
        bench.offer(Instant::ZERO, (0, 1), Unit::Frame { data, address });
    }
    bench.run();
    let seen: Vec<_> = bench
        .take()
        .into_iter()
        .map(|(_, _, unit)| {
            let Unit::Frame { mut data, .. } = unit else { panic!("no frame") };
            assert_eq!(data.sum(), Sum::of(&data.to_vec()));
            data.to_vec()
        })
        .collect();
    // There is no bit 801.
    assert_eq!(seen[0], [0; 100]);
    assert_eq!(seen[1][1], 0x08);
    assert_eq!(bench.counter(0, "b_corrupted"), 1);
}

/// Cells of channel 0/5 through wrong bits: (cell's place, channel, octet 0).
fn cells(impairment: Impairment, count: u32) -> (Vec<(u64, u16, u8)>, Bench) {
    let slots = Slots::new(Rate::OC3C);
    let mut bench = Bench::default();
    bench.add(Box::new(Impaired::both(&impairment, 1)));
    let run = CellRun {
        id: 0,
        vpi: 0,
        vci: 5,
        clp: false,
        efci: false,
        payload: Message::generated(Pattern::Zeros, 0, 48 * count as usize),
        count,
        ends_pdu: true,
        rm: false,
        line: slots,
        slot: 0,
    };
    bench.offer(slots.at(1), (0, 0), Unit::Cells(run));
    bench.run();
    let mut seen = Vec::new();
    for (at, _, unit) in bench.take() {
        let Unit::Cells(run) = unit else { panic!("no cells") };
        assert_eq!(at, slots.at(run.slot + 1));
        for k in 0..run.count {
            let cell = run.part(k, 1);
            seen.push((cell.slot, cell.vci, cell.payload.to_vec()[0]));
        }
    }
    (seen, bench)
}

#[test]
fn one_wrong_header_bit_is_corrected_but_not_in_the_next_cell() {
    let flips = |flips: &[(u64, u32)]| Impairment { flips: flips.iter().copied().collect(), ..Impairment::default() };
    let (seen, bench) = cells(flips(&[(1, 27), (2, 27), (4, 3), (5, 40)]), 7);
    // Cells 1 and 4 are corrected; cell 2 comes in detection mode; cell 5 is wrong in its payload.
    assert_eq!(seen, [(0, 5, 0), (1, 5, 0), (3, 5, 0), (4, 5, 0), (5, 5, 0x80), (6, 5, 0)]);
    assert_eq!(bench.counter(0, "a_hec_corrected"), 2);
    assert_eq!(bench.counter(0, "a_hec_dropped"), 1);
}

#[derive(Clone, Debug)]
struct Case {
    impairment: Impairment,
    seed: u64,
    interleave: bool,
    adaptation: Adaptation,
}

type Arrival = (Instant, Address, Vec<u8>);
type Counters = Vec<(&'static str, u64)>;

/// Two adapters that share an output of a switch, and the impaired path to a third.
fn run(case: &Case, max_run: u32) -> (Vec<Arrival>, Vec<Counters>) {
    let slots = Slots::new(Rate::OC3C);
    let mut bench = Bench::default();
    let config = SarConfig {
        max_run,
        interleave: case.interleave,
        adaptation: case.adaptation,
        checksum_unit: true,
        ..SarConfig::new(slots)
    };
    let output = OutputConfig { max_run, ..OutputConfig::new(slots, 20) };
    let mut switch = Switch::new(Duration::from_micros(1), &[output; 3]);
    for port in 0..2 {
        for vci in 100..103 {
            let from = PortVc { port, vpi: 0, vci };
            let to = PortVc { port: 2, vpi: 0, vci: vci + 10 * port as u16 };
            switch.connect(from, to);
        }
    }
    let switch = bench.add(Box::new(switch));
    for port in 0..3 {
        let sar = bench.add(Box::new(Sar::new(config)));
        let path = bench.add(Box::new(Impaired::both(&case.impairment, case.seed + port as u64)));
        bench.plug((sar, LINE), (path, 0));
        bench.plug((path, 1), (switch, port));
    }
    let mut rng = Rng::new(case.seed, 9);
    let mut at = Instant::ZERO;
    for number in 0..40 {
        at += Duration::from_nanos(rng.below(60_000));
        let sar = 1 + 2 * rng.below(2) as usize;
        let len = 1 + rng.below(48 * 30) as usize;
        let unit = Unit::Frame {
            data: Message::generated(Pattern::Random { seed: number }, 0, len),
            address: Vc { vpi: 0, vci: 100 + rng.below(3) as u16 }.address(),
        };
        bench.offer(at, (sar, HOST), unit);
    }
    bench.run();
    let mut seen = Vec::new();
    for (at, _, unit) in bench.take() {
        if let Unit::Frame { mut data, address } = unit {
            let sum = Sum::of(&data.to_vec());
            assert_eq!(data.sum(), sum);
            assert_eq!(data.meta().checksum, Checksum::Sum(sum));
            seen.push((at, address, data.to_vec()));
        }
    }
    let counters = (0..7).map(|element| bench.counters(element)).collect();
    (seen, counters)
}

fn case() -> impl Strategy<Value = Case> {
    let p = || prop_oneof![Just(0.0), 0.0..0.1_f64];
    let time = || prop_oneof![Just(0), 0..40_000_u64];
    let loss = prop_oneof![
        Just(Loss::None),
        p().prop_map(Loss::Independent),
        (p(), p()).prop_map(|(to_bad, bad)| Loss::Gilbert { to_bad, to_good: 0.2, good: 0.01, bad: 0.5 + bad }),
    ];
    (
        any::<u32>(),
        any::<bool>(),
        loss,
        (p(), p(), p()),
        (time(), time()),
        prop::collection::vec((0..1_000_000_u64, 0..300_000_u64), 0..3),
    )
        .prop_map(|(seed, interleave, loss, (duplicate, corrupt, corrupt_again), (delay, jitter), down)| Case {
            impairment: Impairment {
                loss,
                down: down
                    .into_iter()
                    .map(|(from, long)| (Instant::from_nanos(from), Instant::from_nanos(from + long)))
                    .collect(),
                duplicate,
                corrupt,
                corrupt_again: 10.0 * corrupt_again,
                delay: Duration::from_nanos(delay),
                jitter: Duration::from_nanos(jitter),
                ..Impairment::default()
            },
            seed: u64::from(seed),
            interleave,
            adaptation: Adaptation::Aal5,
        })
}

proptest! {
    #[test]
    fn runs_meet_the_fates_of_single_cells(case in case()) {
        let in_runs = run(&case, u32::MAX);
        prop_assert_eq!(&in_runs, &run(&case, 1));
        prop_assert_eq!(&in_runs, &run(&case, u32::MAX));
    }

    #[test]
    fn and_so_do_those_of_aal34(case in case(), mids in 1..4_u16) {
        let adaptation = Adaptation::Aal34(Aal34 { mids, cpcs: true });
        let case = Case { adaptation, ..case };
        let in_runs = run(&case, u32::MAX);
        prop_assert_eq!(&in_runs, &run(&case, 1));
        prop_assert_eq!(&in_runs, &run(&case, u32::MAX));
    }

    #[test]
    fn frames_are_lost_or_come_and_keep_their_order(loss in 0.0..0.5_f64, duplicate in 0.0..0.5_f64, seed in any::<u64>()) {
        let impairment = Impairment { duplicate, jitter: Duration::from_micros(9), ..Impairment::loss(Loss::Independent(loss)) };
        let (seen, bench) = pass(impairment, seed, 100);
        prop_assert!(seen.is_sorted());
        prop_assert_eq!(seen.len() as u64 + bench.counter(0, "a_lost"), 100 + bench.counter(0, "a_duplicated"));
    }
}

/// A frame with one octet at each of these times (in ms), with `before` until the change at `at` ms and `after` from
/// there on; (time in ms, octet) as they leave.
fn changed(before: Impairment, after: Impairment, at: u64, times: &[u64]) -> Vec<(u64, u8)> {
    let mut path = Impaired::new(before, Impairment::default(), 5);
    let (mut out, mut seen) = (Outlet::default(), Vec::new());
    let ms = |n| Instant::ZERO + Duration::from_millis(n);
    let mut after = Some(after);
    for now in 0..1000 {
        if now == at
            && let Some(after) = after.take()
        {
            path.set(0, after);
        }
        for (tag, _) in times.iter().enumerate().filter(|(_, at)| **at == now) {
            let data = Message::from_octets(&[tag as u8]);
            let address = Address::NONE;
            path.offer(ms(now), 0, Unit::Frame { data, address }, &mut out);
        }
        path.poll(ms(now), &mut out);
        for (_, unit) in out.drain() {
            let Unit::Frame { data, .. } = unit else { panic!("no frame") };
            seen.push((now, data.to_vec()[0]));
        }
    }
    assert_eq!(path.waiting(0), 0);
    seen
}

#[test]
fn what_is_under_way_keeps_its_fate_when_the_path_changes() {
    let ms = Duration::from_millis;
    let (slow, quick) = (Impairment::delay(ms(100)), Impairment::delay(ms(10)));
    let times = [0, 10, 20, 130];
    // In order: what comes after the change leaves no earlier than what came before it.
    let seen = changed(slow.clone(), quick.clone(), 15, &times);
    assert_eq!(seen, [(100, 0), (110, 1), (110, 2), (140, 3)]);
    let seen = changed(quick.clone(), slow.clone(), 15, &times);
    assert_eq!(seen, [(10, 0), (20, 1), (120, 2), (230, 3)]);
    let overtaking = Impairment { overtake: true, ..quick.clone() };
    let seen = changed(slow, overtaking, 15, &times);
    assert_eq!(seen, [(30, 2), (100, 0), (110, 1), (140, 3)]);
    let lossy = Impairment { loss: Loss::Independent(1.0), ..quick.clone() };
    assert_eq!(changed(quick, lossy, 15, &times), [(10, 0), (20, 1)]);
}

#[test]
fn a_deviation_below_the_delay_ends_at_the_time_of_arrival() {
    let wide = Impairment {
        delay: Duration::from_micros(10),
        jitter: Duration::from_millis(1),
        spread: Spread::Normal,
        overtake: true,
        ..Impairment::default()
    };
    let (seen, _) = pass(wide, 9, 300);
    assert_eq!(seen.len(), 300);
    assert!(seen.iter().all(|(number, at)| at >= number));
    let at_once = seen.iter().filter(|(number, at)| at == number).count();
    assert!((100..200).contains(&at_once), "{at_once}");
    assert!(!seen.is_sorted_by_key(|(number, _)| *number));
}
