//! The plan as a state machine.
//!
//! An operation that fails is unwound (fileClose where something is open), and the next one begins. Only what leaves
//! the state unclear ends the association, and with it what is left of the plan.

use std::collections::VecDeque;

use kumiki_graph::Reason;
use kumiki_osi_service::Association;
use kumiki_osi_service::ftam::attributes::ReadAttributes;
use kumiki_osi_service::layer;
use kumiki_osi_service::mms::{
    DirectoryEntry, ErrorClass, FileAttributes, FileDirectory, FileDirectoryResponse, FileName, FileOpen, FileOpened,
    FileRead, FileRename, Initiate, ObtainFile, Pdu, Request, Response, ServiceError, file_error,
};

use super::listing;
use super::serving::{OpenFrsm, Served, answer};
use super::{Action, CLIENT_SERVICES, piece};
use crate::file_user::{Failure, Gain, Layer, Operation, Plan};
use crate::mms::{self, Mms};
use crate::node::InitiatingUser;

/// The most entries of a directory that are kept.
const MOST_ENTRIES: usize = 100_000;

/// The most entries of a directory that are passed over, as they are the directory itself: without an end a server
/// could go on so for ever.
const MOST_PASSED: usize = 1000;

/// Who asks, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// What is proposed; the services are the client's.
    pub initiate: Initiate,
    /// The most fileReads of one file at a time. More than one makes use of a long line, with servers that answer in
    /// order.
    pub window: u32,
    /// The most octets in one piece of a file that is sent, where PDUs hold as many.
    pub element: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { initiate: mms::Config::default().initiate, window: 1, element: 1 << 20 }
    }
}

/// Where an operation is.
#[derive(Clone, Debug)]
enum Phase {
    /// fileOpen for `get`.
    Opening,
    /// fileRead, of this file; the size that was told.
    Reading { frsm: i32, size: u64 },
    /// fileClose, to open it again at 0.
    Reopening,
    /// fileClose.
    Closing,
    /// obtainFile.
    Obtaining(OpenFrsm),
    /// fileDirectory for `ls`; the last name seen.
    Listing(Option<FileName>),
    /// fileRename or fileDelete.
    Changing,
    /// fileDirectory for `stat`.
    Looking,
    /// fileOpen for `stat`: what fileDirectory said against it, or that it had nothing to list.
    LookingAgain(Option<ServiceError>),
}

/// An operation in progress.
struct Run {
    operation: Operation,
    phase: Phase,
    /// Requests without an answer, in their order.
    waiting: VecDeque<u32>,
    failure: Option<Failure>,
    /// Where the next octets go.
    at: u64,
    moved: u64,
    /// Octets of the pieces that come.
    piece: u64,
    /// Nothing more is asked for.
    ended: bool,
    entries: Vec<ReadAttributes>,
    /// Entries of the directory that have come and are none: the directory itself.
    passed: usize,
    attributes: Option<Box<ReadAttributes>>,
}

impl Run {
    fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
        self.ended = true;
    }

    /// Whether one of its requests is answered; an answer that overtakes is one that nobody can read.
    fn is_answered(&mut self, invoke: u32) -> bool {
        let Some(at) = self.waiting.iter().position(|it| *it == invoke) else {
            return false;
        };
        self.waiting.remove(at);
        if at > 0 {
            let mut failure = Failure::local("answers do not come in the order of the requests");
            failure.layer = Layer::Mms;
            failure.remedy = "read with a window of 1".to_owned();
            self.fail(failure);
        }
        true
    }

    /// The server says that it has the file that is sent.
    fn obtained(&mut self, serving: &OpenFrsm) {
        if let Operation::Put { source, .. } = &self.operation
            && !serving.is_read(source.size())
        {
            self.fail(unread(serving.moved, source.size()));
        }
    }

    /// What is looked at cannot be opened; `before`: why the directory has not told of it.
    fn not_opened(&mut self, before: Option<ServiceError>, error: &ServiceError) {
        let missing = error.class == ErrorClass::FILE && error.code == file_error::FILE_NON_EXISTENT;
        match before {
            Some(before) => self.fail(Failure::of_service_error(&before)),
            None if missing => self.fail(Failure::of_service_error(error)),
            None => {
                let none = FileAttributes::default();
                self.attributes = Some(Box::new(named(&self.operation, true, &none)));
            }
        }
    }
}

