//! What a session does when its timers expire.

use kumiki_graph::{Duration, Instant};
use kumiki_wire::inet::tcp::Flags;

use super::config::{AckTimer, Beat, Config};
use super::receive::{AckReason, OwedAck};
use super::session::{Ctx, Session};
use super::timers::Timer;
use super::trace::Event;

/// The longest interval between probes of a closed window (RFC 9293 section 3.8.6.1 leaves it open; 4.3BSD's value).
const PROBE_MAX: Duration = Duration::from_secs(60);

impl Session {
    /// When a slow timer of `delay` expires.
    pub(crate) fn slow(&self, delay: Duration, ctx: &Ctx<'_, '_>) -> Instant {
        slow_deadline(&ctx.shared.config, ctx.shared.slow_phase, ctx.now(), delay)
    }

    pub(crate) fn arm_retransmit(&mut self, ctx: &mut Ctx<'_, '_>) {
        self.recovery.rto_at = self.slow(self.rtt.rto(&ctx.shared.config.rto), ctx);
        self.choose_timer(ctx);
        self.arm_user_timeout(ctx);
    }

    pub(super) fn arm_persist(&mut self, ctx: &mut Ctx<'_, '_>) {
        let factor = 1u64.checked_shl(self.probes).unwrap_or(u64::MAX);
        let delay = (self.rtt.rto(&ctx.shared.config.rto) * factor).min(PROBE_MAX);
        let at = self.slow(delay, ctx);
        self.timers.set(Timer::Persist, at, ctx.cx);
        self.arm_user_timeout(ctx);
    }

    pub(super) fn arm_delayed_ack(&mut self, ctx: &mut Ctx<'_, '_>) {
        let at = match ctx.shared.config.ack_timer {
            AckTimer::Timeout(delay) => ctx.now() + delay,
            AckTimer::Heartbeat(beat) => beat_after(ctx.now(), beat.period, beat, ctx.shared.ack_phase),
        };
        self.timers.set(Timer::DelayedAck, at, ctx.cx);
    }

    /// The wheel says that `timer` expired.
    pub(crate) fn on_timer(&mut self, timer: Timer, ctx: &mut Ctx<'_, '_>) {
        if self.ended {
            return;
        }
        if !self.timers.expired(timer, ctx.cx) {
            self.give_room_back();
            return;
        }
        match timer {
            Timer::Retransmit => self.on_retransmit_timer(ctx),
            Timer::Reordering => self.on_reordering_timer(ctx),
            Timer::LossProbe => self.on_probe_timer(ctx),
            Timer::Pacing => {
                self.output(ctx);
                self.dirty = true;
            }
            Timer::DelayedAck => {
                if self.receive.due == OwedAck::Delayed {
                    self.receive.owe_now(AckReason::Timer);
                    self.dirty = true;
                }
            }
            Timer::Persist => self.on_persist_timer(ctx),
            Timer::SwsOverride => {
                let window = self.cwnd();
                let half = ctx.shared.config.half_window;
                if let Ok(next) = self.send.next(&self.board, window, half, true) {
                    ctx.shared.counters.overrides += 1;
                    self.send_new(next, ctx);
                }
                self.dirty = true;
            }
            Timer::UserTimeout => {
                self.give_up(ctx);
            }
            Timer::KeepAlive => self.on_keep_alive_timer(ctx),
            Timer::FinWait2 => {
                ctx.shared.counters.timed_out += 1;
                self.closed(ctx);
                self.end(None, ctx);
            }
        }
    }

    /// A timer found nothing to do, so the connection has been quiet for as long as that takes, or what it waited for
    /// came long ago: where nothing is in flight, what is kept of that goes back. An idle connection takes half as much
    /// memory then.
    fn give_room_back(&mut self) {
        if self.board.is_empty() && self.send.held() == 0 {
            self.board.fit();
            self.recovery.fit();
            self.send.fit_room();
        }
        self.receive.fit();
    }

    /// Probes a closed window (MUST-35, SHLD-29, SHLD-30) with the first unsent octet (MUST-36), which stays unsent.
    fn on_persist_timer(&mut self, ctx: &mut Ctx<'_, '_>) {
        let probe = self.send.peek();
        if probe.is_empty() || self.send.wnd > 0 {
            self.dirty = true;
            return;
        }
        if !self.may_try_again(ctx) {
            return;
        }
        self.probes += 1;
        self.probed_at = ctx.now();
        ctx.shared.counters.window_probes += 1;
        let seq = self.board.nxt();
        self.emit(seq, Flags::ACK, probe, ctx);
        self.note(Event::Probed, ctx.now());
        self.arm_persist(ctx);
    }
}

/// When a slow timer of `delay` that is set now expires.
pub(super) fn slow_deadline(config: &Config, phase: Duration, now: Instant, delay: Duration) -> Instant {
    match config.slow_beat {
        None => now + delay,
        Some(beat) => beat_after(now, delay, beat, phase),
    }
}

/// The beat at which a timer of `delay` expires that counts beats: at least the next one, and so many as `delay` has
/// periods.
fn beat_after(now: Instant, delay: Duration, beat: Beat, phase: Duration) -> Instant {
    let period = beat.period.as_nanos().max(1);
    let since = now.as_nanos().saturating_sub(phase.as_nanos());
    let next = if now.as_nanos() < phase.as_nanos() {
        phase.as_nanos()
    } else {
        phase.as_nanos() + (since / period + 1) * period
    };
    let beats = delay.as_nanos().div_ceil(period).max(1);
    Instant::from_nanos(next) + Duration::from_nanos(period) * (beats - 1)
}
