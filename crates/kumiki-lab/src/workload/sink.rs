//! A program that reads: takes every session offered and everything that arrives, and checks it.
//!
//! | | |
//! |---|---|
//! | Specification | `ttcp -r`, netserver's side of `TCP_STREAM` |
//! | Above | nothing |
//! | Below | a stream, or a connection that carries each message whole |
//! | Left out | writing back |

use kumiki_graph::{
    Above, Address, Below, Context, Handle, Indication, Instant, Protocol, Quality, Reason, Request, Service, Shape,
    Work,
};
use kumiki_octets::{Message, Pattern};

use super::gaps::Gaps;
use super::{Bell, LISTEN, STACK, Transfer, TransferEvent, accept, handle, listen, taken};

/// What a [`Sink`] does.
#[derive(Clone, Debug)]
pub struct SinkConfig {
    /// Where it listens.
    pub local: Address,
    /// How many callers may wait.
    pub backlog: u32,
    /// The most octets that one call reads.
    pub read: u32,
    /// The content that must arrive; not looked at where `None`.
    pub expect: Option<Pattern>,
    /// What is asked of the stack.
    pub quality: Quality,
    /// How data gets out of the stack's memory.
    pub transfer: Transfer,
}

/// What one session brought.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Received {
    /// Who called.
    pub caller: Address,
    /// Octets read.
    pub octets: u64,
    /// When the first came.
    pub first: Option<Instant>,
    /// When the last came.
    pub last: Option<Instant>,
    /// The longest times between two arrivals.
    pub gaps: Gaps,
    /// Position of the first octet that was not what it should be.
    pub wrong_at: Option<u64>,
    /// When the peer had sent all.
    pub ended: Option<Instant>,
    /// Why it ended otherwise.
    pub aborted: Option<Reason>,
}

#[derive(Debug)]
struct Session {
    provider: Handle,
    received: Received,
}

/// The program; see the module.
#[derive(Debug)]
pub struct Sink {
    config: SinkConfig,
    sessions: Vec<Session>,
    last: Option<u32>,
    /// Set where it may not listen at all.
    pub refused: Option<Reason>,
    /// Who is told when sessions end.
    bell: Option<Bell>,
}

impl Sink {
    /// A program that does what `config` says.
    #[must_use]
    pub const fn new(config: SinkConfig) -> Self {
        Self { config, sessions: Vec::new(), last: None, refused: None, bell: None }
    }

    /// One that rings `bell` when a session has brought all.
    #[must_use]
    pub fn ringing(self, bell: Option<Bell>) -> Self {
        Self { bell, ..self }
    }

    /// What each session brought, in the order of being accepted.
    pub fn received(&self) -> impl Iterator<Item = Received> + '_ {
        self.sessions.iter().map(|session| session.received.clone())
    }

    /// What came before `now` is not measured.
    pub fn measure_from(&mut self, now: Instant) {
        for session in &mut self.sessions {
            session.received.gaps.measure_from(now);
        }
    }

    /// Octets read in all sessions.
    #[must_use]
    pub fn octets(&self) -> u64 {
        self.received().map(|received| received.octets).sum()
    }

    fn session(&mut self, handle: Handle) -> Option<&mut Session> {
        self.sessions.get_mut(usize::try_from(handle.index).ok()?)
    }

    /// Data that came on a session, and takes room there.
    fn came(&mut self, user: Handle, data: &Message, cx: &mut Context<'_>) {
        self.read(user, data, cx);
        if let Some(session) = self.session(user).map(|it| it.provider) {
            cx.down(STACK, Request::Credit { session, credit: taken(data) });
        }
    }

    fn read(&mut self, user: Handle, data: &Message, cx: &mut Context<'_>) {
        let SinkConfig { read, expect, transfer, .. } = self.config;
        let switched = self.last.replace(user.index).is_some_and(|last| last != user.index);
        let Some(session) = self.session(user) else {
            return;
        };
        if switched {
            cx.charge(Work::Switch, 1);
        }
        let octets = data.len() as u64;
        cx.charge(Work::Call, octets.div_ceil(u64::from(read.max(1))));
        cx.charge(Work::Copy, octets * transfer.copies);
        let now = cx.now();
        let received = &mut session.received;
        if let Some(pattern) = expect
            && received.wrong_at.is_none()
        {
            received.wrong_at = first_wrong(pattern, received.octets, data);
        }
        received.gaps.arrived(received.last, now);
        received.octets += octets;
        received.first = received.first.or(Some(now));
        received.last = Some(now);
    }
}

