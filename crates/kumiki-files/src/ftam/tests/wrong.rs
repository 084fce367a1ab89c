//! What a peer must not say.

use kumiki_octets::Message;
use kumiki_osi_service::ftam::Kind;
use kumiki_osi_service::ftam::file::OpenResponse;
use kumiki_wire::files::ftam::{emit, parse_all};
use kumiki_wire::osi::presentation::{Pdv, UserData};
use proptest::prelude::*;

use super::pair::{I, Pair, R, plain};
use crate::ftam::Config;
use kumiki_testkit::bench::hex;

impl Pair {
    /// A P-DATA that the peer of `user` has not sent.
    fn inject(&mut self, user: usize, values: &[(i64, &[u8])]) {
        let pdv = |(context, octets): &(i64, &[u8])| Pdv::single(*context, Message::from_octets(octets));
        let data = UserData::Full(values.iter().map(pdv).collect());
        let tsdu = [&[1, 0, 1, 0][..], &data.emit().to_vec()].concat();
        let len = u16::try_from(7 + tsdu.len()).unwrap().to_be_bytes();
        let header = [3, 0, len[0], len[1], 2, 0xf0, 0x80];
        let tpkt = [&header[..], &tsdu].concat();
        self.bench.octets(self.devices[user], &tpkt);
    }

    /// Both sides have heard of an abort of `user`'s machine, for an error of this number.
    #[track_caller]
    fn failed(&mut self, user: usize, number: u16) {
        self.exchange();
        let heard = self.heard(user);
        assert!(is_broken(&heard), "{heard:?}");
        let theirs = format!("aborted: file service: error {number}");
        assert_eq!(self.heard(1 - user), ["F-P-ABORT request", &theirs]);
        assert_eq!(self.node(user).counters().errors, 1);
    }
}

/// Whether a user has heard that its peer broke the protocol, and how.
fn is_broken(heard: &[String]) -> bool {
    let how = |told: &str| told.strip_prefix("aborted: FTAM: the peer broke the protocol: ").map(str::len);
    matches!(heard, [abort, told] if abort == "F-P-ABORT request" && how(told) > Some(10))
}

#[test]
fn an_fpdu_at_the_wrong_time_ends_the_association() {
    for (user, kind, number) in [
        (R, Kind::ReadRequest, 1008),
        (R, Kind::DeselectRequest, 1008),
        (I, Kind::SelectRequest, 1008),
        (I, Kind::SelectResponse, 1008),
        // These ride on association control.
        (R, Kind::TerminateRequest, 1007),
        (R, Kind::InitializeRequest, 1007),
        (R, Kind::ProviderAbort, 1007),
    ] {
        let mut pair = Pair::stands(&Config::default());
        pair.heard(R);
        pair.inject(user, &[(1, &emit(&plain(kind)))]);
        pair.failed(user, number);
    }
}

#[test]
fn data_where_none_belongs_ends_the_association() {
    let open = || {
        let mut pair = Pair::open(&Config::default(), &OpenResponse::default());
        pair.plain(I, Kind::WriteRequest);
        pair.heard(R);
        pair
    };
    // Nothing is transferred.
    let mut pair = Pair::stands(&Config::default());
    pair.heard(R);
    pair.inject(R, &[(3, &hex("040161"))]);
    pair.failed(R, 1008);
    // From the wrong side.
    let mut pair = open();
    pair.inject(I, &[(3, &hex("040161"))]);
    pair.failed(I, 1008);
    // Text in a binary file; what is none; and too much at once.
    let mut pair = open();
    pair.inject(R, &[(5, &hex("1b0161"))]);
    pair.failed(R, 1007);
    let mut pair = open();
    pair.inject(R, &[(3, &hex("1b0161"))]);
    pair.failed(R, 1010);
    let config = Config { values: 8, ..Config::default() };
    let mut pair = Pair::open(&config, &OpenResponse::default());
    pair.plain(I, Kind::WriteRequest);
    pair.heard(R);
    let octets = hex("040161");
    let many = vec![(3, &octets[..]); 9];
    pair.inject(R, &many);
    pair.failed(R, 1007);
}

#[test]
fn several_elements_in_one_p_data_take_credit_for_one() {
    let mut pair = Pair::open(&Config::default(), &OpenResponse::default());
    pair.plain(I, Kind::WriteRequest);
    pair.heard(R);
    let octets = hex("040161");
    for _ in 0..10 {
        pair.inject(R, &[(3, &octets), (3, &octets), (3, &octets)]);
        assert_eq!(pair.heard(R), ["1 octets"; 3]);
    }
    // With a string in pieces, of indefinite length.
    pair.inject(R, &[(3, &hex("2480 040161 040162 0000"))]);
    assert_eq!(pair.heard(R), ["2 octets"]);
    assert_eq!(pair.node(R).counters().data_received, 31);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_octets_for_an_fpdu_end_in_an_abort_of_ftam(
        octets in prop_oneof![
            prop::collection::vec(any::<u8>(), 2..60),
            (0_u8..31, prop::collection::vec(any::<u8>(), 0..8)).prop_map(|(tag, rest)| {
                let len = u8::try_from(rest.len()).unwrap();
                [&[0xa0 | tag, len][..], &rest].concat()
            }),
        ],
        user in 0_usize..2,
    ) {
        let mut pair = Pair::stands(&Config::default());
        pair.heard(R);
        pair.inject(user, &[(1, &octets)]);
        pair.exchange();
        let heard = pair.heard(user);
        let errors = pair.node(user).counters().errors;
        if parse_all(&Message::from_octets(&octets)).is_err() && errors == 1 {
            prop_assert!(is_broken(&heard), "{:?}", heard);
            let theirs = ["F-P-ABORT request", "aborted: file service: error 1010"];
            prop_assert_eq!(pair.heard(1 - user), theirs);
        } else {
            // Either presentation cannot take it for one value, or it is an FPDU.
            let aborted = heard.iter().any(|it| it.starts_with("aborted"));
            prop_assert!(aborted || errors == 0);
        }
    }
}

#[test]
fn a_peer_that_asks_and_does_not_take_the_answers_is_not_heard_any_more() {
    use kumiki_osi_service::ftam::file::ReadAttribResponse;
    use kumiki_osi_service::ftam::{Diagnostic, Fpdu};

    let mut pair = Pair::stands(&Config::default());
    pair.plain(I, Kind::SelectRequest);
    pair.plain(R, Kind::SelectResponse);
    pair.heard(R);
    // A long answer: the line takes a few of them.
    let said = Diagnostic { further_details: Some("x".repeat(60_000).as_str().into()), ..Diagnostic::default() };
    let answer = Fpdu::ReadAttribResponse(Box::new(ReadAttribResponse {
        diagnostic: vec![said],
        ..ReadAttribResponse::default()
    }));
    for _ in 0..500 {
        pair.inject(R, &[(1, &emit(&plain(Kind::ReadAttribRequest)))]);
        pair.tell(R, answer.clone());
    }
    let session = pair.sessions[R];
    let node = pair.nodes[R];
    let ftam = pair.bench.graph.protocol_mut::<crate::ftam::Ftam>(node);
    let connection = ftam.unwrap().connection(session).unwrap();
    let most = crate::ftam::connection::MOST_WAITING;
    // Presentation hands up what it has been granted before, and no more.
    assert!((most..=most + 4).contains(&connection.out.len()));
    assert_eq!(connection.owed, 4);
}
