//! Behaviour of IP, seen from its users and its devices.

#![expect(clippy::cast_possible_truncation, reason = "lengths in tests are small")]

use core::net::Ipv4Addr;
use kumiki_wire::inet::IpParameters;
use kumiki_wire::inet::SourceRoute;
use kumiki_wire::numbering::IP_PROTOCOL;

use kumiki_graph::{
    Address, DeviceId, Duration, Indication, Key, Manage, NodeId, Problem, Report, Request, Unit, UnitOptions,
};
use kumiki_octets::{Checksum, Message, Meta, Pattern, Sum};
use kumiki_wire::inet::ipv4::{Header, Options};
use proptest::prelude::*;

use super::*;
use crate::internet::Bits;
use crate::{InterfaceState, LinkAddresses};
use kumiki_testkit::bench::{Bench, hex};

mod assignment;
mod errors;
mod fragments;
mod real_host;
mod recent;
mod routing;

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const TCP: Key = Key::of(IP_PROTOCOL, 6);
const ICMP: Key = Key::of(IP_PROTOCOL, 1);
const UDP: Key = Key::of(IP_PROTOCOL, 17);

fn host(mtu: u32) -> Config {
    Config::host(Interface { mtu, ..Interface::new("eth", A, 24) })
}

/// IP on the device `eth`, with one user for TCP and UDP.
fn bench(config: Config) -> (Bench, DeviceId, NodeId) {
    let mut bench = Bench::new();
    let eth = bench.device("eth");
    bench.node("ip", &["eth"], Ip::new(config).unwrap());
    let user = bench.user("user", "ip", &[TCP, UDP]);
    bench.start();
    bench.requests();
    (bench, eth, user)
}

fn to(destination: Ipv4Addr, data: &[u8]) -> Unit {
    Unit { destination: Address::from(destination), data: Message::from_octets(data), ..Unit::default() }
}

/// A datagram from B to A as it comes from a device.
fn datagram(change: impl FnOnce(&mut Header), data: &[u8]) -> Vec<u8> {
    let mut header = Header { protocol: 17, source: B, destination: A, ..Header::default() };
    change(&mut header);
    if header.total_length == 0 {
        header.total_length = (header.len() + data.len()) as u16;
    }
    let mut octets = vec![0; header.len()];
    header.emit_summed(&mut octets);
    octets.extend_from_slice(data);
    octets
}

fn counters(bench: &Bench) -> Counters {
    let node = bench.graph.node("ip").unwrap();
    *bench.graph.protocol::<Ip>(node).unwrap().counters()
}

/// Header and data of what was sent.
fn parsed(octets: &[u8]) -> (Header, Vec<u8>) {
    let (header, len) = Header::parse(octets, octets.len()).unwrap();
    (header, octets[len..].to_vec())
}

#[test]
fn a_unit_becomes_a_datagram_octet_by_octet() {
    let (mut bench, _, user) = bench(host(1500));
    let mut unit = to(B, &[1, 2, 3, 4]);
    unit.options.special = IpParameters { dont_fragment: true, ..unit.options.special.into() }.into();
    bench.send(user, unit);
    // TCP is not fragmented and so has no identification. The words before the checksum's add up to d921.
    let expected = hex("4500 0018 0000 4000 4006 26de 0a000001 0a000002 01020304");
    assert_eq!(bench.sent_octets(), [expected]);
}

#[test]
fn a_users_options_are_in_the_header() {
    let (mut bench, _, user) = bench(host(1500));
    let how = IpParameters { ttl: 3, tos: 0xb9, dont_fragment: true, ..IpParameters::NONE };
    bench.send(user, Unit { options: UnitOptions { under: Some(UDP), ..UnitOptions::of(how) }, ..to(B, &[9]) });
    let (header, data) = parsed(&bench.sent_octets()[0]);
    assert_eq!((header.time_to_live, header.type_of_service), (3, 0xb9));
    assert_eq!((header.protocol, header.dont_fragment), (17, true));
    assert_eq!(data, [9]);
}

#[test]
fn fragmentable_datagrams_are_numbered_one_after_the_other() {
    let config = Config { path_mtu_discovery: false, ..host(1500) };
    let (mut bench, _, user) = bench(config);
    for _ in 0..3 {
        bench.send(user, to(B, &[1]));
    }
    let ids: Vec<u16> = bench.sent_octets().iter().map(|octets| parsed(octets).0.identification).collect();
    assert_eq!(ids[1], ids[0].wrapping_add(1));
    assert_eq!(ids[2], ids[1].wrapping_add(1));
}

