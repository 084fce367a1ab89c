//! One virtual circuit: its states, and data on it.

use kumiki_graph::Special;
use std::collections::VecDeque;

use kumiki_graph::{Above, Context, Credit, Duration, Handle, Indication, Reason, TimerSlot, Token};
use kumiki_octets::Message;
use kumiki_osi_service::x25::{FastSelect, Flow, Number, Primitive, diagnostic};
use kumiki_wire::x25::x25::{Body, Packet};

use super::states::{D, P};
use super::{Config, Counters, Role, better};

/// The timers of a circuit; their numbers are the kinds of their tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Timer {
    /// T21, T22, T23: an answer to CALL, RESET or CLEAR.
    Control = 1,
    /// T24: an acknowledgment has waited.
    Status,
    /// T25: data is not acknowledged.
    Window,
    /// T26: an interrupt is not confirmed.
    Interrupt,
    /// T27: what REJ asked for has not come.
    Reject,
}

impl Timer {
    pub(super) const fn of(token: Token) -> Option<Self> {
        match token.kind {
            1 => Some(Self::Control),
            2 => Some(Self::Status),
            3 => Some(Self::Window),
            4 => Some(Self::Interrupt),
            5 => Some(Self::Reject),
            _ => None,
        }
    }
}

#[derive(Debug, Default)]
struct Slots([TimerSlot; 5]);

/// A data packet.
#[derive(Clone, Debug)]
struct Item {
    data: Message,
    more: bool,
    qualified: bool,
    delivery: bool,
}

/// A sequence of packets of which the last is not full yet.
#[derive(Debug)]
struct Part {
    data: Message,
    qualified: bool,
    delivery: bool,
}

/// The variables of data transfer, which start over with each reset.
#[derive(Debug, Default)]
struct Variables {
    /// P(S) of the next packet.
    ps: u8,
    /// The last P(R) that has come: the lower edge of the window.
    edge: u8,
    /// One past the largest P(S) sent.
    high: u8,
    /// What is not acknowledged, and behind it what was not sent yet.
    queue: VecDeque<Item>,
    part: Option<Part>,
    granted: u32,
    peer_busy: bool,
    /// P(S) of the next packet to come.
    expected: u8,
    /// P(R) as our user's room has it: all before it was handed up, and confirmed where that was asked for.
    taken: u8,
    /// The last P(R) told.
    told: u8,
    told_busy: bool,
    inbox: VecDeque<Item>,
    /// Of each packet handed up and not in `taken`: whether the user is to confirm it.
    unconfirmed: VecDeque<bool>,
    /// Messages that the user would take.
    wanted: u32,
    /// Q of the packets before in the sequence that comes.
    q_in: Option<bool>,
    /// The same, of what was handed up: what REJ gives back is gone from `q_in` as well.
    q_up: Option<bool>,
    status_runs: bool,
    rejecting: bool,
    /// REJ has still to be sent, once the user has confirmed what it has.
    rej_waits: bool,
    rejects: u8,
    interrupts: VecDeque<Message>,
    interrupted: bool,
    /// An interrupt has come that the user has not confirmed.
    unanswered_interrupt: bool,
}

/// The most interrupts that wait for the one in progress.
const MOST_INTERRUPTS: usize = 16;

/// A virtual circuit.
#[derive(Debug)]
pub(super) struct Circuit {
    /// The line that it is on, and its channel there.
    pub(super) line: Handle,
    pub(super) channel: u16,
    pub(super) permanent: bool,
    pub(super) p: P,
    pub(super) d: D,
    pub(super) above: Above,
    /// The user's handle, once it has told one.
    pub(super) user: Option<Handle>,
    /// The listener that was asked.
    pub(super) listener: Option<Handle>,
    pub(super) flow: Flow,
    pub(super) local: Number,
    pub(super) remote: Number,
    pub(super) fast_select: FastSelect,
    /// Whether the user knows the D bit.
    pub(super) delivery: bool,
    /// Whether the user relays: interrupts are confirmed by it, and so is D, always.
    pub(super) relays: bool,
    /// Whether packet sizes and windows were in the peer's call.
    pub(super) negotiates: (bool, bool),
    /// What the user of a call that we make asks for, until it goes out.
    pub(super) call: Option<Box<Packet>>,
    /// Messages that the user has room for after a reset.
    pub(super) receive: u32,
    /// Whether the user is to answer a reset of ours.
    pub(super) unanswered: bool,
    /// Whether the user has asked for the reset that goes on.
    pub(super) user_resets: bool,
    /// The reset that the user of a permanent circuit has asked for during one of ours, and that says something of its
    /// own.
    pub(super) then_resets: Option<Reason>,
    pub(super) tries: u8,
    /// The cause and diagnostic of the CLEAR or RESET that is not confirmed.
    pub(super) said: (u8, u8),
    pub(super) own: Handle,
    /// What was wrong with the packet that was discarded last, where none was taken since.
    pub(super) let_be: Option<Reason>,
    v: Variables,
    slots: Slots,
    /// Packets for the line.
    pub(super) out: Vec<Message>,
}

