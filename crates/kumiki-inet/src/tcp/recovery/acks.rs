//! What acknowledgments tell of losses.

use kumiki_graph::{Duration, Instant};

use super::prr::{Bound, Delivery, Prr};
use super::rack::Rack;
use super::tlp::Answer;
use super::undo::{Frto, Verdict};
use super::{Phase, RateReduction};
use crate::tcp::congestion::{Acked, Loss};
use crate::tcp::limits::Limit;
use crate::tcp::scoreboard::{AckOutcome, Span};
use crate::tcp::segment::Segment;
use crate::tcp::session::{Ctx, Session};
use crate::tcp::trace::Event;

/// No more duplicates are waited for than this: the edge of what is lost is found by a walk over so many ranges.
const MOST_DUPLICATES: u32 = 64;

impl Session {
    /// An acknowledgment of something new. The order of the steps is the algorithm: each goes by what those before it
    /// have left.
    ///
    /// 1. Which copies it can be for (RFC 8985 section 6.2 step 2), before any is counted. The octet of a window probe
    ///    counts as sent.
    /// 2. The scoreboard hears what is acknowledged, by number and then by SACK (RFC 9293 section 3.10.7.4, RFC 6675
    ///    section 3).
    /// 3. One sample of the round trip (RFC 6298, RFC 7323 section 4).
    /// 4. Congestion marks (RFC 3168, RFC 9768), with what was in flight before.
    /// 5. There was an answer: duplicates and waits for one count from here, and the path carries what came through
    ///    (RFC 4821).
    /// 6. What a tail loss probe has found (RFC 8985 section 7.4.2), and reordering.
    /// 7. Whether nothing was lost at all (RFC 3522, RFC 3708, RFC 4015), or else how far recovery is (RFC 6582, RFC
    ///    6675); F-RTO's next step (RFC 5682).
    /// 8. What is lost by its time (RFC 8985 section 6.2), which may begin recovery; then what may be sent in it (RFC
    ///    9937).
    /// 9. The timers of what is still out (RFC 6298 rules 5.2 and 5.3).
    pub(crate) fn take_new_ack(&mut self, segment: &Segment, ctx: &mut Ctx<'_, '_>) {
        let (ack, now) = (segment.ack, ctx.now());
        // Step 1.
        self.set_credible_send_time(segment, now);
        if ack.gt(self.board.nxt()) {
            // The octet of a window probe was taken: now it counts as sent. Only a timestamp tells which probe's
            // (MUST-18).
            let probed_at = self.probed_at;
            let start = self.board.nxt();
            let (text, _) = self.send.take(start, ack - start);
            let octets = u32::try_from(text.len()).unwrap_or(0);
            let app_limited = self.send.unsent() == 0;
            self.board.on_send(octets, probed_at, app_limited);
            let end = self.board.nxt();
            self.board.on_probed(Span { start, end }, probed_at);
        }
        // Step 2.
        let flight = self.board.flight();
        ctx.shared.counters.new_acks += 1;
        ctx.shared.counters.flight_at_acks += u64::from(flight);
        let partial = matches!(self.recovery.phase, Phase::Fast(point) if ack.lt(point));
        let carried = self.carried(ack);
        let outcome = if partial && !self.sack {
            self.board.on_partial_ack(ack, now)
        } else {
            self.board.on_cumulative_ack(ack, now)
        };
        self.send.release(ack);
        let told = self.take_sack(segment, ctx);
        // Step 3.
        let late = if self.sample(segment, &outcome, &told, ctx) { None } else { self.echoed_trip(segment, now) };
        // Mostly there is no block, and nothing was told.
        let outcome = if segment.options.sack.is_empty() { outcome } else { outcome.and(told) };
        // Step 4.
        self.take_marks(segment, &outcome, flight, ctx);
        // Step 5.
        self.recovery.duplicates = 0;
        self.answered(ctx);
        self.progressed();
        self.take_path_answer(ctx);
        self.trust_path(carried, ctx);
        self.recovery.limited = 0;
        // Step 6.
        self.take_probe_answer(segment, &outcome, false, ctx);
        let was = self.recovery.phase;
        self.take_reordering(&outcome, ctx);
        // Step 7. What is undone stays as it is for this acknowledgment (RFC 4015 section 3.4).
        if !self.find_spurious(segment, &outcome, late, ctx) {
            self.advance_recovery(&outcome, flight, ctx);
        }
        self.step_frto(ctx);
        // Step 8.
        let exiting = was != Phase::None && self.recovery.phase == Phase::None;
        let losses = self.rack_update_and_detect_loss(&outcome, exiting, ctx);
        self.reduce_in_proportion(&outcome, losses + outcome.lost == 0);
        // Step 9.
        if self.board.is_empty() {
            self.clear_loss_timers();
            if let Some(record) = &mut self.record {
                record.acknowledgments.empty(ack, self.last_sent, now);
            }
        } else {
            self.arm_retransmit(ctx);
        }
        self.note(Event::Acknowledged, now);
    }

