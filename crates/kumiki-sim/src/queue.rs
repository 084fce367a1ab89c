//! The event queue: what happens next, in order of time and, where times are equal, lines, in an order that each
//! instant draws again, and then all else in that of being scheduled.
//!
//! *Why lines first:* what comes over a line then happens before anything that its receiver does by itself at that
//! instant, whatever was scheduled when. So the order does not depend on what happened at the other end of the line,
//! and a world in parts has the same (see `parts.rs`).

use kumiki_graph::Instant;

/// How many followers each event of the heap has: with four the heap is half as deep as with two, and they lie
/// together.
const FOLLOWERS: usize = 4;
/// The place of a party without an event.
const NOWHERE: u32 = u32::MAX;

/// Events that each concern one of a few parties; a party has at most one event.
///
/// A heap of parties that knows where each of them stands, so that arming a party again moves its event in place. A
/// host's next deadline changes with nearly every event (each acknowledgement sets a retransmission timer again), and
/// were the old events left in the heap to be skipped, it would hold all of a round-trip time's.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// Due first at index 0; the followers of the event at `n`, from `FOLLOWERS * n + 1` on, are not due before it.
    heap: Vec<Event>,
    /// Where each party stands in the heap, or [`NOWHERE`].
    places: Vec<u32>,
    order: u64,
    /// The party whose event was taken last. The event stays in its place until its party is armed again, which is
    /// soon: so it moves once instead of leaving the heap and coming back.
    taken: Option<usize>,
}

/// Lines have an order below this.
const FIRST_ARMED: u64 = 1 << 63;

/// The place in the order of the line with this number among those that are due at `at`. No line is always before
/// another: where frames of several come to one queue at once, again and again, each has its turn.
fn order_of_line(number: u32, at: Instant) -> u64 {
    // The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
    let mut drawn = at.as_nanos() ^ u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    drawn ^= drawn >> 31;
    // With the number below, no two are equal.
    (drawn >> 33 << 32 | u64::from(number)) & (FIRST_ARMED - 1)
}

#[derive(Clone, Copy, Debug)]
struct Event {
    at: Instant,
    order: u64,
    party: u32,
}

impl Event {
    /// Smaller where it is due earlier; no two are equal. One number compares without a branch between its halves.
    const fn due(&self) -> u128 {
        (self.at.as_nanos() as u128) << 64 | self.order as u128
    }
}

#[expect(
    clippy::indexing_slicing,
    reason = "indices into the heap are below its length, parties in the heap are among the places"
)]
impl Queue {
    /// Makes room for another party and returns its number.
    pub(crate) fn add_party(&mut self) -> usize {
        self.places.push(NOWHERE);
        self.places.len() - 1
    }

    /// When `party` is next due, and its place in the order.
    pub(crate) fn armed(&mut self, party: usize) -> Option<(Instant, u64)> {
        self.first();
        let place = self.places.get(party).filter(|place| **place != NOWHERE)?;
        self.heap.get(*place as usize).map(|event| (event.at, event.order))
    }

    /// Sets when `party` is next due; `None` where it waits for others. A party armed for the time that it is armed for
    /// already keeps its place in the order, unless its event has just been taken.
    pub(crate) fn arm(&mut self, party: usize, deadline: Option<Instant>) {
        self.arm_as(party, deadline, None);
    }

    /// The same for the line with this number, which no other line has.
    pub(crate) fn arm_line(&mut self, party: usize, number: u32, deadline: Option<Instant>) {
        self.arm_as(party, deadline, Some(number));
    }

    #[inline]
    fn arm_as(&mut self, party: usize, deadline: Option<Instant>, line: Option<u32>) {
        let Some(&place) = self.places.get(party) else {
            return;
        };
        let armed = (place != NOWHERE).then_some(place as usize);
        let happened = self.taken.take_if(|taken| *taken == party).is_some();
        match (armed, deadline) {
            (None, None) => {}
            (Some(place), None) => self.remove(place),
            (Some(place), Some(at)) if self.heap[place].at == at && !happened => {}
            (armed, Some(at)) => {
                self.order += 1;
                let order = line.map_or(FIRST_ARMED + self.order, |number| order_of_line(number, at));
                if let Some(place) = armed {
                    let event = &mut self.heap[place];
                    (event.at, event.order) = (at, order);
                    self.settle(place);
                } else {
                    let party = u32::try_from(party).unwrap_or(NOWHERE);
                    self.heap.push(Event { at, order, party });
                    self.rise(self.heap.len() - 1);
                }
            }
        }
    }

