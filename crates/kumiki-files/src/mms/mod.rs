//! MMS: the environment, in which two ask each other for services.
//!
//! | | |
//! |---|---|
//! | Specification | ISO 9506-1 (services), 9506-2 (protocol). The text was not at hand: what is here is recalled, and judged by libiec61850 and tshark |
//! | Above | a user of MMS: a client of files, a filestore |
//! | Below | association control, and through it presentation and session |
//! | Left out | modifiers (rejected), companion standards, timers, of which MMS has none; what services mean, which is their users' |
//!
//! **Beginning.** Initiate is in [`Association::initiate`](kumiki_osi_service::Association::initiate), both ways. What
//! a user leaves out is taken from [`Config`]. An offer has what can be agreed on: the caller's services, and of all
//! else the lesser of both; accepting it agrees to that. Who has PDUs shorter than [`SHORTEST`] octets or no common
//! version is refused with initiate-Error, as rejected by association control for good.
//!
//! **Primitives** are PDUs ([`Pdu`]). The numbers of services are their users': none may be used twice at a time. An
//! answer to a service that nobody asked for is rejected to the peer and not handed up; so is a request beyond what was
//! agreed, or of a service that this side does not answer.
//!
//! **Credit** counts services: so many requests may be outstanding, and each answer gives one back. Answers take none,
//! for they are as many as there were requests. Values take presentation's credit, and wait for it. A peer's service is
//! over when its answer has left, so a peer that does not take answers cannot ask on.
//!
//! **Ending** is conclude, and then the release of association control ([`states`]): `Release` asks for it, `Released`
//! says that the peer does, whose answer is `Release`, too. Abort is association control's.
//!
//! **Errors.** A PDU that cannot be read is rejected, and the association goes on. Why is said in initiate-Error, which
//! has room for text, and by [`Mms::refusal`].

use kumiki_graph::{
    Above, Accept, Below, Context, Handle, Indication, Mode, Offered, Open, Opened, Protocol, Reason, Request, Service,
    Shape,
};
use kumiki_octets::{Beginning, Message};
use kumiki_osi::acse;
use kumiki_osi_service::mms::{ABSTRACT_SYNTAX, APPLICATION_CONTEXT, Initiate, Pdu, Reject, Services, parameters};
use kumiki_osi_service::presentation::PData;
use kumiki_osi_service::presentation::Values;
use kumiki_settings::{BuildError, Key, Reader, Settings};

use kumiki_osi::entries::{Entries, abort_below, end_below, tell_aborted};
use kumiki_osi::layer::Ends;

mod connection;
mod environment;
mod services;
pub mod states;
#[cfg(test)]
mod tests;

use connection::{Connection, QueuedSend};
use states::{Action, Event, State};

/// The services of MMS (ISO 9506-1): its users speak [`Pdu`].
pub const SERVICE: Service = Service::CONNECTION.named("MMS");

/// Association control.
const ACSE: Below = Below(0);

/// The shortest PDU with which files can be read, in octets (recalled: the least that the standard lets somebody say is
/// 64).
pub const SHORTEST: i64 = 64;

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// What is proposed, and agreed to, where the user says nothing.
    #[setting(with = initiate)]
    pub initiate: Initiate,
    /// The most associations at a time.
    #[setting(1..=1_000_000)]
    pub associations: u32,
}

/// What libiec61850 proposes, and no services.
fn initiate(initiate: &mut Initiate, reader: &Reader<'_>) -> Result<(), BuildError> {
    const LONGEST: &str = "The longest PDU that is proposed and agreed to, where the user says nothing.";
    const OUTSTANDING: &str =
        "The most services that either side may have asked for at a time, where the user says nothing.";
    let mut longest = initiate.local_detail.and_then(|longest| u32::try_from(longest).ok());
    reader.octets(&Key::new("max_pdu", LONGEST), 64..=1 << 20, &mut longest)?;
    initiate.local_detail = longest.map(i64::from);
    let mut outstanding = u32::try_from(initiate.max_serv_outstanding_calling).unwrap_or_default();
    reader.number(&Key::new("outstanding", OUTSTANDING), 1..=32_767, &mut outstanding)?;
    initiate.max_serv_outstanding_calling = outstanding.into();
    initiate.max_serv_outstanding_called = outstanding.into();
    Ok(())
}

