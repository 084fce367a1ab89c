//! A user of the calls of X.25 in the hands of a target.

use kumiki_graph::Special;
use std::collections::BTreeMap;

use kumiki_graph::{
    Above, Accept, Address, Below, Context, Credit, Handle, Indication, Mode, Open, Protocol, Reason, Request, Service,
    Shape, Token,
};
use kumiki_octets::Message;
use kumiki_osi_service::x25::{Call, Number, Primitive};

/// One session of the user.
#[derive(Default)]
struct Session {
    provider: Option<Handle>,
    /// Messages that it may send, and that it may be handed.
    credit: u32,
    room: u32,
    /// It has asked for a reset and was not told that it is done.
    asked: bool,
    /// It was told of a reset and has not answered.
    owes: bool,
    listens: bool,
}

/// Does what it is told, and answers resets at once or later.
#[derive(Default)]
pub(crate) struct Subscriber {
    sessions: BTreeMap<u32, Session>,
    next: u32,
    /// What it is to do when woken: which of its acts on which session, and with what data.
    pub(crate) wishes: Vec<(u8, Vec<u8>)>,
    late: bool,
    /// It grants again what it was handed.
    greedy: bool,
    /// The data of its calls.
    call_data: Option<Vec<u8>>,
}

const fn own(index: u32) -> Handle {
    Handle { index, generation: 1 }
}

/// What a user has room for before it says more.
const ROOM: u32 = 3;

impl Subscriber {
    /// One who reads all that comes, and whose calls have this data.
    pub(crate) fn reading(call_data: Option<Vec<u8>>) -> Self {
        Self { greedy: true, call_data, ..Self::default() }
    }

    /// How many sessions there are that do not wait for calls.
    pub(crate) fn calls(&self) -> usize {
        self.sessions.values().filter(|it| !it.listens).count()
    }

    fn open(&mut self, mode: Mode, remote: Address, channel: Option<u16>, cx: &mut Context<'_>) {
        self.next += 1;
        let mut open = Open {
            user: own(self.next),
            mode,
            remote,
            parameters: channel.map(|_| Box::new(Call { channel, delivery: true, ..Call::default() })).into(),
            data: self.call_data.as_deref().map(Message::from_octets),
            ..Open::default()
        };
        open.quality.receive_buffer = Some(ROOM);
        let session = Session { room: ROOM, listens: mode != Mode::Active, ..Session::default() };
        self.sessions.insert(self.next, session);
        cx.down(Below(0), Request::Open(Box::new(open)));
    }

    fn wish(&mut self, what: u8, octets: Vec<u8>, cx: &mut Context<'_>) {
        let number = || Address::from("123".parse::<Number>().unwrap());
        match what % 16 {
            0 => return self.open(Mode::Active, number(), None, cx),
            1 => return self.open(Mode::Active, Address::NONE, Some(1), cx),
            2 => return self.open(Mode::Passive { backlog: 2 }, Address::NONE, None, cx),
            3 => {
                self.late = !self.late;
                return;
            }
            4 => {
                self.greedy = !self.greedy;
                return;
            }
            _ => {}
        }
        // Of the sessions that stand, one.
        let standing = self.sessions.iter_mut().filter(|(_, it)| it.provider.is_some());
        let mut standing: Vec<_> = standing.collect();
        if standing.is_empty() {
            return;
        }
        let place = usize::from(what >> 4) % standing.len();
        let (index, it) = standing.swap_remove(place);
        let index = *index;
        let session = it.provider.unwrap();
        let data = Message::from_octets(&octets);
        match what % 16 {
            5..=8 if it.credit > 0 && !it.asked && !it.owes => {
                it.credit -= 1;
                let end = what.is_multiple_of(2);
                cx.down(Below(0), Request::Data { session, data, end });
            }
            9 if it.credit > 0 && !it.asked && !it.owes => {
                it.credit -= 1;
                let what = Special::new(Primitive::Data { data, end: true, qualified: true, delivery: true });
                cx.down(Below(0), Request::Special { session, what });
            }
            10 => cx.down(Below(0), Request::Expedited { session, data }),
            11 => {
                let reason = Reason::User;
                // Where it was told of one, this is the answer.
                it.asked = !core::mem::take(&mut it.owes);
                (it.credit, it.room) = (0, ROOM);
                cx.down(Below(0), Request::Reset { session, reason });
            }
            12 => {
                let what = Special::new(Primitive::Confirm { packets: 1 });
                cx.down(Below(0), Request::Special { session, what });
            }
            13 => {
                it.room += 2;
                let credit = Credit::messages(2);
                cx.down(Below(0), Request::Credit { session, credit });
            }
            14 => {
                let (reason, data) = (Reason::User, Some(data));
                cx.down(Below(0), Request::Abort { session, reason, data });
                self.sessions.remove(&index);
            }
            _ => self.answer(index, cx),
        }
    }

