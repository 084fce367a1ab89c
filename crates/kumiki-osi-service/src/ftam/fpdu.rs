//! Every FPDU of ISO 8571-4: its name, its number, and its fields.

use core::fmt;

use super::bulk::{Cancel, DataEnd, ReadRequest, Restart, TransferEndRequest, TransferEndResponse, WriteRequest};
use super::file::{
    BeginGroupRequest, ChangeAttribRequest, ChangeAttribResponse, Close, CreateRequest, CreateResponse, DeleteRequest,
    DeleteResponse, DeselectRequest, DeselectResponse, EraseRequest, EraseResponse, LocateRequest, LocateResponse,
    OpenRequest, OpenResponse, ReadAttribRequest, ReadAttribResponse, RecoverRequest, RecoverResponse, SelectRequest,
    SelectResponse,
};
use super::management::{ChangePrefixRequest, ChangePrefixResponse, ListRequest, ListResponse};
use super::regime::{Abort, InitializeRequest, InitializeResponse, TerminateRequest, TerminateResponse};
use super::{ActionResult, Diagnostic, StateResult};

/// The kinds, from one row each.
macro_rules! kinds {
    ($($kind:ident = $number:literal, $name:literal;)*) => {
        /// Which FPDU.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[expect(missing_docs, reason = "each is named as the standard does, and so shown")]
        pub enum Kind { $($kind,)* }

        impl Kind {
            /// All of them, by number.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// The number of its context tag.
            #[must_use]
            pub const fn tag(self) -> u32 {
                match self { $(Self::$kind => $number,)* }
            }

            /// The one of this number.
            #[must_use]
            pub const fn of(tag: u32) -> Option<Self> {
                match tag { $($number => Some(Self::$kind),)* _ => None }
            }

            /// Its name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }
        }
    };
}

