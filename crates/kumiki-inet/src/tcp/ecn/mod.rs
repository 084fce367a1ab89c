//! Explicit congestion notification: marks in IP headers that take the place of losses.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 3168 (RFC 9293 SHLD-8), RFC 8311, RFC 8511 (the response, where asked for); RFC 9768 (accurate feedback) |
//! | The caller's part | what IP's header said and is to say; when the window shrinks for another reason |
//! | ECT | ECT(0), on new data only: not on what is retransmitted, on probes, on acknowledgments, on SYN, FIN or RST by themselves |
//! | Left out | ECT on control packets (RFC 8311's experiments), ECT(1) and the responses that go with it (L4S, DCTCP): a mark counts as a loss, once for each round trip. The other files say more |
//!
//! | read | for |
//! |---|---|
//! | `handshake` | what SYN and SYN,ACK agree on |
//! | `classic` | ECE and CWR |
//! | `receiver`, `sender` | accurate feedback: who counts, and who is told |
//! | this file | how a session uses them, and the response |

use kumiki_graph::{Instant, OptionalTime};
use kumiki_octets::{Blank, Message, OnDemand};
use kumiki_wire::inet::EcnUse;
use kumiki_wire::inet::ipv4::Ecn as Codepoint;
use kumiki_wire::inet::tcp::{AccEcn, Flags, Options, Seq};

mod classic;
pub(crate) mod handshake;
pub(crate) mod receiver;
mod sender;

use classic::Classic;
use handshake::{Answering, Feedback};
use receiver::{Arrived, Receiver};
use sender::{EcnAck, EcnFeedback, Sender};

use super::congestion::Loss;
use super::limits::Limit;
use super::receive::{AckReason, OwedAck};
use super::recovery::Phase;
use super::scoreboard::AckOutcome;
use super::segment::Segment;
use super::session::{Ctx, Session};
use super::timers::Timer;
use super::trace::Event;

/// Both halves of accurate feedback.
#[derive(Debug)]
struct Accurate {
    receiver: Receiver,
    sender: Sender,
}

/// What one connection does.
#[derive(Debug, Default)]
enum Mode {
    #[default]
    None,
    Classic(Classic),
    Accurate(Box<Accurate>),
}

/// What there is once the window has been reduced.
#[derive(Debug, Default)]
struct Reductions {
    /// Marks were told of during this recovery: what it did must not be undone.
    marked: bool,
    /// SND.NXT when the window was last reduced, for whatever reason, until that is acknowledged.
    reduced: Option<Seq>,
    /// The same before the present recovery.
    before: Option<Seq>,
    /// No new data before (RFC 3168 section 6.1.2, the end of the third paragraph).
    pause: OptionalTime<Instant>,
}

impl Blank for Reductions {
    const BLANK: &'static Self = &Self { marked: false, reduced: None, before: None, pause: OptionalTime::NONE };
}

/// The variables of one connection.
#[derive(Debug)]
pub(crate) struct Ecn {
    pub(crate) wish: EcnUse,
    mode: Mode,
    /// Data may be sent with ECT.
    ect: bool,
    /// What the peer tells is not believed.
    deaf: bool,
    /// A SYN of ours did not ask, after one that did.
    plain: bool,
    /// Our side of a simultaneous open.
    crossing: Answering,
    /// The acknowledgment being looked at told of marks.
    told: bool,
    reductions: OnDemand<Reductions>,
}

impl Ecn {
    pub(crate) fn new(wish: EcnUse) -> Self {
        Self {
            wish,
            mode: Mode::None,
            ect: false,
            deaf: false,
            plain: false,
            crossing: Answering::default(),
            told: false,
            reductions: OnDemand::new(),
        }
    }

    /// Whether neither side tells of marks.
    pub(crate) const fn is_off(&self) -> bool {
        matches!(self.mode, Mode::None)
    }

