//! Who falls silent, sends too much or is not there any more.

use super::*;
use crate::entries::Entries;

#[test]
fn who_does_not_end_the_transport_connection_is_cut_off() {
    let mut pair = stands(FunctionalUnits::DUPLEX);
    pair.release(0, b"");
    pair.exchange();
    pair.release(1, b"");
    pair.heard(1);
    // The DN is lost on the way, so to speak: the initiator's end is never heard of.
    let closed = |pair: &mut Pair| {
        let node = pair.node("session b");
        let session = pair.bench.graph.protocol::<Session>(node);
        session.map(|it| it.entries.len())
    };
    assert_eq!(closed(&mut pair), Some(2), "listener and session");
    pair.bench.pass(Duration::from_secs(30));
    assert_eq!(closed(&mut pair), Some(1));
}

/// CR to TSEL 259, of TPDUs of 2048 octets.
const CR: &str = "03000012 0de00000215f00 c2020103 c0010b";

/// An end that is called by the test, octet by octet, and its user's handle of the session.
fn called_by_hand(cn: &str) -> Pair {
    let mut pair = called(association(FunctionalUnits::DUPLEX), b"");
    pair.bench.requests();
    for packet in [CR, cn] {
        pair.bench.octets(pair.devices[1], &hex(packet));
    }
    pair.take_offer();
    pair.accept(FunctionalUnits::KERNEL, b"");
    pair.bench.requests();
    pair
}

impl Pair {
    /// Messages of credit that a user has been granted since this was last asked.
    fn credit(&mut self, user: usize) -> u32 {
        let heard = self.bench.heard(self.users[user]);
        let credit = heard
            .into_iter()
            .map(|heard| if let Indication::Credit { credit, .. } = heard { credit.messages } else { 0 });
        credit.sum()
    }

    fn entries(&mut self, name: &str) -> &Entries<Connection, Selectors> {
        let node = self.node(name);
        &self.bench.graph.protocol::<Session>(node).unwrap().entries
    }
}

#[test]
fn points_and_their_answers_are_no_credit_for_data() {
    let mut pair = stands(RESTART);
    pair.credit(0);
    for number in 1..=20 {
        let (explicit, data) = (true, None);
        pair.ask(0, Primitive::SyncMinor { number, explicit, data: None });
        pair.ask(1, Primitive::SyncMinorReply { number, data });
        pair.exchange();
        pair.ask(1, Primitive::SyncMinorReply { number, data: None });
        pair.exchange();
    }
    assert_eq!((pair.credit(0), pair.credit(1)), (0, 0));
    // What is spent comes back, and not more.
    for _ in 0..4 {
        pair.send(0, b"data");
    }
    pair.exchange();
    assert_eq!(pair.credit(0), 4);
}

#[test]
fn an_ssdu_that_is_cut_takes_as_much_room_as_it_has_parts() {
    let cn = "0300001f 02f080 0d16 050c 130100 150400400040 160102 14020002 c1024350";
    let mut pair = called_by_hand(cn);
    pair.credit(1);
    let whole: Vec<u8> = (0..1000_u32).map(|at| (at % 251) as u8).collect();
    for _ in 0..3 {
        pair.send(1, &whole);
    }
    let (mut parts, mut came) = (0, Vec::new());
    for octets in pair.bench.sent_octets() {
        // TPKT, DT, GT, DT with its enclosure item.
        let (begin, end) = (came.len() % 1000 == 0, came.len() % 1000 + 57 >= 1000);
        let enclosure = u8::from(begin) | u8::from(end) << 1;
        assert_eq!(octets[7..14], [1, 0, 1, 3, 25, 1, enclosure]);
        came.extend_from_slice(&octets[14..]);
        parts += 1;
    }
    assert_eq!(parts, 3 * 18);
    assert!(came == whole.repeat(3));
    assert_eq!(pair.credit(1), 3);
}

#[test]
fn a_peer_that_does_not_read_is_not_read_any_more() {
    let mut pair = stands(RESTART);
    // More than the line has room for, so that what is behind it waits.
    pair.send(1, &vec![7; 2 << 20]);
    for _ in 0..3 {
        pair.send(1, b"behind");
    }
    pair.bench.requests();
    let tokens = Tokens::MINOR;
    for _ in 0..1000 {
        // GT of the minor token; the user gives it back.
        let gt = hex("0300000c 02f080 0103 100104");
        pair.bench.octets(pair.devices[1], &gt);
        pair.ask(1, Primitive::GiveTokens { tokens, data: None });
    }
    let session = pair.sessions[1];
    let node = pair.node("session b");
    let layer = pair.bench.graph.protocol_mut::<Session>(node).unwrap();
    let connection = layer.connection(session).unwrap();
    // Transport hands up what it has been granted before, and no more.
    let most = send::MOST_WAITING + 4;
    assert!((send::MOST_WAITING..=most).contains(&connection.waiting.len()));
    assert_eq!(connection.owed, 4);
}

