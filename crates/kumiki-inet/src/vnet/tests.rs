//! VNET over two Ethernets, over two IPs, and under IP.

use core::net::SocketAddr;
use kumiki_graph::{AccessPoint, DeviceId, NodeId};
use kumiki_octets::Message;
use kumiki_wire::inet::arp::{self as arp_wire, Operation, hardware};
use kumiki_wire::inet::ethernet::MacAddr;
use kumiki_wire::numbering::ETHER_TYPE;
use kumiki_wire::numbering::IP_PROTOCOL;

use super::*;
use crate::arp::{self, Arp};
use crate::eth::{self, Eth};
use crate::ip::{self, Ip, Neighbours};
use kumiki_testkit::bench::Bench;

const XTP: u16 = 0x817d;
const IP: u16 = 0x0800;
/// Ours on the two networks, and a neighbour on each.
const OWN: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 1, 1), Ipv4Addr::new(10, 0, 2, 1)];
const PEER: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 1, 2), Ipv4Addr::new(10, 0, 2, 2)];
const PEER_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

fn interface(below: &str, own: Ipv4Addr) -> Interface {
    Interface::new(below, own.into(), 24)
}

/// ARP and Ethernet on two devices.
fn lans(bench: &mut Bench) -> [DeviceId; 2] {
    let both = [("arp0", "eth0", "lan0", OWN[0]), ("arp1", "eth1", "lan1", OWN[1])];
    both.map(|(arp, eth, lan, own)| {
        let device = bench.device(lan);
        let config =
            eth::Config { pad: false, mtu: 9000, ..eth::Config::new(MacAddr([2, 0, 0, 0, 0, own.octets()[2]])) };
        bench.node(eth, &[lan], Eth::new(config).unwrap());
        bench.node(arp, &[eth], Arp::new(arp::Config::new(own)).unwrap());
        device
    })
}

/// A host with XTP and another user over VNET over two Ethernets whose neighbours are known.
fn host(change: impl FnOnce(&mut Config)) -> (Bench, [DeviceId; 2], [NodeId; 2]) {
    let mut bench = Bench::new();
    let lan = lans(&mut bench);
    let mut config =
        Config { interfaces: vec![interface("arp0", OWN[0]), interface("arp1", OWN[1])], routes: Vec::new() };
    change(&mut config);
    bench.node("vnet", &["arp0", "arp1"], Vnet::new(config).unwrap());
    let keys = [Key::of(IP_PROTOCOL, 36), Key::of(ETHER_TYPE, XTP)];
    let xtp = bench.user("xtp", "vnet", &keys);
    let other = bench.user("other", "vnet", &[Key::of(ETHER_TYPE, IP)]);
    bench.start();
    for (number, &device) in lan.iter().enumerate() {
        let header = arp_wire::Header {
            hrd: hardware::ETHERNET,
            op: Operation::Request,
            sha: PEER_MAC,
            spa: PEER[number],
            tha: MacAddr::default(),
            tpa: OWN[number],
        };
        let mut octets = vec![0; header.len()];
        header.emit(&mut octets);
        bench.octets(device, &frame(MacAddr::BROADCAST, 0x0806, &octets));
    }
    bench.requests();
    for user in [xtp, other] {
        bench.heard(user);
    }
    (bench, lan, [xtp, other])
}

fn frame(to: MacAddr, ethertype: u16, data: &[u8]) -> Vec<u8> {
    [&to.0, &PEER_MAC.0, &ethertype.to_be_bytes()[..], data].concat()
}

fn to(destination: impl Into<IpAddr>) -> Unit {
    Unit { destination: Address::from(destination.into()), ..Unit::of(Message::from_octets(&[7])) }
}

