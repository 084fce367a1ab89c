//! What a session does when its timers expire.

use kumiki_graph::{Duration, Instant, Reason};
use kumiki_wire::inet::tcp::Flags;

use super::config::{AckTimer, Beat, Config};
use super::receive::{AckReason, Due};
use super::session::{Io, Session};
use super::timers::Timer;
use super::trace::Event;

/// The longest interval between probes of a closed window (RFC 9293 section 3.8.6.1 leaves it open; 4.3BSD's value).
const PROBE_MAX: Duration = Duration::from_secs(60);

impl Session {
    /// When a slow timer of `delay` expires.
    pub(crate) fn slow(&self, delay: Duration, io: &Io<'_, '_>) -> Instant {
        slow_deadline(&io.shared.config, io.shared.slow_phase, io.now(), delay)
    }

    pub(crate) fn arm_retransmit(&mut self, io: &mut Io<'_, '_>) {
        self.recovery.rto_at = self.slow(self.rtt.rto(), io);
        self.choose_timer(io);
        self.arm_user_timeout(io);
    }

    pub(super) fn arm_persist(&mut self, io: &mut Io<'_, '_>) {
        let factor = 1u64.checked_shl(self.probes).unwrap_or(u64::MAX);
        let delay = (self.rtt.rto() * factor).min(PROBE_MAX);
        let at = self.slow(delay, io);
        self.timers.set(Timer::Persist, at, io.cx);
        self.arm_user_timeout(io);
    }

    pub(super) fn arm_delayed_ack(&mut self, io: &mut Io<'_, '_>) {
        let at = match io.shared.config.ack_timer {
            AckTimer::Timeout(delay) => io.now() + delay,
            AckTimer::Heartbeat(beat) => beat_after(io.now(), beat.period, beat, io.shared.ack_phase),
        };
        self.timers.set(Timer::DelayedAck, at, io.cx);
    }

    /// The wheel says that `timer` expired.
    pub(crate) fn on_timer(&mut self, timer: Timer, io: &mut Io<'_, '_>) {
        if self.ended || !self.timers.expired(timer, io.cx) {
            return;
        }
        match timer {
            Timer::Retransmit => self.on_retransmit_timer(io),
            Timer::Reordering => self.on_reordering_timer(io),
            Timer::LossProbe => self.on_probe_timer(io),
            Timer::Pacing => {
                self.output(io);
                self.stirred = true;
            }
            Timer::DelayedAck => {
                if self.receive.due == Due::Delayed {
                    self.receive.owe_now(AckReason::Timer);
                    self.stirred = true;
                }
            }
            Timer::Persist => self.on_persist_timer(io),
            Timer::SwsOverride => {
                let window = self.cwnd();
                let half = io.shared.config.half_window;
                if let Ok(next) = self.send.next(&self.board, window, half, true) {
                    io.shared.counters.overrides += 1;
                    self.send_new(next, io);
                }
                self.stirred = true;
            }
            Timer::UserTimeout => {
                io.shared.counters.timed_out += 1;
                self.reset(Some(Reason::TimedOut), io);
            }
            Timer::KeepAlive => self.on_keep_alive_timer(io),
            Timer::FinWait2 => {
                io.shared.counters.timed_out += 1;
                self.closed(io);
                self.end(None, io);
            }
        }
    }

    /// Probes a closed window (MUST-35, SHLD-29, SHLD-30) with the first unsent octet (MUST-36), which stays unsent.
    fn on_persist_timer(&mut self, io: &mut Io<'_, '_>) {
        let probe = self.send.peek();
        if probe.is_empty() || self.send.wnd > 0 {
            self.stirred = true;
            return;
        }
        if !self.may_try_again(io) {
            return;
        }
        self.probes += 1;
        self.probed_at = io.now();
        io.shared.counters.window_probes += 1;
        let seq = self.board.nxt();
        self.emit(seq, Flags::ACK, probe, io);
        self.note(Event::Probed, io.now());
        self.arm_persist(io);
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
