//! The plan as a state machine.
//!
//! An operation that fails is unwound (F-CLOSE and F-DESELECT as far as needed), and the next one begins. Only what
//! leaves the state unclear ends the association, and with it what is left of the plan.

mod recovery;

use kumiki_graph::{Reason, Rng};
use kumiki_octets::Message;
use kumiki_osi_service::Association;
use kumiki_osi_service::ftam::attributes::{Pathname, ReadAttributes};
use kumiki_osi_service::ftam::bulk::{Cancel, Restart};
use kumiki_osi_service::ftam::contents::ContentsType;
use kumiki_osi_service::ftam::data::DataElement;
use kumiki_osi_service::ftam::regime::{Abort, InitializeResponse};
use kumiki_osi_service::ftam::{
    ActionResult, AttributeGroups, Diagnostic, DiagnosticType, Entity, Fpdu, FpduResult, FunctionalUnits, Kind,
    Primitive, StateResult,
};
use kumiki_osi_service::layer;

use super::run::{Run, TransferState, response};
use super::stage::{Stage, leaving, stages};
use super::{Failure, Gain, Layer, Operation, Plan, Secured, Settings};
use crate::filestore::{Action, Form, Lengths};
use crate::ftam::Ftam;
use crate::node::InitiatingUser;

/// The most entries of a directory that are kept.
const MOST_ENTRIES: usize = 100_000;

/// The most checkpoints of one transfer.
const MOST_CHECKPOINTS: usize = 1 << 20;

/// The initiator's side of one association.
pub struct Client {
    settings: Settings,
    plan: Plan,
    units: FunctionalUnits,
    groups: AttributeGroups,
    window: usize,
    credit: u32,
    run: Option<Box<Run>>,
    abort: Option<Failure>,
    broken: Option<recovery::Broken>,
    recoveries: u32,
    activity: i64,
    /// The next operation starts over, whatever was moved of it before.
    starts_over: bool,
    /// What was started over last and was not told yet, and why.
    started_over: Option<(String, Failure)>,
}

impl core::fmt::Debug for Client {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Client").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl InitiatingUser for Client {
    type Protocol = Ftam;
    type Settings = Settings;
    const LAYER: Layer = Layer::Ftam;

    fn new(settings: Settings, plan: Vec<Operation>) -> Self {
        let (recoveries, activity) = (settings.recoveries, settings.activity);
        Self {
            settings,
            plan: Plan::new(plan),
            units: FunctionalUnits::NONE,
            groups: AttributeGroups::NONE,
            window: 1,
            credit: 0,
            run: None,
            abort: None,
            broken: None,
            recoveries,
            activity,
            starts_over: false,
            started_over: None,
        }
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
        if self.plan.may_begin() && self.run.is_none() {
            self.advance(out);
        }
    }

    fn end_all(&mut self, failure: Failure) {
        if self.plan.is_over() {
            return;
        }
        if let Some(run) = &mut self.run {
            // F-TRANSFER-END has made it sure at both ends: what is only being closed is done. To do it once more could
            // do it twice.
            if !run.transferred {
                run.fail(failure.clone());
            }
            self.finish();
        }
        self.plan.fail(failure);
        self.broken = None;
    }

    fn starts(&mut self, rng: &mut Rng) {
        if self.settings.activity == 0 {
            self.settings.activity = i64::from(rng.next_u32()) << 16;
            self.activity = self.settings.activity;
        }
    }

    fn propose(&self, association: &mut Association) {
        let request = Fpdu::InitializeRequest(Box::new(self.settings.request()));
        association.initialize = Some(Box::new(request));
    }

    fn on_opened(&mut self, association: Association, out: &mut Vec<Action>) -> Result<(), Reason> {
        let Some(Fpdu::InitializeResponse(response)) = association.initialize.map(|fpdu| *fpdu) else {
            return Err(Reason::violation(layer::FTAM, "an acceptance without F-INITIALIZE"));
        };
        self.on_initialized(&response, out);
        Ok(())
    }

