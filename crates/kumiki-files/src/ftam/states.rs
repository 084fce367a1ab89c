//! Which FPDU is allowed when: the regimes of ISO 8571-4 as one table of services, and a machine that goes by it.
//!
//! A service is a request, the response that it waits for if there is one, and the state before and after. The standard
//! has a state of its own for each response that is waited for ("SELECT-PD"); here that is the state before and the
//! services that wait ([`Machine::waits_for`]).
//!
//! In a group requests follow each other without waiting, so each is looked at in the state that those before it lead
//! to if they succeed. The response group has no members behind one that failed.

use std::collections::VecDeque;

use kumiki_osi_service::ftam::{
    Diagnostic, DiagnosticType, Entity, Fpdu, FunctionalUnits, Kind, ServiceClasses, StateResult,
};
use thiserror::Error;

/// Who sends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Side {
    /// The initiator: the one that asked for the association.
    Initiator,
    /// The responder: the one with the filestore.
    Responder,
}

impl Side {
    /// The one across.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Initiator => Self::Responder,
            Self::Responder => Self::Initiator,
        }
    }
}

/// Where the conversation is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum State {
    /// No FTAM regime.
    #[default]
    Closed,
    /// FTAM regime: no file is selected.
    Initialized,
    /// File selection regime.
    Selected,
    /// File open regime, no transfer: "data transfer idle".
    Open,
    /// The responder sends data.
    Reading,
    /// The responder has sent F-DATA-END.
    ReadEnded,
    /// The initiator sends data.
    Writing,
    /// The initiator has sent F-DATA-END.
    WriteEnded,
    /// A transfer is cancelled: what arrives of it is dropped.
    Cancelling,
}

/// One service, in one state.
#[derive(Debug)]
struct Service {
    request: Kind,
    response: Option<Kind>,
    /// Who asks; nobody: either.
    by: Option<Side>,
    from: State,
    /// The state where what was asked for was done; without a response, at once.
    done: State,
    /// The state where it was not.
    refused: State,
    /// One of these must have been agreed, if there is one.
    unit: FunctionalUnits,
    /// Whether it may stand in a group.
    grouped: bool,
}

/// Rows: request, response, who, from, done, refused, functional unit, whether in groups.
#[rustfmt::skip]
const SERVICES: &[Service] = {
    use Kind as K;
    use State::{Closed, Initialized, Open, ReadEnded, Reading, Selected, WriteEnded, Writing};
    use FunctionalUnits as U;
    const I: Option<Side> = Some(Side::Initiator);
    const R: Option<Side> = Some(Side::Responder);
    const NO: U = U::NONE;
    #[expect(clippy::too_many_arguments, reason = "one for each column")]
    const fn row(request: Kind, response: Option<Kind>, by: Option<Side>, from: State, done: State, refused: State, unit: U, grouped: bool) -> Service {
        Service { request, response, by, from, done, refused, unit, grouped }
    }
    &[
        row(K::InitializeRequest,   Some(K::InitializeResponse),   I, Closed,      Initialized, Closed,      NO, false),
        row(K::TerminateRequest,    Some(K::TerminateResponse),    I, Initialized, Closed,      Closed,      NO, false),
        row(K::ChangePrefixRequest, Some(K::ChangePrefixResponse), I, Initialized, Initialized, Initialized, U::LIMITED_FILESTORE_MANAGEMENT, false),
        row(K::ListRequest,         Some(K::ListResponse),         I, Initialized, Initialized, Initialized, U::LIMITED_FILESTORE_MANAGEMENT, false),
        row(K::SelectRequest,       Some(K::SelectResponse),       I, Initialized, Selected,    Initialized, NO, true),
        row(K::CreateRequest,       Some(K::CreateResponse),       I, Initialized, Selected,    Initialized, U::LIMITED_FILE_MANAGEMENT, true),
        row(K::RecoverRequest,      Some(K::RecoverResponse),      I, Initialized, Open,        Initialized, U::RECOVERY, false),
        row(K::DeselectRequest,     Some(K::DeselectResponse),     I, Selected,    Initialized, Initialized, NO, true),
        row(K::DeleteRequest,       Some(K::DeleteResponse),       I, Selected,    Initialized, Initialized, U::LIMITED_FILE_MANAGEMENT, true),
        row(K::ReadAttribRequest,   Some(K::ReadAttribResponse),   I, Selected,    Selected,    Selected,    U::LIMITED_FILE_MANAGEMENT, true),
        row(K::ChangeAttribRequest, Some(K::ChangeAttribResponse), I, Selected,    Selected,    Selected,    U::ENHANCED_FILE_MANAGEMENT, true),
        row(K::OpenRequest,         Some(K::OpenResponse),         I, Selected,    Open,        Selected,    U::READ.with(U::WRITE), true),
        row(K::CloseRequest,        Some(K::CloseResponse),        I, Open,        Selected,    Selected,    NO, true),
        row(K::LocateRequest,       Some(K::LocateResponse),       I, Open,        Open,        Open,        U::FILE_ACCESS, false),
        row(K::EraseRequest,        Some(K::EraseResponse),        I, Open,        Open,        Open,        U::FILE_ACCESS, false),
        row(K::ReadRequest,         None,                          I, Open,        Reading,     Reading,     U::READ, false),
        row(K::WriteRequest,        None,                          I, Open,        Writing,     Writing,     U::WRITE, false),
        row(K::DataEndRequest,      None,                          R, Reading,     ReadEnded,   ReadEnded,   NO, false),
        row(K::DataEndRequest,      None,                          I, Writing,     WriteEnded,  WriteEnded,  NO, false),
        row(K::TransferEndRequest,  Some(K::TransferEndResponse),  I, ReadEnded,   Open,        Open,        NO, false),
        row(K::TransferEndRequest,  Some(K::TransferEndResponse),  I, WriteEnded,  Open,        Open,        NO, false),
        row(K::RestartRequest,      Some(K::RestartResponse),   None, Reading,     Reading,     Reading,     U::RESTART_DATA_TRANSFER, false),
        row(K::RestartRequest,      Some(K::RestartResponse),   None, ReadEnded,   Reading,     Reading,     U::RESTART_DATA_TRANSFER, false),
        row(K::RestartRequest,      Some(K::RestartResponse),   None, Writing,     Writing,     Writing,     U::RESTART_DATA_TRANSFER, false),
        row(K::RestartRequest,      Some(K::RestartResponse),   None, WriteEnded,  Writing,     Writing,     U::RESTART_DATA_TRANSFER, false),
    ]
};

