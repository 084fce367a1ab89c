//! Frames, seen from LLC and from the ring.

use core::net::Ipv4Addr;
use kumiki_wire::numbering::ETHER_TYPE;
use kumiki_wire::numbering::IP_PROTOCOL;

use kumiki_graph::{DeviceId, Indication, Manage, NodeId, Protocol, Report, Request};
use kumiki_octets::Message;

use super::*;
use crate::arp::{self, Arp};
use crate::ip::{self, Interface, Ip, Neighbours};
use crate::llc::{self, Llc};
use kumiki_testkit::bench::{Bench, User, hex};

const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const PEER: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

fn bench(config: Config) -> (Bench, DeviceId, NodeId) {
    let mut bench = Bench::new();
    let ring = bench.device("ring");
    bench.node("fddi", &["ring"], Fddi::new(config).unwrap());
    let user = bench.user("llc", "fddi", &[Key::Only]);
    bench.start();
    bench.requests();
    (bench, ring, user)
}

fn to(destination: MacAddr, data: &[u8]) -> Unit {
    Unit { destination: Address::from(destination), ..Unit::of(Message::from_octets(data)) }
}

#[test]
fn a_frame_has_its_addresses_turned_around_and_no_padding() {
    let config = Config { priority: 3, ..Config::new(OWN) };
    let (mut bench, _, user) = bench(config);
    bench.send(user, to(MacAddr([1, 0, 0x5e, 0x7f, 0, 2]), &[7]));
    let expected = hex("53 80007afe0040 400000000080 07");
    assert_eq!(bench.sent_octets(), [expected]);
}

#[test]
fn frames_of_llc_for_us_and_for_groups_are_taken() {
    let (mut bench, ring, user) = bench(Config::new(OWN));
    for octets in [
        "50 400000000080 400000000040 01",
        "57 400000000080 400000000040 02",
        "d0 400000000080 400000000040 03",
        "50 ffffffffffff 400000000040 04",
        // Another station's, management, claim, addresses of 16 bits, cut.
        "50 4000000000c0 400000000040 05",
        "41 400000000080 400000000040 06",
        "c3 400000000080 400000000040 07",
        "10 400000000080 400000000040 08",
        "50 4000",
    ] {
        bench.octets(ring, &hex(octets));
    }
    bench.octets(ring, &vec![0x50; MAX_INFORMATION + LEN + 1]);
    let units = bench.units(user);
    let found: Vec<(u8, bool)> = units.iter().map(|unit| (unit.data.to_vec()[0], unit.options.group)).collect();
    assert_eq!(found, [(1, false), (2, false), (3, false), (4, true)]);
    assert_eq!(units[0].source, Address::from(PEER));
    let node = bench.graph.node("fddi").unwrap();
    let it = bench.graph.protocol::<Fddi>(node).unwrap().counters();
    assert_eq!((it.other_station, it.unknown_type, it.malformed), (1, 2, 3));
}

/// RFC 1390: IP has 4352 octets, and nothing longer may be sent.
#[test]
fn the_mtu_is_that_of_rfc_1390_and_ip_fills_it() {
    let mut bench = Bench::new();
    let ring = bench.device("ring");
    bench.node("fddi", &["ring"], Fddi::new(Config::new(OWN)).unwrap());
    bench.node("llc", &["fddi"], Llc::new(llc::Config::default()));
    let address = Ipv4Addr::new(10, 0, 0, 1);
    let arp = Arp::new(arp::Config::new(address)).unwrap();
    bench.node("arp", &["llc"], arp);
    let interface = Interface { neighbours: Neighbours::Below, mtu: 65535, ..Interface::new("arp", address, 24) };
    let ip = Ip::new(ip::Config::host(interface)).unwrap();
    bench.node("ip", &["arp"], ip);
    let user = bench.user("user", "ip", &[Key::of(IP_PROTOCOL, 17)]);
    bench.start();
    bench.requests();
    bench.say(user, Request::Manage(Box::new(Manage::Limits)));
    let reports = bench.reports(user);
    assert!(matches!(reports[0], Report::Limits { unit: 4332, .. }));
    // ARP has our address from here, in canonical form, and hardware type 1 (RFC 1390).
    let peer = Address::from(Ipv4Addr::new(10, 0, 0, 2));
    bench.send(user, Unit { destination: peer, ..to(PEER, &[0; 4332]) });
    let asked = hex(
        "50 ffffffffffff 400000000080 aaaa03 000000 0806 0001 0800 06 04 0001 020000000001 0a000001 000000000000 0a000002",
    );
    assert_eq!(bench.sent_octets(), [asked]);
    let answer = hex(
        "50 400000000080 400000000040 aaaa03 000000 0806 0001 0800 06 04 0002 020000000002 0a000002 020000000001 0a000001",
    );
    bench.octets(ring, &answer);
    let sent = bench.sent_octets();
    assert_eq!(sent[0].len(), LEN + 8 + 4352);
    assert_eq!(sent[0][..21], hex("50 400000000040 400000000080 aaaa03 000000 0800"));
}

#[test]
fn what_is_longer_than_the_mtu_is_not_sent() {
    let (mut bench, ring, user) = bench(Config::new(OWN));
    bench.send(user, to(PEER, &[0; 4360]));
    assert_eq!(bench.sent().len(), 1);
    bench.send(user, to(PEER, &[0; 4361]));
    assert!(bench.sent().is_empty());
    let limits = Report::Limits { unit: 1013, burst: 7 };
    bench.indicate(ring, Indication::Report(Box::new(limits)));
    let reports = bench.reports(user);
    assert!(matches!(reports[0], Report::Limits { unit: 1000, burst: 1 }));
}

#[test]
fn its_one_user_is_llc() {
    let (mut bench, ..) = bench(Config::new(OWN));
    let task = bench.graph.add_task("other");
    for (name, key) in [("second", Key::Only), ("ip", Key::of(ETHER_TYPE, 0x0800))] {
        let user = Box::new(User::with_keys(&[key]));
        bench.graph.add_node(name, task, user).unwrap();
        assert!(bench.graph.connect(name, "fddi").is_err());
    }
    let mut alone = Fddi::new(Config::new(OWN)).unwrap();
    let refused = alone.bind(USER, &[Key::of(ETHER_TYPE, 0x0800)]).unwrap_err();
    assert!(refused.contains("`llc`"), "{refused}");
}

#[test]
fn a_station_has_an_address_of_one_station() {
    assert!(Fddi::new(Config::new(MacAddr::BROADCAST)).is_err());
    let mtu = |mtu| Fddi::new(Config { mtu, ..Config::new(OWN) }).map(|_| ());
    assert_eq!(mtu(4479), Err(ConfigError::Mtu(4479)));
    assert!(mtu(4478).is_ok());
    assert_eq!(MOST_MTU as usize, MAX_INFORMATION);
    let headers = kumiki_wire::inet::llc_snap::LEN;
    assert_eq!(USUAL_MTU as usize, kumiki_wire::inet::fddi::IP_MTU + headers);
}
