//! The fields of every FPDU, in the order of ISO 8571-4.

use kumiki_osi::ftam::bulk::{
    Cancel, DataEnd, ReadRequest, RequestType, Restart, TransferEndRequest, TransferEndResponse,
    WriteRequest,
};
use kumiki_osi::ftam::contents::ContentsType;
use kumiki_osi::ftam::file::{
    BeginGroupRequest, ChangeAttribRequest, ChangeAttribResponse, Close, CreateRequest,
    CreateResponse, DegreeOfOverlap, DeleteRequest, DeleteResponse, DeselectRequest,
    DeselectResponse, EraseRequest, EraseResponse, LocateRequest, LocateResponse, OpenRequest,
    OpenResponse, Override, ReadAttribRequest, ReadAttribResponse, RecoverRequest, RecoverResponse,
    RecoveryMode, SelectRequest, SelectResponse,
};
use kumiki_osi::ftam::management::{
    ChangePrefixRequest, ChangePrefixResponse, ListRequest, ListResponse,
};
use kumiki_osi::ftam::regime::{
    Abort, InitializeRequest, InitializeResponse, TerminateRequest, TerminateResponse,
};
use kumiki_osi::ftam::{
    ActionResult, AttributeGroups, Fpdu, Kind, ProcessingMode, ProtocolVersions, Raw,
    ServiceClasses, StateResult,
};

use super::basic::SHARED;
use super::form::{
    Content, Explicit, Implicit, MOST_ITEMS, Many, Own, Spot, a, c, enumerated, explicit, many,
    sequence,
};
use super::scope::{ASSERTIONS, SCOPES};
use crate::Malformed;
use crate::ber::{Element, Tag, Writer};

/// The most objects that one F-LIST response tells.
const MOST_OBJECTS: usize = 10_000;

/// Action-Result.
const ACTION: Implicit = a(5);
/// State-Result.
const STATE: Implicit = a(21);
/// Diagnostic, a list of them.
const DIAGNOSTIC: Many<Own> = Many(Tag::application(13), Own, MOST_ITEMS);
/// Charging, a list of charges.
const CHARGING: Many<Own> = Many(Tag::application(9), Own, MOST_ITEMS);
/// Path-Access-Passwords, a list of them.
const PATH_PASSWORDS: Many<Own> = Many(Tag::application(27), Own, MOST_ITEMS);
/// Select-Attributes, of which the pathname is the only one.
const SELECT: Explicit<Own> = Explicit(Tag::application(19), Own);
/// Destination-File-Directory.
const DESTINATION: Explicit<Own> = Explicit(Tag::application(24), Own);

sequence!(InitializeRequest {
    ~ protocol_version: c(0) => ProtocolVersions::VERSION_1;
    ? implementation_information: c(1);
    ~ presentation_context_management: c(2) => false;
    ~ service_class: c(3) => ServiceClasses::TRANSFER;
    ! functional_units: c(4);
    ~ attribute_groups: c(5) => AttributeGroups::NONE;
    ? shared_ase_information: SHARED;
    ! quality_of_service: c(6);
    * contents_type_list: many(7, Own);
    ? initiator_identity: a(22);
    ? account: a(4);
    ? filestore_password: Own;
    ~ checkpoint_window: c(8) => 1;
});

sequence!(InitializeResponse {
    ~ state_result: STATE => StateResult::Success;
    ~ action_result: ACTION => ActionResult::Success;
    ~ protocol_version: c(0) => ProtocolVersions::VERSION_1;
    ? implementation_information: c(1);
    ~ presentation_context_management: c(2) => false;
    ~ service_class: c(3) => ServiceClasses::TRANSFER;
    ! functional_units: c(4);
    ~ attribute_groups: c(5) => AttributeGroups::NONE;
    ? shared_ase_information: SHARED;
    ! quality_of_service: c(6);
    * contents_type_list: many(7, Own);
    * diagnostic: DIAGNOSTIC;
    ~ checkpoint_window: c(8) => 1;
});

sequence!(TerminateRequest {
    ? shared_ase_information: SHARED;
});

sequence!(TerminateResponse {
    ? shared_ase_information: SHARED;
    ? charging: CHARGING;
});

sequence!(Abort {
    ~ action_result: ACTION => ActionResult::Success;
    * diagnostic: DIAGNOSTIC;
});

