//! Two ends over the whole stack, and ends whose peer is what ISODE and libiec61850 have sent.

use kumiki_osi_service::acse::{Authentication, Credential, Names, Title};
use kumiki_osi_service::presentation::ContextResult;
use kumiki_osi_service::{OsiCause, layer};
use kumiki_wire::osi::presentation::{Accept as Cpa, Connect as Cp, UserData};
use kumiki_wire::osi::session::{Spdu, parse};
use proptest::prelude::*;

use super::*;
use crate::presentation::tests::{A, B, C, Pair, association};
use kumiki_testkit::bench::{assert_violation, hex};

/// ISODE 8 on both sides, TPKTs.
const ISODE: &str = include_str!("../../../kumiki-wire/tests/exchanges/isode-ftam.txt");
const FTAM: Oid = Oid::of(&[1, 0, 8571, 1, 1]);
const PCI: Oid = Oid::of(&[1, 0, 8571, 2, 1]);
const TEXT: Oid = Oid::of(&[1, 0, 8571, 2, 3]);
const BINARY: Oid = Oid::of(&[1, 0, 8571, 2, 4]);
const NBS_9: Oid = Oid::of(&[1, 3, 14, 5, 2, 2]);
const OLD_NBS_9: Oid = Oid::of(&[1, 3, 9999, 1, 2, 2]);

/// The TPKTs of one side, in order.
fn isode(side: char) -> Vec<Vec<u8>> {
    ISODE.lines().filter_map(|line| line.strip_prefix(side)).map(hex).collect()
}

fn wanted(contexts: &[(ContextId, Oid)]) -> Association {
    Association { application_context: Some(FTAM), ..association(contexts) }
}

/// An association with contexts 1 (A) and 3 (B): the handles of both.
fn stand(pair: &mut Pair) -> [Handle; 2] {
    pair.listen(association(&[(1, A), (3, B)]));
    pair.call(wanted(&[(1, A), (3, B)]), Some("a000"));
    pair.join();
    let offered = pair.offered();
    pair.answer(offered.provider, None, Some("a100"));
    let opened = pair.opened();
    pair.heard(1);
    [opened.provider, offered.provider]
}

/// The user data of the CN or AC in a TPKT.
fn ppdu(tpkt: &[u8]) -> Message {
    let spdus = parse(Message::from_octets(&tpkt[7..])).unwrap();
    let [Spdu::Connect(connection) | Spdu::Accept(connection)] = &spdus[..] else {
        panic!("{spdus:?}");
    };
    connection.data.data.clone().unwrap()
}

fn only(data: Option<UserData>) -> (ContextId, Vec<u8>) {
    let values = data.unwrap().into_values(0).unwrap();
    assert_eq!(values.len(), 1);
    (values[0].context, values[0].data.to_vec())
}

#[test]
fn an_association_says_who_and_what_and_its_values_pass() {
    let mut pair = Pair::new(true);
    let mut listens = association(&[(1, B), (3, A)]);
    listens.called.presentation = Some("FTAM".parse().unwrap());
    pair.listen(listens);
    let mut calls = wanted(&[(1, A), (3, C), (7, B)]);
    calls.called.presentation = Some("FTAM".parse().unwrap());
    calls.called_names = Names {
        ap_title: Some(Title::Oid(Oid::of(&[1, 17, 4, 0, 16]))),
        ae_qualifier: Some(Title::Number(7)),
        ..Names::default()
    };
    calls.calling_names.ap_invocation = Some(5);
    let authentication = |text: &str| {
        Some(Authentication {
            mechanism: Some(Oid::of(&[2, 2, 3, 1])),
            value: Credential::Text(text.as_bytes().to_vec()),
        })
    };
    calls.authentication = authentication("key");
    pair.call(calls.clone(), Some("a000"));
    pair.join();
    let mut offered = pair.offered();
    assert_eq!(offered.data.unwrap().to_vec(), hex("a000"));
    let seen = offered.parameters.take::<Association>().unwrap();
    assert_eq!(seen.contexts, calls.contexts);
    assert_eq!(seen.application_context, Some(FTAM));
    assert_eq!(seen.called_names, calls.called_names);
    assert_eq!(seen.calling_names, calls.calling_names);
    assert_eq!(seen.authentication, calls.authentication);
    let expected = [true, false, true];
    let accepted = |it: &[ContextResult]| it.iter().map(|it| it.is_accepted()).collect::<Vec<_>>();
    assert_eq!(accepted(&seen.results), expected);

    let answer = Association {
        calling_names: Names { ap_title: Some(Title::Oid(Oid::of(&[1, 2, 3]))), ..Names::default() },
        authentication: authentication("lock"),
        ..Association::default()
    };
    pair.answer(offered.provider, Some(answer.clone()), Some("a100"));
    let mut opened = pair.opened();
    assert_eq!(opened.data.unwrap().to_vec(), hex("a100"));
    let seen = opened.parameters.take::<Association>().unwrap();
    assert_eq!(seen.contexts, calls.contexts);
    assert_eq!(accepted(&seen.results), expected);
    assert_eq!(seen.calling_names, answer.calling_names);
    assert_eq!(seen.authentication, answer.authentication);

    pair.values(0, opened.provider, &[(1, "a600"), (7, "040178")]);
    pair.values(1, offered.provider, &[(1, "a700")]);
    pair.exchange();
    assert_eq!(pair.heard(1), ["1: a600, 7: 040178"]);
    assert_eq!(pair.heard(0), ["1: a700"]);
    // The context of association control, 9, is not the user's to speak in.
    pair.values(0, opened.provider, &[(9, "a600")]);
    assert_eq!(pair.exchange(), []);
    let layers = ["session", "presentation", "acse"];
    assert_eq!(pair.copied(&layers), 0);
}

