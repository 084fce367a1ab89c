//! One presentation connection: the contexts that were proposed, those that stand, and values put into them and taken
//! out.

use std::borrow::Cow;

use kumiki_octets::Message;
use kumiki_osi_service::presentation::{
    BASIC_ENCODING_RULES, Context, ContextId, ContextResult, Value, Values, abort, context_refusal,
};
use kumiki_osi_service::{Association, Oid, Selector};
use kumiki_wire::Malformed;
use kumiki_wire::osi::presentation::{IdentifiedContext, Pdv, UserData};

use super::DEFAULT_CONTEXT;
use super::states::State;
use crate::layer::Ends;

#[derive(Debug)]
pub struct Connection {
    pub(super) ends: Ends<State>,
    /// The selector called.
    pub(super) called: Option<Selector>,
    /// The contexts proposed, in the order of CP.
    pub(super) contexts: Vec<Context>,
    /// What became of them, or, until the user has answered, would become.
    pub(super) results: Vec<ContextResult>,
    /// DCS, the defined context set: those that stand.
    pub(super) standing: Vec<IdentifiedContext>,
    /// The context of user data that names none.
    pub(super) own: ContextId,
    /// The same for the primitives of session; see the module.
    pub(super) talk: ContextId,
}

impl Connection {
    pub(super) fn new(ends: Ends<State>, contexts: Vec<Context>) -> Self {
        let own = contexts.first().map_or(DEFAULT_CONTEXT, |it| it.id);
        let mut connection =
            Self { ends, called: None, contexts, results: Vec::new(), standing: Vec::new(), own, talk: own };
        let talk = connection.talk_among(connection.contexts.iter());
        connection.talk = talk;
        connection
    }

