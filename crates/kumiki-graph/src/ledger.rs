//! Ledgers: the pages of a modelled board.
//!
//! Real memory is in `kumiki-octets`; this counts the memory that the *modelled* host has. Content is charged to a
//! ledger as a [`Lease`] when it is written or received, and the lease ends when the last slice that carries it is
//! gone. Running out is an ordinary, counted condition: whoever asked is told later, or drops what it has.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use kumiki_octets::Lease;

/// In which order clusters are handed out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HandOut {
    /// Any free cluster.
    #[default]
    Free,
    /// Cyclically, as paper 2 describes: only the next one in the ring, and while it is held nobody gets one.
    Cyclic,
}

/// Who is told when a cluster becomes free.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WakeUp {
    /// The one that has waited longest.
    #[default]
    One,
    /// Everybody, as 4.3BSD's `wakeup()` does; most find nothing and wait again.
    All,
}

/// What a ledger is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pages {
    /// Octets in a page.
    pub page: u32,
    /// Pages in a cluster: what one message takes, however short it is.
    pub cluster: u32,
    /// How many clusters there are.
    pub clusters: u32,
    /// In which order they are handed out.
    pub hand_out: HandOut,
    /// Who is told when one becomes free.
    pub wake_up: WakeUp,
    /// A holder gets another cluster only while it holds fewer than this many per cent of those that are free: the
    /// dynamic threshold of Choudhury and Hahne (IEEE/ACM Transactions on Networking 6(2), 1998). It leaves each of
    /// many holders a share and a single one nearly everything. Without it, whoever asks first gets all.
    pub share_percent: Option<u32>,
}

/// Who holds clusters: a session, as whoever leases for it numbers them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Holder(pub u64);

#[derive(Debug, Default)]
struct Ring {
    held: Vec<bool>,
    next: usize,
    in_use: usize,
    by: BTreeMap<Holder, usize>,
}

impl Ring {
    /// Whether `holder` may have another cluster by `share_percent`.
    fn is_within_share(&self, holder: Holder, share_percent: Option<u32>) -> bool {
        let Some(percent) = share_percent else {
            return true;
        };
        let (holds, free) = (self.by.get(&holder).copied().unwrap_or(0), self.held.len() - self.in_use);
        holds as u64 * 100 < free as u64 * u64::from(percent)
    }

    /// The cluster that would be handed out next, if one can be.
    fn next_free(&self, hand_out: HandOut) -> Option<usize> {
        let count = self.held.len();
        let tries = match hand_out {
            HandOut::Free => count,
            HandOut::Cyclic => 1.min(count),
        };
        let mut places = (0..tries).map(|k| (self.next + k) % count);
        places.find(|&at| self.held.get(at) == Some(&false))
    }
}

#[derive(Debug, Default)]
struct State {
    ring: Mutex<Ring>,
    /// Counts releases, so that the owner of the ledger sees that something changed.
    releases: AtomicU64,
}

impl State {
    fn ring(&self) -> std::sync::MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Hold {
    state: Arc<State>,
    cluster: usize,
    holder: Holder,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut ring = self.state.ring();
        if let Some(held) = ring.held.get_mut(self.cluster) {
            *held = false;
            ring.in_use -= 1;
            if let Some(holds) = ring.by.get_mut(&self.holder) {
                *holds -= 1;
            }
        }
        self.state.releases.fetch_add(1, Ordering::Relaxed);
    }
}

/// The pages of one memory of a modelled host.
#[derive(Debug)]
pub struct Ledger {
    pages: Pages,
    state: Arc<State>,
    seen: u64,
    /// The most clusters held at once.
    pub high_water: usize,
    /// How often somebody asked and got none.
    pub refusals: u64,
}

impl Ledger {
    /// A ledger with all clusters free.
    #[must_use]
    pub fn new(pages: Pages) -> Self {
        let held = vec![false; usize::try_from(pages.clusters).unwrap_or(0)];
        let state = Arc::new(State { ring: Mutex::new(Ring { held, ..Ring::default() }), releases: AtomicU64::new(0) });
        Self { pages, state, seen: 0, high_water: 0, refusals: 0 }
    }

    /// What it is made of.
    #[must_use]
    pub const fn pages(&self) -> &Pages {
        &self.pages
    }

    /// The most octets one lease covers.
    #[must_use]
    pub const fn cluster_octets(&self) -> u64 {
        self.pages.page as u64 * self.pages.cluster as u64
    }

