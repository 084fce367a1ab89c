//! CUBIC: the window as a cubic function of the time since the last loss.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 9438, which obsoletes RFC 8312; the names are theirs, in octets instead of segments |
//! | Left out | what RFC 9438 section 4.9 restores of K and the epoch after a spurious loss: they start over |
//!
//! Floating-point numbers, but only `+ - * /` on them: those are exact to the bit everywhere, so a run repeats on any
//! machine. The cube root is Newton's.

use kumiki_graph::Instant;
use kumiki_octets::{Blank, OnDemand};

use super::window::Window;
use super::{Acked, Config, Congestion, Loss};

/// C, in segments per second cubed.
const C: f64 = 0.4;
/// beta_cubic.
const BETA: f64 = 0.7;
/// alpha_cubic: as aggressive as Reno, though BETA is not one half.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// One time of congestion avoidance, from a reduction to the next.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// t counts from here.
    start: Instant,
    /// The latest ACK in it.
    latest: Instant,
    /// K, in seconds.
    k: f64,
    /// W_est: the window that Reno would have.
    w_est: f64,
}

/// What there is once slow start has ended.
#[derive(Clone, Debug, Default)]
struct Curve {
    /// What cwnd has grown beyond its whole octets.
    fraction: f64,
    /// W_max, once there was a loss.
    w_max: f64,
    /// cwnd_prior: the window when ssthresh was last set.
    cwnd_prior: f64,
    epoch: Option<Epoch>,
    /// The next epoch begins flat: W_max is the window it begins with, and K is 0 (RFC 8312 sections 4.7 and 4.8).
    flat: bool,
    /// w_max and cwnd_prior before a reduction that may be undone.
    saved: (f64, f64),
}

impl Blank for Curve {
    const BLANK: &'static Self =
        &Self { fraction: 0.0, w_max: 0.0, cwnd_prior: 0.0, epoch: None, flat: false, saved: (0.0, 0.0) };
}

/// CUBIC of one connection.
#[derive(Clone, Debug)]
pub struct Cubic {
    window: Window,
    curve: OnDemand<Curve>,
}

impl Cubic {
    /// At the start of a connection.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { window: Window::new(config), curve: OnDemand::new() }
    }

    fn cwnd(&self) -> f64 {
        float(self.window.cwnd) + self.curve.fraction
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        let octets = whole(cwnd);
        self.curve.fraction = cwnd - float(octets);
        self.window.cwnd = octets;
    }

    /// C in octets.
    fn c(&self) -> f64 {
        C * float(self.window.smss())
    }

    /// W_cubic at `t` seconds into the epoch.
    fn w_cubic(&self, k: f64, t: f64) -> f64 {
        let d = t - k;
        self.c() * d * d * d + self.curve.w_max
    }

    fn begin_epoch(&mut self, now: Instant) -> Epoch {
        let cwnd = self.cwnd();
        let k = if self.curve.flat || self.curve.w_max <= cwnd {
            self.curve.w_max = cwnd;
            0.0
        } else {
            cube_root((self.curve.w_max - cwnd) / self.c())
        };
        self.curve.flat = false;
        Epoch { start: now, latest: now, k, w_est: cwnd }
    }

    /// Remembers where the loss was. Returns what of the window was in use.
    fn remember(&mut self, flight: u64) -> f64 {
        let cwnd = self.cwnd();
        self.curve.cwnd_prior = cwnd;
        // Fast convergence: a window that did not reach the last maximum makes room for others.
        self.curve.w_max = if cwnd < self.curve.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.curve.fraction = 0.0;
        self.curve.epoch = None;
        float(flight.min(self.window.cwnd))
    }

    /// Sets ssthresh.
    fn reduce(&mut self, flight: u64) {
        let in_use = self.remember(flight);
        self.window.reduce(whole(in_use * BETA));
    }

    fn congestion_avoidance(&mut self, ack: &Acked) {
        let mut epoch = match self.curve.epoch {
            Some(epoch) => epoch,
            None => self.begin_epoch(ack.now),
        };
        if !ack.window_limited {
            // The time when the window was not in use does not count (RFC 8312 section 5.8), or it would jump after it.
            epoch.start += ack.now.saturating_since(epoch.latest);
        }
        epoch.latest = ack.now;
        if ack.window_limited {
            self.grow(&mut epoch, ack);
        }
        self.curve.epoch = Some(epoch);
    }

    fn grow(&mut self, epoch: &mut Epoch, ack: &Acked) {
        let cwnd = self.cwnd();
        let part = (float(ack.octets) / cwnd).min(1.0);
        let alpha = if epoch.w_est >= self.curve.cwnd_prior { 1.0 } else { ALPHA };
        epoch.w_est += alpha * float(self.window.smss()) * part;
        let t = ack.now.saturating_since(epoch.start).as_secs_f64();
        if self.w_cubic(epoch.k, t) < epoch.w_est {
            self.set_cwnd(cwnd.max(epoch.w_est));
            return;
        }
        let rtt = ack.srtt.map_or(0.0, |srtt| srtt.as_secs_f64());
        let target = self.w_cubic(epoch.k, t + rtt).max(cwnd).min(1.5 * cwnd);
        self.set_cwnd(cwnd + (target - cwnd) * part);
    }
}