sequence!(SelectRequest {
    ! pathname: SELECT;
    ! requested_access: a(3);
    ? access_passwords: a(2);
    ? path_access_passwords: PATH_PASSWORDS;
    ? concurrency_control: a(10);
    ? shared_ase_information: SHARED;
    ? account: a(4);
});

sequence!(SelectResponse {
    ~ state_result: STATE => StateResult::Success;
    ~ action_result: ACTION => ActionResult::Success;
    ! pathname: SELECT;
    ? referent_indicator: a(29);
    ? shared_ase_information: SHARED;
    * diagnostic: DIAGNOSTIC;
});

sequence!(DeselectRequest {
    ? shared_ase_information: SHARED;
});

sequence!(DeselectResponse {
    ~ action_result: ACTION => ActionResult::Success;
    ? charging: CHARGING;
    ? shared_ase_information: SHARED;
    * diagnostic: DIAGNOSTIC;
});

enumerated!(Override, "0 to 3" {
    CreateFailure = 0,
    SelectOldObject = 1,
    DeleteAndCreateWithOldAttributes = 2,
    DeleteAndCreateWithNewAttributes = 3,
});

sequence!(CreateRequest {
    ~ override_: c(0) => Override::CreateFailure;
    ! initial_attributes: Own;
    ? create_password: Own;
    ! requested_access: a(3);
    ? access_passwords: a(2);
    ? path_access_passwords: PATH_PASSWORDS;
    ? concurrency_control: a(10);
    ? shared_ase_information: SHARED;
    ? account: a(4);
});

sequence!(CreateResponse {
    ~ state_result: STATE => StateResult::Success;
    ~ action_result: ACTION => ActionResult::Success;
    ! initial_attributes: Own;
    ? shared_ase_information: SHARED;
    * diagnostic: DIAGNOSTIC;
});

sequence!(DeleteRequest {
    ? shared_ase_information: SHARED;
});

sequence!(DeleteResponse {
    ~ action_result: ACTION => ActionResult::Success;
    ? shared_ase_information: SHARED;
    ? charging: CHARGING;
    * diagnostic: DIAGNOSTIC;
});

sequence!(ReadAttribRequest {
    ! attribute_names: c(0);
    ? attribute_extension_names: many(1, Own);
});

sequence!(ReadAttribResponse {
    ~ action_result: ACTION => ActionResult::Success;
    ? attributes: Own;
    * diagnostic: DIAGNOSTIC;
});

sequence!(ChangeAttribRequest {
    ! attributes: Own;
});

sequence!(ChangeAttribResponse {
    ~ action_result: ACTION => ActionResult::Success;
    ? attributes: Own;
    * diagnostic: DIAGNOSTIC;
});

/// `CHOICE { unknown [0] IMPLICIT NULL, proposed [1] Contents-Type-Attribute }`.
struct Proposed;

impl Spot<Option<ContentsType>> for Proposed {
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
    ~ processing_mode: c(0) => ProcessingMode::READ;
    ! contents_type: Explicit(Tag::context(1), Proposed);
    ? concurrency_control: a(10);
    ? shared_ase_information: SHARED;
    ~ enable_fadu_locking: c(2) => false;
    ? activity_identifier: a(6);
    ~ recovery_mode: c(3) => RecoveryMode::None;
    ? remove_contexts: many(4, a(0));
    ? define_contexts: many(5, a(0));
    ? degree_of_overlap: a(30);
    ? transfer_window: c(7);
});

sequence!(OpenResponse {
    ~ state_result: STATE => StateResult::Success;
    ~ action_result: ACTION => ActionResult::Success;
    ! contents_type: explicit(1);
    ? concurrency_control: a(10);
    ? shared_ase_information: SHARED;
    * diagnostic: DIAGNOSTIC;
    ~ recovery_mode: c(3) => RecoveryMode::None;
    ~ presentation_action: c(6) => false;
    ? degree_of_overlap: a(30);
    ? transfer_window: c(7);
});

sequence!(Close {
    ~ action_result: ACTION => ActionResult::Success;
    ? shared_ase_information: SHARED;
    * diagnostic: DIAGNOSTIC;
});

sequence!(BeginGroupRequest {
    ! threshold: c(0);
});