/// The client's side of one association.
pub struct Client {
    settings: Settings,
    plan: Plan,
    agreed: Option<Initiate>,
    credit: u32,
    next: u32,
    run: Option<Box<Run>>,
}

impl core::fmt::Debug for Client {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Client").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl InitiatingUser for Client {
    type Protocol = Mms;
    type Settings = Settings;
    const LAYER: Layer = Layer::Mms;

    fn new(settings: Settings, plan: Vec<Operation>) -> Self {
        Self { settings, plan: Plan::new(plan), agreed: None, credit: 0, next: 1, run: None }
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn plan_mut(&mut self) -> &mut Plan {
        &mut self.plan
    }

    fn is_busy(&self) -> bool {
        self.run.is_some()
    }

    fn go_on(&mut self, out: &mut Vec<Action>) {
        while self.plan.may_begin() && self.run.is_none() {
            let Some(operation) = self.plan.next() else {
                if self.plan.ends() {
                    out.push(Action::Release);
                }
                return;
            };
            if self.credit == 0 {
                self.plan.put_back(operation);
                return;
            }
            self.begin(operation, out);
        }
    }

    fn end_all(&mut self, failure: Failure) {
        if self.plan.is_over() {
            return;
        }
        if let Some(mut run) = self.run.take() {
            // What is only being closed is all there.
            if !matches!(run.phase, Phase::Closing) {
                run.fail(failure.clone());
            }
            self.finish(*run);
        }
        self.plan.fail(failure);
    }

    fn propose(&self, association: &mut Association) {
        let initiate = Initiate { services_supported: CLIENT_SERVICES, ..self.settings.initiate };
        association.initiate = Some(Box::new(initiate));
    }

    fn on_opened(&mut self, association: Association, out: &mut Vec<Action>) -> Result<(), Reason> {
        let Some(agreed) = association.initiate else {
            return Err(Reason::violation(layer::MMS, "an acceptance without an initiate-Response"));
        };
        self.agreed = Some(*agreed);
        self.plan.begins();
        self.go_on(out);
        Ok(())
    }

    fn on(&mut self, pdu: Pdu, out: &mut Vec<Action>) {
        match pdu {
            Pdu::Response { invoke, service } => self.on_answer(invoke, Ok(service), out),
            Pdu::Error { invoke, error } => self.on_answer(invoke, Err(error), out),
            Pdu::Reject(reject) => {
                let failure = Failure::of_reject(&reject);
                let Some(invoke) = reject.invoke else {
                    // Which of the requests it was, and whether others are still done, is anybody's guess.
                    if self.run.is_some() {
                        self.abort(failure, out);
                    }
                    return;
                };
                if let Some(run) = &mut self.run
                    && run.waiting.contains(&invoke)
                {
                    run.waiting.retain(|it| *it != invoke);
                    run.fail(failure);
                    if run.waiting.is_empty() {
                        self.unwind(out);
                    }
                }
            }
            Pdu::Request { invoke, service, .. } => self.serve(invoke, &service, out),
            Pdu::CancelRequest(invoke) => {
                // Whatever it was, it was answered at once.
                let error = ServiceError::new(ErrorClass::CANCEL, 2);
                out.push(Pdu::CancelError { invoke, error }.into());
            }
            Pdu::ConcludeError(error) => {
                self.abort(Failure::of_service_error(&error), out);
            }
            Pdu::Unconfirmed(_)
            | Pdu::CancelResponse(_)
            | Pdu::CancelError { .. }
            | Pdu::InitiateRequest(_)
            | Pdu::InitiateResponse(_)
            | Pdu::InitiateError(_)
            | Pdu::ConcludeRequest
            | Pdu::ConcludeResponse => {}
        }
    }

    fn on_credit(&mut self, messages: u32, out: &mut Vec<Action>) {
        self.credit = self.credit.saturating_add(messages);
        self.go_on(out);
        self.read_on(out);
    }

    fn on_released(&mut self, out: &mut Vec<Action>) {
        if !self.plan.is_ending() {
            out.push(Action::Release);
        }
    }

    fn on_aborted(&mut self, reason: Reason) {
        self.plan.breaks();
        self.end_all(Failure::of_reason(&reason, Layer::Mms));
    }

    fn give_up(&mut self, out: &mut Vec<Action>) {
        let given_up = || Failure::local("given up");
        self.plan.give_up(&given_up());
        if let Some(run) = &mut self.run {
            run.fail(given_up());
            if run.waiting.is_empty() {
                self.unwind(out);
            }
        }
        self.go_on(out);
    }

    fn abort(&mut self, why: Failure, out: &mut Vec<Action>) {
        if !self.plan.is_over() {
            out.push(Action::Abort);
            self.end_all(why);
        }
    }

    fn agreed(&self) -> String {
        let Some(agreed) = &self.agreed else {
            return String::new();
        };
        let octets = agreed.local_detail.map_or_else(|| "any number of".to_owned(), |octets| octets.to_string());
        format!(
            "PDUs of {octets} octets, {} and {} services at a time; the peer answers {}",
            agreed.max_serv_outstanding_calling, agreed.max_serv_outstanding_called, agreed.services_supported
        )
    }
}

impl Client {
    /// Asks for a service.
    fn ask(&mut self, service: Request, out: &mut Vec<Action>) {
        let invoke = self.next;
        self.next = self.next.wrapping_add(1).max(1);
        self.credit = self.credit.saturating_sub(1);
        if let Some(run) = &mut self.run {
            run.waiting.push_back(invoke);
        }
        out.push(Pdu::request(invoke, service).into());
    }