/// The position of the first octet of `data`, at stream position `offset`, that is not `pattern`'s.
pub fn first_wrong(pattern: Pattern, offset: u64, data: &Message) -> Option<u64> {
    let same = |at: u64, slice: &kumiki_octets::Slice| slice.pattern() == Some((pattern, at));
    let mut at = offset;
    if data.slices().iter().map(kumiki_octets::Slice::len).sum::<usize>() == data.len() {
        let unread = data.slices().iter().any(|slice| {
            let generated = same(at, slice);
            at = at.wrapping_add(slice.len() as u64);
            !generated
        });
        if !unread {
            return None;
        }
    }
    let (mut at, mut wrong) = (offset, None);
    data.for_each(|octets| {
        for &octet in octets {
            if wrong.is_none() && octet != pattern.octet(at) {
                wrong = Some(at);
            }
            at = at.wrapping_add(1);
        }
    });
    wrong
}

impl Protocol for Sink {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[Service::STREAM, Service::CONNECTION], below: (1, 1), keys: Vec::new() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        listen(self.config.local, self.config.backlog, self.config.quality, cx);
    }

    fn push(&mut self, _: Above, _: Request, cx: &mut Context<'_>) {
        cx.drop("nothing stands above a program");
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        let now = cx.now();
        match indication {
            Indication::Offered(offered) => {
                let index = u32::try_from(self.sessions.len()).unwrap_or(u32::MAX);
                let user = handle(index);
                let received = Received { caller: offered.remote, ..Received::default() };
                self.sessions.push(Session { provider: offered.provider, received });
                cx.charge(Work::Call, 1);
                accept(offered.provider, user, self.config.quality, cx);
                // What comes with a call needs no credit.
                if let Some(data) = offered.data {
                    self.read(user, &data, cx);
                }
            }
            Indication::Data { session, data, .. } => self.came(session, &data, cx),
            Indication::Released { session: user, .. } => {
                if let Some(session) = self.session(user) {
                    session.received.ended = Some(now);
                    let (provider, caller) = (session.provider, session.received.caller);
                    self.bell.iter().for_each(|bell| bell.ring(TransferEvent::Over { caller }));
                    cx.down(STACK, Request::Release { session: provider, data: None });
                }
            }
            Indication::Aborted { session: user, reason, .. } if user == LISTEN => self.refused = Some(reason),
            Indication::Aborted { session: user, reason, .. } => {
                if let Some(session) = self.session(user) {
                    session.received.aborted = Some(reason);
                }
            }
            Indication::Unit(_)
            | Indication::Opened(_)
            | Indication::Special { .. }
            | Indication::Expedited { .. }
            | Indication::Credit { .. }
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
    fn content_is_looked_at_past_the_last_position_of_its_pattern() {
        let offset = u64::MAX - 3;
        let generated = Message::generated(Pattern::Counter, offset, 10);
        let mut octets = generated.to_vec();
        assert_eq!(first_wrong(Pattern::Counter, offset, &generated), None);
        let copied = Message::from_octets(&octets);
        assert_eq!(first_wrong(Pattern::Counter, offset, &copied), None);
        octets[6] ^= 1;
        let changed = Message::from_octets(&octets);
        assert_eq!(first_wrong(Pattern::Counter, offset, &changed), Some(2));
    }
}
