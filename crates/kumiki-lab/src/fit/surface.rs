//! What runs give around a place, smoothed.
//!
//! | | |
//! |---|---|
//! | Specification | Box and Wilson, "On the experimental attainment of optimum conditions" (1951): a quadratic in the logarithms of the prices, by least squares through runs around a place (a central composite design) |
//! | Why | a run counts whole packets, so what it gives moves in small steps: the least of the sum of squares among these steps is anywhere near the prices that were meant, with residuals that say nothing of how near. Those to a smooth surface do, and by how much runs are off that is what they can resolve at all |
//! | Left out | more than quadratics; that some measurements are rougher than others |

use super::certainty::float;
use super::matrix::Matrix;

/// How far around in the logarithm of a price: what a price of little effect does has to stand out of the small steps.
pub(super) const WIDTH: f64 = 0.2;

/// A price of which a tenth more changes the results by less than 0.01 % does nothing to them.
const IDLE: f64 = 1e-3;

/// Slopes are some where they are so many times as large as what they may be off, for the small steps in which results move.
const STANDS_OUT: f64 = 3.0;

/// Quadratics, one of each residual, around a place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Surface {
    /// Of each residual what each of [`terms`] is multiplied by.
    rows: Vec<Vec<f64>>,
    /// By how much runs are off the surface: the root of the mean square.
    pub(super) scatter: f64,
    /// How far off slopes are for that.
    slope_error: f64,
}

/// Where to look around a place: along each price, and where two of them move at once.
pub(super) fn design(size: usize) -> Vec<Vec<f64>> {
    const ALONG: [f64; 6] = [-3.0, -2.0, -1.0, 1.0, 2.0, 3.0];
    const CORNERS: [(f64, f64); 4] = [(-2.0, -2.0), (-2.0, 2.0), (2.0, -2.0), (2.0, 2.0)];
    let at = |moved: &[(usize, f64)]| -> Vec<f64> {
        let by = |place| moved.iter().find(|(it, _)| *it == place).map_or(0.0, |(_, thirds)| thirds * WIDTH / 3.0);
        (0..size).map(by).collect()
    };
    let along = (0..size).flat_map(|a| ALONG.map(|by| at(&[(a, by)])));
    let corners = pairs(size).filter(|(a, b)| a != b).flat_map(|(a, b)| CORNERS.map(|(x, y)| at(&[(a, x), (b, y)])));
    core::iter::once(at(&[])).chain(along).chain(corners).collect()
}

/// Each two prices, and each with itself.
fn pairs(size: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..size).flat_map(move |a| (a..size).map(move |b| (a, b)))
}

/// 1, each offset, and the product of each two.
fn terms(offset: &[f64]) -> Vec<f64> {
    let at = |place: usize| offset.get(place).copied().unwrap_or(0.0);
    let products = pairs(offset.len()).map(|(a, b)| at(a) * at(b));
    core::iter::once(1.0).chain(offset.iter().copied()).chain(products).collect()
}

/// By how much each of [`terms`] grows with the offset of that price.
fn growths(offset: &[f64], price: usize) -> Vec<f64> {
    let is = |place: usize| f64::from(u8::from(place == price));
    let at = |place: usize| offset.get(place).copied().unwrap_or(0.0);
    let products = pairs(offset.len()).map(|(a, b)| is(a) * at(b) + at(a) * is(b));
    core::iter::once(0.0).chain((0..offset.len()).map(is)).chain(products).collect()
}

fn product(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

impl Surface {
    /// The surface through what was `found` at each place of a [`design`].
    pub(super) fn through(design: &[Vec<f64>], found: &[Vec<f64>]) -> Self {
        let points: Vec<Vec<f64>> = design.iter().map(|offset| terms(offset)).collect();
        let count = points.first().map_or(0, Vec::len);
        let column = |place: usize| points.iter().map(move |terms| terms.get(place).copied().unwrap_or(0.0));
        let normal = Matrix::of(count, |a, b| column(a).zip(column(b)).map(|(a, b)| a * b).sum());
        let solve = |right: &[f64]| normal.solve(right).unwrap_or_else(|| vec![0.0; count]);
        let of = |row: usize| {
            let values: Vec<f64> = found.iter().map(|values| values.get(row).copied().unwrap_or(0.0)).collect();
            let right: Vec<f64> = (0..count).map(|it| column(it).zip(&values).map(|(a, b)| a * b).sum()).collect();
            let own = solve(&right);
            let off: f64 = points.iter().zip(&values).map(|(terms, it)| (it - product(terms, &own)).powi(2)).sum();
            (own, off)
        };
        let (rows, off): (Vec<Vec<f64>>, Vec<f64>) = (0..found.first().map_or(0, Vec::len)).map(of).unzip();
        let degrees = rows.len() * (points.len() - count);
        let scatter = (off.iter().sum::<f64>() / float(degrees.max(1))).sqrt();
        // All prices have the same design, so the first slope is as certain as any.
        let first: Vec<f64> = (0..count).map(|it| f64::from(u8::from(it == 1))).collect();
        let variance = product(&solve(&first), &first);
        Self { rows, scatter, slope_error: scatter * variance.max(0.0).sqrt() }
    }

    /// What all slopes of a price are more than, as the root of the sum of their squares, where it does something that is seen.
    pub(super) fn least_slope(&self) -> f64 {
        IDLE.max(STANDS_OUT * self.slope_error) * float(self.rows.len()).sqrt()
    }

    /// The residuals at an offset.
    pub(super) fn at(&self, offset: &[f64]) -> Vec<f64> {
        let terms = terms(offset);
        self.rows.iter().map(|row| product(row, &terms)).collect()
    }

    /// By how much each residual grows there with the logarithm of each price.
    pub(super) fn jacobian(&self, offset: &[f64]) -> Vec<Vec<f64>> {
        let growths: Vec<Vec<f64>> = (0..offset.len()).map(|price| growths(offset, price)).collect();
        self.rows.iter().map(|row| growths.iter().map(|growths| product(row, growths)).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quadratic_is_found_again_and_what_is_rough_is_told() {
        let value = |it: &[f64]| 0.5 + 2.0 * it[0] - it[1] + 0.3 * it[0] * it[0] + 0.7 * it[0] * it[1] - it[1] * it[1];
        let found: Vec<Vec<f64>> = design(2).iter().map(|it| vec![value(it)]).collect();
        let surface = Surface::through(&design(2), &found);
        let place = [0.11, -0.07];
        assert!((surface.at(&place)[0] - value(&place)).abs() < 1e-12 && surface.scatter < 1e-12, "{surface:?}");
        let slopes = [2.0 + 0.6 * 0.11 - 0.7 * 0.07, -1.0 + 0.7 * 0.11 + 2.0 * 0.07];
        for (found, wanted) in surface.jacobian(&place)[0].iter().zip(slopes) {
            assert!((found - wanted).abs() < 1e-11, "{found} {wanted}");
        }
        let rough: Vec<Vec<f64>> = design(2).iter().map(|it| vec![(value(it) * 100.0).floor() / 100.0]).collect();
        // What is anywhere within a step of 0.01 is off by that over the root of 12.
        let scatter = Surface::through(&design(2), &rough).scatter;
        assert!((0.5..1.5).contains(&(scatter / (0.01 / 12.0_f64.sqrt()))), "{scatter}");
    }
}
