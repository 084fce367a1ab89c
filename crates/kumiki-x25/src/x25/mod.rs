//! The packet layer of X.25: virtual circuits on one link.
//!
//! | | |
//! |---|---|
//! | Specification | X.25 sections 3 to 7 and annexes C, D and E; ISO 8208 for the DTE and for two DTEs without a network (both recalled; judged by Linux's packet layer, xotpad and tshark) |
//! | Above | users by address ([`Service::CONNECTION`]): TP0. Addresses are [`Number`]s; facilities and the rest of a call are in its [`Call`](x25::Call) |
//! | Below | one link ([`crate::lapb`]), whole packets ([`PacketCarrier::Frames`]), or a connection for each circuit ([`PacketCarrier::Circuits`]: XOT) |
//! | Left out | on-line facility registration (such packets are dropped), networks (a DCE here answers its own users and routes nothing), what facilities beyond packet size, window and fast select mean: they are carried; data packets of a datagram service |
//!
//! # Calls
//!
//! An active open calls `remote` with the call user data of `data` (up to 16 octets, 128 with fast select); with
//! `call.channel` it takes a permanent virtual circuit instead. A call waits until the interface is ready, for T21 at
//! most, and is refused when the link is not to be had. A passive open gets the calls whose called address begins with
//! `local`, the longest `local` first; `Accept` and `Abort` carry data where fast select allows it. Channels are taken
//! from the top by a DTE and from the bottom by a DCE. Where two calls meet on one channel the DTE's stays, and the DCE
//! tries another channel with its own.
//!
//! Packet sizes and windows are asked for as [`Config::wanted`] has them, unless the user's facilities say otherwise,
//! and agreed to between what is asked for and X.25's 128 octets and 2 packets.
//!
//! # Data
//!
//! `Data` of any length becomes packets: full ones with M, and the last one without M where it has `end`. What is not
//! full and has no `end` waits for more. Packets go up as they come; `end` is M = 0. Packets with Q, and those with D
//! for a user that said `call.delivery`, are [`Primitive`]s. P(R) follows what the user has room for, so a user without
//! room closes the window; then RNR says so too. Interrupts are confirmed when they have been handed up.
//!
//! A user that relays (`call.relayed`) confirms interrupts itself, and D always: so both go from end to end. It may
//! tell its handle before it answers an offer (`Claim`), and say why it takes a call back that is not answered
//! (`TakeBack`). The causes that it passes on are said as they are by a DCE and on XOT, and with the upper bit, as
//! those of a private network, by a DTE.
//!
//! # A link that is called for
//!
//! With [`Config::idle`] the link is asked for when there is a call to make, and ended after so long without one; a
//! link of the peer's is taken. So calls can be made at any time, and [`Report::Up`] says so from the start. That is
//! for a switched circuit below ([`crate::x32`]), which costs while it stands.
//!
//! # Who calls
//!
//! Where [`Config::users`] names any, a call must have one of these network user identifications (facility C6), or it
//! is cleared: by a DCE with "access barred", and with diagnostic 84, "NUI problem", as Wireshark has its words. That
//! it is this cause is recalled. What was asked for is not told to the user called, for it is a matter between the
//! caller and its network, and is printed nowhere.
//!
//! # What goes wrong
//!
//! [`Report::Up`] says that the interface is ready, [`Report::Down`] that it is no longer: its link has ended, or we
//! restart it. On XOT, where calls can always be made, [`Report::Up`] says that a peer has set up a permanent virtual
//! circuit that nobody has taken.
//!
//! By the tables in `states.rs`: an error on a call in progress clears it, one in data transfer resets the channel, one
//! of the interface restarts it, with the diagnostic codes of annex E. A reset of the link (LAPB) restarts the
//! interface, as Linux has it. What the standards have discarded without a word (another modulo; on XOT, RESTART and
//! its like) is why a call ends that then times out or loses its connection.

use crate::{lapb, xot};
use kumiki_graph::Special;
use std::borrow::Cow;
use std::collections::VecDeque;

