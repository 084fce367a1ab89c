//! A UDP socket: what has come, and to whom it sends.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::task::Waker;
use std::collections::VecDeque;
use std::io;

use kumiki_graph::{Address, Below, Credit, Handle, Manage, Reason, Request, Unit, UnitOptions};
use kumiki_inet::udp::Peer;
use kumiki_octets::Message;
use kumiki_wire::inet::IpParameters;
use smallvec::SmallVec;

use super::error;
use super::listener::LayerOpen;
use super::ports::Bound;
use super::stream::Effects;
use super::table::{reached, unmapped};
use super::wakers::Wakers;

/// What a socket holds that is not read, in octets: Linux's `net.core.rmem_default`.
pub(crate) const RECEIVE_BUFFER: u32 = 212_992;

/// What a socket has sent and the layers have not taken, in octets of memory: Linux's `net.core.wmem_default`.
const SEND_BUFFER: usize = 212_992;

/// So many datagrams it holds at most, however short: Linux counts 832 octets for the shortest.
const MOST_HELD: usize = RECEIVE_BUFFER as usize / 832;

/// The most octets of user data in a datagram over IPv4; over IPv6 it is 20 more, which nobody may count on.
pub(super) const MOST: usize = 65_507;

/// The congestion marks in a type of service or traffic class (RFC 3168 section 5).
const ECN: u8 = 3;

/// What a datagram that waits costs beside its octets, about.
const OVERHEAD: usize = 256;

/// What a datagram that waits takes of memory, in octets.
pub(super) fn cost(data: &Message) -> usize {
    data.len().saturating_add(OVERHEAD)
}

/// The address that names none.
pub(crate) const fn unspecified(is_v4: bool) -> IpAddr {
    if is_v4 { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) }
}

/// A datagram that has come.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub(crate) from: SocketAddr,
    /// The address of ours that it was for.
    pub(crate) to: SocketAddr,
    pub(crate) data: Message,
    /// Type of service or traffic class; its last two bits are the congestion marks.
    pub(crate) tos: u8,
}

/// The socket at one UDP.
#[derive(Debug)]
pub(crate) struct Port {
    below: Below,
    is_v4: bool,
    provider: LayerOpen,
    /// Octets taken of which UDP has not been told.
    taken: u64,
}

impl Port {
    fn tell_peer(&self, remote: Option<SocketAddr>, effects: &mut Effects) {
        if let Some(session) = self.provider.handle() {
            let manage = Manage::special(Peer { session, remote });
            effects.requests.push_back((self.below, Request::Manage(Box::new(manage))));
        }
    }
}

/// A UDP socket.
#[derive(Debug)]
pub(crate) struct Datagrams {
    ports: SmallVec<[Port; 2]>,
    pub(crate) bound: Bound,
    pub(crate) remote: Option<SocketAddr>,
    /// From which address it is connected, where it is at all of them: it stays, as in Linux.
    pub(crate) own: Option<IpAddr>,
    received: VecDeque<Arrived>,
    error: Option<io::Error>,
    /// Its host is gone: everybody is told.
    is_host_gone: bool,
    pub(crate) readers: Wakers,
    pub(crate) writers: Wakers,
    /// What it has sent and the layers have not taken, and how much that may be.
    unsent: usize,
    pub(crate) send_buffer: usize,
    pub(crate) how: IpParameters,
    pub(crate) multicast_ttl: u8,
    /// Whether its host gets what it sends to groups: of IPv4, of IPv6.
    pub(crate) multicast_loop: [bool; 2],
    pub(crate) broadcast: bool,
    /// The groups that it is in.
    pub(crate) groups: Vec<IpAddr>,
}

impl Datagrams {
    /// One at the layers below, each with whether it is that of IPv4.
    pub(crate) fn new(below: impl Iterator<Item = (Below, bool)>, bound: Bound) -> Self {
        let port = |(below, is_v4)| Port { below, is_v4, provider: LayerOpen::Waiting, taken: 0 };
        Self {
            ports: below.map(port).collect(),
            bound,
            remote: None,
            own: None,
            received: VecDeque::new(),
            error: None,
            is_host_gone: false,
            readers: Wakers::default(),
            writers: Wakers::default(),
            unsent: 0,
            send_buffer: SEND_BUFFER,
            how: IpParameters::NONE,
            // As Linux, and every other host.
            multicast_ttl: 1,
            multicast_loop: [true; 2],
            broadcast: false,
            groups: Vec::new(),
        }
    }

