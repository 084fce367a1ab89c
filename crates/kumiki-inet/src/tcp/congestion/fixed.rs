//! No congestion control, as in 4.2BSD and on boards with a dedicated path.

use kumiki_graph::Instant;

use super::{Acked, Congestion, Loss};

/// A window without bound: only the receiver's counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fixed;

impl Congestion for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }
    fn window(&self) -> u64 {
        u64::MAX
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
    fn set_smss(&mut self, _smss: u32) {}
    fn on_ack(&mut self, _ack: &Acked) {}
    fn on_loss(&mut self, _loss: &Loss) {}
    fn on_recovered(&mut self, _now: Instant, _flight: u64) {}
    fn on_timeout(&mut self, _loss: &Loss, _again: bool) {}
    fn on_idle(&mut self, _now: Instant) {}
    fn on_syn_lost(&mut self) {}
}
