//! What a peer must not say.

use kumiki_graph::Parameters;
use kumiki_graph::{Indication, Open, Request};
use kumiki_octets::Message;
use kumiki_osi_service::ftam::file::OpenResponse;
use kumiki_osi_service::ftam::regime::InitializeRequest;
use kumiki_osi_service::ftam::{Fpdu, Kind, Password, oids};
use kumiki_osi_service::presentation::Context;
use kumiki_osi_service::{Association, layer};
use kumiki_wire::files::ftam::{emit, parse_all};
use kumiki_wire::osi::presentation::{Pdv, UserData};
use proptest::prelude::*;

use super::pair::{CALLER, I, Pair, R, plain};
use crate::ftam::Config;
use kumiki_testkit::bench::{assert_violation, hex};

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

    /// Both sides have heard of an abort of `user`'s machine, for an error of this number, and that one's user reads
    /// how its peer broke the protocol: all of that behind "broke the protocol" is given.
    #[track_caller]
    fn failed(&mut self, user: usize, number: u16) -> String {
        self.exchange();
        let told = self.node(user).refusal().unwrap().to_string();
        assert_eq!(self.heard(user), ["F-P-ABORT request", &format!("aborted: {told}")]);
        let theirs = format!("aborted: file service: error {number}");
        assert_eq!(self.heard(1 - user), ["F-P-ABORT request", &theirs]);
        assert_eq!(self.node(user).counters().errors, 1);
        told.strip_prefix("FTAM: the peer broke the protocol: ").unwrap().to_owned()
    }
}

/// Whether a user has heard that its peer broke the protocol, how, and by a value that begins so.
fn is_broken(heard: &[String], value: &[u8]) -> bool {
    let begins = format!(" (octets {:02x}", value[0]);
    let how =
        |told: &str| told.strip_prefix("aborted: FTAM: the peer broke the protocol: ").and_then(|it| it.find(&begins));
    matches!(heard, [abort, told] if abort == "F-P-ABORT request" && how(told) > Some(10))
}

#[test]
fn an_fpdu_at_the_wrong_time_ends_the_association() {
    let told = [
        (R, Kind::ReadRequest, 1008),
        (R, Kind::DeselectRequest, 1008),
        (I, Kind::SelectRequest, 1008),
        (I, Kind::SelectResponse, 1008),
        // These ride on association control.
        (R, Kind::TerminateRequest, 1007),
        (R, Kind::InitializeRequest, 1007),
        (R, Kind::ProviderAbort, 1007),
    ]
    .map(|(user, kind, number)| {
        let mut pair = Pair::stands(&Config::default());
        pair.heard(R);
        pair.inject(user, &[(1, &emit(&plain(kind)))]);
        pair.failed(user, number)
    });
    assert_eq!(
        told,
        [
            "F-READ request when the state is Initialized (octets bf 20 0a ...)",
            "F-DESELECT request when the state is Initialized (octets a8 00)",
            "F-SELECT request when the state is Initialized (octets a6 07 ...)",
            "F-SELECT response without a request (octets a7 04 ...)",
            "F-TERMINATE request as data (octets a2 00)",
            "F-INITIALIZE request as data (octets a0 06 ...)",
            "F-P-ABORT request as data (octets a5 00)",
        ]
    );
}

#[test]
fn data_where_none_belongs_ends_the_association() {
    let open = || {
        let mut pair = Pair::open(&Config::default(), &OpenResponse::default());
        pair.plain(I, Kind::WriteRequest);
        pair.heard(R);
        pair
    };
    let mut told = Vec::new();
    // Nothing is transferred.
    let mut pair = Pair::stands(&Config::default());
    pair.heard(R);
    pair.inject(R, &[(3, &hex("040161"))]);
    told.push(pair.failed(R, 1008));
    // From the wrong side.
    let mut pair = open();
    pair.inject(I, &[(3, &hex("040161"))]);
    told.push(pair.failed(I, 1008));
    // Text in a binary file; what is none; and too much at once.
    let mut pair = open();
    pair.inject(R, &[(5, &hex("1b0161"))]);
    told.push(pair.failed(R, 1007));
    let mut pair = open();
    pair.inject(R, &[(3, &hex("1b0161"))]);
    told.push(pair.failed(R, 1010));
    let config = Config { values: 8, ..Config::default() };
    let mut pair = Pair::open(&config, &OpenResponse::default());
    pair.plain(I, Kind::WriteRequest);
    pair.heard(R);
    let octets = hex("040161");
    let many = vec![(3, &octets[..]); 9];
    pair.inject(R, &many);
    told.push(pair.failed(R, 1007));
    // What is in it is a file's, and not shown.
    assert_eq!(
        told,
        [
            "data when the state is Initialized (octets 04 01 ...)",
            "data when the state is Writing (octets 04 01 ...)",
            "data in a context that is not the document's (octets 1b 01 ...)",
            "FTAM data: data element: GeneralString where OCTET STRING is expected (octets 1b 01 ...)",
            "9 values at once, of 8 at most",
        ]
    );
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

/// A caller's FPDU may have a password in it: what its user, our log and the caller are told names the field, and shows
/// the header.
#[test]
fn a_caller_that_begins_wrongly_is_told_of_to_the_log_and_to_itself() {
    let mut request =
        InitializeRequest { filestore_password: Some(Password::Text("secret".into())), ..InitializeRequest::default() };
    request.initiator_identity = Some("alice".into());
    let good = emit(&Fpdu::InitializeRequest(Box::new(request)));
    // The first field has a length that there is not.
    let mut bad = good.clone();
    bad[3] = 0xff;
    let header = format!("{:02x} {:02x} ...", bad[0], bad[1]);
    let reserved = "ff, more than 8 octets of length, or an indefinite one without elements inside";
    for (data, number, how) in [
        (bad, 1010, format!("F-INITIALIZE request: field: no length: {reserved} (octets {header})")),
        (
            emit(&plain(Kind::SelectRequest)),
            1007,
            "F-SELECT request to begin with, expected F-INITIALIZE request (octets a6 07 ...)".to_owned(),
        ),
    ] {
        let mut hand = None;
        let mut pair = Pair::beside(&Config::default(), |bench| hand = Some(bench.user("hand", "acse a", &[])));
        let hand = hand.unwrap();
        let association = Association {
            contexts: vec![Context::basic(1, oids::PCI)],
            application_context: Some(oids::APPLICATION_CONTEXT),
            ..Association::default()
        };
        let data = Some(Message::from_octets(&data));
        let open = Open { user: CALLER, parameters: Parameters::of(association), data, ..Open::default() };
        pair.bench.say(hand, Request::Open(Box::new(open)));
        let [a, b] = pair.devices;
        pair.bench.join(a, b);
        pair.exchange();
        let heard = pair.bench.heard(hand);
        let [Indication::Aborted { data: Some(data), .. }] = &heard[..] else { panic!("{heard:?}") };
        let Ok([Fpdu::InitializeResponse(response)]) = <[Fpdu; 1]>::try_from(parse_all(data).unwrap()) else {
            panic!("an F-INITIALIZE response")
        };
        let [diagnostic] = &response.diagnostic[..] else { panic!("{response:?}") };
        let details = diagnostic.further_details.as_ref().unwrap().to_string();
        assert_eq!((diagnostic.error_identifier, how.starts_with(&details)), (number, true), "{details}");
        let ftam = pair.node(R);
        assert_eq!((ftam.counters().errors, ftam.counters().refused), (1, 0));
        assert_violation(ftam.refusal(), layer::FTAM, &how);
    }
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
            prop_assert!(is_broken(&heard, &octets), "{:?}", heard);
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
