//! How often segments that cannot be are answered.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 5961 section 7 (throttling of challenges) |
//! | Per connection | so that what one connection is asked shows nothing of another; a limit that all share can be used up by an attacker, who then learns from his own connection whether a guess at another was challenged (CVE-2016-5696) |
//! | Overall | off unless configured; where it is on, each second has a random number of challenges around it |
//! | ACK loops | two ends that disagree on sequence numbers answer each other; a segment is answered only once in [`super::Config::challenge_interval`], so such a loop ends. Copies in good standing of what was received lately are answered as often as a sender that sends everything again can need it |

use kumiki_graph::{Duration, Instant, OptionalTime, Rng};
use kumiki_octets::Blank;

/// Copies that one connection answers in a burst.
const BURST: u64 = 256;
/// And how fast it earns another one.
const EARN: Duration = Duration::from_millis(1);

/// How much speaks for a segment that is refused. Each kind is answered from an account of its own, so that nobody can
/// use up by forgery what the peer's own are to have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Plausibility {
    /// It lies where the window has been lately, brings text or FIN, and is in order otherwise.
    Copy,
    /// It fails in its place alone, as do questions of keep-alive and for a window.
    Misplaced,
    /// It cannot be the peer's, or the peer has lost its state.
    Impossible,
}

/// What one connection has answered.
#[derive(Debug, Default)]
pub(crate) struct Challenges {
    /// When anything misplaced was answered last, and anything impossible.
    misplaced: OptionalTime<Instant>,
    impossible: OptionalTime<Instant>,
    /// When the whole burst will be there again.
    full: Instant,
}

impl Blank for Challenges {
    const BLANK: &'static Self =
        &Self { misplaced: OptionalTime::NONE, impossible: OptionalTime::NONE, full: Instant::ZERO };
}

impl Challenges {
    pub(crate) fn allow(&mut self, standing: Plausibility, interval: Duration, now: Instant) -> bool {
        let last = match standing {
            Plausibility::Copy => {
                if self.full.saturating_since(now) >= EARN * BURST {
                    return false;
                }
                self.full = self.full.max(now) + EARN;
                return true;
            }
            Plausibility::Misplaced => &mut self.misplaced,
            Plausibility::Impossible => &mut self.impossible,
        };
        let waits = |last| now.saturating_since(last) < interval;
        if last.known().is_some_and(waits) {
            return false;
        }
        *last = Some(now).into();
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
