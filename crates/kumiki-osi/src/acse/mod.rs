//! ACSE: who wants to do what with whom.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T X.227 (ISO 8650-1), normal mode, kernel and authentication. The text was not at hand: what is recalled and not seen in a capture is marked |
//! | Above | FTAM, or any user of an association |
//! | Below | [`presentation`] |
//! | Left out | negotiation of the application context by a list; user information of more than one value, of which the one in the user's context, else the first, is taken; associations without ACSE, whose users stand on presentation |
//!
//! **Contexts.** Association control puts a context of its own in front of the user's, under the next odd number, and takes it away again
//! from what it tells the user: the first is the user's own. Of an offer that is the context of AARQ's user information, and else the one
//! that the user named first. Results beside an `Accept` are those of the user's contexts.
//!
//! **Data** is not its business: values and session's primitives pass unchanged both ways, but for values in its own context.
//!
//! **User information** is one EXTERNAL: with both references in AARQ and AARE, with the indirect one elsewhere, as ISODE has it. Either is
//! taken.
//!
//! **Answers.** In an `Accept`, [`calling_names`](kumiki_osi_service::Association::calling_names) and its selectors say who answers; a user that hands
//! back what it was offered would say that the caller does. Without an application context the caller's is confirmed.
//!
//! **Refusal.** `Abort` of an offer is AARE rejected, in CPR, with what [`kumiki_osi_service::OsiCause::Rejected`] says, else for good and without a reason. The caller
//! finds the same in its `Aborted`. An AARQ that cannot be read is refused with an ABRT.
//!
//! **Abort** is ABRT, in ARU; [`kumiki_osi_service::OsiCause::AssociationAborted`] comes of it. One that stands in AB by itself is understood too.
//!
//! **Release.** An answer in a collision that comes too early, on the side of the responder, is held until the initiator has answered. FN and
//! DN without an APDU are taken for RLRQ and RLRE without anything to say.

use crate::presentation;
use kumiki_graph::Special;
use kumiki_graph::{
    Above, Accept, Below, Context, Credit, Handle, Indication, Mode, Offered, Open, Opened, Protocol, Reason, Request,
    Service, Shape,
};
use kumiki_octets::{Beginning, Message};
use kumiki_osi_service::acse::{ABSTRACT_SYNTAX, AssociateResult, Diagnostic};
use kumiki_osi_service::presentation::{BASIC_ENCODING_RULES, Context as Proposed, ContextId, ContextResult};
use kumiki_osi_service::{Association, Oid};
use kumiki_settings::Settings;
use kumiki_wire::osi::acse::{Abort, Apdu, Information, Release, reason, source};
use kumiki_wire::osi::presentation::Form;

use crate::entries::{Entries, abort_below, end_below, tell_aborted};

mod act;
mod associating;
mod states;
#[cfg(test)]
mod tests;

use act::{informed, rejected, said, send_abrt};
use states::{Do, Event, State};

/// What association control offers beside what presentation does (X.217).
pub const SERVICE: Service = Service::CONNECTION.named("association");

/// Presentation.
const PRESENTATION: Below = Below(0);

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// The most associations at a time.
    #[setting(1..=1_000_000)]
    pub associations: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { associations: 1024 }
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// AARQ sent.
    pub asked: u64,
    /// AARQ handed up.
    pub offered: u64,
    /// AARE sent that reject.
    pub rejected: u64,
    /// Protocol errors of peers.
    pub errors: u64,
}

/// One association.
#[derive(Debug)]
struct Connection {
    above: Above,
    user: Handle,
    /// The presentation connection's handle; none before it stands.
    lower: Handle,
    state: State,
    /// Whose user was told of AARQ.
    listener: Handle,
    /// Whether this side has sent AARQ.
    initiator: bool,
    /// Association control's own context.
    control: Option<Proposed>,
    /// The user's contexts, its own first.
    contexts: Vec<Proposed>,
    /// What presentation would have of them.
    results: Vec<ContextResult>,
    /// The application context that the caller named.
    asked: Option<Oid>,
    /// The user's answer in a collision, until the peer has answered.
    held: Option<Option<Message>>,
}

impl Connection {
    /// Whether a context is association control's own.
    fn is_control(&self, id: ContextId) -> bool {
        self.control.as_ref().is_some_and(|it| it.id == id)
    }

    /// The user's own context.
    fn own(&self) -> Option<ContextId> {
        self.contexts.first().map(|it| it.id)
    }
}

/// The layer.
#[derive(Debug, Default)]
pub struct Acse {
    config: Config,
    /// A listener wants the abstract syntax that its user names first.
    entries: Entries<Connection, Option<Oid>>,
    counters: Counters,
    refusal: Option<Reason>,
}

