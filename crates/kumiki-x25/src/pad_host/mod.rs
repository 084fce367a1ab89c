//! The other end of a PAD's call: a host that takes calls of terminals, and lets a program speak to each.
//!
//! | | |
//! |---|---|
//! | Specification | X.29 (1988), the side of the packet mode DTE. Recalled; see [`kumiki_wire::x25::x29`] |
//! | Above | nobody |
//! | Below | first a network, `Connection`: the packet layer of X.25; then a program, `Stream`: [`pipe`](kumiki_graph::pipe) on a pseudo terminal or a pair of sockets |
//! | Left out | calling terminals; several calls at a time: a graph has one |
//!
//! A call whose user data is a PAD's is taken; the program is asked for when it stands, so there must be one to listen
//! for. The PAD's parameters are set at once as [`Config::set`] has them, and again whenever [`PadHost::set`] says so:
//! `2:0` before a password is typed, `2:1` behind it.
//!
//! **Break.** An interrupt does nothing by itself, as X.29 has it. An indication of break gives the program
//! [`Config::on_break`], and where it says that the PAD throws output away, the PAD is told to stop that before
//! anything more is sent.
//!
//! **Places.** With [`Config::asks`] a call waits until [`PadHost::answer`] says whether it is taken: who counts calls
//! knows more of them than this one graph.
//!
//! **Ending.** When the program ends its stream, what it has said is sent and then an invitation to clear; a PAD that
//! does not follow it within [`Config::clear_timeout`] is cleared. When the call ends, the program's stream does. A PAD
//! that sends the invitation itself (`ICLR`) is cleared when the program has taken what came before it and the PAD what
//! the program had said, or after as long. [`PadHost::close`] clears at once.

use crate::x25 as packets;
use std::collections::VecDeque;

use kumiki_graph::{
    Above, Accept, Address, Below, Context, Credit, Duration, Handle, Indication, Mode, Offered, Open, Protocol,
    Quality, Reason, Request, Service, Shape, TimerSlot, Token,
};
use kumiki_octets::Message;
use kumiki_osi_service::x25::pad::Parameter;
use kumiki_osi_service::x25::{self, CauseField, Number, Primitive, diagnostic};
use kumiki_wire::x25::x29::{self, Message as PadMessage, Pair};

#[cfg(test)]
mod tests;

const NETWORK: Below = Below(0);
const PROGRAM: Below = Below(1);

/// Our handles.
const LISTENER: Handle = handle(0);
const CALL: Handle = handle(1);
const STREAM: Handle = handle(2);

const fn handle(index: u32) -> Handle {
    Handle { index, generation: 1 }
}

/// The one timer: a PAD that was invited to clear has not, or we have not whom it has invited.
const INVITED: u32 = 0;
/// PAD messages of ours that may wait for credit.
const MOST_WAITING: usize = 64;

/// What can be set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Calls to addresses that begin with this are taken.
    pub address: Number,
    /// What the PAD's parameters are set to when a call stands: numbers and values.
    pub set: Vec<(u8, u8)>,
    /// What the program gets where the person at the PAD sends a break.
    pub on_break: Vec<u8>,
    /// How long a PAD may take to clear.
    pub clear_timeout: Duration,
    /// Packets that the PAD may send ahead of the program; at least 1.
    pub window: u32,
    /// Octets that the program may write ahead of the PAD.
    pub room: u32,
    /// Calls wait until [`PadHost::answer`] says whether they are taken.
    pub asks: bool,
}

