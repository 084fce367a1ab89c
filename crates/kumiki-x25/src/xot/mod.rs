//! XOT: a TCP connection for each virtual circuit of X.25.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1613 |
//! | Above | the packet layer over circuits ([`crate::x25::PacketCarrier::Circuits`]): one session for each circuit, one message for each packet |
//! | Below | a stream: our TCP, or [`pipe`](kumiki_graph::pipe) on a connection of the operating system |
//! | Left out | switching circuits between interfaces: [`crate::x25_switch`] does that; answering a PVC set-up with the flow control values that we would have had |
//!
//! An active open to an X.121 number goes to the host that the longest prefix of it in [`Config::routes`] names; one to
//! an IP address goes there. A passive open listens, on port 1998 unless it or [`Config::listen`] says another; a
//! caller is offered when its first packet has come, for that tells whether it is a permanent circuit. Those of which
//! no packet comes for [`Config::timeout`] are closed.
//!
//! # Permanent circuits
//!
//! An active open with `call.channel` sets up the permanent virtual circuit of that number ([`Config::permanent`])
//! before it is confirmed. Where the peer is the one that calls, the open waits until it does. A refusal goes up with
//! its status ([`kumiki_osi_service::x25::Cause::CircuitRefused`]); to try again is the user's. A circuit that stands
//! is not set up a second time: that is refused as *configuration mismatch* (17), as RFC 1613 section 6.5 allows.
//!
//! Where both ends set one up at once, that section leaves a choice: take the peer's set-up, or refuse it and try again
//! after a random time. Which of them is decided by names, so that one connection results: of two that are set up the
//! one stands whose initiator's end, interface (without case) and then channel, is the lesser; the other end takes that
//! and ends its own. Where only the peer's is as far as that, it is taken. Two ends of the same name both refuse.
//!
//! A header with another version, or a length that no packet has, closes the connection. `Abort` lets what was handed
//! over leave first, so that the peer gets our CLEAR, unless it does not read it for [`Config::timeout`].

use core::net::SocketAddr;
use kumiki_graph::Parameters;
use kumiki_graph::{
    Above, Accept, Address, Below, Context, Credit, Handle, Indication, Mode, Offered, Open, Opened, Protocol, Quality,
    Reason, Request, Service, Shape, TimerSlot, Token, Work,
};
use kumiki_octets::Message;
use kumiki_octets::Number;
use kumiki_osi_service::layer;
use kumiki_osi_service::x25::Call;
use kumiki_wire::Malformed;
use kumiki_wire::x25::xot::{self, PvcSetup, status};

use kumiki_graph::sessions::Sessions;

mod config;
mod permanent;
#[cfg(test)]
mod tests;

pub use config::{Config, Counters, DEFAULT_TIMEOUT, Permanent};

/// What XOT offers: packets on a connection of TCP for each circuit (RFC 1613).
pub const SERVICE: Service = Service::CONNECTION.named("XOT");

const STREAM: Below = Below(0);

/// The most connections.
const MOST: usize = 4096;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The user waits for the peer to set up a permanent circuit; there is no stream.
    Awaited,
    /// The stream was asked for.
    Calling,
    /// Our PVC set-up was sent.
    SettingUp,
    /// A caller that has sent nothing yet.
    Fresh,
    /// The user was told of a caller.
    Offered,
    Open,
    /// The user wants no more; what waits still leaves.
    Closing,
    Closed,
}

#[derive(Debug)]
struct Connection {
    above: Above,
    user: Handle,
    lower: Handle,
    phase: Phase,
    /// The permanent circuit that it carries.
    channel: Option<u16>,
    remote: Address,
    /// Under which handle the user listens.
    listener: Handle,
    room: u64,
    waiting: Message,
    granted: u32,
    wanted: u32,
    /// A packet has come.
    has_spoken: bool,
    gathered: Message,
    /// Octets that came and that the stream was not granted again.
    owed: u64,
    timer: TimerSlot,
}

#[derive(Debug)]
enum Entry {
    Listener { above: Above, user: Handle, lower: Handle },
    Connection(Box<Connection>),
}