    /// Where it is.
    pub(crate) const fn local(&self) -> SocketAddr {
        self.bound.local
    }

    /// Whether it is a socket of IPv6.
    pub(crate) const fn is_v6(&self) -> bool {
        self.bound.local.is_ipv6()
    }

    /// An address as the socket shows it: one of IPv4 as one of IPv6, where the socket is of that.
    pub(crate) const fn shown(&self, address: SocketAddr) -> SocketAddr {
        match address.ip() {
            IpAddr::V4(ip) if self.is_v6() => SocketAddr::new(IpAddr::V6(ip.to_ipv6_mapped()), address.port()),
            IpAddr::V4(_) | IpAddr::V6(_) => address,
        }
    }

    /// Whether it is connected from `own` to `remote`.
    pub(crate) fn is_between(&self, own: IpAddr, remote: SocketAddr) -> bool {
        let local = self.local().ip().to_canonical();
        self.remote == Some(remote) && (local.is_unspecified() || local == own)
    }

    /// From where it sends, where somebody wants it to be `wanted`, or nobody does.
    pub(crate) fn source(&self, wanted: Option<IpAddr>) -> IpAddr {
        wanted.or(self.own).unwrap_or_else(|| self.local().ip()).to_canonical()
    }

    /// The layer by which it reaches `remote`.
    pub(crate) fn port_for(&self, remote: SocketAddr) -> io::Result<&Port> {
        if remote.is_ipv6() && !self.is_v6() {
            return Err(error::Errno::AddressFamily.into());
        }
        let is_v4 = remote.ip().to_canonical().is_ipv4();
        let port = self.ports.iter().find(|it| it.is_v4 == is_v4);
        port.ok_or_else(|| error::Errno::AddressFamily.into())
    }

    /// Takes only what comes from `remote` from now on, and sends there.
    pub(crate) fn connect(&mut self, remote: SocketAddr, effects: &mut Effects) {
        self.remote = Some(remote);
        for port in &self.ports {
            port.tell_peer(self.remote, effects);
        }
    }

    pub(crate) fn opened(&mut self, below: Below, provider: Handle, effects: &mut Effects) {
        for port in self.ports.iter_mut().filter(|it| it.below == below) {
            port.provider = LayerOpen::Open(provider);
            if self.remote.is_some() {
                port.tell_peer(self.remote, effects);
            }
        }
    }

    pub(crate) fn refused(&mut self, below: Below, reason: &Reason, effects: &mut Effects) {
        for port in self.ports.iter_mut().filter(|it| it.below == below) {
            port.provider = LayerOpen::Refused;
        }
        self.failed(error::of_reason(reason), effects);
    }

    /// Its host is gone, as `error` says.
    pub(crate) fn lose_host(&mut self, error: io::Error, effects: &mut Effects) {
        for port in &mut self.ports {
            port.provider = LayerOpen::Refused;
        }
        self.failed(error, effects);
        self.writers.wake(&mut effects.woken);
        self.is_host_gone = true;
    }

    pub(crate) fn arrived(&mut self, below: Below, arrived: Arrived, effects: &mut Effects) {
        if self.remote.is_some_and(|remote| remote != arrived.from) {
            // It came before the socket was connected to somebody else.
            self.took(below, arrived.data.len(), effects);
            return;
        }
        if self.received.len() >= MOST_HELD || !effects.hold(cost(&arrived.data)) {
            self.took(below, arrived.data.len(), effects);
            return;
        }
        self.received.push_back(Arrived { from: self.shown(arrived.from), ..arrived });
        self.readers.wake(&mut effects.woken);
    }

    pub(crate) fn failed(&mut self, error: io::Error, effects: &mut Effects) {
        if self.is_host_gone {
            return;
        }
        self.error = Some(error);
        self.readers.wake(&mut effects.woken);
    }

    /// Whether something has gone wrong of which nobody was told.
    pub(crate) const fn has_failed(&self) -> bool {
        self.error.is_some() || self.is_host_gone
    }

    /// Whether there is something to read.
    pub(crate) fn has_datagram(&self) -> bool {
        !self.received.is_empty()
    }

    pub(crate) fn take_error(&mut self) -> Option<io::Error> {
        if self.is_host_gone { self.error.as_ref().map(error::again) } else { self.error.take() }
    }

