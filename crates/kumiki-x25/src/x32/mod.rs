//! X.32: a link of X.25 on a circuit that is called for it.
//!
//! | | |
//! |---|---|
//! | Specification | CCITT X.32 (1988), of which its contents and the beginnings of sections 5 and 6 and of annex A were at hand. The states of the circuit are ours |
//! | Above | [`crate::lapb`] ([`Service::FRAME`]), whose wish for a link makes the call; identification, where there is one, under [`Key::Raw`] |
//! | Below | a line with call control ([`CircuitManage`], [`CircuitReport`]), which has flags, stuffing and the frame check sequence |
//! | Left out | see below |
//!
//! # Calls
//!
//! When the layer above wants a link ([`LinkWanted`]) the number is called. A call that fails is made again after a
//! wait that doubles, and given up after some times or when there is no such number; giving up is told above by
//! [`Report::Down`]. Calls that ring are answered, those of others than [`Config::callers`] refused. With
//! [`Config::call_back`] a caller is refused and its number called: the one that we know, and not one that it says. Who
//! is to be called back ([`Config::call_back_within`]) keeps its wish and waits for that call.
//!
//! A circuit is cleared when no link is wanted any more, and when no I frame has passed for [`Config::idle`]. That a
//! virtual circuit is in use keeps [`crate::x25`] from ending its link, so with its own time of that kind the packet
//! layer decides; ours is for a packet layer that keeps its link. When the other end or the network clears the circuit
//! the link ends with it; X.25 restarts, and its calls are cleared.
//!
//! # Which end
//!
//! X.32 section 5.2 names two ways to assign the addresses of the link. Its conditions for them were not to be had, so
//! [`Side`] chooses. That the caller has the DTE's address where the call decides is the practice of data links on B
//! channels: Linux's mISDN sends its commands with address B when it has originated the call. [`LineEnd`] tells LAPB.
//!
//! # Identification
//!
//! X.32 lets ends identify each other before the link is set up: by XID frames (classes BA 1,2,8 and BA 1,2,8,10 of
//! HDLC), by registration packets or by the NUI in calls (which [`crate::x25`] checks). The state of it is here, and
//! what it says is not: with [`Config::identify`] a circuit carries only XID frames until the user under [`Key::Raw`]
//! says its [`Verdict`]. It gets their information as it came and sends its own ([`Identification`]), and is told of
//! circuits by [`CircuitReport`]. Where there is no such user XID goes to LAPB, for which it is a frame that is not
//! implemented.
//!
//! # What is left out of X.32
//!
//! The elements of identification (ID, SIG, RAND, SRES, DIAG are named in annex A) and their codings; security grades 1
//! and 2, with their signatures and keys; registration packets that carry them; the X.32 facilities (dial-back on
//! request, temporary location); the values and the exact conditions of timers T14 and T15. [`Config::identify`] and
//! [`Config::idle`] stand where these two are believed to stand (recalled), under names of their own. None of this was
//! to be had in a form from which it could be written, and nothing was invented for it. Also left out: LAPX, for
//! half-duplex circuits, and multilink.

use crate::lapb::LineEnd;
use crate::lapb::LinkWanted;
use kumiki_graph::{
    Above, Below, Context, Duration, Handle, Indication, Instant, Key, Manage, Protocol, Report, Request, Service,
    Shape, TimerSlot, Token, Unit, UnitIndication,
};
use kumiki_link::CircuitManage;
use kumiki_link::CircuitReport;
use kumiki_link::Cleared;
use kumiki_octets::Message;
use kumiki_octets::Number;
use kumiki_wire::x25::lapb::{Control, Header, Modulo, function};

mod config;
mod identification;
mod states;
#[cfg(test)]
mod tests;

use crate::lapb::Role;
pub use config::{Config, ConfigError, Counters, Side};
pub use identification::{Identification, Verdict};
pub use states::State;
use states::{Event, Step};

const BELOW: Below = Below(0);

