//! The FPDUs of one association between two ISODEs, a file put and got again: recorded, not made here.

use kumiki_osi_service::ftam::access::{ConcurrencyControl, FaduIdentity, FaduOperation, Lock};
use kumiki_osi_service::ftam::attributes::CreateAttributes;
use kumiki_osi_service::ftam::bulk::{DataEnd, ReadRequest, TransferEndRequest, WriteRequest};
use kumiki_osi_service::ftam::contents::{ContentsType, ContentsTypeName};
use kumiki_osi_service::ftam::file::{BeginGroupRequest, CreateRequest, OpenRequest, Override, SelectRequest};
use kumiki_osi_service::ftam::regime::{InitializeRequest, InitializeResponse};
use kumiki_osi_service::ftam::{
    AccessRequest, ActionResult, AttributeGroups, Diagnostic, DiagnosticType, Entity, Fpdu, FunctionalUnits, Kind,
    PermittedActions, ProcessingMode, ServiceClasses, StateResult, oids,
};
use kumiki_wire::files::ftam::{emit, parse};

use super::hex;

/// Read as `fpdu`, and written as it was.
#[track_caller]
fn is(octets: &str, fpdu: &Fpdu) {
    let octets = hex(octets);
    assert_eq!(&parse(&octets).unwrap(), fpdu);
    assert_eq!(emit(fpdu), octets);
}

fn units() -> FunctionalUnits {
    FunctionalUnits::READ
        | FunctionalUnits::WRITE
        | FunctionalUnits::LIMITED_FILE_MANAGEMENT
        | FunctionalUnits::ENHANCED_FILE_MANAGEMENT
        | FunctionalUnits::GROUPING
}

fn contents_types() -> Vec<ContentsTypeName> {
    [oids::FTAM_3, oids::FTAM_1, oids::NBS_9].map(ContentsTypeName::DocumentType).to_vec()
}

fn locks(read: Lock, replace: Lock) -> Option<ConcurrencyControl> {
    Some(ConcurrencyControl { read, replace, ..ConcurrencyControl::default() })
}

#[test]
fn the_regime_is_entered() {
    let mut contents_type_list = contents_types();
    contents_type_list.push(ContentsTypeName::DocumentType(oids::NBS_9_OLD));
    is(
        "a03e 83020470 84020037 85020780 860100
         a71d 4e0528c27b0503 4e0528c27b0501 4e052b0e050509 4e062bce0f010509
         5604 6674616d 7108 0406736563726574",
        &Fpdu::InitializeRequest(Box::new(InitializeRequest {
            service_class: ServiceClasses::MANAGEMENT
                | ServiceClasses::TRANSFER
                | ServiceClasses::TRANSFER_AND_MANAGEMENT,
            functional_units: units(),
            attribute_groups: AttributeGroups::STORAGE,
            contents_type_list,
            initiator_identity: Some("ftam".into()),
            filestore_password: Some(kumiki_osi_service::ftam::Password::Octets(b"secret".to_vec())),
            ..InitializeRequest::default()
        })),
    );
    is(
        "a126 83020410 84020037 85020780 860100 a715 4e0528c27b0503 4e0528c27b0501 4e052b0e050509",
        &Fpdu::InitializeResponse(Box::new(InitializeResponse {
            service_class: ServiceClasses::TRANSFER_AND_MANAGEMENT,
            functional_units: units(),
            attribute_groups: AttributeGroups::STORAGE,
            contents_type_list: contents_types(),
            ..InitializeResponse::default()
        })),
    );
}

#[test]
fn a_file_is_created_and_opened_in_a_group() {
    is("b603 800102", &Fpdu::BeginGroupRequest(BeginGroupRequest { threshold: 2 }));
    let initial_attributes = CreateAttributes {
        pathname: "small.bin".into(),
        permitted_actions: PermittedActions::from_bits(0b1_1110_1101),
        contents_type: ContentsType::binary(),
        ..CreateAttributes::default()
    };
    assert_eq!(
        initial_attributes.permitted_actions.to_string(),
        "read, replace, extend, read-attribute, change-attribute, delete, traversal"
    );
    is(
        "aa2d 800102 6c24 a00b 1909736d616c6c2e62696e 810307b780
         a210 a00e 4e0528c27b0503 a005 3003820102 43020520",
        &Fpdu::CreateRequest(Box::new(CreateRequest {
            override_: Override::DeleteAndCreateWithOldAttributes,
            initial_attributes,
            requested_access: AccessRequest::REPLACE,
            ..CreateRequest::default()
        })),
    );
    is(
        "b232 80020520 a112a110a00e4e0528c27b0503a0053003820102
         6a18 800100810100820102830100840100850100860100870100",
        &Fpdu::OpenRequest(Box::new(OpenRequest {
            processing_mode: ProcessingMode::REPLACE,
            contents_type: Some(ContentsType::binary()),
            concurrency_control: locks(Lock::NotRequired, Lock::Exclusive),
            ..OpenRequest::default()
        })),
    );
    is("b800", &Fpdu::EndGroupRequest);
    is("b700", &Fpdu::BeginGroupResponse);
    is("b900", &Fpdu::EndGroupResponse);
}

#[test]
fn a_file_is_selected_and_opened_for_reading() {
    is(
        "a613 730da00b1909736d616c6c2e62696e 43020780",
        &Fpdu::SelectRequest(Box::new(SelectRequest {
            pathname: "small.bin".into(),
            requested_access: AccessRequest::READ,
            ..SelectRequest::default()
        })),
    );
    is(
        "b22e a112a110a00e4e0528c27b0503a0053003820102
         6a18 800101810100820100830100840100850100860100870100",
        &Fpdu::OpenRequest(Box::new(OpenRequest {
            contents_type: Some(ContentsType::binary()),
            concurrency_control: locks(Lock::Shared, Lock::NotRequired),
            ..OpenRequest::default()
        })),
    );
}

