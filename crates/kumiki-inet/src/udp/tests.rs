use core::net::Ipv4Addr;

use kumiki_graph::{Credit, DeviceId, NodeId, Quality};
use kumiki_octets::Message;
use kumiki_wire::inet::{Sharing, ipv4};
use proptest::prelude::*;

use super::sockets::DYNAMIC;
use super::*;
use crate::ip::{self, Ip};
use crate::ipv6;
use kumiki_testkit::bench::{Bench, hex};

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const ANY: Ipv4Addr = Ipv4Addr::UNSPECIFIED;

fn socket_address(ip: impl Into<IpAddr>, port: u16) -> Address {
    Address::from(SocketAddr::new(ip.into(), port))
}

fn bench(config: Config) -> (Bench, DeviceId, NodeId) {
    let mut bench = Bench::new();
    let eth = bench.device("eth");
    let ip = ip::Config { path_mtu_discovery: false, ..ip::Config::host(ip::Interface::new("eth", A, 24)) };
    bench.node("ip", &["eth"], Ip::new(ip).unwrap());
    bench.node("udp", &["ip"], Udp::new(config));
    let user = bench.user("user", "udp", &[]);
    bench.start();
    bench.requests();
    (bench, eth, user)
}

fn handle(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

fn open(local: Address, remote: Option<Address>) -> Request {
    Request::Open(Box::new(Open {
        user: handle(7),
        mode: match remote {
            None => Mode::Passive { backlog: 0 },
            Some(_) => Mode::Active,
        },
        local,
        remote: remote.unwrap_or_default(),
        quality: Quality::default(),
        ..Open::default()
    }))
}

fn opened(bench: &mut Bench, user: NodeId, local: Address) -> Box<Opened> {
    bench.say(user, open(local, None));
    let Some(Indication::Opened(opened)) = bench.heard(user).pop() else { panic!("{local} was refused") };
    opened
}

fn refused(bench: &mut Bench, user: NodeId, request: Request) -> bool {
    bench.say(user, request);
    matches!(bench.heard(user)[..], [Indication::Aborted { reason: Reason::BadAddress, .. }])
}

fn to(peer: Address, data: &[u8]) -> Unit {
    Unit { destination: peer, data: Message::from_octets(data), ..Unit::default() }
}

/// A UDP datagram from B port 9 to A port 7, with a right checksum.
fn datagram(data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len() + 8).unwrap();
    let mut udp = [&[0, 9, 0, 7], &length.to_be_bytes()[..], &[0, 0], data].concat();
    let sum = pseudo(B.into(), A.into(), length).plus(Sum::of(&udp)).checksum();
    udp[6..8].copy_from_slice(&udp::on_wire(sum).to_be_bytes());
    in_ip(&udp)
}

fn in_ip(udp: &[u8]) -> Vec<u8> {
    let header = ipv4::Header {
        total_length: u16::try_from(udp.len() + 20).unwrap(),
        protocol: 17,
        source: B,
        destination: A,
        ..ipv4::Header::default()
    };
    let mut octets = vec![0; 20];
    header.emit_summed(&mut octets);
    octets.extend_from_slice(udp);
    octets
}

#[test]
fn a_datagram_is_right_octet_by_octet() {
    let (mut bench, _, user) = bench(Config::default());
    opened(&mut bench, user, socket_address(ANY, 1024));
    bench.send(user, to(socket_address(B, 7), b"kumiki"));
    let sent = bench.sent_octets();
    // Pseudo-header 0a00 0001 0a00 0002 0011 000e, then 0400 0007 000e 6b75 6d69 6b69: the sum is 5c7f.
    assert_eq!(sent[0][20..], hex("0400 0007 000e a380 6b756d696b69"));
    assert_eq!(sent[0][12..20], hex("0a000001 0a000002"));
}

