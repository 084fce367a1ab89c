//! When XTP asks for status, and what the answers say of the round trip.
//!
//! | | |
//! |---|---|
//! | Specification | none that is public: XTP 4.0 has a number that a question (SREQ) carries and its answer echoes, and leaves the rest to the sender. Smoothing after RFC 6298, named there and here SRTT, RTTVAR, G; paper 3 section 4.3 for [`Algorithm::Paper`] |
//! | The caller's part | to put the question into the packet, and its timer (WTIMER) with its back-off; to ask besides with the last packet that a window, the peer's or ours, lets go |
//! | Left out | the time that the peer takes to answer, which is in the sample: it answers at once |
//!
//! Each question has a number of its own, so an answer is never ambiguous, and Karn's rule has nothing to forbid. Of an
//! answer that was lost the next one takes the place: it echoes the largest number that arrived. A control packet that
//! was not asked for echoes a number that has been answered, and gives no sample.
//!
//! # What asking costs
//!
//! Each question costs a control packet, at both ends and on the way back. Let the sender send packets of P octets at a
//! rate of R octets/s without a pause, with the round trip RTT. Then of each data packet so many control packets come
//! back:
//!
//! ```text
//! paper     1 / max(ceil(RTT R / P), 1), and the questions that mended asks
//! mended    1 / max(ceil(I R / P), min(N / P, ceil(F R / P)))      I = max(RTT / k, T_floor), F = max(RTT, T_fresh)
//! ```
//!
//! The paper says that round trips are measured more often the shorter they are, and that more packets are *sent and
//! received* for it. So here a measurement is an exchange of its own, a question in a control packet and its answer,
//! and the next one begins with the first data packet after the answer: it takes RTT and what is left until the next
//! packet. Errors and flow are controlled by questions in data packets, as mended. With RTT below P/R that is one
//! exchange for *every* data packet, which is why its XTP is slowest at no delay. Mended, it is at most P/N whatever
//! the round trip, and at most 1/T_floor in a second. With packets of 9000 octets, the default N, and k = 4:
//!
//! | RTT | 17 Mb/s, paper | mended | 1 Gb/s, paper | mended |
//! |---|---|---|---|---|
//! | 0 | 1 | 1/16 | 1 | 1/70 |
//! | 1 ms | 1 | 1/16 | 1/14 | 1/70 |
//! | 10 ms | 1/3 | 1/16 | 1/139 | 1/70 |
//! | 50 ms | 1/12 | 1/16 | 1/695 | 1/174 |
//! | 200 ms | 1/48 | 1/16 | 1/2778 | 1/695 |
//!
//! Where a data packet costs a host d, and what belongs to a question c, the share of its time that goes into questions
//! is c s / (d + c s), with s from the table.
//!
//! # Why these defaults
//!
//! *N = 16 packets* bounds the share of control packets, which is what a slow host pays for: even with c as large as d
//! it loses 6 %. TCP's share is eight times as large. *T_floor = 5 ms* bounds their number in time, for hosts that send
//! so fast that N is soon reached: 200 in a second. *k = 4*: what is known to be free of a window is as old as RTT/k,
//! so a window W of the peer carries W / (RTT (1 + 1/k)); with k = 1 that would be half of W / RTT, with 4 it is 80 %.
//! And a lost question costs a quarter of a round trip. *T_fresh = 100 ms*: a sender of few packets knows what is going
//! on ten times in a second, or once in a longer round trip.

use core::mem;

use kumiki_graph::{Duration, Instant};
use kumiki_settings::Settings;

/// When to ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Algorithm {
    /// Behind the first data packet after the last answer, in an exchange of its own, as paper 3's words can be read
    /// (section 4.3): the shorter the round trip, the more often. Beside it as [`Algorithm::Mended`].
    Paper,
    /// Not more often than what is measured is worth: the mending that the paper asks for.
    #[default]
    Mended,
}

impl Algorithm {
    /// The words for it in settings.
    pub const WORDS: [(&'static str, Self); 2] =
        [(Self::Paper.name(), Self::Paper), (Self::Mended.name(), Self::Mended)];

    /// The word for it in settings: `paper`, `mended`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Mended => "mended",
        }
    }
}

