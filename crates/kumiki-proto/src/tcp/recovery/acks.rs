//! What acknowledgments tell of losses.

use kumiki_graph::Duration;

use super::Phase;
use crate::tcp::congestion::{Acked, Loss};
use crate::tcp::scoreboard::AckOutcome;
use crate::tcp::segment::Segment;
use crate::tcp::session::{Io, Session};
use crate::tcp::timers::Timer;
use crate::tcp::trace::Event;

impl Session {
    pub(crate) fn take_new_ack(&mut self, segment: &Segment, io: &mut Io<'_, '_>) {
        let (ack, now) = (segment.ack, io.now());
        if ack.gt(self.board.nxt()) {
            // The octet of a window probe was taken: now it counts as sent.
            let seq = self.board.nxt();
            let (text, _) = self.send.take(seq, ack - seq);
            self.board.on_send(
                u32::try_from(text.len()).unwrap_or(0),
                now,
                self.send.unsent() == 0,
            );
        }
        let flight = self.board.flight();
        let partial = matches!(self.recovery.phase, Phase::Fast(point) if ack.lt(point));
        let outcome = if partial && !self.sack {
            self.board.on_partial_ack(ack, now)
        } else {
            self.board.on_cumulative_ack(ack, now)
        };
        self.send.release(ack);
        self.sample(segment, &outcome, io);
        self.take_sack(segment, io);
        self.recovery.duplicates = 0;
        self.answered(io);
        self.progressed();
        self.advance_recovery(&outcome, flight, io);
        if self.board.is_empty() {
            self.timers.clear(Timer::Retransmit);
        } else {
            self.arm_retransmit(io);
        }
        self.note(Event::Acknowledged, now);
    }

    /// Karn's rule is the scoreboard's; where it leaves no sample, a timestamp may.
    fn sample(&mut self, segment: &Segment, outcome: &AckOutcome, io: &Io<'_, '_>) {
        if let Some(rtt) = outcome.rtt {
            self.rtt.on_sample(rtt);
        } else if let Some((_, echo)) = segment.options.timestamps
            && self.timestamps
            && echo != 0
        {
            let milliseconds = self.ts_now(io.now()).wrapping_sub(echo);
            if milliseconds < 1 << 31 {
                self.rtt
                    .on_sample(Duration::from_millis(milliseconds.max(1).into()));
            }
        }
    }

    fn take_sack(&mut self, segment: &Segment, io: &Io<'_, '_>) -> u32 {
        if !self.sack || segment.options.sack.is_empty() {
            return 0;
        }
        let blocks = segment.options.sack.as_slice();
        self.board.on_sack(segment.ack, blocks, io.now()).delivered
    }

    fn advance_recovery(&mut self, outcome: &AckOutcome, flight: u32, io: &mut Io<'_, '_>) {
        let now = io.now();
        let una = self.board.una();
        match self.recovery.phase {
            Phase::Fast(point) if una.geq(point) || !(self.sack || io.shared.config.new_reno) => {
                self.recovery.end();
                self.board.clear_duplicates();
                self.congestion
                    .on_recovered(now, self.board.flight().into());
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
        self.congestion.on_ack(&Acked {
            now,
            octets: outcome.acked.into(),
            flight: flight.into(),
            srtt: self.rtt.srtt(),
            window_limited: self.window_limited,
        });
        if self.recovery.phase == Phase::None && self.sack && self.board.is_lost(self.board.una()) {
            self.enter_recovery(io);
        }
    }

    /// An acknowledgment that acknowledges nothing new: a duplicate by RFC 5681 section 2, or by RFC 6675 section 2 where
    /// SACK says that something arrived.
    pub(crate) fn take_old_ack(&mut self, segment: &Segment, io: &mut Io<'_, '_>) {
        let news = self.take_sack(segment, io);
        if self.board.is_empty() {
            return;
        }
        let same_window = u32::from(segment.window) << self.send.shift == self.send.wnd;
        let plain = segment.len() == 0 && same_window;
        let duplicate = if self.sack { news > 0 } else { plain };
        if !duplicate {
            return;
        }
        self.recovery.duplicates += 1;
        io.shared.counters.duplicate_acks += 1;
        let threshold = io.shared.config.duplicate_threshold;
        match self.recovery.phase {
            Phase::Fast(_) => {
                if !self.sack {
                    self.board.on_duplicate_ack(self.send.mss);
                }
            }
            Phase::Timeout(_) => {}
            Phase::None if threshold == 0 => {}
            Phase::None => {
                if !self.sack
                    && (io.shared.config.limited_transmit || self.recovery.duplicates >= threshold)
                {
                    self.board.on_duplicate_ack(self.send.mss);
                }
                let lost = self.sack && self.board.is_lost(self.board.una());
                if self.recovery.duplicates >= threshold || lost {
                    self.enter_recovery(io);
                }
            }
        }
    }

    /// RFC 5681 section 3.2, RFC 6582 section 3.2 step 2, RFC 6675 section 5 step 4.
    fn enter_recovery(&mut self, io: &mut Io<'_, '_>) {
        io.shared.counters.fast_retransmits += 1;
        self.congestion.on_loss(&Loss {
            now: io.now(),
            flight: self.board.flight().into(),
        });
        self.recovery.phase = Phase::Fast(self.board.nxt());
        self.board.on_recovery();
        self.board.mark_first_lost(self.send.mss);
        self.recovery.forced = true;
        self.note(Event::Recovery, io.now());
    }
}
