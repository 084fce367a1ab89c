#![allow(clippy::cast_possible_truncation, reason = "small numbers in tests")]

use super::*;
use crate::testing::Bench;
use crate::{CellRun, Rate, Wire};
use kumiki_octets::{Checksum, Message, Pattern, Sum};
use kumiki_wire::atm::cell::Vc;

const VC: Address = Vc { vpi: 0, vci: 100 }.address();

fn frame(data: Message) -> Unit {
    Unit::Frame { data, address: VC }
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// Two adapters, ports 0 of elements 0 and 2, and a wire between.
fn back_to_back(config: SarConfig) -> Bench {
    let mut bench = Bench::default();
    let a = bench.add(Box::new(Sar::new(config)));
    let wire = bench.add(Box::new(Wire::new(Duration::from_micros(5))));
    let b = bench.add(Box::new(Sar::new(config)));
    bench.plug((a, LINE), (wire, 0));
    bench.plug((wire, 1), (b, LINE));
    bench
}

fn slots() -> Slots {
    Slots::new(Rate::OC3C)
}

#[test]
fn trailers_are_as_published() {
    let count: Vec<u8> = (1..=0x28).collect();
    for (sdu, trailer) in [
        (vec![0; 40], "00000028864d7f99"),
        (vec![0xff; 40], "00000028c55e457a"),
        (count, "00000028bf671ed0"),
        (b"hello".to_vec(), "000000057f4cd5de"),
    ] {
        let pdu = aal5::pdu(Message::from_octets(&sdu), true);
        assert_eq!(pdu.len(), 48);
        assert_eq!(pdu.to_vec()[40..], hex(trailer));
        assert_eq!(aal5::sdu(pdu, true).unwrap().to_vec(), sdu);
    }
}

#[test]
fn a_checksum_left_to_the_device_is_completed() {
    let mut sdu = Message::from_octets(b"IPIP\x12\x34\x00\x2awords");
    sdu.meta_mut().checksum = Checksum::Partial { start: 4, field: 2 };
    let pdu = aal5::pdu(sdu, true).to_vec();
    assert_eq!(&pdu[..4], b"IPIP");
    let folded = Sum::of(&pdu[8..13]).add_u16(0x1234).add_u16(0x2a);
    assert_eq!(pdu[6..8], folded.checksum().to_be_bytes());
}

#[test]
fn a_pdu_arrives_with_its_last_cell() {
    let mut bench = back_to_back(SarConfig { announce: true, ..SarConfig::new(slots()) });
    let data = Message::generated(Pattern::Counter, 0, 100);
    bench.offer(Instant::from_nanos(1), (0, HOST), frame(data.clone()));
    bench.run();
    let seen: Vec<_> = bench
        .take()
        .into_iter()
        .map(|(at, element, unit)| match unit {
            Unit::Sent { number: 0, whole: true, .. } => (at, element, "sent"),
            Unit::Arriving { address, head } => {
                assert_eq!((address, head.len()), (VC, 48));
                (at, element, "arriving")
            }
            Unit::Frame { data: got, .. } => {
                assert_eq!(got, data);
                (at, element, "whole")
            }
            Unit::Sent { .. } | Unit::Cells(_) | Unit::Cut { .. } | Unit::Report(_) | Unit::Circuit(_) => {
                (at, element, "?")
            }
        })
        .collect();
    // 108 octets are three cells, in slots 1 to 3.
    let after = |slot| slots().at(slot);
    let five = Duration::from_micros(5);
    assert_eq!(
        seen,
        [(after(2) + five, 2, "arriving"), (after(4), 0, "sent"), (after(4) + five, 2, "whole"),]
            .map(|(at, element, what)| (at, element, what))
    );
}

#[test]
fn goodput_of_paper_2_is_134_580() {
    // 8192 octets in PDUs of 172 cells, back to back: 149.76 x 8192 / (172 x 53).
    let mut bench = back_to_back(SarConfig::new(slots()));
    let n = 1000;
    for _ in 0..n {
        let sdu = Message::generated(Pattern::Zeros, 0, 8192 + 48);
        bench.offer(Instant::ZERO, (0, HOST), frame(sdu));
    }
    bench.run();
    let whole: Vec<_> = bench.take().into_iter().filter_map(|(at, element, _)| (element == 2).then_some(at)).collect();
    assert_eq!(whole.len(), n);
    let last = *whole.last().unwrap();
    assert_eq!(last, slots().at(172_000) + Duration::from_micros(5));
    let first = *whole.first().unwrap();
    let mbps = (n - 1) as f64 * 8192.0 * 8.0 / last.saturating_since(first).as_secs_f64() / 1e6;
    assert!((mbps - 149.76 * 8192.0 / (172.0 * 53.0)).abs() < 1e-6, "{mbps}");
}

#[test]
fn channels_take_turns_cell_by_cell() {
    let mut bench = back_to_back(SarConfig { interleave: true, checksum_unit: true, ..SarConfig::new(slots()) });
    let other = Vc { vpi: 1, vci: 33 }.address();
    let long = Message::generated(Pattern::Random { seed: 1 }, 0, 48 * 10 - 8);
    let short = Message::generated(Pattern::Random { seed: 2 }, 0, 48 * 2 - 8);
    bench.offer(Instant::ZERO, (0, HOST), frame(long.clone()));
    // Slots 0 to 3 have begun: 4 and 6 go to the long one, 5 and 7 to the short one.
    let unit = Unit::Frame { data: short.clone(), address: other };
    bench.offer(slots().at(3) + Duration::from_nanos(1), (0, HOST), unit);
    bench.run();
    let whole: Vec<_> = bench
        .take()
        .into_iter()
        .filter_map(|(at, _, unit)| {
            let Unit::Frame { data, address } = unit else {
                return None;
            };
            Some((at, address, data))
        })
        .collect();
    let five = Duration::from_micros(5);
    let [(at_short, vc_short, got_short), (at_long, vc_long, got_long)] = &whole[..] else { panic!("{whole:?}") };
    assert_eq!((*at_short, *vc_short), (slots().at(8) + five, other));
    assert_eq!((*at_long, *vc_long), (slots().at(12) + five, VC));
    for (got, sent) in [(got_short, &short), (got_long, &long)] {
        assert_eq!(got, sent);
        let Checksum::Sum(sum) = got.meta().checksum else { panic!("no sum") };
        assert_eq!(sum, sent.clone().sum());
    }
}

#[test]
fn a_full_queue_refuses_and_says_so() {
    let mut bench = back_to_back(SarConfig { queue: 1, ..SarConfig::new(slots()) });
    for _ in 0..2 {
        bench.offer(Instant::ZERO, (0, HOST), frame(Message::from_octets(b"x")));
    }
    bench.run();
    let refused =
        bench.take().into_iter().any(|(_, _, unit)| matches!(unit, Unit::Sent { number: 1, whole, .. } if !whole));
    assert!(refused);
    assert_eq!(bench.counter(0, "refused"), 1);
    assert_eq!(bench.counter(2, "pdus_in"), 1);
}

/// What a receiver makes of runs put in by hand, one after the other.
fn receive(config: SarConfig, runs: Vec<(u16, Vec<u8>, bool)>) -> Bench {
    let mut bench = Bench::default();
    let sar = bench.add(Box::new(Sar::new(config)));
    let mut slot = 0;
    for (number, (vci, octets, ends_pdu)) in runs.into_iter().enumerate() {
        let count = (octets.len() / 48) as u32;
        let run = CellRun {
            id: number as u64,
            vpi: 0,
            vci,
            clp: false,
            efci: false,
            payload: Message::from_octets(&octets),
            count,
            ends_pdu,
            rm: false,
            line: slots(),
            slot,
        };
        bench.offer(slots().at(slot + 1), (sar, LINE), Unit::Cells(run));
        slot += u64::from(count);
    }
    bench.run();
    bench
}

fn pdu(len: usize) -> Vec<u8> {
    aal5::pdu(Message::generated(Pattern::Counter, 7, len), true).to_vec()
}

#[test]
fn faults_are_told_apart() {
    let config = SarConfig::new(slots());
    let one_octet_wrong = {
        let mut octets = pdu(100);
        octets[50] ^= 1;
        octets
    };
    let bench = receive(config, vec![(1, one_octet_wrong, true)]);
    assert_eq!((bench.counter(0, "crc"), bench.counter(0, "pdus_in")), (1, 0));
    assert_eq!((bench.counter(0, "cells_in"), bench.counter(0, "cells_in_vain")), (3, 3));
    // Without its last cell, a PDU and the next become one.
    let bench = receive(config, vec![(1, pdu(100)[..96].to_vec(), false), (1, pdu(100), true)]);
    assert_eq!(bench.counter(0, "crc"), 1);
    let abort = aal5::pdu(Message::new(), true).to_vec();
    assert_eq!(receive(config, vec![(1, abort, true)]).counter(0, "abort"), 1);
    let glued = SarConfig { crc: false, ..config };
    let bench = receive(glued, vec![(1, pdu(100)[..96].to_vec(), false), (1, pdu(100), true)]);
    assert_eq!((bench.counter(0, "length"), bench.counter(0, "cells_in_vain")), (1, 5));
    assert_eq!(receive(config, vec![(1, pdu(100), true)]).counter(0, "cells_in_vain"), 0);
}

#[test]
fn a_pdu_that_grows_too_long_is_given_up_to_its_end() {
    let config = SarConfig { max_sdu: 100, ..SarConfig::new(slots()) };
    let bench = receive(
        config,
        vec![(1, vec![0; 480], false), (1, vec![0; 480], true), (1, pdu(100), true), (1, pdu(101), true)],
    );
    assert_eq!(bench.counter(0, "oversize"), 2);
    assert_eq!(bench.counter(0, "pdus_in"), 1);
    assert_eq!(bench.counter(0, "cells_in_vain"), 23);
}

#[test]
fn no_more_reassemblies_than_there_is_room_for() {
    let config = SarConfig { max_reassemblies: 1, ..SarConfig::new(slots()) };
    let bench = receive(
        config,
        vec![(1, pdu(100)[..96].to_vec(), false), (2, pdu(10), true), (1, pdu(100)[96..].to_vec(), true)],
    );
    assert_eq!(bench.counter(0, "no_context"), 1);
    assert_eq!(bench.counter(0, "pdus_in"), 1);
    assert_eq!(bench.counter(0, "cells_in_vain"), 1);
}

#[test]
fn a_pdu_that_stands_still_is_given_up() {
    let config = SarConfig { timeout: Some(slots().cell_time() * 5), ..SarConfig::new(slots()) };
    let half = pdu(100)[..96].to_vec();
    // The other channel's 6 cells let the first one's time pass.
    let runs = vec![(1, half, false), (2, pdu(6 * 48 - 8), true), (1, pdu(50), true)];
    let bench = receive(config, runs);
    assert_eq!(bench.counter(0, "timeout"), 1);
    assert_eq!(bench.counter(0, "pdus_in"), 2);
    assert_eq!(bench.counter(0, "cells_in_vain"), 2);
}

#[test]
fn the_monitor_shows_pdus_good_and_bad() {
    let config = SarConfig { monitor: true, ..SarConfig::new(slots()) };
    let mut bad = pdu(100);
    bad[0] ^= 1;
    let mut bench = receive(config, vec![(1, bad.clone(), true), (1, pdu(100), true)]);
    let seen: Vec<_> = bench
        .take()
        .into_iter()
        .filter_map(|(_, _, unit)| {
            let Unit::Frame { data, .. } = unit else {
                return None;
            };
            Some(data.to_vec())
        })
        .collect();
    let sdu = Message::generated(Pattern::Counter, 7, 100).to_vec();
    assert_eq!(seen, [bad, pdu(100), sdu]);
}
