//! Programs that ask and answer: a client sends a request, a server the response, and after a pause the next request
//! follows.
//!
//! | | |
//! |---|---|
//! | Specification | netperf's `TCP_RR` with sizes of its own for each response; a request begins with the length of the response, [`HEADER_LEN`] octets, most significant first |
//! | Above | nothing |
//! | Below | a stream |
//! | Left out | several requests in flight on one connection; pages of a modelled memory |

use kumiki_graph::{
    Above, Address, Below, Context, Duration, Handle, Indication, Instant, Protocol, Quality, Reason, Request, Service,
    Shape, TimerSlot, Token, Work,
};
use kumiki_octets::{Message, Pattern};

use super::gaps::Gaps;
use super::sink::first_wrong;
use super::{LISTEN, Opening, STACK, Times, Transfer, accept, connect, handle, in_turn, listen, taken};
use kumiki_config::quantity::{Distribution, Octets};

/// Octets of the length that each request begins with.
pub const HEADER_LEN: u32 = 8;

/// What an [`RpcClient`] does.
#[derive(Clone, Debug)]
pub struct RpcClientConfig {
    /// The local address; port 0 lets the stack choose.
    pub local: Address,
    /// Whom to ask; sessions go to each in turn.
    pub peers: Vec<Address>,
    /// How many sessions.
    pub sessions: u32,
    /// Octets of a request: at least [`HEADER_LEN`].
    pub request: u32,
    /// Octets of a response, drawn for each.
    pub response: Distribution<Octets>,
    /// From a response to the next request, drawn for each.
    pub think: Distribution<Duration>,
    /// Exchanges in a session, which then ends; without end where `None`.
    pub count: Option<u64>,
    /// The content of responses.
    pub pattern: Pattern,
    /// When sessions open.
    pub opening: Opening,
    /// What is asked of the stack.
    pub quality: Quality,
    /// How data gets into and out of the stack's memory.
    pub transfer: Transfer,
}

/// What one session did.
#[derive(Clone, PartialEq, Debug)]
pub struct Exchanged {
    /// When it called.
    pub called: Option<Instant>,
    /// When it was opened.
    pub opened: Option<Instant>,
    /// Its address, once it is open.
    pub local: Address,
    /// The peer's, once it has called.
    pub remote: Address,
    /// Octets of each request.
    pub request: u32,
    /// Octets of responses.
    pub octets: u64,
    /// When the first of them came.
    pub first: Option<Instant>,
    /// When the last of them came.
    pub last: Option<Instant>,
    /// Since when a response is awaited, or a request is on its way: since that was asked; none in a pause.
    pub awaited_since: Option<Instant>,
    /// The longest times without an arrival while a response was awaited.
    pub gaps: Gaps,
    /// From each request to the end of its response.
    pub times: Times,
    /// The same, of the first since it called.
    pub with_opening: Times,
    /// From when until when it paused before the next request, in order.
    pub pauses: Vec<(Instant, Instant)>,
    /// Position of the first octet of a response that was not what it should be.
    pub wrong_at: Option<u64>,
    /// When it ended in order.
    pub closed: Option<Instant>,
    /// Why it ended otherwise.
    pub aborted: Option<Reason>,
    /// When it did.
    pub aborted_at: Option<Instant>,
}

#[derive(Debug)]
struct Asking {
    provider: Option<Handle>,
    credit: u64,
    /// What is left to be written of a request.
    request: Option<Message>,
    /// What is left to come of its response.
    awaited: u64,
    asked: Instant,
    is_released: bool,
    timer: TimerSlot,
    done: Exchanged,
}

impl Asking {
    /// Whether the last of its exchanges, of which there are so many, is over.
    fn has_all(&self, count: Option<u64>) -> bool {
        count.is_some_and(|count| self.done.times.len() >= count)
    }

