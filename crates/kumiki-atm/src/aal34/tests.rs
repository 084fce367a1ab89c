use kumiki_graph::{DeviceId, NodeId, Report};
use kumiki_octets::{Checksum, Message, Meta, Pattern, Sum};
use kumiki_wire::atm::cell::Vc;
use proptest::prelude::*;

use super::*;
use kumiki_testkit::bench::{Bench, hex};

fn bench(max_sdu: u16) -> (Bench, DeviceId, NodeId) {
    let mut bench = Bench::new();
    let sar = bench.device("sar");
    bench.node("aal34", &["sar"], Aal34::new(Config { max_sdu }));
    let user = bench.user("user", "aal34", &[]);
    bench.start();
    (bench, sar, user)
}

fn unit(data: Message) -> Unit {
    Unit { data, ..Unit::default() }
}

fn counters(bench: &Bench) -> Counters {
    let node = bench.graph.node("aal34").unwrap();
    *bench.graph.protocol::<Aal34>(node).unwrap().counters()
}

/// As in the published cell, whose tags are 05: the sixth PDU of its channel.
#[test]
fn the_sixth_pdu_is_the_published_one() {
    let (mut bench, sar, user) = bench(9188);
    for _ in 0..5 {
        bench.send(user, unit(Message::from_octets(b"before")));
    }
    let other = Vc { vpi: 0, vci: 101 }.address();
    let destination = other;
    bench.send(user, Unit { destination, ..unit(Message::from_octets(b"elsewhere")) });
    bench.sent();
    bench.send(user, unit(Message::from_octets(b"hello")));
    let pdu = bench.sent_octets().remove(0);
    assert_eq!(pdu, hex("00050005 68656c6c6f000000 00050005"));
    bench.octets(sar, &pdu);
    assert_eq!(bench.units(user)[0].data.to_vec(), b"hello");
}

#[test]
fn errors_are_counted_apart() {
    let (mut bench, sar, user) = bench(9188);
    let pdu = |text: &str| hex(text);
    for text in [
        "00050005 68656c6c6f000000 00060005", // tags
        "01050005 68656c6c6f000000 00050005", // CPI
        "00050005 68656c6c6f000000 01050005", // AL
        "00050004 68656c6c6f000000 00050005", // BASize
        "00050005 68656c6c6f000000 00050004", // Length
        "00050000 00050000",                  // no SDU
        "000500",                             // less than a header
        "",
    ] {
        bench.octets(sar, &pdu(text));
    }
    assert!(bench.heard(user).is_empty());
    let counted = counters(&bench);
    assert_eq!((counted.tag_errors, counted.field_errors), (1, 2));
    assert_eq!((counted.length_errors, counted.received), (5, 0));
}

#[test]
fn what_is_too_long_goes_neither_way() {
    let (mut big, ..) = bench(100);
    let (mut small, sar, user) = bench(99);
    let node = big.graph.node("user").unwrap();
    let octets = Message::from_octets(&[1; 100]);
    big.send(node, unit(octets.clone()));
    small.octets(sar, &big.sent_octets()[0]);
    small.send(user, unit(octets));
    small.send(user, unit(Message::new()));
    assert!(small.heard(user).is_empty() && small.sent().is_empty());
    assert_eq!((counters(&small).oversize, counters(&small).refused), (1, 2));
}

#[test]
fn a_checksum_left_to_the_device_is_completed_and_super_segments_are_refused() {
    let (mut bench, _, user) = bench(9188);
    let mut expected: Vec<u8> = (0..60).collect();
    let mut message = Message::from_octets(&expected);
    let start = 20;
    message.meta_mut().checksum = Checksum::Partial { start, field: 16 };
    let sum = Sum::of(&expected[20..]).checksum();
    expected[36..38].copy_from_slice(&sum.to_be_bytes());
    bench.send(user, unit(message.clone()));
    let sent = bench.sent();
    assert_eq!(sent[0].1.data.to_vec()[4..64], expected);
    assert_eq!(sent[0].1.data.meta().checksum, Checksum::Unknown);
    *message.meta_mut() = Meta { segment_size: 10, header_len: 40, ..Meta::default() };
    bench.send(user, unit(message));
    assert!(bench.sent().is_empty());
}

#[test]
fn limits_are_those_of_an_sdu() {
    let (mut bench, sar, user) = bench(9188);
    for pdu in [4800, 103, 7, 65568] {
        let limits = Report::Limits { unit: pdu, burst: 8 };
        bench.indicate(sar, Indication::Report(Box::new(limits)));
    }
    let units: Vec<(u32, u32)> = bench
        .reports(user)
        .iter()
        .map(|report| {
            let Report::Limits { unit, burst } = report else { panic!("{report:?}") };
            (*unit, *burst)
        })
        .collect();
    assert_eq!(units, [(4792, 1), (92, 1), (0, 1), (9188, 1)]);
}

proptest! {
    #[test]
    fn what_goes_down_comes_up_with_the_sum_that_a_device_took(len in 1usize..3000, offset: u32) {
        let (mut bench, sar, user) = bench(9188);
        let data = Message::generated(Pattern::Counter, offset.into(), len);
        bench.send(user, unit(data.clone()));
        let mut pdu = bench.sent().remove(0).1;
        prop_assert_eq!(pdu.data.len(), pdu_len(len));
        let taken = Sum::of(&pdu.data.to_vec());
        pdu.data.meta_mut().checksum = Checksum::Sum(taken);
        bench.receive(sar, pdu);
        let found = &bench.units(user)[0].data;
        prop_assert_eq!(found, &data);
        let sum = Sum::of(&data.to_vec());
        prop_assert_eq!(found.meta().checksum, Checksum::Sum(sum));
    }

    #[test]
    fn no_octets_make_it_panic(octets: Vec<u8>) {
        let (mut bench, sar, _) = bench(9188);
        bench.octets(sar, &octets);
        let mut words = octets;
        words.resize(words.len().next_multiple_of(4), 0);
        bench.octets(sar, &words);
    }
}