    /// Karn's rule (MUST-18) is the scoreboard's; where it leaves no sample of what is acknowledged, a timestamp may,
    /// or what the same segment reports by SACK (`sacked`). Whether there was one: an acknowledgment is one sample.
    fn sample(&mut self, segment: &Segment, outcome: &AckOutcome, sacked: &AckOutcome, ctx: &Ctx<'_, '_>) -> bool {
        if let Some(rtt) = outcome.rtt {
            self.on_round_trip(rtt, ctx);
        } else if let Some(rtt) = self.trip_of_last_copy(segment, outcome, ctx.now()) {
            self.on_echoed_trip(rtt, ctx);
        } else if let Some(rtt) = sacked.rtt {
            self.on_round_trip(rtt, ctx);
        } else {
            return false;
        }
        true
    }

    /// The round trip that a timestamp tells of, where what it echoes is the last copy of what is acknowledged.
    ///
    /// An earlier one may be that of an acknowledgment that was lost: RFC 7323 section 5.3 has a receiver record no
    /// timestamp of a segment that it has already, so that what repeats that acknowledgment echoes it again, and the
    /// time-out in between would be taken for a round trip. Each would make the next time-out longer.
    fn trip_of_last_copy(&self, segment: &Segment, outcome: &AckOutcome, now: Instant) -> Option<Duration> {
        let trip = self.echoed_trip(segment, now)?;
        let tick = Duration::from_millis(1);
        let copy = |again| trip <= now.saturating_since(again) + tick;
        outcome.again.is_none_or(copy).then_some(trip)
    }

    /// How long ago what `segment` echoes was sent, by our clock of milliseconds (RFC 7323 section 4.1).
    pub(crate) fn echoed_trip(&self, segment: &Segment, now: Instant) -> Option<Duration> {
        let (_, echo) = segment.options.timestamps?;
        let age = self.ts_now(now).wrapping_sub(echo);
        let believed = self.timestamps && echo != 0 && age < 1 << 31;
        believed.then(|| Duration::from_millis(age.max(1).into()))
    }

    fn take_sack(&mut self, segment: &Segment, ctx: &Ctx<'_, '_>) -> AckOutcome {
        if !self.sack || segment.options.sack.is_empty() {
            return AckOutcome::default();
        }
        let blocks = segment.options.sack.as_slice();
        self.board.on_sack(segment.ack, blocks, ctx.now())
    }

    /// Which copies of what was sent twice `segment` can be for (RFC 8985 section 6.2 step 2).
    fn set_credible_send_time(&mut self, segment: &Segment, now: Instant) {
        let Some(rack) = &self.recovery.rack else {
            return;
        };
        let mut credible = rack.min_rtt().map_or(now, |min_rtt| now - min_rtt);
        if let Some((_, echo)) = segment.options.timestamps
            && self.timestamps
        {
            let age = self.ts_now(now).wrapping_sub(echo);
            if age < 1 << 31 {
                // The last instant at which the clock showed what is echoed.
                let tick = (now.as_nanos() / 1_000_000).saturating_sub(age.into());
                let last = (tick + 1).saturating_mul(1_000_000).saturating_sub(1);
                credible = credible.min(Instant::from_nanos(last));
            }
        }
        self.board.believe_until(credible);
    }

    /// TLP_process_ack of RFC 8985 section 7.4.2.
    fn take_probe_answer(&mut self, segment: &Segment, outcome: &AckOutcome, duplicate: bool, ctx: &mut Ctx<'_, '_>) {
        self.note_probe_answer(segment, outcome, ctx.now());
        let Some(tlp) = &mut self.recovery.tlp else {
            return;
        };
        let answer = Answer {
            ack: segment.ack,
            dsack: outcome.dsack,
            bare_duplicate: duplicate && segment.options.sack.is_empty(),
        };
        if tlp.on_ack(&answer) && self.recovery.phase == Phase::None {
            ctx.shared.counters.probes_repaired += 1;
            self.recovery.forget_undo();
            let flight = u64::from(self.board.flight());
            let now = ctx.now();
            if !self.ecn.has_reduced(self.board.una()) {
                self.congestion.on_loss(&Loss { now, flight: flight + u64::from(outcome.acked) });
                self.window_by(Limit::Loss);
                self.congestion.on_recovered(now, flight);
                self.ecn.on_reduced(self.board.nxt());
            }
        }
    }