    fn begin(&mut self, operation: Operation, out: &mut Vec<Action>) {
        let mut at = 0;
        let (phase, request) = match &operation {
            Operation::Get { name, restart_at, .. } => {
                // A position beyond 32 bits cannot be said: then all comes, and what is there is compared.
                at = if u32::try_from(*restart_at).is_ok() { *restart_at } else { 0 };
                (Phase::Opening, open(name, at))
            }
            Operation::Put { name, source, .. } => {
                // Named so that whoever reads a log of the server sees what it is.
                let own = name.rsplit('/').next().unwrap_or_default();
                let own = FileName::from(if own.is_empty() { "file" } else { own });
                let longest = self.agreed.and_then(|it| it.local_detail);
                let most = piece(longest).min(self.settings.element.max(1));
                let request = Request::ObtainFile(Box::new(ObtainFile {
                    source_file_server: None,
                    source_file: own.clone(),
                    destination_file: name.as_str().into(),
                }));
                self.plan.progress.expected = source.size();
                (Phase::Obtaining(OpenFrsm::new(own, most)), request)
            }
            Operation::List { name } => (Phase::Listing(None), list(name, None)),
            Operation::Stat { name } => (Phase::Looking, list(name, None)),
            Operation::Rename { name, to } => {
                let request =
                    Request::FileRename(FileRename { current: name.as_str().into(), new: to.as_str().into() });
                (Phase::Changing, request)
            }
            Operation::Remove { name } => (Phase::Changing, Request::FileDelete(name.as_str().into())),
            Operation::MakeDirectory { .. } => {
                let failure = Failure::local("MMS has no service that makes directories");
                return self.plan.note(operation.title(), Err(failure));
            }
        };
        self.run = Some(Box::new(Run {
            operation,
            phase,
            waiting: VecDeque::new(),
            failure: None,
            at,
            moved: 0,
            piece: 0,
            ended: false,
            entries: Vec::new(),
            passed: 0,
            attributes: None,
        }));
        self.ask(request, out);
    }

    fn finish(&mut self, run: Run) {
        let gain = Gain::of(&run.operation, run.moved, run.entries, run.attributes);
        let failure = run.failure.map(|it| it.of_operation(&run.operation));
        let result = failure.map_or(Ok(gain), Err);
        self.plan.progress.expected = None;
        self.plan.note(run.operation.title(), result);
    }

    /// The operation is over.
    fn done(&mut self, out: &mut Vec<Action>) {
        if let Some(run) = self.run.take() {
            self.finish(*run);
        }
        self.go_on(out);
    }

