//! What a session sends: acknowledgments, what was lost, new data.

use kumiki_octets::Message;
use kumiki_wire::inet::tcp::{Flags, Header, Options, Seq};

use super::limits::{Limit, Unanswered};
use super::pacing::Pace;
use super::predicted::PredictedState;
use super::receive::{AckReason, Receive};
use super::recovery::Phase;
use super::scoreboard::{NextSeg, Span};
use super::segment;
use super::send::{Fin, Next, SendLimit};
use super::session::{Ctx, Session};
use super::states::State;
use super::timers::Timer;
use super::trace::Event;

/// A small segment that is at least one part in so many of a full send buffer costs a third or more of what goes while
/// coalescing keeps it; a smaller one is what any full buffer leaves over.
const NOTABLE: u32 = 4;

impl Session {
    /// Sends a segment with the acknowledgment, the window and the options that belong into it.
    pub(super) fn emit(&mut self, seq: Seq, flags: Flags, text: Message, ctx: &mut Ctx<'_, '_>) {
        let now = ctx.now();
        let mut options = Options::NONE;
        if self.timestamps {
            options.timestamps = Some((self.ts_now(now), self.receive.ts_recent.0));
        }
        let spare = usize::try_from(self.send.mss).unwrap_or(0);
        let spare = spare.saturating_sub(text.len());
        let most = options.len() + spare;
        if self.sack {
            let room = options.sack_room().min(spare.saturating_sub(4) / 8);
            if let Some(copy) = self.receive.copy.take() {
                self.receive.queue.note_duplicate(copy);
            }
            if room > 0
                && let Some(queue) = self.receive.queue.own()
            {
                options.sack = queue.sack_blocks(room, true);
            }
        }
        let (ecn, codepoint) = self.next_ecn((seq, flags, &text), (&mut options, most), ctx);
        if options.len() + 4 <= most {
            options.user_timeout = self.next_user_timeout(ctx, false);
        }
        let urgent_pointer = self.urgent_pointer(seq);
        let urg = if urgent_pointer > 0 { Flags::URG } else { Flags::NONE };
        let config = &ctx.shared.config;
        let header = Header {
            source_port: self.pair.local.port(),
            destination_port: self.pair.remote.port(),
            seq,
            ack: self.receive.nxt,
            flags: flags | urg | ecn,
            window: self.receive.advertise(config.edge, self.send.mss, false),
            checksum: 0,
            urgent_pointer,
            options,
        };
        let end = seq.advance(text.len()) + u32::from(flags.contains(Flags::FIN));
        self.send.max = self.send.max.max(end);
        self.count_sent(ctx);
        ctx.shared.counters.octets_sent += text.len() as u64;
        let mut options = self.unit_options();
        options.tos |= codepoint.bits();
        let size = self.send.mss;
        let is_long = text.len() > usize::try_from(size).unwrap_or(0);
        if is_long && self.may_lengthen(seq, ctx) && !self.is_path_probe(seq) {
            let how = (size, self.counts_marks(), self.route.bypass);
            segment::transmit_train(&self.pair, &header, text, how, options, ctx.cx);
        } else {
            let by = self.route.by();
            segment::transmit_by(by, &self.pair, &header, text, options, ctx.cx);
        }
        if let Some(record) = &mut self.record {
            record.acknowledgments.go(self.receive.is_delayed(), ctx.now());
        }
        self.receive.acknowledged(ctx.now(), &mut ctx.shared.counters);
        self.timers.clear(Timer::DelayedAck);
    }

