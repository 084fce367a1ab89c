//! Putting a message together from the pieces in which a peer sends it, in memory that is in proportion to its octets
//! whatever the pieces are.
//!
//! Pieces that fill their pages stay where they are. Where what they hold on to is much more than their octets (small
//! pieces, or small parts of large pages), they are copied, each octet once, into chunks of [`CHUNK`]. So what is
//! gathered takes at most twice its octets, a page and a chunk; and pieces that are too many for what is in them are
//! refused, for each costs work.

use core::fmt;
use std::sync::Arc;

use crate::budget::{Account, Claim};
use crate::{Lease, Message, Page, Slice};

/// So many pieces a message may have, however short it is.
const FEW: usize = 64;
/// Beyond these, one for so many octets.
const SMALL: usize = 64;
/// Pieces that were copied lie in chunks of so many octets.
const CHUNK: usize = 64 * 1024;
/// The first chunk begins with so many.
const FIRST: usize = 1024;
/// Pieces may hold on to so much beyond twice their octets: a page of the largest size.
const SLACK: usize = 64 * 1024;
/// What is claimed of a budget is claimed in steps.
const STEP: usize = 16 * 1024;

/// Why a piece was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotGathered {
    /// The message comes in more pieces than its octets are worth.
    Pieces,
    /// There is no memory for it.
    Memory,
}

impl fmt::Display for NotGathered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pieces => "a message in too many pieces for its length",
            Self::Memory => "no memory for a message in pieces",
        })
    }
}

impl core::error::Error for NotGathered {}

/// A message that comes in pieces.
#[derive(Debug, Default)]
pub struct Gathering {
    /// What came first, in memory that it fills.
    done: Message,
    /// Behind it, copied.
    tail: Vec<u8>,
    /// Behind that, as it came.
    fresh: Message,
    /// What `fresh` holds on to, in octets of memory.
    held: usize,
    /// The same of `done`.
    kept: usize,
    pieces: usize,
    claim: Option<Claim>,
}

impl Gathering {
    /// Octets that have come.
    #[must_use]
    pub fn len(&self) -> usize {
        self.done.len() + self.tail.len() + self.fresh.len()
    }

    /// Whether no octets have come.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether nothing has come, not even a piece without octets.
    #[must_use]
    pub const fn is_new(&self) -> bool {
        self.pieces == 0
    }

    /// Octets of memory that it holds on to.
    #[must_use]
    pub const fn memory(&self) -> usize {
        self.kept + self.tail.capacity() + self.held
    }

    /// The next piece. What it takes is claimed from `account`. Gives how many octets were copied.
    ///
    /// # Errors
    /// [`NotGathered`]; the message is then of no use.
    pub fn push(&mut self, piece: Message, account: Option<&Account>) -> Result<usize, NotGathered> {
        self.pieces += 1;
        let len = self.len() + piece.len();
        if self.pieces > FEW + len / SMALL {
            return Err(NotGathered::Pieces);
        }
        let before = self.fresh.slices().len();
        self.fresh.append(piece);
        let slices = self.fresh.slices();
        // The last one may have grown by what followed in its page.
        let mut last = before.checked_sub(1).and_then(|at| slices.get(at));
        for slice in slices.get(before..).unwrap_or_default() {
            let shares = last.is_some_and(|last| last.shares_page(slice));
            self.held += size_of::<Slice>() + if shares { 0 } else { slice.held() };
            last = Some(slice);
        }
        let copied = if self.held > 2 * self.fresh.len() + SLACK { self.settle()? } else { 0 };
        if let Some(account) = account {
            self.claim(account)?;
        }
        Ok(copied)
    }

    /// Claims what is held on to.
    fn claim(&mut self, account: &Account) -> Result<(), NotGathered> {
        let need = self.memory().next_multiple_of(STEP) as u64;
        let claimed = match &mut self.claim {
            Some(claim) => claim.grow_to(need),
            none => account.claim(need).map(|claim| *none = Some(claim)),
        };
        claimed.map_err(|_| NotGathered::Memory)
    }

    /// Copies what came last out of the pages that it holds on to.
    fn settle(&mut self) -> Result<usize, NotGathered> {
        let mut fresh = core::mem::take(&mut self.fresh);
        self.held = 0;
        let mut copied = 0;
        let mut result = Ok(());
        // Each is let go when it has been copied.
        for slice in fresh.take_slices() {
            slice.for_each(|octets| {
                if result.is_ok() {
                    result = self.copy(octets);
                    copied += octets.len();
                }
            });
        }
        result.map(|()| copied)
    }

    fn copy(&mut self, mut octets: &[u8]) -> Result<(), NotGathered> {
        while !octets.is_empty() {
            if self.tail.len() == self.tail.capacity() {
                self.make_room()?;
            }
            let room = self.tail.capacity() - self.tail.len();
            let (now, later) = octets.split_at(room.min(octets.len()));
            self.tail.extend_from_slice(now);
            octets = later;
        }
        Ok(())
    }

    /// A larger chunk, or another one.
    fn make_room(&mut self) -> Result<(), NotGathered> {
        if self.tail.len() >= CHUNK {
            self.close_chunk();
        }
        let more = self.tail.len().clamp(FIRST, CHUNK);
        let more = more.min(CHUNK - self.tail.len());
        let reserved = self.tail.try_reserve_exact(more);
        reserved.map_err(|_| NotGathered::Memory)
    }

