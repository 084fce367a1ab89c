//! Slow start and congestion avoidance of RFC 5681, with the byte counting of RFC 3465.

use kumiki_graph::Instant;

use super::{Acked, Config, Congestion, Loss};

/// The standard's own algorithm.
#[derive(Clone, Debug)]
pub struct NewReno {
    config: Config,
    cwnd: u64,
    ssthresh: u64,
    /// Octets acknowledged in congestion avoidance and not yet turned into growth (RFC 3465 section 2.1).
    bytes_acked: u64,
}

impl NewReno {
    /// At the start of a connection.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            cwnd: config.initial_window.octets(config.smss),
            ssthresh: u64::MAX,
            bytes_acked: 0,
            config,
        }
    }

    fn smss(&self) -> u64 {
        u64::from(self.config.smss)
    }

    /// RFC 5681 equation 4.
    fn half(&self, flight: u64) -> u64 {
        (flight / 2).max(2 * self.smss())
    }
}

impl Congestion for NewReno {
    fn name(&self) -> &'static str {
        "newreno"
    }

    fn window(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn set_smss(&mut self, smss: u32) {
        self.config.smss = smss.max(1);
    }

    fn on_ack(&mut self, ack: &Acked) {
        if !ack.window_limited {
            return;
        }
        if self.in_slow_start() {
            let most = self.smss() * u64::from(self.config.slow_start_limit.max(1));
            self.cwnd = self.cwnd.saturating_add(ack.octets.min(most));
            return;
        }
        self.bytes_acked = self.bytes_acked.saturating_add(ack.octets);
        if self.bytes_acked >= self.cwnd {
            self.bytes_acked -= self.cwnd;
            self.cwnd = self.cwnd.saturating_add(self.smss());
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.ssthresh = self.half(loss.flight);
        self.cwnd = self.ssthresh;
        self.bytes_acked = 0;
    }

    fn on_recovered(&mut self, _now: Instant, flight: u64) {
        // RFC 6582 section 3.2 step 3, option 1: no burst where little is outstanding.
        let smss = self.smss();
        self.cwnd = self.ssthresh.min(flight.max(smss).saturating_add(smss));
        self.bytes_acked = 0;
    }

    fn on_timeout(&mut self, loss: &Loss, again: bool) {
        if !again {
            self.ssthresh = self.half(loss.flight);
        }
        self.cwnd = self.smss();
        self.bytes_acked = 0;
    }

    fn on_idle(&mut self, _now: Instant) {
        let restart = self.config.initial_window.octets(self.config.smss);
        self.cwnd = self.cwnd.min(restart);
        self.bytes_acked = 0;
    }

    fn on_syn_lost(&mut self) {
        self.cwnd = self.smss();
    }
}
