use kumiki_graph::{Indication, Report};
use kumiki_octets::Message;

use super::*;
use kumiki_inet::eth::{self, Eth};
use kumiki_testkit::bench::{Bench, hex};

fn bench() -> (Bench, kumiki_graph::NodeId, kumiki_graph::DeviceId) {
    let mut bench = Bench::new();
    let device = bench.device("tap");
    let eth = Eth::new(eth::Config::new("02:00:00:00:00:01".parse().unwrap())).unwrap();
    bench.node("eth", &["tap"], eth);
    bench.node("lapb_ether", &["eth"], LapbEther::default());
    let user = bench.user("lapb", "lapb_ether", &[]);
    bench.start();
    let limits = Report::Limits { unit: 1500, burst: 1 };
    bench.indicate(device, Indication::Report(Box::new(limits)));
    let _ = (bench.requests(), bench.heard(user));
    (bench, user, device)
}

#[test]
fn a_frame_is_what_linux_sends() {
    let (mut bench, user, _) = bench();
    bench.send(user, Unit::of(Message::from_octets(&hex("01 3f"))));
    // SABM of Linux's lapbether, padded.
    let mut wanted = hex("ff ff ff ff ff ff 02 00 00 00 00 01 60 00 02 00 01 3f");
    wanted.resize(60, 0);
    assert_eq!(bench.sent_octets(), [wanted]);
}

#[test]
fn padding_is_taken_off_and_a_wrong_length_is_dropped() {
    let (mut bench, user, device) = bench();
    let head = "ff ff ff ff ff ff 02 00 00 00 00 02 60 00";
    for (rest, wanted) in [
        ("03 00 03 00 aa 00 00 00 00", Some(hex("03 00 aa"))),
        ("09 00 03 00 aa", None),
        ("00 00 03 00 aa", None),
        ("01", None),
        ("", None),
    ] {
        bench.octets(device, &[hex(head), hex(rest)].concat());
        let came: Vec<Vec<u8>> = bench.units(user).into_iter().map(|unit| unit.data.to_vec()).collect();
        assert_eq!(came, Vec::from_iter(wanted), "{rest}");
    }
    assert_eq!(bench.drops("lapb_ether", "length field exceeds the frame"), 4);
}
