//! LAPB: a link that loses nothing, on a line that may.
//!
//! | | |
//! |---|---|
//! | Specification | ISO 7776, X.25 section 2.4 (both recalled; judged by frames of Linux's LAPB), single link procedure, modulo 8 and 128 |
//! | Above | one user, of one session ([`Service::CONNECTION`]): [`crate::x25`]. Each message is the information of one I frame, always with `end` |
//! | Below | a driver ([`Service::FRAME`]) that has flags, stuffing and the frame check sequence: a synchronous line. Its frames begin with the address |
//! | Left out | the multilink procedure; XID (a frame that is not implemented, as others; on a switched circuit [`crate::x32`] takes it); half duplex (LAPX); a DCE's DM that asks for set-up; the state of the channel, of which a driver tells no more than up and down |
//!
//! # Beginning and end
//!
//! An active open sends SABM (SABME), each T1, N2 times; it is confirmed by UA. Both ends may begin at once: each
//! answers the other's SABM, and the link stands. A passive open gets an offer when SABM comes and answers by UA when
//! that is accepted; DM refuses. `Abort` sends DISC. The session ends with DISC or DM of the peer, when nothing answers
//! N2 times, and with the line.
//!
//! # Reset
//!
//! SABM in information transfer resets the link, whoever sends it: the user is told by `Reset` and answers it, what was
//! in progress may be lost, and credit starts over. We reset when the peer rejects a frame (FRMR), and when nothing is
//! acknowledged after N2 tries.
//!
//! # Data
//!
//! The user has credit for as many messages as fit into the window, and gets more as they are acknowledged. The peer is
//! told RNR as long as our user has no room, and RR (or REJ, where frames were dropped meanwhile) when it has.
//!
//! Frames are acknowledged with those that go the other way, after T2, or at once when as many have come as
//! [`Config::acknowledge`] says. When T1 expires the peer is polled (RR with P), and what its answer does not
//! acknowledge is retransmitted; that is one of the two ways that X.25 section 2.4.5.9 leaves open, the other being the
//! I frame itself with P. The I frame that fills the window polls too, unless [`Config::poll`] says otherwise.
//!
//! # A line that is not always there
//!
//! While the line is down nothing is sent. An active open waits for it, and says below that a link is wanted
//! ([`LinkWanted`]); the line that cannot be had says so by [`Report::Down`], which ends the open. A switched circuit
//! also says which end we are ([`LineEnd`]), and is told when our link has ended and none is wanted. One that the peer
//! ends is the peer's to clear.
//!
//! # Where this differs
//!
//! T3 polls a silent peer. In X.25 it watches the idle state of the channel, which no driver here sees.

use std::collections::VecDeque;

use kumiki_graph::{
    Above, Accept, Address, Below, Context, Credit, Handle, Indication, Key, Manage, Mode, Offered, Open, Opened,
    Protocol, Quality, Reason, Report, Request, Service, Shape, Token, Unit,
};
use kumiki_octets::Message;
use kumiki_wire::x25::lapb::{Control, Header, Modulo, Reject, function};

pub(crate) mod config;
mod line;
mod numbered;
mod phases;
mod states;
#[cfg(test)]
pub(crate) mod tests;
mod timers;

pub use config::{Config, ConfigError, Counters, Role};
pub use line::{LineEnd, LinkWanted};
use states::Phase;
use timers::{Timer, Timers};

/// What LAPB offers: a link of one session.
pub const SERVICE: Service = Service::CONNECTION.named("LAPB");

const BELOW: Below = Below(0);
const USER: Above = Above(0);

/// The index of the session's handle.
const SESSION: u32 = 0;
/// The index of the listener's.
const LISTENER: u32 = 1;

/// How far our user's session has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Session {
    #[default]
    None,
    /// Asked for by the user, under its handle.
    Opening(Handle),
    /// Offered to the user of a passive open.
    Offered,
    /// It stands, under the user's handle.
    Stands(Handle),
}

