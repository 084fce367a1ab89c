use kumiki_graph::{DeviceId, Duration, NodeId};
use kumiki_wire::atm::cell::Vc;
use kumiki_wire::numbering::IP_PROTOCOL;
use proptest::prelude::*;

use super::*;
use crate::llc_snap::{self, LlcSnap};
use kumiki_inet::ip::{self, Ip, Neighbours};
use kumiki_testkit::bench::{Bench, hex};

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const C: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 3);
const VC: Address = Vc { vpi: 0, vci: 100 }.address();
const OTHER: Address = Vc { vpi: 0, vci: 101 }.address();
const UDP: Key = Key::of(IP_PROTOCOL, 17);

/// User, IP, ATMARP and LLC/SNAP over the device `atm`, not yet started.
fn stack(own: Ipv4Addr, config: Config) -> (Bench, DeviceId, NodeId) {
    let mut bench = Bench::new();
    let atm = bench.device("atm");
    bench.node("llc_snap", &["atm"], LlcSnap::new(llc_snap::Config::default()));
    bench.node("atm_arp", &["llc_snap"], AtmArp::new(config).unwrap());
    let ip = ip::Config::host(ip::Interface {
        mtu: 9180,
        neighbours: Neighbours::Below,
        ..ip::Interface::new("atm_arp", own, 24)
    });
    bench.node("ip", &["atm_arp"], Ip::new(ip).unwrap());
    let user = bench.user("user", "ip", &[UDP]);
    (bench, atm, user)
}

fn started(config: Config) -> (Bench, DeviceId, NodeId) {
    let (mut bench, atm, user) = stack(A, config);
    bench.start();
    (bench, atm, user)
}

fn send(bench: &mut Bench, user: NodeId, to: Ipv4Addr, data: &[u8]) {
    bench.send(user, Unit { destination: Address::from(to), data: Message::from_octets(data), ..Unit::default() });
}

fn packet(bench: &mut Bench, atm: DeviceId, vc: Address, text: &str) {
    let octets = [&hex("aaaa03 000000 0806")[..], &hex(text)].concat();
    bench.receive(atm, Unit { source: vc, data: Message::from_octets(&octets), ..Unit::default() });
}

/// `InATMARP_Reply` from `last octet of 10.0.0.x` to A.
fn reply(x: u8) -> String {
    format!("0013 0800 00 00 0009 04 00 00 04 0a0000{x:02x} 0a000001")
}

fn counters(bench: &Bench) -> Counters {
    let node = bench.graph.node("atm_arp").unwrap();
    *bench.graph.protocol::<AtmArp>(node).unwrap().counters()
}

#[test]
fn every_circuit_is_asked_on_start_octet_by_octet() {
    let (mut bench, _, _) = started(Config::new(A, vec![VC, OTHER]));
    let sent = bench.sent();
    let expected = hex("aaaa03 000000 0806 0013 0800 00 00 0008 04 00 00 00 0a000001");
    let octets: Vec<(Address, Vec<u8>)> =
        sent.into_iter().map(|(_, unit)| (unit.destination, unit.data.to_vec())).collect();
    assert_eq!(octets, [(VC, expected.clone()), (OTHER, expected)]);
}

#[test]
fn a_request_is_answered_for_each_of_our_addresses_and_teaches_us() {
    let config = Config { addresses: vec![A, C], ..Config::new(A, vec![VC]) };
    let (mut bench, atm, user) = started(config);
    bench.sent();
    let request = "0013 0800 00 00 0008 04 00 00 04 0a000002 00000000";
    packet(&mut bench, atm, VC, request);
    let expected = |own: &str| hex(&format!("aaaa03 000000 0806 0013 0800 00 00 0009 04 00 00 04 {own} 0a000002"));
    assert_eq!(bench.sent_octets(), [expected("0a000001"), expected("0a000003")]);
    send(&mut bench, user, B, b"x");
    let sent = bench.sent();
    assert_eq!(sent[0].1.destination, VC);
    assert_eq!(sent[0].1.data.to_vec()[..8], hex("aaaa03 000000 0800"));
}

#[test]
fn datagrams_wait_until_somebody_says_who_is_there() {
    let (mut bench, atm, user) = started(Config { queue: 2, ..Config::new(A, vec![VC, OTHER]) });
    bench.sent();
    for data in [b"1", b"2", b"3"] {
        send(&mut bench, user, B, data);
    }
    assert!(bench.sent().is_empty());
    packet(&mut bench, atm, VC, &reply(3));
    assert!(bench.sent().is_empty());
    packet(&mut bench, atm, OTHER, &reply(2));
    let sent = bench.sent();
    let data: Vec<Vec<u8>> = sent.iter().map(|(_, unit)| unit.data.to_vec()[28..].to_vec()).collect();
    // The oldest gave way to the newest.
    assert_eq!(data, [b"2", b"3"]);
    assert!(sent.iter().all(|(_, unit)| unit.destination == OTHER));
    assert_eq!((counters(&bench).queued, counters(&bench).unresolved), (3, 1));
}

#[test]
fn what_waits_too_long_is_not_sent() {
    let (mut bench, atm, user) = started(Config::new(A, vec![VC]));
    send(&mut bench, user, B, b"old");
    bench.pass(Duration::from_secs(11));
    send(&mut bench, user, B, b"new");
    bench.sent();
    packet(&mut bench, atm, VC, &reply(2));
    assert_eq!(bench.sent_octets().len(), 1);
    assert_eq!(counters(&bench).unresolved, 1);
}

