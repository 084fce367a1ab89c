//! Messages: paper 2's cluster. Headers in one small buffer, content elsewhere.
//!
//! Going down, each layer writes its header in front of the one above it ([`Message::push`]); the small buffer grows
//! downward and no content octet moves. Going up, each layer looks at the front ([`Message::front`]) and takes its
//! header off ([`Message::pop`]). Content is a list of [`Slice`]s: splitting, joining and sending again share pages.
//!
//! A message also carries what a network card would be told of it ([`Meta`]): how to cut it, and what is known of its
//! checksum.

mod free;
mod sums;

use core::fmt;
use core::mem::ManuallyDrop;

use smallvec::SmallVec;

pub use free::FreeMessages;

use crate::slice::{INLINE, TOGETHER};
use crate::{Beginning, Lease, Page, Pattern, Short, Slice, Sum};

/// Room for the longest TCP header, the longest IPv4 header and LLC/SNAP; deeper stacks spill into a page.
const HEADROOM: usize = 128;

/// A message may have so many pieces, however small ([`Message::condense`]).
const FEW: usize = 64;
/// Of more pieces than that, so many octets on average.
const SMALL: usize = 256;
/// Content that is kept may hold on to so much beyond twice its octets ([`Message::fit`]).
const SLACK: usize = 256;

/// What is known of the transport checksum of a message, as a network card and a stack tell each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Checksum {
    /// Nothing: whoever needs it must read the octets.
    #[default]
    Unknown,
    /// The field holds the pseudo-header's sum; the device completes it over the octets from `start` on, counted from
    /// the front of the message, and stores it `field` octets after `start`. Received so, it comes from a host of this
    /// machine: there is nothing to verify, and who passes it on to a line completes it.
    Partial {
        /// First octet covered.
        start: u16,
        /// Where the field stands, from `start`.
        field: u16,
    },
    /// Receiving: a device summed the octets on the fly; this is the sum of all that is in the message. It is kept as
    /// octets are taken off, and given up where octets that the device has not seen are put to the message.
    Sum(Sum),
    /// Receiving: the device has checked it.
    Verified,
}

/// What a device is told about a message beside its octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Meta {
    /// Cut the content into pieces of this many octets at the edge; 0 where the message is a single PDU.
    pub segment_size: u16,
    /// How many octets at the front are headers to repeat in front of each piece; 0 where the message is a single PDU.
    pub header_len: u16,
    /// TCP's flags AE, CWR and ECE are one counter (RFC 9768), which every piece repeats. Otherwise CWR belongs to the
    /// first piece only (RFC 3168).
    pub ace: bool,
    /// What is known of the transport checksum.
    pub checksum: Checksum,
}

/// In this order and from the beginning of a cache line: the end of the headers and what follows it are all that
/// somebody looks at who only forwards.
#[repr(C, align(64))]
struct Inner {
    head: [u8; HEADROOM],
    /// Where the headers begin in `head`; they end where it ends.
    start: usize,
    body_len: usize,
    meta: Meta,
    /// Some slice may carry a lease.
    leased: bool,
    /// Some slice may know its sum.
    summed: bool,
    body: SmallVec<[Slice; 3]>,
}

/// A PDU or a stretch of a stream: headers, content, and what is known of it.
///
/// A clone shares the content and copies the headers.
pub struct Message(ManuallyDrop<Box<Inner>>);

impl Drop for Message {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "a value can be moved out of what is being dropped in no other way")]
        // SAFETY: this is the only place that takes it, and nothing looks at `self` after it.
        let mut inner = unsafe { ManuallyDrop::take(&mut self.0) };
        // Before the stack is borrowed: what goes with the last slice of a lease is not known here.
        inner.body.clear();
        free::keep(inner);
    }
}

impl Clone for Message {
    fn clone(&self) -> Self {
        let mut copy = Self::new();
        let inner = &mut *copy.0;
        inner.start = self.0.start;
        if let (Some(to), Some(from)) = (inner.head.get_mut(self.0.start..), self.0.head.get(self.0.start..)) {
            to.copy_from_slice(from);
        }
        inner.body.extend(self.0.body.iter().cloned());
        inner.body_len = self.0.body_len;
        inner.meta = self.0.meta;
        (inner.leased, inner.summed) = (self.0.leased, self.0.summed);
        copy
    }
}

