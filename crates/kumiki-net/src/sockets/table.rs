//! All sockets of one host.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::collections::BTreeMap;
use std::io;

use kumiki_graph::sessions::Sessions;
use kumiki_graph::{Address, Below, Coalesce, Handle, Indication, Instant, Mode, Open, Quality, Reason, Request, Rng};
use kumiki_inet::tcp::Withdrawn;

use super::datagrams::{Datagrams, unspecified};
use super::error;
use super::gateway::{Flow, Gateway, Offer};
#[cfg(all(feature = "host", target_os = "linux"))]
use super::guests::Guests;
use super::listener::Listener;
use super::ports::{Bound, Ports, Terms};
use super::stream::{Effects, Phase, Stream};
use super::wakers::Wakers;
use super::ways::{self, OwnLine};

/// As tokio has it.
const BACKLOG: u32 = 1024;

/// What a handle names.
#[derive(Debug)]
pub(crate) enum Socket {
    Stream(Box<Stream>),
    Listener(Box<Listener>),
    Datagrams(Box<Datagrams>),
    /// The gateway, which the table itself has.
    Gateway,
    Offer(Box<Offer>),
    Flow(Box<Flow>),
}

/// The layers that the sockets of a host stand on. What is not there the host does not have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Layers {
    pub(crate) tcp: Option<Below>,
    pub(crate) tcp_v6: Option<Below>,
    pub(crate) udp: Option<Below>,
    pub(crate) udp_v6: Option<Below>,
    /// What TCP has of room for what was not read where nobody says, in octets.
    pub(crate) receive_buffer: u32,
    /// And what it does with small segments.
    pub(crate) coalesce: Option<Coalesce>,
    /// TCP is told of all that was read, and not only where it matters: who ends connections when a process has gone
    /// must know whether it had read all.
    pub(crate) hears_all: bool,
}

/// How many sockets there are, of which kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SocketCounts {
    /// Connections that somebody has or waits for.
    pub streams: usize,
    /// Connections that nobody has any more, and that TCP is still ending.
    pub orphans: usize,
    /// Sockets that listen.
    pub listeners: usize,
    /// UDP sockets.
    pub udp: usize,
    /// Calls that a gateway has not answered.
    pub offers: usize,
    /// Flows of UDP through a gateway.
    pub flows: usize,
    /// What these hold of datagrams that nobody has read, in octets of memory.
    pub queued: usize,
    /// Programs of other processes that are attached.
    pub programs: usize,
    /// Their sockets, and connections of theirs that TCP is still ending.
    pub guests: usize,
}

impl SocketCounts {
    /// These and those of another stack of the same host. A listener is a part in each, and is counted where it has
    /// been bound.
    pub(crate) const fn with(self, other: Self) -> Self {
        Self {
            streams: self.streams + other.streams,
            orphans: self.orphans + other.orphans,
            listeners: self.listeners + other.listeners,
            udp: self.udp + other.udp,
            offers: self.offers + other.offers,
            flows: self.flows + other.flows,
            queued: self.queued + other.queued,
            programs: self.programs + other.programs,
            guests: self.guests + other.guests,
        }
    }
}

/// All sockets of one host.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) sockets: Sessions<Socket>,
    pub(super) layers: Layers,
    /// The host's own addresses, with the loopback addresses left out.
    pub(super) addresses: Vec<IpAddr>,
    /// From which of them what goes where is sent, as IP has it: networks, each with the length of its prefix and the
    /// address.
    pub(crate) sources: Vec<(IpAddr, u8, IpAddr)>,
    /// From where these two come: what is on each line.
    pub(crate) lines: Vec<OwnLine>,
    /// Another number each time that something of that changes, and who waits for it.
    pub(crate) network_version: u64,
    pub(super) network_watchers: Wakers,
    /// Whether a server is asked for an address.
    pub(crate) asks_server: bool,
    /// Whether all ways are known here.
    pub(crate) knows_ways: bool,
    pub(super) tcp_ports: Ports,
    pub(super) udp_ports: Ports,
    /// Who listens at an address: the first of them has TCP's callers, for all.
    pub(super) listeners: BTreeMap<SocketAddr, Vec<Handle>>,
    /// Which UDP sockets have a port.
    pub(super) udp_sockets: BTreeMap<u16, Vec<Handle>>,
    /// Which of them have sent since the layers last ran; one may be there several times.
    pub(super) senders: Vec<Handle>,
    /// In which groups they are, and how many of them.
    pub(super) groups: BTreeMap<IpAddr, usize>,
    pub(super) rng: Rng,
    /// Callers that may wait to be accepted where a listener does not say.
    pub(crate) backlog: u32,
    pub(crate) effects: Effects,
    /// The node has been told that there is something for it.
    pub(crate) has_rung: bool,
    /// The host is gone.
    pub(crate) is_down: bool,
    /// And why, where that is known.
    why: Option<String>,
    /// Where the layers take what is for any address.
    pub(super) gateway: Option<Box<Gateway>>,
    /// When the layers last ran.
    pub(super) now: Instant,
    /// The host has several stacks, of which this is one's.
    pub(crate) is_one_of_several: bool,
    /// How many sockets there may be, where the layers are another process's.
    pub(crate) most: Option<usize>,
    /// Programs that are attached.
    #[cfg(all(feature = "host", target_os = "linux"))]
    pub(super) guests: Guests,
}

