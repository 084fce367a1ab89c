//! The program of a script above our stack: does what the lines say, and notes what it hears and when.
//!
//! | | |
//! |---|---|
//! | Specification | [`Call`] and [`ProgramEvent`] |
//! | Above | nothing |
//! | Below | a stream; and a device on which it is told that there is something to do |
//! | Left out | prices |

use core::net::SocketAddr;
use kumiki_wire::inet::IpQuality;
use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::{
    Above, Accept, Address, Below, Coalesce, Context, Credit, Handle, Indication, Instant, KeepAlive, Manage, Mode,
    NoPath, Notice, Open, Protocol, Quality, Reason, Request, Service, Shape,
};
use kumiki_inet::tcp::UrgentAhead;
use kumiki_octets::Message;
use kumiki_octets::text::{are, counted};

use super::notation::{Call, Connection, ProgramEvent, Set};
use super::packet::{PEER_PORT, STACK_PORT, peer, sent_by_peer, sent_by_stack, stack_address};

const STACK: Below = Below(0);

/// The handle of the passive open.
const LISTEN: Handle = Handle { index: u32::MAX, generation: 0 };

/// One connection as the program sees it.
#[derive(Clone, Debug, Default)]
pub(super) struct ProgramConnection {
    provider: Option<Handle>,
    quality: Quality,
    credit: u64,
    /// Writes that wait for room, urgent ones marked.
    waiting: VecDeque<(u64, bool)>,
    written: u64,
    /// Release when all is written.
    releasing: bool,
    /// Nobody will read any more.
    closed_by_us: bool,
    arrived: u64,
    read: u64,
    heard: Vec<(Instant, ProgramEvent)>,
    /// An ending that is no [`ProgramEvent`], or content that is wrong.
    pub(super) odd: Option<String>,
    /// An ending that no line has mentioned.
    pub(super) ending: Option<ProgramEvent>,
    pub(super) notices: Vec<(Instant, Notice)>,
    pub(super) urgent: Vec<(Instant, u32)>,
}

impl ProgramConnection {
    /// Octets that came and were not read.
    pub(super) const fn unread(&self) -> u64 {
        self.arrived - self.read
    }

    /// Takes note that a line speaks of `hear`: whether it happened at `from` to `until`.
    pub(super) fn hears(&mut self, hear: ProgramEvent, from: Instant, until: Instant) -> Result<(), String> {
        if let ProgramEvent::Readable(octets) = hear {
            let unread = self.unread();
            return if unread == u64::from(octets) { Ok(()) } else { Err(format!("readable {unread}")) };
        }
        if let Some((_, _)) = self.heard.iter().find(|(at, heard)| *heard == hear && (from..=until).contains(at)) {
            if self.ending == Some(hear) {
                self.ending = None;
            }
            return Ok(());
        }
        Err(match self.heard.last() {
            None => "nothing was heard yet".to_owned(),
            Some((at, last)) => format!("what was heard last is \"{last}\", at {at}"),
        })
    }

    fn hear(&mut self, at: Instant, hear: ProgramEvent) {
        self.heard.push((at, hear));
    }
}

/// The program.
#[derive(Default)]
pub(super) struct User {
    v6: bool,
    todo: Vec<(Connection, Call)>,
    listening: bool,
    offers: Vec<(Connection, Handle)>,
    pub(super) talks: BTreeMap<Connection, ProgramConnection>,
    /// What a call was answered with.
    pub(super) refused: Option<String>,
}

impl User {
    pub(super) fn new(v6: bool) -> Self {
        Self { v6, ..Self::default() }
    }

    /// Does `call` when it is told to look.
    pub(super) fn ask(&mut self, connection: Connection, call: Call) {
        self.todo.push((connection, call));
    }

    pub(super) fn talk(&mut self, connection: Connection) -> &mut ProgramConnection {
        self.talks.entry(connection).or_default()
    }

    fn local(&self, port: u16) -> Address {
        Address::from(SocketAddr::new(stack_address(self.v6), port))
    }