impl Circuit {
    pub(super) fn new(line: Handle, channel: u16, p: P, flow: Flow) -> Self {
        Self {
            line,
            channel,
            permanent: false,
            p,
            d: D::Flow,
            above: Above(0),
            user: None,
            listener: None,
            flow,
            local: Number::NONE,
            remote: Number::NONE,
            fast_select: FastSelect::None,
            delivery: false,
            relays: false,
            negotiates: (false, false),
            call: None,
            receive: flow.window_in.into(),
            unanswered: false,
            user_resets: false,
            then_resets: None,
            tries: 0,
            said: (0, 0),
            own: Handle::default(),
            let_be: None,
            v: Variables::default(),
            slots: Slots::default(),
            out: Vec::new(),
        }
    }

    /// A packet of this circuit.
    pub(super) const fn packet(&self, body: Body) -> Packet {
        Packet { qualified: false, delivery: false, modulo: self.flow.modulo, channel: self.channel, body }
    }

    pub(super) fn send(&mut self, body: Body) {
        let packet = self.packet(body);
        self.out.push(Message::from_octets(&packet.to_vec()));
    }

    pub(super) fn up(&self, indication: Indication, cx: &mut Context<'_>) {
        cx.up(self.above, indication);
    }

    pub(super) fn start(&mut self, timer: Timer, time: Duration, cx: &mut Context<'_>) {
        if time.is_zero() {
            return;
        }
        let token = Token { session: self.own, kind: timer as u32 };
        let deadline = cx.now() + time;
        if let Some(slot) = self.slots.0.get_mut(timer as usize - 1) {
            cx.set_timer(slot, token, deadline);
        }
    }

    pub(super) fn stop(&mut self, timer: Timer, cx: &mut Context<'_>) {
        if let Some(slot) = self.slots.0.get_mut(timer as usize - 1) {
            cx.clear_timer(slot);
        }
    }

    pub(super) fn stop_all(&mut self, cx: &mut Context<'_>) {
        for slot in &mut self.slots.0 {
            cx.clear_timer(slot);
        }
    }

    /// Data transfer begins, or starts over.
    pub(super) fn begin(&mut self, cx: &mut Context<'_>) {
        self.empty(cx);
        if self.unanswered || self.d != D::Flow || self.user.is_none() {
            return;
        }
        self.v.wanted = self.receive;
        self.grant(cx);
    }

    /// Whatever was in progress is gone.
    pub(super) fn empty(&mut self, cx: &mut Context<'_>) {
        for timer in [Timer::Status, Timer::Window, Timer::Interrupt, Timer::Reject] {
            self.stop(timer, cx);
        }
        self.v = Variables::default();
    }

    /// Whether the user may send and hear data.
    const fn flows(&self) -> bool {
        matches!((self.p, self.d), (P::Transfer, D::Flow)) && !self.unanswered
    }

    fn grant(&mut self, cx: &mut Context<'_>) {
        let Some(session) = self.user.filter(|_| self.flows()) else {
            return;
        };
        let held = u32::try_from(self.v.queue.len()).unwrap_or(u32::MAX);
        let room = u32::from(self.flow.window_out).saturating_sub(held);
        let messages = room.saturating_sub(self.v.granted);
        if messages > 0 {
            self.v.granted += messages;
            let credit = Credit::messages(messages);
            self.up(Indication::Credit { session, credit }, cx);
        }
    }