/// The variables of ISO 7776 section 4 and what goes with them; all start over with each set-up.
#[derive(Debug, Default)]
struct Variables {
    /// V(S), the number of the next I frame.
    vs: u8,
    /// V(R), the number of the I frame expected.
    vr: u8,
    /// The oldest number not acknowledged.
    va: u8,
    /// One past the largest number sent: V(S) goes back, this does not.
    high: u8,
    /// What is not acknowledged, the first being V(A), and behind it what was not sent yet.
    frames: VecDeque<Message>,
    /// Messages that the user may still hand down.
    granted: u32,
    /// Messages that the user still has room for.
    room: u32,
    /// Whether the peer has said RNR.
    peer_busy: bool,
    /// Whether the peer was told RNR.
    told_busy: bool,
    /// Whether information was dropped since.
    dropped: bool,
    /// Whether the peer was told REJ, and the frame asked for has not come.
    rejecting: bool,
    /// Whether a poll of ours is not answered.
    polled: bool,
    /// Whether T1 has expired since the last answer: nothing is sent until the poll is answered.
    recovering: bool,
    /// The number behind the I frame that polled, where its answer says what of it and before it was lost.
    checkpoint: Option<u8>,
    /// I frames that have come and are not acknowledged.
    owed: u8,
    /// Whether that waits no longer.
    owe_now: bool,
    /// Whether the user has still to answer a reset of ours.
    unanswered: bool,
}

/// The layer.
#[derive(Debug)]
pub struct Lapb {
    config: Config,
    phase: Phase,
    session: Session,
    generation: u32,
    listener: Option<Handle>,
    listeners: u32,
    /// Messages that the session's user has room for at first.
    receive: u32,
    /// P of the SABM that waits for the user.
    sabm_poll: bool,
    /// Whether both ends have sent SABM.
    collided: bool,
    /// Whether our user has asked for the reset that goes on.
    user_resets: bool,
    /// Resets that our user was told of and has not answered; only the last answer lets the link go on.
    resets_told: u32,
    /// Octets of information that a frame may have, N1 and the driver's limit considered.
    information: u32,
    /// How often T1 has expired for the same thing.
    tries: u8,
    /// What FRMR says, while it is not answered.
    reject: Reject,
    /// Why we have sent it.
    why_rejected: Reason,
    /// Whether the line has said that it carries nothing.
    line_down: bool,
    /// Whether it is a switched circuit.
    switched: bool,
    v: Variables,
    timers: Timers,
    counters: Counters,
}

