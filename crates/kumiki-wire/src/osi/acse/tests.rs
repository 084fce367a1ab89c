//! The APDUs of an ISODE association and of libiec61850; all fields both ways.

use kumiki_octets::Page;
use kumiki_osi_service::acse::{Credential, Title};
use proptest::prelude::*;

use super::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    digits
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// Both ways.
fn same(octets: &str, text: &str) -> Apdu {
    let octets = hex(octets);
    let apdu = Apdu::parse(Message::from_octets(&octets)).unwrap();
    assert_eq!(apdu.to_string(), text);
    assert_eq!(apdu.clone().emit().to_vec(), octets);
    apdu
}

const AARQ: &str = "60 5e a1 07 06 05 28c27b0101 a2 06 06 04 39040010 be 4b
    28 49 06 02 5101 02 01 01 a0 40 a0 3e 83 02 0470 84 02 0037 85 02 0780 86 01 00
    a7 1d 4e 05 28c27b0503 4e 05 28c27b0501 4e 05 2b0e050509 4e 06 2bce0f010509
    56 04 6674616d 71 08 04 06 736563726574";

#[test]
fn the_apdus_of_an_isode_association_are_read_and_written() {
    let apdu = same(AARQ, "AARQ application context 1.0.8571.1.1 called 1.17.4.0.16 context 1 data 64");
    let Apdu::Request(request) = apdu else {
        panic!("{apdu}");
    };
    let title = Title::Oid(Oid::of(&[1, 17, 4, 0, 16]));
    assert_eq!(request.called.ap_title, Some(title));
    assert_eq!(request.information[0].direct, Some(kumiki_osi_service::presentation::BASIC_ENCODING_RULES));
    same(
        "61 20 a1 07 06 05 28c27b0101 a2 03 02 01 00 a3 05 a1 03 02 01 00 be 09 28 07 02 01 01 a0 02 a1 00",
        "AARE accepted context 1 data 2",
    );
    same("62 0e 80 01 00 be 09 28 07 02 01 01 a0 02 a200", "RLRQ normal context 1 data 2");
    same("63 0e 80 01 00 be 09 28 07 02 01 01 a0 02 a300", "RLRE normal context 1 data 2");
    // libiec61850.
    same("64 03 80 01 00", "ABRT by the user");
}

#[test]
fn a_refusal_says_who_and_why() {
    let apdu = same(
        "61 15 a1 07 06 05 28c27b0101 a2 03 02 01 01 a3 05 a1 03 02 01 09",
        "AARE rejected: called AE qualifier not recognised",
    );
    let Apdu::Response(response) = apdu else {
        panic!("{apdu}");
    };
    assert_eq!(response.diagnostic, Diagnostic::User(9));
    same(
        "61 15 a1 07 06 05 28c27b0101 a2 03 02 01 02 a3 05 a2 03 02 01 02",
        "AARE rejected for now: no common version of association control",
    );
}

#[test]
fn authentication_and_titles_are_read_and_written() {
    let apdu = same(
        "60 39 a1 07 06 05 28c27b0101
         a2 04 30 02 31 00 a3 03 02 01 07 a4 03 02 01 01 a5 03 02 01 02
         a6 04 06 02 2a03
         8a 02 0780 8b 03 520301 ac 06 80 04 6b657921 9d 02 6b6d",
        "AARQ application context 1.0.8571.1.1 called a directory name of 4 octets calling 1.2.3",
    );
    let Apdu::Request(request) = apdu else {
        panic!("{apdu}");
    };
    assert_eq!(request.called.ae_qualifier, Some(Title::Number(7)));
    assert_eq!(request.called.ae_invocation, Some(2));
    let authentication = request.authentication.unwrap();
    assert_eq!(authentication.value, Credential::Text(b"key!".to_vec()));
    assert_eq!(authentication.mechanism, Some(Oid::of(&[2, 2, 3, 1])));
    assert_eq!(request.implementation.as_deref(), Some("km"));
}

#[test]
fn user_information_is_not_copied() {
    let value = hex(&("04 82 2000".to_owned() + &"11".repeat(0x2000)));
    let page = Page::copied(&value, 1);
    let held = page.octets().as_ptr();
    let release =
        Release { reason: Some(reason::NORMAL), information: vec![Information::single(1, Message::from_page(page))] };
    let apdu = Apdu::ReleaseRequest(release).emit();
    let Apdu::ReleaseRequest(read) = Apdu::parse(apdu).unwrap() else {
        panic!("no RLRQ");
    };
    let slices = read.information[0].data.slices();
    assert_eq!(slices[0].octets().unwrap().as_ptr(), held);
}

