//! Presentation: what is talked about, and how it is written.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T X.226 (ISO 8823-1), normal mode, kernel. The text was not at hand: what is recalled and not seen in a capture is marked |
//! | Above | ACSE, or any user of the presentation service |
//! | Below | [`session`] |
//! | Left out | context management and restoration, which are never agreed on; more than one value of user data where it is not P-DATA; typed data in parts; transfer syntaxes other than BER, but where both users name one: then a value is the octets of one PDV-list |
//!
//! **Values.** P-DATA is [`PData`], as request and as indication. A value is what comes after the headers of its PDV-list, in the
//! messages it arrived in: nothing is copied, and an octet-aligned list with several values in it becomes several. What is sent has definite
//! lengths and a PDV-list for each value.
//!
//! **Contexts.** A caller's user proposes them. Of a called user, [`contexts`](kumiki_osi_service::Association::contexts) of the passive open say what it speaks; without
//! any it is offered everything in BER. `Offered` tells what this layer would have of each ([`results`](kumiki_osi_service::Association::results)), in an order in which the
//! context of the caller's data is first, and else the first that the user speaks. The user's `Accept` may say other results, beside
//! contexts in any order, or without contexts in that of the offer.
//!
//! **User data that names no context** is one value in the first context (the convention of [`Association`](kumiki_osi_service::Association)). That of session's own primitives is
//! in the first that is not association control's: for association control, which stands in front, never uses them, and its user does.
//!
//! **Without contexts** there is the default context ([`DEFAULT_CONTEXT`]) and data is simply encoded. One that CP names is taken if it is in BER and the
//! user speaks it, and refused otherwise.
//!
//! **Refusal and abort.** CPR is in the data of RF, ARU and ARP in that of AB. A caller that was refused finds why in the `Reason`: a code of
//! presentation's, or how many contexts were refused where that says more ([`OsiCause::ContextsRefused`]), else [`Reason::Refused`] for a refusal of the
//! called user, whose data comes along; where there is no CPR, what session says.
//!
//! **Bounds.** Contexts by [`Config`], beyond which each is refused; selectors and lists by the codec; user data by session and transport: what goes with
//! an acceptance, a refusal, a release or an abort has to fit into its SPDU. An acceptance that does not is a refusal (local limit), what else is
//! asked for ends the connection (`NoResources`), and of a refusal or an abort the user data is left out and counted.

use crate::session;
use kumiki_graph::{
    Above, Accept, Below, Context, Credit, Handle, Indication, Mode, Offered, Open, Opened, Protocol, Reason, Request,
    Service, Shape,
};
use kumiki_octets::{Beginning, Message};
use kumiki_osi_service::OsiCause;
use kumiki_osi_service::presentation::PData;
use kumiki_osi_service::presentation::{ContextId, ContextResult, Values, abort, refusal};
use kumiki_osi_service::session::Primitive;
use kumiki_osi_service::{Oid, Selectors};
use kumiki_settings::Settings;

use crate::entries::{Entries, abort_below, end_below, tell_aborted};

mod act;
mod connecting;
mod connection;
mod states;
#[cfg(test)]
pub(crate) mod tests;

use connection::Connection;
use states::{Do, Event, State};

/// What presentation offers (X.216): data is [`PData`], and [`Primitive`] goes through.
pub const SERVICE: Service = Service::CONNECTION.named("presentation");

/// Session.
const SESSION: Below = Below(0);

/// What values name where no context was proposed. It never goes over the wire.
pub const DEFAULT_CONTEXT: ContextId = 0;

/// The most octets that go with an SPDU of session that has a length: its 65,535, less what else is in it. Data, typed data and CN have no such
/// limit.
const MOST_USER_DATA: usize = kumiki_wire::osi::session::MOST_LENGTH - 512;

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// The most presentation contexts of a connection; more are refused one by one.
    ///
    /// Nor are more proposed; the codec reads no more than 128.
    #[setting(1..=128)]
    pub contexts: u32,
    /// The most connections at a time.
    #[setting(1..=1_000_000)]
    pub connections: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { contexts: 64, connections: 1024 }
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// P-DATA sent.
    pub sent: u64,
    /// P-DATA handed up.
    pub received: u64,
    /// Values in those that were handed up.
    pub values: u64,
    /// Callers refused.
    pub refused: u64,
    /// Protocol errors of peers.
    pub errors: u64,
}

/// What a user wants that waits to be called.
#[derive(Debug)]
struct Wants {
    /// Those under which its user wants to be called; one that is not said does not matter.
    called: Selectors,
    /// The abstract syntaxes that its user speaks.
    spoken: Vec<Oid>,
}

/// The layer.
#[derive(Debug, Default)]
pub struct Presentation {
    config: Config,
    entries: Entries<Connection, Wants>,
    counters: Counters,
    refusal: Option<Reason>,
}

