//! Transport class 0 above the packet layer.

use kumiki_graph::{Address, Duration, Handle, Mode, Open, Request};
use kumiki_octets::Message;
use kumiki_octets::Number;
use kumiki_osi::tp0::{self, Network, Tp0};

use crate::lapb::tests::wire::{A, B, Wire};
use crate::x25::{Config, PacketCarrier, Role, X25};

/// Over X.25, whose credit is exact: what is handed over without is gone.
#[test]
fn a_tsdu_longer_than_all_windows_crosses_x25_whole() {
    let mut wire = Wire::new(Duration::from_millis(1));
    for (end, role) in [(A, Role::Dte), (B, Role::Dce)] {
        let [line, x25, tp0] = ["line", "x25", "tp0"].map(|layer| end.name(layer));
        let config = Config { over: PacketCarrier::Frames, role: Some(role), ..Config::default() };
        wire.device(end);
        wire.add(&x25, &[&line], X25::new(config).unwrap());
        let config = tp0::Config { network: Network::X25, ..tp0::Config::default() };
        wire.add(&tp0, &[&x25], Tp0::new(config));
        wire.user(end, &tp0);
    }
    wire.start();
    wire.pass(Duration::from_millis(10));
    let open = |user, mode, remote| {
        Request::Open(Box::new(Open { user: Handle { index: user, generation: 1 }, mode, remote, ..Open::default() }))
    };
    let number = Address::from("1".parse::<Number>().unwrap());
    let none = Address::NONE;
    wire.say(B, open(5, Mode::Passive { backlog: 1 }, none));
    wire.say(A, open(1, Mode::Active, number));
    wire.pass(Duration::from_millis(20));
    let session = wire.session(A).unwrap();
    let octets: Vec<u8> = (0..200_000_u32).map(|at| (at % 251) as u8).collect();
    let (data, end) = (Message::from_octets(&octets), true);
    wire.say(A, Request::Data { session, data, end });
    wire.pass(Duration::from_secs(10));
    let drops = wire.bench.drops("x25 a", "data without credit");
    assert_eq!((wire.taken(B), drops), (vec![octets], 0));
}
