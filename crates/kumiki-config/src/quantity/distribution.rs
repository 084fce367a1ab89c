//! Quantities that are drawn.

use kumiki_graph::Rng;

use super::{Invalid, Quantity, parse};

/// How a quantity is drawn each time that it is needed. In a file a quantity alone is always the same.
///
/// | written | drawn |
/// |---|---|
/// | `5 ms` | always that |
/// | `exponential 5 ms` | exponentially, with that mean: what comes so one behind the other is a Poisson process |
/// | `uniform 1 ms .. 9 ms` | evenly, from the first to the last |
/// | `pareto 1.2 1 ms` | a Pareto distribution of this shape, none below the quantity (its mean is `shape / (shape - 1)` times that, of a shape above 1) |
///
/// ```
/// use kumiki_graph::{Duration, Rng};
/// use kumiki_config::quantity::Distribution;
///
/// let time = Distribution::<Duration>::parse("uniform 1 ms .. 9 ms").unwrap();
/// let drawn = time.draw(&mut Rng::new(1, 2));
/// assert!((Duration::from_millis(1)..=Duration::from_millis(9)).contains(&drawn));
/// assert_eq!(time.mean(), Duration::from_millis(5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution<Q> {
    /// Always the same.
    Constant(Q),
    /// Exponential, with this mean.
    Exponential(Q),
    /// Even, from the first to the last.
    Uniform(Q, Q),
    /// Pareto: the shape, and the least.
    Pareto(f64, Q),
}

/// The forms for messages.
const FORMS: &str = "a quantity, or \"exponential 5 ms\", \"uniform 1 ms .. 9 ms\" or \"pareto 1.2 1 ms\"";

impl<Q: Quantity> Distribution<Q> {
    /// Reads one.
    ///
    /// # Errors
    /// [`Invalid`], with what would be right.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let trimmed = text.trim();
        let Some((word, rest)) = trimmed.split_once(char::is_whitespace).filter(|(word, _)| is_word(word)) else {
            return parse(trimmed).map(Self::Constant);
        };
        let wrong = |problem: &str| Invalid::with_forms(text, problem, FORMS);
        match word {
            "exponential" => parse(rest.trim()).map(Self::Exponential),
            "uniform" => {
                let (low, high) = rest.split_once("..").ok_or_else(|| wrong("no range"))?;
                let (low, high): (Q, Q) = (parse(low.trim())?, parse(high.trim())?);
                if low > high { Err(wrong("a range that ends before it begins")) } else { Ok(Self::Uniform(low, high)) }
            }
            "pareto" => {
                let (shape, least) = rest
                    .trim()
                    .split_once(char::is_whitespace)
                    .ok_or_else(|| wrong("a shape and a minimum are wanted"))?;
                let shape: Option<f64> = shape.parse().ok().filter(|shape: &f64| (0.1..=100.0).contains(shape));
                let shape = shape.ok_or_else(|| wrong("the shape is no number from 0.1 to 100"))?;
                parse(least.trim()).map(|least| Self::Pareto(shape, least))
            }
            _ => Err(wrong("no such distribution")),
        }
    }

    /// The next one.
    pub fn draw(&self, rng: &mut Rng) -> Q {
        // Above 0, and at most 1.
        let mut unit = || 1.0 - rng.unit();
        match *self {
            Self::Constant(value) => value,
            // libm gives the same on every machine.
            Self::Exponential(mean) => scaled(mean, -libm::log(unit())),
            Self::Uniform(low, high) => {
                let width = high.base() - low.base();
                Q::from_base(low.base() + rng.below(width.saturating_add(1)))
            }
            Self::Pareto(shape, least) => scaled(least, libm::pow(unit(), -1.0 / shape)),
        }
    }

    /// Whether nothing but zero is drawn.
    pub fn is_zero(&self) -> bool {
        match *self {
            Self::Constant(of) | Self::Exponential(of) | Self::Uniform(_, of) | Self::Pareto(_, of) => of.base() == 0,
        }
    }

    /// Whether there is a mean. What is drawn from a Pareto distribution of a shape of 1 or less comes to none, however
    /// often.
    pub fn has_mean(&self) -> bool {
        !matches!(*self, Self::Pareto(shape, _) if shape <= 1.0)
    }

    /// The mean; the least of a Pareto distribution that has none.
    #[must_use]
    pub fn mean(&self) -> Q {
        match *self {
            Self::Constant(value) | Self::Exponential(value) => value,
            Self::Uniform(low, high) => Q::from_base(low.base() + (high.base() - low.base()) / 2),
            Self::Pareto(shape, least) if self.has_mean() => scaled(least, shape / (shape - 1.0)),
            Self::Pareto(_, least) => least,
        }
    }
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// So many times `value`, at most all that 63 bits hold.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is drawn is good to 53 bits, and never negative"
)]
fn scaled<Q: Quantity>(value: Q, times: f64) -> Q {
    let base = value.base() as f64 * times;
    Q::from_base(libm::round(base.min(i64::MAX as f64)) as u64)
}

