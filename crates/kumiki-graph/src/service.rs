//! Service primitives: all that ever crosses from one layer to the next.
//!
//! The words are those of the service conventions of ITU-T X.210: a *user* stands above an access point, a
//! *provider* below. Requests and responses go down ([`Request`]); indications and confirms come up ([`Indication`]).
//! `docs/services.md` shows how each protocol uses them.
//!
//! **Handles.** Each side of a session names it by a handle of its own, told to the other side when the session is
//! opened; a primitive carries the handle of the side that receives it. So neither side ever looks the other's name up.
//!
//! **Credit.** Nobody sends data without credit for it. Credit is granted in octets or in messages, per session (or per
//! access point, where the service has no sessions), by whoever has the room; see [`Credit`].

use kumiki_octets::{Message, Payload};

use crate::{Address, Duration};

mod key;
mod manage;
mod reason;
mod special;
mod unit_data;

pub use key::Key;
pub use manage::{Manage, Problem, Report};
pub use reason::{Cause, NoPath, PeerCause, Reason, Violation};
pub use special::{Parameters, Special};
pub use unit_data::{UnitIndication, UnitRequest};

/// A side's own name for a session; meaning belongs to the side that made it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Handle {
    /// Usually a slab index.
    pub index: u32,
    /// Usually a generation, so that a late primitive for a session that is gone is recognised.
    pub generation: u32,
}

/// What an access point speaks: one of four kinds, and perhaps whose.
///
/// A service of a family's own is one of the four with a name and what only it has ([`Special`]):
///
/// ```
/// use kumiki_graph::Service;
///
/// const SESSION: Service = Service::CONNECTION.named("session");
/// assert!(SESSION.fits(SESSION));
/// assert!(!SESSION.fits(Service::CONNECTION.named("transport")));
/// // Without a name any of the kind is meant, or whatever is asked for is offered.
/// assert!(SESSION.fits(Service::CONNECTION));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Service {
    kind: Kind,
    name: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    UnitData,
    Stream,
    Connection,
    Frame,
}

impl Service {
    /// Datagrams with addresses, without sessions.
    pub const UNIT_DATA: Self = Self { kind: Kind::UnitData, name: None };
    /// Octets with credit and no boundaries.
    pub const STREAM: Self = Self { kind: Kind::Stream, name: None };
    /// Messages with boundaries on a connection.
    pub const CONNECTION: Self = Self { kind: Kind::Connection, name: None };
    /// Whole frames given to and taken from a medium by its driver.
    pub const FRAME: Self = Self { kind: Kind::Frame, name: None };

    /// The service of this kind that goes by `name`.
    #[must_use]
    pub const fn named(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }

    /// Whether a layer that needs the one can stand on a layer that offers the other.
    #[must_use]
    pub fn fits(self, other: Self) -> bool {
        let either_unnamed = self.name.is_none() || other.name.is_none();
        self.kind == other.kind && (either_unnamed || self.name == other.name)
    }
}

impl core::fmt::Display for Service {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name.unwrap_or(match self.kind {
            Kind::UnitData => "unit data",
            Kind::Stream => "stream",
            Kind::Connection => "connection",
            Kind::Frame => "frame",
        }))
    }
}

/// Permission to send, or room to receive.
///
/// Grants add up; what is sent uses them up. Octets and messages are counted apart, and a service uses the one its
/// definition names. A message is one [`Request::Data`] or [`Request::Unit`], even if it is only a part of what ends
/// with `end`. Opening, releasing, aborting, resetting and expedited data need no credit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Credit {
    /// How many more octets.
    pub octets: u64,
    /// How many more messages.
    pub messages: u32,
}

impl Credit {
    /// Credit for `n` octets.
    #[must_use]
    pub const fn octets(n: u64) -> Self {
        Self { octets: n, messages: 0 }
    }

    /// Credit for `n` messages.
    #[must_use]
    pub const fn messages(n: u32) -> Self {
        Self { octets: 0, messages: n }
    }
}

