use super::*;
use kumiki_testkit::bench::Bench;

/// What was said of the link: that it is up, or not.
fn ups(bench: &mut Bench, user: kumiki_graph::NodeId) -> Vec<bool> {
    let reports = bench.reports(user);
    reports.iter().map(|report| matches!(report, Report::Up)).collect()
}

#[test]
fn the_kernel_asks_for_the_link_sends_packets_and_ends_it() {
    let mut bench = Bench::new();
    let device = bench.device("tun");
    bench.node("x25_iface", &["tun"], X25Iface::default());
    let user = bench.user("x25", "x25_iface", &[]);
    bench.start();
    let packet = || Unit::of(Message::from_octets(&[0x10, 0, 0xff]));
    bench.send(user, packet());
    bench.octets(device, &[0, 0x10, 0, 0xfb]);
    assert!(bench.sent_octets().is_empty());
    assert_eq!(ups(&mut bench, user), [false]);
    bench.octets(device, &[1]);
    assert_eq!(bench.sent_octets(), [[1]]);
    assert_eq!(ups(&mut bench, user), [true]);
    bench.octets(device, &[0, 0x10, 0, 0xfb]);
    assert_eq!(bench.units(user)[0].data.to_vec(), [0x10, 0, 0xfb]);
    bench.send(user, packet());
    assert_eq!(bench.sent_octets(), [[0, 0x10, 0, 0xff]]);
    // It asks again: whatever stood is gone.
    bench.octets(device, &[1]);
    assert_eq!(ups(&mut bench, user), [false, true]);
    bench.octets(device, &[3, 9]);
    bench.octets(device, &[]);
    bench.octets(device, &[77]);
    bench.octets(device, &[2]);
    assert_eq!(bench.sent_octets(), [[1], [2]]);
    assert_eq!(ups(&mut bench, user), [false]);
}

#[test]
fn the_packet_layer_restarts_as_soon_as_the_kernel_asks_for_the_link() {
    use crate::x25::{self, PacketCarrier, Role, X25};

    let mut bench = Bench::new();
    let device = bench.device("tun");
    bench.node("x25_iface", &["tun"], X25Iface::default());
    let config = x25::Config { over: PacketCarrier::Frames, role: Some(Role::Dce), ..x25::Config::default() };
    bench.node("x25", &["x25_iface"], X25::new(config).unwrap());
    bench.start();
    assert!(bench.sent_octets().is_empty());
    bench.octets(device, &[1]);
    let sent = bench.sent_octets();
    assert_eq!(sent[0], [1]);
    assert_eq!(sent[1][..4], [0, 0x10, 0, 0xfb]);
}
