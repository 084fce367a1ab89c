//! Two ends over the whole stack, and ends whose peer says what it likes.

use kumiki_graph::{DeviceId, Duration, NodeId, Report};
use kumiki_octets::Page;
use kumiki_osi::Association;
use kumiki_osi::presentation::{Context as Proposed, Value};
use kumiki_osi::session::{FunctionalUnits, Resync, TokenSetting};
use proptest::prelude::*;

use super::*;
use crate::acse::{self, Acse};
use crate::pipe::{self, Pipe};
use crate::session::{self, Session};
use crate::test_bench::{Bench, hex};
use crate::tp0::{self, Tp0};
use crate::tpkt::{self, Tpkt};

pub(crate) const CALLER: Handle = Handle {
    index: 10,
    generation: 1,
};
pub(crate) const LISTENER: Handle = Handle {
    index: 20,
    generation: 1,
};
pub(crate) const CALLED: Handle = Handle {
    index: 21,
    generation: 1,
};

/// Abstract syntaxes that nobody else has.
pub(crate) const A: Oid = Oid::of(&[1, 3, 9999, 1]);
pub(crate) const B: Oid = Oid::of(&[1, 3, 9999, 2]);
pub(crate) const C: Oid = Oid::of(&[1, 3, 9999, 3]);

pub(crate) struct Pair {
    pub(crate) bench: Bench,
    pub(crate) users: [NodeId; 2],
    pub(crate) devices: [DeviceId; 2],
    presentations: [NodeId; 2],
}

fn end(bench: &mut Bench, name: &str, with_acse: bool) -> (NodeId, DeviceId, NodeId) {
    let [socket, pipe, tpkt, tp0, session, presentation, acse, user] = [
        "socket",
        "pipe",
        "tpkt",
        "tp0",
        "session",
        "presentation",
        "acse",
        "user",
    ]
    .map(|layer| format!("{layer} {name}"));
    let device = bench.device(&socket);
    bench.node(&pipe, &[&socket], Pipe::new(pipe::Config::default()));
    bench.node(&tpkt, &[&pipe], Tpkt::new(tpkt::Config::default()));
    bench.node(&tp0, &[&tpkt], Tp0::new(tp0::Config::default()));
    let config = session::Config {
        functional_units: session::Config::ALL,
        ..session::Config::default()
    };
    bench.node(&session, &[&tp0], Session::new(config));
    let node = bench.node(
        &presentation,
        &[&session],
        Presentation::new(Config::default()),
    );
    let mut top = presentation;
    if with_acse {
        bench.node(&acse, &[&top], Acse::new(acse::Config::default()));
        top = acse;
    }
    (bench.user(&user, &top, &[]), device, node)
}

pub(crate) fn association(contexts: &[(ContextId, Oid)]) -> Association {
    Association {
        contexts: contexts
            .iter()
            .map(|(id, syntax)| Proposed::basic(*id, *syntax))
            .collect(),
        // Without tokens either side may begin a release.
        session: kumiki_osi::session::Options {
            functional_units: FunctionalUnits::DUPLEX.or(FunctionalUnits::TYPED_DATA),
            ..kumiki_osi::session::Options::default()
        },
        ..Association::default()
    }
}

impl Pair {
    pub(crate) fn new(with_acse: bool) -> Self {
        let mut bench = Bench::new();
        let (user_a, device_a, a) = end(&mut bench, "a", with_acse);
        let (user_b, device_b, b) = end(&mut bench, "b", with_acse);
        bench.start();
        Self {
            bench,
            users: [user_a, user_b],
            devices: [device_a, device_b],
            presentations: [a, b],
        }
    }

    pub(crate) fn say(&mut self, user: usize, request: Request) {
        self.bench.say(self.users[user], request);
    }

    pub(crate) fn listen(&mut self, association: Association) {
        let open = Open {
            user: LISTENER,
            mode: Mode::Passive { backlog: 1 },
            association: Some(Box::new(association)),
            ..Open::default()
        };
        self.say(1, Request::Open(Box::new(open)));
    }

    pub(crate) fn call(&mut self, association: Association, data: Option<&str>) {
        let open = Open {
            user: CALLER,
            association: Some(Box::new(association)),
            data: data.map(|data| Message::from_octets(&hex(data))),
            ..Open::default()
        };
        self.say(0, Request::Open(Box::new(open)));
    }