/// What becomes of something that was allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// It counts.
    Take,
    /// It was on its way when its transfer was cancelled or restarted, and is dropped.
    Drop,
}

/// Why something is not allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum StateError {
    /// Not in this state, or not from this side.
    #[error("{0} when the state is {1:?}")]
    Time(Kind, State),
    /// While a response is waited for.
    #[error("{0} before {1}")]
    Early(Kind, Kind),
    /// A response without a command.
    #[error("{0} without a request")]
    Unasked(Kind),
    /// A functional unit that was not agreed.
    #[error("{0} without the functional unit {1}")]
    Unit(Kind, FunctionalUnits),
    /// A group that is none of those allowed.
    #[error("{0} in a group that is not allowed")]
    Group(Kind),
    /// Data when none is transferred, or from the wrong side.
    #[error("data when the state is {0:?}")]
    Data(State),
    /// A checkpoint when nothing is transferred, or without recovery and restart.
    #[error("a checkpoint when the state is {0:?}, or without recovery and restart")]
    Check(State),
}

impl StateError {
    /// What an abort says of it: seen by the protocol machine of `observer`, caused by the one across.
    #[must_use]
    pub fn diagnostic(self, observer: Side) -> Diagnostic {
        let machine = |side| match side {
            Side::Initiator => Entity::InitiatingMachine,
            Side::Responder => Entity::RespondingMachine,
        };
        Diagnostic {
            diagnostic_type: DiagnosticType::Permanent,
            error_identifier: match self {
                Self::Time(..) | Self::Early(..) | Self::Unasked(_) | Self::Data(_) | Self::Check(_) => 1008,
                Self::Unit(..) => 1009,
                Self::Group(_) => 1015,
            },
            error_observer: machine(observer),
            error_source: machine(observer.other()),
            suggested_delay: None,
            further_details: Some(self.to_string().into()),
        }
    }
}

/// Where a group is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Group {
    #[default]
    None,
    /// Requests are added.
    Asking,
    /// All is asked for.
    Asked,
    /// Responses come; whether one failed, and the state behind the last one.
    Answering { failed: bool, state: State },
}

