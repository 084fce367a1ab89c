//! Frames, seen from users and from the medium.

use kumiki_graph::{DeviceId, Indication, Manage, NodeId, Report, Request};
use kumiki_octets::Message;

use super::*;
use kumiki_testkit::bench::{Bench, hex};

const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const PEER: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

fn bench(config: Config) -> (Bench, DeviceId, [NodeId; 2]) {
    let mut bench = Bench::new();
    let medium = bench.device("medium");
    bench.node("eth", &["medium"], Eth::new(config).unwrap());
    let four = bench.user("four", "eth", &[Key::of(ETHER_TYPE, 0x0800)]);
    let six = bench.user("six", "eth", &[Key::of(ETHER_TYPE, 0x86dd)]);
    bench.start();
    bench.requests();
    (bench, medium, [four, six])
}

fn to(destination: MacAddr, data: &[u8]) -> Unit {
    Unit { destination: Address::from(destination), data: Message::from_octets(data), ..Unit::default() }
}

#[test]
fn a_unit_becomes_a_frame_filled_up_with_zeros() {
    let (mut bench, _, [_, six]) = bench(Config::new(OWN));
    bench.send(six, to(PEER, &[9; 5]));
    let front = hex("020000000002 020000000001 86dd 0909090909");
    assert_eq!(bench.sent_octets(), [[front, vec![0; 41]].concat()]);
}

#[test]
fn without_padding_a_frame_is_as_long_as_its_data() {
    let config = Config { pad: false, ..Config::new(OWN) };
    let (mut bench, _, [_, six]) = bench(config);
    bench.send(six, to(PEER, &[9; 5]));
    assert_eq!(bench.sent_octets()[0].len(), 19);
}

#[test]
fn frames_go_to_the_user_of_their_type_with_their_source() {
    let (mut bench, medium, [four, six]) = bench(Config::new(OWN));
    bench.octets(medium, &hex("020000000001 020000000002 86dd 07"));
    bench.octets(medium, &hex("3333ff000001 020000000002 86dd 08"));
    bench.octets(medium, &hex("ffffffffffff 020000000002 0800 09"));
    let units = bench.units(six);
    assert_eq!(units[0].data.to_vec(), [7]);
    assert_eq!(units[0].source, Address::from(PEER));
    let groups: Vec<bool> = units.iter().map(|unit| unit.options.group).collect();
    assert_eq!(groups, [false, true]);
    assert!(bench.units(four)[0].options.group);
}

#[test]
fn frames_for_others_without_a_user_and_too_long_ones_are_dropped() {
    let (mut bench, medium, users) = bench(Config::new(OWN));
    for octets in [
        hex("020000000003 020000000002 86dd 07"),
        hex("020000000001 020000000002 88cc 07"),
        hex("020000000001 020000000002 0001 07"),
        hex("020000000001 0200000000"),
        [hex("020000000001 020000000002 86dd"), vec![0; 1501]].concat(),
    ] {
        bench.octets(medium, &octets);
    }
    for user in users {
        assert!(bench.units(user).is_empty());
    }
    let node = bench.graph.node("eth").unwrap();
    let counters = bench.graph.protocol::<Eth>(node).unwrap().counters();
    let found = (counters.other_station, counters.unknown_type, counters.malformed);
    assert_eq!(found, (1, 2, 2));
}

#[test]
fn what_is_longer_than_the_mtu_is_not_sent() {
    let config = Config { mtu: 9000, ..Config::new(OWN) };
    let (mut bench, medium, [_, six]) = bench(config);
    bench.send(six, to(PEER, &[0; 9000]));
    assert_eq!(bench.sent().len(), 1);
    bench.send(six, to(PEER, &[0; 9001]));
    assert!(bench.sent().is_empty());
    // The medium carries less.
    let limits = Report::Limits { unit: 1514, burst: 1 };
    bench.indicate(medium, Indication::Report(Box::new(limits)));
    let reports = bench.reports(six);
    assert!(matches!(reports[0], Report::Limits { unit: 1500, .. }));
    bench.send(six, to(PEER, &[0; 1501]));
    assert!(bench.sent().is_empty());
}

#[test]
fn a_user_learns_our_own_address() {
    let (mut bench, _, [_, six]) = bench(Config::new(OWN));
    let to = Address::from(PEER);
    bench.say(six, Request::Manage(Box::new(Manage::Route { to })));
    let own = Address::from(OWN);
    let reports = bench.reports(six);
    assert!(matches!(reports[0], Report::Route { source, .. } if source == own));
}

#[test]
fn a_station_has_an_address_of_one_station() {
    assert!(Eth::new(Config::new(MacAddr::BROADCAST)).is_err());
    assert!(Eth::new(Config::new(MacAddr::default())).is_err());
    let config = Config { mtu: 9001, ..Config::new(OWN) };
    assert_eq!(Eth::new(config).unwrap_err(), ConfigError::Mtu(9001));
}
