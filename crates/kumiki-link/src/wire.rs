//! A wire: propagation and nothing else.

use std::collections::VecDeque;

use kumiki_graph::{Duration, Instant};

use crate::{Element, Outlet, Unit};

/// What has been put on a wire in one direction.
#[derive(Debug, Default)]
struct Flight {
    units: VecDeque<(Instant, Unit)>,
    passed: u64,
}

impl Flight {
    fn due(&mut self, now: Instant) -> Option<Unit> {
        let (at, _) = self.units.front()?;
        if *at > now {
            return None;
        }
        self.passed += 1;
        self.units.pop_front().map(|(_, unit)| unit)
    }
}

/// Two ports; whatever enters one leaves the other a fixed time later, in order.
///
/// Counters: `forward` and `backward`, units that have left by port 1 and by port 0.
#[derive(Debug)]
pub struct Wire {
    propagation: Duration,
    /// By the port they leave by.
    flights: [Flight; 2],
}

impl Wire {
    /// A wire that takes `propagation` from end to end.
    #[must_use]
    pub fn new(propagation: Duration) -> Self {
        Self { propagation, flights: Default::default() }
    }
}

impl Element for Wire {
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        let [to_0, to_1] = &mut self.flights;
        let (leaves_by, flight) = if port == 0 { (1, to_1) } else { (0, to_0) };
        if self.propagation.is_zero() && flight.units.is_empty() {
            flight.passed += 1;
            out.put(leaves_by, unit);
        } else {
            flight.units.push_back((now + self.propagation, unit));
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.flights.iter().filter_map(|flight| flight.units.front().map(|(at, _)| *at)).min()
    }

    fn poll(&mut self, now: Instant, out: &mut Outlet) {
        for (port, flight) in self.flights.iter_mut().enumerate() {
            while let Some(unit) = flight.due(now) {
                out.put(port, unit);
            }
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let [to_0, to_1] = &self.flights;
        vec![("forward", to_1.passed), ("backward", to_0.passed)]
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

    #[test]
    fn units_come_out_in_order_after_the_propagation() {
        let mut wire = Wire::new(Duration::from_micros(5));
        let mut out = Outlet::default();
        wire.offer(Instant::from_nanos(10), 0, frame(1), &mut out);
        wire.offer(Instant::from_nanos(20), 0, frame(2), &mut out);
        wire.offer(Instant::from_nanos(15), 1, frame(3), &mut out);
        let mut seen = Vec::new();
        while let Some(at) = wire.next_deadline() {
            wire.poll(at, &mut out);
            for (port, unit) in out.drain() {
                let Unit::Frame { data, .. } = unit else { panic!("not a frame") };
                seen.push((at.as_nanos(), port, data.to_vec()[0]));
            }
        }
        assert_eq!(seen, [(5010, 1, 1), (5015, 0, 3), (5020, 1, 2)]);
        assert_eq!(wire.counters(), [("forward", 2), ("backward", 1)]);
    }

    #[test]
    fn a_wire_of_no_length_passes_at_once() {
        let mut wire = Wire::new(Duration::ZERO);
        let mut out = Outlet::default();
        wire.offer(Instant::ZERO, 1, frame(1), &mut out);
        assert_eq!(out.drain().count(), 1);
        assert_eq!(wire.next_deadline(), None);
    }
}
