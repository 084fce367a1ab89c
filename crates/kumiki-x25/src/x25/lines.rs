//! What is below: links that are set up and restarted, and connections that carry one circuit each.

use core::net::SocketAddr;
use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::{
    Above, Accept, Address, Context, Credit, Duration, Handle, Indication, Mode, Offered, Open, Opened, Reason, Report,
    Request, TimerSlot, Token, Unit,
};
use kumiki_octets::Message;
use kumiki_osi_service::x25::{Call, CauseField, Modulo, cause, diagnostic};
use kumiki_wire::x25::x25::{Body, Packet};

use super::circuit::Circuit;
use super::states::{D, P, R};
use super::{BELOW, Entry, PacketCarrier, Role, X25, better, told};

/// The kind of the token of a line's timer; smaller ones are circuits'.
pub(super) const TIMER: u32 = 16;

/// Packets that may wait for a line, beyond those of its channels.
const FEW: usize = 64;

/// The most connections that carry a circuit each.
const MOST_LINES: usize = 4096;

/// What carries packets.
#[derive(Debug)]
pub(super) struct Line {
    own: Handle,
    /// The handle of the layer below.
    pub(super) lower: Handle,
    pub(super) r: R,
    /// Where the peer of the connection is that carries a circuit.
    pub(super) peer: Option<SocketAddr>,
    pub(super) role: Role,
    /// Whether it was asked for and has not been confirmed.
    opening: bool,
    /// Packets that the layer below takes.
    credit: u32,
    queue: VecDeque<Message>,
    /// Packets that came and that the layer below was not granted again.
    owed: u32,
    pub(super) channels: BTreeMap<u16, Handle>,
    /// The most octets of a packet.
    pub(super) unit: u32,
    tries: u8,
    timer: TimerSlot,
    /// What was wrong with the packet of no circuit that was discarded last.
    pub(super) let_be: Option<Reason>,
}

impl X25 {
    pub(super) fn add_line(&mut self) -> Handle {
        let own = self.lines.insert(Line {
            own: Handle::default(),
            lower: Handle::default(),
            r: R::Down,
            peer: None,
            role: self.config.role.unwrap_or(Role::Dte),
            opening: false,
            credit: 0,
            queue: VecDeque::new(),
            owed: 0,
            channels: BTreeMap::new(),
            unit: u32::MAX,
            tries: 0,
            timer: TimerSlot::default(),
            let_be: None,
        });
        if let Some(line) = self.lines.get(own) {
            line.own = own;
        }
        own
    }

    /// Where the peer of the connection is that carries a circuit.
    pub(super) fn peer(&mut self, line: Handle) -> Option<SocketAddr> {
        self.lines.get(line).and_then(|line| line.peer)
    }

    /// Our side of the interface.
    pub(super) fn role(&mut self, line: Handle) -> Role {
        self.lines.get(line).map_or(Role::Dte, |line| line.role)
    }

    /// Whether calls can be made on it.
    pub(super) fn is_ready(&mut self, line: Handle) -> bool {
        self.lines.get(line).is_some_and(|line| line.r == R::Ready)
    }

    fn set_timer(line: &mut Line, time: Duration, cx: &mut Context<'_>) {
        let session = line.own;
        let kind = TIMER;
        let deadline = cx.now() + time;
        cx.set_timer(&mut line.timer, Token { session, kind }, deadline);
    }

    /// Asks for the link.
    pub(super) fn open_line(&mut self, line: Handle, cx: &mut Context<'_>) {
        let Some(it) = self.lines.get(line) else {
            return;
        };
        it.opening = true;
        cx.clear_timer(&mut it.timer);
        let open = Open { user: line, ..Open::default() };
        cx.down(BELOW, Request::Open(Box::new(open)));
        self.watch_pending(cx);
    }

    /// While the link is asked for, or an interface is down that nobody asks for, which may take for ever, calls wait
    /// for T21.
    pub(super) fn watch_pending(&mut self, cx: &mut Context<'_>) {
        let (own, over) = (self.line, self.config.over);
        if let Some((until, ..)) = self.pending.front()
            && let Some(line) = self.lines.get(own)
            && line.r == R::Down
            && (line.opening || over == PacketCarrier::Frames)
        {
            let left = until.saturating_since(cx.now());
            Self::set_timer(line, left, cx);
        }
    }

