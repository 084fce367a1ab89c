//! What has a response of its own: selecting, creating, attributes, opening, and so on.

use kumiki_osi_service::ftam::access::FaduIdentity;
use kumiki_osi_service::ftam::attributes::{AccessControlChange, Attribute, CreateAttributes};
use kumiki_osi_service::ftam::contents::ContentsType;
use kumiki_osi_service::ftam::file::{
    ChangeAttribRequest, ChangeAttribResponse, CreateRequest, CreateResponse, DeleteResponse, DeselectResponse,
    EraseRequest, EraseResponse, LocateRequest, LocateResponse, OpenRequest, OpenResponse, ReadAttribRequest,
    ReadAttribResponse, RecoverRequest, RecoverResponse, RecoveryMode, SelectRequest, SelectResponse,
};
use kumiki_osi_service::ftam::{
    AccessRequest, AttributeNames, CalendarTime, Diagnostic, Fpdu, FunctionalUnits, ProcessingMode, StateResult, oids,
};

use super::super::guard::{Created, is_directory};
use super::super::{Form, Guard, Name, Selection, Start, StoreError, informative};
use super::transfer::Resumed;
use super::{Change, OpenFile, Responder, Selected};

/// The most elements of a file's access control: as many as a peer can be told of.
const MOST_ELEMENTS: usize = 1000;