impl Lapb {
    /// An end of a link.
    ///
    /// # Errors
    /// The configuration makes no sense.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config,
            phase: Phase::default(),
            session: Session::None,
            generation: 0,
            listener: None,
            listeners: 0,
            receive: config.receive,
            sabm_poll: false,
            collided: false,
            user_resets: false,
            resets_told: 0,
            information: config.information,
            tries: 0,
            reject: Reject::default(),
            why_rejected: Reason::Protocol,
            line_down: false,
            switched: false,
            v: Variables::default(),
            timers: Timers::default(),
            counters: Counters::default(),
        })
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    const fn handle(&self) -> Handle {
        Handle { index: SESSION, generation: self.generation }
    }

    /// The function that sets this link up.
    const fn sabm(&self) -> u8 {
        match self.config.modulo {
            Modulo::Eight => function::SABM,
            Modulo::Extended => function::SABME,
        }
    }

    fn send(&self, address: u8, control: Control, mut data: Message, cx: &mut Context<'_>) {
        let header = Header { address, control, modulo: self.config.modulo };
        header.emit(data.push_header(header.len()));
        cx.down(BELOW, Request::Unit(Box::new(Unit::of(data))));
    }

    /// Sends an unnumbered command.
    fn command(&self, function: u8, cx: &mut Context<'_>) {
        let poll = true;
        let control = Control::Unnumbered { function, poll };
        self.send(self.config.role.peer(), control, Message::new(), cx);
    }

    /// Sends an unnumbered response.
    fn respond(&self, function: u8, poll: bool, cx: &mut Context<'_>) {
        let control = Control::Unnumbered { function, poll };
        self.send(self.config.role.own(), control, Message::new(), cx);
    }

    fn open(&mut self, open: Open, cx: &mut Context<'_>) {
        let refuse = |reason, cx: &mut Context<'_>| {
            let session = open.user;
            let data = None;
            cx.up(USER, Indication::Aborted { session, reason, data });
        };
        if open.local != Address::NONE || open.remote != Address::NONE {
            refuse(Reason::BadAddress, cx);
            return;
        }
        match open.mode {
            Mode::Passive { .. } if self.listener.is_some() => refuse(Reason::NoResources, cx),
            Mode::Passive { .. } => {
                self.listener = Some(open.user);
                self.listeners = self.listeners.wrapping_add(1);
                let provider = Handle { index: LISTENER, generation: self.listeners };
                self.opened(open.user, provider, cx);
            }
            Mode::Active if self.session != Session::None => refuse(Reason::NoResources, cx),
            Mode::Active => {
                self.session = Session::Opening(open.user);
                self.set_quality(&open.quality);
                // What is being cleared is cleared first.
                if self.line_down {
                    Self::want(true, cx);
                } else if self.phase == Phase::Disconnected {
                    self.set_up(cx);
                }
            }
        }
    }

    /// Says below whether a link is wanted.
    fn want(wanted: bool, cx: &mut Context<'_>) {
        let manage = Manage::special(LinkWanted(wanted));
        cx.down(BELOW, Request::Manage(Box::new(manage)));
    }

    /// Our link has ended, or what we have asked for has not come about: a circuit need not stand for it.
    fn let_go(&self, cx: &mut Context<'_>) {
        if self.switched || self.line_down {
            Self::want(false, cx);
        }
    }

    fn set_quality(&mut self, quality: &Quality) {
        let asked = quality.receive_buffer.filter(|messages| *messages > 0);
        self.receive = asked.unwrap_or(self.config.receive);
    }

    fn opened(&self, user: Handle, provider: Handle, cx: &mut Context<'_>) {
        let opened = Opened { user, provider, unit: self.information, ..Opened::default() };
        cx.up(USER, Indication::Opened(Box::new(opened)));
    }

    /// Asks the user of the passive open.
    fn offer(&mut self, user: Handle, cx: &mut Context<'_>) {
        self.phase = Phase::Offered;
        self.session = Session::Offered;
        self.generation = self.generation.wrapping_add(1);
        let offered = Offered { user, provider: self.handle(), unit: self.information, ..Offered::default() };
        cx.up(USER, Indication::Offered(Box::new(offered)));
    }

    fn accept(&mut self, accept: Accept, cx: &mut Context<'_>) {
        if accept.session != self.handle() || self.session != Session::Offered {
            let reason = Reason::NoSession;
            let session = accept.user;
            let data = None;
            cx.up(USER, Indication::Aborted { session, reason, data });
            return;
        }
        self.set_quality(&accept.quality);
        self.session = Session::Stands(accept.user);
        self.counters.established += 1;
        self.respond(function::UA, self.sabm_poll, cx);
        self.begin_transfer(cx);
    }

    fn abort(&mut self, session: Handle, cx: &mut Context<'_>) {
        if session.index == LISTENER {
            if session.generation != self.listeners || self.listener.take().is_none() {
                cx.drop("no such session");
                return;
            }
            if self.session == Session::Offered {
                self.forget(cx);
                self.respond(function::DM, self.sabm_poll, cx);
            }
            return;
        }
        match self.session {
            Session::Offered if session == self.handle() => {
                self.forget(cx);
                self.respond(function::DM, self.sabm_poll, cx);
            }
            Session::Stands(_) if session == self.handle() => self.disconnect(cx),
            Session::Offered | Session::Stands(_) | Session::None | Session::Opening(_) => {
                cx.drop("no such session");
            }
        }
    }

    fn cancel(&mut self, user: Handle, cx: &mut Context<'_>) {
        match self.session {
            Session::Opening(handle) if handle == user => {
                // SABM may not have gone out while an earlier link is being cleared.
                if self.phase == Phase::Setup {
                    self.disconnect(cx);
                } else {
                    self.session = Session::None;
                    self.let_go(cx);
                }
            }
            Session::Stands(handle) if handle == user => self.disconnect(cx),
            Session::Opening(_) | Session::Stands(_) | Session::None | Session::Offered => {
                if self.listener == Some(user) {
                    self.listener = None;
                } else {
                    cx.drop("no such session");
                }
            }
        }
    }

    fn is_ours(&self, session: Handle) -> bool {
        session == self.handle() && matches!(self.session, Session::Stands(_))
    }

    /// The session ends: the user is told why.
    fn end(&mut self, reason: Reason, cx: &mut Context<'_>) {
        let session = match self.session {
            Session::Opening(user) | Session::Stands(user) => Some(user),
            Session::None | Session::Offered => None,
        };
        self.forget(cx);
        if let Some(session) = session {
            let data = None;
            cx.up(USER, Indication::Aborted { session, reason, data });
        }
    }

    /// Nothing is left of a session.
    fn forget(&mut self, cx: &mut Context<'_>) {
        self.phase = Phase::Disconnected;
        self.session = Session::None;
        self.v = Variables::default();
        self.user_resets = false;
        self.resets_told = 0;
        self.timers.stop_all(cx);
    }

    fn limits(&self, cx: &mut Context<'_>) {
        let report = Report::Limits { unit: self.information, burst: 1 };
        cx.up(USER, Indication::Report(Box::new(report)));
    }

    fn report(&mut self, report: Report, cx: &mut Context<'_>) {
        match report {
            Report::Limits { unit, .. } => {
                let header = u32::try_from(Header::MOST).unwrap_or(0);
                let carries = unit.saturating_sub(header).max(1);
                self.information = self.config.information.min(carries);
                self.limits(cx);
            }
            Report::Up => {
                self.line_down = false;
                let opening = matches!(self.session, Session::Opening(_));
                if opening && self.phase == Phase::Disconnected {
                    self.set_up(cx);
                }
                cx.up(USER, Indication::Report(Box::new(Report::Up)));
            }
            Report::Down => {
                self.line_down = true;
                self.end(Reason::Down, cx);
                cx.up(USER, Indication::Report(Box::new(Report::Down)));
            }
            Report::Special(what) => {
                if let Some(LineEnd { dte }) = what.get() {
                    self.switched = true;
                    self.config.role = if *dte { Role::Dte } else { Role::Dce };
                }
            }
            Report::Route { .. } | Report::Unreachable { .. } => {}
        }
    }
}