    /// The user sends data; messages longer than a packet become several.
    pub(super) fn on_data_request(
        &mut self,
        data: Message,
        end: bool,
        (qualified, delivery): (bool, bool),
        cx: &mut Context<'_>,
    ) {
        if !self.flows() {
            return cx.drop("data on a channel that is not ready");
        }
        let Some(granted) = self.v.granted.checked_sub(1) else {
            return cx.drop("data without credit");
        };
        self.v.granted = granted;
        let mut part = match self.v.part.take() {
            Some(mut part) => {
                part.data.append(data);
                part.delivery |= delivery;
                part
            }
            None => Part { data, qualified, delivery },
        };
        let most = usize::from(self.flow.packet_out);
        let (qualified, delivery) = (part.qualified, part.delivery);
        while part.data.len() > most || (part.data.len() == most && !end && !delivery) {
            let Ok(data) = part.data.split_to(most) else {
                break;
            };
            let more = true;
            self.v.queue.push_back(Item {
                data,
                more,
                qualified,
                // D asks for the whole sequence, by its last packet.
                delivery: false,
            });
        }
        if end || delivery {
            // What is to be confirmed does not wait for more.
            let (data, more) = (part.data, !end);
            self.v.queue.push_back(Item { data, more, qualified, delivery });
        } else if !part.data.is_empty() {
            // Only a full packet may say that more follows.
            self.v.part = Some(part);
        }
        self.grant(cx);
    }

    /// Sends what the window lets go.
    pub(super) fn pump(&mut self, config: &Config, counters: &mut Counters, cx: &mut Context<'_>) {
        let modulo = self.flow.modulo;
        while self.flows() && !self.v.peer_busy {
            let sent = modulo.distance(self.v.edge, self.v.ps);
            if sent >= self.flow.window_out {
                return;
            }
            let Some(item) = self.v.queue.get(sent.into()) else {
                return;
            };
            let (ps, pr) = (self.v.ps, self.v.taken);
            let mut packet = self.packet(Body::Data { ps, pr, more: item.more });
            packet.qualified = item.qualified;
            packet.delivery = item.delivery;
            let mut data = item.data.clone();
            packet.emit(data.push_header(packet.len()));
            self.out.push(data);
            counters.data_sent += 1;
            self.v.ps = modulo.next(ps);
            if modulo.distance(self.v.edge, self.v.high) > sent {
                counters.data_again += 1;
            } else {
                self.v.high = self.v.ps;
            }
            if sent == 0 {
                self.start(Timer::Window, config.t25, cx);
            }
            // RNR alone says that we are busy, and DATA would take it back for some peers; so it is said again when
            // that matters.
            self.told_pr(cx);
        }
    }

    /// P(R) has been told.
    fn told_pr(&mut self, cx: &mut Context<'_>) {
        self.v.told = self.v.taken;
        if core::mem::take(&mut self.v.status_runs) {
            self.stop(Timer::Status, cx);
        }
    }

    /// How many packets P(R) acknowledges.
    ///
    /// # Errors
    /// The diagnostic code where it acknowledges what was not sent.
    const fn acknowledges(&self, pr: u8) -> Result<u8, u8> {
        let modulo = self.flow.modulo;
        let count = modulo.distance(self.v.edge, pr);
        if count > modulo.distance(self.v.edge, self.v.high) {
            return Err(diagnostic::PR);
        }
        Ok(count)
    }

    /// P(R) has come with a packet that is taken.
    ///
    /// # Errors
    /// As [`Circuit::acknowledges`].
    fn acknowledged(&mut self, pr: u8, config: &Config, cx: &mut Context<'_>) -> Result<(), u8> {
        let modulo = self.flow.modulo;
        let count = self.acknowledges(pr)?;
        if count == 0 {
            return Ok(());
        }
        if modulo.distance(self.v.edge, self.v.ps) < count {
            self.v.ps = pr;
        }
        self.v.edge = pr;
        let mut packets = 0;
        for _ in 0..count {
            let done = self.v.queue.pop_front();
            packets += u32::from(done.is_some_and(|item| item.delivery));
        }
        if self.v.edge == self.v.high {
            self.stop(Timer::Window, cx);
        } else {
            self.start(Timer::Window, config.t25, cx);
        }
        if let Some(session) = self.user.filter(|_| packets > 0 && self.confirms()) {
            let what = Special::new(Primitive::Confirm { packets });
            self.up(Indication::Special { session, what }, cx);
        }
        self.grant(cx);
        Ok(())
    }

