//! What moves virtual time: the network's clock and tokio's go together.
//!
//! The network goes from event to event; tokio's paused clock goes from timer to timer, on whole milliseconds since its
//! runtime began. To be exact in both, time is moved to the network's next event by way of each of those lines before
//! it: at a line tokio's own timers may be due, between two of them none can be. And it is moved only when every task
//! has done what it can at the present instant, for a task may send something that arrives sooner than what was next.

use core::future::poll_fn;
use core::pin::pin;
use core::task::{Poll, Waker};
use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kumiki_graph::Instant;

use super::net::{Net, SimError};

/// So often tasks may answer each other at one instant: seconds of real time.
const ROUNDS: u32 = 2_000_000;

/// A line of tokio's clock, in nanoseconds.
const LINE: u64 = 1_000_000;

/// So often a task may be polled while others come to rest; then it is taken for one that asks again and again
/// (`yield_now`) until somebody else has done something, and time goes on without it. Once it is known, fewer are
/// enough.
const MAX_POLLS: u32 = 10_000;
const MAX_POLLS_SPINNING: u32 = 100;

#[derive(Debug, Default)]
struct IdleWaiters {
    /// Who waits until no task can do anything more.
    waker: Option<Waker>,
    /// Who waits until some task spins.
    spin_waker: Option<Waker>,
    /// A task spins.
    spins: bool,
    /// It was known to before.
    is_known: bool,
    /// How often somebody has begun or ended to wait.
    round: u64,
}

/// How often a task was polled in a round.
#[derive(Debug, Default)]
pub(super) struct Polls {
    round: u64,
    count: u32,
}

/// Tells when no task can do anything more. The runtime says that it is about to park its thread; who is woken then
/// runs when all others wait. It never parks while a task spins, so tasks of hosts say how often they are polled.
#[derive(Clone, Debug, Default)]
pub(super) struct Idle(Arc<Mutex<IdleWaiters>>);