    fn new(request: u32) -> Self {
        let done = Exchanged {
            called: None,
            opened: None,
            local: Address::NONE,
            remote: Address::NONE,
            request,
            octets: 0,
            first: None,
            last: None,
            awaited_since: None,
            gaps: Gaps::default(),
            times: Times::default(),
            with_opening: Times::default(),
            pauses: Vec::new(),
            wrong_at: None,
            closed: None,
            aborted: None,
            aborted_at: None,
        };
        Self {
            provider: None,
            credit: 0,
            request: None,
            awaited: 0,
            asked: Instant::ZERO,
            is_released: false,
            timer: TimerSlot::default(),
            done,
        }
    }
}

/// Why a session is looked at again.
#[repr(u32)]
enum Kind {
    Open = 0,
    Ask = 1,
    Stop = 2,
}

/// The program that asks; see the module.
#[derive(Debug)]
pub struct RpcClient {
    config: RpcClientConfig,
    sessions: Vec<Asking>,
    end: TimerSlot,
}

const fn token(number: u32, kind: Kind) -> Token {
    Token { session: handle(number), kind: kind as u32 }
}

impl RpcClient {
    /// A program that does what `config` says.
    #[must_use]
    pub fn new(config: RpcClientConfig) -> Self {
        let sessions = (0..config.sessions).map(|_| Asking::new(config.request)).collect();
        Self { config, sessions, end: TimerSlot::default() }
    }

    /// Whom the first session asks.
    #[must_use]
    pub fn peer(&self) -> Option<&Address> {
        in_turn(&self.config.peers, 0)
    }

    /// What each session did.
    pub fn exchanged(&self) -> impl Iterator<Item = &Exchanged> {
        self.sessions.iter().map(|session| &session.done)
    }

    /// What came before `now` is not measured.
    pub fn measure_from(&mut self, now: Instant) {
        for session in &mut self.sessions {
            session.done.gaps.measure_from(now);
            session.done.times.measure_from_here();
            session.done.with_opening.measure_from_here();
        }
    }

    /// Whether every session has ended, or another `is_over` as the peer knows; those that had not begun when it was
    /// time to stop never do.
    #[must_use]
    pub fn is_done(&self, now: Instant, other_is_over: impl Fn(&Exchanged) -> bool) -> bool {
        let is_over = self.config.opening.is_over(now);
        let has_ended = |done: &Exchanged| done.closed.is_some() || done.aborted.is_some() || other_is_over(done);
        self.exchanged().all(|done| has_ended(done) || (is_over && done.opened.is_none()))
    }

    fn session(&mut self, number: u32) -> Option<&mut Asking> {
        self.sessions.get_mut(usize::try_from(number).ok()?)
    }

    fn open(&mut self, number: u32, cx: &mut Context<'_>) {
        let peer = in_turn(&self.config.peers, number).filter(|_| !self.config.opening.is_over(cx.now()));
        let Some(peer) = peer.copied() else {
            return;
        };
        if let Some(session) = self.session(number) {
            (session.done.called, session.done.remote) = (Some(cx.now()), peer);
        }
        cx.charge(Work::Call, 1);
        connect(handle(number), (self.config.local, peer), self.config.quality, cx);
    }

    /// Begins the next exchange, or ends the session where there is none.
    fn ask(&mut self, number: u32, cx: &mut Context<'_>) {
        let now = cx.now();
        let (count, request, transfer) = (self.config.count, self.config.request, self.config.transfer);
        let is_over = self.config.opening.is_over(now);
        let response = self.config.response.draw(cx.rng()).count().max(1);
        let Some(session) = self.session(number) else {
            return;
        };
        let Some(provider) = session.provider.filter(|_| session.awaited == 0 && !session.is_released) else {
            return;
        };
        if is_over || session.has_all(count) {
            session.is_released = true;
            cx.down(STACK, Request::Release { session: provider, data: None });
            return;
        }
        let mut message = Message::from_octets(&response.to_be_bytes());
        let rest = usize::try_from(request.saturating_sub(HEADER_LEN)).unwrap_or(0);
        message.append(Message::generated(Pattern::Zeros, 0, rest));
        (session.request, session.awaited, session.asked) = (Some(message), response, now);
        session.done.awaited_since = Some(now);
        cx.charge(Work::Call, 1);
        cx.charge(Work::Copy, u64::from(request) * transfer.copies);
        self.write(number, cx);
    }