/// The layer.
#[derive(Debug)]
pub struct X32 {
    config: Config,
    state: State,
    /// The access point of the link.
    link: Option<Above>,
    /// That of identification.
    identification: Option<Above>,
    /// Whether the layer above wants a link.
    wanted: bool,
    /// Whom to call back.
    call_back: Option<Number>,
    /// Whether the circuit is one for which we have called.
    calling: bool,
    /// Calls in a row that have failed.
    failures: u8,
    /// Whether what is being cleared counts as a call that has failed.
    failing: bool,
    /// Why there was no circuit, the last time.
    cause: Cleared,
    role: Role,
    /// When an I frame last passed.
    used: Instant,
    timer: TimerSlot,
    counters: Counters,
}

impl X32 {
    /// An end of a switched circuit.
    ///
    /// # Errors
    /// The configuration makes no sense.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            role: config.side.role(false),
            config,
            state: State::Idle,
            link: None,
            identification: None,
            wanted: false,
            call_back: None,
            calling: false,
            failures: 0,
            failing: false,
            cause: Cleared::Own,
            used: Instant::ZERO,
            timer: TimerSlot::default(),
            counters: Counters::default(),
        })
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Where the circuit stands.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    fn tell(user: Option<Above>, report: Report, cx: &mut Context<'_>) {
        if let Some(user) = user {
            cx.up(user, Indication::Report(Box::new(report)));
        }
    }

    fn control(what: CircuitManage, cx: &mut Context<'_>) {
        let manage = Manage::special(what);
        cx.down(BELOW, Request::Manage(Box::new(manage)));
    }

    /// Enters a state that may last so long; for ever where that is no time.
    fn enter(&mut self, state: State, time: Duration, cx: &mut Context<'_>) {
        self.state = state;
        if time.is_zero() {
            cx.clear_timer(&mut self.timer);
        } else {
            let deadline = cx.now() + time;
            cx.set_timer(&mut self.timer, Token::default(), deadline);
        }
    }

    fn rest(&mut self, cx: &mut Context<'_>) {
        self.enter(State::Idle, Duration::ZERO, cx);
    }

    fn on(&mut self, event: Event, cx: &mut Context<'_>) {
        match self.state.step(event) {
            Step::Nothing => {}
            Step::Dial => self.dial(cx),
            Step::Answer => {
                self.counters.answered += 1;
                self.calling = false;
                self.enter(State::Answering, self.config.call_timeout, cx);
                Self::control(CircuitManage::Answer, cx);
            }
            Step::Refuse => {
                self.counters.foreign += u64::from(event == Event::ForeignRings);
                Self::control(CircuitManage::Clear, cx);
            }
            Step::RefuseAndCallBack => {
                self.enter(State::Clearing, Duration::ZERO, cx);
                Self::control(CircuitManage::Clear, cx);
            }
            Step::Rest => {
                self.failures = 0;
                self.rest(cx);
            }
            Step::Clear => self.clear(event, cx),
            Step::ClearFailed => {
                self.failing = true;
                self.clear(event, cx);
            }
            Step::ClearAndCallBack => self.clear(event, cx),
            Step::Begin => self.begin(cx),
            Step::Admit => self.admit(cx),
            Step::Failed => self.failed(cx),
            Step::Gone => self.done(cx),
            Step::Lost => {
                self.counters.lost += 1;
                self.lose(cx);
                self.done(cx);
            }
            Step::Done => self.done(cx),
        }
    }

    /// Calls whom there is to call.
    fn dial(&mut self, cx: &mut Context<'_>) {
        let Some(number) = self.call_back.or(self.config.number) else {
            return;
        };
        self.counters.dialled += 1;
        self.calling = true;
        self.counters.redialled += u64::from(self.failures > 0);
        self.counters.called_back += u64::from(self.call_back.is_some());
        self.enter(State::Dialling, self.config.call_timeout, cx);
        Self::control(CircuitManage::Dial { number }, cx);
    }

    /// Clears the circuit, because of `event`.
    fn clear(&mut self, event: Event, cx: &mut Context<'_>) {
        match (self.state, event) {
            (State::Connected, Event::Timer) => self.counters.idle += 1,
            (State::Identifying, Event::Timer | Event::Refused) | (State::Connected, Event::Refused) => {
                self.counters.not_admitted += 1;
            }
            (
                State::Idle
                | State::Waiting
                | State::Expecting
                | State::CallingBack
                | State::Dialling
                | State::Answering
                | State::Identifying
                | State::Connected
                | State::Clearing,
                _,
            ) => {}
        }
        if self.state == State::Connected {
            self.lose(cx);
        } else if self.state == State::Identifying {
            // What has not been admitted is not called again by itself.
            (self.failures, self.call_back) = (0, None);
            self.lose(cx);
        }
        self.enter(State::Clearing, Duration::ZERO, cx);
        Self::control(CircuitManage::Clear, cx);
    }

    /// The circuit stands.
    fn begin(&mut self, cx: &mut Context<'_>) {
        self.counters.connected += 1;
        self.call_back = None;
        self.role = self.config.side.role(self.calling);
        if self.config.identify.is_zero() {
            self.tell_circuit(cx);
            return self.admit(cx);
        }
        self.enter(State::Identifying, self.config.identify, cx);
        self.tell_circuit(cx);
    }

    fn tell_circuit(&self, cx: &mut Context<'_>) {
        let calling = self.calling;
        let report = Report::special(CircuitReport::Connected { calling });
        Self::tell(self.identification, report, cx);
    }

    /// The link may use the circuit.
    fn admit(&mut self, cx: &mut Context<'_>) {
        // A call that ends before anybody was admitted has failed, and counts as those that were not answered.
        self.failures = 0;
        self.used = cx.now();
        self.enter(State::Connected, self.config.idle, cx);
        let dte = self.role == Role::Dte;
        Self::tell(self.link, Report::special(LineEnd { dte }), cx);
        Self::tell(self.link, Report::Up, cx);
    }

    /// The link has no circuit any more. It says again when it wants one.
    fn lose(&mut self, cx: &mut Context<'_>) {
        self.wanted = false;
        Self::tell(self.link, Report::Down, cx);
    }

    /// A call of ours has come to nothing.
    fn failed(&mut self, cx: &mut Context<'_>) {
        if self.state == State::Identifying && !self.calling {
            return self.done(cx);
        }
        let has_refused = matches!(self.cause, Cleared::Refused | Cleared::Peer);
        let waits = self.state != State::Expecting && self.call_back.is_none();
        if waits && self.calling && has_refused && !self.config.call_back_within.is_zero() {
            return self.enter(State::Expecting, self.config.call_back_within, cx);
        }
        self.counters.failed += 1;
        self.failures = self.failures.saturating_add(1);
        let hopeless = self.cause == Cleared::Unobtainable;
        if hopeless || self.failures > self.config.redials || !(self.wanted || self.call_back.is_some()) {
            self.give_up(cx);
            return self.rest(cx);
        }
        let doubled = self.config.redial_after.as_nanos();
        let doubled = doubled.saturating_mul(1 << u32::from(self.failures - 1).min(30));
        let wait = doubled.min(self.config.max_redial.as_nanos());
        // Two that call each other at once find each other busy; they do not again.
        let wait = wait.saturating_add(cx.rng().below((wait / 4).max(1)));
        self.enter(State::Waiting, Duration::from_nanos(wait), cx);
    }

    /// It is not tried again until somebody wants a link again.
    fn give_up(&mut self, cx: &mut Context<'_>) {
        self.counters.given_up += 1;
        (self.failures, self.call_back) = (0, None);
        self.lose(cx);
    }

    /// There is no circuit any more.
    fn done(&mut self, cx: &mut Context<'_>) {
        if core::mem::take(&mut self.failing) {
            return self.failed(cx);
        }
        if self.call_back.is_some() {
            if self.config.call_back_after.is_zero() {
                return self.dial(cx);
            }
            return self.enter(State::CallingBack, self.config.call_back_after, cx);
        }
        self.rest(cx);
        if self.wanted {
            self.on(Event::Wanted, cx);
        }
    }

    /// Somebody calls.
    fn rings(&mut self, from: Option<Number>, cx: &mut Context<'_>) {
        let callers = &self.config.callers;
        let known = from.filter(|from| callers.contains(from));
        let event = if known.is_none() && !callers.is_empty() {
            Event::ForeignRings
        } else if self.config.call_back {
            Event::RingsForCallBack
        } else {
            Event::Rings
        };
        if self.state.step(event) == Step::RefuseAndCallBack {
            (self.call_back, self.failures) = (known, 0);
        }
        self.on(event, cx);
    }

    fn circuit(&mut self, what: CircuitReport, cx: &mut Context<'_>) {
        match what {
            CircuitReport::Ringing { from } => self.rings(from, cx),
            CircuitReport::Connected { calling } => {
                self.calling = calling;
                self.on(Event::Connected, cx);
            }
            CircuitReport::Cleared(cause) => {
                self.cause = cause;
                self.on(Event::Cleared, cx);
                let report = Report::special(what);
                Self::tell(self.identification, report, cx);
            }
        }
    }

    fn judge(&mut self, verdict: Verdict, cx: &mut Context<'_>) {
        let event = match verdict {
            Verdict::Admit => Event::Admitted,
            Verdict::Refuse => Event::Refused,
            Verdict::CallBack(_) => Event::CallBack,
        };
        if self.state.step(event) == Step::Nothing {
            return cx.drop("a verdict on a circuit that does not stand");
        }
        if let Verdict::CallBack(number) = verdict {
            // In Identifying, clearing gives up what was before.
            self.on(event, cx);
            self.call_back = Some(number);
            return;
        }
        self.on(event, cx);
    }

    /// A frame of the link's, or of identification's.
    fn send(&mut self, data: Message, cx: &mut Context<'_>) {
        cx.down(BELOW, Request::Unit(Box::new(Unit::of(data))));
    }

    fn link_frame(&mut self, data: Message, cx: &mut Context<'_>) {
        if self.state != State::Connected {
            self.counters.dropped += 1;
            return cx.drop("no circuit");
        }
        self.note_use(&data, cx);
        self.send(data, cx);
    }

    /// An I frame has bit 1 of its control field clear, whatever the modulus.
    fn note_use(&mut self, data: &Message, cx: &Context<'_>) {
        let mut octets = [0; 2];
        let is_there = data.copy_to(0, &mut octets);
        let [_, control] = octets;
        if is_there && control & 1 == 0 {
            self.used = cx.now();
        }
    }

    fn send_xid(&mut self, what: Identification, cx: &mut Context<'_>) {
        if !matches!(self.state, State::Identifying | State::Connected) {
            self.counters.dropped += 1;
            return cx.drop("no circuit");
        }
        let Identification { mut information, response, poll } = what;
        let function = function::XID;
        let header = Header {
            address: if response { self.role.own() } else { self.role.peer() },
            control: Control::Unnumbered { function, poll },
            modulo: Modulo::Eight,
        };
        header.emit(information.push_header(header.len()));
        self.counters.xid_sent += 1;
        self.send(information, cx);
    }

    /// A frame has come.
    fn take(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        if let Some(user) = self.identification
            && matches!(self.state, State::Identifying | State::Connected)
        {
            // An unnumbered frame has one octet of control, whatever the modulus.
            let header = Header::parse(unit.data.front_at_least(2), Modulo::Eight);
            if let Ok((header, len)) = header
                && let Control::Unnumbered { function: function::XID, poll } = header.control
            {
                let response = header.address == self.role.peer();
                if !response && header.address != self.role.own() {
                    return cx.drop("address of neither end");
                }
                self.counters.xid_received += 1;
                // The header was read, so it is there.
                let _ = unit.data.pop_header(len);
                let what = Identification { information: unit.data, response, poll };
                let session = Handle::default();
                return cx.up(user, Indication::special(session, what));
            }
        }
        let (State::Connected, Some(link)) = (self.state, self.link) else {
            self.counters.dropped += 1;
            return cx.drop("the other end is not admitted");
        };
        self.note_use(&unit.data, cx);
        cx.up(link, Indication::Unit(unit));
    }

    /// Whether a link is wanted from here on.
    fn want(&mut self, wanted: bool, cx: &mut Context<'_>) {
        self.wanted = wanted;
        if !wanted && self.call_back.is_some() {
            // Whom we call back wants the link.
            return;
        }
        self.on(if wanted { Event::Wanted } else { Event::Unwanted }, cx);
    }

    fn manage(&mut self, from: Above, manage: Manage, cx: &mut Context<'_>) {
        match manage {
            Manage::Limits => cx.down(BELOW, Request::Manage(Box::new(Manage::Limits))),
            Manage::Special(what) => {
                if let Some(LinkWanted(wanted)) = what.get() {
                    self.want(*wanted, cx);
                } else if let Some(verdict) = what.get::<Verdict>().filter(|_| Some(from) == self.identification) {
                    self.judge(*verdict, cx);
                } else {
                    cx.drop("not offered by X.32");
                }
            }
            Manage::Route { .. }
            | Manage::Refuse { .. }
            | Manage::Session { .. }
            | Manage::Advise { .. }
            | Manage::Narrow { .. }
            | Manage::Group { .. } => cx.drop("not offered by X.32"),
        }
    }
}

