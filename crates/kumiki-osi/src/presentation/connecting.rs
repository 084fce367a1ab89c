//! Beginning: CP, CPA, CPR.

use super::connection::PpduError;
use kumiki_osi_service::Association;
use std::borrow::Cow;

use kumiki_osi_service::{OsiCause, layer};
use kumiki_wire::Malformed;
use kumiki_wire::osi::presentation::{Accept as Cpa, Connect as Cp, Refuse as Cpr};

use super::act::refused_contexts;
use super::connection::{has_twins, negotiate};
use super::*;

impl Presentation {
    pub(super) fn open(&mut self, above: Above, open: Open, cx: &mut Context<'_>) {
        let user = open.user;
        let contexts = open.parameters.get::<Association>().map(|it| it.contexts.clone());
        let contexts = contexts.unwrap_or_default();
        if let Mode::Passive { .. } = open.mode {
            let called = open.parameters.get::<Association>().map(|it| it.called);
            let wants = ListenTerms {
                called: called.unwrap_or_default(),
                spoken: contexts.iter().map(|it| it.abstract_syntax).collect(),
            };
            let open = Open { user: self.entries.listen(above, user, wants), data: None, ..open };
            return cx.down(SESSION, Request::Open(Box::new(open)));
        }
        if contexts.len() > self.config.contexts as usize {
            return tell_aborted(above, user, Reason::NoResources, None, cx);
        }
        if has_twins(&contexts) {
            cx.drop("two contexts of one number");
            return tell_aborted(above, user, Reason::Refused, None, cx);
        }
        let selectors = open.parameters.get::<Association>().map(|it| (it.calling, it.called));
        let (calling, called) = selectors.unwrap_or_default();
        let mut connection = Connection::new(Ends::new(above, user, State::WaitAccept), contexts);
        connection.called = called.presentation;
        let cp = Cp {
            calling: calling.presentation,
            called: called.presentation,
            contexts: connection.contexts.clone(),
            data: open.data.map(|data| connection.wrap_proposed(data)),
            ..Cp::default()
        };
        let open = Open { user: self.entries.keep(connection), data: Some(cp.emit()), ..open };
        cx.down(SESSION, Request::Open(Box::new(open)));
    }

    /// S-CONNECT indication: CP.
    pub(super) fn session_offered(&mut self, mut offered: Offered, cx: &mut Context<'_>) {
        let lower = offered.provider;
        if self.is_full() {
            return self.refuse(lower, refusal::CONGESTION, Vec::new(), cx);
        }
        let ppdu = offered.data.take().unwrap_or_default();
        let beginning = ppdu.beginning();
        let cp = match Cp::parse(ppdu) {
            Ok(cp) => cp,
            Err(why) => {
                let code = code(&why);
                self.refuse(lower, code, Vec::new(), cx);
                if code != refusal::VERSION {
                    self.errs(why.to_string(), beginning);
                }
                return;
            }
        };
        let mut association = offered.parameters.take::<Association>().unwrap_or_default();
        association.called.presentation = cp.called;
        association.calling.presentation = cp.calling;
        let called = association.called;
        let handle = self.entries.called(|it| it.called.fit(&called));
        let handle = handle.unwrap_or_default();
        let Some(listener) = self.entries.listener(handle) else {
            return self.refuse(lower, refusal::ADDRESS_UNKNOWN, Vec::new(), cx);
        };
        let (above, user) = (listener.above, listener.user);
        let spoken = listener.wants.spoken.clone();
        if has_twins(&cp.contexts) {
            self.refuse(lower, refusal::NOT_SPECIFIED, Vec::new(), cx);
            return self.errs("CP PPDU: two contexts with one identifier", beginning);
        }
        let results = negotiate(&spoken, &cp.contexts, self.config.contexts as usize);
        // It is a context as others are, but that it needs no number.
        let is_default_known = cp.default_context.is_none_or(|(abstract_syntax, written)| {
            written == kumiki_osi_service::presentation::BASIC_ENCODING_RULES
                && (spoken.is_empty() || spoken.contains(&abstract_syntax))
        });
        if !is_default_known {
            return self.refuse(lower, refusal::DEFAULT_CONTEXT, results, cx);
        }
        let ends = Ends::new(above, Handle::default(), State::WaitResponse);
        let mut connection = Connection::new(ends, cp.contexts);
        connection.ends.lower = lower;
        connection.ends.listener = handle;
        connection.called = cp.called;
        connection.results = results;
        let (first, data) = match cp.data.map(|data| connection.unwrap_proposed(data)) {
            Some(Ok(value)) => (value.context, Some(value.data)),
            None => (first(&connection, &spoken), None),
            Some(Err(wrong)) => {
                self.refuse(lower, refusal::USER_DATA, connection.results, cx);
                return self.errs(wrong.what, beginning);
            }
        };
        let (contexts, results) = connection.seen_from(first);
        // What nobody here can read need not be handed up.
        if data.is_some() && !results.first().is_none_or(|it| it.is_accepted()) {
            return self.refuse(lower, refusal::USER_DATA, connection.results, cx);
        }
        association.contexts = contexts;
        association.results = results;
        if let Some(units) = cp.session {
            let both = association.session.functional_units.and(units);
            association.session.functional_units = both;
        }
        let own = self.entries.keep(connection);
        let offered = Offered { user, provider: own, parameters: association.into(), data, ..offered };
        cx.up(above, Indication::Offered(Box::new(offered)));
    }