    /// RR, RNR or REJ has come.
    ///
    /// # Errors
    /// The diagnostic code of what is wrong.
    pub(super) fn on_flow(&mut self, body: &Body, config: &Config, cx: &mut Context<'_>) -> Result<(), u8> {
        match *body {
            Body::Rr(pr) => {
                self.acknowledged(pr, config, cx)?;
                if core::mem::take(&mut self.v.peer_busy) && self.v.edge != self.v.high {
                    // What it had no room for has the whole time again.
                    self.start(Timer::Window, config.t25, cx);
                }
            }
            Body::Rnr(pr) => {
                self.acknowledged(pr, config, cx)?;
                self.v.peer_busy = true;
            }
            Body::Rej(_) if !config.reject => return Err(diagnostic::REJECT),
            Body::Rej(pr) => {
                self.acknowledged(pr, config, cx)?;
                self.v.peer_busy = false;
                self.v.ps = pr;
            }
            Body::Call(_)
            | Body::Accepted(_)
            | Body::Clear { .. }
            | Body::ClearConfirmation(_)
            | Body::Data { .. }
            | Body::Interrupt
            | Body::InterruptConfirmation
            | Body::Reset { .. }
            | Body::ResetConfirmation
            | Body::Restart { .. }
            | Body::RestartConfirmation
            | Body::Diagnostic { .. }
            | Body::Registration(..) => {}
        }
        Ok(())
    }

    /// DATA has come; `data` is its user data.
    ///
    /// # Errors
    /// The diagnostic code of what is wrong.
    pub(super) fn on_data(
        &mut self,
        packet: &Packet,
        data: Message,
        config: &Config,
        counters: &mut Counters,
        cx: &mut Context<'_>,
    ) -> Result<(), u8> {
        let Body::Data { ps, pr, more } = packet.body else {
            return Ok(());
        };
        let modulo = self.flow.modulo;
        // All is looked at before anything is believed: of a packet that resets the channel, P(R) confirms nothing to
        // our user.
        self.acknowledges(pr)?;
        let inside = modulo.distance(self.v.told, ps) < self.flow.window_in;
        if ps != self.v.expected || !inside {
            self.out_of_sequence(config, cx)?;
            return self.acknowledged(pr, config, cx);
        }
        let most = usize::from(self.flow.packet_in);
        if data.len() > most {
            return Err(diagnostic::LONG);
        }
        if more && !packet.delivery && data.len() < most {
            return Err(diagnostic::M_BIT);
        }
        if self.v.q_in.is_some_and(|q| q != packet.qualified) {
            return Err(diagnostic::Q_BIT);
        }
        self.acknowledged(pr, config, cx)?;
        self.v.q_in = more.then_some(packet.qualified);
        self.v.expected = modulo.next(ps);
        if core::mem::take(&mut self.v.rejecting) {
            (self.v.rejects, self.v.rej_waits) = (0, false);
            self.stop(Timer::Reject, cx);
        }
        counters.data_received += 1;
        self.v.inbox.push_back(Item { data, more, qualified: packet.qualified, delivery: packet.delivery });
        self.deliver(cx);
        Ok(())
    }

    fn out_of_sequence(&mut self, config: &Config, cx: &mut Context<'_>) -> Result<(), u8> {
        if !config.reject {
            return Err(diagnostic::PS);
        }
        if self.v.rejecting {
            return Ok(());
        }
        // What waits for our user's room comes again, and so does its place in a sequence.
        self.v.inbox.clear();
        self.v.q_in = self.v.q_up;
        let modulo = self.flow.modulo;
        let up = self.v.unconfirmed.iter();
        self.v.expected = up.fold(self.v.taken, |number, _| modulo.next(number));
        self.v.rejecting = true;
        if self.v.unconfirmed.is_empty() {
            self.send_rej(config, cx);
        } else {
            // P(R) cannot stay behind what the user has not confirmed and ask for what is behind that.
            self.v.rej_waits = true;
        }
        Ok(())
    }

