use core::net::Ipv4Addr;
use kumiki_wire::inet::IpParameters;

use kumiki_graph::{DeviceId, NodeId, Problem};
use kumiki_wire::inet::ipv4;
use proptest::prelude::*;

use super::*;
use crate::ip::{self, Ip};
use crate::ipv6;
use kumiki_testkit::bench::{Bench, hex};

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

fn bench(config: Config) -> (Bench, DeviceId, [NodeId; 2]) {
    let mut bench = Bench::new();
    let eth = bench.device("eth");
    let ip = ip::Config::host(ip::Interface::new("eth", A, 24));
    bench.node("ip", &["eth"], Ip::new(ip).unwrap());
    bench.node("icmp", &["ip"], IcmpEcho::new(config));
    let users = ["first", "second"].map(|name| bench.user(name, "icmp", &[]));
    bench.start();
    bench.requests();
    (bench, eth, users)
}

/// `icmp`, its checksum made right, from B to `destination`.
fn in_ip(destination: Ipv4Addr, icmp: Vec<u8>) -> Vec<u8> {
    marked(0x28, destination, icmp)
}

fn marked(type_of_service: u8, destination: Ipv4Addr, mut icmp: Vec<u8>) -> Vec<u8> {
    if icmp.len() > 4 {
        let sum = Sum::of(&icmp).checksum();
        icmp[2..4].copy_from_slice(&sum.to_be_bytes());
    }
    let header = ipv4::Header {
        total_length: u16::try_from(icmp.len() + 20).unwrap(),
        type_of_service,
        protocol: 1,
        source: B,
        destination,
        ..ipv4::Header::default()
    };
    let mut octets = vec![0; 20];
    header.emit_summed(&mut octets);
    octets.extend(icmp);
    octets
}

fn to(peer: Ipv4Addr, data: &[u8]) -> Unit {
    Unit { destination: Address::from(peer), data: Message::from_octets(data), ..Unit::default() }
}

#[test]
fn an_echo_is_answered_octet_by_octet() {
    let (mut bench, eth, _) = bench(Config::default());
    bench.octets(eth, &in_ip(A, hex("0800 0000 1234 0007 6b756d696b69")));
    let sent = bench.sent_octets().remove(0);
    assert_eq!(sent[1], 0x28);
    assert_eq!(sent[12..20], hex("0a000001 0a000002"));
    // 1234 + 0007 + 6b75 + 6d69 + 6b69 is 15682, folded 5683.
    assert_eq!(sent[20..], hex("0000 a97c 1234 0007 6b756d696b69"));
}

#[test]
fn a_reply_has_the_class_of_its_echo_and_never_its_mark() {
    // RFC 1812 section 4.3.2.5; RFC 3168 section 5.2.
    for ecn in 0..4 {
        let (mut bench, eth, _) = bench(Config::default());
        bench.octets(eth, &marked(0xb8 | ecn, A, hex("0800 0000 1234 0007")));
        assert_eq!(bench.sent_octets()[0][1], 0xb8);
    }
}

#[test]
fn echoes_to_groups_are_answered_only_where_configured() {
    for answer_groups in [false, true] {
        let (mut bench, eth, _) = bench(Config { answer_groups, ..Config::default() });
        bench.octets(eth, &in_ip(Ipv4Addr::BROADCAST, hex("0800 0000 1234 0007")));
        let sent = bench.sent_octets();
        assert_eq!(sent.len(), usize::from(answer_groups));
        assert!(sent.iter().all(|octets| octets[12..16] == A.octets()));
    }
}

#[test]
fn each_user_hears_the_replies_to_its_own_echoes() {
    let (mut bench, eth, [first, second]) = bench(Config::default());
    for (user, data) in [(first, b"1"), (second, b"2"), (second, b"3")] {
        bench.send(user, to(B, data));
    }
    for echo in bench.sent_octets() {
        assert_eq!(echo[20], 8);
        assert!(Sum::of(&echo[20..]).is_valid());
        let mut reply = echo[20..].to_vec();
        reply[..4].fill(0);
        bench.octets(eth, &in_ip(A, reply));
    }
    let units = bench.units(first);
    assert_eq!(units.len(), 1);
    assert_eq!(units[0].data.to_vec(), b"1");
    assert_eq!(units[0].source, Address::from(B));
    let heard: Vec<(u16, Vec<u8>)> = bench
        .units(second)
        .iter()
        .map(|unit| (IpParameters::from(unit.options.special).identification, unit.data.to_vec()))
        .collect();
    assert_eq!(heard, [(1, b"2".to_vec()), (2, b"3".to_vec())]);
}

