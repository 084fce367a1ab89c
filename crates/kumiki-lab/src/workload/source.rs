//! A program that writes: one or many sessions, each message after message.
//!
//! | | |
//! |---|---|
//! | Specification | `ttcp -t` (length x count) and netperf's `TCP_STREAM` (message size, for a time); paper 4's blocks for an X.25 board |
//! | Above | nothing |
//! | Below | a stream, or a connection that carries each message whole |
//! | Left out | reading what the peer sends: it is taken and forgotten; an orderly end where the connection has none |
//!
//! A connection that keeps messages apart gives credit in messages, and takes each as it is; a stream gives it in
//! octets.

use kumiki_graph::{
    Above, Address, Below, Context, Duration, Handle, Indication, Instant, MustWait, Pool, Protocol, Quality, Reason,
    Request, Service, Shape, TimerSlot, Token, Work,
};
use kumiki_octets::{Message, Pattern};

use super::{Bell, Opening, STACK, Transfer, TransferEvent, connect, handle, in_turn, taken};
use kumiki_config::quantity::{Distribution, Octets};

/// What a [`Source`] does.
#[derive(Clone, Debug)]
pub struct SourceConfig {
    /// The local address; port 0 lets the stack choose, which it must where there are several sessions.
    pub local: Address,
    /// Whom to send to; sessions go to each in turn.
    pub peers: Vec<Address>,
    /// How many sessions.
    pub sessions: u32,
    /// How many of them write; the rest stay open and idle.
    pub busy: u32,
    /// Octets in a message: what one call writes.
    pub message: u32,
    /// Messages in a session, which then ends; without end where `None`.
    pub count: Option<u64>,
    /// Octets in a session, drawn for each, which then ends.
    pub size: Option<Distribution<Octets>>,
    /// The content.
    pub pattern: Pattern,
    /// When sessions open.
    pub opening: Opening,
    /// What is asked of the stack.
    pub quality: Quality,
    /// How data gets into the stack's memory.
    pub transfer: Transfer,
}

/// What one session did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sent {
    /// When it called.
    pub called: Option<Instant>,
    /// When it was opened.
    pub opened: Option<Instant>,
    /// Its address, once it is open.
    pub local: Address,
    /// The peer's, once it has called.
    pub remote: Address,
    /// Octets written.
    pub octets: u64,
    /// Messages written whole.
    pub messages: u64,
    /// When the last of them had been written, where their number is given: ttcp's own clock ends here.
    pub written: Option<Instant>,
    /// Times that a write had to wait for a page.
    pub page_waits: u64,
    /// How long it waited between messages (`Transfer::wait`).
    pub waited: Duration,
    /// When it ended in order.
    pub closed: Option<Instant>,
    /// Why it ended otherwise.
    pub aborted: Option<Reason>,
    /// When it did.
    pub aborted_at: Option<Instant>,
}

#[derive(Debug, Default)]
struct Session {
    provider: Option<Handle>,
    /// What may be written, of a stream: in octets.
    credit: u64,
    /// The same of a connection, in messages.
    messages: u32,
    /// What is left of the message being written.
    left: u32,
    /// All that it writes, where that is drawn.
    size: Option<u64>,
    waits_for_page: bool,
    released: bool,
    /// It waits until then before it writes again.
    waits_until: Instant,
    timer: TimerSlot,
    sent: Sent,
}

impl Session {
    /// Whether it has written all of `count` messages, or of what was drawn.
    fn has_written(&self, count: Option<u64>) -> bool {
        count.is_some_and(|count| self.sent.messages >= count) || self.size.is_some_and(|size| self.sent.octets >= size)
    }

    /// How long its next message is, of `message` octets where more is left.
    fn next_message(&self, message: u32) -> u32 {
        let rest = self.size.map_or(u64::MAX, |size| size - self.sent.octets);
        u32::try_from(rest).unwrap_or(u32::MAX).min(message)
    }

    /// How much of its message may be written at once: of a stream no more than fits into a `cluster` of pages.
    fn largest_piece(&self, cluster: u64) -> u64 {
        let room = match self.messages {
            0 => self.credit.min(cluster),
            _ => u64::MAX,
        };
        u64::from(self.left).min(room)
    }

    /// A piece is written; true where it is the last one of its message.
    fn take(&mut self, octets: u32) -> bool {
        self.left -= octets;
        match self.messages.checked_sub(1) {
            Some(left) => self.messages = left,
            None => self.credit -= u64::from(octets),
        }
        self.sent.octets += u64::from(octets);
        let end = self.left == 0;
        self.sent.messages += u64::from(end);
        end
    }
}

/// Why a session is looked at again.
#[repr(u32)]
enum Kind {
    Open = 0,
    Write = 1,
    Page = 2,
    Stop = 3,
}

