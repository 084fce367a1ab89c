//! Files: selecting, creating, deleting, attributes, opening, closing, groups, recovery, locating and erasing.

use core::fmt;

use super::access::{AccessPasswords, ConcurrencyControl, FaduIdentity, FaduLock};
use super::attributes::{ChangeAttributes, CreateAttributes, ExtensionNames, Pathname, ReadAttributes};
use super::contents::ContentsType;
use super::regime::Charge;
use super::{
    AccessRequest, ActionResult, AttributeNames, Diagnostic, External, GraphicString, Password, ProcessingMode,
    StateResult,
};
use crate::Oid;

/// F-SELECT request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SelectRequest {
    /// Which file: the only attribute that selects.
    pub pathname: Pathname,
    /// What is to be done with it.
    pub requested_access: AccessRequest,
    /// The passwords of what is to be done.
    pub access_passwords: Option<Box<AccessPasswords>>,
    /// Those of the directories of its name; version 2.
    pub path_access_passwords: Option<Vec<AccessPasswords>>,
    /// Locks.
    pub concurrency_control: Option<ConcurrencyControl>,
    /// Commitment control.
    pub shared_ase_information: Option<External>,
    /// Who pays.
    pub account: Option<GraphicString>,
}

/// F-SELECT response.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SelectResponse {
    /// Whether a file is selected now.
    pub state_result: StateResult,
    /// Whether what was asked for was done.
    pub action_result: ActionResult,
    /// Which file it is.
    pub pathname: Pathname,
    /// Whether a reference was followed; version 2.
    pub referent_indicator: Option<bool>,
    /// Commitment control.
    pub shared_ase_information: Option<External>,
    /// Why not. Empty: not said.
    pub diagnostic: Vec<Diagnostic>,
}

/// F-DESELECT request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeselectRequest {
    /// Commitment control.
    pub shared_ase_information: Option<External>,
}

/// F-DESELECT response.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeselectResponse {
    /// Whether all that was done is done.
    pub action_result: ActionResult,
    /// What it cost. Only if the request to select named an account.
    pub charging: Option<Vec<Charge>>,
    /// Commitment control.
    pub shared_ase_information: Option<External>,
    /// Why not. Empty: not said.
    pub diagnostic: Vec<Diagnostic>,
}

/// What F-CREATE does where there is an object of this name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Override {
    /// It fails.
    #[default]
    CreateFailure,
    /// It selects that object.
    SelectOldObject,
    /// It empties that object and keeps its attributes.
    DeleteAndCreateWithOldAttributes,
    /// It deletes that object and creates another one.
    DeleteAndCreateWithNewAttributes,
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CreateFailure => "fail",
            Self::SelectOldObject => "select the old one",
            Self::DeleteAndCreateWithOldAttributes => "create again with old attributes",
            Self::DeleteAndCreateWithNewAttributes => "create again with new attributes",
        })
    }
}

/// F-CREATE request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CreateRequest {
    /// What to do where there is such an object.
    pub override_: Override,
    /// The attributes that it is to have.
    pub initial_attributes: CreateAttributes,
    /// The password that creating asks for.
    pub create_password: Option<Password>,
    /// What is to be done with it.
    pub requested_access: AccessRequest,
    /// The passwords of what is to be done, where it exists.
    pub access_passwords: Option<Box<AccessPasswords>>,
    /// Those of the directories of its name; version 2.
    pub path_access_passwords: Option<Vec<AccessPasswords>>,
    /// Locks.
    pub concurrency_control: Option<ConcurrencyControl>,
    /// Commitment control.
    pub shared_ase_information: Option<External>,
    /// Who pays.
    pub account: Option<GraphicString>,
}

/// F-CREATE response.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CreateResponse {
    /// Whether a file is selected now.
    pub state_result: StateResult,
    /// Whether it was created.
    pub action_result: ActionResult,
    /// The attributes that it has.
    pub initial_attributes: CreateAttributes,
    /// Commitment control.
    pub shared_ase_information: Option<External>,
    /// Why not. Empty: not said.
    pub diagnostic: Vec<Diagnostic>,
}