    /// Refuses the calls that have waited for T21.
    fn refuse_pending(&mut self, cx: &mut Context<'_>) {
        while let Some((until, above, open)) = self.pending.pop_front() {
            if until > cx.now() {
                self.pending.push_front((until, above, open));
                break;
            }
            self.counters.timeouts += 1;
            Self::refuse(above, open.user, Reason::TimedOut, cx);
        }
        self.watch_pending(cx);
    }

    /// Asks for a connection of its own for a circuit.
    pub(super) fn open_circuit_line(&mut self, remote: Address, channel: Option<u16>, cx: &mut Context<'_>) -> Handle {
        let line = self.add_line();
        if let Some(it) = self.lines.get(line) {
            it.opening = true;
        }
        let call = channel.map(|_| Box::new(Call { channel, ..Call::default() }));
        let open = Open { user: line, remote, parameters: call.into(), ..Open::default() };
        cx.down(BELOW, Request::Open(Box::new(open)));
        line
    }

    /// Listens for connections, once.
    pub(super) fn listen_below(&mut self, cx: &mut Context<'_>) {
        let listens = self.config.over == PacketCarrier::Circuits || self.on_demand();
        if !listens || self.listens.is_some() {
            return;
        }
        // A line's handle that no line has: it is known by being this.
        let user = Handle { index: u32::MAX, generation: 1 };
        self.listens = Some(user);
        let open = Open { user, mode: Mode::Passive { backlog: 64 }, ..Open::default() };
        cx.down(BELOW, Request::Open(Box::new(open)));
    }

    pub(super) fn line_opened(&mut self, opened: &Opened, cx: &mut Context<'_>) {
        let own = opened.user;
        let Some(line) = self.lines.get(own) else {
            return;
        };
        line.lower = opened.provider;
        line.unit = opened.unit;
        line.peer = opened.remote.socket();
        // What came late for an earlier link is not this one's.
        (line.credit, line.owed) = (0, 0);
        self.line_up(own, cx);
    }

    /// Whether the link is there only while there are calls.
    pub(super) fn on_demand(&self) -> bool {
        self.config.over == PacketCarrier::Link && !self.config.idle.is_zero()
    }

    /// The peer has set up the link, which we have not asked for.
    fn link_offered(&mut self, offered: &Offered, cx: &mut Context<'_>) {
        let own = self.line;
        if let Some(line) = self.lines.get(own) {
            line.lower = offered.provider;
            line.unit = offered.unit;
            (line.credit, line.owed) = (0, 0);
        }
        let accept = Accept { session: offered.provider, user: own, ..Accept::default() };
        cx.down(BELOW, Request::Accept(Box::new(accept)));
        self.line_up(own, cx);
    }

    /// Asks for the link, where calls wait and nobody has.
    pub(super) fn demand_line(&mut self, cx: &mut Context<'_>) {
        let own = self.line;
        let rests = |line: &mut Line| line.r == R::Down && !line.opening;
        if self.on_demand() && self.lines.get(own).is_some_and(rests) {
            self.open_line(own, cx);
        }
    }

    /// Waits for a call, where there is none; see [`super::Config::idle`].
    pub(super) fn await_idle(&mut self, own: Handle, cx: &mut Context<'_>) {
        let (on_demand, idle) = (self.on_demand(), self.config.idle);
        if let Some(line) = self.lines.get(own)
            && on_demand
            && line.r == R::Ready
            && line.channels.is_empty()
        {
            Self::set_timer(line, idle, cx);
        }
    }

    /// There has been no call for long: the link is ended.
    fn end_link(&mut self, own: Handle, cx: &mut Context<'_>) {
        self.counters.links_ended += 1;
        let Some(line) = self.lines.get(own) else {
            return;
        };
        let (session, reason, data) = (line.lower, Reason::User, None);
        line.r = R::Down;
        line.lower = Handle::default();
        line.queue.clear();
        (line.credit, line.owed) = (0, 0);
        cx.down(BELOW, Request::Abort { session, reason, data });
    }