/// The constants of an estimator.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// When the round trip is measured: as paper 3 does, or not more often than is worth it.
    #[setting(words = Algorithm::WORDS, within = "rtt")]
    pub algorithm: Algorithm,
    /// Mended: so many questions in a round trip (k).
    #[setting(1..=1000, within = "rtt")]
    pub per_rtt: u64,
    /// Mended: the least time between two questions (T_floor).
    #[setting(within = "rtt")]
    pub floor: Duration,
    /// Mended: the fewest octets of data between two questions (N), unless `fresh` passes.
    #[setting(0..=1 << 30, octets, within = "rtt")]
    pub octets: u64,
    /// Mended: after this, or after a longer round trip, a question is due whatever was sent (T_fresh).
    #[setting(positive, within = "rtt")]
    pub fresh: Duration,
    /// WTIMER before the first measurement.
    #[setting(positive, within = "wtimer")]
    pub initial: Duration,
    /// WTIMER is never below this.
    #[setting(positive, within = "wtimer")]
    pub minimum: Duration,
    /// WTIMER is never above this, nor is its back-off.
    #[setting(positive, within = "wtimer")]
    pub maximum: Duration,
    /// G: the variance term of WTIMER is never below this.
    #[setting(skip)]
    pub granularity: Duration,
}

impl Config {
    /// The defaults for packets of `packet` octets of data.
    #[must_use]
    pub fn new(packet: u32) -> Self {
        Self {
            algorithm: Algorithm::Mended,
            per_rtt: 4,
            floor: Duration::from_millis(5),
            octets: 16 * u64::from(packet),
            fresh: Duration::from_millis(100),
            initial: Duration::from_secs(1),
            minimum: Duration::from_millis(200),
            maximum: Duration::from_secs(60),
            granularity: Duration::from_millis(1),
        }
    }
}

/// How many questions are remembered.
const ASKED: usize = 64;
/// All has been lost so often before it waits: one loss more than two, as with questions (P19).
const IN_VAIN: u32 = 3;
/// Parts of [`MIN_SPAN`].
const MINIMA: usize = 10;
/// How long the shortest sample counts, to within a part.
const MIN_SPAN: Duration = Duration::from_secs(10);

/// SRTT and RTTVAR, once there is a sample.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    srtt: Duration,
    rttvar: Duration,
}

/// The estimator of one context.
#[derive(Clone, Debug)]
pub struct Estimator {
    config: Config,
    /// sync and when its question left, oldest first; at most [`ASKED`].
    asked: [Option<(u32, Instant)>; ASKED],
    /// Paper: the measurement that is not answered yet.
    in_flight: Option<u32>,
    /// When the last question left.
    last: Option<Instant>,
    /// Octets of data sent since.
    since: u64,
    estimate: Option<Estimate>,
    /// The shortest sample of each part of the last [`MIN_SPAN`], with the number of the part.
    minima: [Option<(u64, Duration)>; MINIMA],
    min: Option<Duration>,
}

/// Whether sync `a` is `b` or was given before it; numbers wrap.
const fn at_or_before(a: u32, b: u32) -> bool {
    b.wrapping_sub(a) < 1 << 31
}

impl Estimator {
    /// An estimator without samples.
    #[must_use]
    pub const fn new(config: &Config) -> Self {
        Self {
            config: *config,
            asked: [None; ASKED],
            in_flight: None,
            last: None,
            since: 0,
            estimate: None,
            minima: [None; MINIMA],
            min: None,
        }
    }

    /// Whether the next data packet should ask for status.
    #[must_use]
    pub fn due(&self, now: Instant) -> bool {
        let Some(last) = self.last else {
            return true;
        };
        let rtt = self.srtt().unwrap_or_default();
        let passed = now.saturating_since(last);
        let interval = (rtt / self.config.per_rtt.max(1)).max(self.config.floor);
        passed >= interval && (self.since >= self.config.octets || passed >= rtt.max(self.config.fresh))
    }

    /// Whether a measurement should follow this data packet, in a control packet of its own.
    #[must_use]
    pub fn measures(&self) -> bool {
        self.config.algorithm == Algorithm::Paper && self.in_flight.is_none()
    }

    /// The question `sync`, of which [`Estimator::asked`] has been told, is the measurement.
    pub const fn measured(&mut self, sync: u32) {
        self.in_flight = Some(sync);
    }

    /// A data packet of `octets` leaves. The one that asks counts for the time after its question: `asked` comes first.
    pub const fn sent(&mut self, octets: u64) {
        self.since = self.since.saturating_add(octets);
    }

