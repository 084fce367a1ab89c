//! Where the token is while it goes around and nobody holds it.

use kumiki_graph::{Duration, Instant};

/// A token on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Token {
    /// The station that it left last, of those that are known.
    pub(super) left: usize,
    /// When its last symbol did.
    pub(super) at: Instant,
}

impl Token {
    /// When it comes to the station that is `way` from where it left, not before `since`, on a ring that takes
    /// `around`. A ring without work is not followed turn by turn.
    pub(super) fn comes(&self, way: Duration, around: Duration, since: Instant) -> Instant {
        let first = self.at + way;
        if first >= since {
            return first;
        }
        first + turns(since.saturating_since(first), around, true)
    }
}

/// As many whole turns as `time` has; `beyond` lets them reach to its end.
pub(super) fn turns(time: Duration, around: Duration, beyond: bool) -> Duration {
    let (time, around) = (time.as_nanos(), around.as_nanos().max(1));
    let count = if beyond { time.div_ceil(around) } else { time / around };
    Duration::from_nanos(count.saturating_mul(around))
}
