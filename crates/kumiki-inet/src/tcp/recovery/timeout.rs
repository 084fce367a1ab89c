//! Timers of loss recovery: the retransmission timer, and those of RACK-TLP that may take its place for a while.

use super::Phase;
use super::rack::Conditions;
use super::tlp::Tlp;
use super::undo::Frto;
use crate::tcp::congestion;
use crate::tcp::limits::{Limit, Probed};
use crate::tcp::scoreboard::DUP_THRESH;
use crate::tcp::session::{Ctx, Session};
use crate::tcp::timers::Timer;
use crate::tcp::trace::Event;

impl Session {
    pub(crate) fn on_retransmit_timer(&mut self, ctx: &mut Ctx<'_, '_>) {
        if self.board.is_empty() {
            return;
        }
        let now = ctx.now();
        let again = self.unanswered > 0;
        if !self.may_try_again(ctx) {
            return;
        }
        ctx.shared.counters.timeouts += 1;
        if let Some(record) = &mut self.record {
            record.count(now, |counts| counts.timeouts += 1);
        }
        self.rtt.back_off();
        if self.state.is_before_established() {
            self.send_syn(ctx);
            return;
        }
        self.suspect_path(ctx);
        let loss = congestion::Loss { now, flight: self.loss_flight() };
        let fresh = self.recovery.phase == Phase::None;
        if fresh {
            self.congestion.save(loss.flight);
            if let Some(record) = &mut self.record {
                record.limits.save_window();
            }
            self.recovery.undo.begin(true, 0);
        }
        // F-RTO may also start again for the same segment, not in another recovery (RFC 5682 section 3.1 step 1).
        let f_rto = ctx.shared.config.f_rto && ctx.shared.config.undo;
        let waiting = matches!(self.recovery.undo.frto, Frto::Again(_));
        self.recovery.undo.frto = match self.board.first_unacked(self.send.mss) {
            Some(span) if f_rto && (fresh || waiting) => Frto::Again(span.end),
            Some(_) | None => Frto::Off,
        };
        self.recovery.dup_thresh = 0;
        self.board.set_dup_thresh(DUP_THRESH);
        self.congestion.on_timeout(&loss, again);
        self.window_by(Limit::Loss);
        let quiet = self.last_sent.max(self.timeouts.heard);
        if let Some(record) = &mut self.record {
            record.limits.set_timed_out(quiet, self.last_sent, now);
        }
        self.ecn.on_reduced(self.board.nxt());
        self.mark_timed_out(ctx);
        self.recovery.duplicates = 0;
        self.recovery.limited = 0;
        self.recovery.prr = None;
        self.recovery.phase = Phase::Timeout(self.board.nxt());
        self.recovery.not_congestion = false;
        self.recovery.forced = true;
        self.note(Event::TimedOut, now);
        self.arm_retransmit(ctx);
        self.output(ctx);
        self.dirty = true;
    }

    /// What the expiry of the retransmission timer says is lost: everything, or with RACK the first segment and all
    /// that was sent long enough ago (RFC 8985 section 6.3).
    fn mark_timed_out(&mut self, ctx: &Ctx<'_, '_>) {
        let reneged = self.board.has_reneged();
        if reneged {
            self.board.forget_sacks();
        }
        self.board.clear_duplicates();
        if let Some(tlp) = &mut self.recovery.tlp {
            tlp.reset();
        }
        let conditions = self.rack_conditions(ctx);
        if let Some(rack) = &mut self.recovery.rack {
            rack.set_reordering_at(None);
            if let Some(loss_timeout) = rack.loss_timeout(&conditions)
                && !reneged
            {
                self.board.mark_first_lost(self.send.mss);
                self.board.mark_overdue(None, loss_timeout, ctx.now());
                return;
            }
        }
        self.board.mark_all_lost();
    }

    pub(super) fn rack_conditions(&self, ctx: &Ctx<'_, '_>) -> Conditions {
        Conditions {
            recovering: self.recovery.phase != Phase::None,
            segs_sacked: self.board.segments_sacked(),
            dup_thresh: ctx.shared.config.duplicate_threshold,
            srtt: self.rtt.srtt(),
        }
    }