#[test]
fn what_is_wrong_is_named() {
    let why = |octets: &str| Apdu::parse(Message::from_octets(&hex(octets))).unwrap_err().to_string();
    for (octets, text) in [
        ("", "APDU: APDU: end of contents where [APPLICATION 0] AARQ to [APPLICATION 4] ABRT is expected"),
        ("65 00", "APDU: APDU: [APPLICATION 5] where [APPLICATION 0] AARQ to [APPLICATION 4] ABRT is expected"),
        ("60 00", "AARQ: application-context-name: missing, [1] is expected"),
        ("60 04 a1 02 05 00", "AARQ: application-context-name: NULL where OBJECT IDENTIFIER is expected"),
        ("61 06 a1 04 06 02 5101", "AARE: result: missing, [2] is expected"),
        (
            "61 05 a2 03 02 01 03",
            "AARE: result: 3, expected 0 (accepted), 1 (rejected-permanent) or 2 (rejected-transient)",
        ),
        (
            "61 07 a3 05 a3 03 02 01 03",
            "AARE: result-source-diagnostic: [3] where [1] acse-service-user or [2] acse-service-provider is expected",
        ),
        ("64 00", "ABRT: abort-source: missing, [0] is expected"),
        ("62 05 be 03 28 01 00", "RLRQ: EXTERNAL direct-reference: 2 octets, of which 1 are there"),
        (
            "62 04 be 02 28 00",
            "RLRQ: EXTERNAL encoding: end of contents where [0] single, [1] octet-aligned or [2] arbitrary is expected",
        ),
        ("62 00 05 00", "RLRQ: RLRQ: NULL behind the last element"),
    ] {
        assert_eq!(why(octets), text);
    }
    let many = "28 07 020101 a002 0500".repeat(MOST_INFORMATION + 1);
    let many = hex(&many);
    let mut message = Message::from_octets(&many);
    push::constructed(&mut message, Tag::context(30));
    push::constructed(&mut message, Tag::application(2));
    assert_eq!(
        Apdu::parse(message).unwrap_err().to_string(),
        "RLRQ: values of user-information is 33 octets, expected 0 to 32"
    );
}

fn oids() -> impl Strategy<Value = Oid> {
    proptest::collection::vec(0_u64..70_000, 0..5)
        .prop_map(|arcs| Oid::from_arcs(&[vec![1, 3], arcs].concat()).unwrap())
}

fn names() -> impl Strategy<Value = Names> {
    let title = || {
        proptest::option::of(prop_oneof![
            oids().prop_map(Title::Oid),
            any::<i64>().prop_map(Title::Number),
            Just(Title::Name(vec![0x30, 2, 0x31, 0])),
        ])
    };
    let number = || proptest::option::of(any::<i64>());
    (title(), title(), number(), number()).prop_map(|(ap_title, ae_qualifier, ap_invocation, ae_invocation)| Names {
        ap_title,
        ae_qualifier,
        ap_invocation,
        ae_invocation,
    })
}

fn authentications() -> impl Strategy<Value = Option<Authentication>> {
    let octets = || proptest::collection::vec(any::<u8>(), 1..20);
    let value = prop_oneof![
        octets().prop_map(Credential::Text),
        (octets(), 0_u8..8).prop_map(|(octets, unused)| Credential::Bits { octets, unused }),
        Just(Credential::Raw(vec![0xa3, 2, 5, 0])),
    ];
    proptest::option::of(
        (proptest::option::of(oids()), value).prop_map(|(mechanism, value)| Authentication { mechanism, value }),
    )
}

fn informations() -> impl Strategy<Value = Vec<Information>> {
    let one = (
        proptest::option::of(oids()),
        proptest::option::of(any::<i64>()),
        0_u8..10,
        proptest::collection::vec(any::<u8>(), 0..60),
    )
        .prop_map(|(direct, context, form, mut octets)| {
            let mut data = Message::from_octets(&octets);
            let form = match form {
                0 => Form::OctetAligned,
                1..8 => {
                    octets.push(0);
                    data = Message::from_octets(&octets);
                    Form::Arbitrary(form)
                }
                _ => {
                    push::primitive(&mut data, Tag::OCTET_STRING);
                    Form::Single
                }
            };
            Information { direct, context, form, data }
        });
    proptest::collection::vec(one, 0..3)
}

proptest! {
    #[test]
    fn whatever_is_written_is_read(
        (versions, application_context) in (1_u32.., oids()),
        (called, calling) in (names(), names()),
        authentication in authentications(),
        implementation in proptest::option::of(".{0,20}"),
        information in informations(),
        (reason, code) in (proptest::option::of(any::<i64>()), any::<u8>()),
    ) {
        let request = Request {
            versions, application_context, called: called.clone(), calling,
            authentication: authentication.clone(), implementation: implementation.clone(), information: information.clone(),
        };
        let response = Response {
            versions, application_context, responding: called, authentication, implementation,
            result: AssociateResult::RejectedTransient,
            diagnostic: if code % 2 == 0 { Diagnostic::User(code) } else { Diagnostic::Provider(code) },
            information: information.clone(),
        };
        let release = Release { reason, information: information.clone() };
        let abort = Abort { source: code.into(), diagnostic: reason, information };
        for apdu in [
            Apdu::Request(request),
            Apdu::Response(response),
            Apdu::ReleaseRequest(release.clone()),
            Apdu::ReleaseResponse(release),
            Apdu::Abort(abort),
        ] {
            prop_assert_eq!(Apdu::parse(apdu.clone().emit()), Ok(apdu));
        }
    }

    #[test]
    fn any_octets_are_read_or_refused(
        octets in proptest::collection::vec(any::<u8>(), 0..60),
        first in 0x60_u8..0x66,
        at in any::<proptest::sample::Index>(),
        octet in any::<u8>(),
    ) {
        let len = u8::try_from(octets.len()).unwrap();
        let framed = [&[first, len][..], &octets].concat();
        let mut spoilt = hex(AARQ);
        let place = at.index(spoilt.len());
        spoilt[place] = octet;
        for octets in [octets, framed, spoilt] {
            let _ = Apdu::parse(Message::from_octets(&octets)).map(|apdu| apdu.to_string());
        }
    }
}
