//! Set-up, clearing and reset of the link; frames before anybody looks at numbers.

use kumiki_graph::{Context, Handle, Indication, Reason};
use kumiki_octets::text::counted;
use kumiki_octets::{Beginning, Message};
use kumiki_osi_service::{layer, x25};
use kumiki_wire::x25::lapb::{Control, Header, Modulo, Reject, function};

use super::states::{Event, Phase, Step};
use super::timers::Timer;
use super::{Lapb, Session, USER, Variables, grant};

/// A frame without its header.
pub(super) struct Frame {
    pub(super) control: Control,
    /// Whether it is a response of the peer's, and not a command.
    pub(super) response: bool,
    pub(super) information: Message,
}

/// The peer has refused a frame of ours, as its FRMR says.
fn rejected(mut information: Message, modulo: Modulo) -> Reason {
    let front = information.front_at_least(Reject::len(modulo));
    let bits = Reject::parse(front, modulo).map_or(0, |reject| reject.bits());
    Reason::peer(x25::Cause::FrameRejected(bits))
}

/// What is wrong with a frame, in the letters of FRMR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FrmrReason {
    /// W: the control field.
    Control,
    /// X, and W with it: information where there may be none.
    Information,
    /// Y: too much information.
    TooLong,
    /// Z: N(R).
    Nr,
}

impl Lapb {
    /// A frame has come from the line.
    pub(super) fn receive(&mut self, mut data: Message, cx: &mut Context<'_>) {
        let modulo = self.config.modulo;
        let front = data.front_at_least(Header::MOST);
        let Ok((header, len)) = Header::parse(front, modulo) else {
            return self.invalid("frame of too few octets", cx);
        };
        let role = self.config.role;
        let response = if header.address == role.peer() {
            true
        } else if header.address == role.own() {
            false
        } else {
            return self.invalid("address of neither end", cx);
        };
        // The header was read, so it is there.
        let _ = data.pop_header(len);
        let frame = Frame { control: header.control, response, information: data };
        let poll = frame.control.poll();
        let event = self.event_of(&frame);
        if event == Event::Frmr {
            self.counters.frmr_received += 1;
        }
        let wrong_kind = event != Event::Other && event.is_command() == response;
        if wrong_kind || self.is_other_mode(&frame) {
            return self.odd(&frame, cx);
        }
        match self.phase.step(event) {
            Step::Ignore => self.ignore(cx),
            Step::Offer => match self.listener {
                Some(user) => {
                    self.sabm_poll = poll;
                    self.offer(user, cx);
                }
                None => self.respond(function::DM, poll, cx),
            },
            Step::SendDm => {
                // A peer that clears what it has set up is not set up any more.
                self.collided = false;
                self.respond(function::DM, poll, cx);
            }
            Step::SendDmIfPolled if !response && poll => self.respond(function::DM, true, cx),
            Step::SendUa => self.respond(function::UA, poll, cx),
            Step::Withdraw => {
                self.forget(cx);
                self.respond(function::DM, poll, cx);
            }
            Step::Collide => {
                self.collided = true;
                self.respond(function::UA, poll, cx);
            }
            // An answer to what we have sent is final; others are to something older.
            Step::Establish if poll => self.establish(cx),
            Step::Refused if poll => {
                self.end(self.reason_of_dm(), cx);
                self.let_go(cx);
            }
            Step::Cleared if poll => self.cleared(cx),
            Step::SendDmIfPolled | Step::Establish | Step::Refused | Step::Cleared => {
                self.ignore(cx);
            }
            Step::PeerClears => {
                self.respond(function::UA, poll, cx);
                self.end(Reason::Reset, cx);
            }
            Step::PeerLost => {
                self.end(Reason::Reset, cx);
                self.let_go(cx);
            }
            Step::PeerResets => self.peer_resets(poll, cx),
            Step::Reset => {
                let why = rejected(frame.information, self.config.modulo);
                self.reset(why, cx);
            }
            Step::Take => self.take(frame, cx),
            // T1 goes on: it counts how long the peer takes to set the link up again, whatever else it says.
            Step::RejectAgain if !response && poll => self.send_frmr(true, cx),
            Step::RejectAgain => self.ignore(cx),
        }
    }

    fn event_of(&self, frame: &Frame) -> Event {
        match frame.control {
            // Only FRMR has information; another frame with some is to be refused (W and X), not obeyed.
            Control::Unnumbered { function, .. } if function != function::FRMR && !frame.information.is_empty() => {
                Event::Other
            }
            Control::Unnumbered { function, .. } => Event::of(function, self.sabm()),
            Control::Information { .. } | Control::Supervisory { .. } => Event::Other,
        }
    }

    /// Whether it sets up a link of the other modulus.
    fn is_other_mode(&self, frame: &Frame) -> bool {
        let Control::Unnumbered { function, .. } = frame.control else {
            return false;
        };
        matches!(function, function::SABM | function::SABME) && function != self.sabm() && frame.information.is_empty()
    }