/// A datagram and what goes with it.
#[derive(Clone, Debug, Default)]
pub struct Unit {
    /// Where it comes from; on requests [`Address::NONE`] lets the provider choose.
    pub source: Address,
    /// Where it goes.
    pub destination: Address,
    /// Of which session it is, where the provider's users open any: on indications the user's handle, on requests the
    /// provider's.
    pub session: Option<Handle>,
    /// How it should travel.
    pub options: UnitOptions,
    /// What the service says beside, where it is more than [`UnitOptions::special`] holds.
    pub parameters: Parameters,
    /// The user's data.
    pub data: Message,
}

impl Unit {
    /// `data` and nothing beside it. To be completed by `..Unit::of(data)`: completed from a default, it would have had
    /// a message made and thrown away.
    #[must_use]
    pub const fn of(data: Message) -> Self {
        Self {
            source: Address::NONE,
            destination: Address::NONE,
            session: None,
            options: UnitOptions::NONE,
            parameters: Parameters::NONE,
            data,
        }
    }
}

/// How a unit should travel, or how it did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnitOptions {
    /// On indications: it was sent to more than one.
    pub group: bool,
    /// For a user connected under several keys: the one that this unit goes or came under. On requests `None` takes the
    /// user's first.
    pub under: Option<Key>,
    /// What only the provider's protocol has, as a type of its family reads and writes it; 0: all of it is left to the
    /// provider.
    pub special: u64,
}

impl UnitOptions {
    /// All of it left to the provider.
    pub const NONE: Self = Self { group: false, under: None, special: 0 };

    /// What only the provider's protocol has, and no more.
    #[inline]
    #[must_use]
    pub fn of(special: impl Into<u64>) -> Self {
        Self { special: special.into(), ..Self::NONE }
    }
}

impl Default for UnitOptions {
    fn default() -> Self {
        Self::NONE
    }
}

/// Who begins a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// This side calls the peer.
    #[default]
    Active,
    /// This side waits for callers; each comes as an [`Indication::Offered`].
    Passive {
        /// How many callers may wait unaccepted.
        backlog: u32,
    },
}

/// What a user asks of a session when it opens or accepts one. `None` leaves the choice to the provider's
/// configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Quality {
    /// How much the provider may hold that the peer has not acknowledged, in octets.
    pub send_buffer: Option<u32>,
    /// How much the provider may hold that the user has not taken, in octets: the receive window.
    pub receive_buffer: Option<u32>,
    /// What to do with small segments while data is unacknowledged.
    pub coalesce: Option<Coalesce>,
    /// Whether and when to ask an idle peer if it is still there.
    pub keep_alive: Option<KeepAlive>,
    /// How long nothing may be acknowledged before the session is given up; zero: no such limit.
    pub user_timeout: Option<Duration>,
    /// How often the same data may be retransmitted before the session is given up (R2 of RFC 9293 section 3.8.3).
    pub retransmissions: Option<u32>,
    /// Whether the user still takes what the peer sends after it has released the session itself; it does unless it
    /// says otherwise. Where not, the provider need not wait for the peer's release for ever.
    pub half_close: Option<bool>,
    /// Whether [`Indication::Notice`]s come; they do unless the user says otherwise.
    pub notices: Option<bool>,
    /// What only the provider's protocol or the one below it has, as a type of its family reads and writes it; 0: all
    /// of it is left to the provider. A layer that has its own connections for those of its users says its own.
    pub special: u64,
    /// Whether a checksum covers the data; where not, it covers the header alone.
    pub check: Option<bool>,
    /// What is done about data that was lost on its way.
    pub error_control: Option<ErrorControl>,
    /// What keeps a sender from sending more than there is room for.
    pub flow_control: Option<FlowControl>,
    /// How urgent the data of the session is, against that of other sessions; the smaller goes first.
    pub priority: Option<u16>,
    /// How fast the provider sends at most.
    pub rate: Option<RateLimit>,
}