    /// Sends our SYN, or sends it again: with an ACK once the peer's SYN is known.
    pub(crate) fn send_syn(&mut self, ctx: &mut Ctx<'_, '_>) {
        let now = ctx.now();
        let config = &ctx.shared.config;
        let answer = self.state == State::SynReceived;
        let (ecn, accecn) = if answer { self.ecn.crossing() } else { (self.ecn.asking(self.unanswered), None) };
        let mut flags = Flags::SYN | ecn;
        if answer {
            flags |= Flags::ACK;
        }
        // A SYN,ACK offers only what the SYN did; before that, negotiation has not happened.
        let shift = Receive::shift_for(config, self.receive.most);
        let options = Options {
            // MUST-14, MUST-65, SHLD-5, MAY-3.
            mss: Some(u16::try_from(self.own_mss).unwrap_or(u16::MAX)),
            window_scale: shift.filter(|_| !answer || self.receive.scaling),
            sack_permitted: self.sack,
            timestamps: self.timestamps.then(|| (self.ts_now(now), self.receive.ts_recent.0)),
            user_timeout: self.next_user_timeout(ctx, true),
            accecn,
            ..Options::NONE
        };
        let room = self.own_mss.saturating_sub(self.route.option_octets());
        let options = segment::fitted(options, room);
        let header = Header {
            source_port: self.pair.local.port(),
            destination_port: self.pair.remote.port(),
            seq: self.iss,
            ack: if answer { self.receive.nxt } else { Seq(0) },
            flags,
            window: self.receive.advertise(config.edge, self.send.mss, true),
            checksum: 0,
            urgent_pointer: 0,
            options,
        };
        if self.board.nxt() == self.iss {
            self.board.on_send(1, now, false);
        } else {
            self.count_again(ctx);
            let span = Span { start: self.iss, end: self.iss + 1 };
            self.board.on_retransmit(span, now);
        }
        self.send.max = self.send.max.max(self.iss + 1);
        self.last_sent = now;
        self.count_sent(ctx);
        let options = self.unit_options();
        segment::transmit_by(self.route.by(), &self.pair, &header, Message::new(), options, ctx.cx);
        self.receive.acknowledged(ctx.now(), &mut ctx.shared.counters);
        self.arm_retransmit(ctx);
    }

    /// Sends an acknowledgment by itself.
    pub(super) fn send_ack(&mut self, why: AckReason, ctx: &mut Ctx<'_, '_>) {
        let counters = &mut ctx.shared.counters;
        match why {
            AckReason::Timer => counters.acks_by_timer += 1,
            AckReason::Data => counters.acks_by_data += 1,
            AckReason::WindowUpdate => counters.window_updates += 1,
            AckReason::OutOfOrder | AckReason::Fin | AckReason::Syn | AckReason::Unacceptable | AckReason::Marks => {
                counters.acks_other += 1;
            }
        }
        let seq = self.board.nxt();
        self.emit(seq, Flags::ACK, Message::new(), ctx);
        self.note(Event::Acked(why), ctx.now());
    }

    /// Answers what was refused in this batch, unless something has been sent since: says where we stand and changes
    /// nothing, as [`super::states`] demands.
    pub(crate) fn answer(&mut self, ctx: &mut Ctx<'_, '_>) {
        if !core::mem::take(&mut self.receive.asked) || !self.state.is_synchronized() {
            return;
        }
        let mut options = Options::NONE;
        if self.timestamps {
            options.timestamps = Some((self.ts_now(ctx.now()), self.receive.ts_recent.0));
        }
        if self.sack {
            let room = usize::try_from(self.send.mss).unwrap_or(0);
            let room = options.sack_room().min(room.saturating_sub(4) / 8);
            let copy = self.receive.copy.take();
            options.sack = self.receive.queue.blocks(room, copy);
        }
        let seq = self.board.nxt();
        let urgent_pointer = self.urgent_pointer(seq);
        let urg = if urgent_pointer > 0 { Flags::URG } else { Flags::NONE };
        let header = Header {
            source_port: self.pair.local.port(),
            destination_port: self.pair.remote.port(),
            seq,
            ack: self.receive.nxt,
            flags: Flags::ACK | urg | self.ecn.feedback(),
            window: self.receive.offered(),
            checksum: 0,
            urgent_pointer,
            options,
        };
        self.count_sent(ctx);
        ctx.shared.counters.acks_other += 1;
        let how = self.unit_options();
        let (by, text) = (self.route.by(), Message::new());
        segment::transmit_by(by, &self.pair, &header, text, how, ctx.cx);
        self.note(Event::Acked(AckReason::Unacceptable), ctx.now());
    }

