//! User datagrams: ports, and a checksum.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 768, RFC 1122 section 4.1, RFC 8200 section 8.1; ports chosen by RFC 6056 algorithm 1 |
//! | Above | any number of users, each with any number of ports |
//! | Below | IP of either version |
//! | Left out | both versions of IP at once (one below each UDP); datagrams over IPv6 without a checksum (RFC 6935); UDP-Lite; IP options; credit for what is sent |
//!
//! # For users
//!
//! A port is opened like a session and then used with unit data:
//!
//! - [`Request::Open`] with [`Mode::Passive`] takes `local`, a [`SocketAddr`]: port 0 lets us choose, the unspecified
//!   address takes what comes to any address of ours (:: of both versions, 0.0.0.0 of IPv4). With [`Mode::Active`] also
//!   `remote`: only that peer's datagrams are taken. [`Indication::Opened`] tells the port; [`Indication::Aborted`]
//!   says [`Reason::BadAddress`] where it is taken.
//! - [`Sharing`](kumiki_wire::inet::Sharing), in the quality of an open, says whether others may have the same address.
//!   What comes is for the socket that has named its peer, before one that has not; of these for the one that has named
//!   the address, before one that takes any. What was sent to a group or to all hosts is for every socket that it fits;
//!   [`Manage::Group`] says which groups are wanted.
//! - [`IpQuality::interface`] has a socket be of one interface, so that others may have the same port on others. With
//!   each unit it says from which of our addresses that is; to all hosts it may be from none (0.0.0.0).
//! - [`Request::Unit`] sends from the socket `session`, or where that is not said from `source`, a socket that this
//!   user has opened (where it is [`Address::NONE`]: the first one), to the socket `destination` ([`Address::NONE`]:
//!   the peer of the socket).
//! - [`Indication::Unit`] has the user's handle of the socket as `session`, the peer as `source`, and as `destination`
//!   the address that it was sent to.
//! - [`Peer`], as [`Manage::Special`], gives a socket another peer, or none, from then on.
//! - A port that was opened with a `receive_buffer` takes so many octets of user data; what finds no room is dropped,
//!   as at a socket. [`Request::Credit`] says how many the user has taken out of it. Without a `receive_buffer` the
//!   user has all the room it needs.
//! - [`Request::Release`] or [`Request::Abort`] gives the port back; the first is confirmed by [`Indication::Closed`].
//!
//! - [`AllPorts`] opens a socket for every port that nobody else has.
//!
//! ICMP errors come as [`Report::Unreachable`] with sockets for addresses, its `start` being the user's data.
//!
//! The checksum covers our own address, so where the user has not chosen one IP is asked first; up to 64 units wait for
//! its answer, which is remembered.

use crate::settable::Settings;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use kumiki_wire::numbering::IP_PROTOCOL;
use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::{
    Above, Address, Below, Context, Handle, Indication, Key, Manage, Mode, Open, Opened, Problem, Protocol, Reason,
    Report, Request, Service, Shape, Unit, UnitIndication, UnitOptions, Work,
};
use kumiki_octets::{Payload, Sum};
use kumiki_wire::inet::ipv4::protocol;
use kumiki_wire::inet::udp::{self, Header, LEN};
use kumiki_wire::inet::{IpParameters, IpQuality, icmpv4, icmpv6};

use crate::groups::Groups;
use crate::internet::{is_intact, readdress};
use kumiki_graph::users::tell_all;

mod sockets;
#[cfg(test)]
mod tests;

use sockets::{Socket, Sockets};

/// The most octets of user data in a datagram.
pub const MAX_DATA: u32 = 65535 - 20 - 8;

/// How many units may wait for IP to tell their source.
const WAITING: usize = 64;
/// For how many peers the source is remembered.
const SOURCES: usize = 256;
const BELOW: Below = Below(0);

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// Whether datagrams are sent with a checksum over IPv4; received ones are checked where they have one.
    ///
    /// Over IPv6 they always are, and must have one.
    pub checksum: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { checksum: true }
    }
}