sequence!(RecoverRequest {
    ! activity_identifier: a(6);
    ! bulk_transfer_number: c(0);
    ! requested_access: a(3);
    ? access_passwords: a(2);
    ~ recovery_point: c(2) => 0;
    ? remove_contexts: many(3, a(0));
    ? define_contexts: many(4, a(0));
    ? concurrent_bulk_transfer_number: c(7);
    ? concurrent_recovery_point: c(8);
    ? last_transfer_end_read_response: c(9);
    ? last_transfer_end_write_response: c(10);
});

sequence!(RecoverResponse {
    ~ state_result: STATE => StateResult::Success;
    ~ action_result: ACTION => ActionResult::Success;
    ! contents_type: explicit(1);
    ~ recovery_point: c(2) => 0;
    * diagnostic: DIAGNOSTIC;
    ~ presentation_action: c(6) => false;
    ? concurrent_recovery_point: c(8);
    ? last_transfer_end_read_request: c(9);
    ? last_transfer_end_write_request: c(10);
});

sequence!(LocateRequest {
    ! fadu_identity: Own;
    ? fadu_lock: a(16);
});

sequence!(LocateResponse {
    ~ action_result: ACTION => ActionResult::Success;
    ? fadu_identity: Own;
    * diagnostic: DIAGNOSTIC;
});

sequence!(EraseRequest {
    ! fadu_identity: Own;
});

sequence!(EraseResponse {
    ~ action_result: ACTION => ActionResult::Success;
    * diagnostic: DIAGNOSTIC;
});

enumerated!(RequestType, "0 or 1" { Read = 0, Write = 1, });

sequence!(ReadRequest {
    ! fadu_identity: Own;
    ! access_context: a(1);
    ? fadu_lock: a(16);
    ? transfer_number: c(0);
});

sequence!(WriteRequest {
    ! fadu_operation: c(0);
    ! fadu_identity: Own;
    ? fadu_lock: a(16);
    ? transfer_number: c(1);
});

sequence!(DataEnd {
    ~ action_result: ACTION => ActionResult::Success;
    * diagnostic: DIAGNOSTIC;
});

sequence!(TransferEndRequest {
    ? shared_ase_information: SHARED;
    ? request_type: a(31);
    ? transfer_number: c(0);
    ? last_transfer_end_read_response: c(1);
    ? last_transfer_end_write_response: c(2);
});

sequence!(TransferEndResponse {
    ~ action_result: ACTION => ActionResult::Success;
    ? shared_ase_information: SHARED;
    * diagnostic: DIAGNOSTIC;
    ? request_type: a(31);
    ? transfer_number: c(0);
});

sequence!(Cancel {
    ~ action_result: ACTION => ActionResult::Success;
    ? shared_ase_information: SHARED;
    * diagnostic: DIAGNOSTIC;
    ? request_type: a(31);
    ? transfer_number: c(0);
    ? last_transfer_end_read_request: c(1);
    ? last_transfer_end_read_response: c(2);
    ? last_transfer_end_write_request: c(3);
    ? last_transfer_end_write_response: c(4);
});

sequence!(Restart {
    ! checkpoint_identifier: c(0);
    ? request_type: a(31);
    ? transfer_number: c(1);
    ? last_transfer_end_read_request: c(2);
    ? last_transfer_end_read_response: c(3);
    ? last_transfer_end_write_request: c(4);
    ? last_transfer_end_write_response: c(5);
});

sequence!(ChangePrefixRequest {
    ~ reset: c(0) => false;
    ! destination_file_directory: DESTINATION;
    ? access_passwords: a(2);
    ? path_access_passwords: PATH_PASSWORDS;
});

sequence!(ChangePrefixResponse {
    ~ action_result: ACTION => ActionResult::Success;
    ? destination_file_directory: DESTINATION;
    * diagnostic: DIAGNOSTIC;
});

sequence!(ListRequest {
    ! attribute_value_assertions: ASSERTIONS;
    ! scope: SCOPES;
    ? access_passwords: a(2);
    ? path_access_passwords: PATH_PASSWORDS;
    ! attribute_names: c(0);
    ? attribute_extension_names: many(1, Own);
});

sequence!(ListResponse {
    ~ action_result: ACTION => ActionResult::Success;
    ? objects: Many(Tag::application(25), Own, MOST_OBJECTS);
    * diagnostic: DIAGNOSTIC;
});

/// One without fields.
struct Empty;

sequence!(Empty {});

impl Empty {
    fn parse(element: &Element<'_>, fpdu: Fpdu) -> Result<Fpdu, Malformed> {
        let Self = Content::parse(element)?;
        Ok(fpdu)
    }
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
