//! What others have handed over to a stack.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use kumiki_io::Bell;
use kumiki_octets::Message;

/// So many may wait; more are lost, as where the queue of a device is full.
const MOST: usize = 1024;

/// A packet on its way to its owner.
#[derive(Debug)]
pub(super) enum QueuedPacket {
    /// It is for whoever has the mailbox.
    Own(Message),
    /// A fragment: who has the mailbox finds out whose it is.
    Fragment(Message),
}

/// Where a stack finds what came for it by the queues of others.
#[derive(Debug, Default)]
pub(in crate::host) struct Mailbox {
    mail: Mutex<VecDeque<QueuedPacket>>,
    /// How much there is: who looks in vain takes no lock.
    waiting: AtomicUsize,
    /// Wakes who has it.
    bell: OnceLock<Bell>,
}

impl Mailbox {
    /// From now on `bell` is rung when something has come.
    pub(in crate::host) fn ring(&self, bell: Bell) {
        // It is told once.
        let _ = self.bell.set(bell);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<QueuedPacket>> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves something; it is lost where there is too much.
    pub(super) fn leave(&self, it: QueuedPacket) {
        let mut mail = self.lock();
        if mail.len() >= MOST {
            return;
        }
        mail.push_back(it);
        let is_first = mail.len() == 1;
        self.waiting.store(mail.len(), Ordering::Release);
        drop(mail);
        // Who is at it looks for more by itself.
        if is_first && let Some(bell) = self.bell.get() {
            bell.ring();
        }
    }

    /// The next.
    pub(super) fn take(&self) -> Option<QueuedPacket> {
        if self.is_empty() {
            return None;
        }
        let mut mail = self.lock();
        let next = mail.pop_front();
        self.waiting.store(mail.len(), Ordering::Release);
        next
    }

    pub(in crate::host) fn is_empty(&self) -> bool {
        self.waiting.load(Ordering::Acquire) == 0
    }
}
