//! Session: who speaks, points to go back to, and an end that loses nothing.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T X.225 (ISO 8327-1), both versions' SPDUs, version 2 spoken: kernel, duplex, half-duplex, typed data, minor synchronize, resynchronize. The text was not at hand: what is recalled and not seen in a capture is marked |
//! | Above | presentation, or any user of sessions |
//! | Below | transport: [`tp0`] |
//! | Left out | expedited data (class 0 has none, so PREPARE is never sent), negotiated release, major points, activities, exceptions, capability data, symmetric synchronize: their SPDUs are known to the codec and are protocol errors here, since they were never agreed on; user data in more than one SPDU, but for DT, TD and CN, which no length bounds. A transport connection is not used for a second session |
//!
//! **Data.** One SSDU is one TSDU with four octets in front; what is in it is not copied. SSDUs are cut only where the peer asks for it with a
//! TSDU maximum.
//!
//! **Credit** is transport's, message for message, less what SPDUs of its own take. Primitives other than data need none: where transport has no room,
//! they wait, and where very many wait, the peer waits as well (`send.rs`).
//!
//! **Listeners.** Who is called by transport and session selector; of some that fit, the one that names the most. A listener that goes refuses whom its
//! user has not answered.
//!
//! **Ending.** Who has said the last word (DN, RF, AB) waits for the peer to end the transport connection, and after
//! [`Config::patience`] ends it itself. As long is waited for the answer to FN or RS, from the last that the peer has sent. User data that is too long for
//! its SPDU ends the session: `Aborted` with `NoResources`.
//!
//! **Collision.** When both release at once the initiator of the session answers first (recalled); a resynchronisation that meets another is decided by
//! kind, number and side (`connection.rs`).

use crate::tp0;
use kumiki_graph::Special;
use kumiki_graph::{
    Above, Accept, Below, Context, Credit, Duration, Handle, Indication, Mode, Offered, Open, Opened, Protocol, Reason,
    Request, Service, Shape, Token,
};
use kumiki_octets::{Beginning, Message};
use kumiki_osi_service::Association;
use kumiki_osi_service::session::{FunctionalUnits, Primitive};
use kumiki_osi_service::{Selector, Selectors};
use kumiki_settings::{BuildError, Key, Reader, Settings};

use crate::entries::{Entries, abort_below, end_below, tell_aborted};

mod act;
mod connecting;
mod connection;
mod receive;
mod send;
mod states;
#[cfg(test)]
mod tests;

use connection::Connection;
use states::{Do, Event, State};

/// What session offers (X.215): its users also speak [`Primitive`].
pub const SERVICE: Service = Service::CONNECTION.named("session");

/// The most octets of a session selector; one of transport has room for more.
const MOST_SELECTOR: usize = 16;

/// Transport.
const TRANSPORT: Below = Below(0);

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// What is proposed where the user says nothing, and the most that is agreed to.
    #[setting(with = functional_units)]
    pub functional_units: FunctionalUnits,
    /// How long the peer is waited for.
    ///
    /// An answer to CN, FN or RS, CN on a transport connection, the end of one.
    #[setting(positive)]
    pub patience: Duration,
    /// The most octets of user data that a peer may send with CN.
    #[setting(512..=1 << 24, octets)]
    pub longest_connect: u32,
    /// The most connections at a time.
    #[setting(1..=1_000_000)]
    pub connections: u32,
}

impl Config {
    /// All functional units that are here.
    pub const ALL: FunctionalUnits = FunctionalUnits::DUPLEX
        .or(FunctionalUnits::HALF_DUPLEX)
        .or(FunctionalUnits::TYPED_DATA)
        .or(FunctionalUnits::MINOR_SYNCHRONIZE)
        .or(FunctionalUnits::RESYNCHRONIZE);
}

/// The names of functional units in settings.
const UNITS: [(&str, FunctionalUnits); 5] = [
    ("half-duplex", FunctionalUnits::HALF_DUPLEX),
    ("duplex", FunctionalUnits::DUPLEX),
    ("typed-data", FunctionalUnits::TYPED_DATA),
    ("minor-synchronize", FunctionalUnits::MINOR_SYNCHRONIZE),
    ("resynchronize", FunctionalUnits::RESYNCHRONIZE),
];

fn functional_units(place: &mut FunctionalUnits, reader: &Reader<'_>) -> Result<(), BuildError> {
    const MEANING: &str =
        "What is proposed where the user says nothing, and the most that is agreed to; none: \"duplex\" alone.";
    const EXPECTED: &str =
        "names among \"half-duplex\", \"duplex\", \"typed-data\", \"minor-synchronize\", \"resynchronize\"";
    let mut units = Vec::new();
    let unit = |text: &str| UNITS.iter().find(|(name, _)| *name == text).map(|(_, unit)| *unit);
    reader.list(&Key::new("functional_units", MEANING), EXPECTED, unit, &mut units)?;
    if !units.is_empty() {
        *place = units.into_iter().fold(FunctionalUnits::KERNEL, FunctionalUnits::or);
    }
    Ok(())
}