    /// Writes what there is room for.
    fn write(&mut self, number: u32, cx: &mut Context<'_>) {
        let Some(session) = self.session(number) else {
            return;
        };
        if let Some((provider, data, end)) = piece(session.provider, &mut session.request, &mut session.credit) {
            cx.down(STACK, Request::Data { session: provider, data, end });
        }
    }

    fn came(&mut self, number: u32, data: &Message, cx: &mut Context<'_>) {
        let now = cx.now();
        let (pattern, think, transfer) = (self.config.pattern, self.config.think, self.config.transfer);
        let (count, is_over) = (self.config.count, self.config.opening.is_over(now));
        cx.charge(Work::Call, 1);
        cx.charge(Work::Copy, data.len() as u64 * transfer.copies);
        let Some(session) = self.session(number) else {
            return;
        };
        if let Some(provider) = session.provider {
            cx.down(STACK, Request::Credit { session: provider, credit: taken(data) });
        }
        let done = &mut session.done;
        if done.wrong_at.is_none() {
            done.wrong_at = first_wrong(pattern, done.octets, data);
        }
        // The pause before a request is no silence.
        done.first = done.first.or(Some(now));
        let last = done.last.replace(now).map(|last| last.max(session.asked));
        done.gaps.arrived(last, now);
        done.octets += data.len() as u64;
        let awaited = session.awaited;
        session.awaited = awaited.saturating_sub(data.len() as u64);
        if awaited == 0 || session.awaited > 0 {
            return;
        }
        done.awaited_since = None;
        let began = done.called.filter(|_| done.times.is_empty()).unwrap_or(session.asked);
        done.times.record(now.saturating_since(session.asked));
        done.with_opening.record(now.saturating_since(began));
        // Where no request follows there is no pause before it.
        let is_last = is_over || session.has_all(count);
        let next = if is_last { now } else { now + think.draw(cx.rng()) };
        let done = &mut session.done;
        if next > now {
            done.pauses.push((now, next));
            cx.set_timer(&mut session.timer, token(number, Kind::Ask), next);
        } else {
            self.ask(number, cx);
        }
    }
}

/// As much of `waiting` as there is credit for, whether that is its end, and to whom.
fn piece(provider: Option<Handle>, waiting: &mut Option<Message>, credit: &mut u64) -> Option<(Handle, Message, bool)> {
    let provider = provider.filter(|_| *credit > 0)?;
    let whole = waiting.take()?;
    let most = usize::try_from(*credit).unwrap_or(usize::MAX);
    let (data, end) = if whole.len() > most {
        let data = whole.share(0, most).ok()?;
        *waiting = whole.share(most, whole.len() - most).ok();
        (data, false)
    } else {
        (whole, true)
    };
    *credit -= data.len() as u64;
    Some((provider, data, end))
}

