//! obtainFile: the server fetches a file from its client, on the same association.
//!
//! The contents appear under the name when all of them have come; until then there are the old ones. Under a name that
//! is new there is an EMPTY file meanwhile: it holds the name, and goes where the transfer breaks.

use kumiki_osi_service::ftam::attributes::CreateAttributes;
use kumiki_osi_service::ftam::contents::ContentsType;
use kumiki_osi_service::ftam::file::{CreateRequest, Override};
use kumiki_osi_service::ftam::{AccessRequest, CalendarTime, PermittedActions};
use kumiki_osi_service::mms::{
    ErrorClass, FaultyFile, FileOpen, FileOpened, FileRead, ObtainFile, Pdu, Request, Response, Service, ServiceError,
    file_error,
};

use super::Action;
use super::responder::{Responder, asked, name_of, of_fault, refuse};
use super::serving::answer;
use crate::filestore::{FileId, Guard, Name, Selection, Start, StoreError, User};

/// What is possible with a new file.
const ACTIONS: PermittedActions = PermittedActions::READ
    .with(PermittedActions::REPLACE)
    .with(PermittedActions::EXTEND)
    .with(PermittedActions::READ_ATTRIBUTE)
    .with(PermittedActions::CHANGE_ATTRIBUTE)
    .with(PermittedActions::DELETE);

/// What is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Opening,
    Reading,
    Closing,
}

/// Where it is written.
#[derive(Clone, Copy, Debug)]
struct ObtainedFile {
    selection: Selection,
    is_new: bool,
    file: FileId,
    at: u64,
}

/// One in progress.
#[derive(Debug)]
pub(super) struct Obtain {
    invoke: u32,
    destination: Name,
    stage: Stage,
    /// The file at the client.
    frsm: Option<i32>,
    /// The size that the client has told.
    size: u64,
    written: Option<ObtainedFile>,
    /// The request without an answer.
    asked: Option<u32>,
    /// What is to be asked when there is credit.
    next: Option<Request>,
    failure: Option<ServiceError>,
}

impl Obtain {
    pub(super) const fn invoke(&self) -> u32 {
        self.invoke
    }

    /// Whether nothing is decided yet: while the file at the client is being closed, it is there already or has failed.
    pub(super) fn can_be_cancelled(&self) -> bool {
        !matches!(self.stage, Stage::Closing)
    }

    /// What it writes to.
    pub(super) fn selection(&self) -> Option<Selection> {
        self.written.map(|it| it.selection)
    }

    /// Forgets what has come.
    pub(super) fn discard(mut self, user: &User, guard: &mut Guard) {
        self.undo(user, guard);
    }

    fn undo(&mut self, user: &User, guard: &mut Guard) {
        let Some(written) = self.written.take() else {
            return;
        };
        guard.store().close(written.file);
        if written.is_new {
            // That it stays where the store cannot delete it is the lesser evil.
            let _ = guard.store().delete(user, &self.destination);
        }
        guard.deselect(written.selection);
    }
}

/// The destination is to blame.
fn here(error: ServiceError) -> ServiceError {
    ServiceError { file: Some(FaultyFile::ObtainFile(1)), ..error }
}

/// The file at the client is to blame.
fn blamed(error: ServiceError) -> ServiceError {
    ServiceError { file: Some(FaultyFile::ObtainFile(0)), ..error }
}

impl Responder {
    /// obtainFile request.
    pub(super) fn obtain(&mut self, invoke: u32, request: ObtainFile, guard: &mut Guard, out: &mut Vec<Action>) {
        let destination = match self.may_obtain(&request) {
            Ok(name) => name,
            Err(error) => {
                let asked = asked(&Request::ObtainFile(Box::new(request)));
                return refuse(invoke, asked, error, guard, out);
            }
        };
        self.obtaining = Some(Obtain {
            invoke,
            destination,
            stage: Stage::Opening,
            frsm: None,
            size: 0,
            written: None,
            asked: None,
            next: Some(Request::FileOpen(FileOpen { file_name: request.source_file, initial_position: 0 })),
            failure: None,
        });
        self.ask_on(out);
    }