impl Table {
    pub(crate) fn new(layers: Layers, addresses: Vec<IpAddr>, rng: Rng) -> Self {
        Self {
            sockets: Sessions::default(),
            layers,
            addresses,
            sources: Vec::new(),
            lines: Vec::new(),
            network_version: 0,
            network_watchers: Wakers::default(),
            asks_server: false,
            knows_ways: false,
            tcp_ports: Ports::default(),
            udp_ports: Ports::default(),
            listeners: BTreeMap::new(),
            udp_sockets: BTreeMap::new(),
            senders: Vec::new(),
            groups: BTreeMap::new(),
            rng,
            backlog: BACKLOG,
            effects: Effects::default(),
            has_rung: false,
            is_down: false,
            why: None,
            gateway: None,
            now: Instant::ZERO,
            is_one_of_several: false,
            most: None,
            #[cfg(all(feature = "host", target_os = "linux"))]
            guests: Guests::default(),
        }
    }

    fn gone(&self) -> io::Error {
        error::is_gone(self.why.as_deref())
    }

    pub(super) fn check_up(&self) -> io::Result<()> {
        if self.is_down { Err(self.gone()) } else { Ok(()) }
    }

    /// From now on somebody else knows which ports are in use: of TCP, of UDP.
    #[cfg(all(feature = "host", target_os = "linux"))]
    pub(crate) fn have_ports_of(&mut self, registries: [std::sync::Arc<dyn super::ports::Registry>; 2]) {
        let [tcp, udp] = registries;
        (self.tcp_ports, self.udp_ports) = (Ports::of(tcp), Ports::of(udp));
    }

    /// Whether there may be one more socket.
    pub(super) fn check_place(&self) -> io::Result<()> {
        let is_full = self.most.is_some_and(|most| self.sockets.len() >= most);
        if is_full { Err(error::Errno::NoBuffers.into()) } else { Ok(()) }
    }

    /// Whether a socket can have this address.
    pub(super) fn check_own(&self, ip: IpAddr) -> io::Result<()> {
        let own = ip.is_unspecified() || ip.is_loopback() || is_many(ip) || self.addresses.contains(&ip);
        if own {
            return Ok(());
        }
        let all: Vec<String> = self.addresses.iter().map(ToString::to_string).collect();
        let has = if all.is_empty() { "none of its own".to_owned() } else { all.join(", ") };
        Err(io::Error::new(
            io::ErrorKind::AddrNotAvailable,
            format!("{ip} is no address of this host, which has {has}"),
        ))
    }