/// The layer.
#[derive(Debug, Default)]
pub struct Xot {
    config: Config,
    entries: Sessions<Entry>,
    counters: Counters,
    refusal: Option<Reason>,
}

/// What a look at the octets of a stream finds.
enum StreamPacket {
    Packet(Message),
    NotYet,
    /// What it is in place of a packet of XOT.
    Malformed(Malformed),
}

impl Connection {
    fn new(above: Above, phase: Phase, config: &Config) -> Self {
        Self {
            above,
            user: Handle::default(),
            lower: Handle::default(),
            phase,
            channel: None,
            remote: Address::NONE,
            listener: Handle::default(),
            room: 0,
            waiting: Message::new(),
            granted: 0,
            wanted: config.receive,
            has_spoken: false,
            gathered: Message::new(),
            owed: 0,
            timer: TimerSlot::default(),
        }
    }

    /// Puts a packet behind what waits, and sends what there is room for.
    fn put(&mut self, mut packet: Message, cx: &mut Context<'_>) {
        let Ok(length) = u16::try_from(packet.len()) else {
            return cx.drop("packet longer than any");
        };
        xot::Header { length }.emit(packet.push_header(xot::LEN));
        self.waiting.append(packet);
        self.send(cx);
    }

    fn send(&mut self, cx: &mut Context<'_>) {
        if !self.waiting.is_empty() && self.room > 0 {
            let fits = usize::try_from(self.room).unwrap_or(usize::MAX);
            let fits = fits.min(self.waiting.len());
            if let Ok(data) = self.waiting.split_to(fits) {
                self.room = self.room.saturating_sub(data.len() as u64);
                let (session, end) = (self.lower, true);
                cx.down(STREAM, Request::Data { session, data, end });
            }
        }
        if self.phase == Phase::Closing && self.waiting.is_empty() {
            self.phase = Phase::Closed;
            let (session, data) = (self.lower, None);
            cx.down(STREAM, Request::Release { session, data });
        }
        self.grant(cx);
    }

    fn grant(&mut self, cx: &mut Context<'_>) {
        if self.phase != Phase::Open || !self.waiting.is_empty() || self.room == 0 {
            return;
        }
        let whole = u32::try_from(self.room / (xot::MOST + xot::LEN) as u64).unwrap_or(u32::MAX);
        let messages = whole.max(1).saturating_sub(self.granted);
        if messages > 0 {
            self.granted += messages;
            let (session, credit) = (self.user, Credit::messages(messages));
            cx.up(self.above, Indication::Credit { session, credit });
        }
    }

    /// Takes the next packet off what has come.
    fn next(&mut self) -> StreamPacket {
        let front = self.gathered.front_at_least(xot::LEN);
        if front.len() < xot::LEN {
            return StreamPacket::NotYet;
        }
        let (header, len) = match xot::Header::parse(front) {
            Ok(found) => found,
            Err(why) => return StreamPacket::Malformed(why),
        };
        let whole = len + usize::from(header.length);
        if self.gathered.len() < whole {
            return StreamPacket::NotYet;
        }
        let Ok(mut packet) = self.gathered.split_to(whole) else {
            return StreamPacket::NotYet;
        };
        match packet.pop(len) {
            Ok(()) => {
                self.has_spoken = true;
                StreamPacket::Packet(packet)
            }
            Err(_) => StreamPacket::NotYet,
        }
    }

    /// Lets the stream bring more, as long as what is here is not much.
    fn repay(&mut self, cx: &mut Context<'_>) {
        let one = xot::MOST + xot::LEN;
        if self.owed > 0 && (self.wanted > 0 || self.gathered.len() < one) {
            let octets = core::mem::take(&mut self.owed);
            let (session, credit) = (self.lower, Credit::octets(octets));
            cx.down(STREAM, Request::Credit { session, credit });
        }
    }
}

/// `address` with XOT's port, where it has none.
fn with_port(address: Address) -> Address {
    if address.is_none() {
        return SocketAddr::new(core::net::Ipv4Addr::UNSPECIFIED.into(), xot::PORT).into();
    }
    address.socket_at(xot::PORT).map_or(address, Address::from)
}

