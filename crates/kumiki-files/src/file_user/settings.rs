//! What an initiator asks for.

use kumiki_osi_service::ftam::contents::ContentsTypeName;
use kumiki_osi_service::ftam::regime::{InitializeRequest, QualityOfService};
use kumiki_osi_service::ftam::{AttributeGroups, FunctionalUnits, GraphicString, Password, ServiceClasses, oids};

/// Who asks, for what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The user's name.
    pub initiator: Option<GraphicString>,
    /// Who pays.
    pub account: Option<GraphicString>,
    /// The user's password.
    pub password: Option<Password>,
    /// What is wanted.
    pub units: FunctionalUnits,
    /// Groups of attributes that are wanted.
    pub groups: AttributeGroups,
    /// Octets of one data element that is sent, where it may be cut anywhere.
    pub element: usize,
    /// Octets between checkpoints of what is sent, where recovery or restart was agreed.
    pub checkpoint_every: u64,
    /// The most checkpoints that may be without an answer.
    pub checkpoint_window: u32,
    /// How often transfers whose association broke are gone on with on another one, where recovery was agreed on.
    pub recoveries: u32,
    /// Another run may go on with them too: they have numbers even where this one does not.
    pub resumes: bool,
    /// What the numbers by which such transfers are known begin behind: none may be in use twice by one user of one
    /// responder.
    pub activity: i64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            initiator: None,
            account: None,
            password: None,
            units: FunctionalUnits::READ
                | FunctionalUnits::WRITE
                | FunctionalUnits::LIMITED_FILE_MANAGEMENT
                | FunctionalUnits::ENHANCED_FILE_MANAGEMENT
                | FunctionalUnits::GROUPING,
            groups: AttributeGroups::STORAGE,
            element: 8000,
            checkpoint_every: 256 * 1024,
            checkpoint_window: 4,
            recoveries: 8,
            resumes: false,
            activity: 0,
        }
    }
}

impl Settings {
    /// F-INITIALIZE request.
    #[must_use]
    pub fn request(&self) -> InitializeRequest {
        let document = ContentsTypeName::DocumentType;
        // Without groups there is one class only.
        let service_class = if self.units.contains(FunctionalUnits::GROUPING) {
            ServiceClasses::MANAGEMENT | ServiceClasses::TRANSFER | ServiceClasses::TRANSFER_AND_MANAGEMENT
        } else {
            ServiceClasses::UNCONSTRAINED
        };
        InitializeRequest {
            implementation_information: Some("Kumiki".into()),
            service_class,
            functional_units: self.units,
            attribute_groups: self.groups,
            contents_type_list: vec![
                document(oids::FTAM_3),
                document(oids::FTAM_1),
                document(oids::FTAM_2),
                document(oids::NBS_9),
            ],
            initiator_identity: self.initiator.clone(),
            account: self.account.clone(),
            filestore_password: self.password.clone(),
            quality_of_service: if self.units.contains(FunctionalUnits::RECOVERY) {
                QualityOfService::Class3
            } else {
                QualityOfService::NoRecovery
            },
            checkpoint_window: self.checkpoint_window,
            ..InitializeRequest::default()
        }
    }
}