    fn act(&mut self, connection: Connection, call: Call, cx: &mut Context<'_>) -> Result<(), String> {
        let handle = handle(connection);
        let (v6, local) = (self.v6, self.local(STACK_PORT));
        match call {
            Call::Listen(backlog) => {
                self.listening = true;
                let open = Open { user: LISTEN, mode: Mode::Passive { backlog }, local, ..Open::default() };
                cx.down(STACK, Request::Open(Box::new(open)));
            }
            Call::Connect => {
                let quality = self.talk(connection).quality;
                let open = Open {
                    user: handle,
                    mode: Mode::Active,
                    local,
                    remote: Address::from(peer(v6, connection)),
                    quality,
                    ..Open::default()
                };
                cx.down(STACK, Request::Open(Box::new(open)));
            }
            Call::Accept => {
                let found = self.offers.iter().position(|(whose, _)| *whose == connection);
                let at = found.ok_or("no such caller waits")?;
                let (_, session) = self.offers.remove(at);
                let talk = self.talk(connection);
                talk.provider = Some(session);
                let accept = Accept { session, user: handle, quality: talk.quality, data: None, ..Accept::default() };
                cx.down(STACK, Request::Accept(Box::new(accept)));
            }
            Call::Set(set) => {
                let talk = self.talk(connection);
                ask_for(&mut talk.quality, set);
                if let Some(session) = talk.provider {
                    let quality = talk.quality;
                    let change = Manage::Session { session, quality };
                    cx.down(STACK, Request::Manage(Box::new(change)));
                }
            }
            Call::Write(_) | Call::Urge(_) | Call::Read(_) | Call::Shutdown | Call::Close | Call::Abort => {
                return self.talk(connection).act(connection, call, cx);
            }
        }
        Ok(())
    }
}

impl ProgramConnection {
    fn act(&mut self, connection: Connection, call: Call, cx: &mut Context<'_>) -> Result<(), String> {
        if let (Call::Read(octets), None) = (call, self.provider) {
            // What came before the end can still be taken.
            return self.take_read(octets);
        }
        let session = self.provider.ok_or("there is no connection")?;
        let abort = Request::Abort { session, reason: Reason::User, data: None };
        match call {
            Call::Write(octets) => self.waiting.push_back((octets.into(), false)),
            Call::Urge(octets) => self.waiting.push_back((octets.into(), true)),
            Call::Read(octets) => {
                self.take_read(octets)?;
                let credit = Credit::octets(octets.into());
                cx.down(STACK, Request::Credit { session, credit });
            }
            Call::Shutdown => self.releasing = true,
            // What will never be read was not delivered, and the peer must know (RFC 9293, SHLD-3).
            Call::Close if self.unread() > 0 => cx.down(STACK, abort),
            Call::Close => {
                self.closed_by_us = true;
                self.releasing = true;
                let quality = Quality { half_close: Some(false), ..Quality::default() };
                let manage = Manage::Session { session, quality };
                cx.down(STACK, Request::Manage(Box::new(manage)));
            }
            Call::Abort => cx.down(STACK, abort),
            Call::Listen(_) | Call::Connect | Call::Accept | Call::Set(_) => {}
        }
        self.pump(connection, cx);
        Ok(())
    }

    fn take_read(&mut self, octets: u32) -> Result<(), String> {
        if u64::from(octets) > self.unread() {
            return Err(format!("{} {} there", counted(self.unread(), "octet"), are(self.unread())));
        }
        self.read += u64::from(octets);
        Ok(())
    }

    /// Writes what there is credit for.
    fn pump(&mut self, connection: Connection, cx: &mut Context<'_>) {
        let Some(session) = self.provider else {
            return;
        };
        let generated = |from: u64, octets: u64| {
            let octets = usize::try_from(octets).unwrap_or(0);
            Message::generated(sent_by_stack(connection), from, octets)
        };
        while let Some((octets, urgent)) = self.waiting.front_mut() {
            if *urgent {
                let data = generated(self.written, *octets);
                self.written += *octets;
                self.waiting.pop_front();
                cx.down(STACK, Request::Expedited { session, data });
                continue;
            }
            let part = (*octets).min(self.credit);
            if part == 0 {
                return;
            }
            let end = part == *octets;
            let data = generated(self.written, part);
            self.written += part;
            self.credit -= part;
            *octets -= part;
            if end {
                self.waiting.pop_front();
            }
            cx.down(STACK, Request::Data { session, data, end });
        }
        if core::mem::take(&mut self.releasing) {
            cx.down(STACK, Request::Release { session, data: None });
        }
    }

    fn take(&mut self, connection: Connection, data: &Message, cx: &mut Context<'_>) {
        let octets = data.to_vec();
        let mut content = vec![0; octets.len()];
        sent_by_peer(connection).fill(self.arrived, &mut content);
        if octets != content {
            let at = octets.iter().zip(&content).position(|(a, b)| a != b);
            let at = self.arrived + at.unwrap_or(0) as u64;
            self.odd = Some(format!("octet {at} is not what the peer sent"));
        }
        self.arrived += octets.len() as u64;
        if let Some(session) = self.provider
            && self.closed_by_us
        {
            let reason = Reason::User;
            let data = None;
            cx.down(STACK, Request::Abort { session, reason, data });
        }
    }

