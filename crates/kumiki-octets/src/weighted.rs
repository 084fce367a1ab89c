//! Weighted reference counting: shared values whose handles mostly split and merge without touching the count.
//!
//! | | |
//! |---|---|
//! | Source | D. I. Bevan, "Distributed garbage collection using reference counting", PARLE 1987; P. Watson and I. Watson, "An efficient garbage collection scheme for parallel computer architectures", same place |
//! | Used by | [`Page`](crate::Page) |
//! | Left out | weak holders |
//!
//! Each holder has a weight, and the value the total of all weights. Who splits its handle gives some of its weight
//! away, and who takes another's handle in adds that one's weight: nobody else learns of it. Only a new handle made
//! from a shared reference ([`Weighted::clone`]) and the end of one change the total, which is atomic. A packet is cut
//! off a page and put together with its neighbours again for each 1448 octets; the two locked instructions of `Arc`
//! were 3 % of a transfer.

use core::fmt;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

// loom runs its models through every order in which threads may meet, and knows only what is told to its own atomics.
#[cfg(not(loom))]
use core::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering, fence};

/// The weight of a new handle. A sixty-fourth goes with each part that is split off, so that about 45 parts later half
/// of it is left, and parts can be split thrice again.
const WEIGHT: u32 = 1 << 24;

/// Beyond this total the next additions could overflow; far more holders than memory has room for.
const MOST: u64 = u64::MAX / 2;

struct Counted<T> {
    /// Of the weights of all holders.
    total: AtomicU64,
    value: T,
}

/// A value that nobody else holds.
pub(crate) struct Unique<T>(Box<Counted<T>>);

/// A handle to a value that others may hold too.
pub(crate) struct Weighted<T> {
    counted: NonNull<Counted<T>>,
    /// At least 1.
    weight: u32,
}

impl<T> Unique<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Box::new(Counted { total: AtomicU64::new(0), value }))
    }

    /// The first handle.
    pub(crate) fn share(self) -> Weighted<T> {
        // Nobody else sees it yet.
        self.0.total.store(WEIGHT.into(), Ordering::Relaxed);
        Weighted { counted: NonNull::from(Box::leak(self.0)), weight: WEIGHT }
    }
}

impl<T> Deref for Unique<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T> DerefMut for Unique<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0.value
    }
}

#[expect(unsafe_code, reason = "holders share one allocation through a pointer; `Arc` has no weights")]
mod handle {
    use super::{Counted, Ordering, Unique, Weighted, fence};

    // SAFETY: a handle gives shared references to the value in any thread, and its end can drop the value in any
    // thread, as with `Arc`, which asks for the same.
    unsafe impl<T: Send + Sync> Send for Weighted<T> {}
    // SAFETY: as above; a shared reference to a handle gives another handle.
    unsafe impl<T: Send + Sync> Sync for Weighted<T> {}

    impl<T> Weighted<T> {
        pub(super) const fn counted(&self) -> &Counted<T> {
            // SAFETY: `counted` came from a box and is given back to one only where no handle is left
            // (`release`). This one lives as long as the reference does.
            unsafe { self.counted.as_ref() }
        }
    }

    /// Releases `handle`, which must not be used afterwards; the value, where it was the last one.
    ///
    /// # Safety
    /// It is called once for each handle, as the last that is done with it.
    #[inline]
    pub(super) unsafe fn release<T>(handle: &Weighted<T>) -> Option<Unique<T>> {
        let weight = u64::from(handle.weight);
        let total = &handle.counted().total;
        // Read first, which costs least. Where the total is this handle's weight there are no others, and none can
        // come, as only this one could make them.
        if total.load(Ordering::Acquire) != weight && total.fetch_sub(weight, Ordering::Release) != weight {
            return None;
        }
        // What others did with the value before they let go happened before what comes now.
        fence(Ordering::Acquire);
        // SAFETY: the weights of all handles sum to the total, each is at least 1, and this was all of it: nobody else
        // has the pointer, which came from `Box::leak` in `Unique::share`. The fence and the others' releases order
        // what they did.
        Some(Unique(unsafe { Box::from_raw(handle.counted.as_ptr()) }))
    }
}

impl<T> Weighted<T> {
    /// Gives some of this handle's weight to another handle.
    #[inline]
    pub(crate) fn split(&mut self) -> Self {
        if self.weight == 1 {
            return self.clone();
        }
        let weight = (self.weight / 64).max(1);
        self.weight -= weight;
        Self { counted: self.counted, weight }
    }

    /// Takes in `other`, a handle to the same value.
    ///
    /// # Errors
    /// `other` again, where it holds something else or both together weigh too much.
    #[inline]
    pub(crate) fn merge(&mut self, other: Self) -> Result<(), Self> {
        match self.weight.checked_add(other.weight) {
            Some(weight) if self.counted == other.counted => {
                self.weight = weight;
                core::mem::forget(other);
                Ok(())
            }
            _ => Err(other),
        }
    }

    /// Whether both hold the same value.
    #[inline]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.counted == other.counted
    }

    /// Lets go; the value, where that was the last handle.
    #[inline]
    pub(crate) fn into_unique(self) -> Option<Unique<T>> {
        let handle = ManuallyDrop::new(self);
        #[expect(unsafe_code, reason = "a handle is released")]
        // SAFETY: it is forgotten after this.
        unsafe {
            handle::release(&handle)
        }
    }
}