/// What is done about data that was lost on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ErrorControl {
    /// It is retransmitted; what is missing is told when the sender asks.
    #[default]
    Full,
    /// It is retransmitted; a gap is told as soon as it is seen.
    Fast,
    /// Nothing: what is lost stays lost, and the user gets what comes.
    None,
}

/// What keeps a sender from sending more than there is room for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FlowControl {
    /// The receiver says how much room its buffer has.
    #[default]
    Window,
    /// The receiver counts only room that its user has granted.
    Reservation,
    /// Nothing: what finds no room is lost.
    None,
}

/// How fast a provider sends at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateLimit {
    /// Octets a second, more than none.
    pub octets_per_second: u32,
    /// Octets that may go one right behind the other, more than none.
    pub burst: u32,
}

/// When an idle peer is asked whether it is still there (RFC 9293 section 3.8.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeepAlive {
    /// After so long without a word from it; zero: never.
    pub idle: Duration,
    /// Again after so long without an answer.
    pub interval: Duration,
    /// How many times before the session is given up.
    pub count: u32,
}

impl KeepAlive {
    /// Never.
    pub const OFF: Self = Self { idle: Duration::ZERO, interval: Duration::ZERO, count: 0 };
}

/// What to do with a small segment while data is unacknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coalesce {
    /// Send it at once.
    Never,
    /// Hold it while anything is unacknowledged (RFC 896, Nagle).
    Nagle,
    /// Hold it while a small segment is unacknowledged (draft-minshall-nagle-01).
    Minshall,
}

