//! Elements that somebody changes while a world has them.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use kumiki_graph::{Address, Instant};

use crate::{BusyWatch, CellRate, Counts, Element, Occupancy, Outlet, Unit};

/// An element that has a second owner. What it does next it does at its own deadlines, so what changes it must bring
/// none of them forward.
#[derive(Debug, Default)]
pub struct Shared<E>(Arc<Mutex<E>>);

impl<E> Clone for Shared<E> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<E> Shared<E> {
    /// `element`, with as many owners as there are clones.
    #[must_use]
    pub fn new(element: E) -> Self {
        Self(Arc::new(Mutex::new(element)))
    }

    /// Looks at it, or changes it.
    pub fn with<T>(&self, act: impl FnOnce(&mut E) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<E: Element> Element for Shared<E> {
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        self.with(|it| it.offer(now, port, unit, out));
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.with(|it| it.next_deadline())
    }

    fn poll(&mut self, now: Instant, out: &mut Outlet) {
        self.with(|it| it.poll(now, out));
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.with(|it| it.counters())
    }

    fn port_counters(&self) -> Vec<(Cow<'static, str>, Counts)> {
        self.with(|it| it.port_counters())
    }

    fn queues(&self, now: Instant) -> Vec<(Cow<'static, str>, Occupancy)> {
        self.with(|it| it.queues(now))
    }

    fn watch_busy(&mut self, port: usize, watch: BusyWatch) -> bool {
        self.with(|it| it.watch_busy(port, watch))
    }

    fn waiting(&self, now: Instant) -> u64 {
        self.with(|it| it.waiting(now))
    }

    fn cell_rates(&self) -> Vec<(Address, CellRate)> {
        self.with(|it| it.cell_rates())
    }

    fn is_line(&self) -> bool {
        self.with(|it| it.is_line())
    }

    fn has_waiting(&self) -> bool {
        self.with(|it| it.has_waiting())
    }

    // It is not had in two: who else owns it would look at an empty line.
}

#[cfg(feature = "ppp")]
impl<E: crate::Changing> crate::Changing for Shared<E> {
    type Change = E::Change;

    fn change(&mut self, now: Instant, change: E::Change) {
        self.with(|it| it.change(now, change));
    }
}

#[cfg(test)]
mod tests {
    use kumiki_graph::Duration;
    use kumiki_octets::Message;

    use super::*;
    use crate::{Impaired, Impairment, Loss};

    #[test]
    fn what_its_other_owner_changes_holds_for_what_comes_next() {
        let delayed = Impairment::delay(Duration::from_millis(1));
        let shared = Shared::new(Impaired::new(delayed, Impairment::default(), 1));
        let mut element: Box<dyn Element> = Box::new(shared.clone());
        let mut out = Outlet::default();
        let frame = || Unit::Frame { data: Message::from_octets(&[1]), address: Address::NONE };
        element.offer(Instant::ZERO, 0, frame(), &mut out);
        shared.with(|it| it.set(0, Impairment { loss: Loss::Independent(1.0), ..it.impairment(0).clone() }));
        element.offer(Instant::ZERO, 0, frame(), &mut out);
        element.poll(Instant::ZERO + Duration::from_millis(1), &mut out);
        assert_eq!(out.drain().count(), 1);
        assert!(element.counters().contains(&("a_lost", 1)));
    }
}