kinds! {
    InitializeRequest = 0, "F-INITIALIZE request";
    InitializeResponse = 1, "F-INITIALIZE response";
    TerminateRequest = 2, "F-TERMINATE request";
    TerminateResponse = 3, "F-TERMINATE response";
    UserAbort = 4, "F-U-ABORT request";
    ProviderAbort = 5, "F-P-ABORT request";
    SelectRequest = 6, "F-SELECT request";
    SelectResponse = 7, "F-SELECT response";
    DeselectRequest = 8, "F-DESELECT request";
    DeselectResponse = 9, "F-DESELECT response";
    CreateRequest = 10, "F-CREATE request";
    CreateResponse = 11, "F-CREATE response";
    DeleteRequest = 12, "F-DELETE request";
    DeleteResponse = 13, "F-DELETE response";
    ReadAttribRequest = 14, "F-READ-ATTRIB request";
    ReadAttribResponse = 15, "F-READ-ATTRIB response";
    ChangeAttribRequest = 16, "F-CHANGE-ATTRIB request";
    ChangeAttribResponse = 17, "F-CHANGE-ATTRIB response";
    OpenRequest = 18, "F-OPEN request";
    OpenResponse = 19, "F-OPEN response";
    CloseRequest = 20, "F-CLOSE request";
    CloseResponse = 21, "F-CLOSE response";
    BeginGroupRequest = 22, "F-BEGIN-GROUP request";
    BeginGroupResponse = 23, "F-BEGIN-GROUP response";
    EndGroupRequest = 24, "F-END-GROUP request";
    EndGroupResponse = 25, "F-END-GROUP response";
    RecoverRequest = 26, "F-RECOVER request";
    RecoverResponse = 27, "F-RECOVER response";
    LocateRequest = 28, "F-LOCATE request";
    LocateResponse = 29, "F-LOCATE response";
    EraseRequest = 30, "F-ERASE request";
    EraseResponse = 31, "F-ERASE response";
    ReadRequest = 32, "F-READ request";
    WriteRequest = 33, "F-WRITE request";
    DataEndRequest = 34, "F-DATA-END request";
    TransferEndRequest = 35, "F-TRANSFER-END request";
    TransferEndResponse = 36, "F-TRANSFER-END response";
    CancelRequest = 37, "F-CANCEL request";
    CancelResponse = 38, "F-CANCEL response";
    RestartRequest = 39, "F-RESTART request";
    RestartResponse = 40, "F-RESTART response";
    ChangePrefixRequest = 41, "F-CHANGE-PREFIX request";
    ChangePrefixResponse = 42, "F-CHANGE-PREFIX response";
    ListRequest = 43, "F-LIST request";
    ListResponse = 44, "F-LIST response";
    GroupSelectRequest = 45, "F-GROUP-SELECT request";
    GroupSelectResponse = 46, "F-GROUP-SELECT response";
    GroupDeleteRequest = 47, "F-GROUP-DELETE request";
    GroupDeleteResponse = 48, "F-GROUP-DELETE response";
    GroupMoveRequest = 49, "F-GROUP-MOVE request";
    GroupMoveResponse = 50, "F-GROUP-MOVE response";
    GroupCopyRequest = 51, "F-GROUP-COPY request";
    GroupCopyResponse = 52, "F-GROUP-COPY response";
    GroupListRequest = 53, "F-GROUP-LIST request";
    GroupListResponse = 54, "F-GROUP-LIST response";
    GroupChangeAttribRequest = 55, "F-GROUP-CHANGE-ATTRIB request";
    GroupChangeAttribResponse = 56, "F-GROUP-CHANGE-ATTRIB response";
    SelectAnotherRequest = 57, "F-SELECT-ANOTHER request";
    SelectAnotherResponse = 58, "F-SELECT-ANOTHER response";
    CreateDirectoryRequest = 59, "F-CREATE-DIRECTORY request";
    CreateDirectoryResponse = 60, "F-CREATE-DIRECTORY response";
    LinkRequest = 61, "F-LINK request";
    LinkResponse = 62, "F-LINK response";
    UnlinkRequest = 63, "F-UNLINK request";
    UnlinkResponse = 64, "F-UNLINK response";
    ReadLinkAttribRequest = 65, "F-READ-LINK-ATTRIB request";
    ReadLinkAttribResponse = 66, "F-READ-LINK-ATTRIB response";
    ChangeLinkAttribRequest = 67, "F-CHANGE-LINK-ATTRIB request";
    ChangeLinkAttribResponse = 68, "F-CHANGE-LINK-ATTRIB response";
    MoveRequest = 69, "F-MOVE request";
    MoveResponse = 70, "F-MOVE response";
    CopyRequest = 71, "F-COPY request";
    CopyResponse = 72, "F-COPY response";
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Kind {
    /// Whether its fields are read: those of groups, directories, links, moving and copying (45 and above) are not.
    #[must_use]
    pub const fn is_read(self) -> bool {
        self.tag() < 45
    }
}

/// An FPDU whose fields are not read: its content octets, elements of BER one after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Raw {
    /// Which one. One that [is read](Kind::is_read) has no place here.
    pub kind: Kind,
    /// Its content octets.
    pub content: Vec<u8>,
}

/// One FPDU, and so one F-service primitive.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "each is named as the standard does, and its fields are described at their types")]
pub enum Fpdu {
    InitializeRequest(Box<InitializeRequest>),
    InitializeResponse(Box<InitializeResponse>),
    TerminateRequest(Box<TerminateRequest>),
    TerminateResponse(Box<TerminateResponse>),
    UserAbort(Box<Abort>),
    ProviderAbort(Box<Abort>),
    SelectRequest(Box<SelectRequest>),
    SelectResponse(Box<SelectResponse>),
    DeselectRequest(Box<DeselectRequest>),
    DeselectResponse(Box<DeselectResponse>),
    CreateRequest(Box<CreateRequest>),
    CreateResponse(Box<CreateResponse>),
    DeleteRequest(Box<DeleteRequest>),
    DeleteResponse(Box<DeleteResponse>),
    ReadAttribRequest(Box<ReadAttribRequest>),
    ReadAttribResponse(Box<ReadAttribResponse>),
    ChangeAttribRequest(Box<ChangeAttribRequest>),
    ChangeAttribResponse(Box<ChangeAttribResponse>),
    OpenRequest(Box<OpenRequest>),
    OpenResponse(Box<OpenResponse>),
    CloseRequest(Box<Close>),
    CloseResponse(Box<Close>),
    BeginGroupRequest(BeginGroupRequest),
    BeginGroupResponse,
    EndGroupRequest,
    EndGroupResponse,
    RecoverRequest(Box<RecoverRequest>),
    RecoverResponse(Box<RecoverResponse>),
    LocateRequest(Box<LocateRequest>),
    LocateResponse(Box<LocateResponse>),
    EraseRequest(Box<EraseRequest>),
    EraseResponse(Box<EraseResponse>),
    ReadRequest(Box<ReadRequest>),
    WriteRequest(Box<WriteRequest>),
    DataEndRequest(Box<DataEnd>),
    TransferEndRequest(Box<TransferEndRequest>),
    TransferEndResponse(Box<TransferEndResponse>),
    CancelRequest(Box<Cancel>),
    CancelResponse(Box<Cancel>),
    RestartRequest(Box<Restart>),
    RestartResponse(Box<Restart>),
    ChangePrefixRequest(Box<ChangePrefixRequest>),
    ChangePrefixResponse(Box<ChangePrefixResponse>),
    ListRequest(Box<ListRequest>),
    ListResponse(Box<ListResponse>),
    Raw(Raw),
}