    fn on(&mut self, primitive: Primitive, out: &mut Vec<Action>) {
        match primitive {
            Primitive::Pdu(fpdu) => self.on_fpdu(fpdu, out),
            Primitive::Data(element) => {
                self.plan.progress.elements += 1;
                match element {
                    DataElement::Octets(octets) | DataElement::Text { octets, .. } => {
                        self.on_string(octets, out);
                    }
                    DataElement::Entry(entry) => self.on_entry(*entry, out),
                    DataElement::Structuring(_) => {}
                }
                out.push(Action::Grant(1));
            }
            Primitive::Check { identifier } => {
                if let Some(run) = &mut self.run
                    && run.moving == TransferState::In
                    && usize::try_from(identifier) == Ok(run.points.len() + 1)
                    && run.points.len() < MOST_CHECKPOINTS
                {
                    run.points.push(run.offset);
                    run.secured = run.points.len();
                    if let Some(place) = run.place() {
                        // Where it cannot be noted more is moved once more.
                        let _ = run.operation.secured(Some(place));
                    }
                    out.push(Action::Say(Primitive::CheckReply { identifier }));
                }
            }
            Primitive::CheckReply { identifier } => {
                if let Some(run) = &mut self.run {
                    let secured = usize::try_from(identifier).unwrap_or(usize::MAX);
                    run.secured = run.secured.max(secured.min(run.points.len()));
                    if let Some(place) = run.place() {
                        // Where it cannot be noted more is moved once more.
                        let _ = run.operation.secured(Some(place));
                    }
                }
                self.pump(out);
            }
        }
    }

    fn on_data(&mut self, data: Message, out: &mut Vec<Action>) {
        self.plan.progress.elements += 1;
        self.on_string(data, out);
        out.push(Action::Grant(1));
    }

    fn on_credit(&mut self, messages: u32, out: &mut Vec<Action>) {
        self.credit = self.credit.saturating_add(messages);
        self.pump(out);
    }

    fn on_aborted(&mut self, reason: Reason) {
        let stood = self.plan.stands();
        self.plan.breaks();
        let failure = self.abort.take().unwrap_or_else(|| {
            let failure = Failure::of_reason(&reason, Layer::Ftam);
            if stood { failure.amid() } else { failure }
        });
        if !self.breaks(&failure) {
            self.end_all(failure);
        }
    }

    fn give_up(&mut self, out: &mut Vec<Action>) {
        let given_up = || Failure::local("given up");
        self.plan.give_up(&given_up());
        if self.forget_broken().is_some() {
            return self.end_all(given_up());
        }
        self.go_on(out);
        if self.run.as_ref().is_some_and(|run| matches!(run.moving, TransferState::In | TransferState::Out)) {
            self.cancel(given_up(), out);
        }
    }

    /// By F-U-ABORT.
    fn abort(&mut self, why: Failure, out: &mut Vec<Action>) {
        if self.plan.is_over() {
            return;
        }
        let abort = Abort {
            action_result: ActionResult::PermanentError,
            diagnostic: vec![Diagnostic { further_details: Some(why.meaning.as_str().into()), ..diagnostic(1) }],
        };
        out.push(Fpdu::UserAbort(Box::new(abort)).into());
        self.end_all(why);
    }

    fn agreed(&self) -> String {
        self.units.to_string()
    }

    fn wants_again(&self) -> bool {
        self.broken.is_some()
    }

    fn can_go_on(&self) -> bool {
        let run = self.run.as_ref().is_some_and(|run| run.can_go_on());
        run && !self.plan.is_over() && self.recoveries > 0
    }

    fn on_lost(&mut self, why: Failure) {
        self.plan.breaks();
        let lost = Failure { transient: true, ..why.clone() };
        if !self.breaks(&lost) {
            self.end_all(why);
        }
    }

    fn breaks_off(&mut self) -> bool {
        let run = self.run.as_ref();
        let keeps = self.plan.stands() && self.settings.resumes;
        if !keeps || !run.is_some_and(|run| run.can_go_on() && run.place().is_some()) {
            return false;
        }
        let given_up = Failure::local("given up");
        self.plan.give_up(&given_up);
        self.end_all(given_up);
        true
    }

    fn take_started_over(&mut self) -> Option<(String, Failure)> {
        self.started_over.take()
    }
}

