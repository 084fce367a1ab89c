//! LLC on an Ethernet whose frames have a length, and what it answers.

use kumiki_graph::{DeviceId, NodeId, Report};
use kumiki_wire::inet::ethernet::MacAddr;

use super::*;
use crate::eth::{self, Eth};
use kumiki_testkit::bench::{Bench, hex};

const PEER: Address = MacAddr([2, 0, 0, 0, 0, 2]).address();
const NETBIOS: Key = Key::of(LSAP, sap::NETBIOS as u16);

/// A station with IP by EtherType and a user by SAP, over Ethernet without padding, beside a user of Ethernet II.
fn station(pad: bool) -> (Bench, DeviceId, [NodeId; 3]) {
    let mut bench = Bench::new();
    let medium = bench.device("medium");
    let config = eth::Config { pad, mtu: 9000, ..eth::Config::new(MacAddr([2, 0, 0, 0, 0, 1])) };
    bench.node("eth", &["medium"], Eth::new(config).unwrap());
    bench.node("llc", &["eth"], Llc::new(Config::default()));
    let ip = bench.user("ip", "llc", &[Key::of(ETHER_TYPE, 0x0800)]);
    let netbios = bench.user("netbios", "llc", &[NETBIOS]);
    let beside = bench.user("beside", "eth", &[Key::of(ETHER_TYPE, 0x0800)]);
    bench.start();
    bench.requests();
    (bench, medium, [ip, netbios, beside])
}

fn to_peer(data: &[u8]) -> Unit {
    Unit { destination: PEER, ..Unit::of(Message::from_octets(data)) }
}

/// A frame from the peer to us with a length and these octets.
fn frame(llc: &str) -> Vec<u8> {
    let data = hex(llc);
    let length = u16::try_from(data.len()).unwrap().to_be_bytes();
    let addresses = hex("020000000001 020000000002");
    let padding = vec![0; 46_usize.saturating_sub(data.len())];
    [addresses, length.to_vec(), data, padding].concat()
}

fn octets(units: Vec<Unit>) -> Vec<Vec<u8>> {
    units.into_iter().map(|unit| unit.data.to_vec()).collect()
}

/// What was sent, behind the addresses.
fn sent(bench: &mut Bench) -> Vec<Vec<u8>> {
    let octets = bench.sent_octets();
    octets.into_iter().map(|it| it[12..].to_vec()).collect()
}

fn llc(bench: &Bench) -> &Llc {
    bench.graph.protocol(bench.graph.node("llc").unwrap()).unwrap()
}

#[test]
fn frames_have_a_length_and_snap_or_the_sap_of_the_user() {
    let (mut bench, _, [ip, netbios, beside]) = station(false);
    bench.send(ip, to_peer(&[0x45, 0]));
    bench.send(netbios, to_peer(&[9]));
    bench.send(beside, to_peer(&[0x45, 1]));
    assert_eq!(sent(&mut bench), [hex("000a aaaa03 000000 0800 4500"), hex("0004 f0f003 09"), hex("0800 4501")]);
}

#[test]
fn a_length_does_not_count_the_padding_and_the_user_does_not_see_it() {
    let (mut bench, medium, [ip, netbios, beside]) = station(true);
    bench.send(netbios, to_peer(&[9]));
    let sent = sent(&mut bench);
    assert_eq!(sent[0].len(), 2 + 46);
    assert_eq!(sent[0][..6], hex("0004 f0f003 09"));
    bench.octets(medium, &frame("f0f003 0708"));
    bench.octets(medium, &frame("aaaa03 000000 0800 4500"));
    let heard = bench.units(netbios);
    assert_eq!(heard[0].options.under, Some(NETBIOS));
    assert_eq!(heard[0].source, PEER);
    assert_eq!(octets(heard), [[7, 8]]);
    assert_eq!(octets(bench.units(ip)), [[0x45, 0]]);
    assert!(bench.units(beside).is_empty());
}

#[test]
fn what_is_for_all_saps_is_for_every_user_that_has_one() {
    let (mut bench, medium, [ip, netbios, _]) = station(false);
    bench.octets(medium, &frame("fff003 07"));
    assert_eq!(octets(bench.units(netbios)), [[7]]);
    assert!(bench.units(ip).is_empty());
}