#[test]
fn without_checksums_the_field_is_zero() {
    let (mut bench, _, user) = bench(Config { checksum: false });
    opened(&mut bench, user, socket_address(A, 1024));
    bench.send(user, to(socket_address(B, 7), b"kumiki"));
    assert_eq!(bench.sent_octets()[0][26..28], [0, 0]);
}

#[test]
fn an_open_port_gets_its_datagrams() {
    let (mut bench, eth, user) = bench(Config::default());
    let opened = opened(&mut bench, user, socket_address(ANY, 7));
    assert_eq!(opened.local, socket_address(ANY, 7));
    assert_eq!(opened.unit, 65507);
    bench.octets(eth, &datagram(b"hello"));
    // No checksum, and an octet that belongs to nobody.
    bench.octets(eth, &in_ip(&hex("0009 0007 0009 0000 61 62")));
    let units = bench.units(user);
    assert_eq!(units[0].source, socket_address(B, 9));
    assert_eq!(units[0].destination, socket_address(A, 7));
    assert_eq!(units[0].data.to_vec(), b"hello");
    assert_eq!(units[1].data.to_vec(), b"a");
}

#[test]
fn what_is_damaged_is_dropped() {
    let (mut bench, eth, user) = bench(Config::default());
    opened(&mut bench, user, socket_address(ANY, 7));
    let mut bad = datagram(b"hello");
    bad[30] ^= 4;
    bench.octets(eth, &bad);
    bench.octets(eth, &in_ip(&hex("0009 0007 0007 0000")));
    bench.octets(eth, &in_ip(&hex("0009 0007 0064 0000")));
    bench.octets(eth, &in_ip(&hex("0009 0007")));
    assert!(bench.heard(user).is_empty());
    assert!(bench.sent().is_empty());
    let node = bench.graph.node("udp").unwrap();
    let counters = bench.graph.protocol::<Udp>(node).unwrap().counters();
    assert_eq!(counters.in_errors, 4);
}

#[test]
fn a_closed_port_is_unreachable_and_the_datagram_is_quoted_whole() {
    let (mut bench, eth, user) = bench(Config::default());
    let octets = datagram(b"hello");
    bench.octets(eth, &octets);
    let sent = bench.sent_octets();
    assert_eq!(sent[0][20..22], [3, 3]);
    assert_eq!(sent[0][28..], octets);
    // A port that was given back is closed too.
    let session = opened(&mut bench, user, socket_address(ANY, 7)).provider;
    bench.say(user, Request::Release { session, data: None });
    assert!(matches!(
        bench.heard(user)[..],
        [Indication::Closed { session }] if session == handle(7)
    ));
    bench.octets(eth, &octets);
    assert_eq!(bench.sent_octets().len(), 1);
    // Its old handle closes nothing.
    opened(&mut bench, user, socket_address(ANY, 7));
    bench.say(user, Request::Release { session, data: None });
    bench.octets(eth, &octets);
    assert_eq!(bench.units(user).len(), 1);
}

#[test]
fn one_port_has_one_user() {
    let (mut bench, _, user) = bench(Config::default());
    opened(&mut bench, user, socket_address(ANY, 7));
    assert!(refused(&mut bench, user, open(socket_address(A, 7), None)));
    assert!(refused(&mut bench, user, open(Address::from(A), None)));
    let nobody = Some(Address::NONE);
    assert!(refused(&mut bench, user, open(Address::NONE, nobody)));
}

/// A socket of the user that calls it `number`, and whether it was opened; the layer's handle of it.
fn shared(bench: &mut Bench, user: NodeId, number: u32, local: Address, sharing: Sharing) -> Option<Handle> {
    let quality = Quality { special: IpQuality { sharing, ..IpQuality::NONE }.into(), ..Quality::default() };
    let mode = Mode::Passive { backlog: 0 };
    bench.say(user, Request::Open(Box::new(Open { user: handle(number), mode, local, quality, ..Open::default() })));
    match bench.heard(user).pop() {
        Some(Indication::Opened(opened)) => Some(opened.provider),
        _ => None,
    }
}

