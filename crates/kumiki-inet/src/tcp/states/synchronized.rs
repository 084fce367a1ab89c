//! ESTABLISHED, FIN-WAIT-1, FIN-WAIT-2 and CLOSE-WAIT, and the checks that all synchronized states share: RFC 9293
//! section 3.10.7.4, in its order.

use kumiki_graph::{Duration, Indication, Reason};
use kumiki_octets::Message;
use kumiki_wire::inet::tcp::{Flags, SackBlock, Seq};

use super::State;
use crate::tcp::challenge::Plausibility;
use crate::tcp::reassembly::Inserted;
use crate::tcp::receive::{AckReason, OwedAck};
use crate::tcp::segment::Segment;
use crate::tcp::session::{Ctx, Session};
use crate::tcp::timers::Timer;
use crate::tcp::trace::Event;

/// TS.Recent is too old to judge by (RFC 7323 section 5.5).
const PAWS_IDLE: Duration = Duration::from_secs(24 * 24 * 3600);

impl Session {
    pub(super) fn in_data_transfer(&mut self, segment: Segment, ctx: &mut Ctx<'_, '_>) {
        if !self.passes_checks(&segment, ctx) || !self.accepts_ack(&segment, ctx) {
            return;
        }
        self.believe(&segment, ctx);
        self.take_ack(&segment, ctx);
        if self.state == State::FinWait1 && self.send.fin_acked(self.board.una()) {
            self.state = State::FinWait2;
            self.arm_fin_wait_2(ctx);
        }
        self.take_urgent(&segment, ctx);
        let (arrived, cwr) = (segment.arrived(), segment.has(Flags::CWR));
        self.tell_marks_early(ctx);
        self.take_text(segment, ctx);
        self.take_ecn(arrived, cwr, ctx);
    }

    /// Sequence number, RST and SYN checks; false where the segment has been dealt with. They read, and answer; see the
    /// rule in [`super`].
    pub(super) fn passes_checks(&mut self, segment: &Segment, ctx: &mut Ctx<'_, '_>) -> bool {
        if !self.passes_paws(segment, ctx) {
            return false;
        }
        // Where the window is closed, the acknowledgment of a segment at its left edge still counts, and so do RST and
        // URG (MUST-66).
        let at_closed_window = self.receive.window() == 0 && segment.seq == self.receive.nxt;
        let at_fin = self.resets_at_fin(segment);
        if !at_closed_window && !at_fin && !self.receive.is_acceptable(segment.seq, segment.len()) {
            if !segment.has(Flags::RST) {
                self.refuse(segment, ctx);
            }
            return false;
        }
        if segment.has(Flags::RST) {
            // RFC 5961 section 3.2. Its text is not looked at (SHLD-2).
            if segment.seq != self.receive.nxt && !at_fin {
                self.challenge(Plausibility::Impossible, ctx);
                return false;
            }
            ctx.shared.counters.resets_received += 1;
            if self.state == State::SynReceived {
                self.refused(ctx);
            } else {
                self.end(Some(Reason::Reset), ctx);
            }
            return false;
        }
        if segment.has(Flags::SYN) {
            // RFC 5961 section 4.2.
            self.challenge(Plausibility::Impossible, ctx);
            return false;
        }
        // Without an ACK there is nothing to do (fifth step), and after negotiation a segment without timestamps is
        // none of this connection (RFC 7323 section 3.2).
        if !segment.has(Flags::ACK) || (self.timestamps && segment.options.timestamps.is_none()) {
            return false;
        }
        true
    }

    /// Whether a peer that has closed resets with the number of its FIN: it answers text that was in flight, and had
    /// been sent before we had the FIN, by what that text acknowledges. See [`crate::tcp`].
    fn resets_at_fin(&self, segment: &Segment) -> bool {
        let has_fin = matches!(self.state, State::CloseWait | State::Closing | State::LastAck);
        has_fin && segment.has(Flags::RST) && segment.seq + 1 == self.receive.nxt
    }

    /// All that is believed of a segment beside its acknowledgment, its window and its text: called once every check
    /// has been passed, and by nobody else.
    pub(super) fn believe(&mut self, segment: &Segment, ctx: &mut Ctx<'_, '_>) {
        self.believe_header(segment.seq, segment.options.timestamps, segment.octets(), ctx);
        self.learn_route(segment, ctx);
        if let Some(told) = segment.options.user_timeout {
            self.take_user_timeout(told, ctx);
        }
    }

