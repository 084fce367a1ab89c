//! Who is told that memory is spent.

use std::sync::{Arc, Mutex, PoisonError};

use kumiki_graph::memory::Budget;
use kumiki_graph::{Duration, Instant};
use kumiki_io::Clock;

use super::config::Notices;

/// It is not told more often.
const SECOND: Duration = Duration::from_secs(1);

/// Looks whether there is something to tell. Clones are one: those of the stacks of a host.
#[derive(Clone)]
pub(super) struct MemoryWatch {
    budget: Option<Budget>,
    notices: Option<Notices>,
    /// What has been told, and when there may be more.
    told: Arc<Mutex<MemoryWarnings>>,
    /// What had been refused when it was looked at last.
    seen: (u64, u64),
}

#[derive(Debug, Default)]
struct MemoryWarnings {
    refused: (u64, u64),
    next: Instant,
}

impl core::fmt::Debug for MemoryWatch {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("MemoryWatch").field("told", &self.told).finish_non_exhaustive()
    }
}

impl MemoryWatch {
    pub(super) fn new(budget: Option<Budget>, notices: Option<Notices>) -> Self {
        Self { budget, notices, told: Arc::default(), seen: (0, 0) }
    }

    /// Looks.
    pub(super) fn look(&mut self, clock: &impl Clock) {
        let (Some(budget), Some(tell)) = (&self.budget, &self.notices) else {
            return;
        };
        let refused = budget.refused();
        if refused == self.seen {
            return;
        }
        let now = clock.now();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if now < told.next {
            return;
        }
        self.seen = refused;
        let (calls, datagrams) = (refused.0.saturating_sub(told.refused.0), refused.1.saturating_sub(told.refused.1));
        if (calls, datagrams) == (0, 0) {
            // Another stack has told it.
            return;
        }
        *told = MemoryWarnings { refused, next: now + SECOND };
        tell(&format!(
            "memory is spent: connections and datagrams hold {} octets; {calls} calls were reset and {datagrams} datagrams dropped since \
             this was told last",
            budget.held()
        ));
    }
}
