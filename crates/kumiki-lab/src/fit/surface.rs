//! What runs give around a place, smoothed.
//!
//! | | |
//! |---|---|
//! | Specification | Box and Wilson, "On the experimental attainment of optimum conditions" (1951): a quadratic, by least squares through runs around a place (a central composite design), in the logarithms of the prices; in the price itself where a wider window is needed to see what it does at all, for so small a part of what comes out grows as the price does |
//! | Why | a run counts whole packets, so what it gives moves in small steps: the least of the sum of squares among these steps is anywhere near the prices that were meant, with residuals that say nothing of how near. Those to a smooth surface do, and by how much runs are off that is what they can resolve at all |
//! | Left out | more than quadratics; that some measurements are rougher than others |

use super::certainty::float;
use super::least::PriceRange;
use super::matrix::Matrix;

/// How far around in the logarithm of a price, unless what it does is seen only over more.
pub(super) const WIDTH: f64 = 0.2;

/// A price that changes results by less than that from the middle of its window to an end does nothing to them that is
/// seen.
const IDLE: f64 = 2e-4;

/// Slopes are some where they are so many times as large as what they may be off, for the small steps in which results
/// move.
pub(super) const AT_ALL: f64 = 3.0;
/// And so many times where between the ends of a window are several steps: within one, what runs are off is the same at
/// neighbouring places, and shows in no scatter.
pub(super) const CLEARLY: f64 = 9.0;

/// The prices between which a surface is laid, of one price: -1 is the lower end, and 1 the upper one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Window {
    middle: f64,
    half: f64,
    /// Whether it is even in the price and not in its logarithm.
    is_linear: bool,
    /// Whether the range ends where the window does, below and above.
    is_end: [bool; 2],
}

impl Window {
    /// So far around a price in its logarithm; as much on the other side where the range ends.
    pub(super) fn around(price: f64, range: &PriceRange, width: f64) -> Self {
        let (least, most) = (range.low.ln(), range.high.ln());
        let low = (price.ln() - width).min(most - 2.0 * width).max(least);
        let high = (low + 2.0 * width).min(most);
        let is_linear = width > WIDTH;
        let [a, b] = if is_linear { [low.exp(), high.exp()] } else { [low, high] };
        let is_end = [low - least, most - high].map(|it| it < 1e-9);
        Self { middle: f64::midpoint(a, b), half: (b - a) / 2.0, is_linear, is_end }
    }

    /// Whether it is all of the range.
    pub(super) fn is_whole(&self) -> bool {
        self.is_end == [true; 2]
    }

    /// Whether this is at an end of the window that is none of the range.
    pub(super) fn leads_on(&self, at: f64) -> bool {
        let [below, above] = self.is_end;
        at.abs() >= 0.99 && !(if at < 0.0 { below } else { above })
    }

    /// The price at a place of the window.
    pub(super) fn price(&self, at: f64) -> f64 {
        let own = self.middle + self.half * at;
        if self.is_linear { own } else { own.exp() }
    }

    /// Where in the window a price is.
    pub(super) fn at(&self, price: f64) -> f64 {
        let own = if self.is_linear { price } else { price.ln() };
        if self.half > 0.0 { ((own - self.middle) / self.half).clamp(-1.0, 1.0) } else { 0.0 }
    }

    /// Where slopes are taken: what is seen only over the whole window has no slope in a part of it.
    pub(super) fn slope_at(&self, at: f64) -> f64 {
        if self.is_linear { 0.0 } else { at }
    }

    /// By how much one moves in the window for the logarithm of the price.
    pub(super) fn growth(&self, price: f64) -> f64 {
        let own = if self.is_linear { price } else { 1.0 };
        if self.half > 0.0 { own / self.half } else { 0.0 }
    }
}

/// Quadratics, one of each residual, between the ends of windows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Surface {
    /// Of each residual what each of [`terms`] is multiplied by.
    rows: Vec<Vec<f64>>,
    /// By how much runs are off the surface: the root of the mean square.
    pub(super) scatter: f64,
    /// How far off the slopes of each price are for that, in the middle.
    slope_errors: Vec<f64>,
}

