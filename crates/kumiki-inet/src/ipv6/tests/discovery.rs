//! Neighbours, routers, and our own addresses on an Ethernet.

use kumiki_wire::inet::ethernet::MacAddr;
use kumiki_wire::inet::icmpv6::option::{Opt, Prefix};

use super::*;
use crate::eth::{self, Eth};

const MAC_A: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const MAC_B: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
const ROUTER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0xff);

pub(super) fn discovery(duplicate_transmits: u8) -> Discovery {
    Discovery { duplicate_transmits, advertisements: Some(false), ..Discovery::default() }
}

/// IPv6 with the address A on an Ethernet, and its user.
pub(super) fn station(discovery: Discovery) -> (Bench, DeviceId, NodeId) {
    station_that(discovery, false)
}

/// The same; it may take what is for any address.
fn station_that(discovery: Discovery, any_destination: bool) -> (Bench, DeviceId, NodeId) {
    let interface = Interface { neighbours: Neighbours::Discover(discovery), ..Interface::new("eth", A, 64) };
    let mut bench = Bench::new();
    let device = bench.device("medium");
    let eth = Eth::new(eth::Config::new(MAC_A)).unwrap();
    bench.node("eth", &["medium"], eth);
    let config = Config { any_destination, ..Config::host(interface) };
    bench.node("ip", &["eth"], Ip::new(config).unwrap());
    let user = bench.user("user", "ip", &[TCP, UDP]);
    bench.start();
    (bench, device, user)
}

/// A frame to us.
fn frame(to: MacAddr, packet: &[u8]) -> Vec<u8> {
    let mut octets = vec![];
    octets.extend(to.0);
    octets.extend(MAC_B.0);
    octets.extend([0x86, 0xdd]);
    octets.extend(packet);
    octets
}

/// What was sent: to which station, and the packet.
pub(super) fn frames(bench: &mut Bench) -> Vec<(MacAddr, Vec<u8>)> {
    let to = |octets: &[u8]| MacAddr(octets[..6].try_into().unwrap());
    let sent = bench.sent_octets();
    sent.iter().map(|octets| (to(octets), octets[14..].to_vec())).collect()
}

fn option(option: Opt<'_>) -> Vec<u8> {
    let mut out = vec![0; option.len()];
    option.emit(&mut out);
    out
}

/// B's advertisement of its address.
fn advertisement(solicited: bool, overrides: bool, mac: MacAddr) -> Vec<u8> {
    let message = Icmp::NeighbourAdvertisement { router: false, solicited, overrides, target: B };
    let packet = icmp(message, &option(Opt::Target(mac)), |it| it.hop_limit = 255);
    frame(MAC_A, &packet)
}

/// Somebody's advertisement that an address is its own.
pub(super) fn claims(target: Ipv6Addr) -> Vec<u8> {
    let message = Icmp::NeighbourAdvertisement { router: false, solicited: false, overrides: true, target };
    let packet = icmp(message, &option(Opt::Target(MAC_B)), |it| (it.hop_limit, it.destination) = (255, ALL_NODES));
    frame(MacAddr::of_ipv6_group(ALL_NODES), &packet)
}

/// What the solicitations among what was sent ask for.
fn asked(bench: &mut Bench) -> Vec<(MacAddr, Ipv6Addr)> {
    let solicitation = |(to, packet): &(MacAddr, Vec<u8>)| {
        let Icmp::NeighbourSolicitation { target } = said(packet).1 else {
            return None;
        };
        Some((*to, target))
    };
    let icmp = |(_, packet): &&(MacAddr, Vec<u8>)| packet[6] == next_header::ICMPV6;
    let frames = frames(bench);
    frames.iter().filter(icmp).filter_map(solicitation).collect()
}

fn group_of(address: Ipv6Addr) -> MacAddr {
    MacAddr::of_ipv6_group(solicited_node(address))
}

