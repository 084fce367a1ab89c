//! A queue that most often has one entry: the first has a place of its own, and only those behind it need memory
//! elsewhere.

use std::collections::VecDeque;

/// A queue, first in, first out, of which the first entry lies in it and those behind it in memory of their own, which
/// is not there until there are two.
///
/// What it can do is named as in [`VecDeque`], and does the same.
///
/// ```
/// use kumiki_octets::ShortQueue;
///
/// let mut queue = ShortQueue::new();
/// queue.push_back(1);
/// queue.push_back(2);
/// assert_eq!((queue.pop_front(), queue.front(), queue.len()), (Some(1), Some(&2), 1));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShortQueue<T> {
    /// `None` only where there is nothing.
    first: Option<T>,
    rest: VecDeque<T>,
}

impl<T> Default for ShortQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> ShortQueue<T> {
    /// Without entries.
    #[must_use]
    pub const fn new() -> Self {
        Self { first: None, rest: VecDeque::new() }
    }

    /// Whether there is no entry.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// How many entries there are.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    /// The only entry, where there is one and no other.
    #[must_use]
    #[inline]
    pub fn only(&self) -> Option<&T> {
        self.first.as_ref().filter(|_| self.rest.is_empty())
    }

    /// The first.
    #[must_use]
    #[inline]
    pub const fn front(&self) -> Option<&T> {
        self.first.as_ref()
    }

    /// The first, to be changed.
    #[inline]
    pub const fn front_mut(&mut self) -> Option<&mut T> {
        self.first.as_mut()
    }

    /// The last.
    #[must_use]
    #[inline]
    pub fn back(&self) -> Option<&T> {
        if self.rest.is_empty() { self.first.as_ref() } else { self.rest.back() }
    }

    /// The last, to be changed.
    #[inline]
    pub fn back_mut(&mut self) -> Option<&mut T> {
        if self.rest.is_empty() { self.first.as_mut() } else { self.rest.back_mut() }
    }

    /// The entry number `index`, from 0 on.
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        match index.checked_sub(1) {
            None => self.first.as_ref(),
            Some(behind) => self.rest.get(behind),
        }
    }

    /// As [`ShortQueue::get`], to be changed.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        match index.checked_sub(1) {
            None => self.first.as_mut(),
            Some(behind) => self.rest.get_mut(behind),
        }
    }

    /// Adds an entry behind all others.
    #[inline]
    pub fn push_back(&mut self, entry: T) {
        if self.first.is_none() {
            self.first = Some(entry);
        } else {
            self.rest.push_back(entry);
        }
    }

    /// Adds an entry in front of all others.
    pub fn push_front(&mut self, entry: T) {
        if let Some(second) = self.first.replace(entry) {
            self.rest.push_front(second);
        }
    }

    /// Adds an entry that is then number `index`, which is at most [`ShortQueue::len`].
    pub fn insert(&mut self, index: usize, entry: T) {
        match index.checked_sub(1) {
            None => self.push_front(entry),
            Some(behind) => self.rest.insert(behind, entry),
        }
    }

    /// Takes the first out.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let first = self.first.take();
        if !self.rest.is_empty() {
            self.first = self.rest.pop_front();
        }
        first
    }

    /// Takes all out; the room for those behind the first stays.
    #[inline]
    pub fn clear(&mut self) {
        self.first = None;
        if !self.rest.is_empty() {
            self.rest.clear();
        }
    }

    /// All, in their order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.rest)
    }

    /// Those from number `index` on.
    pub fn iter_from(&self, index: usize) -> impl Iterator<Item = &T> {
        let behind = index.saturating_sub(1).min(self.rest.len());
        self.first.iter().filter(move |_| index == 0).chain(self.rest.range(behind..))
    }

    /// How many at the front `is_before` holds for, where it holds for none behind the first that it does not hold for.
    #[inline]
    pub fn partition_point(&self, mut is_before: impl FnMut(&T) -> bool) -> usize {
        if self.first.as_ref().is_none_or(|first| !is_before(first)) {
            return 0;
        }
        if self.rest.is_empty() { 1 } else { 1 + self.rest.partition_point(is_before) }
    }
}

impl<T> FromIterator<T> for ShortQueue<T> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Self {
        let mut entries = entries.into_iter();
        Self { first: entries.next(), rest: entries.collect() }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Back(u16),
        Front(u16),
        Insert(prop::sample::Index, u16),
        Pop,
        Clear,
        Change(prop::sample::Index),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => any::<u16>().prop_map(Step::Back),
            1 => any::<u16>().prop_map(Step::Front),
            1 => any::<(prop::sample::Index, u16)>().prop_map(|(at, it)| Step::Insert(at, it)),
            6 => Just(Step::Pop),
            1 => Just(Step::Clear),
            1 => any::<prop::sample::Index>().prop_map(Step::Change),
        ]
    }

    fn agree(brief: &ShortQueue<u16>, plain: &VecDeque<u16>) {
        assert_eq!((brief.len(), brief.is_empty()), (plain.len(), plain.is_empty()));
        assert_eq!((brief.front(), brief.back()), (plain.front(), plain.back()));
        assert_eq!(brief.only(), plain.front().filter(|_| plain.len() == 1));
        assert!(brief.iter().eq(plain));
        for index in 0..=plain.len() {
            assert_eq!(brief.get(index), plain.get(index));
            assert!(brief.iter_from(index).eq(plain.range(index..)));
        }
        let copy: ShortQueue<u16> = plain.iter().copied().collect();
        assert_eq!(&copy, brief);
    }

    proptest! {
        #[test]
        fn it_is_a_queue(steps in prop::collection::vec(step(), 0..if cfg!(miri) { 20 } else { 100 })) {
            let (mut brief, mut plain) = (ShortQueue::new(), VecDeque::new());
            for step in steps {
                match step {
                    Step::Back(entry) => (brief.push_back(entry), plain.push_back(entry)).0,
                    Step::Front(entry) => (brief.push_front(entry), plain.push_front(entry)).0,
                    Step::Insert(at, entry) => {
                        let at = at.index(plain.len() + 1);
                        brief.insert(at, entry);
                        plain.insert(at, entry);
                    }
                    Step::Pop => prop_assert_eq!(brief.pop_front(), plain.pop_front()),
                    Step::Clear => (brief.clear(), plain.clear()).0,
                    Step::Change(at) => {
                        let at = at.index(plain.len() + 1);
                        for entry in [brief.get_mut(at), plain.get_mut(at)].into_iter().flatten() {
                            *entry = entry.wrapping_add(1);
                        }
                        for entry in [brief.back_mut(), plain.back_mut()].into_iter().flatten() {
                            *entry /= 2;
                        }
                        for entry in [brief.front_mut(), plain.front_mut()].into_iter().flatten() {
                            *entry /= 2;
                        }
                    }
                }
                agree(&brief, &plain);
            }
        }

        #[test]
        fn what_is_in_order_is_found(mut entries: Vec<u16>, least: u16) {
            entries.sort_unstable();
            let brief: ShortQueue<u16> = entries.iter().copied().collect();
            prop_assert_eq!(brief.partition_point(|it| *it < least), entries.partition_point(|it| *it < least));
        }
    }
}
