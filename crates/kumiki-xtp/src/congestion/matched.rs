//! Congestion avoidance that matches what goes out to what was delivered.
//!
//! | | |
//! |---|---|
//! | Specification | none; the rules R1 to R10, their reasons and what they give are in `docs/xtp-congestion.md` |
//! | The caller's part | as for every [`Controller`] |
//! | Left out | a goal for the length of the queue: beside a TCP that fills it, it is filled; a smaller share for longer round trips than TCP's has |

use kumiki_graph::{Duration, Instant};

use super::{Controller, Status};

mod path;

use path::Path;

/// Name and version; with other rules or constants it is another version.
pub const NAME: &str = "matched-2";

/// No window is larger, in octets, so that no product below leaves its type.
const MOST: u64 = 1 << 40;
/// No window is smaller, in packets: with one, an answer could be waited for before anything else leaves.
const LEAST: u64 = 2;
/// In the start the window grows by so much of what is delivered, in 1/1000: far from what the first packets promise,
/// and near.
const FAR: u64 = 1000;
const NEAR: u64 = 250;
/// Rounds in which the delivery rate did not grow by a tenth end the start.
const FLAT_ROUNDS: u32 = 3;
/// Samples one after another that show a queue end it too.
const QUEUE_SAMPLES: u32 = 2;
/// What a loss keeps of the window, in 1/1000.
const KEEPS_LEAST: u64 = 500;
const KEEPS_MOST: u64 = 950;
/// So much loss of what was sent, in 1/1000, is no congestion where no queue stands.
const TOLERATED: u64 = 30;
/// After so many rounds without queue and reaction the window grows faster, and with each further one faster still: by
/// the square of their number, in so many 1/1000 packets.
const CLEAN_ROUNDS: u64 = 5;
const CLEAN_GROWTH: u64 = 60;
/// After so long without a reaction it grows faster too, by the square of the milliseconds since then, divided by this,
/// in 1/1000 packets.
const LONG: Duration = Duration::from_secs(4);
const LONG_DIVISOR: u64 = 4000;
/// This part of what W asks for, or so many packets, more or less, is in balance with it.
const BALANCE: u64 = 16;
const BALANCE_LEAST: u64 = 4;
/// Packets that leave at once after a status, at most.
const LEAP: u64 = 2;
/// It never grows by more than this part of itself in a round trip.
const PART: u64 = 8;

/// `a * b / c`, or the largest number if that is larger; `c` of 0 counts as 1.
fn scaled(a: u64, b: u64, c: u64) -> u64 {
    let product = u128::from(a) * u128::from(b) / u128::from(c.max(1));
    u64::try_from(product).unwrap_or(u64::MAX)
}

/// Octets in `time` at `rate` octets a second.
fn octets_in(rate: u64, time: Duration) -> u64 {
    scaled(rate, time.as_nanos(), 1_000_000_000)
}

/// The rate in octets a second of `octets` in `time`.
fn rate_of(octets: u64, time: Duration) -> u64 {
    scaled(octets, 1_000_000_000, time.as_nanos())
}

/// RFC 6928, as TCP, for packets of `packet` octets.
fn first_window(packet: u64) -> u64 {
    (10 * packet).min((2 * packet).max(14_600))
}

/// Whether sync `a` was given after `b`; numbers wrap.
const fn after(a: u32, b: u32) -> bool {
    a != b && a.wrapping_sub(b) < 1 << 31
}

/// The start: growth by what is delivered.
#[derive(Clone, Copy, Debug)]
struct Start {
    /// It ends at this window.
    limit: u64,
    /// The last question of the first burst, until the second answer.
    burst: Option<u32>,
    /// The rate that the spacing of the first two answers promises.
    promised: Option<u64>,
    best_rate: u64,
    flat_rounds: u32,
    queue_samples: u32,
}

impl Start {
    const fn up_to(limit: u64) -> Self {
        Self { limit, burst: None, promised: None, best_rate: 0, flat_rounds: 0, queue_samples: 0 }
    }

