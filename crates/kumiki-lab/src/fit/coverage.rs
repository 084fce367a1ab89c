//! How often the price that was meant lies in its interval.

use kumiki_graph::Rng;

use super::certainty::Certainty;
use super::least::{self, LeastSquares, PriceRange};
use crate::stats::Level;

/// A line that takes so long for each packet and each octet, and of which whole packets are counted: what comes out
/// moves in steps.
fn counted(prices: &[f64], sizes: &[f64], time: f64) -> Vec<f64> {
    let rate = |size: &f64| (time / (prices[0] + prices[1] * size)).floor() * size;
    sizes.iter().map(rate).collect()
}

/// Of so many errors the sum is as good as normal.
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
}

/// What a study is of.
#[derive(Clone, Copy, Debug)]
struct Study<'a> {
    sizes: &'a [f64],
    /// How many packets come where nothing is slower than 150.
    packets: f64,
    noise: f64,
    /// The price of an octet, and where its fit begins as a part of that.
    octet: f64,
    begins: f64,
}

const FITS: u32 = 60;

/// What came of a study, of both prices.
#[derive(Debug, Default)]
struct CoverageCounts {
    /// In how many fits the interval holds what was meant, and in how many there is none.
    held: [u32; 2],
    idle: [u32; 2],
    /// By how much wider intervals are than those of the true slopes, in logarithms: the median, of those that tell
    /// anything.
    wider: [Option<f64>; 2],
}

impl Study<'_> {
    fn found(&self) -> CoverageCounts {
        let mut rng = Rng::new(7, 1);
        let mut found = CoverageCounts::default();
        let mut wider = [Vec::new(), Vec::new()];
        for fit in 0..FITS {
            let meant = [100.0 + 2.3 * f64::from(fit), self.octet * (1.0 + 0.035 * f64::from(fit % 17))];
            let time = self.packets * 150.0;
            let measured = counted(&meant, self.sizes, time);
            let measured: Vec<f64> = measured.iter().map(|it| it * (1.0 + self.noise * normal(&mut rng))).collect();
            let evaluate = |all: &[Vec<f64>]| {
                let of = |prices: &Vec<f64>| {
                    counted(prices, self.sizes, time).iter().zip(&measured).map(|(ours, it)| ours / it - 1.0).collect()
                };
                Ok::<_, ()>(all.iter().map(of).map(Some).collect())
            };
            let starts = [120.0, self.octet * self.begins];
            let ranges = starts.map(|start| PriceRange { start, low: start / 10.0, high: start * 10.0 });
            let least = least::find(&ranges, evaluate, |_, _| {}).unwrap();
            let factors = Certainty::of(&least, Level::P95).factors;
            let true_factors = self.true_factors(&meant);
            for price in 0..2 {
                let ours = least.prices[price];
                let Some(factor) = factors[price] else {
                    assert_eq!((least.idle.as_slice(), ours), ([price].as_slice(), starts[price]));
                    found.idle[price] += 1;
                    continue;
                };
                found.held[price] += u32::from((ours / factor..=ours * factor).contains(&meant[price]));
                if true_factors[price] < 3.0 {
                    wider[price].push(factor.ln() / true_factors[price].ln());
                }
            }
        }
        found.wider = wider.map(|mut all| {
            all.sort_by(f64::total_cmp);
            all.get(all.len() / 2).copied()
        });
        found
    }

    /// What the intervals are where slopes and errors are known: those of the noise, and of what is anywhere within a
    /// step.
    fn true_factors(&self, meant: &[f64; 2]) -> Vec<f64> {
        let row = |size: &f64| {
            let whole = meant[0] + meant[1] * size;
            vec![-meant[0] / whole, -meant[1] * size / whole]
        };
        let step = |size: &f64| (meant[0] + meant[1] * size) / (self.packets * 150.0);
        let errors = self.sizes.iter().map(|size| self.noise.powi(2) + step(size).powi(2) / 12.0);
        // As many as there are degrees of freedom make the variance that of one.
        let degrees = (self.sizes.len() - 2) as f64 / self.sizes.len() as f64;
        let residuals: Vec<f64> = errors.map(|square| (square * degrees).sqrt()).collect();
        let jacobian = self.sizes.iter().map(row).collect();
        let prices = meant.to_vec();
        let least =
            LeastSquares { prices, residuals, jacobian, steps: 0, scatter: 0.0, idle: Vec::new(), is_settled: true };
        Certainty::of(&least, Level::P95).factors.into_iter().flatten().collect()
    }
}

const WIDE: [f64; 5] = [64.0, 256.0, 700.0, 1072.0, 1460.0];
/// Here the prices are hardly told apart.
const NARROW: [f64; 6] = [900.0, 1000.0, 1100.0, 1200.0, 1300.0, 1460.0];

/// Of 60 intervals of 95 % each, 57 hold what was meant; no fewer than 50, by four times the root of 60 * 0.95 * 0.05:
/// of each price by itself, for those of one fit go together. What was counted and not measured has no noise but that
/// of whole packets, which is no less for that. An octet of 0.001 is a hundredth of the time, and a fit of it that
/// begins at a fifth moves by that little.
#[test]
fn intervals_of_95_per_cent_hold_what_was_meant_as_often_as_that_and_are_no_wider_than_need_be() {
    for sizes in [WIDE.as_slice(), &NARROW] {
        for packets in [300.0, 1000.0, 3000.0] {
            for noise in [0.0, 0.01] {
                for (octet, begins) in [(0.02, 0.75), (0.003, 5.0), (0.001, 0.2)] {
                    let study = Study { sizes, packets, noise, octet, begins };
                    let found = study.found();
                    let said = || format!("{study:?}: {found:?}");
                    for price in 0..2 {
                        assert!(found.held[price] + found.idle[price] >= 50, "{}", said());
                        assert!(found.wider[price].is_none_or(|times| times < 3.0), "{}", said());
                    }
                    assert!(found.wider[0].is_some(), "{}", said());
                    assert!(found.idle[0] == 0 && (found.idle[1] == 0 || packets * octet < 1.0), "{}", said());
                }
            }
        }
    }
}