/// What was sent: by which device, to which station and under which EtherType.
fn sent(bench: &mut Bench) -> Vec<(DeviceId, MacAddr, u16)> {
    let read = |(device, unit): (DeviceId, Unit)| {
        let octets = unit.data.to_vec();
        let to = MacAddr(octets[..6].try_into().unwrap());
        (device, to, u16::from_be_bytes([octets[12], octets[13]]))
    };
    bench.sent().into_iter().map(read).collect()
}

fn ask(bench: &mut Bench, user: NodeId, to: impl Into<IpAddr>) -> Report {
    let to = Address::from(to.into());
    bench.say(user, Request::Manage(Box::new(Manage::Route { to })));
    bench.reports(user).remove(0)
}

fn bypass(report: &Report) -> Option<AccessPoint> {
    let Report::Route { bypass, .. } = report else { panic!("{report:?}") };
    *bypass
}

#[test]
fn the_address_picks_the_network_and_the_user_keeps_its_key() {
    let (mut bench, [lan0, lan1], [xtp, other]) = host(|_| {});
    bench.send(xtp, to(PEER[0]));
    bench.send(xtp, to(PEER[1]));
    bench.send(other, to(PEER[1]));
    assert_eq!(sent(&mut bench), [(lan0, PEER_MAC, XTP), (lan1, PEER_MAC, XTP), (lan1, PEER_MAC, IP)]);
}

#[test]
fn what_comes_in_goes_to_the_user_of_its_key() {
    let (mut bench, [lan0, lan1], [xtp, other]) = host(|_| {});
    let us = MacAddr([2, 0, 0, 0, 0, 1]);
    bench.octets(lan0, &frame(us, XTP, &[1]));
    bench.octets(lan1, &frame(MacAddr::BROADCAST, IP, &[2]));
    let units = |units: Vec<Unit>| -> Vec<(Vec<u8>, bool, Option<Key>)> {
        let of = |unit: Unit| (unit.data.to_vec(), unit.options.group, unit.options.under);
        units.into_iter().map(of).collect()
    };
    let found = units(bench.units(xtp));
    assert_eq!(found, [(vec![1], false, Some(Key::of(ETHER_TYPE, XTP)))]);
    let found = units(bench.units(other));
    assert_eq!(found, [(vec![2], true, Some(Key::of(ETHER_TYPE, IP)))]);
}

#[test]
fn a_route_names_the_access_point_below_as_its_bypass() {
    let (mut bench, _, [xtp, other]) = host(|_| {});
    let route = ask(&mut bench, xtp, PEER[1]);
    let Report::Route { source, unit, .. } = route else { panic!("{route:?}") };
    assert_eq!((source, unit), (Address::from(OWN[1]), 9000));
    let name = |bench: &Bench, point: AccessPoint| {
        let mut points = bench.graph.access_points();
        let (_, upper, lower) = points.find(|(it, ..)| *it == point).unwrap();
        (upper.to_owned(), lower.to_owned())
    };
    let of_xtp = bypass(&route).unwrap();
    assert_eq!(name(&bench, of_xtp), ("vnet".into(), "arp1".into()));
    // Each user has its own, for it is found there by its own keys.
    let of_other = bypass(&ask(&mut bench, other, PEER[1])).unwrap();
    assert_eq!(name(&bench, of_other), ("vnet".into(), "arp1".into()));
    assert_ne!(of_xtp, of_other);
    let group = Ipv4Addr::new(224, 0, 0, 9);
    for not_one in [group, Ipv4Addr::BROADCAST, Ipv4Addr::new(10, 0, 1, 255)] {
        assert_eq!(bypass(&ask(&mut bench, xtp, not_one)), None);
    }
    let nowhere = ask(&mut bench, xtp, Ipv4Addr::new(192, 0, 2, 1));
    assert!(matches!(nowhere, Report::Route { source, unit: 0, bypass: None, .. } if source.is_none()));
    // There is no address of ours that could answer it.
    let v6 = ask(&mut bench, xtp, Ipv6Addr::LOCALHOST);
    assert_eq!(bypass(&v6), None);
}