    /// Leaves what an operation that failed has entered.
    fn unwind(&mut self, out: &mut Vec<Action>) {
        let Some(run) = &mut self.run else {
            return;
        };
        match run.phase {
            Phase::Reading { frsm, .. } => {
                run.phase = Phase::Closing;
                self.ask(Request::FileClose(frsm), out);
            }
            Phase::Opening
            | Phase::Reopening
            | Phase::Closing
            | Phase::Obtaining(_)
            | Phase::Listing(_)
            | Phase::Changing
            | Phase::Looking
            | Phase::LookingAgain(_) => self.done(out),
        }
    }

    /// Asks for as much as the window allows.
    fn read_on(&mut self, out: &mut Vec<Action>) {
        loop {
            let (credit, window) = (self.credit, self.settings.window.max(1));
            let Some(run) = &mut self.run else {
                return;
            };
            let Phase::Reading { frsm, size } = run.phase else {
                return;
            };
            let asked = run.waiting.len() as u64;
            // Of a file whose pieces are not known yet, and behind its end, one at a time: some servers close a file
            // that was read to its end.
            let left = size.saturating_sub(run.at);
            let useful = if run.piece == 0 { 1 } else { left.div_ceil(run.piece).max(1) };
            if run.ended || credit == 0 || asked >= u64::from(window).min(useful) {
                return;
            }
            self.ask(Request::FileRead(frsm), out);
        }
    }

    /// The server asks for the file that is being sent.
    fn serve(&mut self, invoke: u32, request: &Request, out: &mut Vec<Action>) {
        let none = ServiceError::of_file(file_error::FILE_NON_EXISTENT);
        let Some(run) = &mut self.run else {
            return out.push(answer(invoke, Err(none)));
        };
        let (Phase::Obtaining(serving), Operation::Put { source, .. }) = (&mut run.phase, &mut run.operation) else {
            return out.push(answer(invoke, Err(none)));
        };
        if run.failure.is_some() && matches!(request, Request::FileRead(_) | Request::FileOpen(_)) {
            let error = ServiceError::of_file(file_error::OTHER).saying("given up");
            return out.push(answer(invoke, Err(error)));
        }
        match serving.answer(invoke, request, &mut **source, out) {
            Served::Octets(new) => {
                run.moved = serving.moved;
                self.plan.progress.octets += new;
                self.plan.progress.elements += u64::from(new > 0);
            }
            Served::Failed(why) => run.fail(Failure::local(why)),
        }
    }

    fn on_answer(&mut self, invoke: u32, answer: Result<Response, ServiceError>, out: &mut Vec<Action>) {
        let Some(run) = &mut self.run else {
            return;
        };
        if !run.is_answered(invoke) {
            return;
        }
        let phase = run.phase.clone();
        match (phase, answer) {
            (Phase::Opening, Ok(Response::FileOpen(opened))) => self.on_open(opened, out),
            // It may have become shorter than what is here: then all of it is wanted.
            (Phase::Opening, Err(_)) if run.at > 0 && run.failure.is_none() => {
                run.at = 0;
                self.open_again(out);
            }
            (Phase::Reading { .. }, Ok(Response::FileRead(read))) => self.on_piece(read, out),
            (Phase::Reading { .. }, Err(error)) => {
                // What was asked for beyond the end does not matter.
                if !run.ended {
                    run.fail(Failure::of_service_error(&error));
                }
                self.read_over(out);
            }
            (Phase::Reopening, _) if run.failure.is_none() => {
                run.phase = Phase::Opening;
                self.open_again(out);
            }
            (Phase::Listing(last), Ok(Response::FileDirectory(part))) => {
                self.on_list(last.as_ref(), part, out);
            }
            (Phase::Looking, Ok(Response::FileDirectory(part))) => self.on_look(&part, out),
            (Phase::Looking, Err(error)) => {
                run.phase = Phase::LookingAgain(Some(error));
                self.look_again(out);
            }
            (Phase::LookingAgain(_), Ok(Response::FileOpen(opened))) => {
                run.attributes = Some(Box::new(named(&run.operation, false, &opened.attributes)));
                run.phase = Phase::Closing;
                self.ask(Request::FileClose(opened.frsm), out);
            }
            (Phase::LookingAgain(before), Err(error)) => {
                run.not_opened(before, &error);
                self.done(out);
            }
            // That a file does not close any more is no reason not to have it.
            (Phase::Closing | Phase::Reopening, _) => self.done(out),
            (Phase::Obtaining(serving), Ok(Response::ObtainFile)) => {
                run.obtained(&serving);
                self.done(out);
            }
            (Phase::Changing, Ok(Response::FileRename | Response::FileDelete)) => self.done(out),
            (_, Err(error)) => {
                run.fail(Failure::of_service_error(&error));
                self.done(out);
            }
            (_, Ok(other)) => {
                let failure = Failure::local(format!("an answer of {}", other.service()));
                self.abort(Failure { layer: Layer::Mms, ..failure }, out);
            }
        }
    }