    /// AE, CWR and ECE of a SYN that is sent for the `unanswered`th time again.
    pub(crate) fn asking(&mut self, unanswered: u32) -> Flags {
        let (_, flags) = handshake::asking(self.wish);
        if unanswered < handshake::ASKS {
            return flags;
        }
        self.plain = true;
        Flags::NONE
    }

    /// AE, CWR and ECE of the SYN,ACK in a simultaneous open, and the option that goes with it.
    pub(crate) fn crossing(&self) -> (Flags, Option<AccEcn>) {
        let option = self.crossing.has_option().then(receiver::first_option);
        (self.crossing.flags(), option)
    }

    /// r.cep and s.cep.
    #[cfg(test)]
    pub(crate) fn counted(&self) -> Option<(u32, u32)> {
        match &self.mode {
            Mode::None | Mode::Classic(_) => None,
            Mode::Accurate(it) => Some((it.receiver.ace(), it.sender.counted().0)),
        }
    }

    fn enter(&mut self, feedback: Feedback) {
        self.mode = match feedback {
            Feedback::None => Mode::None,
            Feedback::Classic => Mode::Classic(Classic::default()),
            Feedback::Accurate => {
                Mode::Accurate(Box::new(Accurate { receiver: Receiver::new(), sender: Sender::new() }))
            }
        };
        self.ect = feedback != Feedback::None;
    }

    /// We answer a call, or a call that crosses ours.
    pub(crate) fn answer(&mut self, answering: Answering) {
        self.enter(answering.feedback);
        self.ect &= !answering.plain;
    }

    /// AE, CWR and ECE of an acknowledgment, also where there is no session any more.
    pub(crate) fn feedback(&self) -> Flags {
        match &self.mode {
            Mode::None => Flags::NONE,
            Mode::Classic(classic) => classic.echo(),
            Mode::Accurate(accurate) => handshake::flags(accurate.receiver.ace()),
        }
    }

    /// Whether the acknowledgment being looked at told of marks; then the window does not grow (RFC 3168 section
    /// 6.1.2).
    pub(crate) const fn holds_growth(&self) -> bool {
        self.told
    }

    /// Whether the window has already been reduced for something of the present window of data.
    pub(crate) fn has_reduced(&self, una: Seq) -> bool {
        self.reductions.reduced.is_some_and(|point| una.lt(point))
    }

    /// The window was reduced, be it for a mark or for a loss; `nxt` is SND.NXT.
    pub(crate) fn on_reduced(&mut self, nxt: Seq) {
        if matches!(self.mode, Mode::None) {
            return;
        }
        let reductions = &mut *self.reductions;
        reductions.before = reductions.reduced.replace(nxt);
        reductions.marked = false;
        if let Mode::Classic(classic) = &mut self.mode {
            classic.on_reduced();
        }
    }

    /// The last reduction was for nothing; false where marks say otherwise, and it stands.
    pub(crate) fn on_undone(&mut self) -> bool {
        if self.reductions.marked {
            return false;
        }
        if let Some(reductions) = self.reductions.own() {
            reductions.reduced = reductions.before;
        }
        if let Mode::Classic(classic) = &mut self.mode {
            classic.on_undone();
        }
        true
    }

    /// The IP header's codepoint for a segment with new data.
    const fn codepoint(&self, new_data: bool) -> Codepoint {
        if new_data && self.ect { Codepoint::Ect0 } else { Codepoint::NotEct }
    }
}

impl Session {
    // The handshake.

