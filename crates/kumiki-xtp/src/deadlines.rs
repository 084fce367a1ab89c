//! What a context's timers do.

use kumiki_graph::{Duration, Notice, Reason};
use kumiki_wire::xtp::Options;

use super::context::{Ctx, Endpoint, Exchange};
use super::timers::Timer;

/// So many questions without an answer, and the user is told.
const SILENT: u32 = 3;
/// So many answers at the least that bring nothing new, before CTIMEOUT counts.
const IN_VAIN: u32 = 16;

impl Endpoint {
    pub(crate) fn on_timer(&mut self, timer: Timer, ctx: &mut Ctx<'_, '_>) {
        self.timers.expired(timer);
        if self.ended {
            return;
        }
        self.dirty = true;
        match timer {
            Timer::Wait => self.wait_expired(ctx),
            Timer::Alive => self.alive_expired(ctx),
            // The end of the batch sends.
            Timer::Rate => {}
            Timer::Probe => self.probe_expired(ctx),
            Timer::Tail => self.tail_expired(ctx),
            Timer::Late => self.late_expired(ctx),
            Timer::Slot if self.part.is_receiver() => self.slot_expired(ctx),
            Timer::Slot => self.end_gathering(),
        }
    }

    /// How long all may be silent; zero: for ever. A transmitter gives up some, as long as there are others.
    fn max_silence(&self) -> Duration {
        let some = self.part.is_transmitter() && self.exchange != Exchange::Calling;
        if some { Duration::ZERO } else { self.modes.ctimeout }
    }

    /// The peer has given no answer for longer than we are willing to wait.
    fn has_timed_out(&self, ctx: &Ctx<'_, '_>) -> bool {
        let most = self.max_silence();
        let waited = |since| ctx.now().saturating_since(since) >= most;
        !most.is_zero() && self.asking.waiting.is_some_and(waited)
    }

    /// The peer answers, and has never any more of what is out, its end included (P22).
    pub(crate) fn is_in_vain(&self, ctx: &Ctx<'_, '_>) -> bool {
        let most = self.modes.ctimeout;
        let waited = ctx.now().saturating_since(self.fresh_at);
        !most.is_zero() && self.in_vain >= IN_VAIN && waited >= most
    }

    /// WTIMER: the synchronizing handshake begins, or goes on (P20).
    fn wait_expired(&mut self, ctx: &mut Ctx<'_, '_>) {
        if self.part.is_transmitter() && self.give_up_silent(ctx) {
            return;
        }
        if self.has_timed_out(ctx) {
            self.give_up(ctx);
            return;
        }
        self.controller.on_timeout(ctx.now());
        self.asking.expired();
        if self.asking.back_off >= SILENT && !self.silent {
            self.silent = true;
            self.notice(Notice::NoAnswer, ctx);
        }
        let begins = self.asking.syncing.is_none();
        self.send_handshake(ctx);
        ctx.shared.counters.handshakes += u64::from(begins && self.asking.syncing.is_some());
    }

    pub(crate) fn send_handshake(&mut self, ctx: &mut Ctx<'_, '_>) {
        let asked = if self.exchange == Exchange::Calling {
            self.send_first(ctx);
            true
        } else {
            self.ask(true, Options::NONE, ctx)
        };
        if asked {
            // Of a group each has answered who has answered any of these (P43).
            let before = self.asking.syncing.filter(|_| self.part.is_transmitter());
            self.asking.syncing = Some(before.unwrap_or(self.asking.sync));
        }
        // Not before the user's patience is over.
        self.arm_wait(ctx);
        let max_silence = self.max_silence();
        if !max_silence.is_zero()
            && let Some(since) = self.asking.waiting
            && self.timers.deadline(Timer::Wait).is_some_and(|at| at > since + max_silence)
        {
            let at = (since + max_silence).max(ctx.now() + Duration::from_nanos(1));
            self.timers.set(Timer::Wait, at, ctx.cx);
        }
    }

    /// CTIMEOUT: the peer is gone. Should it be there, it learns so that it is alone.
    pub(crate) fn give_up(&mut self, ctx: &mut Ctx<'_, '_>) {
        ctx.shared.counters.timed_out += 1;
        self.send_end(Options::NONE, ctx);
        self.end(Some(Reason::TimedOut), ctx);
    }

    /// CTIMER: an idle peer is asked whether it is still there (P21).
    fn alive_expired(&mut self, ctx: &mut Ctx<'_, '_>) {
        if self.part.is_receiver() {
            match self.transmitter_is_gone(ctx.now()) {
                Ok(()) => self.give_up(ctx),
                Err(Some(at)) => self.timers.set(Timer::Alive, at, ctx.cx),
                Err(None) => {}
            }
            return;
        }
        let due = self.heard_at + self.modes.ctimer;
        if due > ctx.now() {
            self.timers.set(Timer::Alive, due, ctx.cx);
            return;
        }
        self.timers.set(Timer::Alive, ctx.now() + self.modes.ctimer, ctx.cx);
        if !self.asking.is_open() && self.accepted {
            self.ask(false, Options::NONE, ctx);
        }
    }

    /// How long the peer may allow nothing, where `stall` is the setting; none: for ever. In a group the others need
    /// not wait for one (P43).
    pub(crate) fn stall(&self, stall: Duration) -> Option<Duration> {
        let most = if self.part.is_transmitter() && stall.is_zero() { self.modes.ctimeout } else { stall };
        (!most.is_zero()).then_some(most)
    }

    /// The peer had allowed nothing: does it now (P22)?
    fn probe_expired(&mut self, ctx: &mut Ctx<'_, '_>) {
        let most = self.stall(ctx.shared.config.stall);
        let stalled = self.stalled.map(|since| ctx.now().saturating_since(since));
        if most.zip(stalled).is_some_and(|(most, stalled)| stalled >= most) {
            if self.part.is_transmitter() {
                self.give_up_shut(ctx);
            } else {
                self.give_up(ctx);
            }
            return;
        }
        self.probes = self.probes.saturating_add(1);
        ctx.shared.counters.probes += 1;
        self.ask(false, Options::DREQ, ctx);
    }

    /// An answer is late: the question is put once more (P20).
    fn late_expired(&mut self, ctx: &mut Ctx<'_, '_>) {
        if self.asking.is_open() && self.asking.syncing.is_none() {
            self.asking.repeated = true;
            ctx.shared.counters.repeated += 1;
            self.ask(false, Options::NONE, ctx);
        }
    }

    /// What left last has not been asked about (P19).
    fn tail_expired(&mut self, ctx: &mut Ctx<'_, '_>) {
        let calling = self.exchange == Exchange::Calling;
        let nothing = self.asking.since == 0 && self.asking.is_open();
        if calling || nothing || self.asking.syncing.is_some() || !self.accepted {
            return;
        }
        let certain = core::mem::take(&mut self.asking.doubt);
        self.asking.tails = self.asking.tails.saturating_add(1);
        if self.unshown.is_some() && self.send.board.nxt() == u64::from(self.first_octets) {
            self.asking.showed += 1;
        }
        self.ask(certain, Options::NONE, ctx);
    }
}