impl Client {
    /// What is being done.
    #[must_use]
    pub fn in_progress(&self) -> Option<String> {
        self.run.as_ref().map(|run| run.operation.title())
    }

    /// F-INITIALIZE response.
    pub(super) fn on_initialized(&mut self, response: &InitializeResponse, out: &mut Vec<Action>) {
        if response.state_result == StateResult::Failure {
            self.abort = Some(Failure::of_diagnostics(&response.diagnostic));
            return;
        }
        self.units = response.functional_units & self.settings.units;
        self.groups = response.attribute_groups & self.settings.groups;
        self.window = usize::try_from(response.checkpoint_window.max(1)).unwrap_or(1);
        self.plan.begins();
        if !self.recover(out) {
            self.advance(out);
        }
    }

    fn on_fpdu(&mut self, fpdu: Fpdu, out: &mut Vec<Action>) {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "all others are responses, or nothing that a responder sends"
        )]
        match fpdu {
            Fpdu::UserAbort(abort) | Fpdu::ProviderAbort(abort) => {
                let why = Failure::of_diagnostics(&abort.diagnostic);
                // Who was not let in hears so by an abort too.
                self.abort = Some(if self.plan.stands() { why.aborted() } else { why });
            }
            Fpdu::InitializeResponse(response) => {
                self.abort = Some(Failure::of_diagnostics(&response.diagnostic));
            }
            Fpdu::TerminateResponse(_) => {}
            Fpdu::BeginGroupResponse => {}
            Fpdu::EndGroupResponse => self.on_group_end(out),
            Fpdu::DataEndRequest(end) => {
                let Some(run) = self.run.as_mut().filter(|run| run.moving == TransferState::In) else {
                    return;
                };
                if !end.action_result.is_success() {
                    run.fail(Failure::of_diagnostics(&end.diagnostic));
                }
                run.moving = TransferState::Ended;
                run.waiting.push_back(Kind::TransferEndResponse);
                out.push(Fpdu::TransferEndRequest(Box::default()).into());
            }
            Fpdu::CancelRequest(cancel) => {
                out.push(Fpdu::CancelResponse(Box::default()).into());
                let Some(run) = &mut self.run else {
                    return;
                };
                run.fail(Failure::of_diagnostics(&cancel.diagnostic));
                if run.moving != TransferState::Cancelling {
                    run.moving = TransferState::No;
                    run.waiting.clear();
                    self.unwind(out);
                }
            }
            Fpdu::CancelResponse(_) => {
                if let Some(run) = &mut self.run
                    && run.moving == TransferState::Cancelling
                {
                    run.moving = TransferState::No;
                    self.unwind(out);
                }
            }
            Fpdu::RestartRequest(restart) => self.on_restart(&restart, out),
            other => self.on_response(other, out),
        }
    }

    fn on_response(&mut self, fpdu: Fpdu, out: &mut Vec<Action>) {
        let kind = fpdu.kind();
        let Some(run) = &mut self.run else {
            return self.protocol_error(kind, out);
        };
        if run.waiting.front() != Some(&kind) {
            return self.protocol_error(kind, out);
        }
        run.waiting.pop_front();
        let said = fpdu.outcome();
        let entered = said.and_then(|said| said.state_result) != Some(StateResult::Failure);
        let done = entered && said.is_none_or(|said| said.action_result.is_success());
        #[expect(clippy::wildcard_enum_match_arm, reason = "these are the services that enter and leave regimes")]
        match kind {
            Kind::SelectResponse | Kind::CreateResponse => run.selected = entered,
            Kind::OpenResponse => run.open = entered,
            Kind::CloseResponse => run.open = false,
            Kind::DeselectResponse | Kind::DeleteResponse => run.selected = false,
            _ => {}
        }
        if let (false, Some(FpduResult { diagnostic, .. })) = (done, said) {
            run.fail(Failure::of_diagnostics(diagnostic));
        }
        if let (true, Fpdu::RecoverResponse(response)) = (entered, &fpdu) {
            (run.selected, run.open) = (true, true);
            let again = run.recovered(response, self.units);
            self.plan.progress.octets = self.plan.progress.octets.saturating_sub(again);
        }
        if let Fpdu::OpenResponse(opened) = &fpdu {
            run.opened(opened);
            run.form = Form::of(&opened.contents_type);
            run.lengths = Lengths::of(&opened.contents_type);
            if entered && run.form.is_none() {
                run.fail(unknown(&opened.contents_type));
            }
            if run.form == Some(Form::Directory) && !matches!(run.operation, Operation::List { .. }) {
                run.fail(is_directory());
            }
        }
        if let Fpdu::ReadAttribResponse(read) = fpdu {
            run.attributes = read.attributes;
        }
        if kind == Kind::TransferEndResponse {
            run.moving = TransferState::No;
            if run.failure.is_none()
                && let Operation::Get { sink, .. } = &mut run.operation
                && let Err(why) = sink.finish()
            {
                run.fail(Failure::local(why));
            }
            run.transferred = run.failure.is_none();
        }
        if run.grouped {
            return;
        }
        if run.failure.is_some() && !run.unwinding {
            return self.unwind(out);
        }
        self.advance(out);
    }

    fn on_group_end(&mut self, out: &mut Vec<Action>) {
        let Some(run) = self.run.as_mut().filter(|run| run.grouped) else {
            return self.protocol_error(Kind::EndGroupResponse, out);
        };
        run.grouped = false;
        if !run.waiting.is_empty() {
            run.waiting.clear();
            run.fail(Failure::of_diagnostics(&[]));
        }
        if run.failure.is_some() {
            return self.unwind(out);
        }
        self.advance(out);
    }

    /// Leaves what an operation that failed has entered.
    fn unwind(&mut self, out: &mut Vec<Action>) {
        let Some(run) = &mut self.run else {
            return;
        };
        run.unsent.clear();
        run.stages.clear();
        let leaving = leaving(run.selected, run.open);
        if run.unwinding && !leaving.is_empty() {
            // Not even that: what is selected or open now is anybody's guess.
            let failure = run.failure.clone();
            let abort = Abort { action_result: ActionResult::PermanentError, diagnostic: vec![diagnostic(5039)] };
            out.push(Fpdu::UserAbort(Box::new(abort)).into());
            self.end_all(failure.unwrap_or_else(|| Failure::local("the association was ended")));
            return;
        }
        run.unwinding = true;
        if !leaving.is_empty() {
            run.stages.push_back(Stage::Ask(leaving));
        }
        self.advance(out);
    }

    /// The next request, the next step, the next operation, or the end.
    fn advance(&mut self, out: &mut Vec<Action>) {
        loop {
            let Some(run) = &mut self.run else {
                if !self.begin(out) {
                    return;
                }
                continue;
            };
            if let Some(fpdu) = run.unsent.pop_front() {
                run.waiting.extend(response(fpdu.kind()));
                out.push(fpdu.into());
                return;
            }
            match run.stages.pop_front() {
                None => self.finish(),
                Some(Stage::Ask(fpdus)) => {
                    run.ask(fpdus, self.units.contains(FunctionalUnits::GROUPING), out);
                    if run.grouped {
                        return;
                    }
                }
                Some(Stage::Read(read)) => {
                    (run.moving, run.recovering) = (TransferState::In, false);
                    out.push(Fpdu::ReadRequest(Box::new(read)).into());
                    return;
                }
                Some(Stage::Write(write)) => {
                    (run.moving, run.recovering) = (TransferState::Out, false);
                    out.push(Fpdu::WriteRequest(Box::new(write)).into());
                    self.pump(out);
                    return;
                }
            }
        }
    }

    /// Begins the next operation; false at the end of the plan, which ends the association.
    fn begin(&mut self, out: &mut Vec<Action>) -> bool {
        let Some(operation) = self.plan.next() else {
            if self.plan.ends() {
                out.push(Fpdu::TerminateRequest(Box::default()).into());
            }
            return false;
        };
        let Some(operation) = self.resume(operation) else {
            return true;
        };
        self.starts_over = false;
        let activity = self.next_activity();
        match stages(&operation, self.units, self.groups, activity) {
            Ok(stages) => {
                let mut run = Run::new(operation, stages);
                run.activity = activity;
                self.run = Some(Box::new(run));
            }
            Err(unit) => {
                let failure = Failure {
                    layer: Layer::Ftam,
                    code: Some(1009),
                    meaning: format!("the responder did not agree to {unit}"),
                    remedy: "ask for it, and for a service class that has it".to_owned(),
                    transient: false,
                    is_abort: false,
                    diagnostics: Vec::new(),
                };
                self.plan.note(operation.title(), Err(failure));
            }
        }
        true
    }

    fn finish(&mut self) {
        if self.started_over() {
            return;
        }
        let Some(mut run) = self.run.take() else {
            return;
        };
        if run.operation.adds() && self.plan.stands() && run.is_undone() {
            // That a note of it stays has another run refuse it.
            let _ = run.operation.secured(None);
        }
        let failure = run.failure.take().map(|it| run.told(it.of_operation(&run.operation)));
        let gain = Gain::of(&run.operation, run.counted(), run.entries, run.attributes);
        let result = failure.map_or(Ok(gain), Err);
        self.plan.note(run.operation.title(), result);
    }

    fn protocol_error(&mut self, kind: Kind, out: &mut Vec<Action>) {
        let diagnostic = Diagnostic { further_details: Some(kind.name().into()), ..diagnostic(1008) };
        let failure = Failure::of_diagnostics(core::slice::from_ref(&diagnostic)).aborted();
        let abort = Abort { action_result: ActionResult::PermanentError, diagnostic: vec![diagnostic] };
        out.push(Fpdu::UserAbort(Box::new(abort)).into());
        self.end_all(failure);
    }

    fn on_string(&mut self, mut data: Message, out: &mut Vec<Action>) {
        let Some(run) = self.run.as_mut().filter(|run| run.moving == TransferState::In) else {
            return;
        };
        let Operation::Get { sink, restart_at, .. } = &mut run.operation else {
            return self.cancel(wrong_data(), out);
        };
        if let Err(why) = run.lengths.check(data.len()) {
            return self.cancel(bad_string(why), out);
        }
        if let Some(form) = run.form {
            data = form.stored(data);
        }
        let end = run.offset.saturating_add(data.len() as u64);
        let at = run.offset.max(*restart_at);
        if end <= at {
            run.offset = end;
            return;
        }
        let skip = usize::try_from(at - run.offset).unwrap_or(usize::MAX);
        if skip > 0 && data.pop(skip).is_err() {
            return;
        }
        let len = data.len() as u64;
        match sink.write(at, data) {
            Ok(()) => {
                run.offset = end;
                run.moved += len;
                self.plan.progress.octets += len;
            }
            Err(why) => self.cancel(Failure::local(why), out),
        }
    }

    fn on_entry(&mut self, mut entry: ReadAttributes, out: &mut Vec<Action>) {
        let Some(run) = self.run.as_mut().filter(|run| run.moving == TransferState::In) else {
            return;
        };
        let Operation::List { name } = &run.operation else {
            return self.cancel(wrong_data(), out);
        };
        let directory = Pathname::from(name.as_str());
        entry.pathname = entry.pathname.map(|it| it.without(&directory));
        if run.entries.len() >= MOST_ENTRIES {
            let why = format!("the directory has more than {MOST_ENTRIES} entries");
            return self.cancel(Failure::local(why), out);
        }
        run.entries.push(entry);
        run.offset += 1;
    }

    /// Cancels the transfer in progress.
    fn cancel(&mut self, failure: Failure, out: &mut Vec<Action>) {
        let Some(run) = &mut self.run else {
            return;
        };
        let cancel = Cancel {
            action_result: ActionResult::PermanentError,
            diagnostic: vec![Diagnostic { further_details: Some(failure.meaning.as_str().into()), ..diagnostic(5028) }],
            ..Cancel::default()
        };
        run.fail(failure);
        run.moving = TransferState::Cancelling;
        run.waiting.clear();
        out.push(Fpdu::CancelRequest(Box::new(cancel)).into());
    }

    fn on_restart(&mut self, restart: &Restart, out: &mut Vec<Action>) {
        let Some(run) = &mut self.run else {
            return self.protocol_error(Kind::RestartRequest, out);
        };
        if run.moving == TransferState::Cancelling {
            return;
        }
        let wanted = usize::try_from(restart.checkpoint_identifier).unwrap_or(usize::MAX);
        let sends = matches!(run.operation, Operation::Put { .. });
        if (wanted > run.points.len() && sends) || wanted < run.floor {
            let failure = Failure::of_diagnostics(&[diagnostic(6000)]);
            return self.cancel(failure, out);
        }
        let point = wanted.min(run.points.len());
        run.points.truncate(point);
        // Who names a checkpoint has what came before it.
        run.secured = point;
        run.offset = run.points.last().copied().unwrap_or(0);
        if matches!(run.operation, Operation::List { .. }) {
            run.entries.clear();
        }
        run.waiting.clear();
        run.moving = if sends { TransferState::Out } else { TransferState::In };
        let answer = Restart { checkpoint_identifier: i64::try_from(point).unwrap_or(i64::MAX), ..Restart::default() };
        out.push(Fpdu::RestartResponse(Box::new(answer)).into());
        self.pump(out);
    }

    /// Sends as much as there is credit for.
    fn pump(&mut self, out: &mut Vec<Action>) {
        let checks = FunctionalUnits::RECOVERY | FunctionalUnits::RESTART_DATA_TRANSFER;
        let checked = !(self.units & checks).is_empty();
        loop {
            let Some(run) = self.run.as_mut().filter(|run| run.moving == TransferState::Out) else {
                return;
            };
            let Operation::Put { source, .. } = &mut run.operation else {
                return;
            };
            if self.credit == 0 || run.points.len() - run.secured >= self.window {
                return;
            }
            let form = run.form.unwrap_or(Form::Octets);
            let read = |offset, most| source.read(offset, most);
            let longest = run.lengths.longest(self.settings.element);
            let fits = |found: Option<(Message, u64)>| {
                let len = found.as_ref().map(|(string, _)| string.len());
                len.map_or(Ok(()), |len| run.lengths.check(len))?;
                Ok(found)
            };
            match form.string_at(run.offset, longest, read).and_then(fits) {
                Err(why) => return self.cancel(Failure::local(why), out),
                Ok(None) => {
                    run.moving = TransferState::Ended;
                    run.waiting.push_back(Kind::TransferEndResponse);
                    out.push(Fpdu::DataEndRequest(Box::default()).into());
                    out.push(Fpdu::TransferEndRequest(Box::default()).into());
                    return;
                }
                Ok(Some((string, len))) => {
                    run.offset = run.offset.saturating_add(len);
                    run.moved = run.moved.max(run.offset);
                    self.plan.progress.octets += len;
                    self.plan.progress.elements += 1;
                    self.credit -= 1;
                    out.push(match form {
                        Form::Records(class) => {
                            let octets = string;
                            Action::Say(Primitive::Data(DataElement::Text { class, octets }))
                        }
                        Form::Octets | Form::Text(_) | Form::Lines(_) | Form::Directory => Action::Data(string),
                    });
                    let last = run.points.last().copied().unwrap_or(0);
                    let due = run.offset - last >= self.settings.checkpoint_every.max(1);
                    if checked && due && run.points.len() < MOST_CHECKPOINTS {
                        run.points.push(run.offset);
                        let identifier = u32::try_from(run.points.len()).unwrap_or(u32::MAX);
                        out.push(Action::Say(Primitive::Check { identifier }));
                    }
                }
            }
        }
    }
}

fn diagnostic(error_identifier: i64) -> Diagnostic {
    Diagnostic {
        diagnostic_type: DiagnosticType::Permanent,
        error_identifier,
        error_observer: Entity::InitiatingUser,
        error_source: Entity::Unknown,
        ..Diagnostic::default()
    }
}

fn wrong_data() -> Failure {
    Failure::of_diagnostics(&[diagnostic(5014)])
}

fn bad_string(why: String) -> Failure {
    Failure::of_diagnostics(&[Diagnostic { further_details: Some(why.as_str().into()), ..diagnostic(5001) }])
}

/// A file was asked for.
fn is_directory() -> Failure {
    Failure::of_diagnostics(&[Diagnostic { further_details: Some("this is a directory".into()), ..diagnostic(5036) }])
}

fn unknown(contents_type: &ContentsType) -> Failure {
    Failure::local(format!("the file is {contents_type}, which is not known here"))
}
