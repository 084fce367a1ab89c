//! Which sockets have which port, whose they are, and which of them gets a datagram.

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;

use kumiki_graph::{Above, Handle, Rng};
use kumiki_wire::inet::Sharing;
use smallvec::SmallVec;

/// The ports that are ours to choose from (RFC 6335 section 6).
pub(super) const DYNAMIC: core::ops::RangeInclusive<u16> = 49152..=65535;

#[derive(Clone, Copy, Debug)]
pub(super) struct Socket {
    pub(super) user: Above,
    /// The user's handle.
    pub(super) handle: Handle,
    pub(super) local: SocketAddr,
    pub(super) remote: Option<SocketAddr>,
    pub(super) sharing: Sharing,
    /// What comes by any other one is not for it; `None`: all are.
    pub(super) interface: Option<u16>,
    /// Octets for which there is room; `None` where nobody counts.
    pub(super) room: Option<u64>,
}

/// Whether `any` stands for all addresses, and `one` is among them: :: is of both versions.
const fn covers(any: IpAddr, one: IpAddr) -> bool {
    any.is_unspecified() && (any.is_ipv6() || one.is_ipv4())
}

impl Socket {
    /// How well it fits what comes from `peer` for `own`: whoever has named the peer is before who has not, and whoever
    /// has named the address before who takes what comes for any, and before both who has named the interface. `None`
    /// where it does not. Where the interface is not known any will do.
    fn fit(&self, own: SocketAddr, peer: SocketAddr, by: Option<u16>) -> Option<u8> {
        let is_exact = self.local.ip() == own.ip();
        let fits = is_exact || covers(self.local.ip(), own.ip());
        let is_peer = match self.remote {
            Some(remote) => (remote == peer).then_some(true),
            None => Some(false),
        };
        let is_there = self.interface.is_none_or(|own| by.is_none_or(|by| by == own));
        let has_interface = u8::from(self.interface.is_some());
        is_peer
            .filter(|_| fits && is_there)
            .map(|is_peer| has_interface * 4 + u8::from(is_peer) * 2 + u8::from(is_exact))
    }

    /// Whether both can be there.
    fn agrees_with(&self, local: IpAddr, sharing: Sharing, interface: Option<u16>) -> bool {
        let own = self.local.ip();
        let is_elsewhere = self.interface.is_some() && interface.is_some() && self.interface != interface;
        let meet = !is_elsewhere && (own == local || covers(own, local) || covers(local, own));
        !meet || (sharing == self.sharing && sharing != Sharing::Alone)
    }
}

/// A place in the table, used again under another generation.
#[derive(Clone, Copy, Debug, Default)]
struct SocketSlot {
    generation: u32,
    socket: Option<Socket>,
}

/// All sockets; places are counted from 0.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    places: Vec<SocketSlot>,
    /// Places without a socket.
    free: Vec<usize>,
    /// Which places have a port, in the order in which they were opened.
    ports: BTreeMap<u16, SmallVec<[usize; 1]>>,
}

impl Sockets {
    /// The socket in a place.
    pub(super) fn socket(&self, place: usize) -> Option<&Socket> {
        self.places.get(place)?.socket.as_ref()
    }

    /// The places that have a port.
    fn at_port(&self, port: u16) -> &[usize] {
        self.ports.get(&port).map(SmallVec::as_slice).unwrap_or_default()
    }

    /// The place of the socket that is for what comes from `peer` for `own`.
    ///
    /// Of several that fit equally well it is the one that was opened last; or, where they [spread](Sharing::Spread)
    /// peers, the same one for all that comes from one.
    pub(super) fn best(&self, own: SocketAddr, peer: SocketAddr, by: Option<u16>) -> Option<usize> {
        let named = self.at_port(own.port());
        let places = if named.iter().any(|it| self.fits(*it, own, peer, by)) { named } else { self.at_port(0) };
        let fit = |place: usize| self.socket(place).and_then(|socket| socket.fit(own, peer, by));
        let best = places.iter().filter_map(|place| fit(*place)).max()?;
        let mut equal = places.iter().filter(|place| fit(**place) == Some(best));
        let last = equal.clone().next_back().copied();
        if last.and_then(|place| self.socket(place)).is_some_and(|it| it.sharing == Sharing::Spread) {
            let count = equal.clone().count() as u64;
            return equal.nth(usize::try_from(spread(peer) % count.max(1)).unwrap_or_default()).copied();
        }
        last
    }

    fn fits(&self, place: usize, own: SocketAddr, peer: SocketAddr, by: Option<u16>) -> bool {
        self.socket(place).is_some_and(|socket| socket.fit(own, peer, by).is_some())
    }