impl Protocol for RpcClient {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[Service::STREAM], below: (1, 1), keys: Vec::new() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let opening = self.config.opening;
        if let Some(end) = opening.end() {
            cx.set_timer(&mut self.end, token(u32::MAX, Kind::Stop), end);
        }
        for (number, at) in (0..).zip(opening.times(self.config.sessions, cx)) {
            if let Some(session) = self.session(number) {
                cx.set_timer(&mut session.timer, token(number, Kind::Open), at);
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
                if let Some(session) = self.session(opened.user.index) {
                    session.provider = Some(opened.provider);
                    session.done.opened = Some(now);
                    (session.done.local, session.done.remote) = (opened.local, opened.remote);
                }
                self.ask(opened.user.index, cx);
            }
            Indication::Credit { session: user, credit } => {
                if let Some(session) = self.session(user.index) {
                    session.credit += credit.octets;
                }
                self.write(user.index, cx);
            }
            Indication::Data { session, data, .. } => self.came(session.index, &data, cx),
            // The server ends only when this program does.
            Indication::Released { session: user, .. } | Indication::Closed { session: user } => {
                if let Some(session) = self.session(user.index) {
                    session.done.closed.get_or_insert(now);
                }
            }
            Indication::Aborted { session: user, reason, .. } => {
                if let Some(session) = self.session(user.index) {
                    (session.done.aborted, session.done.aborted_at) = (Some(reason), Some(now));
                    session.provider = None;
                }
            }
            Indication::Unit(_)
            | Indication::Offered(_)
            | Indication::Special { .. }
            | Indication::Expedited { .. }
            | Indication::Reset { .. }
            | Indication::Notice { .. }
            | Indication::Report(_) => {}
        }
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        if token.kind == Kind::Stop as u32 {
            (0..self.config.sessions).for_each(|number| self.ask(number, cx));
        } else if token.kind == Kind::Open as u32 {
            self.open(token.session.index, cx);
        } else {
            self.ask(token.session.index, cx);
        }
    }
}

/// What an [`RpcServer`] does.
#[derive(Clone, Debug)]
pub struct RpcServerConfig {
    /// Where it listens.
    pub local: Address,
    /// How many callers may wait.
    pub backlog: u32,
    /// Octets of a request: at least [`HEADER_LEN`].
    pub request: u32,
    /// The content of responses.
    pub pattern: Pattern,
    /// What is asked of the stack.
    pub quality: Quality,
    /// How data gets into and out of the stack's memory.
    pub transfer: Transfer,
}

#[derive(Debug)]
struct Answering {
    provider: Handle,
    /// Who asks.
    caller: Address,
    /// When it was given up or reset, and why, where it did not end in order.
    aborted: Option<(Instant, Reason)>,
    credit: u64,
    /// What has come of the length that a request begins with.
    header: Vec<u8>,
    /// What is left to come of the request behind it.
    rest: u64,
    /// What is left to be written of a response.
    response: Option<Message>,
    /// Octets of responses so far.
    sent: u64,
}

/// The program that answers; see the module.
#[derive(Debug)]
pub struct RpcServer {
    config: RpcServerConfig,
    sessions: Vec<Answering>,
    /// Set where it may not listen at all.
    pub refused: Option<Reason>,
}

impl RpcServer {
    /// A program that does what `config` says.
    #[must_use]
    pub const fn new(config: RpcServerConfig) -> Self {
        Self { config, sessions: Vec::new(), refused: None }
    }

    /// The sessions that did not end in order: who asked, when that was, and why.
    pub fn aborted(&self) -> impl Iterator<Item = (Address, Instant, &Reason)> {
        self.sessions.iter().filter_map(|it| it.aborted.as_ref().map(|(at, why)| (it.caller, *at, why)))
    }

    fn session(&mut self, number: u32) -> Option<&mut Answering> {
        self.sessions.get_mut(usize::try_from(number).ok()?)
    }

    fn came(&mut self, number: u32, data: &Message, cx: &mut Context<'_>) {
        let (request, pattern, transfer) = (self.config.request, self.config.pattern, self.config.transfer);
        cx.charge(Work::Call, 1);
        cx.charge(Work::Copy, data.len() as u64 * transfer.copies);
        let Some(session) = self.session(number) else {
            return;
        };
        cx.down(STACK, Request::Credit { session: session.provider, credit: taken(data) });
        let behind = u64::from(request.saturating_sub(HEADER_LEN));
        let mut asked = Vec::new();
        data.for_each(|octets| session.read(octets, behind, &mut asked));
        for octets in asked {
            let len = usize::try_from(octets).unwrap_or(usize::MAX);
            let answer = Message::generated(pattern, session.sent, len);
            session.sent += octets;
            match &mut session.response {
                Some(response) => response.append(answer),
                None => session.response = Some(answer),
            }
            cx.charge(Work::Call, 1);
            cx.charge(Work::Copy, octets * transfer.copies);
        }
        self.write(number, cx);
    }

