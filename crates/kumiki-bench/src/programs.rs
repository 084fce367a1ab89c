//! The programs above our TCP: nodes like any embedder's.
//!
//! [`Caller`] opens the connections and copies its own buffer into pages; [`Answerer`] takes them and copies what
//! arrives into a buffer of its own.

use core::net::SocketAddr;

use kumiki_graph::{
    Above, Accept, Address, Below, Coalesce, Context, Credit, Handle, Indication, Mode, Open, Protocol, Quality,
    Request, Service, Shape,
};
use kumiki_octets::{Message, Page};

use crate::load::{Load, SMALL, WRITE, Work, content, wrong};

const STACK: Below = Below(0);
const LISTEN: Handle = Handle { index: u32::MAX, generation: 0 };
/// As TCP_NODELAY; the rivals have it too.
fn quality() -> Quality {
    Quality { coalesce: Some(Coalesce::Never), ..Quality::default() }
}

/// Callers of one port: well below the number of ports that they can call from.
const CALLERS: usize = 8192;

/// Whom caller number `number` calls where the first calls `first`.
fn nth(mut first: SocketAddr, number: u32) -> SocketAddr {
    let further = usize::try_from(number).unwrap_or(0) / CALLERS;
    let port = first.port().saturating_add(u16::try_from(further).unwrap_or(u16::MAX));
    first.set_port(port);
    first
}