/// A request whose response is waited for.
#[derive(Clone, Copy, Debug)]
struct PendingService {
    service: &'static Service,
    by: Side,
}

/// The most requests of one group. The longest that makes sense has six.
const MOST_MEMBERS: usize = 16;

/// One end's view of the conversation.
#[derive(Clone, Debug)]
pub struct Machine {
    local: Side,
    state: State,
    units: FunctionalUnits,
    class: ServiceClasses,
    asked: VecDeque<PendingService>,
    group: Group,
    members: Vec<Kind>,
    /// Who has asked for the transfer to be cancelled and has no response: both, where requests crossed.
    cancels: Vec<Side>,
    /// The state before.
    cancelled: State,
}

impl Machine {
    /// No regime yet.
    #[must_use]
    pub const fn new(local: Side) -> Self {
        Self {
            local,
            state: State::Closed,
            units: FunctionalUnits::NONE,
            class: ServiceClasses::NONE,
            asked: VecDeque::new(),
            group: Group::None,
            members: Vec::new(),
            cancels: Vec::new(),
            cancelled: State::Closed,
        }
    }

    /// The state; while a group is asked for, the one it leads to if all of it succeeds.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// The functional units agreed.
    #[must_use]
    pub const fn units(&self) -> FunctionalUnits {
        self.units
    }

    /// The response that comes next.
    #[must_use]
    pub fn waits_for(&self) -> Option<Kind> {
        if self.group == Group::Asked {
            return Some(Kind::BeginGroupResponse);
        }
        if !self.cancels.is_empty() {
            return Some(Kind::CancelResponse);
        }
        self.asked.front().and_then(|asked| asked.service.response)
    }

    /// `sender` sends `fpdu`: this end is about to, or the peer's has arrived.
    ///
    /// # Errors
    /// It is not allowed. Nothing changes; of a peer, the association is to be aborted with [`StateError::diagnostic`].
    pub fn on(&mut self, sender: Side, fpdu: &Fpdu) -> Result<Step, StateError> {
        let kind = fpdu.kind();
        if self.closes(kind)? {
            return Ok(Step::Take);
        }
        if let Some(step) = self.on_cancel(sender, kind)? {
            return Ok(step);
        }
        if self.on_bracket(sender, kind)? {
            return Ok(Step::Take);
        }
        if SERVICES.iter().any(|one| one.response == Some(kind)) {
            return self.on_response(sender, fpdu).map(|()| Step::Take);
        }
        self.on_request(sender, kind)
    }

    /// `sender` sends a data element.
    ///
    /// # Errors
    /// Nothing is transferred from there.
    pub fn on_data(&mut self, sender: Side) -> Result<Step, StateError> {
        if self.is_late(sender) {
            return Ok(Step::Drop);
        }
        let allowed = match self.state {
            State::Reading => sender == Side::Responder,
            State::Writing => sender == Side::Initiator,
            State::Closed
            | State::Initialized
            | State::Selected
            | State::Open
            | State::ReadEnded
            | State::WriteEnded
            | State::Cancelling => false,
        };
        if allowed && self.asked.is_empty() { Ok(Step::Take) } else { Err(StateError::Data(self.state)) }
    }

    /// `sender` sends F-CHECK, or, as `response`, its response.
    ///
    /// # Errors
    /// Nothing is transferred from there, or neither recovery nor restart was agreed.
    pub fn on_check(&mut self, sender: Side, response: bool) -> Result<Step, StateError> {
        if self.is_late(sender) {
            return Ok(Step::Drop);
        }
        let checked = FunctionalUnits::RECOVERY | FunctionalUnits::RESTART_DATA_TRANSFER;
        let source = if response { sender.other() } else { sender };
        // Responses come after the end of the data, too.
        let allowed = match self.state {
            State::Reading => source == Side::Responder,
            State::Writing => source == Side::Initiator,
            State::ReadEnded => response && source == Side::Responder,
            State::WriteEnded => response && source == Side::Initiator,
            State::Closed | State::Initialized | State::Selected | State::Open | State::Cancelling => false,
        };
        if allowed && !(self.units & checked).is_empty() { Ok(Step::Take) } else { Err(StateError::Check(self.state)) }
    }

