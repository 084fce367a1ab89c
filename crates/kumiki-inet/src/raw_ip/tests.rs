//! Datagrams of two versions on one line.

use kumiki_graph::NodeId;
use kumiki_octets::Message;
use kumiki_testkit::bench::Bench;
use kumiki_wire::numbering::ETHER_TYPE;

use super::*;

fn user(bench: &mut Bench, name: &str, ethertype: u16) -> NodeId {
    bench.user(name, "raw_ip", &[Key::of(ETHER_TYPE, ethertype)])
}

#[test]
fn each_version_goes_to_its_user_and_nothing_is_added() {
    let mut bench = Bench::new();
    let line = bench.device("line");
    bench.node("raw_ip", &["line"], RawIp::default());
    let four = user(&mut bench, "four", ethertype::IPV4);
    let six = user(&mut bench, "six", ethertype::IPV6);
    bench.start();
    bench.requests();
    for octets in [&[0x45, 1][..], &[0x60, 2], &[0x70, 3], &[]] {
        bench.octets(line, octets);
    }
    assert_eq!(bench.units(four).iter().map(|it| it.data.to_vec()).collect::<Vec<_>>(), [[0x45, 1]]);
    assert_eq!(bench.units(six).iter().map(|it| it.data.to_vec()).collect::<Vec<_>>(), [[0x60, 2]]);
    bench.send(six, Unit { data: Message::from_octets(&[0x60, 9]), ..Unit::default() });
    assert_eq!(bench.sent_octets(), [[0x60, 9]]);
    let counters = *bench.graph.find::<RawIp>("raw_ip").unwrap().counters();
    assert_eq!(counters, Counters { sent: 1, received: 2, malformed: 2, ..Counters::default() });
}

#[test]
fn a_datagram_of_a_version_that_the_host_has_not_is_dropped() {
    let mut bench = Bench::new();
    let line = bench.device("line");
    bench.node("raw_ip", &["line"], RawIp::default());
    let four = user(&mut bench, "four", ethertype::IPV4);
    bench.start();
    bench.octets(line, &[0x60, 2]);
    assert!(bench.units(four).is_empty());
    assert_eq!(bench.graph.find::<RawIp>("raw_ip").unwrap().counters().unknown_type, 1);
}
