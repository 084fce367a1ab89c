//! Two ends over RFC 1006, and one end whose peer is the test.

#![allow(clippy::cast_possible_truncation, reason = "small numbers in tests")]

use kumiki_graph::Special;
use kumiki_graph::{DeviceId, NodeId, Report};
use kumiki_octets::Page;

use super::*;
use crate::tpkt::{self, Tpkt};
use kumiki_graph::pipe::{self, Pipe};
use kumiki_testkit::bench::{Bench, hex};

mod refused;

const CALLER: Handle = Handle { index: 10, generation: 1 };
const LISTENER: Handle = Handle { index: 20, generation: 1 };
const CALLED: Handle = Handle { index: 21, generation: 1 };

struct Pair {
    bench: Bench,
    users: [NodeId; 2],
    devices: [DeviceId; 2],
}

fn end(bench: &mut Bench, name: &str, config: Config) -> (NodeId, DeviceId) {
    let [socket, pipe, tpkt, tp0, user] =
        ["socket", "pipe", "tpkt", "tp0", "user"].map(|layer| format!("{layer} {name}"));
    let device = bench.device(&socket);
    bench.node(&pipe, &[&socket], Pipe::new(pipe::Config::default()));
    bench.node(&tpkt, &[&pipe], Tpkt::new(tpkt::Config::default()));
    bench.node(&tp0, &[&tpkt], Tp0::new(config));
    (bench.user(&user, &tp0, &[]), device)
}

fn pair(configs: [Config; 2]) -> Pair {
    let mut bench = Bench::new();
    let [first, second] = configs;
    let (a, device_a) = end(&mut bench, "a", first);
    let (b, device_b) = end(&mut bench, "b", second);
    bench.start();
    Pair { bench, users: [a, b], devices: [device_a, device_b] }
}

fn association(called: &str) -> Option<Box<Association>> {
    let mut association = Association::default();
    association.called.transport = Some(called.parse().unwrap());
    Some(Box::new(association))
}

impl Pair {
    fn say(&mut self, user: usize, request: Request) {
        self.bench.say(self.users[user], request);
    }

    fn listen(&mut self, selector: Option<&str>) {
        let open = Open {
            user: LISTENER,
            mode: Mode::Passive { backlog: 1 },
            parameters: selector.and_then(association).into(),
            ..Open::default()
        };
        self.say(1, Request::Open(Box::new(open)));
    }

    fn call(&mut self, selector: &str) {
        let open = Open { user: CALLER, parameters: association(selector).into(), ..Open::default() };
        self.say(0, Request::Open(Box::new(open)));
    }

    fn exchange(&mut self) -> Vec<(DeviceId, Vec<u8>)> {
        let [a, b] = self.devices;
        self.bench.exchange(a, b)
    }

    /// All that a user heard, in words.
    fn heard(&mut self, user: usize) -> Vec<String> {
        let words = |heard: &Indication| format!("{heard:?}");
        let name = |heard| match heard {
            Indication::Opened(_) => "opened".to_owned(),
            Indication::Offered(_) => "offered".to_owned(),
            Indication::Credit { credit, .. } => format!("credit {}", credit.messages),
            Indication::Data { data, .. } => format!("data {}", data.len()),
            Indication::Aborted { reason, .. } => format!("aborted: {reason}"),
            ref other @ (Indication::Unit(_)
            | Indication::Special { .. }
            | Indication::Expedited { .. }
            | Indication::Released { .. }
            | Indication::Closed { .. }
            | Indication::Reset { .. }
            | Indication::Notice { .. }
            | Indication::Report(_)) => words(other),
        };
        let heard = self.bench.heard(self.users[user]);
        heard.into_iter().map(name).collect()
    }

    /// Calls, and accepts; the handles of both.
    fn stand(&mut self) -> [Handle; 2] {
        let [a, b] = self.devices;
        self.listen(None);
        self.call("#259");
        self.bench.join(a, b);
        self.exchange();
        let provider = self.offered();
        self.answer(provider);
        self.exchange();
        let heard = self.bench.heard(self.users[0]);
        let Some(Indication::Opened(opened)) = heard.first() else {
            panic!("{heard:?}");
        };
        self.heard(1);
        [opened.provider, provider]
    }

    fn offered(&mut self) -> Handle {
        let heard = self.bench.heard(self.users[1]);
        let Some(Indication::Offered(offered)) = heard.last() else {
            panic!("{heard:?}");
        };
        offered.provider
    }

