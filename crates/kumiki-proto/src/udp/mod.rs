//! User datagrams: ports, and a checksum.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 768, RFC 1122 section 4.1; ports chosen by RFC 6056 algorithm 1 |
//! | Above | any number of users, each with any number of ports |
//! | Below | IP |
//! | Left out | several sockets on one port; UDP-Lite; IP options; credit |
//!
//! # For users
//!
//! A port is opened like a session and then used with unit data:
//!
//! - [`Request::Open`] with [`Mode::Passive`] takes `local`, an [`Address::Socket`]: port 0 lets us choose, the unspecified
//!   address takes what comes to any address of ours. With [`Mode::Active`] also `remote`: only that peer's datagrams are
//!   taken. [`Indication::Opened`] tells the port; [`Indication::Aborted`] says [`Reason::BadAddress`] where it is taken.
//! - [`Request::Unit`] sends from `source`, a socket that this user has opened (where it is [`Address::None`]: the first
//!   one), to the socket `destination` ([`Address::None`]: the peer of an active open).
//! - [`Indication::Unit`] has the peer as `source` and the user's own socket as `destination`.
//! - [`Request::Release`] or [`Request::Abort`] gives the port back; the first is confirmed by [`Indication::Closed`].
//!
//! ICMP errors come as [`Report::Unreachable`] with sockets for addresses, its `start` being the user's data.
//!
//! The checksum covers our own address, so where the user has not chosen one IP is asked first; up to 64 units wait for its
//! answer, which is remembered.

use core::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::{
    Above, Address, Below, Context, Handle, Indication, Key, Manage, Mode, Open, Opened, Problem,
    Protocol, Reason, Report, Request, Service, Shape, Unit, Work,
};
use kumiki_octets::{Checksum, Message, Sum};
use kumiki_wire::icmpv4::unreachable;
use kumiki_wire::ipv4::{self, protocol};
use kumiki_wire::udp::{self, Header, LEN};

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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Whether datagrams are sent with a checksum. Received ones are checked where they have one.
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
    /// Sent.
    pub out_datagrams: u64,
    /// Dropped on the way out: too long, no such socket, too many waiting.
    pub out_discards: u64,
}

/// The protocol.
#[derive(Debug, Default)]
pub struct Udp {
    config: Config,
    sockets: Sockets,
    /// Which of our addresses goes with a peer's.
    sources: BTreeMap<Ipv4Addr, Ipv4Addr>,
    /// Units whose source IP has been asked for: socket, peer, unit.
    waiting: VecDeque<(Handle, SocketAddrV4, Unit)>,
    counters: Counters,
}

const fn v4(address: Address) -> Option<SocketAddrV4> {
    match address {
        Address::Socket(SocketAddr::V4(socket)) => Some(socket),
        Address::Socket(SocketAddr::V6(_))
        | Address::None
        | Address::Ip4(_)
        | Address::Ip6(_)
        | Address::Mac(_)
        | Address::Vc { .. } => None,
    }
}

const fn socket_address(address: Ipv4Addr, port: u16) -> Address {
    Address::Socket(SocketAddr::V4(SocketAddrV4::new(address, port)))
}

fn pseudo(source: Ipv4Addr, destination: Ipv4Addr, length: u16) -> Sum {
    Sum::of(&ipv4::pseudo_header(
        source,
        destination,
        protocol::UDP,
        length,
    ))
}