    /// The first context of `order` that is not association control's, for that has nothing to say while the
    /// association stands.
    fn talk_among<'a>(&self, mut order: impl Iterator<Item = &'a Context>) -> ContextId {
        order.find(|it| it.abstract_syntax != kumiki_osi_service::acse::ABSTRACT_SYNTAX).map_or(self.own, |it| it.id)
    }

    /// Makes `own` the first context for the user: all contexts and results in that order.
    pub(super) fn seen_from(&mut self, own: ContextId) -> (Vec<Context>, Vec<ContextResult>) {
        self.own = own;
        let mut order: Vec<_> = self.contexts.iter().zip(&self.results).collect();
        if let Some(at) = order.iter().position(|(it, _)| it.id == own) {
            let first = order.remove(at);
            order.insert(0, first);
        }
        let talk = self.talk_among(order.iter().map(|(it, _)| *it));
        let seen = order.into_iter().map(|(context, result)| (context.clone(), *result)).unzip();
        self.talk = talk;
        seen
    }

    /// What the called user says of the contexts it was offered: results beside contexts, or in the order of the offer.
    pub(super) fn answered(&mut self, answer: &Association) {
        let (offered, _) = self.seen_from(self.own);
        let order = if answer.contexts.is_empty() { &offered } else { &answer.contexts };
        self.talk = self.talk_among(order.iter());
        for (context, said) in order.iter().zip(&answer.results) {
            let proposed = self.contexts.iter().zip(&mut self.results);
            let Some((proposed, result)) = proposed.into_iter().find(|(proposed, _)| proposed.id == context.id) else {
                continue;
            };
            match said {
                // Only a syntax that was proposed; else what was decided here stays.
                ContextResult::Accepted(Some(syntax)) if proposed.transfer_syntaxes.contains(syntax) => {
                    *result = *said;
                }
                ContextResult::Accepted(_) => {}
                ContextResult::RefusedByUser | ContextResult::RefusedByProvider(_) => {
                    *result = *said;
                }
            }
        }
    }

    /// The contexts that were accepted stand from now on. False where the results do not fit the proposal.
    pub(super) fn settle(&mut self) -> bool {
        self.standing.clear();
        if self.results.len() != self.contexts.len() {
            return false;
        }
        for (context, result) in self.contexts.iter().zip(&self.results) {
            let ContextResult::Accepted(syntax) = result else {
                continue;
            };
            let syntax = syntax.or_else(|| context.transfer_syntaxes.first().copied());
            let Some(transfer_syntax) = syntax.filter(|syntax| context.transfer_syntaxes.contains(syntax)) else {
                return false;
            };
            self.standing.push(IdentifiedContext { id: context.id, transfer_syntax });
        }
        true
    }

    /// Whether a context stands, and then whether its values are in BER. The default context is there where no other
    /// is.
    fn is_basic(&self, id: ContextId) -> Option<bool> {
        if self.contexts.is_empty() && id == DEFAULT_CONTEXT {
            return Some(true);
        }
        self.standing.iter().find(|it| it.id == id).map(|it| it.transfer_syntax == BASIC_ENCODING_RULES)
    }

    /// The same while contexts are proposed and none stands.
    pub(super) fn is_proposed(&self, id: ContextId) -> Option<bool> {
        if self.contexts.is_empty() && id == DEFAULT_CONTEXT {
            return Some(true);
        }
        self.contexts
            .iter()
            .find(|it| it.id == id)
            .map(|it| it.transfer_syntaxes.first() == Some(&BASIC_ENCODING_RULES))
    }

    /// Values as user data. `None` where one is in no context that stands.
    pub(super) fn wrap(&self, values: Values) -> Option<UserData> {
        if self.contexts.is_empty() {
            let mut all = Message::new();
            for value in values {
                self.is_basic(value.context)?;
                all.append(value.data);
            }
            return Some(UserData::Simple(all));
        }
        let pdvs = values.into_iter().map(|value| {
            let basic = self.is_basic(value.context)?;
            Some(pdv(value, basic))
        });
        pdvs.collect::<Option<_>>().map(UserData::Full)
    }

    /// One value in `context`. None where the context does not stand: then nothing can be said in it.
    pub(super) fn wrap_one(&self, context: ContextId, data: Message) -> Option<UserData> {
        let basic = self.is_basic(context)?;
        if self.contexts.is_empty() {
            return Some(UserData::Simple(data));
        }
        let value = Value { context, data };
        Some(UserData::Full([pdv(value, basic)].into_iter().collect()))
    }

    /// The same before any context stands: in CP, CPR and in an ARU that overtakes them.
    pub(super) fn wrap_proposed(&self, data: Message) -> UserData {
        if self.contexts.is_empty() {
            return UserData::Simple(data);
        }
        let basic = self.is_proposed(self.own) == Some(true);
        let value = Value { context: self.own, data };
        let mut pdv = pdv(value, basic);
        // Where there is a choice of syntaxes, it says which it is in: the first.
        pdv.transfer_syntax = self
            .contexts
            .iter()
            .find(|it| it.id == self.own && it.transfer_syntaxes.len() > 1)
            .and_then(|it| it.transfer_syntaxes.first().copied());
        UserData::Full([pdv].into_iter().collect())
    }

    /// The values of user data, or why they cannot be taken: one of [`abort`].
    pub(super) fn unwrap(&self, data: UserData) -> Result<Values, PpduError> {
        let simple = match (&self.contexts[..], &self.standing[..]) {
            ([], _) => Some(DEFAULT_CONTEXT),
            (_, [only]) => Some(only.id),
            _ => None,
        };
        values(data, simple, |id| self.is_basic(id))
    }

    /// One value, in `context`.
    pub(super) fn unwrap_one(&self, context: ContextId, data: UserData) -> Result<Message, PpduError> {
        one_in(context, self.unwrap(data)?)
    }

    /// Where the abstract syntax of the value's context is one that could be accepted: that value of CP.
    pub(super) fn unwrap_proposed(&self, data: UserData) -> Result<Value, PpduError> {
        let simple = match &self.contexts[..] {
            [] => Some(DEFAULT_CONTEXT),
            [only] => Some(only.id),
            _ => None,
        };
        let is_basic = |id| self.is_proposed(id);
        let mut values = values(data, simple, is_basic)?;
        match (values.pop(), values.is_empty()) {
            (Some(value), true) => Ok(value),
            _ => Err(PpduError::of(abort::INVALID_VALUE, "not one value, or in another context than it must be")),
        }
    }

    /// The list that goes with ARU: what the contexts of its user data are written in.
    pub(super) fn identified(&self, context: ContextId) -> Vec<IdentifiedContext> {
        let named = self.standing.iter().filter(|it| it.id == context);
        named.copied().collect()
    }
}

