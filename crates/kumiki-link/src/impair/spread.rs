//! How the times of units spread around the fixed delay.
//!
//! | | |
//! |---|---|
//! | Arithmetic | of whole numbers only, so that a seed gives the same times on every machine |
//! | Exponential | von Neumann's comparison of even draws ("Various techniques used in connection with random digits", 1951), which needs no logarithm |
//! | Left out | tables that a user gives, correlation from unit to unit |

use kumiki_graph::{Duration, Rng};

/// How the extra time of a unit is drawn; `jitter` is [`super::Impairment::jitter`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Spread {
    /// Evenly from nothing to `jitter`.
    #[default]
    Uniform,
    /// Around nothing with the standard deviation `jitter`: the sum of twelve even draws, so that none is more than six
    /// deviations away. Nothing leaves before it has come: a deviation below the fixed delay ends there.
    Normal,
    /// Exponentially with the mean `jitter`.
    Exponential,
    /// With a heavy tail: Lomax (Pareto from zero) of shape 4 and with the mean `jitter`; one in 360 is more than ten
    /// means.
    Pareto,
}

/// Extra times with no bound of their own end at so many means.
const MOST: u64 = 64;

impl Spread {
    /// The extra time of the next unit in ns, which is below zero where it is earlier than the mean.
    pub(super) fn draw(self, jitter: Duration, rng: &mut Rng) -> i64 {
        let jitter = jitter.as_nanos();
        if jitter == 0 {
            return 0;
        }
        let most = jitter.saturating_mul(MOST);
        let extra = match self {
            Self::Uniform => rng.below(jitter.saturating_add(1)),
            Self::Normal => return normal(jitter, rng),
            Self::Exponential => exponential(jitter, most, rng),
            Self::Pareto => pareto(jitter, rng).min(most),
        };
        i64::try_from(extra).unwrap_or(i64::MAX)
    }
}

/// Twelve even draws of 0 to 1 have a variance of 1 and a mean of 6 together.
fn normal(deviation: u64, rng: &mut Rng) -> i64 {
    let sum: i128 = (0..12).map(|_| i128::from(rng.next_u32())).sum();
    let around = sum - (6 << 32);
    i64::try_from((i128::from(deviation) * around) >> 32).unwrap_or(i64::MAX)
}

/// A run of draws each below the last: where its length is odd, its first is the fraction of the value, and runs of
/// even length before it are the whole.
fn exponential(mean: u64, most: u64, rng: &mut Rng) -> u64 {
    for whole in 0..MOST {
        let first = rng.next_u64();
        let (mut last, mut odd) = (first, true);
        loop {
            let next = rng.next_u64();
            if next >= last {
                break;
            }
            last = next;
            odd = !odd;
        }
        if odd {
            let fraction = (u128::from(mean) * u128::from(first)) >> 64;
            let fraction = u64::try_from(fraction).unwrap_or(mean);
            return mean.saturating_mul(whole).saturating_add(fraction);
        }
    }
    most
}

/// 3 (u^(-1/4) - 1) means, for an even draw u of 0 to 1: the mean is 1.
fn pareto(mean: u64, rng: &mut Rng) -> u64 {
    let one = 1_u128 << 64;
    let root = (u128::from(rng.next_u64()) << 64).isqrt();
    let root = (root << 64).isqrt().max(1);
    let excess = u128::from(mean).saturating_mul(3 * (one - root.min(one)));
    u64::try_from(excess / root).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "figures of a sample need no more than 53 bits")]
mod tests {
    use super::*;

    /// 100,000 draws with a jitter of 1 ms, in ms and in order.
    fn sample(spread: Spread) -> Vec<f64> {
        let (mut rng, jitter) = (Rng::new(7, 3), Duration::from_millis(1));
        let mut drawn: Vec<i64> = (0..100_000).map(|_| spread.draw(jitter, &mut rng)).collect();
        drawn.sort_unstable();
        drawn.into_iter().map(|ns| ns as f64 / 1e6).collect()
    }

    fn mean(sample: &[f64]) -> f64 {
        sample.iter().sum::<f64>() / sample.len() as f64
    }

    /// The quantiles that tables of the distributions have; 0.02 is four deviations of the median of such a sample.
    fn has(sample: &[f64], quantiles: &[(usize, f64, f64)]) {
        for (per_mille, expected, within) in quantiles {
            let got = sample[sample.len() * per_mille / 1000];
            assert!((got - expected).abs() < *within, "{per_mille} of a thousand: {got}, not {expected}");
        }
    }

    #[test]
    fn even_draws_stay_within_the_jitter() {
        let sample = sample(Spread::Uniform);
        assert!(sample[0] >= 0.0 && *sample.last().unwrap() <= 1.0);
        has(&sample, &[(100, 0.1, 0.01), (500, 0.5, 0.01), (990, 0.99, 0.01)]);
    }

    #[test]
    fn normal_draws_have_the_quantiles_of_the_normal_distribution() {
        let sample = sample(Spread::Normal);
        assert!(mean(&sample).abs() < 0.02);
        let quantiles =
            [(23, -1.9954, 0.05), (159, -0.9986, 0.02), (500, 0.0, 0.02), (841, 0.9986, 0.02), (977, 1.9954, 0.05)];
        has(&sample, &quantiles);
    }

    #[test]
    fn exponential_draws_have_the_quantiles_of_the_exponential_distribution() {
        let sample = sample(Spread::Exponential);
        assert!((mean(&sample) - 1.0).abs() < 0.02);
        // -ln(1 - p).
        let quantiles = [(100, 0.10536, 0.01), (500, core::f64::consts::LN_2, 0.02), (990, 4.60517, 0.2)];
        has(&sample, &quantiles);
    }

    #[test]
    fn pareto_draws_have_the_tail_that_is_said() {
        let sample = sample(Spread::Pareto);
        assert!((mean(&sample) - 1.0).abs() < 0.03, "{}", mean(&sample));
        // 3 ((1 - p)^(-1/4) - 1).
        let quantiles = [(500, 0.56762, 0.02), (990, 6.48683, 0.4)];
        has(&sample, &quantiles);
        let far = sample.iter().filter(|ms| **ms > 10.0).count();
        assert!((220..340).contains(&far), "{far}");
    }

    #[test]
    fn no_jitter_takes_no_draw_and_the_longest_does_not_overflow() {
        for spread in [Spread::Uniform, Spread::Normal, Spread::Exponential, Spread::Pareto] {
            let (mut rng, mut same) = (Rng::new(1, 0), Rng::new(1, 0));
            assert_eq!(spread.draw(Duration::ZERO, &mut rng), 0);
            assert_eq!(rng.next_u64(), same.next_u64());
            for _ in 0..1000 {
                spread.draw(Duration::from_nanos(u64::MAX), &mut rng);
            }
        }
    }
}
