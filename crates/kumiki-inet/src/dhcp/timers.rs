//! How long the client waits.

use kumiki_graph::{Duration, Rng};

/// The first message that is not answered is retransmitted after about so long (RFC 2131 section 4.1).
const FIRST: Duration = Duration::from_secs(4);
/// And none later than after this.
const LAST: Duration = Duration::from_secs(64);
/// Each of these is made longer or shorter by as much.
const JITTER: Duration = Duration::from_secs(1);

/// A request is sent so often before the client looks for servers again: a minute (sections 3.1 (5) and 3.2 (3)).
pub(super) const MOST_TRIES: u32 = 4;
/// A request for more time is not retransmitted before that (section 4.4.5).
pub(super) const LEAST_WAIT: Duration = Duration::from_secs(60);
/// From a decline to the next attempt (section 3.1 (5)).
pub(super) const AFTER_DECLINE: Duration = Duration::from_secs(10);

/// How long an answer is waited for, to a message that has been sent so often: twice as long each time, and a second
/// more or less.
pub(super) fn back_off(tries: u32, rng: &mut Rng) -> Duration {
    let doubled = 1_u64.checked_shl(tries.saturating_sub(1)).unwrap_or(u64::MAX);
    let base = FIRST.saturating_mul(doubled).min(LAST);
    base - JITTER + Duration::from_nanos(rng.below(JITTER.as_nanos().saturating_mul(2)))
}