    fn answer(&mut self, session: Handle) {
        let accept = Accept { session, user: CALLED, ..Accept::default() };
        self.say(1, Request::Accept(Box::new(accept)));
    }
}

#[test]
fn a_connection_begins_as_isode_writes_it() {
    let mut pair = pair([Config::default(); 2]);
    let [a, b] = pair.devices;
    pair.listen(Some("#259"));
    pair.call("#259");
    pair.bench.join(a, b);
    let seen = pair.exchange();
    // Our reference is 1; else as in an association of ISODE.
    assert_eq!(seen, [(a, hex("03000012 0d e0 0000 0001 00 c2 02 0103 c0 01 0b"))]);
    assert_eq!(pair.heard(1), ["opened", "offered"]);
    pair.answer(Handle { index: 1, generation: 1 });
    let seen = pair.exchange();
    assert_eq!(seen, [(b, hex("03000012 0d d0 0001 0001 00 c2 02 0103 c0 01 0b"))]);
    assert_eq!(pair.heard(0), ["opened", "credit 4"]);
}

#[test]
fn a_tsdu_goes_in_tpdus_and_arrives_whole() {
    let small = Config { tpdu_size: 128, ..Config::default() };
    // The smaller proposal counts, whoever made it.
    for configs in [[small, Config::default()], [Config::default(), small]] {
        let mut pair = pair(configs);
        let [session, _] = pair.stand();
        let content: Vec<u8> = (0..=255).collect();
        let data = Message::from_page(Page::from(&content[..]));
        let end = true;
        pair.say(0, Request::Data { session, data, end });
        let seen = pair.exchange();
        let lengths: Vec<usize> = seen.iter().map(|(_, octets)| octets.len()).collect();
        assert_eq!(lengths, [4 + 128, 4 + 128, 4 + 3 + 6]);
        assert_eq!(seen[0].1[..7], hex("03000084 02f000"));
        assert_eq!(seen[2].1[..7], hex("0300000d 02f080"));
        let heard = pair.bench.heard(pair.users[1]);
        let [Indication::Data { data, end: true, .. }] = &heard[..] else {
            panic!("{heard:?}");
        };
        assert_eq!(data.to_vec(), content);
    }
}

#[test]
fn a_size_of_1993_goes_beyond_8192_where_both_know_it() {
    let config = Config { preferred_size: 65024, ..Config::default() };
    let mut pair = pair([config; 2]);
    let [session, _] = pair.stand();
    let data = Message::from_page(Page::from(&[1; 60_000][..]));
    let end = true;
    pair.say(0, Request::Data { session, data, end });
    assert_eq!(pair.exchange().len(), 1, "one TPDU");
}

#[test]
fn what_the_user_has_not_granted_waits_and_stops_the_peer() {
    let mut pair = pair([Config::default(); 2]);
    let [session, called] = pair.stand();
    let mut sent = 0;
    // As much as there is ever credit for, with a peer whose user takes nothing.
    let mut credit = 4;
    while credit > 0 {
        for _ in 0..credit {
            let data = Message::from_page(Page::from(&[2; 5000][..]));
            let end = true;
            pair.say(0, Request::Data { session, data, end });
            sent += 1;
        }
        pair.exchange();
        credit = pair.heard(0).iter().filter_map(|heard| heard.strip_prefix("credit ")?.parse::<u32>().ok()).sum();
        // The room of the device, what the other may read, and what both ends hold.
        assert!(sent * 5000 < (1 << 20) + (256 << 10) + 200_000, "{sent}");
    }
    assert_eq!(pair.heard(1).len(), 4, "as many as it takes before it grants any");
    let mut got = 4;
    while got < sent {
        let credit = Credit::messages(4);
        let session = called;
        pair.say(1, Request::Credit { session, credit });
        pair.exchange();
        let heard = pair.heard(1).len();
        assert!(heard > 0, "{got} of {sent}");
        got += heard;
    }
}

#[test]
fn a_selector_that_nobody_has_is_refused_by_its_reason() {
    let mut pair = pair([Config::default(); 2]);
    let [a, b] = pair.devices;
    pair.listen(Some("#259"));
    pair.call("other");
    pair.bench.join(a, b);
    let seen = pair.exchange();
    assert_eq!(seen[1], (b, hex("0300000b 06 80 0001 0000 03")));
    assert_eq!(pair.heard(0), ["aborted: transport: transport selector unknown (reason 3)"]);
}

