//! A link in memory: two bounded queues of units, each with the time at which it is due.
//!
//! Its two ends can be in executors of different threads. What is put in at one end rings the bell of the other.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kumiki_graph::{Duration, Instant};
use kumiki_link::Unit;

use crate::clock::Bell;

/// What a link is like, in both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryLink {
    /// How long a unit is in flight.
    pub delay: Duration,
    /// How many units may be in flight in one direction; more are dropped and counted.
    pub capacity: usize,
}

impl Default for MemoryLink {
    fn default() -> Self {
        Self { delay: Duration::ZERO, capacity: 1024 }
    }
}

#[derive(Debug, Default)]
struct Direction {
    in_flight: VecDeque<(Instant, Unit)>,
    /// Of whoever takes units out.
    bell: Option<Bell>,
    counters: LinkCounters,
}

/// What happened in one direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkCounters {
    /// Units put in.
    pub sent: u64,
    /// Units that found no room.
    pub full: u64,
    /// Units taken out.
    pub received: u64,
}

/// One end of a [`MemoryLink`].
#[derive(Debug)]
pub struct LinkEnd {
    link: MemoryLink,
    out: Arc<Mutex<Direction>>,
    inward: Arc<Mutex<Direction>>,
}

fn lock(direction: &Mutex<Direction>) -> MutexGuard<'_, Direction> {
    direction.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryLink {
    /// The two ends of a link.
    #[must_use]
    pub fn ends(self) -> (LinkEnd, LinkEnd) {
        let (there, back) = (Arc::default(), Arc::default());
        let end =
            |out: &Arc<_>, inward: &Arc<_>| LinkEnd { link: self, out: Arc::clone(out), inward: Arc::clone(inward) };
        (end(&there, &back), end(&back, &there))
    }
}

impl LinkEnd {
    /// Puts `unit` in at `now`; dropped and counted where the link is full.
    pub fn send(&self, now: Instant, unit: Unit) {
        let mut out = lock(&self.out);
        if out.in_flight.len() >= self.link.capacity {
            out.counters.full += 1;
            return;
        }
        out.counters.sent += 1;
        out.in_flight.push_back((now + self.link.delay, unit));
        if let Some(bell) = &out.bell {
            bell.ring();
        }
    }

    /// Takes the next unit that is due at `now`.
    pub fn receive(&self, now: Instant) -> Option<Unit> {
        let mut inward = lock(&self.inward);
        let (_, unit) = inward.in_flight.pop_front_if(|(due, _)| *due <= now)?;
        inward.counters.received += 1;
        Some(unit)
    }

    /// When the next unit is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        lock(&self.inward).in_flight.front().map(|(due, _)| *due)
    }

    /// Has `bell` rung from here on when something comes to this end.
    pub fn listen(&self, bell: &Bell) {
        lock(&self.inward).bell = Some(bell.clone());
    }

    /// What happened to units on their way from here.
    #[must_use]
    pub fn sent(&self) -> LinkCounters {
        lock(&self.out).counters
    }
}

#[cfg(test)]
mod tests {
    use kumiki_graph::Address;
    use kumiki_octets::Message;

    use super::*;

    fn frame(octet: u8) -> Unit {
        Unit::Frame { data: Message::from_octets(&[octet]), address: Address::NONE }
    }

    fn octet(unit: Option<Unit>) -> Option<u8> {
        let Unit::Frame { data, .. } = unit? else {
            panic!("not a frame");
        };
        data.to_vec().first().copied()
    }

    const fn ns(n: u64) -> Instant {
        Instant::from_nanos(n)
    }

    #[test]
    fn units_come_out_in_order_when_they_are_due() {
        let link = MemoryLink { delay: Duration::from_nanos(10), ..MemoryLink::default() };
        let (a, b) = link.ends();
        a.send(ns(1), frame(1));
        a.send(ns(2), frame(2));
        assert_eq!((b.next_due(), a.next_due()), (Some(ns(11)), None));
        assert_eq!(octet(b.receive(ns(10))), None);
        assert_eq!(octet(b.receive(ns(12))), Some(1));
        assert_eq!(octet(b.receive(ns(12))), Some(2));
        b.send(ns(12), frame(3));
        assert_eq!(octet(a.receive(ns(22))), Some(3));
    }

    #[test]
    fn a_full_link_drops_and_counts() {
        let (a, b) = MemoryLink { capacity: 2, ..MemoryLink::default() }.ends();
        for n in 0..5 {
            a.send(ns(0), frame(n));
        }
        assert_eq!(octet(b.receive(ns(0))), Some(0));
        a.send(ns(0), frame(9));
        assert_eq!(octet(b.receive(ns(0))), Some(1));
        assert_eq!(octet(b.receive(ns(0))), Some(9));
        assert_eq!(octet(b.receive(ns(0))), None);
        let counters = LinkCounters { sent: 3, full: 3, received: 3 };
        assert_eq!((a.sent(), b.sent()), (counters, LinkCounters::default()));
    }
}
