//! The UDP sockets of a host: what they ask of the layers below, and what comes from there.

use core::net::{IpAddr, SocketAddr};
use std::io;

use kumiki_graph::{Address, Below, Handle, Manage, Mode, Open, Quality, Report, Request, Unit};
use kumiki_wire::inet::{IpParameters, IpQuality, Sharing};

use super::datagrams::{Arrived, Datagrams, RECEIVE_BUFFER, unspecified};
use super::error::{self, Errno};
use super::ports::Terms;
use super::table::{Socket, Table, is_in, of_layer, reached, unmapped};

impl Table {
    pub(crate) fn bind_udp(&mut self, local: SocketAddr, sharing: Sharing) -> io::Result<Handle> {
        self.check_up()?;
        self.check_place()?;
        self.check_own(unmapped(local).ip())?;
        let below = Self::layers_of(local, self.layers.udp, self.layers.udp_v6)?;
        let terms = Terms {
            reuse_address: sharing == Sharing::Latest,
            reuse_port: sharing == Sharing::Spread,
            ..Terms::default()
        };
        let bound = self.udp_ports.take(local, terms, &mut self.rng)?;
        let local = bound.local;
        let is_v4 = |below: &Below| self.layers.udp == Some(*below);
        let socket = Datagrams::new(below.iter().map(|it| (*it, is_v4(it))), bound);
        let handle = self.sockets.insert(Socket::Datagrams(Box::new(socket)));
        self.udp_sockets.entry(local.port()).or_default().push(handle);
        for below in below {
            let special = IpQuality { sharing, ..IpQuality::NONE }.into();
            let quality = Quality { receive_buffer: Some(RECEIVE_BUFFER), special, ..Quality::default() };
            let open = Open {
                user: handle,
                mode: Mode::Passive { backlog: 0 },
                local: Address::from(of_layer(local, self.layers.udp == Some(below))),
                quality,
                ..Open::default()
            };
            self.effects.requests.push_back((below, Request::Open(Box::new(open))));
        }
        Ok(handle)
    }

    /// The source that goes with `remote`, as far as the host knows by itself.
    pub(crate) fn source_for(&self, remote: IpAddr) -> IpAddr {
        if remote.is_loopback() || self.addresses.contains(&remote) {
            return remote;
        }
        let leads = self.sources.iter().filter(|(network, prefix, _)| is_in(remote, *network, *prefix));
        // Of two that are as near the first, as for IP.
        let nearest = leads.rev().max_by_key(|(_, prefix, _)| *prefix).map(|(.., own)| *own);
        let own = || self.addresses.iter().copied().find(|it| it.is_ipv4() == remote.is_ipv4());
        nearest.or_else(own).unwrap_or_else(|| unspecified(remote.is_ipv4()))
    }

    /// Gives a socket a peer.
    pub(crate) fn connect_udp(&mut self, handle: Handle, remote: SocketAddr) -> io::Result<()> {
        let (socket, _) = self.datagrams(handle)?;
        socket.port_for(remote)?;
        let remote = reached(unmapped(remote));
        if matches!(remote, SocketAddr::V4(it) if it.ip().is_broadcast()) && !socket.broadcast {
            return Err(error::no_broadcast());
        }
        self.check_way(remote.ip())?;
        // IPv6 chooses each time: it knows more of its addresses than is known here.
        let own = Some(self.source_for(remote.ip())).filter(|it| it.is_ipv4() && !it.is_unspecified());
        let (socket, effects) = self.datagrams(handle)?;
        socket.own = own.filter(|_| socket.local().ip().is_unspecified());
        socket.connect(remote, effects);
        Ok(())
    }