    /// The next datagram, which `take` gets; it stays where `is_peek`. `WouldBlock` where there is none.
    pub(crate) fn read<T>(
        &mut self,
        is_peek: bool,
        take: impl FnOnce(&Arrived) -> T,
        effects: &mut Effects,
    ) -> io::Result<T> {
        if let Some(error) = self.take_error() {
            return Err(error);
        }
        let first = self.received.front().ok_or(io::ErrorKind::WouldBlock)?;
        let taken = take(first);
        let (is_v4, octets) = (first.to.is_ipv4(), first.data.len());
        if !is_peek {
            effects.release(cost(&first.data));
            self.received.pop_front();
            if let Some(below) = self.ports.iter().find(|it| it.is_v4 == is_v4).map(|it| it.below) {
                self.took(below, octets, effects);
            }
        }
        Ok(taken)
    }

    fn took(&mut self, below: Below, octets: usize, effects: &mut Effects) {
        let Some(port) = self.ports.iter_mut().find(|it| it.below == below) else {
            return;
        };
        port.taken += octets as u64;
        if port.taken >= u64::from(RECEIVE_BUFFER / 8)
            && let Some(session) = port.provider.handle()
        {
            let credit = Credit::octets(core::mem::take(&mut port.taken));
            effects.requests.push_back((port.below, Request::Credit { session, credit }));
            effects.is_pressing = true;
        }
    }

    /// Sends to `to`, or to the peer; from `source` and with these congestion marks, where somebody says so.
    pub(crate) fn send(
        &mut self,
        octets: &[u8],
        to: Option<SocketAddr>,
        (source, ecn): (Option<IpAddr>, Option<u8>),
        effects: &mut Effects,
    ) -> io::Result<usize> {
        if let Some(error) = self.take_error() {
            return Err(error);
        }
        if let Some(to) = to {
            self.port_for(to)?;
        }
        let to = to.map(|to| reached(unmapped(to))).or(self.remote).ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotConnected, "the socket is not connected, and no address was given")
        })?;
        let port = self.port_for(to)?;
        if to.port() == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "nothing can be sent to port 0"));
        }
        if octets.len() > MOST {
            return Err(error::Errno::MessageSize.into());
        }
        if !self.has_room() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let is_broadcast = matches!(to, SocketAddr::V4(it) if it.ip().is_broadcast());
        if is_broadcast && !self.broadcast {
            return Err(error::no_broadcast());
        }
        let mut how = self.how;
        if let Some(ecn) = ecn {
            how.tos = how.tos & !ECN | ecn & ECN;
        }
        if to.ip().is_multicast() {
            how.ttl = self.multicast_ttl;
        }
        let [loop_v4, loop_v6] = self.multicast_loop;
        how.to_ourselves = is_broadcast || if to.is_ipv4() { loop_v4 } else { loop_v6 };
        let own = self.source(source);
        let own = if own.is_ipv4() == to.is_ipv4() { own } else { unspecified(to.is_ipv4()) };
        let unit = Unit {
            source: Address::from(SocketAddr::new(own, self.local().port())),
            destination: Address::from(to),
            session: port.provider.handle(),
            options: UnitOptions::of(how),
            ..Unit::of(Message::from_octets(octets))
        };
        effects.requests.push_back((port.below, Request::Unit(Box::new(unit))));
        self.unsent += octets.len().saturating_add(OVERHEAD);
        Ok(octets.len())
    }

    /// Whether one more may be sent. As with Linux, it may be longer than what is left of the room.
    pub(crate) const fn has_room(&self) -> bool {
        self.unsent < self.send_buffer || self.is_host_gone
    }

    /// The layers have taken all that it has sent.
    pub(crate) fn all_taken(&mut self, effects: &mut Effects) {
        self.unsent = 0;
        self.writers.wake(&mut effects.woken);
    }

    /// Gives the port back.
    pub(crate) fn close(&mut self, user: Handle, effects: &mut Effects) {
        effects.release(self.received.drain(..).map(|it| cost(&it.data)).sum());
        let ends = self.ports.drain(..).filter_map(|port| Some((port.below, port.provider.end(user)?)));
        effects.requests.extend(ends);
    }

    /// Octets that have come and were not read.
    pub(crate) fn unread(&self) -> usize {
        self.received.iter().map(|it| it.data.len()).sum()
    }

    pub(crate) fn wait_to_read(&mut self, waker: &Waker, effects: &mut Effects) {
        self.readers.register(waker, &mut effects.woken);
    }

    pub(crate) fn wait_to_write(&mut self, waker: &Waker, effects: &mut Effects) {
        self.writers.register(waker, &mut effects.woken);
    }
}
