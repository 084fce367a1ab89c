//! Slow start and congestion avoidance of RFC 5681, with the byte counting of RFC 3465.

use kumiki_graph::Instant;

use super::window::Window;
use super::{Acked, Config, Congestion, Loss};

/// The standard's own algorithm: in congestion avoidance one segment more per round trip, after a loss half.
#[derive(Clone, Debug)]
pub struct NewReno {
    window: Window,
    /// Octets acknowledged in congestion avoidance and not turned into growth (RFC 3465 section 2.1).
    bytes_acked: u64,
}

impl NewReno {
    /// At the start of a connection.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { window: Window::new(config), bytes_acked: 0 }
    }
}

impl Congestion for NewReno {
    fn name(&self) -> &'static str {
        "newreno"
    }

    fn window(&self) -> u64 {
        self.window.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh
    }

    fn set_smss(&mut self, smss: u32) {
        self.window.set_smss(smss);
    }

    fn on_ack(&mut self, ack: &Acked) {
        if self.window.slow_start(ack) || !ack.window_limited {
            return;
        }
        // Congestion avoidance (RFC 9293 MUST-19).
        self.bytes_acked = self.bytes_acked.saturating_add(ack.octets);
        if self.bytes_acked >= self.window.cwnd {
            self.bytes_acked -= self.window.cwnd;
            self.window.cwnd = self.window.cwnd.saturating_add(self.window.smss());
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        // Equation 4 of RFC 5681: of FlightSize, not of cwnd, which may be far above what was in use.
        self.window.reduce(loss.flight / 2);
        self.bytes_acked = 0;
    }

    fn on_recovered(&mut self, _now: Instant, flight: u64) {
        self.window.deflate(flight);
    }

    fn on_timeout(&mut self, loss: &Loss, again: bool) {
        if !again {
            self.window.reduce(loss.flight / 2);
        }
        self.window.collapse();
        self.bytes_acked = 0;
    }

    fn on_ecn(&mut self, loss: &Loss) {
        // RFC 8511 section 3.1: beta_ecn.
        let kept = if self.window.has_own_factor() { 80 } else { 50 };
        let ssthresh = loss.flight.saturating_mul(kept) / 100;
        self.window.reduce_for_mark(ssthresh, kept);
        self.bytes_acked = 0;
    }

    fn save(&mut self, flight: u64) {
        self.window.save(flight);
    }

    fn undo(&mut self, cwnd: u64) {
        self.window.undo(cwnd);
    }

    fn on_idle(&mut self, _now: Instant) {
        self.window.restart();
        self.bytes_acked = 0;
    }

    fn on_syn_lost(&mut self) {
        self.window.syn_lost();
    }
}
