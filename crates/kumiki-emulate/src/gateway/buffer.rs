//! Room for octets that are read here and written there: whoever has something to write has some, and whoever waits for
//! something to read has none.

use core::cell::RefCell;
use core::ops::{Deref, DerefMut};

/// Octets of each: those of the longest datagram fit, and of a connection as many go at once as a processor's cache
/// keeps.
const OCTETS: usize = 128 << 10;

/// How many are kept for the next ones.
const KEPT: usize = 16;

thread_local! {
    static FREE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Room for octets; what is in it at first nobody knows.
pub(super) struct Buffer(Vec<u8>);

impl Buffer {
    pub(super) fn take() -> Self {
        let kept = FREE.with_borrow_mut(Vec::pop);
        Self(kept.unwrap_or_else(|| vec![0; OCTETS]))
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let octets = core::mem::take(&mut self.0);
        // A thread that ends keeps nothing.
        let _ = FREE.try_with(|free| {
            if let Ok(mut free) = free.try_borrow_mut()
                && free.len() < KEPT
            {
                free.push(octets);
            }
        });
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}