#[test]
fn the_end_of_the_network_connection_is_that_of_the_transport_connection() {
    let mut pair = pair([Config::default(); 2]);
    let [session, _] = pair.stand();
    let (reason, data) = (Reason::User, None);
    pair.say(0, Request::Abort { session, reason, data });
    assert_eq!(pair.exchange(), [], "class 0 says nothing");
    let [_, b] = pair.devices;
    pair.bench.indicate(b, Indication::Report(Box::new(Report::Down)));
    assert_eq!(pair.heard(1), ["aborted: the layer below is down"]);
    assert_eq!(pair.heard(0), [""; 0]);
}

#[test]
fn isode_says_goodbye_with_a_dr() {
    let mut pair = pair([Config::default(); 2]);
    pair.stand();
    let [_, b] = pair.devices;
    pair.bench.octets(b, &hex("0300000b 06 80 0001 0001 80"));
    assert_eq!(pair.heard(1), ["aborted: the layer below is down"]);
}

#[test]
fn a_peer_that_does_not_answer_is_given_up() {
    let mut pair = pair([Config::default(); 2]);
    let [a, b] = pair.devices;
    pair.call("x");
    pair.bench.join(a, b);
    pair.bench.pass(Duration::from_secs(30));
    assert_eq!(pair.heard(0), ["aborted: the peer stopped answering"]);
}

#[test]
fn a_tpdu_of_another_class_is_answered_with_its_beginning() {
    let mut pair = pair([Config::default(); 2]);
    pair.stand();
    let [_, b] = pair.devices;
    // AK of class 2.
    pair.bench.octets(b, &hex("03000009 04 60 0001 05"));
    let seen = pair.bench.sent_octets();
    assert_eq!(seen, [hex("0300000d 08 70 0001 02 c1 02 0460")]);
    assert_eq!(
        pair.heard(1),
        [
            "aborted: transport: the peer broke the protocol: AK: TPDU code is 0x60, expected 0xe0 (CR), 0xd0 (CC), 0x80 (DR), 0xf0 (DT) or 0x70 (ER): class 0 (octets 04 60 00 01 05)"
        ]
    );
}

/// Who answers with something else from the first octet on may be another server: it is told apart from one that loses
/// its way.
#[test]
fn what_was_called_and_speaks_no_tpkt_is_a_stranger() {
    let mut pair = pair([Config::default(); 2]);
    let [a, _] = pair.devices;
    pair.call("#259");
    pair.bench.join(a, a);
    pair.bench.octets(a, b"SSH-2.0-OpenSSH_9.6 secret");
    assert_eq!(
        pair.heard(0),
        [
            "aborted: transport: the peer broke the protocol with the first that it sent: TPKT: vrsn is 0x53, expected 3 (octets 53 53 48 2d ...)"
        ]
    );
}

#[test]
fn a_dt_tpdu_longer_than_agreed_is_told_with_its_header_alone() {
    let config = Config { tpdu_size: 1024, ..Config::default() };
    let mut pair = pair([config; 2]);
    pair.stand();
    let device = pair.devices[1];
    pair.bench.octets(device, &dt(&[7; 1022]));
    assert_eq!(
        pair.heard(1),
        [
            "aborted: transport: the peer broke the protocol: a TPDU of 1025 octets, expected 1024 at most, as agreed on (octets 02 f0 00 ...)"
        ]
    );
    // X.224 section 13.7.1: a longer header than that of DT has a user's data in it.
    let mut pair = self::pair([config; 2]);
    pair.stand();
    pair.bench.octets(device, &hex("0300000d 08 f0 80 736563726574"));
    assert_eq!(
        pair.heard(1),
        ["aborted: transport: the peer broke the protocol: DT: LI is 8 octets, expected 2 (octets 08 f0 80 ...)"]
    );
}

#[test]
fn a_stream_that_is_no_tpkt_ends_at_once() {
    let mut pair = pair([Config::default(); 2]);
    pair.stand();
    let [_, b] = pair.devices;
    pair.bench.octets(b, b"GET / HTTP/1.1");
    assert_eq!(
        pair.heard(1),
        ["aborted: transport: the peer broke the protocol: TPKT: vrsn is 0x47, expected 3 (octets 47 45 54 20 ...)"]
    );
}

#[test]
fn a_tsdu_longer_than_allowed_is_an_error() {
    let config = Config { max_tsdu: 3000, ..Config::default() };
    let mut pair = pair([config; 2]);
    let [session, _] = pair.stand();
    let data = Message::from_page(Page::from(&[2; 5000][..]));
    let end = true;
    pair.say(0, Request::Data { session, data, end });
    pair.exchange();
    assert_eq!(
        pair.heard(1),
        [
            "aborted: transport: the peer broke the protocol: a message of at least 4090 octets, expected 3000 at most (octets 02 f0 00 ...)"
        ]
    );
}