impl Xot {
    /// A layer as `config` says.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, ..Self::default() }
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What was in the last stream that had something else than packets of XOT in it.
    #[must_use]
    pub const fn refusal(&self) -> Option<&Reason> {
        self.refusal.as_ref()
    }

    fn connection(&mut self, own: Handle) -> Option<&mut Connection> {
        match self.entries.get(own)? {
            Entry::Connection(connection) => Some(connection),
            Entry::Listener { .. } => None,
        }
    }

    /// Where a call to `remote` goes.
    fn route(&self, remote: Address, channel: Option<u16>) -> Option<Address> {
        if let Some(channel) = channel {
            let mut known = self.config.permanent.iter();
            let pvc = known.find(|pvc| pvc.channel == channel)?;
            return pvc.peer.map(|peer| with_port(peer.into()));
        }
        let Some(number) = remote.get::<Number>() else {
            return remote.socket_at(xot::PORT).map(Address::from);
        };
        let routes = self.config.routes.iter();
        let fitting = routes.filter(|(prefix, _)| number.begins_with(prefix));
        let longest = fitting.max_by_key(|(prefix, _)| prefix.len())?;
        Some(with_port(longest.1.into()))
    }

    fn quality(&self) -> Quality {
        Quality { coalesce: Some(self.config.coalesce), ..Quality::default() }
    }

    fn aborted(above: Above, session: Handle, reason: Reason, cx: &mut Context<'_>) {
        let data = None;
        cx.up(above, Indication::Aborted { session, reason, data });
    }

    fn open(&mut self, above: Above, open: &Open, cx: &mut Context<'_>) {
        let (user, quality) = (open.user, self.quality());
        let channel = open.parameters.get::<Call>().and_then(|call| call.channel);
        let below = match open.mode {
            Mode::Passive { .. } => {
                let lower = Handle::default();
                let own = self.entries.insert(Entry::Listener { above, user, lower });
                if self.config.calls_only {
                    let opened = Opened { user: own, ..Opened::default() };
                    return self.opened(&opened, cx);
                }
                let local = match self.config.listen {
                    Some(listen) if open.local.is_none() => listen.into(),
                    _ => open.local,
                };
                Open { user: own, mode: open.mode, local: with_port(local), quality, ..Open::default() }
            }
            Mode::Active => {
                let remote = self.route(open.remote, channel);
                let waits = channel.is_some_and(|channel| self.is_awaited(channel));
                let phase = match remote {
                    Some(_) => Phase::Calling,
                    None if waits => Phase::Awaited,
                    None => return Self::aborted(above, user, Reason::BadAddress, cx),
                };
                let mut connection = Connection::new(above, phase, &self.config);
                (connection.user, connection.channel) = (user, channel);
                connection.remote = open.remote;
                let Some(remote) = remote else {
                    self.entries.insert(Entry::Connection(Box::new(connection)));
                    return;
                };
                Open {
                    user: self.entries.insert(Entry::Connection(Box::new(connection))),
                    remote,
                    quality,
                    ..Open::default()
                }
            }
        };
        cx.down(STREAM, Request::Open(Box::new(below)));
    }

    fn accept(&mut self, above: Above, accept: &Accept, cx: &mut Context<'_>) {
        let own = accept.session;
        match self.connection(own) {
            Some(connection) if connection.phase == Phase::Offered => {
                connection.user = accept.user;
                connection.phase = Phase::Open;
                connection.grant(cx);
                self.deliver(own, cx);
            }
            Some(_) | None => Self::aborted(above, accept.user, Reason::NoSession, cx),
        }
    }

    fn data(&mut self, session: Handle, data: Message, cx: &mut Context<'_>) {
        match self.connection(session) {
            Some(connection) if connection.phase == Phase::Open => {
                connection.granted = connection.granted.saturating_sub(1);
                connection.put(data, cx);
                self.counters.sent += 1;
            }
            Some(_) | None => cx.drop("no such connection"),
        }
    }