#[test]
fn a_rejection_says_who_and_why_and_brings_data() {
    let told = |permanent, diagnostic| Reason::peer(OsiCause::Rejected { permanent, diagnostic });
    for (reason, words) in [
        (Reason::User, "rejected for good, no reason given"),
        (Reason::NoResources, "rejected for now, no reason given"),
        (told(true, Diagnostic::User(13)), "rejected for good, authentication failed"),
        (told(false, Diagnostic::Provider(1)), "rejected for now, no reason given"),
    ] {
        let mut pair = Pair::new(true);
        pair.listen(association(&[(1, A)]));
        pair.call(wanted(&[(1, A)]), None);
        pair.join();
        let offered = pair.offered();
        pair.abort(1, offered.provider, reason, Some("a100"));
        pair.exchange();
        assert_eq!(pair.heard(0), [format!("aborted: association control: {words} a100")]);
        assert_eq!(pair.heard(1), [""; 0]);
    }
}

#[test]
fn a_release_is_asked_for_and_answered() {
    for side in [0, 1] {
        let mut pair = Pair::new(true);
        let handles = stand(&mut pair);
        pair.release(side, handles[side], Some("a200"));
        pair.exchange();
        assert_eq!(pair.heard(1 - side), ["released a200"]);
        pair.release(1 - side, handles[1 - side], Some("a300"));
        pair.exchange();
        assert_eq!(pair.heard(1 - side), ["closed"]);
        assert_eq!(pair.heard(side), ["released a300", "closed"]);
    }
}

#[test]
fn of_two_releases_that_meet_the_initiators_answer_comes_first() {
    // The responder's user answers in its turn, or too early.
    for early in [false, true] {
        let mut pair = Pair::new(true);
        let [a, b] = stand(&mut pair);
        pair.release(0, a, Some("a200"));
        pair.release(1, b, Some("a200"));
        pair.exchange();
        assert_eq!(pair.heard(0), ["released a200"]);
        assert_eq!(pair.heard(1), ["released a200"]);
        if early {
            pair.release(1, b, Some("830101"));
            assert_eq!(pair.exchange(), []);
        }
        pair.release(0, a, Some("a300"));
        pair.exchange();
        let mut expected = vec!["released a300"];
        if early {
            expected.push("closed");
        }
        assert_eq!(pair.heard(1), expected);
        if !early {
            pair.release(1, b, Some("830101"));
            pair.exchange();
            assert_eq!(pair.heard(1), ["closed"]);
        }
        assert_eq!(pair.heard(0), ["released 830101", "closed"]);
    }
}

#[test]
fn an_abort_of_either_side_brings_data() {
    for side in [0, 1] {
        let mut pair = Pair::new(true);
        let handles = stand(&mut pair);
        pair.abort(side, handles[side], Reason::User, Some("a400"));
        pair.exchange();
        assert_eq!(pair.heard(1 - side), ["aborted: association control: the peer's application aborted a400"]);
        assert_eq!(pair.heard(side), [""; 0]);
    }
}