impl Udp {
    /// UDP as `config` says.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            ..Self::default()
        }
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    fn open(&mut self, from: Above, open: &Open, cx: &mut Context<'_>) {
        let any = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
        let local = if open.local == Address::None {
            Some(any)
        } else {
            v4(open.local)
        };
        let remote = match open.mode {
            Mode::Passive { .. } => Some(None),
            // A peer without a port is none.
            Mode::Active => v4(open.remote).filter(|it| it.port() != 0).map(Some),
        };
        let port = local.and_then(|local| self.sockets.free_port(local.port(), cx.rng()));
        let (Some(local), Some(remote), Some(port)) = (local, remote, port) else {
            cx.up(
                from,
                Indication::Aborted {
                    session: open.user,
                    reason: Reason::BadAddress,
                    data: None,
                },
            );
            return;
        };
        let local = SocketAddrV4::new(*local.ip(), port);
        let socket = Socket {
            user: from,
            handle: open.user,
            local,
            remote,
        };
        let provider = self.sockets.keep(socket);
        cx.up(
            from,
            Indication::Opened(Box::new(Opened {
                user: open.user,
                provider,
                bypass: None,
                local: Address::Socket(local.into()),
                remote: remote.map_or(Address::None, |it| Address::Socket(it.into())),
                unit: MAX_DATA,
                data: None,
            })),
        );
    }

    fn discard(&mut self, why: &'static str, cx: &mut Context<'_>) {
        self.counters.out_discards += 1;
        cx.drop(why);
    }

    fn send(&mut self, from: Above, unit: Unit, cx: &mut Context<'_>) {
        let Some(index) = self.sockets.sending(from, v4(unit.source)) else {
            self.discard("no such socket", cx);
            return;
        };
        let Some(socket) = self.sockets.socket(index).copied() else {
            return;
        };
        let Some(peer) = v4(unit.destination).or(socket.remote) else {
            self.discard("destination is not an IPv4 address and a port", cx);
            return;
        };
        let chosen = v4(unit.source).map(|source| *source.ip());
        let own = chosen
            .filter(|source| !source.is_unspecified())
            .or_else(|| Some(*socket.local.ip()).filter(|local| !local.is_unspecified()))
            .or_else(|| self.sources.get(peer.ip()).copied());
        let Some(own) = own else {
            if let Some(socket) = self.sockets.handle(index) {
                self.ask(socket, peer, unit, cx);
            }
            return;
        };
        self.transmit(SocketAddrV4::new(own, socket.local.port()), peer, unit, cx);
    }

    /// Asks IP for the source that goes with `peer`; `unit` waits.
    fn ask(&mut self, socket: Handle, peer: SocketAddrV4, unit: Unit, cx: &mut Context<'_>) {
        if self.waiting.len() >= WAITING {
            self.discard("too many units wait for their source", cx);
            return;
        }
        let to = Address::Ip4(*peer.ip());
        self.waiting.push_back((socket, peer, unit));
        cx.down(BELOW, Request::Manage(Box::new(Manage::Route { to })));
    }

    fn transmit(
        &mut self,
        source: SocketAddrV4,
        peer: SocketAddrV4,
        unit: Unit,
        cx: &mut Context<'_>,
    ) {
        let Unit {
            mut options,
            mut data,
            ..
        } = unit;
        let length = u16::try_from(data.len().saturating_add(LEN));
        let Some(length) = length.ok().filter(|&it| u32::from(it) <= MAX_DATA + 8) else {
            self.discard("longer than a datagram can be", cx);
            return;
        };
        let mut header = Header {
            source_port: source.port(),
            destination_port: peer.port(),
            length,
            checksum: 0,
        };
        if self.config.checksum {
            cx.charge(Work::Sum, data.unsummed() as u64);
            let mut octets = [0; LEN];
            header.emit(&mut octets);
            let sum = pseudo(*source.ip(), *peer.ip(), length)
                .plus(Sum::of(&octets))
                .plus(data.sum());
            header.checksum = udp::on_wire(sum.checksum());
        }
        header.emit(data.push_header(LEN));
        options.under = None;
        self.counters.out_datagrams += 1;
        cx.down(
            BELOW,
            Request::Unit(Unit {
                source: Address::Ip4(*source.ip()),
                destination: Address::Ip4(*peer.ip()),
                options,
                data,
                ..Unit::default()
            }),
        );
    }

    /// IP's answer to [`Udp::ask`].
    fn answered(&mut self, to: Address, source: Address, cx: &mut Context<'_>) {
        let Address::Ip4(to) = to else {
            return;
        };
        if let Address::Ip4(source) = source {
            if self.sources.len() >= SOURCES {
                self.sources.clear();
            }
            self.sources.insert(to, source);
        }
        for (session, peer, unit) in core::mem::take(&mut self.waiting) {
            if *peer.ip() != to {
                self.waiting.push_back((session, peer, unit));
                continue;
            }
            let Some(socket) = self.sockets.by_handle(session).copied() else {
                continue;
            };
            match source {
                Address::Ip4(own) => {
                    let own = SocketAddrV4::new(own, socket.local.port());
                    self.transmit(own, peer, unit, cx);
                }
                Address::None
                | Address::Ip6(_)
                | Address::Socket(_)
                | Address::Mac(_)
                | Address::Vc { .. } => {
                    self.discard("no route", cx);
                    let report = Report::Unreachable {
                        source: Address::Socket(socket.local.into()),
                        destination: Address::Socket(peer.into()),
                        problem: Problem::Soft {
                            kind: 3,
                            code: unreachable::NET,
                        },
                        start: unit.data,
                    };
                    cx.up(socket.user, Indication::Report(Box::new(report)));
                }
            }
        }
    }

    fn receive(&mut self, mut unit: Unit, cx: &mut Context<'_>) {
        let (Address::Ip4(source), Address::Ip4(destination)) = (unit.source, unit.destination)
        else {
            return;
        };
        let total = unit.data.len();
        let Ok((header, _)) = Header::parse(unit.data.front_at_least(LEN), total) else {
            self.counters.in_errors += 1;
            cx.drop("header or length wrong");
            return;
        };
        let found = self
            .sockets
            .by_port(header.destination_port)
            .filter(|socket| {
                let local = *socket.local.ip();
                let peer = SocketAddrV4::new(source, header.source_port);
                (local.is_unspecified() || local == destination || unit.options.group)
                    && socket.remote.is_none_or(|remote| remote == peer)
            });
        let user = found.map(|socket| socket.user);
        // What will be quoted is quoted whole.
        let whole = user.is_none().then(|| unit.data.clone());
        unit.data.truncate(usize::from(header.length));
        if header.has_checksum() && !intact(&mut unit.data, source, destination, cx) {
            self.counters.in_errors += 1;
            cx.drop("checksum wrong");
            return;
        }
        let Some(user) = user else {
            self.counters.no_ports += 1;
            cx.drop("port not open");
            if !unit.options.group {
                unit.data = whole.unwrap_or_default();
                let problem = Problem::Hard {
                    kind: 3,
                    code: unreachable::PORT,
                };
                let refuse = Manage::Refuse { unit, problem };
                cx.down(BELOW, Request::Manage(Box::new(refuse)));
            }
            return;
        };
        // The header was read, so it is there.
        let _ = unit.data.pop_header(LEN);
        unit.source = socket_address(source, header.source_port);
        unit.destination = socket_address(destination, header.destination_port);
        unit.options.under = None;
        self.counters.in_datagrams += 1;
        cx.up(user, Indication::Unit(unit));
    }

    /// An ICMP error about a datagram of ours, whose beginning is `start`.
    fn hear_error(&self, report: Report, cx: &mut Context<'_>) {
        let Report::Unreachable {
            source: Address::Ip4(source),
            destination: Address::Ip4(destination),
            problem,
            mut start,
        } = report
        else {
            return;
        };
        // The length is that of the datagram, not of what is quoted.
        let Ok((header, _)) = Header::parse(start.front_at_least(LEN), usize::from(u16::MAX))
        else {
            return;
        };
        let Some(socket) = self.sockets.by_port(header.source_port) else {
            cx.drop("ICMP error for a port that is not open");
            return;
        };
        let _ = start.pop(LEN);
        let report = Report::Unreachable {
            source: socket_address(source, header.source_port),
            destination: socket_address(destination, header.destination_port),
            problem,
            start,
        };
        cx.up(socket.user, Indication::Report(Box::new(report)));
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
        }
    }
}

