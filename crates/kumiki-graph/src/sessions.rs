//! Where a layer with connections keeps them: a slab whose handles know when what they named is gone.

use crate::Handle;

/// A slab with generations. One handle of a session serves both sides: it is what the layer tells its user and what it
/// tells its provider.
#[derive(Debug)]
pub struct Sessions<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    entry: Option<T>,
}

impl<T> Default for Sessions<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Sessions<T> {
    /// Keeps `entry`.
    pub fn insert(&mut self, entry: T) -> Handle {
        if let Some(index) = self.free.pop()
            && let Some(slot) = self.slots.get_mut(index as usize)
        {
            // Zero is the generation of the handle that names nothing.
            slot.generation = slot.generation.wrapping_add(1).max(1);
            slot.entry = Some(entry);
            let generation = slot.generation;
            return Handle { index, generation };
        }
        let index = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        self.slots.push(Slot { generation: 1, entry: Some(entry) });
        let generation = 1;
        Handle { index, generation }
    }

    fn slot(&mut self, handle: Handle) -> Option<&mut Slot<T>> {
        self.slots.get_mut(handle.index as usize).filter(|slot| slot.generation == handle.generation)
    }

    /// What `handle` names.
    pub fn get(&mut self, handle: Handle) -> Option<&mut T> {
        self.slot(handle)?.entry.as_mut()
    }

    /// Gives up what `handle` names.
    pub fn remove(&mut self, handle: Handle) -> Option<T> {
        let entry = self.slot(handle)?.entry.take()?;
        self.free.push(handle.index);
        Some(entry)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them, in the order of their places.
    pub fn handles(&self) -> Vec<Handle> {
        let slots = self.slots.iter().zip(0_u32..);
        let used = slots.filter(|(slot, _)| slot.entry.is_some());
        used.map(|(slot, index)| Handle { index, generation: slot.generation }).collect()
    }

    /// The first that is wanted, in the order of their places.
    pub fn find(&self, wanted: impl FnMut(&T) -> bool) -> Option<Handle> {
        self.all(wanted).next()
    }

    /// All that are wanted, in the order of their places.
    pub fn all(&self, mut wanted: impl FnMut(&T) -> bool) -> impl Iterator<Item = Handle> {
        let places = self.slots.iter().zip(0_u32..);
        places.filter_map(move |(slot, index)| {
            let generation = slot.generation;
            let found = slot.entry.as_ref().is_some_and(&mut wanted);
            found.then_some(Handle { index, generation })
        })
    }

    /// The one that says the most of what is wanted, by the number that `fits` gives it; of some that say as much, the
    /// first.
    pub fn best(&self, mut fits: impl FnMut(&T) -> Option<usize>) -> Option<Handle> {
        let mut best = None;
        for (slot, index) in self.slots.iter().zip(0_u32..) {
            let generation = slot.generation;
            let said = slot.entry.as_ref().and_then(&mut fits);
            if let Some(said) = said
                && best.is_none_or(|(most, _)| said > most)
            {
                best = Some((said, Handle { index, generation }));
            }
        }
        best.map(|(_, handle)| handle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_of_what_is_gone_names_nothing() {
        let mut sessions = Sessions::default();
        let first = sessions.insert('a');
        let second = sessions.insert('b');
        assert_eq!(sessions.remove(first), Some('a'));
        let third = sessions.insert('c');
        assert_eq!(third.index, first.index);
        assert_eq!(sessions.get(first), None);
        assert_eq!(sessions.remove(first), None);
        assert_eq!(sessions.get(third), Some(&mut 'c'));
        assert_eq!((sessions.len(), sessions.find(|it| *it == 'b')), (2, Some(second)));
        assert_eq!(sessions.handles(), [third, second]);
        assert_eq!(sessions.get(Handle::default()), None);
        assert_eq!(sessions.all(|_| true).collect::<Vec<_>>(), [third, second]);
    }

    #[test]
    fn the_best_is_the_first_that_says_the_most() {
        let mut sessions = Sessions::default();
        let handles = [0, 2, 2, 1].map(|said| sessions.insert(said));
        assert_eq!(sessions.best(|said| Some(*said)), Some(handles[1]));
        assert_eq!(sessions.best(|said| (*said < 2).then_some(*said)), Some(handles[3]));
        assert_eq!(sessions.best(|_| None), None);
    }
}