/// F-DELETE request. Whatever comes of it, the file is not selected any more.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeleteRequest {
    /// Commitment control.
    pub shared_ase_information: Option<External>,
}

/// F-DELETE response.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeleteResponse {
    /// Whether it is deleted.
    pub action_result: ActionResult,
    /// Commitment control.
    pub shared_ase_information: Option<External>,
    /// What it cost. Only if the request to select named an account.
    pub charging: Option<Vec<Charge>>,
    /// Why not. Empty: not said.
    pub diagnostic: Vec<Diagnostic>,
}

/// F-READ-ATTRIB request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReadAttribRequest {
    /// Which attributes.
    pub attribute_names: AttributeNames,
    /// Which extensions; version 2.
    pub attribute_extension_names: Option<Vec<ExtensionNames>>,
}

/// F-READ-ATTRIB response.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReadAttribResponse {
    /// Whether they could be read.
    pub action_result: ActionResult,
    /// What they are.
    pub attributes: Option<Box<ReadAttributes>>,
    /// Why not. Empty: not said.
    pub diagnostic: Vec<Diagnostic>,
}

/// F-CHANGE-ATTRIB request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChangeAttribRequest {
    /// What they are to be; one at least.
    pub attributes: ChangeAttributes,
}

/// F-CHANGE-ATTRIB response.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChangeAttribResponse {
    /// Whether they were changed.
    pub action_result: ActionResult,
    /// What they are now, if the responder tells.
    pub attributes: Option<Box<ChangeAttributes>>,
    /// Why not. Empty: not said.
    pub diagnostic: Vec<Diagnostic>,
}

/// How an open file can be recovered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum RecoveryMode {
    /// Not at all.
    #[default]
    None,
    /// From its start.
    AtStartOfFile,
    /// From any checkpoint that is active.
    AtAnyActiveCheckpoint,
}

impl fmt::Display for RecoveryMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::AtStartOfFile => "at the start of the file",
            Self::AtAnyActiveCheckpoint => "at any active checkpoint",
        })
    }
}

/// How transfers follow each other while a file is open.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum DegreeOfOverlap {
    /// One ends before the next begins.
    #[default]
    Normal,
    /// The next is asked for before one ends.
    Consecutive,
    /// Reading and writing at the same time.
    Concurrent,
}

impl fmt::Display for DegreeOfOverlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Normal => "normal",
            Self::Consecutive => "consecutive",
            Self::Concurrent => "concurrent",
        })
    }
}

/// F-OPEN request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenRequest {
    /// What it is open for.
    pub processing_mode: ProcessingMode,
    /// As what it is opened; absent: as whatever it is, `unknown`.
    pub contents_type: Option<ContentsType>,
    /// Locks while it is open.
    pub concurrency_control: Option<ConcurrencyControl>,
    /// Commitment control.
    pub shared_ase_information: Option<External>,
    /// Whether single file access data units may be locked.
    pub enable_fadu_locking: bool,
    /// By which number the transfer is known later, for recovery.
    pub activity_identifier: Option<i64>,
    /// How it can be recovered.
    pub recovery_mode: RecoveryMode,
    /// Abstract syntaxes whose contexts go.
    pub remove_contexts: Option<Vec<Oid>>,
    /// Abstract syntaxes for which contexts are wanted.
    pub define_contexts: Option<Vec<Oid>>,
    /// How transfers follow each other.
    pub degree_of_overlap: Option<DegreeOfOverlap>,
    /// Transfers in progress at most.
    pub transfer_window: Option<i64>,
}

/// For reading, as whatever the file is.
impl Default for OpenRequest {
    fn default() -> Self {
        Self {
            processing_mode: ProcessingMode::READ,
            contents_type: None,
            concurrency_control: None,
            shared_ase_information: None,
            enable_fadu_locking: false,
            activity_identifier: None,
            recovery_mode: RecoveryMode::None,
            remove_contexts: None,
            define_contexts: None,
            degree_of_overlap: None,
            transfer_window: None,
        }
    }
}