impl Protocol for Lapb {
    fn shape(&self) -> Shape {
        Shape {
            offers: Some(SERVICE),
            needs: &[Service::FRAME, Service::UNIT_DATA],
            below: (1, 1),
            keys: vec![Key::Only],
        }
    }

    fn bind(&mut self, above: Above, _: &[Key]) -> Result<(), String> {
        if above == USER { Ok(()) } else { Err("LAPB has one link and so one user".to_owned()) }
    }

    fn push(&mut self, _: Above, request: Request, cx: &mut Context<'_>) {
        match request {
            Request::Open(open) => self.open(*open, cx),
            Request::Accept(accept) => self.accept(*accept, cx),
            Request::Cancel { user } => self.cancel(user, cx),
            Request::Abort { session, .. } => self.abort(session, cx),
            Request::Data { session, data, .. } => {
                if self.is_ours(session) {
                    self.on_data_request(data, cx);
                } else {
                    cx.drop("no such session");
                }
            }
            Request::Credit { session, credit } => {
                if self.is_ours(session) {
                    self.on_credit(credit.messages, cx);
                } else {
                    cx.drop("no such session");
                }
            }
            Request::Reset { session, .. } => {
                if self.is_ours(session) {
                    self.user_reset(cx);
                } else {
                    cx.drop("no such session");
                }
            }
            Request::Manage(manage) => {
                if let Manage::Limits = *manage {
                    self.limits(cx);
                } else {
                    cx.drop("not offered by LAPB");
                }
            }
            Request::Unit(_) | Request::Special { .. } | Request::Expedited { .. } | Request::Release { .. } => {
                cx.drop("not offered by LAPB");
            }
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication.of_unit_data() {
            Some(kumiki_graph::UnitIndication::Unit(unit)) => self.receive(unit.data, cx),
            Some(kumiki_graph::UnitIndication::Report(report)) => self.report(*report, cx),
            Some(kumiki_graph::UnitIndication::Credit(_)) => {}
            None => cx.drop("not a frame"),
        }
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        let Some(timer) = Timer::of(token) else {
            return;
        };
        self.timers.expired(timer);
        match timer {
            Timer::T1 => self.on_t1(cx),
            Timer::T2 => {
                self.v.owe_now = self.v.owed > 0;
                self.acknowledge(cx);
            }
            Timer::T3 => self.on_t3(cx),
        }
    }

    fn settle(&mut self, cx: &mut Context<'_>) {
        self.acknowledge(cx);
    }
}

/// Tells the user of `credit`.
fn grant(user: Handle, messages: u32, cx: &mut Context<'_>) {
    if messages > 0 {
        let credit = Credit::messages(messages);
        let session = user;
        cx.up(USER, Indication::Credit { session, credit });
    }
}