#[test]
fn a_neighbour_is_asked_for_and_what_waited_is_sent() {
    let (mut bench, device, user) = station(discovery(0));
    bench.send(user, to(B, &[7; 60]));
    let sent = frames(&mut bench);
    assert_eq!(sent.len(), 1);
    let (header, message, options) = said(&sent[0].1);
    assert_eq!(sent[0].0, group_of(B));
    assert_eq!((header.source, header.hop_limit), (A, 255));
    assert_eq!(header.destination, solicited_node(B));
    assert_eq!(message, Icmp::NeighbourSolicitation { target: B });
    assert_eq!(options, option(Opt::Source(MAC_A)));
    bench.octets(device, &advertisement(true, true, MAC_B));
    let sent = frames(&mut bench);
    assert_eq!(sent.len(), 1);
    assert_eq!((sent[0].0, &sent[0].1[40..]), (MAC_B, &[7; 60][..]));
}

#[test]
fn silence_is_told_after_three_questions() {
    let (mut bench, _, user) = station(discovery(0));
    bench.send(user, to(B, &[7; 60]));
    bench.pass(Duration::from_millis(2_999));
    assert_eq!(asked(&mut bench), [(group_of(B), B); 3]);
    assert!(bench.reports(user).is_empty());
    bench.pass(Duration::from_millis(1));
    let reports = bench.reports(user);
    let [Report::Unreachable { destination, problem, start, .. }] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!(*destination, Address::from(B));
    assert_eq!(*problem, Problem::NoNeighbour);
    assert_eq!(start.to_vec(), [7; 60]);
}

#[test]
fn a_neighbour_that_has_long_been_silent_is_probed_alone_and_then_forgotten() {
    let (mut bench, device, user) = station(discovery(0));
    bench.send(user, to(B, &[1]));
    bench.octets(device, &advertisement(true, true, MAC_B));
    // ReachableTime is at most 45 s.
    bench.pass(Duration::from_secs(45));
    bench.requests();
    bench.send(user, to(B, &[1]));
    assert_eq!(frames(&mut bench).len(), 1);
    bench.pass(Duration::from_millis(4_999));
    assert!(asked(&mut bench).is_empty());
    bench.pass(Duration::from_millis(1));
    assert_eq!(asked(&mut bench), [(MAC_B, B)]);
    // An answer makes it reachable; without one it is forgotten, and asked for by all means.
    bench.pass(Duration::from_secs(3));
    assert_eq!(asked(&mut bench), [(MAC_B, B); 2]);
    bench.send(user, to(B, &[1]));
    assert_eq!(asked(&mut bench), [(group_of(B), B)]);
}

#[test]
fn an_answer_to_a_probe_ends_the_probing() {
    let (mut bench, device, user) = station(discovery(0));
    bench.send(user, to(B, &[1]));
    // Unsolicited: known, but not known to be reachable.
    bench.octets(device, &advertisement(false, true, MAC_B));
    bench.send(user, to(B, &[1]));
    bench.pass(Duration::from_secs(5));
    bench.octets(device, &advertisement(true, false, MAC_B));
    bench.requests();
    bench.pass(Duration::from_secs(10));
    bench.send(user, to(B, &[1]));
    bench.pass(Duration::from_secs(4));
    assert!(asked(&mut bench).is_empty());
}

#[test]
fn another_station_takes_an_address_over_only_with_the_override_flag() {
    let (mut bench, device, user) = station(discovery(0));
    let other = MacAddr([2, 0, 0, 0, 0, 9]);
    bench.send(user, to(B, &[1]));
    bench.octets(device, &advertisement(true, true, MAC_B));
    bench.requests();
    for (overrides, expected) in [(false, MAC_B), (true, other)] {
        bench.octets(device, &advertisement(false, overrides, other));
        bench.send(user, to(B, &[1]));
        assert_eq!(frames(&mut bench)[0].0, expected);
    }
}

