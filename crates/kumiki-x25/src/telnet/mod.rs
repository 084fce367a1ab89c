//! Telnet, the side of a server: a terminal's characters out of the stream in which a Telnet program wraps them.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 854, RFC 855; of options RFC 857 (echo), RFC 858 (suppress go ahead) and RFC 856 (binary transmission) |
//! | Above | one user of a `Stream` of characters, which hears `Expedited` where the person at the other end sends a break |
//! | Below | a `Stream`: [`pipe`](kumiki_graph::pipe), TCP |
//! | Left out | all other options, which are refused; abort output and erase commands, which are taken out; urgent data (a SYNCH is read in its turn) |
//!
//! We offer to echo and to go without GO AHEAD, which puts clients into sending each character as it is typed. A client
//! that refuses is left as it is.
//!
//! **Ends of line.** A client says CR LF, or CR NUL; the user above hears CR alone. What it sends is sent as it is,
//! with IAC doubled: it is the terminal's business where the line ends. With binary transmission nothing is changed.
//!
//! **Credit.** Octets pass through both ways. What is taken out of the stream is granted below again; what doubling
//! adds waits here until there is room for it.

use std::collections::VecDeque;

use kumiki_graph::{Above, Below, Context, Credit, Handle, Indication, Key, Protocol, Request, Service, Shape};
use kumiki_octets::Message;

#[cfg(test)]
mod tests;

/// The stream.
const STREAM: Below = Below(0);
/// Octets that may wait before the other end is granted nothing for what was taken out.
const MOST_WAITING: u64 = 1024;

/// Commands (RFC 854).
mod command {
    pub(super) const SE: u8 = 240;
    pub(super) const BREAK: u8 = 243;
    pub(super) const INTERRUPT: u8 = 244;
    pub(super) const ARE_YOU_THERE: u8 = 246;
    pub(super) const SB: u8 = 250;
    pub(super) const WILL: u8 = 251;
    pub(super) const WONT: u8 = 252;
    pub(super) const DO: u8 = 253;
    pub(super) const DONT: u8 = 254;
    pub(super) const IAC: u8 = 255;
}
use command::{ARE_YOU_THERE, BREAK, DO, DONT, IAC, INTERRUPT, SB, SE, WILL, WONT};

/// Options (RFC 856 to 858).
mod option {
    pub(super) const BINARY: u8 = 0;
    pub(super) const ECHO: u8 = 1;
    pub(super) const SUPPRESS_GO_AHEAD: u8 = 3;
}
use option::{BINARY, ECHO, SUPPRESS_GO_AHEAD};

/// What is being read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Reading {
    #[default]
    Data,
    /// Behind a CR.
    Return,
    /// Behind IAC.
    Command,
    /// Behind WILL, WONT, DO or DONT.
    Option(u8),
    /// Within a subnegotiation.
    Inside,
    /// Within one, behind IAC.
    InsideCommand,
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Breaks and interrupts of the other end.
    pub breaks: u64,
    /// Options that were refused.
    pub refused: u64,
}

/// The session that passes through, in the handles of both sides.
#[derive(Clone, Copy, Debug)]
struct Session {
    user: Handle,
    provider: Handle,
}

/// The node.
#[derive(Debug, Default)]
pub struct Telnet {
    session: Option<Session>,
    reading: Reading,
    /// Each of ECHO, SUPPRESS GO AHEAD and BINARY: whether we do it.
    ours: [bool; 3],
    /// The same of the other end; it never echoes.
    theirs: [bool; 3],
    /// Octets of the stream that may be sent.
    credit: u64,
    /// Ready to be sent: replies, and what the user has handed over.
    out: VecDeque<u8>,
    /// Octets that the user may hand over.
    allowed: u64,
    /// Octets that were taken out of the stream and not granted again.
    taken_out: u64,
    /// The user sends no more.
    released: bool,
    counters: Counters,
}

