//! How often something may happen.

use crate::{Duration, Instant};

/// A token bucket (RFC 1812 section 4.3.2.8, RFC 4443 section 2.4 (f)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate {
    /// How many in the long run, each second; 0 for none at all.
    pub per_second: u32,
    /// How many at once.
    pub burst: u32,
}

impl Default for Rate {
    fn default() -> Self {
        Self { per_second: 1000, burst: 50 }
    }
}

/// A token bucket, kept as the time at which it will be full again (the virtual scheduling form of GCRA).
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    /// What one token takes to come; `None` where none ever does.
    each: Option<Duration>,
    /// How far ahead of the present the time may be.
    ahead: Duration,
    full: Instant,
}

impl Bucket {
    /// A full one.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        let each = 1_000_000_000_u64.checked_div(u64::from(rate.per_second));
        let each = each.filter(|_| rate.burst > 0).map(|each| Duration::from_nanos(each.max(1)));
        let ahead = each.unwrap_or_default() * u64::from(rate.burst.saturating_sub(1));
        Self { each, ahead, full: Instant::ZERO }
    }

    /// Takes a token, if there is one.
    pub fn take(&mut self, now: Instant) -> bool {
        let Some(each) = self.each else {
            return false;
        };
        if self.full.saturating_since(now) > self.ahead {
            return false;
        }
        self.full = self.full.max(now) + each;
        true
    }
}