    /// The name that it is to have here, where it can be fetched.
    fn may_obtain(&self, request: &ObtainFile) -> Result<Name, ServiceError> {
        let unavailable = ServiceError::new(ErrorClass::RESOURCE, 4);
        if request.source_file_server.is_some() {
            return Err(unavailable.saying("files of a third are not fetched"));
        }
        if !self.peer.has(Service::FILE_OPEN) || !self.peer.has(Service::FILE_READ) {
            return Err(unavailable.saying("the client does not let files be read"));
        }
        name_of(&request.destination_file).map_err(here)
    }

    /// Asks for what is next, where there is credit.
    pub(super) fn ask_on(&mut self, out: &mut Vec<Action>) {
        let Some(obtain) = &mut self.obtaining else {
            return;
        };
        if self.credit == 0 || obtain.asked.is_some() {
            return;
        }
        if let Some(request) = obtain.next.take() {
            let invoke = self.next_invoke;
            self.next_invoke = self.next_invoke.wrapping_add(1).max(1);
            self.credit -= 1;
            obtain.asked = Some(invoke);
            out.push(Pdu::request(invoke, request).into());
        }
    }

    /// What the client answers.
    pub(super) fn on_answer(
        &mut self,
        invoke: u32,
        said: Result<Response, ServiceError>,
        now: CalendarTime,
        guard: &mut Guard,
        out: &mut Vec<Action>,
    ) {
        let Some(obtain) = &mut self.obtaining else {
            return;
        };
        if obtain.asked != Some(invoke) {
            return;
        }
        obtain.asked = None;
        let stage = obtain.stage;
        let done = match (stage, said) {
            (Stage::Opening, Ok(Response::FileOpen(opened))) => self.opened(&opened, now, guard),
            (Stage::Reading, Ok(Response::FileRead(read))) => self.took(read, now, guard),
            // That a file does not close any more is no reason not to have it.
            (Stage::Closing, said) => {
                // It was given up before the file at the client was open: that is not left open there.
                if let Ok(Response::FileOpen(opened)) = said {
                    obtain.next = Some(Request::FileClose(opened.frsm));
                }
                return self.end_obtaining(guard, out);
            }
            (_, Err(error)) => Err(blamed(error)),
            (_, Ok(_)) => Err(ServiceError::of_file(file_error::OTHER).saying("another answer")),
        };
        match done {
            Ok(()) => self.ask_on(out),
            Err(error) => self.fail_obtaining(error, guard, out),
        }
    }

    /// The file at the client is open: now it is worth making one here.
    fn opened(&mut self, opened: &FileOpened, now: CalendarTime, guard: &mut Guard) -> Result<(), ServiceError> {
        let too_long = self.too_long(u64::from(opened.attributes.size_of_file));
        let user = self.user.clone();
        let Some(obtain) = &mut self.obtaining else {
            return Ok(());
        };
        obtain.frsm = Some(opened.frsm);
        obtain.size = u64::from(opened.attributes.size_of_file);
        obtain.stage = Stage::Reading;
        too_long?;
        let create = CreateRequest {
            override_: Override::DeleteAndCreateWithOldAttributes,
            initial_attributes: CreateAttributes {
                pathname: obtain.destination.pathname(),
                permitted_actions: ACTIONS,
                contents_type: ContentsType::binary(),
                ..CreateAttributes::default()
            },
            requested_access: AccessRequest::REPLACE,
            ..CreateRequest::default()
        };
        let fault = |fault| here(of_fault(fault));
        let created = guard.create(&user, &create, now).map_err(fault)?;
        let started = guard.store().write_to(&user, &obtain.destination, Start::Replace);
        match started {
            Ok((file, at)) => {
                obtain.written = Some(ObtainedFile { selection: created.selection, is_new: created.is_new, file, at });
            }
            Err(why) => {
                if created.is_new {
                    // That it stays where the store cannot delete it is the lesser evil.
                    let _ = guard.store().delete(&user, &obtain.destination);
                }
                guard.deselect(created.selection);
                return Err(fault(why));
            }
        }
        obtain.next = Some(Request::FileRead(opened.frsm));
        Ok(())
    }