#[test]
fn who_asks_for_us_is_answered_and_remembered() {
    let (mut bench, device, user) = station(discovery(0));
    let message = Icmp::NeighbourSolicitation { target: A };
    let ask = icmp(message, &option(Opt::Source(MAC_B)), |it| {
        (it.hop_limit, it.destination) = (255, solicited_node(A));
    });
    bench.octets(device, &frame(group_of(A), &ask));
    let sent = frames(&mut bench);
    let (header, message, options) = said(&sent[0].1);
    assert_eq!((sent[0].0, header.destination), (MAC_B, B));
    let expected = Icmp::NeighbourAdvertisement { router: false, solicited: true, overrides: true, target: A };
    assert_eq!((message, header.hop_limit), (expected, 255));
    assert_eq!(options, option(Opt::Target(MAC_A)));
    bench.send(user, to(B, &[1]));
    assert_eq!(frames(&mut bench)[0].0, MAC_B);
    // From beyond the link nobody may ask.
    let far = icmp(Icmp::NeighbourSolicitation { target: A }, &option(Opt::Source(MAC_B)), |it| it.hop_limit = 254);
    bench.octets(device, &frame(MAC_A, &far));
    assert!(bench.sent().is_empty());
    assert_eq!(discovered(&bench).discovery_ignored, 1);
}

/// RFC 4861 section 7.2.8: as a proxy, whose word does not override that of who has the address.
#[test]
fn who_takes_all_is_whoever_is_asked_for_but_who_is_near_or_about_to_be() {
    let there = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 0x33);
    let near = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x77);
    let ask = |source: Ipv6Addr, target: Ipv6Addr| {
        let from = option(Opt::Source(MAC_B));
        let options = if source.is_unspecified() { &[][..] } else { &from };
        let packet = icmp(Icmp::NeighbourSolicitation { target }, options, |it| {
            (it.hop_limit, it.source, it.destination) = (255, source, solicited_node(target));
        });
        frame(group_of(target), &packet)
    };
    let (mut bench, device, user) = station_that(discovery(0), true);
    bench.octets(device, &ask(B, there));
    let sent = frames(&mut bench);
    let (header, message, options) = said(&sent[0].1);
    assert_eq!((sent[0].0, header.source, header.destination), (MAC_B, there, B));
    let expected = Icmp::NeighbourAdvertisement { router: true, solicited: true, overrides: false, target: there };
    assert_eq!((message, options), (expected, option(Opt::Target(MAC_A))));
    for (source, target) in [(Ipv6Addr::UNSPECIFIED, there), (B, near)] {
        bench.octets(device, &ask(source, target));
        assert!(bench.sent().is_empty(), "{target} for {source}");
    }
    // Who is behind B's station, whatever it would answer, and from then on B need not be told that it is elsewhere.
    bench.octets(device, &frame(MAC_A, &packet(|it| it.source = there, &[7])));
    bench.send(user, to(there, &[1]));
    assert_eq!(frames(&mut bench)[0].0, MAC_B);
    bench.octets(device, &ask(B, there));
    assert!(bench.sent().is_empty());
    let (mut bench, device, _) = station(discovery(0));
    bench.octets(device, &ask(B, there));
    assert!(bench.sent().is_empty(), "any other host");
}

/// What is for one neighbour must not go to all on the link, whatever somebody says.
#[test]
fn nobodys_link_address_is_that_of_a_group() {
    for group in [MacAddr::BROADCAST, group_of(B), MacAddr([1; 6])] {
        let (mut bench, device, user) = station(discovery(0));
        let message = Icmp::NeighbourSolicitation { target: A };
        let ask = icmp(message, &option(Opt::Source(group)), |it| {
            (it.hop_limit, it.destination) = (255, solicited_node(A));
        });
        bench.octets(device, &frame(group_of(A), &ask));
        bench.octets(device, &advertisement(true, true, MAC_B));
        assert_eq!(discovered(&bench).discovery_ignored, 1);
        assert!(bench.sent().is_empty(), "and it is not answered");
        bench.send(user, to(B, &[1]));
        assert_eq!(asked(&mut bench), [(group_of(B), B)]);
        bench.octets(device, &advertisement(true, true, group));
        assert!(bench.sent().is_empty());
        bench.octets(device, &advertisement(true, true, MAC_B));
        assert_eq!(frames(&mut bench)[0].0, MAC_B);
    }
}