    /// Our SYN was answered: by a SYN,ACK (`acked`), or by a SYN that crosses it, to which we answer in turn. The
    /// response to marked SYNs: as though they had been lost.
    pub(super) fn agree_on_ecn(&mut self, segment: &Segment, acked: bool, ctx: &mut Ctx<'_, '_>) {
        if !acked {
            let answering = Answering::new(self.ecn.wish, segment.flags, segment.ecn);
            self.ecn.crossing = answering;
            self.ecn.answer(answering);
            self.ecn.ect &= !self.ecn.plain;
            return;
        }
        let (asked, _) = handshake::asking(self.ecn.wish);
        let feedback = handshake::answered(asked, segment.flags);
        self.ecn.enter(feedback);
        match &mut self.ecn.mode {
            Mode::None => {}
            // RFC 3168 section 6.1.1: never after a SYN without.
            Mode::Classic(_) => self.ecn.ect &= !self.ecn.plain,
            Mode::Accurate(accurate) => {
                accurate.receiver.on_syn_ack(segment.ecn);
                accurate.receiver.show_option();
                accurate.sender.on_first_option(segment.options.accecn);
                let arrived = handshake::reflected(segment.flags);
                self.judge_handshake(arrived.unwrap_or(Codepoint::NotEct), ctx);
            }
        }
    }

    /// The SYN that crossed ours came again; false where it must end the connection (RFC 9768 section 3.1.5).
    pub(super) fn take_crossing_again(&mut self, segment: &Segment) -> bool {
        let Ecn { wish, crossing, .. } = &mut self.ecn;
        let goes_on = crossing.on_syn_again(segment.flags, segment.ecn, *wish);
        self.ecn.ect &= !self.ecn.crossing.plain;
        goes_on
    }

    /// Who called has answered our SYN,ACK with `segment`.
    pub(super) fn begin_ecn(&mut self, segment: &Segment, ctx: &mut Ctx<'_, '_>) {
        let Mode::Accurate(accurate) = &mut self.ecn.mode else {
            return;
        };
        if segment.has(Flags::SYN) {
            return;
        }
        accurate.sender.on_first_option(segment.options.accecn);
        let pure = segment.text.is_empty() && !segment.has(Flags::FIN);
        if !pure || !segment.options.sack.is_empty() {
            return;
        }
        match accurate.sender.on_handshake_ack(segment.flags) {
            Some(arrived) => self.judge_handshake(arrived, ctx),
            None => self.distrust(true, ctx),
        }
    }

    /// Our SYN or SYN,ACK, which was sent without ECT, is told to have arrived so (RFC 9768 section 3.2.2.3).
    fn judge_handshake(&mut self, arrived: Codepoint, ctx: &mut Ctx<'_, '_>) {
        if arrived != Codepoint::NotEct {
            self.distrust(false, ctx);
        }
        if arrived == Codepoint::Ce {
            ctx.shared.counters.ecn_echoes += 1;
            self.congestion.on_syn_lost();
        }
    }

    /// Something changes what IP's or TCP's header says: no more ECT, and where the feedback itself is wrong, no more
    /// responses.
    fn distrust(&mut self, deaf: bool, ctx: &mut Ctx<'_, '_>) {
        if self.ecn.ect {
            ctx.shared.counters.ecn_disabled += 1;
        }
        self.ecn.ect = false;
        self.ecn.deaf |= deaf;
    }

    /// What the connection now uses is counted.
    pub(super) const fn count_ecn(&self, ctx: &mut Ctx<'_, '_>) {
        match self.ecn.mode {
            Mode::None => {}
            Mode::Classic(_) => ctx.shared.counters.ecn_classic += 1,
            Mode::Accurate(_) => ctx.shared.counters.ecn_accurate += 1,
        }
    }

    /// Whether the SYN,ACK has to be acknowledged before anything else, without data (RFC 9768 section 3.2.2.1).
    pub(super) const fn must_show_handshake(&self) -> bool {
        matches!(self.ecn.mode, Mode::Accurate(_))
    }

    /// The SYN,ACK came once more: whether it has to be acknowledged as it was at first.
    pub(super) fn take_syn_ack_again(&mut self, segment: &Segment) -> bool {
        let again =
            segment.has(Flags::SYN | Flags::ACK) && segment.seq == self.receive.irs && segment.ack == self.iss + 1;
        if let (Mode::Accurate(accurate), true) = (&mut self.ecn.mode, again) {
            accurate.receiver.on_syn_ack(segment.ecn);
        }
        again
    }