fn pdv(value: Value, basic: bool) -> Pdv {
    let mut pdv = Pdv::from(value);
    if !basic {
        pdv.form = kumiki_wire::osi::presentation::Form::OctetAligned;
    }
    pdv
}

/// What is wrong with a PPDU of the peer's: what ARP says of it, and what people are told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PpduError {
    pub(super) code: u8,
    pub(super) what: Cow<'static, str>,
}

/// A value in a context that is not there.
fn stray() -> PpduError {
    PpduError::of(abort::INVALID_VALUE, "a value in no context that was agreed on, or proposed where none is yet")
}

impl PpduError {
    pub(super) fn of(code: u8, what: &'static str) -> Self {
        Self { code, what: what.into() }
    }

    /// It cannot be read.
    pub(super) fn read(code: u8, why: &Malformed) -> Self {
        Self { code, what: why.to_string().into() }
    }
}

/// All values of `data`; `is_basic` says of a context whether it is there and whether its values are in BER.
fn values(
    data: UserData,
    simple: Option<ContextId>,
    is_basic: impl Fn(ContextId) -> Option<bool>,
) -> Result<Values, PpduError> {
    let mut values = Values::new();
    match data {
        UserData::Simple(_) => {
            let not_simple = || {
                PpduError::of(abort::INVALID_VALUE, "simply encoded user data, though there is not just one context")
            };
            let context = simple.ok_or_else(not_simple)?;
            let read = data.into_values(context);
            values = read.map_err(|why| PpduError::read(abort::INVALID_VALUE, &why))?;
        }
        UserData::Full(pdvs) => {
            for pdv in pdvs {
                if is_basic(pdv.context).ok_or_else(stray)? {
                    let read = pdv.into_values(&mut values);
                    read.map_err(|why| PpduError::read(abort::INVALID_VALUE, &why))?;
                } else {
                    values.push(Value { context: pdv.context, data: pdv.data });
                }
            }
        }
    }
    if values.is_empty() {
        return Err(PpduError::of(abort::INVALID_VALUE, "user data without a value"));
    }
    Ok(values)
}

fn one_in(context: ContextId, mut values: Values) -> Result<Message, PpduError> {
    match (values.pop(), values.is_empty()) {
        (Some(value), true) if value.context == context => Ok(value.data),
        _ => Err(PpduError::of(abort::INVALID_VALUE, "not one value, or in another context than it must be")),
    }
}

/// What becomes of `proposed` where a user speaks `spoken`; one that has listed nothing is offered all that is in BER.
pub(super) fn negotiate(spoken: &[Oid], proposed: &[Context], most: usize) -> Vec<ContextResult> {
    let result = |(n, context): (usize, &Context)| {
        let why = if n >= most {
            context_refusal::LOCAL_LIMIT
        } else if !spoken.is_empty() && !spoken.contains(&context.abstract_syntax) {
            context_refusal::ABSTRACT_SYNTAX
        } else if !context.transfer_syntaxes.contains(&BASIC_ENCODING_RULES) {
            context_refusal::TRANSFER_SYNTAXES
        } else {
            return ContextResult::Accepted(Some(BASIC_ENCODING_RULES));
        };
        ContextResult::RefusedByProvider(Some(why))
    };
    proposed.iter().enumerate().map(result).collect()
}

/// Whether two contexts have one number.
pub(super) fn has_twins(contexts: &[Context]) -> bool {
    let mut ids: Vec<ContextId> = contexts.iter().map(|it| it.id).collect();
    ids.sort_unstable();
    ids.windows(2).any(|pair| matches!(pair, [a, b] if a == b))
}
