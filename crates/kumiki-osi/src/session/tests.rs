#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one of many")]
//! Two ends over RFC 1006, and one end whose peer is the test.

mod limits;

use kumiki_graph::Parameters;
use kumiki_graph::{DeviceId, NodeId};
use kumiki_octets::Page;
use kumiki_osi_service::Association;
use kumiki_osi_service::OsiCause;
use kumiki_osi_service::session::{Options, Reference, Resync, TokenSetting, Tokens};
use proptest::prelude::*;

use super::*;
use crate::tp0::{self, Tp0};
use crate::tpkt::{self, Tpkt};
use kumiki_graph::pipe::{self, Pipe};
use kumiki_testkit::bench::{Bench, hex};

const CALLER: Handle = Handle { index: 10, generation: 1 };
const LISTENER: Handle = Handle { index: 20, generation: 1 };
const CALLED: Handle = Handle { index: 21, generation: 1 };
/// What FTAM's restart needs.
const RESTART: FunctionalUnits = FunctionalUnits::DUPLEX
    .or(FunctionalUnits::MINOR_SYNCHRONIZE)
    .or(FunctionalUnits::RESYNCHRONIZE)
    .or(FunctionalUnits::TYPED_DATA);

struct Pair {
    bench: Bench,
    users: [NodeId; 2],
    devices: [DeviceId; 2],
    sessions: [Handle; 2],
}

fn end(bench: &mut Bench, name: &str, config: Config) -> (NodeId, DeviceId) {
    let [socket, pipe, tpkt, tp0, session, user] =
        ["socket", "pipe", "tpkt", "tp0", "session", "user"].map(|layer| format!("{layer} {name}"));
    let device = bench.device(&socket);
    bench.node(&pipe, &[&socket], Pipe::new(pipe::Config::default()));
    bench.node(&tpkt, &[&pipe], Tpkt::new(tpkt::Config::default()));
    let transport = tp0::Config {
        // What a CONNECT SPDU of the longest length takes.
        max_first_tsdu: 65_539,
        ..tp0::Config::default()
    };
    bench.node(&tp0, &[&tpkt], Tp0::new(transport));
    bench.node(&session, &[&tp0], Session::new(config));
    (bench.user(&user, &session, &[]), device)
}

fn association(units: FunctionalUnits) -> Association {
    let mut association =
        Association { session: Options { functional_units: units, ..Options::default() }, ..Association::default() };
    association.called.transport = "#259".parse().ok();
    association
}

/// Two ends, of which one has called and the other was not asked yet.
fn called(association: Association, data: &[u8]) -> Pair {
    let mut bench = Bench::new();
    let config = Config { functional_units: Config::ALL, ..Config::default() };
    let (a, device_a) = end(&mut bench, "a", config);
    let (b, device_b) = end(&mut bench, "b", config);
    bench.start();
    let mut pair = Pair { bench, users: [a, b], devices: [device_a, device_b], sessions: [Handle::default(); 2] };
    let listen = Open { user: LISTENER, mode: Mode::Passive { backlog: 1 }, ..Open::default() };
    pair.say(1, Request::Open(Box::new(listen)));
    let call = Open {
        user: CALLER,
        parameters: Parameters::of(association),
        data: Some(Message::from_octets(data)),
        ..Open::default()
    };
    pair.say(0, Request::Open(Box::new(call)));
    pair.bench.join(device_a, device_b);
    pair
}

/// Two ends whose session stands.
fn stands(units: FunctionalUnits) -> Pair {
    let mut pair = called(association(units), b"CP");
    pair.exchange();
    pair.take_offer();
    pair.accept(units, b"CPA");
    pair.exchange();
    pair.take_opened();
    pair.heard(1);
    pair
}

impl Pair {
    fn say(&mut self, user: usize, request: Request) {
        self.bench.say(self.users[user], request);
    }