#[test]
fn an_abort_is_understood_in_an_aru_and_by_itself() {
    for (tsdu, words) in [
        // As libiec61850 takes its leave, but for the number of the context.
        (
            "19 15 11010b c110 a00e 610c 300a 020105 a005 6403800100",
            "association control: the peer's application aborted",
        ),
        ("19 15 11010b c110 a00e 610c 300a 020105 a005 6403800101", "association control: aborted"),
        ("19 0a 11010b c105 6403800100", "association control: the peer's application aborted"),
        ("19 03 110103", "session: the peer's user aborted"),
        ("19 0d 110103 c108 3006 800101 810107", "presentation: aborted, a PPDU that it does not know (reason 1)"),
        ("19 03 110105", "session: aborted, protocol error"),
    ] {
        let mut pair = Pair::new(true);
        stand(&mut pair);
        pair.inject(1, &hex(tsdu));
        assert_eq!(pair.heard(1), [format!("aborted: {words}")]);
    }
}

#[test]
fn an_apdu_in_the_wrong_place_ends_the_association() {
    for tsdu in [
        // On P-DATA.
        "01000100 61 0c 300a 020105 a005 6403800100",
        // AARQ or nothing known in FN, RLRE before there was a RLRQ.
        "09 1b 110101 c116 61 14 3012 020105 a00d 600b a1070605 28c27b0101 0500",
        "09 10 110101 c10b 6109 3007 020105 a002 0500",
        "09 10 110101 c10b 6109 3007 020105 a002 6300",
    ] {
        let mut pair = Pair::new(true);
        stand(&mut pair);
        pair.inject(1, &hex(tsdu));
        let heard = pair.heard(1);
        let broken = "aborted: association control: the peer broke the protocol: ";
        assert!(matches!(&heard[..], [one] if one.starts_with(broken)), "{tsdu}: {heard:?}");
        let sent = pair.bench.sent_octets();
        let abrt = hex("6403800101");
        assert!(sent.last().unwrap().ends_with(&abrt), "{tsdu}");
    }
}

#[test]
fn an_association_without_an_application_context_is_not_asked_for() {
    let mut pair = Pair::new(true);
    pair.call(association(&[(1, A)]), None);
    assert_eq!(pair.heard(0), ["aborted: the peer refused"]);
}

/// What FTAM speaks here: all that ISODE proposes but the old directories.
const SPOKEN: [(ContextId, Oid); 4] = [(1, PCI), (3, BINARY), (5, TEXT), (7, NBS_9)];

#[test]
fn an_association_of_isode_is_answered_to_its_end() {
    let mut pair = Pair::new(true);
    pair.listen(association(&SPOKEN));
    let [_, b] = pair.devices;
    pair.join();
    pair.heard(1);
    let sent = isode('>');
    let (cr, rest) = sent.split_first().unwrap();
    pair.bench.octets(b, cr);
    let (cn, rest) = rest.split_first().unwrap();
    pair.bench.octets(b, cn);
    let mut offered = pair.offered();
    // F-INITIALIZE.
    assert_eq!(offered.data.unwrap().to_vec()[..4], hex("a03e8302"));
    let seen = offered.parameters.take::<Association>().unwrap();
    let ids: Vec<_> = seen.contexts.iter().map(|it| it.id).collect();
    assert_eq!(ids, [1, 3, 5, 7, 9]);
    let standing: Vec<_> = seen.standing().map(|it| it.id).collect();
    assert_eq!(standing, [1, 3, 5, 7]);
    let title = Title::Oid(Oid::of(&[1, 17, 4, 0, 16]));
    assert_eq!(seen.called_names.ap_title, Some(title));

    pair.bench.sent_octets();
    let session = offered.provider;
    pair.accept(session, None, Some("a100"));
    let answered = pair.bench.sent_octets();
    let [ac] = &answered[..] else {
        panic!("{answered:?}");
    };
    // As ISODE answers it, but for who refuses the old directories.
    let [ours, theirs] = [ac, &isode('<')[1]].map(|tpkt| Cpa::parse(ppdu(tpkt)).unwrap());
    let accepted = |cpa: &Cpa| cpa.results.iter().map(|it| it.is_accepted()).collect::<Vec<_>>();
    assert_eq!(accepted(&ours), accepted(&theirs));
    let (context, aare) = only(ours.data);
    assert_eq!(context, 11);
    let expected = "61 24 a10706 0528c27b0101 a203020100 a305a103020100 be 0d 280b 06025101 020101 a002 a100";
    assert_eq!(aare, hex(expected));

    let credit = Credit::messages(100);
    pair.say(1, Request::Credit { session, credit });
    let (dr, rest) = rest.split_last().unwrap();
    let (finish, rest) = rest.split_last().unwrap();
    for tpkt in rest {
        pair.bench.octets(b, tpkt);
    }
    let heard = pair.heard(1);
    // F-BEGIN-GROUP to F-END-GROUP; F-WRITE; the file in two values.
    assert!(heard[0].starts_with("1: b603800102, 1: 47 octets"), "{heard:?}");
    assert_eq!(heard[1], "1: bf21088001016f03800100");
    assert_eq!(heard[2..4], ["3: 2019 octets", "3: 989 octets"]);
    assert_eq!(heard.len(), rest.len());
    pair.bench.sent_octets();
    pair.bench.octets(b, finish);
    assert_eq!(pair.heard(1), ["released a200"]);
    pair.release(1, session, Some("a300"));
    let last = pair.bench.sent_octets();
    // Octet for octet what ISODE says: DN, RLRE.
    let theirs = isode('<');
    assert_eq!(last.last(), theirs.last());
    assert_eq!(pair.heard(1), ["closed"]);
    pair.bench.octets(b, dr);
    assert_eq!(pair.heard(1), [""; 0]);
}

