//! The fields of every FPDU, in the order of ISO 8571-4.

use kumiki_osi_service::ftam::bulk::{
    Cancel, DataEnd, ReadRequest, RequestType, Restart, TransferEndRequest, TransferEndResponse, WriteRequest,
};
use kumiki_osi_service::ftam::contents::ContentsType;
use kumiki_osi_service::ftam::file::{
    BeginGroupRequest, ChangeAttribRequest, ChangeAttribResponse, Close, CreateRequest, CreateResponse,
    DegreeOfOverlap, DeleteRequest, DeleteResponse, DeselectRequest, DeselectResponse, EraseRequest, EraseResponse,
    LocateRequest, LocateResponse, OpenRequest, OpenResponse, Override, ReadAttribRequest, ReadAttribResponse,
    RecoverRequest, RecoverResponse, RecoveryMode, SelectRequest, SelectResponse,
};
use kumiki_osi_service::ftam::management::{ChangePrefixRequest, ChangePrefixResponse, ListRequest, ListResponse};
use kumiki_osi_service::ftam::regime::{
    Abort, InitializeRequest, InitializeResponse, TerminateRequest, TerminateResponse,
};
use kumiki_osi_service::ftam::{
    ActionResult, AttributeGroups, Fpdu, Kind, ProcessingMode, ProtocolVersions, Raw, ServiceClasses, StateResult,
};

use super::FpduField;
use super::basic::SHARED;
use super::form::{
    Content, Explicit, FieldTag, Implicit, MOST_ITEMS, OwnTag, SequenceOf, a, c, debugged, displayed, enumerated,
    explicit, many, sequence,
};
use super::scope::{ASSERTIONS, SCOPES};
use crate::Malformed;
use crate::osi::ber::{Element, Tag, Writer};

/// The most objects that one F-LIST response tells.
const MOST_OBJECTS: usize = 10_000;

/// Action-Result.
const ACTION: Implicit = a(5);
/// State-Result.
const STATE: Implicit = a(21);
/// Diagnostic, a list of them.
const DIAGNOSTIC: SequenceOf<OwnTag> = SequenceOf(Tag::application(13), OwnTag, MOST_ITEMS);
/// Charging, a list of charges.
const CHARGING: SequenceOf<OwnTag> = SequenceOf(Tag::application(9), OwnTag, MOST_ITEMS);
/// Path-Access-Passwords, a list of them.
const PATH_PASSWORDS: SequenceOf<OwnTag> = SequenceOf(Tag::application(27), OwnTag, MOST_ITEMS);
/// Select-Attributes, of which the pathname is the only one.
const SELECT: Explicit<OwnTag> = Explicit(Tag::application(19), OwnTag);
/// Destination-File-Directory.
const DESTINATION: Explicit<OwnTag> = Explicit(Tag::application(24), OwnTag);

displayed!(DegreeOfOverlap, Override, RecoveryMode, RequestType);

// Their fields are said, and not they.
debugged!(
    Abort,
    BeginGroupRequest,
    Cancel,
    ChangeAttribRequest,
    ChangeAttribResponse,
    ChangePrefixRequest,
    ChangePrefixResponse,
    Close,
    CreateRequest,
    CreateResponse,
    DataEnd,
    DeleteRequest,
    DeleteResponse,
    DeselectRequest,
    DeselectResponse,
    EraseRequest,
    EraseResponse,
    InitializeRequest,
    InitializeResponse,
    ListRequest,
    ListResponse,
    LocateRequest,
    LocateResponse,
    OpenRequest,
    OpenResponse,
    ReadAttribRequest,
    ReadAttribResponse,
    ReadRequest,
    RecoverRequest,
    RecoverResponse,
    Restart,
    SelectRequest,
    SelectResponse,
    TerminateRequest,
    TerminateResponse,
    TransferEndRequest,
    TransferEndResponse,
    WriteRequest,
    Empty,
);

sequence!(InitializeRequest {
    ~ protocol_version "protocol-version": c(0) => ProtocolVersions::VERSION_1;
    ? implementation_information "implementation-information": c(1);
    ~ presentation_context_management "presentation-context-management": c(2) => false;
    ~ service_class "service-class": c(3) => ServiceClasses::TRANSFER;
    ! functional_units "functional-units": c(4);
    ~ attribute_groups "attribute-groups": c(5) => AttributeGroups::NONE;
    ? shared_ase_information "shared-ase-information": SHARED;
    ! quality_of_service "ftam-quality-of-service": c(6);
    * contents_type_list "contents-type-list": many(7, OwnTag);
    ? initiator_identity "initiator-identity": a(22);
    ? account "account": a(4);
    ? filestore_password "filestore-password": OwnTag;
    ~ checkpoint_window "checkpoint-window": c(8) => 1;
});

