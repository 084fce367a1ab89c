//! What two ends say to each other, and what their users hear.

use super::*;
use kumiki_graph::Special;

#[test]
fn contexts_are_agreed_on_and_values_go_both_ways() {
    let mut pair = Pair::new(false);
    pair.listen(association(&[(1, B), (2, A)]));
    let mut wanted = association(&[(1, A), (3, C), (5, B), (7, A)]);
    wanted.contexts[3].transfer_syntaxes = [Oid::of(&[2, 1, 2])].into_iter().collect();
    pair.call(wanted, Some("0401 61"));
    pair.join();
    let mut offered = pair.offered();
    let seen = offered.parameters.take::<Association>().unwrap();
    // The context of the caller's data is the first.
    assert_eq!(seen.contexts[0].id, 1);
    assert_eq!(offered.data.unwrap().to_vec(), hex("040161"));
    let accepted = ContextResult::Accepted(Some(kumiki_osi_service::presentation::BASIC_ENCODING_RULES));
    let expected =
        [accepted, ContextResult::RefusedByProvider(Some(1)), accepted, ContextResult::RefusedByProvider(Some(2))];
    assert_eq!(seen.results, expected);
    pair.answer(offered.provider, None, Some("0401 62"));
    let mut opened = pair.opened();
    assert_eq!(opened.data.unwrap().to_vec(), hex("040162"));
    let association = opened.parameters.take::<Association>().unwrap();
    assert_eq!(association.results, expected);
    let standing: Vec<_> = association.standing().map(|it| it.id).collect();
    assert_eq!(standing, [1, 5]);

    pair.values(0, opened.provider, &[(1, "0500"), (5, "040178"), (1, "a0020500")]);
    pair.values(1, offered.provider, &[(5, "020107")]);
    pair.exchange();
    assert_eq!(pair.heard(1), ["1: 0500, 5: 040178, 1: a0020500"]);
    assert_eq!(pair.heard(0), ["5: 020107"]);
    assert_eq!(pair.presentation(1).counters().values, 3);
    // Ours to see: a value that is in no context that stands is not sent, and its credit comes back.
    for context in [3, 7, 9] {
        pair.values(0, opened.provider, &[(context, "0500")]);
        assert_eq!(pair.exchange(), []);
        assert!(matches!(pair.bench.heard(pair.users[0])[..], [Indication::Credit { .. }]));
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
    let mut opened = pair.opened();
    let results = opened.parameters.take::<Association>().unwrap().results;
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
    pair.say(0, Request::special(session, PData(values)));
    pair.exchange();
    let credit = Credit::messages(1);
    let session = called;
    pair.say(1, Request::Credit { session, credit });
    pair.exchange();
    let heard = pair.bench.heard(pair.users[1]);
    let [Indication::Special { what, .. }] = &heard[..] else {
        panic!("{heard:?}");
    };
    let PData(values) = what.get().unwrap();
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
        assert_eq!(pair.heard(1 - side), ["aborted: session: the peer's user aborted 040162"]);
        assert_eq!(pair.heard(side), [""; 0]);
    }
}

