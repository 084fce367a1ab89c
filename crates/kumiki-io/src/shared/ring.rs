//! A ring of records, from one process to another.
//!
//! | | |
//! |---|---|
//! | Specification | the command and response rings of the host interface in paper 2, each with one sender and one receiver |
//! | A record | a header, words, octets; it is there as a whole or not at all |
//! | Positions | count the words since the ring was made, so they are sequence numbers, too; the low bits of its own stand in each header |
//! | Waiting | is left to whoever has the ring: each side says in the memory that it waits, and [`Sender::must_ring`] and [`Receiver::must_ring`] whether the other does |
//! | Left out | several senders, several receivers |
//!
//! Each side keeps its own position in memory of its own and only ever writes it to the shared memory; what it reads
//! there is the other's position, once, and it is checked against its own. So the worst that another process can do is
//! to send nonsense, or to break the ring, which ends with [`Broken`].

use core::fmt;
use std::sync::Arc;

#[cfg(not(loom))]
use core::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering, fence};

use kumiki_octets::Message;
#[cfg(not(loom))]
use kumiki_octets::Page;

/// The words of a record, at most.
pub const MOST_FIELDS: usize = 32;

/// The octets of a record, at most.
pub const MOST_OCTETS: usize = 256 * 1024;

/// Where these stand among the words that a ring has for its two sides, each in a line of a processor's cache.
const RECEIVED: usize = 0;
const SENT: usize = 8;
const SLEEPS: usize = 16;
const WAITS: usize = 24;

/// So many words a ring has beside those for records.
pub const CONTROL: usize = 32;

/// Shared memory, as words.
pub trait Memory {
    /// All of them; always the same.
    fn words(&self) -> &[AtomicU64];
}

impl Memory for Box<[AtomicU64]> {
    fn words(&self) -> &[AtomicU64] {
        self
    }
}

/// The other side has written what cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the ring is broken: {0}")]
pub struct Broken(pub &'static str);

/// What goes through a ring.
#[derive(Debug)]
pub struct Record<'a> {
    /// What it is, to those who use the ring.
    pub kind: u8,
    /// Its words, [`MOST_FIELDS`] at most.
    pub fields: &'a [u64],
    /// Its octets, [`MOST_OCTETS`] at most.
    pub data: Option<&'a Message>,
}

/// A record that has come.
#[derive(Debug)]
pub struct Received {
    /// What it is.
    pub kind: u8,
    fields: [u64; MOST_FIELDS],
    len: u8,
    /// Its octets.
    pub data: Message,
}

impl Received {
    /// Its words.
    #[must_use]
    pub fn fields(&self) -> &[u64] {
        self.fields.get(..usize::from(self.len)).unwrap_or_default()
    }
}

/// A part of shared memory in which one ring is: [`CONTROL`] words, and behind them those for records.
struct RingRegion<M> {
    memory: Arc<M>,
    control: usize,
    /// A power of two.
    capacity: usize,
}

impl<M: Memory> RingRegion<M> {
    /// # Panics
    /// Where there is no such part of the memory, or the words for records are not a power of two: who makes a ring has
    /// the memory.
    fn new(memory: Arc<M>, control: usize, capacity: usize) -> Self {
        assert!(
            capacity.is_power_of_two() && control + CONTROL + capacity <= memory.words().len(),
            "no room for the ring"
        );
        Self { memory, control, capacity }
    }

    #[expect(clippy::indexing_slicing, reason = "that it is there was checked when the ring was made")]
    fn control(&self, which: usize) -> &AtomicU64 {
        &self.memory.words()[self.control + which]
    }

    #[expect(clippy::indexing_slicing, reason = "that it is there was checked when the ring was made")]
    fn slots(&self) -> &[AtomicU64] {
        &self.memory.words()[self.control + CONTROL..][..self.capacity]
    }

    /// The place of a position.
    const fn slot(&self, position: u64) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "the low bits are what is wanted")]
        let low = position as usize;
        low & (self.capacity - 1)
    }

    #[expect(clippy::indexing_slicing, reason = "a slot is less than the capacity")]
    fn at(&self, position: u64) -> &AtomicU64 {
        &self.slots()[self.slot(position)]
    }

    /// The words from a position on, `n` of them, which is no more than the capacity: up to the end of the memory, and
    /// from its beginning on.
    #[cfg(not(loom))]
    fn span(&self, position: u64, n: usize) -> (&[AtomicU64], &[AtomicU64]) {
        let (front, back) = self.slots().split_at(self.slot(position));
        let first = back.len().min(n);
        let rest = (n - first).min(front.len());
        (back.get(..first).unwrap_or_default(), front.get(..rest).unwrap_or_default())
    }
}

impl<M> fmt::Debug for RingRegion<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RingRegion")
            .field("control", &self.control)
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