impl Idle {
    fn lock(&self) -> MutexGuard<'_, IdleWaiters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For the runtime to call before it parks. It holds nothing, for who waits has a waker that holds the runtime.
    pub(super) fn hook(&self) -> impl Fn() + Send + Sync + 'static {
        let rest = Arc::downgrade(&self.0);
        move || {
            let idle = rest.upgrade().map(Self);
            if let Some(waker) = idle.and_then(|it| it.lock().waker.take()) {
                waker.wake();
            }
        }
    }

    /// A task is polled, once more.
    pub(super) fn polled(&self, polls: &mut Polls) {
        let mut rest = self.lock();
        if polls.round != rest.round {
            *polls = Polls { round: rest.round, count: 0 };
        }
        polls.count += 1;
        if polls.count > if rest.is_known { MAX_POLLS_SPINNING } else { MAX_POLLS } {
            rest.spins = true;
            let wakers = [rest.waker.take(), rest.spin_waker.take()];
            drop(rest);
            wakers.into_iter().flatten().for_each(Waker::wake);
        }
    }

    /// Waits until no task can do anything more, or one spins: whether that is so.
    pub(super) async fn wait(&self) -> bool {
        let mut armed = false;
        poll_fn(|cx| {
            let mut rest = self.lock();
            if armed && rest.waker.is_none() {
                rest.round += 1;
                rest.is_known = core::mem::take(&mut rest.spins);
                return Poll::Ready(rest.is_known);
            }
            if !armed {
                armed = true;
                rest.round += 1;
                rest.spins = false;
            }
            rest.waker = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Waits until some task spins, or has been polled as often in its own time.
    async fn spun(&self) {
        poll_fn(|cx| {
            let mut rest = self.lock();
            if rest.spins {
                return Poll::Ready(());
            }
            rest.spin_waker = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

impl Net {
    /// Lets the network do all that is to be done at `now`.
    fn step(&self, now: Instant, rung: &mut Vec<usize>) {
        self.0.world.borrow_mut().run_until(now);
        self.act(now);
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
        [alarm, event, self.0.plan.borrow().next()].into_iter().flatten().min()
    }
}

/// Runs the network until something goes wrong; whoever is run meanwhile ends it by being done.
pub(super) async fn drive(net: &Net, idle: &Idle, limit: Instant) -> SimError {
    let mut rung = Vec::new();
    // At first programs have been started, of whom nobody is told.
    let mut woke = true;
    let (mut last, mut rounds, mut spun) = (net.now(), 0_u32, 0_u32);
    loop {
        let now = net.now();
        rounds = if now == last { rounds + 1 } else { 0 };
        last = now;
        if rounds >= ROUNDS {
            let text = format!("livelock at {now}: tasks wake each other at this instant, without end");
            return SimError::Standstill(text);
        }
        net.step(now, &mut rung);
        woke |= net.clock().bell.take_woke();
        if let Some(error) = net.failure() {
            return error;
        }
        // Where nobody was woken all tasks wait as they did.
        if core::mem::take(&mut woke) {
            if idle.wait().await {
                spun += 1;
                if spun >= ROUNDS {
                    let text = format!("at {}: a task goes on for ever without waiting for anything", net.now());
                    return SimError::Standstill(text);
                }
                net.step(net.now(), &mut rung);
                let next = net.next_event().unwrap_or(limit).min(limit);
                if next == limit && next <= net.now() {
                    return net.time_limit();
                }
                step_to(net, next).await;
                woke = true;
                continue;
            }
            spun = 0;
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

const fn line_at(at: Instant) -> Instant {
    Instant::from_nanos(at.as_nanos() / LINE * LINE)
}

/// Moves time to `next`, or to the next line before that, whoever runs meanwhile.
async fn step_to(net: &Net, next: Instant) {
    let now = net.now();
    let next_line = line_at(now) + kumiki_graph::Duration::from_nanos(LINE);
    let rest = next.min(next_line).saturating_since(now);
    if !rest.is_zero() {
        tokio::time::advance(Duration::from_nanos(rest.as_nanos())).await;
    }
}

/// What that says which ends first; where both end at once, `first`.
pub(super) async fn first_of<T>(first: impl Future<Output = T>, second: impl Future<Output = T>) -> T {
    let (mut first, mut second) = (pin!(first), pin!(second));
    poll_fn(|cx| match first.as_mut().poll(cx) {
        Poll::Pending => second.as_mut().poll(cx),
        ready => ready,
    })
    .await
}

/// Moves time to `next`, or less far where a task rings before that: true where that may have let tasks run that have
/// not come to rest.
async fn go_to(net: &Net, idle: &Idle, next: Instant) -> bool {
    let bell = &net.clock().bell;
    let (now, last_line) = (net.now(), line_at(next));
    if last_line > now {
        if line_at(now) < now {
            // To the next line: tokio adds whole milliseconds to where its clock stands.
            step_to(net, next).await;
            if idle.wait().await {
                return true;
            }
            if bell.has_rung() {
                return false;
            }
        }
        if last_line > net.now()
            && let Some(deadline) = net.clock().to_runtime(last_line)
        {
            let noticed = async {
                first_of(bell.rung(), idle.spun()).await;
                true
            };
            let slept = async {
                tokio::time::sleep_until(deadline).await;
                false
            };
            if first_of(noticed, slept).await {
                return true;
            }
            if idle.wait().await {
                return true;
            }
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

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::sim;

    /// Its wakers are the runtime's, which would be kept with it.
    #[test]
    fn of_a_network_that_is_gone_nothing_is_kept() {
        let ends: [fn(&Net); 5] = [
            |net| net.host("a").run(async {}).unwrap(),
            |net| net.host("a").run(async { sim::time::sleep(Duration::from_secs(1)).await }).unwrap(),
            |net| net.run(async { tokio::time::sleep(Duration::from_secs(1)).await }).unwrap(),
            |net| {
                net.host("a");
                assert!(matches!(net.run(core::future::pending::<()>()), Err(SimError::TimeLimit(_))));
            },
            |net| assert!(catch_unwind(AssertUnwindSafe(|| net.run(async { panic!("as it should") }))).is_err()),
        ];
        for (number, end) in ends.into_iter().enumerate() {
            let net = Net::new(1);
            let idle = Arc::downgrade(&net.clock().idle.0);
            end(&net);
            drop(net);
            assert_eq!(idle.strong_count(), 0, "end {number}");
        }
    }
}