/// What comes with an event.
#[derive(Debug, Default)]
struct Input {
    /// User data, or what it is in.
    data: Option<Message>,
    apdu: Option<Apdu>,
    opened: Option<Box<Opened>>,
    accept: Option<Box<Accept>>,
    /// What passes, by the way it goes.
    passing: Option<Special>,
    /// Why it ends.
    why: Option<Reason>,
    /// Why the APDU could not be read.
    malformed: Option<kumiki_wire::Malformed>,
    /// How it begins.
    beginning: Beginning,
}

impl Acse {
    /// A layer as `config` says.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, ..Self::default() }
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What came last: how a peer broke the protocol, a caller or not, or what a caller was told that was rejected, by association control or by its
    /// user.
    #[must_use]
    pub const fn refusal(&self) -> Option<&Reason> {
        self.refusal.as_ref()
    }

    fn connection(&mut self, handle: Handle) -> Option<&mut Connection> {
        self.entries.connection(handle)
    }

    /// An event and what came with it: the table says what is done.
    fn on(&mut self, own: Handle, event: Event, input: Input, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return cx.drop("no such association");
        };
        let (todo, next) = states::cell(connection.state, event);
        if let Some(state) = next {
            connection.state = state;
        }
        self.act(own, todo, input, cx);
    }

    fn abort(&mut self, own: Handle, reason: Reason, data: Option<Message>, cx: &mut Context<'_>) {
        if let Some(request) = self.entries.unlisten(own, reason.clone()) {
            self.refuse_offers(own, cx);
            return cx.down(PRESENTATION, request);
        }
        let input = Input { data, why: Some(reason), ..Input::default() };
        self.on(own, Event::AbrReq, input, cx);
    }

    /// Those whom the user of a listener has not answered are rejected, for now.
    fn refuse_offers(&mut self, listener: Handle, cx: &mut Context<'_>) {
        let offered = |it: &Connection| (it.state, it.listener) == (State::WaitResponse, listener);
        for own in self.entries.connections(offered) {
            self.abort(own, Reason::NoResources, None, cx);
        }
    }

    fn passing(&mut self, own: Handle, event: Event, passing: Special, cx: &mut Context<'_>) {
        let input = Input { passing: Some(passing), ..Input::default() };
        self.on(own, event, input, cx);
    }
}

impl Protocol for Acse {
    fn shape(&self) -> Shape {
        Shape { offers: Some(SERVICE), needs: &[presentation::SERVICE], below: (1, 1), keys: Vec::new() }
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request {
            Request::Open(open) => self.open(from, *open, cx),
            Request::Accept(accept) => self.accept(from, accept, cx),
            Request::Special { session, what } => self.passing(session, Event::DataReq, what, cx),
            Request::Credit { session, credit } => {
                if let Some(connection) = self.connection(session) {
                    let session = connection.lower;
                    cx.down(PRESENTATION, Request::Credit { session, credit });
                }
            }
            Request::Release { session, data } => self.release(session, data, cx),
            Request::Abort { session, reason, data } => self.abort(session, reason, data, cx),
            Request::Cancel { user } => {
                let own = self.entries.named(from, user, |it| (it.above, it.user));
                self.abort(own, Reason::User, None, cx);
            }
            Request::Data { session, .. } => {
                if let Some(connection) = self.connection(session) {
                    let (session, credit) = (connection.user, Credit::messages(1));
                    cx.up(connection.above, Indication::Credit { session, credit });
                }
                cx.drop("data that is no presentation data value");
            }
            Request::Manage(_) | Request::Expedited { .. } | Request::Reset { .. } | Request::Unit(_) => {
                cx.drop("a primitive of another service");
            }
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Opened(opened) => self.connected(opened, cx),
            Indication::Offered(offered) => self.take_aarq(*offered, cx),
            Indication::Special { session, what } => self.passing(session, Event::Data, what, cx),
            Indication::Credit { session, credit } => {
                if let Some(connection) = self.connection(session) {
                    let session = connection.user;
                    cx.up(connection.above, Indication::Credit { session, credit });
                }
            }
            Indication::Released { session, data } => self.came_release(session, data, cx),
            Indication::Closed { session } => {
                let input = Input { why: Some(Reason::Down), ..Input::default() };
                self.on(session, Event::Closed, input, cx);
            }
            Indication::Aborted { session, reason, data } => {
                if self.entries.on_ended(session, reason.clone(), cx) {
                    return;
                }
                let input = Input { data, why: Some(reason), ..Input::default() };
                self.on(session, Event::End, input, cx);
            }
            Indication::Data { .. } | Indication::Expedited { .. } | Indication::Reset { .. } | Indication::Unit(_) => {
                cx.drop("a primitive of another service");
            }
            Indication::Urgent { .. } | Indication::Notice { .. } | Indication::Report(_) => {}
        }
    }
}
