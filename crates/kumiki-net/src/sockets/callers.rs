//! The listeners of a host: which of those at one address gets a caller, and when.

use core::hash::{Hash as _, Hasher as _};
use core::net::SocketAddr;
use core::time::Duration;
use std::io;

use kumiki_graph::{Accept, Address, Below, Handle, Mode, Offered, Open, Quality, Reason, Request};
use siphasher::sip::SipHasher13;

use super::listener::{BEYOND, Listener};
use super::ports::Bound;
use super::stream::{Phase, Stream};
use super::table::{Socket, Table, of_layer};

impl Table {
    /// Listens at an address that was taken.
    pub(crate) fn listen(
        &mut self,
        bound: Bound,
        asked: (Quality, Option<Duration>),
        backlog: u32,
    ) -> io::Result<Handle> {
        self.check_up()?;
        Self::layers_of(bound.local, self.layers.tcp, self.layers.tcp_v6)?;
        self.tcp_ports.listen(bound)?;
        let listener = Listener::new(bound, asked, backlog);
        let key = listener.key();
        let handle = self.sockets.insert(Socket::Listener(Box::new(listener)));
        let group = self.listeners.entry(key).or_default();
        group.push(handle);
        if group.len() == 1 {
            self.open_listener(handle)?;
        } else {
            self.take_over(key, handle);
        }
        Ok(handle)
    }

    /// Asks TCP for callers of the listener, and of all that share its address.
    fn open_listener(&mut self, handle: Handle) -> io::Result<()> {
        let layers = self.layers;
        let (listener, effects) = self.listener(handle)?;
        let local = listener.local();
        for below in Self::layers_of(local, layers.tcp, layers.tcp_v6)? {
            listener.asked(below);
            let open = Open {
                user: handle,
                mode: Mode::Passive { backlog: BEYOND },
                local: Address::from(of_layer(local, layers.tcp == Some(below))),
                quality: listener.quality,
                ..Open::default()
            };
            effects.requests.push_back((below, Request::Open(Box::new(open))));
        }
        Ok(())
    }

    /// The one of those that listen at the address of `first` that gets a caller: always the same for the same caller,
    /// unless that one has no place for it and another has.
    fn listener_for(&mut self, local: SocketAddr, first: Handle, caller: &Offered) -> Handle {
        let group = self.listeners.get(&local).cloned().unwrap_or_default();
        if group.len() < 2 {
            return first;
        }
        let mut hasher = SipHasher13::new();
        caller.remote.socket().hash(&mut hasher);
        let place = usize::try_from(hasher.finish() % group.len() as u64).unwrap_or_default();
        let own = group.get(place).copied().unwrap_or(first);
        let mut in_turn = group.iter().cycle().skip(place).take(group.len()).copied();
        in_turn.find(|it| self.has_place(*it)).unwrap_or(own)
    }

    fn has_place(&mut self, listener: Handle) -> bool {
        matches!(self.sockets.get(listener), Some(Socket::Listener(it)) if it.has_place())
    }

    /// One of those that listen at `local` has a place: a caller takes it who waits for a place with another. TCP keeps
    /// as many callers for all of them as for one, so who waits would hold up them all.
    fn take_over(&mut self, local: SocketAddr, listener: Handle) {
        for other in self.listeners.get(&local).cloned().unwrap_or_default() {
            if !self.has_place(listener) {
                return;
            }
            if other != listener
                && let Some(Socket::Listener(it)) = self.sockets.get(other)
                && let Some((below, offered)) = it.waiting()
                && let Some(Socket::Listener(it)) = self.sockets.get(listener)
            {
                it.offered(below, offered);
                self.fill_backlog(listener);
            }
        }
    }

    /// Somebody has called a listener, or one of those that share its address.
    pub(super) fn offered(&mut self, below: Below, offered: Box<Offered>) {
        let first = offered.user;
        let local = self.listener(first).ok().map(|(listener, _)| listener.key());
        let listener = local.map(|local| self.listener_for(local, first, &offered));
        if let Some(Socket::Listener(it)) = listener.and_then(|it| self.sockets.get(it)) {
            it.offered(below, offered);
        } else {
            let abort = Request::Abort { session: offered.provider, reason: Reason::User, data: None };
            self.effects.requests.push_back((below, abort));
        }
        if let Some(listener) = listener {
            self.fill_backlog(listener);
        }
    }

    /// The next connection that has come in; `WouldBlock` where there is none.
    pub(crate) fn accept(&mut self, handle: Handle) -> io::Result<(Handle, SocketAddr)> {
        self.check_up()?;
        let (listener, _) = self.listener(handle)?;
        if let Some(error) = listener.take_error() {
            return Err(error);
        }
        let local = listener.key();
        let accepted = listener.ready.pop_front().ok_or(io::ErrorKind::WouldBlock)?;
        self.fill_backlog(handle);
        self.take_over(local, handle);
        let (stream, _) = self.stream(accepted)?;
        stream.listener = None;
        Ok((accepted, stream.shown(stream.remote)))
    }

    /// Takes callers for whom there is a place in the backlog.
    fn fill_backlog(&mut self, handle: Handle) {
        while let Ok((listener, _)) = self.listener(handle)
            && let Some((below, offered)) = listener.next_to_accept()
        {
            let (asked, is_v6) = ((listener.quality, listener.linger), listener.local().is_ipv6());
            self.take_caller(handle, (below, *offered), asked, is_v6);
        }
    }

    fn take_caller(
        &mut self,
        listener: Handle,
        (below, offered): (Below, Offered),
        (quality, linger): (Quality, Option<Duration>),
        is_v6: bool,
    ) {
        let (Some(local), Some(remote)) = (offered.local.socket(), offered.remote.socket()) else {
            return;
        };
        let mut stream = Stream::new(below, (local, remote), quality, &self.layers);
        (stream.provider, stream.phase) = (offered.provider, Phase::Open);
        (stream.listener, stream.mapped) = (Some(listener), is_v6 && remote.is_ipv4());
        stream.linger = linger;
        let user = self.sockets.insert(Socket::Stream(Box::new(stream)));
        let accept = Accept { session: offered.provider, user, quality, ..Accept::default() };
        self.effects.requests.push_back((below, Request::Accept(Box::new(accept))));
        if let Ok((listener, effects)) = self.listener(listener) {
            listener.ready.push_back(user);
            listener.acceptors.wake(&mut effects.woken);
        }
    }

    /// A listener is gone: where it had TCP's callers for others at the same address, the next of these gets them.
    pub(super) fn leave_group(&mut self, local: SocketAddr, handle: Handle) {
        let Some(group) = self.listeners.get_mut(&local) else {
            return;
        };
        let was_first = group.first() == Some(&handle);
        group.retain(|it| *it != handle);
        match group.first().copied() {
            None => drop(self.listeners.remove(&local)),
            Some(next) if was_first && !self.is_down => {
                // It listens already, so the host has the layers.
                let _ = self.open_listener(next);
            }
            Some(_) => {}
        }
    }
}