/// A DT TPDU that is not the last, in a TPKT.
fn dt(data: &[u8]) -> Vec<u8> {
    let mut octets = vec![3, 0];
    octets.extend_from_slice(&(data.len() as u16 + 7).to_be_bytes());
    octets.extend_from_slice(&[2, 0xf0, 0]);
    octets.extend_from_slice(data);
    octets
}

impl Pair {
    /// How many octets transport of the called end has of a TSDU, how many it holds on to, and how many it has copied.
    fn gathered(&mut self) -> (usize, usize, u64) {
        let graph = &mut self.bench.graph;
        let node = graph.node("tp0 b").unwrap();
        let copied = graph.accounts().find(|(name, _)| *name == "tp0 b");
        let copied = copied.unwrap().1.copied;
        let tp0 = graph.protocol_mut::<Tp0>(node).unwrap();
        let [own] = tp0.entries.connections(|_| true)[..] else { panic!("one connection") };
        let gathered = &tp0.connection(own).unwrap().gathered;
        (gathered.len(), gathered.memory(), copied)
    }

    fn budget(&mut self, most: u64) -> kumiki_octets::Budget {
        let budget = kumiki_octets::Budget::new(most);
        self.bench.graph.set_budget(budget.account(0).unwrap());
        budget
    }
}

/// The smallest TPDUs that are in proportion, the size of X.25, and one that is just too large to fill a page well.
#[test]
fn a_tsdu_takes_memory_in_proportion_and_is_copied_once_however_it_is_cut() {
    for size in [64, 128, 1000, 2041] {
        let mut pair = pair([Config::default(); 2]);
        pair.stand();
        let device = pair.devices[1];
        let tpdu = dt(&vec![7; size]);
        let mut most = 0;
        while pair.gathered().0 < 4 << 20 {
            // As much as one read of a connection gives.
            pair.bench.octets(device, &tpdu.repeat(65_536 / tpdu.len()));
            let (octets, memory, _) = pair.gathered();
            assert!(memory <= 2 * octets + 3 * 65_536, "{size}: {memory} for {octets}");
            most = most.max(octets);
        }
        let (octets, _, copied) = pair.gathered();
        assert!((octets, most) >= (4 << 20, octets));
        assert!(copied <= octets as u64, "{size}: {copied} copied of {octets}");
    }
}

#[test]
fn a_tsdu_in_more_tpdus_than_it_is_worth_ends_the_connection() {
    // Of an empty one all octets are shown, and of no other what is in it.
    for (data, more) in [(&b""[..], ""), (b"a", " ...")] {
        let mut pair = pair([Config::default(); 2]);
        pair.stand();
        let device = pair.devices[1];
        pair.bench.octets(device, &dt(data).repeat(64));
        assert_eq!(pair.heard(1), Vec::<String>::new());
        pair.bench.octets(device, &dt(data).repeat(2));
        assert_eq!(
            pair.heard(1),
            [format!(
                "aborted: transport: the peer broke the protocol: a message in too many TPDUs for its length (octets 02 f0 00{more})"
            )]
        );
    }
}

#[test]
fn before_the_user_asks_for_more_a_tsdu_may_only_have_what_a_beginning_has() {
    let config = Config { max_first_tsdu: 65_539, ..Config::default() };
    for (end, asks) in [(0, false), (0, true), (1, false), (1, true)] {
        let mut pair = pair([config; 2]);
        let sessions = pair.stand();
        let session = sessions[end];
        pair.heard(end);
        if asks {
            let what = Special::new(Longest(u32::MAX));
            pair.say(end, Request::Special { session, what });
        }
        let device = pair.devices[end];
        pair.bench.octets(device, &dt(&[7; 1024]).repeat(64));
        assert_eq!(pair.heard(end), Vec::<String>::new());
        pair.bench.octets(device, &dt(&[7; 4]));
        let heard = pair.heard(end);
        if asks {
            assert_eq!(heard, Vec::<String>::new());
        } else {
            assert_eq!(
                heard,
                [
                    "aborted: transport: the peer broke the protocol: a message of at least 65540 octets, expected 65539 at most (octets 02 f0 00 ...)"
                ]
            );
        }
    }
}