    /// How many clusters are held.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.state.ring().in_use
    }

    /// Takes a cluster for `holder`, if one is to be had.
    pub fn lease(&mut self, holder: Holder) -> Option<Lease> {
        let Pages { hand_out, share_percent, .. } = self.pages;
        let mut ring = self.state.ring();
        let found = ring.next_free(hand_out).filter(|_| ring.is_within_share(holder, share_percent));
        let Some(cluster) = found else {
            drop(ring);
            self.refusals += 1;
            return None;
        };
        if let Some(held) = ring.held.get_mut(cluster) {
            *held = true;
        }
        ring.next = (cluster + 1) % ring.held.len();
        ring.in_use += 1;
        *ring.by.entry(holder).or_default() += 1;
        self.high_water = self.high_water.max(ring.in_use);
        drop(ring);
        Some(Arc::new(Hold { state: Arc::clone(&self.state), cluster, holder }))
    }

    /// Whether `holder` would be given a cluster.
    #[must_use]
    pub fn would_lease(&self, holder: Holder) -> bool {
        let ring = self.state.ring();
        ring.next_free(self.pages.hand_out).is_some() && ring.is_within_share(holder, self.pages.share_percent)
    }

    /// How many leases would be granted.
    #[must_use]
    pub fn free(&self) -> usize {
        let ring = self.state.ring();
        match self.pages.hand_out {
            HandOut::Free => ring.held.len() - ring.in_use,
            HandOut::Cyclic => {
                let (before, from_next) = ring.held.split_at(ring.next.min(ring.held.len()));
                from_next.iter().chain(before).take_while(|held| !**held).count()
            }
        }
    }

    /// Whether a lease would be granted.
    #[must_use]
    pub fn has_room(&self) -> bool {
        let ring = self.state.ring();
        match self.pages.hand_out {
            HandOut::Free => ring.in_use < ring.held.len(),
            HandOut::Cyclic => ring.held.get(ring.next) == Some(&false),
        }
    }

    /// Whether anything was released since this was last asked.
    pub fn released(&mut self) -> bool {
        let releases = self.state.releases.load(Ordering::Relaxed);
        core::mem::replace(&mut self.seen, releases) != releases
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(hand_out: HandOut) -> Pages {
        Pages { page: 4096, cluster: 2, clusters: 3, hand_out, wake_up: WakeUp::One, share_percent: None }
    }

    #[test]
    fn a_cluster_comes_back_when_its_last_holder_lets_go() {
        let mut ledger = Ledger::new(pages(HandOut::Free));
        let leases: Vec<_> = core::iter::from_fn(|| ledger.lease(Holder::default())).collect();
        assert_eq!((leases.len(), ledger.in_use(), ledger.refusals), (3, 3, 1));
        let second = leases.first().cloned();
        drop(leases);
        assert_eq!(ledger.in_use(), 1);
        drop(second);
        assert_eq!(ledger.in_use(), 0);
        assert!(ledger.released() && !ledger.released());
    }

    #[test]
    fn a_cyclic_ledger_waits_for_the_next_in_the_ring_though_others_are_free() {
        let mut ledger = Ledger::new(pages(HandOut::Cyclic));
        let first = ledger.lease(Holder::default());
        drop((ledger.lease(Holder::default()), ledger.lease(Holder::default())));
        assert_eq!(ledger.in_use(), 1);
        assert!(ledger.lease(Holder::default()).is_none() && !ledger.has_room());
        drop(first);
        assert!(ledger.lease(Holder::default()).is_some());
    }

    #[test]
    fn a_dynamic_threshold_leaves_a_share_to_others_and_nearly_all_to_one() {
        let pages = Pages { clusters: 9, share_percent: Some(200), ..pages(HandOut::Free) };
        let mut ledger = Ledger::new(pages);
        let alone: Vec<_> = core::iter::from_fn(|| ledger.lease(Holder(1))).collect();
        assert_eq!(alone.len(), 6);
        assert!(ledger.would_lease(Holder(2)) && !ledger.would_lease(Holder(1)));
        let other: Vec<_> = core::iter::from_fn(|| ledger.lease(Holder(2))).collect();
        assert_eq!(other.len(), 2);
        drop(alone);
        assert!(ledger.would_lease(Holder(1)));
    }
}
