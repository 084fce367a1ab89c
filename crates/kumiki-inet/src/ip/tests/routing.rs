use super::*;
use kumiki_graph::Parameters;
use kumiki_octets::Vc;

const C: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(192, 168, 7, 7);

/// A router on `eth` (10.0.0.0/24) and `atm` (10.0.1.0/24, MTU 576).
fn router() -> (Bench, DeviceId, DeviceId, NodeId) {
    let config = Config {
        interfaces: vec![Interface::new("eth", A, 24), Interface { mtu: 576, ..Interface::new("atm", C, 24) }],
        routes: vec![Route {
            network: Ipv4Addr::new(192, 168, 0, 0),
            prefix: 16,
            via: RouteTarget::Gateway(Ipv4Addr::new(10, 0, 1, 9)),
        }],
        forwarding: true,
        ..Config::default()
    };
    let mut bench = Bench::new();
    let (eth, atm) = (bench.device("eth"), bench.device("atm"));
    bench.node("ip", &["eth", "atm"], Ip::new(config).unwrap());
    let user = bench.user("user", "ip", &[TCP, UDP]);
    bench.start();
    bench.requests();
    (bench, eth, atm, user)
}

fn passing(change: impl FnOnce(&mut Header), data: &[u8]) -> Vec<u8> {
    datagram(
        |header| {
            header.destination = FAR;
            change(header);
        },
        data,
    )
}

#[test]
fn a_datagram_for_others_leaves_by_the_longest_prefix_with_a_smaller_ttl() {
    let (mut bench, eth, atm, _) = router();
    let before = passing(|_| {}, &[1, 2, 3]);
    bench.octets(eth, &before);
    let sent = bench.sent();
    assert_eq!(sent[0].0, atm);
    let (header, data) = parsed(&sent[0].1.data.to_vec());
    let (mut expected, _) = parsed(&before);
    expected.time_to_live = 63;
    expected.header_checksum = expected.checksum();
    assert_eq!((header, data), (expected, vec![1, 2, 3]));
    assert_eq!(counters(&bench).forw_datagrams, 1);
}

#[test]
fn next_hops_get_the_addresses_of_the_table() {
    let vc = Vc { vpi: 0, vci: 77 }.address();
    let gateway = Ipv4Addr::new(10, 0, 0, 9);
    let config = Config {
        routes: vec![Route::default_by(gateway)],
        ..Config::host(Interface { neighbours: Neighbours::Table(vec![(gateway, vc)]), ..Interface::new("eth", A, 24) })
    };
    let (mut bench, _, user) = bench(config);
    bench.send(user, to(FAR, &[1]));
    assert_eq!(bench.sent()[0].1.destination, vc);
    bench.send(user, to(B, &[1]));
    assert!(bench.sent().is_empty());
    let reports = bench.reports(user);
    let host = Problem::Soft { kind: 3, code: 1 };
    assert!(matches!(&reports[..], [Report::Unreachable { problem, .. }] if *problem == host));
}

#[test]
fn where_the_layer_below_resolves_it_gets_the_next_hop() {
    let config = Config::host(Interface { neighbours: Neighbours::Below, ..Interface::new("eth", A, 24) });
    let (mut bench, _, user) = bench(config);
    bench.send(user, to(B, &[1]));
    assert_eq!(bench.sent()[0].1.destination, Address::from(B));
}

#[test]
fn a_route_says_source_and_size() {
    let (mut bench, _, _, user) = router();
    for to in [B, FAR, Ipv4Addr::new(8, 8, 8, 8)] {
        let to = Address::from(to);
        bench.say(user, Request::Manage(Box::new(Manage::Route { to })));
    }
    let routes: Vec<(Address, u32)> = bench
        .reports(user)
        .iter()
        .map(|report| {
            let Report::Route { source, unit, .. } = report else { panic!("{report:?}") };
            (*source, *unit)
        })
        .collect();
    let expected = [(Address::from(A), 1480), (Address::from(C), 556), (Address::NONE, 0)];
    assert_eq!(routes, expected);
}

#[test]
fn a_ttl_that_runs_out_is_told_to_the_source_with_the_datagram_as_it_was() {
    let (mut bench, eth, _, _) = router();
    let octets = passing(|header| header.time_to_live = 1, &[7; 30]);
    bench.octets(eth, &octets);
    let sent = bench.sent();
    assert_eq!(sent[0].0, eth);
    let (header, icmp) = parsed(&sent[0].1.data.to_vec());
    assert_eq!((header.source, header.destination), (A, B));
    assert_eq!((header.protocol, header.type_of_service), (1, 0xc0));
    assert_eq!(icmp[..2], [11, 0]);
    assert!(Sum::of(&icmp).is_valid());
    assert_eq!(icmp[8..], octets);
}