    /// What is believed of a header that has nothing but timestamps for options; `octets` of text came with it.
    pub(in crate::tcp) fn believe_header(
        &mut self,
        seq: Seq,
        timestamps: Option<(u32, u32)>,
        octets: u32,
        ctx: &Ctx<'_, '_>,
    ) {
        self.dirty = true;
        if let Some((value, _)) = timestamps
            && self.timestamps
            && seq.leq(self.receive.last_ack_sent)
            && (self.is_recent_outdated(ctx) || !Seq(value).lt(Seq(self.receive.ts_recent.0)))
        {
            self.receive.ts_recent = (value, ctx.now());
        }
        self.timeouts.heard = ctx.now();
        if let Some(record) = &mut self.record {
            record.limits.heard();
        }
        if let Some((_, echo)) = timestamps
            && octets > 0
            && echo != 0
        {
            let age = self.ts_now(ctx.now()).wrapping_sub(echo);
            self.buffers.on_echo(Duration::from_millis(age.into()), ctx.now());
        }
    }

    /// Whether TS.Recent is of a time of which nothing can be said any more. A segment is accepted then whatever its
    /// timestamp, "and rule R3 updates TS.Recent with the TSval from the new segment" (RFC 7323 section 5.5).
    fn is_recent_outdated(&self, ctx: &Ctx<'_, '_>) -> bool {
        let (_, since) = self.receive.ts_recent;
        ctx.now().saturating_since(since) > PAWS_IDLE
    }

    /// RFC 7323 section 5.3, rule R1.
    fn passes_paws(&mut self, segment: &Segment, ctx: &mut Ctx<'_, '_>) -> bool {
        let Some((value, _)) = segment.options.timestamps.filter(|_| self.timestamps) else {
            return true;
        };
        let old = Seq(value).lt(Seq(self.receive.ts_recent.0));
        if !old || segment.has(Flags::RST) || self.is_recent_outdated(ctx) {
            return true;
        }
        ctx.shared.counters.paws_rejected += 1;
        self.challenge(Plausibility::Impossible, ctx);
        false
    }

    /// Answers a segment outside the window. Most are copies of what was received, or ask where the window is: where
    /// nothing else speaks against one it is reported as such (RFC 2883), and what the window can open further is said.
    fn refuse(&mut self, segment: &Segment, ctx: &mut Ctx<'_, '_>) {
        let credible = segment.has(Flags::ACK)
            && self.is_possible_ack(segment.ack)
            && (!self.timestamps || segment.options.timestamps.is_some());
        if !credible {
            self.challenge(Plausibility::Impossible, ctx);
            return;
        }
        let begins_below = segment.seq.lt(self.receive.nxt);
        if begins_below && !segment.text.is_empty() {
            self.take_copy_for_ecn();
        }
        // Each answer to text that is ahead of the window would be a duplicate acknowledgment to the peer.
        let behind = self.receive.nxt.distance_from(segment.seq);
        let lately = i64::from(self.receive.buffer.max(65_535));
        let is_late = segment.len() > 0 && !segment.has(Flags::SYN) && (0..=lately).contains(&i64::from(behind));
        let standing = if is_late { Plausibility::Copy } else { Plausibility::Misplaced };
        if !self.challenge(standing, ctx) {
            return;
        }
        // A FIN counts: a sender of probes looks for the end of what it sent twice (RFC 8985 section 7.4.2).
        if self.sack && begins_below && segment.len() > 0 && !segment.has(Flags::SYN) {
            let right = (segment.seq + segment.len()).min(self.receive.nxt);
            self.receive.copy = Some(SackBlock { left: segment.seq, right });
        }
        let probes = self.receive.window() < self.send.mss;
        let shows = self.take_syn_ack_again(segment);
        if probes || shows {
            self.dirty = true;
            self.receive.owe_now(AckReason::Unacceptable);
        }
    }

