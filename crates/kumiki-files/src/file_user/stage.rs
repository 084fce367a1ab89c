//! Of which services an operation is made.

use std::collections::VecDeque;

use kumiki_osi_service::ftam::access::{AccessContext, FaduIdentity, FaduOperation};
use kumiki_osi_service::ftam::attributes::{ChangeAttributes, CreateAttributes};
use kumiki_osi_service::ftam::bulk::{ReadRequest, WriteRequest};
use kumiki_osi_service::ftam::contents::ContentsType;
use kumiki_osi_service::ftam::file::{
    ChangeAttribRequest, CreateRequest, OpenRequest, Override, ReadAttribRequest, RecoveryMode, SelectRequest,
};
use kumiki_osi_service::ftam::{
    AccessRequest, AttributeGroups, AttributeNames, Fpdu, FunctionalUnits, PermittedActions, ProcessingMode, oids,
};

use super::{Operation, PutMode};

/// A step of an operation.
#[derive(Debug)]
pub(super) enum Stage {
    /// Requests with responses, in a group if there can be one.
    Ask(Vec<Fpdu>),
    /// F-READ and what follows, to the response to F-TRANSFER-END.
    Read(ReadRequest),
    /// F-WRITE and what follows.
    Write(WriteRequest),
}

/// What entries of a directory are to say.
const ENTRIES: AttributeNames = AttributeNames::PATHNAME
    .with(AttributeNames::PERMITTED_ACTIONS)
    .with(AttributeNames::CONTENTS_TYPE)
    .with(AttributeNames::CREATED)
    .with(AttributeNames::MODIFIED)
    .with(AttributeNames::READ)
    .with(AttributeNames::SIZE);

/// What is to be possible with a new file: what ISODE's client asks for, but for going through it.
const ACTIONS: PermittedActions = PermittedActions::READ
    .with(PermittedActions::REPLACE)
    .with(PermittedActions::EXTEND)
    .with(PermittedActions::READ_ATTRIBUTE)
    .with(PermittedActions::CHANGE_ATTRIBUTE)
    .with(PermittedActions::DELETE);

const DIRECTORY_ACTIONS: PermittedActions = PermittedActions::READ
    .with(PermittedActions::READ_ATTRIBUTE)
    .with(PermittedActions::CHANGE_ATTRIBUTE)
    .with(PermittedActions::DELETE);

fn select(name: &str, requested_access: AccessRequest) -> Fpdu {
    Fpdu::SelectRequest(Box::new(SelectRequest { pathname: name.into(), requested_access, ..SelectRequest::default() }))
}

fn create(
    name: &str,
    contents_type: ContentsType,
    permitted_actions: PermittedActions,
    override_: Override,
    requested_access: AccessRequest,
) -> Fpdu {
    Fpdu::CreateRequest(Box::new(CreateRequest {
        override_,
        initial_attributes: CreateAttributes {
            pathname: name.into(),
            permitted_actions,
            contents_type,
            ..CreateAttributes::default()
        },
        requested_access,
        ..CreateRequest::default()
    }))
}

fn open(processing_mode: ProcessingMode, contents_type: Option<ContentsType>, activity: Option<i64>) -> Fpdu {
    Fpdu::OpenRequest(Box::new(OpenRequest {
        processing_mode,
        contents_type,
        activity_identifier: activity,
        recovery_mode: if activity.is_some() { RecoveryMode::AtAnyActiveCheckpoint } else { RecoveryMode::None },
        ..OpenRequest::default()
    }))
}

fn read_attributes(attribute_names: AttributeNames) -> Fpdu {
    Fpdu::ReadAttribRequest(Box::new(ReadAttribRequest { attribute_names, attribute_extension_names: None }))
}

/// F-CLOSE and F-DESELECT, as far as they are needed.
pub(super) fn leaving(selected: bool, open: bool) -> Vec<Fpdu> {
    let mut fpdus = Vec::new();
    if open {
        fpdus.push(Fpdu::CloseRequest(Box::default()));
    }
    if selected {
        fpdus.push(Fpdu::DeselectRequest(Box::default()));
    }
    fpdus
}

/// Reading a whole file. FTAM-2 as well: its records come without structure.
fn reading() -> Stage {
    Stage::Read(ReadRequest {
        fadu_identity: FaduIdentity::First,
        access_context: AccessContext::UnstructuredAll,
        ..ReadRequest::default()
    })
}