/// F-OPEN response.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OpenResponse {
    /// Whether the file is open now.
    pub state_result: StateResult,
    /// Whether what was asked for was done.
    pub action_result: ActionResult,
    /// As what it is open.
    pub contents_type: ContentsType,
    /// The locks that are set.
    pub concurrency_control: Option<ConcurrencyControl>,
    /// Commitment control.
    pub shared_ase_information: Option<External>,
    /// Why not. Empty: not said.
    pub diagnostic: Vec<Diagnostic>,
    /// How it can be recovered.
    pub recovery_mode: RecoveryMode,
    /// Whether the responder will now alter presentation contexts.
    pub presentation_action: bool,
    /// How transfers follow each other.
    pub degree_of_overlap: Option<DegreeOfOverlap>,
    /// Transfers in progress at most.
    pub transfer_window: Option<i64>,
}

/// F-CLOSE, request or response.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Close {
    /// Whether all that was done is done.
    pub action_result: ActionResult,
    /// Commitment control.
    pub shared_ase_information: Option<External>,
    /// Why not. Empty: not said.
    pub diagnostic: Vec<Diagnostic>,
}

/// F-BEGIN-GROUP request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BeginGroupRequest {
    /// Members of the group that are to succeed, or none is to have an effect.
    pub threshold: i64,
}

/// F-RECOVER request: opens again what was open when an association broke.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RecoverRequest {
    /// The number given when it was opened.
    pub activity_identifier: i64,
    /// Which transfer of those since then, from 1; the reading one of two at the same time.
    pub bulk_transfer_number: i64,
    /// What is to be done with the file.
    pub requested_access: AccessRequest,
    /// The passwords of what is to be done.
    pub access_passwords: Option<Box<AccessPasswords>>,
    /// The checkpoint to begin from. 0 is the start of the file, one more than the last checkpoint its end.
    pub recovery_point: i64,
    /// Abstract syntaxes whose contexts go.
    pub remove_contexts: Option<Vec<Oid>>,
    /// Abstract syntaxes for which contexts are wanted.
    pub define_contexts: Option<Vec<Oid>>,
    /// Which writing transfer, of two at the same time.
    pub concurrent_bulk_transfer_number: Option<i64>,
    /// Its checkpoint.
    pub concurrent_recovery_point: Option<i64>,
    /// The last transfer of reading that ended with a response.
    pub last_transfer_end_read_response: Option<i64>,
    /// The last transfer of writing that ended with a response.
    pub last_transfer_end_write_response: Option<i64>,
}

/// F-RECOVER response.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RecoverResponse {
    /// Whether the file is open now.
    pub state_result: StateResult,
    /// Whether what was asked for was done.
    pub action_result: ActionResult,
    /// As what it is open.
    pub contents_type: ContentsType,
    /// The checkpoint to begin from.
    pub recovery_point: i64,
    /// Why not. Empty: not said.
    pub diagnostic: Vec<Diagnostic>,
    /// Whether the responder will now alter presentation contexts.
    pub presentation_action: bool,
    /// The checkpoint of the writing transfer, of two at the same time.
    pub concurrent_recovery_point: Option<i64>,
    /// The last transfer of reading that was asked to end.
    pub last_transfer_end_read_request: Option<i64>,
    /// The last transfer of writing that was asked to end.
    pub last_transfer_end_write_request: Option<i64>,
}

/// F-LOCATE request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LocateRequest {
    /// Which file access data unit.
    pub fadu_identity: FaduIdentity,
    /// Whether it is locked.
    pub fadu_lock: Option<FaduLock>,
}

/// F-LOCATE response.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LocateResponse {
    /// Whether it was found.
    pub action_result: ActionResult,
    /// Which it is.
    pub fadu_identity: Option<FaduIdentity>,
    /// Why not. Empty: not said.
    pub diagnostic: Vec<Diagnostic>,
}

/// F-ERASE request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EraseRequest {
    /// Which file access data unit.
    pub fadu_identity: FaduIdentity,
}

/// F-ERASE response.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EraseResponse {
    /// Whether it was erased.
    pub action_result: ActionResult,
    /// Why not. Empty: not said.
    pub diagnostic: Vec<Diagnostic>,
}
