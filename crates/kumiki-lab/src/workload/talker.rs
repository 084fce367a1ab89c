//! A program that talks to strangers: it calls or is called, sends, reads or echoes, and hashes every octet where it is
//! asked to.
//!
//! | | |
//! |---|---|
//! | Specification | what `nc` and RFC 862's echo do; SHA-256 (FIPS 180-4) by the `sha2` crate, so that `sha256sum` at the other end can judge |
//! | Above | nothing |
//! | Below | a stream |
//! | Left out | prices: its octets are really written and read, and nothing of that is charged |
//!
//! [`super::Source`] and [`super::Sink`] are for measurements: they know what the other end does, and their content
//! need not exist. Here the other end may be any program on any stack.

use core::fmt;
use core::net::SocketAddr;
use std::collections::VecDeque;

use kumiki_graph::{
    Above, Address, Below, Context, Credit, Handle, Indication, Instant, Protocol, Quality, Reason, Request, Service,
    Shape, Token,
};
use kumiki_octets::{Message, Page, Pattern};
use sha2::{Digest as _, Sha256};

use super::{LISTEN, STACK, accept, connect, listen};

/// Who begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begin {
    /// This program calls, so many times at once.
    Call {
        /// From where; port 0 lets the stack choose.
        local: SocketAddr,
        /// Whom.
        remote: SocketAddr,
        /// How many connections.
        sessions: u32,
    },
    /// Others call.
    Listen {
        /// Where they call.
        local: SocketAddr,
        /// How many may wait.
        backlog: u32,
    },
}

/// What is done on each connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Sends so much, ends its direction, and takes what comes until the peer ends the other.
    Send {
        /// Octets.
        octets: u64,
        /// The content.
        pattern: Pattern,
    },
    /// Takes what comes, and ends when the peer does.
    Read,
    /// Sends back what comes, and ends when the peer has and all is sent back.
    Echo,
}

/// What a [`Talker`] does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TalkerConfig {
    /// Who begins.
    pub begin: Begin,
    /// What is done on each connection.
    pub act: Act,
    /// The most octets of one write. The last octet of each is pushed.
    pub write: u32,
    /// Ends each connection by an abort once so much has been sent or read.
    pub abort_after: Option<u64>,
    /// What is asked of the stack.
    pub quality: Quality,
    /// Whether every octet is hashed. Without it the stack is measured and not SHA-256 (0.69 s/GiB): what is sent is a
    /// copy of the first write, again and again, and what comes is counted and let go.
    pub hash: bool,
}

/// A SHA-256 hash. Shown in hexadecimal, as `sha256sum` prints it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hash([u8; 32]);

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

/// How a connection ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// In order, both directions.
    Closed(Instant),
    /// Otherwise, and why.
    Aborted(Instant, Reason),
}

/// What one connection did.
#[derive(Clone, Debug)]
pub struct Talk {
    /// Our address, once it is known.
    pub local: Address,
    /// The peer's.
    pub remote: Address,
    /// When it stood.
    pub opened: Option<Instant>,
    /// Octets handed to the stack.
    pub sent: u64,
    /// Octets that came.
    pub received: u64,
    /// When the last octet came or was handed to the stack.
    pub last: Option<Instant>,
    /// When the peer ended its direction.
    pub released: Option<Instant>,
    /// How it ended; `None` while it stands.
    pub ending: Option<Ending>,
    sent_hash: Sha256,
    received_hash: Sha256,
}

impl Talk {
    fn new(local: Address, remote: Address) -> Self {
        Self {
            local,
            remote,
            opened: None,
            sent: 0,
            received: 0,
            last: None,
            released: None,
            ending: None,
            sent_hash: Sha256::new(),
            received_hash: Sha256::new(),
        }
    }

    /// The hash of all octets handed to the stack; that of none where nothing is hashed ([`TalkerConfig::hash`]).
    #[must_use]
    pub fn sent_hash(&self) -> Hash {
        Hash(self.sent_hash.clone().finalize().into())
    }