#[test]
fn what_isode_answers_is_understood_to_the_end() {
    let mut pair = Pair::new(true);
    // In the order in which ISODE has them, where ACSE is the last; here it is the first, so that its results mean
    // other contexts.
    let all = [&SPOKEN[..], &[(9, OLD_NBS_9)]].concat();
    let [a, _] = pair.devices;
    let mut calls = wanted(&all);
    calls.called.transport = Some("#259".parse().unwrap());
    calls.called_names.ap_title = Some(Title::Oid(Oid::of(&[1, 17, 4, 0, 16])));
    // F-INITIALIZE as ISODE has it.
    let [cr, cn, ..] = &isode('>')[..] else {
        panic!("no CN");
    };
    let theirs = Cp::parse(ppdu(cn)).unwrap();
    let (context, aarq) = only(theirs.data);
    let at = aarq.windows(2).position(|pair| pair == [0xa0, 0x3e]).unwrap();
    let initialize: String = aarq[at..].iter().map(|octet| format!("{octet:02x}")).collect();
    pair.call(calls, Some(&initialize));
    pair.bench.join(a, a);
    let sent = pair.bench.sent_octets();
    let reference = &sent[0][8..10];
    assert_eq!((&sent[0][..8], &sent[0][10..]), (&cr[..8], &cr[10..]));
    let mut answers = isode('<').into_iter();
    let mut cc = answers.next().unwrap();
    cc[6..8].copy_from_slice(reference);
    pair.bench.octets(a, &cc);
    let sent = pair.bench.sent_octets();
    let ours = Cp::parse(ppdu(&sent[0])).unwrap();
    // Octet for octet the AARQ of ISODE, in the same context.
    assert_eq!(only(ours.data), (context, aarq));

    pair.bench.octets(a, &answers.next().unwrap());
    let mut opened = pair.opened();
    assert_eq!(opened.data.unwrap().to_vec()[..2], hex("a126"));
    let results = opened.parameters.take::<Association>().unwrap().results;
    let accepted: Vec<_> = results.iter().map(|it| it.is_accepted()).collect();
    assert_eq!(accepted, [true, true, true, false, true]);
    let session = opened.provider;
    let credit = Credit::messages(100);
    pair.say(0, Request::Credit { session, credit });
    let rest: Vec<_> = answers.collect();
    let (dn, rest) = rest.split_last().unwrap();
    for tpkt in rest {
        pair.bench.octets(a, tpkt);
    }
    let heard = pair.heard(0);
    assert_eq!(heard.len(), rest.len());
    assert!(heard[0].starts_with("1: b700, 1: 40 octets"), "{heard:?}");
    pair.bench.sent_octets();
    pair.release(0, session, Some("a200"));
    // Octet for octet what ISODE says: FN, RLRQ.
    let theirs = isode('>');
    assert_eq!(pair.bench.sent_octets().last(), theirs.iter().rev().nth(1));
    pair.bench.octets(a, dn);
    assert_eq!(pair.heard(0), ["released a300", "closed"]);
}

