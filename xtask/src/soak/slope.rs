//! Whether a figure grows, although it is never twice the same.
//!
//! A straight line through the figures of all minutes but those of the beginning, by least squares. It is a slope where
//! its standard error says that it is no chance, and where what it comes to over the whole time matters.

/// Fewer minutes show no slope.
pub(super) const LEAST: usize = 8;

/// Of so many minutes the first is left out: caches fill, the first of everything happens.
const BEGINNING: usize = 5;

/// So many standard errors a slope is no chance: one in a hundred thousand for long series, of which there are five.
const ERRORS: f64 = 4.5;

/// A column of what is put down.
pub(super) type Figure<T> = fn(&T) -> f64;

/// What must not grow.
pub(super) struct Limit {
    name: &'static str,
    /// How much of its mean it may grow over the whole time, and how much beside that.
    part: f64,
    number: f64,
}

impl Limit {
    pub(super) const fn part(name: &'static str, part: f64) -> Self {
        let number = 0.0;
        Self { name, part, number }
    }

    pub(super) const fn number(name: &'static str, number: f64) -> Self {
        let part = 0.0;
        Self { name, part, number }
    }
}

/// What to say of a figure that grows.
pub(super) fn grows(limit: &Limit, values: &[f64]) -> Option<String> {
    if values.len() < LEAST {
        return None;
    }
    let values = values.get(values.len() / BEGINNING..)?;
    let count = f64::from(u32::try_from(values.len()).ok()?);
    let middle = (count - 1.0) / 2.0;
    let mean = values.iter().sum::<f64>() / count;
    let places = || (0_u32..).map(|at| f64::from(at) - middle);
    let spread: f64 = places().take(values.len()).map(|at| at * at).sum();
    let slope = places().zip(values).map(|(at, it)| at * (it - mean)).sum::<f64>() / spread;
    let rest: f64 = places().zip(values).map(|(at, it)| (it - mean - slope * at).powi(2)).sum();
    let error = (rest / (count - 2.0) / spread).sqrt();
    let growth = slope * (count - 1.0);
    let is_slope = slope > ERRORS * error && growth > limit.part * mean + limit.number;
    is_slope.then(|| format!("{} grows: by {growth:.2} in {count} minutes, about a mean of {mean:.2}", limit.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise without a seed of its own: the fractions of multiples of the golden ratio.
    fn noise(at: u32) -> f64 {
        (f64::from(at) * 0.618_033_988_75).fract() - 0.5
    }

    const MEMORY: Limit = Limit::part("memory", 0.08);
    const DESCRIPTORS: Limit = Limit::number("descriptors", 2.0);

    #[test]
    fn noise_does_not_grow_and_a_leak_in_it_does() {
        let flat: Vec<f64> = (0..120).map(|at| 20_000.0 + 3_000.0 * noise(at)).collect();
        assert_eq!(grows(&MEMORY, &flat), None);
        let leaks = (0_u32..).zip(&flat).map(|(at, it)| it + 40.0 * f64::from(at));
        let leaks: Vec<f64> = leaks.collect();
        let said = grows(&MEMORY, &leaks).expect("40 KiB a minute are seen");
        assert!(said.starts_with("memory grows: by 3"), "{said}");
    }

    #[test]
    fn what_fills_in_the_beginning_is_no_leak() {
        let fills: Vec<f64> = (0..60).map(|at| if at < 10 { 8.0 + f64::from(at) } else { 18.0 }).collect();
        assert_eq!(grows(&DESCRIPTORS, &fills), None);
        let leak: Vec<f64> = (0..60).map(|at| 8.0 + f64::from(at / 10)).collect();
        assert!(grows(&DESCRIPTORS, &leak).is_some());
    }

    #[test]
    fn one_more_that_stays_is_no_slope_and_a_short_time_shows_none() {
        let one: Vec<f64> = (0..60).map(|at| if at < 30 { 8.0 } else { 9.0 }).collect();
        assert_eq!(grows(&DESCRIPTORS, &one), None);
        assert_eq!(grows(&DESCRIPTORS, &[1.0, 5.0, 9.0]), None);
    }
}