#[test]
fn each_layer_refuses_with_its_own_reason() {
    let selector = |text: &str| Some(text.parse().unwrap());
    let called = |transport, session, presentation| Association {
        called: Selectors { transport, session, presentation },
        ..association(&[(1, A)])
    };
    let listens = called(selector("#1"), selector("#2"), selector("#3"));
    for (calls, reason) in [
        (called(selector("x"), selector("#2"), selector("#3")), "transport: transport selector unknown (reason 3)"),
        (called(selector("#1"), selector("x"), selector("#3")), "session: session selector unknown (reason 129)"),
        (
            called(selector("#1"), selector("#2"), selector("x")),
            "presentation: called presentation address unknown (reason 3)",
        ),
        (called(selector("#1"), selector("#2"), None), "presentation: called presentation address unknown (reason 3)"),
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
    let mut offered = pair.offered();
    let called = offered.parameters.take::<Association>().unwrap().called;
    assert_eq!(called.presentation, selector("#3"));
    pair.abort(1, offered.provider, Reason::User, Some("040162"));
    pair.exchange();
    assert_eq!(pair.heard(0), ["aborted: the peer refused 040162"]);
}

#[test]
fn a_caller_hears_which_contexts_were_refused() {
    // The called user speaks neither: its layer cannot even say what the caller's data is.
    let mut pair = Pair::new(false);
    pair.listen(association(&[(1, A)]));
    pair.call(association(&[(1, B), (3, A), (5, B)]), Some("040162"));
    pair.join();
    let told = OsiCause::ContextsRefused { refused: 2, proposed: 3, why: Some(1) };
    assert_eq!(pair.heard(0), [format!("aborted: {}", Reason::peer(told))]);
    // Who was called knows as much.
    assert_eq!(pair.presentation(1).refusal(), Some(&Reason::peer(told)));
    assert_eq!(
        told.to_string(),
        "presentation: 2 of 3 contexts refused, the first of them: abstract syntax not supported (reason 1)"
    );
}

#[test]
fn more_contexts_than_there_is_room_for_are_refused_one_by_one() {
    let mut pair = Pair::new(false);
    let most = Config::default().contexts as usize;
    let all: Vec<_> = (0..).map(|n| (2 * n + 1, A)).take(most + 1).collect();
    pair.call(association(&all), None);
    assert_eq!(pair.heard(0), ["aborted: out of memory or of room for another session"]);
    pair.call(association(&[(1, A), (1, B)]), None);
    assert_eq!(pair.heard(0), ["aborted: the peer refused"]);
    let results = connection::negotiate(&[A], &association(&all).contexts, most);
    assert!(results[most - 1].is_accepted());
    assert_eq!(results[most], ContextResult::RefusedByProvider(Some(3)));
}

#[test]
fn what_cannot_be_taken_is_aborted_with_its_reason() {
    for (tsdu, arp, found) in [
        // A context that does not stand.
        ("01000100 61 09 3007 020109 a0020500", "30 06 800106 810107", "a value in no context that was agreed on"),
        // No values.
        ("01000100 61 00", "30 06 800106 810107", "user data without a value"),
        // No user data.
        ("01000100 0500", "30 06 800101 810107", "User-data: "),
        // Simply encoded data, with two contexts.
        ("01000100 40 02 0500", "30 06 800106 810107", "simply encoded user data"),
        // AC, and ACA.
        ("21 00 a0 00", "30 06 800102 810105", "an AC or ACA PPDU"),
        ("21 00 a1 00", "30 06 800102 810106", "an AC or ACA PPDU"),
        // FN with something else than user data.
        ("09 07 110101 c102 0500", "30 06 800101 81010e", "User-data: "),
    ] {
        let mut pair = Pair::new(false);
        stand(&mut pair);
        pair.inject(1, &hex(tsdu));
        let heard = pair.heard(1).concat();
        let told = format!("aborted: presentation: the peer broke the protocol: {found}");
        assert!(heard.starts_with(&told) && heard.contains("(octets "), "{tsdu}: {heard}");
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
        ("19 07 110103 c102 3000", "presentation: aborted, no reason given (reason 0)"),
        ("19 03 110105", "session: aborted, protocol error"),
        // Of what is neither the user may make something.
        ("19 0a 110103 c105 6403800100", "session: the peer's user aborted 6403800100"),
        ("19 0f 110103 c10a a008 6106 3004 020101 80", "session: the peer's user aborted a00861063004020101 80"),
    ] {
        let mut pair = Pair::new(false);
        stand(&mut pair);
        pair.inject(1, &hex(tsdu));
        assert_eq!(pair.heard(1), [format!("aborted: {}", reason.replace("01 80", "0180"))], "{tsdu}");
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
    let control = kumiki_osi_service::acse::ABSTRACT_SYNTAX;
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
    let typed = Primitive::TypedData { data: data().unwrap(), end };
    let sync = |data| Primitive::SyncMinor { number, explicit, data };
    let resync = Primitive::Resync { kind: Resync::Restart, number, tokens, data: data() };
    let reply = Primitive::ResyncReply { number, tokens, data: data() };
    let all = [
        (0, a, typed, "TypedData 0500", "6109 3007 020103 a0020500"),
        (0, a, sync(data()), "SyncMinor 0500", "6109 3007 020103 a0020500"),
        (0, a, sync(None), "SyncMinor", ""),
        // RS and RSA have their user data in an element of their own.
        (0, a, resync, "Resync 0500", "300b 6109 3007 020103 a0020500"),
        (1, b, reply, "ResyncReply 0500", "300b 6109 3007 020103 a0020500"),
    ];
    for (user, session, primitive, words, octets) in all {
        let what = Special::new(primitive);
        pair.say(user, Request::Special { session, what });
        let seen = pair.exchange();
        assert!(seen[0].1.ends_with(&hex(octets)), "{words} {:x?}", seen[0].1);
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
    let accept = Accept { session: pair.offered().provider, user: CALLED, data: long(), ..Accept::default() };
    pair.say(1, Request::Accept(Box::new(accept)));
    pair.exchange();
    let refused = "aborted: presentation: a local limit is exceeded (reason 2)";
    assert_eq!(pair.heard(0), [refused]);
    let told = "aborted: out of memory or of room for another session";
    assert_eq!(pair.heard(1), [told]);

    // What is asked for and cannot be done ends the connection.
    let mut pair = Pair::new(false);
    let [session, _] = stand(&mut pair);
    let data = long();
    pair.say(0, Request::Release { session, data });
    pair.exchange();
    assert_eq!(pair.heard(0), [told]);
    assert_eq!(pair.heard(1), ["aborted: session: the peer's user aborted"]);

    // The last word goes without it.
    let mut pair = Pair::new(false);
    let [_, session] = stand(&mut pair);
    let (reason, data) = (Reason::User, long());
    pair.say(1, Request::Abort { session, reason, data });
    pair.exchange();
    assert_eq!(pair.heard(0), ["aborted: session: the peer's user aborted"]);
    let reason = "user data too long for its SPDU";
    assert_eq!(pair.bench.drops("presentation b", reason), 1);
}
