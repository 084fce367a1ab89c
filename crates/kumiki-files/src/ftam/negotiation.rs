//! What F-INITIALIZE agrees on: one service class, and of functional units, attribute groups and contents types what
//! both sides have.
//!
//! | class | must have | may have |
//! |---|---|---|
//! | transfer | grouping; read or write | limited and enhanced management, recovery, restart |
//! | management | limited management, grouping | enhanced management |
//! | transfer-and-management | limited management, grouping; read or write | enhanced management, recovery, restart |
//! | access | read, write, file access | all others |
//! | unconstrained | nothing | all |
//!
//! ISO 8571-3, section on service classes, recalled; the mandatory units of the first four are those that ISODE asks
//! for. Enhanced management needs limited management. The functional units of filestore management and below are those
//! of version 2.

use kumiki_osi_service::ftam::contents::ContentsTypeName;
use kumiki_osi_service::ftam::regime::{InitializeRequest, InitializeResponse, QualityOfService};
use kumiki_osi_service::ftam::{
    ActionResult, AttributeGroups, Diagnostic, DiagnosticType, Entity, FunctionalUnits, GraphicString,
    ProtocolVersions, ServiceClasses, StateResult, oids,
};

/// Directories, and their old name.
const NBS_9: ContentsTypeName = ContentsTypeName::DocumentType(oids::NBS_9);
const NBS_9_OLD: ContentsTypeName = ContentsTypeName::DocumentType(oids::NBS_9_OLD);

/// What one side has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capabilities {
    /// Versions of the protocol.
    pub versions: ProtocolVersions,
    /// What the program is called, if it is to be told.
    pub implementation: Option<GraphicString>,
    /// Classes.
    pub classes: ServiceClasses,
    /// Functional units.
    pub units: FunctionalUnits,
    /// Groups of attributes.
    pub attribute_groups: AttributeGroups,
    /// How much of an interrupted transfer can be saved.
    pub quality_of_service: QualityOfService,
    /// What can be transferred.
    pub contents_types: Vec<ContentsTypeName>,
    /// Checkpoints without a confirm at most.
    pub checkpoint_window: u32,
}

/// Those of version 2.
const VERSION_2: FunctionalUnits = FunctionalUnits::LIMITED_FILESTORE_MANAGEMENT
    .with(FunctionalUnits::ENHANCED_FILESTORE_MANAGEMENT)
    .with(FunctionalUnits::OBJECT_MANIPULATION)
    .with(FunctionalUnits::GROUP_MANIPULATION)
    .with(FunctionalUnits::CONSECUTIVE_ACCESS)
    .with(FunctionalUnits::CONCURRENT_ACCESS);

const READ_OR_WRITE: FunctionalUnits = FunctionalUnits::READ.with(FunctionalUnits::WRITE);

const RECOVERING: FunctionalUnits = FunctionalUnits::RECOVERY.with(FunctionalUnits::RESTART_DATA_TRANSFER);

const MANAGING: FunctionalUnits =
    FunctionalUnits::LIMITED_FILE_MANAGEMENT.with(FunctionalUnits::ENHANCED_FILE_MANAGEMENT);

/// Every functional unit.
const EVERY: FunctionalUnits = FunctionalUnits::from_bits(0x1_fffc);

/// What a class asks for and allows.
struct Class {
    class: ServiceClasses,
    must: FunctionalUnits,
    /// One of these at least, if there are any.
    one_of: FunctionalUnits,
    may: FunctionalUnits,
}

