//! The program on a host: it listens, calls, writes, reads, releases and aborts as it is told, and looks at what it
//! gets.

use core::net::SocketAddr;
use std::collections::BTreeMap;

use kumiki_graph::{
    Above, Accept, Address, Below, Context, Credit, Handle, Indication, Mode, Open, Protocol, Quality, Reason, Request,
    Service, Shape,
};
use kumiki_inet::tcp::UrgentAhead;
use kumiki_octets::Message;

/// TCP or XTP, of one or two versions of IP, and a device by which it is told that there is something to do.
const LEAST_BELOW: u16 = 2;
const MOST_BELOW: u16 = 3;
/// The handle of a listener; sessions are numbered from 0.
const LISTENER: u32 = 1000;

/// What a program can be told.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    /// Listen with the stack of this number.
    Listen(u16, SocketAddr),
    /// Call.
    Call(u16, SocketAddr),
    /// So many octets more are to be written on every session, of this one or a later one.
    Write(u64),
    /// What comes is taken, or not.
    Read(bool),
    /// No more is written on this session.
    Release(u32),
    /// An end at once.
    Abort(u32),
    /// Everything ends at once.
    AbortAll,
}

/// How a session ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SessionEnd {
    /// In order, both ways.
    Closed,
    /// The transport said so.
    Aborted(Reason),
    /// The program did it.
    Own,
}

/// A session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Session {
    stack: u16,
    provider: Option<Handle>,
    called: bool,
    credit: u64,
    left: u64,
    unpaid: u64,
    released: bool,
    /// Octets handed to the transport.
    pub(crate) written: u64,
    /// Octets that the transport delivered.
    pub(crate) received: u64,
    /// The place of the first octet that was not the right one.
    pub(crate) wrong: Option<u64>,
    /// The peer's end of data came.
    pub(crate) peer_released: bool,
    /// How it ended.
    pub(crate) over: Option<SessionEnd>,
}

/// The program.
pub(crate) struct Program {
    stacks: u16,
    /// Told and not yet done.
    pub(crate) todo: Vec<Command>,
    /// In the order in which they began.
    pub(crate) sessions: BTreeMap<u32, Session>,
    write: u64,
    reads: bool,
    /// What it asks for when it calls and accepts.
    pub(crate) quality: Quality,
    /// A release follows what is to be written.
    pub(crate) release_when_written: bool,
}

/// The octet at a place of what a caller (or the called one) writes.
fn content(called: bool, at: u64) -> u8 {
    let [low, high, ..] = at.to_le_bytes();
    low.wrapping_mul(31) ^ high ^ if called { 0x55 } else { 0 }
}

impl Program {
    /// A program on so many TCPs.
    pub(crate) fn new(stacks: u16) -> Self {
        Self {
            stacks,
            todo: Vec::new(),
            sessions: BTreeMap::new(),
            write: 0,
            reads: true,
            quality: Quality::default(),
            release_when_written: false,
        }
    }

    fn begin(&mut self, stack: u16, called: bool) -> u32 {
        let number = u32::try_from(self.sessions.len()).unwrap();
        let session = Session { stack, called, left: self.write, ..Session::default() };
        self.sessions.insert(number, session);
        number
    }

    fn obey(&mut self, command: &Command, cx: &mut Context<'_>) {
        match *command {
            Command::Listen(stack, local) => {
                let open = Open {
                    user: handle(LISTENER),
                    mode: Mode::Passive { backlog: 4 },
                    local: Address::from(local),
                    ..Open::default()
                };
                cx.down(Below(stack), Request::Open(Box::new(open)));
            }
            Command::Call(stack, remote) => {
                let user = handle(self.begin(stack, false));
                let any = if remote.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
                let open = Open {
                    user,
                    local: Address::from(any.parse::<SocketAddr>().unwrap()),
                    remote: Address::from(remote),
                    quality: self.quality,
                    ..Open::default()
                };
                cx.down(Below(stack), Request::Open(Box::new(open)));
            }
            Command::Write(octets) => {
                self.write += octets;
                for session in self.sessions.values_mut().filter(|it| !it.released) {
                    session.left += octets;
                }
            }
            Command::Read(reads) => self.reads = reads,
            Command::Release(number) => {
                if let Some(session) = self.sessions.get_mut(&number) {
                    session.left = 0;
                    session.release(cx);
                }
            }
            Command::Abort(number) => {
                if let Some(session) = self.sessions.get_mut(&number) {
                    session.abort(number, cx);
                }
            }
            Command::AbortAll => {
                for (number, session) in &mut self.sessions {
                    session.abort(*number, cx);
                }
            }
        }
    }

