//! Round-trip time and retransmission time-out.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 6298, named there and here SRTT, RTTVAR, RTO, G |
//! | The caller's part | which samples may be taken (Karn, RFC 6298 section 3), the timer itself (section 5) |
//! | Left out | the reweighting of RFC 7323 appendix G: see [`Rtt::on_sample`] |

use crate::settable::Settings;
use kumiki_graph::{Duration, OptionalTime};
#[cfg(feature = "settings")]
use kumiki_settings::{BuildError, Reader};

/// The constants of an estimator.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
#[settings(check = in_order)]
pub struct Config {
    /// Retransmission time-out before the first sample.
    #[setting(positive)]
    pub initial: Duration,
    /// It is never below this (RFC 6298 rule 2.4).
    #[setting(positive)]
    pub minimum: Duration,
    /// It is never above this, backed off or not (rules 2.5 and 5.5).
    #[setting(positive)]
    pub maximum: Duration,
    /// Its variance term is never below this (G of RFC 6298).
    ///
    /// Rule 2.3 and section 4.
    pub granularity: Duration,
    /// Round-trip times are measured in ticks of this length; 0 s: exactly.
    ///
    /// Samples are rounded to the nearest tick and RTO is rounded up to a whole number of them. The phase of the ticks
    /// belongs to the caller's timer.
    pub tick: Duration,
}

impl Config {
    /// RFC 6298 with a clock of 1 ms, and the 120 s maximum that most systems have.
    pub const RFC6298: Self = Self {
        initial: Duration::from_secs(1),
        minimum: Duration::from_secs(1),
        maximum: Duration::from_secs(120),
        granularity: Duration::from_millis(1),
        tick: Duration::ZERO,
    };

    /// As Linux sets it: RTO between 200 ms and 120 s.
    pub const LINUX: Self = Self { minimum: Duration::from_millis(200), ..Self::RFC6298 };

    /// As 4.3BSD-Reno and its kin: ticks of 500 ms, RTO between 2 and 128 ticks, 12 ticks before the first sample.
    pub const BSD: Self = Self {
        initial: Duration::from_secs(6),
        minimum: Duration::from_secs(1),
        maximum: Duration::from_secs(64),
        granularity: Duration::from_millis(500),
        tick: Duration::from_millis(500),
    };
}

impl Default for Config {
    fn default() -> Self {
        Self::RFC6298
    }
}

impl Config {
    /// The nearest whole number of ticks, where the clock has ticks.
    fn in_ticks(&self, time: Duration) -> Duration {
        let tick = self.tick;
        if tick.is_zero() {
            return time;
        }
        let ticks = (time + tick / 2).as_nanos() / tick.as_nanos();
        tick * ticks
    }
}

#[cfg(feature = "settings")]
fn in_order(config: &Config, reader: &Reader<'_>) -> Result<(), BuildError> {
    if config.minimum > config.maximum {
        let expected = format!("at most the maximum of {}", config.maximum);
        return Err(reader.wrong("minimum", &config.minimum, &expected));
    }
    Ok(())
}

/// The estimator of one connection; its [`Config`] is the caller's, who has it once for many connections.
#[derive(Clone, Debug)]
pub struct Rtt {
    /// SRTT; before there is a sample, RTO without back-off.
    srtt: Duration,
    /// RTTVAR, once there is a sample.
    rttvar: OptionalTime<Duration>,
    min: OptionalTime<Duration>,
    samples: u32,
    /// How often RTO has been doubled since the last sample.
    back_offs: u32,
}

impl Rtt {
    /// An estimator without samples.
    #[must_use]
    pub const fn new(config: &Config) -> Self {
        Self { srtt: config.initial, rttvar: OptionalTime::NONE, min: OptionalTime::NONE, samples: 0, back_offs: 0 }
    }