    /// Asks for a file from its beginning.
    fn open_again(&mut self, out: &mut Vec<Action>) {
        if let Some(Operation::Get { name, .. }) = self.run.as_ref().map(|run| &run.operation) {
            let request = open(name, 0);
            self.ask(request, out);
        }
    }

    fn look_again(&mut self, out: &mut Vec<Action>) {
        if let Some(Operation::Stat { name }) = self.run.as_ref().map(|run| &run.operation) {
            let request = open(name, 0);
            self.ask(request, out);
        }
    }

    fn on_open(&mut self, opened: FileOpened, out: &mut Vec<Action>) {
        let Some(run) = &mut self.run else {
            return;
        };
        let size = u64::from(opened.attributes.size_of_file);
        let modified = opened.attributes.last_modified.as_ref();
        let frsm = opened.frsm;
        run.phase = Phase::Reading { frsm, size };
        if run.failure.is_some() {
            return self.unwind(out);
        }
        let Operation::Get { sink, .. } = &mut run.operation else {
            return;
        };
        match sink.opened(size, modified.map(|it| it.as_str()), run.at) {
            Ok(wanted) if wanted != run.at => {
                run.at = 0;
                run.phase = Phase::Reopening;
                self.ask(Request::FileClose(frsm), out);
            }
            Ok(_) => {
                self.plan.progress.expected = Some(size.saturating_sub(run.at));
                self.read_on(out);
            }
            Err(why) => {
                run.fail(Failure::local(why));
                self.unwind(out);
            }
        }
    }

    fn on_piece(&mut self, read: FileRead, out: &mut Vec<Action>) {
        let Some(run) = &mut self.run else {
            return;
        };
        let len = read.file_data.len() as u64;
        if !run.ended {
            run.piece = run.piece.max(len);
            let Operation::Get { sink, .. } = &mut run.operation else {
                return;
            };
            if len > 0 {
                match sink.write(run.at, read.file_data) {
                    Ok(()) => {
                        run.at = run.at.saturating_add(len);
                        run.moved = run.moved.saturating_add(len);
                        self.plan.progress.octets += len;
                        self.plan.progress.elements += 1;
                    }
                    Err(why) => run.fail(Failure::local(why)),
                }
            }
            let told = match run.phase {
                Phase::Reading { size, .. } => size,
                Phase::Opening
                | Phase::Reopening
                | Phase::Closing
                | Phase::Obtaining(_)
                | Phase::Listing(_)
                | Phase::Changing
                | Phase::Looking
                | Phase::LookingAgain(_) => 0,
            };
            if len == 0 && read.more_follows && run.at < told {
                let at = run.at;
                let why = format!("the file breaks off at octet {at} of {told}, and more follows");
                run.fail(wrong(why));
            }
            // Who gives nothing and says that more follows would be asked for ever.
            run.ended |= !read.more_follows || len == 0;
        }
        self.read_over(out);
    }

    /// Goes on reading, or closes the file where all answers are there.
    fn read_over(&mut self, out: &mut Vec<Action>) {
        let Some(run) = &mut self.run else {
            return;
        };
        if !run.ended {
            return self.read_on(out);
        }
        if !run.waiting.is_empty() {
            return;
        }
        if run.failure.is_none()
            && let Operation::Get { sink, .. } = &mut run.operation
            && let Err(why) = sink.finish()
        {
            run.fail(Failure::local(why));
        }
        self.unwind(out);
    }