use kumiki_graph::{
    Above, Address, Below, Context, Handle, Indication, Instant, Key, Manage, Mode, Open, Opened, Protocol, Reason,
    Report, Request, Service, Shape, Token,
};
use kumiki_octets::{Beginning, Message};
use kumiki_osi_service::layer;
use kumiki_osi_service::x25::{self, CauseField, Flow, Number, Primitive};
use kumiki_wire::Malformed;

mod agreed;
mod calls;
mod circuit;
mod config;
mod lines;
mod packets;
mod resets;
mod states;
#[cfg(test)]
mod tests;

use circuit::{Circuit, Timer};
pub use config::{Config, ConfigError, Counters, PacketCarrier, Ranges, Role};
use lines::Line;
use states::P;

use kumiki_graph::sessions::Sessions;

/// What the packet layer offers: its users also speak [`Primitive`].
pub const SERVICE: Service = Service::CONNECTION.named("X.25");

const BELOW: Below = Below(0);

/// What a CLEAR, RESET or RESTART said.
fn told(what: CauseField, cause: u8, diagnostic: u8) -> Reason {
    Reason::peer(x25::Cause::Packet(x25::PacketCause { what, cause, diagnostic }))
}

/// Why something is over for `reason`: where that only says that there was no answer, what came and was `let_be`.
fn better(let_be: &mut Option<Reason>, reason: Reason) -> Reason {
    if reason.is_told() { reason } else { let_be.take().unwrap_or(reason) }
}

/// What a handle of ours names.
#[derive(Debug)]
enum Entry {
    Listener(Listener),
    Circuit(Box<Circuit>),
}

/// A passive open.
#[derive(Debug)]
struct Listener {
    above: Above,
    user: Handle,
    number: Number,
    /// How many calls may wait for an answer, and how many do.
    backlog: u32,
    waiting: u32,
}

/// The layer.
#[derive(Debug)]
pub struct X25 {
    config: Config,
    lines: Sessions<Line>,
    /// The one line of a link.
    line: Handle,
    entries: Sessions<Entry>,
    /// Calls that wait for the interface, and until when, in their order.
    pending: VecDeque<(Instant, Above, Box<Open>)>,
    /// Circuits to look at when the batch is over.
    touched: Vec<Handle>,
    /// Under this handle we listen below; of circuits only.
    listens: Option<Handle>,
    in_hand: InHand,
    counters: Counters,
    refusal: Option<Reason>,
}

/// The packet that came last, for what is told of it where it is wrong.
#[derive(Debug, Default)]
struct InHand {
    /// Its header, or what there is of it.
    header: Beginning,
    /// Why it could not be read.
    why: Option<Malformed>,
}

impl X25 {
    /// The peer has broken the protocol by the packet in hand: what is wrong, as its diagnostic code says it.
    fn breach(&mut self, code: u8) -> Reason {
        let what = x25::diagnostic_text(code);
        match self.in_hand.why.take() {
            Some(why) => self.broken(format!("{what}: {why}")),
            None => self.broken(what),
        }
    }

    /// The peer has broken the protocol by the packet in hand, so.
    fn broken(&mut self, found: impl Into<Cow<'static, str>>) -> Reason {
        let why = Reason::violation_in(layer::X25, found, self.in_hand.header.clone());
        self.refusal = Some(why.clone());
        why
    }

    /// How a peer broke the protocol last, on a circuit or on none.
    #[must_use]
    pub const fn refusal(&self) -> Option<&Reason> {
        self.refusal.as_ref()
    }

    /// How many octets of user data the windows of a circuit can hold, both ways together.
    #[must_use]
    pub fn held(&self) -> u64 {
        let Config { default, wanted, .. } = &self.config;
        let of = |packet: u16, window: u8| u64::from(packet) * u64::from(window);
        let both = |flow: &Flow| of(flow.packet_out, flow.window_out) + of(flow.packet_in, flow.window_in);
        both(default).max(both(wanted))
    }

