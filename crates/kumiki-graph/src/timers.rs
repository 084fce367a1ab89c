//! One timer wheel for both clocks.
//!
//! Eleven levels of 64 slots cover every nanosecond of an [`Instant`]: a deadline waits at the level of the highest six
//! bits in which it differs from the wheel's present time, and moves down as time comes near. Arming and disarming
//! touch one slot; expiry is exact to the nanosecond; deadlines that are equal expire in the order in which they were
//! armed.

use core::num::NonZeroU32;

use crate::Instant;

const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
const LEVELS: usize = 11;
const NONE: u32 = u32::MAX;

/// Names an armed timer; becomes stale by itself when the timer expires, is taken or is disarmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimerId {
    index: u32,
    /// Never 0, so that the room for a timer that is not armed takes no octet more than one that is: connections have
    /// many.
    generation: NonZeroU32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Free,
    Armed,
    /// Its deadline has passed, and what it stands for waits to be taken.
    Fired,
}

#[derive(Clone, Copy)]
struct Entry<T> {
    deadline: Instant,
    what: T,
    generation: NonZeroU32,
    level: u8,
    slot: u8,
    phase: Phase,
    previous: u32,
    next: u32,
}

#[derive(Clone, Copy)]
struct List {
    first: u32,
    last: u32,
    /// The earliest deadline in it, where it is known.
    earliest: Option<Instant>,
}

impl List {
    const EMPTY: Self = Self { first: NONE, last: NONE, earliest: None };
}

/// Timers that carry a `T` each.
pub struct Timers<T> {
    /// No armed deadline is before this.
    present: Instant,
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
    lists: Box<[[List; SLOTS]; LEVELS]>,
    occupied: [u64; LEVELS],
    /// The earliest deadline, where it is known.
    earliest: Option<Instant>,
    armed: usize,
}

impl<T: Copy> Default for Timers<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[expect(clippy::indexing_slicing, reason = "levels and slots come from place(), entries from the lists: all in range")]
impl<T: Copy> Timers<T> {
    /// A wheel without timers, at the start of the clock.
    #[must_use]
    pub fn new() -> Self {
        Self {
            present: Instant::ZERO,
            entries: Vec::new(),
            free: Vec::new(),
            lists: Box::new([[List::EMPTY; SLOTS]; LEVELS]),
            occupied: [0; LEVELS],
            earliest: None,
            armed: 0,
        }
    }