    pub(crate) fn join(&mut self) {
        let [a, b] = self.devices;
        self.bench.join(a, b);
        self.exchange();
    }

    pub(crate) fn exchange(&mut self) -> Vec<(DeviceId, Vec<u8>)> {
        let [a, b] = self.devices;
        self.bench.exchange(a, b)
    }

    pub(crate) fn offered(&mut self) -> Offered {
        let heard = self.bench.heard(self.users[1]);
        let Some(Indication::Offered(offered)) = heard.into_iter().last() else {
            panic!("nothing was offered");
        };
        *offered
    }

    pub(crate) fn answer(
        &mut self,
        session: Handle,
        association: Option<Association>,
        data: Option<&str>,
    ) {
        self.accept(session, association, data);
        self.exchange();
    }

    /// The same, and what is sent stays where it is.
    pub(crate) fn accept(
        &mut self,
        session: Handle,
        association: Option<Association>,
        data: Option<&str>,
    ) {
        let accept = Accept {
            session,
            user: CALLED,
            association: association.map(Box::new),
            data: data.map(|data| Message::from_octets(&hex(data))),
            ..Accept::default()
        };
        self.say(1, Request::Accept(Box::new(accept)));
    }

    pub(crate) fn opened(&mut self) -> Opened {
        let heard = self.bench.heard(self.users[0]);
        let Some(Indication::Opened(opened)) = heard.into_iter().next() else {
            panic!("nothing was opened");
        };
        *opened
    }

    /// All that a user heard, in words; credit not.
    pub(crate) fn heard(&mut self, user: usize) -> Vec<String> {
        let octets = |data: &Option<Message>| match data {
            Some(data) => format!(" {}", text(data)),
            None => String::new(),
        };
        let word = |heard: Indication| match heard {
            Indication::Opened(opened) => Some(format!("opened{}", octets(&opened.data))),
            Indication::Offered(offered) => Some(format!("offered{}", octets(&offered.data))),
            Indication::Credit { .. } => None,
            Indication::Values { values, .. } => {
                let word = |it: &Value| format!("{}: {}", it.context, text(&it.data));
                let values: Vec<_> = values.iter().map(word).collect();
                Some(values.join(", "))
            }
            Indication::Aborted { reason, data, .. } => {
                Some(format!("aborted: {reason}{}", octets(&data)))
            }
            Indication::Released { data, .. } => Some(format!("released{}", octets(&data))),
            Indication::Closed { .. } => Some("closed".to_owned()),
            Indication::Particular { what, .. } => {
                let Particular::Session(primitive) = *what else {
                    panic!("{what:?}");
                };
                let data = primitive.message().cloned();
                let name = format!("{primitive:?}");
                let name = name.split_once(' ').map_or(&name[..], |(name, _)| name);
                Some(format!("{name}{}", octets(&data)))
            }
            other @ (Indication::Unit(_)
            | Indication::Tagged { .. }
            | Indication::Data { .. }
            | Indication::Expedited { .. }
            | Indication::Reset { .. }
            | Indication::Urgent { .. }
            | Indication::Notice { .. }
            | Indication::Report(_)) => Some(format!("{other:?}")),
        };
        let heard = self.bench.heard(self.users[user]);
        heard.into_iter().filter_map(word).collect()
    }

    pub(crate) fn values(&mut self, user: usize, session: Handle, values: &[(ContextId, &str)]) {
        let value = |(context, data): &(ContextId, &str)| Value {
            context: *context,
            data: Message::from_octets(&hex(data)),
        };
        let values = values.iter().map(value).collect();
        self.say(user, Request::Values { session, values });
    }

    pub(crate) fn release(&mut self, user: usize, session: Handle, data: Option<&str>) {
        let data = data.map(|data| Message::from_octets(&hex(data)));
        self.say(user, Request::Release { session, data });
    }

    pub(crate) fn abort(
        &mut self,
        user: usize,
        session: Handle,
        reason: Reason,
        data: Option<&str>,
    ) {
        let data = data.map(|data| Message::from_octets(&hex(data)));
        self.say(
            user,
            Request::Abort {
                session,
                reason,
                data,
            },
        );
    }