    fn exchange(&mut self) -> Vec<Vec<u8>> {
        let [a, b] = self.devices;
        let seen = self.bench.exchange(a, b);
        seen.into_iter().map(|(_, octets)| octets).collect()
    }

    fn take_offer(&mut self) -> Box<Offered> {
        let heard = self.bench.heard(self.users[1]);
        let Some(Indication::Offered(offered)) = heard.into_iter().last() else {
            panic!("nothing was offered");
        };
        self.sessions[1] = offered.provider;
        offered
    }

    fn take_opened(&mut self) -> Box<Opened> {
        let mut heard = self.bench.heard(self.users[0]).into_iter();
        let Some(Indication::Opened(opened)) = heard.next() else {
            panic!("not opened");
        };
        self.sessions[0] = opened.provider;
        opened
    }

    fn accept(&mut self, units: FunctionalUnits, data: &[u8]) {
        let accept = Accept {
            session: self.sessions[1],
            user: CALLED,
            parameters: Parameters::of(association(units)),
            data: Some(Message::from_octets(data)),
            ..Accept::default()
        };
        self.say(1, Request::Accept(Box::new(accept)));
    }

    fn send(&mut self, user: usize, data: &[u8]) {
        let data = Message::from_page(Page::from(data));
        let (session, end) = (self.sessions[user], true);
        self.say(user, Request::Data { session, data, end });
    }

    fn release(&mut self, user: usize, data: &[u8]) {
        let data = Some(Message::from_octets(data));
        let session = self.sessions[user];
        self.say(user, Request::Release { session, data });
    }

    fn ask(&mut self, user: usize, primitive: Primitive) {
        let what = Special::new(primitive);
        let session = self.sessions[user];
        self.say(user, Request::Special { session, what });
    }

    /// What a user heard, in words; credit apart.
    fn heard(&mut self, user: usize) -> Vec<String> {
        let text = |data: &Option<Message>| {
            let data = data.as_ref().map(Message::to_vec).unwrap_or_default();
            String::from_utf8(data).unwrap()
        };
        let primitive = |primitive: &Primitive| match primitive {
            Primitive::TypedData { data, .. } => format!("typed {}", data.len()),
            Primitive::SyncMinor { number, explicit, .. } => format!("point {number} {explicit}"),
            Primitive::SyncMinorReply { number, .. } => format!("secured {number}"),
            Primitive::Resync { kind, number, data, .. } => {
                format!("resync {kind} {number} {}", text(data))
            }
            Primitive::ResyncReply { number, .. } => format!("resynced {number}"),
            Primitive::GiveTokens { tokens, .. } => format!("given {:#x}", tokens.0),
            Primitive::PleaseTokens { tokens, .. } => format!("please {:#x}", tokens.0),
        };
        let words = |heard: Indication| match heard {
            Indication::Opened(it) => Some(format!("opened {}", text(&it.data))),
            Indication::Offered(it) => Some(format!("offered {}", text(&it.data))),
            Indication::Data { data, .. } => Some(format!("data {}", data.len())),
            Indication::Special { what, .. } => what.get().map(primitive),
            Indication::Released { data, .. } => Some(format!("released {}", text(&data))),
            Indication::Closed { .. } => Some("closed".to_owned()),
            Indication::Aborted { reason, data, .. } => Some(format!("aborted: {reason} {}", text(&data))),
            Indication::Credit { .. } => None,
            Indication::Unit(_)
            | Indication::Expedited { .. }
            | Indication::Reset { .. }
            | Indication::Notice { .. }
            | Indication::Report(_) => Some("what no session says".to_owned()),
        };
        let heard = self.bench.heard(self.users[user]);
        heard.into_iter().filter_map(words).collect()
    }
}