    /// The user wants no more of it.
    fn abort(&mut self, own: Handle, cx: &mut Context<'_>) {
        let Some(entry) = self.entries.get(own) else {
            return cx.drop("no such connection");
        };
        let session = match entry {
            Entry::Connection(connection) if matches!(connection.phase, Phase::Open | Phase::Offered) => {
                connection.phase = Phase::Closing;
                // The circuit may be set up again while this one ends.
                connection.channel = None;
                connection.gathered = Message::new();
                connection.wanted = u32::MAX;
                connection.send(cx);
                // A peer that waits until somebody reads may not read either.
                connection.repay(cx);
                return self.wait(own, cx);
            }
            Entry::Connection(connection) => {
                cx.clear_timer(&mut connection.timer);
                connection.lower
            }
            Entry::Listener { lower, .. } => *lower,
        };
        self.entries.remove(own);
        let (reason, data) = (Reason::User, None);
        cx.down(STREAM, Request::Abort { session, reason, data });
    }

    fn cancel(&mut self, user: Handle, cx: &mut Context<'_>) {
        let found = self.entries.find(|entry| match entry {
            Entry::Connection(it) => it.user == user && it.phase != Phase::Offered,
            Entry::Listener { user: it, .. } => *it == user,
        });
        let Some(own) = found else {
            return cx.drop("no such connection");
        };
        match self.connection(own).map(|it| it.phase) {
            Some(Phase::Calling) => {
                self.entries.remove(own);
                cx.down(STREAM, Request::Cancel { user: own });
            }
            Some(Phase::Awaited) => {
                self.entries.remove(own);
            }
            Some(Phase::SettingUp | Phase::Fresh | Phase::Offered | Phase::Open | Phase::Closing | Phase::Closed)
            | None => self.abort(own, cx),
        }
    }

    /// The stream stands.
    fn opened(&mut self, opened: &Opened, cx: &mut Context<'_>) {
        let own = opened.user;
        match self.entries.get(own) {
            Some(Entry::Listener { above, user, lower }) => {
                *lower = opened.provider;
                let (above, user) = (*above, *user);
                let opened = Opened { user, provider: own, local: opened.local, ..Opened::default() };
                cx.up(above, Indication::Opened(Box::new(opened)));
            }
            Some(Entry::Connection(connection)) => {
                connection.lower = opened.provider;
                if opened.remote.socket().is_some() {
                    connection.remote = opened.remote;
                }
                match connection.channel {
                    None => self.stands(own, cx),
                    Some(channel) => {
                        connection.phase = Phase::SettingUp;
                        self.wait(own, cx);
                        self.set_up(own, channel, cx);
                    }
                }
            }
            None => {}
        }
    }

    fn wait(&mut self, own: Handle, cx: &mut Context<'_>) {
        let deadline = cx.now() + self.config.timeout;
        let token = Token { session: own, kind: 0 };
        if let Some(connection) = self.connection(own) {
            cx.set_timer(&mut connection.timer, token, deadline);
        }
    }

    /// The user's session stands.
    fn stands(&mut self, own: Handle, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        cx.clear_timer(&mut connection.timer);
        connection.phase = Phase::Open;
        let opened = Opened {
            user: connection.user,
            provider: own,
            remote: connection.remote,
            unit: u32::try_from(xot::MOST).unwrap_or(u32::MAX),
            parameters: call(connection.channel),
            ..Opened::default()
        };
        cx.up(connection.above, Indication::Opened(Box::new(opened)));
        connection.grant(cx);
    }

    /// A caller: it is taken, to see what it wants.
    fn offered(&mut self, offered: Offered, cx: &mut Context<'_>) {
        let listener = offered.user;
        let above = match self.entries.get(listener) {
            Some(Entry::Listener { above, .. }) => Some(*above),
            Some(Entry::Connection(_)) | None => None,
        };
        let Some(above) = above.filter(|_| self.entries.len() < MOST) else {
            let (session, reason, data) = (offered.provider, Reason::NoResources, None);
            cx.down(STREAM, Request::Abort { session, reason, data });
            return;
        };
        let mut connection = Connection::new(above, Phase::Fresh, &self.config);
        connection.lower = offered.provider;
        connection.remote = offered.remote;
        connection.listener = listener;
        // What came with the call is the stream's beginning; it takes no credit.
        connection.gathered = offered.data.unwrap_or_default();
        let own = self.entries.insert(Entry::Connection(Box::new(connection)));
        let accept = Accept { session: offered.provider, user: own, quality: self.quality(), ..Accept::default() };
        cx.down(STREAM, Request::Accept(Box::new(accept)));
        self.wait(own, cx);
        self.deliver(own, cx);
    }

