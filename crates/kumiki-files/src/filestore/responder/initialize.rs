//! F-INITIALIZE: what is agreed on, and who may come in.

use kumiki_osi_service::ftam::contents::ContentsTypeName;
use kumiki_osi_service::ftam::regime::{InitializeRequest, InitializeResponse, QualityOfService};
use kumiki_osi_service::ftam::{FunctionalUnits, ProtocolVersions, ServiceClasses, StateResult, oids};

use super::super::{Guard, Login};
use super::{Agreed, Config, Responder};
use crate::ftam::Capabilities;
use crate::ftam::negotiation::remarks;

impl Config {
    /// What a filestore has.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        let name = &self.implementation;
        let documents = [oids::FTAM_1, oids::FTAM_2, oids::FTAM_3, oids::NBS_9, oids::NBS_9_OLD];
        Capabilities {
            versions: ProtocolVersions::VERSION_1,
            implementation: (!name.is_empty()).then(|| name.as_str().into()),
            classes: ServiceClasses::UNCONSTRAINED
                | ServiceClasses::TRANSFER_AND_MANAGEMENT
                | ServiceClasses::TRANSFER
                | ServiceClasses::MANAGEMENT
                | ServiceClasses::ACCESS,
            units: self.units,
            attribute_groups: self.groups,
            quality_of_service: QualityOfService::Class3,
            contents_types: documents.map(ContentsTypeName::DocumentType).to_vec(),
            checkpoint_window: self.checkpoint_window,
        }
    }
}

impl Responder {
    /// F-INITIALIZE. A response that says failure refuses the association.
    pub fn initialize(&mut self, request: &InitializeRequest, guard: &mut Guard) -> InitializeResponse {
        // Nothing is told of this store before it is known who asks.
        let login = Login {
            initiator: request.initiator_identity.as_ref(),
            account: request.account.as_ref(),
            password: request.filestore_password.as_ref(),
        };
        match guard.authenticate(&login) {
            Ok(user) => self.user = user,
            Err(fault) => {
                self.over = true;
                return InitializeResponse {
                    state_result: StateResult::Failure,
                    action_result: fault.result(),
                    service_class: request.service_class,
                    functional_units: FunctionalUnits::NONE,
                    diagnostic: vec![fault.diagnostic()],
                    ..InitializeResponse::default()
                };
            }
        }
        let mut response = self.config.capabilities().answer(request);
        if response.state_result == StateResult::Failure {
            self.over = true;
            return response;
        }
        response.diagnostic = remarks(request, &response);
        if !response.functional_units.contains(FunctionalUnits::RECOVERY) {
            response.quality_of_service = QualityOfService::NoRecovery;
        }
        self.agreed = Agreed {
            class: response.service_class,
            units: response.functional_units,
            groups: response.attribute_groups,
            window: response.checkpoint_window,
            old_directories: response.contents_type_list.contains(&ContentsTypeName::DocumentType(oids::NBS_9_OLD)),
        };
        response
    }
}
