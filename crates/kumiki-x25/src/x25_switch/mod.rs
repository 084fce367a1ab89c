//! A switch of X.25: calls from one packet layer to another, by number.
//!
//! | | |
//! |---|---|
//! | Specification | X.25 for what a network does between two interfaces (sections 4 to 6); X.121 for the numbers that it looks up. Recalled; the state machines are those of [`crate::x25`], one for each interface |
//! | Above | nobody |
//! | Below | packet layers ([`crate::x25`]), one for each port: over LAPB, over whole packets, or over XOT. A port is called as its node |
//! | Left out | closed user groups, charging, redirection and what else facilities ask of a network: they go on as they are. Clearing within a queue: CLEAR overtakes data, as X.25 lets it. Calls that are kept while an interface is away |
//!
//! # Calls
//!
//! A call that a port offers goes where the route with the longest beginning of the called address says ([`Route`]):
//! one that also asks for the port that it came by, or for what its user data begins with, counts before one that does
//! not. The targets of a route are tried in their order; those whose interface is down, that have no channel left, or
//! whose host is not to be reached are passed over. The port by which the call came is none of them, unless the route
//! says `back`: so a call cannot go around in one switch. Facilities but those of packet size and window, user data, D
//! of the call and fast select go on. Packet sizes and windows are agreed on by each interface for itself: messages are
//! put together and cut again.
//!
//! Nobody's number is cleared with *not obtainable* (0d), a number all of whose targets are down with *out of order*
//! (09), and one more call than there may be with *network congestion* (05), and so is one that comes when the memory
//! of the graph's budget is short, or that somebody has sent away ([`Switch::send_away`]). One by which nothing has
//! crossed for [`Config::idle`] is cleared with *local procedure error* (13) and *timer expired* (48): X.25 has no
//! cause of its own for that. Any other clearing is passed on with its cause, diagnostic and data, also that of a call
//! that was not answered yet.
//!
//! # Data
//!
//! As much waits between the halves as the window of the one that it came by, since each packet that moves on grants
//! one more there. Q, D and M go on with each packet; what D asks for and interrupts are confirmed from end to end
//! ([`kumiki_osi_service::x25::Call::relayed`]). A reset empties both halves and goes on with its cause.
//!
//! # Permanent circuits
//!
//! Two channels of two ports are one circuit ([`Config::circuits`]). When one end goes away the other is reset with
//! *out of order* (01), or, where XOT has lost it, with *network out of order* (1d), and nothing is read from it; when
//! it is back, with *remote DTE operational* (09) or *network operational* (0f). Each is said once, and to an end that
//! comes while the other is away, too. X.25 has these causes for permanent circuits alone; that the DTE's pair is for
//! an interface and the network's for XOT is ours.
//!
//! An end that is not to be had is asked for again after [`Config::retry`], then after twice as long each time, up to 5
//! minutes (RFC 1613 section 6.5), less up to half of that at random. What only another configuration mends, by the
//! status of XOT's peer, is asked for every 5 minutes. A peer that sets the circuit up itself is taken at once.
//!
//! # What is told
//!
//! [`Switch::take_events`] gives what happened, for a log; [`CLOSE`] clears all calls.

use crate::x25 as packets;
use kumiki_graph::Special;
use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::{
    Above, Below, Context, Handle, Indication, Mode, Open, Protocol, Reason, Report, Request, Shape, Token,
};
use kumiki_osi_service::x25::{self, CauseField, Primitive, cause, diagnostic};

use kumiki_graph::sessions::Sessions;

mod call;
mod causes;
mod config;
mod permanent;
mod routing;
#[cfg(test)]
mod tests;

use call::{Call, Named, Phase};
pub use config::{CallEvent, CircuitEnd, Config, Counters, Event, Rewrite, Route};

/// Calls of one port that may wait for an answer.
const BACKLOG: u32 = 4096;

/// The most ports.
const MOST_PORTS: u16 = 256;

/// Events that are kept until somebody fetches them.
const EVENTS: usize = 1024;

/// The index of our handle of a port's listener is this and the port's number.
const LISTENER: u32 = 1 << 31;

/// The kind of the token of a permanent circuit's timer.
const RETRY: u32 = 1;

/// A token by which the node is woken to take no more calls and clear those that there are
/// ([`kumiki_graph::Graph::wake`]).
pub const CLOSE: Token = Token { session: Handle { index: 0, generation: 0 }, kind: 2 };

/// The kind of the token of a call's timer.
const IDLE: u32 = 3;

/// A token by which the node is woken to clear the calls that [`Switch::send_away`] named.
pub const CLEAR: Token = Token { session: Handle { index: 0, generation: 0 }, kind: 4 };