    fn send_rej(&mut self, config: &Config, cx: &mut Context<'_>) {
        self.send(Body::Rej(self.v.taken));
        // REJ says that we receive; where our user has no room still, RNR follows.
        self.v.told_busy = false;
        self.told_pr(cx);
        self.start(Timer::Reject, config.t27, cx);
    }

    /// A user has taken a permanent virtual circuit.
    pub(super) fn attach(&mut self, cx: &mut Context<'_>) {
        self.v.wanted = self.receive;
        self.grant(cx);
        self.deliver(cx);
    }

    /// Whether the peer has said that it cannot receive.
    pub(super) const fn peer_is_busy(&self) -> bool {
        self.v.peer_busy
    }

    /// Hands up what the user has room for.
    fn deliver(&mut self, cx: &mut Context<'_>) {
        let Some(session) = self.user.filter(|_| self.flows()) else {
            return;
        };
        while self.v.wanted > 0
            && let Some(item) = self.v.inbox.pop_front()
        {
            self.v.wanted -= 1;
            let Item { data, more, qualified, delivery } = item;
            self.v.q_up = more.then_some(qualified);
            let confirms = delivery && self.confirms();
            self.v.unconfirmed.push_back(confirms);
            let end = !more;
            let indication = if qualified || confirms {
                let what = Special::new(Primitive::Data { data, end, qualified, delivery: confirms });
                Indication::Special { session, what }
            } else {
                Indication::Data { session, data, end }
            };
            self.up(indication, cx);
        }
        self.advance();
    }

    /// Whether the user confirms what was marked with D, and is told when its own was confirmed.
    const fn confirms(&self) -> bool {
        self.delivery || self.relays
    }

    /// P(R) goes as far as the user has taken and confirmed.
    fn advance(&mut self) {
        while self.v.unconfirmed.pop_front_if(|confirms| !*confirms).is_some() {
            self.v.taken = self.flow.modulo.next(self.v.taken);
        }
    }

    /// The user has room for more.
    pub(super) fn on_credit(&mut self, messages: u32, cx: &mut Context<'_>) {
        self.v.wanted = self.v.wanted.saturating_add(messages);
        self.deliver(cx);
    }

    /// The user confirms so many packets with the D bit.
    pub(super) fn on_confirm(&mut self, packets: u32, config: &Config, cx: &mut Context<'_>) {
        let open = self.v.unconfirmed.iter_mut().filter(|it| **it);
        let count = usize::try_from(packets).unwrap_or(usize::MAX);
        open.take(count).for_each(|it| *it = false);
        self.advance();
        if self.v.unconfirmed.is_empty() && core::mem::take(&mut self.v.rej_waits) {
            self.send_rej(config, cx);
        }
    }

    /// Tells the peer what it should know: how far we are, and whether our user has room.
    pub(super) fn acknowledge(&mut self, config: &Config, cx: &mut Context<'_>) {
        if self.p != P::Transfer || self.d != D::Flow {
            return;
        }
        let busy = self.v.wanted == 0 && !self.unanswered && self.user.is_some();
        if busy != self.v.told_busy {
            self.v.told_busy = busy;
            self.send_status(cx);
            return;
        }
        let owed = self.flow.modulo.distance(self.v.told, self.v.taken);
        let half = self.flow.window_in.div_ceil(2);
        let after = config.acknowledge.unwrap_or(half);
        if owed == 0 {
            return;
        }
        if owed >= after.min(self.flow.window_in) || config.t24.is_zero() || self.delivery {
            self.send_status(cx);
        } else if !core::mem::replace(&mut self.v.status_runs, true) {
            self.start(Timer::Status, config.t24, cx);
        }
    }

    fn send_status(&mut self, cx: &mut Context<'_>) {
        let pr = self.v.taken;
        self.send(if self.v.told_busy { Body::Rnr(pr) } else { Body::Rr(pr) });
        self.told_pr(cx);
    }

    /// T24 has expired.
    pub(super) fn on_status(&mut self, cx: &mut Context<'_>) {
        if core::mem::take(&mut self.v.status_runs) && self.flows() {
            self.send_status(cx);
        }
    }