    /// The places of all sockets that take what comes from `peer` for the group `own`.
    pub(super) fn all(&self, own: SocketAddr, peer: SocketAddr, by: Option<u16>) -> SmallVec<[usize; 4]> {
        self.at_port(own.port()).iter().copied().filter(|place| self.fits(*place, own, peer, by)).collect()
    }

    /// The place of the socket that a unit of `user` leaves by: the one that it names, or that with the address or else
    /// the port of `source`, or the first.
    pub(super) fn sending(&self, user: Above, named: Option<Handle>, source: Option<SocketAddr>) -> Option<usize> {
        let own = |socket: &Socket| socket.user == user;
        if let Some(named) = named {
            return self.place(named).filter(|place| self.socket(*place).is_some_and(own));
        }
        let Some(source) = source else {
            return self.places.iter().position(|place| place.socket.as_ref().is_some_and(own));
        };
        let own = |place: &&usize| self.socket(**place).is_some_and(own);
        let exact = |place: &&usize| self.socket(**place).is_some_and(|it| it.local.ip() == source.ip());
        let mut places = self.at_port(source.port()).iter().filter(own);
        places.clone().find(exact).or_else(|| places.next()).copied()
    }

    /// The place of all ports, which is 0; `None` where somebody has it.
    pub(super) fn all_ports(&self, local: IpAddr) -> Option<u16> {
        let agrees = |place: &usize| self.socket(*place).is_none_or(|it| it.agrees_with(local, Sharing::Alone, None));
        self.at_port(0).iter().all(agrees).then_some(0)
    }

    /// The port asked for, or one of the dynamic ports for 0; `None` where somebody is there who does not share it.
    pub(super) fn free_port(
        &self,
        local: SocketAddr,
        (sharing, interface): (Sharing, Option<u16>),
        rng: &mut Rng,
    ) -> Option<u16> {
        if local.port() != 0 {
            let agrees =
                |place: &usize| self.socket(*place).is_none_or(|it| it.agrees_with(local.ip(), sharing, interface));
            return self.at_port(local.port()).iter().all(agrees).then_some(local.port());
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
            self.places.push(SocketSlot::default());
            self.places.len() - 1
        });
        self.ports.entry(socket.local.port()).or_default().push(index);
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

    /// The place of a handle; `None` where it is stale.
    fn place(&self, session: Handle) -> Option<usize> {
        let index = usize::try_from(session.index).ok()?;
        self.places.get(index).filter(|place| place.generation == session.generation).map(|_| index)
    }

    /// The socket of a handle of `user`'s.
    pub(super) fn own(&mut self, user: Above, session: Handle) -> Option<&mut Socket> {
        let place = self.place(session)?;
        self.places.get_mut(place)?.socket.as_mut().filter(|socket| socket.user == user)
    }

    /// Our handle of the socket that `user` calls `handle`.
    pub(super) fn called(&self, user: Above, handle: Handle) -> Option<Handle> {
        let own = |it: &Socket| it.user == user && it.handle == handle;
        let mut places = self.places.iter();
        let place = places.position(|place| place.socket.as_ref().is_some_and(own))?;
        self.handle(place)
    }

    /// Puts `octets` into the buffer of the socket in a place; false where they find no room.
    pub(super) fn fill(&mut self, place: usize, octets: usize) -> bool {
        let socket = self.places.get_mut(place).and_then(|place| place.socket.as_mut());
        let Some(room) = socket.and_then(|socket| socket.room.as_mut()) else {
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
        if let Some(room) = self.own(user, session).and_then(|socket| socket.room.as_mut()) {
            *room = room.saturating_add(octets);
        }
    }

    /// Takes a socket out; `None` where the handle is stale or the socket somebody else's.
    pub(super) fn close(&mut self, user: Above, session: Handle) -> Option<Socket> {
        let index = self.place(session)?;
        let place = self.places.get_mut(index)?;
        let socket = place.socket.take_if(|socket| socket.user == user)?;
        place.generation = place.generation.wrapping_add(1);
        if let Some(places) = self.ports.get_mut(&socket.local.port()) {
            places.retain(|it| *it != index);
            if places.is_empty() {
                self.ports.remove(&socket.local.port());
            }
        }
        self.free.push(index);
        Some(socket)
    }
}

/// A number for each peer, so that neighbours in address or port have others (the finishing steps of MurmurHash3).
fn spread(peer: SocketAddr) -> u64 {
    let ip = match peer.ip() {
        IpAddr::V4(ip) => ip.to_bits().into(),
        IpAddr::V6(ip) => ip.segments().iter().fold(0, |bits: u64, it| bits.rotate_left(16) ^ u64::from(*it)),
    };
    let mut bits = ip ^ u64::from(peer.port()) << 48;
    bits = (bits ^ bits >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits = (bits ^ bits >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    bits ^ bits >> 33
}
