//! Information transfer: I, RR, RNR and REJ (ISO 7776 section 5.4, X.25 section 2.4.5).

use kumiki_graph::{Context, Indication};
use kumiki_octets::Message;
use kumiki_wire::x25::lapb::{Control, Supervisory, function};

use super::phases::{Frame, FrmrReason};
use super::states::Phase;
use super::timers::Timer;
use super::{Lapb, USER, grant};

/// Whether LAPB has unnumbered frames with this function.
const fn is_known(function: u8) -> bool {
    matches!(function, function::SABM | function::SABME | function::DISC | function::UA | function::DM)
}

/// What an I frame carries, beside its P bit.
struct Information {
    ns: u8,
    nr: u8,
    poll: bool,
}

impl Lapb {
    /// How many messages are held.
    pub(super) fn queued(&self) -> u32 {
        u32::try_from(self.v.frames.len()).unwrap_or(u32::MAX)
    }

    /// A frame in information transfer.
    pub(super) fn take(&mut self, frame: Frame, cx: &mut Context<'_>) {
        match frame.control {
            Control::Information { ns, nr, poll } if !frame.response => {
                let information = Information { ns, nr, poll };
                self.information(information, frame, cx);
            }
            Control::Supervisory { kind, nr, poll, .. } if kind != Supervisory::Reserved => {
                if frame.information.is_empty() {
                    self.supervisory(kind, nr, poll, &frame, cx);
                } else {
                    self.reject(&frame, FrmrReason::Information, cx);
                }
            }
            Control::Unnumbered { function, .. } if is_known(function) && !frame.information.is_empty() => {
                self.reject(&frame, FrmrReason::Information, cx);
            }
            Control::Information { .. } | Control::Supervisory { .. } | Control::Unnumbered { .. } => {
                self.reject(&frame, FrmrReason::Control, cx);
            }
        }
    }

    /// The peer is there: a frame of its has been taken.
    fn heard(&mut self, cx: &mut Context<'_>) {
        self.timers.start(Timer::T3, self.config.t3, cx);
    }

    /// Whether N(R) acknowledges what has been sent.
    fn is_valid(&self, nr: u8) -> bool {
        let modulo = self.config.modulo;
        modulo.distance(self.v.va, nr) <= modulo.distance(self.v.va, self.v.high)
    }

    fn information(&mut self, it: Information, frame: Frame, cx: &mut Context<'_>) {
        if frame.information.len() > usize::try_from(self.information).unwrap_or(usize::MAX) {
            return self.reject(&frame, FrmrReason::TooLong, cx);
        }
        if !self.is_valid(it.nr) {
            return self.reject(&frame, FrmrReason::Nr, cx);
        }
        self.heard(cx);
        self.acknowledged(it.nr, cx);
        if it.ns != self.v.vr {
            self.counters.out_of_sequence += 1;
            cx.drop("I frame out of sequence");
            self.out_of_sequence(it.poll, cx);
        } else if self.v.room == 0 {
            self.counters.busy_discarded += 1;
            cx.drop("I frame for a user without room");
            self.v.dropped = true;
            self.tell_busy(it.poll, cx);
        } else {
            self.deliver(frame.information, it.poll, cx);
        }
        self.transmit(cx);
    }

    /// The I frame that was expected.
    fn deliver(&mut self, information: Message, poll: bool, cx: &mut Context<'_>) {
        self.v.vr = self.config.modulo.next(self.v.vr);
        self.v.rejecting = false;
        self.v.room -= 1;
        self.v.owed = self.v.owed.saturating_add(1);
        self.counters.i_received += 1;
        if self.v.room == 0 {
            self.tell_busy(poll, cx);
        } else if poll {
            self.answer(Supervisory::ReceiveReady, true, cx);
        } else if self.v.owed >= self.config.acknowledge_after() {
            // What the user sends in answer may carry it; otherwise it goes at the end of the batch.
            self.v.owe_now = true;
        } else if !self.timers.t2_runs() {
            if self.config.t2.is_zero() {
                self.v.owe_now = true;
            }
            self.timers.start(Timer::T2, self.config.t2, cx);
        }
        if let Some(session) = self.user() {
            cx.up(USER, Indication::Data { session, data: information, end: true });
        }
    }

