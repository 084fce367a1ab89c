//! One end whose peer says what it likes.

use super::*;

/// What a caller's CP is answered with: the user data of the RF, or nothing where it is offered; and the reason that is
/// kept here.
fn refused(cp: &str) -> (Option<Vec<u8>>, String) {
    let mut pair = Pair::new(false);
    pair.listen(association(&[(1, A)]));
    pair.join();
    let [_, b] = pair.devices;
    pair.bench.octets(b, &hex("03000012 0d e0 0000 215f 00 c2 02 0103 c0 01 0b"));
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
        assert_eq!(pair.presentation(1).refusal(), None);
        return (None, String::new());
    };
    assert!(!offered);
    // RF, with reason 2: its data says why.
    let data = rf.windows(3).position(|it| it[0] == 0x32 && it[2] == 2);
    assert_eq!(rf[7], 0x0c);
    let said = Some(rf[data.unwrap() + 3..].to_vec());
    let told = pair.presentation(1).refusal();
    (said, told.unwrap().to_string())
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
        ("3112 a003800101 a20b 6109 3007 020101 a0020500", Some("3003 8a0106")),
        ("310b a003800101 a204 6102 0500", Some("3003 8a0106")),
        // A default context that nobody speaks.
        ("3112 a003800101 a20b a609 80032a0304 81025101", Some("3003 8a0105")),
        ("3107 a003800101 a200", None),
    ] {
        let (said, told) = refused(cp);
        assert_eq!(said, cpr.map(hex), "{cp}");
        let part = match cpr.map(|cpr| &cpr[9..]) {
            None => "",
            Some("00") => "the peer broke the protocol: CP: ",
            Some("04") => "protocol version not supported",
            Some("05") => "default context not supported",
            Some(_) => "the peer broke the protocol: ",
        };
        assert!(told.contains(part), "{cp}: {told}");
    }
    let (_, told) = refused("3112 a003800101 a20b 6109 3007 020101 a0020500");
    assert!(told.contains("a value in no context that was agreed on"), "{told}");
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
        let head = [&[0x31, len(9)][..], &hex("a003800101"), &[0xa2, len(2), 0xa5, len(0)]];
        [&head.concat()[..], &list].concat()
    };
    for (cpa, arp) in [
        // One result of two, three, a transfer syntax that was not proposed.
        (results("3007 800100 81025101"), "3006 800106 810101"),
        (results("3003 800101 3003 800101 3003 800101"), "3006 800106 810101"),
        (results("3007 800100 81025102 3003 800101"), "3006 800106 810101"),
        (results("3003 800109 3003 800101"), "3006 800101 810101"),
        (hex("0500"), "3006 800101 810101"),
    ] {
        let mut pair = calling();
        pair.inject(0, &ac(&cpa));
        let found = if arp.starts_with("3006 800101") { "CPA" } else { "a CPA PPDU with results for other contexts" };
        let told = format!("aborted: presentation: the peer broke the protocol: {found}");
        let heard = pair.heard(0).concat();
        assert!(heard.starts_with(&told), "{heard}");
        let sent = pair.bench.sent_octets();
        assert!(sent.last().unwrap().ends_with(&hex(arp)), "{sent:x?}");
    }
    // A syntax that is not named is the one that was proposed.
    let mut pair = calling();
    pair.inject(0, &ac(&results("3003 800100 3003 800102")));
    let association = pair.opened().parameters.take::<Association>().unwrap();
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
            let broken = heard.iter().any(|heard| heard.contains(": the peer broke the protocol: "));
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
