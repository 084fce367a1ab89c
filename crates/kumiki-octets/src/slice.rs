//! Slices: a piece of content held elsewhere, and what is known of its sum.

use core::fmt;
use std::any::Any;
use std::sync::Arc;

use crate::{Page, Pattern, Sum};

/// Something held for as long as any part of the content it was taken for is held.
///
/// Its drop is its meaning: a host's page ledger hands out leases and gets its pages back when the last slice that
/// carries one is gone.
pub type Lease = Arc<dyn Any + Send + Sync>;

/// The most octets that fit into a slice without a page.
pub(crate) const INLINE: usize = 16;

/// Pattern octets are made in pieces of this size when somebody must look at them.
const SCRATCH: usize = 2048;

/// Below this a part's sum is taken from the octets even where the whole's sum is known, to know the other part's too.
const SMALL: usize = 128;

#[derive(Clone)]
enum Source {
    Page(Page),
    Pattern(Pattern),
    Inline(InlineOctets),
}

/// Octets held in place. Aligned, so that the whole moves in the same words in which it was written.
#[derive(Clone, Copy)]
#[repr(align(8))]
struct InlineOctets([u8; INLINE]);

impl Source {
    /// The same once more. A page's handle is split, which costs less than a clone.
    #[inline]
    fn split(&mut self) -> Self {
        match self {
            Self::Page(page) => Self::Page(page.split()),
            Self::Pattern(pattern) => Self::Pattern(*pattern),
            Self::Inline(octets) => Self::Inline(*octets),
        }
    }
}

/// A run of octets of a page, of a generated pattern, or a few octets held in place.
#[derive(Clone)]
pub struct Slice {
    source: Source,
    /// Where it begins in its source; of a pattern modulo 2^64, as the positions of patterns are.
    offset: u64,
    len: usize,
    sum: Option<Sum>,
    /// What its page knows of sums is not to be relied on.
    doubted: bool,
    lease: Option<Lease>,
}

impl Slice {
    /// No octets.
    pub(crate) const EMPTY: Self = Self {
        source: Source::Inline(InlineOctets([0; INLINE])),
        offset: 0,
        len: 0,
        sum: None,
        doubted: false,
        lease: None,
    };

    /// The whole of `page`.
    #[must_use]
    pub fn of_page(page: Page) -> Self {
        let len = page.len();
        Self { source: Source::Page(page), offset: 0, len, sum: None, doubted: false, lease: None }
    }

    /// `len` octets of `pattern`, from stream position `offset` on.
    #[must_use]
    pub const fn of_pattern(pattern: Pattern, offset: u64, len: usize) -> Self {
        Self { source: Source::Pattern(pattern), offset, len, sum: None, doubted: false, lease: None }
    }

    /// A copy of `octets`, in place where they are few.
    #[must_use]
    pub fn of_octets(octets: &[u8]) -> Self {
        let mut inline = [0; INLINE];
        let source = match inline.get_mut(..octets.len()) {
            Some(room) => {
                room.copy_from_slice(octets);
                Source::Inline(InlineOctets(inline))
            }
            None => Source::Page(Page::from(octets)),
        };
        Self { source, offset: 0, len: octets.len(), sum: None, doubted: false, lease: None }
    }

    /// The octets of `vector`, not copied where they are more than a few.
    #[must_use]
    pub fn owning(vector: Vec<u8>) -> Self {
        if vector.len() <= INLINE { Self::of_octets(&vector) } else { Self::of_page(Page::owning(vector)) }
    }

    /// How many octets of memory it holds on to, beside its own place. Of a page that is larger than those that are
    /// recycled only so much: such a page was made whole by somebody who has use for it, as one with a file in it, and
    /// not by a device for what has come.
    #[must_use]
    pub(crate) fn held(&self) -> usize {
        match &self.source {
            Source::Page(page) => page.held(),
            Source::Pattern(_) | Source::Inline(_) => 0,
        }
    }

    /// Whether both are in one page.
    #[must_use]
    pub(crate) fn shares_page(&self, other: &Self) -> bool {
        match (&self.source, &other.source) {
            (Source::Page(one), Source::Page(other)) => one.is_same(other),
            _ => false,
        }
    }

    /// How many octets this is.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether this is no octets at all.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The pattern and stream position this content was generated from, if it was.
    #[must_use]
    pub const fn pattern(&self) -> Option<(Pattern, u64)> {
        match self.source {
            Source::Pattern(pattern) => Some((pattern, self.offset)),
            Source::Page(_) | Source::Inline(_) => None,
        }
    }

