//! Beginning: AARQ and AARE.

use kumiki_osi_service::{OsiCause, layer};
use kumiki_wire::osi::acse::{Request as Aarq, Response as Aare};
use kumiki_wire::osi::ber;

use super::*;

/// Protocol version 1.
const VERSION_1: u32 = 1;
/// Diagnostics of association control and its user: no reason given; of association control: no common version.
const NO_REASON: u8 = 1;
const NO_COMMON_VERSION: u8 = 2;

impl Acse {
    pub(super) fn open(&mut self, above: Above, mut open: Open, cx: &mut Context<'_>) {
        let user = open.user;
        let mut association = open.parameters.take::<Association>().unwrap_or_default();
        if let Mode::Passive { .. } = open.mode {
            let first = association.contexts.first().map(|it| it.abstract_syntax);
            // A user that names no context is offered all, and this one among them.
            if !association.contexts.is_empty() {
                let id = next_odd(&association.contexts);
                let control = Proposed::basic(id, ABSTRACT_SYNTAX);
                association.contexts.insert(0, control);
            }
            let open = Open {
                user: self.entries.listen(above, user, first),
                parameters: association.into(),
                data: None,
                ..open
            };
            return cx.down(PRESENTATION, Request::Open(Box::new(open)));
        }
        let Some(name) = association.application_context else {
            cx.drop("an association without an application context");
            return tell_aborted(above, user, Reason::Refused, None, cx);
        };
        let control = Proposed::basic(next_odd(&association.contexts), ABSTRACT_SYNTAX);
        let connection = Connection {
            ends: Ends::new(above, user, State::WaitAare),
            initiator: true,
            control: Some(control.clone()),
            contexts: association.contexts.clone(),
            results: Vec::new(),
            asked: Some(name),
            held: None,
        };
        let aarq = Aarq {
            called: association.called_names.clone(),
            calling: association.calling_names.clone(),
            authentication: association.authentication.clone(),
            information: informed(connection.own(), true, open.data),
            ..Aarq::new(name)
        };
        association.contexts.insert(0, control);
        self.counters.asked += 1;
        let open = Open {
            user: self.entries.keep(connection),
            parameters: association.into(),
            data: Some(Apdu::Request(aarq).emit()),
            ..open
        };
        cx.down(PRESENTATION, Request::Open(Box::new(open)));
    }

    /// A-ASSOCIATE indication.
    pub(super) fn on_aarq(&mut self, mut offered: Offered, cx: &mut Context<'_>) {
        let lower = offered.provider;
        let Some(listener) = self.entries.listener(offered.user) else {
            return refuse(lower, None, cx);
        };
        let (above, user, first) = (listener.above, listener.user, listener.wants);
        let mut association = offered.parameters.take::<Association>().unwrap_or_default();
        // Without a context of association control there is nobody to understand an APDU.
        let is_first = association.contexts.first().is_some_and(|it| it.abstract_syntax == ABSTRACT_SYNTAX);
        if !is_first || association.results.len() != association.contexts.len() {
            self.counters.errors += 1;
            self.refusal = Some(Reason::violation(layer::ACSE, "no context of association control, or not the first"));
            return refuse(lower, None, cx);
        }
        let control = association.contexts.remove(0);
        association.results.remove(0);
        let apdu = offered.data.take().unwrap_or_default();
        let beginning = ber::beginning(&apdu);
        let apdu = Apdu::parse(apdu);
        let Ok(Apdu::Request(aarq)) = apdu else {
            self.counters.errors += 1;
            self.refusal = Some(not_a("AARQ", apdu, beginning));
            let abrt = Apdu::Abort(Abort { source: source::PROVIDER, diagnostic: None, information: Vec::new() });
            return refuse(lower, Some(abrt), cx);
        };
        let name = aarq.application_context;
        let (result, code) = if aarq.versions & VERSION_1 == 0 {
            (AssociateResult::RejectedPermanent, NO_COMMON_VERSION)
        } else if self.is_full() {
            (AssociateResult::RejectedTransient, NO_REASON)
        } else {
            (AssociateResult::Accepted, 0)
        };
        if result != AssociateResult::Accepted {
            self.counters.rejected += 1;
            self.refusal = Some(rejected(result, Diagnostic::Provider(code)));
            let aare = Aare::new(name, result, Diagnostic::Provider(code));
            return refuse(lower, Some(Apdu::Response(aare)), cx);
        }
        let spoken = aarq.information.first().and_then(|it| it.context);
        own_first(&mut association, spoken, first);
        association.application_context = Some(name);
        association.called_names = aarq.called;
        association.calling_names = aarq.calling;
        association.authentication = aarq.authentication;
        let connection = Connection {
            ends: Ends { lower, listener: offered.user, ..Ends::new(above, Handle::default(), State::WaitResponse) },
            initiator: false,
            control: Some(control),
            contexts: association.contexts.clone(),
            results: association.results.clone(),
            asked: Some(name),
            held: None,
        };
        let data = said(aarq.information, connection.own());
        self.counters.offered += 1;
        let offered =
            Offered { user, provider: self.entries.keep(connection), parameters: association.into(), data, ..offered };
        cx.up(above, Indication::Offered(Box::new(offered)));
    }