#[test]
fn an_address_is_used_once_nobody_has_objected() {
    let (mut bench, _, user) = station(discovery(1));
    bench.send(user, to(B, &[1]));
    assert_eq!(bench.reports(user).len(), 1);
    // Within a second, once for each address, from nobody; used a second later.
    bench.pass(Duration::from_secs(1));
    let sent = frames(&mut bench);
    let local = link_local(MAC_A.eui64());
    let targets: Vec<Icmp> = sent.iter().map(|(_, packet)| said(packet).1).collect();
    let ask = |target| Icmp::NeighbourSolicitation { target };
    assert_eq!(targets, [ask(A), ask(local)]);
    for (_, packet) in &sent {
        let (header, _, options) = said(packet);
        assert_eq!(header.source, Ipv6Addr::UNSPECIFIED);
        assert!(options.is_empty());
    }
    bench.pass(Duration::from_secs(1));
    bench.send(user, to(B, &[1]));
    assert_eq!(asked(&mut bench), [(group_of(B), B)]);
}

#[test]
fn an_address_that_somebody_has_is_not_used() {
    for by_solicitation in [false, true] {
        let (mut bench, device, user) = station(discovery(1));
        let (message, source) = if by_solicitation {
            let message = Icmp::NeighbourSolicitation { target: A };
            (message, Ipv6Addr::UNSPECIFIED)
        } else {
            let message = Icmp::NeighbourAdvertisement { router: false, solicited: false, overrides: true, target: A };
            (message, A)
        };
        let to_all = if by_solicitation { solicited_node(A) } else { ALL_NODES };
        let claim = icmp(message, &[], |it| {
            (it.hop_limit, it.source, it.destination) = (255, source, to_all);
        });
        bench.octets(device, &frame(MacAddr::of_ipv6_group(to_all), &claim));
        bench.pass(Duration::from_secs(5));
        bench.requests();
        assert_eq!(discovered(&bench).duplicates, 1);
        // The link's own address is still good, but not for B.
        let node = bench.graph.node("ip").unwrap();
        let ip = bench.graph.protocol::<Ip>(node).unwrap();
        let own: Vec<Ipv6Addr> = ip.addresses().collect();
        assert_eq!(own, [link_local(MAC_A.eui64())]);
        bench.send(user, to(B, &[1]));
        assert!(bench.sent().is_empty());
    }
}

#[test]
fn a_flood_to_strangers_holds_no_more_than_is_allowed() {
    let bounds = Discovery { neighbours: 16, unknown: 8, queue: 2, ..discovery(0) };
    let (mut bench, _, user) = station(bounds);
    for n in 0..200_u16 {
        let stranger = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 1, n % 50);
        bench.send(user, to(stranger, &[0; 100]));
    }
    let node = bench.graph.node("ip").unwrap();
    let ip = bench.graph.protocol::<Ip>(node).unwrap();
    let Link::Discover(it) = &ip.ports[0].link else { panic!() };
    assert!(it.cache.len() <= 8);
    assert!(it.cache.waiting() <= 16);
    bench.pass(Duration::from_secs(10));
    assert_eq!(discovered(&bench).unresolved, 200);
}

/// A router's advertisement.
pub(super) fn router_says(lifetime_s: u16, options: &[Opt<'_>]) -> Vec<u8> {
    let told = Router { hop_limit: 61, lifetime_s, ..Router::default() };
    let mut all = option(Opt::Source(MAC_B));
    for each in options {
        all.extend(option(*each));
    }
    let packet = icmp(Icmp::RouterAdvertisement(told), &all, |it| {
        (it.hop_limit, it.source, it.destination) = (255, ROUTER, ALL_NODES);
    });
    frame(MacAddr::of_ipv6_group(ALL_NODES), &packet)
}

pub(super) fn prefix(valid_s: u32, preferred_s: u32) -> Opt<'static> {
    prefix_of(7, (valid_s, preferred_s))
}

/// That of another network.
fn prefix_of(network: u16, (valid_s, preferred_s): (u32, u32)) -> Opt<'static> {
    let prefix = Ipv6Addr::new(0x2001, 0xdb8, network, 0, 0, 0, 0, 0);
    Opt::Prefix(Prefix { len: 64, on_link: true, autonomous: true, valid_s, preferred_s, prefix })
}

