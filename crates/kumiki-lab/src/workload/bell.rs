//! What programs say when a transfer of theirs begins or is over, for who looks at the run at that very moment.
//!
//! | | |
//! |---|---|
//! | Specification | none |
//! | Caller | the programs of transfers; who lets the world run asks after each event whether one has rung |
//! | Left out | what the transfer did: the program and its connection say that |

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use kumiki_graph::{Address, Instant};

/// What has happened to a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransferEvent {
    /// It is open since that instant.
    Opened {
        /// By the clock of the world.
        at: Instant,
        /// The address of who called; none of an association.
        local: Address,
        /// The address of who was called; none of an association.
        remote: Address,
    },
    /// It is over.
    Over {
        /// The address of who had called; none of an association.
        caller: Address,
    },
}

/// Who rings.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ringer {
    /// Of which load.
    pub load: Arc<str>,
    /// At which host; empty where that is not said.
    pub host: Arc<str>,
}

/// A bell that the programs of several loads may ring. What is cloned is the same bell, and so is what is made for
/// another load or host.
#[derive(Clone, Debug, Default)]
pub struct Bell {
    ringer: Ringer,
    rung: Arc<Rung>,
}

#[derive(Debug, Default)]
struct Rung {
    is_rung: AtomicBool,
    happened: Mutex<Vec<(Ringer, TransferEvent)>>,
}

impl Bell {
    /// The same bell for the programs of `load`.
    #[must_use]
    pub fn of(&self, load: &str) -> Self {
        Self { ringer: Ringer { load: load.into(), ..Ringer::default() }, rung: Arc::clone(&self.rung) }
    }

    /// The same bell for a program at `host`.
    #[must_use]
    pub fn at(&self, host: &str) -> Self {
        Self { ringer: Ringer { host: host.into(), ..self.ringer.clone() }, rung: Arc::clone(&self.rung) }
    }

    /// Says that something has happened.
    pub(super) fn ring(&self, happened: TransferEvent) {
        let said = (self.ringer.clone(), happened);
        self.rung.happened.lock().unwrap_or_else(PoisonError::into_inner).push(said);
        self.rung.is_rung.store(true, Ordering::Relaxed);
    }

    /// Whether anybody has rung since what was said was last taken.
    #[must_use]
    pub fn is_rung(&self) -> bool {
        self.rung.is_rung.load(Ordering::Relaxed)
    }

    /// What was said since then, in order, and by whom.
    #[must_use]
    pub fn take(&self) -> Vec<(Ringer, TransferEvent)> {
        self.rung.is_rung.store(false, Ordering::Relaxed);
        core::mem::take(&mut *self.rung.happened.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bell_tells_of_all_loads_in_order() {
        let bell = Bell::default();
        let [one, other] = ["one", "other"].map(|load| bell.of(load));
        assert!(!bell.is_rung());
        let over = TransferEvent::Over { caller: Address::NONE };
        let opened = TransferEvent::Opened { at: Instant::ZERO, local: Address::NONE, remote: Address::NONE };
        other.at("host").ring(opened);
        one.clone().ring(over);
        other.ring(over);
        assert!(bell.is_rung() && one.is_rung());
        let said = one.take();
        let said: Vec<(&str, &str, TransferEvent)> =
            said.iter().map(|(it, what)| (&*it.load, &*it.host, *what)).collect();
        assert_eq!(said, [("other", "host", opened), ("one", "", over), ("other", "", over)]);
        assert!(!bell.is_rung() && bell.take().is_empty());
    }
}