    /// A round is over in which `rate` was delivered. Whether it was the last one in vain.
    fn is_flat(&mut self, rate: u64) -> bool {
        if rate >= self.best_rate.saturating_add(self.best_rate / 10) {
            self.best_rate = rate;
            self.flat_rounds = 0;
        } else {
            self.flat_rounds += 1;
        }
        self.flat_rounds >= FLAT_ROUNDS
    }
}

/// From a question to the answer of one that was asked after the round began.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// The last question before it.
    after: Option<u32>,
    /// The shortest round trip in it.
    min: Option<Duration>,
    /// The window was not in use all the time.
    unused: bool,
}

/// A reaction to loss or silence.
#[derive(Clone, Copy, Debug)]
struct Reaction {
    /// The last question before it. Until a later one is answered the window does not grow; until the one after that
    /// is, which tells of what left in between, there is no other reaction.
    sync: u32,
    at: Instant,
}

/// The controller of one context.
#[derive(Clone, Debug)]
pub struct Matched {
    packet: u64,
    /// W: octets that leave in a horizon ([`Path::horizon`]).
    w: u64,
    /// Growth that is not an octet yet, in 1/1000 octets times W.
    rest: u128,
    path: Path,
    start: Option<Start>,
    round: Round,
    /// Rounds without queue and reaction.
    clean_rounds: u64,
    reaction: Option<Reaction>,
    /// Losses that were reacted to may still be told of.
    deaf: bool,
    /// WTIMER has expired since the last status.
    silent: bool,
    /// What the last reaction to a loss kept of W, in 1/1000.
    kept: u64,
    /// Octets that one status tells of: the most of late.
    told: u64,
    /// As much leaves as is delivered, at this rate.
    balanced: Option<u64>,
    /// What W asks for beyond that: whole packets of it leave at once.
    leap: u64,
}

impl Matched {
    /// At the start, for packets of `packet` octets.
    #[must_use]
    pub fn new(packet: u32) -> Self {
        let packet = u64::from(packet.max(1));
        Self {
            packet,
            w: first_window(packet),
            rest: 0,
            path: Path::default(),
            start: Some(Start::up_to(u64::MAX)),
            round: Round::default(),
            clean_rounds: 0,
            reaction: None,
            deaf: false,
            silent: false,
            kept: KEEPS_LEAST,
            told: 0,
            balanced: None,
            leap: 0,
        }
    }

    #[cfg(test)]
    pub(super) const fn w(&self) -> u64 {
        self.w
    }

    fn set_window(&mut self, w: u64) {
        self.w = w.clamp(LEAST * self.packet, MOST);
    }

    /// What leaves in a horizon without a queue at the rate that is delivered.
    fn matched(&self) -> Option<u64> {
        let rate = self.path.delivery_rate()?;
        Some(octets_in(rate, self.path.empty_horizon()))
    }

    /// R2: whether what is known by the time of this status says how fast the first packets passed.
    fn look_at_first(&mut self, status: &Status) {
        let Some(start) = &mut self.start else {
            return;
        };
        if status.limited || start.limit < u64::MAX {
            start.burst = None;
        } else if self.path.is_unknown() {
            // FIRST may have had no data: its answer promises nothing.
            start.burst = (status.delivered > 0).then_some(status.sent_sync);
        } else if let Some(burst) = start.burst.take()
            && !after(status.sync, burst)
        {
            let spacing = self.path.since_last(status.now);
            let some = status.delivered > 0 && !spacing.is_zero();
            start.promised = some.then(|| rate_of(status.delivered, spacing));
        }
    }

    /// R3.
    fn leave_start(&mut self) {
        self.start = None;
        self.clean_rounds = 0;
        if let Some(matched) = self.matched() {
            self.set_window(matched.clamp(self.w / 2, self.w));
        }
    }

