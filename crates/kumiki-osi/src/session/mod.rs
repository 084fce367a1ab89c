//! Session: who speaks, points to go back to, and an end that loses nothing.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T X.225 (ISO 8327-1), both versions' SPDUs, version 2 spoken: kernel, duplex, half-duplex, typed data, minor synchronize, resynchronize. The text was not at hand: what is recalled and not seen in a capture is marked |
//! | Above | presentation, or any user of sessions |
//! | Below | transport: [`tp0`] |
//! | Left out | expedited data (class 0 has none, so PREPARE is never sent), negotiated release, major points, activities, exceptions, capability data, symmetric synchronize: their SPDUs are known to the codec and are protocol errors here, since they were never agreed on; user data in more than one SPDU, but for DT, TD and CN, which no length bounds. A transport connection is not used for a second session |
//!
//! **Data.** One SSDU is one TSDU with four octets in front; what is in it is not copied. SSDUs are cut only where the
//! peer asks for it with a TSDU maximum.
//!
//! **Credit** is transport's, message for message, less what SPDUs of its own take. Primitives other than data need
//! none: where transport has no room, they wait, and where very many wait, the peer waits as well (`send.rs`).
//!
//! **Listeners.** Who is called by transport and session selector; of some that fit, the one that names the most. A
//! listener that goes refuses whom its user has not answered.
//!
//! **Ending.** Who has said the last word (DN, RF, AB) waits for the peer to end the transport connection, and after
//! [`Config::timeout`] ends it itself. As long is waited for the answer to FN or RS, from the last that the peer has
//! sent. User data that is too long for its SPDU ends the session: `Aborted` with `NoResources`.
//!
//! **Collision.** When both release at once the initiator of the session answers first (recalled); a resynchronisation
//! that meets another is decided by kind, number and side (`connection.rs`).

use crate::tp0;
use kumiki_graph::{
    Above, Accept, Below, Context, Credit, Duration, Handle, Indication, Mode, Offered, Open, Opened, Reason, Request,
    Service, Special,
};
use kumiki_octets::{Beginning, Message};
use kumiki_osi_service::Association;
use kumiki_osi_service::session::{FunctionalUnits, Primitive, refusal};
use kumiki_osi_service::{Selector, Selectors};
use kumiki_settings::{BuildError, Key, Reader, Settings};
use kumiki_wire::osi::session::Spdu;

use crate::entries::{abort_below, end_below, tell_aborted};
use crate::layer::{Ends, Layer, Machine, Table};

mod act;
mod connecting;
mod connection;
mod receive;
mod send;
mod states;
#[cfg(test)]
mod tests;

use connection::Connection;
use states::{Action, Event, State};

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
    pub timeout: Duration,
    /// The most octets of user data that a peer may send with CN.
    #[setting(512..=1 << 24, octets)]
    pub max_connect: u32,
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
            timeout: Duration::from_secs(30),
            max_connect: 64 * 1024,
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
pub type Session = Layer<Spm>;

/// The session protocol machine.
#[derive(Debug, Default)]
pub struct Spm;

type Input = crate::layer::Input<Spdu>;

impl Machine for Spm {
    type Config = Config;
    type Counters = Counters;
    type Connection = Connection;
    /// Those under which its user wants to be called; one that is not said does not matter.
    type ListenTerms = Selectors;
    type State = State;
    type Event = Event;
    type Action = Action;
    type Pdu = Spdu;

    const SERVICE: Service = SERVICE;
    const NEEDS: &'static [Service] = &[tp0::SERVICE];
    const TABLE: Table<Self> = Table {
        cell: states::cell,
        act: Session::act,
        open: Session::open,
        called: Session::transport_offered,
        refuse_offer: |layer, own, cx| layer.refuse(own, refusal::USER_NOT_ATTACHED, None, cx),
        most: |config| config.connections,
        ends: |it| &it.ends,
        ends_mut: |it| &mut it.ends,
        offered: State::WaitResponse,
        accepted: Event::SConRspAccept,
        release: |state| Ok(if state == State::WaitReleaseResponse { Event::SRelRsp } else { Event::SRelReq }),
        abort: |state| if state == State::WaitResponse { Event::SConRspRefuse } else { Event::SUAbReq },
        confirmed: Event::TConCnf,
        released: None,
        closed: None,
        ended: Event::TDisInd,
        may_end_late: true,
        unexpected: None,
        timeout: Some(Event::Timer),
        no_such: "no such session",
        no_expedited: "expedited data was not agreed on",
    };

    fn data(layer: &mut Session, own: Handle, data: Message, end: bool, cx: &mut Context<'_>) {
        layer.on_data_request(own, Event::SDataReq, Input { end, ..Input::data(Some(data)) }, cx);
    }

    fn special(layer: &mut Session, own: Handle, what: Special, cx: &mut Context<'_>) {
        let event = match what.get() {
            Some(Primitive::TypedData { .. }) => {
                return layer.on_data_request(own, Event::STypedReq, Input::special(what), cx);
            }
            Some(Primitive::SyncMinor { .. }) => Event::SSyncMinorReq,
            Some(Primitive::SyncMinorReply { .. }) => Event::SSyncMinorRsp,
            Some(Primitive::Resync { .. }) => Event::SResyncReq,
            Some(Primitive::ResyncReply { .. }) => Event::SResyncRsp,
            Some(Primitive::GiveTokens { .. } | Primitive::PleaseTokens { .. }) => Event::STokenReq,
            None => return cx.drop("a primitive of another service"),
        };
        layer.on(own, event, Input::special(what), cx);
    }

    fn came(layer: &mut Session, own: Handle, data: Message, _: bool, cx: &mut Context<'_>) {
        layer.came(own, data, cx);
    }

    fn credited(layer: &mut Session, own: Handle, credit: Credit, cx: &mut Context<'_>) {
        if let Some(connection) = layer.connection(own) {
            connection.room = connection.room.saturating_add(credit.messages);
            connection.flow(cx);
        }
    }
}

impl Session {
    fn open(&mut self, above: Above, open: Open, cx: &mut Context<'_>) {
        let selectors = open.parameters.get::<Association>().map(|it| [it.called.session, it.calling.session]);
        let is_long = |selector: Selector| selector.octets().len() > MOST_SELECTOR;
        if selectors.into_iter().flatten().flatten().any(is_long) {
            return tell_aborted(above, open.user, Reason::BadAddress, None, cx);
        }
        let own = match open.mode {
            Mode::Passive { .. } => {
                // What is above it, it does not know.
                let called = Selectors {
                    presentation: None,
                    ..open.parameters.get::<Association>().map_or_else(Selectors::default, |it| it.called)
                };
                self.entries.listen(above, open.user, called)
            }
            Mode::Active => {
                let mut connection = Connection::new(Ends::new(above, open.user, State::WaitTransport), true);
                connection.association = open.parameters.get::<Association>().cloned().map(Box::new);
                connection.data = open.data;
                self.entries.keep(connection)
            }
        };
        let open = Open { user: own, data: None, ..open };
        cx.down(TRANSPORT, Request::Open(Box::new(open)));
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
