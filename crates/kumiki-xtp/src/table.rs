//! Where contexts, passive opens and what is left of contexts live, and who is found by what.
//!
//! A handle is a place in the slab and a random instance, and both together are the context's key (P5): a packet with a
//! key of ours (RTN) finds its context by one index and one comparison. A packet with its sender's own key is looked up
//! by who sent it and that key.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::{Address, Handle, Instant, Rng};
use kumiki_wire::xtp::Key;

use super::close::InactiveContext;
use super::context::Endpoint;
use super::listening::Listener;

/// What a handle can name.
#[derive(Debug)]
pub(crate) enum Entry {
    Free,
    Listener(Box<Listener>),
    Context(Box<Endpoint>),
    /// Over, but still answering.
    Inactive(Box<InactiveContext>),
}

#[derive(Debug)]
struct Slot {
    instance: u32,
    entry: Entry,
}

/// A slab with instances, so that a handle of something that is gone names nothing.
#[derive(Debug, Default)]
pub(crate) struct Table {
    slots: Vec<Slot>,
    /// In the order in which they became free: a key is used again as late as possible.
    free: VecDeque<u32>,
    by_peer: BTreeMap<(Address, Key), Handle>,
    /// Consecutive packets are usually of one context.
    last: Option<((Address, Key), Handle)>,
    listeners: BTreeMap<(u16, IpAddr), Handle>,
    contexts: usize,
    /// Those that are inactive, and until when; in that order, for they are all held for the same time.
    held: VecDeque<(Instant, Handle)>,
}

/// The key of what `handle` names.
pub(crate) const fn key_of(handle: Handle) -> Key {
    Key((handle.index as u64) << 32 | handle.generation as u64).own()
}

/// The handle that has this key.
pub(crate) const fn handle_of(key: Key) -> Handle {
    let [a, b, c, d, e, f, g, h] = key.own().0.to_be_bytes();
    Handle { index: u32::from_be_bytes([a, b, c, d]), generation: u32::from_be_bytes([e, f, g, h]) }
}

impl Table {
    fn slot(&mut self, handle: Handle) -> Option<&mut Slot> {
        self.slots.get_mut(usize::try_from(handle.index).ok()?).filter(|slot| slot.instance == handle.generation)
    }

    /// A free place, under the name that [`Table::fill`] should be given next.
    pub(crate) fn reserve(&mut self, rng: &mut Rng) -> Handle {
        // A few places stay free, so that keys that have just been used are not used again.
        const SPARE: usize = 16;
        let mut index = None;
        if self.free.len() > SPARE {
            index = self.free.pop_front();
        }
        let index = index.unwrap_or_else(|| {
            let index = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
            self.slots.push(Slot { instance: 0, entry: Entry::Free });
            index
        });
        let place = usize::try_from(index).unwrap_or(usize::MAX);
        let mut generation = rng.next_u32();
        if let Some(slot) = self.slots.get_mut(place) {
            if slot.instance == generation {
                generation = generation.wrapping_add(1);
            }
            slot.instance = generation;
        }
        Handle { index, generation }
    }

    pub(crate) fn fill(&mut self, handle: Handle, entry: Entry) {
        if let Some(slot) = self.slot(handle) {
            let more = usize::from(matches!(entry, Entry::Context(_)));
            slot.entry = entry;
            self.contexts += more;
        }
    }

    /// Takes out what is there; the name is void from now on.
    pub(crate) fn remove(&mut self, handle: Handle) -> Entry {
        let Some(slot) = self.slot(handle) else {
            return Entry::Free;
        };
        let entry = core::mem::replace(&mut slot.entry, Entry::Free);
        // Not the instance of the next one, which is drawn.
        slot.instance = slot.instance.wrapping_add(1);
        self.free.push_back(handle.index);
        match &entry {
            Entry::Context(context) => {
                self.contexts -= 1;
                if let Some(name) = context.name() {
                    self.forget_peer(name, handle);
                }
            }
            Entry::Inactive(remains) => {
                if let Some(name) = remains.name {
                    self.forget_peer(name, handle);
                }
            }
            Entry::Free | Entry::Listener(_) => {}
        }
        entry
    }

    /// The context is over; `remains` answers in its place until `until`.
    pub(crate) fn retire(&mut self, handle: Handle, remains: InactiveContext, until: Instant) -> Entry {
        let Some(slot) = self.slot(handle) else {
            return Entry::Free;
        };
        let entry = core::mem::replace(&mut slot.entry, Entry::Inactive(Box::new(remains)));
        self.contexts -= usize::from(matches!(entry, Entry::Context(_)));
        self.held.push_back((until, handle));
        entry
    }

