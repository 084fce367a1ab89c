//! A host's clock, which runs a little fast or slow.

use kumiki_graph::Instant;

const MILLION: u128 = 1_000_000;

/// What a host's clock says, by that of the world: the two were as it remembers, and go apart from there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Clock {
    world: Instant,
    own: Instant,
    /// So much it goes on while the world's goes on by a million.
    pace: u128,
}

impl Clock {
    /// One that says `own` when the world's says `world`, and from there on is so many millionths faster, or slower
    /// where that is negative; at least one millionth of its pace is left.
    pub(crate) fn new(world: Instant, own: Instant, millionths: i32) -> Self {
        let pace = u128::try_from(i64::from(millionths) + 1_000_000).unwrap_or(0).max(1);
        Self { world, own, pace }
    }

    /// What it says when the world's says `world`.
    pub(crate) fn own(&self, world: Instant) -> Instant {
        let passed = u128::from(world.saturating_since(self.world).as_nanos());
        later(self.own, passed * self.pace / MILLION)
    }

    /// The first time of the world's at which it says `own`, or more.
    pub(crate) fn world(&self, own: Instant) -> Instant {
        let passed = u128::from(own.saturating_since(self.own).as_nanos());
        later(self.world, (passed * MILLION).div_ceil(self.pace))
    }
}

fn later(from: Instant, nanos: u128) -> Instant {
    from + kumiki_graph::Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn a_clock_goes_apart_from_the_worlds_by_millionths() {
        let fast = Clock::new(at(10), at(10), 100);
        assert_eq!(fast.own(at(10 + 1_000_000)), at(10 + 1_000_100));
        assert_eq!(fast.world(at(10 + 1_000_100)), at(10 + 1_000_000));
        let slow = Clock::new(at(0), at(5), -500_000);
        assert_eq!((slow.own(at(7)), slow.world(at(8))), (at(8), at(6)));
        assert_eq!(Clock::new(at(0), at(0), -500_000).world(Instant::FAR_FUTURE), Instant::FAR_FUTURE);
    }

    #[test]
    fn what_is_due_by_it_is_never_early_and_never_a_nanosecond_late() {
        for millionths in [-1_000_000, -999_999, -1, 0, 1, 37, 1_000_000] {
            let clock = Clock::new(at(3), at(1000), millionths);
            for due in [1000, 1001, 1002, 5000, 1_234_567] {
                let world = clock.world(at(due));
                assert!(clock.own(world) >= at(due), "{millionths} {due}");
                assert!(world == at(3) || clock.own(at(world.as_nanos() - 1)) < at(due), "{millionths} {due}");
            }
        }
    }
}
