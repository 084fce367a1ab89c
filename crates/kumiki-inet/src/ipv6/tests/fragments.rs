//! Packets in pieces.

use kumiki_wire::inet::IpParameters;
use kumiki_wire::inet::icmpv6::{parameter, time_exceeded};

use super::*;

/// A fragment of a packet from B to A.
fn fragment(start: usize, more: bool, identification: u32, data: &[u8]) -> Vec<u8> {
    let header = Fragment { next_header: 17, offset: u16::try_from(start / 8).unwrap(), more, identification };
    let mut octets = vec![0; 8];
    header.emit(&mut octets);
    octets.extend_from_slice(data);
    packet(|it| it.next_header = next_header::FRAGMENT, &octets)
}

#[test]
fn what_was_cut_is_put_together_again_in_any_order() {
    let (mut sender, _, from) = bench(host());
    let data: Vec<u8> = (0..4000_u32).map(|n| n.to_be_bytes()[3]).collect();
    let unit = Unit { options: UnitOptions { under: Some(UDP), ..UnitOptions::default() }, ..to(B, &data) };
    sender.send(from, unit);
    let pieces = sender.sent_octets();
    assert_eq!(pieces.len(), 3);
    assert!(pieces.iter().all(|piece| piece.len() <= 1500));
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let (mut receiver, device, user) = bench(Config::host(Interface::new("p2p", B, 64)));
        for at in order {
            receiver.octets(device, &pieces[at]);
        }
        let units = receiver.units(user);
        assert_eq!(units[0].data.to_vec(), data);
        assert_eq!(units[0].source, Address::from(A));
        assert_eq!(counters(&receiver).reasm_oks, 1);
    }
}

/// RFC 3168 section 5.3.
#[test]
fn a_mark_on_one_fragment_is_a_mark_on_the_whole_or_there_is_no_whole() {
    for (fields, whole) in
        [([3, 2], Some(3)), ([2, 3], Some(3)), ([2, 2], Some(2)), ([0, 0], Some(0)), ([3, 0], None), ([0, 3], None)]
    {
        let (mut bench, device, user) = bench(host());
        for (n, ecn) in (0..).zip(fields) {
            let mut octets = fragment(8 * n, n == 0, 7, &[1; 8]);
            octets[1] |= ecn << 4;
            bench.octets(device, &octets);
        }
        let units = bench.units(user);
        let found = units.first().map(|unit| IpParameters::from(unit.options.special).tos & 3);
        assert_eq!(found, whole, "{fields:?}");
    }
}

#[test]
fn a_fragment_that_is_all_of_it_waits_for_nobody() {
    let (mut bench, device, user) = bench(host());
    // Others with the same identification do not matter (RFC 6946).
    bench.octets(device, &fragment(8, true, 7, &[1; 8]));
    bench.octets(device, &fragment(0, false, 7, &[5; 9]));
    assert_eq!(bench.units(user)[0].data.to_vec(), [5; 9]);
}

#[test]
fn overlapping_fragments_are_dropped_as_a_whole_and_in_silence() {
    let (mut bench, device, user) = bench(host());
    bench.octets(device, &fragment(0, true, 7, &[1; 16]));
    bench.octets(device, &fragment(8, true, 7, &[2; 16]));
    bench.octets(device, &fragment(16, true, 7, &[2; 8]));
    bench.octets(device, &fragment(24, false, 7, &[3; 8]));
    assert!(bench.units(user).is_empty());
    assert_eq!(counters(&bench).reasm_fails, 1);
    bench.pass(Duration::from_secs(61));
    assert!(bench.sent().is_empty());
}

#[test]
fn what_does_not_come_is_given_up_after_a_minute() {
    let (mut bench, device, _) = bench(host());
    bench.octets(device, &fragment(0, true, 7, &[1; 16]));
    bench.pass(Duration::from_secs(59));
    assert!(bench.sent().is_empty());
    bench.pass(Duration::from_secs(1));
    let (_, message, quoted) = said(&bench.sent_octets()[0]);
    let code = time_exceeded::REASSEMBLY;
    assert_eq!(message, Icmp::TimeExceeded { code });
    assert_eq!(quoted[40..], [1; 16]);
    // Without the first fragment nobody is told.
    bench.octets(device, &fragment(8, true, 8, &[1; 16]));
    bench.pass(Duration::from_secs(60));
    assert!(bench.sent().is_empty());
    assert_eq!(counters(&bench).reasm_fails, 2);
}

#[test]
fn lengths_that_cannot_be_are_told() {
    let answer = |octets: &[u8]| {
        let (mut bench, device, _) = bench(host());
        bench.octets(device, octets);
        said(&bench.sent_octets()[0]).1
    };
    let problem = |code, pointer| Icmp::ParameterProblem { code, pointer };
    let odd = fragment(0, true, 7, &[1; 15]);
    assert_eq!(answer(&odd), problem(parameter::FIELD, 4));
    let beyond = fragment(65528, true, 7, &[1; 8]);
    assert_eq!(answer(&beyond), problem(parameter::FIELD, 42));
    // Destination options that are not all in the first fragment (RFC 7112).
    let mut cut = fragment(0, true, 7, &[17, 3, 1, 4, 0, 0, 0, 0]);
    cut[40] = next_header::DESTINATION;
    assert_eq!(answer(&cut), problem(parameter::INCOMPLETE, 0));
}

#[test]
fn fragments_hold_no_more_memory_than_is_allowed() {
    let reassembly = Reassembly { datagrams: 4, octets: 8192, ..Reassembly::default() };
    let (mut bench, device, _) = bench(Config { reassembly, ..host() });
    for identification in 0..100 {
        bench.octets(device, &fragment(0, true, identification, &[1; 800]));
    }
    let node = bench.graph.node("ip").unwrap();
    let ip = bench.graph.protocol::<Ip>(node).unwrap();
    assert!(ip.reassembling() <= 8192);
    assert_eq!(counters(&bench).reasm_fails, 97);
}

proptest! {
    #[test]
    fn no_fragments_make_it_panic(pieces: Vec<(u16, bool, u8, Vec<u8>)>) {
        let (mut bench, device, _) = bench(host());
        for (start, more, identification, data) in pieces {
            bench.octets(device, &fragment(start.into(), more, (identification % 4).into(), &data));
        }
        bench.pass(Duration::from_secs(100));
    }
}