impl Default for Message {
    fn default() -> Self {
        Self::new()
    }
}

impl Message {
    /// A message of no octets.
    #[must_use]
    pub fn new() -> Self {
        let inner = match free::again() {
            Some(mut inner) => {
                // The octets of the head are written before they are shown.
                (inner.start, inner.body_len, inner.meta) = (HEADROOM, 0, Meta::default());
                (inner.leased, inner.summed) = (false, false);
                inner
            }
            None => Box::new(Inner {
                head: [0; HEADROOM],
                start: HEADROOM,
                body_len: 0,
                meta: Meta::default(),
                leased: false,
                summed: false,
                body: SmallVec::new(),
            }),
        };
        Self(ManuallyDrop::new(inner))
    }

    /// A copy of `octets`.
    #[must_use]
    pub fn from_octets(octets: &[u8]) -> Self {
        let mut message = Self::new();
        message.append_octets(octets);
        message
    }

    /// The octets of `vector`, not copied where they are more than a few: they take no more memory than that, where a
    /// copy takes a page that is recycled.
    #[must_use]
    pub fn owning(vector: Vec<u8>) -> Self {
        let mut message = Self::new();
        message.append_slice(Slice::owning(vector));
        message
    }

    /// The octets of `page`, not copied.
    #[must_use]
    pub fn from_page(page: Page) -> Self {
        let mut message = Self::new();
        message.append_slice(Slice::of_page(page));
        message
    }

    /// `len` octets of `pattern` from stream position `offset` on, which nobody has written anywhere yet.
    #[must_use]
    pub fn generated(pattern: Pattern, offset: u64, len: usize) -> Self {
        let mut message = Self::new();
        message.append_slice(Slice::of_pattern(pattern, offset, len));
        message
    }

    /// Headers and content together, in octets.
    #[must_use]
    pub fn len(&self) -> usize {
        HEADROOM - self.0.start + self.0.body_len
    }