    /// R6 and R7.
    fn on_loss(&mut self, status: &Status) {
        let (delivered, lost) = self.path.of_late();
        let sent = delivered.saturating_add(lost);
        let few = scaled(sent, TOLERATED, 1000).max((2 * self.packet).min(sent / 8));
        let queue = self.path.queue_stands(self.packet);
        if lost <= few && !queue {
            return;
        }
        let was = self.w;
        let matched = self.matched().unwrap_or(was / 2);
        let least = scaled(was, KEEPS_LEAST, 1000);
        let most = scaled(was, KEEPS_MOST, 1000);
        self.set_window(matched.clamp(least, most));
        // What is kept at the end of the start says how far it went too far, and nothing of the queue.
        if self.start.take().is_none() && queue {
            self.kept = scaled(self.w, 1000, was).clamp(KEEPS_LEAST, KEEPS_MOST);
        }
        self.clean_rounds = if queue { 0 } else { self.clean_rounds.min(CLEAN_ROUNDS) };
        self.rest = 0;
        self.path.on_reaction();
        self.react(status);
    }

    const fn react(&mut self, status: &Status) {
        self.deaf = true;
        self.reaction = Some(Reaction { sync: status.sent_sync, at: status.now });
    }

    /// R4 and R5: by how much the window grows in a round trip, in 1/1000 packets.
    fn growth(&self, now: Instant) -> u64 {
        let fair = 3000 * (1000 - self.kept) / (1000 + self.kept);
        let clean = self.clean_rounds.saturating_sub(CLEAN_ROUNDS).min(100_000);
        let since = self.reaction.map_or(now, |it| it.at + LONG);
        let long = now.saturating_since(since).as_millis().min(1_000_000);
        let faster = (CLEAN_GROWTH * clean * clean).max(long * long / LONG_DIVISOR);
        fair + faster.min(scaled(self.w, 1000, PART * self.packet))
    }

    fn grow(&mut self, status: &Status) {
        if let Some(start) = &self.start {
            let horizon = self.path.horizon().unwrap_or_default();
            let promised = start.promised.map_or(u64::MAX, |it| octets_in(it, horizon));
            // R2: a rate that two packets promise is believed up to this.
            let limit = start.limit.min(promised / 16 * 15);
            let gain = if self.w >= limit / 2 { NEAR } else { FAR };
            let w = self.w.saturating_add(scaled(status.delivered, gain, 1000));
            self.set_window(w.min(limit.max(self.w)));
            if w >= limit {
                self.start = None;
            }
            return;
        }
        let more = u128::from(self.packet) * u128::from(self.growth(status.now));
        self.rest += more * u128::from(status.delivered.min(MOST));
        let octet = u128::from(self.w) * 1000;
        let octets = u64::try_from(self.rest / octet).unwrap_or(u64::MAX);
        self.rest %= octet;
        self.set_window(self.w.saturating_add(octets));
    }

    /// R1, where a queue stands: whether as much is out as should be when as much leaves as is delivered, but for a few
    /// packets. These leave at once.
    fn balance(&mut self, in_flight: u64) {
        (self.balanced, self.leap) = (None, 0);
        if self.start.is_some() || !self.path.queue_stands(self.packet) {
            return;
        }
        let Some((rate, (unheard, horizon))) = self.path.delivery_rate().zip(self.path.unheard()) else {
            return;
        };
        let should = scaled(self.w, (horizon + unheard).as_nanos(), horizon.as_nanos());
        let will = in_flight.saturating_add(octets_in(rate, self.path.spacing()));
        if should.abs_diff(will) <= (should / BALANCE).max(BALANCE_LEAST * self.packet) {
            self.balanced = Some(rate.max(1));
            self.leap = should.saturating_sub(will).min(LEAP * self.packet);
        }
    }

    /// Whether about as much is out as may be (R9).
    fn is_in_use(&self, status: &Status) -> bool {
        let (Some(rtt), Some(horizon)) = (self.path.rtt(), self.path.horizon()) else {
            return true;
        };
        let out = scaled(self.w, rtt.as_nanos(), horizon.as_nanos());
        status.in_flight.saturating_add(2 * self.packet) >= out / 4 * 3
    }

