//! Least squares over prices.
//!
//! | | |
//! |---|---|
//! | Specification | Levenberg (1944) and Marquardt (1963), in the logarithms of the prices and within ranges. Derivatives are differences over 5 % of a price: what a simulation gives moves in small steps (a packet more or less), and over the tiny differences that smooth functions allow it would stand still or leap |
//! | Why not a crate | those that are well kept want derivatives from their caller, bring a linear algebra of their own (nalgebra, some thirty packages), and know no ranges; what they would save is this page |
//! | Left out | several beginnings; weights |

use super::matrix::Matrix;

/// Over which difference of the logarithm derivatives are taken.
const STEP: f64 = 0.05;
/// The same for what is said of the result, on both sides: what a price of little effect does has to stand out of the small steps.
const WIDE_STEP: f64 = 0.2;
/// A step multiplies or divides a price by no more than this.
const LONGEST: f64 = 3.0;
/// More steps bring nothing.
const MOST_STEPS: u32 = 30;
/// A step that gains less of the sum of squares is the last.
const LEAST_GAIN: f64 = 1e-4;
/// Dampings that are tried together, beside the last one that was good.
const DAMPINGS: [f64; 4] = [0.03, 1.0, 30.0, 1000.0];
/// Where none of them gains, so many times as much is tried next.
const MORE: f64 = 1e4;
/// Above this a step is next to nothing: where none has gained, the sum is least.
const MOST_DAMPING: f64 = 1e6;

/// A price that may move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) start: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// Where the sum of squares is least.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Least {
    pub(super) prices: Vec<f64>,
    pub(super) residuals: Vec<f64>,
    /// Of each residual, by how much it grows with the logarithm of each price.
    pub(super) jacobian: Vec<Vec<f64>>,
    pub(super) steps: u32,
}

/// Finds the prices for which the squares of what `evaluate` gives are least. It is asked for several lists of prices at once, and gives as many numbers for each.
pub(super) fn find<E>(
    ranges: &[Range],
    mut evaluate: impl FnMut(&[Vec<f64>]) -> Result<Vec<Vec<f64>>, E>,
    mut tell: impl FnMut(u32, f64),
) -> Result<Least, E> {
    let prices = |logs: &[f64]| -> Vec<f64> {
        logs.iter().zip(ranges).map(|(log, range)| log.exp().clamp(range.low, range.high)).collect()
    };
    let within = |log: f64, range: &Range| log.clamp(range.low.ln(), range.high.ln());
    let mut logs: Vec<f64> = ranges.iter().map(|range| within(range.start.ln(), range)).collect();
    let mut residuals = evaluate(&[prices(&logs)])?.pop().unwrap_or_default();
    let mut damping = 1e-2;
    let mut steps = 0;
    while steps < MOST_STEPS {
        tell(steps, sum(&residuals));
        // One side will do on the way; at an end of its range a price moves inwards.
        let moves: Vec<f64> = logs
            .iter()
            .zip(ranges)
            .map(|(log, range)| if log + STEP > range.high.ln() { -STEP } else { STEP })
            .collect();
        let moved = |place: usize, by: f64| {
            let mut logs = logs.clone();
            if let Some(log) = logs.get_mut(place) {
                *log += by;
            }
            // Not clamped: for a derivative a price may be a little beyond its range.
            logs.iter().map(|log| log.exp()).collect::<Vec<f64>>()
        };
        let asked: Vec<Vec<f64>> = moves.iter().enumerate().map(|(place, by)| moved(place, *by)).collect();
        let beside = evaluate(&asked)?;
        let jacobian = slopes(&residuals, &beside, &moves);
        let end = |damping: f64| -> Vec<f64> {
            let step = step(&jacobian, &residuals, damping).unwrap_or_else(|| vec![0.0; logs.len()]);
            let longest = LONGEST.ln();
            let ends = logs.iter().zip(step).zip(ranges);
            ends.map(|((log, step), range)| within(log + step.clamp(-longest, longest), range)).collect()
        };
        let mut better = None;
        while better.is_none() && damping <= MOST_DAMPING {
            let tried: Vec<(f64, Vec<f64>)> =
                DAMPINGS.iter().map(|times| (damping * times, end(damping * times))).collect();
            let asked: Vec<Vec<f64>> = tried.iter().map(|(_, logs)| prices(logs)).collect();
            let found = evaluate(&asked)?;
            let best = tried.into_iter().zip(found).min_by(|a, b| sum(&a.1).total_cmp(&sum(&b.1)));
            better = best.filter(|(_, found)| sum(found) < sum(&residuals));
            damping *= MORE;
        }
        let Some(((good, end), found)) = better else {
            break;
        };
        steps += 1;
        let gain = 1.0 - sum(&found) / sum(&residuals);
        (logs, residuals) = (end, found);
        damping = good.clamp(1e-9, MOST_DAMPING);
        if gain < LEAST_GAIN {
            break;
        }
    }
    // What is said of the result rests on both sides.
    let sides: Vec<Vec<f64>> = (0..logs.len())
        .flat_map(|place| [-WIDE_STEP, WIDE_STEP].map(|by| (place, by)))
        .map(|(place, by)| {
            logs.iter().enumerate().map(|(it, log)| (log + if it == place { by } else { 0.0 }).exp()).collect()
        })
        .collect();
    let both = evaluate(&sides)?;
    let jacobian = (0..residuals.len()).map(|row| {
        let at = |side: &Vec<f64>| side.get(row).copied().unwrap_or(0.0);
        both.chunks(2).map(|pair| pair.iter().map(at).fold(0.0, |low, high| high - low) / (2.0 * WIDE_STEP)).collect()
    });
    // A fold from 0 over two gives the second less the first.
    Ok(Least { prices: prices(&logs), jacobian: jacobian.collect(), residuals, steps })
}