/// An AARQ may carry a password, and what is told of a broken one goes to a log.
#[test]
fn a_broken_aarq_is_told_without_what_is_in_it() {
    let mut pair = Pair::new(true);
    pair.listen(association(&SPOKEN));
    let [_, b] = pair.devices;
    pair.join();
    let [cr, mut cn] = [0, 1].map(|at| isode('>').swap_remove(at));
    pair.bench.octets(b, &cr);
    // The application context name is no object identifier any more.
    let name = cn.windows(3).position(|it| matches!(it, [0xa1, _, 0x06])).unwrap();
    cn[name + 2] = 0x04;
    pair.bench.octets(b, &cn);
    assert!(!pair.heard(1).iter().any(|it| it.starts_with("offered")));
    let node = pair.bench.graph.node("acse b").unwrap();
    let acse = pair.bench.graph.protocol::<Acse>(node).unwrap();
    let told = "AARQ: application-context-name: OCTET STRING where OBJECT IDENTIFIER is expected (octets 60 5e ...)";
    assert_violation(acse.refusal(), layer::ACSE, told);
}

#[test]
fn a_login_that_isode_refuses_is_understood() {
    // The fields are those of a wrong password, as ISODE answers it; the results and the information are shorter here.
    let mut pair = Pair::new(true);
    pair.listen(association(&[(1, A)]));
    let [a, _] = pair.devices;
    pair.call(wanted(&[(1, A)]), None);
    pair.bench.join(a, a);
    let sent = pair.bench.sent_octets();
    let mut cc = isode('<').swap_remove(0);
    cc[6..8].copy_from_slice(&sent[0][8..10]);
    pair.bench.octets(a, &cc);
    // RF with reason 2 and CPR: results; AARE rejected for good, F-INITIALIZE response.
    let aare = |information: &str| {
        let information = hex(information);
        let len = u8::try_from(information.len()).unwrap();
        let fields = hex("a10706 0528c27b0101 a203020101 a305a103020101");
        let all = [&fields[..], &[0xbe, len], &information[..]].concat();
        [&[0x61, u8::try_from(all.len()).unwrap()][..], &all[..]].concat()
    };
    let value = aare("280d 020101 a008 a106 550101 450102");
    let len = |more: usize| u8::try_from(value.len() + more).unwrap();
    let cpr = [
        &[0x30, 0x80][..],
        &hex("a512 3007 800100 81025101 3007 800100 81025101"),
        &[0x61, len(7), 0x30, len(5), 2, 1, 3, 0xa0, len(0)],
        &value,
        &[0, 0],
    ]
    .concat();
    let spdu = [
        &[0x0c, u8::try_from(cpr.len() + 10).unwrap()][..],
        &hex("110101 14020002"),
        &[0x32, u8::try_from(cpr.len() + 1).unwrap(), 2],
        &cpr,
    ]
    .concat();
    pair.inject(0, &spdu);
    assert_eq!(pair.heard(0), ["aborted: association control: rejected for good, no reason given a106550101450102"]);
}

#[test]
fn an_aare_is_taken_for_what_it_says_wherever_it_comes() {
    let accepted = "a51b 3007 800100 81025101 3007 800100 81025101 3007 800100 81025101";
    for (apdu, heard) in [
        // Rejected, but in a CPA.
        (
            "6115 a10706 0528c27b0101 a203020102 a305a10302010d",
            "association control: rejected for now, authentication failed",
        ),
        // RLRE; AARE without a result; nothing.
        ("6303 800100", "association control: the peer broke the protocol: RLRE, expected AARE (octets 63 03 ...)"),
        (
            "6109 a10706 0528c27b0101",
            "association control: the peer broke the protocol: AARE: result: missing, [2] is expected (octets 61 09 ...)",
        ),
        (
            "",
            "association control: the peer broke the protocol: APDU: APDU: end of contents where [APPLICATION 0] AARQ to [APPLICATION 4] ABRT is expected",
        ),
    ] {
        let mut pair = Pair::new(true);
        let [a, _] = pair.devices;
        pair.call(wanted(&[(1, A), (3, B)]), None);
        pair.bench.join(a, a);
        let sent = pair.bench.sent_octets();
        let mut cc = isode('<').swap_remove(0);
        cc[6..8].copy_from_slice(&sent[0][8..10]);
        pair.bench.octets(a, &cc);
        let apdu = hex(apdu);
        let data =
            if apdu.is_empty() { Message::new() } else { UserData::single(5, Message::from_octets(&apdu)).emit() };
        let fields = [hex(accepted), data.to_vec()].concat();
        let len = |more: usize| u8::try_from(fields.len() + more).unwrap();
        let cpa = [&[0x31, len(7)][..], &hex("a003800101"), &[0xa2, len(0)], &fields].concat();
        let len = |more: usize| u8::try_from(cpa.len() + more).unwrap();
        let head = hex("0506 130100 160102 14020002");
        let ac = [&[0x0e, len(14)][..], &head, &[0xc1, len(0)], &cpa].concat();
        pair.bench.sent_octets();
        pair.inject(0, &ac);
        let told = pair.heard(0).concat();
        assert_eq!(told, format!("aborted: {heard}"));
        let sent = pair.bench.sent_octets();
        assert!(sent.last().unwrap().ends_with(&hex("6403800101")));
    }
}

