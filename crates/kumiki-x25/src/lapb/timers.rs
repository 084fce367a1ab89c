//! The timers of a link.

use kumiki_graph::{Context, Duration, Handle, TimerSlot, Token};

/// What a timer is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Timer {
    /// T1: nothing has answered; SABM, DISC, FRMR or a poll goes out again.
    T1,
    /// T2: an acknowledgment has waited long enough for a frame to travel with.
    T2,
    /// T3: the peer has been silent for long; it is polled.
    T3,
}

impl Timer {
    pub(super) const fn of(token: Token) -> Option<Self> {
        match token.kind {
            1 => Some(Self::T1),
            2 => Some(Self::T2),
            3 => Some(Self::T3),
            _ => None,
        }
    }

    const fn token(self) -> Token {
        let kind = match self {
            Self::T1 => 1,
            Self::T2 => 2,
            Self::T3 => 3,
        };
        Token { session: Handle { index: 0, generation: 0 }, kind }
    }
}

/// The timers.
#[derive(Debug, Default)]
pub(super) struct Timers {
    t1: TimerSlot,
    t2: TimerSlot,
    t3: TimerSlot,
    t1_runs: bool,
    t2_runs: bool,
}

impl Timers {
    fn slot(&mut self, timer: Timer) -> &mut TimerSlot {
        match timer {
            Timer::T1 => &mut self.t1,
            Timer::T2 => &mut self.t2,
            Timer::T3 => &mut self.t3,
        }
    }

    fn mark(&mut self, timer: Timer, runs: bool) {
        match timer {
            Timer::T1 => self.t1_runs = runs,
            Timer::T2 => self.t2_runs = runs,
            Timer::T3 => {}
        }
    }

    /// Starts `timer` again; not for no time.
    pub(super) fn start(&mut self, timer: Timer, time: Duration, cx: &mut Context<'_>) {
        if time.is_zero() {
            return;
        }
        self.mark(timer, true);
        let deadline = cx.now() + time;
        cx.set_timer(self.slot(timer), timer.token(), deadline);
    }

    pub(super) fn stop(&mut self, timer: Timer, cx: &mut Context<'_>) {
        self.mark(timer, false);
        cx.clear_timer(self.slot(timer));
    }

    pub(super) fn stop_all(&mut self, cx: &mut Context<'_>) {
        for timer in [Timer::T1, Timer::T2, Timer::T3] {
            self.stop(timer, cx);
        }
    }

    /// `timer` has expired.
    pub(super) fn expired(&mut self, timer: Timer) {
        self.mark(timer, false);
    }

    pub(super) const fn t1_runs(&self) -> bool {
        self.t1_runs
    }

    pub(super) const fn t2_runs(&self) -> bool {
        self.t2_runs
    }
}
