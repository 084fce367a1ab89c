use kumiki_graph::{GraphError, Indication, Manage, Protocol, Report, Request, UnitOptions};
use kumiki_octets::{Checksum, Message, Meta};
use kumiki_wire::atm::cell::Vc;
use kumiki_wire::numbering::ETHER_TYPE;
use proptest::prelude::*;

use super::*;
use kumiki_testkit::bench::{Bench, hex};

const IP: Key = Key::of(ETHER_TYPE, 0x0800);
const ARP: Key = Key::of(ETHER_TYPE, 0x0806);
const VC: Address = Vc { vpi: 0, vci: 100 }.address();
const OTHER: Address = Vc { vpi: 0, vci: 101 }.address();

fn bench(vc: Address) -> (Bench, kumiki_graph::DeviceId, kumiki_graph::NodeId) {
    let mut bench = Bench::new();
    let atm = bench.device("atm");
    bench.node("llc_snap", &["atm"], LlcSnap::new(Config { vc }));
    let user = bench.user("user", "llc_snap", &[IP, ARP]);
    bench.start();
    (bench, atm, user)
}

fn unit(octets: &[u8]) -> Unit {
    Unit { data: Message::from_octets(octets), ..Unit::default() }
}

#[test]
fn a_routed_pdu_gets_the_header_of_rfc_2684() {
    let (mut bench, _, user) = bench(Address::NONE);
    bench.send(user, Unit { destination: VC, ..unit(&[0x45, 1, 2]) });
    bench.send(user, Unit { options: UnitOptions { under: Some(ARP), ..UnitOptions::default() }, ..unit(&[0, 0x13]) });
    let sent = bench.sent();
    assert_eq!(sent[0].1.data.to_vec(), hex("aaaa03 000000 0800 450102"));
    assert_eq!(sent[0].1.destination, VC);
    assert_eq!(sent[1].1.data.to_vec(), hex("aaaa03 000000 0806 0013"));
}

#[test]
fn a_unit_says_under_which_key_and_from_which_channel_it_came() {
    let (mut bench, atm, user) = bench(Address::NONE);
    for text in ["aaaa03 000000 0800 4500", "aaaa03 000000 0806 0013"] {
        bench.receive(atm, Unit { source: VC, ..unit(&hex(text)) });
    }
    let units = bench.units(user);
    assert_eq!(units[0].data.to_vec(), [0x45, 0]);
    assert_eq!(units[0].options.under, Some(IP));
    assert_eq!(units[1].options.under, Some(ARP));
    assert_eq!(units[1].source, VC);
}

#[test]
fn other_llc_and_unknown_types_are_dropped() {
    let (mut bench, atm, user) = bench(Address::NONE);
    bench.octets(atm, &hex("424203 000000 0800 4500"));
    bench.octets(atm, &hex("fefe03 81 0000000000"));
    bench.octets(atm, &hex("aaaa03 0080c2 0007 0000 00"));
    bench.octets(atm, &hex("aaaa03 0000"));
    bench.octets(atm, &hex("aaaa03 000000 86dd 60"));
    assert!(bench.heard(user).is_empty());
    let node = bench.graph.node("llc_snap").unwrap();
    let counters = bench.graph.protocol::<LlcSnap>(node).unwrap().counters();
    assert_eq!((counters.malformed, counters.unknown_type), (4, 1));
}

#[test]
fn a_channel_of_its_own_takes_units_without_destination_and_no_others() {
    let (mut bench, atm, user) = bench(VC);
    bench.send(user, unit(&[1]));
    assert_eq!(bench.sent()[0].1.destination, VC);
    for source in [OTHER, VC] {
        let unit = unit(&hex("aaaa03 000000 0800 45"));
        bench.receive(atm, Unit { source, ..unit });
    }
    assert_eq!(bench.units(user).len(), 1);
}

#[test]
fn limits_shrink_by_the_header() {
    let (mut bench, atm, user) = bench(Address::NONE);
    bench.say(user, Request::Manage(Box::new(Manage::Limits)));
    assert!(matches!(&bench.requests()[..], [(_, Request::Manage(_))]));
    let limits = Report::Limits { unit: 9188, burst: 7 };
    bench.indicate(atm, Indication::Report(Box::new(limits)));
    assert!(matches!(bench.reports(user)[..], [Report::Limits { unit: 9180, burst: 7 }]));
}

#[test]
fn what_a_device_is_told_counts_from_the_new_front() {
    let (mut bench, _, user) = bench(VC);
    let mut unit = unit(&[0; 60]);
    *unit.data.meta_mut() =
        Meta { segment_size: 10, header_len: 40, ace: false, checksum: Checksum::Partial { start: 20, field: 16 } };
    bench.send(user, unit);
    let meta = *bench.sent()[0].1.data.meta();
    assert_eq!(meta.header_len, 48);
    let start = 28;
    assert_eq!(meta.checksum, Checksum::Partial { start, field: 16 });
}

#[test]
fn two_users_of_one_type_and_users_of_none_are_refused() {
    let (mut bench, ..) = bench(VC);
    let task = bench.graph.add_task("other");
    for (name, config) in [("ip", "EtherType 0x0800 has a user"), ("x", "has none")] {
        let user: Box<dyn Protocol> = if name == "ip" {
            Box::new(kumiki_testkit::bench::User::with_keys(&[IP]))
        } else {
            Box::new(kumiki_testkit::bench::User::with_keys(&[Key::Only]))
        };
        bench.graph.add_node(name, task, user).unwrap();
        let Err(GraphError::Refused { why, .. }) = bench.graph.connect(name, "llc_snap") else {
            panic!("{name} was taken")
        };
        assert!(why.contains(config), "{why}");
    }
}

proptest! {
    #[test]
    fn no_octets_make_it_panic(octets: Vec<u8>) {
        let (mut bench, atm, _) = bench(VC);
        bench.octets(atm, &octets);
    }
}
