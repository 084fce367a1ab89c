//! F-INITIALIZE: what is agreed on, and who may come in.

use kumiki_osi::ftam::contents::ContentsTypeName;
use kumiki_osi::ftam::regime::{InitializeRequest, InitializeResponse, QualityOfService};
use kumiki_osi::ftam::{FunctionalUnits, ProtocolVersions, ServiceClasses, StateResult, oids};

use super::super::{Fault, Guard, Login, informative};
use super::{Agreed, Responder};

/// Document types that can be transferred.
const DOCUMENTS: [kumiki_osi::Oid; 5] = [
    oids::FTAM_1,
    oids::FTAM_2,
    oids::FTAM_3,
    oids::NBS_9,
    oids::NBS_9_OLD,
];

/// Classes, the most useful first.
const CLASSES: [ServiceClasses; 5] = [
    ServiceClasses::UNCONSTRAINED,
    ServiceClasses::TRANSFER_AND_MANAGEMENT,
    ServiceClasses::TRANSFER,
    ServiceClasses::MANAGEMENT,
    ServiceClasses::ACCESS,
];

/// What a class can have (recalled, ISO 8571-3).
fn units_of(class: ServiceClasses) -> FunctionalUnits {
    use FunctionalUnits as U;
    let either = U::RECOVERY | U::RESTART_DATA_TRANSFER;
    let transfer = U::READ | U::WRITE | U::LIMITED_FILE_MANAGEMENT | U::GROUPING | either;
    let management = U::LIMITED_FILE_MANAGEMENT | U::ENHANCED_FILE_MANAGEMENT | U::GROUPING;
    match class {
        ServiceClasses::TRANSFER => transfer,
        ServiceClasses::MANAGEMENT => management,
        ServiceClasses::TRANSFER_AND_MANAGEMENT => transfer | management,
        // Access has them all, and so has the unconstrained class.
        _ => FunctionalUnits::from_bits(u32::MAX),
    }
}

impl Responder {
    /// F-INITIALIZE. A response that says failure refuses the association.
    pub fn initialize(
        &mut self,
        request: &InitializeRequest,
        guard: &mut Guard,
    ) -> InitializeResponse {
        match self.agree(request, guard) {
            Ok(response) => response,
            Err(fault) => {
                self.over = true;
                InitializeResponse {
                    state_result: StateResult::Failure,
                    action_result: fault.result(),
                    service_class: request.service_class,
                    functional_units: FunctionalUnits::NONE,
                    diagnostic: vec![fault.diagnostic()],
                    ..InitializeResponse::default()
                }
            }
        }
    }

    fn agree(
        &mut self,
        request: &InitializeRequest,
        guard: &mut Guard,
    ) -> Result<InitializeResponse, Fault> {
        // Nothing is told of this store before it is known who asks.
        self.user = guard.authenticate(&Login {
            initiator: request.initiator_identity.as_ref(),
            account: request.account.as_ref(),
            password: request.filestore_password.as_ref(),
        })?;
        if !request
            .protocol_version
            .contains(ProtocolVersions::VERSION_1)
        {
            return Err(Fault::permanent(1001, "only version 1 is spoken"));
        }
        let offered = |class: &ServiceClasses| request.service_class.contains(*class);
        let usable = |class: &ServiceClasses| {
            let units = request.functional_units & self.config.units & units_of(*class);
            let moves = FunctionalUnits::READ | FunctionalUnits::WRITE;
            let wants = FunctionalUnits::LIMITED_FILE_MANAGEMENT;
            !(units & (moves | wants)).is_empty()
        };
        let mut classes = CLASSES.into_iter().filter(offered);
        let class = classes.clone().find(usable).or_else(|| classes.next());
        let class = class.ok_or_else(|| Fault::permanent(2021, ""))?;
        let wanted = request.functional_units;
        let units = wanted & self.config.units & units_of(class);
        let groups = request.attribute_groups & self.config.groups;
        let mut diagnostic = Vec::new();
        if units != wanted {
            diagnostic.push(informative(2003, &(wanted - units).to_string()));
        }
        if groups != request.attribute_groups {
            let without = request.attribute_groups - groups;
            diagnostic.push(informative(2005, &without.to_string()));
        }
        let known = |name: &&ContentsTypeName| match name {
            ContentsTypeName::DocumentType(oid) => DOCUMENTS.contains(oid),
            ContentsTypeName::AbstractSyntax(_) => false,
        };
        let listed = &request.contents_type_list;
        let contents_type_list: Vec<_> = listed.iter().filter(known).copied().collect();
        if contents_type_list.len() != listed.len() {
            diagnostic.push(informative(2018, ""));
        }
        let recovery = units.contains(FunctionalUnits::RECOVERY);
        let checked = recovery || units.contains(FunctionalUnits::RESTART_DATA_TRANSFER);
        let window = request
            .checkpoint_window
            .clamp(1, self.config.checkpoint_window.max(1));
        self.agreed = Agreed {
            class,
            units,
            groups,
            window: if checked { window } else { 1 },
        };
        let name = &self.config.implementation;
        Ok(InitializeResponse {
            implementation_information: (!name.is_empty()).then(|| name.as_str().into()),
            service_class: class,
            functional_units: units,
            attribute_groups: groups,
            quality_of_service: if recovery {
                request.quality_of_service
            } else {
                QualityOfService::NoRecovery
            },
            contents_type_list,
            diagnostic,
            checkpoint_window: self.agreed.window,
            ..InitializeResponse::default()
        })
    }
}
