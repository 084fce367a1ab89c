//! The FTAM regime: F-INITIALIZE, F-TERMINATE and the aborts, which ride on association control.

use kumiki_osi_service::OsiCause;
use kumiki_osi_service::acse::Diagnostic as AssociationDiagnostic;
use kumiki_osi_service::ftam::StateResult;
use kumiki_osi_service::ftam::regime::{InitializeRequest, InitializeResponse};
use kumiki_osi_service::presentation::{Context as Proposed, ContextId};
use kumiki_osi_service::session::{FunctionalUnits as SessionUnits, TokenSetting};

use super::connection::{QueuedSend, identifier, written};
use super::*;

/// Functional units that need synchronisation points.
const CHECKED: FunctionalUnits = FunctionalUnits::RECOVERY.with(FunctionalUnits::RESTART_DATA_TRANSFER);
/// What session needs for them.
const POINTS: SessionUnits = SessionUnits::MINOR_SYNCHRONIZE.or(SessionUnits::RESYNCHRONIZE);
/// What the user of an association says of a wrong application context (X.227, Associate-source-diagnostic).
const WRONG_CONTEXT: u8 = 2;
/// The same without a reason, for F-INITIALIZE's response has it.
const NO_REASON: u8 = 1;

impl Ftam {
    pub(super) fn open(&mut self, above: Above, mut open: Open, cx: &mut Context<'_>) {
        let user = open.user;
        if self.entries.len() >= self.config.associations as usize {
            return tell_aborted(above, user, Reason::NoResources, None, cx);
        }
        let mut association = open.parameters.take::<Association>().unwrap_or_default();
        self.propose(&mut association.contexts);
        association.application_context = Some(oids::APPLICATION_CONTEXT);
        let asked = association.initialize.take();
        let (own, data) = if let Mode::Passive { .. } = open.mode {
            (self.entries.listen(above, user, ()), None)
        } else {
            let mut request = match asked.map(|fpdu| *fpdu) {
                None => InitializeRequest::default(),
                Some(Fpdu::InitializeRequest(request)) => *request,
                Some(_) => {
                    cx.drop("an open without F-INITIALIZE request");
                    return tell_aborted(above, user, Reason::Refused, None, cx);
                }
            };
            self.fill(&mut request);
            session_units(&mut association, request.functional_units);
            let fpdu = Fpdu::InitializeRequest(Box::new(request.clone()));
            let mut connection = Connection::new(Ends::new(above, user, Phase::Opening), Side::Initiator);
            connection.request = Some(Box::new(request));
            if connection.machine.on(Side::Initiator, &fpdu).is_err() {
                return;
            }
            self.counters.sent += 1;
            let data = Some(written(&fpdu));
            (self.entries.keep(connection), data)
        };
        let open = Open { user: own, parameters: association.into(), data, ..open };
        cx.down(ACSE, Request::Open(Box::new(open)));
    }

    /// FTAM-PCI first, and the user's contexts or those of the configuration behind it.
    fn propose(&self, contexts: &mut Vec<Proposed>) {
        if contexts.is_empty() {
            let all = core::iter::once(&oids::PCI).chain(&self.config.abstract_syntaxes);
            contexts.extend((0..).map(odd).zip(all).map(|(id, it)| Proposed::basic(id, *it)));
            return;
        }
        let pci = contexts.iter().position(|it| it.abstract_syntax == oids::PCI);
        let first = match pci {
            Some(at) => contexts.remove(at),
            None => {
                let highest = contexts.iter().map(|it| it.id.max(0)).max().unwrap_or(0);
                Proposed::basic(highest.saturating_add(1) | 1, oids::PCI)
            }
        };
        contexts.insert(0, first);
    }

    /// What the user has left out of the request.
    fn fill(&self, request: &mut InitializeRequest) {
        let ours = self.config.capabilities.request();
        if request.functional_units.is_empty() {
            request.functional_units = ours.functional_units;
            if request.service_class == ServiceClasses::TRANSFER {
                request.service_class = ours.service_class;
            }
            request.protocol_version |= ours.protocol_version;
            let quality = request.quality_of_service;
            request.quality_of_service = quality.max(ours.quality_of_service);
            request.checkpoint_window = request.checkpoint_window.max(ours.checkpoint_window);
        }
        if request.service_class.is_empty() {
            request.service_class = ours.service_class;
        }
        if request.attribute_groups.is_empty() {
            request.attribute_groups = ours.attribute_groups;
        }
        if request.contents_type_list.is_empty() {
            request.contents_type_list = ours.contents_type_list;
        }
        if request.implementation_information.is_none() {
            request.implementation_information = ours.implementation_information;
        }
    }