    fn out_of_sequence(&mut self, poll: bool, cx: &mut Context<'_>) {
        if self.v.room == 0 {
            self.v.dropped = true;
            if poll {
                self.tell_busy(true, cx);
            }
        } else if !core::mem::replace(&mut self.v.rejecting, true) {
            self.answer(Supervisory::Reject, poll, cx);
        } else if poll {
            self.answer(Supervisory::ReceiveReady, true, cx);
        }
    }

    fn supervisory(&mut self, kind: Supervisory, nr: u8, poll: bool, frame: &Frame, cx: &mut Context<'_>) {
        if !self.is_valid(nr) {
            return self.reject(frame, FrmrReason::Nr, cx);
        }
        self.heard(cx);
        match kind {
            Supervisory::ReceiveReady | Supervisory::Reserved => self.counters.rr_received += 1,
            Supervisory::ReceiveNotReady => self.counters.rnr_received += 1,
            Supervisory::Reject => self.counters.rej_received += 1,
        }
        let was_busy = self.v.peer_busy;
        self.v.peer_busy = kind == Supervisory::ReceiveNotReady;
        let progress = self.acknowledged(nr, cx);
        if kind == Supervisory::Reject && !self.v.recovering {
            self.go_back(nr);
            // What polled is retransmitted too.
            if self.v.checkpoint.take().is_some() && !poll {
                self.v.polled = false;
            }
        }
        if frame.response && poll {
            self.on_final(nr, progress, cx);
        } else if !frame.response && poll {
            self.answer_poll(cx);
        }
        if self.v.peer_busy {
            // X.25 section 2.4.5.7: it is asked again until it is not busy.
            if !self.timers.t1_runs() {
                self.tries = 1;
                self.timers.start(Timer::T1, self.config.t1, cx);
            }
        } else if was_busy && self.v.va == self.v.vs && !self.v.polled {
            self.timers.stop(Timer::T1, cx);
        }
        self.transmit(cx);
    }

    /// A response with F has come.
    fn on_final(&mut self, nr: u8, progress: bool, cx: &mut Context<'_>) {
        if !core::mem::take(&mut self.v.polled) {
            // Unsolicited; it was looked at as any other.
            return;
        }
        let checkpoint = self.v.checkpoint.take();
        if core::mem::take(&mut self.v.recovering) {
            self.go_back(nr);
        } else if let Some(behind) = checkpoint {
            let modulo = self.config.modulo;
            if modulo.distance(self.v.va, behind) <= modulo.distance(self.v.va, self.v.vs) && nr != behind {
                self.go_back(nr);
            }
        }
        if progress || self.v.peer_busy || self.v.frames.is_empty() {
            self.tries = 0;
        }
        if self.v.va == self.v.vs {
            self.timers.stop(Timer::T1, cx);
        }
    }

    /// V(S) is `nr` again, and what is behind it goes out again.
    const fn go_back(&mut self, nr: u8) {
        self.v.vs = nr;
    }

    /// N(R) has come: all before it has arrived. Says whether that was news.
    fn acknowledged(&mut self, nr: u8, cx: &mut Context<'_>) -> bool {
        let modulo = self.config.modulo;
        let count = modulo.distance(self.v.va, nr);
        if count == 0 {
            return false;
        }
        if modulo.distance(self.v.va, self.v.vs) < count {
            self.v.vs = nr;
        }
        self.v.va = nr;
        for _ in 0..count {
            self.v.frames.pop_front();
        }
        if !self.v.recovering {
            self.tries = 0;
            if self.v.va != self.v.vs {
                self.timers.start(Timer::T1, self.config.t1, cx);
            } else if !self.v.polled && !self.v.peer_busy {
                self.timers.stop(Timer::T1, cx);
            }
        }
        self.give_credit(cx);
        true
    }

    fn give_credit(&mut self, cx: &mut Context<'_>) {
        let Some(user) = self.user().filter(|_| !self.v.unanswered) else {
            return;
        };
        let room = u32::from(self.config.k).saturating_sub(self.queued());
        let more = room.saturating_sub(self.v.granted);
        self.v.granted += more;
        grant(user, more, cx);
    }

    /// The user hands a message down.
    pub(super) fn on_data_request(&mut self, data: Message, cx: &mut Context<'_>) {
        if self.phase != Phase::Transfer || self.v.unanswered {
            cx.drop("data while the link is reset");
            return;
        }
        if data.len() > usize::try_from(self.information).unwrap_or(usize::MAX) {
            cx.drop("data longer than a frame");
            self.v.granted = self.v.granted.saturating_sub(1);
            self.give_credit(cx);
            return;
        }
        let Some(granted) = self.v.granted.checked_sub(1) else {
            cx.drop("data without credit");
            return;
        };
        self.v.granted = granted;
        self.v.frames.push_back(data);
        self.transmit(cx);
    }