#[test]
fn data_is_written_and_read() {
    is(
        "bf2108 800101 6f03800100",
        &Fpdu::WriteRequest(Box::new(WriteRequest {
            fadu_operation: FaduOperation::Replace,
            fadu_identity: FaduIdentity::First,
            ..WriteRequest::default()
        })),
    );
    is("bf200a 6f03800100 6103800105", &Fpdu::ReadRequest(Box::default()));
    assert_eq!(
        ReadRequest::default().access_context.to_string(),
        "UA",
        "what most files have is what is taken if nothing is said"
    );
    is("bf2200", &Fpdu::DataEndRequest(Box::<DataEnd>::default()));
    is("bf2300", &Fpdu::TransferEndRequest(Box::<TransferEndRequest>::default()));
    is("bf2400", &Fpdu::TransferEndResponse(Box::default()));
}

#[test]
fn what_says_nothing_is_empty() {
    for (octets, kind) in [
        ("a200", Kind::TerminateRequest),
        ("a300", Kind::TerminateResponse),
        ("a800", Kind::DeselectRequest),
        ("a900", Kind::DeselectResponse),
        ("b400", Kind::CloseRequest),
        ("b500", Kind::CloseResponse),
    ] {
        let fpdu = parse(&hex(octets)).unwrap();
        assert_eq!(fpdu.kind(), kind);
        assert_eq!(emit(&fpdu), hex(octets));
    }
}

#[test]
fn the_other_answers_are_written_as_they_were() {
    for (octets, kind) in [
        ("ab26 6c24a00b1909736d616c6c2e62696e810307b780a210a00e4e0528c27b0503a0053003820102", Kind::CreateResponse),
        (
            "b32c a110a00e4e0528c27b0503a0053003820102 6a18800100810100820102830100840100850100860100870100",
            Kind::OpenResponse,
        ),
        ("a70f 730da00b1909736d616c6c2e62696e", Kind::SelectResponse),
    ] {
        let fpdu = parse(&hex(octets)).unwrap();
        assert_eq!(fpdu.kind(), kind);
        assert!(fpdu.outcome().unwrap().action_result.is_success());
        assert_eq!(emit(&fpdu), hex(octets));
    }
}

#[test]
fn a_refused_login_says_why() {
    // State failure, permanent, and the diagnostic as recorded; what stands between is that of the association above.
    is(
        "a126 550101 450102 83020410 84020037 85020780 860100
         6d0f 300d 800102 810207e4 820105 830101",
        &Fpdu::InitializeResponse(Box::new(InitializeResponse {
            state_result: StateResult::Failure,
            action_result: ActionResult::PermanentError,
            service_class: ServiceClasses::TRANSFER_AND_MANAGEMENT,
            functional_units: units(),
            attribute_groups: AttributeGroups::STORAGE,
            diagnostic: vec![Diagnostic {
                diagnostic_type: DiagnosticType::Permanent,
                error_identifier: 2020,
                error_observer: Entity::RespondingUser,
                error_source: Entity::InitiatingUser,
                ..Diagnostic::default()
            }],
            ..InitializeResponse::default()
        })),
    );
}

#[test]
fn attributes_of_indefinite_length_are_read() {
    // F-READ-ATTRIB response as ISODE sends it: `af 80 72 80 .. 00 00 00 00`, three attributes and one without a value.
    let octets = hex("af80 7280 a00b 1909736d616c6c2e62696e a511 810f 30313236313231353230313532335a
         a803 8001 00 ad04 81020bb8 0000 0000");
    let why = parse(&octets).unwrap_err().to_string();
    assert_eq!(why, "F-READ-ATTRIB response: identity-of-creator: 1 octet of content, expected 0");
    let octets = hex("af80 7280 a00b 1909736d616c6c2e62696e a511 810f 30313236313231353230313532335a
         a802 8000 ad04 81020bb8 0000 0000");
    let Fpdu::ReadAttribResponse(response) = parse(&octets).unwrap() else {
        panic!("another FPDU");
    };
    let read = response.attributes.unwrap();
    assert_eq!(read.pathname, Some("small.bin".into()));
    assert_eq!(read.modified.as_ref().unwrap().to_string(), "2026-12-15T20:15:23Z", "ISODE counts years from 1900");
    assert_eq!(read.creator.unwrap().to_string(), "no value available");
    assert_eq!(read.reader, None);
    assert_eq!(read.size.unwrap().actual(), Some(&3000));
}

#[test]
fn a_group_comes_in_one_value() {
    let value = hex("b700 a7114501026d0c300a800102810101820105830103 b900");
    let message = kumiki_octets::Message::from_octets(&value);
    // The select response has no attributes, which is an error of its own.
    let why = kumiki_wire::files::ftam::parse_all(&message).unwrap_err();
    assert_eq!(why.to_string(), "F-SELECT response: pathname: missing, [APPLICATION 19] is expected");
    let value = hex("b603800102 b400 a800 b800");
    let message = kumiki_octets::Message::from_octets(&value);
    let kinds: Vec<Kind> = kumiki_wire::files::ftam::parse_all(&message).unwrap().iter().map(Fpdu::kind).collect();
    assert_eq!(kinds, [Kind::BeginGroupRequest, Kind::CloseRequest, Kind::DeselectRequest, Kind::EndGroupRequest]);
}
