//! What is drawn, and how.
//!
//! Nothing here is drawn as a floating-point number with a logarithm in it: sizes and times that spread over decades
//! are drawn as a power of two and the bits below it, so that a seed means the same case on every machine.

use kumiki_graph::{Duration, Rng};

/// Draws with words of their own.
pub(super) struct CaseRng(Rng);

impl CaseRng {
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        // Streams of a seed up to 255 belong to hosts and elements.
        Self(Rng::new(seed, 256 + stream))
    }

    /// A number below `n`.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    pub(super) fn one_in(&mut self, n: u64) -> bool {
        self.0.below(n) == 0
    }

    /// A number of `least..=most`, each power of two in between as likely as the other; `least` is at least 1.
    pub(super) fn spread(&mut self, least: u64, most: u64) -> u64 {
        let (low, high) = (least.max(1).ilog2(), most.max(1).ilog2());
        let power = u64::from(low) + self.0.below(u64::from(high.saturating_sub(low)) + 1);
        let base = 1_u64 << power;
        (base + self.0.below(base)).clamp(least, most.max(least))
    }

    pub(super) fn narrow(&mut self, least: u32, most: u32) -> u32 {
        u32::try_from(self.spread(least.into(), most.into())).unwrap_or(most)
    }

    pub(super) fn uniform(&mut self, least: u64, most: u64) -> u64 {
        least + self.0.below(most.saturating_sub(least) + 1)
    }

    /// A time, spread like [`CaseRng::spread`].
    pub(super) fn time(&mut self, least: Duration, most: Duration) -> Duration {
        Duration::from_nanos(self.spread(least.as_nanos(), most.as_nanos()))
    }

    /// Between 2^-`rare` and `most` parts of 1024.
    pub(super) fn probability(&mut self, most: u64) -> f64 {
        let p = self.spread(1, most << 10);
        #[expect(clippy::cast_precision_loss, reason = "below 2^20")]
        let p = p as f64;
        p / 1_048_576.0
    }

    pub(super) fn pick<T: Copy>(&mut self, of: &[T], or: T) -> T {
        let n = self.0.below(u64::try_from(of.len()).unwrap_or(0));
        usize::try_from(n).ok().and_then(|n| of.get(n)).copied().unwrap_or(or)
    }
}

pub(super) const fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

pub(super) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(super) const fn s(n: u64) -> Duration {
    Duration::from_secs(n)
}