/// An interface.
#[derive(Debug)]
struct Port {
    name: String,
    /// Whether calls can be made.
    is_up: bool,
    /// The packet layer's handle of our listener.
    listener: Option<Handle>,
}

/// How an interface is, for whoever looks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortStatus {
    /// Its name.
    pub name: String,
    /// Whether calls can be made.
    pub is_up: bool,
    /// Calls and permanent circuits on it.
    pub calls: u32,
}

/// The node.
#[derive(Debug, Default)]
pub struct Switch {
    config: Config,
    ports: Vec<Port>,
    calls: Sessions<Box<Call>>,
    /// Calls on each port, and permanent circuits.
    on_port: BTreeMap<u16, u32>,
    numbered: u64,
    /// Calls that are to be cleared.
    sent_away: Vec<u64>,
    is_closed: bool,
    events: VecDeque<Event>,
    counters: Counters,
}

/// Our handle of one half of a call.
const fn half_handle(call: Handle, side: usize) -> Handle {
    let low = if side == 0 { 0 } else { 1 };
    Handle { index: call.index << 1 | low, generation: call.generation }
}

/// The call that a handle of ours belongs to, and which half of it.
const fn call_of(half: Handle) -> (Handle, usize) {
    let call = Handle { index: half.index >> 1, generation: half.generation };
    (call, (half.index & 1) as usize)
}

const fn cleared(cause: u8, diagnostic: u8) -> x25::PacketCause {
    x25::PacketCause { what: CauseField::Clear, cause, diagnostic }
}

