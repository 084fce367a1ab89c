//! One association, as the server sees it: requests in, answers out.
//!
//! All but obtainFile is answered at once. Files are selected in the [`Guard`] for as long as they are open, so that
//! users of FTAM and of MMS keep out of each other's way.

use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::Reason;
use kumiki_osi_service::acse::{Credential, Diagnostic as AssociationDiagnostic};
use kumiki_osi_service::ftam::attributes::{Attribute, Pathname, ReadAttributes};
use kumiki_osi_service::ftam::{AccessRequest, CalendarTime, Diagnostic, GraphicString, Password};
use kumiki_osi_service::mms::{
    ABSTRACT_SYNTAX, DirectoryEntry, ErrorClass, FaultyFile, FileAttributes, FileDirectory, FileDirectoryResponse,
    FileName, FileOpen, FileOpened, FileRead, FileRename, Identity, Initiate, PASSWORD_MECHANISM, Pdu, RejectedPdu,
    Request, Response, ServiceError, Services, Status, file_error,
};

use kumiki_osi_service::{Association, OsiCause};

use super::obtain::Obtain;
use super::serving::answer;
use super::{Action, SERVER_SERVICES, piece};
use crate::filestore::{FileId, Form, Guard, Login, Name, Selection, StoreError, User, renaming};
use crate::mms::{self, Mms};
use crate::node::{Called, End, RespondingUser};

/// X.227, Associate-source-diagnostic: no reason given, authentication failed, authentication required.
const NO_REASON: u8 = 1;
const AUTHENTICATION_FAILED: u8 = 13;
const AUTHENTICATION_REQUIRED: u8 = 14;

/// What can be set of a responder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Who made it, what it is, and which of these.
    pub identity: [String; 3],
    /// The most files that are open at a time.
    pub files: usize,
    /// The most octets that a file may become, if there is a limit.
    pub longest_file: Option<u64>,
    /// The most entries of a directory that is told; one that has more is refused.
    pub entries: usize,
    /// What is agreed to; the services are the server's.
    pub initiate: Initiate,
    /// As whom callers come in: association control carries a password and no name.
    pub user: Option<GraphicString>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            identity: ["Kumiki".to_owned(), "filestore".to_owned(), env!("CARGO_PKG_VERSION").to_owned()],
            files: 16,
            longest_file: None,
            entries: 100_000,
            initiate: mms::Config::default().initiate,
            user: None,
        }
    }
}

/// A file that is being read.
#[derive(Clone, Copy, Debug)]
struct Frsm {
    selection: Selection,
    file: FileId,
    at: u64,
    size: u64,
}

/// Answers that something is not done, and has the journal know.
pub(super) fn refuse(
    invoke: u32,
    asked: Option<(String, String)>,
    error: ServiceError,
    guard: &mut Guard,
    out: &mut Vec<Action>,
) {
    if let Some((what, name)) = asked {
        guard.refused(&what, &name, &error.to_string());
    }
    out.push(answer(invoke, Err(error)));
}

/// A name as a journal has it.
fn written(name: &FileName) -> String {
    let parts: Vec<String> = name.0.iter().map(ToString::to_string).collect();
    parts.join("/")
}

/// What a request about a file is called in a journal, and the name in it.
pub(super) fn asked(request: &Request) -> Option<(String, String)> {
    let (what, name) = match request {
        Request::ObtainFile(it) => ("write", written(&it.destination_file)),
        Request::FileOpen(it) => ("open", written(&it.file_name)),
        Request::FileRename(it) => return Some((renaming(&written(&it.current)), written(&it.new))),
        Request::FileDelete(name) => ("remove", written(name)),
        Request::FileDirectory(it) => ("list", it.file_specification.as_ref().map(written).unwrap_or_default()),
        Request::Status(_) | Request::Identify | Request::FileRead(_) | Request::FileClose(_) | Request::Other(_) => {
            return None;
        }
    };
    Some((what.to_owned(), name))
}

/// One association.
#[derive(Debug)]
pub struct Responder {
    pub(super) config: Config,
    pub(super) user: User,
    /// Octets of a piece.
    piece: usize,
    /// Octets of a PDU.
    longest: usize,
    frsms: BTreeMap<i32, Frsm>,
    next_frsm: i32,
    pub(super) obtaining: Option<Obtain>,
    /// obtainFile requests that wait for the one in progress.
    waiting: VecDeque<(u32, Request)>,
    /// Services that may be asked for.
    pub(super) credit: u32,
    /// The number of the next one.
    pub(super) next_invoke: u32,
    /// What the client answers.
    pub(super) peer: Services,
    /// What is told of the end that this side has made, until the node knows.
    stopped: Option<Vec<Diagnostic>>,
    over: bool,
}