impl Default for Config {
    fn default() -> Self {
        Self {
            functional_units: FunctionalUnits::DUPLEX,
            patience: Duration::from_secs(30),
            longest_connect: 64 * 1024,
            connections: 1024,
        }
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// SSDUs sent.
    pub sent: u64,
    /// SSDUs handed up.
    pub received: u64,
    /// Callers refused.
    pub refused: u64,
    /// Protocol errors of peers.
    pub errors: u64,
    /// SSDUs thrown away by a resynchronisation.
    pub purged: u64,
}

/// The layer.
#[derive(Debug, Default)]
pub struct Session {
    config: Config,
    /// A listener wants to be called under these; one that is not said does not matter.
    entries: Entries<Connection, Selectors>,
    counters: Counters,
    refusal: Option<Reason>,
}

impl Session {
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

    /// What came last: how a peer broke the protocol, a caller or not, or what a caller was told that was refused. Who is refused before it has
    /// said CN leaves nothing here.
    #[must_use]
    pub const fn refusal(&self) -> Option<&Reason> {
        self.refusal.as_ref()
    }

    fn connection(&mut self, handle: Handle) -> Option<&mut Connection> {
        self.entries.connection(handle)
    }

    fn open(&mut self, above: Above, open: Open, cx: &mut Context<'_>) {
        let user = open.user;
        let association = open.parameters.get::<Association>();
        let selectors = association.map(|it| [it.called.session, it.calling.session]);
        let is_long = |selector: Selector| selector.octets().len() > MOST_SELECTOR;
        let why = if self.entries.len() >= self.config.connections as usize {
            Some(Reason::NoResources)
        } else if selectors.into_iter().flatten().flatten().any(is_long) {
            Some(Reason::BadAddress)
        } else {
            None
        };
        if let Some(reason) = why {
            return tell_aborted(above, user, reason, None, cx);
        }
        let own = match open.mode {
            Mode::Passive { .. } => {
                // What is above it, it does not know.
                let called = Selectors {
                    presentation: None,
                    ..open.parameters.get::<Association>().map_or_else(Selectors::default, |it| it.called)
                };
                self.entries.listen(above, user, called)
            }
            Mode::Active => {
                let mut connection = Connection::new(above, State::WaitTransport, true);
                connection.user = user;
                connection.association = open.parameters.get::<Association>().cloned().map(Box::new);
                connection.data = open.data;
                self.entries.keep(connection)
            }
        };
        let open = Open { user: own, data: None, ..open };
        cx.down(TRANSPORT, Request::Open(Box::new(open)));
    }

    fn accept(&mut self, above: Above, mut accept: Accept, cx: &mut Context<'_>) {
        let own = accept.session;
        let Some(connection) = self.connection(own).filter(|it| it.state == State::WaitResponse) else {
            return tell_aborted(above, accept.user, Reason::NoSession, None, cx);
        };
        connection.user = accept.user;
        connection.association = accept.parameters.take();
        self.on(own, Event::SConRspAccept, Input::data(accept.data), cx);
    }

    /// An event and what came with it: the table says what is done.
    fn on(&mut self, own: Handle, event: Event, input: Input, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return cx.drop("no such session");
        };
        let (todo, next) = states::cell(connection.state, event);
        let before = connection.state;
        if let Some(state) = next {
            connection.state = state;
        }
        self.act(own, todo, before, input, cx);
    }

    fn abort(&mut self, own: Handle, reason: Reason, data: Option<Message>, cx: &mut Context<'_>) {
        if let Some(request) = self.entries.unlisten(own, Reason::User) {
            self.refuse_offers(own, cx);
            return cx.down(TRANSPORT, request);
        }
        let input = Input { data, why: Some(reason), ..Input::default() };
        let state = self.connection(own).map(|it| it.state);
        let event = if state == Some(State::WaitResponse) { Event::SConRspRefuse } else { Event::SUAbReq };
        self.on(own, event, input, cx);
    }

    /// Those whom the user of a listener has not answered hear that nobody is there any more.
    fn refuse_offers(&mut self, listener: Handle, cx: &mut Context<'_>) {
        let offered = |it: &Connection| (it.state, it.listener) == (State::WaitResponse, listener);
        for own in self.entries.connections(offered) {
            let code = kumiki_osi_service::session::refusal::USER_NOT_ATTACHED;
            self.refuse(own, code, None, cx);
        }
    }