/// The word with which a record begins at `position`.
const fn header(kind: u8, fields: u8, octets: u32, position: u64) -> u64 {
    (octets as u64) << 32 | (position & 0xffff) << 16 | (fields as u64) << 8 | kind as u64
}

/// The words of a record.
const fn words(fields: usize, octets: usize) -> usize {
    1 + fields + octets.div_ceil(8)
}

/// Who sends.
#[derive(Debug)]
pub struct Sender<M> {
    place: RingRegion<M>,
    /// Where the next record begins.
    sent: u64,
    /// What was last seen of how far the receiver has come.
    received: u64,
}

impl<M: Memory> Sender<M> {
    /// At a ring that is new, of `capacity` words, whose part of the memory begins at the word `control`.
    ///
    /// # Panics
    /// Where there is no such part, or the capacity is no power of two.
    #[must_use]
    pub fn new(memory: Arc<M>, control: usize, capacity: usize) -> Self {
        Self { place: RingRegion::new(memory, control, capacity), sent: 0, received: 0 }
    }

    /// How many words have room.
    fn room(&mut self, wanted: usize) -> Result<usize, Broken> {
        let room =
            |sent: u64, received: u64| self.place.capacity - usize::try_from(sent - received).unwrap_or(usize::MAX);
        let known = room(self.sent, self.received);
        if known >= wanted {
            return Ok(known);
        }
        // Acquire: what the receiver has read of these words it has read before.
        let received = self.place.control(RECEIVED).load(Ordering::Acquire);
        // Not back, and not beyond what was sent.
        if received.wrapping_sub(self.received) > self.sent - self.received {
            return Err(Broken("the receiver says that it has come where it cannot be"));
        }
        self.received = received;
        Ok(room(self.sent, received))
    }

    /// Puts a record into the ring; false where there is no room for it.
    ///
    /// # Errors
    /// Where the other side has broken the ring.
    ///
    /// # Panics
    /// Where the record is too long for any ring.
    pub fn send(&mut self, record: &Record<'_>) -> Result<bool, Broken> {
        let octets = record.data.map_or(0, Message::len);
        assert!(record.fields.len() <= MOST_FIELDS && octets <= MOST_OCTETS, "a record that is too long");
        let len = words(record.fields.len(), octets);
        assert!(len <= self.place.capacity, "a record longer than the ring");
        if self.room(len)? < len {
            return Ok(false);
        }
        #[expect(clippy::cast_possible_truncation, reason = "both have been looked at")]
        let first = header(record.kind, record.fields.len() as u8, octets as u32, self.sent);
        let mut at = self.sent;
        for word in core::iter::once(first).chain(record.fields.iter().copied()) {
            self.place.at(at).store(word, Ordering::Relaxed);
            at += 1;
        }
        #[cfg(not(loom))]
        if let Some(data) = record.data {
            self.put(at, data);
        }
        self.sent += len as u64;
        // Release: who sees it sees the words.
        self.place.control(SENT).store(self.sent, Ordering::Release);
        Ok(true)
    }

    #[cfg(not(loom))]
    fn put(&self, mut at: u64, data: &Message) {
        let (mut partial, mut filled) = ([0; 8], 0);
        data.for_each(|mut octets| {
            if filled > 0 {
                let n = octets.len().min(8 - filled);
                let (now, later) = octets.split_at(n);
                partial.iter_mut().skip(filled).zip(now).for_each(|(to, from)| *to = *from);
                (octets, filled) = (later, filled + n);
                if filled < 8 {
                    return;
                }
                self.place.at(at).store(u64::from_ne_bytes(partial), Ordering::Relaxed);
                (at, filled) = (at + 1, 0);
            }
            let (whole, rest) = octets.as_chunks::<8>();
            let (front, back) = self.place.span(at, whole.len());
            let (first, second) = whole.split_at(front.len());
            // As where it is taken out: two loops, each over what lies in one piece.
            for (slots, words) in [(front, first), (back, second)] {
                slots
                    .iter()
                    .zip(words)
                    .for_each(|(slot, word)| slot.store(u64::from_ne_bytes(*word), Ordering::Relaxed));
            }
            at += whole.len() as u64;
            partial.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            filled = rest.len();
        });
        if filled > 0 {
            self.place.at(at).store(u64::from_ne_bytes(partial), Ordering::Relaxed);
        }
    }

    /// Whether the receiver is to be woken: it has said that it waits, and does not know of what was sent since.
    #[must_use]
    pub fn must_ring(&self) -> bool {
        // Between this and the receiver's both are in one order: it sees what was sent, or we see that it waits.
        fence(Ordering::SeqCst);
        let sleeps = self.place.control(SLEEPS);
        sleeps.load(Ordering::Relaxed) != 0 && sleeps.swap(0, Ordering::Relaxed) != 0
    }

