use kumiki_graph::Unit;
use kumiki_octets::Message;
use kumiki_wire::atm::cell::Vc;
use kumiki_wire::numbering::ETHER_TYPE;

use super::*;
use kumiki_testkit::bench::{Bench, User};

const VC: Address = Vc { vpi: 0, vci: 100 }.address();

#[test]
fn octets_pass_as_they_are_over_the_one_channel() {
    let mut bench = Bench::new();
    let atm = bench.device("atm");
    bench.node("vc_mux", &["atm"], VcMux::new(Config { vc: VC }));
    let user = bench.user("user", "vc_mux", &[Key::of(ETHER_TYPE, 0x0800)]);
    bench.start();
    let unit = |source| Unit { source, data: Message::from_octets(&[0x45, 7]), ..Unit::default() };
    bench.send(user, unit(Address::NONE));
    let sent = bench.sent();
    assert_eq!(sent[0].1.data.to_vec(), [0x45, 7]);
    assert_eq!(sent[0].1.destination, VC);
    bench.receive(atm, unit(VC));
    bench.receive(atm, unit(Vc { vpi: 0, vci: 101 }.address()));
    bench.receive(atm, unit(Address::NONE));
    assert_eq!(bench.units(user).len(), 2);
    assert_eq!(bench.drops("vc_mux", "other VC"), 1);
}

#[test]
fn a_second_user_is_refused() {
    let mut bench = Bench::new();
    bench.device("atm");
    bench.node("vc_mux", &["atm"], VcMux::default());
    bench.user("user", "vc_mux", &[]);
    let task = bench.graph.add_task("other");
    let user = Box::new(User::with_keys(&[]));
    bench.graph.add_node("second", task, user).unwrap();
    assert!(bench.graph.connect("second", "vc_mux").is_err());
}