#[test]
fn broadcasts_go_over_all_interfaces_that_take_them() {
    let all = MacAddr::BROADCAST;
    let (mut bench, [lan0, lan1], [xtp, _]) = host(|_| {});
    bench.send(xtp, to(Ipv4Addr::BROADCAST));
    assert_eq!(sent(&mut bench), [(lan0, all, XTP), (lan1, all, XTP)]);
    bench.send(xtp, to(Ipv4Addr::new(10, 0, 2, 255)));
    assert_eq!(sent(&mut bench), [(lan1, all, XTP)]);
    let group = Ipv4Addr::new(224, 0, 0, 9);
    let mac = MacAddr::of_ipv4_group(group);
    bench.send(xtp, to(group));
    assert_eq!(sent(&mut bench), [(lan0, mac, XTP), (lan1, mac, XTP)]);
    // Who says which of our addresses it comes from says over which.
    let source = Address::from(OWN[1]);
    bench.send(xtp, Unit { source, ..to(group) });
    assert_eq!(sent(&mut bench), [(lan1, mac, XTP)]);
    let (mut bench, [_, lan1], [xtp, _]) = host(|config| {
        config.interfaces[0].broadcast = false;
        config.routes.push(Route { network: Ipv4Addr::new(239, 0, 0, 0).into(), prefix: 8, below: "arp0".to_owned() });
    });
    bench.send(xtp, to(Ipv4Addr::BROADCAST));
    assert_eq!(sent(&mut bench), [(lan1, all, XTP)]);
    bench.send(xtp, to(Ipv4Addr::new(239, 1, 1, 1)));
    assert_ne!(sent(&mut bench)[0].0, lan1);
}

#[test]
fn a_route_leads_to_neighbours_beyond_the_network_of_an_interface() {
    let far = Ipv4Addr::new(172, 16, 0, 9);
    let (mut bench, [_, lan1], [xtp, _]) = host(|config| {
        config.routes.push(Route { network: Ipv4Addr::UNSPECIFIED.into(), prefix: 0, below: "arp1".to_owned() });
    });
    bench.send(xtp, to(far));
    // It is asked for there.
    assert_eq!(sent(&mut bench), [(lan1, MacAddr::BROADCAST, 0x0806)]);
    let route = ask(&mut bench, xtp, far);
    assert!(matches!(route, Report::Route { source, .. } if source == Address::from(OWN[1])));
}

#[test]
fn an_interface_that_is_down_is_not_taken() {
    let (mut bench, [lan0, lan1], [xtp, _]) = host(|_| {});
    let report = |report| Indication::Report(Box::new(report));
    // What was found out for one unit is not held against what is told then.
    bench.send(xtp, to(PEER[0]));
    assert_eq!(sent(&mut bench).len(), 1);
    bench.indicate(lan0, report(Report::Down));
    assert!(bench.reports(xtp).is_empty());
    bench.send(xtp, to(PEER[0]));
    assert!(sent(&mut bench).is_empty());
    let [Report::Unreachable { problem, .. }] = bench.reports(xtp)[..] else { panic!("not told") };
    assert_eq!(problem, Problem::NoRoute);
    bench.indicate(lan1, report(Report::Down));
    assert!(matches!(bench.reports(xtp)[..], [Report::Down]));
    bench.indicate(lan0, report(Report::Up));
    assert!(matches!(bench.reports(xtp)[..], [Report::Up]));
}

#[test]
fn limits_are_those_of_the_narrowest_interface_and_told_once() {
    let (mut bench, [lan0, _], [xtp, _]) = host(|config| config.interfaces[1].mtu = Some(4000));
    bench.say(xtp, Request::Manage(Box::new(Manage::Limits)));
    let told = |bench: &mut Bench| -> Vec<u32> {
        let unit = |report| {
            if let Report::Limits { unit, .. } = report { Some(unit) } else { None }
        };
        bench.reports(xtp).into_iter().filter_map(unit).collect()
    };
    assert_eq!(told(&mut bench), [4000]);
    for unit in [1514, 1514, 9014] {
        let limits = Report::Limits { unit, burst: 1 };
        bench.indicate(lan0, Indication::Report(Box::new(limits)));
    }
    assert_eq!(told(&mut bench), [1500, 4000]);
}

