//! Whole associations, as ISODE has them.

use kumiki_graph::{Indication, Reason};
use kumiki_octets::Message;
use kumiki_osi_service::Association;
use kumiki_osi_service::OsiCause;
use kumiki_osi_service::ftam::file::SelectResponse;
use kumiki_osi_service::ftam::regime::{InitializeRequest, InitializeResponse};
use kumiki_osi_service::ftam::{
    ActionResult, Diagnostic, DiagnosticType, Entity, Fpdu, FunctionalUnits, Kind, Primitive, ServiceClasses,
    StateResult,
};
use kumiki_wire::files::ftam::{emit, parse, parse_all};
use kumiki_wire::osi::presentation::UserData;

use super::pair::{I, Pair, R, plain};
use crate::ftam::Config;
use kumiki_testkit::bench::hex;

/// ISODE 8 on both sides, TPKTs: a file of 3000 octets is put and got.
const ISODE: &str = include_str!("../../../../kumiki-wire/tests/exchanges/isode-ftam.txt");

fn isode(side: char) -> Vec<Vec<u8>> {
    let lines = ISODE.lines().filter_map(|line| line.strip_prefix(side));
    lines.map(hex).collect()
}

/// The values of a P-DATA in a TPKT: context and octets.
fn values(tpkt: &[u8]) -> Vec<(i64, Vec<u8>)> {
    assert_eq!(tpkt[7..11], [1, 0, 1, 0]);
    let data = UserData::parse(Message::from_octets(&tpkt[11..])).unwrap();
    let values = data.into_values(0).unwrap().into_iter();
    values.map(|it| (it.context, it.data.to_vec())).collect()
}

fn fpdus(tpkt: &[u8]) -> Vec<Fpdu> {
    let pci = values(tpkt).into_iter().filter(|(context, _)| *context == 1);
    pci.flat_map(|(_, octets)| parse_all(&Message::from_octets(&octets)).unwrap()).collect()
}

/// The octets that stand somewhere in another.
fn has(whole: &[u8], part: &[u8]) -> bool {
    whole.windows(part.len()).any(|it| it == part)
}

/// F-INITIALIZE, as it stands in ISODE's CN and AC.
const REQUEST: &str =
    "a03e8302047084020037850207808601 00a71d4e0528c27b05034e0528c27b05014e052b0e0505094e062bce0f010509
    56046674616d 7108 0406736563726574";
const RESPONSE: &str = "a1268302041084020037850207808601 00a7154e0528c27b05034e0528c27b05014e052b0e050509";

fn request() -> InitializeRequest {
    InitializeRequest {
        initiator_identity: Some("ftam".into()),
        filestore_password: Some(kumiki_osi_service::ftam::Password::Octets(b"secret".to_vec())),
        ..InitializeRequest::default()
    }
}

