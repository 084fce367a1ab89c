//! One association, as the responding user sees it: primitives in, primitives out.
//!
//! The provider has already looked whether each FPDU is allowed in its state; one that comes at the wrong time all the
//! same ends the association with 1008.
//!
//! **Groups** (recalled, ISO 8571-3). Members are executed in order up to the first that fails. Where fewer than the
//! threshold succeeded, those that selected, created or opened something are undone, and the response group has one
//! member: the first, failed, with 1016 and the diagnostics of the one that really did.

mod audit;
mod files;
mod initialize;
mod transfer;

use kumiki_graph::Reason;
use kumiki_octets::Message;
use kumiki_osi_service::Association;
use kumiki_osi_service::ftam::access::AccessControlElement;
use kumiki_osi_service::ftam::attributes::{Attribute, Pathname, ReadAttributes};
use kumiki_osi_service::ftam::contents::ContentsType;
use kumiki_osi_service::ftam::file::{CreateResponse, RecoveryMode, SelectResponse};
use kumiki_osi_service::ftam::regime::{Abort, InitializeResponse};
use kumiki_osi_service::ftam::{
    ActionResult, AttributeGroups, CalendarTime, Diagnostic, DiagnosticType, Entity, Fpdu, FunctionalUnits, Primitive,
    ProcessingMode, ServiceClasses, StateResult, oids,
};
use kumiki_osi_service::layer;

use super::{Action, Form, Guard, Name, Selection, StoreError, User};
use crate::ftam::Ftam;
use crate::node::{Called, End, Recovers, RespondingUser};
pub(crate) use audit::renaming;
use transfer::{Resumed, Transfer};

/// The most members of a group. The longest that makes sense has six.
const MOST_MEMBERS: usize = 16;

/// What can be set of a responder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// What it calls itself; may be empty.
    pub implementation: String,
    /// The most that is agreed to.
    pub units: FunctionalUnits,
    /// The most attribute groups that are agreed to.
    pub groups: AttributeGroups,
    /// Octets of one data element that is sent, where it may be cut anywhere.
    pub element: usize,
    /// Octets between checkpoints of what is sent, where recovery or restart was agreed.
    pub checkpoint_every: u64,
    /// The most checkpoints that may be without an answer.
    pub checkpoint_window: u32,
    /// The most octets that a file may become, if there is a limit.
    pub longest_file: Option<u64>,
    /// The most entries of a directory that is sent; one that has more is refused.
    pub entries: usize,
    /// Lines of texts with control characters ([`Form::Text`]) end with LF in the store, and with CR LF where they are
    /// transferred. Sizes are those in the store.
    pub local_newlines: bool,
}

impl Config {
    /// All functional units that are here.
    pub const UNITS: FunctionalUnits = FunctionalUnits::READ
        .with(FunctionalUnits::WRITE)
        .with(FunctionalUnits::FILE_ACCESS)
        .with(FunctionalUnits::LIMITED_FILE_MANAGEMENT)
        .with(FunctionalUnits::ENHANCED_FILE_MANAGEMENT)
        .with(FunctionalUnits::GROUPING)
        .with(FunctionalUnits::RECOVERY)
        .with(FunctionalUnits::RESTART_DATA_TRANSFER);
}

impl Default for Config {
    fn default() -> Self {
        Self {
            implementation: "Kumiki".to_owned(),
            units: Self::UNITS,
            groups: AttributeGroups::STORAGE.with(AttributeGroups::SECURITY),
            element: 8000,
            checkpoint_every: 256 * 1024,
            checkpoint_window: 4,
            longest_file: None,
            entries: 100_000,
            local_newlines: false,
        }
    }
}

/// What F-INITIALIZE agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Agreed {
    /// The class.
    pub class: ServiceClasses,
    /// The functional units.
    pub units: FunctionalUnits,
    /// The attribute groups.
    pub groups: AttributeGroups,
    /// Checkpoints without an answer at most.
    pub window: u32,
    /// Directories have the old name of their type: the initiator knows no other.
    pub old_directories: bool,
}