/// What happened, under the names of RFC 4113.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Handed to users.
    pub in_datagrams: u64,
    /// Dropped: nobody has opened the port.
    pub no_ports: u64,
    /// Dropped: header, length or checksum wrong.
    pub in_errors: u64,
    /// Dropped: no room in the port's receive buffer (no object of RFC 4113).
    pub in_full: u64,
    /// Sent.
    pub out_datagrams: u64,
    /// Dropped on the way out: too long, no such socket, too many waiting.
    pub out_discards: u64,
}

/// The only peer whose datagrams a socket takes, and to which it sends where nobody says otherwise; `None`: any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer {
    /// Our handle of the socket.
    pub session: Handle,
    /// Its peer.
    pub remote: Option<SocketAddr>,
}

impl Payload for Peer {}

/// Among the parameters of a passive open: the socket takes what comes to every port that no other socket has, and
/// sends from the port and the address that [`Unit::source`] says. A unit that its user will not have goes back as
/// [`Manage::Refuse`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AllPorts;

impl Payload for AllPorts {}

/// The protocol.
#[derive(Debug, Default)]
pub struct Udp {
    config: Config,
    sockets: Sockets,
    /// Which of our addresses goes with a peer's.
    sources: BTreeMap<IpAddr, IpAddr>,
    /// Units whose source IP has been asked for: the socket as it was when they were sent, peer, unit. They go also
    /// where it was closed meanwhile.
    waiting: VecDeque<(Socket, SocketAddr, Box<Unit>)>,
    groups: Groups<IpAddr>,
    counters: Counters,
}

/// The sum of what stands before the header to be summed (RFC 768, RFC 8200 section 8.1). Addresses of two versions do
/// not meet in one datagram.
fn pseudo(source: IpAddr, destination: IpAddr, length: u16) -> Sum {
    let of = |address| match address {
        IpAddr::V4(address) => Sum::ZERO.add_u32(address.to_bits()),
        IpAddr::V6(address) => Sum::of(&address.octets()),
    };
    of(source).plus(of(destination)).add_u16(protocol::UDP.into()).add_u16(length)
}

/// Nobody has opened the port, as the ICMP of `ip`'s version says it.
const fn port_unreachable(ip: IpAddr) -> Problem {
    let (kind, code) = match ip {
        IpAddr::V4(_) => (3, icmpv4::unreachable::PORT),
        IpAddr::V6(_) => (icmpv6::kind::UNREACHABLE, icmpv6::unreachable::PORT),
    };
    Problem::Hard { kind, code }
}

