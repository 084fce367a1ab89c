//! What a program has told its TCP, for those who watch the wire.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use kumiki_graph::Instant;

/// What the program has told its TCP, for those who watch the wire. The program writes, they read, all on one thread.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(super) handed: AtomicU64,
    said_ns: AtomicU64,
    pub(super) releasing: AtomicBool,
    pub(super) opened: AtomicBool,
    pub(super) over: AtomicBool,
    marks: Mutex<Marks>,
}

/// Places in the octets handed over, in their order.
#[derive(Debug, Default)]
struct Marks {
    /// A message ends in front of these.
    ends: Vec<u64>,
    /// These have a tag.
    tags: Vec<u64>,
}

/// Whether there is a mark within a range, and whether the only one is where it may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Marked {
    /// There is none.
    No,
    /// One, where it may be.
    Right,
    /// One where none may be.
    Within(u64),
}

impl Marked {
    /// Whether what came (`it`: with a mark) is what was written.
    pub(crate) const fn is(self, it: bool) -> bool {
        match self {
            Self::No => !it,
            Self::Right => it,
            Self::Within(_) => false,
        }
    }
}

/// The marks of `places` between `from` and before `to`, of which only one `at` may be.
fn marked(places: &[u64], (from, to): (u64, u64), at: u64) -> Marked {
    let first = places.partition_point(|it| *it < from);
    let found = places.get(first..).unwrap_or_default();
    let mut found = found.iter().take_while(|it| **it < to);
    match found.find(|it| **it != at) {
        Some(place) => Marked::Within(*place),
        None if places.binary_search(&at).is_ok() => Marked::Right,
        None => Marked::No,
    }
}

impl Facts {
    /// Octets handed over so far.
    pub(crate) fn handed(&self) -> u64 {
        self.handed.load(Ordering::Relaxed)
    }

    /// When the program last asked for something.
    pub(crate) fn said(&self) -> Instant {
        Instant::from_nanos(self.said_ns.load(Ordering::Relaxed))
    }

    /// A write begins at `from` and ends before `to`.
    pub(super) fn mark(&self, (from, tagged): (u64, bool), (to, ends): (u64, bool)) {
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        if tagged {
            marks.tags.push(from);
        }
        if ends {
            marks.ends.push(to);
        }
    }

    /// What of the octets between `from` and before `to` begins with a tag, and ends a message; both may only be at
    /// their beginning and end.
    pub(crate) fn marks(&self, from: u64, to: u64) -> (Marked, Marked) {
        let marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        (marked(&marks.tags, (from, to), from), marked(&marks.ends, (from + 1, to), to))
    }

    /// No more octets will be handed over: a FIN is to follow.
    pub(crate) fn releasing(&self) -> bool {
        self.releasing.load(Ordering::Relaxed)
    }

    /// The program knows the connection.
    pub(crate) fn opened(&self) -> bool {
        self.opened.load(Ordering::Relaxed)
    }

    /// The program is done with the connection, and TCP owes it nothing.
    pub(crate) fn over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// The program knows its connection and has handed over so many octets.
    #[cfg(test)]
    pub(crate) fn open(&self, now: Instant, handed: u64) {
        self.handed.store(handed, Ordering::Relaxed);
        self.opened.store(true, Ordering::Relaxed);
        self.said_at(now);
    }

    /// The program is done with its connection.
    #[cfg(test)]
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    pub(super) fn said_at(&self, now: Instant) {
        self.said_ns.store(now.as_nanos(), Ordering::Relaxed);
    }
}
