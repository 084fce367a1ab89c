//! Where sockets are kept: by handles that know when what they named is gone, each beside what the kernel watches of
//! it.

use kumiki_graph::Handle;
use rustix::event::epoll::EventFlags;

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    watched: EventFlags,
    /// It waits for its turn.
    marked: bool,
    entry: Option<T>,
}

/// A slab with generations.
#[derive(Debug)]
pub(super) struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    pub(super) fn insert(&mut self, entry: T) -> Handle {
        if let Some(index) = self.free.pop()
            && let Some(slot) = self.slots.get_mut(index as usize)
        {
            // Zero is the generation of the handle that names nothing.
            slot.generation = slot.generation.wrapping_add(1).max(1);
            slot.watched = EventFlags::empty();
            slot.marked = false;
            slot.entry = Some(entry);
            let generation = slot.generation;
            return Handle { index, generation };
        }
        let index = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        let generation = 1;
        self.slots.push(Slot { generation, watched: EventFlags::empty(), marked: false, entry: Some(entry) });
        Handle { index, generation }
    }

    fn slot(&mut self, handle: Handle) -> Option<&mut Slot<T>> {
        let slot = self.slots.get_mut(handle.index as usize)?;
        (slot.generation == handle.generation).then_some(slot)
    }

    pub(super) fn get(&mut self, handle: Handle) -> Option<&mut T> {
        self.slot(handle)?.entry.as_mut()
    }

    pub(super) fn get_ref(&self, handle: Handle) -> Option<&T> {
        let slot = self.slots.get(handle.index as usize)?;
        let entry = slot.entry.as_ref();
        entry.filter(|_| slot.generation == handle.generation)
    }

    /// Notes that it waits for its turn; false where it does already, or is gone.
    pub(super) fn mark(&mut self, handle: Handle) -> bool {
        let slot = self.slot(handle).filter(|slot| slot.entry.is_some());
        slot.is_some_and(|slot| !core::mem::replace(&mut slot.marked, true))
    }

    pub(super) fn unmark(&mut self, handle: Handle) {
        if let Some(slot) = self.slot(handle) {
            slot.marked = false;
        }
    }

    /// What the kernel watches of it, and itself.
    pub(super) fn watched(&mut self, handle: Handle) -> Option<(&mut EventFlags, &T)> {
        let slot = self.slot(handle)?;
        Some((&mut slot.watched, slot.entry.as_ref()?))
    }

    /// Puts `entry` in the place of what `handle` names.
    pub(super) fn put(&mut self, handle: Handle, entry: T) {
        if let Some(slot) = self.slot(handle) {
            slot.entry = Some(entry);
        }
    }

    pub(super) fn remove(&mut self, handle: Handle) -> Option<T> {
        let entry = self.slot(handle)?.entry.take()?;
        self.free.push(handle.index);
        Some(entry)
    }

    /// How many there are.
    pub(super) const fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// All that are wanted, in the order of their places.
    pub(super) fn all(&self, mut wanted: impl FnMut(&T) -> bool) -> Vec<Handle> {
        let places = self.slots.iter().zip(0_u32..);
        let found = places.filter_map(|(slot, index)| {
            let generation = slot.generation;
            let is_it = slot.entry.as_ref().is_some_and(&mut wanted);
            is_it.then_some(Handle { index, generation })
        });
        found.collect()
    }
}