#[test]
fn a_session_begins_as_isode_writes_it() {
    let mut association = association(FunctionalUnits::DUPLEX);
    association.session.reference = Some(Reference {
        user: hex("1402766d"),
        common: hex("170e313236313132303135303233305a"),
        additional: Vec::new(),
    });
    let mut pair = called(association, &[0x31; 0xe4]);
    pair.exchange();
    // CC comes only when the responder's session has taken the transport connection, so CN is in what follows.
    let offered = pair.take_offer();
    assert_eq!(offered.data.as_ref().map(Message::len), Some(0xe4));
    let options = &offered.parameters.get::<Association>().unwrap().session;
    assert_eq!(options.functional_units, FunctionalUnits::DUPLEX);
    assert_eq!(options.reference.as_ref().unwrap().user, hex("1402766d"));
    pair.accept(FunctionalUnits::DUPLEX, &[0x31; 0x96]);
    let seen = pair.exchange();
    let ac = hex(
        "030000c7 02f080 0ebe 0118 09041402766d 0b10170e313236313132303135303233305a 0506130100160102 14020002 c196",
    );
    // ISODE's AC names no selectors either.
    assert_eq!(seen[0][..ac.len()], ac, "{:02x?}", &seen[0][..ac.len()]);
    assert_eq!(pair.take_opened().data.unwrap().len(), 0x96);
}

#[test]
fn data_is_four_octets_longer_below_and_goes_both_ways() {
    let mut pair = stands(FunctionalUnits::DUPLEX);
    pair.send(0, b"there");
    assert_eq!(pair.exchange(), [[&hex("03000010 02f080 01000100")[..], b"there"].concat()]);
    pair.send(1, &[7; 100_000]);
    pair.exchange();
    assert_eq!(pair.heard(1), ["data 5"]);
    assert_eq!(pair.heard(0), ["data 100000"]);
}

#[test]
fn an_orderly_end_loses_nothing_and_has_data_both_ways() {
    let mut pair = stands(FunctionalUnits::DUPLEX);
    pair.send(1, b"last");
    pair.release(0, b"RLRQ");
    pair.exchange();
    assert_eq!(pair.heard(1), ["released RLRQ"]);
    // Data may still be sent by who has not answered.
    pair.send(1, b"more");
    pair.release(1, b"RLRE");
    let seen = pair.exchange();
    assert_eq!(seen.last().unwrap()[7..], [&hex("0a06c104")[..], b"RLRE"].concat());
    assert_eq!(pair.heard(0), ["data 4", "data 4", "released RLRE", "closed"]);
    assert_eq!(pair.heard(1), ["closed"]);
}

#[test]
fn releases_that_meet_are_both_answered() {
    for first in [0, 1] {
        let mut pair = stands(FunctionalUnits::DUPLEX);
        pair.release(0, b"q0");
        pair.release(1, b"q1");
        pair.exchange();
        assert_eq!(pair.heard(0), ["released q1"]);
        assert_eq!(pair.heard(1), ["released q0"]);
        pair.release(first, b"r");
        pair.exchange();
        assert_eq!(pair.heard(1 - first), ["released r"]);
        pair.release(1 - first, b"s");
        pair.exchange();
        assert_eq!(pair.heard(1 - first), ["closed"]);
        assert_eq!(pair.heard(first), ["released s", "closed"]);
    }
}

#[test]
fn a_refusal_says_who_and_carries_data() {
    let mut pair = called(association(FunctionalUnits::DUPLEX), b"CP");
    pair.exchange();
    pair.take_offer();
    let (session, reason) = (pair.sessions[1], Reason::User);
    let data = Some(Message::from_octets(b"CPR"));
    pair.say(1, Request::Abort { session, reason, data });
    pair.exchange();
    let expected = "aborted: session: the called user refused, and its data says why (reason 2) CPR";
    assert_eq!(pair.heard(0), [expected]);
}

