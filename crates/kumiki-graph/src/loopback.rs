//! A network of one host: who calls reaches who listens above the same node.
//!
//! | | |
//! |---|---|
//! | Specification | none: paper 4 turns data around below transport, inside its board |
//! | Above | any users of connections: transport, or programs |
//! | Below | nothing |
//! | Left out | addresses: a call goes to whoever listens first; loss and time, for nothing is between the two |
//!
//! Credit is the receiver's: what it grants, the sender may send. So nothing waits in here.

use crate::{
    Above, Accept, Below, Context, Credit, Handle, Indication, Mode, Offered, Open, Opened, Protocol, Reason, Request,
    Service, Shape,
};

use crate::sessions::Sessions;

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// How many messages may be sent before the receiver has granted any.
    pub window: u32,
}

impl Default for Config {
    fn default() -> Self {
        // As a channel of paper 4's network.
        Self { window: 7 }
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Messages turned around.
    pub messages: u64,
}

/// What a handle names.
#[derive(Clone, Copy, Debug)]
enum Entry {
    Listener { above: Above, user: Handle },
    Side(Side),
}

/// One of the two sides of a connection.
#[derive(Clone, Copy, Debug)]
struct Side {
    above: Above,
    /// The user's handle; of an offer that was not accepted, none.
    user: Option<Handle>,
    /// The other side.
    peer: Handle,
}

/// The network.
#[derive(Debug, Default)]
pub struct Loopback {
    config: Config,
    entries: Sessions<Entry>,
    counters: Counters,
}

impl Loopback {
    /// A network as `config` says.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, ..Self::default() }
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    fn side(&mut self, handle: Handle) -> Option<Side> {
        match self.entries.get(handle)? {
            Entry::Side(side) => Some(*side),
            Entry::Listener { .. } => None,
        }
    }

    /// The side that hears what `from` says, if it has a user.
    fn peer_of(&mut self, from: Handle) -> Option<(Above, Handle)> {
        let peer = self.side(from)?.peer;
        let peer = self.side(peer)?;
        Some((peer.above, peer.user?))
    }

    fn open(&mut self, above: Above, open: Open, cx: &mut Context<'_>) {
        let user = open.user;
        if let Mode::Passive { .. } = open.mode {
            let provider = self.entries.insert(Entry::Listener { above, user });
            let opened = Opened { user, provider, ..Opened::default() };
            cx.up(above, Indication::Opened(Box::new(opened)));
            return;
        }
        let listener = self.entries.find(|entry| matches!(entry, Entry::Listener { .. }));
        let listener = listener.and_then(|handle| self.entries.get(handle).copied());
        let Some(Entry::Listener { above: called, user: listener }) = listener else {
            let (session, reason, data) = (user, Reason::Refused, None);
            cx.up(above, Indication::Aborted { session, reason, data });
            return;
        };
        let side = |above, user| Side { above, user, peer: Handle::default() };
        let caller = self.entries.insert(Entry::Side(side(above, Some(user))));
        let callee = self.entries.insert(Entry::Side(side(called, None)));
        for (own, peer) in [(caller, callee), (callee, caller)] {
            if let Some(Entry::Side(side)) = self.entries.get(own) {
                side.peer = peer;
            }
        }
        let offered = Offered {
            user: listener,
            provider: callee,
            local: open.remote,
            remote: open.local,
            unit: u32::MAX,
            data: open.data,
            parameters: open.parameters,
        };
        cx.up(called, Indication::Offered(Box::new(offered)));
    }

    fn accept(&mut self, above: Above, accept: Accept, cx: &mut Context<'_>) {
        let own = accept.session;
        if let Some(Entry::Side(side)) = self.entries.get(own) {
            side.user = Some(accept.user);
        }
        let Some((caller, user)) = self.peer_of(own) else {
            let (session, reason, data) = (accept.user, Reason::NoSession, None);
            cx.up(above, Indication::Aborted { session, reason, data });
            return;
        };
        let Some(side) = self.side(own) else {
            return;
        };
        let opened = Opened {
            user,
            provider: side.peer,
            unit: u32::MAX,
            data: accept.data,
            parameters: accept.parameters,
            ..Opened::default()
        };
        cx.up(caller, Indication::Opened(Box::new(opened)));
        let credit = Credit::messages(self.config.window);
        for (above, session) in [(caller, user), (side.above, accept.user)] {
            cx.up(above, Indication::Credit { session, credit });
        }
    }

    fn end(&mut self, own: Handle, reason: Reason, data: Option<kumiki_octets::Message>, cx: &mut Context<'_>) {
        let peer = self.peer_of(own);
        match self.entries.remove(own) {
            Some(Entry::Side(side)) => {
                self.entries.remove(side.peer);
                if let Some((above, session)) = peer {
                    cx.up(above, Indication::Aborted { session, reason, data });
                }
            }
            Some(Entry::Listener { .. }) => {}
            None => cx.drop("no such connection"),
        }
    }
}

impl Protocol for Loopback {
    fn shape(&self) -> Shape {
        Shape { offers: Some(Service::CONNECTION), needs: &[], below: (0, 0), keys: Vec::new() }
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request {
            Request::Open(open) => self.open(from, *open, cx),
            Request::Accept(accept) => self.accept(from, *accept, cx),
            Request::Data { session, data, end } => match self.peer_of(session) {
                Some((above, session)) => {
                    self.counters.messages += 1;
                    cx.up(above, Indication::Data { session, data, end });
                }
                None => cx.drop("no such connection"),
            },
            Request::Credit { session, credit } => {
                if let Some((above, session)) = self.peer_of(session) {
                    cx.up(above, Indication::Credit { session, credit });
                }
            }
            Request::Abort { session, reason, data } => {
                let refused = self.side(session).is_some_and(|side| side.user.is_none());
                let reason = if refused { Reason::Refused } else { reason };
                self.end(session, reason, data, cx);
            }
            Request::Release { session, data } => self.end(session, Reason::Down, data, cx),
            Request::Cancel { user } => {
                let own = self.entries.find(|entry| match entry {
                    Entry::Side(side) => side.above == from && side.user == Some(user),
                    Entry::Listener { above, user: its } => *above == from && *its == user,
                });
                if let Some(own) = own {
                    self.end(own, Reason::User, None, cx);
                }
            }
            Request::Manage(_)
            | Request::Reset { .. }
            | Request::Unit(_)
            | Request::Special { .. }
            | Request::Expedited { .. } => cx.drop("a primitive of another service"),
        }
    }

    fn pop(&mut self, _: Below, _: Indication, cx: &mut Context<'_>) {
        cx.drop("nothing is below");
    }
}