    /// Takes the next party that is due, if it is due by `limit`.
    pub(crate) fn pop(&mut self, limit: Instant) -> Option<(Instant, usize)> {
        let (at, party) = self.first()?;
        if at > limit {
            return None;
        }
        self.taken = Some(party);
        Some((at, party))
    }

    /// When the next event is due.
    pub(crate) fn next_at(&mut self) -> Option<Instant> {
        self.first().map(|(at, _)| at)
    }

    /// What is next due.
    fn first(&mut self) -> Option<(Instant, usize)> {
        if let Some(taken) = self.taken.take() {
            self.remove(self.places[taken] as usize);
        }
        let event = self.heap.first()?;
        Some((event.at, event.party as usize))
    }

    fn remove(&mut self, place: usize) {
        let gone = self.heap.swap_remove(place);
        self.places[gone.party as usize] = NOWHERE;
        if place < self.heap.len() {
            self.settle(place);
        }
    }

    /// Brings the event at `place` where it belongs.
    fn settle(&mut self, place: usize) {
        if self.rise(place) == place {
            self.sink(place);
        }
    }

    fn rise(&mut self, mut place: usize) -> usize {
        let event = self.heap[place];
        while let Some(above) = place.checked_sub(1).map(|n| n / FOLLOWERS) {
            let leader = self.heap[above];
            if leader.due() < event.due() {
                break;
            }
            self.put(place, leader);
            place = above;
        }
        self.put(place, event);
        place
    }

    fn sink(&mut self, mut place: usize) {
        let event = self.heap[place];
        loop {
            let first = FOLLOWERS * place + 1;
            let end = self.heap.len().min(first + FOLLOWERS);
            let mut next = first;
            for other in first + 1..end {
                if self.heap[other].due() < self.heap[next].due() {
                    next = other;
                }
            }
            if next >= end || event.due() < self.heap[next].due() {
                break;
            }
            self.put(place, self.heap[next]);
            place = next;
        }
        self.put(place, event);
    }

    fn put(&mut self, place: usize, event: Event) {
        self.heap[place] = event;
        self.places[event.party as usize] = u32::try_from(place).unwrap_or(NOWHERE);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
        // The same again changes nothing.
        queue.arm(b, Some(at(9)));
        assert_eq!(queue.pop(at(8)), None);
        let order: Vec<_> = core::iter::from_fn(|| queue.pop(at(9))).collect();
        assert_eq!(order, [(at(9), b), (at(9), c), (at(9), a)]);
        assert_eq!(queue.first(), None);
    }

    proptest! {
        /// Against a plain list, searched for its smallest (time, order).
        #[test]
        fn agrees_with_a_list(steps in prop::collection::vec((0usize..12, prop::option::of(0u64..40), any::<bool>()), 1..300)) {
            let mut queue = Queue::default();
            let mut list = [None; 12];
            // Some are lines.
            let line = |party: usize| (party % 3 == 2).then(|| u32::try_from(party).unwrap());
            for _ in &list {
                queue.add_party();
            }
            for (order, (party, deadline, pop)) in steps.into_iter().enumerate() {
                let deadline = deadline.map(Instant::from_nanos);
                match line(party) {
                    Some(number) => queue.arm_line(party, number, deadline),
                    None => queue.arm(party, deadline),
                }
                if list[party].map(|(at, _)| at) != deadline {
                    list[party] = deadline.map(|at| {
                        let order = FIRST_ARMED + order as u64;
                        (at, line(party).map_or(order, |number| order_of_line(number, at)))
                    });
                }
                let first = list.iter().enumerate().filter_map(|(party, event)| Some(((*event)?, party))).min();
                // To look removes what was taken, so not after every step.
                if order % 3 > 0 {
                    continue;
                }
                prop_assert_eq!(queue.first(), first.map(|((at, _), party)| (at, party)));
                if pop {
                    prop_assert_eq!(queue.pop(Instant::FAR_FUTURE), first.map(|((at, _), party)| (at, party)));
                    if let Some((_, party)) = first {
                        list[party] = None;
                    }
                }
            }
        }
    }
}