#[test]
fn routers_are_asked_and_give_addresses_on_each_link_of_a_host() {
    let told = Discovery { advertisements: Some(true), ..discovery(0) };
    let mut bench = Bench::new();
    let media = [0, 1].map(|link| {
        let (medium, eth) = (format!("medium{link}"), format!("eth{link}"));
        let device = bench.device(&medium);
        bench.node(&eth, &[&medium], Eth::new(eth::Config::new(MacAddr([2, 0, 0, 0, 0, 1 + 2 * link]))).unwrap());
        device
    });
    let on = |eth| {
        let neighbours = Neighbours::Discover(told);
        Interface { neighbours, addresses: vec![], ..Interface::new(eth, Ipv6Addr::LOCALHOST, 0) }
    };
    let interfaces = vec![on("eth0"), on("eth1")];
    bench.node("ip", &["eth0", "eth1"], Ip::new(Config { interfaces, ..Config::host(on("eth0")) }).unwrap());
    let user = bench.user("user", "ip", &[UDP]);
    bench.start();
    bench.pass(Duration::from_secs(20));
    let asking: Vec<DeviceId> = bench.sent().iter().map(|(device, _)| *device).collect();
    assert_eq!(media.map(|it| asking.iter().filter(|device| **device == it).count()), [3, 3]);
    // Routers have the same address of the link, as two of one make for homes.
    for (device, network) in [(media[1], 8), (media[0], 7)] {
        bench.octets(device, &router_says(1800, &[prefix_of(network, (86_400, 3600))]));
    }
    bench.requests();
    let node = bench.graph.node("ip").unwrap();
    let made: Vec<Ipv6Addr> =
        ["2001:db8:7:0:0:ff:fe00:1", "2001:db8:8:0:0:ff:fe00:3"].map(|it| it.parse().unwrap()).into();
    let ip = bench.graph.protocol::<Ip>(node).unwrap();
    let own: Vec<Ipv6Addr> = ip.addresses().filter(|own| !own.is_unicast_link_local()).collect();
    assert_eq!(own, made);
    let way = |bench: &mut Bench| {
        bench.send(user, to(C, &[1]));
        let sent = bench.sent();
        let [(device, unit)] = &sent[..] else { panic!("{sent:?}") };
        (*device, parsed(&unit.data.to_vec()[14..]).0.source)
    };
    // By the first link, though its router has come last, as long as there is one.
    assert_eq!(way(&mut bench), (media[0], made[0]));
    bench.octets(media[0], &router_says(0, &[prefix_of(7, (86_400, 3600))]));
    assert_eq!(way(&mut bench), (media[1], made[1]));
    // What is to go by one interface goes by no other, for neighbours and groups either.
    let neighbour = "fe80::9".parse().unwrap();
    let group = "ff02::9".parse().unwrap();
    bench.indicate(media[0], Indication::Report(Box::new(Report::Down)));
    bench.sent();
    for peer in [neighbour, group] {
        let how = IpParameters { interface: Some(0), ..IpParameters::NONE };
        bench.send(user, Unit { options: UnitOptions { under: Some(UDP), ..UnitOptions::of(how) }, ..to(peer, &[1]) });
        assert!(bench.sent().is_empty(), "{peer}");
    }
}

#[test]
fn routers_are_asked_and_give_addresses_routes_hop_limit_and_mtu() {
    let told = Discovery { advertisements: Some(true), ..discovery(0) };
    let (mut bench, device, user) = station(told);
    bench.pass(Duration::from_secs(20));
    let solicitations = frames(&mut bench);
    assert_eq!(solicitations.len(), 3);
    assert_eq!(said(&solicitations[0].1).1, Icmp::RouterSolicitation);
    bench.octets(device, &router_says(1800, &[Opt::Mtu(1400), prefix(86_400, 3600)]));
    bench.requests();
    // By way of the router, from the new address.
    bench.send(user, to(C, &[0; 1400]));
    let sent = frames(&mut bench);
    let (header, _) = parsed(&sent[0].1);
    let made: Ipv6Addr = "2001:db8:7:0:0:ff:fe00:1".parse().unwrap();
    assert_eq!((sent[0].0, header.hop_limit), (MAC_B, 61));
    assert_eq!(sent.len(), 2);
    assert!([A, made].contains(&header.source));
    // Straight to a neighbour with the prefix.
    let neighbour = "2001:db8:7::9".parse().unwrap();
    bench.send(user, to(neighbour, &[1]));
    assert_eq!(asked(&mut bench), [(group_of(neighbour), neighbour)]);
    let node = bench.graph.node("ip").unwrap();
    let ip = bench.graph.protocol::<Ip>(node).unwrap();
    assert!(ip.addresses().any(|own| own == made));
    // When its time is over the router is none, and what it told is gone.
    bench.pass(Duration::from_secs(86_400));
    bench.requests();
    bench.send(user, to(C, &[1]));
    assert!(bench.sent().is_empty());
    let ip = bench.graph.protocol::<Ip>(node).unwrap();
    assert!(!ip.addresses().any(|own| own == made));
}