fn tell_all(report: &Report, cx: &mut Context<'_>) {
    for user in 0..cx.users() {
        cx.up(Above(user), Indication::Report(Box::new(report.clone())));
    }
}

/// Whether header and data have the sum that the header says.
fn intact(
    datagram: &mut Message,
    source: Ipv4Addr,
    destination: Ipv4Addr,
    cx: &mut Context<'_>,
) -> bool {
    let length = u16::try_from(datagram.len()).unwrap_or(u16::MAX);
    let sum = match datagram.meta().checksum {
        Checksum::Verified => return true,
        Checksum::Sum(sum) => sum,
        Checksum::Unknown | Checksum::Partial { .. } => {
            cx.charge(Work::Sum, datagram.unsummed() as u64);
            datagram.sum()
        }
    };
    pseudo(source, destination, length).plus(sum).is_valid()
}

impl Protocol for Udp {
    fn shape(&self) -> Shape {
        Shape {
            offers: Some(Service::UnitData),
            needs: &[Service::UnitData],
            below: (1, 1),
            keys: vec![Key::IpProtocol(protocol::UDP)],
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
            // Opens are confirmed at once, so the confirm is under way.
            Request::Cancel { user } => {
                if let Some(session) = self.sockets.called(from, user) {
                    let _ = self.sockets.close(from, session);
                }
            }
            Request::Manage(manage) if matches!(*manage, Manage::Limits) => {
                cx.down(BELOW, Request::Manage(manage));
            }
            // Room is the user's own matter.
            Request::Credit { .. } => {}
            Request::Manage(_)
            | Request::Accept(_)
            | Request::Data { .. }
            | Request::Expedited { .. }
            | Request::Reset { .. } => cx.drop("not a unit"),
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Unit(unit) => self.receive(unit, cx),
            Indication::Report(report) => self.report(*report, cx),
            Indication::Credit { .. } => {}
            Indication::Opened(_)
            | Indication::Offered(_)
            | Indication::Data { .. }
            | Indication::Expedited { .. }
            | Indication::Released { .. }
            | Indication::Closed { .. }
            | Indication::Aborted { .. }
            | Indication::Reset { .. }
            | Indication::Urgent { .. }
            | Indication::Notice { .. } => cx.drop("not a unit"),
        }
    }
}