/// Which of the user's sockets have got something.
fn got(bench: &mut Bench, user: NodeId) -> Vec<u32> {
    bench.units(user).iter().map(|unit| unit.session.unwrap().index).collect()
}

#[test]
fn an_address_is_shared_by_those_who_agree() {
    let (mut bench, _, user) = bench(Config::default());
    let mut opens = |number, local, sharing| shared(&mut bench, user, number, local, sharing).is_some();
    assert!(opens(1, socket_address(A, 7), Sharing::Alone));
    assert!(opens(2, socket_address(B, 7), Sharing::Alone), "another address");
    assert!(!opens(3, socket_address(A, 7), Sharing::Latest));
    assert!(opens(3, socket_address(ANY, 8), Sharing::Latest));
    assert!(opens(4, socket_address(A, 8), Sharing::Latest));
    assert!(!opens(5, socket_address(A, 8), Sharing::Spread));
    assert!(!opens(5, socket_address(A, 8), Sharing::Alone));
}

#[test]
fn a_socket_of_one_interface_hears_and_speaks_there_alone() {
    let mut bench = Bench::new();
    let media = ["one", "two"].map(|name| bench.device(name));
    let on = |name, own| ip::Interface::new(name, own, 24);
    let interfaces = vec![on("one", A), on("two", Ipv4Addr::new(10, 1, 0, 1))];
    bench.node("ip", &["one", "two"], Ip::new(ip::Config { interfaces, ..ip::Config::host(on("one", A)) }).unwrap());
    bench.node("udp", &["ip"], Udp::new(Config::default()));
    let user = bench.user("user", "udp", &[]);
    bench.start();
    bench.requests();
    let mut opens = |number, interface| {
        let quality = Quality { special: IpQuality { interface, ..IpQuality::NONE }.into(), ..Quality::default() };
        let (mode, local) = (Mode::Passive { backlog: 0 }, socket_address(ANY, 7));
        let open = Open { user: handle(number), mode, local, quality, ..Open::default() };
        bench.say(user, Request::Open(Box::new(open)));
        match bench.heard(user).pop() {
            Some(Indication::Opened(opened)) => Some(opened.provider),
            _ => None,
        }
    };
    assert!(opens(1, Some(0)).is_some());
    assert!(opens(2, Some(0)).is_none() && opens(2, None).is_none(), "somebody has it there");
    let second = opens(2, Some(1)).unwrap();
    bench.octets(media[0], &datagram(b"x"));
    assert_eq!(got(&mut bench, user), [1]);
    // A is an address of the host, by whatever interface.
    bench.octets(media[1], &datagram(b"x"));
    assert_eq!(got(&mut bench, user), [2]);
    // The network of B is on the other one; to all hosts it may be from none.
    let send = |bench: &mut Bench, from, peer| {
        let unit = Unit { session: Some(second), source: from, ..to(socket_address(peer, 9), b"x") };
        bench.send(user, unit);
        bench.sent().iter().map(|(device, unit)| (*device, unit.data.to_vec()[12..16].to_vec())).collect::<Vec<_>>()
    };
    assert_eq!(send(&mut bench, socket_address(A, 7), B), []);
    assert_eq!(send(&mut bench, socket_address(ANY, 7), Ipv4Addr::BROADCAST), [(media[1], vec![0; 4])]);
    assert_eq!(send(&mut bench, Address::NONE, Ipv4Addr::BROADCAST), []);
}

