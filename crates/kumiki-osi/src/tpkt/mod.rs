//! TPKT: messages with boundaries over a stream, as ISO transport wants of a network.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1006 section 6; RFC 2126 keeps the format |
//! | Above | transport class 0, or anybody who wants messages of up to 65,531 octets |
//! | Below | a stream: our TCP, or [`pipe`](kumiki_graph::pipe) on a connection of the operating system |
//! | Left out | a half-closed connection: when the peer sends no more, the connection is over, for a network connection of OSI has no directions |
//!
//! **Port.** Where a user names an address without a port, it is 102. Who listens without an address does so on port
//! 102 of all.
//!
//! **Ending.** `Abort` by the user lets what was handed over leave first, and then closes the stream in order: a stream
//! that is aborted would lose the peer its last message. A peer that does not read it, or does not close its side, is
//! waited for [`LINGER`].
//!
//! **Credit.** Down, a message may be handed over while there is room for the longest one, and always while none waits.
//! Up, octets are taken from the stream while the user has credit, and those of one incomplete packet beyond it.

use core::net::Ipv6Addr;

use kumiki_graph::{
    Above, Accept, Address, Below, Coalesce, Context, Credit, Duration, Handle, Indication, Mode, Offered, Open,
    Opened, Protocol, Quality, Reason, Request, Service, Shape, TimerSlot, Token, Work,
};
use kumiki_octets::Message;
use kumiki_osi_service::layer;
use kumiki_settings::Settings;
use kumiki_wire::osi::tpkt;

use kumiki_graph::sessions::Sessions;

#[cfg(test)]
mod tests;

/// What TPKT offers: messages on a connection of TCP (RFC 1006).
pub const SERVICE: Service = Service::CONNECTION.named("TPKT");

/// The stream.
const STREAM: Below = Below(0);
/// The longest message.
const MOST: usize = tpkt::MOST - tpkt::LEN;

/// How long a peer may take to read what is left for it when the user has gone, and to end its side.
pub const LINGER: Duration = Duration::from_secs(60);

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// What TCP does with small segments while data is unacknowledged.
    ///
    /// With Nagle's algorithm, what follows a small packet waits for its acknowledgment, which the peer delays: tens of
    /// milliseconds at each turn of a conversation.
    #[setting(words = Coalesce::WORDS)]
    pub coalesce: Coalesce,
    /// How many messages a user may be handed before it has granted any.
    #[setting(1..=1024)]
    pub receive: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { coalesce: Coalesce::Never, receive: 16 }
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Packets sent.
    pub sent: u64,
    /// Packets handed up.
    pub received: u64,
    /// Streams that had something else in them.
    pub malformed: u64,
}

/// What a handle names.
#[derive(Debug)]
enum Entry {
    Listener { above: Above, user: Handle, lower: Handle },
    Connection(Box<Connection>),
}

#[derive(Debug)]
struct Connection {
    above: Above,
    user: Handle,
    /// The stream's handle; none before it stands.
    lower: Handle,
    phase: Phase,
    /// Octets that the stream has room for.
    room: u64,
    /// What found no room.
    waiting: Message,
    /// Messages that the user may hand over.
    granted: u32,
    /// Messages that the user would take.
    wanted: u32,
    /// A packet has come.
    has_spoken: bool,
    /// What has come and is not handed up.
    gathered: Message,
    /// Octets that the stream may be granted and was not.
    owed: u64,
    /// How long the end of the stream is waited for.
    timer: TimerSlot,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The stream was asked for.
    Calling,
    /// The user was told of a caller.
    Offered,
    Open,
    /// The user wants no more; what waits still leaves.
    Closing,
    /// The stream was released, and its end is waited for.
    Closed,
}

/// The layer.
#[derive(Debug, Default)]
pub struct Tpkt {
    config: Config,
    entries: Sessions<Entry>,
    counters: Counters,
    refusal: Option<Reason>,
}

