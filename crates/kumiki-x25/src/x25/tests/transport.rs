//! Transport class 0 above the packet layer.

use kumiki_graph::{Address, Duration, Handle, Mode, Open, Reason, Request};
use kumiki_octets::Message;
use kumiki_octets::Number;
use kumiki_osi::tp0::{self, CallUserData, Network, Tp0};

use kumiki_osi_service::layer;
use kumiki_osi_service::x25::{CauseField, cause, diagnostic};

use crate::lapb::tests::wire::{A, B, Wire};
use crate::x25::{Config, PacketCarrier, Role, X25, told};

/// Transport at both ends, where A has called B; whose call user data is `data`; B holds so many `connections`.
fn called(data: CallUserData, connections: u32) -> Wire {
    let mut wire = Wire::new(Duration::from_millis(1));
    let usual = tp0::Config { network: Network::X25, ..tp0::Config::default() };
    let a = tp0::Config { call_user_data: data, ..usual };
    let b = tp0::Config { connections, ..usual };
    for (end, role, config) in [(A, Role::Dte, a), (B, Role::Dce, b)] {
        let [line, x25, tp0] = ["line", "x25", "tp0"].map(|layer| end.name(layer));
        let below = Config { over: PacketCarrier::Frames, role: Some(role), ..Config::default() };
        wire.device(end);
        wire.add(&x25, &[&line], X25::new(below).unwrap());
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
    wire
}

/// PacketCarrier X.25, whose credit is exact: what is handed over without is gone.
#[test]
fn a_tsdu_longer_than_all_windows_crosses_x25_whole() {
    let mut wire = called(CallUserData::TRANSPORT, 1024);
    let session = wire.session(A).unwrap();
    let octets: Vec<u8> = (0..200_000_u32).map(|at| (at % 251) as u8).collect();
    let (data, end) = (Message::from_octets(&octets), true);
    wire.say(A, Request::Data { session, data, end });
    wire.pass(Duration::from_secs(10));
    let drops = wire.bench.drops("x25 a", "data without credit");
    assert_eq!((wire.taken(B), drops), (vec![octets], 0));
}

/// Who calls for another protocol reads so in the diagnostic, and the log of who was called has what was found and
/// expected.
#[test]
fn a_call_for_another_protocol_is_told_what_is_taken_here() {
    for (data, found) in [
        (&[0xff][..], "call user data is ff, expected to begin 03010100"),
        (&[1, 0, 0, 0, b'h', b'i'], "call user data is 01000000..., expected to begin 03010100"),
    ] {
        let mut wire = called(CallUserData::new(data).unwrap(), 1024);
        let expected = told(CauseField::Clear, cause::DTE, diagnostic::UNRECOGNISED_PROTOCOL);
        assert_eq!(wire.aborted(A), Some(expected), "{data:?}");
        let refusal = wire.node::<Tp0>("tp0 b").refusal().and_then(Reason::as_violation).cloned().unwrap();
        assert!(refusal.is_first, "{refusal}");
        assert_eq!((refusal.layer, &*refusal.what), (layer::TRANSPORT, found));
    }
}

/// The listener is one of those that it holds.
#[test]
fn a_call_beyond_what_transport_holds_is_told_so() {
    let mut wire = called(CallUserData::TRANSPORT, 1);
    let expected = told(CauseField::Clear, cause::DTE, diagnostic::RESOURCES);
    assert_eq!(wire.aborted(A), Some(expected));
}
