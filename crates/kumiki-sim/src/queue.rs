//! The event queue: what happens next, in order of time and, where times are equal, of being scheduled.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use kumiki_graph::Instant;

/// Events that each concern one of a few parties; a party has at most one event that counts.
///
/// Arming a party again replaces its event: the old one stays in the heap and is skipped when it comes up, which is
/// cheaper than finding it.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    heap: BinaryHeap<Reverse<(Instant, u64, usize)>>,
    armed: Vec<Option<(Instant, u64)>>,
    order: u64,
}

impl Queue {
    /// Makes room for another party and returns its number.
    pub(crate) fn add_party(&mut self) -> usize {
        self.armed.push(None);
        self.armed.len() - 1
    }

    /// Sets when `party` is next due; `None` where it waits for others.
    pub(crate) fn arm(&mut self, party: usize, deadline: Option<Instant>) {
        let Some(armed) = self.armed.get_mut(party) else {
            return;
        };
        if armed.map(|(at, _)| at) == deadline {
            return;
        }
        self.order += 1;
        *armed = deadline.map(|at| (at, self.order));
        if let Some(at) = deadline {
            self.heap.push(Reverse((at, self.order, party)));
        }
    }

    /// Takes the next party that is due, if it is due by `limit`.
    pub(crate) fn pop(&mut self, limit: Instant) -> Option<(Instant, usize)> {
        while let Some(&Reverse((at, order, party))) = self.heap.peek() {
            let armed = self.armed.get_mut(party)?;
            if *armed != Some((at, order)) {
                self.heap.pop();
                continue;
            }
            if at > limit {
                return None;
            }
            *armed = None;
            self.heap.pop();
            return Some((at, party));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arming_again_replaces_and_ties_keep_the_order_of_arming() {
        let mut queue = Queue::default();
        let (a, b, c) = (queue.add_party(), queue.add_party(), queue.add_party());
        let at = Instant::from_nanos;
        queue.arm(a, Some(at(5)));
        queue.arm(b, Some(at(9)));
        queue.arm(c, Some(at(9)));
        queue.arm(a, Some(at(9)));
        assert_eq!(queue.pop(at(8)), None);
        let order: Vec<_> = core::iter::from_fn(|| queue.pop(at(9))).collect();
        assert_eq!(order, [(at(9), b), (at(9), c), (at(9), a)]);
    }
}
