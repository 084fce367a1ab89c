//! CUBIC: RFC 9438.

use kumiki_graph::Instant;

use super::{Acked, Config, Congestion, Loss, NewReno};

/// CUBIC of one connection.
#[derive(Clone, Debug)]
pub struct Cubic {
    reno: NewReno,
}

impl Cubic {
    /// At the start of a connection.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            reno: NewReno::new(config),
        }
    }
}

impl Congestion for Cubic {
    fn name(&self) -> &'static str {
        "cubic"
    }
    fn window(&self) -> u64 {
        self.reno.window()
    }
    fn ssthresh(&self) -> u64 {
        self.reno.ssthresh()
    }
    fn set_smss(&mut self, smss: u32) {
        self.reno.set_smss(smss);
    }
    fn on_ack(&mut self, ack: &Acked) {
        self.reno.on_ack(ack);
    }
    fn on_loss(&mut self, loss: &Loss) {
        self.reno.on_loss(loss);
    }
    fn on_recovered(&mut self, now: Instant, flight: u64) {
        self.reno.on_recovered(now, flight);
    }
    fn on_timeout(&mut self, loss: &Loss, again: bool) {
        self.reno.on_timeout(loss, again);
    }
    fn on_idle(&mut self, now: Instant) {
        self.reno.on_idle(now);
    }
    fn on_syn_lost(&mut self) {
        self.reno.on_syn_lost();
    }
}
