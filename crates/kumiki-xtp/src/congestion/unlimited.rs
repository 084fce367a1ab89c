//! No congestion control.

use kumiki_graph::Instant;

use super::{Controller, Status};

/// Lets everything go at once.
#[derive(Clone, Copy, Debug)]
pub struct Unlimited;

impl Controller for Unlimited {
    fn on_status(&mut self, _status: &Status) {}

    fn on_timeout(&mut self, _now: Instant) {}

    fn window(&self) -> u64 {
        u64::MAX
    }

    fn rate(&self) -> Option<u64> {
        None
    }
}