    /// The F-CANCEL or F-RESTART that this end has asked for does not count: it was a resynchronisation of the session
    /// that met another. Which one it was.
    pub fn withdraw(&mut self) -> Option<Kind> {
        if let Some(at) = self.cancels.iter().position(|by| *by == self.local) {
            self.cancels.remove(at);
            if self.cancels.is_empty() {
                self.state = self.cancelled;
            }
            return Some(Kind::CancelRequest);
        }
        let restart = self
            .asked
            .front()
            .is_some_and(|asked| asked.service.request == Kind::RestartRequest && asked.by == self.local);
        restart.then(|| {
            self.asked.pop_front();
            Kind::RestartRequest
        })
    }

    /// Whether what the peer sent was on its way when this end asked to cancel or restart.
    fn is_late(&self, sender: Side) -> bool {
        let restarted = self
            .asked
            .front()
            .is_some_and(|asked| asked.service.request == Kind::RestartRequest && asked.by == self.local);
        sender != self.local && (restarted || self.cancels.contains(&self.local))
    }

    /// Aborts end everything.
    fn closes(&mut self, kind: Kind) -> Result<bool, StateError> {
        if !matches!(kind, Kind::UserAbort | Kind::ProviderAbort) {
            return Ok(false);
        }
        if self.state == State::Closed && self.asked.is_empty() {
            return Err(StateError::Time(kind, self.state));
        }
        *self = Self::new(self.local);
        Ok(true)
    }

    /// F-CANCEL, and what is dropped because of it.
    fn on_cancel(&mut self, sender: Side, kind: Kind) -> Result<Option<Step>, StateError> {
        if kind == Kind::CancelRequest {
            return self.on_cancel_request(sender).map(Some);
        }
        if kind == Kind::CancelResponse {
            let asked = self.cancels.iter().position(|by| *by == sender.other());
            self.cancels.remove(asked.ok_or(StateError::Unasked(kind))?);
            if self.cancels.is_empty() {
                self.state = State::Open;
            }
            return Ok(Some(Step::Take));
        }
        let late = self.is_late(sender) && self.is_of_transfer(kind);
        Ok(late.then_some(Step::Drop))
    }

    /// Whether an FPDU belongs to the transfer that is being cancelled or restarted.
    fn is_of_transfer(&self, kind: Kind) -> bool {
        let ends = matches!(kind, Kind::DataEndRequest | Kind::TransferEndRequest | Kind::TransferEndResponse);
        let restarts = matches!(kind, Kind::RestartRequest | Kind::RestartResponse);
        ends || (restarts && self.state == State::Cancelling)
    }

    fn on_cancel_request(&mut self, sender: Side) -> Result<Step, StateError> {
        let allowed = match self.state {
            State::Reading | State::Writing => true,
            // The peer may not have seen the end of the data when it sent this. Of both ends the initiator can cancel
            // until it has asked for the end of the transfer; a responder says what is wrong in its response to that.
            State::ReadEnded | State::WriteEnded => {
                sender != self.local || (sender == Side::Initiator && self.asked.is_empty())
            }
            // Two that cross.
            State::Cancelling => sender != self.local && !self.cancels.contains(&sender),
            State::Closed | State::Initialized | State::Selected | State::Open => false,
        };
        if !allowed {
            return Err(StateError::Time(Kind::CancelRequest, self.state));
        }
        if self.state != State::Cancelling {
            self.cancelled = self.state;
        }
        self.state = State::Cancelling;
        self.asked.clear();
        self.cancels.push(sender);
        Ok(Step::Take)
    }

    /// The brackets of groups.
    fn on_bracket(&mut self, sender: Side, kind: Kind) -> Result<bool, StateError> {
        let request = matches!(kind, Kind::BeginGroupRequest | Kind::EndGroupRequest);
        let response = matches!(kind, Kind::BeginGroupResponse | Kind::EndGroupResponse);
        if !request && !response {
            return Ok(false);
        }
        let from = matches!(
            (kind, self.group),
            (Kind::BeginGroupRequest, Group::None)
                | (Kind::EndGroupRequest, Group::Asking)
                | (Kind::BeginGroupResponse, Group::Asked)
                | (Kind::EndGroupResponse, Group::Answering { .. })
        );
        let by = if request { Side::Initiator } else { Side::Responder };
        if !self.units.contains(FunctionalUnits::GROUPING) {
            return Err(StateError::Unit(kind, FunctionalUnits::GROUPING));
        }
        if sender != by || !from {
            return Err(StateError::Time(kind, self.state));
        }
        match (kind, self.group) {
            (Kind::BeginGroupRequest, _) => {
                if let Some(waiting) = self.waits_for() {
                    return Err(StateError::Early(kind, waiting));
                }
                self.members.clear();
                self.group = Group::Asking;
            }
            (Kind::EndGroupRequest, _) => {
                if !self.is_group_allowed() {
                    return Err(StateError::Group(kind));
                }
                self.group = Group::Asked;
            }
            (_, Group::Answering { failed, state }) => {
                if failed {
                    self.state = state;
                    self.asked.clear();
                } else if let Some(waiting) = self.waits_for() {
                    return Err(StateError::Early(kind, waiting));
                }
                self.group = Group::None;
            }
            (_, Group::None | Group::Asking | Group::Asked) => {
                let before = self.asked.front().map(|asked| asked.service.from);
                self.group = Group::Answering { failed: false, state: before.unwrap_or(self.state) };
            }
        }
        Ok(true)
    }