#[test]
fn what_fits_best_gets_the_datagram() {
    let (mut bench, eth, user) = bench(Config::default());
    let any = shared(&mut bench, user, 1, socket_address(ANY, 7), Sharing::Latest).unwrap();
    bench.octets(eth, &datagram(b"x"));
    assert_eq!(got(&mut bench, user), [1]);
    let exact = shared(&mut bench, user, 2, socket_address(A, 7), Sharing::Latest).unwrap();
    let latest = shared(&mut bench, user, 3, socket_address(A, 7), Sharing::Latest).unwrap();
    shared(&mut bench, user, 4, socket_address(ANY, 7), Sharing::Latest).unwrap();
    bench.octets(eth, &datagram(b"x"));
    assert_eq!(got(&mut bench, user), [3], "the address, and of two the last");
    let peer = |session, remote| Request::Manage(Box::new(Manage::special(Peer { session, remote })));
    let remote = Some(SocketAddr::new(B.into(), 9));
    bench.say(user, peer(any, remote));
    bench.octets(eth, &datagram(b"x"));
    assert_eq!(got(&mut bench, user), [1], "the peer before the address");
    bench.say(user, peer(any, Some(SocketAddr::new(B.into(), 10))));
    bench.say(user, peer(latest, Some(SocketAddr::new(B.into(), 10))));
    bench.octets(eth, &datagram(b"x"));
    assert_eq!(got(&mut bench, user), [2], "those with other peers do not take it");
    bench.say(user, Request::Abort { session: exact, reason: Reason::User, data: None });
    bench.say(user, peer(latest, None));
    bench.octets(eth, &datagram(b"x"));
    assert_eq!(got(&mut bench, user), [3]);
    // Its own address says by which of them a unit goes, and its handle says so for certain.
    bench.send(user, Unit { session: Some(any), ..to(Address::NONE, b"x") });
    assert_eq!(bench.sent_octets()[0][22..24], [0, 10]);
}

#[test]
fn peers_are_spread_over_those_who_say_so() {
    let (mut bench, eth, user) = bench(Config { checksum: false });
    for number in 0..4 {
        shared(&mut bench, user, number, socket_address(ANY, 7), Sharing::Spread).unwrap();
    }
    let mut each = [0; 4];
    for port in 1000..1400_u16 {
        let [high, low] = port.to_be_bytes();
        let octets = in_ip(&[high, low, 0, 7, 0, 9, 0, 0, 1]);
        bench.octets(eth, &octets);
        bench.octets(eth, &octets);
        let [first, second] = got(&mut bench, user)[..] else { panic!("two were sent") };
        assert_eq!(first, second, "one peer, one socket");
        each[first as usize] += 1;
    }
    assert!(each.iter().all(|it| *it > 60), "{each:?}");
}

#[test]
fn a_group_is_heard_by_all_of_its_members_and_by_the_sender_where_it_says_so() {
    let (mut bench, eth, user) = bench(Config { checksum: false });
    let group = Ipv4Addr::new(239, 1, 2, 3);
    for (number, local) in [(1, ANY), (2, group), (3, A)] {
        shared(&mut bench, user, number, socket_address(local, 7), Sharing::Latest).unwrap();
    }
    let mut octets = in_ip(&[0, 9, 0, 7, 0, 9, 0, 0, 1]);
    octets[16..20].copy_from_slice(&group.octets());
    octets[10..12].fill(0);
    let sum = ipv4::checksum(&octets[..20]);
    octets[10..12].copy_from_slice(&sum.to_be_bytes());
    bench.octets(eth, &octets);
    assert!(got(&mut bench, user).is_empty(), "nobody has joined");
    let other = bench.user("other", "udp", &[]);
    let join = |member| Request::Manage(Box::new(Manage::Group { group: Address::from(group), member }));
    bench.say(user, join(true));
    bench.say(other, join(true));
    bench.say(other, join(false));
    bench.octets(eth, &octets);
    assert_eq!(got(&mut bench, user), [1, 2], "not the one at another address");
    let how = |to_ourselves| UnitOptions::of(IpParameters { to_ourselves, ..IpParameters::NONE });
    for (to_ourselves, heard) in [(true, vec![1, 2]), (false, vec![])] {
        let unit = to(socket_address(group, 7), b"x");
        bench.send(user, Unit { source: socket_address(group, 7), options: how(to_ourselves), ..unit });
        assert_eq!(got(&mut bench, user), heard);
        assert_eq!(bench.sent_octets()[0][12..16], A.octets(), "a group is nobody's source");
    }
    bench.say(user, join(false));
    bench.octets(eth, &octets);
    assert!(got(&mut bench, user).is_empty());
}