impl Protocol for X32 {
    fn shape(&self) -> Shape {
        Shape {
            offers: Some(Service::FRAME),
            needs: &[Service::FRAME, Service::UNIT_DATA],
            below: (1, 1),
            keys: vec![Key::Only],
        }
    }

    fn bind(&mut self, above: Above, keys: &[Key]) -> Result<(), String> {
        let place = if keys.contains(&Key::Raw) { &mut self.identification } else { &mut self.link };
        if place.is_some() {
            return Err("a circuit has one link, and one identification under RAW".to_owned());
        }
        *place = Some(above);
        Ok(())
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        Self::tell(self.link, Report::Down, cx);
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request {
            Request::Unit(unit) if Some(from) == self.link => self.link_frame(unit.data, cx),
            Request::Manage(manage) => self.manage(from, *manage, cx),
            Request::Special { what, .. } if Some(from) == self.identification => match what.take() {
                Some(what) => self.send_xid(*what, cx),
                None => cx.drop("not offered by X.32"),
            },
            Request::Unit(_)
            | Request::Special { .. }
            | Request::Open(_)
            | Request::Accept(_)
            | Request::Cancel { .. }
            | Request::Data { .. }
            | Request::Expedited { .. }
            | Request::Credit { .. }
            | Request::Release { .. }
            | Request::Abort { .. }
            | Request::Reset { .. } => cx.drop("not offered by X.32"),
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication.of_unit_data() {
            Some(UnitIndication::Unit(unit)) => self.take(unit, cx),
            Some(UnitIndication::Report(report)) => match *report {
                Report::Special(what) => {
                    if let Some(what) = what.get() {
                        self.circuit(*what, cx);
                    }
                }
                Report::Limits { .. } => Self::tell(self.link, *report, cx),
                Report::Up | Report::Down | Report::Route { .. } | Report::Unreachable { .. } => {}
            },
            Some(UnitIndication::Credit(_)) => {}
            None => cx.drop("not a frame"),
        }
    }

    fn expire(&mut self, _: Token, cx: &mut Context<'_>) {
        if self.state == State::Connected {
            let free_at = self.used + self.config.idle;
            if free_at > cx.now() {
                cx.set_timer(&mut self.timer, Token::default(), free_at);
                return;
            }
        }
        self.on(Event::Timer, cx);
    }
}