    /// The hash of all octets that came; likewise.
    #[must_use]
    pub fn received_hash(&self) -> Hash {
        Hash(self.received_hash.clone().finalize().into())
    }
}

#[derive(Debug)]
struct Session {
    provider: Option<Handle>,
    /// What the stack has room for.
    credit: u64,
    /// What came and has not been sent back.
    echo: VecDeque<Message>,
    /// How many of the next octets to send back came with the call, for which no credit is given.
    with_call: u64,
    release_asked: bool,
    talk: Talk,
}

/// The program; see the module.
#[derive(Debug)]
pub struct Talker {
    config: TalkerConfig,
    sessions: Vec<Session>,
    /// Where it listens, once it does.
    listens: Option<Address>,
    /// The stack's name of the passive open.
    listener: Option<Handle>,
    refused: Option<Reason>,
    /// Why it ends before it is done, where it does.
    stopped: Option<Reason>,
    /// What is sent again and again, where nothing is hashed.
    repeated: Option<Page>,
}

/// So many pieces that wait to be sent back may lie in pages of their own.
const FEW: usize = 8;

impl Talker {
    /// The token by which its owner has it end, after [`Talker::stop`].
    pub const WAKE: Token = Token { session: Handle { index: u32::MAX, generation: 0 }, kind: 1 };

    /// A program that does what `config` says.
    #[must_use]
    pub fn new(config: TalkerConfig) -> Self {
        let repeated = match config.act {
            Act::Send { pattern, .. } if !config.hash => {
                let len = usize::try_from(config.write.max(1)).unwrap_or(usize::MAX);
                Some(Page::build(len, |out| pattern.fill(0, out)))
            }
            Act::Send { .. } | Act::Read | Act::Echo => None,
        };
        let sessions = Vec::new();
        Self { config, sessions, listens: None, listener: None, refused: None, stopped: None, repeated }
    }

    /// Whether octets are hashed.
    #[must_use]
    pub const fn hashes(&self) -> bool {
        self.config.hash
    }

    /// At the next [`Talker::WAKE`] it aborts all connections that have not ended, which end so for the reason `why`,
    /// and takes no others.
    pub fn stop(&mut self, why: Reason) {
        self.stopped = Some(why);
    }

    /// What each connection did so far, in the order in which they began.
    pub fn talks(&self) -> impl Iterator<Item = &Talk> {
        self.sessions.iter().map(|session| &session.talk)
    }

    /// How many connections have ended.
    #[must_use]
    pub fn ended(&self) -> usize {
        self.talks().filter(|talk| talk.ending.is_some()).count()
    }

    /// Where it listens; `None` where it does not, or not yet.
    #[must_use]
    pub const fn listens(&self) -> Option<Address> {
        self.listens
    }

    /// Why it may not listen, or does so no longer.
    #[must_use]
    pub fn refused(&self) -> Option<Reason> {
        self.refused.clone()
    }

    fn session(&mut self, handle: Handle) -> Option<&mut Session> {
        self.sessions.get_mut(usize::try_from(handle.index).ok()?)
    }

    fn begin(&mut self, local: Address, remote: Address) -> Handle {
        let index = u32::try_from(self.sessions.len()).unwrap_or(u32::MAX);
        self.sessions.push(Session {
            provider: None,
            credit: 0,
            echo: VecDeque::new(),
            with_call: 0,
            release_asked: false,
            talk: Talk::new(local, remote),
        });
        Handle { index, generation: 0 }
    }