    /// A-ASSOCIATE response, accepted.
    pub(super) fn send_aare(&mut self, own: Handle, mut accept: Accept, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        connection.ends.user = accept.user;
        let mut answer = accept.parameters.take::<Association>().unwrap_or_default();
        let Some(name) = answer.application_context.or(connection.asked) else {
            return;
        };
        let aare = Aare {
            responding: answer.calling_names.clone(),
            authentication: answer.authentication.take(),
            information: informed(connection.own(), true, accept.data),
            ..Aare::new(name, AssociateResult::Accepted, Diagnostic::User(0))
        };
        // Presentation finds the contexts as it offered them: association control's first.
        if answer.results.is_empty() {
            answer.results.clone_from(&connection.results);
            answer.contexts.clone_from(&connection.contexts);
        } else if answer.contexts.is_empty() {
            answer.contexts.clone_from(&connection.contexts);
        }
        if let Some(control) = connection.control.clone() {
            answer.contexts.insert(0, control);
            answer.results.insert(0, ContextResult::Accepted(None));
        }
        let accept = Accept {
            session: connection.ends.lower,
            user: own,
            data: Some(Apdu::Response(aare).emit()),
            parameters: answer.into(),
            ..accept
        };
        cx.down(PRESENTATION, Request::Accept(Box::new(accept)));
    }

    /// A-ASSOCIATE response, rejected.
    pub(super) fn reject(&mut self, own: Handle, why: Reason, data: Option<Message>, cx: &mut Context<'_>) {
        let Some(connection) = self.entries.forget(own) else {
            return;
        };
        let (permanent, diagnostic) = if let Some(OsiCause::Rejected { permanent, diagnostic }) = why.cause() {
            (*permanent, *diagnostic)
        } else {
            let permanent = why != Reason::NoResources;
            (permanent, Diagnostic::User(NO_REASON))
        };
        let result = if permanent { AssociateResult::RejectedPermanent } else { AssociateResult::RejectedTransient };
        self.counters.rejected += 1;
        self.refusal = Some(rejected(result, diagnostic));
        let Some(name) = connection.asked else {
            return refuse(connection.ends.lower, None, cx);
        };
        let aare = Aare { information: informed(connection.own(), true, data), ..Aare::new(name, result, diagnostic) };
        refuse(connection.ends.lower, Some(Apdu::Response(aare)), cx);
    }

    /// A-ASSOCIATE confirm.
    pub(super) fn on_aare(&mut self, own: Handle, mut opened: Opened, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        let apdu = opened.data.take().unwrap_or_default();
        let beginning = ber::beginning(&apdu);
        let aare = match Apdu::parse(apdu) {
            Ok(Apdu::Response(aare)) => aare,
            other => return self.violated(own, not_a("AARE", other, beginning), cx),
        };
        let data = said(aare.information, connection.own());
        let user = connection.ends.user;
        if aare.result != AssociateResult::Accepted {
            // It should have come in a CPR, without a presentation connection.
            let reason = rejected(aare.result, aare.diagnostic);
            connection.ends.tell_aborted(reason, data, cx);
            if let Some(connection) = self.entries.forget(own) {
                send_abrt(own, &connection, source::PROVIDER, None, cx);
            }
            return;
        }
        let mut association = opened.parameters.take::<Association>().unwrap_or_default();
        let control = |it: &Proposed| connection.is_control(it.id);
        if let Some(at) = association.contexts.iter().position(control) {
            association.contexts.remove(at);
            if at < association.results.len() {
                association.results.remove(at);
            }
        }
        association.application_context = Some(aare.application_context);
        association.calling_names = aare.responding;
        association.authentication = aare.authentication;
        let opened = Opened { user, provider: own, parameters: association.into(), data, ..opened };
        cx.up(connection.ends.above, Indication::Opened(Box::new(opened)));
    }
}

/// What came where an APDU of the kind `wanted` must be.
fn not_a(wanted: &str, apdu: Result<Apdu, Malformed>, beginning: Beginning) -> Reason {
    let what = match apdu {
        Ok(found) => format!("{}, expected {wanted}", found.name()),
        Err(why) => why.to_string(),
    };
    Reason::violation_in(layer::ACSE, what, beginning)
}

/// The offer of presentation `session` is refused, with an APDU in the refusal's data.
fn refuse(session: Handle, apdu: Option<Apdu>, cx: &mut Context<'_>) {
    let data = apdu.map(Apdu::emit);
    abort_below(PRESENTATION, session, Reason::Refused, data, cx);
}

/// The next odd number: those are the initiator's to give.
fn next_odd(contexts: &[Proposed]) -> ContextId {
    let highest = contexts.iter().map(|it| it.id).max();
    highest.map_or(1, |id| id.max(0).saturating_add(1) | 1)
}

/// Puts the user's own context in front: the one it was spoken to in, else the one of the syntax that it names first.
fn own_first(association: &mut Association, spoken: Option<ContextId>, first: Option<Oid>) {
    let contexts = &association.contexts;
    let at = contexts
        .iter()
        .position(|it| spoken == Some(it.id))
        .or_else(|| contexts.iter().position(|it| first == Some(it.abstract_syntax)));
    let Some(at) = at.filter(|at| *at < association.results.len()) else {
        return;
    };
    let context = association.contexts.remove(at);
    association.contexts.insert(0, context);
    let result = association.results.remove(at);
    association.results.insert(0, result);
}