impl Telnet {
    /// A node with no session.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    fn begin(&mut self, session: Session, cx: &mut Context<'_>) {
        *self = Self {
            session: Some(session),
            // What is offered is taken for granted, so that the answer needs no answer.
            ours: [true, true, false],
            counters: self.counters,
            ..Self::default()
        };
        self.out.extend([IAC, WILL, ECHO]);
        self.out.extend([IAC, WILL, SUPPRESS_GO_AHEAD]);
        self.out.extend([IAC, DO, SUPPRESS_GO_AHEAD]);
        self.theirs = [false, true, false];
        self.flush(cx);
    }

    /// Sends what there is room for.
    fn flush(&mut self, cx: &mut Context<'_>) {
        let Some(session) = self.session else {
            return;
        };
        let most = usize::try_from(self.credit).unwrap_or(usize::MAX);
        let count = self.out.len().min(most);
        if count > 0 {
            let octets: Vec<u8> = self.out.drain(..count).collect();
            self.credit -= octets.len() as u64;
            let (data, end) = (Message::from_octets(&octets), true);
            let session = session.provider;
            cx.down(STREAM, Request::Data { session, data, end });
        }
        if self.out.is_empty() && core::mem::take(&mut self.released) {
            let (session, data) = (session.provider, None);
            cx.down(STREAM, Request::Release { session, data });
        }
    }

    /// Grants both sides what there is room for: the user what the stream takes beyond what waits, the stream what was
    /// taken out of it, but not while what waits is a lot, for a peer that asks and does not read would fill the memory
    /// with answers.
    fn grant(&mut self, cx: &mut Context<'_>) {
        let Some(session) = self.session else {
            return;
        };
        let waiting = self.out.len() as u64;
        let free = self.credit.saturating_sub(waiting);
        if free > self.allowed {
            let credit = Credit::octets(free - self.allowed);
            self.allowed = free;
            let session = session.user;
            cx.up(Above(0), Indication::Credit { session, credit });
        }
        if self.taken_out > 0 && waiting < MOST_WAITING {
            let credit = Credit::octets(core::mem::take(&mut self.taken_out));
            let session = session.provider;
            cx.down(STREAM, Request::Credit { session, credit });
        }
    }

    /// What the user sends.
    fn send(&mut self, data: &Message) {
        self.allowed = self.allowed.saturating_sub(data.len() as u64);
        data.for_each(|octets| {
            for octet in octets {
                self.out.push_back(*octet);
                if *octet == IAC {
                    self.out.push_back(IAC);
                }
            }
        });
    }

    /// Octets of the stream: characters for the user, and what is the protocol's.
    fn receive(&mut self, session: Session, octets: &[u8], cx: &mut Context<'_>) {
        let mut characters = Vec::new();
        let mut handed = 0;
        for octet in octets {
            if self.read(*octet, &mut characters) {
                handed += hand_up(session, &mut characters, cx);
                self.counters.breaks += 1;
                let (session, data) = (session.user, Message::new());
                cx.up(Above(0), Indication::Expedited { session, data });
            }
        }
        handed += hand_up(session, &mut characters, cx);
        let taken_out = octets.len().saturating_sub(handed);
        self.taken_out = self.taken_out.saturating_add(taken_out as u64);
    }

    /// One octet; true where it ends a break.
    fn read(&mut self, octet: u8, characters: &mut Vec<u8>) -> bool {
        let [_, _, is_binary] = self.theirs;
        let before = core::mem::take(&mut self.reading);
        match (before, octet) {
            // The second half of an end of line.
            (Reading::Return, 0 | b'\n') => {}
            (Reading::Data | Reading::Return, IAC) => self.reading = Reading::Command,
            (Reading::Data | Reading::Return, octet) => {
                characters.push(octet);
                if octet == b'\r' && !is_binary {
                    self.reading = Reading::Return;
                }
            }
            (Reading::Command, IAC) => characters.push(IAC),
            (Reading::Command, BREAK | INTERRUPT) => return true,
            (Reading::Command, ARE_YOU_THERE) => self.out.extend(*b"\r\n[yes]\r\n"),
            (Reading::Command, SB) => self.reading = Reading::Inside,
            (Reading::Command, WILL | WONT | DO | DONT) => self.reading = Reading::Option(octet),
            (Reading::Command, _) => {}
            (Reading::Option(verb), option) => self.negotiate(verb, option),
            (Reading::Inside, IAC) => self.reading = Reading::InsideCommand,
            (Reading::InsideCommand, SE) => {}
            (Reading::Inside | Reading::InsideCommand, _) => self.reading = Reading::Inside,
        }
        false
    }

    /// WILL, WONT, DO or DONT: answered where it changes something (RFC 855), so that no two ends answer each other for
    /// ever.
    fn negotiate(&mut self, verb: u8, option: u8) {
        let place = match option {
            ECHO => Some(0),
            SUPPRESS_GO_AHEAD => Some(1),
            BINARY => Some(2),
            _ => None,
        };
        let is_ours = matches!(verb, DO | DONT);
        let wants = matches!(verb, DO | WILL);
        let side = if is_ours { &mut self.ours } else { &mut self.theirs };
        let Some(is) = place.and_then(|place| side.get_mut(place)) else {
            if wants {
                self.counters.refused += 1;
                self.out.extend([IAC, if is_ours { WONT } else { DONT }, option]);
            }
            return;
        };
        if *is == wants {
            return;
        }
        // A client that echoes to us would have our echo come back.
        let grants = wants && (is_ours || option != ECHO);
        *is = grants;
        let answer = match (is_ours, grants) {
            (true, true) => WILL,
            (true, false) => WONT,
            (false, true) => DO,
            (false, false) => DONT,
        };
        self.out.extend([IAC, answer, option]);
    }
}