    /// F-INITIALIZE indication.
    pub(super) fn offered(&mut self, mut offered: Offered, cx: &mut Context<'_>) {
        let lower = offered.provider;
        let Some(listener) = self.entries.listener(offered.user) else {
            return abort_below(ACSE, lower, Reason::Refused, None, cx);
        };
        let (above, user) = (listener.above, listener.user);
        let mut association = offered.parameters.take::<Association>().unwrap_or_default();
        let ours = Some(oids::APPLICATION_CONTEXT);
        if association.application_context != ours {
            self.counters.refused += 1;
            self.counters.strangers += 1;
            self.refusal = None;
            let diagnostic = AssociationDiagnostic::User(WRONG_CONTEXT);
            let told = OsiCause::Rejected { permanent: true, diagnostic };
            return abort_below(ACSE, lower, Reason::peer(told), None, cx);
        }
        let deny = |action_result, number, details: &str| {
            let diagnostic = permanent(Side::Responder, number, details.to_owned());
            failure(action_result, vec![diagnostic])
        };
        if self.entries.len() >= self.config.associations as usize {
            self.counters.refused += 1;
            self.refusal = Some(Reason::NoResources);
            let (action, number) = (ActionResult::TransientError, error::SHORT_OF_RESOURCES);
            let response = deny(action, number, "too many associations");
            return refuse_with(lower, &response, cx);
        }
        let mut connection = Connection::new(Ends::new(above, Handle::default(), Phase::Offered), Side::Responder);
        let request = match self.read_one(offered.data.take()) {
            Ok(Fpdu::InitializeRequest(request)) => request,
            Ok(fpdu) => {
                let details = format!("{} to begin with, expected {}", fpdu.kind(), Kind::InitializeRequest);
                let response = deny(ActionResult::PermanentError, error::PROTOCOL, &details);
                self.broken(details);
                return refuse_with(lower, &response, cx);
            }
            Err(details) => {
                let response = deny(ActionResult::PermanentError, error::UNREADABLE, &details);
                self.broken(details);
                return refuse_with(lower, &response, cx);
            }
        };
        let fpdu = Fpdu::InitializeRequest(request.clone());
        if connection.machine.on(Side::Initiator, &fpdu).is_err() {
            return;
        }
        connection.ends.lower = lower;
        connection.ends.listener = offered.user;
        connection.request = Some(request);
        set_contexts(&mut connection, &association);
        if !connection.speaks() {
            let details = "FTAM-PCI is not the first context";
            let response = deny(ActionResult::PermanentError, error::PROTOCOL, details);
            self.broken(details.to_owned());
            return refuse_with(lower, &response, cx);
        }
        connection.agreed(&association.session, association.session.tokens.unwrap_or_default());
        association.initialize = Some(Box::new(fpdu));
        let own = self.entries.keep(connection);
        let deadline = cx.now() + self.config.timeout;
        let token = Token { session: own, kind: ANSWER_TIMER };
        if let Some(connection) = self.connection(own) {
            cx.set_timer(&mut connection.ends.timer, token, deadline);
        }
        self.counters.received += 1;
        let offered = Offered { user, provider: own, parameters: association.into(), data: None, ..offered };
        cx.up(above, Indication::Offered(Box::new(offered)));
    }

