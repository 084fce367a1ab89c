//! Clocks of hosts that go wrong.

use core::time::Duration;

use kumiki_graph::Instant;

use super::host::{self, Host};
use super::net::Net;
use super::time::nanos;

/// How far a wall clock is before that of the network, or behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ClockOffset {
    By(Duration),
    Behind(Duration),
}

impl Default for ClockOffset {
    fn default() -> Self {
        Self::By(Duration::ZERO)
    }
}

impl Host {
    /// From now on its clock goes so many millionths faster than the network's, or slower where that is negative: the
    /// timers of its TCP/IP, and those of [`sim::time`](super::time) that its tasks set from here on. A quartz is wrong
    /// by 20 to 100, and a virtual machine by more at times. A crash does not mend it.
    ///
    /// tokio's own timers (`tokio::time::sleep` and the like) are of the network's clock, on every host: there is one
    /// for all tasks of a thread.
    ///
    /// # Panics
    /// Where it would stand still, or go back: at -1,000,000 and below.
    pub fn set_clock_rate(&self, millionths: i32) -> &Self {
        assert!(
            millionths > -1_000_000,
            "a clock that goes {millionths} millionths faster does not go on; expected more than -1000000"
        );
        // What was seen before has the times of the clock as it was.
        #[cfg(feature = "capture")]
        self.net.collect();
        let (id, now) = (self.with(|it| it.id), self.net.now());
        let mut world = self.net.0.world.borrow_mut();
        world.run_until(now);
        world.set_clock_rate(id, millionths);
        drop(world);
        self.net.clock().bell.change();
        self
    }

    /// From now on its [wall clock](super::time::wall_clock) is so far before that of the network. No timer notices:
    /// those go by how much time passes.
    pub fn set_clock_ahead(&self, by: Duration) -> &Self {
        self.with(|it| it.ahead = ClockOffset::By(by));
        self
    }

    /// From now on its [wall clock](super::time::wall_clock) is so far behind that of the network.
    pub fn set_clock_behind(&self, by: Duration) -> &Self {
        self.with(|it| it.ahead = ClockOffset::Behind(by));
        self
    }

    /// How much time has passed by its own clock.
    pub(super) fn own_elapsed(&self) -> Instant {
        let id = self.with(|it| it.id);
        self.net.0.world.borrow().own_time(id, self.net.now())
    }
}

impl Net {
    /// When `duration` will have passed by the clock of the host that the present task is on.
    pub(super) fn after(&self, duration: Duration) -> Instant {
        let (now, duration) = (self.now(), nanos(duration));
        let Some(number) = host::current() else {
            return now + duration;
        };
        let id = Host { net: self.clone(), number }.with(|it| it.id);
        let world = self.0.world.borrow();
        world.time_of(id, world.own_time(id, now) + duration)
    }
}