/// Where to look in windows: along each price, and where two of them move at once.
pub(super) fn design(size: usize) -> Vec<Vec<f64>> {
    const ALONG: [f64; 6] = [-3.0, -2.0, -1.0, 1.0, 2.0, 3.0];
    const CORNERS: [(f64, f64); 4] = [(-2.0, -2.0), (-2.0, 2.0), (2.0, -2.0), (2.0, 2.0)];
    let at = |moved: &[(usize, f64)]| -> Vec<f64> {
        let by = |place| moved.iter().find(|(it, _)| *it == place).map_or(0.0, |(_, thirds)| thirds / 3.0);
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

/// Of something that results may be so far off by small steps, what is not seen.
pub(super) fn unseen(error: f64) -> f64 {
    IDLE.max(error)
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
    /// The surface through what was `found` at places of a [`design`]; nothing where these are too few.
    pub(super) fn through(places: &[Vec<f64>], found: &[Vec<f64>]) -> Option<Self> {
        let points: Vec<Vec<f64>> = places.iter().map(|offset| terms(offset)).collect();
        let count = points.first()?.len();
        let column = |place: usize| points.iter().map(move |terms| terms.get(place).copied().unwrap_or(0.0));
        let normal = Matrix::of(count, |a, b| column(a).zip(column(b)).map(|(a, b)| a * b).sum());
        let mut rows = Vec::new();
        let mut off = 0.0;
        for row in 0..found.first()?.len() {
            let values: Vec<f64> = found.iter().map(|values| values.get(row).copied().unwrap_or(0.0)).collect();
            let right: Vec<f64> = (0..count).map(|it| column(it).zip(&values).map(|(a, b)| a * b).sum()).collect();
            let own = normal.solve(&right)?;
            off += points.iter().zip(&values).map(|(terms, it)| (it - product(terms, &own)).powi(2)).sum::<f64>();
            rows.push(own);
        }
        let degrees = rows.len() * points.len().checked_sub(count).filter(|it| *it > 0)?;
        let scatter = (off / float(degrees)).sqrt();
        let slope_error = |price: usize| {
            let unit: Vec<f64> = (0..count).map(|it| f64::from(u8::from(it == price + 1))).collect();
            Some(scatter * product(&normal.solve(&unit)?, &unit).max(0.0).sqrt())
        };
        let slope_errors = (0..places.first()?.len()).map(slope_error).collect::<Option<_>>()?;
        Some(Self { rows, scatter, slope_errors })
    }

    /// Whether a price does something that is seen: all slopes of it in the middle, as the root of the sum of their
    /// squares, are more than small steps make.
    pub(super) fn sees(&self, price: usize, times: f64) -> bool {
        let slopes = self.rows.iter().filter_map(|row| row.get(price + 1));
        let error = self.slope_errors.get(price).copied().unwrap_or(f64::INFINITY);
        slopes.map(|slope| slope * slope).sum::<f64>() > unseen(times * error).powi(2) * float(self.rows.len())
    }

    /// The residuals at an offset.
    pub(super) fn at(&self, offset: &[f64]) -> Vec<f64> {
        let terms = terms(offset);
        self.rows.iter().map(|row| product(row, &terms)).collect()
    }

    /// By how much each residual grows there with the offset of each price.
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
        let surface = Surface::through(&design(2), &found).unwrap();
        let place = [0.11, -0.07];
        assert!((surface.at(&place)[0] - value(&place)).abs() < 1e-12 && surface.scatter < 1e-12, "{surface:?}");
        let slopes = [2.0 + 0.6 * 0.11 - 0.7 * 0.07, -1.0 + 0.7 * 0.11 + 2.0 * 0.07];
        for (found, wanted) in surface.jacobian(&place)[0].iter().zip(slopes) {
            assert!((found - wanted).abs() < 1e-11, "{found} {wanted}");
        }
        let rough: Vec<Vec<f64>> = design(2).iter().map(|it| vec![(value(it) * 100.0).floor() / 100.0]).collect();
        // What is anywhere within a step of 0.01 is off by that over the root of 12.
        let scatter = Surface::through(&design(2), &rough).unwrap().scatter;
        assert!((0.5..1.5).contains(&(scatter / (0.01 / 12.0_f64.sqrt()))), "{scatter}");
    }
}