    /// Does all that can be done now.
    fn go_on(&mut self, user: Handle, cx: &mut Context<'_>) {
        let (config, repeated) = (self.config, self.repeated.clone());
        let Some(session) = self.session(user) else {
            return;
        };
        if session.talk.ending.is_some() {
            return;
        }
        while let Some((provider, data, end)) = session.next_piece(&config, repeated.as_ref()) {
            session.talk.last = Some(cx.now());
            let octets = data.len() as u64;
            let free = session.with_call.min(octets);
            session.with_call -= free;
            let (session, credit) = (provider, Credit::octets(octets - free));
            cx.down(STACK, Request::Data { session, data, end });
            // An echo gives the peer room only for what has gone back: it never holds more than the receive window.
            if config.act == Act::Echo && credit.octets > 0 {
                cx.down(STACK, Request::Credit { session, credit });
            }
        }
        let moved = session.talk.sent.max(session.talk.received);
        let Some(provider) = session.provider else {
            return;
        };
        if config.abort_after.is_some_and(|most| moved >= most) {
            session.talk.ending = Some(Ending::Aborted(cx.now(), Reason::User));
            let reason = Reason::User;
            cx.down(STACK, Request::Abort { session: provider, reason, data: None });
        } else if !session.release_asked && session.has_said_all(&config) {
            session.release_asked = true;
            cx.down(STACK, Request::Release { session: provider, data: None });
        }
    }

    /// `with_call`: it came with the call, and needs no credit.
    fn came(&mut self, user: Handle, data: Message, with_call: bool, cx: &mut Context<'_>) {
        let (echo, hash) = (self.config.act == Act::Echo, self.config.hash);
        let Some(session) = self.session(user) else {
            return;
        };
        if hash {
            data.for_each(|octets| session.talk.received_hash.update(octets));
        }
        session.talk.received += data.len() as u64;
        session.talk.last = Some(cx.now());
        if echo {
            session.with_call += if with_call { data.len() as u64 } else { 0 };
            session.keep(data);
        } else if let Some(provider) = session.provider.filter(|_| !with_call) {
            let credit = Credit::octets(data.len() as u64);
            cx.down(STACK, Request::Credit { session: provider, credit });
        }
        self.go_on(user, cx);
    }

    fn ended_by(&mut self, user: Handle, ending: Ending) {
        if user == LISTEN {
            if let Ending::Aborted(_, reason) = ending {
                self.refused = Some(reason);
                self.listens = None;
            }
        } else if let Some(session) = self.session(user) {
            session.talk.ending.get_or_insert(ending);
            session.echo.clear();
        }
    }
}

impl Session {
    /// Keeps `data`, to send it back. Pieces of an octet each would hold on to as many pages.
    fn keep(&mut self, mut data: Message) {
        if self.echo.len() >= FEW
            && let Some(last) = self.echo.back_mut()
        {
            data = match last.absorb(data) {
                Ok(()) => return,
                Err(data) => data,
            };
        }
        self.echo.push_back(data);
    }

    /// The next piece to send, if there is one and room for it.
    fn next_piece(&mut self, config: &TalkerConfig, repeated: Option<&Page>) -> Option<(Handle, Message, bool)> {
        let provider = self.provider.filter(|_| !self.release_asked)?;
        let most = self.credit.min(config.write.max(1).into());
        if most == 0 {
            return None;
        }
        let (data, end) = match config.act {
            Act::Read => return None,
            Act::Send { octets, pattern } => {
                let octets = config.abort_after.map_or(octets, |most| most.min(octets));
                let left = octets.saturating_sub(self.talk.sent);
                // What is left of one write, where there was no room for all of it.
                let write = u64::from(config.write.max(1));
                let of_write = write - self.talk.sent % write;
                let len = usize::try_from(most.min(left).min(of_write)).ok()?;
                if len == 0 {
                    return None;
                }
                let offset = self.talk.sent;
                let from = usize::try_from(offset % write).unwrap_or(0);
                let repeated = repeated.and_then(|page| page.octets().get(from..from + len));
                let page = Page::build(len, |out| match repeated {
                    Some(octets) => out.copy_from_slice(octets),
                    None => pattern.fill(offset, out),
                });
                let len = len as u64;
                (Message::from_page(page), len == left || len == of_write)
            }
            Act::Echo => {
                let mut data = self.echo.pop_front()?;
                let most = usize::try_from(most).unwrap_or(usize::MAX);
                if data.len() > most {
                    let rest = data;
                    data = rest.share(0, most).ok()?;
                    self.echo.push_front(rest.share(most, rest.len() - most).ok()?);
                }
                (data, self.echo.is_empty())
            }
        };
        if config.hash {
            data.for_each(|octets| self.talk.sent_hash.update(octets));
        }
        self.talk.sent += data.len() as u64;
        self.credit -= data.len() as u64;
        Some((provider, data, end))
    }

