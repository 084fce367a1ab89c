//! What all sessions of one protocol hold together, and how much is too much.
//!
//! Counted is what they hold of memory ([`SessionMemory`]), in three parts. From half of the bound on no buffer grows.
//! Beyond it each session has [`FLOOR`]. What was promised before is still taken, up to a quarter of the bound more, in
//! which what sessions take themselves counts as well. There memory is spent ([`Memory::is_spent`]): nobody new is
//! heard, and what comes for a user that has not taken what came before is dropped, as if the network had lost it.
//!
//! Several layers may have one bound together, and others that hold what came beside them ([`Budget`]).
//!
//! What is ahead of its turn has a quarter of the bound, and is dropped beyond as if the network had, in all sessions:
//! peers that leave holes must not make the buffers of others small. Who loses nothing does not notice; who does sends
//! again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What each session may buffer in any case, each way, in octets.
pub const FLOOR: u32 = 4096;

/// What all sessions hold, in octets; of several layers, where they share a [`Budget`].
#[derive(Debug, Default)]
pub struct Memory {
    own: Sum,
    budget: Option<Budget>,
}

/// What is held: see [`SessionMemory`].
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    used: u64,
    ahead: u64,
    standing: u64,
}

/// A bound that several share: the sessions of layers ([`Memory::share`]), and who holds what came without a session.
/// Clones are one.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    most: u64,
    used: AtomicU64,
    ahead: AtomicU64,
    standing: AtomicU64,
    /// Sessions that were not begun, and units that were dropped.
    refused: AtomicU64,
    dropped: AtomicU64,
}

impl Budget {
    /// One in which all together may have `most` octets; 0: no bound. Where memory is spent they have a quarter more.
    #[must_use]
    pub fn new(most: u64) -> Self {
        Self(Arc::new(Shared { most, ..Shared::default() }))
    }

    fn sum(&self) -> Sum {
        let of = |it: &AtomicU64| it.load(Ordering::Relaxed);
        Sum { used: of(&self.0.used), ahead: of(&self.0.ahead), standing: of(&self.0.standing) }
    }

    fn count(&self, was: Sum, is: Sum) {
        // Nobody takes off what it has not added, so what is below zero meanwhile comes back.
        let change = |total: &AtomicU64, was: u64, is: u64| total.fetch_add(is.wrapping_sub(was), Ordering::Relaxed);
        change(&self.0.used, was.used, is.used);
        change(&self.0.ahead, was.ahead, is.ahead);
        change(&self.0.standing, was.standing, is.standing);
    }

    /// Somebody who is no session holds so many octets more; false, and nothing is held, where there is no room for
    /// what nobody waits for.
    #[must_use]
    pub fn hold(&self, octets: u64) -> bool {
        let sum = self.sum();
        let with = Sum { used: sum.used.saturating_add(octets), ..sum };
        if sum.pressure(self.0.most) == Pressure::Full || with.is_spent(self.0.most) {
            self.0.dropped.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        self.0.used.fetch_add(octets, Ordering::Relaxed);
        true
    }

    /// And so many less, of those that it [held](Self::hold).
    pub fn release(&self, octets: u64) {
        self.0.used.fetch_sub(octets, Ordering::Relaxed);
    }

    /// What all hold, in octets.
    #[must_use]
    pub fn held(&self) -> u64 {
        let sum = self.sum();
        sum.used + sum.ahead + sum.standing
    }

    /// How many sessions were not begun and how many units dropped for want of memory, so far.
    #[must_use]
    pub fn refused(&self) -> (u64, u64) {
        (self.0.refused.load(Ordering::Relaxed), self.0.dropped.load(Ordering::Relaxed))
    }
}

impl Sum {
    const fn pressure(self, most: u64) -> Pressure {
        match most {
            0 => Pressure::None,
            most if self.used >= most => Pressure::Full,
            most if self.used >= most / 2 => Pressure::Some,
            _ => Pressure::None,
        }
    }