    pub(super) fn line_offered(&mut self, offered: &Offered, cx: &mut Context<'_>) {
        if self.on_demand() {
            return self.link_offered(offered, cx);
        }
        if self.config.over != PacketCarrier::Circuits || self.lines.len() >= MOST_LINES {
            let (session, reason, data) = (offered.provider, Reason::NoResources, None);
            cx.down(BELOW, Request::Abort { session, reason, data });
            return;
        }
        let own = self.add_line();
        if let Some(line) = self.lines.get(own) {
            line.lower = offered.provider;
            line.unit = offered.unit;
            line.peer = offered.remote.socket();
        }
        let accept = Accept { session: offered.provider, user: own, ..Accept::default() };
        cx.down(BELOW, Request::Accept(Box::new(accept)));
        self.line_up(own, cx);
        if let Some(channel) = offered.parameters.get::<Call>().and_then(|call| call.channel) {
            self.permanent_line(own, channel, cx);
        } else {
            let t21 = self.config.t21;
            if let Some(line) = self.lines.get(own) {
                Self::set_timer(line, t21, cx);
            }
        }
    }

    /// What is below carries packets.
    pub(super) fn line_up(&mut self, own: Handle, cx: &mut Context<'_>) {
        let over = self.config.over;
        let Some(line) = self.lines.get(own) else {
            return;
        };
        line.opening = false;
        line.tries = 0;
        if over == PacketCarrier::Circuits {
            line.r = R::Ready;
            self.circuit_line_up(own, cx);
            return;
        }
        let up = (self.own_cause(own, cause::RESTART_UP), diagnostic::NONE);
        self.restart(own, up, Reason::Reset, cx);
    }

    /// Restarts the interface.
    pub(super) fn restart(&mut self, own: Handle, (cause, diagnostic): (u8, u8), reason: Reason, cx: &mut Context<'_>) {
        self.counters.restarts += 1;
        self.not_ready(own, reason, cx);
        let (t20, modulo) = (self.config.t20, self.config.modulo);
        let Some(line) = self.lines.get(own) else {
            return;
        };
        line.r = R::Restarting;
        line.tries = line.tries.saturating_add(1);
        Self::set_timer(line, t20, cx);
        let diagnostic = Some(diagnostic);
        let body = Body::Restart { cause, diagnostic };
        self.send(own, of_line(modulo, body), cx);
    }

    /// RESTART has come.
    pub(super) fn peer_restarts(&mut self, own: Handle, (cause, diagnostic): (u8, u8), cx: &mut Context<'_>) {
        let (modulo, chosen, t20) = (self.config.modulo, self.config.role, self.config.t20);
        let backoff = cx.rng().below(t20.as_nanos().max(1) / 16);
        let Some(line) = self.lines.get(own) else {
            return;
        };
        let by_dte = cause == cause::DTE || cause & 0x80 != 0;
        let (collides, was_ready) = (line.r == R::Restarting, line.r == R::Ready);
        if chosen.is_none() {
            // ISO 8208 clause 4.5: who is restarted by a DTE plays the DCE's part; a network never says "DTE
            // originated".
            if by_dte && collides {
                // Neither knows who is who: one of us tries again first.
                line.r = R::Contending;
                line.tries = 0;
                Self::set_timer(line, Duration::from_nanos(backoff), cx);
                return;
            }
            line.role = if by_dte { Role::Dce } else { Role::Dte };
        }
        if collides {
            // Two that restart confirm each other.
            self.ready(own, cx);
            return;
        }
        self.counters.restarts += 1;
        let reason = told(CauseField::Restart, cause, diagnostic);
        self.end_calls(own, reason, was_ready, cx);
        self.send(own, of_line(modulo, Body::RestartConfirmation), cx);
        self.ready(own, cx);
    }

    /// RESTART CONFIRMATION has come.
    pub(super) fn restart_confirmed(&mut self, own: Handle, cx: &mut Context<'_>) {
        let chosen = self.config.role;
        let Some(line) = self.lines.get(own) else {
            return;
        };
        match line.r {
            R::Restarting => {
                // ISO 8208 clause 4.5: who is confirmed stays a DTE.
                line.role = chosen.unwrap_or(Role::Dte);
                self.ready(own, cx);
            }
            R::Ready => {
                self.counters.errors += 1;
                cx.drop("restart confirmed without a request");
                let cause = self.own_cause(own, cause::RESTART_LOCAL);
                let why = self.breach(diagnostic::R1);
                self.restart(own, (cause, diagnostic::R1), why, cx);
            }
            R::Down | R::Contending => {}
        }
    }