/// To the file that is written, and writing it.
fn putting(
    units: FunctionalUnits,
    name: &str,
    (contents_type, mode): (&ContentsType, PutMode),
    activity: Option<i64>,
) -> [Stage; 2] {
    use AccessRequest as Access;
    use ProcessingMode as Mode;
    let (mut access, mut processing, mut operation, over) = match mode {
        PutMode::New => (Access::REPLACE, Mode::REPLACE, FaduOperation::Replace, Override::CreateFailure),
        PutMode::Replace => {
            (Access::REPLACE, Mode::REPLACE, FaduOperation::Replace, Override::DeleteAndCreateWithOldAttributes)
        }
        PutMode::Append => (Access::EXTEND, Mode::EXTEND, FaduOperation::Extend, Override::SelectOldObject),
    };
    let mut actions = ACTIONS;
    let mut fadu_identity = FaduIdentity::First;
    if contents_type.document_type() == Some(oids::FTAM_2) {
        // Records are only inserted, at the end; a new file is empty.
        (access, processing) = (Access::INSERT, Mode::INSERT);
        (operation, fadu_identity) = (FaduOperation::Insert, FaduIdentity::End);
        actions |= PermittedActions::INSERT;
    }
    let enter = if units.contains(FunctionalUnits::LIMITED_FILE_MANAGEMENT) {
        create(name, contents_type.clone(), actions, over, access)
    } else {
        select(name, access)
    };
    let open = open(processing, Some(contents_type.clone()), activity);
    let write = WriteRequest { fadu_operation: operation, fadu_identity, ..WriteRequest::default() };
    [Stage::Ask(vec![enter, open]), Stage::Write(write)]
}

/// The steps of an operation, with these functional units and groups of attributes. `activity` is the number by which
/// its transfer can be recovered, if it can.
///
/// # Errors
/// The functional unit that it needs and that was not agreed.
pub(super) fn stages(
    operation: &Operation,
    units: FunctionalUnits,
    groups: AttributeGroups,
    activity: Option<i64>,
) -> Result<VecDeque<Stage>, FunctionalUnits> {
    use AccessRequest as Access;
    use FunctionalUnits as U;
    let needs = |unit: FunctionalUnits| {
        if units.contains(unit) { Ok(()) } else { Err(unit) }
    };
    let leave = || Stage::Ask(leaving(true, true));
    Ok(match operation {
        Operation::Get { name, contents_type, .. } => {
            needs(U::READ)?;
            let open = open(ProcessingMode::READ, contents_type.clone(), activity);
            [Stage::Ask(vec![select(name, Access::READ), open]), reading(), leave()].into()
        }
        Operation::List { name } => {
            needs(U::READ)?;
            let open = open(ProcessingMode::READ, Some(ContentsType::directory(ENTRIES)), None);
            [Stage::Ask(vec![select(name, Access::READ), open]), reading(), leave()].into()
        }
        Operation::Put { name, contents_type, mode, .. } => {
            needs(U::WRITE)?;
            let [enter, write] = putting(units, name, (contents_type, *mode), activity);
            [enter, write, leave()].into()
        }
        Operation::Stat { name } => {
            needs(U::LIMITED_FILE_MANAGEMENT)?;
            let mut group = vec![select(name, Access::READ_ATTRIBUTE), read_attributes(groups.names())];
            group.extend(leaving(true, false));
            [Stage::Ask(group)].into()
        }
        Operation::Rename { name, to } => {
            needs(U::ENHANCED_FILE_MANAGEMENT)?;
            let change = ChangeAttribRequest {
                attributes: ChangeAttributes { pathname: Some(to.as_str().into()), ..ChangeAttributes::default() },
            };
            let mut group = vec![select(name, Access::CHANGE_ATTRIBUTE), Fpdu::ChangeAttribRequest(Box::new(change))];
            group.extend(leaving(true, false));
            [Stage::Ask(group)].into()
        }
        Operation::Remove { name } => {
            needs(U::LIMITED_FILE_MANAGEMENT)?;
            let delete = Fpdu::DeleteRequest(Box::default());
            [Stage::Ask(vec![select(name, Access::DELETE), delete])].into()
        }
        Operation::MakeDirectory { name } => {
            needs(U::LIMITED_FILE_MANAGEMENT)?;
            let directory = ContentsType::directory(ENTRIES);
            let access = Access::READ_ATTRIBUTE;
            let over = Override::CreateFailure;
            let mut group = vec![create(name, directory, DIRECTORY_ACTIONS, over, access)];
            group.extend(leaving(true, false));
            [Stage::Ask(group)].into()
        }
    })
}