impl RespondingUser for Responder {
    type Protocol = Mms;
    type Config = Config;

    fn listen(config: &Config, association: &mut Association) {
        association.initiate = Some(Box::new(Initiate { services_supported: SERVER_SERVICES, ..config.initiate }));
    }

    fn called(
        config: &Config,
        association: &mut Association,
        room: Result<(), StoreError>,
        guard: &mut Guard,
    ) -> Called<Self> {
        let authentication = association.authentication.take();
        let given =
            authentication.filter(|it| it.mechanism.is_none_or(|it| it == PASSWORD_MECHANISM)).map(|it| {
                match it.value {
                    Credential::Text(octets) | Credential::Raw(octets) => Password::Octets(octets),
                    Credential::Bits { octets, .. } => Password::Octets(octets),
                }
            });
        let login = Login { initiator: config.user.as_ref(), account: None, password: given.as_ref() };
        let let_in = room.and_then(|()| guard.authenticate(&login));
        match (let_in, association.initiate.take()) {
            (Ok(user), Some(agreed)) => Called::LetIn(Self::new(config.clone(), user, &agreed)),
            (let_in, _) => {
                let fault = let_in.err();
                let diagnostic = match &fault {
                    Some(fault) if fault.transient => NO_REASON,
                    Some(_) if given.is_none() => AUTHENTICATION_REQUIRED,
                    Some(_) => AUTHENTICATION_FAILED,
                    None => NO_REASON,
                };
                let permanent = fault.as_ref().is_none_or(|it| !it.transient);
                let told = OsiCause::Rejected { permanent, diagnostic: AssociationDiagnostic::User(diagnostic) };
                let end = End::Rejected(told, fault.map(|it| it.text).unwrap_or_default());
                Called::Refused(end, Reason::peer(told))
            }
        }
    }

    fn on(&mut self, pdu: Pdu, now: CalendarTime, guard: &mut Guard, out: &mut Vec<Action>) {
        match pdu {
            Pdu::Request { invoke, service, .. } => self.on_request(invoke, service, now, guard, out),
            Pdu::Response { invoke, service } => {
                self.on_answer(invoke, Ok(service), now, guard, out);
            }
            Pdu::Error { invoke, error } => self.on_answer(invoke, Err(error), now, guard, out),
            Pdu::Reject(reject) => {
                if let Some(invoke) = reject.invoke {
                    let error = ServiceError::of_file(file_error::OTHER).saying(match reject.pdu {
                        // Those are this side's own doing.
                        RejectedPdu::CONFIRMED_RESPONSE | RejectedPdu::CONFIRMED_ERROR => {
                            "the answer of the client cannot be read".to_owned()
                        }
                        _ => format!("the client has {reject}"),
                    });
                    self.on_answer(invoke, Err(error), now, guard, out);
                }
            }
            Pdu::CancelRequest(invoke) => self.cancel(invoke, guard, out),
            Pdu::Unconfirmed(_)
            | Pdu::CancelResponse(_)
            | Pdu::CancelError { .. }
            | Pdu::InitiateRequest(_)
            | Pdu::InitiateResponse(_)
            | Pdu::InitiateError(_)
            | Pdu::ConcludeRequest
            | Pdu::ConcludeResponse
            | Pdu::ConcludeError(_) => {}
        }
    }

    fn on_credit(&mut self, messages: u32, guard: &mut Guard, out: &mut Vec<Action>) {
        self.credit = self.credit.saturating_add(messages);
        self.go_on(guard, out);
    }

    fn on_released(&mut self, guard: &mut Guard, out: &mut Vec<Action>) {
        self.leave(guard);
        self.over = true;
        out.push(Action::Release);
    }

    fn stop(&mut self, why: StoreError, guard: &mut Guard, out: &mut Vec<Action>) {
        if !self.over {
            self.leave(guard);
            self.over = true;
            out.push(Action::Abort);
        }
        self.stopped = Some(vec![why.diagnostic()]);
    }

    fn take_stopped(&mut self) -> Option<Vec<Diagnostic>> {
        self.stopped.take()
    }

    fn ended(&mut self, reason: Option<Reason>, guard: &mut Guard) -> End {
        self.leave(guard);
        self.over = true;
        let Some(reason) = reason else {
            return End::InOrder;
        };
        match reason.cause() {
            // Some clients end by an abort as others do by conclude.
            Some(OsiCause::AssociationAborted { provider: false }) => End::Aborted(Vec::new()),
            Some(_) | None => End::Broken(reason),
        }
    }