    /// Sends all that may be sent: first what was lost, then new data.
    pub(crate) fn output(&mut self, ctx: &mut Ctx<'_, '_>) {
        if !self.state.may_transmit() {
            if !self.state.is_before_established() {
                self.limited(Limit::Closing, ctx.now());
            }
            return;
        }
        if self.has_nothing_to_send() {
            self.rest(ctx);
            return;
        }
        self.course = PredictedState::Any;
        self.restart_if_idle(ctx);
        self.timers.clear(Timer::Pacing);
        let held = loop {
            let window = self.cwnd();
            let half = ctx.shared.config.half_window;
            let next = self.send.next(&self.board, window, half, false);
            let next = next.map(|next| self.lengthen(next, window, ctx));
            let next = self.probe_path(next, window, ctx);
            if self.recovery.phase != Phase::None {
                match self.recover(window, next.is_ok(), ctx) {
                    Step::Sent => continue,
                    Step::Wait => break next.err().unwrap_or(SendLimit::Congestion),
                    Step::Paced => break SendLimit::Congestion,
                    Step::New => {}
                }
            }
            match next {
                Ok(_) if self.is_paused(ctx) || self.is_too_early(ctx) => break SendLimit::Congestion,
                Ok(next) => self.send_new(next, ctx),
                Err(held) => break held,
            }
        };
        let mut limited = held;
        if !self.timers.is_set(Timer::Pacing) {
            // What is to be retransmitted and has no room waits for the congestion window too, whatever holds back new
            // data.
            let again = self.recovery.phase != Phase::None && self.board.pending() > 0;
            self.window_limited = again || held == SendLimit::Congestion;
            if again {
                limited = SendLimit::Congestion;
            }
        }
        self.note_limit(limited, ctx);
        self.watch(held, ctx);
    }

    /// Takes note of what holds back more, where that is asked for.
    pub(super) fn note_limit(&mut self, held: SendLimit, ctx: &Ctx<'_, '_>) {
        let Some(record) = &mut self.record else {
            return;
        };
        let now = ctx.now();
        let is_empty = self.board.is_empty();
        let is_shut = is_empty && matches!(held, SendLimit::Window | SendLimit::Silly);
        record.acknowledgments.looked(record.limits.held().is_until_acknowledged() && !is_shut, now);
        let since = self.last_sent.max(self.timeouts.heard);
        let (by, all) = (since + self.rtt.overdue(&ctx.shared.config.rto), self.board.nxt());
        record.limits.wait((!is_empty).then_some(Unanswered { since, by, all }));
        let limit = match held {
            _ if self.timers.is_set(Timer::Pacing) => Limit::Pacing,
            SendLimit::Nothing if self.send.fin != Fin::Open => Limit::Closing,
            // What of a window is small leaves a full segment behind.
            SendLimit::Coalesce | SendLimit::Silly if self.send.unsent() >= self.send.mss => Limit::ReceiveWindow,
            SendLimit::Coalesce if self.send.unsent() >= self.send.held() / NOTABLE => Limit::Coalescing,
            // What is left over of a full buffer is small.
            SendLimit::Nothing | SendLimit::Coalesce | SendLimit::Silly if !self.send.has_credit() => Limit::SendBuffer,
            SendLimit::Nothing => Limit::Application,
            SendLimit::Window | SendLimit::Silly => Limit::ReceiveWindow,
            SendLimit::Coalesce => Limit::Coalescing,
            SendLimit::Congestion => record.limits.window(self.congestion.in_slow_start()),
        };
        record.limits.set(limit, now);
    }