impl<T> Drop for Weighted<T> {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "a handle is released")]
        // SAFETY: it is being dropped.
        drop(unsafe { handle::release(self) });
    }
}

impl<T> Deref for Weighted<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.counted().value
    }
}

impl<T> Clone for Weighted<T> {
    fn clone(&self) -> Self {
        let before = self.counted().total.fetch_add(WEIGHT.into(), Ordering::Relaxed);
        if before > MOST {
            // As with `Arc`: only handles that are forgotten on purpose come here.
            std::process::abort();
        }
        Self { counted: self.counted, weight: WEIGHT }
    }
}

impl<T: fmt::Debug> fmt::Debug for Weighted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(all(test, loom))]
mod models;

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use proptest::prelude::*;

    use super::*;

    fn weights<T>(handles: &[Weighted<T>]) -> u64 {
        handles.iter().map(|handle| u64::from(handle.weight)).sum()
    }

    #[derive(Clone, Debug)]
    enum Step {
        Divide(prop::sample::Index),
        Clone(prop::sample::Index),
        Unite(prop::sample::Index, prop::sample::Index),
        End(prop::sample::Index),
    }

    fn step() -> impl Strategy<Value = Step> {
        let any = any::<prop::sample::Index>;
        prop_oneof![
            4 => any().prop_map(Step::Divide),
            1 => any().prop_map(Step::Clone),
            2 => (any(), any()).prop_map(|(a, b)| Step::Unite(a, b)),
            1 => any().prop_map(Step::End),
        ]
    }

    proptest! {
        #[test]
        fn the_total_is_that_of_all_holders_until_the_last_gets_the_value(
            steps in prop::collection::vec(step(), 0..if cfg!(miri) { 15 } else { 300 }),
        ) {
            let value = Arc::new(());
            let mut handles = vec![Unique::new(Arc::clone(&value)).share()];
            for step in steps {
                let len = handles.len();
                match step {
                    Step::Divide(at) => {
                        let part = handles[at.index(len)].split();
                        handles.push(part);
                    }
                    Step::Clone(at) => handles.push(handles[at.index(len)].clone()),
                    Step::Unite(at, other) if len > 1 => {
                        let other = handles.swap_remove(other.index(len));
                        let at = at.index(len - 1);
                        if let Err(other) = handles[at].merge(other) {
                            handles.push(other);
                        }
                    }
                    Step::End(at) if len > 1 => {
                        prop_assert!(handles.swap_remove(at.index(len)).into_unique().is_none());
                    }
                    Step::Unite(..) | Step::End(_) => {}
                }
                let total = handles[0].counted().total.load(Ordering::Relaxed);
                prop_assert_eq!(total, weights(&handles));
                prop_assert!(handles.iter().all(|handle| handle.weight > 0));
                prop_assert_eq!(Arc::strong_count(&value), 2);
            }
            let last = handles.pop().unwrap();
            drop(handles);
            let unique = last.into_unique();
            prop_assert!(unique.is_some());
            drop(unique);
            prop_assert_eq!(Arc::strong_count(&value), 1);
        }
    }

    #[test]
    fn a_hold_of_the_least_weight_can_still_be_divided() {
        let mut handle = Unique::new(7).share();
        let mut parts = Vec::new();
        for _ in 0..100 {
            let part = handle.split();
            parts.push(core::mem::replace(&mut handle, part));
        }
        assert!(parts.iter().any(|part| part.weight == 1));
        assert_eq!(*handle, 7);
        drop(parts);
        assert!(handle.into_unique().is_some());
    }

    #[test]
    fn handles_of_different_values_and_handles_too_heavy_stay_apart() {
        let mut handle = Unique::new(1).share();
        let other = Unique::new(1).share();
        assert!(!handle.is_same(&other));
        assert!(handle.merge(other).is_err());
        let heavy: Vec<_> = (0..u32::MAX / WEIGHT + 1).map(|_| handle.clone()).collect();
        let left: Vec<_> = heavy.into_iter().filter_map(|other| handle.merge(other).err()).collect();
        // Of 256 of 2^24 the last two would make it 2^32 and more.
        assert_eq!(left.len(), 2);
        assert!(handle.into_unique().is_none());
    }

    #[test]
    fn of_holders_in_many_threads_exactly_one_is_the_last() {
        for _ in 0..if cfg!(miri) { 5 } else { 200 } {
            let value = Arc::new(());
            let handle = Unique::new(Arc::clone(&value)).share();
            let threads: Vec<_> = (0..4)
                .map(|number| {
                    let mut handle = handle.clone();
                    thread::spawn(move || {
                        for _ in 0..number {
                            let part = handle.split();
                            let clone = handle.clone();
                            drop(part);
                            let _ = handle.merge(clone);
                        }
                        handle.into_unique().is_some()
                    })
                })
                .collect();
            let own = handle.into_unique().is_some();
            let lasts =
                threads.into_iter().map(|thread| thread.join().unwrap()).chain([own]).filter(|last| *last).count();
            assert_eq!((lasts, Arc::strong_count(&value)), (1, 1));
        }
    }
}