impl Switch {
    /// A switch without ports; they are what it is connected to.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, ..Self::default() }
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What happened since this was last asked, in order.
    pub fn take_events(&mut self) -> impl Iterator<Item = Event> + '_ {
        self.events.drain(..)
    }

    /// How the ports are, in the order in which they were connected.
    #[must_use]
    pub fn ports(&self) -> Vec<PortStatus> {
        let ports = self.ports.iter().zip(0_u16..);
        ports
            .map(|(port, number)| PortStatus {
                name: port.name.clone(),
                is_up: port.is_up,
                calls: self.on_port.get(&number).copied().unwrap_or(0),
            })
            .collect()
    }

    /// How many calls and permanent circuits there are.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.calls.len()
    }

    fn tell(&mut self, of: Named, what: CallEvent, cx: &Context<'_>) {
        if self.events.len() >= EVENTS {
            self.counters.untold += 1;
            self.events.pop_front();
        }
        let at = cx.now();
        let (call, peers) = (of.number, of.peers);
        self.events.push_back(Event { at, call, peers, what });
    }

    fn name(&self, port: u16) -> String {
        let port = self.ports.get(usize::from(port));
        port.map(|port| port.name.clone()).unwrap_or_default()
    }

    fn number_of(&self, name: &str) -> Option<u16> {
        let mut ports = self.ports.iter().zip(0_u16..);
        ports.find(|(port, _)| port.name == name).map(|(_, number)| number)
    }

    fn is_up(&self, port: u16) -> bool {
        let port = self.ports.get(usize::from(port));
        port.is_some_and(|port| port.is_up)
    }

    /// A half of a call is on a port, or is no longer.
    fn occupy(&mut self, port: u16, more: bool) {
        let count = self.on_port.entry(port).or_default();
        *count = if more { count.saturating_add(1) } else { count.saturating_sub(1) };
    }

    fn listen(port: u16, cx: &mut Context<'_>) {
        let open = Open {
            user: Handle { index: LISTENER | u32::from(port), generation: 1 },
            mode: Mode::Passive { backlog: BACKLOG },
            ..Open::default()
        };
        cx.down(Below(port), Request::Open(Box::new(open)));
    }

    /// Forgets a call, whose halves have ended.
    fn forget(&mut self, own: Handle, cx: &mut Context<'_>) {
        if let Some(mut call) = self.calls.remove(own) {
            if let Some(permanent) = &mut call.permanent {
                permanent.stop(cx);
            }
            cx.clear_timer(&mut call.timer);
            for half in &call.halves {
                self.occupy(half.port, false);
            }
        }
    }

    /// The half of `side` has ended, and with it the call.
    fn ended(
        &mut self,
        own: Handle,
        side: usize,
        reason: Reason,
        data: Option<kumiki_octets::Message>,
        cx: &mut Context<'_>,
    ) {
        let Some(call) = self.calls.get(own) else {
            return cx.drop("no such call");
        };
        call.half(side).phase = Phase::Gone;
        if call.permanent.is_some() {
            return self.parted(own, side, reason, cx);
        }
        if call.since.is_none() && side == 1 {
            return self.not_taken(own, reason, data, cx);
        }
        let why = causes::of_clear(&reason);
        let other = half_handle(own, 1 - side);
        call.other(side).end(why, data, other, cx);
        let port = call.half(side).port;
        let by = Some(self.name(port));
        self.told_cleared(own, by, (why, causes::breach(&reason)), cx);
        self.forget(own, cx);
    }

    /// Writes down that a call was cleared.
    fn told_cleared(
        &mut self,
        own: Handle,
        by: Option<String>,
        (why, found): (x25::PacketCause, Option<Reason>),
        cx: &Context<'_>,
    ) {
        let Some(call) = self.calls.get(own) else {
            return;
        };
        let [from, to] = &call.halves;
        let (named, octets, port) = (call.named(), [from.octets, to.octets], from.port);
        let (calling, called) = (call.calling, call.called);
        let (cause, diagnostic) = (why.cause, why.diagnostic);
        let tried = call.tried.take().map(|(port, reason)| (self.name(port), reason));
        let Some(call) = self.calls.get(own) else {
            return;
        };
        let what = if let Some(since) = call.since {
            self.counters.cleared += 1;
            CallEvent::Cleared { by, cause, diagnostic, found, octets, lasted: cx.now().saturating_since(since) }
        } else {
            self.counters.refused += 1;
            CallEvent::Refused { from: self.name(port), calling, called, cause, diagnostic, found, tried }
        };
        self.tell(named, what, cx);
    }

    fn was_reset(&mut self, own: Handle, side: usize, reason: Reason, cx: &mut Context<'_>) {
        let Some(call) = self.calls.get(own) else {
            return cx.drop("no such call");
        };
        if !call.was_reset(side, &mut self.counters, cx) {
            return;
        }
        if call.permanent.as_ref().is_some_and(|it| !it.is_there(side)) {
            // The interface has gone, of which the other end hears otherwise.
            return;
        }
        let why = causes::of_reset(&reason);
        call.reset(1 - side, why, cx);
        self.counters.resets += 1;
        let (named, port) = (call.named(), call.half(side).port);
        let found = causes::breach(&reason);
        let what = CallEvent::Reset { by: self.name(port), cause: why.cause, diagnostic: why.diagnostic, found };
        self.tell(named, what, cx);
    }

    fn special(&mut self, session: Handle, what: Special, cx: &mut Context<'_>) {
        let (own, side) = call_of(session);
        let Some(call) = self.calls.get(own) else {
            return cx.drop("no such call");
        };
        let Some(primitive) = what.take() else {
            return cx.drop("no packet layer says this");
        };
        match *primitive {
            Primitive::Data { data, end, qualified, delivery } => {
                let bits = (qualified, delivery);
                call.data(side, data, end, bits, &mut self.counters, cx);
            }
            Primitive::Confirm { packets } => call.confirmed(side, packets, cx),
            Primitive::InterruptConfirm => call.interrupt_confirmed(side, cx),
            Primitive::Claim { .. } | Primitive::TakeBack { .. } => cx.drop("no packet layer says this"),
        }
    }

    fn report(&mut self, port: u16, report: &Report, cx: &mut Context<'_>) {
        let is_up = match report {
            Report::Up => true,
            Report::Down => false,
            Report::Limits { .. } | Report::Route { .. } | Report::Unreachable { .. } | Report::Special(_) => return,
        };
        let Some(it) = self.ports.get_mut(usize::from(port)) else {
            return;
        };
        if core::mem::replace(&mut it.is_up, is_up) != is_up {
            let name = it.name.clone();
            let what = if is_up { CallEvent::Up(name) } else { CallEvent::Down(name) };
            self.tell(Named::default(), what, cx);
        }
        if !self.is_closed {
            self.look_at_ends(port, cx);
        }
    }

    /// Has a call cleared with network congestion, since there is no place for it; the node is to be woken with
    /// [`CLEAR`].
    pub fn send_away(&mut self, call: u64) {
        self.sent_away.push(call);
    }

    /// Clears the calls that are sent away.
    fn clear_sent_away(&mut self, cx: &mut Context<'_>) {
        for number in core::mem::take(&mut self.sent_away) {
            let calls = &self.calls;
            let found = calls.find(|call| call.number == number && call.permanent.is_none());
            if let Some(own) = found {
                let why = cleared(cause::CLEAR_CONGESTION, diagnostic::NONE);
                self.clear(own, why, cx);
            }
        }
    }

    /// Looks at a call again when nothing may have crossed it for too long.
    fn await_silence(&mut self, own: Handle, cx: &mut Context<'_>) {
        let Some(idle) = self.config.idle else {
            return;
        };
        if let Some(call) = self.calls.get(own) {
            let token = Token { session: own, kind: IDLE };
            let deadline = call.last + idle;
            cx.set_timer(&mut call.timer, token, deadline);
        }
    }

    /// It is time to look whether something has crossed a call.
    fn look_at_silence(&mut self, own: Handle, cx: &mut Context<'_>) {
        let idle = self.config.idle;
        let Some(call) = self.calls.get(own) else {
            return;
        };
        if idle.is_some_and(|idle| cx.now() >= call.last + idle) {
            let why = cleared(cause::CLEAR_LOCAL, diagnostic::TIMER);
            self.clear(own, why, cx);
        } else {
            self.await_silence(own, cx);
        }
    }

    /// Clears a call at both ends.
    fn clear(&mut self, own: Handle, why: x25::PacketCause, cx: &mut Context<'_>) {
        let Some(call) = self.calls.get(own) else {
            return;
        };
        for side in [0, 1] {
            call.half(side).end(why, None, half_handle(own, side), cx);
        }
        if call.permanent.is_none() {
            self.told_cleared(own, None, (why, None), cx);
        }
        self.forget(own, cx);
    }

    /// Takes no more calls, and clears those that there are.
    fn close(&mut self, cx: &mut Context<'_>) {
        self.is_closed = true;
        let why = cleared(cause::CLEAR_OUT_OF_ORDER, diagnostic::NONE);
        for own in self.calls.handles() {
            self.clear(own, why, cx);
        }
        for (port, number) in self.ports.iter_mut().zip(0_u16..) {
            if let Some(session) = port.listener.take() {
                let (reason, data) = (Reason::User, None);
                cx.down(Below(number), Request::Abort { session, reason, data });
            }
        }
    }
}