    /// Whether a line leads to `ip`, as far as that is known here: routers of IPv6 announce themselves.
    pub(super) fn check_way(&self, ip: IpAddr) -> io::Result<()> {
        let leads = |(network, prefix, _): &(IpAddr, u8, IpAddr)| is_in(ip, *network, *prefix);
        // That there is no IPv4 is told otherwise.
        let is_judged = ip.is_ipv4() && self.layers.tcp.is_some() && self.knows_ways;
        if !is_judged || ip.is_loopback() || is_many(ip) || self.sources.iter().any(leads) {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::NetworkUnreachable, format!("no line of this host leads to {ip}")))
    }

    /// Takes a local address of TCP: of our choice where it has no port.
    pub(crate) fn bind_tcp(&mut self, local: SocketAddr, terms: Terms) -> io::Result<Bound> {
        self.check_up()?;
        self.check_place()?;
        self.check_own(unmapped(local).ip())?;
        self.tcp_ports.take(local, terms, &mut self.rng)
    }

    pub(crate) fn unbind_tcp(&mut self, bound: Bound) {
        self.tcp_ports.give(bound);
    }

    /// Those of `v4` and `v6` that are for what `local` takes.
    pub(super) fn layers_of(local: SocketAddr, v4: Option<Below>, v6: Option<Below>) -> io::Result<Vec<Below>> {
        let is_both = local.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        let is_v4 = unmapped(local).is_ipv4();
        let v4 = v4.filter(|_| is_v4 || is_both);
        let v6 = v6.filter(|_| !is_v4);
        let layers: Vec<Below> = v4.into_iter().chain(v6).collect();
        if layers.is_empty() { Err(no_such_version(local)) } else { Ok(layers) }
    }

    // TCP.

    /// Calls `remote`, from `local` where that was taken.
    pub(crate) fn connect(&mut self, bound: Option<Bound>, remote: SocketAddr, quality: Quality) -> io::Result<Handle> {
        self.check_up()?;
        self.check_place()?;
        let mapped = remote != unmapped(remote);
        let to = reached(unmapped(remote));
        if is_many(to.ip()) {
            return Err(io::Error::new(io::ErrorKind::NetworkUnreachable, format!("{to} is many, and TCP is of two")));
        }
        if to.port() == 0 {
            return Err(io::Error::new(io::ErrorKind::ConnectionRefused, "nothing can listen on port 0"));
        }
        let below = if to.is_ipv4() { self.layers.tcp } else { self.layers.tcp_v6 };
        let below = below.ok_or_else(|| no_such_version(to))?;
        self.check_way(to.ip())?;
        let from = bound.map(|bound| self.own_for(bound.local, remote));
        if from.is_some_and(|it| it.is_ipv4() != to.is_ipv4()) {
            return Err(error::Errno::AddressFamily.into());
        }
        if let Some(from) = from {
            self.check_still_own(from.ip())?;
        }
        let unknown = SocketAddr::new(unspecified(to.is_ipv4()), 0);
        let mut stream = Stream::new(below, (from.unwrap_or(unknown), to), quality, &self.layers);
        (stream.bound, stream.mapped) = (bound.map(Box::new), mapped);
        let user = self.sockets.insert(Socket::Stream(Box::new(stream)));
        let open = Open {
            user,
            mode: Mode::Active,
            local: from.map_or(Address::NONE, Address::from),
            remote: Address::from(to),
            quality,
            ..Open::default()
        };
        self.effects.requests.push_back((below, Request::Open(Box::new(open))));
        Ok(user)
    }

    /// `local` as the address of a call to `remote`: where the host is several stacks, whose the call is follows from
    /// both, and so the address is chosen here.
    pub(crate) fn own_for(&self, local: SocketAddr, remote: SocketAddr) -> SocketAddr {
        let to = reached(unmapped(remote)).ip();
        let local = of_layer(local, to.is_ipv4());
        let is_chosen = self.is_one_of_several && local.ip().is_unspecified() && local.is_ipv4() == to.is_ipv4();
        if is_chosen { SocketAddr::new(self.source_for(to), local.port()) } else { local }
    }

    /// What becomes of small segments where a socket has `TCP_NODELAY`, and where it has not.
    pub(crate) fn coalesce(&self, nodelay: bool) -> Coalesce {
        let held = self.layers.coalesce.filter(|it| *it != Coalesce::Never).unwrap_or(Coalesce::Minshall);
        if nodelay { Coalesce::Never } else { held }
    }

    /// Whether small segments go at once by what somebody has `asked`, if at all.
    pub(crate) fn is_nodelay(&self, asked: Option<Coalesce>) -> bool {
        asked.or(self.layers.coalesce) == Some(Coalesce::Never)
    }

    pub(crate) fn stream(&mut self, handle: Handle) -> io::Result<(&mut Stream, &mut Effects)> {
        match self.sockets.get(handle) {
            Some(Socket::Stream(stream)) => Ok((stream, &mut self.effects)),
            Some(_) | None => Err(error::is_gone(None)),
        }
    }

    pub(crate) fn listener(&mut self, handle: Handle) -> io::Result<(&mut Listener, &mut Effects)> {
        match self.sockets.get(handle) {
            Some(Socket::Listener(listener)) => Ok((listener, &mut self.effects)),
            Some(_) | None => Err(error::is_gone(None)),
        }
    }

    pub(crate) fn datagrams(&mut self, handle: Handle) -> io::Result<(&mut Datagrams, &mut Effects)> {
        match self.sockets.get(handle) {
            Some(Socket::Datagrams(socket)) => Ok((socket, &mut self.effects)),
            Some(_) | None => Err(error::is_gone(None)),
        }
    }

    // What the layers below say.

    pub(crate) fn heard(&mut self, below: Below, indication: Indication) {
        #[cfg(all(feature = "host", target_os = "linux"))]
        let Some(indication) = self.heard_of_guest(indication) else {
            return;
        };
        match indication {
            Indication::Data { session, data, .. } | Indication::Expedited { session, data } => {
                self.on_stream(session, |stream, effects| stream.arrived(data, effects));
            }
            Indication::Credit { session, credit } => {
                self.on_stream(session, |stream, effects| stream.may_send(credit.octets, effects));
            }
            Indication::Opened(opened) => self.opened(below, &opened),
            Indication::Offered(offered) if Some(offered.user) == self.gateway.as_ref().map(|it| it.handle) => {
                self.offered_any(below, &offered);
            }
            Indication::Offered(offered) => self.offered(below, offered),
            Indication::Released { session, .. } => {
                self.on_stream(session, Stream::released_by_peer);
            }
            Indication::Closed { session } => self.ended(below, session, None),
            Indication::Aborted { session, reason, .. } => self.ended(below, session, Some(reason)),
            // A stream that was reset is not one any more.
            Indication::Reset { session, reason } => self.ended(below, session, Some(reason)),
            Indication::Unit(unit) => self.datagram(below, *unit),
            Indication::Report(report) => {
                if let Some(what) = ways::special(&report) {
                    match what.get::<Withdrawn>() {
                        Some(gone) => self.withdrawn(below, gone.session),
                        None => self.told(below, what),
                    }
                }
                self.unreachable(&report);
                #[cfg(all(feature = "host", target_os = "linux"))]
                self.unreachable_for_guests(&report);
            }
            Indication::Notice { .. } | Indication::Special { .. } => {}
        }
    }

    fn on_stream(&mut self, handle: Handle, act: impl FnOnce(&mut Stream, &mut Effects)) {
        if let Some(Socket::Stream(stream)) = self.sockets.get(handle) {
            act(stream, &mut self.effects);
            if stream.orphan && stream.phase == Phase::Ended {
                self.forget(handle);
            }
        }
    }

    fn opened(&mut self, below: Below, opened: &kumiki_graph::Opened) {
        let provider = opened.provider;
        match self.sockets.get(opened.user) {
            Some(Socket::Stream(stream)) => {
                if let Some(local) = opened.local.socket() {
                    stream.local = local;
                }
                stream.opened(provider, &mut self.effects);
            }
            Some(Socket::Listener(listener)) => listener.opened(below, provider),
            Some(Socket::Datagrams(socket)) => socket.opened(below, provider, &mut self.effects),
            Some(Socket::Gateway) => self.gateway_opened(below, provider),
            Some(Socket::Offer(_) | Socket::Flow(_)) | None => {}
        }
    }

    fn ended(&mut self, below: Below, handle: Handle, reason: Option<Reason>) {
        match (self.sockets.get(handle), reason) {
            (Some(Socket::Stream(stream)), reason) => {
                stream.ended(reason, &mut self.effects);
                if stream.orphan {
                    self.forget(handle);
                }
            }
            (Some(Socket::Listener(listener)), Some(reason)) => listener.refused(below, reason, &mut self.effects),
            (Some(Socket::Datagrams(socket)), Some(reason)) => socket.refused(below, &reason, &mut self.effects),
            (Some(_) | None, _) => {}
        }
    }

    /// Nobody has the socket any more.
    pub(crate) fn close(&mut self, handle: Handle) {
        let is_over = match self.sockets.get(handle) {
            Some(Socket::Stream(stream)) => stream.close(handle, &mut self.effects),
            Some(Socket::Listener(listener)) => {
                let (local, waiting) = (listener.key(), core::mem::take(&mut listener.ready));
                listener.close(handle, &mut self.effects);
                for accepted in waiting {
                    if let Ok((stream, effects)) = self.stream(accepted) {
                        stream.reset(effects);
                        self.forget(accepted);
                    }
                }
                self.leave_group(local, handle);
                true
            }
            Some(Socket::Datagrams(socket)) => {
                socket.close(handle, &mut self.effects);
                true
            }
            Some(Socket::Gateway) => {
                self.close_gateway();
                false
            }
            Some(Socket::Offer(_)) => {
                self.refuse_offer(handle, super::Answer::Reset);
                false
            }
            Some(Socket::Flow(_)) => {
                self.forget_flow(handle);
                false
            }
            None => false,
        };
        if is_over {
            self.forget(handle);
        }
    }

    pub(super) fn forget(&mut self, handle: Handle) {
        match self.sockets.remove(handle) {
            Some(Socket::Stream(stream)) => {
                if let Some(bound) = stream.bound {
                    self.tcp_ports.give(*bound);
                }
            }
            Some(Socket::Listener(listener)) => self.tcp_ports.give(listener.bound),
            Some(Socket::Datagrams(socket)) => self.forget_udp(handle, &socket),
            Some(Socket::Gateway | Socket::Offer(_) | Socket::Flow(_)) | None => {}
        }
    }

    /// The host is gone, with all its layers, and perhaps it is known why: every socket has ended. Only the first such
    /// word counts.
    pub(crate) fn go_down(&mut self, why: Option<String>) {
        if core::mem::replace(&mut self.is_down, true) {
            return;
        }
        self.why = why;
        self.network_watchers.wake(&mut self.effects.woken);
        for handle in self.sockets.handles() {
            match self.sockets.get(handle) {
                Some(Socket::Stream(stream)) => {
                    stream.lose_host(error::is_gone(self.why.as_deref()), &mut self.effects);
                    if stream.orphan {
                        self.forget(handle);
                    }
                }
                Some(Socket::Listener(listener)) => {
                    // Those that share an address with another have no layers of their own.
                    listener.error = Some(Reason::Down);
                    listener.acceptors.wake(&mut self.effects.woken);
                }
                Some(Socket::Datagrams(socket)) => {
                    socket.lose_host(error::is_gone(self.why.as_deref()), &mut self.effects);
                }
                Some(Socket::Gateway) => self.gateway_down(),
                Some(Socket::Offer(offer)) => offer.waiting.wake(&mut self.effects.woken),
                Some(Socket::Flow(flow)) => flow.readers.wake(&mut self.effects.woken),
                None => {}
            }
        }
        #[cfg(all(feature = "host", target_os = "linux"))]
        self.guests_down();
        self.effects.requests.clear();
    }

    pub(crate) fn counts(&mut self) -> SocketCounts {
        let mut counts = SocketCounts::default();
        #[cfg(all(feature = "host", target_os = "linux"))]
        {
            (counts.programs, counts.guests) = self.guest_counts();
        }
        for handle in self.sockets.handles() {
            match self.sockets.get(handle) {
                Some(Socket::Stream(stream)) if stream.orphan => counts.orphans += 1,
                Some(Socket::Stream(_)) => counts.streams += 1,
                Some(Socket::Listener(it)) => counts.listeners += usize::from(!it.bound.is_part()),
                Some(Socket::Datagrams(_)) => counts.udp += 1,
                Some(Socket::Offer(_)) => counts.offers += 1,
                Some(Socket::Flow(flow)) => {
                    counts.flows += 1;
                    counts.queued += flow.held();
                }
                Some(Socket::Gateway) | None => {}
            }
        }
        counts
    }
}