    /// Says where we stand, to whoever sent what is refused, as often as RFC 5961 section 7 allows; whether it will be
    /// said.
    pub(super) fn challenge(&mut self, standing: Plausibility, ctx: &mut Ctx<'_, '_>) -> bool {
        ctx.shared.counters.unacceptable += 1;
        let now = ctx.now();
        let config = &ctx.shared.config;
        let allowed = self.challenges.allow(standing, config.challenge_interval, now)
            && ctx.shared.budget.take(config.challenge_limit, now, ctx.cx.rng());
        if !allowed {
            ctx.shared.counters.challenges_spared += 1;
            return false;
        }
        self.receive.asked = true;
        true
    }

    /// Whether a peer that has seen what we sent can acknowledge `ack`; the lower bound is RFC 5961 section 5.2
    /// (MAY-12).
    fn is_possible_ack(&self, ack: Seq) -> bool {
        let oldest = self.board.una() - self.send.max_wnd;
        ack.leq(self.send.max) && ack.geq(oldest)
    }

    /// The fifth step, the ACK field, as far as it is a check; false where the segment must be dropped for it.
    pub(super) fn accepts_ack(&mut self, segment: &Segment, ctx: &mut Ctx<'_, '_>) -> bool {
        let possible = self.is_possible_ack(segment.ack);
        if !possible {
            self.challenge(Plausibility::Impossible, ctx);
        }
        possible
    }

    /// The fifth step, once the segment is believed.
    pub(super) fn take_ack(&mut self, segment: &Segment, ctx: &mut Ctx<'_, '_>) {
        let ack = segment.ack;
        if self.send.wnd == 0 {
            // A peer that answers with its window closed may do so for ever (MUST-37), also where it closed it over
            // what was in flight (SHLD-17).
            self.answered(ctx);
        }
        let una = self.board.una();
        if ack.gt(una) {
            self.take_new_ack(segment, ctx);
        } else if ack == una || (self.sack && !segment.options.sack.is_empty()) {
            self.take_old_ack(segment, ctx);
        }
        self.take_window(segment.seq, segment.ack, segment.window);
    }

    pub(in crate::tcp) fn take_window(&mut self, seq: Seq, ack: Seq, window: u16) {
        // A segment that fills a gap has a number below SND.WL1 and was yet sent later, where it acknowledges more than
        // SND.WL2: acknowledgments never go back. RFC 9293 section 3.10.7.4 leaves SND.WND alone then, and so moves
        // SND.UNA+SND.WND beyond what the peer has room for.
        let newer = self.send.wl1.lt(seq) || (self.send.wl1 == seq && self.send.wl2.leq(ack)) || self.send.wl2.lt(ack);
        if ack.lt(self.board.una()) || !newer {
            return;
        }
        let was_closed = self.send.wnd == 0;
        self.send.wnd = u32::from(window) << self.send.shift;
        self.send.max_wnd = self.send.max_wnd.max(self.send.wnd);
        (self.send.wl1, self.send.wl2) = (self.send.wl1.max(seq), ack);
        if was_closed && self.send.wnd > 0 {
            self.probes = 0;
            self.timers.clear(Timer::Persist);
        }
    }

    /// The seventh and eighth steps: text and FIN.
    pub(super) fn take_text(&mut self, segment: Segment, ctx: &mut Ctx<'_, '_>) {
        let fin = segment.has(Flags::FIN);
        if segment.text.is_empty() && !fin {
            return;
        }
        if !self.state.may_receive() {
            // CLOSE-WAIT: a copy of what ended with the FIN.
            self.challenge(Plausibility::Copy, ctx);
            return;
        }
        let window = self.receive.window();
        let octets = segment.octets();
        if octets > 0 && self.is_out_of_memory(ctx) {
            // As if it had been lost.
            ctx.shared.counters.out_of_memory += 1;
            self.receive.owe_now(AckReason::OutOfOrder);
            return;
        }
        // A FIN that came ahead of its turn may be waiting alone for this text.
        let waits = !self.receive.queue.is_empty() || self.receive.queue.knows_fin();
        let in_order = segment.seq == self.receive.nxt && octets <= window && !waits;
        if in_order {
            if octets > 0 {
                let push = segment.has(Flags::PSH) || fin;
                let count = segment.count();
                self.take_next_text(segment.text, (octets, count), push, ctx);
            }
            if fin {
                self.take_fin(ctx);
            }
            return;
        }
        self.take_disordered(segment, window, ctx);
    }