#[test]
fn a_silent_circuit_is_asked_again_and_a_known_one_before_it_ages() {
    let (mut bench, atm, user) = started(Config::new(A, vec![VC]));
    bench.pass(Duration::from_secs(16));
    assert_eq!(bench.sent().len(), 4);
    packet(&mut bench, atm, VC, &reply(2));
    bench.pass(Duration::from_secs(719));
    assert!(bench.sent().is_empty());
    bench.pass(Duration::from_secs(2));
    assert_eq!(bench.sent().len(), 1);
    // Nobody answers: the entry is used until it ages, and not after.
    bench.pass(Duration::from_secs(178));
    bench.sent();
    send(&mut bench, user, B, b"x");
    assert_eq!(bench.sent().len(), 1);
    bench.pass(Duration::from_secs(2));
    bench.sent();
    send(&mut bench, user, B, b"y");
    assert!(bench.sent().is_empty());
    packet(&mut bench, atm, VC, &reply(2));
    assert_eq!(bench.sent().len(), 1);
}

#[test]
fn what_is_configured_needs_no_asking_and_cannot_be_talked_away() {
    let (mut bench, atm, user) = started(Config { known: vec![(B, VC)], ..Config::new(A, vec![]) });
    packet(&mut bench, atm, OTHER, &reply(2));
    send(&mut bench, user, B, b"x");
    let sent = bench.sent();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].1.destination, VC);
}

#[test]
fn an_atmarp_request_for_us_is_answered() {
    let (mut bench, atm, _) = started(Config::new(A, vec![]));
    let request = "0013 0800 04 00 0001 04 00 00 04 47000001 0a000002 0a000001";
    packet(&mut bench, atm, VC, request);
    let expected = hex("aaaa03 000000 0806 0013 0800 00 00 0002 04 04 00 04 0a000001 47000001 0a000002");
    assert_eq!(bench.sent_octets(), [expected]);
    packet(&mut bench, atm, VC, &request.replace("0a000001", "0a000009"));
    assert!(bench.sent().is_empty());
}

#[test]
fn a_claim_to_our_own_address_teaches_nothing() {
    let (mut bench, atm, _) = started(Config::new(A, vec![VC]));
    packet(&mut bench, atm, VC, &reply(1));
    let node = bench.graph.node("atm_arp").unwrap();
    let arp = bench.graph.protocol::<AtmArp>(node).unwrap();
    assert_eq!(arp.circuit(A, bench.now), None);
}

#[test]
fn a_line_that_went_down_is_asked_again() {
    let (mut bench, atm, user) = started(Config::new(A, vec![VC]));
    packet(&mut bench, atm, VC, &reply(2));
    bench.sent();
    for report in [Report::Down, Report::Up] {
        bench.indicate(atm, Indication::Report(Box::new(report)));
    }
    assert_eq!(bench.sent().len(), 1);
    send(&mut bench, user, B, b"x");
    assert!(bench.sent().is_empty());
}

#[test]
fn two_hosts_find_each_other() {
    let (mut a, a_atm, a_user) = stack(A, Config::new(A, vec![VC]));
    let (mut b, b_atm, b_user) = stack(B, Config::new(B, vec![OTHER]));
    a.start();
    send(&mut a, a_user, B, b"before B is there");
    // What A has said so far is lost.
    a.sent();
    b.start();
    let cross = |from: &mut Bench, to: &mut Bench, device, vc| {
        for (_, unit) in from.sent() {
            to.receive(device, Unit { source: vc, destination: Address::NONE, ..unit });
        }
    };
    for _ in 0..3 {
        cross(&mut b, &mut a, a_atm, VC);
        cross(&mut a, &mut b, b_atm, OTHER);
    }
    assert_eq!(b.units(b_user)[0].data.to_vec(), b"before B is there");
    send(&mut b, b_user, A, b"back");
    cross(&mut b, &mut a, a_atm, VC);
    assert_eq!(a.units(a_user)[0].data.to_vec(), b"back");
}

#[test]
fn settings_that_cannot_be_are_named() {
    let good = Config::new(A, vec![VC]);
    let cases = [
        (Config { addresses: vec![], ..good.clone() }, "no address"),
        (Config { circuits: vec![Address::from(A)], ..good.clone() }, "VPI and a VCI"),
        (Config { known: vec![(B, Address::NONE)], ..good.clone() }, "VPI and a VCI"),
        (Config { circuits: vec![VC, VC], ..good.clone() }, "VC 0/100 twice"),
        (Config { timeout: Duration::from_secs(901), ..good.clone() }, "15 minutes"),
        (Config { retry: Duration::ZERO, ..good }, "retry is 0 s"),
    ];
    for (config, expected) in cases {
        let said = AtmArp::new(config).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }
}

proptest! {
    #[test]
    fn no_octets_make_it_panic(octets: Vec<u8>, op in 0u16..12) {
        let (mut bench, atm, _) = started(Config::new(A, vec![VC]));
        for header in ["", "0013 0800 00 00"] {
            let packet = [&hex("aaaa03 000000 0806")[..], &hex(header), &op.to_be_bytes(), &octets].concat();
            bench.octets(atm, &packet);
        }
        bench.pass(Duration::from_secs(2000));
    }
}