    /// The user has room for so many messages more.
    pub(super) fn on_credit(&mut self, messages: u32, cx: &mut Context<'_>) {
        self.v.room = self.v.room.saturating_add(messages);
        if self.phase == Phase::Transfer && self.v.room > 0 && self.v.told_busy {
            self.v.told_busy = false;
            // REJ asks for what was dropped meanwhile.
            if core::mem::take(&mut self.v.dropped) {
                self.v.rejecting = true;
                self.answer(Supervisory::Reject, false, cx);
            } else {
                self.answer(Supervisory::ReceiveReady, false, cx);
            }
        }
    }

    /// Tells the peer that our user has no room.
    pub(super) fn tell_busy(&mut self, poll: bool, cx: &mut Context<'_>) {
        if poll || !self.v.told_busy {
            self.v.told_busy = true;
            self.answer(Supervisory::ReceiveNotReady, poll, cx);
        }
    }

    fn answer_poll(&mut self, cx: &mut Context<'_>) {
        if self.v.room == 0 {
            self.tell_busy(true, cx);
        } else {
            self.answer(Supervisory::ReceiveReady, true, cx);
        }
    }

    /// Sends a supervisory response.
    fn answer(&mut self, kind: Supervisory, poll: bool, cx: &mut Context<'_>) {
        self.supervise(self.config.role.own(), kind, poll, cx);
    }

    fn supervise(&mut self, address: u8, kind: Supervisory, poll: bool, cx: &mut Context<'_>) {
        match kind {
            Supervisory::ReceiveReady | Supervisory::Reserved => self.counters.rr_sent += 1,
            Supervisory::ReceiveNotReady => self.counters.rnr_sent += 1,
            Supervisory::Reject => self.counters.rej_sent += 1,
        }
        let control = Control::supervisory(kind, self.v.vr, poll);
        self.send(address, control, Message::new(), cx);
        self.told_nr(cx);
    }

    /// N(R) has gone out: all that has come is acknowledged.
    fn told_nr(&mut self, cx: &mut Context<'_>) {
        (self.v.owed, self.v.owe_now) = (0, false);
        self.timers.stop(Timer::T2, cx);
    }

    /// Acknowledges what waits no longer.
    pub(super) fn acknowledge(&mut self, cx: &mut Context<'_>) {
        if self.v.owe_now && self.phase == Phase::Transfer {
            let kind = if self.v.told_busy { Supervisory::ReceiveNotReady } else { Supervisory::ReceiveReady };
            self.answer(kind, false, cx);
        }
    }

    /// T1 has expired, or T3: asks the peer how far it has come.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) {
        self.v.recovering = true;
        self.v.polled = true;
        self.v.checkpoint = None;
        let kind = if self.v.told_busy { Supervisory::ReceiveNotReady } else { Supervisory::ReceiveReady };
        self.supervise(self.config.role.peer(), kind, true, cx);
        self.timers.start(Timer::T1, self.config.t1, cx);
    }

    /// Sends what the window and the peer let go.
    fn transmit(&mut self, cx: &mut Context<'_>) {
        let modulo = self.config.modulo;
        while self.phase == Phase::Transfer && !self.v.peer_busy && !self.v.recovering {
            let sent = modulo.distance(self.v.va, self.v.vs);
            if sent >= self.config.k {
                return;
            }
            let Some(data) = self.v.frames.get(sent.into()) else {
                return;
            };
            let data = data.clone();
            let ns = self.v.vs;
            self.v.vs = modulo.next(ns);
            self.counters.i_sent += 1;
            if modulo.distance(self.v.va, self.v.high) > sent {
                self.counters.i_again += 1;
            } else {
                self.v.high = self.v.vs;
            }
            let poll = self.config.poll && sent + 1 == self.config.k && !self.v.polled;
            if poll {
                self.v.polled = true;
                self.v.checkpoint = Some(self.v.vs);
            }
            let nr = self.v.vr;
            let control = Control::Information { ns, nr, poll };
            self.send(self.config.role.peer(), control, data, cx);
            self.told_nr(cx);
            if !self.timers.t1_runs() {
                // What was tried already counts on: a peer may answer polls and never get the frame.
                self.tries = self.tries.max(1);
                self.timers.start(Timer::T1, self.config.t1, cx);
            }
        }
    }
}