impl Default for Config {
    /// For a program that echoes and edits by itself: the PAD does neither, sends each character, and tells breaks.
    fn default() -> Self {
        Self {
            address: Number::NONE,
            set: vec![(2, 0), (3, 0), (4, 1), (7, 21), (12, 1), (13, 0), (15, 0)],
            on_break: vec![3],
            clear_timeout: Duration::from_secs(10),
            window: 2,
            room: 4096,
            asks: false,
        }
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Calls taken.
    pub calls: u64,
    /// Calls refused: no PAD's, or one too many.
    pub refused: u64,
    /// Breaks of the person at the PAD.
    pub breaks: u64,
    /// PAD messages that could not be read, and errors that the PAD has told.
    pub errors: u64,
}

/// A call that stands.
#[derive(Debug)]
struct Call {
    provider: Handle,
    caller: Number,
    unit: usize,
    credit: u32,
    /// The PAD was invited to clear.
    is_invited: bool,
    /// The PAD has invited us.
    has_invited: bool,
}

/// The program's stream.
#[derive(Debug)]
struct Stream {
    provider: Handle,
    credit: u64,
    granted: u64,
    has_ended: bool,
}

/// What waits for the program.
#[derive(Debug)]
struct InboundQueue {
    octets: VecDeque<u8>,
    /// It came in a packet, for which the network is granted another one.
    is_packet: bool,
}

/// The node.
#[derive(Debug)]
pub struct PadHost {
    config: Config,
    /// A call that waits for an answer, and the answer to it.
    waiting: Option<Box<Offered>>,
    answer: Option<bool>,
    /// All is to end.
    closes: bool,
    /// Why the last call was refused.
    refusal: Option<u8>,
    call: Option<Call>,
    stream: Option<Stream>,
    /// From the PAD to the program.
    inward: VecDeque<InboundQueue>,
    /// From the program to the PAD.
    outward: VecDeque<u8>,
    messages: VecDeque<PadMessage>,
    partial: Vec<u8>,
    is_long: bool,
    timer: TimerSlot,
    /// What the PAD has told of its parameters last.
    told: Vec<Pair>,
    ended: Option<Reason>,
    counters: Counters,
}

impl PadHost {
    /// What a node is woken with after [`PadHost::set`], [`PadHost::answer`] and [`PadHost::close`].
    pub const WAKE: Token = Token { session: Handle { index: 0, generation: 0 }, kind: 1 };

    /// A host as `config` says.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            waiting: None,
            answer: None,
            closes: false,
            refusal: None,
            call: None,
            stream: None,
            inward: VecDeque::new(),
            outward: VecDeque::new(),
            messages: VecDeque::new(),
            partial: Vec::new(),
            is_long: false,
            timer: TimerSlot::default(),
            told: Vec::new(),
            ended: None,
            counters: Counters::default(),
        }
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Who calls, while a call stands.
    #[must_use]
    pub fn caller(&self) -> Option<Number> {
        self.call.as_ref().map(|call| call.caller)
    }

    /// Who calls and waits for an answer ([`Config::asks`]).
    #[must_use]
    pub fn calling(&self) -> Option<Number> {
        self.waiting.as_ref().filter(|_| self.answer.is_none()).map(|offered| caller(offered))
    }

    /// Whether the call that waits is taken; otherwise it is cleared for want of a place. The node is to be woken with
    /// [`PadHost::WAKE`].
    pub const fn answer(&mut self, takes: bool) {
        self.answer = Some(takes);
    }

    /// Has the call cleared, or the one that waits, and none taken any more: the host ends. The node is to be woken
    /// with [`PadHost::WAKE`].
    pub const fn close(&mut self) {
        self.closes = true;
    }

    /// The diagnostic code with which the last call was refused, if one was.
    #[must_use]
    pub const fn refusal(&self) -> Option<u8> {
        self.refusal
    }

    /// Why the last call ended, once it has.
    #[must_use]
    pub fn ended(&self) -> Option<Reason> {
        self.ended.clone()
    }

    /// What the PAD has told of its parameters last.
    #[must_use]
    pub fn told(&self) -> &[Pair] {
        &self.told
    }

    /// Sets parameters of the PAD, behind what the program has said so far has been sent; true where a call stands. The
    /// node is to be woken with [`PadHost::WAKE`].
    pub fn set(&mut self, pairs: &[(u8, u8)]) -> bool {
        let stands = self.call.is_some() && self.messages.len() < MOST_WAITING;
        if stands {
            self.messages.push_back(PadMessage::Set(of(pairs)));
        }
        stands
    }

    /// Asks for parameters of the PAD, or for all of them; [`PadHost::told`] has the answer once it is there.
    pub fn read(&mut self, numbers: &[u8]) -> bool {
        let stands = self.call.is_some() && self.messages.len() < MOST_WAITING;
        if stands {
            let pairs = numbers.iter().map(|number| Pair::new(*number, 0)).collect();
            self.messages.push_back(PadMessage::Read(pairs));
        }
        stands
    }

    fn offered(&mut self, offered: Box<Offered>, cx: &mut Context<'_>) {
        let session = offered.provider;
        let data = offered.data.as_ref().map(Message::to_vec);
        let is_pads = x29::user_data(&data.unwrap_or_default()).is_some();
        let is_short = cx.budget().is_some_and(kumiki_octets::Account::is_short);
        if !is_pads {
            self.refuse(session, diagnostic::CALL, cx);
        } else if self.closes {
            self.refuse(session, diagnostic::DTE_DOWN, cx);
        } else if self.call.is_some() || self.waiting.is_some() || is_short {
            self.refuse(session, diagnostic::RESOURCES, cx);
        } else if self.config.asks {
            self.waiting = Some(offered);
        } else {
            self.accept(&offered, cx);
        }
    }