    /// Takes note of whether the wait for a probe was for nothing, where that is asked for. Unlike [`super::tlp::Tlp`]
    /// also where its answer began a recovery, or came after one.
    fn note_probe_answer(&mut self, segment: &Segment, outcome: &AckOutcome, now: Instant) {
        let tick = Duration::from_millis(1);
        let probed = self.record.as_ref().and_then(|record| record.limits.probed());
        let Some(probed) = probed.filter(|probed| !segment.ack.lt(probed.end)) else {
            return;
        };
        let took = now.saturating_since(probed.sent);
        let is_told_apart = probed.sent.saturating_since(probed.quiet) > tick * 2;
        let is_later = match self.echoed_trip(segment, now).filter(|_| is_told_apart) {
            Some(trip) => trip <= took + tick,
            // No answer comes in less than a part of the shortest round trip. That may have been a full segment's, and
            // have had a queue in it that is gone by then.
            None => took >= self.recovery.rack.as_ref().and_then(Rack::min_rtt).unwrap_or_default() / 4,
        };
        if let Some(record) = &mut self.record {
            record.limits.probe_acknowledged(is_later && outcome.dsack.is_none());
        }
    }

    /// Whether `segment` shows that nothing was lost; then the response of RFC 4015. `late`: the round trip it tells
    /// of, if that was no sample.
    fn find_spurious(
        &mut self,
        segment: &Segment,
        outcome: &AckOutcome,
        late: Option<Duration>,
        ctx: &mut Ctx<'_, '_>,
    ) -> bool {
        if !ctx.shared.config.undo {
            return false;
        }
        let recovering = self.recovery.phase != Phase::None;
        let undo = &mut self.recovery.undo;
        let mut spurious = outcome.dsack.is_some_and(|block| undo.on_dsack(block) && self.board.pending() == 0);
        if recovering && outcome.acked > 0 {
            let echo = segment.options.timestamps.filter(|_| self.timestamps);
            let all = self.board.is_empty();
            spurious |= undo.on_acceptable(echo.map(|(_, echo)| echo), outcome.dsack.is_some(), all);
        }
        if let Phase::Timeout(point) = self.recovery.phase {
            let blocks = segment.options.sack.as_slice();
            let above = segment.ack.gt(point) || blocks.iter().any(|block| block.right.gt(point));
            let verdict = undo.frto_verdict(outcome.delivered > 0 && !above);
            spurious |= verdict == Some(Verdict::Spurious);
            if verdict == Some(Verdict::Genuine) && !spurious {
                self.recover_as_usual(outcome, ctx);
            }
        }
        if spurious {
            self.undo(outcome, late, ctx);
        }
        spurious
    }

    /// The time-out was for something: step 3 (a) of F-RTO.
    fn recover_as_usual(&mut self, outcome: &AckOutcome, ctx: &Ctx<'_, '_>) {
        let (una, nxt) = (self.board.una(), self.board.nxt());
        if outcome.acked == 0 && self.congestion.window() < 3 * u64::from(self.send.mss) {
            // The segment that slow start would have sent and had acknowledged by now in place of a new one.
            self.congestion.on_ack(&Acked {
                now: ctx.now(),
                octets: self.send.mss.into(),
                flight: self.board.flight().into(),
                srtt: self.rtt.srtt(),
                rtt: None,
                una,
                nxt,
                window_limited: true,
            });
        }
        if !self.sack {
            // Of the new segments nobody knows which arrived: they come last, and "recover" is behind them.
            self.board.mark_all_lost();
            self.recovery.phase = Phase::Timeout(nxt);
        }
    }

    /// How far segments overtake each other, where that is asked for.
    fn take_reordering(&mut self, outcome: &AckOutcome, ctx: &Ctx<'_, '_>) {
        if outcome.reordered {
            let segments = outcome.extent.div_ceil(self.send.mss.max(1));
            self.wait_for_duplicates(segments + 1, ctx);
        }
    }

