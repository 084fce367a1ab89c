//! What measurements can tell of prices, and what they cannot tell apart.
//!
//! | | |
//! |---|---|
//! | Specification | The covariance of a least-squares fit, s^2 (J'J)^-1, in the logarithms of the prices; intervals by Student's t with as many degrees of freedom as there are more measurements than prices; s is that of the residuals to the smooth surface of `surface`, and no less than runs are off it. A price that is seen only over a wide window has its slopes from there, however little it does where it ended. Correlations and the condition are of J'J with columns of equal length, so that no unit of a price matters (Belsley, Kuh and Welsch, "Regression Diagnostics", 1980) |
//! | Left out | what is not linear: an interval of a factor of two is a hint |

use super::least::{LeastSquares, sum};
use super::matrix::Matrix;
use crate::stats::{self, Level};

/// From here on two prices are not told apart.
pub(super) const ALIKE: f64 = 0.95;
/// Two prices that are not told apart have no intervals where either may be more or less by more than this factor: what
/// is known is their sum, a straight line in the prices and none in their logarithms, in which intervals are reckoned.
const FAR: f64 = 1.25;
/// Of the largest eigenvalue, what is taken for none.
const NONE: f64 = 1e-10;

/// What is known of prices that were fitted.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Certainty {
    /// Of each price the factor by which it may be more or less; nothing where it cannot be told.
    pub(super) factors: Vec<Option<f64>>,
    /// Prices that do nothing that is seen to what was measured.
    pub(super) idle: Vec<usize>,
    /// Pairs with the correlation of their errors, the closest first.
    pub(super) alike: Vec<(usize, usize, f64)>,
    /// How much further off the prices may be in the worst direction than in the best: the ratio of the greatest
    /// singular value to the least.
    pub(super) condition: f64,
}

impl Certainty {
    pub(super) fn of(least: &LeastSquares, level: Level) -> Self {
        let count = least.prices.len();
        let column = |place: usize| least.jacobian.iter().map(move |row| row.get(place).copied().unwrap_or(0.0));
        let norm = |place: usize| column(place).map(|it| it * it).sum::<f64>().sqrt();
        let active: Vec<usize> = (0..count).filter(|place| norm(*place) > 0.0).collect();
        let at = |it: usize| active.get(it).copied().unwrap_or(0);
        let product =
            |a: usize, b: usize| column(a).zip(column(b)).map(|(a, b)| a * b).sum::<f64>() / (norm(a) * norm(b));
        let (values, vectors) = Matrix::of(active.len(), |a, b| product(at(a), at(b))).eigen();
        let largest = values.iter().copied().fold(0.0, f64::max);
        let smallest = values.iter().copied().fold(f64::INFINITY, f64::min).max(NONE * largest);
        let covariance = |a: usize, b: usize| {
            let parts = values.iter().enumerate();
            let part = |(it, value): (usize, &f64)| vectors.at(a, it) * vectors.at(b, it) / value.max(NONE * largest);
            parts.map(part).sum::<f64>()
        };
        let degrees = least.residuals.len().checked_sub(active.len()).filter(|it| *it > 0);
        // Nothing is measured better than runs can resolve.
        let spread = degrees.and_then(|it| {
            Some((stats::student_t(level, it)?, (sum(&least.residuals) / float(it)).sqrt().max(least.scatter)))
        });
        let mut factors = vec![None; count];
        for (it, place) in active.iter().enumerate() {
            let factor = spread.map(|(t, s)| (t * s * covariance(it, it).sqrt() / norm(*place)).exp());
            if let Some(cell) = factors.get_mut(*place) {
                *cell = factor.filter(|factor| !factor.is_nan());
            }
        }
        let mut alike: Vec<(usize, usize, f64)> = Vec::new();
        for a in 0..active.len() {
            for b in a + 1..active.len() {
                let r = covariance(a, b) / (covariance(a, a) * covariance(b, b)).sqrt();
                if r.abs() >= ALIKE {
                    alike.push((at(a), at(b), r));
                }
            }
        }
        alike.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
        let condition = if active.is_empty() { 1.0 } else { (largest / smallest).sqrt() };
        Self { factors, idle: least.idle.clone(), alike, condition }
    }

    /// The price that makes up for this one so far that neither is known by itself.
    pub(super) fn not_told_from(&self, place: usize) -> Option<usize> {
        let is_far = |place: usize| self.factors.get(place).copied().flatten().is_some_and(|factor| factor > FAR);
        let of_two = self.alike.iter().find(|(a, b, _)| (*a == place || *b == place) && (is_far(*a) || is_far(*b)));
        of_two.map(|(a, b, _)| if *a == place { *b } else { *a })
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of measurements is far below 2^53")]
pub(super) const fn float(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn least(jacobian: &[&[f64]], residuals: &[f64]) -> LeastSquares {
        LeastSquares {
            prices: vec![1.0; jacobian[0].len()],
            residuals: residuals.to_vec(),
            jacobian: jacobian.iter().map(|row| row.to_vec()).collect(),
            steps: 0,
            scatter: 0.0,
            idle: Vec::new(),
            is_settled: true,
        }
    }

    /// A straight line through points: the textbook's error of the slope, s / sqrt(sum of (x - mean)^2).
    #[test]
    fn intervals_are_those_of_a_regression() {
        let rows: Vec<Vec<f64>> = [1.0, 2.0, 3.0, 4.0].map(|x| vec![1.0, x]).to_vec();
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let residuals = [0.01, -0.02, 0.01, 0.0];
        let certainty = Certainty::of(&least(&rows, &residuals), Level::P95);
        let s = (6e-4_f64 / 2.0).sqrt();
        let slope = (4.302_653 * s / 5.0_f64.sqrt()).exp();
        assert!((certainty.factors[1].unwrap() - slope).abs() < 1e-6, "{certainty:?}");
        // Their correlation is - mean / sqrt(mean of x^2) = -2.5 / sqrt(7.5).
        assert!(certainty.alike.is_empty() && certainty.idle.is_empty());
    }

    #[test]
    fn two_prices_that_do_the_same_are_not_told_apart_and_one_that_does_nothing_is_named() {
        let rows: [&[f64]; 4] = [&[1.0, 2.0, 0.0], &[0.5, 1.0, 0.0], &[0.8, 1.6001, 0.0], &[0.1, 0.2, 0.0]];
        let least_of = LeastSquares { idle: vec![2], ..least(&rows, &[0.01, 0.01, -0.01, 0.01]) };
        let certainty = Certainty::of(&least_of, Level::P95);
        assert_eq!((certainty.idle.as_slice(), certainty.factors[2]), ([2].as_slice(), None));
        let [(0, 1, r)] = certainty.alike[..] else { panic!("{certainty:?}") };
        assert!(r < -0.999 && certainty.condition > 1000.0, "{certainty:?}");
        assert_eq!([0, 1, 2].map(|place| certainty.not_told_from(place)), [Some(1), Some(0), None], "{certainty:?}");
        // Where both are known well all the same their intervals are, too.
        let exact = Certainty::of(&least(&rows, &[1e-9, 1e-9, -1e-9, 1e-9]), Level::P95);
        assert_eq!((exact.alike.len(), exact.not_told_from(0)), (1, None), "{exact:?}");
        let many = Certainty::of(&least(&[&[1.0, 0.0], &[0.0, 1.0]], &[0.1, 0.1]), Level::P95);
        assert_eq!(many.factors, [None, None], "as many prices as measurements");
    }
}