    /// Sends to `to`, or to the peer; from `source` and with these congestion marks, where somebody says so.
    pub(crate) fn send_udp(
        &mut self,
        handle: Handle,
        octets: &[u8],
        to: Option<SocketAddr>,
        (source, ecn): (Option<IpAddr>, Option<u8>),
    ) -> io::Result<usize> {
        if let Some(source) = source.map(|it| it.to_canonical()) {
            let is_own = source.is_unspecified() || source.is_loopback() || self.addresses.contains(&source);
            if !is_own {
                let text = format!("{source} is no address of this host");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
        }
        if let Some(to) = to {
            self.check_way(reached(unmapped(to)).ip())?;
        }
        let (socket, _) = self.datagrams(handle)?;
        let own = socket.source(source);
        if self.gateway.is_none() {
            self.check_still_own(own)?;
        }
        let (socket, effects) = self.datagrams(handle)?;
        let sent = socket.send(octets, to, (source, ecn), effects)?;
        if self.senders.last() != Some(&handle) {
            self.senders.push(handle);
        }
        Ok(sent)
    }

    /// The layers have taken all that was to go down.
    pub(crate) fn all_taken(&mut self) {
        for handle in core::mem::take(&mut self.senders) {
            if let Some(Socket::Datagrams(socket)) = self.sockets.get(handle) {
                socket.all_taken(&mut self.effects);
            }
        }
        #[cfg(all(feature = "host", target_os = "linux"))]
        self.guests.takers.wake(&mut self.effects.woken);
    }

    /// Puts a socket into a group, by the interface that has an address of ours.
    pub(crate) fn join(&mut self, handle: Handle, group: IpAddr, is_member: bool) -> io::Result<()> {
        if !group.is_multicast() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{group} is no address of a group")));
        }
        let (socket, _) = self.datagrams(handle)?;
        if socket.port_for(SocketAddr::new(group, 0)).is_err() {
            return Err(Errno::NoOption.into());
        }
        let place = socket.groups.iter().position(|it| *it == group);
        match (place, is_member) {
            (Some(_), true) => {
                Err(io::Error::new(io::ErrorKind::AddrInUse, format!("the socket is in {group} already")))
            }
            (None, true) => {
                socket.groups.push(group);
                self.enter(group);
                Ok(())
            }
            (Some(place), false) => {
                socket.groups.swap_remove(place);
                self.leave(group);
                Ok(())
            }
            (None, false) => {
                Err(io::Error::new(io::ErrorKind::AddrNotAvailable, format!("the socket is not in {group}")))
            }
        }
    }

    pub(super) fn enter(&mut self, group: IpAddr) {
        let members = self.groups.entry(group).or_default();
        *members += 1;
        if *members == 1 {
            self.tell_group(group, true);
        }
    }

    pub(super) fn leave(&mut self, group: IpAddr) {
        if let Some(members) = self.groups.get_mut(&group) {
            *members -= 1;
            if *members == 0 {
                self.groups.remove(&group);
                self.tell_group(group, false);
            }
        }
    }

    fn tell_group(&mut self, group: IpAddr, member: bool) {
        let below = if group.is_ipv4() { self.layers.udp } else { self.layers.udp_v6 };
        if let Some(below) = below {
            let manage = Manage::Group { group: Address::from(group), member };
            self.effects.requests.push_back((below, Request::Manage(Box::new(manage))));
        }
    }

    /// Whether a socket may say that it means the interface with this address.
    pub(crate) fn check_interface(&self, address: IpAddr) -> io::Result<()> {
        let is_own = address.is_unspecified() || address.is_loopback() || self.addresses.contains(&address);
        if is_own { Ok(()) } else { Err(Errno::NoDevice.into()) }
    }

    pub(super) fn datagram(&mut self, below: Below, unit: Unit) {
        let (Some(from), Some(to)) = (unit.source.socket(), unit.destination.socket()) else {
            return;
        };
        let tos = IpParameters::from(unit.options.special).tos;
        if let Some(Socket::Datagrams(socket)) = unit.session.and_then(|handle| self.sockets.get(handle)) {
            socket.arrived(below, Arrived { from, to, data: unit.data, tos }, &mut self.effects);
        } else if unit.session.is_some() && unit.session == self.gateway.as_ref().map(|it| it.handle) {
            self.datagram_any(below, (from, to), unit);
        }
    }

    /// A datagram of ours has met an error on its way.
    pub(super) fn unreachable(&mut self, report: &Report) {
        let Report::Unreachable { source, destination, problem, .. } = report else {
            return;
        };
        let (Some(source), Some(destination)) = (source.socket(), destination.socket()) else {
            return;
        };
        self.flow_failed(source, destination, *problem);
        for handle in self.udp_sockets.get(&source.port()).cloned().unwrap_or_default() {
            // Only who is connected is told, as in Linux: others would not know of whom it is.
            if error::is_told(*problem, destination.ip())
                && let Some(Socket::Datagrams(socket)) = self.sockets.get(handle)
                && socket.is_between(source.ip(), destination)
            {
                socket.failed(error::of_problem(*problem, destination.ip()), &mut self.effects);
            }
        }
    }

    pub(super) fn forget_udp(&mut self, handle: Handle, socket: &Datagrams) {
        let port = socket.local().port();
        self.udp_ports.give(socket.bound);
        if let Some(all) = self.udp_sockets.get_mut(&port) {
            all.retain(|it| *it != handle);
            if all.is_empty() {
                self.udp_sockets.remove(&port);
            }
        }
        for group in &socket.groups {
            self.leave(*group);
        }
    }
}