#[cfg(test)]
mod tests {
    use kumiki_graph::Duration;

    use super::*;
    use crate::quantity::Octets;

    fn of(text: &str) -> Distribution<Duration> {
        Distribution::parse(text).unwrap()
    }

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "means of a test")]
    fn what_is_drawn_has_the_mean_and_the_spread_of_its_distribution() {
        const DRAWS: usize = 40_000;
        // Mean and variance over the square of the mean.
        for (text, mean, spread) in [
            ("5 ms", 5e6, 0.0),
            ("exponential 5 ms", 5e6, 1.0),
            ("uniform 1 ms .. 9 ms", 5e6, 64.0 / 12.0 / 25.0),
            ("pareto 4 3 ms", 4e6, 1.0 / 8.0),
        ] {
            let (it, mut rng) = (of(text), Rng::new(7, 1));
            let drawn: Vec<f64> = (0..DRAWS).map(|_| it.draw(&mut rng).as_nanos() as f64).collect();
            let found = drawn.iter().sum::<f64>() / DRAWS as f64;
            let variance = drawn.iter().map(|x| (x - found).powi(2)).sum::<f64>() / DRAWS as f64;
            assert!((found / mean - 1.0).abs() < 0.02, "{text}: {found}");
            assert!((variance / mean / mean - spread).abs() < 0.05, "{text}: {variance}");
            assert_eq!(it.mean().as_nanos() as f64, mean, "{text}");
        }
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        let draw = |text: &str| of(text).draw(&mut Rng::new(3, 9)).as_nanos();
        // -ln(1 - u) and (1 - u)^(-1/1.2) where u is 0.680234649: on every machine.
        let drawn = [draw("exponential 1 s"), draw("pareto 1.2 1 s"), draw("uniform 0 s .. 1 s")];
        assert_eq!(drawn, [1_140_167_829, 2_586_071_315, 680_234_649]);
    }

    #[test]
    fn what_is_none_is_refused_with_the_forms() {
        for text in
            ["gauss 5 ms", "uniform 5 ms", "uniform 5 ms .. 1 ms", "pareto 1.2", "pareto -1 1 ms", "exponential 5 B"]
        {
            let found = Distribution::<Duration>::parse(text).unwrap_err().to_string();
            assert!(found.contains("exponential 5 ms") || found.contains("unknown unit"), "{found}");
        }
        assert_eq!(Distribution::<Octets>::parse("pareto 1.2 1 KiB"), Ok(Distribution::Pareto(1.2, Octets::new(1024))));
    }

    #[test]
    fn the_greatest_draw_is_within_bounds() {
        let huge = Distribution::Pareto(0.1, Duration::from_secs(1_000_000_000));
        let mut rng = Rng::new(1, 1);
        assert!((0..1000).all(|_| huge.draw(&mut rng).as_nanos() <= 1 << 63));
    }
}