#[test]
fn long_data_of_a_connect_overflows() {
    let long: Vec<u8> = (0..30_000_u32).map(|at| b'a' + u8::try_from(at % 26).unwrap()).collect();
    let mut pair = called(association(FunctionalUnits::DUPLEX), &long);
    pair.exchange();
    let offered = pair.take_offer();
    assert_eq!(offered.data.unwrap().to_vec(), long);
    pair.accept(FunctionalUnits::DUPLEX, b"");
    pair.exchange();
    pair.take_opened();
    // More than the configuration allows is refused.
    let mut pair = called(association(FunctionalUnits::DUPLEX), &vec![b'x'; 70_000]);
    pair.exchange();
    let expected = "aborted: session: a restriction of the peer's implementation (reason 134) ";
    assert_eq!(pair.heard(0), [expected]);
}

#[test]
fn an_abort_of_a_user_is_told_apart_from_one_of_the_layer() {
    let mut pair = stands(FunctionalUnits::DUPLEX);
    let (session, reason) = (pair.sessions[0], Reason::User);
    let data = Some(Message::from_octets(b"ARU"));
    pair.say(0, Request::Abort { session, reason, data });
    pair.exchange();
    assert_eq!(pair.heard(1), ["aborted: session: the peer's user aborted ARU"]);
    assert_eq!(pair.heard(0), [""; 0]);

    let mut pair = stands(FunctionalUnits::DUPLEX);
    // AC where a session stands.
    pair.bench.octets(pair.devices[1], &hex("0300000d 02f080 0e04 14020002"));
    assert_eq!(
        pair.heard(1),
        ["aborted: session: the peer broke the protocol: an AC SPDU where it has no place (octets 0e 04 14 02 00 02) "]
    );
    // AB has the beginning of what was wrong (reflect parameter values).
    let sent = pair.bench.sent_octets();
    assert!(sent.last().unwrap().ends_with(&hex("3106 0e04 14020002")), "{sent:x?}");
    pair.bench.octets(pair.devices[0], sent.last().unwrap());
    assert_eq!(pair.heard(0), ["aborted: session: aborted, protocol error "]);
}

#[test]
fn points_are_numbered_and_confirmed_in_order() {
    let mut pair = stands(RESTART);
    let point = || Primitive::SyncMinor { number: 0, explicit: true, data: None };
    pair.send(0, b"part");
    pair.ask(0, point());
    pair.send(0, b"other part");
    pair.ask(0, point());
    pair.exchange();
    assert_eq!(pair.heard(1), ["data 4", "point 1 true", "data 10", "point 2 true"]);
    pair.ask(1, Primitive::SyncMinorReply { number: 2, data: None });
    pair.exchange();
    assert_eq!(pair.heard(0), ["secured 2"]);
    // Both were secured by that.
    pair.ask(1, Primitive::SyncMinorReply { number: 1, data: None });
    assert_eq!(pair.bench.drops("session b", "a synchronisation point that waits for no confirmation"), 1);
    // The token is with the initiator.
    pair.ask(1, point());
    assert_eq!(pair.bench.drops("session b", "a synchronisation point that cannot be set"), 1);
}

#[test]
fn a_restart_purges_what_is_under_way_and_goes_back() {
    let mut pair = stands(RESTART);
    pair.ask(0, Primitive::SyncMinor { number: 0, explicit: true, data: None });
    pair.exchange();
    pair.heard(1);
    pair.send(0, b"lost");
    let restart = Primitive::Resync {
        kind: Resync::Restart,
        number: 1,
        tokens: TokenSetting::INITIATOR,
        data: Some(Message::from_octets(b"F-RESTART")),
    };
    pair.ask(1, restart);
    pair.exchange();
    assert_eq!(pair.heard(1), [""; 0], "what came was sent before");
    assert_eq!(pair.heard(0), ["resync restart 1 F-RESTART"]);
    pair.send(0, b"not now");
    assert_eq!(pair.bench.drops("session a", "not possible in this state of the session"), 1);
    let reply = Primitive::ResyncReply { number: 1, tokens: TokenSetting::INITIATOR, data: None };
    pair.ask(0, reply);
    pair.exchange();
    assert_eq!(pair.heard(1), ["resynced 1"]);
    pair.send(0, b"again");
    pair.exchange();
    assert_eq!(pair.heard(1), ["data 5"]);
}