    fn release(&mut self, own: Handle, data: Option<Message>, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return cx.drop("no such session");
        };
        let event = match connection.state {
            State::WaitReleaseResponse => Event::SRelRsp,
            State::WaitTransport
            | State::WaitConnect
            | State::WaitAccept
            | State::WaitOverflow
            | State::WaitResponse
            | State::Data
            | State::WaitDisconnect
            | State::WaitResyncAck
            | State::WaitResyncResponse
            | State::WaitTransportEnd => Event::SRelReq,
        };
        self.on(own, event, Input::data(data), cx);
    }

    fn special(&mut self, own: Handle, what: Special, cx: &mut Context<'_>) {
        let Some(primitive) = what.take().map(|it| *it) else {
            return cx.drop("a primitive of another service");
        };
        let is_data = matches!(primitive, Primitive::TypedData { .. });
        let event = match primitive {
            Primitive::TypedData { .. } => Event::STypedReq,
            Primitive::SyncMinor { .. } => Event::SSyncMinorReq,
            Primitive::SyncMinorReply { .. } => Event::SSyncMinorRsp,
            Primitive::Resync { .. } => Event::SResyncReq,
            Primitive::ResyncReply { .. } => Event::SResyncRsp,
            Primitive::GiveTokens { .. } | Primitive::PleaseTokens { .. } => Event::STokenReq,
        };
        let input = Input { primitive: Some(primitive), ..Input::default() };
        if is_data {
            self.on_data_request(own, event, input, cx);
        } else {
            self.on(own, event, input, cx);
        }
    }

    /// Data: a message of credit goes with it, which comes back if it is not sent.
    fn on_data_request(&mut self, own: Handle, event: Event, input: Input, cx: &mut Context<'_>) {
        if let Some(connection) = self.connection(own) {
            connection.granted = connection.granted.saturating_sub(1);
        }
        self.on(own, event, input, cx);
        if let Some(connection) = self.connection(own) {
            connection.flow(cx);
        }
    }
}

/// What comes with an event.
#[derive(Debug, Default)]
struct Input {
    /// User data.
    data: Option<Message>,
    /// The SPDU, where one came.
    spdu: Option<kumiki_wire::osi::session::Spdu>,
    /// The primitive, where the user has said it.
    primitive: Option<Primitive>,
    /// How the TSDU begins in which the SPDU came.
    tsdu: Beginning,
    /// Why something ends.
    why: Option<Reason>,
    /// The data ends here.
    end: bool,
}

impl Input {
    fn data(data: Option<Message>) -> Self {
        Self { data, end: true, ..Self::default() }
    }

    fn why(why: Reason) -> Self {
        Self { why: Some(why), ..Self::default() }
    }
}

impl Protocol for Session {
    fn shape(&self) -> Shape {
        Shape { offers: Some(SERVICE), needs: &[tp0::SERVICE], below: (1, 1), keys: Vec::new() }
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request {
            Request::Open(open) => self.open(from, *open, cx),
            Request::Accept(accept) => self.accept(from, *accept, cx),
            Request::Data { session, data, end } => {
                let input = Input { data: Some(data), end, ..Input::default() };
                self.on_data_request(session, Event::SDataReq, input, cx);
            }
            Request::Credit { session, credit } => {
                if let Some(connection) = self.connection(session) {
                    let session = connection.lower;
                    cx.down(TRANSPORT, Request::Credit { session, credit });
                }
            }
            Request::Release { session, data } => self.release(session, data, cx),
            Request::Abort { session, reason, data } => self.abort(session, reason, data, cx),
            Request::Cancel { user } => {
                let own = self.entries.named(from, user, |it| (it.above, it.user));
                self.abort(own, Reason::User, None, cx);
            }
            Request::Special { session, what } => self.special(session, what, cx),
            Request::Expedited { .. } => cx.drop("expedited data was not agreed on"),
            Request::Manage(_) | Request::Reset { .. } | Request::Unit(_) => cx.drop("a primitive of another service"),
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Opened(opened) => self.transport_opened(opened, cx),
            Indication::Offered(offered) => self.transport_offered(*offered, cx),
            Indication::Data { session, data, .. } => self.came(session, data, cx),
            Indication::Credit { session, credit } => {
                if let Some(connection) = self.connection(session) {
                    connection.room = connection.room.saturating_add(credit.messages);
                    connection.flow(cx);
                }
            }
            Indication::Aborted { session, reason, .. } => self.transport_ended(session, reason, cx),
            Indication::Released { session, .. } | Indication::Closed { session } => {
                self.transport_ended(session, Reason::Down, cx);
            }
            Indication::Reset { session, reason } => self.transport_ended(session, reason, cx),
            Indication::Expedited { .. } | Indication::Special { .. } | Indication::Unit(_) => {
                cx.drop("a primitive of another service");
            }
            Indication::Urgent { .. } | Indication::Notice { .. } | Indication::Report(_) => {}
        }
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        let input = Input::why(Reason::TimedOut);
        if self.connection(token.session).is_some() {
            self.on(token.session, Event::Timer, input, cx);
        }
    }
}
