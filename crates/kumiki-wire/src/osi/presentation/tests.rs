//! The PPDUs of an ISODE association and of libiec61850; all others both ways.

use kumiki_octets::Page;
use kumiki_osi_service::presentation::BASIC_ENCODING_RULES;
use proptest::prelude::*;
use smallvec::smallvec;

use super::*;
use crate::osi::session::{self, Spdu};

const ISODE: &str = include_str!("../../../tests/exchanges/isode-ftam.txt");

fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    digits
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn message(text: &str) -> Message {
    Message::from_octets(&hex(text))
}

/// The SPDUs of the association's TPKTs that carry DT, in order.
pub(crate) fn isode() -> Vec<Spdu> {
    ISODE
        .lines()
        .filter_map(|line| line.strip_prefix(['>', '<']))
        .map(hex)
        .filter(|tpkt| tpkt[5] == 0xf0)
        .flat_map(|tpkt| session::parse(Message::from_octets(&tpkt[7..])).unwrap())
        .collect()
}

fn data(spdu: &Spdu) -> Message {
    let data = if let Spdu::Connect(connection) | Spdu::Accept(connection) = spdu {
        &connection.data
    } else if let Spdu::Data(data) | Spdu::Disconnect(data) = spdu {
        data
    } else if let Spdu::Finish(finish) = spdu {
        &finish.data
    } else {
        panic!("{spdu}");
    };
    data.data.clone().unwrap()
}

#[test]
fn cp_and_cpa_of_an_isode_association_are_read() {
    let spdus = isode();
    let cp = Connect::parse(data(&spdus[0])).unwrap();
    let ids: Vec<_> = cp.contexts.iter().map(|context| context.id).collect();
    assert_eq!(ids, [1, 3, 5, 7, 9, 11]);
    assert_eq!(cp.contexts[1], Context::basic(3, Oid::of(&[1, 0, 8571, 2, 4])));
    assert_eq!(cp.to_string(), "CP contexts 6 context 11 data 96");
    // What we write of it is shorter: its outer lengths are indefinite there.
    let (there, here) = (data(&spdus[0]).len(), cp.clone().emit());
    assert_eq!((there, here.len()), (228, 226));
    assert_eq!(Connect::parse(here), Ok(cp));

    let cpa = Accept::parse(data(&spdus[1])).unwrap();
    let accepted = ContextResult::Accepted(Some(BASIC_ENCODING_RULES));
    assert_eq!(cpa.results, [accepted, accepted, accepted, accepted, ContextResult::RefusedByUser, accepted]);
    assert_eq!(Accept::parse(cpa.clone().emit()), Ok(cpa));
}

#[test]
fn every_value_of_an_isode_association_is_found() {
    let spdus = isode();
    let contexts: Vec<_> = spdus[2..]
        .iter()
        .map(|spdu| {
            let values = UserData::parse(data(spdu)).unwrap().into_values(1).unwrap();
            values.iter().map(|value| (value.context, value.data.to_vec()[0])).collect::<Vec<_>>()
        })
        .collect();
    // F-BEGIN-GROUP, F-CREATE, F-OPEN, F-END-GROUP are four values in one octet-aligned PDV-list.
    assert_eq!(contexts[0], [(1, 0xb6), (1, 0xaa), (1, 0xb2), (1, 0xb8)]);
    assert_eq!(contexts[2], [(1, 0xbf)]);
    // The file: OCTET STRINGs in the context of binary files.
    assert_eq!((&contexts[3][..], &contexts[4][..]), (&[(3, 4)][..], &[(3, 4)][..]));
    // RLRQ and RLRE.
    assert_eq!(contexts[contexts.len() - 2..], [vec![(11, 0x62)], vec![(11, 0x63)]]);
}