/// What came with a release names itself, or its field, and shows no more than its header.
#[test]
fn a_release_that_is_none_is_told_by_what_came() {
    let released = |apdu: &str| {
        let apdu = hex(apdu);
        let data = UserData::single(5, Message::from_octets(&apdu)).emit().to_vec();
        let len = |more: usize| u8::try_from(data.len() + more).unwrap();
        let mut pair = Pair::new(true);
        stand(&mut pair);
        pair.inject(1, &[&[0x09, len(5), 0x11, 1, 1, 0xc1, len(0)], &data[..]].concat());
        pair.heard(1).pop().unwrap()
    };
    assert_eq!(
        ["6303 800100", "6309 800100 be04 28020500", "6403 800101"].map(released),
        [
            "aborted: association control: the peer broke the protocol: RLRE where none can be (octets 63 03 ...)",
            "aborted: association control: the peer broke the protocol: RLRE: EXTERNAL encoding: NULL where [0] single, [1] octet-aligned or [2] arbitrary is expected (octets 63 09 ...)",
            "aborted: association control: the peer broke the protocol: ABRT where none can be (octets 64 03 ...)",
        ]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn whatever_stands_in_cn_is_offered_or_refused(
        at in any::<proptest::sample::Index>(),
        octet in any::<u8>(),
    ) {
        let sent = isode('>');
        let mut cn = sent[1].clone();
        // Session and what is above it.
        let place = 7 + at.index(cn.len() - 7);
        cn[place] = octet;
        let mut pair = Pair::new(true);
        pair.listen(association(&SPOKEN));
        pair.join();
        let [_, b] = pair.devices;
        pair.bench.octets(b, &sent[0]);
        pair.heard(1);
        pair.bench.sent_octets();
        pair.bench.octets(b, &cn);
        let heard = pair.heard(1);
        let answered = pair.bench.sent_octets();
        // RF or AB, or OA where more was promised.
        let refused = answered.iter().any(|tpkt| matches!(tpkt.get(7), Some(0x0c | 0x19 | 0x10)));
        let offered = heard.iter().any(|heard| heard.starts_with("offered"));
        // AB where CN is waited for ends the transport connection without an answer (X.225, state 01C).
        let is_abort = place == 7 && octet == 0x19;
        prop_assert!(offered != (refused || is_abort), "{place} {octet:#x}: {heard:?} {answered:x?}");
        prop_assert!(!is_abort || answered.is_empty(), "{answered:x?}");
    }

    #[test]
    fn whatever_stands_in_an_apdu_of_release_or_abort_is_taken_or_ends_the_association(
        at in any::<proptest::sample::Index>(),
        octet in any::<u8>(),
    ) {
        let release = hex("09 1e 110101 c119 6117 3015 020105 a010 620e 800100 be09 2807 020101 a002a200");
        let abort = hex("19 15 11010b c110 a00e 610c 300a 020105 a005 6403800100");
        for mut tsdu in [release, abort] {
            let place = at.index(tsdu.len());
            tsdu[place] = octet;
            let mut pair = Pair::new(true);
            stand(&mut pair);
            pair.inject(1, &tsdu);
            let heard = pair.heard(1);
            let sent = pair.bench.sent_octets();
            let broken = heard.iter().any(|heard| heard.contains(": the peer broke the protocol: "));
            let abort = sent.iter().any(|tpkt| tpkt.get(7) == Some(&0x19));
            prop_assert_eq!(broken, abort, "{:x?} {:?} {:x?}", tsdu, heard, sent);
        }
    }
}
