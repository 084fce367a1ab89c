//! How long nothing came.

use kumiki_graph::{Duration, Instant};

/// The longest times between two arrivals on a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Gaps {
    /// Of all.
    pub longest: Duration,
    /// Of those that are measured, and of the one that was in flight when that began, what was left of it.
    pub measured: Duration,
    from: Instant,
}

impl Gaps {
    /// What was so far is not measured.
    pub(super) const fn measure_from(&mut self, now: Instant) {
        (self.from, self.measured) = (now, Duration::ZERO);
    }

    /// Something has come, for the first time or after `last`.
    pub(super) fn arrived(&mut self, last: Option<Instant>, now: Instant) {
        let Some(last) = last else {
            return;
        };
        self.longest = self.longest.max(now.saturating_since(last));
        self.measured = self.measured.max(now.saturating_since(last.max(self.from)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_gap_that_began_before_only_the_rest_is_measured() {
        let at = |second| Instant::ZERO + Duration::from_secs(second);
        let mut gaps = Gaps::default();
        gaps.arrived(None, at(1));
        gaps.arrived(Some(at(1)), at(4));
        assert_eq!(gaps.measured, Duration::from_secs(3));
        gaps.measure_from(at(9));
        gaps.arrived(Some(at(4)), at(10));
        gaps.arrived(Some(at(10)), at(12));
        assert_eq!((gaps.longest, gaps.measured), (Duration::from_secs(6), Duration::from_secs(2)));
    }
}