#[test]
fn what_must_not_be_cut_and_is_too_big_gets_the_mtu_of_the_next_hop() {
    let (mut bench, eth, _, _) = router();
    let octets = passing(|header| header.dont_fragment = true, &[7; 1000]);
    bench.octets(eth, &octets);
    let sent = bench.sent_octets();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].len(), 576);
    let (_, icmp) = parsed(&sent[0]);
    assert_eq!(icmp[..2], [3, 4]);
    assert_eq!(icmp[4..8], [0, 0, 2, 64]);
    assert_eq!(icmp[8..], octets[..548]);
}

#[test]
fn without_a_route_the_source_is_told() {
    let (mut bench, eth, _, _) = router();
    let nowhere = Ipv4Addr::new(8, 8, 8, 8);
    bench.octets(eth, &datagram(|header| header.destination = nowhere, &[1]));
    let (_, icmp) = parsed(&bench.sent_octets()[0]);
    assert_eq!(icmp[..2], [3, 0]);
}

#[test]
fn groups_and_link_broadcasts_are_not_forwarded() {
    let (mut bench, eth, _, _) = router();
    let other_broadcast = Ipv4Addr::new(10, 0, 1, 255);
    for destination in [Ipv4Addr::new(224, 5, 5, 5), Ipv4Addr::new(241, 0, 0, 1)] {
        let octets = datagram(|header| header.destination = destination, &[1]);
        bench.octets(eth, &octets);
    }
    bench.octets(eth, &datagram(|header| header.destination = other_broadcast, &[1]));
    let options = UnitOptions { group: true, ..UnitOptions::default() };
    bench.receive(eth, Unit { options, data: Message::from_octets(&passing(|_| {}, &[1])), ..Unit::default() });
    assert!(bench.sent().is_empty());
}

#[test]
fn a_device_s_sum_does_not_survive_the_change_of_the_header() {
    let (mut bench, eth, _, _) = router();
    let octets = passing(|_| {}, &[1; 9]);
    let mut data = Message::from_octets(&octets);
    data.meta_mut().checksum = Checksum::Sum(Sum::of(&octets));
    bench.receive(eth, Unit { data, ..Unit::default() });
    let sent = bench.sent();
    assert_eq!(sent[0].1.data.meta().checksum, Checksum::Unknown);
}

#[test]
fn a_live_source_route_is_refused() {
    let (mut bench, eth, _, user) = router();
    for (pointer, live) in [(4, true), (8, false)] {
        let route = [131, 7, pointer, 10, 0, 0, 3, 0];
        let options = Options::new(&route).unwrap();
        bench.octets(eth, &datagram(|header| header.options = options, &[1]));
        let answers = bench.sent_octets();
        assert_eq!(bench.units(user).len(), usize::from(!live));
        assert_eq!(answers.len(), usize::from(live));
    }
}

// RFC 9293: MUST-51, MUST-53
#[test]
fn a_user_may_say_the_way_and_learns_the_way_back() {
    let (mut bench, eth, _, user) = router();
    let gateways = vec![Ipv4Addr::new(10, 0, 0, 3), Ipv4Addr::new(10, 0, 0, 4)];
    let mut unit = to(FAR, &[7]);
    let strict = false;
    unit.parameters = Parameters::of(SourceRoute { gateways, strict });
    bench.say(user, Request::Unit(Box::new(unit)));
    let sent = bench.sent_octets();
    let (header, _) = Header::parse(&sent[0], sent[0].len()).unwrap();
    assert_eq!(header.destination, Ipv4Addr::new(10, 0, 0, 3));
    // RFC 791 section 3.1: type, length, pointer, then the other hops and the destination.
    let mut option = vec![131, 11, 4, 10, 0, 0, 4];
    option.extend(FAR.octets());
    option.push(0);
    assert_eq!(header.options.as_octets(), option);

    let option = [131, 11, 12, 10, 0, 0, 3, 10, 0, 0, 4, 0];
    let options = Options::new(&option).unwrap();
    bench.octets(eth, &datagram(|header| header.options = options, &[1]));
    let back = bench.units(user)[0].parameters.get::<SourceRoute>().cloned().unwrap();
    let gateways = [Ipv4Addr::new(10, 0, 0, 4), Ipv4Addr::new(10, 0, 0, 3)];
    assert_eq!(back.gateways, gateways);
    assert!(!back.strict);
}

