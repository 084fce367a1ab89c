//! The octets of a stream on their way out: what has not been sent, and what was sent and may have to be retransmitted.
//!
//! Octets are not copied. What has been sent is kept as it was cut, with its sums, so that sending it again reads
//! nothing.
//!
//! Small pieces are the exception, for one of a single octet holds on to a page: a user that writes so, or sends back
//! what came so, would take two thousand times the memory of its octets. Behind the first [`FEW`] pieces, neighbours
//! that have room in one page of the least size, and no others in theirs, are copied together. So no two of them fill
//! less than a page, and all take about twice their octets and [`FEW`] pages at most; each octet is copied at most as
//! often as pieces make a page. What is left of larger pages is copied out of them where memory is scarce
//! ([`Outgoing::fit`]).

use crate::{Blank, Message, Meta, OnDemand, ShortQueue, Slice};

/// So many pieces may lie in pages of their own.
const FEW: usize = 8;
/// Pieces shorter than this that were sent from one page become one: the sums that they had cost more memory than
/// reading them once more is worth.
const SHORT: usize = 128;

/// The octets of a stream, by their places in it, from 0 on.
///
/// ```
/// use kumiki_octets::{Message, Outgoing};
///
/// let mut stream = Outgoing::default();
/// stream.queue(Message::from_octets(b"hello, world"));
/// let (first, _) = stream.take(5, true, true);            // is sent, and kept
/// let (rest, _) = stream.take(100, true, true);
/// assert_eq!((first.to_vec(), rest.to_vec()), (b"hello".to_vec(), b", world".to_vec()));
///
/// stream.release(5);                                      // acknowledged up to place 5
/// assert_eq!(stream.again(5, 100).to_vec(), b", world");  // what is not goes again
/// ```
#[derive(Debug, Default)]
pub struct Outgoing {
    here: OnDemand<StreamQueues>,
    /// The place of the first octet not sent.
    next: u64,
}

/// What there is while there are octets.
#[derive(Debug, Default)]
struct StreamQueues {
    sent: Pieces,
    unsent: Pieces,
}

impl Blank for StreamQueues {
    const BLANK: &'static Self = &Self { sent: Pieces::NONE, unsent: Pieces::NONE };
}

/// Octets of a stream, in order.
#[derive(Debug, Default)]
struct Pieces {
    /// Each with its place in the stream; none is empty.
    pieces: ShortQueue<(u64, Slice)>,
    octets: u64,
    /// Octets of memory that they hold on to.
    memory: usize,
}

/// Content may hold on to so much beyond twice its octets ([`Outgoing::fit`]).
const SLACK: usize = 2048;

impl Pieces {
    const NONE: Self = Self { pieces: ShortQueue::new(), octets: 0, memory: 0 };

    /// Adds `slice`, whose place is `at`. What continues the last piece in its page is joined to it where it has less
    /// than `short` octets.
    fn push(&mut self, at: u64, mut slice: Slice, short: usize) {
        self.octets += slice.len() as u64;
        if self.pieces.is_empty() {
            self.memory += slice.held();
            self.pieces.push_back((at, slice));
            return;
        }
        let many = self.pieces.len() >= FEW;
        let before = self.pieces.len().checked_sub(2).and_then(|at| self.pieces.get(at));
        let last = self.pieces.back();
        let shared = before.zip(last).is_some_and(|((_, before), (_, last))| before.shares_page(last));
        let shares = last.is_some_and(|(_, last)| last.shares_page(&slice));
        if let Some((_, last)) = self.pieces.back_mut() {
            if slice.len() < short && last.join(&mut slice) {
                return;
            }
            let was = last.held();
            // Not a page's end and the beginning of the next: the first would not be let go by it.
            if many && !shared && last.absorb(&mut slice) {
                self.memory = self.memory.saturating_sub(was) + last.held();
                return;
            }
        }
        self.memory += if shares { 0 } else { slice.held() };
        self.pieces.push_back((at, slice));
    }

    /// Whether the first piece lies in the page of `slice`, which was or will be in front of it.
    fn shares_front(&self, slice: &Slice) -> bool {
        self.pieces.front().is_some_and(|(_, next)| next.shares_page(slice))
    }

