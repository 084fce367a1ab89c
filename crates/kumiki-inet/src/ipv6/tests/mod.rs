//! Behaviour of IPv6, seen from its users and its devices.

use core::net::Ipv6Addr;
use kumiki_wire::inet::IpParameters;
use kumiki_wire::numbering::IP_PROTOCOL;

use kumiki_graph::{
    Address, DeviceId, Duration, Indication, Key, Manage, NodeId, Problem, Report, Request, Unit, UnitOptions,
};
use kumiki_octets::{Message, Sum};
use kumiki_wire::inet::icmpv6::{Header as IcmpHeader, Message as Icmp, Router};
use kumiki_wire::inet::ipv6::extension::Fragment;
use kumiki_wire::inet::ipv6::{ALL_NODES, Header, LEN, next_header, pseudo_header, solicited_node};
use proptest::prelude::*;

use super::*;
use crate::LinkAddresses;
use kumiki_testkit::bench::{Bench, hex};

mod assignment;
mod discovery;
mod errors;
mod fragments;

const A: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
const B: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);
/// Behind a router.
const C: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 3);
const TCP: Key = Key::of(IP_PROTOCOL, 6);
const UDP: Key = Key::of(IP_PROTOCOL, 17);

fn host() -> Config {
    Config::host(Interface::new("p2p", A, 64))
}

/// IPv6 on the device `p2p`, with one user for TCP and UDP.
fn bench(config: Config) -> (Bench, DeviceId, NodeId) {
    let mut bench = Bench::new();
    let device = bench.device("p2p");
    bench.node("ip", &["p2p"], Ip::new(config).unwrap());
    let user = bench.user("user", "ip", &[TCP, UDP]);
    bench.start();
    bench.requests();
    (bench, device, user)
}

fn to(destination: Ipv6Addr, data: &[u8]) -> Unit {
    Unit { destination: Address::from(destination), data: Message::from_octets(data), ..Unit::default() }
}

/// A packet from B to A as it comes from a device.
fn packet(change: impl FnOnce(&mut Header), data: &[u8]) -> Vec<u8> {
    let mut header = Header {
        payload_length: u16::try_from(data.len()).unwrap(),
        next_header: 17,
        source: B,
        destination: A,
        ..Header::default()
    };
    change(&mut header);
    let mut octets = vec![0; LEN];
    header.emit(&mut octets);
    octets.extend_from_slice(data);
    octets
}

/// An ICMPv6 message with its checksum, in a packet as `change` has it.
fn icmp(message: Icmp, data: &[u8], change: impl Fn(&mut Header)) -> Vec<u8> {
    let mut header = IcmpHeader { message, checksum: 0 };
    let mut octets = vec![0; header.len()];
    header.emit(&mut octets);
    octets.extend_from_slice(data);
    let outer = |header: &mut Header| {
        header.next_header = next_header::ICMPV6;
        change(header);
    };
    let mut ip = Header { source: B, destination: A, ..Header::default() };
    outer(&mut ip);
    let len = u32::try_from(octets.len()).unwrap();
    let pseudo = pseudo_header(ip.source, ip.destination, next_header::ICMPV6, len);
    header.checksum = Sum::of(&pseudo).plus(Sum::of(&octets)).checksum();
    let end = header.len();
    header.emit(&mut octets[..end]);
    packet(outer, &octets)
}

fn counters(bench: &Bench) -> Counters {
    let node = bench.graph.node("ip").unwrap();
    *bench.graph.protocol::<Ip>(node).unwrap().counters()
}

fn discovered(bench: &Bench) -> DiscoveryCounters {
    let node = bench.graph.node("ip").unwrap();
    *bench.graph.protocol::<Ip>(node).unwrap().discovered()
}

/// Header and data of what was sent.
fn parsed(octets: &[u8]) -> (Header, Vec<u8>) {
    let (header, len) = Header::parse(octets, octets.len()).unwrap();
    (header, octets[len..].to_vec())
}