    fn pump(&mut self, cx: &mut Context<'_>) {
        for session in self.sessions.values_mut().filter(|it| it.over.is_none()) {
            session.pump(self.reads, self.release_when_written, cx);
        }
    }

    fn of(&mut self, handle: Handle) -> Option<&mut Session> {
        self.sessions.get_mut(&handle.index)
    }
}

const fn handle(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

impl Session {
    fn pump(&mut self, reads: bool, release: bool, cx: &mut Context<'_>) {
        let Some(session) = self.provider else {
            return;
        };
        while self.credit > 0 && self.left > 0 {
            let len = self.credit.min(self.left).min(1000);
            let octets: Vec<u8> = (self.written..self.written + len).map(|at| content(self.called, at)).collect();
            self.credit -= len;
            self.left -= len;
            self.written += len;
            let data = Message::from_octets(&octets);
            let end = self.left == 0;
            cx.down(Below(self.stack), Request::Data { session, data, end });
        }
        if reads && self.unpaid > 0 {
            let credit = Credit::octets(core::mem::take(&mut self.unpaid));
            cx.down(Below(self.stack), Request::Credit { session, credit });
        }
        if release && self.left == 0 {
            self.release(cx);
        }
    }

    fn release(&mut self, cx: &mut Context<'_>) {
        if let Some(session) = self.provider
            && !self.released
            && self.over.is_none()
        {
            self.released = true;
            let data = None;
            cx.down(Below(self.stack), Request::Release { session, data });
        }
    }

    fn abort(&mut self, number: u32, cx: &mut Context<'_>) {
        if self.over.is_some() {
            return;
        }
        self.over = Some(SessionEnd::Own);
        let request = match self.provider {
            Some(session) => Request::Abort { session, reason: Reason::User, data: None },
            None => Request::Cancel { user: handle(number) },
        };
        cx.down(Below(self.stack), request);
    }

    fn take(&mut self, data: &Message) {
        let called = self.called;
        for octet in data.to_vec() {
            if octet != content(!called, self.received) {
                self.wrong.get_or_insert(self.received);
            }
            self.received += 1;
        }
        self.unpaid += data.len() as u64;
    }
}

impl Protocol for Program {
    fn shape(&self) -> Shape {
        Shape {
            offers: None,
            needs: &[Service::STREAM, Service::FRAME],
            below: (LEAST_BELOW, MOST_BELOW),
            keys: Vec::new(),
        }
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
        if from == Below(self.stacks) {
            for command in core::mem::take(&mut self.todo) {
                self.obey(&command, cx);
            }
            return self.pump(cx);
        }
        let Below(stack) = from;
        match indication {
            Indication::Opened(opened) => {
                if let Some(session) = self.of(opened.user) {
                    session.provider = Some(opened.provider);
                }
            }
            Indication::Offered(offered) => {
                let user = handle(self.begin(stack, true));
                let session = offered.provider;
                if let Some(own) = self.of(user) {
                    own.provider = Some(session);
                    if let Some(data) = &offered.data {
                        own.take(data);
                    }
                }
                let accept = Accept { session, user, quality: self.quality, ..Accept::default() };
                cx.down(from, Request::Accept(Box::new(accept)));
            }
            Indication::Data { session, data, .. } | Indication::Expedited { session, data } => {
                let session = self.of(session).expect("data of a session that is known");
                assert_eq!(session.over, None, "data after the end");
                assert!(!session.peer_released, "data after the peer's end of data");
                session.take(&data);
            }
            Indication::Credit { session, credit } => {
                let session = self.of(session).expect("credit of a session that is known");
                session.credit += credit.octets;
            }
            Indication::Released { session, .. } => {
                let session = self.of(session).expect("the end of a session that is known");
                assert!(!session.peer_released, "the peer's end of data came twice");
                session.peer_released = true;
                session.left = 0;
                session.release(cx);
            }
            Indication::Closed { session } => {
                if let Some(session) = self.of(session) {
                    assert_eq!(session.over, None, "an end after the end");
                    session.over = Some(SessionEnd::Closed);
                }
            }
            Indication::Aborted { session, reason, .. } => {
                if let Some(session) = self.of(session) {
                    assert!(matches!(session.over, None | Some(SessionEnd::Own)), "an end after the end");
                    session.over.get_or_insert(SessionEnd::Aborted(reason));
                }
            }
            Indication::Notice { .. } | Indication::Report(_) => {}
            Indication::Special { what, .. } if what.is::<UrgentAhead>() => {}
            Indication::Unit(_) | Indication::Special { .. } | Indication::Reset { .. } => {
                panic!("no stream says {indication:?}")
            }
        }
        self.pump(cx);
    }
}