    /// Says that it waits for room for a record of so many words and octets. True: there is room by now.
    ///
    /// # Errors
    /// Where the other side has broken the ring.
    pub fn wait(&mut self, record: &Record<'_>) -> Result<bool, Broken> {
        let len = words(record.fields.len(), record.data.map_or(0, Message::len));
        self.place.control(WAITS).store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        Ok(self.room(len)? >= len)
    }
}

/// Who receives.
#[derive(Debug)]
pub struct Receiver<M> {
    place: RingRegion<M>,
    /// Where the next record begins.
    received: u64,
    /// What was last seen of how far the sender has come.
    sent: u64,
}

impl<M: Memory> Receiver<M> {
    /// At a ring that is new: as [`Sender::new`].
    ///
    /// # Panics
    /// As there.
    #[must_use]
    pub fn new(memory: Arc<M>, control: usize, capacity: usize) -> Self {
        Self { place: RingRegion::new(memory, control, capacity), received: 0, sent: 0 }
    }

    /// Whether there is something.
    fn is_there(&mut self) -> Result<bool, Broken> {
        if self.sent == self.received {
            // Acquire: what was sent is there.
            let sent = self.place.control(SENT).load(Ordering::Acquire);
            if sent.wrapping_sub(self.received) > self.place.capacity as u64 {
                return Err(Broken("the sender says that it has come where it cannot be"));
            }
            self.sent = sent;
        }
        Ok(self.sent != self.received)
    }

    /// Takes the next record out of the ring.
    ///
    /// # Errors
    /// Where the other side has broken the ring.
    pub fn receive(&mut self) -> Result<Option<Received>, Broken> {
        if !self.is_there()? {
            return Ok(None);
        }
        // Read once: from here on it is ours, whatever becomes of it there.
        let first = self.place.at(self.received).load(Ordering::Relaxed);
        let [octets @ .., high, low, fields, kind] = first.to_be_bytes();
        if u16::from_be_bytes([high, low]) != (self.received & 0xffff) as u16 {
            return Err(Broken("a record with the number of another"));
        }
        let octets = u32::from_be_bytes(octets) as usize;
        let count = usize::from(fields);
        let len = words(count, octets);
        if count > MOST_FIELDS || octets > MOST_OCTETS || len as u64 > self.sent - self.received {
            return Err(Broken("a record that is longer than what was sent"));
        }
        let mut own = [0; MOST_FIELDS];
        for (position, field) in (self.received + 1..).zip(own.iter_mut().take(count)) {
            *field = self.place.at(position).load(Ordering::Relaxed);
        }
        let data = self.take(self.received + 1 + count as u64, octets);
        self.received += len as u64;
        // Release: it was read before its room is given back.
        self.place.control(RECEIVED).store(self.received, Ordering::Release);
        Ok(Some(Received { kind, fields: own, len: fields, data }))
    }

    #[cfg(loom)]
    fn take(&self, _: u64, _: usize) -> Message {
        Message::new()
    }

    #[cfg(not(loom))]
    fn take(&self, at: u64, octets: usize) -> Message {
        if octets == 0 {
            return Message::new();
        }
        let (front, back) = self.place.span(at, octets.div_ceil(8));
        Message::from_page(Page::build(octets, |own| {
            let (whole, rest) = own.as_chunks_mut::<8>();
            let mut slots = front.iter().chain(back);
            // Two loops over what lies in one piece each: one over both at once looks at every word which of them it is
            // in.
            let (first, second) = whole.split_at_mut(whole.len().min(front.len()));
            for (pieces, slots) in [(first, front), (second, back)] {
                for (own, slot) in pieces.iter_mut().zip(slots) {
                    *own = slot.load(Ordering::Relaxed).to_ne_bytes();
                }
            }
            if let Some(last) = slots.nth(octets / 8)
                && !rest.is_empty()
            {
                rest.iter_mut().zip(last.load(Ordering::Relaxed).to_ne_bytes()).for_each(|(own, octet)| *own = octet);
            }
        }))
    }

    /// Says that it waits for records. False: there is one by now, and it does not.
    ///
    /// # Errors
    /// Where the other side has broken the ring.
    pub fn sleep(&mut self) -> Result<bool, Broken> {
        let sleeps = self.place.control(SLEEPS);
        sleeps.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let is_there = self.is_there()?;
        if is_there {
            self.place.control(SLEEPS).store(0, Ordering::Relaxed);
        }
        Ok(!is_there)
    }

    /// Whether the sender is to be woken: it has said that it waits for room.
    #[must_use]
    pub fn must_ring(&self) -> bool {
        fence(Ordering::SeqCst);
        let waits = self.place.control(WAITS);
        waits.load(Ordering::Relaxed) != 0 && waits.swap(0, Ordering::Relaxed) != 0
    }
}

#[cfg(all(test, loom))]
mod models;

#[cfg(all(test, not(loom)))]
mod tests;
