//! One end on a pipe, whose peer is the test. More is in the tests of [`tp0`](crate::tp0).

use kumiki_graph::{DeviceId, NodeId, Report};

use super::*;
use kumiki_graph::pipe::{self, Pipe};
use kumiki_testkit::bench::{Bench, hex};

const USER: Handle = Handle { index: 3, generation: 1 };

struct Setup {
    bench: Bench,
    user: NodeId,
    device: DeviceId,
    session: Handle,
}

/// A connection that stands, with room for `room` octets.
fn setup(room: u64) -> Setup {
    let mut bench = Bench::new();
    let device = bench.device("socket");
    bench.node("pipe", &["socket"], Pipe::new(pipe::Config::default()));
    bench.node("tpkt", &["pipe"], Tpkt::new(Config::default()));
    let user = bench.user("user", "tpkt", &[]);
    bench.start();
    let open = Open { user: USER, ..Open::default() };
    bench.say(user, Request::Open(Box::new(open)));
    bench.indicate(device, Indication::Report(Box::new(Report::Up)));
    let (session, credit) = (Handle::default(), Credit::octets(room));
    bench.indicate(device, Indication::Credit { session, credit });
    let heard = bench.heard(user);
    let Some(Indication::Opened(opened)) = heard.first() else {
        panic!("{heard:?}");
    };
    let session = opened.provider;
    bench.requests();
    Setup { bench, user, device, session }
}

impl Setup {
    fn send(&mut self, octets: &[u8]) {
        let (session, end) = (self.session, true);
        let data = Message::from_octets(octets);
        self.bench.say(self.user, Request::Data { session, data, end });
    }

    fn messages(&mut self) -> Vec<Vec<u8>> {
        let message = |heard| {
            let Indication::Data { data, .. } = heard else {
                return None;
            };
            Some(data.to_vec())
        };
        let heard = self.bench.heard(self.user);
        heard.into_iter().filter_map(message).collect()
    }
}

#[test]
fn packets_are_found_wherever_the_stream_is_cut() {
    let stream = hex("03000009 02f080 0102 03000007 02f080 0300000a 02f080 030000");
    for cut in 0..stream.len() {
        let mut it = setup(1000);
        let (first, second) = stream.split_at(cut);
        it.bench.octets(it.device, first);
        it.bench.octets(it.device, second);
        let expected = [hex("02f080 0102"), hex("02f080"), hex("02f080 030000")];
        assert_eq!(it.messages(), expected);
    }
}

#[test]
fn a_message_that_finds_no_room_goes_in_pieces_and_then_the_next_may_come() {
    let mut it = setup(10);
    it.send(&[7; 20]);
    assert_eq!(it.bench.sent_octets(), [hex("03000018 070707070707")]);
    let (session, credit) = (Handle::default(), Credit::octets(10));
    assert_eq!(it.bench.heard(it.user).len(), 0, "one waits");
    it.bench.indicate(it.device, Indication::Credit { session, credit });
    it.bench.indicate(it.device, Indication::Credit { session, credit });
    assert_eq!(it.bench.sent_octets(), [vec![7; 10], vec![7; 4]]);
    let heard = it.bench.heard(it.user);
    assert!(matches!(heard[..], [Indication::Credit { credit: Credit { messages: 1, .. }, .. }]));
}

#[test]
fn what_was_handed_over_leaves_before_the_stream_is_closed() {
    let mut it = setup(10);
    it.send(&[7; 10]);
    let (session, reason, data) = (it.session, Reason::User, None);
    it.bench.say(it.user, Request::Abort { session, reason, data });
    let (session, credit) = (Handle::default(), Credit::octets(10));
    it.bench.indicate(it.device, Indication::Credit { session, credit });
    assert_eq!(it.bench.sent_octets().concat(), hex("0300000e 07070707070707070707"));
    it.bench.octets(it.device, b"what still comes");
    it.bench.indicate(it.device, Indication::Report(Box::new(Report::Down)));
    assert_eq!(it.bench.heard(it.user).len(), 0, "who has left hears nothing");
}

#[test]
fn no_packet_is_read_that_the_user_has_no_room_for() {
    let mut it = setup(1000);
    for _ in 0..20 {
        it.bench.octets(it.device, &hex("03000007 02f080"));
    }
    assert_eq!(it.messages().len(), 16);
    let granted = |bench: &mut Bench| {
        let requests = bench.requests().into_iter();
        requests.filter(|(_, request)| matches!(request, Request::Credit { .. })).count()
    };
    assert_eq!(granted(&mut it.bench), 15, "the stream waits with the user");
    let (session, credit) = (it.session, Credit::messages(5));
    it.bench.say(it.user, Request::Credit { session, credit });
    assert_eq!(it.messages().len(), 4);
    assert_eq!(granted(&mut it.bench), 1);
}