/// The ICMPv6 message in what was sent, its checksum right.
fn said(octets: &[u8]) -> (Header, Icmp, Vec<u8>) {
    let (header, data) = parsed(octets);
    assert_eq!(header.next_header, next_header::ICMPV6);
    let len = u32::try_from(data.len()).unwrap();
    let pseudo = pseudo_header(header.source, header.destination, next_header::ICMPV6, len);
    assert!(Sum::of(&pseudo).plus(Sum::of(&data)).is_valid());
    let (icmp, len) = IcmpHeader::parse(&data).unwrap();
    (header, icmp.message, data[len..].to_vec())
}

#[test]
fn a_unit_becomes_a_packet_octet_by_octet() {
    let (mut bench, _, user) = bench(host());
    let how = IpParameters { ttl: 3, tos: 0xb9, ..IpParameters::NONE };
    let options = UnitOptions { under: Some(UDP), ..UnitOptions::of(how) };
    let unit = Unit { options, ..to(B, &[1, 2, 3, 4]) };
    bench.send(user, unit);
    let addresses = "fd00 0000 0000 0000 0000 0000 0000 0001 fd00 0000 0000 0000 0000 0000 0000 0002";
    let expected = hex(&format!("6b90 0000 0004 1103 {addresses} 01020304"));
    assert_eq!(bench.sent_octets(), [expected]);
}

#[test]
fn a_packet_for_us_goes_to_the_user_of_its_protocol_without_padding_and_headers() {
    let (mut bench, device, user) = bench(host());
    // Hop-by-hop options with nothing but padding, then destination options with one that may be skipped.
    let chain = hex("3c 00 01 04 00000000  11 00 3e 02 0909 00 00");
    let octets = packet(|it| it.next_header = 0, &[&chain[..], &[5, 6]].concat());
    bench.octets(device, &[octets, vec![0; 20]].concat());
    let units = bench.units(user);
    assert_eq!(units[0].data.to_vec(), [5, 6]);
    assert_eq!(units[0].source, Address::from(B));
    assert_eq!(units[0].destination, Address::from(A));
    assert_eq!(units[0].options.under, Some(UDP));
}

#[test]
fn a_header_in_pieces_is_read() {
    let (mut bench, device, user) = bench(host());
    let chain = hex("3c 00 01 04 00000000  11 00 01 04 00000000");
    let mut data = Message::new();
    for octet in packet(|it| it.next_header = 0, &[&chain[..], &[5]].concat()) {
        data.append_octets(&[octet]);
    }
    let unit = Unit { data, ..Unit::default() };
    bench.receive(device, unit);
    assert_eq!(bench.units(user)[0].data.to_vec(), [5]);
}

#[test]
fn addresses_that_nobody_can_have_are_dropped_in_silence() {
    let (mut bench, device, user) = bench(host());
    for source in ["::1", "ff02::1"] {
        let source = source.parse().unwrap();
        bench.octets(device, &packet(|it| it.source = source, &[1]));
    }
    for destination in ["::1", "::", "fd00::9", "ff01::1", "ff02::9"] {
        let destination = destination.parse().unwrap();
        bench.octets(device, &packet(|it| it.destination = destination, &[1]));
    }
    assert!(bench.heard(user).is_empty());
    assert!(bench.sent().is_empty());
    assert_eq!(counters(&bench).in_addr_errors, 7);
}

#[test]
fn groups_that_every_node_is_in_and_those_joined_are_heard() {
    let group: Ipv6Addr = "ff05::1:3".parse().unwrap();
    let config = Config { groups: vec![group], ..host() };
    let (mut bench, device, user) = bench(config);
    for destination in [ALL_NODES, solicited_node(A), group] {
        bench.octets(device, &packet(|it| it.destination = destination, &[1]));
    }
    let units = bench.units(user);
    assert_eq!(units.len(), 3);
    assert!(units.iter().all(|unit| unit.options.group));
}