impl Agreed {
    /// Attributes as the initiator is told them.
    fn told(&self, mut attributes: ReadAttributes) -> ReadAttributes {
        // Passwords are asked for, and never told.
        if let Some(Attribute::Actual(elements)) = &mut attributes.access_control {
            for element in elements {
                element.passwords = None;
            }
        }
        if let Some(ContentsType::Document { name, .. }) = &mut attributes.contents_type
            && *name == oids::NBS_9
            && self.old_directories
        {
            *name = oids::NBS_9_OLD;
        }
        attributes
    }
}

/// A file that is selected.
#[derive(Clone, Copy, Debug)]
struct Selected {
    selection: Selection,
    /// It was made by the F-CREATE that selected it, and nothing was written to it.
    is_new: bool,
    /// A transfer was cancelled.
    is_cancelled: bool,
}

impl Selected {
    /// A file that was there before.
    const fn old(selection: Selection) -> Self {
        Self { selection, is_new: false, is_cancelled: false }
    }
}

/// A file that is open.
#[derive(Clone, Debug)]
struct OpenFile {
    mode: ProcessingMode,
    contents_type: ContentsType,
    form: Form,
    /// Its lines end otherwise in the store than where it is transferred.
    has_local_newlines: bool,
    recovery: RecoveryMode,
    activity: Option<i64>,
    /// It was opened by F-RECOVER, and its first transfer goes on from here.
    resumed: Option<Resumed>,
}

/// A group that is asked for.
#[derive(Clone, Debug)]
struct Group {
    threshold: i64,
    members: Vec<Fpdu>,
}

/// What F-CHANGE-ATTRIB has changed, as it was before.
#[derive(Clone, Debug)]
enum Change {
    /// The file had this name.
    Named(Name),
    /// It had these elements of access control.
    Controlled(Vec<AccessControlElement>),
}

/// One association.
#[derive(Debug)]
pub struct Responder {
    config: Config,
    user: User,
    agreed: Agreed,
    selected: Option<Selected>,
    /// What the initiator called it.
    called: Pathname,
    opened: Option<OpenFile>,
    transfer: Option<Transfer>,
    group: Option<Group>,
    /// What was changed in the group that is executed, so that it can be put back.
    changes: Option<Vec<Change>>,
    /// This side asked for a transfer to be cancelled, for this reason, and has no answer.
    cancelling: Option<StoreError>,
    credit: u32,
    /// What was said where the initiator has aborted.
    heard: Option<Vec<Diagnostic>>,
    /// What was said where this side has, until the node knows.
    stopped: Option<Vec<Diagnostic>>,
    over: bool,
}

impl RespondingUser for Responder {
    type Protocol = Ftam;
    type Config = Config;

    fn called(
        config: &Config,
        association: &mut Association,
        room: Result<(), StoreError>,
        guard: &mut Guard,
    ) -> Called<Self> {
        let Some(Fpdu::InitializeRequest(request)) = association.initialize.take().map(|fpdu| *fpdu) else {
            let reason = Reason::violation(layer::FTAM, "a call without F-INITIALIZE");
            return Called::Refused(End::Broken(reason.clone()), reason);
        };
        let mut responder = Self::new(config.clone());
        let response = match room {
            Ok(()) => responder.initialize(&request, guard),
            Err(fault) => InitializeResponse {
                state_result: StateResult::Failure,
                action_result: fault.result(),
                diagnostic: vec![fault.diagnostic()],
                ..InitializeResponse::default()
            },
        };
        let called = if response.state_result == StateResult::Success {
            Called::LetIn(responder)
        } else {
            Called::Answered(End::Refused(response.diagnostic.clone()))
        };
        association.initialize = Some(Box::new(Fpdu::InitializeResponse(Box::new(response))));
        called
    }