    /// A round has ended.
    fn on_round(&mut self, round: &Round) {
        let Some(min) = round.min else {
            return;
        };
        if let Some(start) = &mut self.start {
            let rate = self.path.delivery_rate().unwrap_or(0);
            if !round.unused && start.is_flat(rate) {
                self.leave_start();
            }
        } else if self.path.is_queue(min, self.packet) {
            self.clean_rounds = 0;
        } else if !round.unused {
            self.clean_rounds += 1;
        }
    }

    fn on_sample(&mut self, rtt: Duration) {
        self.round.min = Some(self.round.min.map_or(rtt, |min| min.min(rtt)));
        let long = self.path.is_long_queue(rtt, self.packet);
        if let Some(start) = &mut self.start {
            start.queue_samples = if long { start.queue_samples + 1 } else { 0 };
            if start.queue_samples >= QUEUE_SAMPLES {
                self.leave_start();
            }
        }
    }
}

impl Controller for Matched {
    fn on_status(&mut self, status: &Status) {
        self.look_at_first(status);
        if let Some((was, is)) = self.path.on_status(status) {
            // The horizon is another because questions are further apart or closer: the rate stays.
            self.set_window(scaled(self.w, is.as_nanos(), was.as_nanos()));
        }
        let told = status.delivered.saturating_add(status.lost);
        self.told = told.max(self.told / 8 * 7).min(MOST / 2);
        if core::mem::take(&mut self.silent) {
            self.react(status);
        }
        let later = |sync: u32| after(status.sync, sync);
        let may_grow = self.reaction.is_none_or(|it| !self.deaf || later(it.sync));
        if self.reaction.is_some_and(|it| later(it.sync.wrapping_add(1))) {
            self.deaf = false;
        }
        let unused = status.limited || !self.is_in_use(status);
        self.round.unused |= unused;
        if let Some(rtt) = status.rtt {
            self.on_sample(rtt);
        }
        let w = self.w;
        if status.lost > 0 && !self.deaf {
            self.on_loss(status);
        }
        if may_grow && !unused && self.w >= w {
            self.grow(status);
        }
        if self.round.after.is_none_or(later) {
            let round = core::mem::take(&mut self.round);
            self.round.after = Some(status.sent_sync);
            self.on_round(&round);
        }
        self.balance(status.in_flight);
    }

    fn on_packet(&mut self, packet: u32) {
        let packet = u64::from(packet.max(1));
        if packet == self.packet {
            return;
        }
        self.packet = packet;
        let first = self.start.is_some_and(|it| it.limit == u64::MAX) && self.path.is_unknown();
        self.set_window(if first { first_window(packet) } else { self.w });
    }

    /// R8.
    fn on_timeout(&mut self, _now: Instant) {
        let half = (self.w / 2).max(LEAST * self.packet);
        let limit = match &self.start {
            // Expiry after expiry: the limit is that of the first.
            Some(start) if start.limit < u64::MAX => start.limit,
            _ => half,
        };
        self.start = Some(Start::up_to(limit));
        self.set_window(half);
        self.silent = true;
        self.clean_rounds = 0;
        self.rest = 0;
        self.path.on_timeout();
        (self.balanced, self.leap) = (None, 0);
    }

    fn window(&self) -> u64 {
        // R1: what is known of what is out is as old as the last status; or as the last but one, where one lost answer
        // would otherwise stop everything.
        let told = if self.path.is_seldom_told() { 2 * self.told } else { self.told };
        self.w.saturating_add(told)
    }

    fn leaps(&mut self, octets: u64) -> bool {
        let leaps = self.leap >= octets;
        if leaps {
            self.leap -= octets;
        }
        leaps
    }

    fn rate(&self) -> Option<u64> {
        let first = self.start.is_some_and(|it| it.limit == u64::MAX);
        if first && self.path.is_unknown() {
            // R2: the first burst goes at once.
            return None;
        }
        if let Some(rate) = self.balanced {
            return Some(rate);
        }
        Some(rate_of(self.w, self.path.horizon()?).max(1))
    }
}