    /// RFC 8985 section 8: one of three timers is armed while something is outstanding.
    pub(crate) fn choose_timer(&mut self, ctx: &mut Ctx<'_, '_>) {
        let Some(rack) = &self.recovery.rack else {
            let at = self.recovery.rto_at;
            self.timers.set(Timer::Retransmit, at, ctx.cx);
            return;
        };
        let rto_at = self.recovery.rto_at;
        // No other timer takes the place of the retransmission timer for longer than that would have waited: a round
        // trip that was suddenly long, by which RACK waits, says nothing of one that never ends.
        let reordering = rack.reordering_at().filter(|&at| at <= rto_at);
        // Where no probe may be sent, waiting for its time would only keep the retransmission timer from expiring,
        // again and again where new data trickles out.
        let may_probe = self.may_probe() && self.recovery.phase == Phase::None && self.board.sacked() == 0;
        let (timer, at) = if let Some(at) = reordering {
            (Timer::Reordering, at)
        } else if may_probe {
            let single = self.board.flight() <= self.send.mss;
            let pto = Tlp::pto(self.rtt.srtt(), single, ctx.shared.config.max_ack_delay);
            (Timer::LossProbe, (ctx.now() + pto).min(rto_at))
        } else {
            (Timer::Retransmit, rto_at)
        };
        self.clear_loss_timers();
        self.timers.set(timer, at, ctx.cx);
    }

    pub(crate) const fn clear_loss_timers(&mut self) {
        self.timers.clear(Timer::Retransmit);
        self.timers.clear(Timer::Reordering);
        self.timers.clear(Timer::LossProbe);
    }

    /// New data was sent.
    pub(crate) fn time_new(&mut self, ctx: &mut Ctx<'_, '_>) {
        let running = self.timers.is_set(Timer::Retransmit)
            || self.timers.is_set(Timer::LossProbe)
            || self.timers.is_set(Timer::Reordering);
        if !running {
            self.arm_retransmit(ctx);
        } else if self.recovery.tlp.is_some() {
            self.choose_timer(ctx);
        }
    }

    /// Something was retransmitted. With RACK the timer starts again then, as RFC 6675 section 6 allows: recovery may
    /// last longer than RTO.
    pub(crate) fn time_again(&mut self, ctx: &mut Ctx<'_, '_>) {
        if self.recovery.rack.is_some() || !self.timers.is_set(Timer::Retransmit) {
            self.arm_retransmit(ctx);
        }
    }

    /// Segments that may only have been reordered have had their time.
    pub(crate) fn on_reordering_timer(&mut self, ctx: &mut Ctx<'_, '_>) {
        if self.board.is_empty() {
            return;
        }
        self.detect_losses(0, ctx);
        self.choose_timer(ctx);
        self.output(ctx);
        self.dirty = true;
    }

    /// TLP_send_probe of RFC 8985 section 7.3.
    pub(crate) fn on_probe_timer(&mut self, ctx: &mut Ctx<'_, '_>) {
        if self.board.is_empty() {
            return;
        }
        if self.may_probe() {
            let samples = self.rtt.samples();
            ctx.shared.counters.loss_probes += 1;
            let (quiet, now) = (self.last_sent.max(self.timeouts.heard), ctx.now());
            let is_retrans = self.send_probe(ctx);
            let nxt = self.board.nxt();
            if let Some(record) = self.record.as_mut().filter(|_| is_retrans) {
                record.limits.probe(Probed { quiet, sent: now, end: nxt });
            }
            if let Some(tlp) = &mut self.recovery.tlp {
                tlp.on_probe(nxt, is_retrans, samples);
            }
            self.note(Event::LossProbe, ctx.now());
        }
        self.arm_retransmit(ctx);
        self.clear_loss_timers();
        let at = self.recovery.rto_at;
        self.timers.set(Timer::Retransmit, at, ctx.cx);
        self.dirty = true;
    }

    /// The two conditions of RFC 8985 section 7.3.
    fn may_probe(&self) -> bool {
        let samples = self.rtt.samples();
        let tlp = self.recovery.tlp.as_ref();
        tlp.is_some_and(|tlp| tlp.may_probe(samples))
    }

    /// New data if there is any, whatever the congestion window says; else the last segment again, and true.
    fn send_probe(&mut self, ctx: &mut Ctx<'_, '_>) -> bool {
        let half = ctx.shared.config.half_window;
        if let Ok(next) = self.send.next(&self.board, u64::MAX, half, true) {
            self.send_new(next, ctx);
            return false;
        }
        if let Some(span) = self.board.last_segment(self.send.mss) {
            self.send_again(span, ctx);
            self.board.on_retransmit(span, ctx.now());
        }
        true
    }
}