    // As a receiver.

    /// An acceptable segment has been taken: what IP's header said of it.
    pub(super) fn take_ecn(&mut self, arrived: Arrived, cwr: bool, ctx: &mut Ctx<'_, '_>) {
        let ce = arrived.codepoint == Codepoint::Ce;
        match &mut self.ecn.mode {
            Mode::None => return,
            Mode::Classic(classic) => {
                // Acknowledgments have no ECT, and none of them can have been marked.
                classic.on_segment(cwr, ce && arrived.octets > 0);
            }
            Mode::Accurate(accurate) => {
                let owing = self.receive.due != OwedAck::No;
                if accurate.receiver.on_packet(arrived, owing) {
                    self.receive.owe_now(AckReason::Marks);
                }
            }
        }
        if ce {
            ctx.shared.counters.ce_received += u64::from(arrived.count);
            self.note(Event::Marked, ctx.now());
        }
    }

    /// Another segment came in this batch: where one more mark would be too many for one acknowledgment, it goes now.
    pub(super) fn tell_marks_early(&mut self, ctx: &mut Ctx<'_, '_>) {
        if let Mode::Accurate(accurate) = &self.ecn.mode
            && accurate.receiver.is_full()
            && let OwedAck::Now(why) = self.receive.due
        {
            self.send_ack(why, ctx);
        }
    }

    /// Data that had been acknowledged came again.
    pub(super) const fn take_copy_for_ecn(&mut self) {
        if let Mode::Accurate(accurate) = &mut self.ecn.mode {
            accurate.receiver.on_copy();
        }
    }

    /// The ECN flags of a segment about to be sent, the codepoint of its IP header, and the option, if one should go
    /// with it. `options` are the others, which may grow to `room` octets together.
    pub(super) fn next_ecn(
        &mut self,
        (seq, flags, text): (Seq, Flags, &Message),
        (options, room): (&mut Options, usize),
        ctx: &mut Ctx<'_, '_>,
    ) -> (Flags, Codepoint) {
        if flags.contains(Flags::RST) || matches!(self.ecn.mode, Mode::None) {
            return (Flags::NONE, Codepoint::NotEct);
        }
        // What a probe carries stays unsent, and may arrive all the same.
        let new_data = !text.is_empty() && seq.geq(self.send.max) && seq.lt(self.board.nxt());
        let again = !text.is_empty() && seq.lt(self.send.max);
        let codepoint = self.ecn.codepoint(new_data);
        let of_data = self.receive.nxt != self.receive.last_ack_sent;
        let mut bits = self.ecn.feedback();
        match &mut self.ecn.mode {
            Mode::None => {}
            Mode::Classic(classic) => {
                if new_data && classic.take_cwr() {
                    bits |= Flags::CWR;
                    ctx.shared.counters.cwr_sent += 1;
                }
            }
            Mode::Accurate(accurate) => {
                let receiver = &mut accurate.receiver;
                if !again {
                    options.accecn = receiver.option(options, room);
                }
                let pure = text.is_empty() && !flags.contains(Flags::FIN);
                if pure
                    && options.sack.is_empty()
                    && let Some(codepoint) = receiver.handshake.take()
                {
                    bits = handshake::reflection(codepoint);
                    if options.accecn.is_some() {
                        // Pure acknowledgments are not delivered reliably: the first data shows one again.
                        receiver.show_option();
                    }
                } else if !text.is_empty() {
                    receiver.handshake = None;
                }
                receiver.on_acknowledged(options.accecn.is_some(), of_data);
            }
        }
        if codepoint == Codepoint::Ect0 {
            ctx.shared.counters.ect_sent += 1;
        }
        if bits.contains(Flags::CWR) && matches!(self.ecn.mode, Mode::Classic(_)) {
            self.note(Event::CwrSent, ctx.now());
        }
        (bits, codepoint)
    }