    /// The caller that was refused has broken the protocol, so.
    fn errs(&mut self, found: impl Into<Cow<'static, str>>, ppdu: Beginning) {
        self.counters.errors += 1;
        self.refusal = Some(Reason::violation_in(layer::PRESENTATION, found, ppdu));
    }

    /// CPR of this layer's own.
    fn refuse(&mut self, session: Handle, reason: u8, results: Vec<ContextResult>, cx: &mut Context<'_>) {
        self.counters.refused += 1;
        let contexts = refused_contexts(&results).filter(|_| reason == refusal::USER_DATA);
        self.refusal = Some(Reason::peer(contexts.unwrap_or(OsiCause::PresentationRefused(reason))));
        let cpr = Cpr { results, reason: Some(reason), ..Cpr::default() };
        abort_below(SESSION, session, Reason::User, Some(cpr.emit()), cx);
    }

    /// The user accepts: CPA.
    pub(super) fn send_cpa(&mut self, own: Handle, accept: Accept, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        connection.ends.user = accept.user;
        let above = connection.ends.above;
        let answer = accept.parameters.get::<Association>();
        if let Some(answer) = answer {
            connection.answered(answer);
        }
        connection.settle();
        let responding = answer.and_then(|it| it.calling.presentation);
        let data = wrapped(connection, accept.data, cx);
        let cpa = Cpa {
            responding: responding.or(connection.called),
            results: connection.results.clone(),
            data,
            ..Cpa::default()
        };
        let (lower, results, cpa) = (connection.ends.lower, cpa.results.clone(), cpa.emit());
        if cpa.len() > MOST_USER_DATA {
            self.entries.remove(own);
            self.refuse(lower, refusal::LOCAL_LIMIT, results, cx);
            return tell_aborted(above, accept.user, Reason::NoResources, None, cx);
        }
        let accept = Accept { session: lower, user: own, data: Some(cpa), ..accept };
        cx.down(SESSION, Request::Accept(Box::new(accept)));
    }