    /// The first packet of a caller has come.
    fn first(&mut self, own: Handle, packet: Message, cx: &mut Context<'_>) {
        let octets = packet.to_vec();
        let is_setup = octets.get(2) == Some(&xot::PVC_SETUP);
        let mut channel = None;
        if is_setup {
            match self.judge(&octets) {
                Ok((pvc, asked)) => {
                    let answer = Self::setup_of(&pvc, status::WAITING, true);
                    channel = Some(pvc.channel);
                    self.counters.set_up += 1;
                    if let Some(connection) = self.connection(own) {
                        connection.put(octets_of(&answer), cx);
                    }
                    if let Some(asked) = asked {
                        return self.adopt(own, asked, cx);
                    }
                }
                Err(answer) => {
                    self.counters.refused += 1;
                    if let Some(connection) = self.connection(own) {
                        connection.phase = Phase::Closing;
                        match answer {
                            Some(answer) => connection.put(octets_of(&answer), cx),
                            None => connection.send(cx),
                        }
                    }
                    return;
                }
            }
        }
        let Some(connection) = self.connection(own) else {
            return;
        };
        cx.clear_timer(&mut connection.timer);
        connection.phase = Phase::Offered;
        connection.channel = channel;
        if !is_setup {
            let Ok(length) = u16::try_from(packet.len()) else {
                return;
            };
            // It is the user's, once that has accepted.
            let mut again = packet;
            xot::Header { length }.emit(again.push_header(xot::LEN));
            again.append(core::mem::take(&mut connection.gathered));
            connection.gathered = again;
        }
        let (above, remote, listener) = (connection.above, connection.remote, connection.listener);
        let user = match self.entries.get(listener) {
            Some(Entry::Listener { user, .. }) => *user,
            Some(Entry::Connection(_)) | None => return self.abort(own, cx),
        };
        let offered = Offered {
            user,
            provider: own,
            remote,
            unit: u32::try_from(xot::MOST).unwrap_or(u32::MAX),
            parameters: call(channel),
            ..Offered::default()
        };
        cx.up(above, Indication::Offered(Box::new(offered)));
    }

    /// Ends a connection at once.
    fn close(&mut self, own: Handle, why: Reason, cx: &mut Context<'_>) {
        if let Some(connection) = self.connection(own) {
            let (session, data) = (connection.lower, None);
            let reason = Reason::Protocol;
            cx.down(STREAM, Request::Abort { session, reason, data });
        }
        self.ended(own, why, cx);
    }

    fn ended(&mut self, own: Handle, reason: Reason, cx: &mut Context<'_>) {
        match self.entries.remove(own) {
            Some(Entry::Connection(mut it)) => {
                cx.clear_timer(&mut it.timer);
                match it.phase {
                    Phase::Calling | Phase::SettingUp | Phase::Open => {
                        Self::aborted(it.above, it.user, reason, cx);
                    }
                    Phase::Awaited | Phase::Fresh | Phase::Offered | Phase::Closing | Phase::Closed => {}
                }
            }
            Some(Entry::Listener { above, user, .. }) => Self::aborted(above, user, reason, cx),
            None => {}
        }
    }

