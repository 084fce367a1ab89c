//! A bench for tests: elements wired together, and a loop that runs them.

use std::borrow::Cow;
use std::collections::VecDeque;

use kumiki_graph::{Address, Instant};
use kumiki_wire::atm::cell::rm::CellRate;

use crate::{Element, Occupancy, Outlet, Unit};

type Plug = (usize, usize);

/// Elements with plugs. What leaves by a port that is not plugged is kept, with its time and element.
#[derive(Default)]
pub(crate) struct Bench {
    elements: Vec<Box<dyn Element>>,
    plugs: Vec<(Plug, Plug)>,
    offers: VecDeque<(Instant, Plug, Unit)>,
    left: Vec<(Instant, usize, Unit)>,
    now: Instant,
    pub(crate) events: u64,
}

impl Bench {
    pub(crate) fn add(&mut self, element: Box<dyn Element>) -> usize {
        self.elements.push(element);
        self.elements.len() - 1
    }

    pub(crate) fn plug(&mut self, a: Plug, b: Plug) {
        self.plugs.extend([(a, b), (b, a)]);
    }

    /// Offers a unit at a time that is not before the last one's.
    pub(crate) fn offer(&mut self, at: Instant, to: Plug, unit: Unit) {
        assert!(self.offers.back().is_none_or(|(last, ..)| *last <= at));
        self.offers.push_back((at, to, unit));
    }

    pub(crate) fn run(&mut self) {
        self.run_until(Instant::from_nanos(u64::MAX));
    }

    /// Runs until nothing is due by `end`.
    pub(crate) fn run_until(&mut self, end: Instant) {
        let mut out = Outlet::default();
        loop {
            let due = self
                .elements
                .iter()
                .enumerate()
                .filter_map(|(number, element)| Some((element.next_deadline()?, number)))
                .min();
            let offer = self.offers.front().map(|(at, ..)| *at).filter(|at| *at <= end);
            let due = due.filter(|(at, _)| *at <= end);
            let mut in_flight = VecDeque::new();
            match (due, offer) {
                (due, Some(at)) if due.is_none_or(|(due, _)| at <= due) => {
                    let (at, to, unit) = self.offers.pop_front().unwrap();
                    self.now = at;
                    in_flight.push_back((to, unit));
                }
                (Some((at, number)), _) => {
                    assert!(at >= self.now, "{at} is past, it is {}", self.now);
                    self.now = at;
                    self.elements[number].poll(at, &mut out);
                    self.carry(number, &mut out, &mut in_flight);
                }
                (None, _) => return,
            }
            self.events += 1;
            while let Some(((element, port), unit)) = in_flight.pop_front() {
                self.elements[element].offer(self.now, port, unit, &mut out);
                self.carry(element, &mut out, &mut in_flight);
            }
        }
    }

    fn carry(&mut self, from: usize, out: &mut Outlet, in_flight: &mut VecDeque<(Plug, Unit)>) {
        for (port, unit) in out.drain() {
            match self.plugs.iter().find(|(plug, _)| *plug == (from, port)) {
                Some((_, to)) => in_flight.push_back((*to, unit)),
                None => self.left.push((self.now, from, unit)),
            }
        }
    }

    /// All that has left by free ports.
    pub(crate) fn take(&mut self) -> Vec<(Instant, usize, Unit)> {
        core::mem::take(&mut self.left)
    }

    /// At what rates channels of `element` may send.
    pub(crate) fn cell_rates(&self, element: usize) -> Vec<(Address, CellRate)> {
        self.elements[element].cell_rates()
    }

    /// How long the queues of `element` were.
    pub(crate) fn queues(&self, element: usize) -> Vec<(Cow<'static, str>, Occupancy)> {
        self.elements[element].queues(self.now)
    }

    pub(crate) fn counters(&self, element: usize) -> Vec<(&'static str, u64)> {
        self.elements[element].counters()
    }

    pub(crate) fn counter(&self, element: usize, name: &str) -> u64 {
        let all = self.counters(element);
        let found = all.iter().find(|(n, _)| *n == name);
        found.unwrap_or_else(|| panic!("no {name} in {all:?}")).1
    }
}
