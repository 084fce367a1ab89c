//! Management: what belongs to a layer and not to a session.

use kumiki_octets::{Message, Payload};

use super::{AccessPoint, Handle, Quality, Special, Unit};
use crate::Address;

/// Management that goes down.
#[derive(Clone, Debug)]
pub enum Manage {
    /// Asks for a [`Report::Limits`].
    Limits,
    /// Asks for a [`Report::Route`]: how units to `to` would travel (RFC 1122 section 3.4).
    Route {
        /// The destination.
        to: Address,
    },
    /// Tells the source of a unit that its user would not have it, where the protocol has a way to say so.
    Refuse {
        /// The unit as it was indicated.
        unit: Box<Unit>,
        /// What to say.
        problem: Problem,
    },
    /// Changes what a session was opened or accepted with, while it stands; what is `None`, or 0 of its
    /// [`Quality::special`], stays as it is.
    Session {
        /// The provider's handle.
        session: Handle,
        /// The change.
        quality: Quality,
    },
    /// Advice on a destination (RFC 1122 section 3.3.1.4): whether units sent there have been answered lately. The
    /// provider may try another way, or ignore it.
    Advise {
        /// The destination.
        to: Address,
        /// Whether they have.
        answered: bool,
    },
    /// What a report of [`Problem::TooBig`] said is about a unit that the user knows to have sent (RFC 8201 section 4).
    /// Who remembers paths for all its users does so only then: anybody can write such a report.
    Narrow {
        /// The destination.
        to: Address,
        /// What the path there carries, in octets with all headers.
        mtu: u32,
    },
    /// The user wants what is sent to a group of hosts, or no longer.
    Group {
        /// The group's address.
        group: Address,
        /// Whether it is wanted.
        member: bool,
    },
    /// What only this service has.
    Special(Special),
}

impl Manage {
    /// What only one service has.
    #[must_use]
    pub fn special(what: impl Payload) -> Self {
        Self::Special(Special::new(what))
    }
}

/// Management that comes up.
#[derive(Clone, Debug)]
pub enum Report {
    /// What the layer can carry.
    Limits {
        /// The largest user data of one unit, in octets.
        unit: u32,
        /// How many units may be handed down as one super-segment; 1 where the device does not cut.
        burst: u32,
    },
    /// The answer to [`Manage::Route`].
    Route {
        /// The destination asked about.
        to: Address,
        /// The source address that units to it get; [`Address::NONE`] where there is no route.
        source: Address,
        /// The largest user data of one unit that need not be cut on its way, as far as that is known, in octets; 0
        /// where there is no route.
        unit: u32,
        /// As in [`Report::Limits`].
        burst: u32,
        /// Set by a layer that adds no header: units to it may go straight to this lower access point
        /// ([`Context::down_past`](crate::Context::down_past)), and the layer is out of their path.
        bypass: Option<AccessPoint>,
    },
    /// The layer can carry data.
    Up,
    /// The layer cannot carry data.
    Down,
    /// A unit sent earlier met an error on its way, as the network tells it.
    Unreachable {
        /// Its source.
        source: Address,
        /// Its destination.
        destination: Address,
        /// What happened.
        problem: Problem,
        /// The first octets of the unit's user data, enough to tell whose it was.
        start: Message,
    },
    /// What only this service has.
    Special(Special),
}

impl Report {
    /// What only one service has.
    #[must_use]
    pub fn special(what: impl Payload) -> Self {
        Self::Special(Special::new(what))
    }
}

/// What happened to a unit on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Problem {
    /// It was too big for a link; this would fit (0: not said).
    TooBig {
        /// The largest unit, header included, that the link carries.
        mtu: u32,
    },
    /// Something that may pass: no route at present, time to live run out.
    Soft {
        /// Its kind, in the numbers of the protocol that tells it.
        kind: u8,
        /// Its code among those of its kind.
        code: u8,
    },
    /// Something that will stay: no such protocol or port.
    Hard {
        /// Its kind, in the numbers of the protocol that tells it.
        kind: u8,
        /// Its code among those of its kind.
        code: u8,
    },
    /// Nobody answers at the next hop, a neighbour on our own link. That was found out here: no message said it that
    /// anybody could have forged.
    NoNeighbour,
    /// No route leads there. That was found out here, too.
    NoRoute,
}
