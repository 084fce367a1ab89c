//! A passive open, as its socket has it: who has called.

use core::net::SocketAddr;
use std::collections::VecDeque;

use kumiki_graph::{Below, Handle, Offered, Quality, Reason, Request};
use smallvec::SmallVec;

use super::stream::Effects;
use super::wakers::Wakers;

/// A passive open at one TCP.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) below: Below,
    /// TCP's handle; none before it is known, and none any more when TCP would not have it.
    provider: Option<Handle>,
    /// TCP has answered.
    answered: bool,
}

/// A socket that listens.
#[derive(Debug)]
pub(crate) struct Listener {
    /// One for each version of IP that it takes callers of.
    pub(crate) places: SmallVec<[Place; 2]>,
    pub(crate) local: SocketAddr,
    pub(crate) quality: Quality,
    backlog: usize,
    /// Connections that nobody has accepted.
    pub(crate) ready: VecDeque<Handle>,
    /// Callers for whom there was no place among these.
    offered: VecDeque<(Below, Box<Offered>)>,
    pub(crate) error: Option<Reason>,
    pub(crate) acceptors: Wakers,
    /// Nobody has the socket any more; it waits for TCP's answer to be ended.
    pub(crate) is_closing: bool,
}

/// Callers that TCP keeps for us while we have as many as the backlog says: one more, as in Linux.
pub(crate) const BEYOND: u32 = 1;

impl Listener {
    pub(crate) fn new(below: &[Below], local: SocketAddr, quality: Quality, backlog: u32) -> Self {
        let place = |below: &Below| Place { below: *below, provider: None, answered: false };
        Self {
            places: below.iter().map(place).collect(),
            local,
            quality,
            backlog: usize::try_from(backlog.max(1)).unwrap_or(usize::MAX),
            ready: VecDeque::new(),
            offered: VecDeque::new(),
            error: None,
            acceptors: Wakers::default(),
            is_closing: false,
        }
    }

    pub(crate) fn opened(&mut self, below: Below, provider: Handle) {
        for place in self.places.iter_mut().filter(|it| it.below == below) {
            (place.provider, place.answered) = (Some(provider), true);
        }
    }

    /// TCP would not listen, or does no longer.
    pub(crate) fn refused(&mut self, below: Below, reason: Reason, effects: &mut Effects) {
        for place in self.places.iter_mut().filter(|it| it.below == below) {
            (place.provider, place.answered) = (None, true);
        }
        self.error = Some(reason);
        self.acceptors.wake(&mut effects.woken);
    }

    pub(crate) fn offered(&mut self, below: Below, offered: Box<Offered>) {
        self.offered.push_back((below, offered));
    }

    /// The next caller for whom there is a place.
    pub(crate) fn next_to_accept(&mut self) -> Option<(Below, Box<Offered>)> {
        if self.ready.len() >= self.backlog {
            return None;
        }
        self.offered.pop_front()
    }

    /// Ends listening. True where all that had to be said has been said.
    pub(crate) fn close(&mut self, effects: &mut Effects) -> bool {
        self.is_closing = true;
        for place in &mut self.places {
            if let Some(session) = place.provider.take() {
                let abort = Request::Abort { session, reason: Reason::User, data: None };
                effects.requests.push_back((place.below, abort));
            }
        }
        self.offered.clear();
        self.places.iter().all(|place| place.answered)
    }
}