#[test]
fn of_two_resynchronisations_one_counts() {
    let ask = |kind, number| Primitive::Resync { kind, number, tokens: TokenSetting::INITIATOR, data: None };
    // An abandon goes before a restart, and of two alike the initiator's.
    for (of_a, of_b, winner) in [
        (Resync::Restart, Resync::Abandon, 1),
        (Resync::Abandon, Resync::Restart, 0),
        (Resync::Restart, Resync::Restart, 0),
    ] {
        let mut pair = stands(RESTART);
        pair.ask(0, ask(of_a, 1));
        pair.ask(1, ask(of_b, 1));
        pair.exchange();
        let loser = 1 - winner;
        let kind = if winner == 0 { of_a } else { of_b };
        assert_eq!(pair.heard(loser), [format!("resync {kind} 1 ")]);
        assert_eq!(pair.heard(winner), [""; 0]);
        let reply = Primitive::ResyncReply { number: 1, tokens: TokenSetting::INITIATOR, data: None };
        pair.ask(loser, reply);
        pair.exchange();
        assert_eq!(pair.heard(winner), ["resynced 1"]);
    }
}

#[test]
fn who_has_not_the_data_token_does_not_send() {
    let units = FunctionalUnits::HALF_DUPLEX;
    let mut pair = stands(units);
    pair.send(1, b"no");
    assert_eq!(pair.bench.drops("session b", "the data token is on the other side"), 1);
    let (tokens, data) = (Tokens::DATA, None);
    pair.ask(1, Primitive::PleaseTokens { tokens, data: None });
    pair.exchange();
    assert_eq!(pair.heard(0), ["please 0x1"]);
    pair.ask(0, Primitive::GiveTokens { tokens, data });
    pair.exchange();
    assert_eq!(pair.heard(1), ["given 0x1"]);
    pair.send(1, b"yes");
    pair.exchange();
    assert_eq!(pair.heard(0), ["data 3"]);
    // Who releases must have it.
    pair.release(0, b"");
    assert_eq!(pair.bench.drops("session a", "a token is on the other side"), 1);
}

#[test]
fn typed_data_is_told_apart() {
    let mut pair = stands(RESTART);
    let data = Message::from_octets(b"typed");
    pair.ask(1, Primitive::TypedData { data, end: true });
    pair.exchange();
    assert_eq!(pair.heard(0), ["typed 5"]);
}

#[test]
fn when_the_session_stands_transport_takes_long_messages_both_ways() {
    let mut pair = stands(FunctionalUnits::DUPLEX);
    for from in [0, 1] {
        let session = pair.sessions[from];
        let data = Message::from_octets(&[7; 200_000]);
        pair.say(from, Request::Data { session, data, end: true });
        pair.exchange();
        let heard = pair.bench.heard(pair.users[1 - from]);
        let len = |it: &Indication| match it {
            Indication::Data { data, .. } => Some(data.len()),
            _ => None,
        };
        assert_eq!(heard.iter().find_map(len), Some(200_000));
    }
}

#[test]
fn who_hangs_up_on_connect_is_told_as_who_has_not_answered_it() {
    let mut pair = called(association(FunctionalUnits::DUPLEX), b"CP");
    pair.exchange();
    pair.take_offer();
    let down = Indication::Report(Box::new(kumiki_graph::Report::Down));
    pair.bench.indicate(pair.devices[0], down);
    let heard = pair.bench.heard(pair.users[0]);
    let why = heard.iter().find_map(|it| match it {
        Indication::Aborted { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    assert_eq!(why, Some(Reason::peer(OsiCause::Unanswered)));
}