    /// Text that is simply the next, `octets` that came in so many segments.
    pub(in crate::tcp) fn take_next_text(
        &mut self,
        text: Message,
        (octets, count): (u32, u32),
        push: bool,
        ctx: &mut Ctx<'_, '_>,
    ) {
        self.deliver(text, push, ctx);
        let rule = ctx.shared.config.ack;
        self.receive.owe((octets, count), self.send.mss, rule, ctx.now());
        if let Some(record) = &mut self.record {
            record.acknowledgments.keep(self.receive.nxt, ctx.now());
        }
        if rule.pushed && push && octets < self.send.mss {
            self.receive.owe_now(AckReason::Data);
        }
    }

    /// Text that is not simply the next: ahead of its turn, partly old, beyond the window, or filling a gap. It is
    /// acknowledged at once (MAY-13).
    fn take_disordered(&mut self, segment: Segment, window: u32, ctx: &mut Ctx<'_, '_>) {
        let fin = segment.has(Flags::FIN);
        let push = segment.has(Flags::PSH) || fin;
        let nxt = self.receive.nxt;
        // Each segment ahead of its turn has an acknowledgment of its own, also where several come in one batch: the
        // sender counts them (RFC 5681 sections 3.2 and 4.2). All else that a batch brings is acknowledged at its end,
        // together.
        if segment.seq.gt(nxt)
            && let OwedAck::Now(why) = self.receive.due
        {
            self.send_ack(why, ctx);
        }
        if segment.seq.gt(nxt) && self.has_no_memory(ctx) {
            // As if it had been lost.
            ctx.shared.counters.out_of_memory += 1;
            self.receive.owe_now(AckReason::OutOfOrder);
            return;
        }
        let inserted = self.receive.queue.insert(nxt, window, segment.seq, segment.text, fin);
        self.receive.owe_now(AckReason::OutOfOrder);
        match inserted {
            Inserted::Queued(_) if segment.seq.gt(nxt) => ctx.shared.counters.out_of_order += 1,
            Inserted::Queued(_) => {}
            Inserted::Duplicate | Inserted::Outside => ctx.shared.counters.duplicates += 1,
            Inserted::Full => ctx.cx.drop("reassembly queue full"),
        }
        self.take_queued(push, ctx);
    }

    /// What is queued and now in order.
    pub(super) fn take_queued(&mut self, push: bool, ctx: &mut Ctx<'_, '_>) {
        while let Some(text) = self.receive.next_queued() {
            self.deliver(text, push, ctx);
            self.receive.owe_now(AckReason::OutOfOrder);
        }
        if self.receive.queue.fin_is_next(self.receive.nxt) {
            self.take_fin(ctx);
        }
    }

    /// Hands in-order text to the user, with its push (MAY-17), or keeps it until there is one.
    fn deliver(&mut self, text: Message, push: bool, ctx: &mut Ctx<'_, '_>) {
        let octets = u32::try_from(text.len()).unwrap_or(u32::MAX);
        self.receive.nxt += octets;
        self.receive.user = self.receive.user.saturating_add(octets);
        ctx.shared.counters.octets_received += u64::from(octets);
        self.note(Event::Received, ctx.now());
        if !self.accepted {
            self.receive.hold(text, push);
            return;
        }
        let indication = Indication::Data { session: self.user, data: text, end: push };
        self.up(indication, ctx);
        self.settle_urgent(ctx);
    }

    fn take_fin(&mut self, ctx: &mut Ctx<'_, '_>) {
        if self.receive.fin {
            return;
        }
        self.receive.fin = true;
        self.receive.nxt += 1;
        self.receive.edge = self.receive.edge.max(self.receive.nxt);
        self.receive.owe_now(AckReason::Fin);
        self.settle_urgent(ctx);
        if self.accepted {
            let session = self.user;
            self.up(Indication::Released { session, data: None }, ctx);
        }
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.enter_time_wait(ctx),
            State::Closed
            | State::SynSent
            | State::SynReceived
            | State::CloseWait
            | State::Closing
            | State::LastAck
            | State::TimeWait => {}
        }
    }
}