impl Connection {
    fn new(above: Above, phase: Phase, config: &Config) -> Self {
        Self {
            above,
            user: Handle::default(),
            lower: Handle::default(),
            phase,
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

    fn up(&self, indication: Indication, cx: &mut Context<'_>) {
        cx.up(self.above, indication);
    }

    /// Hands the stream what it has room for, and the user what credit that leaves.
    fn send(&mut self, cx: &mut Context<'_>) {
        if !self.waiting.is_empty() && self.room > 0 {
            let fits = usize::try_from(self.room).unwrap_or(usize::MAX);
            let rest = core::mem::take(&mut self.waiting);
            let (data, rest) = split(rest, fits);
            self.waiting = rest;
            self.room = self.room.saturating_sub(data.len() as u64);
            let (session, end) = (self.lower, true);
            cx.down(STREAM, Request::Data { session, data, end });
        }
        match self.phase {
            Phase::Open => self.grant(cx),
            Phase::Closing if self.waiting.is_empty() => {
                self.phase = Phase::Closed;
                let (session, data) = (self.lower, None);
                cx.down(STREAM, Request::Release { session, data });
            }
            Phase::Calling | Phase::Offered | Phase::Closing | Phase::Closed => {}
        }
    }

    fn grant(&mut self, cx: &mut Context<'_>) {
        if !self.waiting.is_empty() {
            return;
        }
        let whole = u32::try_from(self.room / tpkt::MOST as u64).unwrap_or(u32::MAX);
        let most = whole.max(u32::from(self.room > 0));
        let messages = most.saturating_sub(self.granted);
        if messages > 0 {
            self.granted += messages;
            let (session, credit) = (self.user, Credit::messages(messages));
            self.up(Indication::Credit { session, credit }, cx);
        }
    }

    /// Hands up the packets that are there, as far as the user takes them.
    ///
    /// Errors where the stream has something else in it.
    fn deliver(&mut self, received: &mut u64, cx: &mut Context<'_>) -> Result<(), kumiki_wire::Malformed> {
        while self.phase == Phase::Open && self.wanted > 0 {
            let front = self.gathered.front_at_least(tpkt::LEN);
            if front.len() < tpkt::LEN {
                break;
            }
            let (header, _) = tpkt::Header::parse(front, tpkt::MOST)?;
            let Ok(mut packet) = self.gathered.split_to(header.length.into()) else {
                break;
            };
            if packet.pop(tpkt::LEN).is_err() {
                break;
            }
            self.wanted -= 1;
            self.has_spoken = true;
            *received += 1;
            let (session, data, end) = (self.user, packet, true);
            self.up(Indication::Data { session, data, end }, cx);
        }
        if self.wanted > 0 && self.owed > 0 {
            let octets = core::mem::take(&mut self.owed);
            let (session, credit) = (self.lower, Credit::octets(octets));
            cx.down(STREAM, Request::Credit { session, credit });
        }
        Ok(())
    }
}

/// The first `n` octets, and the others.
fn split(mut message: Message, n: usize) -> (Message, Message) {
    match message.split_to(n) {
        Ok(first) => (first, message),
        Err(_) => (message, Message::new()),
    }
}

/// `address` with the port of RFC 1006, where it has none.
fn with_port(address: Address) -> Address {
    address.socket_at(tpkt::PORT).map_or(address, Address::from)
}

impl Tpkt {
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

    /// What was in the last stream that had something else than packets in it.
    #[must_use]
    pub const fn refusal(&self) -> Option<&Reason> {
        self.refusal.as_ref()
    }

    fn quality(&self, quality: Quality) -> Quality {
        Quality {
            coalesce: quality.coalesce.or(Some(self.config.coalesce)),
            // That of the user counts messages.
            receive_buffer: None,
            ..quality
        }
    }

    fn open(&mut self, above: Above, open: Open, cx: &mut Context<'_>) {
        let (user, lower) = (open.user, Handle::default());
        let mut remote = open.remote;
        let mut local = open.local;
        let entry = match open.mode {
            Mode::Passive { .. } => {
                if local == Address::NONE {
                    local = Address::from(Ipv6Addr::UNSPECIFIED);
                }
                local = with_port(local);
                Entry::Listener { above, user, lower }
            }
            Mode::Active => {
                remote = with_port(remote);
                let mut connection = Connection::new(above, Phase::Calling, &self.config);
                connection.user = user;
                if let Some(messages) = open.quality.receive_buffer {
                    connection.wanted = messages;
                }
                Entry::Connection(Box::new(connection))
            }
        };
        let open = Open {
            user: self.entries.insert(entry),
            local,
            remote,
            quality: self.quality(open.quality),
            data: None,
            ..open
        };
        cx.down(STREAM, Request::Open(Box::new(open)));
    }

    fn accept(&mut self, above: Above, accept: &Accept, cx: &mut Context<'_>) {
        let own = accept.session;
        let quality = self.quality(accept.quality);
        let Some(Entry::Connection(connection)) = self.entries.get(own) else {
            let (session, reason, data) = (accept.user, Reason::NoSession, None);
            cx.up(above, Indication::Aborted { session, reason, data });
            return;
        };
        connection.user = accept.user;
        if let Some(messages) = accept.quality.receive_buffer {
            connection.wanted = messages;
        }
        connection.phase = Phase::Open;
        let accept = Accept { session: connection.lower, user: own, quality, ..Accept::default() };
        cx.down(STREAM, Request::Accept(Box::new(accept)));
        self.deliver(own, cx);
    }

    fn data(&mut self, session: Handle, mut data: Message, cx: &mut Context<'_>) {
        let Some(Entry::Connection(connection)) = self.entries.get(session) else {
            return cx.drop("no such connection");
        };
        if connection.phase != Phase::Open {
            return cx.drop("the connection is not open");
        }
        let Some(header) = tpkt::Header::around(data.len()) else {
            return cx.drop("a message that no packet has room for");
        };
        header.emit(data.push_header(tpkt::LEN));
        self.counters.sent += 1;
        connection.granted = connection.granted.saturating_sub(1);
        if connection.waiting.is_empty() && data.len() as u64 <= connection.room {
            connection.room -= data.len() as u64;
            let (session, end) = (connection.lower, true);
            cx.down(STREAM, Request::Data { session, data, end });
            connection.grant(cx);
        } else {
            connection.waiting.append(data);
            connection.send(cx);
        }
    }

    /// The user wants no more of the connection.
    fn abort(&mut self, session: Handle, cx: &mut Context<'_>) {
        let Some(entry) = self.entries.get(session) else {
            return cx.drop("no such connection");
        };
        let (lower, reason, data) = match entry {
            Entry::Connection(connection) if connection.phase == Phase::Open => {
                connection.phase = Phase::Closing;
                connection.gathered = Message::new();
                connection.wanted = u32::MAX;
                let token = Token { session, kind: 0 };
                cx.set_timer(&mut connection.timer, token, cx.now() + LINGER);
                connection.send(cx);
                // A peer that waits until somebody reads may not read either.
                return self.deliver(session, cx);
            }
            Entry::Connection(connection) => (connection.lower, Reason::User, None),
            Entry::Listener { lower, .. } => (*lower, Reason::User, None),
        };
        self.entries.remove(session);
        let session = lower;
        cx.down(STREAM, Request::Abort { session, reason, data });
    }

    fn credit(&mut self, session: Handle, messages: u32, cx: &mut Context<'_>) {
        let Some(Entry::Connection(connection)) = self.entries.get(session) else {
            return cx.drop("no such connection");
        };
        connection.wanted = connection.wanted.saturating_add(messages);
        self.deliver(session, cx);
    }

    fn deliver(&mut self, own: Handle, cx: &mut Context<'_>) {
        let Some(Entry::Connection(connection)) = self.entries.get(own) else {
            return;
        };
        if let Err(why) = connection.deliver(&mut self.counters.received, cx) {
            self.counters.malformed += 1;
            let header = connection.gathered.beginning_up_to(tpkt::LEN);
            let reason = if connection.has_spoken { Reason::violation_in } else { Reason::stranger };
            let why = reason(layer::TRANSPORT, why.to_string(), header);
            self.refusal = Some(why.clone());
            self.close(own, why, cx);
        }
    }

    /// Ends a connection at once.
    fn close(&mut self, own: Handle, reason: Reason, cx: &mut Context<'_>) {
        if let Some(Entry::Connection(connection)) = self.entries.get(own) {
            let (session, data) = (connection.lower, None);
            cx.down(STREAM, Request::Abort { session, reason: reason.clone(), data });
            self.ended(own, reason, cx);
        }
    }

    /// The stream is gone.
    fn ended(&mut self, own: Handle, reason: Reason, cx: &mut Context<'_>) {
        match self.entries.remove(own) {
            Some(Entry::Connection(mut connection)) => {
                cx.clear_timer(&mut connection.timer);
                let (session, data) = (connection.user, None);
                match connection.phase {
                    Phase::Calling | Phase::Open => {
                        connection.up(Indication::Aborted { session, reason, data }, cx);
                    }
                    // An answer to the offer comes too late; who closes hears no more.
                    Phase::Offered | Phase::Closing | Phase::Closed => {}
                }
            }
            Some(Entry::Listener { above, user, .. }) => {
                let (session, data) = (user, None);
                cx.up(above, Indication::Aborted { session, reason, data });
            }
            None => {}
        }
    }

    fn opened(&mut self, opened: Opened, cx: &mut Context<'_>) {
        let own = opened.user;
        let (above, user) = match self.entries.get(own) {
            Some(Entry::Listener { above, user, lower }) => {
                *lower = opened.provider;
                (*above, *user)
            }
            Some(Entry::Connection(connection)) => {
                connection.lower = opened.provider;
                connection.phase = Phase::Open;
                (connection.above, connection.user)
            }
            None => return,
        };
        let opened =
            Opened { user, provider: own, unit: u32::try_from(MOST).unwrap_or(u32::MAX), data: None, ..opened };
        cx.up(above, Indication::Opened(Box::new(opened)));
    }

    fn offered(&mut self, offered: Offered, cx: &mut Context<'_>) {
        let Some(Entry::Listener { above, user, .. }) = self.entries.get(offered.user) else {
            let (session, reason, data) = (offered.provider, Reason::NoSession, None);
            cx.down(STREAM, Request::Abort { session, reason, data });
            return;
        };
        let (above, user) = (*above, *user);
        let mut connection = Connection::new(above, Phase::Offered, &self.config);
        connection.lower = offered.provider;
        // What came with the call is the stream's beginning; it takes no credit.
        connection.gathered = offered.data.unwrap_or_default();
        let own = self.entries.insert(Entry::Connection(Box::new(connection)));
        let offered =
            Offered { user, provider: own, unit: u32::try_from(MOST).unwrap_or(u32::MAX), data: None, ..offered };
        cx.up(above, Indication::Offered(Box::new(offered)));
    }

    fn came(&mut self, own: Handle, data: Message, cx: &mut Context<'_>) {
        let Some(Entry::Connection(connection)) = self.entries.get(own) else {
            return cx.drop("octets without a user");
        };
        connection.owed += data.len() as u64;
        // Who closes takes what comes and looks at none of it.
        if matches!(connection.phase, Phase::Open | Phase::Offered) {
            connection.gathered.append(data);
            let copied = connection.gathered.condense() as u64;
            if copied > 0 {
                cx.charge(Work::Copy, copied);
            }
        }
        self.deliver(own, cx);
    }
}

impl Protocol for Tpkt {
    fn shape(&self) -> Shape {
        Shape { offers: Some(SERVICE), needs: &[Service::STREAM], below: (1, 1), keys: Vec::new() }
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request {
            Request::Open(open) => self.open(from, *open, cx),
            Request::Accept(accept) => self.accept(from, &accept, cx),
            Request::Data { session, data, .. } => self.data(session, data, cx),
            Request::Credit { session, credit } => self.credit(session, credit.messages, cx),
            Request::Release { session, .. } | Request::Abort { session, .. } => {
                self.abort(session, cx);
            }
            Request::Cancel { user } => {
                let own = self.entries.find(|entry| match entry {
                    Entry::Connection(it) => it.above == from && it.user == user,
                    Entry::Listener { above, user: its, .. } => *above == from && *its == user,
                });
                if let Some(own) = own {
                    self.entries.remove(own);
                    cx.down(STREAM, Request::Cancel { user: own });
                }
            }
            Request::Manage(_)
            | Request::Reset { .. }
            | Request::Unit(_)
            | Request::Special { .. }
            | Request::Expedited { .. } => cx.drop("a primitive of another service"),
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Opened(opened) => self.opened(*opened, cx),
            Indication::Offered(offered) => self.offered(*offered, cx),
            Indication::Data { session, data, .. } | Indication::Expedited { session, data } => {
                self.came(session, data, cx);
            }
            Indication::Credit { session, credit } => {
                if let Some(Entry::Connection(connection)) = self.entries.get(session) {
                    connection.room += credit.octets;
                    connection.send(cx);
                }
            }
            Indication::Released { session, .. } => {
                if let Some(Entry::Connection(connection)) = self.entries.get(session) {
                    // The user of a connection that the peer has closed sends nothing more either.
                    let (session, data) = (connection.lower, None);
                    if connection.phase != Phase::Closed {
                        cx.down(STREAM, Request::Release { session, data });
                    }
                }
                self.ended(session, Reason::Down, cx);
            }
            Indication::Closed { session } => self.ended(session, Reason::Down, cx),
            Indication::Aborted { session, reason, .. } => self.ended(session, reason, cx),
            Indication::Reset { .. }
            | Indication::Notice { .. }
            | Indication::Report(_)
            | Indication::Unit(_)
            | Indication::Special { .. } => {}
        }
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        self.close(token.session, Reason::TimedOut, cx);
    }
}