    /// F-INITIALIZE response.
    pub(super) fn accept(&mut self, above: Above, mut accept: Accept, cx: &mut Context<'_>) {
        let own = accept.session;
        let waits = self.connection(own).map(|it| it.ends.state) == Some(Phase::Offered);
        if !waits {
            return tell_aborted(above, accept.user, Reason::NoSession, None, cx);
        }
        let mut association = accept.parameters.take::<Association>().unwrap_or_default();
        let response = match association.initialize.take().map(|fpdu| *fpdu) {
            None => InitializeResponse::default(),
            Some(Fpdu::InitializeResponse(response)) => *response,
            Some(_) => {
                cx.drop("an answer without F-INITIALIZE response");
                failure(ActionResult::PermanentError, Vec::new())
            }
        };
        if response.state_result == StateResult::Failure {
            return self.reject(own, &response, cx);
        }
        let response = self.answer(own, response);
        if response.state_result == StateResult::Failure {
            return self.reject(own, &response, cx);
        }
        let Some(connection) = self.connection(own) else {
            return;
        };
        let fpdu = Fpdu::InitializeResponse(Box::new(response));
        if connection.machine.on(Side::Responder, &fpdu).is_err() {
            return;
        }
        let Fpdu::InitializeResponse(response) = &fpdu else {
            return;
        };
        cx.clear_timer(&mut connection.ends.timer);
        connection.ends.user = accept.user;
        connection.ends.state = Phase::Standing;
        connection.request = None;
        connection.points.window = response.checkpoint_window.max(1);
        let offered = connection.units;
        association.session.functional_units = SessionUnits::KERNEL;
        session_units(&mut association, response.functional_units);
        association.session.initial_sync_point = None;
        association.session.tokens = None;
        connection.units = offered.and(association.session.functional_units);
        narrow(connection, &association);
        let accept = Accept {
            session: connection.ends.lower,
            user: own,
            data: Some(written(&fpdu)),
            parameters: association.into(),
            ..accept
        };
        cx.down(ACSE, Request::Accept(Box::new(accept)));
        self.counters.sent += 1;
    }

    /// What the user has left out of its answer, and no more than was asked for.
    fn answer(&mut self, own: Handle, said: InitializeResponse) -> InitializeResponse {
        let mut ours = self.config.capabilities.clone();
        let Some(connection) = self.connection(own) else {
            return said;
        };
        let Some(request) = connection.request.as_deref() else {
            return said;
        };
        if !connection.units.has(POINTS) {
            ours.units = ours.units - CHECKED;
        }
        let ours = ours.answer(request);
        let mut response = said;
        if response.functional_units.is_empty() {
            response = InitializeResponse {
                implementation_information: response.implementation_information,
                attribute_groups: response.attribute_groups,
                shared_ase_information: response.shared_ase_information,
                contents_type_list: response.contents_type_list,
                diagnostic: [&ours.diagnostic[..], &response.diagnostic].concat(),
                ..ours.clone()
            };
        }
        response.functional_units = response.functional_units & request.functional_units;
        if !connection.units.has(POINTS) {
            response.functional_units = response.functional_units - CHECKED;
        }
        if response.attribute_groups.is_empty() {
            response.attribute_groups = ours.attribute_groups;
        }
        if response.contents_type_list.is_empty() {
            response.contents_type_list = ours.contents_type_list;
        }
        if response.implementation_information.is_none() {
            response.implementation_information = ours.implementation_information;
        }
        response
    }

    /// F-INITIALIZE is answered with a failure.
    fn reject(&mut self, own: Handle, response: &InitializeResponse, cx: &mut Context<'_>) {
        if let Some(connection) = self.forget(own, cx) {
            self.counters.refused += 1;
            self.refusal = None;
            refuse_with(connection.ends.lower, response, cx);
        }
    }

    /// The user has not answered F-INITIALIZE.
    pub(super) fn overdue(&mut self, own: Handle, cx: &mut Context<'_>) {
        let diagnostic = Diagnostic {
            diagnostic_type: DiagnosticType::Transient,
            error_identifier: error::TIMEOUT,
            error_observer: Entity::RespondingMachine,
            error_source: Entity::RespondingUser,
            ..Diagnostic::default()
        };
        let response = failure(ActionResult::TransientError, vec![diagnostic]);
        self.reject(own, &response, cx);
    }