#[test]
fn what_is_for_ourselves_comes_back() {
    let (mut bench, _, [xtp, other]) = host(|_| {});
    bench.send(xtp, to(OWN[1]));
    let units = bench.units(xtp);
    assert_eq!(units[0].source, Address::from(OWN[1]));
    assert!(bench.units(other).is_empty() && sent(&mut bench).is_empty());
}

#[test]
fn a_group_is_wanted_of_all_interfaces_below_or_of_that_of_its_route() {
    let mut bench = Bench::new();
    let ips = ["ip0", "ip1"].map(|name| {
        let number = usize::from(name == "ip1");
        let device = format!("dev{number}");
        bench.device(&device);
        let interface = ip::Interface::new(&device, OWN[number], 24);
        let ip = Ip::new(ip::Config::host(interface)).unwrap();
        bench.node(name, &[&device], ip)
    });
    let config = Config { interfaces: vec![interface("ip0", OWN[0]), interface("ip1", OWN[1])], routes: Vec::new() };
    bench.node("vnet", &["ip0", "ip1"], Vnet::new(config).unwrap());
    let user = bench.user("udp", "vnet", &[Key::of(IP_PROTOCOL, 17)]);
    bench.start();
    bench.requests();
    let group = Address::from(Ipv4Addr::new(239, 0, 0, 1));
    let member = true;
    bench.say(user, Request::Manage(Box::new(Manage::Group { group, member })));
    // Both take the group from now on.
    for (number, _) in ips.iter().enumerate() {
        let header = kumiki_wire::inet::ipv4::Header {
            total_length: 21,
            time_to_live: 1,
            protocol: 17,
            source: PEER[number],
            destination: Ipv4Addr::new(239, 0, 0, 1),
            ..kumiki_wire::inet::ipv4::Header::default()
        };
        let mut octets = vec![9; 21];
        header.emit_summed(&mut octets[..20]);
        bench.octets(DeviceId(number), &octets);
        assert_eq!(bench.units(user).len(), 1, "{number}");
    }
    // And a datagram for one of the networks has the header of that IP.
    bench.send(user, to(PEER[1]));
    let (_, unit) = bench.sent().remove(0);
    assert_eq!(unit.data.to_vec()[12..16], OWN[1].octets());
}

#[test]
fn ip_has_several_networks_as_one_interface() {
    let mut bench = Bench::new();
    let [lan0, lan1] = lans(&mut bench);
    let config = Config { interfaces: vec![interface("arp0", OWN[0]), interface("arp1", OWN[1])], routes: Vec::new() };
    bench.node("vnet", &["arp0", "arp1"], Vnet::new(config).unwrap());
    let interface = ip::Interface { neighbours: Neighbours::Below, ..ip::Interface::new("vnet", OWN[0], 16) };
    let ip = Ip::new(ip::Config::host(interface)).unwrap();
    bench.node("ip", &["vnet"], ip);
    let user = bench.user("udp", "ip", &[Key::of(IP_PROTOCOL, 17)]);
    bench.start();
    bench.requests();
    bench.send(user, to(PEER[0]));
    bench.send(user, to(PEER[1]));
    let asked = |device| (device, MacAddr::BROADCAST, 0x0806);
    assert_eq!(sent(&mut bench), [asked(lan0), asked(lan1)]);
    // The broadcast address of the network as IP sees it is none of VNET's, but IP says what it is.
    bench.send(user, to(Ipv4Addr::new(10, 0, 255, 255)));
    let all = |device| (device, MacAddr::BROADCAST, IP);
    assert_eq!(sent(&mut bench), [all(lan0), all(lan1)]);
}