    /// A packet layer.
    ///
    /// # Errors
    /// The configuration makes no sense.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config,
            lines: Sessions::default(),
            line: Handle::default(),
            entries: Sessions::default(),
            pending: VecDeque::new(),
            touched: Vec::new(),
            listens: None,
            in_hand: InHand::default(),
            refusal: None,
            counters: Counters::default(),
        })
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    fn circuit(&mut self, handle: Handle) -> Option<&mut Circuit> {
        match self.entries.get(handle)? {
            Entry::Circuit(circuit) => Some(circuit),
            Entry::Listener(_) => None,
        }
    }

    /// Keeps a new circuit and gives it its channel.
    fn add_circuit(&mut self, circuit: Circuit) -> Handle {
        let (line, channel) = (circuit.line, circuit.channel);
        let handle = self.entries.insert(Entry::Circuit(Box::new(circuit)));
        if let Some(circuit) = self.circuit(handle) {
            circuit.own = handle;
        }
        if let Some(line) = self.lines.get(line) {
            line.channels.insert(channel, handle);
        }
        handle
    }

    /// A circuit is no more.
    fn remove_circuit(&mut self, handle: Handle, cx: &mut Context<'_>) {
        self.answered(handle);
        self.flush(handle, cx);
        let Some(Entry::Circuit(mut circuit)) = self.entries.remove(handle) else {
            return;
        };
        circuit.stop_all(cx);
        if let Some(line) = self.lines.get(circuit.line) {
            line.channels.remove(&circuit.channel);
        }
        if self.config.over == PacketCarrier::Circuits {
            self.close_line(circuit.line, cx);
        } else {
            self.await_idle(circuit.line, cx);
        }
    }

    /// An offer of this circuit waits no longer.
    fn answered(&mut self, handle: Handle) {
        let listener = self.circuit(handle).and_then(|it| it.listener.take());
        if let Some(listener) = listener
            && let Some(Entry::Listener(listener)) = self.entries.get(listener)
        {
            listener.waiting = listener.waiting.saturating_sub(1);
        }
    }

    /// Sends what a circuit has for the line, and looks at it again when the batch is over.
    fn flush(&mut self, handle: Handle, cx: &mut Context<'_>) {
        let Some(Entry::Circuit(circuit)) = self.entries.get(handle) else {
            return;
        };
        circuit.pump(&self.config, &mut self.counters, cx);
        let line = circuit.line;
        let out = core::mem::take(&mut circuit.out);
        if self.touched.last() != Some(&handle) {
            self.touched.push(handle);
        }
        for packet in out {
            self.send(line, packet, cx);
        }
    }

    fn refuse(above: Above, user: Handle, reason: Reason, cx: &mut Context<'_>) {
        let (session, data) = (user, None);
        cx.up(above, Indication::Aborted { session, reason, data });
    }

    fn listen(&mut self, above: Above, open: &Open, backlog: u32, cx: &mut Context<'_>) {
        let number = if open.local.is_none() { Some(Number::NONE) } else { open.local.get() };
        let Some(number) = number else {
            return Self::refuse(above, open.user, Reason::BadAddress, cx);
        };
        let taken = |entry: &Entry| matches!(entry, Entry::Listener(it) if it.number == number);
        if self.entries.find(taken).is_some() {
            return Self::refuse(above, open.user, Reason::BadAddress, cx);
        }
        let provider = self.entries.insert(Entry::Listener(Listener {
            above,
            user: open.user,
            number,
            backlog: backlog.max(1),
            waiting: 0,
        }));
        let opened = Opened { user: open.user, provider, local: Address::from(number), ..Opened::default() };
        cx.up(above, Indication::Opened(Box::new(opened)));
        self.listen_below(cx);
    }

    fn open(&mut self, above: Above, open: Box<Open>, cx: &mut Context<'_>) {
        match open.mode {
            Mode::Passive { backlog } => self.listen(above, &open, backlog, cx),
            Mode::Active => self.call(above, open, cx),
        }
    }

    /// What the user has asked for it wants no more; a call that has gone out is cleared for `reason`.
    fn cancel(&mut self, above: Above, user: Handle, reason: Reason, data: Option<Message>, cx: &mut Context<'_>) {
        let before = self.pending.len();
        self.pending.retain(|(_, from, open)| *from != above || open.user != user);
        if self.pending.len() < before {
            return;
        }
        let found = self.entries.find(|entry| match entry {
            Entry::Listener(it) => it.above == above && it.user == user,
            Entry::Circuit(it) => it.above == above && it.user == Some(user),
        });
        match found {
            Some(handle) => self.abort(handle, reason, data, cx),
            None => cx.drop("no such session"),
        }
    }

    fn abort(&mut self, handle: Handle, reason: Reason, data: Option<Message>, cx: &mut Context<'_>) {
        match self.entries.get(handle) {
            None => cx.drop("no such session"),
            Some(Entry::Listener(_)) => {
                self.entries.remove(handle);
                let offers = |entry: &Entry| matches!(entry, Entry::Circuit(it) if it.listener == Some(handle));
                while let Some(offered) = self.entries.find(offers) {
                    self.clear_by_user(offered, Reason::User, None, cx);
                }
            }
            Some(Entry::Circuit(_)) => self.clear_by_user(handle, reason, data, cx),
        }
    }

    /// What a user of `session` does to its circuit.
    fn on_circuit(
        &mut self,
        session: Handle,
        cx: &mut Context<'_>,
        act: impl FnOnce(&mut Circuit, &Config, &mut Context<'_>),
    ) {
        let Some(Entry::Circuit(circuit)) = self.entries.get(session) else {
            return cx.drop("no such session");
        };
        if circuit.p != P::Transfer || circuit.user.is_none() {
            return cx.drop("no such session");
        }
        act(circuit, &self.config, cx);
        self.flush(session, cx);
    }

    fn special(&mut self, from: Above, session: Handle, what: Special, cx: &mut Context<'_>) {
        let Some(primitive) = what.take() else {
            return cx.drop("not offered by X.25");
        };
        match *primitive {
            Primitive::Data { data, end, qualified, delivery } => {
                self.on_circuit(session, cx, |circuit, _, cx| {
                    circuit.on_data_request(data, end, (qualified, delivery), cx);
                });
            }
            Primitive::Confirm { packets } => {
                self.on_circuit(session, cx, |circuit, config, cx| {
                    circuit.on_confirm(packets, config, cx);
                });
            }
            Primitive::InterruptConfirm => {
                self.on_circuit(session, cx, |circuit, _, _| {
                    circuit.confirm_interrupt();
                });
            }
            Primitive::Claim { user } => {
                let (index, generation) = user;
                self.claim(from, session, Handle { index, generation }, cx);
            }
            Primitive::TakeBack { user, why, data } => {
                let (index, generation) = user;
                let (user, reason) = (Handle { index, generation }, Reason::peer(x25::Cause::Packet(why)));
                self.cancel(from, user, reason, data, cx);
            }
        }
    }

    fn on_timer(&mut self, handle: Handle, timer: Timer, cx: &mut Context<'_>) {
        let Some(Entry::Circuit(circuit)) = self.entries.get(handle) else {
            return;
        };
        use kumiki_osi_service::x25::diagnostic as code;
        let wrong = match timer {
            Timer::Control => return self.on_control_timer(handle, cx),
            Timer::Status => {
                circuit.on_status(cx);
                None
            }
            Timer::Window if circuit.peer_is_busy() => {
                circuit.start(Timer::Window, self.config.t25, cx);
                None
            }
            Timer::Window => Some(code::RETRY_DATA),
            Timer::Interrupt => Some(code::RETRY_INTERRUPT),
            Timer::Reject => circuit.on_reject(&self.config, cx).err(),
        };
        match wrong {
            Some(code) => {
                self.counters.timeouts += 1;
                let reason = better(&mut circuit.let_be, Reason::TimedOut);
                self.reset(handle, code, reason, cx);
            }
            None => self.flush(handle, cx),
        }
    }
}