    /// A command as a response, a response as a command, or SABM for SABME.
    fn odd(&mut self, frame: &Frame, cx: &mut Context<'_>) {
        if self.is_other_mode(frame) && !frame.response {
            // X.25 section 2.4.4.5.2: different commands end in the disconnected phase.
            self.respond(function::DM, frame.control.poll(), cx);
        } else if self.phase == Phase::Transfer {
            self.reject(frame, FrmrReason::Control, cx);
        } else {
            self.ignore(cx);
        }
    }

    fn invalid(&mut self, why: &'static str, cx: &mut Context<'_>) {
        self.counters.invalid += 1;
        cx.drop(why);
    }

    pub(super) fn ignore(&mut self, cx: &mut Context<'_>) {
        self.counters.ignored += 1;
        cx.drop("frame that means nothing in this phase");
    }

    fn reason_of_dm(&self) -> Reason {
        match self.session {
            Session::Stands(_) => Reason::Reset,
            Session::Opening(_) | Session::None | Session::Offered => Reason::Refused,
        }
    }

    /// Begins to set the link up, or to reset it.
    pub(super) fn set_up(&mut self, cx: &mut Context<'_>) {
        self.phase = Phase::Setup;
        self.collided = false;
        self.tries = 1;
        self.timers.stop_all(cx);
        self.send_sabm(cx);
    }

    fn send_sabm(&mut self, cx: &mut Context<'_>) {
        self.counters.sabm_sent += 1;
        self.command(self.sabm(), cx);
        self.timers.start(Timer::T1, self.config.t1, cx);
    }

    /// UA has come, or T1 has expired after a collision.
    fn establish(&mut self, cx: &mut Context<'_>) {
        match self.session {
            Session::Opening(user) => {
                self.counters.established += 1;
                self.generation = self.generation.wrapping_add(1);
                self.session = Session::Stands(user);
                self.opened(user, self.handle(), cx);
            }
            Session::Stands(user) => {
                if core::mem::take(&mut self.user_resets) {
                    let reason = Reason::User;
                    let session = user;
                    cx.up(USER, Indication::Reset { session, reason });
                }
            }
            Session::None | Session::Offered => {}
        }
        self.begin_transfer(cx);
    }

    /// All variables begin at 0, and the user has credit, unless it has still to answer a reset.
    pub(super) fn begin_transfer(&mut self, cx: &mut Context<'_>) {
        self.phase = Phase::Transfer;
        self.tries = 0;
        let unanswered = self.v.unanswered;
        self.v = Variables { room: if unanswered { 0 } else { self.receive }, unanswered, ..Variables::default() };
        self.timers.stop_all(cx);
        self.timers.start(Timer::T3, self.config.t3, cx);
        if unanswered {
            self.tell_busy(false, cx);
        } else if let Session::Stands(user) = self.session {
            self.v.granted = self.config.k.into();
            grant(user, self.v.granted, cx);
        }
    }

    /// We reset the link, for `reason`.
    pub(super) fn reset(&mut self, reason: Reason, cx: &mut Context<'_>) {
        self.counters.resets += 1;
        self.v = Variables { unanswered: true, ..Variables::default() };
        self.set_up(cx);
        self.tell_reset(reason, cx);
    }

    /// Tells the user of a reset that it has not asked for.
    fn tell_reset(&mut self, reason: Reason, cx: &mut Context<'_>) {
        if let Session::Stands(session) = self.session {
            self.resets_told = self.resets_told.saturating_add(1);
            cx.up(USER, Indication::Reset { session, reason });
        }
    }

    fn peer_resets(&mut self, poll: bool, cx: &mut Context<'_>) {
        self.counters.resets += 1;
        let reason = match self.phase {
            // It is the answer to our FRMR.
            Phase::Rejecting => self.why_rejected.clone(),
            Phase::Disconnected
            | Phase::Offered
            | Phase::Setup
            | Phase::Transfer
            | Phase::Resetting
            | Phase::Disconnecting => Reason::Reset,
        };
        self.phase = Phase::Resetting;
        self.sabm_poll = poll;
        self.v = Variables::default();
        self.timers.stop_all(cx);
        self.tell_reset(reason, cx);
    }

    /// The user resets the link, or answers a reset.
    pub(super) fn user_reset(&mut self, cx: &mut Context<'_>) {
        self.resets_told = self.resets_told.saturating_sub(1);
        if self.resets_told > 0 {
            // It answers one that another has followed.
            return;
        }
        match self.phase {
            Phase::Resetting => {
                self.respond(function::UA, self.sabm_poll, cx);
                self.begin_transfer(cx);
            }
            Phase::Transfer if self.v.unanswered => {
                self.v.unanswered = false;
                self.v.granted = u32::from(self.config.k).saturating_sub(self.queued());
                self.on_credit(self.receive, cx);
                if let Session::Stands(user) = self.session {
                    grant(user, self.v.granted, cx);
                }
            }
            Phase::Setup => {
                if !core::mem::take(&mut self.v.unanswered) {
                    cx.drop("a reset goes on already");
                }
            }
            Phase::Transfer | Phase::Rejecting => {
                self.counters.resets += 1;
                self.user_resets = true;
                self.v = Variables::default();
                self.set_up(cx);
            }
            Phase::Disconnected | Phase::Offered | Phase::Disconnecting => {
                cx.drop("no such session");
            }
        }
    }