sequence!(InitializeResponse {
    ~ state_result "state-result": STATE => StateResult::Success;
    ~ action_result "action-result": ACTION => ActionResult::Success;
    ~ protocol_version "protocol-version": c(0) => ProtocolVersions::VERSION_1;
    ? implementation_information "implementation-information": c(1);
    ~ presentation_context_management "presentation-context-management": c(2) => false;
    ~ service_class "service-class": c(3) => ServiceClasses::TRANSFER;
    ! functional_units "functional-units": c(4);
    ~ attribute_groups "attribute-groups": c(5) => AttributeGroups::NONE;
    ? shared_ase_information "shared-ase-information": SHARED;
    ! quality_of_service "ftam-quality-of-service": c(6);
    * contents_type_list "contents-type-list": many(7, OwnTag);
    * diagnostic "diagnostic": DIAGNOSTIC;
    ~ checkpoint_window "checkpoint-window": c(8) => 1;
});

sequence!(TerminateRequest {
    ? shared_ase_information "shared-ase-information": SHARED;
});

sequence!(TerminateResponse {
    ? shared_ase_information "shared-ase-information": SHARED;
    ? charging "charging": CHARGING;
});

sequence!(Abort {
    ~ action_result "action-result": ACTION => ActionResult::Success;
    * diagnostic "diagnostic": DIAGNOSTIC;
});

sequence!(SelectRequest {
    ! pathname "pathname": SELECT;
    ! requested_access "requested-access": a(3);
    ? access_passwords "access-passwords": a(2);
    ? path_access_passwords "path-access-passwords": PATH_PASSWORDS;
    ? concurrency_control "concurrency-control": a(10);
    ? shared_ase_information "shared-ase-information": SHARED;
    ? account "account": a(4);
});

sequence!(SelectResponse {
    ~ state_result "state-result": STATE => StateResult::Success;
    ~ action_result "action-result": ACTION => ActionResult::Success;
    ! pathname "pathname": SELECT;
    ? referent_indicator "referent-indicator": a(29);
    ? shared_ase_information "shared-ase-information": SHARED;
    * diagnostic "diagnostic": DIAGNOSTIC;
});

sequence!(DeselectRequest {
    ? shared_ase_information "shared-ase-information": SHARED;
});

sequence!(DeselectResponse {
    ~ action_result "action-result": ACTION => ActionResult::Success;
    ? charging "charging": CHARGING;
    ? shared_ase_information "shared-ase-information": SHARED;
    * diagnostic "diagnostic": DIAGNOSTIC;
});

enumerated!(Override, "0 to 3" {
    CreateFailure = 0,
    SelectOldObject = 1,
    DeleteAndCreateWithOldAttributes = 2,
    DeleteAndCreateWithNewAttributes = 3,
});

sequence!(CreateRequest {
    ~ override_ "override": c(0) => Override::CreateFailure;
    ! initial_attributes "initial-attributes": OwnTag;
    ? create_password "create-password": OwnTag;
    ! requested_access "requested-access": a(3);
    ? access_passwords "access-passwords": a(2);
    ? path_access_passwords "path-access-passwords": PATH_PASSWORDS;
    ? concurrency_control "concurrency-control": a(10);
    ? shared_ase_information "shared-ase-information": SHARED;
    ? account "account": a(4);
});

sequence!(CreateResponse {
    ~ state_result "state-result": STATE => StateResult::Success;
    ~ action_result "action-result": ACTION => ActionResult::Success;
    ! initial_attributes "initial-attributes": OwnTag;
    ? shared_ase_information "shared-ase-information": SHARED;
    * diagnostic "diagnostic": DIAGNOSTIC;
});

sequence!(DeleteRequest {
    ? shared_ase_information "shared-ase-information": SHARED;
});

sequence!(DeleteResponse {
    ~ action_result "action-result": ACTION => ActionResult::Success;
    ? shared_ase_information "shared-ase-information": SHARED;
    ? charging "charging": CHARGING;
    * diagnostic "diagnostic": DIAGNOSTIC;
});

sequence!(ReadAttribRequest {
    ! attribute_names "attribute-names": c(0);
    ? attribute_extension_names "attribute-extension-names": many(1, OwnTag);
});

sequence!(ReadAttribResponse {
    ~ action_result "action-result": ACTION => ActionResult::Success;
    ? attributes "attributes": OwnTag;
    * diagnostic "diagnostic": DIAGNOSTIC;
});

