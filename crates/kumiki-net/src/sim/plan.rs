//! What is to happen at given times.

use core::time::Duration;
use std::collections::BTreeMap;

use kumiki_graph::Instant;

use super::net::Net;
use super::time::nanos;

/// What is to be done to a network.
type PlannedAction = Box<dyn FnOnce(&Net)>;

/// All of it that has not happened, in the order of its time and then of being planned.
#[derive(Default)]
pub(super) struct Plan {
    coming: BTreeMap<(Instant, u64), PlannedAction>,
    number: u64,
}

impl Plan {
    pub(super) fn next(&self) -> Option<Instant> {
        self.coming.first_key_value().map(|((at, _), _)| *at)
    }
}

impl Net {
    /// When so much time has passed in the network, does `act` to it:
    /// `net.at(SECOND, |net| _ = net.partition("db", "web"))`. What arrives at that instant has arrived. A time that
    /// has been is now.
    pub fn at(&self, elapsed: Duration, act: impl FnOnce(&Self) + 'static) -> &Self {
        let mut plan = self.0.plan.borrow_mut();
        plan.number += 1;
        let key = (Instant::ZERO + nanos(elapsed), plan.number);
        plan.coming.insert(key, Box::new(act));
        drop(plan);
        self.clock().bell.change();
        self
    }

    /// Does what is due, which may plan more.
    pub(super) fn act(&self, now: Instant) {
        loop {
            let mut plan = self.0.plan.borrow_mut();
            let Some(first) = plan.coming.first_entry().filter(|it| it.key().0 <= now) else {
                return;
            };
            let act = first.remove();
            drop(plan);
            act(self);
            // It may have ended or begun tasks.
            self.clock().bell.woke();
        }
    }
}