    /// When all is said, for the client to hang up.
    fn waits(&self) -> bool {
        true
    }

    fn keeps_others_out(&self, guard: &mut Guard) -> bool {
        let open = self.frsms.values().map(|it| it.selection);
        let written = self.obtaining.as_ref().and_then(Obtain::selection);
        open.chain(written).any(|selection| guard.keeps_others_out(selection))
    }
}

impl Responder {
    /// One for `user`, on an association for which this was agreed; the services are the client's.
    #[must_use]
    pub fn new(config: Config, user: User, agreed: &Initiate) -> Self {
        let longest = agreed.local_detail.and_then(|it| usize::try_from(it).ok());
        Self {
            config,
            user,
            piece: piece(agreed.local_detail),
            longest: longest.unwrap_or(super::LONGEST).min(super::LONGEST),
            frsms: BTreeMap::new(),
            next_frsm: 1,
            obtaining: None,
            waiting: VecDeque::new(),
            credit: 0,
            next_invoke: 1,
            peer: agreed.services_supported,
            stopped: None,
            over: false,
        }
    }

    /// Whether the association has ended, or is about to by what was given out last.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.over
    }

    /// Who the client is.
    #[must_use]
    pub const fn user(&self) -> &User {
        &self.user
    }

    /// Gives up all that is open.
    fn leave(&mut self, guard: &mut Guard) {
        for frsm in core::mem::take(&mut self.frsms).into_values() {
            guard.store().close(frsm.file);
            guard.deselect(frsm.selection);
        }
        if let Some(obtain) = self.obtaining.take() {
            obtain.discard(&self.user, guard);
        }
        self.waiting.clear();
    }

    fn on_request(
        &mut self,
        invoke: u32,
        request: Request,
        now: CalendarTime,
        guard: &mut Guard,
        out: &mut Vec<Action>,
    ) {
        let asked = asked(&request);
        let done = match request {
            Request::Status(_) => Ok(Response::Status(Status::default())),
            Request::Identify => {
                let [vendor_name, model_name, revision] = self.config.identity.clone();
                Ok(Response::Identify(Box::new(Identity {
                    vendor_name,
                    model_name,
                    revision,
                    abstract_syntaxes: vec![ABSTRACT_SYNTAX],
                })))
            }
            Request::ObtainFile(_) => {
                self.waiting.push_back((invoke, request));
                return self.go_on(guard, out);
            }
            Request::FileOpen(open) => self.open(&open, now, guard).map(Response::FileOpen),
            Request::FileRead(frsm) => self.read(frsm, guard).map(Response::FileRead),
            Request::FileClose(frsm) => match self.frsms.remove(&frsm) {
                Some(frsm) => {
                    guard.store().close(frsm.file);
                    guard.deselect(frsm.selection);
                    Ok(Response::FileClose)
                }
                None => Err(not_open()),
            },
            Request::FileRename(rename) => self.rename(&rename, now, guard).map(|()| Response::FileRename),
            Request::FileDelete(name) => self.delete(&name, guard).map(|()| Response::FileDelete),
            Request::FileDirectory(list) => self.list(&list, guard).map(Response::FileDirectory),
            Request::Other(_) => Err(ServiceError::new(ErrorClass::SERVICE, 0)),
        };
        match done {
            Ok(done) => out.push(answer(invoke, Ok(done))),
            Err(error) => refuse(invoke, asked, error, guard, out),
        }
    }

    fn open(&mut self, open: &FileOpen, now: CalendarTime, guard: &mut Guard) -> Result<FileOpened, ServiceError> {
        if self.frsms.len() >= self.config.files {
            let most = self.config.files;
            return Err(ServiceError::new(ErrorClass::RESOURCE, 0).saying(format!("{most} files are open already")));
        }
        let name = name_of(&open.file_name)?;
        let found = guard.store().attributes(&self.user, &name).map_err(of_fault)?;
        if is_directory(&found) {
            return Err(ServiceError::of_file(file_error::FILE_ACCESS_DENIED).saying("this is a directory"));
        }
        let selection = guard.select(&self.user, name.clone(), AccessRequest::READ, None, None).map_err(of_fault)?;
        let (file, size) = match guard.store().read_from(&self.user, &name, now) {
            Ok(opened) => opened,
            Err(fault) => {
                guard.deselect(selection);
                return Err(of_fault(fault));
            }
        };
        let at = u64::from(open.initial_position);
        if at > size {
            guard.store().close(file);
            guard.deselect(selection);
            return Err(
                ServiceError::of_file(file_error::POSITION_INVALID).saying(format!("the file has {size} octets"))
            );
        }
        while self.frsms.contains_key(&self.next_frsm) {
            self.next_frsm = self.next_frsm.wrapping_add(1).max(1);
        }
        let frsm = self.next_frsm;
        self.next_frsm = self.next_frsm.wrapping_add(1).max(1);
        self.frsms.insert(frsm, Frsm { selection, file, at, size });
        let attributes =
            FileAttributes { size_of_file: u32::try_from(size).unwrap_or(u32::MAX), ..attributes_of(&found) };
        Ok(FileOpened { frsm, attributes })
    }

    fn read(&mut self, frsm: i32, guard: &mut Guard) -> Result<FileRead, ServiceError> {
        let most = self.piece;
        let Some(it) = self.frsms.get_mut(&frsm) else {
            return Err(not_open());
        };
        let file_data = guard.store().read(it.file, it.at, most).map_err(of_fault)?;
        it.at = it.at.saturating_add(file_data.len() as u64);
        let more_follows = !file_data.is_empty() && it.at < it.size;
        Ok(FileRead { file_data, more_follows })
    }

    fn rename(&self, rename: &FileRename, now: CalendarTime, guard: &mut Guard) -> Result<(), ServiceError> {
        let blame =
            |which| move |error: ServiceError| ServiceError { file: Some(FaultyFile::FileRename(which)), ..error };
        let from = name_of(&rename.current).map_err(blame(0))?;
        let to = name_of(&rename.new).map_err(blame(1))?;
        let access = AccessRequest::CHANGE_ATTRIBUTE;
        let selection =
            guard.select(&self.user, from, access, None, None).map_err(|fault| blame(0)(of_fault(fault)))?;
        let done = guard.rename(&self.user, selection, to.clone(), now);
        guard.deselect(selection);
        done.map_err(|fault| {
            // The store says by one number all that is against the new name.
            // What is no file, a link or a FIFO, is there as well.
            let is_there = guard.store().attributes(&self.user, &to).map_or_else(|it| it.identifier != 3004, |_| true);
            match fault.identifier {
                4005 if is_there => blame(1)(ServiceError::of_file(file_error::DUPLICATE_FILENAME).saying(fault.text)),
                4005 => blame(1)(ServiceError::of_file(file_error::FILE_NON_EXISTENT).saying(fault.text)),
                _ => blame(0)(of_fault(fault)),
            }
        })
    }

    fn delete(&self, name: &FileName, guard: &mut Guard) -> Result<(), ServiceError> {
        let name = name_of(name)?;
        let access = AccessRequest::DELETE;
        let selection = guard.select(&self.user, name, access, None, None).map_err(of_fault)?;
        guard.delete(&self.user, selection).map_err(of_fault)
    }

    fn list(&self, list: &FileDirectory, guard: &mut Guard) -> Result<FileDirectoryResponse, ServiceError> {
        let name = match &list.file_specification {
            Some(name) => name_of(name)?,
            None => Name::default(),
        };
        let found = guard.store().attributes(&self.user, &name).map_err(of_fault)?;
        if !is_directory(&found) {
            let entry = DirectoryEntry {
                filename: FileName(name.pathname().components().to_vec()),
                attributes: attributes_of(&found),
            };
            return Ok(FileDirectoryResponse { entries: vec![entry], more_follows: false });
        }
        let most = self.config.entries;
        let names = guard.list(&self.user, &name, most);
        let names = names.map_err(|fault| {
            if fault == StoreError::crowded(most) {
                ServiceError::new(ErrorClass::RESOURCE, 0).saying(fault.text)
            } else {
                of_fault(fault)
            }
        })?;
        let mut rest = &names[..];
        if let Some(after) = &list.continue_after {
            // As it was told, or without the directory.
            let after = name_of(after).ok();
            let after = after.as_ref().and_then(Name::split);
            let after = after.filter(|(of, _)| *of == name || of.components().is_empty());
            let at = after.and_then(|(_, last)| names.iter().position(|it| it == last));
            let behind = at.map(|at| at.saturating_add(1));
            rest = behind.and_then(|at| names.get(at..)).ok_or_else(|| {
                ServiceError::new(ErrorClass::SERVICE, 4).saying("continueAfter names nothing in the directory")
            })?;
        }
        let mut response = FileDirectoryResponse::default();
        let mut room = self.longest.saturating_sub(AROUND_LIST);
        for last in rest {
            let found = guard.entry(&self.user, &name, last);
            let Some(found) = found.map_err(of_fault)? else {
                continue;
            };
            let entry = DirectoryEntry {
                filename: filename(&name, last, is_directory(&found)),
                attributes: attributes_of(&found),
            };
            let octets = octets_of(&entry);
            if octets > room && !response.entries.is_empty() {
                response.more_follows = true;
                break;
            }
            room = room.saturating_sub(octets);
            response.entries.push(entry);
        }
        Ok(response)
    }

    fn cancel(&mut self, invoke: u32, guard: &mut Guard, out: &mut Vec<Action>) {
        let waits = self.waiting.iter().any(|(it, _)| *it == invoke);
        let in_progress = self.obtaining.as_ref();
        let in_progress = in_progress.filter(|it| it.can_be_cancelled());
        let is_it = in_progress.map(Obtain::invoke) == Some(invoke);
        if !waits && !is_it {
            let error = ServiceError::new(ErrorClass::CANCEL, 2);
            return out.push(Pdu::CancelError { invoke, error }.into());
        }
        out.push(Pdu::CancelResponse(invoke).into());
        let error = ServiceError::new(ErrorClass::SERVICE_PREEMPT, 3);
        if is_it {
            self.fail_obtaining(error, guard, out);
        } else {
            let (gone, rest) = core::mem::take(&mut self.waiting).into_iter().partition(|(it, _)| *it == invoke);
            self.waiting = rest;
            let gone: VecDeque<(u32, Request)> = gone;
            for (_, request) in gone {
                refuse(invoke, asked(&request), error.clone(), guard, out);
            }
        }
    }

    /// Begins with the next obtainFile, where none is in progress.
    pub(super) fn go_on(&mut self, guard: &mut Guard, out: &mut Vec<Action>) {
        self.ask_on(out);
        while self.obtaining.is_none()
            && let Some((invoke, request)) = self.waiting.pop_front()
        {
            if let Request::ObtainFile(request) = request {
                self.obtain(invoke, *request, guard, out);
            }
        }
    }
}

