//! A table of bounded size: what has least in it makes room.

use std::collections::{BTreeMap, BTreeSet};

/// What is remembered of each of many keys.
#[derive(Debug)]
pub(super) struct Ledger<K, V> {
    most: usize,
    entries: BTreeMap<K, V>,
    order: BTreeSet<(V, K)>,
}

impl<K: Ord + Copy, V: Ord + Copy> Ledger<K, V> {
    /// Empty, for so many keys at most.
    pub(super) const fn new(most: usize) -> Self {
        Self { most, entries: BTreeMap::new(), order: BTreeSet::new() }
    }

    /// How many keys are remembered.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        debug_assert_eq!(self.entries.len(), self.order.len());
        self.entries.len()
    }

    /// What is remembered of a key.
    pub(super) fn find(&self, key: K) -> Option<V> {
        self.entries.get(&key).copied()
    }

    /// Remembers this of a key. Where there are too many the one with the least is forgotten.
    pub(super) fn set(&mut self, key: K, value: V) {
        self.forget(key);
        if self.entries.len() >= self.most
            && let Some((_, least)) = self.order.pop_first()
        {
            self.entries.remove(&least);
        }
        self.entries.insert(key, value);
        self.order.insert((value, key));
    }

    /// Remembers nothing more of a key.
    pub(super) fn forget(&mut self, key: K) {
        if let Some(value) = self.entries.remove(&key) {
            self.order.remove(&(value, key));
        }
    }

    /// Changes what is remembered of all; of some that is nothing.
    pub(super) fn change_all(&mut self, change: impl Fn(V) -> Option<V>) {
        let entries = core::mem::take(&mut self.entries);
        self.entries = entries.into_iter().filter_map(|(key, value)| Some((key, change(value)?))).collect();
        self.order = self.entries.iter().map(|(key, value)| (*value, *key)).collect();
    }
}
