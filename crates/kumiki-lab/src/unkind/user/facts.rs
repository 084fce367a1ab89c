//! What a program has told its TCP, for those who watch the wire.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use kumiki_graph::Instant;

/// What the program has told its TCP, for those who watch the wire. The program writes, they read, all on one thread.
#[derive(Debug, Default)]
pub(in crate::unkind) struct Facts {
    pub(super) handed: AtomicU64,
    said_ns: AtomicU64,
    pub(super) releasing: AtomicBool,
    pub(super) opened: AtomicBool,
    pub(super) over: AtomicBool,
}

impl Facts {
    /// Octets handed over so far.
    pub(in crate::unkind) fn handed(&self) -> u64 {
        self.handed.load(Ordering::Relaxed)
    }

    /// When the program last asked for something.
    pub(in crate::unkind) fn said(&self) -> Instant {
        Instant::from_nanos(self.said_ns.load(Ordering::Relaxed))
    }

    /// No more octets will be handed over: a FIN is to follow.
    pub(in crate::unkind) fn releasing(&self) -> bool {
        self.releasing.load(Ordering::Relaxed)
    }

    /// The program knows the connection.
    pub(in crate::unkind) fn opened(&self) -> bool {
        self.opened.load(Ordering::Relaxed)
    }

    /// The program is done with the connection, and TCP owes it nothing.
    pub(in crate::unkind) fn over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// The program knows its connection and has handed over so many octets.
    #[cfg(test)]
    pub(in crate::unkind) fn open(&self, now: Instant, handed: u64) {
        self.handed.store(handed, Ordering::Relaxed);
        self.opened.store(true, Ordering::Relaxed);
        self.said_at(now);
    }

    pub(super) fn said_at(&self, now: Instant) {
        self.said_ns.store(now.as_nanos(), Ordering::Relaxed);
    }
}