impl Coalesce {
    /// The words for it in settings.
    pub const WORDS: [(&'static str, Self); 3] =
        [("never", Self::Never), ("nagle", Self::Nagle), ("minshall", Self::Minshall)];
}

/// A request to begin a session.
#[derive(Clone, Debug, Default)]
pub struct Open {
    /// The user's handle, for all indications of this session.
    pub user: Handle,
    /// Who begins.
    pub mode: Mode,
    /// The local address; parts left open (port 0, unspecified address) are for the provider to choose.
    pub local: Address,
    /// The peer's address; [`Address::NONE`] where anyone may call.
    pub remote: Address,
    /// What the user asks for.
    pub quality: Quality,
    /// Data to go with the request, where the service can carry it.
    pub data: Option<Message>,
    /// What the service says beside.
    pub parameters: Parameters,
}

/// A session stands: the confirm of an [`Open`].
///
/// A passive open is confirmed too, as soon as the provider listens: `provider` then names the listener, `local` is the
/// address in use, and `remote` and `unit` say nothing. [`Request::Abort`] on that handle ends the listening and
/// refuses the callers not yet accepted; sessions already accepted go on.
#[derive(Clone, Debug, Default)]
pub struct Opened {
    /// The user's handle.
    pub user: Handle,
    /// The provider's handle, for all requests of this session.
    pub provider: Handle,
    /// The local address in use.
    pub local: Address,
    /// The peer's address.
    pub remote: Address,
    /// The most octets of user data that one message or segment can carry.
    pub unit: u32,
    /// Data that came with the confirm.
    pub data: Option<Message>,
    /// What the service says beside.
    pub parameters: Parameters,
}

/// A peer wants a session: the indication on a passive [`Open`].
///
/// The answer is [`Request::Accept`] or [`Request::Abort`]. A caller that gives up before the answer is not told of,
/// for the user has no handle yet; an [`Accept`] that comes too late is answered by [`Indication::Aborted`].
#[derive(Clone, Debug, Default)]
pub struct Offered {
    /// The handle of the user's passive open.
    pub user: Handle,
    /// The provider's handle for the new session; the answer goes to it.
    pub provider: Handle,
    /// The local address called.
    pub local: Address,
    /// The caller.
    pub remote: Address,
    /// The most octets of user data that one message or segment can carry.
    pub unit: u32,
    /// Data that came with the call.
    pub data: Option<Message>,
    /// What the service says beside.
    pub parameters: Parameters,
}

/// The response to an [`Offered`]: the user takes the session, which then stands without a further confirm.
#[derive(Clone, Debug, Default)]
pub struct Accept {
    /// The provider's handle, from [`Offered`].
    pub session: Handle,
    /// The user's handle for it.
    pub user: Handle,
    /// What the user asks for.
    pub quality: Quality,
    /// Data to go with the response, where the service can carry it.
    pub data: Option<Message>,
    /// What the service says beside.
    pub parameters: Parameters,
}

/// One access point of the graph, as the graph numbers them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AccessPoint(pub(crate) u32);

/// What goes down: requests and responses.
#[derive(Clone, Debug)]
pub enum Request {
    /// Sends a datagram or a frame. In a box, so that all that crosses is small: who hands a unit on hands on the box.
    Unit(Box<Unit>),
    /// Begins a session.
    Open(Box<Open>),
    /// Takes an offered session.
    Accept(Box<Accept>),
    /// Gives up an [`Open`] that has not been confirmed. If the confirm is in flight, ends the session as
    /// [`Request::Abort`] would. Nothing comes back.
    Cancel {
        /// The user's own handle, from [`Open`]: the provider's is not known yet.
        user: Handle,
    },
    /// Sends data on a session, within credit.
    Data {
        /// The provider's handle.
        session: Handle,
        /// The data.
        data: Message,
        /// On a stream: the peer is to hand over what it has (PUSH): its last segment has PSH set. Where not, PSH is
        /// left out, and nothing waits for more data for that: only [`Quality::coalesce`] holds data back. On a
        /// connection: the message ends here.
        end: bool,
    },
    /// What only this service has. Whether it takes credit, its owner says.
    Special {
        /// The provider's handle; [`Handle::default`] where it is of no session.
        session: Handle,
        /// What it is.
        what: Special,
    },
    /// Sends data that overtakes ordinary data.
    Expedited {
        /// The provider's handle.
        session: Handle,
        /// The data.
        data: Message,
    },
    /// Grants the provider credit to indicate data: the user has room for so much more.
    Credit {
        /// The provider's handle.
        session: Handle,
        /// The grant.
        credit: Credit,
    },
    /// Sends no more; what is in flight still arrives. The other direction goes on.
    Release {
        /// The provider's handle.
        session: Handle,
        /// Data to go with it, where the service can carry it.
        data: Option<Message>,
    },
    /// Ends a session at once; data in flight may be lost. Also refuses an offered one. Nothing comes back.
    Abort {
        /// The provider's handle.
        session: Handle,
        /// Why.
        reason: Reason,
        /// Data to go with it, where the service can carry it.
        data: Option<Message>,
    },
    /// Begins a reset, or answers one: data in flight may be lost, the session stays.
    Reset {
        /// The provider's handle.
        session: Handle,
        /// Why, where this begins it.
        reason: Reason,
    },
    /// Asks for or sets what belongs to the layer rather than to a session.
    Manage(Box<Manage>),
}

/// What comes up: indications and confirms.
#[derive(Clone, Debug)]
pub enum Indication {
    /// A datagram or a frame arrived.
    Unit(Box<Unit>),
    /// The session asked for stands.
    Opened(Box<Opened>),
    /// A peer wants a session.
    Offered(Box<Offered>),
    /// Data arrived, within credit.
    Data {
        /// The user's handle.
        session: Handle,
        /// The data.
        data: Message,
        /// On a stream: the sender pushed. On a connection: the message ends here.
        end: bool,
    },
    /// What only this service has.
    Special {
        /// The user's handle; [`Handle::default`] where it is of no session.
        session: Handle,
        /// What it is.
        what: Special,
    },
    /// Data that overtook ordinary data arrived.
    Expedited {
        /// The user's handle.
        session: Handle,
        /// The data.
        data: Message,
    },
    /// The provider has room for so much more.
    Credit {
        /// The user's handle; [`Handle::default`] where the service has no sessions.
        session: Handle,
        /// The grant.
        credit: Credit,
    },
    /// The peer sends no more.
    Released {
        /// The user's handle.
        session: Handle,
        /// Data that came with it.
        data: Option<Message>,
    },
    /// Both directions ended in order and the provider has forgotten the session.
    Closed {
        /// The user's handle.
        session: Handle,
    },
    /// The session has ended at once, or an open or accept was refused.
    Aborted {
        /// The user's handle.
        session: Handle,
        /// Why.
        reason: Reason,
        /// Data that came with it.
        data: Option<Message>,
    },
    /// The peer or the provider resets the session, or confirms a reset.
    Reset {
        /// The user's handle.
        session: Handle,
        /// Why, where it is not a confirm.
        reason: Reason,
    },
    /// Something that the user of a session may want to know of, and that has not ended it.
    Notice {
        /// The user's handle.
        session: Handle,
        /// What.
        notice: Notice,
    },
    /// Something happened that concerns the layer rather than a session, or a request to manage was answered.
    Report(Box<Report>),
}

/// What has not ended a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Notice {
    /// The peer has not answered for a while (R1 of RFC 9293 section 3.8.3); the provider goes on trying.
    NoAnswer,
    /// It has answered since.
    Answered,
    /// A unit of the session met an error on its way.
    Problem(Problem),
    /// The peer gives up when nothing is acknowledged for so long (RFC 5482).
    UserTimeout(Duration),
    /// The session is with a group, and of its members this became known. In a box, for it is rare and long.
    Member(Box<Membership>),
}

/// What became known of the members of a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Membership {
    /// One takes part from now on.
    Joined(Address),
    /// One does no longer, and why.
    Left(Address, Reason),
    /// We ourselves take part, and get the stream from this octet on.
    Begins(u64),
}