    /// The interface is ready: r1.
    fn ready(&mut self, own: Handle, cx: &mut Context<'_>) {
        let Some(line) = self.lines.get(own) else {
            return;
        };
        line.r = R::Ready;
        line.tries = 0;
        line.let_be = None;
        cx.clear_timer(&mut line.timer);
        let circuits: Vec<Handle> = line.channels.values().copied().collect();
        for handle in circuits {
            if let Some(circuit) = self.circuit(handle) {
                circuit.begin(cx);
            }
        }
        if !self.on_demand() {
            tell_all(&Report::Up, cx);
        }
        for (_, above, open) in core::mem::take(&mut self.pending) {
            self.call(above, open, cx);
        }
        self.await_idle(own, cx);
    }

    /// All calls of a line end for `reason`; its permanent circuits are reset, of which their users hear where the
    /// interface `was_ready`: otherwise they have heard it, and could do nothing since.
    fn end_calls(&mut self, own: Handle, reason: Reason, was_ready: bool, cx: &mut Context<'_>) {
        let Some(line) = self.lines.get(own) else {
            return;
        };
        line.queue.clear();
        let circuits: Vec<Handle> = line.channels.values().copied().collect();
        for handle in circuits {
            let Some(circuit) = self.circuit(handle) else {
                continue;
            };
            circuit.stop_all(cx);
            circuit.out.clear();
            if !circuit.permanent {
                circuit.aborted(reason.clone(), None, cx);
                self.remove_circuit(handle, cx);
                continue;
            }
            circuit.empty(cx);
            circuit.d = D::Flow;
            circuit.then_resets = None;
            let Some(session) = circuit.user else {
                continue;
            };
            if core::mem::take(&mut circuit.user_resets) {
                // It is what the user has asked for, and there is no answer to its confirm.
                let reason = Reason::User;
                circuit.up(Indication::Reset { session, reason }, cx);
            } else if was_ready && !core::mem::replace(&mut circuit.unanswered, true) {
                circuit.up(Indication::Reset { session, reason: reason.clone() }, cx);
            }
        }
    }

    /// The layer below says that the link has been reset.
    pub(super) fn line_reset(&mut self, own: Handle, why: Reason, cx: &mut Context<'_>) {
        let Some(line) = self.lines.get(own) else {
            return;
        };
        (line.credit, line.owed) = (0, 0);
        line.queue.clear();
        let (session, reason) = (line.lower, Reason::Reset);
        cx.down(BELOW, Request::Reset { session, reason });
        if self.config.over == PacketCarrier::Link {
            let said = (self.own_cause(own, cause::RESTART_UP), diagnostic::NONE);
            // What the link has found wrong is why calls end; that it was reset is enough for them otherwise.
            let why = if why.is_told() { why } else { Reason::Reset };
            self.restart(own, said, why, cx);
        }
    }

    pub(super) fn line_aborted(&mut self, own: Handle, reason: Reason, cx: &mut Context<'_>) {
        if self.listens == Some(own) {
            self.listens = None;
            return;
        }
        let Some(line) = self.lines.get(own) else {
            return;
        };
        cx.clear_timer(&mut line.timer);
        line.owed = 0;
        line.lower = Handle::default();
        if self.config.over == PacketCarrier::Circuits {
            let circuits: Vec<Handle> = line.channels.values().copied().collect();
            self.lines.remove(own);
            for handle in circuits {
                if let Some(circuit) = self.circuit(handle) {
                    circuit.lost(reason.clone(), cx);
                }
                self.remove_circuit(handle, cx);
            }
            return;
        }
        self.line_down(own, reason, cx);
        let (reopen, on_demand) = (self.config.reopen, self.on_demand());
        if let Some(line) = self.lines.get(own).filter(|_| !on_demand) {
            Self::set_timer(line, reopen, cx);
        }
    }

    /// Nothing can be sent.
    fn line_down(&mut self, own: Handle, reason: Reason, cx: &mut Context<'_>) {
        self.not_ready(own, reason.clone(), cx);
        let Some(line) = self.lines.get(own) else {
            return;
        };
        cx.clear_timer(&mut line.timer);
        line.r = R::Down;
        line.opening = false;
        line.credit = 0;
        for (_, above, open) in core::mem::take(&mut self.pending) {
            Self::refuse(above, open.user, reason.clone(), cx);
        }
    }

    /// The interface is ready no longer: users hear that before their calls end, so that none of them calls again here
    /// at once.
    fn not_ready(&mut self, own: Handle, reason: Reason, cx: &mut Context<'_>) {
        let Some(line) = self.lines.get(own) else {
            return;
        };
        let was_ready = core::mem::replace(&mut line.r, R::Down) == R::Ready;
        if was_ready && !self.on_demand() {
            tell_all(&Report::Down, cx);
        }
        self.end_calls(own, reason, was_ready, cx);
    }