    fn on_list(&mut self, last: Option<&FileName>, part: FileDirectoryResponse, out: &mut Vec<Action>) {
        let Some(run) = &mut self.run else {
            return;
        };
        let Operation::List { name } = &run.operation else {
            return;
        };
        let directory = name.clone();
        let is_file =
            last.is_none() && matches!(part.entries.as_slice(), [only] if listing::is_file(name, &only.filename));
        if is_file {
            // That it has nothing in it would be taken for an empty directory.
            run.fail(Failure::local("this is a file, and no directory"));
            return self.done(out);
        }
        let end = part.entries.last().map(|it| it.filename.clone());
        for DirectoryEntry { filename, attributes } in part.entries {
            match listing::entry(&directory, &filename) {
                Some((name, is_directory)) => {
                    run.entries.push(listing::attributes(name, is_directory, &attributes));
                }
                None => run.passed += 1,
            }
        }
        if run.passed > MOST_PASSED {
            let why = "the device lists the directory in itself, again and again";
            run.fail(wrong(why.to_owned()));
        }
        if run.entries.len() > MOST_ENTRIES {
            let why = format!("the directory has more than {MOST_ENTRIES} entries");
            run.fail(Failure::local(why));
        }
        if !part.more_follows || run.failure.is_some() {
            return self.done(out);
        }
        if end.is_none() || end.as_ref() == last {
            let mut failure = Failure::local("more entries are to follow, and none does");
            failure.layer = Layer::Mms;
            run.fail(failure);
            return self.done(out);
        }
        run.phase = Phase::Listing(end.clone());
        self.ask(list(&directory, end), out);
    }

    fn on_look(&mut self, part: &FileDirectoryResponse, out: &mut Vec<Action>) {
        let Some(run) = &mut self.run else {
            return;
        };
        let Operation::Stat { name } = &run.operation else {
            return;
        };
        match part.entries.as_slice() {
            [only] if listing::is_it(name, &only.filename) => {
                run.attributes = Some(Box::new(named(&run.operation, false, &only.attributes)));
                self.done(out);
            }
            [] if listing::specification(name).is_some() => {
                run.phase = Phase::LookingAgain(None);
                self.look_again(out);
            }
            _ => {
                let none = FileAttributes::default();
                run.attributes = Some(Box::new(named(&run.operation, true, &none)));
                self.done(out);
            }
        }
    }
}

/// What is wrong with what the server does.
fn wrong(why: String) -> Failure {
    let mut failure = Failure::local(why);
    failure.layer = Layer::Mms;
    failure
}

/// The server says that it has the file, and has not asked for all of it.
fn unread(moved: u64, size: Option<u64>) -> Failure {
    let read = match (moved, size) {
        (0, _) => "nothing".to_owned(),
        (moved, Some(size)) => format!("only {moved} of {size} octets"),
        (moved, None) => format!("only {moved} octets"),
    };
    let mut failure = wrong(format!("the server says that it has the file, and has read {read} of it"));
    "look at what it has under that name".clone_into(&mut failure.remedy);
    failure
}

/// Attributes under the name that was asked for.
fn named(operation: &Operation, is_directory: bool, of: &FileAttributes) -> ReadAttributes {
    let name = match operation {
        Operation::Stat { name } => name.as_str(),
        Operation::Get { .. }
        | Operation::Put { .. }
        | Operation::List { .. }
        | Operation::Rename { .. }
        | Operation::Remove { .. }
        | Operation::MakeDirectory { .. } => "",
    };
    listing::attributes(name.into(), is_directory, of)
}

/// fileOpen, at an octet of 32 bits.
fn open(name: &str, at: u64) -> Request {
    Request::FileOpen(FileOpen { file_name: name.into(), initial_position: u32::try_from(at).unwrap_or(0) })
}

fn list(name: &str, continue_after: Option<FileName>) -> Request {
    Request::FileDirectory(FileDirectory { file_specification: listing::specification(name), continue_after })
}