    /// Whether the ECN flags of what is sent next are a counter, which a device that cuts repeats in every packet.
    pub(super) const fn counts_marks(&self) -> bool {
        matches!(self.ecn.mode, Mode::Accurate(_))
    }

    // As a sender.

    /// An acceptable acknowledgment came, which shows `outcome`; `flight` was outstanding just before.
    pub(crate) fn take_marks(&mut self, segment: &Segment, outcome: &AckOutcome, flight: u32, ctx: &mut Ctx<'_, '_>) {
        self.ecn.told = false;
        let una = self.board.una();
        // Sequence numbers go round.
        if let Some(reductions) = self.ecn.reductions.own() {
            reductions.reduced = reductions.reduced.filter(|point| una.leq(*point));
        }
        let told = match &mut self.ecn.mode {
            Mode::None => return,
            // A SYN's flags say something else.
            Mode::Classic(_) => segment.has(Flags::ECE) && !segment.has(Flags::SYN),
            Mode::Accurate(accurate) => {
                let timestamps = segment.options.timestamps.filter(|_| self.timestamps);
                let pure = segment.text.is_empty() && !segment.has(Flags::FIN);
                let told = EcnAck {
                    flags: segment.flags,
                    option: segment.options.accecn,
                    of_syn: pure && segment.ack == self.iss + 1,
                    delivered: outcome.delivered,
                    ts_val: timestamps.map(|(value, _)| value),
                    smss: self.send.mss,
                    una: self.board.una(),
                    nxt: self.board.nxt(),
                };
                match accurate.sender.on_ack(&told) {
                    EcnFeedback::Nothing => false,
                    EcnFeedback::Marks(_) => true,
                    EcnFeedback::Mangled => {
                        self.distrust(true, ctx);
                        false
                    }
                }
            }
        };
        if told && !self.ecn.deaf {
            self.ecn.told = true;
            ctx.shared.counters.ecn_echoes += 1;
            self.note(Event::Echoed, ctx.now());
            self.respond(flight, ctx);
        }
    }

    /// The response to marks: as to a loss, once for each window of data (RFC 3168 section 6.1.2).
    fn respond(&mut self, flight: u32, ctx: &mut Ctx<'_, '_>) {
        if self.recovery.phase != Phase::None {
            self.ecn.reductions.marked = true;
            return;
        }
        if self.ecn.reductions.reduced.is_some() {
            return;
        }
        let now = ctx.now();
        let least = self.congestion.window() <= u64::from(self.send.mss);
        // What an earlier recovery did is no more to be undone.
        self.recovery.forget_undo();
        let flight = u64::from(flight).min(self.congestion.window());
        self.congestion.on_ecn(&Loss { now, flight });
        self.window_by(Limit::Mark);
        self.ecn.on_reduced(self.board.nxt());
        ctx.shared.counters.ecn_reductions += 1;
        if least {
            // The window cannot be halved: the retransmission timer starts again, and until then nothing new goes.
            self.ecn.reductions.pause = Some(self.slow(self.rtt.rto(&ctx.shared.config.rto), ctx)).into();
            if !self.board.is_empty() {
                self.arm_retransmit(ctx);
            }
        }
        self.note(Event::Reduced, now);
    }

    /// Whether new data has to wait, because the peer tells of marks although the window is one segment.
    pub(super) fn is_paused(&mut self, ctx: &mut Ctx<'_, '_>) -> bool {
        let Some(until) = self.ecn.reductions.pause.known() else {
            return false;
        };
        if until <= ctx.now() {
            self.ecn.reductions.pause = OptionalTime::NONE;
            return false;
        }
        self.timers.set(Timer::Pacing, until, ctx.cx);
        true
    }
}
