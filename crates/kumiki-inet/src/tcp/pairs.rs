//! Small things that belong to connections without a session: found by their two ends, in constant time.

use hashbrown::HashTable;

use super::demux::{Pair, Secret};

/// Room for so many is kept when there are none; what a flood has needed is given back after it.
const ROOM: usize = 1024;

/// Something between two ends.
pub(crate) trait ConnectionEntry {
    /// The two ends.
    fn pair(&self) -> &Pair;
}

/// A slab, and a table keyed by the secret that finds an entry's index by its pair. There is one entry for a pair.
#[derive(Debug)]
pub(crate) struct Pairs<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
    index: HashTable<u32>,
}

impl<T> Default for Pairs<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), index: HashTable::new() }
    }
}

fn at<T>(slots: &[Option<T>], index: u32) -> Option<&T> {
    slots.get(usize::try_from(index).ok()?)?.as_ref()
}

impl<T: ConnectionEntry> Pairs<T> {
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    pub(crate) fn find(&self, secret: Secret, pair: &Pair) -> Option<u32> {
        if self.index.is_empty() {
            return None;
        }
        let is_it = |&index: &u32| at(&self.slots, index).is_some_and(|it| it.pair() == pair);
        self.index.find(secret.hash(pair), is_it).copied()
    }

    pub(crate) fn get(&mut self, index: u32) -> Option<&mut T> {
        self.slots.get_mut(usize::try_from(index).ok()?)?.as_mut()
    }

    /// Takes in something whose pair is not there yet.
    pub(crate) fn insert(&mut self, secret: Secret, it: T) -> u32 {
        let hash = secret.hash(it.pair());
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        let place = usize::try_from(index).ok();
        if let Some(slot) = place.and_then(|at| self.slots.get_mut(at)) {
            *slot = Some(it);
        }
        let slots = &self.slots;
        self.index.insert_unique(hash, index, |&index| at(slots, index).map_or(0, |it| secret.hash(it.pair())));
        index
    }

    pub(crate) fn remove(&mut self, secret: Secret, index: u32) -> Option<T> {
        let it = self.slots.get_mut(usize::try_from(index).ok()?).and_then(Option::take)?;
        let hash = secret.hash(it.pair());
        if let Ok(entry) = self.index.find_entry(hash, |&other| other == index) {
            entry.remove();
        }
        self.free.push(index);
        if self.index.is_empty() && self.slots.len() > ROOM {
            *self = Self::default();
        }
        Some(it)
    }

    /// The indices of those that `which` picks, in the order of the slab.
    pub(crate) fn which(&self, which: impl Fn(&T) -> bool) -> Vec<u32> {
        (0_u32..)
            .zip(&self.slots)
            .filter(|(_, slot)| slot.as_ref().is_some_and(&which))
            .map(|(index, _)| index)
            .collect()
    }
}
