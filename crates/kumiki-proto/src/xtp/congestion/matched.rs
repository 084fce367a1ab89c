//! Congestion avoidance that matches what goes out to what was delivered.

use kumiki_graph::{Duration, Instant};

use super::{Controller, Status};

mod path;

use path::Path;

/// Name and version; another version may have other constants and rules.
pub const NAME: &str = "matched-1";

/// No window is larger, in octets; no product below leaves its type.
const MOST: u64 = 1 << 40;
/// No window is smaller, in packets.
const LEAST: u64 = 2;
/// What a loss keeps of the window, in 1/1000.
const KEEPS_LEAST: u64 = 500;
const KEEPS_MOST: u64 = 950;
/// Losses up to this share of a round trip's octets, in 1/1000, are no congestion where no queue stands.
const TOLERATED: u64 = 20;
/// In the start the window grows by so much of what is delivered, in 1/1000: before and after half of what the first packets' spacing promises.
const START: u64 = 1000;
const START_NEAR: u64 = 250;
/// Rounds in which the delivery rate did not grow by [`GROWS`] end the start.
const FLAT_ROUNDS: u32 = 3;
/// In 1/1000.
const GROWS: u64 = 1100;
/// Rounds without a queue and a reaction before the window grows faster.
const CLEAN_ROUNDS: u64 = 3;

/// `a * b / c`, where that fits; `c` of 0 counts as 1.
fn scaled(a: u64, b: u64, c: u64) -> u64 {
    let product = u128::from(a) * u128::from(b) / u128::from(c.max(1));
    u64::try_from(product).unwrap_or(u64::MAX)
}

/// Whether sync `a` was given after `b`; numbers wrap.
const fn after(a: u32, b: u32) -> bool {
    a != b && a.wrapping_sub(b) < 1 << 31
}

/// The controller of one context.
#[derive(Clone, Debug)]
pub struct Matched {
    packet: u64,
    /// W: octets that go out in a horizon.
    w: u64,
    /// Growth that is not yet an octet, in 1/1000 octets times W.
    rest: u128,
    path: Path,
    /// The start, and up to which window.
    start: Option<u64>,
    /// Octets per second that the first packets' spacing promises.
    promised: Option<u64>,
    /// The last question of the first burst.
    burst: Option<u32>,
    best_rate: u64,
    flat_rounds: u32,
    /// No reaction to losses that questions up to this tell of.
    reacted: Option<u32>,
    timed_out: bool,
    /// What the last reaction kept of W, in 1/1000.
    kept: u64,
    /// The round lasts until a later question than this is answered.
    round_end: Option<u32>,
    round_min: Option<Duration>,
    round_limited: bool,
    clean_rounds: u64,
    /// What one status tells of, in octets: the most of late.
    covered: u64,
}

impl Matched {
    /// At the start, for packets of `packet` octets.
    #[must_use]
    pub fn new(packet: u32) -> Self {
        let packet = u64::from(packet.max(1));
        Self {
            packet,
            // RFC 6928, as TCP.
            w: (10 * packet).min((2 * packet).max(14_600)),
            rest: 0,
            path: Path::default(),
            start: Some(u64::MAX),
            promised: None,
            burst: None,
            best_rate: 0,
            flat_rounds: 0,
            reacted: None,
            timed_out: false,
            kept: KEEPS_LEAST,
            round_end: None,
            round_min: None,
            round_limited: false,
            clean_rounds: 0,
            covered: 0,
        }
    }

    fn set_window(&mut self, w: u64) {
        self.w = w.clamp(LEAST * self.packet, MOST);
    }

    /// What the path holds without a queue, at the rate at which it delivers; W where that is not known.
    fn matched(&self) -> Option<u64> {
        let rate = self.path.delivery_rate()?;
        let time = self.path.horizon()?.saturating_sub(self.path.queueing());
        Some(scaled(rate, time.as_nanos(), 1_000_000_000))
    }

    fn leave_start(&mut self) {
        self.start = None;
        self.clean_rounds = 0;
        if let Some(matched) = self.matched() {
            self.set_window(matched.clamp(self.w / 2, self.w));
        }
    }

    fn on_loss(&mut self, status: &Status) {
        let (delivered, lost) = self.path.of_late();
        let few = lost <= self.packet.max(scaled(delivered + lost, TOLERATED, 1000));
        if few && !self.path.queue_stands(self.packet) {
            return;
        }
        let was = self.w;
        let matched = self.matched().unwrap_or(was / 2);
        let least = scaled(was, KEEPS_LEAST, 1000);
        let most = scaled(was, KEEPS_MOST, 1000);
        self.set_window(matched.clamp(least, most));
        if self.start.take().is_none() {
            self.kept = scaled(self.w, 1000, was).clamp(KEEPS_LEAST, KEEPS_MOST);
        }
        self.clean_rounds = 0;
        self.rest = 0;
        self.path.on_reaction();
        // What was sent since the last question is told of by the next one.
        self.reacted = Some(status.sent_sync.wrapping_add(1));
    }

