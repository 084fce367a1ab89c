#![allow(clippy::cast_possible_truncation, reason = "small numbers in tests")]

use kumiki_graph::{Address, Rng};
use kumiki_octets::{Message, Pattern};
use kumiki_wire::atm::cell::Vc;
use proptest::prelude::*;

use super::*;
use crate::atm::sar::{HOST, LINE};
use crate::atm::{Aal34, Adaptation, Sar, SarConfig};
use crate::testing::Bench;
use crate::{CellRun, Rate, Wire};

const fn vc(port: usize, vci: u16) -> PortVc {
    PortVc { port, vpi: 0, vci }
}

fn frame(vci: u16, len: usize, seed: u64) -> Unit {
    Unit::Frame { data: Message::generated(Pattern::Random { seed }, 0, len), address: Vc { vpi: 0, vci }.address() }
}

fn slots() -> Slots {
    Slots::new(Rate::OC3C)
}

#[test]
fn two_adapters_talk_through_a_switch() {
    let mut bench = Bench::default();
    let config = SarConfig::new(slots());
    let a = bench.add(Box::new(Sar::new(config)));
    let b = bench.add(Box::new(Sar::new(config)));
    let mut switch = Switch::new(Duration::from_micros(10), &[OutputConfig::new(slots(), 100); 2]);
    assert!(switch.connect_both(vc(0, 100), vc(1, 200)));
    assert!(!switch.connect(vc(0, 100), vc(2, 200)));
    let switch = bench.add(Box::new(switch));
    bench.plug((a, LINE), (switch, 0));
    bench.plug((b, LINE), (switch, 1));
    for (at, sar, vci) in [(0, a, 100), (1, b, 200), (2, a, 101)] {
        bench.offer(Instant::from_nanos(at), (sar, HOST), frame(vci, 1000, 3));
    }
    bench.run();
    let mut seen = Vec::new();
    for (at, element, unit) in bench.take() {
        if let Unit::Frame { address, data } = unit {
            assert_eq!(data, Message::generated(Pattern::Random { seed: 3 }, 0, 1000));
            seen.push((at, element, address));
        }
    }
    // 21 cells: the first is whole at the switch after one slot, waits the latency, and takes the next slot.
    let lag = slots().first_at_or_after(slots().at(1) + Duration::from_micros(10));
    let address = |vci| Vc { vpi: 0, vci }.address();
    assert_eq!(
        seen,
        [(slots().at(lag + 21), b, address(200)), (slots().at(lag + 22), a, address(100)),]
            .map(|(at, element, address)| (Instant::from_nanos(at.as_nanos()), element, address))
    );
    assert_eq!(bench.counter(switch, "unknown"), 21);
    assert_eq!(bench.counter(switch, "cells_out"), 42);
}

#[derive(Clone, Copy, Debug)]
struct Case {
    seed: u64,
    sars: usize,
    queue: u64,
    epd: Option<u64>,
    ppd: bool,
    efci: Option<u64>,
    latency: u64,
    propagation: u64,
    phase: u64,
    interleave: bool,
    adaptation: Adaptation,
    out_rate: Rate,
    gap: u64,
}