    fn answer(&mut self, index: u32, cx: &mut Context<'_>) {
        let Some(it) = self.sessions.get_mut(&index).filter(|it| it.owes) else {
            return;
        };
        it.owes = false;
        if let Some(session) = it.provider {
            let reason = Reason::User;
            cx.down(Below(0), Request::Reset { session, reason });
        }
    }

    fn took(&mut self, session: Handle, cx: &mut Context<'_>) {
        let greedy = self.greedy;
        let Some(it) = self.sessions.get_mut(&session.index) else {
            return;
        };
        assert!(it.room > 0, "more than was granted");
        it.room -= 1;
        if let Some(session) = it.provider.filter(|_| greedy) {
            it.room += 1;
            let credit = Credit::messages(1);
            cx.down(Below(0), Request::Credit { session, credit });
        }
    }
}

impl Protocol for Subscriber {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[Service::CONNECTION], below: (1, 1), keys: Vec::new() }
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Opened(opened) => {
                let it = self.sessions.get_mut(&opened.user.index);
                it.expect("it was asked for").provider = Some(opened.provider);
            }
            Indication::Offered(offered) => {
                self.next += 1;
                let session = Session { provider: Some(offered.provider), room: ROOM, ..Session::default() };
                self.sessions.insert(self.next, session);
                let mut accept = Accept {
                    session: offered.provider,
                    user: own(self.next),
                    parameters: offered.parameters,
                    ..Accept::default()
                };
                accept.quality.receive_buffer = Some(ROOM);
                cx.down(Below(0), Request::Accept(Box::new(accept)));
            }
            Indication::Credit { session, credit } => {
                if let Some(it) = self.sessions.get_mut(&session.index) {
                    it.credit += credit.messages;
                    assert!(it.credit <= 127, "more than any window");
                }
            }
            Indication::Data { session, .. } => self.took(session, cx),
            Indication::Special { session, what } => {
                if let Some(Primitive::Data { .. }) = what.get() {
                    self.took(session, cx);
                }
            }
            Indication::Reset { session, .. } => {
                if let Some(it) = self.sessions.get_mut(&session.index) {
                    (it.credit, it.room) = (0, ROOM);
                    if core::mem::take(&mut it.asked) {
                        // Ours is done, or has met this one: they answer each other.
                        return;
                    }
                    it.owes = true;
                    if !self.late {
                        self.answer(session.index, cx);
                    }
                }
            }
            Indication::Aborted { session, .. } => {
                self.sessions.remove(&session.index);
            }
            Indication::Unit(_)
            | Indication::Expedited { .. }
            | Indication::Released { .. }
            | Indication::Closed { .. }
            | Indication::Notice { .. }
            | Indication::Report(_) => {}
        }
    }

    fn expire(&mut self, _: Token, cx: &mut Context<'_>) {
        for (what, octets) in core::mem::take(&mut self.wishes) {
            self.wish(what, octets, cx);
        }
    }
}