#[test]
fn an_association_of_isode_goes_over_our_stack_fpdu_for_fpdu() {
    let [asked, answered] = [isode('>'), isode('<')];
    assert!(has(&asked[1], &hex(REQUEST)));
    // What the user leaves out is what ISODE asks for.
    let mut pair = Pair::called(&Config::default(), Some(request()));
    let mut offered = pair.offered();
    let seen = offered.parameters.take::<Association>().unwrap().initialize.unwrap();
    assert_eq!(emit(&seen), hex(REQUEST));
    let Fpdu::InitializeResponse(response) = parse(&hex(RESPONSE)).unwrap() else {
        panic!("no response");
    };
    pair.accept(Some(*response));
    assert!(has(&pair.exchange().concat(), &hex(RESPONSE)));
    let opened = pair.opened().parameters.take::<Association>().unwrap();
    assert_eq!(emit(&opened.initialize.clone().unwrap()), hex(RESPONSE));
    let ids: Vec<_> = opened.standing().map(|it| it.id).collect();
    assert_eq!(ids, [1, 3, 5, 7, 9, 11]);

    // CREATE and OPEN: one P-DATA, with a value for each FPDU.
    let content: Vec<Vec<u8>> = [&asked[4], &asked[5]].map(|it| values(it)[0].1.clone()).into();
    let both = |pair: &mut Pair, user: usize, tpkt: &[u8]| {
        for fpdu in fpdus(tpkt) {
            pair.tell(user, fpdu);
        }
        let seen = pair.exchange();
        assert_eq!(seen.len(), 1);
        assert_eq!(fpdus(&seen[0]), fpdus(tpkt));
        let kinds = fpdus(tpkt).into_iter().map(|it| it.kind().to_string());
        assert_eq!(pair.heard(1 - user), kinds.collect::<Vec<_>>());
    };
    both(&mut pair, I, &asked[2]);
    both(&mut pair, R, &answered[2]);
    both(&mut pair, I, &asked[3]);
    for one in &content {
        assert_eq!(one[..2], [0x04, 0x82]);
        pair.take_credit(I);
        assert!(pair.send(I, Message::from_octets(&one[4..])));
        let seen = pair.exchange();
        assert_eq!(values(&seen[0]), [(3, one.clone())]);
    }
    assert_eq!(pair.heard(R), ["2015 octets", "985 octets"]);
    let whole: Vec<u8> = content.iter().flat_map(|it| it[4..].to_vec()).collect();
    assert_eq!(pair.content[R].to_vec(), whole);
    // DATA-END and TRANSFER-END: each by itself, also where they leave at the same time.
    for tpkt in &asked[6..8] {
        pair.tell(I, fpdus(tpkt).remove(0));
    }
    let seen: Vec<_> = pair.exchange().iter().map(|it| values(it)).collect();
    let ends = ["bf2200", "bf2300"].map(|it| vec![(1, hex(it))]);
    assert_eq!(seen, ends);
    let ends = ["F-DATA-END request", "F-TRANSFER-END request"];
    assert_eq!(pair.heard(R), ends);
    both(&mut pair, R, &answered[3]);
    both(&mut pair, I, &asked[8]);
    both(&mut pair, R, &answered[4]);

    // And back.
    both(&mut pair, I, &asked[9]);
    both(&mut pair, R, &answered[5]);
    both(&mut pair, I, &asked[10]);
    for one in &content {
        pair.take_credit(R);
        assert!(pair.send(R, Message::from_octets(&one[4..])));
        pair.exchange();
    }
    assert_eq!(pair.heard(I), ["2015 octets", "985 octets"]);
    both(&mut pair, R, &answered[8]);
    assert_eq!(pair.content[I].to_vec(), whole);
    both(&mut pair, I, &asked[11]);
    both(&mut pair, R, &answered[9]);
    both(&mut pair, I, &asked[12]);
    both(&mut pair, R, &answered[10]);
    pair.tell(I, plain(Kind::TerminateRequest));
    assert!(has(&pair.exchange().concat(), &hex("a200")));
    assert_eq!(pair.heard(R), ["F-TERMINATE request"]);
    pair.tell(R, plain(Kind::TerminateResponse));
    assert!(has(&pair.exchange().concat(), &hex("a300")));
    assert_eq!(pair.heard(I), ["F-TERMINATE response", "closed"]);
    assert_eq!(pair.heard(R), ["closed"]);
    assert_eq!(pair.node(I).counters().errors, 0);
}

/// The initiator's TPKTs of the capture are given to our responder, and its user answers as ISODE's does.
#[test]
fn isodes_initiator_is_served() {
    let [asked, answered] = [isode('>'), isode('<')];
    let mut pair = Pair::listening();
    for tpkt in &asked[..2] {
        pair.bench.octets(pair.devices[R], tpkt);
    }
    let mut offered = pair.offered();
    let seen = offered.parameters.take::<Association>().unwrap();
    assert_eq!(emit(&seen.initialize.unwrap()), hex(REQUEST));
    let Fpdu::InitializeResponse(response) = parse(&hex(RESPONSE)).unwrap() else {
        panic!("no response");
    };
    pair.accept(Some(*response));
    let mut heard = Vec::new();
    let mut answers = answered[2..].iter().map(|tpkt| if tpkt[7] == 1 { fpdus(tpkt) } else { Vec::new() });
    for tpkt in &asked[2..asked.len() - 2] {
        pair.bench.octets(pair.devices[R], tpkt);
        let now = pair.heard(R);
        let waits =
            now.iter().any(|it| it.contains("END-GROUP") || it.contains("TRANSFER-END") || it.contains("F-READ "));
        heard.extend(now);
        if waits {
            // Data of ISODE's responder is left out.
            for fpdu in answers.by_ref().find(|it| !it.is_empty()).unwrap() {
                pair.tell(R, fpdu);
            }
        }
    }
    pair.bench.octets(pair.devices[R], &asked[asked.len() - 2]);
    heard.extend(pair.heard(R));
    let put = [
        "F-BEGIN-GROUP request",
        "F-CREATE request",
        "F-OPEN request",
        "F-END-GROUP request",
        "F-WRITE request",
        "2015 octets",
        "985 octets",
        "F-DATA-END request",
        "F-TRANSFER-END request",
    ];
    assert_eq!(heard[..put.len()], put);
    assert_eq!(heard.last().unwrap(), "F-TERMINATE request");
    assert_eq!(pair.content[R].len(), 3000);
    assert_eq!(pair.node(R).counters().errors, 0);
}