    /// The user refuses: CPR.
    pub(super) fn send_cpr(&mut self, own: Handle, why: Reason, data: Option<Message>, cx: &mut Context<'_>) {
        let Some(mut connection) = self.entries.forget(own) else {
            return;
        };
        self.counters.refused += 1;
        connection.settle();
        let reason = match why.cause() {
            Some(OsiCause::PresentationRefused(code)) => Some(*code),
            Some(_) | None => None,
        };
        self.refusal = reason.map(|code| Reason::peer(OsiCause::PresentationRefused(code)));
        let data = wrapped(&connection, fitting(data, cx), cx);
        let cpr = Cpr { responding: connection.called, results: connection.results, reason, data, ..Cpr::default() };
        let (session, data) = (connection.ends.lower, Some(cpr.emit()));
        abort_below(SESSION, session, Reason::User, data, cx);
    }

    /// P-CONNECT confirm.
    pub(super) fn on_cpa(&mut self, own: Handle, mut opened: Opened, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        let ppdu = opened.data.take().unwrap_or_default();
        let beginning = ppdu.beginning();
        let cpa = match Cpa::parse(ppdu) {
            Ok(cpa) => cpa,
            Err(why) => {
                let wrong = PpduError::read(abort::UNRECOGNIZED_PPDU, &why);
                return self.error(own, wrong, (act::event::CPA, beginning), cx);
            }
        };
        connection.results = cpa.results;
        let first = connection.own;
        let settled = connection.settle();
        let data = cpa.data.map(|data| connection.unwrap_one(first, data));
        let data = match (settled, data.transpose()) {
            (true, Ok(data)) => data,
            (false, _) => {
                let wrong = PpduError::of(
                    abort::INVALID_VALUE,
                    "a CPA PPDU with results for other contexts than were proposed",
                );
                return self.error(own, wrong, (act::event::CPA, beginning), cx);
            }
            (true, Err(wrong)) => return self.error(own, wrong, (act::event::CPA, beginning), cx),
        };
        let mut association = opened.parameters.take::<Association>().unwrap_or_default();
        association.contexts.clone_from(&connection.contexts);
        association.results.clone_from(&connection.results);
        if cpa.responding.is_some() && cpa.responding != connection.called {
            association.calling.presentation = cpa.responding;
        }
        if let Some(units) = cpa.session {
            let both = association.session.functional_units.and(units);
            association.session.functional_units = both;
        }
        let opened =
            Opened { user: connection.ends.user, provider: own, parameters: association.into(), data, ..opened };
        cx.up(connection.ends.above, Indication::Opened(Box::new(opened)));
    }
}

/// User data, where the SPDU that it goes with has room for it and for the contexts' results beside it.
fn fitting(data: Option<Message>, cx: &mut Context<'_>) -> Option<Message> {
    const RESULTS: usize = 16_384;
    act::fitting(data, MOST_USER_DATA - RESULTS, cx)
}

/// User data in the first context; none where that does not stand.
fn wrapped(
    connection: &Connection,
    data: Option<Message>,
    cx: &mut Context<'_>,
) -> Option<kumiki_wire::osi::presentation::UserData> {
    let wrapped = connection.wrap_one(connection.own, data?);
    if wrapped.is_none() {
        cx.drop("user data in a context that does not stand");
    }
    wrapped
}

/// The user's first context, where the caller's data does not say which it is.
fn first(connection: &Connection, spoken: &[Oid]) -> ContextId {
    let contexts = &connection.contexts;
    spoken
        .iter()
        .find_map(|syntax| contexts.iter().find(|it| it.abstract_syntax == *syntax))
        .or_else(|| contexts.first())
        .map_or(DEFAULT_CONTEXT, |it| it.id)
}

/// Why a CP that cannot be read is refused.
fn code(why: &Malformed) -> u8 {
    match why {
        Malformed::Field { field: "protocol-version", .. } => refusal::VERSION,
        Malformed::Ber { protocol: "User-data", .. } | Malformed::Length { protocol: "User-data", .. } => {
            refusal::USER_DATA
        }
        Malformed::Field { .. }
        | Malformed::Ber { .. }
        | Malformed::Length { .. }
        | Malformed::Short { .. }
        | Malformed::Checksum { .. } => refusal::NOT_SPECIFIED,
    }
}