#[test]
fn a_datagram_for_us_goes_to_the_user_of_its_protocol() {
    let (mut bench, eth, user) = bench(host(1500));
    let octets = datagram(
        |header| {
            header.identification = 77;
            header.type_of_service = 1;
        },
        &[5, 6],
    );
    // The link has padded it.
    bench.octets(eth, &[octets, vec![0; 20]].concat());
    let units = bench.units(user);
    assert_eq!(units[0].data.to_vec(), [5, 6]);
    assert_eq!(units[0].source, Address::from(B));
    assert_eq!(units[0].destination, Address::from(A));
    let how = IpParameters { ttl: 64, tos: 1, identification: 77, interface: Some(0), ..IpParameters::NONE };
    assert_eq!(units[0].options, UnitOptions { under: Some(UDP), ..UnitOptions::of(how) });
}

// RFC 9293: MUST-50
#[test]
fn a_header_in_pieces_with_options_is_read() {
    let (mut bench, eth, user) = bench(host(1500));
    let options = Options::new(&[148, 4, 0, 0]).unwrap();
    let octets = datagram(|header| header.options = options, &[5, 6]);
    let mut data = Message::new();
    for octet in octets {
        data.append_octets(&[octet]);
    }
    bench.receive(eth, Unit { data, ..Unit::default() });
    assert_eq!(bench.units(user)[0].data.to_vec(), [5, 6]);
}

#[test]
fn damaged_headers_and_lengths_are_dropped() {
    let (mut bench, eth, user) = bench(host(1500));
    let good = datagram(|_| {}, &[1, 2, 3, 4]);
    let mut bad_sum = good.clone();
    bad_sum[8] ^= 1;
    bench.octets(eth, &bad_sum);
    bench.octets(eth, &good[..22]);
    bench.octets(eth, &good[..19]);
    bench.octets(eth, &[]);
    let mut version = good;
    version[0] = 0x65;
    bench.octets(eth, &version);
    assert!(bench.heard(user).is_empty());
    assert!(bench.sent().is_empty());
    assert_eq!(counters(&bench).in_hdr_errors, 5);
    // That of the other version is not called damaged.
    assert_eq!((bench.drops("ip", "of IPv6"), bench.drops("ip", "header or length wrong")), (1, 4));
}

// RFC 9293: MUST-63
#[test]
fn addresses_that_nobody_can_have_are_dropped_in_silence() {
    let (mut bench, eth, user) = bench(host(1500));
    for source in [[127, 0, 0, 1], [224, 0, 0, 1], [255, 255, 255, 255], [10, 0, 0, 255]] {
        bench.octets(eth, &datagram(|header| header.source = source.into(), &[1]));
    }
    for destination in [[127, 0, 0, 1], [0, 0, 0, 0], [10, 0, 0, 9], [224, 1, 2, 3]] {
        let octets = datagram(|header| header.destination = destination.into(), &[1]);
        bench.octets(eth, &octets);
    }
    assert!(bench.heard(user).is_empty());
    assert!(bench.sent().is_empty());
    assert_eq!(counters(&bench).in_addr_errors, 8);
}

#[test]
fn broadcasts_and_joined_groups_are_flagged() {
    let group = Ipv4Addr::new(224, 1, 2, 3);
    let config = Config { groups: vec![group], ..host(1500) };
    let (mut bench, eth, user) = bench(config);
    for destination in [Ipv4Addr::BROADCAST, Ipv4Addr::new(10, 0, 0, 255), Ipv4Addr::new(224, 0, 0, 1), group] {
        let octets = datagram(|header| header.destination = destination, &[1]);
        bench.octets(eth, &octets);
    }
    let units = bench.units(user);
    assert_eq!(units.len(), 4);
    assert!(units.iter().all(|unit| unit.options.group));
}

#[test]
fn what_a_user_joins_is_taken_until_it_leaves() {
    let group = Ipv4Addr::new(224, 1, 2, 3);
    let (mut bench, eth, user) = bench(host(1500));
    let octets = datagram(|header| header.destination = group, &[1]);
    let mut taken = Vec::new();
    for member in [true, false] {
        let manage = Manage::Group { group: Address::from(group), member };
        bench.say(user, Request::Manage(Box::new(manage)));
        bench.octets(eth, &octets);
        taken.push(bench.units(user).len());
    }
    assert_eq!(taken, [1, 0]);
}