/// The octets of a PDU around a list of entries.
const AROUND_LIST: usize = 40;

/// The most octets of an entry.
fn octets_of(entry: &DirectoryEntry) -> usize {
    let name: usize = entry.filename.0.iter().map(|it| it.octets().len() + 4).sum();
    name + 48
}

/// What is called `last` in a directory; the name of another one ends with a separator.
fn filename(directory: &Name, last: &GraphicString, is_directory: bool) -> FileName {
    let path = directory.components().iter().chain([last]);
    let path: Vec<&[u8]> = path.map(GraphicString::octets).collect();
    let mut octets = path.join(&b'/');
    if is_directory {
        octets.push(b'/');
    }
    FileName(vec![octets.into()])
}

fn is_directory(attributes: &ReadAttributes) -> bool {
    let contents_type = attributes.contents_type.as_ref();
    contents_type.and_then(Form::of) == Some(Form::Directory)
}

/// What is told of a file; of a directory no size.
fn attributes_of(it: &ReadAttributes) -> FileAttributes {
    let size = it.size.as_ref().and_then(Attribute::actual).copied();
    let size = size.filter(|_| !is_directory(it));
    FileAttributes {
        size_of_file: u32::try_from(size.unwrap_or(0)).unwrap_or(u32::MAX),
        last_modified: it.modified.as_ref().and_then(Attribute::actual).cloned(),
    }
}