    fn refuse(&mut self, session: Handle, code: u8, cx: &mut Context<'_>) {
        self.counters.refused += 1;
        self.refusal = Some(code);
        Self::abort(session, code, cx);
    }

    /// Does what was said from outside.
    fn hear(&mut self, cx: &mut Context<'_>) {
        if let Some(takes) = self.answer.take()
            && let Some(offered) = self.waiting.take()
        {
            if takes && !self.closes {
                self.accept(&offered, cx);
            } else {
                let code = if self.closes { diagnostic::DTE_DOWN } else { diagnostic::RESOURCES };
                self.refuse(offered.provider, code, cx);
            }
        }
        if self.closes {
            if let Some(offered) = self.waiting.take() {
                self.refuse(offered.provider, diagnostic::DTE_DOWN, cx);
            }
            self.clear(diagnostic::DTE_DOWN, Reason::User, cx);
        }
    }

    /// Clears the call, if there is one.
    fn clear(&mut self, code: u8, why: Reason, cx: &mut Context<'_>) {
        if let Some(call) = &self.call {
            Self::abort(call.provider, code, cx);
            self.over(why, cx);
        }
    }

    fn accept(&mut self, offered: &Offered, cx: &mut Context<'_>) {
        let session = offered.provider;
        self.counters.calls += 1;
        self.ended = None;
        self.call = Some(Call {
            provider: session,
            caller: caller(offered),
            unit: usize::try_from(offered.unit).unwrap_or(128).max(1),
            credit: 0,
            is_invited: false,
            has_invited: false,
        });
        if !self.config.set.is_empty() {
            let set = of(&self.config.set);
            self.messages.push_back(PadMessage::Set(set));
        }
        let accept = Accept {
            session,
            user: CALL,
            quality: Quality { receive_buffer: Some(self.config.window.max(1)), ..Quality::default() },
            ..Accept::default()
        };
        cx.down(NETWORK, Request::Accept(Box::new(accept)));
        let open = Open {
            user: STREAM,
            quality: Quality { receive_buffer: Some(self.config.room), ..Quality::default() },
            ..Open::default()
        };
        cx.down(PROGRAM, Request::Open(Box::new(open)));
    }

    fn abort(session: Handle, code: u8, cx: &mut Context<'_>) {
        let told = x25::PacketCause::by_dte(CauseField::Clear, code);
        let (reason, data) = (Reason::peer(x25::Cause::Packet(told)), None);
        let abort = Request::Abort { session, reason, data };
        cx.down(NETWORK, abort);
    }

    /// The call is over: so is the program's stream.
    fn over(&mut self, why: Reason, cx: &mut Context<'_>) {
        if self.call.take().is_none() {
            return;
        }
        self.ended = Some(why);
        cx.clear_timer(&mut self.timer);
        self.messages.clear();
        self.outward.clear();
        if self.inward.is_empty() {
            self.let_go(cx);
        }
    }

    fn let_go(&mut self, cx: &mut Context<'_>) {
        if let Some(stream) = self.stream.take() {
            let (session, data) = (stream.provider, None);
            cx.down(PROGRAM, Request::Release { session, data });
        }
    }

    fn pump(&mut self, cx: &mut Context<'_>) {
        self.send(cx);
        self.write(cx);
        let is_done = self.inward.is_empty() && self.outward.is_empty() && self.messages.is_empty();
        if is_done && self.call.as_ref().is_some_and(|call| call.has_invited) {
            self.clear(diagnostic::NONE, Reason::User, cx);
        }
        if let Some(stream) = &mut self.stream {
            let held = self.outward.len() as u64;
            let room = u64::from(self.config.room);
            let free = room.saturating_sub(stream.granted.saturating_add(held));
            // A program that never ends must not keep a PAD that wants to go.
            let is_heard = self.call.as_ref().is_none_or(|call| !call.has_invited);
            if is_heard && free >= room.div_ceil(4) {
                stream.granted = stream.granted.saturating_add(free);
                let (session, credit) = (stream.provider, Credit::octets(free));
                cx.down(PROGRAM, Request::Credit { session, credit });
            }
        }
    }