#[test]
fn settings_that_cannot_be_are_named() {
    let wrong = |change: &dyn Fn(&mut Config)| {
        let mut config = host(1500);
        change(&mut config);
        Ip::new(config).unwrap_err().to_string()
    };
    type Change<'a> = &'a dyn Fn(&mut Config);
    let cases: [(Change<'_>, &str); 8] = [
        (&|it| it.interfaces.clear(), "no interface"),
        (&|it| it.interfaces[0].prefix = 33, "prefix of 33 bits"),
        (&|it| it.interfaces[0].mtu = 67, "expected 68 to 65535"),
        (&|it| it.interfaces[0].address = Ipv4Addr::BROADCAST, "unicast"),
        (&|it| it.interfaces.push(Interface::new("eth", C, 24)), "two interfaces"),
        (&|it| it.routes.push(Route::default_by(FAR)), "no interface is on a network with 192.168.7.7"),
        (
            &|it| {
                it.routes.push(Route { network: FAR, prefix: 16, via: RouteTarget::Gateway(B) });
            },
            "expected 192.168.0.0/16",
        ),
        (
            &|it| {
                it.routes.push(Route { network: FAR, prefix: 32, via: RouteTarget::Interface("atm".to_owned()) });
            },
            "there are interfaces on `eth`",
        ),
    ];
    for (change, expected) in cases {
        let said = wrong(change);
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_layer_without_an_interface_is_refused() {
    let mut bench = Bench::new();
    bench.device("atm");
    let task = bench.graph.add_task("other");
    let ip = Box::new(Ip::new(host(1500)).unwrap());
    bench.graph.add_node("ip", task, ip).unwrap();
    let refused = bench.graph.connect("ip", "atm").unwrap_err().to_string();
    assert!(refused.contains("no interface on `atm`, only on `eth`"), "{refused}");
}

proptest! {
    /// The longest prefix that covers an address wins, whatever the order of configuration.
    #[test]
    fn the_longest_prefix_wins(prefixes in prop::collection::vec(0u8..=32, 1..8), to: u32) {
        let mut config = host(1500);
        for (n, &prefix) in prefixes.iter().enumerate() {
            config.routes.push(Route {
                network: Ipv4Addr::from_bits(to & Ipv4Addr::mask(prefix)),
                prefix,
                via: RouteTarget::Gateway(Ipv4Addr::new(10, 0, 0, 100 + n as u8)),
            });
        }
        let routes = config.table().unwrap();
        let longest = prefixes.iter().copied().max().unwrap();
        let first = prefixes.iter().position(|&it| it == longest).unwrap();
        let to = Ipv4Addr::from_bits(to);
        let hop = routes.lookup(to, |_| true).unwrap();
        let connected = to.to_bits() & Ipv4Addr::mask(24) == A.to_bits() & Ipv4Addr::mask(24);
        if !connected {
            prop_assert_eq!(hop.next, Ipv4Addr::new(10, 0, 0, 100 + first as u8));
        }
    }
}

fn agreed(local: Ipv4Addr, remote: Ipv4Addr) -> Indication {
    let (local, remote) = (Address::from(local), Address::from(remote));
    let agreed = Report::special(LinkAddresses { local, remote });
    Indication::Report(Box::new(agreed))
}

#[test]
fn an_interface_without_an_address_takes_those_that_ppp_has_agreed_on() {
    let config = Config {
        routes: vec![Route {
            network: Ipv4Addr::UNSPECIFIED,
            prefix: 0,
            via: RouteTarget::Interface("eth".to_owned()),
        }],
        ..Config::host(Interface::negotiated("eth"))
    };
    let (mut bench, eth, user) = bench(config);
    let up = || Indication::Report(Box::new(Report::Up));
    bench.indicate(eth, Indication::Report(Box::new(Report::Down)));
    bench.send(user, to(B, &[1]));
    assert_eq!(counters(&bench).out_no_routes, 1);
    bench.indicate(eth, agreed(A, B));
    bench.indicate(eth, up());
    for destination in [B, FAR] {
        bench.send(user, to(destination, &[1]));
        let sent = bench.sent_octets();
        let (header, _) = parsed(&sent[0]);
        assert_eq!((header.source, header.destination), (A, destination));
    }
    bench.octets(eth, &datagram(|_| {}, &[7]));
    assert_eq!(bench.units(user).len(), 1);
    // The next time others are agreed on.
    bench.indicate(eth, agreed(C, B));
    bench.octets(eth, &datagram(|_| {}, &[7]));
    bench.octets(eth, &datagram(|header| header.destination = C, &[7]));
    assert_eq!(bench.units(user).len(), 1);
}

#[test]
fn a_configured_address_stays_whatever_the_layer_below_agrees_on() {
    let (mut bench, eth, user) = bench(host(1500));
    bench.indicate(eth, agreed(C, FAR));
    bench.octets(eth, &datagram(|_| {}, &[7]));
    assert_eq!(bench.units(user).len(), 1);
}