    /// The groups of ISO 8571-3: a file is selected or created and opened, or closed and deselected or deleted, or
    /// selected or created and deselected or deleted; with attributes between. Where the class is unconstrained,
    /// whatever the states allow.
    fn is_group_allowed(&self) -> bool {
        if self.class.contains(ServiceClasses::UNCONSTRAINED) {
            return true;
        }
        let [first, between @ .., last] = &self.members[..] else {
            return false;
        };
        let selects = matches!(first, Kind::SelectRequest | Kind::CreateRequest);
        let ends = matches!(last, Kind::DeselectRequest | Kind::DeleteRequest);
        let pair = match (selects, *first, *last) {
            (true, _, Kind::OpenRequest) | (false, Kind::CloseRequest, _) => selects || ends,
            (true, ..) => ends,
            (false, ..) => false,
        };
        let attributes = |kind: &Kind| matches!(kind, Kind::ReadAttribRequest | Kind::ChangeAttribRequest);
        pair && between.iter().all(attributes)
    }

    fn on_request(&mut self, sender: Side, kind: Kind) -> Result<Step, StateError> {
        let time = StateError::Time(kind, self.state);
        let service = SERVICES
            .iter()
            .find(|one| one.request == kind && one.from == self.state && one.by.is_none_or(|by| by == sender));
        let service = service.ok_or(time)?;
        if !service.unit.is_empty() && (service.unit & self.units).is_empty() {
            return Err(StateError::Unit(kind, service.unit));
        }
        match self.group {
            Group::None => {
                if let Some(waiting) = self.waits_for() {
                    return Err(StateError::Early(kind, waiting));
                }
            }
            Group::Asking if service.grouped && self.members.len() < MOST_MEMBERS => {
                self.members.push(kind);
            }
            Group::Asking | Group::Asked | Group::Answering { .. } => {
                return Err(StateError::Group(kind));
            }
        }
        let by = sender;
        match (service.response, self.group) {
            (None, _) => self.state = service.done,
            (Some(_), Group::None) => self.asked.push_back(PendingService { service, by }),
            (Some(_), Group::Asking | Group::Asked | Group::Answering { .. }) => {
                self.asked.push_back(PendingService { service, by });
                self.state = service.done;
            }
        }
        Ok(Step::Take)
    }

    fn on_response(&mut self, sender: Side, fpdu: &Fpdu) -> Result<(), StateError> {
        let kind = fpdu.kind();
        let unasked = StateError::Unasked(kind);
        if matches!(self.group, Group::Asking | Group::Asked) {
            return Err(unasked);
        }
        let asked = self.asked.front().ok_or(unasked)?;
        let service = asked.service;
        if service.response != Some(kind) || asked.by != sender.other() {
            return Err(unasked);
        }
        let outcome = fpdu.outcome();
        let entered = outcome.and_then(|one| one.state_result) != Some(StateResult::Failure);
        let done = outcome.is_none_or(|one| one.action_result.is_success());
        let next = if entered { service.done } else { service.refused };
        match &mut self.group {
            Group::Answering { failed, .. } if *failed => return Err(unasked),
            Group::Answering { failed, state } => {
                *state = next;
                *failed = !entered || !done;
            }
            Group::None | Group::Asking | Group::Asked => self.state = next,
        }
        self.asked.pop_front();
        if let Fpdu::InitializeResponse(response) = fpdu {
            self.units = response.functional_units;
            self.class = response.service_class;
        }
        Ok(())
    }
}