    /// How many timers are armed.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.armed
    }

    /// Whether no timer is armed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.armed == 0
    }

    /// Arms a timer; a deadline that has passed expires at once.
    pub fn arm(&mut self, deadline: Instant, what: T) -> TimerId {
        let deadline = deadline.max(self.present);
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                let index = u32::try_from(self.entries.len()).unwrap_or(NONE);
                self.entries.push(Entry {
                    deadline,
                    what,
                    generation: NonZeroU32::MIN,
                    level: 0,
                    slot: 0,
                    phase: Phase::Free,
                    previous: NONE,
                    next: NONE,
                });
                index
            }
        };
        let entry = &mut self.entries[index as usize];
        (entry.deadline, entry.what, entry.phase) = (deadline, what, Phase::Armed);
        let generation = entry.generation;
        if self.armed == 0 || self.earliest.is_some_and(|earliest| deadline < earliest) {
            self.earliest = Some(deadline);
        }
        self.armed += 1;
        self.link(index);
        TimerId { index, generation }
    }

    /// Disarms a timer, also one that has fired and was not taken yet; false where it is gone already.
    pub fn disarm(&mut self, id: TimerId) -> bool {
        let Some(entry) = self.entries.get(id.index as usize) else {
            return false;
        };
        if entry.generation != id.generation {
            return false;
        }
        if entry.phase == Phase::Armed {
            if self.earliest == Some(entry.deadline) {
                self.earliest = None;
            }
            self.unlink(id.index);
            self.armed -= 1;
        }
        self.release(id.index)
    }

    /// The earliest deadline, if any timer is armed.
    pub fn next_deadline(&mut self) -> Option<Instant> {
        if self.armed == 0 {
            return None;
        }
        if self.earliest.is_none() {
            self.earliest = self.find_earliest();
        }
        self.earliest
    }

    /// Takes the first timer due at `now`, if any is.
    pub fn expire(&mut self, now: Instant) -> Option<(Instant, T)> {
        let (deadline, id, what) = self.fire(now)?;
        self.take(id);
        Some((deadline, what))
    }

    /// As [`Timers::expire`], for one that acts on it later: until [`Timers::take`] the timer can still be disarmed.
    pub fn fire(&mut self, now: Instant) -> Option<(Instant, TimerId, T)> {
        if self.next_deadline()? > now {
            return None;
        }
        loop {
            let level = self.occupied.iter().position(|&slots| slots != 0)?;
            let slot = self.occupied[level].trailing_zeros() as usize;
            let index = self.lists[level][slot].first;
            if level == 0 {
                self.unlink(index);
                self.armed -= 1;
                self.earliest = None;
                let entry = &mut self.entries[index as usize];
                entry.phase = Phase::Fired;
                self.present = entry.deadline;
                let generation = entry.generation;
                return Some((entry.deadline, TimerId { index, generation }, entry.what));
            }
            self.cascade(level, slot);
        }
    }

    /// Takes a timer that has fired; false where it was disarmed since.
    pub fn take(&mut self, id: TimerId) -> bool {
        let waits = self
            .entries
            .get(id.index as usize)
            .is_some_and(|entry| entry.generation == id.generation && entry.phase == Phase::Fired);
        waits && self.release(id.index)
    }

    /// Moves the timers of the next slot of a coarse level to finer levels, in order.
    fn cascade(&mut self, level: usize, slot: usize) {
        let mut index = self.lists[level][slot].first;
        let shift = BITS * u32::try_from(level).unwrap_or(0);
        let deadline = self.entries[index as usize].deadline.as_nanos();
        self.present = Instant::from_nanos(deadline >> shift << shift).max(self.present);
        self.lists[level][slot] = List::EMPTY;
        self.occupied[level] &= !(1 << slot);
        while index != NONE {
            let next = self.entries[index as usize].next;
            self.link(index);
            index = next;
        }
    }

    fn find_earliest(&mut self) -> Option<Instant> {
        let level = self.occupied.iter().position(|&slots| slots != 0)?;
        let slot = self.occupied[level].trailing_zeros() as usize;
        let list = self.lists[level][slot];
        if list.earliest.is_some() {
            return list.earliest;
        }
        let mut index = list.first;
        let mut earliest = self.entries.get(index as usize)?.deadline;
        while index != NONE && level != 0 {
            let entry = &self.entries[index as usize];
            earliest = earliest.min(entry.deadline);
            index = entry.next;
        }
        self.lists[level][slot].earliest = Some(earliest);
        Some(earliest)
    }

    /// The level and slot where `deadline` waits.
    fn place(&self, deadline: Instant) -> (usize, usize) {
        let (deadline, present) = (deadline.as_nanos(), self.present.as_nanos());
        let differing = 63 - (deadline ^ present | 1).leading_zeros();
        let level = differing / BITS;
        let slot = deadline >> (level * BITS) & (SLOTS as u64 - 1);
        (level as usize, usize::try_from(slot).unwrap_or(0))
    }

    fn link(&mut self, index: u32) {
        let deadline = self.entries[index as usize].deadline;
        let (level, slot) = self.place(deadline);
        let list = &mut self.lists[level][slot];
        let last = list.last;
        list.last = index;
        if last == NONE {
            list.first = index;
            list.earliest = Some(deadline);
            self.occupied[level] |= 1 << slot;
        } else {
            // Not known: the earliest was taken out, and is looked for when somebody asks.
            list.earliest = list.earliest.map(|earliest| earliest.min(deadline));
            self.entries[last as usize].next = index;
        }
        let entry = &mut self.entries[index as usize];
        (entry.previous, entry.next) = (last, NONE);
        entry.level = u8::try_from(level).unwrap_or(0);
        entry.slot = u8::try_from(slot).unwrap_or(0);
    }

    fn unlink(&mut self, index: u32) {
        let Entry { level, slot, previous, next, deadline, .. } = self.entries[index as usize];
        let (level, slot) = (usize::from(level), usize::from(slot));
        let list = &mut self.lists[level][slot];
        if list.first == index {
            list.first = next;
        }
        if list.last == index {
            list.last = previous;
        }
        if list.earliest == Some(deadline) {
            list.earliest = None;
        }
        if list.first == NONE {
            self.occupied[level] &= !(1 << slot);
        }
        if previous != NONE {
            self.entries[previous as usize].next = next;
        }
        if next != NONE {
            self.entries[next as usize].previous = previous;
        }
    }

    /// False where the entry is free already.
    fn release(&mut self, index: u32) -> bool {
        let entry = &mut self.entries[index as usize];
        if core::mem::replace(&mut entry.phase, Phase::Free) == Phase::Free {
            return false;
        }
        entry.generation = entry.generation.checked_add(1).unwrap_or(NonZeroU32::MIN);
        self.free.push(index);
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_deadlines_expire_in_the_order_of_arming() {
        let mut timers = Timers::new();
        let at = Instant::from_nanos(5_000_000);
        for n in 0..10 {
            timers.arm(at, n);
        }
        let order: Vec<i32> = core::iter::from_fn(|| timers.expire(at).map(|(_, n)| n)).collect();
        assert_eq!(order, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn a_stale_name_disarms_nothing() {
        let mut timers = Timers::new();
        let old = timers.arm(Instant::from_nanos(1), 'a');
        assert!(timers.disarm(old));
        timers.arm(Instant::from_nanos(2), 'b');
        assert!(!timers.disarm(old));
        assert_eq!(timers.next_deadline(), Some(Instant::from_nanos(2)));
    }

    #[test]
    fn a_fired_timer_can_be_disarmed_until_it_is_taken() {
        let mut timers = Timers::new();
        let at = Instant::from_nanos(70);
        let (first, second) = (timers.arm(at, 1), timers.arm(at, 2));
        assert_eq!(timers.fire(at), Some((at, first, 1)));
        assert_eq!(timers.fire(at), Some((at, second, 2)));
        assert!(timers.is_empty() && timers.next_deadline().is_none());
        assert!(timers.disarm(first) && !timers.disarm(first));
        let third = timers.arm(at, 3);
        assert!(!timers.take(first) && !timers.take(third));
        assert!(timers.take(second) && !timers.take(second));
        assert_eq!(timers.len(), 1);
    }

    proptest! {
        /// Against the plainest thing that can be right: a list, searched for its smallest (deadline, order).
        #[test]
        fn agrees_with_a_sorted_list(steps in prop::collection::vec((0u8..4, 0u64..1 << 40, 0usize..64), 1..300)) {
            let mut timers = Timers::new();
            let mut list: Vec<(Instant, usize, TimerId)> = Vec::new();
            let mut now = Instant::ZERO;
            for (order, (kind, time, pick)) in steps.into_iter().enumerate() {
                let time = time >> (pick % 40);
                match kind {
                    0 | 1 => {
                        let deadline = Instant::from_nanos(now.as_nanos() + time);
                        list.push((deadline, order, timers.arm(deadline, order)));
                    }
                    2 if !list.is_empty() => {
                        let (_, _, id) = list.remove(pick % list.len());
                        prop_assert!(timers.disarm(id));
                    }
                    _ => {
                        now = Instant::from_nanos(now.as_nanos() + time);
                        while let Some((deadline, what)) = timers.expire(now) {
                            let first = list.iter().enumerate().min_by_key(|(_, e)| (e.0, e.1)).map(|(i, _)| i);
                            let (expected, order, _) = list.remove(first.unwrap());
                            prop_assert_eq!((deadline, what), (expected, order));
                        }
                    }
                }
                prop_assert_eq!(timers.next_deadline(), list.iter().map(|e| e.0).min());
                prop_assert_eq!(timers.len(), list.len());
            }
        }
    }
}