sequence!(ChangeAttribRequest {
    ! attributes "attributes": OwnTag;
});

sequence!(ChangeAttribResponse {
    ~ action_result "action-result": ACTION => ActionResult::Success;
    ? attributes "attributes": OwnTag;
    * diagnostic "diagnostic": DIAGNOSTIC;
});

/// `CHOICE { unknown [0] IMPLICIT NULL, proposed [1] Contents-Type-Attribute }`.
struct Proposed;

impl FieldTag<Option<ContentsType>> for Proposed {
    fn tag(&self) -> Tag {
        Tag::context(1)
    }

    fn has(&self, tag: Tag) -> bool {
        tag == Tag::context(0) || tag == Tag::context(1)
    }

    fn emit(&self, value: &Option<ContentsType>, w: &mut Writer) {
        match value {
            Some(proposed) => explicit(1).emit(proposed, w),
            None => w.null(Tag::context(0)),
        }
    }

    fn parse(&self, element: &Element<'_>) -> Result<Option<ContentsType>, Malformed> {
        if element.tag() == Tag::context(0) {
            return element.null().map(|()| None);
        }
        explicit(1).parse(element).map(Some)
    }
}

enumerated!(RecoveryMode, "0 to 2" { None = 0, AtStartOfFile = 1, AtAnyActiveCheckpoint = 2, });
enumerated!(DegreeOfOverlap, "0 to 2" { Normal = 0, Consecutive = 1, Concurrent = 2, });

sequence!(OpenRequest {
    ~ processing_mode "processing-mode": c(0) => ProcessingMode::READ;
    ! contents_type "contents-type": Explicit(Tag::context(1), Proposed);
    ? concurrency_control "concurrency-control": a(10);
    ? shared_ase_information "shared-ase-information": SHARED;
    ~ enable_fadu_locking "enable-fadu-locking": c(2) => false;
    ? activity_identifier "activity-identifier": a(6);
    ~ recovery_mode "recovery-mode": c(3) => RecoveryMode::None;
    ? remove_contexts "remove-contexts": many(4, a(0));
    ? define_contexts "define-contexts": many(5, a(0));
    ? degree_of_overlap "degree-of-overlap": a(30);
    ? transfer_window "transfer-window": c(7);
});

sequence!(OpenResponse {
    ~ state_result "state-result": STATE => StateResult::Success;
    ~ action_result "action-result": ACTION => ActionResult::Success;
    ! contents_type "contents-type": explicit(1);
    ? concurrency_control "concurrency-control": a(10);
    ? shared_ase_information "shared-ase-information": SHARED;
    * diagnostic "diagnostic": DIAGNOSTIC;
    ~ recovery_mode "recovery-mode": c(3) => RecoveryMode::None;
    ~ presentation_action "presentation-action": c(6) => false;
    ? degree_of_overlap "degree-of-overlap": a(30);
    ? transfer_window "transfer-window": c(7);
});

sequence!(Close {
    ~ action_result "action-result": ACTION => ActionResult::Success;
    ? shared_ase_information "shared-ase-information": SHARED;
    * diagnostic "diagnostic": DIAGNOSTIC;
});

sequence!(BeginGroupRequest {
    ! threshold "threshold": c(0);
});

sequence!(RecoverRequest {
    ! activity_identifier "activity-identifier": a(6);
    ! bulk_transfer_number "bulk-transfer-number": c(0);
    ! requested_access "requested-access": a(3);
    ? access_passwords "access-passwords": a(2);
    ~ recovery_point "recovery-point": c(2) => 0;
    ? remove_contexts "remove-contexts": many(3, a(0));
    ? define_contexts "define-contexts": many(4, a(0));
    ? concurrent_bulk_transfer_number "concurrent-bulk-transfer-number": c(7);
    ? concurrent_recovery_point "concurrent-recovery-point": c(8);
    ? last_transfer_end_read_response "last-transfer-end-read-response": c(9);
    ? last_transfer_end_write_response "last-transfer-end-write-response": c(10);
});

sequence!(RecoverResponse {
    ~ state_result "state-result": STATE => StateResult::Success;
    ~ action_result "action-result": ACTION => ActionResult::Success;
    ! contents_type "contents-type": explicit(1);
    ~ recovery_point "recovery-point": c(2) => 0;
    * diagnostic "diagnostic": DIAGNOSTIC;
    ~ presentation_action "presentation-action": c(6) => false;
    ? concurrent_recovery_point "concurrent-recovery-point": c(8);
    ? last_transfer_end_read_request "last-transfer-end-read-request": c(9);
    ? last_transfer_end_write_request "last-transfer-end-write-request": c(10);
});

