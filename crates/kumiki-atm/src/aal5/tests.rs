use kumiki_graph::{DeviceId, NodeId, Report};
use kumiki_octets::crc::Aal5Crc;
use kumiki_octets::{Checksum, Message, Meta, Pattern, Sum};
use proptest::prelude::*;

use super::*;
use kumiki_testkit::bench::{Bench, hex};

fn bench(max_sdu: u16) -> (Bench, DeviceId, NodeId) {
    let mut bench = Bench::new();
    let sar = bench.device("sar");
    bench.node("aal5", &["sar"], Aal5::new(Config { max_sdu }));
    let user = bench.user("user", "aal5", &[]);
    bench.start();
    (bench, sar, user)
}

fn unit(data: Message) -> Unit {
    Unit { data, ..Unit::default() }
}

fn counters(bench: &Bench) -> Counters {
    let node = bench.graph.node("aal5").unwrap();
    *bench.graph.protocol::<Aal5>(node).unwrap().counters()
}

/// Published CRCs of AAL5.
#[test]
fn pdus_end_as_published_ones_do() {
    let counting: Vec<u8> = (1..=0x28).collect();
    let cases: [(&[u8], &str); 4] = [
        (&[0; 40], "00000028 864d7f99"),
        (&[0xff; 40], "00000028 c55e457a"),
        (&counting, "00000028 bf671ed0"),
        (b"hello", "00000005 7f4cd5de"),
    ];
    for (sdu, trailer) in cases {
        let (mut bench, sar, user) = bench(9188);
        bench.send(user, unit(Message::from_octets(sdu)));
        let pdu = bench.sent_octets().remove(0);
        assert_eq!(pdu.len(), 48);
        assert_eq!(pdu[40..], hex(trailer));
        bench.octets(sar, &pdu);
        assert_eq!(bench.units(user)[0].data.to_vec(), sdu);
    }
}

#[test]
fn errors_are_counted_apart() {
    let (mut bench, sar, user) = bench(9188);
    bench.send(user, unit(Message::from_octets(b"hello")));
    let good = bench.sent_octets().remove(0);
    let mut bits = good.clone();
    bits[3] ^= 1;
    bench.octets(sar, &bits);
    // Two PDUs become one when the last cell of the first is lost.
    bench.send(user, unit(Message::from_octets(&[7; 50])));
    let pdu = bench.sent_octets().remove(0);
    bench.octets(sar, &[&pdu[..48], &good].concat());
    bench.octets(sar, &good[..47]);
    bench.octets(sar, &[]);
    for (uu_cpi, length) in [([0, 1], 5_u16), ([0, 0], 0), ([0, 0], 41)] {
        let mut pdu = [&[7; 40][..], &uu_cpi, &length.to_be_bytes(), &[0; 4]].concat();
        let mut crc = Aal5Crc::new();
        crc.update(&pdu[..44]);
        pdu[44..].copy_from_slice(&crc.finish().to_be_bytes());
        bench.octets(sar, &pdu);
    }
    assert!(bench.heard(user).is_empty());
    let counted = counters(&bench);
    assert_eq!((counted.crc_errors, counted.length_errors), (2, 3));
    assert_eq!((counted.cpi_errors, counted.aborts), (1, 1));
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
    assert_eq!(sent[0].1.data.to_vec()[..60], expected);
    assert_eq!(sent[0].1.data.meta().checksum, Checksum::Unknown);
    *message.meta_mut() = Meta { segment_size: 10, header_len: 40, ..Meta::default() };
    bench.send(user, unit(message));
    assert!(bench.sent().is_empty());
}

#[test]
fn limits_are_those_of_an_sdu() {
    let (mut bench, sar, user) = bench(9188);
    for pdu in [4800, 100, 65568] {
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
    assert_eq!(units, [(4792, 1), (88, 1), (9188, 1)]);
}

proptest! {
    #[test]
    fn what_goes_down_comes_up(len in 1usize..3000, offset: u32) {
        let (mut bench, sar, user) = bench(9188);
        let data = Message::generated(Pattern::Counter, offset.into(), len);
        bench.send(user, unit(data.clone()));
        let pdu = bench.sent().remove(0).1;
        prop_assert_eq!(pdu.data.len() % 48, 0);
        bench.receive(sar, pdu);
        prop_assert_eq!(&bench.units(user)[0].data, &data);
    }

    #[test]
    fn no_octets_make_it_panic(octets: Vec<u8>) {
        let (mut bench, sar, _) = bench(9188);
        bench.octets(sar, &octets);
        let mut whole = octets;
        whole.resize(whole.len().next_multiple_of(48), 0);
        bench.octets(sar, &whole);
    }
}