#[test]
fn data_costs_its_headers_and_is_not_copied() {
    let data = UserData::single(3, Message::from_octets(&[0x55; 8000])).emit();
    // 61 82, 30 82, 02 01 03, a0 82.
    assert_eq!(data.len(), 8000 + 4 + 4 + 3 + 4);
    let why = UserData::parse(data).unwrap_err();
    // What is not one element is no single value.
    assert!(why.to_string().contains("single-ASN1-type"), "{why}");

    let page = Page::copied(&hex(&("04 82 1f40".to_owned() + &"55".repeat(8000))), 1);
    let held = page.octets().as_ptr();
    let data = UserData::single(3, Message::from_page(page)).emit();
    let values = UserData::parse(data).unwrap().into_values(1).unwrap();
    let [value] = &values[..] else {
        panic!("{values:?}");
    };
    assert_eq!(value.data.slices()[0].octets().unwrap().as_ptr(), held);
}

#[test]
fn simple_data_and_bits_are_read_and_written() {
    let simple = UserData::parse(message("40 03 020107")).unwrap();
    assert_eq!(simple.clone().emit().to_vec(), hex("40 03 020107"));
    let values = simple.into_values(5).unwrap();
    assert_eq!((values[0].context, values[0].data.to_vec()), (5, hex("020107")));

    let bits = "61 10 30 0e 06 02 5101 02 01 03 82 05 00 02 02 0107";
    let bits = UserData::parse(message(bits)).unwrap();
    let UserData::Full(pdvs) = &bits else {
        panic!("{bits}");
    };
    assert_eq!(pdvs[0].form, Form::Arbitrary(0));
    assert_eq!(pdvs[0].transfer_syntax, Some(BASIC_ENCODING_RULES));
    assert_eq!(bits.clone().emit().to_vec(), hex("61 10 30 0e 06 02 5101 02 01 03 82 05 00 02 02 0107"));

    // One PDV-list for each, all in one PPDU: what TELEXFER does, and we.
    let two = UserData::of(smallvec![
        kumiki_osi_service::presentation::Value { context: 1, data: message("b6 00") },
        kumiki_osi_service::presentation::Value { context: 3, data: message("05 00") },
    ]);
    let octets = two.clone().emit();
    assert_eq!(octets.to_vec(), hex("61 12 3007 020101 a002 b600 3007 020103 a002 0500"));
    assert_eq!(UserData::parse(octets), Ok(two));
}

#[test]
fn aborts_refusals_and_other_contexts_are_read_and_written() {
    // libiec61850.
    let octets = hex("a0 0e 61 0c 30 0a 02 01 01 a0 05 64 03 80 01 00");
    let abort = Abort::parse(Message::from_octets(&octets)).unwrap();
    assert_eq!(abort.to_string(), "ARU context 1 data 5");
    assert_eq!(abort.emit().to_vec(), octets);

    let octets = hex("30 06 80 01 02 81 01 06");
    let abort = Abort::parse(Message::from_octets(&octets)).unwrap();
    assert_eq!(abort.to_string(), "ARP a PPDU at the wrong time");
    assert_eq!(abort.emit().to_vec(), octets);

    let octets = hex("30 10 83 01 07 a5 08 3006 80 01 02 82 01 03 8a 01 03");
    let mut cut = octets.clone();
    cut[1] = 16;
    let refuse = Refuse::parse(Message::from_octets(&cut)).unwrap();
    assert_eq!(refuse.to_string(), "CPR called presentation address unknown");
    assert_eq!(refuse.results, [ContextResult::RefusedByProvider(Some(3))]);
    assert_eq!(refuse.emit().to_vec(), cut);

    let alter = Typed::Alter(Alter {
        additions: vec![Context::basic(13, Oid::of(&[1, 0, 8571, 2, 5]))],
        deletions: vec![5],
        data: None,
    });
    assert_eq!(alter.to_string(), "AC additions 1 deletions 1");
    assert_eq!(Typed::parse(alter.clone().emit()), Ok(alter));
    let ack = Typed::AlterAck(AlterAck {
        additions: vec![ContextResult::Accepted(None)],
        deletions: vec![true, false],
        data: Some(UserData::single(1, message("0500"))),
    });
    assert_eq!(Typed::parse(ack.clone().emit()), Ok(ack));
    let typed = Typed::Data(UserData::single(1, message("0500")));
    assert_eq!(Typed::parse(typed.clone().emit()), Ok(typed));
    let resync = Resync {
        contexts: vec![IdentifiedContext { id: 1, transfer_syntax: BASIC_ENCODING_RULES }],
        data: Some(UserData::single(1, message("0500"))),
    };
    assert_eq!(Resync::parse(resync.clone().emit()), Ok(resync));
}

