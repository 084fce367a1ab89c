//! Pages: reference-counted runs of octets, recycled last in, first out.
//!
//! A page is written once, by whoever builds it, and only read afterwards; every holder is a cheap clone. When the last
//! holder lets go, the memory goes to a small stack of the thread that let go, so that the next page built there is the
//! one most likely still in that core's cache. The stack is a cache of memory only: no result depends on it.

use core::cell::{Cell, RefCell};
use core::fmt;

use crate::Sum;
use crate::weighted::{Unique, Weighted};

/// How many free buffers each size class keeps per thread, unless [`keep_free`] says otherwise; beyond it memory goes
/// back to the allocator.
const KEPT: usize = 64;

/// Size classes: a header or a small segment, a TCP segment over ATM, a super-segment.
const CLASSES: [usize; 3] = [2 * 1024, 16 * 1024, 64 * 1024];

thread_local! {
    static MOST: Cell<usize> = const { Cell::new(KEPT) };
    static FREE: RefCell<[Vec<Unique<Buffer>>; 3]> = const { RefCell::new([Vec::new(), Vec::new(), Vec::new()]) };
}

/// From here on this thread keeps at most so many free pages of each of the three size classes (82 KiB in all for
/// each): for threads of which there are many.
pub fn keep_free(pages: usize) {
    let _ = MOST.try_with(|most| most.set(pages));
    let _ = FREE.try_with(|free| {
        for stack in free.borrow_mut().iter_mut() {
            stack.truncate(pages);
        }
    });
}

/// What holders of a page share.
struct Buffer {
    octets: Box<[u8]>,
    /// How many of them are the page's.
    len: usize,
    /// Each `unit` octets from the first on sum to one of these, and what is left to the last. Nothing is known
    /// where 0.
    sums: Vec<Sum>,
    unit: usize,
}

/// A reference-counted, read-only run of octets.
///
/// ```
/// use kumiki_octets::{Message, Page};
///
/// // Written once, by whoever builds it, and copied by nobody from then on.
/// let page = Page::build(8, |room| room.copy_from_slice(b"abcdefgh"));
/// let message = Message::from_page(page);
/// let part = message.share(2, 3)?;
/// assert_eq!(part.to_vec(), b"cde");
/// # Ok::<(), kumiki_octets::Short>(())
/// ```
pub struct Page {
    /// `None` only in what is about to be dropped.
    buffer: Option<Weighted<Buffer>>,
}

impl Page {
    /// Builds a page of `len` octets; `write` fills it and sees zeros or whatever an earlier page left behind.
    pub fn build(len: usize, write: impl FnOnce(&mut [u8])) -> Self {
        let mut buffer = take(len);
        buffer.unit = 0;
        if let Some(room) = buffer.octets.get_mut(..len) {
            write(room);
        }
        Self { buffer: Some(buffer.share()) }
    }

    /// Copies `octets`, and sums them on the way in pieces of `unit` octets, as they will be sent: a sum of such pieces
    /// then costs nothing ([`Slice::sum`](crate::Slice::sum)).
    #[must_use]
    pub fn copied(octets: &[u8], unit: usize) -> Self {
        let mut buffer = take(octets.len());
        let unit = unit.max(1);
        let all = &mut *buffer;
        all.unit = unit;
        all.sums.clear();
        let room = all.octets.get_mut(..octets.len()).unwrap_or_default();
        let pieces = room.chunks_mut(unit).zip(octets.chunks(unit));
        all.sums.extend(pieces.map(|(to, from)| Sum::copy(to, from)));
        Self { buffer: Some(buffer.share()) }
    }

    /// The octets of `vector`, not copied.
    #[must_use]
    pub fn owning(vector: Vec<u8>) -> Self {
        let octets = vector.into_boxed_slice();
        let buffer = Unique::new(Buffer { len: octets.len(), octets, sums: Vec::new(), unit: 0 });
        Self { buffer: Some(buffer.share()) }
    }

    /// How many octets of memory it holds on to: as many as it has, or those of its size class, up to the largest
    /// class.
    pub(crate) fn held(&self) -> usize {
        let [.., largest] = CLASSES;
        let octets = self.buffer.as_deref().map_or(0, |it| it.octets.len());
        octets.min(largest)
    }

    /// The sum of `len` octets from `offset` on, where it is known from the pieces that were summed when they were
    /// written.
    pub(crate) fn known_sum(&self, offset: usize, len: usize) -> Option<Sum> {
        let buffer = self.buffer.as_deref()?;
        let (unit, end) = (buffer.unit, offset + len);
        let first = offset.checked_div(unit)?;
        if first * unit != offset {
            return None;
        }
        // Most often it is one piece.
        if len == unit || len < unit && end == buffer.len {
            return buffer.sums.get(first).copied();
        }
        if !(end.is_multiple_of(unit) || end == buffer.len) {
            return None;
        }
        let sums = buffer.sums.get(first..end.div_ceil(unit))?;
        let add = |(at, sum): (usize, Sum), piece: &Sum| (at + unit, sum.then(at, *piece));
        Some(sums.iter().fold((0, Sum::ZERO), add).1)
    }

