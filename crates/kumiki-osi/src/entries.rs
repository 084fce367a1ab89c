//! What the handles of a layer of OSI name: connections, and listeners, by which its users are called.
//!
//! What a connection is, and what happens to it, is each layer's own. How a listener comes and goes is the same in all
//! of them, and stands here, beside what is said up and down at an end.

use kumiki_graph::{Above, Below, Context, Handle, Indication, Opened, Reason, Request};
use kumiki_octets::Message;

use kumiki_graph::sessions::Sessions;

/// What a layer keeps: connections `C`, and listeners of which it knows `W`.
#[derive(Debug)]
pub struct Entries<C, W = ()>(Sessions<Entry<C, W>>);

impl<C, W> Default for Entries<C, W> {
    fn default() -> Self {
        Self(Sessions::default())
    }
}

/// What a handle names.
#[derive(Debug)]
pub enum Entry<C, W> {
    /// A user that waits to be called.
    Listener(Box<Listener<W>>),
    /// A connection.
    Connection(Box<C>),
}

/// A user that waits to be called.
#[derive(Debug)]
pub struct Listener<W> {
    /// Which user.
    pub above: Above,
    /// Its own handle.
    pub user: Handle,
    /// Its handle below; none before it has been confirmed there.
    lower: Handle,
    /// What the layer knows of its user's wishes.
    pub wants: W,
}

impl<C, W> Entries<C, W> {
    /// How many there are of both.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What `handle` names.
    pub fn get(&mut self, handle: Handle) -> Option<&mut Entry<C, W>> {
        self.0.get(handle)
    }

    /// Gives up what `handle` names.
    pub fn remove(&mut self, handle: Handle) -> Option<Entry<C, W>> {
        self.0.remove(handle)
    }

    /// Keeps a connection.
    pub fn keep(&mut self, connection: C) -> Handle {
        self.0.insert(Entry::Connection(Box::new(connection)))
    }

    /// Keeps a listener, which has yet to be confirmed below.
    pub fn listen(&mut self, above: Above, user: Handle, wants: W) -> Handle {
        let lower = Handle::default();
        self.0.insert(Entry::Listener(Box::new(Listener { above, user, lower, wants })))
    }

    /// The connection that `handle` names.
    pub fn connection(&mut self, handle: Handle) -> Option<&mut C> {
        match self.0.get(handle)? {
            Entry::Connection(connection) => Some(connection),
            Entry::Listener(_) => None,
        }
    }

    /// The listener that `handle` names.
    pub fn listener(&mut self, handle: Handle) -> Option<&mut Listener<W>> {
        match self.0.get(handle)? {
            Entry::Listener(listener) => Some(listener),
            Entry::Connection(_) => None,
        }
    }

    /// The listener whose wishes say the most of those that fit, by the number that `fits` gives them; of some that say
    /// as much, the first.
    pub fn called(&self, mut fits: impl FnMut(&W) -> Option<usize>) -> Option<Handle> {
        self.0.best(|entry| match entry {
            Entry::Listener(it) => fits(&it.wants),
            Entry::Connection(_) => None,
        })
    }

    /// Gives up a connection.
    pub fn forget(&mut self, handle: Handle) -> Option<Box<C>> {
        self.connection(handle)?;
        match self.0.remove(handle)? {
            Entry::Connection(connection) => Some(connection),
            Entry::Listener(_) => None,
        }
    }

    /// What a user means that names it by its own handle, else a handle that names nothing; a connection is whose `of`
    /// says.
    pub fn named(&self, above: Above, user: Handle, of: impl Fn(&C) -> (Above, Handle)) -> Handle {
        let whose = |entry: &Entry<C, W>| match entry {
            Entry::Connection(it) => of(it),
            Entry::Listener(it) => (it.above, it.user),
        };
        let found = self.0.find(|entry| whose(entry) == (above, user));
        found.unwrap_or_default()
    }

    /// The connections that are `wanted`, in the order of their places.
    pub fn connections(&self, mut wanted: impl FnMut(&C) -> bool) -> Vec<Handle> {
        let all = self.0.all(|entry| match entry {
            Entry::Connection(it) => wanted(it),
            Entry::Listener(_) => false,
        });
        all.collect()
    }

    /// Something stands below. Of a listener its user is told, and what is nobody's any more is ended; a connection is
    /// given back with it.
    pub fn on_opened(
        &mut self,
        opened: Box<Opened>,
        below: Below,
        cx: &mut Context<'_>,
    ) -> Option<(&mut C, Box<Opened>)> {
        let own = opened.user;
        match self.0.get(own) {
            Some(Entry::Connection(connection)) => return Some((connection, opened)),
            Some(Entry::Listener(listener)) => {
                listener.lower = opened.provider;
                let told = Opened { user: listener.user, provider: own, local: opened.local, ..Opened::default() };
                cx.up(listener.above, Indication::Opened(Box::new(told)));
            }
            None => abort_below(below, opened.provider, Reason::User, None, cx),
        }
        None
    }

    /// Something is over below. A listener goes, and its user is told; false where it was none.
    pub fn on_ended(&mut self, own: Handle, reason: Reason, cx: &mut Context<'_>) -> bool {
        let Some(listener) = self.listener(own) else {
            return false;
        };
        tell_aborted(listener.above, listener.user, reason, None, cx);
        self.0.remove(own);
        true
    }

    /// Gives up a listener: gives what is to be said below, behind what is to be said to those who have called it. None
    /// where it is no listener.
    pub fn unlisten(&mut self, own: Handle, reason: Reason) -> Option<Request> {
        let lower = self.listener(own)?.lower;
        self.0.remove(own);
        Some(ending(own, lower, reason, None))
    }
}

/// What ends `own` below, which is `lower` there. Before it has been confirmed, only our own handle names it.
pub fn ending(own: Handle, lower: Handle, reason: Reason, data: Option<Message>) -> Request {
    if lower == Handle::default() {
        return Request::Cancel { user: own };
    }
    Request::Abort { session: lower, reason, data }
}

/// Ends what stands below for `own`, or is to stand there.
pub fn end_below(below: Below, (own, lower): (Handle, Handle), data: Option<Message>, cx: &mut Context<'_>) {
    cx.down(below, ending(own, lower, Reason::User, data));
}

/// Ends, or refuses, what `session` names below.
pub fn abort_below(below: Below, session: Handle, reason: Reason, data: Option<Message>, cx: &mut Context<'_>) {
    let request = Request::Abort { session, reason, data };
    cx.down(below, request);
}

/// Tells a user of the end of what it calls `session`, or that there is none.
pub fn tell_aborted(above: Above, session: Handle, reason: Reason, data: Option<Message>, cx: &mut Context<'_>) {
    let indication = Indication::Aborted { session, reason, data };
    cx.up(above, indication);
}