    fn too_long(&self, octets: u64) -> Result<(), ServiceError> {
        match self.config.longest_file {
            Some(most) if octets > most => Err(here(of_fault(StoreError::too_long(most)))),
            Some(_) | None => Ok(()),
        }
    }

    /// A piece of the file.
    fn took(&mut self, read: FileRead, now: CalendarTime, guard: &mut Guard) -> Result<(), ServiceError> {
        let len = read.file_data.len() as u64;
        let at = self.obtaining.as_ref().and_then(|it| it.written.as_ref());
        let end = at.map_or(0, |it| it.at).saturating_add(len);
        self.too_long(end)?;
        let user = self.user.clone();
        let Some(obtain) = &mut self.obtaining else {
            return Ok(());
        };
        let (Some(written), Some(frsm)) = (&mut obtain.written, obtain.frsm) else {
            return Ok(());
        };
        let fault = |fault| here(of_fault(fault));
        if len > 0 {
            guard.store().write(written.file, written.at, read.file_data).map_err(fault)?;
            written.at = end;
        }
        // Who gives nothing and says that more follows would be asked for ever.
        if read.more_follows && len > 0 {
            obtain.next = Some(Request::FileRead(frsm));
            return Ok(());
        }
        if read.more_follows && end < obtain.size {
            let size = obtain.size;
            let error = ServiceError::of_file(file_error::OTHER);
            return Err(blamed(error).saying(format!("the file breaks off at octet {end} of {size}, and more follows")));
        }
        let (file, selection, is_new) = (written.file, written.selection, written.is_new);
        obtain.written = None;
        let done = guard.store().commit(&user, file, now);
        match &done {
            Ok(()) => guard.replaced(selection),
            Err(_) if is_new => {
                // That it stays where the store cannot delete it is the lesser evil.
                let _ = guard.store().delete(&user, &obtain.destination);
            }
            Err(_) => {}
        }
        guard.deselect(selection);
        done.map_err(fault)?;
        obtain.stage = Stage::Closing;
        obtain.next = Some(Request::FileClose(frsm));
        Ok(())
    }

    /// It has failed: the file at the client is closed, and then the client is told.
    pub(super) fn fail_obtaining(&mut self, error: ServiceError, guard: &mut Guard, out: &mut Vec<Action>) {
        let user = self.user.clone();
        let Some(obtain) = &mut self.obtaining else {
            return;
        };
        obtain.undo(&user, guard);
        obtain.failure.get_or_insert(error);
        obtain.stage = Stage::Closing;
        obtain.next = obtain.frsm.take().map(Request::FileClose);
        if obtain.next.is_none() && obtain.asked.is_none() {
            return self.end_obtaining(guard, out);
        }
        self.ask_on(out);
    }

    fn end_obtaining(&mut self, guard: &mut Guard, out: &mut Vec<Action>) {
        let Some(obtain) = &mut self.obtaining else {
            return;
        };
        // What was asked before it failed has its answer; now the file is closed.
        if obtain.next.is_some() {
            return self.ask_on(out);
        }
        if let Some(obtain) = self.obtaining.take() {
            let invoke = obtain.invoke;
            match obtain.failure {
                Some(error) => {
                    let asked = Some(("write".to_owned(), obtain.destination.to_string()));
                    refuse(invoke, asked, error, guard, out);
                }
                None => out.push(answer(invoke, Ok(Response::ObtainFile))),
            }
        }
        self.go_on(guard, out);
    }
}
