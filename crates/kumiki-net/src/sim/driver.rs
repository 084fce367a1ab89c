//! What moves virtual time: the network's clock and tokio's go together.
//!
//! The network goes from event to event; tokio's paused clock goes from timer to timer, on whole milliseconds since its runtime began. To be
//! exact in both, time is moved to the network's next event by way of each of those lines before it: at a line tokio's own timers may be
//! due, between two of them none can be. And it is moved only when every task has done what it can at the present instant, for a task may
//! send something that arrives sooner than what was next.

use core::future::poll_fn;
use core::task::{Poll, Waker};
use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};

use kumiki_graph::Instant;

use super::net::{Net, SimError};

/// So often tasks may answer each other at one instant: seconds of real time.
const ROUNDS: u32 = 2_000_000;

/// A line of tokio's clock, in nanoseconds.
const LINE: u64 = 1_000_000;

/// Tells when no task can do anything more. The runtime says that it is about to park its thread; who is woken then runs when all others
/// wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Idle(Arc<Mutex<Option<Waker>>>);

impl Idle {
    fn take(&self) -> Option<Waker> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// For the runtime to call before it parks.
    pub(super) fn hook(&self) -> impl Fn() + Send + Sync + 'static {
        let idle = self.clone();
        move || {
            if let Some(waker) = idle.take() {
                waker.wake();
            }
        }
    }

    /// Waits until no task can do anything more.
    pub(super) async fn wait(&self) {
        let mut armed = false;
        poll_fn(|cx| {
            let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if armed && slot.is_none() {
                return Poll::Ready(());
            }
            armed = true;
            *slot = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

impl Net {
    /// Lets the network do all that is to be done at `now`.
    fn step(&self, now: Instant, rung: &mut Vec<usize>) {
        self.0.world.borrow_mut().run_until(now);
        for waker in self.clock().alarms().take_due(now) {
            waker.wake();
            self.clock().bell.woke();
        }
        self.clock().bell.answer(rung);
        if rung.is_empty() {
            return;
        }
        for number in rung.drain(..) {
            super::Host { net: self.clone(), number }.hand_down(now);
        }
        self.0.world.borrow_mut().run_until(now);
        #[cfg(feature = "capture")]
        self.collect();
    }

    /// When something happens next by itself.
    fn next_event(&self) -> Option<Instant> {
        let alarm = self.clock().alarms().next();
        let event = self.0.world.borrow_mut().next_event_at();
        match (alarm, event) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}

/// Runs the network until something goes wrong; whoever is run meanwhile ends it by being done.
pub(super) async fn drive(net: &Net, idle: &Idle, limit: Instant) -> SimError {
    let mut rung = Vec::new();
    // At first programs have been started, of whom nobody is told.
    let mut woke = true;
    let (mut last, mut rounds) = (net.now(), 0_u32);
    loop {
        let now = net.now();
        rounds = if now == last { rounds + 1 } else { 0 };
        last = now;
        if rounds >= ROUNDS {
            let text = format!(
                "time stands still at {now}: tasks go on for ever at this instant, each time that another has answered"
            );
            return SimError::Standstill(text);
        }
        net.step(now, &mut rung);
        woke |= net.clock().bell.take_woke();
        if let Some(error) = net.failure() {
            return error;
        }
        // Where nobody was woken all tasks wait as they did.
        if core::mem::take(&mut woke) {
            idle.wait().await;
            if net.clock().bell.has_rung() {
                continue;
            }
        }
        let next = net.next_event().unwrap_or(limit).min(limit);
        if next > net.now() {
            woke = go_to(net, idle, next).await;
        } else if next == limit {
            return net.time_limit();
        }
    }
}

/// Moves time to `next`, or less far where a task rings before that: true where that may have let tasks run that have not come to rest.
async fn go_to(net: &Net, idle: &Idle, next: Instant) -> bool {
    let line_at = |at: Instant| Instant::from_nanos(at.as_nanos() / LINE * LINE);
    let bell = &net.clock().bell;
    let (now, last_line) = (net.now(), line_at(next));
    if last_line > now {
        if line_at(now) < now {
            // To the next line: tokio adds whole milliseconds to where its clock stands.
            let next_line = line_at(now) + kumiki_graph::Duration::from_nanos(LINE);
            tokio::time::advance(Duration::from_nanos(next_line.saturating_since(now).as_nanos())).await;
            idle.wait().await;
            if bell.has_rung() {
                return false;
            }
        }
        if last_line > net.now()
            && let Some(deadline) = net.clock().to_runtime(last_line)
        {
            tokio::select! {
                biased;
                () = bell.rung() => return true,
                () = tokio::time::sleep_until(deadline) => {}
            }
            idle.wait().await;
            if bell.has_rung() {
                return false;
            }
        }
    }
    let rest = next.saturating_since(net.now());
    if !rest.is_zero() {
        tokio::time::advance(Duration::from_nanos(rest.as_nanos())).await;
    }
    false
}
