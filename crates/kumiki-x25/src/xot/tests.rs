#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks for one of many")]

use core::net::SocketAddr;
use kumiki_graph::Duration;

use super::*;
use crate::x25::{self, PacketCarrier, X25};
use kumiki_testkit::bench::{Bench, assert_violation, hex};

/// A stream between two access points, whole and at once: what TCP is to those who only see its service.
struct Stream {
    /// By access point: the user's handle of its listener, and of the connection.
    ends: [(Option<Handle>, Option<Handle>); 2],
    /// How many octets are cut off at a time.
    piece: usize,
    cut: bool,
}

impl Stream {
    fn credit(to: usize, session: Handle, cx: &mut Context<'_>) {
        let credit = Credit::octets(1 << 20);
        let to = Above(u16::try_from(to).unwrap());
        cx.up(to, Indication::Credit { session, credit });
    }
}

impl Protocol for Stream {
    fn shape(&self) -> Shape {
        Shape { offers: Some(Service::STREAM), needs: &[], below: (0, 0), keys: Vec::new() }
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        let me = usize::from(from.0);
        let other = 1 - me;
        let above = |n: usize| Above(u16::try_from(n).unwrap());
        match request {
            Request::Open(open) if open.mode == Mode::Active => {
                assert_eq!(open.remote.socket().unwrap().port(), 1998);
                self.ends[me].1 = Some(open.user);
                let offered = Offered { user: self.ends[other].0.unwrap(), ..Offered::default() };
                cx.up(above(other), Indication::Offered(Box::new(offered)));
            }
            Request::Open(open) => {
                self.ends[me].0 = Some(open.user);
                let user = open.user;
                let opened = Opened { user, ..Opened::default() };
                cx.up(from, Indication::Opened(Box::new(opened)));
            }
            Request::Accept(accept) => {
                self.ends[me].1 = Some(accept.user);
                let user = self.ends[other].1.unwrap();
                let opened = Opened { user, ..Opened::default() };
                cx.up(above(other), Indication::Opened(Box::new(opened)));
                Self::credit(other, user, cx);
                Self::credit(me, accept.user, cx);
            }
            Request::Data { mut data, .. } => {
                let session = self.ends[other].1.unwrap();
                while !data.is_empty() {
                    let piece = data.split_to(self.piece.min(data.len())).unwrap();
                    let (data, end) = (piece, true);
                    cx.up(above(other), Indication::Data { session, data, end });
                }
            }
            Request::Release { .. } | Request::Abort { .. } => {
                if core::mem::replace(&mut self.cut, true) {
                    return;
                }
                if let Some(session) = self.ends[other].1 {
                    cx.up(above(other), Indication::Released { session, data: None });
                }
            }
            _ => {}
        }
    }

