//! Pages: reference-counted runs of octets, recycled last in, first out.
//!
//! A page is written once, by whoever builds it, and only read afterwards; every holder is a cheap clone. When the last
//! holder lets go, the memory goes to a small stack of the thread that let go, so that the next page built there is the
//! one most likely still in that core's cache. The stack is a cache of memory only: no result depends on it.

use core::cell::RefCell;
use core::fmt;
use std::sync::Arc;

/// How many free buffers each size class keeps per thread; beyond it memory goes back to the allocator.
const KEPT: usize = 64;

/// Size classes: a header or a small segment, a TCP segment over ATM, a super-segment.
const CLASSES: [usize; 3] = [2 * 1024, 16 * 1024, 64 * 1024];

thread_local! {
    static FREE: RefCell<[Vec<Arc<[u8]>>; 3]> = const { RefCell::new([Vec::new(), Vec::new(), Vec::new()]) };
}

/// A reference-counted, read-only run of octets.
pub struct Page {
    /// `None` only inside `drop`.
    octets: Option<Arc<[u8]>>,
    len: usize,
}

impl Page {
    /// Builds a page of `len` octets; `write` fills it and sees zeros or whatever an earlier page left behind.
    pub fn build(len: usize, write: impl FnOnce(&mut [u8])) -> Self {
        let mut octets = take(len);
        if let Some(room) = Arc::get_mut(&mut octets).and_then(|all| all.get_mut(..len)) {
            write(room);
        }
        Self {
            octets: Some(octets),
            len,
        }
    }

    /// The octets of the page.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        self.octets
            .as_deref()
            .and_then(|all| all.get(..self.len))
            .unwrap_or_default()
    }

    /// How many octets the page holds.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether the page holds no octets.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

fn class(len: usize) -> Option<usize> {
    CLASSES.iter().position(|&size| len <= size)
}

/// A buffer of at least `len` octets with exactly one holder.
fn take(len: usize) -> Arc<[u8]> {
    let Some(class) = class(len) else {
        return vec![0; len].into();
    };
    let kept = FREE
        .try_with(|free| free.borrow_mut().get_mut(class).and_then(Vec::pop))
        .ok()
        .flatten();
    kept.unwrap_or_else(|| vec![0; CLASSES.get(class).copied().unwrap_or(len)].into())
}

impl Drop for Page {
    fn drop(&mut self) {
        let Some(mut octets) = self.octets.take() else {
            return;
        };
        let Some(class) = CLASSES.iter().position(|&size| size == octets.len()) else {
            return;
        };
        if Arc::get_mut(&mut octets).is_none() {
            return;
        }
        // A thread that is shutting down has no stack any more; its pages go back to the allocator.
        let _ = FREE.try_with(|free| {
            if let Some(stack) = free.borrow_mut().get_mut(class)
                && stack.len() < KEPT
            {
                stack.push(octets);
            }
        });
    }
}

impl Clone for Page {
    fn clone(&self) -> Self {
        Self {
            octets: self.octets.clone(),
            len: self.len,
        }
    }
}

impl From<&[u8]> for Page {
    fn from(octets: &[u8]) -> Self {
        Self::build(octets.len(), |room| room.copy_from_slice(octets))
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Page({} octets)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_page_freed_is_the_first_reused() {
        let first = Page::build(9000, |room| room.fill(1));
        let at = first.octets().as_ptr();
        let clone = first.clone();
        drop(first);
        assert!(clone.octets().iter().all(|&o| o == 1));
        drop(clone);
        assert_eq!(Page::build(9000, |_| ()).octets().as_ptr(), at);
    }

    #[test]
    fn a_page_still_held_is_never_reused() {
        let held = Page::from(&b"kumiki"[..]);
        let other = Page::build(6, |room| room.fill(0));
        assert_eq!(held.octets(), b"kumiki");
        assert_eq!(other.octets(), [0; 6]);
    }
}