impl Udp {
    /// UDP as `config` says.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, ..Self::default() }
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    fn open(&mut self, from: Above, open: &Open, cx: &mut Context<'_>) {
        let any = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0);
        let local = if open.local == Address::NONE { Some(any) } else { open.local.socket() };
        let remote = match open.mode {
            Mode::Passive { .. } => Some(None),
            // A peer without a port is none.
            Mode::Active => open.remote.socket().filter(|it| it.port() != 0).map(Some),
        };
        let IpQuality { sharing, interface, .. } = open.quality.special.into();
        let has_all = open.parameters.get::<AllPorts>().is_some();
        let port = local.and_then(|local| {
            if has_all {
                self.sockets.all_ports(local.ip())
            } else {
                self.sockets.free_port(local, (sharing, interface), cx.rng())
            }
        });
        let (Some(local), Some(remote), Some(port)) = (local, remote, port) else {
            cx.up(from, Indication::Aborted { session: open.user, reason: Reason::BadAddress, data: None });
            return;
        };
        let local = SocketAddr::new(local.ip(), port);
        let room = open.quality.receive_buffer.map(u64::from);
        let socket = Socket { user: from, handle: open.user, local, remote, sharing, interface, room };
        let provider = self.sockets.keep(socket);
        cx.up(
            from,
            Indication::Opened(Box::new(Opened {
                user: open.user,
                provider,
                local: Address::from(local),
                remote: remote.map_or(Address::NONE, Address::from),
                unit: MAX_DATA,
                data: None,
                ..Opened::default()
            })),
        );
    }

    fn discard(&mut self, why: &'static str, cx: &mut Context<'_>) {
        self.counters.out_discards += 1;
        cx.drop(why);
    }

    fn send(&mut self, from: Above, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let Some(index) = self.sockets.sending(from, unit.session, unit.source.socket()) else {
            self.discard("no such socket", cx);
            return;
        };
        let Some(socket) = self.sockets.socket(index).copied() else {
            return;
        };
        let Some(peer) = unit.destination.socket().or(socket.remote) else {
            self.discard("destination is not an IP address and a port", cx);
            return;
        };
        let chosen = unit.source.socket().map(|source| source.ip());
        // A group is nobody's source.
        let may_send = |it: &IpAddr| !(it.is_unspecified() || it.is_multicast() || *it == Ipv4Addr::BROADCAST);
        if socket.interface.is_some() {
            unit.options.special = IpParameters { interface: socket.interface, ..unit.options.special.into() }.into();
        }
        // Who has no address on an interface says so, to all there.
        let nobody = chosen.filter(|it| {
            let is_nobody = *it == Ipv4Addr::UNSPECIFIED && peer.ip() == Ipv4Addr::BROADCAST;
            is_nobody && socket.interface.is_some()
        });
        let own = nobody
            .or_else(|| chosen.filter(may_send))
            .or_else(|| Some(socket.local.ip()).filter(may_send))
            .or_else(|| self.sources.get(&peer.ip()).copied());
        let port = match (socket.local.port(), unit.source.socket()) {
            (0, Some(source)) => source.port(),
            (port, _) => port,
        };
        let Some(own) = own else {
            if socket.interface.is_some() {
                // IP tells which address goes with a peer by its routes, of which this one goes by none.
                self.discard("a socket of one interface says with each unit where it is from", cx);
                return;
            }
            self.ask(socket, peer, unit, cx);
            return;
        };
        self.transmit(SocketAddr::new(own, port), peer, unit, cx);
    }

    /// A user will not have a datagram: it goes back to IP as it came.
    fn refuse(&self, mut unit: Box<Unit>, problem: Problem, cx: &mut Context<'_>) {
        let (Some(source), Some(destination)) = (unit.source.socket(), unit.destination.socket()) else {
            return;
        };
        let length = u16::try_from(unit.data.len().saturating_add(LEN)).unwrap_or(u16::MAX);
        let mut header =
            Header { source_port: source.port(), destination_port: destination.port(), length, checksum: 0 };
        let mut octets = [0; LEN];
        header.emit(&mut octets);
        let sum = pseudo(source.ip(), destination.ip(), length).plus(Sum::of(&octets)).plus(unit.data.sum());
        header.checksum = udp::on_wire(sum.checksum());
        header.emit(unit.data.push_header(LEN));
        unit.source = source.ip().into();
        unit.destination = destination.ip().into();
        cx.down(BELOW, Request::Manage(Box::new(Manage::Refuse { unit, problem })));
    }

    /// Asks IP for the source that goes with `peer`; `unit` waits.
    fn ask(&mut self, socket: Socket, peer: SocketAddr, unit: Box<Unit>, cx: &mut Context<'_>) {
        if self.waiting.len() >= WAITING {
            self.discard("too many units wait for their source", cx);
            return;
        }
        let to = peer.ip().into();
        self.waiting.push_back((socket, peer, unit));
        cx.down(BELOW, Request::Manage(Box::new(Manage::Route { to })));
    }

    fn transmit(&mut self, source: SocketAddr, peer: SocketAddr, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let data = &mut unit.data;
        let length = u16::try_from(data.len().saturating_add(LEN));
        let Some(length) = length.ok().filter(|&it| u32::from(it) <= MAX_DATA + 8) else {
            self.discard("longer than a datagram can be", cx);
            return;
        };
        if source.is_ipv4() != peer.is_ipv4() {
            self.discard("source and destination of two versions of IP", cx);
            return;
        }
        let mut header = Header { source_port: source.port(), destination_port: peer.port(), length, checksum: 0 };
        if self.config.checksum || peer.is_ipv6() {
            cx.charge(Work::Sum, data.unsummed() as u64);
            let mut octets = [0; LEN];
            header.emit(&mut octets);
            let sum = pseudo(source.ip(), peer.ip(), length).plus(Sum::of(&octets)).plus(data.sum());
            header.checksum = udp::on_wire(sum.checksum());
        }
        header.emit(data.push_header(LEN));
        let options = UnitOptions { under: None, ..unit.options };
        readdress(&mut unit, source.ip().into(), peer.ip().into(), options);
        self.counters.out_datagrams += 1;
        cx.down(BELOW, Request::Unit(unit));
    }

    /// IP's answer to [`Udp::ask`].
    fn answered(&mut self, to: Address, source: Address, cx: &mut Context<'_>) {
        let Some(to) = to.ip() else {
            return;
        };
        if let Some(source) = source.ip() {
            if self.sources.len() >= SOURCES {
                self.sources.clear();
            }
            self.sources.insert(to, source);
        }
        for (socket, peer, unit) in core::mem::take(&mut self.waiting) {
            if peer.ip() != to {
                self.waiting.push_back((socket, peer, unit));
                continue;
            }
            match source.ip() {
                Some(own) => {
                    let own = SocketAddr::new(own, socket.local.port());
                    self.transmit(own, peer, unit, cx);
                }
                None => {
                    self.discard("no route", cx);
                    let report = Report::Unreachable {
                        source: Address::from(socket.local),
                        destination: Address::from(peer),
                        problem: Problem::NoRoute,
                        start: unit.data,
                    };
                    cx.up(socket.user, Indication::Report(Box::new(report)));
                }
            }
        }
    }

    fn receive(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let (Some(source), Some(destination)) = (unit.source.ip(), unit.destination.ip()) else {
            return;
        };
        let total = unit.data.len();
        let Ok((header, _)) = Header::parse(unit.data.front_at_least(LEN), total) else {
            self.counters.in_errors += 1;
            cx.drop("header or length wrong");
            return;
        };
        let own = SocketAddr::new(destination, header.destination_port);
        let peer = SocketAddr::new(source, header.source_port);
        let by = IpParameters::from(unit.options.special).interface;
        let places = if unit.options.group {
            self.sockets.all(own, peer, by)
        } else {
            self.sockets.best(own, peer, by).into_iter().collect()
        };
        // What will be quoted is quoted whole.
        let whole = places.is_empty().then(|| unit.data.clone());
        unit.data.truncate(usize::from(header.length));
        // In IPv6 there is no header checksum to do without this one (RFC 8200 section 8.1).
        let summed = header.has_checksum() || destination.is_ipv6();
        let intact = header.has_checksum() && {
            let sum = pseudo(source, destination, header.length);
            is_intact(&mut unit.data, sum, cx)
        };
        if summed && !intact {
            self.counters.in_errors += 1;
            cx.drop("checksum wrong");
            return;
        }
        let Some((last, others)) = places.split_last() else {
            self.counters.no_ports += 1;
            cx.drop("port not open");
            if !unit.options.group {
                unit.data = whole.unwrap_or_default();
                let problem = port_unreachable(destination);
                let refuse = Manage::Refuse { unit, problem };
                cx.down(BELOW, Request::Manage(Box::new(refuse)));
            }
            return;
        };
        // The header was read, so it is there.
        let _ = unit.data.pop_header(LEN);
        unit.source = Address::from(peer);
        unit.destination = Address::from(own);
        unit.options.under = None;
        for place in others {
            self.deliver(*place, unit.clone(), cx);
        }
        self.deliver(*last, unit, cx);
    }

    /// Hands a datagram to the socket in a place, if it finds room there.
    fn deliver(&mut self, place: usize, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let Some(Socket { user, handle, .. }) = self.sockets.socket(place).copied() else {
            return;
        };
        if !self.sockets.fill(place, unit.data.len()) {
            self.counters.in_full += 1;
            cx.drop("receive buffer full");
            return;
        }
        unit.session = Some(handle);
        self.counters.in_datagrams += 1;
        cx.up(user, Indication::Unit(unit));
    }

    /// An ICMP error about a datagram of ours, whose beginning is `start`.
    fn hear_error(&self, report: Report, cx: &mut Context<'_>) {
        let Report::Unreachable { source, destination, problem, mut start } = report else {
            return;
        };
        let (Some(source), Some(destination)) = (source.ip(), destination.ip()) else {
            return;
        };
        // The length is that of the datagram, not of what is quoted.
        let Ok((header, _)) = Header::parse(start.front_at_least(LEN), usize::from(u16::MAX)) else {
            return;
        };
        let (own, peer) =
            (SocketAddr::new(source, header.source_port), SocketAddr::new(destination, header.destination_port));
        let socket = self.sockets.best(own, peer, None).and_then(|place| self.sockets.socket(place));
        let Some(user) = socket.map(|socket| socket.user) else {
            cx.drop("ICMP error for a port that is not open");
            return;
        };
        if let Problem::TooBig { mtu } = problem {
            // UDP does not know what it has sent; that the port is open is all that can be asked.
            let to = Address::from(destination);
            cx.down(BELOW, Request::Manage(Box::new(Manage::Narrow { to, mtu })));
        }
        let _ = start.pop(LEN);
        let report =
            Report::Unreachable { source: Address::from(own), destination: Address::from(peer), problem, start };
        cx.up(user, Indication::Report(Box::new(report)));
    }

    fn manage(&mut self, from: Above, manage: Manage, cx: &mut Context<'_>) {
        match manage {
            Manage::Limits => cx.down(BELOW, Request::Manage(Box::new(manage))),
            Manage::Group { group, member } => {
                let Some(ip) = group.ip() else {
                    cx.drop("a group is an IP address");
                    return;
                };
                let was_in = self.groups.contains(ip);
                self.groups.set(from, ip, member);
                let member = self.groups.contains(ip);
                if member != was_in {
                    cx.down(BELOW, Request::Manage(Box::new(Manage::Group { group, member })));
                }
            }
            Manage::Special(special) => match special.get::<Peer>() {
                Some(peer) => {
                    if let Some(socket) = self.sockets.own(from, peer.session) {
                        socket.remote = peer.remote;
                    }
                }
                // Of IP's own: what is sent after it goes from where it says.
                None => {
                    self.sources.clear();
                    cx.down(BELOW, Request::Manage(Box::new(Manage::Special(special))));
                }
            },
            Manage::Refuse { unit, problem } => self.refuse(unit, problem, cx),
            Manage::Session { .. } | Manage::Route { .. } | Manage::Advise { .. } | Manage::Narrow { .. } => {
                cx.drop("not a unit");
            }
        }
    }

    fn report(&mut self, report: Report, cx: &mut Context<'_>) {
        match report {
            Report::Route { to, source, .. } => self.answered(to, source, cx),
            Report::Unreachable { .. } => self.hear_error(report, cx),
            Report::Limits { unit, burst } => {
                let unit = unit.saturating_sub(8);
                tell_all(&Report::Limits { unit, burst }, cx);
            }
            Report::Up | Report::Down => {
                // Interfaces change, and sources with them.
                self.sources.clear();
                tell_all(&report, cx);
            }
            Report::Special(_) => {
                // So they do where addresses come and go.
                self.sources.clear();
                tell_all(&report, cx);
            }
        }
    }
}