    /// When the first of those that are held may be forgotten.
    pub(crate) fn next_held(&self) -> Option<Instant> {
        self.held.front().map(|(until, _)| *until)
    }

    /// Forgets those whose time is over, and the oldest of more than `most`.
    /// The groups that those were of.
    pub(crate) fn forget_held(&mut self, now: Instant, most: usize) -> Vec<IpAddr> {
        let mut groups = Vec::new();
        while let Some(&(until, handle)) = self.held.front()
            && (until <= now || self.held.len() > most)
        {
            self.held.pop_front();
            if let Entry::Inactive(remains) = self.remove(handle) {
                groups.extend(remains.group);
            }
        }
        groups
    }

    /// How many contexts there are, those that are over not among them.
    pub(crate) const fn contexts(&self) -> usize {
        self.contexts
    }

    /// How many contexts are over and still answer.
    pub(crate) fn inactive(&self) -> usize {
        self.held.len()
    }

    pub(crate) fn context(&mut self, handle: Handle) -> Option<&mut Endpoint> {
        match &mut self.slot(handle)?.entry {
            Entry::Context(context) => Some(context),
            Entry::Free | Entry::Listener(_) | Entry::Inactive(_) => None,
        }
    }

    pub(crate) fn inactive_mut(&mut self, handle: Handle) -> Option<&mut InactiveContext> {
        match &mut self.slot(handle)?.entry {
            Entry::Inactive(remains) => Some(remains),
            Entry::Free | Entry::Listener(_) | Entry::Context(_) => None,
        }
    }

    pub(crate) fn listener(&mut self, handle: Handle) -> Option<&mut Listener> {
        match &mut self.slot(handle)?.entry {
            Entry::Listener(listener) => Some(listener),
            Entry::Free | Entry::Context(_) | Entry::Inactive(_) => None,
        }
    }

    /// All contexts, in the order of the slab.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Endpoint> {
        self.slots.iter().filter_map(|slot| match &slot.entry {
            Entry::Context(context) => Some(context.as_ref()),
            Entry::Free | Entry::Listener(_) | Entry::Inactive(_) => None,
        })
    }

    /// Packets from `name` that carry this key of their sender's belong to `handle`.
    pub(crate) fn know_peer(&mut self, name: (Address, Key), handle: Handle) {
        self.by_peer.insert(name, handle);
        self.last = None;
    }

    fn forget_peer(&mut self, name: (Address, Key), handle: Handle) {
        self.last = None;
        if self.by_peer.get(&name) == Some(&handle) {
            self.by_peer.remove(&name);
        }
    }

    /// Whose packets from `name` are that carry this key of their sender's.
    pub(crate) fn of_peer(&mut self, name: (Address, Key)) -> Option<Handle> {
        if let Some((last, handle)) = self.last
            && last == name
        {
            return Some(handle);
        }
        let handle = *self.by_peer.get(&name)?;
        self.last = Some((name, handle));
        Some(handle)
    }

    /// False where somebody listens there.
    pub(crate) fn listen(&mut self, local: SocketAddr, handle: Handle) -> bool {
        let key = (local.port(), local.ip());
        if self.listeners.contains_key(&key) {
            return false;
        }
        self.listeners.insert(key, handle);
        true
    }

    pub(crate) fn unlisten(&mut self, local: SocketAddr) {
        self.listeners.remove(&(local.port(), local.ip()));
    }

    /// Who listens at this address and no other.
    pub(crate) fn listening_at_group(&self, local: SocketAddr) -> Option<Handle> {
        self.listeners.get(&(local.port(), local.ip())).copied()
    }

    /// Who listens to the group that `destination` is the address of; to any group where the layer below does not say
    /// it.
    pub(crate) fn groups_heard(&self, destination: Address) -> Vec<(SocketAddr, Handle)> {
        let heard = |ip: IpAddr| destination.ip().is_none_or(|it| it == ip);
        let all = self.listeners.iter();
        all.filter(|((_, ip), _)| heard(*ip) && ip.is_multicast())
            .map(|((port, ip), handle)| (SocketAddr::new(*ip, *port), *handle))
            .collect()
    }

    /// Who listens at `local`: for this address before for any. 0.0.0.0 is any of IPv4, :: is any of both versions.
    pub(crate) fn listening_at(&self, local: SocketAddr) -> Option<Handle> {
        let any4 = local.is_ipv4().then_some(Ipv4Addr::UNSPECIFIED.into());
        let any = [Some(local.ip()), any4, Some(Ipv6Addr::UNSPECIFIED.into())];
        let mut any = any.into_iter().flatten();
        any.find_map(|ip| self.listeners.get(&(local.port(), ip))).copied()
    }
}