impl Protocol for Switch {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[packets::SERVICE], below: (1, MOST_PORTS), keys: vec![kumiki_graph::Key::Only] }
    }

    fn attach(&mut self, below: Below, name: &str) -> Result<(), String> {
        if usize::from(below.0) != self.ports.len() {
            return Err("ports are connected one after the other".to_owned());
        }
        self.ports.push(Port {
            name: name.to_owned(),
            is_up: self.config.always_up.iter().any(|it| it == name),
            listener: None,
        });
        Ok(())
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        for (_, port) in self.ports.iter().zip(0_u16..) {
            Self::listen(port, cx);
        }
        self.join_all(cx);
    }

    fn push(&mut self, _: Above, _: Request, cx: &mut Context<'_>) {
        cx.drop("a switch has no users");
    }

    fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Offered(offered) => self.offered(from.0, *offered, cx),
            Indication::Opened(opened) if opened.user.index & LISTENER != 0 => {
                if let Some(port) = self.ports.get_mut(usize::from(from.0)) {
                    port.listener = Some(opened.provider);
                }
            }
            Indication::Opened(opened) => self.opened(*opened, cx),
            Indication::Data { session, data, end } => {
                let (own, side) = call_of(session);
                match self.calls.get(own) {
                    Some(call) => {
                        let bits = (false, false);
                        call.data(side, data, end, bits, &mut self.counters, cx);
                    }
                    None => cx.drop("no such call"),
                }
            }
            Indication::Credit { session, credit } => {
                let (own, side) = call_of(session);
                if let Some(call) = self.calls.get(own) {
                    call.credit(side, credit.messages, cx);
                }
            }
            Indication::Special { session, what } => self.special(session, what, cx),
            Indication::Expedited { session, data } => {
                let (own, side) = call_of(session);
                match self.calls.get(own) {
                    Some(call) => {
                        self.counters.interrupts += 1;
                        call.interrupt(side, data, cx);
                    }
                    None => cx.drop("no such call"),
                }
            }
            Indication::Reset { session, reason } => {
                let (own, side) = call_of(session);
                self.was_reset(own, side, reason, cx);
            }
            Indication::Aborted { session, reason, data } => {
                if session.index & LISTENER == 0 {
                    let (own, side) = call_of(session);
                    self.ended(own, side, reason, data, cx);
                }
            }
            Indication::Closed { session } => {
                let (own, side) = call_of(session);
                self.ended(own, side, Reason::Down, None, cx);
            }
            Indication::Report(report) => self.report(from.0, &report, cx),
            Indication::Unit(_) | Indication::Released { .. } | Indication::Notice { .. } => {
                cx.drop("no packet layer says this");
            }
        }
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        if token.kind == RETRY {
            self.join(token.session, cx);
        } else if token == CLOSE {
            self.close(cx);
        } else if token == CLEAR {
            self.clear_sent_away(cx);
        } else if token.kind == IDLE {
            self.look_at_silence(token.session, cx);
        }
    }
}