#[test]
fn an_error_about_an_echo_reaches_its_user() {
    let (mut bench, eth, [_, second]) = bench(Config::default());
    bench.send(second, to(B, b"abc"));
    let echo = bench.sent_octets().remove(0);
    bench.octets(eth, &in_ip(A, [&hex("0b00 0000 00000000")[..], &echo].concat()));
    let reports = bench.reports(second);
    let [Report::Unreachable { problem, start, .. }] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!(*problem, Problem::Soft { kind: 11, code: 0 });
    assert_eq!(start.to_vec(), b"abc");
}

#[test]
fn an_echo_to_ourselves_comes_back() {
    let (mut bench, _, [first, _]) = bench(Config::default());
    bench.send(first, to(A, b"abc"));
    assert_eq!(bench.units(first)[0].data.to_vec(), b"abc");
    assert!(bench.sent().is_empty());
}

#[test]
fn damage_and_unknown_types_are_dropped() {
    let (mut bench, eth, _) = bench(Config::default());
    let mut damaged = in_ip(A, hex("0800 0000 1234 0007 00"));
    *damaged.last_mut().unwrap() = 1;
    bench.octets(eth, &damaged);
    bench.octets(eth, &in_ip(A, hex("1100 0000 1234 0007")));
    bench.octets(eth, &in_ip(A, hex("0000 0000 1234 0007")));
    assert!(bench.sent().is_empty());
    let node = bench.graph.node("icmp").unwrap();
    let counters = bench.graph.protocol::<IcmpEcho>(node).unwrap().counters();
    assert_eq!((counters.malformed, counters.ignored), (1, 2));
}

proptest! {
    #[test]
    fn every_answer_has_a_right_checksum(data: Vec<u8>, rest: [u8; 4]) {
        let (mut bench, eth, _) = bench(Config::default());
        let echo = [&[8, 0, 0, 0], &rest[..], &data].concat();
        bench.octets(eth, &in_ip(A, echo));
        let sent = bench.sent_octets();
        prop_assert!(Sum::of(&sent[0][20..]).is_valid());
        prop_assert_eq!(&sent[0][28..], &data[..]);
    }

    #[test]
    fn no_octets_make_it_panic(octets: Vec<u8>) {
        let (mut bench, eth, _) = bench(Config::default());
        bench.octets(eth, &in_ip(A, octets));
    }
}

/// Echoes on IPv6 with the address fd00::1, and a user.
fn bench_six() -> (Bench, DeviceId, NodeId) {
    let mut bench = Bench::new();
    let eth = bench.device("eth");
    let own = "fd00::1".parse().unwrap();
    let config = ipv6::Config::host(ipv6::Interface::new("eth", own, 64));
    bench.node("ip", &["eth"], ipv6::Ip::new(config).unwrap());
    bench.node("icmp", &["ip"], IcmpEcho::new(Config::default()));
    let user = bench.user("user", "icmp", &[]);
    bench.start();
    bench.requests();
    (bench, eth, user)
}

/// Whether the ICMPv6 message in a packet has the right sum.
fn sum_is_right(packet: &[u8]) -> bool {
    let len = u16::try_from(packet.len() - 40).unwrap();
    let sum = Sum::of(&packet[8..40]).add_u16(58).add_u16(len);
    sum.plus(Sum::of(&packet[40..])).is_valid()
}

#[test]
fn echoes_go_over_ipv6_and_come_back() {
    let (mut bench, eth, user) = bench_six();
    let peer = Address::from("fd00::2".parse::<core::net::Ipv6Addr>().unwrap());
    let unit = Unit { destination: peer, data: Message::from_octets(b"odd"), ..Unit::default() };
    bench.send(user, unit);
    let echo = bench.sent_octets().remove(0);
    assert_eq!((echo[6], echo[40]), (58, 128));
    assert!(sum_is_right(&echo));
    // The same from the other side, as an echo and as its reply.
    let turned = [&echo[..8], &echo[24..40], &echo[8..24], &echo[40..]].concat();
    bench.octets(eth, &turned);
    let answer = bench.sent_octets().remove(0);
    assert_eq!(answer[40], 129);
    assert_eq!((&answer[8..40], &answer[44..]), (&echo[8..40], &echo[44..]));
    assert!(sum_is_right(&answer));
    let reply = [&turned[..40], &answer[40..]].concat();
    bench.octets(eth, &reply);
    let units = bench.units(user);
    assert_eq!(units[0].source, peer);
    assert_eq!(units[0].data.to_vec(), b"odd");
    let mut wrong = reply;
    wrong[50] ^= 1;
    bench.octets(eth, &wrong);
    assert!(bench.units(user).is_empty());
}