impl Responder {
    /// Does what a request asks for. None where it is no request, or comes at the wrong time.
    pub(super) fn answer(&mut self, request: Fpdu, now: CalendarTime, guard: &mut Guard) -> Option<Fpdu> {
        let (selected, open) = (self.selected.is_some(), self.opened.is_some());
        let (free, closed) = (!selected, selected && !open);
        let idle = open && self.transfer.is_none();
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "whatever is no request with a response is at the wrong time here"
        )]
        Some(match request {
            Fpdu::SelectRequest(it) if free => Fpdu::SelectResponse(Box::new(self.select(*it, guard))),
            Fpdu::CreateRequest(it) if free => Fpdu::CreateResponse(Box::new(self.create(&it, now, guard))),
            Fpdu::RecoverRequest(it) if free => Fpdu::RecoverResponse(Box::new(self.recover(&it, guard))),
            Fpdu::DeselectRequest(_) if closed => {
                self.settle_changes();
                let mut emptied = Ok(());
                if let Some(selected) = self.selected.take() {
                    if selected.is_cancelled {
                        self.discard(selected, guard);
                    } else {
                        emptied = guard.empty(selected.selection);
                    }
                    guard.deselect(selected.selection);
                }
                let (action_result, diagnostic) = said(emptied);
                Fpdu::DeselectResponse(Box::new(DeselectResponse {
                    action_result,
                    diagnostic,
                    ..DeselectResponse::default()
                }))
            }
            Fpdu::DeleteRequest(_) if closed => {
                self.settle_changes();
                let Selected { selection, .. } = self.selected.take()?;
                let (action_result, diagnostic) = said(guard.delete(&self.user, selection));
                Fpdu::DeleteResponse(Box::new(DeleteResponse {
                    action_result,
                    diagnostic,
                    ..DeleteResponse::default()
                }))
            }
            Fpdu::ReadAttribRequest(it) if closed => {
                Fpdu::ReadAttribResponse(Box::new(self.read_attributes(&it, guard)))
            }
            Fpdu::ChangeAttribRequest(it) if closed => {
                let done = self.change_attributes(&it, now, guard);
                let (action_result, diagnostic) = said(done);
                Fpdu::ChangeAttribResponse(Box::new(ChangeAttribResponse {
                    action_result,
                    attributes: None,
                    diagnostic,
                }))
            }
            Fpdu::OpenRequest(it) if closed => Fpdu::OpenResponse(Box::new(self.open(&it, guard))),
            Fpdu::CloseRequest(_) if idle => {
                if let Some(opened) = self.opened.take()
                    && let Some(file) = opened.resumed.and_then(|resumed| resumed.file)
                {
                    // What was interrupted is not gone on with.
                    guard.store().close(file);
                    self.cancelled();
                }
                if let Some(selected) = self.selected {
                    guard.unlock_open(selected.selection);
                }
                Fpdu::CloseResponse(Box::default())
            }
            Fpdu::LocateRequest(it) if idle => Fpdu::LocateResponse(Box::new(locate(&it))),
            Fpdu::EraseRequest(it) if idle => {
                let (action_result, diagnostic) = said(self.erase(&it, now, guard));
                Fpdu::EraseResponse(Box::new(EraseResponse { action_result, diagnostic }))
            }
            _ => return None,
        })
    }

    fn select(&mut self, request: SelectRequest, guard: &mut Guard) -> SelectResponse {
        let passwords = request.access_passwords.as_deref();
        let locks = request.concurrency_control;
        let access = request.requested_access;
        let done = self.agreed_access(access).and_then(|()| {
            let name = Name::parse(&request.pathname)?;
            guard.select(&self.user, name, access, passwords, locks)
        });
        let mut response = SelectResponse { pathname: request.pathname, ..SelectResponse::default() };
        match done {
            Ok(selection) => {
                self.called.clone_from(&response.pathname);
                self.selected = Some(Selected::old(selection));
            }
            Err(fault) => {
                response.state_result = StateResult::Failure;
                response.action_result = fault.result();
                response.diagnostic = vec![fault.diagnostic()];
            }
        }
        response
    }

    /// Whether the functional units let a file be used so.
    fn agreed_access(&self, access: AccessRequest) -> Result<(), StoreError> {
        let writing = AccessRequest::INSERT | AccessRequest::REPLACE | AccessRequest::EXTEND;
        let units = self.agreed.units;
        for (action, unit) in [(AccessRequest::READ, FunctionalUnits::READ), (writing, FunctionalUnits::WRITE)] {
            if !(access & action).is_empty() && !units.contains(unit) {
                return Err(StoreError::permanent(3029, unit.to_string()));
            }
        }
        Ok(())
    }

    fn create(&mut self, request: &CreateRequest, now: CalendarTime, guard: &mut Guard) -> CreateResponse {
        let mut response =
            CreateResponse { initial_attributes: request.initial_attributes.clone(), ..CreateResponse::default() };
        let possible = self.agreed_access(request.requested_access).and_then(|()| {
            let contents_type = &request.initial_attributes.contents_type;
            let unknown = || StoreError::permanent(3002, format!("{contents_type} is not known here"));
            let form = Form::of(contents_type).ok_or_else(unknown)?;
            let settled = form.settled(contents_type);
            settled.map(drop).map_err(|why| StoreError::permanent(3002, why))
        });
        match possible.and_then(|()| guard.create(&self.user, request, now)) {
            Ok(Created { selection, is_new, attributes, remarks }) => {
                let attributes = self.agreed.told(attributes);
                self.selected = Some(Selected { is_new, ..Selected::old(selection) });
                let wanted = &request.initial_attributes;
                self.called.clone_from(&wanted.pathname);
                response.initial_attributes = CreateAttributes {
                    pathname: wanted.pathname.clone(),
                    permitted_actions: attributes.permitted_actions.unwrap_or_default(),
                    contents_type: attributes.contents_type.unwrap_or_default(),
                    ..CreateAttributes::default()
                };
                response.diagnostic = remarks;
                let answered = &response.initial_attributes;
                // A store that keeps neither gives every file its own: that is nothing done to this one.
                if is_new
                    && guard.store().keeps_types()
                    && (answered.permitted_actions != wanted.permitted_actions
                        || answered.contents_type != wanted.contents_type)
                {
                    response.diagnostic.push(informative(3018, ""));
                }
            }
            Err(fault) => {
                response.state_result = StateResult::Failure;
                response.action_result = fault.result();
                response.diagnostic = vec![fault.diagnostic()];
            }
        }
        response
    }

    fn read_attributes(&self, request: &ReadAttribRequest, guard: &mut Guard) -> ReadAttribResponse {
        let done = self.selection().and_then(|selection| {
            let name = guard.may(selection, AccessRequest::READ_ATTRIBUTE)?.clone();
            let mut attributes = guard.store().attributes(&self.user, &name)?;
            if guard.is_to_be_emptied(selection) {
                attributes.size = Some(0.into());
            }
            Ok((attributes, name))
        });
        match done {
            Ok((mut attributes, name)) => {
                attributes.pathname = Some(name.pathname());
                let names = request.attribute_names & self.names();
                ReadAttribResponse {
                    attributes: Some(Box::new(self.agreed.told(attributes).complete(names).only(names))),
                    ..ReadAttribResponse::default()
                }
            }
            Err(fault) => ReadAttribResponse {
                action_result: fault.result(),
                attributes: None,
                diagnostic: vec![fault.diagnostic()],
            },
        }
    }

    /// Attributes of the groups agreed.
    pub(super) fn names(&self) -> AttributeNames {
        self.agreed.groups.names()
    }

    fn change_attributes(
        &mut self,
        request: &ChangeAttribRequest,
        now: CalendarTime,
        guard: &mut Guard,
    ) -> Result<(), StoreError> {
        let wanted = &request.attributes;
        let selection = self.selection()?;
        let name = guard.may(selection, AccessRequest::CHANGE_ATTRIBUTE)?.clone();
        let fixed = [
            (wanted.storage_account.is_some(), AttributeNames::STORAGE_ACCOUNT),
            (wanted.availability.is_some(), AttributeNames::AVAILABILITY),
            (wanted.future_size.is_some(), AttributeNames::FUTURE_SIZE),
            (wanted.path_access_control.is_some(), AttributeNames::PATH_ACCESS_CONTROL),
            (wanted.legal_qualification.is_some(), AttributeNames::LEGAL_QUALIFICATION),
            (wanted.private_use.is_some(), AttributeNames::PRIVATE_USE),
        ];
        if let Some((_, fixed)) = fixed.into_iter().find(|(asked, _)| *asked) {
            return Err(StoreError::permanent(4002, fixed.to_string()));
        }
        let to = wanted.pathname.as_ref().map(Name::parse).transpose()?;
        let mut changes = Vec::new();
        if let Some(change) = &wanted.access_control {
            let old = guard.store().attributes(&self.user, &name)?.access_control;
            let old = match old {
                Some(Attribute::Actual(elements)) => elements,
                Some(Attribute::NoValueAvailable) | None => Vec::new(),
            };
            let mut elements = old.clone();
            let none = AccessControlChange::default();
            let change = change.actual().unwrap_or(&none);
            for gone in change.delete_values.iter().flatten() {
                elements.retain(|element| element != gone);
            }
            elements.extend(change.insert_values.iter().flatten().cloned());
            if elements.len() > MOST_ELEMENTS {
                let text = format!("more than {MOST_ELEMENTS} elements of access control");
                return Err(StoreError::permanent(4005, text));
            }
            let store = guard.store();
            store.set_access_control(&self.user, &name, elements, now)?;
            changes.push(Change::Controlled(old));
        }
        if let Some(to) = to {
            if let Err(fault) = guard.rename(&self.user, selection, to, now) {
                // It is done as a whole, or not at all.
                let _ = self.put_back(changes, now, guard);
                return Err(fault);
            }
            changes.push(Change::Named(name));
        }
        if let Some(all) = &mut self.changes {
            all.extend(changes);
        }
        Ok(())
    }

    /// Puts back what F-CHANGE-ATTRIB has changed at the file that is selected, the last of it first.
    ///
    /// # Errors
    /// Why something could not be put back; what else there is was put back all the same.
    pub(super) fn put_back(
        &self,
        changes: Vec<Change>,
        now: CalendarTime,
        guard: &mut Guard,
    ) -> Result<(), StoreError> {
        if changes.is_empty() {
            return Ok(());
        }
        let selection = self.selection()?;
        let mut done = Ok(());
        for change in changes.into_iter().rev() {
            let back = match change {
                Change::Named(old) => guard.rename(&self.user, selection, old, now),
                Change::Controlled(old) => match guard.name(selection).cloned() {
                    Some(name) => guard.store().set_access_control(&self.user, &name, old, now),
                    None => Ok(()),
                },
            };
            done = done.and(back);
        }
        done
    }

    /// What was changed stays: the file is given up, and another one may be selected in the same group.
    fn settle_changes(&mut self) {
        if let Some(changes) = &mut self.changes {
            changes.clear();
        }
    }

    pub(super) fn selection(&self) -> Result<Selection, StoreError> {
        let selected = self.selected.as_ref();
        selected.map(|selected| selected.selection).ok_or_else(|| StoreError::permanent(5039, "nothing is selected"))
    }

    fn open(&mut self, request: &OpenRequest, guard: &mut Guard) -> OpenResponse {
        match self.try_open(request, guard) {
            Ok(response) => response,
            Err(fault) => OpenResponse {
                state_result: StateResult::Failure,
                action_result: fault.result(),
                contents_type: request.contents_type.clone().unwrap_or_default(),
                diagnostic: vec![fault.diagnostic()],
                ..OpenResponse::default()
            },
        }
    }

    /// Whether lines of a document in this form end otherwise in the store than where it is transferred.
    const fn has_local_newlines(&self, form: Form) -> bool {
        self.config.local_newlines && matches!(form, Form::Text(_))
    }

    fn try_open(&mut self, request: &OpenRequest, guard: &mut Guard) -> Result<OpenResponse, StoreError> {
        let selection = self.selection()?;
        let mode = request.processing_mode;
        for (one, access, unit) in [
            (ProcessingMode::READ, AccessRequest::READ, FunctionalUnits::READ),
            (ProcessingMode::INSERT, AccessRequest::INSERT, FunctionalUnits::WRITE),
            (ProcessingMode::REPLACE, AccessRequest::REPLACE, FunctionalUnits::WRITE),
            (ProcessingMode::EXTEND, AccessRequest::EXTEND, FunctionalUnits::WRITE),
            (ProcessingMode::ERASE, AccessRequest::ERASE, FunctionalUnits::FILE_ACCESS),
        ] {
            if mode.contains(one) {
                if !self.agreed.units.contains(unit) {
                    return Err(StoreError::permanent(5022, format!("{one} needs {unit}")));
                }
                guard.may(selection, access).map_err(|_| StoreError::permanent(5023, access.to_string()))?;
            }
        }
        let name = guard.may(selection, AccessRequest::NONE)?.clone();
        let attributes = guard.store().attributes(&self.user, &name)?;
        let typed = guard.store().keeps_types() || is_directory(&attributes);
        let kept = attributes.contents_type.unwrap_or_default();
        let (contents_type, remark) = settle(kept, request.contents_type.as_ref(), typed)?;
        let unknown = || StoreError::permanent(5036, format!("{contents_type} is not known here"));
        let form = Form::of(&contents_type).ok_or_else(unknown)?;
        let contents_type = form.settled(&contents_type).map_err(|why| StoreError::permanent(5036, why))?;
        if form == Form::Directory && mode != ProcessingMode::READ {
            return Err(StoreError::permanent(5022, "a directory is only read"));
        }
        let mut diagnostic: Vec<Diagnostic> = remark.into_iter().collect();
        let recovery = if self.agreed.units.contains(FunctionalUnits::RECOVERY) && request.activity_identifier.is_some()
        {
            request.recovery_mode
        } else {
            RecoveryMode::None
        };
        if recovery != request.recovery_mode {
            diagnostic.push(informative(6012, ""));
        }
        if request.enable_fadu_locking {
            diagnostic.push(informative(5040, ""));
        }
        if let Some(locks) = request.concurrency_control {
            guard.lock_open(selection, locks)?;
        }
        if let (true, Some(activity)) = (recovery != RecoveryMode::None, request.activity_identifier) {
            guard.name_activity(selection, &self.user, activity);
        }
        self.opened = Some(OpenFile {
            mode,
            contents_type: contents_type.clone(),
            form,
            has_local_newlines: self.has_local_newlines(form),
            recovery,
            activity: request.activity_identifier,
            resumed: None,
        });
        Ok(OpenResponse {
            contents_type,
            concurrency_control: request.concurrency_control,
            diagnostic,
            recovery_mode: recovery,
            ..OpenResponse::default()
        })
    }

    fn recover(&mut self, request: &RecoverRequest, guard: &mut Guard) -> RecoverResponse {
        let refused = |fault: StoreError| RecoverResponse {
            state_result: StateResult::Failure,
            action_result: fault.result(),
            diagnostic: vec![fault.diagnostic()],
            ..RecoverResponse::default()
        };
        let activity = request.activity_identifier;
        let Some(docket) = guard.recover(&self.user, activity) else {
            if guard.claim(&self.user, activity) {
                let text = "the association that it was on has not ended yet";
                return refused(StoreError::transient(6001, text));
            }
            if guard.was_taken_over(&self.user, activity) {
                let text = "another user has taken the file over since";
                return refused(StoreError::permanent(6004, text));
            }
            return refused(StoreError::permanent(6004, ""));
        };
        let Some(form) = Form::of(&docket.contents_type) else {
            guard.keep(docket);
            return refused(StoreError::permanent(6006, ""));
        };
        let points = docket.checkpoints.len();
        let wanted = usize::try_from(request.recovery_point);
        let point = match wanted {
            // One more than the last is its end, of which the last is the best that is known.
            Ok(wanted) if wanted <= points + 1 => wanted.min(points),
            Ok(_) | Err(_) => {
                guard.keep(docket);
                return refused(StoreError::permanent(6009, ""));
            }
        };
        let contents_type = docket.contents_type.clone();
        let (is_new, mode, writes) = (docket.is_new, docket.mode, docket.writes);
        let begin = docket.begin;
        let points = docket.checkpoints.iter().take(point).copied().collect();
        let (selection, file) = match guard.take_up(docket) {
            Ok(taken) => taken,
            Err(fault) => return refused(fault),
        };
        if let Some(name) = guard.name(selection) {
            self.called = name.pathname();
        }
        self.selected = Some(Selected { is_new, ..Selected::old(selection) });
        self.opened = Some(OpenFile {
            mode,
            contents_type: contents_type.clone(),
            form,
            has_local_newlines: self.has_local_newlines(form),
            recovery: RecoveryMode::AtAnyActiveCheckpoint,
            activity: Some(activity),
            resumed: Some(Resumed { file, writes, points, begin }),
        });
        RecoverResponse {
            contents_type,
            recovery_point: i64::try_from(point).unwrap_or(i64::MAX),
            ..RecoverResponse::default()
        }
    }

    fn erase(&self, request: &EraseRequest, now: CalendarTime, guard: &mut Guard) -> Result<(), StoreError> {
        whole(&request.fadu_identity)?;
        let opened = self.opened.as_ref();
        if !opened.is_some_and(|opened| opened.mode.contains(ProcessingMode::ERASE)) {
            return Err(StoreError::permanent(5017, ""));
        }
        let name = guard.may(self.selection()?, AccessRequest::ERASE)?.clone();
        let (file, _) = guard.store().write_to(&self.user, &name, Start::Replace)?;
        guard.store().commit(&self.user, file, now)
    }
}

