//! A UDP socket: what has come, and to whom it sends.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::task::Waker;
use std::collections::VecDeque;
use std::io;

use kumiki_graph::{Address, Below, Credit, Handle, Reason, Request, Unit, UnitOptions};
use kumiki_octets::Message;
use kumiki_wire::inet::IpParameters;
use smallvec::SmallVec;

use super::error;
use super::stream::Effects;
use super::wakers::Wakers;

/// What a socket holds that is not read, in octets: Linux's `net.core.rmem_default`.
pub(crate) const RECEIVE_BUFFER: u32 = 212_992;

/// The most octets of user data in a datagram over IPv4; over IPv6 it is 20 more, which nobody may count on.
const MOST: usize = 65_507;

/// The congestion marks in a type of service or traffic class (RFC 3168 section 5).
const ECN: u8 = 3;

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
    pub(crate) below: Below,
    provider: Option<Handle>,
    answered: bool,
    /// Octets taken of which UDP has not been told.
    taken: u64,
}

/// A UDP socket.
#[derive(Debug)]
pub(crate) struct Datagrams {
    pub(crate) ports: SmallVec<[Port; 2]>,
    pub(crate) local: SocketAddr,
    pub(crate) remote: Option<SocketAddr>,
    received: VecDeque<Arrived>,
    error: Option<io::Error>,
    pub(crate) readers: Wakers,
    pub(crate) how: IpParameters,
    pub(crate) multicast_ttl: u8,
    pub(crate) multicast_loop: bool,
    pub(crate) broadcast: bool,
    pub(crate) is_closing: bool,
}

impl Datagrams {
    pub(crate) fn new(below: &[Below], local: SocketAddr) -> Self {
        let port = |below: &Below| Port { below: *below, provider: None, answered: false, taken: 0 };
        Self {
            ports: below.iter().map(port).collect(),
            local,
            remote: None,
            received: VecDeque::new(),
            error: None,
            readers: Wakers::default(),
            how: IpParameters::NONE,
            // As Linux, and every other host.
            multicast_ttl: 1,
            multicast_loop: true,
            broadcast: false,
            is_closing: false,
        }
    }

    /// Whether it takes what comes from `from` to `to`.
    pub(crate) fn takes(&self, from: SocketAddr, to: SocketAddr) -> bool {
        let local = self.local;
        local.port() == to.port()
            && (local.ip().is_unspecified() || local.ip() == to.ip())
            && self.remote.is_none_or(|remote| remote == from)
    }

    pub(crate) fn opened(&mut self, below: Below, provider: Handle) {
        for port in self.ports.iter_mut().filter(|it| it.below == below) {
            (port.provider, port.answered) = (Some(provider), true);
        }
    }

    pub(crate) fn refused(&mut self, below: Below, reason: &Reason, effects: &mut Effects) {
        for port in self.ports.iter_mut().filter(|it| it.below == below) {
            (port.provider, port.answered) = (None, true);
        }
        self.failed(error::of_reason(reason), effects);
    }

    pub(crate) fn arrived(&mut self, below: Below, arrived: Arrived, effects: &mut Effects) {
        if self.remote.is_some_and(|remote| remote != arrived.from) {
            // It came before the socket was connected to somebody else.
            self.took(below, arrived.data.len(), effects);
            return;
        }
        self.received.push_back(arrived);
        self.readers.wake(&mut effects.woken);
    }

    pub(crate) fn failed(&mut self, error: io::Error, effects: &mut Effects) {
        self.error = Some(error);
        self.readers.wake(&mut effects.woken);
    }

    pub(crate) fn is_readable(&self) -> bool {
        !self.received.is_empty() || self.error.is_some()
    }

    pub(crate) fn take_error(&mut self) -> Option<io::Error> {
        self.error.take()
    }

    /// The next datagram, which `take` gets; it stays where `is_peek`. `WouldBlock` where there is none.
    pub(crate) fn read<T>(
        &mut self,
        is_peek: bool,
        take: impl FnOnce(&Arrived) -> T,
        effects: &mut Effects,
    ) -> io::Result<T> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let first = self.received.front().ok_or(io::ErrorKind::WouldBlock)?;
        let taken = take(first);
        let (is_v4, octets) = (first.to.is_ipv4(), first.data.len());
        if !is_peek {
            self.received.pop_front();
            // The one of IPv4 is first, where there are two.
            let below = if is_v4 { self.ports.first() } else { self.ports.last() };
            if let Some(below) = below.map(|it| it.below) {
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
            && let Some(session) = port.provider
        {
            let credit = Credit::octets(core::mem::take(&mut port.taken));
            effects.requests.push_back((port.below, Request::Credit { session, credit }));
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
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let to = to.or(self.remote).ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotConnected, "the socket is not connected, and no address was given")
        })?;
        if octets.len() > MOST {
            let text = format!("{} octets are more than a datagram can carry, which is {MOST}", octets.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let is_broadcast = matches!(to, SocketAddr::V4(it) if it.ip().is_broadcast());
        if is_broadcast && !self.broadcast {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "broadcasts are not allowed on this socket"));
        }
        let port = if to.is_ipv4() { self.ports.first() } else { self.ports.last() };
        let port = port.ok_or_else(error::is_gone)?;
        let mut how = self.how;
        if let Some(ecn) = ecn {
            how.tos = how.tos & !ECN | ecn & ECN;
        }
        if to.ip().is_multicast() {
            how.ttl = self.multicast_ttl;
        }
        let own = source.unwrap_or_else(|| self.local.ip());
        let own = if own.is_ipv4() == to.is_ipv4() { own } else { unspecified(to.is_ipv4()) };
        let unit = Unit {
            source: Address::from(SocketAddr::new(own, self.local.port())),
            destination: Address::from(to),
            options: UnitOptions::of(how),
            ..Unit::of(Message::from_octets(octets))
        };
        effects.requests.push_back((port.below, Request::Unit(Box::new(unit))));
        Ok(octets.len())
    }

    /// Gives the port back. True where all that had to be said has been said.
    pub(crate) fn close(&mut self, effects: &mut Effects) -> bool {
        self.is_closing = true;
        self.received.clear();
        for port in &mut self.ports {
            if let Some(session) = port.provider.take() {
                let abort = Request::Abort { session, reason: Reason::User, data: None };
                effects.requests.push_back((port.below, abort));
            }
        }
        self.ports.iter().all(|port| port.answered)
    }

    /// Octets that have come and were not read.
    pub(crate) fn unread(&self) -> usize {
        self.received.iter().map(|it| it.data.len()).sum()
    }

    pub(crate) fn wait_to_read(&mut self, waker: &Waker, effects: &mut Effects) {
        self.readers.register(waker, &mut effects.woken);
    }
}