    /// The connection of a circuit is not needed any more.
    pub(super) fn close_line(&mut self, own: Handle, cx: &mut Context<'_>) {
        let Some(mut line) = self.lines.remove(own) else {
            return;
        };
        cx.clear_timer(&mut line.timer);
        let reason = Reason::User;
        if line.opening {
            cx.down(BELOW, Request::Cancel { user: own });
        } else {
            let (session, data) = (line.lower, None);
            cx.down(BELOW, Request::Abort { session, reason, data });
        }
    }

    pub(super) fn line_report(&mut self, report: &Report, cx: &mut Context<'_>) {
        let own = self.line;
        match (report, self.config.over) {
            (Report::Up, PacketCarrier::Link) if !self.on_demand() => {
                let waits = |line: &mut Line| line.r == R::Down && !line.opening;
                if self.lines.get(own).is_some_and(waits) {
                    self.open_line(own, cx);
                }
            }
            (Report::Up, PacketCarrier::Frames) => {
                if self.lines.get(own).is_some_and(|line| line.r == R::Down) {
                    self.line_up(own, cx);
                }
            }
            (Report::Down, PacketCarrier::Frames) => self.line_down(own, Reason::Down, cx),
            (
                Report::Limits { .. }
                | Report::Route { .. }
                | Report::Up
                | Report::Down
                | Report::Unreachable { .. }
                | Report::Special(_),
                _,
            ) => {}
        }
    }

    /// T20 has expired, or the link is to be asked for again.
    pub(super) fn on_line_timer(&mut self, own: Handle, cx: &mut Context<'_>) {
        let (over, r20, on_demand) = (self.config.over, self.config.r20, self.on_demand());
        let Some(line) = self.lines.get(own) else {
            return;
        };
        match line.r {
            R::Down if line.opening || over == PacketCarrier::Frames => self.refuse_pending(cx),
            R::Down if on_demand => {}
            R::Down => self.open_line(own, cx),
            R::Ready if on_demand && line.channels.is_empty() => self.end_link(own, cx),
            R::Restarting if over == PacketCarrier::Link && line.tries > r20 => {
                self.counters.timeouts += 1;
                let (session, data) = (line.lower, None);
                let reason = Reason::TimedOut;
                let why = better(&mut line.let_be, reason.clone());
                cx.down(BELOW, Request::Abort { session, reason, data });
                self.line_aborted(own, why, cx);
            }
            // Nobody has called for long on a connection that was made for a call.
            R::Ready if over == PacketCarrier::Circuits && line.channels.is_empty() => {
                self.counters.timeouts += 1;
                self.close_line(own, cx);
            }
            R::Restarting | R::Contending => {
                self.counters.timeouts += 1;
                if line.tries > r20 {
                    // The peer may be there some day; calls do not wait for that.
                    let why = better(&mut line.let_be, Reason::TimedOut);
                    for (_, above, open) in core::mem::take(&mut self.pending) {
                        Self::refuse(above, open.user, why.clone(), cx);
                    }
                }
                let tries = self.lines.get(own).map_or(0, |line| line.tries);
                let code = if over == PacketCarrier::Frames || tries > 0 {
                    diagnostic::TIMER_RESTART
                } else {
                    diagnostic::NONE
                };
                let why = (self.own_cause(own, cause::RESTART_LOCAL), code);
                self.restart(own, why, Reason::Reset, cx);
            }
            R::Ready => {}
        }
    }

    /// The cause that we say for what a network calls `network`: a DTE has only one, also one that plays the DCE's part
    /// towards another (ISO 8208 clause 4.5). By that the other knows at the next restart that it has no network before
    /// it.
    pub(super) fn own_cause(&mut self, line: Handle, network: u8) -> u8 {
        match self.role(line) {
            Role::Dce if self.config.role.is_some() => network,
            Role::Dte | Role::Dce => cause::DTE,
        }
    }

    /// The cause that we say where our user passes on one that it was told elsewhere.
    pub(super) fn passed_cause(&mut self, line: Handle, told: u8) -> u8 {
        match (self.config.over, self.role(line)) {
            (PacketCarrier::Circuits, _) | (_, Role::Dce) => told,
            (PacketCarrier::Link | PacketCarrier::Frames, Role::Dte) if told == cause::DTE => told,
            // X.25 section 5.2.3.1.1: what is not of this DTE itself has the upper bit.
            (PacketCarrier::Link | PacketCarrier::Frames, Role::Dte) => told | 0x80,
        }
    }