/// The program; see the module.
#[derive(Debug)]
pub struct Source {
    config: SourceConfig,
    sessions: Vec<Session>,
    /// The session whose process ran last.
    last: Option<u32>,
    /// When all are to end.
    end: TimerSlot,
    /// Who is told when sessions open and end.
    bell: Option<Bell>,
    /// Whether a session is over for that when all is written.
    rings_when_written: bool,
}

impl Source {
    /// A program that does what `config` says.
    #[must_use]
    pub fn new(config: SourceConfig) -> Self {
        let sessions = (0..config.sessions).map(|_| Session::default()).collect();
        Self { config, sessions, last: None, end: TimerSlot::default(), bell: None, rings_when_written: false }
    }

    /// One that rings `bell` when a session opens, and when one is aborted or, if `when_written`, has written all: else
    /// its reader says when it is over.
    #[must_use]
    pub fn ringing(self, bell: Option<Bell>, when_written: bool) -> Self {
        Self { bell, rings_when_written: when_written, ..self }
    }

    fn ring(&self, happened: TransferEvent) {
        self.bell.iter().for_each(|bell| bell.ring(happened));
    }

    /// All of a session is written.
    fn on_written(&mut self, number: u32, now: Instant) {
        let Some(session) = self.session(handle(number)) else {
            return;
        };
        let caller = session.sent.local;
        if session.sent.written.replace(now).is_none() && self.rings_when_written {
            self.ring(TransferEvent::Over { caller });
        }
    }

    /// What each session did.
    pub fn sent(&self) -> impl Iterator<Item = Sent> + '_ {
        self.sessions.iter().map(|session| session.sent.clone())
    }

    /// Whom the first session calls.
    #[must_use]
    pub fn peer(&self) -> Option<&Address> {
        in_turn(&self.config.peers, 0)
    }

    /// Whom sessions call, in turn.
    #[must_use]
    pub fn peers(&self) -> &[Address] {
        &self.config.peers
    }

    /// How many sessions write.
    #[must_use]
    pub fn busy(&self) -> u64 {
        self.config.busy.min(self.config.sessions).into()
    }

    /// Whether every session has ended; those that had not begun when it was time to stop never do.
    #[must_use]
    pub fn is_done(&self, now: Instant) -> bool {
        let is_over = self.config.opening.is_over(now);
        let has_ended = |sent: &Sent| sent.closed.is_some() || sent.aborted.is_some();
        self.sessions.iter().all(|it| has_ended(&it.sent) || (is_over && it.sent.opened.is_none()))
    }

    fn session(&mut self, handle: Handle) -> Option<&mut Session> {
        self.sessions.get_mut(usize::try_from(handle.index).ok()?)
    }

    fn open(&mut self, number: u32, cx: &mut Context<'_>) {
        let peer = in_turn(&self.config.peers, number).filter(|_| !self.config.opening.is_over(cx.now()));
        let Some(peer) = peer.copied() else {
            return;
        };
        if let Some(session) = self.session(handle(number)) {
            (session.sent.called, session.sent.remote) = (Some(cx.now()), peer);
        }
        cx.charge(Work::Call, 1);
        connect(handle(number), (self.config.local, peer), self.config.quality, cx);
    }

    /// Writes while there is room. On a host whose work takes time, others get their turn after each message.
    fn write(&mut self, number: u32, cx: &mut Context<'_>) {
        let began = cx.now();
        // A session that cannot write does not run.
        if self.may_write(number, began) && self.last.replace(number).is_some_and(|last| last != number) {
            cx.charge(Work::Switch, 1);
        }
        while self.write_piece(number, cx) {
            let now = cx.now();
            let Some(session) = self.session(handle(number)) else {
                return;
            };
            let next = now.max(session.waits_until);
            if next > began {
                let token = Token { session: handle(number), kind: Kind::Write as u32 };
                cx.set_timer(&mut session.timer, token, next);
                return;
            }
        }
    }

    fn may_write(&mut self, number: u32, now: Instant) -> bool {
        let busy = number < self.config.busy;
        self.session(handle(number)).is_some_and(|session| {
            busy && session.provider.is_some()
                && (session.credit > 0 || session.messages > 0)
                && !session.released
                && !session.waits_for_page
                && session.waits_until <= now
        })
    }

    /// Writes one piece; false where the session can write no more for the present.
    fn write_piece(&mut self, number: u32, cx: &mut Context<'_>) -> bool {
        if !self.may_write(number, cx.now()) {
            return false;
        }
        let SourceConfig { message, count, pattern, transfer, opening, .. } = self.config;
        let Some(session) = self.session(handle(number)) else {
            return false;
        };
        let Some(provider) = session.provider else {
            return false;
        };
        if session.has_written(count) || (session.left == 0 && opening.is_over(cx.now())) {
            self.release(number, provider, cx);
            return false;
        }
        if session.left == 0 {
            session.left = session.next_message(message);
            cx.charge(Work::Call, 1);
            cx.charge(Work::Map, transfer.pages_to_map(message));
        }
        let cluster = cx.ledger(Pool::Send).map_or(u64::MAX, |ledger| ledger.cluster_octets());
        let Ok(octets) = u32::try_from(session.largest_piece(cluster)) else {
            return false;
        };
        let lease = match cx.lease(Pool::Send, Token { session: handle(number), kind: Kind::Page as u32 }) {
            Ok(lease) => lease,
            Err(MustWait) => {
                session.waits_for_page = true;
                session.sent.page_waits += 1;
                return false;
            }
        };
        let mut data = Message::generated(pattern, session.sent.octets, octets as usize);
        data.set_lease(lease.as_ref());
        if transfer.summed {
            data.sum();
        }
        let end = session.take(octets);
        cx.charge(Work::Copy, u64::from(octets) * transfer.copies);
        if end {
            self.on_message_written(number, cx.now());
        }
        cx.down(STACK, Request::Data { session: provider, data, end });
        true
    }

    /// Ends a session that has written all that it is to write.
    fn release(&mut self, number: u32, provider: Handle, cx: &mut Context<'_>) {
        if let Some(session) = self.session(handle(number)) {
            session.released = true;
            if session.sent.written.is_none() {
                self.on_written(number, cx.now());
            }
        }
        cx.down(STACK, Request::Release { session: provider, data: None });
    }

    /// A message of a session is written: the next one may have to wait.
    fn on_message_written(&mut self, number: u32, now: Instant) {
        let SourceConfig { message, count, transfer, .. } = self.config;
        if let Some(session) = self.session(handle(number)) {
            let wait = transfer.wait.after(message);
            session.waits_until = now + wait;
            session.sent.waited += wait;
            if count == Some(session.sent.messages) {
                self.on_written(number, now);
            }
        }
    }
}