#[test]
fn who_listens_without_an_address_does_so_on_port_102() {
    let mut bench = Bench::new();
    let below = bench.graph.add_device("below", Service::STREAM).unwrap();
    bench.node("tpkt", &["below"], Tpkt::new(Config::default()));
    let user = bench.user("user", "tpkt", &[]);
    bench.start();
    let open = Open { user: USER, mode: Mode::Passive { backlog: 1 }, ..Open::default() };
    bench.say(user, Request::Open(Box::new(open)));
    let ports: Vec<Option<u16>> = bench
        .requests()
        .into_iter()
        .filter(|(device, _)| *device == below)
        .filter_map(|(_, request)| {
            let Request::Open(open) = request else {
                return None;
            };
            Some(open.local.socket().map(|it| it.port()))
        })
        .collect();
    assert_eq!(ports, [Some(102)]);
}

#[test]
fn who_leaves_does_not_wait_without_end_for_a_peer_that_reads_nothing() {
    let mut it = setup(10);
    it.send(&[7; 20]);
    let (session, reason, data) = (it.session, Reason::User, None);
    it.bench.say(it.user, Request::Abort { session, reason, data });
    it.bench.pass(LINGER);
    let node = it.bench.graph.node("tpkt").unwrap();
    let tpkt = it.bench.graph.protocol::<Tpkt>(node).unwrap();
    assert_eq!(tpkt.entries.len(), 0);
    it.bench.octets(it.device, b"x");
    assert_eq!(it.bench.drops("pipe", "octets without a user"), 1);
}

#[test]
fn who_leaves_takes_what_still_comes() {
    let mut it = setup(1000);
    // More than the user takes, and none of it is granted again.
    for _ in 0..20 {
        it.bench.octets(it.device, &hex("03000007 02f080"));
    }
    it.bench.requests();
    let (session, reason, data) = (it.session, Reason::User, None);
    it.bench.say(it.user, Request::Abort { session, reason, data });
    let granted = it
        .bench
        .requests()
        .into_iter()
        .any(|(_, request)| matches!(request, Request::Credit { credit, .. } if credit.octets > 0));
    assert!(granted, "a peer that waits to be read reads nothing itself");
}

#[test]
fn a_packet_that_comes_octet_by_octet_is_held_in_few_pieces() {
    let Setup { mut bench, device, .. } = setup(1000);
    bench.octets(device, &[3, 0, 0x40, 0]);
    for _ in 0..2000 {
        bench.octets(device, &[7]);
    }
    let node = bench.graph.node("tpkt").unwrap();
    let tpkt = bench.graph.protocol_mut::<Tpkt>(node).unwrap();
    let is_it = |it: &Entry| matches!(it, Entry::Connection(_));
    let own = tpkt.entries.find(is_it).unwrap();
    let Some(Entry::Connection(connection)) = tpkt.entries.get(own) else {
        panic!("it is one");
    };
    assert_eq!(connection.gathered.len(), 2004);
    assert!(connection.gathered.slices().len() < 500);
}

#[test]
fn what_comes_with_the_call_begins_the_stream() {
    let mut bench = Bench::new();
    let below = bench.graph.add_device("below", Service::STREAM).unwrap();
    bench.node("tpkt", &["below"], Tpkt::new(Config::default()));
    let user = bench.user("user", "tpkt", &[]);
    bench.start();
    let open = Open { user: USER, mode: Mode::Passive { backlog: 1 }, ..Open::default() };
    bench.say(user, Request::Open(Box::new(open)));
    let listener = bench.requests().into_iter().find_map(|(_, request)| {
        let Request::Open(open) = request else { return None };
        Some(open.user)
    });
    let data = Some(Message::from_octets(&hex("03 00 00 09 01 02 03 04 05 03 00 00 08")));
    let offered = Offered { user: listener.unwrap(), data, ..Offered::default() };
    bench.indicate(below, Indication::Offered(Box::new(offered)));
    let [Indication::Offered(offered)] = &bench.heard(user)[..] else { panic!("no offer") };
    assert!(offered.data.is_none());
    let accept = Accept { session: offered.provider, user: USER, ..Accept::default() };
    bench.say(user, Request::Accept(Box::new(accept)));
    let accepted = bench.requests().into_iter().find_map(|(_, request)| {
        let Request::Accept(accept) = request else { return None };
        Some(accept.user)
    });
    let data = Message::from_octets(&[6, 7, 8, 9]);
    bench.indicate(below, Indication::Data { session: accepted.unwrap(), data, end: true });
    let mut it = Setup { bench, user, device: below, session: USER };
    assert_eq!(it.messages(), [vec![1, 2, 3, 4, 5], vec![6, 7, 8, 9]]);
}