/// Whether a file access data unit is the whole file.
pub(super) fn whole(identity: &FaduIdentity) -> Result<(), StoreError> {
    match identity {
        FaduIdentity::First | FaduIdentity::Begin => Ok(()),
        FaduIdentity::Last
        | FaduIdentity::Previous
        | FaduIdentity::Current
        | FaduIdentity::Next
        | FaduIdentity::End
        | FaduIdentity::SingleName(_)
        | FaduIdentity::NameList(_)
        | FaduIdentity::Number(_) => Err(StoreError::permanent(5004, identity.to_string())),
    }
}

fn locate(request: &LocateRequest) -> LocateResponse {
    match whole(&request.fadu_identity) {
        Ok(()) => LocateResponse { fadu_identity: Some(FaduIdentity::First), ..LocateResponse::default() },
        Err(fault) => {
            LocateResponse { action_result: fault.result(), fadu_identity: None, diagnostic: vec![fault.diagnostic()] }
        }
    }
}

/// The result of something, and why.
pub(super) fn said(done: Result<(), StoreError>) -> (kumiki_osi_service::ftam::ActionResult, Vec<Diagnostic>) {
    match done {
        Ok(()) => Default::default(),
        Err(fault) => (fault.result(), vec![fault.diagnostic()]),
    }
}