#[test]
fn what_is_for_ourselves_stays_here() {
    let (mut bench, _, user) = bench(host(1500));
    let mut unit = to(A, &[1, 2, 3]);
    unit.data.meta_mut().checksum = Checksum::Partial { start: 0, field: 1 };
    bench.send(user, unit);
    bench.send(user, to(Ipv4Addr::LOCALHOST, &[4]));
    assert!(bench.sent().is_empty());
    let units = bench.units(user);
    assert_eq!(units[0].source, Address::from(A));
    assert_eq!(units[0].data.meta().checksum, Checksum::Verified);
    assert_eq!(units[1].source, Address::from(Ipv4Addr::LOCALHOST));
}

#[test]
fn a_super_segment_passes_whole_and_a_device_learns_where_things_are() {
    let (mut bench, _, user) = bench(host(1500));
    let mut unit = to(B, &[]);
    unit.data = Message::generated(Pattern::Zeros, 0, 20_020);
    *unit.data.meta_mut() =
        Meta { segment_size: 1460, header_len: 20, ace: false, checksum: Checksum::Partial { start: 0, field: 16 } };
    bench.send(user, unit);
    let (_, sent) = bench.sent().remove(0);
    assert_eq!(sent.data.len(), 20_040);
    assert_eq!(sent.data.meta().header_len, 40);
    let start = 20;
    assert_eq!(sent.data.meta().checksum, Checksum::Partial { start, field: 16 });
}

#[test]
fn a_sum_that_a_device_took_is_true_of_what_a_user_gets() {
    let (mut bench, eth, user) = bench(host(1500));
    let octets = [datagram(|_| {}, &[9; 31]), vec![7; 5]].concat();
    let mut data = Message::from_octets(&octets);
    data.meta_mut().checksum = Checksum::Sum(Sum::of(&octets));
    bench.receive(eth, Unit { data, ..Unit::default() });
    let units = bench.units(user);
    let sum = Sum::of(&[9; 31]);
    assert_eq!(units[0].data.meta().checksum, Checksum::Sum(sum));
}

#[test]
fn limits_follow_what_the_layer_below_says() {
    let (mut bench, eth, user) = bench(host(1500));
    bench.say(user, Request::Manage(Box::new(Manage::Limits)));
    for (unit, burst) in [(576, 4), (9000, 8)] {
        let limits = Report::Limits { unit, burst };
        bench.indicate(eth, Indication::Report(Box::new(limits)));
    }
    let limits: Vec<(u32, u32)> = bench
        .reports(user)
        .iter()
        .map(|report| {
            let Report::Limits { unit, burst } = report else { panic!("{report:?}") };
            (*unit, *burst)
        })
        .collect();
    assert_eq!(limits, [(1480, 1), (556, 4), (1480, 8)]);
}

#[test]
fn an_interface_that_goes_down_takes_its_routes_along() {
    let (mut bench, eth, user) = bench(host(1500));
    bench.indicate(eth, Indication::Report(Box::new(Report::Down)));
    bench.send(user, to(B, &[1]));
    assert!(bench.sent().is_empty());
    let reports = bench.reports(user);
    let [Report::Down, Report::Special(state), Report::Unreachable { problem, .. }] = &reports[..] else {
        panic!("{reports:?}")
    };
    assert_eq!(state.get(), Some(&InterfaceState { interface: 0, is_up: false }));
    assert_eq!(*problem, Problem::NoRoute);
    bench.indicate(eth, Indication::Report(Box::new(Report::Up)));
    bench.send(user, to(B, &[1]));
    assert_eq!(bench.sent().len(), 1);
}

#[test]
fn a_source_that_is_not_ours_is_not_sent() {
    let (mut bench, _, user) = bench(host(1500));
    let source = Address::from(B);
    bench.send(user, Unit { source, ..to(B, &[1]) });
    assert!(bench.sent().is_empty());
    assert_eq!(bench.drops("ip", "source is not ours"), 1);
}

proptest! {
    #[test]
    fn no_octets_make_it_panic(octets: Vec<u8>, forwarding: bool) {
        let config = Config { forwarding, ..host(1500) };
        let (mut bench, eth, _) = bench(config);
        bench.octets(eth, &octets);
        // Once more behind a header that is right.
        bench.octets(eth, &datagram(|header| header.protocol = 1, &octets));
    }

    #[test]
    fn no_header_makes_it_panic(octets in prop::collection::vec(any::<u8>(), 20..100)) {
        let (mut bench, eth, _) = bench(Config { forwarding: true, ..host(1500) });
        if let Ok((mut header, _)) = Header::parse_quoted(&octets) {
            header.total_length = 0;
            for destination in [A, B, header.destination] {
                header.destination = destination;
                bench.octets(eth, &datagram(|it| *it = header, &octets));
            }
        }
        bench.pass(Duration::from_secs(100));
    }
}