    /// What waits for the PAD: messages ahead of what the program says from then on, and the invitation when it says no
    /// more.
    fn send(&mut self, cx: &mut Context<'_>) {
        let has_ended = self.stream.as_ref().is_some_and(|it| it.has_ended);
        while let Some(call) = self.call.as_mut().filter(|call| call.credit > 0) {
            let session = call.provider;
            if let Some(message) = self.messages.pop_front() {
                call.credit -= 1;
                let data = Message::from_octets(&message.to_vec());
                let what = Primitive::Data { data, end: true, qualified: true, delivery: false };
                cx.down(NETWORK, Request::special(session, what));
            } else if !self.outward.is_empty() {
                call.credit -= 1;
                let count = call.unit.min(self.outward.len());
                let octets: Vec<u8> = self.outward.drain(..count).collect();
                let (data, end) = (Message::from_octets(&octets), true);
                cx.down(NETWORK, Request::Data { session, data, end });
            } else if has_ended && !call.is_invited {
                call.is_invited = true;
                self.messages.push_back(PadMessage::Invitation);
                let token = Token { session: CALL, kind: INVITED };
                let deadline = cx.now() + self.config.clear_timeout;
                cx.set_timer(&mut self.timer, token, deadline);
            } else {
                break;
            }
        }
    }

    /// What waits for the program, as far as it takes it.
    fn write(&mut self, cx: &mut Context<'_>) {
        while let Some(packet) = self.inward.front_mut() {
            let Some(stream) = &mut self.stream else {
                break;
            };
            let InboundQueue { octets, is_packet } = packet;
            let most = usize::try_from(stream.credit).unwrap_or(usize::MAX);
            let count = most.min(octets.len());
            if count > 0 {
                stream.credit -= count as u64;
                let octets: Vec<u8> = octets.drain(..count).collect();
                let (session, end) = (stream.provider, true);
                let data = Message::from_octets(&octets);
                cx.down(PROGRAM, Request::Data { session, data, end });
            }
            if !octets.is_empty() {
                return;
            }
            let is_packet = *is_packet;
            self.inward.pop_front();
            if is_packet {
                self.took(cx);
            }
        }
        if self.call.is_none() && self.inward.is_empty() {
            self.let_go(cx);
        }
    }

    fn took(&self, cx: &mut Context<'_>) {
        if let Some(call) = &self.call {
            let (session, credit) = (call.provider, Credit::messages(1));
            cx.down(NETWORK, Request::Credit { session, credit });
        }
    }

    fn on_packet(&mut self, data: &Message, end: bool, qualified: bool, cx: &mut Context<'_>) {
        if !qualified {
            self.inward.push_back(InboundQueue { octets: data.to_vec().into(), is_packet: true });
            return;
        }
        self.took(cx);
        if self.partial.len().saturating_add(data.len()) > x29::MOST {
            self.is_long = true;
        } else {
            self.partial.extend(data.to_vec());
        }
        if end {
            let octets = core::mem::take(&mut self.partial);
            let is_long = core::mem::take(&mut self.is_long);
            match PadMessage::parse(&octets) {
                Ok(message) if !is_long => self.on_message(message, cx),
                Ok(_) | Err(_) => self.counters.errors += 1,
            }
        }
    }

    fn on_message(&mut self, message: PadMessage, cx: &mut Context<'_>) {
        match message {
            PadMessage::Indication(pairs) => self.told = pairs,
            PadMessage::Break(pairs) => {
                self.counters.breaks += 1;
                let discard = Parameter::Discard.number();
                if pairs.iter().any(|it| *it == Pair::new(discard, 1)) && self.messages.len() < MOST_WAITING {
                    // What was on its way is thrown away there; so may be what waits here.
                    self.outward.clear();
                    self.messages.push_back(PadMessage::Set(vec![Pair::new(discard, 0)]));
                }
                if !self.config.on_break.is_empty() && self.inward.len() < MOST_WAITING {
                    self.inward
                        .push_back(InboundQueue { octets: self.config.on_break.clone().into(), is_packet: false });
                }
            }
            PadMessage::Error { .. } => self.counters.errors += 1,
            PadMessage::Invitation => {
                if let Some(call) = &mut self.call
                    && !core::mem::replace(&mut call.has_invited, true)
                {
                    let token = Token { session: CALL, kind: INVITED };
                    let deadline = cx.now() + self.config.clear_timeout;
                    cx.set_timer(&mut self.timer, token, deadline);
                }
            }
            // A PAD that has a host of its own in mind: it is asked to do what it asks of us.
            PadMessage::Set(_) | PadMessage::Read(_) | PadMessage::SetAndRead(_) | PadMessage::Reselection(_) => {
                self.counters.errors += 1;
                if self.messages.len() < MOST_WAITING {
                    let (kind, code) = (x29::error::CODE, Some(message.code()));
                    self.messages.push_back(PadMessage::Error { kind, code });
                }
            }
        }
    }