/// As what a file is opened.
fn settle(
    kept: ContentsType,
    wanted: Option<&ContentsType>,
    typed: bool,
) -> Result<(ContentsType, Option<Diagnostic>), StoreError> {
    let Some(wanted) = wanted else {
        return Ok((kept, None));
    };
    let contradicts = || StoreError::permanent(5036, format!("the file is {kept}"));
    let form = Form::of(wanted).ok_or_else(contradicts)?;
    if !typed {
        let fits = form != Form::Directory;
        return if fits { Ok((wanted.clone(), None)) } else { Err(contradicts()) };
    }
    let is_bare = matches!(wanted, ContentsType::Document { parameter: None, .. });
    match (Form::of(&kept), form) {
        (Some(Form::Directory), Form::Directory) if is_bare => Ok((kept, None)),
        (Some(Form::Directory), Form::Directory) => Ok((wanted.clone(), None)),
        _ if kept.document_type() == wanted.document_type() && is_bare => Ok((kept, None)),
        (Some(have), form) if have == form => Ok((wanted.clone(), None)),
        (Some(Form::Records(_)), Form::Lines(_)) if wanted.document_type() == Some(oids::FTAM_1) => {
            Ok((wanted.clone(), Some(informative(5037, ""))))
        }
        _ => Err(contradicts()),
    }
}