#[test]
fn a_user_neither_closes_nor_uses_the_socket_of_another() {
    let (mut bench, eth, user) = bench(Config::default());
    let session = opened(&mut bench, user, socket_address(A, 7)).provider;
    let other = bench.user("other", "udp", &[]);
    bench.say(other, Request::Release { session, data: None });
    let source = socket_address(A, 7);
    let unit = to(socket_address(B, 9), b"x");
    bench.send(other, Unit { source, ..unit });
    assert!(bench.heard(other).is_empty() && bench.sent().is_empty());
    bench.octets(eth, &datagram(b"still there"));
    assert_eq!(bench.units(user).len(), 1);
}

#[test]
fn an_open_can_be_taken_back() {
    let (mut bench, eth, user) = bench(Config::default());
    opened(&mut bench, user, socket_address(ANY, 7));
    bench.say(user, Request::Cancel { user: handle(7) });
    assert!(bench.heard(user).is_empty());
    bench.octets(eth, &datagram(b"hello"));
    assert_eq!(bench.sent_octets()[0][20..22], [3, 3]);
}

#[test]
fn port_zero_is_a_dynamic_port() {
    let (mut bench, _, user) = bench(Config::default());
    let first = opened(&mut bench, user, Address::NONE).local.socket().unwrap();
    let second = opened(&mut bench, user, socket_address(A, 0)).local.socket().unwrap();
    assert!(DYNAMIC.contains(&first.port()) && DYNAMIC.contains(&second.port()));
    assert_ne!(first.port(), second.port());
}

#[test]
fn an_active_open_has_one_peer() {
    let (mut bench, eth, user) = bench(Config::default());
    let other = socket_address(B, 10);
    bench.say(user, open(socket_address(A, 7), Some(other)));
    bench.send(user, to(Address::NONE, b"x"));
    assert_eq!(bench.sent_octets()[0][22..24], [0, 10]);
    bench.octets(eth, &datagram(b"from port 9"));
    assert!(bench.units(user).is_empty());
    assert_eq!(bench.sent_octets()[0][20..22], [3, 3]);
}