/// The sum of squares.
pub(super) fn sum(residuals: &[f64]) -> f64 {
    residuals.iter().map(|it| it * it).sum()
}

/// By residual, then by price.
fn slopes(residuals: &[f64], beside: &[Vec<f64>], moves: &[f64]) -> Vec<Vec<f64>> {
    let of = |(row, here): (usize, &f64)| {
        let sides = beside.iter().zip(moves);
        sides.map(|(side, by)| (side.get(row).copied().unwrap_or(*here) - here) / by).collect()
    };
    residuals.iter().enumerate().map(of).collect()
}

/// The step of the damped normal equations.
fn step(jacobian: &[Vec<f64>], residuals: &[f64], damping: f64) -> Option<Vec<f64>> {
    let size = jacobian.first()?.len();
    let cell = |row: &Vec<f64>, place: usize| row.get(place).copied().unwrap_or(0.0);
    let product = |a: usize, b: usize| jacobian.iter().map(|row| cell(row, a) * cell(row, b)).sum::<f64>();
    let largest = (0..size).map(|it| product(it, it)).fold(0.0, f64::max);
    // A price that does nothing here stays where it is.
    let floor = (largest * 1e-12).max(f64::MIN_POSITIVE);
    let normal = Matrix::of(size, |a, b| if a == b { product(a, a) * (1.0 + damping) + floor } else { product(a, b) });
    let right: Vec<f64> = (0..size)
        .map(|place| -jacobian.iter().zip(residuals).map(|(row, it)| cell(row, place) * it).sum::<f64>())
        .collect();
    normal.solve(&right)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: f64) -> Range {
        Range { start, low: start / 100.0, high: start * 100.0 }
    }

    /// Rates of a line that takes so long for each packet and each octet.
    fn rate(prices: &[f64]) -> Vec<f64> {
        [64.0, 256.0, 1024.0, 4096.0].map(|size| size / (prices[0] + prices[1] * size)).to_vec()
    }

    #[test]
    fn known_prices_are_found() {
        let measured = rate(&[30.0, 0.05]);
        let evaluate = |all: &[Vec<f64>]| {
            let of = |prices: &Vec<f64>| rate(prices).iter().zip(&measured).map(|(ours, it)| ours / it - 1.0).collect();
            Ok::<_, ()>(all.iter().map(of).collect())
        };
        let least = find(&[range(3.0), range(0.5)], evaluate, |_, _| {}).unwrap();
        assert!(
            (least.prices[0] / 30.0 - 1.0).abs() < 1e-3 && (least.prices[1] / 0.05 - 1.0).abs() < 1e-3,
            "{least:?}"
        );
        // The price of a packet is 30 / (30 + 3.2) of the time for 64 octets.
        assert!((least.jacobian[0][0] + 30.0 / 33.2).abs() < 1e-2, "{least:?}");
        assert!((least.jacobian[0][1] + 3.2 / 33.2).abs() < 1e-2, "{least:?}");
    }

    /// A gentle slope that ends close by in a steep wall: every longer step ends on the wall.
    #[test]
    fn steps_are_damped_until_one_gains() {
        let residual = |price: f64| {
            let log = price.ln();
            1.0 + 0.5 * log + 1e3 * (-0.01 - log).max(0.0)
        };
        let evaluate = |all: &[Vec<f64>]| Ok::<_, ()>(all.iter().map(|it| vec![residual(it[0])]).collect());
        let least = find(&[range(1.0)], evaluate, |_, _| {}).unwrap();
        assert!(least.steps > 0 && (-0.01..-0.0005).contains(&least.prices[0].ln()), "{least:?}");
    }

    #[test]
    fn a_price_stays_in_its_range() {
        let evaluate = |all: &[Vec<f64>]| Ok::<_, ()>(all.iter().map(|it| vec![it[0] / 50.0 - 1.0]).collect());
        let least = find(&[Range { start: 5.0, low: 1.0, high: 10.0 }], evaluate, |_, _| {}).unwrap();
        assert!((least.prices[0] - 10.0).abs() < 1e-9, "{least:?}");
    }
}
