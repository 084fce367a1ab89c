//! What the threads of associations tell whoever keeps the log: as much as may wait for it, and how many lines there
//! were beyond that.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use kumiki_live::throttle::Kind;

/// So many octets of lines wait at most, of all threads together.
const WAITING: usize = 1 << 20;

/// What a thread reports.
#[derive(Debug)]
pub(super) enum ThreadReport {
    /// A line of the log; of a kind, where others could have many of them told.
    Line(Option<Kind>, String),
    /// The thread of this number has ended, and whether its association stood.
    Ended(u64, bool),
}

/// What both ends know.
#[derive(Debug, Default)]
struct Queue {
    waiting: AtomicUsize,
    lost: AtomicU64,
}

/// The end of a thread.
#[derive(Clone, Debug)]
pub(super) struct ReportSender(Sender<ThreadReport>, Arc<Queue>);

/// The end of whoever keeps the log.
#[derive(Debug)]
pub(super) struct Listener(Receiver<ThreadReport>, Arc<Queue>);

/// Both ends.
pub(super) fn ends() -> (ReportSender, Listener) {
    let ((sender, receiver), queue) = (channel(), Arc::<Queue>::default());
    (ReportSender(sender, Arc::clone(&queue)), Listener(receiver, queue))
}

impl ReportSender {
    /// A line, which is lost where too much waits.
    pub(super) fn tell(&self, kind: Option<Kind>, line: String) {
        let (Self(sender, queue), len) = (self, line.len());
        if queue.waiting.fetch_add(len, Ordering::SeqCst).saturating_add(len) > WAITING {
            queue.waiting.fetch_sub(len, Ordering::SeqCst);
            queue.lost.fetch_add(1, Ordering::SeqCst);
            return;
        }
        // Nobody listens any more only when the program ends.
        let _ = sender.send(ThreadReport::Line(kind, line));
    }

    /// This thread has nothing more to tell.
    pub(super) fn end(&self, number: u64, stood: bool) {
        let _ = self.0.send(ThreadReport::Ended(number, stood));
    }
}

impl Listener {
    /// What waits, in its order.
    pub(super) fn next(&self) -> Option<ThreadReport> {
        let told = self.0.try_recv().ok()?;
        if let ThreadReport::Line(_, line) = &told {
            self.1.waiting.fetch_sub(line.len(), Ordering::SeqCst);
        }
        Some(told)
    }

    /// How many lines were lost since this was last asked.
    pub(super) fn lost(&self) -> u64 {
        self.1.lost.swap(0, Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded_and_what_is_lost_is_counted() {
        let (teller, listener) = ends();
        let line = "x".repeat(10_000);
        for _ in 0..1000 {
            teller.tell(None, line.clone());
        }
        teller.end(1, true);
        let mut told = 0;
        while let Some(ThreadReport::Line(..)) = listener.next() {
            told += 1;
        }
        assert_eq!((told, listener.lost(), listener.lost()), (WAITING / 10_000, 1000 - (WAITING / 10_000) as u64, 0));
        teller.tell(None, line);
        assert!(matches!(listener.next(), Some(ThreadReport::Line(..))));
    }
}