    /// RFC 4015 section 3: congestion control is again what it was, and nothing more is retransmitted.
    fn undo(&mut self, outcome: &AckOutcome, late: Option<Duration>, ctx: &mut Ctx<'_, '_>) {
        let acked = outcome.acked;
        let undo = &self.recovery.undo;
        let counters = &mut ctx.shared.counters;
        if undo.timeout {
            counters.spurious_timeouts += 1;
            self.rtt.reset_back_off();
            // It was in flight all that time after all, and the next need not time out.
            if let Some(trip) = late {
                self.on_echoed_trip(trip, ctx);
            }
        } else {
            counters.spurious_recoveries += 1;
            // RFC 3522's SpuriousRecovery.
            let enough = undo.duplicates.saturating_add(1).min(MOST_DUPLICATES);
            self.wait_for_duplicates(enough, ctx);
            if let Some(rack) = &mut self.recovery.rack {
                rack.on_spurious();
            }
        }
        self.recovery.forget_undo();
        let initial = ctx.shared.config.initial_window.octets(self.send.mss);
        let flight = u64::from(self.board.flight());
        if self.ecn.on_undone() {
            self.congestion.undo(flight + u64::from(acked).min(initial));
            if let Some(record) = &mut self.record {
                record.limits.undo_window();
            }
        }
        if self.recovery.phase != Phase::None {
            self.recovery.end();
            self.board.clear_duplicates();
            self.board.unmark_pending();
        }
        self.note(Event::Undone, ctx.now());
    }

    /// Reordering needs more duplicates than usual as proof, where RACK does not wait instead.
    fn wait_for_duplicates(&mut self, enough: u32, ctx: &Ctx<'_, '_>) {
        let config = &ctx.shared.config;
        if self.recovery.rack.is_some() || !config.adapt_to_reordering {
            return;
        }
        let now = self.recovery.dup_thresh.max(config.duplicate_threshold);
        if enough > now {
            self.recovery.dup_thresh = enough.min(MOST_DUPLICATES);
            self.board.set_dup_thresh(self.recovery.dup_thresh);
        }
    }

    /// Step 2 of F-RTO, after the first new acknowledgment since the time-out.
    fn step_frto(&mut self, ctx: &Ctx<'_, '_>) {
        let Frto::Again(end) = self.recovery.undo.frto else {
            return;
        };
        let half = ctx.shared.config.half_window;
        let next = self.send.next(&self.board, self.cwnd(), half, false);
        let goes_on = matches!(self.recovery.phase, Phase::Timeout(_))
            && (self.sack || self.board.una().geq(end))
            && next.is_ok_and(|next| next.octets > 0);
        self.recovery.undo.frto = if goes_on { Frto::New(2) } else { Frto::Off };
    }

    /// Steps 1 to 4 of RFC 8985 section 6.2 (RACK_update and what adapts the reordering window), then step 5
    /// (RACK_detect_loss). Returns the octets newly lost.
    fn rack_update_and_detect_loss(&mut self, outcome: &AckOutcome, exiting: bool, ctx: &mut Ctx<'_, '_>) -> u32 {
        let Some(rack) = &mut self.recovery.rack else {
            return 0;
        };
        let now = ctx.now();
        if let Some(rtt) = outcome.rtt_newest {
            rack.on_rtt(rtt, now);
        }
        rack.on_delivered(outcome, now);
        let (una, nxt) = (self.board.una(), self.board.nxt());
        rack.adapt(outcome.dsack.is_some(), exiting, una, nxt);
        self.detect_losses(outcome.delivered, ctx)
    }