    fn on(&mut self, primitive: Primitive, now: CalendarTime, guard: &mut Guard, out: &mut Vec<Action>) {
        match primitive {
            Primitive::Pdu(fpdu) => self.on_fpdu(fpdu, now, guard, out),
            Primitive::Data(element) => {
                self.on_element(element, guard, out);
                out.push(Action::Grant(1));
            }
            Primitive::Check { identifier } => self.on_check(identifier, out),
            Primitive::CheckReply { identifier } => {
                self.on_check_reply(identifier);
                self.pump(guard, out);
            }
        }
    }

    fn on_data(&mut self, data: Message, guard: &mut Guard, out: &mut Vec<Action>) {
        self.on_string(data, guard, out);
        out.push(Action::Grant(1));
    }

    fn on_credit(&mut self, messages: u32, guard: &mut Guard, out: &mut Vec<Action>) {
        self.credit = self.credit.saturating_add(messages);
        self.pump(guard, out);
    }

    fn stop(&mut self, fault: StoreError, guard: &mut Guard, out: &mut Vec<Action>) {
        if !self.over {
            self.abort(fault, guard, out);
        }
    }

    /// Who has fallen silent may come back for what was interrupted.
    fn expire(&mut self, why: StoreError, guard: &mut Guard, out: &mut Vec<Action>) {
        if !self.over {
            self.keep(guard);
        }
        self.stop(why, guard, out);
    }

    fn take_stopped(&mut self) -> Option<Vec<Diagnostic>> {
        self.stopped.take()
    }

    fn ended(&mut self, reason: Option<Reason>, guard: &mut Guard) -> End {
        if self.over && self.heard.is_none() {
            return End::InOrder;
        }
        self.on_broken(guard);
        // Of what the initiator has broken the layer below tells us as well, and it is that layer that aborts.
        let is_ours = reason.as_ref().is_some_and(|it| it.as_violation().is_some());
        match self.heard.take() {
            Some(said) if is_ours => End::Stopped(said),
            Some(said) => End::Aborted(said),
            None => End::Broken(reason.unwrap_or(Reason::Down)),
        }
    }

    fn waits(&self) -> bool {
        !self.over
    }

    fn keeps_others_out(&self, guard: &mut Guard) -> bool {
        let selected = self.selected;
        selected.is_some_and(|selected| guard.keeps_others_out(selected.selection))
    }

    fn recovers(&self, said: &Primitive) -> Option<Recovers> {
        let Primitive::Pdu(Fpdu::RecoverRequest(request)) = said else {
            return None;
        };
        // What is in a group is held back until all of it is there.
        let waits = self.group.is_none();
        Some(Recovers { user: self.user.clone(), activity: request.activity_identifier, waits })
    }

    fn has(&self, user: &User, activity: i64) -> bool {
        let opened = self.opened.as_ref();
        self.user == *user && opened.is_some_and(|opened| opened.activity == Some(activity))
    }

    fn supersede(&mut self, guard: &mut Guard, out: &mut Vec<Action>) {
        self.keep(guard);
        let text = "its activity is recovered on another association";
        self.abort(StoreError::transient(1011, text), guard, out);
    }
}