impl Protocol for Udp {
    fn shape(&self) -> Shape {
        Shape {
            offers: Some(Service::UNIT_DATA),
            needs: &[Service::UNIT_DATA],
            below: (1, 1),
            keys: vec![Key::of(IP_PROTOCOL, protocol::UDP.into())],
        }
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request {
            Request::Unit(unit) => self.send(from, unit, cx),
            Request::Open(open) => self.open(from, &open, cx),
            Request::Release { session, .. } => {
                if let Some(socket) = self.sockets.close(from, session) {
                    let session = socket.handle;
                    cx.up(from, Indication::Closed { session });
                }
            }
            Request::Abort { session, .. } => {
                let _ = self.sockets.close(from, session);
            }
            // Opens are confirmed at once, so the confirm is in flight.
            Request::Cancel { user } => {
                if let Some(session) = self.sockets.called(from, user) {
                    let _ = self.sockets.close(from, session);
                }
            }
            Request::Manage(manage) => self.manage(from, *manage, cx),
            Request::Credit { session, credit } => {
                self.sockets.empty(from, session, credit.octets);
            }
            Request::Accept(_)
            | Request::Data { .. }
            | Request::Special { .. }
            | Request::Expedited { .. }
            | Request::Reset { .. } => cx.drop("not a unit"),
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication.of_unit_data() {
            Some(UnitIndication::Unit(unit)) => self.receive(unit, cx),
            Some(UnitIndication::Report(report)) => self.report(*report, cx),
            Some(UnitIndication::Credit(_)) => {}
            None => cx.drop("not a unit"),
        }
    }
}
