//! Elements that are changed while they run, at times given beforehand.

use std::borrow::Cow;
use std::collections::VecDeque;

use kumiki_graph::{Duration, Instant};

use crate::{BusyWatch, Counts, Element, Impaired, Impairment, LineEnd, Occupancy, Outlet, Serial, SerialConfig, Unit};

/// What can be changed at a given time.
pub trait Changing: Element {
    /// How it is after a change.
    type Change: Send;

    /// From `now` on it is as `change` has it.
    fn change(&mut self, now: Instant, change: Self::Change);
}

/// A line from a change on, both ways.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineChange {
    /// What it is like for frames from port 0, and from port 1.
    pub config: [SerialConfig; 2],
    /// Until when no frame from port 0, and from port 1, begins, where the line stands still for them. The one that is
    /// on it goes on.
    pub still_until: [Option<Instant>; 2],
}

impl Changing for Serial {
    type Change = LineChange;

    fn change(&mut self, _: Instant, LineChange { config, still_until }: LineChange) {
        for (port, (config, until)) in config.into_iter().zip(still_until).enumerate() {
            self.set_config(port, config);
            if let Some(until) = until {
                self.hold(port, until);
            }
        }
    }
}

/// Units from port 0 are impaired in this way; those from port 1 as before.
impl Changing for Impaired {
    type Change = Impairment;

    fn change(&mut self, _: Instant, change: Impairment) {
        self.set(0, change);
    }
}

/// An element and its changes. What begins at the very instant of a change begins as that has it.
pub struct Stepped<E: Changing> {
    element: E,
    steps: VecDeque<(Instant, E::Change)>,
}

impl<E: Changing> Stepped<E> {
    /// `element`, changed at these times, which are in order; at times that have passed already it is changed at once.
    #[must_use]
    pub fn new(element: E, steps: impl IntoIterator<Item = (Instant, E::Change)>) -> Self {
        Self { element, steps: steps.into_iter().collect() }
    }

    fn step(&mut self, now: Instant, out: &mut Outlet) {
        while let Some((at, change)) = self.steps.pop_front_if(|(at, _)| *at <= now) {
            // All that begins before it begins as it was.
            if let Some(before) = at.as_nanos().checked_sub(1) {
                self.element.poll(Instant::from_nanos(before), out);
            }
            self.element.change(at, change);
        }
    }
}

impl<E: Changing> Element for Stepped<E> {
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        self.step(now, out);
        self.element.offer(now, port, unit, out);
    }

    fn next_deadline(&self) -> Option<Instant> {
        let step = self.steps.front().map(|(at, _)| *at);
        match (step, self.element.next_deadline()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn poll(&mut self, now: Instant, out: &mut Outlet) {
        self.step(now, out);
        self.element.poll(now, out);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.element.counters()
    }

    fn port_counters(&self) -> Vec<(Cow<'static, str>, Counts)> {
        self.element.port_counters()
    }

    fn queues(&self, now: Instant) -> Vec<(Cow<'static, str>, Occupancy)> {
        self.element.queues(now)
    }

    fn watch_busy(&mut self, port: usize, watch: BusyWatch) -> bool {
        self.element.watch_busy(port, watch)
    }

    fn waiting(&self, now: Instant) -> u64 {
        self.element.waiting(now)
    }

    fn is_line(&self) -> bool {
        self.element.is_line()
    }

    fn has_waiting(&self) -> bool {
        self.element.has_waiting()
    }

    /// None while there are changes to come: they are of both ends at once.
    fn look_ahead(&self) -> Option<Duration> {
        if self.steps.is_empty() { self.element.look_ahead() } else { None }
    }

    fn take_ends(&mut self) -> Option<[LineEnd; 2]> {
        if self.steps.is_empty() { self.element.take_ends() } else { None }
    }

    fn join_ends(&mut self, ends: [LineEnd; 2]) {
        self.element.join_ends(ends);
    }
}

#[cfg(test)]
mod tests;