impl Stream {
    /// An address of it, as its socket shows it.
    pub(crate) const fn shown(&self, address: SocketAddr) -> SocketAddr {
        match address.ip() {
            IpAddr::V4(ip) if self.mapped => SocketAddr::new(IpAddr::V6(ip.to_ipv6_mapped()), address.port()),
            IpAddr::V4(_) | IpAddr::V6(_) => address,
        }
    }
}

/// An address of IPv4 that is written as one of IPv6 (RFC 4291 section 2.5.5.2) as what it is.
pub(crate) fn unmapped(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Whether `address` is in the network that so many leading bits of `network` name.
pub(super) fn is_in(address: IpAddr, network: IpAddr, prefix: u8) -> bool {
    let (differs, bits) = match (address, network) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (u128::from(a.to_bits() ^ b.to_bits()), 32_u32),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits(), 128),
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => return false,
    };
    differs.checked_shr(bits.saturating_sub(prefix.into())).unwrap_or(0) == 0
}

/// A group of hosts, or all.
pub(super) fn is_many(ip: IpAddr) -> bool {
    ip.is_multicast() || ip == IpAddr::V4(Ipv4Addr::BROADCAST)
}

/// To nobody in particular is to ourselves, as in Linux.
pub(crate) const fn reached(remote: SocketAddr) -> SocketAddr {
    let own = match remote.ip() {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
    };
    if remote.ip().is_unspecified() { SocketAddr::new(own, remote.port()) } else { remote }
}

/// `local` as the layer of IPv4, or that of IPv6, has it.
pub(super) fn of_layer(local: SocketAddr, is_v4: bool) -> SocketAddr {
    let local = unmapped(local);
    if is_v4 && local.ip().is_unspecified() { SocketAddr::new(unspecified(true), local.port()) } else { local }
}

fn no_such_version(address: SocketAddr) -> io::Error {
    let version = if address.is_ipv4() { 4 } else { 6 };
    io::Error::new(io::ErrorKind::Unsupported, format!("this host has no IPv{version}"))
}