impl Protocol for Source {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[Service::STREAM, Service::CONNECTION], below: (1, 1), keys: Vec::new() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let opening = self.config.opening;
        if let Some(end) = opening.end() {
            cx.set_timer(&mut self.end, Token { session: handle(u32::MAX), kind: Kind::Stop as u32 }, end);
        }
        for (number, at) in (0..).zip(opening.times(self.config.sessions, cx)) {
            if let (Some(size), Some(session)) = (self.config.size, self.session(handle(number))) {
                // A session without any octets would have no end that arrives.
                session.size = Some(size.draw(cx.rng()).count().max(1));
            }
            let token = Token { session: handle(number), kind: Kind::Open as u32 };
            if let Some(session) = self.session(handle(number)) {
                cx.set_timer(&mut session.timer, token, at);
            }
        }
    }

    fn push(&mut self, _: Above, _: Request, cx: &mut Context<'_>) {
        cx.drop("nothing stands above a program");
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        let now = cx.now();
        match indication {
            Indication::Opened(opened) => {
                if let Some(session) = self.session(opened.user) {
                    session.provider = Some(opened.provider);
                    session.sent.opened = Some(now);
                    (session.sent.local, session.sent.remote) = (opened.local, opened.remote);
                    self.ring(TransferEvent::Opened { at: now, local: opened.local, remote: opened.remote });
                }
                self.write(opened.user.index, cx);
            }
            Indication::Credit { session: user, credit } => {
                if let Some(session) = self.session(user) {
                    session.credit += credit.octets;
                    session.messages += credit.messages;
                }
                self.write(user.index, cx);
            }
            Indication::Data { session: user, data, .. } => {
                if let Some(provider) = self.session(user).and_then(|session| session.provider) {
                    let credit = taken(&data);
                    cx.down(STACK, Request::Credit { session: provider, credit });
                }
            }
            Indication::Closed { session: user } => {
                if let Some(session) = self.session(user) {
                    session.sent.closed = Some(now);
                    session.provider = None;
                }
            }
            Indication::Aborted { session: user, reason, .. } => {
                if let Some(session) = self.session(user) {
                    (session.sent.aborted, session.sent.aborted_at) = (Some(reason), Some(now));
                    session.provider = None;
                    let caller = session.sent.local;
                    self.ring(TransferEvent::Over { caller });
                }
            }
            Indication::Unit(_)
            | Indication::Offered(_)
            | Indication::Special { .. }
            | Indication::Expedited { .. }
            | Indication::Released { .. }
            | Indication::Reset { .. }
            | Indication::Notice { .. }
            | Indication::Report(_) => {}
        }
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        if token.kind == Kind::Stop as u32 {
            (0..self.config.sessions).for_each(|number| self.write(number, cx));
        } else if token.kind == Kind::Open as u32 {
            self.open(token.session.index, cx);
        } else {
            self.write(token.session.index, cx);
        }
    }

    fn ready(&mut self, token: Token, cx: &mut Context<'_>) {
        if let Some(session) = self.session(token.session) {
            session.waits_for_page = false;
        }
        self.write(token.session.index, cx);
    }
}
