//! Initiate, conclude and abort.

use kumiki_osi_service::Association;
use kumiki_osi_service::acse::Diagnostic;
use kumiki_osi_service::mms::{ErrorClass, ServiceError};
use kumiki_osi_service::presentation::Context as Proposed;
use kumiki_osi_service::session::FunctionalUnits as SessionUnits;
use kumiki_osi_service::{InitiateError, OsiCause, layer};
use kumiki_wire::osi::ber;

use super::*;

/// What the user of an association says of a wrong application context (X.227, Associate-source-diagnostic).
const WRONG_CONTEXT: u8 = 2;
/// The same without a reason, for initiate-Error has it.
const NO_REASON: u8 = 1;
/// initiate-Error: no common version.
const VERSION: i64 = 1;
/// initiate-Error: PDUs are too short.
const SEGMENT: i64 = 2;
/// initiate-Error: another reason, which is said in text.
const OTHER: i64 = 0;

const NO_CONTEXT: &str = "an association without a context of MMS";

impl Mms {
    pub(super) fn open(&mut self, above: Above, mut open: Open, cx: &mut Context<'_>) {
        let user = open.user;
        if self.entries.len() >= self.config.associations as usize {
            return tell_aborted(above, user, Reason::NoResources, None, cx);
        }
        let mut association = open.parameters.take::<Association>().unwrap_or_default();
        if association.contexts.is_empty() {
            // libiec61850 has 1 for association control, which takes the next odd number, and 3 for MMS; nobody may
            // rely on that.
            association.contexts = vec![Proposed::basic(3, ABSTRACT_SYNTAX)];
        }
        if association.session.functional_units == SessionUnits::KERNEL {
            association.session.functional_units = SessionUnits::DUPLEX;
        }
        association.application_context.get_or_insert(APPLICATION_CONTEXT);
        let ours = association.initiate.take();
        let ours = ours.map_or(self.config.initiate, |it| *it);
        let (own, data) = if let Mode::Passive { .. } = open.mode {
            (self.entries.listen(above, user, ours), None)
        } else {
            self.counters.sent += 1;
            let data = kumiki_wire::files::mms::emit(Pdu::InitiateRequest(ours));
            let connection = new(Ends::new(above, user, State::Opening), ours);
            (self.entries.keep(connection), Some(data))
        };
        let open = Open { user: own, parameters: association.into(), data, ..open };
        cx.down(ACSE, Request::Open(Box::new(open)));
    }

    /// initiate indication.
    pub(super) fn offered(&mut self, mut offered: Offered, cx: &mut Context<'_>) {
        let lower = offered.provider;
        let Some(listener) = self.entries.listener(offered.user) else {
            return abort_below(ACSE, lower, Reason::Refused, None, cx);
        };
        let (above, user, ours) = (listener.above, listener.user, listener.wants);
        let mut association = offered.parameters.take::<Association>().unwrap_or_default();
        let rejected = |code, permanent| {
            let diagnostic = Diagnostic::User(code);
            Reason::peer(OsiCause::Rejected { permanent, diagnostic })
        };
        if association.application_context != Some(APPLICATION_CONTEXT) {
            self.counters.refused += 1;
            self.counters.strangers += 1;
            self.refusal = None;
            return abort_below(ACSE, lower, rejected(WRONG_CONTEXT, true), None, cx);
        }
        if self.entries.len() >= self.config.associations as usize {
            self.counters.refused += 1;
            self.refusal = Some(Reason::NoResources);
            return abort_below(ACSE, lower, rejected(NO_REASON, false), None, cx);
        }
        let context = context(&association);
        let (agreed, context) = match taken(offered.data.take(), context, &ours) {
            Ok(taken) => taken,
            Err((error, why)) => {
                self.counters.refused += 1;
                self.refusal = Some(why);
                let data = kumiki_wire::files::mms::emit(Pdu::InitiateError(error));
                return abort_below(ACSE, lower, rejected(NO_REASON, true), Some(data), cx);
            }
        };
        let mut connection = new(Ends::new(above, Handle::default(), State::Offered), ours);
        connection.agreed = agreed;
        connection.calls = false;
        connection.ends.lower = lower;
        connection.ends.listener = offered.user;
        connection.context = context;
        association.initiate = Some(Box::new(agreed));
        let own = self.entries.keep(connection);
        self.counters.received += 1;
        let offered = Offered { user, provider: own, parameters: association.into(), data: None, ..offered };
        cx.up(above, Indication::Offered(Box::new(offered)));
    }

