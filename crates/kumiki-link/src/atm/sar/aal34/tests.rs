#![allow(clippy::cast_possible_truncation, reason = "small numbers in tests")]

use kumiki_wire::atm::cell::Vc;
use std::collections::BTreeMap;

use kumiki_graph::{Address, Duration, Instant};
use kumiki_octets::{Checksum, Pattern, Sum};
use proptest::prelude::*;

use super::*;
use crate::atm::sar::{HOST, LINE};
use crate::atm::{Adaptation, Sar, SarConfig, Slots};
use crate::testing::Bench;
use crate::{CellRun, Rate, Unit, Wire};

type Cell = [u8; PAYLOAD_LEN];

const VC: Address = Vc { vpi: 0, vci: 100 }.address();

fn slots() -> Slots {
    Slots::new(Rate::OC3C)
}

fn config() -> SarConfig {
    SarConfig { adaptation: Adaptation::Aal34(Aal34::WHOLE), ..SarConfig::new(slots()) }
}

fn frame(data: Message) -> Unit {
    Unit::Frame { data, address: VC }
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

fn frames(bench: &mut Bench) -> Vec<(Instant, Message)> {
    let whole = |(at, _, unit)| match unit {
        Unit::Frame { data, .. } => Some((at, data)),
        Unit::Cells(_)
        | Unit::Cut { .. }
        | Unit::Sent { .. }
        | Unit::Arriving { .. }
        | Unit::Report(_)
        | Unit::Circuit(_) => None,
    };
    bench.take().into_iter().filter_map(whole).collect()
}

fn sdu(number: u64, len: usize) -> Message {
    Message::generated(Pattern::Random { seed: number }, 0, len)
}

/// The cells of an SDU.
fn cells(sdu: Message, tag: u8, mid: u16) -> Vec<Cell> {
    let octets = segments(&cpcs::pdu(sdu, tag).unwrap(), mid, true).to_vec();
    octets.as_chunks().0.to_vec()
}

/// A cell put together by hand: a first octet, so ST and SN, MID, what it carries, LI.
fn cell(segment_type: SegmentType, sn: u8, octets: &[u8], li: u8) -> Cell {
    let header = sar::Header { segment_type, sn, mid: 0 };
    let mut cell = sar::pdu(header, octets, false);
    let trailer = |crc| sar::Trailer { li, crc };
    trailer(0).emit(&mut cell[46..]);
    trailer(sar::crc(&cell)).emit(&mut cell[46..]);
    cell
}

/// What a receiver makes of cells of one channel, in runs of `run` cells one after the other.
fn receive(config: SarConfig, cells: &[Cell], run: usize) -> Bench {
    let mut bench = Bench::default();
    let sar = bench.add(Box::new(Sar::new(config)));
    for (number, part) in cells.chunks(run).enumerate() {
        let slot = (number * run) as u64;
        let run = CellRun {
            id: number as u64,
            vpi: 0,
            vci: 100,
            clp: false,
            efci: false,
            payload: Message::from_octets(part.as_flattened()),
            count: part.len() as u32,
            ends_pdu: false,
            rm: false,
            line: slots(),
            slot,
        };
        bench.offer(slots().at(slot + 1), (sar, LINE), Unit::Cells(run));
    }
    bench.run();
    bench
}

/// The counters that are not zero, and how many SDUs came out; the same however the cells come in runs.
#[track_caller]
fn outcome(config: SarConfig, cells: &[Cell]) -> BTreeMap<&'static str, u64> {
    let [single, some, all] = [1, 5, cells.len()].map(|run| {
        let mut bench = receive(config, cells, run);
        let counters: BTreeMap<_, _> = bench.counters(0).into_iter().collect();
        (frames(&mut bench), counters)
    });
    assert_eq!(single, some);
    assert_eq!(single, all);
    let (frames, mut counters) = single;
    assert_eq!(frames.len() as u64, counters["pdus_in"]);
    assert_eq!(counters.remove("cells_in"), Some(cells.len() as u64));
    counters.retain(|_, count| *count > 0);
    counters
}