    /// The octets, where they exist in memory.
    #[must_use]
    #[inline]
    pub fn octets(&self) -> Option<&[u8]> {
        let all = match &self.source {
            Source::Page(page) => page.octets(),
            Source::Inline(InlineOctets(octets)) => octets,
            Source::Pattern(_) => return None,
        };
        let start = usize::try_from(self.offset).ok()?;
        all.get(start..start.checked_add(self.len)?)
    }

    /// Shows every octet to `see`, in order, in pieces.
    pub fn for_each(&self, mut see: impl FnMut(&[u8])) {
        let Source::Pattern(pattern) = self.source else {
            see(self.octets().unwrap_or_default());
            return;
        };
        let mut scratch = [0; SCRATCH];
        let (mut at, mut left) = (self.offset, self.len);
        while left > 0 {
            let Some(piece) = scratch.get_mut(..left.min(SCRATCH)) else {
                return;
            };
            pattern.fill(at, piece);
            see(piece);
            at = at.wrapping_add(piece.len() as u64);
            left -= piece.len();
        }
    }

    /// Copies `out.len()` octets from position `from` on; false where the slice has not that many.
    #[must_use]
    pub fn copy_to(&self, from: usize, out: &mut [u8]) -> bool {
        let Some(end) = from.checked_add(out.len()).filter(|&end| end <= self.len) else {
            return false;
        };
        match self.source {
            Source::Pattern(pattern) => pattern.fill(self.offset.wrapping_add(from as u64), out),
            Source::Page(_) | Source::Inline(_) => match self.octets().and_then(|all| all.get(from..end)) {
                Some(octets) => out.copy_from_slice(octets),
                None => return false,
            },
        }
        true
    }

    /// The one's complement sum of the octets, as if the first stood at an even position.
    #[must_use]
    #[inline]
    pub fn sum(&self) -> Sum {
        self.sum.unwrap_or_else(|| self.sum_of(0, self.len))
    }

    /// As [`Slice::sum`], of the `len` octets from `from` on.
    #[inline]
    fn sum_of(&self, from: usize, len: usize) -> Sum {
        let offset = self.offset.wrapping_add(from as u64);
        if let Source::Pattern(pattern) = self.source {
            return pattern.sum(offset, len);
        }
        self.page_sum(offset, len).unwrap_or_else(|| {
            let part = self.octets().and_then(|octets| octets.get(from..from + len));
            Sum::of(part.unwrap_or_default())
        })
    }

    /// What the page knows of the sum of its `len` octets from `offset` on.
    #[inline]
    fn page_sum(&self, offset: u64, len: usize) -> Option<Sum> {
        match &self.source {
            Source::Page(page) if !self.doubted => page.known_sum(usize::try_from(offset).ok()?, len),
            Source::Page(_) | Source::Pattern(_) | Source::Inline(_) => None,
        }
    }

    /// As [`Slice::sum`], and remembers it for the next who asks.
    #[inline]
    pub fn summed(&mut self) -> Sum {
        let sum = self.sum();
        self.sum = Some(sum);
        sum
    }

    /// Whether the sum is remembered, so that asking for it costs nothing.
    #[must_use]
    pub fn is_summed(&self) -> bool {
        self.sum.is_some() || self.page_sum(self.offset, self.len).is_some()
    }

    /// Forgets the sum; the next who asks reads the octets.
    pub const fn forget_sum(&mut self) {
        self.sum = None;
        self.doubted = true;
    }

    /// Whether a lease is tied to this content.
    pub(crate) const fn is_leased(&self) -> bool {
        self.lease.is_some()
    }

    /// Ties `lease` to this content.
    pub fn set_lease(&mut self, lease: Option<Lease>) {
        self.lease = lease;
    }

    /// Cuts off and returns the first `n` octets; all of them where there are no more than `n`.
    #[must_use]
    pub fn split_to(&mut self, n: usize) -> Self {
        let mut front = Self::EMPTY;
        self.split_into(n, &mut front);
        front
    }

    /// As [`Slice::split_to`], in place of what `front` was: a slice that is built elsewhere and then moved makes wide
    /// reads wait for narrow writes.
    #[inline]
    pub(crate) fn split_into(&mut self, n: usize, front: &mut Self) {
        let n = n.min(self.len);
        (front.sum, self.sum) = match self.sum {
            Some(whole) => self.share_sum(n, whole),
            None => (None, None),
        };
        front.source = self.source.split();
        front.offset = self.offset;
        front.len = n;
        front.doubted = self.doubted;
        front.lease.clone_from(&self.lease);
        self.offset = self.offset.wrapping_add(n as u64);
        self.len -= n;
    }