#[test]
fn what_is_wrong_is_named() {
    let cp = |octets: &str| Connect::parse(message(octets)).unwrap_err().to_string();
    for (octets, text) in [
        ("", "CP: CP: missing, SET is expected"),
        ("30 00", "CP: CP: SEQUENCE where SET is expected"),
        ("31 00", "CP: mode-selector: missing, [0] is expected"),
        ("31 05 a0 03 80 01 00", "CP: mode-selector: 0, expected 1 (normal mode; X.410 mode is not spoken here)"),
        ("31 05 a0 03 80 01 01", "CP: normal-mode-parameters: missing, [2] is expected"),
        ("31 0b a0 03 80 01 01 a2 04 80 02 06 40", "CP: protocol-version is 0x2, expected bit 0: version 1"),
        (
            "31 1a a0 03 80 01 01 a2 13 a4 11 30 0f 02 01 01 06 02 5101 30 06 06 01 80 06 01 51",
            "CP: transfer-syntax-name-list: an arc that does not end, has a leading zero, or is larger than 64 bits",
        ),
        (
            "31 14 a0 03 80 01 01 a2 0d a4 0b 30 09 02 01 01 06 02 5101 30 00",
            "CP: transfer-syntax-name-list: missing, OBJECT IDENTIFIER is expected",
        ),
        (
            "31 0d a0 03 80 01 01 a2 06 61 04 30 02 05 00",
            "User-data: presentation-context-identifier: NULL where INTEGER is expected",
        ),
    ] {
        assert_eq!(cp(octets), text);
    }
    let long = format!("31 2a a0 03 80 01 01 a2 23 82 21 {}", "00".repeat(33));
    assert_eq!(cp(&long), "CP: called-presentation-selector: 33 octets of content, expected 0 to 32");
    let many = hex(&"3003 020101".repeat(MOST_VALUES + 1));
    let mut many = Message::from_octets(&many);
    push::constructed(&mut many, Tag::application(1));
    let why = UserData::parse(many).unwrap_err();
    assert_eq!(why.to_string(), "User-data: presentation-data-values: missing, [0] is expected");
    let aru = Abort::parse(message("31 00")).unwrap_err();
    assert_eq!(
        aru.to_string(),
        "PPDU: PPDU of an abort: SET where [0] (ARU, normal mode) or SEQUENCE (ARP) is expected"
    );
}

#[test]
fn lists_have_an_end() {
    let contexts: Vec<_> = (0..200).map(|id| Context::basic(id, Oid::of(&[1, 1]))).collect();
    let connect = |count: usize| Connect { contexts: contexts[..count].to_vec(), ..Connect::default() };
    assert!(Connect::parse(connect(MOST_CONTEXTS).emit()).is_ok());
    let why = Connect::parse(connect(MOST_CONTEXTS + 1).emit()).unwrap_err();
    assert_eq!(why.to_string(), "CP: presentation-context-definition-list: 129 octets of content, expected 0 to 128");
    let values = UserData::of(
        (0..=MOST_VALUES)
            .map(|_| kumiki_osi_service::presentation::Value { context: 1, data: message("0500") })
            .collect(),
    );
    let why = UserData::parse(values.emit()).unwrap_err();
    assert_eq!(why.to_string(), "User-data: values is 4097 octets, expected 0 to 4096");
}

fn oids() -> impl Strategy<Value = Oid> {
    proptest::collection::vec(0_u64..70_000, 0..5)
        .prop_map(|arcs| Oid::from_arcs(&[vec![1, 3], arcs].concat()).unwrap())
}

fn selectors() -> impl Strategy<Value = Option<Selector>> {
    proptest::option::of(
        proptest::collection::vec(any::<u8>(), 0..=32).prop_map(|octets| Selector::new(&octets).unwrap()),
    )
}