/// What an FPDU says of how something ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FpduResult<'a> {
    /// Whether a regime was entered, of those that enter one.
    pub state_result: Option<StateResult>,
    /// Whether what was asked for was done.
    pub action_result: ActionResult,
    /// Why not.
    pub diagnostic: &'a [Diagnostic],
}

impl Fpdu {
    /// Which one it is.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::InitializeRequest(_) => Kind::InitializeRequest,
            Self::InitializeResponse(_) => Kind::InitializeResponse,
            Self::TerminateRequest(_) => Kind::TerminateRequest,
            Self::TerminateResponse(_) => Kind::TerminateResponse,
            Self::UserAbort(_) => Kind::UserAbort,
            Self::ProviderAbort(_) => Kind::ProviderAbort,
            Self::SelectRequest(_) => Kind::SelectRequest,
            Self::SelectResponse(_) => Kind::SelectResponse,
            Self::DeselectRequest(_) => Kind::DeselectRequest,
            Self::DeselectResponse(_) => Kind::DeselectResponse,
            Self::CreateRequest(_) => Kind::CreateRequest,
            Self::CreateResponse(_) => Kind::CreateResponse,
            Self::DeleteRequest(_) => Kind::DeleteRequest,
            Self::DeleteResponse(_) => Kind::DeleteResponse,
            Self::ReadAttribRequest(_) => Kind::ReadAttribRequest,
            Self::ReadAttribResponse(_) => Kind::ReadAttribResponse,
            Self::ChangeAttribRequest(_) => Kind::ChangeAttribRequest,
            Self::ChangeAttribResponse(_) => Kind::ChangeAttribResponse,
            Self::OpenRequest(_) => Kind::OpenRequest,
            Self::OpenResponse(_) => Kind::OpenResponse,
            Self::CloseRequest(_) => Kind::CloseRequest,
            Self::CloseResponse(_) => Kind::CloseResponse,
            Self::BeginGroupRequest(_) => Kind::BeginGroupRequest,
            Self::BeginGroupResponse => Kind::BeginGroupResponse,
            Self::EndGroupRequest => Kind::EndGroupRequest,
            Self::EndGroupResponse => Kind::EndGroupResponse,
            Self::RecoverRequest(_) => Kind::RecoverRequest,
            Self::RecoverResponse(_) => Kind::RecoverResponse,
            Self::LocateRequest(_) => Kind::LocateRequest,
            Self::LocateResponse(_) => Kind::LocateResponse,
            Self::EraseRequest(_) => Kind::EraseRequest,
            Self::EraseResponse(_) => Kind::EraseResponse,
            Self::ReadRequest(_) => Kind::ReadRequest,
            Self::WriteRequest(_) => Kind::WriteRequest,
            Self::DataEndRequest(_) => Kind::DataEndRequest,
            Self::TransferEndRequest(_) => Kind::TransferEndRequest,
            Self::TransferEndResponse(_) => Kind::TransferEndResponse,
            Self::CancelRequest(_) => Kind::CancelRequest,
            Self::CancelResponse(_) => Kind::CancelResponse,
            Self::RestartRequest(_) => Kind::RestartRequest,
            Self::RestartResponse(_) => Kind::RestartResponse,
            Self::ChangePrefixRequest(_) => Kind::ChangePrefixRequest,
            Self::ChangePrefixResponse(_) => Kind::ChangePrefixResponse,
            Self::ListRequest(_) => Kind::ListRequest,
            Self::ListResponse(_) => Kind::ListResponse,
            Self::Raw(raw) => raw.kind,
        }
    }

    /// How something ended, of those FPDUs that say so.
    #[must_use]
    pub fn outcome(&self) -> Option<FpduResult<'_>> {
        /// Of one that enters a regime.
        macro_rules! entering {
            ($one:expr) => {
                Some(FpduResult {
                    state_result: Some($one.state_result),
                    action_result: $one.action_result,
                    diagnostic: &$one.diagnostic,
                })
            };
        }
        /// Of any other.
        macro_rules! acting {
            ($one:expr) => {
                Some(FpduResult { state_result: None, action_result: $one.action_result, diagnostic: &$one.diagnostic })
            };
        }
        match self {
            Self::InitializeResponse(one) => entering!(one),
            Self::SelectResponse(one) => entering!(one),
            Self::CreateResponse(one) => entering!(one),
            Self::OpenResponse(one) => entering!(one),
            Self::RecoverResponse(one) => entering!(one),
            Self::UserAbort(one) | Self::ProviderAbort(one) => acting!(one),
            Self::DeselectResponse(one) => acting!(one),
            Self::DeleteResponse(one) => acting!(one),
            Self::ReadAttribResponse(one) => acting!(one),
            Self::ChangeAttribResponse(one) => acting!(one),
            Self::CloseRequest(one) | Self::CloseResponse(one) => acting!(one),
            Self::LocateResponse(one) => acting!(one),
            Self::EraseResponse(one) => acting!(one),
            Self::DataEndRequest(one) => acting!(one),
            Self::TransferEndResponse(one) => acting!(one),
            Self::CancelRequest(one) | Self::CancelResponse(one) => acting!(one),
            Self::ChangePrefixResponse(one) => acting!(one),
            Self::ListResponse(one) => acting!(one),
            Self::InitializeRequest(_)
            | Self::TerminateRequest(_)
            | Self::TerminateResponse(_)
            | Self::SelectRequest(_)
            | Self::DeselectRequest(_)
            | Self::CreateRequest(_)
            | Self::DeleteRequest(_)
            | Self::ReadAttribRequest(_)
            | Self::ChangeAttribRequest(_)
            | Self::OpenRequest(_)
            | Self::BeginGroupRequest(_)
            | Self::BeginGroupResponse
            | Self::EndGroupRequest
            | Self::EndGroupResponse
            | Self::RecoverRequest(_)
            | Self::LocateRequest(_)
            | Self::EraseRequest(_)
            | Self::ReadRequest(_)
            | Self::WriteRequest(_)
            | Self::TransferEndRequest(_)
            | Self::RestartRequest(_)
            | Self::RestartResponse(_)
            | Self::ChangePrefixRequest(_)
            | Self::ListRequest(_)
            | Self::Raw(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_run_from_0_to_72() {
        let tags: Vec<u32> = Kind::ALL.iter().map(|kind| kind.tag()).collect();
        assert_eq!(tags, (0..=72).collect::<Vec<_>>());
        assert_eq!(Kind::of(35), Some(Kind::TransferEndRequest));
        assert_eq!(Kind::of(73), None);
    }

    #[test]
    fn a_failure_says_why_whichever_fpdu_has_it() {
        let diagnostic = vec![Diagnostic { error_identifier: 3004, ..Diagnostic::default() }];
        let refused = Fpdu::SelectResponse(Box::new(SelectResponse {
            state_result: StateResult::Failure,
            action_result: ActionResult::PermanentError,
            diagnostic: diagnostic.clone(),
            ..SelectResponse::default()
        }));
        let outcome = refused.outcome().unwrap();
        assert_eq!(outcome.state_result, Some(StateResult::Failure));
        assert_eq!(outcome.diagnostic, diagnostic);
        assert_eq!(Fpdu::EndGroupRequest.outcome(), None);
    }

    #[test]
    fn a_primitive_stays_small_when_it_is_moved() {
        assert!(size_of::<Fpdu>() <= 32, "{}", size_of::<Fpdu>());
    }
}