#[track_caller]
fn expect(cells: &[Cell], expected: &[(&'static str, u64)]) {
    let expected = expected.iter().copied().collect();
    assert_eq!(outcome(config(), cells), expected);
}

#[test]
fn a_single_segment_is_the_published_one() {
    let mut expected = vec![0xc0, 0x00, 0x00, 0x05, 0x00, 0x05];
    expected.extend(b"hello\0\0\0");
    expected.extend([0x00, 0x05, 0x00, 0x05]);
    expected.resize(46, 0);
    expected.extend([0x41, 0x20]);
    assert_eq!(cells(Message::from_octets(b"hello"), 5, 0), [*expected.as_array::<48>().unwrap()]);
}

#[test]
fn a_pdu_arrives_with_its_last_cell() {
    let mut bench = back_to_back(SarConfig { announce: true, ..config() });
    let data = sdu(1, 100);
    bench.offer(Instant::from_nanos(1), (0, HOST), frame(data.clone()));
    bench.run();
    let five = Duration::from_micros(5);
    let mut seen = Vec::new();
    for (at, element, unit) in bench.take() {
        match unit {
            Unit::Sent { whole, .. } => {
                assert!(whole && element == 0);
                // 4 + 100 + 4 octets are three cells, in slots 1 to 3.
                seen.push((at, "sent"));
            }
            Unit::Arriving { head, .. } => {
                assert_eq!(head.to_vec(), data.to_vec()[..40]);
                seen.push((at, "arriving"));
            }
            Unit::Frame { data: got, address } => {
                assert_eq!((address, &got), (VC, &data));
                seen.push((at, "whole"));
            }
            Unit::Cells(_) | Unit::Cut { .. } | Unit::Report(_) | Unit::Circuit(_) => {
                panic!("cells at a host")
            }
        }
    }
    let after = |slot| slots().at(slot);
    assert_eq!(seen, [(after(2) + five, "arriving"), (after(4), "sent"), (after(4) + five, "whole"),]);
}

#[test]
fn classical_ip_takes_209_cells_in_one_run() {
    let mut bench = back_to_back(config());
    for number in 0..100 {
        bench.offer(Instant::ZERO, (0, HOST), frame(sdu(number, 9188)));
    }
    bench.run();
    let seen = frames(&mut bench);
    let expected = (1..=100).map(|k| slots().at(209 * k) + Duration::from_micros(5));
    assert!(seen.iter().map(|(at, _)| *at).eq(expected));
    let sent = (0..100).map(|number| sdu(number, 9188));
    assert!(seen.into_iter().map(|(_, data)| data).eq(sent));
    // Offered, put on the line, come in at the other end, taken there: a handful for each, and not 209.
    assert!(bench.events < 8 * 100, "{}", bench.events);
}

#[test]
fn pdus_of_one_channel_are_sent_at_a_time_under_mids_of_their_own() {
    let several = SarConfig {
        adaptation: Adaptation::Aal34(Aal34 { mids: 3, cpcs: true }),
        interleave: true,
        checksum_unit: true,
        ..config()
    };
    let mut bench = back_to_back(several);
    let sent = [sdu(1, 2000), sdu(2, 500), sdu(3, 40), sdu(4, 1000)];
    for data in &sent {
        bench.offer(Instant::ZERO, (0, HOST), frame(data.clone()));
    }
    bench.run();
    let seen: Vec<Message> = frames(&mut bench).into_iter().map(|(_, data)| data).collect();
    // The fourth goes after the first, whose MID it has.
    assert_eq!(seen, [2, 1, 0, 3].map(|k: usize| sent[k].clone()));
    for data in seen {
        let sum = Sum::of(&data.to_vec());
        assert_eq!(data.meta().checksum, Checksum::Sum(sum));
    }
}

#[test]
fn the_host_may_do_the_convergence_sublayer_itself() {
    let half = Aal34 { cpcs: false, ..Aal34::WHOLE };
    let bare = SarConfig { adaptation: Adaptation::Aal34(half), checksum_unit: true, ..config() };
    let mut bench = back_to_back(bare);
    let pdu = cpcs::pdu(sdu(1, 333), 7).unwrap();
    let odd = Message::from_octets(&[0; 9]);
    for data in [pdu.clone(), odd, Message::new()] {
        bench.offer(Instant::ZERO, (0, HOST), frame(data));
    }
    bench.run();
    let mut seen = frames(&mut bench);
    assert_eq!(seen.len(), 1);
    let (_, found) = seen.remove(0);
    assert_eq!(found, pdu);
    assert_eq!(bench.counter(0, "refused"), 2);
    let Ok(found) = cpcs::sdu(found) else { panic!("no SDU") };
    assert_eq!(found, sdu(1, 333));
    let sum = Sum::of(&sdu(1, 333).to_vec());
    assert_eq!(found.meta().checksum, Checksum::Sum(sum));
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let mut bench = back_to_back(config());
    for len in [0, 65536, 65535] {
        bench.offer(Instant::ZERO, (0, HOST), frame(sdu(1, len)));
    }
    bench.run();
    assert_eq!(bench.counter(0, "refused"), 2);
    assert_eq!(bench.counter(2, "pdus_in"), 1);
}

#[test]
fn a_checksum_left_to_the_device_is_completed() {
    let mut data = Message::from_octets(b"IPIP\x12\x34\x00\x2awords");
    data.meta_mut().checksum = Checksum::Partial { start: 4, field: 2 };
    let pdu = cpcs::pdu(data, 0).unwrap().to_vec();
    let folded = Sum::of(&pdu[12..17]).add_u16(0x1234).add_u16(0x2a);
    assert_eq!(pdu[10..12], folded.checksum().to_be_bytes());
}

#[test]
fn lost_cells_cost_their_pdu_and_no_other() {
    // Ten cells each.
    let pdus = [1, 2].map(|tag| cells(sdu(tag.into(), 430), tag, 0));
    let without = |lost: std::ops::Range<usize>| {
        let mut all = pdus.concat();
        all.drain(lost);
        all
    };
    expect(&without(0..0), &[("pdus_in", 2)]);
    // BOM: the rest belongs to nothing.
    expect(&without(0..1), &[("pdus_in", 1), ("stray", 9)]);
    // A COM: the next has the wrong number, and the rest belongs to nothing.
    expect(&without(3..4), &[("pdus_in", 1), ("sequence", 1), ("stray", 5)]);
    // EOM: the next BOM shows it.
    expect(&without(9..10), &[("pdus_in", 1), ("unfinished", 1)]);
    // EOM, and the BOM after it.
    expect(&without(9..11), &[("sequence", 1), ("stray", 8)]);
    // All the last: nothing shows it, and nothing comes.
    expect(&without(19..20), &[("pdus_in", 1)]);
}

#[test]
fn what_sequence_numbers_do_not_show_the_frame_around_does() {
    // BOM 0, EOM 1: without what is between, two PDUs seem to be one.
    let [a, b] = [1, 2].map(|tag| cells(sdu(tag.into(), 60), tag, 0));
    expect(&[a[0], b[1]], &[("tag", 1)]);
    // 16 cells are a whole turn of the numbers.
    let mut long = cells(sdu(1, 44 * 30), 1, 0);
    long.drain(5..21);
    expect(&long, &[("length", 1)]);
    // More than was promised, at once when it is.
    let short = cells(sdu(1, 60), 1, 0)[0];
    let mut glued = cells(sdu(1, 44 * 30), 1, 0);
    glued[0] = short;
    expect(&glued, &[("ba_size", 1), ("stray", 29)]);
}

#[test]
fn faults_are_told_apart() {
    use SegmentType::{Bom, Com, Eom, Ssm};
    let good = cells(sdu(1, 200), 1, 0);
    let wrong_bit = {
        let mut cells = good.clone();
        cells[2][20] ^= 4;
        cells
    };
    expect(&wrong_bit, &[("sar_crc", 1), ("sequence", 1), ("stray", 1)]);
    let half_full = [good[0], cell(Com, 1, &[0; 40], 40), good[2]];
    expect(&half_full, &[("sar_length", 1), ("stray", 1)]);
    expect(&[cell(Eom, 5, &[0; 44], 44)], &[("stray", 1)]);
    let abort = cell(Eom, 2, &[], 63);
    expect(&[good[0], good[1], abort], &[("abort", 1)]);
    expect(&[abort], &[("stray", 1)]);
    let ssm = |octets: &[u8]| cell(Ssm, 0, octets, octets.len() as u8);
    let word = [1, 2, 3, 4];
    let pdu = |cpi, size, al, length| {
        let octets = [&[cpi, 9, 0, size][..], &word, &[al, 9, 0, length]];
        ssm(&octets.concat())
    };
    expect(&[pdu(0, 4, 0, 4)], &[("pdus_in", 1)]);
    expect(&[pdu(0, 200, 0, 4)], &[("pdus_in", 1)]);
    expect(&[pdu(1, 4, 0, 4)], &[("cpi", 1)]);
    expect(&[pdu(0, 4, 1, 4)], &[("alignment", 1)]);
    expect(&[pdu(0, 3, 0, 4)], &[("ba_size", 1)]);
    expect(&[pdu(0, 9, 0, 9)], &[("length", 1)]);
    expect(&[ssm(&[0; 8])], &[("length", 1)]);
    // What follows a BOM must not be longer than it said, and the empty PDU is none.
    expect(&[cell(Bom, 0, &[0; 44], 44), cell(Eom, 1, &[0; 4], 4)], &[("ba_size", 1)]);
}

#[test]
fn a_pdu_that_promises_to_grow_too_long_is_given_up_at_once() {
    let small = SarConfig { max_sdu: 100, ..config() };
    let all = [101, 100].map(|len| cells(sdu(1, len), 1, 0)).concat();
    let expected = [("oversize", 1), ("stray", 2), ("pdus_in", 1)];
    assert_eq!(outcome(small, &all), expected.into());
}

#[test]
fn no_more_reassemblies_than_there_is_room_for() {
    let small = SarConfig { max_reassemblies: 2, ..config() };
    let [a, b, c] = [1, 2, 3].map(|mid| cells(sdu(mid, 60), 1, mid as u16));
    let single = cells(sdu(4, 4), 1, 9)[0];
    let all = [a[0], b[0], c[0], single, a[1], c[1], b[1]];
    let expected = [("no_context", 1), ("stray", 1), ("pdus_in", 3)];
    assert_eq!(outcome(small, &all), expected.into());
}

#[test]
fn a_pdu_that_stands_still_is_given_up() {
    let impatient = SarConfig { timeout: Some(slots().cell_time() * 5), max_reassemblies: 2, ..config() };
    let [a, b] = [1, 2].map(|mid| cells(sdu(mid, 350), 1, mid as u16));
    // The second PDU's nine cells let the first one's time pass: its next cell finds nothing.
    let all = [&a[..3], &b, &a[3..4]].concat();
    let expected = [("timeout", 1), ("stray", 1), ("pdus_in", 1)];
    assert_eq!(outcome(impatient, &all), expected.into());
    // Nor does it stand in the way of others.
    let c = cells(sdu(3, 60), 1, 3);
    let all = [&a[..1], &b[..7], &c, &b[7..]].concat();
    let expected = [("timeout", 1), ("pdus_in", 2)];
    assert_eq!(outcome(impatient, &all), expected.into());
}

#[test]
fn the_monitor_shows_pdus_good_and_bad() {
    let watched = SarConfig { monitor: true, ..config() };
    let [good, bad] = [1, 2].map(|tag| cpcs::pdu(sdu(tag.into(), 100), tag).unwrap());
    let mut bad = bad.to_vec();
    bad[1] ^= 1;
    let bad = Message::from_octets(&bad);
    let cells = [&bad, &good].map(|pdu| segments(pdu, 0, true).to_vec());
    let cells = cells.concat();
    let mut bench = receive(watched, cells.as_chunks().0, 2);
    let seen: Vec<Message> = frames(&mut bench).into_iter().map(|(_, data)| data).collect();
    assert_eq!(seen, [bad, good, sdu(1, 100)]);
}

proptest! {
    /// Up to 255 PDUs; from 256 on a tag comes again.
    #[test]
    fn whatever_cells_are_lost_no_wrong_sdu_comes_out(lens in prop::collection::vec(1..2000_usize, 1..30), lost in prop::collection::vec(any::<prop::sample::Index>(), 0..60), run in 1..50_usize) {
        let number = |k: usize, len| sdu(k as u64, len);
        let mut all: Vec<Cell> = Vec::new();
        for (k, len) in lens.iter().enumerate() {
            all.extend(cells(number(k, *len), k as u8, 0));
        }
        for lost in lost {
            if !all.is_empty() {
                all.remove(lost.index(all.len()));
            }
        }
        let mut bench = receive(config(), &all, run);
        let mut sent = lens.iter().enumerate().map(|(k, len)| number(k, *len));
        for (_, got) in frames(&mut bench) {
            prop_assert!(sent.any(|sdu| sdu == got), "never sent, or out of order");
        }
    }

    #[test]
    fn pdus_of_any_mids_mixed_cell_by_cell_come_out_whole(lens in prop::collection::vec(1..500_usize, 1..20), order in prop::collection::vec(any::<prop::sample::Index>(), 300), run in 1..50_usize) {
        let mut queues: Vec<Vec<Cell>> = lens.iter().enumerate().map(|(k, len)| {
            let mut cells = cells(sdu(k as u64, *len), k as u8, 1023 - k as u16);
            cells.reverse();
            cells
        }).collect();
        let mut all = Vec::new();
        for next in order.iter().cycle() {
            if queues.is_empty() {
                break;
            }
            let at = next.index(queues.len());
            all.extend(queues[at].pop());
            if queues[at].is_empty() {
                queues.remove(at);
            }
        }
        let mut bench = receive(config(), &all, run);
        let mut seen: Vec<Vec<u8>> = frames(&mut bench).into_iter().map(|(_, data)| data.to_vec()).collect();
        let mut sent: Vec<Vec<u8>> = lens.iter().enumerate().map(|(k, len)| sdu(k as u64, *len).to_vec()).collect();
        seen.sort();
        sent.sort();
        prop_assert_eq!(seen, sent);
    }

    #[test]
    fn no_octets_make_it_panic_and_runs_are_as_good_as_single_cells(octets in prop::collection::vec(any::<u8>(), 0..48 * 40), crc: bool, cpcs: bool, mids in 1..=3_u8) {
        let mut all: Vec<Cell> = octets.as_chunks().0.to_vec();
        for cell in &mut all {
            // Few MIDs and numbers, so that cells meet; mostly a length that is possible, and the right CRC.
            cell[0] &= 0b1100_0100;
            cell[1] %= mids;
            if cell[5] % 4 != 0 {
                cell[46] = 44 << 2;
            }
            let trailer = sar::Trailer::parse(cell).unwrap();
            if cell[6] % 4 != 0 {
                let crc = sar::crc(cell);
                sar::Trailer { crc, ..trailer }.emit(&mut cell[46..]);
            }
        }
        let any = SarConfig {
            crc,
            max_reassemblies: 2,
            timeout: Some(slots().cell_time() * 9),
            checksum_unit: true,
            announce: true,
            monitor: true,
            adaptation: Adaptation::Aal34(Aal34 { mids: 1, cpcs }),
            ..config()
        };
        let [single, in_runs] = [1, 13].map(|run| {
            let mut bench = receive(any, &all, run);
            (frames(&mut bench), bench.counters(0))
        });
        prop_assert_eq!(single, in_runs);
    }
}
