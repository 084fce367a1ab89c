//! How often segments that cannot be are answered.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 5961 section 7 (throttling of challenges) |
//! | Per connection | so that what one connection is asked shows nothing of another; a limit that all share can be used up by an attacker, who then learns from his own connection whether a guess at another was challenged (CVE-2016-5696) |
//! | Overall | off unless configured; where it is on, each second has a random number of challenges around it |
//! | ACK loops | two ends that disagree on sequence numbers answer each other; a segment is answered only once in [`super::Config::challenge_interval`], so such a loop ends. Copies of what was received lately are answered as often as a sender that sends everything again can need it |

use kumiki_graph::{Duration, Instant, Rng};

/// Copies that one connection answers in a burst.
const BURST: u64 = 256;
/// And how fast it earns another one.
const EARN: Duration = Duration::from_millis(1);

/// What one connection has answered.
#[derive(Debug, Default)]
pub(crate) struct Challenges {
    /// When anything but a copy was answered last.
    last: Option<Instant>,
    /// When the whole burst will be there again.
    full: Instant,
}

impl Challenges {
    pub(crate) fn allow(&mut self, is_copy: bool, interval: Duration, now: Instant) -> bool {
        if is_copy {
            if self.full.saturating_since(now) >= EARN * BURST {
                return false;
            }
            self.full = self.full.max(now) + EARN;
            return true;
        }
        let waits = |last| now.saturating_since(last) < interval;
        if self.last.is_some_and(waits) {
            return false;
        }
        self.last = Some(now);
        true
    }
}

/// What all connections together may answer in this second.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    second: Option<u64>,
    left: u64,
}

impl Budget {
    /// Takes one, where there is one; `limit` a second on average, 0: no limit.
    pub(crate) fn take(&mut self, limit: u32, now: Instant, rng: &mut Rng) -> bool {
        if limit == 0 {
            return true;
        }
        let limit = u64::from(limit);
        let second = now.as_nanos() / 1_000_000_000;
        if self.second.replace(second) != Some(second) {
            self.left = limit / 2 + rng.below(limit + 1);
        }
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        true
    }
}