    /// RACK_detect_loss_and_arm_timer, but for arming; enters recovery where something was lost. Returns the octets
    /// newly lost; the acknowledgment that asks for it has `delivered` some.
    pub(super) fn detect_losses(&mut self, delivered: u32, ctx: &mut Ctx<'_, '_>) -> u32 {
        let conditions = self.rack_conditions(ctx);
        let Some(rack) = &mut self.recovery.rack else {
            return 0;
        };
        let (Some(latest), Some(loss_timeout)) = (rack.segment(), rack.loss_timeout(&conditions)) else {
            return 0;
        };
        let now = ctx.now();
        let overdue = self.board.mark_overdue(Some(latest), loss_timeout, now);
        rack.set_reordering_at(overdue.next);
        ctx.shared.counters.rack_lost += u64::from(overdue.octets);
        if self.board.pending() == 0 {
            return overdue.octets;
        }
        match self.recovery.phase {
            Phase::None => self.enter_recovery(delivered, ctx),
            Phase::Timeout(_) if self.recovery.not_congestion && overdue.octets > 0 => {
                self.enter_recovery(delivered, ctx);
            }
            Phase::Fast(_) if self.recovery.prr.is_none() => {
                // A retransmission lost is a second indication of congestion, unless PRR takes care (section 9.3).
                if overdue.retransmission.is_some_and(|order| order >= self.recovery.reduced_at) {
                    self.recovery.reduced_at = self.board.order();
                    self.congestion.on_loss(&Loss { now, flight: self.board.flight().into() });
                    self.window_by(Limit::Loss);
                    self.ecn.on_reduced(self.board.nxt());
                }
            }
            Phase::Fast(_) | Phase::Timeout(_) => {}
        }
        overdue.octets
    }

    fn advance_recovery(&mut self, outcome: &AckOutcome, flight: u32, ctx: &mut Ctx<'_, '_>) {
        let now = ctx.now();
        let una = self.board.una();
        match self.recovery.phase {
            Phase::Fast(point) if una.geq(point) || !(self.sack || ctx.shared.config.new_reno) => {
                // PRR has brought the flight to ssthresh, which is cwnd then; otherwise there must be no burst.
                let flight = match self.recovery.prr {
                    Some(_) => u64::MAX,
                    None => self.board.flight().into(),
                };
                self.recovery.end();
                self.board.clear_duplicates();
                self.congestion.on_recovered(now, flight);
                self.note(Event::Recovered, now);
                return;
            }
            Phase::Fast(_) => {
                if !self.sack {
                    // RFC 6582 section 3.2 step 3: a partial acknowledgment shows the next hole.
                    self.board.mark_first_lost(self.send.mss);
                    self.recovery.forced = true;
                }
                return;
            }
            Phase::Timeout(point) if una.geq(point) => {
                self.recovery.end();
                self.note(Event::Recovered, now);
            }
            Phase::Timeout(_) | Phase::None => {}
        }
        if !self.ecn.holds_growth() {
            self.congestion.on_ack(&Acked {
                now,
                octets: outcome.acked.into(),
                flight: flight.into(),
                srtt: self.rtt.srtt(),
                rtt: outcome.rtt_newest,
                una,
                nxt: self.board.nxt(),
                window_limited: self.window_limited,
            });
        }
        if self.recovery.phase == Phase::None && self.sack && self.board.is_lost(self.board.una()) {
            self.enter_recovery(outcome.delivered, ctx);
        }
    }

    /// An acknowledgment that acknowledges nothing new: a duplicate by RFC 5681 section 2, or by RFC 6675 section 2
    /// where SACK says that something arrived. Where a later one has overtaken it, what it says by SACK is all that
    /// counts: "upon the receipt of any ACK containing SACK information, the scoreboard MUST be updated" (RFC 6675
    /// section 5). How long it was in flight, its window and its marks are of no use.
    pub(crate) fn take_old_ack(&mut self, segment: &Segment, ctx: &mut Ctx<'_, '_>) {
        let is_overtaken = segment.ack.lt(self.board.una());
        self.set_credible_send_time(segment, ctx.now());
        let outcome = self.take_sack(segment, ctx);
        if let Some(rtt) = outcome.rtt.filter(|_| !is_overtaken) {
            // What was sent once and is reported is acknowledged as well as anything (RFC 6298 section 3). Where each
            // second segment is lost and there are no timestamps, no other acknowledgment is a measure, and nothing
            // else ends the back-off.
            self.on_round_trip(rtt, ctx);
        }
        if !is_overtaken {
            self.take_marks(segment, &outcome, self.board.flight(), ctx);
        }
        let same_window = u32::from(segment.window) << self.send.shift == self.send.wnd;
        let plain = segment.len() == 0 && same_window && !is_overtaken;
        self.take_probe_answer(segment, &outcome, plain, ctx);
        let answers = plain || outcome.delivered > 0;
        if outcome.dsack.is_some() || (self.recovery.new_instead().is_some() && answers) {
            self.find_spurious(segment, &outcome, None, ctx);
        }
        if !self.sack && plain && matches!(self.recovery.undo.frto, Frto::Again(_)) {
            // Step 2 (a) of the basic algorithm.
            self.recovery.undo.frto = Frto::Off;
        }
        if self.board.is_empty() && self.recovery.rack.is_none() {
            return;
        }
        let duplicate = if self.sack { outcome.delivered > 0 } else { plain };
        if duplicate {
            self.recovery.duplicates += 1;
            if let Some(undo) = self.recovery.undo.own() {
                undo.duplicates = undo.duplicates.max(self.recovery.duplicates);
            }
            ctx.shared.counters.duplicate_acks += 1;
        }
        if self.recovery.rack.is_some() {
            self.rack_update_and_detect_loss(&outcome, false, ctx);
            if duplicate {
                self.choose_timer(ctx);
            }
        } else if duplicate {
            self.count_duplicate(&outcome, ctx);
        }
        self.reduce_in_proportion(&outcome, false);
    }