/// The classes. A responder takes the one that gives the most of what is asked for, and of some that give as much the
/// first.
const CLASSES: [Class; 5] = {
    use {FunctionalUnits as U, ServiceClasses as S};
    let managed = U::LIMITED_FILE_MANAGEMENT.with(U::GROUPING);
    [
        Class {
            class: S::TRANSFER_AND_MANAGEMENT,
            must: managed,
            one_of: READ_OR_WRITE,
            may: READ_OR_WRITE.with(MANAGING).with(RECOVERING),
        },
        Class {
            class: S::TRANSFER,
            must: U::GROUPING,
            one_of: READ_OR_WRITE,
            may: READ_OR_WRITE.with(MANAGING).with(RECOVERING),
        },
        Class { class: S::ACCESS, must: READ_OR_WRITE.with(U::FILE_ACCESS), one_of: U::NONE, may: EVERY },
        Class { class: S::MANAGEMENT, must: managed, one_of: U::NONE, may: MANAGING },
        Class { class: S::UNCONSTRAINED, must: U::NONE, one_of: U::NONE, may: EVERY },
    ]
};

impl Class {
    /// What of `units` this class has, if that is enough for it.
    fn of(&self, units: FunctionalUnits, version_2: bool) -> Option<FunctionalUnits> {
        // What version 2 adds is for any class.
        let may = self.must | self.may | if version_2 { VERSION_2 } else { FunctionalUnits::NONE };
        let mut units = units & may;
        if !version_2 {
            units = units - VERSION_2;
        }
        if !units.contains(FunctionalUnits::LIMITED_FILE_MANAGEMENT) {
            units = units - FunctionalUnits::ENHANCED_FILE_MANAGEMENT;
        }
        let one = self.one_of.is_empty() || !(units & self.one_of).is_empty();
        (units.contains(self.must) && one).then_some(units)
    }
}

impl Capabilities {
    /// What an initiator with these asks for; who it is, and its password, are to be filled in.
    #[must_use]
    pub fn request(&self) -> InitializeRequest {
        InitializeRequest {
            protocol_version: self.versions,
            implementation_information: self.implementation.clone(),
            service_class: self.classes,
            functional_units: self.units,
            attribute_groups: self.attribute_groups,
            quality_of_service: self.quality_of_service,
            contents_type_list: self.contents_types.clone(),
            checkpoint_window: if (self.units & RECOVERING).is_empty() { 1 } else { self.checkpoint_window },
            ..InitializeRequest::default()
        }
    }

    /// What a responder with these answers, as far as it does not depend on who asks.
    #[must_use]
    pub fn answer(&self, request: &InitializeRequest) -> InitializeResponse {
        let versions = self.versions & request.protocol_version;
        let version_2 = versions.contains(ProtocolVersions::VERSION_2);
        let offered = self.units & request.functional_units;
        let classes = self.classes & request.service_class;
        let usable = CLASSES.iter().rev().filter_map(|one| {
            let units = one.of(offered, version_2)?;
            classes.contains(one.class).then_some((one.class, units))
        });
        // Of equals the last one is taken, which is the first of the table.
        let chosen = usable.max_by_key(|(_, units)| units.bits().count_ones());
        let answer = InitializeResponse {
            protocol_version: if version_2 { ProtocolVersions::VERSION_2 } else { ProtocolVersions::VERSION_1 },
            implementation_information: self.implementation.clone(),
            attribute_groups: self.attribute_groups & request.attribute_groups,
            quality_of_service: self.quality_of_service.min(request.quality_of_service),
            contents_type_list: self.shared(&request.contents_type_list),
            ..InitializeResponse::default()
        };
        if versions.is_empty() {
            return refuse(answer, request, 1001);
        }
        let Some((service_class, functional_units)) = chosen else {
            // No class is there for both, or the units are too few for any that is.
            let number = if classes.is_empty() { 2021 } else { 2003 };
            return refuse(answer, request, number);
        };
        let recovering = !(functional_units & RECOVERING).is_empty();
        InitializeResponse {
            service_class,
            functional_units,
            quality_of_service: if recovering { answer.quality_of_service } else { QualityOfService::NoRecovery },
            checkpoint_window: if recovering {
                self.checkpoint_window.min(request.checkpoint_window).max(1)
            } else {
                1
            },
            ..answer
        }
    }