fn not_open() -> ServiceError {
    ServiceError::of_file(file_error::OTHER).saying("no such file is open")
}

/// The name of a file in the store: one separator before and behind it does not count.
pub(super) fn name_of(name: &FileName) -> Result<Name, ServiceError> {
    let parts: Vec<&[u8]> = name.0.iter().map(|it| it.octets()).collect();
    let octets = parts.join(&b'/');
    let octets = octets.strip_prefix(b"/").unwrap_or(&octets);
    let octets = octets.strip_suffix(b"/").unwrap_or(octets);
    Name::parse(&Pathname::Incomplete(vec![octets.into()])).map_err(of_fault)
}

/// What a store says, as MMS has it.
pub(super) fn of_fault(fault: StoreError) -> ServiceError {
    let code = match fault.identifier {
        3004 | 3006 => file_error::FILE_NON_EXISTENT,
        3005 | 4005 => file_error::DUPLICATE_FILENAME,
        3027 => file_error::FILENAME_SYNTAX_ERROR,
        3011 | 3012 | 5018 => file_error::FILE_BUSY,
        10 | 11 | 1017 | 3007 | 3015 | 3023..=3026 | 3028 => file_error::FILE_ACCESS_DENIED,
        5029 => file_error::INSUFFICIENT_SPACE,
        _ => file_error::OTHER,
    };
    ServiceError::of_file(code).saying(fault.text)
}