/// What requests and indications have alike.
macro_rules! primitives {
    ($($which:ty),*) => {
        $(impl $which {
            /// What only one service has, on `session`.
            #[must_use]
            pub fn special(session: Handle, what: impl Payload) -> Self {
                Self::Special { session, what: Special::new(what) }
            }

            /// The user data it carries, for accounts and captures.
            #[inline]
            #[must_use]
            pub fn message(&self) -> Option<&Message> {
                // These are nearly all that crosses: they are told by comparing, without a jump whose target a
                // processor must guess.
                if let Self::Data { data, .. } = self {
                    Some(data)
                } else if let Self::Unit(unit) = self {
                    Some(&unit.data)
                } else if let Self::Credit { .. } = self {
                    None
                } else {
                    self.message_of_any()
                }
            }
        })*
    };
}

primitives!(Request, Indication);

impl Request {
    /// What [`Self::message`] gives, for any of them.
    fn message_of_any(&self) -> Option<&Message> {
        match self {
            Self::Unit(unit) => Some(&unit.data),
            Self::Data { data, .. } | Self::Expedited { data, .. } => Some(data),
            Self::Open(open) => open.data.as_ref(),
            Self::Accept(accept) => accept.data.as_ref(),
            Self::Special { what, .. } => what.message(),
            Self::Release { data, .. } | Self::Abort { data, .. } => data.as_ref(),
            Self::Cancel { .. } | Self::Credit { .. } | Self::Reset { .. } | Self::Manage(_) => None,
        }
    }
}

impl Indication {
    /// What [`Self::message`] gives, for any of them.
    fn message_of_any(&self) -> Option<&Message> {
        match self {
            Self::Unit(unit) => Some(&unit.data),
            Self::Data { data, .. } | Self::Expedited { data, .. } => Some(data),
            Self::Opened(opened) => opened.data.as_ref(),
            Self::Offered(offered) => offered.data.as_ref(),
            Self::Special { what, .. } => what.message(),
            Self::Released { data, .. } | Self::Aborted { data, .. } => data.as_ref(),
            Self::Credit { .. } | Self::Closed { .. } | Self::Reset { .. } | Self::Notice { .. } | Self::Report(_) => {
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_primitive_is_half_a_line_of_the_cache() {
        assert!(size_of::<Request>() <= 32, "{}", size_of::<Request>());
        assert!(size_of::<Indication>() <= 32, "{}", size_of::<Indication>());
    }
}