    /// Whether there are no octets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What a device is told of this message.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.0.meta
    }

    /// As [`Message::meta`], to change it.
    pub fn meta_mut(&mut self) -> &mut Meta {
        &mut self.0.meta
    }

    /// The content, without what stands in the header buffer.
    #[must_use]
    pub fn slices(&self) -> &[Slice] {
        &self.0.body
    }

    /// Takes the content off, without what stands in the header buffer; [`Meta`] is dropped.
    pub fn take_slices(&mut self) -> impl Iterator<Item = Slice> + '_ {
        let inner = &mut *self.0;
        inner.meta = Meta::default();
        inner.body_len = 0;
        (inner.leased, inner.summed) = (false, false);
        inner.body.drain(..)
    }

    fn head(&self) -> &[u8] {
        self.0.head.get(self.0.start..).unwrap_or_default()
    }

    /// Makes room for a header of `n` octets (at most 128) in front, zeroed, and returns it to be written.
    pub fn push(&mut self, n: usize) -> &mut [u8] {
        let room = self.push_room(n.min(HEADROOM));
        room.fill(0);
        room
    }

    /// Makes room for `n` octets, at most [`HEADROOM`], in front; what stands there is left from earlier.
    #[inline]
    fn push_room(&mut self, n: usize) -> &mut [u8] {
        self.outgrow_sum(n);
        if n > self.0.start {
            self.spill();
        }
        let inner = &mut *self.0;
        let end = inner.start;
        inner.start = end.saturating_sub(n);
        inner.head.get_mut(inner.start..end).unwrap_or_default()
    }

    /// As [`Message::push`], for a header that is known: `octets` stand in front, and can be changed there.
    #[inline]
    pub fn push_octets(&mut self, octets: &[u8]) -> &mut [u8] {
        let octets = octets.get(..octets.len().min(HEADROOM)).unwrap_or_default();
        let room = self.push_room(octets.len());
        room.copy_from_slice(octets);
        room
    }

    /// As [`Message::push`], for a layer below the one that filled in [`Meta`]: what is counted from the front there
    /// moves along.
    pub fn push_header(&mut self, n: usize) -> &mut [u8] {
        self.0.meta.move_back(n);
        self.push(n)
    }

    /// As [`Message::push_header`], for a header that is known.
    #[inline]
    pub fn push_header_octets(&mut self, octets: &[u8]) {
        self.0.meta.move_back(octets.len());
        self.push_octets(octets);
    }

    /// As [`Message::pop`], for a layer below the one that reads [`Meta`]: what is counted from the front there moves
    /// along.
    ///
    /// # Errors
    /// [`Short`] where the message has fewer; it is left as it was.
    pub fn pop_header(&mut self, n: usize) -> Result<(), Short> {
        self.pop(n)?;
        let meta = &mut self.0.meta;
        let by = u16::try_from(n).unwrap_or(u16::MAX);
        meta.header_len = meta.header_len.saturating_sub(by);
        if let Checksum::Partial { start, .. } = &mut meta.checksum {
            *start = start.saturating_sub(by);
        }
        Ok(())
    }

    /// Moves what stands in the header buffer into a page in front of the content.
    fn spill(&mut self) {
        if self.head().is_empty() {
            return;
        }
        let slice = Slice::of_octets(self.head());
        self.0.summed = true;
        self.0.body_len += slice.len();
        self.0.body.insert(0, slice);
        self.0.start = HEADROOM;
    }

    /// The first `n` octets in one piece; they are gathered into the header buffer where they are not.
    ///
    /// # Errors
    /// [`Short`] where the message has fewer.
    #[inline]
    pub fn front(&mut self, n: usize) -> Result<&[u8], Short> {
        if n > HEADROOM - self.0.start {
            self.gather_front(n)?;
        }
        Ok(self.first_piece().get(..n).unwrap_or_default())
    }

    /// Sees to it that the first `n` octets, which are not all in the header buffer, lie in one piece.
    fn gather_front(&mut self, n: usize) -> Result<(), Short> {
        if n > self.len() {
            return Err(Short { need: n, have: self.len() });
        }
        if self.first_piece().len() < n {
            self.pull(n);
        }
        Ok(())
    }

    /// As [`Message::front`], but as much as lies in one piece, and at least `n` or all there is.
    pub fn front_at_least(&mut self, n: usize) -> &[u8] {
        if n > HEADROOM - self.0.start {
            // There are as many as are asked for.
            let _ = self.gather_front(n.min(self.len()));
        }
        self.first_piece()
    }

    /// As [`Message::front`] for at most 128 octets, to write to: others who share the content do not see it. What a
    /// device has summed is no longer known then.
    ///
    /// # Errors
    /// [`Short`] where the message has fewer.
    pub fn front_mut(&mut self, n: usize) -> Result<&mut [u8], Short> {
        if n > self.len() {
            return Err(Short { need: n, have: self.len() });
        }
        if self.head().len() < n {
            self.pull(n);
        }
        self.outgrow_sum(n);
        let inner = &mut *self.0;
        let end = inner.start.saturating_add(n);
        Ok(inner.head.get_mut(inner.start..end).unwrap_or_default())
    }

    /// As much of the front as lies in one piece; nothing where that is not octets but a pattern.
    #[must_use]
    pub fn first_piece(&self) -> &[u8] {
        match self.head() {
            [] => self.0.body.first().and_then(Slice::octets).unwrap_or_default(),
            head => head,
        }
    }

    /// Gathers the first `n` octets, which the message has, in one piece.
    fn pull(&mut self, n: usize) {
        // Nothing leaves the message, so what is known of it stays true.
        let meta = core::mem::take(&mut self.0.meta);
        self.gather(n);
        self.0.meta = meta;
    }

    fn gather(&mut self, n: usize) {
        if n > HEADROOM {
            let page = Page::build(n, |room| {
                let _ = self.copy_to(0, room);
            });
            let _ = self.pop(n);
            self.spill();
            self.0.summed = true;
            self.0.body_len += page.len();
            self.0.body.insert(0, Slice::of_page(page));
            return;
        }
        let mut gathered = [0; HEADROOM];
        let Some(room) = gathered.get_mut(HEADROOM - n..) else {
            return;
        };
        if self.copy_to(0, room) {
            let _ = self.pop(n);
            self.0.head = gathered;
            self.0.start = HEADROOM - n;
        }
    }

    /// Takes the first `n` octets off.
    ///
    /// # Errors
    /// [`Short`] where the message has fewer; it is left as it was.
    pub fn pop(&mut self, n: usize) -> Result<(), Short> {
        if n > self.len() {
            return Err(Short { need: n, have: self.len() });
        }
        self.pop_checksum(n);
        let from_head = n.min(self.head().len());
        self.0.start += from_head;
        self.pop_body(n - from_head);
        Ok(())
    }

    fn pop_body(&mut self, n: usize) {
        if n == 0 {
            return;
        }
        let inner = &mut *self.0;
        if let Some(first) = inner.body.first_mut()
            && n < first.len()
        {
            first.skip(n);
            inner.body_len -= n;
            return;
        }
        let mut left = n;
        let mut whole = 0;
        for slice in &mut inner.body {
            if left < slice.len() {
                slice.skip(left);
                break;
            }
            left -= slice.len();
            whole += 1;
        }
        inner.body.drain(..whole);
        inner.body_len -= n;
    }

    /// Keeps the first `len` octets.
    pub fn truncate(&mut self, len: usize) {
        if len >= self.len() {
            return;
        }
        self.truncate_checksum(len);
        let meta = self.0.meta;
        *self = self.cut(len);
        self.0.meta = meta;
    }

    /// Cuts off and returns the first `n` octets.
    ///
    /// Both parts come without [`Meta`]: it described the whole.
    ///
    /// # Errors
    /// [`Short`] where the message has fewer; it is left as it was.
    pub fn split_to(&mut self, n: usize) -> Result<Self, Short> {
        if n > self.len() {
            return Err(Short { need: n, have: self.len() });
        }
        self.0.meta = Meta::default();
        Ok(self.cut(n))
    }

    fn cut(&mut self, n: usize) -> Self {
        let mut front = Self::new();
        let from_head = n.min(self.head().len());
        if from_head > 0 {
            front.push(from_head).copy_from_slice(self.head().get(..from_head).unwrap_or_default());
            self.0.start += from_head;
        }
        let mut left = n - from_head;
        let inner = &mut *self.0;
        inner.body_len -= left;
        (front.0.leased, front.0.summed) = (inner.leased, inner.summed);
        // Mostly a packet is cut off a longer slice.
        if let Some(first) = inner.body.first_mut()
            && 0 < left
            && left < first.len()
        {
            front.0.body_len = left;
            let body = &mut front.0.body;
            body.push(Slice::EMPTY);
            if let Some(place) = body.last_mut() {
                first.split_into(left, place);
            }
            return front;
        }
        let mut whole = 0;
        for slice in &mut inner.body {
            if left < slice.len() {
                if left > 0 {
                    front.0.body_len += left;
                    front.0.body.push(slice.split_to(left));
                }
                break;
            }
            left -= slice.len();
            whole += 1;
            front.append_slice(core::mem::replace(slice, Slice::EMPTY));
        }
        inner.body.drain(..whole);
        front
    }

    /// Copies `len` octets from position `from` on into a message of its own that shares the content.
    ///
    /// # Errors
    /// [`Short`] where the message has not that many.
    pub fn share(&self, from: usize, len: usize) -> Result<Self, Short> {
        let end = from.saturating_add(len);
        if end > self.len() {
            return Err(Short { need: end, have: self.len() });
        }
        let head = self.head();
        let mut out = Self::new();
        let (head_from, head_to) = (from.min(head.len()), end.min(head.len()));
        if head_to > head_from {
            out.push(head_to - head_from).copy_from_slice(head.get(head_from..head_to).unwrap_or_default());
        }
        let (mut skip, mut left) = (from.saturating_sub(head.len()), len - (head_to - head_from));
        for slice in &self.0.body {
            if left == 0 {
                break;
            }
            if skip >= slice.len() {
                skip -= slice.len();
                continue;
            }
            let mut part = slice.clone();
            if skip > 0 {
                part.skip(skip);
                skip = 0;
            }
            if left < part.len() {
                part = part.split_to(left);
            }
            left -= part.len();
            out.append_slice(part);
        }
        Ok(out)
    }

    /// Adds `slice` at the end.
    pub fn append_slice(&mut self, mut slice: Slice) {
        if slice.is_empty() {
            return;
        }
        self.outgrow_sum(slice.len());
        let inner = &mut *self.0;
        inner.body_len += slice.len();
        inner.leased |= slice.is_leased();
        inner.summed = true;
        // By reference: a slice is large enough for its moves to be seen in a profile.
        let last = inner.body.last_mut();
        if !last.is_some_and(|last| last.join(&mut slice)) {
            inner.body.push(slice);
        }
    }

    /// Adds a copy of `octets` at the end.
    pub fn append_octets(&mut self, octets: &[u8]) {
        self.append_slice(Slice::of_octets(octets));
    }

    /// Adds all of `next` at the end; its [`Meta`] is dropped.
    pub fn append(&mut self, mut next: Self) {
        next.spill();
        self.outgrow_sum(next.len());
        let inner = &mut *self.0;
        inner.body_len += next.0.body_len;
        inner.leased |= next.0.leased;
        inner.summed |= next.0.summed;
        // A stream comes in pieces that continue each other.
        if let [only] = next.0.body.as_mut_slice()
            && inner.body.last_mut().is_some_and(|last| last.join(only))
        {
            return;
        }
        for mut slice in next.0.body.drain(..) {
            let last = inner.body.last_mut();
            if !last.is_some_and(|last| last.join(&mut slice)) {
                inner.body.push(slice);
            }
        }
    }

    /// Adds what follows the first `n` octets of `next` at the end, as [`Message::pop`] and then [`Message::append`]
    /// do.
    ///
    /// # Errors
    /// [`Short`] where `next` has fewer; nothing is added.
    #[inline]
    pub fn append_behind(&mut self, mut next: Self, n: usize) -> Result<(), Short> {
        if n == next.head().len() {
            // Headers that lie where headers do: they are left behind.
            next.0.start = HEADROOM;
        } else {
            next.pop(n)?;
        }
        self.append(next);
        Ok(())
    }

    /// All octets in order, in the pieces in which they lie in memory; `None` for a piece that is generated and lies
    /// nowhere.
    pub fn pieces(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let head = Some(self.head()).filter(|head| !head.is_empty());
        let slices = self.0.body.iter().map(Slice::octets);
        head.into_iter().map(Some).chain(slices)
    }

    /// Shows every octet to `see`, in order, in pieces.
    pub fn for_each(&self, mut see: impl FnMut(&[u8])) {
        if !self.head().is_empty() {
            see(self.head());
        }
        for slice in &self.0.body {
            slice.for_each(&mut see);
        }
    }

    /// As [`Message::for_each`] for `len` octets from position `from` on; fewer where there are fewer.
    pub fn for_each_in(&self, from: usize, len: usize, see: impl FnMut(&[u8])) {
        if let Ok(part) = self.share(from, len.min(self.len().saturating_sub(from))) {
            part.for_each(see);
        }
    }

    /// A copy of the first octets, [`Beginning::MOST`] at most, and how many there are: to show somebody what has come.
    #[must_use]
    pub fn beginning(&self) -> Beginning {
        self.beginning_up_to(Beginning::MOST)
    }

    /// As [`Message::beginning`], of no more than the first `most` octets: what follows is not to be shown, and nobody
    /// has to fetch it from memory.
    #[must_use]
    pub fn beginning_up_to(&self, most: usize) -> Beginning {
        let mut octets = [0; Beginning::MOST];
        let most = self.len().min(octets.len()).min(most);
        let (octets, _) = octets.split_at_mut(most);
        let _ = self.copy_to(0, octets);
        Beginning::of(octets, self.len())
    }

    /// Copies `out.len()` octets from position `from` on; false where there are not that many.
    #[must_use]
    pub fn copy_to(&self, from: usize, out: &mut [u8]) -> bool {
        if from.saturating_add(out.len()) > self.len() {
            return false;
        }
        let head = self.head();
        let take = out.len().min(head.len().saturating_sub(from));
        let (head_out, mut rest) = out.split_at_mut(take);
        if take > 0 {
            head_out.copy_from_slice(head.get(from..from + take).unwrap_or_default());
        }
        let mut skip = from.saturating_sub(head.len());
        for slice in &self.0.body {
            if rest.is_empty() {
                break;
            }
            if skip >= slice.len() {
                skip -= slice.len();
                continue;
            }
            let n = rest.len().min(slice.len() - skip);
            let (part, after) = rest.split_at_mut(n);
            if !slice.copy_to(skip, part) {
                return false;
            }
            (rest, skip) = (after, 0);
        }
        true
    }

    /// All octets in one piece.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.len());
        self.for_each(|octets| all.extend_from_slice(octets));
        all
    }

    /// Copies the content into one piece where it is in pieces so many and small that they take much more memory than
    /// its octets. Gives how many octets were copied.
    ///
    /// It is for what has a small bound, as all octets are copied again each time; [`Gathering`](crate::Gathering) is
    /// for what is longer.
    pub fn condense(&mut self) -> usize {
        let (pieces, octets) = (self.0.body.len(), self.len());
        if pieces < FEW || pieces.saturating_mul(SMALL) < octets {
            return 0;
        }
        *self = Self::from_octets(&self.to_vec());
        octets
    }

    /// Takes in `next` by a copy of both in one page of the least size, where they have room in it and lie in memory
    /// that is let go by it: see [`Slice::absorb`]. [`Meta`] is dropped then.
    ///
    /// # Errors
    /// `next`, where not.
    pub fn absorb(&mut self, next: Self) -> Result<(), Self> {
        let (first, len) = (self.len(), self.len() + next.len());
        let is_plain = |message: &Self| {
            let mut slices = message.slices().iter();
            !message.is_leased() && slices.all(|slice| slice.pattern().is_none())
        };
        if len > TOGETHER || !is_plain(self) || !is_plain(&next) {
            return Err(next);
        }
        let mut all = true;
        let page = Page::build(len, |octets| {
            let (front, back) = octets.split_at_mut(first);
            all = self.copy_to(0, front) && next.copy_to(0, back);
        });
        if !all {
            return Err(next);
        }
        *self = Self::from_page(page);
        Ok(())
    }

    /// Octets of memory that the content holds on to, beside the message's own: of a page all of it, however little of
    /// it is here.
    #[must_use]
    pub fn held(&self) -> usize {
        let slices = &self.0.body;
        let before = [None].into_iter().chain(slices.iter().map(Some));
        let each = slices.iter().zip(before).map(|(slice, before)| {
            let shares = before.is_some_and(|before| before.shares_page(slice));
            size_of::<Slice>() + if shares { 0 } else { slice.held() }
        });
        each.sum()
    }

    /// For content that is to be kept: copies it into memory of its own where it holds on to more than twice its
    /// octets, as a little that came in a large page does. Gives how many octets were copied.
    ///
    /// A lease is for the content that came, and bounds it: such content stays where it is.
    pub fn fit(&mut self) -> usize {
        let octets = self.len();
        if self.is_leased() || self.held() <= octets.saturating_mul(2).saturating_add(SLACK) {
            return 0;
        }
        let meta = *self.meta();
        *self = match octets {
            0..=INLINE => Self::from_octets(&self.to_vec()),
            _ => Self::from_page(Page::owning(self.to_vec())),
        };
        *self.meta_mut() = meta;
        octets
    }

    /// Ties `lease` to all content; `None` lets go of the leases there are, as when a message leaves its host.
    pub fn set_lease(&mut self, lease: Option<&Lease>) {
        if core::mem::replace(&mut self.0.leased, lease.is_some()) || lease.is_some() {
            for slice in &mut self.0.body {
                slice.set_lease(lease.cloned());
            }
        }
    }

    /// Whether a lease may be tied to some of the content.
    #[must_use]
    pub fn is_leased(&self) -> bool {
        self.0.leased
    }

    /// Turns over bit `bit` (0 is the first sent: the most significant of the first octet), as a bad line does.
    ///
    /// Only this message sees it: pages are shared, so the octet is copied out first. False where there is no such bit.
    pub fn flip_bit(&mut self, bit: usize) -> bool {
        let (at, mask) = (bit / 8, 0x80 >> (bit % 8));
        let mut octet = [0];
        if !self.copy_to(at, &mut octet) {
            return false;
        }
        let meta = core::mem::take(&mut self.0.meta);
        let [value] = octet;
        let mut changed = self.cut(at);
        let _ = self.pop(1);
        changed.append_octets(&[value ^ mask]);
        changed.append(core::mem::take(self));
        changed.0.meta = Meta { checksum: Checksum::Unknown, ..meta };
        *self = changed;
        true
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Message({:02x?} {:?})", self.head(), self.0.body)
    }
}

impl PartialEq for Message {
    /// Whether the octets are the same; where they come from does not matter.
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.to_vec() == other.to_vec()
    }
}

impl Eq for Message {}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