    /// Whether the next segment must wait for its time; then the timer is set.
    fn is_too_early(&mut self, ctx: &mut Ctx<'_, '_>) -> bool {
        let (Some(pacer), Some(srtt)) = (&mut self.pacer, self.rtt.srtt()) else {
            return false;
        };
        let cwnd = self.congestion.window();
        if srtt.is_zero() || cwnd == u64::MAX {
            // A clock in ticks saw no time pass, or there is no window: no rate follows from that.
            return false;
        }
        let pace = Pace { cwnd, srtt, slow_start: self.congestion.in_slow_start(), smss: self.send.mss };
        let Some(at) = pacer.wait(&pace, self.board.is_empty(), ctx.now()) else {
            return false;
        };
        ctx.shared.counters.paced += 1;
        self.timers.set(Timer::Pacing, at, ctx.cx);
        true
    }

    /// Whether one segment from `seq` on can stand for many: the device below cuts what has a header like any other's.
    /// With gateways in IP's header, or urgent data ahead, each has one of its own; with pacing each has its own time.
    fn may_lengthen(&self, seq: Seq, ctx: &Ctx<'_, '_>) -> bool {
        ctx.shared.burst > 1 && self.pacer.is_none() && self.route.gateways.is_none() && !self.has_urgent_beyond(seq)
    }

    /// Where it can be, and nothing is being made good, one segment stands for many.
    fn lengthen(&self, next: Next, window: u64, ctx: &Ctx<'_, '_>) -> Next {
        if self.recovery.phase == Phase::None && self.may_lengthen(self.board.nxt(), ctx) {
            self.send.lengthen(next, &self.board, window, ctx.shared.burst)
        } else {
            next
        }
    }

    /// Whether what is sent next begins with the initial window again.
    pub(super) fn started_over(&self, ctx: &Ctx<'_, '_>) -> bool {
        ctx.shared.config.slow_start_after_idle
            && self.board.is_empty()
            && ctx.now().saturating_since(self.last_sent) > self.rtt.rto(&ctx.shared.config.rto)
    }

    /// RFC 5681 section 4.1.
    fn restart_if_idle(&mut self, ctx: &mut Ctx<'_, '_>) {
        let now = ctx.now();
        if self.send.unsent() > 0 && self.started_over(ctx) {
            self.congestion.on_idle(now);
            self.window_by(Limit::SlowStart);
            self.begin_buffers_again();
            self.last_sent = now;
        }
    }

    /// Sends one segment again, if recovery asks for it and the congestion window allows it.
    fn recover(&mut self, window: u64, new: bool, ctx: &mut Ctx<'_, '_>) -> Step {
        let room = window.saturating_sub(self.board.pipe().into());
        if !self.recovery.forced && room < self.send.mss.into() && self.board.pipe() > 0 {
            return Step::Wait;
        }
        if let Some(left) = self.recovery.new_instead()
            && !self.recovery.forced
        {
            if new && left > 0 {
                return Step::New;
            }
            if left < 2 {
                return Step::Wait;
            }
            // The acknowledgment closed the window for new data: step 3 is skipped (RFC 5682 section 2.1 step 2 (b)).
            self.recovery.skip_new();
        }
        let mss = self.send.mss;
        // Rules 2 to 4 of NextSeg are for fast recovery with SACK (RFC 6675 section 5.1), and not for RACK, which marks
        // all that is to be retransmitted.
        let next = match self.recovery.phase {
            Phase::Fast(_) if self.sack && self.recovery.rack.is_none() => self.board.next_seg(mss, new),
            Phase::Fast(_) | Phase::Timeout(_) | Phase::None => self.board.next_lost(mss).map(NextSeg::Again),
        };
        let again = matches!(next, Some(NextSeg::Again(_) | NextSeg::Rescue(_)));
        if again && !self.recovery.forced && self.is_too_early(ctx) {
            return Step::Paced;
        }
        match next {
            Some(NextSeg::Again(span)) => {
                self.recovery.forced = false;
                self.send_again(span, ctx);
                self.board.on_retransmit(span, ctx.now());
                Step::Sent
            }
            Some(NextSeg::Rescue(span)) => {
                self.send_again(span, ctx);
                self.board.on_rescue(span, ctx.now());
                Step::Sent
            }
            Some(NextSeg::New) => Step::New,
            // A FIN by itself is new, but no data.
            None if new => Step::New,
            None => Step::Wait,
        }
    }