    /// T27 has expired.
    ///
    /// # Errors
    /// The diagnostic code where REJ was repeated often enough.
    pub(super) fn on_reject(&mut self, config: &Config, cx: &mut Context<'_>) -> Result<(), u8> {
        if !self.v.rejecting {
            return Ok(());
        }
        if self.v.told_busy {
            // Nothing may come now; it is missed again when it may.
            self.start(Timer::Reject, config.t27, cx);
            return Ok(());
        }
        self.v.rejects += 1;
        if self.v.rejects > config.r27 {
            return Err(diagnostic::RETRY_REJECT);
        }
        self.send_rej(config, cx);
        Ok(())
    }

    /// The user sends an interrupt; one that is in progress goes first.
    pub(super) fn on_interrupt_request(&mut self, data: Message, config: &Config, cx: &mut Context<'_>) {
        if !self.flows() {
            return cx.drop("interrupt on a channel that is not ready");
        }
        if data.is_empty() || data.len() > kumiki_wire::x25::x25::MOST_INTERRUPT {
            return cx.drop("interrupt of other than 1 to 32 octets");
        }
        if self.v.interrupts.len() >= MOST_INTERRUPTS {
            return cx.drop("too many interrupts wait");
        }
        self.v.interrupts.push_back(data);
        self.interrupt(config, cx);
    }

    fn interrupt(&mut self, config: &Config, cx: &mut Context<'_>) {
        if self.v.interrupted {
            return;
        }
        if let Some(mut data) = self.v.interrupts.pop_front() {
            self.v.interrupted = true;
            let packet = self.packet(Body::Interrupt);
            packet.emit(data.push_header(packet.len()));
            self.out.push(data);
            self.start(Timer::Interrupt, config.t26, cx);
        }
    }

    /// INTERRUPT has come: it is handed up and confirmed, unless the user does that.
    ///
    /// # Errors
    /// The diagnostic code where the one before was not confirmed.
    pub(super) fn on_interrupt(&mut self, data: Message, cx: &mut Context<'_>) -> Result<(), u8> {
        if self.relays && core::mem::replace(&mut self.v.unanswered_interrupt, true) {
            return Err(diagnostic::INTERRUPT);
        }
        if let Some(session) = self.user {
            self.up(Indication::Expedited { session, data }, cx);
        }
        if !self.relays {
            self.send(Body::InterruptConfirmation);
        }
        Ok(())
    }

    /// The user confirms the interrupt that has come; one that a reset has taken away needs none.
    pub(super) fn confirm_interrupt(&mut self) {
        if core::mem::take(&mut self.v.unanswered_interrupt) {
            self.send(Body::InterruptConfirmation);
        }
    }

    /// INTERRUPT CONFIRMATION has come.
    ///
    /// # Errors
    /// The diagnostic code where there was no interrupt.
    pub(super) fn on_interrupt_confirmed(&mut self, config: &Config, cx: &mut Context<'_>) -> Result<(), u8> {
        if !core::mem::take(&mut self.v.interrupted) {
            return Err(diagnostic::INTERRUPT_CONFIRMATION);
        }
        self.stop(Timer::Interrupt, cx);
        if let Some(session) = self.user.filter(|_| self.relays) {
            let what = Special::new(Primitive::InterruptConfirm);
            self.up(Indication::Special { session, what }, cx);
        }
        self.interrupt(config, cx);
        Ok(())
    }

    /// The peer has not answered, or is gone.
    pub(super) fn lost(&mut self, reason: Reason, cx: &mut Context<'_>) {
        let reason = better(&mut self.let_be, reason);
        self.aborted(reason, None, cx);
    }

    /// The session is over, for `reason`.
    pub(super) fn aborted(&mut self, reason: Reason, data: Option<Message>, cx: &mut Context<'_>) {
        self.stop_all(cx);
        self.v = Variables::default();
        self.then_resets = None;
        if let Some(session) = self.user.take() {
            self.up(Indication::Aborted { session, reason, data }, cx);
        }
    }

    /// The diagnostic code of an error in the call's state.
    pub(super) const fn call_error(&self, role: Role) -> u8 {
        self.p.diagnostic(role)
    }
}