/// X.224 section 6.22.3: the ER has what came up to where it is no answer to our CR. The user reads which field that
/// is, and the whole of the fixed part.
#[test]
fn an_er_has_a_false_answer_up_to_what_is_false() {
    for (cc, told, read) in [
        (
            "06 d0 0002 0009 00",
            "06 d0 0002",
            "CC: DST-REF is 2, expected 1, as our CR has it (octets 06 d0 00 02 00 09 00)",
        ),
        (
            "06 d0 0001 0009 20",
            "06 d0 0001 0009 20",
            "CC: class is 2, expected 0, as our CR has it (octets 06 d0 00 01 00 09 20)",
        ),
        // Larger TPDUs than ours.
        (
            "09 d0 0001 0009 00 c0 01 0d",
            "09 d0 0001 0009 00",
            "CC: TPDU size is 8192 octets, expected 1024 at most, as our CR has it (octets 09 d0 00 01 00 09 00 ...)",
        ),
    ] {
        let config = Config { tpdu_size: 1024, ..Config::default() };
        let mut pair = pair([config; 2]);
        let [a, b] = pair.devices;
        pair.listen(None);
        pair.call("#259");
        pair.bench.join(a, b);
        pair.exchange();
        let cc = hex(cc);
        let length = u8::try_from(cc.len() + 4).unwrap();
        pair.bench.octets(a, &[&[3, 0, 0, length], &cc[..]].concat());
        let told = hex(told);
        let cause = [&[0xc1, u8::try_from(told.len()).unwrap()], &told[..]].concat();
        let seen = pair.exchange();
        let er = &seen.first().unwrap().1;
        assert!(er[5] == 0x70 && er.ends_with(&cause), "{er:02x?}");
        assert_eq!(pair.heard(0), [format!("aborted: transport: the peer broke the protocol: {read}")]);
    }
}

#[test]
fn a_caller_is_told_that_there_is_no_memory_for_it() {
    let mut pair = pair([Config::default(); 2]);
    let [a, b] = pair.devices;
    let budget = pair.budget(1 << 20);
    let known = budget.account(0).unwrap();
    known.stand(600 << 10).unwrap();
    pair.listen(None);
    pair.call("#259");
    pair.bench.join(a, b);
    pair.exchange();
    assert_eq!(
        (pair.heard(0), pair.heard(1)),
        (
            vec!["aborted: transport: the peer's transport entity is congested (reason 129)".to_owned()],
            vec!["opened".to_owned()]
        )
    );
}

#[test]
fn a_tsdu_for_which_there_is_no_memory_ends_the_connection_and_gives_back_what_it_had() {
    let mut pair = pair([Config::default(); 2]);
    pair.stand();
    let budget = pair.budget(1 << 20);
    let device = pair.devices[1];
    let mut used = 0;
    for _ in 0..20 {
        pair.bench.octets(device, &dt(&[7; 2000]).repeat(32));
        assert!(budget.used() <= 1 << 19);
        used = used.max(budget.used());
        if budget.refused() > 0 {
            break;
        }
    }
    assert!(used > 1 << 18);
    assert_eq!(pair.heard(1), ["aborted: out of memory or of room for another session"]);
    assert_eq!(budget.used(), 0);
}

#[test]
fn whom_a_listener_has_not_answered_hears_that_it_has_gone() {
    let mut pair = pair([Config::default(), Config::default()]);
    let [a, b] = pair.devices;
    pair.listen(None);
    pair.call("#259");
    pair.bench.join(a, b);
    pair.exchange();
    let provider = pair.offered();
    pair.say(1, Request::Cancel { user: LISTENER });
    pair.exchange();
    let aborted = "aborted: transport: no user is attached to the transport selector (reason 2)";
    assert_eq!(pair.heard(0), [aborted]);
    pair.answer(provider);
    assert_eq!(pair.heard(1), ["aborted: there is no such session"]);
}

#[test]
fn a_listener_that_goes_before_the_network_has_confirmed_it_is_cancelled_there() {
    let mut bench = Bench::new();
    let graph = &mut bench.graph;
    graph.add_device("network", Service::CONNECTION).unwrap();
    bench.node("tp0", &["network"], Tp0::new(Config::default()));
    let user = bench.user("user", "tp0", &[]);
    bench.start();
    let open = Open { user: LISTENER, mode: Mode::Passive { backlog: 1 }, ..Open::default() };
    bench.say(user, Request::Open(Box::new(open)));
    bench.say(user, Request::Cancel { user: LISTENER });
    let [(_, Request::Open(opened)), (_, last)] = &bench.requests()[..] else {
        panic!("an open and its end");
    };
    assert!(matches!(last, Request::Cancel { user } if *user == opened.user));
}