    fn end(&mut self, at: Instant, reason: Reason) {
        let hear = match reason {
            Reason::Reset => ProgramEvent::Reset,
            Reason::Refused => ProgramEvent::Refused,
            Reason::TimedOut => ProgramEvent::TimedOut,
            Reason::Unreachable(NoPath::Network) => ProgramEvent::NetUnreachable,
            Reason::Unreachable(
                NoPath::Host
                | NoPath::Unknown
                | NoPath::Isolated
                | NoPath::SourceRoute
                | NoPath::Protocol
                | NoPath::Malformed,
            ) => ProgramEvent::Unreachable,
            Reason::Unreachable(NoPath::Prohibited) => ProgramEvent::Prohibited,
            Reason::User
            | Reason::BadAddress
            | Reason::NoResources
            | Reason::Protocol
            | Reason::Down
            | Reason::NoSession
            | Reason::Violation(_)
            | Reason::Peer(_) => {
                self.odd = Some(format!("the stack ended it: {reason}"));
                return;
            }
        };
        self.hear(at, hear);
        self.ending = Some(hear);
    }
}

fn handle(connection: Connection) -> Handle {
    Handle { index: connection.into(), generation: 0 }
}

fn ask_for(quality: &mut Quality, set: Set) {
    match set {
        Set::NoDelay(true) => quality.coalesce = Some(Coalesce::Never),
        Set::NoDelay(false) => quality.coalesce = Some(Coalesce::Nagle),
        Set::Minshall => quality.coalesce = Some(Coalesce::Minshall),
        Set::KeepAlive(None) => quality.keep_alive = Some(KeepAlive::OFF),
        Set::KeepAlive(Some((idle, interval, count))) => {
            quality.keep_alive = Some(KeepAlive { idle, interval, count });
        }
        Set::UserTimeout(time) => quality.user_timeout = Some(time),
        Set::Ttl(ttl) => quality.special = IpQuality { ttl: Some(ttl), ..quality.special.into() }.into(),
        Set::Tos(tos) => quality.special = IpQuality { tos: Some(tos), ..quality.special.into() }.into(),
    }
}

impl Protocol for User {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[Service::STREAM, Service::UNIT_DATA], below: (2, 2), keys: Vec::new() }
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
        if from != STACK {
            for (connection, call) in core::mem::take(&mut self.todo) {
                if let Err(why) = self.act(connection, call, cx) {
                    self.refused = Some(why);
                }
            }
            return;
        }
        let now = cx.now();
        let of = |session: Handle| Connection::try_from(session.index).unwrap_or(0);
        match indication {
            Indication::Opened(opened) if opened.user == LISTEN => {}
            Indication::Opened(opened) => {
                let talk = self.talk(of(opened.user));
                talk.provider = Some(opened.provider);
                talk.hear(now, ProgramEvent::Opened);
            }
            Indication::Offered(offered) => {
                let Some(remote) = offered.remote.socket() else {
                    return;
                };
                let number = remote.port().wrapping_sub(PEER_PORT);
                let connection = Connection::try_from(number).unwrap_or(0);
                self.offers.push((connection, offered.provider));
                self.talk(connection).hear(now, ProgramEvent::Offered);
            }
            Indication::Data { session, data, .. } => {
                self.talk(of(session)).take(of(session), &data, cx);
            }
            Indication::Credit { session, credit } => {
                let talk = self.talk(of(session));
                talk.credit += credit.octets;
                talk.pump(of(session), cx);
            }
            Indication::Released { session, .. } => {
                self.talk(of(session)).hear(now, ProgramEvent::Ended);
            }
            Indication::Closed { session } => {
                let talk = self.talk(of(session));
                talk.provider = None;
                talk.hear(now, ProgramEvent::Closed);
            }
            Indication::Aborted { session, .. } if session == LISTEN => {
                self.refused = Some("the stack does not listen".to_owned());
            }
            Indication::Aborted { session, reason, .. } => {
                let talk = self.talk(of(session));
                talk.provider = None;
                talk.end(now, reason);
            }
            Indication::Special { session, what } => {
                if let Some(UrgentAhead { octets }) = what.get() {
                    self.talk(of(session)).urgent.push((now, *octets));
                }
            }
            Indication::Notice { session, notice } => {
                self.talk(of(session)).notices.push((now, notice));
            }
            Indication::Unit(_) | Indication::Expedited { .. } | Indication::Reset { .. } | Indication::Report(_) => {}
        }
    }
}