    fn close_chunk(&mut self) {
        let chunk = core::mem::take(&mut self.tail);
        if !chunk.is_empty() {
            self.kept += chunk.capacity() + size_of::<Slice>();
            self.done.append_slice(Slice::of_page(Page::owning(chunk)));
        }
    }

    /// The message, and a new beginning. What it takes stays claimed as long as anybody holds its octets.
    #[must_use]
    pub fn take(&mut self) -> Message {
        self.close_chunk();
        let Self { mut done, fresh, claim, .. } = core::mem::take(self);
        if done.is_empty() {
            done = fresh;
        } else {
            done.append(fresh);
        }
        if let Some(claim) = claim.filter(|_| !done.is_leased()) {
            let lease: Lease = Arc::new(claim);
            done.set_lease(Some(&lease));
        }
        done
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::budget::Budget;

    /// A part of a page that is read from a connection.
    fn part(page: &Page, from: usize, len: usize) -> Message {
        let mut whole = Message::from_page(page.clone());
        whole.pop(from).unwrap();
        whole.truncate(len);
        whole
    }

    #[test]
    fn pieces_that_fill_their_pages_are_not_copied() {
        let mut gathering = Gathering::default();
        for _ in 0..64 {
            let page = Page::build(64 * 1024, |_| ());
            for at in 0..8 {
                let copied = gathering.push(part(&page, at * 8192 + 7, 8185), None);
                assert_eq!(copied, Ok(0));
            }
        }
        assert!(gathering.memory() < gathering.len() + gathering.len() / 32);
    }

    #[test]
    fn what_holds_on_to_more_than_it_is_gets_copied_once() {
        let mut gathering = Gathering::default();
        let mut copied = 0;
        for n in 0..1000_usize {
            // One read, of which little is the message's.
            let page = Page::build(9000, |octets| octets.fill(n.to_le_bytes()[0]));
            copied += gathering.push(part(&page, 100, 300), None).unwrap();
            assert!(gathering.memory() <= 2 * gathering.len() + 3 * CHUNK);
        }
        assert!((1..=300_000).contains(&copied));
        let expected: Vec<u8> = (0..300_000).map(|at: usize| (at / 300).to_le_bytes()[0]).collect();
        assert_eq!(gathering.take().to_vec(), expected);
        assert!(gathering.is_new());
    }

    #[test]
    fn pieces_out_of_proportion_are_refused() {
        let page = Page::from(&[1_u8; 4096][..]);
        let mut gathering = Gathering::default();
        let mut push = |len| gathering.push(part(&page, 0, len), None);
        // 64, and one for each 64 octets of what has come: 65 of one octet make 65.
        let taken = core::iter::repeat_with(|| push(1)).take_while(Result::is_ok);
        assert_eq!(taken.count(), 65);
        let mut gathering = Gathering::default();
        for _ in 0..100_000 {
            assert!(gathering.push(part(&page, 0, 64), None).is_ok());
        }
        let mut gathering = Gathering::default();
        let mut push = || gathering.push(Message::new(), None);
        assert_eq!((0..65).map(|_| push()).filter(Result::is_err).count(), 1);
    }

    #[test]
    fn what_is_gathered_is_claimed_until_it_is_gone() {
        let budget = Budget::new(1 << 20);
        let account = budget.account(0).unwrap();
        let mut gathering = Gathering::default();
        for _ in 0..20 {
            let page = Page::build(10_000, |_| ());
            gathering.push(Message::from_page(page), Some(&account)).unwrap();
            assert!(budget.used() >= gathering.memory() as u64);
            assert!(budget.used() < (gathering.memory() + STEP) as u64);
        }
        let (mut whole, used) = (gathering.take(), budget.used());
        let part = whole.split_to(5).unwrap();
        drop((whole, gathering));
        assert_eq!(budget.used(), used);
        drop(part);
        assert_eq!(budget.used(), 0);
        // A stranger has half of the budget, and not an octet more.
        let mut gathering = Gathering::default();
        let refused = core::iter::repeat_with(|| {
            let piece = Message::from_page(Page::build(16 * 1024, |_| ()));
            gathering.push(piece, Some(&account))
        });
        let refused = refused.enumerate().find(|(_, it)| it.is_err()).unwrap();
        assert_eq!(refused.1, Err(NotGathered::Memory));
        assert!(budget.used() <= 1 << 19);
    }

    proptest! {
        #[test]
        fn whatever_the_pieces_the_octets_are_the_same_and_memory_is_in_proportion(
            pieces in prop::collection::vec((0usize..3, 1usize..5000, 0usize..60_000), 1..200),
        ) {
            let (mut gathering, mut expected) = (Gathering::default(), Vec::new());
            let mut copied = 0;
            for (n, (class, len, before)) in pieces.into_iter().enumerate() {
                let octet = n.to_le_bytes()[0];
                let size = [2048, 16 * 1024, 64 * 1024][class];
                let page = Page::build(size, |octets| octets.fill(octet));
                let len = len.min(size);
                let piece = part(&page, before.min(size - len), len);
                match gathering.push(piece, None) {
                    Ok(more) => copied += more,
                    Err(why) => {
                        prop_assert_eq!(why, NotGathered::Pieces);
                        prop_assert!(n >= FEW);
                        return Ok(());
                    }
                }
                expected.extend(core::iter::repeat_n(octet, len));
                prop_assert_eq!(gathering.len(), expected.len());
                prop_assert!(gathering.memory() <= 2 * gathering.len() + SLACK + 2 * CHUNK);
            }
            prop_assert!(copied <= expected.len());
            prop_assert_eq!(gathering.take().to_vec(), expected);
        }
    }
}