    fn pop(&mut self, _: Below, _: Indication, _: &mut Context<'_>) {}
}

fn permanent(channel: u16, own: &str, peer: &str, peer_channel: u16, calls: bool) -> Permanent {
    Permanent {
        channel,
        interface: own.to_owned(),
        peer_interface: peer.to_owned(),
        peer_channel,
        peer: calls.then(|| "10.0.0.2:1998".parse().unwrap()),
        window: 2,
        packet: 7,
    }
}

/// X.25 on XOT at both ends of a stream that comes in pieces.
fn bench(piece: usize, b_permanent: Permanent) -> Bench {
    let mut bench = Bench::new();
    let stream = Stream { ends: [(None, None); 2], piece, cut: false };
    bench.node("stream", &[], stream);
    let a_permanent = permanent(3, "Serial0", "Serial1", 4, true);
    for (end, permanent) in [("a", a_permanent), ("b", b_permanent)] {
        let config = Config {
            routes: vec![("123".parse().unwrap(), "10.0.0.2:1998".parse().unwrap())],
            permanent: vec![permanent],
            ..Config::default()
        };
        bench.node(&format!("xot {end}"), &["stream"], Xot::new(config));
        let config = x25::Config { over: PacketCarrier::Circuits, ..x25::Config::default() };
        let below = format!("xot {end}");
        bench.node(&format!("x25 {end}"), &[&below], X25::new(config).unwrap());
    }
    bench
}

const fn handle(index: u32) -> Handle {
    Handle { index, generation: 1 }
}

fn open(mode: Mode, remote: Address, channel: Option<u16>) -> Request {
    Request::Open(Box::new(Open { user: handle(1), mode, remote, parameters: call(channel), ..Open::default() }))
}

#[test]
fn a_call_crosses_a_stream_in_pieces_of_any_size() {
    for piece in [1, 3, 1000] {
        let mut bench = bench(piece, permanent(4, "Serial1", "serial0", 3, false));
        let [a, b] = ["a", "b"].map(|end| bench.user(&format!("user {end}"), &format!("x25 {end}"), &[]));
        bench.start();
        bench.say(b, open(Mode::Passive { backlog: 1 }, Address::NONE, None));
        let to = Address::from("12345".parse::<Number>().unwrap());
        bench.say(a, open(Mode::Active, to, None));
        let offered = bench.heard(b).into_iter().find_map(|it| match it {
            Indication::Offered(offered) => Some(offered),
            _ => None,
        });
        let offered = offered.unwrap();
        assert_eq!(offered.local, to);
        // RFC 1613 section 6.1: both are in the call.
        let facilities = &offered.parameters.get::<Call>().unwrap().facilities;
        assert_eq!(facilities.packet_size(), Some((10, 10)));
        assert_eq!(facilities.window(), Some((7, 7)));
        let session = offered.provider;
        bench.say(b, Request::Accept(Box::new(Accept { session, user: handle(2), ..Accept::default() })));
        let opened = bench.heard(a).into_iter().find_map(|it| match it {
            Indication::Opened(opened) => Some(opened),
            _ => None,
        });
        let session = opened.unwrap().provider;
        bench.say(a, Request::Data { session, data: Message::from_octets(&[7; 1500]), end: true });
        let taken: Vec<usize> = bench
            .heard(b)
            .iter()
            .filter_map(|it| match it {
                Indication::Data { data, .. } => Some(data.len()),
                _ => None,
            })
            .collect();
        assert_eq!(taken, [1024, 476]);
        let (reason, data) = (Reason::User, None);
        bench.say(a, Request::Abort { session, reason, data });
        let ended = bench.heard(b);
        assert!(ended.iter().any(|it| matches!(it, Indication::Aborted { .. })), "{ended:?}");
    }
}

#[test]
fn a_permanent_circuit_is_set_up_and_reset() {
    for (pvc, stands) in [
        (permanent(4, "SERIAL1", "serial0", 3, false), true),
        (permanent(4, "Serial1", "Serial9", 3, false), false),
        (permanent(5, "Serial1", "Serial0", 3, false), false),
        (permanent(4, "Other", "Serial0", 3, false), false),
    ] {
        let mut bench = bench(1000, pvc);
        let [a, b] = ["a", "b"].map(|end| bench.user(&format!("user {end}"), &format!("x25 {end}"), &[]));
        bench.start();
        bench.say(b, open(Mode::Passive { backlog: 1 }, Address::NONE, None));
        bench.say(a, open(Mode::Active, Address::NONE, Some(3)));
        let heard = bench.heard(a);
        let opened = heard.iter().any(|it| matches!(it, Indication::Opened(_)));
        let credit = heard.iter().any(|it| matches!(it, Indication::Credit { .. }));
        let aborted = heard.iter().any(|it| matches!(it, Indication::Aborted { .. }));
        assert_eq!((opened, credit, aborted), (stands, stands, !stands), "{heard:?}");
    }
}

/// One XOT with a user of its own, and a stream whose other end is the test.
#[test]
fn another_version_or_a_length_that_is_none_closes_the_connection() {
    let told = ["00 01 00 03 10 01 17", "00 00 00 02 10 01", "00 00 ff ff 10"].map(|octets| {
        let mut bench = Bench::new();
        let stream = Stream { ends: [(None, None); 2], piece: 1000, cut: false };
        bench.node("stream", &[], stream);
        bench.node("xot", &["stream"], Xot::default());
        let listener = bench.user("listener", "xot", &[]);
        let caller = bench.user("caller", "stream", &[]);
        bench.start();
        bench.say(listener, open(Mode::Passive { backlog: 1 }, Address::NONE, None));
        bench.heard(listener);
        let to = Address::from(SocketAddr::new(core::net::Ipv4Addr::LOCALHOST.into(), 1998));
        bench.say(caller, open(Mode::Active, to, None));
        bench.say(
            caller,
            Request::Data { session: Handle::default(), data: Message::from_octets(&hex(octets)), end: true },
        );
        let heard = bench.heard(caller);
        assert!(heard.iter().any(|it| matches!(it, Indication::Released { .. })), "{octets}: {heard:?}");
        assert!(bench.heard(listener).is_empty());
        bench.graph.find::<Xot>("xot").unwrap().refusal().unwrap().to_string()
    });
    assert_eq!(
        told,
        [
            "XOT: the peer broke the protocol with the first that it sent: XOT: version is 0x1, expected 0 (octets 00 01 00 03 ...)",
            "XOT: the peer broke the protocol with the first that it sent: XOT: length is 2 octets, expected 3 to 4100 (octets 00 00 00 02 ...)",
            "XOT: the peer broke the protocol with the first that it sent: XOT: length is 65535 octets, expected 3 to 4100 (octets 00 00 ff ff ...)",
        ]
    );
}

/// One X.25 on XOT on a pipe whose other end is the test; it listens, and the peer is there and takes so many octets.
fn on_pipe(room: u64) -> (Bench, kumiki_graph::DeviceId, kumiki_graph::NodeId) {
    on_pipe_after(open(Mode::Passive { backlog: 1 }, Address::NONE, None), room)
}

/// The same where the user has asked for this before the peer is there.
fn on_pipe_after(asked: Request, room: u64) -> (Bench, kumiki_graph::DeviceId, kumiki_graph::NodeId) {
    let mut bench = Bench::new();
    let device = bench.device("socket");
    let pipe = kumiki_graph::pipe::Pipe::new(kumiki_graph::pipe::Config::default());
    bench.node("pipe", &["socket"], pipe);
    let config = Config {
        routes: vec![("123".parse().unwrap(), "10.0.0.2:1998".parse().unwrap())],
        permanent: vec![permanent(4, "Serial1", "Serial0", 3, false)],
        ..Config::default()
    };
    bench.node("xot", &["pipe"], Xot::new(config));
    let config = x25::Config { over: PacketCarrier::Circuits, ..x25::Config::default() };
    bench.node("x25", &["xot"], X25::new(config).unwrap());
    let user = bench.user("user", "x25", &[]);
    bench.start();
    bench.say(user, asked);
    let up = Indication::Report(Box::new(kumiki_graph::Report::Up));
    bench.indicate(device, up);
    if room > 0 {
        let (session, credit) = (Handle::default(), Credit::octets(room));
        bench.indicate(device, Indication::Credit { session, credit });
    }
    (bench, device, user)
}

fn connections(bench: &Bench) -> usize {
    let node = bench.graph.node("xot").unwrap();
    let xot = bench.graph.protocol::<Xot>(node).unwrap();
    // One is the listener.
    xot.entries.len() - 1
}

#[test]
fn a_refused_caller_that_reads_nothing_is_not_waited_for_without_end() {
    let (mut bench, device, _) = on_pipe(0);
    let setup = Xot::setup_of(&permanent(3, "Serial0", "Serial9", 4, true), status::WAITING, false);
    let mut packet = octets_of(&setup);
    let length = u16::try_from(packet.len()).unwrap();
    xot::Header { length }.emit(packet.push_header(xot::LEN));
    bench.octets(device, &packet.to_vec());
    assert_eq!(connections(&bench), 1);
    bench.pass(DEFAULT_TIMEOUT);
    assert_eq!(connections(&bench), 0);
}

#[test]
fn a_caller_that_makes_no_call_is_closed() {
    let (mut bench, device, _) = on_pipe(1000);
    bench.octets(device, &hex("00 00 00 03 10 01 01"));
    assert_eq!(connections(&bench), 1);
    bench.pass(Duration::from_secs(300));
    assert_eq!(connections(&bench), 0);
}

/// RFC 1613 section 6.4 and X.25 table C-1 have these let be. Who has called, and then hears no more, is told of them.
#[test]
fn a_packet_that_is_discarded_is_told_where_no_other_answers_the_call() {
    for (packet, found) in [
        (
            "30 01 13 00 00",
            "invalid general format identifier: X.25: general format identifier is 0x3, expected 1 or 2 (octets 30 01 13 00 00)",
        ),
        (
            "20 01 0f",
            "invalid general format identifier: X.25: general format identifier is 0x2, expected 1, modulo 8 (octets 20 01 0f)",
        ),
        ("10 01 ff", "RESTART CONFIRMATION is of a local interface, expected a packet of a call (octets 10 01 ff)"),
    ] {
        for ends in [false, true] {
            let call = open(Mode::Active, Address::from("123".parse::<Number>().unwrap()), None);
            let (mut bench, device, user) = on_pipe_after(call, 1000);
            assert!(!bench.sent_octets().is_empty(), "CALL");
            bench.heard(user);
            let length = u8::try_from(hex(packet).len()).unwrap();
            bench.octets(device, &[&[0, 0, 0, length][..], &hex(packet)].concat());
            assert!(bench.heard(user).is_empty(), "{packet}");
            if ends {
                bench.indicate(device, Indication::Report(Box::new(kumiki_graph::Report::Down)));
            } else {
                bench.pass(Duration::from_secs(200));
            }
            let why = bench.heard(user).into_iter().find_map(|it| match it {
                Indication::Aborted { reason, .. } => Some(reason),
                _ => None,
            });
            assert_violation(why.as_ref(), layer::X25, found);
        }
    }
}

#[test]
fn a_peer_that_reads_nothing_is_not_answered_without_end() {
    let (mut bench, device, user) = on_pipe(0);
    bench.octets(device, &hex("00 00 00 0b 10 01 0b 00 06 42 07 07 43 02 02"));
    let offered = bench.heard(user).into_iter().find_map(|it| match it {
        Indication::Offered(offered) => Some(offered.provider),
        _ => None,
    });
    let accept = Accept { session: offered.unwrap(), user: handle(2), ..Accept::default() };
    bench.say(user, Request::Accept(Box::new(accept)));
    bench.requests();
    let mut granted = 0;
    for _ in 0..20_000 {
        bench.octets(device, &hex("00 00 00 04 10 01 23 00"));
        for (_, request) in bench.requests() {
            if let Request::Credit { credit, .. } = request {
                granted += credit.octets;
            }
        }
    }
    assert!(granted < 10_000, "{granted} octets were granted");
    // It reads, and all of it is answered.
    let (session, credit) = (Handle::default(), Credit::octets(1 << 20));
    bench.indicate(device, Indication::Credit { session, credit });
    let sent: usize = bench.sent_octets().iter().map(Vec::len).sum();
    assert!(sent >= 20_000 * 7, "{sent}");
}

#[test]
fn a_packet_that_comes_octet_by_octet_is_held_in_few_pieces() {
    let (mut bench, device, _) = on_pipe(1000);
    bench.octets(device, &hex("00 00 10 00"));
    for _ in 0..2000 {
        bench.octets(device, &[7]);
    }
    let node = bench.graph.node("xot").unwrap();
    let xot = bench.graph.protocol_mut::<Xot>(node).unwrap();
    let is_it = |it: &Entry| matches!(it, Entry::Connection(_));
    let own = xot.entries.find(is_it).unwrap();
    let gathered = &xot.connection(own).unwrap().gathered;
    assert_eq!(gathered.len(), 2004);
    assert!(gathered.slices().len() < 500);
}

#[test]
fn what_comes_with_the_call_begins_the_stream() {
    let mut bench = Bench::new();
    let below = bench.graph.add_device("below", Service::STREAM).unwrap();
    bench.node("xot", &["below"], Xot::new(Config::default()));
    let user = bench.user("user", "xot", &[]);
    bench.start();
    let open = Open { mode: Mode::Passive { backlog: 1 }, ..Open::default() };
    bench.say(user, Request::Open(Box::new(open)));
    let listener = bench.requests().into_iter().find_map(|(_, request)| match request {
        Request::Open(open) => Some(open.user),
        _ => None,
    });
    let data = Some(Message::from_octets(&hex("00 00 00 03 10 01 0b")));
    let offered = Offered { user: listener.unwrap(), data, ..Offered::default() };
    bench.indicate(below, Indication::Offered(Box::new(offered)));
    let [Indication::Offered(offered)] = &bench.heard(user)[..] else { panic!("no offer") };
    let quality = Quality { receive_buffer: Some(1), ..Quality::default() };
    let accept = Accept { session: offered.provider, quality, ..Accept::default() };
    bench.say(user, Request::Accept(Box::new(accept)));
    let came = bench.heard(user).into_iter().find_map(|heard| match heard {
        Indication::Data { data, .. } => Some(data.to_vec()),
        _ => None,
    });
    assert_eq!(came, Some(hex("10 01 0b")));
}
