//! Multicast: one transmitter, many receivers.
//!
//! | | |
//! |---|---|
//! | Specification | XTP 4.0b has MULTI and JCNTL; of its procedures no text is public. `docs/xtp.md`, P37 to P48 |
//! | Above | an active open to a group transmits; a passive open at a group receives what is sent to it, and joins what has begun |
//! | Below | as of all XTP; groups are joined and left by `Manage::Group` |
//! | Left out | many-to-many; data from receivers to the transmitter; a later transmitter that takes over; two receivers of one transmitter on one host |
//!
//! A transmitter is an [`Endpoint`] like any other. What its receivers say is put together ([`receivers`]) to what one
//! receiver would say that has what *all* of them have and allows what all allow, and only that is heard by the rest of
//! the context. So error, flow and congestion control are those of two ends.
//!
//! | read | for |
//! |---|---|
//! | [`receivers`] | the list, and what all of them say together |
//! | [`transmitting`] | what packets and timers do to a transmitter |
//! | [`receiving`] | what they do to a receiver: asking to join, answers spread in time |
//! | [`joining`] | calls to a group, and what has begun before we heard of it |

use std::collections::VecDeque;

use kumiki_graph::{Address, Instant};
use kumiki_wire::xtp::Options;

pub(crate) mod joining;
pub(crate) mod receivers;
pub(crate) mod receiving;
pub(crate) mod transmitting;

use receivers::Receivers;
use receiving::Member;

/// Which part a context has.
#[derive(Debug)]
pub(crate) enum Part {
    /// One of two ends.
    Pair,
    /// It sends to a group.
    Transmitter(Box<Receivers>),
    /// It receives what is sent to a group.
    Receiver(Box<Member>),
}

impl Part {
    pub(crate) const fn is_pair(&self) -> bool {
        matches!(self, Self::Pair)
    }

    pub(crate) const fn is_transmitter(&self) -> bool {
        matches!(self, Self::Transmitter(_))
    }

    pub(crate) const fn is_receiver(&self) -> bool {
        matches!(self, Self::Receiver(_))
    }

    /// What all packets of the context carry.
    pub(crate) const fn options(&self) -> Options {
        if self.is_pair() { Options::NONE } else { Options::MULTI }
    }

    /// The transmitter has not answered yet.
    pub(crate) fn is_joining(&self) -> bool {
        matches!(self, Self::Receiver(member) if !member.admitted)
    }

    /// Too few receivers are there for data to go on.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(self, Self::Transmitter(receivers) if receivers.is_waiting())
    }

    /// A question leaves, behind all before `nxt`.
    pub(crate) fn asked(&mut self, sync: u32, nxt: u64, now: Instant) {
        if let Self::Transmitter(receivers) = self {
            receivers.asked(sync, nxt, now);
        }
    }

    /// Whether the time since a question is a round trip.
    pub(crate) const fn is_sample(&self) -> bool {
        match self {
            Self::Transmitter(receivers) => receivers.is_sample,
            Self::Pair | Self::Receiver(_) => true,
        }
    }

    /// No more than this was lost on the way to any one of the peers, in octets.
    pub(crate) fn most_lost(&self) -> u64 {
        match self {
            Self::Transmitter(receivers) => receivers.most_lost,
            Self::Pair | Self::Receiver(_) => u64::MAX,
        }
    }
}

/// Whose packets are not looked at for a while: who sends, and the key.
#[derive(Debug, Default)]
pub(crate) struct IgnoredSenders(VecDeque<(Address, kumiki_wire::xtp::Key, u16, Instant)>);

/// How many are remembered.
const DEAF: usize = 256;

impl IgnoredSenders {
    /// Nothing of it is wanted until `until`, for those who listen at `port`.
    pub(crate) fn turn(&mut self, (source, key): (Address, kumiki_wire::xtp::Key), port: u16, until: Instant) {
        if self.0.len() >= DEAF {
            self.0.pop_front();
        }
        self.0.push_back((source, key, port, until));
    }

    /// Whether who listens at `port` wants to hear it.
    pub(crate) fn hears(&mut self, name: (Address, kumiki_wire::xtp::Key), port: u16, now: Instant) -> bool {
        self.0.retain(|it| it.3 > now);
        !self.0.iter().any(|it| ((it.0, it.1), it.2) == (name, port))
    }
}