    /// F-INITIALIZE confirm, or a listener that listens.
    pub(super) fn opened(&mut self, opened: Box<Opened>, cx: &mut Context<'_>) {
        let own = opened.user;
        let Some((connection, mut opened)) = self.entries.on_opened(opened, ACSE, cx) else {
            return;
        };
        connection.ends.lower = opened.provider;
        let mut association = opened.parameters.take::<Association>().unwrap_or_default();
        let read = self.read_one(opened.data.take());
        let Some(connection) = self.connection(own) else {
            return;
        };
        let response = match read {
            Ok(Fpdu::InitializeResponse(response)) => response,
            Ok(fpdu) => {
                let details = format!("{} in place of an answer", fpdu.kind());
                return self.mistake(own, error::PROTOCOL, details, cx);
            }
            Err(details) => return self.mistake(own, error::UNREADABLE, details, cx),
        };
        if response.state_result == StateResult::Failure {
            // Association control should have refused, too.
            end_below(ACSE, (own, connection.ends.lower), None, cx);
            let fpdu = Fpdu::InitializeResponse(response);
            return self.over(own, Reason::Refused, Some(fpdu), cx);
        }
        let request = connection.request.take();
        if let Some(diagnostic) = request.and_then(|request| objection(&request, &response)) {
            return self.fail(own, diagnostic, cx);
        }
        let fpdu = Fpdu::InitializeResponse(response);
        if let Err(wrong) = connection.machine.on(Side::Responder, &fpdu) {
            return self.fail(own, wrong.diagnostic(Side::Initiator), cx);
        }
        if let Fpdu::InitializeResponse(response) = &fpdu {
            connection.points.window = response.checkpoint_window.max(1);
        }
        set_contexts(connection, &association);
        if !connection.speaks() {
            let details = "no context of FTAM-PCI".to_owned();
            return self.mistake(own, error::PROTOCOL, details, cx);
        }
        let options = &association.session;
        connection.agreed(options, options.tokens.unwrap_or(TokenSetting::INITIATOR));
        connection.ends.state = Phase::Standing;
        association.initialize = Some(Box::new(fpdu));
        let told =
            Opened { user: connection.ends.user, provider: own, parameters: association.into(), data: None, ..*opened };
        cx.up(connection.ends.above, Indication::Opened(Box::new(told)));
        connection.flush(cx);
        self.counters.received += 1;
    }