impl Default for Config {
    fn default() -> Self {
        Self {
            initiate: Initiate {
                local_detail: Some(65_000),
                max_serv_outstanding_calling: 5,
                max_serv_outstanding_called: 5,
                data_structure_nesting_level: Some(10),
                version: 1,
                parameter_cbb: parameters::STR1
                    | parameters::STR2
                    | parameters::VNAM
                    | parameters::VALT
                    | parameters::VLIS,
                services_supported: Services::NONE,
            },
            associations: 1024,
        }
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// PDUs sent.
    pub sent: u64,
    /// PDUs handed up.
    pub received: u64,
    /// Octets of files sent.
    pub file_sent: u64,
    /// Octets of files handed up.
    pub file_received: u64,
    /// Callers refused, those who broke the protocol among them.
    pub refused: u64,
    /// Those of them that wanted another application context.
    pub strangers: u64,
    /// PDUs of peers rejected.
    pub rejected: u64,
    /// Rejects of peers.
    pub rejects: u64,
}

/// The layer.
#[derive(Debug, Default)]
pub struct Mms {
    config: Config,
    /// A listener wants to agree to this, at most.
    entries: Entries<Connection, Initiate>,
    /// How the PDU begins that came last, for what is told of it where it is wrong.
    in_hand: Beginning,
    counters: Counters,
    refusal: Option<Reason>,
}

impl Mms {
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

    /// What came last: what was wrong with a PDU that was rejected, or why a caller was refused by this layer: how it
    /// broke the protocol, or what it was told. What its user says to a caller leaves nothing here.
    #[must_use]
    pub const fn refusal(&self) -> Option<&Reason> {
        self.refusal.as_ref()
    }

    fn connection(&mut self, handle: Handle) -> Option<&mut Connection> {
        self.entries.connection(handle)
    }

    /// What the table says of an event; the state is the next one already.
    fn cell(&mut self, own: Handle, event: Event) -> Option<Action> {
        let connection = self.connection(own)?;
        let (todo, next) = states::cell(connection.ends.state, event);
        if let Some(next) = next {
            connection.ends.state = next;
        }
        Some(todo)
    }
}

impl Protocol for Mms {
    fn shape(&self) -> Shape {
        Shape { offers: Some(SERVICE), needs: &[acse::SERVICE], below: (1, 1), keys: Vec::new() }
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request {
            Request::Open(open) => self.open(from, *open, cx),
            Request::Accept(accept) => self.accept(from, *accept, cx),
            Request::Special { session, what } => match what.take() {
                Some(pdu) => self.send(session, *pdu, cx),
                None => cx.drop("a primitive of another service"),
            },
            Request::Release { session, .. } => self.on_release(session, Event::UserRelease, cx),
            Request::Abort { session, reason, .. } => self.abort(session, reason, cx),
            Request::Cancel { user } => {
                let own = self.entries.named(from, user, |it| (it.ends.above, it.ends.user));
                self.abort(own, Reason::User, cx);
            }
            // Answers are bounded by what was asked for, and requests of the peer by what was agreed.
            Request::Credit { .. } => {}
            Request::Data { .. }
            | Request::Expedited { .. }
            | Request::Manage(_)
            | Request::Reset { .. }
            | Request::Unit(_) => cx.drop("a primitive of another service"),
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Opened(opened) => self.opened(opened, cx),
            Indication::Offered(offered) => self.offered(*offered, cx),
            Indication::Special { session, what } => match what.take() {
                Some(data) => {
                    let PData(values) = *data;
                    self.came(session, values, cx);
                }
                None => cx.drop("a primitive of another service"),
            },
            Indication::Credit { session, credit } => {
                if let Some(connection) = self.connection(session) {
                    connection.room = connection.room.saturating_add(credit.messages);
                    connection.flush(cx);
                }
            }
            Indication::Released { session, .. } => self.on_release(session, Event::Release, cx),
            Indication::Closed { session } => self.over(session, Event::Closed, Reason::Down, cx),
            Indication::Aborted { session, reason, data } => self.ended(session, reason, data, cx),
            Indication::Data { .. } | Indication::Expedited { .. } | Indication::Reset { .. } | Indication::Unit(_) => {
                cx.drop("a primitive of another service");
            }
            Indication::Notice { .. } | Indication::Report(_) => {}
        }
    }
}