    /// What of a list is here, too. An empty list was not said, and all that is here is meant. NBS-9 has two names, and
    /// where both were said the old one is left out: ISODE's initiator would take it for the one that counts, and
    /// compare attributes with it.
    fn shared(&self, list: &[ContentsTypeName]) -> Vec<ContentsTypeName> {
        if list.is_empty() {
            return self.contents_types.clone();
        }
        let here = |one: &&ContentsTypeName| self.contents_types.contains(one);
        let has_new = list.contains(&NBS_9);
        let once = |one: &&ContentsTypeName| !(has_new && **one == NBS_9_OLD);
        list.iter().filter(here).filter(once).copied().collect()
    }
}

/// `answer` as a refusal. Class and units are those that were asked for, as there are no others to tell.
fn refuse(answer: InitializeResponse, request: &InitializeRequest, number: i64) -> InitializeResponse {
    InitializeResponse {
        state_result: StateResult::Failure,
        action_result: ActionResult::PermanentError,
        service_class: request.service_class,
        functional_units: request.functional_units,
        diagnostic: vec![Diagnostic {
            diagnostic_type: DiagnosticType::Permanent,
            error_identifier: number,
            error_observer: Entity::RespondingMachine,
            error_source: Entity::InitiatingUser,
            suggested_delay: None,
            further_details: None,
        }],
        ..answer
    }
}

/// What a responder may say of an answer that gives less than was asked for.
#[must_use]
pub fn remarks(request: &InitializeRequest, response: &InitializeResponse) -> Vec<Diagnostic> {
    let remark = |number, details: String| Diagnostic {
        diagnostic_type: DiagnosticType::Informative,
        error_identifier: number,
        error_observer: Entity::RespondingUser,
        error_source: Entity::RespondingUser,
        suggested_delay: None,
        further_details: (!details.is_empty()).then(|| details.into()),
    };
    let mut remarks = Vec::new();
    let units = request.functional_units - response.functional_units;
    if !units.is_empty() {
        remarks.push(remark(2003, units.to_string()));
    }
    let groups = request.attribute_groups - response.attribute_groups;
    if !groups.is_empty() {
        remarks.push(remark(2005, groups.to_string()));
    }
    let agreed = &response.contents_type_list;
    let has_new = agreed.contains(&NBS_9);
    // That one of two names of NBS-9 is left out is nothing to be told.
    let is_missing = |one: &ContentsTypeName| !agreed.contains(one) && (*one != NBS_9_OLD || !has_new);
    if request.contents_type_list.iter().any(is_missing) {
        remarks.push(remark(2018, String::new()));
    }
    remarks
}

/// What an initiator finds wrong in the answer to its request: more than it asked for, or too little for the class.
#[must_use]
pub fn objection(request: &InitializeRequest, response: &InitializeResponse) -> Option<Diagnostic> {
    if response.state_result == StateResult::Failure {
        return None;
    }
    let (units, class) = (response.functional_units, response.service_class);
    let version_2 = response.protocol_version.contains(ProtocolVersions::VERSION_2);
    let row = CLASSES.iter().find(|one| one.class == class);
    let suits = row.and_then(|row| row.of(units, version_2)) == Some(units);
    let (number, what) = if !request.service_class.contains(class) || row.is_none() {
        (2002, format!("{class} was not offered as the one class"))
    } else if !request.functional_units.contains(units) {
        let more = units - request.functional_units;
        (2003, format!("{more} was not asked for"))
    } else if !suits {
        (2003, format!("{units} does not make the class {class}"))
    } else if !request.attribute_groups.contains(response.attribute_groups) {
        let more = response.attribute_groups - request.attribute_groups;
        (2006, format!("{more} was not asked for"))
    } else {
        return None;
    };
    Some(Diagnostic {
        diagnostic_type: DiagnosticType::Permanent,
        error_identifier: number,
        error_observer: Entity::InitiatingMachine,
        error_source: Entity::RespondingMachine,
        suggested_delay: None,
        further_details: Some(what.into()),
    })
}