    fn came(&mut self, own: Handle, data: Message, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return cx.drop("octets without a user");
        };
        connection.owed += data.len() as u64;
        if !matches!(connection.phase, Phase::Closing | Phase::Closed) {
            connection.gathered.append(data);
            let copied = connection.gathered.condense() as u64;
            if copied > 0 {
                cx.charge(Work::Copy, copied);
            }
        }
        self.deliver(own, cx);
    }

    /// Looks at the packets that have come, as far as somebody takes them.
    fn deliver(&mut self, own: Handle, cx: &mut Context<'_>) {
        loop {
            let Some(connection) = self.connection(own) else {
                return;
            };
            let looks = match connection.phase {
                Phase::Open => connection.wanted > 0,
                Phase::Fresh | Phase::SettingUp => true,
                Phase::Awaited | Phase::Calling | Phase::Offered | Phase::Closing | Phase::Closed => false,
            };
            if !looks {
                return connection.repay(cx);
            }
            let packet = match connection.next() {
                StreamPacket::Packet(packet) => packet,
                StreamPacket::NotYet => return connection.repay(cx),
                StreamPacket::Malformed(why) => {
                    let header = connection.gathered.beginning_up_to(xot::LEN);
                    let reason = if connection.has_spoken { Reason::violation_in } else { Reason::stranger };
                    let why = reason(layer::XOT, why.to_string(), header);
                    self.counters.malformed += 1;
                    self.refusal = Some(why.clone());
                    return self.close(own, why, cx);
                }
            };
            match connection.phase {
                Phase::Fresh => self.first(own, packet, cx),
                Phase::SettingUp => self.set_up_answered(own, &packet, cx),
                Phase::Awaited | Phase::Calling | Phase::Offered | Phase::Open | Phase::Closing | Phase::Closed => {
                    connection.wanted -= 1;
                    let (session, data, end) = (connection.user, packet, true);
                    cx.up(connection.above, Indication::Data { session, data, end });
                    self.counters.received += 1;
                }
            }
        }
    }
}

fn octets_of(setup: &PvcSetup) -> Message {
    let mut out = vec![0; setup.len()];
    setup.emit(&mut out);
    Message::from_octets(&out)
}

/// What is said of a session on a permanent circuit.
fn call(channel: Option<u16>) -> Parameters {
    channel.map(|_| Box::new(Call { channel, ..Call::default() })).into()
}

impl Protocol for Xot {
    fn shape(&self) -> Shape {
        Shape { offers: Some(SERVICE), needs: &[Service::STREAM], below: (1, 1), keys: Vec::new() }
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request {
            Request::Open(open) => self.open(from, &open, cx),
            Request::Accept(accept) => self.accept(from, &accept, cx),
            Request::Cancel { user } => self.cancel(user, cx),
            Request::Data { session, data, .. } => self.data(session, data, cx),
            Request::Credit { session, credit } => match self.connection(session) {
                Some(connection) => {
                    connection.wanted = connection.wanted.saturating_add(credit.messages);
                    self.deliver(session, cx);
                }
                None => cx.drop("no such connection"),
            },
            Request::Abort { session, .. } => self.abort(session, cx),
            Request::Unit(_)
            | Request::Special { .. }
            | Request::Expedited { .. }
            | Request::Release { .. }
            | Request::Reset { .. }
            | Request::Manage(_) => cx.drop("not offered by XOT"),
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Opened(opened) => self.opened(&opened, cx),
            Indication::Offered(offered) => self.offered(*offered, cx),
            Indication::Data { session, data, .. } => self.came(session, data, cx),
            Indication::Credit { session, credit } => {
                if let Some(connection) = self.connection(session) {
                    connection.room = connection.room.saturating_add(credit.octets);
                    connection.send(cx);
                }
            }
            Indication::Released { session, .. } => {
                // A circuit has no half: the other one goes too, when all has left.
                if let Some(connection) = self.connection(session)
                    && connection.phase != Phase::Closed
                {
                    let (lower, data) = (connection.lower, None);
                    let told = connection.phase;
                    connection.phase = Phase::Closed;
                    connection.channel = None;
                    let (above, user) = (connection.above, connection.user);
                    if matches!(told, Phase::Open | Phase::SettingUp) {
                        Self::aborted(above, user, Reason::Reset, cx);
                    }
                    cx.down(STREAM, Request::Release { session: lower, data });
                    self.wait(session, cx);
                }
            }
            Indication::Closed { session } => self.ended(session, Reason::Reset, cx),
            Indication::Aborted { session, reason, .. } => self.ended(session, reason, cx),
            Indication::Reset { session, .. } => self.close(session, Reason::Reset, cx),
            // What only one stream says, such as that urgent data is ahead, changes nothing here.
            Indication::Special { .. } | Indication::Notice { .. } | Indication::Report(_) => {}
            Indication::Unit(_) | Indication::Expedited { .. } => {
                cx.drop("no stream says this");
            }
        }
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        self.close(token.session, Reason::TimedOut, cx);
    }
}