impl Congestion for Cubic {
    fn name(&self) -> &'static str {
        "cubic"
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
        if self.window.slow_start(ack) {
            return;
        }
        self.congestion_avoidance(ack);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.reduce(loss.flight);
        self.curve.flat = false;
    }

    fn on_ecn(&mut self, loss: &Loss) {
        // RFC 8511 section 3.1: what was found good for CUBIC.
        let kept = if self.window.has_own_factor() { 85 } else { 70 };
        let in_use = whole(self.remember(loss.flight));
        let ssthresh = in_use.saturating_mul(kept) / 100;
        self.window.reduce_for_mark(ssthresh, kept);
        self.curve.flat = false;
    }

    fn on_recovered(&mut self, _now: Instant, flight: u64) {
        self.window.deflate(flight);
        self.curve.fraction = 0.0;
    }

    fn on_timeout(&mut self, loss: &Loss, again: bool) {
        if !again {
            self.reduce(loss.flight);
        }
        self.window.collapse();
        self.curve.fraction = 0.0;
        self.curve.epoch = None;
        self.curve.flat = true;
    }

    fn save(&mut self, flight: u64) {
        self.window.save(flight);
        self.curve.saved = (self.curve.w_max, self.curve.cwnd_prior);
    }

    fn undo(&mut self, cwnd: u64) {
        if self.window.undo(cwnd) {
            let curve = &mut *self.curve;
            (curve.w_max, curve.cwnd_prior) = curve.saved;
            curve.fraction = 0.0;
            // The epoch starts over at the window that slow start comes back to.
            curve.epoch = None;
            curve.flat = false;
        }
    }

    fn on_idle(&mut self, _now: Instant) {
        self.window.restart();
        if let Some(curve) = self.curve.own() {
            curve.fraction = 0.0;
            curve.epoch = None;
        }
    }

    fn on_syn_lost(&mut self) {
        self.window.syn_lost();
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "windows stay far below 2^53 octets, and rounding above that is the same everywhere"
)]
const fn float(octets: u64) -> f64 {
    octets as f64
}

/// The whole octets of a window.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounding down is meant; the conversion saturates, and what is negative or not a number becomes 0"
)]
const fn whole(octets: f64) -> u64 {
    octets as u64
}

/// The cube root of what is not negative, by Newton's iteration from above.
fn cube_root(x: f64) -> f64 {
    let mut root = x.max(1.0);
    // From above every step comes closer by at least a third of the way, until rounding stops it.
    for _ in 0..200 {
        let next = root - (root * root * root - x) / (3.0 * root * root);
        if next >= root {
            break;
        }
        root = next;
    }
    root.max(0.0)
}

#[cfg(test)]
mod tests;