    /// A packet with the question `sync` leaves, whether it was due or there was another reason for it.
    ///
    /// Of more than 64 unanswered questions the oldest are forgotten.
    pub fn asked(&mut self, sync: u32, now: Instant) {
        if let [Some(_), .., Some(_)] = self.asked {
            self.asked.rotate_left(1);
            let [.., last] = &mut self.asked;
            *last = None;
        }
        if let Some(free) = self.asked.iter_mut().find(|it| it.is_none()) {
            *free = Some((sync, now));
        }
        self.last = Some(now);
        self.since = 0;
    }

    /// A control packet came that echoes `echo`. Gives the sample, unless that question is not known or has been
    /// answered.
    pub fn answered(&mut self, echo: u32, now: Instant) -> Option<Duration> {
        self.in_flight.take_if(|sync| at_or_before(*sync, echo));
        let mut departure = None;
        let asked = mem::replace(&mut self.asked, [None; ASKED]);
        let mut kept = self.asked.iter_mut();
        for (sync, at) in asked.into_iter().flatten() {
            if sync == echo {
                departure = Some(at);
            } else if !at_or_before(sync, echo)
                && let Some(free) = kept.next()
            {
                *free = Some((sync, at));
            }
        }
        let sample = now.saturating_since(departure?);
        self.on_sample(sample, now);
        Some(sample)
    }

    /// RFC 6298 rules 2.2 and 2.3.
    fn on_sample(&mut self, r: Duration, now: Instant) {
        let estimate = match self.estimate {
            None => Estimate { srtt: r, rttvar: r / 2 },
            Some(Estimate { srtt, rttvar }) => Estimate {
                rttvar: (rttvar * 3 + srtt.max(r).saturating_sub(srtt.min(r))) / 4,
                srtt: (srtt * 7 + r) / 8,
            },
        };
        self.estimate = Some(estimate);
        let part = now.as_nanos() / (MIN_SPAN / MINIMA as u64).as_nanos().max(1);
        let place = usize::try_from(part % MINIMA as u64).unwrap_or(0);
        if let Some(place) = self.minima.get_mut(place) {
            *place = match *place {
                Some((its, min)) if its == part => Some((part, min.min(r))),
                _ => Some((part, r)),
            };
        }
        let recent = |its: u64| its + MINIMA as u64 > part;
        let minima = self.minima.iter().flatten();
        self.min = minima.filter(|it| recent(it.0)).map(|it| it.1).min();
    }

    /// SRTT, once there is a sample.
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        self.estimate.map(|estimate| estimate.srtt)
    }

    /// RTTVAR, once there is a sample.
    #[must_use]
    pub fn rttvar(&self) -> Option<Duration> {
        self.estimate.map(|estimate| estimate.rttvar)
    }

    /// The shortest sample of the last 10 s before the last sample; up to a second of them may be missing.
    #[must_use]
    pub const fn min(&self) -> Option<Duration> {
        self.min
    }

    /// After how long an answer is late, where there has been a sample: SRTT + max(G, 4 RTTVAR), without the bounds of
    /// WTIMER.
    #[must_use]
    pub fn late(&self) -> Option<Duration> {
        let Estimate { srtt, rttvar } = self.estimate?;
        Some(srtt + (rttvar * 4).max(self.config.granularity))
    }

    /// How long what was lost is kept back before it is retransmitted, where all that was out has been found to be lost
    /// for the `times`th time and nothing has come in between. Twice is bad luck, which no wait would change. Beyond
    /// that each time is twice as long, up to WTIMER: there is no room for it, or no way.
    #[must_use]
    pub fn wait_in_vain(&self, times: u32) -> Option<Duration> {
        let doubled = times.checked_sub(IN_VAIN)?;
        let late = self.late().unwrap_or_else(|| self.wtimer());
        let wait = late.saturating_mul(1 << doubled.min(16));
        Some(wait.min(self.wtimer()))
    }

    /// How long a peer that has no room is not asked again after `times` times in vain (P22); it says so by itself when
    /// it has some.
    #[must_use]
    pub fn wait_shut(&self, times: u32) -> Duration {
        let wait = self.wtimer().saturating_mul(1 << times.min(16));
        wait.min(self.config.maximum)
    }

    /// WTIMER: how long to wait for the answer to a question, SRTT + max(G, 4 RTTVAR), within its bounds.
    #[must_use]
    pub fn wtimer(&self) -> Duration {
        let Config { initial, minimum, maximum, .. } = self.config;
        self.late().unwrap_or(initial).max(minimum).min(maximum)
    }
}

#[cfg(test)]
mod tests;
