//! Least squares over prices.
//!
//! | | |
//! |---|---|
//! | Specification | Levenberg (1944) and Marquardt (1963), in the logarithms of the prices and within ranges. Derivatives are differences over 5 % of a price: what a simulation gives moves in small steps (a packet more or less), and over the tiny differences that smooth functions allow it would stand still or leap. Where that ends, smooth surfaces lead on (`surface`) |
//! | Why not a crate | those that are well kept want derivatives from their caller, bring a linear algebra of their own (nalgebra, some thirty packages), and know no ranges; what they would save is this page |
//! | Left out | several beginnings; weights |

use super::certainty::float;
use super::matrix::Matrix;
use super::surface::{self, AT_ALL, CLEARLY, Surface, WIDTH, Window};

/// Over which difference of the logarithm derivatives are taken.
const STEP: f64 = 0.05;
/// A step multiplies or divides a price by no more than this.
const LONGEST: f64 = 3.0;
/// More steps bring nothing.
const MOST_STEPS: u32 = 30;
/// No more surfaces are laid than that, each where the last one was lowest.
const MOST_SURFACES: u32 = 16;
/// Nor another one for a gain of less than this part of what measurements scatter by: it would be by chance.
const NOTABLE: f64 = 0.1;
/// A step that gains less of the sum of squares is the last.
const LEAST_GAIN: f64 = 1e-4;
/// Dampings that are tried together, beside the last one that was good.
const DAMPINGS: [f64; 4] = [0.03, 1.0, 30.0, 1000.0];
/// Where none of them gains, so many times as much is tried next.
const MORE: f64 = 1e4;
/// Above this a step is next to nothing: where none has gained, the sum is least.
const MOST_DAMPING: f64 = 1e6;

/// The residuals with a list of prices; nothing where runs with them do not have the values.
pub(super) type Residuals = Option<Vec<f64>>;

/// A price that may move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PriceRange {
    pub(super) start: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl PriceRange {
    /// The logarithm, or that of the nearer end where it is outside.
    fn within(&self, log: f64) -> f64 {
        log.clamp(self.low.ln(), self.high.ln())
    }
}

/// Where the sum of squares is least.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LeastSquares {
    pub(super) prices: Vec<f64>,
    pub(super) residuals: Vec<f64>,
    /// Of each residual, by how much it grows with the logarithm of each price.
    pub(super) jacobian: Vec<Vec<f64>>,
    pub(super) steps: u32,
    /// By how much runs are off a smooth surface: the root of the mean square.
    pub(super) scatter: f64,
    /// Prices that do nothing that is seen, over the whole of their ranges.
    pub(super) idle: Vec<usize>,
    /// Whether nothing more was to be gained; not where that took more steps than there may be, or runs around have no
    /// values.
    pub(super) is_settled: bool,
}

/// A price on its way over surfaces.
#[derive(Clone, Copy, Debug)]
struct MovingPrice {
    range: PriceRange,
    price: f64,
    /// Over how much of its logarithm to each side the next surface is laid.
    width: f64,
    /// Whether less is too little to see what it does.
    is_needed: bool,
    /// Over none, for it does nothing that is seen.
    is_idle: bool,
}

impl MovingPrice {
    fn window(&self) -> Window {
        Window::around(self.price, &self.range, self.width)
    }
}

/// A surface, and the windows of those prices that it is laid over.
struct LaidSurface {
    surface: Surface,
    windows: Vec<Window>,
}

/// Finds the prices for which the squares of what `evaluate` gives are least. It is asked for several lists of prices
/// at once, and gives as many numbers for each, or nothing: prices where that is so are no gain, and surfaces are laid
/// without them. It gives numbers where prices begin, and is not asked for prices outside of their ranges.
pub(super) fn find<E>(
    ranges: &[PriceRange],
    mut evaluate: impl FnMut(&[Vec<f64>]) -> Result<Vec<Residuals>, E>,
    mut tell: impl FnMut(u32, f64),
) -> Result<LeastSquares, E> {
    let (logs, steps) = descend(ranges, &mut evaluate, &mut tell)?;
    settle(ranges, (logs, steps), &mut evaluate, &mut tell)
}

fn prices(ranges: &[PriceRange], logs: &[f64]) -> Vec<f64> {
    logs.iter().zip(ranges).map(|(log, range)| log.exp().clamp(range.low, range.high)).collect()
}