const fn handle(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

fn at<T>(list: &mut [T], handle: Handle) -> Option<&mut T> {
    list.get_mut(usize::try_from(handle.index).ok()?)
}

fn shape() -> Shape {
    Shape { offers: None, needs: &[Service::STREAM], below: (1, 1), keys: Vec::new() }
}

/// Copies `data` to the front of `buffer` piece by piece, showing each to `see`; gives how many octets there were.
fn copy_out(data: &Message, buffer: &mut [u8], mut see: impl FnMut(usize, &[u8])) -> u64 {
    let mut from = 0;
    while from < data.len() {
        let len = buffer.len().min(data.len() - from);
        let Some(piece) = buffer.get_mut(..len) else {
            break;
        };
        if !data.copy_to(from, piece) {
            break;
        }
        see(from, piece);
        from += len;
    }
    from as u64
}

#[derive(Debug, Default)]
struct Calling {
    provider: Option<Handle>,
    credit: u64,
    /// Octets of text in a full segment.
    unit: usize,
    /// Written and not acknowledged, in octets.
    in_flight: u64,
    /// Octets, or exchanges, that are left to do.
    left: u64,
    /// Octets of the reply that have come.
    replied: usize,
}

/// What both programs keep for one connection, in octets.
#[allow(dead_code, reason = "for the program that counts memory")]
pub(crate) const fn octets_each() -> usize {
    size_of::<Calling>() + size_of::<Answering>()
}

/// Opens the connections and does the work.
#[derive(Debug)]
pub(crate) struct Caller {
    remote: SocketAddr,
    load: Load,
    /// The most octets written and not acknowledged, on all connections together.
    most: u64,
    buffer: Vec<u8>,
    reply: Vec<u8>,
    sessions: Vec<Calling>,
    turn: usize,
    /// Written and not acknowledged, on all connections together, in octets.
    pub(crate) in_flight: u64,
    pub(crate) opened: u32,
    pub(crate) done: u32,
    pub(crate) aborted: u32,
    /// Set when all are open.
    pub(crate) begun: bool,
}

impl Caller {
    pub(crate) fn new(remote: SocketAddr, load: Load, most: u64) -> Self {
        let left = match load.work {
            Work::Octets(left) | Work::Exchanges(left) => left,
        };
        let session = || Calling { left, ..Calling::default() };
        Self {
            remote,
            load,
            most,
            buffer: content(load.write()),
            reply: vec![0; WRITE],
            sessions: (0..load.sessions).map(|_| session()).collect(),
            turn: 0,
            in_flight: 0,
            opened: 0,
            done: 0,
            aborted: 0,
            begun: false,
        }
    }

    fn begin(&mut self, cx: &mut Context<'_>) {
        self.begun = true;
        match self.load.work {
            Work::Octets(_) => self.write(cx),
            Work::Exchanges(_) => {
                for number in 0..self.load.sessions {
                    self.ask(handle(number), cx);
                }
            }
        }
    }

    /// Writes to each connection in turn while there is credit and not too much is in flight.
    fn write(&mut self, cx: &mut Context<'_>) {
        let mut passed = 0;
        while self.in_flight < self.most && passed < self.sessions.len() {
            let number = self.turn;
            self.turn = (self.turn + 1) % self.sessions.len();
            if self.write_one(number, cx) {
                passed = 0;
            } else {
                passed += 1;
            }
        }
    }

    fn write_one(&mut self, number: usize, cx: &mut Context<'_>) -> bool {
        let Some(session) = self.sessions.get_mut(number) else {
            return false;
        };
        let write = self.load.write() as u64;
        let (len, credit) = (session.left.min(write), session.credit);
        let Some(provider) = session.provider.filter(|_| len > 0 && credit >= len) else {
            return false;
        };
        session.left -= len;
        session.credit -= len;
        session.in_flight += len;
        self.in_flight += len;
        let (last, unit) = (session.left == 0, session.unit);
        let octets = usize::try_from(len).ok().and_then(|len| self.buffer.get(..len)).unwrap_or_default();
        // The copy in, and the sum with it.
        let data = Message::from_page(Page::copied(octets, unit));
        cx.down(STACK, Request::Data { session: provider, data, end: true });
        if last {
            self.done += 1;
            cx.down(STACK, Request::Release { session: provider, data: None });
        }
        true
    }

    fn ask(&mut self, user: Handle, cx: &mut Context<'_>) {
        let request = self.buffer.get(..SMALL).unwrap_or_default();
        let data = Message::from_octets(request);
        let Some(session) = at(&mut self.sessions, user) else {
            return;
        };
        let Some(provider) = session.provider else {
            return;
        };
        if session.left == 0 {
            self.done += 1;
            return;
        }
        session.left -= 1;
        session.replied = 0;
        cx.down(STACK, Request::Data { session: provider, data, end: true });
    }
}

impl Protocol for Caller {
    fn shape(&self) -> Shape {
        shape()
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        for number in 0..self.load.sessions {
            let open = Open {
                user: handle(number),
                mode: Mode::Active,
                local: Address::NONE,
                remote: Address::from(nth(self.remote, number)),
                quality: quality(),
                ..Open::default()
            };
            cx.down(STACK, Request::Open(Box::new(open)));
        }
    }

    fn push(&mut self, _: Above, _: Request, cx: &mut Context<'_>) {
        cx.drop("nothing stands above a program");
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Opened(opened) => {
                if let Some(session) = at(&mut self.sessions, opened.user) {
                    session.provider = Some(opened.provider);
                    session.unit = usize::try_from(opened.unit).unwrap_or(0);
                    self.opened += 1;
                }
            }
            Indication::Credit { session, credit } => {
                let begun = self.begun;
                if let Some(session) = at(&mut self.sessions, session) {
                    session.credit += credit.octets;
                    if begun {
                        let freed = credit.octets.min(session.in_flight);
                        session.in_flight -= freed;
                        self.in_flight -= freed;
                    }
                }
                if begun {
                    if let Work::Octets(_) = self.load.work {
                        self.write(cx);
                    }
                } else if self.opened == self.load.sessions {
                    self.begin(cx);
                }
            }
            Indication::Data { session, data, .. } => {
                copy_out(&data, &mut self.reply, |_, _| ());
                let Some(asking) = at(&mut self.sessions, session) else {
                    return;
                };
                asking.replied += data.len();
                let whole = asking.replied >= SMALL;
                if let Some(provider) = asking.provider {
                    give_back(provider, &data, cx);
                }
                if whole {
                    self.ask(session, cx);
                }
            }
            Indication::Aborted { .. } => self.aborted += 1,
            // All has been acknowledged, and there is no credit any more to say so.
            Indication::Closed { session } => {
                if let Some(session) = at(&mut self.sessions, session) {
                    self.in_flight -= core::mem::take(&mut session.in_flight);
                }
                self.write(cx);
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
}

fn give_back(session: Handle, data: &Message, cx: &mut Context<'_>) {
    let credit = Credit::octets(data.len() as u64);
    cx.down(STACK, Request::Credit { session, credit });
}

#[derive(Debug)]
struct Answering {
    provider: Handle,
    octets: u64,
    /// Octets of the request that have come.
    asked: usize,
}

/// Takes connections, reads everything, and replies where exchanges are the work.
#[derive(Debug)]
pub(crate) struct Answerer {
    local: SocketAddr,
    load: Load,
    content: Vec<u8>,
    buffer: Vec<u8>,
    sessions: Vec<Answering>,
    pub(crate) ended: u32,
    pub(crate) octets: u64,
    pub(crate) wrong: u64,
}

impl Answerer {
    pub(crate) fn new(local: SocketAddr, load: Load) -> Self {
        Self {
            local,
            load,
            content: content(load.write()),
            buffer: vec![0; WRITE],
            sessions: Vec::new(),
            ended: 0,
            octets: 0,
            wrong: 0,
        }
    }

    fn read(&mut self, user: Handle, data: &Message, cx: &mut Context<'_>) {
        let Some(session) = at(&mut self.sessions, user) else {
            return;
        };
        let (check, begin) = (self.load.check, session.octets);
        let (content, bad) = (&self.content, &mut self.wrong);
        // The copy out.
        let octets = copy_out(data, &mut self.buffer, |at, piece| {
            if check {
                *bad += wrong(content, begin + at as u64, piece);
            }
        });
        self.octets += octets;
        session.octets += octets;
        give_back(session.provider, data, cx);
        if let Work::Exchanges(_) = self.load.work {
            session.asked += data.len();
            if session.asked >= SMALL {
                session.asked -= SMALL;
                if check {
                    // Requests all begin the content.
                    session.octets = 0;
                }
                let reply = self.buffer.get(..SMALL).unwrap_or_default();
                cx.down(
                    STACK,
                    Request::Data { session: session.provider, data: Message::from_octets(reply), end: true },
                );
            }
        }
    }
}

impl Protocol for Answerer {
    fn shape(&self) -> Shape {
        shape()
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        for number in (0..self.load.sessions).step_by(CALLERS) {
            let open = Open {
                user: LISTEN,
                mode: Mode::Passive { backlog: self.load.sessions },
                local: Address::from(nth(self.local, number)),
                remote: Address::NONE,
                quality: quality(),
                ..Open::default()
            };
            cx.down(STACK, Request::Open(Box::new(open)));
        }
    }

    fn push(&mut self, _: Above, _: Request, cx: &mut Context<'_>) {
        cx.drop("nothing stands above a program");
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        if let Indication::Offered(offered) = indication {
            let user = handle(u32::try_from(self.sessions.len()).unwrap_or(u32::MAX));
            self.sessions.push(Answering { provider: offered.provider, octets: 0, asked: 0 });
            let accept =
                Accept { session: offered.provider, user, quality: quality(), data: None, ..Accept::default() };
            cx.down(STACK, Request::Accept(Box::new(accept)));
        } else if let Indication::Data { session, data, .. } = indication {
            self.read(session, &data, cx);
        } else if let Indication::Released { session, .. } = indication {
            self.ended += 1;
            if let Some(session) = at(&mut self.sessions, session) {
                let session = session.provider;
                cx.down(STACK, Request::Release { session, data: None });
            }
        }
    }
}