/// RFC 1390, "Elements of Procedure".
#[test]
fn xid_and_test_are_answered_for_the_null_global_and_snap_saps_and_for_users() {
    let (mut bench, medium, _) = station(false);
    for (command, response) in [
        // XID, then with the poll bit; class I is 81 01 00.
        ("aaaaaf 810100", "aaabaf 810100"),
        ("00aabf 810100", "aa01bf 810100"),
        ("ffaabf 810100", "aaabbf 810100"),
        ("f0f0af 810100", "f0f1af 810100"),
        // TEST brings back what it took.
        ("aa04e3 010203", "04abe3 010203"),
        ("0004f3", "0401f3"),
    ] {
        bench.octets(medium, &frame(command));
        let response = hex(response);
        let length = u16::try_from(response.len()).unwrap().to_be_bytes();
        assert_eq!(sent(&mut bench), [[length.to_vec(), response].concat()], "{command}");
    }
    let it = llc(&bench).answers();
    assert_eq!((it.xid_answered, it.test_answered), (4, 2));
}

#[test]
fn commands_are_not_answered_where_that_is_not_wanted() {
    let mut bench = Bench::new();
    let medium = bench.device("medium");
    let eth = Eth::new(eth::Config::new(MacAddr([2, 0, 0, 0, 0, 1]))).unwrap();
    bench.node("eth", &["medium"], eth);
    bench.node("llc", &["eth"], Llc::new(Config { answer: false }));
    bench.start();
    bench.requests();
    bench.octets(medium, &frame("aaaae3 01"));
    assert!(sent(&mut bench).is_empty());
}

#[test]
fn what_is_not_to_be_answered_or_passed_is_counted() {
    let (mut bench, medium, users) = station(false);
    for llc in [
        // XID for a SAP without a user, and responses.
        "0404af 810100",
        "aaabaf 810100",
        "aaabe3 01",
        // UI that is a response, or polls; SNAP in one SAP only; another organisation; no user.
        "f0f103 01",
        "f0f013 01",
        "aaf003 000000 0800 45",
        "aaaa03 0080c2 0007 0000 01",
        "aaaa03 000000 86dd 60",
        "060603 45",
        // Type 2: SABME, an information frame.
        "f0f07f",
        "f0f0 0000 01",
        "f0",
        "",
    ] {
        bench.octets(medium, &frame(llc));
    }
    assert!(sent(&mut bench).is_empty());
    for user in users {
        assert!(bench.units(user).is_empty());
    }
    let it = llc(&bench).counters();
    assert_eq!((llc(&bench).answers().responses, it.malformed, it.unknown_type), (2, 7, 4));
    // From a group, as source routing marks addresses.
    let mut octets = frame("aaaae3 01");
    octets[6] |= 1;
    bench.octets(medium, &octets);
    assert!(sent(&mut bench).is_empty());
}

#[test]
fn limits_are_those_of_a_frame_with_a_length_less_the_header() {
    let (mut bench, _, users) = station(true);
    let mut limits = Vec::new();
    for user in users {
        bench.heard(user);
        bench.say(user, Request::Manage(Box::new(Manage::Limits)));
        let Some(Report::Limits { unit, burst }) = bench.reports(user).into_iter().next() else { panic!() };
        limits.push((unit, burst));
    }
    assert_eq!(limits, [(1492, 1), (1497, 1), (9000, 1)]);
    // Nothing longer goes out: a length beyond 1500 would be a type.
    bench.send(users[1], to_peer(&[0; 1498]));
    assert!(bench.sent().is_empty());
}

#[test]
fn saps_that_are_no_users_are_refused() {
    let mut bench = Bench::new();
    bench.node("llc", &[], Llc::new(Config::default()));
    for (name, key) in [("odd", Key::of(LSAP, 0x43)), ("snap", Key::of(LSAP, 0xaa)), ("none", Key::Raw)] {
        let task = bench.graph.add_task(name);
        let user = kumiki_testkit::bench::User::with_keys(&[key]);
        bench.graph.add_node(name, task, Box::new(user)).unwrap();
        assert!(bench.graph.connect(name, "llc").is_err(), "{name}");
    }
}