    /// F-TERMINATE without anything to say, or its answer.
    pub(super) fn release(&mut self, own: Handle, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return cx.drop("no such association");
        };
        let fpdu = if connection.ends.state == Phase::Terminated {
            Fpdu::TerminateResponse(Box::default())
        } else {
            Fpdu::TerminateRequest(Box::default())
        };
        self.terminate(own, &fpdu, cx);
    }

    /// F-TERMINATE request or response.
    pub(super) fn terminate(&mut self, own: Handle, fpdu: &Fpdu, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return cx.drop("no such association");
        };
        let asks = fpdu.kind() == Kind::TerminateRequest;
        let (before, next) =
            if asks { (Phase::Standing, Phase::Terminating) } else { (Phase::Terminated, Phase::Ending) };
        let side = connection.side;
        if connection.ends.state != before || connection.machine.on(side, fpdu).is_err() {
            return cx.drop("F-TERMINATE at the wrong time");
        }
        connection.ends.state = next;
        let data = written(fpdu);
        if asks {
            connection.out.push_back(QueuedSend::Release(data));
            connection.flush(cx);
        } else {
            connection.ends.release(Some(data), cx);
        }
        self.counters.sent += 1;
    }

    /// A-RELEASE indication or confirm.
    pub(super) fn released(&mut self, own: Handle, data: Option<Message>, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return cx.drop("no such association");
        };
        let phase = connection.ends.state;
        // A peer that ends without a word of FTAM's has ended nevertheless.
        if data.is_none() && phase == Phase::Terminating {
            connection.ends.state = Phase::Ending;
            return;
        }
        let fpdu = match self.read_one(data) {
            Ok(fpdu) => fpdu,
            Err(details) => return self.mistake(own, error::UNREADABLE, details, cx),
        };
        let (wanted, next) = match phase {
            Phase::Terminating => (Kind::TerminateResponse, Phase::Ending),
            Phase::Opening | Phase::Offered | Phase::Standing | Phase::Terminated | Phase::Ending => {
                (Kind::TerminateRequest, Phase::Terminated)
            }
        };
        if fpdu.kind() != wanted {
            let details = format!("{} with a release", fpdu.kind());
            return self.mistake(own, error::PROTOCOL, details, cx);
        }
        let Some(connection) = self.connection(own) else {
            return;
        };
        let side = connection.side;
        match connection.machine.on(side.other(), &fpdu) {
            Ok(_) => {
                connection.ends.state = next;
                connection.tell(fpdu, cx);
                self.counters.received += 1;
            }
            Err(wrong) => self.fail(own, wrong.diagnostic(side), cx),
        }
    }

    pub(super) fn closed(&mut self, own: Handle, cx: &mut Context<'_>) {
        let Some(connection) = self.forget(own, cx) else {
            return;
        };
        if connection.ends.state == Phase::Ending {
            connection.ends.tell_closed(cx);
        } else {
            connection.ends.tell_aborted(Reason::Down, None, cx);
        }
    }

    /// F-U-ABORT, or a refusal of what was offered, or the end of listening. Where the user has found the association
    /// broken, F-P-ABORT: what is in progress can be recovered then.
    pub(super) fn abort(&mut self, own: Handle, reason: Reason, fpdu: Option<Fpdu>, cx: &mut Context<'_>) {
        if let Some(request) = self.entries.unlisten(own, reason.clone()) {
            self.refuse_offers(own, cx);
            return cx.down(ACSE, request);
        }
        if self.connection(own).map(|it| it.ends.state) == Some(Phase::Offered) {
            return self.refuse_offer(own, reason, cx);
        }
        let Some(connection) = self.forget(own, cx) else {
            return cx.drop("no such association");
        };
        let fpdu = fpdu.unwrap_or_else(|| match reason {
            Reason::TimedOut => broken_off(connection.side, error::TIMEOUT),
            Reason::Down => broken_off(connection.side, error::LOWER_LAYER),
            Reason::User
            | Reason::Reset
            | Reason::Refused
            | Reason::Unreachable(_)
            | Reason::BadAddress
            | Reason::NoResources
            | Reason::Protocol
            | Reason::NoSession
            | Reason::Violation(_)
            | Reason::Peer(_) => {
                Fpdu::UserAbort(Box::new(Abort { action_result: ActionResult::PermanentError, diagnostic: Vec::new() }))
            }
        });
        self.counters.sent += 1;
        end_below(ACSE, (own, connection.ends.lower), Some(written(&fpdu)), cx);
    }

    /// The user does not take what was offered: for now, where it has no room.
    fn refuse_offer(&mut self, own: Handle, reason: Reason, cx: &mut Context<'_>) {
        let (action, kind, number) = if reason == Reason::NoResources {
            let number = error::SHORT_OF_RESOURCES;
            (ActionResult::TransientError, DiagnosticType::Transient, number)
        } else {
            (ActionResult::PermanentError, DiagnosticType::Permanent, 0)
        };
        let diagnostic = Diagnostic {
            diagnostic_type: kind,
            error_identifier: number,
            error_observer: Entity::RespondingUser,
            ..Diagnostic::default()
        };
        self.reject(own, &failure(action, vec![diagnostic]), cx);
    }

    /// Those whom the user of a listener has not answered are refused, for now.
    fn refuse_offers(&mut self, listener: Handle, cx: &mut Context<'_>) {
        let offered = |it: &Connection| (it.ends.state, it.ends.listener) == (Phase::Offered, listener);
        for own in self.entries.connections(offered) {
            self.abort(own, Reason::NoResources, None, cx);
        }
    }

    /// The association is over, or never was.
    pub(super) fn ended(&mut self, own: Handle, reason: Reason, data: Option<Message>, cx: &mut Context<'_>) {
        if self.entries.on_ended(own, reason.clone(), cx) {
            return;
        }
        let opening = self.connection(own).map(|it| it.ends.state) == Some(Phase::Opening);
        // What cannot be read does not matter any more.
        let said = data.and_then(|data| self.read_one(Some(data)).ok());
        let said = said.filter(|fpdu| {
            let kind = fpdu.kind();
            let abort = matches!(kind, Kind::UserAbort | Kind::ProviderAbort);
            abort || opening && kind == Kind::InitializeResponse
        });
        self.over(own, reason, said, cx);
    }

    /// The user is told of an end, and before that of the FPDU that came with it.
    fn over(&mut self, own: Handle, reason: Reason, said: Option<Fpdu>, cx: &mut Context<'_>) {
        let Some(connection) = self.forget(own, cx) else {
            return;
        };
        let mut reason = reason;
        if let Some(fpdu) = said {
            let named = fpdu.outcome().and_then(|it| identifier(it.diagnostic));
            let refused = fpdu.kind() == Kind::InitializeResponse;
            if let Some(identifier) = named.or_else(|| refused.then_some(0)) {
                reason = Reason::peer(OsiCause::File { identifier });
            }
            connection.tell(fpdu, cx);
            self.counters.received += 1;
        }
        if connection.ends.state != Phase::Offered {
            connection.ends.tell_aborted(reason, None, cx);
        }
    }

    /// The one FPDU that user data of association control is, or why not.
    fn read_one(&mut self, data: Option<Message>) -> Result<Fpdu, String> {
        let Some(data) = data else {
            self.in_hand = Beginning::default();
            return Err("no FPDU where there must be one".to_owned());
        };
        let mut all = self.read(&data)?.into_iter();
        match (all.next(), all.next()) {
            (Some(fpdu), None) => Ok(fpdu),
            _ => Err("not exactly one FPDU".to_owned()),
        }
    }

    /// FPDUs, or why they cannot be read.
    pub(super) fn read(&mut self, data: &Message) -> Result<Vec<Fpdu>, String> {
        self.in_hand = ber::beginning(data);
        let longest = self.config.max_fpdu as usize;
        if data.len() > longest {
            return Err(format!("{} octets, of {longest} at most", data.len()));
        }
        kumiki_wire::files::ftam::parse_all(data).map_err(|why| why.to_string())
    }
}