    /// Sends `span` again, wherever the window's edge is now (MUST-34, SHLD-16, MAY-7).
    pub(super) fn send_again(&mut self, span: Span, ctx: &mut Ctx<'_, '_>) {
        let text = self.send.again(span);
        let mut flags = Flags::ACK;
        if matches!(self.send.fin, Fin::Sent(at) if at.lt(span.end)) {
            flags |= Flags::FIN;
        }
        if span.end == self.board.nxt() && !text.is_empty() {
            flags |= Flags::PSH;
        }
        self.count_again(ctx);
        let ts = self.timestamps.then(|| self.ts_now(ctx.now()));
        self.recovery.on_again(span, ts);
        if let Some(pacer) = &mut self.pacer {
            pacer.on_sent(span.len());
        }
        self.emit(span.start, flags, text, ctx);
        self.last_sent = ctx.now();
        self.note(Event::Retransmitted, ctx.now());
        self.time_again(ctx);
    }

    pub(super) fn send_new(&mut self, next: Next, ctx: &mut Ctx<'_, '_>) {
        let seq = self.board.nxt();
        let (text, read) = self.send.take(seq, next.octets);
        if read > 0 {
            ctx.cx.charge(kumiki_graph::Work::Sum, read);
        }
        let last = self.send.unsent() == 0;
        let mut flags = Flags::ACK;
        // MUST-61, SHLD-27: unsent data of one push joins that of the next.
        let ends_push = last && self.send.pushed && next.octets > 0;
        let ends_burst = ctx.shared.config.push_bursts && next.octets > self.send.mss && self.may_lengthen(seq, ctx);
        if ends_push || ends_burst {
            flags |= Flags::PSH;
        }
        let mut len = next.octets;
        if next.fin {
            flags |= Flags::FIN;
            self.send.fin = Fin::Sent(seq + len);
            len += 1;
        }
        self.board.on_send(len, ctx.now(), last);
        let probed = self.send.max.min(self.board.nxt());
        if probed.gt(seq) {
            // It went before, as a probe of the closed window: nobody will know which one is acknowledged (MUST-18).
            let span = Span { start: seq, end: probed };
            self.board.on_probed(span, ctx.now());
        }
        self.recovery.on_sent(len, false);
        if let Some(pacer) = &mut self.pacer {
            pacer.on_sent(len);
        }
        self.emit(seq, flags, text, ctx);
        self.last_sent = ctx.now();
        self.note(Event::Sent, ctx.now());
        self.time_new(ctx);
        self.timers.clear(Timer::SwsOverride);
        self.timers.clear(Timer::Persist);
    }

    /// Sees to it that what is held back is not held back for ever (MUST-60).
    fn watch(&mut self, held: SendLimit, ctx: &mut Ctx<'_, '_>) {
        let idle = self.board.is_empty();
        if idle && held == SendLimit::Window {
            if !self.timers.is_set(Timer::Persist) {
                self.arm_persist(ctx);
            }
            return;
        }
        self.timers.clear(Timer::Persist);
        if idle && held == SendLimit::Silly {
            if !self.timers.is_set(Timer::SwsOverride) {
                let delay = ctx.shared.config.override_timeout;
                let at = self.slow(delay, ctx);
                self.timers.set(Timer::SwsOverride, at, ctx.cx);
            }
        } else {
            self.timers.clear(Timer::SwsOverride);
        }
    }
}

/// What recovery did.
enum Step {
    /// It sent something again.
    Sent,
    /// There is no room for anything.
    Wait,
    /// It is too early for the next segment.
    Paced,
    /// New data may go.
    New,
}