sequence!(LocateRequest {
    ! fadu_identity "file-access-data-unit-identity": OwnTag;
    ? fadu_lock "fadu-lock": a(16);
});

sequence!(LocateResponse {
    ~ action_result "action-result": ACTION => ActionResult::Success;
    ? fadu_identity "file-access-data-unit-identity": OwnTag;
    * diagnostic "diagnostic": DIAGNOSTIC;
});

sequence!(EraseRequest {
    ! fadu_identity "file-access-data-unit-identity": OwnTag;
});

sequence!(EraseResponse {
    ~ action_result "action-result": ACTION => ActionResult::Success;
    * diagnostic "diagnostic": DIAGNOSTIC;
});

enumerated!(RequestType, "0 or 1" { Read = 0, Write = 1, });

sequence!(ReadRequest {
    ! fadu_identity "file-access-data-unit-identity": OwnTag;
    ! access_context "access-context": a(1);
    ? fadu_lock "fadu-lock": a(16);
    ? transfer_number "transfer-number": c(0);
});

sequence!(WriteRequest {
    ! fadu_operation "file-access-data-unit-operation": c(0);
    ! fadu_identity "file-access-data-unit-identity": OwnTag;
    ? fadu_lock "fadu-lock": a(16);
    ? transfer_number "transfer-number": c(1);
});

sequence!(DataEnd {
    ~ action_result "action-result": ACTION => ActionResult::Success;
    * diagnostic "diagnostic": DIAGNOSTIC;
});

sequence!(TransferEndRequest {
    ? shared_ase_information "shared-ase-information": SHARED;
    ? request_type "request-type": a(31);
    ? transfer_number "transfer-number": c(0);
    ? last_transfer_end_read_response "last-transfer-end-read-response": c(1);
    ? last_transfer_end_write_response "last-transfer-end-write-response": c(2);
});

sequence!(TransferEndResponse {
    ~ action_result "action-result": ACTION => ActionResult::Success;
    ? shared_ase_information "shared-ase-information": SHARED;
    * diagnostic "diagnostic": DIAGNOSTIC;
    ? request_type "request-type": a(31);
    ? transfer_number "transfer-number": c(0);
});

sequence!(Cancel {
    ~ action_result "action-result": ACTION => ActionResult::Success;
    ? shared_ase_information "shared-ase-information": SHARED;
    * diagnostic "diagnostic": DIAGNOSTIC;
    ? request_type "request-type": a(31);
    ? transfer_number "transfer-number": c(0);
    ? last_transfer_end_read_request "last-transfer-end-read-request": c(1);
    ? last_transfer_end_read_response "last-transfer-end-read-response": c(2);
    ? last_transfer_end_write_request "last-transfer-end-write-request": c(3);
    ? last_transfer_end_write_response "last-transfer-end-write-response": c(4);
});

sequence!(Restart {
    ! checkpoint_identifier "checkpoint-identifier": c(0);
    ? request_type "request-type": a(31);
    ? transfer_number "transfer-number": c(1);
    ? last_transfer_end_read_request "last-transfer-end-read-request": c(2);
    ? last_transfer_end_read_response "last-transfer-end-read-response": c(3);
    ? last_transfer_end_write_request "last-transfer-end-write-request": c(4);
    ? last_transfer_end_write_response "last-transfer-end-write-response": c(5);
});

sequence!(ChangePrefixRequest {
    ~ reset "reset": c(0) => false;
    ! destination_file_directory "destination-file-directory": DESTINATION;
    ? access_passwords "access-passwords": a(2);
    ? path_access_passwords "path-access-passwords": PATH_PASSWORDS;
});

sequence!(ChangePrefixResponse {
    ~ action_result "action-result": ACTION => ActionResult::Success;
    ? destination_file_directory "destination-file-directory": DESTINATION;
    * diagnostic "diagnostic": DIAGNOSTIC;
});

sequence!(ListRequest {
    ! attribute_value_assertions "attribute-value-assertions": ASSERTIONS;
    ! scope "scope": SCOPES;
    ? access_passwords "access-passwords": a(2);
    ? path_access_passwords "path-access-passwords": PATH_PASSWORDS;
    ! attribute_names "attribute-names": c(0);
    ? attribute_extension_names "attribute-extension-names": many(1, OwnTag);
});

sequence!(ListResponse {
    ~ action_result "action-result": ACTION => ActionResult::Success;
    ? objects "objects-attributes-list": SequenceOf(Tag::application(25), OwnTag, MOST_OBJECTS);
    * diagnostic "diagnostic": DIAGNOSTIC;
});

