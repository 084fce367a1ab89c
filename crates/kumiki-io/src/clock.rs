//! Clocks: the one place where time comes from outside.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use kumiki_graph::{Duration, Instant};

/// Wakes an executor that waits: something has come for it from another thread.
///
/// A bell that is rung while nobody waits is heard by the next one to wait.
#[derive(Clone, Debug, Default)]
pub struct Bell(Arc<(Mutex<bool>, Condvar)>);

impl Bell {
    /// Wakes whoever waits.
    pub fn ring(&self) {
        let (rung, changed) = &*self.0;
        *rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
    }

    /// Waits until the bell is rung, but not longer than `at_most`. May end early.
    fn wait(&self, at_most: Duration) {
        let (rung, changed) = &*self.0;
        let rung = rung.lock().unwrap_or_else(PoisonError::into_inner);
        let at_most = std::time::Duration::from_nanos(at_most.as_nanos());
        let mut rung = if *rung {
            rung
        } else {
            changed
                .wait_timeout(rung, at_most)
                .unwrap_or_else(PoisonError::into_inner)
                .0
        };
        *rung = false;
    }
}

/// Tells the time, and lets it pass.
pub trait Clock: Send {
    /// The time since the clock's start. Never goes back.
    fn now(&self) -> Instant;

    /// Waits until `until` has come or `bell` is rung. May end early.
    fn wait(&self, until: Instant, bell: &Bell);
}

/// The machine's monotonic clock. Clones have the same start.
#[derive(Clone, Copy, Debug)]
pub struct RealClock(std::time::Instant);

impl RealClock {
    /// A clock that starts at this moment.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "real time is read here and in now()"
    )]
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }
}

impl Clock for RealClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "real time is read here and in start()"
    )]
    fn now(&self) -> Instant {
        let since = std::time::Instant::now().saturating_duration_since(self.0);
        Instant::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }

    fn wait(&self, until: Instant, bell: &Bell) {
        let left = until.saturating_since(self.now());
        if !left.is_zero() {
            bell.wait(left);
        }
    }
}

/// A clock whose time passes only by waiting for it, and then at once: for tests. Clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// Lets `time` pass.
    pub fn advance(&self, time: Duration) {
        self.0.fetch_add(time.as_nanos(), Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        Instant::from_nanos(self.0.load(Ordering::Relaxed))
    }

    fn wait(&self, until: Instant, _: &Bell) {
        self.0.fetch_max(until.as_nanos(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_when_waited_for_and_never_back() {
        let clock = ManualClock::default();
        let other = clock.clone();
        clock.wait(Instant::from_nanos(70), &Bell::default());
        other.wait(Instant::from_nanos(50), &Bell::default());
        other.advance(Duration::from_nanos(5));
        assert_eq!(clock.now(), Instant::from_nanos(75));
    }

    #[test]
    fn a_real_clock_does_not_go_back_and_its_clones_agree() {
        let clock = RealClock::start();
        let (first, second) = (clock.now(), { clock }.now());
        assert!(first <= second);
        // Already over: returns without waiting.
        clock.wait(first, &Bell::default());
    }

    #[test]
    fn a_bell_rung_beforehand_ends_the_next_wait() {
        let (clock, bell) = (RealClock::start(), Bell::default());
        bell.ring();
        // Would otherwise take an hour.
        clock.wait(clock.now() + Duration::from_secs(3600), &bell);
    }
}