    /// What a peer's session sends as a TSDU of its own to one end.
    pub(crate) fn inject(&mut self, user: usize, tsdu: &[u8]) {
        let len = u16::try_from(7 + tsdu.len()).unwrap().to_be_bytes();
        let header = [3, 0, len[0], len[1], 2, 0xf0, 0x80];
        let tpkt = [&header[..], tsdu].concat();
        self.bench.octets(self.devices[user], &tpkt);
    }

    fn presentation(&mut self, user: usize) -> &Presentation {
        let node = self.presentations[user];
        self.bench.graph.protocol_mut::<Presentation>(node).unwrap()
    }

    /// How many octets the nodes of these layers have copied.
    pub(crate) fn copied(&self, layers: &[&str]) -> u64 {
        let ours = |name: &str| layers.iter().any(|layer| name.starts_with(layer));
        let accounts = self.bench.graph.accounts();
        accounts
            .filter(|(name, _)| ours(name))
            .map(|(_, account)| account.copied)
            .sum()
    }
}

fn text(data: &Message) -> String {
    let octets = data.to_vec();
    if octets.len() > 24 {
        return format!("{} octets", octets.len());
    }
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// A connection with contexts 1 (A) and 3 (B): the handles of both.
fn stand(pair: &mut Pair) -> [Handle; 2] {
    pair.listen(association(&[(1, A), (2, B)]));
    pair.call(association(&[(1, A), (3, B)]), None);
    pair.join();
    let offered = pair.offered();
    pair.answer(offered.provider, None, None);
    let opened = pair.opened();
    pair.heard(1);
    [opened.provider, offered.provider]
}

#[test]
fn contexts_are_agreed_on_and_values_go_both_ways() {
    let mut pair = Pair::new(false);
    pair.listen(association(&[(1, B), (2, A)]));
    let mut wanted = association(&[(1, A), (3, C), (5, B), (7, A)]);
    wanted.contexts[3].transfer_syntaxes = [Oid::of(&[2, 1, 2])].into_iter().collect();
    pair.call(wanted, Some("0401 61"));
    pair.join();
    let offered = pair.offered();
    let seen = offered.association.unwrap();
    // The context of the caller's data is the first.
    assert_eq!(seen.contexts[0].id, 1);
    assert_eq!(offered.data.unwrap().to_vec(), hex("040161"));
    let accepted = ContextResult::Accepted(Some(kumiki_osi::presentation::BASIC_ENCODING_RULES));
    let expected = [
        accepted,
        ContextResult::RefusedByProvider(Some(1)),
        accepted,
        ContextResult::RefusedByProvider(Some(2)),
    ];
    assert_eq!(seen.results, expected);
    pair.answer(offered.provider, None, Some("0401 62"));
    let opened = pair.opened();
    assert_eq!(opened.data.unwrap().to_vec(), hex("040162"));
    let association = opened.association.unwrap();
    assert_eq!(association.results, expected);
    let standing: Vec<_> = association.standing().map(|it| it.id).collect();
    assert_eq!(standing, [1, 5]);

    pair.values(
        0,
        opened.provider,
        &[(1, "0500"), (5, "040178"), (1, "a0020500")],
    );
    pair.values(1, offered.provider, &[(5, "020107")]);
    pair.exchange();
    assert_eq!(pair.heard(1), ["1: 0500, 5: 040178, 1: a0020500"]);
    assert_eq!(pair.heard(0), ["5: 020107"]);
    assert_eq!(pair.presentation(1).counters().values, 3);
    // Ours to see: a value that is in no context that stands is not sent, and its credit comes back.
    for context in [3, 7, 9] {
        pair.values(0, opened.provider, &[(context, "0500")]);
        assert_eq!(pair.exchange(), []);
        assert!(matches!(
            pair.bench.heard(pair.users[0])[..],
            [Indication::Credit { .. }]
        ));
    }
}

#[test]
fn the_called_user_says_itself_which_contexts_it_wants() {
    let mut pair = Pair::new(false);
    pair.listen(association(&[(1, A), (2, B)]));
    pair.call(association(&[(1, A), (3, B)]), None);
    pair.join();
    let offered = pair.offered();
    let answer = Association {
        results: vec![ContextResult::Accepted(None), ContextResult::RefusedByUser],
        ..Association::default()
    };
    pair.answer(offered.provider, Some(answer), None);
    let opened = pair.opened();
    let results = opened.association.unwrap().results;
    assert!(results[0].is_accepted());
    assert_eq!(results[1], ContextResult::RefusedByUser);
    // With one context left simply encoded data can only be in that.
    pair.inject(1, &hex("01000100 40 02 0500"));
    assert_eq!(pair.heard(1), ["1: 0500"]);
}

#[test]
fn without_contexts_there_is_the_default_one() {
    let mut pair = Pair::new(false);
    pair.listen(Association::default());
    pair.call(Association::default(), Some("0500"));
    pair.join();
    let offered = pair.offered();
    assert_eq!(offered.data.unwrap().to_vec(), hex("0500"));
    pair.answer(offered.provider, None, Some("020101"));
    let opened = pair.opened();
    pair.values(0, opened.provider, &[(DEFAULT_CONTEXT, "040161")]);
    let seen = pair.exchange();
    assert_eq!(seen[0].1, hex("03000010 02f080 01000100 40 03 040161"));
    assert_eq!(pair.heard(1), ["0: 040161"]);
}

#[test]
fn a_large_value_arrives_in_the_memory_it_was_sent_from() {
    let mut pair = Pair::new(false);
    let [session, called] = stand(&mut pair);
    let len: usize = 2 << 20;
    let mut content = hex("04 83 200000");
    content.resize(len + 5, 0x5a);
    let page = Page::copied(&content, 1);
    let from = page.octets().as_ptr_range();
    let data = Message::from_page(page);
    let value = Value { context: 3, data };
    let values = [value].into_iter().collect();
    pair.say(0, Request::Values { session, values });
    pair.exchange();
    let credit = Credit::messages(1);
    let session = called;
    pair.say(1, Request::Credit { session, credit });
    pair.exchange();
    let heard = pair.bench.heard(pair.users[1]);
    let [Indication::Values { values, .. }] = &heard[..] else {
        panic!("{heard:?}");
    };
    assert_eq!((values.len(), values[0].data.len()), (1, content.len()));
    assert!(values[0].data.to_vec() == content);
    let there = values[0].data.slices().iter();
    let kept: usize = there
        .filter_map(|slice| slice.octets())
        .filter(|octets| from.contains(&octets.as_ptr()))
        .map(<[u8]>::len)
        .sum();
    assert_eq!(kept, content.len());
    assert_eq!(pair.copied(&["session", "presentation"]), 0);
}

#[test]
fn a_release_carries_data_and_two_that_meet_are_both_answered() {
    let mut pair = Pair::new(false);
    let [a, b] = stand(&mut pair);
    pair.release(0, a, Some("0500"));
    pair.exchange();
    assert_eq!(pair.heard(1), ["released 0500"]);
    pair.release(1, b, Some("020101"));
    pair.exchange();
    assert_eq!(pair.heard(1), ["closed"]);
    assert_eq!(pair.heard(0), ["released 020101", "closed"]);

    let mut pair = Pair::new(false);
    let [a, b] = stand(&mut pair);
    pair.release(0, a, Some("0500"));
    pair.release(1, b, None);
    pair.exchange();
    assert_eq!(pair.heard(0), ["released"]);
    assert_eq!(pair.heard(1), ["released 0500"]);
    pair.release(0, a, None);
    pair.exchange();
    assert_eq!(pair.heard(1), ["released"]);
    pair.release(1, b, Some("020102"));
    pair.exchange();
    assert_eq!(pair.heard(0), ["released 020102", "closed"]);
    assert_eq!(pair.heard(1), ["closed"]);
}

#[test]
fn an_abort_of_either_side_carries_data() {
    for side in [0, 1] {
        let mut pair = Pair::new(false);
        let handles = stand(&mut pair);
        pair.abort(side, handles[side], Reason::User, Some("040162"));
        pair.exchange();
        assert_eq!(
            pair.heard(1 - side),
            ["aborted: session: the peer's user aborted 040162"]
        );
        assert_eq!(pair.heard(side), [""; 0]);
    }
}

#[test]
fn each_layer_refuses_with_its_own_reason() {
    let selector = |text: &str| Some(text.parse().unwrap());
    let called = |transport, session, presentation| Association {
        called: Selectors {
            transport,
            session,
            presentation,
        },
        ..association(&[(1, A)])
    };
    let listens = called(selector("#1"), selector("#2"), selector("#3"));
    for (calls, reason) in [
        (
            called(selector("x"), selector("#2"), selector("#3")),
            "transport: transport selector unknown (reason 3)",
        ),
        (
            called(selector("#1"), selector("x"), selector("#3")),
            "session: session selector unknown (reason 129)",
        ),
        (
            called(selector("#1"), selector("#2"), selector("x")),
            "presentation: called presentation address unknown (reason 3)",
        ),
        (
            called(selector("#1"), selector("#2"), None),
            "presentation: called presentation address unknown (reason 3)",
        ),
    ] {
        let mut pair = Pair::new(false);
        pair.listen(listens.clone());
        pair.call(calls, None);
        pair.join();
        assert_eq!(pair.heard(0), [format!("aborted: {reason}")]);
        assert_eq!(pair.heard(1), ["opened"]);
    }
    let mut pair = Pair::new(false);
    pair.listen(listens.clone());
    pair.call(listens, None);
    pair.join();
    let offered = pair.offered();
    let called = offered.association.unwrap().called;
    assert_eq!(called.presentation, selector("#3"));
    pair.abort(1, offered.provider, Reason::User, Some("040162"));
    pair.exchange();
    assert_eq!(pair.heard(0), ["aborted: the peer refused 040162"]);
    // What would have become of the contexts is said all the same.
    let results = pair.presentation(0).last_refusal();
    assert!(matches!(results, [result] if result.is_accepted()));
}

#[test]
fn more_contexts_than_there_is_room_for_are_refused_one_by_one() {
    let mut pair = Pair::new(false);
    let most = Config::default().contexts as usize;
    let all: Vec<_> = (0..).map(|n| (2 * n + 1, A)).take(most + 1).collect();
    pair.call(association(&all), None);
    assert_eq!(
        pair.heard(0),
        ["aborted: out of memory or of room for another session"]
    );
    pair.call(association(&[(1, A), (1, B)]), None);
    assert_eq!(pair.heard(0), ["aborted: the peer refused"]);
    let results = connection::negotiate(&[A], &association(&all).contexts, most);
    assert!(results[most - 1].is_accepted());
    assert_eq!(results[most], ContextResult::RefusedByProvider(Some(3)));
}

#[test]
fn what_cannot_be_taken_is_aborted_with_its_reason() {
    for (tsdu, arp) in [
        // A context that does not stand.
        ("01000100 61 09 3007 020109 a0020500", "30 06 800106 810107"),
        // No values.
        ("01000100 61 00", "30 06 800106 810107"),
        // No user data.
        ("01000100 0500", "30 06 800101 810107"),
        // Simply encoded data, with two contexts.
        ("01000100 40 02 0500", "30 06 800106 810107"),
        // AC, and ACA.
        ("21 00 a0 00", "30 06 800102 810105"),
        ("21 00 a1 00", "30 06 800102 810106"),
        // FN with something else than user data.
        ("09 07 110101 c102 0500", "30 06 800101 81010e"),
    ] {
        let mut pair = Pair::new(false);
        stand(&mut pair);
        pair.inject(1, &hex(tsdu));
        assert_eq!(
            pair.heard(1),
            ["aborted: the peer broke the protocol"],
            "{tsdu}"
        );
        let sent = pair.bench.sent_octets();
        let sent = &sent.last().unwrap()[7..];
        let expected = [&hex("19 0d 110103 c108")[..], &hex(arp)].concat();
        assert_eq!(sent, expected, "{tsdu}");
    }
}

#[test]
fn the_abort_of_each_provider_is_told_apart() {
    for (tsdu, reason) in [
        (
            "19 0d 110103 c108 30 06 800104 810107",
            "presentation: aborted, a PPDU parameter that it does not know (reason 4)",
        ),
        (
            "19 07 110103 c102 3000",
            "presentation: aborted, no reason given (reason 0)",
        ),
        ("19 03 110105", "session: aborted, protocol error"),
        // Of what is neither the user may make something.
        (
            "19 0a 110103 c105 6403800100",
            "session: the peer's user aborted 6403800100",
        ),
        (
            "19 0f 110103 c10a a008 6106 3004 020101 80",
            "session: the peer's user aborted a00861063004020101 80",
        ),
    ] {
        let mut pair = Pair::new(false);
        stand(&mut pair);
        pair.inject(1, &hex(tsdu));
        assert_eq!(
            pair.heard(1),
            [format!("aborted: {}", reason.replace("01 80", "0180"))],
            "{tsdu}"
        );
    }
    let mut pair = Pair::new(false);
    stand(&mut pair);
    let down = Indication::Report(Box::new(Report::Down));
    pair.bench.indicate(pair.devices[1], down);
    assert_eq!(pair.heard(1), ["aborted: the layer below is down"]);
}

#[test]
fn sessions_own_primitives_pass_with_their_data_in_a_context() {
    let mut pair = Pair::new(false);
    let units = FunctionalUnits::DUPLEX
        .or(FunctionalUnits::TYPED_DATA)
        .or(FunctionalUnits::MINOR_SYNCHRONIZE)
        .or(FunctionalUnits::RESYNCHRONIZE);
    let control = kumiki_osi::acse::ABSTRACT_SYNTAX;
    pair.listen(association(&[(1, control), (2, A)]));
    let mut wanted = association(&[(1, control), (3, A)]);
    wanted.session.functional_units = units;
    pair.call(wanted, None);
    pair.join();
    let b = pair.offered().provider;
    pair.answer(b, None, None);
    let a = pair.opened().provider;
    let data = || Some(Message::from_octets(&hex("0500")));
    let tokens = TokenSetting::INITIATOR;
    let (number, explicit, end) = (1, true, true);
    let typed = Primitive::TypedData {
        data: data().unwrap(),
        end,
    };
    let sync = |data| Primitive::SyncMinor {
        number,
        explicit,
        data,
    };
    let resync = Primitive::Resync {
        kind: Resync::Restart,
        number,
        tokens,
        data: data(),
    };
    let reply = Primitive::ResyncReply {
        number,
        tokens,
        data: data(),
    };
    let all = [
        (0, a, typed, "TypedData 0500", "6109 3007 020103 a0020500"),
        (
            0,
            a,
            sync(data()),
            "SyncMinor 0500",
            "6109 3007 020103 a0020500",
        ),
        (0, a, sync(None), "SyncMinor", ""),
        // RS and RSA have their user data in an element of their own.
        (
            0,
            a,
            resync,
            "Resync 0500",
            "300b 6109 3007 020103 a0020500",
        ),
        (
            1,
            b,
            reply,
            "ResyncReply 0500",
            "300b 6109 3007 020103 a0020500",
        ),
    ];
    for (user, session, primitive, words, octets) in all {
        let what = Box::new(Particular::Session(primitive));
        pair.say(user, Request::Particular { session, what });
        let seen = pair.exchange();
        assert!(
            seen[0].1.ends_with(&hex(octets)),
            "{words} {:x?}",
            seen[0].1
        );
        assert_eq!(pair.heard(1 - user), [words]);
    }
}

#[test]
fn nobody_answers_and_nobody_waits_for_ever() {
    let mut pair = Pair::new(false);
    pair.call(association(&[(1, A)]), None);
    let [a, b] = pair.devices;
    pair.bench.join(a, b);
    pair.bench.pass(Duration::from_secs(60));
    assert_eq!(pair.heard(0), ["aborted: the peer stopped answering"]);
    let mut pair = Pair::new(false);
    pair.call(association(&[(1, A)]), None);
    pair.say(0, Request::Cancel { user: CALLER });
    pair.bench.pass(Duration::from_secs(60));
    assert_eq!(pair.heard(0), [""; 0]);
}

#[test]
fn an_answer_that_comes_too_late_is_told_so() {
    let mut pair = Pair::new(false);
    pair.listen(association(&[(1, A)]));
    pair.call(association(&[(1, A)]), None);
    pair.join();
    let offered = pair.offered();
    pair.say(0, Request::Cancel { user: CALLER });
    pair.exchange();
    pair.answer(offered.provider, None, None);
    assert_eq!(pair.heard(1), ["aborted: there is no such session"]);
    assert_eq!(pair.heard(0), [""; 0]);
}

#[test]
fn what_is_too_long_for_its_spdu_does_not_hang() {
    let long = || {
        let mut content = hex("04 83 010000");
        content.resize((1 << 16) + 5, 7);
        Some(Message::from_page(Page::from(&content[..])))
    };
    let mut pair = Pair::new(false);
    pair.listen(association(&[(1, A)]));
    pair.call(association(&[(1, A)]), None);
    pair.join();
    let accept = Accept {
        session: pair.offered().provider,
        user: CALLED,
        data: long(),
        ..Accept::default()
    };
    pair.say(1, Request::Accept(Box::new(accept)));
    pair.exchange();
    let refused = "aborted: presentation: a local limit is exceeded (reason 2)";
    assert_eq!(pair.heard(0), [refused]);
    let told = "aborted: out of memory or of room for another session";
    assert_eq!(pair.heard(1), [told]);

    let mut pair = Pair::new(false);
    let [session, b] = stand(&mut pair);
    let data = long();
    pair.say(0, Request::Release { session, data });
    pair.exchange();
    assert_eq!(pair.heard(1), ["released"]);
    let (session, reason, data) = (b, Reason::User, long());
    pair.say(
        1,
        Request::Abort {
            session,
            reason,
            data,
        },
    );
    pair.exchange();
    assert_eq!(pair.heard(0), ["aborted: session: the peer's user aborted"]);
    for end in ["presentation a", "presentation b"] {
        let reason = "user data too long for its SPDU";
        assert_eq!(pair.bench.drops(end, reason), 1);
    }
}

/// What a caller's CP is answered with: the user data of the RF, or nothing where it is offered.
fn refused(cp: &str) -> Option<Vec<u8>> {
    let mut pair = Pair::new(false);
    pair.listen(association(&[(1, A)]));
    pair.join();
    let [_, b] = pair.devices;
    pair.bench
        .octets(b, &hex("03000012 0d e0 0000 215f 00 c2 02 0103 c0 01 0b"));
    pair.bench.sent_octets();
    let cp = hex(cp);
    let len = |more: usize| u8::try_from(cp.len() + more).unwrap();
    let head = hex("0506 130100 160102 14020002");
    let cn = [&[0x0d, len(14)][..], &head, &[0xc1, len(0)], &cp].concat();
    pair.inject(1, &cn);
    let offered = pair.heard(1).iter().any(|it| it.starts_with("offered"));
    let sent = pair.bench.sent_octets();
    let Some(rf) = sent.first() else {
        assert!(offered);
        return None;
    };
    assert!(!offered);
    // RF, with reason 2: its data says why.
    let data = rf.windows(3).position(|it| it[0] == 0x32 && it[2] == 2);
    assert_eq!(rf[7], 0x0c);
    Some(rf[data.unwrap() + 3..].to_vec())
}

#[test]
fn a_cp_that_cannot_be_taken_is_refused_with_its_reason() {
    for (cp, cpr) in [
        // Version 2 alone.
        ("310d a003800101 a206 80020640 8300", Some("3003 8a0104")),
        // X.410 mode, no mode, no SET, nothing.
        ("3107 a003800100 a200", Some("3003 8a0100")),
        ("3102 a200", Some("3003 8a0100")),
        ("3000", Some("3003 8a0100")),
        ("", Some("3003 8a0100")),
        // User data in a context that was not proposed, and user data that is none.
        (
            "3112 a003800101 a20b 6109 3007 020101 a0020500",
            Some("3003 8a0106"),
        ),
        ("310b a003800101 a204 6102 0500", Some("3003 8a0106")),
        // A default context that nobody speaks.
        (
            "3112 a003800101 a20b a609 80032a0304 81025101",
            Some("3003 8a0105"),
        ),
        ("3107 a003800101 a200", None),
    ] {
        assert_eq!(refused(cp), cpr.map(hex), "{cp}");
    }
}

/// A caller whose CP has gone out, and its peer is the test.
fn calling() -> Pair {
    let mut pair = Pair::new(false);
    let [a, _] = pair.devices;
    pair.call(association(&[(1, A), (3, B)]), None);
    pair.bench.join(a, a);
    let cr = pair.bench.sent_octets().swap_remove(0);
    let mut cc = hex("0300000e 09d0 0000 218c 00 c0010b");
    cc[6..8].copy_from_slice(&cr[8..10]);
    pair.bench.octets(a, &cc);
    pair.bench.sent_octets();
    pair
}

fn ac(cpa: &[u8]) -> Vec<u8> {
    let len = |more: usize| u8::try_from(cpa.len() + more).unwrap();
    let head = hex("0506 130100 160102 14020002");
    [&[0x0e, len(14)][..], &head, &[0xc1, len(0)], cpa].concat()
}

#[test]
fn a_cpa_that_does_not_fit_its_cp_is_aborted() {
    let results = |list: &str| {
        let list = hex(list);
        let len = |more: usize| u8::try_from(list.len() + more).unwrap();
        let head = [
            &[0x31, len(9)][..],
            &hex("a003800101"),
            &[0xa2, len(2), 0xa5, len(0)],
        ];
        [&head.concat()[..], &list].concat()
    };
    for (cpa, arp) in [
        // One result of two, three, a transfer syntax that was not proposed.
        (results("3007 800100 81025101"), "3006 800106 810101"),
        (
            results("3003 800101 3003 800101 3003 800101"),
            "3006 800106 810101",
        ),
        (
            results("3007 800100 81025102 3003 800101"),
            "3006 800106 810101",
        ),
        (results("3003 800109 3003 800101"), "3006 800101 810101"),
        (hex("0500"), "3006 800101 810101"),
    ] {
        let mut pair = calling();
        pair.inject(0, &ac(&cpa));
        assert_eq!(pair.heard(0), ["aborted: the peer broke the protocol"]);
        let sent = pair.bench.sent_octets();
        assert!(sent.last().unwrap().ends_with(&hex(arp)), "{sent:x?}");
    }
    // A syntax that is not named is the one that was proposed.
    let mut pair = calling();
    pair.inject(0, &ac(&results("3003 800100 3003 800102")));
    let association = pair.opened().association.unwrap();
    let standing: Vec<_> = association.standing().map(|it| it.id).collect();
    assert_eq!(standing, [1]);
}

/// The PPDUs of a connection, with what carries each: SI and parameters before the user data.
fn spoilt(tsdu: &[u8], at: proptest::sample::Index, octet: u8) -> Vec<u8> {
    let mut tsdu = tsdu.to_vec();
    let at = at.index(tsdu.len());
    tsdu[at] = octet;
    tsdu
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_octets_in_place_of_any_ppdu_are_taken_or_end_the_connection(
        octets in proptest::collection::vec(any::<u8>(), 0..40),
        at in any::<proptest::sample::Index>(),
        octet in any::<u8>(),
    ) {
        let data = hex("01000100 61 12 3007 020101 a0020500 3007 020103 a0020500");
        let finish = hex("09 10 110101 c10b 61 09 3007 020101 a0020500");
        let abort = hex("19 12 110103 c10d a00b 6109 3007 020101 a0020500");
        let typed = hex("21 00 61 09 3007 020101 a0020500");
        let any = [&hex("01000100")[..], &octets].concat();
        for tsdu in [spoilt(&data, at, octet), spoilt(&finish, at, octet), spoilt(&abort, at, octet), spoilt(&typed, at, octet), any] {
            let mut pair = Pair::new(false);
            stand(&mut pair);
            pair.inject(1, &tsdu);
            let sent = pair.bench.sent_octets();
            let heard = pair.heard(1);
            // Either it is understood, or both sides hear of an abort.
            let broken = heard.iter().any(|heard| heard == "aborted: the peer broke the protocol");
            let abort = sent.iter().any(|tpkt| tpkt.get(7) == Some(&0x19));
            prop_assert_eq!(broken, abort, "{:x?} {:?} {:x?}", tsdu, heard, sent);
        }
        let cpa = hex("311b a003800101 a214 a512 3007 800100 81025101 3007 800100 81025101");
        let cpr = hex("3014 a512 3007 800100 81025101 3007 800100 81025101");
        let mut rf = hex("0c 21 110101 14020002 32 17 02");
        rf.extend(cpr);
        for spdu in [ac(&cpa), rf] {
            let mut pair = calling();
            pair.inject(0, &spoilt(&spdu, at, octet));
            let heard = pair.heard(0);
            // The reserve of a TSDU that is no SPDU is an abort; of what session can make nothing of, nothing is heard.
            prop_assert!(heard.len() == 1, "{:x?} {:?}", spdu, heard);
        }
    }
}
