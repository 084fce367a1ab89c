//! What ISODE asks for and answers, and what nobody should.

use kumiki_osi_service::ftam::contents::ContentsTypeName;
use kumiki_osi_service::ftam::regime::{InitializeRequest, InitializeResponse, QualityOfService};
use kumiki_osi_service::ftam::{
    AttributeGroups, Fpdu, FunctionalUnits, ProtocolVersions, ServiceClasses, StateResult, oids,
};
use kumiki_wire::files::ftam::{emit, parse};
use proptest::prelude::*;

use crate::ftam::{Capabilities, objection};

/// F-INITIALIZE as an ISODE asked, and as another one answered.
const ASKED: &[u8] =
    b"\xa0\x3e\x83\x02\x04\x70\x84\x02\x00\x37\x85\x02\x07\x80\x86\x01\x00\xa7\x1d\x4e\x05\x28\xc2\x7b\x05\x03\x4e\x05\x28\xc2\x7b\x05\x01\x4e\x05\x2b\x0e\x05\x05\x09\x4e\x06\x2b\xce\x0f\x01\x05\x09\x56\x04ftam\x71\x08\x04\x06secret";
const ANSWERED: &[u8] =
    b"\xa1\x26\x83\x02\x04\x10\x84\x02\x00\x37\x85\x02\x07\x80\x86\x01\x00\xa7\x15\x4e\x05\x28\xc2\x7b\x05\x03\x4e\x05\x28\xc2\x7b\x05\x01\x4e\x05\x2b\x0e\x05\x05\x09";

/// What an ISODE has.
fn isode() -> Capabilities {
    Capabilities {
        versions: ProtocolVersions::VERSION_1,
        implementation: None,
        classes: ServiceClasses::TRANSFER | ServiceClasses::MANAGEMENT | ServiceClasses::TRANSFER_AND_MANAGEMENT,
        units: FunctionalUnits::from_bits(0b1110_1100),
        attribute_groups: AttributeGroups::STORAGE,
        quality_of_service: QualityOfService::NoRecovery,
        contents_types: [oids::FTAM_1, oids::FTAM_3, oids::NBS_9].map(ContentsTypeName::DocumentType).to_vec(),
        checkpoint_window: 1,
    }
}

fn asked() -> InitializeRequest {
    let Fpdu::InitializeRequest(request) = parse(ASKED).unwrap() else {
        panic!("another FPDU");
    };
    *request
}

#[test]
fn the_answer_is_that_of_isode_octet_for_octet() {
    let answer = isode().answer(&asked());
    assert_eq!(objection(&asked(), &answer), None);
    assert_eq!(emit(&Fpdu::InitializeResponse(Box::new(answer))), ANSWERED);
}

#[test]
fn a_class_takes_only_the_units_that_belong_to_it() {
    let manager = Capabilities { classes: ServiceClasses::MANAGEMENT, ..isode() };
    let answer = manager.answer(&asked());
    assert_eq!(answer.service_class, ServiceClasses::MANAGEMENT);
    assert_eq!(answer.functional_units.to_string(), "limited-file-management, enhanced-file-management, grouping");
}

#[test]
fn where_nothing_suits_the_answer_says_why() {
    let accessor = Capabilities { classes: ServiceClasses::ACCESS, ..isode() };
    let answer = accessor.answer(&asked());
    assert_eq!(answer.state_result, StateResult::Failure);
    assert_eq!(answer.diagnostic[0].error_identifier, 2021);
    let ungrouped = Capabilities { units: FunctionalUnits::READ, ..isode() };
    let answer = ungrouped.answer(&asked());
    assert_eq!(answer.diagnostic[0].error_identifier, 2003);
    let later = Capabilities { versions: ProtocolVersions::VERSION_2, ..isode() };
    assert_eq!(later.answer(&asked()).diagnostic[0].error_identifier, 1001);
}

#[test]
fn a_window_is_told_only_where_there_are_checkpoints() {
    let recovering = Capabilities {
        units: isode().units | FunctionalUnits::RECOVERY,
        quality_of_service: QualityOfService::Class3,
        checkpoint_window: 8,
        ..isode()
    };
    let request = recovering.request();
    assert_eq!(request.checkpoint_window, 8);
    let answer = recovering.answer(&request);
    assert_eq!(answer.checkpoint_window, 8);
    assert_eq!(answer.quality_of_service, QualityOfService::Class3);
    let answer = isode().answer(&request);
    assert_eq!(answer.checkpoint_window, 1);
    assert_eq!(answer.quality_of_service, QualityOfService::NoRecovery);
}

#[test]
fn an_answer_with_more_than_was_asked_for_is_objected_to() {
    let good = isode().answer(&asked());
    let objected = |response: InitializeResponse| {
        let objection = objection(&asked(), &response).unwrap();
        objection.further_details.unwrap().to_string()
    };
    assert_eq!(
        objected(InitializeResponse {
            functional_units: good.functional_units | FunctionalUnits::RECOVERY,
            ..good.clone()
        }),
        "recovery was not asked for"
    );
    assert_eq!(
        objected(InitializeResponse {
            service_class: ServiceClasses::TRANSFER | ServiceClasses::MANAGEMENT,
            ..good.clone()
        }),
        "management, transfer was not offered as the one class"
    );
    assert_eq!(
        objected(InitializeResponse { functional_units: FunctionalUnits::READ, ..good.clone() }),
        "read does not make the class transfer-and-management"
    );
    assert_eq!(
        objected(InitializeResponse { attribute_groups: AttributeGroups::SECURITY, ..good }),
        "security was not asked for"
    );
}

proptest! {
    /// Whatever two sides have, what one answers the other does not object to.
    #[test]
    fn no_answer_of_ours_is_objected_to(bits in any::<[u32; 8]>(), windows in any::<[u32; 2]>()) {
        let side = |bits: &[u32], checkpoint_window| Capabilities {
            versions: ProtocolVersions::from_bits(bits[0] & 3),
            classes: ServiceClasses::from_bits(bits[1] & 31),
            units: FunctionalUnits::from_bits(bits[2]),
            attribute_groups: AttributeGroups::from_bits(bits[3]),
            checkpoint_window,
            ..isode()
        };
        let request = side(&bits[..4], windows[0]).request();
        let answer = side(&bits[4..], windows[1]).answer(&request);
        prop_assert_eq!(objection(&request, &answer), None);
        prop_assert_eq!(answer.state_result == StateResult::Failure, !answer.diagnostic.is_empty());
    }
}