impl Responder {
    /// One that waits for F-INITIALIZE.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            user: User::default(),
            agreed: Agreed::default(),
            selected: None,
            called: Pathname::default(),
            opened: None,
            transfer: None,
            group: None,
            changes: None,
            cancelling: None,
            credit: 0,
            heard: None,
            stopped: None,
            over: false,
        }
    }

    /// Whether the association has ended, or is about to by what was given out last.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.over
    }

    /// Who the initiator is, once it is known.
    #[must_use]
    pub const fn user(&self) -> &User {
        &self.user
    }

    /// What was agreed.
    #[must_use]
    pub const fn agreed(&self) -> &Agreed {
        &self.agreed
    }

    /// The association is gone. A transfer that can be recovered is kept.
    pub fn on_broken(&mut self, guard: &mut Guard) {
        if !self.over {
            self.keep(guard);
        }
        self.discard_new(guard);
        self.leave(guard);
        self.over = true;
    }

    /// Removes a file that was made for a transfer that has come to nothing.
    fn discard_new(&mut self, guard: &mut Guard) {
        self.close_transfer(guard);
        if let (Some(selected), Some(_)) = (self.selected, &self.opened) {
            self.discard(selected, guard);
        }
    }

    /// Removes a file that F-CREATE has made, where nothing was written to it.
    fn discard(&self, selected: Selected, guard: &mut Guard) {
        if selected.is_new
            && let Some(name) = guard.name(selected.selection).cloned()
        {
            // That it stays where the store cannot delete it is the lesser evil.
            let _ = guard.store().delete(&self.user, &name);
        }
    }

    fn abort(&mut self, fault: StoreError, guard: &mut Guard, out: &mut Vec<Action>) {
        let abort = Abort { action_result: fault.result(), diagnostic: vec![fault.diagnostic()] };
        self.stopped = Some(abort.diagnostic.clone());
        out.push(Fpdu::UserAbort(Box::new(abort)).into());
        self.discard_new(guard);
        self.leave(guard);
        self.over = true;
    }

    /// Gives up all regimes within the association.
    fn leave(&mut self, guard: &mut Guard) {
        self.close_transfer(guard);
        if let Some(Resumed { file: Some(file), .. }) = self.opened.take().and_then(|opened| opened.resumed) {
            guard.store().close(file);
        }
        if let Some(selected) = self.selected.take() {
            guard.deselect(selected.selection);
        }
        self.group = None;
    }

    fn on_fpdu(&mut self, fpdu: Fpdu, now: CalendarTime, guard: &mut Guard, out: &mut Vec<Action>) {
        if let Fpdu::UserAbort(abort) | Fpdu::ProviderAbort(abort) = &fpdu {
            self.heard = Some(abort.diagnostic.clone());
        }
        if self.over {
            return;
        }
        if let Some(group) = &mut self.group
            && !matches!(fpdu, Fpdu::EndGroupRequest | Fpdu::UserAbort(_) | Fpdu::ProviderAbort(_))
        {
            if group.members.len() < MOST_MEMBERS {
                group.members.push(fpdu);
            } else {
                self.abort(StoreError::permanent(1015, "a group is too long"), guard, out);
            }
            return;
        }
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "all others are asked for and answered alike, or are no requests"
        )]
        match fpdu {
            Fpdu::BeginGroupRequest(begin) => {
                self.group = Some(Group { threshold: begin.threshold, members: Vec::new() });
            }
            Fpdu::EndGroupRequest => match self.group.take() {
                Some(group) => self.run(group, now, guard, out),
                None => self.abort(StoreError::permanent(1015, ""), guard, out),
            },
            Fpdu::TerminateRequest(_) => {
                self.leave(guard);
                self.over = true;
                out.push(Fpdu::TerminateResponse(Box::default()).into());
            }
            Fpdu::UserAbort(_) => {
                self.discard_new(guard);
                self.leave(guard);
                self.over = true;
            }
            Fpdu::ProviderAbort(_) => self.on_broken(guard),
            Fpdu::ReadRequest(read) => self.on_read(&read, now, guard, out),
            Fpdu::WriteRequest(write) => self.on_write(&write, guard, out),
            Fpdu::DataEndRequest(end) => self.on_data_end(&end),
            Fpdu::TransferEndRequest(_) => self.on_transfer_end(now, guard, out),
            Fpdu::CancelRequest(_) => self.on_cancel(guard, out),
            Fpdu::CancelResponse(_) => self.cancelling = None,
            Fpdu::RestartRequest(restart) => self.on_restart(&restart, guard, out),
            other => {
                let kind = other.kind();
                match self.execute(other, now, guard) {
                    Some(response) => out.push(response.into()),
                    None => {
                        let fault = StoreError::permanent(1008, kind.name());
                        self.abort(fault, guard, out);
                    }
                }
            }
        }
    }

    /// Executes a group.
    fn run(&mut self, group: Group, now: CalendarTime, guard: &mut Guard, out: &mut Vec<Action>) {
        let mut responses = Vec::new();
        let mut failed = None;
        self.changes = Some(Vec::new());
        for member in group.members {
            let kind = member.kind();
            let Some(response) = self.execute(member, now, guard) else {
                // Nobody is told of it whether it could be put back.
                let _ = self.change_back(now, guard);
                self.abort(StoreError::permanent(1008, kind.name()), guard, out);
                return;
            };
            let reasons = failure(&response);
            responses.push(response);
            if let Some(reasons) = reasons {
                failed = Some(reasons);
                break;
            }
        }
        let done = i64::try_from(responses.len()).unwrap_or(i64::MAX) - 1;
        if let Some(reasons) = failed
            && (1..group.threshold).contains(&done)
            && let Some(first) = responses.first()
            && let Some(undone) = self.undone(first, reasons, now, guard)
        {
            responses = vec![undone];
        }
        self.changes = None;
        out.push(Fpdu::BeginGroupResponse.into());
        out.extend(responses.into_iter().map(Action::from));
        out.push(Fpdu::EndGroupResponse.into());
    }

    /// Puts back what the group that is executed has changed, but for a file that it has made: that goes as a whole.
    fn change_back(&mut self, now: CalendarTime, guard: &mut Guard) -> Result<(), StoreError> {
        let is_old = self.selected.is_some_and(|selected| !selected.is_new);
        let changes = self.changes.take().filter(|_| is_old).unwrap_or_default();
        self.put_back(changes, now, guard)
    }

    /// Undoes a group that began with selecting or creating, and gives what is said of that instead.
    fn undone(&mut self, first: &Fpdu, reasons: Vec<Diagnostic>, now: CalendarTime, guard: &mut Guard) -> Option<Fpdu> {
        let mut diagnostic = vec![Diagnostic {
            diagnostic_type: DiagnosticType::Permanent,
            error_identifier: 1016,
            error_observer: Entity::RespondingUser,
            error_source: Entity::InitiatingUser,
            ..Diagnostic::default()
        }];
        diagnostic.extend(reasons);
        // Who has selected before the group is told of each member what came of it, and what was changed stays.
        let selects = matches!(first, Fpdu::SelectResponse(_) | Fpdu::CreateResponse(_));
        if selects && let Err(fault) = self.change_back(now, guard) {
            // That something stays changed where the store cannot put it back is the lesser evil, but has to be said.
            diagnostic.push(fault.diagnostic());
        }
        let state_result = StateResult::Failure;
        let action_result = ActionResult::PermanentError;
        let response = if let Fpdu::SelectResponse(select) = first {
            Fpdu::SelectResponse(Box::new(SelectResponse {
                state_result,
                action_result,
                pathname: select.pathname.clone(),
                diagnostic,
                ..SelectResponse::default()
            }))
        } else if let Fpdu::CreateResponse(create) = first {
            Fpdu::CreateResponse(Box::new(CreateResponse {
                state_result,
                action_result,
                initial_attributes: create.initial_attributes.clone(),
                diagnostic,
                ..CreateResponse::default()
            }))
        } else {
            return None;
        };
        if let Some(selected) = self.selected {
            self.discard(selected, guard);
        }
        self.leave(guard);
        Some(response)
    }
}

/// Why a response says that something was not done.
fn failure(response: &Fpdu) -> Option<Vec<Diagnostic>> {
    let outcome = response.outcome()?;
    let entered = outcome.state_result != Some(StateResult::Failure);
    (!entered || !outcome.action_result.is_success()).then(|| outcome.diagnostic.to_vec())
}
