//! A passive open, as its socket has it: who has called.

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::VecDeque;
use std::io;

use kumiki_graph::{Below, Handle, Offered, Quality, Reason, Request};
use smallvec::SmallVec;

use super::error;
use super::ports::Bound;
use super::stream::Effects;
use super::table::unmapped;
use super::wakers::Wakers;

/// How far an open at a layer has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LayerOpen {
    /// The layer has not answered.
    Waiting,
    /// It has: this is its handle.
    Open(Handle),
    /// It would not have it, or no longer.
    Refused,
}

impl LayerOpen {
    /// The layer's handle.
    pub(crate) const fn handle(self) -> Option<Handle> {
        match self {
            Self::Open(handle) => Some(handle),
            Self::Waiting | Self::Refused => None,
        }
    }

    /// What ends it, whom the user calls `user`.
    pub(crate) const fn end(self, user: Handle) -> Option<Request> {
        match self {
            Self::Waiting => Some(Request::Cancel { user }),
            Self::Open(session) => Some(Request::Abort { session, reason: Reason::User, data: None }),
            Self::Refused => None,
        }
    }
}

/// A passive open at one TCP.
#[derive(Debug)]
pub(crate) struct PassiveOpen {
    pub(crate) below: Below,
    /// TCP's handle.
    provider: LayerOpen,
}

/// A socket that listens.
#[derive(Debug)]
pub(crate) struct Listener {
    /// One for each version of IP that it takes callers of; none where another listener at the same address has them.
    pub(crate) places: SmallVec<[PassiveOpen; 2]>,
    pub(crate) bound: Bound,
    pub(crate) quality: Quality,
    /// The linger of connections that are accepted.
    pub(super) linger: Option<Duration>,
    backlog: usize,
    /// Connections that nobody has accepted.
    pub(crate) ready: VecDeque<Handle>,
    /// Callers for whom there was no place among these.
    offered: VecDeque<(Below, Box<Offered>)>,
    pub(crate) error: Option<Reason>,
    pub(crate) acceptors: Wakers,
}

/// Callers that TCP keeps for us while we have as many as the backlog says: one more, as in Linux.
pub(crate) const BEYOND: u32 = 1;

impl Listener {
    pub(crate) fn new(bound: Bound, (quality, linger): (Quality, Option<Duration>), backlog: u32) -> Self {
        Self {
            places: SmallVec::new(),
            bound,
            quality,
            linger,
            backlog: usize::try_from(backlog.max(1)).unwrap_or(usize::MAX),
            ready: VecDeque::new(),
            offered: VecDeque::new(),
            error: None,
            acceptors: Wakers::default(),
        }
    }

    /// Where it listens.
    pub(crate) const fn local(&self) -> SocketAddr {
        self.bound.local
    }

    /// Where it listens, as the layers have it: the same for all that share their callers.
    pub(crate) fn key(&self) -> SocketAddr {
        unmapped(self.bound.local)
    }

    /// Why it ended, where nobody was told; where no layer listens for it any more, everybody is.
    pub(crate) fn take_error(&mut self) -> Option<io::Error> {
        let is_over = matches!(self.error, Some(Reason::Down))
            || (!self.places.is_empty() && self.places.iter().all(|it| it.provider == LayerOpen::Refused));
        let error = self.error.as_ref().map(error::of_reason);
        if !is_over {
            self.error = None;
        }
        error
    }

    /// Listening is asked for at `below`.
    pub(crate) fn asked(&mut self, below: Below) {
        self.places.push(PassiveOpen { below, provider: LayerOpen::Waiting });
    }

    pub(crate) fn opened(&mut self, below: Below, provider: Handle) {
        for place in self.places.iter_mut().filter(|it| it.below == below) {
            place.provider = LayerOpen::Open(provider);
        }
    }

    /// TCP would not listen, or does no longer.
    pub(crate) fn refused(&mut self, below: Below, reason: Reason, effects: &mut Effects) {
        for place in self.places.iter_mut().filter(|it| it.below == below) {
            place.provider = LayerOpen::Refused;
        }
        self.error = Some(reason);
        self.acceptors.wake(&mut effects.woken);
    }

    pub(crate) fn offered(&mut self, below: Below, offered: Box<Offered>) {
        self.offered.push_back((below, offered));
    }

    /// Whether one more may be taken.
    pub(crate) fn has_place(&self) -> bool {
        self.ready.len() < self.backlog
    }

    /// The next caller for whom there is a place.
    pub(crate) fn next_to_accept(&mut self) -> Option<(Below, Box<Offered>)> {
        if self.has_place() { self.offered.pop_front() } else { None }
    }

    /// A caller for whom there is none.
    pub(crate) fn waiting(&mut self) -> Option<(Below, Box<Offered>)> {
        self.offered.pop_front()
    }

    /// Ends listening.
    pub(crate) fn close(&mut self, user: Handle, effects: &mut Effects) {
        let ends = self.places.drain(..).filter_map(|place| Some((place.below, place.provider.end(user)?)));
        effects.requests.extend(ends);
        // TCP keeps them for whoever has its callers, which may be another listener at this address.
        let refused = self.offered.drain(..).map(|(below, caller)| {
            (below, Request::Abort { session: caller.provider, reason: Reason::User, data: None })
        });
        effects.requests.extend(refused);
    }
}