    fn write(&mut self, number: u32, cx: &mut Context<'_>) {
        let Some(session) = self.session(number) else {
            return;
        };
        if let Some((provider, data, end)) = piece(Some(session.provider), &mut session.response, &mut session.credit) {
            cx.down(STACK, Request::Data { session: provider, data, end });
        }
    }
}

impl Answering {
    const fn of(provider: Handle, caller: Address) -> Self {
        Self { provider, caller, aborted: None, credit: 0, header: Vec::new(), rest: 0, response: None, sent: 0 }
    }

    /// Takes the next octets of requests, each with so many `behind` its length, and adds the lengths of responses that
    /// are asked for.
    fn read(&mut self, mut octets: &[u8], behind: u64, asked: &mut Vec<u64>) {
        while !octets.is_empty() {
            if self.rest > 0 {
                let skipped = usize::try_from(self.rest).unwrap_or(usize::MAX).min(octets.len());
                self.rest -= skipped as u64;
                octets = octets.get(skipped..).unwrap_or_default();
                if self.rest > 0 {
                    return;
                }
            } else {
                let missing = (HEADER_LEN as usize).saturating_sub(self.header.len()).min(octets.len());
                let (header, others) = octets.split_at(missing);
                self.header.extend_from_slice(header);
                octets = others;
                if self.header.len() < HEADER_LEN as usize {
                    return;
                }
                self.rest = behind;
            }
            // A request is whole.
            if self.rest == 0 {
                let header = core::mem::take(&mut self.header);
                asked.extend(header.first_chunk().map(|octets| u64::from_be_bytes(*octets)));
            }
        }
    }
}

impl Protocol for RpcServer {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[Service::STREAM], below: (1, 1), keys: Vec::new() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        listen(self.config.local, self.config.backlog, self.config.quality, cx);
    }

    fn push(&mut self, _: Above, _: Request, cx: &mut Context<'_>) {
        cx.drop("nothing stands above a program");
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Offered(offered) => {
                let index = u32::try_from(self.sessions.len()).unwrap_or(u32::MAX);
                self.sessions.push(Answering::of(offered.provider, offered.remote));
                cx.charge(Work::Call, 1);
                accept(offered.provider, handle(index), self.config.quality, cx);
            }
            Indication::Credit { session: user, credit } => {
                if let Some(session) = self.session(user.index) {
                    session.credit += credit.octets;
                }
                self.write(user.index, cx);
            }
            Indication::Data { session, data, .. } => self.came(session.index, &data, cx),
            Indication::Released { session: user, .. } => {
                if let Some(session) = self.session(user.index).map(|it| it.provider) {
                    cx.down(STACK, Request::Release { session, data: None });
                }
            }
            Indication::Aborted { session: user, reason, .. } if user == LISTEN => self.refused = Some(reason),
            Indication::Aborted { session: user, reason, .. } => {
                if let Some(session) = self.session(user.index) {
                    session.response = None;
                    session.aborted.get_or_insert_with(|| (cx.now(), reason));
                }
            }
            Indication::Unit(_)
            | Indication::Opened(_)
            | Indication::Special { .. }
            | Indication::Expedited { .. }
            | Indication::Closed { .. }
            | Indication::Reset { .. }
            | Indication::Notice { .. }
            | Indication::Report(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_however_they_are_cut() {
        let requests: Vec<u8> =
            [5_u64, 70_000].iter().flat_map(|len| [&len.to_be_bytes()[..], &[0; 3]].concat()).collect();
        for size in 1..=requests.len() {
            let mut session = Answering::of(Handle::default(), Address::NONE);
            let mut asked = Vec::new();
            requests.chunks(size).for_each(|octets| session.read(octets, 3, &mut asked));
            assert_eq!(asked, [5, 70_000], "{size}");
            let mut bare = Vec::new();
            5_u64.to_be_bytes().chunks(size).for_each(|octets| session.read(octets, 0, &mut bare));
            assert_eq!(bare, [5], "{size}");
        }
    }
}