/// Goes down until no step gains: where that is, as logarithms, and after how many steps.
fn descend<E>(
    ranges: &[PriceRange],
    evaluate: &mut impl FnMut(&[Vec<f64>]) -> Result<Vec<Residuals>, E>,
    tell: &mut impl FnMut(u32, f64),
) -> Result<(Vec<f64>, u32), E> {
    let mut logs: Vec<f64> = ranges.iter().map(|range| range.within(range.start.ln())).collect();
    let mut residuals = evaluate(&[prices(ranges, &logs)])?.pop().flatten().unwrap_or_default();
    let mut damping = 1e-2;
    let mut steps = 0;
    while steps < MOST_STEPS {
        tell(steps, sum(&residuals));
        let jacobian = slopes(ranges, &logs, &residuals, evaluate)?;
        let end = |damping: f64| -> Vec<f64> {
            let step = step(&jacobian, &residuals, damping).unwrap_or_else(|| vec![0.0; logs.len()]);
            let longest = LONGEST.ln();
            let ends = logs.iter().zip(step).zip(ranges);
            ends.map(|((log, step), range)| range.within(log + step.clamp(-longest, longest))).collect()
        };
        let mut better = None;
        while better.is_none() && damping <= MOST_DAMPING {
            let tried: Vec<(f64, Vec<f64>)> =
                DAMPINGS.iter().map(|times| (damping * times, end(damping * times))).collect();
            let asked: Vec<Vec<f64>> = tried.iter().map(|(_, logs)| prices(ranges, logs)).collect();
            let found = evaluate(&asked)?;
            let found = tried.into_iter().zip(found).filter_map(|(tried, found)| Some((tried, found?)));
            let best = found.min_by(|a, b| sum(&a.1).total_cmp(&sum(&b.1)));
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
    Ok((logs, steps))
}

/// Goes from there to where smooth surfaces through what is found around are lowest, each laid where the last one was,
/// as long as that leads further.
fn settle<E>(
    ranges: &[PriceRange],
    (logs, mut steps): (Vec<f64>, u32),
    evaluate: &mut impl FnMut(&[Vec<f64>]) -> Result<Vec<Residuals>, E>,
    tell: &mut impl FnMut(u32, f64),
) -> Result<LeastSquares, E> {
    let found = prices(ranges, &logs);
    let all = ranges.iter().zip(found);
    let mut sought: Vec<MovingPrice> = all
        .map(|(range, price)| MovingPrice { range: *range, price, width: WIDTH, is_needed: true, is_idle: false })
        .collect();
    let last = steps + MOST_SURFACES;
    loop {
        let Some(LaidSurface { surface, windows }) = lay(&mut sought, evaluate)? else {
            let residuals = evaluate(&[all_prices(&sought, [])])?.pop().flatten().unwrap_or_default();
            let is_settled = sought.iter().all(|it| it.is_idle);
            return Ok(LeastSquares { is_settled, ..least(&sought, residuals, &[], 0.0, steps) });
        };
        let mut moving: Vec<&mut MovingPrice> = sought.iter_mut().filter(|it| !it.is_idle).collect();
        let here: Vec<f64> = moving.iter().zip(&windows).map(|(it, window)| window.at(it.price)).collect();
        let offset = lowest(&surface, here.clone());
        for ((it, window), at) in moving.iter_mut().zip(&windows).zip(&offset) {
            it.price = window.price(*at).clamp(it.range.low, it.range.high);
        }
        steps += 1;
        let (before, residuals) = (sum(&surface.at(&here)), surface.at(&offset));
        let degrees = float(residuals.len().saturating_sub(moving.len()).max(1));
        let noise = (sum(&residuals) / degrees).max(surface.scatter.powi(2));
        let gains = before - sum(&residuals) > NOTABLE * noise;
        let mut is_last = true;
        for ((it, window), at) in moving.iter_mut().zip(&windows).zip(&offset) {
            let leads_on = gains && window.leads_on(*at);
            is_last &= !leads_on && it.is_needed;
            // Far off one goes by long steps; near by, what was seen over so much may be seen over less.
            it.width = if leads_on { it.width * 2.0 } else { (it.width / 2.0).max(WIDTH) };
        }
        if steps == last || is_last {
            let slopes_at: Vec<f64> = offset.iter().zip(&windows).map(|(at, window)| window.slope_at(*at)).collect();
            let growths: Vec<f64> = moving.iter().zip(&windows).map(|(it, window)| window.growth(it.price)).collect();
            let mut jacobian = surface.jacobian(&slopes_at);
            for row in &mut jacobian {
                row.iter_mut().zip(&growths).for_each(|(slope, growth)| *slope *= growth);
            }
            return Ok(LeastSquares {
                is_settled: is_last,
                ..least(&sought, residuals, &jacobian, surface.scatter, steps)
            });
        }
        tell(steps, sum(&residuals));
    }
}

/// The prices, of those that are not idle where they are in the windows.
fn all_prices(sought: &[MovingPrice], moved: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut moved = moved.into_iter();
    let mut of = |it: &MovingPrice| if it.is_idle { it.price } else { moved.next().unwrap_or(it.price) };
    // An end of a window may be a rounding beyond that of the range.
    sought.iter().map(|it| of(it).clamp(it.range.low, it.range.high)).collect()
}

/// What was found, with a column for each price; those that are idle have no slopes.
fn least(sought: &[MovingPrice], residuals: Vec<f64>, slopes: &[Vec<f64>], scatter: f64, steps: u32) -> LeastSquares {
    let row = |slopes: &Vec<f64>| {
        let mut slopes = slopes.iter();
        let of = |it: &MovingPrice| if it.is_idle { 0.0 } else { slopes.next().copied().unwrap_or(0.0) };
        sought.iter().map(of).collect()
    };
    let idle = sought.iter().enumerate().filter(|(_, it)| it.is_idle).map(|(place, _)| place);
    LeastSquares {
        prices: sought.iter().map(|it| it.price).collect(),
        residuals,
        jacobian: slopes.iter().map(row).collect(),
        steps,
        scatter,
        idle: idle.collect(),
        is_settled: true,
    }
}

/// Lays a surface around the prices. Those that do nothing which is seen get wider windows: how much a price does grows
/// with it, and one that is far too low does next to nothing where it is. What is not seen over its whole range is idle
/// from there on.
fn lay<E>(
    sought: &mut [MovingPrice],
    evaluate: &mut impl FnMut(&[Vec<f64>]) -> Result<Vec<Residuals>, E>,
) -> Result<Option<LaidSurface>, E> {
    sought.iter_mut().for_each(|it| it.is_needed = it.width <= WIDTH);
    loop {
        let windows: Vec<Window> = sought.iter().filter(|it| !it.is_idle).map(MovingPrice::window).collect();
        let design = surface::design(windows.len());
        let asked: Vec<Vec<f64>> = design
            .iter()
            .map(|offset| all_prices(sought, windows.iter().zip(offset).map(|(window, at)| window.price(*at))))
            .collect();
        let found = design.into_iter().zip(evaluate(&asked)?);
        let (places, found): (Vec<_>, Vec<_>) = found.filter_map(|(place, found)| Some((place, found?))).unzip();
        let Some(surface) = Surface::through(&places, &found) else {
            return Ok(None);
        };
        let moving = sought.iter_mut().filter(|it| !it.is_idle).zip(&windows).enumerate();
        let mut unseen: Vec<(&mut MovingPrice, &Window)> =
            moving.filter(|(price, _)| !surface.sees(*price, CLEARLY)).map(|(_, it)| it).collect();
        let mut is_wider = false;
        for (it, window) in &mut unseen {
            it.is_needed = true;
            if !window.is_whole() {
                it.width *= 2.0;
                is_wider = true;
            }
        }
        if is_wider {
            continue;
        }
        let moving = sought.iter_mut().filter(|it| !it.is_idle).enumerate();
        let idle: Vec<&mut MovingPrice> =
            moving.filter(|(price, _)| !surface.sees(*price, AT_ALL)).map(|(_, it)| it).collect();
        if idle.is_empty() {
            return Ok(Some(LaidSurface { surface, windows }));
        }
        idle.into_iter().for_each(|it| it.is_idle = true);
        put_back(sought, surface.scatter, evaluate)?;
    }
}

/// Puts prices that are idle to where they began, where that makes no difference: small steps, and not measurements,
/// have led them away.
fn put_back<E>(
    sought: &mut [MovingPrice],
    scatter: f64,
    evaluate: &mut impl FnMut(&[Vec<f64>]) -> Result<Vec<Residuals>, E>,
) -> Result<(), E> {
    let begun = |it: &MovingPrice| if it.is_idle { it.range.start } else { it.price };
    let lists = [sought.iter().map(|it| it.price).collect(), sought.iter().map(begun).collect()];
    if let [Some(here), Some(back)] = evaluate(&lists)?.as_slice() {
        let moved: Vec<f64> = here.iter().zip(back).map(|(here, back)| back - here).collect();
        if sum(&moved) <= surface::unseen(AT_ALL * scatter).powi(2) * float(moved.len()) {
            sought.iter_mut().for_each(|it| it.price = begun(it));
        }
    }
    Ok(())
}

/// Where the sum of squares of a surface is least, from an offset on.
fn lowest(surface: &Surface, mut offset: Vec<f64>) -> Vec<f64> {
    const STEPS: u32 = 60;
    const LEAST_DAMPING: f64 = 1e-9;
    let mut damping = 1e-3;
    for _ in 0..STEPS {
        let residuals = surface.at(&offset);
        let Some(step) = step(&surface.jacobian(&offset), &residuals, damping) else {
            break;
        };
        let moved: Vec<f64> = offset.iter().zip(step).map(|(at, by)| (at + by).clamp(-1.0, 1.0)).collect();
        if sum(&surface.at(&moved)) < sum(&residuals) {
            offset = moved;
            damping = (damping / 10.0).max(LEAST_DAMPING);
        } else {
            damping *= 10.0;
        }
    }
    offset
}

/// The sum of squares.
pub(super) fn sum(residuals: &[f64]) -> f64 {
    residuals.iter().map(|it| it * it).sum()
}

/// By how much each residual grows with the logarithm of each price. One side will do on the way: that with more room,
/// where there is not enough upwards, or the other one where runs have no values. Where they have none on either, the
/// price stays for this step.
fn slopes<E>(
    ranges: &[PriceRange],
    logs: &[f64],
    residuals: &[f64],
    evaluate: &mut impl FnMut(&[Vec<f64>]) -> Result<Vec<Residuals>, E>,
) -> Result<Vec<Vec<f64>>, E> {
    let room = |log: f64, range: &PriceRange| [range.high.ln() - log, log - range.low.ln()];
    let sides = logs.iter().zip(ranges).map(|(log, range)| {
        let [up, down] = room(*log, range);
        let sides = [up.min(STEP), -down.min(STEP)];
        if up >= STEP.min(down) { sides } else { [sides[1], sides[0]] }
    });
    let sides: Vec<[f64; 2]> = sides.collect();
    let moved = |place: usize, by: f64| {
        let moved = logs.iter().enumerate().map(|(it, log)| if it == place { log + by } else { *log });
        prices(ranges, &moved.collect::<Vec<f64>>())
    };
    let asked: Vec<Vec<f64>> = sides.iter().enumerate().map(|(place, [by, _])| moved(place, *by)).collect();
    let mut columns = Vec::new();
    for (place, (found, [by, other])) in evaluate(&asked)?.into_iter().zip(&sides).enumerate() {
        let beside = match found {
            Some(found) => Some((found, *by)),
            None => evaluate(&[moved(place, *other)])?.pop().flatten().map(|found| (found, *other)),
        };
        columns.push(beside.filter(|(_, by)| *by != 0.0));
    }
    let slope = |column: &Option<(Vec<f64>, f64)>, row: usize, here: f64| {
        column.as_ref().and_then(|(there, by)| Some((there.get(row)? - here) / by)).unwrap_or(0.0)
    };
    let row = |(row, here): (usize, &f64)| columns.iter().map(|column| slope(column, row, *here)).collect();
    Ok(residuals.iter().enumerate().map(row).collect())
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

    fn range(start: f64) -> PriceRange {
        PriceRange { start, low: start / 100.0, high: start * 100.0 }
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
            Ok::<_, ()>(all.iter().map(of).map(Some).collect())
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
        let evaluate = |all: &[Vec<f64>]| Ok::<_, ()>(all.iter().map(|it| Some(vec![residual(it[0])])).collect());
        let (logs, steps) = descend(&[range(1.0)], &mut { evaluate }, &mut |_, _| {}).unwrap();
        assert!(steps > 0 && (-0.01..-0.0005).contains(&logs[0]), "{logs:?}");
    }

    #[test]
    fn a_price_stays_in_its_range_and_nothing_is_asked_outside_of_it() {
        let evaluate = |all: &[Vec<f64>]| {
            assert!(all.iter().all(|it| (1.0..=10.0).contains(&it[0])), "{all:?}");
            Ok::<_, ()>(all.iter().map(|it| Some(vec![it[0] / 50.0 - 1.0])).collect())
        };
        let least = find(&[PriceRange { start: 5.0, low: 1.0, high: 10.0 }], evaluate, |_, _| {}).unwrap();
        assert!((least.prices[0] - 10.0).abs() < 1e-9 && least.is_settled, "{least:?}");
    }

    /// There are no values from just above what is meant, and where it begins there are.
    #[test]
    fn prices_without_values_are_no_gain_and_those_around_lead_on() {
        let measured = rate(&[30.0, 0.05]);
        let of = |prices: &Vec<f64>| {
            let residuals = || rate(prices).iter().zip(&measured).map(|(ours, it)| ours / it - 1.0).collect();
            (prices[0] < 31.0).then(residuals)
        };
        let evaluate = |all: &[Vec<f64>]| Ok::<_, ()>(all.iter().map(of).collect());
        for start in [3.0, 30.9] {
            let least = find(&[range(start), range(0.5)], evaluate, |_, _| {}).unwrap();
            assert!((least.prices[0] / 30.0 - 1.0).abs() < 1e-2 && least.is_settled, "{start}: {least:?}");
        }
    }

    #[test]
    fn where_no_surface_can_be_laid_nothing_is_settled() {
        let evaluate = |all: &[Vec<f64>]| Ok::<_, ()>(all.iter().map(|it| (it[0] == 1.0).then(|| vec![0.1])).collect());
        let least = find(&[range(1.0)], evaluate, |_, _| {}).unwrap();
        assert!(!least.is_settled && least.idle.is_empty() && least.prices == [1.0], "{least:?}");
    }
}