    /// The octets of the page.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        self.buffer.as_deref().and_then(|buffer| buffer.octets.get(..buffer.len)).unwrap_or_default()
    }

    /// How many octets the page holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.buffer.as_deref().map_or(0, |buffer| buffer.len)
    }

    /// Whether the page holds no octets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Another holder, as a clone is, made without touching the count that all holders share, but for a holder of the
    /// least weight.
    #[inline]
    pub(crate) fn split(&mut self) -> Self {
        Self { buffer: self.buffer.as_mut().map(Weighted::split) }
    }

    /// Lets `other`, a holder of the same page, go into this one.
    #[inline]
    pub(crate) fn merge(&mut self, mut other: Self) {
        if let (Some(ours), Some(theirs)) = (&mut self.buffer, other.buffer.take()) {
            // Where it could not, it goes back and ends as any other.
            other.buffer = ours.merge(theirs).err();
        }
    }

    /// Whether both are holders of the same page.
    #[inline]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        matches!((&self.buffer, &other.buffer), (Some(a), Some(b)) if a.is_same(b))
    }
}

fn class(len: usize) -> Option<usize> {
    CLASSES.iter().position(|&size| len <= size)
}

/// A buffer of at least `len` octets with exactly one holder.
fn take(len: usize) -> Unique<Buffer> {
    let new = |size: usize| Unique::new(Buffer { octets: vec![0; size].into(), len, sums: Vec::new(), unit: 0 });
    let Some(class) = class(len) else {
        return new(len);
    };
    let kept = FREE.try_with(|free| free.borrow_mut().get_mut(class).and_then(Vec::pop)).ok().flatten();
    let mut buffer = kept.unwrap_or_else(|| new(CLASSES.get(class).copied().unwrap_or(len)));
    buffer.len = len;
    buffer
}

impl Drop for Page {
    fn drop(&mut self) {
        let Some(buffer) = self.buffer.take().and_then(Weighted::into_unique) else {
            return;
        };
        let size = buffer.octets.len();
        let Some(class) = CLASSES.iter().position(|&class| class == size) else {
            return;
        };
        // A thread that is shutting down has no stack any more; its pages go back to the allocator.
        let _ = FREE.try_with(|free| {
            if let Some(stack) = free.borrow_mut().get_mut(class)
                && stack.len() < MOST.try_with(Cell::get).unwrap_or(0)
            {
                stack.push(buffer);
            }
        });
    }
}

impl Clone for Page {
    fn clone(&self) -> Self {
        Self { buffer: self.buffer.clone() }
    }
}

impl From<&[u8]> for Page {
    fn from(octets: &[u8]) -> Self {
        Self::build(octets.len(), |room| room.copy_from_slice(octets))
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Page({} octets)", self.len())
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use proptest::prelude::*;

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
    fn a_thread_keeps_no_more_free_pages_than_it_is_told_to() {
        let kept = || FREE.with(|free| free.borrow().iter().map(Vec::len).max());
        let free_many = || {
            drop((0..10).map(|_| Page::build(64 * 1024, |_| ())).collect::<Vec<_>>());
        };
        free_many();
        assert_eq!(kept(), Some(10));
        keep_free(4);
        assert_eq!(kept(), Some(4));
        free_many();
        assert_eq!(kept(), Some(4));
        keep_free(KEPT);
    }

    #[test]
    fn a_page_still_held_is_never_reused() {
        let held = Page::from(&b"kumiki"[..]);
        let other = Page::build(6, |room| room.fill(0));
        assert_eq!(held.octets(), b"kumiki");
        assert_eq!(other.octets(), [0; 6]);
    }

    proptest! {
        #[test]
        fn sums_of_pieces_are_those_of_their_octets(
            octets in crate::arbitrary::octets(0..if cfg!(miri) { 800 } else { 3000 }),
            unit in 1usize..700,
            from in any::<prop::sample::Index>(),
            to in any::<prop::sample::Index>(),
            garbage in any::<bool>(),
        ) {
            if garbage {
                // What an earlier page knew is forgotten.
                drop(Page::copied(&[0xa5; 3000], 7));
            }
            let page = Page::copied(&octets, unit);
            prop_assert_eq!(page.octets(), &octets[..]);
            let (from, to) = (from.index(octets.len() + 1), to.index(octets.len() + 1));
            let (from, to) = (from.min(to), from.max(to));
            let part = &octets[from..to];
            if let Some(sum) = page.known_sum(from, part.len()) {
                prop_assert_eq!(sum.folded(), Sum::of(part).folded());
            }
            let mut at = 0;
            for piece in octets.chunks(unit) {
                prop_assert_eq!(page.known_sum(at, piece.len()), Some(Sum::of(piece)));
                at += piece.len();
            }
            prop_assert_eq!(Page::from(&octets[..]).known_sum(0, octets.len()), None);
        }
    }

    #[test]
    fn a_slice_knows_the_sums_of_its_page_until_it_is_told_to_forget() {
        let octets: Vec<u8> = (0..100).collect();
        let mut rest = crate::Slice::of_page(Page::copied(&octets, 40));
        let first = rest.split_to(40);
        assert!(first.is_summed() && rest.is_summed());
        assert_eq!((first.sum(), rest.sum()), (Sum::of(&octets[..40]), Sum::of(&octets[40..])));
        let mut part = rest.clone();
        assert!(!part.split_to(10).is_summed() && !part.is_summed());
        assert_eq!(part.sum(), Sum::of(&octets[50..]));
        rest.forget_sum();
        assert!(!rest.is_summed());
        // Who takes octets from a doubted slice doubts them too, and so does who joins it.
        let (mut sure, mut doubted) = (first, rest.split_to(40));
        assert!(!doubted.is_summed() && sure.is_summed());
        assert!(sure.join(&mut doubted) && !sure.is_summed());
        assert!(doubted.is_empty());
    }
}