    /// initiate response.
    pub(super) fn accept(&mut self, above: Above, mut accept: Accept, cx: &mut Context<'_>) {
        let own = accept.session;
        let waits = self.connection(own).map(|it| it.ends.state) == Some(State::Offered);
        let Some(connection) = self.connection(own).filter(|_| waits) else {
            return tell_aborted(above, accept.user, Reason::NoSession, None, cx);
        };
        connection.ends.user = accept.user;
        connection.ends.state = State::Standing;
        let answer = Initiate { services_supported: connection.ours, ..connection.agreed };
        let data = kumiki_wire::files::mms::emit(Pdu::InitiateResponse(answer));
        let mut association = accept.parameters.take::<Association>().unwrap_or_default();
        association.initiate = None;
        association.session.functional_units = SessionUnits::DUPLEX;
        let down = Accept {
            session: connection.ends.lower,
            user: own,
            data: Some(data),
            parameters: association.into(),
            ..accept
        };
        cx.down(ACSE, Request::Accept(Box::new(down)));
        let most = u32::try_from(connection.most_asked()).unwrap_or(u32::MAX);
        connection.grant(most, cx);
        self.counters.sent += 1;
    }

    /// initiate confirm, or a listener that listens.
    pub(super) fn opened(&mut self, opened: Box<Opened>, cx: &mut Context<'_>) {
        let own = opened.user;
        let Some((connection, mut opened)) = self.entries.on_opened(opened, ACSE, cx) else {
            return;
        };
        connection.ends.lower = opened.provider;
        let mut association = opened.parameters.take::<Association>().unwrap_or_default();
        let pdu = opened.data.take().unwrap_or_default();
        let beginning = ber::beginning(&pdu);
        let read = kumiki_wire::files::mms::parse(pdu);
        let context = context(&association);
        let Some(connection) = self.connection(own) else {
            return;
        };
        let (said, context) = match (read, context) {
            (Ok(Pdu::InitiateResponse(said)), Some(context)) => (said, context),
            (Err(why), _) => {
                let why = Reason::violation_in(layer::MMS, why.to_string(), beginning);
                return self.fail(own, why, cx);
            }
            (Ok(Pdu::InitiateResponse(_)), None) => {
                return self.fail(own, Reason::violation_in(layer::MMS, NO_CONTEXT, beginning), cx);
            }
            (Ok(pdu), _) => {
                let found = format!("{} to begin with, expected initiate-Response", pdu.name());
                return self.fail(own, Reason::violation_in(layer::MMS, found, beginning), cx);
            }
        };
        let mut agreed = lesser(&connection.agreed, &said);
        agreed.services_supported = said.services_supported;
        connection.context = context;
        connection.agreed = agreed;
        connection.ends.state = State::Standing;
        association.initiate = Some(Box::new(agreed));
        let told =
            Opened { user: connection.ends.user, provider: own, parameters: association.into(), data: None, ..*opened };
        cx.up(connection.ends.above, Indication::Opened(Box::new(told)));
        let most = u32::try_from(connection.most_asked()).unwrap_or(u32::MAX);
        connection.grant(most, cx);
        self.counters.received += 1;
    }

    /// Ends an association that cannot be; the user is told.
    fn fail(&mut self, own: Handle, reason: Reason, cx: &mut Context<'_>) {
        if let Some(connection) = self.entries.forget(own) {
            end_below(ACSE, (own, connection.ends.lower), None, cx);
            connection.ends.tell_aborted(reason, None, cx);
        }
    }

    /// The user's release, or the peer's; conclude, where that is the way.
    pub(super) fn on_release(&mut self, own: Handle, event: Event, cx: &mut Context<'_>) {
        match self.cell(own, event) {
            Some(todo) => self.act(own, todo, cx),
            None => cx.drop("no such association"),
        }
    }

    /// Does what the table says of the end.
    pub(super) fn act(&mut self, own: Handle, todo: Action, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        match todo {
            Action::Conclude => connection.put(Pdu::ConcludeRequest, None),
            Action::Agree | Action::Cross => connection.put(Pdu::ConcludeResponse, None),
            Action::Release => connection.out.push_back(QueuedSend::Release),
            Action::TellReleased => connection.ends.tell_released(None, cx),
            Action::TellAndRelease => {
                connection.ends.tell_released(None, cx);
                connection.out.push_back(QueuedSend::Release);
            }
            Action::Misuse => cx.drop("not possible in this state of the environment"),
            Action::Nothing
            | Action::Reject
            | Action::Take
            | Action::Send
            | Action::TellError
            | Action::TellClosed
            | Action::TellAborted
            | Action::Forget => {}
        }
        connection.flush(cx);
    }

    /// The association is over.
    pub(super) fn over(&mut self, own: Handle, event: Event, reason: Reason, cx: &mut Context<'_>) {
        let Some(todo) = self.cell(own, event) else {
            return cx.drop("no such association");
        };
        let Some(connection) = self.entries.forget(own) else {
            return;
        };
        match todo {
            Action::TellClosed => connection.ends.tell_closed(cx),
            Action::TellAborted => connection.ends.tell_aborted(reason, None, cx),
            Action::Forget
            | Action::Misuse
            | Action::Reject
            | Action::Take
            | Action::Send
            | Action::Conclude
            | Action::Agree
            | Action::Cross
            | Action::TellReleased
            | Action::TellError
            | Action::Release
            | Action::TellAndRelease
            | Action::Nothing => {}
        }
    }

