//! What most have no use for: a value that takes memory only while it is not as it was at first.

use core::fmt;
use core::ops::{Deref, DerefMut};
use std::collections::VecDeque;

/// A type of which there is one value that all can look at who have none of their own: that of [`Default`].
pub trait Blank: Default + 'static {
    /// The value.
    const BLANK: &'static Self;
}

impl<T: 'static> Blank for VecDeque<T> {
    const BLANK: &'static Self = &Self::new();
}

/// A value in memory of its own, which is there from when it is first changed until [`OnDemand::clear`]. Who only looks
/// sees the blank one.
///
/// ```
/// use kumiki_octets::OnDemand;
/// use std::collections::VecDeque;
///
/// let mut queue: OnDemand<VecDeque<u64>> = OnDemand::default();
/// assert!(queue.is_empty() && !queue.exists());
/// queue.push_back(7);
/// assert_eq!((queue.front(), size_of_val(&queue)), (Some(&7), size_of::<usize>()));
/// queue.clear();
/// assert!(queue.is_empty() && !queue.exists());
/// ```
#[derive(Clone)]
pub struct OnDemand<T>(Option<Box<T>>);

impl<T> Default for OnDemand<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> OnDemand<T> {
    /// The blank one.
    #[must_use]
    pub const fn new() -> Self {
        Self(None)
    }

    /// Whether there is a value of its own, be it as the blank one is.
    #[must_use]
    #[inline]
    pub const fn exists(&self) -> bool {
        self.0.is_some()
    }

    /// Its own value, where there is one: for changes that do nothing to a blank one.
    #[inline]
    pub fn own(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }

    /// Gives its own value up.
    pub fn clear(&mut self) {
        self.0 = None;
    }
}

impl<T: Blank> Deref for OnDemand<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::BLANK)
    }
}

impl<T: Blank> DerefMut for OnDemand<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_with(begin)
    }
}

/// Out of the way of those that are there.
#[cold]
#[inline(never)]
fn begin<T: Blank>() -> Box<T> {
    Box::default()
}

impl<T: Blank + fmt::Debug> fmt::Debug for OnDemand<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