/// The odd numbers, which are the initiator's to give.
fn odd(n: ContextId) -> ContextId {
    n.saturating_mul(2).saturating_add(1)
}

/// What session is asked for, if the user has not said so itself.
fn session_units(association: &mut Association, units: FunctionalUnits) {
    let wanted = &mut association.session.functional_units;
    if *wanted == SessionUnits::KERNEL {
        *wanted = SessionUnits::DUPLEX;
        if !(units & CHECKED).is_empty() {
            *wanted = wanted.or(POINTS);
        }
    }
}

/// Contexts and what became of them, as association control tells.
fn set_contexts(connection: &mut Connection, association: &Association) {
    let all = association.contexts.iter().zip(&association.results);
    connection.contexts = all.map(|(context, result)| (context.id, context.abstract_syntax, *result)).collect();
}

/// What the user of an offer says of contexts, beside contexts or in the order of the offer.
fn narrow(connection: &mut Connection, answer: &Association) {
    for (at, result) in answer.results.iter().enumerate() {
        let named = answer.contexts.get(at).map(|it| it.id);
        let place = match named {
            Some(id) => connection.contexts.iter_mut().find(|it| it.0 == id),
            None => connection.contexts.get_mut(at),
        };
        if let Some(place) = place.filter(|_| !result.is_accepted()) {
            place.2 = *result;
        }
    }
}

/// F-INITIALIZE response that says no.
fn failure(action_result: ActionResult, diagnostic: Vec<Diagnostic>) -> InitializeResponse {
    InitializeResponse {
        state_result: StateResult::Failure,
        action_result,
        diagnostic,
        ..InitializeResponse::default()
    }
}

/// An offer of association control is refused with a response.
fn refuse_with(session: Handle, response: &InitializeResponse, cx: &mut Context<'_>) {
    let told = OsiCause::Rejected {
        permanent: response.action_result != ActionResult::TransientError,
        diagnostic: AssociationDiagnostic::User(NO_REASON),
    };
    let fpdu = Fpdu::InitializeResponse(Box::new(response.clone()));
    let (reason, data) = (Reason::peer(told), Some(written(&fpdu)));
    abort_below(ACSE, session, reason, data, cx);
}

/// F-P-ABORT of an association on which nothing goes any more.
fn broken_off(observer: Side, number: i64) -> Fpdu {
    let diagnostic = Diagnostic {
        diagnostic_type: DiagnosticType::Transient,
        ..permanent(observer, number, "broken off".to_owned())
    };
    Fpdu::ProviderAbort(Box::new(Abort { action_result: ActionResult::TransientError, diagnostic: vec![diagnostic] }))
}