    /// The association is over without agreement, or never was.
    pub(super) fn ended(&mut self, own: Handle, reason: Reason, data: Option<Message>, cx: &mut Context<'_>) {
        if self.entries.on_ended(own, reason.clone(), cx) {
            return;
        }
        // What cannot be read does not matter any more.
        let said = data.and_then(|data| kumiki_wire::files::mms::parse(data).ok());
        let reason = match said {
            Some(Pdu::InitiateError(error)) => Reason::peer(InitiateError(error)),
            _ => reason,
        };
        self.over(own, Event::End, reason, cx);
    }

    /// The user aborts, refuses what was offered, or ends its listening.
    pub(super) fn abort(&mut self, own: Handle, reason: Reason, cx: &mut Context<'_>) {
        if let Some(request) = self.entries.unlisten(own, reason.clone()) {
            self.refuse_offers(own, cx);
            return cx.down(ACSE, request);
        }
        let Some(connection) = self.entries.forget(own) else {
            return cx.drop("no such association");
        };
        if connection.ends.state == State::Offered {
            self.counters.refused += 1;
            abort_below(ACSE, connection.ends.lower, reason, None, cx);
        } else {
            end_below(ACSE, (own, connection.ends.lower), None, cx);
        }
    }

    /// Those whom the user of a listener has not answered are refused, for now.
    fn refuse_offers(&mut self, listener: Handle, cx: &mut Context<'_>) {
        let offered = |it: &Connection| (it.ends.state, it.ends.listener) == (State::Offered, listener);
        for own in self.entries.connections(offered) {
            self.abort(own, Reason::NoResources, cx);
        }
    }
}

fn new(ends: Ends<State>, ours: Initiate) -> Connection {
    Connection {
        ends,
        calls: true,
        context: 0,
        agreed: ours,
        ours: ours.services_supported,
        asked: std::collections::BTreeMap::new(),
        pending: std::collections::BTreeMap::new(),
        out: std::collections::VecDeque::new(),
        room: 0,
        owed: 0,
    }
}

/// What both can do; the services are those of `asked`.
#[must_use]
pub(super) fn lesser(asked: &Initiate, ours: &Initiate) -> Initiate {
    let least = |one: Option<i64>, other: Option<i64>| match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    let services = |one: i64, other: i64| one.min(other).max(0);
    Initiate {
        local_detail: least(asked.local_detail, ours.local_detail),
        max_serv_outstanding_calling: services(asked.max_serv_outstanding_calling, ours.max_serv_outstanding_calling),
        max_serv_outstanding_called: services(asked.max_serv_outstanding_called, ours.max_serv_outstanding_called),
        data_structure_nesting_level: least(asked.data_structure_nesting_level, ours.data_structure_nesting_level),
        version: asked.version.min(ours.version),
        parameter_cbb: asked.parameter_cbb & ours.parameter_cbb,
        services_supported: asked.services_supported,
    }
}

/// What is agreed on with a caller that says `data`, and the context; else what initiate-Error says, and our log.
fn taken(
    data: Option<Message>,
    context: Option<i64>,
    ours: &Initiate,
) -> Result<(Initiate, i64), (ServiceError, Reason)> {
    let error = |code| ServiceError::new(ErrorClass::INITIATE, code);
    let beginning = data.as_ref().map(ber::beginning).unwrap_or_default();
    let broken = |found: String| {
        (error(OTHER).saying(found.as_str()), Reason::violation_in(layer::MMS, found, beginning.clone()))
    };
    let asked = match data.map(kumiki_wire::files::mms::parse) {
        Some(Ok(Pdu::InitiateRequest(asked))) => asked,
        Some(Ok(pdu)) => return Err(broken(format!("{} to begin with, expected initiate-Request", pdu.name()))),
        Some(Err(why)) => return Err(broken(why.to_string())),
        None => return Err(broken("no PDU to begin with, expected initiate-Request".to_owned())),
    };
    let Some(context) = context else {
        return Err(broken(NO_CONTEXT.to_owned()));
    };
    let agreed = lesser(&asked, ours);
    let error = match (agreed.version < 1, agreed.local_detail) {
        (true, _) => error(VERSION).saying(format!("version is {}, expected 1 at least", asked.version)),
        (false, Some(found)) if found < SHORTEST => {
            error(SEGMENT).saying(format!("localDetail is {found} octets, expected {SHORTEST} at least"))
        }
        (false, _) => return Ok((agreed, context)),
    };
    let why = Reason::peer(InitiateError(error.clone()));
    Err((error, why))
}

/// The context of MMS, if it stands.
fn context(association: &Association) -> Option<i64> {
    let mut standing = association.standing();
    standing.find(|it| it.abstract_syntax == ABSTRACT_SYNTAX).map(|it| it.id)
}