#[test]
fn a_line_has_an_address_of_its_own_and_it_is_used_there() {
    let (mut bench, device, user) = bench(host());
    let own: Ipv6Addr = "fe80::1".parse().unwrap();
    let peer: Ipv6Addr = "fe80::2".parse().unwrap();
    bench.send(user, to(peer, &[1]));
    bench.send(user, to(C, &[1]));
    let sent = bench.sent_octets();
    assert_eq!(parsed(&sent[0]).0.source, own);
    // There is no route to C.
    assert_eq!(sent.len(), 1);
    let octets = packet(|it| (it.source, it.destination) = (peer, own), &[1]);
    bench.octets(device, &octets);
    assert_eq!(bench.units(user).len(), 1);
}

#[test]
fn what_is_for_ourselves_stays_here() {
    let (mut bench, _, user) = bench(host());
    bench.send(user, to(A, &[1]));
    bench.send(user, to(Ipv6Addr::LOCALHOST, &[2]));
    assert!(bench.sent().is_empty());
    assert_eq!(bench.units(user).len(), 2);
}

#[test]
fn routes_are_told_with_source_and_room() {
    let (mut bench, _, user) = bench(host());
    for to in [B, C] {
        let to = Address::from(to);
        bench.say(user, Request::Manage(Box::new(Manage::Route { to })));
    }
    let told: Vec<(Address, u32)> = bench
        .reports(user)
        .iter()
        .map(|report| {
            let Report::Route { source, unit, .. } = report else { panic!("{report:?}") };
            (*source, *unit)
        })
        .collect();
    assert_eq!(told, [(Address::from(A), 1460), (Address::NONE, 0)]);
}

#[test]
fn a_configuration_that_cannot_be_is_refused_with_what_could_be() {
    let with = |change: fn(&mut Interface)| {
        let mut interface = Interface::new("p2p", A, 64);
        change(&mut interface);
        Ip::new(Config::host(interface)).unwrap_err().to_string()
    };
    assert!(with(|it| it.mtu = 1279).contains("1280 to 65535"));
    assert!(with(|it| it.addresses[0].1 = 129).contains("0 to 128"));
    assert!(with(|it| it.addresses[0].0 = ALL_NODES).contains("unicast"));
    assert!(with(|it| it.link_local = Some(A)).contains("fe80::/10"));
    let routes = vec![Route::default_by(C)];
    let config = Config { routes, ..host() };
    assert!(Ip::new(config).unwrap_err().to_string().contains("nowhere"));
}

proptest! {
    #[test]
    fn no_octets_make_it_panic(octets: Vec<u8>, next: u8, forwarding: bool, far: bool) {
        let config = Config { forwarding, ..host() };
        let (mut bench, device, _) = bench(config);
        bench.octets(device, &octets);
        let destination = if far { C } else { A };
        for next in [next, 0, 43, 44, 58, 60] {
            let octets = packet(|it| (it.next_header, it.destination) = (next, destination), &octets);
            bench.octets(device, &octets);
        }
        bench.pass(Duration::from_secs(100));
    }
}

#[test]
fn the_address_on_the_link_is_the_one_that_ppp_has_agreed_on() {
    let (mut bench, device, user) = bench(host());
    let local = "fe80::1234:5678:9abc:def0".parse().unwrap();
    let peer: Ipv6Addr = "fe80::2".parse().unwrap();
    let agreed = Report::special(LinkAddresses { local: Address::from(local), remote: Address::from(peer) });
    bench.indicate(device, Indication::Report(Box::new(agreed)));
    let node = bench.graph.node("ip").unwrap();
    let ip = bench.graph.protocol::<Ip>(node).unwrap();
    assert_eq!(ip.addresses().collect::<Vec<_>>(), [A, local]);
    bench.send(user, to(peer, &[1]));
    let sent = bench.sent_octets();
    let (header, _) = Header::parse(&sent[0], sent[0].len()).unwrap();
    assert_eq!((header.source, header.destination), (local, peer));
}
