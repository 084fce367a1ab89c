//! A server's side of Telnet, with the client played by the test.

use kumiki_graph::{Accept, DeviceId, Mode, NodeId, Open, Report};
use proptest::collection;
use proptest::prelude::*;

use super::*;
use kumiki_graph::pipe::{self, Pipe};
use kumiki_testkit::bench::Bench;

const USER: Handle = Handle { index: 9, generation: 1 };

fn served() -> (Bench, NodeId, DeviceId, Handle) {
    let mut bench = Bench::new();
    let device = bench.device("socket");
    bench.node("pipe", &["socket"], Pipe::new(pipe::Config::default()));
    bench.node("telnet", &["pipe"], Telnet::new());
    let user = bench.user("user", "telnet", &[]);
    bench.start();
    let open = Open { user: USER, mode: Mode::Passive { backlog: 1 }, ..Open::default() };
    bench.say(user, Request::Open(Box::new(open)));
    bench.indicate(device, Indication::Report(Box::new(Report::Up)));
    let (session, credit) = (Handle::default(), Credit::octets(1000));
    bench.indicate(device, Indication::Credit { session, credit });
    let heard = bench.heard(user);
    let Some(Indication::Offered(offered)) = heard.last() else {
        panic!("{heard:?}");
    };
    let provider = offered.provider;
    let accept = Accept { session: provider, user: USER, ..Accept::default() };
    bench.say(user, Request::Accept(Box::new(accept)));
    (bench, user, device, provider)
}

fn characters(bench: &mut Bench, user: NodeId) -> (Vec<u8>, usize) {
    let mut breaks = 0;
    let mut octets = Vec::new();
    for heard in bench.heard(user) {
        if let Indication::Data { data, .. } = &heard {
            octets.extend(data.to_vec());
        }
        breaks += usize::from(matches!(heard, Indication::Expedited { .. }));
    }
    (octets, breaks)
}

#[test]
fn a_client_is_put_into_character_mode_and_heard() {
    let (mut bench, user, device, provider) = served();
    // WILL ECHO, WILL SUPPRESS GO AHEAD, DO SUPPRESS GO AHEAD.
    assert_eq!(bench.sent_octets().concat(), [255, 251, 1, 255, 251, 3, 255, 253, 3]);
    // What Linux's client says to that, with a terminal type (24) that nobody asked for, and what a person types.
    bench.octets(device, &[255, 253, 1, 255, 253, 3, 255, 251, 3, 255, 251, 24]);
    assert_eq!(bench.sent_octets().concat(), [255, 254, 24]);
    bench.octets(device, b"ab\r\0c\r\nd\xff\xffe");
    assert_eq!(characters(&mut bench, user), (b"ab\rc\rd\xffe".to_vec(), 0));
    bench.octets(device, &[b'x', 255, 243, b'y', 255, 250, 24, 0, b'v', 255, 240, b'z']);
    assert_eq!(characters(&mut bench, user), (b"xyz".to_vec(), 1));
    let data = Message::from_octets(b"1\xff2");
    let (session, end) = (provider, true);
    bench.say(user, Request::Data { session, data, end });
    assert_eq!(bench.sent_octets().concat(), b"1\xff\xff2");
}

#[test]
fn an_answer_is_not_answered() {
    let (mut bench, _, device, _) = served();
    bench.sent_octets();
    for octets in [[255, 253, 1], [255, 253, 3], [255, 251, 3], [255, 254, 24]] {
        bench.octets(device, &octets);
    }
    assert_eq!(bench.sent_octets().concat(), [0; 0]);
    // Echo is taken back, offered by the client for itself, which is refused, and binary offered twice.
    let octets = [255, 254, 1, 255, 251, 1, 255, 251, 0, 255, 251, 0];
    bench.octets(device, &octets);
    assert_eq!(bench.sent_octets().concat(), [255, 252, 1, 255, 254, 1, 255, 253, 0]);
}

#[test]
fn what_is_taken_out_of_the_stream_is_granted_again() {
    let (mut bench, _, device, _) = served();
    bench.requests();
    bench.octets(device, &[255, 253, 3, b'a', b'\r', 0]);
    let granted: u64 = bench
        .requests()
        .into_iter()
        .filter_map(|(_, request)| {
            let Request::Credit { credit, .. } = request else {
                return None;
            };
            Some(credit.octets)
        })
        .sum();
    assert_eq!(granted, 4);
}

proptest! {
    #[test]
    fn how_any_stream_is_cut_makes_no_difference(
        octets in collection::vec(
            prop_oneof![Just(255_u8), 240..=254_u8, Just(13), Just(10), Just(0), any::<u8>()],
            0..200,
        ),
        most in 1..20_usize,
    ) {
        let heard = |most: usize| {
            let (mut bench, user, device, _) = served();
            for piece in octets.chunks(most) {
                bench.octets(device, piece);
            }
            (characters(&mut bench, user), bench.sent_octets().concat())
        };
        prop_assert_eq!(heard(most), heard(octets.len().max(1)));
    }
}
