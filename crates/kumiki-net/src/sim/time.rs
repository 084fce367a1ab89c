//! Time of the network itself, exact to the nanosecond.
//!
//! tokio's timers expire on whole milliseconds. These do not: they are events of the network, as the arrival of a
//! packet is. And they are of the clock of the host that sets them, which may go [wrong](super::Host::set_clock_rate).

use core::fmt;
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::{Poll, Waker};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use kumiki_graph::Instant;

use super::Net;
use super::bell::Bell;
use super::driver::Idle;
use super::skew::ClockOffset;

/// Timers that have not expired, in the order of their time and then of being set.
#[derive(Debug, Default)]
pub(super) struct Alarms {
    waiting: BTreeMap<(Instant, u64), Option<Waker>>,
    number: u64,
}

impl Alarms {
    fn set(&mut self, at: Instant) -> (Instant, u64) {
        self.number += 1;
        self.waiting.insert((at, self.number), None);
        (at, self.number)
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.waiting.first_key_value().map(|((at, _), _)| *at)
    }

    /// Those that are due.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<Waker> {
        let mut due = Vec::new();
        while let Some(first) = self.waiting.first_entry()
            && first.key().0 <= now
        {
            due.extend(first.remove());
        }
        due
    }
}

/// The network's clock. While it runs it is that of its runtime, moved by what had passed before.
#[derive(Debug, Default)]
pub(super) struct Clock {
    state: Mutex<(Instant, Option<tokio::time::Instant>)>,
    alarms: Mutex<Alarms>,
    pub(super) bell: Bell,
    pub(super) idle: Idle,
}

impl Clock {
    pub(super) fn alarms(&self) -> MutexGuard<'_, Alarms> {
        self.alarms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, (Instant, Option<tokio::time::Instant>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A runtime begins.
    pub(super) fn follow(&self, runtime: tokio::time::Instant) {
        self.state().1 = Some(runtime);
    }

    /// It has come to `now`, and perhaps does not go on.
    pub(super) fn stop(&self, now: Instant) {
        *self.state() = (now, None);
    }

    pub(super) fn is_followed(&self) -> bool {
        self.state().1.is_some()
    }

    pub(super) fn now(&self) -> Instant {
        let (base, start) = *self.state();
        match start {
            Some(start) => base + nanos(tokio::time::Instant::now().saturating_duration_since(start)),
            None => base,
        }
    }

    /// That instant, as the runtime has it.
    pub(super) fn to_runtime(&self, at: Instant) -> Option<tokio::time::Instant> {
        let (base, start) = *self.state();
        start.map(|start| start + Duration::from_nanos(at.saturating_since(base).as_nanos()))
    }
}

/// As the network counts; centuries where it is longer.
pub(super) fn nanos(duration: Duration) -> kumiki_graph::Duration {
    kumiki_graph::Duration::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

/// The network's time since its beginning.
///
/// # Panics
/// Outside of a [`Net`] that runs.
#[must_use]
pub fn elapsed() -> Duration {
    Duration::from_nanos(Net::current_or_panic().clock().now().as_nanos())
}

/// Removes its timer where it is dropped before that expires.
struct Armed(Arc<Clock>, (Instant, u64));

impl Drop for Armed {
    fn drop(&mut self) {
        self.0.alarms().waiting.remove(&self.1);
    }
}

/// How much time has passed by the clock of the host that this task is on, since the network's beginning: see
/// [`Host::set_clock_rate`](super::Host::set_clock_rate). On no host it is [`elapsed`].
///
/// # Panics
/// Outside of a [`Net`] that runs.
#[must_use]
pub fn host_elapsed() -> Duration {
    let net = Net::current_or_panic();
    net.current_host().map_or_else(elapsed, |host| Duration::from_nanos(host.own_elapsed().as_nanos()))
}

/// When every network begins, by its wall clock, as a time since 1970: with the year 2026, UTC.
pub const BEGINNING: Duration = Duration::from_secs(1_767_225_600);

/// What the wall clock of the host that this task is on says: as [`host_elapsed`] since the [`BEGINNING`], and
/// [ahead](super::Host::set_clock_ahead) or [behind](super::Host::set_clock_behind) where somebody has set it so. For
/// programs that take the time as an argument; `SystemTime::now` is that of the machine.
///
/// # Panics
/// Outside of a [`Net`] that runs.
#[must_use]
pub fn wall_clock() -> SystemTime {
    let now = SystemTime::UNIX_EPOCH + BEGINNING + host_elapsed();
    let host = Net::current_or_panic().current_host();
    match host.map(|host| host.with(|it| it.ahead)).unwrap_or_default() {
        ClockOffset::By(by) => now.checked_add(by),
        ClockOffset::Behind(by) => now.checked_sub(by),
    }
    .unwrap_or(now)
}

/// Waits for `duration`, to the nanosecond, by the clock of the host that this task is on.
///
/// # Panics
/// Outside of a [`Net`] that runs.
pub async fn sleep(duration: Duration) {
    let armed = {
        let net = Net::current_or_panic();
        let (clock, at) = (Arc::clone(net.clock()), net.after(duration));
        let key = clock.alarms().set(at);
        clock.bell.change();
        Armed(clock, key)
    };
    poll_fn(|cx| match armed.0.alarms().waiting.get_mut(&armed.1) {
        Some(waker) => {
            *waker = Some(cx.waker().clone());
            Poll::Pending
        }
        None => Poll::Ready(()),
    })
    .await;
}

/// Too much time has passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Elapsed;

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the time has passed")
    }
}

impl core::error::Error for Elapsed {}

/// Waits for `future`, at most for `duration`, to the nanosecond.
///
/// # Errors
/// [`Elapsed`] where it takes longer.
///
/// # Panics
/// Outside of a [`Net`] that runs.
pub async fn timeout<F: Future>(duration: Duration, future: F) -> Result<F::Output, Elapsed> {
    let (mut future, mut sleep) = (pin!(future), pin!(sleep(duration)));
    poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Ok(output));
        }
        sleep.as_mut().poll(cx).map(|()| Err(Elapsed))
    })
    .await
}