/// Gives how many there were.
fn hand_up(session: Session, characters: &mut Vec<u8>, cx: &mut Context<'_>) -> usize {
    let count = characters.len();
    if count > 0 {
        let (session, end) = (session.user, false);
        let data = Message::from_octets(&core::mem::take(characters));
        cx.up(Above(0), Indication::Data { session, data, end });
    }
    count
}

impl Protocol for Telnet {
    fn shape(&self) -> Shape {
        Shape { offers: Some(Service::STREAM), needs: &[Service::STREAM], below: (1, 1), keys: Vec::new() }
    }

    fn bind(&mut self, above: Above, _: &[Key]) -> Result<(), String> {
        if above == Above(0) { Ok(()) } else { Err("a terminal has one user, and it has one already".to_owned()) }
    }

    fn push(&mut self, _: Above, request: Request, cx: &mut Context<'_>) {
        match request {
            Request::Accept(accept) if self.session.is_none() => {
                let session = Session { user: accept.user, provider: accept.session };
                cx.down(STREAM, Request::Accept(accept));
                self.begin(session, cx);
            }
            Request::Data { data, .. } => {
                self.send(&data);
                self.flush(cx);
                self.grant(cx);
            }
            Request::Release { .. } => {
                self.released = true;
                self.flush(cx);
            }
            Request::Abort { session, .. } => {
                if self.session.is_some_and(|it| it.provider == session) {
                    self.session = None;
                }
                cx.down(STREAM, request);
            }
            Request::Open(_)
            | Request::Accept(_)
            | Request::Cancel { .. }
            | Request::Credit { .. }
            | Request::Manage(_) => cx.down(STREAM, request),
            // A break to the terminal, which no client shows.
            Request::Expedited { .. } => cx.drop("not offered by Telnet"),
            Request::Unit(_) | Request::Special { .. } | Request::Reset { .. } => cx.drop("not offered by Telnet"),
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        if let Indication::Data { data, .. } = indication {
            let Some(session) = self.session else {
                return cx.drop("no such session");
            };
            self.receive(session, &data.to_vec(), cx);
            self.flush(cx);
            self.grant(cx);
        } else if let Indication::Credit { credit, .. } = indication {
            self.credit = self.credit.saturating_add(credit.octets);
            self.flush(cx);
            self.grant(cx);
        } else if let Indication::Closed { .. } | Indication::Aborted { .. } = indication {
            self.session = None;
            cx.up(Above(0), indication);
        } else {
            cx.up(Above(0), indication);
        }
    }
}