fn user_data() -> impl Strategy<Value = Option<UserData>> {
    let pdv = (-1000_i64..1000, proptest::option::of(oids()), 0_u8..10, proptest::collection::vec(any::<u8>(), 1..300))
        .prop_map(|(context, transfer_syntax, form, octets)| {
            let mut data = Message::from_octets(&octets);
            let form = match form {
                0 => Form::OctetAligned,
                1..8 => Form::Arbitrary(form),
                _ => {
                    push::primitive(&mut data, Tag::OCTET_STRING);
                    Form::Single
                }
            };
            Pdv { context, transfer_syntax, form, data }
        });
    proptest::option::of(prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..200)
            .prop_map(|octets| UserData::Simple(Message::from_octets(&octets))),
        proptest::collection::vec(pdv, 0..4).prop_map(|pdvs| UserData::Full(pdvs.into())),
    ])
}

prop_compose! {
    fn connects()(
        (calling, called) in (selectors(), selectors()),
        contexts in proptest::collection::vec((any::<i64>(), oids(), proptest::collection::vec(oids(), 1..4)), 0..6),
        default_context in proptest::option::of((oids(), oids())),
        requirements in 0_u32..4,
        session in proptest::option::of((0_u16..0x2000).prop_map(FunctionalUnits)),
        data in user_data(),
    ) -> Connect {
        let contexts = contexts
            .into_iter()
            .map(|(id, abstract_syntax, syntaxes)| Context { id, abstract_syntax, transfer_syntaxes: syntaxes.into() })
            .collect();
        Connect { calling, called, contexts, default_context, requirements, session, data }
    }
}

fn results() -> impl Strategy<Value = Vec<ContextResult>> {
    let result = prop_oneof![
        proptest::option::of(oids()).prop_map(ContextResult::Accepted),
        Just(ContextResult::RefusedByUser),
        proptest::option::of(any::<u8>()).prop_map(ContextResult::RefusedByProvider),
    ];
    proptest::collection::vec(result, 0..6)
}

proptest! {
    #[test]
    fn whatever_is_written_is_read(
        connect in connects(),
        (responding, results, reason) in (selectors(), results(), proptest::option::of(any::<u8>())),
        data in user_data(),
    ) {
        prop_assert_eq!(Connect::parse(connect.clone().emit()), Ok(connect.clone()));
        let accept = Accept {
            responding,
            results: results.clone(),
            requirements: connect.requirements,
            session: connect.session,
            data: data.clone(),
        };
        prop_assert_eq!(Accept::parse(accept.clone().emit()), Ok(accept));
        let refuse = Refuse { responding, results, default_context: reason, reason, data: data.clone() };
        prop_assert_eq!(Refuse::parse(refuse.clone().emit()), Ok(refuse));
        let abort = Abort::User { contexts: Vec::new(), data: data.clone() };
        prop_assert_eq!(Abort::parse(abort.clone().emit()), Ok(abort));
        let abort = Abort::Provider { reason, event: reason };
        prop_assert_eq!(Abort::parse(abort.clone().emit()), Ok(abort));
        let resync = Resync { contexts: Vec::new(), data };
        prop_assert_eq!(Resync::parse(resync.clone().emit()), Ok(resync));
    }

    #[test]
    fn any_octets_are_read_or_refused(
        octets in proptest::collection::vec(any::<u8>(), 0..60),
        first in proptest::sample::select(vec![0x31_u8, 0x30, 0xa0, 0xa1, 0x40, 0x61, 0xa2]),
        which in 0_usize..20,
        at in any::<proptest::sample::Index>(),
        octet in any::<u8>(),
    ) {
        let len = u8::try_from(octets.len()).unwrap();
        let framed = [&[first, len][..], &octets].concat();
        let mut spoilt = data(&isode()[which]).to_vec();
        let place = at.index(spoilt.len());
        spoilt[place] = octet;
        for octets in [octets, framed, spoilt] {
            let message = Message::from_octets(&octets);
            let _ = Connect::parse(message.clone()).map(|read| read.to_string());
            let _ = Accept::parse(message.clone()).map(|read| read.to_string());
            let _ = Refuse::parse(message.clone()).map(|read| read.to_string());
            let _ = Abort::parse(message.clone()).map(|read| read.to_string());
            let _ = Typed::parse(message.clone()).map(|read| read.to_string());
            let _ = Resync::parse(message.clone()).map(|read| read.to_string());
            let _ = UserData::parse(message).and_then(|data| data.into_values(1));
        }
    }
}