    const fn is_spent(self, most: u64) -> bool {
        let held = self.used.saturating_add(self.ahead).saturating_add(self.standing);
        most > 0 && held >= most.saturating_add(most / 4)
    }
}

/// What one session holds, in the same parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SessionMemory {
    /// Not sent, not acknowledged, or with a user that has not given credit back.
    pub used: u32,
    /// Ahead of its turn.
    pub ahead: u32,
    /// The session itself.
    pub standing: u32,
}

/// How scarce memory is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pressure {
    /// There is enough.
    None,
    /// No more than at first for anybody.
    Some,
    /// No more than there must be.
    Full,
}

impl Memory {
    /// From now on what the sessions hold counts towards `budget`, whose bound is that of all who do so; what is said
    /// of another is not looked at.
    pub fn share(&mut self, budget: Budget) {
        budget.count(Sum::default(), self.own);
        self.budget = Some(budget);
    }

    /// What counts, and its bound.
    fn total(&self, most: u64) -> (Sum, u64) {
        self.budget.as_ref().map_or((self.own, most), |it| (it.sum(), it.0.most))
    }

    /// How scarce it is where all may have `most` octets; 0: no bound.
    #[must_use]
    pub fn pressure(&self, most: u64) -> Pressure {
        let (sum, most) = self.total(most);
        sum.pressure(most)
    }

    /// Whether nothing more is taken: see the head of this file.
    #[must_use]
    pub fn is_spent(&self, most: u64) -> bool {
        let (sum, most) = self.total(most);
        sum.is_spent(most)
    }

    /// Whether what is ahead of its turn finds no room.
    #[must_use]
    pub fn is_full_ahead(&self, most: u64) -> bool {
        let (sum, most) = self.total(most);
        most > 0 && (sum.ahead >= most / 4 || sum.used >= most)
    }

    /// A session was not begun for want of memory.
    pub fn refuse(&self) {
        if let Some(budget) = &self.budget {
            budget.0.refused.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What buffers hold.
    #[must_use]
    pub const fn used(&self) -> u64 {
        self.own.used + self.own.ahead
    }

    /// A session that held `was` when it was last counted holds `is`.
    pub fn count(&mut self, was: SessionMemory, is: SessionMemory) {
        if was == is {
            return;
        }
        let before = self.own;
        let own = &mut self.own;
        own.used = own.used.saturating_sub(was.used.into()) + u64::from(is.used);
        own.ahead = own.ahead.saturating_sub(was.ahead.into()) + u64::from(is.ahead);
        own.standing = own.standing.saturating_sub(was.standing.into()) + u64::from(is.standing);
        if let Some(budget) = &self.budget {
            budget.count(before, self.own);
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(budget) = &self.budget {
            budget.count(self.own, Sum::default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn held(used: u32) -> SessionMemory {
        SessionMemory { used, ahead: 0, standing: 0 }
    }

    #[test]
    fn a_bound_is_one_for_all_who_share_it() {
        let budget = Budget::new(1000);
        let (mut one, mut other) = (Memory::default(), Memory::default());
        one.count(held(0), held(300));
        one.share(budget.clone());
        other.share(budget.clone());
        other.count(held(0), held(300));
        assert_eq!((one.pressure(1), other.pressure(1)), (Pressure::Some, Pressure::Some), "the bound is the budget's");
        assert!(!budget.hold(650), "more than all may have together");
        assert!(budget.hold(400));
        assert_eq!(one.pressure(0), Pressure::Full);
        assert!(!budget.hold(1), "what nobody waits for has no room");
        other.count(SessionMemory::default(), SessionMemory { standing: 250, ..held(0) });
        assert!(one.is_spent(0) && other.is_spent(0));
        one.refuse();
        assert_eq!((budget.held(), budget.refused()), (1250, (1, 2)));
        budget.release(400);
        drop(other);
        assert_eq!((one.pressure(0), budget.held()), (Pressure::None, 300));
    }

    #[test]
    fn without_a_budget_each_has_its_own_bound() {
        let mut memory = Memory::default();
        memory.count(held(0), held(600));
        assert_eq!(
            (memory.pressure(0), memory.pressure(1000), memory.pressure(600)),
            (Pressure::None, Pressure::Some, Pressure::Full)
        );
        memory.count(held(600), held(0));
        assert_eq!(memory.used(), 0);
    }
}