impl Protocol for X25 {
    fn shape(&self) -> Shape {
        let needs: &'static [Service] = match self.config.over {
            PacketCarrier::Link => &[lapb::SERVICE],
            PacketCarrier::Circuits => &[xot::SERVICE],
            PacketCarrier::Frames => &[Service::FRAME, Service::UNIT_DATA],
        };
        Shape { offers: Some(SERVICE), needs, below: (1, 1), keys: vec![Key::Only] }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        if self.config.over == PacketCarrier::Circuits {
            return;
        }
        self.line = self.add_line();
        for channel in 1..=self.config.ranges.permanent {
            let mut circuit = Circuit::new(self.line, channel, P::Transfer, self.config.default);
            circuit.permanent = true;
            circuit.flow.modulo = self.config.modulo;
            self.add_circuit(circuit);
        }
        if self.config.over == PacketCarrier::Frames {
            self.line_up(self.line, cx);
        } else if self.on_demand() {
            self.listen_below(cx);
            lines::tell_all(&Report::Up, cx);
        } else {
            self.open_line(self.line, cx);
        }
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request {
            Request::Open(open) => self.open(from, open, cx),
            Request::Accept(accept) => self.accept(from, *accept, cx),
            Request::Cancel { user } => self.cancel(from, user, Reason::User, None, cx),
            Request::Abort { session, reason, data } => self.abort(session, reason, data, cx),
            Request::Data { session, data, end } => self.on_circuit(session, cx, |it, _, cx| {
                it.on_data_request(data, end, (false, false), cx);
            }),
            Request::Expedited { session, data } => {
                self.counters.interrupts_sent += 1;
                self.on_circuit(session, cx, |it, config, cx| {
                    it.on_interrupt_request(data, config, cx);
                });
            }
            Request::Credit { session, credit } => self.on_circuit(session, cx, |it, _, cx| {
                it.on_credit(credit.messages, cx);
            }),
            Request::Reset { session, reason } => self.user_reset(session, reason, cx),
            Request::Special { session, what } => self.special(from, session, what, cx),
            Request::Manage(manage) => {
                if let Manage::Limits = *manage {
                    let report = Report::Limits { unit: self.config.wanted.packet_out.into(), burst: 1 };
                    cx.up(from, Indication::Report(Box::new(report)));
                } else {
                    cx.drop("not offered by X.25");
                }
            }
            Request::Unit(_) | Request::Release { .. } => {
                cx.drop("not offered by X.25");
            }
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Unit(unit) => self.on_packet(self.line, unit.data, cx),
            Indication::Data { session, data, .. } => {
                self.on_packet(session, data, cx);
                self.took(session, cx);
            }
            Indication::Opened(opened) => self.line_opened(&opened, cx),
            Indication::Offered(offered) => self.line_offered(&offered, cx),
            Indication::Credit { session, credit } => {
                self.line_credit(session, credit.messages, cx);
            }
            Indication::Reset { session, reason } => self.line_reset(session, reason, cx),
            Indication::Aborted { session, reason, .. } => self.line_aborted(session, reason, cx),
            Indication::Closed { session } => self.line_aborted(session, Reason::Down, cx),
            Indication::Report(report) => self.line_report(&report, cx),
            Indication::Special { .. }
            | Indication::Expedited { .. }
            | Indication::Released { .. }
            | Indication::Notice { .. } => cx.drop("nothing that X.25 stands on says this"),
        }
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        if token.kind == lines::TIMER {
            self.on_line_timer(token.session, cx);
        } else if let Some(timer) = Timer::of(token) {
            self.on_timer(token.session, timer, cx);
        }
    }

    fn settle(&mut self, cx: &mut Context<'_>) {
        let mut touched = core::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        for handle in touched {
            let Some(Entry::Circuit(circuit)) = self.entries.get(handle) else {
                continue;
            };
            let line = circuit.line;
            // Of a permanent circuit while its interface is restarted, nothing is told.
            if self.lines.get(line).is_some_and(|line| line.r == states::R::Ready) {
                circuit.acknowledge(&self.config, cx);
            }
            for packet in core::mem::take(&mut circuit.out) {
                self.send(line, packet, cx);
            }
        }
    }
}
