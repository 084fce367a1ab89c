//! Where sessions and passive opens live, under the handles that users have.

use kumiki_graph::{Above, Handle};

use super::demux::Pair;
use super::session::Session;
use super::states::Listener;

/// What a handle can name.
#[derive(Debug)]
pub(crate) enum Entry {
    Free,
    Listener(Box<Listener>),
    /// A caller that waits for its answer, between these.
    Pending(Box<Pair>),
    Session(Box<Session>),
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    entry: Entry,
}

/// A slab with generations, so that a handle of something that is gone names nothing.
#[derive(Debug, Default)]
pub(crate) struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Table {
    #[inline]
    fn slot(&mut self, handle: Handle) -> Option<&mut Slot> {
        self.slots.get_mut(usize::try_from(handle.index).ok()?).filter(|slot| slot.generation == handle.generation)
    }

    /// The handle that [`Table::fill`] should be given next.
    pub(crate) fn reserve(&mut self) -> Handle {
        let index = self.free.pop().unwrap_or_else(|| {
            let index = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
            self.slots.push(Slot { generation: 0, entry: Entry::Free });
            index
        });
        let slot = usize::try_from(index).ok().and_then(|at| self.slots.get_mut(at));
        Handle { index, generation: slot.map_or(0, |slot| slot.generation) }
    }

    pub(crate) fn fill(&mut self, handle: Handle, entry: Entry) {
        if let Some(slot) = self.slot(handle) {
            slot.entry = entry;
        }
    }

    pub(crate) fn remove(&mut self, handle: Handle) -> Entry {
        let Some(slot) = self.slot(handle) else {
            return Entry::Free;
        };
        slot.generation = slot.generation.wrapping_add(1);
        let entry = core::mem::replace(&mut slot.entry, Entry::Free);
        self.free.push(handle.index);
        entry
    }

    #[inline]
    pub(crate) fn session(&mut self, handle: Handle) -> Option<&mut Session> {
        match &mut self.slot(handle)?.entry {
            Entry::Session(session) => Some(session),
            Entry::Free | Entry::Listener(_) | Entry::Pending(_) => None,
        }
    }

    pub(crate) fn listener(&mut self, handle: Handle) -> Option<&mut Listener> {
        match &mut self.slot(handle)?.entry {
            Entry::Listener(listener) => Some(listener),
            Entry::Free | Entry::Session(_) | Entry::Pending(_) => None,
        }
    }

    /// The two ends of a caller that waits for its answer.
    pub(crate) fn pending(&mut self, handle: Handle) -> Option<Pair> {
        match self.slot(handle)?.entry {
            Entry::Pending(ref pair) => Some(**pair),
            Entry::Free | Entry::Session(_) | Entry::Listener(_) => None,
        }
    }

    /// The two ends of the session that `handle` names.
    pub(crate) fn pair(&self, handle: Handle) -> Option<&Pair> {
        let slot = self.slots.get(usize::try_from(handle.index).ok()?)?;
        match &slot.entry {
            Entry::Session(session) if slot.generation == handle.generation => Some(&session.pair),
            Entry::Free | Entry::Listener(_) | Entry::Pending(_) | Entry::Session(_) => None,
        }
    }

    /// The passive open that `user` of `above` has, by our handle.
    pub(crate) fn listener_of(&self, above: Above, user: Handle) -> Option<Handle> {
        let own = |slot: &Slot| matches!(&slot.entry, Entry::Listener(it) if it.above == above && it.user == user);
        let index = self.slots.iter().position(own)?;
        let generation = self.slots.get(index)?.generation;
        Some(Handle { index: u32::try_from(index).ok()?, generation })
    }

    /// All sessions, in the order of the slab.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.slots.iter().filter_map(|slot| match &slot.entry {
            Entry::Session(session) => Some(session.as_ref()),
            Entry::Free | Entry::Listener(_) | Entry::Pending(_) => None,
        })
    }

    /// The same, to be changed.
    pub(crate) fn sessions_mut(&mut self) -> impl Iterator<Item = &mut Session> {
        self.slots.iter_mut().filter_map(|slot| match &mut slot.entry {
            Entry::Session(session) => Some(session.as_mut()),
            Entry::Free | Entry::Listener(_) | Entry::Pending(_) => None,
        })
    }
}