    fn push_front(&mut self, at: u64, slice: Slice) {
        self.octets += slice.len() as u64;
        self.memory += if self.shares_front(&slice) { 0 } else { slice.held() };
        self.pieces.push_front((at, slice));
    }

    fn pop_front(&mut self) -> Option<(u64, Slice)> {
        let (at, slice) = self.pieces.pop_front()?;
        self.octets -= slice.len() as u64;
        let gone = if self.shares_front(&slice) { 0 } else { slice.held() };
        self.memory = self.memory.saturating_sub(gone);
        Some((at, slice))
    }

    /// Copies what lies in pages of which it is less than half.
    fn fit(&mut self, short: usize) {
        let mut old = core::mem::take(&mut self.pieces);
        (self.octets, self.memory) = (0, 0);
        while let Some((_, first)) = old.front() {
            let page = first.held();
            let count = old.iter().take_while(|(_, it)| it.shares_page(first)).count().max(1);
            let octets: usize = old.iter().take(count).map(|(_, it)| it.len()).sum();
            for (at, mut slice) in (0..count).map_while(|_| old.pop_front()).collect::<Vec<_>>() {
                if page > 2 * octets + SLACK {
                    slice.fit();
                }
                self.push(at, slice, short);
            }
        }
    }
}

impl Outgoing {
    /// Octets not sent yet.
    #[must_use]
    #[inline]
    pub fn unsent(&self) -> u64 {
        self.here.unsent.octets
    }

    /// Octets that were sent and are kept.
    #[must_use]
    #[inline]
    pub fn sent(&self) -> u64 {
        self.here.sent.octets
    }

    /// All octets that are here.
    #[must_use]
    #[inline]
    pub fn len(&self) -> u64 {
        self.here.sent.octets + self.here.unsent.octets
    }

    /// Whether there are none.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Octets of memory that all of it holds on to: of a page all of it, however little of it is here. What is
    /// generated takes none.
    #[must_use]
    pub fn memory(&self) -> usize {
        let StreamQueues { sent, unsent } = &*self.here;
        let (last, first) = (sent.pieces.back(), unsent.pieces.front());
        let both = last.zip(first).filter(|((_, last), (_, first))| last.shares_page(first));
        let twice = both.map_or(0, |(_, (_, first))| first.held());
        (sent.memory + unsent.memory).saturating_sub(twice)
    }