    /// PRR's part in each acknowledgment of fast recovery.
    fn reduce_in_proportion(&mut self, outcome: &AckOutcome, safe: bool) {
        if let Some(prr) = &mut self.recovery.prr {
            prr.on_ack(&Delivery {
                delivered: outcome.delivered.into(),
                inflight: self.board.pipe().into(),
                ssthresh: self.congestion.ssthresh(),
                smss: self.send.mss.into(),
                safe,
            });
        }
    }

    fn count_duplicate(&mut self, outcome: &AckOutcome, ctx: &mut Ctx<'_, '_>) {
        self.take_reordering(outcome, ctx);
        let threshold = match ctx.shared.config.duplicate_threshold {
            0 => 0,
            threshold => threshold.max(self.recovery.dup_thresh),
        };
        match self.recovery.phase {
            Phase::Fast(_) => {
                if !self.sack {
                    self.board.on_duplicate_ack(self.send.mss);
                }
            }
            Phase::Timeout(_) => {}
            Phase::None if threshold == 0 => {}
            Phase::None => {
                if !self.sack && (ctx.shared.config.limited_transmit || self.recovery.duplicates >= threshold) {
                    self.board.on_duplicate_ack(self.send.mss);
                }
                let lost = self.sack && self.board.is_lost(self.board.una());
                if self.recovery.duplicates >= threshold || lost {
                    self.enter_recovery(outcome.delivered, ctx);
                }
            }
        }
    }

    /// RFC 5681 section 3.2, RFC 6582 section 3.2 step 2, RFC 6675 section 5 step 4.
    /// The acknowledgment that shows the loss has `delivered` so many octets.
    fn enter_recovery(&mut self, delivered: u32, ctx: &mut Ctx<'_, '_>) {
        if self.only_probe_lost(ctx) {
            return;
        }
        ctx.shared.counters.fast_retransmits += 1;
        let flight = self.loss_flight();
        self.congestion.save(flight);
        if let Some(record) = &mut self.record {
            record.limits.save_window();
        }
        self.recovery.undo.begin(false, self.recovery.duplicates);
        // Losses and marks of one window of data have one response together (RFC 3168 section 6.1.2).
        if !self.ecn.has_reduced(self.board.una()) {
            self.congestion.on_loss(&Loss { now: ctx.now(), flight });
            self.window_by(Limit::Loss);
        }
        self.ecn.on_reduced(self.board.nxt());
        self.recovery.phase = Phase::Fast(self.board.nxt());
        self.recovery.not_congestion = false;
        self.recovery.forced = true;
        self.recovery.reduced_at = self.board.order();
        if let Some(tlp) = &mut self.recovery.tlp {
            tlp.reset();
        }
        if self.recovery.rack.is_none() {
            self.board.on_recovery();
            self.board.mark_first_lost(self.send.mss);
        }
        let bound = match ctx.shared.config.rate_reduction {
            RateReduction::AtOnce => None,
            RateReduction::Prr => Some(Bound::Safe),
            RateReduction::PrrCrb => Some(Bound::Conservative),
            RateReduction::PrrSsrb => Some(Bound::SlowStart),
        };
        // Without congestion control there is nothing to reduce to.
        let bounded = self.congestion.ssthresh() < u64::MAX;
        let held = u64::from(self.board.flight() - self.board.sacked());
        let inflight = self.board.pipe().into();
        let bound = bound.filter(|_| self.sack && bounded);
        self.recovery.prr = bound.map(|bound| Box::new(Prr::new(bound, held + u64::from(delivered), inflight)));
        self.note(Event::Recovery, ctx.now());
    }
}