type Counters = Vec<(&'static str, u64)>;
type Event = (Instant, usize, u8, Address, Vec<u8>);

/// Random traffic from several adapters over a switch to an adapter, and over a second switch, which has traffic of its
/// own, to another.
fn run(case: Case, max_run: u32) -> (Vec<Event>, Vec<Counters>) {
    let mut bench = Bench::default();
    let line = |port: usize| slots().with_phase(Duration::from_nanos(case.phase * port as u64));
    let out = |slots| OutputConfig {
        epd: case.epd,
        ppd: case.ppd,
        efci: case.efci,
        // Looked at one by one, cells leave as they do in runs.
        follow: max_run == 1,
        max_run,
        ..OutputConfig::new(slots, case.queue)
    };
    let latency = Duration::from_nanos(case.latency);
    let mut outputs: Vec<_> = (0..case.sars).map(|port| out(line(port))).collect();
    outputs.extend([out(Slots::new(case.out_rate)), out(slots())]);
    let mut first = Switch::new(latency, &outputs);
    let mut second = Switch::new(latency, &[out(slots()), out(slots()), out(Slots::new(case.out_rate))]);
    let (to_sink, to_second) = (case.sars, case.sars + 1);
    for port in 0..case.sars {
        let vci = |k| 200 + 10 * port as u16 + k;
        for (k, to) in [(0, to_sink), (1, to_second), (2, to_second), (3, to_sink), (3, to_second)] {
            first.connect(vc(port, 100 + k), vc(to, vci(k)));
        }
        for k in 1..4 {
            second.connect(vc(0, vci(k)), vc(2, vci(k)));
        }
    }
    second.connect(vc(1, 100), vc(2, 100));
    second.connect(vc(1, 101), vc(2, 101));
    let switches = [bench.add(Box::new(first)), bench.add(Box::new(second))];
    let [first, second] = switches;
    bench.plug((first, to_second), (second, 0));
    let mut places: Vec<_> = (0..=case.sars).map(|port| (first, port)).collect();
    places.extend([(second, 1), (second, 2)]);
    let mut sars = Vec::new();
    for (number, place) in places.into_iter().enumerate() {
        let sar = bench.add(Box::new(Sar::new(SarConfig {
            interleave: case.interleave,
            adaptation: case.adaptation,
            max_run,
            queue: 12,
            checksum_unit: true,
            announce: true,
            ..SarConfig::new(line(number))
        })));
        let propagation = Duration::from_nanos(case.propagation * number as u64);
        let wire = bench.add(Box::new(Wire::new(propagation)));
        bench.plug((sar, LINE), (wire, 0));
        bench.plug((wire, 1), place);
        sars.push(sar);
    }
    let mut rng = Rng::new(case.seed, 0);
    let mut at = Instant::ZERO;
    for number in 0..60 {
        at += Duration::from_nanos(rng.below(case.gap));
        if rng.below(4) == 0 {
            // At the very beginning of a slot.
            at = slots().at(slots().first_at_or_after(at));
        }
        // The adapter of the first switch's sink sends nothing; the one after it does.
        let place = rng.below(case.sars as u64 + 1) as usize;
        let place = if place == case.sars { place + 1 } else { place };
        let len = 1 + rng.below(48 * 30) as usize;
        let unit = frame(100 + rng.below(4) as u16, len, number);
        bench.offer(at, (sars[place], HOST), unit);
    }
    bench.run();
    let mut events: Vec<Event> = bench
        .take()
        .into_iter()
        .map(|(at, element, unit)| match unit {
            Unit::Frame { data, address } => (at, element, 0, address, data.to_vec()),
            Unit::Sent { number, address, whole } => (at, element, 1 + u8::from(whole), address, vec![number as u8]),
            Unit::Arriving { address, head } => (at, element, 3, address, head.to_vec()),
            Unit::Cells(_) | Unit::Cut { .. } | Unit::Report(_) | Unit::Circuit(_) => {
                panic!("cells left the bench")
            }
        })
        .collect();
    events.sort();
    // Not of wires, which count units: in runs there are fewer.
    let counters = sars.into_iter().chain(switches).map(|element| bench.counters(element));
    let counters: Vec<_> = counters.collect();
    (events, counters)
}

fn case() -> impl Strategy<Value = Case> {
    (
        (any::<u64>(), 1..5_usize, 1..60_u64, prop::option::of(0..30_u64), any::<bool>(), prop::option::of(0..30_u64)),
        (
            prop_oneof![Just(0), 0..20_000_u64],
            prop_oneof![Just(0), 0..20_000_u64],
            prop_oneof![Just(0), 0..3_000_u64],
            any::<bool>(),
            prop_oneof![
                3 => Just(Rate::OC3C),
                1 => Just(Rate::OC12C),
                1 => Just(Rate::DS3_PLCP),
                1 => Just(Rate::bits_per_second(149_760_001)),
            ],
            prop_oneof![1..1_000_u64, 1..200_000_u64],
        ),
    )
        .prop_map(
            |((seed, sars, queue, epd, ppd, efci), (latency, propagation, phase, interleave, out_rate, gap))| Case {
                seed,
                sars,
                queue,
                epd,
                ppd,
                efci,
                latency,
                propagation,
                phase,
                interleave,
                adaptation: Adaptation::Aal5,
                out_rate,
                gap,
            },
        )
}

proptest! {
    #[test]
    fn runs_are_as_good_as_single_cells(case in case()) {
        let (in_runs, counters_in_runs) = run(case, u32::MAX);
        let (single, counters_single) = run(case, 1);
        prop_assert_eq!(&counters_in_runs, &counters_single);
        prop_assert_eq!(in_runs, single);
        prop_assert_eq!(run(case, 7).1, counters_single);
    }

    /// Without EPD and PPD, which know AAL5's mark only.
    #[test]
    fn so_are_those_of_aal34(case in case(), mids in 1..4_u16) {
        let adaptation = Adaptation::Aal34(Aal34 { mids, cpcs: true });
        let case = Case { adaptation, epd: None, ppd: false, ..case };
        let (in_runs, counters_in_runs) = run(case, u32::MAX);
        let (single, counters_single) = run(case, 1);
        prop_assert_eq!(&counters_in_runs, &counters_single);
        prop_assert_eq!(in_runs, single);
        prop_assert_eq!(run(case, 7).1, counters_single);
    }

    #[test]
    fn every_cell_is_carried_or_counted(case in case()) {
        let (_, counters) = run(case, u32::MAX);
        let of = |element: &[(&str, u64)], name| {
            element.iter().filter(|(n, _)| *n == name).map(|(_, count)| count).sum::<u64>()
        };
        let [sars @ .., first, second] = counters.as_slice() else { panic!() };
        let over = |sars: &[Vec<_>], name| sars.iter().map(|sar| of(sar, name)).sum::<u64>();
        let dropped = |switch| of(switch, "overflow") + of(switch, "epd") + of(switch, "ppd") + of(switch, "unknown");
        let (senders, others) = sars.split_at(case.sars);
        prop_assert_eq!(over(senders, "cells_out"), of(first, "cells_in"));
        prop_assert_eq!(of(first, "cells_out") + over(&others[1..2], "cells_out"),
            of(second, "cells_in") + over(&others[..1], "cells_in"));
        prop_assert_eq!(of(second, "cells_in"), of(second, "cells_out") + dropped(second));
        prop_assert_eq!(of(second, "cells_out"), over(&others[2..], "cells_in"));
        // Sums on the fly are those of the SDUs, whatever was lost before.
        prop_assert_eq!(over(sars, "length"), 0);
    }
}

/// Numbered frames on three channels of two adapters to a third, all of which find room: (channel, number) as sent and
/// as arrived.
fn numbered(seed: u64, interleave: bool) -> [Vec<(Address, u32)>; 2] {
    let mut bench = Bench::default();
    let mut switch = Switch::new(Duration::ZERO, &[OutputConfig::new(slots(), 100_000); 3]);
    for (port, vci) in [(0, 100), (0, 101), (1, 102)] {
        switch.connect(vc(port, vci), vc(2, vci));
    }
    let switch = bench.add(Box::new(switch));
    for port in 0..3 {
        let config = SarConfig { interleave, ..SarConfig::new(slots()) };
        let sar = bench.add(Box::new(Sar::new(config)));
        bench.plug((sar, LINE), (switch, port));
    }
    let mut rng = Rng::new(seed, 0);
    let mut sent = Vec::new();
    for number in 0..100_u32 {
        let mut data = Message::generated(Pattern::Zeros, 0, rng.below(2000) as usize);
        data.push(4).copy_from_slice(&number.to_be_bytes());
        let vci = 100 + rng.below(3) as u16;
        let address = Vc { vpi: 0, vci }.address();
        sent.push((address, number));
        let at = Instant::from_nanos(u64::from(number) * 10_000);
        let sar = if vci == 102 { 2 } else { 1 };
        bench.offer(at, (sar, HOST), Unit::Frame { data, address });
    }
    bench.run();
    let mut came = Vec::new();
    for (_, _, unit) in bench.take() {
        if let Unit::Frame { mut data, address } = unit {
            let number = data.front(4).unwrap().try_into().unwrap();
            came.push((address, u32::from_be_bytes(number)));
        }
    }
    // By channel; within one, as sent and as arrived.
    sent.sort_by_key(|(address, _)| *address);
    came.sort_by_key(|(address, _)| *address);
    [sent, came]
}

proptest! {
    #[test]
    fn a_channel_keeps_its_order(seed in any::<u64>(), interleave in any::<bool>()) {
        let [sent, came] = numbered(seed, interleave);
        prop_assert_eq!(sent, came);
    }
}

/// What leaves a switch of one output at `slots` and queue `queue` for cells put in by hand: (port, vci, cells, end).
fn through(config: OutputConfig, runs: &[(u64, usize, u16, u32, bool)]) -> Bench {
    let mut bench = Bench::default();
    let mut switch = Switch::new(Duration::ZERO, &[config; 3]);
    for port in 0..2 {
        for vci in 1..5 {
            switch.connect(vc(port, vci), vc(2, vci));
        }
    }
    bench.add(Box::new(switch));
    for (number, &(slot, port, vci, count, ends_pdu)) in runs.iter().enumerate() {
        let run = CellRun {
            id: number as u64,
            vpi: 0,
            vci,
            clp: false,
            efci: false,
            payload: Message::generated(Pattern::Zeros, 0, 48 * count as usize),
            count,
            ends_pdu,
            rm: false,
            line: slots(),
            slot,
        };
        bench.offer(slots().at(slot + 1), (0, port), Unit::Cells(run));
    }
    bench.run();
    bench
}

fn runs(bench: &mut Bench) -> Vec<(u64, u16, u32, bool, bool)> {
    let see = |(_, _, unit)| match unit {
        Unit::Cells(run) => (run.slot, run.vci, run.count, run.ends_pdu, run.efci),
        Unit::Cut { keep, .. } => (0, 0, keep, false, false),
        Unit::Frame { .. } | Unit::Sent { .. } | Unit::Arriving { .. } | Unit::Report(_) | Unit::Circuit(_) => {
            panic!("no cells")
        }
    };
    bench.take().into_iter().map(see).collect()
}

#[test]
fn a_run_alone_stays_a_run() {
    let mut bench = through(OutputConfig::new(slots(), 10), &[(0, 0, 1, 172, true)]);
    assert_eq!(runs(&mut bench), [(1, 1, 172, true, false)]);
    // One offer and one event.
    assert_eq!(bench.events, 2);
}

#[test]
fn a_second_run_cuts_the_first_and_cells_alternate_lower_port_first() {
    let mut bench = through(OutputConfig::new(slots(), 10), &[(0, 1, 1, 4, true), (2, 0, 2, 2, true)]);
    assert_eq!(
        runs(&mut bench),
        [
            (1, 1, 4, true, false),
            (0, 0, 2, false, false),
            (3, 2, 1, false, false),
            (4, 1, 1, false, false),
            (5, 2, 1, true, false),
            (6, 1, 1, true, false),
        ]
    );
}

#[test]
fn partial_discard_keeps_the_last_cell() {
    let config = OutputConfig { ppd: true, ..OutputConfig::new(slots(), 2) };
    let contention = [(0, 0, 1, 5, true), (0, 1, 2, 10, true)];
    let mut bench = through(config, &contention);
    let seen = runs(&mut bench);
    let cells = |vci| -> u32 { seen.iter().filter(|run| run.1 == vci).map(|run| run.2).sum() };
    // The second channel loses its second cell, since two wait; then it is out of the way until its last.
    assert_eq!((cells(1), cells(2)), (5, 2));
    assert_eq!(bench.counter(0, "overflow"), 1);
    assert_eq!(bench.counter(0, "ppd"), 7);
}

#[test]
fn early_discard_refuses_whole_pdus() {
    let config = OutputConfig { epd: Some(2), ..OutputConfig::new(slots(), 100) };
    let bench = through(config, &[(0, 0, 1, 10, true), (0, 1, 2, 10, true), (10, 0, 3, 5, true)]);
    assert_eq!(bench.counter(0, "cells_out"), 20);
    assert_eq!(bench.counter(0, "epd"), 5);
}

#[test]
fn a_long_queue_marks_cells() {
    let config = OutputConfig { efci: Some(3), ..OutputConfig::new(slots(), 100) };
    let mut bench = through(config, &[(0, 0, 1, 5, true), (0, 1, 2, 5, true)]);
    let marked: u32 = runs(&mut bench).iter().filter(|run| run.4).map(|run| run.2).sum();
    assert_eq!(u64::from(marked), bench.counter(0, "efci"));
    // Joining at the same times, the two find 0, 1; 1, 2; 2, 3; 3, 4; and 4, 5 cells waiting.
    assert_eq!(marked, 5);
}

/// Floyd and Jacobson, "On traffic phase effects in packet-switched gateways" (1991): inputs that send at one rate for
/// ever find the queue as they found it in the slot before.
#[test]
fn inputs_that_keep_their_phases_share_a_full_output() {
    for (inputs, phase) in [(2, 0), (3, 0), (5, 0), (2, 700), (3, 530), (5, 530), (5, 2_000)] {
        let mut bench = Bench::default();
        let config = OutputConfig::new(slots(), 50);
        let mut switch = Switch::new(Duration::from_micros(10), &vec![config; inputs + 1]);
        for port in 0..inputs {
            assert!(switch.connect(vc(port, 100), vc(inputs, 200 + port as u16)));
        }
        let switch = bench.add(Box::new(switch));
        for port in 0..inputs {
            let line = slots().with_phase(Duration::from_nanos(phase * port as u64));
            let sar = bench.add(Box::new(Sar::new(SarConfig { queue: 1000, ..SarConfig::new(line) })));
            bench.plug((sar, LINE), (switch, port));
            for _ in 0..100 {
                bench.offer(Instant::ZERO, (sar, HOST), frame(100, 4000, 1));
            }
        }
        bench.run();
        let mut shares = vec![0; inputs];
        for (_, element, unit) in bench.take() {
            if let Unit::Cells(run) = unit
                && element == switch
            {
                shares[usize::from(run.vci - 200)] += run.count;
            }
        }
        let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
        // 84 cells a frame; the queue at the end is shared by whoever ends last.
        assert!(*least > 0 && most - least <= 60, "{inputs} inputs, {phase} ns: {shares:?}");
        assert!(shares.iter().sum::<u32>() >= 84 * 100, "{shares:?}");
    }
}

#[test]
fn an_rm_cell_stays_alone_unmarked_and_passes_whatever_becomes_of_pdus() {
    let run = |rm, slot, end| {
        let octets = if rm { Rm::default().octets() } else { [7; 48] };
        let payload = Message::from_octets(&octets);
        let (id, line) = (slot, slots());
        Unit::Cells(CellRun {
            id,
            vpi: 0,
            vci: 100,
            clp: false,
            efci: false,
            payload,
            count: 1,
            ends_pdu: end,
            rm,
            line,
            slot,
        })
    };
    // Where no PDU may begin, where each cell of data is marked, and where nothing happens to them.
    let marked = |efci| vec![(1, false, efci), (1, true, false), (1, false, efci)];
    for (epd, efci, expected) in
        [(Some(0), None, vec![(1, true, false)]), (None, Some(0), marked(true)), (None, None, marked(false))]
    {
        let mut bench = Bench::default();
        // All come while the first leaves, so that they could be put together.
        let out = OutputConfig { epd, efci, ..OutputConfig::new(Slots::new(Rate::ratio(1_000_000, 1)), 100) };
        let mut switch = Switch::new(Duration::ZERO, &[OutputConfig::new(slots(), 100), out]);
        assert!(switch.connect(vc(0, 100), vc(1, 100)));
        let switch = bench.add(Box::new(switch));
        for (slot, rm) in [(0, false), (1, true), (2, false)] {
            bench.offer(slots().at(slot + 1), (switch, 0), run(rm, slot, slot == 2));
        }
        bench.run();
        let left: Vec<(u32, bool, bool)> = bench
            .take()
            .into_iter()
            .filter_map(
                |(_, _, unit)| if let Unit::Cells(run) = unit { Some((run.count, run.rm, run.efci)) } else { None },
            )
            .collect();
        assert_eq!(left, expected);
    }
}
