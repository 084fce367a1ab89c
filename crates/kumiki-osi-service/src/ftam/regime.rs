//! The FTAM regime: F-INITIALIZE, F-TERMINATE, F-U-ABORT and F-P-ABORT.

use core::fmt;

use super::contents::ContentsTypeName;
use super::{
    ActionResult, AttributeGroups, Diagnostic, External, FunctionalUnits, GraphicString, Password, ProtocolVersions,
    ServiceClasses, StateResult,
};

/// How much of an interrupted transfer is to be saved, `FTAM-Quality-of-Service`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum QualityOfService {
    /// No recovery.
    #[default]
    NoRecovery,
    /// Class 1: errors that damage a transfer.
    Class1,
    /// Class 2: those and errors that damage the open regime.
    Class2,
    /// Class 3: those and errors that damage the association.
    Class3,
}

impl fmt::Display for QualityOfService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoRecovery => "no recovery",
            Self::Class1 => "class 1",
            Self::Class2 => "class 2",
            Self::Class3 => "class 3",
        })
    }
}

/// F-INITIALIZE request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InitializeRequest {
    /// Versions that the initiator has.
    pub protocol_version: ProtocolVersions,
    /// What the initiator's program is called. For people, nothing depends on it.
    pub implementation_information: Option<GraphicString>,
    /// Whether presentation contexts may be changed later.
    pub presentation_context_management: bool,
    /// Classes that the initiator offers.
    pub service_class: ServiceClasses,
    /// Functional units that it wants.
    pub functional_units: FunctionalUnits,
    /// Groups of attributes that it wants.
    pub attribute_groups: AttributeGroups,
    /// Commitment control.
    pub shared_ase_information: Option<External>,
    /// How much of an interrupted transfer is to be saved.
    pub quality_of_service: QualityOfService,
    /// What it may want to transfer. Empty: not said.
    pub contents_type_list: Vec<ContentsTypeName>,
    /// Who wants it.
    pub initiator_identity: Option<GraphicString>,
    /// Who pays.
    pub account: Option<GraphicString>,
    /// The initiator's password.
    pub filestore_password: Option<Password>,
    /// Checkpoints without a confirm at most. Only with recovery or restart.
    pub checkpoint_window: u32,
}

/// The transfer class, no functional unit and no recovery.
impl Default for InitializeRequest {
    fn default() -> Self {
        Self {
            protocol_version: ProtocolVersions::VERSION_1,
            implementation_information: None,
            presentation_context_management: false,
            service_class: ServiceClasses::TRANSFER,
            functional_units: FunctionalUnits::NONE,
            attribute_groups: AttributeGroups::NONE,
            shared_ase_information: None,
            quality_of_service: QualityOfService::NoRecovery,
            contents_type_list: Vec::new(),
            initiator_identity: None,
            account: None,
            filestore_password: None,
            checkpoint_window: 1,
        }
    }
}

/// F-INITIALIZE response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InitializeResponse {
    /// Whether there is an FTAM regime now.
    pub state_result: StateResult,
    /// Whether what was asked for is there.
    pub action_result: ActionResult,
    /// The version chosen.
    pub protocol_version: ProtocolVersions,
    /// What the responder's program is called.
    pub implementation_information: Option<GraphicString>,
    /// Whether presentation contexts may be changed later.
    pub presentation_context_management: bool,
    /// The class chosen.
    pub service_class: ServiceClasses,
    /// Functional units agreed.
    pub functional_units: FunctionalUnits,
    /// Groups of attributes agreed.
    pub attribute_groups: AttributeGroups,
    /// Commitment control.
    pub shared_ase_information: Option<External>,
    /// How much of an interrupted transfer will be saved.
    pub quality_of_service: QualityOfService,
    /// What can be transferred, of what was listed.
    pub contents_type_list: Vec<ContentsTypeName>,
    /// Why not. Empty: not said.
    pub diagnostic: Vec<Diagnostic>,
    /// Checkpoints without a confirm at most. Only with recovery or restart.
    pub checkpoint_window: u32,
}

/// Success, with the transfer class, no functional unit and no recovery.
impl Default for InitializeResponse {
    fn default() -> Self {
        Self {
            state_result: StateResult::Success,
            action_result: ActionResult::Success,
            protocol_version: ProtocolVersions::VERSION_1,
            implementation_information: None,
            presentation_context_management: false,
            service_class: ServiceClasses::TRANSFER,
            functional_units: FunctionalUnits::NONE,
            attribute_groups: AttributeGroups::NONE,
            shared_ase_information: None,
            quality_of_service: QualityOfService::NoRecovery,
            contents_type_list: Vec::new(),
            diagnostic: Vec::new(),
            checkpoint_window: 1,
        }
    }
}

/// F-TERMINATE request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TerminateRequest {
    /// Commitment control.
    pub shared_ase_information: Option<External>,
}

/// What something cost.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Charge {
    /// Of what.
    pub resource_identifier: GraphicString,
    /// In which unit.
    pub charging_unit: GraphicString,
    /// How much.
    pub charging_value: i64,
}

/// F-TERMINATE response.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TerminateResponse {
    /// Commitment control.
    pub shared_ase_information: Option<External>,
    /// What the regime cost. Only if the request to enter it named an account.
    pub charging: Option<Vec<Charge>>,
}

/// F-U-ABORT and F-P-ABORT: the regime ends at once, and why.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Abort {
    /// Whether trying again makes sense.
    pub action_result: ActionResult,
    /// Why. Empty: not said.
    pub diagnostic: Vec<Diagnostic>,
}