    fn on_network(&mut self, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Offered(offered) => self.offered(offered, cx),
            Indication::Data { data, end, .. } => self.on_packet(&data, end, false, cx),
            Indication::Special { what, .. } => match what.get() {
                Some(Primitive::Data { data, end, qualified, .. }) => self.on_packet(data, *end, *qualified, cx),
                Some(
                    Primitive::Confirm { .. }
                    | Primitive::InterruptConfirm
                    | Primitive::Claim { .. }
                    | Primitive::TakeBack { .. },
                ) => {}
                None => cx.drop("no packet layer says this"),
            },
            Indication::Credit { credit, .. } => {
                if let Some(call) = &mut self.call {
                    call.credit = call.credit.saturating_add(credit.messages);
                }
            }
            Indication::Reset { reason, .. } => {
                self.outward.clear();
                self.inward.clear();
                self.partial.clear();
                if let Some(call) = &mut self.call {
                    call.credit = 0;
                    let session = call.provider;
                    cx.down(NETWORK, Request::Reset { session, reason });
                }
            }
            Indication::Aborted { session, reason, .. } if session == CALL => self.over(reason, cx),
            Indication::Closed { session } if session == CALL => self.over(Reason::Down, cx),
            Indication::Aborted { .. }
            | Indication::Closed { .. }
            | Indication::Opened(_)
            | Indication::Expedited { .. }
            | Indication::Notice { .. }
            | Indication::Report(_) => {}
            Indication::Unit(_) | Indication::Released { .. } => cx.drop("no packet layer says this"),
        }
    }

    fn on_program(&mut self, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Opened(opened) => {
                self.stream = Some(Stream {
                    provider: opened.provider,
                    credit: 0,
                    granted: self.config.room.into(),
                    has_ended: false,
                });
                if self.call.is_none() && self.inward.is_empty() {
                    self.let_go(cx);
                }
            }
            Indication::Data { data, .. } => {
                if let Some(stream) = &mut self.stream {
                    stream.granted = stream.granted.saturating_sub(data.len() as u64);
                }
                if self.call.is_some() {
                    self.outward.extend(data.to_vec());
                }
            }
            Indication::Credit { credit, .. } => {
                if let Some(stream) = &mut self.stream {
                    stream.credit = stream.credit.saturating_add(credit.octets);
                }
            }
            Indication::Released { .. } => {
                if let Some(stream) = &mut self.stream {
                    stream.has_ended = true;
                }
            }
            Indication::Aborted { .. } | Indication::Closed { .. } => {
                self.stream = None;
                if let Some(call) = self.call.as_ref().filter(|call| !call.is_invited) {
                    let session = call.provider;
                    Self::abort(session, diagnostic::NONE, cx);
                    self.over(Reason::User, cx);
                }
            }
            Indication::Offered(_)
            | Indication::Expedited { .. }
            | Indication::Notice { .. }
            | Indication::Report(_) => {}
            Indication::Unit(_) | Indication::Special { .. } | Indication::Reset { .. } => {
                cx.drop("no stream says this");
            }
        }
    }
}

/// The number of whoever calls.
fn caller(offered: &Offered) -> Number {
    offered.remote.get().unwrap_or_default()
}

fn of(pairs: &[(u8, u8)]) -> Vec<Pair> {
    let pair = |&(number, value): &(u8, u8)| Pair::new(number, value);
    pairs.iter().map(pair).collect()
}

impl Protocol for PadHost {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[packets::SERVICE, Service::STREAM], below: (2, 2), keys: Vec::new() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let number = self.config.address;
        let open = Open {
            user: LISTENER,
            mode: Mode::Passive { backlog: 1 },
            local: if number.is_empty() { Address::NONE } else { Address::from(number) },
            ..Open::default()
        };
        cx.down(NETWORK, Request::Open(Box::new(open)));
    }

    fn push(&mut self, _: Above, _: Request, cx: &mut Context<'_>) {
        cx.drop("a host has no users");
    }

    fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
        if from == PROGRAM {
            self.on_program(indication, cx);
        } else {
            self.on_network(indication, cx);
        }
        self.pump(cx);
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        if token == Self::WAKE {
            self.hear(cx);
        } else if token.kind == INVITED {
            let has_invited = self.call.as_ref().is_some_and(|call| call.has_invited);
            let why = if has_invited { Reason::User } else { Reason::TimedOut };
            self.clear(diagnostic::NONE, why, cx);
        }
        self.pump(cx);
    }
}