    /// Takes the first `n` octets off; all of them where there are no more than `n`.
    pub fn skip(&mut self, n: usize) {
        let n = n.min(self.len);
        self.sum = self.sum.and_then(|whole| self.share_sum(n, whole).1);
        self.offset = self.offset.wrapping_add(n as u64);
        self.len -= n;
    }

    /// The sums of the first `n` octets and of the others, where all sum to `whole`: reading one part gives both, which
    /// is done where it is small.
    fn share_sum(&self, n: usize, whole: Sum) -> (Option<Sum>, Option<Sum>) {
        if n == self.len {
            (Some(whole), None)
        } else if n == 0 {
            (None, Some(whole))
        } else if n <= SMALL {
            let front = self.sum_of(0, n);
            (Some(front), Some(whole.without_prefix(n, front)))
        } else if self.len - n <= SMALL {
            let back = self.sum_of(n, self.len - n);
            (Some(whole.without(n, back)), Some(back))
        } else {
            (None, None)
        }
    }

    /// Takes in `next`, which is left empty, where it continues this slice in the same page or pattern under the same
    /// lease; false where it does not.
    #[must_use]
    #[inline]
    pub fn join(&mut self, next: &mut Self) -> bool {
        let continues = self.offset.wrapping_add(self.len as u64) == next.offset
            && match (&self.source, &next.source) {
                (Source::Pattern(a), Source::Pattern(b)) => a == b,
                (Source::Page(a), Source::Page(b)) => a.is_same(b),
                _ => false,
            };
        let same_lease = match (&self.lease, &next.lease) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        if !(continues && same_lease) {
            return false;
        }
        self.sum = match (self.sum, next.sum) {
            (Some(a), Some(b)) => Some(a.then(self.len, b)),
            _ => None,
        };
        self.doubted |= next.doubted;
        self.len += next.len;
        let taken = core::mem::replace(next, Self::EMPTY);
        if let (Source::Page(ours), Source::Page(theirs)) = (&mut self.source, taken.source) {
            ours.merge(theirs);
        }
        true
    }
}

/// Small pieces are copied together up to so many octets: a page of the least size.
pub(crate) const TOGETHER: usize = 2048;

impl Slice {
    /// Takes in a copy of `next`, which is left empty, where both have room in one page of the least size, and lie in
    /// memory that is let go by it: what is generated takes none, and a lease is for the content that came. False where
    /// not.
    #[must_use]
    pub fn absorb(&mut self, next: &mut Self) -> bool {
        let (first, len) = (self.len, self.len + next.len);
        if len > TOGETHER || self.is_leased() || next.is_leased() || self.shares_page(next) {
            return false;
        }
        let (Some(front), Some(back)) = (self.octets(), next.octets()) else {
            return false;
        };
        let known = self.is_summed() && next.is_summed();
        let sum = known.then(|| self.sum().then(first, next.sum()));
        let mut few = [0; INLINE];
        let mut both = if let Some(room) = few.get_mut(..len) {
            put_both(room, front, back);
            Self::of_octets(room)
        } else {
            Self::of_page(Page::build(len, |room| put_both(room, front, back)))
        };
        both.sum = sum;
        *self = both;
        *next = Self::EMPTY;
        true
    }
}

impl Slice {
    /// Copies it into memory that it fills, where it lies in a page and no lease bounds it.
    pub(crate) fn fit(&mut self) {
        let Some(octets) = self.octets().filter(|_| self.held() > 0 && !self.is_leased()) else {
            return;
        };
        let sum = self.is_summed().then(|| self.sum());
        let mut own = match octets.len() {
            0..=INLINE => Self::of_octets(octets),
            _ => Self::of_page(Page::owning(octets.to_vec())),
        };
        own.sum = sum;
        *self = own;
    }
}

fn put_both(room: &mut [u8], front: &[u8], back: &[u8]) {
    if let Some((a, b)) = room.split_at_mut_checked(front.len())
        && a.len() == front.len()
        && b.len() == back.len()
    {
        a.copy_from_slice(front);
        b.copy_from_slice(back);
    }
}

impl fmt::Debug for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            Source::Page(_) => write!(f, "page[{}; {}]", self.offset, self.len),
            Source::Inline(_) => write!(f, "{:02x?}", self.octets().unwrap_or_default()),
            Source::Pattern(pattern) => write!(f, "{pattern:?}[{}; {}]", self.offset, self.len),
        }
    }
}