    /// Takes a measured round-trip time and ends the back-off (RFC 6298 rules 2.2, 2.3 and the note after 5.7; RFC 9293
    /// MUST-18).
    ///
    /// The caller keeps Karn's rule: no sample of a segment that was sent more than once, unless a timestamp tells
    /// which copy was answered. With timestamps there may be many samples per round trip; each has the full weight,
    /// since RFC 6298 leaves the weights alone and the minimum RTO hides what the shorter memory would do. A caller
    /// that wants one sample per round trip passes only one.
    pub fn on_sample(&mut self, sample: Duration, config: &Config) {
        let r = config.in_ticks(sample);
        let rttvar = match self.rttvar.known() {
            None => {
                self.srtt = r;
                r / 2
            }
            Some(rttvar) => {
                let error = Duration::from_nanos(self.srtt.as_nanos().abs_diff(r.as_nanos()));
                self.srtt = (self.srtt * 7 + r) / 8;
                (rttvar * 3 + error) / 4
            }
        };
        self.rttvar = Some(rttvar).into();
        self.back_offs = 0;
        self.samples = self.samples.wrapping_add(1);
        self.min = Some(self.min.known().map_or(sample, |min| min.min(sample))).into();
    }

    /// RTO before back-off, and before its bounds.
    fn base(&self, config: &Config) -> Duration {
        let var = self.rttvar.known().map(|rttvar| (rttvar * 4).max(config.granularity));
        self.srtt + var.unwrap_or_default()
    }

    /// RTO: how long to wait for an acknowledgment before sending again, back-off included.
    #[must_use]
    pub fn rto(&self, config: &Config) -> Duration {
        let mut rto = self.base(config).max(config.minimum);
        if self.back_offs > 0 {
            rto = rto * 1u64.checked_shl(self.back_offs).unwrap_or(u64::MAX);
        }
        let tick = config.tick;
        let rto = if tick.is_zero() { rto } else { tick * rto.as_nanos().div_ceil(tick.as_nanos()) };
        rto.min(config.maximum)
    }

    /// After how long an answer is overdue, though the timer has not expired: where it has before, as soon as it takes
    /// longer than round trips did (RTO without its bounds and its back-off); else after half of RTO, for a first burst
    /// may wait in a queue that no round trip has seen.
    #[must_use]
    pub fn overdue(&self, config: &Config) -> Duration {
        let base = self.base(config);
        if self.back_offs > 0 { base } else { base.max(self.rto(config) / 2) }
    }

    /// The timer expired: RTO doubles (rule 5.5; RFC 9293 MUST-19).
    pub fn back_off(&mut self) {
        // Beyond this the maximum has long been reached, and a larger shift would lose its meaning.
        self.back_offs = (self.back_offs + 1).min(63);
    }

    /// How often RTO has been doubled since the last sample or [`Rtt::reset_back_off`].
    #[must_use]
    pub const fn back_offs(&self) -> u32 {
        self.back_offs
    }

    /// Takes all doublings back without a sample, as when the time-out turns out to have been spurious.
    pub const fn reset_back_off(&mut self) {
        self.back_offs = 0;
    }

    /// Forgets all estimates and starts again with RTO = `initial`: 3 s when data transmission begins after a SYN had
    /// to be retransmitted (rule 5.7), or any time after several back-offs (the note after it).
    pub const fn restart(&mut self, initial: Duration) {
        (self.srtt, self.rttvar) = (initial, OptionalTime::NONE);
        self.back_offs = 0;
    }

    /// SRTT, once there is a sample.
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        (!self.rttvar.is_none()).then_some(self.srtt)
    }

    /// RTTVAR, once there is a sample.
    #[must_use]
    pub fn rttvar(&self) -> Option<Duration> {
        self.rttvar.known()
    }

    /// The shortest sample ever, not rounded to ticks.
    #[must_use]
    pub fn min(&self) -> Option<Duration> {
        self.min.known()
    }

    /// How many samples there have been, modulo 2^32.
    #[must_use]
    pub const fn samples(&self) -> u32 {
        self.samples
    }
}

#[cfg(test)]
mod tests;