#[test]
fn a_refused_login_tells_the_caller_why() {
    let mut pair = Pair::called(&Config::default(), Some(request()));
    pair.offered();
    let response = InitializeResponse {
        state_result: StateResult::Failure,
        action_result: ActionResult::PermanentError,
        diagnostic: vec![
            Diagnostic { error_identifier: 6, ..Diagnostic::default() },
            Diagnostic {
                diagnostic_type: DiagnosticType::Permanent,
                error_identifier: 2020,
                error_observer: Entity::RespondingUser,
                error_source: Entity::InitiatingUser,
                ..Diagnostic::default()
            },
        ],
        ..InitializeResponse::default()
    };
    pair.accept(Some(response.clone()));
    pair.exchange();
    let heard = pair.bench.heard(pair.users[I]);
    let [Indication::Special { what, .. }, Indication::Aborted { reason, .. }] = &heard[..] else {
        panic!("{heard:?}");
    };
    let Some(Primitive::Pdu(Fpdu::InitializeResponse(seen))) = what.get() else {
        panic!("{what:?}");
    };
    assert_eq!(**seen, response);
    assert_eq!(*reason, Reason::peer(OsiCause::File { identifier: 2020 }));
    assert!(pair.heard(R).is_empty());
    assert_eq!(pair.node(R).counters().refused, 1);
}

#[test]
fn what_users_leave_out_is_agreed_on_and_no_more() {
    let mut pair = Pair::called(&Config::default(), None);
    pair.offered();
    pair.accept(Some(InitializeResponse {
        functional_units: FunctionalUnits::READ | FunctionalUnits::GROUPING | FunctionalUnits::RECOVERY,
        service_class: ServiceClasses::TRANSFER,
        ..InitializeResponse::default()
    }));
    pair.exchange();
    let opened = pair.opened().parameters.take::<Association>().unwrap();
    let Fpdu::InitializeResponse(response) = *opened.initialize.unwrap() else {
        panic!("no response");
    };
    let units = FunctionalUnits::READ | FunctionalUnits::GROUPING;
    assert_eq!(response.functional_units, units);
    // NBS-9 once, under its new name.
    assert_eq!(response.contents_type_list.len(), 3);
    // Writing was not agreed on: our own user does not get it through.
    pair.plain(I, Kind::WriteRequest);
    assert!(pair.heard(R).is_empty());
    assert_eq!(pair.bench.drops("ftam a", "an FPDU at the wrong time"), 1);
}

#[test]
fn a_user_that_does_not_answer_is_answered_for() {
    let config = Config::default();
    let mut pair = Pair::called(&config, None);
    pair.offered();
    pair.bench.pass(config.timeout);
    pair.exchange();
    let said = "aborted: file service: error 1013";
    assert_eq!(pair.heard(I), ["F-INITIALIZE response", said]);
    pair.accept(None);
    assert_eq!(pair.heard(R), ["aborted: there is no such session"], "an answer that comes too late");
}

#[test]
fn a_user_aborts_and_the_other_hears_its_fpdu() {
    for user in [I, R] {
        let mut pair = Pair::stands(&Config::default());
        let abort = kumiki_osi_service::ftam::regime::Abort {
            action_result: ActionResult::TransientError,
            diagnostic: vec![Diagnostic {
                diagnostic_type: DiagnosticType::Transient,
                error_identifier: 1014,
                ..Diagnostic::default()
            }],
        };
        pair.tell(user, Fpdu::UserAbort(Box::new(abort)));
        pair.exchange();
        let said = "aborted: file service: error 1014";
        assert_eq!(pair.heard(1 - user), ["F-U-ABORT request", said]);
        assert!(pair.heard(user).is_empty());
    }
}

#[test]
fn a_group_that_fails_ends_behind_the_failure() {
    let mut pair = Pair::stands(&Config::default());
    pair.group(I, [Kind::SelectRequest, Kind::OpenRequest].map(plain));
    pair.heard(R);
    let refused = Fpdu::SelectResponse(Box::new(SelectResponse {
        state_result: StateResult::Failure,
        action_result: ActionResult::PermanentError,
        ..SelectResponse::default()
    }));
    let seen = pair.answer_group(R, [refused]);
    assert_eq!(fpdus(&seen[0]).len(), 3);
    let members = ["F-BEGIN-GROUP response", "F-SELECT response", "F-END-GROUP response"];
    assert_eq!(pair.heard(I), members);
    // Nothing is selected, and another may be.
    pair.plain(I, Kind::SelectRequest);
    assert_eq!(pair.heard(R), ["F-SELECT request"]);
}