    pub(super) fn line_credit(&mut self, own: Handle, messages: u32, cx: &mut Context<'_>) {
        let Some(line) = self.lines.get(own) else {
            return;
        };
        line.credit = line.credit.saturating_add(messages);
        while line.credit > 0
            && let Some(data) = line.queue.pop_front()
        {
            line.credit -= 1;
            let (session, end) = (line.lower, true);
            cx.down(BELOW, Request::Data { session, data, end });
        }
        self.repay(own, cx);
    }

    /// A packet was taken from the layer below.
    pub(super) fn took(&mut self, own: Handle, cx: &mut Context<'_>) {
        if let Some(line) = self.lines.get(own) {
            line.owed = line.owed.saturating_add(1);
        }
        self.repay(own, cx);
    }

    /// Lets the layer below bring more, unless answers wait that a peer which reads would have taken: one that does not
    /// read is not read.
    fn repay(&mut self, own: Handle, cx: &mut Context<'_>) {
        let (wanted, default) = (self.config.wanted, self.config.default);
        let windows = [wanted, default].map(|it| usize::from(it.window_in.max(it.window_out)));
        let Some(line) = self.lines.get(own) else {
            return;
        };
        // Data and acknowledgments as the windows have them, and what else a channel says; so two that do so do not
        // wait for each other.
        let each = 2 * windows.into_iter().max().unwrap_or(0) + 8;
        let most = FEW + each * line.channels.len();
        if line.owed > 0 && line.queue.len() <= most {
            let messages = core::mem::take(&mut line.owed);
            let (session, credit) = (line.lower, Credit::messages(messages));
            cx.down(BELOW, Request::Credit { session, credit });
        }
    }

    /// Sends a packet; what finds no credit waits. [`X25::repay`] bounds how much that can be.
    pub(super) fn send(&mut self, own: Handle, data: Message, cx: &mut Context<'_>) {
        let over = self.config.over;
        let Some(line) = self.lines.get(own) else {
            return;
        };
        self.counters.sent += 1;
        if over == PacketCarrier::Frames {
            cx.down(BELOW, Request::Unit(Box::new(Unit::of(data))));
        } else if line.credit > 0 && line.queue.is_empty() {
            line.credit -= 1;
            let (session, end) = (line.lower, true);
            cx.down(BELOW, Request::Data { session, data, end });
        } else {
            line.queue.push_back(data);
        }
    }

    /// The circuit that a packet on `channel` belongs to; a connection of its own has only one, whatever the number.
    pub(super) fn circuit_on(&mut self, own: Handle, channel: u16) -> Option<Handle> {
        let over = self.config.over;
        let line = self.lines.get(own)?;
        if over == PacketCarrier::Circuits {
            line.channels.values().next().copied()
        } else {
            line.channels.get(&channel).copied()
        }
    }

    /// A connection carries a permanent virtual circuit from now on: both sides reset it (RFC 1613 section 6.5).
    pub(super) fn permanent_line(&mut self, own: Handle, channel: u16, cx: &mut Context<'_>) {
        let waiting = |entry: &Entry| matches!(entry, Entry::Circuit(it) if it.permanent && it.channel == channel);
        if self.entries.find(waiting).is_some() {
            // It has its connection, or has asked for it.
            return self.close_line(own, cx);
        }
        let mut circuit = Circuit::new(own, channel, P::Transfer, self.config.default);
        circuit.permanent = true;
        circuit.flow.modulo = self.config.modulo;
        let handle = self.add_circuit(circuit);
        self.reset(handle, diagnostic::NONE, Reason::User, cx);
        // Who wants it need not wait until it asks again.
        tell_all(&Report::Up, cx);
    }
}

/// A packet of no channel.
pub(super) fn of_line(modulo: Modulo, body: Body) -> Message {
    let packet = Packet { qualified: false, delivery: false, modulo, channel: 0, body };
    Message::from_octets(&packet.to_vec())
}

pub(super) fn tell_all(report: &Report, cx: &mut Context<'_>) {
    for user in 0..cx.users() {
        cx.up(Above(user), Indication::Report(Box::new(report.clone())));
    }
}