    /// The place of the first octet that is here.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.here.sent.pieces.front().map_or(self.next, |(at, _)| *at)
    }

    /// Adds `data` at the end; the slices are taken as they are, headers in front of them become one.
    pub fn queue(&mut self, data: Message) {
        let content: usize = data.slices().iter().map(Slice::len).sum();
        let mut data = if content == data.len() {
            data
        } else {
            let mut whole = Message::new();
            whole.append(data);
            whole
        };
        for slice in data.take_slices() {
            let at = self.next + self.here.unsent.octets;
            self.here.unsent.push(at, slice, usize::MAX);
        }
    }

    /// What [`Outgoing::queue`] and then [`Outgoing::take`] of all of it come to for `data` that nothing waits in front
    /// of: it goes as it is, and is kept. Also how many octets had to be read for its sum.
    pub fn pass(&mut self, mut data: Message) -> (Message, u64) {
        let StreamQueues { sent, unsent } = &mut *self.here;
        let one = if unsent.octets == 0 { data.only_slice() } else { None };
        let Some(slice) = one else {
            let octets = data.len() as u64;
            self.queue(data);
            return self.take(octets, true, true);
        };
        let read = if slice.is_summed() { 0 } else { slice.len() as u64 };
        slice.summed();
        let kept = slice.clone();
        let at = self.next;
        self.next = at + kept.len() as u64;
        sent.push(at, kept, SHORT);
        *data.meta_mut() = Meta::default();
        (data, read)
    }

    /// The next `octets`, or what there is, to be sent; `keep`: they stay here, to be retransmitted. Also how many of
    /// them had to be read for their sum, where that is wanted.
    pub fn take(&mut self, octets: u64, sum: bool, keep: bool) -> (Message, u64) {
        let mut packet = Message::new();
        let mut left = usize::try_from(octets).unwrap_or(usize::MAX);
        let mut read = 0;
        let StreamQueues { sent, unsent } = &mut *self.here;
        while left > 0 {
            let Some((at, mut slice)) = unsent.pop_front() else {
                break;
            };
            if slice.len() > left {
                let front = slice.split_to(left);
                unsent.push_front(at + left as u64, slice);
                slice = front;
            }
            if sum && !slice.is_summed() {
                read += slice.len() as u64;
                slice.summed();
            }
            left -= slice.len();
            self.next = at + slice.len() as u64;
            if keep {
                packet.append_slice(slice.clone());
                sent.push(at, slice, SHORT);
            } else {
                packet.append_slice(slice);
            }
        }
        (packet, read)
    }

    /// The first octet not sent, left where it is.
    #[must_use]
    pub fn peek(&self) -> Message {
        let mut first = Message::new();
        if let Some((_, slice)) = self.here.unsent.pieces.front() {
            first.append_slice(slice.clone().split_to(1));
        }
        first
    }

    /// The `octets` that were sent from place `from` on, once more; fewer where they are not all here.
    #[must_use]
    pub fn again(&self, from: u64, octets: u64) -> Message {
        let mut packet = Message::new();
        let end = from.saturating_add(octets);
        let pieces = &self.here.sent.pieces;
        let first = pieces.partition_point(|(at, slice)| at + slice.len() as u64 <= from);
        for (at, slice) in pieces.iter_from(first) {
            if *at >= end {
                break;
            }
            let mut part = slice.clone();
            part.skip(usize::try_from(from.saturating_sub(*at)).unwrap_or(usize::MAX));
            let want = usize::try_from(end - from.max(*at)).unwrap_or(usize::MAX);
            if part.len() > want {
                part = part.split_to(want);
            }
            packet.append_slice(part);
        }
        packet
    }

    /// Lets go of what was sent before place `upto`.
    pub fn release(&mut self, upto: u64) {
        let Some(StreamQueues { sent, .. }) = self.here.own() else {
            return;
        };
        while let Some((at, slice)) = sent.pieces.front_mut() {
            let gone = usize::try_from(upto.saturating_sub(*at)).unwrap_or(usize::MAX);
            if gone < slice.len() {
                slice.skip(gone);
                *at += gone as u64;
                sent.octets -= gone as u64;
                break;
            }
            sent.pop_front();
        }
    }

    /// Where it holds on to much more than twice its octets, because it is what is left of large pages, it is copied
    /// into memory of its own.
    pub fn fit(&mut self) {
        let octets = usize::try_from(self.len()).unwrap_or(usize::MAX);
        if self.memory() > octets.saturating_mul(2).saturating_add(FEW * SLACK) {
            self.here.sent.fit(SHORT);
            self.here.unsent.fit(usize::MAX);
        }
    }

    /// Gives back the room for pieces, which stays where there once were some, where there are none.
    pub fn fit_room(&mut self) {
        if self.is_empty() {
            self.here.clear();
        }
    }

    /// Forgets all of it.
    pub fn clear(&mut self) {
        self.here.clear();
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Page, Pattern};

    fn written(octets: &[u8]) -> Message {
        Message::from_page(Page::from(octets))
    }

    fn numbered(from: u64, len: usize) -> Vec<u8> {
        Message::generated(Pattern::Counter, from, len).to_vec()
    }

    #[test]
    fn memory_follows_octets_however_small_the_writes_and_the_packets() {
        for (write, packet) in [(1, 1), (1, 0), (1, 1448), (16, 1), (17, 17), (300, 100), (900, 900), (1500, 1448)] {
            let mut out = Outgoing::default();
            for n in 0..60_000 / write {
                out.queue(written(&numbered((n * write) as u64, write)));
                if packet > 0 {
                    let _ = out.take(packet, true, true);
                }
                let most = 2 * usize::try_from(out.len()).unwrap() + 2 * (FEW + 1) * 2048;
                assert!(out.memory() <= most, "{write} {packet}: {} for {}", out.memory(), out.len());
                let pieces = out.here.sent.pieces.len() + out.here.unsent.pieces.len();
                assert!(pieces <= 2 * FEW + n * write / SHORT + 2, "{write} {packet}: {pieces} pieces");
            }
            let sent = out.sent();
            assert_eq!(out.again(0, sent).to_vec(), numbered(0, usize::try_from(sent).unwrap()));
            out.release(sent);
            let rest = usize::try_from(out.unsent()).unwrap();
            assert_eq!(out.take(u64::MAX, false, false).0.to_vec(), numbered(sent, rest));
            assert_eq!((out.len(), out.memory()), (0, 0));
        }
    }

    #[test]
    fn large_writes_are_not_copied() {
        let mut out = Outgoing::default();
        let pages: Vec<Page> = (0..40).map(|n| Page::from(&numbered(n * 10_000, 10_000)[..])).collect();
        for page in &pages {
            out.queue(Message::from_page(page.clone()));
        }
        while out.unsent() > 0 {
            let _ = out.take(1448, true, true);
        }
        for (n, page) in pages.iter().enumerate() {
            let packet = out.again(n as u64 * 10_000, 1000);
            let octets = packet.slices().first().and_then(Slice::octets).unwrap();
            assert!(core::ptr::eq(octets.as_ptr(), page.octets().as_ptr()));
        }
        // All but a little of each page is what it takes.
        assert_eq!(out.memory(), 40 * 16 * 1024);
    }

    #[test]
    fn what_is_left_of_large_pages_is_copied_when_it_is_told_to_fit() {
        let mut out = Outgoing::default();
        for n in 0..20 {
            let mut part = Message::from_page(Page::from(&numbered(n * 60_000, 60_000)[..]));
            part.truncate(100);
            out.queue(part);
            let _ = out.take(70, true, true);
        }
        assert!(out.memory() > 8 * 64 * 1024);
        out.fit();
        assert!(out.memory() <= 2 * 2000 + FEW * SLACK, "{}", out.memory());
        let all = [out.again(0, 1400).to_vec(), out.take(600, false, false).0.to_vec()].concat();
        let expected: Vec<u8> = (0..20).flat_map(|n| numbered(n * 60_000, 100)).collect();
        assert_eq!(all, expected);
        let whole = out.memory();
        out.fit();
        assert_eq!(out.memory(), whole);
    }

    proptest! {
        #[test]
        fn octets_come_out_as_they_were_written(
            steps in prop::collection::vec((0usize..4, 1usize..3000, any::<bool>()), 1..300),
        ) {
            let (mut out, mut written_to, mut known) = (Outgoing::default(), 0_u64, 0_u64);
            for (what, size, small) in steps {
                let size = if small { size % 9 + 1 } else { size };
                match what {
                    0 => {
                        let octets = numbered(written_to, size);
                        out.queue(if small { Message::from_octets(&octets) } else { written(&octets) });
                        written_to += size as u64;
                    }
                    1 => {
                        let at = written_to - out.unsent();
                        let (mut packet, _) = out.take(size as u64, true, true);
                        let expected = numbered(at, packet.len());
                        prop_assert_eq!(packet.to_vec(), &expected[..]);
                        prop_assert_eq!(packet.sum().folded(), crate::Sum::of(&expected).folded());
                    }
                    2 => {
                        known += (size as u64).min(out.sent());
                        out.release(known);
                        prop_assert_eq!(out.sent(), written_to - out.unsent() - known);
                    }
                    _ => out.fit(),
                }
                let octets = usize::try_from(out.sent()).unwrap();
                prop_assert_eq!(out.first(), known);
                prop_assert_eq!(out.again(known, out.sent()).to_vec(), numbered(known, octets));
                let pages = |pieces: &Pieces| {
                    let mut last: Option<&Slice> = None;
                    pieces.pieces.iter().fold(0, |sum, (_, it)| {
                        let shares = last.replace(it).is_some_and(|last| last.shares_page(it));
                        sum + if shares { 0 } else { it.held() }
                    })
                };
                prop_assert_eq!((out.here.sent.memory, out.here.unsent.memory), (pages(&out.here.sent), pages(&out.here.unsent)));
            }
        }
    }
}