/// What comes with an event.
#[derive(Debug, Default)]
struct Input {
    /// User data.
    data: Option<Message>,
    /// P-DATA, asked for.
    values: Values,
    /// S-CONNECT confirm.
    opened: Option<Box<Opened>>,
    /// P-CONNECT response.
    accept: Option<Box<Accept>>,
    /// What session has and other layers have not.
    primitive: Option<Primitive>,
    /// Why something ends.
    why: Option<Reason>,
}

impl Input {
    fn data(data: Option<Message>) -> Self {
        Self { data, ..Self::default() }
    }
}

impl Presentation {
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

    /// What came last: how a peer broke the protocol, a caller or not, or what a caller was told that was refused; of one that broke the protocol
    /// and was refused for it, the former. Nothing where the last was refused by the user, without a reason of presentation's.
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
            return cx.drop("no such connection");
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
            return cx.down(SESSION, request);
        }
        let input = Input { data, why: Some(reason), ..Input::default() };
        self.on(own, Event::AbortReq, input, cx);
    }

    /// Those whom the user of a listener has not answered hear that nobody is there any more.
    fn refuse_offers(&mut self, listener: Handle, cx: &mut Context<'_>) {
        let offered = |it: &Connection| (it.state, it.listener) == (State::WaitResponse, listener);
        for own in self.entries.connections(offered) {
            let told = OsiCause::PresentationRefused(refusal::NO_ACCESS_POINT);
            self.abort(own, Reason::peer(told), None, cx);
        }
    }

    fn session_ended(&mut self, own: Handle, why: Reason, data: Option<Message>, cx: &mut Context<'_>) {
        if self.entries.on_ended(own, why.clone(), cx) {
            return;
        }
        let input = Input { data, why: Some(why), ..Input::default() };
        self.on(own, Event::End, input, cx);
    }
}

impl Protocol for Presentation {
    fn shape(&self) -> Shape {
        Shape { offers: Some(SERVICE), needs: &[session::SERVICE], below: (1, 1), keys: Vec::new() }
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request {
            Request::Open(open) => self.open(from, *open, cx),
            Request::Accept(accept) => self.accept(from, accept, cx),
            Request::Credit { session, credit } => {
                if let Some(connection) = self.connection(session) {
                    let session = connection.lower;
                    cx.down(SESSION, Request::Credit { session, credit });
                }
            }
            Request::Release { session, data } => {
                self.on(session, Event::RelReq, Input::data(data), cx);
            }
            Request::Abort { session, reason, data } => self.abort(session, reason, data, cx),
            Request::Cancel { user } => {
                let own = self.entries.named(from, user, |it| (it.above, it.user));
                self.abort(own, Reason::User, None, cx);
            }
            Request::Special { session, what } if what.is::<PData>() => {
                let values = what.take::<PData>().map(|data| data.0).unwrap_or_default();
                self.on(session, Event::DataReq, Input { values, ..Input::default() }, cx);
            }
            Request::Special { session, what } => match what.take() {
                Some(primitive) => {
                    let input = Input { primitive: Some(*primitive), ..Input::default() };
                    self.on(session, Event::PrimitiveReq, input, cx);
                }
                None => cx.drop("a primitive of another service"),
            },
            // Octets without a context.
            Request::Data { session, .. } => {
                self.give_back(session, cx);
                cx.drop("data that is no presentation data value");
            }
            Request::Expedited { .. } => cx.drop("expedited data was not agreed on"),
            Request::Manage(_) | Request::Reset { .. } | Request::Unit(_) => {
                cx.drop("a primitive of another service");
            }
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Opened(opened) => self.session_opened(opened, cx),
            Indication::Offered(offered) => self.session_offered(*offered, cx),
            Indication::Data { session, data, .. } => {
                self.on(session, Event::Td, Input::data(Some(data)), cx);
            }
            Indication::Special { session, what } => match what.take() {
                Some(primitive) => {
                    let input = Input { primitive: Some(*primitive), ..Input::default() };
                    self.on(session, Event::Primitive, input, cx);
                }
                None => cx.drop("a primitive of another service"),
            },
            Indication::Credit { session, credit } => {
                if let Some(connection) = self.connection(session) {
                    let session = connection.user;
                    cx.up(connection.above, Indication::Credit { session, credit });
                }
            }
            Indication::Released { session, data } => {
                self.on(session, Event::Release, Input::data(data), cx);
            }
            Indication::Closed { session } => {
                let input = Input { why: Some(Reason::Down), ..Input::default() };
                self.on(session, Event::Closed, input, cx);
            }
            Indication::Aborted { session, reason, data } => self.session_ended(session, reason, data, cx),
            Indication::Expedited { session, .. } | Indication::Reset { session, .. } => {
                self.on(session, Event::Unexpected, Input::default(), cx);
            }
            Indication::Unit(_) => {
                cx.drop("a primitive of another service");
            }
            Indication::Urgent { .. } | Indication::Notice { .. } | Indication::Report(_) => {}
        }
    }
}