#[test]
fn vnet_needs_interfaces_with_addresses_of_hosts() {
    let new = |interfaces| {
        let routes = Vec::new();
        Vnet::new(Config { interfaces, routes }).map(|_| ())
    };
    assert_eq!(new(Vec::new()), Err(ConfigError::NoInterface));
    let twice = vec![interface("a", OWN[0]), interface("a", OWN[1])];
    assert_eq!(new(twice), Err(ConfigError::Twice("a".to_owned())));
    let all = vec![interface("a", Ipv4Addr::BROADCAST)];
    assert!(matches!(new(all), Err(ConfigError::Address { .. })));
    let wide = vec![Interface::new("a", OWN[0].into(), 33)];
    assert!(matches!(new(wide), Err(ConfigError::Prefix { most: 32, .. })));
    let none = Interface { addresses: Vec::new(), ..interface("a", OWN[0]) };
    assert_eq!(new(vec![none]), Err(ConfigError::NoAddress("a".to_owned())));
    let lost = Config {
        interfaces: vec![interface("a", OWN[0])],
        routes: vec![Route { network: OWN[0].into(), prefix: 32, below: "b".to_owned() }],
    };
    assert!(Vnet::new(lost).is_err());
}

#[test]
fn a_user_without_a_key_is_refused() {
    let mut bench = Bench::new();
    let config = Config { interfaces: vec![interface("arp", OWN[0])], routes: Vec::new() };
    bench.node("vnet", &[], Vnet::new(config).unwrap());
    let task = bench.graph.add_task("other");
    let user = kumiki_testkit::bench::User::with_keys(&[]);
    bench.graph.add_node("user", task, Box::new(user)).unwrap();
    let refused = bench.graph.connect("user", "vnet").unwrap_err().to_string();
    assert!(refused.contains("no key"), "{refused}");
}

/// TCP over VNET over two IPs: a connection that it opens goes past VNET from its SYN on, and what comes back comes
/// through.
#[test]
fn tcp_sends_past_vnet_what_belongs_to_a_connection_that_it_opened() {
    use kumiki_graph::{Handle, Mode, Open, Quality};

    use crate::tcp::{Tcp, defaults};

    let mut bench = Bench::new();
    let devices = ["ip0", "ip1"].map(|name| {
        let number = usize::from(name == "ip1");
        let device = format!("dev{number}");
        let found = bench.device(&device);
        let interface = ip::Interface::new(&device, OWN[number], 24);
        let ip = Ip::new(ip::Config::host(interface)).unwrap();
        bench.node(name, &[&device], ip);
        found
    });
    let config = Config { interfaces: vec![interface("ip0", OWN[0]), interface("ip1", OWN[1])], routes: Vec::new() };
    bench.node("vnet", &["ip0", "ip1"], Vnet::new(config).unwrap());
    bench.node("tcp", &["vnet"], Tcp::new(defaults::modern()));
    let user = bench.user("user", "tcp", &[]);
    bench.start();
    bench.requests();
    bench.say(
        user,
        Request::Open(Box::new(Open {
            user: Handle::default(),
            mode: Mode::Active,
            remote: Address::from(SocketAddr::new(PEER[1].into(), 80)),
            quality: Quality::default(),
            ..Open::default()
        })),
    );
    let sent = bench.sent();
    let (device, unit) = &sent[0];
    assert_eq!((sent.len(), *device), (1, devices[1]));
    assert_eq!(unit.data.to_vec()[12..20], [OWN[1].octets(), PEER[1].octets()].concat());
    let node = bench.graph.node("vnet").unwrap();
    let counters = *bench.graph.protocol::<Vnet>(node).unwrap().counters();
    assert_eq!((counters.routes, counters.sent), (1, 0));
}