    /// The user ends the session.
    pub(super) fn disconnect(&mut self, cx: &mut Context<'_>) {
        self.forget(cx);
        self.phase = Phase::Disconnecting;
        self.tries = 1;
        self.command(function::DISC, cx);
        self.timers.start(Timer::T1, self.config.t1, cx);
    }

    fn cleared(&mut self, cx: &mut Context<'_>) {
        self.phase = Phase::Disconnected;
        self.timers.stop_all(cx);
        if matches!(self.session, Session::Opening(_)) {
            self.set_up(cx);
        } else {
            self.let_go(cx);
        }
    }

    /// Refuses a frame by FRMR.
    pub(super) fn reject(&mut self, frame: &Frame, wrong: FrmrReason, cx: &mut Context<'_>) {
        self.phase = Phase::Rejecting;
        self.tries = 1;
        let all = self.config.modulo;
        self.why_rejected = self.broken(frame, wrong);
        self.reject = Reject {
            control: frame.control.octets(all),
            vr: self.v.vr,
            vs: self.v.vs,
            response: frame.response,
            w: matches!(wrong, FrmrReason::Control | FrmrReason::Information),
            x: wrong == FrmrReason::Information,
            y: wrong == FrmrReason::TooLong,
            z: wrong == FrmrReason::Nr,
        };
        self.timers.stop_all(cx);
        self.send_frmr(!frame.response && frame.control.poll(), cx);
        self.timers.start(Timer::T1, self.config.t1, cx);
    }

    /// What is wrong with a frame, with its header: the information is a user's.
    fn broken(&self, frame: &Frame, wrong: FrmrReason) -> Reason {
        let len = frame.information.len();
        let what = match wrong {
            FrmrReason::Control if frame.response => "a control field that is not defined for a response".to_owned(),
            FrmrReason::Control => "a control field that is not defined for a command".to_owned(),
            FrmrReason::Information => format!("information of {}, expected none in this frame", counted(len, "octet")),
            FrmrReason::TooLong => {
                format!("information of {}, expected {} at most", counted(len, "octet"), self.information)
            }
            FrmrReason::Nr => {
                let nr = match frame.control {
                    Control::Information { nr, .. } | Control::Supervisory { nr, .. } => nr,
                    Control::Unnumbered { .. } => 0,
                };
                let (least, most) = (self.v.va, self.v.high);
                if least == most {
                    format!("N(R) is {nr}, expected {least}")
                } else {
                    format!("N(R) is {nr}, expected {least} to {most}")
                }
            }
        };
        let (role, modulo) = (self.config.role, self.config.modulo);
        let address = if frame.response { role.peer() } else { role.own() };
        let [first, second] = frame.control.octets(modulo);
        let (octets, header) = ([address, first, second], 1 + frame.control.len(modulo));
        let shown = Beginning::of(octets.get(..header).unwrap_or(&octets), header + len);
        Reason::violation_in(layer::LAPB, what, shown)
    }

    fn send_frmr(&mut self, poll: bool, cx: &mut Context<'_>) {
        self.counters.frmr_sent += 1;
        let mut information = Message::new();
        let modulo = self.config.modulo;
        self.reject.emit(modulo, information.push_header(Reject::len(modulo)));
        let function = function::FRMR;
        let control = Control::Unnumbered { function, poll };
        self.send(self.config.role.own(), control, information, cx);
    }

    /// T1 has expired.
    pub(super) fn on_t1(&mut self, cx: &mut Context<'_>) {
        self.counters.t1_expired += 1;
        let last = self.tries >= self.config.n2;
        self.tries = self.tries.saturating_add(1);
        match self.phase {
            // Our UA has gone out, and the peer's was lost.
            Phase::Setup if self.collided => self.establish(cx),
            Phase::Setup if last => {
                self.end(Reason::TimedOut, cx);
                self.let_go(cx);
            }
            Phase::Setup => self.send_sabm(cx),
            Phase::Disconnecting if last => self.cleared(cx),
            Phase::Disconnecting => {
                self.command(function::DISC, cx);
                self.timers.start(Timer::T1, self.config.t1, cx);
            }
            Phase::Rejecting if last => self.reset(self.why_rejected.clone(), cx),
            Phase::Rejecting => {
                self.send_frmr(false, cx);
                self.timers.start(Timer::T1, self.config.t1, cx);
            }
            Phase::Transfer if last => self.reset(Reason::TimedOut, cx),
            Phase::Transfer => self.poll(cx),
            Phase::Disconnected | Phase::Offered | Phase::Resetting => {}
        }
    }

    /// The peer has been silent for T3.
    pub(super) fn on_t3(&mut self, cx: &mut Context<'_>) {
        if self.phase == Phase::Transfer && !self.timers.t1_runs() {
            self.tries = 1;
            self.poll(cx);
        }
    }

    /// The handle of our user's session, where it stands.
    pub(super) const fn user(&self) -> Option<Handle> {
        match self.session {
            Session::Stands(user) => Some(user),
            Session::None | Session::Opening(_) | Session::Offered => None,
        }
    }
}
