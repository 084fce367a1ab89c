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
pub enum Happened {
    /// It is open since that instant.
    Opened {
        /// By the clock of its host.
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

/// A bell that several programs may ring. What is cloned is the same bell.
#[derive(Clone, Debug, Default)]
pub struct Bell(Arc<Rung>);

#[derive(Debug, Default)]
struct Rung {
    is_rung: AtomicBool,
    happened: Mutex<Vec<Happened>>,
}

impl Bell {
    /// Says that something has happened.
    pub(super) fn ring(&self, happened: Happened) {
        self.0.happened.lock().unwrap_or_else(PoisonError::into_inner).push(happened);
        self.0.is_rung.store(true, Ordering::Relaxed);
    }

    /// Whether anybody has rung since what was said was last taken.
    #[must_use]
    pub fn is_rung(&self) -> bool {
        self.0.is_rung.load(Ordering::Relaxed)
    }

    /// What was said since then, in order.
    #[must_use]
    pub fn take(&self) -> Vec<Happened> {
        self.0.is_rung.store(false, Ordering::Relaxed);
        core::mem::take(&mut *self.0.happened.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