    /// By how much the window grows in a round trip, in 1/1000 packets.
    fn growth(&self) -> u64 {
        // What is fair to a TCP that halves (3 (1 - b) / (1 + b)).
        let fair = 3000 * (1000 - self.kept) / (1000 + self.kept);
        let faster = self.clean_rounds.saturating_sub(CLEAN_ROUNDS).min(10_000);
        let faster = 125 * faster * faster;
        let most = scaled(self.w, 125, self.packet);
        fair + faster.min(most)
    }

    fn grow(&mut self, delivered: u64) {
        if let Some(limit) = self.start {
            let near = self.promised.is_some_and(|rate| {
                let horizon = self.path.horizon().unwrap_or_default();
                2 * self.w >= scaled(rate, horizon.as_nanos(), 1_000_000_000)
            });
            let gain = if near || limit < u64::MAX { START_NEAR } else { START };
            let w = self.w.saturating_add(scaled(delivered, gain, 1000));
            self.set_window(w.min(limit));
            if self.w >= limit {
                self.start = None;
            }
            return;
        }
        let more = u128::from(self.packet) * u128::from(self.growth()) * u128::from(delivered);
        let rest = self.rest.saturating_add(more);
        let per_octet = u128::from(self.w) * 1000;
        let octets = u64::try_from(rest / per_octet).unwrap_or(u64::MAX);
        self.rest = rest % per_octet;
        self.set_window(self.w.saturating_add(octets));
    }

    /// Whether as much is out as may be, as nearly as the spacing of packets lets it.
    fn in_use(&self, status: &Status) -> bool {
        let (Some(rtt), Some(horizon)) = (self.path.rtt(), self.path.horizon()) else {
            return true;
        };
        let out = scaled(self.w, rtt.as_nanos(), horizon.as_nanos());
        status.in_flight + 2 * self.packet >= out / 4 * 3
    }

    fn on_round(&mut self) {
        let min = self.round_min.take();
        let limited = core::mem::take(&mut self.round_limited);
        let Some(min) = min else {
            return;
        };
        let queue = self.path.is_queue(min, self.packet);
        if self.start.is_some() {
            if self.path.is_long_queue(min, self.packet) {
                self.leave_start();
                return;
            }
            let rate = self.path.delivery_rate().unwrap_or(0);
            if limited {
            } else if rate >= scaled(self.best_rate, GROWS, 1000) {
                self.best_rate = rate;
                self.flat_rounds = 0;
            } else {
                self.flat_rounds += 1;
                if self.flat_rounds >= FLAT_ROUNDS {
                    self.leave_start();
                }
            }
        } else if queue {
            self.clean_rounds = 0;
        } else if !limited {
            self.clean_rounds += 1;
        }
    }

    /// Looks at the spacing of the first burst.
    fn on_first(&mut self, status: &Status) {
        match self.burst {
            None => self.burst = Some(status.sent_sync),
            Some(burst) if self.promised.is_none() && !after(status.sync, burst) => {
                self.promised = self.path.spacing_rate(status.now, status.delivered);
            }
            Some(_) => {}
        }
    }
}

impl Controller for Matched {
    fn on_status(&mut self, status: &Status) {
        self.on_first(status);
        let spacing = self.path.on_status(status);
        if let Some((was, is)) = spacing {
            // The horizon is longer or shorter because questions are: the rate stays.
            self.set_window(scaled(self.w, is.as_nanos(), was.as_nanos()));
        }
        let covers = status.delivered.saturating_add(status.lost);
        self.covered = covers.max(self.covered / 8 * 7);
        if core::mem::take(&mut self.timed_out) {
            self.reacted = Some(status.sent_sync.wrapping_add(1));
        }
        if self.reacted.is_some_and(|until| after(status.sync, until)) {
            self.reacted = None;
        }
        if let Some(rtt) = status.rtt {
            self.round_min = Some(self.round_min.map_or(rtt, |min| min.min(rtt)));
        }
        let unused = status.limited || !self.in_use(status);
        self.round_limited |= unused;
        if status.lost > 0 && self.reacted.is_none() {
            self.on_loss(status);
        }
        if self.reacted.is_none() && !unused {
            self.grow(status.delivered);
        }
        if self.round_end.is_none_or(|end| after(status.sync, end)) {
            self.round_end = Some(status.sent_sync);
            self.on_round();
        }
    }

    fn on_timeout(&mut self, _now: Instant) {
        let limit = match self.start {
            Some(limit) if limit < u64::MAX => limit,
            _ => self.w / 2,
        };
        self.start = Some(limit.max(LEAST * self.packet));
        self.set_window(self.w / 2);
        self.timed_out = true;
        self.clean_rounds = 0;
        self.rest = 0;
        self.path.on_timeout();
    }

    fn window(&self) -> u64 {
        self.w.saturating_add(self.covered)
    }

    fn rate(&self) -> Option<u64> {
        let horizon = self.path.horizon()?;
        Some(scaled(self.w, 1_000_000_000, horizon.as_nanos()).max(1))
    }
}