#[test]
fn a_peer_that_does_not_answer_a_release_or_a_restart_is_given_up() {
    let restart = |pair: &mut Pair| {
        pair.ask(
            0,
            Primitive::Resync { kind: Resync::Restart, number: 1, tokens: TokenSetting::INITIATOR, data: None },
        );
    };
    let release = |pair: &mut Pair| pair.release(0, b"");
    for ask in [&restart as &dyn Fn(&mut Pair), &release] {
        let mut pair = stands(RESTART);
        ask(&mut pair);
        pair.exchange();
        pair.bench.pass(Duration::from_secs(20));
        assert_eq!(pair.heard(0), [""; 0]);
        pair.bench.pass(Duration::from_secs(20));
        assert_eq!(pair.heard(0), ["aborted: the peer stopped answering "]);
        assert_eq!(pair.entries("session a").len(), 0);
    }
    // Who still sends is still there.
    let mut pair = stands(RESTART);
    release(&mut pair);
    for _ in 0..4 {
        pair.bench.pass(Duration::from_secs(20));
        pair.send(1, b"data");
        pair.exchange();
    }
    assert_eq!(pair.heard(0), ["data 4"; 4]);
}

#[test]
fn user_data_that_is_too_long_ends_the_session_and_its_user_is_told() {
    let mut pair = stands(FunctionalUnits::DUPLEX);
    pair.release(0, &vec![b'x'; 70_000]);
    pair.exchange();
    let why = Reason::NoResources;
    assert_eq!(pair.heard(0), [format!("aborted: {why} ")]);
    let heard = pair.heard(1);
    assert!(heard[0].starts_with("aborted: session: "), "{heard:?}");
    pair.bench.pass(Duration::from_secs(30));
    assert_eq!(pair.entries("session a").len(), 0);
}

#[test]
fn a_part_of_a_release_is_not_taken_for_all_of_it() {
    let mut pair = stands(FunctionalUnits::DUPLEX);
    // FN with an enclosure item that says: it begins here.
    let part = hex("03000013 02f080 090a 110101 190101 c1025851");
    pair.bench.octets(pair.devices[1], &part);
    assert_eq!(
        pair.heard(1),
        [
            "aborted: session: the peer broke the protocol: a part of an SPDU, though segmenting was not agreed on (octets 09 0a 11 01 01 19 01 01 c1 ...) "
        ]
    );
}

#[test]
fn a_selector_that_is_too_long_for_a_session_is_no_address() {
    let mut association = association(FunctionalUnits::DUPLEX);
    association.called.session = "seventeen octets!".parse().ok();
    let mut pair = called(association, b"CP");
    assert_eq!(pair.heard(0), [format!("aborted: {} ", Reason::BadAddress)]);
    assert_eq!(pair.entries("session a").len(), 0);
}

#[test]
fn the_listener_of_the_transport_selector_called_gets_the_offer() {
    let mut pair = called(association(FunctionalUnits::DUPLEX), b"CP");
    // One that is called by others, and one that is called by name, behind one that takes all.
    let node = pair.node("session b");
    let layer = pair.bench.graph.protocol_mut::<Session>(node).unwrap();
    for (index, selector) in [(30, "#1"), (31, "#259")] {
        let generation = 1;
        let called = Selectors { transport: selector.parse().ok(), ..Selectors::default() };
        let user = Handle { index, generation };
        layer.entries.listen(Above(0), user, called);
    }
    pair.exchange();
    assert_eq!(pair.take_offer().user.index, 31);
}

#[test]
fn who_waits_for_a_listener_that_goes_is_refused() {
    let mut pair = called(association(FunctionalUnits::DUPLEX), b"CP");
    let user = LISTENER;
    pair.exchange();
    pair.take_offer();
    pair.say(1, Request::Cancel { user });
    pair.exchange();
    let expected = "aborted: session: no user is attached to the session selector (reason 130) ";
    assert_eq!(pair.heard(0), [expected]);
    pair.accept(FunctionalUnits::DUPLEX, b"");
    assert_eq!(pair.heard(1), [format!("aborted: {} ", Reason::NoSession)]);
    pair.bench.pass(Duration::from_secs(30));
    assert_eq!(pair.entries("session b").len(), 0);
}

impl Pair {
    fn node(&mut self, name: &str) -> NodeId {
        self.bench.graph.node(name).unwrap()
    }
}

proptest! {
    /// Whatever comes, in whatever state, the layer answers or ends, and keeps nothing for ever.
    #[test]
    fn any_tsdu_is_taken_or_ends_the_session(
        octets in proptest::collection::vec(any::<u8>(), 0..60),
        si in prop_oneof![Just(1_u8), Just(9), Just(10), Just(12), Just(13), Just(14), Just(25), Just(26), Just(33), Just(34), Just(49), Just(50), Just(53), Just(7), any::<u8>()],
        releasing in any::<bool>(),
    ) {
        let mut pair = stands(RESTART);
        if releasing {
            pair.release(1, b"");
            pair.bench.requests();
        }
        let mut tsdu = hex("02f080");
        if [49, 50, 53, 34].contains(&si) {
            tsdu.extend([1, 0]);
        }
        tsdu.push(si);
        tsdu.extend(&octets);
        let len = u16::try_from(tsdu.len() + 4).unwrap().to_be_bytes();
        let packet = [&[3, 0, len[0], len[1]], &tsdu[..]].concat();
        pair.bench.octets(pair.devices[1], &packet);
        pair.exchange();
        pair.bench.indicate(
            pair.devices[1],
            Indication::Report(Box::new(kumiki_graph::Report::Down)),
        );
        let node = pair.node("session b");
        let session = pair.bench.graph.protocol::<Session>(node).unwrap();
        prop_assert!(session.entries.len() <= 1, "{:?}", session.entries);
    }
}