/// One without fields.
#[derive(Debug)]
struct Empty;

sequence!(Empty {});

impl Empty {
    fn parse(element: &Element<'_>, fpdu: Fpdu) -> Result<Fpdu, Malformed> {
        let Self = Content::parse(element)?;
        Ok(fpdu)
    }
}

/// Says what each field of a value of type `T` is.
fn walk_as<'a, T: Content>(_: &T, element: &Element<'a>, seen: &mut Vec<FpduField<'a>>) -> Result<(), Malformed> {
    T::walk(element, "fields", seen)
}

/// Both directions of the choice of all FPDUs.
macro_rules! fpdus {
    ($($kind:ident)*) => {
        pub(super) fn emit(fpdu: &Fpdu, w: &mut Writer) {
            let tag = Tag::context(fpdu.kind().tag());
            match fpdu {
                $(Fpdu::$kind(fields) => Content::emit(fields, w, tag),)*
                Fpdu::BeginGroupResponse | Fpdu::EndGroupRequest | Fpdu::EndGroupResponse => {
                    Content::emit(&Empty, w, tag);
                }
                Fpdu::Raw(Raw { content, .. }) => w.constructed(tag, |w| w.raw(content)),
            }
        }

        /// Says what each field of an FPDU is that has been read.
        pub(super) fn walk<'a>(
            fpdu: &Fpdu,
            element: &Element<'a>,
            seen: &mut Vec<FpduField<'a>>,
        ) -> Result<(), Malformed> {
            match fpdu {
                $(Fpdu::$kind(fields) => walk_as(fields, element, seen),)*
                Fpdu::BeginGroupResponse
                | Fpdu::EndGroupRequest
                | Fpdu::EndGroupResponse
                | Fpdu::Raw(_) => Ok(()),
            }
        }

        pub(super) fn parse(kind: Kind, element: &Element<'_>) -> Result<Fpdu, Malformed> {
            match kind {
                $(Kind::$kind => Content::parse(element).map(Fpdu::$kind),)*
                Kind::BeginGroupResponse => Empty::parse(element, Fpdu::BeginGroupResponse),
                Kind::EndGroupRequest => Empty::parse(element, Fpdu::EndGroupRequest),
                Kind::EndGroupResponse => Empty::parse(element, Fpdu::EndGroupResponse),
                Kind::GroupSelectRequest
                | Kind::GroupSelectResponse
                | Kind::GroupDeleteRequest
                | Kind::GroupDeleteResponse
                | Kind::GroupMoveRequest
                | Kind::GroupMoveResponse
                | Kind::GroupCopyRequest
                | Kind::GroupCopyResponse
                | Kind::GroupListRequest
                | Kind::GroupListResponse
                | Kind::GroupChangeAttribRequest
                | Kind::GroupChangeAttribResponse
                | Kind::SelectAnotherRequest
                | Kind::SelectAnotherResponse
                | Kind::CreateDirectoryRequest
                | Kind::CreateDirectoryResponse
                | Kind::LinkRequest
                | Kind::LinkResponse
                | Kind::UnlinkRequest
                | Kind::UnlinkResponse
                | Kind::ReadLinkAttribRequest
                | Kind::ReadLinkAttribResponse
                | Kind::ChangeLinkAttribRequest
                | Kind::ChangeLinkAttribResponse
                | Kind::MoveRequest
                | Kind::MoveResponse
                | Kind::CopyRequest
                | Kind::CopyResponse => {
                    // That it is made of elements is looked at, what they are is not.
                    element.elements()?.each("field", MOST_ITEMS, |_| Ok(()))?;
                    let content = element.content().to_vec();
                    Ok(Fpdu::Raw(Raw { kind, content }))
                }
            }
        }
    };
}

fpdus! {
    InitializeRequest InitializeResponse TerminateRequest TerminateResponse UserAbort ProviderAbort
    SelectRequest SelectResponse DeselectRequest DeselectResponse CreateRequest CreateResponse
    DeleteRequest DeleteResponse ReadAttribRequest ReadAttribResponse
    ChangeAttribRequest ChangeAttribResponse OpenRequest OpenResponse CloseRequest CloseResponse
    BeginGroupRequest RecoverRequest RecoverResponse LocateRequest LocateResponse
    EraseRequest EraseResponse ReadRequest WriteRequest DataEndRequest
    TransferEndRequest TransferEndResponse CancelRequest CancelResponse RestartRequest RestartResponse
    ChangePrefixRequest ChangePrefixResponse ListRequest ListResponse
}