    fn has_said_all(&self, config: &TalkerConfig) -> bool {
        match config.act {
            Act::Send { octets, .. } => self.talk.sent >= octets,
            Act::Read => self.talk.released.is_some(),
            Act::Echo => self.talk.released.is_some() && self.echo.is_empty(),
        }
    }
}

impl Protocol for Talker {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[Service::STREAM], below: (1, 1), keys: Vec::new() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let quality = self.config.quality;
        match self.config.begin {
            Begin::Call { local, remote, sessions } => {
                let (local, remote) = (Address::from(local), Address::from(remote));
                for _ in 0..sessions {
                    connect(self.begin(local, remote), (local, remote), quality, cx);
                }
            }
            Begin::Listen { local, backlog } => listen(Address::from(local), backlog, quality, cx),
        }
    }

    fn push(&mut self, _: Above, _: Request, cx: &mut Context<'_>) {
        cx.drop("nothing stands above a program");
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        let now = cx.now();
        match indication {
            Indication::Opened(opened) if opened.user == LISTEN => {
                self.listens = Some(opened.local);
                self.listener = Some(opened.provider);
            }
            Indication::Opened(opened) => {
                if let Some(session) = self.session(opened.user) {
                    session.provider = Some(opened.provider);
                    session.talk.opened = Some(now);
                    session.talk.local = opened.local;
                    session.talk.remote = opened.remote;
                }
                self.go_on(opened.user, cx);
            }
            Indication::Offered(offered) if self.stopped.is_some() => {
                cx.down(STACK, Request::Abort { session: offered.provider, reason: Reason::User, data: None });
            }
            Indication::Offered(offered) => {
                let user = self.begin(offered.local, offered.remote);
                if let Some(session) = self.session(user) {
                    session.provider = Some(offered.provider);
                    session.talk.opened = Some(now);
                }
                accept(offered.provider, user, self.config.quality, cx);
                match offered.data {
                    Some(data) => self.came(user, data, true, cx),
                    None => self.go_on(user, cx),
                }
            }
            Indication::Credit { session: user, credit } => {
                if let Some(session) = self.session(user) {
                    session.credit += credit.octets;
                }
                self.go_on(user, cx);
            }
            Indication::Data { session, data, .. } | Indication::Expedited { session, data } => {
                self.came(session, data, false, cx);
            }
            Indication::Released { session: user, .. } => {
                if let Some(session) = self.session(user) {
                    session.talk.released = Some(now);
                }
                self.go_on(user, cx);
            }
            Indication::Closed { session: user } => self.ended_by(user, Ending::Closed(now)),
            Indication::Aborted { session: user, reason, .. } => self.ended_by(user, Ending::Aborted(now, reason)),
            Indication::Unit(_)
            | Indication::Special { .. }
            | Indication::Notice { .. }
            | Indication::Reset { .. }
            | Indication::Report(_) => {}
        }
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        let Some(why) = self.stopped.clone().filter(|_| token == Self::WAKE) else {
            return;
        };
        if let Some(session) = self.listener.take() {
            cx.down(STACK, Request::Abort { session, reason: Reason::User, data: None });
        }
        for (index, session) in (0..).zip(&mut self.sessions) {
            if session.talk.ending.is_some() {
                continue;
            }
            session.talk.ending = Some(Ending::Aborted(cx.now(), why.clone()));
            session.echo.clear();
            let request = match session.provider {
                Some(session) => Request::Abort { session, reason: Reason::User, data: None },
                None => Request::Cancel { user: Handle { index, generation: 0 } },
            };
            cx.down(STACK, request);
        }
    }
}
