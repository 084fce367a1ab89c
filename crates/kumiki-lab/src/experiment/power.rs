//! Hosts whose power fails, and comes back.

use std::collections::VecDeque;

use kumiki_graph::{Duration, Instant};
use kumiki_sim::{Host, HostId, World};

/// What happens to hosts at which times: all is there beforehand, so that nothing can be wrong with it when its time comes.
#[derive(Default)]
pub(super) struct Power(VecDeque<(Instant, HostId, Option<Host>)>);

impl Power {
    /// At `at` after the beginning `host` has no power any more, or begins anew as another.
    pub(super) fn add(&mut self, at: Duration, host: HostId, anew: Option<Host>) {
        let at = Instant::ZERO + at;
        let place = self.0.partition_point(|(other, ..)| *other <= at);
        self.0.insert(place, (at, host, anew));
    }

    /// When the next of it happens.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.front().map(|(at, ..)| *at)
    }

    /// Lets happen what is due, after all else of its instant.
    pub(super) fn change(&mut self, world: &mut World) {
        let now = world.now();
        while let Some((_, host, anew)) = self.0.pop_front_if(|(at, ..)| *at <= now) {
            match anew {
                // The same graph has begun before.
                Some(anew) => drop(world.bring_back(host, anew)),
                None => world.take_down(host),
            }
        }
    }
}