#[test]
fn an_error_reaches_the_user_with_sockets_for_addresses() {
    let (mut bench, eth, user) = bench(Config::default());
    opened(&mut bench, user, socket_address(ANY, 1024));
    bench.send(user, to(socket_address(B, 7), b"kumiki"));
    let sent = bench.sent_octets().remove(0);
    let mut icmp = [&hex("0303 0000 00000000")[..], &sent].concat();
    let sum = Sum::of(&icmp).checksum();
    icmp[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut octets = in_ip(&icmp);
    octets[9] = 1;
    let sum = ipv4::checksum(&octets[..20]);
    octets[10..12].copy_from_slice(&sum.to_be_bytes());
    bench.octets(eth, &octets);
    let reports = bench.reports(user);
    let [Report::Unreachable { source, destination, problem, start }] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!(*source, socket_address(A, 1024));
    assert_eq!(*destination, socket_address(B, 7));
    assert_eq!(*problem, Problem::Hard { kind: 3, code: 3 });
    assert_eq!(start.to_vec(), b"kumiki");
}

#[test]
fn without_a_route_the_user_is_told() {
    let (mut bench, _, user) = bench(Config::default());
    opened(&mut bench, user, socket_address(ANY, 1024));
    let far = socket_address(Ipv4Addr::new(8, 8, 8, 8), 7);
    bench.send(user, to(far, b"kumiki"));
    assert!(bench.sent().is_empty());
    let reports = bench.reports(user);
    assert!(matches!(&reports[..], [Report::Unreachable { destination, .. }] if *destination == far));
}

#[test]
fn a_unit_from_a_socket_of_nobody_or_too_long_is_not_sent() {
    let (mut bench, _, user) = bench(Config::default());
    bench.send(user, to(socket_address(B, 7), b"x"));
    opened(&mut bench, user, socket_address(A, 1024));
    bench.send(user, Unit { source: socket_address(A, 1025), ..to(socket_address(B, 7), b"x") });
    bench.send(user, to(socket_address(B, 7), &vec![0; 65508]));
    bench.send(user, to(Address::from(B), b"x"));
    assert!(bench.sent().is_empty());
    let node = bench.graph.node("udp").unwrap();
    let counters = *bench.graph.protocol::<Udp>(node).unwrap().counters();
    assert_eq!((counters.out_discards, counters.out_datagrams), (4, 0));
    // The longest that fits goes out in pieces.
    bench.send(user, to(socket_address(B, 7), &vec![0; 65507]));
    assert_eq!(bench.sent().len(), 45);
}

#[test]
fn broadcasts_to_closed_ports_are_not_answered() {
    let (mut bench, eth, _) = bench(Config::default());
    let mut octets = datagram(b"hello");
    octets[26..28].fill(0);
    octets[16..20].fill(255);
    let sum = ipv4::checksum(&octets[..20]);
    octets[10..12].copy_from_slice(&sum.to_be_bytes());
    bench.octets(eth, &octets);
    assert!(bench.sent().is_empty());
}

proptest! {
    #[test]
    fn what_one_sends_the_other_gets(data: Vec<u8>, checksum: bool) {
        let (mut bench, eth, user) = bench(Config { checksum });
        opened(&mut bench, user, socket_address(ANY, 7));
        bench.send(user, to(socket_address(A, 7), &data));
        bench.send(user, to(socket_address(B, 9), &data));
        prop_assert_eq!(bench.units(user)[0].data.to_vec(), &data[..]);
        prop_assert_eq!(bench.sent_octets()[0][28..].to_vec(), &data[..]);
        bench.octets(eth, &datagram(&data));
        prop_assert_eq!(bench.units(user)[0].data.to_vec(), &data[..]);
    }

    #[test]
    fn no_octets_make_it_panic(octets: Vec<u8>) {
        let (mut bench, eth, user) = bench(Config::default());
        opened(&mut bench, user, socket_address(ANY, 7));
        bench.octets(eth, &in_ip(&octets));
    }
}

/// UDP on IPv6 with the address fd00::1.
fn bench_six() -> (Bench, DeviceId, NodeId) {
    let mut bench = Bench::new();
    let eth = bench.device("eth");
    let own = "fd00::1".parse().unwrap();
    let config = ipv6::Config::host(ipv6::Interface::new("eth", own, 64));
    bench.node("ip", &["eth"], ipv6::Ip::new(config).unwrap());
    let without = Config { checksum: false };
    bench.node("udp", &["ip"], Udp::new(without));
    let user = bench.user("user", "udp", &[]);
    bench.start();
    bench.requests();
    (bench, eth, user)
}

#[test]
fn over_ipv6_a_datagram_always_has_a_checksum() {
    let (mut bench, eth, user) = bench_six();
    let peer: IpAddr = "fd00::2".parse().unwrap();
    opened(&mut bench, user, socket_address(Ipv6Addr::UNSPECIFIED, 1024));
    bench.send(user, to(socket_address(peer, 7), b"kumiki"));
    let mut octets = bench.sent_octets().remove(0);
    let sum = Sum::of(&octets[8..40]).add_u16(17).add_u16(14);
    assert!(sum.plus(Sum::of(&octets[40..])).is_valid());
    assert_ne!(octets[46..48], [0, 0]);
    // The answer, addresses and ports turned round: the same sum.
    let turned = [&octets[24..40], &octets[8..24], &octets[42..44], &octets[40..42]].concat();
    octets[8..44].copy_from_slice(&turned);
    bench.octets(eth, &octets);
    let units = bench.units(user);
    assert_eq!(units[0].source, socket_address(peer, 7));
    assert_eq!(units[0].data.to_vec(), b"kumiki");
    // Without one it is dropped.
    octets[46..48].copy_from_slice(&[0, 0]);
    bench.octets(eth, &octets);
    assert!(bench.units(user).is_empty());
    assert_eq!(bench.drops("udp", "checksum wrong"), 1);
}

#[test]
fn over_ipv6_a_port_that_nobody_has_is_told_in_its_own_words() {
    let (mut bench, eth, user) = bench_six();
    opened(&mut bench, user, socket_address(Ipv6Addr::UNSPECIFIED, 1024));
    let peer: IpAddr = "fd00::2".parse().unwrap();
    bench.send(user, to(socket_address(peer, 7), b"kumiki"));
    let mut octets = bench.sent_octets().remove(0);
    let turned = [&octets[24..40], &octets[8..24]].concat();
    octets[8..40].copy_from_slice(&turned);
    bench.octets(eth, &octets);
    let error = bench.sent_octets().remove(0);
    assert_eq!((error[6], &error[40..42]), (58, &[1, 4][..]));
    assert_eq!(error[48..], octets);
}

#[test]
fn a_socket_of_version_4_hears_nothing_of_version_6() {
    let (mut bench, _, user) = bench_six();
    opened(&mut bench, user, socket_address(ANY, 1024));
    let source: IpAddr = "fd00::1".parse().unwrap();
    opened(&mut bench, user, socket_address(source, 1025));
    let unit = Unit { source: socket_address(source, 1025), ..to(socket_address(source, 1024), b"x") };
    bench.send(user, unit);
    assert!(bench.units(user).is_empty());
    assert_eq!(bench.drops("udp", "port not open"), 1);
}

#[test]
fn a_full_receive_buffer_drops_until_the_user_has_read() {
    let (mut bench, eth, user) = bench(Config::default());
    let Request::Open(mut request) = open(socket_address(ANY, 7), None) else { panic!("an open") };
    request.quality.receive_buffer = Some(10);
    bench.say(user, Request::Open(request));
    let Some(Indication::Opened(opened)) = bench.heard(user).pop() else { panic!("refused") };
    let mut taken = Vec::new();
    for len in [6, 6, 4, 1] {
        bench.octets(eth, &datagram(&vec![0; len]));
        taken.push(bench.units(user).len());
    }
    assert_eq!(taken, [1, 0, 1, 0], "10 octets of room: 6 and 4 fit");
    let credit = Credit::octets(6);
    let session = opened.provider;
    bench.say(user, Request::Credit { session, credit });
    bench.octets(eth, &datagram(&[0; 6]));
    assert_eq!(bench.units(user).len(), 1);
    assert_eq!(bench.drops("udp", "receive buffer full"), 2);
}

#[test]
fn what_ip_has_of_addresses_is_asked_by_way_of_udp_and_sources_follow_it() {
    use crate::{Assignment, Authority, Change};
    let (mut bench, _, user) = bench(Config::default());
    opened(&mut bench, user, socket_address(ANY, 7));
    let source = |bench: &mut Bench| {
        bench.send(user, to(socket_address(B, 9), &[1]));
        bench.sent_octets().pop().map(|it| it[15])
    };
    assert_eq!(source(&mut bench), Some(1));
    let next = Ipv4Addr::new(10, 0, 0, 77);
    let added = Change::Address { address: next.into(), prefix: 24, probe: false };
    for change in [added, Change::NoAddress(A.into())] {
        let what = Assignment { interface: 0, by: Authority::Owner, change };
        bench.say(user, Request::Manage(Box::new(Manage::special(what))));
        let reports = bench.reports(user);
        let [Report::Special(told)] = &reports[..] else { panic!("{reports:?}") };
        assert_eq!(told.get(), Some(&what));
    }
    assert_eq!(source(&mut bench), Some(77), "the source that was remembered has gone");
}