#[test]
fn nobody_takes_an_address_away_in_less_than_two_hours() {
    let told = Discovery { advertisements: Some(true), ..discovery(0) };
    let (mut bench, device, _) = station(told);
    bench.octets(device, &router_says(1800, &[prefix(86_400, 3600)]));
    bench.octets(device, &router_says(0, &[prefix(1, 0)]));
    let node = bench.graph.node("ip").unwrap();
    let count = |bench: &Bench| {
        let ip = bench.graph.protocol::<Ip>(node).unwrap();
        ip.addresses().count()
    };
    bench.pass(Duration::from_secs(7199));
    assert_eq!(count(&bench), 3);
    bench.pass(Duration::from_secs(1));
    assert_eq!(count(&bench), 2);
}

#[test]
fn a_router_that_takes_itself_back_is_used_no_longer() {
    let told = Discovery { advertisements: Some(true), ..discovery(0) };
    let (mut bench, device, user) = station(told);
    bench.octets(device, &router_says(1800, &[]));
    bench.requests();
    bench.send(user, to(C, &[1]));
    assert_eq!(bench.sent().len(), 1);
    bench.octets(device, &router_says(0, &[]));
    bench.send(user, to(C, &[1]));
    assert!(bench.sent().is_empty());
}

proptest! {
    #[test]
    fn no_message_makes_it_panic(kind in 133_u8..138, octets in prop::collection::vec(any::<u8>(), 0..120)) {
        let told = Discovery { advertisements: Some(true), ..discovery(1) };
        let (mut bench, device, _) = station(told);
        let rest = octets.first_chunk().copied().unwrap_or([0; 4]);
        let message = Icmp::Other { kind, code: 0, rest };
        let packet = icmp(message, &octets, |it| (it.hop_limit, it.source) = (255, ROUTER));
        bench.octets(device, &frame(MAC_A, &packet));
        bench.pass(Duration::from_secs(10));
    }
}

/// The host behind `kernel` has the address; who has the Ethernet finds its neighbours and is found.
#[test]
fn neighbours_are_found_for_a_host_that_is_elsewhere() {
    let interface = Interface { neighbours: Neighbours::Discover(discovery(0)), ..Interface::new("eth", A, 64) };
    let mut bench = Bench::new();
    let (device, kernel) = (bench.device("medium"), bench.device("kernel"));
    bench.node("eth", &["medium"], Eth::new(eth::Config::new(MAC_A)).unwrap());
    let config = Config { host: Some("kernel".to_owned()), ..Config::host(interface) };
    bench.node("ip", &["eth", "kernel"], Ip::new(config).unwrap());
    bench.start();
    bench.sent();
    let from_host = |header: &mut Header| (header.source, header.destination) = (A, B);
    let octets = packet(from_host, &[1; 6]);
    bench.octets(kernel, &octets);
    let asked = frames(&mut bench);
    assert_eq!((asked.len(), asked[0].1[LEN]), (1, 135));
    bench.octets(device, &advertisement(true, true, MAC_B));
    assert_eq!(frames(&mut bench), [(MAC_B, octets)]);
    // A packet for the host goes to it as it came, a message of neighbours does not.
    let octets = packet(|header| header.hop_limit = 1, &[4, 5]);
    bench.octets(device, &frame(MAC_A, &octets));
    let up: Vec<_> = bench.sent().into_iter().map(|(device, unit)| (device, unit.data.to_vec())).collect();
    assert_eq!(up, [(kernel, octets)]);
}
