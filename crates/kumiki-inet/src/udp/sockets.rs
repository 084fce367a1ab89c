//! Which socket has which port, and whose it is.

use core::net::SocketAddr;
use std::collections::BTreeMap;

use kumiki_graph::{Above, Handle, Rng};

/// The ports that are ours to choose from (RFC 6335 section 6).
pub(super) const DYNAMIC: core::ops::RangeInclusive<u16> = 49152..=65535;

#[derive(Clone, Copy, Debug)]
pub(super) struct Socket {
    pub(super) user: Above,
    /// The user's handle.
    pub(super) handle: Handle,
    pub(super) local: SocketAddr,
    pub(super) remote: Option<SocketAddr>,
    /// Octets for which there is room; `None` where nobody counts.
    pub(super) room: Option<u64>,
}

/// A place in the table, used again under another generation.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    generation: u32,
    socket: Option<Socket>,
}

/// All sockets; places are counted from 0.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    places: Vec<Place>,
    /// Places without a socket.
    free: Vec<usize>,
    /// Which place has a port.
    ports: BTreeMap<u16, usize>,
}

impl Sockets {
    /// The socket in a place.
    pub(super) fn socket(&self, place: usize) -> Option<&Socket> {
        self.places.get(place)?.socket.as_ref()
    }

    pub(super) fn by_port(&self, port: u16) -> Option<&Socket> {
        self.socket(*self.ports.get(&port)?)
    }

    /// The place of the socket that a unit of `user` leaves by: the one with the port of `source`, or its first.
    pub(super) fn sending(&self, user: Above, source: Option<SocketAddr>) -> Option<usize> {
        let own = |socket: &Socket| socket.user == user;
        let Some(source) = source else {
            return self.places.iter().position(|place| place.socket.as_ref().is_some_and(own));
        };
        let place = *self.ports.get(&source.port())?;
        self.socket(place).filter(|socket| own(socket)).map(|_| place)
    }

    /// The port asked for, or one of the dynamic ports for 0; `None` where it is taken.
    pub(super) fn free_port(&self, asked: u16, rng: &mut Rng) -> Option<u16> {
        if asked != 0 {
            return (!self.ports.contains_key(&asked)).then_some(asked);
        }
        let (first, last) = (u64::from(*DYNAMIC.start()), u64::from(*DYNAMIC.end()));
        let count = last - first + 1;
        let begin = rng.below(count);
        (0..count)
            .filter_map(|n| u16::try_from(first + (begin + n) % count).ok())
            .find(|port| !self.ports.contains_key(port))
    }

    /// Keeps a socket whose port is free; its place and generation are our handle.
    pub(super) fn keep(&mut self, socket: Socket) -> Handle {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place::default());
            self.places.len() - 1
        });
        self.ports.insert(socket.local.port(), index);
        if let Some(place) = self.places.get_mut(index) {
            place.socket = Some(socket);
        }
        self.handle(index).unwrap_or_default()
    }

    /// Our handle of the socket in a place.
    pub(super) fn handle(&self, place: usize) -> Option<Handle> {
        let generation = self.places.get(place)?.generation;
        let index = u32::try_from(place).ok()?;
        Some(Handle { index, generation })
    }

    /// The socket of a handle; `None` where it is stale.
    pub(super) fn by_handle(&self, session: Handle) -> Option<&Socket> {
        let place = self.places.get(usize::try_from(session.index).ok()?)?;
        let current = place.generation == session.generation;
        place.socket.as_ref().filter(|_| current)
    }

    /// Our handle of the socket that `user` calls `handle`.
    pub(super) fn called(&self, user: Above, handle: Handle) -> Option<Handle> {
        let own = |it: &Socket| it.user == user && it.handle == handle;
        let mut places = self.places.iter();
        let place = places.position(|place| place.socket.as_ref().is_some_and(own))?;
        self.handle(place)
    }

    /// Puts `octets` into the buffer of the socket on `port`; false where they find no room.
    pub(super) fn fill(&mut self, port: u16, octets: usize) -> bool {
        let place = self.ports.get(&port).copied();
        let place = place.and_then(|place| self.places.get_mut(place));
        let Some(room) = place.and_then(|place| place.socket.as_mut()).and_then(|socket| socket.room.as_mut()) else {
            return true;
        };
        match room.checked_sub(octets as u64) {
            Some(left) => *room = left,
            None => return false,
        }
        true
    }

    /// `user` has taken `octets` out of the buffer of its socket.
    pub(super) fn empty(&mut self, user: Above, session: Handle, octets: u64) {
        let place = usize::try_from(session.index).ok();
        let place = place.and_then(|place| self.places.get_mut(place));
        if let Some(room) = place
            .filter(|place| place.generation == session.generation)
            .and_then(|place| place.socket.as_mut())
            .filter(|socket| socket.user == user)
            .and_then(|socket| socket.room.as_mut())
        {
            *room = room.saturating_add(octets);
        }
    }

    /// Takes a socket out; `None` where the handle is stale or the socket somebody else's.
    pub(super) fn close(&mut self, user: Above, session: Handle) -> Option<Socket> {
        let index = usize::try_from(session.index).ok()?;
        let place = self.places.get_mut(index)?;
        if place.generation != session.generation {
            return None;
        }
        let socket = place.socket.take_if(|socket| socket.user == user)?;
        place.generation = place.generation.wrapping_add(1);
        self.ports.remove(&socket.local.port());
        self.free.push(index);
        Some(socket)
    }
}
